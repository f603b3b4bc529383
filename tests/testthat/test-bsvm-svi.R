# Method "svi": where it ends is where "vb" ends.

svi_data <- function(n = 3000, p = 5, seed = 2) {
  set.seed(seed)
  x <- matrix(rnorm(n * p), n, p, dimnames = list(NULL, letters[seq_len(p)]))
  x[, 2] <- 50 + 10 * (x[, 1] + x[, 2])
  f <- x[, 1] - (x[, 2] - 50) / 20
  list(x = x, y = f + rlogis(n) > 0)
}

# The bound within 1e-6 relative, coefficients within 1 % of their sd.
expect_same_posterior <- function(svi, vb) {
  a <- utils::tail(elbo(svi), 1)
  b <- utils::tail(elbo(vb), 1)
  expect_lt(abs(a - b), 1e-6 * (1 + abs(b)))
  sd <- sqrt(diag(vcov(vb, type = "posterior")))
  expect_lt(max(abs(coef(svi) - coef(vb)) / sd), 0.01)
  found <- sqrt(diag(vcov(svi, type = "posterior")))
  expect_lt(max(abs(found / sd - 1)), 0.01)
}

svi_fit <- function(..., threads = 1) {
  flat(bsvm)(..., method = "svi", seed = 1, threads = threads, progress = FALSE)
}

test_that("svi ends where vb does: penalised, fixed, weighted, with offset", {
  d <- svi_data()
  set.seed(3)
  frame <- data.frame(d$x, y = d$y, w = runif(3000, 0.5, 2), o = rnorm(3000) / 4)
  expect_same_posterior(svi_fit(d$x, d$y), bsvm(d$x, d$y, threads = 1, method = "vb"))
  for (penalty in list("none", 2, "learn")) {
    expect_same_posterior(
      svi_fit(y ~ a + b * c, frame, weights = w, offset = o, penalty = penalty),
      bsvm(y ~ a + b * c, frame,
        weights = w, offset = o, penalty = penalty, threads = 1, method = "vb"
      )
    )
  }
})

test_that("svi ends where vb does with groups, kept and eliminated", {
  d <- svi_data()
  set.seed(4)
  frame <- data.frame(d$x, y = d$y, g = factor(sample(150, 3000, TRUE)), h = gl(6, 500))
  u <- rnorm(150)
  frame$y <- d$x[, 1] + u[frame$g] * (1 + d$x[, 3]) + rlogis(3000) > 0
  for (formula in list(y ~ a + b + (1 | g), y ~ a + (c | g), y ~ a + (1 | g) + (1 | h))) {
    svi <- svi_fit(formula, frame)
    vb <- bsvm(formula, frame, control = list(tol = 1e-8), threads = 1, method = "vb")
    expect_same_posterior(svi, vb)
    expect_equal(
      as.data.frame(ranef(svi))$condval, as.data.frame(ranef(vb))$condval, tolerance = 1e-2
    )
    expect_equal(fitted(svi), fitted(vb), tolerance = 1e-3)
  }
})

test_that("the path to the optimum does not matter, and is reported", {
  d <- svi_data()
  vb <- bsvm(d$x, d$y, threads = 1, method = "vb")
  for (batch in c(7, 100, 1e5)) {
    for (epochs in c(0, 1, 3)) {
      fit <- svi_fit(d$x, d$y, batch_size = batch, epochs = epochs)
      expect_same_posterior(fit, vb)
      expect_equal(fit$diagnostics$epochs, epochs)
      expect_equal(fit$diagnostics$steps, epochs * max(1, round(3000 / batch)))
    }
  }
  expect_identical(svi_fit(d$x, d$y, epochs = 0)$posterior, vb$posterior)
})

test_that("more columns than rows", {
  set.seed(5)
  x <- matrix(rnorm(40 * 90), 40)
  y <- x[, 1] + rlogis(40) / 4 > 0
  expect_same_posterior(
    svi_fit(x, y, tol = 1e-10), bsvm(x, y, control = list(tol = 1e-10), threads = 1, method = "vb")
  )
})

test_that("the same seed gives the same fit, for any number of threads", {
  d <- svi_data(30000)
  one <- svi_fit(d$x, d$y, batch_size = 5000)
  two <- svi_fit(d$x, d$y, batch_size = 5000, threads = 2)
  expect_identical(one$posterior, two$posterior)
  other <- bsvm(d$x, d$y, method = "svi", seed = 2, control = list(batch_size = 5000), threads = 1)
  expect_false(identical(one$posterior, other$posterior))
  source <- row_source(d$x, d$y)
  a <- bsvm(source, method = "svi", seed = 1, threads = 1)
  expect_identical(a$posterior, bsvm(source, method = "svi", seed = 1, threads = 2)$posterior)
  set.seed(9)
  b <- bsvm(source, method = "svi", threads = 1)
  set.seed(9)
  expect_identical(b$seed, bsvm(source, method = "svi", threads = 1)$seed)
})

test_that("a stream of one block and the matrix are one fit, bit by bit", {
  d <- svi_data()
  stream <- bsvm(row_source(d$x, d$y), method = "svi", seed = 1, threads = 1)
  matrix <- svi_fit(d$x, d$y)
  expect_identical(stream$posterior, matrix$posterior)
  expect_identical(stream$transform, matrix$transform)
  expect_identical(elbo(stream), elbo(matrix))
  for (penalty in list("none", 3)) {
    expect_identical(
      bsvm(row_source(d$x, d$y), method = "svi",
        penalty = penalty, standardize = FALSE, seed = 1, threads = 1,
        prior = bsvm_prior(beta_var = 100)
      )$posterior,
      svi_fit(d$x, d$y,
        penalty = penalty, standardize = FALSE,
        prior = bsvm_prior(beta_var = 100)
      )$posterior
    )
  }
})

test_that("several blocks: the bits of the matrix, result of vb", {
  d <- svi_data(150000, 3)
  d$x[, 3] <- d$x[, 3] + seq_len(150000) / 1e5 # the first block is different
  fit <- bsvm(row_source(d$x, d$y), method = "svi", seed = 1, threads = 2)
  expect_equal(nobs(fit), 150000)
  expect_equal(fit$transform$center[-1], colMeans(d$x))
  expect_equal(fit$transform$scale[-1], apply(d$x, 2, sd))
  matrix <- svi_fit(d$x, d$y)
  expect_identical(fit$transform, matrix$transform)
  expect_identical(fit$posterior, matrix$posterior)
  expect_identical(elbo(fit), elbo(matrix))
  frame <- data.frame(d$x, y = d$y)
  expect_identical(
    bsvm(y ~ ., frame, method = "svi", seed = 1, threads = 1)$posterior$mean, matrix$posterior$mean
  )
  expect_same_posterior(fit, bsvm(d$x, d$y, threads = 2, method = "vb"))
})

test_that("columns that do not vary, or depend on others", {
  d <- svi_data(70000, 3)
  x <- cbind(d$x, constant = 4, late = 0, twin = d$x[, 1] - d$x[, 3])
  x[69000:70000, "late"] <- 1e3 + seq_len(1001)
  expect_bk_warning(
    fit <- bsvm(row_source(x, d$y), method = "svi", seed = 1, threads = 1), "dropped_column",
    "constant"
  )
  expect_identical(fit$dropped, "constant")
  expect_equal(fit$transform$scale[["late"]], sd(x[, "late"]))
  expect_equal(fit$transform$center[["late"]], mean(x[, "late"]))
  fit <- suppressWarnings(
    bsvm(row_source(x, d$y), method = "svi", penalty = "none", seed = 1, threads = 1)
  )
  expect_identical(fit$dropped, c("constant", "twin"))
  vb <- suppressWarnings(bsvm(x, d$y, penalty = "none", threads = 1, method = "vb"))
  expect_identical(vb$dropped, fit$dropped)
  expect_same_posterior(fit, vb)
  expect_equal(
    predict(fit, x[1:10, ], type = "link"), predict(vb, x[1:10, ], type = "link"), tolerance = 1e-4
  )
  # What the first block cannot tell apart, later rows do.
  x[70000, "twin"] <- 5
  fit <- suppressWarnings(
    bsvm(row_source(x, d$y), method = "svi", penalty = "none", seed = 1, threads = 1)
  )
  expect_identical(fit$dropped, "constant")
})

test_that("predict() takes a source, also from a fit to a matrix or formula", {
  d <- svi_data(70000, 3)
  source <- row_source(d$x, d$y)
  fits <- list(
    bsvm(source, method = "svi", seed = 1, threads = 1), bsvm(d$x, d$y, threads = 1, method = "vb"),
    bsvm(y ~ a * c, data.frame(d$x, y = d$y), threads = 1, method = "vb")
  )
  for (fit in fits) {
    new <- if (is.null(fit$formula)) d$x else as.data.frame(d$x)
    expect_identical(predict(fit, source), predict(fit, new))
    expect_identical(predict(fit, source, type = "prob"), predict(fit, new, type = "prob"))
    expect_identical(
      predict(fit, source, type = "link", se.fit = TRUE),
      predict(fit, new, type = "link", se.fit = TRUE)
    )
    expect_identical(
      predict(fit, source, threshold = "prevalence"), predict(fit, new, threshold = "prevalence")
    )
  }
  small <- row_source(d$x[1:30, ])
  expect_identical(
    predict(fits[[1]], small, draws = TRUE, ndraws = 5, seed = 3),
    predict(fits[[1]], d$x[1:30, ], draws = TRUE, ndraws = 5, seed = 3)
  )
  expect_identical(dim(predict(fits[[1]], small, draws = TRUE)), c(1000L, 30L))
})

test_that("a row with a missing predictor is predicted as NA", {
  d <- svi_data(300)
  fit <- bsvm(row_source(d$x, d$y), method = "svi", seed = 1, threads = 1)
  x <- d$x
  x[17, 3] <- NA
  out <- predict(fit, row_source(x), type = "link")
  expect_identical(which(is.na(out)), 17L)
  x[200, 1] <- Inf
  expect_bk_error(predict(fit, row_source(x)), "missing", "a")
})

test_that("a fit to a source answers like others, but for its rows", {
  d <- svi_data(500)
  fit <- bsvm(row_source(d$x, d$y), method = "svi", seed = 1, threads = 1)
  matrix <- svi_fit(d$x, d$y)
  expect_identical(vcov(fit), vcov(matrix, type = "posterior"))
  expect_identical(summary(fit)$coefficients, summary(matrix, vcov = "posterior")$coefficients)
  expect_output(print(fit), "stochastic variational Bayes")
  expect_output(print(summary(fit)), "Converged after")
  expect_identical(tidy(fit), tidy(matrix, vcov = "posterior"))
  expect_equal(glance(fit)$elbo, glance(matrix)$elbo)
  expect_identical(dim(as.matrix(coda::as.mcmc(fit))), c(1000L, 7L))
  for (code in expression(fitted(fit), residuals(fit), predict(fit))) {
    expect_bk_error(eval(code), "argument", "newdata")
  }
  expect_lt(as.numeric(utils::object.size(fit)), 1e5)
})

test_that("a saved fit predicts a source in a fresh session", {
  skip_on_cran()
  skip_if_not_installed("callr")
  d <- svi_data(400)
  fit <- bsvm(row_source(d$x, d$y), method = "svi", seed = 1, threads = 1)
  saved <- tempfile(fileext = ".rds")
  rows <- tempfile()
  saveRDS(fit, saved)
  # Seventeen digits: the same bits.
  utils::write.csv(format(data.frame(d$x), digits = 17), rows, row.names = FALSE, quote = FALSE)
  out <- callr::r(function(saved, rows, path) {
    library(bayeskernel, lib.loc = path)
    predict(readRDS(saved), row_source(rows), type = "link")
  }, list(saved, rows, dirname(system.file(package = "bayeskernel"))))
  expect_identical(out, predict(fit, d$x, type = "link"))
})

test_that("arguments that svi does not take", {
  d <- svi_data(100)
  source <- row_source(d$x, d$y)
  expect_bk_error(bsvm(source, method = "vb"), "argument", "method")
  expect_bk_error(bsvm(source, method = "gibbs"), "argument", "svi")
  expect_bk_error(bsvm(source, control = list(batch_size = 0)), "argument", "batch_size")
  expect_bk_error(bsvm(source, control = list(epochs = -1)), "argument", "epochs")
  expect_bk_error(bsvm(source, chains = 2), "argument", "chains")
  expect_bk_error(bsvm(source, penalty = -1), "argument", "penalty")
  expect_bk_error(bsvm(source, prior = 1), "prior", "bsvm_prior")
  expect_bk_error(svi_fit(d$x, d$y, batch_size = 1.5), "argument", "batch_size")
})

test_that("a cap on the passes warns, separated classes warn", {
  d <- svi_data(500)
  expect_bk_warning(
    bsvm(row_source(d$x, d$y),
      method = "svi", control = list(max_iter = 1), seed = 1, threads = 1
    ), "max_iter"
  )
  x <- matrix(c(-2:-11, 2:11) * 1.0, dimnames = list(NULL, "a"))
  expect_bk_warning(
    bsvm(row_source(x, x[, 1] > 0), method = "svi",
      penalty = "none", seed = 1, threads = 1
    ), "separation"
  )
})

test_that("an interrupt ends a fit to a source and leaves no file", {
  skip_on_cran()
  skip_on_os("windows")
  skip_if_not_installed("callr")
  job <- callr::r_bg(function(path) {
    library(bayeskernel, lib.loc = path)
    x <- matrix(rnorm(3e6), ncol = 10)
    source <- row_source(x, x[, 1] + rlogis(3e5) > 0)
    cat("ready\n")
    flush(stdout())
    out <- tryCatch(
      bsvm(source, method = "svi", control = list(epochs = 10000, progress = FALSE), threads = 1),
      interrupt = function(e) "interrupted"
    )
    list(out, list.files(tempdir(), "bayeskernel-rows"))
  }, list(dirname(system.file(package = "bayeskernel"))), stdout = "|")
  job$poll_io(20000)
  Sys.sleep(2)
  job$interrupt()
  job$wait(60000)
  expect_identical(job$get_result(), list("interrupted", character()))
})
