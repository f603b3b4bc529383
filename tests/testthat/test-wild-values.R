# One value far from all others: the function of the others is what it is without it.

wild_rows <- function(n = 150, value = 1e6) {
  set.seed(1)
  d <- data.frame(x = runif(n, -2, 2), z = rnorm(n))
  d$y <- sin(3 * d$x) + d$z + rnorm(n) / 5
  d$class <- d$y > 0
  d$x[7] <- value
  d
}

test_that("far values are those without which a column is another", {
  set.seed(2)
  x <- rnorm(200)
  expect_null(without_wild(x))
  expect_null(without_wild(exp(2 * x)))
  expect_null(without_wild(c(rep(0, 195), 1:5))) # few that are not 0
  expect_null(without_wild(rep(0:1, c(199, 1))))
  expect_null(without_wild(c(x[1:50], 30)))
  found <- without_wild(c(x, -1e5))
  expect_identical(found$far, 201L)
  expect_equal(found$scale, sd(x))
  expect_equal(found$center, mean(x))
  # Two hundredths of the rows are no slip.
  expect_null(without_wild(c(x, 1e6 + 1:4)))
  tame <- tame_rows(rbind(c(x, -1e5), c(x, 1)))
  expect_equal(tame[1, 201], mean(x) - 10 * sd(x))
  expect_identical(tame[, -201], rbind(x, x, deparse.level = 0))
})

test_that("one wild value leaves a process and its points to the others", {
  d <- wild_rows()
  new <- expand.grid(x = seq(-2, 2, 0.1), z = c(-1, 0, 1))
  truth <- sin(3 * new$x) + new$z
  expect_warning(
    fit <- bkm(y ~ gp(x, z), d, family = "gaussian", threads = 1), "far from all others",
    class = "bayeskernel_warning_outlier"
  )
  expect_gt(nrow(fit$design$smooths[[1]]$process$z), 40)
  plain <- bkm(y ~ gp(x, z), d[-7, ], family = "gaussian", threads = 1)
  error <- function(fit) sqrt(mean((predict(fit, new) - truth)^2))
  expect_lt(error(fit), 1.1 * error(plain))
  expect_warning(
    fit <- gpsvm(class ~ x + z, d, threads = 1, seed = 1, tune = FALSE, inducing = 40),
    class = "bayeskernel_warning_outlier"
  )
  expect_gt(nrow(fit$inducing), 35)
  plain <- gpsvm(class ~ x + z, d[-7, ], threads = 1, seed = 1, tune = FALSE, inducing = 40)
  expect_equal(fit$transform$scale[["x"]], plain$transform$scale[["x"]])
  error <- function(fit) mean((predict(fit, new) == "TRUE") != (truth > 0))
  expect_lt(error(fit), error(plain) + 0.03)
})

test_that("a smooth says that a wild value takes its basis", {
  d <- wild_rows(value = 1e4)
  expect_warning(
    bkm(y ~ s(x), d, family = "gaussian", threads = 1), "knots at quantiles",
    class = "bayeskernel_warning_outlier"
  )
  expect_no_warning(bkm(y ~ s(x, bs = "cr"), d, family = "gaussian", threads = 1))
})

test_that("points fewer than asked for are said", {
  expect_warning(
    warn_few_inducing(3, 60, "gp(x)"), "Few inducing points", class = "bayeskernel_warning_kernel"
  )
  expect_silent(warn_few_inducing(30, 60, "gp(x)"))
})

test_that("an exact process names a column with a value beyond computation", {
  d <- data.frame(x = replace(sin(1:60), 3, 1e9), z = cos(1:60), y = sin(1:60) > 0)
  error <- suppressWarnings(expect_bk_error(
    gpsvm(y ~ x + z, d, seed = 1, threads = 1), "numeric", "`x`"
  ), classes = "bayeskernel_warning_outlier")
  expect_identical(error$column, "x")
})
