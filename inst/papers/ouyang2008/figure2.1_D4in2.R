# D4in2, ranks, Figure 2.1.

about <- list(
  title = "D4in2, ranks", where = "Figure 2.1",
  minutes = c(quick = 1, paper = 60), packages = "e1071"
)

run <- function() low_rank_losses("D4in2", "rank 2")

draw <- draw_losses
