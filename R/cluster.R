# Work on a base cluster: asking whether its workers answer, and what to say if
# one does not.

# Replies come in the order of the calls. After a call that was broken off
# one is still under way, and every later answer would be that to the call
# before.
greet_workers <- function(cluster) {
  word <- sprintf("%s-%d", Sys.getpid(), sample_id())
  replies <- on_cluster(parallel::clusterCall(cluster, identity, word))
  if (!all(vapply(replies, identical, NA, word))) {
    bk_abort(
      "cluster", "A worker of `cluster` answers an earlier call.",
      c(
        "Something that it was asked before was broken off.",
        "Stop the cluster and make a new one."
      )
    )
  }
}

# A number that R's generator does not give, so that fits do not depend on it.
sample_id <- function() {
  as.integer((as.numeric(Sys.time()) * 1e3) %% .Machine$integer.max)
}

# A failure of a worker, or of the way to it. Called back from the core, a
# function has no callers: it is told the user's call.
on_cluster <- function(code, call = user_call()) {
  tryCatch(code, error = function(e) {
    if (inherits(e, "bayeskernel_error")) stop(e)
    bk_abort(
      "cluster", "A worker of `cluster` failed.",
      c(
        conditionMessage(e),
        "bayeskernel must be installed on the workers, in this version.",
        "Stop the cluster and make a new one: others may still be at work."
      ),
      call = call
    )
  })
}

# As many shares of 1, ..., n as there are workers with something to do.
worker_shares <- function(n, cluster) {
  Filter(length, parallel::splitIndices(n, length(cluster)))
}
