# What a user leaves out, or types as for another package.

test_that("a required argument that is left out is named, with what would do", {
  exported <- getNamespaceExports("bayeskernel")
  # Generics of other packages, and what needs nothing.
  foreign <- c("fixef", "ranef", "VarCorr", "tidy", "glance", "augment", "as.mcmc", "as.mcmc.list")
  free <- c("reproduce", "stop_at")
  seen <- character()
  for (name in setdiff(exported, c(foreign, free))) {
    own <- getExportedValue("bayeskernel", name)
    if (!is.function(own)) next
    error <- tryCatch({
      own()
      NULL
    }, error = identity)
    if (is.null(error)) next
    expect_s3_class(error, "bayeskernel_error_argument")
    expect_match(conditionMessage(error), "^Argument `[a-z]+` is missing", label = name)
    seen <- c(seen, name)
  }
  expect_true(all(c("bkm", "seqkr", "inclusion", "auc", "kernel_matrix") %in% seen))
  models <- c("bkm", "bsvm", "gpsvm", "mkprobit", "bark", "klr", "seqkr")
  for (name in models) {
    own <- getExportedValue("bayeskernel", name)
    expect_bk_error(do.call(own, list(y = 1)), "argument", paste0(name, ".y ~ x, data"))
  }
  fit <- bkm(dist ~ speed, cars, threads = 1)
  expect_bk_error(extend(fit), "argument", "object, newdata")
  stream <- seqkr(dist ~ speed, cars, particles = 20, seed = 1, threads = 1)
  expect_bk_error(extend(stream), "argument", "newdata")
  expect_bk_error(auc(c(TRUE, FALSE)), "argument", "y, score")
  expect_bk_error(kernel_matrix(rbf(1)), "argument", "`x` is missing")
  expect_identical(coef(bkm(formula = dist ~ speed, data = cars, threads = 1)), coef(fit))
})

test_that("random effects and correlations of other packages have a hint", {
  d <- data.frame(x = rep(0:9, 8), g = gl(8, 10), y = sin(1:80))
  expect_bk_error(bkm(y ~ x, d, random = ~ 1 | g), "argument", "try bars in the formula")
  expect_bk_error(seqkr(y ~ x, d, random = ~ 1 | g), "argument", "try bkm\\(\\) with bars")
  expect_bk_error(bkm(y ~ x, d, correlation = 1), "argument", "cov = list\\(unit = C\\)")
  expect_bk_error(bark(y ~ x, d, correlation = 1), "argument", "bkm\\(\\), which has `cov`")
  expect_bk_error(bkm(y ~ x, d, ziformula = ~ 1), "argument", "no models of counts")
  expect_bk_error(bkm(y ~ x, d, dispformula = ~ x), "argument", "share the sd of the")
  kernel <- structure(function(x, y) 0, class = "rbfkernel")
  expect_bk_error(gpsvm(factor(x > 4) ~ y, d, kernel = kernel), "kernel", "is rbf\\(1 / sqrt")
  expect_bk_error(mkprobit(factor(x > 4) ~ y, d, kernel = kernel), "kernel", "is rbf\\(1 / sqrt")
})

test_that("calls of lme4 have a hint, or work", {
  d <- data.frame(x = rep(0:9, 8), g = gl(8, 10))
  d$y <- sin(1:80) + d$x
  fit <- bkm(y ~ x + (x | g), d, threads = 1)
  expect_bk_error(confint(fit, method = "Wald"), "argument", "leaving it out: intervals")
  expect_s3_class(ranef(fit), "ranef.mer")
  skip_if_not_installed("lme4")
  expect_bk_error(lme4::isSingular(fit), "argument", "VarCorr")
  expect_bk_error(lme4::getME(fit, "theta"), "argument", "model.matrix")
})

test_that("printed kernels have the variances that were found", {
  set.seed(1)
  d <- data.frame(x = seq(0, 6, length.out = 60), f = gl(2, 30))
  d$y <- 5 * sin(d$x) + rnorm(60)
  for (formula in c(y ~ gp(x), y ~ gp(x, by = f), y ~ gp(x, kernel = rbf() + linear()))) {
    fit <- bkm(formula, d, threads = 1)
    rows <- summary(fit)$rows$variances
    sd <- rows$estimate[startsWith(rows$label, "sd(gp")][1]
    shown <- sub(".*[, (]variance = ([0-9.e+]+).*", "\\1", facts(fit)$Processes[1])
    expect_equal(as.numeric(shown), sd^2, tolerance = 0.02)
  }
  fit <- mkprobit(Species ~ Petal.Length, iris, seed = 1, threads = 1)
  variance <- format(fit$process[["variance"]], digits = 4)
  expect_output(print(fit), sprintf("variance = %s", variance), fixed = TRUE)
  # Weights that a process was given before its chains are no draws.
  spaces <- list(a = iris[1:2], b = iris[3:4])
  fit <- suppressWarnings(mkprobit(
    spaces, iris$Species, kernel_weights = "learn", method = "gibbs", chains = 1, ndraws = 20,
    control = mkprobit_control(warmup = 5), tune = FALSE, seed = 1, threads = 1
  ))
  expect_output(print(fit), "learned: a")
})

test_that("print() and summary() end their last line alike", {
  for (fit in list(
    bkm(dist ~ speed, cars, threads = 1), bsvm(am ~ wt, mtcars, threads = 1),
    seqkr(dist ~ speed, cars, particles = 20, seed = 1, threads = 1)
  )) {
    last <- function(text) tail(text[nzchar(text)], 1)
    expect_match(last(capture.output(print(fit))), "s\\.$")
    expect_match(paste(capture.output(print(summary(fit))), collapse = " "), " s\\.( |$)")
  }
})
