# numerals, combined feature spaces by VB.

about <- list(
  title = "numerals, combined feature spaces by VB", where = "Table 7", data = "numerals",
  minutes = c(quick = 9.3, paper = 230)
)

run <- function() {
  data <- paper_data("numerals")
  averaged(lapply(seq_len(pick(1, 2, 50)), function(k) {
    trial <- numerals_trial(data, k)
    composite_errors(trial)
  }))
}
