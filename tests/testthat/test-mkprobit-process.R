# The process prior of mkprobit(): exact algebra, composites, tuning, samples.

held_process <- function(..., variance = 2, intercept = 1.5, tol = 1e-13) {
  flat(mkprobit)(
    ..., tune = FALSE, tol = tol, max_iter = 20000, seed = 1, threads = 1,
    prior = mkprobit_prior(variance = variance, intercept = intercept)
  )
}

three_clouds <- function(n = 36, seed = 3) {
  set.seed(seed)
  y <- factor(rep(c("a", "b", "c"), length.out = n))
  at <- as.integer(y)
  list(x = cbind(u = cos(2 * at), v = sin(2 * at)) + rnorm(2 * n, sd = 0.8), y = y)
}

squared_distance <- function(x, z) outer(rowSums(x^2), rowSums(z^2), `+`) - 2 * tcrossprod(x, z)

# log of the integral of dnorm(u) prod_j pnorm(u + m_i - m_j), plain.
log_orthant <- function(m, i) {
  log(stats::integrate(function(u) {
    vapply(u, function(one) stats::dnorm(one) * prod(stats::pnorm(one + m[i] - m[-i])), 0)
  }, -9, 9, rel.tol = 1e-10)$value)
}

test_that("the fit is where the penalised likelihood of the process peaks", {
  data <- three_clouds(24)
  fit <- held_process(data$x, data$y, kernel = rbf(0.9), standardize = FALSE)
  k <- 2 * exp(-squared_distance(data$x, data$x) / (2 * 0.9^2)) + 1.5^2
  f <- predict(fit, data$x, type = "link")
  # f = K g with g the gradient of the log likelihood, by differences.
  gradient <- t(vapply(seq_len(nrow(f)), function(n) {
    own <- as.integer(data$y)[n]
    vapply(1:3, function(c) {
      step <- replace(numeric(3), c, 1e-4)
      (log_orthant(f[n, ] + step, own) - log_orthant(f[n, ] - step, own)) / 2e-4
    }, 0)
  }, numeric(3)))
  expect_equal(unname(k %*% gradient), unname(f), tolerance = 1e-4)
})

test_that("a hundred passes settle functions that may vary much", {
  set.seed(5)
  y <- factor(rep(c("a", "b", "c"), 8))
  x <- cbind(cos(2 * as.integer(y)), sin(2 * as.integer(y))) + rnorm(48, sd = 0.35)
  design <- cbind(100 * x / sqrt(mean(rowSums(x^2))), 3)
  # Of three linear functions, plain.
  u <- seq(-9, 9, by = 0.05)
  penalised <- function(w) {
    f <- design %*% matrix(w, 3)
    own <- as.integer(y)
    below <- function(k) {
      other <- (own - 1 + k) %% 3 + 1
      stats::pnorm(outer(f[cbind(1:24, own)] - f[cbind(1:24, other)], u, `+`))
    }
    z <- 0.05 * (below(1) * below(2)) %*% stats::dnorm(u)
    sum(log(z)) - sum(w^2) / 2
  }
  fit <- flat(mkprobit)(
    x, y, kernel = linear(), tune = FALSE, standardize = FALSE, tol = 1e-9, max_iter = 100,
    threads = 1, prior = mkprobit_prior(variance = 1e4, intercept = 3)
  )
  found <- c(qr.solve(design, predict(fit, x, type = "link")))
  best <- optim(found, penalised, method = "BFGS", control = list(fnscale = -1, reltol = 1e-10))
  expect_lt(best$value - penalised(found), 1e-3)
})

test_that("variances of new rows are those of a Gaussian process", {
  data <- three_clouds()
  new <- rbind(data$x[1, ], c(0.3, -0.2), c(40, 40))
  fit <- held_process(data$x, data$y, kernel = rbf(0.9), standardize = FALSE)
  cov <- function(x, z) 2 * exp(-squared_distance(x, z) / (2 * 0.9^2)) + 1.5^2
  cross <- cov(data$x, new)
  right <- diag(cov(new, new)) - colSums(cross * solve(
    cov(data$x, data$x) + diag(nrow(data$x)), cross
  ))
  found <- predict(fit, new, type = "link", se.fit = TRUE)
  expect_equal(unname(found$se.fit[, 2]^2), right, tolerance = 1e-6)
  # Far away the prior alone is left, whatever the regressors.
  few <- held_process(data$x, data$y, kernel = rbf(0.9), standardize = FALSE, inducing = 9)
  far <- predict(few, new[3, , drop = FALSE], type = "link", se.fit = TRUE)
  expect_gt(far$se.fit[1]^2, 2)
  expect_equal(predict(few, new, type = "prob"), predict(fit, new, type = "prob"), tolerance = 0.2)
})

test_that("it is basis() with the features of an eigendecomposition", {
  data <- three_clouds()
  k <- exp(-squared_distance(data$x, data$x) / (2 * 0.9^2))
  parts <- eigen(k, TRUE)
  features <- sweep(parts$vectors, 2, sqrt(2 * pmax(parts$values, 0)), `*`)
  by_hand <- mkprobit(
    list(x = cbind(features, 1.5)), data$y, kernel = basis(), coefficients = "weights",
    control = list(latent_scales = "fixed", tol = 1e-13, max_iter = 20000), seed = 1, threads = 1
  )
  fit <- held_process(data$x, data$y, kernel = rbf(0.9), standardize = FALSE)
  expect_equal(
    predict(fit, data$x, type = "prob"),
    predict(by_hand, list(x = cbind(features, 1.5)), type = "prob"),
    tolerance = 1e-5, ignore_attr = TRUE
  )
  every <- held_process(data$x, data$y, kernel = rbf(0.9), standardize = FALSE, inducing = 36)
  expect_equal(
    predict(every, data$x, type = "prob"), predict(fit, data$x, type = "prob"), tolerance = 1e-6
  )
})

test_that("it is basis() with K U D^-1/2 and a constant, to eight digits", {
  data <- three_clouds(30)
  new <- data$x[1:8, ] + 0.4
  k <- exp(-squared_distance(data$x, data$x) / (2 * 0.5^2))
  parts <- eigen(k, TRUE)
  features <- function(x) {
    cross <- exp(-squared_distance(x, data$x) / (2 * 0.5^2))
    list(x = cbind(sqrt(2) * cross %*% parts$vectors %*% diag(1 / sqrt(parts$values)), 1.5))
  }
  settled <- list(tol = 1e-15, tolw = 1e-12, max_iter = 20000)
  by_hand <- mkprobit(
    features(data$x), data$y, kernel = basis(), coefficients = "weights", seed = 1, threads = 1,
    control = c(latent_scales = "fixed", settled)
  )
  fit <- mkprobit(
    data$x, data$y, kernel = rbf(0.5), standardize = FALSE, tune = FALSE, seed = 1, threads = 1,
    prior = mkprobit_prior(variance = 2, intercept = 1.5), control = settled
  )
  gap <- function(x, ...) {
    max(abs(unname(predict(fit, x, ...)) - unname(predict(by_hand, features(x), ...))))
  }
  expect_lt(gap(data$x, type = "link"), 1e-8)
  expect_lt(gap(data$x, type = "prob"), 1e-8)
  # Of other rows f has the same mean; the rest of its variance is the process's alone.
  expect_lt(gap(new, type = "link"), 1e-8)
})

test_that("composites are sums and products of kernels of size one", {
  data <- three_clouds()
  spaces <- list(u = data$x[, 1, drop = FALSE], v = data$x[, 2, drop = FALSE])
  new <- lapply(spaces, function(x) x[1:5, , drop = FALSE] + 0.1)
  kernels <- list(rbf(0.7), rbf(1.3))
  product <- held_process(
    spaces, data$y, kernel = kernels, combine = "product", standardize = FALSE
  )
  whole <- held_process(data$x, data$y, kernel = rbf(c(0.7, 1.3), ard = TRUE), standardize = FALSE)
  expect_equal(
    predict(product, new, type = "prob"), predict(whole, do.call(cbind, new), type = "prob"),
    tolerance = 1e-6, ignore_attr = TRUE
  )
  sum <- held_process(
    spaces, data$y, kernel = kernels, kernel_weights = c(0.25, 0.75), standardize = FALSE
  )
  k <- 0.25 * kernel_matrix(rbf(0.7), spaces$u, threads = 1) +
    0.75 * kernel_matrix(rbf(1.3), spaces$v, threads = 1)
  given <- held_process(k, data$y, kernel = precomputed())
  expect_equal(
    predict(sum, spaces, type = "prob"), predict(given, k, type = "prob"),
    tolerance = 1e-6, ignore_attr = TRUE
  )
  # Features of any number, and another unit of one of them.
  basis <- held_process(list(u = spaces$u, v = data$x), data$y, kernel = list(basis(1), basis(2)))
  expect_true(all(is.finite(predict(basis, list(u = spaces$u, v = data$x), type = "logprob"))))
  binary <- held_process(
    spaces, data$y, kernel = kernels, combine = "binary",
    kernel_weights = c(0, 1), standardize = FALSE
  )
  alone <- held_process(spaces$v, data$y, kernel = rbf(1.3), standardize = FALSE)
  expect_equal(
    predict(binary, new, type = "prob"), predict(alone, new$v, type = "prob"),
    tolerance = 1e-6, ignore_attr = TRUE
  )
})

test_that("order of rows and of classes, and units, do not matter", {
  data <- three_clouds(60)
  new <- data$x[1:6, ] + 0.2
  fit <- mkprobit(data$x, data$y, threads = 1, seed = 1)
  p <- predict(fit, new, type = "prob")
  at <- c(31:60, 1:30)
  turned <- mkprobit(data$x[at, ], data$y[at], threads = 1, seed = 1)
  expect_equal(predict(turned, new, type = "prob"), p, tolerance = 1e-3)
  units <- function(x) sweep(x, 2, c(100, 0.01), `*`)
  scaled <- mkprobit(units(data$x), data$y, threads = 1, seed = 1)
  expect_equal(predict(scaled, units(new), type = "prob"), p, tolerance = 1e-3)
  other <- factor(data$y, c("c", "a", "b"))
  named <- mkprobit(data$x, other, threads = 1, seed = 1)
  expect_equal(predict(named, new, type = "prob")[, levels(data$y)], p, tolerance = 1e-3)
})

test_that("tuning never ends below its start, and survives saveRDS()", {
  data <- three_clouds(60)
  fit <- mkprobit(data$x, data$y, threads = 1, seed = 1)
  expect_lte(fit$tuned$log_loss, fit$tuned$start_log_loss)
  expect_output(print(summary(fit)), "leave-one-out on 60 rows")
  expect_output(print(summary(fit)), "Kernels: .*variance = ")
  expect_gt(fit$process[["variance"]], 0)
  home <- tempfile()
  saveRDS(fit, home)
  expect_identical(predict(readRDS(home), data$x[1:3, ]), predict(fit, data$x[1:3, ]))
  # Of labels that nothing tells the shares are left.
  set.seed(8)
  x <- matrix(rnorm(240), 120)
  noise <- mkprobit(x, rep(c("a", "a", "b", "c"), 30), threads = 1, seed = 1)
  p <- predict(noise, matrix(rnorm(40), 20), type = "prob")
  expect_lt(max(abs(colMeans(p) - c(0.5, 0.25, 0.25))), 0.1)
})

test_that("a class of one row leaves the others alone", {
  data <- three_clouds(60)
  before <- mkprobit(data$x, data$y, threads = 1, seed = 1)
  y <- factor(c(as.character(data$y), "d"))
  expect_warning(
    fit <- mkprobit(rbind(data$x, c(9, 9)), y, threads = 1, seed = 1),
    class = "bayeskernel_warning_response"
  )
  p <- predict(fit, data$x, type = "prob")[, 1:3]
  expect_lt(mean(abs(p - predict(before, data$x, type = "prob"))), 0.05)
})

test_that("the sampler has the posterior of three objects", {
  x <- cbind(x = c(-1, 0, 1.5))
  y <- factor(c("a", "b", "c"))
  new <- cbind(x = c(0.4, -2))
  fit <- suppressWarnings(mkprobit(
    x, y, kernel = rbf(1), standardize = FALSE, tune = FALSE, method = "gibbs",
    prior = mkprobit_prior(variance = 1, intercept = 1), chains = 2,
    control = list(warmup = 500, thin = 1), ndraws = 6000, seed = 1, threads = 1
  ))
  # The prior's draws, weighed by the probability of the classes.
  all <- rbind(x, new)
  root <- chol(exp(-squared_distance(all, all) / 2) + 1 + diag(1e-9, 5))
  set.seed(1)
  count <- 40000
  f <- array(crossprod(root, matrix(rnorm(5 * 3 * count), 5)), c(5, 3, count))
  u <- seq(-6, 6, length.out = 41)
  p_class <- function(m, i) {
    value <- 0
    for (one in u) {
      value <- value + stats::dnorm(one) * (u[2] - u[1]) *
        stats::pnorm(one + m[i, ] - m[-i, ][1, ]) *
        stats::pnorm(one + m[i, ] - m[-i, ][2, ])
    }
    value
  }
  weight <- p_class(f[1, , ], 1) * p_class(f[2, , ], 2) * p_class(f[3, , ], 3)
  right <- t(vapply(4:5, function(row) {
    vapply(1:3, function(i) sum(weight * p_class(f[row, , ], i)) / sum(weight), 0)
  }, numeric(3)))
  expect_equal(unname(predict(fit, new, type = "prob")), right, tolerance = 0.03)
})

test_that("what belongs to the paper's coefficients is refused", {
  data <- three_clouds()
  spaces <- list(u = data$x[, 1, drop = FALSE], v = data$x[, 2, drop = FALSE])
  refused <- function(..., says) {
    expect_bk_error(flat(mkprobit)(spaces, data$y, ..., threads = 1), "argument", says)
  }
  refused(latent_scales = "shared", says = "coefficients = \"weights\"")
  refused(sparse = TRUE, says = "sparse")
  refused(weights_method = "is", says = "weights_method")
  refused(prior = mkprobit_prior(tau = 2), says = "tau")
  refused(combine = "binary", kernel_weights = "learn", says = "combine = \"sum\"")
  expect_bk_error(mkprobit(
    spaces, data$y, coefficients = "weights", prior = mkprobit_prior(variance = 2), threads = 1
  ), "prior", "variance")
})

test_that("variances of a sum's terms are tuned where none is given", {
  set.seed(9)
  x <- matrix(rnorm(240), 120, dimnames = list(NULL, c("a", "b")))
  # All is in b.
  y <- factor(findInterval(x[, 2] + rnorm(120, sd = 0.3), c(-0.5, 0.5)))
  ratio <- function(kernel, ...) {
    fit <- mkprobit(x, y, kernel = kernel, threads = 1, seed = 1, ...)
    found <- kernel_parameters(fit$kernel)
    found <- found[grepl("variance", names(found))]
    found[[2]] / found[[1]]
  }
  expect_gt(ratio(rbf(columns = "a") + rbf(columns = "b")), 2)
  expect_lt(ratio(rbf(columns = "b") + rbf(columns = "a")), 0.5)
  expect_equal(ratio(rbf(columns = "a") + rbf(columns = "b", variance = 0.5)), 0.5)
  expect_equal(ratio(rbf(columns = "a") + rbf(columns = "b"), tune = FALSE), 1)
})

test_that("features of two predictors have a picture of their boundaries", {
  set.seed(10)
  data <- data.frame(a = runif(60, 5, 9), b = runif(60))
  data$y <- factor(ifelse((data$a - 7)^2 + 4 * (data$b - 0.5)^2 < 0.8, "in", "out"))
  path <- tempfile(fileext = ".pdf")
  on.exit(unlink(path))
  for (coefficients in c("weights", "process")) {
    fit <- mkprobit(
      y ~ a + b, data, kernel = basis(2), coefficients = coefficients, threads = 1, seed = 1
    )
    expect_equal(unname(fit$plane$range), unname(apply(data[1:2], 2, range)))
    field <- boundary_field(fit, c("a", "b"), as.matrix(data[1:2]), cells = 5L)
    grid <- expand.grid(a = field$x, b = field$y)
    expect_equal(field$prob, unname(predict(fit, grid, "prob")))
    grDevices::pdf(path)
    expect_no_error(plot(fit, "boundary", newdata = data))
    grDevices::dev.off()
  }
})

test_that("a learned product of many spaces begins at a kernel that is no diagonal", {
  set.seed(11)
  y <- factor(rep(c("a", "b", "c"), each = 25))
  spaces <- lapply(stats::setNames(nm = paste0("s", 1:5)), function(s) {
    1.5 * diag(3)[y, ] %*% matrix(rnorm(60), 3) + matrix(rnorm(1500), 75)
  })
  fit <- mkprobit(
    spaces, y, combine = "product", kernel_weights = "learn", threads = 1, seed = 1
  )
  expect_lt(fit$tuned$log_loss, 0.5)
  expect_lt(sum(kernel_weights(fit)$mean), 3)
})

test_that("no class has probability 0", {
  set.seed(12)
  x <- matrix(rnorm(120), 60)
  y <- factor(findInterval(x[, 1], c(-0.5, 0.5)))
  far <- rbind(c(-8, 0), c(8, 0))
  fit <- mkprobit(x, y, threads = 1, seed = 1)
  least <- 0.1 / 60 / 3
  expect_gte(min(predict(fit, far, type = "prob")), least)
  expect_equal(rowSums(predict(fit, far, type = "prob")), c(1, 1))
  expect_equal(exp(predict(fit, far, type = "logprob")), predict(fit, far, type = "prob"))
  drawn <- predict(fit, x, type = "prob", draws = TRUE, seed = 1)
  expect_gte(min(drawn), least * (1 - 1e-12))
  expect_gte(min(fit$loo), log(least))
  two <- mkprobit(x, y == "0", threads = 1, seed = 1)
  f <- predict(two, x, type = "link", se.fit = TRUE)
  share <- 0.1 / 60
  expect_equal(
    unname(predict(two, x, type = "prob")[, 2]),
    share / 2 + (1 - share) * stats::pnorm(f$fit / sqrt(1 + f$se.fit^2)),
    tolerance = 1e-8, ignore_attr = TRUE
  )
})

test_that("few rows do not make it sure", {
  skip_on_cran()
  loss <- function(n, seed) {
    set.seed(seed)
    x <- matrix(stats::rnorm(2 * (n + 500)), ncol = 2)
    y <- factor(stats::rbinom(n + 500, 1, stats::plogis(x[, 1] - x[, 2])), 0:1)
    own <- seq_len(n)
    fit <- suppressWarnings(mkprobit(x[own, ], y[own], threads = 1, seed = 1))
    prob <- predict(fit, x[-own, ], type = "prob")
    -mean(log(prob[cbind(1:500, as.integer(y[-own]))]))
  }
  # With a penalty to the variance of the start these were 0.88 and 0.86.
  expect_lt(mean(vapply(1:8, function(seed) loss(6, seed), 0)), 0.75)
  expect_lt(mean(vapply(1:8, function(seed) loss(25, seed), 0)), 0.75)
})

test_that("the spread of a kernel is the variance of its features", {
  phi <- outer(1:7, 1:3, function(i, j) sin(i * j)) + 5
  expect_equal(kernel_spread(tcrossprod(phi)), sum(apply(phi, 2, stats::var)))
  expect_gt(kernel_spread(matrix(1, 4, 4)), 0)
})

test_that("the usual factor of the means is that of one row", {
  for (v in c(1e-6, 0.3, 4, 100)) {
    exact <- stats::integrate(function(d) {
      d * stats::dnorm(d) * 2 * stats::pnorm(d * sqrt(v))
    }, -9, 9, rel.tol = 1e-10)$value * sqrt(2 * v)
    fitted <- stats::uniroot(function(m) {
      y <- m + sqrt(2) * exp(stats::dnorm(m / sqrt(2), log = TRUE) -
        stats::pnorm(m / sqrt(2), log.p = TRUE))
      m - v / (1 + v) * y
    }, c(0, 50), tol = 1e-14)$root
    expect_equal(one_row_sharpness(v), exact / fitted, tolerance = 1e-5)
  }
})

test_that("a hundred rows have the penalty of the start, few one of the size of the functions", {
  moves <- list(
    variance = 1, intercept = -2, weight = 0, groups = numeric(), scale = list(c(0.5, 1))
  )
  process <- list(variance = 16, intercept = 3)
  expect_equal(moves_penalty(moves, 40, process, list(), 0), (1 + 4 + 0.25 + 1) / 8)
  expect_equal(
    moves_penalty(moves, 40, process, list(), 1),
    1.25 / 8 + log(40)^2 / 4 + (log(3) - 2)^2 / 8
  )
  # Without a constant, and with a given variance.
  process$intercept <- 0
  expect_equal(moves_penalty(moves, 40, process, list(variance = 16), 1), 1.25 / 8)
  expect_equal(likely_sharpness(40, 0), 2)
})
