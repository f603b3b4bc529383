# The two-sample tests of section 4.3.1, of our trials and of the printed means and deviations, and
# all spaces in one.

about <- list(
  title = "numerals, tests and concatenated spaces", where = "Section 4.3.1",
  data = "numerals", minutes = c(quick = 0.8, paper = 40),
  sizes = c(
    quick = "8 of 50 trials; Gibbs: 100 + 100 of 100,000 sweeps",
    paper = "50 trials; Gibbs: 1000 + 1000 of 100,000 sweeps"
  )
)

run <- function() {
  data <- paper_data("numerals")
  rows <- lapply(seq_len(pick(2, 8, 50)), function(k) {
    trial <- numerals_trial(data, k)
    fits <- single_fits(trial)
    error <- function(model, ...) {
      wrong(predict(composite_fit(model, trial, ...), trial$new), trial$truth)
    }
    c(
      pixels = single_errors(fits, trial)[["pixels"]], Prod = rule_errors(fits, trial)[["Prod"]],
      FixProd = error("product"), "WSum by VB" = error("weighted_sum"),
      "WSum by Gibbs" = error("weighted_sum", change = by_sampler()),
      concatenation = joined_error(trial)
    )
  })
  out <- tested(rows, list(
    c("pixels", "Prod"), c("FixProd", "Prod"), c("WSum by VB", "WSum by Gibbs"),
    c("concatenation", "Prod")
  ))
  both(out, measured(
    "p of the printed means, pixels against Prod" = printed_p(c(7.3, 5.1), c(2, 1.7), 50),
    "p of the printed means, FixProd against Prod" = printed_p(c(5.2, 5.1), c(1.8, 1.7), 50),
    "p of the printed means, WSum by VB against Gibbs" = printed_p(c(6.1, 5.8), c(1.6, 2.1), 50)
  ))
}
