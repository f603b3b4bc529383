# The generics of rstantools, loo and bayesplot.

skip_if_not_installed("rstantools")

d <- grouped_data()
d$z <- as.numeric(d$y == "yes") + d$x2
d$three <- cut(d$z, c(-Inf, 0, 1, Inf), c("a", "b", "c"), ordered_result = TRUE)
vb <- bsvm(y ~ x1 + x2 + (1 | g), d, threads = 1, method = "vb")
machines <- gpsvm(
  factor(three, ordered = FALSE) ~ x1 + x2, d,
  inducing = 10, seed = 1, threads = 1, method = "vb", tune = FALSE
)
two <- quick_bark(y ~ x1 + x2, d, family = "binomial")
three <- quick_bark(three ~ x1 + x2, d, family = "ordinal")
numbers <- quick_bark(z ~ x1 + x2, d)

test_that("draws of f, of means and of responses", {
  for (fit in list(vb, two)) {
    f <- rstantools::posterior_linpred(fit, ndraws = 30, seed = 1)
    expect_identical(dim(f), c(30L, 80L))
    p <- rstantools::posterior_epred(fit, ndraws = 30, link = "probit", seed = 1)
    expect_equal(p, pnorm(f), ignore_attr = TRUE)
    expect_equal(
      rstantools::posterior_linpred(fit, TRUE, ndraws = 30, link = "probit", seed = 1), p
    )
    expect_equal(
      f, predict(fit, d, "link", draws = TRUE, ndraws = 30, seed = 1), ignore_attr = TRUE
    )
  }
  y <- rstantools::posterior_predict(two, d[1:5, ], ndraws = 40, seed = 1)
  expect_identical(dim(y), c(40L, 5L))
  expect_true(all(y %in% 0:1))
  for (fit in list(machines, three)) {
    p <- rstantools::posterior_epred(fit, d[1:9, ], ndraws = 60, seed = 1)
    expect_identical(dim(p), c(60L, 9L, 3L))
    expect_equal(c(apply(p, 1:2, sum)), rep(1, 540))
    expect_lt(max(abs(apply(p, 2:3, mean) - predict(fit, d[1:9, ], "prob"))), 0.15)
  }
  y <- rstantools::posterior_predict(three, ndraws = 60, seed = 1)
  expect_true(all(y %in% 1:3))
  expect_identical(attr(y, "levels"), c("a", "b", "c"))
  y <- rstantools::posterior_predict(numbers, seed = 1)
  expect_equal(y, predict(numbers, draws = TRUE, interval = "prediction", seed = 1))
})

test_that("intervals are quantiles of the draws, and priors are shown", {
  out <- rstantools::posterior_interval(numbers, 0.8, "sigma")
  expect_identical(dimnames(out), list("sigma", c("10%", "90%")))
  expect_equal(c(out), quantile(c(numbers$draws[, , "sigma"]), c(0.1, 0.9)), ignore_attr = TRUE)
  expect_bk_error(rstantools::posterior_interval(vb, pars = "x9"), "argument", "pars")
  expect_s3_class(rstantools::prior_summary(vb), "bsvm_prior")
  expect_output(print(rstantools::prior_summary(machines)), "length-scales")
})

test_that("a proper likelihood is evaluated draw by draw", {
  ll <- rstantools::log_lik(two, seed = 1)
  f <- predict(two, draws = TRUE, seed = 1)
  y <- rep(d$y == "yes", each = nrow(f))
  expect_equal(ll, log(ifelse(y, pnorm(f), pnorm(-f))), ignore_attr = TRUE)
  ll <- rstantools::log_lik(numbers, d[1:4, ], seed = 1)
  f <- predict(numbers, d[1:4, ], draws = TRUE, seed = 1)
  sigma <- as.matrix(numbers)[, "sigma"]
  expect_equal(ll[, 3], dnorm(d$z[3], f[, 3], sigma, TRUE), ignore_attr = TRUE)
  ll <- rstantools::log_lik(three, seed = 1)
  p <- rstantools::posterior_epred(three, seed = 1)
  expect_equal(ll[, 7], log(p[, 7, as.integer(d$three)[7]]))
})

test_that("leave-one-out is for proper likelihoods, and others say why", {
  expect_bk_error(rstantools::log_lik(vb), "argument", "pseudo-likelihood")
  for (fit in list(vb, machines)) {
    expect_bk_error(rstantools::posterior_predict(fit), "argument", "posterior_epred")
  }
  skip_if_not_installed("loo")
  expect_bk_error(loo::loo(machines), "argument", "pseudo-likelihood")
  out <- suppressWarnings(loo::loo(numbers, seed = 1))
  expect_s3_class(out, "psis_loo")
  expect_true(is.finite(out$estimates["elpd_loo", "Estimate"]))
})

test_that("a picture compares responses with simulated ones", {
  skip_if_not_installed("bayesplot")
  expect_s3_class(bayesplot::pp_check(two, ndraws = 10, seed = 1), "ggplot")
  expect_bk_error(bayesplot::pp_check(vb), "argument", "pseudo-likelihood")
  expect_s3_class(bayesplot::pp_check(numbers, ndraws = 10, seed = 1), "ggplot")
  expect_s3_class(bayesplot::pp_check(three, ndraws = 10, seed = 1), "ggplot")
})
