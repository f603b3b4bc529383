# Balanced errors over training sets of 100 rows, 1000 test rows each: support vector machine with
# tuned cost, and penalty learned by VB and Gibbs.

about <- list(
  title = "penalty learned, n = 100", where = "Figure 1",
  minutes = c(quick = 0.5, paper = 47), packages = "e1071"
)

run <- function() figure1(100)

draw <- draw_figure1
