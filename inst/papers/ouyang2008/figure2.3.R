# How well the first directions of a projection of rank 2 tell the classes of banknote apart,
# compared with those of SAVE.

about <- list(
  title = "banknote, directions", where = "Figure 2.3", data = "banknote",
  minutes = c(quick = 0.5, paper = 5),
  sizes = c(quick = "5000 + 5000 sweeps", paper = "20,000 + 20,000 sweeps")
)

run <- function() projection_numbers("banknote", 2)

draw <- draw_projection
