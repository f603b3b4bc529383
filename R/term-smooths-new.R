# Columns of smooths for new rows and over a grid, from what a design stored.

# Columns of a smooth for new rows, NA where one of its variables is missing.
smooth_new <- function(smooth, frame, holes = NULL) {
  x <- smooth_kind(smooth)$columns(smooth, frame, holes)
  colnames(x) <- smooth$columns
  x
}

smooth_at <- function(smooth, data, n) smooth_kind(smooth)$at(smooth, data, n)

# The place of the features, which need all rows.
process_place <- function(smooth, frame, holes) {
  own <- process_new(smooth, frame)
  known <- !(smooth$names[seq_len(ncol(own$x))] %in% holes)
  gone <- is.na(rowSums(own$x[, known, drop = FALSE])) | is.na(own$inside %||% 0)
  matrix(ifelse(gone, NA_real_, 0), nrow(own$x), length(smooth$block))
}

process_at <- function(smooth, data, n) {
  numbers <- seq_len(smooth$dim + smooth$process$number)
  x <- matrix(unlist(data[numbers], use.names = FALSE), n)
  inside <- if (!is.null(smooth$level)) rep(1, n)
  process_columns(smooth$process, x, inside)$x
}

curve_new <- function(smooth, frame, ...) {
  columns <- Map(new_smooth_variable, unclass(frame)[smooth$names], smooth$names, smooth$levels)
  n <- .row_names_info(frame, 2L)
  x <- matrix(NA_real_, n, length(smooth$block))
  missing <- unique(unlist(lapply(columns, missing_rows)))
  rows <- setdiff(seq_len(n), missing)
  if (length(rows) > 0L) {
    x[rows, ] <- smooth_at(smooth, lapply(columns, values_at, rows), length(rows))
  }
  x
}

# A basis without a null space does not take one row alone (mgcv drops the dimension): it is asked
# for twice.
curve_at <- function(smooth, data, n) {
  own <- basis_at(smooth, data, n)
  if (is.null(smooth$more)) return(own)
  cbind(own, interval_columns(smooth, data[[1L]]) * curve_multiple(smooth, data))
}

basis_at <- function(smooth, data, n) {
  names(data) <- smooth$keys
  if (n == 1L) {
    twice <- lapply(data, function(v) {
      if (is.matrix(v)) v[c(1L, 1L), , drop = FALSE] else v[c(1L, 1L)]
    })
    x <- mgcv::PredictMat(smooth$basis, twice, n = 2L)
    return(smooth_coordinates(x[1L, , drop = FALSE], smooth))
  }
  smooth_coordinates(mgcv::PredictMat(smooth$basis, data, n = n), smooth)
}

new_smooth_variable <- function(column, name, levels) {
  if (!is.null(levels)) return(code_new_factor(column, levels, name))
  if (is.factor(column) || is.character(column)) {
    refuse_no_numbers(column, name)
  }
  column <- if (is.matrix(column)) column + 0 else as.double(column)
  values <- cbind(c(column))
  check_columns(column_moments_cpp(values), values, name, NULL, missing_allowed = TRUE)
  column
}

# Columns of a smooth over a grid of its variables.
# info: for the design.
# k: which smooth.
# n: values of each of one or two numeric variables; with more of them fewer, so that there are
#   never more than n^2 rows for a combination of factor levels.
# Returns a list: `data`, a data frame with a column for each variable, where `by` is its level or
#   1; `columns` of the smooth, data scale; `at`, their positions in the design: its `fixed`, then
#   its `blocks`.
smooth_grid <- function(info, k, n = 100L, ends = list()) {
  smooth <- info$smooths[[k]]
  numeric <- vapply(smooth$levels, is.null, NA) & seq_along(smooth$keys) <= smooth$dim
  each <- if (sum(numeric) > 2L) floor(n^(2 / sum(numeric))) else n
  values <- lapply(seq_along(smooth$keys), function(v) {
    levels <- smooth$levels[[v]]
    if (numeric[v]) {
      range <- ends[[smooth$names[v]]] %||% smooth$ranges[[v]]
      seq(range[1], range[2], length.out = each)
    } else if (v > smooth$dim) {
      if (is.null(levels)) 1 else factor(smooth$level, levels)
    } else {
      factor(levels, levels)
    }
  })
  data <- expand.grid(values, KEEP.OUT.ATTRS = FALSE)
  names(data) <- smooth$names
  columns <- smooth_at(smooth, as.list(data), nrow(data))
  kept <- !is.na(smooth$at)
  colnames(columns) <- smooth$columns
  list(data = data, columns = columns[, kept, drop = FALSE], at = smooth$at[kept])
}

# The rows of the level, or the number, that the curve is of.
curve_multiple <- function(smooth, data) {
  if (length(smooth$keys) < 2L) return(1)
  by <- data[[2L]]
  if (is.null(smooth$level)) as.double(by) else as.double(by == smooth$level)
}

# Of the intervals the double integral of 1 within, times the root of its variance: white noise of
# intensity u has variance u / width there.
interval_columns <- function(smooth, x) {
  more <- smooth$more
  out <- matrix(0, length(x), length(more$from))
  for (j in seq_along(more$from)) {
    side <- sign(more$to[j] - more$from[j])
    past <- function(at) pmax(side * (x - at), 0)^2 / 2
    width <- abs(more$to[j] - more$from[j])
    out[, j] <- (past(more$from[j]) - past(more$to[j])) * sqrt(more$unit / width)
  }
  out
}
