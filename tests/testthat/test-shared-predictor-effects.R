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
    list(at = at, move = move, left = own)
  })
  place <- which(gone, arr.ind = TRUE)
  list(
    y = rnorm(n), weight = runif(n, 0.5, 2), z = cbind(1, rnorm(n)),
    group = rep(seq_len(groups), each = size), x = cbind(1, matrix(rnorm(3 * n), n)),
    groups = groups, width = 2L,
    use = data.frame(
      row = place[, 1], column = place[, 2] + 1L, place = place[, 2],
      slope = 1.3, value = rnorm(nrow(place))
    ),
    patterns = patterns, open = aperm(replicate(groups, positive()), c(3, 1, 2))
  )
}

# Group after group the normal density of all its responses.
dense_likelihood <- function(at, theta, psi, noise) {
  x <- at$x
  x[cbind(at$use$row, at$use$column)] <- at$use$value
  slope <- matrix(0, nrow(x), 2)
  slope[cbind(at$use$row, at$use$place)] <- at$use$slope * theta[at$use$column]
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
      load %*% at$open[g, , ] %*% t(load)
    gap <- at$y[rows] - x[rows, ] %*% theta
    -drop(determinant(2 * pi * cov)$modulus + t(gap) %*% solve(cov, gap)) / 2
  }, 0))
}

test_that("the likelihood of groups is that of dense algebra, and its slopes", {
  at <- shared_rows()
  theta <- c(0.3, 0.8, -0.5, 0.2)
  psi <- matrix(c(0.6, 0.2, 0.2, 0.4), 2)
  found <- shared_score(at, theta, solve(psi), 0.7)
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

test_that("inverses by group are those of solve()", {
  set.seed(2)
  a <- aperm(replicate(4, crossprod(matrix(rnorm(9), 3)) + diag(3)), c(3, 1, 2))
  found <- invert_groups(a)
  for (g in 1:4) {
    expect_equal(found$inverse[g, , ], solve(a[g, , ]))
    expect_equal(found$log_det[g], c(determinant(a[g, , ])$modulus))
  }
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
