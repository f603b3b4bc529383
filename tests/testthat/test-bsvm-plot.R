d <- grouped_data()
fit <- bsvm(y ~ x1 + x2 + (x1 | g), d, threads = 1, method = "vb")
sampled <- quick_gibbs(y ~ x1 + x2 + (1 | g), d)
plain <- bsvm(y ~ x1 + x2, d, threads = 1, method = "vb")

# How many graphics calls `code` made, and whether it put par() back.
drawn <- function(code) {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  grDevices::dev.control("enable")
  before <- graphics::par("mar", "mfrow", "las")
  force(code)
  list(
    calls = length(grDevices::recordPlot()[[1]]),
    restored = identical(before, graphics::par("mar", "mfrow", "las"))
  )
}

test_that("every type that applies is drawn, and par() is put back", {
  calls <- list(
    quote(plot(fit)), quote(plot(fit, "coef", scale = "model")), quote(plot(fit, "ranef")),
    quote(plot(fit, "bound")), quote(plot(fit, "calibration")), quote(plot(sampled)),
    quote(plot(sampled, "trace")), quote(plot(sampled, "ranef")),
    quote(plot(sampled, "calibration", newdata = d))
  )
  for (call in calls) {
    out <- drawn(eval(call))
    expect_gt(out$calls, 5)
    expect_true(out$restored)
  }
})

test_that("a type that does not apply is refused with those that do", {
  expect_bk_error(plot(fit, "trace"), "argument", "\"bound\"")
  expect_bk_error(plot(sampled, "bound"), "argument", "\"trace\"")
  expect_bk_error(plot(plain, "ranef"), "argument", "\"coef\"")
  expect_bk_error(plot(fit, "pie"), "argument", "\"calibration\"")
  expect_bk_error(plot(fit, pars = "x9"), "argument", "x9")
})

test_that("intervals are quantiles of the posterior on either scale", {
  q <- coefficient_quantiles(fit, "data")
  expect_equal(q[, 3], coef(fit))
  sd <- sqrt(diag(vcov(fit)))
  expect_equal((q[, 5] - q[, 1]) / (2 * qnorm(0.95)), sd)
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
