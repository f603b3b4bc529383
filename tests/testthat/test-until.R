# Runs that go on until their chains agree.

air <- stats::na.omit(airquality)
rounds <- function(..., warmup = 200, ndraws = 100, thin = 2, chains = 2, seed = 4, threads = 1) {
  flat(bark)(
    Ozone ~ Wind + Temp, air, ..., warmup = warmup, ndraws = ndraws, thin = thin, chains = chains,
    seed = seed, threads = threads, progress = FALSE
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
    fit <- bark(x, f + rnorm(100, 0, 0.3), seed = 1, control = list(progress = FALSE))
  )
  expect_lte(max(fit$diagnostics$table$rhat), 1.05)
  said <- "The chains agree: the goal, R-hat at most 1.05, is reached after [0-9]+ sweeps"
  expect_match(paste(capture.output(print(fit)), collapse = " "), said)
  expect_match(capture.output(print(fit)), "draws, warmup [0-9]+: largest R-hat 1.0", all = FALSE)
  expect_lt(sqrt(mean((predict(fit) - f)^2)), 0.15)
})

test_that("a run stops as soon as its chains are good enough", {
  # Anything is: the first round.
  expect_no_warning(one <- rounds(until = stop_at(rhat = 1e6)))
  expect_identical(one$draws, suppressWarnings(rounds())$draws)
  expect_true(one$diagnostics$until$reached)
  expect_match(capture.output(print(one)), "The chains agree", all = FALSE)
  expect_no_warning(more <- rounds(until = stop_at(ess = 20, sweeps = 1e7)))
  expect_gte(min(smaller_ess(more$diagnostics$table), na.rm = TRUE), 20)
  expect_identical(dim(more$draws), dim(one$draws))
  # The second half of all sweeps is kept.
  sweeps <- more$diagnostics$sweeps
  expect_gt(sweeps, 400)
  expect_equal(more$sampler$warmup, sweeps / 2)
  expect_equal(more$sampler$thin, sweeps / 200)
  expect_equal(sum(!is.na(more$diagnostics$table$rhat)) > 0, TRUE)
})

test_that("rounds are one run of fixed length, whatever the threads", {
  more <- suppressWarnings(rounds(until = stop_at(rhat = 1 + 1e-9, sweeps = 1600)))
  expect_equal(more$diagnostics$sweeps, 1600)
  expect_identical(
    suppressWarnings(rounds(until = stop_at(rhat = 1 + 1e-9, sweeps = 1600), threads = 2))$draws,
    more$draws
  )
  on <- suppressWarnings(rounds(until = NULL, resume = more, ndraws = 120))
  expect_identical(on$draws[1:100, , ], more$draws[, , ])
  expect_equal(on$diagnostics$sweeps, 1600 + 20 * 8)
})

test_that("the cap warns once and says how to go on", {
  expect_warning(
    capped <- rounds(until = stop_at(ess = 190, sweeps = 900)), "sweeps = 3200",
    class = "bayeskernel_warning_convergence"
  )
  expect_equal(capped$diagnostics$sweeps, 800)
  expect_match(capture.output(print(capped)), "do NOT yet agree: the goal, effective", all = FALSE)
  expect_warning(
    short <- rounds(until = stop_at(rhat = 1 + 1e-9, seconds = 1e-6)),
    class = "bayeskernel_warning_convergence"
  )
  expect_equal(short$diagnostics$sweeps, 400)
})

test_that("other samplers take it, and variational fits do not mind", {
  d <- data.frame(x = sin(1:80), y = rep(0:1, 40))
  fit <- bsvm(
    y ~ x, d, method = "gibbs", control = list(warmup = 50, progress = FALSE), ndraws = 50,
      chains = 2, seed = 1,
    until = stop_at(ess = 70, sweeps = 1e5)
  )
  expect_gte(min(smaller_ess(fit$diagnostics$table), na.rm = TRUE), 70)
  expect_identical(dim(fit$draws)[1], 50L)
  expect_null(bsvm(y ~ x, d, method = "vb")$diagnostics$until)
})

test_that("what is no stopping rule is refused", {
  for (wrong in list(1.01, NA, "rhat", TRUE, list())) {
    expect_error(rounds(until = wrong), "`until`", class = "bayeskernel_error_argument")
  }
  for (wrong in list(1, 0, NA, "a", c(1.1, 1.2))) {
    expect_error(stop_at(rhat = wrong), class = "bayeskernel_error_argument")
  }
  expect_error(
    rounds(until = stop_at(ess = 201)), "at most 200", class = "bayeskernel_error_argument"
  )
  expect_error(stop_at(ess = 0), class = "bayeskernel_error_argument")
  expect_error(stop_at(), "neither", class = "bayeskernel_error_argument")
  expect_error(stop_at(rhat = 1.01, sweeps = 0), class = "bayeskernel_error_argument")
  expect_error(stop_at(rhat = 1.01, seconds = -1), class = "bayeskernel_error_argument")
})

test_that("of two goals both have to be reached", {
  table <- data.frame(rhat = c(1.01, NA), ess_bulk = 50, ess_tail = c(80, 40))
  reached <- function(...) until_reached(stop_at(...), table)
  expect_true(reached(rhat = 1.02))
  expect_false(reached(rhat = 1.005))
  expect_true(reached(ess = 40))
  expect_true(reached(rhat = 1.02, ess = 40))
  expect_false(reached(rhat = 1.02, ess = 41))
  expect_false(reached(rhat = 1.005, ess = 40))
})

test_that("generics of posterior and bayesplot have the numbers of a fit", {
  skip_if_not_installed("posterior")
  skip_if_not_installed("bayesplot")
  d <- data.frame(x = sin(1:60), y = rep(0:1, 30))
  fit <- suppressWarnings(bsvm(
    y ~ x, d, method = "gibbs", control = list(warmup = 50, progress = FALSE), ndraws = 50,
      chains = 2, seed = 1
  ))
  own <- posterior::summarise_draws(posterior::as_draws(fit), "rhat", "ess_bulk", "ess_tail")
  at <- names(posterior::rhat(fit))
  own <- lapply(own[match(at, own$variable), -1], as.double)
  expect_gt(length(at), 1)
  expect_equal(unname(posterior::rhat(fit)), own$rhat)
  expect_equal(unname(posterior::ess_bulk(fit)), own$ess_bulk)
  expect_equal(unname(posterior::ess_tail(fit)), own$ess_tail)
  expect_equal(bayesplot::rhat(fit), posterior::rhat(fit))
  expect_equal(unname(bayesplot::neff_ratio(fit)), pmin(own$ess_bulk, own$ess_tail) / 100)
  expect_error(
    posterior::rhat(bsvm(am ~ wt, mtcars, method = "vb")), "no chains",
    class = "bayeskernel_error_argument"
  )
})

test_that("no function of ours hides one of posterior", {
  skip_if_not_installed("posterior")
  ours <- getNamespaceExports("bayeskernel")
  expect_false(any(c("rhat", "ess_bulk", "ess_tail", "ess") %in% ours))
})
