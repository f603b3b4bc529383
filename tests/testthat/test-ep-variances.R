# Variances that expectation propagation averages over, beside sums over dense grids of them in
# plain R: of a numeric response all else is exact.

slow <- identical(Sys.getenv("BAYESKERNEL_SLOW"), "true")

crossed_rows <- function(n, levels, sd, seed) {
  set.seed(seed)
  d <- data.frame(x = stats::rnorm(n))
  d$y <- 0.5 + 0.8 * d$x + stats::rnorm(n)
  for (k in seq_along(levels)) {
    g <- rep_len(seq_len(levels[k]), n)
    if (k > 1L) g <- sample(g)
    d[[letters[k]]] <- factor(g)
    d$y <- d$y + (sd[k] * stats::rnorm(levels[k]))[g]
  }
  d
}

crossed_formula <- function(count) {
  stats::reformulate(c("x", sprintf("(1 | %s)", letters[seq_len(count)])), "y")
}

ig_prior <- function() {
  bkm_prior(
    beta_var = 25, intercept_var = 25, var_shape = 2, var_rate = 1, noise_shape = 2, noise_rate = 1
  )
}

ep_of <- function(d, count, family = "gaussian", prior = ig_prior(), ...) {
  flat(bkm)(
    crossed_formula(count), d, family = family, method = "ep", prior = prior,
    standardize = FALSE, threads = 1, ...
  )
}

printed <- function(fit) utils::capture.output(print(fit), print(summary(fit)))

# Log variances on a grid, those of the groups first, that of the noise last; their probabilities;
# mean and variance of the coefficients at each.
exact_variances <- function(d, count, at, of_noise = at) {
  x <- cbind(1, d$x)
  share <- lapply(letters[seq_len(count)], function(g) outer(d[[g]], d[[g]], "==") + 0)
  grid <- as.matrix(expand.grid(c(rep(list(at), count), list(of_noise))))
  log_prior <- rowSums(-2 * grid - exp(-grid))
  n <- nrow(d)
  each <- vapply(seq_len(nrow(grid)), function(j) {
    v <- diag(exp(grid[j, count + 1L]), n)
    for (k in seq_len(count)) v <- v + exp(grid[j, k]) * share[[k]]
    root <- chol(v)
    half <- backsolve(root, cbind(x, d$y), transpose = TRUE)
    inner <- crossprod(half)
    precision <- inner[1:2, 1:2] + diag(1 / 25, 2)
    cov <- solve(precision)
    mean <- cov %*% inner[1:2, 3]
    c(
      -sum(log(diag(root))) - 0.5 * log(det(precision)) -
        0.5 * (inner[3, 3] - sum(mean * inner[1:2, 3])),
      mean, diag(cov)
    )
  }, numeric(5))
  weight <- exp(each[1, ] + log_prior - max(each[1, ] + log_prior))
  list(grid = grid, weight = weight / sum(weight), beta = t(each[-1, ]))
}

# Quantiles of the square root of a variance from its marginal on the grid.
exact_quantiles <- function(exact, k, probs) {
  at <- sort(unique(exact$grid[, k]))
  mass <- as.vector(tapply(exact$weight, exact$grid[, k], sum))
  density <- stats::splinefun(at, log(pmax(mass, 1e-300)), "natural")
  fine <- seq(at[1], at[length(at)], length.out = 4001)
  below <- cumsum(exp(density(fine)))
  exp(stats::approx(below / below[4001], fine, probs, ties = "ordered")$y / 2)
}

exact_sd <- function(exact, k) {
  s <- exp(exact$grid[, k] / 2)
  mean <- sum(exact$weight * s)
  c(mean, sqrt(sum(exact$weight * (s - mean)^2)))
}

# Limits of all standard deviations at some levels: levels x 2 x variances.
sd_limits <- function(fit, levels) {
  each <- lapply(levels, function(level) {
    out <- tidy(fit, "ran_pars", conf.int = TRUE, conf.level = level)
    t(cbind(out$conf.low, out$conf.high))
  })
  aperm(simplify2array(each), c(3, 1, 2))
}

test_that("limits of two and three variances are those of exact marginals", {
  levels <- c(0.8, 0.9, 0.95, 0.99)
  probs <- c(1 - levels, 1 + levels) / 2
  for (count in 1:2) {
    d <- crossed_rows(36, c(9, 6), c(0.9, 0.6), 1)
    at <- seq(-4.5, 4.5, length.out = c(60, 26)[count])
    exact <- exact_variances(d, count, at)
    fit <- ep_of(d, count)
    found <- sd_limits(fit, levels)
    for (k in seq_len(count + 1L)) {
      expected <- exact_quantiles(exact, k, probs)
      expect_equal(as.vector(found[, , k]) / expected, rep(1, 8),
        tolerance = 0.02, info = paste(count, k)
      )
      # Wider at a higher level.
      expect_true(all(diff(found[, 2, k]) > 0), info = paste(count, k))
    }
  }
})

test_that("draws of a fit have the distribution of its variances", {
  d <- crossed_rows(36, c(9, 6), c(0.9, 0.6), 1)
  exact <- exact_variances(d, 2, seq(-4.5, 4.5, length.out = 26))
  draws <- as.matrix(ep_of(d, 2), 4000, seed = 1)
  probs <- c(0.05, 0.25, 0.5, 0.75, 0.95)
  found <- cbind(
    sqrt(draws[, "Sigma[a:(Intercept),(Intercept)]"]),
    sqrt(draws[, "Sigma[b:(Intercept),(Intercept)]"]), draws[, "sigma"]
  )
  for (k in 1:3) {
    # As many values as draws, and no lattice.
    expect_gt(length(unique(signif(found[, k], 6))), 100)
    below <- vapply(exact_quantiles(exact, k, probs), function(q) mean(found[, k] < q), 1)
    expect_lt(max(abs(below - probs)), 0.03)
  }
  beta <- sum(exact$weight * exact$beta[, 2])
  variance <- sum(exact$weight * (exact$beta[, 4] + exact$beta[, 2]^2)) - beta^2
  expect_equal(mean(draws[, "x"]), beta, tolerance = 0.02)
  expect_equal(stats::sd(draws[, "x"]), sqrt(variance), tolerance = 0.04)
})

test_that("four variances are averaged over", {
  d <- crossed_rows(30, c(6, 5, 4), c(0.9, 0.6, 0.3), 2)
  exact <- exact_variances(d, 3, seq(-3.6, 4.2, length.out = 13), seq(-1.9, 2.1, length.out = 16))
  fit <- ep_of(d, 3)
  table <- tidy(fit, "ran_pars")
  for (k in 1:4) {
    moments <- exact_sd(exact, k)
    expect_equal(table$estimate[k], moments[1], tolerance = 0.02)
    expect_equal(table$std.error[k], moments[2], tolerance = 0.06)
    expect_equal(
      as.vector(sd_limits(fit, c(0.8, 0.95))[, , k]),
      exact_quantiles(exact, k, c(0.1, 0.025, 0.9, 0.975)), tolerance = 0.05
    )
  }
  for (j in 1:2) {
    beta <- sum(exact$weight * exact$beta[, j])
    second <- sum(exact$weight * (exact$beta[, j + 2] + exact$beta[, j]^2))
    expect_equal(coef(fit)[[j]], beta, tolerance = 1e-2)
    expect_equal(sqrt(diag(vcov(fit)))[[j]], sqrt(second - beta^2), tolerance = 0.02)
  }
  draws <- as.matrix(fit, 2000, seed = 1)
  expect_equal(stats::sd(draws[, "sigma"]), exact_sd(exact, 4)[2], tolerance = 0.08)
})

test_that("the prior alone gives back its own variances", {
  # Weights of next to nothing.
  d <- crossed_rows(10, c(2, 2, 2, 2), rep(0, 4), 3)
  d$y <- rep(0:1, 5)
  fit <- ep_of(d, 4, "probit", weights = rep(1e-6, 10))
  # sigma^2 ~ IG(2, 1).
  expected <- 1 / sqrt(stats::qgamma(c(0.975, 0.5, 0.025), 2))
  mean <- gamma(1.5) / gamma(2)
  table <- tidy(fit, "ran_pars", conf.int = TRUE)
  expect_equal(table$estimate, rep(mean, 4), tolerance = 0.02)
  expect_equal(table$conf.low, rep(expected[1], 4), tolerance = 0.06)
  expect_equal(table$conf.high, rep(expected[3], 4), tolerance = 0.06)
})

test_that("more variances than can be averaged over are said", {
  d <- crossed_rows(80, rep(4, 9), rep(0.5, 9), 4)
  expect_match(paste(printed(ep_of(d, 9)), collapse = " "), "10 variances")
  expect_no_match(paste(printed(ep_of(d, 3)), collapse = " "), "variances, ")
})

test_that("groups of one class are said where their variance is too small", {
  # More than 60 columns beside the groups, whose effects are small: the evidence of groups, which
  # the grid then goes without, moves nothing.
  set.seed(2)
  d <- data.frame(a = factor(sample(80, 321, TRUE)), x = stats::rnorm(321))
  d$b <- factor(sample(70, 321, TRUE))
  f <- -1.6 + 0.4 * d$x + stats::rnorm(80)[d$a] + stats::rnorm(70)[d$b]
  d$y <- stats::rbinom(321, 1, stats::pnorm(f))
  prior <- bkm_prior(beta_var = 100, intercept_var = 100, sd_scale = 2.5)
  fit <- bkm(
    y ~ x + (1 | a) + (1 | b), d, family = "probit", method = "ep", prior = prior, threads = 1
  )
  expect_false(fit$check$by_group)
  expect_no_match(paste(printed(fit), collapse = " "), "one class")
})

test_that("95 % intervals of a standard deviation cover 92 to 98 %", {
  skip_if_not(slow, "BAYESKERNEL_SLOW is not true")
  prior <- bkm_prior(beta_var = 1e4, intercept_var = 1e4, sd_scale = 2.5)
  inside <- vapply(1:200, function(seed) {
    d <- crossed_rows(300, 30, 0.6, seed)
    limits <- sd_limits(ep_of(d, 1, prior = prior), 0.95)
    limits[1, 1, ] < c(0.6, 1) & limits[1, 2, ] > c(0.6, 1)
  }, logical(2))
  # Two standard errors of 200 sets are 3 %.
  expect_true(all(abs(rowMeans(inside) - 0.95) < 0.03))
})

test_that("one row in each group: a variance that the curvature of the mode does not tell", {
  set.seed(7)
  x <- rnorm(80)
  d <- data.frame(x = x, id = factor(1:80), y = runif(80) < plogis(1.5 * x + 2 * rnorm(80)))
  prior <- bkm_prior(beta_var = 4, intercept_var = 9, sd_scale = 2.5)
  fit <- suppressWarnings(
    bkm(y ~ x + (1 | id), d, prior = prior, standardize = FALSE, threads = 1)
  )
  # Sums over a grid of the coefficients and the standard deviation, a row's integral by quantiles.
  z <- qnorm((1:60 - 0.5) / 60)
  at <- expand.grid(
    b0 = seq(-4, 4, length.out = 25), b1 = seq(-1, 8, length.out = 25), s = seq(0.15, 5, 0.25)^2
  )
  log_density <- vapply(seq_len(nrow(at)), function(k) {
    f <- at$b0[k] + at$b1[k] * x
    p <- rowMeans(plogis(outer(ifelse(d$y, f, -f), at$s[k] * z, `+`)))
    sum(log(p))
  }, 1)
  log_density <- log_density + dnorm(at$b0, 0, 3, log = TRUE) + dnorm(at$b1, 0, 2, log = TRUE) +
    dt(at$s / 2.5, 4, log = TRUE) + log(at$s) / 2
  w <- exp(log_density - max(log_density))
  w <- w / sum(w)
  spread <- function(v) sqrt(sum(w * v^2) - sum(w * v)^2)
  b1 <- unname(coef(fit)[["x"]])
  expect_lt(abs(b1 - sum(w * at$b1)) / spread(at$b1), 0.05)
  expect_equal(sqrt(diag(vcov(fit)))[["x"]], spread(at$b1), tolerance = 0.05)
  expect_equal(tidy(fit, effects = "ran_pars")$estimate, sum(w * at$s), tolerance = 0.05)
})
