# The comparisons of the vignette "mixed-kernels". Run in this folder; writes
# mixed-kernels_results.rds.
#
#   BAYESKERNEL_SPLITS=20 BAYESKERNEL_SETS=5 BAYESKERNEL_COVER=20 \
#     Rscript precompute_mixed-kernels.R

library(bayeskernel)
source("../bench/helpers.R")
source("../bench/helpers-bkm.R")
options(bayeskernel.threads = 1L, bayeskernel.progress = FALSE)

splits <- setting("SPLITS", 100L)
sets <- setting("SETS", 10L)
cover <- setting("COVER", 200L)
run_parts(list(
  splits = function() splits, sets = function() sets,
  toenail = function() {
    compare_machines(toenail_machines(), toenail_cases(splits))$mean
  },
  surface = function() {
    surface_scores(lapply(seq_len(sets), surface_case), surface_machines())
  },
  cover_sets = function() cover,
  cover = function() {
    vapply(c(probit = "probit", gaussian = "gaussian"), function(family) {
      rowMeans(vapply(seq_len(cover), coverage_once, numeric(4), family))
    }, numeric(4))
  }
), "mixed-kernels_results.rds")
