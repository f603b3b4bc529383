# What mkprobit() promises beyond the contract: composites, learned weights, any number of classes,
# many rows.

data <- two_spaces()
new <- two_spaces(30, 2)

bound_rises <- function(fit) {
  bound <- elbo(fit)
  expect_true(all(diff(bound) >= -1e-9 * (1 + abs(bound[-1]))))
}

test_that("the bound rises for every composite and scale", {
  for (combine in c("sum", "product", "binary")) {
    for (scales in c("class", "shared", "fixed")) {
      for (accelerate in c(TRUE, FALSE)) {
        fit <- suppressWarnings(mkprobit(
          coefficients = "weights", data$spaces, data$y, combine = combine,
          control = list(latent_scales = scales, tol = 1e-12, max_iter = 40,
            accelerate = accelerate),
          threads = 1, seed = 1
        ))
        bound_rises(fit)
      }
    }
  }
})

test_that("probabilities sum to one and logarithms agree far out", {
  fit <- quick_mkprobit(data$spaces, data$y, latent_scales = "shared")
  far <- lapply(new$spaces, function(x) 1000 * x)
  for (rows in list(new$spaces, far)) {
    prob <- predict(fit, rows, type = "prob")
    expect_lt(max(abs(rowSums(prob) - 1)), 1e-10)
    logs <- predict(fit, rows, type = "logprob")
    expect_true(all(is.finite(logs)))
    expect_equal(exp(logs), prob, tolerance = 1e-10)
  }
  expect_gt(mean(predict(fit, new$spaces) == new$y), 0.7)
})

test_that("a space of weight 0 does not matter, and order is by name", {
  alone <- quick_mkprobit(data$spaces["strong"], data$y)
  both <- quick_mkprobit(data$spaces, data$y, kernel_weights = c(strong = 1, weak = 0))
  expect_equal(
    predict(both, new$spaces, "prob"), predict(alone, new$spaces["strong"], "prob"),
    tolerance = 1e-6
  )
  expect_equal(predict(both, rev(new$spaces), "prob"), predict(both, new$spaces, "prob"))
  # The product with power 0 is the other kernel.
  product <- quick_mkprobit(data$spaces, data$y, combine = "product", kernel_weights = c(0, 1))
  expect_equal(
    predict(product, new$spaces, "prob"), predict(both, new$spaces, "prob"), tolerance = 1e-6
  )
})

test_that("a kernel matrix is the kernel", {
  x <- scale(data$spaces$strong)
  z <- scale(new$spaces$strong, attr(x, "scaled:center"), attr(x, "scaled:scale"))
  k <- kernel_matrix(rbf(1), x)
  given <- quick_mkprobit(list(k = k), data$y, kernel = precomputed())
  made <- quick_mkprobit(x, data$y, kernel = rbf(1), standardize = FALSE)
  expect_equal(
    predict(given, list(k = kernel_matrix(rbf(1), z, x)), "prob"), predict(made, z, "prob"),
    tolerance = 1e-7
  )
  expect_equal(predict(given, type = "prob"), predict(made, type = "prob"), tolerance = 1e-7)
  expect_equal(elbo(given)[3], elbo(made)[3], tolerance = 1e-8)
})

test_that("features by basis() are those that are given", {
  x <- scale(data$spaces$strong)
  features <- cbind(1, x, x[, 1]^2, x[, 1] * x[, 2], x[, 2]^2)
  made <- quick_mkprobit(x, data$y, kernel = basis(2), standardize = FALSE)
  given <- quick_mkprobit(list(x = features), data$y, kernel = basis())
  expect_equal(predict(made, type = "prob"), predict(given, type = "prob"), tolerance = 1e-7)
  expect_equal(ncol(made$coefficients$mean), 6L)
})

test_that("normalising a kernel takes out its size", {
  fit_to <- function(size) {
    quick_mkprobit(
      data$spaces, data$y,
      kernel = polynomial(2, 1, size), normalize = TRUE, latent_scales = "fixed"
    )
  }
  expect_equal(
    predict(fit_to(1), new$spaces, "prob"), predict(fit_to(50), new$spaces, "prob"),
    tolerance = 1e-6
  )
})

test_that("categories are a kernel of their own, unknown levels included", {
  set.seed(4)
  group <- gl(6, 15, labels = letters[1:6])
  y <- factor(ifelse(runif(90) < c(0.1, 0.9)[1 + as.integer(group) %% 2], "u", "v"))
  fit <- quick_mkprobit(list(group = group), y, latent_scales = "shared")
  expect_equal(fit$kernel$kind, "categorical")
  prob <- predict(fit, list(group = c("a", "b", "zz", NA)), "prob")[, "u"]
  expect_gt(prob[1], 0.7)
  expect_lt(prob[2], 0.3)
  expect_equal(prob[[3]], 0.5, tolerance = 0.05)
  expect_true(is.na(prob[[4]]))
  k <- kernel_matrix(categorical(), data.frame(g = c("a", "b", "a")))
  expect_equal(unname(k), rbind(c(1, 0, 1), c(0, 1, 0), c(1, 0, 1)))
})

test_that("objects as regressors come near the fit to all of them", {
  big <- two_spaces(240, 3)
  fit_to <- function(...) {
    flat(mkprobit)(
      coefficients = "weights", big$spaces, big$y, latent_scales = "shared", threads = 1, seed = 1,
      ...
    )
  }
  all <- fit_to()
  some <- fit_to(inducing = 60)
  expect_equal(ncol(some$coefficients$mean), 60L)
  expect_lt(mean(abs(predict(all, new$spaces, "prob") - predict(some, new$spaces, "prob"))), 0.06)
  # Its rows are not kept, their probabilities are.
  expect_equal(
    fitted(some), predict(some, big$spaces, "prob"), tolerance = 1e-8, ignore_attr = TRUE
  )
})

test_that("draws of probabilities have the mean and the spread of predict()", {
  fit <- quick_mkprobit(data$spaces, data$y, latent_scales = "shared")
  rows <- lapply(new$spaces, head, 4)
  draws <- predict(fit, rows, "prob", draws = TRUE, ndraws = 4000, seed = 1)
  expect_equal(dim(draws), c(4000L, 4L, 3L))
  expect_lt(max(abs(apply(draws, 1:2, sum) - 1)), 1e-10)
  spread <- predict(fit, rows, "prob", se.fit = TRUE, ndraws = 4000)
  # Five standard errors of the mean of 4000 draws.
  expect_true(all(abs(apply(draws, 2:3, mean) - spread$fit) <= 5 * spread$se.fit / sqrt(4000)))
  expect_equal(apply(draws, 2:3, sd), spread$se.fit, tolerance = 0.1, ignore_attr = TRUE)
  limits <- predict(fit, rows, "prob", interval = "credible", level = 0.9)
  expect_equal(dimnames(limits)[[2]], c("fit", "lwr", "upr"))
  inside <- colMeans(
    draws[, 2, ] >= rep(limits[2, "lwr", ], each = 4000) &
      draws[, 2, ] <= rep(limits[2, "upr", ], each = 4000)
  )
  expect_true(all(abs(inside - 0.9) < 0.05))
})

test_that("a class without rows has probability 0, and one with a row warns", {
  y <- factor(data$y, c("a", "b", "c", "d"))
  fit <- mkprobit(coefficients = "weights", data$spaces, y, threads = 1, seed = 1)
  prob <- predict(fit, new$spaces, "prob")
  expect_equal(colnames(prob), letters[1:4])
  expect_true(all(prob[, "d"] == 0))
  y[1] <- "d"
  expect_warning(
    mkprobit(coefficients = "weights", data$spaces, y, threads = 1, seed = 1),
    class = "bayeskernel_warning_response"
  )
})

test_that("classifiers are combined by rule", {
  fits <- lapply(data$spaces, function(x) quick_mkprobit(x, data$y))
  parts <- Map(predict, fits, new$spaces, MoreArgs = list(type = "prob"))
  for (rule in c("product", "mean", "max", "majority")) {
    both <- combine_classifiers(fits, rule)
    prob <- predict(both, new$spaces, "prob")
    expected <- switch(rule,
      product = parts[[1]] * parts[[2]], mean = parts[[1]] + parts[[2]],
      max = pmax(parts[[1]], parts[[2]]), NULL
    )
    expect_lt(max(abs(rowSums(prob) - 1)), 1e-12)
    if (!is.null(expected)) {
      expect_equal(prob, expected / rowSums(expected), tolerance = 1e-9)
    } else {
      # Where both agree, their class; else that of the larger mean.
      chosen <- lapply(parts, max.col, "first")
      agree <- chosen[[1]] == chosen[[2]]
      mean <- max.col(parts[[1]] + parts[[2]], "first")
      expect_equal(max.col(prob, "first"), ifelse(agree, chosen[[1]], mean))
    }
  }
  other <- quick_mkprobit(data$spaces$weak, factor(data$y == "a"))
  expect_bk_error(combine_classifiers(list(fits[[1]], other)), "argument", "classes")
})

test_that("results do not depend on threads", {
  fit_by <- function(threads) {
    mkprobit(coefficients = "weights", data$spaces, data$y, threads = threads, seed = 1)
  }
  one <- fit_by(1)
  two <- fit_by(3)
  expect_identical(one$coefficients, two$coefficients)
  expect_identical(
    predict(one, new$spaces, "prob", threads = 1), predict(one, new$spaces, "prob", threads = 3)
  )
})
