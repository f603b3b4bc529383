# bark() finds what is there: small problems with known answers.

long_bark <- function(...) quick_bark(..., chains = 2, warmup = 4000, ndraws = 400, thin = 10)

test_that("a regression is recovered with its noise and its predictors", {
  set.seed(1)
  x <- matrix(runif(120 * 4, -2, 2), 120)
  f <- 50 + 10 * sin(2 * x[, 1]) + 5 * x[, 2]
  y <- f + rnorm(120, 0, 2)
  for (scales in c("equal", "different")) {
    fit <- long_bark(x, y, select = TRUE, scales = scales)
    expect_lt(sqrt(mean((fitted(fit) - f)^2)), 1.2)
    expect_equal(mean(fit$draws[, , "sigma"]), 2, tolerance = 0.2)
    expect_true(all(inclusion(fit)[1:2] > 0.95))
    expect_true(all(inclusion(fit)[3:4] < 0.6))
    inside <- predict(fit, x, interval = "credible", level = 0.9, seed = 1)
    expect_gt(mean(inside[, "lwr"] < f & f < inside[, "upr"]), 0.75)
    new <- matrix(runif(400, -1.8, 1.8), 100)
    truth <- 50 + 10 * sin(2 * new[, 1]) + 5 * new[, 2]
    expect_gt(cor(predict(fit, new), truth), 0.98)
  }
})

test_that("a sum of functions of different predictors is found as one", {
  set.seed(1)
  x <- matrix(runif(150 * 4), 150)
  f <- 3 * sin(12 * x[, 1]) + 4 * x[, 2] + 3 * cos(2 * x[, 3])
  y <- f + rnorm(150, 0, 0.3)
  error <- vapply(1:2, function(vectors) {
    fit <- long_bark(x, y, prior = bark_prior(vectors = vectors))
    sqrt(mean((fitted(fit) - f)^2))
  }, 0)
  # In four such data sets the second was 0.71 to 0.88 of the first.
  expect_lt(error[2], 0.9 * error[1])
  expect_lt(error[2], 0.12)
})

test_that("two classes are told apart by a circle", {
  set.seed(2)
  x <- matrix(runif(150 * 3, -1, 1), 150)
  y <- x[, 1]^2 + x[, 2]^2 <= 2 / pi
  fit <- long_bark(x, y, family = "binomial", select = TRUE, scales = "equal")
  new <- matrix(runif(600, -1, 1), 200)
  truth <- new[, 1]^2 + new[, 2]^2 <= 2 / pi
  expect_lt(mean((predict(fit, new) == "TRUE") != truth), 0.12)
  expect_true(all(inclusion(fit)[1:2] > 0.9))
  expect_lt(inclusion(fit)[[3]], 0.5)
})

test_that("ordered classes are put in order", {
  d <- bark_data(120)
  fit <- long_bark(three ~ a + g, d, family = "ordinal")
  expect_gt(mean(predict(fit, d) == d$three), 0.8)
  expect_true(all(fit$draws[, , "cut[2]"] > fit$draws[, , "cut[1]"]))
  f <- predict(fit, d, type = "link")
  expect_gt(cor(f, d$y, method = "spearman"), 0.9)
  # Two ordered classes are two classes.
  d$pair <- factor(d$two, ordered = TRUE)
  expect_identical(
    quick_bark(pair ~ a, d, family = "ordinal")$draws,
    quick_bark(two ~ a, d, family = "binomial")$draws
  )
})

test_that("every prior and setting goes through", {
  d <- bark_data()
  expect_fit <- function(...) {
    fit <- quick_bark(..., select = TRUE)
    expect_true(all(is.finite(as.matrix(fit))))
    expect_equal(predict(fit, d), fitted(fit))
  }
  for (prior in list(
    bark_prior(alpha = 1.5, gamma = 3), bark_prior(alpha = 0.7),
    bark_prior(phi = c(2, 1)), bark_prior(inclusion = c(1, 4)),
    bark_prior(max_kernels = 3), bark_prior(lambda_shape = 2, lambda_rate = 5)
  )) {
    for (scales in c("equal", "different")) {
      expect_fit(y ~ a + b + g, d, prior = prior, scales = scales)
    }
    expect_fit(y ~ a + b + g, d, prior = prior, structure = markov(0.3, 0.2))
  }
  one <- quick_bark(y ~ a, d, prior = bark_prior(phi = c(2e4, 1e4)))
  # A sharp prior holds the precision of the standardised noise at 2.
  expect_equal(mean(one$draws[, , "phi"]), 2, tolerance = 0.05)
})

test_that("blocks of neighbours are found along an axis", {
  set.seed(4)
  x <- matrix(rnorm(60 * 30), 60)
  signal <- rowSums(x[, 11:14])
  fit <- quick_bark(
    x, signal > 0, family = "binomial", select = TRUE, structure = markov(0.15, 0.2), chains = 4,
    warmup = 8000, ndraws = 300, thin = 10
  )
  found <- inclusion(fit)
  expect_true(all(found[11:14] > max(found[c(1:9, 16:30)])))
})
