# Ten folds of wine: a Gaussian, a linear and a quadratic kernel; K nearest
# neighbors, plain and probabilistic.

about <- list(
  title = "wine", where = "Tables 2 and 3", data = "wine",
  minutes = c(quick = 0.3, paper = 0.3), packages = "class",
  sizes = c(quick = "10 folds", paper = "10 folds")
)

run <- function() table2("wine")
