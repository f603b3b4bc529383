# Selection by the sampler where the likelihood is proper: inclusion means what it says.

slow_tests <- identical(Sys.getenv("BAYESKERNEL_SLOW"), "true")

# Mean inclusions of the columns of x: n x p, an intercept N(0, 1) before them.
inclusions <- function(x, y, family, rho, seed) {
  n <- nrow(x)
  p <- ncol(x)
  core <- bsvm_gibbs_cpp(
    list(
      x = cbind(1, x), center = numeric(p + 1), scale = rep(1, p + 1),
      y = as.double(y), weights = rep(1, n), offset = numeric(n),
      z = matrix(0, n, 0), group = integer(), n_groups = 0L, kept = list(),
      selection = list(columns = seq_len(p), shape = 1, rate = 1, rho = rho, rho_beta = numeric())
    ),
    list(precision = c(1, numeric(p)), mean = numeric(p + 1), blocks = list(), transforms = list()),
    golden_settings(
      family = family, noise = list(shape = 3, rate = 3), chain_id = 1L,
      warmup = 200, draws = 800, seed = seed
    )
  )
  colMeans(core$draws[, 1, utils::tail(seq_len(dim(core$draws)[3]), p)])
}

responses <- function(f, family) {
  n <- length(f)
  switch(family,
    gaussian = f + stats::rnorm(n, sd = sqrt(1 / stats::rgamma(1, 3, 3))),
    logit = ifelse(stats::runif(n) < stats::plogis(f), 1, -1),
    probit = ifelse(stats::runif(n) < stats::pnorm(f), 1, -1)
  )
}

test_that("over data from the prior the mean inclusion is its probability", {
  sets <- if (slow_tests) 200 else 60
  n <- 60
  p <- 10
  rho <- 0.1
  for (family in c("logit", "probit", "gaussian")) {
    set.seed(17)
    excess <- vapply(seq_len(sets), function(set) {
      x <- matrix(stats::rnorm(n * p), n)
      spread <- sqrt(1 / stats::rgamma(1, 1, 1))
      v <- spread * sqrt(stats::rexp(p, 0.5)) * stats::rnorm(p)
      effect <- v * (stats::runif(p) < rho)
      f <- stats::rnorm(1) + drop(x %*% effect)
      # Against the share that is in: the same mean, a smaller error.
      c(
        mean(inclusions(x, responses(f, family), family, rho, set)) - mean(effect != 0),
        mean(effect != 0)
      )
    }, numeric(2))
    error <- stats::sd(excess[1, ]) / sqrt(sets)
    expect_lt(abs(mean(excess[1, ])), 3 * error, label = family)
    expect_lt(error, 0.02, label = family)
  }
})

test_that("of fifty columns of noise no more than the prior lets in get in", {
  set.seed(18)
  x <- matrix(stats::rnorm(200 * 50), 200)
  for (family in c("logit", "probit", "gaussian")) {
    y <- responses(numeric(200), family)
    expect_lt(mean(inclusions(x, y, family, 0.02, 3)), 0.02, label = family)
  }
})
