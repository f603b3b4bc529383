# A model of a list of facts and a few generics has what users call on a fit. It is a case of the
# contract too; here its numbers are those of lm().

set.seed(1)
d <- data.frame(x1 = rnorm(80, 5, 3), x2 = rnorm(80))
d$y <- 2 + d$x1 - d$x2 + rnorm(80)
fit <- toy(y ~ x1 + x2, d)
known <- lm(y ~ x1 + x2, d)

test_that("the toy predicts as lm() does", {
  expect_equal(predict(fit, d), unname(fitted(known)), tolerance = 1e-10)
  expect_equal(
    predict(fit, d[1:5, ], se.fit = TRUE)$se.fit,
    unname(predict(known, d[1:5, ], se.fit = TRUE)$se.fit), tolerance = 1e-8
  )
  expect_equal(fitted(fit), predict(fit), ignore_attr = TRUE)
  expect_equal(residuals(fit), unname(residuals(known)), tolerance = 1e-8)
})

test_that("the toy has the methods of every fit", {
  expect_s3_class(fit, c("toy", "bayeskernel_fit"), exact = TRUE)
  expect_equal(nobs(fit), 80L)
  expect_equal(weights(fit), rep(1, 80))
  expect_equal(formula(fit), y ~ x1 + x2, ignore_attr = TRUE)
  expect_equal(nrow(model.frame(fit)), 80L)
  expect_equal(colnames(model.matrix(fit)), c("x1", "x2"))
  expect_output(print(fit), "Linear regression")
  expect_output(print(summary(fit)), "x1")
  expect_equal(tidy(fit)$term, c("constant", "x1", "x2", "sigma"))
  expect_equal(nrow(augment(fit, newdata = d)), 80L)
  f <- predict(fit, d, draws = TRUE, ndraws = 9, seed = 2)
  expect_equal(dim(f), c(9, 80))
  found <- predict(fit, d, interval = "credible")
  expect_true(all(found[, 2] < found[, 1] & found[, 1] < found[, 3]))
  expect_length(predict(fit, d[0, ]), 0L)
  holed <- d[1:3, ]
  holed$x1[2] <- NA
  expect_equal(which(is.na(predict(fit, holed))), 2L)
  expect_bk_error(coef(fit), "argument")
  expect_bk_error(toy(y ~ x1, d, weights = x2), "argument", "weights")
  expect_bk_error(toy(y ~ x1, d, chains = 2), "argument", "chains")
})

test_that("the noise of the toy is in what predicts responses", {
  expect_equal(sigma(fit), sigma(known))
  rows <- d[1:5, ]
  half <- qnorm(0.95) * sqrt(predict(known, rows, se.fit = TRUE)$se.fit^2 + sigma(known)^2)
  found <- predict(fit, rows, interval = "prediction", level = 0.9)
  expect_equal(found[, "upr"] - found[, "fit"], unname(half))
  expect_equal(predict(fit, interval = "prediction", level = 0.9)[1:5, ], found)
  # The mean of -2 log p is that at the mean and the trace of the hat matrix.
  left <- sum(residuals(known)^2) / sigma(known)^2
  mean <- left + 3 + 80 * log(2 * pi * sigma(known)^2)
  expect_lt(abs(deviance(fit) - mean), 0.6)
})

test_that("a model without draws of its parameters has their intervals", {
  expect_bk_error(as.matrix(fit), "argument", "draws")
  skip_if_not_installed("rstantools")
  limits <- rstantools::posterior_interval(fit, 0.5, pars = c("x2", "x1"))
  expect_equal(rownames(limits), c("x2", "x1"))
  table <- tidy(fit, conf.int = TRUE, conf.level = 0.5)
  expect_equal(unname(limits[, 1]), table$conf.low[3:2])
})

test_that("independent draws are as good as their number for loo", {
  skip_if_not_installed("loo")
  # With an observation left out the residual is divided by 1 - h.
  h <- hatvalues(known)
  left <- residuals(known) / (1 - h)
  sd <- sigma(known) * sqrt(1 + h / (1 - h))
  found <- suppressWarnings(loo::loo(fit, seed = 1))
  expect_equal(
    found$estimates["elpd_loo", "Estimate"], sum(dnorm(left, 0, sd, TRUE)), tolerance = 0.01
  )
})

test_that("a model that does not iterate says so", {
  expect_output(print(fit), "Exact")
  expect_identical(glance(fit)$converged, NA)
})
