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

test_that("what is missing is explained by group and by expression", {
  d <- data.frame(x = c(-1, 2:12), g = gl(3, 4), y = rep(0:1, 6))
  d$g[2] <- NA
  level <- "level\\s+of their own, \"unknown\" say"
  for (model in list(bkm, bsvm)) {
    expect_bk_error(model(y ~ x + (1 | g), d), "missing", level)
    expect_bk_error(model(y ~ x + (1 | g), d, missing = "model"), "missing", "a level, \"unknown\"")
  }
  expect_bk_error(mkprobit(factor(y) ~ x + (1 | g), d), "missing", level)
  for (model in list(bkm, bsvm, gpsvm, mkprobit)) {
    expect_bk_error(suppressWarnings(model(y ~ log(x), d)), "missing", "Look first at `log\\(x\\)`")
  }
})

test_that("a column of text is named where numbers are needed", {
  rows <- data.frame(x = c(-1.2, 0.3, 0.8, -0.4, 1.5, -0.9, 2, 3), y = c(0, 1, 0, 0, 1, 1, 0, 1))
  text <- data.frame(x = as.character(rows$x))
  for (formula in c(y ~ x, y ~ s(x, k = 3), y ~ gp(x))) {
    fit <- suppressWarnings(bkm(formula, rows, threads = 1))
    expect_bk_error(predict(fit, text), "argument", "Column `x` of `newdata` is not of numbers")
  }
  fit <- gpsvm(as.matrix(rows["x"]), rows$y, tune = FALSE, threads = 1)
  expect_bk_error(predict(fit, text), "argument", "as.numeric\\(x\\)")
  expect_bk_error(predict(fit, rows, interval = "both"), "argument", "\"confidence\"")
})

test_that("weights that leave nothing of the rows are no collapse to one class", {
  set.seed(1)
  rows <- data.frame(x = rnorm(80))
  rows$y <- rows$x + rnorm(80) > 0
  rows$w <- runif(80, 4e-4, 6e-4)
  kinds <- character()
  for (model in list(bsvm, gpsvm)) {
    fit <- withCallingHandlers(model(y ~ x, rows, weights = w, threads = 1), warning = function(w) {
      kinds <<- c(kinds, class(w)[1L])
      invokeRestart("muffleWarning")
    })
  }
  expect_identical(unique(kinds), "bayeskernel_warning_weights")
  fit <- suppressWarnings(bkm(y ~ x, rows, weights = w, threads = 1))
  expect_output(print(fit), "stand for 0.04 observations")
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
