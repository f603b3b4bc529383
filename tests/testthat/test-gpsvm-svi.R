# Stochastic steps of the nonlinear machine: they come near the optimum of the full passes, and with
# passes behind them reach it.

svi_data <- curved_data(3000, seed = 5)
svi_x <- curved_matrix(svi_data)
svi_y <- 2 * (svi_data$y == "out") - 1

process <- function(..., method = "vb", tune = FALSE, inducing = 20) {
  flat(gpsvm)(
    svi_x, svi_y, inducing = inducing, seed = 3, threads = 1, ..., method = method, tune = tune
  )
}

batch <- process(method = "vb", tol = 1e-10)

test_that("steps alone come within a thousandth of the bound", {
  for (rate in c("rm", "adaptive")) {
    for (size in c(20, 100)) {
      epochs <- if (size == 20) 100 else 400
      fit <- process(method = "svi", rate = rate, batch_size = size, epochs = epochs, max_iter = 0)
      found <- bound_of(fit, svi_x, svi_y)
      expect_lt(found, last_bound(batch) + 1e-6)
      expect_gt(found, last_bound(batch) - 1e-3 * abs(last_bound(batch)))
      # The adaptive rate looks at 20 minibatches before its first step.
      steps <- epochs * 3000 / size - if (rate == "adaptive") 19 else 0
      expect_equal(fit$diagnostics$steps, steps)
      expect_equal(fit$diagnostics$passes, 0)
      expect_bk_error(elbo(fit), "argument", "max_iter")
      expect_output(print(fit), "Ended after [0-9]+ minibatches of")
      expect_equal(fitted(fit), predict(fit, svi_x, type = "prob")[, 2], tolerance = 1e-12)
    }
  }
})

test_that("the bound in plain R is the one that is reported", {
  expect_equal(bound_of(batch, svi_x, svi_y), last_bound(batch), tolerance = 1e-9)
})

test_that("steps and then passes end where passes end", {
  for (rate in c("rm", "adaptive")) {
    for (size in c(10, 1000, 1e6)) {
      fit <- process(method = "svi", rate = rate, batch_size = size, tol = 1e-10)
      expect_lt(abs(last_bound(fit) - last_bound(batch)), 1e-5)
      expect_equal(fitted(fit), fitted(batch), tolerance = 1e-4)
    }
  }
})

test_that("epochs end early once their bound has settled", {
  long <- process(method = "svi", batch_size = 50, epochs = 30)
  short <- process(method = "svi", batch_size = 50, epochs = 30, epoch_tol = 1e-2)
  expect_equal(long$diagnostics$steps, 30 * 60)
  bound <- short$trace$epochs
  expect_lt(length(bound), 20)
  # The first step is not watched: its bound is that of the start.
  expect_equal(short$diagnostics$steps, 60 * length(bound) + 1)
  expect_gt(bound[length(bound)], bound[1])
  expect_lt(abs(last_bound(short) - last_bound(batch)), 1e-2)
  expect_bk_warning(
    process(
      method = "svi", batch_size = 50, epochs = 3, epoch_tol = 1e-12, max_iter = 0
    ), "max_iter", "steps"
  )
})

test_that("a seed names the steps, threads do not change them", {
  fit <- function(seed, threads = 1) {
    gpsvm(
      svi_x, svi_y, inducing = svi_x[1:40, ], method = "svi", control = list(max_iter = 0),
      seed = seed, threads = threads, tune = FALSE
    )$posterior
  }
  one <- fit(1)
  expect_identical(fit(1), one)
  expect_identical(fit(1, threads = 2), one)
  expect_false(identical(fit(2), one))
})

test_that("the method is chosen by size and named", {
  small <- process(method = NULL)
  expect_identical(small$method, "ep")
  expect_output(print(summary(small)), "\"ep\", chosen for 3000 rows and 20 inducing")
  skip_if_not(identical(Sys.getenv("BAYESKERNEL_SLOW"), "true"))
  x <- matrix(rnorm(6e5), dimnames = list(NULL, "a"))
  large <- gpsvm(
    x, x[, 1] + rnorm(6e5) > 0, inducing = 90, threads = 2, seed = 1, control = list(tol = 1e-2)
  )
  expect_identical(large$method, "svi")
  expect_output(print(large), "minibatches")
})

test_that("steps of the kernel and its points climb to what the bound is tuned to", {
  start <- rbf(3, variance = 1)
  from <- function(...) {
    process(method = "svi", kernel = start, batch_size = 10, epochs = 20, rate = "adaptive", ...)
  }
  held <- from()
  fit <- from(kernel_steps = 10)
  best <- process(kernel = start, tune = "bound", optimize_inducing = TRUE)
  gain <- last_bound(best) - last_bound(held)
  expect_gt(gain, 100)
  expect_gt(last_bound(fit), last_bound(held) + 0.8 * gain)
  # What is stored is what q was found with: passes from there gain nothing.
  again <- process(kernel = fit$kernel, inducing = fit$inducing, tol = 1e-10)
  expect_equal(last_bound(again), last_bound(fit), tolerance = 1e-4)
  expect_equal(predict(fit, svi_x, type = "link"), predict(again, svi_x, type = "link"),
    tolerance = 0.01
  )
  alone <- from(kernel_steps = 10, max_iter = 0)
  expect_gt(bound_of(alone, svi_x, svi_y), last_bound(held) + 0.7 * gain)
})

test_that("a kernel that minibatches cannot move is refused", {
  three <- curved_data(150, classes = 3)
  refused <- function(y, ...) {
    expect_bk_error(gpsvm(
      curved_matrix(three), y, ..., kernel = rbf(1), control = list(kernel_steps = 10)
    ), "argument", "cannot be moved")
  }
  refused(three$y, method = "svi", inducing = 10)
  refused(three$y == "low", method = "vb", inducing = 10)
  refused(three$y == "low", method = "svi", inducing = "all")
})
