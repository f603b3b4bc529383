# Support vector machines whose classes are separated, by the sampler: the prior alone limits f, and
# moments of draws are those of the few largest.

log_loss_of <- function(fit, new, y) {
  p <- predict(fit, new, type = "prob")[, 2]
  -mean(log(ifelse(y, p, 1 - p)))
}

separated <- function(n, p = 4, seed = n) {
  with_seed(seed, {
    x <- matrix(rnorm(n * p), n)
    list(x = x, y = x[, 1] + x[, 2] / 2 > 0)
  })
}

test_that("probabilities of separated classes are not those of no predictor", {
  new <- separated(2000, seed = 9)
  for (n in c(30, 100)) {
    d <- separated(n)
    fits <- list(
      suppressWarnings(bsvm(d$x, d$y, method = "gibbs", seed = 1, threads = 1)),
      suppressWarnings(bkm(d$x, d$y, family = "hinge", method = "gibbs", seed = 1, threads = 1))
    )
    # What logistic regression says of new rows under a normal prior of sd 2.5.
    x <- cbind(1, d$x)
    mode <- optim(numeric(5), function(b) {
      sum(log1p(exp(-(2 * d$y - 1) * drop(x %*% b)))) + sum(b^2) / 12.5
    }, method = "BFGS")$par
    right <- mean(log1p(exp(-(2 * new$y - 1) * drop(cbind(1, new$x) %*% mode))))
    for (fit in fits) {
      # Chance is .69; that of the 30 rows has a prior of its own.
      expect_lt(log_loss_of(fit, new$x, new$y), right + 2 / n)
      p <- predict(fit, new$x, type = "prob")[, 2]
      sign <- predict(fit, new$x, threshold = "margin") == "TRUE"
      expect_lt(mean((p > 0.5) != sign), 0.03)
    }
  }
  iris2 <- droplevels(iris[iris$Species != "virginica", ])
  fit <- suppressWarnings(bsvm(Species ~ ., iris2, method = "gibbs", seed = 1, threads = 1))
  p <- predict(fit, iris2, type = "prob")[, 2]
  expect_gt(min(abs(p - 0.5)), 0.4)
  expect_equal(mean((p > 0.5) == (iris2$Species == fit$levels[2])), 1)
  # What is kept of its own rows says the same.
  expect_equal(unname(predict(fit, type = "prob")[, 2]), unname(p), tolerance = 1e-10)
})

test_that("so it is with more columns than rows, selection, bars, smooths", {
  d <- separated(60, 80)
  new <- separated(1000, 80, seed = 9)
  fit <- suppressWarnings(bsvm(
    d$x, d$y, method = "gibbs", seed = 1, threads = 1, ndraws = 500, control = list(warmup = 300)
  ))
  expect_lt(log_loss_of(fit, new$x, new$y), log(2) - 0.05)
  frame <- function(d) {
    out <- data.frame(y = d$y, d$x)
    out$g <- out$h <- factor(rep_len(1:6, nrow(out)))
    out$h <- factor(with_seed(3, sample(6, nrow(out), TRUE)), 1:6)
    out
  }
  d <- frame(separated(100))
  new <- frame(separated(1000, seed = 9))
  machine <- function(formula, ...) {
    suppressWarnings(flat(bsvm)(
      formula, d, method = "gibbs", seed = 1, threads = 1, ndraws = 500, warmup = 300, ...
    ))
  }
  for (fit in list(
    machine(y ~ X1 + X2 + X3, select = TRUE), machine(y ~ s(X1) + X2),
    machine(y ~ X1 + X2 + (1 | g)), machine(y ~ X1 + X2 + (1 | g) + (1 | h)),
    machine(y ~ X1 + X2 + (1 | g), keep_ranef = TRUE)
  )) {
    expect_lt(log_loss_of(fit, new, new$y), 0.2)
  }
})

test_that("moments of the link are those of the quantiles of the draws", {
  d <- separated(30)
  fit <- suppressWarnings(bsvm(d$x, d$y, method = "gibbs", seed = 1, threads = 1))
  new <- separated(20, seed = 5)$x
  f <- as.matrix(fit)[, seq_len(5)] %*% t(cbind(1, new))
  q <- apply(f, 2, quantile, pnorm(-1:1), type = 3)
  m <- q[2, ]
  v <- (q[3, ] - q[1, ])^2 / 4
  k <- fit$link$slope
  q <- function(v) 1 + pi * k^2 * v / 8
  damped <- (m - fit$link$center) * sqrt(q(fit$link$offset) / q(pmax(v, fit$link$offset)))
  right <- plogis(fit$link$intercept + k * (fit$link$center + damped))
  # Half a row of each class is added where the second form is used.
  right <- (1 - fit$link$lapse) * right + fit$link$lapse / 2
  got <- predict(fit, new, type = "prob")[, 2]
  expect_equal(unname(got), unname(right), tolerance = 0.01)
  # A saved fit says the same.
  file <- tempfile()
  saveRDS(fit, file)
  expect_identical(predict(readRDS(file), new, type = "prob")[, 2], got)
})

test_that("standard errors of separated classes are the posterior's", {
  for (n in c(40, 300)) {
    d <- separated(n, 3)
    fit <- suppressWarnings(bsvm(d$x, d$y, method = "gibbs", seed = 1, threads = 1))
    expect_equal(
      unname(sqrt(diag(vcov(fit)))), unname(apply(as.matrix(fit)[, seq_len(4)], 2, sd)),
      tolerance = 1e-6
    )
    expect_match(facts(fit)[["Standard errors"]], "separates")
    expect_error(vcov(fit, type = "sandwich"), class = "bayeskernel_error")
  }
})

test_that("a link that is worse than the sign of the margin is refused", {
  y <- rep(0:1, each = 100)
  m <- ifelse(y > 0, 1, -1)
  judge <- function(slope) {
    judge_link(
      list(intercept = 0, slope = slope, spread = 1), matrix(m),
      matrix(rep(1e-4, 200)), y + 1L, rep(1, 200)
    )
  }
  expect_match(judge(1e-4)$why, "sign of the margin")
  expect_null(judge(6)$why)
  expect_equal(judge(6)$loss, log1p(exp(-6)), tolerance = 0.01)
  # Where the margin has one sign: the shares of the classes.
  rare <- judge_link(
    list(intercept = 4, slope = 1e-4, spread = 1), matrix(rep(2:3, 100)),
    matrix(rep(1, 200)), rep(c(1L, 1L, 1L, 2L), 50), rep(1, 200)
  )
  expect_match(rare$why, "shares of the classes, 0.56", fixed = TRUE)
  expect_warning(link <- say_refused(rare), class = "bayeskernel_warning_link")
  expect_identical(link, list(why = rare$why))
})

test_that("a polished selection of separated classes predicts by its columns", {
  set.seed(3)
  x <- matrix(rnorm(1040 * 50), 1040, dimnames = list(NULL, paste0("v", 1:50)))
  y <- x[, 1] + x[, 2] + 0.3 * rnorm(1040) > 0
  fit <- suppressWarnings(bsvm(x[1:40, ], y[1:40], select = TRUE, threads = 1))
  p <- predict(fit, x[-(1:40), ], type = "prob")[, "TRUE"]
  # The line that made the classes errs in .07; all had the same probability.
  expect_lt(mean((p > 0.5) != y[-(1:40)]), 0.15)
  expect_gt(diff(quantile(p, c(0.1, 0.9))), 0.5)
})
