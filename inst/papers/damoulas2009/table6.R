# Combined feature spaces of numerals by the sampler: fixed and learned weights.

about <- list(
  title = "numerals, combined feature spaces by Gibbs", where = "Table 6",
  data = "numerals", minutes = c(quick = 2, paper = 1500),
  sizes = c(
    quick = "4 of 50 trials; 100 + 100 of 100,000 sweeps",
    paper = "50 trials; 1000 + 1000 of 100,000 sweeps"
  )
)

run <- function() {
  data <- paper_data("numerals")
  averaged(lapply(seq_len(pick(1, 4, 50)), function(k) {
    composite_errors(numerals_trial(data, k), change = by_sampler())
  }))
}
