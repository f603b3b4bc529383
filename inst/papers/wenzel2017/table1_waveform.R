# Table 1, waveform: error, Brier score and time over ten folds. Minibatches of 10 rows, full
# passes, ECM, a Gaussian process classifier and libsvm.

about <- list(
  title = "waveform", where = "Table 1", data = "waveform",
  minutes = c(quick = 1.5, paper = 60), packages = c("e1071", "kernlab"),
  sizes = c(quick = "ten folds; no GPC", paper = "ten folds, GPC too")
)

run <- function() table1("waveform")
