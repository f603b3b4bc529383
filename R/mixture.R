# Mixtures of normal laws: of the points of a grid, or of particles.

#' Quantiles of mixtures of normal laws
#'
#' By bisection, between the outermost means -/+ 10 standard deviations.
#'
#' @param mean,sd A row for each component, a column for each mixture.
#' @param probs Probabilities.
#' @param weights Of the components, summing to 1.
#' @return A row for each mixture, a column for each of `probs`.
#' @noRd
mixture_quantiles <- function(mean, sd, probs,
                              weights = rep(1 / nrow(mean), nrow(mean))) {
  lowest <- apply(mean - 10 * sd, 2, min)
  highest <- apply(mean + 10 * sd, 2, max)
  each <- nrow(mean)
  out <- vapply(probs, function(p) {
    low <- lowest
    high <- highest
    for (step in 1:50) {
      middle <- (low + high) / 2
      below <- c(weights %*% matrix(
        stats::pnorm(rep(middle, each = each), mean, sd), each
      )) < p
      low[below] <- middle[below]
      high[!below] <- middle[!below]
    }
    (low + high) / 2
  }, lowest)
  matrix(out, ncol(mean), length(probs))
}

# One of the vectors of each list, as the rows of a matrix.
by_component <- function(each, name) {
  do.call(rbind, lapply(each, `[[`, name))
}
