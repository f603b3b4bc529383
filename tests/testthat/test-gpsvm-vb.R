# The variational fit of the nonlinear machine against plain R, quadrature, the linear machine and
# the hinge loss itself.

vb_data <- curved_data(80)
vb_x <- scale(curved_matrix(vb_data))
attributes(vb_x)[c("scaled:center", "scaled:scale")] <- NULL
vb_y <- 2 * (vb_data$y == "out") - 1

# On the rows as they are, to full accuracy.
tight <- function(kernel, inducing, x = vb_x, y = vb_y, ..., method = "vb", tune = FALSE) {
  flat(gpsvm)(
    x, y, kernel, inducing = inducing, standardize = FALSE, threads = 1, seed = 1, tol = 1e-13,
    max_iter = 20000, ..., method = method, tune = tune
  )
}

expect_plain <- function(fit, plain) {
  machine <- fit$posterior$machines[[1]]
  expect_equal(last_bound(fit), plain$bound, tolerance = 1e-8)
  expect_equal(machine$mean, plain$a, tolerance = 1e-5)
  expect_equal(crossprod(machine$whitener), plain$s, tolerance = 1e-5)
  expect_equal(fit$fitted$mean, plain$mean, tolerance = 1e-5)
  expect_equal(fit$fitted$var, plain$var, tolerance = 1e-5)
}

test_that("every kernel, with nugget and weights, against plain R", {
  z <- vb_x[1:9, ] + 0.1
  set.seed(2)
  weights <- sample(0:3, 80, TRUE) / 2
  for (kernel in list(
    rbf(0.9, 2), rbf(c(0.5, 2)), rbf(1) + 0.3 * linear(),
    rbf(3) * polynomial(2, 1, 0.5), rbf(2, 0.5) + rbf(0.3, 0.2)
  )) {
    for (nugget in c(0, 0.3)) {
      k <- plain_kernels(kernel, vb_x, z, nugget)
      plain <- plain_gpsvm(vb_y, k$k_mm, k$k_nm, k$k_nn)
      expect_plain(tight(kernel, z, nugget = nugget), plain)
    }
    used <- weights > 0
    plain <- plain_gpsvm(vb_y[used], k$k_mm, k$k_nm[used, ], k$k_nn[used], weights[used])
    fit <- tight(kernel, z, nugget = 0.3, weights = weights)
    expect_equal(last_bound(fit), plain$bound, tolerance = 1e-8)
    expect_equal(fit$posterior$machines[[1]]$mean, plain$a, tolerance = 1e-5)
  }
})

test_that("a point at every row is the exact process", {
  exact <- tight(rbf(1, 2), "all")
  sparse <- tight(rbf(1, 2), vb_x)
  expect_lt(abs(last_bound(exact) - last_bound(sparse)), 1e-3)
  new <- vb_x[1:10, ] + 0.2
  expect_equal(
    predict(sparse, new, type = "link", se.fit = TRUE),
    predict(exact, new, type = "link", se.fit = TRUE), tolerance = 1e-4
  )
  k <- kernel_matrix(rbf(1, 2), vb_x, threads = 1)
  given <- tight(precomputed(), NULL, x = k)
  expect_equal(given$fitted, exact$fitted, tolerance = 1e-8)
  expect_equal(
    predict(given, kernel_matrix(rbf(1, 2), new, vb_x, threads = 1), "link", se.fit = TRUE),
    predict(exact, new, type = "link", se.fit = TRUE), tolerance = 1e-6
  )
})

test_that("fewer points give a lower bound", {
  bound <- vapply(c(5, 20, 50), function(m) last_bound(tight(rbf(1), vb_x[seq_len(m), ])), 0)
  expect_true(all(diff(bound) > 0))
  expect_lt(bound[3], last_bound(tight(rbf(1), "all")) + 1e-3)
})

test_that("the bound never falls, and acceleration arrives where it does", {
  for (inducing in list(vb_x[1:15, ], "all")) {
    for (variance in c(1, 100)) {
      fast <- tight(rbf(1, variance), inducing)
      slow <- tight(rbf(1, variance), inducing, accelerate = FALSE)
      for (fit in list(fast, slow)) {
        expect_gt(min(diff(elbo(fit))), -1e-9 * (1 + abs(last_bound(fit))))
        expect_true(fit$diagnostics$converged)
      }
      expect_lt(abs(last_bound(fast) - last_bound(slow)), 1e-6)
      expect_equal(fast$fitted$mean, slow$fitted$mean, tolerance = 1e-4)
      expect_lt(length(elbo(fast)), length(elbo(slow)))
    }
  }
})

test_that("a linear kernel is the linear machine", {
  linear_fit <- bsvm(
    y ~ 0 + x1 + x2, data.frame(vb_x, y = vb_y), penalty = "none", standardize = FALSE, threads = 1,
    control = list(tol = 1e-13), prior = bsvm_prior(beta_var = 1.5), method = "vb"
  )
  # Without the constant that linear() has in gpsvm().
  fit <- tight(polynomial(1, offset = 0, variance = 1.5), rbind(c(1, 0.5), c(-0.5, 1)))
  # Up to the jitter of the kernel matrix.
  expect_lt(abs(last_bound(fit) - last_bound(linear_fit)), 1e-3)
  expect_equal(
    predict(fit, vb_x, type = "link", se.fit = TRUE),
    predict(linear_fit, as.data.frame(vb_x), type = "link", se.fit = TRUE), tolerance = 1e-3
  )
})

test_that("the bound is below the pseudo-evidence, and not far", {
  x <- matrix(c(-0.4, 0.7), dimnames = list(NULL, "a"))
  for (variance in c(0.5, 4)) {
    for (y in list(c(1, -1), c(1, -1) * -1)) {
      fit <- tight(rbf(1, variance), "all", x = x, y = y)
      grid <- process_grid(kernel_matrix(rbf(1, variance), x, threads = 1), y)
      expect_lt(last_bound(fit), log(grid$evidence))
      expect_gt(last_bound(fit), log(grid$evidence) - 0.6)
    }
  }
})

test_that("the mode is the machine of cost 2", {
  x <- vb_x[1:20, ]
  y <- vb_y[1:20]
  k <- kernel_matrix(rbf(1, 1.5), x, threads = 1)
  fit <- tight(rbf(1, 1.5), "all", x = x, y = y, method = "ecm")
  a <- hinge_dual(k, y)
  f <- drop(k %*% a)
  objective <- 2 * sum(pmax(1 - y * f, 0)) + sum(a * f) / 2
  expect_equal(utils::tail(fit$trace$objective, 1), objective, tolerance = 1e-5)
  expect_equal(fit$fitted$mean, f, tolerance = 1e-3)
  expect_true(all(diff(fit$trace$objective) < 1e-8))
  # What inducing points and a nugget leave open takes part in the mode.
  z <- x[1:6, ]
  core <- plain_kernels(rbf(1, 1.5), x, z, 0.2)
  phi <- t(forwardsolve(t(chol(core$k_mm)), t(core$k_nm)))
  smooth <- tcrossprod(phi)
  k <- smooth + diag(core$k_nn - rowSums(phi^2))
  fit <- tight(rbf(1, 1.5), z, x = x, y = y, nugget = 0.2, method = "ecm")
  a <- hinge_dual(k, y)
  f <- drop(k %*% a)
  objective <- 2 * sum(pmax(1 - y * f, 0)) + sum(a * f) / 2
  expect_equal(utils::tail(fit$trace$objective, 1), objective, tolerance = 1e-5)
  expect_equal(fit$fitted$mean, drop(smooth %*% a), tolerance = 1e-3)
})

test_that("extreme but honest settings converge", {
  for (variance in c(1e-4, 1e4, 1e6)) {
    fit <- tight(rbf(1, variance), vb_x[1:10, ])
    expect_false(anyNA(fitted(fit)))
    expect_gt(min(diff(elbo(fit))), -1e-8 * (1 + abs(last_bound(fit))))
  }
  flat <- may_give_up(tight(rbf(100), "all")) # a kernel matrix of rank three or so
  expect_false(anyNA(fitted(flat)))
})

test_that("the exact process sees its labels through the nugget", {
  some <- vb_x[1:25, ]
  y <- vb_y[1:25]
  weights <- rep(c(1, 2, 0.5, 1, 1), 5)
  nugget <- 0.8
  kernel <- rbf(1, 2)
  # f ~ N(0, a) of the rows; of new rows the function without their noise given f.
  a <- plain_kernels(kernel, some, some)$k_mm + diag(nugget, 25)
  plain <- plain_gpsvm(y, a, a, diag(a), weights)
  fit <- tight(kernel, "all", some, y, nugget = nugget, weights = weights)
  expect_equal(last_bound(fit), plain$bound, tolerance = 1e-8)
  k <- kernel_matrix(kernel, vb_x[26:40, ], some, threads = 1)
  at <- predict(fit, vb_x[26:40, ], type = "link", se.fit = TRUE)
  expect_equal(unname(at$fit), drop(k %*% solve(a, plain$mean)), tolerance = 1e-5)
  var <- 2 - rowSums((k %*% solve(a + diag(sqrt(plain$alpha) / weights))) * k)
  expect_equal(unname(at$se.fit^2), var + nugget, tolerance = 1e-5)

  core <- golden_gpsvm_core(list(x = some, y = y, kernel = kernel, z = some))
  tuner <- gpsvm_tuner_cpp(core$data, 25L, TRUE, 1L, 1L)
  bound_at <- function(nugget) {
    gpsvm_bound_cpp(
      tuner, core$kernel, numeric(), nugget, core$z, FALSE,
      list(tol = 1e-13, max_iter = 20000L, accelerate = TRUE)
    )
  }
  slope <- (bound_at(0.81)$bound - bound_at(0.79)$bound) / 0.02
  expect_equal(bound_at(0.8)$nugget, slope, tolerance = 1e-3)
})
