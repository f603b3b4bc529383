# The simulations of the vignette "missing-predictors": bias and cover of models
# in groups, by bench/missing.R. Run in this folder; writes
# missing-predictors_results.csv.
#
#   Rscript precompute_missing-predictors.R
#
# SETS=5 takes fewer data sets than 20; those in bench/missing_results.csv are
# not fitted again. Predictors that are constant in groups are
# not in the page: each of their fits is 20 to 100.

sets <- Sys.getenv("SETS", "20")
path <- file.path(getwd(), "missing-predictors_results.csv")
old <- setwd("../../..")
system2("Rscript", c(
  "bench/missing.R", "kind=number,factor", "method=ep,omit", "peers=0", "label=page",
  paste0("sets=", sets),
  "results=bench/missing_results.csv", paste0("table=", path)
))
setwd(old)
