# bodyfat, Table 3.1. A run is one fold, where that of table3.1_basketball is a whole
# cross-validation, as in the dissertation: that would take too long at size quick.

about <- list(
  title = "bodyfat", where = "Table 3.1", data = "bodyfat", minutes = c(quick = 1.5, paper = 3000),
  packages = "e1071",
  sizes = c(
    quick = "5 folds, not 20 cross-validations; 10,000 + 10,000 of 2,000,000 + 2,000,000 sweeps",
    paper = "20 folds, not 20 cross-validations; 2,000,000 + 2,000,000 sweeps"
  ),
  repetitions = c(quick = 5, paper = 20)
)

run <- function() {
  table3(divided_run("bodyfat"), FALSE)
}

draw <- draw_losses
