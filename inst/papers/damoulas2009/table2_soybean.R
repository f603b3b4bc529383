# Ten folds of soybean: a Gaussian, a linear and a quadratic kernel; K nearest
# neighbors, plain and probabilistic.

about <- list(
  title = "soybean", where = "Tables 2 and 3", data = "soybean",
  minutes = c(quick = 0.1, paper = 0.1), packages = "class",
  sizes = c(quick = "10 folds", paper = "10 folds")
)

run <- function() table2("soybean")
