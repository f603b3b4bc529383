# Reading a row source from its first row to its last. A reader is a list of
#   read(n)   some rows as a list of columns, at most n where the source can
#             choose, or NULL after the last;
#   close().

open_source <- function(source) {
  check_source(source)
  switch(source$type,
    query = query_reader(source),
    text = file_reader(source),
    cluster = refuse_cluster_rows(),
    matrix = matrix_reader(source)
  )
}

# Blocks of exactly `size` rows (the last may be shorter), whatever the reader
# gives: a function that returns the next one,
#   x      numeric matrix of the predictors,
#   y      labels as they are in the source, NULL without a response,
#   raw    the columns `source$raw` as they are, those that name groups,
#   first  number of rows before it,
# or NULL at the end.
block_reader <- function(source, reader, size) {
  done <- 0
  waiting <- NULL
  ended <- FALSE
  take <- function() {
    part <- tryCatch(
      reader$read(size - rows_of(waiting)),
      bayeskernel_error = function(e) stop(e),
      error = function(e) abort_source(source, done + rows_of(waiting), e)
    )
    if (is.null(part)) {
      ended <<- TRUE
      return()
    }
    check_same_columns(names(part), source$all_columns, "what was read, from when it was made")
    labels <- if (!is.null(source$labels)) {
      attr(part, "labels")
    } else if (!is.null(source$response)) {
      part[[source$response]]
    }
    x <- block_matrix(part, source$columns, done + rows_of(waiting))
    part <- list(x = x, y = labels, raw = part[source$raw])
    waiting <<- if (is.null(waiting)) part else join_rows(waiting, part)
  }
  function() {
    while (!ended && rows_of(waiting) < size) take()
    n <- min(size, rows_of(waiting))
    if (n == 0L) return(NULL)
    block <- waiting
    if (n < rows_of(waiting)) {
      block <- part_rows(waiting, seq_len(n))
      waiting <<- part_rows(waiting, -seq_len(n))
    } else {
      waiting <<- NULL
    }
    block$first <- done
    done <<- done + n
    block
  }
}

rows_of <- function(part) if (is.null(part)) 0 else nrow(part$x)

part_rows <- function(part, rows) {
  list(x = part$x[rows, , drop = FALSE], y = part$y[rows], raw = lapply(part$raw, `[`, rows))
}

join_rows <- function(a, b) {
  list(x = rbind(a$x, b$x), y = join_values(a$y, b$y), raw = Map(join_values, a$raw, b$raw))
}

join_values <- function(a, b) {
  if (is.factor(a) && !identical(levels(a), levels(b))) {
    factor(c(as.character(a), as.character(b)), union(levels(a), levels(b)))
  } else {
    c(a, b)
  }
}

# Columns that are no numbers are refused, in a part whose first row comes after `first` others.
block_matrix <- function(part, columns, first) {
  values <- lapply(columns, function(name) {
    value <- part[[name]]
    # 64-bit integers of a database have a class, and its as.double().
    if (inherits(value, "integer64") && isNamespaceLoaded("bit64")) value <- as.double(value)
    if (!is_plain_number(value)) {
      # Of text the first that is no number.
      at <- if (is.character(value)) {
        which(is.na(suppressWarnings(as.numeric(value))) & !is.na(value))[1]
      } else {
        NA
      }
      bk_abort(
        "argument", fit_header("Column `%s` is not numeric.", name),
        if (is.na(at)) {
          sprintf("Found from row %.0f on: %s.", first + 1, describe_value(value))
        } else {
          sprintf("Found: %s in row %.0f.", quoted(value[at]), first + at)
        },
        paste(
          "Accepted: numbers or logical values. Code the column as numbers,",
          "or leave it out of the source."
        ),
        column = name, row = first + if (is.na(at)) 1 else at, found = class(value)
      )
    }
    as.double(value)
  })
  matrix(
    as.double(unlist(values, use.names = FALSE)), rows_of_list(part),
    length(columns), dimnames = list(NULL, columns)
  )
}

abort_source <- function(source, row, error) {
  # What says itself what is wrong.
  if (inherits(error, "bayeskernel_error")) stop(error)
  bk_abort(
    "argument",
    if (row > 0) {
      sprintf("The row source broke off after row %.0f.", row)
    } else {
      "The row source cannot be read."
    },
    switch(source$type,
      query = paste("Query:", source$query),
      paste("Files:", list_some(quoted(source$files)))
    ),
    trimws(conditionMessage(error)),
    if (source$type == "query") "Is the connection still open? DBI::dbIsValid(con) tells.",
    column = "x", row = row, found = conditionMessage(error)
  )
}

# Databases ------------------------------------------------------------------

query_reader <- function(source) {
  source$query <- read_query(source$query)
  refuse_overflow(source)
  transaction <- begin_reading(source$connection)
  result <- tryCatch(send_query(source), error = function(e) {
    end_reading(source$connection, transaction)
    stop(e)
  })
  list(
    read = function(n) {
      part <- if (methods::is(result, "DBIResultArrow")) {
        fetch_chunk(result, n)
      } else {
        fetch_rows(result, n)
      }
      if (rows_of_list(part) > 0L) part
    },
    close = function() {
      clear_result(result)
      end_reading(source$connection, transaction)
    }
  )
}

rows_of_list <- function(part) if (length(part)) length(part[[1L]]) else 0L

fetch_rows <- function(result, n) {
  as.list(withCallingHandlers(
    DBI::dbFetch(result, n = n),
    # RSQLite reads text among numbers as 0 and says so in a warning.
    warning = function(w) {
      if (grepl("coercing other values", conditionMessage(w))) abort_mixed(conditionMessage(w))
    }
  ))
}

# The memory of a chunk is not R's: it is given back at once, not when R next collects garbage.
# Drivers that know no `chunk_size` choose their own.
fetch_chunk <- function(result, n) {
  chunk <- dbi_arrow("dbFetchArrowChunk")(result, chunk_size = n)
  part <- as.list(as.data.frame(chunk))
  if (inherits(chunk, "nanoarrow_array")) {
    # Text is read from the chunk when it is asked for.
    text <- vapply(part, is.character, NA)
    part[text] <- lapply(part[text], function(column) column[seq_along(column)])
    nanoarrow::nanoarrow_pointer_release(chunk)
  }
  part
}

# Functions of DBI since 1.2.0.
dbi_arrow <- function(name) getExportedValue("DBI", name)

# The driver has a method of its own: that of DBI itself goes by dbFetch().
streams_arrow <- function(connection) {
  "dbSendQueryArrow" %in% getNamespaceExports("DBI") &&
    requireNamespace("nanoarrow", quietly = TRUE) &&
    !identical(
      as.character(methods::selectMethod(
        dbi_arrow("dbSendQueryArrow"), c(class(connection), "character")
      )@defined[[1L]]), "DBIConnection"
    )
}

send_query <- function(source, query = source$query) {
  if (!DBI::dbIsValid(source$connection)) {
    bk_abort(
      "argument", "The connection of the row source is closed.",
      paste("Query:", source$query), "Connect again and make the source from the new connection.",
      column = "x", found = source$query
    )
  }
  send <- if (streams_arrow(source$connection)) dbi_arrow("dbSendQueryArrow") else DBI::dbSendQuery
  tryCatch(send(source$connection, query), error = function(e) abort_source(source, 0, e))
}

# A result whose connection is gone has nothing left to clear.
clear_result <- function(result) try(suppressWarnings(DBI::dbClearResult(result)), silent = TRUE)

abort_mixed <- function(message) {
  name <- sub("^Column `([^`]*)`.*", "\\1", message)
  bk_abort(
    "argument", fit_header("Column `%s` holds values of several types.", name),
    sub("^Column `[^`]*`: ", "The database says: ", message),
    sprintf("Accepted: numbers. CAST(%s AS REAL) in the query makes them.", name),
    column = name, found = message
  )
}

# Matrices -------------------------------------------------------------------

matrix_reader <- function(source) {
  at <- 0
  total <- nrow(source$x)
  list(
    read = function(n) {
      if (at >= total) return(NULL)
      rows <- seq.int(at + 1, min(total, at + n))
      at <<- rows[length(rows)]
      part <- source$x[rows, , drop = FALSE]
      part <- as.list(if (is.matrix(part)) as.data.frame(part) else part)
      structure(part, labels = source$labels[rows])
    },
    close = function() NULL
  )
}
