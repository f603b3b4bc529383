# Kernels on a learned projection, rbf(rank = r).

index_data <- function(n, d = 5L, seed = 1, noise = 0.3, wave = 1.5) {
  set.seed(seed)
  x <- matrix(rnorm(n * d), n, dimnames = list(NULL, paste0("x", seq_len(d))))
  direction <- c(1, -1, 1, rep(0, d - 3L)) / sqrt(3)
  f <- 2 * sin(wave * drop(x %*% direction))
  data.frame(
    x, f = f, number = f + rnorm(n, sd = noise),
    class = factor(ifelse(f + rlogis(n) / 2 > 0, "yes", "no"))
  )
}

direction_of <- function(kernel) {
  a <- kernel$projection[1L, ]
  a / sqrt(sum(a^2))
}

cosine <- function(kernel) {
  d <- ncol(kernel$projection)
  abs(sum(direction_of(kernel) * c(1, -1, 1, rep(0, d - 3L)))) / sqrt(3)
}

refused <- function(object, ...) expect_error(object, ..., class = "bayeskernel_error")

test_that("a kernel says its rank, and has no parameters before it is fitted", {
  kernel <- rbf(rank = 2, variance = 3)
  expect_identical(format(kernel), "rbf(rank = 2, variance = 3)")
  expect_output(print(kernel), "projection %\\*% \\(x - z\\)")
  expect_identical(kernel_parameters(kernel), c(variance = 3, projection = NA))
  refused(rbf(1, rank = 2), "length-scales")
  refused(rbf(ard = TRUE, rank = 2), "length-scales")
  refused(rbf(rank = 0), "rank")
  refused(rbf(rank = 1.5), "rank")
  refused(kernel_matrix(kernel, matrix(1:4, 2)), "not known")
  d <- index_data(60)
  refused(bkm(number ~ gp(x1, x2, kernel = rbf(rank = 3)), d), "rank 3 of 2")
  refused(gpsvm(class ~ x1 + x2, d, kernel = rbf(rank = 3), threads = 1), "rank 3 of 2")
  refused(gpsvm(class ~ x1 + x2, d, kernel = rbf(rank = 1), tune = FALSE), "bound")
  refused(gpsvm(class ~ x1 + x2, d, kernel = rbf(rank = 1), tune = "cv"), "bound")
  refused(mkprobit(class ~ x1 + x2, d, kernel = rbf(rank = 1)), "projections")
  refused(seqkr(number ~ x1 + x2, d, kernel = rbf(rank = 1)), "projections")
})

test_that("parameters go to the core and back, and rotations change nothing", {
  set.seed(2)
  x <- matrix(rnorm(30), 10, dimnames = list(NULL, c("a", "b", "c")))
  a <- rbind(c(1, 2, 0), c(0, -3, 0.5))
  kernel <- rbf(rank = 2, variance = 1.5) + rbf(0.7, columns = "b")
  kernel$children[[1]]$projection <- a
  k <- function(kernel) unname(kernel_matrix(kernel, x, threads = 1))
  plain <- function(x) exp(-as.matrix(dist(x))^2 / 2)
  expected <- 1.5 * plain(x %*% t(a)) + plain(x[, "b"] / 0.7)
  expect_equal(k(kernel), unname(expected), tolerance = 1e-12)
  resolved <- resolve_lengthscale(place_columns(kernel, 3L, colnames(x)), 1, 3L, colnames(x))
  expect_identical(
    names(kernel_parameters(resolved))[2:4], paste0("rbf1.projection1.", colnames(x))
  )
  same <- update_kernel(resolved, core_parameters(resolved))
  expect_equal(same, resolved, tolerance = 1e-14)
  settled <- settle_projections(resolved)
  expect_equal(k(settled), unname(expected), tolerance = 1e-12)
  b <- settled$children[[1]]$projection
  expect_lt(abs(sum(b[1, ] * b[2, ])), 1e-12)
  expect_gt(sum(b[1, ]^2), sum(b[2, ]^2))
  expect_true(all(apply(b, 1, function(r) r[which.max(abs(r))]) > 0))
})

test_that("the derivative of the criterion is its differences", {
  d <- index_data(90, seed = 3)
  d$g <- gl(9, 10)
  d$b <- gl(2, 45)
  asked <- NULL
  learn <- process_learn_cpp
  utils::assignInNamespace("process_learn_cpp", function(...) {
    asked <<- list(...)
    names(asked) <<- c("data", "prior", "settings")
    learn(...)
  }, "bayeskernel")
  on.exit(utils::assignInNamespace("process_learn_cpp", learn, "bayeskernel"))
  at <- function(values) {
    for (k in seq_along(values)) {
      a <- asked$data$processes[[k]]$kernel$projection
      asked$data$processes[[k]]$kernel$projection <- matrix(values[[k]][-1], nrow(a), byrow = TRUE)
    }
    asked$settings[c("most", "factors", "tol")] <- list(1L, 1, 1e-13)
    asked$settings$max_iter <- 2000L
    core_call(learn(asked$data, asked$prior, asked$settings))
  }
  formulas <- list(
    number ~ gp(x1, x2, x3, kernel = rbf(rank = 2), inducing = 12) + (1 | g),
    number ~ b + gp(x1, x3, by = b, kernel = rbf(rank = 1), inducing = 8)
  )
  for (family in c("gaussian", "hinge")) {
    for (formula in formulas) {
      if (family == "hinge") formula[[2]] <- quote(class)
      bkm(formula, d, family, method = "vb", threads = 1)
      start <- lapply(asked$data$processes, function(term) {
        c(0, as.vector(t(term$kernel$projection)))
      })
      # Not where it would begin.
      start <- lapply(start, function(v) v + c(0, 0.1 * sin(seq_along(v[-1]))))
      found <- at(start)
      expect_equal(found$evaluations, 2L)
      step <- 1e-4
      place <- 0L
      for (k in seq_along(start)) {
        for (j in seq_along(start[[k]])[-1]) {
          place <- place + 1L
          moved <- function(by) {
            start[[k]][j] <- start[[k]][j] + by
            at(start)$bound
          }
          x <- asked$data$processes[[k]]$x
          entry <- (j - 2L) %% ncol(x) + 1L
          unit <- sqrt(mean((x[, entry] - mean(x[, entry]))^2))
          expect_equal(
            found$slope[place] * unit, (moved(step) - moved(-step)) / (2 * step), tolerance = 1e-4
          )
        }
      }
      expect_length(found$slope, place)
    }
  }
})

test_that("gp() finds the direction that the response depends on", {
  d <- index_data(500, 5L, seed = 4)
  formula <- number ~ gp(x1, x2, x3, x4, x5, kernel = rbf(rank = 1))
  fit <- bkm(formula, d, threads = 1)
  kernel <- kernel_parameters(fit)
  expect_identical(names(kernel)[2:6], paste0("gp(x1,x2,x3,x4,x5).projection.x", 1:5))
  found <- fit$design$smooths[[1]]$process$kernel
  expect_gt(cosine(found), 0.98)
  expect_output(print(fit), "rank = 1")
  new <- index_data(500, 5L, seed = 5)
  ard <- bkm(number ~ gp(x1, x2, x3, x4, x5, kernel = rbf(ard = TRUE)), d, threads = 1)
  error <- function(fit) mean((predict(fit, new) - new$f)^2)
  expect_lt(error(fit), error(ard))
  expect_gt(log_evidence(fit), log_evidence(ard))
  # A fit that knows its projection starts from nothing else.
  expect_equal(unname(fitted(fit)), unname(predict(fit, d)), tolerance = 1e-6)
})

test_that("classes find it, too, in terms and in gpsvm()", {
  d <- index_data(600, 6L, seed = 6)
  new <- index_data(1000, 6L, seed = 7)
  loss <- function(fit) {
    p <- predict(fit, new, type = "prob")[, "yes"]
    -mean(log(ifelse(new$class == "yes", p, 1 - p)))
  }
  terms <- function(kernel) bkm(class ~ gp(x1, x2, x3, x4, x5, x6, kernel = kernel), d, threads = 1)
  fit <- terms(rbf(rank = 1))
  ard <- terms(rbf(ard = TRUE))
  expect_gt(cosine(fit$design$smooths[[1]]$process$kernel), 0.95)
  expect_lt(loss(fit), loss(ard) + 1e-3)
  machine <- function(kernel, ...) {
    flat(gpsvm)(class ~ x1 + x2 + x3 + x4 + x5 + x6, d, kernel = kernel, threads = 1, seed = 1, ...)
  }
  own <- machine(rbf(rank = 1))
  expect_identical(own$tuned$by, "loo")
  expect_gt(cosine(own$kernel), 0.95)
  expect_output(print(own), "rank = 1")
  expect_lt(loss(own), loss(machine(rbf(ard = TRUE), tune = "loo")) + 1e-3)
  # The bound alone finds the same direction, at a scale of its own.
  bound <- machine(rbf(rank = 1), tune = "bound")
  expect_gt(sum(direction_of(own$kernel) * direction_of(bound$kernel)), 1 - 1e-10)
  expect_gt(abs(log(sum(own$kernel$projection^2) / sum(bound$kernel$projection^2))), 0.1)
  expect_identical(names(kernel_parameters(own)), c("variance", paste0("projection.x", 1:6)))
  # As it is, without tuning: the same messages, from wherever they start.
  again <- lapply(c(1e-3, 1e-9), function(tol) {
    gpsvm(
      class ~ x1 + x2 + x3 + x4 + x5 + x6, d, kernel = own$kernel, threads = 1, seed = 1,
      method = own$method, control = list(tol = tol)
    )
  })
  expect_equal(kernel_parameters(again[[1]]), kernel_parameters(own))
  settled <- predict(again[[2]], new, "link")
  # Those of the fit that was tuned are settled at least as well as a fit's own.
  gap <- function(fit) max(abs(predict(fit, new, "link") - settled))
  expect_lt(gap(own), max(gap(again[[1]]), 1e-3))
  # And both settled, they are one fit.
  tuned <- machine(rbf(rank = 1), tol = 1e-9)
  given <- machine(tuned$kernel, method = tuned$method, tol = 1e-9, tune = FALSE)
  expect_equal(kernel_parameters(given), kernel_parameters(tuned))
  expect_equal(predict(given, new, "link"), predict(tuned, new, "link"), tolerance = 1e-6)
})

test_that("two directions are a plane", {
  set.seed(8)
  x <- matrix(rnorm(700 * 5), 700, dimnames = list(NULL, paste0("x", 1:5)))
  u <- cbind(c(1, 1, 0, 0, 0), c(0, 0, 1, -1, 0)) / sqrt(2)
  at <- x %*% u
  d <- data.frame(x, y = 2 * sin(1.2 * at[, 1]) * cos(1.2 * at[, 2]))
  d$y <- d$y + rnorm(700, sd = 0.3)
  fit <- bkm(y ~ gp(x1, x2, x3, x4, x5, kernel = rbf(rank = 2)), d, threads = 1)
  a <- fit$design$smooths[[1]]$process$kernel$projection
  rows <- svd(a)$v
  # Cosines of the angles between the planes.
  expect_gt(min(svd(t(rows) %*% u)$d), 0.95)
  expect_lt(abs(sum(a[1, ] * a[2, ])), 1e-8 * sum(a^2))
})
