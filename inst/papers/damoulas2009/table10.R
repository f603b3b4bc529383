# Combined feature spaces of proteins.

about <- list(
  title = "proteins, combined feature spaces", where = "Table 10",
  data = "protein", minutes = c(quick = 2, paper = 120),
  sizes = c(
    quick = "5 divisions; one scale of the latent values in place of one a class",
    paper = "5 divisions; a scale of the latent values for each class"
  )
)

run <- function() {
  data <- paper_data("protein")
  averaged(lapply(seq_len(pick(1, 5, 5)), function(k) {
    trial <- protein_trial(data, k)
    vapply(composite_models, function(model) {
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
