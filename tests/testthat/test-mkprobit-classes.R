# Weights of classes as powers of the likelihood under the process prior of mkprobit().

weighted_process <- function(..., variance = 2, intercept = 1.5) {
  flat(mkprobit)(
    ..., tune = FALSE, tol = 1e-13, max_iter = 20000, seed = 1, threads = 1,
    prior = mkprobit_prior(variance = variance, intercept = intercept)
  )
}

uneven_clouds <- function(counts = c(a = 14, b = 7, c = 4), seed = 5) {
  set.seed(seed)
  y <- factor(rep(names(counts), counts))
  at <- as.integer(y)
  list(x = cbind(u = cos(2 * at), v = sin(2 * at)) + rnorm(2 * length(y), sd = 0.9), y = y)
}

# d log P(class i | m) / d m by plain quadrature.
log_cone_slope <- function(m, i) {
  value <- function(m) {
    log(stats::integrate(function(u) {
      vapply(u, function(one) stats::dnorm(one) * prod(stats::pnorm(one + m[i] - m[-i])), 0)
    }, -9, 9, rel.tol = 1e-10)$value)
  }
  vapply(seq_along(m), function(c) {
    step <- replace(numeric(length(m)), c, 1e-4)
    (value(m + step) - value(m - step)) / 2e-4
  }, 0)
}

test_that("weights of classes are powers of the likelihood", {
  data <- uneven_clouds()
  weights <- c(a = 0.6, b = 1, c = 2.5)
  fit <- weighted_process(
    data$x, data$y, kernel = rbf(0.9), standardize = FALSE, class_weights = weights[c("c", "a")]
  )
  expect_equal(fit$class_weights, weights)
  power <- weights[as.character(data$y)]
  k <- 2 * exp(-as.matrix(stats::dist(data$x))^2 / (2 * 0.9^2)) + 1.5^2
  f <- predict(fit, data$x, type = "link")
  slope <- t(vapply(seq_along(data$y), function(n) {
    power[[n]] * log_cone_slope(f[n, ], as.integer(data$y)[n])
  }, numeric(3)))
  expect_equal(unname(f), unname(k %*% slope), tolerance = 1e-5)
  # A latent response of a row at power p is seen with variance 1 / p.
  var <- diag(k - k %*% solve(k + diag(1 / power), k))
  found <- predict(fit, data$x, type = "link", se.fit = TRUE)$se.fit
  expect_equal(unname(found), unname(matrix(sqrt(var), length(var), 3)), tolerance = 1e-6)
})

test_that("whole weights of classes are rows that are repeated", {
  data <- uneven_clouds()
  one <- weighted_process(
    data$x, data$y, kernel = rbf(0.9), standardize = FALSE, class_weights = c(b = 2, c = 3)
  )
  times <- c(1, 2, 3)[as.integer(data$y)]
  at <- rep(seq_along(times), times)
  many <- weighted_process(data$x[at, ], data$y[at], kernel = rbf(0.9), standardize = FALSE)
  expect_equal(
    predict(one, data$x + 0.3, type = "prob"), predict(many, data$x + 0.3, type = "prob"),
    tolerance = 1e-5
  )
  expect_equal(utils::tail(one$trace$elbo, 1), utils::tail(many$trace$elbo, 1), tolerance = 1e-6)
})

test_that("balanced classes have equal shares, of all rows as many as there are", {
  counts <- c(a = 60, b = 20, c = 10)
  data <- uneven_clouds(counts)
  fit <- flat(mkprobit)(data$x, data$y, class_weights = "balanced", threads = 1, seed = 1)
  expect_equal(fit$class_weights, 90 / (3 * counts))
  expect_output(print(summary(fit)), "Class weights: *a 0.5, b 1.5, c 3")
  # Where nothing tells classes apart each has its share of the weights.
  set.seed(2)
  noise <- flat(mkprobit)(
    matrix(rnorm(180), 90), data$y, class_weights = "balanced", threads = 1, seed = 1
  )
  p <- colMeans(predict(noise, matrix(rnorm(60), 30), type = "prob"))
  expect_lt(max(abs(p - 1 / 3)), 0.08)
})

test_that("a left-out row leaves with its whole power, by dense algebra", {
  data <- uneven_clouds()
  y <- as.integer(data$y)
  n <- length(y)
  k <- 2 * exp(-as.matrix(stats::dist(data$x))^2 / (2 * 0.9^2)) + 1.5^2
  power <- c(0.6, 1, 2.5)[y]
  found <- core_call(mkprobit_left_out_cpp(chol(k + diag(1e-10, n)), y, 3L, list(
    nodes = 0L, tol = 1e-14, max_iter = 20000L, threads = 1L, power = power, sharpness = 1
  )))$log_prob[, 1]
  fit <- weighted_process(
    data$x, data$y, kernel = rbf(0.9), standardize = FALSE, class_weights = c(a = 0.6, c = 2.5)
  )
  f <- predict(fit, data$x, type = "link")
  slope <- t(vapply(seq_len(n), function(i) log_cone_slope(f[i, ], y[i]), numeric(3)))
  bend <- t(vapply(seq_len(n), function(i) {
    vapply(1:3, function(c) {
      step <- replace(numeric(3), c, 1e-2)
      (log_cone_slope(f[i, ] - step, y[i]) - log_cone_slope(f[i, ] + step, y[i]))[c] / 2e-2
    }, 0)
  }, numeric(3)))
  # One step of Newton's to the mode without the row; variances are those of a fit without it.
  mean <- vapply(1:3, function(c) {
    v <- diag(solve(solve(k + diag(1e-10, n)) + diag(power * bend[, c])))
    f[, c] - v * power * slope[, c] / (1 - power * bend[, c] * v)
  }, numeric(n))
  right <- vapply(seq_len(n), function(i) {
    var <- 1 + k[i, i] - k[i, -i] %*% solve(k[-i, -i] + diag(1 / power[-i]), k[-i, i])
    m <- mean[i, ] / sqrt(c(var))
    log(stats::integrate(function(u) {
      vapply(u, function(one) stats::dnorm(one) * prod(stats::pnorm(one + m[y[i]] - m[-y[i]])), 0)
    }, -9, 9, rel.tol = 1e-10)$value)
  }, 0)
  expect_equal(found, right, tolerance = 1e-3)
})

test_that("a class of one row with a balanced weight leaves the others alone", {
  data <- uneven_clouds(c(a = 20, b = 20, c = 20))
  before <- flat(mkprobit)(data$x, data$y, threads = 1, seed = 1)
  y <- factor(c(as.character(data$y), "d"), c("a", "b", "c", "d", "e"))
  suppressWarnings(
    fit <- flat(mkprobit)(
      rbind(data$x, c(9, 9)), y, class_weights = "balanced", threads = 1, seed = 1
    ), classes = "bayeskernel_warning_response"
  )
  expect_true(all(is.finite(fit$class_weights)))
  p <- predict(fit, data$x, type = "prob")
  expect_true(all(is.finite(p)))
  expect_lt(mean(abs(p[, 1:3] - predict(before, data$x, type = "prob"))), 0.07)
})

test_that("weights of classes that cannot be are refused", {
  data <- uneven_clouds()
  refused <- function(..., says) {
    expect_bk_error(flat(mkprobit)(data$x, data$y, ..., threads = 1), "argument", says)
  }
  refused(class_weights = "even", says = "balanced")
  refused(class_weights = c(z = 2), says = "names no class")
  refused(class_weights = c(1, 5), says = "no names")
  refused(class_weights = "balanced", method = "gibbs", says = "method = \"vb\"")
  refused(class_weights = "balanced", coefficients = "weights", says = "process")
})

test_that("left-out rows are the same from another start", {
  data <- uneven_clouds()
  n <- length(data$y)
  k <- 2 * exp(-as.matrix(stats::dist(data$x))^2 / (2 * 0.9^2)) + 1.5^2
  control <- list(
    nodes = 0L, tol = 1e-14, max_iter = 20000L, threads = 1L, power = NULL, sharpness = c(1, 2)
  )
  look <- function(control) {
    core_call(mkprobit_left_out_cpp(
      chol(k + diag(1e-10, n)), as.integer(data$y), 3L, control
    ))
  }
  cold <- look(control)
  set.seed(13)
  warm <- look(c(control, list(latent = cold$latent + rnorm(3 * n))))
  # The bound, by which both stop, has no digits left for more.
  expect_equal(warm$log_prob, cold$log_prob, tolerance = 1e-4)
})
