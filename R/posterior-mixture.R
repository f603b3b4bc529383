# Mixtures of normal laws: of the points of a grid, or of particles.

# Quantiles of mixtures of normal laws. By bisection, between the outermost means -/+ 10 standard
# deviations.
# mean, sd: a row for each component, a column for each mixture.
# probs: probabilities.
# weights: for the components, summing to 1.
# Returns a row for each mixture, a column for each of `probs`.
mixture_quantiles <- function(mean, sd, probs, weights = rep(1 / nrow(mean), nrow(mean))) {
  lowest <- apply(mean - 10 * sd, 2, min)
  highest <- apply(mean + 10 * sd, 2, max)
  each <- nrow(mean)
  out <- vapply(probs, function(p) {
    low <- lowest
    high <- highest
    for (step in 1:50) {
      middle <- (low + high) / 2
      below <- c(weights %*% matrix(stats::pnorm(rep(middle, each = each), mean, sd), each)) < p
      low[below] <- middle[below]
      high[!below] <- middle[!below]
    }
    (low + high) / 2
  }, lowest)
  matrix(out, ncol(mean), length(probs))
}

# --- lattices ----------------------------------------------------------------

# A lattice of points refined. The logarithm of the density and functions of a place are splines
# along each axis in turn. What the lattice leaves out, where the density has all but ended, is
# extrapolated.
# place: a row of whole numbers for each point, a column for each axis.
# weights: for the points.
# values: a row for each point, a column for each function of its place.
# Returns `weights`, an array of the fine lattice, summing to 1; `values`, a row for each of its
#   points; `coarse`, the weights of `place` as an array.
refine_lattice <- function(place, weights, values) {
  first <- apply(place, 2, min) - 2L
  size <- apply(place, 2, max) - first + 1L
  at <- place - rep(first, each = nrow(place))
  on_lattice <- function(x, empty, limit) {
    out <- array(empty, size)
    out[at] <- x
    if (is.na(empty)) extend_lattice(out, limit) else out
  }
  pieces <- c(8L, 8L, 6L)[length(size)]
  log_weight <- on_lattice(log(pmax(weights, 1e-300)), NA_real_, TRUE)
  # Between knots that fall steeply a spline swings far above them.
  highest <- refine_axes(log_weight, pieces, spline = FALSE)
  fine <- pmin(refine_axes(log_weight, pieces), highest + 1)
  fine <- exp(fine - max(fine))
  functions <- apply(values, 2, function(x) {
    as.vector(refine_axes(on_lattice(x, NA_real_, FALSE), pieces))
  })
  list(
    weights = fine / sum(fine), values = matrix(functions, ncol = ncol(values)),
    coarse = on_lattice(weights, 0)
  )
}

# Places without a number have what the line of two or three neighbours says, the mean over axes.
# `falls`: a log density, whose curvature goes on where it is negative, and which does not rise
# outwards.
extend_lattice <- function(x, falls) {
  size <- dim(x)
  axes <- seq_along(size)
  while (anyNA(x)) {
    sum <- count <- array(0, size)
    for (k in axes) {
      order <- c(k, axes[-k])
      lines <- matrix(aperm(x, order), size[k])
      for (side in 1:2) {
        found <- extend_lines(lines, falls, side == 2L)
        found <- aperm(array(found, size[order]), order(order))
        known <- !is.na(found)
        sum[known] <- sum[known] + found[known]
        count <- count + known
      }
    }
    new <- is.na(x) & count > 0
    # A lattice of one point in some axis.
    if (!any(new)) x[is.na(x)] <- if (falls) min(x, na.rm = TRUE) - 10 else x[!is.na(x)][1L]
    x[new] <- sum[new] / count[new]
  }
  x
}

# By the numbers above each in its column, or below.
extend_lines <- function(lines, falls, below) {
  n <- nrow(lines)
  if (below) lines <- lines[n:1, , drop = FALSE]
  back <- function(by) {
    rbind(
      matrix(NA_real_, min(by, n), ncol(lines)), lines[seq_len(max(n - by, 0L)), , drop = FALSE]
    )
  }
  one <- back(1L)
  two <- back(2L)
  out <- 2 * one - two
  if (falls) {
    bend <- one - 2 * two + back(3L)
    out <- pmin(out + ifelse(is.na(bend), 0, pmin(bend, 0)), one)
  }
  if (below) out[n:1, , drop = FALSE] else out
}

# Natural splines along each axis, with so many pieces to a step; or the larger of the knots on both
# sides.
refine_axes <- function(x, pieces, spline = TRUE) {
  size <- dim(x)
  for (k in seq_along(size)) {
    n <- size[1L]
    at <- seq(1, n, length.out = (n - 1L) * pieces + 1L)
    x <- matrix(x, n)
    fine <- if (spline) {
      apply(diag(n), 2, function(unit) stats::splinefun(seq_len(n), unit, "natural")(at)) %*% x
    } else {
      pmax(x[floor(at + 1e-9), , drop = FALSE], x[ceiling(at - 1e-9), , drop = FALSE])
    }
    # The next axis comes first, and this one last.
    x <- t(fine)
    size <- c(size[-1L], length(at))
  }
  array(x, size)
}

# Quantiles of a function of the place on a refined lattice. The mass of each point is spread evenly
# over the longest of its steps along the axes: many points may share a value.
refined_quantiles <- function(refined, probs) {
  width <- max(axis_steps(refined), 1e-12)
  sorted <- order(refined$values)
  x <- refined$values[sorted]
  below <- cumsum(refined$weights[sorted])
  area <- c(0, cumsum(below[-length(x)] * diff(x)))
  last <- length(x)
  distinct <- !duplicated(x, fromLast = TRUE)
  # The integral of the distribution function.
  integral <- stats::approxfun(
    c(x[1L] - width, x[distinct], x[last] + width),
    c(0, area[distinct], area[last] + width), rule = 2
  )
  at <- seq(x[1L] - width / 2, x[last] + width / 2, length.out = 4001)
  distribution <- (integral(at + width / 2) - integral(at - width / 2)) / width
  stats::approx(distribution, at, probs, rule = 2, ties = mean)$y
}

# The mean step of the function, along each axis.
axis_steps <- function(refined) {
  weights <- refined$weights
  size <- dim(weights)
  values <- array(refined$values, size)
  vapply(seq_along(size), function(k) {
    order <- c(k, seq_along(size)[-k])
    step <- abs(diff(matrix(aperm(values, order), size[k])))
    mass <- matrix(aperm(weights, order), size[k])[-1L, , drop = FALSE]
    sum(step * mass) / sum(mass)
  }, 1)
}

# Points of the fine lattice for points of the coarse one that were drawn by their weights: the same
# part of both distributions lies below them, axis after axis, each given those before it. So either
# has its own distribution.
finer_places <- function(refined, chosen) {
  d <- ncol(chosen)
  coarse <- axis_margins(refined$coarse)
  fine <- axis_margins(refined$weights)
  at <- inside <- integer(nrow(chosen))
  for (k in seq_len(d)) {
    u <- stats::runif(nrow(chosen))
    step <- integer(nrow(chosen))
    for (s in seq_along(u)) {
      from <- coarse[[k]][inside[s] + 1L, ]
      below <- sum(from[seq_len(chosen[s, k] - 1L)])
      share <- (below + u[s] * from[chosen[s, k]]) / sum(from)
      to <- cumsum(fine[[k]][at[s] + 1L, ])
      step[s] <- min(findInterval(share * to[length(to)], to, left.open = TRUE), length(to) - 1L)
    }
    inside <- inside + (chosen[, k] - 1L) * nrow(coarse[[k]])
    at <- at + step * nrow(fine[[k]])
  }
  at + 1L
}

# By axis: a row for each place on the axes before it, a column for each of its own, summed over
# those after it.
axis_margins <- function(x) {
  size <- dim(x)
  before <- cumprod(c(1L, size))
  lapply(seq_along(size), function(k) matrix(rowSums(matrix(x, before[k + 1L])), before[k]))
}

# --- scattered points --------------------------------------------------------

# Points of a weighted sample drawn together towards their mean, about which each is a normal
# density: mean and covariance stay what they are.
smooth_points <- function(values, weights) {
  width <- min(0.6 * sum(weights^2)^0.2, 0.9)
  mean <- c(weights %*% values)
  centered <- values - rep(mean, each = nrow(values))
  list(
    mean = sqrt(1 - width^2) * centered + rep(mean, each = nrow(values)),
    root = width * covariance_root(crossprod(sqrt(weights) * centered))
  )
}

# One of the vectors of each list, as the rows of a matrix.
by_component <- function(each, name) do.call(rbind, lapply(each, `[[`, name))

# The fit, at each point.
at_points <- function(object) {
  points <- object$posterior$points
  object$posterior["points"] <- list(NULL)
  lapply(points, function(point) {
    for (name in setdiff(names(point), c("weight", "place", "random"))) {
      object$posterior[[name]] <- point[[name]]
    }
    for (t in seq_along(point$random)) {
      object$posterior$random[[t]][names(point$random[[t]])] <- point$random[[t]]
    }
    object
  })
}

has_points <- function(object) length(object$posterior$points) > 0L

point_weights <- function(object) vapply(object$posterior$points, `[[`, 1, "weight")
