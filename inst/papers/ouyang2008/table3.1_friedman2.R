# Friedman 2, Table 3.1.

about <- list(
  title = "Friedman 2", where = "Table 3.1",
  minutes = c(quick = 1.5, paper = 2000), packages = "e1071",
  sizes = c(
    quick = "5 of 20 sets; 10,000 + 10,000 of 2,000,000 + 2,000,000 sweeps",
    paper = "20 sets; 2,000,000 + 2,000,000 sweeps"
  ),
  repetitions = c(quick = 5, paper = 20)
)

run <- function() {
  table3(simulated_run(function(n, noisy) {
    simulate_friedman(2, n, noisy)
  }), FALSE)
}

draw <- draw_losses
