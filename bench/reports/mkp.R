# mkprobit() with the process prior.

local_sets <- function(name) {
  data <- switch(name,
    crabs = list(
      x = as.matrix(MASS::crabs[4:8]),
      y = interaction(MASS::crabs$sp, MASS::crabs$sex)
    ),
    iris = list(x = as.matrix(iris[1:4]), y = iris$Species)
  )
  set.seed(101)
  data$out <- unlist(lapply(split(seq_along(data$y), data$y), function(rows) {
    rows[sample.int(length(rows), round(length(rows) / 3))]
  }), use.names = FALSE)
  data
}

process_scores <- function(name, ...) {
  d <- local_sets(name)
  fit <- mkprobit(d$x[-d$out, ], d$y[-d$out], ..., threads = 1, seed = 1)
  p <- predict(fit, d$x[d$out, ], type = "prob")
  own <- p[cbind(seq_along(d$out), as.integer(d$y[d$out]))]
  sprintf(
    "error %.3f, log-loss %.3f",
    mean(colnames(p)[max.col(p)] != d$y[d$out]), -mean(log(own))
  )
}

cases <- list(
  report(
    "39", "crabs, a third left out, at the defaults", "error .235, log-loss .713",
    "about error .06", function() process_scores("crabs")
  ),
  report(
    "39", "crabs, coefficients = \"weights\"", "error .235, log-loss .713",
    "as before", function() process_scores("crabs", coefficients = "weights")
  ),
  report(
    "39", "irises, a third left out, at the defaults", "log-loss .151",
    "about .10", function() process_scores("iris")
  ),
  report(
    "39", "sd of f far from all rows over that of its prior", "less than 1", "1",
    function() {
      d <- local_sets("crabs")
      fit <- mkprobit(
        d$x, d$y, tune = FALSE, threads = 1, seed = 1, inducing = 20,
        prior = mkprobit_prior(variance = 2, intercept = 1e-3)
      )
      far <- predict(
        fit, d$x[1, , drop = FALSE] + 1e4, type = "link", se.fit = TRUE
      )
      format(far$se.fit[1] / sqrt(2), digits = 4)
    }
  ),
  report(
    "39", "a class of one row: largest change of another's probabilities",
    "not measured", "small", function() {
      d <- local_sets("iris")
      fit <- function(x, y) suppressWarnings(mkprobit(x, y, threads = 1, seed = 1))
      before <- predict(fit(d$x, d$y), d$x, type = "prob")
      more <- fit(
        rbind(d$x, 3 * d$x[1, ]), factor(c(as.character(d$y), "alone"))
      )
      after <- predict(more, d$x, type = "prob")[, colnames(before)]
      format(mean(abs(after - before)), digits = 2)
    }
  )
)
