# The run of bark() whose length nobody said, what it says of chains that disagree, and what a user
# sees on the way.

d <- bark_data()
warnings_of <- function(code) {
  found <- list()
  value <- withCallingHandlers(code, warning = function(w) {
    found <<- c(found, list(w))
    invokeRestart("muffleWarning")
  })
  list(value = value, warnings = found)
}
short_rounds <- function(..., until = stop_at(rhat = 1 + 1e-9, sweeps = 1600)) {
  flat(bark)(
    y ~ a + b, d, ..., warmup = 200, ndraws = 100, thin = 2, chains = 2, seed = 4, threads = 1,
    until = until
  )
}

test_that("chains that disagree are measured in units of the posterior", {
  fit <- quick_bark(y ~ a + g, d, warmup = 0, thin = 1, ndraws = 20, chains = 3)
  expect_gt(max(fit$diagnostics$table$rhat, na.rm = TRUE), 1.05)
  # Every draw's f in plain R: its mean and its variance at the rows.
  x <- fit$posterior$x
  plain <- plain_bark_moments(fit, x, x)
  chain <- rep(1:3, each = 20)
  by_chain <- function(f) vapply(1:3, function(k) f(chain == k), numeric(60))
  means <- by_chain(function(own) colMeans(plain$mean[own, ]))
  spread <- by_chain(function(own) {
    colMeans(plain$var[own, ]) + apply(plain$mean[own, ], 2, var) * 19 / 20
  })
  ratio <- apply(means, 1, sd) / sqrt(rowMeans(spread))
  expect_equal(fit$diagnostics$apart$size, unname(quantile(ratio, c(0.5, 0.9))), tolerance = 1e-6)
  # Of their average: over its own standard deviation, which has what is between them, too.
  whole <- rowMeans(spread + (means - rowMeans(means))^2)
  error <- apply(means, 1, sd) / sqrt(3 * whole)
  expect_equal(fit$diagnostics$apart$error, median(error), tolerance = 1e-6)
  # Chains that agree have nothing of the kind.
  one <- quick_bark(y ~ a + g, d, chains = 1)
  expect_null(one$diagnostics$apart)
})

test_that("one warning says what disagreement means for predictions", {
  run <- warnings_of(short_rounds(progress = FALSE))
  expect_length(run$warnings, 1L)
  expect_s3_class(run$warnings[[1]], "bayeskernel_warning_convergence")
  text <- conditionMessage(run$warnings[[1]])
  if (max(run$value$diagnostics$table$rhat, na.rm = TRUE) > 1.05) {
    expect_match(text, "of +a +posterior sd")
    expect_match(paste(capture.output(print(run$value)), collapse = " "), "of +a +posterior sd")
  }
  expect_match(text, "until = stop_at\\(rhat = 1, sweeps = 6400\\)")
})

test_that("each round is a line, true of what was done and what is left", {
  lines <- character()
  run <- warnings_of(withCallingHandlers(
    short_rounds(progress = TRUE),
    message = function(m) {
      lines <<- c(lines, conditionMessage(m))
      invokeRestart("muffleMessage")
    }
  ))
  expect_length(lines, 3L)
  expect_match(lines[1], "round 1, 400 of at most 1600 sweeps a chain, R-hat ")
  expect_match(lines[2], "round 2, 800 of at most 1600")
  expect_match(lines[1], "at most [0-9.]+ s more")
  expect_match(lines[3], "round 3, 1600 of at most 1600.*the cap")
  last <- sprintf("R-hat %.3f", max(run$value$diagnostics$table$rhat, na.rm = TRUE))
  expect_match(lines[3], last, fixed = TRUE)
  expect_silent(warnings_of(short_rounds(progress = FALSE)))
})

test_that("an interrupt of a round is one warning, and the one before stays", {
  real <- bark_fit_cpp
  # Of the second round `kept` draws are there when the interrupt comes.
  interrupted <- function(kept) {
    calls <- 0
    replace <- function(by) utils::assignInNamespace("bark_fit_cpp", by, "bayeskernel")
    on.exit(replace(real))
    replace(function(data, prior, settings) {
      calls <<- calls + 1
      core <- real(data, prior, settings)
      if (calls == 2) {
        core$status$interrupted <- TRUE
        core$status$kept <- kept
      }
      core
    })
    warnings_of(short_rounds(progress = FALSE, on_interrupt = "keep"))
  }
  first <- warnings_of(short_rounds(progress = FALSE, until = stop_at(rhat = 1e6)))$value
  for (kept in c(0, 10)) {
    run <- interrupted(kept)
    expect_length(run$warnings, 1L)
    expect_s3_class(run$warnings[[1]], "bayeskernel_warning_interrupt")
    expect_identical(run$value$draws, first$draws)
    expect_true(run$value$diagnostics$interrupted)
  }
  run <- interrupted(70)
  expect_length(run$warnings, 1L)
  expect_match(conditionMessage(run$warnings[[1]]), "70 of 100 draws")
  expect_equal(dim(run$value$draws)[1], 70)
})

test_that("chains of many rows begin where chains of a part of them ended", {
  set.seed(2)
  n <- 1600
  x <- cbind(a = runif(n), b = rnorm(n))
  y <- sin(4 * x[, 1]) + rnorm(n) / 5
  part <- c(3, 10, 700, 1600)
  own <- x[part, ]
  # Places in the part are the same rows, and the same scales, among all.
  at <- c(0, 1, 4, 5, 8)
  state <- state_of_all(list(location = at, sweep = 9), part, n)
  lambda <- c(2, 0.5, 0.1, 3)
  expect_equal(plain_columns(x, x, state$location, lambda), plain_columns(x, own, at, lambda))
  expect_identical(state$sweep, 0)
  # The same rows in whatever order they come.
  rows <- part_of_rows(list(x = x, y = y))
  back <- n:1
  expect_length(rows, 500L)
  expect_setequal(back[part_of_rows(list(x = x[back, ], y = y[back]))], rows)
  fit <- function(..., ndraws = 10) quick_bark(x, y, ndraws = ndraws, warmup = 50, thin = 1, ...)
  one <- fit()
  expect_identical(fit(threads = 2)$draws, one$draws)
  # After so few sweeps of all rows only a good start has the noise right.
  expect_lt(max(abs(one$draws[, , "sigma"] - 0.2)), 0.03)
  more <- fit(resume = one, ndraws = 15)
  expect_identical(more$draws[1:10, , ], one$draws[, , ])
})
