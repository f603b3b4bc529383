# Expectation propagation of rows in a source: the fit of the matrix, whose messages stay with the
# core.

source_data <- function(n = 3000, seed = 1) {
  set.seed(seed)
  x <- matrix(rnorm(4 * n), n, dimnames = list(NULL, letters[1:4]))
  x[, 2] <- x[, 2] + 0.6 * x[, 1]
  f <- x[, 1] - 0.5 * x[, 3]
  list(x = x, f = f, y = f + rlogis(n) > 0)
}

ep_source <- function(x, y, ..., front = bsvm, method = "ep") {
  flat(front)(row_source(x, y), ..., method = method, seed = 1, threads = 1, progress = FALSE)
}

ep_matrix <- function(x, y, ..., front = bsvm) {
  flat(front)(x, y, ..., method = "ep", seed = 1, threads = 1, progress = FALSE)
}

test_that("prior precisions held: posterior and sandwich of the matrix", {
  d <- source_data()
  for (penalty in list("none", 3)) {
    source <- ep_source(d$x, d$y, penalty = penalty, tol = 1e-8)
    matrix <- ep_matrix(d$x, d$y, penalty = penalty, tol = 1e-8)
    expect_equal(coef(source), coef(matrix), tolerance = 1e-9)
    for (type in c("sandwich", "posterior")) {
      expect_equal(vcov(source, type = type), vcov(matrix, type = type), tolerance = 1e-6)
    }
    expect_equal(source$sandwich$rate, matrix$sandwich$rate, tolerance = 1e-5)
    expect_equal(source$log_evidence, matrix$log_evidence, tolerance = 1e-9)
  }
})

test_that("a learned penalty and the noise are averaged over, as for the matrix", {
  d <- source_data()
  source <- ep_source(d$x, d$y)
  matrix <- ep_matrix(d$x, d$y)
  sd <- sqrt(diag(vcov(matrix)))
  expect_lt(max(abs(coef(source) - coef(matrix)) / sd), 0.02)
  expect_equal(sqrt(diag(vcov(source))), sd, tolerance = 0.02)
  set.seed(2)
  number <- d$f + rnorm(nrow(d$x), sd = 0.7)
  for (case in list(list(d$y, "logit"), list(d$y, "probit"), list(number, "gaussian"))) {
    source <- ep_source(d$x, case[[1]], case[[2]], front = bkm, penalty = "learn", tol = 1e-6)
    matrix <- ep_matrix(d$x, case[[1]], case[[2]], front = bkm, penalty = "learn", tol = 1e-6)
    expect_equal(coef(source), coef(matrix), tolerance = 1e-6)
    expect_equal(vcov(source), vcov(matrix), tolerance = 1e-5)
    expect_equal(source$log_evidence, matrix$log_evidence, tolerance = 1e-7)
  }
  expect_equal(sigma(source), sigma(matrix), tolerance = 1e-6)
})

test_that("proper likelihoods: the fit of the matrix, and of glm", {
  d <- source_data()
  prior <- bkm_prior(beta_var = 1e6)
  for (family in c("logit", "probit")) {
    source <- ep_source(d$x, d$y, family, front = bkm, prior = prior, penalty = "none", tol = 1e-6)
    matrix <- ep_matrix(d$x, d$y, family, front = bkm, prior = prior, penalty = "none", tol = 1e-6)
    expect_equal(coef(source), coef(matrix), tolerance = 1e-7)
    expect_equal(vcov(source), vcov(matrix), tolerance = 1e-5)
    expect_equal(source$log_evidence, matrix$log_evidence, tolerance = 1e-8)
    reference <- stats::glm(d$y ~ d$x, stats::binomial(family))
    sd <- sqrt(diag(stats::vcov(reference)))
    expect_lt(max(abs(coef(source) - stats::coef(reference)) / sd), 0.1)
    expect_equal(unname(sqrt(diag(vcov(source)))), unname(sd), tolerance = 0.02)
  }
})

test_that("many chunks: any number of threads gives the same bits", {
  d <- source_data(80000, 3)
  one <- ep_source(d$x, d$y)
  two <- bsvm(row_source(d$x, d$y), method = "ep", seed = 1, threads = 2)
  expect_identical(one$posterior, two$posterior)
  expect_identical(one$sandwich, two$sandwich)
  expect_true(one$diagnostics$converged)
  # As wide as the estimates are uncertain, which steps of mean field are not.
  steps <- ep_source(d$x, d$y, method = "svi")
  expect_error(vcov(steps, type = "sandwich"), "stochastic steps")
  expect_lt(max(diag(vcov(steps)) / diag(vcov(one))), 0.5)
})

test_that("predictions are calibrated by a sample of the rows", {
  d <- source_data(20000, 4)
  new <- source_data(20000, 5)
  fit <- ep_source(d$x, d$y)
  matrix <- ep_matrix(d$x, d$y)
  p <- predict(fit, new$x, type = "prob")[, 2]
  expect_equal(p, predict(matrix, new$x, type = "prob")[, 2], tolerance = 0.01)
  slope <- stats::coef(stats::glm(new$y ~ stats::qlogis(p), stats::binomial()))[[2]]
  expect_lt(abs(slope - 1), 0.1)
  saved <- tempfile()
  on.exit(unlink(saved))
  saveRDS(fit, saved)
  expect_identical(predict(readRDS(saved), new$x[1:5, ]), predict(fit, new$x[1:5, ]))
  expect_output(print(fit), "expectation propagation")
  expect_silent(capture.output(print(summary(fit))))
})

test_that("messages that do not settle: stochastic steps, and a warning", {
  d <- source_data(500)
  fit <- NULL
  expect_warning(
    fit <- ep_source(d$x, d$y, penalty = "none", max_iter = 2),
    class = "bayeskernel_warning_convergence"
  )
  expect_equal(fit$check$fallback, "svi")
  expect_equal(
    coef(fit), coef(ep_source(d$x, d$y, penalty = "none", method = "svi")), tolerance = 1e-2
  )
})

test_that("what needs rows is refused, and says so", {
  skip_if_not_installed("loo")
  d <- source_data(500)
  expect_error(ep_source(d$x, d$y, method = "gibbs"), class = "bayeskernel_error_argument")
  fit <- ep_source(d$x, d$y, "logit", front = bkm)
  expect_error(loo::loo(fit), class = "bayeskernel_error")
  expect_error(fitted(fit), class = "bayeskernel_error")
  separated <- source_data(500)
  separated$y <- separated$f > 0
  expect_warning(
    ep_source(separated$x, separated$y, "logit",
      front = bkm, penalty = "none", prior = bkm_prior(beta_var = 1e6)
    ),
    class = "bayeskernel_warning_separation"
  )
})
