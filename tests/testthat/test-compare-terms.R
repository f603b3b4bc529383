# What each term of a formula is worth.

d <- family_data(120, 12)
d$none <- rev(d$z) + cos(seq_len(120))

test_that("a table of fits without each term", {
  fit <- bkm(y ~ x + s(z, k = 5) + (1 | g) + none, d, threads = 1)
  out <- compare_terms(fit)
  expect_s3_class(out, "bayeskernel_terms")
  expect_setequal(rownames(out), c("x", "s(z, k = 5)", "(1 | g)", "none"))
  expect_false(is.unsorted(-out$elpd_diff))
  expect_identical(rownames(out)[1], "x")
  expect_equal(attr(out, "elpd_loo"), sum(fit$loo))
  by_hand <- list(
    x = bkm(y ~ s(z, k = 5) + (1 | g) + none, d, threads = 1),
    "s(z, k = 5)" = bkm(y ~ x + (1 | g) + none, d, threads = 1),
    "(1 | g)" = bkm(y ~ x + s(z, k = 5) + none, d, threads = 1)
  )
  for (name in names(by_hand)) {
    own <- fit$loo - by_hand[[name]]$loo
    expect_equal(out[name, "elpd_diff"], sum(own), tolerance = 1e-6)
    expect_equal(out[name, "se_diff"], sqrt(120 * var(own)), tolerance = 1e-6)
    expect_equal(out[name, "elpd_loo"], anova(by_hand[[name]])$elpd_loo, tolerance = 1e-6)
  }
  expect_lt(out["none", "elpd_diff"], 2 * out["none", "se_diff"])
  some <- compare_terms(fit, c("none", "(1 | g)"))
  expect_equal(some, out[rownames(some), ], ignore_attr = TRUE)
})

test_that("formulas are those without one term", {
  left <- function(formula, data = d) {
    fit <- bkm(formula, data, threads = 1)
    vapply(formulas_without(fit), deparse1, "")
  }
  expect_identical(left(number ~ x * z + (1 | g)), c(
    "x:z" = "number ~ x + z + (1 | g)", "(1 | g)" = "number ~ x * z"
  ))
  # Nesting and double bars are several terms; intercepts and offsets stay.
  out <- left(number ~ x + offset(z) - 1 + (1 + z || g))
  expect_setequal(names(out), c("x", "(1 | g)", "(0 + z | g)"))
  expect_match(out[["x"]], "offset(z)", fixed = TRUE)
  expect_match(out[["x"]], "- 1 +", fixed = TRUE)
  out <- left(number ~ ., d[c("number", "x", "z")])
  expect_setequal(names(out), c("x", "z"))
  out <- left(number ~ I(x > 3 | z > 0) + (1 | g))
  expect_setequal(names(out), c("I(x > 3 | z > 0)", "(1 | g)"))
  # Text, whatever it means to the model.
  fit <- bkm(number ~ x + z, d, threads = 1)
  fit$formula <- number ~ x + gp(x, z) + gp(z, by = g) + (1 | g)
  fit$stamp <- NULL
  expect_setequal(names(formulas_without(fit)), c("x", "gp(x, z)", "gp(z, by = g)", "(1 | g)"))
  expect_identical(
    deparse1(formulas_without(fit)[["gp(x, z)"]]), "number ~ x + gp(z, by = g) + (1 | g)"
  )
})

test_that("other families, data and places", {
  # Without the random term the default of `penalty` would be another one.
  fit <- bkm(number ~ x + z + (1 | g), d, threads = 1)
  out <- compare_terms(fit, "(1 | g)")
  same <- bkm(number ~ x + z, d, penalty = "none", threads = 1)
  expect_equal(out$elpd_loo, sum(same$loo), tolerance = 1e-6)
  inside <- function() {
    rows <- d
    fit <- bkm(formula = number ~ x + z, data = rows, threads = 1)
    compare_terms(fit)
  }
  expect_equal(nrow(inside()), 2)
  counts <- data.frame(x = 1:8, yes = c(1, 2, 2, 4, 5, 5, 7, 8), all = 9)
  fit <- bkm(cbind(yes, all - yes) ~ x, counts, threads = 1)
  expect_gt(compare_terms(fit)$elpd_diff, 5)
})

test_that("samplers go by importance sampling", {
  skip_if_not_installed("loo")
  fit <- suppressWarnings(bkm(
    y ~ x + none, d, method = "gibbs", chains = 2, control = list(warmup = 100, progress = FALSE),
    ndraws = 300, seed = 1, threads = 1
  ))
  out <- suppressWarnings(compare_terms(fit))
  exact <- compare_terms(bkm(y ~ x + none, d, threads = 1))
  expect_equal(rownames(out), c("x", "none"))
  expect_equal(out$elpd_diff, exact$elpd_diff, tolerance = 0.15)
  expect_identical(suppressWarnings(compare_terms(fit)), out)
})

test_that("what cannot be compared is refused", {
  machine <- bsvm(y ~ x, d, threads = 1)
  expect_bk_error(compare_terms(machine), "argument", "support")
  x <- as.matrix(d[c("x", "z")])
  expect_bk_error(compare_terms(bkm(x, d$number, threads = 1)), "argument", "no formula")
  fit <- bkm(number ~ 1, d, threads = 1)
  expect_bk_error(compare_terms(fit), "argument", "no term")
  fit <- bkm(number ~ x + z, d, threads = 1)
  expect_bk_error(compare_terms(fit, "w"), "argument", "terms")
  expect_bk_error(compare_terms(fit, character()), "argument", "terms")
  holed <- d
  holed$z[1:5] <- NA
  fit <- suppressMessages(bkm(number ~ x + z, holed, missing = "omit", threads = 1))
  # Without z no more rows come in: they are those of the fit.
  expect_equal(
    suppressMessages(compare_terms(fit)),
    compare_terms(bkm(number ~ x + z, holed[-(1:5), ], threads = 1)), tolerance = 1e-6
  )
  expect_bk_error(compare_terms(fit, list("z")), "argument", "terms")
})

test_that("the table prints", {
  fit <- bkm(number ~ x + z, d, threads = 1)
  text <- capture.output(print(compare_terms(fit)))
  expect_match(text[1], "lost without each term")
  expect_true(any(grepl("Whole model:", text)))
  expect_true(all(nchar(text) < 80))
  # What stays is said, in anova(), too.
  expect_false(any(grepl("terms within others|random effects", text)))
  grouped <- bkm(number ~ x * z + (1 | g), d, threads = 1)
  text <- capture.output(print(compare_terms(grouped, "x:z")))
  expect_true(any(grepl("terms within others stay: x, z.", text, fixed = TRUE)))
  expect_true(any(grepl("random effects of their groups are known", text)))
  text <- capture.output(print(anova(fit, grouped)))
  expect_true(any(grepl("random effects of their groups are known", text)))
  expect_false(any(grepl("random effects", capture.output(print(anova(fit))))))
})
