# The posterior with missing values and the effects of groups integrated out of the likelihood
# (model-missing-effects.R), in place of the one that atoms have: its maximum, what lies about it,
# and the values that are missing.

# What the core takes beside the rows. Other variances than those of the effects and of the noise
# stay; `held`: these do, too.
# at: `block` of the effects; `rest`: what the value and the score in the log of the noise have
#   more; `leans`: means of coefficients are not at the maximum.
# precision, noise: where variances begin.
marginal_settings <- function(at, job, precision, noise, held) {
  prior <- function(of) list(shape = of$shape, rate = of$rate, half_t = of$half_t)
  block <- job$blocks$blocks[[at$block]]
  own <- job$control$noise
  list(
    prior_precision = prior_precision(job$blocks, precision),
    prior_mean = as.double(job$blocks$mean), precision = as.matrix(precision[[at$block]]),
    noise = noise %||% 1, rest = at$rest, leans = at$leans,
    effects_prior = if (!held && block$kind == "iid") prior(block),
    noise_prior = if (!held && !is.null(noise) && !is.null(own$rate)) prior(own)
  )
}

learned_variances <- function(settings) {
  !vapply(settings[c("effects_prior", "noise_prior")], is.null, NA)
}

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
  noise <- if (numbers) {
    own <- if (lattice) best$noise else core$noise$rate / core$noise$shape
    if (length(own) == 0L) 1 / core$noise$precision else own
  }
  settings <- marginal_settings(at, job, best$precision, noise, held)
  if (!numbers && !is.null(at$where)) {
    return(step_classes(core, job, at, settings, best, held))
  }
  found <- core_call(marginal_peak_cpp(at$rows, settings, best$theta_mean))
  if (length(found) == 0L) return(widen_completed(core, job))
  answer <- if (length(core$points) == 0L) {
    fit_to_marginal(core, job, at, settings, found)
  } else if (lattice && weighs(core$log_variance$index, at$block, settings)) {
    weigh_points(core, job, at, settings, found)
  } else {
    p <- length(found$theta)
    shift_shared(widen_completed(core, job), job, list(
      theta = found$theta, scale = found$phi[p + 1L], noise = found$phi[p + 2L],
      moved = found$effects - best$group_mean
    ), !held, best, at$block)
  }
  if (is.null(answer)) return(widen_completed(core, job))
  if (is.null(at$where)) {
    answer$share <- found$known$share
  } else {
    answer$completed <- c(found$known, at["where"])
  }
  answer
}

# Classes with missing numbers: one step.
step_classes <- function(core, job, at, settings, best, held) {
  core <- widen_completed(core, job)
  rows <- normal_responses(at$rows, core, job)
  found <- core_call(marginal_step_cpp(rows, settings, best$theta_mean))
  if (length(found) == 0L) return(core)
  core <- shift_shared(core, job, list(
    theta = found$theta, scale = found$scale, noise = 0, moved = found$effects
  ), !held, best, at$block)
  core$completed <- list(where = at$where, move = found$completed)
  core
}

# Whether a lattice is over the variances that are free, and no others.
weighs <- function(index, block, settings) {
  all(index %in% c(block, 0L)) && length(index) == sum(learned_variances(settings))
}

# Where points are not those of such a lattice, they all move as the maximum does.
shift_shared <- function(core, job, found, moves, best, block) {
  theta <- found$theta - best$theta_mean
  core$mean <- core$mean + moved_rows(job, theta, found$moved)
  core <- shift_answer(core, theta, found$moved)
  core$points <- lapply(core$points, shift_answer, theta, found$moved)
  if (moves) shift_variances(core, block, found) else core
}

# Points of a lattice, moved with the maximum: each has the coefficients of its variances and counts
# by the posterior density there; those that count for nothing are left out. Their covariances
# change as that at the maximum does.
weigh_points <- function(core, job, at, settings, found) {
  index <- core$log_variance$index
  block <- at$block
  p <- length(found$theta)
  best <- core$points[[1L]]
  order <- order(match(index, c(block, 0L)))
  moves <- by_component(lapply(core$points, function(point) list(x = point$x - best$x)), "x")
  moves <- matrix(moves, length(core$points))[, order, drop = FALSE]
  weight <- vapply(core$points, `[[`, 1, "weight")
  last <- p + seq_along(index)
  near <- exp(-rowSums((moves %*% solve(found$cov[last, last])) * moves) / 2)
  counts <- weight > 1e-4 * max(weight) | near > 1e-4
  core$points <- core$points[counts]
  looks <- core_call(marginal_points_cpp(at$rows, settings, found, moves[counts, , drop = FALSE]))
  weight <- vapply(looks$each, `[[`, 0, "log_density")
  known <- is.finite(weight)
  if (!any(known)) return(NULL)
  core$points <- core$points[known]
  looks$each <- looks$each[known]
  weight <- exp(weight[known] - max(weight[known]))
  weight <- pmax(weight / sum(weight), 1e-300)
  root <- backsolve(chol(best$theta_cov), diag(p), transpose = TRUE)
  turn <- t(chol(root %*% looks$within %*% t(root)))
  shift <- found$phi[p + 1:2]
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
    one$group_mean <- one$group_mean -
      as.vector(crossprod(matrix(one$loading, length(look$step)), look$step))
  }
  widen_groups(one, add)
}

# Of mean field: the same of nodes of quadrature about the maximum, more of them where a variance
# is hardly known.
fit_to_marginal <- function(core, job, at, settings, found) {
  learns <- learned_variances(settings)
  own <- length(found$theta) + seq_len(sum(learns))
  cov <- found$cov[own, own, drop = FALSE]
  nodes <- c(3L, 5L, 9L)[findInterval(diag(cov), c(0, 0.2, 0.5))]
  rules <- lapply(nodes, normal_rule)
  grid <- function(name) unname(as.matrix(expand.grid(lapply(rules, `[[`, name))))
  z <- grid("node")
  if (length(own) == 0L) z <- matrix(0, 1L, 0L)
  moves <- z %*% (if (length(own)) chol(cov) else cov)
  looks <- core_call(marginal_points_cpp(at$rows, settings, found, moves))
  weight <- vapply(looks$each, `[[`, 0, "log_density") + rowSums(z^2) / 2 +
    if (length(own)) rowSums(log(grid("weight"))) else 0
  known <- is.finite(weight)
  if (!any(known)) return(NULL)
  weight <- exp(weight[known] - max(weight[known]))
  moves <- moves[known, , drop = FALSE]
  points <- lapply(looks$each[known], function(look) place_answer(core, look, looks$within))
  begin <- c(-log(found$precision[1L]), log(found$noise))[learns]
  index <- c(at$block, 0L)[learns]
  mix_answers(
    core, job, points, weight / sum(weight), moves + rep(begin, each = nrow(moves)), index,
    at$block
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
