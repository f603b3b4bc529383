# The labels of a response, by the formula interface unless the subject is the reader itself.
labels_of <- function(y) read_response(y, "y")

test_that("every form of two classes gives -1 and +1, the second being +1", {
  expect_identical(labels_of(factor(c("b", "a", "b"))), list(y = c(1, -1, 1), levels = c("a", "b")))
  expect_identical(
    labels_of(factor(c("b", "a"), levels = c("b", "a"))), list(y = c(-1, 1), levels = c("b", "a"))
  )
  expect_identical(labels_of(c(TRUE, FALSE)), list(y = c(1, -1), levels = c("FALSE", "TRUE")))
  for (convert in list(as.integer, as.double)) {
    expect_identical(labels_of(convert(c(0, 1, 1))), list(y = c(-1, 1, 1), levels = c("0", "1")))
    expect_identical(labels_of(convert(c(1, -1, 1))), list(y = c(1, -1, 1), levels = c("-1", "1")))
  }
  expect_identical(
    labels_of(factor(c("low", "high"), c("low", "high"), ordered = TRUE))$y, c(-1, 1)
  )
})

test_that("levels that do not occur are no classes of the model, but known", {
  y <- factor(c("c", "b", "c"), levels = c("a", "c", "b"))
  expect_identical(
    labels_of(y), list(y = c(-1, 1, -1), levels = c("c", "b"), declared = c("a", "c", "b"))
  )
})

test_that("transformed responses work in a formula", {
  d <- data.frame(y = c(1, 2, 3, 4), g = c("a", "b", "a", "b"), x = 1:4)
  expect_identical(bsvm_design(I(y > 2) ~ x, d)$y, c(-1, -1, 1, 1))
  expect_identical(bsvm_design(y > 2 ~ x, d)$levels, c("FALSE", "TRUE"))
  expect_identical(bsvm_design(factor(g) ~ x, d)$y, c(-1, 1, -1, 1))
  expect_identical(bsvm_design(g == "a" ~ x, d)$y, c(1, -1, 1, -1))
  expect_identical(bsvm_design(factor(g) ~ x, d)$response, "factor(g)")
})

test_that("an unusable response is an error that names it and the cure", {
  d <- data.frame(
    one = factor(rep("a", 4)), three = factor(c("a", "b", "c", "a")),
    codes = c(1, 2, 1, 2), measure = c(0.5, 1.25, 3, 7), hole = c(0, 1, NA, 1),
    infinite = c(0, 1, Inf, 1), nan = c(0, NaN, 1, 1), x = 1:4
  )
  d$list <- list(1, 2, 3, 4)
  refusals <- c(
    one = "response", three = "response", codes = "response", measure = "response",
    list = "response", absent = "response", hole = "missing", infinite = "missing", nan = "missing"
  )
  for (name in names(refusals)) {
    formula <- reformulate("x", response = name)
    error <- expect_error(
      bsvm_design(formula, d), class = paste0("bayeskernel_error_", refusals[[name]])
    )
    expect_identical(error$column, name)
    expect_match(conditionMessage(error), name, fixed = TRUE)
  }
  expect_error(bsvm_design(cbind(codes, measure) ~ x, d), class = "bayeskernel_error_response")
  expect_error(bsvm_design(~x, d), class = "bayeskernel_error_argument")
  expect_error(
    design_from_matrix(cbind(1:4), cbind(0:1, 1:0)), class = "bayeskernel_error_response"
  )
})

test_that("messages about responses say what was found and what to do", {
  d <- data.frame(
    one = factor(rep("a", 4)), three = factor(c("a", "b", "c", "a")), text = letters[1:4],
    codes = c(1, 2, 1, 2), measure = c(0.5, 1.25, 3, 7), infinite = c(0, 1, Inf, 1), x = 1:4
  )
  expect_snapshot(error = TRUE, {
    bsvm_design(one ~ x, d)
    bsvm_design(three ~ x, d)
    bsvm_design(text ~ x, d)
    bsvm_design(codes ~ x, d)
    bsvm_design(measure ~ x, d)
    bsvm_design(infinite ~ x, d)
    bsvm_design(cbind(codes, measure) ~ x, d)
    bsvm_design(outcome ~ x, d)
  })
})

test_that("text is two classes in an order that no locale changes", {
  expect_identical(labels_of(c("no", "Yes", "no")), list(y = c(1, -1, 1), levels = c("Yes", "no")))
  d <- data.frame(y = c("b", "a", "b"), x = 1:3)
  expect_identical(bsvm_design(y ~ x, d)$levels, c("a", "b"))
  expect_identical(read_response(letters[c(3, 1, 2)], "y", "many")$y, c(2, 0, 1))
})

test_that("a response that a model does not fit names the one that does", {
  d <- data.frame(three = gl(3, 4), measure = 1:12 / 7, x = 1:12)
  expect_bk_error(bsvm(three ~ x, d, method = "vb"), "response", "gpsvm()")
  expect_bk_error(bsvm(measure ~ x, d, method = "vb"), "response", "bark()")
  expect_bk_error(gpsvm(measure ~ x, d, method = "vb", tune = FALSE), "response", "bark()")
  expect_bk_error(bark(three ~ x, d), "response", "gpsvm()")
})

test_that("counts are weighted rows of either class, the first successes", {
  d <- data.frame(dead = c(3, 0, 2), alive = c(1, 4, 0), x = c(-1, 0.5, 2))
  design <- bsvm_design(cbind(dead, alive) ~ x, d)
  expect_identical(design$y, c(1, -1, -1, 1))
  expect_identical(design$levels, c("alive", "dead"))
  expect_identical(design$weights, c(3, 1, 4, 2))
  expect_identical(design$rows, c(1L, 1L, 2L, 3L))
  expect_identical(unname(design$x[, "x"]), c(-1, -1, 0.5, 2))
  weighted <- bsvm_design(cbind(dead, alive) ~ x, d, weights = c(1, 0, 2))
  expect_identical(weighted$weights, c(3, 1, 4))
  plain <- design_from_matrix(cbind(x = d$x), cbind(d$dead, d$alive))
  expect_identical(plain$levels, c("failure", "success"))
  expect_identical(plain$weights, design$weights)
})

test_that("counts, weights and single rows are the same data", {
  set.seed(4)
  d <- data.frame(x = rnorm(30), z = rnorm(30))
  d$yes <- rpois(30, exp(d$x))
  d$no <- rpois(30, 2)
  long <- rbind(
    data.frame(d[c("x", "z")], y = TRUE, w = d$yes), data.frame(d[c("x", "z")], y = FALSE, w = d$no)
  )
  counted <- bsvm(cbind(yes, no) ~ x + z, d, threads = 1, standardize = FALSE, method = "vb")
  weighted <- bsvm(
    y ~ x + z, long[long$w > 0, ], weights = w, threads = 1, standardize = FALSE, method = "vb"
  )
  single <- bsvm(
    y ~ x + z, long[rep(seq_along(long$w), long$w), ], threads = 1,
    standardize = FALSE, method = "vb"
  )
  expect_equal(coef(counted), coef(weighted), tolerance = 1e-6)
  expect_equal(coef(counted), coef(single), tolerance = 1e-3)
  expect_identical(colnames(predict(counted, d, type = "prob")), c("no", "yes"))
  expect_identical(nrow(predict(counted, d, type = "prob")), 30L)
  by_matrix <- gpsvm(
    as.matrix(d[c("x", "z")]), cbind(yes = d$yes, no = d$no), inducing = 10,
    threads = 1, seed = 1, method = "vb", tune = FALSE
  )
  expect_equal(
    predict(by_matrix, as.matrix(d[c("x", "z")]), type = "link"),
    predict(gpsvm(
      cbind(yes, no) ~ x + z, d, inducing = 10, threads = 1, seed = 1, method = "vb", tune = FALSE
    ), d, type = "link")
  )
})

test_that("counts that are none are refused", {
  d <- data.frame(a = c(1, 2, -1), b = c(1, 0, 3), x = 1:3)
  expect_bk_error(bsvm_design(cbind(a, b) ~ x, d), "response", "whole numbers")
  d$a[3] <- NA
  expect_bk_error(bsvm_design(cbind(a, b) ~ x, d), "missing", "row 3")
  d$a[3] <- 2
  expect_bk_error(bsvm_design(cbind(a, b) ~ x, d, missing = "model"), "argument", "Counts")
  expect_bk_error(bark(cbind(a, b) ~ x, d, family = "binomial"), "response")
})

test_that("logical values, 0/1 and -1/+1 are labels of each other's fits", {
  codings <- list(c(FALSE, TRUE), c(0, 1), c(-1, 1))
  for (fit in codings) {
    for (new in codings) {
      expect_identical(known_codes(new[c(2, 1, 2)], as.character(fit)), c(2L, 1L, 2L))
    }
  }
  expect_bk_error(known_codes(c(TRUE, FALSE), c("a", "b")), "response", "TRUE")
  d <- data.frame(x = c(-2, -1, 1, 2, 0.5), y = c(0, 1, 0, 1, 1))
  fit <- bsvm(y ~ x, d, threads = 1, method = "vb")
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_identical(
    plot(fit, "calibration", newdata = d, y = d$y == 1), plot(fit, "calibration", newdata = d)
  )
})

test_that("labels of new rows that cannot be are classed errors", {
  d <- data.frame(x = c(-2, -1, 1, 2, 0.5), y = c(0, 1, 0, 1, 1))
  fit <- gpsvm(y ~ x, d, inducing = 3, threads = 1, seed = 1, method = "vb", tune = FALSE)
  expect_equal(summary(fit, d, d$y == 1)$measures, summary(fit, d)$measures)
  expect_equal(summary(fit, d, "y")$measures, summary(fit, d)$measures)
  expect_bk_error(summary(fit, d, mean), "argument", "`y`")
  expect_bk_error(summary(fit, d, "absent"), "argument", "`y`")
  expect_bk_error(summary(fit, d["x"]), "argument", "Give `y`")
})

test_that("a constant number is pointed to the family of numbers", {
  expect_error(
    bkm(z ~ x, data.frame(x = 1:5, z = 5)), "family = \"gaussian\"",
    fixed = TRUE, class = "bayeskernel_error_response"
  )
})

test_that("times until an event are no pair of counts", {
  rows <- data.frame(x = rnorm(20), time = 1:20, status = rep(0:1, 10))
  times <- structure(cbind(time = rows$time, status = rows$status), class = "Surv")
  rows$times <- times
  expect_bk_error(bkm(times ~ x, rows), "response", "times")
})

test_that("counts and shares of trials that are fitted as gaussian are said", {
  set.seed(1)
  d <- data.frame(x = rnorm(40), size = rep(4:7, 10))
  d$n <- rbinom(40, d$size, plogis(d$x))
  fit <- function(...) suppressWarnings(bkm(..., data = d, threads = 1))
  said <- expect_message(fit(n / size ~ x, weights = size), class = "bayeskernel_message_response")
  expect_match(conditionMessage(said), "cbind(n, size - n)", fixed = TRUE)
  expect_match(conditionMessage(said), "family = \"gaussian\"", fixed = TRUE)
  said <- expect_message(fit(n ~ x), class = "bayeskernel_message_response")
  expect_match(conditionMessage(said), "cbind(successes, failures)", fixed = TRUE)
  expect_message(
    suppressWarnings(
      bark(n ~ x, d, chains = 1, ndraws = 10, control = list(warmup = 10), seed = 1)
    ),
    class = "bayeskernel_message_response"
  )
  expect_message(
    suppressWarnings(seqkr(n ~ x, d, seed = 1, threads = 1)), class = "bayeskernel_message_response"
  )
  expect_no_message(compare_terms(suppressMessages(fit(n ~ x))))
  expect_no_message(fit(n ~ x, family = "gaussian"))
  expect_no_message(fit(n / size ~ x, weights = size, family = gaussian()))
  expect_no_message(fit(x ~ size))
  expect_no_message(fit(n / size ~ x))
  expect_no_message(bkm(mpg ~ wt, mtcars, threads = 1))
})

test_that("ages, scores and amounts with a zero are no counts", {
  set.seed(1)
  d <- data.frame(x = rnorm(100), age = c(0:17, sample(0:17, 82, TRUE)))
  d$score <- c(0, rbinom(99, 27, 0.5))
  d$income <- c(0, round(exp(rnorm(99, 7))))
  d$visits <- rnbinom(100, mu = 8, size = 1)
  said <- function(name) inform_counts(list(y = d[[name]], response = name))
  for (name in c("age", "score", "income")) expect_no_message(said(name))
  expect_message(said("visits"), class = "bayeskernel_message_response")
})

test_that("a family of counts is refused with what to use elsewhere", {
  d <- data.frame(y = c(0, 2, 5, 1), x = 1:4)
  for (model in list(bkm, bark, seqkr)) {
    for (family in list("poisson", "nbinom", "zip", poisson(), poisson)) {
      error <- expect_bk_error(model(y ~ x, d, family = family), "argument", "models of counts")
      expect_match(conditionMessage(error), "glmmTMB")
    }
    expect_bk_error(model(y ~ x, d, family = "Gamma"), "argument", "no such family")
    expect_bk_error(model(y ~ x, d, family = "gausian"), "argument", "Did you mean \"gaussian\"")
  }
})

test_that("a response may be a matrix of one column, as of scale()", {
  rows <- data.frame(x = sin(1:30), y = 5 + cos(1:30) + sin(1:30))
  plain <- transform(rows, y = (y - mean(y)) / sd(y))
  fit <- bkm(scale(y) ~ x, rows, threads = 1)
  expect_equal(coef(fit), coef(bkm(y ~ x, plain, threads = 1)))
  expect_equal(fitted(fit) + residuals(fit), plain$y)
  expect_equal(coef(bkm(rows["x"], as.matrix(plain$y), threads = 1)), coef(fit))
})

test_that("a share with the trials as weights, as of glm(), names the pair of counts", {
  d <- data.frame(ill = rep(0:4, 6), size = rep(c(10, 12, 15), 10), x = sin(1:30))
  for (model in list(function(...) bkm(..., family = "logit"), bsvm, gpsvm)) {
    error <- expect_bk_error(model(ill / size ~ x, d, weights = size), "response", "ill/size")
    expect_match(error$message, "Use cbind(ill, size - ill) as the response", fixed = TRUE)
  }
})
