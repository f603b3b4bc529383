# cbind(successes, failures): a row is one unit with so many trials.

counted <- local({
  set.seed(1)
  d <- data.frame(x = rnorm(20), n = 3 + rpois(20, 4))
  d$s <- rbinom(20, d$n, plogis(0.3 + d$x))
  d$f <- d$n - d$s
  d
})
counted_prior <- bkm_prior(beta_var = 6.25)

test_that("a row of counts is one unit in what users see of it", {
  for (method in c("ep", "vb")) {
    fit <- bkm(cbind(s, f) ~ x, counted, "logit",
      method = method, prior = counted_prior, threads = 1
    )
    ml <- glm(cbind(s, f) ~ x, binomial, counted)
    expect_equal(nobs(fit), 20)
    expect_length(fitted(fit), 20)
    expect_lt(max(abs(fitted(fit) - fitted(ml))), 0.05)
    expect_equal(unname(residuals(fit)), unname(counted$s / counted$n - fitted(fit)))
    expect_lt(max(abs(residuals(fit, "pearson") - residuals(ml, "pearson"))), 0.1)
    expect_equal(unname(weights(fit)), counted$n)
    expect_equal(dim(simulate(fit, 3, seed = 1)$sim_1), c(20L, 2L))
    expect_identical(dim(simulate(fit, 3, seed = 1)), c(20L, 3L))
    expect_equal(rowSums(simulate(fit, seed = 1)$sim_1), counted$n)
    expect_equal(nrow(augment(fit)), 20L)
    expect_lt(abs(logLik(fit) - logLik(ml)), 0.1)
    expect_equal(attr(logLik(fit), "nobs"), 20)
  }
})

test_that("log_lik() of counts is the binomial probability of each draw", {
  skip_if_not_installed("rstantools")
  fit <- bkm(cbind(s, f) ~ x, counted, "logit", prior = counted_prior, threads = 1)
  p <- rstantools::posterior_epred(fit, ndraws = 50, seed = 1)
  expect_equal(
    unname(rstantools::log_lik(fit, ndraws = 50, seed = 1)),
    t(apply(p, 1, function(p) dbinom(counted$s, counted$n, p, log = TRUE)))
  )
})

test_that("simulated counts vary as binomial ones do", {
  skip_if_not_installed("rstantools")
  fit <- bkm(cbind(s, f) ~ x, counted, "logit", prior = counted_prior, threads = 1)
  y <- rstantools::posterior_predict(fit, ndraws = 4000, seed = 1)
  p <- rstantools::posterior_epred(fit, ndraws = 4000, seed = 2)
  n <- counted$n
  exact <- n * colMeans(p * (1 - p)) + n^2 * apply(p, 2, var)
  expect_lt(max(abs(colMeans(y) - n * colMeans(p)) / sqrt(exact / 500)), 1)
  expect_lt(max(abs(log(apply(y, 2, var) / exact))), 0.2)
})

test_that("loo() leaves the whole row out", {
  skip_if_not_installed("loo")
  for (family in c("logit", "probit")) {
    fit <- function(rows) {
      bkm(cbind(s, f) ~ x, counted[rows, ], family, prior = counted_prior, threads = 1)
    }
    z <- seq(-8, 8, by = 0.02)
    curve <- if (family == "logit") plogis else pnorm
    refit <- vapply(1:20, function(i) {
      at <- predict(fit(-i), counted[i, ], type = "link", se.fit = TRUE)
      p <- curve(at$fit + at$se.fit * z)
      log(sum(dnorm(z) * 0.02 * dbinom(counted$s[i], counted$n[i], p)))
    }, 1)
    found <- loo::loo(fit(1:20))$pointwise[, 1]
    expect_lt(abs(sum(found) - sum(refit)), 0.1)
    expect_lt(max(abs(found - refit)), 0.05)
  }
})

test_that("the matrix method and the kernel machines have units, too", {
  x <- as.matrix(counted["x"])
  y <- cbind(counted$s, counted$f)
  fit <- bkm(x, y, "logit", prior = counted_prior, threads = 1)
  expect_equal(nobs(fit), 20)
  expect_length(fitted(fit), 20)
  for (fit in list(
    bsvm(cbind(s, f) ~ x, counted, threads = 1),
    gpsvm(cbind(s, f) ~ x, counted, threads = 1, seed = 1)
  )) {
    expect_equal(nobs(fit), 20)
    expect_length(fitted(fit), 20)
    expect_equal(nrow(augment(fit)), 20L)
    # Calibration has a case for each trial, not for each row.
    grDevices::pdf(NULL)
    on.exit(grDevices::dev.off())
    expect_equal(sum(plot(fit, "calibration")$rows), sum(counted$n))
    expect_output(print(fit), "20 of 140 trials")
    expect_equal(glance(fit)$nobs, 20)
  }
})

test_that("rows of weight zero stay away in the matrix method", {
  skip_if_not_installed("rstantools")
  x <- as.matrix(mtcars[c("wt", "hp")])
  w <- rep(0:1, 16)
  y <- mtcars$mpg
  all <- bkm(x, y, weights = w, method = "vb", prior = counted_prior, threads = 1)
  kept <- bkm(x[w > 0, ], y[w > 0], method = "vb", prior = counted_prior, threads = 1)
  expect_equal(
    unname(rstantools::log_lik(all, ndraws = 20, seed = 1)),
    unname(rstantools::log_lik(kept, ndraws = 20, seed = 1))
  )
  expect_equal(
    unname(as.matrix(simulate(all, 2, seed = 1))), unname(as.matrix(simulate(kept, 2, seed = 1)))
  )
  expect_s3_class(exposure(all, "wt"), "data.frame")
})

test_that("rows of counts are predicted as rates, not as classes", {
  fit <- bkm(cbind(s, f) ~ x, counted, "logit", prior = counted_prior, threads = 1)
  expect_identical(predict(fit), predict(fit, type = "response"))
  expect_bk_error(predict(fit, type = "class"), "argument", "\"response\".*\"prob\"")
  expect_false(".class" %in% names(augment(fit)))
})

test_that("prediction intervals of counts are quantiles of binomial draws", {
  fit <- bkm(cbind(s, f) ~ x, counted, "logit", prior = counted_prior, threads = 1)
  limits <- predict(fit, interval = "prediction", ndraws = 4000, seed = 1)
  expect_equal(limits[, "fit"], counted$n * predict(fit), ignore_attr = TRUE)
  draws <- predict(fit, interval = "prediction", draws = TRUE, ndraws = 4000, seed = 2)
  expect_equal(dim(draws), c(4000, nrow(counted)))
  expect_gt(min(rowMeans(t(draws) >= limits[, "lwr"] & t(draws) <= limits[, "upr"])), 0.93)
  expect_true(all(limits == round(limits) | colnames(limits)[col(limits)] == "fit"))
  # New rows say how many trials they have; the sum counts.
  new <- data.frame(x = c(0, NA, 0), s = 0, f = c(20, 5, 2000))
  found <- predict(fit, new, interval = "prediction", seed = 1)
  expect_identical(unname(is.na(found[, "lwr"])), c(FALSE, TRUE, FALSE))
  expect_true(all(found[c(1, 3), "upr"] <= c(20, 2000)))
  expect_gt(found[3, "lwr"], found[1, "upr"])
  expect_bk_error(predict(fit, new["x"], interval = "prediction"), "argument", "no `s`, `f`")
  expect_bk_error(
    predict(fit, type = "prob", interval = "prediction"), "argument", "number\\s+of\\s+successes"
  )
})

test_that("a row of counts of weight 2 has the likelihood of two rows", {
  whole <- rep(0:3, 5)
  twice <- counted[rep(1:20, whole), ]
  for (method in c("ep", "gibbs")) {
    fit <- function(data, ...) {
      bkm(cbind(s, f) ~ x, data, method = method, chains = 1, seed = 1, threads = 1, ...)
    }
    one <- fit(counted, weights = whole)
    two <- fit(twice)
    expect_lt(abs(logLik(one) - logLik(two)), if (method == "ep") 1e-3 else 0.02)
    if (method == "ep") expect_equal(log_evidence(one), log_evidence(two), tolerance = 1e-4)
  }
  matrix <- bkm(cbind(x = counted$x), cbind(counted$s, counted$f), weights = whole, threads = 1)
  expect_equal(c(logLik(matrix)), c(logLik(bkm(cbind(s, f) ~ x, twice, threads = 1))),
    tolerance = 1e-4
  )
  expect_equal(
    sum(colMeans(rstantools::log_lik(one, seed = 1))), sum(colMeans(rstantools::log_lik(two))),
    tolerance = 0.01
  )
  part <- whole / 2
  ml <- suppressWarnings(glm(cbind(s, f) ~ x, binomial, counted, weights = part))
  own <- bkm(cbind(s, f) ~ x, counted, weights = part, threads = 1)
  expect_lt(abs(logLik(own) - logLik(ml)), 0.1)
})

test_that("leave-one-out of weighted counts, and of labels in groups, is that of repeated rows", {
  skip_if_not_installed("loo")
  d <- counted
  set.seed(2)
  d$w <- sample(1:3, 20, TRUE)
  d$g <- factor(rep(1:5, 4))
  d$y <- rbinom(20, 1, plogis(d$x))
  long <- d[rep(1:20, d$w), ]
  same <- function(formula, family, tolerance, ...) {
    fits <- list(
      bkm(formula, d, family, weights = w, threads = 1, seed = 1, ...),
      bkm(formula, long, family, threads = 1, seed = 1, ...)
    )
    found <- lapply(fits, function(fit) loo::loo(fit)$estimates[1:2, ])
    expect_lt(max(abs(found[[1]] - found[[2]])), tolerance)
  }
  for (family in c("logit", "probit")) {
    same(cbind(s, f) ~ x, family, 0.001)
    same(cbind(s, f) ~ x + (1 | g), family, 0.01)
    same(y ~ x + (1 | g), family, 0.15)
    same(cbind(s, f) ~ x, family, 0.4, method = "vb") |> suppressWarnings()
  }
  same(cbind(s, f) ~ x, "logit", 0.4, method = "gibbs") |> suppressWarnings()
})

test_that("log_lik() of counts at new rows is the binomial probability", {
  skip_if_not_installed("rstantools")
  fit <- bkm(cbind(s, f) ~ x, counted, "logit", prior = counted_prior, threads = 1)
  new <- counted[c(3, 9, 1), ]
  p <- rstantools::posterior_epred(fit, new, ndraws = 50, seed = 1)
  exact <- t(apply(p, 1, function(p) dbinom(new$s, new$n, p, log = TRUE)))
  found <- rstantools::log_lik(fit, new, ndraws = 50, seed = 1)
  expect_equal(unname(found), unname(exact))
  y <- cbind(new$s, new$f)
  expect_identical(rstantools::log_lik(fit, new["x"], y, ndraws = 50, seed = 1), found)
  expect_error(
    rstantools::log_lik(fit, new["x"], new$s), "successes", class = "bayeskernel_error_argument"
  )
})
