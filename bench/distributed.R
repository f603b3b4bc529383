# Rows that never meet: parts of a data set of 20 columns, each made, kept and passed over by a
# worker of a cluster. The memory of the master, the size of the answers and the seconds, for
# sizes that differ by ten and for fewer workers.
#
#   Rscript bench/distributed.R              from the root of the repository
#   BAYESKERNEL_ROWS=2e6,2e7 BAYESKERNEL_WORKERS=1,2,4 BAYESKERNEL_OUT=file.csv Rscript ...
#
# Linux for the memory. The workers' disks need 168 bytes a row.

library(bayeskernel)
source("bench/helpers.R")
options(bayeskernel.progress = FALSE, bayeskernel.threads = 1L)
print_machine()
numbers <- function(name, default) as.numeric(strsplit(setting(name, default), ",")[[1]])
sizes <- numbers("ROWS", "2e6,2e7")
workers <- numbers("WORKERS", "1,2,4")

# Rows come from a query that makes them from their numbers: the same however many workers share
# them, and nowhere before they are read.
make_open <- function(n) {
  open <- function(part, parts) {
    at <- seq_len(20L)
    columns <- sprintf(
      "((i * %d + %d) %% 1000003) / 288675.0 - 1.7320508 as x%d", 48271L + 2L * at, at * 7919L, at
    )
    query <- sprintf(
      paste(
        "with recursive r(i) as (select %.0f union all select i + 1 from r where i < %.0f),",
        "d as (select i, %s from r)",
        "select %s, x1 - x2 + x3 / 2 > ((i * 69621) %% 999983) / 166664.0 - 3 as y from d"
      ),
      (part - 1) * n / parts + 1, part * n / parts, paste(columns, collapse = ", "),
      paste0("x", at, collapse = ", ")
    )
    connection <- DBI::dbConnect(RSQLite::SQLite(), ":memory:")
    bayeskernel::row_source(connection, query, y = "y")
  }
  environment(open) <- list2env(list(n = n), parent = globalenv())
  open
}

# Bytes of each answer of all workers.
answers <- numeric()
counted <- local({
  plain <- bayeskernel:::on_cluster
  function(code) {
    out <- plain(code)
    answers <<- c(answers, length(serialize(out, NULL)))
    out
  }
})
utils::assignInNamespace("on_cluster", counted, "bayeskernel")

run <- function(n, workers) {
  cluster <- parallel::makePSOCKcluster(workers)
  on.exit(parallel::stopCluster(cluster))
  parallel::clusterCall(cluster, .libPaths, .libPaths())
  source <- row_source(cluster, make_open(n))
  gc()
  reset_peak()
  answers <<- numeric()
  fit <- bkm(source, family = "logit", method = "vb")
  passes <- sum(lengths(fit$trace["elbo"]))
  data.frame(
    version = as.character(utils::packageVersion("bayeskernel")), rows = n, workers = workers,
    seconds = round(fit$elapsed[[1L]], 1), passes = passes, master_mb = round(memory()[["peak"]]),
    first_kb = round(max(answers) / 1e3, 1), pass_kb = round(stats::median(answers) / 1e3, 1),
    x1 = coef(fit)[["x1"]]
  )
}

file <- setting("OUT", "")
out <- NULL
for (n in sizes) {
  for (count in workers) {
    out <- rbind(out, run(n, count))
    print(out[nrow(out), ], digits = 10)
    if (nzchar(file)) utils::write.csv(out, file, row.names = FALSE)
  }
}
