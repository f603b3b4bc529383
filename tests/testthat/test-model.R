# From the call to the fit, the same for every model.

test_that("a call with the package's name is updated without attaching it", {
  skip_on_cran()
  skip_if_not_installed("callr")
  home <- system.file(package = "bayeskernel")
  skip_if_not(file.exists(file.path(home, "Meta", "package.rds")))
  out <- callr::r(function(path, d) {
    loadNamespace("bayeskernel", lib.loc = path)
    fit <- bayeskernel::bsvm(y ~ x1 + x2, d, threads = 1, method = "vb")
    again <- stats::update(fit, . ~ . - x2)
    selected <- bayeskernel::bsvm(y ~ x1 + x2, d, select = TRUE, threads = 1,
      method = "vb")
    path <- bayeskernel::inclusion_path(selected, c(0.1, 0.5))
    list(fit$call[[1]], formula(again), class(path))
  }, list(dirname(home), grouped_data()))
  expect_identical(out[[1]], quote(bayeskernel::bsvm))
  expect_equal(out[[2]], y ~ x1, ignore_attr = TRUE)
  expect_true(length(out[[3]]) > 0)
})

test_that("the call of a fit is the one that was typed", {
  d <- grouped_data()
  expect_identical(
    bsvm(y ~ x1, d, method = "vb", threads = 1)$call,
    quote(bsvm(formula = y ~ x1, data = d, method = "vb", threads = 1))
  )
  fit <- do.call(bsvm, list(y ~ x1, quote(d), threads = 1))
  expect_identical(fit$call[[1]], quote(bsvm))
})

test_that("an argument of no use to a model is refused by its reason", {
  d <- grouped_data()
  expect_bk_error(
    bark(y ~ x1, d, family = "binomial", weights = g), "argument", "weights"
  )
})

test_that("an interrupted iteration hands back its state if asked to", {
  skip_on_cran()
  skip_on_os("windows")
  skip_if_not_installed("callr")
  home <- dirname(system.file(package = "bayeskernel"))
  skip_if_not(file.exists(file.path(home, "bayeskernel", "Meta")))
  ready <- tempfile()
  job <- callr::r_bg(function(path, ready) {
    library(bayeskernel, lib.loc = path)
    set.seed(1)
    x <- matrix(rnorm(1.2e7), ncol = 40)
    y <- x[, 1] + rnorm(nrow(x)) > 0
    warned <- character()
    sample <- function(rows) {
      withCallingHandlers(bsvm(
        x[rows, ], y[rows],
        threads = 1, tol = 0, accelerate = FALSE, max_iter = 1e5,
        progress = FALSE, on_interrupt = "keep", method = "vb"
      ), warning = function(w) {
        warned <<- class(w)[1]
        invokeRestart("muffleWarning")
      })
    }
    # Loading and compiling of R code is over before the interrupt comes.
    for (repetition in 1:3) sample(1:200)
    file.create(ready)
    fit <- sample(seq_along(y))
    list(warned, coef(fit), predict(fit, x[1:3, ], type = "prob"))
  }, list(home, ready))
  for (wait in 1:600) if (!file.exists(ready)) Sys.sleep(0.05)
  Sys.sleep(3)
  job$interrupt()
  job$wait(60000)
  out <- job$get_result()
  expect_identical(out[[1]], "bayeskernel_warning_interrupt")
  expect_true(all(is.finite(out[[2]])))
  expect_true(all(out[[3]] > 0 & out[[3]] < 1))
})
