# Bad input of every kind for bark(): a classed error that says what was found and what would do;
# nothing crashes, nothing is silently NaN.

d <- bark_data()
x <- bark_matrix(d)

test_that("responses that do not suit the family name the one that does", {
  for (y in list(d$two, d$two == "hi", as.character(d$two))) {
    expect_bark_refusal(quick_bark(x, y, family = "gaussian"), "response", "binomial")
  }
  expect_bark_refusal(quick_bark(three ~ a, d, family = "gaussian"), "response", "ordinal")
  expect_bark_refusal(quick_bark(g ~ a, d), "response", "without an order")
  expect_bark_refusal(quick_bark(three ~ a, d, family = "binomial"), "response", "ordinal")
  expect_bark_refusal(quick_bark(g ~ a, d, family = "binomial"), "response", "without an order")
  for (y in list(d$g, d$two, d$y)) {
    expect_bark_refusal(quick_bark(x, y, family = "ordinal"), "response", "ordered = TRUE")
  }
  expect_bark_refusal(quick_bark(x, d$y, family = "binomial"), "response", "name no classes")
  expect_bark_refusal(quick_bark(x, cbind(d$y, 1)), "response", "numeric")
  expect_bark_refusal(quick_bark(x, rep(TRUE, 60), family = "binomial"), "response", "one class")
  one <- factor(rep("a", 60), ordered = TRUE)
  expect_bark_refusal(quick_bark(x, one, family = "ordinal"), "response", "one class")
  expect_bark_refusal(quick_bark(x), "response", "missing")
  expect_bark_refusal(quick_bark(x, d$y[-1]), "dimension", "59 values")
  expect_bark_refusal(quick_bark(x, d$y, family = "poisson"), "argument", "ordinal")
})

test_that("missing and infinite values are named, or left out if asked", {
  for (value in c(NA, NaN, Inf)) {
    holed <- d
    holed$b[7] <- value
    expect_bark_refusal(quick_bark(y ~ a + b, holed), "missing", "`b`.*row 7")
    expect_bark_refusal(quick_bark(bark_matrix(holed), d$y), "missing", "`b`.*row 7")
    y <- replace(d$y, 9, value)
    expect_bark_refusal(quick_bark(x, y), "missing", "row 9")
  }
  holed <- d
  holed$b[7] <- NA
  omitted <- quick_bark(y ~ a + b, holed, na.action = na.omit)
  expect_equal(nobs(omitted), 59L)
  expect_equal(omitted$draws, quick_bark(y ~ a + b, d[-7, ])$draws)
  expect_false(7 %in% omitted$reference)
  excluded <- quick_bark(bark_matrix(holed), d$y, na.action = na.exclude)
  expect_equal(which(is.na(fitted(excluded))), 7L, ignore_attr = TRUE)
  expect_equal(unname(fitted(excluded)[-7]), fitted(omitted))
  expect_length(residuals(excluded), 60L)
})

test_that("rows: none, one, duplicates, fewer than predictors", {
  expect_bark_refusal(quick_bark(y ~ a, d[0, ]), "dimension", "no rows")
  expect_bark_refusal(quick_bark(y ~ a, d[1, ]), "dimension", "one row")
  expect_bark_refusal(quick_bark(x[1, , drop = FALSE], 1), "dimension", "one row")
  expect_bark_refusal(quick_bark(y ~ a, d, subset = a > 9), "dimension", "subset")
  twice <- quick_bark(y ~ a + b, d[rep(1:20, 3), ], select = TRUE)
  expect_true(all(is.finite(as.matrix(twice))))
  set.seed(1)
  wide <- matrix(rnorm(10 * 25), 10)
  for (scales in c("equal", "different")) {
    fit <- quick_bark(wide, rnorm(10), scales = scales, select = TRUE)
    expect_length(inclusion(fit), 25L)
    expect_true(all(is.finite(fitted(fit))))
  }
  two <- quick_bark(y ~ a, d[1:2, ])
  expect_true(all(is.finite(fitted(two))))
  expect_equal(two$max_kernels, 1L)
})

test_that("predictors: none, one, constant, of no use", {
  expect_bark_refusal(quick_bark(y ~ 1, d), "dimension", "no columns")
  expect_bark_refusal(quick_bark(x[, 0], d$y), "dimension", "no columns")
  one <- quick_bark(x[, 1, drop = FALSE], d$y, select = TRUE)
  expect_named(inclusion(one), "a")
  constant <- transform(d, c = 4)
  expect_bk_warning(fit <- quick_bark(y ~ a + c, constant), "dropped_column", "`c`")
  expect_equal(fit$dropped, "c")
  expect_equal(fit$columns, "a")
  expect_bk_warning(
    again <- quick_bark(as.matrix(constant[c("a", "c")]), d$y), "dropped_column", "`c`"
  )
  expect_equal(again$draws, fit$draws)
  expect_bk_warning(bare <- quick_bark(y ~ 0 + a + c, constant), "dropped_column", "`c`")
  expect_equal(bare$draws, fit$draws)
  expect_equal(predict(bare, constant), predict(fit, constant))
  expect_bark_refusal(suppressWarnings(quick_bark(y ~ c, constant)), "dimension", "no columns")
  expect_bark_refusal(quick_bark(y ~ a + (b | g), d), "argument", "random slopes")
  expect_bark_refusal(quick_bark(y ~ s(a), d), "argument", "smooth")
  expect_bark_refusal(quick_bark("rows", d$y), "argument", "`x`")
  expect_bark_refusal(quick_bark(y ~ zz, d), "argument", "zz")
})

test_that("a response without noise is followed closely", {
  for (response in list(d$a, sin(2 * d$a), 1e6 * d$b)) {
    fit <- quick_bark(x, response, warmup = 3000)
    expect_true(all(is.finite(fit$draws)))
    expect_gt(cor(predict(fit, x), response), 0.999)
    off <- predict(fit, x, interval = "prediction") - response
    expect_true(all(is.finite(off)))
  }
})

test_that("a constant response is kept as it is, with a warning", {
  expect_bk_warning(fit <- quick_bark(x, rep(7, 60)), "response", "constant")
  expect_equal(fit$transform$response, c(7, 1))
  expect_lt(max(abs(fitted(fit) - 7)), 0.5)
})

test_that("weights are of regressions or counts, positive, one a row", {
  expect_bark_refusal(quick_bark(x, d$y, kernel = 1), "argument", "kernel")
  d$w <- rep(1:2, 30)
  for (family in c("binomial", "ordinal")) {
    y <- d[[c(binomial = "two", ordinal = "three")[[family]]]]
    expect_bark_refusal(
      quick_bark(x, y, family = family, weights = d$w / 2), "argument", "Weights of classes"
    )
    # Weights of 1 are none.
    expect_identical(
      quick_bark(x, y, family = family, weights = rep(1, 60))$draws,
      quick_bark(x, y, family = family)$draws
    )
  }
  expect_bark_refusal(
    quick_bark(two ~ a, d, family = "binomial", weights = w / 2), "argument", "Weights of classes"
  )
  for (wrong in list(-1, Inf)) {
    expect_bark_refusal(quick_bark(x, d$y, weights = replace(d$w, 3, wrong)), "argument", "weights")
    d$wrong <- replace(d$w, 3, wrong)
    expect_bark_refusal(quick_bark(y ~ a, d, weights = wrong), "argument", "weights")
  }
  expect_bark_refusal(quick_bark(x, d$y, weights = replace(d$w, 3, NA)), "missing", "weights")
  expect_bark_refusal(quick_bark(x, d$y, weights = d$w[-1]), "dimension", "59")
  # Rows of weight 0 are not there.
  zero <- replace(d$w, c(5, 9), 0)
  expect_identical(
    quick_bark(x, d$y, weights = zero)$draws,
    quick_bark(x[zero > 0, ], d$y[zero > 0], weights = zero[zero > 0])$draws
  )
})

test_that("settings outside their range are refused by name", {
  for (name in c("chains", "draws", "thin")) {
    for (wrong in list(0, -1, 1.5, NA, "many", 1:2)) {
      expect_bark_refusal(
        do.call(quick_bark, c(list(x, d$y), stats::setNames(list(wrong), name))), "argument", name
      )
    }
  }
  for (wrong in list("both", NA, 1)) {
    expect_bark_refusal(quick_bark(x, d$y, scales = wrong), "argument", "scales")
  }
  for (wrong in list("all", NA, ~a)) {
    expect_bark_refusal(quick_bark(x, d$y, select = wrong), "argument", "select")
  }
  for (wrong in list(3, list(), bsvm_prior())) {
    expect_bark_refusal(quick_bark(x, d$y, prior = wrong), "prior", "bark_prior")
  }
})

test_that("a structure needs selection and one scale", {
  chain <- markov(0.3, 0.2)
  expect_bark_refusal(quick_bark(x, d$y, structure = chain), "argument", "select = TRUE")
  expect_bark_refusal(
    quick_bark(x, d$y, structure = chain, select = TRUE, scales = "different"), "argument", "equal"
  )
  expect_bark_refusal(quick_bark(x, d$y, structure = "markov", select = TRUE), "prior", "markov")
  fit <- quick_bark(x, d$y, structure = chain, select = TRUE)
  expect_equal(fit$scales, "equal")
})

test_that("too few draws for R-hat give a fit without it", {
  fit <- quick_bark(y ~ a, d, ndraws = 1, chains = 1)
  expect_true(all(is.na(fit$diagnostics$table$rhat)))
  expect_output(print(summary(fit)), "sigma")
  expect_output(print(fit), "1 chain of 1 draws.*too few for R-hat")
  expect_false(glance(fit)$converged)
  expect_true(all(is.finite(fitted(fit))))
  expect_equal(dim(predict(fit, d, draws = TRUE)), c(1L, 60L))
})

test_that("new rows that do not fit are refused", {
  fit <- quick_bark(y ~ a + g, d)
  expect_bk_error(predict(fit, d["a"]), "argument", "g")
  expect_bk_error(predict(fit, transform(d, g = "new")), "argument", "new level")
  by_matrix <- quick_bark(unname(x), d$y)
  expect_bk_error(predict(by_matrix, x[, 1, drop = FALSE]), "dimension")
  expect_bk_error(predict(fit, d, type = "prob"), "argument", "response")
  classes <- quick_bark(two ~ a, d, family = "binomial")
  expect_equal(predict(classes, d, type = "response"), predict(classes, d, type = "prob")[, 2])
  for (type in c("prob", "link")) {
    expect_bk_error(
      predict(classes, d, type = type, interval = "prediction"), "argument", "numeric"
    )
  }
  expect_bk_error(plot(fit, "partial", newdata = d[0, ]), "dimension", "average")
  expect_bk_error(predict(fit, d, threshold = 0.4), "argument", "threshold")
  expect_bk_error(predict(fit, d, level = 1), "argument", "level")
})
