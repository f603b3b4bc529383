# klr(): fits, prediction, directions, choice of the rank, bad input.

d <- klr_data()
x <- as.matrix(d[c("a", "b", "c")])
fit <- quick_klr(x, d$y)
fit_smooth <- function(...) {
  quick_klr(y ~ a + b + c, d, rank = 1, prior = klr_prior(coefficients = "continuous"), ...)
}
smooth <- fit_smooth()

test_that("f of every draw is the sum of kernels", {
  for (object in list(fit, smooth)) {
    f <- plain_klr(object, x[1:7, ])
    new <- if (is.null(object$formula)) x[1:7, ] else d[1:7, ]
    expect_equal(unname(predict(object, new, "link", draws = TRUE)), f, tolerance = 1e-8)
    expect_equal(unname(predict(object, new, "prob")[, 2]), colMeans(plogis(f)), tolerance = 1e-8)
    expect_equal(unname(predict(object, new, "link")), colMeans(f), tolerance = 1e-8)
  }
})

test_that("kept draws have f and the likelihood of their kernels", {
  f <- plain_klr(fit, x)
  names <- dimnames(fit$draws)[[3]]
  kept <- matrix(fit$draws[, , startsWith(names, "f[")], nrow(f))
  expect_equal(kept, unname(f[, fit$reference]), tolerance = 1e-8)
  expect_equal(
    as.vector(fit$draws[, , "log_lik"]),
    rowSums(plogis(t(t(f) * ifelse(d$y == "in", 1, -1)), log.p = TRUE)), tolerance = 1e-8
  )
  shares <- fit$draws[, , startsWith(names, "P[")]
  expect_equal(unname(apply(shares, 1:2, sum)), matrix(2, 40, 2))
})

test_that("what chains have to agree on, and what is shown of the rest", {
  expect_setequal(
    fit$diagnostics$table$variable,
    c("intercept", "J", "log_lik", sprintf("P[%s]", c("a", "b", "c")))
  )
  shown <- summary(fit)$parameters
  expect_true(all(is.finite(shown[startsWith(rownames(shown), "f["), "R-hat"])))
  # Means over draws of each chain, from f in plain R.
  f <- plain_klr(fit, x[fit$reference, ])
  by_chain <- rbind(colMeans(plogis(f[1:40, ])), colMeans(plogis(f[41:80, ])))
  expect_equal(apart_by_chain(fit), max(abs(by_chain[1, ] - by_chain[2, ])), tolerance = 1e-8)
  expect_null(apart_by_chain(quick_klr(x, d$y, chains = 1)))
  expect_output(print(fit), "between chains")
  # A goal by default, unless the call says how long to run.
  expect_null(fit$diagnostics$until)
  expect_equal(formals(klr.default)$until, "auto")
})

test_that("threads and parts of the run change nothing", {
  expect_identical(quick_klr(x, d$y, threads = 2)$draws, fit$draws)
  for (again in list(function(...) quick_klr(x, d$y, ...), fit_smooth)) {
    once <- again()
    half <- again(ndraws = 15)
    whole <- again(ndraws = 40, resume = half)
    expect_identical(whole$draws, once$draws)
    expect_identical(whole$posterior, once$posterior)
    expect_identical(whole$acceptance, once$acceptance)
  }
  expect_false(identical(quick_klr(x, d$y, seed = 12)$draws, fit$draws))
})

test_that("a state that was changed is not gone on from", {
  broken <- fit
  broken$state[[1]]$frame[1] <- 7
  expect_error(
    quick_klr(x, d$y, ndraws = 50, resume = stamped(broken)), "frame",
    class = "bayeskernel_error_argument"
  )
  broken <- fit
  broken$posterior$kernels[[1]]$centre[1] <- 1e6
  expect_error(predict(stamped(broken), x), class = "bayeskernel_error_argument")
})

test_that("the mean space is that of the draws; angles are measured to it", {
  found <- projection(fit)
  expect_equal(crossprod(found$directions), diag(2), ignore_attr = TRUE)
  expect_equal(sum(diag(found$mean)), 2)
  expect_equal(
    unname(diag(found$mean)),
    unname(colMeans(stack_chains(fit$draws)[, sprintf("P[%s]", letters[1:3])]))
  )
  expect_true(all(found$angles >= 0 & found$angles <= 90))
  # Of known spaces: a turn by 0.3 of one of two directions.
  u <- diag(3)[, 1:2]
  turned <- cbind(u[, 1], cos(0.3) * u[, 2] + sin(0.3) * c(0, 0, 1))
  angles <- bayeskernel:::principal_angles(u, array(turned, c(3, 2, 1)))
  expect_equal(drop(angles), c(0, 0.3) * 180 / pi, tolerance = 1e-12)
  linear <- bkm(y ~ a, d, threads = 1)
  expect_error(projection(linear), class = "bayeskernel_error_argument")
  expect_output(print(found), "Mean space")
})

test_that("the direction that matters is found, and rank 1 is enough", {
  long <- quick_klr(x, d$y, rank = 1, warmup = 6000, ndraws = 200, thin = 10)
  u <- projection(long)$directions
  expect_gt(sum(u * c(1, 1, 0)) / sqrt(2), 0.97)
  new <- klr_data(400, 9)
  wrong <- mean(predict(long, as.matrix(new[1:3])) != new$y)
  expect_lt(wrong, 0.1)
})

test_that("cross-validation chooses among ranks", {
  chosen <- quick_klr(x, d$y, rank = 2:1, folds = 3, warmup = 1500)
  expect_equal(chosen$ranks$rank, 2:1)
  expect_equal(chosen$rank, chosen$ranks$rank[which.min(chosen$ranks$log_loss)])
  expect_true(all(chosen$ranks$error < 0.5 & chosen$ranks$log_loss > 0))
  expect_output(print(chosen), "cross-validation")
  alone <- quick_klr(x, d$y, rank = chosen$rank, warmup = 1500)
  expect_identical(chosen$draws, alone$draws)
})

test_that("bad input is refused with a class", {
  refused <- function(kind, ...) {
    expect_error(
      flat(klr)(..., chains = 1, ndraws = 5, warmup = 5, thin = 1, threads = 1),
      class = paste0("bayeskernel_error_", kind)
    )
  }
  refused("argument", x, d$y, rank = 4)
  refused("argument", x, d$y, rank = 0)
  refused("argument", x, d$y, rank = 1.5)
  refused("argument", x, d$y, rank = c(1, 1))
  refused("argument", x, d$y, rank = NA)
  refused("argument", x, d$y, rank = "2")
  refused("argument", x, d$y, weights = rep(1, nrow(d)))
  refused("response", x, rep("a", nrow(d)))
  refused("response", x, rnorm(nrow(d)))
  refused("response", x, rep(1:4, nrow(d) / 4))
  refused("missing", replace(x, 3, NA), d$y)
  refused("missing", replace(x, 3, Inf), d$y)
  refused("dimension", x, d$y[-1])
  refused("prior", x, d$y, prior = bark_prior())
  expect_error(klr_prior(epsilon = 0), class = "bayeskernel_error_prior")
  expect_error(klr_prior(gamma = 1), class = "bayeskernel_error_prior")
  expect_error(klr_prior(log_lambda = c(0, 1, 1, -1)), class = "bayeskernel_error_prior")
  expect_error(klr_prior(coefficients = "x"), class = "bayeskernel_error")
  # A constant column counts for no direction.
  expect_warning(
    expect_error(klr(cbind(x[, 1:2], 1), d$y, rank = 3), class = "bayeskernel_error_argument"),
    class = "bayeskernel_warning_dropped_column"
  )
})

test_that("small and degenerate problems give finite answers", {
  for (coefficients in c("truncated", "continuous")) {
    prior <- klr_prior(coefficients = coefficients)
    # Two rows, more predictors than rows, duplicates, classes far apart.
    for (problem in list(
      list(matrix(c(0, 1), 2), c(0, 1)), list(matrix(rnorm(24), 3), c(0, 1, 0)),
      list(matrix(rep(c(1, 2), each = 5), 10), rep(0:1, 5)),
      list(matrix(c(rnorm(10), 1e6 + rnorm(10)), 20), rep(0:1, each = 10))
    )) {
      object <- suppressWarnings(
        quick_klr(problem[[1]], problem[[2]], rank = 1, prior = prior, warmup = 2000),
        classes = "bayeskernel_warning_identification"
      )
      expect_true(all(is.finite(predict(object, problem[[1]], type = "prob"))))
      expect_true(all(is.finite(object$draws)))
    }
  }
  none <- quick_klr(x, d$y, prior = klr_prior(max_kernels = 0))
  expect_true(all(none$draws[, , "J"] == 0))
  expect_lt(diff(range(predict(none, x, type = "prob")[, 2])), 1e-12)
})

test_that("pictures are drawn, of both numbers of directions", {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  for (object in list(fit, smooth)) {
    found <- plot(object)
    expect_identical(found, plot_data(object))
    expect_equal(
      as.matrix(found[seq_len(object$rank)]), projection(object)$coordinates, ignore_attr = TRUE
    )
    plot(object, "trace")
    plot(object, "boundary", pars = c("a", "b"), newdata = d)
    expect_s3_class(plot(object, "calibration"), "data.frame")
  }
  three <- quick_klr(x, d$y, rank = 3)
  expect_named(plot(three), c("u1", "u2", "u3", "class", "probability"))
})

test_that("both coefficient schemes and parameters tell the same story", {
  table <- summary(fit)$scales
  expect_equal(nrow(table), 3L)
  expect_equal(sum(table[, "Estimate"]), 2)
  tidied <- tidy(fit, effects = "share")
  expect_equal(sum(tidied$estimate), 2)
  expect_output(print(klr_prior()), "negative binomial, 6.366 expected")
  expect_output(print(klr_prior(coefficients = "continuous")), "negative binomial, 10 exp")
})

test_that("at the defaults chains of separable classes agree on directions", {
  slow <- identical(Sys.getenv("BAYESKERNEL_SLOW"), "true")
  skip_if_not(slow, "BAYESKERNEL_SLOW is not true")
  for (set in 1:2) {
    set.seed(10 + set)
    x <- matrix(runif(800, -1, 1), 200)
    s <- drop(x %*% c(1, 1, -1, -1))
    y <- if (set == 1) (s > -1 & s <= 0) | s > 1 else (x[, 1] + x[, 2]) * (x[, 1] - x[, 3]) >= 0
    expect_no_warning(object <- klr(x, y, rank = set, seed = 1, threads = 2))
    expect_lt(max(object$diagnostics$table$rhat, na.rm = TRUE), 1.05 + 1e-12)
    expect_lt(stats::quantile(projection(object)$angles[, set], 0.9), 10)
    expect_lt(apart_by_chain(object), 0.3)
  }
})

test_that("it is said where the draws do not agree on any direction", {
  sets <- function(n, p) {
    set.seed(1)
    x <- matrix(rnorm((n + 500) * p), n + 500)
    y <- x[, 1] + x[, 2] + 0.3 * rnorm(n + 500) > 0
    list(x = x, y = y, own = seq_len(n))
  }
  fit_own <- function(d, x = d$x) {
    quick_klr(x[d$own, ], d$y[d$own], rank = 1, warmup = 4000, ndraws = 200)
  }
  missed <- function(object, d, x = d$x) {
    p <- predict(object, x[-d$own, ], type = "prob")
    mean((p[, ncol(p)] > 0.5) != d$y[-d$own])
  }
  wide <- sets(40, 50)
  found <- expect_warning(object <- fit_own(wide), class = "bayeskernel_warning_identification")
  expect_output(print(object), "50 predictors are many for 40 rows", fixed = TRUE)
  expect_gt(missed(object, wide), 0.3)
  # The leading eigenvalue from projection matrices of the rows, one by one.
  x <- object$posterior$x
  frames <- matrix(unlist(lapply(object$posterior$kernels, `[[`, "frame")), 50)
  mean_projection <- Reduce(`+`, lapply(seq_len(ncol(frames)), function(k) {
    z <- x %*% frames[, k]
    tcrossprod(z) / sum(z^2)
  })) / ncol(frames)
  expect_equal(found$agreement, eigen(mean_projection, TRUE, TRUE)$values[1])
  # Of fifty columns that are two and a little noise all is known but U.
  low <- wide
  low$x <- wide$x[, c(1, 2)[rep(1:2, 25)]] + 0.05 * wide$x
  expect_no_warning(object <- fit_own(low))
  expect_lt(missed(object, low), 0.15)
  long <- sets(200, 4)
  expect_no_warning(object <- fit_own(long))
  expect_lt(missed(object, long), 0.12)
})
