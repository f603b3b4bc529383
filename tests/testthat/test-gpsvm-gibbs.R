# The sampler of the nonlinear machine against sums over a grid.

slow <- identical(Sys.getenv("BAYESKERNEL_SLOW"), "true")

sample_process <- function(x, y, kernel, ..., tune = FALSE) {
  flat(gpsvm)(
    x, y, kernel, method = "gibbs", standardize = FALSE, chains = 4, warmup = 200,
    ndraws = if (slow) 40000 else 6000, seed = 4, threads = 1, progress = FALSE, ..., tune = tune
  )
}

expect_grid <- function(fit, grid) {
  ours <- batch_summary(unclass(fit$draws))
  expect_lt(max(abs(ours$mean - grid$mean) / ours$mcse_mean), 4)
  expect_lt(max(abs(ours$sd - grid$sd) / ours$mcse_sd), 4)
}

test_that("two and three rows, with and without nugget", {
  x <- matrix(c(-0.4, 0.7, 1.6), dimnames = list(NULL, "a"))
  y <- c(1, -1, -1)
  for (rows in list(1:2, 1:3)) {
    for (variance in if (length(rows) == 2 || slow) c(0.7, 5) else 2) {
      k <- kernel_matrix(rbf(1, variance), x[rows, , drop = FALSE], threads = 1)
      for (nugget in c(0, 0.8)) {
        fit <- sample_process(
          x[rows, , drop = FALSE], y[rows], rbf(1, variance), inducing = "all", nugget = nugget
        )
        grid <- process_grid(k, y[rows], nugget)
        expect_grid(fit, grid)
        # What is said of the rows is of f = g + e for an e of its own.
        expect_equal(
          fit$fitted$var, unname(apply(unclass(fit$draws), 3, \(f) stats::var(c(f)))) + nugget,
          tolerance = 1e-4
        )
      }
    }
  }
})

test_that("weights are powers of the likelihood", {
  x <- matrix(c(-0.4, 0.7), dimnames = list(NULL, "a"))
  fit <- sample_process(x[c(1, 2, 2), , drop = FALSE], c(1, -1, -1), rbf(1), inducing = x)
  # Weight 2 is the row twice, here and in the grid.
  grid <- process_grid(kernel_matrix(rbf(1), x, threads = 1), c(1, -1), 0)
  expect_gt(abs(mean(fit$draws[, , 2]) - grid$mean[2]), 0.1)
  weighted <- sample_process(x, c(1, -1), rbf(1), inducing = "all", weights = c(1, 2))
  a <- batch_summary(unclass(fit$draws))
  b <- batch_summary(unclass(weighted$draws))
  expect_lt(max(abs(a$mean - b$mean) / sqrt(a$mcse_mean^2 + b$mcse_mean^2)), 4)
  expect_lt(max(abs(a$sd - b$sd) / sqrt(a$mcse_sd^2 + b$mcse_sd^2)), 4)
})

test_that("the sampler and variational Bayes agree in the mean", {
  d <- curved_data(80)
  fit <- function(..., method = "vb", tune = FALSE) {
    flat(gpsvm)(
      y ~ x1 + x2, d, inducing = 12, nugget = 0.1, seed = 1, threads = 1, progress = FALSE, ...,
      method = method, tune = tune
    )
  }
  vb <- fit()
  mcmc <- fit(method = "gibbs", ndraws = 1000, warmup = 200)
  a <- predict(vb, d, type = "link", se.fit = TRUE)
  b <- predict(mcmc, d, type = "link", se.fit = TRUE)
  expect_gt(cor(a$fit, b$fit), 0.995)
  share <- mean(a$se.fit / b$se.fit)
  expect_true(share > 0.6 && share < 1)
  expect_lt(mcmc$diagnostics$table$rhat |> max(), 1.05)
})

test_that("draws do not depend on threads, and chains have their own", {
  d <- curved_data(100)
  draw <- function(..., tune = FALSE, seed = 1) {
    suppressWarnings(flat(gpsvm)(
      y ~ x1 + x2, d, inducing = 15, method = "gibbs", ndraws = 20, warmup = 5, seed = seed,
      progress = FALSE, ..., tune = tune
    ), classes = "bayeskernel_warning_convergence")$draws
  }
  one <- draw(threads = 1, chains = 3)
  expect_identical(dim(one), c(20L, 3L, 15L))
  expect_identical(draw(threads = 2, chains = 3), one)
  expect_identical(draw(threads = 4, chains = 3), one)
  expect_identical(draw(threads = 1, chains = 1), one[, 1, , drop = FALSE])
  expect_false(any(one[, 1, ] == one[, 2, ]))
  expect_false(any(draw(threads = 1, chains = 3, seed = 2) == one))
})

test_that("an interrupted sampler stops, or keeps what it has", {
  for (choice in c("keep", if (slow) "stop")) {
    out <- interrupted_work(function(ready, choice, d) {
      sample <- function(ndraws) {
        gpsvm(
          y ~ x1 + x2, d, method = "gibbs", inducing = 10,
          control = list(warmup = 20, progress = FALSE, on_interrupt = choice), ndraws = ndraws,
          seed = 1, chains = 2, threads = 1, tune = FALSE
        )
      }
      # Loading and compiling of R code is over before the interrupt comes.
      for (repetition in 1:3) sample(10)
      ready()
      sample(5e5)
    }, list(choice, curved_data(20)), after = 0.5)$fit
    if (choice == "stop") {
      expect_identical(out, "interrupted")
    } else {
      expect_s3_class(out, "gpsvm")
      expect_true(out$diagnostics$interrupted)
      expect_true(nrow(out$draws) > 10 && nrow(out$draws) < 5e5)
      expect_false(anyNA(fitted(out)))
    }
  }
})
