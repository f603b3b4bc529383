# wdbc, Table 3.2.

about <- list(
  title = "wdbc", where = "Table 3.2", data = "wdbc", minutes = c(quick = 1.8, paper = 3000),
  packages = "e1071",
  sizes = c(
    quick = "5 folds, not 20 cross-validations; 5000 + 5000 of 2,000,000 + 2,000,000 sweeps",
    paper = "20 folds, not 20 cross-validations; 2,000,000 + 2,000,000 sweeps"
  ),
  repetitions = c(quick = 5, paper = 20)
)

run <- function() {
  table3(divided_run("wdbc"), TRUE, sweeps = 0.5)
}

draw <- draw_losses
