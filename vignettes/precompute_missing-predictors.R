# The simulations of the vignette "missing-predictors": bias and cover of models
# in groups, by bench/missing.R. Run in this folder; writes
# missing-predictors_results.rds.
#
#   Rscript precompute_missing-predictors.R
#
# Twenty data sets take two hours on one core, most of it predictors that are
# constant in groups. SETS=5 takes fewer.

sets <- Sys.getenv("SETS", "20")
path <- file.path(getwd(), "missing-predictors_results.rds")
runs <- tempfile(fileext = ".rds")
old <- setwd("..")
system2("Rscript", c(
  "bench/missing.R", "method=ep,omit", "peers=0", paste0("sets=", sets),
  paste0("results=", runs), paste0("table=", path)
))
setwd(old)
