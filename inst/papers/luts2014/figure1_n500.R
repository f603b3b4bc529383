# Balanced errors over training sets of 500 rows, 1000 test rows each: support vector machine with
# tuned cost, and penalty learned by VB and Gibbs.

about <- list(
  title = "penalty learned, n = 500", where = "Figure 1",
  minutes = c(quick = 5, paper = 600), packages = "e1071",
  sizes = c(
    quick = "20 of 200 sets; 10 of 100 hold-outs for the SVM; 1000 + 1000 sweeps",
    paper = "200 sets; 100 hold-outs for the SVM; the paper's sweeps"
  )
)

run <- function() figure1(500)

draw <- draw_figure1
