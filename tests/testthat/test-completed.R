# Rows with missing predictors as weighted completed rows.

no_codes <- function(x) matrix(0L, nrow(x), 0L)

model_of <- function(x, class = integer()) {
  predictor_model_cpp(x, class, no_codes(x), integer(), list(), integer(), FALSE, numeric())
}

atoms_of <- function(x, model) atoms_cpp(x, no_codes(x), model, list())

holes_data <- function(n = 400) {
  i <- seq_len(n)
  x <- cbind(a = sin(i), b = cos(2.3 * i), c = sin(i^2 / 7))
  x[, "b"] <- x[, "b"] + 0.6 * x[, "a"]
  x[i %% 5 == 0, "b"] <- NA
  x[i %% 7 == 0, "c"] <- NA
  x
}

test_that("a complete row is one atom, one hole seven, more sixteen", {
  x <- holes_data()
  model <- model_of(x)
  atoms <- atoms_of(x, model)
  holes <- rowSums(is.na(x))
  expect_identical(as.vector(table(atoms$row)), c(1L, 7L, 16L)[holes + 1])
  expect_false(is.unsorted(atoms$row))
  expect_false(anyNA(atoms$predictors))
  seen <- !is.na(x[atoms$row, ])
  expect_identical(atoms$predictors[seen], x[atoms$row, ][seen])
  expect_equal(as.vector(tapply(exp(atoms$log_prior), atoms$row, sum)), rep(1, nrow(x)))
})

test_that("the mean over atoms is the regression on what is seen", {
  x <- holes_data()
  model <- model_of(x)
  atoms <- atoms_of(x, model)
  row <- which(is.na(x[, "b"]) & !is.na(x[, "c"]))
  slope <- solve(model$cov[[1]][c(1, 3), c(1, 3)], model$cov[[1]][c(1, 3), 2])
  expected <- model$mean[2, 1] + sweep(x[row, c(1, 3)], 2, model$mean[c(1, 3), 1]) %*% slope
  found <- tapply(exp(atoms$log_prior) * atoms$predictors[, 2], atoms$row, sum)
  expect_equal(as.vector(found)[row], as.vector(expected))
})

test_that("atoms of some rows are those of all of them", {
  x <- holes_data()
  model <- model_of(x)
  some <- c(35, 10, 14)
  few <- atoms_of(x[some, ], model)
  all <- atoms_of(x, model)
  for (k in seq_along(some)) {
    expect_identical(few$predictors[few$row == k, ], all$predictors[all$row == some[k], ])
  }
})

test_that("classes have a model each, mixed by their shares", {
  x <- holes_data()
  class <- rep(1:2, c(300, 100))
  x[class == 2, "b"] <- x[class == 2, "b"] + 2
  model <- model_of(x, class)
  expect_identical(model$share, c(0.75, 0.25))
  expect_gt(model$mean[2, 2] - model$mean[2, 1], 1.5)
  one <- model_of(x[class == 2, ])
  expect_equal(model$mean[, 2], one$mean[, 1], tolerance = 0.02)
  atoms <- atoms_of(rbind(c(NA, NA, NA)), model)
  expect_equal(sum(exp(atoms$log_prior)[1:16]), 0.75)
  expect_length(atoms$row, 32)
})
