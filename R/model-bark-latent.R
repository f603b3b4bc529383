# f of a sum of kernels: given a draw of the kernels the coefficients are normal and integrated out.

# What the core reads of the draws `take`, chain after chain; NULL for all, each once.
bark_core_draws <- function(object, take = NULL) {
  flat <- stack_chains(object$draws)
  names <- colnames(flat)
  kernels <- join_kernels(object$posterior$kernels)
  blocks <- object$posterior$blocks
  of_blocks <- if (!is.null(blocks)) c("block_mean", "block_variance")
  # Draws are columns.
  kernels[of_blocks] <- lapply(kernels[of_blocks], matrix, ncol = nrow(flat))
  if (!is.null(take)) {
    flat <- flat[take, , drop = FALSE]
    last <- cumsum(kernels$size)[take]
    kernels$size <- kernels$size[take]
    at <- sequence(kernels$size, last - kernels$size + 1L)
    for (name in c("location", "variance", "mean")) kernels[[name]] <- kernels[[name]][at]
    kernels[of_blocks] <- lapply(kernels[of_blocks], function(each) each[, take, drop = FALSE])
  }
  part <- function(prefix) unname(flat[, startsWith(names, prefix), drop = FALSE])
  c(list(
    kernels = kernels, lambda = part("lambda["),
    phi = if (is_regression(object)) flat[, "phi"] else rep(1, nrow(flat)),
    cuts = cut_points(object, part("cut[")), classes = length(object$levels),
    weights = as.double(object$weights)
  ), if (!is.null(blocks)) list(blocks = blocks))
}

# Draws x cut points. In fits of versions up to 0.12.0 the first one of ordered classes is 0, and no
# draw has it.
cut_points <- function(object, cuts) {
  if (ncol(cuts) == length(object$levels) - 2L && ncol(cuts) > 0L) cbind(0, cuts) else cuts
}

#' @exportS3Method
latent.bark <- function(object, rows = NULL, links = "probit",
                        threads = getOption("bayeskernel.threads", 2L)) {
  if (is.null(rows)) return(kept_latent(object, links))
  out <- bark_moments(object, scaled_predictors(object, rows$x), threads, level_codes(rows$random))
  if (is_regression(object)) return(out)
  c(out[c("mean", "var")], list(
    prob = list(probit = out$prob), prob_sd = list(probit = out$prob_sd)
  ))
}

# Moments of f on the scale of the data, and of class probabilities, for rows on the scale of the
# model with level_codes() of theirs, NULL for none of the random effects. Vectors for two classes,
# matrices for more.
bark_moments <- function(object, x, threads, level, take = taken_draws(object, NULL)) {
  classes <- length(object$levels)
  out <- core_call(bark_predict_cpp(
    bark_core_draws(object, take), object$posterior$x, x, threads, level
  ))
  to_data <- object$transform$response
  moments <- list(mean = to_data[1] + to_data[2] * out$mean, var = to_data[2]^2 * out$var)
  if (classes == 0L) return(moments)
  chances <- lapply(out[c("prob", "prob_sd")], function(each) {
    if (classes == 2L) return(each[, 2])
    colnames(each) <- object$levels
    each
  })
  c(moments, chances)
}

# By how much the mean of f over rows, at most 30, changes with each predictor between its
# quantiles of 5 and 95 %: of many predictors for those with the largest scales. `most_draws` say
# it to about as many digits as the rest of a table has. Some fits of 0.12.0 have them.
partial_ranges <- function(fit, threads = getOption("bayeskernel.threads", 2L), most = 50L,
                           most_draws = 200L) {
  if (!is.null(fit$partial_range)) return(fit$partial_range)
  x <- fit$posterior$x
  base <- spread_over(nrow(x), 30L)
  probs <- c(0.05, 0.275, 0.5, 0.725, 0.95)
  of <- utils::head(order(-colMeans(bark_scales(fit))), most)
  at <- rep(base, times = length(probs))
  # One call for all: what a draw says of the rows of the fit is computed once.
  rows <- x[rep(at, times = length(of)), , drop = FALSE]
  for (k in seq_along(of)) {
    own <- (k - 1L) * length(at) + seq_along(at)
    values <- stats::quantile(x[, of[k]], probs, type = 1L, names = FALSE)
    rows[own, of[k]] <- rep(values, each = length(base))
  }
  level <- fit$posterior$blocks$level[rep(at, times = length(of)), , drop = FALSE]
  mean <- bark_moments(fit, rows, threads, level, taken_draws(fit, most_draws))$mean
  curves <- array(mean, c(length(base), length(probs), length(of)))
  out <- stats::setNames(rep(NA_real_, ncol(x)), fit$columns)
  out[of] <- apply(colMeans(curves), 2, function(f) diff(range(f)))
  out
}

# One f ~ N(mean, var) for every draw and row, of a regression with the noise of a new response if
# asked: of the row's weight for the rows of the fit, of 1 for others. Rows are taken in parts of
# some million numbers. A level that the fit has not seen has another effect in each row.
#' @exportS3Method
latent_draws.bark <- function(object, rows = NULL, take = NULL, response = FALSE,
                              threads = getOption("bayeskernel.threads", 2L)) {
  x <- rows_or_own(object, rows)
  level <- if (is.null(rows)) object$posterior$blocks$level else level_codes(rows$random)
  core <- bark_core_draws(object, taken_draws(object, take))
  to_data <- object$transform$response
  size <- length(core$phi)
  weights <- if (is.null(rows)) object$weights
  noise <- function(part) 1 / if (is.null(weights)) core$phi else core$phi %o% weights[part]
  f <- matrix(0, size, nrow(x))
  mean <- numeric(nrow(x))
  for (part in if (nrow(x)) row_slices(nrow(x), size)) {
    found <- core_call(bark_latent_cpp(
      core, object$posterior$x, x[part, , drop = FALSE], threads, level[part, , drop = FALSE]
    ))
    if (response) found$var <- found$var + noise(part)
    f[, part] <- found$mean + sqrt(found$var) * stats::rnorm(length(found$mean))
    mean[part] <- colMeans(found$mean)
  }
  list(
    f = to_data[1] + to_data[2] * f, mean = to_data[1] + to_data[2] * mean,
    # Draws x rows where these have weights.
    sigma = if (is_regression(object)) to_data[2] * sqrt(noise(TRUE)),
    cuts = if (length(object$levels) > 2L) core$cuts
  )
}

# Given a draw of the kernels their coefficients, and those of blocks, are normal, with the
# covariance that the rows of the fit leave: these are drawn, and every row takes them. A level that
# the fit has not seen has one effect.
#' @exportS3Method
joint_draws.bark <- function(object, rows, take, threads) {
  bark_joint_draws(
    object, scaled_predictors(object, rows$x), level_codes(rows$random), rows$random, take, threads
  )
}

# x: rows on the scale of the model.
bark_joint_draws <- function(object, x, level, random, take, threads = 1L) {
  core <- bark_core_draws(object, taken_draws(object, take))
  own <- object$posterior$x
  last <- cumsum(core$kernels$size)
  blocks <- core$blocks
  fixed <- block_columns(blocks, own, blocks$level)
  sizes <- c(if (isTRUE(blocks$linear)) ncol(own), blocks$levels)
  unseen <- matrix(0, length(last), nrow(x))
  for (d in seq_along(last)) {
    at <- last[d] - core$kernels$size[d] + seq_len(core$kernels$size[d])
    basis <- cbind(fixed, bark_basis(own, own, core$kernels$location[at], core$lambda[d, ]))
    if (length(core$weights)) basis <- basis * sqrt(core$weights)
    own_variance <- core$kernels$block_variance[, d]
    variance <- c(rep(own_variance, sizes), core$kernels$variance[at])
    size <- length(variance)
    precision <- core$phi[d] * crossprod(basis) + diag(1 / variance, size)
    error <- if (size > 0L) backsolve(chol(precision), stats::rnorm(size))
    first <- seq_len(sum(sizes))
    if (sum(sizes)) {
      core$kernels$block_mean[, d] <- core$kernels$block_mean[, d] + error[first]
    }
    core$kernels$mean[at] <- core$kernels$mean[at] + error[sum(sizes) + seq_along(at)]
    unseen[d, ] <- unseen_effects(random, own_variance)
  }
  f <- core_call(bark_latent_cpp(core, own, x, threads, level))$mean + unseen
  to_data <- object$transform$response
  list(f = to_data[1] + to_data[2] * f, cuts = if (length(object$levels) > 2L) core$cuts)
}

# Slopes of the plane that is closest to f, without random effects, over the rows of the fit, draws
# x predictors: kernels can say what the linear part says, so that neither's coefficients are slopes
# of f by themselves. Of planes that are equally close, as with an indicator of each level of a
# factor, the one with the smallest slopes.
bark_slopes <- function(object, most = 400L) {
  own <- object$posterior$x
  x <- own[spread_over(nrow(own), most), , drop = FALSE]
  take <- max(100, min(most, 4e5 / nrow(own)))
  f <- with_seed(object$seed %||% 1L, {
    bark_joint_draws(object, x, NULL, NULL, take)$f
  })
  parts <- svd(sweep(x, 2L, colMeans(x)))
  kept <- which(parts$d > 1e-8 * parts$d[1L])
  along <- crossprod(parts$u[, kept, drop = FALSE], t(f)) / parts$d[kept]
  slopes <- parts$v[, kept, drop = FALSE] %*% along
  out <- t(slopes / object$transform$scale)
  colnames(out) <- sprintf("slope[%s]", object$columns)
  out
}

# Columns of the blocks of rows: the predictors of a linear part, then an indicator of each level of
# each factor. NULL without blocks.
block_columns <- function(blocks, x, level) {
  if (is.null(blocks)) return(NULL)
  do.call(cbind, c(
    list(x[, if (blocks$linear) seq_len(ncol(x)), drop = FALSE]),
    lapply(seq_along(blocks$levels), function(t) {
      if (is.null(level)) level <- matrix(-1L, nrow(x), t)
      outer(level[, t], seq_len(blocks$levels[t]), `==`) + 0
    })
  ))
}

# One effect for each level that the fit has not seen, in all its rows. `variance`: of the blocks,
# those of factors last.
unseen_effects <- function(random, variance) {
  first <- length(variance) - length(random)
  out <- lapply(seq_along(random), function(t) {
    term <- random[[t]]
    new <- term$group == 0L & term$z[, 1] != 0
    names <- factor(ifelse(new, term$name, NA))
    effect <- stats::rnorm(nlevels(names), 0, sqrt(variance[first + t]))
    ifelse(new, effect[names], 0)
  })
  Reduce(`+`, out, 0)
}

# Kernels at rows of `own`, places of the first vector of scales before those of the next, the
# constant for location 0: rows of x x kernels. Distances are those of products: |x - c|^2 = |x|^2 -
# 2 x'c + |c|^2.
bark_basis <- function(x, own, centres, lambda) {
  out <- matrix(1, nrow(x), length(centres))
  lambda <- matrix(lambda, ncol(own))
  vector <- kernel_vector(centres, nrow(own))
  for (v in unique(vector[centres > 0])) {
    at <- which(vector == v & centres > 0)
    used <- which(lambda[, v] > 0)
    root <- sqrt(lambda[used, v])
    from <- t(own[(centres[at] - 1) %% nrow(own) + 1, used, drop = FALSE]) * root
    rows <- x[, used, drop = FALSE] * rep(root, each = nrow(x))
    far <- outer(rowSums(rows^2), colSums(from^2), `+`) - 2 * rows %*% from
    out[, at] <- exp(-pmax(far, 0))
  }
  out
}

# Which vector of scales a kernel of a fit to n rows has; 0 for the constant.
kernel_vector <- function(location, n) (location - 1) %/% n + 1

# Rows, or those of the fit, as the kernels of the model see them.
rows_or_own <- function(object, rows) {
  if (is.null(rows)) object$posterior$x else scaled_predictors(object, rows$x)
}

# The rows that a fit keeps to predict from.
keeps_rows <- function(object) !is.null(object$posterior$x) || isTRUE(object$posterior$own)
