# proteins, combined classifiers.

about <- list(
  title = "proteins, combined classifiers", where = "Table 9", data = "protein",
  minutes = c(quick = 1, paper = 30)
)

run <- function() protein_errors(rule_errors)
