# The slow runs of the vignette "nonlinear": section 5 of Wenzel et al. (2017).
# Run in this folder; writes nonlinear_results.rds.
#
#   BAYESKERNEL_DATA=folder Rscript precompute_nonlinear.R
#
# The folder holds Raetsch's sets and the digits; see bench/helpers.R. It takes
# about half an hour on one core. Some parts only, or another file, for a trial:
#   BAYESKERNEL_PARTS=usps BAYESKERNEL_RESULTS=trial.rds \
#   Rscript precompute_nonlinear.R
# A part that is left out stays as the results file has it.

library(bayeskernel)
source("../bench/helpers.R")
options(bayeskernel.threads = 1L, bayeskernel.progress = FALSE)

results_file <- setting("RESULTS", "nonlinear_results.rds")
machines <- nonlinear_machines()

ours <- function(..., method = "vb", tune = FALSE) {
  function(x, y, new) machines$gpsvm(x, y, new, seed = 1L, ..., method = method, tune = tune)
}

fold_means <- function(data, machine, ...) {
  folds <- score_folds(data, machine, ...)
  c(
    colMeans(folds[c("error", "brier", "log_loss")]),
    error_sd = sd(folds$error), seconds = median(folds$seconds)
  )
}

# Table 1 ---------------------------------------------------------------------

run_table1 <- function() {
  folds <- do.call(rbind, lapply(raetsch_sets$set, table1_rows))
  list(means = table1_means(folds), paper = raetsch_sets)
}

# How probabilities and outcomes agree on the test rows of all folds and sets,
# by either link, and by the paper's formula, which has no root.
run_calibration <- function() {
  rows <- lapply(raetsch_sets$set, function(set) {
    data <- raetsch_data(set)
    do.call(rbind, lapply(contiguous_folds(nrow(data$x)), function(test) {
      pair <- standardised_pair(data$x[-test, ], data$x[test, ])
      m <- min(100L, floor(0.2 * nrow(pair$x)))
      fit <- quietly(gpsvm(
        pair$x, data$y[-test], rbf(5 / sqrt(2)), inducing = m,
        standardize = FALSE, seed = 1, method = "vb", tune = FALSE
      ))
      f <- predict(fit, pair$new, type = "link", se.fit = TRUE)
      hinge <- predict(fit, pair$new, type = "prob", link = "hinge")[, 2]
      data.frame(
        set = set, probit = pnorm(f$fit / sqrt(1 + f$se.fit^2)), hinge = hinge,
        paper = pnorm(f$fit / (1 + f$se.fit^2)), truth = data$y[test] == "1"
      )
    }))
  })
  rows <- do.call(rbind, rows)
  by <- function(link) {
    vapply(raetsch_sets$set, function(set) {
      own <- rows[rows$set == set, ]
      brier(own$truth, own[[link]])
    }, 0)
  }
  list(
    bins = lapply(
      rows[c("probit", "hinge")], function(prob) calibration(rows$truth, prob)
    ),
    brier = vapply(
      c(probit = "probit", hinge = "hinge", paper = "paper"), by,
      numeric(nrow(raetsch_sets))
    )
  )
}

# Figure 1: error against time ------------------------------------------------

run_waveform <- function() {
  data <- raetsch_data("waveform")
  at <- function(engine, budget, ...) {
    message("waveform: ", engine, " ", budget)
    data.frame(
      engine = engine, budget = budget,
      t(fold_means(data, ours(theta = 5, inducing = 100, ...)))
    )
  }
  rows <- c(
    lapply(c(2, 3, 5, 8, 500), function(passes) {
      at("vb", passes, method = "vb", max_iter = passes)
    }),
    lapply(c(1, 2, 4), function(epochs) {
      at("svi, minibatches of 400", epochs,
        method = "svi", max_iter = 0, epochs = epochs
      )
    }),
    lapply(c(1, 2, 4), function(epochs) {
      at("svi, minibatches of 10", epochs,
        method = "svi", max_iter = 0, epochs = epochs, batch_size = 10,
        rate = "adaptive"
      )
    }),
    lapply(c(5, 20, 100, 500), function(passes) {
      at("ecm", passes, method = "ecm", max_iter = passes)
    })
  )
  do.call(rbind, rows)
}

# Figure 2: the bound and the width -------------------------------------------

# The width with the variance held at 1, as in the paper; folds and bound at
# each width of a grid, and the width that tuning finds, on all rows.
run_width <- function() {
  thetas <- exp(seq(log(0.7), log(40), length.out = 25))
  rows <- lapply(c("heart", "diabetis", "german"), function(set) {
    data <- raetsch_data(set)
    all <- standardised_pair(data$x, data$x)$x
    m <- floor(min(100, 0.2 * nrow(all)))
    fit <- function(..., method = "vb", tune = FALSE) {
      quietly(flat(gpsvm)(
        all, data$y, inducing = m, standardize = FALSE, seed = 1, ..., method = method, tune = tune
      ))
    }
    grid <- timed(function() {
      do.call(rbind, lapply(thetas, function(theta) {
        message(set, ": theta ", signif(theta, 3))
        scores <- fold_means(data, ours(theta = theta, inducing = m))
        data.frame(
          set = set, theta = theta, t(scores[1:3]),
          elbo = max(elbo(fit(kernel = rbf(theta / sqrt(2)))))
        )
      }))
    })
    tuned <- timed(function() {
      fit(tune = "bound", prior = gpsvm_prior(variance = c(0.999, 1.001)))
    })
    list(
      grid = grid$value,
      tuned = data.frame(
        set = set, theta = tuned$value$kernel$lengthscale * sqrt(2),
        elbo = max(elbo(tuned$value)), seconds = tuned$seconds,
        grid_seconds = grid$seconds
      )
    )
  })
  list(
    grid = do.call(rbind, lapply(rows, `[[`, "grid")),
    tuned = do.call(rbind, lapply(rows, `[[`, "tuned"))
  )
}

# Figure 3: inducing points ---------------------------------------------------

run_usps <- function() {
  data <- usps_data()
  cells <- expand.grid(
    m = c(5, 10, 15, 25, 50, 100, 200, 400), seeding = c("kmeans", "random"),
    stringsAsFactors = FALSE
  )
  rows <- Map(function(m, seeding) {
    message("usps: ", m, " by ", seeding)
    data.frame(
      machine = seeding, m = m,
      t(fold_means(data, ours(inducing = m, seeding = seeding)))
    )
  }, cells$m, cells$seeding)
  peers <- lapply(c("e1071", "ksvm"), function(peer) {
    message("usps: ", peer)
    data.frame(
      machine = peer, m = NA, t(fold_means(data, machines[[peer]]))
    )
  })
  do.call(rbind, c(rows, peers))
}

# A length-scale for each column ----------------------------------------------

# Splice: 60 bases of DNA around a place that is a splice junction or not.
run_ard <- function() {
  data <- raetsch_data("splice")
  folds <- contiguous_folds(nrow(data$x))
  machine <- function(ard) {
    function(x, y, new) {
      fit <- gpsvm(
        x, y, rbf(ard = ard), inducing = 100, tune = "bound", standardize = FALSE,
        seed = 1, method = "vb"
      )
      prob <- predict(fit, new, type = "prob")[, 2]
      list(class = class_of(prob, 0.5, levels(y)), prob = prob)
    }
  }
  scores <- lapply(c(one = FALSE, each = TRUE), function(ard) {
    message("splice: ard ", ard)
    fold_means(data, machine(ard), folds)
  })
  fit <- quietly(gpsvm(
    data$x, data$y, rbf(ard = TRUE), inducing = 100, tune = "bound", seed = 1,
    method = "vb"
  ))
  list(
    scores = data.frame(lengthscales = names(scores), do.call(rbind, scores)),
    lengthscale = unname(fit$kernel$lengthscale),
    median_distance = fit$median_distance
  )
}

# Standard deviations against the sampler -------------------------------------

run_gibbs <- function() {
  data <- raetsch_data("heart")
  test <- contiguous_folds(nrow(data$x))[[1]]
  fit <- function(..., method = "vb", tune = FALSE) {
    timed(function() {
      quietly(flat(gpsvm)(
        data$x[-test, ], data$y[-test], rbf(5 / sqrt(2)), inducing = "all",
        seed = 1, ..., method = method, tune = tune
      ))
    })
  }
  fits <- list(
    vb = fit(method = "vb"),
    gibbs = fit(method = "gibbs", chains = 2, warmup = 500, ndraws = 2000)
  )
  moments <- lapply(fits, function(done) {
    link <- predict(done$value, data$x[test, ], type = "link", se.fit = TRUE)
    data.frame(
      mean = link$fit, sd = link$se.fit,
      prob = predict(done$value, data$x[test, ], type = "prob")[, 2]
    )
  })
  list(moments = moments, seconds = vapply(fits, `[[`, 0, "seconds"))
}

run_parts(list(
  table1 = run_table1, calibration = run_calibration, waveform = run_waveform,
  width = run_width, usps = run_usps, ard = run_ard, gibbs = run_gibbs
), results_file)
