# Weights of the feature spaces of numerals, in a sum and in a product.

about <- list(
  title = "numerals, weights of feature spaces", where = "Figure 8",
  data = "numerals", minutes = c(quick = 0.5, paper = 2),
  sizes = c(quick = "10 of 50 trials", paper = "50 trials")
)

run <- function() {
  data <- paper_data("numerals")
  averaged(lapply(seq_len(pick(1, 10, 50)), function(k) {
    learned_shares(numerals_trial(data, k), c("pixels", "zernike"))
  }))
}

draw_table <- function(x) draw_shares(x)
