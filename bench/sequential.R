# seqkr() on a stream of 100,000 rows. The experiments of Vermaak, Godsill and
# Doucet (2004) are items of reproduce("vermaak2004").
#   Rscript bench/sequential.R

source(if (file.exists("bench/helpers.R")) {
  "bench/helpers.R"
} else {
  "../bench/helpers.R"
})
suppressMessages(library(bayeskernel))

# CPU milliseconds a row along a stream whose grid is full after 500 rows.
stream_table <- function(rows = 1e5, block = 1e4) {
  set.seed(1)
  x <- cbind(x = runif(rows, -3, 3))
  y <- sin(2 * x[, 1]) + rnorm(rows, sd = 0.2)
  new <- cbind(x = seq(-2.5, 2.5, 0.01))
  score <- function(fit) {
    sqrt(mean((predict(fit, new) - sin(2 * new[, 1]))^2))
  }
  fit <- out <- NULL
  for (seen in seq(0, rows - 1, by = block)) {
    at <- seen + seq_len(block)
    run <- timed(function() {
      quietly(if (is.null(fit)) {
        seqkr(
          x[at, , drop = FALSE], y[at], kernel = rbf(0.7), order = "given",
          control = seqkr_control(grid_max = 500), seed = 1
        )
      } else {
        extend(fit, x[at, , drop = FALSE], y[at])
      })
    })
    fit <- run$value
    out <- rbind(out, c(
      rows = nobs(fit), ms = 1000 * run$seconds / block,
      mb = as.double(object.size(fit$state)) / 1e6, rmse = score(fit)
    ))
  }
  out
}

if (sys.nframe() == 0L) {
  print_machine()
  print(signif(stream_table(), 4))
}
