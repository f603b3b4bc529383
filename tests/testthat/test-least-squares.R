# Textbook regressions at the defaults, compared with least squares.

plain <- function(...) bkm(..., threads = 1, seed = 1)

# Coefficients within 0.02 standard errors, standard errors within `ratio`.
expect_near_lm <- function(formula, data, ratio = 1.12, ...) {
  fit <- plain(formula, data, ...)
  truth <- lm(formula, data)
  b <- coef(truth)
  b <- b[!is.na(b)]
  se <- sqrt(diag(vcov(truth)))[names(b)]
  expect_lt(max(abs(fixef(fit)[names(b)] - b) / se), 0.02)
  quotient <- sqrt(diag(vcov(fit)))[names(b)] / se
  expect_lt(max(quotient), ratio)
  expect_gt(min(quotient), 0.98)
}

test_that("a regression that explains nearly all has its noise and standard errors", {
  formulas <- list(
    weight ~ height + I(height^2), weight ~ height + I(height^2) + I(height^3),
    weight ~ poly(height, 3), weight ~ poly(height, 3, raw = TRUE)
  )
  for (formula in formulas) expect_near_lm(formula, women)
  expect_near_lm(log(pressure) ~ poly(temperature, 4), pressure)
})

test_that("the noise has the unit of a response that is not standardized", {
  for (size in c(1e-4, 1, 1e6)) {
    d <- transform(women, weight = size * weight)
    fit <- plain(weight ~ height + I(height^2), d, standardize = FALSE)
    expect_equal(sigma(fit), size * sigma(plain(weight ~ height + I(height^2), women)),
      tolerance = 1e-3
    )
  }
  # Of a learned penalty and the intercept beside it, too.
  big <- transform(women, weight = 1e6 * weight)
  expect_equal(
    fixef(plain(weight ~ height, big, standardize = FALSE)) / 1e6,
    fixef(plain(weight ~ height, women, standardize = FALSE)), tolerance = 1e-3
  )
})

test_that("factors are as in least squares, whichever level is the first", {
  expect_near_lm(breaks ~ wool * tension, warpbreaks)
  expect_near_lm(weight ~ feed, chickwts)
  expect_near_lm(mpg ~ factor(cyl) + wt * hp, mtcars)
  other <- transform(chickwts, feed = relevel(feed, "horsebean"))
  expect_equal(
    unname(predict(plain(weight ~ feed, other))), unname(predict(plain(weight ~ feed, chickwts))),
    tolerance = 1e-3
  )
})

test_that("products that others determine are dropped, as least squares drops them", {
  for (formula in list(yield ~ block + N * P * K, yield ~ factor(as.integer(block) %/% 2) + block)) {
    expect_warning(fit <- plain(formula, npk), "dropped")
    suppressWarnings(expect_near_lm(formula, npk))
  }
})
