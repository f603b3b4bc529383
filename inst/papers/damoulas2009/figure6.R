# Neal's classes: decision boundaries by the sampler.

about <- list(
  title = "Neal's three classes, boundaries by the sampler", where = "Figure 6",
  minutes = c(quick = 0.3, paper = 8),
  sizes = c(quick = "1000 + 2000 of 100,000 sweeps", paper = "10,000 + 90,000 sweeps")
)

run <- function() neal_figure("gibbs")

draw <- function(raw) draw_neal(raw)
