# Arguments are read by name and checked in one place.

d <- grouped_data()

test_that("a seed is a whole number for every engine", {
  for (method in c("vb", "gibbs", "svi")) {
    for (seed in list("a", 1.5, -1, NA, c(1, 2))) {
      expect_bk_error(
        bsvm(y ~ x1, d, method = method, seed = seed, threads = 1),
        "argument", "seed"
      )
    }
  }
})

test_that("variational Bayes leaves R's generator alone", {
  set.seed(1)
  before <- .Random.seed
  fit <- bsvm(y ~ x1, d, threads = 1)
  expect_identical(.Random.seed, before)
  expect_null(fit$seed)
})

test_that("`model` is TRUE or FALSE in every model", {
  expect_bk_error(bsvm(y ~ x1, d, model = "yes"), "argument", "model")
  expect_bk_error(gpsvm(y ~ x1, d, model = "yes"), "argument", "model")
})

test_that("`start` is refused by engines without chains", {
  fit <- quick_gibbs(y ~ x1, d)
  expect_bk_error(bsvm(y ~ x1, d, start = fit), "argument", "sampler")
  expect_bk_error(gpsvm(y ~ x1, d, start = fit), "argument", "start")
})

test_that("families are given as in glm()", {
  d$z <- d$x1
  two <- quick_bark(y ~ x1, d, family = "binomial")
  for (family in list(binomial, binomial(), binomial("probit"))) {
    expect_identical(quick_bark(y ~ x1, d, family = family)$draws, two$draws)
  }
  number <- quick_bark(z ~ x2, d)
  expect_identical(quick_bark(z ~ x2, d, family = gaussian)$draws, number$draws)
  for (family in list(binomial("cauchit"), poisson, poisson(), sum, 1, "b")) {
    expect_bk_error(bark(y ~ x1, d, family = family), "argument", "family")
  }
})

test_that("codes of classes are not regressed without a word", {
  d$code <- as.numeric(d$y == levels(d$y)[2])
  for (code in list(d$code, 2 * d$code - 1)) {
    d$code <- code
    error <- expect_bk_error(bark(code ~ x1, d), "response", "codes of classes")
    expect_match(conditionMessage(error), "family = \"binomial\"", fixed = TRUE)
    expect_s3_class(quick_bark(code ~ x1, d, family = "gaussian"), "bark")
    expect_s3_class(quick_bark(code ~ x1, d, family = "binomial"), "bark")
  }
  expect_bk_error(bark(cbind(a = d$x1), d$code), "response", "codes")
})
