# What selection says can be believed: scales that stay finite where the columns separate the
# classes, several starts, a polish by the sampler.

wide_data <- function(n = 50, p = 150, seed = 1) {
  set.seed(seed)
  x <- matrix(stats::rnorm(n * p), n, dimnames = list(NULL, paste0("v", seq_len(p))))
  f <- 4 * x[, 1] - 4 * x[, 2]
  list(x = x, y = f + stats::rlogis(n) > 0)
}

test_that("more columns than rows: both engines stay finite and agree", {
  d <- wide_data()
  vb <- bsvm(d$x, d$y, select = TRUE, method = "vb", threads = 1)
  gibbs <- suppressWarnings(bsvm(
    d$x, d$y, select = TRUE, method = "gibbs", chains = 2, control = list(warmup = 100),
    ndraws = 300, seed = 1, threads = 1
  ))
  for (fit in list(vb, gibbs)) {
    expect_true(all(is.finite(inclusion(fit))))
    expect_true(all(is.finite(predict(fit, d$x, type = "prob"))))
    expect_true(all(inclusion(fit)[c("v1", "v2")] > 0.5))
    expect_lt(sum(inclusion(fit) > 0.5), 5)
  }
  # Under the paper's prior the log of the variance runs into the hundreds.
  expect_lt(max(log(gibbs$draws[, , "sigma2[selection]"])), 15)
  trace <- elbo(vb)
  expect_true(all(diff(trace) > -1e-8 * (1 + abs(trace[-1]))))
})

test_that("if no columns leave, a wide fit has the moments of its rows", {
  d <- wide_data(n = 20, p = 40, seed = 2)
  d$y <- rep(c(FALSE, TRUE), 10)
  fit <- bsvm(
    d$x, d$y, select = TRUE, method = "vb", threads = 1,
    control = list(starts = 0.5, polish = FALSE), weights = rep(0.1, 20),
    prior = bsvm_prior(rho = 0.3)
  )
  expect_gt(min(inclusion(fit)), 1e-6)
  link <- predict(fit, d$x, type = "link", se.fit = TRUE)
  expect_equal(unname(link$fit), fit$fitted$mean, tolerance = 1e-8)
  expect_equal(unname(link$se.fit)^2, fit$fitted$var, tolerance = 1e-6)
})

test_that("of the starts the best bound counts, and it can be any", {
  d <- wide_data(n = 80, p = 10, seed = 3)
  fit <- function(starts) {
    bsvm(
      d$x, d$y, select = TRUE, method = "vb", control = list(starts = starts, polish = FALSE),
      threads = 1
    )
  }
  bound <- function(starts) utils::tail(elbo(fit(starts)), 1)
  all <- bound(NULL)
  for (start in list(1, 0.5, 0.1, "marginal", c(0.1, "marginal"))) {
    expect_gte(all, bound(start) - 1e-3)
  }
  for (wrong in list("worst", 0, 2, NA, character())) {
    expect_bk_error(fit(wrong), "argument", "starts")
  }
})

test_that("the polish reports what a long chain reports, and its range", {
  d <- wide_data(n = 80, p = 8, seed = 4)
  d$y <- d$x[, 1] + 0.7 * d$x[, 2] + stats::rlogis(80) > 0
  prior <- bsvm_prior(rho = 0.2)
  fit <- function(...) flat(bsvm)(d$x, d$y, select = TRUE, prior = prior, threads = 1, ...)
  set.seed(7)
  before <- .Random.seed
  polished <- fit(method = "vb")
  expect_identical(.Random.seed, before)
  found <- inclusion(polished)
  range <- attr(found, "range")
  expect_identical(names(range), names(found))
  expect_true(all(range >= 0 & range <= 1) && any(range > 0))
  expect_identical(inclusion(fit(method = "vb")), found)
  long <- suppressWarnings(fit(method = "gibbs", chains = 2, warmup = 200, ndraws = 2000, seed = 1))
  expect_lt(max(abs(found - inclusion(long))), 0.1)
  # The optimum itself is elsewhere, and predictions are its own.
  plain <- fit(method = "vb", polish = FALSE)
  expect_null(attr(inclusion(plain), "range"))
  expect_gt(max(abs(inclusion(plain) - inclusion(long))), 0.1)
  # Estimates are those of the draws that tell the inclusions.
  draws <- matrix(polished$draws, ncol = dim(polished$draws)[3])
  colnames(draws) <- dimnames(polished$draws)[[3]]
  expect_equal(coef(polished), colMeans(draws[, names(coef(polished))]))
})

test_that("streams that disagree are said to", {
  d <- wide_data(n = 60, p = 4, seed = 5)
  fit <- bsvm(d$x, d$y, select = TRUE, method = "vb", threads = 1)
  fit$stamp <- NULL
  fit$posterior$selection$range[] <- c(0, 0.1, 0.5, 0)
  expect_output(print(fit), "Not settled: *v3")
  expect_output(print(summary(fit)), "Not settled: *v3")
  fit$posterior$selection$range[] <- 0
  expect_false(any(grepl("Not settled", utils::capture.output(print(fit)))))
})

test_that("selection and modelled holes calibrate the rate, unless given", {
  d <- wide_data(n = 80, p = 6, seed = 6)
  data <- data.frame(d$x, y = d$y)
  fit <- function(...) flat(bsvm)(y ~ ., data, method = "vb", threads = 1, ...)
  selected <- fit(select = TRUE)
  expect_true(selected$calibrated)
  expect_lt(selected$learning_rate, 0.9)
  expect_identical(fit()$learning_rate, 1)
  expect_identical(fit(select = TRUE, learning_rate = 1)$learning_rate, 1)
  data$v2[1:30] <- NA
  modelled <- fit(missing = "model")
  expect_true(modelled$calibrated)
  expect_output(print(summary(modelled)), "missing values are approximate")
  expect_warning(
    fit(missing = "model", learning_rate = 1), class = "bayeskernel_warning_learning_rate"
  )
  # Too few complete rows to calibrate with: about what it is elsewhere.
  data$v2[1:75] <- NA
  expect_identical(fit(missing = "model")$learning_rate, typical_rate)
  expect_bk_error(fit(missing = "model", learning_rate = "calibrated"), "argument", "complete")
})

# Of all but a few columns of wild scales, where plain ascent has no end.
test_that("a selection takes no more passes than are said", {
  set.seed(6)
  x <- matrix(stats::rnorm(1200), 40) %*% diag(c(rep(1, 4), 10^stats::runif(26, -3, 3)))
  y <- seq_len(40) == 7
  fit <- suppressWarnings(bsvm(
    x, y, select = TRUE, method = "vb",
    control = list(accelerate = FALSE, polish = FALSE, max_iter = 1e7),
    standardize = FALSE, weights = 10^stats::runif(40, -3, 3), learning_rate = 1, threads = 1
  ))
  expect_lte(fit$diagnostics$passes, 10000)
  expect_false(fit$diagnostics$converged)
})

test_that("default chains of a selection go on until they agree", {
  skip_if_not_installed("MASS")
  data("biopsy", package = "MASS", envir = environment())
  data <- stats::na.omit(biopsy)[, -1]
  for (model in list(bsvm, bkm)) {
    expect_no_warning(fit <- model(class ~ ., data, select = TRUE, seed = 1, threads = 1))
    expect_lt(max(fit$diagnostics$table$rhat, na.rm = TRUE), 1.2)
    expect_gt(fit$sampler$warmup, 50)
    expect_identical(dim(fit$draws)[1:2], c(250L, 4L))
    size <- fit$sampler$warmup + fit$sampler$draws * fit$sampler$thin
    expect_lte(size, 4000)
  }
})
