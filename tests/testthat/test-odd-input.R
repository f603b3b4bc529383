# Input that is the user's, however odd, is answered by an error that says so, and what has a
# meaning has a right answer.

test_that("a response far from 0 has the answers of one that is near", {
  near <- transform(mtcars, t = mpg, g = factor(cyl))
  far <- transform(near, t = 1.7e9 + mpg)
  expect_moved <- function(fit, ...) {
    a <- predict(fit(near), near[1:4, ], se.fit = TRUE, threads = 1)
    b <- predict(fit(far), far[1:4, ], se.fit = TRUE, threads = 1)
    expect_equal(b$fit - 1.7e9, a$fit, ...)
    expect_equal(b$se.fit, a$se.fit, ...)
  }
  expect_moved(function(d) bkm(t ~ wt, d, threads = 1), tolerance = 1e-5)
  expect_moved(function(d) bkm(t ~ wt + (1 | g), d, threads = 1), tolerance = 1e-5)
  expect_moved(function(d) bkm(t ~ wt, d, method = "vb", threads = 1), tolerance = 1e-5)
  expect_moved(
    function(d) suppressWarnings(seqkr(t ~ wt, d, threads = 1, seed = 1)), tolerance = 1e-4
  )
  # By least squares, which the weak prior is close to.
  line <- stats::lm(mpg ~ wt, mtcars)
  own <- bkm(t ~ wt, far, threads = 1)
  exact <- predict(line, mtcars[1:4, ], se.fit = TRUE)
  found <- predict(own, far[1:4, ], se.fit = TRUE, threads = 1)
  expect_equal(unname(found$fit) - 1.7e9, unname(exact$fit), tolerance = 0.002)
  expect_equal(unname(found$se.fit), unname(exact$se.fit), tolerance = 0.06)
  expect_true(all(is.finite(augment(own)$.se.fit %||% 1)))
})

test_that("digits that a large mean leaves are no constant", {
  d <- transform(mtcars, t = 1e13 + mpg)
  expect_silent(fit <- bkm(t ~ wt, d, threads = 1))
  expect_equal(sigma(fit), sigma(bkm(mpg ~ wt, mtcars, threads = 1)), tolerance = 1e-3)
  expect_true(is.finite(logLik(fit)))
  expect_true(is.finite(loo::loo(fit)$estimates[1]))
})

test_that("weights that are no numbers are refused by every model", {
  x <- as.matrix(mtcars[c("wt", "hp")])
  y <- mtcars$am
  k <- kernel_matrix(rbf(2), scale(x))
  for (w in list(
    factor(rep(1:2, 16)), rep(c("1", "2"), 16), Sys.time() + 1:32, as.Date("2020-01-01") + 1:32
  )) {
    expect_bk_error(gpsvm(x, y, weights = w, threads = 1), "argument")
    expect_bk_error(gpsvm(k, y, kernel = precomputed(), weights = w, threads = 1), "argument")
    expect_bk_error(bark(x, mtcars$mpg, weights = w, threads = 1), "argument")
    expect_bk_error(bkm(x, y, weights = w, threads = 1), "argument")
    expect_bk_error(bsvm(am ~ wt, mtcars, weights = w, threads = 1), "argument")
  }
  sparse <- Matrix::Matrix(x, sparse = TRUE)
  w <- replace(rep(1, 32), 3, NA)
  error <- expect_bk_error(gpsvm(sparse, y, weights = w, threads = 1), "missing")
  expect_identical(error$row, 3L)
  expect_bk_error(gpsvm(k, y, kernel = precomputed(), weights = w, threads = 1), "missing")
})

test_that("columns, offsets and units of a wrong kind are named", {
  d <- data.frame(m = 1:32)
  d$m <- as.matrix(mtcars[c("wt", "hp")])
  for (fit in list(bsvm, gpsvm, bark, klr)) {
    error <- expect_bk_error(fit(d, mtcars$am), "dimension")
    expect_identical(error$column, "m")
  }
  for (fit in list(bsvm, bkm)) {
    error <- expect_bk_error(
      suppressWarnings(fit(am ~ wt + offset(factor(cyl)), mtcars)), "argument"
    )
    expect_identical(error$column, "offset(factor(cyl))")
  }
  expect_bk_error(unit_low_rank(), "argument")
  expect_bk_error(unit_precision(), "argument")
})

test_that("a fit that keeps nothing of its rows does not take other rows", {
  fit <- bkm(am ~ wt + (1 | cyl), mtcars, threads = 1)
  error <- expect_bk_error(extend(fit, mtcars[1:5, c("am", "wt")], threads = 1), "argument")
  expect_identical(error$column, "cyl")
  more <- extend(fit, mtcars[1:5, ], threads = 1)
  for (ask in list(loo::loo, deviance, simulate, rstantools::log_lik, fitted)) {
    expect_match(
      conditionMessage(expect_bk_error(ask(more), "argument")),
      "an extended fit keeps none|It was extended|keeps nothing about its rows"
    )
  }
})

test_that("one predictor has one direction by default", {
  set.seed(1)
  d <- data.frame(x = rnorm(60))
  d$y <- d$x + rnorm(60) > 0
  fit <- suppressWarnings(klr(
    y ~ x, d, chains = 1, control = list(warmup = 50, thin = 1), ndraws = 20, until = NULL,
    threads = 1, seed = 1
  ))
  expect_identical(fit$rank, 1L)
  typed <- suppressWarnings(update(fit, rank = 1))
  expect_identical(fit$draws, typed$draws)
  d$z <- rnorm(60)
  expect_identical(suppressWarnings(update(fit, y ~ x + z))$rank, 2L)
})

test_that("a row source with bytes of zero is refused", {
  file <- tempfile(fileext = ".csv")
  on.exit(unlink(file))
  utils::write.csv(mtcars[c("wt", "am")], file, row.names = FALSE)
  bytes <- readBin(file, "raw", 1e5)
  for (at in c(2L, 40L, length(bytes) - 3L)) {
    writeBin(replace(bytes, at, as.raw(0)), file)
    error <- expect_no_warning(expect_bk_error(
      bsvm(row_source(file, "am"), threads = 1), "argument"
    ))
    expect_match(conditionMessage(error), "bytes of zero")
  }
})

test_that("an R-hat that is infinite is missing in tables", {
  draws <- array(
    c(rep(c(0, 0, 0, 2), each = 10), sin(1:40)), c(10, 4, 2), list(NULL, NULL, c("still", "moves"))
  )
  expect_identical(convergence_table(draws)$rhat[1], Inf)
  table <- draws_table(draws)
  expect_identical(unname(is.na(table[, "R-hat"])), c(TRUE, FALSE))
})

test_that("missing = \"omit\" leaves out rows without a response", {
  d <- mtcars
  d$mpg[3] <- NA
  d$wt[7] <- NA
  expect_message(
    fit <- bkm(mpg ~ wt, d, missing = "omit", threads = 1),
    class = "bayeskernel_message_dropped_rows"
  )
  expect_identical(nobs(fit), 30L)
  expect_equal(coef(fit), coef(bkm(mpg ~ wt, d[-c(3, 7), ], threads = 1)))
})

test_that("advice leads somewhere", {
  d <- data.frame(y = factor(rep(letters[1:3], 20)), x = sin(1:60), g = gl(10, 6))
  error <- expect_bk_error(seqkr(y ~ x, d, family = "binomial"), "response")
  expect_no_match(conditionMessage(error), "bark|ordinal")
})

test_that("codes of classes are not called counts before they are refused", {
  d <- data.frame(y = rep(c(0L, 1L, 0L), 10), x = sin(1:30))
  for (model in list(bark, seqkr)) {
    expect_no_message(
      expect_error(model(y ~ x, d, seed = 1), "codes of classes", class = "bayeskernel_error")
    )
  }
})

test_that("a column of x that is the response is warned of by every model, once", {
  set.seed(3)
  x <- cbind(a = rnorm(40), z = rnorm(40))
  short <- list(ndraws = 20, chains = 1, until = NULL, control = list(warmup = 20))
  models <- list(
    bkm = list(), bsvm = list(method = "vb"), gpsvm = list(tune = FALSE, inducing = 10),
    mkprobit = list(tune = FALSE), bark = short, klr = short,
    seqkr = list(particles = 10, tune = FALSE)
  )
  equal <- function(name, x, y) {
    found <- character()
    withCallingHandlers(
      do.call(name, c(list(x, y), models[[name]], threads = 1)),
      bayeskernel_warning = function(w) {
        own <- inherits(w, "bayeskernel_warning_response") && grepl("equals", conditionMessage(w))
        if (own) found <<- c(found, w$column)
        invokeRestart("muffleWarning")
      }
    )
    found
  }
  classes <- factor(ifelse(x[, "z"] > 0, "yes", "no"))
  for (name in names(models)) {
    if (name %in% c("bkm", "bark", "seqkr")) {
      expect_identical(equal(name, x, x[, "z"]), "z", info = name)
      expect_identical(equal(name, x, x[, "z"] + c(1e-12, rep(0, 39))), character(), info = name)
    }
    if (name == "seqkr") next
    for (from in c(0, 1)) {
      coded <- cbind(a = x[, "a"], z = as.integer(classes) - 1 + from)
      expect_identical(equal(name, coded, classes), "z", info = name)
    }
    expect_identical(equal(name, x, classes), character(), info = name)
    # A data frame with a factor, text or codes.
    same <- list(classes, as.character(classes), as.integer(classes))
    for (z in same[if (name %in% c("gpsvm", "bkm")) 1:3 else 1L]) {
      frame <- data.frame(a = x[, "a"], g = rep(c("u", "v"), 20), z = z)
      expect_identical(equal(name, frame, classes), "z", info = name)
    }
    expect_identical(equal(name, frame[c("a", "g")], classes), character(), info = name)
  }
  coded <- data.frame(x, z = as.integer(classes))
  expect_identical(equal("bkm", coded[c("a", "z.1")], as.integer(classes) - 1), "z.1")
})
