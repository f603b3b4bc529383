# wdbc, Table 3.2.

about <- list(
  title = "wdbc", where = "Table 3.2", data = "wdbc", minutes = c(quick = 1.8, paper = 3000),
  packages = "e1071"
)

run <- function() {
  table3(divided_run("wdbc"), TRUE, sweeps = 0.5)
}

draw <- draw_losses
