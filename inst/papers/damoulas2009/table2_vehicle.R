# Ten folds of vehicle: a Gaussian, a linear and a quadratic kernel; K nearest
# neighbors, plain and probabilistic.

about <- list(
  title = "vehicle", where = "Tables 2 and 3", data = "vehicle",
  minutes = c(quick = 2, paper = 10), packages = "class",
  sizes = c(quick = "4 of 10 folds", paper = "10 folds")
)

run <- function() table2("vehicle")
