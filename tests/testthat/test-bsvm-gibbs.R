source(test_path("reference", "svm-elbo.R"), local = TRUE)

slow <- identical(Sys.getenv("BAYESKERNEL_SLOW"), "true")

gibbs <- function(...) {
  withCallingHandlers(
    flat(bsvm)(..., method = "gibbs", threads = 1, progress = FALSE),
    bayeskernel_warning_convergence = function(w) invokeRestart("muffleWarning")
  )
}

make_data <- function(seed = 1, n = 60) {
  set.seed(seed)
  d <- data.frame(
    x1 = rnorm(n), x2 = rnorm(n, 3, 2), g = gl(5, 1, n), h = gl(3, 2, n),
    w = runif(n, 0.3, 2), o = rnorm(n)
  )
  f <- d$o + d$x1 + rnorm(5)[d$g] + rnorm(3)[d$h]
  d$y <- ifelse(f + rlogis(n) > 0, 1, -1)
  d
}

# Largest |z| between the means and sds of two arrays of draws.
largest_z <- function(a, b) {
  a <- batch_summary(a)
  b <- batch_summary(b)
  max(
    abs(a$mean - b$mean) / sqrt(a$mcse_mean^2 + b$mcse_mean^2),
    abs(a$sd - b$sd) / sqrt(a$mcse_sd^2 + b$mcse_sd^2)
  )
}

# Draws of the textbook sampler: theta, then the lower triangle of each component.
textbook_draws <- function(problem, draws) {
  state <- list(theta = numeric(ncol(problem$C)), inverse = start_precision(problem))
  out <- NULL
  for (t in seq_len(300 + draws)) {
    state <- svm_sweep(problem, state)
    variances <- unlist(lapply(state$inverse, function(a) {
      a <- solve(a)
      a[lower.tri(a, TRUE)]
    }))
    row <- c(state$theta, variances)
    if (is.null(out)) out <- matrix(0, 300 + draws, length(row))
    out[t, ] <- row
  }
  out <- out[-seq_len(300), ]
  array(out, c(draws, 1, ncol(out)), list(NULL, NULL, seq_len(ncol(out))))
}

test_that("a mixture of crossed terms has the law of the textbook sampler", {
  d <- make_data()
  n_draws <- if (slow) 20000 else 3000
  fit <- gibbs(y ~ x1 + (x1 | g) + (1 | h), d,
    weights = w, offset = o, standardize = FALSE, penalty = "learn",
    prior = bsvm_prior(beta_var = 4, var_shape = 3, var_rate = 2, cov_df = 7, cov_scale = 3),
    warmup = 300, ndraws = n_draws, chains = 2, seed = 1
  )
  indicators <- function(f, z) do.call(cbind, lapply(levels(f), function(k) z * (f == k)))
  C <- cbind(1, d$x1, indicators(d$g, cbind(1, d$x1)), indicators(d$h, 1))
  problem <- svm_problem(C, d$y, d$w, d$o,
    P0 = c(0.25, numeric(14)),
    blocks = list(
      list(at = matrix(2), type = "iid", A = 3, B = 2),
      list(
        at = matrix(3:12, ncol = 2, byrow = TRUE), type = "unstructured", nu = 7, S = diag(3, 2)
      ),
      list(at = matrix(13:15), type = "iid", A = 3, B = 2)
    )
  )
  set.seed(2)
  # The core orders variables as the formula does: penalty, g, h.
  expect_lt(largest_z(fit$draws, textbook_draws(problem, 2 * n_draws)), 5)
})

test_that("more predictors than rows have the law of the textbook sampler", {
  set.seed(3)
  x <- matrix(rnorm(8 * 14), 8)
  y <- rep(c(1, -1), 4)
  n_draws <- if (slow) 20000 else 3000
  fit <- gibbs(x, y,
    standardize = FALSE,
    prior = bsvm_prior(beta_var = 4, var_shape = 3, var_rate = 2),
    warmup = 300, ndraws = n_draws, chains = 2, seed = 4
  )
  problem <- svm_problem(
    cbind(1, x), y, P0 = c(0.25, numeric(14)),
    blocks = list(list(at = matrix(2:15), type = "iid", A = 3, B = 2))
  )
  expect_lt(largest_z(fit$draws, textbook_draws(problem, 2 * n_draws)), 5)
})

test_that("variables are named by coefficient, level and component", {
  d <- make_data()
  fit <- gibbs(y ~ x1 + x2 + (x2 | g) + (1 | h), d, penalty = "learn",
    warmup = 10, ndraws = 5, chains = 2, seed = 5
  )
  expect_identical(dim(fit$draws)[1:2], c(5L, 2L))
  expect_identical(dimnames(fit$draws)[[3]], c(
    "(Intercept)", "x1", "x2", sprintf("b[%s g:%d]", c("(Intercept)", "x2"), rep(1:5, each = 2)),
    sprintf("b[(Intercept) h:%d]", 1:3), "sigma2[penalty]", "Sigma[g:(Intercept),(Intercept)]",
    "Sigma[g:x2,(Intercept)]", "Sigma[g:x2,x2]", "Sigma[h:(Intercept),(Intercept)]"
  ))
})

test_that("shifted and scaled predictors give the mapped draws", {
  d <- make_data()
  moved <- transform(d, x1 = 10 * x1 + 70, x2 = x2 / 8)
  run <- function(data) {
    gibbs(y ~ x1 + x2 + (x1 | g), data, warmup = 20, ndraws = 30, chains = 2, seed = 6)$draws
  }
  a <- run(d)
  b <- run(moved)
  # a_0 + a_1 x = (b_0 + 70 b_1) + 10 b_1 x, for coefficients and effects.
  expect_equal(a[, , "x1"], 10 * b[, , "x1"], tolerance = 1e-6)
  expect_equal(a[, , "x2"], b[, , "x2"] / 8, tolerance = 1e-6)
  expect_equal(a[, , "(Intercept)"], b[, , "(Intercept)"] + 70 * b[, , "x1"], tolerance = 1e-6)
  expect_equal(a[, , "b[x1 g:3]"], 10 * b[, , "b[x1 g:3]"], tolerance = 1e-6)
  expect_equal(
    a[, , "b[(Intercept) g:3]"], b[, , "b[(Intercept) g:3]"] + 70 * b[, , "b[x1 g:3]"],
    tolerance = 1e-6
  )
  expect_equal(a[, , "Sigma[g:x1,x1]"], 100 * b[, , "Sigma[g:x1,x1]"], tolerance = 1e-6)
})

test_that("thinning keeps every so many sweeps of the same chain", {
  d <- make_data()
  run <- function(ndraws, thin) {
    gibbs(y ~ x1 + (1 | g), d,
      warmup = 15, ndraws = ndraws, thin = thin, chains = 2, seed = 7
    )$draws
  }
  expect_identical(run(10, 4), run(40, 1)[seq(4, 40, 4), , ])
})

test_that("without stored effects the other draws are the same", {
  d <- make_data()
  run <- function(keep) {
    gibbs(y ~ x1 + (x1 | g), d, warmup = 15, ndraws = 20, chains = 2, seed = 8, keep_ranef = keep)
  }
  with <- run(TRUE)$draws
  fit <- run(FALSE)
  effects <- startsWith(dimnames(with)[[3]], "b[")
  expect_identical(fit$draws, with[, , !effects])
  expect_true(all(is.finite(predict(fit, d, type = "prob"))))
})

test_that("coefficients and their covariance are those of the draws", {
  d <- make_data()
  fit <- gibbs(y ~ x1 + x2, d, warmup = 50, ndraws = 200, seed = 9)
  beta <- matrix(fit$draws[, , 1:3], ncol = 3)
  expect_equal(unname(coef(fit)), colMeans(beta), tolerance = 1e-10)
  expect_equal(unname(vcov(fit, type = "posterior")), stats::cov(beta), tolerance = 1e-8)
  link <- cbind(1, d$x1, d$x2) %*% t(beta)
  expect_equal(unname(predict(fit, d, type = "link")), rowMeans(link), tolerance = 1e-10)
  expect_equal(
    unname(predict(fit, d, type = "prob", link = "probit")[, 2]), rowMeans(stats::pnorm(link)),
    tolerance = 1e-10
  )
})

test_that("a sampler says what it had to add to a singular precision", {
  x <- matrix(sin(1:300), 10)
  fit <- function(beta_var) {
    bsvm(x, rep(c(FALSE, TRUE), 5),
      method = "gibbs", penalty = "none", chains = 1,
      control = list(warmup = 5), ndraws = 5,
      seed = 1, threads = 1, prior = bsvm_prior(beta_var = beta_var)
    )
  }
  expect_bk_warning(bad <- suppressWarnings(fit(1e30), "bayeskernel_warning_convergence"), "jitter")
  expect_gt(bad$diagnostics$jitter, 0)
  expect_identical(suppressWarnings(fit(1))$diagnostics$jitter, 0)
})
