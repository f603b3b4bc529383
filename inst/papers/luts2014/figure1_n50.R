# Balanced errors over training sets of 50 rows, 1000 test rows each: support vector machine with
# tuned cost, and penalty learned by VB and Gibbs.

about <- list(
  title = "penalty learned, n = 50", where = "Figure 1",
  minutes = c(quick = 0.4, paper = 45), packages = "e1071"
)

run <- function() figure1(50)

draw <- draw_figure1
