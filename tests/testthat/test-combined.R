# Several classifiers as one: classes and rows are matched by name.

set.seed(4)
d <- data.frame(a = rnorm(90), b = rnorm(90))
d$y <- factor(c("one", "two", "three")[
  1 + (d$a > 0.3) + (d$b + rnorm(90) / 3 > 0.5 & d$a > 0.3)
], c("one", "two", "three"))
rownames(d) <- paste0("row", 1:90)
first <- mkprobit(y ~ a, d, threads = 1, seed = 1)

test_that("classes in another order of levels", {
  turned <- transform(d, y = factor(y, c("three", "one", "two")))
  same <- mkprobit(y ~ b, d, threads = 1, seed = 1)
  machine <- function(...) suppressWarnings(flat(gpsvm)(..., tune = FALSE, threads = 1, seed = 1))
  other <- machine(y ~ b, turned)
  as_first <- machine(y ~ b, d)
  for (rule in c("product", "mean", "max", "majority")) {
    expect_equal(
      predict(combine_classifiers(list(first, other), rule), d, type = "prob"),
      predict(combine_classifiers(list(first, as_first), rule), d, type = "prob"), tolerance = 1e-6
    )
  }
  # By hand.
  p <- predict(first, d, type = "prob")
  q <- predict(other, d, type = "prob")[, colnames(p)]
  mean <- predict(combine_classifiers(list(first, other), "mean"), d, "prob")
  expect_equal(mean, (p + q) / 2)
  expect_identical(levels(predict(combine_classifiers(list(first, other)), d)), levels(d$y))
})

test_that("a level that one of them has no row of", {
  some <- d[d$y != "three", ]
  other <- suppressWarnings(gpsvm(y ~ b, some, tune = FALSE, threads = 1, seed = 1))
  out <- predict(combine_classifiers(list(first, other), "mean"), d, "prob")
  expect_identical(colnames(out), levels(d$y))
  expect_equal(out[, "three"], predict(first, d, type = "prob")[, "three"] / 2)
})

test_that("rows in another order are matched by their names", {
  second <- mkprobit(y ~ b, d, threads = 1, seed = 1)
  both <- combine_classifiers(list(a = first, b = second))
  order <- sample(90)
  straight <- predict(both, list(a = d, b = d), "prob")
  expect_equal(predict(both, list(a = d, b = d[order, ]), "prob"), straight)
  expect_identical(rownames(straight), rownames(d))
  # The rows of the fits.
  turned <- mkprobit(y ~ b, `rownames<-`(d, NULL)[order, ], threads = 1, seed = 1)
  expect_error(
    predict(combine_classifiers(list(first, turned))),
    "same order", class = "bayeskernel_error_dimension"
  )
  expect_equal(predict(both, type = "prob"), straight, ignore_attr = TRUE)
  strange <- d
  rownames(strange)[7] <- "seven"
  expect_error(predict(both, list(a = d, b = strange)), class = "bayeskernel_error_dimension")
})

test_that("a regression is no classifier", {
  line <- bkm(a ~ b, d, threads = 1)
  expect_error(
    combine_classifiers(list(first, line)), "regression", class = "bayeskernel_error_argument"
  )
  expect_error(combine_classifiers(list(first, 1)), class = "bayeskernel_error_argument")
})
