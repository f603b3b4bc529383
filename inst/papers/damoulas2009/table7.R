# Combined feature spaces of numerals by VB. Beside the printed weights of B.4 two that are derived:
# a sum whose weights see the coefficients' variances, and subsets that have a fit each, weighed by
# their bounds. Subsets with the printed weights hold all spaces, each with weight 1: so does a
# fixed sum.

about <- list(
  title = "numerals, combined feature spaces by VB", where = "Table 7", data = "numerals",
  minutes = c(quick = 1.2, paper = 4),
  sizes = c(quick = "15 of 50 trials", paper = "50 trials")
)

run <- function() {
  data <- paper_data("numerals")
  averaged(lapply(seq_len(pick(1, 15, 50)), function(k) {
    trial <- numerals_trial(data, k)
    derived <- function(model, by) {
      change <- list(control = list(weights_method = by, is_target = "exact"))
      composite_error(model, trial, change = change)
    }
    c(
      composite_errors(trial),
      "FixSum, all weights 1" =
        composite_error("sum", trial, change = list(kernel_weights = rep(1, length(trial$x)))),
      "WSum, with variances" = derived("weighted_sum", "is"),
      "Bin, by bounds" = derived("binary", "enumerate")
    )
  }))
}
