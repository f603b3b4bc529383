# Ten folds of glass: a Gaussian, a linear and a quadratic kernel; K nearest
# neighbors, plain and probabilistic.

about <- list(
  title = "glass", where = "Tables 2 and 3", data = "glass",
  minutes = c(quick = 0.6, paper = 0.6), packages = "class",
  sizes = c(quick = "10 folds", paper = "10 folds")
)

run <- function() table2("glass")
