# bkm() beside posteriors that are known: by quadrature, by least squares, by limits.

d <- family_data(n = 40)
x <- as.vector(scale(d$x))
label <- as.integer(d$y == "yes")
methods <- c("ep", "vb")
scaled <- data.frame(x = x, y = label)

# On the scale of the priors: standardised predictors.
fit_of <- function(family, method, ...) {
  flat(bkm)(y ~ x, scaled, family, method = method, threads = 1, tol = 1e-8, ...)
}

test_that("mean and sd are those of quadrature, under the default priors", {
  for (family in c("logit", "probit")) {
    unit <- if (family == "logit") 1 else 1 / 1.7
    exact <- grid_posterior(x, label, family = family, sd = c(10, 2.5) * unit)
    for (method in methods) {
      fit <- fit_of(family, method)
      expect_lt(max(abs(coef(fit) - exact$mean) / exact$sd), 0.06)
      ratio <- sqrt(diag(vcov(fit))) / exact$sd
      expect_true(all(ratio > 0.95 & ratio < 1.01))
    }
    # The evidence of ep, and the bound of vb below it.
    ep <- fit_of(family, "ep")
    expect_lt(abs(log_evidence(ep) - exact$log_evidence), 0.02)
    bound <- elbo(fit_of(family, "vb"))
    expect_lt(bound[length(bound)], exact$log_evidence)
    expect_gt(bound[length(bound)], exact$log_evidence - 0.1)
  }
})

test_that("chains have the exact moments", {
  for (family in c("logit", "probit")) {
    unit <- if (family == "logit") 1 else 1 / 1.7
    exact <- grid_posterior(x, label, family = family, sd = c(10, 2.5) * unit)
    fit <- quick_bkm(y ~ x, scaled, family, ndraws = 2000, warmup = 200)
    found <- batch_summary(fit$draws)
    expect_lt(max(abs(found$mean - exact$mean) / found$mcse_mean), 4)
    expect_lt(max(abs(found$sd - exact$sd) / found$mcse_sd), 4)
  }
})

test_that("weights are powers of the likelihood, offsets known parts of f", {
  set.seed(2)
  more <- transform(scaled, w = runif(40, 0.3, 2), o = rnorm(40) / 2)
  exact <- grid_posterior(x, label, more$w, more$o)
  for (method in methods) {
    fit <- bkm(
      y ~ x, more, method = method, weights = w, offset = o, threads = 1, control = list(tol = 1e-8)
    )
    expect_lt(max(abs(coef(fit) - exact$mean) / exact$sd), 0.06)
    expect_true(all(abs(sqrt(diag(vcov(fit))) / exact$sd - 0.98) < 0.03))
  }
  chain <- bkm(
    y ~ x, more, method = "gibbs", weights = w, offset = o, chains = 2,
    control = list(warmup = 200, progress = FALSE), ndraws = 2000, seed = 11, threads = 1
  )
  found <- batch_summary(chain$draws)
  expect_lt(max(abs(found$mean - exact$mean) / found$mcse_mean), 4)
})

test_that("a whole weight is a repeated row, and counts are weights", {
  twice <- rep(1:40, rep_len(c(1, 2, 3), 40))
  weights <- tabulate(twice)
  counts <- data.frame(x = x, s = weights * label, f = weights * (1 - label))
  for (family in c("logit", "probit")) {
    one <- bkm(y ~ x, scaled, family,
      method = "vb", weights = weights, threads = 1,
      control = list(tol = 1e-10),
      standardize = FALSE
    )
    two <- bkm(y ~ x, scaled[twice, ], family,
      method = "vb", threads = 1, control = list(tol = 1e-10), standardize = FALSE
    )
    three <- bkm(cbind(s, f) ~ x, counts, family,
      method = "vb", threads = 1, control = list(tol = 1e-10), standardize = FALSE
    )
    expect_equal(coef(one), coef(two), tolerance = 1e-6)
    expect_equal(vcov(one), vcov(two), tolerance = 1e-6)
    expect_equal(coef(one), coef(three), tolerance = 1e-8)
    expect_true(three$counted && !three$powers && !one$powers)
  }
})

test_that("a flat prior gives the maximum likelihood, in large samples", {
  set.seed(3)
  large <- data.frame(a = rnorm(4000, 10, 3), b = rexp(4000))
  large$y <- rlogis(4000) < (large$a - 10) / 3 - large$b + 1
  large$s <- factor(large$y)
  flat <- bkm_prior(beta_var = 1e8, intercept_var = 1e8)
  for (family in c("logit", "probit")) {
    ml <- stats::glm(y ~ a + b, stats::binomial(family), large)
    for (method in methods) {
      fit <- bkm(s ~ a + b, large, family, method = method, prior = flat, threads = 1)
      se <- sqrt(diag(vcov(ml)))
      expect_lt(max(abs(coef(fit) - coef(ml)) / se), 0.08)
      expect_equal(sqrt(diag(vcov(fit))), se, tolerance = 0.01)
    }
  }
})

test_that("a numeric response with a flat prior is least squares", {
  d <- family_data()
  by_ols <- stats::lm(number ~ x + z, d)
  se <- sqrt(diag(vcov(by_ols)))
  for (method in methods) {
    fit <- bkm(number ~ x + z, d,
      method = method, penalty = "none", threads = 1,
      control = list(tol = 1e-10)
    )
    expect_equal(coef(fit), coef(by_ols), tolerance = 1e-5)
    # The deviation of the noise has a posterior of its own.
    expect_equal(sqrt(diag(vcov(fit))), se, tolerance = 0.06)
    expect_equal(sigma(fit), sigma(by_ols), tolerance = 0.04)
  }
  # In any units.
  other <- transform(d, number = 1e4 - 1000 * number, x = x / 100)
  fit <- bkm(number ~ x + z, d, penalty = "none", threads = 1, control = list(tol = 1e-10))
  moved <- bkm(number ~ x + z, other, penalty = "none", threads = 1, control = list(tol = 1e-10))
  expect_equal(predict(moved, other), 1e4 - 1000 * predict(fit, d), tolerance = 1e-8)
  expect_equal(sigma(moved), 1000 * sigma(fit), tolerance = 1e-8)
  expect_equal(log_evidence(moved), log_evidence(fit) - 60 * log(1000), tolerance = 1e-8)
  expect_equal(
    predict(moved, other, se.fit = TRUE)$se.fit, 1000 * predict(fit, d, se.fit = TRUE)$se.fit,
    tolerance = 1e-8
  )
})

test_that("the evidence of a regression is that of its normal law", {
  # Known noise would be exact; with a grid over it the average over the prior.
  d <- family_data()
  y <- as.vector(scale(d$number))
  x <- cbind(1, scale(d$x))
  prior <- bkm_prior(beta_var = 2, intercept_var = 3, noise_shape = 3, noise_rate = 1)
  fit <- bkm(number ~ x, d, penalty = "none", prior = prior, threads = 1)
  density <- function(v) {
    vapply(v, function(v) {
      root <- chol(v * diag(60) + x %*% diag(c(3, 2)) %*% t(x))
      -sum(log(diag(root))) - 30 * log(2 * pi) - sum(backsolve(root, y, transpose = TRUE)^2) / 2
    }, 1)
  }
  reference <- density(0.3)
  evidence <- reference + log(stats::integrate(function(v) {
    exp(density(v) - reference + 3 * log(1) - lgamma(3) - 4 * log(v) - 1 / v)
  }, 0.02, 5, rel.tol = 1e-10, subdivisions = 1000L)$value)
  expect_equal(log_evidence(fit), evidence - 60 * log(sd(d$number)), tolerance = 5e-4)
})

test_that("an unseen group is averaged over, a known one has its effect", {
  d <- family_data(n = 300, groups = 30)
  for (method in methods) {
    fit <- bkm(y ~ x + z + (1 | g), d, method = method, threads = 1)
    at <- data.frame(x = c(3, 6), z = 0, g = "new")
    p <- predict(fit, at, "prob", se.fit = TRUE)
    # Without the group: steeper, and surer.
    fixed <- predict(fit, at, "response", re.form = NA)
    expect_lt(abs(p$fit[2, 2] - 0.5), abs(fixed[2] - 0.5))
    draws <- predict(fit, at, "prob", draws = TRUE, ndraws = 4000, seed = 1)
    expect_lt(max(abs(colMeans(draws) - p$fit[, 2])), 0.015)
    expect_lt(max(abs(apply(draws, 2, sd) - p$se.fit)), 0.015)
    known <- predict(fit, transform(at, g = "g1"), "link", se.fit = TRUE)
    unknown <- predict(fit, at, "link", se.fit = TRUE)
    expect_true(all(known$se.fit < unknown$se.fit))
  }
})

test_that("mixed models agree with lme4 where both should", {
  skip_if_not_installed("lme4")
  d <- family_data(n = 1200, groups = 120, seed = 5)
  d$number <- d$number + rnorm(120)[d$g] * 4
  normal <- lme4::lmer(number ~ x + z + (1 | g), d, REML = FALSE)
  for (method in methods) {
    fit <- bkm(number ~ x + z + (1 | g), d, method = method, threads = 1)
    se <- sqrt(diag(as.matrix(vcov(normal))))
    expect_lt(max(abs(coef(fit) - lme4::fixef(normal)) / se), 0.05)
    expect_equal(sqrt(diag(vcov(fit))), se, tolerance = 0.02, ignore_attr = TRUE)
    expect_equal(sigma(fit), sigma(normal), tolerance = 0.01)
    ours <- attr(VarCorr(fit)$g, "stddev")
    expect_equal(
      ours, attr(lme4::VarCorr(normal)$g, "stddev"), tolerance = 0.03, ignore_attr = TRUE
    )
  }
  binary <- lme4::glmer(y ~ x + z + (1 | g), d, stats::binomial(), nAGQ = 15)
  fit <- bkm(y ~ x + z + (1 | g), d, threads = 1)
  se <- sqrt(diag(as.matrix(vcov(binary))))
  expect_lt(max(abs(coef(fit) - lme4::fixef(binary)) / se), 0.3)
})

test_that("with many rows the default tolerance is one of the coefficients", {
  set.seed(3)
  x <- matrix(rnorm(2e5), 2e4)
  y <- +(drop(x %*% seq(-1, 1, length.out = 10)) + rlogis(2e4) > 0)
  prior <- bkm_prior(beta_var = 1e8)
  fit <- bkm(x, y, family = "logit", prior = prior)
  exact <- update(fit, control = list(tol = 1e-8))
  off <- abs(coef(fit) - coef(exact)) / sqrt(diag(vcov(exact)))
  expect_lt(max(off), 2e-3)
})

# A probit model with a group for each row: P(y = 1) = Phi(b / sqrt(1 + s^2)), and the data do not
# bound s.
test_that("one row a group: the sd of the groups is that of its prior's tail", {
  yes <- 19
  n <- 40
  single <- data.frame(y = rep(1:0, c(yes, n - yes)), g = factor(seq_len(n)))
  b <- seq(-40, 40, length.out = 1601)
  t <- seq(log(1e-3), log(4e3), length.out = 400)
  unit <- 1 / 1.7
  value <- outer(b, exp(t), function(b, s) {
    f <- b / sqrt(1 + s^2)
    yes * pnorm(f, log.p = TRUE) + (n - yes) * pnorm(-f, log.p = TRUE) +
      dnorm(b, 0, 10 * unit, log = TRUE) + log(2) + log(s / (2.5 * unit)) +
      dt(s / (2.5 * unit), 4, log = TRUE)
  })
  weight <- exp(value - max(value))
  evidence <- max(value) + log(sum(weight) * (b[2] - b[1]) * (t[2] - t[1]))
  of_b <- rowSums(weight) / sum(weight)
  of_s <- colSums(weight) / sum(weight)
  sd_b <- sqrt(sum(of_b * b^2) - sum(of_b * b)^2)
  limits <- exp(approx(cumsum(of_s) - of_s / 2, t, c(0.025, 0.975))$y)

  fit <- bkm(y ~ 1 + (1 | g), single, "probit", threads = 1)
  expect_lt(abs(log_evidence(fit) - evidence), 0.01)
  expect_lt(abs(coef(fit) - sum(of_b * b)), 0.02 * sd_b)
  expect_lt(abs(sqrt(vcov(fit)[1]) / sd_b - 1), 0.02)
  found <- summary(fit)$variances[1, 3:4]
  expect_lt(abs(log(found[[1]] / limits[1])), 0.2)
  expect_lt(abs(log(found[[2]] / limits[2])), 0.05)
  printed <- capture.output(summary(fit))
  expect_match(printed, "has one row", all = FALSE)
  expect_no_match(printed, "one class only")
})

test_that("quantiles on a lattice are those of the density through it", {
  probs <- c(0.025, 0.5, 0.975)
  quantiles <- function(place, values, weights) {
    place <- as.matrix(place)
    dimnames(place) <- NULL
    weights <- weights / sum(weights)
    refined_quantiles(refine_lattice(place, weights, cbind(values)), probs)
  }
  x <- -6:6
  expect_equal(quantiles(x, x, dnorm(x)), qnorm(probs), tolerance = 3e-3)
  # Skew: the logarithm of a gamma variable.
  x <- seq(-9, 3, by = 0.6)
  found <- quantiles(seq_along(x), x, exp(2 * x - exp(x)))
  expect_lt(max(abs(found - log(qgamma(probs, 2)))), 0.01)
  # Two dimensions, in any order, along the axes and across them.
  grid <- expand.grid(a = -4:4, b = -4:4)[sample(81), ]
  a <- 1.25 * grid$a
  b <- 1.25 * grid$b
  w <- dnorm(a) * dnorm(b)
  expect_equal(quantiles(grid, a, w), qnorm(probs), tolerance = 3e-3)
  turned <- (a + 0.8 * b) / sqrt(1.64)
  expect_lt(max(abs(quantiles(grid, turned, w) - qnorm(probs))), 0.01)
  # Without the places where the density is low.
  seen <- w > 1e-3 * max(w)
  found <- quantiles(grid[seen, ], turned[seen], w[seen])
  expect_lt(max(abs(found - qnorm(probs))), 0.02)
  expect_equal(quantiles(0L, 2, 1), c(2, 2, 2))
})

# Covariances from the prior, Psi | a ~ IW(3, 4 diag(1 / a)), a_k ~ IG(1/2, 1), weighted by the
# likelihood of all else integrated out.
test_that("chains of correlated effects have the posterior of half t ones", {
  set.seed(1)
  data <- data.frame(g = gl(6, 4), x = rnorm(24))
  effects <- matrix(rnorm(12), 6)
  data$y <- effects[data$g, 1] + 0.7 * effects[data$g, 2] * data$x + rnorm(24)
  prior <- bkm_prior(beta_var = 1, intercept_var = 1, noise_shape = 4, noise_rate = 3, sd_scale = 1)
  columns <- cbind(1, data$x)
  group <- outer(data$g, data$g, "==")
  one <- replicate(10000, {
    root <- chol(stats::rWishart(1, 3, diag(1 / rgamma(2, 0.5, 1) / 4))[, , 1])
    psi <- chol2inv(root)
    noise <- 3 / rgamma(1, 4)
    of_y <- columns %*% psi %*% t(columns) * group + tcrossprod(columns)
    half <- chol(of_y + diag(noise, 24))
    rest <- backsolve(half, data$y, transpose = TRUE)
    c(
      log(diag(psi)) / 2, psi[1, 2] / sqrt(prod(diag(psi))), log(noise) / 2,
      -sum(log(diag(half))) - sum(rest^2) / 2
    )
  })
  weight <- exp(one[5, ] - max(one[5, ]))
  weight <- weight / sum(weight)
  exact <- drop(one[1:4, ] %*% weight)
  error <- drop((one[1:4, ] - exact)^2 %*% weight^2)

  fit <- quick_bkm(
    y ~ x + (x | g), data, "gaussian",
    ndraws = 8000, warmup = 500, standardize = FALSE, prior = prior
  )
  names <- c("Sigma[g:(Intercept),(Intercept)]", "Sigma[g:x,x]", "Sigma[g:x,(Intercept)]", "sigma")
  found <- fit$draws[, , names]
  found[, , 3] <- found[, , 3] / sqrt(found[, , 1] * found[, , 2])
  found[, , 1:2] <- log(found[, , 1:2]) / 2
  found[, , 4] <- log(found[, , 4])
  found <- batch_summary(found)
  expect_lt(max(abs(found$mean - exact) / sqrt(found$mcse_mean^2 + error)), 4)
})

test_that("the grid of correlated effects is not lost where a variance is 0", {
  set.seed(2)
  data <- data.frame(g = gl(20, 10), x = rnorm(200))
  data$y <- rbinom(200, 1, plogis(0.3 + 0.5 * data$x + rnorm(20)[data$g]))
  chain <- quick_bkm(y ~ x + (x | g), data, ndraws = 2000, warmup = 500)
  grid <- bkm(y ~ x + (x | g), data, threads = 1)
  expect_lt(max(abs(log(diag(vcov(grid)) / diag(vcov(chain))) / 2)), 0.1)
  slope <- function(fit) sqrt(lme4::VarCorr(fit)$g[2, 2])
  expect_lt(abs(slope(grid) / slope(chain) - 1), 0.15)
})
