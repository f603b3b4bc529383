# Weights of the feature spaces of proteins, in a sum and in a product: means of five starts, since
# one or two of the points have all the weight.

about <- list(
  title = "proteins, weights of feature spaces", where = "Figure 9",
  data = "protein", minutes = c(quick = 1, paper = 1)
)

run <- function() {
  trial <- protein_trial(paper_data("protein"), 1)
  averaged(lapply(seq_len(pick(1, 5, 5)), function(seed) {
    learned_shares(
      trial, c("composition", "hydrophobicity", "structure"), kernel = polynomial(),
      standardize = FALSE, seed = seed, change = list(control = list(max_iter = pick(3, 100, 100)))
    )
  }))
}

draw_table <- function(x) draw_shares(x)
