# A formula for rows in a source: columns of the source, gp() terms of them and effects of one
# grouping factor. Kernels and inducing points come from a sample of the rows, evenly spread; the
# columns of the processes are computed by the core, tile by tile. The file that the core reads has
# the rows of a group one after another, and is sorted where they did not come so.

# What a formula reads of a source: the formula's parts; `columns`, the first `plain` of them fixed
# terms, the others variables of processes and of random slopes alone; `group`, the column that
# names groups.
source_layout <- function(formula, source) {
  check_source(source)
  if (is.null(source$response)) abort_no_response()
  if (!inherits(formula, "formula")) {
    abort_argument(formula, "formula", "a formula, such as ~ gp(x1, x2) + z")
  }
  if (length(formula) == 3L && !identical(all.vars(formula[[2L]]), source$response)) {
    bk_abort(
      "response", "The formula and the row source name different responses.",
      sprintf("Formula: %s.", deparse1(formula[[2L]])), sprintf("Row source: %s.", source$response),
      column = source$response, found = deparse1(formula[[2L]])
    )
  }
  env <- environment(formula)
  formula <- as.call(list(as.name("~"), as.name(source$response), formula[[length(formula)]]))
  formula <- stats::as.formula(formula, env %||% globalenv())
  names <- c(source$columns, source$response)
  none <- list2DF(stats::setNames(rep(list(numeric()), length(names)), names))
  parsed <- parse_formula(formula, none)
  refuse_source_terms(parsed)
  fixed <- variable_names(parsed$terms)[-1L]
  of_terms <- vapply(unlist(lapply(parsed$smooths, `[[`, "variables")), deparse1, "")
  bar <- if (length(parsed$bars)) parsed$bars[[1L]]
  slopes <- variable_names(bar$terms)
  columns <- unique(c(fixed, of_terms, slopes))
  if (length(columns) == 0L) abort_no_columns()
  group <- bar$label
  absent <- setdiff(c(columns, group), source$columns)
  if (length(absent)) {
    bk_abort(
      "argument", fit_header("The row source has no predictor `%s`.", absent[1]),
      if (length(absent) > 1L) paste("Absent:", list_some(absent)),
      paste("Accepted:", list_some(source$columns)), column = absent, found = source$columns
    )
  }
  list(parsed = parsed, columns = columns, plain = length(fixed), group = group)
}

refuse_source_terms <- function(parsed) {
  plain <- function(variables) all(vapply(variables, is.name, NA))
  of_process <- vapply(parsed$smooths, is_process, NA)
  variables <- as.list(attr(parsed$terms, "variables"))[-(1:2)]
  labels <- attr(parsed$terms, "term.labels")
  plain_bar <- function(bar) {
    length(bar$leaves) == 1L && is.name(bar$leaves[[1L]]) &&
      plain(as.list(attr(bar$terms, "variables"))[-1L]) &&
      all(attr(bar$terms, "order") == 1L)
  }
  bars <- parsed$bars
  found <- c(
    if (length(bars) > 1L) sprintf("%d random terms", length(bars)),
    sprintf("(%s)", vapply(Filter(Negate(plain_bar), bars), `[[`, "", "text")),
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
      sprintf("Found: %s.", list_some(unique(found))),
      paste(
        "Accepted: numeric columns of the source, gp() terms of such columns",
        "and one random term, such as (1 | id) or (x | id), of a column."
      ),
      paste(
        "Let the query or file have computed columns; give rows with other",
        "random terms, smooths and factors as a data frame."
      ),
      column = "formula", found = found
    )
  }
}

# The rows of a source for the linear model with this layout, `file` by spool_rows(): `sample` has
# those from which kernels are learned.
source_term_rows <- function(source, layout, file, settings) {
  parsed <- layout$parsed
  at <- spread_over(file$rows, most_learning_rows)
  absent <- !is.null(file$shares)
  if (absent && length(parsed$smooths)) refuse_absent_processes(parsed)
  spooled <- if (absent && !identical(settings$family, "hinge")) {
    stand_in_rows(file, length(at))
  } else {
    read_spooled(file, at)
  }
  y <- if (file$positive < 0L) {
    spooled[, file$columns + 1L]
  } else {
    2 * (spooled[, file$columns + 1L] == file$positive) - 1
  }
  spooled <- spooled[, -(file$columns + 1L), drop = FALSE]
  colnames(spooled) <- layout$columns
  levels <- file$group_levels
  group <- groups_at(file, at)
  # The numbers of fixed columns are put in after: one may vary elsewhere.
  frame <- list2DF(stats::setNames(
    c(lapply(seq_len(ncol(spooled)), function(k) spooled[, k]), list(y)),
    c(layout$columns, source$response)
  ))
  fixed <- layout$columns[seq_len(layout$plain)]
  of_terms <- as.character(unlist(lapply(parsed$smooths, `[[`, "variables")))
  frame[setdiff(fixed, of_terms)] <- list(seq_len(nrow(frame)))
  if (!is.null(layout$group) && !(layout$group %in% fixed)) frame[[layout$group]] <- levels[group]
  parsed$smooths <- lapply(parsed$smooths, function(term) {
    term$process$n <- file$rows
    term
  })
  built <- build_frame(parsed, frame, NULL, NULL, NULL)
  alone <- parsed
  alone$bars <- list()
  design <- keep_source_columns(whole_design(design_columns(
    alone, built$frame, design_info_formula(parsed, built, frame, NULL), NULL,
    FALSE, settings$standardize, FALSE, NULL
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
  random <- if (length(levels)) {
    list(source_random(parsed$bars[[1L]], layout, file, settings, info))
  } else {
    list()
  }
  info$random <- lapply(random, `[[`, "info")
  if (!absent) sort_groups(file)
  list(
    x = matrix(0, 0L, p, dimnames = list(NULL, info$columns)),
    center = stats::setNames(center, info$columns), scale = stats::setNames(scale, info$columns),
    random = lapply(random, function(term) term[names(term) != "info"]), smooths = design$smooths,
    info = info, formula = `environment<-`(parsed$formula, info$env),
    terms = `environment<-`(parsed$terms, info$env), term_labels = attr(info$terms, "term.labels"),
    sample = list(
      x = x, y = y, processes = design$processes,
      random = lapply(random, sample_random, spooled, layout$columns, group)
    ),
    data = c(
      list(type = "file"), file[stored_rows(file)],
      stream_columns(file, terms, layout$columns),
      if (length(levels)) group_columns(random[[1L]], file, layout$columns)
    )
  )
}

# The random term as design_columns() has it, without rows: centre and scale are those of all rows.
source_random <- function(bar, layout, file, settings, info) {
  columns <- c(
    if (attr(bar$terms, "intercept") == 1L) "(Intercept)", attr(bar$terms, "term.labels")
  )
  r <- length(columns)
  if (r == 0L) abort_no_effect(bar)
  check_group_room(length(file$group_levels), r, length(info$columns), layout$group)
  at <- match(columns, layout$columns)
  usable <- !is.na(at) & !constant_columns(file$moments)[at] & settings$standardize
  center <- numeric(r)
  scale <- rep(1, r)
  if ("(Intercept)" %in% columns) center[usable] <- file$moments$mean[at[usable]]
  scale[usable] <- file$moments$sd[at[usable]]
  list(
    label = bar$label, columns = columns, group = integer(),
    levels = file$group_levels, z = matrix(0, 0L, r), center = center,
    scale = scale, type = if (r == 1L) "iid" else "unstructured",
    info = list(
      label = bar$label, columns = columns, terms = `environment<-`(bar$terms, info$env),
      contrasts = NULL, leaves = layout$group,
      leaf_levels = stats::setNames(list(file$group_levels), layout$group), codes = NULL
    )
  )
}

# Rows of the sample, on the scale of the data.
sample_random <- function(term, spooled, columns, group) {
  at <- match(term$columns, columns)
  z <- matrix(1, nrow(spooled), length(at))
  z[, !is.na(at)] <- spooled[, at[!is.na(at)]]
  list(z = z, group = group)
}

# For the core: how many rows each group has, and the columns of its effects.
group_columns <- function(term, file, columns) {
  list(
    group_sizes = file$group_sizes %||% tabulate(file$group, length(term$levels)),
    z_source = match(term$columns, columns, nomatch = 0L),
    z_center = term$center, z_scale = term$scale
  )
}

# The file with the rows of a group one after another.
sort_groups <- function(file) {
  if (is.null(file$group) || !is.unsorted(file$group)) return(invisible())
  sorted <- tempfile("bayeskernel-rows-")
  on.exit(unlink(sorted))
  core_call(sort_rows_cpp(file$path, sorted, file$columns, file$group, length(file$group_levels)))
  if (!file.rename(sorted, file$path)) {
    stop("the sorted rows cannot take the place of the others") # nocov
  }
}

# Numbers that tie the effects of groups to the columns, of which there are some 40 copies at most,
# those that R makes of the answer among them.
check_group_room <- function(groups, effects, columns, name) {
  most <- getOption("bayeskernel.group_numbers", 4e7)
  if (as.double(groups) * effects * columns <= most) return(invisible())
  bk_abort(
    "dimension", "The groups are too many for so many columns.",
    sprintf(
      "Found: %d groups of %d effects and %d columns: %.3g numbers.",
      groups, effects, columns, as.double(groups) * effects * columns
    ),
    sprintf("Accepted: %.3g, by options(bayeskernel.group_numbers = ).", most),
    paste(
      "Memory is some 300 bytes a number. Fewer inducing points need less,", "in gp(inducing = )."
    ),
    column = name, found = as.double(groups) * effects * columns, expected = most
  )
}

# Without columns that the whole of the source leaves without use: `kept` of the first, those of
# processes.
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

# Which values of the file are columns that the core reads: the fixed ones, then the variables of
# each process on its own scale, a multiple last.
stream_columns <- function(file, terms, columns) {
  variables <- lapply(terms, function(term) match(term$names, columns))
  count <- length(unlist(variables))
  list(
    source = c(file$source, unlist(variables)),
    center = c(file$center, unlist(lapply(terms, function(term) term$process$center))),
    scale = c(file$scale, unlist(lapply(terms, function(term) term$process$scale))),
    plain = length(file$source), variables_count = count
  )
}

# Kernels that are open, from the sample; then what the core reads.
add_streamed_processes <- function(job) {
  sample <- job$design$sample
  n <- length(sample$y)
  learning <- job
  learning$data <- list(
    x = sample$x, y = sample$y, center = as.double(job$design$center),
    scale = as.double(job$design$scale), weights = rep(1, n), offset = numeric(n),
    z = matrix(0, n, 0L), group = integer(), n_groups = 0L, kept = list()
  )
  if (length(sample$random)) {
    term <- job$design$random[[1L]]
    term$z <- sample$random[[1L]]$z
    present <- sort(unique(sample$random[[1L]]$group))
    learning$data$z <- scaled_term(term)
    learning$data$group <- match(sample$random[[1L]]$group, present)
    learning$data$n_groups <- length(present)
  }
  rows <- learn_processes(learning, c(sample["processes"], list(info = job$design$info)))
  job$design$info <- rows$info
  job$data$processes <- streamed_processes(processes_of(rows$info$smooths), job$data$plain)
  if (job$settings$family == "hinge") job$control$variances <- "vb"
  job$shared$data <- job$data
  job
}

# What the core found of the rows: centres, and what inducing points leave.
with_centres <- function(info, found) {
  at <- which(vapply(info$smooths, is_process, NA))
  for (k in seq_along(found)) info$smooths[[at[k]]]$process[c("centre", "left")] <- found[[k]]
  info
}

# Rows `at` of the file, the response in the last column.
read_spooled <- function(file, at) {
  if (!is.null(file$shares)) return(read_parts(file, at))
  width <- file$columns + 1L
  connection <- file(file$path, "rb")
  on.exit(close(connection))
  t(vapply(at, function(row) {
    seek(connection, (row - 1) * width * 8)
    readBin(connection, "double", width)
  }, numeric(width)))
}
