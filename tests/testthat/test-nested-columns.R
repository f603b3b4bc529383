# Products and powers of predictors far from 0: the prior is of what they add, wherever zeros are.

set.seed(1)
n <- 60
trial <- data.frame(
  year = sample(2000:2020, n, TRUE), arm = gl(2, 1, n, labels = c("a", "b")), z = rnorm(n),
  g = gl(6, 10)
)
trial$y <- 0.1 * (trial$year - 2010) * (1 + (trial$arm == "b")) + rnorm(n)
trial$c <- rbinom(n, 1, plogis(trial$y))
plain <- function(...) bkm(..., threads = 1, seed = 1)

test_that("the slope of an arm over years is that of least squares", {
  for (formula in list(y ~ year * arm, y ~ arm + year:arm, y ~ year + I(year^2), y ~ year * z,
    y ~ poly(year, 2, raw = TRUE) * arm
  )) {
    fit <- plain(formula, trial)
    truth <- lm(formula, trial)
    k <- length(coef(truth))
    se <- sqrt(vcov(truth)[k, k])
    expect_lt(abs(unname(fixef(fit)[k] - coef(truth)[k])) / se, 0.02)
    expect_equal(sqrt(vcov(fit)[k, k]), se, tolerance = 0.05)
  }
})

test_that("fits do not depend on the zero of a predictor", {
  later <- transform(trial, year = year + 3000)
  for (formula in list(y ~ year * arm * z, c ~ year * arm + (1 | g), c ~ year * z)) {
    one <- plain(formula, trial)
    other <- plain(formula, later)
    f <- predict(one, type = "link", se.fit = TRUE)
    expect_equal(predict(other, type = "link", se.fit = TRUE), f, tolerance = 1e-4)
    expect_equal(log_evidence(other), log_evidence(one), tolerance = 1e-5)
  }
})

test_that("evidence and slope are those of the prior of orthogonal parts", {
  x <- model.matrix(~ year * arm, trial)
  parts <- scale(cbind(x[, 2:3], residuals(lm(x[, 4] ~ x[, 1:3]))))
  unit <- sd(trial$y)
  known <- (1e4 * unit)^2 + tcrossprod(parts) * (25 * unit)^2
  grid <- seq(-4, 3, length.out = 300)
  y <- trial$y - mean(trial$y)
  each <- vapply(grid, function(t) {
    root <- chol(known + exp(t) * unit^2 * diag(n))
    -sum(log(diag(root))) - sum(backsolve(root, y, transpose = TRUE)^2) / 2 - n / 2 * log(2 * pi) +
      0.01 * log(1e-6) - lgamma(0.01) - 0.01 * t - 1e-6 / exp(t)
  }, 0)
  truth <- max(each) + log(sum(exp(each - max(each))) * diff(grid[1:2]))
  expect_equal(log_evidence(plain(y ~ year * arm, trial)), truth, tolerance = 1e-3)
})

test_that("a separated arm has no larger effect for years that are far from 0", {
  trial$c[trial$arm == "b"] <- 1L
  new <- data.frame(year = c(2000, 2010, 2020), arm = "b")
  for (method in c("ep", "vb")) {
    far <- suppressWarnings(plain(c ~ year * arm, trial, method = method))
    near <- suppressWarnings(plain(c ~ year * arm, transform(trial, year = year - 2010),
      method = method
    ))
    expect_equal(
      unname(predict(far, new, type = "link")),
      unname(predict(near, transform(new, year = year - 2010), type = "link")), tolerance = 0.2
    )
  }
})

test_that("a sampler has the same prior", {
  fit <- plain(c ~ year * arm, trial)
  draws <- plain(c ~ year * arm, trial, method = "gibbs", chains = 2, ndraws = 1000)
  sd <- sqrt(diag(vcov(fit)))
  expect_lt(max(abs(fixef(draws) - fixef(fit)) / sd), 0.2)
  expect_equal(sqrt(diag(vcov(draws))), sd, tolerance = 0.2)
})

test_that("a prior of the columns as they are is warned of", {
  expect_warning(
    plain(y ~ year * arm, trial, penalty = 1), class = "bayeskernel_warning_identification"
  )
  expect_warning(
    plain(y ~ year * arm, trial, select = TRUE), class = "bayeskernel_warning_identification"
  )
  near <- transform(trial, year = year - 2010)
  expect_no_warning(plain(y ~ year * arm, near, penalty = 1))
  expect_no_warning(plain(y ~ year * arm, trial))
})

test_that("raw powers of one term are as those of terms of their own, and as orthogonal ones", {
  trial$c <- rbinom(n, 1, plogis(((trial$year - 2010) / 4)^2 - 2))
  link <- function(formula, ...) predict(plain(formula, trial, ...), type = "link")
  raw <- link(c ~ poly(year, 2, raw = TRUE))
  expect_equal(raw, link(c ~ year + I(year^2)), tolerance = 1e-5)
  expect_equal(raw, link(c ~ poly(year, 2)), tolerance = 0.01)
  expect_equal(raw, link(c ~ poly(year, 2, raw = TRUE), method = "vb"), tolerance = 0.02)
  with_curve <- link(c ~ s(z) + poly(year, 2, raw = TRUE) + (1 | g))
  expect_equal(with_curve, link(c ~ s(z) + year + I(year^2) + (1 | g)), tolerance = 1e-3)
  trial$`two of` <- cbind(u = trial$year, v = trial$y)
  expect_length(coef(plain(c ~ `two of` + poly(z, 2, raw = TRUE), trial)), 5)
  by_arm <- link(c ~ poly(year, 2, raw = TRUE) * arm)
  expect_equal(by_arm, link(c ~ (year + I(year^2)) * arm), tolerance = 0.02)
})

test_that("terms of other variables are not nested, however many", {
  design <- list(
    x = matrix(1, 2, 4001), terms = TRUE, assign = 0:4000, term_labels = paste0("V", 1:4000)
  )
  expect_length(nested_columns(design), 0L)
})

test_that("products among the columns of a matrix or a source are warned of", {
  x <- with(trial, cbind(year, arm = as.integer(arm), product = year * as.integer(arm)))
  fits <- list(
    function(x) plain(x, trial$y), function(x) plain(x, trial$c),
    function(x) plain(row_source(x, trial$c)),
    function(x) plain(row_source(x, trial$c), ~ year + arm + product)
  )
  near <- x
  near[, "year"] <- x[, "year"] - 2010
  near[, "product"] <- near[, "year"] * near[, "arm"]
  for (fit in fits) {
    expect_warning(fit(x), class = "bayeskernel_warning_identification")
    expect_no_warning(fit(near))
  }
})

test_that("a product is not said to be held where it is not", {
  d <- airquality[!is.na(airquality$Ozone), ]
  expect_no_warning(fit <- plain(Ozone ~ Solar.R + Wind * Temp, d, missing = "model"))
  truth <- lm(Ozone ~ Solar.R + Wind * Temp, d)
  expect_lt(abs(fixef(fit)[[5]] - coef(truth)[[5]]), 0.3 * sqrt(vcov(truth)[5, 5]))
})
