# Neal's classes: decision boundaries by the sampler.

about <- list(
  title = "Neal's three classes, boundaries by the sampler", where = "Figure 6",
  minutes = c(quick = 0.3, paper = 8)
)

run <- function() neal_figure("gibbs")

draw <- function(raw) draw_neal(raw)
