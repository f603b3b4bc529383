# Rows of gpsvm() over the workers of a cluster (share_rows()): every worker keeps its rows in a
# temporary file of its own.

share_process_rows <- function(data, process, settings) {
  n <- if (data$type == "file") data$rows else length(data$labels)
  share_rows(
    settings$cluster, gpsvm_shards_cpp(n, ncol(process$z)), process_keeper,
    function(part, give) {
      last <- max(part$row)
      size <- block_rows(raw_columns(data))
      for (begin in seq(part$row[1L], last - 1, by = size)) {
        give(raw_rows(data, begin, min(size, last - begin)))
      }
    },
    list(
      kernel = process$kernel_core, z = process$z, nugget = process$nugget,
      threads = settings$threads, data = data[c("source", "center", "scale")]
    )
  )
}

raw_columns <- function(data) {
  if (data$type == "matrix") ncol(data$x) else data$columns
}

# Rows first + 1 .. first + count as they are in the data, with their labels and powers.
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
  x <- if (data$type == "matrix") unname(data$x[at, , drop = FALSE]) else unpacked_rows(data, at)
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

process_keeper <- list(
  receive = function(share, piece) {
    if (is.null(share)) {
      share <- list(
        path = tempfile("bayeskernel-rows-"), rows = 0, weights = list(), powers = list()
      )
    }
    out <- append_rows_cpp(share$path, piece$x, piece$labels)
    if (inherits(out, "bayeskernel_core_error")) return(out)
    share$rows <- share$rows + nrow(piece$x)
    share$columns <- ncol(piece$x)
    share$weights <- c(share$weights, list(piece$weights))
    share$powers <- c(share$powers, list(piece$powers))
    share
  },
  open = function(share, open) {
    data <- c(open$data, list(
      type = "file", path = share$path, rows = share$rows, columns = share$columns,
      labels = numeric(), weights = as.double(unlist(share$weights))
    ))
    core <- gpsvm_worker_cpp(
      data, open$kernel, open$z, open$nugget, open$threads, open$first,
      do.call(Map, c(c, share$powers))
    )
    if (inherits(core, "bayeskernel_core_error")) return(core)
    list(core = core, path = share$path, begin = open$begin)
  },
  pass = function(share, task, own) {
    worker_pass_cpp(share$core, task, own %||% list(), share$begin)
  },
  close = function(share) unlink(share$path)
)
