# Balanced errors over training sets of 200 rows, 1000 test rows each: support vector machine with
# tuned cost, and penalty learned by VB and Gibbs.

about <- list(
  title = "penalty learned, n = 200", where = "Figure 1",
  minutes = c(quick = 0.8, paper = 125), packages = "e1071"
)

run <- function() figure1(200)

draw <- draw_figure1
