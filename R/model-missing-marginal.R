# The posterior with missing values and the effects of groups integrated out of the likelihood
# (model-missing-effects.R), in place of the one that atoms have: its maximum, what lies about it,
# and the values that are missing.

# The log density of coefficients and variances and its derivatives in what is `free` of
# phi = (theta, moves of the log variance of the effects and of that of the noise from where these
# begin). Other variances stay.
# at: `block` of the effects; `likelihood`, a function of coefficients, precision of the effects and
#   noise: functions `value`, `effects` (groups x r), `score` (in theta, the log of the scale of the
#   effects and of the noise) and `information` (of theta); `rest`: what the value and the score
#   in the log of the noise have more; `leans`: means of coefficients are not at the maximum.
# precision, noise: where variances begin; `held`: they stay there, too.
marginal_target <- function(at, job, precision, noise, held) {
  blocks <- job$blocks
  prior <- prior_precision(blocks, precision)
  psi <- as.matrix(precision[[at$block]])
  p <- nrow(prior)
  priors <- list(blocks$blocks[[at$block]], job$control$noise)
  learns <- !held & c(priors[[1L]]$kind == "iid", !is.null(noise) && !is.null(priors[[2L]]$rate))
  noise <- noise %||% 1
  begin <- c(-log(psi[1L]), log(noise))
  free <- c(rep(TRUE, p), learns)
  state <- function(phi) {
    list(
      theta = phi[seq_len(p)], precision = psi * exp(-phi[p + 1L]), noise = noise * exp(phi[p + 2L])
    )
  }
  look <- function(phi) {
    own <- state(phi)
    inside <- at$likelihood(own$theta, own$precision, own$noise)
    gap <- own$theta - blocks$mean
    pull <- drop(prior %*% gap)
    v <- begin + phi[p + 1:2]
    list(
      value = function() {
        value <- inside$value() + at$rest * log(own$noise) - sum(gap * pull) / 2
        for (k in which(learns)) value <- value + log_variance_density(priors[[k]], v[k])
        value
      },
      score = function() {
        found <- inside$score()
        slope <- c(found$scale, found$noise + at$rest)
        for (k in which(learns)) slope[k] <- slope[k] + log_variance_slope(priors[[k]], v[k])
        c(found$theta - pull, slope)[free]
      },
      information = function() inside$information() + prior, effects = inside$effects
    )
  }
  list(
    free = free, p = p, look = look, state = state, block = at$block, leans = isTRUE(at$leans)
  )
}

# Of rows with missing numbers; from shared_effects().
shared_likelihood <- function(at) {
  at$prior <- invert_groups(at$open)
  # A row of weight w counts like w rows of one predictor, not like one of 1 / w of the noise.
  at$rest <- sum(1 - at$weight) / 2
  at$likelihood <- function(theta, precision, noise) {
    inside <- shared_state(at, theta, precision, noise)
    list(
      value = function() inside$value,
      effects = function() inside$mean[, seq_len(ncol(at$z)), drop = FALSE],
      score = function() shared_score(at, theta, precision, noise, inside),
      information = function() shared_information(at, inside)
    )
  }
  at$completed <- function(...) list(completed = c(shared_completions(at, ...), at["where"]))
  at
}

# The log prior of a block's log variance, or of the noise's, and its derivative.
log_variance_density <- function(prior, x) {
  t <- prior$half_t
  if (length(t) == 2L) return(x / 2 - (t[1L] + 1) / 2 * log(t[1L] * t[2L]^2 + exp(x)))
  -prior$shape * x - prior$rate * exp(-x)
}

log_variance_slope <- function(prior, x) {
  t <- prior$half_t
  if (length(t) == 2L) return(1 / 2 - (t[1L] + 1) / 2 * exp(x) / (t[1L] * t[2L]^2 + exp(x)))
  -prior$shape + prior$rate * exp(-x)
}

# Where the posterior of coefficients and variances is largest; variances are those of the maximum
# with the coefficients integrated out.
# Returns `phi`; `cov` of what is free. `NULL` where it is not found.
shared_maximum <- function(target, theta) {
  p <- target$p
  free <- target$free
  score <- function(phi) target$look(phi)$score()
  phi <- c(theta, 0, 0)
  here <- score(phi)
  last <- p + seq_len(sum(free) - p)
  for (round in 1:8) {
    cov <- inverse_curvature(score, phi, here, free, p)
    if (is.null(cov)) return(NULL)
    if (round == 1L || far > 1) tilt <- marginal_tilt(target, phi, setdiff(which(free), seq_len(p)))
    unit <- sqrt(diag(cov))
    # Where the curvature is not that of a maximum it says little of the way.
    unit[last] <- pmin(unit[last], 1)
    from <- phi
    for (k in 1:8) {
      here[last] <- here[last] + tilt
      move <- drop(cov %*% here)
      size <- max(abs(move) / unit)
      if (!is.finite(size)) return(NULL)
      phi[free] <- phi[free] + move * min(1, 1 / size)
      here <- score(phi)
      far <- max(abs(phi - from)[free] / unit)
      if (size < 0.005 || far > 1) break
    }
    # The curvature is that of the maximum.
    if (size < 0.05 && far < 0.5) break
  }
  if (size > 0.05) return(NULL)
  list(phi = phi, cov = cov)
}

# What the log density has for variances, where coefficients are integrated out, adds to the score
# `at` these: minus half the log determinant of the coefficients' information. At coefficients it is
# what moves their means from the maximum.
marginal_tilt <- function(target, phi, at) {
  half <- function(phi) half_log_det(target$look(phi)$information())
  here <- if (length(at)) half(phi)
  vapply(at, function(k) (here - half(replace(phi, k, phi[k] + 1e-3))) / 1e-3, 0)
}

# At most a standard deviation.
mean_lean <- function(target, phi, within) {
  none <- numeric(target$p)
  if (!target$leans) return(none)
  out <- drop(within %*% marginal_tilt(target, phi, seq_len(target$p)))
  size <- max(abs(out) / sqrt(diag(within)))
  if (is.finite(size)) out * min(1, 1 / size) else none
}

# Inf where `x` is no matrix of a maximum.
half_log_det <- function(x) {
  root <- tryCatch(chol(x), error = function(e) NULL)
  if (is.null(root)) Inf else sum(log(diag(root)))
}

# The log density of some variances, coefficients integrated out, and these given the variances.
# moves: a matrix, of the variances that are free from the maximum on, one move a row.
# Returns for each `log_density`, `theta`, `effects`.
shared_looks <- function(target, found, moves) {
  own <- seq_len(target$p)
  last <- setdiff(seq_len(sum(target$free)), own)
  across <- found$cov[own, last, drop = FALSE]
  slope <- across %*% solve(found$cov[last, last, drop = FALSE])
  within <- found$cov[own, own] - slope %*% t(across)
  lean <- mean_lean(target, found$phi, within)
  each <- lapply(seq_len(nrow(moves)), function(k) {
    phi <- found$phi
    phi[target$free] <- phi[target$free] + c(slope %*% moves[k, ], moves[k, ])
    for (round in 1:3) {
      look <- target$look(phi)
      half <- half_log_det(look$information())
      score <- look$score()[own]
      step <- drop(within %*% score)
      size <- sqrt(mean(step * score))
      step <- step * min(1, 1 / size)
      if (!is.finite(size + half) || size < 0.3) break
      phi[own] <- phi[own] + step
    }
    if (!is.finite(size + half)) return(list(log_density = -Inf))
    list(
      log_density = look$value() + sum(step * score) / 2 - half,
      theta = phi[own] + (size < 0.3) * step + lean, step = step + lean,
      effects = t(look$effects())
    )
  })
  list(each = each, within = within)
}

# Answers ---------------------------------------------------------------------

# The core's answer with what is missing integrated out, where that can be done: of expectation
# propagation the points of its lattice move along and have weights anew; the variances of mean
# field are fitted to that. Elsewhere, and where no maximum is found, atoms stand for it.
collect_missing <- function(core, job) {
  usable <- isTRUE(core$usable) && length(core$basis) == 0L
  at <- if (usable) averaged_rows(job) %||% shared_effects(job)
  if (is.null(at)) return(widen_completed(core, job))
  lattice <- length(core$points) > 0L && length(core$points[[1L]]$place) > 0L
  best <- if (lattice) core$points[[1L]] else core
  held <- length(core$points) > 0L && !lattice
  numbers <- job$settings$family == "gaussian"
  if (!numbers && is.null(at$likelihood)) return(step_classes(core, job, at, best, held))
  noise <- if (numbers) {
    own <- if (lattice) best$noise else core$noise$rate / core$noise$shape
    if (length(own) == 0L) 1 / core$noise$precision else own
  }
  if (is.null(at$likelihood)) at <- shared_likelihood(at)
  target <- marginal_target(at, job, best$precision, noise, held)
  found <- shared_maximum(target, best$theta_mean)
  if (is.null(found)) return(widen_completed(core, job))
  own <- target$state(found$phi)
  answer <- if (length(core$points) == 0L) {
    fit_to_marginal(core, job, target, found)
  } else if (lattice && weighs(core$log_variance$index, target)) {
    weigh_points(core, job, target, found)
  } else {
    shift_shared(widen_completed(core, job), job, list(
      theta = own$theta, scale = found$phi[target$p + 1L], noise = found$phi[target$p + 2L],
      effects = target$look(found$phi)$effects()
    ), !held, best, at)
  }
  if (is.null(answer)) return(widen_completed(core, job))
  known <- at$completed(own$theta, own$precision, own$noise)
  answer[names(known)] <- known
  answer
}

# Classes with missing numbers: one step.
step_classes <- function(core, job, at, best, held) {
  core <- widen_completed(core, job)
  at <- normal_responses(at, core, job)
  found <- shared_step(at, job, best$theta_mean, best$precision, held)
  if (is.null(found)) return(core)
  core <- shift_shared(core, job, found, !held, best, at)
  core$completed <- list(where = at$where, move = found$completed)
  core
}

# Whether a lattice is over the variances that are free, and no others.
weighs <- function(index, target) {
  all(index %in% c(target$block, 0L)) && length(index) == sum(target$free) - target$p
}

# Where points are not those of such a lattice, they all move as the maximum does.
shift_shared <- function(core, job, found, moves, best, at) {
  theta <- found$theta - best$theta_mean
  effects <- t(found$moved %||% (found$effects - t(best$group_mean)))
  core$mean <- core$mean + moved_rows(job, theta, effects)
  core <- shift_answer(core, theta, effects)
  core$points <- lapply(core$points, shift_answer, theta, effects)
  if (moves) shift_variances(core, at$block, found) else core
}

# Points of a lattice, moved with the maximum: each has the coefficients of its variances and counts
# by the posterior density there; those that count for nothing are left out. Their covariances
# change as that at the maximum does.
weigh_points <- function(core, job, target, found) {
  index <- core$log_variance$index
  block <- target$block
  best <- core$points[[1L]]
  order <- order(match(index, c(block, 0L)))
  moves <- by_component(lapply(core$points, function(point) list(x = point$x - best$x)), "x")
  moves <- matrix(moves, length(core$points))[, order, drop = FALSE]
  weight <- vapply(core$points, `[[`, 1, "weight")
  last <- target$p + seq_along(index)
  near <- exp(-rowSums((moves %*% solve(found$cov[last, last])) * moves) / 2)
  counts <- weight > 1e-4 * max(weight) | near > 1e-4
  core$points <- core$points[counts]
  looks <- shared_looks(target, found, moves[counts, , drop = FALSE])
  weight <- vapply(looks$each, `[[`, 0, "log_density")
  known <- is.finite(weight)
  if (!any(known)) return(NULL)
  core$points <- core$points[known]
  looks$each <- looks$each[known]
  weight <- exp(weight[known] - max(weight[known]))
  weight <- pmax(weight / sum(weight), 1e-300)
  root <- backsolve(chol(best$theta_cov), diag(target$p), transpose = TRUE)
  turn <- t(chol(root %*% looks$within %*% t(root)))
  shift <- found$phi[target$p + 1:2]
  core$points <- Map(function(point, look, weight) {
    point$weight <- weight
    point$x <- point$x + shift[match(index, c(block, 0L))]
    point$precision[[block]] <- point$precision[[block]] * exp(-shift[1L])
    if (!is.null(point$noise)) point$noise <- point$noise * exp(shift[2L])
    cov <- tcrossprod(t(chol(point$theta_cov)) %*% turn)
    place_answer(point, look, cov)
  }, core$points, looks$each, weight)
  variances <- by_component(lapply(core$points, function(point) list(x = point$x)), "x")
  mix_answers(core, job, core$points, weight, matrix(variances, length(weight)), index, block)
}

# Coefficients, effects and their covariances.
place_answer <- function(one, look, cov) {
  add <- cov - one$theta_cov
  one$theta_mean <- look$theta
  one$theta_cov <- cov
  one$group_mean <- look$effects
  if (length(one$loading)) {
    one$group_mean[] <- one$group_mean - t(look$step) %*% matrix(one$loading, length(look$step))
  }
  widen_groups(one, add)
}

# Of mean field: the same of nodes of quadrature about the maximum, more of them where a variance
# is hardly known.
fit_to_marginal <- function(core, job, target, found) {
  own <- target$p + seq_len(sum(target$free) - target$p)
  cov <- found$cov[own, own, drop = FALSE]
  nodes <- c(3L, 5L, 9L)[findInterval(diag(cov), c(0, 0.2, 0.5))]
  rules <- lapply(nodes, normal_rule)
  grid <- function(name) unname(as.matrix(expand.grid(lapply(rules, `[[`, name))))
  z <- grid("node")
  if (length(own) == 0L) z <- matrix(0, 1L, 0L)
  moves <- z %*% (if (length(own)) chol(cov) else cov)
  looks <- shared_looks(target, found, moves)
  weight <- vapply(looks$each, `[[`, 0, "log_density") + rowSums(z^2) / 2 +
    if (length(own)) rowSums(log(grid("weight"))) else 0
  known <- is.finite(weight)
  if (!any(known)) return(NULL)
  weight <- exp(weight[known] - max(weight[known]))
  moves <- moves[known, , drop = FALSE]
  points <- lapply(looks$each[known], function(look) place_answer(core, look, looks$within))
  state <- target$state(found$phi)
  learns <- target$free[target$p + 1:2]
  begin <- c(-log(state$precision[1L]), log(state$noise))[learns]
  index <- c(target$block, 0L)[learns]
  mix_answers(
    core, job, points, weight / sum(weight), moves + rep(begin, each = nrow(moves)), index,
    target$block
  )
}

# The answer as a whole from those at points. x: log variances of `index`, one point a row.
mix_answers <- function(core, job, points, weight, x, index, block) {
  pool <- function(name) Reduce(`+`, Map(function(one, w) w * one[[name]], points, weight))
  theta <- pool("theta_mean")
  effects <- pool("group_mean")
  cov <- pool("theta_cov") + Reduce(`+`, Map(function(one, w) {
    w * tcrossprod(one$theta_mean - theta)
  }, points, weight))
  add <- cov - core$theta_cov
  core$mean <- core$mean + moved_rows(job, theta - core$theta_mean, effects - core$group_mean)
  columns <- centred_columns(job, core)
  for (rows in split_units(seq_along(core$mean), job$data$atoms$row, length(theta))) {
    core$variance_f[rows] <- core$variance_f[rows] + quadratic(columns(rows), add)
  }
  core <- widen_groups(core, add)
  core$theta_mean <- theta
  core$theta_cov <- cov
  core$group_mean[] <- effects
  if (length(points[[1L]]$x) > 0L) core$points <- points
  for (k in seq_along(index)) {
    gamma <- gamma_of_sd(sum(weight * exp(x[, k] / 2)), sum(weight * exp(x[, k])))
    if (index[k] == 0L) core$noise[names(gamma)] <- gamma
    if (index[k] == block) {
      core$variance[[block]][names(gamma)] <- gamma
      core$precision[[block]][] <- gamma$shape / gamma$rate
    }
  }
  core
}

# The inverse gamma law of a variance of which these are the means of the root and of itself.
gamma_of_sd <- function(root, mean) {
  log_root <- function(a) lgamma(a - 1 / 2) - lgamma(a)
  want <- log(root^2 / mean)
  gap <- function(log_a) {
    a <- 1 + exp(log_a)
    2 * log_root(a) + log_a - want
  }
  shape <- 1 + exp(stats::uniroot(gap, c(-12, 18), tol = 1e-8, extendInt = "upX")$root)
  list(shape = shape, rate = mean * (shape - 1))
}
