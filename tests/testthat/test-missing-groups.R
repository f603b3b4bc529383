# Missing predictors beside groups, and where they depend on the response.

# Rows of groups whose x has the share `between` of its variance between them.
grouped_holes <- function(seed, between = 0.8, groups = 30L, size = 10L, slope = 0.8, gone = 0.3) {
  set.seed(seed)
  g <- gl(groups, size)
  n <- length(g)
  z <- rnorm(n)
  x <- 0.5 * z + sqrt(between) * rnorm(groups)[g] + sqrt(1 - between) * rnorm(n)
  f <- slope * x + 0.5 * z + 0.7 * rnorm(groups)[g]
  d <- data.frame(f = f, x = x, z = z, g = g)
  d$y <- f + rnorm(n)
  d$full <- x
  d$x[runif(n) < gone] <- NA
  d
}

test_that("the model of a predictor with groups is that of lme4", {
  skip_if_not_installed("lme4")
  d <- grouped_holes(1, between = 0.6)
  model <- predictor_model_cpp(
    cbind(d$x, d$z), integer(), matrix(0L, nrow(d), 0L), integer(),
    list(as.integer(d$g)), 1L, FALSE, numeric()
  )
  mixed <- lme4::lmer(x ~ z + (1 | g), d, REML = FALSE)
  s <- model$cov[[1L]]
  own <- model$groups[[1L]]
  expect_equal(s[1, 2] / s[2, 2], lme4::fixef(mixed)[["z"]], tolerance = 1e-3)
  expect_equal(s[1, 1] - s[1, 2]^2 / s[2, 2], sigma(mixed)^2, tolerance = 2e-3)
  expect_equal(own$cov[1, 1], lme4::VarCorr(mixed)$g[[1L]], tolerance = 2e-3)
  expect_equal(own$mean[1L, ], lme4::ranef(mixed)$g[[1L]], tolerance = 5e-3)
})

test_that("slopes are those of rows without holes, by every method", {
  for (method in c("ep", "vb", "gibbs")) {
    error <- vapply(1:4, function(seed) {
      d <- grouped_holes(seed)
      fit <- bkm(
        y ~ x + z + (1 | g), d, family = "gaussian", method = method,
        missing = "model", threads = 1, seed = 1
      )
      fixef(fit)[["x"]] - 0.8
    }, 0)
    # The standard error of the mean is .04; without groups it was -.3.
    expect_lt(abs(mean(error)), 0.12)
  }
})

test_that("new rows borrow from their groups", {
  d <- grouped_holes(3, between = 0.95)
  fit <- bkm(
    y ~ x + z + (1 | g), d, family = "gaussian", method = "vb", missing = "model", threads = 1
  )
  at <- aggregate(full ~ g, d, mean)
  new <- data.frame(x = NA_real_, z = 0, g = at$g)
  known <- transform(new, x = at$full)
  f <- predict(fit, new, type = "response")
  expect_gt(cor(f, predict(fit, known, type = "response")), 0.95)
  # A group that is new has the mean of all.
  other <- data.frame(x = NA_real_, z = 0, g = "other")
  expect_equal(
    predict(fit, other, type = "response"),
    predict(fit, transform(other, x = mean(at$full)), type = "response"), tolerance = 0.15
  )
})

test_that("a Gaussian response tells about what is missing: EM of all", {
  set.seed(4)
  n <- 300L
  d <- data.frame(z = rnorm(n))
  d$x <- 0.5 * d$z + rnorm(n)
  d$y <- 1 + d$x + 0.5 * d$z + rnorm(n)
  d$x[runif(n) < plogis(-1 + 1.5 * (d$y - 1))] <- NA
  # EM of the joint normal of (x, z, y).
  v <- cbind(d$x, d$z, d$y)
  mu <- colMeans(v, na.rm = TRUE)
  s <- cov(v, use = "complete.obs")
  gone <- is.na(d$x)
  for (k in 1:2000) {
    b <- solve(s[-1, -1], s[-1, 1])
    left <- s[1, 1] - sum(b * s[-1, 1])
    v[gone, 1] <- mu[1] + (v[gone, -1] - rep(mu[-1], each = sum(gone))) %*% b
    mu <- colMeans(v)
    s <- crossprod(v - rep(mu, each = n)) / n
    s[1, 1] <- s[1, 1] + mean(gone) * left
  }
  slopes <- solve(s[1:2, 1:2], s[1:2, 3])
  truth <- c(mu[3] - sum(slopes * mu[1:2]), slopes)
  for (method in c("ep", "vb")) {
    fit <- bkm(
      y ~ x + z, d, family = "gaussian", method = method, missing = "model",
      penalty = "none", threads = 1
    )
    se <- sqrt(diag(vcov(fit)))[1:3]
    expect_lt(max(abs(fixef(fit)[c("(Intercept)", "x", "z")] - truth) / se), 0.1)
  }
})

test_that("the law of the predictors is that of the joint normal of all columns", {
  set.seed(9)
  n <- 200L
  d <- data.frame(z = rnorm(n))
  d$x <- 0.5 * d$z + rnorm(n)
  d$w <- d$x - d$z + rnorm(n)
  d$y <- 1 + d$x - 0.5 * d$w + rnorm(n)
  d$x[runif(n) < plogis(-1 + 1.5 * d$y)] <- NA
  d$w[runif(n) < plogis(-1 - d$y)] <- NA
  v <- as.matrix(d[c("x", "w", "z", "y")])
  mean <- colMeans(v, na.rm = TRUE)
  cov <- diag(apply(v, 2, var, na.rm = TRUE))
  for (k in 1:1000) {
    sum <- numeric(4)
    square <- matrix(0, 4, 4)
    for (rows in split(seq_len(n), apply(is.na(v), 1, paste, collapse = ""))) {
      gone <- is.na(v[rows[1], ])
      filled <- v[rows, , drop = FALSE]
      left <- matrix(0, 4, 4)
      if (any(gone)) {
        b <- solve(cov[!gone, !gone], cov[!gone, gone, drop = FALSE])
        gap <- filled[, !gone, drop = FALSE] - rep(mean[!gone], each = length(rows))
        filled[, gone] <- rep(mean[gone], each = length(rows)) + gap %*% b
        left[gone, gone] <- cov[gone, gone] - cov[gone, !gone] %*% b
      }
      sum <- sum + colSums(filled)
      square <- square + crossprod(filled) + length(rows) * left
    }
    mean <- sum / n
    cov <- square / n - tcrossprod(mean)
  }
  fit <- bkm(y ~ x + w + z, d, family = "gaussian", method = "vb", missing = "model", threads = 1)
  holes <- fit$design$holes
  at <- match(c("x", "w", "z"), holes$predictors)
  sd <- sqrt(diag(cov))[1:3]
  scale <- holes$scale[at]
  law <- fit$holes$model
  expect_lt(max(abs(holes$center[at] + scale * law$mean[at, 1] - mean[1:3]) / sd), 1e-6)
  own <- law$cov[[1]][at, at] * tcrossprod(scale)
  expect_lt(max(abs(own - cov[1:3, 1:3]) / tcrossprod(sd)), 1e-6)
})

# Which levels of a group are seen depends on the group's effect on the response.
test_that("levels in groups may be missing by the response", {
  one <- function(seed) {
    set.seed(seed)
    g <- gl(40, 10)
    z <- rnorm(400)
    high <- matrix(rnorm(120, 0, 1.5), 40)[g, ] + matrix(rnorm(1200), 400)
    d <- data.frame(z, x = factor(c("a", "b", "c")[max.col(high)]), g)
    d$y <- c(0, 1.2, -1.2)[d$x] - 0.5 * z + rnorm(40)[g] + rnorm(400)
    all <- lme4::fixef(lme4::lmer(y ~ x + z + (1 | g), d))
    d$x[runif(400) < plogis(2 * (d$y - mean(d$y)) - 0.5)] <- NA
    coef(bkm(
      y ~ x + z + (1 | g), d, family = "gaussian", method = "vb", missing = "model", threads = 1
    )) - all
  }
  gap <- vapply(1:10, one, numeric(4))
  # About two standard errors of these means; without the rounds .11 and -.21.
  expect_lt(abs(mean(gap["(Intercept)", ])), 0.1)
  expect_lt(abs(mean(gap["xb", ])), 0.13)
  expect_lt(abs(mean(gap["xc", ])), 0.13)
})

# Of a response that bends in x the fit and the law of x follow each other. In rounds of EM the
# evidence of all that is seen rises: the bound of the response and, in plain R, the density of the
# predictors that are seen.
test_that("each round of a process of a missing predictor raises the evidence of what is seen", {
  set.seed(4)
  n <- 120L
  d <- data.frame(z = rnorm(n))
  d$x <- 0.5 * d$z + rnorm(n)
  d$y <- sin(d$x) - 0.5 * d$z + rnorm(n)
  d$x[runif(n) < plogis(-1 + d$y)] <- NA
  rounds <- list()
  own_run <- asNamespace("bayeskernel")$run_vb
  watched <- function(job) {
    core <- own_run(job)
    rounds[[length(rounds) + 1L]] <<- list(
      x = job$design$holes$x, law = job$completion_model, bound = utils::tail(core$status$bound, 1L)
    )
    core
  }
  with_inside(list(most_law_rounds = 6L, law_still = 0, run_vb = watched), bkm(
    y ~ gp(x, kernel = rbf(1.2)) + z, d, family = "gaussian", method = "vb", missing = "model",
      threads = 1
  ))
  x <- rounds[[1L]]$x
  seen_density <- function(law) {
    sum(vapply(seq_len(n), function(i) {
      at <- which(!is.na(x[i, ]))
      root <- chol(law$cov[[1L]][at, at, drop = FALSE])
      gap <- backsolve(root, x[i, at] - law$mean[at, 1L], transpose = TRUE)
      -sum(log(diag(root))) - sum(gap^2) / 2
    }, 0))
  }
  evidence <- vapply(rounds, function(round) seen_density(round$law) + round$bound, 0)
  expect_length(evidence, 7L)
  # With 7 points in place of 21 rounds fell by 5e-4, and the first seemed to gain three times as
  # much.
  expect_gt(min(diff(evidence)), -1e-7)
  expect_gt(evidence[7L] - evidence[1L], 0.003)
  # Three rounds, which is what a fit has, are all but the end.
  expect_lt(abs(evidence[7L] - evidence[4L]), 1e-4)
})

# Levels in groups: log likelihood of all that is seen, by the sum over all completions of a group.
# Levels have a Dirichlet prior in each group, of the best size.
levels_likelihood <- function(fit, d) {
  law <- fit$holes$model
  scale <- fit$design$holes$scale
  at <- fit$design$holes$center + scale * law$mean[1L, ]
  sd <- sqrt(law$cov[[1L]][1L]) * scale
  effect <- c(0, coef(fit)[c("xb", "xc")])
  rest <- d$y - coef(fit)[["(Intercept)"]] - coef(fit)[["z"]] * d$z
  noise <- sigma(fit)^2
  shared <- as.numeric(VarCorr(fit)$g)[1L]
  parts <- lapply(split(seq_len(nrow(d)), d$g), function(own) {
    code <- as.integer(d$x[own])
    all <- as.matrix(expand.grid(lapply(code, function(k) if (is.na(k)) 1:3 else k)))
    each <- rep(1L, nrow(all))
    gap <- rest[own][col(all)] - effect[all]
    dim(gap) <- dim(all)
    n <- length(own)
    square <- rowSums(gap^2) - rowSums(gap)^2 * shared / (noise + n * shared)
    z <- matrix(dnorm(d$z[own][col(all)], at[all], sd, log = TRUE), nrow(all))
    list(
      value = rowSums(z) - square / (2 * noise) -
        ((n - 1) * log(noise) + log(noise + n * shared) + n * log(2 * pi)) / 2,
      counts = vapply(1:3, function(k) rowSums(all == k), numeric(nrow(all)))
    )
  })
  of_size <- function(log_size) {
    prior <- exp(log_size) * law$share
    sum(vapply(parts, function(part) {
      counts <- matrix(part$counts, ncol = 3L)
      value <- part$value + lgamma(sum(prior)) - lgamma(sum(prior) + sum(counts[1L, ])) +
        rowSums(lgamma(counts + rep(prior, each = nrow(counts)))) - sum(lgamma(prior))
      max(value) + log(sum(exp(value - max(value))))
    }, 0))
  }
  stats::optimize(of_size, c(-2, 6), maximum = TRUE)$objective
}

test_that("rounds for levels in groups raise the exact likelihood of what is seen", {
  for (seed in 1:2) {
    set.seed(seed)
    g <- gl(24L, 5L)
    n <- length(g)
    z <- rnorm(n)
    high <- matrix(rnorm(72L, 0, 1.5), 24L)[g, ] + matrix(rnorm(3L * n), n)
    d <- data.frame(z, x = factor(c("a", "b", "c")[max.col(high)]), g)
    d$y <- c(0, 1.2, -1.2)[d$x] - 0.5 * z + rnorm(24L)[g] + rnorm(n)
    d$x[runif(n) < plogis(2 * (d$y - mean(d$y)) - 0.5)] <- NA
    fitted <- function(values) {
      fit <- with_inside(c(list(law_still = 0), values), bkm(
        y ~ x + z + (1 | g), d, family = "gaussian", method = "vb", missing = "model", threads = 1
      ))
      levels_likelihood(fit, d)
    }
    # Neither rounds nor the likelihood of groups.
    first <- fitted(list(most_law_rounds = 0L, averaged_rows = function(job) NULL))
    value <- c(first, vapply(1:3, function(rounds) fitted(list(most_law_rounds = rounds)), 0))
    expect_gt(fitted(list(most_law_rounds = 0L)) - first, 0.1)
    expect_gt(value[2L] - value[1L], 0.3)
    expect_gt(value[4L] - value[1L], 0.3)
    # Effects of groups and levels are independent in the rounds: later ones may fall, .08 at most
    # in four data sets.
    expect_gt(min(diff(value)), -0.1)
  }
})

test_that("little noise is no harm: nodes are where the response leaves values", {
  set.seed(5)
  z <- rnorm(200)
  x <- 0.5 * z + rnorm(200)
  y <- 1 + x + 0.5 * z + 0.25 * rnorm(200)
  x[runif(200) < plogis(-0.5 + 1.5 * scale(y)[, 1])] <- NA
  d <- data.frame(y, x, z)
  best <- joint_normal_best(y ~ x + z, d)
  for (method in c("ep", "vb")) {
    fit <- golden_missing_fit(
      list(family = "gaussian", formula = y ~ x + z, data = d, groups = NULL), method
    )
    own <- golden_missing_estimates(fit)
    expect_lt(max(abs(own$mean[1:3] - best$mean) / best$sd), 0.1)
    # The mean is that of lost degrees of freedom above; it was 1.2 standard deviations more.
    expect_lt(abs(own$mean[["sigma"]] - best$sigma) / own$sd[["sigma"]], 0.5)
  }
})

test_that("a slope whose variable whole groups miss costs the intercept no more than these", {
  skip_if_not_installed("nlme")
  data("bdf", package = "nlme", envir = environment())
  d <- data.frame(y = bdf$langPOST, x = bdf$IQ.verb, s = bdf$sex, g = as.character(bdf$schoolNR))
  sd_of <- function(data) {
    fit <- flat(bkm)(y ~ x + (s | g), data, missing = "model", threads = 1)
    sqrt(diag(vcov(fit)))[["(Intercept)"]]
  }
  full <- sd_of(d)
  d$s[1:150] <- NA
  # By the sampler .95; ten of 131 schools are all that can be lost.
  expect_lt(sd_of(d) / full, 1.1)
  expect_gt(sd_of(d) / full, 0.95)
  d$s <- as.integer(d$s)
  expect_lt(sd_of(d) / full, 1.1)
})
