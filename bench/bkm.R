# bkm() with gp() terms beside glmer, gam and bam, and on designs that were
# reported as out of reach. One thread for comparisons, two for the large ones.
#
#   Rscript bench/bkm.R                 from the root of the repository
#   BAYESKERNEL_PARTS=toenail,large BAYESKERNEL_SPLITS=10 Rscript bench/bkm.R

library(bayeskernel)
source("bench/helpers.R")
source("bench/helpers-bkm.R")
options(bayeskernel.threads = 1L, bayeskernel.progress = FALSE)
print_machine()
parts <- strsplit(setting("PARTS", "toenail,surface,large,coverage"), ",")[[1]]

if ("toenail" %in% parts) {
  count <- setting("SPLITS", 100L)
  cat(sprintf("\nToenail, %d splits; mean scores, CPU seconds\n", count))
  print(round(compare_machines(toenail_machines(), toenail_cases(count))$mean, 4))
}

if ("surface" %in% parts) {
  sets <- setting("SETS", 10L)
  machines <- surface_machines()
  if (!setting("GAM", TRUE)) machines["gam, REML"] <- NULL
  cat(sprintf("\n5000 rows, 500 groups, %d sets; log-loss of known and new groups\n", sets))
  print(surface_scores(lapply(seq_len(sets), surface_case), machines))
}

if ("large" %in% parts) {
  options(bayeskernel.threads = 2L)
  report <- function(what, run) {
    time <- system.time(fit <- quietly(run()))
    cat(sprintf(
      "%s: %.1f s, %.1f s of CPU\n", what, time[["elapsed"]],
      time[["user.self"]] + time[["sys.self"]]
    ))
    fit
  }
  set.seed(1)
  subjects <- surface_data(40000, 9000)
  fit <- report("\n40,000 rows, 9,000 subjects, a surface", function() {
    bkm(y ~ gp(x1, x2) + (1 | id), subjects)
  })
  groups <- surface_data(900000, 300000)
  fit <- report("300,000 groups of 3 rows, m = 64, vb", function() {
    bkm(y ~ gp(x1, x2, inducing = 64) + (1 | id), groups, method = "vb")
  })
  fit <- report("the same, ep", function() {
    bkm(y ~ gp(x1, x2, inducing = 64) + (1 | id), groups)
  })
}

if ("coverage" %in% parts) {
  sets <- setting("SETS", 200L)
  for (family in c("probit", "gaussian")) {
    own <- vapply(seq_len(sets), coverage_once, numeric(4), family)
    cat(sprintf("\nCover of 90 %% intervals, %s, %d sets\n", family, sets))
    print(round(rowMeans(own), 3))
  }
}
