# Priors of kernel weights whose parameters are fixed, weights without moments, and what tuning by
# the bound is worth.

# Kernels of ones only say nothing of their weights: the posterior of these is their prior, in a
# product and in a sum.
ones <- matrix(1, 30, 30)
flat_data <- function(combine, prior, ...) {
  suppressWarnings(flat(mkprobit)(
    coefficients = "weights", list(a = ones, b = ones), factor(rep(1:3, 10)),
    kernel = precomputed(), kernel_weights = "learn", combine = combine, prior = prior, threads = 1,
    seed = 1, progress = FALSE, ...
  ))
}
held <- mkprobit_prior(weights = c(3, 2), weight_hyper = "fixed")
limits <- c(0.025, 0.5, 0.975)

test_that("fixed parameters are those of the weights' own prior", {
  draw <- function(...) flat_data(..., method = "gibbs", chains = 2, warmup = 100, ndraws = 700)
  product <- draw("product", held)
  sum <- draw("sum", held)
  expect_false(any(grepl(
    "^(rho|pi|chi)", c(dimnames(product$draws)[[3]], dimnames(sum$draws)[[3]])
  )))
  quantiles <- function(fit, name) stats::quantile(as.matrix(fit)[, name], limits, names = FALSE)
  # Gamma(3, 2), and Dirichlet(3 / 2, 3 / 2): on the scale of probabilities.
  found <- stats::pgamma(quantiles(product, "weight[a]"), 3, 2)
  expect_lt(max(abs(found - limits)), 0.06)
  found <- stats::pbeta(quantiles(sum, "weight[a]"), 1.5, 1.5)
  expect_lt(max(abs(found - limits)), 0.06)
  one <- draw("sum", mkprobit_prior(weights = 1.5, weight_hyper = "fixed"))
  expect_identical(one$draws, sum$draws)
})

test_that("variational Bayes has the fixed parameters, too", {
  spread <- kernel_weights(flat_data("sum", held, weights_method = "is"))
  expect_equal(spread$mean, c(0.5, 0.5), tolerance = 0.05)
  expect_equal(spread$sd, rep(sqrt(1 / 16), 2), tolerance = 0.05)
  expect_equal(stats::pbeta(spread$median, 1.5, 1.5), c(0.5, 0.5), tolerance = 0.06)
  spread <- kernel_weights(flat_data("product", held, weights_method = "is"))
  expect_equal(spread$mean, c(1.5, 1.5), tolerance = 0.15)
  expect_equal(spread$sd, rep(sqrt(3) / 2, 2), tolerance = 0.15)
  # The mode of Gamma(6, 2), and of the logarithm's law.
  high <- mkprobit_prior(weights = c(6, 2), weight_hyper = "fixed")
  for (by in c("profile", "map")) {
    point <- flat_data("product", high, weights_method = by, tol = 1e-8)
    expect_equal(kernel_weights(point)$mean, c(2.5, 2.5), tolerance = 0.01)
  }
  point <- flat_data("product", high, weights_method = "loo")
  expect_equal(kernel_weights(point)$mean, c(3, 3), tolerance = 0.15)
  low <- mkprobit_prior(weights = c(0.5, 2), weight_hyper = "fixed")
  expect_bk_error(flat_data("product", low, weights_method = "map"), "prior", "no most probable")
  expect_bk_error(
    flat_data("product", mkprobit_prior(weights = 2, weight_hyper = "fixed")),
    "prior", "two positive numbers"
  )
})

test_that("weights without a mean have a median", {
  fit <- flat_data(
    "product", mkprobit_prior(), method = "gibbs", chains = 2, warmup = 100, ndraws = 700
  )
  table <- kernel_weights(fit)
  expect_true(all(is.na(table$mean)) && all(is.na(table$sd)))
  # b ~ Gamma(pi, chi), pi, chi ~ Exp(1): P(b < x), by pi and chi in turn.
  below <- function(x) {
    stats::integrate(function(shape) {
      vapply(shape, function(shape) {
        stats::integrate(function(rate) {
          stats::pgamma(x, shape, rate) * exp(-rate)
        }, 0, Inf)$value * exp(-shape)
      }, 0)
    }, 0, Inf)$value
  }
  expect_lt(max(abs(vapply(table$median, below, 0) - 0.5)), 0.08)
  shown <- tidy(fit)
  at <- match("weight[a]", shown$term)
  expect_equal(shown$estimate[at], table$median[1])
  expect_true(is.na(shown$std.error[at]))
  expect_output(print(fit), "medians", fixed = TRUE)
})

many <- local({
  set.seed(1)
  centre <- matrix(rnorm(15 * 8, sd = 1.2), 15)
  y <- factor(rep(letters[1:15], 6))
  list(y = y, x = centre[as.integer(y), ] + matrix(rnorm(90 * 8), 90))
})

test_that("length-scales that predict worse are not taken, and this is said", {
  start <- mkprobit(coefficients = "weights", many$x, many$y, threads = 1, seed = 1)
  expect_warning(
    fit <- mkprobit(coefficients = "weights", many$x, many$y, tune = TRUE, threads = 1, seed = 1),
    "were not taken", class = "bayeskernel_warning_convergence"
  )
  expect_identical(fit$kernel, start$kernel)
  expect_identical(fit$coefficients, start$coefficients)
  expect_lt(fit$search$found, fit$search$start)
  expect_output(print(summary(fit)), "predicted worse", fixed = TRUE)
})

test_that("a sparse fit with nothing left says so", {
  set.seed(1)
  x <- matrix(rnorm(80), 40)
  expect_warning(
    fit <- mkprobit(coefficients = "weights", x, rep(0:1, 20),
      control = list(sparse = TRUE), threads = 1, seed = 1),
    "left no regressor", class = "bayeskernel_warning_convergence"
  )
  expect_true(all(fit$relevant == 0))
})

test_that("one complete row among others has no class for a name", {
  set.seed(1)
  x <- matrix(rnorm(80), 40)
  fit <- mkprobit(coefficients = "weights", x, rep(c("a", "b"), 20), threads = 1, seed = 1)
  new <- rbind(x[1, ], NA)
  for (type in c("prob", "response", "link")) {
    found <- predict(fit, new, type)
    expect_null(if (is.matrix(found)) rownames(found) else names(found))
    found <- predict(fit, new, type, interval = "credible")
    expect_null(dimnames(found)[[1]])
  }
})

test_that("bounds and memory that are not to be had end the fit", {
  set.seed(1)
  x <- list(a = matrix(rnorm(80), 40), b = matrix(rnorm(80), 40))
  expect_bk_error(
    mkprobit(
      coefficients = "weights", x, rep(0:1, 20), kernel_weights = c(1e160, 1e160), tune = TRUE,
      threads = 1
    ),
    "numeric"
  )
  old <- options(bayeskernel.max_bytes = 1e4)
  on.exit(options(old))
  expect_bk_error(
    mkprobit(coefficients = "weights", x, rep(0:1, 20), threads = 1), "argument", "Use `inducing`"
  )
})

test_that("columns that a method does not know are not printed", {
  fixed <- mkprobit(
    list(a = iris[1:2], b = iris[3:4]), iris$Species, tune = FALSE, threads = 1, seed = 1
  )
  table <- kernel_weights(fixed)
  expect_true(all(is.na(table$sd)))
  expect_no_match(paste(capture.output(print(table)), collapse = "\n"), "NA|sd")
  expect_output(print(table), "mean")
})
