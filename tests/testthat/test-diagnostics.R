# The package posterior is the reference, to 1e-8.
expect_like_posterior <- function(x) {
  expect_s3_class(found <- convergence_table(array(x, c(dim(x), 1))), "data.frame")
  # posterior warns where it caps an effective sample size.
  reference <- suppressWarnings(list(
    rhat = posterior::rhat(x), ess_bulk = posterior::ess_bulk(x),
    ess_tail = posterior::ess_tail(x), mcse_mean = posterior::mcse_mean(x)
  ))
  for (name in names(reference)) {
    expect_equal(found[[name]], reference[[name]], tolerance = 1e-8, info = name)
  }
}

test_that("diagnostics equal those of posterior on mixing chains", {
  skip_if_not_installed("posterior")
  set.seed(1)
  for (chains in c(1, 2, 4)) {
    for (iterations in c(10, 11, 100, 1001)) {
      for (rho in c(-0.9, -0.3, 0, 0.5, 0.95)) {
        expect_like_posterior(autoregression(iterations, chains, rho))
      }
    }
  }
})

test_that("they do on chains that wander or disagree", {
  skip_if_not_installed("posterior")
  set.seed(2)
  walk <- apply(matrix(rnorm(2000), 500), 2, cumsum)
  expect_like_posterior(walk)
  noise <- matrix(rnorm(2000), 500)
  expect_like_posterior(sweep(noise, 2, 1:4, "+"))
  expect_like_posterior(sweep(noise, 2, 1:4, "*"))
  expect_like_posterior(noise * 1e-6 + 1e3)
  expect_like_posterior(matrix(rcauchy(2000), 500))
})

test_that("they do with ties", {
  skip_if_not_installed("posterior")
  set.seed(3)
  expect_like_posterior(matrix(rpois(800, 1), 200))
  expect_like_posterior(matrix(rbinom(800, 1, 0.5), 200))
  expect_like_posterior(matrix(rbinom(800, 1, 0.02), 200))
})

test_that("chains that are constant but differ have a huge R-hat", {
  apart <- array(rep(1:4, each = 200), c(200, 4, 1))
  expect_gt(convergence_table(apart)$rhat, 1e6)
})

test_that("they do for few iterations", {
  skip_if_not_installed("posterior")
  set.seed(4)
  for (iterations in 4:9) {
    for (chains in c(1, 3)) expect_like_posterior(matrix(rnorm(iterations * chains), iterations))
  }
})

test_that("fewer than four iterations have no diagnostics", {
  for (iterations in 1:3) {
    draws <- array(rnorm(3 * iterations), c(iterations, 3, 1))
    found <- convergence_table(draws)
    expect_identical(unlist(found[-1], use.names = FALSE), rep(NA_real_, 4))
  }
})

test_that("constant and non-finite draws have no diagnostics", {
  set.seed(5)
  draws <- array(rnorm(400 * 4), c(100, 4, 4))
  draws[, , 1] <- 3
  draws[7, 2, 2] <- NA
  draws[7, 2, 3] <- Inf
  found <- convergence_table(draws)
  for (v in 1:3) expect_identical(unlist(found[v, -1], use.names = FALSE), rep(NA_real_, 4))
  expect_true(all(is.finite(unlist(found[4, -1]))))
  skip_if_not_installed("posterior")
  # An infinite draw too gives NA, as the pages of posterior say; its version 1.4 ranks it.
  for (v in c(1, 2, 4)) expect_like_posterior(draws[, , v])
})

test_that("one row a variable, by name and in order", {
  set.seed(6)
  draws <- array(rnorm(600), c(100, 2, 3), list(NULL, NULL, c("x", "y", "z")))
  found <- convergence_table(draws)
  expect_identical(found$variable, c("x", "y", "z"))
  alone <- convergence_table(draws[, , 2, drop = FALSE])
  expect_identical(unlist(found[2, -1]), unlist(alone[1, -1]))
  expect_identical(nrow(convergence_table(draws[, , 0, drop = FALSE])), 0L)
})

test_that("good chains raise no warning, bad ones a single one", {
  set.seed(7)
  good <- array(rnorm(4000), c(500, 4, 2), list(NULL, NULL, c("x", "y")))
  expect_no_warning_of <- function(draws) {
    expect_warning(warned <- warn_convergence(convergence_table(draws)), NA)
    expect_false(warned)
  }
  expect_no_warning_of(good)
  good[, , 2] <- 1
  expect_no_warning_of(good)
  apart <- good
  apart[, 1, 1] <- apart[, 1, 1] + 3
  expect_bk_warning(warn_convergence(convergence_table(apart)), "convergence", "R-hat.*\\(x\\)")
  few <- good[1:15, , ]
  condition <- tryCatch(warn_convergence(convergence_table(few)), warning = identity)
  expect_match(conditionMessage(condition), "effective sample size")
  expect_identical(condition$variables, "x")
})
