# Errors that several readers of the user's input share.

missing_in_data <- "Omit such rows with `na.action = na.omit`, or impute them."
missing_in_source <- paste(
  "Rows of a source are not completed:", "leave such rows out of the query or file, or impute them."
)

# `count` is named by column; `first` is the first row of each.
abort_missing <- function(count, first, rows = NULL,
                          what = if (length(count) > 1L) "Variables" else "Variable",
                          values = "missing", cure = missing_in_data) {
  first <- original_rows(as.integer(first), rows)
  shown <- seq_len(min(length(count), 5L))
  columns <- names(count)
  header <- if (length(count) == 1L) {
    fit_header(paste(what, "`%s` has", values, "values."), columns)
  } else {
    sprintf("%d variables have %s values.", length(count), values)
  }
  bk_abort(
    "missing", header, sprintf("`%s`: %d of them, first in row %d.", columns, count, first)[shown],
    if (length(count) > 5L) sprintf("... and %d more.", length(count) - 5L),
    if (values == "missing") {
      paste("Accepted: finite values.", cure)
    } else {
      "Accepted: finite values. Change these, or leave such rows out."
    },
    column = columns, row = first, found = unname(count)
  )
}

value_problem <- function(missing, infinite) {
  paste(c("missing", "infinite")[c(missing, infinite)], collapse = " or ")
}

abort_length <- function(name, found, expected) {
  bk_abort(
    "dimension", fit_header("`%s` has the wrong length.", name),
    sprintf("Found: %d values for %d rows.", found, expected),
    sprintf("Accepted: %d values, one for each row of the data.", expected),
    column = name, found = found, expected = expected
  )
}

# A column of new rows.
refuse_no_numbers <- function(column, name) {
  expected <- "numbers, as in the training data"
  bk_abort(
    "argument", fit_header("Column `%s` of `newdata` is not of numbers.", name),
    paste("Found:", describe_value(column)), sprintf("Accepted: %s.", expected),
    if (is.character(column)) sprintf("Text that shows numbers: as.numeric(%s).", name),
    column = name, found = column, expected = expected
  )
}

abort_too_few_rows <- function(n) {
  bk_abort(
    "dimension", if (n == 0L) "The data have no rows." else "The data have one row only.",
    "Accepted: at least two rows, and of classes one of each.", column = "data", row = n, found = n,
    expected = 2L
  )
}

# A long name is cut so that the first line stays below 80 characters.
fit_header <- function(format, name) {
  name <- readable(name)
  room <- 79L - nchar(format) + 2L
  if (nchar(name) > room) name <- paste0(substr(name, 1L, room - 3L), "...")
  sprintf(format, name)
}

list_some <- function(x, most = 8L, total = length(x)) {
  x <- readable(x)
  text <- paste(utils::head(x, most), collapse = ", ")
  if (total > min(most, length(x))) text <- sprintf("%s, ... (%d in all)", text, total)
  text
}

original_rows <- function(at, rows) {
  if (is.null(at)) rows else if (is.null(rows)) at else rows[at]
}
