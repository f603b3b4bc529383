d <- grouped_data()
fit <- bsvm(y ~ x1 + x2 + (x1 | g), d, threads = 1, method = "vb")
sampled <- quick_gibbs(y ~ x1 + x2 + (1 | g), d)

test_that("coefficients that are not there are refused, and either scale is drawn", {
  expect_bk_error(plot(fit, pars = "x9"), "argument", "x9")
  expect_gt(drawn(plot(fit, "coef", scale = "model"))$calls, 5)
})

test_that("intervals are quantiles of the posterior on either scale", {
  q <- coefficient_quantiles(fit, "data")
  expect_equal(q[, 3], coef(fit))
  sd <- sqrt(diag(vcov(fit)))
  expect_equal((q[, 5] - q[, 1]) / (2 * qnorm(0.975)), sd)
  sampled <- with_vcov(sampled, "posterior")
  q <- coefficient_quantiles(sampled, "model")
  scale <- sampled$transform$scale
  draws <- as.matrix(sampled)[, "x1"] * scale[["x1"]]
  expect_equal(q["x1", 2], quantile(draws, 0.25), ignore_attr = TRUE)
  expect_equal(
    unname(fixed_sd(sampled, "model")), unname(sqrt(diag(vcov(sampled, scale = "model"))))
  )
})

test_that("calibration finds the labels of new rows or asks for them", {
  table <- NULL
  drawn(table <- plot(fit, "calibration", newdata = d, bins = 4))
  expect_equal(sum(table$rows), 80L)
  expect_equal(sum(table$observed * table$rows), sum(d$y == "yes"), tolerance = 1e-12)
  by_name <- table
  drawn(table <- plot(
    fit, "calibration", newdata = d[c("x1", "x2", "g")], y = as.character(d$y), bins = 4
  ))
  expect_equal(table, by_name)
  expect_bk_error(plot(fit, "calibration", newdata = d[c("x1", "x2", "g")]), "argument", "Give `y`")
  expect_bk_error(plot(fit, "calibration", newdata = d, y = rep("maybe", 80)), "response", "maybe")
})
