test_that("the evidence of a row source does not turn on where a numeric response lies", {
  set.seed(1)
  d <- data.frame(x = rnorm(60))
  d$y <- d$x + rnorm(60)
  fit <- function(rows, ...) {
    path <- tempfile(fileext = ".csv")
    utils::write.csv(rows, path, row.names = FALSE)
    bkm(row_source(path, y = "y"), family = "gaussian", seed = 1, threads = 1, ...)
  }
  far <- transform(d, y = y + 1e5)
  expect_equal(log_evidence(fit(far)), log_evidence(fit(d)), tolerance = 1e-6)
  # The intercept shrinks to the mean, as of rows in memory.
  narrow <- list(prior = bkm_prior(beta_var = 1, intercept_var = 0.1), penalty = "none")
  memory <- do.call(bkm, c(list(y ~ x, far, seed = 1, threads = 1), narrow))
  source <- do.call(fit, c(list(far), narrow))
  expect_equal(predict(source, far) - 1e5, predict(memory, far) - 1e5, tolerance = 1e-3)
})

test_that("a number of weight 2 is left out one of two times", {
  set.seed(2)
  d <- data.frame(x = rnorm(40), g = factor(rep(1:5, 8)))
  d$y <- d$x + rnorm(5)[d$g] + rnorm(40)
  w <- rep(1:3, length.out = 40)
  own <- rep(1:40, w)
  for (formula in list(y ~ x, y ~ x + (1 | g))) {
    fit <- bkm(formula, d, weights = w, seed = 1, threads = 1)
    rows <- bkm(formula, d[own, ], seed = 1, threads = 1)
    expect_equal(fit$loo[own], rows$loo, tolerance = 1e-3)
  }
})
