test_that("linear models take predictors in a data frame that are not all numbers", {
  set.seed(7)
  x <- data.frame(x = rnorm(60), h = factor(sample(c("u", "v", "w"), 60, TRUE)))
  y <- x$x + rnorm(60)
  whole <- bkm(y ~ x + h, x, seed = 1, threads = 1)
  for (keep in c(TRUE, FALSE)) {
    fit <- bkm(x, y, seed = 1, threads = 1, model = keep)
    expect_equal(predict(fit, x[3, ]), predict(whole, x[3, ]))
    expect_equal(residuals(fit), residuals(whole))
    expect_equal(augment(fit)$y, y)
  }
  fit <- bsvm(x, y > 0, seed = 1, threads = 1)
  expect_equal(predict(fit, x), predict(bsvm(y > 0 ~ x + h, x, seed = 1, threads = 1), x))
})
