# Learned weights and length-scales, and the sampler beside variational Bayes.

data <- two_spaces()
new <- two_spaces(30, 2)

learn <- function(...) {
  suppressWarnings(flat(mkprobit)(
    coefficients = "weights", data$spaces, data$y, kernel_weights = "learn", threads = 1, seed = 1,
    ...
  ))
}
bound_of <- function(fit) utils::tail(elbo(fit), 1)

test_that("weights of a sum are learned by every estimator", {
  equal <- mkprobit(
    coefficients = "weights", data$spaces, data$y, threads = 1, seed = 1,
    control = list(tol = 1e-8, max_iter = 2000)
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

test_that("weights by predictions of left-out objects are the default", {
  for (combine in c("sum", "product")) {
    fit <- learn(combine = combine)
    expect_identical(
      fit$weights_table, learn(combine = combine, weights_method = "loo")$weights_table
    )
    weights <- kernel_weights(fit)
    expect_true(all(weights$mean > 0), label = combine)
    expect_gt(weights$mean[2], weights$mean[1], label = combine)
    # The fit is that of these weights.
    held <- mkprobit(
      coefficients = "weights", data$spaces, data$y, combine = combine,
      kernel_weights = weights$mean, threads = 1, seed = 1
    )
    expect_equal(held$coefficients, fit$coefficients, tolerance = 1e-10)
    # And they predict better than equal ones.
    many <- two_spaces(300, 2)
    loss <- function(fit) {
      p <- predict(fit, many$spaces, "prob")
      -mean(log(p[cbind(seq_along(many$y), as.integer(many$y))]))
    }
    equal <- mkprobit(
      coefficients = "weights", data$spaces, data$y, combine = combine, threads = 1, seed = 1
    )
    expect_lt(loss(fit), 0.95 * loss(equal), label = combine)
  }
})

test_that("an object that is left out is no regressor, matrix or not", {
  fit <- learn()
  kernels <- Map(function(x, name) {
    z <- scale(x)
    exp(-as.matrix(dist(z))^2 / ncol(z))
  }, data$spaces, names(data$spaces))
  by_matrix <- suppressWarnings(mkprobit(
    coefficients = "weights", kernels, data$y, kernel = precomputed(), kernel_weights = "learn",
    threads = 1, seed = 1
  ))
  expect_equal(kernel_weights(by_matrix)$mean, kernel_weights(fit)$mean, tolerance = 1e-3)
  few <- learn(inducing = 20)
  expect_true(all(kernel_weights(few)$mean > 0))
  expect_lt(mean(predict(few, new$spaces) != new$y), 0.5)
})

test_that("weights of a product are learned", {
  for (by in c("profile", "map")) {
    fit <- learn(combine = "product", weights_method = by)
    expect_true(all(kernel_weights(fit)$mean > 0), label = by)
    expect_gt(mean(predict(fit, new$spaces) == new$y), 0.5)
  }
})

test_that("subsets have probabilities, the empty one only when asked", {
  for (by in c("loo", "enumerate")) {
    fit <- learn(combine = "binary", weights_method = by, tol = 1e-8, max_iter = 1000)
    weights <- kernel_weights(fit)
    states <- attr(weights, "states")
    expect_equal(nrow(states), 3L)
    expect_equal(sum(states$probability), 1)
    expect_false(is.unsorted(rev(states$probability)))
    at <- as.matrix(states[names(data$spaces)])
    expect_equal(weights$mean, unname(drop(states$probability %*% at)), tolerance = 1e-8)
    # The predictions are averages over the subsets.
    each <- apply(at, 1, function(state) {
      one <- suppressWarnings(mkprobit(
        coefficients = "weights", data$spaces, data$y, combine = "binary", kernel_weights = state,
        threads = 1, seed = 1, control = list(tol = 1e-8, max_iter = 1000)
      ))
      predict(one, new$spaces, "prob")
    }, simplify = FALSE)
    expected <- Reduce(`+`, Map(`*`, each, states$probability))
    expect_equal(predict(fit, new$spaces, "prob"), expected, tolerance = 1e-4)
    all <- learn(combine = "binary", weights_method = by, allow_empty = TRUE)
    expect_equal(nrow(attr(kernel_weights(all), "states")), 4L)
  }
})

test_that("subsets are weighed within one fit, as derived and as printed", {
  d <- two_spaces(9)
  kernels <- lapply(d$spaces, function(x) exp(-as.matrix(dist(scale(x)))^2 / ncol(x)))
  for (target in c("exact", "point")) {
    fit <- suppressWarnings(flat(mkprobit)(
      d$spaces, d$y, coefficients = "weights", combine = "binary", kernel_weights = "learn",
      latent_scales = "fixed", weights_method = "is", is_target = target, threads = 1, seed = 1,
      tol = 1e-12, max_iter = 3000, prior = mkprobit_prior(weights = 0.3)
    ))
    states <- attr(kernel_weights(fit), "states")
    at <- as.matrix(states[names(d$spaces)])
    each <- lapply(seq_len(nrow(at)), function(s) Reduce(`+`, Map(`*`, kernels, at[s, ])))
    average <- function(f) Reduce(`+`, Map(function(k, p) p * f(k), each, states$probability))
    k <- average(identity)
    w <- fit$coefficients$mean
    y <- cone_means(w %*% k, as.integer(d$y))
    exact <- target == "exact"
    v <- solve((if (exact) average(tcrossprod) else tcrossprod(k)) + diag(9))
    log_q <- rowSums(at) * log(0.3 / 0.7) + vapply(each, function(k) {
      -sum((y - w %*% k)^2) / 2 - if (exact) 3 * sum(k * (v %*% k)) / 2 else 0
    }, 0)
    q <- exp(log_q - max(log_q))
    expect_equal(states$probability, q / sum(q), tolerance = 1e-4, label = target)
    expect_equal(sum(is.na(states$bound)), 3L)
  }
  few <- iris[c(1:4, 51:54), 1:4]
  many <- stats::setNames(lapply(1:11, function(s) few + s), letters[1:11])
  expect_bk_error(mkprobit(
    many, factor(rep(1:2, each = 4)), coefficients = "weights", combine = "binary",
    kernel_weights = "learn", control = list(weights_method = "is")
  ), "argument", "too many subsets")
})

test_that("a chain over subsets does not begin where no kernel is in", {
  many <- two_spaces(60)
  fit <- quick_mkprobit(
    many$spaces, many$y, combine = "binary", kernel_weights = "learn", method = "gibbs"
  )
  expect_gt(max(kernel_weights(fit)$mean), 0.5)
  other <- two_spaces(60, 2)
  expect_lt(mean(predict(fit, other$spaces) != other$y), 0.4)
})

test_that("length-scales are learned, one or one a column", {
  fit_to <- function(...) {
    suppressWarnings(flat(mkprobit)(
      coefficients = "weights", data$spaces$strong, data$y, threads = 1, seed = 1, tol = 1e-7,
      max_iter = 500, ...
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
    predict(tuned, type = "prob"), predict(tuned, data$spaces$strong, "prob"), tolerance = 1e-8
  )
})

test_that("weights of a sum have a posterior by points and by slices", {
  # Not near zero, where flat points are few.
  prior <- mkprobit_prior(weights = c(200, 100))
  fits <- lapply(c(is = "is", slice = "slice"), function(by) {
    learn(weights_method = by, tol = 1e-6, max_iter = 300, prior = prior)
  })
  tables <- lapply(fits, kernel_weights)
  for (table in tables) {
    expect_equal(sum(table$mean), 1, tolerance = 1e-8)
    # Two weights that sum to one vary together.
    expect_equal(table$sd[1], table$sd[2], tolerance = 1e-6)
    expect_true(all(table$sd > 0))
    expect_true(all(table$lower < table$mean & table$mean < table$upper))
    expect_equal(table$upper - table$lower, 2 * 1.96 * table$sd, tolerance = 0.2)
  }
  # Some 370 points that count: five errors of simulation.
  expect_lt(max(abs(tables$is$mean - tables$slice$mean) / tables$slice$sd), 0.3)
  expect_equal(tables$is$sd, tables$slice$sd, tolerance = 0.2)
  bound <- elbo(fits$is)
  expect_gt(length(bound), 5L)
  expect_true(all(diff(bound) >= -1e-9 * (1 + abs(bound[-1]))))
  expect_gte(fits$is$diagnostics$weights_ess, 50)
  expect_equal(
    predict(fits$is, new$spaces, "prob"), predict(fits$slice, new$spaces, "prob"), tolerance = 0.01
  )
  expect_identical(learn(
    weights_method = "is", tol = 1e-6, max_iter = 300, prior = prior
  )$coefficients, fits$is$coefficients)
})

test_that("the spread of weights is shown, and is in predictions", {
  fit <- learn(weights_method = "slice", tol = 1e-6, max_iter = 300)
  table <- kernel_weights(fit)
  expect_output(print(fit), "sd 0", fixed = TRUE)
  expect_output(print(summary(fit)), "effective sample size of the weights", fixed = TRUE)
  shown <- tidy(fit)
  at <- match(sprintf("weight[%s]", table$space), shown$term)
  expect_equal(shown$estimate[at], table$mean)
  expect_equal(shown$std.error[at], table$sd)
  path <- tempfile(fileext = ".pdf")
  on.exit(unlink(path))
  grDevices::pdf(path)
  drawn <- plot(fit, "weights")
  grDevices::dev.off()
  expect_equal(drawn$lower, table$lower)
  # Draws of W and of the weights have the moments that predict() gives.
  rows <- lapply(new$spaces, head, 5)
  draws <- predict(fit, rows, "link", draws = TRUE, ndraws = 4000, seed = 1)
  moments <- predict(fit, rows, "link", se.fit = TRUE)
  expect_true(all(abs(apply(draws, 2:3, mean) - moments$fit) <= 5 * moments$se.fit / sqrt(4000)))
  expect_equal(apply(draws, 2:3, sd), moments$se.fit, tolerance = 0.06, ignore_attr = TRUE)
  point <- learn(weights_method = "map", tol = 1e-6, max_iter = 300)
  expect_true(all(is.na(kernel_weights(point)$sd)))
})

test_that("weights of a product have a posterior by points", {
  fit <- learn(combine = "product", weights_method = "is", max_iter = 30)
  table <- kernel_weights(fit)
  expect_true(all(table$sd > 0 & table$lower < table$upper))
  expect_gt(mean(predict(fit, new$spaces) == new$y), 0.5)
})

test_that("a sparse prior drops regressors that nobody misses", {
  set.seed(3)
  n <- 40
  x <- matrix(rnorm(2 * n), n, dimnames = list(NULL, c("a", "b")))
  y <- factor(max.col(cbind(
    2 * x[, 1], -2 * x[, 1] + x[, 2], -2 * x[, 2]
  ) + matrix(rnorm(3 * n), n)))
  fresh <- matrix(rnorm(60), 30, dimnames = list(NULL, c("a", "b")))
  for (scales in c("class", "shared")) {
    fit_to <- function(...) {
      suppressWarnings(flat(mkprobit)(
        coefficients = "weights", x, y, latent_scales = scales, tol = 1e-7, max_iter = 3000,
        seed = 1, threads = 1, ...
      ))
    }
    fit <- fit_to(sparse = TRUE)
    kept <- fit$relevant
    expect_named(kept, if (scales == "class") levels(y) else "common")
    expect_true(all(kept < n / 2), label = scales)
    expect_true(all(kept > 0))
    # What is dropped has no coefficient.
    gone <- rowSums(fit$coefficients$mean != 0)
    expect_true(all(gone <= kept))
    expect_output(print(summary(fit)), "Relevant", fixed = TRUE)
    expect_output(print(summary(fit)), paste(kept[[1]], "of 40|", kept[[1]]))
    # The same prior without dropping.
    all <- fit_to(prior = mkprobit_prior(tau = 1e-6, nu = 1e-6))
    expect_null(all$relevant)
    expect_lt(max(abs(
      predict(fit, fresh, "prob") - predict(all, fresh, "prob")
    )), 1e-2, label = scales)
    bound <- elbo(fit)
    expect_true(all(diff(bound) >= -1e-9 * (1 + abs(bound[-1]))))
  }
})

sampled <- function(...) {
  suppressWarnings(flat(mkprobit)(
    coefficients = "weights", ..., method = "gibbs", chains = 2, warmup = 200, ndraws = 400,
    seed = 1, threads = 1, progress = FALSE
  ))
}

test_that("the sampler and variational Bayes predict alike", {
  prior <- mkprobit_prior(tau = 3, nu = 3)
  gibbs <- sampled(data$spaces, data$y, prior = prior)
  vb <- mkprobit(coefficients = "weights", data$spaces, data$y, prior = prior, threads = 1,
    seed = 1)
  ours <- predict(vb, new$spaces, "prob")
  theirs <- predict(gibbs, new$spaces, "prob", se.fit = TRUE)
  expect_lt(mean(abs(ours - theirs$fit)), 0.05)
  expect_gt(stats::cor(as.vector(ours), as.vector(theirs$fit)), 0.97)
  expect_equal(dim(theirs$se.fit), dim(theirs$fit))
  expect_true(all(theirs$se.fit > 0))
  draws <- predict(gibbs, new$spaces, "prob", draws = TRUE)
  expect_equal(dim(draws), c(800L, 30L, 3L))
  expect_equal(apply(draws, 2:3, mean), theirs$fit, tolerance = 1e-8, ignore_attr = TRUE)
})

test_that("draws of weights and length-scales have names on the log scale", {
  gibbs <- sampled(
    data$spaces, data$y, kernel_weights = "learn", tune = TRUE, latent_scales = "shared"
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
    coefficients = "weights", data$spaces, data$y, kernel_weights = "learn", tune = TRUE,
    control = list(latent_scales = "shared", warmup = 200, progress = FALSE, resume = gibbs),
    method = "gibbs", chains = 2, ndraws = 450, seed = 1, threads = 2
  ))
  expect_identical(more$draws[1:400, , ], gibbs$draws[, , ])
  expect_equal(ncol(more$posterior$core$chains[[1]]$mean), 450L)
})

test_that("the trace of learned weights has a point for every pass", {
  set.seed(2)
  spaces <- list(a = matrix(rnorm(160), 80), b = matrix(rnorm(160), 80))
  y <- factor(1 + (spaces$a[, 1] > 0) + (spaces$a[, 2] > 0.5))
  fit <- mkprobit(
    coefficients = "weights", spaces, y, kernel_weights = "learn",
    control = list(weights_method = "profile"), threads = 1, seed = 1
  )
  d <- fit$diagnostics
  expect_length(elbo(fit), d$passes - d$rejected)
  expect_gt(d$passes, 20)
  expect_true(all(diff(elbo(fit)) > -1e-6 * abs(elbo(fit)[1])))
})

test_that("a length-scale has the posterior of its conditional law", {
  set.seed(5)
  n <- 36
  x <- matrix(rnorm(2 * n), n)
  y <- factor(max.col(cbind(x[, 1], -x[, 1], x[, 2]) + matrix(rnorm(3 * n, sd = 0.5), n)))
  fit_to <- function(target) {
    suppressWarnings(flat(mkprobit)(
      x, y, kernel = rbf(1), coefficients = "weights", latent_scales = "fixed", tune = TRUE,
      weights_method = "is", is_target = target, tol = 1e-7, max_iter = 60, threads = 1, seed = 1,
      standardize = FALSE, prior = mkprobit_prior(theta = c(2, 2)), progress = FALSE
    ))
  }
  # Of the last pass, by integrals over a grid: W and V at theta's mean, E y by quadrature.
  apart <- as.matrix(dist(x))^2
  by_grid <- function(fit, with_variance) {
    k <- exp(-fit$theta_table$mean * apart)
    v <- solve(k %*% t(k) + diag(n))
    w <- fit$coefficients$mean
    ybar <- cone_means(w %*% k, as.integer(y))
    theta <- exp(seq(log(0.01), log(20), length.out = 400))
    log_density <- vapply(theta, function(theta) {
      k <- exp(-theta * apart)
      dgamma(theta, 2, 2, log = TRUE) + log(theta) - sum((ybar - w %*% k)^2) / 2 -
        if (with_variance) 3 * sum(k * (v %*% k)) / 2 else 0
    }, 0)
    p <- exp(log_density - max(log_density))
    mean <- sum(p * theta) / sum(p)
    c(mean = mean, sd = sqrt(sum(p * (theta - mean)^2) / sum(p)))
  }
  fit <- fit_to("exact")
  found <- fit$theta_table
  right <- by_grid(fit, TRUE)
  # Points that count, five errors of simulation.
  expect_gte(fit$diagnostics$theta_ess, 50)
  expect_lt(abs(found$mean - right[["mean"]]), 5 * right[["sd"]] / sqrt(fit$diagnostics$theta_ess))
  expect_equal(found$sd, right[["sd"]], tolerance = 0.25)
  expect_equal(1 / (2 * kernel_parameters(fit$kernel)[["lengthscale"]]^2), found$mean)
  # The printed weights leave the variance out, and choose larger kernels.
  printed <- fit_to("point")
  expect_gt(abs(printed$theta_table$mean - found$mean), 3 * found$sd / sqrt(50))
  expect_error(fit_to("other"), class = "bayeskernel_error")
})

test_that("kernels that overflow have no weight in a product", {
  set.seed(6)
  n <- 40
  x <- list(a = matrix(rnorm(3 * n), n), b = matrix(rnorm(2 * n), n))
  y <- factor(max.col(cbind(x$a[, 1], x$b[, 1], 0) + matrix(rnorm(3 * n, sd = 0.3), n)))
  for (target in c("exact", "point")) {
    fit <- suppressWarnings(flat(mkprobit)(
      x, y, kernel = polynomial(), coefficients = "weights", combine = "product",
      kernel_weights = "learn", weights_method = "is", is_target = target, max_iter = 15,
      threads = 1, seed = 1, progress = FALSE
    ))
    expect_true(all(is.finite(kernel_weights(fit)$mean)))
    expect_lt(mean(predict(fit, x) != y), 0.5)
  }
})

test_that("print says how well each row is predicted by the others, and the passes of the trace", {
  at <- seq(1, 150, by = 3)
  d <- iris[at, ]
  fit <- mkprobit(Species ~ Petal.Length + Petal.Width, d, threads = 1)
  expect_length(fit$loo, 50)
  text <- paste(capture.output(print(fit)), collapse = " ")
  expect_match(text, sprintf("after %d passes", length(elbo(fit))))
  expect_match(text, paste("LOO: +log-loss", format(-mean(fit$loo), digits = 3)))
  # The classes are of nearly one size.
  expect_match(text, "without predictors 1.1,.* +tuning used it")
  expect_no_match(text, "bound|log score")
  expect_equal(glance(fit)$passes, length(elbo(fit)))
  some <- c(1, 24, 27, 28, 36, 40, 45, 50)
  refits <- vapply(some, function(i) {
    p <- predict(update(fit, data = d[-i, ]), d[i, ], type = "prob")
    log(p[1, as.character(d$Species[i])])
  }, 0)
  expect_lt(max(abs(fit$loo[some] - refits)), 0.35)
  expect_gt(cor(fit$loo[some], refits), 0.98)
  # A row that counts twice leaves one of itself out.
  twice <- mkprobit(
    Species ~ Petal.Length + Petal.Width, d, weights = rep(2, 50), tune = FALSE,
    kernel = fit$kernel, threads = 1
  )
  each <- mkprobit(
    Species ~ Petal.Length + Petal.Width, d[rep(1:50, each = 2), ], tune = FALSE,
    kernel = fit$kernel, standardize = TRUE, threads = 1
  )
  expect_equal(sum(2 * twice$loo), sum(each$loo), tolerance = 0.01)
})
