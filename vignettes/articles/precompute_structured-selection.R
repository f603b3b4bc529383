# The slow runs of the vignette "structured-selection": the simulation of
# chapter 4 of Ouyang (2008), and spectra like those of its application, which
# are not public. Run in this folder; writes structured-selection_results.csv.
#
#   BAYESKERNEL_DATA=folder Rscript precompute_structured-selection.R
#
# The folder holds sim_standins.R, which simulates the spectra of the part
# `maldi`. It takes about four minutes on one core. Some parts only:
#   BAYESKERNEL_PARTS=sensitivity Rscript precompute_structured-selection.R

library(bayeskernel)
source("../../bench/helpers.R")
options(bayeskernel.threads = 1L, bayeskernel.progress = FALSE)

results_file <- setting("RESULTS", "structured-selection_results.csv")

# Four chains, each from a start of its own: none of the predictors, all, every
# other one, those whose means differ most.
select_run <- function(data, structure = markov(q = 0.2, s = 0.15),
                       warmup = 1e5, sweeps = 1e5, standardize = FALSE) {
  draws <- 2000
  done <- timed(function() {
    quietly(bark(
      data$x, data$y, family = "binomial", scales = "equal", select = TRUE,
      structure = structure, standardize = standardize, chains = 4,
      control = bark_control(warmup = warmup, thin = sweeps / draws), ndraws = draws, seed = 1
    ))
  })
  fit <- done$value
  lambda <- grep("^lambda", dimnames(fit$draws)[[3]])
  by_chain <- t(apply(fit$draws[, , lambda] > 0, 2:3, mean))
  dimnames(by_chain) <- list(NULL, paste0("chain_", 1:4))
  data.frame(
    point = seq_len(nrow(by_chain)), by_chain, rhat = glance(fit)$rhat.max,
    seconds = done$seconds, seed = 1
  )
}

first_data <- function(...) {
  set.seed(1)
  simulate_spectra(...)
}

# The dissertation's length of the chains, and twenty times the draws.
run_starts <- function() {
  data <- first_data()
  rbind(
    data.frame(case = "short", select_run(data)),
    data.frame(case = "long", select_run(data, sweeps = 2e6))
  )
}

# The prior, and shifts of the data, as the only things that change.
run_sensitivity <- function() {
  data <- first_data()
  tilted <- data
  set.seed(2)
  tilted$x <- data$x + rnorm(10, 0, 0.3)
  cases <- list(
    "q = 0.2, s = 0.15" = list(data),
    "q = 0.05" = list(data, markov(0.05, 0.15)),
    "q = 0.1" = list(data, markov(0.1, 0.15)),
    "q = 0.3" = list(data, markov(0.3, 0.15)),
    "s = 0.05" = list(data, markov(0.2, 0.05)),
    "s = 0.3" = list(data, markov(0.2, 0.3)),
    "s = 0.6" = list(data, markov(0.2, 0.6)),
    "hyper-prior" = list(data, markov(0.2, 0.15, hyper = c(24, 1, 17, 3))),
    "no structure" = list(data, NULL),
    "shifted" = list(first_data(baseline = 1)),
    "tilted" = list(tilted)
  )
  do.call(rbind, Map(function(name, case) {
    data.frame(case = name, do.call(select_run, c(case, sweeps = 3e5)))
  }, names(cases), cases))
}

# Other spectra of the same kind, five and then twenty of each class.
run_data_sets <- function() {
  do.call(rbind, lapply(c(10, 40), function(n) {
    do.call(rbind, lapply(1:8, function(seed) {
      set.seed(seed)
      run <- select_run(simulate_spectra(n), warmup = 5e4)
      data.frame(
        case = paste(n, "spectra"), point = run$point,
        inclusion = rowMeans(run[paste0("chain_", 1:4)]), seed = seed
      )
    }))
  }))
}

# Eighty spectra of 2000 points, means of twenty neighbours.
run_maldi <- function() {
  home <- new.env()
  sys.source(data_file("sim_standins.R"), home)
  spectra <- home$sim_maldi(n = 80, p = 2000)
  bin <- rep(1:100, each = 20)
  x <- t(rowsum(t(spectra$x), bin)) / 20
  colnames(x) <- round(tapply(spectra$mz, bin, mean))
  y <- as.integer(spectra$y > 0)
  run <- select_run(
    list(x = x, y = y), sweeps = 3e5, standardize = TRUE
  )
  t_value <- apply(x, 2, function(v) {
    abs(stats::t.test(v[y == 1], v[y == 0])$statistic)
  })
  data.frame(
    case = "maldi", run, mz = as.numeric(colnames(x)), mean_0 = colMeans(x[y == 0, ]),
    mean_1 = colMeans(x[y == 1, ]), t = t_value,
    differs = run$point %in% ceiling(spectra$differential / 20)
  )
}

run_tables(
  list(
    starts = run_starts, sensitivity = run_sensitivity,
    data_sets = run_data_sets, maldi = run_maldi
  ),
  results_file
)
