# Predictors that are missing not at random. The independent reference is maximum likelihood in
# plain R: a normal regression, a normal law of x given z and a probit of being missing, x
# integrated by Gauss and Hermite's rule.

missing_by_itself <- function(n = 1500, slope = 1.5) {
  with_seed(3, {
    z <- stats::rnorm(n)
    x <- z / 2 + stats::rnorm(n)
    y <- 1 + x + z / 2 + stats::rnorm(n)
    x[stats::runif(n) < stats::pnorm(-0.7 + slope * x)] <- NA
    data.frame(x, z, y)
  })
}

most_likely <- function(d, nodes = 30) {
  rule <- hermite_rule(nodes)
  gone <- is.na(d$x)
  with_gone <- d[gone, ]
  u <- (d$x - mean(d$x, na.rm = TRUE)) / stats::sd(d$x, na.rm = TRUE)
  center <- mean(d$x, na.rm = TRUE)
  scale <- stats::sd(d$x, na.rm = TRUE)
  loss <- function(p) {
    sd_y <- exp(p[4])
    sd_x <- exp(p[7])
    seen <- sum(
      stats::dnorm(d$y, p[1] + p[2] * d$x + p[3] * d$z, sd_y, log = TRUE)[!gone] +
        stats::dnorm(d$x, p[5] + p[6] * d$z, sd_x, log = TRUE)[!gone] +
        stats::pnorm(-(p[8] + p[9] * u[!gone]), log.p = TRUE)
    )
    x <- outer(p[5] + p[6] * with_gone$z, sd_x * rule$node, `+`)
    like <- stats::dnorm(with_gone$y, p[1] + p[2] * x + p[3] * with_gone$z, sd_y) *
      stats::pnorm(p[8] + p[9] * (x - center) / scale)
    -(seen + sum(log(drop(like %*% rule$weight)))) + sum(p[8:9]^2) / (2 * 2.5^2)
  }
  stats::optim(c(1, 1, 0, 0, 0, 0, 0, -1, 0.5), loss,
    method = "BFGS", control = list(maxit = 500, reltol = 1e-12)
  )$par
}

# Of the standard normal distribution (Golub and Welsch 1969).
hermite_rule <- function(n) {
  own <- eigen(outer(seq_len(n), seq_len(n), function(i, j) {
    ifelse(abs(i - j) == 1, sqrt(pmin(i, j)), 0)
  }), symmetric = TRUE)
  list(node = own$values, weight = own$vectors[1, ]^2)
}

test_that("coefficients and mechanism are those of maximum likelihood", {
  d <- missing_by_itself()
  expected <- most_likely(d)
  fit <- bkm(y ~ x + z, d, missing = mnar(x ~ x), threads = 1)
  se <- sqrt(diag(vcov(fit)))
  expect_true(all(abs(coef(fit) - expected[1:3]) < 0.2 * se))
  own <- mechanism(fit)
  expect_true(all(abs(own$estimate - expected[8:9]) < 0.2 * own$sd))
  # At random it is far away.
  wrong <- coef(bkm(y ~ x + z, d, missing = "model", threads = 1))
  expect_gt(abs(wrong[1] - expected[1]) / se[1], 5)
})

test_that("each method and family, groups and processes take it", {
  d <- missing_by_itself(300)
  d$g <- factor(rep(1:30, 10))
  d$class <- factor(d$y > 1)
  full <- c(x = 1, z = 0.5)
  for (method in c("ep", "vb", "gibbs")) {
    fit <- bkm(y ~ x + z + (1 | g), d, method = method, missing = mnar(x ~ x), seed = 1,
      threads = 1)
    expect_lt(max(abs(coef(fit)[names(full)] - full)), 0.25)
  }
  fit <- bsvm(class ~ x + z, d, missing = mnar(x ~ x + z), threads = 1)
  expect_identical(mechanism(fit)$term, c("(Intercept)", "x", "z"))
  fit <- bkm(y ~ gp(x) + z, d, missing = mnar(x ~ x), threads = 1)
  at <- predict(fit, data.frame(x = c(-1, 1), z = 0))
  expect_lt(abs(diff(at) - 2), 0.5)
  expect_output(print(fit), "not missing at random")
})

test_that("a slope that is held stays, and 0 is missing at random", {
  d <- missing_by_itself(300)
  fit <- bkm(y ~ x + z, d, missing = mnar(x ~ x, slope = c(x = 0)), threads = 1)
  expect_identical(mechanism(fit)$estimate[2], 0)
  expect_identical(mechanism(fit)$sd[2], NA_real_)
  expect_equal(coef(fit), coef(bkm(y ~ x + z, d, missing = "model", threads = 1)), tolerance = 0.02)
  # New rows are averaged under the mechanism: those that miss x have large ones.
  large <- bkm(y ~ x + z, d, missing = mnar(x ~ x, slope = c(x = 2)), threads = 1)
  new <- data.frame(x = NA_real_, z = 0)
  expect_gt(predict(large, new), predict(fit, new) + 0.5)
})

test_that("what cannot be done is said", {
  d <- missing_by_itself(100)
  expect_error(mnar(~x), class = "bayeskernel_error_argument")
  expect_error(mnar(x ~ log(x)), class = "bayeskernel_error_argument")
  expect_error(mnar(x ~ x, slope = c(q = 1)), class = "bayeskernel_error_argument")
  expect_error(bkm(y ~ x, d, missing = mnar(x ~ z)), class = "bayeskernel_error_argument")
  expect_error(bkm(y ~ x + z, d, missing = mnar(z ~ z)), class = "bayeskernel_error_argument")
  expect_error(
    bkm(y > 0 ~ x + z, d, missing = mnar(x ~ x), select = TRUE),
      class = "bayeskernel_error_argument"
  )
  expect_error(mechanism(bkm(y ~ z, d, threads = 1)), class = "bayeskernel_error_argument")
})
