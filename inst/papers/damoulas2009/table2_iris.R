# Ten folds of iris: a Gaussian, a linear and a quadratic kernel; K nearest
# neighbors, plain and probabilistic.

about <- list(
  title = "iris", where = "Tables 2 and 3", data = "iris",
  minutes = c(quick = 0.2, paper = 0.2), packages = "class",
  sizes = c(quick = "10 folds", paper = "10 folds")
)

run <- function() table2("iris")
