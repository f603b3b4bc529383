# The two-sample tests of section 4.3.2, of our divisions and of the printed means and deviations,
# and all spaces in one.

about <- list(
  title = "proteins, tests and concatenated spaces", where = "Section 4.3.2",
  data = "protein", minutes = c(quick = 0.5, paper = 60),
  sizes = c(
    quick = "5 divisions; one scale of the latent values in place of one a class",
    paper = "5 divisions; a scale of the latent values for each class"
  )
)

run <- function() {
  data <- paper_data("protein")
  change <- list(
    standardize = FALSE, control = list(latent_scales = pick("class", "shared", "class"))
  )
  rows <- lapply(seq_len(pick(2, 5, 5)), function(k) {
    trial <- protein_trial(data, k)
    fits <- single_fits(trial, kernel = polynomial(), change = change)
    sum_fit <- composite_fit("sum", trial, kernel = polynomial(), change = change)
    c(
      composition = single_errors(fits, trial)[["composition"]],
      Sum = rule_errors(fits, trial)[["Sum"]],
      FixSum = wrong(predict(sum_fit, trial$new), trial$truth),
      concatenation = joined_error(trial, kernel = polynomial(), change = change)
    )
  })
  out <- tested(rows, list(
    c("composition", "Sum"), c("Sum", "FixSum"), c("concatenation", "FixSum")
  ))
  both(out, measured(
    "p of the printed means, composition against Sum" = printed_p(c(49.8, 47.6), c(0.6, 0.4), 5),
    "p of the printed means, Sum against FixSum" = printed_p(c(47.6, 40.1), c(0.4, 0.3), 5)
  ))
}
