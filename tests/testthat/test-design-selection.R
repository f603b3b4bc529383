trees <- function() {
  data.frame(
    y = rep(0:1, 12), x1 = sin(1:24), x2 = cos(1:24), f = gl(3, 1, 24, labels = c("p", "q", "r")),
    h = gl(2, 12), g = rep(1:6, 4), `my var` = log(1:24), check.names = FALSE
  )
}

selected <- function(formula, select, ...) {
  design <- bsvm_design(formula, trees(), indicators = select, ...)
  colnames(design$x)[selection_columns(design, select)]
}

test_that("TRUE selects among all columns but the intercept and smooths", {
  expect_identical(selected(y ~ x1 + x2, TRUE), c("x1", "x2"))
  expect_identical(selected(y ~ x1 + f + (1 | g), TRUE), c("x1", "fp", "fq", "fr"))
  expect_identical(selected(y ~ s(x1, k = 4) + x2, TRUE), "x2")
  expect_identical(selected(y ~ 0 + x1, TRUE), "x1")
  x <- cbind(a = sin(1:24), one = 1, b = cos(1:24))
  expect_warning(
    design <- design_from_matrix(x, trees()$y), class = "bayeskernel_warning_dropped_column"
  )
  expect_identical(selection_columns(design, TRUE), 2:3)
  expect_identical(selection_columns(design, FALSE), integer())
})

test_that("a formula chooses terms, the dot stands for all", {
  expect_identical(selected(y ~ x1 + x2 + f, ~ . - f), c("x1", "x2"))
  expect_identical(selected(y ~ x1 + x2 + f, ~ f + x2), c("x2", "fp", "fq", "fr"))
  expect_identical(selected(y ~ x1 * x2, ~ x2:x1), "x1:x2")
  expect_identical(selected(y ~ x1 * x2, ~ x1 * x2), c("x1", "x2", "x1:x2"))
  expect_identical(selected(y ~ x1 + x2, ~ . - 1), c("x1", "x2"))
  expect_identical(
    selected(y ~ x1 + `my var` + log(x2 + 2), ~ `my var` + log(x2 + 2)),
    c("`my var`", "log(x2 + 2)")
  )
  design <- design_from_matrix(as.matrix(trees()[c("x1", "my var")]), trees()$y)
  expect_identical(selection_columns(design, ~ . - x1), 3L)
})

test_that("factors of selected terms have a column for each level", {
  d <- trees()
  design <- bsvm_design(y ~ x1 + f + h, d, indicators = ~ . - h)
  expect_identical(colnames(design$x), c("(Intercept)", "x1", "fp", "fq", "fr", "h2"))
  expect_identical(design$assign, c(0L, 1L, 2L, 2L, 2L, 3L))
  expect_equal(design$x[, 3:5], model.matrix(~ 0 + f, d), ignore_attr = TRUE)
  new <- design_new(design$info, d[c(5, 2, 24), ])
  expect_equal(new$x, design$x[c(5, 2, 24), ])
  for (h in list(d$h, d$h == "2", as.character(d$h))) {
    two <- bsvm_design(y ~ x1 + h, transform(d, h = h), indicators = ~ x1 + h)
    expect_identical(ncol(two$x), 3L)
    expect_equal(unname(two$x[, 3]), as.numeric(d$h == "2"))
    expect_equal(design_new(two$info, transform(d, h = h))$x, two$x)
  }
  inter <- bsvm_design(y ~ f * h + x1:f, d, indicators = "f:h")
  # Of three levels all, of two one against the other.
  expect_identical(sum(inter$assign == 3L), 3L)
  expect_identical(sum(inter$assign == 1L), 2L)
  expect_equal(design_new(inter$info, d)$x, inter$x)
})

test_that("columns of selected terms are not dropped for being aliased", {
  d <- trees()
  d$twin <- d$x1
  expect_silent(design <- bsvm_design(y ~ x1 + f + twin + (1 | g), d, indicators = ~ f + twin))
  expect_identical(colnames(design$x), c("(Intercept)", "x1", "fp", "fq", "fr", "twin"))
  expect_warning(
    bsvm_design(y ~ x1 + twin + f + (1 | g), d, indicators = ~f),
    class = "bayeskernel_warning_dropped_column"
  )
})

test_that("positions hold after columns were dropped", {
  d <- trees()
  d$one <- 1
  design <- suppressWarnings(bsvm_design(y ~ one + x1 + f, d, indicators = ~f))
  expect_identical(colnames(design$x)[selection_columns(design, ~f)], c("fp", "fq", "fr"))
  expect_bk_error(selection_columns(design, ~one), "argument")
})

test_that("unknown terms are refused by name", {
  design <- bsvm_design(y ~ x1 + x2 + s(g, k = 3) + (1 | f), trees())
  refuse <- function(select, unknown) {
    error <- expect_bk_error(selection_columns(design, select), "argument")
    expect_identical(error$found, unknown)
    expect_identical(error$expected, c("x1", "x2"))
  }
  refuse(~ x1 + age, "age")
  refuse(~ . - age, "age")
  refuse(~ x1:x2, "x1:x2")
  refuse(~ s(g), "s(g)")
  for (bad in list(y ~ x1, "x1 + x2", 3, NA, list())) {
    expect_bk_error(selection_columns(design, bad), "argument")
  }
  expect_bk_error(bsvm_design(y ~ x1, trees(), indicators = ~z), "argument")
  nothing <- bsvm_design(y ~ 1, trees())
  expect_bk_error(selection_columns(nothing, TRUE), "argument")
})

test_that("messages about selection list the terms", {
  design <- bsvm_design(y ~ x1 + x2 + f, trees())
  expect_snapshot(error = TRUE, {
    selection_columns(design, ~ . - age)
    selection_columns(design, ~ 1)
    selection_columns(design, y ~ x1)
  })
})
