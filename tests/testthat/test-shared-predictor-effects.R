# What the rows of a group share of a missing predictor: the likelihood with missing values and
# effects integrated out, by dense algebra.

# Rows with two predictors that miss values, in groups; some weights.
shared_rows <- function(seed = 1, groups = 8L, size = 5L) {
  set.seed(seed)
  n <- groups * size
  positive <- function() crossprod(matrix(rnorm(4), 2)) + diag(0.1, 2)
  gone <- cbind(runif(n) < 0.4, runif(n) < 0.3)
  left <- positive()
  any <- which(rowSums(gone) > 0)
  patterns <- lapply(split(any, gone[any, 1] + 2 * gone[any, 2]), function(at) {
    out <- gone[at[1], ]
    move <- own <- matrix(0, 2, 2)
    move[out, out] <- diag(sum(out))
    move[out, !out] <- rep(-0.4, sum(!out))
    own[out, out] <- left[out, out]
    list(at = at, move = move, left = own, bare = own)
  })
  place <- which(gone, arr.ind = TRUE)
  list(
    y = rnorm(n), weight = runif(n, 0.5, 2), z = cbind(1, rnorm(n)),
    group = rep(seq_len(groups), each = size), x = cbind(1, matrix(rnorm(3 * n), n)),
    groups = groups, mean = matrix(rnorm(2 * n), n), toward = matrix(0, n, 2),
    apart = matrix(0, n, 4),
    use = data.frame(
      row = place[, 1], column = place[, 2] + 1L, place = place[, 2],
      slope = 1.3, value = rnorm(nrow(place))
    ),
    patterns = patterns, open = replicate(groups, as.vector(positive()))
  )
}

effects_cov <- function(at, g) matrix(at$open[, g], 2)

shared_slopes <- function(at, theta) {
  out <- matrix(0, nrow(at$x), 2)
  out[cbind(at$use$row, at$use$place)] <- at$use$slope * theta[at$use$column]
  out
}

# Group after group the normal density of all its responses.
dense_likelihood <- function(at, theta, psi, noise) {
  x <- at$x
  x[cbind(at$use$row, at$use$column)] <- at$use$value
  slope <- shared_slopes(at, theta)
  sum(vapply(seq_len(at$groups), function(g) {
    rows <- which(at$group == g)
    load <- matrix(0, length(rows), 2)
    own <- noise / at$weight[rows]
    for (one in at$patterns) {
      for (i in intersect(one$at, rows)) {
        k <- match(i, rows)
        load[k, ] <- slope[i, ] %*% one$move
        own[k] <- own[k] + slope[i, ] %*% one$left %*% slope[i, ]
      }
    }
    cov <- diag(own) + at$z[rows, ] %*% psi %*% t(at$z[rows, ]) +
      load %*% effects_cov(at, g) %*% t(load)
    gap <- at$y[rows] - x[rows, ] %*% theta
    -drop(determinant(2 * pi * cov)$modulus + t(gap) %*% solve(cov, gap)) / 2
  }, 0))
}

test_that("the likelihood of groups is that of dense algebra, and its slopes", {
  at <- shared_rows()
  theta <- c(0.3, 0.8, -0.5, 0.2)
  psi <- matrix(c(0.6, 0.2, 0.2, 0.4), 2)
  found <- marginal_likelihood_cpp(at, theta, solve(psi), 0.7)
  expect_equal(found$value, dense_likelihood(at, theta, psi, 0.7))
  h <- 1e-5
  slope <- function(f) (f(h) - f(-h)) / (2 * h)
  expect_equal(found$theta, vapply(1:4, function(j) {
    slope(function(t) dense_likelihood(at, replace(theta, j, theta[j] + t), psi, 0.7))
  }, 0), tolerance = 1e-6)
  expect_equal(found$scale, slope(function(t) {
    dense_likelihood(at, theta, psi * exp(t), 0.7)
  }), tolerance = 1e-6)
  expect_equal(found$noise, slope(function(t) {
    dense_likelihood(at, theta, psi, 0.7 * exp(t))
  }), tolerance = 1e-6)
})

test_that("slopes and variances are those of a sampler, few values being there", {
  # Half of the values are missing, more where the response is large: the mean of four data sets
  # against plain Gibbs sampling.
  source(test_path("reference", "missing-gibbs.R"), local = TRUE)
  gap <- vapply(1:4, function(seed) {
    set.seed(seed)
    g <- gl(20, 8)
    z <- rnorm(160)
    x <- 0.4 * z + sqrt(0.8) * rnorm(20)[g] + sqrt(0.2) * rnorm(160)
    y <- 0.3 + 0.8 * x - 0.5 * z + 0.7 * rnorm(20)[g] + rnorm(160)
    x[runif(160) < plogis(1.5 * (y - mean(y)))] <- NA
    d <- data.frame(y, x, z, g)
    want <- missing_gibbs(y, x, cbind(1, z), g, sweeps = 1500, warmup = 300)$draws
    golden <- list(family = "gaussian", formula = y ~ x + z + (1 | g), data = d)
    own <- golden_missing_estimates(golden_missing_fit(golden, "ep"))$mean
    names <- c(b1 = "b_x", sd_group = "sd_group", sigma = "sigma")
    (own[names(names)] - colMeans(want)[names]) / apply(want[, names], 2, sd)
  }, numeric(3))
  # -.23, -.20 and .15 without what is shared; the sampler's error is .03.
  expect_lt(max(abs(rowMeans(gap))), 0.1)
})

test_that("what is missing is that of dense algebra", {
  at <- shared_rows(3)
  theta <- c(0.3, 0.8, -0.5, 0.2)
  psi <- matrix(c(0.6, 0.2, 0.2, 0.4), 2)
  found <- marginal_likelihood_cpp(at, theta, solve(psi), 0.7)$known
  x <- at$x
  x[cbind(at$use$row, at$use$column)] <- at$use$value
  slope <- shared_slopes(at, theta)
  gap <- at$y - drop(x %*% theta)
  pattern <- lapply(seq_len(40), function(i) {
    Find(function(one) i %in% one$at, at$patterns) %||%
      list(move = matrix(0, 2, 2), left = matrix(0, 2, 2))
  })
  for (g in 1:8) {
    rows <- which(at$group == g)
    # Covariances of what is missing of these rows, one after the other.
    move <- do.call(rbind, lapply(pattern[rows], `[[`, "move"))
    cov <- move %*% effects_cov(at, g) %*% t(move)
    for (k in seq_along(rows)) {
      own <- 2 * k - 1:0
      cov[own, own] <- cov[own, own] + pattern[[rows[k]]]$left
    }
    to <- matrix(0, 5, 10)
    for (k in 1:5) to[k, 2 * k - 1:0] <- slope[rows[k], ]
    z <- at$z[rows, ]
    total <- to %*% cov %*% t(to) + z %*% psi %*% t(z) + diag(0.7 / at$weight[rows])
    by <- cov %*% t(to) %*% solve(total)
    mean <- as.vector(t(at$mean[rows, ])) + drop(by %*% gap[rows])
    expect_equal(as.vector(t(found$mean[rows, ])), mean)
    expect_equal(as.vector(t(found$var[rows, ])), diag(cov - by %*% to %*% cov))
  }
})

# Rows of groups of four, 40 % of x missing where the response is large, little noise.
little_noise <- function(seed, groups = 50L) {
  set.seed(seed)
  g <- gl(groups, 4)
  z <- rnorm(4 * groups)
  x <- 0.4 * z + rnorm(4 * groups)
  y <- 0.5 + 0.9 * x - 0.5 * z + 0.6 * rnorm(groups)[g] + 0.4 * rnorm(4 * groups)
  x[runif(4 * groups) < plogis(-0.5 + 1.5 * scale(y)[, 1])] <- NA
  data.frame(y, x, z, g)
}

test_that("variances by \"vb\", and what is missing, are those of a sampler", {
  source(test_path("reference", "missing-gibbs.R"), local = TRUE)
  d <- little_noise(7)
  own <- missing_gibbs(d$y, d$x, cbind(1, d$z), d$g, sweeps = 3000, warmup = 500)
  want <- colMeans(own$draws)
  sd <- apply(own$draws, 2, sd)
  names <- c(b0 = "b1", b1 = "b_x", b2 = "b2", sigma = "sigma", sd_group = "sd_group")
  golden <- list(family = "gaussian", formula = y ~ x + z + (1 | g), data = d)
  for (method in c("ep", "vb")) {
    fit <- golden_missing_fit(golden, method)
    found <- golden_missing_estimates(fit)
    # By "vb" the noise was .7 of its standard deviation too small.
    expect_lt(max(abs(found$mean[names(names)] - want[names]) / sd[names]), 0.2)
    # Those of the slopes were .76 of these.
    ratio <- found$sd[names(names)] / sd[names]
    expect_gt(min(ratio), 0.85)
    expect_lt(max(ratio), 1.15)
    # Each by its row alone: a correlation of .98, and .2 standard deviations apart.
    values <- imputed(fit)
    expect_gt(cor(values$mean, own$imputed), 0.998)
    expect_lt(mean(abs(values$mean - own$imputed)) / sd(d$x, na.rm = TRUE), 0.03)
  }
})

test_that("a variance of groups near 0 has its whole posterior", {
  # The maximum was not found from where the fit of single rows is.
  set.seed(20)
  g <- gl(60, 3)
  z <- rnorm(180)
  x <- 0.4 * z + sqrt(0.1) * rnorm(60)[g] + sqrt(0.9) * rnorm(180)
  y <- 0.5 + 1.5 * x - 0.5 * z + 0.6 * rnorm(60)[g] + rnorm(180)
  x[runif(180) < plogis(-0.5 + 1.5 * scale(y)[, 1])] <- NA
  golden <- list(
    family = "gaussian", formula = y ~ x + z + (1 | g), data = data.frame(y, x, z, g)
  )
  fits <- lapply(c(ep = "ep", vb = "vb"), function(method) {
    golden_missing_estimates(golden_missing_fit(golden, method))
  })
  sampled <- golden_missing_estimates(suppressWarnings(
    golden_missing_fit(golden, "gibbs", chains = 4, warmup = 500, ndraws = 1500),
    classes = "bayeskernel_warning_convergence"
  ))
  names <- c("b0", "b1", "b2", "sigma", "sd_group")
  for (own in fits) {
    expect_lt(max(abs(own$mean[names] - sampled$mean[names]) / sampled$sd[names]), 0.25)
  }
})

test_that("products of a missing predictor know what its groups share", {
  set.seed(5)
  g <- gl(40, 7)
  z <- rnorm(280)
  x <- 0.4 * z + sqrt(0.5) * rnorm(40)[g] + sqrt(0.5) * rnorm(280)
  y <- 0.3 + 0.8 * x - 0.5 * z + 0.4 * x * z + 0.6 * rnorm(40)[g] + rnorm(280)
  x[runif(280) < 0.4] <- NA
  golden <- list(
    family = "gaussian", formula = y ~ x * z + (1 | g), data = data.frame(y, x, z, g)
  )
  estimates <- function(method) golden_missing_estimates(golden_missing_fit(golden, method))
  sampled <- estimates("gibbs")
  for (method in c("ep", "vb")) {
    # The slope of x was .45 of its standard deviation too small.
    own <- estimates(method)
    names <- paste0("b", 0:3)
    expect_lt(max(abs(own$mean[names] - sampled$mean[names]) / sampled$sd[names]), 0.2)
  }
})

test_that("what is missing of classes knows what its groups share", {
  set.seed(18)
  g <- gl(20, 12)
  z <- rnorm(240)
  x <- 0.4 * z + rnorm(240)
  y <- 0.5 + 0.9 * x - 0.5 * z + 0.6 * rnorm(20)[g] + rnorm(240) > 0
  x[runif(240) < plogis(-0.5 + 1.5 * scale(y)[, 1])] <- NA
  golden <- list(
    family = "probit", formula = y ~ x + z + (1 | g), data = data.frame(y = factor(y), x, z, g)
  )
  sampled <- imputed(golden_missing_fit(golden, "gibbs", chains = 4, warmup = 300, ndraws = 1000))
  for (method in c("ep", "vb")) {
    # A correlation of .98 without.
    own <- imputed(golden_missing_fit(golden, method))
    expect_gt(cor(own$mean, sampled$mean), 0.995)
  }
})

test_that("weights of rows are powers of their likelihood where values are missing", {
  d <- little_noise(1, groups = 30L)
  d$w <- runif(120, 0.5, 3)
  sigma <- vapply(c("ep", "vb", "gibbs"), function(method) {
    fit <- bkm(
      y ~ x + z + (1 | g), d, family = "gaussian", weights = w, method = method,
      missing = "model", seed = 1, threads = 1
    )
    sigma(fit)
  }, 0)
  expect_lt(max(abs(sigma / sigma[["gibbs"]] - 1)), 0.05)
})

test_that("effects of two columns a group are those of the sampler", {
  # By "vb" this stopped.
  set.seed(3)
  g <- gl(30, 8)
  z <- rnorm(240)
  x <- 0.4 * z + 0.6 * rnorm(30)[g] + 0.8 * rnorm(240)
  y <- 0.5 + 0.9 * x - 0.5 * z + 0.7 * rnorm(30)[g] + 0.5 * rnorm(30)[g] * z + rnorm(240)
  x[runif(240) < plogis(-0.5 + y)] <- NA
  golden <- list(family = "gaussian", formula = y ~ x + z + (z | g), data = data.frame(y, x, z, g))
  fits <- lapply(c(ep = "ep", vb = "vb", gibbs = "gibbs"), function(method) {
    golden_missing_fit(golden, method)
  })
  sampled <- golden_missing_estimates(fits$gibbs)
  names <- c("b0", "b1", "b2")
  for (method in c("ep", "vb")) {
    own <- golden_missing_estimates(fits[[method]])
    expect_lt(max(abs(own$mean[names] - sampled$mean[names]) / sampled$sd[names]), 0.3)
    for (k in 1:2) {
      expect_gt(cor(ranef(fits[[method]])$g[, k], ranef(fits$gibbs)$g[, k]), 0.99)
    }
  }
})
