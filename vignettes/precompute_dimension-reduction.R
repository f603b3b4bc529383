# The slow runs of the vignette "dimension-reduction": chapter 2 of Ouyang
# (2008). Run in this folder; writes dimension-reduction_results.rds.
#
#   BAYESKERNEL_REPEATS=8 Rscript precompute_dimension-reduction.R
#
# The runs are those of bench/lowrank.R, some minutes on one core; see there for
# fewer or more repeats, and for some of the parts, such as
# BAYESKERNEL_PARTS=simulated.

source("../bench/lowrank.R")

run_parts(
  lowrank_parts[c("simulated", "chosen", "real", "directions")],
  setting("RESULTS", "dimension-reduction_results.rds")
)
