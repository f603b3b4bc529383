# numerals, one feature space by VB.

about <- list(
  title = "numerals, one feature space by VB", where = "Table 4, by VB", data = "numerals",
  minutes = c(quick = 0.5, paper = 5),
  sizes = c(quick = "5 of 50 trials", paper = "50 trials")
)

run <- function() {
  data <- paper_data("numerals")
  averaged(lapply(seq_len(pick(1, 5, 50)), function(k) {
    trial <- numerals_trial(data, k)
    single_errors(single_fits(trial), trial)
  }))
}
