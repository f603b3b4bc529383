# Ten folds of balance: a Gaussian, a linear and a quadratic kernel; K nearest
# neighbors, plain and probabilistic.

about <- list(
  title = "balance", where = "Tables 2 and 3", data = "balance",
  minutes = c(quick = 1.5, paper = 4), packages = "class",
  sizes = c(quick = "4 of 10 folds", paper = "10 folds")
)

run <- function() table2("balance")
