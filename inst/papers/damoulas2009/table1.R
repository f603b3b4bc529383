# Neal's classes: error and time of VB and of the sampler.

about <- list(
  title = "Neal's three classes", where = "Table 1, Figures 6 and 7",
  minutes = c(quick = 0.3, paper = 8)
)

run <- function() {
  data <- simulate_neal(400, 1)
  new <- simulate_neal(pick(200, 2000, 2000), 2)
  x <- data$x[, 1:2]
  fits <- lapply(c(VB = "single", Gibbs = "gibbs"), function(model) {
    change <- if (model == "gibbs") pick(
      list(ndraws = 100, control = list(warmup = 50)),
      list(ndraws = 2000, control = list(warmup = 1000)), list()
    )
    timed(function() {
      fit_as(
        mkprobit, "damoulas2009", model, x, data$y, kernel = basis(2), seed = 1,
        change = c(change, list(prior = mkprobit_prior(tau = 3, nu = 3)))
      )
    })
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
      1e5 * per_sweep / (100 * per_pass),
    raw = list(data = data, VB = fits$VB$value, Gibbs = fits$Gibbs$value)
  )
  out$mc_error[1:2] <- 100 * sqrt(error / 100 * (1 - error / 100) / nrow(new$x))
  out
}

draw <- function(raw) {
  old <- graphics::par(mfrow = c(1, 2))
  on.exit(graphics::par(old))
  grid <- seq(0, 1, 0.02)
  new <- as.matrix(expand.grid(x1 = grid, x2 = grid))
  for (name in c("Gibbs", "VB")) {
    class <- as.integer(predict(raw[[name]], new))
    graphics::image(
      grid, grid, matrix(class, length(grid)), col = c("grey95", "grey85", "grey75"), xlab = "x1",
      ylab = "x2", main = name
    )
    graphics::points(raw$data$x[, 1:2], pch = as.integer(raw$data$y), cex = 0.6)
  }
}
