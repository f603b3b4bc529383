# Table 1, diabetes: error, Brier score and time over ten folds. Minibatches of 10 rows, full
# passes, ECM, a Gaussian process classifier and libsvm.

about <- list(
  title = "diabetes", where = "Table 1", data = "diabetis",
  minutes = c(quick = 1, paper = 1.5), packages = c("e1071", "kernlab"),
  sizes = c(quick = "ten folds", paper = "ten folds")
)

run <- function() table1("diabetis")
