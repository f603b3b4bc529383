# Expectation propagation of the nonlinear machine, and tuning by what it says of rows that are left
# out.

ep_data <- curved_data(150, seed = 5)
ep_x <- curved_matrix(ep_data)

ep_process <- function(..., tune = FALSE, x = ep_x, y = ep_data$y, inducing = 20, method = "ep") {
  flat(gpsvm)(x, y, inducing = inducing, method = method, seed = 1, threads = 1, ..., tune = tune)
}

link_moments_of <- function(fit, x = ep_x) predict(fit, x, type = "link", se.fit = TRUE)

test_that("standard deviations are those of the sampler, means near its", {
  for (inducing in list(15, "all")) {
    fit <- ep_process(inducing = inducing, nugget = 0.1)
    draws <- ep_process(
      inducing = inducing, nugget = 0.1, method = "gibbs", chains = 2, warmup = 200, ndraws = 1500
    )
    found <- link_moments_of(fit)
    exact <- link_moments_of(draws)
    ratio <- exp(mean(log(found$se.fit / exact$se.fit)))
    expect_true(ratio > 0.93 && ratio < 1.04)
    expect_lt(sqrt(mean(((found$fit - exact$fit) / exact$se.fit)^2)), 0.12)
    narrow <- link_moments_of(ep_process(inducing = inducing, nugget = 0.1, method = "vb"))
    # Of the function: the nugget is the same in both.
    expect_lt(mean(sqrt((narrow$se.fit^2 - 0.1) / (exact$se.fit^2 - 0.1))), 0.9)
  }
})

test_that("a point at every row is the exact process", {
  kernel <- rbf(1, 2)
  sparse <- ep_process(kernel = kernel, inducing = ep_x, tol = 1e-9)
  exact <- ep_process(kernel = kernel, inducing = "all", tol = 1e-9)
  expect_equal(sparse$log_evidence, exact$log_evidence, tolerance = 1e-5)
  expect_equal(sparse$loo_probit, exact$loo_probit, tolerance = 1e-4)
  expect_equal(link_moments_of(sparse), link_moments_of(exact), tolerance = 1e-4)
})

test_that("a row source gives the same fit", {
  z <- ep_x[1:15, ]
  streamed <- gpsvm(
    row_source(ep_x, ep_data$y), rbf(1), z, method = "ep", threads = 1, seed = 1, tune = FALSE
  )
  fit <- ep_process(kernel = rbf(1), inducing = z)
  expect_equal(streamed$log_evidence, fit$log_evidence, tolerance = 1e-9)
  expect_equal(streamed$loo_probit, fit$loo_probit, tolerance = 1e-9)
})

test_that("threads do not change a bit", {
  data <- curved_data(3000)
  fit <- function(threads) {
    gpsvm(
      curved_matrix(data), data$y, rbf(1),
      inducing = 40, method = "ep", seed = 1, threads = threads, tune = FALSE
    )[c("posterior", "loo", "loo_probit", "log_evidence")]
  }
  expect_identical(fit(2), fit(1))
})

test_that("each row is predicted as by a fit without it", {
  x <- unclass(scale(ep_x))
  fit <- ep_process(
    kernel = rbf(1, 2), standardize = FALSE, x = x, inducing = x[1:20, ], tol = 1e-6
  )
  for (i in c(2, 31, 77, 120)) {
    without <- ep_process(
      kernel = rbf(1, 2), standardize = FALSE, x = x[-i, ],
      y = ep_data$y[-i], inducing = x[1:20, ], tol = 1e-6
    )
    p <- predict(without, x[i, , drop = FALSE], type = "prob", link = "probit")
    expect_lt(abs(log(p[1, as.character(ep_data$y[i])]) - fit$loo_probit[i]), 0.02)
    # By the link of predict(), whose numbers are those of all rows.
    without$link <- fit$link
    p <- predict(stamped(without), x[i, , drop = FALSE], type = "prob")
    expect_lt(abs(log(p[1, as.character(ep_data$y[i])]) - fit$loo[i]), 0.02)
  }
})

test_that("of several classes each row has the share of its own", {
  data <- curved_data(120, classes = 3)
  fit <- ep_process(x = curved_matrix(data), y = data$y)
  expect_length(fit$loo, 120)
  expect_true(all(is.finite(fit$loo)) && all(fit$loo < 0))
  prob <- predict(fit, curved_matrix(data), type = "prob")
  own <- log(prob[cbind(1:120, as.integer(data$y))])
  # Leaving a row out costs it most of the time.
  expect_gt(mean(own > fit$loo), 0.9)
  expect_gt(cor(own, fit$loo), 0.9)
})

test_that("the evidence is above the bound, and is no evidence of the data", {
  fit <- ep_process(kernel = rbf(1, 2))
  bound <- last_bound(ep_process(kernel = rbf(1, 2), method = "vb"))
  expect_gt(fit$log_evidence, bound)
  expect_error(log_evidence(fit), class = "bayeskernel_error")
  expect_error(elbo(fit), class = "bayeskernel_error_argument")
})

test_that("print says how, and a leave-one-out score", {
  text <- paste(capture.output(print(summary(ep_process()))), collapse = "\n")
  expect_match(text, "onverged after [0-9]+ pass")
  expect_match(text, "LOO: *log-loss [0-9.]+")
})

test_that("print, summary, loo() and the field say the same of rows left out", {
  skip_if_not_installed("loo")
  data <- curved_data(120, classes = 3)
  for (fit in list(
    ep_process(), ep_process(weights = rep(1:2, 75)), bsvm(ep_x, ep_data$y, threads = 1),
    ep_process(x = curved_matrix(data), y = data$y)
  )) {
    sum <- sum(fit$loo * (fit$weights %||% 1))
    found <- loo::loo(fit)
    expect_equal(found$estimates["elpd_loo", "Estimate"], sum)
    # Rows tell of themselves: what they add is not far from none.
    expect_gt(found$estimates["p_loo", "Estimate"], 0)
    expect_lt(found$estimates["p_loo", "Estimate"], 40)
    mean <- format(-stats::weighted.mean(fit$loo, fit$weights %||% rep(1, fit$n)), digits = 3)
    # More classes have an error where the link is calibrated.
    error <- if (length(fit$levels) == 2L) ", error [0-9.]+ %"
    machine <- inherits(fit, "gpsvm")
    shown <- if (machine) {
      paste0("LOO: *log-loss ", mean, error)
    } else {
      sprintf("leave-one-out log score %.2f", sum)
    }
    for (text in list(capture.output(print(fit)), capture.output(print(summary(fit))))) {
      expect_match(text, shown, all = FALSE)
      # Once is enough.
      expect_identical(any(grepl("log score", text)), !machine)
    }
  }
  expect_error(loo::loo(ep_process(method = "vb")), class = "bayeskernel_error_argument")
  counts <- bsvm(cbind(c(1, 0, 2, 3), c(2, 3, 1, 0)) ~ x, data.frame(x = 1:4), threads = 1)
  expect_error(loo::loo(counts), "of counts")
})

# Without residuals: a row's is its own.
test_that("weights are powers: none is no row, whole ones nearly repeat it", {
  z <- ep_x[41:110, ]
  kernel <- rbf(c(10, 1), 2)
  fit_with <- function(rows, ...) {
    ep_process(
      kernel = kernel, inducing = z, standardize = FALSE, x = ep_x[rows, ],
      y = ep_data$y[rows], tol = 1e-8, ...
    )
  }
  without <- fit_with(-(1:40))
  none <- fit_with(TRUE, weights = rep(0:1, c(40, 110)))
  expect_equal(link_moments_of(none), link_moments_of(without))
  twice <- fit_with(c(41:110, 41:60))
  power <- fit_with(41:110, weights = rep(2:1, c(20, 50)))
  expect_equal(link_moments_of(power)$fit, link_moments_of(twice)$fit, tolerance = 0.01)
})

test_that("messages that do not settle give way to mean field, said", {
  expect_warning(
    fit <- ep_process(max_iter = 2, tol = 1e-10), class = "bayeskernel_warning_convergence"
  )
  vb <- ep_process(method = "vb", tol = 1e-6)
  expect_equal(link_moments_of(fit), link_moments_of(vb), tolerance = 1e-4)
  expect_null(fit$loo)
  expect_identical(fit$check$fallback, "vb")
  text <- paste(capture.output(print(fit)), collapse = " ")
  expect_match(gsub(" +", " ", text), "did not settle")
})

# --- tune = "loo" ------------------------------------------------------------

mean_loo <- function(...) {
  fit <- ep_process(tol = 1e-8, ...)
  -fit$link$value / fit$n
}

test_that("no kernel near by predicts rows that are left out better", {
  fit <- ep_process(tune = "loo")
  z <- fit$inducing
  best <- mean_loo(kernel = fit$kernel, inducing = z)
  expect_lt(abs(best + fit$tuned$log_loss), 1e-5)
  expect_identical(fit$tuned$by, "loo")
  expect_true(fit$tuned$converged)
  found <- kernel_parameters(fit$kernel)
  for (step in c(0.7, 1.4)) {
    for (k in 1:2) {
      moved <- found
      moved[k] <- moved[k] * step
      kernel <- rbf(moved[["lengthscale"]], moved[["variance"]])
      start <- log(c(fit$median_distance, 1))
      prior <- score_prior(log(moved), start) - score_prior(log(found), start)
      expect_lt(mean_loo(kernel = kernel, inducing = z) - prior / fit$n, best)
    }
  }
  expect_match(paste(capture.output(print(summary(fit))), collapse = "\n"),
    "by leave-one-out on 150 rows")
})

test_that("it stays in the box and works for every kind of process", {
  box <- gpsvm_prior(lengthscale = c(2, 2.5), variance = c(0.5, 0.6))
  found <- kernel_parameters(ep_process(tune = "loo", prior = box)$kernel)
  expect_true(found[["variance"]] >= 0.5 && found[["variance"]] <= 0.6)
  expect_true(found[["lengthscale"]] >= 2 && found[["lengthscale"]] <= 2.5)
  few <- 1:60
  exact <- ep_process(x = ep_x[few, ], y = ep_data$y[few], inducing = "all", tune = "loo")
  expect_gt(
    sum(exact$loo_probit),
    sum(ep_process(x = ep_x[few, ], y = ep_data$y[few], inducing = "all")$loo_probit)
  )
  nugget <- ep_process(nugget = 2, tune = "loo")
  expect_gt(sum(nugget$loo_probit), sum(ep_process(nugget = 2)$loo_probit))
  expect_false(nugget$nugget == 2)
  data <- curved_data(90, classes = 3)
  x <- curved_matrix(data)
  classes <- ep_process(x = x, y = data$y, tune = "loo")
  expect_gt(sum(classes$loo), sum(ep_process(x = x, y = data$y)$loo))
  # Any method may take the kernel.
  other <- ep_process(tune = "loo", method = "vb")
  expect_equal(other$kernel, ep_process(tune = "loo")$kernel)
})

test_that("an irrelevant column gets a long length-scale", {
  set.seed(4)
  noisy <- cbind(ep_x, noise = rnorm(150))
  fit <- ep_process(x = noisy, kernel = rbf(ard = TRUE), tune = "loo")
  ell <- fit$kernel$lengthscale
  # The other is linear.
  expect_gt(ell[["noise"]], 2 * ell[["x1"]])
})

test_that("another word for tune is refused", {
  expect_error(ep_process(tune = "evidence"), "\"loo\"", class = "bayeskernel_error_argument")
})

test_that("rows left out are compared with shares of classes, and say that tuning used them", {
  d <- iris[c(1:20, 51:90, 101:130), c(1, 2, 5)]
  share <- c(20, 40, 30) / 90
  said <- function(...) {
    fit <- gpsvm(Species ~ ., d, seed = 1, threads = 1, ...)
    gsub("\\s+", " ", paste(capture.output(print(fit)), collapse = " "))
  }
  other <- sprintf("(without predictors %s", format(-sum(share * log(share)), digits = 3))
  expect_match(said(), other, fixed = TRUE)
  expect_match(said(), "); tuning used it", fixed = TRUE)
  expect_match(said(kernel = rbf(ard = TRUE)), "); optimistic, as tuning used it", fixed = TRUE)
  expect_no_match(said(kernel = rbf(1)), "tuning used it")
  skip_if_not_installed("loo")
  for (tune in c(TRUE, FALSE)) {
    text <- capture.output(print(loo::loo(gpsvm(Species ~ ., d, tune = tune, seed = 1))))
    expect_identical(any(grepl("tuning used it", text)), tune)
  }
})
