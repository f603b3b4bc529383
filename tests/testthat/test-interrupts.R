# Work that takes long is given up soon after an interrupt: each would go on for
# some ten seconds at least. `interrupted_work()` says how long it took.

expect_soon <- function(work, args = list(), most = 4) {
  out <- interrupted_work(work, args, after = 0.5)
  testthat::expect_identical(out$fit, "interrupted")
  testthat::expect_lt(out$seconds, most)
}

test_that("a kernel matrix can be interrupted", {
  expect_soon(function(ready) {
    x <- matrix(rnorm(4e4 * 10), 4e4)
    z <- x[rep(1:300, 10), ]
    ready()
    for (k in 1:100) kernel_matrix(rbf(1), x, z, threads = 1)
  })
})

test_that("inducing points can be interrupted", {
  expect_soon(function(ready) {
    x <- matrix(rnorm(2e5 * 30), 2e5)
    ready()
    bayeskernel:::core_call(bayeskernel:::gpsvm_inducing_cpp(
      t(x), 2000L, "kmeans", 1, 1L
    ))
  })
})

test_that("a model of predictors can be interrupted", {
  expect_soon(function(ready) {
    x <- matrix(rnorm(600 * 60), 600)
    x[sample(length(x), length(x) / 3)] <- NA
    ready()
    bayeskernel:::core_call(bayeskernel:::predictor_model_cpp(
      x, integer(), matrix(0L, 600, 0), integer()
    ))
  })
})

test_that("predictions by draws can be interrupted", {
  skip_if_not(identical(Sys.getenv("BAYESKERNEL_SLOW"), "true"))
  repeated <- function(x, times) x[rep(seq_len(nrow(x)), times), ]
  expect_soon(function(ready, repeated) {
    x <- as.matrix(iris[1:100, 1:4])
    fit <- suppressWarnings(bark(
      x, iris$Sepal.Length[1:100] + 0,
      draws = 500, warmup = 100, chains = 1, threads = 1, seed = 1
    ))
    new <- repeated(x, 3000)
    ready()
    predict(fit, new, threads = 1)
  }, list(repeated))
  expect_soon(function(ready, repeated) {
    x <- as.matrix(iris[1:100, 1:4])
    fit <- suppressWarnings(klr(
      x, iris$Species[1:100] == "setosa",
      draws = 500, warmup = 100, chains = 1, thin = 1, threads = 1, seed = 1,
      until = NULL
    ))
    new <- repeated(x, 10000)
    ready()
    predict(fit, new, threads = 1)
  }, list(repeated))
  expect_soon(function(ready, repeated) {
    fit <- mkprobit(Species ~ ., iris, threads = 1, seed = 1)
    new <- repeated(iris, 4000)
    ready()
    predict(fit, new, threads = 1)
  }, list(repeated))
})
