# Table 1, breast cancer: error, Brier score and time over ten folds. Minibatches of 10 rows, full
# passes, ECM, a Gaussian process classifier and libsvm.

about <- list(
  title = "breast cancer", where = "Table 1", data = "breast_cancer",
  minutes = c(quick = 0.4, paper = 0.4), packages = c("e1071", "kernlab"),
  sizes = c(quick = "ten folds", paper = "ten folds")
)

run <- function() table1("breast_cancer")
