# bodyfat, Table 3.1. A run is one fold, where that of table3.1_basketball is a whole
# cross-validation, as in the dissertation: that would take too long at size quick.

about <- list(
  title = "bodyfat", where = "Table 3.1", data = "bodyfat", minutes = c(quick = 1.5, paper = 3000),
  packages = "e1071"
)

run <- function() {
  table3(divided_run("bodyfat"), FALSE)
}

draw <- draw_losses
