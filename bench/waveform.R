# Waveform, 21 columns: gpsvm() with 100 inducing points beside support vector
# machines with probabilities, the exact process beside Gaussian process
# classification, and growth of the time with the rows; one run, one thread, CPU
# seconds of fit + predict.
#
#   BAYESKERNEL_DATA=folder Rscript bench/waveform.R [--quick]
#
# from the root of the repository. --quick leaves out gausspr at 3000 and 5000
# rows, which takes some minutes. Kernels: theta = 5 for ours; peers on their
# defaults and on the same width with cost 2.

library(bayeskernel)
source("bench/helpers.R")
options(bayeskernel.threads = 1L, bayeskernel.progress = FALSE)
quick <- "--quick" %in% commandArgs(TRUE)
print_machine()

waveform <- raetsch_data("waveform")
machines <- nonlinear_machines()
ours <- function(..., method = "vb", tune = FALSE, theta = 5) {
  function(x, y, new) {
    machines$gpsvm(x, y, new, theta = theta, threads = 1L, seed = 1L, ..., method = method, tune = tune)
  }
}
peer_runs <- function(peers) {
  peers <- intersect(peers, names(machines))
  runs <- c(machines[peers], lapply(machines[peers], function(machine) {
    function(x, y, new) machine(x, y, new, theta = 5)
  }))
  names(runs) <- c(paste0(peers, ", default"), paste0(peers, ", theta 5"))
  runs
}

measure <- function(data, runs, folds) {
  folds <- lapply(runs, function(run) score_folds(data, run, folds))
  rows <- do.call(rbind, Map(function(name, fold) {
    data.frame(
      machine = name, error = mean(fold$error), brier = mean(fold$brier),
      auc = mean(fold$auc), seconds = median(fold$seconds)
    )
  }, names(runs), folds))
  shown <- rows
  shown[2:4] <- lapply(shown[2:4], round, 4)
  shown$seconds <- signif(shown$seconds, 3)
  print(shown, row.names = FALSE, right = FALSE)
  rows
}
at <- function(rows, machine, what) rows[rows$machine == machine, what]
compare <- function(rows, work, ours, peer, demand = NA, stretch = NA) {
  if (!peer %in% rows$machine) {
    return(NULL)
  }
  ratio_row(work, peer, at(rows, ours, "seconds"), at(rows, peer, "seconds"), demand, stretch)
}
verdict <- function(what, value, limit) {
  cat(sprintf(
    "%s %.4f, limit %.4f: %s\n", what, value, limit, if (value <= limit) "met" else "SHORT"
  ))
}

# 4500 rows, 100 inducing points ----------------------------------------------

cat("\n4500 + 500 rows of Raetsch's set, the first three folds\n")
rows <- measure(
  waveform,
  c(
    list(
      vb = ours(inducing = 100L, method = "vb"), svi = ours(inducing = 100L, method = "svi"),
      "svi, one epoch alone" = ours(inducing = 100L, method = "svi", max_iter = 0)
    ),
    peer_runs(c("e1071", "ksvm"))
  ),
  contiguous_folds(5000)[1:3]
)
demands <- list(
  vb = list(e1071 = c(0.25, 0.11), ksvm = c(0.4, 0.18)),
  svi = list(e1071 = c(0.2, 0.07), ksvm = c(0.3, 0.11))
)
ratios <- list()
for (method in names(demands)) {
  for (peer in names(demands[[method]])) {
    for (kind in c("default", "theta 5")) {
      limit <- demands[[method]][[peer]]
      ratios[[length(ratios) + 1]] <- compare(
        rows, method, method, paste0(peer, ", ", kind), limit[1], limit[2]
      )
    }
  }
}
print_ratios(ratios, "Ours / peer, 4500 rows, m = 100")
if (has("e1071")) {
  for (method in names(demands)) {
    verdict(
      paste0("Brier of ", method, ", limit e1071's,"),
      at(rows, method, "brier"), at(rows, "e1071, default", "brier")
    )
    verdict(
      paste0("error of ", method, ", limit e1071's + 0.005,"),
      at(rows, method, "error"), at(rows, "e1071, default", "error") + 0.005
    )
  }
}
print_limit("vb, m = 100, fit + predict (CPU)", at(rows, "vb", "seconds"), 0.25)

# The exact process on 800 rows -----------------------------------------------

cat("\nExact process, 800 rows for training, 4200 for the test\n")
exact <- measure(
  waveform,
  c(
    list(
      "exact" = ours(inducing = "all", method = "vb"),
      "exact, default width" = ours(inducing = "all", method = "vb", theta = NULL),
      "m = 100" = ours(inducing = 100L, method = "vb")
    ),
    peer_runs("gausspr")
  ),
  list(801:5000)
)
if (has("kernlab")) {
  print_ratios(
    list(
      compare(exact, "exact", "exact", "gausspr, default", 1 / 4, 1 / 7),
      compare(exact, "exact", "exact", "gausspr, theta 5", 1 / 4, 1 / 7)
    ),
    "Ours / peer, 800 rows, exact"
  )
  verdict(
    "Brier of the exact process, limit gausspr's,", at(exact, "exact", "brier"),
    min(exact$brier[startsWith(exact$machine, "gausspr")])
  )
}

# Gaussian process classification at 3000 and 5000 rows -----------------------

if (has("kernlab") && !quick) {
  set.seed(1)
  simulated <- simulate_waveform(7000)
  ratios <- list()
  for (n in c(3000, 5000)) {
    cat(sprintf("\n%d simulated rows for training, 2000 for the test\n", n))
    keep <- c(seq_len(n), 5001:7000)
    part <- list(x = simulated$x[keep, ], y = simulated$y[keep])
    found <- measure(
      part, c(list("m = 100" = ours(inducing = 100L)), peer_runs("gausspr")["gausspr, theta 5"]),
      list(n + seq_len(2000))
    )
    ratios[[length(ratios) + 1]] <- compare(
      found, paste0("m = 100, n = ", n), "m = 100", "gausspr, theta 5", 1 / 20, 1 / 100
    )
    verdict(
      "error, limit gausspr's,", at(found, "m = 100", "error"),
      at(found, "gausspr, theta 5", "error")
    )
  }
  print_ratios(ratios, "Ours / Gaussian process classification")
}

# Growth with the rows --------------------------------------------------------

sizes <- c(1000, 2000, 5000, 10000)
set.seed(2)
simulated <- simulate_waveform(max(sizes) + 5000)
test <- max(sizes) + seq_len(5000)
runs <- c(
  list(
    "gpsvm svi" = ours(inducing = 100L, method = "svi"),
    "gpsvm vb" = ours(inducing = 100L, method = "vb")
  ),
  peer_runs(c("e1071", "ksvm"))[c("e1071, default", "ksvm, default")]
)
runs <- Filter(Negate(is.null), runs)
growth <- lapply(sizes, function(n) {
  keep <- c(seq_len(n), test)
  cat(sprintf("\n%d simulated rows for training, 5000 for the test\n", n))
  part <- list(x = simulated$x[keep, ], y = simulated$y[keep])
  measure(part, runs, list(n + seq_len(5000)))
})
cat("\nExponent of n, 1000 to 10,000 rows (prediction of 5000 rows included)\n")
for (machine in names(runs)) {
  seconds <- vapply(growth, function(rows) {
    at(rows, machine, "seconds")
  }, numeric(1))
  cat(sprintf("  %-16s %.2f\n", machine, growth_exponent(sizes, seconds)))
}
last <- growth[[length(growth)]]
if (has("e1071")) {
  print_ratios(
    list(compare(last, "gpsvm svi, n = 10,000", "gpsvm svi", "e1071, default", 1 / 8, 1 / 16)),
    "Ours / peer at 10,000 rows"
  )
  verdict(
    "AUC of e1071, limit ours,", at(last, "e1071, default", "auc"), at(last, "gpsvm svi", "auc")
  )
}

# The fit alone over a wider range.
sizes <- round(10^seq(3, 5, 0.5))
set.seed(3)
wide <- simulate_waveform(max(sizes))
seconds <- vapply(sizes, function(n) {
  x <- wide$x[seq_len(n), ]
  y <- wide$y[seq_len(n)]
  cpu_seconds(times = 3, function() {
    gpsvm(x, y, inducing = 100, method = "svi", seed = 1, tune = FALSE)
  })
}, numeric(1))
cat("\nThe fit alone, method \"svi\", m = 100\n")
print(signif(data.frame(rows = sizes, seconds), 3), row.names = FALSE)
cat(sprintf(
  "Exponent of n from 10,000 rows: %.3f (demand 1.05)\n",
  growth_exponent(sizes[sizes >= 1e4], seconds[sizes >= 1e4])
))
