# Boston: mean squared error and kernels over divisions into 300 and 206 rows, by reversible jumps
# and by the paper's moves.

about <- list(
  title = "Boston", where = "Table 2", data = "boston",
  minutes = c(quick = 0.13, paper = 1.5), packages = "MASS",
  sizes = c(quick = "5 of 10 divisions", paper = "10 divisions"),
  repetitions = c(quick = 5, paper = 10)
)

run <- function() {
  averaged(lapply(seq_len(pick(1, 5, 10)), function(split) {
    data <- boston_split(split)
    fitted <- function(moves) {
      fit <- fit_as(
        seqkr, "vermaak2004", "boston", data$x, data$y, seed = split,
        change = c(list(moves = moves), pick(list(particles = 20), list(), list()))
      )
      apart <- predict(fit, data$new) - data$truth
      c(mean(apart^2), mean(fit$posterior$size), mean(abs(apart)))
    }
    jumps <- fitted("rj")
    correct <- fitted("corrected")
    printed <- fitted("printed")
    c(
      "test error" = jumps[1], "kernels" = jumps[2], "mean absolute error" = jumps[3],
      "test error, paper's moves, correct weight" = correct[1],
      "kernels, paper's moves, correct weight" = correct[2],
      "test error, paper's moves, weight as printed" = printed[1],
      "kernels, paper's moves, weight as printed" = printed[2],
      "squared error, lm()" = mean((linear_fit(data) - data$truth)^2)
    )
  }))
}

linear_fit <- function(data) {
  drop(cbind(1, data$new) %*% stats::lm.fit(cbind(1, data$x), data$y)$coef)
}
