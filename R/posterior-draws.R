# Draws of all chains one after another, of a fit whose chains weigh differently each as often as
# the weight of its chain says.
pooled_draws <- function(object, names) {
  flat <- stack_chains(object$draws[, , names, drop = FALSE])
  rows <- weighted_rows(object)
  if (is.null(rows)) flat else flat[rows, , drop = FALSE]
}

# Which of all stored draws, by the weights of their chains: NULL for each once.
taken_draws <- function(object, n) {
  total <- prod(dim(object$draws)[1:2])
  rows <- weighted_rows(object)
  if (is.null(n) || n >= total) return(rows)
  at <- round(seq(1, total, length.out = n))
  if (is.null(rows)) at else rows[at]
}

# Their rows among all: evenly spaced quantiles, as many as there are draws. NULL: each once.
weighted_rows <- function(object) {
  weights <- object$chain_weights
  if (is.null(weights) || max(weights) - min(weights) < 1e-8) return(NULL)
  size <- dim(object$draws)
  count <- size[1] * size[2]
  ends <- cumsum(rep(weights / size[1], each = size[1]))
  pmin(findInterval((seq_len(count) - 0.5) / count, ends) + 1L, count)
}

draw_count <- function(object, ndraws) {
  total <- if (is.null(object$draws)) Inf else prod(dim(object$draws)[1:2])
  min(total, if (!is.null(ndraws)) ndraws else if (total < Inf) total else 1000)
}

normal_matrix <- function(n, k) matrix(stats::rnorm(n * k), n, k)

# R with R'R = v, also when v has lost definiteness to rounding.
covariance_root <- function(v) {
  if (nrow(v) == 0) return(v)
  tryCatch(chol(v), error = function(e) {
    e <- eigen(v, symmetric = TRUE)
    sqrt(pmax(e$values, 0)) * t(e$vectors)
  })
}

inverse_gamma_mean <- function(shape, rate) rate / (if (shape > 1) shape - 1 else shape)
