# The core's variational fits of the families, as the R side calls them.

family_input <- function(n = 300, gaussian = FALSE) {
  i <- seq_len(n)
  x <- cbind(1, sin(i), cos(2.3 * i))
  f <- drop(x %*% c(0.3, 1, -0.5)) + sin(i^2)
  list(
    data = list(
      x = x, center = numeric(3), scale = rep(1, 3), y = if (gaussian) f else ifelse(f > 0, 1, -1),
      weights = rep(1, n), offset = numeric(n), kept = list(), selection = NULL,
      z = matrix(0, n, 0), group = integer(), n_groups = 0L
    ),
    prior = list(precision = rep(0.1, 3), mean = numeric(3), blocks = list(), transforms = list())
  )
}

family_fit <- function(input, ..., run = bsvm_vb_cpp) {
  core_call(run(input$data, input$prior, golden_settings(tol = 1e-10, ...)))
}

test_that("what the core cannot do is an error with a class", {
  input <- family_input()
  refused <- function(input, ...) {
    expect_error(family_fit(input, ...), class = "bayeskernel_error_argument")
  }
  refused(input, family = "poisson")
  refused(input, family = "logit", rule = "laplace")
  # Atoms of one row that do not follow each other, or are not of these rows.
  split <- input
  split$data$atoms <- list(row = rep(1:150, times = 2), log_prior = rep(log(0.5), 300))
  refused(split, family = "logit")
  split$data$atoms <- list(row = 1:299, log_prior = numeric(299))
  refused(split, family = "logit")
  split$data$atoms <- list(row = 1:300, log_prior = numeric(300))
  expect_error(
    family_fit(split, family = "logit", epochs = 1, batch_size = numeric(), run = bsvm_svi_cpp),
    class = "bayeskernel_error_argument"
  )
})

test_that("rows that are their own only atom are rows", {
  input <- family_input()
  atoms <- input
  atoms$data$atoms <- list(row = 1:300, log_prior = numeric(300))
  for (family in c("hinge", "probit", "logit")) {
    one <- family_fit(input, family = family)
    two <- family_fit(atoms, family = family)
    expect_equal(two$theta_mean, one$theta_mean, tolerance = 1e-6)
    expect_identical(two$share, rep(1, 300))
    expect_null(one$share)
  }
})

test_that("from minibatches and from a file the fit is the same", {
  for (family in c("probit", "logit", "gaussian")) {
    input <- family_input(gaussian = family == "gaussian")
    own <- list(
      family = family, rule = "direct", noise = list(shape = 1, rate = 1),
      epochs = 2, batch_size = 60
    )
    fit <- do.call(family_fit, c(list(input), own))
    svi <- do.call(family_fit, c(list(input), own, run = bsvm_svi_cpp))
    path <- tempfile()
    on.exit(unlink(path), add = TRUE)
    labels <- input$data$y
    if (family != "gaussian") labels <- as.double(labels > 0)
    append_rows_cpp(path, input$data$x[, -1], labels)
    stream <- list(data = list(
      path = path, rows = 300, columns = 2L, source = 0:2, center = numeric(3),
      scale = rep(1, 3), positive = if (family == "gaussian") -1L else 1L
    ), prior = input$prior)
    file <- do.call(family_fit, c(list(stream), own, run = bsvm_stream_cpp))
    for (other in list(svi, file)) {
      expect_equal(other$theta_mean, fit$theta_mean, tolerance = 1e-6)
      expect_equal(other$theta_cov, fit$theta_cov, tolerance = 1e-4)
      expect_equal(other$noise, fit$noise, tolerance = 1e-6)
    }
  }
})

test_that("known noise is the ridge regression, in one step", {
  input <- family_input(gaussian = TRUE)
  fit <- family_fit(input, family = "gaussian", noise = list(precision = 4))
  x <- input$data$x
  precision <- 4 * crossprod(x) + diag(0.1, 3)
  expect_equal(fit$theta_cov, solve(precision))
  expect_equal(fit$theta_mean, drop(solve(precision, 4 * crossprod(x, input$data$y))))
  expect_identical(fit$noise, list(precision = 4))
  expect_identical(fit$status$passes, 2L)
})
