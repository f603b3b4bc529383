# Eight groups of ten rows, two predictors on very different scales.
grouped_data <- function(n = 80, groups = 8, seed = 1) {
  set.seed(seed)
  d <- data.frame(
    x1 = rnorm(n, 50, 10), x2 = rnorm(n), g = factor(rep_len(paste0("g", seq_len(groups)), n))
  )
  f <- (d$x1 - 50) / 8 - d$x2 + rnorm(groups)[d$g]
  d$y <- factor(ifelse(f + rlogis(n) > 0, "yes", "no"), c("no", "yes"))
  d
}

# Short chains: what is tested does not depend on their having mixed.
quick_gibbs <- function(..., ndraws = 40) {
  suppressWarnings(
    flat(bsvm)(
      ..., method = "gibbs", chains = 2, warmup = 40, ndraws = ndraws, seed = 11, threads = 1,
      progress = FALSE
    ),
    classes = "bayeskernel_warning_convergence"
  )
}

# With rows of new data taken in slices of so many numbers.
with_slices <- function(size, code) {
  old <- bayeskernel:::slice_size
  utils::assignInNamespace("slice_size", size, "bayeskernel")
  on.exit(utils::assignInNamespace("slice_size", old, "bayeskernel"))
  code
}
