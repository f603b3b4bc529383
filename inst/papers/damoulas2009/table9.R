# proteins, combined classifiers.

about <- list(
  title = "proteins, combined classifiers", where = "Table 9", data = "protein",
  minutes = c(quick = 1, paper = 30),
  sizes = c(
    quick = "5 divisions; one scale of the latent values in place of one a class",
    paper = "5 divisions; a scale of the latent values for each class"
  )
)

run <- function() protein_errors(rule_errors)
