# Rows that never meet: every worker of a cluster opens a source of its own, a part of the rows,
# and keeps these in a file on its own disk. The master knows the sizes of the parts and what the
# columns' moments are; passes are sums over the parts in their order. A group stays with one part.

#' @rdname row_source
#' @export
row_source.cluster <- function(x, open, y = NULL, ...) {
  check_no_dots(...)
  if (missing(open) || !is.function(open) || length(formals(open)) < 2L) {
    abort_argument(
      if (!missing(open)) open, "open", "a function of `part` and `parts` that returns a row source"
    )
  }
  if (!is.null(y) && !is_string(y)) {
    abort_argument(y, "y", "NULL or the name of the column of labels")
  }
  check_bound_workers(x)
  source <- list(
    type = "cluster", cluster = x, open = open, y = y,
    id = sprintf("source-%s-%d", Sys.getpid(), sample_id())
  )
  greet_workers(x)
  heads <- on_parts(source, seq_along(x), part_head)
  first <- heads[[1L]]
  for (k in seq_along(heads)[-1L]) {
    check_same_columns(
      heads[[k]]$all_columns, first$all_columns, sprintf("part %d, from part 1", k)
    )
    if (!identical(heads[[k]]$response, first$response)) {
      bk_abort(
        "response", "The parts of the rows differ in their response.",
        sprintf(
          "Found: %s in part 1, %s in part %d.",
          first$response %||% "none", heads[[k]]$response %||% "none", k
        ),
        "Accepted: one column as `y` of row_source(), for all parts.", column = "y"
      )
    }
  }
  source$text <- any(vapply(heads, function(head) head$type == "text", NA))
  structure(c(source, first[c("response", "all_columns", "columns")]), class = "row_source")
}

#' @rdname row_source
#' @export
row_source.list <- function(x, ...) {
  clusters <- length(x) > 0L && all(vapply(x, inherits, NA, "cluster"))
  if (clusters) row_source.cluster(check_cluster(x, "x"), ...) else row_source.default(x, ...)
}

# Calls fun(element of `own`, source, ...) on each worker; `source` is what it needs of it.
on_parts <- function(source, own, fun, ...) {
  told <- unclass(source)[c("id", "open", "y", "response", "all_columns", "columns", "raw")]
  told$parts <- length(source$cluster)
  replies <- on_cluster(parallel::clusterApply(source$cluster, own, on_part, fun, told, ...))
  for (k in seq_along(replies)) {
    if (inherits(replies[[k]], "bayeskernel_error")) abort_in_part(replies[[k]], k)
  }
  lapply(replies, core_call)
}

# What is wrong with the rows of a part is told as it would be of a source by itself.
abort_in_part <- function(error, part) {
  error$message <- sprintf("%s\n* In part %d of the rows.", conditionMessage(error), part)
  error["call"] <- list(user_call())
  stop(error)
}

refuse_cluster_rows <- function() {
  bk_abort(
    "argument", "Rows of a cluster's workers are not for this function.",
    "Found: a row source whose rows are with the workers of a cluster.",
    "Accepted: other row sources, data frames and matrices.", column = "x", found = "row_source"
  )
}

# What a fit of these rows cannot have.
refuse_beside_cluster <- function(group, settings) {
  if (!is.null(group) && settings$method == "svi") {
    abort_argument(settings$method, "method", "for groups of rows of a cluster \"ep\" or \"vb\"")
  }
  if (!is.null(settings$cluster)) {
    bk_abort(
      "argument", "The rows have a cluster of their own: leave out `cluster`.",
      "The workers that have the rows make the passes.", column = "cluster"
    )
  }
  if (!is.null(settings$learning_rate) && !identical(as.character(settings$learning_rate), "1")) {
    abort_argument(settings$learning_rate, "learning_rate", "1 for rows of a cluster")
  }
}

refuse_absent_processes <- function(parsed) {
  bk_abort(
    "argument", "Terms gp() are not for rows of a cluster's workers.",
    paste("Found:", list_some(vapply(parsed$smooths, `[[`, "", "text"))),
    "Accepted: numeric columns and one random term, such as (1 | id).",
    "gpsvm() fits a process of all columns to such rows.", column = "formula"
  )
}

refuse_absent_process <- function(n) {
  bk_abort(
    "argument", "Rows of a cluster's workers need inducing points.",
    sprintf("Found: every one of %.0f rows is one.", n),
    "Accepted: fewer, in `inducing`.", column = "inducing"
  )
}

# --- the first reading -------------------------------------------------------

# As spool_rows() of all rows; `path` is their name on the workers. `shares` says where they are:
# `source`, `path`, `rows` of each part, `codes`, the labels that each part's codes mean, and
# `sizes`, rows of its groups.
spool_parts <- function(source, path, standardize, drop_aliased, progress, labels,
                        plain = length(source$columns)) {
  if (is.null(source$response)) abort_no_response()
  greet_workers(source$cluster)
  parts <- on_parts(
    source, seq_along(source$cluster), part_spool, basename(path), drop_aliased, labels$kind, plain
  )
  rows <- vapply(parts, `[[`, 1, "rows")
  refuse_empty_part(rows)
  all <- joined_labels(parts, labels, rows)
  levels <- lapply(parts, `[[`, "levels")
  refuse_split_group(levels, source$raw)
  read <- list(
    blocks = unlist(lapply(parts, `[[`, "blocks"), recursive = FALSE), ones = all$ones,
    coded = list(levels = unlist(levels))
  )
  file <- finish_spool(
    read, joined_root(parts, plain), source$columns, plain, path, standardize, all$labels
  )
  sizes <- lapply(parts, `[[`, "sizes")
  file$group_sizes <- unlist(sizes)
  file$shares <- list(
    source = source, path = basename(path), rows = rows, codes = all$codes, sizes = sizes
  )
  file
}

refuse_empty_part <- function(rows) {
  if (any(rows == 0)) {
    bk_abort(
      "dimension", sprintf("Part %d of the rows is empty.", which(rows == 0)[1L]),
      "Accepted: a row or more for each worker; give fewer workers.", row = 0, found = rows
    )
  }
}

# Labels of all parts: those that each part found, in the order of the parts, are coded as if they
# were rows. Of numbers there are moments of blocks.
joined_labels <- function(parts, labels, rows) {
  if (labels$kind == "number") {
    moments <- NULL
    for (part in parts) {
      for (block in part$y_blocks) moments <- merge_moments(moments, block, block$n)
    }
    labels$finish <- function(n) {
      c(list(levels = NULL, positive = -1L), finish_moments(moments)[c("mean", "sd")])
    }
    return(list(labels = labels, ones = 0))
  }
  before <- cumsum(c(0, rows))
  codes <- lapply(seq_along(parts), function(k) {
    unique(labels$code(parts[[k]]$distinct, before[k]))
  })
  ones <- Map(function(part, codes) {
    count <- c(part$rows - part$ones, part$ones)
    sum(count[seq_along(codes)][codes == 1])
  }, parts, codes)
  list(labels = labels, ones = sum(unlist(ones)), codes = codes)
}

refuse_split_group <- function(levels, name) {
  split <- unlist(levels)[duplicated(unlist(levels))]
  if (length(split) == 0L) return(invisible())
  at <- which(vapply(levels, function(own) split[1L] %in% own, NA))
  bk_abort(
    "argument", fit_header("Group \"%s\" has rows in several parts.", split[1L]),
    sprintf("Found: it is in parts %s of the rows.", paste(at, collapse = " and ")),
    sprintf("Accepted: all rows of a group of `%s` in one part.", name),
    column = name, found = split
  )
}

# The root of all rows from those of the parts, on the scale of the first: each part's columns were
# scaled by its own first block.
joined_root <- function(parts, plain) {
  roots <- lapply(parts, `[[`, "root")
  if (any(vapply(roots, is.null, NA))) return(NULL)
  if (length(roots) == 1L) return(roots[[1L]])
  to_values <- lapply(parts, function(part) {
    first <- lapply(part$blocks[[1L]], head_of, plain)
    scale <- first$sd
    scale[constant_columns(first)] <- 1
    rbind(c(1, first$mean), cbind(0, diag(scale, plain)))
  })
  from_first <- solve(to_values[[1L]])
  all <- do.call(rbind, Map(function(root, to) root %*% to %*% from_first, roots, to_values))
  decomposition <- qr(all, tol = 1e-7)
  if (decomposition$rank == ncol(all)) return(NULL)
  qr.R(decomposition)[, order(decomposition$pivot), drop = FALSE]
}

# Rows `at` of all, as read_spooled() has them.
read_parts <- function(file, at) {
  shares <- file$shares
  begin <- cumsum(c(0, shares$rows))
  part <- findInterval(at - 1, begin, rightmost.closed = TRUE)
  own <- lapply(seq_along(shares$rows), function(k) at[part == k] - begin[k])
  found <- on_parts(shares$source, own, part_rows_at, shares$path)
  if (length(shares$codes)) {
    found <- Map(function(rows, codes) {
      rows[, ncol(rows)] <- codes[rows[, ncol(rows)] + 1]
      rows
    }, found, shares$codes)
  }
  out <- do.call(rbind, found)
  out[order(order(part)), , drop = FALSE]
}

# One row of each of `size` runs of the data of gpsvm(): `x`, on the scale of the model in columns,
# `labels` and `row`.
sample_process_rows <- function(data, size, seed) {
  seed <- as.double(seed)
  if (is.null(data$shares)) return(core_call(gpsvm_sample_cpp(data, size, seed)))
  at <- core_call(sample_numbers_cpp(data$rows, size, seed))$row
  rows <- read_parts(data, at)
  x <- (t(rows[, data$source, drop = FALSE]) - data$center) / data$scale
  list(x = x, labels = rows[, ncol(rows)], row = at)
}

# The groups of rows `at`, which are sorted by group within each part.
groups_at <- function(file, at) {
  if (is.null(file$shares)) return(file$group[at])
  if (length(file$group_sizes)) findInterval(at - 1, cumsum(c(0, file$group_sizes)))
}

# In place of rows of which nothing but their columns is needed.
stand_in_rows <- function(file, count) {
  cbind(matrix(as.double(seq_len(count)), count, file$columns), seq_len(count) %% 2)
}

# --- passes ------------------------------------------------------------------

# The workers of the rows as the core asks them, see RemoteRows in src/glue_workers.h. Shards are
# those of all rows where every part begins with one; else each part has its own.
# open: on the workers, `open(data, with, first)` returns what `pass(core, task, own, begin)` asks.
open_parts <- function(data, plan, keeper, with) {
  shares <- data$shares
  parts <- seq_along(shares$rows)
  begin <- cumsum(c(0, shares$rows))
  at <- match(begin, plan$row)
  groups <- cumsum(c(0, lengths(shares$sizes)))
  data$shares <- NULL
  own <- lapply(parts, function(k) {
    out <- list(first = begin[k], rows = shares$rows[k])
    if (length(shares$codes)) {
      # A code that no row of the part has.
      out$positive <- match(data$positive, shares$codes[[k]], nomatch = 0L) - 1L
      if (out$positive < 0L) out$positive <- 2L
    }
    out$group_sizes <- shares$sizes[[k]]
    if (!anyNA(at)) out$begin <- as.integer(plan$chunk[at[k]:at[k + 1L]] - plan$chunk[at[k]])
    out
  })
  on_parts(shares$source, own, part_open, shares$path, data, keeper, with)
  list(
    ask = ask_workers(shares$source$cluster, shares$path),
    row = as.double(begin), group = as.double(groups), absent = TRUE
  )
}

share_streamed_rows <- function(job) {
  data <- job$data
  with <- job$control[intersect(c("family", "rule", "noise", "threads"), names(job$control))]
  # The evidence of groups is of moments of rows.
  with$row_moments <- length(data$group_sizes) > 0L && isTRUE(with$family %in% c("logit", "probit"))
  open_parts(data, core_call(stream_shards_cpp(data)), stream_keeper, with)
}

stream_keeper <- list(
  open = function(data, with, first) stream_worker_cpp(data, with, first),
  begin = function(data, with) stream_shards_cpp(data)$chunk,
  pass = function(share, task, own) {
    worker_pass_cpp(share$core, task, own %||% list(), share$begin)
  }
)

share_process_parts <- function(job, settings) {
  process <- job$process
  open_parts(
    job$data, core_call(gpsvm_shards_cpp(job$data$rows, ncol(process$z))), process_part_keeper,
    list(
      kernel = process$kernel_core, z = process$z, nugget = process$nugget,
      threads = settings$threads
    )
  )
}

process_part_keeper <- list(
  open = function(data, with, first) {
    gpsvm_worker_cpp(data, with$kernel, with$z, with$nugget, with$threads, first, list())
  },
  begin = function(data, with) gpsvm_shards_cpp(data$rows, ncol(with$z))$chunk,
  pass = function(share, task, own) {
    task$label <- share$positive
    worker_pass_cpp(share$core, task, own %||% list(), share$begin)
  }
)

# --- on the worker -----------------------------------------------------------

# Errors of the package are answers: the master raises them as its own.
on_part <- function(own, fun, told, ...) {
  tryCatch(fun(own, told, ...), bayeskernel_error = function(e) e)
}

# The source of a part, opened once.
part_source <- function(part, told) {
  source <- worker_rows[[told$id]]
  if (is.null(source)) {
    source <- tryCatch(told$open(part, told$parts), error = function(e) {
      if (inherits(e, "bayeskernel_error")) stop(e)
      bk_abort(
        "argument", "The source of a part cannot be opened.", conditionMessage(e),
        "`open` of row_source() runs on the worker: packages and files must be there.",
        column = "open", found = conditionMessage(e)
      )
    })
    if (!inherits(source, "row_source") || identical(source$type, "cluster")) {
      abort_argument(source, "open", "a function that returns a row source of its worker")
    }
    check_source(source)
    if (!is.null(told$y)) {
      if (!is.null(source$labels) || !is.null(source$response) && source$response != told$y) {
        abort_argument(told$y, "y", "NULL where the sources of the parts name their response")
      }
      source <- new_row_source(unclass(source), source$all_columns, told$y)
    }
    assign(told$id, source, worker_rows)
  }
  source
}

part_head <- function(part, told) {
  unclass(part_source(part, told))[c("type", "response", "all_columns", "columns")]
}

part_spool <- function(part, told, id, drop_aliased, kind, plain) {
  source <- part_source(part, told)
  source[c("columns", "raw")] <- told[c("columns", "raw")]
  path <- tempfile("bayeskernel-rows-")
  # What there is of it is put away also after an error.
  assign(id, list(path = path), worker_rows)
  coder <- part_coder(source, kind)
  read <- read_spool(source, path, drop_aliased, FALSE, coder, plain)
  rows <- sum(vapply(read$blocks, `[[`, 1, "n"))
  file <- list(
    path = path, columns = length(source$columns), rows = rows,
    group = read$coded$group, group_levels = read$coded$levels
  )
  sort_groups(file)
  assign(id, file[c("path", "columns", "rows")], worker_rows)
  c(read[c("blocks", "root", "ones")], coder$found(), list(
    rows = rows, levels = file$group_levels,
    sizes = if (!is.null(file$group)) tabulate(file$group, length(file$group_levels))
  ))
}

# A coder of labels, and what the master makes of the labels of all parts.
part_coder <- function(source, kind) {
  text <- source$type == "text"
  numbers <- kind == "number"
  coder <- if (numbers) {
    number_coder(source$response, text)
  } else {
    label_coder(source$response, text, kind)
  }
  distinct <- NULL
  blocks <- list()
  list(
    code = function(y, first) {
      codes <- coder$code(y, first)
      if (numbers) {
        block <- column_moments_cpp(cbind(codes))
        blocks[[length(blocks) + 1L]] <<- c(block, list(n = as.double(length(codes))))
      } else {
        new <- unique(y)
        distinct <<- if (is.null(distinct)) new else unique(join_values(distinct, new))
      }
      codes
    },
    found = function() list(distinct = distinct, y_blocks = blocks)
  )
}

part_rows_at <- function(at, told, id) read_spooled(worker_rows[[id]], at)

part_open <- function(own, told, id, data, keeper, with) {
  share <- worker_rows[[id]]
  data[names(own)] <- own
  data$path <- share$path
  share$core <- keeper$open(data, with, own$first)
  if (inherits(share$core, "bayeskernel_core_error")) return(share$core)
  share$positive <- data$positive
  share$begin <- own$begin %||% keeper$begin(data, with)
  share$pass <- keeper$pass
  keep_share(id, share)
}

part_close <- function(share) unlink(share$path)
