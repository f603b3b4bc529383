# bodyfat, Table 3.1.

about <- list(
  title = "bodyfat", where = "Table 3.1", data = "bodyfat", minutes = c(quick = 1.5, paper = 15000),
  packages = "e1071"
)

run <- function() {
  table3(divided_run("bodyfat"), FALSE, repeats = 4, folds = pick(1, 5, 5))
}

draw <- draw_losses
