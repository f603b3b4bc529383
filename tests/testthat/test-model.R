# From the call to the fit, the same for every model.

test_that("a call with the package's name is updated without attaching it", {
  skip_on_cran()
  skip_if_not_installed("callr")
  home <- system.file(package = "bayeskernel")
  skip_if_not(file.exists(file.path(home, "Meta", "package.rds")))
  out <- callr::r(function(path, d) {
    loadNamespace("bayeskernel", lib.loc = path)
    fit <- bayeskernel::bsvm(y ~ x1 + x2, d, threads = 1, method = "vb")
    again <- stats::update(fit, . ~ . - x2)
    selected <- bayeskernel::bsvm(y ~ x1 + x2, d, select = TRUE, threads = 1, method = "vb")
    path <- bayeskernel::inclusion_path(selected, c(0.1, 0.5))
    list(fit$call[[1]], formula(again), class(path))
  }, list(dirname(home), grouped_data()))
  expect_identical(out[[1]], quote(bayeskernel::bsvm))
  expect_equal(out[[2]], y ~ x1, ignore_attr = TRUE)
  expect_true(length(out[[3]]) > 0)
})

test_that("the call of a fit is the one that was typed", {
  d <- grouped_data()
  expect_identical(
    bsvm(y ~ x1, d, method = "vb", threads = 1)$call,
    quote(bsvm(formula = y ~ x1, data = d, method = "vb", threads = 1))
  )
  fit <- do.call(bsvm, list(y ~ x1, quote(d), threads = 1))
  expect_identical(fit$call[[1]], quote(bsvm))
})

test_that("an argument of no use to a model is refused by its reason", {
  d <- grouped_data()
  expect_bk_error(bark(y ~ x1, d, family = "binomial", weights = g), "argument", "weights")
})

test_that("an interrupted iteration hands back its state if asked to", {
  out <- interrupted_work(function(ready) {
    set.seed(1)
    x <- matrix(rnorm(1.2e7), ncol = 40)
    y <- x[, 1] + rnorm(nrow(x)) > 0
    sample <- function(rows) {
      bsvm(
        x[rows, ], y[rows],
        threads = 1,
        control = list(tol = 0, accelerate = FALSE, max_iter = 1e5, progress = FALSE,
          on_interrupt = "keep"), method = "vb"
      )
    }
    # Loading and compiling of R code is over before the interrupt comes.
    for (repetition in 1:3) suppressWarnings(sample(1:200))
    ready()
    fit <- sample(seq_along(y))
    list(coef = coef(fit), prob = predict(fit, x[1:3, ], type = "prob"))
  }, after = 3)
  expect_identical(out$warned, "bayeskernel_warning_interrupt")
  expect_true(all(is.finite(out$fit$coef)))
  expect_true(all(out$fit$prob > 0 & out$fit$prob < 1))
})

test_that("so do passes, steps and the tuning of a kernel", {
  work <- function(ready, method, tune) {
    set.seed(1)
    x <- matrix(rnorm(1.2e6), ncol = 6)
    y <- x[, 1] * x[, 2] + rnorm(nrow(x)) > 0
    sample <- function(rows, inducing) {
      gpsvm(
        x[rows, ], y[rows],
        method = method, inducing = inducing, tune = tune, threads = 1,
        control = list(
          tol = if (isFALSE(tune)) 0, max_iter = if (isFALSE(tune)) 1e5 else 1,
          epochs = if (method == "svi") 1e5 else 1, epoch_tol = 0, progress = FALSE,
          on_interrupt = "keep"
        ), seed = 1, kernel = rbf()
      )
    }
    for (repetition in 1:2) suppressWarnings(sample(1:60, 5))
    ready()
    fit <- sample(seq_along(y), if (isFALSE(tune)) 30 else 400)
    list(class = class(fit), prob = predict(fit, x[1:3, ], type = "prob"))
  }
  for (case in list(list("vb", FALSE), list("svi", FALSE), list("vb", "bound"))) {
    out <- interrupted_work(work, case, after = 2)
    expect_true(
      "bayeskernel_warning_interrupt" %in% out$warned,
      label = paste("interrupt seen by", deparse1(case))
    )
    expect_identical(out$fit$class, c("gpsvm", "bayeskernel_fit"))
    expect_true(all(out$fit$prob > 0 & out$fit$prob < 1))
  }
})

test_that("a random term without parentheses is refused by every model", {
  d <- data.frame(y = factor(rep(1:2, 10)), x = sin(1:20), g = factor(rep(1:4, 5)))
  for (model in list(bkm, bsvm, gpsvm, mkprobit, bark, klr, seqkr)) {
    error <- expect_bk_error(model(y ~ x + 1 | g, d), "argument", "parentheses")
    expect_match(error$message, "(1 | g)", fixed = TRUE)
  }
  expect_bk_error(bkm(y ~ x || g, d), "argument", "parentheses")
  source <- row_source(data.frame(x = d$x, g = as.integer(d$g), y = as.integer(d$y) - 1L), y = "y")
  expect_bk_error(bkm(source, ~ x | g), "argument", "parentheses")
})

test_that("print() says when a fit learned nothing, or predicts one class only", {
  d <- data.frame(x = sin(1:60), y = factor(rep(c("a", "b", "a"), 20)))
  for (model in list(gpsvm, mkprobit)) {
    fit <- suppressWarnings(model(y ~ x, d, seed = 1, threads = 1))
    text <- paste(capture.output(print(fit)), collapse = " ")
    expect_match(text, "no better than without predictors")
    expect_match(paste(capture.output(summary(fit)), collapse = " "), "learned nothing")
  }
  d$rare <- factor(d$x + cos(7 * seq_len(60)) > 1.5, labels = c("no", "yes"))
  fit <- bkm(rare ~ x, d, threads = 1)
  text <- paste(capture.output(print(fit)), collapse = " ")
  expect_true(all(predict(fit) == "no"))
  expect_match(text, "No left-out row is predicted as \"yes\".*threshold = \"prevalence\"")
  expect_gt(sum(predict(fit, threshold = "prevalence") == "yes"), 0)
  clear <- suppressWarnings(bkm(factor(x > 0) ~ x, d, threads = 1))
  expect_false(any(grepl("No left-out row|learned", capture.output(print(clear)))))
})
