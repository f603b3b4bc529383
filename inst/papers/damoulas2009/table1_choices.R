# What Table 1 does not give, and how much it matters for VB: when it stops, and the prior of the
# precisions.

about <- list(
  title = "stop and prior, Neal's three classes", where = "Section 4.1",
  minutes = c(quick = 0.5, paper = 0.5)
)

run <- function() {
  rows <- lapply(seq_len(pick(1, 3, 3)), function(set) {
    data <- simulate_neal(pick(100, 400, 400), set)
    new <- simulate_neal(2000, 100 + set)
    error <- function(shape, tol) {
      fit <- fit_as(
        mkprobit, "damoulas2009", "single", data$x[, 1:2], data$y, kernel = basis(2), seed = 1,
        change = list(
          prior = mkprobit_prior(tau = shape, nu = shape),
          control = list(tol = tol, max_iter = 5000)
        )
      )
      wrong(predict(fit, new$x[, 1:2]), new$y)
    }
    c(
      "gamma(3, 3), bound to 0.001" = error(3, 1e-3), "gamma(3, 3), bound to 1e-9" = error(3, 1e-9),
      "gamma(1, 1), bound to 1e-9" = error(1, 1e-9),
      "gamma(1e-6, 1e-6), bound to 1e-9" = error(1e-6, 1e-9)
    )
  })
  averaged(rows)
}
