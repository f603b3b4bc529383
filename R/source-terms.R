# A formula for rows in a source: columns of the source and gp() terms of them.
# Kernels and inducing points come from a sample of the rows, evenly spread; the
# columns of the processes are computed by the core, tile by tile.

# What a formula reads of a source: the formula's parts; `columns`, the first
# `plain` of them fixed terms, the others variables of processes alone.
source_layout <- function(formula, source, call) {
  check_source(source)
  if (is.null(source$response)) abort_no_response(call)
  if (!inherits(formula, "formula")) {
    abort_argument(
      formula, "formula", "a formula, such as ~ gp(x1, x2) + z", call = call
    )
  }
  if (length(formula) == 3L && !identical(
    all.vars(formula[[2L]]), source$response
  )) {
    bk_abort(
      "response", "The formula and the row source name different responses.",
      c(
        sprintf("Formula: %s.", deparse1(formula[[2L]])),
        sprintf("Row source: %s.", source$response)
      ),
      column = source$response, found = deparse1(formula[[2L]]), call = call
    )
  }
  env <- environment(formula)
  formula <- as.call(list(
    as.name("~"), as.name(source$response), formula[[length(formula)]]
  ))
  formula <- stats::as.formula(formula, env %||% globalenv())
  names <- c(source$columns, source$response)
  none <- list2DF(stats::setNames(rep(list(numeric()), length(names)), names))
  parsed <- parse_formula(formula, none, call)
  refuse_source_terms(parsed, call)
  fixed <- as.character(as.list(attr(parsed$terms, "variables"))[-(1:2)])
  of_terms <- as.character(unlist(lapply(parsed$smooths, `[[`, "variables")))
  columns <- unique(c(fixed, of_terms))
  absent <- setdiff(columns, source$columns)
  if (length(absent)) {
    bk_abort(
      "argument",
      fit_header("The row source has no predictor `%s`.", absent[1]),
      c(
        if (length(absent) > 1L) paste("Absent:", list_some(absent)),
        paste("Accepted:", list_some(source$columns))
      ),
      column = absent, found = source$columns, call = call
    )
  }
  list(parsed = parsed, columns = columns, plain = length(fixed))
}

refuse_source_terms <- function(parsed, call) {
  plain <- function(variables) all(vapply(variables, is.name, NA))
  of_process <- vapply(parsed$smooths, is_process, NA)
  variables <- as.list(attr(parsed$terms, "variables"))[-(1:2)]
  labels <- attr(parsed$terms, "term.labels")
  found <- c(
    if (length(parsed$bars)) "random terms",
    vapply(parsed$smooths[!of_process], `[[`, "", "text"),
    vapply(Filter(function(term) {
      !plain(term$variables)
    }, parsed$smooths[of_process]), `[[`, "", "text"),
    labels[attr(parsed$terms, "order") > 1L],
    vapply(Filter(Negate(is.name), variables), deparse1, "")
  )
  if (length(found)) {
    bk_abort(
      "argument", "The formula has terms that a row source does not take.",
      c(
        sprintf("Found: %s.", list_some(unique(found))),
        paste(
          "Accepted: numeric columns of the source and gp() terms of such",
          "columns, with an intercept or without."
        ),
        paste(
          "Let the query or file have computed columns; give rows with random",
          "terms, smooths and factors as a data frame."
        )
      ),
      column = "formula", found = found, call = call
    )
  }
}

# The rows of a source for the linear model with this layout, `file` by
# spool_rows(): `sample` has those from which kernels are learned.
source_term_rows <- function(source, layout, file, settings, call) {
  parsed <- layout$parsed
  at <- spread_over(file$rows, most_learning_rows)
  spooled <- read_spooled(file, at)
  y <- if (file$positive < 0L) {
    spooled[, file$columns + 1L]
  } else {
    2 * (spooled[, file$columns + 1L] == file$positive) - 1
  }
  spooled <- spooled[, -(file$columns + 1L), drop = FALSE]
  colnames(spooled) <- layout$columns
  # The numbers of fixed columns are put in after: one may vary elsewhere.
  frame <- list2DF(stats::setNames(
    c(lapply(seq_len(ncol(spooled)), function(k) spooled[, k]), list(y)),
    c(layout$columns, source$response)
  ))
  fixed <- layout$columns[seq_len(layout$plain)]
  of_terms <- as.character(unlist(lapply(parsed$smooths, `[[`, "variables")))
  frame[setdiff(fixed, of_terms)] <- list(seq_len(nrow(frame)))
  parsed$smooths <- lapply(parsed$smooths, function(term) {
    term$process$n <- file$rows
    term
  })
  built <- build_frame(parsed, frame, NULL, NULL, NULL, call)
  design <- keep_source_columns(whole_design(design_columns(
    parsed, built$frame, design_info_formula(parsed, built, frame, NULL), NULL,
    FALSE, settings$standardize, FALSE, NULL, call
  )), file$source + attr(parsed$terms, "intercept"))
  info <- design$info
  p <- length(info$columns)
  own <- seq_along(file$source)
  center <- numeric(p)
  scale <- rep(1, p)
  center[own] <- file$center
  scale[own] <- file$scale
  x <- design$x
  x[, own[file$source > 0L]] <- spooled[, file$source, drop = FALSE]
  terms <- processes_of(info$smooths)
  list(
    x = matrix(0, 0L, p, dimnames = list(NULL, info$columns)),
    center = stats::setNames(center, info$columns),
    scale = stats::setNames(scale, info$columns),
    random = list(), smooths = design$smooths, info = info,
    formula = with_environment(parsed$formula, info$env),
    terms = with_environment(parsed$terms, info$env),
    term_labels = attr(info$terms, "term.labels"),
    sample = list(x = x, y = y, processes = design$processes),
    data = c(
      list(type = "file"), file[c("path", "rows", "columns", "positive")],
      stream_columns(file, terms, layout$columns)
    )
  )
}

# Without columns that the whole of the source leaves without use: `kept` of the
# first, those of processes.
keep_source_columns <- function(design, kept) {
  others <- ncol(design$x) - sum(lengths(lapply(design$info$smooths, `[[`, "at")))
  keep <- c(kept, others + seq_len(ncol(design$x) - others))
  design$x <- design$x[, keep, drop = FALSE]
  place <- function(smooth) {
    if (!is.null(smooth$at)) smooth$at <- match(smooth$at, keep)
    smooth$blocks <- lapply(smooth$blocks, match, keep)
    smooth
  }
  design$smooths <- lapply(design$smooths, place)
  design$info$smooths <- lapply(design$info$smooths, place)
  design$info$keep <- design$info$keep[keep]
  design$info$columns <- colnames(design$x)
  design
}

# Which values of the file are columns that the core reads: the fixed ones,
# then the variables of each process on its own scale, a multiple last.
stream_columns <- function(file, terms, columns) {
  variables <- lapply(terms, function(term) match(term$names, columns))
  count <- length(unlist(variables))
  list(
    source = c(file$source, unlist(variables)),
    center = c(file$center, unlist(lapply(terms, function(term) {
      term$process$center
    }))),
    scale = c(file$scale, unlist(lapply(terms, function(term) {
      term$process$scale
    }))),
    plain = length(file$source), variables_count = count
  )
}

# For the core, which computes their columns; variables lie one after another,
# a multiple after those of its term.
streamed_processes <- function(terms, before) {
  lapply(unname(terms), function(term) {
    process <- term$process
    d <- ncol(process$z)
    has_by <- process$number || !is.null(term$level)
    columns <- before + seq_len(d)
    before <<- before + d + has_by
    list(
      kernel = kernel_to_core(process$kernel, d), z = process$z,
      columns = columns, by = if (has_by) before else 0L,
      first = min(term$at) - 1L, centred = process$centred
    )
  })
}

# Kernels that are open, from the sample; then what the core reads.
add_streamed_processes <- function(job) {
  sample <- job$design$sample
  n <- length(sample$y)
  learning <- job
  learning$data <- list(
    x = sample$x, y = sample$y, center = as.double(job$design$center),
    scale = as.double(job$design$scale), weights = rep(1, n),
    offset = numeric(n), z = matrix(0, n, 0L), group = integer(),
    n_groups = 0L, kept = list()
  )
  rows <- learn_processes(
    learning, c(sample["processes"], list(info = job$design$info))
  )
  job$design$info <- rows$info
  job$data$processes <- streamed_processes(
    processes_of(rows$info$smooths), job$data$plain
  )
  job$shared$data <- job$data
  job
}

# What the core found of the rows: centres, and what inducing points leave.
with_centres <- function(info, found) {
  at <- which(vapply(info$smooths, is_process, NA))
  for (k in seq_along(found)) {
    info$smooths[[at[k]]]$process[c("centre", "left")] <- found[[k]]
  }
  info
}

# Rows `at` of the file, the response in the last column.
read_spooled <- function(file, at) {
  width <- file$columns + 1L
  connection <- file(file$path, "rb")
  on.exit(close(connection))
  t(vapply(at, function(row) {
    seek(connection, (row - 1) * width * 8)
    readBin(connection, "double", width)
  }, numeric(width)))
}
