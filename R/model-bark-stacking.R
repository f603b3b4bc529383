# Chains that do not find one another, weighted by how well each predicts the rows that are left
# out: stacking of their predictive densities (Yao, Vehtari and Gelman, 2022).

# Weights of the chains of a fit, which add up to 1. Those that agree, by R-hat, sample one
# distribution and weigh the same: differences of their scores would be chance.
chain_weights <- function(object, threads) {
  count <- dim(object$draws)[2]
  if (count == 1L || !chains_disagree(object)) return(rep(1 / count, count))
  stacked_weights(chain_scores(object, threads))
}

# Whether an R-hat of the fit says that its chains disagree.
chains_disagree <- function(object) any(object$diagnostics$table$rhat > most_rhat, na.rm = TRUE)

# How far the predictions of chains that disagree are from one another: at each row of the fit the
# standard deviation of the chains' means of f, in units of the posterior standard deviation within
# them; the median over the rows and the value that a tenth of them exceeds. `error`: what that
# leaves of the average of the chains, which is what predictions are: its Monte Carlo standard error
# in units of its own standard deviation, the median over the rows. `most` draws of a chain are
# enough.
chains_apart <- function(object, threads, most = 100L) {
  size <- dim(object$draws)
  if (size[2] == 1L || size[1] < 2L || !chains_disagree(object)) return(NULL)
  take <- spread_over(size[1], most)
  rows <- spread_over(object$n, 1000L)
  x <- object$posterior$x[rows, , drop = FALSE]
  level <- object$posterior$blocks$level[rows, , drop = FALSE]
  moments <- lapply(seq_len(size[2]), function(chain) {
    bark_moments(object, x, threads, level, take + (chain - 1L) * size[1])
  })
  means <- vapply(moments, function(own) own$mean, numeric(length(rows)))
  vars <- vapply(moments, function(own) own$var, numeric(length(rows)))
  within <- rowMeans(vars)
  between <- rowSums((means - rowMeans(means))^2) / (size[2] - 1)
  ratio <- sqrt(between / pmax(within, .Machine$double.xmin))
  w <- object$chain_weights
  each <- w %||% rep(1 / size[2], size[2])
  whole <- (vars + (means - drop(means %*% each))^2) %*% each
  list(
    size = unname(stats::quantile(ratio, c(0.5, 0.9))),
    error = stats::median(sqrt(between * sum(each^2) / pmax(whole, .Machine$double.xmin))),
    weights = if (is.null(w) || max(w) - min(w) < 1e-8) {
      "with equal weights"
    } else {
      paste0("stacked, weights ", paste(sprintf("%.2f", w), collapse = ", "))
    }
  )
}

# Log predictive density of each row given the others, n x chains. Given the kernels of a draw it is
# known, or its place is taken by the density given f; draws weigh by its inverse, as they depend on
# the row. Of many rows some draws and rows are enough for a weight for each chain.
chain_scores <- function(object, threads) {
  size <- dim(object$draws)
  some <- function(n) spread_over(n, if (n > most_whole) 2000L else n)
  log_p <- if (is_regression(object)) {
    rows <- some(object$n)
    own <- if (object$n > most_whole) spread_over(size[1], 100L) else TRUE
    function(take) left_out_densities(object, take[own], threads, rows)
  } else {
    all <- repeated_columns(object, log_densities(object, seed = 1))
    all <- all[, some(ncol(all)), drop = FALSE]
    function(take) all[take, , drop = FALSE]
  }
  do.call(cbind, lapply(seq_len(size[2]), function(chain) {
    held_out_score(log_p(seq_len(size[1]) + (chain - 1L) * size[1]))
  }))
}

# log p(y_i | the other rows, the kernels of a draw), draws x rows: coefficients are integrated out,
# and the leverage takes a row's own pull away.
left_out_densities <- function(object, take, threads, rows = seq_len(object$n)) {
  core <- bark_core_draws(object, take)
  x <- object$posterior$x
  to_data <- object$transform$response
  y <- (object$y - to_data[1]) / to_data[2]
  weights <- object$weights %||% rep(1, object$n)
  out <- matrix(0, length(take), length(rows))
  for (slice in row_slices(length(rows), length(take))) {
    part <- rows[slice]
    f <- core_call(bark_latent_cpp(
      core, x, x[part, , drop = FALSE], threads, object$posterior$blocks$level[part, , drop = FALSE]
    ))
    noise <- 1 / (core$phi %o% weights[part])
    # A row that its own kernel follows has a leverage of nearly 1.
    open <- pmax(1 - f$var / noise, 1e-10)
    left <- rep(y[part], each = length(take)) - f$mean
    out[, slice] <- stats::dnorm(left / open, 0, sqrt(noise / open), log = TRUE)
  }
  out - log(to_data[2])
}

# The log of the mean of p under the posterior without the row, from draws with it: importance
# weights 1 / p, truncated at sqrt(draws) times their mean (Ionides, 2008). In logs: a row may be an
# outlier to some draws, whose density underflows.
held_out_score <- function(log_p) {
  log_sum <- function(x) max(x) + log(sum(exp(x - max(x))))
  apply(log_p, 2, function(own) {
    ratio <- pmin(-own, log_sum(-own) - log(length(own)) / 2)
    log_sum(ratio + own) - log_sum(ratio)
  })
}

# Weights of the columns whose mixture has the largest mean log density of the rows, with a
# Dirichlet(2, ..., 2) prior, as if each were best on a row more: few rows do not say which of
# chains that differ little is best. By EM; the function is concave.
stacked_weights <- function(log_density, tol = 1e-8, most = 20000L) {
  p <- exp(log_density - apply(log_density, 1, max))
  w <- rep(1 / ncol(p), ncol(p))
  for (step in seq_len(most)) {
    before <- w
    w <- w * colSums(p / drop(p %*% w)) + 1
    w <- w / sum(w)
    if (max(abs(w - before)) < tol) break
  }
  w
}

chains_fact <- function(object) {
  w <- object$chain_weights
  if (is.null(w)) return(NULL)
  if (max(w) - min(w) < 1e-8) return("weigh the same: they agree")
  sprintf(
    "they disagree, weights by leave-one-out stacking: %s",
    paste(sprintf("%.2f", w), collapse = ", ")
  )
}
