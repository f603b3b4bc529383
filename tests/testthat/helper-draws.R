# A fit with nothing but draws, as every converter reads them.
fake_fit <- function(draws, warmup = 50, thin = 2) {
  structure(
    list(draws = draws, method = "gibbs", sampler = list(warmup = warmup, thin = thin)),
    class = "bayeskernel_fit"
  )
}

# Entry (i, c, v) is 100 v + 10 c + i: every reordering shows.
numbered_draws <- function(iterations = 6, chains = 3, variables = c("a", "b")) {
  size <- c(iterations, chains, length(variables))
  array(
    as.vector(outer(
      outer(seq_len(iterations), 10 * seq_len(chains), "+"), 100 * seq_along(variables), "+"
    )),
    size, list(NULL, NULL, variables)
  )
}

# Iterations x chains of an autoregression of order one.
autoregression <- function(iterations, chains, rho) {
  noise <- matrix(rnorm(iterations * chains), iterations)
  matrix(stats::filter(noise, rho, method = "recursive"), iterations)
}
