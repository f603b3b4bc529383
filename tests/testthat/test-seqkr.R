# What is random in a fit, without the clock.
answer <- function(fit) {
  list(fit$posterior, fit$state, fit$trace$steps[c("log_evidence", "ess")], fit$fitted)
}

test_that("a stream that is extended is the stream in one piece", {
  d <- wave_data(36)
  extend <- function(...) {
    suppressWarnings(
      bayeskernel::extend(..., progress = FALSE), classes = "bayeskernel_warning_convergence"
    )
  }
  settings <- list(
    list(), list(moves = "corrected"), list(grid_max = 9),
    list(grid = cbind(x = seq(-3, 3, length.out = 11))),
    list(unique_grid = TRUE, resampling = "residual", ess = 1)
  )
  for (own in settings) {
    fit <- function(rows, ...) {
      do.call(quick_seqkr, c(list(
        y ~ x, d[rows, ], kernel = rbf(1), order = "given", standardize = FALSE,
        prior = seqkr_prior(noise = c(1, 1), coef = c(2, 50))
      ), own))
    }
    whole <- fit(1:36)
    part <- extend(fit(1:20), d[21:30, ], threads = 2)
    path <- tempfile(fileext = ".rds")
    saveRDS(part, path)
    resumed <- extend(readRDS(path), d[31:36, "x", drop = FALSE], d$y[31:36])
    unlink(path)
    expect_identical(answer(resumed)[1:3], answer(whole)[1:3])
    expect_equal(resumed$log_evidence, whole$log_evidence)
    expect_identical(nobs(resumed), nobs(whole))
    if (is.null(own$grid_max) && is.null(own$grid)) {
      expect_identical(fitted(resumed), fitted(whole))
      expect_identical(resumed$y, whole$y)
    } else {
      expect_error(fitted(resumed), class = "bayeskernel_error_argument")
    }
  }
  fit <- function(rows) {
    quick_seqkr(
      class ~ x, d[rows, ], family = "binomial", kernel = rbf(1), order = "given",
      standardize = FALSE
    )
  }
  whole <- fit(1:36)
  parts <- extend(fit(1:20), d[21:36, ])
  expect_identical(answer(parts)[1:3], answer(whole)[1:3])
  expect_equal(parts$share, whole$share)
})

test_that("threads change nothing, and a seed is all that is random", {
  d <- wave_data(30)
  one <- quick_seqkr(y ~ x, d)
  expect_identical(answer(quick_seqkr(y ~ x, d, threads = 3)), answer(one))
  expect_false(identical(answer(quick_seqkr(y ~ x, d, seed = 4)), answer(one)))
})

test_that("a bad batch is refused and the fit stays as it was", {
  d <- wave_data(30)
  fit <- quick_seqkr(y ~ x, d, order = "given")
  before <- serialize(fit, NULL)
  refuse <- function(expression, class) {
    expect_error(expression, class = paste0("bayeskernel_error_", class))
  }
  gap <- d[1:3, ]
  gap$x[2] <- NaN
  refuse(extend(fit, gap), "missing")
  gap <- d[1:3, ]
  gap$y[3] <- NA
  expect_match(refuse(extend(fit, gap), "missing")$message, "row 3")
  gap$y[3] <- Inf
  refuse(extend(fit, gap), "response")
  refuse(extend(fit, data.frame(z = 1, y = 2)), "argument")
  refuse(extend(fit, d[1:3, "x", drop = FALSE]), "argument")
  refuse(extend(fit, d[1:3, "x", drop = FALSE], 1:2), "argument")
  refuse(extend(fit, data.frame(x = "a", y = 1)), "argument")
  refuse(extend(quick_bark(y ~ x, d), d), "argument")
  damaged <- fit
  damaged$state$centre <- rev(damaged$state$centre) + 1000
  refuse(extend(stamped(damaged), d[1:3, ]), "argument")
  damaged <- fit
  damaged$posterior$mean <- damaged$posterior$mean[-1]
  refuse(predict(stamped(damaged), d[1:3, ]), "argument")
  expect_identical(serialize(fit, NULL), before)
  expect_identical(extend(fit, d[0, ]), fit)
})

test_that("impossible arguments are errors that name them", {
  d <- wave_data(30)
  refuse <- function(class, column, ...) {
    error <- expect_error(quick_seqkr(y ~ x, d, ...), class = paste0("bayeskernel_error_", class))
    expect_identical(error$column, column)
  }
  refuse("argument", "particles", particles = 1)
  refuse("argument", "moves", moves = "other")
  refuse("argument", "ess", ess = -1)
  refuse("argument", "grid", grid = "none")
  refuse("argument", "grid", grid = matrix(NA_real_))
  refuse("dimension", "grid", grid = matrix(1, 2, 2))
  refuse("kernel", "kernel", kernel = precomputed())
  refuse("prior", "prior", prior = bark_prior())
  expect_error(rbf(0), class = "bayeskernel_error_kernel")
  for (call in list(
    quote(seqkr_prior(lambda = 0)), quote(seqkr_prior(kmax = -1)),
    quote(seqkr_prior(noise = c(1, -1))), quote(seqkr_prior(coef = 1:3))
  )) {
    expect_error(eval(call), class = "bayeskernel_error_prior")
  }
  expect_error(quick_seqkr(x = cbind(x = 1), y = 1), class = "bayeskernel_error")
  old <- options(bayeskernel.max_bytes = 1e4)
  refuse("argument", "grid_max")
  options(old)
  d$code <- rep(0:1, 15)
  expect_error(quick_seqkr(code ~ x, d), class = "bayeskernel_error_response")
})

test_that("odd data: constants, copies, no kernels, hardly any rows", {
  d <- wave_data(30)
  d$same <- 7
  expect_warning(fit <- quick_seqkr(same ~ x, d), class = "bayeskernel_warning_response")
  expect_lt(max(abs(fitted(fit) - 7)), 0.5)
  copies <- d[rep(1:5, 6), ]
  for (unique in c(FALSE, TRUE)) {
    fit <- quick_seqkr(y ~ x, copies, unique_grid = unique)
    expect_true(all(is.finite(fitted(fit))))
    expect_identical(ncol(fit$state$points), if (unique) 5L else 30L)
  }
  none <- quick_seqkr(y ~ x, d, prior = seqkr_prior(kmax = 0))
  expect_true(all(none$posterior$size == 0))
  expect_equal(diff(range(fitted(none))), 0)
  two <- quick_seqkr(y ~ x, d[1:2, ])
  expect_true(all(is.finite(predict(two, d))))
  expect_warning(
    quick_seqkr(y ~ x, d, prior = seqkr_prior(coef = c(1e-3, 1e-3))),
    class = "bayeskernel_warning_prior"
  )
})

test_that("every way of resampling, and none, finds the function", {
  d <- wave_data(60)
  new <- data.frame(x = seq(-2.5, 2.5, 0.5))
  truth <- 20 + 5 * sin(1.5 * new$x)
  for (scheme in c("systematic", "stratified", "residual", "multinomial")) {
    fit <- quick_seqkr(y ~ x, d, resampling = scheme, particles = 150)
    expect_lt(sqrt(mean((predict(fit, new) - truth)^2)), 0.75)
    expect_gt(sigma(fit), 0.4)
    expect_lt(sigma(fit), 1.3)
  }
  corrected <- quick_seqkr(y ~ x, d, moves = "corrected", particles = 150, order = "given")
  expect_lt(sqrt(mean((predict(corrected, new) - truth)^2)), 1.2)
})

test_that("a shift and a scale of the response are undone", {
  d <- wave_data(30)
  one <- quick_seqkr(y ~ x, d)
  d$y <- 3 * d$y - 100
  other <- quick_seqkr(y ~ x, d)
  new <- data.frame(x = c(-1, 0, 2))
  expect_equal(predict(other, new), 3 * predict(one, new) - 100)
  expect_equal(sigma(other), 3 * sigma(one))
  expect_equal(log_evidence(other), log_evidence(one) - 30 * log(3), tolerance = 1e-8)
  expect_equal(sum(log_evidence(one, by_row = TRUE)), log_evidence(one))
})

test_that("intervals are quantiles of the mixture", {
  d <- wave_data(40)
  fit <- quick_seqkr(y ~ x, d)
  new <- data.frame(x = c(-1, 0.3, 5))
  for (kind in c("credible", "prediction")) {
    limits <- predict(fit, new, interval = kind, level = 0.8)
    normals <- particle_normals(fit, new_rows(fit, new), kind == "prediction", 1)
    for (i in 1:3) {
      below <- mean(pnorm(limits[i, "upr"], normals$mean[, i], normals$sd[, i]))
      expect_equal(below, 0.9, tolerance = 1e-8)
    }
    expect_equal(unname(limits[, "fit"]), unname(predict(fit, new)))
  }
  draws <- predict(fit, new, draws = TRUE, ndraws = 6000, seed = 1)
  moments <- predict(fit, new, se.fit = TRUE)
  expect_lt(max(abs(colMeans(draws) - moments$fit) / moments$se.fit), 0.08)
  expect_lt(max(abs(apply(draws, 2, sd) / moments$se.fit - 1)), 0.08)
})

test_that("the evidence prefers the right width", {
  d <- wave_data(60)
  fit <- quick_seqkr(y ~ x, d, kernel = rbf(0.05), tune = TRUE, particles = 100)
  expect_true(all(fit$tuned$grid$factor %in% 2^(seq(-4, 4) / 2)))
  expect_gt(kernel_parameters(fit$kernel)[["lengthscale"]], 0.15)
  expect_equal(
    max(fit$tuned$grid$log_evidence) - 60 * log(fit$transform$response[2]), log_evidence(fit)
  )
})

# Wide kernels are the slow ones.
test_that("length-scales far from the best are not tried", {
  path <- function(evidence) {
    tried <- rep(NA_real_, 9)
    while (length(g <- next_factor(tried))) tried[g] <- evidence[g]
    which(!is.na(tried))
  }
  expect_identical(path(-abs(1:9 - 3.8)), 1:5)
  expect_identical(path(9:1), c(1:3, 5L))
  expect_identical(path(1:9), c(1L, 3L, 5L, 7:9))
  # Of any single peak the top is found.
  for (peak in 1:9) expect_true(peak %in% path(-abs(1:9 - peak)))
  expect_true(5L %in% path(rep(-Inf, 9)))
})

test_that("an endless stream costs the same row after row", {
  set.seed(1)
  n <- 3000
  x <- cbind(x = runif(n, -3, 3))
  y <- sin(2 * x[, 1]) + rnorm(n, sd = 0.2)
  fit <- quick_seqkr(
    x[1:200, , drop = FALSE], y[1:200],
    kernel = rbf(0.7), grid_max = 60, order = "given", particles = 40
  )
  size <- object.size(fit$state)
  fit <- extend(fit, x[201:n, , drop = FALSE], y[201:n])
  expect_identical(nobs(fit), as.integer(n))
  expect_equal(object.size(fit$state), size, tolerance = 0.05)
  new <- cbind(x = seq(-2.5, 2.5, 0.25))
  expect_lt(max(abs(predict(fit, new) - sin(2 * new[, 1]))), 0.06)
  expect_equal(sigma(fit), 0.2, tolerance = 0.06)
})

test_that("classes: probabilities follow the truth, draws and summary agree", {
  set.seed(2)
  d <- data.frame(a = rnorm(150), b = rnorm(150))
  d$y <- pnorm(2 * d$a - d$b) > runif(150)
  fit <- quick_seqkr(y ~ a + b, d, family = "binomial", particles = 100, kernel = rbf(1) + linear())
  prob <- predict(fit, d, type = "prob")[, 2]
  expect_gt(cor(prob, pnorm(2 * d$a - d$b)), 0.85)
  expect_true(all(prob > 0 & prob < 1))
  expect_lt(log_loss(d$y, prob), 0.5)
  draws <- coda::as.mcmc(fit)
  expect_identical(colnames(draws), c("kernels", "coef_sd"))
  expect_equal(mean(draws[, "kernels"]), mean(fit$posterior$size))
})

test_that("many predictors have a hint", {
  d <- as.data.frame(matrix(sin(1:240), 40))
  d$y <- d$V1 + cos(1:40)
  fit <- quick_seqkr(y ~ ., d, kernel = rbf(1))
  expect_output(print(fit), "intervals with 6 predictors are too narrow", fixed = TRUE)
  fit <- quick_seqkr(y ~ V1 + V2, d, kernel = rbf(1))
  expect_false(any(grepl("too narrow", capture.output(print(fit)))))
})

test_that("summary tells kernels, evidence and effective particles", {
  d <- wave_data(40)
  fit <- quick_seqkr(y ~ x, d)
  s <- summary(fit)
  expect_equal(sum(s$kernels$prior), 1)
  expect_equal(sum(s$kernels$posterior), 1)
  expect_equal(s$log_evidence, log_evidence(fit))
  expect_length(s$ess, 40L)
  expect_equal(sum(s$centres$inclusion), mean(fit$posterior$size))
  expect_true(all(s$centres$x %in% d$x | s$centres$x > -4))
  text <- capture.output(print(fit))
  expect_match(text, "log evidence", all = FALSE)
  expect_match(text, "particles over 40 rows", all = FALSE)
  expect_match(capture.output(print(seqkr_prior())), "Poisson", all = FALSE)
})

test_that("pictures are drawn and say what they show", {
  d <- wave_data(40)
  fit <- quick_seqkr(y ~ x, d)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  curve <- plot(fit)
  expect_identical(nrow(curve), 201L)
  expect_equal(range(curve$x), range(d$x))
  expect_true(all(curve$lwr < curve$fit & curve$fit < curve$upr))
  expect_identical(plot(fit, "trace"), fit$trace$steps)
  expect_equal(plot(fit, "kernels"), summary(fit)$kernels)
  classes <- quick_seqkr(class ~ x, d, family = "binomial")
  curve <- plot(classes, "fit")
  expect_true(all(curve$lwr >= 0 & curve$upr <= 1))
})

test_that("a length-scale that nobody gave is chosen by the evidence", {
  d <- wave_data()
  fit <- quick_seqkr(y ~ x, d)
  expect_equal(fit$tuned$rows, 40)
  expect_output(print(summary(fit)), "evidence of 40 rows")
  best <- fit$tuned$grid[which.max(fit$tuned$grid$log_evidence), ]
  again <- quick_seqkr(y ~ x, d, kernel = fit$kernel)
  expect_null(again$tuned)
  expect_identical(again$posterior, fit$posterior)
  plain <- quick_seqkr(y ~ x, d, tune = FALSE)
  expect_equal(plain$kernel$lengthscale * best$factor, fit$kernel$lengthscale)
  # Of more rows the first decide, in their order.
  long <- wave_data(230)
  classes <- quick_seqkr(class ~ x, long, family = "binomial", particles = 20)
  expect_equal(classes$tuned$rows, 200)
  expect_length(classes$trace$steps[, "log_evidence"], 230)
  expect_identical(
    classes$posterior,
    quick_seqkr(class ~ x, long, family = "binomial", particles = 20,
      kernel = classes$kernel)$posterior
  )
})

# Shares of sets after each row under the printed weight of the paper, with endlessly many particles
# and fixed variances: every set's share is what its predecessors send it.
printed_shares <- function(x, y, lambda, noise, coef, c) {
  likelihood <- function(set, t) {
    h <- cbind(1, exp(-outer(x[seq_len(t)], x[set], "-")^2))
    v <- noise * diag(t) + coef * tcrossprod(h)
    exp(-0.5 * (determinant(2 * pi * v)$modulus[1] + sum(y[seq_len(t)] * solve(v, y[seq_len(t)]))))
  }
  shares <- list("1" = list(set = 1L, share = 1))
  for (t in 2:length(x)) {
    new <- list()
    send <- function(set, amount, from) {
      key <- paste(set, collapse = "_")
      weight <- amount * likelihood(set, t) / likelihood(from, t - 1)
      before <- if (is.null(new[[key]])) 0 else new[[key]]$share
      new[[key]] <<- list(set = set, share = weight + before)
    }
    for (old in shares) {
      k <- length(old$set)
      birth <- if (k == t) 0 else c * min(1, lambda / (k + 1))
      death <- if (k == 1) 0 else c * min(1, k / lambda)
      send(old$set, old$share * (1 - birth - death), old$set)
      # A move to each of the sets has 1 / (t - k) or 1 / k of its probability, which the weight
      # divides by.
      if (birth > 0) {
        for (at in setdiff(seq_len(t), old$set)) {
          send(sort(c(old$set, at)), old$share * birth * lambda / k, old$set)
        }
      }
      if (death > 0) {
        for (at in seq_len(k)) {
          send(old$set[-at], old$share * death * (k - 1) / lambda, old$set)
        }
      }
    }
    total <- sum(vapply(new, `[[`, 1, "share"))
    shares <- lapply(new, function(each) list(set = each$set, share = each$share / total))
  }
  vapply(shares, `[[`, 1, "share")
}

test_that("the printed weight is that of the paper, and warns", {
  x <- c(-1, 0.2, 0.9, 2, -0.4)
  y <- c(0.3, 1.1, 0.2, -0.5, 0.9)
  found <- function(moves, c) {
    fit <- suppressWarnings(seqkr(
      cbind(x = x), y, kernel = rbf(1 / sqrt(2)), moves = moves, particles = 40000,
      order = "given", standardize = FALSE, seed = 2, threads = 1,
      prior = seqkr_prior(lambda = 2, noise = 0.3, coef = 1),
      control = list(ess = 1, final_moves = 0, move_rate = c)
    ))
    of <- rep(seq_along(fit$posterior$size), fit$posterior$size)
    centre <- split(fit$posterior$grid_point[fit$posterior$centre + 1L] + 1L, of)
    table(vapply(centre, function(set) paste(sort(set), collapse = "_"), "")) / 40000
  }
  distance <- function(c, other = c, moves = "printed") {
    expected <- printed_shares(x, y, 2, 0.3, 1, c)
    share <- found(moves, other)
    all <- union(names(expected), names(share))
    sum(abs(replace(expected[all], is.na(expected[all]), 0) -
      replace(share[all], is.na(share[all]), 0))) / 2
  }
  for (c in c(0.25, 0.5)) expect_lt(distance(c), 0.02)
  # Another fraction of moves, or the valid weight, is elsewhere.
  expect_gt(distance(0.5, 0.1), 0.05)
  expect_gt(distance(0.25, moves = "corrected"), 0.05)
  expect_warning(
    seqkr(dist ~ speed, cars, moves = "printed", seed = 1),
    "valid sampler", class = "bayeskernel_warning_convergence"
  )
  for (c in c(0, 0.6)) {
    expect_bk_error(seqkr_control(move_rate = c), "argument", "move_rate")
  }
})

test_that("variances have the improper prior of the paper where it is asked for", {
  y <- c(1.2, -0.7, 0.4, 2.1, -0.3, 0.8)
  expect_warning(
    fit <- quick_seqkr(
      cbind(x = 1:6), y, kernel = rbf(1), particles = 4000, standardize = FALSE,
      prior = seqkr_prior(kmax = 0, noise = c(0, 0), coef = 4), final_moves = 20
    ),
    class = "bayeskernel_warning_prior"
  )
  # p(v) = 1 / v, and y normal with variance v I + 4 1 1'.
  log_v <- seq(-3, 4, 0.01)
  density <- vapply(exp(log_v), function(v) {
    exp(-0.5 * (5 * log(v) + log(v + 24) + sum(y^2) / v - 4 * sum(y)^2 / (v * (v + 24))))
  }, 0)
  exact <- sum(sqrt(exp(log_v)) * density) / sum(density)
  expect_equal(sigma(fit), exact, tolerance = 0.03)
  expect_bk_error(seqkr_prior(noise = c(0, 1)), "prior", "noise")
})
