# Many rows: a stand-in for SUSY, 18 columns, gpsvm() with 64 inducing points
# and the kernel of the paper: one stochastic epoch and full convergence, memory
# above the data, growth of the time with the rows, threads; glm.fit in the same
# run; and the sample of real collisions beside support vector machines.
#
#   BAYESKERNEL_DATA=folder Rscript bench/susy.R [rows, default 1e6]
#
# from the root of the repository; needs package callr, Linux for the memory,
# and 400 bytes of memory a row. See simulate_susy() for what is simulated.

library(bayeskernel)
source("bench/helpers.R")
options(bayeskernel.progress = FALSE)
arguments <- commandArgs(TRUE)
n <- if (length(arguments) > 0) as.numeric(arguments[1]) else 1e6
print_machine()

show <- function(rows) {
  rows$data_mb <- round(rows$data_mb)
  rows$above_mb <- round(rows$above_mb)
  whole <- c("n", "threads", "steps", "batch", "passes", "data_mb", "above_mb")
  for (name in setdiff(names(rows), whole)) {
    rows[[name]] <- signif(rows[[name]], if (name == "elbo") 8 else 4)
  }
  rows$n <- format(rows$n, scientific = FALSE, trim = TRUE)
  print(rows, row.names = FALSE)
}

# All rows, two threads -------------------------------------------------------

width <- options(width = 140)
epoch <- susy_run_apart(n, 2L, max_iter = 0)
whole <- susy_run_apart(n, 2L)
cat("\nTwo threads, one epoch alone and to convergence; 1e5 rows to judge\n")
show(rbind(epoch, whole))
print_limit(
  sprintf("one epoch, core, limit of 15 s for 5e6 rows, n = %.0f", n), epoch$core, 15 * n / 5e6
)
print_limit("to convergence, core, limit of 60 s for 5e6 rows", whole$core, 60 * n / 5e6)
cat(sprintf(
  "AUC after one epoch %.4f, converged %.4f: gap %.4f, limit 0.002: %s\n", epoch$auc, whole$auc,
  whole$auc - epoch$auc, if (whole$auc - epoch$auc <= 0.002) "met" else "SHORT"
))
cat(sprintf(
  "memory above the data: %.0f and %.0f MB, limit 200 MB: %s\n", epoch$above_mb, whole$above_mb,
  if (max(epoch$above_mb, whole$above_mb) <= 200) "met" else "SHORT"
))

# Growth ----------------------------------------------------------------------

sizes <- unique(c(1e5, 3e5, 1e6, n))
sizes <- sizes[sizes <= n]
growth <- do.call(rbind, lapply(sizes, function(rows) {
  if (rows == n) epoch else susy_run_apart(rows, 2L, max_iter = 0)
}))
cat("\nOne epoch against the rows, two threads\n")
show(growth)
if (length(sizes) > 1) {
  cat(sprintf(
    "Exponent of n: %.3f whole, %.3f core (demand 1.05)\n",
    growth_exponent(growth$n, growth$seconds), growth_exponent(growth$n, growth$core)
  ))
}

# glm.fit at 1e6 rows, one thread ---------------------------------------------

rows <- min(n, 1e6)
train <- simulate_susy(rows)
test <- simulate_susy(1e5, seed = 2)
ours <- lapply(1:2, function(epochs) {
  score <- NULL
  seconds <- cpu_seconds(times = 1, function() {
    fit <- fit_susy(train$x, train$y, threads = 1L, max_iter = 0, epochs = epochs)
    score <<- predict(fit, test$x, type = "link", threads = 1L)
  })
  c(seconds = seconds, auc = auc(test$y, score))
})
score <- NULL
glm_seconds <- cpu_seconds(times = 1, function() {
  fit <- glm.fit(cbind(1, train$x), as.numeric(train$y), family = binomial())
  score <<- drop(cbind(1, test$x) %*% fit$coefficients)
})
glm_auc <- auc(test$y, score)
cat(sprintf(
  paste(
    "\n%.0f rows, one thread, fit + predict: one epoch %.2f s, AUC %.4f; two",
    "%.2f s, %.4f;\nglm.fit %.2f s, AUC %.4f\n"
  ),
  rows, ours[[1]]["seconds"], ours[[1]]["auc"], ours[[2]]["seconds"],
  ours[[2]]["auc"], glm_seconds, glm_auc
))
print_ratios(
  list(ratio_row(
    "gpsvm svi, one epoch", "glm.fit", ours[[1]][["seconds"]], glm_seconds, 0.25, 0.12
  )),
  "Ours / peer"
)
gain <- ours[[2]][["auc"]] - glm_auc
cat(sprintf(
  "AUC above glm's within two epochs: %.4f, demand 0.02: %s\n", gain,
  if (gain >= 0.02) "met" else "SHORT"
))

# Threads ---------------------------------------------------------------------

some <- seq_len(min(rows, 3e5))
for (engine in c("svi", "vb")) {
  fit <- list()
  wall <- vapply(1:2, function(threads) {
    median(replicate(3, {
      fit[[threads]] <<- gpsvm(
        train$x[some, ], train$y[some], rbf(5 / sqrt(2)), inducing = 64, method = engine,
        control = gpsvm_control(max_iter = if (engine == "svi") 0 else 500), seed = 1,
        threads = threads, tune = FALSE
      )
      fit[[threads]]$elapsed[["core"]]
    }))
  }, numeric(1))
  cat(sprintf(
    "\n%s, %.0f rows, core: one thread %.2f s, two %.2f s, %.2f times %s\n", engine, length(some),
    wall[1], wall[2], wall[1] / wall[2], "as fast (demand 1.8)"
  ))
  cat(sprintf("results identical: %s\n", identical(fit[[1]]$posterior, fit[[2]]$posterior)))
}

# Real collisions -------------------------------------------------------------

if (nzchar(Sys.getenv("BAYESKERNEL_DATA"))) {
  cat("\nSUSY, 10,000 + 1000 collisions, 8 low-level features, one thread\n")
  print(susy_sample_scores(), row.names = FALSE, digits = 4)
}
