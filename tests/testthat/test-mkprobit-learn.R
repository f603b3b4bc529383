# Learned weights and length-scales, and the sampler beside variational Bayes.

data <- two_spaces()
new <- two_spaces(30, 2)

learn <- function(...) {
  suppressWarnings(mkprobit(
    data$spaces, data$y,
    kernel_weights = "learn", threads = 1, seed = 1, ...
  ))
}
bound_of <- function(fit) utils::tail(elbo(fit), 1)

test_that("weights of a sum are learned by every estimator", {
  equal <- mkprobit(
    data$spaces, data$y,
    threads = 1, seed = 1, tol = 1e-8, max_iter = 2000
  )
  for (by in c("profile", "map")) {
    fit <- learn(weights_method = by, tol = 1e-6, max_iter = 500)
    weights <- kernel_weights(fit)
    expect_equal(weights$space, names(data$spaces), label = by)
    expect_equal(sum(weights$mean), 1, tolerance = 1e-8, label = by)
    expect_true(all(weights$mean >= 0), label = by)
    expect_lt(max(abs(rowSums(predict(fit, new$spaces, "prob")) - 1)), 1e-10)
    # The prior of weights is flat on the simplex of two: its density is one.
    if (by == "profile") expect_gte(bound_of(fit), bound_of(equal) - 1e-3)
  }
})

test_that("weights of a product are learned", {
  for (by in c("profile", "map")) {
    fit <- learn(combine = "product", weights_method = by)
    expect_true(all(kernel_weights(fit)$mean > 0), label = by)
    expect_gt(mean(predict(fit, new$spaces) == new$y), 0.5)
  }
})

test_that("subsets have probabilities, the empty one only when asked", {
  fit <- learn(combine = "binary", tol = 1e-8, max_iter = 1000)
  weights <- kernel_weights(fit)
  states <- attr(weights, "states")
  expect_equal(nrow(states), 3L)
  expect_equal(sum(states$probability), 1)
  expect_false(is.unsorted(rev(states$probability)))
  at <- as.matrix(states[names(data$spaces)])
  expect_equal(
    weights$mean, unname(drop(states$probability %*% at)),
    tolerance = 1e-8
  )
  # The predictions are averages over the subsets.
  each <- apply(at, 1, function(state) {
    one <- suppressWarnings(mkprobit(
      data$spaces, data$y,
      combine = "binary", kernel_weights = state, threads = 1, seed = 1,
      tol = 1e-8, max_iter = 1000
    ))
    predict(one, new$spaces, "prob")
  }, simplify = FALSE)
  expected <- Reduce(`+`, Map(`*`, each, states$probability))
  expect_equal(predict(fit, new$spaces, "prob"), expected, tolerance = 1e-4)
  all <- learn(combine = "binary", allow_empty = TRUE)
  expect_equal(nrow(attr(kernel_weights(all), "states")), 4L)
})

test_that("length-scales are learned, one or one a column", {
  fit_to <- function(...) {
    suppressWarnings(mkprobit(
      data$spaces$strong, data$y,
      threads = 1, seed = 1, tol = 1e-7, max_iter = 500, ...
    ))
  }
  held <- fit_to(kernel = rbf(3))
  tuned <- fit_to(kernel = rbf(3), tune = TRUE)
  before <- kernel_parameters(held)[["lengthscale"]]
  after <- kernel_parameters(tuned)[["lengthscale"]]
  expect_false(isTRUE(all.equal(before, after)))
  expect_equal(kernel_parameters(tuned)[["variance"]], 1)
  each <- fit_to(kernel = rbf(3, ard = TRUE), tune = TRUE)
  expect_length(kernel_parameters(each), 3L)
  # Predictions know the kernel that was learned.
  expect_equal(
    predict(tuned, type = "prob"), predict(tuned, data$spaces$strong, "prob"),
    tolerance = 1e-8
  )
})

test_that("a sparse prior leaves few regressors", {
  fit <- suppressWarnings(mkprobit(
    data$spaces, data$y,
    sparse = TRUE, latent_scales = "shared", threads = 1, seed = 1,
    tol = 1e-8, max_iter = 2000
  ))
  # Precisions above a thousand leave nothing of a regressor.
  alpha <- fit$coefficients$alpha[1, ]
  expect_lt(sum(alpha < 100), 30)
  bound <- elbo(fit)
  expect_true(all(diff(bound) >= -1e-9 * (1 + abs(bound[-1]))))
  expect_gt(mean(predict(fit, new$spaces) == new$y), 0.6)
})

sampled <- function(...) {
  suppressWarnings(mkprobit(
    ...,
    method = "gibbs", chains = 2, warmup = 200, draws = 400, seed = 1,
    threads = 1, progress = FALSE
  ))
}

test_that("the sampler and variational Bayes predict alike", {
  prior <- mkprobit_prior(tau = 3, nu = 3)
  gibbs <- sampled(data$spaces, data$y, prior = prior)
  vb <- mkprobit(data$spaces, data$y, prior = prior, threads = 1, seed = 1)
  ours <- predict(vb, new$spaces, "prob")
  theirs <- predict(gibbs, new$spaces, "prob", se.fit = TRUE)
  expect_lt(mean(abs(ours - theirs$fit)), 0.05)
  expect_gt(stats::cor(as.vector(ours), as.vector(theirs$fit)), 0.97)
  expect_equal(dim(theirs$se.fit), dim(theirs$fit))
  expect_true(all(theirs$se.fit > 0))
  draws <- predict(gibbs, new$spaces, "prob", draws = TRUE)
  expect_equal(dim(draws), c(800L, 30L, 3L))
  expect_equal(apply(draws, 2:3, mean), theirs$fit,
    tolerance = 1e-8, ignore_attr = TRUE
  )
})

test_that("draws of weights and length-scales have names on the log scale", {
  gibbs <- sampled(
    data$spaces, data$y,
    kernel_weights = "learn", tune = TRUE, latent_scales = "shared"
  )
  names <- dimnames(as.array(gibbs))[[3]]
  expect_true(all(c(
    "weight[weak]", "weight[strong]", "rho[weak]", "rho[strong]",
    "log_theta[weak]", "log_theta[strong]"
  ) %in% names))
  expect_s3_class(as.mcmc.list(gibbs), "mcmc.list")
  weights <- as.matrix(gibbs)[, c("weight[weak]", "weight[strong]")]
  expect_equal(rowSums(weights), rep(1, 800), tolerance = 1e-10)
  expect_equal(kernel_weights(gibbs)$mean, unname(colMeans(weights)))
  # Every draw has its kernels at new rows.
  own <- predict(gibbs, data$spaces, "prob")
  expect_gt(mean(own[cbind(seq_along(data$y), as.integer(data$y))]), 0.5)
  more <- suppressWarnings(mkprobit(
    data$spaces, data$y,
    kernel_weights = "learn", tune = TRUE, latent_scales = "shared",
    method = "gibbs", chains = 2, warmup = 200, draws = 450, seed = 1,
    threads = 2, progress = FALSE, start = gibbs
  ))
  expect_identical(more$draws[1:400, , ], gibbs$draws[, , ])
  expect_equal(ncol(more$posterior$core$chains[[1]]$mean), 450L)
})
