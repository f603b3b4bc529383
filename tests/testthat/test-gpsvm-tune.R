# Kernel parameters from the data.

d <- curved_data(250, seed = 3)
x <- curved_matrix(d)

process <- function(..., method = "vb", tune = FALSE, inducing = 15) {
  flat(gpsvm)(x, d$y, inducing = inducing, seed = 1, threads = 1, ..., method = method, tune = tune)
}

plain <- process()

test_that("the bound rises, and stays inside the box", {
  for (kernel in list(rbf(), rbf(ard = TRUE), rbf(1) + linear(0.5), rbf() * polynomial(2))) {
    before <- process(kernel = kernel)
    after <- process(kernel = kernel, tune = "bound")
    expect_gt(last_bound(after), last_bound(before))
    expect_lt(abs(last_bound(after) - after$tuned$bound), 0.01)
    expect_true(after$tuned$converged)
    found <- kernel_parameters(after$kernel)
    scaled <- grepl("lengthscale", names(found))
    ell <- c(0.05, 20) * after$median_distance
    expect_true(all(found[scaled] >= ell[1] * 0.999))
    expect_true(all(found[scaled] <= ell[2] * 1.001))
    expect_true(all(found[!scaled] > 0.00999 & found[!scaled] < 1.001e4))
  }
  box <- gpsvm_prior(lengthscale = c(2, 2.5), variance = c(0.5, 0.6))
  found <- kernel_parameters(process(tune = "bound", prior = box)$kernel)
  expect_equal(found[["variance"]], 0.6)
  expect_true(found[["lengthscale"]] >= 2 && found[["lengthscale"]] <= 2.5)
})

test_that("at the maximum no parameter near by is better", {
  fit <- process(tune = "bound")
  best <- last_bound(process(kernel = fit$kernel, tol = 1e-9))
  found <- kernel_parameters(fit$kernel)
  for (step in c(0.8, 1.25)) {
    for (k in 1:2) {
      moved <- found
      moved[k] <- moved[k] * step
      other <- process(kernel = rbf(moved[["lengthscale"]], moved[["variance"]]), tol = 1e-9)
      expect_lt(last_bound(other), best)
    }
  }
})

test_that("an irrelevant column gets a long length-scale", {
  set.seed(4)
  noisy <- cbind(x, noise = rnorm(250))
  fit <- gpsvm(
    noisy, d$y, rbf(ard = TRUE), inducing = 30, tune = "bound", seed = 1, threads = 1, method = "vb"
  )
  ell <- fit$kernel$lengthscale
  expect_named(ell, c("x1", "x2", "noise"))
  expect_gt(ell[["noise"]], 2 * max(ell[c("x1", "x2")]))
})

test_that("the nugget is tuned if it starts above 0", {
  expect_equal(process(tune = "bound")$nugget, 0)
  start <- process(nugget = 2)
  fit <- process(nugget = 2, tune = "bound")
  expect_true(fit$nugget < 2 && fit$nugget >= 1e-6 * 0.999)
  expect_gt(last_bound(fit), last_bound(start))
})

test_that("moving the inducing points raises the bound further", {
  kernel_only <- process(tune = "bound", inducing = 6)
  both <- process(tune = "bound", optimize_inducing = TRUE, inducing = 6)
  expect_gt(last_bound(both), last_bound(kernel_only) + 0.1)
  expect_false(isTRUE(all.equal(both$inducing, kernel_only$inducing)))
  exact <- process(inducing = "all", kernel = both$kernel)
  expect_lt(last_bound(both), last_bound(exact) + 1e-3)
})

test_that("the exact process is tuned by its own bound", {
  few <- 1:90
  fit <- function(..., method = "vb", tune = FALSE) {
    flat(gpsvm)(
      x[few, ], d$y[few], inducing = "all", threads = 1, seed = 1, ..., method = method, tune = tune
    )
  }
  tuned <- fit(tune = "bound")
  expect_gt(last_bound(tuned), last_bound(fit()))
  expect_lt(abs(last_bound(tuned) - tuned$tuned$bound), 0.01)
  # By a sample of its rows, which do not become its points.
  part <- fit(tune = "bound", tune_rows = 60, optimize_inducing = TRUE)
  expect_equal(part$tuned$rows, 60)
  expect_identical(part$posterior$z, fit()$posterior$z)
  share <- kernel_parameters(part$kernel) / kernel_parameters(tuned$kernel)
  expect_true(all(share > 1 / 4 & share < 4))
})

test_that("a sample of the rows is enough, and is the same for any threads", {
  fit <- process(tune = "bound", tune_rows = 100)
  expect_equal(fit$tuned$rows, 100)
  expect_lte(last_bound(fit), last_bound(process(tune = "bound")) + 1e-3)
  again <- gpsvm(
    x, d$y, inducing = 15, tune = "bound", control = list(tune_rows = 100), seed = 1, threads = 2,
    method = "vb"
  )
  expect_identical(again$posterior, fit$posterior)
})

test_that("cross-validation picks from its grid the smallest loss", {
  few <- gpsvm(
    x[1:60, ], d$y[1:60], inducing = "all", tune = "cv", seed = 1, threads = 1, method = "vb"
  )
  for (fit in list(process(tune = "cv"), few)) {
    grid <- fit$tuned$grid
    expect_equal(dim(grid), c(20, 3))
    best <- grid[which.min(grid$log_loss), ]
    expect_equal(
      kernel_parameters(fit$kernel),
      c(variance = best$variance, lengthscale = best$lengthscale * fit$median_distance)
    )
    expect_true(all(is.finite(grid$log_loss) & grid$log_loss > 0))
    expect_lt(min(grid$log_loss), log(2))
  }
  expect_output(print(summary(fit)), "5-fold cross-validation over 20 settings")
  linear_fit <- process(kernel = linear(), tune = "cv")
  expect_equal(nrow(linear_fit$tuned$grid), 4)
})

test_that("a component of no use is named as switched off", {
  set.seed(6)
  y <- x[, 2] + rnorm(250) / 3 > 0
  fit <- gpsvm(
    x, y, linear(1e4) + rbf(1, 0.01), inducing = 15, tune = "bound", seed = 1, threads = 1,
    prior = gpsvm_prior(variance = c(1e-12, 1e4)), method = "vb"
  )
  found <- kernel_parameters(fit$kernel)
  small <- found[["rbf.variance"]] < 1e-6 * found[["linear.variance"]]
  expect_identical("rbf.variance" %in% fit$tuned$off, small)
  off <- switched_off(linear(10) + rbf(1, 1e-6))
  expect_identical(off, "rbf.variance")
  expect_match(tuning_text(list(by = "bound", rows = 9, off = off)), "off: rbf.variance")
})

test_that("many points are tuned with fewer and lie in the kernel's distance", {
  set.seed(1)
  x <- matrix(rnorm(8000), 4000, 2, dimnames = list(NULL, c("a", "b")))
  y <- sin(2 * x[, 1]) + rnorm(4000) / 2 > 0
  tuned <- gpsvm(
    x, y, rbf(ard = TRUE), inducing = 160, method = "vb", tune = "bound",
    control = list(tune_rows = 4000), threads = 2L, seed = 1
  )
  expect_identical(nrow(tuned$inducing), 160L)
  # 4000 x 160^2 is above 1e8. The same kernel, given, on one thread: the points are those of the
  # tuned fit.
  given <- gpsvm(
    x, y, tuned$kernel, inducing = 160, method = "vb", tune = FALSE, threads = 1L, seed = 1
  )
  expect_identical(given$inducing, tuned$inducing)
  # Column b says nothing: the points spread along a.
  ell <- tuned$kernel$lengthscale
  expect_gt(ell[["b"]], 4 * ell[["a"]])
  plain <- gpsvm(x, y, rbf(1), inducing = 160, method = "vb", tune = FALSE, threads = 1L, seed = 1)
  gap <- function(fit) mean(diff(sort(fit$inducing[, "a"]))^2)
  expect_lt(gap(given), gap(plain))
})

test_that("there are more points where rows left out are told better by them", {
  set.seed(1)
  x10 <- matrix(rnorm(4000), 400)
  f <- 3 * (x10[, 1] * x10[, 2] + x10[, 3] * x10[, 4] - x10[, 5] * x10[, 6])
  rough <- list(x = x10, y = factor(rbinom(400, 1, plogis(f))))
  more <- gpsvm(rough$x, rough$y, threads = 1, seed = 1)
  few <- gpsvm(rough$x, rough$y, inducing = 80, threads = 1, seed = 1)
  expect_true(more$exact)
  expect_equal(nrow(few$inducing), 80)
  expect_equal(more$tuned$fewer, 80)
  expect_identical(more$kernel, few$kernel)
  expect_gt(more$tuned$bound, few$tuned$bound + worth_of_points)
  # The score is that of the fit.
  expect_lt(abs(more$tuned$bound + more$link$by_variance), 0.05)
  expect_output(print(more), "better by leave-one-out than 80")
  # Where they are not there are none, nor where nobody asked.
  smooth <- factor(rbinom(400, 1, plogis(2 * x10[, 1])))
  fit <- gpsvm(x10, smooth, threads = 1, seed = 1)
  expect_equal(nrow(fit$inducing), 80)
  expect_null(fit$tuned$fewer)
  expect_equal(nrow(gpsvm(rough$x, rough$y, tune = FALSE)$inducing), 80)
  # As many as a pass has time for.
  expect_equal(more_points(1000, 1), 1000)
  expect_equal(more_points(1001, 1), 499)
  expect_equal(more_points(500, 26), 138)
  expect_lt(more_points(1e5, 1), 100)
})

test_that("of few rows the kernel does not hang on their order", {
  # Two basins: with 50 points the length-scale is 0.99 or 0.46, as the rows lie.
  d <- MASS::synth.tr
  set.seed(103)
  order <- sample(250)
  one <- gpsvm(d[1:2], factor(d$yc), threads = 1, seed = 1)
  two <- gpsvm(d[order, 1:2], factor(d$yc[order]), threads = 1, seed = 1)
  expect_true(one$exact)
  expect_null(one$tuned$fewer)
  expect_equal(two$kernel$lengthscale, one$kernel$lengthscale, tolerance = 0.05)
  expect_equal(
    predict(two, MASS::synth.te[1:100, 1:2], type = "prob"),
    predict(one, MASS::synth.te[1:100, 1:2], type = "prob"), tolerance = 0.02
  )
  # One row more, or points that somebody asked for.
  expect_equal(nrow(gpsvm(d[1:2], factor(d$yc), inducing = 50, threads = 1, seed = 1)$inducing), 50)
  expect_false(gpsvm(d[c(1:250, 1), 1:2], factor(d$yc[c(1:250, 1)]), threads = 1, seed = 1)$exact)
})

test_that("with every row an inducing point tuning looks at all of them", {
  set.seed(3)
  x <- matrix(rnorm(2000), 500)
  f <- 4 * cbind(sin(2 * x[, 1]), x[, 2], cos(2 * x[, 1]), -x[, 2], x[, 3])
  y <- factor(apply(f - log(-log(matrix(runif(2500), 500))), 1, which.max))
  own <- 1:250
  fit_of <- function(...) gpsvm(x[own, ], y[own], ..., threads = 1, seed = 1)
  # Five machines are not tuned with all from the start, unless somebody asks for it.
  fit <- fit_of(inducing = "all")
  expect_true(fit$exact)
  expect_identical(fit$tuned$by, "loo")
  expect_identical(fit$tuned$rows, 250L)
  loss <- function(fit) {
    p <- predict(fit, x[-own, ], type = "prob")
    -mean(log(p[cbind(seq_len(250), match(y[-own], colnames(p)))]))
  }
  expect_lt(loss(fit), loss(fit_of()) + 0.005)
  skip_if_not(identical(Sys.getenv("BAYESKERNEL_SLOW"), "true"), "BAYESKERNEL_SLOW is not true")
  slow <- fit_of(inducing = "all", tune = "loo")
  expect_lt(fit$tuned$log_loss, slow$tuned$log_loss + 5e-3)
  expect_lt(loss(fit), loss(slow) + 0.01)
})

test_that("of many classes the kernel is chosen by as many rows as are quick", {
  set.seed(1)
  y <- factor(rep(1:20, 30))
  x <- cbind(cos(as.integer(y) / 3), sin(as.integer(y) / 3)) + rnorm(1200, sd = 0.03)
  fit <- gpsvm(x, y, threads = 1, seed = 1)
  expect_identical(fit$tuned$by, "loo")
  expect_identical(fit$tuned$rows, 350L)
  expect_lt(mean(predict(fit) != y), 0.05)
  expect_warning(gpsvm(x, y, tune = FALSE, threads = 1, seed = 1), "kernel by tune = TRUE")
})

test_that("a step that has become tiny does not end the search", {
  set.seed(1)
  d <- data.frame(matrix(rnorm(7200), ncol = 8))
  d$class <- cut(d$X1^2 + d$X2^2, c(0, 0.6, 2.2, Inf), labels = c("a", "b", "c"))
  fit <- gpsvm(class ~ ., d[1:400, ], seed = 1, threads = 1)
  expect_lt(mean(predict(fit, d[401:900, ]) != d$class[401:900]), 0.25)
})
