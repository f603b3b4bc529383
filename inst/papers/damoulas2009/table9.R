# proteins, combined classifiers.

about <- list(
  title = "proteins, combined classifiers", where = "Table 9", data = "protein",
  minutes = c(quick = 1, paper = 30)
)

# Quadratic kernels of views whose rows have norm 1.
quadratic <- function() polynomial()

run <- function() {
  data <- paper_data("protein")
  averaged(lapply(seq_len(pick(1, 1, 5)), function(k) {
    trial <- protein_trial(data, k)
    fits <- single_fits(
      trial,
      kernel = quadratic(), change = list(standardize = FALSE, control = list(latent_scales = pick("class", "shared", "class")))
    )
    rule_errors(fits, trial)
  }))
}
