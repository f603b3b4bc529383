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

test_that("noise of any size below a thousandth of the response is found", {
  set.seed(1)
  d <- data.frame(x = 1:50, g = factor(rep(1:10, 5)), e = rnorm(50), v = 10^runif(50, -4, 4))
  u <- rnorm(10)
  for (size in c(1e-3, 1e-5)) {
    d$y <- 3 + 2 * d$x + size * d$e
    truth <- lm(y ~ x, d)
    for (method in c("ep", "vb", "gibbs")) {
      fit <- bkm(y ~ x, d, method = method, chains = 1, threads = 1, seed = 1)
      expect_lt(abs(sigma(fit) / sigma(truth) - 1), 0.05)
    }
    raw <- plain(y ~ x, d, standardize = FALSE)
    expect_lt(abs(sigma(raw) / sigma(truth) - 1), 0.05)
    # Between groups the response varies, within them hardly.
    d$y <- d$y + u[d$g]
    within <- summary(lm(y ~ x + g, d))$sigma
    expect_lt(abs(sigma(plain(y ~ x + (1 | g), d)) / within - 1), 0.1)
    d$y <- d$y + d$x * u[d$g]
    within <- summary(lm(y ~ x * g, d))$sigma
    expect_lt(abs(sigma(plain(y ~ x + (x | g), d)) / within - 1), 0.1)
  }
  d$y <- d$x + d$e * sqrt(d$v)
  w <- mean(1 / d$v)^-1 / d$v
  fit <- plain(y ~ x, d, weights = w, method = "vb")
  expect_lt(abs(sigma(fit) / sigma(lm(y ~ x, d, weights = w)) - 1), 0.1)
  # What the user says holds.
  fit <- plain(y ~ x, d, prior = bkm_prior(noise_rate = 1e-6))
  expect_identical(fit$prior$noise_rate, 1e-6)
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

test_that("new rows that ask for the effect of a dropped column are warned of", {
  set.seed(2)
  d <- data.frame(f = gl(2, 10, 30), h = gl(2, 20, 30), x = rnorm(30), k = 7)
  d$twice <- 2 * d$x + 1
  d$y <- rnorm(30)
  d <- d[!(d$f == "2" & d$h == "2"), ]
  expect_warning(fit <- plain(y ~ f * h + x + twice + k, d), "3 columns")
  expect_output(print(fit), "Dropped: +.*twice")
  expect_output(print(summary(fit)), "Dropped: +.*twice")
  expect_no_warning(predict(fit, d))
  ask <- function(...) predict(fit, transform(d[1, ], ...))
  expect_bk_warning(ask(h = factor("2"), f = factor("2")), "dropped_column", "f2:h2")
  expect_bk_warning(ask(x = 1, twice = 4), "dropped_column", "twice")
  expect_bk_warning(ask(k = 8), "dropped_column", "k")
  expect_no_warning(ask(x = 1e6, twice = 2e6 + 1))
  x <- as.matrix(d[c("x", "twice", "k")])
  expect_warning(fit <- bkm(x, d$y, threads = 1), "2 columns")
  expect_no_warning(predict(fit, x))
  expect_bk_warning(predict(fit, x + 1), "dropped_column", "twice")
  d$z <- rnorm(nrow(d))
  label <- factor(d$y > 0)
  for (model in list(gpsvm, mkprobit)) {
    expect_warning(fit <- model(as.matrix(d[c("x", "k", "z")]), label, threads = 1, seed = 1), "k")
    expect_no_warning(predict(fit, as.matrix(d[c("x", "k", "z")])))
    expect_bk_warning(
      predict(fit, cbind(x = 1, k = 8, z = 0)), "dropped_column", "k"
    )
  }
})

test_that("as many columns as rows without a penalty are warned of", {
  set.seed(3)
  d <- data.frame(y = rnorm(8), matrix(rnorm(48), 8))
  expect_warning(
    bkm(y ~ ., cbind(d, z = rnorm(8)), penalty = "none", method = "vb", threads = 1),
    class = "bayeskernel_warning_identification"
  )
  expect_no_warning(bkm(y ~ ., d, penalty = "none", method = "vb", threads = 1))
  expect_no_warning(bkm(y ~ ., cbind(d, z = rnorm(8)), method = "vb", threads = 1))
})
