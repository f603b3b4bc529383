# Selection among many columns: what columns that are out would gain, searches over few columns of
# the whole model, and the fit of all of them.

block_data <- function(n = 150, p = 600, family = "gaussian", seed = 1) {
  set.seed(seed)
  x <- matrix(stats::rnorm(n * p), n)
  shared <- matrix(stats::rnorm(n * p / 5), n)[, rep(seq_len(p / 5), each = 5)]
  x <- sqrt(0.1) * x + sqrt(0.9) * shared
  colnames(x) <- paste0("v", seq_len(p))
  f <- 2 * x[, 3] - 2 * x[, 203] + 2 * x[, 403]
  y <- if (family == "gaussian") f + stats::rnorm(n) else factor(f + stats::rlogis(n) > 0)
  list(x = x, y = y, true = c(3, 203, 403))
}
fit_screened <- function(d, family = "gaussian", polish = FALSE, select = TRUE, ...) {
  flat(bkm)(
    d$x, d$y, family = family, select = select, method = "vb", polish = polish, threads = 1, ...
  )
}
blocks_found <- function(fit) unique((unname(which(inclusion(fit) > 0.5)) - 1) %/% 5)

test_that("sums over rows of standardised columns are those of plain R", {
  set.seed(1)
  x <- matrix(stats::rnorm(40 * 70), 40)
  center <- stats::rnorm(70)
  scale <- stats::runif(70, 1, 2)
  weight <- stats::runif(40)
  pulls <- matrix(stats::rnorm(80), 40)
  at <- c(3:50, 60:70)
  found <- column_sums_cpp(x, at - 1L, center, scale, weight, pulls)
  z <- t((t(x) - center) / scale)[, at]
  expect_equal(found$products, crossprod(pulls, z), tolerance = 1e-12)
  expect_equal(found$squares, colSums(weight * z^2), tolerance = 1e-12)
})

test_that("the gain of a column is the best that q(v, b) can do", {
  # b ~ IG(1, 1/2), v | b ~ N(0, 1 / (b precision)): with q(b) at its optimum, log of the integral
  # of p(b) exp(E log N(v; 0, 1 / (b precision))).
  best <- function(pull, square, precision) {
    value <- function(par) {
      mean <- par[1]
      variance <- exp(par[2])
      second <- variance + mean^2
      inner <- stats::integrate(function(b) {
        exp(-2 * log(b) - 0.5 / b - log(2) + 0.5 * log(b * precision) -
          0.5 * b * precision * second)
      }, 0, Inf, rel.tol = 1e-10)$value
      mean * pull - square * second / 2 + 0.5 * log(variance) + 0.5 + log(inner)
    }
    start <- c(pull / (square + precision), -log(square + precision))
    stats::optim(start, value, method = "BFGS", control = list(fnscale = -1, reltol = 1e-13))$value
  }
  for (case in list(c(30, 40, 2), c(5, 100, 0.5), c(200, 90, 1))) {
    out <- best(0, 0, case[3])
    expect_equal(
      column_gain(case[1], case[2], case[3], -4), # prior log odds
      best(case[1], case[2], case[3]) - out - 4, tolerance = 1e-4
    )
  }
})

test_that("a search from none ends as high as one over all columns", {
  for (family in c("gaussian", "logit")) {
    d <- block_data(family = family)
    found <- fit_screened(d, family)
    all <- fit_screened(d, family, starts = c(1, 0.5, 0.1, "marginal"))
    bound <- vapply(list(found, all), function(fit) max(elbo(fit)), 0)
    expect_gte(bound[1], bound[2] - 0.01)
    expect_setequal(blocks_found(found), (d$true - 1) %/% 5)
    expect_length(inclusion(found), 600)
    # As the rows would say of columns that are out.
    out <- found$posterior$selection$log_odds[-unlist(lapply(
      d$true, function(k) seq(5 * ((k - 1) %/% 5) + 1, length.out = 5)
    ))]
    expect_lt(max(out), -4)
    # Two searches that end in one place agree in all.
    if (abs(diff(bound)) < 0.001) {
      expect_equal(inclusion(found), inclusion(all), tolerance = 1e-3)
      expect_equal(coef(found), coef(all), tolerance = 1e-3)
      expect_equal(diag(vcov(found)), diag(vcov(all)), tolerance = 1e-2)
    }
  }
})

test_that("a machine with a hinge is searched the same way", {
  d <- block_data(family = "logit")
  found <- bsvm(d$x, d$y, select = TRUE, method = "vb", control = list(polish = FALSE), threads = 1)
  expect_setequal(blocks_found(found), (d$true - 1) %/% 5)
  expect_equal(dim(predict(found, d$x[1:4, ], type = "prob")), c(4L, 2L))
})

test_that("draws of the columns that the sampler visits are those of all", {
  d <- block_data()
  fit <- fit_screened(d, polish = TRUE)
  expect_setequal(blocks_found(fit), (d$true - 1) %/% 5)
  expect_equal(dim(fit$draws)[1:2], c(250L, 4L))
  expect_true(all(colnames(d$x) %in% dimnames(fit$draws)[[3]]))
  f <- predict(fit, d$x, type = "link")
  expect_equal(unname(f), unname(drop(cbind(1, d$x) %*% coef(fit))), tolerance = 1e-6)
  # Beta(1, 99): the columns that are out count in what is learned of rho.
  rho <- function(fit) mean(fit$draws[, , "rho"])
  learned <- fit_screened(d, polish = TRUE, prior = bkm_prior(rho_beta = c(1, 99)))
  ins <- mean(rowSums(matrix(
    learned$draws[, , grepl("^in\\[", dimnames(learned$draws)[[3]])], 1000
  )))
  expect_equal(rho(learned), (1 + ins) / (100 + 600), tolerance = 0.05)
})

test_that("of many columns a fit keeps the covariance of those that are in", {
  d <- block_data()
  dense <- fit_screened(d)
  old <- most_covariances
  utils::assignInNamespace("most_covariances", 100L, "bayeskernel")
  on.exit(utils::assignInNamespace("most_covariances", old, "bayeskernel"))
  sparse <- fit_screened(d)
  cov <- sparse$posterior$theta_cov
  expect_s3_class(cov, "sparse_covariance")
  expect_lt(as.numeric(utils::object.size(cov)), 2e5)
  whole <- dense$posterior$theta_cov
  expect_equal(as.matrix(cov), whole)
  expect_equal(cov[c(1, 4, 9), 5:3, drop = FALSE], whole[c(1, 4, 9), 5:3])
  expect_equal(vcov(sparse), vcov(dense))
  expect_equal(confint(sparse), confint(dense))
  expect_equal(summary(sparse)$coefficients, summary(dense)$coefficients)
  new <- d$x[1:5, ]
  expect_equal(
    predict(sparse, new, type = "link", se.fit = TRUE),
    predict(dense, new, type = "link", se.fit = TRUE)
  )
  polished <- fit_screened(d, polish = TRUE)
  expect_lt(dim(polished$draws)[3], 300)
  expect_length(coef(polished), 601)
  expect_equal(
    unname(predict(polished, new, type = "link")),
    unname(drop(cbind(1, new) %*% coef(polished))), tolerance = 1e-6
  )
  file <- tempfile()
  saveRDS(polished, file)
  expect_equal(predict(readRDS(file), new), predict(polished, new))
})

test_that("where nothing is told apart the search ends as high, too", {
  set.seed(3)
  x <- matrix(stats::rnorm(100 * 520), 100)
  y <- stats::rnorm(100)
  found <- fit_screened(list(x = x, y = y))
  all <- fit_screened(list(x = x, y = y), starts = c(1, 0.5, 0.1))
  expect_gte(max(elbo(found)), max(elbo(all)) - 0.01)
  expect_lt(max(inclusion(found)), 0.1)
})

test_that("a formula takes columns out of many", {
  d <- block_data(100, 600)
  x <- d$x
  fit <- fit_screened(list(x = x, y = d$y), select = ~ . - v1 - v2)
  expect_length(inclusion(fit), 598)
  expect_false(any(c("v1", "v2") %in% names(inclusion(fit))))
})

test_that("an interrupted search is a fit of all columns", {
  d <- block_data()
  old <- bsvm_vb_cpp
  for (at in c(3, 8)) {
    calls <- 0
    utils::assignInNamespace("bsvm_vb_cpp", function(...) {
      calls <<- calls + 1
      out <- old(...)
      if (calls == at) out$status$interrupted <- TRUE
      out
    }, "bayeskernel")
    expect_warning(
      fit <- tryCatch(
        fit_screened(d, on_interrupt = "keep"),
        finally = utils::assignInNamespace("bsvm_vb_cpp", old, "bayeskernel")
      ), class = "bayeskernel_warning_interrupt"
    )
    expect_equal(calls, at)
    expect_length(coef(fit), 601)
    expect_length(inclusion(fit), 600)
  }
})
