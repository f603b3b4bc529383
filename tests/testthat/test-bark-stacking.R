# Chains that disagree, weighted by the densities of rows that are left out.

d <- bark_data()
d$w <- rep_len(c(0.5, 1, 2), 60)
apart <- function(...) quick_bark(..., warmup = 0, thin = 1, ndraws = 20, chains = 4)
stacked <- apart(y ~ a + g, d, chain_weights = "stacking")

# The second chain becomes one of a fit to another response.
with_bad_chain <- function(good, bad) {
  good$draws[, 2, ] <- bad$draws[, 2, ]
  good$posterior$kernels[[2]] <- bad$posterior$kernels[[2]]
  good$diagnostics$table <- convergence_table(watched_draws(bark_model, good$draws))
  good
}

test_that("a row's density without it is the conditional one", {
  fit <- quick_bark(y ~ a + g, d, weights = w)
  take <- c(1, 40, 80)
  found <- left_out_densities(fit, take, 1L)
  to_data <- fit$transform$response
  y <- (d$y - to_data[1]) / to_data[2]
  for (k in seq_along(take)) {
    core <- bark_core_draws(fit, take[k])
    x <- fit$posterior$x
    columns <- plain_columns(x, x, core$kernels$location, core$lambda[1, ])
    joint <- columns %*% (core$kernels$variance * t(columns)) + diag(1 / (core$phi * d$w))
    for (i in c(1, 17, 60)) {
      pull <- solve(joint[-i, -i], joint[-i, i])
      expect_equal(found[k, i], stats::dnorm(
        y[i], sum(pull * y[-i]), sqrt(joint[i, i] - sum(pull * joint[-i, i])), TRUE
      ) - log(to_data[2]), tolerance = 1e-5)
    }
  }
})

test_that("the score is near that of fits without the row", {
  rows <- 1:30
  few <- d[rows, ]
  # The scales of the whole set, as the response is standardised.
  long <- function(rows) {
    quick_bark(y ~ a, few[rows, ], chains = 1, ndraws = 1000, warmup = 5000, thin = 20)
  }
  fit <- long(rows)
  score <- drop(chain_scores(fit, 1L))
  again <- vapply(c(3, 11, 20), function(i) {
    other <- long(-i)
    p <- exp(rstantools::log_lik(other, few[i, ], seed = 1))
    log(mean(p))
  }, 0)
  expect_lt(max(abs(score[c(3, 11, 20)] - again)), 0.3)
})

test_that("the score of a row is that of truncated importance weights", {
  set.seed(2)
  log_p <- matrix(stats::rnorm(200, -1, 2), 50)
  plain <- apply(exp(log_p), 2, function(p) {
    w <- pmin(1 / p, sqrt(50) * mean(1 / p))
    log(sum(w * p) / sum(w))
  })
  expect_equal(held_out_score(log_p), plain)
  # Of an outlier to some draws, whose densities are 0 in doubles.
  far <- cbind(c(-5000, -1, -2, -1e9))
  expect_equal(held_out_score(far), log(7) - 1e9, tolerance = 1e-12)
  expect_true(all(is.finite(stacked_weights(cbind(far, -1)))))
})

test_that("stacking is the mixture with the largest log score, each chain with a row more", {
  set.seed(2)
  scores <- cbind(
    dnorm(rnorm(50), 0, 1, TRUE), dnorm(rnorm(50), 0.2, 2, TRUE), dnorm(rnorm(50, 3), 0, 1, TRUE)
  )
  score <- function(w) sum(log(drop(exp(scores) %*% w))) + sum(log(w))
  w <- stacked_weights(scores)
  expect_equal(sum(w), 1)
  expect_true(all(w > 0))
  # No other mixture of a fine grid is better, and a near one hardly worse.
  grid <- expand.grid(a = seq(0.005, 0.985, 0.01), b = seq(0.005, 0.985, 0.01))
  grid <- as.matrix(grid[grid$a + grid$b < 0.999, ])
  all <- apply(cbind(grid, 1 - rowSums(grid)), 1, score)
  expect_gte(score(w), max(all))
  expect_lt(score(w) - max(all), 0.05)
  # Its own vertex, far densities, copies of one column.
  expect_equal(stacked_weights(cbind(rep(0, 9), rep(-800, 9))), c(10, 1) / 11)
  expect_equal(stacked_weights(cbind(1:9, 1:9)), c(0.5, 0.5))
  # Of many rows the row more is nothing.
  many <- stacked_weights(scores[rep(1:50, 200), ])
  expect_equal(many, as.vector(loo::stacking_weights(scores)), tolerance = 3e-2)
})

test_that("rows of draws are as many as weights say", {
  object <- list(draws = array(0, c(10, 3, 1)), chain_weights = c(0.5, 0.5, 0))
  rows <- weighted_rows(object)
  expect_length(rows, 30)
  expect_equal(tabulate(ceiling(rows / 10), 3), c(15, 15, 0))
  expect_true(all(tabulate(rows, 20) %in% 1:2))
  object$chain_weights <- rep(1 / 3, 3)
  expect_null(weighted_rows(object))
  expect_null(taken_draws(object, NULL))
  object$chain_weights <- c(1 / 3 + 1e-5, 1 / 3, 1 / 3 - 1e-5)
  expect_equal(weighted_rows(object), 1:30)
})

test_that("chains that disagree are weighted, and it is said", {
  equal <- apart(y ~ a + g, d)
  expect_null(equal$chain_weights)
  expect_identical(stacked$draws, equal$draws)
  expect_gt(max(stacked$diagnostics$table$rhat, na.rm = TRUE), 1.05)
  w <- stacked$chain_weights
  expect_length(w, 4L)
  expect_equal(sum(w), 1)
  expect_gt(max(w), 0.3)
  for (shown in list(stacked, summary(stacked))) {
    text <- capture.output(shown)
    expect_match(text, "Chains: .*disagree.*stacking", all = FALSE)
  }
  scores <- chain_scores(equal, 1L)
  mixed <- function(w) sum(log(exp(scores) %*% w))
  expect_gt(mixed(w), mixed(rep(0.25, 4)))
  # Every number that is told is that of the weighted draws.
  flat <- stack_chains(stacked$draws)[weighted_rows(stacked), ]
  expect_equal(sigma(stacked), mean(flat[, "sigma"]))
  expect_equal(glance(stacked)$kernels, mean(flat[, "J"]))
  expect_equal(summary(stacked)$parameters["sigma", "Estimate"], mean(flat[, "sigma"]))
  expect_equal(
    rstantools::posterior_interval(stacked, pars = "sigma", prob = 0.9)[1, ],
    stats::quantile(flat[, "sigma"], c(0.05, 0.95)), ignore_attr = TRUE
  )
  f <- predict(stacked, d, draws = TRUE, seed = 1)
  expect_equal(dim(f), c(80L, 60L))
  core <- bark_core_draws(stacked)
  each <- bark_latent_cpp(core, stacked$posterior$x, stacked$posterior$x, 1L)$mean
  means <- stacked$transform$response[1] + stacked$transform$response[2] *
    apply(array(each, c(20, 4, 60)), c(2, 3), mean)
  expect_lt(max(abs(fitted(stacked) - drop(w %*% means))), 0.5)
  expect_equal(predict(stacked, d), fitted(stacked), ignore_attr = TRUE)
  expect_s3_class(suppressWarnings(loo::loo(stacked, seed = 1)), "loo")
  # Chains that agree weigh the same.
  alike <- stacked
  alike$diagnostics$table$rhat <- 1
  expect_equal(chain_weights(alike, 1L), rep(0.25, 4))
  expect_match(
    capture.output(print(summary(quick_bark(y ~ a, d, chains = 1, chain_weights = "stacking")))),
    "weigh the same", all = FALSE
  )
})

test_that("stacking is the default of runs that end by a cap", {
  capped <- function(...) {
    suppressWarnings(apart(y ~ a + g, d, until = stop_at(rhat = 1.001, sweeps = 40), ...))
  }
  fit <- capped()
  expect_gt(max(fit$diagnostics$table$rhat, na.rm = TRUE), 1.05)
  expect_identical(fit$chain_weights, capped(chain_weights = "stacking")$chain_weights)
  expect_gt(max(fit$chain_weights), 0.3)
  expect_match(capture.output(fit), "Chains: .*disagree.*stacking", all = FALSE)
  expect_null(capped(chain_weights = "equal")$chain_weights)
  one <- quick_bark(y ~ a, d, chains = 1, until = stop_at(rhat = 5))
  expect_null(one$chain_weights)
})

test_that("a chain that predicts nothing has the weight of a row or two", {
  good <- quick_bark(y ~ a + g, d, warmup = 3000)
  set.seed(1)
  bad <- quick_bark(y ~ a + g, transform(d, y = sample(y)), warmup = 3000)
  both <- with_bad_chain(good, bad)
  both$chain_weights <- chain_weights(both, 1L)
  expect_lt(both$chain_weights[2], 2 / (nrow(d) + 2))
  one <- quick_bark(y ~ a + g, d, warmup = 3000, chains = 1)
  both$chain_weights <- c(1, 0)
  both <- stamped(both)
  expect_equal(predict(both, d), predict(one, d))
  expect_equal(predict(both, d, se.fit = TRUE), predict(one, d, se.fit = TRUE))
  expect_equal(inclusion_by(both), inclusion_by(one))
  expect_equal(summary(both)$scales[, "Estimate"], summary(one)$scales[, "Estimate"])
  damaged <- both
  damaged$chain_weights <- c(2, -1)
  expect_bk_error(predict(damaged, d), "argument", "chain_weights")
})

test_that("classes are weighted, too, and chains go on", {
  for (family in c("binomial", "ordinal")) {
    y <- d[[c(binomial = "two", ordinal = "three")[[family]]]]
    fit <- apart(bark_matrix(d), y, family = family, chain_weights = "stacking")
    expect_equal(sum(fit$chain_weights), 1)
    expect_equal(
      unname(predict(fit, bark_matrix(d), type = "prob")), unname(predict(fit, type = "prob"))
    )
  }
  longer <- quick_bark(
    y ~ a + g, d, warmup = 0, thin = 1, ndraws = 40, chains = 4, resume = stacked,
    chain_weights = "stacking"
  )
  expect_length(longer$chain_weights, 4L)
  expect_bark_refusal(quick_bark(y ~ a, d, chain_weights = "best"), "argument", "chain_weights")
})
