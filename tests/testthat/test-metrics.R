pairs_naive <- function(positive, score) {
  won <- outer(score[positive], score[!positive], function(a, b) (a > b) + (a == b) / 2)
  mean(won)
}

y4 <- factor(c("no", "yes", "yes", "no"), c("no", "yes"))
p4 <- c(0.1, 0.8, 0.4, 0.5)

test_that("two classes: hand-computed values, in vector and matrix form", {
  expect_equal(brier_score(y4, p4), (0.01 + 0.04 + 0.36 + 0.25) / 4)
  expect_equal(log_loss(y4, p4), -log(0.9 * 0.8 * 0.4 * 0.5) / 4)
  both <- cbind(no = 1 - p4, yes = p4)
  expect_equal(brier_score(y4, both), brier_score(y4, p4))
  expect_equal(log_loss(y4, both), log_loss(y4, p4))
  expect_equal(brier_score(y4, both[, 2:1]), brier_score(y4, p4))
  expect_equal(brier_score(y4, unname(both)), brier_score(y4, p4))
  expect_identical(auc(y4, both), auc(y4, p4))
})

test_that("every kind of label means the same", {
  positive <- y4 == "yes"
  for (y in list(positive, +positive, 2 * positive - 1, 1L * positive)) {
    expect_identical(brier_score(y, p4), brier_score(y4, p4))
    expect_identical(log_loss(y, p4), log_loss(y4, p4))
    expect_identical(auc(y, p4), auc(y4, p4))
    expect_identical(calibration(y, p4), calibration(y4, p4))
  }
  # A level that no row has does not count, as in a fit.
  loose <- factor(y4, c("no", "unused", "yes"))
  expect_identical(brier_score(loose, p4), brier_score(y4, p4))
  expect_identical(auc(loose, p4), auc(y4, p4))
})

test_that("rows of one class only have scores", {
  expect_equal(brier_score(y4[c(1, 4)], c(0.2, 0.4)), (0.04 + 0.16) / 2)
  expect_equal(brier_score(c(1, 1), c(0.2, 0.4)), (0.64 + 0.36) / 2)
  expect_equal(log_loss(c(-1, -1), c(0.2, 0.4)), -log(0.8 * 0.6) / 2)
})

test_that("many classes: hand-computed values, columns found by name", {
  y <- factor(c("a", "c", "b"))
  prob <- rbind(c(0.7, 0.2, 0.1), c(0.3, 0.3, 0.4), c(0, 1, 0))
  expect_equal(brier_score(y, prob), ((0.09 + 0.04 + 0.01) + (0.09 + 0.09 + 0.36)) / 3)
  expect_equal(log_loss(y, prob), -log(0.7 * 0.4) / 3)
  named <- prob
  colnames(named) <- c("a", "b", "c")
  named <- named[, c("c", "a", "b")]
  expect_equal(brier_score(y, named), brier_score(y, prob))
  expect_equal(log_loss(y[1:2], named[1:2, ]), -log(0.7 * 0.4) / 2)
  expect_equal(brier_score(y[3, drop = TRUE], named[3, , drop = FALSE]), 0)
})

test_that("certainty that is wrong costs much, but not infinitely much", {
  expect_equal(log_loss(c(0, 1), c(0, 1)), 0)
  expect_equal(log_loss(c(0, 1), c(1, 1)), -log(1e-15) / 2, tolerance = 1e-3)
  expect_equal(brier_score(c(0, 1), c(1, 0)), 1)
})

test_that("the area is the share of pairs in the right order, ties one half", {
  expect_identical(auc(c(0, 0, 1, 1), c(1, 2, 3, 4)), 1)
  expect_identical(auc(c(0, 0, 1, 1), c(4, 3, 2, 1)), 0)
  expect_identical(auc(c(0, 1, 0, 1), c(5, 5, 5, 5)), 0.5)
  expect_identical(auc(c(0, 1, 1), c(1, 1, 2)), 0.75)
  set.seed(2)
  for (n in c(5, 60)) {
    positive <- c(TRUE, FALSE, runif(n) < 0.3)
    # Ties within and between the classes, and the two infinities.
    score <- c(-Inf, Inf, round(rnorm(n), 1))
    expect_equal(auc(positive, score), pairs_naive(positive, score))
    expect_equal(auc(!positive, score), 1 - auc(positive, score))
    expect_identical(auc(positive, rank(score)), auc(positive, score))
  }
})

test_that("an area of many rows does not overflow", {
  n <- 2e5
  y <- rep(c(0, 1), n / 2)
  expect_equal(auc(y, seq_len(n)), (n / 2 + 1) / n)
})

test_that("the order of the rows does not matter", {
  set.seed(3)
  y <- runif(50) < 0.5
  p <- round(runif(50), 2)
  o <- sample(50)
  expect_equal(brier_score(y[o], p[o]), brier_score(y, p))
  expect_equal(log_loss(y[o], p[o]), log_loss(y, p))
  expect_identical(auc(y[o], p[o]), auc(y, p))
  expect_equal(calibration(y[o], p[o]), calibration(y, p))
})

test_that("a calibration counts by bin; with many classes the chosen one", {
  out <- calibration(c(0, 0, 1, 1), c(0.1, 0.2, 0.3, 0.9), bins = 2)
  expect_identical(names(out), c("predicted", "observed", "lower", "upper", "rows"))
  expect_equal(out$predicted, c(0.2, 0.9))
  expect_equal(out$observed, c(1 / 3, 1))
  expect_identical(out$rows, c(3L, 1L))
  prob <- rbind(c(0.7, 0.2, 0.1), c(0.2, 0.2, 0.6), c(0.1, 0.8, 0.1))
  out <- calibration(factor(c("a", "b", "b"), c("a", "b", "c")), prob, 2)
  expect_equal(out$predicted, 0.7)
  expect_equal(out$observed, 2 / 3)
})

test_that("what cannot be scored is refused by kind", {
  expect_bk_error(brier_score(y4, p4[-1]), "dimension", "3 values for 4 rows")
  expect_bk_error(auc(y4, p4[-1]), "dimension", "3 values for 4 rows")
  expect_bk_error(log_loss(logical(), numeric()), "dimension", "no rows")
  expect_bk_error(brier_score(c(NA, 1), c(0.1, 0.2)), "missing", "`y`")
  expect_bk_error(log_loss(c(0, 1), c(0.1, NA)), "missing", "row 2")
  expect_bk_error(brier_score(c(0, 1), cbind(c(0.1, NaN), 0.5)), "missing", "row 2")
  expect_bk_error(auc(c(0, 1), c(NaN, 0.2)), "missing", "`score`")
  expect_bk_error(auc(c(1, 1), c(0.1, 0.2)), "response", "are \"1\"")
  expect_bk_error(auc(c(FALSE, FALSE), c(0, 0.2)), "response", "\"FALSE\"")
  expect_bk_error(auc(gl(3, 1), 1:3), "response", "two levels")
  expect_bk_error(log_loss(c(1, 2), c(0.1, 0.2)), "response", "0/1")
  expect_bk_error(brier_score(gl(3, 1), c(0.1, 0.2, 0.3)), "response")
  expect_bk_error(brier_score(gl(3, 1), matrix(0.5, 3, 2)), "response")
  expect_bk_error(log_loss(gl(2, 1), cbind(`1` = c(0.5, 0.5), b = 0.5)), "response", "\"b\"")
  expect_bk_error(brier_score(c(0, 1), c(0.1, 1.2)), "argument", "row 2")
  expect_bk_error(brier_score(c(0, 1), c("0.1", "1")), "argument")
  expect_bk_error(calibration(c(0, 1), c(0.1, 1), bins = 1), "argument")
})

test_that("balanced error without rows is an error, an empty class is none", {
  truth <- factor(c("a", "b", "a"), c("a", "b", "c"))
  expect_equal(balanced_error(truth, c("a", "b", "b")), 0.25)
  expect_bk_error(balanced_error(character(), character()), "dimension", "row")
  expect_bk_error(balanced_error(truth, rep(NA, 3)), "dimension", "row")
  expect_bk_error(balanced_error(list(1), 1), "response", "truth")
})

test_that("calibration() of a fit names its picture", {
  fit <- bkm(y ~ x, data.frame(x = 1:9, y = c(2, 1, 4, 3, 6, 5, 8, 7, 9)))
  expect_bk_error(calibration(fit), "argument", "y")
  expect_error(calibration(fit), "plot(fit, \"calibration\")", fixed = TRUE)
  for (measure in list(log_loss, brier_score, auc)) {
    expect_bk_error(measure(fit, data.frame(x = 1)), "argument", "y")
  }
  expect_bk_error(balanced_error(fit, 1), "argument", "truth")
})

test_that("a matrix is taken by the names of its columns in every measure", {
  y <- factor(c("no", "no", "yes", "yes", "no"))
  p <- c(0.1, 0.4, 0.35, 0.8, 0.2)
  by_name <- cbind(yes = p, no = 1 - p)
  # Pairs of a "yes" and a "no": 5 of 6 are in order.
  expect_equal(auc(y, p), 5 / 6)
  for (measure in list(auc, brier_score, log_loss)) {
    expect_equal(measure(y, by_name), measure(y, p))
    expect_equal(measure(y, by_name[, 2:1]), measure(y, p))
    expect_equal(measure(y, as.data.frame(by_name)), measure(y, p))
    expect_equal(measure(y, unname(by_name[, 2:1])), measure(y, p))
    expect_bk_error(measure(y, cbind(yes = p, other = 1 - p)), "response", "other")
  }
  # A class that no row has counts where it has a probability.
  expect_equal(auc(y, cbind(by_name, maybe = 0)), 5 / 6)
  expect_equal(brier_score(y, cbind(by_name, maybe = 0)), brier_score(y, p))
  expect_bk_error(auc(y, cbind(by_name, maybe = 0.1)), "response", "3 columns")
  declared <- factor(y, c("no", "maybe", "yes"))
  expect_equal(auc(declared, cbind(by_name, maybe = 0.1)), 5 / 6)
})

test_that("rows that do not sum to 1 are no probabilities", {
  y <- factor(c("a", "b"))
  wrong <- rbind(c(0.5, 0.5), c(0.9, 0.9))
  for (measure in list(brier_score, log_loss, calibration)) {
    expect_bk_error(measure(y, wrong), "argument", "row 2")
  }
  # Rounded numbers are.
  third <- matrix(0.3333, 2, 3)
  expect_equal(log_loss(factor(c("a", "b"), c("a", "b", "c")), third), -log(0.3333))
})

test_that("text is labels in sorted order, as in a fit", {
  text <- c("no", "yes", "yes", "no")
  p <- c(0.2, 0.7, 0.4, 0.5)
  for (measure in list(auc, brier_score, log_loss)) {
    expect_equal(measure(text, p), measure(factor(text), p))
  }
  expect_bk_error(brier_score(c("a", "b", "c"), c(0.1, 0.2, 0.3)), "response")
})

test_that("of many classes the area is the mean over their pairs (Hand and Till)", {
  set.seed(1)
  y <- factor(sample(c("a", "b", "c"), 60, TRUE), c("a", "b", "c", "d"))
  prob <- matrix(runif(180), 60, dimnames = list(NULL, c("c", "a", "b")))
  own <- function(i, j) {
    rows <- y %in% c(i, j)
    auc(y[rows] == i, prob[rows, i])
  }
  pairs <- list(c("a", "b"), c("a", "c"), c("b", "c"))
  by_hand <- mean(vapply(pairs, function(p) (own(p[1], p[2]) + own(p[2], p[1])) / 2, 1))
  expect_equal(auc(y, prob), by_hand)
  perfect <- diag(3)[as.integer(droplevels(y)), ]
  colnames(perfect) <- c("a", "b", "c")
  expect_equal(auc(y, perfect), 1)
  expect_error(auc(y, runif(60)), "4 levels", class = "bayeskernel_error_response")
})

test_that("balanced_error() of probabilities names a few of them", {
  error <- expect_bk_error(balanced_error(rep(0:1, 20), (1:40) / 41), "argument", "40 in all")
  expect_lt(nchar(conditionMessage(error)), 300)
})

test_that("bins of a calibration table have rows enough", {
  set.seed(1)
  p <- c(runif(130)^3, 0.95)
  out <- calibration(runif(131) < p, p)
  expect_gte(min(out$rows), 20)
  expect_equal(sum(out$rows), 131)
  expect_identical(nrow(calibration(c(0, 0, 1, 1, 0, 1), (1:6) / 7)), 3L)
  expect_lte(diff(range(out$rows)), 1)
  # The same probability is not divided, and one alone is one bin.
  tied <- calibration(rep(0:1, 50), rep(c(0.2, 0.4, 0.4, 0.9), each = 25))
  expect_equal(tied[c("predicted", "rows")], data.frame(predicted = c(0.2, 0.4, 0.9),
    rows = c(25L, 50L, 25L)))
  expect_identical(calibration(rep(0:1, 50), rep(0.5, 100))$rows, 100L)
  # Those that are asked for are of equal width.
  expect_identical(calibration(c(0, 0, 1, 1), c(0.1, 0.2, 0.3, 0.9), bins = 10)$rows, rep(1L, 4))
})
