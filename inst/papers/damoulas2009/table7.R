# numerals, combined feature spaces by VB. Quick: ten objects of each class in the place of twenty.

about <- list(
  title = "numerals, combined feature spaces by VB", where = "Table 7", data = "numerals",
  minutes = c(quick = 1.2, paper = 230)
)

run <- function() {
  data <- paper_data("numerals")
  averaged(lapply(seq_len(pick(1, 1, 50)), function(k) {
    trial <- numerals_trial(data, k, pick(4, 10, 20))
    composite_errors(trial)
  }))
}
