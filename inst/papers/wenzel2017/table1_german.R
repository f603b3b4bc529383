# Table 1, german: error, Brier score and time over ten folds. Minibatches of 10 rows, full passes,
# ECM, a Gaussian process classifier and libsvm.

about <- list(
  title = "german", where = "Table 1", data = "german",
  minutes = c(quick = 1.5, paper = 4), packages = c("e1071", "kernlab"),
  sizes = c(quick = "ten folds", paper = "ten folds")
)

run <- function() table1("german")
