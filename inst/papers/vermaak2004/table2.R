# Boston: mean squared error and kernels over divisions into 300 and 206 rows.

about <- list(
  title = "Boston", where = "Table 2", data = "boston",
  minutes = c(quick = 1, paper = 1.5), packages = "MASS",
  sizes = c(quick = "5 of 10 divisions", paper = "10 divisions"),
  repetitions = c(quick = 5, paper = 10)
)

run <- function() {
  averaged(lapply(seq_len(pick(1, 5, 10)), function(split) {
    data <- boston_split(split)
    fit <- fit_as(
      seqkr, "vermaak2004", "boston", data$x, data$y,
      seed = split, change = pick(list(particles = 20), list(), list())
    )
    f <- predict(fit, data$new)
    c(
      "test error" = mean((f - data$truth)^2), "kernels" = mean(fit$posterior$size),
      "mean absolute error" = mean(abs(f - data$truth)),
      "squared error, lm()" = mean((linear_fit(data) - data$truth)^2)
    )
  }))
}

linear_fit <- function(data) {
  drop(cbind(1, data$new) %*% stats::lm.fit(cbind(1, data$x), data$y)$coef)
}
