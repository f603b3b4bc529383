# wdbc, ranks, Figure 2.1.

about <- list(
  title = "wdbc, ranks", where = "Figure 2.1", data = "wdbc", minutes = c(quick = 1.5, paper = 100),
  packages = "e1071"
)

run <- function() {
  differences(figure2_1(divided_run("wdbc")), paste("rank", 1:3), "SVM")
}

draw <- draw_losses
