# Weights of the feature spaces of proteins, in a sum and in a product.

about <- list(
  title = "proteins, weights of feature spaces", where = "Figure 9",
  data = "protein", minutes = c(quick = 1, paper = 5)
)

run <- function() {
  own <- learned_shares(
    protein_trial(paper_data("protein"), 1), c("composition", "hydrophobicity", "structure"),
    kernel = polynomial(), standardize = FALSE, change = list(control = list(
      latent_scales = pick("class", "shared", "class"), max_iter = pick(3, 20, 100)
    ))
  )
  do.call(measured, c(as.list(own), list(raw = list(own))))
}

draw <- function(raw) draw_shares(raw[[1]])
