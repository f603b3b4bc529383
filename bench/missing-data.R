# Data of bench/missing.R and bench/missing-sampler.R; `chosen` has the number of `groups`, and of
# `rows` of each.

truth_of <- function(kind) {
  if (kind == "factor") {
    c("(Intercept)" = 0.3, xb = 0.8, xc = -0.8, z = -0.5)
  } else {
    c("(Intercept)" = 0.3, x = 0.8, z = -0.5)
  }
}

# A normal variable a fraction of whose variance lies between groups.
between <- function(g, share) {
  sqrt(share) * stats::rnorm(nlevels(g))[g] + sqrt(1 - share) * stats::rnorm(length(g))
}

predictor <- function(kind, z, g, share) {
  switch(kind,
    number = 0.4 * z + between(g, share),
    group = 0.4 * tapply(z, g, mean)[g] + between(g, 1),
    factor = {
      each <- vapply(c(0, 0.4, -0.4), function(slope) {
        slope * z + between(g, share)
      }, z)
      factor(c("a", "b", "c")[max.col(each, "first")], c("a", "b", "c"))
    }
  )
}

# All random numbers of a set are drawn in one order, whatever is missing.
complete_data <- function(cell, set) {
  set.seed(set)
  g <- gl(chosen$groups, chosen$rows)
  z <- between(g, 0.3)
  x <- predictor(cell$kind, z, g, if (cell$kind == "group") 1 else cell$share)
  effects <- stats::rnorm(nlevels(g), 0, 0.7)[g]
  truth <- truth_of(cell$kind)
  f <- drop(stats::model.matrix(~ x + z) %*% truth) + effects
  y <- switch(cell$family,
    gaussian = f + stats::rnorm(length(g)),
    probit = f + stats::rnorm(length(g)) > 0, f + stats::rlogis(length(g)) > 0
  )
  data <- data.frame(y = y, x = unname(x), z = z, g = g)
  if (is.logical(y)) data$y <- factor(y)
  data
}

# About a third of the values.
remove_values <- function(data, cell, set) {
  set.seed(1e6 + set)
  y <- if (is.factor(data$y)) {
    1.8 * (data$y == "TRUE") - 0.7
  } else {
    1.5 * (data$y - mean(data$y))
  }
  # A group's value is missing in all its rows.
  one <- cell$kind == "group"
  if (one) y <- 2 * scale(tapply(y, data$g, mean))
  z <- 1.5 * (if (one) scale(tapply(data$z, data$g, mean)) else data$z)
  chance <- switch(cell$mechanism,
    mcar = rep(0.3, length(z)), z = stats::plogis(z - 1),
    y = stats::plogis(y - 1)
  )
  gone <- stats::runif(length(chance)) < chance
  data$x[if (one) gone[data$g] else gone] <- NA
  data
}
