# numerals, one feature space by Gibbs.

about <- list(
  title = "numerals, one feature space by Gibbs", where = "Table 4", data = "numerals",
  minutes = c(quick = 1.5, paper = 600),
  sizes = c(
    quick = "4 of 50 trials; 100 + 100 of 100,000 sweeps",
    paper = "50 trials; 1000 + 1000 of 100,000 sweeps"
  )
)

run <- function() {
  data <- paper_data("numerals")
  averaged(lapply(seq_len(pick(1, 4, 50)), function(k) {
    trial <- numerals_trial(data, k)
    single_errors(single_fits(trial, change = by_sampler()), trial)
  }))
}
