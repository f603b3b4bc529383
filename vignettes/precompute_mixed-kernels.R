# The comparisons of the vignette "mixed-kernels". Run in this folder; writes
# mixed-kernels_results.rds.
#
#   BAYESKERNEL_SPLITS=20 BAYESKERNEL_COVER=20 Rscript precompute_mixed-kernels.R

library(bayeskernel)
source("../bench/helpers.R")
source("../bench/helpers-bkm.R")
options(bayeskernel.threads = 1L, bayeskernel.progress = FALSE)

splits <- setting("SPLITS", 100L)
cover <- setting("COVER", 200L)
run_parts(list(
  splits = function() splits,
  toenail = function() {
    compare_machines(toenail_machines(), toenail_cases(splits))$mean
  },
  cover_sets = function() cover,
  cover = function() {
    vapply(c(probit = "probit", gaussian = "gaussian"), function(family) {
      rowMeans(vapply(seq_len(cover), coverage_once, numeric(4), family))
    }, numeric(4))
  }
), "mixed-kernels_results.rds")
