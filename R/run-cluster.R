# Work on a base cluster: asking whether its workers answer, what to say if one does not, and rows
# that are shared among them.

# Replies come in the order of the calls. After a call that was broken off one is still under way,
# and every later answer would be that to the call before.
greet_workers <- function(cluster) {
  word <- sprintf("%s-%d", Sys.getpid(), sample_id())
  replies <- on_cluster(parallel::clusterCall(cluster, identity, word))
  if (!all(vapply(replies, identical, NA, word))) {
    bk_abort(
      "cluster", "A worker of `cluster` answers an earlier call.",
      "Something that it was asked before was broken off.", "Stop the cluster and make a new one."
    )
  }
}

# A number that R's generator does not give, so that fits do not depend on it.
sample_id <- function() as.integer((as.numeric(Sys.time()) * 1e3) %% .Machine$integer.max)

# A failure of a worker, or of the way to it. Called back from the core, a function has no callers:
# it is told the user's call.
on_cluster <- function(code) {
  tryCatch(code, error = function(e) {
    if (inherits(e, "bayeskernel_error")) stop(e)
    bk_abort(
      "cluster", "A worker of `cluster` failed.",
      conditionMessage(e), "bayeskernel must be installed on the workers, in this version.",
      "Stop the cluster and make a new one: others may still be at work."
    )
  })
}

# Some workers, as a cluster: whoever made it may have a `[` that returns no cluster.
some_workers <- function(cluster, at) structure(unclass(cluster)[at], class = class(cluster))

# A worker that keeps rows must be the one that is asked for their sums. Daemons of one cluster of
# package mirai take calls as they become free.
check_bound_workers <- function(cluster) {
  pools <- unlist(lapply(unclass(cluster), function(worker) {
    if (inherits(worker, "miraiNode")) attr(worker, "id")
  }))
  if (anyDuplicated(pools)) {
    bk_abort(
      "cluster", "Workers of this `cluster` cannot keep rows.",
      "Found: a cluster of mirai, any of whose daemons takes any call.",
      paste(
        "Accepted: a list of clusters of one daemon,",
        "list(mirai::make_cluster(1), mirai::make_cluster(1))."
      ),
      column = "cluster", found = class(cluster)
    )
  }
}

# As many shares of 1, ..., n as there are workers with something to do.
worker_shares <- function(n, cluster) Filter(length, parallel::splitIndices(n, length(cluster)))

# --- rows --------------------------------------------------------------------

# Row blocks over the workers of a cluster: every worker keeps its rows, with their messages if
# there are any, and sends the sums of its shards at each pass. The master adds the shards in their
# order, as it does without workers.

# Rows of a fit over the workers of a cluster.
# cluster: the cluster.
# plan: what the core cuts the rows into: `chunk`, `row` and `group` that each shard begins with,
#   counted from 0, then their numbers.
# keeper: what workers do, functions of the package: `receive(share, piece)` returns what a worker
#   has with a further piece of its rows (`share` is NULL at first), `open(share, open)` the same
#   with what passes need, and `pass(share, task, own)` is the answer to a task of the core. An
#   error of the core may take the place of each. `close(share)`, or NULL, cleans up.
# pieces: `function(part, give)` calls `give(piece)` with the rows of `part`, a share of the plan.
# open: what workers open their rows with; to it come `first`, the rows before theirs, and `begin`,
#   the chunks of their shards, counted from 0.
# Returns `remote`, what the core asks for the sums of a pass, see RemoteRows in src/glue_workers.h,
#   and `release`, to be called when the fit is over.
share_rows <- function(cluster, plan, keeper, pieces, open) {
  split <- worker_shares(length(plan$chunk) - 1L, cluster)
  workers <- some_workers(cluster, seq_along(split))
  check_bound_workers(cluster)
  id <- sprintf("%s-%d", Sys.getpid(), sample_id())
  greet_workers(workers)
  release <- function() close_workers(workers, id, keeper$close)
  shared <- FALSE
  on.exit(if (!shared) release())
  for (k in seq_along(split)) {
    part <- lapply(plan[c("chunk", "row", "group")], `[`, c(split[[k]], max(split[[k]]) + 1L))
    tell <- function(...) {
      core_call(on_cluster(parallel::clusterCall(some_workers(workers, k), ...))[[1L]])
    }
    pieces(part, function(piece) tell(worker_receive, id, keeper$receive, piece))
    own <- list(first = part$row[1L], begin = as.integer(part$chunk - part$chunk[1L]))
    tell(worker_open, id, keeper$open, keeper$pass, c(open, own))
  }
  shared <- TRUE
  begins <- c(vapply(split, `[`, 1L, 1L), length(plan$chunk))
  list(
    remote = list(
      ask = ask_workers(workers, id), row = as.double(plan$row[begins]),
      group = as.double(plan$group[begins])
    ),
    release = release
  )
}

# Answers of the workers to a task of the core, `own` by worker; or of the one that it names.
ask_workers <- function(workers, id) {
  function(task, own) {
    asked <- if (is.null(task$worker)) workers else some_workers(workers, task$worker)
    lapply(on_cluster(parallel::clusterApply(asked, own, worker_pass, id, task)), core_call)
  }
}

# One after the other: one that is gone does not keep the next from cleaning up.
close_workers <- function(workers, id, close) {
  for (k in seq_along(workers)) {
    try(parallel::clusterCall(some_workers(workers, k), worker_close, id, close), silent = TRUE)
  }
}

# On the worker: what this process keeps for masters, by the id of the fit.
worker_rows <- new.env(parent = emptyenv())

keep_share <- function(id, share) {
  if (inherits(share, "bayeskernel_core_error")) return(share)
  assign(id, share, worker_rows)
  NULL
}

worker_receive <- function(id, receive, piece) keep_share(id, receive(worker_rows[[id]], piece))

worker_open <- function(id, open, pass, with) {
  share <- open(worker_rows[[id]], with)
  if (is.list(share)) share$pass <- pass
  keep_share(id, share)
}

worker_pass <- function(own, id, task) {
  share <- worker_rows[[id]]
  share$pass(share, task, own)
}

worker_close <- function(id, close) {
  share <- worker_rows[[id]]
  if (!is.null(share)) {
    rm(list = id, envir = worker_rows)
    if (!is.null(close)) close(share)
  }
  NULL
}
