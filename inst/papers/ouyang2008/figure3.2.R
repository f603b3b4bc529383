# Body fat: which predictors are in, with selection and equal scales.

about <- list(
  title = "body fat, selection", where = "Figure 3.2", data = "bodyfat",
  minutes = c(quick = 0.8, paper = 60)
)

run <- function() {
  fit <- scales_of("bodyfat", "select_equal")
  p <- inclusion(fit)
  measured(
    "inclusion, density" = p[["density"]], "inclusion, wrist" = p[["wrist"]],
    "predictors in" = sum(p > 0.5), raw = p
  )
}

draw <- draw_inclusion
