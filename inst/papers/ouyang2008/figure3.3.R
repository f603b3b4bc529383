# Bank notes: inclusion of the six measures, with selection and equal scales. The dissertation's
# order of the measures is not said.

about <- list(
  title = "bank notes, selection", where = "Figure 3.3, section 3.4.2",
  data = "banknote", minutes = c(quick = 1, paper = 60),
  sizes = c(
    quick = "6 starts; 50,000 + 50,000 of 2,000,000 + 2,000,000 sweeps",
    paper = "2 starts; 2,000,000 + 2,000,000 sweeps"
  )
)

run <- function() {
  fits <- scales_of("banknote", "select_equal", pick(1, 6, 2), sweeps = 5)
  p <- vapply(fits, inclusion, numeric(6))
  sorted <- t(p[order(rowMeans(p), decreasing = TRUE), , drop = FALSE])
  colnames(sorted) <- paste0(
    "inclusion, ", c("", "second ", "third ", "fourth ", "fifth ", "sixth "), "largest"
  )
  rownames(p) <- paste("inclusion,", rownames(p))
  both(averaged(sorted, raw = rowMeans(p)), averaged(t(p)))
}

draw <- draw_inclusion
