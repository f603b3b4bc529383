# Weights of the rows of a regression: y_i ~ N(f_i, sigma^2 / w_i).

d <- bark_data()
d$w <- rep_len(c(0.2, 1, 3, 8), 60)
x <- bark_matrix(d)
weighted <- quick_bark(y ~ a + g, d, weights = w)
core <- bark_core_draws(weighted)

# Columns of a draw's kernels at the rows of the fit.
columns_of <- function(fit, k) {
  core <- bark_core_draws(fit, k)
  own <- fit$posterior$x
  plain_columns(own, own, core$kernels$location, core$lambda[1, ])
}

test_that("draws are those of the weighted likelihood", {
  y <- (d$y - weighted$transform$response[1]) / weighted$transform$response[2]
  flat <- stack_chains(weighted$draws)
  for (k in c(1, 40, 80)) {
    own <- bark_core_draws(weighted, k)
    columns <- columns_of(weighted, k)
    phi <- own$phi[[1]]
    variance <- own$kernels$variance
    precision <- phi * crossprod(columns * sqrt(d$w)) + diag(1 / variance, length(variance))
    mean <- solve(precision, phi * crossprod(columns, d$w * y))
    expect_equal(own$kernels$mean, drop(mean), tolerance = 1e-6)
    spread <- diag(1 / (phi * d$w)) + columns %*% (variance * t(columns))
    root <- chol(spread)
    expect_equal(
      flat[[k, "log_lik"]],
      -30 * log(2 * pi) - sum(log(diag(root))) - sum(backsolve(root, y, transpose = TRUE)^2) / 2,
      # Factors of the chain are edited at each jump, and round.
      tolerance = 1e-6
    )
    expect_equal(flat[[k, "sigma"]], weighted$transform$response[2] / sqrt(phi))
  }
})

test_that("f is predicted with the weights of the rows of the fit", {
  new <- d[c(1, 7, 20), ]
  new$a <- new$a + 0.1
  to_data <- weighted$transform$response
  scaled <- bark_scaled(weighted, new)
  own <- bark_latent_cpp(core, weighted$posterior$x, scaled, 1L)
  for (k in c(1, 80)) {
    one <- bark_core_draws(weighted, k)
    precision <- one$phi * crossprod(columns_of(weighted, k) * sqrt(d$w)) +
      diag(1 / one$kernels$variance, one$kernels$size)
    at <- plain_columns(scaled, weighted$posterior$x, one$kernels$location, one$lambda[1, ])
    expect_equal(own$mean[k, ], drop(at %*% one$kernels$mean))
    expect_equal(own$var[k, ], rowSums((at %*% solve(precision)) * at), tolerance = 1e-6)
  }
  expect_equal(
    predict(weighted, new), to_data[1] + to_data[2] * colMeans(own$mean), ignore_attr = TRUE
  )
})

test_that("the size of weights is that of sigma, and nothing else", {
  other <- quick_bark(y ~ a + g, d, weights = 2^30 * w)
  names <- setdiff(dimnames(weighted$draws)[[3]], c("sigma", "phi"))
  expect_equal(other$draws[, , names], weighted$draws[, , names])
  expect_equal(other$draws[, , "sigma"], 2^15 * weighted$draws[, , "sigma"])
  expect_equal(predict(other, d), predict(weighted, d))
})

test_that("the rows of the fit have their weights, new rows have none", {
  expect_equal(weights(weighted), d$w)
  expect_equal(
    unname(residuals(weighted, "pearson")),
    unname(sqrt(d$w) * residuals(weighted) / sigma(weighted))
  )
  expect_equal(weighted$n, 60L)
  # Of the same f, the noise's variance is divided by the weight.
  latent <- with_seed(3, latent_draws(weighted, threads = 1))
  lik <- rstantools::log_lik(weighted, seed = 3)
  expect_equal(lik, stats::dnorm(
    rep(d$y, each = 80), latent$f, weighted$draws[, , "sigma"] %o% (1 / sqrt(d$w)), TRUE
  ), ignore_attr = TRUE)
  at_one <- rstantools::log_lik(weighted, d, seed = 3)
  expect_equal(at_one, stats::dnorm(
    rep(d$y, each = 80), with_seed(3, latent_draws(weighted, new_rows(weighted, d), threads = 1))$f,
    as.vector(weighted$draws[, , "sigma"]), TRUE
  ), ignore_attr = TRUE)
  expect_equal(deviance(weighted), -2 * mean(rowSums(rstantools::log_lik(weighted, seed = 1))))
  y <- as.matrix(simulate(weighted, 80, seed = 1))
  f <- with_seed(1, latent_draws(weighted, threads = 1))
  noise <- apply(y - f$mean, 1, stats::sd)
  expect_gt(mean(noise[d$w == 0.2]), 3 * mean(noise[d$w == 8]))
  limits <- predict(weighted, d, interval = "prediction", seed = 1)
  wide <- limits[, "upr"] - limits[, "lwr"]
  expect_lt(max(wide[d$w == 0.2]), 2 * min(wide[d$w == 8]))
  for (shown in list(weighted, summary(weighted))) {
    text <- capture.output(shown)
    expect_match(text, "Weights: +0.2 to 8", all = FALSE)
  }
})

test_that("chains with weights go on, and only with the same ones", {
  part <- quick_bark(y ~ a + g, d, weights = w, ndraws = 15)
  joined <- quick_bark(y ~ a + g, d, weights = w, resume = part)
  expect_identical(joined$draws, weighted$draws)
  expect_bk_error(quick_bark(y ~ a + g, d, resume = part), "argument", "other data")
  expect_bk_error(
    quick_bark(y ~ a + g, d, weights = rev(w), resume = part), "argument", "other data"
  )
  damaged <- weighted
  damaged$weights <- -damaged$weights
  expect_bk_error(predict(damaged, d), "argument", "weights")
  expect_equal(quick_bark(x, d$y, weights = d$w)$draws, quick_bark(y ~ a + b, d, weights = w)$draws)
})

test_that("weights follow their rows by every way in", {
  frame <- quick_bark(d[c("a", "g")], d$y, weights = d$w)
  expect_equal(frame$draws, weighted$draws, ignore_attr = TRUE)
  expect_equal(weights(frame), d$w)
  holed <- d
  holed$a[c(3, 8)] <- NA
  fit <- quick_bark(y ~ a + g, holed, weights = w, na.action = na.exclude)
  expect_equal(fit$weights, d$w[-c(3, 8)])
  expect_equal(which(is.na(residuals(fit, "pearson"))), c(3L, 8L), ignore_attr = TRUE)
  expect_identical(fit$draws, quick_bark(y ~ a + g, d[-c(3, 8), ], weights = w)$draws)
  expect_identical(
    quick_bark(y ~ a + g, d, weights = w, subset = a < 1)$draws,
    quick_bark(y ~ a + g, d[d$a < 1, ], weights = w)$draws
  )
})

test_that("a known precision is that of weight 1", {
  prior <- bark_prior(phi = c(4e4, 1e4))
  for (size in c(1, 100)) {
    fit <- quick_bark(y ~ a, d, weights = rep_len(size * c(0.5, 1.5), 60), prior = prior)
    expect_lt(abs(mean(fit$draws[, , "phi"]) - 4), 0.3)
  }
})

test_that("noisy rows with small weights do not matter", {
  set.seed(4)
  n <- 120
  d <- data.frame(a = runif(n, -2, 2), w = rep_len(c(1, 1 / 400), n))
  f <- sin(2 * d$a)
  d$y <- f + 0.1 * rnorm(n) / sqrt(d$w)
  error <- function(fit) sqrt(mean((fitted(fit) - f)^2))
  fit <- quick_bark(y ~ a, d, weights = w, warmup = 3000)
  expect_lt(error(fit), error(quick_bark(y ~ a, d, warmup = 3000)) / 2)
  expect_lt(abs(sigma(fit) - 0.1), 0.03)
})

test_that("joint draws have the moments of rows with weights, too", {
  set.seed(8)
  d <- data.frame(x = runif(40, -1, 1))
  d$w <- rep(c(0.2, 5), 20)
  d$y <- sin(3 * d$x) + rnorm(40) / sqrt(d$w)
  fit <- suppressWarnings(bark(
    y ~ x, d, weights = w, chains = 1, control = list(warmup = 500, thin = 5), ndraws = 2000,
    until = NULL, seed = 1, threads = 1
  ))
  new <- new_rows(fit, data.frame(x = c(-0.8, 0, 0.7)))
  drawn <- with_seed(1, joint_draws(fit, new, NULL, 1L))$f
  own <- latent(fit, new)
  expect_lt(max(abs(colMeans(drawn) - own$mean) / sqrt(own$var)), 0.15)
  expect_lt(max(abs(apply(drawn, 2, var) / own$var - 1)), 0.2)
})
