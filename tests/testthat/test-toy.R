# A model of a list of facts and a few generics has what users call on a fit.
# The cases of the contract have classes or draws; this one has neither.

set.seed(1)
d <- data.frame(x1 = rnorm(80, 5, 3), x2 = rnorm(80))
d$y <- 2 + d$x1 - d$x2 + rnorm(80)
fit <- toy(y ~ x1 + x2, d)
known <- lm(y ~ x1 + x2, d)

test_that("the toy predicts as lm() does", {
  expect_equal(predict(fit, d), unname(fitted(known)), tolerance = 1e-10)
  expect_equal(
    predict(fit, d[1:5, ], se.fit = TRUE)$se.fit,
    unname(predict(known, d[1:5, ], se.fit = TRUE)$se.fit),
    tolerance = 1e-8
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
  expect_equal(tidy(fit)$term, c("constant", "x1", "x2"))
  expect_equal(nrow(augment(fit, newdata = d)), 80L)
  f <- predict(fit, d, draws = TRUE, n_draws = 9, seed = 2)
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
