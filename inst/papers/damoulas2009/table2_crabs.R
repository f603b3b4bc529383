# Ten folds of crabs: a Gaussian, a linear and a quadratic kernel.

about <- list(
  title = "crabs", where = "Tables 2 and 3", data = "crabs", minutes = c(quick = 0.3, paper = 0.3)
)

run <- function() table2("crabs")
