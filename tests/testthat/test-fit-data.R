# What reads the data of a fit again reads those it was made from.

kept_columns <- function(one) {
  if (is.null(one$object$formula)) c("x1", "x2") else names(one$object$data$rows)
}

test_that("a fit keeps the variables of its formula", {
  for_each_case(function(one, object, new) {
    found <- as.data.frame(object$data$rows)
    columns <- kept_columns(one)
    expect_true(all(c("x1", "x2") %in% columns), info = one$name)
    expect_equal(
      lapply(found[columns], as.vector), lapply(one$data[columns], as.vector), info = one$name
    )
  })
})

test_that("readers take the rows of the fit, whatever has their name", {
  found <- 0
  for_each_case(function(one, object, new) {
    rows <- augment(object)
    expect_equal(rows$x1, one$data$x1, info = one$name)
    # The same fit without its data.
    lean <- object
    lean$stamp <- NULL
    lean$data <- list(digest = data_digest(object$data), at = NULL)
    data <- one$data
    # Some cases fit in a function whose variables are gone.
    by_name <- !is.null(training_data(lean)$rows)
    found <<- found + by_name
    if (by_name) expect_equal(augment(lean), rows, info = one$name)
    changed <- list(
      predictor = transform(one$data, x1 = x1 * 100), order = one$data[80:1, ],
      rows = one$data[1:79, ], cell = transform(one$data, x2 = replace(x2, 40, x2[40] + 1e-9))
    )
    for (data in changed) {
      expect_equal(augment(object), rows, info = one$name)
      expect_bk_error(augment(lean), "argument", "model = TRUE")
      expect_null(fit_data(lean))
    }
  })
  expect_gt(found, 20)
})

test_that("effects are those of the data of the fit", {
  set.seed(1)
  d <- data.frame(x = rnorm(60), z = rnorm(60))
  d$y <- d$x - d$z + rnorm(60)
  fit <- bkm(y ~ x + z, d, threads = 1)
  lean <- bkm(y ~ x + z, d, threads = 1, model = FALSE)
  quartiles <- diff(quantile(d$x, c(0.25, 0.75)))[[1]]
  effect <- function(fit) {
    out <- exposure(fit, type = "single", ndraws = 2000, threads = 1)
    out$estimate[out$predictor == "x"][1]
  }
  by_lm <- quartiles * coef(lm(y ~ x + z, d))[["x"]]
  expect_equal(effect(fit), by_lm, tolerance = 0.03)
  expect_equal(effect(lean), by_lm, tolerance = 0.03)
  terms <- compare_terms(fit)
  d$x <- d$x * 100
  expect_equal(effect(fit), by_lm, tolerance = 0.03)
  expect_bk_error(effect(lean), "argument", "`x`")
  expect_equal(compare_terms(fit), terms)
  expect_bk_error(compare_terms(lean), "argument", "`x`")
  expect_equal(
    posterior_linpred.bayeskernel_fit(fit, ndraws = 5, seed = 1),
    posterior_linpred.bayeskernel_fit(fit, ndraws = 5, seed = 1,
      newdata = transform(d, x = x / 100))
  )
  # A partial curve stands over the range of the fit.
  pdf(NULL)
  on.exit(dev.off())
  shown <- plot(fit, "partial", pars = "x", threads = 1)
  expect_equal(range(shown$value), range(d$x) / 100)
  expect_bk_error(plot(lean, "partial"), "argument", "newdata")
})

test_that("subsets, omitted rows, weights and offsets come as they were", {
  set.seed(2)
  d <- data.frame(x = rnorm(50), z = rnorm(50), w = rep(1:2, 25), o = 1:50 / 9)
  d$y <- d$x + d$o + rnorm(50)
  d$z[3] <- NA
  fit <- bkm(
    y ~ poly(x, 2) + scale(z), d[-(4:5), ],
    subset = x < 1.2, weights = w, offset = o, na.action = na.omit, threads = 1
  )
  rows <- subset(d[-(3:5), ], x < 1.2)
  expect_identical(fit_data(fit)$x, rows$x)
  expect_identical(attr(fit_data(fit), "row.names"), as.integer(rownames(rows)))
  by_lm <- lm(y ~ poly(x, 2) + scale(z), d[-(4:5), ], subset = x < 1.2, weights = w, offset = o)
  frame <- model.frame(fit)
  for (name in c("y", "poly(x, 2)", "(weights)", "(offset)")) {
    expect_equal(as.vector(frame[[name]]), as.vector(model.frame(by_lm)[[name]]))
  }
  # A mean of all rows of `data`, and not of those that are left.
  whole <- d[-(4:5), ]
  expect_equal(
    as.vector(frame[["scale(z)"]]),
    (rows$z - mean(whole$z, na.rm = TRUE)) / sd(whole$z, na.rm = TRUE)
  )
  lean <- update(fit, model = FALSE)
  expect_equal(fit_data(lean), fit_data(fit))
  d$w <- rev(d$w)
  expect_null(fit_data(lean))
  expect_match(training_data(lean)$absent, "`w`", fixed = TRUE)
})

test_that("large data are not kept, and the limit is an option", {
  d <- data.frame(x = 1:30 / 10, y = sin(1:30))
  old <- options(bayeskernel.model_cells = 59)
  on.exit(options(old))
  expect_null(bkm(y ~ x, d, threads = 1)$data$rows)
  # As it is by default, so it is when that is typed.
  expect_null(bkm(y ~ x, d, threads = 1, model = TRUE)$data$rows)
  lean <- bkm(y ~ x, d, threads = 1)
  expect_equal(fit_data(lean), d[2:1])
  options(bayeskernel.model_cells = 60)
  expect_identical(bkm(y ~ x, d, threads = 1)$data$rows, d[2:1])
  expect_null(bkm(y ~ x, d, threads = 1, model = FALSE)$data$rows)
  expect_bk_error(bkm(y ~ x, d, threads = 1, model = 3), "argument", "model")
})

test_that("fits without data say why", {
  set.seed(3)
  d <- data.frame(x = rnorm(90))
  d$y <- d$x + rnorm(90)
  why <- function(fit) {
    expect_null(fit_data(fit))
    error <- expect_error(exposure(fit), class = "bayeskernel_error_argument")
    conditionMessage(error)
  }
  whole <- bkm(y ~ x, d[1:60, ], threads = 1)
  expect_match(why(extend(whole, d[61:90, ], threads = 1)), "extended")
  expect_bk_error(augment(extend(whole, d[61:90, ], threads = 1)), "argument", "extended")
  from <- bsvm(
    row_source(as.matrix(transform(d, y = y > 0)), y = "y"),
    method = "svi", control = list(batch_size = 30), threads = 1, seed = 1
  )
  expect_match(why(from), "source")
  old <- whole
  old$data <- old$stamp <- NULL
  expect_match(why(old), "earlier version")
})

test_that("a digest tells values, and not how they are stored", {
  x <- c(2, -1, NA, 0)
  same <- list(c(2, -1, NaN, -0), c(2L, -1L, NA, 0L))
  for (y in same) expect_identical(digest_of(x), digest_of(y))
  expect_identical(digest_of(c(TRUE, NA)), digest_of(c(1, NA)))
  expect_identical(digest_of(c("a", "b")), digest_of(factor(c("a", "b"), c("b", "a"))))
  other <- list(rev(x), x[-4], c(x, 0), x + 1e-15, matrix(x, 2), c("2", "-1", NA, "0"))
  found <- vapply(c(list(x), other), digest_of, "")
  expect_identical(anyDuplicated(found), 0L)
  # No two of many vectors that differ in one place.
  many <- vapply(1:2000, function(i) digest_of(replace(numeric(50), i %% 50 + 1, i)), "")
  expect_identical(anyDuplicated(many), 0L)
})
