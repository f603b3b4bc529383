# Balanced errors over training sets of 500 rows, 1000 test rows each: support vector machine with
# tuned cost, and penalty learned by VB and Gibbs.

about <- list(
  title = "penalty learned, n = 500", where = "Figure 1",
  minutes = c(quick = 1.5, paper = 600), packages = "e1071"
)

run <- function() figure1(500)

draw <- draw_figure1
