# How well the first directions of a projection of rank 3 tell the classes of wdbc apart,
# compared with those of SAVE.

about <- list(
  title = "wdbc, directions", where = "Figure 2.4", data = "wdbc",
  minutes = c(quick = 1.5, paper = 5),
  sizes = c(quick = "5000 + 5000 sweeps", paper = "20,000 + 20,000 sweeps")
)

run <- function() projection_numbers("wdbc", 3)

draw <- draw_projection
