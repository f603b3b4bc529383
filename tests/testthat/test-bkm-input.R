# What bkm() takes, and what it says to the rest.

d <- family_data()
d$three <- factor(rep(c("a", "b", "c"), 20))
quick <- function(..., method = "vb") flat(bkm)(..., method = method, threads = 1, progress = FALSE)

test_that("the family is that of the response, or what is said in any form", {
  expect_identical(quick(y ~ x, d)$family, "logit")
  expect_identical(quick(number ~ x, d)$family, "gaussian")
  expect_identical(quick(I(y == "yes") ~ x, d)$family, "logit")
  expect_identical(quick(I(+(y == "yes")) ~ x, d)$family, "logit")
  for (family in list("probit", binomial("probit"), binomial(link = "probit"))) {
    expect_identical(quick(y ~ x, d, family)$family, "probit")
  }
  for (family in list("logit", binomial, binomial(), "binomial")) {
    expect_identical(quick(y ~ x, d, family)$family, "logit")
  }
  for (family in list("gaussian", gaussian, gaussian())) {
    expect_identical(quick(number ~ x, d, family)$family, "gaussian")
  }
  expect_identical(quick(d[c("x", "z")], d$y)$family, "logit")
  expect_identical(quick(as.matrix(d[c("x", "z")]), d$number)$family, "gaussian")
})

test_that("families that are not there name those that are", {
  for (family in list(
    "poisson", poisson(), poisson, binomial("cauchit"), gaussian("log"), 3, TRUE,
    c("logit", "probit"), mean
  )) {
    expect_bk_error(quick(y ~ x, d, family), "argument", "probit")
  }
})

test_that("a response that does not suit the family says which would", {
  expect_bk_error(quick(number ~ x, d, "logit"), "response", "gaussian")
  expect_bk_error(quick(number ~ x, d, "hinge"), "response", "gaussian")
  expect_bk_error(quick(y ~ x, d, "gaussian"), "response", "logit")
  expect_bk_error(quick(as.character(y) ~ x, d, "gaussian"), "response", "logit")
  expect_bk_error(quick(cbind(x, z) ~ 1, d, "gaussian"), "response", "logit")
  expect_bk_error(quick(three ~ x, d), "response", "mkprobit")
  expect_bk_error(quick(three ~ x, d, "probit"), "response", "gpsvm")
  expect_bk_error(quick(three ~ x, d, "gaussian"), "response", "gpsvm")
  expect_bk_error(quick(I(z > 9) ~ x, d), "response", "one class")
  share <- transform(d, p = plogis(x))
  expect_bk_error(quick(p ~ x, share, "logit"), "response", "cbind")
  # Two numbers that are no codes: which is meant?
  expect_bk_error(quick(I(1 + (y == "yes")) ~ x, d), "response", "not class codes")
  x <- as.matrix(d[c("x", "z")])
  expect_bk_error(quick(d, y ~ x), "argument", "formula comes first")
  expect_bk_error(quick(x, d$three), "response", "gpsvm")
  expect_bk_error(quick(x, d$y, "gaussian"), "response", "logit")
  expect_bk_error(quick(x, cbind(1, 2:60), "gaussian"), "response", "logit")
})

test_that("counts are whole, not negative, and no more than the trials", {
  counts <- transform(d, s = rep(0:2, 20), f = rep(2:0, 20))
  expect_identical(nobs(quick(cbind(s, f) ~ x, counts)), 60L)
  for (bad in list(0.5, -1, NA, Inf)) {
    counts$s[7] <- bad
    error <- expect_error(quick(cbind(s, f) ~ x, counts), class = "bayeskernel_error")
    expect_match(conditionMessage(error), "row 7")
  }
  counts$s[7] <- 5
  expect_bk_error(quick(cbind(s, 2 - s) ~ x, counts), "response", "more successes than trials")
})

test_that("methods and arguments that do not go together are refused", {
  expect_bk_error(quick(y ~ x + z, d, select = TRUE, method = "ep"), "argument", "gibbs")
  expect_bk_error(quick(y ~ x, d, prior = bsvm_prior()), "prior", "bkm_prior")
  expect_bk_error(
    quick(y ~ x, d, "probit", weights = z + 2, method = "gibbs"), "argument", "whole weights"
  )
  expect_bk_error(quick(y ~ x, d, method = "laplace"), "argument", "\"ep\"")
  expect_bk_error(quick(y ~ x, d, penalty = -1), "argument", "penalty")
  source <- row_source(as.matrix(d[c("x", "z")]), d$y)
  expect_bk_error(bkm(source, method = "gibbs"), "argument", "svi")
  expect_bk_error(bkm(y ~ x, d, famly = "logit"), "argument", "family")
})

test_that("selection is variational unless another method is asked for", {
  fit <- bkm(y ~ x + z, d, select = TRUE, seed = 1, threads = 1)
  expect_identical(fit$method, "vb")
  expect_length(inclusion(fit), 2L)
  expect_length(inclusion(quick(y ~ x + z, d, select = TRUE)), 2L)
})

test_that("separated classes are said where the prior is nearly flat", {
  apart <- transform(d, y = x > 3)
  flat <- bkm_prior(beta_var = 1e8, intercept_var = 1e8)
  for (method in c("vb", "ep")) {
    expect_bk_warning(
      suppressWarnings(
        quick(y ~ x, apart, prior = flat, method = method),
        classes = c("bayeskernel_warning_max_iter", "bayeskernel_warning_convergence")
      ),
      "separation", "bkm_prior"
    )
    expect_bk_warning(fit <- quick(y ~ x, apart, method = method), "separation", "`x`")
    expect_lt(max(abs(coef(fit, scale = "model"))), 12)
  }
})

test_that("of separated classes and a curve the variance is what to limit", {
  set.seed(5)
  apart <- data.frame(x = rnorm(100))
  apart$y <- apart$x > 0.2
  # A bound that still rises is beside the point.
  expect_bk_warning(
    suppressWarnings(
      bkm(y ~ s(x), apart, method = "vb", control = list(max_iter = 200), threads = 1),
      classes = "bayeskernel_warning_max_iter"
    ),
    "separation", "var_shape = 2"
  )
  expect_no_warning(fit <- bkm(
    y ~ s(x), apart, prior = bkm_prior(var_shape = 2, var_rate = 2), threads = 1
  ))
  expect_identical(fit$method, "ep")
})

test_that("priors are checked, and filled in by family", {
  prior <- unclass(bkm_prior())
  expect_null(prior$beta_var)
  expect_identical(
    prior[c("slab_shape", "slab_rate", "noise_shape", "rho")],
    list(slab_shape = NULL, slab_rate = NULL, noise_shape = 0.01, rho = 0.01)
  )
  bad <- list(
    beta_var = list(0, -1, "a"), intercept_var = list(0, c(1, 2), NA),
    slab_shape = list(0, NA), slab_rate = list(-1), noise_shape = list(Inf),
    noise_rate = list(0), rho = list(0, 1), cov_df = list(-1)
  )
  for (name in names(bad)) {
    for (value in bad[[name]]) {
      error <- expect_error(
        do.call(bkm_prior, stats::setNames(list(value), name)), class = "bayeskernel_error_prior"
      )
      expect_identical(error$column, name)
    }
  }
  resolved <- function(family) family_prior(bkm_prior(), family)
  expect_equal(resolved("logit")$beta_var, 6.25)
  expect_equal(resolved("logit")$intercept_var, 100)
  expect_equal(resolved("probit")$beta_var, 6.25 / 1.7^2)
  expect_equal(resolved("gaussian")$beta_var, 625)
  expect_equal(resolved("hinge")$beta_var, 6.25)
  # The intercept has its own, unless there is a number for each column.
  few <- transform(d, y = x > 5)
  wide <- coef(quick(y ~ z, few), scale = "model")
  narrow <- coef(quick(y ~ z, few, prior = bkm_prior(intercept_var = 1e-6)), scale = "model")
  expect_lt(abs(narrow[[1]]), 1e-3)
  expect_gt(abs(wide[[1]]), 1)
  both <- quick(y ~ z, few, prior = bkm_prior(beta_var = c(1e-6, 1e-6)))
  expect_lt(max(abs(coef(both, scale = "model"))), 1e-3)
  expect_bk_error(quick(y ~ x, d, prior = bkm_prior(beta_var = 1:3)), "prior", "bkm_prior")
  expect_output(print(bkm_prior(beta_var = 4)), "variance 4")
  expect_output(print(quick(y ~ x, d)$prior), "variance 100")
})

test_that("a constant number is told, and fitted", {
  expect_bk_warning(quick(number ~ x, transform(d, number = 3), "gaussian"), "response", "constant")
})

test_that("interval = \"confidence\" is that of lm(), and variables by `$` bring `data`", {
  fit <- bkm(mpg ~ wt, mtcars, threads = 1)
  expect_identical(
    predict(fit, mtcars[1:3, ], interval = "confidence"),
    predict(fit, mtcars[1:3, ], interval = "credible")
  )
  for (model in list(bkm, bsvm, gpsvm)) {
    expect_bk_error(model(mtcars$am ~ mtcars$wt), "argument", "`data`")
  }
})
