# mkprobit() beside kernlab's support vector machine with probabilities and its
# Gaussian process classification, and nnet's multinomial regression: ten folds
# of the seven sets of Damoulas and Girolami (2009); and the paper's own times
# on problems of their sizes. CPU seconds; wall-clock where threads count, with
# the CPU seconds of the same run behind it: on a busy machine these say more.
#
#   BAYESKERNEL_DATA=folder Rscript bench/mkprobit.R [--quick] [--times]
#
# from the root of the repository. --quick leaves out the large problems, which
# take some minutes, --times the scores. BAYESKERNEL_SWEEPS (100000) fewer sweeps
# of the sampler, whose time is then multiplied. Sets whose package is missing
# (mlbench) are left out.

library(bayeskernel)
source("bench/helpers.R")
source("bench/helpers-mkprobit.R")
options(bayeskernel.threads = 2L, bayeskernel.progress = FALSE)
quick <- "--quick" %in% commandArgs(TRUE)
sets <- if (!"--times" %in% commandArgs(TRUE)) damoulas_sets$set
print_machine()

# --- scores of ten folds ------------------------------------------------------

scores <- list()
for (set in sets) {
  data <- damoulas_data(set)
  if (is.null(data)) next
  folds <- random_folds(nrow(data$x), 1)
  machines <- class_machines()
  # One factorisation a class and pass: minutes on the larger sets.
  if (quick && nrow(data$x) > 300) machines[["mkprobit, class scales"]] <- NULL
  for (name in names(machines)) {
    found <- tryCatch(class_scores(data, machines[[name]], folds), error = function(e) NULL)
    if (is.null(found)) next
    scores[[length(scores) + 1L]] <- data.frame(
      set = set, machine = name, error = round(mean(found$error), 4),
      log_loss = round(mean(found$log_loss), 4), seconds = signif(sum(found$seconds), 3)
    )
  }
}
scores <- do.call(rbind, scores)
if (length(sets)) print(scores, row.names = FALSE, right = FALSE)

ratios <- list()
at <- function(set, machine, what) {
  scores[scores$set == set & scores$machine == machine, what]
}
peers <- list(gausspr = c(1 / 15, 1 / 32), "ksvm, prob.model" = c(1.4, 0.67),
  multinom = c(2.5, 1.25)
)
for (peer in names(peers)) {
  if (length(at("vehicle", peer, "seconds"))) {
    ratios[[peer]] <- ratio_row(
      "vehicle, ten folds, fixed scales", peer, at("vehicle", "mkprobit, fixed scales", "seconds"),
      at("vehicle", peer, "seconds"), peers[[peer]][1], peers[[peer]][2]
    )
  }
}
print_ratios(ratios, "Ten folds, CPU seconds of fits and predictions")

# --- times of the paper ---------------------------------------------------------

# One run, wall-clock against its limit; `share` of the work that is asked for.
time_run <- function(what, limit, run, share = 1) {
  time <- system.time(run()) / share
  print_limit(what, time[["elapsed"]], limit)
  cat(sprintf("  CPU %.3g s\n", time[["user.self"]] + time[["sys.self"]]))
  invisible(gc())
}

# A hundred passes, whatever the bound does.
passes_of <- function(data, ..., passes = 100) {
  quietly(mkprobit(
    coefficients = "weights", data$x, data$y, tol = 0, max_iter = passes, seed = 1, threads = 2, ...
  ))
}

folds <- simulate_spaces(311, 27, 6)
time_run(
  "311 x 27 classes x 6 spaces, 100 passes, class scales", 5,
  function() passes_of(folds, kernel = polynomial(), normalize = TRUE)
)
time_run("the same, shared scales", 0.6, function() {
  passes_of(folds, kernel = polynomial(), normalize = TRUE, latent_scales = "shared")
})

balance <- damoulas_data("balance")
time_run("Balance, ten folds, class scales", 15, function() {
  class_scores(balance, function(x, y, new) {
    fit <- quietly(mkprobit(x, y, coefficients = "weights",
      control = mkprobit_control(max_iter = 50), seed = 1, threads = 2))
    predict(fit, new, type = "prob", threads = 2)
  }, random_folds(625, 1))
})

neal <- simulate_neal(400)
share <- setting("SWEEPS", 1e5) / 1e5
time_run("100,000 Gibbs sweeps, 400 rows, 6 features", 15, function() {
  quietly(mkprobit(
    coefficients = "weights", neal$x[, 1:2], neal$y, kernel = basis(2), method = "gibbs",
    chains = 2, control = mkprobit_control(warmup = 5000 * share, thin = 10), ndraws = 4500 * share,
    seed = 1, threads = 2
  ))
}, share)

if (!quick) {
  time_run(
    "2,000 rows, 10 classes, 100 passes, shared scales", 60,
    function() {
      passes_of(simulate_spaces(2000, 10, 1), latent_scales = "shared")
    }
  )
  many <- simulate_spaces(1e5, 10, 3)
  invisible(gc())
  reset_peak()
  before <- memory()
  time_run("100,000 rows, 3 spaces, 10 classes, 300 objects", 60, function() {
    quietly(mkprobit(
      many$x, many$y, coefficients = "weights", inducing = 300,
      control = mkprobit_control(latent_scales = "shared"), seed = 1, threads = 2
    ))
  })
  cat(sprintf(
    "memory above the data: %.0f MB, limit 1000 MB\n", memory()[["peak"]] - before[["now"]]
  ))
}
