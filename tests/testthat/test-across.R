# Terms that look at other rows, and columns with units: lm() has other answers for new rows than
# for the same rows of the fit, and says nothing.

across_data <- function() {
  i <- 1:40
  x <- 3 + sin(2.3 * i)
  g <- factor(c("a", "b", "c")[1 + i %% 3])
  data.frame(
    x, g, day = as.Date("2024-01-01") + i %% 17,
    lasted = as.difftime(1 + i %% 13 + cos(i), units = "hours"),
    y = x + 0.3 * as.integer(g) + 0.1 * cos(5 * i),
    class = factor(ifelse(x + cos(i) > 3, "yes", "no"))
  )
}

across_fits <- list(
  function(formula, data) bkm(formula, data, seed = 1, threads = 1),
  function(formula, data) bsvm(formula, data, seed = 1, threads = 1),
  function(formula, data) gpsvm(formula, data, kernel = rbf(1), seed = 1, threads = 1),
  function(formula, data) mkprobit(formula, data, tune = FALSE, seed = 1, threads = 1),
  function(formula, data) seqkr(formula, data, particles = 20, seed = 1, threads = 1)
)

prob_of <- function(fit, ...) {
  drop(as.matrix(predict(fit, ..., type = if (is.null(fit$levels)) "response" else "prob")))
}

test_that("a mean or a quantile within a term is that of the rows of the fit", {
  d <- across_data()
  for (right in c(
    "I(x - mean(x))", "I((x - mean(x)) / sd(x)) + g", "I(x > median(x))", "I(x / max(x))",
    "cut(x, quantile(x, 0:3 / 3), include.lowest = TRUE)", "I(x - mean(x)) + (1 | g)"
  )) {
    fit <- bkm(as.formula(paste("y ~", right)), d, seed = 1, threads = 1)
    expect_equal(predict(fit, d[7:9, ]), fitted(fit)[7:9], ignore_attr = TRUE, label = right)
    expect_equal(predict(fit, d[7, ]), fitted(fit)[7], ignore_attr = TRUE, label = right)
  }
  for (k in seq_along(across_fits)) {
    fit <- across_fits[[k]](if (k == 5) y ~ I(x - mean(x)) else class ~ I(x - mean(x)), d)
    some <- prob_of(fit, d[7:9, ])
    expect_equal(some, utils::head(as.matrix(prob_of(fit, d))[7:9, ], 3), ignore_attr = TRUE)
  }
})

test_that("an effect of a term with a mean is no line at 0", {
  d <- across_data()
  centred <- bkm(y ~ I(x - mean(x)), d, seed = 1, threads = 1)
  plain <- bkm(y ~ x, d, seed = 1, threads = 1)
  at <- data.frame(x = c(2.5, 3.5))
  expect_equal(predict(centred, at), predict(plain, at), tolerance = 1e-4)
})

test_that("a fit in the middle of rows, or of a subset, has the mean of all rows as lm() does", {
  d <- across_data()
  fit <- bkm(y ~ I(x - mean(x)), d, subset = 1:20, seed = 1, threads = 1)
  expect_equal(predict(fit, d[3, ]), fitted(fit)[3], ignore_attr = TRUE)
  expect_equal(
    unname(unlist(attr(fit$design$frame_terms, "predvars")[[2]][[2]][[3]])), mean(d$x)
  )
})

test_that("terms that new rows cannot have alone are warned of", {
  d <- across_data()
  for (right in c("rank(x)", "cumsum(x)", "rev(x)", "as.numeric(factor(round(x)))", "ave(x, g)")) {
    fit <- bkm(as.formula(paste("y ~", right)), d, seed = 1, threads = 1)
    expect_warning(predict(fit, d[5:9, ]), class = "bayeskernel_warning_effects", label = right)
  }
  for (right in c(
    "poly(x, 2)", "scale(x)", "stats::poly(x, 2, raw = TRUE)", "log(x) + factor(g)",
    "interaction(g, x > 3)", "ifelse(x > 3, 1, 0)", "as.numeric(day)", "as.numeric(g)", "x * g"
  )) {
    fit <- bkm(as.formula(paste("y ~", right)), d, seed = 1, threads = 1)
    expect_no_warning(predict(fit, d[5:9, ]))
  }
})

test_that("codes of a factor are those of the fit", {
  d <- across_data()
  fit <- bkm(y ~ as.numeric(g), d, seed = 1, threads = 1)
  new <- droplevels(d[d$g == "c", ])
  expect_equal(predict(fit, new), fitted(fit)[d$g == "c"], ignore_attr = TRUE)
  new$g <- as.character(new$g)
  expect_equal(predict(fit, new), fitted(fit)[d$g == "c"], ignore_attr = TRUE)
})

test_that("time differences are brought to the unit of the fit", {
  d <- across_data()
  minutes <- d
  units(minutes$lasted) <- "mins"
  for (k in seq_along(across_fits)) {
    fit <- across_fits[[k]](if (k == 5) y ~ lasted + x else class ~ lasted + x, d)
    expect_equal(prob_of(fit, minutes[1:5, ]), prob_of(fit, d[1:5, ]))
  }
  fit <- bkm(y ~ log(as.numeric(lasted)), d, seed = 1, threads = 1)
  expect_equal(predict(fit, minutes[1:5, ]), predict(fit, d[1:5, ]))
  more <- extend(bkm(y ~ lasted, d, seed = 1, threads = 1), minutes, threads = 1)
  expect_equal(coef(more), coef(extend(bkm(y ~ lasted, d, seed = 1, threads = 1), d, threads = 1)))
})

test_that("dates, times and numbers are not taken for one another", {
  d <- across_data()
  fit <- bkm(y ~ day + x, d, seed = 1, threads = 1)
  expect_equal(
    predict(fit, transform(d[1:3, ], day = as.numeric(day))), predict(fit, d[1:3, ])
  )
  expect_error(
    predict(fit, transform(d, day = as.POSIXct(day))), "another unit",
    class = "bayeskernel_error_argument"
  )
  fit <- bkm(y ~ as.numeric(day) + x, d, seed = 1, threads = 1)
  expect_error(
    predict(fit, transform(d, day = as.POSIXct(day))), class = "bayeskernel_error_argument"
  )
  expect_error(
    predict(fit, transform(d, x = day)), "Accepted: numbers", class = "bayeskernel_error_argument"
  )
})

test_that("a mean of the response is that of the rows of the fit, too", {
  d <- across_data()
  plain <- extend(bkm(y ~ x, d[1:20, ], seed = 1, threads = 1), d[21:40, ], threads = 1)
  centred <- bkm(I(y - mean(y)) ~ x, d[1:20, ], seed = 1, threads = 1)
  for (i in list(21:22, 23:40)) centred <- extend(centred, d[i, ], threads = 1)
  expect_equal(
    predict(centred, d[1:3, ]) + mean(d$y[1:20]), predict(plain, d[1:3, ]), tolerance = 2e-3
  )
  for (k in 1:4) {
    above <- across_fits[[k]](I(y > mean(y)) ~ x, d)
    top <- d[d$y > mean(d$y), ]
    found <- summary(above, newdata = top)
    truth <- summary(above, newdata = top, y = rep(TRUE, nrow(top)))
    expect_equal(found$measures, truth$measures)
    expect_false(is.null(found$measures))
  }
})
