#' Row sources: data larger than memory, read block by block
#'
#' A row source stands for a data set that need not fit in memory. It may be a database query, files
#' on disk, a matrix, or rows that the workers of a cluster keep. Fitting functions such as [bsvm()]
#' take one instead of a matrix, and [predict()][predict.bayeskernel_fit] instead of new data. Rows
#' are read in blocks, never all at once.
#'
#' @param x A connection of package DBI, the names of files, a numeric matrix or data frame, or a
#'   cluster (see below). Several files are read one after another. They have comma-separated
#'   values, the first line names the columns, and they may be compressed. For Parquet and large
#'   text a connection of package duckdb is faster, with the query `"select * from 'rows.parquet'"`.
#' @param query For a connection: one statement that reads, as text: `SELECT`,
#'   `WITH`, `VALUES` or `TABLE`. Others are not sent.
#' @param y The response: the name of a column; for a matrix or data frame also a vector of labels.
#'   Every other column is a predictor. `NULL`, the default: the formula names the response, as in
#'   `gpsvm(y ~ a + b, row_source(file))`, or the source serves for prediction alone.
#' @param open For a cluster: a function of `part` and `parts`. Worker `part` of `parts` calls it
#'   once; it returns a row source of the worker's own rows.
#' @param sep For text files: the character between values, one of ASCII.
#' @param ... No further arguments.
#'
#' @return An object of class `row_source`: a list that says where the rows are.
#'   Nothing is read but the names of the columns. `print()` shows them.
#'
#' @section Columns: Predictors are numbers or logical values; code text and factors as numbers in
#'   the query. A column that names groups, of a random term in a formula of [bkm()], may be text.
#'   The response may be logical, 0/1, -1/+1, a factor, or text with two values. The positive class
#'   is the second one; texts are in alphabetical order by code point, the same in every locale. In
#'   a text file an empty cell is a missing number, but a text of its own for classes and groups.
#' @section How the rows are read: A fit reads the source once and checks every value. It keeps the
#'   rows in a temporary file of 8 bytes a value, from which all further passes read. The file is in
#'   [tempdir()], which the environment variable `TMPDIR` decides. So a query need not return its
#'   rows in the same order twice. With a random term the file is sorted by group. It is removed
#'   when the fit ends.
#'
#'   The columns of a query are those of `select * from (query)`. Postgres,
#'   MariaDB and MySQL read it in a transaction that only reads, unless you are
#'   in a transaction of your own. With a connection made with `bigint = "integer"` the
#'   database first counts numbers beyond 2147483647, which are an error.
#'
#'   Only one block of a query is in memory at a time, as far as the driver goes along: RSQLite
#'   does, by [DBI::dbFetch()]. Drivers adbi, and duckdb since 1.5.0, have Arrow chunks; package
#'   nanoarrow is needed to read them. Without nanoarrow duckdb puts the whole result in memory.
#' @section Rows that never meet: `row_source(cluster, open, y)` stands for rows that no one
#'   computer has. Each worker opens a source of its own, such as one partition of a table or the
#'   files of one folder. It keeps its rows in its own temporary file. The cluster is one of package
#'   parallel or snow, or a list of mirai clusters of one daemon each. All workers have bayeskernel
#'   installed. `y` may be left to the workers' sources. All parts
#'   have the same columns, and a group of a random term is in one part.
#'
#'   [bkm()], [bsvm()] and [gpsvm()] fit such rows with `method = "ep"`, `"vb"` and `"svi"`. A
#'   [bkm()] with a random term takes `"ep"` and `"vb"`. The default is that of one source, except
#'   that `gpsvm()` takes `"vb"` for large data. At each pass every worker sends sums over its rows,
#'   and the session adds these in the order of the parts. It is sent the moments of each 65,536
#'   rows once. Then it is sent the sums of at most 16 shares of its rows by each worker and pass,
#'   whatever the number of rows. A minibatch of `"svi"` is of one part, in an order that the seed
#'   decides: its worker sends the sums while the others wait.
#'
#'   The fit is that of all rows in one source. It has the same bits if every part begins where one
#'   of the (up to 16) shares of all rows does, and else is equal to rounding. Up to 1,048,576 rows
#'   shares are runs of 65,536 rows, with less than 65 columns. With groups whose names are not in
#'   the order of the parts, and with `"ep"` of numbers or of the hinge, it is equal to rounding.
#'   A tuned kernel is equal to the tolerance of its search. Other parts have other minibatches.
#'
#'   Rows come to the session only as a sample of 20,000, or of 20 for each inducing point.
#'   `gpsvm()` uses it for points, tuning and link, and the hinge for its link. The messages of
#'   `"ep"` stay with the workers. At the end `gpsvm()` gets the leave-one-out `loo` of each row.
#'   [predict()][predict.bayeskernel_fit] lets each worker predict its rows and returns one vector
#'   of all, in the order of the parts. [extend()] takes further parts. Refused are `"gibbs"`,
#'   [gp()] terms, `"svi"` with a random term, learning rates other than 1, exact processes and
#'   predictions that are made of draws.
#'
#'   If a worker dies, the fit stops with `bayeskernel_error_cluster`, and the session goes on; make
#'   a new cluster. An error of a worker's rows says in which part they are.
#' @section Errors: All inherit from `bayeskernel_error`:
#'   * `_argument`: a connection or file cannot be read, or not to its end; a column is not numeric;
#'   * `_response`;
#'   * `_missing`, with the row;
#'   * `_dimension`: a source without rows; columns that differ between files or have changed.
#'
#' @seealso [bayeskernel-large]; `vignette("large-data")`.
#' @examples
#' set.seed(1)
#' x <- matrix(rnorm(3000), 1000, 3, dimnames = list(NULL, c("a", "b", "c")))
#' y <- x[, "a"] + rlogis(1000) > 0
#' file <- tempfile(fileext = ".csv")
#' write.csv(data.frame(x, y), file, row.names = FALSE)
#' rows <- row_source(file, y = "y")
#' rows
#' fit <- bsvm(rows, seed = 1)
#' fit
#' table(predict(fit, rows), y)
#' \dontrun{
#' cluster <- parallel::makePSOCKcluster(c("host1", "host2"))
#' rows <- row_source(cluster, function(part, parts) {
#'   bayeskernel::row_source(sprintf("/data/part-%d.csv", part), y = "y")
#' })
#' fit <- bkm(rows, family = "logit", method = "vb")
#' }
#' @export
row_source <- function(x, ...) {
  check_given("x")
  UseMethod("row_source")
}

#' @rdname row_source
#' @export
row_source.DBIConnection <- function(x, query, y = NULL, ...) {
  check_no_dots(...)
  if (missing(query) || !is_string(query)) {
    abort_argument(if (!missing(query)) query, "query", "one SELECT statement, as text")
  }
  source <- list(type = "query", connection = x, query = read_query(query))
  new_row_source(source, query_columns(source), y)
}

#' @rdname row_source
#' @export
row_source.character <- function(x, y = NULL, sep = ",", ...) {
  check_no_dots(...)
  if (length(x) == 0L || !all(vapply(x, is_string, NA) & nzchar(x))) {
    abort_argument(x, "x", "the names of one or more files")
  }
  if (!is_separator(sep)) {
    abort_argument(sep, "sep", "one character of ASCII, no quote and no line end")
  }
  # Later changes of the working directory do not matter.
  source <- list(type = "text", files = normalizePath(x, mustWork = FALSE), sep = sep)
  columns <- lapply(source$files, function(file) {
    connection <- open_file(file)
    on.exit(close(connection))
    text_columns(connection, file, sep)
  })
  for (k in seq_along(columns)[-1]) {
    check_same_columns(
      columns[[k]], columns[[1]], sprintf("%s, from %s", quoted(x[k]), quoted(x[1]))
    )
  }
  new_row_source(source, columns[[1]], y)
}

#' @rdname row_source
#' @export
row_source.default <- function(x, y = NULL, ...) {
  check_no_dots(...)
  check_predictors(x)
  n <- nrow(x)
  if (is.data.frame(x)) {
    names(x) <- predictor_names(x)
  } else {
    colnames(x) <- predictor_names(x)
  }
  source <- list(type = "matrix", x = x)
  by_name <- is_string(y) && n > 1L
  if (!is.null(y) && !by_name) {
    refuse_label_type(y, "y")
    if (length(y) != n) abort_length("y", length(y), n)
    source$labels <- y
    source$response <- "y"
    y <- NULL
  }
  new_row_source(source, colnames(x), y)
}

new_row_source <- function(source, columns, y) {
  if (!all(validEnc(columns))) abort_argument(columns, "x", "columns named in UTF-8")
  refuse_repeated(columns)
  if (!is.null(y)) {
    if (!is_string(y)) abort_argument(y, "y", "NULL or the name of the column of labels")
    if (!(y %in% columns)) {
      bk_abort(
        "response", fit_header("The rows have no column `%s`.", y),
        paste("Found:", list_some(columns)),
        "Accepted: the name of one of these as `y`, the response.", column = y, found = columns
      )
    }
    source$response <- y
  }
  source$all_columns <- columns
  source$columns <- if (is.null(source$labels)) setdiff(columns, source$response) else columns
  if (length(source$columns) == 0L) {
    bk_abort(
      "dimension", "The row source has no predictors.",
      "Accepted: at least one column besides the response.", column = "x", found = columns
    )
  }
  structure(source, class = "row_source")
}

# A formula names the response of a source that has none; for rows of a cluster row_source() does.
source_with_response <- function(source, formula) {
  open <- is.null(source$response) && is.null(source$labels) && source$type != "cluster"
  if (!open || length(formula) != 3L || !is.name(formula[[2L]])) return(source)
  new_row_source(unclass(source), source$all_columns, as.character(formula[[2L]]))
}

# What row_source() makes, which someone may have changed since.
check_source <- function(x) {
  names <- function(x) is.character(x) && length(x) > 0L && !anyNA(x)
  whole <- is.list(x) && is_string(x$type) && names(x$columns) &&
    names(x$all_columns) && !anyDuplicated(x$all_columns) &&
    all(x$columns %in% x$all_columns) &&
    (is.null(x$response) || is_string(x$response)) && switch(x$type,
      query = methods::is(x$connection, "DBIConnection") && is_string(x$query),
      text = names(x$files) && is_separator(x$sep),
      cluster = inherits(x$cluster, "cluster") && is.function(x$open) && is_string(x$id),
      matrix = length(dim(x$x)) == 2L && ncol(x$x) == length(x$all_columns) &&
        (is.null(x$labels) || length(x$labels) == nrow(x$x)),
      FALSE
    )
  if (!whole) abort_argument(x, "x", "a row source as row_source() makes it")
  x
}

#' @export
print.row_source <- function(x, ...) {
  check_source(x)
  print_header("Row source", facts = list(
    From = switch(x$type,
      query = sprintf("%s: %s", class(x$connection)[1], x$query),
      text = x$files,
      cluster = sprintf("%d workers of a cluster, each with its own rows", length(x$cluster)),
      matrix = sprintf("%s of %d rows", class(x$x)[1], nrow(x$x))
    ),
    Response = if (is.null(x$response)) "none" else x$response, Predictors = list_some(x$columns)
  ))
  invisible(x)
}

# scan() takes one byte.
is_separator <- function(x) {
  is_string(x) && nchar(x, "bytes") == 1L && !(x %in% c("\"", "\n", "\r")) &&
    charToRaw(x) < as.raw(128)
}

check_same_columns <- function(found, expected, where) {
  gone <- setdiff(expected, found)
  new <- setdiff(found, expected)
  if (length(gone) + length(new) > 0L || anyDuplicated(found)) {
    bk_abort(
      "dimension", "The columns of the row source differ.",
      sprintf("In %s.", where), if (length(gone)) paste("Lacking:", list_some(gone)),
      if (length(new)) paste("New:", list_some(new)), paste("Accepted:", list_some(expected)),
      column = c(gone, new), found = found, expected = expected
    )
  }
}
