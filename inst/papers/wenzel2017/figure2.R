# Error by the width of the kernel, and the width that the bound chooses: by full passes, and by
# minibatches, which move the variance and the inducing points, too.

about <- list(
  title = "heart, error by width", where = "Figure 2", data = "heart",
  minutes = c(quick = 0.8, paper = 1.5),
  sizes = c(quick = "10 widths; ten folds", paper = "25 widths; ten folds")
)

error_at <- function(data, theta) {
  machine <- gp_machine("batch", list(kernel = rbf(theta / sqrt(2))))
  scores <- fold_scores(data, list(width = machine))
  scores$ours[scores$quantity == "width.error"]
}

run <- function() {
  data <- raetsch("heart", pick(80, Inf, Inf))
  thetas <- exp(seq(log(0.7), log(40), length.out = pick(2, 10, 25)))
  grid <- timed(function() {
    vapply(thetas, function(theta) error_at(data, theta), 0)
  })
  x <- standardised_pair(data$x, data$x)$x
  tuned <- timed(function() {
    fit_as(gpsvm, "wenzel2017", "batch", x, data$y,
      inducing = inducing_of(data$y), standardize = FALSE, seed = 1,
      prior = gpsvm_prior(variance = c(0.999, 1.001)),
      change = list(tune = "bound")
    )
  })
  theta <- tuned$value$kernel$lengthscale * sqrt(2)
  few <- list(control = list(epochs = pick(2, 100, 100)))
  by_steps <- fit_as(gpsvm, "wenzel2017", "stochastic_tuned", x, data$y,
    inducing = inducing_of(data$y), standardize = FALSE, seed = 1, change = few
  )
  steps <- fold_scores(data, list(steps = gp_machine("stochastic_tuned", few)))
  error <- error_at(data, theta)
  numbers <- measured(
    "theta by the bound" = theta, "error at the tuned width" = error,
    "best error of the grid" = min(grid$value),
    "error at the tuned width minus best of the grid" =
      error - min(grid$value),
    "the grid takes times as long" = grid$seconds / tuned$seconds,
    "theta by stochastic steps" = by_steps$kernel$lengthscale * sqrt(2),
    "error tuned by stochastic steps" = steps$ours[steps$quantity == "steps.error"],
    raw = curves(
      rep(c("grid of widths", "the bound's width"), c(length(thetas), 1)), c(thetas, theta),
      c(grid$value, error), share_error(c(grid$value, error), nrow(data$x))
    )
  )
  numbers$mc_error[4] <- sqrt(error * (1 - error) / nrow(data$x) / 2)
  numbers
}

draw <- function(raw) draw_curves(raw, "theta")
