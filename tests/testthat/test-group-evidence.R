# What a fit with random effects says of its likelihood, by quadrature and by refits.

pairs <- local({
  set.seed(3)
  d <- data.frame(g = gl(20, 2), x = rnorm(40))
  d$y <- as.integer(0.5 * d$x + 1.5 * rnorm(20)[d$g] + rlogis(40) > 0)
  d
})
pairs_prior <- bkm_prior(beta_var = 6.25, var_shape = 2, var_rate = 2)

test_that("loo() with groups is what refits predict", {
  skip_if_not_installed("loo")
  for (family in c("logit", "probit")) {
    fit <- function(rows) {
      bkm(y ~ x + (1 | g), pairs[rows, ], family,
        standardize = FALSE, prior = pairs_prior, threads = 1
      )
    }
    refit <- vapply(1:40, function(i) {
      p <- predict(fit(-i), pairs[i, ], type = "prob")[, 2]
      log(if (pairs$y[i] == 1) p else 1 - p)
    }, 1)
    found <- loo::loo(fit(1:40))$pointwise[, 1]
    expect_lt(abs(sum(found) - sum(refit)), 0.1)
  }
})

# The posterior of (b0, b1, log s2) on a grid, the effects by quadrature.
exact_deviance <- function(d) {
  a <- seq(-2.5, 3, length.out = 19)
  b <- seq(-1.5, 3.5, length.out = 19)
  s <- seq(log(0.15), log(40), length.out = 19)
  at <- expand.grid(a = a, b = b, s = s)
  log_post <- dnorm(at$a, 0, 10, TRUE) + dnorm(at$b, 0, 2.5, TRUE) - 2 * at$s - 2 * exp(-at$s)
  node <- seq(-5.5, 5.5, length.out = 41)
  mass <- dnorm(node) * (node[2] - node[1])
  sd <- exp(at$s / 2)
  expected <- f_mean <- matrix(0, nrow(at), nrow(d))
  for (rows in split(seq_len(nrow(d)), d$g)) {
    f <- lapply(rows, function(i) at$a + at$b * d$x[i] + outer(sd, node))
    l <- Map(function(f, i) plogis((2 * d$y[i] - 1) * f, log.p = TRUE), f, rows)
    w <- t(t(exp(Reduce(`+`, l))) * mass)
    total <- rowSums(w)
    log_post <- log_post + log(total)
    for (k in seq_along(rows)) {
      expected[, rows[k]] <- rowSums(w * l[[k]]) / total
      f_mean[, rows[k]] <- rowSums(w * f[[k]]) / total
    }
  }
  w <- exp(log_post - max(log_post))
  w <- w / sum(w)
  average <- sum(w %*% expected)
  best <- sum(plogis((2 * d$y - 1) * c(w %*% f_mean), log.p = TRUE))
  c(deviance = -2 * average, df = 2 * (best - average))
}

test_that("deviance() and degrees of freedom are those of the posterior", {
  exact <- exact_deviance(pairs)
  prior <- bkm_prior(beta_var = 6.25, intercept_var = 100, var_shape = 2, var_rate = 2)
  for (method in c("ep", "gibbs")) {
    fit <- suppressWarnings(bkm(y ~ x + (1 | g), pairs, "logit",
      method = method, standardize = FALSE, prior = prior, threads = 1,
      seed = 1
    ))
    expect_lt(abs(deviance(fit) - exact[["deviance"]]), 0.8)
    expect_lt(abs(attr(logLik(fit), "df") - exact[["df"]]), 0.8)
  }
})

test_that("VarCorr(), print() and summary() have one estimate", {
  skip_if_not_installed("nlme")
  set.seed(2)
  d <- data.frame(g = gl(12, 8), x = rnorm(96))
  d$y <- rnorm(12)[d$g] + d$x * (1 + rnorm(12)[d$g] / 2) + rnorm(96) / 2
  fit <- bkm(y ~ x + (1 + x | g), d, "gaussian",
    method = "gibbs", prior = bkm_prior(beta_var = 100), threads = 1, seed = 1,
    until = stop_at(rhat = 1.2)
  )
  table <- as.data.frame(VarCorr(fit))
  shown <- subset(tidy(fit), effect == "ran_pars")
  at <- function(term) shown$estimate[shown$term == term]
  expect_equal(table$sdcor[1:2], c(at("sd__(Intercept)"), at("sd__x")))
  expect_equal(table$grp[4], "Residual")
  expect_equal(table$sdcor[4], sigma(fit))
  expect_output(print(VarCorr(fit)), "Residual")
  # A goal that was reached is convergence, also one that is not 1.05.
  expect_true(glance(fit)$converged)
})
