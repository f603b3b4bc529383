# Inclusion by expectation propagation, polish = "ep", against long chains; what it refuses.

some_columns <- function(n = 100, p = 6, seed = 4) {
  set.seed(seed)
  x <- matrix(stats::rnorm(n * p), n, dimnames = list(NULL, paste0("v", seq_len(p))))
  x[, 2] <- x[, 2] + 0.5 * x[, 1]
  f <- 0.8 * x[, 1] + 0.45 * x[, 2]
  g <- gl(10, n / 10)
  noise <- stats::rnorm(n)
  list(
    x = x, number = f / 2 + noise, class = f + noise > 0, g = g,
    data = data.frame(x, g = g, number = f / 2 + noise, class = f + noise > 0)
  )
}

long_chain <- function(...) {
  suppressWarnings(flat(bkm)(
    ..., select = TRUE, method = "gibbs", chains = 2, warmup = 200,
    ndraws = 2500, seed = 1, threads = 1
  ), classes = "bayeskernel_warning_convergence")
}

by_ep <- function(...) flat(bkm)(..., select = TRUE, polish = "ep", threads = 1)

test_that("inclusion by EP is that of long chains, in every proper family", {
  d <- some_columns()
  for (prior in list(bkm_prior(rho = 0.2), bkm_prior(rho_beta = c(1, 4)))) {
    for (family in c("logit", "probit", "gaussian")) {
      y <- if (family == "gaussian") d$number else d$class
      ep <- by_ep(d$x, y, family = family, prior = prior)
      expect_identical(ep$method, "vb")
      found <- inclusion(ep)
      expect_named(found, colnames(d$x))
      expect_null(attr(found, "range"))
      chain <- inclusion(long_chain(d$x, y, family = family, prior = prior))
      expect_lt(max(abs(found - chain)), 0.06, label = family)
      expect_lt(mean(abs(found - chain)), 0.025, label = family)
    }
  }
})

test_that("beside random effects, too", {
  d <- some_columns(seed = 5)
  formula <- class ~ v1 + v2 + v3 + v4 + (1 | g)
  prior <- bkm_prior(rho = 0.2)
  found <- inclusion(by_ep(formula, d$data, prior = prior))
  chain <- inclusion(long_chain(formula, d$data, prior = prior))
  expect_lt(max(abs(found - chain)), 0.06)
})

test_that("it takes no random numbers, and leaves all but inclusion alone", {
  d <- some_columns()
  fit <- function(...) {
    flat(bsvm)(
      d$x, d$class, select = TRUE, learning_rate = 0.4, threads = 1, ...,
      prior = bsvm_prior(rho = 0.2)
    )
  }
  set.seed(7)
  before <- .Random.seed
  ep <- fit(polish = "ep")
  expect_identical(.Random.seed, before)
  expect_identical(inclusion(fit(polish = "ep", seed = 9)), inclusion(ep))
  plain <- fit(method = "vb", polish = FALSE)
  expect_identical(coef(ep), coef(plain))
  expect_identical(predict(ep, d$x), predict(plain, d$x))
  expect_gt(max(abs(inclusion(ep) - inclusion(plain))), 0.03)
  expect_output(print(ep), "by expectation propagation")
  expect_identical(summary(ep)$selection[colnames(d$x), "Inclusion"], inclusion(ep))
  path <- inclusion_path(ep, rho = c(0.5, 0.1))
  expect_equal(dim(path$inclusion), c(2L, ncol(d$x)))
})

test_that("noise stays out, and a design without signal has answers", {
  set.seed(8)
  x <- matrix(stats::rnorm(200 * 30), 200)
  for (family in c("logit", "probit", "gaussian")) {
    y <- stats::rnorm(200)
    if (family != "gaussian") y <- y > 0
    found <- inclusion(by_ep(x, y, family = family, prior = bkm_prior(rho = 0.05)))
    expect_true(all(found > 0 & found < 0.5))
    expect_lt(mean(found), 0.05)
  }
})

test_that("separated classes and more columns than rows have answers", {
  d <- some_columns()
  separated <- suppressWarnings(by_ep(
    d$x, d$x[, 3] > 0, family = "logit", prior = bkm_prior(rho = 0.1)
  ), classes = "bayeskernel_warning_separation")
  expect_gt(inclusion(separated)[["v3"]], 0.95)
  expect_true(all(is.finite(inclusion(separated))))
  wide <- some_columns(n = 50, p = 120, seed = 9)
  y <- wide$x[, 7] - wide$x[, 20] + stats::rlogis(50) / 4 > 0
  found <- inclusion(by_ep(wide$x, y, family = "probit"))
  expect_setequal(names(sort(-found))[1:2], c("v7", "v20"))
  expect_true(all(found >= 0 & found <= 1))
})

test_that("what it does not fit is refused in words", {
  d <- some_columns()
  fit <- function(...) flat(bkm)(class ~ v1 + v2 + v3, d$data, ..., threads = 1)
  expect_bk_error(fit(polish = "ep"), "argument", "no selection")
  expect_bk_error(fit(select = TRUE, polish = "ep", method = "gibbs"), "argument", "gibbs")
  expect_bk_error(fit(select = TRUE, polish = "vb"), "argument", "polish")
  d$data$v2[1:5] <- NA
  expect_bk_error(fit(select = TRUE, polish = "ep", missing = "model"), "argument", "missing")
  expect_bk_error(
    refuse_ep_polish(list(selection = list()), list(precision = numeric(1001))), "argument", "1001"
  )
})

test_that("messages that do not settle are told", {
  d <- some_columns()
  fit <- by_ep(d$x, d$class, family = "logit")
  expect_true(all(is.finite(fit$posterior$selection$log_z)))
  job <- list(data = list(), shared = list(), control = list())
  core <- list(selection = list(inclusion = rep(0.5, 6), shape = 1, rate = 1))
  answer <- list(
    inclusion = rep(0.4, 6), start = 0,
    status = list(converged = FALSE, interrupted = FALSE, passes = 9, change = 1)
  )
  run <- function(...) answer
  expect_warning(found <- polish_by_ep(job, core, run), class = "bayeskernel_warning_convergence")
  expect_identical(found$polished, answer$inclusion)
  answer <- structure(
    list(kind = "numeric", message = "not finite"), class = "bayeskernel_core_error"
  )
  expect_warning(found <- polish_by_ep(job, core, run), class = "bayeskernel_warning_convergence")
  expect_null(found$polished)
  answer <- list(status = list(interrupted = TRUE))
  expect_null(polish_by_ep(job, core, run))
})
