# Table 1, splice: error, Brier score and time over ten folds. Minibatches of 10 rows, full passes,
# ECM, a Gaussian process classifier and libsvm.

about <- list(
  title = "splice", where = "Table 1", data = "splice",
  minutes = c(quick = 1.8, paper = 30), packages = c("e1071", "kernlab"),
  sizes = c(quick = "ten folds; no GPC", paper = "ten folds, GPC too")
)

run <- function() table1("splice")
