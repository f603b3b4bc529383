# D4in2, ranks, Figure 2.1.

about <- list(
  title = "D4in2, ranks", where = "Figure 2.1",
  minutes = c(quick = 1, paper = 60), packages = "e1071"
)

run <- function() {
  out <- figure2_1(simulated_run(function(n, noisy) {
    simulate_low_rank("D4in2", n)
  }))
  best_first(out, "rank 2")
}

draw <- draw_losses
