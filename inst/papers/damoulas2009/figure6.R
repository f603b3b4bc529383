# Neal's classes: decision boundaries by the sampler.

about <- list(
  title = "Neal's three classes, boundaries by the sampler", where = "Figure 6",
  minutes = c(quick = 0.3, paper = 8),
  sizes = c(quick = "1000 + 2000 of 100,000 sweeps", paper = "10,000 + 90,000 sweeps")
)

# Also the error on the drawn objects, which are those of the fit.
run <- function() {
  out <- neal_figure("gibbs")
  raw <- attr(out, "raw")
  error <- wrong(predict(raw$fit, raw$data$x[, 1:2]), raw$data$y)
  drawn <- measured("error on the 400 drawn objects" = error)
  drawn$mc_error <- sqrt(error * (100 - error) / 400)
  both(out, drawn)
}

draw <- function(raw) draw_neal(raw)
