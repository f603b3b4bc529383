# ionosphere, Table 3.2.

about <- list(
  title = "ionosphere", where = "Table 3.2", data = "ionosphere",
  minutes = c(quick = 1.8, paper = 3000), packages = "e1071"
)

run <- function() {
  table3(divided_run("ionosphere"), TRUE, sweeps = 0.5)
}

draw <- draw_losses
