# Whole weights are repeated rows: the posterior, leave-one-out, the calibrated link, tuning.

cells <- data.frame(
  x = rep(1:3, each = 3), y = factor(rep(c("a", "b", "c"), 3)),
  n = c(90, 10, 10, 10, 90, 10, 10, 10, 90)
)
repeated <- function(d) d[rep(seq_len(nrow(d)), d$n), ]
at <- data.frame(x = 1:3)

both_ways <- function(model, formula, d, ...) {
  fit <- function(...) model(formula, ..., threads = 1, seed = 1)
  list(fit(d, weights = n, ...), fit(repeated(d), ...))
}
same_probabilities <- function(fits, new, tolerance, ...) {
  p <- lapply(fits, predict, new, type = "prob", ...)
  expect_lt(max(abs(p[[1]] - p[[2]])), tolerance)
  invisible(p[[1]])
}

test_that("three classes of gpsvm() have the shares of counts", {
  fits <- both_ways(gpsvm, y ~ x, cells)
  p <- same_probabilities(fits, at, 0.005)
  share <- prop.table(xtabs(n ~ x + y, cells), 1)
  expect_lt(max(abs(p - share)), 0.01)
  expect_identical(fits[[1]]$link$rows, 330)
  same_probabilities(both_ways(gpsvm, y ~ factor(x), cells), at, 0.005)
  # One of each cell is left out, not all of them.
  expect_equal(
    weighted.mean(fits[[1]]$loo, fits[[1]]$weights), mean(fits[[2]]$loo), tolerance = 0.002
  )
})

test_that("methods and rules of tuning of gpsvm() take counts as rows", {
  same_probabilities(both_ways(gpsvm, y ~ x, cells, method = "vb"), at, 0.005)
  same_probabilities(both_ways(gpsvm, y ~ x, cells, tune = FALSE), at, 0.005)
  fits <- both_ways(gpsvm, y ~ x, cells, tune = "cv")
  same_probabilities(fits, at, 0.005)
  expect_equal(fits[[1]]$kernel$lengthscale, fits[[2]]$kernel$lengthscale)
})

test_that("two classes of gpsvm(), of a frame and of a matrix", {
  two <- data.frame(
    x = rep(1:3, each = 2), y = factor(rep(c("a", "b"), 3)), n = c(40, 10, 25, 25, 5, 45)
  )
  p <- same_probabilities(both_ways(gpsvm, y ~ x, two), at, 0.005)
  plain <- gpsvm(cbind(x = two$x), two$y, weights = two$n, threads = 1, seed = 1)
  expect_equal(unname(predict(plain, as.matrix(at), type = "prob")), unname(p), tolerance = 1e-8)
  # The same as pairs of counts.
  wide <- data.frame(x = 1:3, b = c(10, 25, 45), a = c(40, 25, 5))
  pairs <- gpsvm(cbind(b, a) ~ x, wide, threads = 1, seed = 1)
  expect_equal(unname(predict(pairs, at, type = "prob")), unname(p), tolerance = 0.01)
})

test_that("scales of gpsvm() are those of repeated rows", {
  d <- data.frame(x = c(0, 1, 5, 9), z = c(1, 0, 0, 1), y = c(0, 1, 0, 1), n = c(30, 2, 4, 50))
  fits <- both_ways(gpsvm, y ~ x + z, d, tune = FALSE, method = "vb")
  expect_equal(fits[[1]]$transform, fits[[2]]$transform, tolerance = 1e-12)
  expect_equal(fits[[1]]$median_distance, fits[[2]]$median_distance, tolerance = 1e-12)
  skip_if_not_installed("Matrix")
  x <- as.matrix(d[c("x", "z")])
  sparse <- gpsvm(
    Matrix::Matrix(x, sparse = TRUE), d$y, weights = d$n, tune = FALSE,
    method = "vb", threads = 1, seed = 1
  )
  expect_equal(sparse$transform, fits[[1]]$transform, tolerance = 1e-12)
})

test_that("too few of a class are counted by weights", {
  few <- transform(cells, n = replace(n, y == "c", c(3, 4, 22)))
  fit <- gpsvm(y ~ x, few, weights = n, tune = FALSE, threads = 1, seed = 1)
  expect_match(fit$link$why, "30 rows of every class, and one has 29")
  few$n[9] <- 23
  fit <- gpsvm(y ~ x, few, weights = n, tune = FALSE, threads = 1, seed = 1)
  expect_identical(fit$link$rows, 250)
})

test_that("folds of counts hold copies of each row", {
  labels <- c(0, 1, 0)
  out <- fold_shares(labels, 5L, c(10, 5, 2))
  expect_equal(rowSums(out), rep(1, 3))
  expect_equal(out[1:2, ], matrix(0.2, 2, 5))
  once <- fold_shares(labels, 2L)
  expect_identical(once, cbind(c(1, 1, 0), c(0, 0, 1)))
})

test_that("linear machines calibrate on counts as on rows", {
  set.seed(3)
  d <- data.frame(
    x = sample(1:4, 12, TRUE), z = sample(0:1, 12, TRUE),
    y = factor(rep(c("n", "p"), 6)), n = sample(1:40, 12)
  )
  new <- expand.grid(x = 1:4, z = 0:1)
  hinge <- function(...) flat(bkm)(..., family = "hinge")
  for (model in list(bsvm, hinge)) {
    fits <- both_ways(model, y ~ x + z, d, method = "vb")
    same_probabilities(fits, new, 1e-3)
    expect_equal(fits[[1]]$link$rows, sum(d$n))
    same_probabilities(both_ways(model, y ~ x + z, d, method = "ep"), new, 0.01)
  }
})

test_that("mkprobit() takes counts, exactly as repeated rows", {
  skip_if_not_installed("MASS")
  housing <- MASS::housing
  x <- model.matrix(~ Infl + Type + Cont, housing)[, -1]
  k <- unclass(kernel_matrix(rbf(1), x))
  rows <- rep(seq_len(nrow(k)), housing$Freq)
  sat <- factor(housing$Sat, ordered = FALSE)
  fit <- function(...) flat(mkprobit)(..., kernel = basis(), threads = 1, seed = 1)
  counts <- fit(k, sat, weights = housing$Freq)
  long <- fit(k[rows, ], sat[rows])
  expect_equal(
    predict(counts, k, type = "prob"), predict(long, k, type = "prob"), tolerance = 1e-10
  )
  expect_equal(elbo(counts), elbo(long), tolerance = 1e-10)
  sampled <- function(...) {
    suppressWarnings(fit(..., method = "gibbs", chains = 1, warmup = 10, ndraws = 10))
  }
  counts <- sampled(k, sat, weights = housing$Freq)
  expect_equal(
    predict(counts, k, type = "prob"), predict(sampled(k[rows, ], sat[rows]), k, type = "prob"),
    tolerance = 1e-10
  )
  # The shares of the table, by a formula.
  fit <- mkprobit(
    Sat ~ Infl + Type + Cont, transform(housing, Sat = sat), weights = Freq,
    coefficients = "weights", threads = 1, seed = 1
  )
  share <- prop.table(xtabs(Freq ~ interaction(Infl, Type, Cont) + Sat, housing), 1)
  own <- share[as.character(with(housing, interaction(Infl, Type, Cont))), ]
  expect_lt(mean(abs(predict(fit, type = "prob") - own)), 0.02)
  expect_identical(nobs(fit), 72L)
  expect_output(print(fit), "rows stand for 1681 observations")
})

test_that("bark() of classes takes counts, exactly as repeated rows", {
  skip_if_not_installed("MASS")
  housing <- MASS::housing
  housing <- housing[housing$Cont == "Low", ]
  housing$happy <- housing$Sat == "High"
  rows <- rep(seq_len(nrow(housing)), housing$Freq)
  run <- function(formula, data, ..., ndraws = 10) {
    suppressWarnings(flat(bark)(
      formula, data, ..., chains = 2, warmup = 60, ndraws = ndraws, thin = 1, threads = 1, seed = 1
    ))
  }
  families <- list(binomial = happy ~ Infl + Type, ordinal = Sat ~ Infl + (1 | Type))
  for (family in names(families)) {
    counts <- run(families[[family]], housing, family = family, weights = Freq)
    long <- run(families[[family]], housing[rows, ], family = family)
    expect_equal(
      predict(counts, housing, type = "prob"), predict(long, housing, type = "prob"),
      tolerance = 1e-8
    )
    expect_identical(counts$n, nrow(housing))
    if (requireNamespace("rstantools", quietly = TRUE)) {
      expect_equal(
        unname(rstantools::log_lik(counts, seed = 1)),
        unname(rstantools::log_lik(counts, housing, seed = 1)) * rep(housing$Freq, each = 20)
      )
    }
    expect_output(print(counts), "rows stand for 713 observations")
    # A run that is continued, and one that is not.
    more <- function(...) {
      run(families[[family]], housing, family = family, weights = Freq, ..., ndraws = 20)
    }
    expect_equal(
      predict(more(resume = counts), housing, type = "prob"),
      predict(more(), housing, type = "prob")
    )
  }
  expect_equal(
    run(families$binomial, housing, family = "binomial", weights = Freq)$share,
    with(housing, sum(Freq[happy]) / sum(Freq))
  )
})

test_that("weights of classes that are no counts are refused", {
  d <- data.frame(x = rnorm(6), y = rep(0:1, 3), w = c(1, 2.5, 1, 1, 1, 1))
  expect_error(
    bark(y ~ x, d, family = "binomial", weights = w, threads = 1),
    "no counts", class = "bayeskernel_error_argument"
  )
  expect_error(
    mkprobit(y ~ x, d, weights = w, threads = 1),
    "2.5 in row 2", class = "bayeskernel_error_argument"
  )
  expect_error(
    mkprobit(cbind(d$x), d$y, weights = 1:3, threads = 1), class = "bayeskernel_error_dimension"
  )
})

test_that("leave-one-out of counts is that of repeated rows", {
  d <- expand.grid(x = c(-1, 0, 1.5), y = 0:1)
  d$n <- c(30, 22, 6, 8, 20, 33)
  skip_if_not_installed("loo")
  for (family in c("logit", "probit")) {
    fits <- both_ways(bkm, y ~ x, d, family = family)
    elpd <- lapply(fits, function(fit) loo::loo(fit)$estimates)
    expect_equal(elpd[[1]]["elpd_loo", ], elpd[[2]]["elpd_loo", ], tolerance = 0.005)
    expect_equal(elpd[[1]]["p_loo", 1], elpd[[2]]["p_loo", 1], tolerance = 0.1)
  }
})

test_that("chains without some rows leave out one copy of each", {
  set.seed(5)
  d <- data.frame(x = rnorm(60), z = runif(60), g = factor(sample(rep_len(1:10, 60))), n = 2)
  d$y <- factor(ifelse(1.2 * d$x - d$z + rnorm(10)[d$g] + rlogis(60) > 0, "p", "n"))
  slopes <- vapply(1:3, function(seed) {
    fit <- function(data, ...) {
      bsvm(y ~ x + z + (1 | g), data, method = "gibbs", threads = 1, seed = seed, ...)
    }
    links <- suppressWarnings(list(fit(d, weights = n)$link, fit(repeated(d))$link))
    expect_true(links[[1]]$robust && links[[2]]$robust)
    c(links[[1]]$slope, links[[2]]$slope)
  }, numeric(2))
  expect_lt(abs(diff(log(rowMeans(slopes)))), 0.25)
})
