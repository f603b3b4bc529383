# The slow run of the vignette "streaming": a stream of 100,000 rows, some minutes
# on one core. Run in this folder; writes streaming_results.csv.
#
#   Rscript precompute_streaming.R

source("../bench/sequential.R")
options(bayeskernel.threads = 1L, bayeskernel.progress = FALSE)

utils::write.csv(
  data.frame(signif(stream_table(), 6), version = format(utils::packageVersion("bayeskernel"))),
  "streaming_results.csv", row.names = FALSE
)
