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
  npk$pair <- factor(as.integer(npk$block) %/% 2)
  for (formula in list(yield ~ block + N * P * K, yield ~ pair + block)) {
    expect_warning(fit <- plain(formula, npk), "dropped")
    suppressWarnings(expect_near_lm(formula, npk))
  }
})

test_that("numeric predictors are without penalty, of a formula as of a matrix", {
  for (case in list(list(Employed ~ ., longley), list(sr ~ ., LifeCycleSavings))) {
    fit <- bkm(case[[1]], case[[2]], threads = 1)
    want <- summary(stats::lm(case[[1]], case[[2]]))$coefficients
    expect_lt(max(abs(coef(fit)[rownames(want)] - want[, 1]) / want[, 2]), 0.02)
    x <- as.matrix(case[[2]][rownames(want)[-1]])
    matrix <- bkm(x, case[[2]][[all.vars(case[[1]])[1]]], threads = 1)
    expect_equal(coef(matrix), coef(fit))
    few <- bkm(case[[1]], case[[2]][seq_len(2 * nrow(want) - 1), ], threads = 1)
    expect_identical(c(fit$penalty, matrix$penalty, few$penalty), c("none", "none", "learn"))
  }
})

test_that("a column that others determine is dropped from a matrix, too", {
  d <- transform(mtcars[c("mpg", "wt", "hp")], twice = 2 * wt)
  expect_warning(fit <- bkm(as.matrix(d[-1]), d$mpg, threads = 1), "twice")
  expect_equal(unname(coef(fit)), unname(coef(stats::lm(mpg ~ wt + hp, d))), tolerance = 1e-3)
})

test_that("the bound never falls where little noise is left", {
  for (formula in list(weight ~ poly(height, 3), weight ~ height + I(height^2) + I(height^3))) {
    expect_no_warning(fit <- bkm(formula, women, method = "vb", threads = 1))
    plain <- bkm(formula, women, method = "vb", threads = 1, control = list(accelerate = FALSE))
    expect_equal(fit$diagnostics$largest_fall, 0)
    expect_equal(fit$trace$elbo[length(fit$trace$elbo)], plain$trace$elbo[length(plain$trace$elbo)],
      tolerance = 1e-6)
  }
})
