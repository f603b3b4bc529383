# The first reading of a row source: every value is checked, the rows go to a temporary file for the
# core, and what a model needs to know about the columns is found on the way. For every model with
# an intercept and numeric columns.

# Reads a source into the file `path`.
# standardize: centre and scale by the moments of all rows.
# drop_aliased: drop columns that earlier ones determine.
# plain: number of columns that are columns of the model; those after them are kept in the file
#   alone.
# labels: the reader of the response, label_coder() or number_coder().
# Returns a list for the core (`path`, `rows`, `columns`, `source`, `center`, `scale`, `positive`;
#   see bsvm_stream_cpp()) and for the fit: `names` of the model's columns, `dropped`, `levels`,
#   `share` of the positive class; of a numeric response `y_mean` and `y_sd`; `moments`
#   of all columns; of rows with groups (`source$raw`, one column) `group` by row and
#   `group_levels`.
spool_rows <- function(source, path, standardize, drop_aliased, progress,
                       labels, plain = length(source$columns)) {
  check_source(source)
  if (is.null(source$response)) abort_no_response()
  read <- read_spool(source, path, drop_aliased, progress, labels, plain)
  finish_spool(read, read$root, source$columns, plain, path, standardize, labels)
}

# One reading: `blocks`, the moments and rows `n` of each block of rows; `root`, see
# deficient_root(); `ones`, the sum of the codes of labels; `coded` groups.
read_spool <- function(source, path, drop_aliased, progress, labels, plain) {
  names <- source$columns
  reader <- open_source(source)
  on.exit(reader$close())
  next_block <- block_reader(source, reader, block_rows(length(names)))
  blocks <- list()
  root <- NULL
  ones <- 0
  groups <- if (length(source$raw)) group_coder(source)
  while (!is.null(block <- next_block())) {
    moments <- column_moments_cpp(block$x)
    n <- as.double(nrow(block$x)) # products of counts exceed integers
    check_columns(moments, block$x, names, block$first + seq_len(n), in_source = TRUE)
    codes <- labels$code(block$y, block$first)
    if (!is.null(groups)) groups$code(block$raw[[1L]], block$first)
    ones <- ones + sum(codes)
    core_call(append_rows_cpp(path, block$x, codes))
    blocks[[length(blocks) + 1L]] <- c(moments, list(n = n))
    if (drop_aliased && plain > 0L && (block$first == 0 || !is.null(root))) {
      root <- deficient_root(
        root, block$x[, seq_len(plain), drop = FALSE], lapply(blocks[[1L]], head_of, plain)
      )
    }
    if (progress) show_rows(block$first + n)
  }
  if (progress) show_rows(NULL)
  list(
    blocks = blocks, root = root, ones = ones,
    coded = if (!is.null(groups) && length(blocks)) groups$finish()
  )
}

head_of <- function(x, count) x[seq_len(count)]

# What a reading, or the readings of all parts of the rows in their order, say.
finish_spool <- function(read, root, names, plain, path, standardize, labels) {
  all <- NULL
  for (block in read$blocks) all <- merge_moments(all, block, block$n)
  if (is.null(all) || all$n < 2) abort_too_few_rows(if (is.null(all)) 0L else 1L)
  p <- length(names)
  classes <- labels$finish(all$n)
  all <- finish_moments(all)
  ours <- seq_len(p) <= plain
  constant <- constant_columns(all) & ours
  aliased <- logical(p)
  if (!is.null(root)) {
    own <- !constant[ours]
    aliased[ours][own] <- depends(root[, c(TRUE, own), drop = FALSE])
  }
  if (any(constant | aliased)) warn_dropped(names[constant], names[aliased & !constant])
  keep <- which(ours & !constant & !aliased)
  list(
    path = path, rows = all$n, columns = p, source = c(0L, keep),
    center = c(0, if (standardize) all$mean[keep] else numeric(length(keep))),
    scale = c(1, if (standardize) all$sd[keep] else rep(1, length(keep))),
    positive = classes$positive, names = c("(Intercept)", names[keep]),
    dropped = names[constant | aliased], levels = classes$levels, declared = classes$declared,
    y_sd = classes$sd, y_mean = classes$mean, moments = all,
    group = read$coded$group, group_levels = read$coded$levels,
    share = switch(as.character(classes$positive),
      "1" = read$ones / all$n, "0" = 1 - read$ones / all$n
    )
  )
}

# Numbers the groups of rows that come block by block: code(values, first), and at the end finish(),
# their number by row and their names as those of rows in memory. Four bytes a row stay.
group_coder <- function(source) {
  name <- source$raw
  known <- NULL
  parts <- list()
  levels <- NULL
  refuse_missing <- function(missing, first = 0) {
    if (length(missing)) {
      abort_missing(
        stats::setNames(length(missing), name), first + missing[1], what = "Grouping factor",
        cure = missing_in_source
      )
    }
  }
  code <- function(values, first) {
    refuse_missing(which(is.na(values)), first)
    if (is.factor(values)) levels <<- union(levels, levels(values))
    values <- group_values(values, name)
    known <<- c(known, setdiff(values, known))
    parts[[length(parts) + 1L]] <<- match(values, known)
  }
  finish <- function() {
    if (source$type == "text") {
      # Among numbers, an empty cell is a number that is missing.
      blank <- match("", known)
      if (!is.na(blank) && is.numeric(text_groups(known[-blank]))) {
        refuse_missing(which(unlist(parts) == blank))
      }
      known <- text_groups(known)
    }
    if (length(levels)) known <- factor(known, levels)
    coded <- group_index(stats::setNames(list(known), name), name)
    list(group = coded$group[unlist(parts)], levels = coded$levels)
  }
  list(code = code, finish = finish)
}

# Text, numbers or logical values, whatever the source calls them.
group_values <- function(values, name) {
  if (inherits(values, "integer64") && isNamespaceLoaded("bit64")) values <- as.double(values)
  if (is.factor(values)) values <- as.character(values)
  if (!is_plain_number(values) && (!is.character(values) || is.object(values))) {
    abort_argument(values, name, "a grouping factor: text, numbers or logical values")
  }
  values
}

# Groups of a text file that are all numbers are those.
text_groups <- function(values) {
  numbers <- suppressWarnings(as.double(values))
  if (anyNA(numbers)) values else numbers
}

# The same of new rows, where the known groups are numbers.
text_groups_like <- function(values, known) {
  numbers <- text_groups(known)
  if (is.character(numbers)) return(values)
  numbers <- suppressWarnings(as.double(values))
  at <- which(!is.na(numbers))
  values[at] <- group_text(numbers[at])
  values
}

abort_no_response <- function() {
  bk_abort(
    "response", "The row source has no response.",
    "Name its column by `y` in row_source(), or in the formula.", column = "y"
  )
}

# R of the QR decomposition of the rows so far, intercept first, while some column depends on
# others; NULL as soon as none does, which is then so for all rows.
deficient_root <- function(root, x, first) {
  n <- nrow(x)
  scale <- first$sd
  scale[constant_columns(first)] <- 1
  x <- cbind(1, (x - rep(first$mean, each = n)) / rep(scale, each = n))
  decomposition <- qr(rbind(root, x), tol = 1e-7)
  if (decomposition$rank == ncol(x)) return(NULL)
  qr.R(decomposition)[, order(decomposition$pivot), drop = FALSE]
}

# Which columns after the first the ones before determine.
depends <- function(root) {
  decomposition <- qr(root, tol = 1e-7)
  k <- ncol(root)
  out <- logical(k)
  out[decomposition$pivot[seq_len(k) > decomposition$rank]] <- TRUE
  out[-1]
}

show_rows <- function(n) {
  text <- if (is.null(n)) "" else sprintf("reading, %.0f rows", n)
  cat(sprintf("\r%-40s%s", text, if (is.null(n)) "\r" else ""), file = stderr())
}
