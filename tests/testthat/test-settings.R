# Arguments are read by name and checked in one place.

d <- grouped_data()

test_that("a seed is a whole number for every engine", {
  for (method in c("vb", "gibbs", "svi")) {
    for (seed in list("a", 1.5, -1, NA, c(1, 2))) {
      expect_bk_error(
        bsvm(y ~ x1, d, method = method, seed = seed, threads = 1), "argument", "seed"
      )
    }
  }
})

test_that("variational Bayes leaves R's generator alone", {
  set.seed(1)
  before <- .Random.seed
  fit <- bsvm(y ~ x1, d, threads = 1, method = "vb")
  expect_identical(.Random.seed, before)
  expect_null(fit$seed)
})

test_that("`model` is TRUE or FALSE in every model", {
  expect_bk_error(bsvm(y ~ x1, d, model = "yes", method = "vb"), "argument", "model")
  expect_bk_error(gpsvm(y ~ x1, d, model = "yes", method = "vb", tune = FALSE), "argument", "model")
})

test_that("families are given as in glm()", {
  d$z <- d$x1
  two <- quick_bark(y ~ x1, d, family = "binomial")
  for (family in list(binomial, binomial("probit"))) {
    expect_no_message(probit <- quick_bark(y ~ x1, d, family = family))
    expect_identical(probit$draws, two$draws)
    expect_identical(probit$family, "binomial")
  }
  # What says logit is told that it is probit.
  for (family in list(binomial(), binomial("logit"))) {
    expect_message(
      logit <- quick_bark(y ~ x1, d, family = family), "probit, not logit",
      class = "bayeskernel_message_link"
    )
    expect_identical(logit$draws, two$draws)
  }
  for (read in list(seqkr_model$arguments$family, bark_model$arguments$family)) {
    expect_message(read(binomial(), "family"), "probit, not logit")
    expect_no_message(read(binomial, "family"))
  }
  number <- quick_bark(z ~ x2, d)
  for (family in list(gaussian, gaussian())) {
    expect_identical(quick_bark(z ~ x2, d, family = family)$draws, number$draws)
  }
  for (family in list(binomial("cauchit"), gaussian("log"), poisson, poisson(), sum, 1, "b")) {
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
