# Crossed random terms at linear cost against the same terms as dense columns.

crossed_rows <- function(n = 900, a = 30, b = 20, seed = 1, sd = c(1, 0.7)) {
  set.seed(seed)
  d <- data.frame(
    x = rnorm(n, 3, 2), a = factor(sample(a, n, TRUE)), b = factor(sample(b, n, TRUE))
  )
  f <- 0.4 * (d$x - 3) + sd[1] * rnorm(a)[d$a] + sd[2] * rnorm(b)[d$b]
  d$y <- factor(ifelse(f + rnorm(n) > 0, "yes", "no"), c("no", "yes"))
  d
}

# Until `env` is left all random terms are crossed, whatever their size.
force_crossed <- function(env = parent.frame()) {
  home <- asNamespace("bayeskernel")
  set <- function(limits) {
    unlockBinding("random_limits", home)
    assign("random_limits", limits, home)
    lockBinding("random_limits", home)
  }
  before <- home$random_limits
  do.call(on.exit, list(as.call(list(set, before)), add = TRUE), envir = env)
  set(function() lapply(before(), function(limit) 0))
}

crossed_fit <- function(..., method = "vb") {
  force_crossed()
  flat(bsvm)(..., threads = 1, progress = FALSE, method = method)
}

sds <- function(fit) vapply(VarCorr(fit), function(v) attr(v, "stddev")[[1]], 0)

test_that("crossed terms agree with dense columns, means and intervals", {
  d <- crossed_rows()
  new <- rbind(d[1:50, ], transform(d[1:10, ], a = "new"))
  new$b[60] <- NA
  formula <- y ~ x + (1 | a) + (1 | b)
  dense <- bsvm(formula, d, threads = 1, method = "vb")
  fit <- crossed_fit(formula, d)
  expect_null(dense$posterior$pairs)
  expect_equal(coef(fit), coef(dense), tolerance = 0.005)
  expect_equal(vcov(fit), vcov(dense), tolerance = 0.02)
  expect_equal(sds(fit), sds(dense), tolerance = 0.005)
  one <- as.data.frame(ranef(fit))
  two <- as.data.frame(ranef(dense))
  expect_lt(max(abs(one$condval - two$condval) / two$condsd), 0.05)
  expect_equal(one$condsd, two$condsd, tolerance = 0.02)
  one <- predict(fit, new, type = "link", se.fit = TRUE)
  two <- predict(dense, new, type = "link", se.fit = TRUE)
  expect_equal(is.na(one$fit), is.na(two$fit))
  expect_lt(max(abs(one$fit - two$fit) / two$se.fit, na.rm = TRUE), 0.05)
  expect_equal(unname(one$se.fit), unname(two$se.fit), tolerance = 0.02)
  expect_output(print(summary(fit)), "a exact given b, whose levels")
})

test_that("predictions for the rows of a crossed fit are those of the fit", {
  d <- crossed_rows(400)
  fit <- crossed_fit(y ~ x + (1 | a) + (x | b), d)
  own <- predict(fit, type = "link", se.fit = TRUE)
  new <- predict(fit, d, type = "link", se.fit = TRUE)
  expect_equal(unname(new$fit), unname(own$fit), tolerance = 1e-8)
  expect_equal(unname(new$se.fit), unname(own$se.fit), tolerance = 1e-7)
})

test_that("draws from a crossed fit have its means and standard errors", {
  d <- crossed_rows(400)
  fit <- crossed_fit(y ~ x + (x | a) + (1 | b), d)
  new <- d[1:20, ]
  draws <- predict(fit, new, draws = TRUE, ndraws = 8000, seed = 1)
  exact <- predict(fit, new, type = "link", se.fit = TRUE)
  z <- (colMeans(draws) - exact$fit) / exact$se.fit * sqrt(8000)
  expect_lt(max(abs(z)), 5)
  expect_equal(unname(apply(draws, 2, sd)), unname(exact$se.fit), tolerance = 0.04)
})

test_that("nested terms are exact: the inner one is eliminated", {
  d <- crossed_rows(500, a = 10, b = 6)
  d$c <- interaction(d$a, sample(3, nrow(d), TRUE), drop = TRUE)
  formula <- y ~ x + (1 | a) + (1 | c)
  dense <- bsvm(formula, d, threads = 1, control = list(tol = 1e-9), method = "vb")
  fit <- crossed_fit(formula, d, tol = 1e-9)
  expect_equal(vapply(fit$posterior$random, `[[`, 1L, "crossed"), c(2L, 1L))
  expect_equal(max(elbo(fit)), max(elbo(dense)), tolerance = 1e-8)
  expect_equal(coef(fit), coef(dense), tolerance = 1e-4)
  expect_equal(ranef(fit), ranef(dense), tolerance = 1e-3)
  # A small term inside a larger crossed design: still the nested one.
  crossed <- lapply(c("b", "a", "c"), function(name) {
    list(group = as.integer(d[[name]]), levels = levels(d[[name]]))
  })
  expect_equal(bayeskernel:::inner_term(crossed, 1:3, c(60, 10, 30)), 3)
})

test_that("crossed slopes, weights, offsets, smooths, a penalty go together", {
  d <- crossed_rows(700)
  d$w <- runif(700, 0.5, 1.5)
  d$o <- rnorm(700) / 5
  d$s <- runif(700)
  formula <- y ~ s(s) + x + offset(o) + (x | a) + (1 | b)
  dense <- bsvm(formula, d, weights = w, penalty = "learn", threads = 1, method = "vb")
  fit <- crossed_fit(formula, d, weights = w, penalty = "learn")
  expect_lt(max(abs(predict(fit, d, type = "link") - predict(dense, d, type = "link"))), 0.05)
  expect_equal(sds(fit), sds(dense), tolerance = 0.02)
  expect_equal(unname(unlist(VarCorr(fit))), unname(unlist(VarCorr(dense))), tolerance = 0.03)
})

test_that("a crossed Gibbs fit agrees with the dense one", {
  d <- crossed_rows(300, 12, 8)
  formula <- y ~ x + (1 | a) + (1 | b)
  run <- function(fit, seed) {
    suppressWarnings(fit(formula, d,
      method = "gibbs", chains = 2, warmup = 300, ndraws = 1500, seed = seed
    ))
  }
  fit <- run(crossed_fit, 1)
  dense <- run(function(..., method = "vb") {
    flat(bsvm)(..., threads = 1, progress = FALSE, method = method)
  }, 2)
  expect_identical(dimnames(fit$draws), dimnames(dense$draws))
  one <- as.matrix(fit)
  two <- as.matrix(dense)
  gap <- (colMeans(one) - colMeans(two)) / apply(two, 2, sd)
  expect_lt(max(abs(gap)), 0.3)
  spread <- apply(one, 2, sd) / apply(two, 2, sd)
  details <- startsWith(names(spread), "Sigma")
  expect_true(all(abs(spread[!details] - 1) < 0.2))
  expect_equal(predict(fit, d, type = "prob"), predict(dense, d, type = "prob"), tolerance = 0.02)
  expect_output(print(summary(fit)), "a and b, drawn jointly")
})

test_that("crossed fits do not depend on threads, and chains can go on", {
  d <- crossed_rows(6000, 300, 200)
  formula <- y ~ x + (1 | a) + (1 | b)
  force_crossed()
  vb <- lapply(1:2, function(k) bsvm(formula, d, threads = k, method = "vb")$posterior)
  expect_identical(vb[[1]], vb[[2]])
  run <- function(ndraws, threads, ...) {
    suppressWarnings(flat(bsvm)(formula, d,
      method = "gibbs", chains = 1, warmup = 5, ndraws = ndraws, seed = 3,
      threads = threads, ...
    ))
  }
  whole <- run(10, 1)
  expect_identical(run(10, 2)$draws, whole$draws)
  expect_identical(run(10, 1, resume = run(4, 1))$draws, whole$draws)
})

test_that("1,000 levels of two crossed factors are fitted unasked", {
  d <- crossed_rows(4000, 1000, 700)
  fit <- bsvm(y ~ x + (1 | a) + (1 | b), d, threads = 1, method = "vb")
  expect_equal(vapply(fit$posterior$random, `[[`, 1L, "crossed"), 1:2)
  expect_equal(dim(ranef(fit)$b), c(nlevels(d$b), 1L))
  expect_true(all(is.finite(sds(fit))))
  expect_lt(object.size(fit), 5e6)
})

test_that("variances learned by mean field are near those of the sampler", {
  # Ten rows a level, as in the largest designs.
  d <- crossed_rows(3000, 300, 300, seed = 4, sd = c(1, 0))
  formula <- y ~ x + (1 | a) + (1 | b)
  vb <- crossed_fit(formula, d)
  gibbs <- suppressWarnings(crossed_fit(formula, d,
    method = "gibbs", chains = 1, warmup = 500, ndraws = 1500, seed = 1
  ))
  draws <- as.matrix(gibbs)
  sigma <- sqrt(draws[, startsWith(colnames(draws), "Sigma[")])
  expect_lt(abs(sds(vb)[["a"]] / mean(sigma[, 1]) - 1), 0.15)
  # One that is not there: the pseudo-likelihood, which counts every label about twice, sees some of
  # it with ten rows a level; mean field not more than the sampler.
  expect_lt(sds(vb)[["b"]], mean(sigma[, 2]) + 0.05)
  expect_lt(sds(vb)[["b"]], 0.5)
})

test_that("probabilities for new rows are as calibrated as with columns", {
  gaps <- function(fit) {
    rows <- lapply(1:3, function(seed) {
      d <- crossed_rows(3000, 60, 40, seed = seed)
      out <- fit(y ~ x + (1 | a) + (1 | b), d[1:2000, ])
      data.frame(p = predict(out, d[2001:3000, ], type = "prob")[, 2], y = d$y[2001:3000] == "yes")
    })
    rows <- do.call(rbind, rows)
    bin <- cut(rows$p, c(0, 0.2, 0.4, 0.6, 0.8, 1))
    tapply(rows$y, bin, mean) - tapply(rows$p, bin, mean)
  }
  crossed <- gaps(crossed_fit)
  dense <- gaps(function(..., method = "vb") flat(bsvm)(..., threads = 1, method = method))
  expect_equal(crossed, dense, tolerance = 0.1)
  expect_lt(max(abs(crossed)), 0.15)
})

test_that("too many levels with selection, holes or svi are a classed error", {
  d <- crossed_rows(200)
  force_crossed()
  refuse <- function(..., method = "vb") {
    expect_error(
      flat(bsvm)(y ~ x + (1 | a) + (1 | b), ..., threads = 1, method = method),
      class = "bayeskernel_error_argument"
    )
  }
  refuse(d, select = TRUE)
  refuse(d, method = "svi")
  d$x[1:5] <- NA
  refuse(d, missing = "model")
  expect_error(
    bsvm(y ~ x + (1 | a) + (1 | b), d, missing = "model", threads = 1, method = "vb"),
    "20 columns of random effects"
  )
})
