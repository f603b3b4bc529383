# From the call to the fit, the same for every model.

test_that("a call with the package's name can be updated without attaching it", {
  skip_on_cran()
  skip_if_not_installed("callr")
  home <- system.file(package = "bayeskernel")
  skip_if_not(file.exists(file.path(home, "Meta", "package.rds")))
  out <- callr::r(function(path, d) {
    loadNamespace("bayeskernel", lib.loc = path)
    fit <- bayeskernel::bsvm(y ~ x1 + x2, d, threads = 1)
    again <- stats::update(fit, . ~ . - x2)
    selected <- bayeskernel::bsvm(y ~ x1 + x2, d, select = TRUE, threads = 1)
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
    bsvm(y ~ x1, d, threads = 1)$call,
    quote(bsvm(formula = y ~ x1, data = d, threads = 1))
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
