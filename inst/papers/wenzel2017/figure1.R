# Error on held-out rows by training time: passes of each engine. S-GPC is the probit process of
# bkm(), whose minibatches are followed by one full pass at least. GPC is that of kernlab, which has
# one time.

about <- list(
  title = "waveform, error by time", where = "Figure 1", data = "waveform", packages = "kernlab",
  minutes = c(quick = 0.8, paper = 5),
  sizes = c(
    quick = "1500 of 5000 rows; at most 4 passes by minibatches, 300 by ECM",
    paper = "5000 rows; at most 8 passes by minibatches, 500 by ECM"
  )
)

sparse_classifier <- function(epochs) {
  function(x, y, new) {
    colnames(x) <- colnames(new) <- paste0("x", seq_len(ncol(x)))
    term <- sprintf(
      "gp(%s, kernel = rbf(5 / sqrt(2)), inducing = %d)", toString(colnames(x)), inducing_of(y)
    )
    fit <- bkm(stats::reformulate(term, "y"), data.frame(y, x),
      family = "probit", method = "svi", standardize = FALSE, seed = 1,
      control = list(batch_size = 10, epochs = epochs, max_iter = 1)
    )
    probability(fit, data.frame(new))
  }
}

run <- function() {
  data <- raetsch("waveform", pick(150, 1500, Inf))
  n <- nrow(data$x) %/% 5
  test <- seq_len(n)
  pair <- standardised_pair(data$x[-test, ], data$x[test, ])
  pair$y <- data$y[-test]
  pair$truth <- data$y[test] == levels(data$y)[2]
  # Errors are the same each time, times are not.
  runs <- lapply(seq_len(pick(1, 5, 5)), function(k) all_passes(pair))
  classifier <- timed(function() gp_classifier(pair$x, pair$y, pair$new))
  rows <- rbind(runs[[1]], data.frame(
    engine = "GPC", seconds = classifier$seconds,
    error = mean((classifier$value > 0.5) != pair$truth)
  ))
  # The first call of a function takes longer.
  times <- vapply(runs, `[[`, runs[[1]]$seconds, "seconds")
  rows$seconds[-nrow(rows)] <- apply(times, 1, stats::median)
  engines <- unique(rows$engine)
  error <- vapply(stats::setNames(engines, paste("error,", engines)), function(engine) {
    utils::tail(rows$error[rows$engine == engine], 1)
  }, 0)
  apart <- c(
    "error, S-BSVM minus ECM" = error[["error, S-BSVM"]] - error[["error, ECM"]],
    "error, S-GPC minus S-BSVM" = error[["error, S-GPC"]] - error[["error, S-BSVM"]]
  )
  numbers <- measured(
    error, apart, raw = curves(rows$engine, rows$seconds, rows$error, share_error(rows$error, n))
  )
  # Differences are paired, of two classifiers on the same rows.
  numbers$mc_error <- c(share_error(error, n), sqrt(pmax(abs(apart), 1 / n) / n))
  both(numbers, averaged(lapply(runs, ratios, n, classifier$seconds)))
}

# The passes of each engine, their time and error.
all_passes <- function(pair) {
  budgets <- list(
    "S-BSVM" = pick(1, c(1, 2, 4), c(1, 2, 4, 8)),
    "B-BSVM" = pick(2, c(2, 4, 8, 100), c(2, 4, 8, 16, 500)),
    "S-GPC" = pick(1, c(1, 2, 4), c(1, 2, 4, 8)),
    "ECM" = pick(3, c(5, 20, 100, 300), c(5, 20, 100, 500))
  )
  models <- c("S-BSVM" = "stochastic", "B-BSVM" = "batch", "ECM" = "ecm")
  do.call(rbind, lapply(names(budgets), function(engine) {
    do.call(rbind, lapply(budgets[[engine]], function(budget) {
      limit <- if (engine == "S-BSVM") list(epochs = budget) else list(max_iter = budget)
      machine <- if (engine == "S-GPC") {
        sparse_classifier(budget)
      } else {
        gp_machine(models[[engine]], list(control = limit))
      }
      done <- timed(function() machine(pair$x, pair$y, pair$new))
      data.frame(
        engine, seconds = done$seconds, error = mean((done$value > 0.5) != pair$truth)
      )
    }))
  }))
}

# Times until the error is within a standard error of the best of all, and their ratios; a GPC has
# one time.
ratios <- function(rows, n, classifier) {
  best <- min(rows$error)
  good <- rows[rows$error <= best + share_error(best, n), ]
  near <- vapply(stats::setNames(nm = unique(rows$engine)), function(engine) {
    own <- good$seconds[good$engine == engine]
    if (length(own)) min(own) else NA_real_
  }, 0)
  c(
    "ECM takes times as long as S-BSVM" = near[["ECM"]] / near[["S-BSVM"]],
    "B-BSVM takes times as long as ECM" = near[["B-BSVM"]] / near[["ECM"]],
    "S-GPC takes times as long as S-BSVM" = near[["S-GPC"]] / near[["S-BSVM"]],
    "GPC takes times as long as S-BSVM" = classifier / near[["S-BSVM"]]
  )
}

draw <- function(raw) draw_curves(raw, "CPU seconds")
