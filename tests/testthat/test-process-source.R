# Terms gp() of rows in a source, and of so many rows in memory that their columns are computed anew
# at every reading: the fits of kept columns.

source_frame <- function(n, seed = 1) {
  set.seed(seed)
  d <- data.frame(x1 = rnorm(n, 2, 3), x2 = runif(n, -1, 1), b = rnorm(n), z = rnorm(n, 1, 2))
  d$f <- sin(d$x1) + d$x1 * d$x2 / 3 + d$b * cos(2 * d$x2) + 0.5 * d$z
  d$y <- d$f + rlogis(n) > 0
  d
}

columns <- c("x1", "x2", "b", "z", "y")

# Three processes and the noise are more variances than a grid has.
four <- y ~ gp(x1, kernel = rbf(1.1), inducing = 6) +
  gp(x2, by = b, kernel = rbf(.7), inducing = 5) +
  gp(x1, x2, kernel = rbf(1.4), inducing = 12) +
  gp(z, kernel = rbf(1), inducing = 4) + z

expect_same_fit <- function(a, b, tolerance = 1e-8) {
  testthat::expect_equal(a$posterior$theta_mean, b$posterior$theta_mean, tolerance = tolerance)
  testthat::expect_equal(a$posterior$theta_cov, b$posterior$theta_cov, tolerance = 10 * tolerance)
  testthat::expect_equal(
    lapply(a$posterior$variance, `[[`, "value"), lapply(b$posterior$variance, `[[`, "value"),
    tolerance = 10 * tolerance
  )
}

# Of rows in memory as of those of a source: variances have factors of their own whatever their
# number, and are not averaged over.
with_factors <- function(code) {
  core <- bayeskernel:::linear_ep_cpp
  own <- function(data, prior, settings) core(data, prior, c(settings, variances = "vb"))
  utils::assignInNamespace("linear_ep_cpp", own, "bayeskernel")
  on.exit(utils::assignInNamespace("linear_ep_cpp", core, "bayeskernel"))
  code
}

test_that("the fit of the data frame, by ep and vb, for every family", {
  d <- source_frame(900)
  d$number <- d$f + rnorm(900)
  for (family in c("logit", "probit", "hinge", "gaussian")) {
    formula <- four
    if (family == "gaussian") formula[[2L]] <- quote(number)
    response <- deparse(formula[[2L]])
    rows <- row_source(d[c(columns[1:4], response)], response)
    for (method in c("ep", "vb")) {
      own <- function(data) {
        bkm(formula, data, family, method = method,
          control = list(tol = 1e-9, max_iter = 1000), threads = 1)
      }
      source <- own(rows)
      memory <- with_factors(own(d))
      if (family == "gaussian") {
        # Its intercept is under a prior that knows the mean of the response.
        expect_equal(predict(source, d), predict(memory, d), tolerance = 1e-5)
        next
      }
      expect_same_fit(source, memory, 1e-6)
      expect_equal(
        predict(source, d, type = "link"), predict(memory, d, type = "link"), tolerance = 1e-6
      )
      expect_equal(source$log_evidence, memory$log_evidence, tolerance = 1e-8)
    }
  }
})

test_that("kernels are learned as in memory, and the fit is a fit", {
  d <- source_frame(600, 2)
  formula <- y ~ gp(x1, x2, kernel = rbf(ard = TRUE)) + z
  rows <- row_source(d[columns], "y")
  source <- bkm(rows, formula[-2], method = "vb", threads = 1, control = list(tol = 1e-9))
  memory <- bkm(formula, d, method = "vb", threads = 1, control = list(tol = 1e-9))
  expect_equal(
    source$design$smooths[[1]]$process, memory$design$smooths[[1]]$process, tolerance = 1e-7
  )
  expect_equal(coef(source), coef(memory), tolerance = 1e-6)
  expect_identical(
    bkm(formula, rows, method = "vb", threads = 1, control = list(tol = 1e-9))$posterior,
    source$posterior
  )
  expect_output(print(source), "gp(x1,x2)", fixed = TRUE)
  expect_silent(capture.output(print(summary(source))))
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_silent(plot(source, "smooth"))
  saved <- tempfile()
  saveRDS(source, saved)
  expect_identical(predict(readRDS(saved), rows, type = "prob"), predict(source, d, type = "prob"))
  unlink(saved)
  expect_error(fitted(source), class = "bayeskernel_error")
})

test_that("stochastic steps of processes end where full passes do", {
  d <- source_frame(6000, 3)
  d$g <- gl(600, 10)
  d$y <- d$f + rnorm(600)[d$g] + rlogis(6000) > 0
  steps <- function(data, formula, ...) {
    flat(bkm)(formula, data, threads = 1, seed = 1, tol = 1e-8, ...)
  }
  grouped <- update(four, . ~ . + (1 | g))
  expect_same_fit(steps(d, grouped, method = "svi"), steps(d, grouped, method = "vb"), 1e-3)
  rows <- row_source(d[columns], "y")
  expect_same_fit(steps(rows, four, method = "svi"), steps(rows, four, method = "vb"), 1e-3)
})

test_that("stochastic steps and modelled holes exclude each other", {
  d <- source_frame(80)
  d$x1[3] <- NA
  expect_error(
    bkm(y ~ gp(x1) + z, d, method = "svi", missing = "model", threads = 1),
    "modeled missing", class = "bayeskernel_error_argument"
  )
})

test_that("the support vector machine of a source has probabilities", {
  new <- source_frame(20000, 5)
  # Few inducing points leave much of the variance to each row.
  for (inducing in c(20, 60)) {
    d <- source_frame(4000, 4)
    formula <- y ~ gp(x1, x2, kernel = rbf(1), inducing = inducing) + z
    fit <- gpsvm(formula, row_source(d[columns], "y"), threads = 1, seed = 1)
    p <- predict(fit, new, type = "prob")[, 2]
    slope <- stats::coef(stats::glm(new$y ~ stats::qlogis(p), stats::binomial()))[[2]]
    expect_lt(abs(slope - 1), 0.15)
    expect_equal(fit$sandwich$by, "rows")
  }
})

test_that("columns without a use are dropped, without an intercept, too", {
  d <- source_frame(500, 6)
  d$same <- 3
  d$twice <- 2 * d$z
  rows <- row_source(d[c(columns, "same", "twice")], "y")
  expect_warning(
    fit <- bkm(rows, ~ same + z + twice + gp(x1, inducing = 5), threads = 1),
    class = "bayeskernel_warning_dropped_column"
  )
  expect_setequal(fit$dropped, c("same", "twice"))
  expect_equal(names(coef(fit))[1:2], c("(Intercept)", "z"))
  expect_length(predict(fit, d), 500)
  none <- bkm(
    rows, ~ z + gp(x1, kernel = rbf(1), inducing = 5) - 1,
    method = "vb", threads = 1, control = list(tol = 1e-9)
  )
  memory <- bkm(
    y ~ z + gp(x1, kernel = rbf(1), inducing = 5) - 1, d,
    method = "vb", threads = 1, control = list(tol = 1e-9)
  )
  expect_same_fit(none, memory, 1e-6)
})

test_that("many rows in memory: features that are computed anew", {
  d <- source_frame(3000, 7)
  d$g <- factor(sample(200, 3000, TRUE))
  d$h <- factor(sample(letters[1:3], 3000, TRUE))
  d$y <- d$f + rnorm(200)[d$g] + rlogis(3000) > 0
  d$w <- runif(3000, 0.5, 1.5)
  formula <- y ~ h + gp(x1, by = h, kernel = rbf(1), inducing = 6) + s(x2) +
    gp(x2, by = b, inducing = 5) + z + (1 | g) + (1 | h)
  fit <- function(family, method, threads = 1) {
    suppressMessages(bkm(
      formula, d, family, method,
      weights = w, control = list(tol = 1e-8, max_iter = 1000), threads = threads
    ))
  }
  kept <- lapply(c(logit = "logit", hinge = "hinge"), fit, method = "vb")
  passes <- with_factors(fit("logit", "ep"))
  old <- bayeskernel:::most_ep_cells
  utils::assignInNamespace("most_ep_cells", 0, "bayeskernel")
  on.exit(utils::assignInNamespace("most_ep_cells", old, "bayeskernel"))
  for (family in names(kept)) {
    anew <- fit(family, "vb")
    expect_same_fit(anew, kept[[family]], 1e-6)
    expect_equal(anew$fitted, kept[[family]]$fitted, tolerance = 1e-6)
    expect_equal(ranef(anew), ranef(kept[[family]]), tolerance = 1e-6)
  }
  anew <- fit("logit", "ep")
  expect_same_fit(anew, passes, 1e-6)
  expect_equal(anew$loo, passes$loo, tolerance = 1e-6)
  expect_identical(fit("logit", "ep", 2)$posterior, anew$posterior)
  expect_equal(
    predict(anew, d[1:9, ], type = "prob"), predict(passes, d[1:9, ], type = "prob"),
    tolerance = 1e-6
  )
})

test_that("what a source does not take is refused, and says so", {
  d <- source_frame(60)
  d$factor <- rep(c("a", "b"), 30)
  rows <- row_source(d, "y")
  argument <- "bayeskernel_error_argument"
  refused <- function(formula, text, ..., class = argument) {
    error <- expect_error(flat(bkm)(rows, formula, threads = 1, ...), class = class)
    expect_match(conditionMessage(error), text, fixed = TRUE)
  }
  refused(~ gp(x1) + absent, "absent")
  refused(~ gp(x1, nowhere), "nowhere")
  refused(~ gp(x1) + (1 | z) + (1 | b), "2 random terms")
  refused(~ gp(x1) + s(x2), "s(x2)")
  refused(~ gp(log(x1)), "log")
  refused(~ x1:x2 + gp(z), "x1:x2")
  refused(~ offset(x1) + gp(z), "offset")
  refused(~ gp(factor), "factor")
  refused(z ~ gp(x1), "different", class = "bayeskernel_error_response")
  refused(~ gp(x1), "gibbs", method = "gibbs")
  expect_error(bkm(y ~ gp(x1), rows, weights = z), "weights")
  expect_error(bsvm(y ~ gp(x1), rows), "names of columns alone")
  expect_error(bsvm(y ~ gp(x1), rows), "bkm(family = \"hinge\") reads", fixed = TRUE)
  expect_error(bsvm(y ~ 0 + x1, rows), "bsvm\\(\\) has an intercept")
  expect_error(bkm(y ~ 1, rows), class = "bayeskernel_error_dimension")
  expect_error(bsvm(y ~ log(x1), rows), "log")
  expect_error(bark(y ~ x1, rows), "reads no row source")
  expect_error(klr(rows), "reads no row source")
  d$x1[41] <- NA
  expect_error(
    bkm(row_source(d[columns], "y"), ~ gp(x1) + z, threads = 1),
    "row 41", class = "bayeskernel_error_missing"
  )
  # Columns that the formula does not name are not read.
  expect_s3_class(bkm(row_source(d[columns], "y"), ~ gp(x2, inducing = 4), threads = 1), "bkm")
})

test_that("more rows than a chunk, on any number of threads", {
  skip_if_not(identical(Sys.getenv("BAYESKERNEL_SLOW"), "true"), "BAYESKERNEL_SLOW is not true")
  d <- source_frame(140000, 8)
  formula <- four
  rows <- row_source(d[columns], "y")
  fit <- function(data, threads) {
    bkm(formula, data, method = "ep", threads = threads,
      control = list(tol = 1e-9, progress = FALSE),
      standardize = FALSE)
  }
  one <- fit(rows, 1)
  expect_identical(fit(rows, 2)$posterior, one$posterior)
  # The same inducing points, which the fit has on the scale of the data.
  z <- lapply(one$design$smooths, function(term) term$process$z)
  formula <- y ~ gp(x1, kernel = rbf(1.1), inducing = z[[1]]) +
    gp(x2, by = b, kernel = rbf(.7), inducing = z[[2]]) +
    gp(x1, x2, kernel = rbf(1.4), inducing = z[[3]]) +
    gp(z, kernel = rbf(1), inducing = z[[4]]) + z
  expect_same_fit(one, with_factors(fit(d, 2)), 1e-8)
})
