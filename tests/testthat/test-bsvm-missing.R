holed_data <- function(n = 200, seed = 1) {
  set.seed(seed)
  a <- rnorm(n, 3, 2)
  b <- 0.8 * (a - 3) / 2 + 0.6 * rnorm(n)
  c <- rnorm(n)
  g <- gl(10, n / 10)
  f <- (a - 3) / 2 + b - c + rnorm(10)[g]
  d <- data.frame(a, b, c, g, y = factor(f + rlogis(n) > 0))
  d$b[sample(n, n / 4)] <- NA
  d$a[sample(n, n / 10)] <- NA
  d
}

quick_gibbs <- function(...) {
  suppressWarnings(
    flat(bsvm)(..., method = "gibbs", seed = 1, threads = 1),
    classes = "bayeskernel_warning_convergence"
  )
}

test_that("missing predictors are an error unless something is said", {
  d <- holed_data()
  expect_error(bsvm(y ~ a + b + c, d, method = "vb"), class = "bayeskernel_error_missing")
})

test_that("rows with holes are left out on demand, and counted", {
  d <- holed_data()
  complete <- d[stats::complete.cases(d), ]
  expect_message(
    fit <- bsvm(y ~ a + b + c, d, missing = "omit", threads = 1, method = "vb"),
    as.character(nrow(d) - nrow(complete))
  )
  expect_equal(coef(fit), coef(bsvm(y ~ a + b + c, complete, threads = 1, method = "vb")))
  expect_equal(nobs(fit), nrow(complete))
})

test_that("every hole is imputed, in rows and units of the data", {
  d <- holed_data()
  for (method in c("vb", "gibbs")) {
    fit <- suppressWarnings(bsvm(
      y ~ a + b + c, d, method = method, missing = "model", seed = 1, threads = 1, ndraws = 300
    ))
    values <- imputed(fit)
    holes <- which(t(is.na(d[c("a", "b", "c")])), arr.ind = TRUE)
    expect_equal(values$row, unname(holes[, 2]))
    expect_equal(values$column, c("a", "b", "c")[holes[, 1]])
    # Holes in `a`, whose mean is 3, where `b` is known.
    own <- values[values$column == "a", ]
    expect_lt(abs(mean(own$mean) - 3), 1)
    expect_true(all(own$sd > 0.3 & own$sd < 2.5))
  }
})

test_that("new rows with holes are predicted, and others as without a model", {
  d <- holed_data()
  for (method in c("vb", "gibbs")) {
    fit <- suppressWarnings(bsvm(
      y ~ a + b + c + (1 | g), d,
      method = method, missing = "model", seed = 1, threads = 1, ndraws = 300
    ))
    new <- data.frame(
      a = c(1, NA, 1, NA), b = c(NA, 0.5, 0.2, NA), c = c(0, 1, 0, 0),
      g = c("1", "2", "unseen", "3")
    )
    prob <- predict(fit, new, type = "prob")
    expect_true(all(is.finite(prob)))
    expect_equal(rowSums(prob), rep(1, 4))
    # A hole costs certainty.
    filled <- new
    filled$b[1] <- 0
    se <- function(rows) predict(fit, rows, type = "link", se.fit = TRUE)$se.fit[1]
    expect_gt(se(new), se(filled))
    alone <- predict(fit, new[2, ], type = "prob")
    expect_equal(alone, prob[2, , drop = FALSE])
    expect_true(is.na(predict(fit, transform(new, g = NA), type = "link")[1]))
  }
})

test_that("averages over holes are those of simulated values", {
  d <- holed_data()
  new <- data.frame(a = c(1, NA, NA), b = c(NA, 0.5, NA), c = 1, g = c("1", "2", "unseen"))
  formulas <- list(y ~ a + b + c + (1 | g), y ~ a * c + b + (1 + b | g))
  for (formula in formulas) {
    for (method in c("vb", "gibbs")) {
      fit <- suppressWarnings(bsvm(
        formula, d, method = method, missing = "model", seed = 1, threads = 1, ndraws = 1000
      ))
      link <- predict(fit, new, type = "link", se.fit = TRUE)
      draws <- predict(fit, new, draws = TRUE, ndraws = 4000, seed = 2)
      error <- link$se.fit / sqrt(4000)
      expect_true(all(abs(colMeans(draws) - link$fit) < 5 * error))
      expect_equal(apply(draws, 2, stats::sd), unname(link$se.fit), tolerance = 0.1)
    }
  }
})

test_that("the label informs a hole in the rows of the fit", {
  d <- holed_data(n = 400)
  fit <- bsvm(y ~ b, d, missing = "model", threads = 1, method = "vb")
  values <- imputed(fit)
  positive <- d$y[values$row] == "TRUE"
  expect_gt(mean(values$mean[positive]), mean(values$mean[!positive]))
})

test_that("everything together fits, and survives a new process", {
  skip_if_not_installed("callr")
  d <- holed_data()
  d$w <- stats::runif(nrow(d), 0.5, 1.5)
  d$t <- stats::runif(nrow(d))
  new <- d[1:20, ]
  for (method in c("vb", "gibbs")) {
    fit <- suppressWarnings(bsvm(
      y ~ a + b + c + s(t, k = 6) + (1 + b | g), d, method = method, missing = "model",
      select = ~ a + b + c, weights = w, prior = bsvm_prior(rho_beta = c(1, 1)), seed = 1,
      threads = 1, ndraws = 200
    ))
    here <- predict(fit, new, type = "prob")
    expect_true(all(is.finite(here)))
    expect_length(inclusion(fit), 3)
    expect_equal(nrow(imputed(fit)), sum(is.na(d[c("a", "b")])))
    file <- tempfile(fileext = ".rds")
    saveRDS(fit, file)
    there <- callr::r(function(file, new) {
      library(bayeskernel)
      predict(readRDS(file), new, type = "prob")
    }, list(file, new))
    expect_equal(there, here)
  }
})

test_that("rows without weight count for the predictors only", {
  d <- holed_data()
  off <- seq(1, nrow(d), by = 3)
  w <- rep(1, nrow(d))
  w[off] <- 0
  fit <- bsvm(y ~ a + b + c, d, weights = w, missing = "model", threads = 1, method = "vb")
  flipped <- d
  flipped$y[off] <- ifelse(d$y[off] == "TRUE", "FALSE", "TRUE")
  again <- bsvm(y ~ a + b + c, flipped, weights = w, missing = "model", threads = 1, method = "vb")
  expect_equal(coef(again), coef(fit), tolerance = 1e-8)
  expect_equal(imputed(again), imputed(fit), tolerance = 1e-8)
})

test_that("runs of the sampler do not depend on threads or interruptions", {
  d <- holed_data()
  run <- function(...) {
    quick_gibbs(
      y ~ a + b + (1 | g), d, missing = "model", select = ~b, ndraws = 60, warmup = 40, ...
    )
  }
  whole <- run()
  part <- suppressWarnings(bsvm(
    y ~ a + b + (1 | g), d, missing = "model", select = ~b, ndraws = 25,
    control = list(warmup = 40), method = "gibbs", seed = 1, threads = 2
  ))
  joined <- run(resume = part)
  expect_identical(as.array(joined), as.array(whole))
  expect_equal(imputed(joined), imputed(whole))
  expect_equal(inclusion(joined), inclusion(whole))
})

test_that("holes that cannot be modelled are refused with the reason", {
  d <- holed_data()
  missing <- "bayeskernel_error_missing"
  fit <- function(formula, data = d) bsvm(formula, data, missing = "model", method = "vb")
  expect_error(fit(y ~ a:b + c), class = missing)
  expect_error(fit(y ~ poly(b, 2) + c), "b", class = missing)
  expect_error(fit(y ~ s(b) + c), "b", class = missing)
  expect_error(fit(y ~ b + I(b^2)), "b", class = missing)
  nowhere <- transform(d, c = NA_real_)
  expect_error(fit(y ~ a + c, nowhere), "c", class = missing)
  factor_hole <- transform(d, g = replace(g, 3, NA))
  expect_error(fit(y ~ b + (1 | g), factor_hole), "g", class = missing)
  no_label <- transform(d, y = replace(y, 5, NA))
  expect_error(fit(y ~ b, no_label), class = missing)
  expect_error(imputed(bsvm(y ~ c, d, threads = 1, method = "vb")),
    class = "bayeskernel_error_argument"
  )
})
