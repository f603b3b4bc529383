# banknote, ranks, Figure 2.1.

about <- list(
  title = "banknote, ranks", where = "Figure 2.1", data = "banknote",
  minutes = c(quick = 1.5, paper = 100), packages = "e1071"
)

run <- function() {
  differences(figure2_1(divided_run("banknote")), "rank 2", c("rank 1", "rank 3"))
}

draw <- draw_losses
