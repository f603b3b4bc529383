# bodyfat, Table 3.1.

about <- list(
  title = "bodyfat", where = "Table 3.1", data = "bodyfat", minutes = c(quick = 1.5, paper = 3000),
  packages = "e1071"
)

run <- function() {
  table3(divided_run("bodyfat"), FALSE)
}

draw <- draw_losses
