# Weights of the feature spaces of proteins, in a sum and in a product.

about <- list(
  title = "proteins, weights of feature spaces", where = "Figure 9",
  data = "protein", minutes = c(quick = 2, paper = 60)
)

run <- function() {
  trial <- protein_trial(paper_data("protein"), 1)
  weights <- lapply(c("weighted_sum", "weighted_product"), function(model) {
    fit <- composite_fit(
      model, trial, kernel = polynomial(), standardize = FALSE, change = list(control = list(
        latent_scales = pick("class", "shared", "class"), max_iter = pick(3, 20, 100)
      ))
    )
    w <- kernel_weights(fit)$mean
    w / sum(w)
  })
  own <- stats::setNames(unlist(weights), c(
    paste("sum,", names(trial$x)), paste("product,", names(trial$x))
  ))
  do.call(measured, c(as.list(own), list(raw = own)))
}

draw <- function(raw) {
  w <- matrix(raw, ncol = 2, dimnames = list(NULL, c("sum", "product")))
  graphics::barplot(w, beside = TRUE, legend.text = sub("sum, ", "", names(raw)[seq_len(nrow(w))]),
    ylab = "weight"
  )
}
