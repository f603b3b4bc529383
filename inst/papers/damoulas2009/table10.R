# Combined feature spaces of proteins.

about <- list(
  title = "proteins, combined feature spaces", where = "Table 10",
  data = "protein", minutes = c(quick = 2, paper = 120)
)

run <- function() {
  data <- paper_data("protein")
  # Fixed weights alone at size quick: learned ones take minutes.
  models <- composite_models[pick(1:5, c(2, 4), 1:5)]
  averaged(lapply(seq_len(pick(1, 1, 5)), function(k) {
    trial <- protein_trial(data, k)
    vapply(models, function(model) {
      # Powers of quadratic kernels may overflow: no number then.
      tryCatch(one_error(model, trial), bayeskernel_error_numeric = function(e) {
        NA_real_
      })
    }, 0)
  }))
}

one_error <- function(model, trial) {
  fit <- composite_fit(
    model, trial, kernel = polynomial(), standardize = FALSE,
    change = list(control = list(latent_scales = pick("class", "shared", "class")))
  )
  wrong(predict(fit, trial$new), trial$truth)
}
