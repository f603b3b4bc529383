# numerals, one feature space by Gibbs.

about <- list(
  title = "numerals, one feature space by Gibbs", where = "Table 4", data = "numerals",
  minutes = c(quick = 1.5, paper = 600)
)

run <- function() {
  data <- paper_data("numerals")
  averaged(lapply(seq_len(pick(1, 4, 50)), function(k) {
    trial <- numerals_trial(data, k)
    single_errors(single_fits(trial, change = by_sampler()), trial)
  }))
}
