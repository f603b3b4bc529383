# Queries of row sources: one statement that reads. Its text is looked at first, then the database
# is asked for its columns as those of a table expression, `select * from (query)`, which no
# statement that changes something can be; and where a driver has transactions that only read, rows
# come in one.

# What databases differ in, as patterns of text that is no SQL of its own. Where a quote ends
# depends on backslashes; `#` begins a comment in some, in others `--` only before a blank; names
# may stand in brackets, text between dollars, and comments may nest.
query_quotes <- list(
  backslash = c("'[^']*+'|\"[^\"]*+\"", paste0("'(?:[^'\\\\]|\\\\.)*+'|\"(?:[^\"\\\\]|\\\\.)*+\"")),
  dollar = c(NA, "\\$(?<tag>\\w*)\\$.*?\\$\\k<tag>\\$"), bracket = c(NA, "\\[[^\\]]*+\\]"),
  name = "`[^`]*+`"
)
query_comments <- list(
  line = c("--[^\n]*+", "--(?=\\s|$)[^\n]*+"), hash = c(NA, "#[^\n]*+"),
  block = c("/\\*(?!!).*?\\*/", "(?<block>/\\*(?!!)(?:(?&block)|(?!\\*/|/\\*).)*+\\*/)")
)

# The query as each database may read it: quotes as dots, comments as blanks, other characters in
# their places. A reading that leaves a quote open is none.
query_readings <- function(query) {
  ways <- expand.grid(c(query_quotes, query_comments), stringsAsFactors = FALSE)
  readings <- apply(ways, 1L, function(way) {
    way <- way[!is.na(way)]
    found <- gregexpr(paste0("(?s)", paste(way, collapse = "|")), query, perl = TRUE)
    comment <- "^(--|#|/[*])"
    regmatches(query, found) <- list(vapply(
      regmatches(query, found)[[1L]],
      function(text) strrep(if (grepl(comment, text)) " " else ".", nchar(text)), ""
    ))
    query
  })
  unique(readings[!grepl("['\"`]|/[*]", readings)])
}

# What changes data and may stand within a statement that begins as one that reads:
# `with a as (delete from t returning *)`, `select a into b`.
query_changes <- paste(
  "\\binto\\b", "\\bdelete\\s+from\\b", "\\bupdate\\b[^()]*\\bset\\b",
  "[()]\\s*(?:insert|update|delete|merge)\\s+\\w", sep = "|"
)

# The one statement of a query, without the semicolon after it. Drivers run the first statement and
# drop others, or run them all and read the last. The query is refused if it has several for any
# database.
read_query <- function(query) {
  readings <- query_readings(query)
  if (length(readings) == 0L) abort_query(query, "A quote or comment in the query does not end.")
  if (any(grepl(";[\\s;]*[^\\s;]", readings, perl = TRUE))) {
    abort_query(query, "The query has more than one statement.")
  }
  has <- function(pattern) any(grepl(pattern, readings, perl = TRUE, ignore.case = TRUE))
  if (!all(grepl(
    "^[\\s(]*(select|with|values|table)\\b", readings, perl = TRUE, ignore.case = TRUE
  ))) {
    abort_query(query, "The query is not a SELECT statement.")
  }
  if (has(query_changes)) abort_query(query, "The query changes the database.")
  end <- regexpr(";", readings[1L], fixed = TRUE)
  trimws(if (end > 0L) substr(query, 1L, end - 1L) else query)
}

abort_query <- function(query, header) {
  bk_abort(
    "argument", header, paste("Found:", query),
    paste(
      "Accepted: one statement that reads: SELECT, WITH, VALUES or TABLE.",
      "Run others by DBI::dbExecute() before."
    ),
    column = "query", found = query
  )
}

# As a table expression; a comment at the end of the query ends with its line.
table_expression <- function(query, what = "*", where = "1 = 0") {
  sprintf("select %s from (%s\n) bk_rows where %s", what, query, where)
}

# The names of the columns. SQL Server has no WITH and no ORDER BY in a table expression: there it
# is the text alone that is looked at.
query_columns <- function(source) {
  look <- function(query) {
    result <- send_query(source, query)
    on.exit(clear_result(result))
    tryCatch(DBI::dbColumnInfo(result)$name, error = function(e) abort_source(source, 0, e))
  }
  con <- source$connection
  transaction <- begin_reading(con)
  on.exit(end_reading(con, transaction))
  if (inherits(con, "Microsoft SQL Server")) return(look(source$query))
  columns <- look(table_expression(source$query))
  # SQLite gives equal names numbers in a table expression, and computes no row of the query before
  # it is asked for one.
  if (methods::is(con, "SQLiteConnection")) look(source$query) else columns
}

# A transaction that only reads, where the driver has one and the user is in none of their own: TRUE
# if it has begun. Within a transaction Postgres takes a savepoint and MariaDB refuses to set its
# kind.
begin_reading <- function(connection) {
  runs <- function(code) !inherits(try(code, silent = TRUE), "try-error")
  execute <- function(sql) runs(DBI::dbExecute(connection, sql))
  begin <- function() runs(DBI::dbBegin(connection))
  read_only <- "set transaction read only"
  if (inherits(connection, "PqConnection")) {
    if (execute("savepoint bayeskernel")) {
      execute("release savepoint bayeskernel")
      return(FALSE)
    }
    if (!begin()) return(FALSE)
    execute(read_only)
    TRUE
  } else if (inherits(connection, c("MariaDBConnection", "MySQLConnection"))) {
    execute(read_only) && begin()
  } else {
    FALSE
  }
}

end_reading <- function(connection, transaction) {
  if (transaction) try(DBI::dbRollback(connection), silent = TRUE)
}

# A connection that was made with bigint = "integer" reads numbers beyond R's integers as missing
# values. The database counts them.
refuse_overflow <- function(source) {
  con <- source$connection
  if (!methods::.hasSlot(con, "bigint") || !identical(con@bigint, "integer")) return(invisible())
  result <- send_query(source)
  info <- tryCatch(DBI::dbColumnInfo(result), error = function(e) NULL)
  clear_result(result)
  for (name in info$name[info$type == "integer"]) {
    beyond <- table_expression(
      source$query, "count(*)", sprintf("abs(%s) > 2147483647", DBI::dbQuoteIdentifier(con, name))
    )
    count <- tryCatch(
      DBI::dbGetQuery(con, beyond)[[1L]], error = function(e) abort_source(source, 0, e)
    )
    if (!identical(as.double(count), 0)) abort_overflow(name, count)
  }
}

abort_overflow <- function(name, count) {
  bk_abort(
    "argument", fit_header("Column `%s` has numbers beyond integers.", name),
    sprintf("Found: %.0f beyond 2147483647.", count),
    paste(
      "Accepted: a connection that reads them as numbers,", "dbConnect(..., bigint = \"numeric\")."
    ),
    column = name, found = count, expected = .Machine$integer.max
  )
}
