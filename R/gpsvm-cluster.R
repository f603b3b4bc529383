# Row blocks over the workers of a cluster: every worker keeps its rows, in a
# temporary file of its own, with their messages if there are any, and sends the
# sums of its shards at each pass. The master adds the shards in their order, as
# it does without workers.

# Sends the rows to the workers. Returns `pass`, which the core calls for the
# sums of a pass, or in the end for what there is of each row, and `release`, to
# be called when the fit is over.
share_rows <- function(data, process, settings) {
  n <- if (data$type == "file") data$rows else length(data$labels)
  m <- ncol(process$z)
  plan <- gpsvm_shards_cpp(n, m)
  shards <- length(plan$begin) - 1L
  split <- worker_shares(shards, settings$cluster)
  workers <- settings$cluster[seq_along(split)]
  id <- sprintf("%s-%d", Sys.getpid(), sample_id())
  greet_workers(workers)
  open <- list(
    kernel = process$kernel_core, z = process$z, nugget = process$nugget,
    threads = settings$threads,
    data = data[c("source", "center", "scale")]
  )
  release <- function() {
    for (k in seq_along(workers)) {
      try(parallel::clusterCall(workers[k], worker_close, id), silent = TRUE)
    }
  }
  shared <- FALSE
  on.exit(if (!shared) release())
  for (k in seq_along(split)) {
    chunks <- plan$begin[c(split[[k]], max(split[[k]]) + 1L)]
    first <- chunks[1] * plan$chunk_rows
    last <- min(n, chunks[length(chunks)] * plan$chunk_rows)
    send_rows(workers[k], id, data, first, last)
    open$first <- first
    on_cluster(parallel::clusterCall(
      workers[k], worker_open, id, open, chunks - chunks[1]
    ))
  }
  shared <- TRUE
  call <- user_call()
  list(
    pass = function(task) {
      parts <- on_cluster(parallel::clusterCall(
        workers, worker_pass, id, task
      ), call)
      parts <- unlist(lapply(parts, core_call), recursive = FALSE)
      if (task$step == "rows") do.call(Map, c(c, parts)) else parts
    },
    release = release
  )
}

send_rows <- function(worker, id, data, first, last) {
  size <- block_rows(raw_columns(data))
  for (begin in seq(first, last - 1, by = size)) {
    piece <- raw_rows(data, begin, min(size, last - begin))
    parts <- on_cluster(
      parallel::clusterCall(worker, worker_receive, id, piece)
    )
    core_call(parts[[1]])
  }
}

raw_columns <- function(data) {
  if (data$type == "matrix") ncol(data$x) else data$columns
}

# Rows first + 1 .. first + count as they are in the data, with their labels
# and powers.
raw_rows <- function(data, first, count) {
  at <- first + seq_len(count)
  weights <- if (length(data$weights)) data$weights[at] else numeric()
  powers <- lapply(data$machine_weights, `[`, at)
  d <- raw_columns(data)
  if (data$type == "file") {
    file <- file(data$path, "rb")
    on.exit(close(file))
    seek(file, first * (d + 1) * 8)
    rows <- matrix(readBin(file, "double", count * (d + 1)), d + 1)
    return(list(
      x = t(rows[seq_len(d), , drop = FALSE]), labels = rows[d + 1, ],
      weights = weights, powers = powers
    ))
  }
  x <- if (data$type == "matrix") {
    unname(data$x[at, , drop = FALSE])
  } else {
    unpacked_rows(data, at)
  }
  list(x = x, labels = data$labels[at], weights = weights, powers = powers)
}

unpacked_rows <- function(data, at) {
  out <- matrix(0, length(at), data$columns)
  begin <- data$begin[at[1]]
  end <- data$begin[at[length(at)] + 1L]
  entries <- begin + seq_len(end - begin)
  row <- rep(seq_along(at), diff(data$begin[c(at, at[length(at)] + 1L)]))
  out[cbind(row, data$column[entries] + 1L)] <- data$value[entries]
  out
}

# On the worker ---------------------------------------------------------------

# What this process keeps for masters, by the id of the fit.
worker_rows <- new.env(parent = emptyenv())

worker_receive <- function(id, piece) {
  share <- worker_rows[[id]]
  if (is.null(share)) {
    share <- list(
      path = tempfile("bayeskernel-rows-"), rows = 0, weights = list(),
      powers = list()
    )
  }
  out <- append_rows_cpp(share$path, piece$x, piece$labels)
  share$rows <- share$rows + nrow(piece$x)
  share$columns <- ncol(piece$x)
  share$weights <- c(share$weights, list(piece$weights))
  share$powers <- c(share$powers, list(piece$powers))
  assign(id, share, worker_rows)
  out
}

worker_open <- function(id, open, begin) {
  share <- worker_rows[[id]]
  data <- c(open$data, list(
    type = "file", path = share$path, rows = share$rows,
    columns = share$columns, labels = numeric(),
    weights = unlist(share$weights)
  ))
  if (is.null(data$weights)) data$weights <- numeric()
  share$core <- core_call(gpsvm_worker_cpp(
    data, open$kernel, open$z, open$nugget, open$threads, open$first,
    do.call(Map, c(c, share$powers))
  ))
  share$begin <- as.integer(begin)
  share[c("weights", "powers")] <- NULL
  assign(id, share, worker_rows)
  NULL
}

worker_pass <- function(id, task) {
  share <- worker_rows[[id]]
  gpsvm_worker_pass_cpp(share$core, task, share$begin)
}

worker_close <- function(id) {
  share <- worker_rows[[id]]
  if (!is.null(share)) {
    rm(list = id, envir = worker_rows)
    unlink(share$path)
  }
  NULL
}
