# The same data with and without holes.
clinic <- function(n = 40) {
  set.seed(8)
  full <- data.frame(
    y = rep(0:1, n / 2), x = rnorm(n, 5), z = runif(n), w = rnorm(n, 0, 3), dose = rexp(n),
    f = gl(3, 1, n, labels = c("a", "b", "c")), g = rep(1:5, n / 5), o = runif(n)
  )
  holed <- full
  holed$x[c(1, 5, 30)] <- NA
  holed$z[c(2, 5)] <- NA
  holed$dose[c(5, 7)] <- NA
  list(full = full, holed = holed)
}

model_scale_values <- function(design, full) {
  holes <- design$holes
  values <- vapply(holes$predictors, function(name) {
    as.double(eval(str2lang(name), full))
  }, numeric(nrow(full)))
  sweep(sweep(values, 2, holes$center), 2, holes$scale_x, "/")
}

put_uses <- function(x, row, column, predictor, base, slope, values) {
  known <- values[cbind(row, predictor) + 1L]
  x[cbind(row, column) + 1L] <- base + slope * known
  x
}

standardised <- function(x, center, scale) sweep(sweep(unname(x), 2, center), 2, scale, "/")

hole_formulas <- list(
  y ~ x, y ~ x * f + w, y ~ x * w + dose, y ~ log(dose + 1) + x + (x | g),
  y ~ x + z:f + (0 + z:w | g), y ~ 0 + x + f, y ~ x * f + z + (1 + dose | g), y ~ w + (x | g),
  y ~ x + z + (x || g) + (1 | f), y ~ x + s(o, k = 5), y ~ x:f + I(z^2), y ~ w + o
)

test_that("the true value in base + slope * x gives the column of full data", {
  d <- clinic()
  for (formula in hole_formulas) {
    design <- bsvm_design(formula, d$holed, missing = "model")
    truth <- bsvm_design(formula, d$full)
    holes <- design$holes
    values <- model_scale_values(design, d$full)
    expect_identical(unname(is.na(holes$x)), unname(is.na(model_scale_values(design, d$holed))))
    expect_equal(holes$x[!is.na(holes$x)], values[!is.na(holes$x)], tolerance = 1e-12)
    expect_true(all(is.finite(design$x)))
    x <- put_uses(
      standardised(design$x, design$center, design$scale), holes$use_row, holes$use_column,
      holes$use_predictor, holes$use_base, holes$use_slope, values
    )
    expect_equal(x, standardised(truth$x, design$center, design$scale), tolerance = 1e-12)
    expect_length(holes$random_uses, length(design$random))
    for (t in seq_along(design$random)) {
      term <- design$random[[t]]
      uses <- holes$random_uses[[t]]
      z <- put_uses(
        standardised(term$z, term$center, term$scale), uses$row, uses$column,
        uses$predictor, uses$base, uses$slope, values
      )
      expect_equal(z, standardised(truth$random[[t]]$z, term$center, term$scale), tolerance = 1e-12)
    }
  }
})

test_that("centre and scale are those of the values that are there", {
  d <- clinic()$holed
  design <- bsvm_design(y ~ x * f + z + (x | g), d, missing = "model")
  seen <- !is.na(d$x)
  expect_equal(design$center[2], mean(d$x[seen]))
  expect_equal(design$scale[2], sd(d$x[seen]))
  expect_equal(design$center[6], mean(ifelse(d$f == "b", d$x, 0), na.rm = TRUE))
  expect_equal(design$random[[1]]$center, c(0, mean(d$x[seen])))
  expect_equal(design$random[[1]]$scale, c(1, sd(d$x[seen])))
  holes <- design$holes
  expect_identical(holes$predictors, c("x", "z"))
  expect_equal(holes$center, design$center[c(2, 5)])
  expect_equal(holes$scale_x, design$scale[c(2, 5)])
  expect_equal(holes$mean, c(0, 0))
  expect_equal(holes$var, c(1, 1))
  plain <- bsvm_design(y ~ x, d, missing = "model", standardize = FALSE)$holes
  expect_identical(c(plain$center, plain$scale_x), c(0, 1))
  expect_equal(plain$mean, mean(d$x[seen]))
  expect_equal(plain$var, var(d$x[seen]))
  expect_equal(plain$x[seen], d$x[seen])
})

test_that("predictors are the numeric terms, slopes and what has holes", {
  d <- clinic()$holed
  predictors <- function(formula, data = d, ...) {
    bsvm_design(formula, data, missing = "model", ...)$holes$predictors
  }
  expect_identical(predictors(y ~ f + w + log(dose + 1)), c("w", "log(dose + 1)"))
  expect_identical(predictors(y ~ w + (o | g)), c("w", "o"))
  expect_identical(predictors(y ~ w + (w | g)), "w")
  expect_identical(predictors(y ~ w + f:o), "w")
  expect_identical(predictors(y ~ w + f:x), c("w", "x"))
  expect_identical(predictors(y ~ w + s(o, k = 5)), "w")
  expect_identical(predictors(y ~ w + poly(o, 2)), "w")
  expect_null(predictors(y ~ f + (1 | g)))
  expect_null(bsvm_design(y ~ w, d)$holes)
  # Without holes there are predictors all the same, for new rows.
  complete <- bsvm_design(y ~ w + o, d, missing = "model")$holes
  expect_identical(complete$predictors, c("w", "o"))
  expect_length(complete$use_row, 0)
  expect_false(anyNA(complete$x))
})

test_that("a matrix, a data frame and a formula have the same holes", {
  d <- clinic()$holed
  x <- as.matrix(d[c("x", "z", "w")])
  same <- c("x", "center", "scale", "holes")
  expected <- bsvm_design(y ~ x + z + w, d, missing = "model")[same]
  expect_equal(design_from_matrix(x, d$y, missing = "model")[same], expected)
  expect_equal(design_from_matrix(d[c("x", "z", "w")], d$y, missing = "model")[same], expected)
  mixed <- design_from_matrix(d[c("x", "f")], d$y, missing = "model")
  expect_equal(mixed[same], bsvm_design(y ~ x + f, d, missing = "model")[same])
})

test_that("new rows have the holes of the training rows", {
  d <- clinic()$holed
  for (formula in hole_formulas) {
    design <- bsvm_design(formula, d, missing = "model")
    new <- design_new(design$info, d[-1])
    expect_identical(new$complete, rep(TRUE, nrow(d)))
    expect_equal(new$x, design$x, tolerance = 1e-10)
    kept <- names(new$holes)
    expect_equal(new$holes, design$holes[kept], tolerance = 1e-12)
    few <- design_new(design$info, d[c(5, 8, 1), ])
    expect_equal(few$holes$x, design$holes$x[c(5, 8, 1), , drop = FALSE])
    expect_true(all(few$holes$use_row %in% c(0L, 2L)))
  }
  x <- as.matrix(d[c("x", "z", "w")])
  design <- design_from_matrix(x, d$y, missing = "model")
  new <- design_new(design$info, x)
  expect_identical(new$complete, rep(TRUE, nrow(d)))
  expect_equal(new$x, design$x)
  expect_equal(new$holes, design$holes[names(new$holes)])
  expect_identical(design_new(design$info, x[0, ])$holes$use_row, integer())
})

test_that("any predictor may be missing in new rows, nothing else", {
  d <- clinic()$full
  info <- bsvm_design(
    y ~ x * f + x:w + w + o:f + log(dose + 1) + dose + offset(z) + (w | g), d, missing = "model"
  )$info
  new <- d[rep(2, 10), ]
  new$x[1] <- NA
  new$w[2:3] <- NA
  new$x[3] <- NA
  new$f[4] <- NA
  new$o[5] <- NA
  new$dose[6] <- NA
  new$z[7] <- NA
  new$g[8] <- NA
  new$x[8:9] <- NA
  out <- design_new(info, new)
  # 3: x and w are multiplied; 6: dose is in two predictors.
  expect_identical(out$complete, !(1:10 %in% c(3:8)))
  expect_identical(unique(out$holes$use_row), c(0L, 1L, 8L))
  expect_identical(out$holes$random_uses[[1]]$row, 1L)
  expect_identical(design_new(bsvm_design(y ~ x, d)$info, new)$complete, !is.na(new$x))
})

test_that("rows of zero weight tell nothing of predictors, either", {
  d <- clinic()$holed
  d$weight <- rep(1, 40)
  d$weight[c(1, 9)] <- 0
  design <- bsvm_design(y ~ x, d, weights = "weight", missing = "model")
  expect_identical(design$n, 38L)
  expect_identical(design$zero, c(1L, 9L))
  expect_equal(design$center[2], mean(d$x[-c(1, 9)], na.rm = TRUE))
  expect_identical(bsvm_design(y ~ f, d, weights = "weight", missing = "model")$n, 38L)
  d$weight <- as.double(d$y)
  expect_bk_error(bsvm_design(y ~ x, d, weights = "weight", missing = "model"), "response")
})

test_that("holes that the model cannot describe are refused with the reason", {
  d <- clinic()$holed
  d$f2 <- replace(d$f, 4, NA)
  d$logical <- replace(d$x > 5, 4, NA)
  d$text <- replace(as.character(d$f), 4, NA)
  d$g2 <- replace(d$g, 4, NA)
  d$y2 <- replace(d$y, 4, NA)
  d$o2 <- replace(d$o, 4, NA)
  refuse <- function(formula, column, reason, ...) {
    error <- expect_bk_error(bsvm_design(formula, d, missing = "model", ...), "missing")
    expect_identical(error$column, column)
    expect_match(conditionMessage(error), column, fixed = TRUE)
    expect_match(conditionMessage(error), reason, fixed = TRUE)
    expect_lt(nchar(strsplit(conditionMessage(error), "\n")[[1]][1]), 80)
  }
  refuse(y ~ x * z, "z", "`x:z`")
  refuse(y ~ x + w + (x:z | g), "z", "`x:z`")
  refuse(y ~ x + I(x^2), "x", "`I(x^2)`")
  refuse(y ~ log(x) + x, "log(x)", "`x`")
  refuse(y ~ poly(x, 2), "poly(x, 2)", "`x`")
  refuse(y ~ splines::ns(x, 3), "splines::ns(x, 3)", "3 columns")
  # What may miss values instead.
  refuse(y ~ x + I(x^2), "x", "`gp(x)`")
  refuse(y ~ poly(x, 2), "poly(x, 2)", "`gp(x)`")
  refuse(y ~ poly(x, 2, raw = TRUE), "poly(x, 2, raw = TRUE)", "`gp(x)`")
  refuse(y ~ s(x, o), "x", "`gp(x, o)`")
  refuse(y ~ s(x), "x", "s(x)")
  refuse(y ~ x + s(o, by = x), "x", "s(o, by = x)")
  refuse(y ~ f2 + gp(o, by = f2), "f2", "`by`")
  refuse(y ~ text + s(o, by = f2), "f2", "s(o, by = f2)")
  refuse(y ~ x + I(x > 5), "x", "`I(x > 5)`")
  for (formula in c(y ~ w + f2, y ~ w + logical, y ~ text, y ~ I(x > 5))) {
    expect_length(bsvm_design(formula, d, missing = "model")$holes$levels, 1L)
  }
  refuse(y ~ w + (1 | g2), "g2", "grouping factor")
  refuse(y ~ w + (1 | x), "x", "grouping factor")
  refuse(y2 ~ x, "y2", "missing")
  refuse(y ~ x + offset(o2), "offset(o2)", "missing")
  refuse(y ~ x, "weights", "missing", weights = quote(o2))
  refuse(y ~ x, "offset", "missing", offset = quote(o2))
})

test_that("predictors without two values are refused", {
  d <- clinic()$holed
  d$nowhere <- NA
  d$nan <- NaN
  d$once <- replace(d$nan, 3, 1)
  d$same <- replace(rep(2, 40), 3, NA)
  d$inf <- replace(d$x, 3, Inf)
  refuse <- function(formula, column, kind) {
    error <- expect_bk_error(bsvm_design(formula, d, missing = "model"), kind)
    expect_identical(error$column, column)
    x <- as.matrix(d[c("w", column)])
    error <- expect_bk_error(design_from_matrix(x, d$y, missing = "model"), kind)
    expect_identical(error$column, column)
  }
  refuse(y ~ w + nowhere, "nowhere", "missing")
  refuse(y ~ w + nan, "nan", "missing")
  refuse(y ~ w + once, "once", "argument")
  refuse(y ~ w + same, "same", "argument")
  refuse(y ~ w + inf, "inf", "missing")
})

test_that("na.action omits what is not modelled, when it is told to", {
  d <- clinic()$holed
  d$o[4] <- NA
  d$f[7] <- NA
  d$y[9] <- NA
  design <- bsvm_design(y ~ x + f + z + offset(o), d, missing = "model", na.action = na.omit)
  expect_identical(design$n, 38L)
  expect_identical(design$rows, (1:40)[-c(4, 9)])
  expect_identical(sum(is.na(design$holes$x)), 5L)
  expect_identical(design$holes$use_row, c(0L, 1L, 3L, 3L, 27L))
  expect_bk_error(bsvm_design(y ~ x * z, d, missing = "model", na.action = na.omit), "missing")
})

test_that("omitted rows are counted in a message", {
  d <- clinic()$holed
  d$g[9] <- NA
  message <- expect_message(
    design <- bsvm_design(y ~ x + z + (1 | g), d, missing = "omit"),
    class = "bayeskernel_message_dropped_rows"
  )
  expect_identical(message$n, 5L)
  expect_identical(design$n_omitted, 5L)
  expect_identical(design$rows, (1:40)[-c(1, 2, 5, 9, 30)])
  expect_s3_class(design$na.action, "omit")
  expect_silent(none <- bsvm_design(y ~ w, d, missing = "omit"))
  expect_identical(none$n_omitted, 0L)
  expect_message(
    design <- design_from_matrix(d[c("x", "w")], d$y, missing = "omit"),
    class = "bayeskernel_message_dropped_rows"
  )
  expect_identical(design$n_omitted, 3L)
  d$y[3] <- NA
  # A row without a response or a weight is left out, too.
  design <- suppressMessages(bsvm_design(y ~ x, d, missing = "omit"))
  expect_identical(design$rows, which(!is.na(d$x) & !is.na(d$y)))
  expect_message(
    design <- bsvm_design(y ~ w, d, weights = abs(d$x), missing = "omit"),
    class = "bayeskernel_message_dropped_rows"
  )
  expect_identical(design$rows, which(!is.na(d$x) & !is.na(d$y)))
  expect_bk_error(bsvm_design(y ~ w, d, missing = "drop"), "argument")
})

test_that("messages about holes say what, why and what to do", {
  d <- clinic()$holed
  d$text <- replace(as.character(d$f), 4, NA)
  d$nowhere <- NA
  d$same <- replace(rep(2, 40), 3, NA)
  d$lost <- factor(d$nowhere, "a")
  d$one <- replace(rep("a", 40), 3, NA)
  expect_snapshot(error = TRUE, {
    bsvm_design(y ~ x * z, d, missing = "model")
    bsvm_design(y ~ x + log(x), d, missing = "model")
    bsvm_design(y ~ poly(x, 2), d, missing = "model")
    bsvm_design(y ~ s(x), d, missing = "model")
    bsvm_design(y ~ gp(w, by = text), d, missing = "model")
    bsvm_design(y ~ lost, d, missing = "model")
    bsvm_design(y ~ one, d, missing = "model")
    bsvm_design(y ~ nowhere, d, missing = "model")
    bsvm_design(y ~ same, d, missing = "model")
    bsvm_design(y ~ x, d, missing = "sometimes")
  })
  expect_snapshot({
    design <- bsvm_design(y ~ x + z, d, missing = "omit")
  })
})

test_that("selection beside modelled values, for every family", {
  set.seed(4)
  d <- data.frame(a = rnorm(90), b = rnorm(90), c = rnorm(90))
  d$f <- 2 * d$a - d$b
  d$b[c(3, 20, 41)] <- NA
  for (family in c("logit", "probit", "hinge")) {
    d$y <- factor(d$f + rlogis(90) > 0)
    fit <- suppressWarnings(bkm(
      y ~ a + b + c, d, family, select = TRUE, missing = "model", seed = 1, threads = 1
    ))
    expect_gt(inclusion(fit)[["a"]], 0.9)
    p <- predict(fit, type = "prob")
    expect_equal(dim(p), c(90L, 2L))
    expect_true(all(p > 0 & p < 1))
  }
})
