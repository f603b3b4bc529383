slow_tests <- identical(Sys.getenv("BAYESKERNEL_SLOW"), "true")

sparse_data <- function(n = 300, p = 8, seed = 12) {
  set.seed(seed)
  x <- matrix(rnorm(n * p), n, p, dimnames = list(NULL, paste0("x", 1:p)))
  f <- 1.5 * x[, 1] - x[, 2]
  list(x = x, y = factor(ifelse(f + rlogis(n) > 0, "yes", "no")))
}

quick_gibbs <- function(...) {
  suppressWarnings(
    flat(bsvm)(..., method = "gibbs", seed = 1, threads = 1),
    classes = "bayeskernel_warning_convergence"
  )
}

test_that("both engines find the columns that matter and no other", {
  d <- sparse_data(n = 600)
  prior <- bsvm_prior(rho = 0.01)
  vb <- bsvm(d$x, d$y, select = TRUE, prior = prior, threads = 1, method = "vb")
  gibbs <- quick_gibbs(d$x, d$y, select = TRUE, prior = prior, ndraws = 500)
  for (fit in list(vb, gibbs)) {
    found <- inclusion(fit)
    expect_named(found, colnames(d$x))
    expect_true(all(found[1:2] > 0.95))
    expect_true(all(found[-(1:2)] < 0.5))
  }
})

test_that("the indicator's draws agree with the conditional probabilities", {
  d <- sparse_data(n = 80, p = 4, seed = 2)
  fit <- quick_gibbs(
    d$x, d$y, select = TRUE, prior = bsvm_prior(rho = 0.3, var_shape = 1, var_rate = 1),
    ndraws = 4000
  )
  draws <- as.matrix(fit)
  ins <- colMeans(draws[, colnames(d$x)] != 0)
  expect_equal(inclusion(fit), ins, tolerance = 0.03)
  expect_true(all(draws[, "sigma2[selection]"] > 0))
})

test_that("an excluded term stays in, whatever its effect", {
  d <- sparse_data()
  data <- data.frame(d$x, y = d$y)
  fit <- bsvm(y ~ ., data, select = ~ . - x8, threads = 1, method = "vb")
  expect_false("x8" %in% names(inclusion(fit)))
  expect_setequal(names(inclusion(fit)), paste0("x", 1:7))
  expect_gt(abs(coef(fit)[["x8"]]), 0)
})

test_that("factors are selected level by level", {
  set.seed(3)
  data <- data.frame(g = gl(4, 60, labels = letters[1:4]), z = rnorm(240))
  data$y <- ifelse(data$g == "c", 2, -2) + rlogis(240) > 0
  fit <- bsvm(y ~ g + z, data, select = TRUE, threads = 1,
    prior = bsvm_prior(rho = 0.2), method = "vb"
  )
  found <- inclusion(fit)
  expect_setequal(names(found), c(paste0("g", letters[1:4]), "z"))
  expect_gt(found[["gc"]], 0.9)
  expect_lt(found[["z"]], 0.5)
  expect_equal(unname(predict(fit, data, type = "link")),
    unname(predict(fit, type = "link")),
    tolerance = 1e-8
  )
})

test_that("predictions of the fit's rows and of the same rows as new agree", {
  d <- sparse_data()
  prior <- bsvm_prior(rho = 0.2)
  for (method in c("vb", "gibbs")) {
    fit <- suppressWarnings(bsvm(
      d$x, d$y, select = TRUE, prior = prior, method = method, threads = 1, seed = 1, ndraws = 300
    ))
    old <- predict(fit, type = "link", se.fit = TRUE)
    new <- predict(fit, d$x, type = "link", se.fit = TRUE)
    expect_equal(unname(new$fit), unname(old$fit), tolerance = 1e-8)
    expect_equal(unname(new$se.fit), unname(old$se.fit), tolerance = 1e-8)
  }
})

test_that("draws from q have the moments of the effects", {
  d <- sparse_data(n = 60)
  fit <- bsvm(
    d$x, d$y, select = TRUE, threads = 1, control = list(polish = FALSE),
    prior = bsvm_prior(rho_beta = c(1, 1), var_shape = 1, var_rate = 1), method = "vb"
  )
  draws <- as.matrix(fit, ndraws = 20000, seed = 1)
  names <- names(coef(fit))
  sd <- sqrt(diag(vcov(fit)))
  expect_true(all(abs(colMeans(draws[, names]) - coef(fit)) < 5 * sd / 141))
  expect_equal(apply(draws[, names], 2, stats::sd), sd, tolerance = 0.05)
  kept <- colMeans(draws[, names(inclusion(fit))] != 0)
  expect_equal(kept, inclusion(fit), tolerance = 0.03)
})

test_that("the better of several starts is kept", {
  d <- sparse_data(n = 100, p = 12, seed = 5)
  bounds <- vapply(c(1, 0.5, 0.1), function(start) {
    fit <- bsvm(d$x, d$y, select = TRUE, control = list(starts = start), threads = 1, method = "vb")
    utils::tail(elbo(fit), 1)
  }, 1)
  both <- bsvm(d$x, d$y, select = TRUE, control = list(starts = c(1, 0.5, 0.1)), threads = 1,
    method = "vb")
  expect_equal(utils::tail(elbo(both), 1), max(bounds))
})

test_that("the bound never falls and does not depend on threads", {
  d <- sparse_data(n = 3000, p = 20, seed = 6)
  fits <- lapply(c(1, 2, 4), function(threads) {
    bsvm(d$x, d$y, select = TRUE, threads = threads, method = "vb")
  })
  trace <- elbo(fits[[1]])
  expect_true(all(diff(trace) > -1e-8 * (1 + abs(trace[-1]))))
  for (k in 2:3) {
    expect_identical(elbo(fits[[k]]), trace)
    expect_identical(inclusion(fits[[k]]), inclusion(fits[[1]]))
  }
})

test_that("a path over rho keeps fewer columns as rho falls", {
  d <- sparse_data()
  fit <- bsvm(d$x, d$y, select = TRUE, threads = 1, control = list(polish = FALSE), method = "vb")
  path <- inclusion_path(fit, rho = c(1e-6, 0.5, 0.01))
  expect_equal(path$rho, c(0.5, 0.01, 1e-6))
  kept <- rowSums(path$inclusion > 0.5)
  expect_true(all(diff(kept) <= 0))
  expect_equal(path$inclusion[2, ], inclusion(fit), tolerance = 1e-6)
})

test_that("summary shows inclusion beside its prior", {
  d <- sparse_data()
  fit <- bsvm(d$x, d$y, select = TRUE, prior = bsvm_prior(rho = 0.1), threads = 1, method = "vb")
  table <- summary(fit)$selection
  expect_true(all(c("Inclusion", "Prior") %in% colnames(table)))
  expect_equal(unname(table[, "Prior"]), rep(0.1, 8))
  expect_false(is.unsorted(-table[, "Inclusion"]))
  # The effect of a column that is out has an interval of one point.
  out <- table[, "Inclusion"] < 0.01
  expect_true(all(table[out, c("2.5 %", "97.5 %")] == 0))
})

test_that("quantiles of a spike and slab are those of its draws", {
  set.seed(8)
  draws <- ifelse(runif(1e6) < 0.4, rnorm(1e6, 0.7, 1), 0)
  probs <- c(0.01, 0.05, 0.3, 0.5, 0.9, 0.99)
  ours <- vapply(probs, spike_quantile, 1, mean = 0.7, sd = 1, chance = 0.4)
  expect_equal(ours, unname(quantile(draws, probs)), tolerance = 0.02)
})

test_that("bad selection is refused with the reason", {
  d <- sparse_data(n = 50)
  data <- data.frame(d$x, y = d$y)
  argument <- "bayeskernel_error_argument"
  expect_error(bsvm(y ~ ., data, select = ~ nothere, method = "vb"), class = argument)
  expect_error(bsvm(y ~ ., data, select = "x1", method = "vb"), class = argument)
  expect_error(bsvm(y ~ ., data, select = NA, method = "vb"), class = argument)
  expect_error(bsvm(y ~ ., data, select = TRUE, penalty = "learn", method = "vb"), class = argument)
  expect_error(bsvm(y ~ ., data, select = TRUE, control = list(starts = 0),
    method = "vb"), class = argument)
  expect_error(bsvm_prior(rho = 1), class = "bayeskernel_error_prior")
  expect_error(bsvm_prior(rho = 0), class = "bayeskernel_error_prior")
  plain <- bsvm(y ~ ., data, threads = 1, method = "vb")
  expect_error(inclusion(plain), class = argument)
  expect_error(plot(plain, "inclusion"), class = argument)
})
