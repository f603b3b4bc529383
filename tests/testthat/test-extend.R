# More rows for a linear fit: near the fit to all rows, equal to it where the model is linear and
# Gaussian.

extend_data <- function(n = 600, seed = 1) {
  set.seed(seed)
  d <- data.frame(
    x = rnorm(n), z = rnorm(n), g = factor(sample(40, n, TRUE), 1:40),
    part = rep(1:2, c(2 * n / 3, n / 3))
  )
  d$g[d$part == 1 & as.integer(d$g) > 35] <- "1" # 5 groups come late
  d$f <- 0.8 * d$x - 0.4 * d$z + rnorm(40, sd = 0.8)[d$g]
  d$y <- d$f + rlogis(n) > 0
  d$number <- 3 + 2 * (d$f + rnorm(n, sd = 0.5))
  d
}

ep_of <- function(formula, data, ..., front = bkm) {
  flat(front)(formula, data, ..., threads = 1, progress = FALSE)
}
more <- function(fit, data, ...) extend(fit, data, ..., threads = 1, progress = FALSE)
first <- function(d) droplevels(d[d$part == 1, ])
second <- function(d) d[d$part == 2, ]

# By how many standard deviations of `b` its coefficients differ from those of `a`, and by what
# factors these do.
gaps <- function(a, b) {
  sd <- sqrt(diag(vcov(b)))
  c(shift = max(abs(coef(a) - coef(b)) / sd), ratio = max(abs(log(sqrt(diag(vcov(a))) / sd))))
}

test_that("a linear Gaussian model: the posterior of all rows", {
  d <- extend_data()
  prior <- bkm_prior(beta_var = 100, noise_shape = 2, noise_rate = 2)
  go <- function(data) {
    ep_of(number ~ x + z, data,
      family = "gaussian", prior = prior, penalty = "none",
      standardize = FALSE, tol = 1e-8
    )
  }
  a <- more(go(first(d)), second(d))
  b <- go(d)
  # The noise is integrated over in b, and has its own q in a.
  expect_lt(gaps(a, b)[["shift"]], 0.03)
  expect_lt(gaps(a, b)[["ratio"]], 0.03)
  expect_equal(sigma(a), sigma(b), tolerance = 5e-3)
  # By hand, the noise as it is: precision X'X / s2 added to the first fit's.
  one <- go(first(d))
  x <- cbind(1, second(d)$x, second(d)$z)
  s2 <- a$posterior$noise$rate / a$posterior$noise$shape
  precision <- solve(one$posterior$theta_cov) + crossprod(x) / s2
  mean <- solve(precision, solve(
    one$posterior$theta_cov, one$posterior$theta_mean
  ) + crossprod(x, second(d)$number) / s2)
  expect_equal(unname(a$posterior$theta_mean), c(mean), tolerance = 1e-5)
  expect_equal(unname(a$posterior$theta_cov), unname(solve(precision)), tolerance = 1e-5)
})

test_that("classes: near the fit to all rows, by one step or several", {
  d <- extend_data()
  for (family in c("logit", "probit")) {
    one <- ep_of(y ~ x + z, first(d), family = family)
    a <- more(one, second(d))
    b <- ep_of(y ~ x + z, d, family = family)
    expect_true(all(gaps(a, b) < c(0.1, 0.03)))
    expect_gt(gaps(one, b)[["ratio"]], 0.1)
    expect_equal(a$log_evidence, b$log_evidence, tolerance = 0.01)
    new <- second(d)
    steps <- more(more(one, new[1:50, ]), new[51:200, ])
    expect_true(all(gaps(steps, a) < 0.05))
    expect_equal(nobs(a), nrow(d))
    expect_identical(more(one, new[names(new) != "y"], y = new$y)$posterior, a$posterior)
  }
})

test_that("groups, also new ones, crossed and with slopes", {
  skip_if_not_installed("lme4")
  skip_if_not_installed("rstantools")
  d <- extend_data(1500)
  d$item <- gl(8, 1, nrow(d))
  late <- data.frame(x = 0, z = 0, g = factor(c(1, 36, 40)), item = "1")
  for (formula in list(
    y ~ x + z + (1 | g), y ~ x + z + (x | g), y ~ x + z + (1 | g) + (1 | item),
    y ~ x + z + (1 | g) + (1 | item:g)
  )) {
    one <- ep_of(formula, first(d))
    a <- more(one, second(d))
    b <- ep_of(formula, d)
    expect_true(all(gaps(a, b) < c(0.4, 0.25)))
    expect_equal(lme4::ngrps(a), lme4::ngrps(b))
    new <- second(d)[1:30, ]
    expect_gt(cor(predict(a, new, type = "link"), predict(b, new, type = "link")), 0.99)
    # Who came late is now known.
    before <- predict(one, late, type = "link", se.fit = TRUE)$se.fit
    after <- predict(a, late, type = "link", se.fit = TRUE)$se.fit
    expect_true(all(after[2:3] < before[2:3]))
    effects <- ranef(a)$g
    expect_setequal(rownames(effects), rownames(ranef(b)$g))
    expect_gt(cor(effects[rownames(ranef(b)$g), 1], ranef(b)$g[, 1]), 0.97)
    expect_length(rstantools::posterior_linpred(a, newdata = late), 3000)
  }
})

test_that("the joint law of effects is that of the dense algebra", {
  d <- extend_data(300)
  one <- ep_of(number ~ x + (1 | g), first(d), family = "gaussian")
  a <- more(one, second(d))
  one$stamp <- NULL
  one$posterior["points"] <- list(NULL)
  # Of rows: the covariance of f by the arrow form, before and after.
  s2 <- a$posterior$noise$rate / a$posterior$noise$shape
  all <- rbind(first(d), second(d))
  grown <- grow_groups(one, second(d))
  f <- function(fit, rows) {
    q <- joint_effects(fit)
    e <- effect_columns(fit, new_rows(fit, rows), ncol(q$cov))
    list(mean = drop(e %*% q$mean), cov = e %*% q$cov %*% t(e))
  }
  new <- second(d)
  prior <- f(grown, new)
  gain <- prior$cov %*% solve(prior$cov + diag(s2, nrow(new)))
  after <- f(a, new)
  expect_equal(after$mean, prior$mean + drop(gain %*% (new$number - prior$mean)), tolerance = 1e-5)
  expect_equal(after$cov, prior$cov - gain %*% prior$cov, tolerance = 1e-5, ignore_attr = TRUE)
  moments <- predict(a, new, type = "link", se.fit = TRUE)
  expect_equal(unname(moments$se.fit), unname(sqrt(diag(after$cov))), tolerance = 1e-6)
})

test_that("smooths and processes", {
  d <- extend_data(900)
  d$y <- sin(2 * d$x) + d$z + rlogis(900) / 2 > 0
  grid <- data.frame(x = seq(-2, 2, 0.5), z = 0)
  for (formula in list(y ~ z + s(x), y ~ z + gp(x))) {
    one <- ep_of(formula, first(d), family = "probit")
    a <- more(one, second(d))
    b <- ep_of(formula, d, family = "probit")
    fa <- predict(a, grid, type = "link", se.fit = TRUE)
    fb <- predict(b, grid, type = "link", se.fit = TRUE)
    expect_lt(max(abs(fa$fit - fb$fit) / fb$se.fit), 0.6)
    expect_lt(max(abs(log(fa$se.fit / fb$se.fit))), 0.2)
  }
})

test_that("support vector machines: sandwich and link", {
  d <- extend_data(3000)
  one <- ep_of(y ~ x + z, first(d), front = bsvm)
  a <- more(one, second(d))
  b <- ep_of(y ~ x + z, d, front = bsvm)
  expect_true(all(gaps(a, b) < c(0.3, 0.1)))
  expect_gt(gaps(one, b)[["ratio"]], 0.15)
  expect_equal(
    predict(a, d[1:20, ], type = "prob")[, 2], predict(b, d[1:20, ], type = "prob")[, 2],
    tolerance = 0.05
  )
  expect_output(print(summary(a)), "sandwich")
})

test_that("weights, files, and what is left of the rows", {
  skip_if_not_installed("loo")
  d <- extend_data()
  one <- ep_of(y ~ x + z, first(d))
  new <- second(d)
  twice <- more(one, new[rep(1:200, 2), ])
  weighted <- more(one, new, weights = rep(2, 200))
  expect_lt(max(gaps(twice, weighted)), 0.02)
  saved <- tempfile()
  on.exit(unlink(saved))
  saveRDS(twice, saved)
  expect_identical(predict(readRDS(saved), new, type = "prob"), predict(twice, new, type = "prob"))
  expect_error(fitted(twice), class = "bayeskernel_error_argument")
  expect_error(loo::loo(twice), class = "bayeskernel_error")
  expect_output(print(summary(twice)), "Rows: +800")
  expect_equal(more(one, new[0, ]), one)
})

test_that("what cannot be extended, and rows that do not fit", {
  d <- extend_data()
  new <- second(d)
  for (fit in list(
    ep_of(y ~ x, d, method = "vb"), ep_of(cbind(y + 1, 2 - y) ~ x, transform(d, y = as.integer(y))),
    suppressWarnings(ep_of(y ~ x, d, method = "gibbs", ndraws = 20, warmup = 10, chains = 1))
  )) {
    expect_error(more(fit, new), class = "bayeskernel_error_argument")
  }
  one <- ep_of(y ~ x + (1 | g), first(d))
  expect_error(more(one, new["x"]), class = "bayeskernel_error")
  bad <- list(
    transform(new, y = NA), transform(new, x = NA_real_),
    transform(new, g = NA), transform(new, y = "maybe")
  )
  for (rows in bad) expect_error(more(one, rows), class = "bayeskernel_error")
  expect_error(more(one, new, weights = -1), class = "bayeskernel_error")
  expect_error(more(one, new, wieghts = 1), class = "bayeskernel_error")
})

test_that("a variance that the first rows hardly tell is said to stay, once", {
  d <- extend_data()
  vague <- ep_of(y ~ x + (1 | g), d[1:60, ])
  expect_warning(
    grown <- more(vague, second(d)[1:50, ]), "sd\\(\\(Intercept\\) \\| g\\)",
    class = "bayeskernel_warning_identification"
  )
  expect_no_warning(more(grown, second(d)[51:100, ]))
  expect_no_warning(more(ep_of(y ~ x + (1 | g), first(d)), second(d)))
})

test_that("an extended fit says that its variances are those of the first rows", {
  set.seed(4)
  d <- data.frame(x = rnorm(120), g = gl(12, 10))
  d$y <- d$x + 2 * rnorm(12)[d$g] + rnorm(120)
  fit <- bkm(y ~ x + (1 | g), d[1:90, ], threads = 1)
  expect_output(print(fit), "Variance components:", fixed = TRUE)
  grown <- extend(fit, d[91:120, ], threads = 1)
  expect_output(print(grown), "Variance components, as they were before extend():", fixed = TRUE)
  expect_output(print(summary(grown)), "components, as they were before extend", fixed = TRUE)
})

test_that("an extended fit says that it keeps no rows, and its classes", {
  set.seed(3)
  d <- data.frame(x = rnorm(90))
  d$y <- d$x + rlogis(90) > 0.5
  w <- rep(1:3, 30)
  one <- bkm(y ~ x, d[1:60, ], weights = w[1:60], threads = 1)
  fit <- extend(one, d[61:80, ], weights = w[61:80], threads = 1)
  fit <- extend(fit, d[81:90, ], weights = w[81:90], threads = 1)
  share <- weighted.mean(d$y, w)
  expect_equal(fit$share, share)
  expect_false(any(grepl("NaN", capture.output(print(fit), summary(fit)))))
  p <- predict(fit, d, type = "prob")[, "TRUE"]
  expect_identical(unname(predict(fit, d, threshold = "prevalence") == "TRUE"), unname(p >= share))
  no_rows <- function(code) {
    expect_error(code, "needs the rows", class = "bayeskernel_error_argument")
  }
  no_rows(deviance(fit))
  no_rows(update(fit, . ~ . - x))
  no_rows(compare_terms(fit))
  no_rows(simulate(fit))
  skip_if_not_installed("loo")
  no_rows(loo::loo(fit))
  all <- update(fit, data = d, weights = w)
  expect_identical(nobs(all), 90L)
})
