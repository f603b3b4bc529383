# Mean and sd of every variable of an array iterations x chains x variables with standard errors by
# 40 batch means; a batch lies in one chain.
batch_summary <- function(draws, batches = 40) {
  chains <- dim(draws)[2]
  per_chain <- batches / chains
  size <- dim(draws)[1] %/% per_chain
  draws <- draws[seq_len(size * per_chain), , , drop = FALSE]
  flat <- matrix(draws, ncol = dim(draws)[3])
  batch <- rep(seq_len(batches), each = size)
  standard_error <- function(x) {
    means <- rowsum(x, batch) / size
    apply(means, 2, stats::sd) / sqrt(batches)
  }
  mean <- colMeans(flat)
  square <- sweep(flat, 2, mean)^2
  sd <- sqrt(colMeans(square))
  data.frame(
    parameter = dimnames(draws)[[3]], mean = mean, sd = sd, mcse_mean = standard_error(flat),
    mcse_sd = standard_error(square) / (2 * sd)
  )
}
