# The slow runs of the vignette "streaming": tables of Vermaak, Godsill and
# Doucet (2004). Run in this folder; writes streaming_results.rds.
#
#   Rscript precompute_streaming.R
#
# The runs are those of bench/sequential.R, about five minutes on one core. For
# some of them: BAYESKERNEL_PARTS=sinc,particles.

source("../bench/sequential.R")
options(bayeskernel.threads = 1L, bayeskernel.progress = FALSE)

run_parts(sequential_parts, setting("RESULTS", "streaming_results.rds"))
