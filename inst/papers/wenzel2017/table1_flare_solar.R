# Table 1, solar flare: error, Brier score and time over ten folds. Minibatches of 10 rows, full
# passes, ECM, a Gaussian process classifier and libsvm.

about <- list(
  title = "solar flare", where = "Table 1", data = "flare_solar",
  minutes = c(quick = 0.3, paper = 0.3), packages = c("e1071", "kernlab"),
  sizes = c(quick = "ten folds", paper = "ten folds")
)

run <- function() table1("flare_solar")
