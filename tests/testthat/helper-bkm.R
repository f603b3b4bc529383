# Ten groups of six rows, two predictors; responses of every family.
family_data <- function(n = 60, groups = 10, seed = 1) {
  set.seed(seed)
  d <- data.frame(
    x = rnorm(n, 3, 2), z = runif(n, -1, 1), g = factor(rep_len(paste0("g", seq_len(groups)), n))
  )
  f <- (d$x - 3) / 2 - d$z + rnorm(groups)[d$g] / 2
  d$y <- factor(ifelse(f + rlogis(n) > 0, "yes", "no"), c("no", "yes"))
  d$number <- 20 + 5 * f + rnorm(n)
  d
}

# Short chains, as quick_gibbs().
quick_bkm <- function(..., ndraws = 40, warmup = 40) {
  suppressWarnings(
    flat(bkm)(
      ..., method = "gibbs", chains = 2, warmup = warmup, ndraws = ndraws, seed = 11, threads = 1,
      progress = FALSE
    ),
    classes = "bayeskernel_warning_convergence"
  )
}

# Moments of a posterior of intercept and slope by a fine grid, independent of the package: N(0,
# sd^2) priors, log-likelihood of labels 0/1 and weights.
grid_posterior <- function(x, y, weights = 1, offset = 0, sd = c(10, 2.5),
                           family = "logit", size = 400) {
  density <- if (family == "logit") plogis else pnorm
  start <- suppressWarnings(stats::glm(
    y ~ x, family = stats::binomial(family), weights = rep_len(weights, length(y)),
    offset = rep_len(offset, length(y))
  ))
  b <- stats::coef(start)
  se <- sqrt(diag(stats::vcov(start)))
  axis <- lapply(1:2, function(k) {
    reach <- min(8 * se[k], 8 * sd[k])
    seq(b[k] - reach, b[k] + reach, length.out = size)
  })
  grid <- expand.grid(axis)
  f <- outer(grid[[1]], rep(1, length(x))) + outer(grid[[2]], x) +
    rep(rep_len(offset, length(x)), each = nrow(grid))
  sign <- rep(2 * y - 1, each = nrow(grid))
  value <- drop(density(sign * f, log.p = TRUE) %*% rep_len(weights, length(y))) +
    stats::dnorm(grid[[1]], 0, sd[1], log = TRUE) +
    stats::dnorm(grid[[2]], 0, sd[2], log = TRUE)
  weight <- exp(value - max(value))
  cell <- prod(vapply(axis, function(a) a[2] - a[1], 1))
  total <- sum(weight)
  mean <- colSums(grid * weight) / total
  list(
    mean = unname(mean), sd = unname(sqrt(colSums(grid^2 * weight) / total - mean^2)),
    log_evidence = max(value) + log(total * cell), axis = axis, weight = weight / total, grid = grid
  )
}
