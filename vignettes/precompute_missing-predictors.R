# The simulations of the vignette "missing-predictors": bias and cover of models
# in groups, by bench/missing.R. Run in this folder; writes
# missing-predictors_results.rds.
#
#   Rscript precompute_missing-predictors.R
#
# SETS=5 takes fewer data sets than 20. Predictors that are constant in groups are
# not in the page: each of their fits is 20 to 100.

sets <- Sys.getenv("SETS", "20")
path <- file.path(getwd(), "missing-predictors_results.rds")
runs <- tempfile(fileext = ".rds")
old <- setwd("..")
system2("Rscript", c(
  "bench/missing.R", "kind=number,factor", "method=ep,omit", "peers=0", paste0("sets=", sets),
  paste0("results=", runs), paste0("table=", path)
))
setwd(old)
