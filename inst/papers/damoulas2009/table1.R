# Neal's classes: error and time of VB and of the sampler.

about <- list(
  title = "Neal's three classes", where = "Table 1",
  minutes = c(quick = 0.3, paper = 8),
  sizes = c(quick = "1000 + 2000 of 100,000 sweeps", paper = "10,000 + 90,000 sweeps")
)

run <- function() {
  data <- simulate_neal(400, 1)
  new <- simulate_neal(pick(200, 2000, 2000), 2)
  fits <- lapply(c(VB = "single", Gibbs = "gibbs"), function(model) {
    timed(function() neal_fit(data, model))
  })
  error <- vapply(fits, function(fit) {
    wrong(predict(fit$value, new$x[, 1:2]), new$y)
  }, 0)
  sweeps <- pick(150, 3000, 100000)
  per_sweep <- fits$Gibbs$seconds / sweeps
  per_pass <- fits$VB$seconds / fits$VB$value$diagnostics$passes
  out <- measured(
    "error, VB" = error[["VB"]], "error, Gibbs" = error[["Gibbs"]],
    "100,000 sweeps take times as long as 100 passes" =
      1e5 * per_sweep / (100 * per_pass)
  )
  out$mc_error[1:2] <- 100 * sqrt(error / 100 * (1 - error / 100) / nrow(new$x))
  out
}
