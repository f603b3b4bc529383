# f = o + x'beta + z'u of the linear machine at its own rows or new ones: moments from the joint
# Gaussian of a fit without draws or from draws, and draws.

# Moments of the latent function.
# object: a fit.
# rows: by new_rows(); `NULL`: the rows of the fit.
# links: names of links.
# Returns a list: `mean`, `var` (n, or n x k), scale of the data; `prob`, `prob_sd`, lists by link:
#   of the positive class (n) or of each class (n x k); none for a regression. Without `prob_sd` f
#   is normal. Of a fit whose calibrated link is robust also `middle`, `spread`: mean and variance
#   of a normal law with the quantiles of the draws.
latent <- function(object, rows = NULL, links = character(),
                   threads = getOption("bayeskernel.threads", 2L)) {
  UseMethod("latent")
}

# Draws of the latent function.
# take: number of draws; `NULL` for all, or 1000 from q.
# response: with the noise of a new response.
# Returns a list: `f`, draws x n (x k), scale of the data; where the model has them `mean` (n), the
#   mean of f without the noise of drawing; `sigma`, the standard deviation of a response, and
#   `cuts`, both by draw; `link`, if the calibrated one differs between rows.
latent_draws <- function(object, rows = NULL, take = NULL, response = FALSE,
                         threads = getOption("bayeskernel.threads", 2L)) {
  UseMethod("latent_draws")
}

abort_rows_not_kept <- function() {
  bk_abort(
    "argument", "The fit keeps nothing about its rows.",
    "Give rows, or the row source, as `newdata`."
  )
}

# What the fit keeps about its own rows, in their order.
kept_latent <- function(object, links) {
  kept <- object$fitted
  if (is.null(kept)) abort_rows_not_kept()
  out <- kept[intersect(c("mean", "var", "middle", "spread"), names(kept))]
  if (has_machines(object)) out <- lapply(out, `colnames<-`, object$levels)
  if (is_regression(object)) return(out)
  # Averages over draws; bark() has one link.
  averages <- function(names) Filter(Negate(is.null), stats::setNames(kept[names], links))
  if ("prob" %in% names(kept)) {
    c(out, list(prob = averages("prob"), prob_sd = averages("prob_sd")))
  } else if (all(links %in% names(kept))) {
    c(out, list(prob = averages(links), prob_sd = averages(paste0(links, "_sd"))))
  } else {
    c(out, link_moments(out$mean, out$var, links))
  }
}

# What front ends keep of the moments of their own rows.
own_moments <- function(moments) {
  sd <- moments$prob_sd
  if (length(sd)) names(sd) <- paste0(names(sd), "_sd")
  c(lapply(moments[c("mean", "var")], unname), moments$prob, sd)
}

with_prob_sd <- function(moments) {
  if (length(moments$prob) && is.null(moments$prob_sd)) {
    moments$prob_sd <- lapply(stats::setNames(nm = names(moments$prob)), function(link) {
      probability_sd(moments$mean, moments$var, link)
    })
  }
  moments
}

#' @exportS3Method
latent.bsvm <- function(object, rows = NULL, links = character(),
                        threads = getOption("bayeskernel.threads", 2L)) {
  if (is.null(rows)) return(kept_latent(object, links))
  if (!is.null(rows$holes)) {
    if (has_shared(object, rows)) return(latent_shared(object, rows, links, threads))
    if (!is.null(object$holes$model)) return(latent_completed(object, rows, links, threads))
  }
  if (is_regression(object)) links <- character()
  threads <- check_threads(threads)
  if (length(rows$processes)) rows <- fill_processes(object, rows, threads)
  if (is.null(object$draws)) {
    if (points_share_moments(object, rows)) {
      out <- shared_moments(object, rows, threads)
      return(c(out, link_moments(out$mean, out$var, links)))
    }
    moments <- function(own) linear_moments(own, rows, threads)
    if (length(links)) return(over_points(object, moments, links, threads))
    return(c(pool_points(object, moments), list(prob = list())))
  }
  parts <- draw_parts(object, used_levels(rows))
  robust <- isTRUE(object$link$robust)
  out <- core_call(draw_moments_cpp(
    data_rows_of(object, rows, parts$levels), core_draws(parts), links, threads, robust
  ))
  if (is_regression(object)) return(out[c("mean", "var")])
  by_link <- function(x) stats::setNames(lapply(seq_along(links), function(l) x[, l]), links)
  c(
    out[c("mean", "var", if (robust) c("middle", "spread"))],
    lapply(out[c("prob", "prob_sd")], by_link)
  )
}

#' @exportS3Method
latent.bkm <- latent.bsvm

#' @exportS3Method
latent_draws.bsvm <- function(object, rows = NULL, take = NULL, response = FALSE,
                              threads = getOption("bayeskernel.threads", 2L)) {
  if (has_shared(object, rows)) return(latent_draws_shared(object, rows, take, response, threads))
  if (!is.null(object$holes$model) && !is.null(rows$holes)) {
    return(latent_draws_completed(object, rows, take, response, threads))
  }
  if (is.null(take) && is.null(object$draws)) take <- 1000L
  rows <- fill_processes(object, rows, check_threads(threads))
  parts <- draw_parts(object, used_levels(rows), take)
  patterns <- missing_patterns(rows$holes)
  noise <- lapply(patterns, function(pattern) {
    lapply(pattern$rows, function(row) normal_matrix(nrow(parts$theta), length(pattern$predictors)))
  })
  simulated <- simulate_groups(parts, rows)
  f <- core_call(draw_values_cpp(
    data_rows_of(object, simulated$rows, simulated$parts$levels), core_draws(simulated$parts),
    as.double(unlist(noise)), check_threads(threads)
  ))$f
  open <- open_variance(object, rows)
  if (any(open > 0)) f <- f + normal_matrix(nrow(f), ncol(f)) * rep(sqrt(open), each = nrow(f))
  sigma <- parts$sigma_noise
  if (response && !is.null(sigma)) f <- f + sigma * normal_matrix(nrow(f), ncol(f))
  list(f = f, sigma = sigma, link = link_of_rows(object$link, rows))
}

#' @exportS3Method
latent_draws.bkm <- latent_draws.bsvm

# Effects for groups that the fit has not seen, the same one for all rows of a group: they become
# known groups, named by negative codes.
simulate_groups <- function(parts, rows) {
  for (t in seq_along(parts$sigma)) {
    term <- rows$random[[t]]
    unknown <- which(term$group == 0L)
    if (length(unknown) == 0L) next
    root <- cholesky_slices(parts$sigma[[t]])
    size <- dim(parts$effects[[t]])
    names <- sort(unique(term$name[unknown]))
    u <- lapply(names, function(name) {
      noise <- normal_matrix(size[1], size[2])
      vapply(seq_len(size[2]), function(k) {
        Reduce(`+`, lapply(seq_len(k), function(l) root[k, l, ] * noise[, l]))
      }, numeric(size[1]))
    })
    parts$effects[[t]] <- array(c(parts$effects[[t]], unlist(u)), size + c(0L, 0L, length(names)))
    parts$levels[[t]] <- c(parts$levels[[t]], -seq_along(names))
    rows$random[[t]]$group[unknown] <- -match(term$name[unknown], names)
  }
  list(parts = parts, rows = rows)
}

# --- rows as the core reads them ---------------------------------------------

# On the scale of the data, with groups counted among `levels`.
data_rows_of <- function(object, rows, levels) {
  uses <- data_uses(object, rows$holes)
  core_rows(rows$x, rows$offset, Map(function(term, known) {
    list(z = term$z, group = match(term$group, known, nomatch = 0L))
  }, rows$random, levels), rows$holes, uses)
}

core_rows <- function(x, offset, terms, holes, uses) {
  for (t in seq_along(terms)) {
    terms[[t]]$z <- unname(terms[[t]]$z) + 0
    terms[[t]]$uses <- uses$random[[t]]
  }
  list(
    x = if (is.double(x)) x else x + 0, offset = as.double(offset), terms = terms, uses = uses$x,
    predictors = if (is.null(holes)) matrix(0, nrow(x), 0L) else uses$predictors,
    patterns = lapply(missing_patterns(holes), function(pattern) lapply(pattern, `-`, 1L))
  )
}

# Rows with missing predictors by those that are missing.
missing_patterns <- function(holes) {
  if (is.null(holes)) return(list())
  missing <- is.na(holes$x)
  rows <- which(rowSums(missing) > 0)
  if (length(rows) == 0L) return(list())
  key <- character(length(rows))
  for (j in which(colSums(missing) > 0)) {
    gone <- missing[rows, j]
    key[gone] <- paste(key[gone], j)
  }
  lapply(unname(split(rows, trimws(key))), function(own) {
    list(rows = own, predictors = which(missing[own[1], ]))
  })
}

# Where a missing predictor enters a column: value = base + slope * x, on the scale of the model as
# design_new() says it.
model_uses <- function(holes) {
  if (is.null(holes)) return(NULL)
  names <- c("row", "column", "predictor", "base", "slope")
  list(
    x = stats::setNames(holes[paste0("use_", names)], names),
    random = holes$random_uses, predictors = unname(holes$x)
  )
}

# The same on the scale of the data.
data_uses <- function(object, holes) {
  uses <- model_uses(holes)
  if (is.null(uses)) return(NULL)
  predictor_scale <- object$holes$scale_x
  predictor_center <- object$holes$center
  turn <- function(uses, center, scale) {
    k <- uses$column + 1L
    j <- uses$predictor + 1L
    base <- center[k] + scale[k] * uses$base
    uses$slope <- scale[k] * uses$slope / predictor_scale[j]
    uses$base <- unname(base - uses$slope * predictor_center[j])
    uses$slope <- unname(uses$slope)
    uses
  }
  transform <- object$transform
  uses$x <- turn(uses$x, transform$center, transform$scale)
  uses$random <- lapply(seq_along(uses$random), function(t) {
    map <- transform$random[[t]]
    scale <- 1 / diag(map)
    at <- match("(Intercept)", object$posterior$random[[t]]$columns)
    center <- if (is.na(at)) 0 * scale else -map[at, ] * scale
    if (!is.na(at)) center[at] <- 0
    turn(uses$random[[t]], center, scale)
  })
  n <- nrow(holes$x)
  uses$predictors <- unname(
    holes$x * rep(predictor_scale, each = n) + rep(predictor_center, each = n)
  )
  uses
}

core_draws <- function(parts) {
  size <- nrow(parts$theta)
  list(
    theta = unname(parts$theta),
    x_mean = if (is.null(parts$x_mean)) matrix(0, 0, 0) else unname(parts$x_mean),
    x_cov = matrix(if (is.null(parts$x_cov)) 0 else parts$x_cov, max(1L, dim(parts$x_cov)[1])),
    terms = Map(function(effects, sigma) {
      list(effects = matrix(effects, size), covariance = matrix(aperm(sigma, c(3, 1, 2)), size))
    }, parts$effects, parts$sigma)
  )
}

# --- the Gaussian of a fit without draws -------------------------------------

# Whether the points of a grid agree in all that linear_moments() reads: they keep variances alone,
# which are read for groups that the fit has not seen.
points_share_moments <- function(object, rows) {
  own <- unlist(lapply(object$posterior$points, names))
  length(own) > 0L && !any(c("theta_mean", "wide", "random") %in% own) &&
    all(vapply(rows$random, function(term) all(term$group > 0L), TRUE))
}

# Then f is normal but for the residuals of processes, whose variance the points differ in.
shared_moments <- function(object, rows, threads) {
  shared <- linear_moments(object, rows[setdiff(names(rows), c("open", "unit_open"))], threads)
  pool_points(object, function(own) {
    list(mean = shared$mean, var = shared$var + open_variance(own, rows))
  })
}

# Mean and variance of the rows.
linear_moments <- function(object, rows, threads) {
  posterior <- object$posterior
  transform <- object$transform
  gamma <- posterior$gamma
  # Columns that are surely out add nothing.
  used <- seq_along(posterior$theta_mean)
  columns <- seq_along(transform$center)
  if (!is.null(gamma) && !length(posterior$random) && is.null(rows$holes)) {
    used <- columns <- which(gamma > 1e-12)
    rows$x <- rows$x[, used, drop = FALSE]
  }
  wide <- posterior$wide
  terms <- lapply(seq_along(posterior$random), function(t) q_term(object, t))
  holes <- posterior$holes
  q <- list(
    center = transform$center[columns], scale = transform$scale[columns],
    mean = posterior$theta_mean[used], covariance = posterior$theta_cov[used, used, drop = FALSE],
    gamma = as.double(gamma[used]),
    indicator_var = if (is.null(gamma)) numeric() else indicator_var(posterior)[used],
    basis = if (is.null(wide)) matrix(0, 0, 0) else wide$basis,
    first = if (is.null(wide)) 0L else as.integer(wide$first),
    hidden_var = if (is.null(wide)) 0 else wide$hidden_var, terms = terms,
    precision = if (is.null(holes)) matrix(0, 0, 0) else holes$df * solve(holes$scale),
    x_mean = as.double(holes$x_mean),
    x_mean_cov = if (is.null(holes)) matrix(0, 0, 0) else holes$x_mean_cov
  )
  # Without random effects (re.form = NA) the terms have no rows.
  q$terms <- terms[seq_along(rows$random)]
  random <- lapply(seq_along(rows$random), function(t) {
    term <- rows$random[[t]]
    list(z = term$z %*% transform$random[[t]], group = term$group)
  })
  uses <- if (!is.null(rows$holes)) model_uses(rows$holes)
  at <- core_rows(rows$x, rows$offset, random, rows$holes, uses)
  out <- core_call(linear_moments_cpp(at, q, threads))
  if (!is.null(posterior$pairs) && length(at$terms)) {
    out$var <- out$var + pair_variance(posterior, at$terms)
  }
  if (length(rows$open) || length(rows$unit_open)) out$var <- out$var + open_variance(object, rows)
  out
}

# Random term t as the core reads it, scale of the model. One that is neither eliminated nor has
# places in theta is independent of it.
q_term <- function(object, t) {
  term <- object$posterior$random[[t]]
  r <- length(term$columns)
  kind <- if (isTRUE(term$eliminated)) {
    "eliminated"
  } else if (is.null(term$index)) {
    "apart"
  } else {
    "dense"
  }
  list(
    kind = kind, mean = if (kind == "dense") matrix(0, 0, r) else unname(term$mean),
    loading = if (kind == "eliminated") matrix(term$loading, r) else matrix(0, r, 0),
    covariance = switch(kind,
      eliminated = matrix(term$schur, r),
      apart = matrix(term$cov, r),
      matrix(0, r, 0)
    ),
    index = if (kind == "dense") as.integer(term$index) else integer(),
    unseen = vb_variance_mean(object, t)
  )
}

# --- variance components -----------------------------------------------------

# q of the variance of random term t; these come last.
variance_of_term <- function(object, t) {
  all <- object$posterior$variance
  all[[length(all) - length(object$posterior$random) + t]]
}

# Posterior mean of the covariance of random term t of a fit without draws, on the scale of the
# model. Without a finite mean, the reciprocal of the mean precision.
vb_variance_mean <- function(object, t) {
  component <- variance_of_term(object, t)
  r <- length(component$columns)
  if (component$type == "point") {
    component$value
  } else if (component$type == "iid") {
    diag(inverse_gamma_mean(component$shape, component$rate), r)
  } else {
    df <- component$df - r - 1
    component$scale / (if (df > 0) df else component$df)
  }
}

lower_triangle <- function(r) {
  which(lower.tri(diag(r), diag = TRUE), arr.ind = TRUE, useNames = FALSE)
}

# z' V z by row.
quadratic <- function(z, v) {
  if (inherits(v, "sparse_covariance")) return(sparse_quadratic(z, v))
  rowSums((z %*% v) * z)
}

# Columns that were turned into fewer by an orthogonal basis; what the basis does not reach kept its
# prior variance.
reduce_columns <- function(wide, x) {
  if (is.null(wide)) return(list(x = x, hidden = numeric(nrow(x))))
  kept <- seq_len(wide$first)
  block <- x[, -kept, drop = FALSE]
  if (wide$first == 0) block <- x
  seen <- block %*% wide$basis
  list(
    x = cbind(x[, kept, drop = FALSE], seen),
    hidden = wide$hidden_var * pmax(rowSums(block^2) - rowSums(seen^2), 0)
  )
}
