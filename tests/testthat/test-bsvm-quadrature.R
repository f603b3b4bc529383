# Gibbs against the exact posterior on a grid. The pseudo-likelihood has kinks, so grids are fine
# and checked against a coarser one.

quadrature_data <- function(seed = 1, n = 25) {
  set.seed(seed)
  d <- data.frame(x = rnorm(n), w = runif(n, 0.3, 2), o = 0.5 * rnorm(n))
  d$y <- ifelse(0.4 + d$x + d$o + rlogis(n) > 0, 1, -1)
  d
}

log_likelihood <- function(b0, b1, d, w = 1, o = 0) {
  f <- outer(b0, rep(1, nrow(d))) + outer(b1, d$x) + rep(o, each = length(b0))
  margin <- f * rep(d$y, each = length(b0))
  -2 * drop(pmax(1 - margin, 0) %*% rep_len(w, nrow(d)))
}

# Moments of functions under a density on a grid of (b0, b1).
grid_moments <- function(log_density, size, b0 = c(-3, 4), b1 = c(-2, 6)) {
  grid <- expand.grid(
    b0 = seq(b0[1], b0[2], length.out = size), b1 = seq(b1[1], b1[2], length.out = size)
  )
  value <- log_density(grid$b0, grid$b1)
  weight <- exp(value - max(value))
  weight <- weight / sum(weight)
  moment <- function(x) sum(weight * x)
  mean <- c(moment(grid$b0), moment(grid$b1))
  list(
    mean = mean, sd = sqrt(c(moment(grid$b0^2), moment(grid$b1^2)) - mean^2),
    cut = mean[1] + 0.3 * mean[2],
    above = moment(grid$b0 + 0.3 * grid$b1 > mean[1] + 0.3 * mean[2]), weight = weight, grid = grid
  )
}

slow <- identical(Sys.getenv("BAYESKERNEL_SLOW"), "true")
n_draws <- if (slow) 20000 else 4000

gibbs <- function(...) {
  withCallingHandlers(
    flat(bsvm)(...,
      method = "gibbs", standardize = FALSE, warmup = 500, ndraws = n_draws,
      seed = 3, threads = 1, progress = FALSE
    ),
    bayeskernel_warning_convergence = function(w) invokeRestart("muffleWarning")
  )
}

expect_exact <- function(draws, mean, sd) {
  found <- batch_summary(draws)
  expect_lt(max(abs(found$mean - mean) / found$mcse_mean), 4)
  expect_lt(max(abs(found$sd - sd) / found$mcse_sd), 4)
}

test_that("intercept and slope have the exact moments", {
  d <- quadrature_data()
  fit <- gibbs(y ~ x, d, penalty = "none",
    prior = bsvm_prior(beta_var = c(4, 2), beta_mean = c(0, 0.5))
  )
  density <- function(b0, b1) log_likelihood(b0, b1, d) - b0^2 / 8 - (b1 - 0.5)^2 / 4
  exact <- grid_moments(density, 600)
  coarse <- grid_moments(density, 300)
  expect_equal(exact$mean, coarse$mean, tolerance = 1e-4)
  expect_exact(fit$draws, exact$mean, exact$sd)
  above <- fit$draws[, , 1] + 0.3 * fit$draws[, , 2] > exact$cut
  event <- batch_summary(array(above + 0, c(dim(above), 1), list(NULL, NULL, "event")))
  expect_lt(abs(event$mean - exact$above) / event$mcse_mean, 4)
})

test_that("weights and an offset enter as the model says", {
  d <- quadrature_data(2)
  fit <- gibbs(y ~ x, d, penalty = "none", weights = w, offset = o,
    prior = bsvm_prior(beta_var = 3)
  )
  exact <- grid_moments(function(b0, b1) {
    log_likelihood(b0, b1, d, d$w, d$o) - (b0^2 + b1^2) / 6
  }, 600)
  expect_exact(fit$draws, exact$mean, exact$sd)
})

test_that("a learned penalty is integrated over its variance", {
  d <- quadrature_data(3)
  shape <- 2
  rate <- 1.5
  fit <- gibbs(y ~ x, d, penalty = "learn",
    prior = bsvm_prior(beta_var = 4, var_shape = shape, var_rate = rate)
  )
  # b1 with the variance integrated out is Student's t, up to a constant.
  exact <- grid_moments(function(b0, b1) {
    log_likelihood(b0, b1, d) - b0^2 / 8 - (shape + 0.5) * log(rate + b1^2 / 2)
  }, 600)
  expect_exact(fit$draws[, , 1:2], exact$mean, exact$sd)
  # log sigma^2 given b1 is minus the log of a gamma variable.
  given <- log(rate + exact$grid$b1^2 / 2)
  mean <- sum(exact$weight * (given - digamma(shape + 0.5)))
  second <- sum(exact$weight * ((given - digamma(shape + 0.5))^2 + trigamma(shape + 0.5)))
  expect_exact(log(fit$draws[, , "sigma2[penalty]", drop = FALSE]), mean, sqrt(second - mean^2))
})

test_that("a held penalty is a known variance", {
  d <- quadrature_data(4)
  fit <- gibbs(y ~ x, d, penalty = 0.8, prior = bsvm_prior(beta_var = 4))
  exact <- grid_moments(function(b0, b1) log_likelihood(b0, b1, d) - b0^2 / 8 - 0.4 * b1^2, 600)
  expect_exact(fit$draws[, , 1:2], exact$mean, exact$sd)
})

test_that("two groups: effects and their variance have the exact moments", {
  d <- quadrature_data(5, n = 16)
  d$g <- factor(rep(c("a", "b"), 8))
  shape <- 3
  rate <- 2
  fit <- gibbs(y ~ 0 + (1 | g), d, prior = bsvm_prior(var_shape = shape, var_rate = rate))
  by_group <- function(u, g) -2 * rowSums(pmax(1 - outer(u, d$y[d$g == g]), 0))
  exact <- grid_moments(function(b0, b1) {
    by_group(b0, "a") + by_group(b1, "b") - (shape + 1) * log(rate + (b0^2 + b1^2) / 2)
  }, 600, c(-6, 6), c(-6, 6))
  expect_exact(fit$draws[, , startsWith(dimnames(fit$draws)[[3]], "b[")], exact$mean, exact$sd)
})
