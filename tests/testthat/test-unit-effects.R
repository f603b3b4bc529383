# Effects of correlated units stand with the random effects.

test_that("units of `cov` are in ranef() and VarCorr(), not in coef()", {
  set.seed(4)
  q <- 12
  g <- 0.6^abs(outer(1:q, 1:q, "-"))
  dimnames(g) <- list(letters[1:q], letters[1:q])
  d <- data.frame(unit = rep(letters[1:q], each = 5), x = rnorm(60))
  u <- drop(crossprod(chol(g), rnorm(q)))
  d$y <- d$x + u[match(d$unit, letters)] + rnorm(60) / 2
  prior <- bkm_prior(beta_var = 100)
  for (method in c("ep", "vb", "gibbs")) {
    fit <- suppressWarnings(bkm(y ~ x, d, "gaussian",
      cov = list(unit = g), method = method, prior = prior, threads = 1,
      seed = 1
    ))
    expect_named(coef(fit), c("(Intercept)", "x"))
    expect_equal(dim(vcov(fit)), c(2L, 2L))
    expect_equal(rownames(confint(fit)), c("(Intercept)", "x"))
    expect_equal(sum(tidy(fit)$effect == "fixed"), 2L)
    effects <- ranef(fit)$unit
    expect_equal(rownames(effects), letters[1:q])
    # What predict() adds to the fixed part.
    rows <- data.frame(unit = letters[1:q], x = 0)
    expect_equal(
      effects[[1]] + coef(fit)[[1]], unname(predict(fit, rows, type = "link")), tolerance = 1e-6
    )
    table <- as.data.frame(VarCorr(fit))
    expect_equal(table$grp, c("unit", "Residual"))
    shown <- tidy(fit)
    expect_equal(table$sdcor[1], shown$estimate[shown$term == "sd__cov(unit)"])
    expect_equal(sum(tidy(fit, "ran_vals")$effect == "ran_vals"), q)
  }
})

test_that("marginal means are at the prior mean of units", {
  skip_if_not_installed("emmeans")
  set.seed(5)
  g <- 0.6^abs(outer(1:6, 1:6, "-"))
  dimnames(g) <- list(letters[1:6], letters[1:6])
  d <- data.frame(unit = rep(letters[1:6], 10), h = gl(3, 1, 60))
  d$y <- rnorm(60) + as.integer(d$h)
  fit <- bkm(y ~ h, d, "gaussian",
    cov = list(unit = g), prior = bkm_prior(beta_var = 100), threads = 1
  )
  means <- as.data.frame(emmeans::emmeans(fit, "h"))
  expect_equal(means$emmean, unname(coef(fit)[1] + c(0, coef(fit)[2:3])))
})
