# Text files of rows: their columns, and their rows block by block.

# Reading text: R ends a field at a byte of zero with no more than a warning.
without_zero_bytes <- function(reading, file) {
  withCallingHandlers(reading, warning = function(w) {
    if (grepl("embedded nul", conditionMessage(w), fixed = TRUE)) {
      bk_abort(
        "argument", "A file of rows is no text: it has bytes of zero.",
        paste("Found:", quoted(file)),
        paste(
          "Accepted: text in UTF-8, one row a line. A file in UTF-16, or one",
          "that was cut off, has to be written again."
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
      sprintf("Found: the first line of %s.", quoted(file)),
      "Accepted: a first line with a name for every column, in UTF-8.", column = "x", found = names
    )
  }
  names
}

open_file <- function(file) {
  tryCatch(
    {
      # file() takes some names for something else than a file.
      if (!utils::file_test("-f", file)) stop("It is not a file.")
      suppressWarnings(base::file(file, "rt"))
    },
    error = function(e) {
      bk_abort(
        "argument", "A file cannot be opened.", paste("Found:", quoted(file)),
        if (file.exists(file)) conditionMessage(e) else "There is no such file.", column = "x",
        found = file
      )
    }
  )
}

# The files of a source one after another, by blocks of R's read.table().
file_reader <- function(source) {
  current <- NULL
  next_file <- 1L
  list(
    read = function(n) {
      repeat {
        if (is.null(current)) {
          if (next_file > length(source$files)) return(NULL)
          current <<- open_text(source, source$files[next_file])
          next_file <<- next_file + 1L
        }
        part <- current$read(n)
        if (!is.null(part)) return(part)
        current$close()
        current <<- NULL
      }
    },
    close = function() if (!is.null(current)) current$close()
  )
}

# The response and names of groups stay text: a block of them may look like numbers. Predictors are
# read as numbers until one is none: from that block on R finds what they are.
open_text <- function(source, file) {
  connection <- columns <- NULL
  open <- function() {
    connection <<- open_file(file)
    columns <<- text_columns(connection, file, source$sep)
  }
  close <- function() if (!is.null(connection)) base::close(connection)
  done <- FALSE
  on.exit(if (!done) close())
  open()
  check_same_columns(columns, source$all_columns, quoted(file))
  text <- columns %in% c(source$response, setdiff(source$raw, source$columns))
  classes <- ifelse(text, "character", "numeric")
  rows <- 0
  block <- function(n, classes) {
    without_zero_bytes(as.list(utils::read.table(
      connection, sep = source$sep, quote = "\"", comment.char = "", nrows = n, col.names = columns,
      colClasses = classes, check.names = FALSE, strip.white = TRUE, as.is = TRUE
    )), file)
  }
  done <- TRUE
  list(
    read = function(n) {
      if (!more_text(connection)) return(NULL)
      part <- tryCatch(block(n, classes), error = function(e) {
        close()
        open()
        if (rows > 0) block(rows, "character")
        classes[!text] <<- NA
        block(n, classes)
      })
      rows <<- rows + rows_of_list(part)
      part
    },
    close = close
  )
}

# Blank lines at the end are no rows.
more_text <- function(connection) {
  repeat {
    line <- readLines(connection, 1L, warn = FALSE)
    if (length(line) == 0L) return(FALSE)
    if (nzchar(trimws(line))) break
  }
  pushBack(line, connection)
  TRUE
}
