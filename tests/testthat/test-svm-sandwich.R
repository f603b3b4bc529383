# Standard errors of support vector machines over samples.

machine_data <- function(n = 120, seed = 1) {
  with_seed(seed, {
    d <- data.frame(x = rnorm(n), z = rnorm(n, 3, 2), g = gl(n / 6, 6))
    d$y <- d$x + rnorm(n / 6)[d$g] / 2 + rlogis(n) > 0
    d
  })
}

test_that("the jackknife foretells refits without each row", {
  d <- machine_data(60)
  fit <- bsvm(y ~ x + z, d,
    method = "ep", penalty = "none", prior = bsvm_prior(beta_var = 10),
    standardize = FALSE, control = list(tol = 1e-6), threads = 1
  )
  moved <- t(vapply(seq_len(60), function(i) {
    coef(fit) - coef(update(fit, data = d[-i, ]))
  }, numeric(3)))
  refits <- crossprod(moved)
  expect_equal(sqrt(diag(vcov(fit))), sqrt(diag(refits)), tolerance = 0.12, ignore_attr = TRUE)
  expect_gt(cor(c(vcov(fit)), c(refits)), 0.98)
})

test_that("engines agree on the sandwich, which is wider than the posterior", {
  d <- machine_data()
  sds <- lapply(c("ep", "vb", "svi", "gibbs"), function(method) {
    fit <- bsvm(y ~ x + z, d, method = method, threads = 1, seed = 1, penalty = 1, ndraws = 500)
    expect_true(all(diag(vcov(fit)) > diag(vcov(fit, type = "posterior"))))
    sqrt(diag(vcov(fit)))
  })
  for (k in 2:4) expect_lt(max(abs(log(sds[[k]] / sds[[1]]))), 0.15)
  expect_equal(sds[[2]], sds[[3]], tolerance = 0.01)
})

test_that("the sandwich does not depend on the scale of weights or columns", {
  d <- machine_data()
  fit <- function(...) {
    flat(bsvm)(y ~ x + z, ..., method = "ep", penalty = "none", threads = 1, tol = 1e-6)
  }
  one <- fit(d)
  # Whole weights are rows; one site for two of them is another approximation.
  twice <- fit(rbind(d, d))
  counted <- fit(d, weights = rep(2, 120))
  expect_equal(vcov(counted), vcov(twice), tolerance = 0.06)
  expect_lt(vcov(twice)["x", "x"], 0.6 * vcov(one)["x", "x"])
  # Others are powers: half the evidence, but no fewer rows.
  half <- fit(d, weights = rep(0.5, 120))
  expect_equal(vcov(half), vcov(one), tolerance = 0.2)
  moved <- fit(transform(d, z = 10 * z))
  expect_equal(vcov(moved)["z", "z"], vcov(one)["z", "z"] / 100, tolerance = 1e-3)
})

test_that("with bars the sandwich is by groups of the outer term", {
  d <- machine_data()
  fit <- bsvm(y ~ x + z + (1 | g), d, method = "ep", threads = 1)
  expect_match(fit$sandwich$by, "20 groups of g")
  d$h <- factor(rep(1:10, each = 12))
  d$k <- factor(rep(1:6, 20))
  nested <- bsvm(y ~ x + (1 | h) + (1 | h:g), d, method = "ep", threads = 1)
  expect_match(nested$sandwich$by, "10 groups of h")
  crossed <- bsvm(y ~ x + (1 | g) + (1 | k), d, method = "ep", threads = 1)
  expect_null(crossed$sandwich$cov)
  expect_match(facts(crossed)[["Standard errors"]], "no sandwich")
  expect_bk_error(vcov(crossed, type = "sandwich"), "argument", "nest")
  expect_equal(vcov(crossed), vcov(crossed, type = "posterior"))
})

test_that("all that shows standard errors shows the same", {
  d <- machine_data()
  for (method in c("ep", "gibbs")) {
    fit <- bsvm(y ~ x + z, d, method = method, ndraws = 200, threads = 1, seed = 2)
    for (type in c("sandwich", "posterior")) {
      sd <- sqrt(diag(vcov(fit, type = type)))
      expect_equal(summary(fit, vcov = type)$coefficients[, "SD"], sd)
      expect_equal(tidy(fit, vcov = type)$std.error[1:3], unname(sd))
      expect_equal(confint(fit, type = type), summary(fit, vcov = type)$coefficients[, 3:4])
    }
    sd <- sqrt(diag(vcov(fit)))
    width <- confint(fit)[, 2] - confint(fit)[, 1]
    expect_equal(width, 2 * qnorm(0.975) * sd)
    if (requireNamespace("insight", quietly = TRUE)) {
      expect_equal(insight::get_statistic(fit)$Statistic, unname(coef(fit) / sd))
    }
    expect_equal(get_vcov.bayeskernel_fit(fit), vcov(fit))
    expect_equal(get_vcov.bayeskernel_fit(fit, "posterior"), vcov(fit, type = "posterior"))
  }
})

test_that("more columns than rows, selection and likelihoods", {
  x <- with_seed(1, matrix(rnorm(900), 20))
  y <- x[, 1] + x[, 2] > 0
  wide <- bsvm(x, y, threads = 1, penalty = 1, method = "ep")
  expect_equal(dim(vcov(wide)), c(46, 46))
  expect_equal(summary(wide)$coefficients[, "SD"], sqrt(diag(vcov(wide))), tolerance = 1e-6)
  d <- machine_data()
  selected <- bsvm(y ~ x + z, d, select = TRUE, method = "vb", threads = 1)
  expect_match(facts(selected)[["Standard errors"]], "no sandwich with select")
  logit <- bkm(y ~ x + z, d, threads = 1)
  expect_null(facts(logit)[["Standard errors"]])
  expect_equal(vcov(logit), vcov(logit, type = "posterior"))
  expect_bk_error(vcov(logit, type = "sandwich"), "argument", "likelihood")
  expect_bk_error(vcov(logit, type = "robust"), "argument", "type")
})

test_that("null coefficients are rejected as often as stated", {
  slow <- identical(Sys.getenv("BAYESKERNEL_SLOW"), "true")
  skip_if_not(slow, "BAYESKERNEL_SLOW is not true")
  # Binomial with 160 sets: 5 % + 3.5 standard errors.
  limit <- qbinom(1 - 1e-4, 160, 0.06) / 160
  out <- vapply(1:160, function(s) {
    d <- with_seed(s, {
      x <- matrix(rnorm(300), 100, dimnames = list(NULL, c("a", "b", "c")))
      data.frame(x, y = x[, 1] + rlogis(100) > 0)
    })
    fit <- bsvm(y ~ a + b + c, d, method = "ep", threads = 1)
    ends <- confint(fit, "c")
    inner <- confint(fit, "c", type = "posterior")
    c(prod(ends) > 0, prod(inner) > 0)
  }, numeric(2))
  expect_lte(mean(out[1, ]), limit)
  # What the posterior of a pseudo-likelihood says instead.
  expect_gt(mean(out[2, ]), 0.15)
})

test_that("so they are where the rare class was given up", {
  slow <- identical(Sys.getenv("BAYESKERNEL_SLOW"), "true")
  skip_if_not(slow, "BAYESKERNEL_SLOW is not true")
  out <- vapply(1:150, function(s) {
    d <- with_seed(s, {
      x <- matrix(rnorm(4000), 1000) %*% chol(0.3 + 0.7 * diag(4))
      colnames(x) <- c("a", "b", "c", "d")
      data.frame(x, y = x[, 1] + x[, 2] / 2 + rlogis(1000) > 1.75)
    })
    fit <- may_give_up(bsvm(y ~ ., d, threads = 1))
    ends <- confint(fit, c("c", "d"))
    c(length(fit$given_up) > 0, ends[, 1] > 0 | ends[, 2] < 0)
  }, numeric(3))
  # What normal theory at the mode of the grid says is wrong in 37 % of these.
  expect_gt(mean(out[1, ]), 0.9)
  expect_lte(mean(out[2:3, ]), 0.08)
})

test_that("copies of rows are so many rows, also over a grid of variances", {
  d <- machine_data(120)
  d <- data.frame(x = round(d$x), z = round(d$z / 2), y = d$y, n = 1)
  few <- stats::aggregate(n ~ x + z + y, d, sum)
  expect_lt(nrow(few), 80)
  sds <- lapply(list(
    bsvm(y ~ x + z, d, standardize = FALSE, threads = 1),
    bsvm(y ~ x + z, few, weights = n, standardize = FALSE, threads = 1)
  ), function(fit) sqrt(diag(vcov(fit))))
  # One message for up to 14 rows is coarser: it is 5 % of posterior sds.
  expect_equal(sds[[2]], sds[[1]], tolerance = 0.12)
})
