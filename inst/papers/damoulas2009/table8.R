# proteins, one feature space.

about <- list(
  title = "proteins, one feature space", where = "Table 8", data = "protein",
  minutes = c(quick = 1, paper = 30)
)

run <- function() protein_errors(single_errors)
