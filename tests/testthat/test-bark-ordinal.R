# The posterior of ordered classes: against a plain one, and with the classes in the opposite order.

ordinal_bark <- function(x, classes, seed, ...) {
  suppressWarnings(bark(
    x, factor(classes, ordered = TRUE), family = "ordinal", chains = 2, until = NULL, threads = 1,
    seed = seed, ...
  ), classes = "bayeskernel_warning_convergence")
}

# The probabilities of three classes at the rows x, one standardized predictor, by draws of the
# model's prior that the labels weigh: coefficients are Cauchy variables, not integrated out, and
# nothing moves.
weighted_prior <- function(x, classes, size, nu = 10, epsilon = 0.5) {
  n <- length(x)
  kernels <- qpois(runif(size) * ppois(n - 1, nu), nu)
  lambda <- rexp(size)
  draw <- rep(seq_len(size), kernels)
  at <- sample.int(n + 1L, length(draw), replace = TRUE)
  jump <- epsilon * rcauchy(length(draw))
  basis <- cbind(1, exp(-outer(x, x, function(a, b) (a - b)^2)))
  f <- vapply(seq_len(n), function(i) {
    value <- jump * basis[i, at]^lambda[draw]
    sum <- numeric(size)
    sum[unique(draw)] <- rowsum(value, draw, reorder = FALSE)
    sum
  }, numeric(size))
  gap <- rexp(size)
  middle <- 2 * rnorm(size)
  below <- list(0, pnorm(middle - gap / 2 - f), pnorm(middle + gap / 2 - f), 1)
  chance <- Map(`-`, below[-1], below[-4])
  weight <- Reduce(`*`, lapply(seq_len(n), function(i) chance[[classes[i]]][, i]))
  vapply(chance, function(each) colSums(weight * each) / sum(weight), numeric(n))
}

test_that("probabilities of ordered classes are those of the posterior", {
  set.seed(1)
  x <- drop(scale(c(-1.5, -1, -0.4, 0.1, 0.6, 1, 1.2, 1.9)))
  classes <- c(1, 1, 1, 2, 1, 1, 3, 1)
  plain <- weighted_prior(x, classes, 2e5)
  run <- function(classes, seed) {
    fit <- ordinal_bark(
      data.frame(x = x), classes, seed, ndraws = 4000, control = list(warmup = 20000, thin = 20)
    )
    predict(fit, type = "prob")
  }
  # Three standard errors are 0.01.
  expect_lt(max(abs(run(classes, 1) - plain)), 0.012)
  expect_lt(max(abs(run(4 - classes, 2)[, 3:1] - plain)), 0.012)
})

test_that("the opposite order of the classes mirrors their probabilities", {
  set.seed(4)
  x <- matrix(rnorm(120), 60, dimnames = list(NULL, c("a", "b")))
  classes <- as.integer(cut(1.2 * x[, 1] + rnorm(60), c(-Inf, -1, 0.3, 1.5, Inf)))
  run <- function(classes, seed) {
    ordinal_bark(x, classes, seed, ndraws = 1000, control = list(warmup = 20000, thin = 20))
  }
  new <- rbind(x, c(-2.5, 2.5), c(4, 0))
  as_is <- predict(run(classes, 1), new, type = "prob")
  mirrored <- predict(run(5 - classes, 3), new, type = "prob")[, 4:1]
  # The first cut point fixed at 0 made it 0.26 at the first new row, 0.15 at the others.
  expect_lt(max(abs(as_is[1:60, ] - mirrored[1:60, ])), 0.05)
  expect_lt(max(abs(as_is - mirrored)), 0.12)
})

test_that("two classes swapped swap their probabilities, where one is rare, too", {
  set.seed(5)
  x <- matrix(rnorm(200), 100, dimnames = list(NULL, c("a", "b")))
  rare <- as.integer(rank(x[, 1] + rnorm(100)) > 95)
  run <- function(y, seed) {
    suppressWarnings(bark(
      x, factor(y), chains = 2, ndraws = 1000, until = NULL, threads = 1, seed = seed,
      control = list(warmup = 10000, thin = 10)
    ), classes = "bayeskernel_warning_convergence")
  }
  as_is <- predict(run(rare, 1), type = "prob")
  swapped <- predict(run(1 - rare, 2), type = "prob")
  expect_lt(max(abs(as_is[, 2] - swapped[, 1])), 0.05)
  expect_lt(abs(mean(as_is[, 2]) - 0.05), 0.02)
})
