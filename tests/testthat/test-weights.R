# Whole weights are repeated rows: of both, fits must agree in all that they say. Weights go with x,
# so that its mean is another one with them.

set.seed(5)
n <- 60
d <- data.frame(
  x = round(2 * rnorm(n, 3, 2)) / 2, z = round(runif(n), 1),
  f = factor(sample(letters[1:3], n, TRUE)), g = factor(sample(1:6, n, TRUE)), o = rnorm(n)
)
d$w <- pmin(rpois(n, exp(0.3 * (d$x - 3))), 5)
eta <- with(d, -1 + 0.4 * x + sin(3 * z) + rnorm(6)[g])
d$y <- 1e4 + 3 * eta + rnorm(n)
d$b <- factor(ifelse(runif(n) < plogis(eta), "yes", "no"))
d$k <- factor(c("p", "q", "r")[1 + (eta + rlogis(n) > 0) + (eta + rlogis(n) > 1.2)])
d$s <- rbinom(n, 4, plogis(eta))
d$h <- replace(d$x, sample(n, 12), NA)
at <- rep(seq_len(n), d$w)
repeated <- d[at, ]
new <- data.frame(
  x = c(-1, 1, 3, 8), z = c(0.1, 0.9, 0.5, 0.7), f = factor(c("a", "b", "c", "a")),
  g = factor(1:4, levels = 1:6), o = 1, h = c(-1, 1, 3, 8)
)

say <- function(code) suppressWarnings(suppressMessages(code))

# A fit with weights, and that of repeated rows.
both <- function(fit, formula, ...) {
  list(
    say(fit(formula, d, weights = d$w, ..., threads = 1)),
    say(fit(formula, repeated, ..., threads = 1))
  )
}

# elbo() and log_evidence() of a pair where the fit has them.
scores <- function(fit) {
  score <- function(code) tryCatch(code, bayeskernel_error_argument = function(e) NULL)
  c(utils::tail(score(elbo(fit)), 1L), score(log_evidence(fit)), score(deviance(fit)))
}

expect_same <- function(pair, tolerance = 1e-6, label = deparse1(pair[[1]]$call$formula)) {
  type <- if (is.null(pair[[1]]$levels)) "response" else "prob"
  ask <- function(fit) predict(fit, new, type = type, se.fit = is.null(fit$levels))
  expect_equal(ask(pair[[1]]), ask(pair[[2]]), tolerance = tolerance, info = label)
  expect_equal(scores(pair[[1]]), scores(pair[[2]]), tolerance = tolerance, info = label)
  if (!inherits(pair[[1]], c("bkm", "bsvm"))) return(invisible())
  expect_equal(fixef(pair[[1]]), fixef(pair[[2]]), tolerance = tolerance, info = label)
  expect_equal(vcov(pair[[1]]), vcov(pair[[2]]), tolerance = tolerance, info = label)
}

test_that("regressions with whole weights are those of repeated rows", {
  terms <- list(
    y ~ x + z + f, y ~ x * f + offset(o), y ~ x + z - 1, y ~ s(x) + z, y ~ x + (x | g),
    y ~ x + z + (1 | g)
  )
  for (formula in terms) {
    for (method in c("ep", "vb")) expect_same(both(bkm, formula, method = method))
  }
  expect_same(both(bkm, y ~ x + z, penalty = "learn"), 1e-5)
  # A search for the length-scale ends a little elsewhere.
  expect_same(both(bkm, y ~ gp(x) + z), 0.02)
  expect_same(both(bkm, y ~ x + z + f, select = TRUE, method = "vb"))
  expect_same(both(bkm, y ~ x + z + f, standardize = FALSE))
})

test_that("classes with whole weights are those of repeated rows", {
  for (formula in list(b ~ x + z + f, b ~ s(x) + z, b ~ x + z + (1 | g))) {
    for (family in c("logit", "probit", "hinge")) {
      pair <- both(bkm, formula, family = family, method = "vb")
      expect_same(pair, if (family == "hinge") 1e-3 else 1e-6, label = family)
    }
  }
  counts <- both(bkm, cbind(s, 4 - s) ~ x + z, method = "vb")
  expect_equal(coef(counts[[1]]), coef(counts[[2]]), tolerance = 1e-6)
  # Expectation propagation takes the copies of a row at once: another approximation.
  at_once <- both(bkm, b ~ x + z + f)
  expect_equal(coef(at_once[[1]]), coef(at_once[[2]]), tolerance = 0.02)
  expect_equal(log_evidence(at_once[[1]]), log_evidence(at_once[[2]]), tolerance = 0.01)
  expect_same(both(mkprobit, k ~ x + z, tune = FALSE, inducing = 6, seed = 1))
  expect_same(both(gpsvm, b ~ x + z, method = "vb", kernel = rbf(1), inducing = 12,
    seed = 1), 1e-5)
})

test_that("each copy of a row without a predictor has a value of its own", {
  for (formula in list(y ~ h + z, b ~ h + z)) {
    for (method in c("ep", "vb")) {
      expect_same(both(bkm, formula, method = method, missing = "model"))
    }
  }
  fit <- bkm(y ~ h + z, d, weights = w, missing = "model", threads = 1)
  expect_length(fitted(fit), n)
  whole <- !is.na(d$h)
  expect_equal(fitted(fit)[whole], unname(predict(fit, d[whole, ])), tolerance = 1e-6)
  expect_equal(weights(fit), d$w)
  expect_equal(nobs(fit), sum(d$w > 0))
  expect_equal(nrow(imputed(fit)), sum(d$w[is.na(d$h)]))
  expect_equal(nrow(augment(fit)), sum(d$w))
  expect_identical(coef(update(fit)), coef(fit))
  huge <- transform(d, w = 1e7 * w)
  expect_bk_error(
    bkm(y ~ h + z, huge, weights = w, missing = "model", threads = 1), "argument", "too many rows"
  )
})

test_that("matrices, spaces and kernel matrices have them, too", {
  x <- as.matrix(d[c("x", "z")])
  one <- bkm(x, d$y, weights = d$w, threads = 1)
  expect_equal(coef(one), coef(bkm(x[at, ], d$y[at], threads = 1)), tolerance = 1e-6)
  first <- match(which(d$w > 0), at)
  same <- function(x, taken, ...) {
    one <- say(mkprobit(x, d$k, weights = d$w, threads = 1, seed = 1, ...))
    two <- say(mkprobit(taken, d$k[at], threads = 1, seed = 1, ...))
    expect_equal(fitted(one)[d$w > 0, ], fitted(two)[first, ], tolerance = 1e-6,
      ignore_attr = TRUE)
    expect_false(anyNA(fitted(one)))
  }
  same(list(a = x[, 1, drop = FALSE], b = x[, 2, drop = FALSE]),
    list(a = x[at, 1, drop = FALSE], b = x[at, 2, drop = FALSE]), tune = FALSE)
  k <- unname(exp(-as.matrix(dist(x))^2))
  same(k, k[at, at], kernel = precomputed())
})

test_that("weights that are not whole scale the likelihood alone", {
  plain <- bkm(y ~ x + z, d, threads = 1)
  part <- bkm(y ~ x + z, d, weights = w + 0.5, threads = 1)
  expect_equal(part$transform[c("center", "scale")], plain$transform[c("center", "scale")])
  expect_equal(coef(bkm(y ~ x + z, d, weights = 3.3 * (w + 0.5), threads = 1)), coef(part),
    tolerance = 1e-5)
  expect_bk_error(log_evidence(part), "argument", "powers")
  expect_identical(
    predict(bkm(b ~ s(x) + z, d, weights = rep(1, n), threads = 1), d),
    predict(bkm(b ~ s(x) + z, d, threads = 1), d)
  )
})

test_that("rows of weight 0 stand where glm() has them", {
  holed <- transform(d, h = replace(h, 1:3, NA), w = replace(w, 2:5, 0))
  fit <- bkm(y ~ h + z, holed, weights = w, na.action = na.exclude, threads = 1)
  by_ols <- stats::lm(y ~ h + z, holed, weights = w, na.action = na.exclude)
  expect_equal(fitted(fit), unname(fitted(by_ols)), tolerance = 1e-4)
  expect_equal(unname(residuals(fit)), unname(residuals(by_ols)), tolerance = 1e-3)
  expect_equal(nobs(fit), nobs(by_ols))
  expect_equal(weights(fit), unname(weights(by_ols)))
  fit <- bkm(cbind(s, 4 - s) ~ x, d, weights = w, subset = z > 0.2, threads = 1)
  by_glm <- stats::glm(cbind(s, 4 - s) ~ x, stats::binomial, d, weights = w, subset = z > 0.2)
  expect_equal(weights(fit), unname(weights(by_glm)))
  expect_equal(unname(residuals(fit)), unname(residuals(by_glm, "response")), tolerance = 0.02)
  # One after the other and together, with all that predict() knows.
  fit <- bkm(y ~ x + (1 | g), d, weights = w, threads = 1)
  for (ask in list(list(interval = "credible"), list(type = "terms"), list(se.fit = TRUE))) {
    expect_equal(do.call(predict, c(list(fit), ask)), do.call(predict, c(list(fit, d), ask)),
      tolerance = 1e-6, ignore_attr = TRUE)
  }
  expect_identical(dim(predict(fit, draws = TRUE, ndraws = 5)), c(5L, nrow(d)))
  expect_equal(nrow(augment(fit)), sum(d$w > 0))
})

test_that("extend() takes counts, and rows of weight 0", {
  first <- say(bsvm(b ~ x + z, d[1:30, ], threads = 1))
  more <- d[31:60, ]
  by_weight <- say(extend(first, more, weights = more$w, threads = 1))
  by_row <- say(extend(first, more[rep(1:30, more$w), ], threads = 1))
  expect_equal(coef(by_weight), coef(by_row), tolerance = 0.02)
  expect_equal(vcov(by_weight), vcov(by_row), tolerance = 0.05)
})

test_that("curves, exposures and calibration of whole weights are those of repeated rows", {
  set.seed(8)
  d <- data.frame(a = rnorm(40), b = rnorm(40), w = rep(c(1, 4, 0, 2), 10))
  d$y <- factor(d$a + d$b + rlogis(40) > 0.4, labels = c("no", "yes"))
  d$a[7] <- NA
  long <- d[rep(1:40, d$w), ]
  answers <- function(fit) {
    list(
      plot_data(fit, "partial"), as.data.frame(exposure(fit)),
      plot_data(fit, "calibration", link = "logit")
    )
  }
  for (omit in c(na.omit, na.exclude)) {
    fits <- lapply(list(d, long), function(rows) {
      own <- if (nrow(rows) == 40L) rows$w else rep(1, nrow(rows))
      bkm(y ~ a + b, rows, weights = own, na.action = omit, method = "vb", seed = 1, threads = 1)
    })
    expect_equal(answers(fits[[1]]), answers(fits[[2]]), tolerance = 1e-6, ignore_attr = TRUE)
  }
  # Counts are whole weights, too.
  d$n <- d$w + 1
  d$s <- pmin(d$n, 1 + (d$b > 0))
  labels <- d[rep(1:40, d$n), ]
  labels$hit <- unlist(Map(function(s, n) rep(1:0, c(s, n - s)), d$s, d$n))
  fits <- list(
    bkm(cbind(s, n - s) ~ b + w, d, method = "vb", seed = 1, threads = 1),
    bkm(hit ~ b + w, labels, method = "vb", seed = 1, threads = 1)
  )
  curves <- lapply(fits, plot_data, type = "partial")
  expect_equal(curves[[1]], curves[[2]], tolerance = 1e-6, ignore_attr = TRUE)
  # Large weights do not make as many rows.
  d$w <- 1e8 * d$w
  fit <- bkm(b ~ w, d, weights = w, method = "vb", seed = 1, threads = 1)
  expect_identical(dim(repeated_data(fit))[1], 10000L)
})

test_that("copies of numbers that a process goes through have a leave-one-out score", {
  # The noise is next to nothing, and rounding gave NaN.
  set.seed(1)
  d <- data.frame(x = runif(30))
  d$y <- sin(6 * d$x) + 0.3 * rnorm(30)
  expect_no_warning(
    fit <- bkm(y ~ gp(x), d, weights = rep(2, 30), family = "gaussian", seed = 1, threads = 1)
  )
  expect_true(all(is.finite(fit$loo)))
})

test_that("weights that are no counts and far from 1 are told", {
  w <- seq(20.5, 90.5, length.out = nrow(mtcars))
  for (by in c(1, 1e-4)) {
    expect_warning(
      bkm(mpg ~ wt, mtcars, weights = w * by, threads = 1), "w / mean\\(w\\)",
      class = "bayeskernel_warning_weights"
    )
  }
  expect_no_warning(bkm(mpg ~ wt, mtcars, weights = round(w), threads = 1))
  expect_no_warning(bkm(mpg ~ wt, mtcars, weights = w / mean(w), threads = 1))
})
