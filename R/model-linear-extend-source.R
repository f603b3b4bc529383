# More rows for a linear fit from a row source, whoever has them. Each reads its own and keeps in a
# file what the effects m + R v see of them: columns A R, so that f = A R v, v ~ N(R^-1 m, 1).

extend_from_source <- function(object, source, y, weights, threads, progress) {
  check_source(source)
  refuse_source_extension(object, source, y, weights)
  apart <- identical(source$type, "cluster")
  path <- tempfile("bayeskernel-rows-")
  on.exit(if (apart) close_workers(source$cluster, basename(path), part_close) else unlink(path))
  each <- function(fun, ...) {
    if (!apart) return(list(fun(source, ...)))
    greet_workers(source$cluster)
    on_parts(source, seq_along(source$cluster), on_source_part, fun, ...)
  }
  grown <- object
  if (length(object$design$random)) {
    grown <- grow_groups(object, unique(do.call(rbind, each(source_groups, told_fit(object)))))
    refuse_many_effects(grown)
  }
  q <- joint_effects(grown)
  root <- t(proper_root(q$cov))
  to <- if (apart) basename(path) else path
  parts <- each(spool_effects, told_fit(grown), q$mean, root, to, apart)
  rows <- vapply(parts, `[[`, 1, "rows")
  if (sum(rows) == 0) return(object)
  refuse_empty_part(rows)
  data <- list(
    type = "file", path = path, rows = sum(rows), columns = ncol(root),
    source = seq_len(ncol(root)), center = numeric(ncol(root)), scale = rep(1, ncol(root)),
    positive = if (is_regression(object)) -1L else 1L
  )
  if (apart) data$shares <- list(source = source, path = basename(path), rows = rows)
  prior <- standard_effects(ncol(root), forwardsolve(root, q$mean))
  core <- settled_extension(source_extension_core(grown, data, prior, threads, progress))
  core$root <- root
  core$theta_mean <- core$theta_mean - prior$mean
  positive <- sum(vapply(parts, `[[`, 1, "positive"))
  out <- extended_fit(
    grown, core, q, root %*% core$jackknife$cov %*% t(root),
    list(n = data$rows, weight = data$rows, share = positive / data$rows)
  )
  moments <- NULL
  for (part in parts) moments <- merge_moments(moments, part$moments, part$rows)
  out$stream <- watch_linear(object, finish_moments(moments), numeric(), data$rows)
  if (is_regression(object)) {
    missed <- Reduce(`+`, lapply(parts, `[[`, "missed"))
    out$stream <- watch_predictions(out$stream, missed, linear_cure)
  }
  stamped(out)
}

# What says how rows become columns.
told_fit <- function(object) {
  object[setdiff(names(object), c("frame", "data", "fitted", "loo", "y", "weights", "offset"))]
}

refuse_source_extension <- function(object, source, y, weights) {
  if (is.null(source$response)) abort_no_response()
  if (!is.null(y)) abort_argument(y, "y", "NULL for a row source, which names its response")
  if (!is.null(weights)) abort_argument(weights, "weights", "NULL for a row source")
  found <- c(
    if (length(object$design$smooths)) "smooths or gp() terms",
    if (!is.null(object$design$offset)) "an offset",
    if ((object$learning_rate %||% 1) != 1) "a learning rate other than 1"
  )
  if (length(found)) {
    bk_abort(
      "argument", "This fit cannot be extended by a row source.",
      sprintf("Found: %s.", found[1L]),
      "Accepted: a fit of columns and random terms. Read the rows into data frames.",
      column = "newdata"
    )
  }
}

source_extension_core <- function(object, data, prior, threads, progress) {
  control <- extension_control(object, threads, progress)
  if (!is.null(data$shares)) {
    control$remote <- share_streamed_rows(list(data = data, control = control))
    data$rows <- 0
  }
  core_call(linear_ep_stream_cpp(data, prior, control))
}

# Upper triangular; every effect has a prior of its own.
proper_root <- function(cov) {
  tryCatch(chol(cov), error = function(e) {
    bk_abort(
      "numeric", "The effects of this fit depend on one another.",
      "The covariance of their posterior is singular: a row source cannot extend it.",
      "Read the rows into data frames.", column = "object"
    )
  })
}

# --- where the rows are ------------------------------------------------------

on_source_part <- function(part, told, fun, ...) fun(part_source(part, told), ...)

# Calls visit(frame, y, first) for each block of rows.
each_source_block <- function(object, source, size, visit) {
  own <- needed_columns(object$design, source)
  reader <- open_source(own)
  on.exit(reader$close())
  next_block <- block_reader(own, reader, size %||% block_rows(length(own$columns)))
  while (!is.null(block <- next_block())) {
    refuse_infinite(block)
    visit(block_values(object, own, block), block$y, block$first)
  }
}

# The groups of all rows, each once.
source_groups <- function(source, object) {
  names <- unique(unlist(lapply(object$design$random, function(info) {
    lapply(info$leaves, function(leaf) all.vars(read_text(leaf, source$all_columns)))
  })))
  out <- NULL
  each_source_block(object, source, NULL, function(x, y, first) {
    out <<- unique(rbind(out, x[names]))
  })
  out
}

# `apart`: `path` is the name of the file on a worker, which has it put away with the others.
spool_effects <- function(source, object, mean, root, path, apart) {
  id <- path
  if (apart) path <- tempfile("bayeskernel-rows-")
  if (apart) assign(id, list(path = path), worker_rows)
  text <- source$type == "text"
  numbers <- if (is_regression(object)) number_coder(source$response, text)
  plain <- watched_columns(object)
  rows <- positive <- 0
  moments <- NULL
  missed <- c(rows = 0, n = 0)
  each_source_block(object, source, block_rows(ncol(root)), function(x, y, first) {
    y <- if (is.null(numbers)) {
      known_codes(if (text) label_text(y, TRUE) else y, object$levels) - 1
    } else {
      numbers$code(y, first)
    }
    new <- new_rows(object, x, first = first)
    check_extension_rows(y, new, NROW(x))
    own <- column_moments_cpp(new$x[, plain, drop = FALSE] + 0)
    moments <<- merge_moments(moments, own, as.double(NROW(x)))
    a <- effect_columns(object, new, ncol(root))
    v <- a %*% root
    core_call(append_rows_cpp(path, v, y))
    if (!is.null(numbers)) {
      missed <<- missed + missed_rows(y, drop(a %*% mean), rowSums(v^2) + noise_before(object))
    }
    rows <<- rows + NROW(x)
    positive <<- positive + sum(y)
  })
  list(
    rows = rows, positive = positive, missed = missed,
    moments = if (rows > 0) finish_moments(moments)
  )
}
