# Short chains: what is tested does not depend on their having mixed.
quick_klr <- function(..., rank = 2, ndraws = 40, chains = 2, warmup = 300,
                      thin = 5, threads = 1, seed = 11) {
  suppressWarnings(
    flat(klr)(
      ..., rank = rank, ndraws = ndraws, chains = chains, warmup = warmup, thin = thin,
      threads = threads, seed = seed
    ),
    classes = "bayeskernel_warning_convergence"
  )
}

# One direction of three matters; the third predictor is measured in hundreds.
klr_data <- function(n = 80, seed = 3) {
  set.seed(seed)
  d <- data.frame(a = runif(n, -1, 1), b = runif(n, -1, 1))
  d$c <- 500 + 100 * runif(n, -1, 1)
  d$y <- factor(ifelse(abs(d$a + d$b) < 0.6, "in", "out"), c("out", "in"))
  d
}

# f of every draw in plain R, draws x rows.
plain_klr <- function(fit, x_new) {
  core <- klr_core_draws(fit)
  r <- fit$rank
  p <- length(fit$columns)
  train <- fit$posterior$x
  scale <- function(x) sweep(sweep(x, 2, fit$transform$center), 2, fit$transform$scale, "/")
  x <- scale(x_new)
  last <- cumsum(core$size)
  t(vapply(seq_along(core$size), function(d) {
    u <- matrix(core$frame[(d - 1) * p * r + seq_len(p * r)], p)
    f <- rep(core$intercept[d], nrow(x))
    for (j in seq_len(core$size[d]) + last[d] - core$size[d]) {
      lambda <- exp(core$log_lambda[(j - 1) * r + seq_len(r)])
      gap <- sweep(x, 2, train[core$centre[j] + 1, ]) %*% u
      f <- f + core$coefficient[j] * exp(-drop(gap^2 %*% lambda) / 2)
    }
    f
  }, numeric(nrow(x_new))))
}
