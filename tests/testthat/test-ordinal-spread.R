# Intervals, standard errors and draws of the probabilities of ordered classes.

test_that("bark() has them for ordered classes", {
  set.seed(2)
  d <- data.frame(x = runif(60, -2, 2))
  d$y <- cut(d$x + rnorm(60) / 2, c(-Inf, -1, 0.5, Inf), ordered_result = TRUE)
  fit <- suppressWarnings(bark(
    y ~ x, d, family = "ordinal", chains = 2,
    control = list(warmup = 200, thin = 2), ndraws = 150, threads = 1, seed = 1
  ))
  new <- data.frame(x = c(-1, 0, NA, 1))
  p <- predict(fit, new, type = "prob")
  draws <- predict(fit, new, type = "prob", draws = TRUE, seed = 1)
  expect_identical(dim(draws), c(300L, 4L, 3L))
  expect_identical(dimnames(draws)[[3]], levels(d$y))
  expect_equal(c(apply(draws[, -3, ], 1:2, sum)), rep(1, 900))
  # Each draw is of one f and the cut points of the same draw.
  link <- predict(fit, new, type = "link", draws = TRUE, seed = 1)
  below <- pnorm(c(fit$draws[, , "cut[1]"]) - link[, 1])
  expect_equal(draws[, 1, 1], below)
  expect_equal(draws[, 1, 2], pnorm(c(fit$draws[, , "cut[2]"]) - link[, 1]) - below)
  expect_lt(max(abs(apply(draws[, -3, ], 2:3, mean) - p[-3, ])), 0.02)
  limits <- predict(fit, new, type = "prob", interval = "credible", level = 0.8, seed = 1)
  expect_identical(dim(limits), c(4L, 3L, 3L))
  expect_identical(dimnames(limits)[[2]], c("fit", "lwr", "upr"))
  expect_identical(limits[, "fit", ], p)
  expect_equal(
    unname(limits[1, "upr", ]), unname(apply(draws[, 1, ], 2, quantile, 0.9)), tolerance = 1e-8
  )
  expect_true(all(is.na(limits[3, , ])))
  expect_identical(
    predict(fit, new, type = "response", interval = "credible", level = 0.8, seed = 1), limits
  )
  spread <- predict(fit, new, type = "prob", se.fit = TRUE)
  expect_identical(spread$fit, p)
  expect_identical(dim(spread$se.fit), c(4L, 3L))
  own <- predict(fit, type = "prob", interval = "credible", seed = 1)
  expect_identical(dim(own), c(60L, 3L, 3L))
  expect_identical(dim(predict(fit, new, type = "prob", draws = TRUE, ndraws = 7)), c(7L, 4L, 3L))
})
