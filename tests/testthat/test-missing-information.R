# What not knowing missing values adds to variances.

test_that("scores are derivatives of the expected log-likelihood", {
  m <- c(-1, 0.3, 2, 5, -9)
  var <- c(0.2, 0.5, 1, 30, 400)
  y <- c(1, -1, -1, 1, 1)
  slope <- list(
    logit = function(v) plogis(-v),
    probit = function(v) exp(dnorm(v, log = TRUE) - pnorm(v, log.p = TRUE))
  )
  job <- list(data = list(y = y, weights = c(1, 2, 0.5, 1, 3)))
  core <- list(mean = m, variance_f = var)
  for (family in names(slope)) {
    expected <- vapply(seq_along(m), function(i) {
      y[i] * integrate(function(e) {
        slope[[family]](y[i] * (m[i] + sqrt(var[i]) * e)) * dnorm(e)
      }, -12, 12, rel.tol = 1e-12, subdivisions = 1000)$value
    }, 0)
    job$settings <- list(family = family)
    expect_equal(completion_scores(core, job), job$data$weights * expected, tolerance = 1e-9)
  }
  job$settings <- list(family = "hinge")
  expect_equal(completion_scores(core, job),
    job$data$weights * 2 * y * pnorm((1 - y * m) / sqrt(var)))
  job$settings <- list(family = "gaussian")
  for (noise in list(list(precision = 4), list(shape = 8, rate = 2))) {
    expect_equal(completion_scores(c(core, list(noise = noise)), job),
      job$data$weights * 4 * (y - m))
  }
})

# Atoms of 30 rows, two a row of every third, with groups that are eliminated and others that are
# kept; P is the precision of all coefficients.
missing_problem <- function(size) {
  set.seed(2)
  row <- rep(1:30, rep(c(2, 1, 1), 10))
  n <- length(row)
  data <- list(
    x = cbind(1, rnorm(n), rnorm(n)), center = c(0, 0.5, 0), scale = c(1, 2, 1),
    z = cbind(rep(1, n), rnorm(n)), group = rep_len(1:5, 30)[row],
    kept = list(list(group = rep_len(1:3, 30)[row], z = cbind(rep(1, n)))),
    y = rep(1, n), weights = rep(size, n), atoms = list(row = row)
  )
  job <- list(
    data = data, settings = list(family = "logit"),
    blocks = list(blocks = list(
      list(random = 0L, eliminated = FALSE), list(random = 1L, eliminated = TRUE),
      list(random = 2L, eliminated = FALSE, first = 3L)
    ))
  )
  x <- cbind(
    sweep(sweep(data$x, 2, data$center), 2, data$scale, "/"),
    outer(data$kept[[1]]$group, 1:3, "==") + 0
  )
  z <- matrix(0, n, 10)
  for (j in 1:2) z[cbind(1:n, 2 * (data$group - 1) + j)] <- data$z[, j]
  share <- ifelse(duplicated(row) | duplicated(row, fromLast = TRUE), 0.5, 1)
  share[1:2] <- c(0.2, 0.8)
  a <- cbind(x, z)
  precision <- diag(16) + crossprod(a, share * 0.2 * a)
  cov <- solve(precision)
  th <- 1:6
  loading <- solve(precision[-th, -th], precision[-th, th])
  core <- list(
    theta_mean = numeric(6), theta_cov = cov[th, th], group_mean = matrix(0, 2, 5), share = share,
    mean = rnorm(n), loading = t(loading),
    group_cov = do.call(cbind, lapply(1:5, function(g) cov[6 + 2 * g - 1:0, 6 + 2 * g - 1:0])),
    variance_f = rowSums((a %*% cov) * a)
  )
  u <- completion_scores(core, job) * a
  centred <- u - rowsum(share * u, row)[row, ]
  missing <- crossprod(sqrt(share) * centred)
  list(core = core, job = job, a = a, cov = cov, wide = solve(precision - missing))
}

test_that("to first order the inverse of the precision less its variance", {
  case <- missing_problem(0.02)
  found <- widen_completed(case$core, case$job)
  add <- case$wide - case$cov
  th <- 1:6
  own <- found$theta_cov - case$core$theta_cov
  expect_gt(max(abs(own)), 1e-6)
  expect_equal(own, add[th, th], tolerance = 2e-3)
  expect_true(all(found$variance_f > case$core$variance_f - 1e-15))
  # Groups have what the coefficients bring.
  for (g in 1:5) {
    at <- 2 * g - 1:0
    h <- case$core$loading[, at]
    expect_equal(found$group_cov[, at] - case$core$group_cov[, at], t(h) %*% own %*% h)
  }
})

test_that("it is exact without groups, and never more than is there", {
  case <- missing_problem(1)
  job <- case$job
  job$data$z <- matrix(0, nrow(job$data$x), 0)
  core <- case$core
  core[c("group_mean", "loading", "group_cov")] <- list(
    matrix(0, 0, 0), matrix(0, 0, 0), matrix(0, 0, 0)
  )
  a <- case$a[, 1:6]
  u <- completion_scores(core, job) * a
  row <- job$data$atoms$row
  centred <- u - rowsum(core$share * u, row)[row, ]
  missing <- crossprod(sqrt(core$share) * centred)
  found <- widen_completed(core, job)
  expect_equal(found$theta_cov, solve(solve(core$theta_cov) - missing))
  add <- found$theta_cov - core$theta_cov
  expect_equal(found$variance_f - core$variance_f, rowSums((a %*% add) * a))
  # More is missing than there is: a bound on the widening.
  job$data$weights <- 50 * job$data$weights
  far <- widen_completed(core, job)$theta_cov
  ratio <- eigen(solve(core$theta_cov, far))$values
  expect_equal(max(Re(ratio)), 1 / (1 - most_missing), tolerance = 1e-8)
  whole <- core
  whole$share <- as.double(!duplicated(row))
  expect_identical(widen_completed(whole, job), whole)
})

test_that("slices have whole units, and all of them", {
  unit <- rep(1:7, c(1, 4, 1, 2, 3, 1, 1))
  parts <- split_units(c(1:8, 12:13), unit, 5, 40)
  expect_gt(length(parts), 2)
  expect_identical(unlist(parts, use.names = FALSE), c(1:8, 12:13))
  units <- lapply(parts, function(rows) unique(unit[rows]))
  expect_false(anyDuplicated(unlist(units)) > 0)
})

test_that("standard deviations with holes in numbers are the sampler's", {
  skip_if_not(identical(Sys.getenv("BAYESKERNEL_SLOW"), "true"), "BAYESKERNEL_SLOW is not true")
  for (seed in 1:2) {
    set.seed(seed)
    n <- 300
    x <- rnorm(n)
    z <- 0.5 * x + rnorm(n)
    g <- gl(30, 10)
    eta <- -0.3 + 0.8 * x + 0.5 * z + 0.7 * rnorm(30)[g]
    d <- data.frame(x, z, g, y = factor(rbinom(n, 1, plogis(eta))))
    d$z[sample(n, 150)] <- NA
    fit_by <- function(...) {
      flat(bkm)(
        y ~ x + z + (1 | g), d, "logit",
        missing = "model", threads = 1, seed = 1, progress = FALSE, ...
      )
    }
    ep <- fit_by(method = "ep")
    gibbs <- fit_by(method = "gibbs", chains = 2, ndraws = 2500, warmup = 500)
    sd <- sqrt(diag(vcov(gibbs)))
    expect_lt(max(abs(coef(ep) - coef(gibbs)) / sd), 0.25)
    expect_lt(max(abs(sqrt(diag(vcov(ep))) / sd - 1)), 0.1)
  }
})
