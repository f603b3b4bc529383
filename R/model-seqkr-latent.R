# f of a sum of kernels by particles: given each it is normal.

#' @exportS3Method
latent.seqkr <- function(object, rows = NULL, links = "probit",
                         threads = getOption("bayeskernel.threads", 2L)) {
  if (is.null(rows)) return(kept_latent(object, links))
  out <- seqkr_moments(object, t(scaled_predictors(object, rows$x)), threads)
  if (is_regression(object)) return(out)
  c(out[c("mean", "var")], list(
    prob = list(probit = out$prob), prob_sd = list(probit = out$prob_sd)
  ))
}

# Moments on the scale of the data, for rows in the columns of x.
seqkr_moments <- function(object, x, threads) {
  classes <- length(object$levels) == 2L
  posterior <- object$posterior
  out <- core_call(seqkr_predict_cpp(posterior, posterior$kernel, x, classes, threads))
  to_data <- object$transform$response
  c(
    list(mean = to_data[1] + to_data[2] * out$mean, var = to_data[2]^2 * out$var),
    if (classes) out[c("prob", "prob_sd")]
  )
}

# Mean and standard deviation of f, or of a new response, by particle, on the scale of the data:
# particles x rows.
particle_normals <- function(object, rows, response, threads) {
  posterior <- object$posterior
  found <- core_call(seqkr_latent_cpp(
    posterior, posterior$kernel, t(scaled_predictors(object, rows$x)), threads
  ))
  if (response) found$var <- found$var + posterior$noise
  to_data <- object$transform$response
  list(mean = to_data[1] + to_data[2] * found$mean, sd = to_data[2] * sqrt(found$var))
}

#' @exportS3Method
latent_draws.seqkr <- function(object, rows = NULL, take = NULL, response = FALSE,
                               threads = getOption("bayeskernel.threads", 2L)) {
  normals <- particle_normals(object, rows, response, threads)
  at <- rep_len(seq_len(object$particles), take %||% 1000L)
  mean <- normals$mean[at, , drop = FALSE]
  list(
    f = mean + normals$sd[at, , drop = FALSE] * stats::rnorm(length(mean)),
    mean = colMeans(normals$mean), sigma = if (is_regression(object)) seqkr_sigma(object)[at]
  )
}

# Given a particle its coefficients are normal: these are drawn, and every row takes them.
#' @exportS3Method
joint_draws.seqkr <- function(object, rows, take, threads) {
  posterior <- object$posterior
  x <- t(scaled_predictors(object, rows$x))
  kernel <- core_call(kernel_matrix_cpp(posterior$kernel, posterior$points, x, threads))$values
  size <- posterior$size + 1L
  each <- seq_along(size)
  centre <- split(posterior$centre + 1L, rep(each, posterior$size))
  mean <- split(posterior$mean, rep(each, size))
  rooted <- length(posterior$root) > 0L
  square <- split(if (rooted) posterior$root else posterior$covariance, rep(each, size^2))
  f <- vapply(rep_len(each, take %||% 1000L), function(p) {
    basis <- rbind(1, kernel[centre[[as.character(p)]], , drop = FALSE])
    root <- matrix(square[[p]], size[p])
    root <- if (rooted) root * lower.tri(root, TRUE) else root_of(root, 0)
    drop(crossprod(basis, mean[[p]] + crossprod(root, stats::rnorm(nrow(root)))))
  }, numeric(ncol(x)))
  to_data <- object$transform$response
  list(f = to_data[1] + to_data[2] * t(matrix(f, ncol(x))))
}

# Limits of f, or of a response: quantiles of the mixture over particles.
particle_limits <- function(object, rows, ask) {
  check_rows_given(rows)
  n <- nrow(rows$x)
  if (n == 0L) return(cbind(fit = numeric(), lwr = numeric(), upr = numeric()))
  parts <- lapply(row_slices(n, object$particles), function(at) {
    normals <- particle_normals(
      object, take_rows(rows, at), ask$interval == "prediction", ask$threads
    )
    mean <- colMeans(normals$mean)
    ends <- mixture_quantiles(normals$mean, normals$sd, c(1 - ask$level, 1 + ask$level) / 2)
    cbind(fit = mean, lwr = ends[, 1], upr = ends[, 2])
  })
  do.call(rbind, parts)
}

seqkr_sigma <- function(object) object$transform$response[2] * sqrt(object$posterior$noise)

# What has one meaning in every particle: after the final moves a draw each.
#' @exportS3Method
draws_from_posterior.seqkr <- function(object, n = 1000, seed = NULL) {
  at <- if (n < object$particles) {
    round(seq(1, object$particles, length.out = n))
  } else {
    seq_len(object$particles)
  }
  posterior <- object$posterior
  out <- cbind(
    sigma = if (is_regression(object)) seqkr_sigma(object), kernels = posterior$size,
    coef_sd = object$transform$response[2] * sqrt(posterior$spread)
  )
  out[at, , drop = FALSE]
}

#' @exportS3Method
parameters.seqkr <- function(object, level = 0.95) {
  table <- draws_table(draws_from_posterior(object, object$particles), level)
  words <- c(sigma = "sigma (noise)", kernels = "number of kernels", coef_sd = "sd of coefficients")
  parameter_rows("parameter", table, label = unname(words[rownames(table)]))
}

# Number of kernels, prior and posterior.
seqkr_counts <- function(object) {
  points <- if (ncol(object$grid)) ncol(object$grid) else min(object$n, object$grid_max)
  most <- min(object$prior$kmax, points)
  prior <- stats::dpois(0:most, object$prior$lambda)
  data.frame(
    kernels = 0:most, prior = prior / sum(prior),
    posterior = tabulate(object$posterior$size + 1L, most + 1L) / object$particles
  )
}

#' @exportS3Method
facts.seqkr <- function(object, only = NULL) {
  size <- object$posterior$size
  steps <- object$trace$steps
  limits <- stats::quantile(size, c(0.025, 0.975), type = 1, names = FALSE)
  candidates <- ncol(object$state$points)
  chosen_facts(
    only, title = paste(
      "Sequential Bayesian kernel", if (is_regression(object)) "regression" else "classification"
    ),
    Rows = rows_fact(object), Kernel = format(object$kernel),
    Tuned = if (!is.null(object$tuned$rows)) tuning_text(object$tuned),
    Retuned = if (!is.null(object$retuned)) {
      sprintf("after row %.0f, by %.0f of the rows", object$retuned$at, object$retuned$rows)
    },
    Kernels = sprintf(
      "%.1f (mean), 95 %%: %.0f to %.0f, of %d candidates", mean(size),
      limits[1], limits[2], candidates
    ),
    Particles = sprintf(
      "%d, moves \"%s\"%s", object$particles, object$moves,
      if (object$moves == "rj") sprintf(", %d sweeps a row", object$sweeps) else ""
    ),
    "Effective" = sprintf(
      "%.0f %% of particles (median), at least %.0f %%; resampled %.0f times%s",
      100 * stats::median(steps$ess) / object$particles, 100 * min(steps$ess) / object$particles,
      sum(steps$resampled),
      if (any(steps$stages > 1)) sprintf(", in several steps for %d", sum(steps$stages > 1)) else ""
    ),
    Cost = sprintf(
      "%s ms a row, %s for the state of the stream",
      format(1000 * stats::median(utils::tail(steps$seconds, 100)), digits = 2),
      format_bytes(as.double(utils::object.size(object$state)))
    )
  )
}

#' @exportS3Method
extras.seqkr <- function(object) {
  list(
    summary = list(
      kernels = seqkr_counts(object), log_evidence = object$log_evidence,
      ess = object$trace$steps$ess, centres = seqkr_centres(object)
    ),
    glance = list(
      family = object$family, kernels = mean(object$posterior$size),
      log_evidence = object$log_evidence
    )
  )
}

# Inputs that are centres, on the scale of the data, by how often they are.
seqkr_centres <- function(object) {
  posterior <- object$posterior
  count <- tabulate(posterior$centre + 1L, ncol(posterior$points))
  out <- as.data.frame(t(posterior$points * object$transform$scale + object$transform$center))
  names(out) <- object$columns
  out <- cbind(out, inclusion = count / object$particles)
  out <- out[order(-out$inclusion), , drop = FALSE]
  rownames(out) <- NULL
  out
}

# The function of the only predictor, or the probability, with intervals, the rows that the stream
# has kept, and a tick where there are centres.
curve_data <- function(x, threads, level) {
  to_data <- function(z) z * x$transform$scale + x$transform$center
  seen <- as.vector(to_data(x$state$points))
  reach <- range(seen)
  at <- seq(reach[1], reach[2], length.out = 201)
  rows <- list(x = matrix(0, length(at), max(x$used)))
  rows$x[, x$used] <- at
  regression <- is_regression(x)
  limits <- particle_limits(x, rows, list(
    interval = if (regression) "prediction" else "credible", level = level, threads = threads
  ))
  inner <- particle_limits(x, rows, list(interval = "credible", level = level, threads = threads))
  if (!regression) limits <- inner <- stats::pnorm(inner)
  data.frame(x = at, limits, lwr_mean = inner[, "lwr"], upr_mean = inner[, "upr"])
}

curve_title <- function(x, level) {
  sprintf("Function, %s %s", percent(level), if (is_regression(x)) {
    "credible and prediction intervals"
  } else {
    "credible interval"
  })
}

# The rows, if the stream has kept all.
curve_rows <- function(x) {
  if (ncol(x$state$x) != x$n) return(NULL)
  y <- x$transform$response[1] + x$transform$response[2] * x$state$y
  data.frame(
    x = as.vector(x$state$x) * x$transform$scale + x$transform$center,
    y = if (is_regression(x)) y else (y + 1) / 2
  )
}
