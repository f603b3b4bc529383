# Expectation propagation of the linear model: with up to eight variances its posterior is a mixture
# over points, each with a Gaussian of its own: those of a lattice with up to three, scattered ones
# beyond. Coefficients, effects and variances have their moments over the mixture; probabilities and
# densities are averaged over the points.

run_ep <- function(job) {
  job$control[c("seed", "by_group")] <- list(0, TRUE)
  from_file <- !is.null(job$data$path)
  run <- if (from_file) linear_ep_stream_cpp else linear_ep_cpp
  data <- job$data
  # Messages are with the rows.
  absent <- !is.null(data$shares)
  if (absent) {
    data$rows <- 0
    if (length(data$group_sizes)) data$group_sizes[] <- 0L
  }
  core <- run(data, job$shared$prior, job$control)
  failed <- inherits(core, "bayeskernel_core_error") && core$kind == "numeric"
  if (!failed) {
    core <- core_call(core)
    settled <- isTRUE(core$status$converged) &&
      all(is.finite(core$theta_mean)) && all(is.finite(core$loo))
    if (settled || isTRUE(core$status$interrupted)) return(core)
  }
  instead <- if (from_file && !absent) "svi" else "vb"
  warn_unsettled(if (failed) {
    core$message
  } else if (isTRUE(core$status$change < 1e-6)) {
    "Some variances that the rows leave possible have no approximation."
  } else {
    sprintf(
      "After %.0f passes its sites still moved by %.2g.", core$status$passes, core$status$change
    )
  }, instead, isTRUE(core$status$passes >= job$control$max_iter))
  limits <- list(tol = 1e-6, max_iter = 2000)
  job$control[names(limits)] <- limits
  job$settings[names(limits)] <- limits
  if (absent) job$settings$epochs <- 0L
  core <- if (from_file) run_svi(job) else run_vb(job)
  core$fallback <- instead
  core
}

# `spent`: every pass that it may make.
warn_unsettled <- function(why, instead, spent) {
  bk_warn(
    "convergence", "Expectation propagation did not settle.",
    why, sprintf("The fit is that of method = \"%s\", mean-field variational Bayes.", instead),
    if (spent) "Raise `max_iter` of `control`.",
    if (instead == "vb") "method = \"gibbs\" has no sites that must settle."
  )
}

# What expectation propagation adds to the posterior that every fit without draws has: leave-one-out
# densities, evidence, points of a grid.
collect_ep <- function(fit, core, job) {
  # Whether the evidence of groups is not that of the points, and, where this is known, would move
  # their variance by a third of its standard deviation or more.
  understated <- !isTRUE(core$by_group) && !isTRUE((core$missed_shift %||% NaN) < 1 / 3)
  fit$check <- list(
    k = core$pareto_k %||% NA_real_, passes = core$status$passes, change = core$status$change,
    engine = core$engine %||% "vb", fallback = core$fallback, by_group = core$by_group,
    one_class = if (understated) one_class_share(job$design), effective = core$effective
  )
  if (!is.null(core$fallback)) return(fit)
  fit$loo <- core$loo
  fit$expected <- core$expected
  fit$log_evidence <- core$log_evidence
  fit$trace <- list()
  if (length(core$points) > 0L) {
    fit$posterior$points <- lapply(core$points, point_posterior, core, job)
    # Rows that are atoms are averaged with their response in view.
    if (is.null(job$atoms) && fit$family != "hinge" && is.null(job$data$path)) {
      fit$fitted <- averaged_fitted(fit, job$design)
    }
  }
  if (any(fit$weights > 1)) fit$loo <- loo_of_copies(fit, core, job)
  fit
}

# The log density of each row given the others, in whose place the core has that of a row without
# all of its copies.
loo_of_copies <- function(fit, core, job) {
  counts <- !is.null(fit$units)
  copies <- if (counts) unit_copies(fit)[fit$units] else row_copies(fit$weights, fit$counted)
  several <- which(copies > 1)
  if (length(several) == 0L || !is.null(job$atoms) || length(core$loo) != length(copies)) {
    return(core$loo)
  }
  if (fit$family != "hinge") {
    return(replace(core$loo, several, left_out_copies(fit, job$design, copies)[several]))
  }
  if (counts) return(core$loo)
  at <- put_back_copies(core$left_out, core$mean, core$variance_f, copies)
  at <- lapply(at[c("mean", "var")], `[`, several)
  replace(core$loo, several, log(link_probability(fit$y[several] * at$mean, at$var, "probit")))
}

# The log density of each row without one of its copies, of a unit of trials of all copies: at a
# point of the grid by that of the row, and the weight of the point is what is left without the
# copy, which tells of the variances, too.
left_out_copies <- function(fit, design, copies) {
  at <- function(own) {
    f <- averaged_fitted(own, design)
    if (!is_regression(fit)) return(last_copies(fit, f, copies))
    # The site of a number is normal and exact: f is known no worse than by its copies. With next to
    # no noise rounding says otherwise.
    noise <- own$posterior$noise
    known <- pmin(f$var, noise / pmax(copies, 2))
    var <- noise * known / (noise - known)
    mean <- var * (f$mean / known - fit$y / noise)
    stats::dnorm(fit$y, mean, sqrt(var + noise), log = TRUE)
  }
  out <- if (has_points(fit)) {
    odds <- mapply(function(own, weight) log(weight) - at(own), at_points(fit), point_weights(fit))
    -log_row_sums(odds)
  } else {
    at(fit)
  }
  if (is.null(fit$units)) out else copies * out
}

# By how much the evidence of the cavity of classes grows with the last copy. The cavity is the
# normal law of f that all copies make one of the moments of `at`, found by its own updates on
# nodes about these.
last_copies <- function(fit, at, copies) {
  use <- which(copies > 1)
  row <- (fit$units %||% seq_along(copies))[use]
  z <- seq(-8, 8, by = 0.25)
  f <- at$mean[use] + outer(sqrt(at$var[use]), z)
  y <- rep(own_classes(fit)[use], length(z))
  density <- fit$weights[use] * log_density(y, f, NULL, links_of(fit)[1L], FALSE)
  density <- unname(rowsum(matrix(density, nrow(f)), row, reorder = FALSE))
  each <- copies[use][!duplicated(row)]
  # From the slope and the curvature of the density at the mean.
  middle <- match(0, z)
  slope <- (density[, middle + 1L] - density[, middle - 1L]) / 0.5
  bend <- density[, middle + 1L] - 2 * density[, middle] + density[, middle - 1L]
  precision <- pmax(1 + bend / 0.25^2, 0.05)
  shift <- -slope
  cavity <- function() outer(shift, z) - outer(0.5 * precision, z^2)
  for (step in 1:100) {
    p <- cavity() + density
    p <- exp(p - log_row_sums(p))
    mean <- drop(p %*% z)
    var <- pmax(drop(p %*% z^2) - mean^2, 1e-4)
    by <- pmax(precision + 0.5 * (1 - 1 / var), 0.05) - precision
    precision <- precision + by
    shift <- shift - 0.5 * mean / var
    if (all(abs(by) < 1e-6)) break
  }
  of <- function(share) log_row_sums(cavity() + share * density)
  replace(NA * copies, use, (of(1) - of(1 - 1 / each))[match(row, unique(row))])
}

# At one point of a grid: what differs from the posterior as a whole.
point_posterior <- function(point, core, job) {
  # Of many groups the core keeps the variances of a point alone.
  whole <- length(point$theta_mean) == length(core$theta_mean) &&
    length(point$group_mean) == length(core$group_mean)
  same <- core[c("basis", "basis_first")]
  q <- vb_posterior(c(if (whole) point else utils::modifyList(
    core, point[c("precision", "noise")]
  ), same), job)
  q$variance <- Map(function(component, precision) {
    if (component$type != "held") {
      component <- c(
        component[c("label", "columns")], list(type = "point", value = solve(precision))
      )
    }
    component
  }, q$variance, point$precision)
  q$random <- lapply(q$random, function(term) {
    term[intersect(names(term), c("mean", "cov", "loading", "schur"))]
  })
  q[c("theta_mean", "theta_cov")] <- lapply(q[c("theta_mean", "theta_cov")], unname)
  out <- q[intersect(c("variance", "noise"), names(q))]
  if (whole) out <- c(out, q[intersect(c("theta_mean", "theta_cov", "wide", "random"), names(q))])
  c(point[intersect(c("weight", "place"), names(point))], out)
}

# The share of groups whose rows are all of one class, of the random term where it is largest. Of
# one row a site is all there is, and exact.
one_class_share <- function(design) {
  if (is.null(design$levels) || length(design$random) == 0L || length(design$y) == 0L) {
    return(NA_real_)
  }
  max(vapply(design$random, function(term) {
    rows <- tabulate(term$group)[sort(unique(term$group))]
    mean <- rowsum(as.double(design$y > 0), term$group) / rows
    mean((mean == 0 | mean == 1) & rows > 1)
  }, 1))
}

# Moments of the rows over the points: `moments(fit)` gives mean and var at one. The links of a
# pseudo-likelihood are of the moments over all points.
over_points <- function(object, moments, links, threads) {
  if (is_pseudo(object) || !has_points(object)) {
    out <- pool_points(object, moments)
    return(c(out, link_moments(out$mean, out$var, links)))
  }
  prob <- square <- list()
  out <- pool_points(object, moments, function(own, weight) {
    for (link in links) {
      p <- core_call(link_moments_cpp(own$mean, own$var, link, threads))
      prob[[link]] <<- (prob[[link]] %||% 0) + weight * p$prob
      square[[link]] <<- (square[[link]] %||% 0) + weight * (p$prob_sd^2 + p$prob^2)
    }
  })
  sd <- Map(function(square, p) sqrt(pmax(square - p^2, 0)), square, prob)
  c(out, list(prob = prob, prob_sd = sd))
}

# Moments over the points; `visit(own, weight)` sees those at each.
pool_points <- function(object, moments, visit = function(own, weight) NULL) {
  fits <- at_points(object)
  if (length(fits) == 0L) return(moments(object))
  weights <- point_weights(object)
  # Second moments are about the means at the first point: about 0 they would lose the variance of a
  # response that is far from 0.
  at <- NULL
  shift <- square <- 0
  for (k in seq_along(fits)) {
    own <- moments(fits[[k]])
    at <- at %||% own$mean
    shift <- shift + weights[k] * (own$mean - at)
    square <- square + weights[k] * (own$var + (own$mean - at)^2)
    visit(own, weights[k])
  }
  list(mean = at + shift, var = square - shift^2)
}

# Limits of f, or of a response: quantiles of the mixture, by bisection; NULL without points, where
# f is normal.
point_limits <- function(object, rows, ask) {
  if (!has_points(object)) return(NULL)
  check_rows_given(rows)
  noise <- ask$interval == "prediction"
  each <- lapply(at_points(object), function(own) {
    out <- latent(own, rows, character(), ask$threads)
    out$sd <- sqrt(out$var + if (noise) own$posterior$noise else 0)
    out
  })
  weights <- point_weights(object)
  mean <- by_component(each, "mean")
  tails <- mixture_quantiles(
    mean, by_component(each, "sd"), c(1 - ask$level, 1 + ask$level) / 2, weights
  )
  cbind(fit = c(weights %*% mean), lwr = tails[, 1], upr = tails[, 2])
}

# n joint draws: a point by its weight, then from its Gaussian.
point_parts <- function(object, levels, n) {
  fits <- at_points(object)
  chosen <- sample.int(length(fits), n, TRUE, point_weights(object))
  used <- sort(unique(chosen))
  parts <- lapply(used, function(k) vb_parts(fits[[k]], levels, sum(chosen == k)))
  # Draws as they were chosen, not by point.
  back <- order(order(chosen))
  join <- function(name, along = 1L) {
    each <- lapply(parts, `[[`, name)
    if (is.null(each[[1L]])) NULL else join_draws(each, along, back)
  }
  terms <- function(name, along) {
    lapply(seq_along(levels), function(t) {
      join_draws(lapply(parts, function(part) part[[name]][[t]]), along, back)
    })
  }
  out <- list(
    theta = join("theta"), effects = terms("effects", 1L), levels = levels,
    sigma = terms("sigma", 3L), sigma_noise = join("sigma_noise"), others = join("others")
  )
  finer_variances(object, fits, chosen, out)
}

# Draws have the variances of points, which are few: with their own distribution in their place.
finer_variances <- function(object, fits, chosen, parts) {
  values <- do.call(rbind, lapply(fits, variance_coordinates))
  weights <- point_weights(object)
  # NULL where points are not those of a lattice.
  place <- by_component(object$posterior$points, "place")
  values <- if (is.null(place)) {
    smooth <- smooth_points(values, weights)
    smooth$mean[chosen, , drop = FALSE] +
      normal_matrix(length(chosen), ncol(values)) %*% smooth$root
  } else {
    refined <- refine_lattice(place, weights, values)
    own <- place - rep(apply(place, 2, min) - 2L, each = nrow(place))
    refined$values[finer_places(refined, own[chosen, , drop = FALSE]), , drop = FALSE]
  }
  taken <- 0L
  take <- function(count) {
    taken <<- taken + count
    values[, taken - count + seq_len(count), drop = FALSE]
  }
  variance <- object$posterior$variance
  random <- length(variance) - length(object$transform$random)
  point <- fits[[1L]]$posterior$variance
  for (k in seq_along(variance)) {
    if (point[[k]]$type != "point") next
    r <- nrow(point[[k]]$value)
    cov <- covariances_from(take(r * (r + 1L) / 2L), r)
    if (k > random) {
      # Without the effects of groups nobody asks for their variances.
      if (!length(parts$sigma)) next
      map <- object$transform$random[[k - random]]
      parts$sigma[[k - random]] <- map_covariances(cov, map)
    } else {
      name <- sprintf("sigma2[%s]", variance[[k]]$label)
      parts$others[, name] <- cov[1, 1, ]
    }
  }
  if (!is.null(parts$sigma_noise)) {
    parts$sigma_noise <- exp(drop(take(1L)) / 2)
    parts$others[, noise_name(fixed_names(object))] <- parts$sigma_noise
  }
  parts
}

# What is free of the variances at a point: of each covariance its Cholesky factor, the diagonal in
# logarithms, and the log of the noise variance.
variance_coordinates <- function(own) {
  each <- lapply(own$posterior$variance, function(component) {
    if (component$type != "point") return(NULL)
    root <- t(chol(component$value))
    diag(root) <- log(diag(root))
    root[lower_triangle(nrow(root))]
  })
  noise <- own$posterior$noise
  c(unlist(each), if (is.numeric(noise)) log(noise))
}

# The covariances of rows of these: r x r x S.
covariances_from <- function(coordinates, r) {
  root <- array(0, c(r, r, nrow(coordinates)))
  pairs <- lower_triangle(r)
  for (k in seq_len(nrow(pairs))) {
    one <- coordinates[, k]
    single <- pairs[k, 1] == pairs[k, 2]
    root[pairs[k, 1], pairs[k, 2], ] <- if (single) exp(one) else one
  }
  out <- array(0, dim(root))
  for (i in seq_len(r)) {
    for (j in seq_len(r)) {
      for (k in seq_len(min(i, j))) out[i, j, ] <- out[i, j, ] + root[i, k, ] * root[j, k, ]
    }
  }
  out
}

# Arrays, matrices or vectors one after another along a dimension, then in another order.
join_draws <- function(each, along, order) {
  if (is.null(dim(each[[1L]]))) return(unlist(each)[order])
  out <- join_arrays(each, along)
  if (is.matrix(out)) {
    out <- out[order, , drop = FALSE]
    colnames(out) <- colnames(each[[1L]])
    return(out)
  }
  if (along == 1L) out[order, , , drop = FALSE] else out[, , order, drop = FALSE]
}

# --- variances ---------------------------------------------------------------

# Functions of the parameters that differ between points, `value(fit)` their values at one: moments
# over the points, and limits unless `level` is NULL. The logarithm of each, or of a `correlation`
# atanh(), is a smooth function of the place on a lattice, or normal about scattered points: so its
# limits.
point_rows <- function(object, value, level, correlation = FALSE) {
  values <- do.call(rbind, lapply(at_points(object), value))
  weights <- point_weights(object)
  mean <- colSums(weights * values)
  sd <- sqrt(colSums(weights * (values - rep(mean, each = nrow(values)))^2))
  if (is.null(level)) return(coef_table(mean, sd, NA_real_, NA_real_))
  probs <- c(1 - level, 1 + level) / 2
  place <- by_component(object$posterior$points, "place")
  values[, correlation] <- atanh(values[, correlation])
  values[, !correlation] <- log(values[, !correlation])
  refined <- if (!is.null(place)) refine_lattice(place, weights, values)
  ends <- vapply(seq_along(mean), function(k) {
    if (!is.null(place)) {
      own <- list(weights = refined$weights, values = refined$values[, k])
      return(refined_quantiles(own, probs))
    }
    smooth <- smooth_points(values[, k, drop = FALSE], weights)
    spread <- matrix(max(smooth$root, 1e-12), nrow(values), 1L)
    drop(mixture_quantiles(smooth$mean, spread, probs, weights))
  }, probs)
  ends[, correlation] <- tanh(ends[, correlation])
  ends[, !correlation] <- exp(ends[, !correlation])
  coef_table(mean, sd, ends[1L, ], ends[2L, ], level = level)
}

# Standard deviations and correlations of random term t.
point_variance_rows <- function(object, t, level) {
  r <- length(object$posterior$random[[t]]$columns)
  pairs <- lower_triangle(r)
  point_rows(object, function(own) {
    map <- own$transform$random[[t]]
    v <- map %*% variance_of_term(own, t)$value %*% t(map)
    to_sd_cor(matrix(v[pairs], 1L), r)
  }, level, pairs[, 1] != pairs[, 2])
}
