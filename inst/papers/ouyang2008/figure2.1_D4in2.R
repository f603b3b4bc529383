# D4in2, ranks, Figure 2.1.

about <- list(
  title = "D4in2, ranks", where = "Figure 2.1",
  minutes = c(quick = 1, paper = 60), packages = "e1071",
  sizes = c(quick = "5 of 20 runs; 5000 + 5000 sweeps", paper = "20 runs; 20,000 + 20,000 sweeps")
)

run <- function() low_rank_losses("D4in2", "rank 2")

draw <- draw_losses
