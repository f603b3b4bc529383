# What Table 2 does not give, and how much it matters: the scale of the columns and the prior of the
# precisions, for the quadratic kernel.

about <- list(
  title = "scale of the columns and prior, quadratic kernel", where = "Table 2",
  data = c("glass", "wine"), minutes = c(quick = 0.5, paper = 0.5)
)

scales <- list(
  "sd 1" = function(x, pair) pair, "sd 1/3" = function(x, pair) lapply(pair, `/`, 3),
  "sd 1 / root of their number" = function(x, pair) lapply(pair, `/`, sqrt(ncol(x))),
  "in [0, 1]" = function(x, pair) {
    low <- apply(pair$x, 2, min)
    spread <- apply(pair$x, 2, max) - low
    lapply(pair, function(z) sweep(sweep(z, 2, low), 2, spread, "/"))
  }
)

priors <- list(
  "gamma(1, 1)" = mkprobit_prior(), "gamma(1e-6, 1e-6)" = mkprobit_prior(tau = 1e-6, nu = 1e-6)
)

fold_errors <- function(set, scale, prior) {
  data <- paper_data(set)
  if (size == "tiny") data <- data[seq(1, nrow(data), length.out = 45), ]
  last <- ncol(data)
  x <- as.matrix(data[-last])
  y <- droplevels(factor(data[[last]]))
  set.seed(1)
  folds <- random_folds(nrow(x))
  if (size == "tiny") folds <- folds[1]
  vapply(folds, function(test) {
    pair <- scales[[scale]](x, standardised_pair(x[-test, ], x[test, , drop = FALSE]))
    fit <- fit_as(
      mkprobit, "damoulas2009", "single", pair$x, droplevels(y[-test]), kernel = polynomial(),
      standardize = FALSE, seed = 1, change = list(prior = priors[[prior]])
    )
    wrong(predict(fit, pair$new), y[test])
  }, 0)
}

run <- function() {
  choices <- rbind(
    c("glass", "sd 1", "gamma(1, 1)"), c("glass", "sd 1/3", "gamma(1e-6, 1e-6)"),
    c("wine", "sd 1", "gamma(1, 1)"), c("wine", "sd 1", "gamma(1e-6, 1e-6)"),
    c("wine", "sd 1 / root of their number", "gamma(1e-6, 1e-6)"),
    c("wine", "in [0, 1]", "gamma(1e-6, 1e-6)")
  )
  errors <- apply(choices, 1, function(choice) do.call(fold_errors, as.list(choice)))
  errors <- matrix(errors, ncol = nrow(choices))
  colnames(errors) <- sprintf("%s, columns %s, %s", choices[, 1], choices[, 2], choices[, 3])
  averaged(errors)
}
