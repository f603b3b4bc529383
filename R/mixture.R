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

#' Quantiles of a variable that is known at the points of a lattice
#'
#' On a line of points, or where they fall on one, the logarithm of the density
#' is a spline through them; elsewhere the distribution function is linear
#' between them.
#'
#' @param x,weights Of the points, the weights summing to 1.
#' @param probs Probabilities.
#' @return A quantile for each of `probs`.
#' @noRd
lattice_quantiles <- function(x, weights, probs) {
  unit <- max(diff(range(x)), 1e-300)
  at <- round((x - min(x)) / unit, 8)
  weights <- as.vector(tapply(weights, at, sum))
  x <- min(x) + unit * sort(unique(at))
  seen <- weights > 1e-12
  x <- x[seen]
  weights <- weights[seen]
  if (length(x) == 1L) {
    return(rep(x, length(probs)))
  }
  steps <- diff(x)
  if (length(x) > 3L && max(steps) < 1.01 * min(steps)) {
    density <- stats::splinefun(x, log(weights), "natural")
    x <- seq(x[1] - steps[1], x[length(x)] + steps[1], length.out = 2001)
    weights <- exp(density(x))
  }
  below <- cumsum(weights) - weights / 2
  stats::approx(
    below / sum(weights), x, probs, rule = 2, ties = "ordered"
  )$y
}

# One of the vectors of each list, as the rows of a matrix.
by_component <- function(each, name) {
  do.call(rbind, lapply(each, `[[`, name))
}
