# The slow runs of the vignette "feature-spaces": section 4 of Damoulas and
# Girolami (2009). Run in this folder; writes feature-spaces_results.rds.
#
#   BAYESKERNEL_DATA=folder Rscript precompute_feature-spaces.R
#
# The folder holds the numerals, the protein folds and the UCI sets; see
# bench/helpers-mkprobit.R. Some parts only, fewer seeds or trials, or another
# file:
#   BAYESKERNEL_PARTS=numerals BAYESKERNEL_TRIALS=5 \
#   BAYESKERNEL_RESULTS=trial.rds Rscript precompute_feature-spaces.R
# A part that is left out stays as the results file has it.

library(bayeskernel)
source("../bench/helpers.R")
source("../bench/helpers-mkprobit.R")
options(bayeskernel.threads = 1L, bayeskernel.progress = FALSE)

results_file <- setting("RESULTS", "feature-spaces_results.rds")
seeds <- seq_len(setting("SEEDS", 5L))
trials <- setting("TRIALS", 50L)

wanted_sets <- strsplit(setting(
  "SETS", paste(damoulas_sets$set, collapse = ",")
), ",", fixed = TRUE)[[1]]

# Errors of ten folds for each set, kernel and seed: class scales.
run_uci <- function() {
  rows <- list()
  for (set in wanted_sets) {
    data <- damoulas_data(set)
    if (is.null(data)) next
    for (kernel in names(damoulas_kernels)) {
      machine <- probit_machine(eval(damoulas_kernels[[kernel]]), max_iter = 50)
      for (seed in seeds) {
        folds <- class_scores(
          data, machine, random_folds(nrow(data$x), seed)
        )
        rows[[length(rows) + 1L]] <- data.frame(
          set = set, kernel = kernel, seed = seed, error = mean(folds$error),
          error_sd = sd(folds$error), log_loss = mean(folds$log_loss),
          seconds = sum(folds$seconds)
        )
      }
      message(set, " ", kernel)
    }
  }
  do.call(rbind, rows)
}

# Log loss beside other packages, one split.
run_peers <- function() {
  rows <- list()
  for (set in wanted_sets) {
    data <- damoulas_data(set)
    if (is.null(data)) next
    folds <- random_folds(nrow(data$x), 1)
    machines <- class_machines()
    for (name in names(machines)) {
      scores <- tryCatch(
        class_scores(data, machines[[name]], folds), error = function(e) {
          message(set, " ", name, ": ", conditionMessage(e))
          NULL
        }
      )
      if (is.null(scores)) next
      rows[[length(rows) + 1L]] <- data.frame(
        set = set, machine = name, error = mean(scores$error),
        log_loss = mean(scores$log_loss), seconds = sum(scores$seconds)
      )
    }
    message(set)
  }
  do.call(rbind, rows)
}

# Twenty numerals of each class to train, twenty to test, drawn anew.
numerals_trial <- function(data, seed, composites) {
  set.seed(seed)
  at <- lapply(split(seq_along(data$y), data$y), sample, 40L)
  train <- unlist(lapply(at, `[`, 1:20))
  test <- unlist(lapply(at, `[`, 21:40))
  space_errors(data$spaces, data$y, train, test, rbf(), composites)
}

run_numerals <- function() {
  data <- mfeat_spaces()
  do.call(rbind, lapply(seq_len(trials), function(seed) {
    numerals_trial(data, seed, fixed_composites)
  }))
}

numerals_composites <- function(composites) {
  data <- mfeat_spaces()
  count <- min(trials, setting("LEARNED", 10L))
  do.call(rbind, lapply(seq_len(count), function(seed) {
    out <- numerals_trial(data, seed, composites)
    message(seed)
    out[names(composites)]
  }))
}

run_numerals_learned <- function() numerals_composites(learned_composites)
run_numerals_bound <- function() numerals_composites(bound_composites)
run_numerals_sampled <- function() numerals_composites(sampled_composites)

# The first trial is the division that is given; the others are drawn from all
# proteins, as many of each fold to train as there.
protein_split <- function(data, trial) {
  if (trial == 1L) {
    return(data$train)
  }
  set.seed(trial)
  train <- logical(length(data$y))
  for (rows in split(seq_along(data$y), data$y)) {
    train[sample(rows)[seq_len(sum(data$train[rows]))]] <- TRUE
  }
  train
}

protein_trials <- function(count, composites, ...) {
  data <- protein_spaces()
  do.call(rbind, lapply(seq_len(count), function(trial) {
    train <- protein_split(data, trial)
    out <- space_errors(
      data$spaces, data$y, which(train), which(!train), polynomial(),
      composites,
      standardize = FALSE, max_iter = 100, ...
    )
    message(trial)
    out
  }))
}

run_proteins <- function() {
  protein_trials(min(trials, 5L), fixed_composites)
}

# Weights are learned with scales that the classes share, which costs a
# twentieth; the fixed sum beside them, to compare.
run_proteins_learned <- function() {
  protein_trials(
    min(trials, setting("LEARNED", 2L)),
    c(learned_composites, fixed_composites), latent_scales = "shared"
  )
}
run_proteins_bound <- function() {
  protein_trials(
    min(trials, setting("LEARNED", 1L)), bound_composites,
    latent_scales = "shared"
  )
}

# Neal's three classes: variational Bayes beside the sampler.
run_neal <- function() {
  data <- simulate_neal(400)
  new <- simulate_neal(2000, 2)
  x <- data$x[, 1:2]
  prior <- mkprobit_prior(tau = 3, nu = 3)
  fit_by <- function(...) {
    timed(function() {
      quietly(mkprobit(
        x, data$y, kernel = basis(2), coefficients = "weights", prior = prior,
        seed = 1, threads = 1, ...
      ))
    })
  }
  vb <- fit_by(tol = 1e-8, max_iter = 2000)
  # 50,000 sweeps, a half of the paper's.
  gibbs <- fit_by(
    method = "gibbs", chains = 2, warmup = 5000, ndraws = 400, thin = 50
  )
  sd_of <- function(fit) predict(fit, new$x[, 1:2], "link", se.fit = TRUE)
  prob <- function(fit) predict(fit, new$x[, 1:2], "prob")
  error <- function(fit) mean(predict(fit, new$x[, 1:2]) != new$y)
  ours <- prob(vb$value)
  theirs <- prob(gibbs$value)
  list(
    error = c(vb = error(vb$value), gibbs = error(gibbs$value)),
    seconds = c(vb = vb$seconds, gibbs = gibbs$seconds),
    difference = c(mean = mean(abs(ours - theirs)), max = max(abs(ours - theirs))),
    sweeps = 50000, passes = vb$value$diagnostics$passes,
    sd_ratio = median(sd_of(vb$value)$se.fit / sd_of(gibbs$value)$se.fit),
    rhat = max(gibbs$value$diagnostics$table$rhat, na.rm = TRUE)
  )
}

# A boundary between classes of a linear model in the plane: slope and intercept
# of the line where two functions are equal, under either posterior.
run_line <- function() {
  set.seed(1)
  w <- rbind(c(-1, 2, 0.5), c(1.5, -1, 0), c(0, 0, 1))
  x <- cbind(matrix(rnorm(600), 300), 1)
  y <- factor(max.col(x %*% t(w) + matrix(rnorm(900), 300)))
  colnames(x) <- c("x1", "x2", "one")
  plane <- diag(3)
  fit_by <- function(...) {
    quietly(mkprobit(
      x, y, kernel = basis(), coefficients = "weights",
      prior = mkprobit_prior(tau = 3, nu = 3),
      seed = 1, threads = 1, ...
    ))
  }
  lines <- function(fit, ...) {
    f <- predict(fit, `colnames<-`(plane, colnames(x)), "link",
      draws = TRUE, seed = 1, ...
    )
    d <- f[, , 1] - f[, , 2]
    cbind(slope = -d[, 1] / d[, 2], intercept = -d[, 3] / d[, 2])
  }
  vb <- lines(fit_by(tol = 1e-8, max_iter = 5000), ndraws = 4000)
  gibbs <- lines(fit_by(
    method = "gibbs", chains = 2, warmup = 2000, ndraws = 4000
  ))
  list(
    vb = list(mean = colMeans(vb), cov = cov(vb)),
    gibbs = list(mean = colMeans(gibbs), cov = cov(gibbs))
  )
}

run_parts(list(
  paper = function() damoulas_sets, uci = run_uci, peers = run_peers,
  numerals = run_numerals,
  numerals_learned = run_numerals_learned, numerals_bound = run_numerals_bound,
  numerals_sampled = run_numerals_sampled, proteins = run_proteins,
  proteins_learned = run_proteins_learned, proteins_bound = run_proteins_bound,
  neal = run_neal, line = run_line
), results_file)
