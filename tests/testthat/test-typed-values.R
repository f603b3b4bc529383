test_that("values of other packages are told by their name here", {
  rows <- data.frame(x = c(-1.2, 0.3, 0.8, -0.4, 1.5, -0.9), y = c(0, 1, 0, 0, 1, 1) == 1)
  fit <- bkm(y ~ x, rows, threads = 1)
  expect_error(predict(fit, type = "probs"), "\"probs\" is \"prob\" here")
  expect_error(predict(fit, type = "raw"), "\"link\" here")
  expect_identical(
    predict(fit, type = "prob", interval = "confidence"),
    predict(fit, type = "prob", interval = "credible")
  )
  expect_error(predict(fit, interval = "ci"), "\"ci\" is \"credible\" here")
  expect_error(gpsvm(y ~ x, rows, kernel = "radial"), "\"radial\" is \"rbf\" here")
  expect_error(gpsvm(y ~ x, rows, kernel = "vanilladot"), "\"vanilladot\" is \"linear\" here")
  expect_error(bkm(y ~ x, rows, method = "mcmc"), "\"mcmc\" is \"gibbs\" here")
  expect_error(bsvm(y ~ x, rows, method = "mfvb"), "\"mfvb\" is \"vb\" here")
  expect_error(plot(fit, "calib"), "Did you mean \"calibration\"?", fixed = TRUE)
  expect_bk_error(bkm("y ~ x", rows), "argument", "x")
  expect_error(bkm("y ~ x", rows), "as.formula()", fixed = TRUE)
  expect_null(value_elsewhere("probs", "type", c("class", "link")))
})

test_that("what e1071, car and fits with missing values have is named here", {
  rows <- data.frame(x = c(-1.2, 0.3, 0.8, -0.4, 1.5, -0.9), y = c(0, 1, 0, 0, 1, 1) == 1)
  fit <- gpsvm(y ~ x, rows, tune = FALSE, threads = 1)
  expect_error(predict(fit, rows, decision.values = TRUE), "`type = \"link\"`", fixed = TRUE)
  expect_error(gpsvm(y ~ x, rows, missing = "model"), "bsvm() model missing", fixed = TRUE)
  fit <- bkm(y ~ x, rows, threads = 1)
  # car and multcomp give it.
  expect_identical(vcov(fit, complete = FALSE), vcov(fit))
  expect_identical(coef(fit, complete = FALSE), coef(fit))
})

test_that("digits of a summary are those of its print", {
  rows <- data.frame(x = c(-1.2, 0.3, 0.8, -0.4, 1.5, -0.9), y = c(0, 1, 0, 0, 1, 1) == 1)
  fit <- bkm(y ~ x, rows, threads = 1)
  of <- function(digits) capture.output(print(summary(fit, digits = digits)))
  expect_identical(of(6), capture.output(print(summary(fit), digits = 6)))
  expect_false(identical(of(6), of(2)))
  expect_bk_error(summary(fit, digits = 0), "argument", "digits")
})

test_that("the evidence of counts has their binomial constant, as the log-likelihood has", {
  rows <- data.frame(s = c(3, 5, 9, 2), n = 10, x = 1:4)
  long <- rows[rep(1:4, each = 10), ]
  long$y <- unlist(lapply(rows$s, function(s) rep(c(TRUE, FALSE), c(s, 10 - s))))
  prior <- bkm_prior(beta_var = 4)
  counts <- bkm(cbind(s, n - s) ~ x, rows, prior = prior, threads = 1)
  trials <- bkm(y ~ x, long, prior = prior, threads = 1)
  constant <- sum(lchoose(10, rows$s))
  # The messages of a row of ten trials are not those of ten rows.
  expect_equal(log_evidence(counts) - log_evidence(trials), constant, tolerance = 0.01)
  expect_equal(c(logLik(counts)) - c(logLik(trials)), constant, tolerance = 1e-3)
  expect_equal(glance(counts)$log_evidence, log_evidence(counts))
})

test_that("feature spaces that are given one by one are told to be a list", {
  x <- matrix(sin(1:20), 10)
  y <- factor(rep(c("a", "b"), 5))
  expect_bk_error(mkprobit(x, x, y), "kernel", "kernel")
  expect_error(mkprobit(x, x, y), "list(a = x1, b = x2)", fixed = TRUE)
})
