# What users pass on to functions that read several fits, or fit again.

set.seed(12)
d <- data.frame(x = rnorm(60), z = rnorm(60), g = gl(6, 10))
d$u <- d$x + rnorm(60)
d$y <- d$u > 0
logit <- bkm(y ~ x + z + (1 | g), d, threads = 1)
process <- gpsvm(y ~ x + z, d, inducing = 8, threads = 1, seed = 1, tune = FALSE)

# Its answer, or an error of the package.
is_refused_or_answered <- function(code) {
  tryCatch(
    {
      suppressWarnings(suppressMessages(utils::capture.output(code)))
      TRUE
    },
    bayeskernel_error = function(e) TRUE, error = function(e) conditionMessage(e)
  )
}

test_that("a fit that was changed raises no error of base R", {
  odd <- list("text", 7, list(), NA, function(x) x, NULL)
  quick <- list(
    terms = function(fit) compare_terms(fit, "z"),
    exposure = function(fit) exposure(fit, ndraws = 10, threads = 1),
    combine = function(fit) predict(combine_classifiers(list(fit, fit)), d[1:3, ], threads = 1),
    parts = function(fit) predict(fit, d[1:3, ], "terms", exclude = "z"),
    rows = function(fit) augment(fit), frame = function(fit) model.frame(fit),
    effects = function(fit) insight::get_predicted(fit)
  )
  for (fit in list(logit, process)) {
    for (name in setdiff(names(fit), "call")) {
      broken <- fit
      broken[name] <- odd[1 + nchar(name) %% length(odd)]
      for (what in names(quick)) {
        # Fits anew are slow: a few will do.
        if (what == "terms" && !(name %in% c("posterior", "data", "n", "y"))) next
        if (what == "effects" && !requireNamespace("insight", quietly = TRUE)) next
        expect_true(is_refused_or_answered(quick[[what]](broken)), info = paste(what, name))
      }
    }
  }
  broken <- logit
  broken$posterior$theta_mean <- "many"
  expect_bk_error(compare_terms(broken), "argument", "not whole")
  expect_bk_error(exposure(broken), "argument", "not whole")
  expect_bk_error(combine_classifiers(list(logit, broken)), "argument", "not whole")
  broken <- logit
  broken$data$rows <- broken$data$rows[1:7, ]
  expect_bk_error(augment(broken), "argument", "data")
})

test_that("rows in a source are refused where all are wanted at once", {
  source <- row_source(as.matrix(d[c("x", "z")]))
  fit <- bkm(u ~ x + z, d, threads = 1)
  expect_bk_error(exposure(fit, newdata = source), "argument", "row source")
  expect_bk_error(augment(fit, newdata = source), "argument", "row source")
  expect_bk_error(predict(fit, source, type = "terms"), "argument", "row source")
  expect_bk_error(plot(fit, "partial", newdata = source), "argument", "row source")
  expect_bk_error(exposure(fit, newdata = row_source()), "argument", "`x` is missing")
})

test_that("odd arguments of tables are refused", {
  expect_bk_error(compare_terms(logit, list("z")), "argument", "terms")
  expect_bk_error(compare_terms(logit, 2), "argument", "terms")
  expect_bk_error(augment(logit, newdata = new.env()), "argument", "newdata")
  expect_bk_error(predict(logit, new.env(), type = "terms"), "argument", "newdata")
  table <- exposure(logit, ndraws = 10, threads = 1)
  expect_bk_error(plot(table[0, ]), "dimension", "no rows")
  skip_if_not_installed("loo")
  expect_bk_error(print(loo::loo(logit), digits = "a"), "argument", "digits")
})

test_that("weights of processes and smooths are no odds ratios", {
  fit <- bkm(y ~ x + gp(z, inducing = 5) + s(as.integer(g), k = 4), d, threads = 1)
  plain <- parameters(fit, 0.95)
  ratios <- odds_ratios(fit, plain, "exp")
  own <- plain$effect == "fixed" & is.na(plain$group)
  expect_true(any(plain$effect == "fixed" & !is.na(plain$group)))
  expect_identical(ratios[!own, ], plain[!own, ])
  expect_equal(ratios$estimate[own], exp(plain$estimate[own]))
  expect_equal(ratios$upper[own], exp(plain$upper[own]))
  # Of these tidy() has no rows at all.
  plain <- tidy(fit)
  ratios <- tidy(fit, exponentiate = TRUE)
  expect_false(any(plain$effect == "fixed" & !is.na(plain$group)))
  expect_identical(ratios$effect, plain$effect)
})
