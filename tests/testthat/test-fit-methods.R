# Row methods and what does not apply, for every model.

d <- grouped_data()
d$z <- as.numeric(d$y == "yes") + d$x2
vb <- bsvm(y ~ x1 + x2 + (1 | g), d, threads = 1, method = "vb")
process <- gpsvm(y ~ x1 + x2, d, inducing = 10, seed = 1, threads = 1, method = "vb", tune = FALSE)
kernels <- suppressWarnings(bark(
  y ~ x1 + x2, d, family = "binomial", chains = 2, control = list(warmup = 300, thin = 5),
  ndraws = 40, threads = 1, seed = 1
))
numbers <- suppressWarnings(bark(
  z ~ x1 + x2, d,
  chains = 2, control = list(warmup = 300, thin = 5), ndraws = 40, threads = 1, seed = 1
))

test_that("a model matrix of a matrix is the matrix", {
  by_matrix <- gpsvm(as.matrix(d[c("x1", "x2")]), d$y, threads = 1, seed = 1,
    method = "vb", tune = FALSE)
  expect_bk_error(model.frame(by_matrix), "argument", "matrix")
  expect_equal(model.matrix(by_matrix), as.matrix(d[c("x1", "x2")]), ignore_attr = TRUE)
})

test_that("a model matrix has the columns of the predictors", {
  expect_identical(colnames(model.matrix(vb)), c("(Intercept)", "x1", "x2"))
  expect_equal(model.matrix(vb)[, "x2"], d$x2)
  expect_identical(colnames(model.matrix(process)), c("x1", "x2"))
  some <- subset(d, x1 > 50)
  part <- bsvm(y ~ log(x1) + x2, d, subset = x1 > 50, threads = 1, method = "vb")
  expect_equal(model.matrix(part)[, 2], log(some$x1))
  expect_equal(model.matrix(part, d[1:3, ])[, 3], d$x2[1:3])
})

test_that("families say the distribution and the link", {
  expect_identical(family(numbers)$family, "gaussian")
  expect_identical(family(kernels)$family, "binomial")
  expect_identical(family(kernels)$link, "probit")
  expect_match(family(vb)$family, "pseudo-likelihood")
  expect_s3_class(family(process), "family")
})

test_that("what a model does not have is an error that says why", {
  expect_equal(sigma(numbers), mean(numbers$draws[, , "sigma"]))
  expect_bk_error(sigma(vb), "argument", "Classes")
  expect_bk_error(sigma(kernels), "argument", "Classes")
  expect_bk_error(deviance(vb), "argument", "no deviance")
  expect_bk_error(deviance(process), "argument", "log_loss")
  expect_true(is.finite(deviance(kernels)))
  skip_if_not_installed("lme4")
  expect_bk_error(lme4::ngrps(process), "argument", "no groups")
})

test_that("sigma() is the noise's, whatever predictors are called", {
  set.seed(1)
  d <- data.frame(sigma = rnorm(60), x = rnorm(60), g = gl(6, 10))
  d$y <- 3 * d$sigma + d$x + rnorm(60)
  fit <- bkm(y ~ sigma + x + (1 | g), d, threads = 1)
  again <- bkm(y ~ z + x + (1 | g), transform(d, z = sigma), threads = 1)
  expect_equal(sigma(fit), sigma(again))
  expect_equal(attr(VarCorr(fit), "sc"), sigma(again))
})

test_that("simulated responses are of the kind of the response", {
  logit <- bkm(y ~ x1 + x2 + (1 | g), d, method = "vb", threads = 1)
  y <- simulate(kernels, 3, seed = 1)
  expect_identical(levels(y$sim_1), c("no", "yes"))
  y <- simulate(numbers, 60, seed = 1)
  expect_lt(abs(mean(unlist(y)) - mean(d$z)), 0.3)
  # Probabilities are those of the simulated classes.
  many <- simulate(logit, 400, seed = 2)
  share <- rowMeans(vapply(many, function(one) one == "yes", logical(80)))
  expect_lt(max(abs(share - fitted(logit))), 0.15)
  # A pseudo-likelihood is the law of no response.
  for (fit in list(vb, process)) expect_bk_error(simulate(fit), "argument", "pseudo-likelihood")
  expect_bk_error(simulate(vb), "argument", "family = .logit")
})

test_that("update() finds the function where the package is not attached", {
  skip_on_cran()
  home <- system.file(package = "bayeskernel")
  skip_if_not(file.exists(file.path(home, "Meta", "package.rds")))
  script <- tempfile(fileext = ".R")
  on.exit(unlink(script))
  writeLines(c(
    sprintf(".libPaths(%s)", paste(deparse(.libPaths()), collapse = "")),
    "set.seed(1); d <- data.frame(a = rnorm(60), b = rnorm(60))",
    "d$y <- d$a + rnorm(60) > 0",
    "fit <- bayeskernel::bsvm(y ~ a + b, d, threads = 1)",
    "less <- update(fit, . ~ . - b)",
    "old <- fit; old$call[[1]] <- quote(bsvm)",
    "cat(names(coef(less)), length(coef(update(old))))"
  ), script)
  out <- system2(
    file.path(R.home("bin"), "Rscript"), c("--vanilla", shQuote(script)), stdout = TRUE
  )
  expect_identical(out, "(Intercept) a 3")
})

test_that("data that are gone are an error of the package", {
  fit <- local({
    own <- data.frame(x = sin(1:30), y = cos(1:30))
    bkm(y ~ x, own, threads = 1)
  })
  expect_bk_error(update(fit, . ~ . + I(x^2)), "argument", "Argument `data` cannot be computed")
  expect_bk_error(bkm(y ~ x, nowhere), "argument", "object 'nowhere' not found")
  rows <- data.frame(x = 1:9)
  expect_bk_error(bkm(rows, formula = y ~ x), "argument", "a formula as the first argument")
})
