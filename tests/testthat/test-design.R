survey <- function() {
  data.frame(
    y = rep(0:1, 10),
    x = c(2.5, -1, 0.3, 4, 1.1, -0.7, 3, 2, 0, 1, 5, -2, 1.5, 0.2, 2.2, -1.3, 0.9, 3.3, 1.7, 0.6),
    z = 20:1 / 10, f = gl(4, 5, labels = c("n", "e", "s", "w")), text = rep(c("u", "v"), each = 10),
    w = rep(c(1, 2), 10), g = rep(1:5, 4), o = seq(0, 1.9, 0.1)
  )
}

# Formula designs ------------------------------------------------------------

test_that("columns are those of model.matrix()", {
  d <- survey()
  d$d <- as.Date("2020-01-01") + 1:20
  d$l <- d$x > 1
  d$ordered <- factor(d$f, ordered = TRUE)
  formulas <- list(
    y ~ x, y ~ x * f, y ~ f - 1, y ~ 0 + x + f:z, y ~ poly(x, 2) + text,
    y ~ splines::ns(x, df = 3) + l, y ~ ordered, y ~ log(z) + I(x^2), y ~ 1,
    y ~ d, y ~ text * l, y ~ x + offset(o)
  )
  for (formula in formulas) {
    ours <- bsvm_design(formula, d)
    expect_equal(
      ours$x, model.matrix(formula, d), ignore_attr = c("assign", "contrasts", "dimnames")
    )
    expect_identical(colnames(ours$x), colnames(model.matrix(formula, d)))
  }
})

test_that("contrasts of a factor and of the session are used", {
  d <- survey()
  contrasts(d$f) <- contr.sum(4)
  expect_equal(bsvm_design(y ~ f, d)$x, model.matrix(y ~ f, d), ignore_attr = TRUE)
  d <- survey()
  old <- options(contrasts = c("contr.helmert", "contr.poly"))
  design <- bsvm_design(y ~ f, d)
  helmert <- model.matrix(y ~ f, d)
  options(old)
  expect_equal(design$x, helmert, ignore_attr = TRUE)
  # Prediction uses the contrasts of training, not those of the session.
  expect_equal(design_new(design$info, d[7:9, ])$x, helmert[7:9, ], ignore_attr = TRUE)
})

test_that("data may be a data frame, tibble, data.table, list or nowhere", {
  d <- survey()
  expected <- bsvm_design(y ~ x + f + (1 | g), d)$x
  expect_identical(bsvm_design(y ~ x + f + (1 | g), as.list(d))$x, expected)
  with(d, {
    expect_identical(bsvm_design(y ~ x + f + (1 | g))$x, expected)
    expect_identical(bsvm_design(y ~ x + f + (1 | g), environment())$x, expected)
  })
  skip_if_not_installed("tibble")
  expect_identical(bsvm_design(y ~ x + f + (1 | g), tibble::as_tibble(d))$x, expected)
  skip_if_not_installed("data.table")
  table <- getExportedValue("data.table", "as.data.table")(d)
  expect_identical(bsvm_design(y ~ x + f + (1 | g), table)$x, expected)
})

test_that("the dot leaves out the response and the groups", {
  d <- survey()[c("y", "x", "z", "g")]
  columns <- function(formula) colnames(bsvm_design(formula, d)$x)
  expect_identical(columns(y ~ .), c("(Intercept)", "x", "z", "g"))
  expect_identical(columns(factor(y) ~ . - z), c("(Intercept)", "x", "g"))
  expect_identical(columns(y ~ . + (1 | g)), c("(Intercept)", "x", "z"))
  expect_identical(columns(y ~ . + (z | g)), c("(Intercept)", "x", "z"))
  # What is kept says which columns it stood for.
  expect_identical(deparse1(bsvm_design(y ~ . + (z | g), d)$formula), "y ~ x + z + (z | g)")
  expect_error(bsvm_design(y ~ ., list(y = d$y, x = 1)), class = "bayeskernel_error_argument")
})

test_that("centre and scale are mean and sd, and follow the options", {
  d <- survey()
  design <- bsvm_design(y ~ x + z, d)
  expect_equal(design$center, c(0, mean(d$x), mean(d$z)))
  expect_equal(design$scale, c(1, sd(d$x), sd(d$z)))
  expect_equal(design$x[, "x"], d$x)
  without <- bsvm_design(y ~ 0 + x + z, d)
  expect_identical(without$center, c(0, 0))
  expect_equal(without$scale, c(sd(d$x), sd(d$z)))
  plain <- bsvm_design(y ~ x + z, d, standardize = FALSE)
  expect_identical(plain$center, c(0, 0, 0))
  expect_identical(plain$scale, c(1, 1, 1))
})

test_that("moments keep their digits beside a large mean and across tiles", {
  x <- 1e9 + rep(c(-1, 1), 2500)
  moments <- column_moments_cpp(cbind(x, x - 1e9, NaN))
  expect_identical(moments$mean[1:2], c(1e9, 0))
  expect_equal(moments$sd[1:2], rep(sd(c(-1, 1)[rep(1:2, 2500)]), 2), tolerance = 1e-12)
  expect_identical(moments$min[1:2], c(1e9 - 1, -1))
  expect_identical(moments$max[1:2], c(1e9 + 1, 1))
  expect_identical(moments$missing, c(0, 0, 5000))
})

test_that("weights, offset and subset come from data, vectors or names", {
  d <- survey()
  by_name <- bsvm_design(y ~ x, d, weights = "w", offset = quote(o / 2))
  by_value <- bsvm_design(y ~ x, d, weights = d$w, offset = d$o / 2)
  expect_identical(by_name$weights, d$w)
  expect_identical(by_name$offset, d$o / 2)
  expect_identical(by_value[c("weights", "offset")], by_name[c("weights", "offset")])
  expect_equal(bsvm_design(y ~ x + offset(o), d, offset = "o")$offset, 2 * d$o)
  for (keep in list(quote(z > 1), d$z > 1, 1:10, -(11:20))) {
    part <- bsvm_design(y ~ x, d, weights = quote(w), subset = keep)
    expect_identical(part$x[, "x"], d$x[1:10])
    expect_identical(part$weights, d$w[1:10])
    expect_identical(part$rows, 1:10)
  }
  # As in lm(), a basis is computed from all rows before some are left out.
  expect_equal(bsvm_design(y ~ poly(x, 2), d, subset = 1:10)$x[, 2], poly(d$x, 2)[1:10, 1])
})

test_that("rows of zero weight say nothing and are removed", {
  d <- survey()
  d$w[c(2, 5)] <- 0
  design <- bsvm_design(y ~ x + (1 | g), d, weights = quote(w))
  without <- bsvm_design(y ~ x + (1 | g), d[-c(2, 5), ], weights = quote(w))
  same <- c("y", "x", "center", "scale", "weights", "random", "n")
  expect_identical(design[same], without[same])
  expect_identical(design$n_zero_weight, 2L)
  expect_identical(design$rows, seq_len(20)[-c(2, 5)])
})

test_that("na.omit drops incomplete rows and records them", {
  d <- survey()
  d$x[3] <- NA
  d$g[7] <- NA
  design <- bsvm_design(y ~ x + (1 | g), d, na.action = na.omit)
  expect_identical(design$n, 18L)
  expect_identical(design$na.action, structure(c("3" = 3L, "7" = 7L), class = "omit"))
  expect_equal(design$center[2], mean(d$x[-c(3, 7)]))
  expect_s3_class(bsvm_design(y ~ x, d, na.action = "na.exclude")$na.action, "exclude")
  # As lm() has it: a position in the subset, the name of the row in the data.
  part <- bsvm_design(y ~ x, d, subset = 2:20, na.action = na.omit)
  expect_identical(
    unclass(part$na.action), unclass(lm(
      as.numeric(x) ~ x, d, subset = 2:20, na.action = na.omit
    )$na.action)
  )
  x <- as.matrix(d[c("x", "z")])
  expect_identical(
    design_from_matrix(x, d$y, na.action = na.omit)$x[, -1], x[-3, ], ignore_attr = TRUE
  )
})

test_that("columns without information are dropped with one warning", {
  d <- survey()
  d$one <- 1
  d$level <- factor("only")
  d$twin <- 2 * d$x - 1
  expect_silent(bsvm_design(y ~ x + twin, d))
  warning <- expect_warning(
    design <- bsvm_design(y ~ one + x + level + twin + (1 | g), d),
    class = "bayeskernel_warning_dropped_column"
  )
  expect_identical(colnames(design$x), c("(Intercept)", "x"))
  expect_identical(design$dropped, c("one", "level", "twin"))
  expect_setequal(warning$column, c("one", "level", "twin"))
  expect_match(conditionMessage(warning), "twin", fixed = TRUE)
  # The same columns are dropped for new rows, whatever their values.
  new <- transform(d[1:3, ], one = 5, twin = 0)
  expect_equal(design_new(design$info, new)$x, cbind(1, d$x[1:3]), ignore_attr = TRUE)
  new$level <- c(NA, "only", "only")
  expect_identical(design_new(design$info, new)$complete, c(FALSE, TRUE, TRUE))
  # Without an intercept a constant column is one.
  expect_silent(kept <- bsvm_design(y ~ 0 + one + x, d))
  expect_identical(kept$scale[1], 1)
})

test_that("aliasing that no sample of rows can rule out is found", {
  n <- 5000
  d <- data.frame(y = rep(0:1, n / 2), a = sin(1:n), g = rep(1:10, n / 10))
  d$rare <- as.double(seq_len(n) == 4321)
  expect_silent(design <- bsvm_design(y ~ a + rare + (1 | g), d))
  expect_identical(ncol(design$x), 3L)
  d$b <- d$a + 3
  expect_warning(
    design <- bsvm_design(y ~ a + rare + b + (1 | g), d),
    class = "bayeskernel_warning_dropped_column"
  )
  expect_identical(design$dropped, "b")
})

test_that("more columns than rows are kept", {
  set.seed(1)
  x <- matrix(rnorm(200), 10)
  expect_silent(design <- design_from_matrix(x, rep(0:1, 5)))
  expect_identical(dim(design$x), c(10L, 21L))
})

# Matrix designs -------------------------------------------------------------

test_that("a matrix, a data frame and a formula give one design", {
  d <- survey()
  x <- cbind(x = d$x, z = d$z)
  same <- c("y", "levels", "x", "center", "scale", "weights", "offset")
  from_formula <- bsvm_design(y ~ x + z, d)
  expect_identical(design_from_matrix(x, d$y)[same], from_formula[same])
  expect_identical(design_from_matrix(d[c("x", "z")], d$y)[same], from_formula[same])
  mixed <- design_from_matrix(d[c("x", "f")], d$y, weights = d$w)
  expect_identical(mixed[same], bsvm_design(y ~ x + f, d, weights = d$w)[same])
  integers <- design_from_matrix(cbind(a = 1:20, b = d$y > 0), d$y)
  expect_type(integers$x, "double")
})

test_that("columns without names are named by position", {
  design <- design_from_matrix(matrix(c(1:4, 4, 2, 3, 1), 4), c(0, 1, 0, 1))
  expect_identical(colnames(design$x), c("(Intercept)", "x1", "x2"))
  new <- matrix(c(9, 8), 1)
  expect_identical(unname(design_new(design$info, new)$x), cbind(1, 9, 8))
})

test_that("new matrix columns are matched by name, else by position", {
  d <- survey()
  info <- design_from_matrix(cbind(a = d$x, b = d$z), d$y)$info
  expected <- cbind("(Intercept)" = 1, a = 1:2, b = 3:4)
  expect_identical(design_new(info, cbind(b = 3:4, a = 1:2))$x, expected)
  expect_identical(design_new(info, data.frame(z = 0, b = 3:4, a = 1:2))$x, expected)
  expect_identical(design_new(info, matrix(1:4, 2))$x, expected)
  expect_identical(design_new(info, matrix(1:4 + 0, 2))$complete, c(TRUE, TRUE))
  expect_error(design_new(info, matrix(1, 2, 3)), class = "bayeskernel_error_dimension")
  error <- expect_error(design_new(info, cbind(a = 1, c = 2)), class = "bayeskernel_error_argument")
  expect_identical(error$column, "b")
})

# New rows -------------------------------------------------------------------

test_that("new rows equal the training rows, alone or together", {
  d <- survey()
  formulas <- list(
    y ~ poly(x, 2) * f + (1 | g), y ~ splines::ns(x, 3) + text,
    y ~ scale(x) + log(z) + (poly(z, 2) | g), y ~ 1, y ~ (1 | g / text), y ~ I(x > 1) + offset(o)
  )
  for (formula in formulas) {
    design <- bsvm_design(formula, d)
    all <- design_new(design$info, d)
    expect_equal(all$x, design$x, tolerance = 1e-12)
    expect_equal(all$offset, design$offset)
    some <- design_new(design$info, d[c(20, 3), -1])
    expect_equal(some$x, design$x[c(20, 3), , drop = FALSE], tolerance = 1e-12)
    for (t in seq_along(design$random)) {
      expect_equal(all$random[[t]]$z, design$random[[t]]$z, tolerance = 1e-12)
      expect_identical(all$random[[t]]$group, design$random[[t]]$group)
    }
    expect_identical(nrow(design_new(design$info, d[0, ])$x), 0L)
  }
})

test_that("rows with missing predictors are marked, and others are intact", {
  d <- survey()
  info <- bsvm_design(y ~ x + f + text + offset(o), d, drop_aliased = FALSE)$info
  new <- d[1:5, ]
  new$x[1] <- NA
  new$f[2] <- NA
  new$text[3] <- NA
  new$o[4] <- NA
  rows <- design_new(info, new)
  expect_identical(rows$complete, c(FALSE, FALSE, FALSE, FALSE, TRUE))
  expect_equal(rows$x[5, ], bsvm_design(y ~ x + f + text, d, drop_aliased = FALSE)$x[5, ])
  new$x <- NA
  expect_identical(design_new(info, new)$complete, rep(FALSE, 5))
})

test_that("a factor of the new rows may have fewer or reordered levels", {
  d <- survey()
  info <- bsvm_design(y ~ f, d)$info
  expected <- bsvm_design(y ~ f, d)$x[c(6, 11), ]
  for (f in list(c("e", "s"), factor(c("e", "s")), factor(c("e", "s"), c("s", "n", "e")))) {
    expect_equal(design_new(info, data.frame(f = f))$x, expected)
  }
})

test_that("an offset argument is found in the new rows or asked for", {
  d <- survey()
  info <- bsvm_design(y ~ x, d, offset = quote(o * 2))$info
  expect_equal(design_new(info, d[2:3, ])$offset, d$o[2:3] * 2)
  error <- expect_error(design_new(info, d["x"]), class = "bayeskernel_error_argument")
  expect_identical(error$column, "o")
  info <- bsvm_design(y ~ x, d, offset = d$o)$info
  expect_error(design_new(info, d), class = "bayeskernel_error_argument")
})

test_that("new data that do not fit are refused by name", {
  d <- survey()
  info <- bsvm_design(y ~ x + f + log(z) + (1 | g), d)$info
  refuse <- function(new, kind, column) {
    error <- expect_error(design_new(info, new), class = paste0("bayeskernel_error_", kind))
    expect_identical(error$column, column)
  }
  refuse(d[c("f", "z", "g")], "argument", "x")
  refuse(d[c("x", "f", "z")], "argument", "g")
  refuse(transform(d, f = "north"), "argument", "f")
  refuse(transform(d, x = "1"), "argument", "x")
  refuse(transform(d, z = 0), "missing", "log(z)")
  refuse(transform(d, x = 1e308), "numeric", "x")
  refuse(as.matrix(d[c("x", "z")]), "argument", "newdata")
  expect_snapshot(error = TRUE, {
    design_new(info, d[c("f", "z", "g")])
    design_new(info, transform(d, f = replace(as.character(f), 3, "north")))
    design_new(info, transform(d, x = "1"))
    design_new(info, transform(d, z = 0))
  })
})

# What a fit keeps -----------------------------------------------------------

stored_size <- function(object) length(serialize(object, NULL))

test_that("what prediction needs does not grow with the data", {
  fit_inside <- function(n) {
    ballast <- rnorm(n)
    k <- 3
    halve <- function(x) x / divisor()
    divisor <- function() k - 1
    d <- data.frame(y = rep(0:1, n / 2), x = sin(1:n), g = rep(1:5, n / 5))
    bsvm_design(y ~ I(x / k) + halve(x) + splines::ns(x, df = k) + (1 | g), d, drop_aliased = FALSE)
  }
  small <- fit_inside(50)
  large <- fit_inside(50000)
  kept <- c("info", "formula", "terms", "xlevels", "contrasts")
  expect_lt(stored_size(large[kept]), stored_size(small[kept]) + 200)
  expect_lt(stored_size(large[kept]), 60000)
  # Functions and constants of the place where it was written still work.
  restored <- unserialize(serialize(large$info, NULL))
  new <- design_new(restored, data.frame(x = c(0.3, 0.6), g = 1))
  expect_equal(new$x[, "I(x/k)"], c(0.1, 0.2), ignore_attr = TRUE)
  expect_equal(new$x[, "halve(x)"], c(0.15, 0.3), ignore_attr = TRUE)
})

test_that("variables outside data are asked for in new data, not reused", {
  fit_inside <- function() {
    y <- rep(0:1, 10)
    x <- 20:1 + 0
    k <- 2
    formula <- y ~ I(x / k)
    list(bsvm_design(formula), bsvm_design(formula, environment(formula)))
  }
  for (design in fit_inside()) {
    error <- expect_error(
      design_new(design$info, data.frame(z = 1)), class = "bayeskernel_error_argument"
    )
    expect_identical(error$column, "x")
    restored <- unserialize(serialize(design$info, NULL))
    expect_equal(design_new(restored, data.frame(x = 4))$x, cbind(1, 2), ignore_attr = TRUE)
    expect_identical(names(restored$env), "k")
  }
})

test_that("formulas of the global environment keep it", {
  formula <- y ~ x
  environment(formula) <- globalenv()
  expect_identical(environment(bsvm_design(formula, survey())$terms), globalenv())
})

# Bad input ------------------------------------------------------------------

test_that("bad data are classed errors that name the column", {
  d <- survey()
  d$hole <- replace(d$x, c(4, 9), NA)
  d$nan <- replace(d$x, 2, NaN)
  d$inf <- replace(d$x, 5, Inf)
  d$huge <- d$x * 1e307
  d$tiny <- d$x * 1e-300
  d$list <- as.list(d$x)
  d$complex <- complex(20, d$x)
  refuse <- function(kind, column, ...) {
    error <- expect_error(bsvm_design(...), class = paste0("bayeskernel_error_", kind))
    expect_identical(error$column, column)
    expect_match(conditionMessage(error), column[1], fixed = TRUE)
    expect_lt(nchar(strsplit(conditionMessage(error), "\n")[[1]][1]), 80)
    invisible(error)
  }
  expect_identical(refuse("missing", "hole", y ~ hole, d)$row, 4L)
  refuse("missing", c("x2", "hole"), y ~ x2 + hole, transform(d, x2 = hole))
  refuse("missing", "hole", y ~ hole, d, na.action = na.pass)
  refuse("missing", "nan", y ~ nan, d)
  refuse("missing", "inf", y ~ inf, d)
  refuse("missing", "inf", y ~ inf, d, na.action = na.omit)
  refuse("missing", "inf", y ~ x + (inf | g), d)
  refuse("missing", "weights", y ~ x, d, weights = d$hole)
  refuse("numeric", "huge", y ~ huge, d)
  refuse("numeric", "huge", y ~ x + (huge | g), d)
  refuse("numeric", "tiny", y ~ tiny, d)
  refuse("argument", "list", y ~ list, d)
  refuse("argument", "complex", y ~ complex, d)
  refuse("argument", "absent", y ~ absent, d)
  # A function of that name is not a variable.
  refuse("argument", "median", y ~ median, d)
  refuse("response", "outcome", outcome ~ x, d)
  refuse("argument", "te(x, z)", y ~ x + te(x, z) + (1 | g), d)
  refuse("argument", "log(text)", y ~ log(text), d)
  refuse("dimension", "short", y ~ short, c(as.list(d), list(short = 1:3)))
  refuse("dimension", "weights", y ~ x, d, weights = 1:3)
  refuse("dimension", "offset", y ~ x, d, offset = 1:3)
  refuse("dimension", "subset", y ~ x, d, subset = c(TRUE, FALSE))
  refuse("dimension", "subset", y ~ x, d, subset = quote(x > 100))
  refuse("argument", "subset", y ~ x, d, subset = 100)
  refuse("argument", "weights", y ~ x, d, weights = -d$w)
  refuse("argument", "weights", y ~ x, d, weights = 0 * d$w)
  refuse("argument", "weights", y ~ x, d, weights = quote(nowhere))
  refuse("argument", "offset", y ~ x, d, offset = d$inf)
  refuse("argument", "offset", y ~ x, d, offset = as.character(d$o))
  refuse("argument", "na.action", y ~ x, d, na.action = mean)
  refuse("argument", "data", y ~ x, as.matrix(d$x))
  refuse("argument", "data", y ~ x, "d")
  refuse("argument", "formula", "y ~ x", d)
  refuse("argument", "formula", ~x, d)
  refuse("argument", "formula", y ~ x + NA, d)
  # terms() takes a column for the response among the predictors, too.
  refuse("argument", "y", y ~ x + y, d)
  refuse("argument", "y", y ~ x * y, d)
  refuse("argument", "y", y ~ x + s(y), d)
  refuse("argument", "y", y ~ x + (1 | y), d)
  expect_s3_class(bsvm_design(I(x > 1) ~ x, d)$terms, "terms")
  # Text where a variable is meant.
  for (formula in list(y ~ gp("x"), y ~ s(x, by = "g"), y ~ gp(.), y ~ gp(1))) {
    expect_match(conditionMessage(refuse("argument", "formula", formula, d)), "without quotes")
  }
  refuse("dimension", "data", y ~ x, d[0, ])
  refuse("dimension", "data", y ~ x, d[1, ])
  expect_error(bsvm_design(y ~ 0, d), class = "bayeskernel_error_dimension")
  expect_error(
    bsvm_design(y ~ hole, d, subset = c(1, 4), na.action = na.omit),
    class = "bayeskernel_error_dimension"
  )
})

test_that("bad matrices are classed errors that name the argument", {
  y <- rep(0:1, 5)
  x <- cbind(a = 1:10 + 0, b = sin(1:10))
  refuse <- function(kind, column, ...) {
    error <- expect_error(design_from_matrix(...), class = paste0("bayeskernel_error_", kind))
    expect_identical(error$column, column)
  }
  refuse("argument", "x", matrix(letters[1:10], 10), y)
  refuse("argument", "x", 1:10, y)
  refuse("argument", "x", array(1, c(10, 2, 2)), y)
  refuse("dimension", "x", matrix(0, 10, 0), y)
  refuse("argument", "a", cbind(x, a = 1), y)
  refuse("dimension", "y", x, y[-1])
  refuse("dimension", "y", data.frame(f = letters[1:10]), y[-1])
  refuse("dimension", "weights", x, y, weights = 1:3)
  refuse("dimension", "offset", x, y, offset = 1)
  refuse("argument", "weights", x, y, weights = rep(-1, 10))
  refuse("argument", "offset", x, y, offset = rep(Inf, 10))
  refuse("missing", "b", replace(x, 13, NA), y)
  refuse("missing", "b", replace(x, 13, Inf), y)
  refuse("missing", "y", x, replace(y, 2, NA))
  refuse("numeric", "a", replace(x, 3, 1e308), y)
  refuse("dimension", "data", x[0, ], y[0])
  refuse("dimension", "data", x[1, , drop = FALSE], y[1])
  expect_error(
    suppressWarnings(design_from_matrix(x, factor(y), standardize = NA)),
    class = "bayeskernel_error_argument"
  )
})

test_that("messages say what was found and what would be accepted", {
  d <- survey()
  d$hole <- replace(d$x, c(4, 9), NA)
  d$inf <- replace(d$x, 5, Inf)
  d$huge <- d$x * 1e307
  d$list <- as.list(d$x)
  d$one <- 1
  d$twin <- 2 * d$x
  x <- cbind(a = 1:10, b = sin(1:10))
  y <- rep(0:1, 5)
  expect_snapshot(error = TRUE, {
    bsvm_design(y ~ hole, d)
    bsvm_design(y ~ hole + more, transform(d, more = hole))
    bsvm_design(y ~ inf, d)
    bsvm_design(y ~ huge, d)
    bsvm_design(y ~ list, d)
    bsvm_design(y ~ absent, d)
    bsvm_design(y ~ log(text), d)
    bsvm_design(y ~ x, d, weights = 1:3)
    bsvm_design(y ~ x, d, weights = -d$w)
    bsvm_design(y ~ x, d, weights = 0 * d$w)
    bsvm_design(y ~ x, d, offset = d$inf)
    bsvm_design(y ~ x, "d")
    bsvm_design(y ~ x, d[0, ])
    bsvm_design(y ~ x, d[1, ])
    design_from_matrix(matrix(letters[1:10], 10), y)
    design_from_matrix(x[, 0], y)
    design_from_matrix(cbind(x, a = 1), y)
    design_from_matrix(x, y[-1])
  })
  expect_snapshot({
    design <- bsvm_design(y ~ x + one + twin + (1 | g), d)
  })
})

test_that("C() takes contrasts that are functions", {
  d <- data.frame(f = gl(3, 20), y = rep(c(0, 1, 1, 0, 0), 12))
  fit <- bkm(y ~ C(f, contr.helmert), d, threads = 1L)
  named <- bkm(y ~ C(f, "contr.helmert"), d, threads = 1L)
  expect_equal(unname(coef(fit)), unname(coef(named)))
  expect_equal(
    predict(fit, d[c(1, 41), ], type = "link"), predict(named, d[c(1, 41), ], type = "link")
  )
  expect_error(bkm(y ~ mean, d), class = "bayeskernel_error_argument")
})

test_that("drop1() and step() say what to use", {
  d <- data.frame(x = 1:20, y = rep(c(0, 1, 1, 0), 5))
  fit <- bkm(y ~ x, d, threads = 1L)
  for (f in list(stats::drop1, stats::step, stats::extractAIC)) {
    expect_error(f(fit), "compare_terms", class = "bayeskernel_error_argument")
  }
})

test_that("a formula may be a sum of a thousand terms", {
  set.seed(1)
  names <- paste0("v", 1:1000)
  data <- data.frame(y = stats::rnorm(20), g = rep(1:4, 5), z = 1:20 / 20)
  data[names] <- stats::rnorm(20 * 1000)
  formula <- stats::reformulate(c(names, "gp(z)", "(1 | g)"), "y")
  parsed <- parse_formula(formula, data)
  expect_identical(attr(parsed$terms, "term.labels"), names)
  expect_length(parsed$bars, 1L)
  expect_length(parsed$smooths, 1L)
  expect_identical(dim(build_frame(parsed, data, NULL, NULL, NULL)$frame), c(20L, 1003L))
})

test_that("what is subtracted stays so whatever stands beside it", {
  data <- data.frame(y = stats::rnorm(12), a = 1:12, b = cos(1:12), g = rep(1:3, 4))
  fixed <- function(formula) {
    terms <- parse_formula(formula, data)$terms
    c(attr(terms, "intercept"), attr(terms, "term.labels"))
  }
  expect_identical(fixed(y ~ (1 | g) - 1 + a), c("0", "a"))
  expect_identical(fixed(y ~ s(a, k = 4) - 1 + b), c("0", "b"))
  expect_identical(fixed(y ~ 0 + a + (1 | g)), c("0", "a"))
  expect_identical(fixed(y ~ (a + (1 | g)) + I(b | a > 3)), c("1", "a", "I(b | a > 3)"))
  # `.` has no g where a bar names it.
  expect_no_warning(found <- fixed(y ~ . - g + (1 | g)))
  expect_identical(found, c("1", "a", "b"))
})

test_that("names that are not of R's syntax go everywhere", {
  set.seed(1)
  d <- data.frame(x = rnorm(120), f = gl(3, 40), g = gl(12, 10))
  d$l <- d$x > rnorm(120)
  d$y <- d$x + rlogis(120) > 0
  odd <- stats::setNames(d, c("my x", "my f", "my g", "a-b", "my y"))
  plain <- bkm(y ~ f * l + (f | g) + gp(x, by = f), d, threads = 1L)
  fit <- bkm(
    `my y` ~ `my f` * `a-b` + (`my f` | `my g`) + gp(`my x`, by = `my f`), odd, threads = 1L
  )
  expect_equal(unname(coef(fit)), unname(coef(plain)))
  expect_equal(predict(fit, odd[1:5, -5], type = "prob"), predict(plain, d[1:5, -5], type = "prob"))
  new <- transform(d[1:2, ], g = "new")
  expect_equal(
    predict(fit, stats::setNames(new, names(odd)), type = "prob"),
    predict(plain, new, type = "prob")
  )
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  for (type in c("coef", "ranef", "smooth", "partial")) expect_no_error(plot(fit, type))
  small <- bkm(`my y` ~ `my x` + (1 | `my g`), odd, threads = 1L)
  expect_equal(extend(small, odd[1:9, ])$n, 129L)
  curve <- bkm(`my y` ~ s(`my x`, by = `my f`), odd, threads = 1L)
  expect_length(predict(curve, odd[1:5, ]), 5L)
  source <- row_source(as.matrix(odd["my x"]), odd$`my y`)
  expect_s3_class(bkm(source, ~ gp(`my x`), threads = 1L), "bkm")
})

test_that("a level and a variable of one name are two columns", {
  set.seed(1)
  d <- data.frame(V1 = gl(2, 1, 60, labels = 0:1), V11 = rnorm(60), y = rep(0:1, 30) + rnorm(60))
  plain <- bkm(y ~ a + V11, setNames(d, c("a", "V11", "y")), threads = 1L)
  fit <- bkm(y ~ V1 + V11, d, threads = 1L)
  expect_named(coef(fit), c("(Intercept)", "V11.1", "V11"))
  expect_equal(unname(coef(fit)), unname(coef(plain)))
  expect_output(print(fit), "V11.1")
  expect_equal(predict(fit, d[3, ]), predict(fit)[3], ignore_attr = TRUE)
})

test_that("an ordered factor of too many levels is an error with advice", {
  rows <- data.frame(g = factor(1:130, ordered = TRUE), y = sin(1:130))
  expect_bk_error(bkm(y ~ g, rows), "argument", "factor\\(g, ordered = FALSE\\)")
})

test_that("a missing response is told from missing predictors", {
  rows <- data.frame(x = c(NA, sin(2:30)), y = c(1, NA, cos(3:30)))
  for (missing in c("fail", "model")) {
    expect_bk_error(bkm(y ~ x, rows, missing = missing), "missing", "rows\\s+stay in which")
  }
  expect_identical(nobs(bkm(y ~ x, rows, missing = "model", na.action = na.omit, threads = 1)), 29L)
})

test_that("`.` stands for a column that is a matrix, too", {
  set.seed(5)
  d <- data.frame(y = rnorm(30), a = rnorm(30))
  d$m <- matrix(rnorm(60), 30, dimnames = list(NULL, c("u", "v")))
  fit <- function(formula) coef(bkm(formula, d, penalty = "none", threads = 1))
  expect_equal(fit(y ~ .), fit(y ~ a + m))
  expect_named(fit(log(y + 9) ~ . - m), c("(Intercept)", "a"))
})
