# boston, Table 3.1.

about <- list(
  title = "boston", where = "Table 3.1", data = "boston", minutes = c(quick = 1.5, paper = 3000),
  packages = "e1071"
)

run <- function() {
  table3(divided_run("boston"), FALSE)
}

draw <- draw_losses
