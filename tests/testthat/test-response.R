# The labels of a response, by the formula interface unless the subject is the
# reader itself.
labels_of <- function(y) parse_response(y, "y")

test_that("every form of two classes gives -1 and +1, the second being +1", {
  expect_identical(
    labels_of(factor(c("b", "a", "b"))),
    list(y = c(1, -1, 1), levels = c("a", "b"))
  )
  expect_identical(
    labels_of(factor(c("b", "a"), levels = c("b", "a"))),
    list(y = c(-1, 1), levels = c("b", "a"))
  )
  expect_identical(
    labels_of(c(TRUE, FALSE)),
    list(y = c(1, -1), levels = c("FALSE", "TRUE"))
  )
  for (convert in list(as.integer, as.double)) {
    expect_identical(
      labels_of(convert(c(0, 1, 1))),
      list(y = c(-1, 1, 1), levels = c("0", "1"))
    )
    expect_identical(
      labels_of(convert(c(1, -1, 1))),
      list(y = c(1, -1, 1), levels = c("-1", "1"))
    )
  }
  expect_identical(
    labels_of(factor(c("low", "high"), c("low", "high"), ordered = TRUE))$y,
    c(-1, 1)
  )
})

test_that("levels that do not occur are dropped and the order is kept", {
  y <- factor(c("c", "b", "c"), levels = c("a", "c", "b"))
  expect_identical(
    labels_of(y),
    list(y = c(-1, 1, -1), levels = c("c", "b"))
  )
})

test_that("transformed responses work in a formula", {
  d <- data.frame(y = c(1, 2, 3, 4), g = c("a", "b", "a", "b"), x = 1:4)
  expect_identical(bsvm_design(I(y > 2) ~ x, d)$y, c(-1, -1, 1, 1))
  expect_identical(bsvm_design(y > 2 ~ x, d)$levels, c("FALSE", "TRUE"))
  expect_identical(bsvm_design(factor(g) ~ x, d)$y, c(-1, 1, -1, 1))
  expect_identical(bsvm_design(g == "a" ~ x, d)$y, c(1, -1, 1, -1))
  expect_identical(bsvm_design(factor(g) ~ x, d)$response, "factor(g)")
})

test_that("an unusable response is an error that names it and the cure", {
  d <- data.frame(
    one = factor(rep("a", 4)), three = factor(c("a", "b", "c", "a")),
    text = c("a", "b", "a", "b"), codes = c(1, 2, 1, 2),
    measure = c(0.5, 1.25, 3, 7), hole = c(0, 1, NA, 1),
    infinite = c(0, 1, Inf, 1), nan = c(0, NaN, 1, 1), x = 1:4
  )
  d$list <- list(1, 2, 3, 4)
  refusals <- c(
    one = "response", three = "response", text = "response",
    codes = "response", measure = "response", list = "response",
    absent = "response", hole = "missing", infinite = "missing",
    nan = "missing"
  )
  for (name in names(refusals)) {
    formula <- reformulate("x", response = name)
    error <- expect_error(
      bsvm_design(formula, d),
      class = paste0("bayeskernel_error_", refusals[[name]])
    )
    expect_identical(error$column, name)
    expect_match(conditionMessage(error), name, fixed = TRUE)
  }
  expect_error(
    bsvm_design(cbind(codes, measure) ~ x, d),
    class = "bayeskernel_error_response"
  )
  expect_error(bsvm_design(~x, d), class = "bayeskernel_error_argument")
  expect_error(
    design_from_matrix(cbind(1:4), cbind(0:1, 1:0)),
    class = "bayeskernel_error_response"
  )
})

test_that("messages about responses say what was found and what to do", {
  d <- data.frame(
    one = factor(rep("a", 4)), three = factor(c("a", "b", "c", "a")),
    text = c("a", "b", "a", "b"), codes = c(1, 2, 1, 2),
    measure = c(0.5, 1.25, 3, 7), infinite = c(0, 1, Inf, 1), x = 1:4
  )
  expect_snapshot(error = TRUE, {
    bsvm_design(one ~ x, d)
    bsvm_design(three ~ x, d)
    bsvm_design(text ~ x, d)
    bsvm_design(codes ~ x, d)
    bsvm_design(measure ~ x, d)
    bsvm_design(infinite ~ x, d)
    bsvm_design(cbind(codes, measure) ~ x, d)
    bsvm_design(outcome ~ x, d)
  })
})
