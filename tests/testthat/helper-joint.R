# Data from the joint density p(parameters, x) prod L(y_i | f_i), which is what calibration of a
# posterior refers to. L is not normalised over y, so parameters are proposed from the prior and
# kept with probability prod (L(+1 | f_i) + L(-1 | f_i)) / (1 + exp(-4)); then y_i = +1 with
# probability g(f_i). Practical for some ten rows. Labels of one class only are drawn again: a
# condition on the data alone leaves the posterior given these data as it is.

hinge_likelihood <- function(y, f) exp(-2 * pmax(1 - y * f, 0))

# `propose()` gives a list with the latent values `f` among whatever else.
draw_joint <- function(propose) {
  repeat {
    state <- propose()
    plus <- hinge_likelihood(1, state$f)
    minus <- hinge_likelihood(-1, state$f)
    if (stats::runif(1) < prod((plus + minus) / (1 + exp(-4)))) {
      state$y <- ifelse(stats::runif(length(state$f)) < plus / (plus + minus), 1, -1)
      if (length(unique(state$y)) == 2L) return(state)
    }
  }
}

joint_prior <- function() {
  bsvm_prior(beta_var = 1, var_shape = 3, var_rate = 2, x_mean_var = 1, x_df = 5, x_scale = diag(2))
}

draw_inverse_gamma <- function(shape, rate) rate / stats::rgamma(1, shape)

# Two correlated predictors under a penalty, a third of the second missing.
propose_with_holes <- function(n = 10) {
  sigma <- solve(stats::rWishart(1, 5, diag(2))[, , 1])
  mu <- stats::rnorm(2)
  x <- matrix(stats::rnorm(2 * n), n) %*% chol(sigma) + rep(mu, each = n)
  beta <- stats::rnorm(2) * sqrt(draw_inverse_gamma(3, 2))
  list(x = x, f = stats::rnorm(1) + drop(x %*% beta))
}

# A smooth of one predictor; `design` holds its columns at the rows.
propose_smooth <- function(design) {
  smooth <- design$smooths[[1]]
  block <- smooth$blocks[[1]]
  theta <- stats::rnorm(ncol(design$x))
  theta[block] <- stats::rnorm(length(block)) * sqrt(draw_inverse_gamma(3, 2))
  own <- c(smooth$fixed, block)
  scaled <- (design$x - rep(design$center, each = nrow(design$x))) /
    rep(design$scale, each = nrow(design$x))
  # The part that plot(type = "smooth") shows, on the scale of the data.
  curve <- design$x[, own] %*% (theta / design$scale)[own]
  list(f = drop(scaled %*% theta), curve = drop(curve))
}

inside <- function(value, draws, level = 0.9) {
  tails <- c(1 - level, 1 + level) / 2
  bounds <- apply(draws, 2, stats::quantile, tails, names = FALSE)
  value >= bounds[1, ] & value <= bounds[2, ]
}

# Columns in with probability `rho`, Laplace effects of a random scale.
propose_selection <- function(n = 10, columns = 50, rho = 0.1) {
  x <- matrix(stats::rnorm(n * columns), n)
  scale <- sqrt(draw_inverse_gamma(3, 2))
  sign <- sample(c(-1, 1), columns, replace = TRUE)
  effect <- sign * stats::rexp(columns) * scale
  effect[stats::runif(columns) > rho] <- 0
  list(x = x, effect = effect, f = stats::rnorm(1) + drop(x %*% effect))
}
