# Files of rows: a binary format of our own, and text.

#' Write rows to a binary file for a row source
#'
#' Files for [row_source()] that are read much faster than text and keep every bit.
#'
#' @param x Numeric matrix, or data frame of numeric and logical columns, n
#'   rows by p predictors, without missing or infinite values.
#' @param y Labels, length n: a factor with two levels (the second is the
#'   positive class), logical, 0/1 or -1/+1.
#' @param file Name of the file.
#' @param append Add the rows to a file by `write_rows()` with the same columns
#'   and classes, so that data larger than memory can be written part by part.
#' @param response Name of the response.
#'
#' @return `file`, invisibly.
#'
#' @section Format: All numbers are little-endian. The eight bytes `BKROWS01`; a 4-byte integer p;
#'   then p + 3 texts in UTF-8, each closed by a zero byte: the two classes, the name of the
#'   response, the names of the predictors. Then blocks until the end of the file: a 4-byte integer
#'   n, the number of rows; n labels, 0 or 1 for the first or second class, and n values of each
#'   predictor in turn, all as 8-byte doubles.
#'
#' @section Errors: `bayeskernel_error_missing`, `_response`, `_dimension`, and
#'   `_argument` for a file that cannot be written or appended to.
#'
#' @examples
#' file <- tempfile()
#' x <- matrix(rnorm(200), 100, 2, dimnames = list(NULL, c("a", "b")))
#' write_rows(x, x[, "a"] > 0, file)
#' write_rows(x, x[, "b"] > 0, file, append = TRUE)
#' row_source(file)
#' @export
write_rows <- function(x, y, file, append = FALSE, response = "y") {
  call <- match.call()
  check_predictors(x)
  append <- check_flag(append, "append")
  if (!is_string(file) || !nzchar(file)) {
    abort_argument(file, "file", "the name of a file")
  }
  columns <- predictor_names(x)
  if (!is_string(response) || response %in% c("", columns)) {
    abort_argument(response, "response", "one name, of no predictor")
  }
  if (length(y) != nrow(x)) abort_length("y", length(y), nrow(x))
  x <- if (is.data.frame(x)) unclass(x) else as.list(as.data.frame(x))
  x <- block_matrix(stats::setNames(x, columns), columns, 0)
  check_columns(column_moments_cpp(x), x, columns, NULL, in_source = TRUE)
  head <- NULL
  if (append) {
    head <- file_head(file, ",")
    if (is.null(head$levels)) {
      bk_abort(
        "argument", "The file was not made by write_rows().", paste("Found:", quoted(file)),
        column = "file", found = file
      )
    }
    check_same_columns(columns, head$predictors, "`x`, from the file")
    x <- x[, head$predictors, drop = FALSE]
  }
  labels <- written_labels(y, head$levels)
  connection <- tryCatch(
    suppressWarnings(base::file(file, if (append) "ab" else "wb")),
    error = function(e) abort_file(file, e)
  )
  on.exit(close(connection))
  if (!append) {
    writeBin(charToRaw(rows_magic), connection)
    write_integer(length(columns), connection)
    writeBin(enc2utf8(c(labels$levels, response, columns)), connection)
  }
  for (rows in split_rows(nrow(x), block_rows(ncol(x)))) {
    write_integer(length(rows), connection)
    values <- c(labels$codes[rows], x[rows, ])
    writeBin(values, connection, size = 8L, endian = "little")
  }
  invisible(file)
}

rows_magic <- "BKROWS01"

write_integer <- function(x, connection) {
  writeBin(as.integer(x), connection, size = 4L, endian = "little")
}

split_rows <- function(n, size) {
  begin <- if (n > 0L) seq(1, n, by = size) else integer()
  lapply(begin, function(b) seq.int(b, min(n, b + size - 1)))
}

# Codes 0 and 1 of labels of which one part may show one class only.
written_labels <- function(y, levels) {
  refuse_label_type(y, "y", response_kinds$file)
  check_labels_there(y, "y")
  # A part of the rows may have one class: its text does not tell the other.
  own <- if (!is.character(y)) declared_levels(y)
  expected <- if (is.null(levels)) own else levels
  if (length(expected) != 2L) {
    bk_abort(
      "response", "`y` does not have the two classes that a file holds.",
      c(
        paste("Found:", list_some(quoted(unique(as.character(y))))),
        labels_accepted(response_kinds$file)
      ),
      column = "y", found = unique(y)
    )
  }
  list(
    codes = known_codes(
      y, expected, "y", "`%s` does not have the two classes that a file holds."
    ) - 1,
    levels = expected
  )
}

# Columns of a file, and for one by write_rows() its classes and response.
file_head <- function(file, sep) {
  connection <- open_file(file, "rb")
  on.exit(close(connection))
  found <- readBin(connection, "raw", nchar(rows_magic))
  if (identical(found, charToRaw(rows_magic))) {
    return(read_head(connection, file))
  }
  text <- open_file(file, "rt")
  on.exit(close(text), add = TRUE)
  list(columns = text_columns(text, file, sep))
}

# A size that the file promises is held against its length before it is believed: every name ends in
# a zero byte.
read_head <- function(connection, file) {
  p <- read_integer(connection)
  room <- file.size(file) - nchar(rows_magic) - 4L
  names <- if (length(p) == 1L && !is.na(p) && p > 0L && p + 3 <= room) {
    suppressWarnings(readBin(connection, "character", p + 3L))
  }
  if (length(names) < 4L || length(names) != p + 3L) {
    abort_broken_file(file, "A file of rows ends in its first lines.", c(
      if (length(p)) sprintf("It promises %s predictors.", p)
    ))
  }
  Encoding(names) <- "UTF-8"
  if (!all(validUTF8(names)) || names[1] == names[2] || !all(nzchar(names[-(1:2)]))) {
    abort_broken_file(
      file, "A file of rows has names that cannot be.",
      "Accepted: two classes, a response and predictors, named in UTF-8."
    )
  }
  list(
    levels = names[1:2], response = names[3], predictors = names[-(1:3)], columns = names[-(1:2)],
    size = nchar(rows_magic) + 4 + sum(nchar(names, "bytes") + 1)
  )
}

read_integer <- function(connection) {
  readBin(connection, "integer", 1L, size = 4L, endian = "little")
}

abort_broken_file <- function(file, header, details) {
  bk_abort(
    "argument", header, c(paste("Found:", quoted(file)), details),
    column = "x", found = file
  )
}

# Reading text: R ends a field at a byte of zero with no more than a warning.
without_zero_bytes <- function(reading, file) {
  withCallingHandlers(reading, warning = function(w) {
    if (grepl("embedded nul", conditionMessage(w), fixed = TRUE)) {
      bk_abort(
        "argument", "A file of rows is no text: it has bytes of zero.",
        c(
          paste("Found:", quoted(file)),
          paste(
            "Accepted: text in UTF-8, one row a line. A file in UTF-16, or one",
            "that was cut off, has to be written again."
          )
        ),
        column = "x", found = file
      )
    }
  })
}

text_columns <- function(connection, file, sep) {
  names <- without_zero_bytes(scan(
    connection, "", nlines = 1L, sep = sep, quote = "\"", quiet = TRUE, strip.white = TRUE
  ), file)
  if (length(names) == 0L || !all(nzchar(names) & validEnc(names))) {
    bk_abort(
      "dimension", "A file does not name its columns.",
      c(
        sprintf("Found: the first line of %s.", quoted(file)),
        "Accepted: a first line with a name for every column, in UTF-8."
      ),
      column = "x", found = names
    )
  }
  names
}

open_file <- function(file, mode) {
  tryCatch(
    {
      # file() takes some names for something else than a file.
      if (!utils::file_test("-f", file)) stop("It is not a file.")
      suppressWarnings(base::file(file, mode))
    },
    error = function(e) abort_file(file, e)
  )
}

abort_file <- function(file, error) {
  bk_abort(
    "argument", "A file cannot be opened.",
    c(
      paste("Found:", quoted(file)),
      if (!file.exists(file)) {
        "There is no such file."
      } else {
        conditionMessage(error)
      }
    ),
    column = "file", found = file
  )
}

# Reading --------------------------------------------------------------------

# Files one after another; parts(file, ...) opens one.
file_reader <- function(source, parts) {
  current <- NULL
  next_file <- 1L
  list(
    read = function(n) {
      repeat {
        if (is.null(current)) {
          if (next_file > length(source$files)) {
            return(NULL)
          }
          current <<- parts(source, source$files[next_file])
          next_file <<- next_file + 1L
        }
        part <- current$read(n)
        if (!is.null(part)) {
          return(part)
        }
        current$close()
        current <<- NULL
      }
    },
    close = function() if (!is.null(current)) current$close()
  )
}

binary_parts <- function(source, file) {
  connection <- open_file(file, "rb")
  readBin(connection, "raw", nchar(rows_magic))
  head <- read_head(connection, file)
  width <- length(head$predictors) + 1L
  left <- file.size(file) - head$size
  list(
    read = function(n) {
      rows <- read_integer(connection)
      if (length(rows) == 0L) {
        return(NULL)
      }
      size <- as.double(rows) * width
      left <<- left - 4 - 8 * size
      if (is.na(rows) || rows < 1L || left < 0) {
        stop("The file ends in the middle of a block: ", file)
      }
      values <- readBin(connection, "double", size, size = 8L, endian = "little")
      dim(values) <- c(rows, width)
      if (!all(values[, 1] %in% c(0, 1))) {
        stop("The file has labels that are neither 0 nor 1: ", file)
      }
      labels <- factor(head$levels[values[, 1] + 1], head$levels)
      part <- c(list(labels), lapply(seq_len(width - 1L), function(k) {
        values[, k + 1L]
      }))
      stats::setNames(part, head$columns)
    },
    close = function() close(connection)
  )
}

text_parts <- function(source, file) {
  connection <- open_file(file, "rt")
  read <- FALSE
  on.exit(if (!read) close(connection))
  columns <- text_columns(connection, file, source$sep)
  check_same_columns(columns, source$all_columns, quoted(file))
  what <- text_types(connection, columns, source, file)
  read <- TRUE
  line <- 1
  list(
    read = function(n) {
      part <- tryCatch(
        without_zero_bytes(scan(
          connection, what, nmax = n, sep = source$sep, quote = "\"", quiet = TRUE,
          strip.white = TRUE, multi.line = FALSE
        ), file),
        bayeskernel_error = stop,
        error = function(e) {
          refuse_bad_cell(source, file, what, line, n)
          stop(file, ": ", conditionMessage(e))
        }
      )
      rows <- length(part[[1]])
      line <<- line + rows
      if (rows > 0L) part
    },
    close = function() close(connection)
  )
}

# Predictors are numbers unless the first lines show logical values; labels and names of groups are
# read as text.
text_types <- function(connection, columns, source, file) {
  lines <- without_zero_bytes(readLines(connection, 100L), file)
  pushBack(lines, connection)
  types <- lapply(stats::setNames(nm = columns), function(name) numeric())
  shown <- tryCatch(
    utils::read.table(
      text = lines, sep = source$sep, quote = "\"", comment.char = "", col.names = columns,
      check.names = FALSE, strip.white = TRUE, stringsAsFactors = FALSE, na.strings = c("NA", "")
    ),
    error = function(e) NULL
  )
  for (name in names(shown)) {
    value <- shown[[name]]
    if (is.logical(value) && !all(is.na(value))) types[[name]] <- logical()
  }
  text <- c(source$response, setdiff(source$raw, source$columns))
  types[text] <- list(character())
  types
}

# Names the cell of the next n lines that made scan() fail, if it was one.
refuse_bad_cell <- function(source, file, what, line, n) {
  text <- tryCatch(
    scan(
      file, lapply(what, function(type) character()), skip = line, nmax = n, sep = source$sep,
      quote = "\"", quiet = TRUE, strip.white = TRUE, multi.line = FALSE, na.strings = c("NA", "")
    ),
    error = function(e) NULL
  )
  for (name in names(text)[!vapply(what, is.character, NA)]) {
    number <- suppressWarnings(as.numeric(text[[name]]))
    if (is.logical(what[[name]])) number <- as.logical(text[[name]])
    at <- which(is.na(number) & !is.na(text[[name]]))[1]
    if (is.na(at)) next
    value <- text[[name]][at]
    bk_abort(
      "argument", fit_header("Column `%s` is not numeric.", name),
      c(
        sprintf("Found: %s in line %.0f of %s.", quoted(value), line + at, quoted(file)),
        "Accepted: numbers, or TRUE and FALSE throughout."
      ),
      column = name, row = line + at - 1, found = value
    )
  }
}
