trial <- function() {
  data.frame(
    y = rep(0:1, 12), x = seq(-2, 3.75, 0.25), time = rep(1:4, 6),
    f = gl(3, 1, 24, labels = c("p", "q", "r")), a = rep(c("s1", "s2", "s3"), each = 8),
    b = rep(rep(1:2, each = 4), 3), k = rep(1:6, 4)
  )
}

labels_and_columns <- function(design) {
  vapply(design$random, function(term) {
    paste0(paste(term$columns, collapse = "+"), "|", term$label)
  }, "")
}

test_that("each form of bars gives its terms", {
  d <- trial()
  terms_of <- function(formula) labels_and_columns(bsvm_design(formula, d))
  expect_identical(terms_of(y ~ x + (1 | a)), "(Intercept)|a")
  expect_identical(terms_of(y ~ x + (time | a)), "(Intercept)+time|a")
  expect_identical(terms_of(y ~ x + (0 + time | a)), "time|a")
  expect_identical(terms_of(y ~ x + (time || a)), c("(Intercept)|a", "time|a"))
  expect_identical(terms_of(y ~ x + (1 | a / b)), c("(Intercept)|b:a", "(Intercept)|a"))
  expect_identical(terms_of(y ~ x + (1 | a:b)), "(Intercept)|a:b")
  expect_identical(terms_of(y ~ x + (1 | a) + (1 | k)), c("(Intercept)|a", "(Intercept)|k"))
  expect_identical(terms_of(y ~ x + (f | a)), "(Intercept)+fq+fr|a")
  expect_identical(terms_of(y ~ x + (f || a)), c("(Intercept)|a", "fp+fq+fr|a"))
  expect_identical(terms_of(y ~ x + (1 | a) + (0 + time | a)), c("(Intercept)|a", "time|a"))
  expect_identical(terms_of(y ~ (1 | factor(b))), "(Intercept)|factor(b)")
  expect_length(bsvm_design(y ~ x, d)$random, 0)
})

test_that("columns and groups are those of lme4", {
  skip_if_not_installed("lme4")
  d <- trial()
  for (formula in list(
    y ~ x + (time | a), y ~ x + (1 | a / b), y ~ x + (f || k), y ~ x + (poly(x, 2) | k) + (1 | a)
  )) {
    ours <- bsvm_design(formula, d)$random
    theirs <- lme4::mkReTrms(
      lme4::findbars(formula), lme4::subbars(formula) |> model.frame(data = d),
      reorder.terms = FALSE
    )
    expect_length(ours, length(theirs$cnms))
    for (t in seq_along(ours)) {
      expect_identical(ours[[t]]$columns, theirs$cnms[[t]])
      r <- length(ours[[t]]$columns)
      m <- length(ours[[t]]$levels)
      sparse <- matrix(0, m * r, nrow(d))
      at <- outer(seq_len(r), (ours[[t]]$group - 1) * r, `+`)
      sparse[cbind(c(at), rep(seq_len(nrow(d)), each = r))] <- t(ours[[t]]$z)
      expect_equal(sparse, unname(as.matrix(theirs$Ztlist[[t]])), tolerance = 1e-12)
    }
  }
})

test_that("a bar inside a call is a logical or, not a random term", {
  d <- trial()
  d$u <- d$x > 0
  d$v <- d$time > 2
  design <- bsvm_design(y ~ I(u | v) + (1 | a), d)
  expect_identical(colnames(design$x), c("(Intercept)", "I(u | v)TRUE"))
  expect_identical(labels_and_columns(design), "(Intercept)|a")
})

test_that("groups are numbered alike whatever their type", {
  d <- trial()
  d$text <- as.character(d$k)
  d$factor <- factor(d$k, levels = 0:9)
  number <- bsvm_design(y ~ (1 | k), d)$random[[1]]
  for (name in c("text", "factor")) {
    term <- bsvm_design(as.formula(sprintf("y ~ (1 | %s)", name)), d)$random[[1]]
    expect_identical(term$group, number$group)
    expect_identical(term$levels, as.character(1:6))
  }
})

test_that("levels of combined groups are the combinations that occur", {
  d <- data.frame(y = c(0, 1, 0, 1), a = c("u", "u", "v", "v"), b = c(1, 2, 2, 2))
  term <- bsvm_design(y ~ (1 | a:b), d)$random[[1]]
  expect_identical(term$levels, c("u:1", "u:2", "v:2"))
  expect_identical(term$group, c(1L, 2L, 3L, 3L))
})

test_that("numeric columns of a term are centred only beside an intercept", {
  d <- trial()
  both <- bsvm_design(y ~ (1 + x + f | a), d)$random[[1]]
  expect_equal(both$center, c(0, mean(d$x), 0, 0))
  expect_equal(both$scale, c(1, sd(d$x), 1, 1))
  alone <- bsvm_design(y ~ (0 + x | a), d)$random[[1]]
  expect_equal(alone$center, 0)
  expect_equal(alone$scale, sd(d$x))
  plain <- bsvm_design(y ~ (x | a), d, standardize = FALSE)$random[[1]]
  expect_equal(plain$center, c(0, 0))
  expect_equal(plain$scale, c(1, 1))
  expect_equal(plain$z[, "x"], d$x)
  expect_identical(both$type, "unstructured")
  expect_identical(alone$type, "iid")
})

test_that("a group for every row is legal, one group for all is not", {
  d <- trial()
  d$id <- seq_len(nrow(d))
  expect_length(bsvm_design(y ~ x + (1 | id), d)$random[[1]]$levels, 24)
  error <- expect_error(
    bsvm_design(y ~ x + (1 | a), d[d$a == "s1", ]), class = "bayeskernel_error_argument"
  )
  expect_identical(error$column, "a")
})

test_that("new rows: unknown groups are 0, missing ones incomplete", {
  d <- trial()
  info <- bsvm_design(y ~ x + (time | a) + (1 | a:b), d)$info
  new <- data.frame(x = 0, time = 2, a = c("s2", "s9", NA, "s1", "s1"), b = c(1, 1, 1, 7, NA))
  rows <- design_new(info, new)
  expect_identical(rows$random[[1]]$group, c(2L, 0L, 0L, 1L, 1L))
  expect_identical(rows$random[[2]]$group, c(3L, 0L, 0L, 0L, 0L))
  expect_identical(rows$complete, c(TRUE, TRUE, FALSE, TRUE, FALSE))
  expect_identical(rows$random[[1]]$z[1, ], c("(Intercept)" = 1, time = 2))
  # Levels that exist one by one but never met are a new group.
  d2 <- data.frame(y = c(0, 1, 0, 1), a = c(1, 1, 2, 2), b = c(1, 2, 2, 2))
  info <- bsvm_design(y ~ (1 | a:b), d2)$info
  expect_identical(design_new(info, data.frame(a = 2, b = 1))$random[[1]]$group, 0L)
})

test_that("random terms that cannot be are refused by name", {
  d <- trial()
  d$a[3] <- NA
  d$l <- as.list(d$b)
  refuse <- function(formula, kind, column) {
    error <- expect_error(bsvm_design(formula, d), class = paste0("bayeskernel_error_", kind))
    expect_identical(error$column, column)
  }
  refuse(y ~ x + (1 | a), "missing", "a")
  refuse(y ~ x + (dose | b), "argument", "dose")
  refuse(y ~ x + (1 | school), "argument", "school")
  refuse(y ~ x + (1 | l), "argument", "l")
  refuse(y ~ x + (0 | b), "argument", "b")
  refuse(y ~ x + (1 | b) + (1 + time | b), "argument", "1 | b")
  refuse(y ~ x + (1 | "b"), "argument", "(1 | \"b\")")
  refuse(y ~ x + ar1(time + 0 | b), "argument", "formula")
  refuse(y ~ x + diag(1 | b), "argument", "formula")
})

test_that("messages about random terms name term and cure", {
  d <- trial()
  d$one <- "here"
  d$hole <- replace(d$b, c(4, 9), NA)
  expect_snapshot(error = TRUE, {
    bsvm_design(y ~ x + (1 | hole), d)
    bsvm_design(y ~ x + (dose | a), d)
    bsvm_design(y ~ x + (1 | one), d)
    bsvm_design(y ~ x + (1 | a) + (time | a), d)
    bsvm_design(y ~ x + (0 | a), d)
  })
})

test_that("slopes that do not vary, beside a curve, settle", {
  for (seed in 1:20) {
    set.seed(seed)
    d <- data.frame(t = runif(100), x = rnorm(100), id = factor(rep(1:20, 5)))
    d$y <- sin(6 * d$t) + d$x / 5 + rnorm(100) / 5
    expect_no_warning(bkm(y ~ x + s(t) + (x | id), d, threads = 1))
  }
})
