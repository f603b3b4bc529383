# proteins, one feature space.

about <- list(
  title = "proteins, one feature space", where = "Table 8", data = "protein",
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
    single_errors(fits, trial)
  }))
}
