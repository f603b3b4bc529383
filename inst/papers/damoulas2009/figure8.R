# Weights of the feature spaces of numerals, in a sum and in a product.

about <- list(
  title = "numerals, weights of feature spaces", where = "Figure 8",
  data = "numerals", minutes = c(quick = 1, paper = 2)
)

run <- function() {
  data <- paper_data("numerals")
  rows <- lapply(seq_len(pick(1, 1, 5)), function(k) {
    trial <- numerals_trial(data, k)
    weights <- lapply(c("weighted_sum", "weighted_product"), function(model) {
      w <- kernel_weights(composite_fit(model, trial))$mean
      w / sum(w)
    })
    stats::setNames(unlist(weights), c(
      paste("sum,", names(trial$x)), paste("product,", names(trial$x))
    ))
  })
  averaged(rows)
}

draw <- function(raw) {
  w <- Reduce(`+`, raw) / length(raw)
  graphics::barplot(
    matrix(w, ncol = 2, dimnames = list(NULL, c("sum", "product"))),
    beside = TRUE, legend.text = c("FR", "KL", "PX", "ZM"), ylab = "weight"
  )
}
