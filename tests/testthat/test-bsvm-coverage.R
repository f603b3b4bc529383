# Intervals of the sampler cover what they should, over data sets from the joint density of
# parameters, predictors and labels.

slow_tests <- identical(Sys.getenv("BAYESKERNEL_SLOW"), "true")

test_that("90 % intervals of imputed values cover nine times in ten", {
  skip_if_not(slow_tests, "BAYESKERNEL_SLOW is not true")
  set.seed(20)
  covered <- replicate(200, {
    state <- draw_joint(propose_with_holes)
    holes <- sample(10, 4)
    x <- state$x
    x[holes, 2] <- NA
    colnames(x) <- c("a", "b")
    fit <- suppressWarnings(bsvm(
      x, state$y, method = "gibbs", missing = "model", prior = joint_prior(), learning_rate = 1,
      standardize = FALSE, control = list(keep_imputed = TRUE, warmup = 500), threads = 1, seed = 1,
      ndraws = 1000
    ))
    names <- sprintf("x[%d,b]", sort(holes))
    inside(state$x[sort(holes), 2], as.matrix(fit)[, names])
  })
  expect_gt(mean(covered), 0.88)
  expect_lt(mean(covered), 0.92)
})

test_that("90 % intervals of a smooth at the data cover nine times in ten", {
  skip_if_not(slow_tests, "BAYESKERNEL_SLOW is not true")
  set.seed(21)
  covered <- replicate(200, {
    d <- data.frame(x = stats::rnorm(10), y = rep(0:1, 5))
    model <- y ~ s(x, k = 5)
    design <- bsvm_design(model, d, standardize = FALSE)
    state <- draw_joint(function() propose_smooth(design))
    d$y <- state$y
    fit <- suppressWarnings(bsvm(
      model, d, method = "gibbs", prior = joint_prior(), standardize = FALSE, seed = 1, threads = 1,
      control = list(warmup = 500), ndraws = 1000
    ))
    smooth <- fit$smooths[[1]]
    at <- c(smooth$fixed, smooth$blocks[[1]])
    curves <- tcrossprod(as.matrix(fit)[, colnames(design$x)[at]], design$x[, at])
    inside(state$curve, curves)
  })
  expect_gt(mean(covered), 0.88)
  expect_lt(mean(covered), 0.92)
})

test_that("inclusion is its prior on average, and the share of what is in", {
  skip_if_not(slow_tests, "BAYESKERNEL_SLOW is not true")
  set.seed(22)
  prior <- bsvm_prior(beta_var = 1, var_shape = 3, var_rate = 2, rho = 0.1)
  runs <- replicate(150, simplify = FALSE, {
    state <- draw_joint(propose_selection)
    fit <- suppressWarnings(bsvm(
      state$x, state$y, method = "gibbs", select = TRUE, prior = prior, standardize = FALSE,
      learning_rate = 1, seed = 1, threads = 1, control = list(warmup = 300), ndraws = 500,
      chains = 2
    ))
    data.frame(inclusion = inclusion(fit), truth = state$effect != 0)
  })
  means <- vapply(runs, function(run) mean(run$inclusion), 1)
  truth <- vapply(runs, function(run) mean(run$truth), 1)
  # The rejection step favours models of one size or another, so what is in on average is not quite
  # rho; inclusion must follow it.
  error <- stats::sd(means - truth) / sqrt(length(runs))
  expect_lt(abs(mean(means - truth)), 4 * error)
  expect_lt(abs(mean(means) - 0.1), 0.02)
  all <- do.call(rbind, runs)
  high <- all$inclusion > 0.2
  expect_gt(sum(high), 50)
  gap <- mean(all$truth[high]) - mean(all$inclusion[high])
  expect_lt(abs(gap), 4 * sqrt(0.25 / sum(high)))
})
