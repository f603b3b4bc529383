# Circle 20, Table 3.2.

about <- list(
  title = "Circle 20", where = "Table 3.2",
  minutes = c(quick = 1.8, paper = 3000), packages = "e1071",
  sizes = c(
    quick = "5 of 20 sets; 10,000 + 10,000 of 2,000,000 + 2,000,000 sweeps",
    paper = "20 sets; 2,000,000 + 2,000,000 sweeps"
  ),
  repetitions = c(quick = 5, paper = 20)
)

run <- function() {
  table3(simulated_run(function(n, noisy) simulate_circle(20, n)), TRUE)
}

draw <- draw_losses
