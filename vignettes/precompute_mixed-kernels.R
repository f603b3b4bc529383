# The comparisons of the vignette "mixed-kernels". Run in this folder; writes
# mixed-kernels_results.csv.
#
#   BAYESKERNEL_SPLITS=20 BAYESKERNEL_COVER=20 Rscript precompute_mixed-kernels.R

library(bayeskernel)
source("../bench/helpers.R")
source("../bench/helpers-bkm.R")
options(bayeskernel.threads = 1L, bayeskernel.progress = FALSE)

splits <- setting("SPLITS", 100L)
cover <- setting("COVER", 200L)
as_table <- function(means, sets) {
  data.frame(
    model = rownames(means), means, sets = sets, seed = paste0("1:", sets), check.names = FALSE
  )
}
run_tables(list(
  toenail = function() {
    as_table(compare_machines(toenail_machines(), toenail_cases(splits))$mean, splits)
  },
  cover = function() {
    families <- c(logit = "logit", probit = "probit", gaussian = "gaussian")
    as_table(t(vapply(families, function(family) {
      rowMeans(vapply(seq_len(cover), coverage_once, numeric(4), family))
    }, numeric(4))), cover)
  }
), "mixed-kernels_results.csv")
