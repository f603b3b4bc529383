# basketball, Table 3.1. A run is a whole cross-validation, as in the dissertation.

about <- list(
  title = "basketball", where = "Table 3.1", data = "basketball",
  minutes = c(quick = 1.5, paper = 15000), packages = "e1071",
  sizes = c(
    quick = "4 of 20 cross-validations; 10,000 + 10,000 of 2,000,000 + 2,000,000 sweeps",
    paper = "20 cross-validations; 2,000,000 + 2,000,000 sweeps"
  ),
  repetitions = c(quick = 4, paper = 20)
)

run <- function() {
  table3(divided_run("basketball"), FALSE, repeats = 4, folds = pick(1, 5, 5))
}

draw <- draw_losses
