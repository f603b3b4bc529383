# Error on held-out rows by training time: passes of each engine. S-GPC is the probit process of
# bkm(), whose minibatches are followed by one full pass at least.

about <- list(
  title = "waveform, error by time", where = "Figure 1", data = "waveform",
  minutes = c(quick = 0.8, paper = 5)
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
  test <- seq_len(nrow(data$x) %/% 5)
  pair <- standardised_pair(data$x[-test, ], data$x[test, ])
  truth <- data$y[test] == levels(data$y)[2]
  budgets <- list(
    "S-BSVM" = pick(1, c(1, 2, 4), c(1, 2, 4, 8)),
    "B-BSVM" = pick(2, c(2, 4, 8, 100), c(2, 4, 8, 16, 500)),
    "S-GPC" = pick(1, c(1, 2, 4), c(1, 2, 4, 8)),
    "ECM" = pick(3, c(5, 20, 100, 300), c(5, 20, 100, 500))
  )
  models <- c("S-BSVM" = "stochastic", "B-BSVM" = "batch", "ECM" = "ecm")
  rows <- do.call(rbind, lapply(names(budgets), function(engine) {
    do.call(rbind, lapply(budgets[[engine]], function(budget) {
      limit <- if (engine == "S-BSVM") {
        list(epochs = budget)
      } else {
        list(max_iter = budget)
      }
      machine <- if (engine == "S-GPC") {
        sparse_classifier(budget)
      } else {
        gp_machine(models[[engine]], list(control = limit))
      }
      done <- timed(function() machine(pair$x, data$y[-test], pair$new))
      data.frame(
        engine = engine, budget = budget, seconds = done$seconds,
        error = mean((done$value > 0.5) != truth)
      )
    }))
  }))
  last <- function(engine, what) utils::tail(rows[rows$engine == engine, what], 1)
  # The first time at which the error is within a standard error of the best of all.
  best <- min(rows$error)
  enough <- best + sqrt(best * (1 - best) / length(test))
  near <- function(engine) {
    own <- rows[rows$engine == engine, ]
    good <- own$error <= enough
    if (any(good)) min(own$seconds[good]) else NA_real_
  }
  error <- last("S-BSVM", "error") - last("ECM", "error")
  numbers <- measured(
    "error, S-BSVM" = last("S-BSVM", "error"), "error, B-BSVM" = last("B-BSVM", "error"),
    "error, ECM" = last("ECM", "error"), "error, S-GPC" = last("S-GPC", "error"),
    "error, S-BSVM minus ECM" = error,
    "ECM takes times as long as S-BSVM" = near("ECM") / near("S-BSVM"),
    "S-GPC takes times as long as S-BSVM" = near("S-GPC") / near("S-BSVM"),
    raw = curves(rows$engine, rows$seconds, rows$error)
  )
  # A paired difference of two classifiers on the same rows.
  numbers$mc_error[5] <- sqrt(max(abs(error), 1 / length(test)) / length(test))
  numbers
}

draw <- function(raw) draw_curves(raw, "CPU seconds")
