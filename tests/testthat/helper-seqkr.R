# A wave of one predictor, and a class that follows it.
wave_data <- function(n = 40, seed = 4) {
  set.seed(seed)
  d <- data.frame(x = runif(n, -3, 3))
  d$y <- 20 + 5 * (sin(1.5 * d$x) + rnorm(n, sd = 0.15))
  d$class <- factor(ifelse(d$y + rnorm(n) > 20, "up", "down"))
  d
}

# Few particles may carry the weight: what is tested does not depend on it.
quick_seqkr <- function(..., particles = 60, seed = 3, threads = 1) {
  suppressWarnings(
    flat(seqkr)(..., particles = particles, seed = seed, threads = threads, progress = FALSE),
    classes = "bayeskernel_warning_convergence"
  )
}
