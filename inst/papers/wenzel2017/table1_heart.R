# Table 1, heart: error, Brier score and time over ten folds. Minibatches of 10 rows, full passes,
# ECM, a Gaussian process classifier and libsvm.

about <- list(
  title = "heart", where = "Table 1", data = "heart",
  minutes = c(quick = 0.4, paper = 0.4), packages = c("e1071", "kernlab"),
  sizes = c(quick = "ten folds", paper = "ten folds")
)

run <- function() table1("heart")
