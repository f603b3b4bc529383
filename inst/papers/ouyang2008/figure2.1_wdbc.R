# wdbc, ranks, Figure 2.1.

about <- list(
  title = "wdbc, ranks", where = "Figure 2.1", data = "wdbc", minutes = c(quick = 1.5, paper = 100),
  packages = "e1071",
  sizes = c(quick = "5 of 20 runs; 5000 + 5000 sweeps", paper = "20 runs; 20,000 + 20,000 sweeps")
)

run <- function() {
  differences(figure2_1(divided_run("wdbc")), paste("rank", 1:3), "SVM")
}

draw <- draw_losses
