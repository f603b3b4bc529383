# Kernels with a length-scale for each of many columns, on few rows.

many <- function(n, p, signal, seed = 1) {
  set.seed(seed)
  x <- matrix(rnorm(n * p), n, dimnames = list(NULL, paste0("x", 1:p)))
  list(x = x, y = factor(signal * x[, 1] + 0.5 * rnorm(n) > 0, labels = c("no", "yes")))
}

held_loss <- function(fit, new) log_loss(new$y, predict(fit, new$x, type = "prob"))

hint <- function(fit) {
  paste(gsub("\\s+", " ", utils::capture.output(print(fit))), collapse = " ")
}

test_that("length-scales of a kernel cost by how they differ, other parameters by how they move", {
  t <- c(0.5, -1, 2, 0.3)
  expect_identical(score_prior(t, 0 * t), sum(t^2) / 8)
  together <- c(1L, 2L, 2L, 2L)
  moved <- c(0.5, 1, 1, 1)
  expect_equal(score_prior(moved, 0 * t, together, 100), (0.25 + 1) / 8)
  apart <- sum((t[-1] - mean(t[-1]))^2)
  first <- (0.25 + mean(t[-1])^2) / 8
  expect_equal(score_prior(t, 0 * t, together, 100), first + (1 / 8 + 8 / 100) * apart)
  expect_equal(score_prior(t, 0 * t, together, 4), first + (1 / 8 + 2) * apart)
  expect_equal(score_prior(t, 0 * t, together, 4, 1), 8 * first + 3 * apart)
  kernel <- rbf(c(1, 2), columns = 1:2) * rbf(c(3, 4), columns = 2:3) + linear()
  expect_identical(parameter_families(kernel), c(1L, 2L, 2L, 3L, 4L, 4L, 5L))
})

test_that("columns of noise are not learned from a few rows", {
  d <- many(60, 40, 0)
  new <- many(1000, 40, 0, seed = 2)
  fit <- flat(gpsvm)(d$x, d$y, kernel = rbf(ard = TRUE), seed = 1, threads = 1)
  expect_lt(held_loss(fit, new), log(2) + 0.1)
  expect_gt(fit$tuned$log_loss, log(2) - 0.1)
})

test_that("one column among many is found, and print() says what was learned from how many rows", {
  d <- many(80, 20, 2)
  new <- many(1000, 20, 2, seed = 2)
  common <- flat(gpsvm)(d$x, d$y, seed = 1, threads = 1)
  own <- flat(gpsvm)(d$x, d$y, kernel = rbf(ard = TRUE), seed = 1, threads = 1)
  expect_lt(held_loss(own, new), held_loss(common, new))
  expect_match(hint(own), "20 length-scales or projections were learned from 80 rows")
  expect_match(hint(own), "LOO: log-loss [^;]*; may be too good, see below")
  expect_match(
    paste(gsub("\\s+", " ", utils::capture.output(print(summary(own)))), collapse = " "),
    "judge it by other rows"
  )
  expect_no_match(hint(common), "were learned from|too good")
})

test_that("mkprobit() and terms gp() say so, too", {
  d <- many(40, 6, 2)
  own <- flat(mkprobit)(d$x, d$y, kernel = rbf(ard = TRUE), seed = 1, threads = 1)
  expect_match(hint(own), "6 length-scales or projections were learned from 40 rows")
  expect_no_match(hint(flat(mkprobit)(d$x, d$y, seed = 1, threads = 1)), "were learned from")
  frame <- data.frame(d$x, y = d$y, z = 2 * d$x[, 1] + rnorm(40))
  term <- "gp(x1, x2, x3, x4, x5, x6, kernel = rbf(ard = TRUE))"
  for (response in c("y", "z")) {
    fit <- suppressWarnings(flat(bkm)(reformulate(term, response), frame, threads = 1))
    expect_match(hint(fit), "6 length-scales or projections were learned from 40 rows")
  }
})
