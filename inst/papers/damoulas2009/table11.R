# Six classifiers against one with a composite kernel: CPU time.

about <- list(
  title = "proteins, times", where = "Table 11", data = "protein",
  minutes = c(quick = 1, paper = 5),
  sizes = c(
    quick = "1 division; one scale of the latent values in place of one a class",
    paper = "1 division; a scale of the latent values for each class"
  )
)

run <- function() {
  trial <- protein_trial(paper_data("protein"), 1)
  change <- list(
    standardize = FALSE, control = list(latent_scales = pick("class", "shared", "class"))
  )
  single <- timed(function() {
    single_fits(trial, kernel = polynomial(), change = change)
  })
  composite <- timed(function() {
    composite_fit("sum", trial, kernel = polynomial(), change = change)
  })
  measured(
    "seconds, classifier combination" = single$seconds,
    "seconds, kernel combination" = composite$seconds,
    "classifiers take times as long" = single$seconds / composite$seconds,
    "passes, kernel combination" = composite$value$diagnostics$passes
  )
}
