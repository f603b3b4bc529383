# Objects by their names: rows of kernel matrices and of feature spaces against each other, columns
# of kernel values of new rows against the rows of the fit. Where one of two has no names they go by
# position.

# The names of the objects in the rows of `x`, or NULL. Of a kernel matrix numbers are names, too,
# for its columns have the same; elsewhere they tell where rows were.
object_names <- function(x, kernel = FALSE) {
  names <- if (is.null(dim(x))) {
    names(x)
  } else if (kernel) {
    rows <- usable_names(rownames(x))
    columns <- usable_names(colnames(x))
    numbered <- is.null(rows) || are_automatic(rows)
    if (numbered && !is.null(columns) && !are_automatic(columns)) columns else rows %||% columns
  } else {
    given_names(x)
  }
  usable_names(names)
}

usable_names <- function(names) {
  if (is.null(names) || anyNA(names) || any(names == "") || anyDuplicated(names)) return(NULL)
  as.character(names)
}

# Names that R and the readers of files give: 1, 2, ..., or V1, V2, ....
are_automatic <- function(names) {
  any(vapply(c("", "V", "X", "k"), function(prefix) {
    identical(names, paste0(prefix, seq_along(names)))
  }, NA))
}

# Objects in the order of others.
# names, others: names of the same number of objects, `others` those whose order counts; `NULL` if
#   unknown.
# what, against: what they are of, for the error.
# Returns positions in `names`, or `NULL`: as they are. An error where both are names and not of the
#   same objects.
match_objects <- function(names, others, what, against) {
  if (is.null(names) || is.null(others) || identical(names, others)) return(NULL)
  at <- match(others, names)
  if (length(names) == length(others) && !anyNA(at)) return(at)
  told <- function(x) !are_automatic(x) && anyNA(suppressWarnings(as.numeric(x)))
  if (!told(names) || !told(others)) return(NULL)
  lost <- if (anyNA(at)) others[is.na(at)] else setdiff(names, others)
  bk_abort(
    "dimension", "The names of rows are not those of the same objects.",
    sprintf("Found: %s and %s differ, as in %s.", what, against, list_some(quoted(lost))),
    "Accepted: the same names, in any order, or none.",
    column = what, found = names, expected = others
  )
}

take_objects <- function(x, at, kernel = FALSE) {
  if (is.null(at)) {
    x
  } else if (kernel) {
    x[at, at, drop = FALSE]
  } else if (is.null(dim(x))) {
    x[at]
  } else {
    x[at, , drop = FALSE]
  }
}

# A kernel matrix whose columns are in the order of its rows.
square_by_name <- function(k, what = "x") {
  if (length(dim(k)) != 2L || nrow(k) != ncol(k)) return(k)
  at <- match_objects(
    usable_names(colnames(k)), usable_names(rownames(k)),
    sprintf("columns of `%s`", what), "its rows"
  )
  if (is.null(at)) k else k[, at, drop = FALSE]
}

# Columns of new kernel values in the order of the fit.
# x: matrix, new rows x objects of the fit.
# objects: their names, or `NULL`.
# n: number of the objects.
# Returns positions of the columns, or `NULL`: as they are. An error where the matrix is turned, or
#   has other objects.
match_training <- function(x, objects, n, name = "newdata") {
  columns <- colnames(x)
  rows <- usable_names(rownames(x))
  if (!is.null(columns) && !is.null(objects)) {
    at <- match(objects, columns)
    if (!anyNA(at) && !anyDuplicated(columns[columns %in% objects])) return(at)
  }
  own <- usable_names(columns)
  turned <- if (is.null(objects)) {
    FALSE
  } else if (setequal(rows, objects)) {
    # Of nameless columns a symmetric matrix may be of the rows of the fit.
    if (is.null(own)) ncol(x) != nrow(x) || !isSymmetric(unname(x)) else !are_automatic(own)
  } else {
    FALSE
  }
  if (turned || (nrow(x) == n && !(ncol(x) %in% c(n, n + 1L)))) {
    bk_abort(
      "dimension", sprintf("`%s` is not rows by training rows: transposed?", name),
      sprintf(
        "Found: %d rows%s, %d columns.", nrow(x),
        if (turned) ", named as the training rows" else "", ncol(x)
      ),
      sprintf("Accepted: a row for each new row, a column for each of %d.", n),
      column = name, found = dim(x), expected = n
    )
  }
  strange <- !is.null(own) && !is.null(objects) && !are_automatic(own) &&
    !are_automatic(objects) && length(own) >= n
  if (strange) {
    bk_abort(
      "dimension", sprintf("The columns of `%s` are not the training rows.", name),
      sprintf("Found: no column for %s.", list_some(quoted(setdiff(objects, own)))),
      "Accepted: a column for each training row, by name, or without names.",
      column = name, found = own, expected = objects
    )
  }
  NULL
}
