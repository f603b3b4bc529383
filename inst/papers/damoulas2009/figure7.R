# Neal's classes: decision boundaries by VB.

about <- list(
  title = "Neal's three classes, boundaries by VB", where = "Figure 7",
  minutes = c(quick = 0.3, paper = 1),
  sizes = c(quick = "100 passes", paper = "100 passes")
)

run <- function() neal_figure("single")

draw <- function(raw) draw_neal(raw)
