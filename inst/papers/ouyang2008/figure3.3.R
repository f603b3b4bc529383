# Bank notes: inclusion of the six measures, with selection and equal scales. The dissertation's
# order of the measures is not said.

about <- list(
  title = "bank notes, selection", where = "Figure 3.3, section 3.4.2",
  data = "banknote", minutes = c(quick = 1, paper = 60)
)

run <- function() {
  p <- inclusion(scales_of("banknote", "select_equal"))
  sorted <- sort(p, decreasing = TRUE)
  names(sorted) <- paste("inclusion, place", seq_along(sorted))
  measured(sorted, raw = p)
}

draw <- draw_inclusion
