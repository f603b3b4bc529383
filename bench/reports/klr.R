# klr() with many predictors for its rows.

two_of <- function(n, p, seed = 1) {
  set.seed(seed)
  x <- matrix(rnorm((n + 1000) * p), n + 1000)
  list(
    x = x, y = x[, 1] + x[, 2] + 0.3 * rnorm(n + 1000) > 0, own = seq_len(n)
  )
}

# Error in new rows, and what is said.
told <- function(d, columns = seq_len(ncol(d$x)), ...) {
  said <- "nothing is said"
  x <- d$x[, columns, drop = FALSE]
  fit <- withCallingHandlers(
    klr(
      x[d$own, , drop = FALSE], d$y[d$own],
      ..., control = klr_control(warmup = 10000, thin = 10, progress = FALSE), ndraws = 400, chains = 2, threads = 1,
      seed = 1
    ),
    bayeskernel_warning = function(w) {
      if (inherits(w, "bayeskernel_warning_identification")) {
        said <<- strsplit(conditionMessage(w), "\n")[[1]][1]
      }
      invokeRestart("muffleWarning")
    }
  )
  prob <- predict(fit, x[-d$own, , drop = FALSE], type = "prob")[, 2]
  sprintf("%.2f, %s", mean((prob > 0.5) != d$y[-d$own]), said)
}

chosen_first <- function(d) {
  first <- suppressWarnings(bsvm(
    d$x[d$own, ], d$y[d$own],
    select = TRUE, threads = 1, seed = 1
  ))
  told(d, which(inclusion(first) > 0.5), rank = 1)
}

cases <- list(
  report(
    "11", "40 rows, 50 predictors of which two count: error in new rows",
    "0.50, nothing is said", "a warning; 0.07 is the best possible",
    function() told(two_of(40, 50))
  ),
  report(
    "11", "80 rows, 50 predictors", "0.31, nothing is said",
    "0.10, or a warning and on the help page up to which p it is for",
    function() told(two_of(80, 50))
  ),
  report(
    "11", "the same after the selection that the help page names, 40, 80 rows",
    "not said", "0.10 with 80 rows",
    function() c(chosen_first(two_of(40, 50)), chosen_first(two_of(80, 50)))
  ),
  report(
    "11", "200 rows, 2 to 10 predictors, rank 1",
    "0.06 0.08 0.07, nothing is said", "the same",
    function() vapply(c(2, 4, 10), function(p) {
      told(two_of(200, p), rank = 1)
    }, "")
  )
)
