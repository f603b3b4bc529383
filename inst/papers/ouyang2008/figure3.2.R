# Body fat: which predictors are in, with selection and equal scales.

about <- list(
  title = "body fat, selection", where = "Figure 3.2", data = "bodyfat",
  minutes = c(quick = 0.8, paper = 60),
  sizes = c(
    quick = "10 starts; 10,000 + 10,000 of 2,000,000 + 2,000,000 sweeps",
    paper = "2 starts; 2,000,000 + 2,000,000 sweeps"
  )
)

run <- function() {
  p <- vapply(scales_of("bodyfat", "select_equal", pick(1, 10, 2)), inclusion, numeric(14))
  averaged(cbind(
    "inclusion, density" = p["density", ], "inclusion, wrist" = p["wrist", ],
    "predictors in" = colSums(p > 0.5)
  ), raw = rowMeans(p))
}

draw <- draw_inclusion
