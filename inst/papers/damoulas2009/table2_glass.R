# Ten folds of glass: a Gaussian, a linear and a quadratic kernel.

about <- list(
  title = "glass", where = "Tables 2 and 3", data = "glass", minutes = c(quick = 0.6, paper = 0.6)
)

run <- function() table2("glass")
