# The slow runs of the toenail vignette: sections 4.2 and 4.3 of Luts and
# Ormerod. Run in this folder; writes toenail_results.rds.
#
#   Rscript precompute_toenail.R
#
# It takes about half an hour of one core. Fewer repetitions, or only one
# part, for a trial:
#   BAYESKERNEL_SPLITS=2 BAYESKERNEL_UNSEEN=0 BAYESKERNEL_SETS=0 \
#   BAYESKERNEL_RESULTS=trial.rds Rscript precompute_toenail.R
# A part of 0 repetitions stays as the results file has it.

library(bayeskernel)
source("../bench/helpers.R")
options(bayeskernel.threads = 1L, bayeskernel.progress = FALSE)

setting <- function(name, default) {
  value <- Sys.getenv(paste0("BAYESKERNEL_", name), NA)
  if (is.na(value)) default else methods::as(value, class(default))
}
repetitions <- list(
  splits = setting("SPLITS", 100), unseen = setting("UNSEEN", 40),
  sets = setting("SETS", 30)
)
results_file <- setting("RESULTS", "toenail_results.rds")

timed <- function(run) {
  value <- NULL
  seconds <- cpu_seconds(function() value <<- run(), times = 1, least = 0)
  list(value = value, seconds = seconds)
}

# The paper's 5000 + 5000 sweeps of one chain, of which there is nothing to be
# said at each of a thousand fits.
fit_gibbs <- function(...) {
  withCallingHandlers(
    flat(bsvm)(..., method = "gibbs", chains = 1,
      control = bsvm_control(warmup = 5000), ndraws = 5000),
    bayeskernel_warning_convergence = function(w) {
      tryInvokeRestart("muffleWarning")
    }
  )
}

# Probability of the second class in the rows of `test`.
mixed_models <- list(
  glmer = function(train, test, seed) {
    fit <- suppressMessages(suppressWarnings(
      lme4::glmer(toenail_formula, train, family = stats::binomial)
    ))
    predict(fit, test, type = "response", allow.new.levels = TRUE)
  },
  vb = function(train, test, seed) {
    predict(bsvm(toenail_formula, train,
      method = "vb"), test, type = "prob")[, 2]
  },
  gibbs = function(train, test, seed) {
    fit <- fit_gibbs(toenail_formula, train, seed = seed)
    predict(fit, test, type = "prob")[, 2]
  }
)

# glmer's prediction for a new patient with the random intercept integrated
# out, which its predict() does not do: it puts the intercept at 0.
integrated_glmer <- function(train, test, seed) {
  fit <- suppressMessages(suppressWarnings(
    lme4::glmer(toenail_formula, train, family = stats::binomial)
  ))
  eta <- predict(fit, test, re.form = NA)
  sd <- sqrt(lme4::VarCorr(fit)[[1]][1])
  nodes <- seq(-6, 6, by = 0.1)
  weights <- dnorm(nodes) / sum(dnorm(nodes))
  drop(plogis(outer(eta, sd * nodes, "+")) %*% weights)
}

scores <- function(truth, prob, prevalence, ...) {
  thresholds <- c(half = 0.5, prevalence = prevalence)
  positive <- truth == levels(truth)[2]
  data.frame(
    ...,
    threshold = names(thresholds),
    ber = vapply(thresholds, function(threshold) {
      balanced_error(truth, class_of(prob, threshold, levels(truth)))
    }, numeric(1)),
    log_loss = log_loss(positive, prob), brier = brier(positive, prob),
    row.names = NULL
  )
}

bin_edges <- seq(0, 1, 0.1)

calibration_bins <- function(truth, prob, method) {
  bin <- cut(prob, bin_edges, include.lowest = TRUE, labels = FALSE)
  bin <- factor(bin, seq_len(length(bin_edges) - 1))
  sums <- function(x) as.vector(tapply(x, bin, sum, default = 0))
  data.frame(
    method = method, bin = levels(bin), count = as.vector(table(bin)),
    prob = sums(prob), positive = sums(truth == levels(truth)[2])
  )
}

# Section 4.3: visits are split, so nearly all test patients are known ------

run_split <- function(split, data) {
  set.seed(split)
  train <- three_quarters(nrow(data))
  y <- data$outcome
  x <- standardised_design(data, train)
  truth <- y[-train]
  prevalence <- mean(y[train] == levels(y)[2])

  svm <- function(method, run) {
    done <- timed(run)
    data.frame(
      split = split, method = method, seconds = done$seconds,
      threshold = "none", ber = balanced_error(truth, done$value),
      log_loss = NA, brier = NA
    )
  }
  rows <- list(
    svm("svm", function() {
      predict(tune_svm(x[train, ], y[train])$fit, x[-train, ])
    }),
    svm("weighted svm", function() {
      weights <- balancing_weights(y[train])
      predict(fit_svm(x[train, ], y[train], 1, weights), x[-train, ])
    })
  )
  bins <- list()
  for (method in names(mixed_models)) {
    done <- timed(function() {
      mixed_models[[method]](data[train, ], data[-train, ], split)
    })
    rows[[method]] <- scores(truth, done$value, prevalence,
      split = split, method = method, seconds = done$seconds
    )
    bins[[method]] <- calibration_bins(truth, done$value, method)
  }
  list(scores = do.call(rbind, rows), bins = do.call(rbind, bins))
}

# A quarter of the patients is left out with all their visits ---------------

run_unseen <- function(split, data) {
  set.seed(1000 + split)
  patients <- levels(data$patientID)
  known <- patients[three_quarters(length(patients))]
  train <- data[data$patientID %in% known, ]
  test <- data[!data$patientID %in% known, ]
  train$patientID <- droplevels(train$patientID)
  prevalence <- mean(train$outcome == levels(train$outcome)[2])
  models <- c(mixed_models, list("glmer, integrated" = integrated_glmer))
  rows <- lapply(names(models), function(method) {
    prob <- models[[method]](train, test, split)
    scores(test$outcome, prob, prevalence, split = split, method = method)
  })
  do.call(rbind, rows)
}

# Section 4.2 ---------------------------------------------------------------

run_set <- function(set, n, p) {
  set.seed(10000 + set)
  repeat {
    train <- simulate_linear(n, p)
    if (min(table(train$y)) > 3) break
  }
  test <- simulate_linear(1000, p)
  colnames(train$x) <- colnames(test$x) <- paste0("x", seq_len(p))
  center <- colMeans(train$x)
  spread <- apply(train$x, 2, sd)
  methods <- list(
    svm = function() {
      fit <- tune_svm(scale(train$x, center, spread), train$y)$fit
      predict(fit, scale(test$x, center, spread))
    },
    vb = function() predict(bsvm(train$x, train$y, method = "vb"), test$x),
    gibbs = function() {
      predict(fit_gibbs(train$x, train$y, seed = set), test$x)
    }
  )
  rows <- lapply(names(methods), function(method) {
    done <- timed(methods[[method]])
    data.frame(
      n = n, p = p, set = set, method = method, seconds = done$seconds,
      ber = balanced_error(test$y, done$value)
    )
  })
  do.call(rbind, rows)
}

repeated <- function(what, count, run) {
  lapply(seq_len(count), function(i) {
    message(what, " ", i, " of ", count)
    run(i)
  })
}

toenail <- toenail_data()
results <- if (file.exists(results_file)) readRDS(results_file) else list()

if (repetitions$splits > 0) {
  done <- repeated("split", repetitions$splits, function(i) {
    run_split(i, toenail)
  })
  results$splits <- do.call(rbind, lapply(done, `[[`, "scores"))
  rownames(results$splits) <- NULL
  bins <- do.call(rbind, lapply(done, `[[`, "bins"))
  results$bins <- aggregate(
    cbind(count, prob, positive) ~ method + bin, bins, sum
  )
}
if (repetitions$unseen > 0) {
  results$unseen <- do.call(rbind, repeated(
    "unseen", repetitions$unseen, function(i) run_unseen(i, toenail)
  ))
}
if (repetitions$sets > 0) {
  results$grid <- do.call(rbind, repeated("set", repetitions$sets, function(i) {
    cells <- expand.grid(n = c(50, 100, 200, 500), p = c(5, 10, 20, 50))
    do.call(rbind, Map(run_set, i, cells$n, cells$p))
  }))
}
saveRDS(results, results_file, version = 2, compress = "xz")
