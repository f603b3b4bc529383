# The first reading of a row source: every value is checked, the rows go to a
# temporary file for the core, and what a model needs to know about the columns
# is found on the way. For every model with an intercept and numeric columns.

#' Reads a source into the file `path`
#'
#' @param standardize Centre and scale by the first block, or for columns that
#'   do not vary there by all rows.
#' @param drop_aliased Drop columns that earlier ones determine.
#' @param all_rows Centre and scale by all rows.
#' @return A list for the core (`path`, `rows`, `columns`, `source`, `center`,
#'   `scale`, `positive`; see bsvm_stream_cpp()) and for the fit: `names` of the
#'   model's columns, `dropped`, `levels`, `share` of the positive class.
#' @noRd
spool_rows <- function(source, path, standardize, drop_aliased, progress,
                       call, all_rows = FALSE) {
  if (is.null(source$response)) {
    bk_abort(
      "response", "The row source has no response.",
      "Name the column of labels by `y` in row_source().",
      column = "y", call = call
    )
  }
  names <- source$columns
  p <- length(names)
  labels <- label_coder(source$response, source$type == "text", call)
  reader <- open_source(source, call)
  on.exit(reader$close())
  next_block <- block_reader(source, reader, block_rows(p), call)
  all <- NULL
  first <- NULL
  root <- NULL
  positive <- 0
  while (!is.null(block <- next_block())) {
    moments <- column_moments_cpp(block$x)
    n <- as.double(nrow(block$x)) # products of counts exceed integers
    check_columns(moments, block$x, names, block$first + seq_len(n), call)
    codes <- labels$code(block$y, block$first)
    positive <- positive + sum(codes)
    core_call(append_rows_cpp(path, block$x, codes), call)
    all <- merge_moments(all, moments, n)
    if (is.null(first)) first <- moments
    if (drop_aliased && (block$first == 0 || !is.null(root))) {
      root <- deficient_root(root, block$x, first)
    }
    if (progress) show_rows(all$n)
  }
  if (progress) show_rows(NULL)
  if (is.null(all) || all$n < 2) {
    abort_too_few_rows(if (is.null(all)) 0L else 1L, call)
  }
  classes <- labels$finish(all$n)
  all <- finish_moments(all)
  flat <- all_rows | constant_columns(first)
  for (field in c("mean", "sd")) first[[field]][flat] <- all[[field]][flat]
  constant <- constant_columns(all)
  aliased <- logical(p)
  if (!is.null(root)) {
    aliased[!constant] <- depends(root[, c(TRUE, !constant), drop = FALSE])
  }
  warn_dropped(names[constant], names[aliased & !constant], call)
  keep <- which(!constant & !aliased)
  list(
    path = path, rows = all$n, columns = p,
    source = c(0L, keep),
    center = c(0, if (standardize) first$mean[keep] else numeric(length(keep))),
    scale = c(1, if (standardize) first$sd[keep] else rep(1, length(keep))),
    positive = classes$positive, names = c("(Intercept)", names[keep]),
    dropped = names[constant | aliased], levels = classes$levels,
    share = if (classes$positive == 1L) {
      positive / all$n
    } else {
      1 - positive / all$n
    }
  )
}

# Moments of all rows so far (the update of Chan, Golub and LeVeque 1983);
# `squares` is the sum of squared deviations.
merge_moments <- function(all, part, n) {
  squares <- part$sd^2 * (n - 1)
  if (is.null(all)) {
    return(c(part[c("mean", "min", "max")], list(squares = squares, n = n)))
  }
  gap <- part$mean - all$mean
  total <- all$n + n
  list(
    mean = all$mean + gap * (n / total), min = pmin(all$min, part$min),
    max = pmax(all$max, part$max),
    squares = all$squares + squares + gap^2 * (all$n * n / total), n = total
  )
}

# R of the QR decomposition of the rows so far, intercept first, while some
# column depends on others; NULL as soon as none does, which is then so for all
# rows.
deficient_root <- function(root, x, first) {
  n <- nrow(x)
  scale <- first$sd
  scale[constant_columns(first)] <- 1
  x <- cbind(1, (x - rep(first$mean, each = n)) / rep(scale, each = n))
  decomposition <- qr(rbind(root, x), tol = 1e-7)
  if (decomposition$rank == ncol(x)) {
    return(NULL)
  }
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

# Labels ----------------------------------------------------------------------

# Labels that are seen block by block. code() gives the number of a label, 0 or
# 1 in the order of appearance; finish() the two classes in their order and the
# number of the positive one.
label_coder <- function(name, from_text, call) {
  seen <- character()
  declared <- character()
  numeric <- NULL
  code <- function(y, first) {
    refuse_label_type(y, name, call)
    if (inherits(y, "integer64")) y <- as.double(y)
    bad <- if (is.numeric(y)) !is.finite(y) else is.na(y)
    if (any(bad)) {
      abort_missing(
        stats::setNames(sum(bad), name), which(bad)[1] + first,
        what = "Response", call = call
      )
    }
    if (is.factor(y)) declared <<- union(declared, levels(y))
    if (is.null(numeric)) numeric <<- is.numeric(y)
    distinct <- unique(y)
    text <- label_text(distinct, from_text)
    new <- setdiff(text, seen)
    if (length(seen) + length(new) > 2L) {
      known <- utils::head(c(seen, new), 2L)
      at <- which(!(text[match(y, distinct)] %in% known))[1]
      abort_third_class(name, known, text, first + at, call)
    }
    seen <<- c(seen, new)
    match(text, seen)[match(y, distinct)] - 1
  }
  finish <- function(n) {
    if (length(seen) == 1L) abort_one_class(name, seen, n, call)
    numbers <- suppressWarnings(as.numeric(seen))
    ranks <- if (numeric || (from_text && !anyNA(numbers))) {
      check_class_codes(numbers, name, call)
      order(numbers)
    } else if (length(declared)) {
      order(match(seen, declared))
    } else {
      order(factor(seen))
    }
    list(levels = seen[ranks], positive = ranks[2] - 1L)
  }
  list(code = code, finish = finish)
}

# One way to write each label; 1 and 1.0 in a text file are the same.
label_text <- function(labels, from_text) {
  text <- as.character(labels)
  if (from_text) {
    number <- suppressWarnings(as.numeric(text))
    text <- ifelse(is.na(number), text, as.character(number))
  }
  text
}

refuse_label_type <- function(y, name, call) {
  if (!is.character(y) && !inherits(y, "integer64")) {
    refuse_response_type(y, name, call)
  }
}

abort_third_class <- function(name, known, found, row, call) {
  bk_abort(
    "response", fit_header("Response `%s` has more than two classes.", name),
    c(
      sprintf(
        "Found: %s, and %s in row %.0f.",
        paste(quoted(known), collapse = ", "),
        list_some(quoted(setdiff(found, known)), 5L), row
      ),
      response_accepted
    ),
    column = name, row = row, found = found, expected = known, call = call
  )
}

abort_one_class <- function(name, found, n, call) {
  bk_abort(
    "response", fit_header("Response `%s` has one class only.", name),
    c(
      sprintf("Found: all %.0f rows are %s.", n, quoted(found)),
      "Accepted: rows of two classes."
    ),
    column = name, found = found, expected = 2L, call = call
  )
}

check_class_codes <- function(numbers, name, call) {
  codes <- sort(numbers)
  coded <- identical(codes, c(0, 1)) || identical(codes, c(-1, 1))
  if (!coded) {
    bk_abort(
      "response",
      fit_header("Response `%s` has numbers that are not class codes.", name),
      c(
        sprintf("Found: %s.", paste(format_each(codes), collapse = " and ")),
        response_accepted
      ),
      column = name, found = codes, expected = list(c(0, 1), c(-1, 1)),
      call = call
    )
  }
}
