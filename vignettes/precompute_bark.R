# The slow runs of the vignette "bark": tables 3.1 and 3.2 of Ouyang (2008).
# Run in this folder; writes bark_results.rds.
#
#   BAYESKERNEL_DATA=folder Rscript precompute_bark.R
#
# The folder holds bodyfat.csv and basketball.csv; other data come from
# packages. It takes about an hour on one core. For a trial, or for longer
# runs (the dissertation has 2,000,000 + 2,000,000 sweeps):
#   BAYESKERNEL_PARTS=friedman,circles BAYESKERNEL_REPEATS=2 \
#   BAYESKERNEL_SWEEPS=10000 BAYESKERNEL_RESULTS=trial.rds \
#   Rscript precompute_bark.R
# A part that is left out stays as the results file has it.

library(bayeskernel)
source("../bench/helpers.R")
source("../bench/helpers-bark.R")
options(bayeskernel.threads = 1L, bayeskernel.progress = FALSE)

results_file <- setting("RESULTS", "bark_results.rds")
repeats <- setting("REPEATS", 20)
sweeps <- setting("SWEEPS", 1e5)

kinds <- list(
  "equal" = list(scales = "equal", select = FALSE),
  "different" = list(scales = "different", select = FALSE),
  "select, equal" = list(scales = "equal", select = TRUE),
  "select, different" = list(scales = "different", select = TRUE)
)
peers <- ouyang_peers()

# Chains of `sweeps` for warmup and as many after it, 500 draws kept of each.
run_bark <- function(x, y, kind, classes, sweeps, chains = 2, ndraws = 500) {
  quietly(do.call(bark, c(kind, list(
    x = x, y = y, family = if (classes) "binomial" else "gaussian",
    chains = chains, warmup = sweeps, ndraws = ndraws, thin = sweeps / ndraws,
    seed = 1
  ))))
}

loss <- function(f, truth, classes) {
  if (classes) mean((f > 0.5) != truth) else mean((f - truth)^2)
}

# Share of noiseless values inside their 90 % credible intervals.
coverage <- function(fit, x, f) {
  ci <- predict(fit, x, interval = "credible", level = 0.9, seed = 1)
  mean(ci[, "lwr"] <= f & f <= ci[, "upr"])
}

# One row a method, with the probabilities of inclusion as an attribute.
race <- function(train, test, classes, noiseless, sweeps) {
  ours <- lapply(kinds, function(kind) {
    done <- timed(function() {
      fit <- run_bark(train$x, train$y, kind, classes, sweeps)
      f <- predict(fit, test$x, type = if (classes) "prob" else "response")
      list(fit = fit, f = if (classes) f[, 2] else f)
    })
    fit <- done$value$fit
    list(
      loss = loss(done$value$f, test$y, classes), seconds = done$seconds,
      rhat = rhat_of_f(fit),
      cover = if (noiseless && !classes) coverage(fit, test$x, test$y) else NA,
      inclusion = if (kind$select) unname(inclusion(fit))
    )
  })
  theirs <- lapply(peers, function(peer) {
    done <- timed(function() {
      quietly(peer(train$x, train$y, test$x, classes))
    })
    list(
      loss = loss(done$value, test$y, classes), seconds = done$seconds,
      rhat = NA, cover = NA
    )
  })
  all <- c(ours, theirs)
  rows <- do.call(rbind, lapply(names(all), function(method) {
    data.frame(method = method, all[[method]][1:4])
  }))
  list(
    rows = rows, inclusion = lapply(ours[3:4], function(run) run$inclusion)
  )
}

gather <- function(races, set) {
  rows <- do.call(rbind, lapply(seq_along(races), function(r) {
    data.frame(set = set, run = r, races[[r]]$rows)
  }))
  both <- function(method) {
    do.call(rbind, lapply(races, function(one) one$inclusion[[method]]))
  }
  message(set, ": ", paste(capture.output(
    print(aggregate(cbind(loss, seconds) ~ method, rows, mean))
  ), collapse = "\n"))
  list(rows = rows, inclusion = lapply(
    c(equal = "select, equal", different = "select, different"), both
  ))
}

# 200 rows, judged at 1000 others without noise.
run_simulated <- function(simulate, classes) {
  lapply(stats::setNames(names(simulate), names(simulate)), function(set) {
    gather(lapply(seq_len(repeats), function(r) {
      set.seed(r)
      train <- simulate[[set]](200, TRUE)
      test <- simulate[[set]](1000, FALSE)
      race(train, test, classes, TRUE, sweeps)
    }), set)
  })
}

run_friedman <- function() {
  simulate <- lapply(1:3, function(number) {
    function(n, noisy) simulate_friedman(number, n, noisy)
  })
  names(simulate) <- paste("Friedman", 1:3)
  run_simulated(simulate, FALSE)
}

run_circles <- function() {
  simulate <- lapply(c(2, 5, 20), function(p) {
    function(n, noisy) simulate_circle(p, n)
  })
  names(simulate) <- paste("Circle", c(2, 5, 20))
  run_simulated(simulate, TRUE)
}

# Five folds of rows in random order; half the sweeps, and for WDBC and
# Ionosphere, the wide ones, a quarter.
run_real <- function() {
  sets <- c(
    "Boston", "Body fat", "Basketball", "Bank", "WDBC", "Ionosphere"
  )
  lapply(stats::setNames(sets, sets), function(set) {
    data <- ouyang_data(set)
    folds <- five_folds(length(data$y))
    wide <- set %in% c("WDBC", "Ionosphere")
    gather(lapply(folds, function(out) {
      race(
        list(x = data$x[-out, ], y = data$y[-out]),
        list(x = data$x[out, ], y = data$y[out]),
        all(data$y %in% 0:1), FALSE, if (wide) sweeps / 4 else sweeps / 2
      )
    }), set)
  })
}

five_folds <- function(n) {
  set.seed(1)
  unname(split(sample(n), rep(1:5, length.out = n)))
}

# Longer chains for the same folds of Boston, and a fit to all its rows, whose
# draws are few so that it is small.
run_boston <- function() {
  data <- ouyang_data("Boston")
  long <- 2.5 * sweeps
  folds <- do.call(rbind, lapply(five_folds(length(data$y)), function(out) {
    done <- timed(function() {
      run_bark(
        data$x[-out, ], data$y[-out], kinds$different, FALSE, long, chains = 4
      )
    })
    f <- predict(done$value, data$x[out, ])
    data.frame(
      mse = mean((f - data$y[out])^2), rhat = rhat_of_f(done$value),
      seconds = done$seconds
    )
  }))
  fit <- quietly(bark(
    medv ~ ., MASS::Boston, chains = 4,
    control = bark_control(warmup = long, thin = long / 50), ndraws = 50, seed = 1
  ))
  list(folds = folds, fit = fit, sweeps = long)
}

# Circle 20 by longer chains.
run_circle20 <- function() {
  long <- 5 * sweeps
  do.call(rbind, lapply(1:2, function(r) {
    set.seed(r)
    train <- simulate_circle(20, 200)
    test <- simulate_circle(20, 1000)
    fit <- run_bark(
      train$x, train$y, kinds[["select, equal"]], TRUE, long, chains = 4
    )
    data.frame(
      run = r, t(unname(inclusion(fit))), rhat = rhat_of_f(fit),
      error = mean(predict(fit, test$x) != test$y), sweeps = long
    )
  }))
}

# All methods on ten splits of each of twelve sets, bark() for one round.
run_ranks <- function(splits = setting("SPLITS", 10)) {
  sets <- rank_sets()
  do.call(rbind, lapply(names(sets), function(set) {
    do.call(rbind, lapply(seq_len(splits), function(r) {
      rank_race(set, r, stop_at(rhat = 1.05, sweeps = 1e5), sets = sets)
    }))
  }))
}

run_parts(
  list(
    friedman = run_friedman, circles = run_circles, real = run_real,
    boston = run_boston, circle20 = run_circle20, ranks = run_ranks
  ),
  results_file
)
