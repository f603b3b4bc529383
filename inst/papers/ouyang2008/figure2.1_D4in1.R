# D4in1, ranks, Figure 2.1.

about <- list(
  title = "D4in1, ranks", where = "Figure 2.1",
  minutes = c(quick = 1, paper = 60), packages = "e1071"
)

run <- function() low_rank_losses("D4in1", "rank 1")

draw <- draw_losses
