# A kernel is not chosen by how well copies of a row tell the row.

set.seed(111)
n <- 90
unit <- data.frame(x = rnorm(n), z = rnorm(n))
unit$p <- plogis(2 * unit$x + unit$z)
unit$trials <- sample(2:6, n, TRUE)
unit$s <- rbinom(n, unit$trials, unit$p)
unit$y <- rbinom(n, 1, unit$p)
new <- data.frame(x = c(-2, -1, 0, 0.3, 1, 2), z = c(0, 1, -1, 2, 0.2, -2))
machine <- function(...) gpsvm(..., threads = 1, seed = 1)
share <- function(fit) predict(fit, new, type = "response")

test_that("equal weights of 2 hardly move the answers", {
  once <- share(machine(y ~ x + z, unit))
  for (tune in c("loo", "cv")) {
    twice <- share(machine(y ~ x + z, unit, weights = rep(2, n), tune = tune))
    expect_lt(max(abs(twice - once)), 0.1)
  }
})

test_that("counts of a few trials at many places are near the truth", {
  truth <- plogis(2 * new$x + new$z)
  expect_lt(max(abs(share(machine(cbind(s, trials - s) ~ x + z, unit)) - truth)), 0.1)
})

test_that("the lengthscale of three classes is not below the distance of rows", {
  unit$k <- factor(1 + (unit$x > 0) + (unit$x + unit$z > 0.5))
  fit <- machine(k ~ x + z, unit, weights = rep(3, n))
  expect_gt(fit$kernel$lengthscale, 0.4)
})

test_that("repeated rows are tuned as their counts are", {
  set.seed(9)
  d <- data.frame(x = rnorm(60), z = rnorm(60))
  d$k <- factor(1 + (d$x + rnorm(60) / 2 > 0) + (d$z + rnorm(60) / 2 > 0.5))
  d$two <- factor(d$k == "1")
  twice <- d[rep(1:60, 2), ]
  for (formula in list(k ~ x + z, two ~ x + z)) {
    for (tune in c("loo", "cv")) {
      p <- predict(machine(formula, d, weights = rep(2, 60), tune = tune), new, type = "prob")
      own <- predict(machine(formula, twice, tune = tune), new, type = "prob")
      expect_lt(max(abs(p - own)), 0.05)
    }
  }
})
