# Random intercepts and a linear part of bark(): blocks of columns beside the kernels, whose
# coefficients are integrated out with theirs.

d <- bark_data(60)
set.seed(8)
d$h <- factor(sprintf("h%d", sample(rep_len(1:6, 60))))
effects <- c(h1 = -2, h2 = -1, h3 = 0, h4 = 0, h5 = 1, h6 = 2)
d$y <- d$y + 10 * effects[as.character(d$h)]
d$two <- factor(ifelse(sin(2 * d$a) + effects[as.character(d$h)] > 0, "hi", "lo"), c("lo", "hi"))
d$w <- rep_len(c(0.5, 1, 2), 60)
fit <- quick_bark(y ~ a + g + (1 | h), d, ndraws = 150, warmup = 2000)
both <- quick_bark(y ~ a + b + (1 | h), d, linear = TRUE, weights = w)
classes <- quick_bark(two ~ a + (1 | h), d, family = "binomial")
b_names <- sprintf("b[(Intercept) h:h%d]", 1:6)
variance_name <- "Sigma[h:(Intercept),(Intercept)]"

# The posterior of the coefficients of a draw in plain R, blocks first, at new rows of which `z` are
# the blocks' columns.
plain_draw <- function(fit, k, x_new, z_new) {
  core <- bark_core_draws(fit, k)
  own <- fit$posterior$x
  blocks <- core$blocks
  z <- block_columns(blocks, own, blocks$level)
  columns <- function(x, z) cbind(z, bark_basis(x, own, core$kernels$location, core$lambda[1, ]))
  variance <- c(
    rep(core$kernels$block_variance, c(if (blocks$linear) ncol(own), blocks$levels)),
    core$kernels$variance
  )
  w <- fit$weights %||% rep(1, nrow(own))
  basis <- columns(own, z)
  precision <- core$phi[[1]] * crossprod(basis * sqrt(w)) + diag(1 / variance)
  y <- (fit$y - fit$transform$response[1]) / fit$transform$response[2]
  covariance <- solve(precision)
  new <- columns(x_new, z_new)
  mean <- drop(covariance %*% crossprod(basis, core$phi[[1]] * w * y))
  list(
    coef = mean, mean = drop(new %*% mean), var = rowSums((new %*% covariance) * new),
    block_variance = core$kernels$block_variance[, 1]
  )
}

test_that("coefficients of blocks are those of a linear model given the rest", {
  for (one in list(fit, both)) {
    for (k in c(1, 40, 80)) {
      core <- bark_core_draws(one, k)
      found <- c(core$kernels$block_mean, core$kernels$mean)
      x <- one$posterior$x[0, , drop = FALSE]
      z <- block_columns(core$blocks, x, matrix(0L, 0L, 1L))
      plain <- plain_draw(one, k, x, z)
      expect_equal(plain$coef, found, tolerance = 1e-6)
    }
  }
})

test_that("f at new rows has the effect of its level, or its variance", {
  new <- data.frame(a = c(0, 0.5, -1), b = c(40, 50, 60), g = "u")
  new$h <- c("h5", "?", "h1")
  for (one in list(fit, both)) {
    rows <- new_rows(one, new)
    x <- scaled_predictors(one, rows$x)
    z <- outer(c("h5", "?", "h1"), sprintf("h%d", 1:6), `==`) + 0
    if (one$linear) z <- cbind(x, z)
    core <- bark_core_draws(one)
    found <- bark_latent_cpp(core, one$posterior$x, x, 1L, level_codes(rows$random))
    none <- bark_latent_cpp(core, one$posterior$x, x, 1L)
    for (k in c(1, 40, 80)) {
      plain <- plain_draw(one, k, x, z)
      expect_equal(found$mean[k, ], plain$mean, tolerance = 1e-6)
      tau2 <- plain$block_variance[length(plain$block_variance)]
      expect_equal(found$var[k, ], plain$var + c(0, tau2, 0), tolerance = 1e-5)
      z[, ncol(z) - 5:0] <- 0
      plain <- plain_draw(one, k, x, z)
      expect_equal(none$mean[k, ], plain$mean, tolerance = 1e-6)
      expect_equal(none$var[k, ], plain$var, tolerance = 1e-5)
      z[, ncol(z) - 5:0] <- outer(c("h5", "?", "h1"), sprintf("h%d", 1:6), `==`)
    }
    s <- one$transform$response
    expect_equal(predict(one, new), s[1] + s[2] * colMeans(found$mean), ignore_attr = TRUE)
    expect_equal(
      predict(one, new, re.form = NA), s[1] + s[2] * colMeans(none$mean), ignore_attr = TRUE
    )
  }
})

test_that("effects are found, and named as those of bsvm()", {
  skip_if_not_installed("lme4")
  skip_if_not_installed("posterior")
  found <- ranef(fit)
  expect_named(found, "h")
  expect_equal(dimnames(found$h), list(sprintf("h%d", 1:6), "(Intercept)"))
  expect_gt(stats::cor(found$h[[1]], effects), 0.98)
  expect_lt(max(abs(found$h[[1]] - mean(found$h[[1]]) - 10 * effects)), 5)
  table <- as.data.frame(found)
  expect_equal(table$condval, found$h[[1]])
  draws <- fit$draws[, , b_names]
  expect_equal(table$condval, unname(apply(draws, 3, mean)))
  expect_equal(table$condsd, unname(apply(draws, 3, stats::sd)))
  sd <- mean(sqrt(fit$draws[, , variance_name]))
  expect_equal(c(VarCorr(fit)$h), sd^2)
  expect_equal(attr(VarCorr(fit)$h, "stddev")[[1]], sd)
  expect_equal(lme4::ngrps(fit), c(h = 6L))
  plain <- bsvm(
    a > 0 ~ b + (1 | h), d, method = "gibbs", chains = 1, control = list(warmup = 5), ndraws = 5,
    threads = 1, seed = 1
  ) |> suppressWarnings()
  names <- dimnames(plain$draws)[[3]]
  own <- dimnames(fit$draws)[[3]]
  expect_setequal(
    own[startsWith(own, "b[") | startsWith(own, "Sigma[")],
    names[startsWith(names, "b[") | startsWith(names, "Sigma[")]
  )
  known <- posterior::variables(posterior::as_draws(fit))
  expect_true(all(c(b_names, variance_name) %in% known))
  expect_true(variance_name %in% coda::varnames(coda::as.mcmc.list(fit)))
  # R-hat watches the variance, and no single effect.
  expect_true(variance_name %in% fit$diagnostics$table$variable)
  expect_false(any(b_names %in% fit$diagnostics$table$variable))
})

test_that("draws of coefficients have the moments of their normal law", {
  # About their means given the rest of a draw, in units of their spread.
  core <- bark_core_draws(fit)
  b <- stack_chains(fit$draws)[, b_names] / fit$transform$response[2]
  z <- vapply(seq_len(nrow(b)), function(k) {
    at <- fit$posterior$x[rep(1, 6), , drop = FALSE]
    plain <- plain_draw(fit, k, at, diag(6))
    level <- bark_latent_cpp(bark_core_draws(fit, k), fit$posterior$x, at, 1L, cbind(1:6))
    expect_equal(c(level$mean), plain$mean, tolerance = 1e-6)
    b[k, 1] - core$kernels$block_mean[1, k]
  }, 0)
  means <- colMeans(t(core$kernels$block_mean))
  expect_lt(max(abs(colMeans(b) - means)), 0.1)
  expect_lt(abs(mean(z)) / (stats::sd(z) / sqrt(length(z))), 4)
  expect_gt(stats::sd(z), 0.01)
})

test_that("predictions say what they take of the effects", {
  at <- function(h) data.frame(a = 0.3, g = "v", h = h)
  without <- data.frame(a = 0.3, g = "v")
  known <- predict(fit, at("h6"), se.fit = TRUE)
  new <- predict(fit, at("h9"), se.fit = TRUE)
  none <- predict(fit, without, re.form = NA, se.fit = TRUE)
  expect_equal(new$fit, none$fit)
  expect_gt(known$fit, new$fit + 10)
  tau2 <- mean(fit$draws[, , variance_name])
  expect_equal(new$se.fit^2, none$se.fit^2 + tau2)
  expect_lt(known$se.fit, new$se.fit)
  expect_equal(predict(fit, at("h6"), re.form = "new", se.fit = TRUE), new)
  expect_equal(predict(fit, without, re.form = "new"), new$fit)
  expect_equal(predict(fit, at(NA)), NA_real_, ignore_attr = TRUE)
  # Draws, limits and the rows of the fit.
  draws <- predict(fit, at(c("h6", "h9")), draws = TRUE, seed = 1)
  expect_equal(colMeans(draws), c(known$fit, new$fit), tolerance = 0.05)
  expect_gt(stats::sd(draws[, 2]), 2 * stats::sd(draws[, 1]))
  expect_equal(predict(fit), predict(fit, d), ignore_attr = TRUE)
  limits <- predict(fit, d, interval = "credible", seed = 1)
  expect_true(all(limits[, "lwr"] < limits[, "upr"]))
  expect_lt(mean((fitted(fit) - d$y)^2), 0.1 * var(d$y))
  # Rows in any order, and in parts.
  turned <- predict(fit, d[60:1, ])
  expect_equal(rev(turned), predict(fit, d), ignore_attr = TRUE)
})

test_that("probabilities integrate over the effects of new levels", {
  new <- data.frame(a = 0.8, h = c("h6", "h9"))
  p <- predict(classes, new, type = "prob")[, "hi"]
  none <- predict(classes, new[2, ], type = "prob", re.form = NA)[, "hi"]
  expect_gt(p[[1]], p[[2]])
  core <- bark_core_draws(classes)
  x <- scaled_predictors(classes, new_rows(classes, new[2, ], "none")$x)
  f <- bark_latent_cpp(core, classes$posterior$x, x, 1L)
  tau2 <- c(core$kernels$block_variance)
  expect_equal(none[[1]], mean(stats::pnorm(f$mean / sqrt(1 + f$var))))
  expect_equal(p[[2]], mean(stats::pnorm(f$mean[, 1] / sqrt(1 + f$var[, 1] + tau2))))
  # The deviation is of Phi(f) over the posterior: over draws, over f given a draw, and over the
  # effect of a new level.
  known <- scaled_predictors(classes, new_rows(classes, new)$x)
  f <- bark_latent_cpp(core, classes$posterior$x, known, 1L, cbind(c(6L, 0L)))
  own <- predict(classes, new, type = "prob", se.fit = TRUE)$se.fit
  for (row in 1:2) {
    square <- vapply(seq_along(tau2), function(k) {
      root <- sqrt(f$var[k, row])
      stats::integrate(function(u) {
        stats::pnorm(f$mean[k, row] + u)^2 * stats::dnorm(u, 0, root)
      }, -10 * root, 10 * root)$value
    }, 0)
    expect_equal(own[[row]], sqrt(mean(square) - p[[row]]^2), tolerance = 1e-4)
  }
  expect_gt(stats::cor(ranef(classes)$h[[1]], effects), 0.9)
  expect_gt(mean(predict(classes) == d$two), 0.85)
})

test_that("joint draws share the effects of a level", {
  rows <- new_rows(both, data.frame(a = 0, b = 50, h = c("x", "x", "y", "h2")), named = TRUE)
  # Many draws of one level's effect, which has heavy tails.
  f <- do.call(rbind, lapply(1:25, function(seed) {
    with_seed(seed, joint_draws(both, rows, NULL, 1L))$f
  }))
  expect_equal(f[, 1], f[, 2])
  expect_gt(min(abs(f[, 1] - f[, 3])), 0)
  new <- data.frame(a = 0, b = 50, h = c("x", "h2"))
  apart <- predict(both, new, se.fit = TRUE)
  expect_equal(colMeans(f)[c(1, 4)], apart$fit, tolerance = 0.1, ignore_attr = TRUE)
  expect_equal(stats::sd(f[, 1]), apart$se.fit[[1]], tolerance = 0.1)
  shown <- exposure(fit, newdata = d, ndraws = 20, threads = 1)
  expect_true(all(is.finite(as.data.frame(shown)$estimate)))
})

test_that("a linear part has its slopes on the scale of the data", {
  line <- d
  line$y <- 3 + 20 * d$a - 0.5 * d$b + stats::rnorm(60)
  own <- quick_bark(y ~ a + b, line, linear = TRUE, warmup = 3000, ndraws = 100)
  # The kernels explain what they can: slopes and kernels add up.
  ahead <- data.frame(a = c(0, 1, 0), b = c(50, 50, 54))
  expect_equal(diff(predict(own, ahead)[1:2]), 20, tolerance = 0.15, ignore_attr = TRUE)
  names <- c("beta[a]", "beta[b]")
  # Draws about their means given the kernels, which are kept.
  slopes <- apply(own$draws[, , names], 3, as.vector)
  means <- bark_core_draws(own)$kernels$block_mean * own$transform$response[2] / own$transform$scale
  apart <- slopes - t(means)
  error <- apply(apart, 2, stats::sd) / sqrt(nrow(apart))
  expect_true(all(abs(colMeans(apart)) < 4 * error))
  expect_gt(mean(slopes[, 1]), 0)
  expect_true("sigma2[linear]" %in% own$diagnostics$table$variable)
  expect_null(own$posterior$random[1][[1]])
  expect_bk_error(ranef(own), "argument", "no random effects")
  text <- capture.output(summary(own))
  expect_match(text, "Linear part: +of all predictors", all = FALSE)
  expect_match(text, "variance of slopes", all = FALSE)
  rows <- bark_scaled(own, ahead)
  core <- bark_core_draws(own, 7)
  expect_equal(
    bark_latent_cpp(core, own$posterior$x, rows, 1L)$mean[1, ], plain_draw(own, 7, rows, rows)$mean,
    tolerance = 1e-6
  )
})

test_that("without an effect its standard deviation is near 0", {
  none <- d
  none$y <- sin(2 * d$a) + rnorm(60) / 5
  free <- quick_bark(y ~ a + (1 | h), none, ndraws = 100, warmup = 3000)
  sd <- sqrt(free$draws[, , variance_name])
  expect_lt(stats::median(sd), 0.15)
  expect_lt(min(sd), 0.02)
  expect_lt(max(abs(ranef(free)$h[[1]])), 0.15)
})

test_that("groups of one row each, and several factors", {
  skip_if_not_installed("lme4")
  single <- d
  single$id <- factor(seq_len(60))
  one <- quick_bark(y ~ a + (1 | id), single)
  expect_equal(lme4::ngrps(one), c(id = 60L))
  expect_true(all(is.finite(predict(one, single))))
  nested <- quick_bark(y ~ a + (1 | h / g), d)
  expect_equal(lme4::ngrps(nested), c("g:h" = 18L, h = 6L)[names(lme4::ngrps(nested))])
  expect_named(ranef(nested), names(lme4::ngrps(nested)), ignore.order = TRUE)
  expect_equal(predict(nested, d), fitted(nested), ignore_attr = TRUE)
  three <- quick_bark(three ~ a + (1 | h), d, family = "ordinal")
  p <- predict(three, data.frame(a = 0, h = c("h1", "?")), type = "prob")
  expect_equal(rowSums(p), c(1, 1), ignore_attr = TRUE)
})

test_that("what bark() makes nothing of is refused", {
  expect_bark_refusal(quick_bark(y ~ a + (a | h), d), "argument", "terms that bark.. does not")
  expect_bark_refusal(quick_bark(y ~ a + (a | h), d), "argument", "random slopes")
  many <- d[rep(1:60, 4), ]
  many$id <- factor(seq_len(240))
  refused <- expect_bark_refusal(quick_bark(y ~ a + (1 | id), many), "argument", "too many levels")
  expect_equal(refused$column, "id")
  expect_equal(refused$found, 240)
  expect_bark_refusal(quick_bark(y ~ a, d, linear = TRUE, select = TRUE), "argument", "linear part")
  expect_bark_refusal(quick_bark(y ~ a, d, linear = "yes"), "argument", "linear")
  expect_bark_refusal(predict(fit, data.frame(a = 1, g = "u")), "argument", "\\bh\\b")
  for (part in c("block_mean", "block_variance")) {
    broken <- fit
    broken$posterior$kernels[[1]][[part]] <- broken$posterior$kernels[[1]][[part]][-1]
    expect_bk_error(predict(broken, d), "argument", "not whole")
  }
  broken <- fit
  broken$posterior$blocks$level[1] <- 7L
  expect_bk_error(predict(stamped(broken), d), "argument")
})

test_that("a run that goes on is the run without a break", {
  half <- quick_bark(y ~ a + (1 | h), d, ndraws = 20, linear = TRUE)
  path <- tempfile(fileext = ".rds")
  on.exit(unlink(path))
  saveRDS(half, path)
  rest <- quick_bark(y ~ a + (1 | h), d, ndraws = 40, linear = TRUE, resume = readRDS(path))
  whole <- quick_bark(y ~ a + (1 | h), d, ndraws = 40, linear = TRUE)
  expect_equal(rest$draws, whole$draws, tolerance = 0)
  expect_equal(rest$posterior$kernels, whole$posterior$kernels, tolerance = 0)
  expect_equal(predict(readRDS(path), d), predict(half, d))
  damaged <- half
  damaged$state[[1]]$block_variance <- -1
  expect_bk_error(quick_bark(
    y ~ a + (1 | h), d, ndraws = 40, linear = TRUE, resume = damaged
  ), "argument")
  rounds <- bark(
    y ~ a + (1 | h), d, chains = 2, control = list(warmup = 200, thin = 5, progress = FALSE),
    ndraws = 20, until = stop_at(rhat = 1.3, sweeps = 8e4), threads = 1, seed = 2
  ) |> suppressWarnings()
  expect_true(rounds$diagnostics$until$reached)
})

test_that("chains that disagree are stacked with their effects", {
  stacked <- fit
  stacked$stamp <- NULL
  stacked$diagnostics$table$rhat[1] <- 2
  stacked$chain_weights <- chain_weights(stacked, 1L)
  expect_equal(sum(stacked$chain_weights), 1)
  # The density of a row given the others, by the covariance of all.
  y <- (d$y - fit$transform$response[1]) / fit$transform$response[2]
  core <- bark_core_draws(fit, 5)
  z <- block_columns(core$blocks, fit$posterior$x, core$blocks$level)
  basis <- bark_basis(fit$posterior$x, fit$posterior$x, core$kernels$location, core$lambda[1, ])
  v <- c(core$kernels$block_variance) * tcrossprod(z) +
    basis %*% (core$kernels$variance * t(basis)) + diag(1 / core$phi[[1]], 60)
  inverse <- solve(v)
  mean <- y - drop(inverse %*% y) / diag(inverse)
  expect_equal(
    left_out_densities(fit, 5, 1L)[1, ],
    stats::dnorm(y, mean, sqrt(1 / diag(inverse)), TRUE) - log(fit$transform$response[2]),
    tolerance = 1e-6
  )
})

test_that("tables and pictures have the groups", {
  skip_if_not_installed("rstantools")
  text <- capture.output(fit)
  expect_match(text, "groups: h 6", all = FALSE)
  expect_match(text, "Variance components", all = FALSE)
  rows <- generics::tidy(fit)
  at <- rows[rows$effect == "ran_pars", ]
  expect_equal(at$term, "sd__(Intercept)")
  expect_equal(at$estimate, mean(sqrt(fit$draws[, , variance_name])))
  expect_equal(sum(generics::tidy(fit, "ran_vals")$effect == "ran_vals"), 6)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_no_error(plot(fit, "ranef"))
  expect_error(plot(both, "inclusion"), "ranef")
  expect_match(rownames(summary(fit)$variances), "sd((Intercept) | h)", fixed = TRUE)
  expect_equal(ncol(simulate(fit, 3, seed = 1)), 3)
  expect_equal(dim(rstantools::posterior_epred(fit, d[1:4, ])), c(300, 4))
})

test_that("slopes along all levels of a factor, and along copies of a predictor, are numbers", {
  i <- 1:40
  d <- data.frame(x = sin(i), g = factor(c("a", "b", "c")[1 + i %% 3]))
  d$y <- d$x + as.integer(d$g) + 0.1 * cos(3 * i)
  fit <- function(formula) {
    suppressWarnings(bark(
      formula, d, linear = TRUE, chains = 1, ndraws = 40, until = NULL, seed = 1, threads = 1,
      control = bark_control(warmup = 200)
    ))
  }
  slopes <- colMeans(fit(y ~ x + g)$posterior$slopes)
  expect_false(anyNA(slopes))
  expect_equal(slopes[["slope[gc]"]] - slopes[["slope[ga]"]], 2, tolerance = 0.1)
  expect_output(print(summary(fit(y ~ x + g))), "slope of f along gc")
  expect_false(anyNA(fit(y ~ x + I(2 * x))$posterior$slopes))
})
