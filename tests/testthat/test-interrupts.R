# Work that takes long is given up soon after an interrupt: each would go on for some ten seconds at
# least. `interrupted_work()` says how long it took.

expect_soon <- function(work, args = list(), most = 4) {
  out <- interrupted_work(work, args, after = 0.5)
  testthat::expect_identical(out$fit, "interrupted")
  testthat::expect_lt(out$seconds, most)
}

test_that("a kernel matrix can be interrupted", {
  expect_soon(function(ready) {
    x <- matrix(rnorm(4000 * 4000), 4000)
    ready()
    kernel_matrix(rbf(1), x, threads = 1)
  })
})

test_that("inducing points can be interrupted", {
  expect_soon(function(ready) {
    x <- matrix(rnorm(2e5 * 30), 2e5)
    ready()
    bayeskernel:::core_call(bayeskernel:::gpsvm_inducing_cpp(t(x), 2000L, "kmeans", 1, 1L))
  })
})

test_that("a model of predictors can be interrupted", {
  expect_soon(function(ready) {
    x <- matrix(rnorm(600 * 60), 600)
    x[sample(length(x), length(x) / 3)] <- NA
    ready()
    bayeskernel:::core_call(bayeskernel:::predictor_model_cpp(
      x, integer(), matrix(0L, 600, 0), integer(), list(), integer(), FALSE, numeric()
    ))
  })
})

test_that("what follows a fit can be interrupted", {
  # One step, then the linear response of all rows.
  expect_soon(function(ready) {
    x <- matrix(rnorm(3e4 * 300), 3e4)
    ready()
    suppressWarnings(bsvm(
      x, x[, 1] + rnorm(3e4) > 0,
      method = "vb", control = list(max_iter = 1, accelerate = FALSE), penalty = 1, threads = 1
    ))
  })
})

test_that("predictions can be interrupted", {
  expect_soon(function(ready) {
    x <- as.matrix(iris[1:100, 1:4])
    fit <- suppressWarnings(bark(
      x, iris$Sepal.Length[1:100],
      ndraws = 500, control = list(warmup = 100), chains = 1, threads = 1, seed = 1
    ))
    new <- x[rep(1:100, 3000), ]
    ready()
    predict(fit, new, threads = 1)
  })
  expect_soon(function(ready) {
    x <- as.matrix(iris[1:100, 1:4])
    fit <- suppressWarnings(klr(
      x, iris$Sepal.Width[1:100] > 3, ndraws = 500, control = list(warmup = 100, thin = 1),
      chains = 1, threads = 1, seed = 1, until = NULL
    ))
    new <- x[rep(1:100, 3000), ]
    ready()
    predict(fit, new, threads = 1)
  })
  expect_soon(function(ready) {
    fit <- mkprobit(
      Species ~ ., iris, method = "gibbs", ndraws = 500, control = list(warmup = 10), chains = 1,
      threads = 1, seed = 1
    )
    new <- iris[rep(1:150, 1000), ]
    ready()
    predict(fit, new, threads = 1)
  })
  expect_soon(function(ready) {
    set.seed(1)
    x <- matrix(rnorm(800 * 20), 800)
    fit <- gpsvm(
      x, x[, 1] > 0,
      inducing = 800, tune = FALSE, method = "vb", control = list(max_iter = 5), threads = 1
    )
    new <- x[rep(1:800, 400), ]
    ready()
    predict(fit, new, threads = 1)
  })
  expect_soon(function(ready) {
    d <- data.frame(x = rnorm(300), y = rnorm(300))
    fit <- bkm(
      y ~ poly(x, 20), d, method = "gibbs", ndraws = 2000, chains = 4, control = list(warmup = 10),
      threads = 1, seed = 1
    )
    new <- d[rep(1:300, 2000), ]
    rows <- bayeskernel:::new_rows(fit, new)
    ready()
    bayeskernel:::latent(fit, rows, "identity", 1L)
  })
})
