# Selection as the number of variables grows: 10 of them have an effect. CPU
# seconds on one thread, false selections and misses, against the lasso and
# spike-and-slab variational Bayes for the logistic model (varbvs); then the
# same on few rows, repeated.
#
#   Rscript bench/selection-scale.R         from the root of the repository
#
# A method that takes more than BAYESKERNEL_PATIENCE seconds (default 300) at
# one size is left out at the next.

library(bayeskernel)
source("bench/helpers.R")
options(bayeskernel.threads = 1L, bayeskernel.progress = FALSE)
patience <- setting("PATIENCE", 300)
print_machine()

# 10,000 rows -----------------------------------------------------------------

all <- selectors()
methods <- all[!grepl("gibbs|minimum", names(all))]
effects <- seq(0.05, 0.5, by = 0.05) * c(1, -1)
sizes <- c(10, 30, 100, 300, 1000, 2000)
slow <- character()
measured <- lapply(sizes, function(p) {
  set.seed(p)
  set <- simulate_sparse(1e4, p, effects)
  out <- lapply(setdiff(names(methods), slow), function(name) {
    message("p = ", p, ": ", name)
    counts <- score_selection(methods[[name]], set)
    if (counts[["seconds"]] > patience) slow <<- c(slow, name)
    data.frame(p = p, method = name, t(counts))
  })
  do.call(rbind, out)
})
table <- do.call(rbind, measured)

wide <- function(column, format) {
  cells <- tapply(table[[column]], table[c("p", "method")], identity)
  cells <- cells[, names(methods), drop = FALSE]
  out <- array(ifelse(is.na(cells), "", sprintf(format, cells)), dim(cells), dimnames(cells))
  print(noquote(out), right = TRUE)
}
cat("\n10,000 rows, 10 effects from 0.05 to 0.5; CPU seconds of one fit\n")
wide("seconds", "%.3g")
cat("\nFalse selections\n")
wide("false", "%d")
cat("\nMisses\n")
wide("missed", "%d")

ours <- table[table$method == "bsvm vb", ]
rows <- list()
for (peer in intersect(c("cv.glmnet, one se", "varbvs"), table$method)) {
  for (p in ours$p[ours$p %in% table$p[table$method == peer]]) {
    rows[[length(rows) + 1]] <- ratio_row(
      sprintf("vb, p = %d", p), peer, ours$seconds[ours$p == p],
      table$seconds[table$p == p & table$method == peer]
    )
  }
}
print_ratios(rows, "Ours / peer")

# 500 rows, repeated ----------------------------------------------------------

repeats <- setting("REPEATS", 20)
effects <- seq(0.2, 2, by = 0.2) * c(1, -1)
for (correlation in c(0, 0.7)) {
  counts <- lapply(all, function(selector) {
    vapply(seq_len(repeats), function(i) {
      set.seed(i)
      set <- simulate_sparse(500, 100, effects, correlation)
      score_selection(selector, set)
    }, numeric(3))
  })
  cat(sprintf(
    "\n500 rows x 100, 10 effects from 0.2 to 2, neighbours' correlation %g\n", correlation
  ))
  cat(sprintf("Means over %d data sets\n", repeats))
  print(signif(t(vapply(counts, rowMeans, numeric(3))), 3))
}
