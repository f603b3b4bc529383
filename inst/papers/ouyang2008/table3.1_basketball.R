# basketball, Table 3.1.

about <- list(
  title = "basketball", where = "Table 3.1", data = "basketball",
  minutes = c(quick = 1.5, paper = 3000), packages = "e1071"
)

run <- function() {
  table3(divided_run("basketball"), FALSE)
}

draw <- draw_losses
