# Runs that go on until their chains agree.

air <- stats::na.omit(airquality)
rounds <- function(..., warmup = 200, draws = 100, thin = 2, chains = 2,
                   seed = 4, threads = 1) {
  bark(
    Ozone ~ Wind + Temp, air, ...,
    warmup = warmup, draws = draws, thin = thin, chains = chains, seed = seed,
    threads = threads, progress = FALSE
  )
}

test_that("bark() by default agrees on a smooth function, and says so", {
  expect_identical(formals(bark.default)$until, "auto")
  expect_identical(formals(bark.formula)$until, "auto")
  # Of one round, whose length is said, nothing is promised.
  expect_null(suppressWarnings(rounds())$diagnostics$until)
  skip_on_cran()
  set.seed(1)
  x <- matrix(runif(400), 100)
  f <- 3 * x[, 1] + sin(4 * x[, 2])
  expect_no_warning(
    fit <- bark(x, f + rnorm(100, 0, 0.3), seed = 1, progress = FALSE)
  )
  expect_lte(max(rhat(fit)), 1.05)
  expect_match(
    capture.output(print(fit)), "The chains agree: R-hat at most 1.05",
    all = FALSE
  )
  expect_lt(sqrt(mean((predict(fit) - f)^2)), 0.15)
})

test_that("a run stops as soon as its chains are good enough", {
  # Anything is: the first round.
  expect_no_warning(one <- rounds(until = rhat(1e6)))
  expect_identical(one$draws, suppressWarnings(rounds())$draws)
  expect_true(one$diagnostics$until$reached)
  expect_match(capture.output(print(one)), "The chains agree", all = FALSE)
  expect_no_warning(more <- rounds(until = ess(20, sweeps = 1e7)))
  expect_gte(min(ess(more), na.rm = TRUE), 20)
  expect_identical(dim(more$draws), dim(one$draws))
  # The second half of all sweeps is kept.
  sweeps <- more$diagnostics$sweeps
  expect_gt(sweeps, 400)
  expect_equal(more$sampler$warmup, sweeps / 2)
  expect_equal(more$sampler$thin, sweeps / 200)
  expect_equal(
    sort(unique(more$diagnostics$table$variable)), sort(names(rhat(more)))
  )
})

test_that("rounds are one run of fixed length, whatever the threads", {
  more <- suppressWarnings(rounds(until = rhat(1 + 1e-9, sweeps = 1600)))
  expect_equal(more$diagnostics$sweeps, 1600)
  expect_identical(
    suppressWarnings(
      rounds(until = rhat(1 + 1e-9, sweeps = 1600), threads = 2)
    )$draws,
    more$draws
  )
  on <- suppressWarnings(
    rounds(until = NULL, start = more, draws = 120)
  )
  expect_identical(on$draws[1:100, , ], more$draws[, , ])
  expect_equal(on$diagnostics$sweeps, 1600 + 20 * 8)
})

test_that("the cap warns once and says how to go on", {
  expect_warning(
    capped <- rounds(until = ess(190, sweeps = 900)), "sweeps = 3200",
    class = "bayeskernel_warning_convergence"
  )
  expect_equal(capped$diagnostics$sweeps, 800)
  expect_match(
    capture.output(print(capped)), "do NOT yet agree: effective", all = FALSE
  )
  expect_warning(
    short <- rounds(until = rhat(1 + 1e-9, seconds = 1e-6)),
    class = "bayeskernel_warning_convergence"
  )
  expect_equal(short$diagnostics$sweeps, 400)
})

test_that("other samplers take it, and variational fits do not mind", {
  d <- data.frame(x = sin(1:80), y = rep(0:1, 40))
  fit <- bsvm(
    y ~ x, d, method = "gibbs", warmup = 50, draws = 50, chains = 2, seed = 1,
    until = ess(70, sweeps = 1e5), progress = FALSE
  )
  expect_gte(min(ess(fit), na.rm = TRUE), 70)
  expect_identical(dim(fit$draws)[1], 50L)
  expect_null(bsvm(y ~ x, d, method = "vb")$diagnostics$until)
})

test_that("what is no stopping rule is refused", {
  for (wrong in list(1.01, NA, "rhat", TRUE, list())) {
    expect_error(
      rounds(until = wrong), "`until`", class = "bayeskernel_error_argument"
    )
  }
  for (wrong in list(1, 0, NA, "a", c(1.1, 1.2), NULL)) {
    expect_error(rhat(wrong), class = "bayeskernel_error_argument")
  }
  expect_error(
    rounds(until = ess(201)), "at most 200",
    class = "bayeskernel_error_argument"
  )
  expect_error(ess(0), class = "bayeskernel_error_argument")
  expect_error(rhat(sweeps = 0), class = "bayeskernel_error_argument")
  expect_error(rhat(seconds = -1), class = "bayeskernel_error_argument")
  expect_error(
    rhat(bsvm(am ~ wt, mtcars, method = "vb")), "no chains",
    class = "bayeskernel_error_argument"
  )
})
