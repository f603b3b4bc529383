# Rows that are read block by block, and everything that can be wrong with them.

# Three decimals, so that a text file holds the same numbers as the matrix.
source_data <- function(n = 600, p = 3, seed = 1) {
  set.seed(seed)
  x <- matrix(round(rnorm(n * p), 3), n, p, dimnames = list(NULL, letters[seq_len(p)]))
  x[, 2] <- round(10 * x[, 2] + 50, 3)
  f <- x[, 1] - (x[, 2] - 50) / 20
  list(x = x, y = ifelse(f + rlogis(n) > 0, "yes", "no"))
}

csv_of <- function(frame) {
  file <- rows_file(".csv")
  utils::write.csv(frame, file, row.names = FALSE)
  file
}

rows_file <- function(ext = "") tempfile("rows", fileext = ext)

sqlite_of <- function(frame) {
  skip_if_not_installed("RSQLite")
  con <- DBI::dbConnect(RSQLite::SQLite(), ":memory:")
  DBI::dbWriteTable(con, "d", frame)
  con
}

fit_source <- function(source, ...) flat(bsvm)(source, seed = 1, threads = 1, progress = FALSE, ...)

# The message says what is wrong with which column, and every error carries the user's call.
expect_source_refusal <- function(code, kind, regexp) {
  condition <- expect_error(code, regexp, class = paste0("bayeskernel_error_", kind))
  first <- strsplit(conditionMessage(condition), "\n")[[1]][1]
  expect_lt(nchar(first), 80)
  expect_match(conditionMessage(condition), "\n\\* ")
  expect_match(deparse(conditionCall(condition))[1], "bsvm|predict|row_source")
  invisible(condition)
}

test_that("a query, text files and a matrix give identical fits", {
  d <- source_data()
  frame <- data.frame(d$x, y = d$y)
  con <- sqlite_of(frame)
  on.exit(DBI::dbDisconnect(con))
  half <- seq_len(250)
  parts <- c(csv_of(frame[half, ]), csv_of(frame[-half, c(4, 2, 1, 3)]))
  sources <- list(
    row_source(d$x, d$y), row_source(frame, y = "y"), row_source(con, "select * from d", y = "y"),
    row_source(csv_of(frame), y = "y"), row_source(parts, y = "y")
  )
  fits <- lapply(sources, fit_source)
  for (fit in fits[-1]) {
    expect_identical(fit$posterior, fits[[1]]$posterior)
    expect_identical(fit$transform, fits[[1]]$transform)
    expect_identical(fit$levels, c("no", "yes"))
  }
})

test_that("blocks have their size whatever the reader gives", {
  pieces <- c(3, 1, 7, 2, 12)
  given <- 0
  reader <- list(read = function(n) {
    given <<- given + 1
    if (given > length(pieces)) return(NULL)
    rows <- sum(pieces[seq_len(given - 1)]) + seq_len(pieces[given])
    list(a = rows, y = rep_len(c(0, 1), length(rows)))
  })
  source <- row_source(data.frame(a = 1, y = 1), y = NULL)
  source$response <- "y"
  source$columns <- "a"
  next_block <- block_reader(source, reader, 5)
  sizes <- firsts <- values <- numeric()
  while (!is.null(block <- next_block())) {
    sizes <- c(sizes, nrow(block$x))
    firsts <- c(firsts, block$first)
    values <- c(values, block$x)
  }
  expect_identical(sizes, c(5, 5, 5, 5, 5))
  expect_identical(firsts, c(0, 5, 10, 15, 20))
  expect_identical(values, as.double(1:25))
})

test_that("responses of every kind name the classes as the matrix does", {
  d <- source_data(100)
  positive <- d$y == "yes"
  kinds <- list(
    positive, as.numeric(positive), 2 * positive - 1, as.integer(positive),
    factor(positive, labels = c("no", "yes")), factor(d$y, levels = c("yes", "no")), d$y
  )
  for (y in kinds) {
    fit <- fit_source(row_source(d$x, y))
    expected <- if (is.character(y)) {
      c("no", "yes")
    } else {
      bsvm(d$x, y, threads = 1, method = "vb")$levels
    }
    expect_identical(fit$levels, expected)
    share <- mean(as.character(y) == expected[2])
    if (is.numeric(y)) share <- mean(positive)
    expect_equal(fit$share, share)
  }
  # In text files 0/1, logical values and text.
  for (y in kinds[c(1, 2, 3, 7)]) {
    fit <- fit_source(row_source(csv_of(data.frame(d$x, y = y)), y = "y"))
    expect_identical(fit$levels, fit_source(row_source(d$x, y))$levels)
  }
})

test_that("which class comes first in the rows does not matter", {
  d <- source_data(300)
  order <- order(d$y, decreasing = TRUE)
  a <- fit_source(row_source(d$x[order, ], d$y[order]), tol = 1e-10, method = "svi")
  b <- bsvm(d$x, factor(d$y), control = list(tol = 1e-10), threads = 1, method = "vb")
  expect_identical(a$levels, b$levels)
  expect_equal(coef(a), coef(b), tolerance = 1e-5)
})

test_that("a source prints what it reads", {
  d <- source_data(20)
  expect_output(print(row_source(d$x, d$y)), "matrix of 20 rows")
  expect_output(print(row_source(d$x)), "Response: +none")
  con <- sqlite_of(data.frame(d$x, y = d$y))
  on.exit(DBI::dbDisconnect(con))
  source <- row_source(con, "select a, c, y from d", y = "y")
  expect_output(print(source), "select a, c, y from d")
  expect_output(print(source), "Predictors: a, c")
})

# Bad input -------------------------------------------------------------------

test_that("a response that is not there", {
  d <- source_data(20)
  frame <- data.frame(d$x, y = d$y)
  con <- sqlite_of(frame)
  on.exit(DBI::dbDisconnect(con))
  expect_source_refusal(row_source(con, "select * from d", y = "label"), "response", "label")
  expect_source_refusal(row_source(csv_of(frame), y = "label"), "response", "label")
  expect_source_refusal(row_source(frame, y = "label"), "response", "label")
  expect_source_refusal(fit_source(row_source(d$x)), "response", "no response")
  expect_source_refusal(row_source(con, "select y from d", y = "y"), "dimension", "no predictors")
  expect_source_refusal(row_source(d$x, d$y[-1]), "dimension", "y")
})

test_that("sources without rows, or with one", {
  d <- source_data(20)
  frame <- data.frame(d$x, y = d$y)
  con <- sqlite_of(frame)
  on.exit(DBI::dbDisconnect(con))
  none <- row_source(con, "select * from d where a > 1000", y = "y")
  expect_source_refusal(fit_source(none), "dimension", "no rows")
  expect_source_refusal(
    fit_source(row_source(con, "select * from d limit 1", y = "y")), "dimension", "one row"
  )
  expect_source_refusal(fit_source(row_source(csv_of(frame[0, ]), y = "y")), "dimension", "no rows")
  fit <- fit_source(row_source(frame, y = "y"))
  expect_source_refusal(predict(fit, none), "dimension", "no rows")
})

test_that("missing and infinite values are named with their rows", {
  d <- source_data(70000, 2)
  for (value in c(NA, Inf)) {
    x <- d$x
    x[69000, "b"] <- value
    condition <- expect_source_refusal(fit_source(row_source(x, d$y)), "missing", "b")
    expect_equal(condition$row, 69000)
  }
  con <- sqlite_of(data.frame(d$x[1:50, ], y = d$y[1:50]))
  on.exit(DBI::dbDisconnect(con))
  DBI::dbExecute(con, "update d set a = NULL where rowid = 33")
  condition <- expect_source_refusal(
    fit_source(row_source(con, "select * from d", y = "y")), "missing", "a"
  )
  expect_equal(condition$row, 33)
  DBI::dbExecute(con, "update d set a = 1, y = NULL where rowid = 33")
  condition <- expect_source_refusal(
    fit_source(row_source(con, "select * from d", y = "y")), "missing", "y"
  )
  expect_equal(condition$row, 33)
})

test_that("a third class, late, and one class only", {
  d <- source_data(70000, 2)
  y <- d$y
  y[68000] <- "perhaps"
  condition <- expect_source_refusal(fit_source(row_source(d$x, y)), "response", "two classes")
  expect_equal(condition$row, 68000)
  expect_match(conditionMessage(condition), "perhaps")
  few <- 1:100
  expect_source_refusal(
    fit_source(row_source(d$x[few, ], rep("yes", 100))), "response", "one class"
  )
  expect_source_refusal(
    fit_source(row_source(d$x[few, ], rep_len(1:2, 100))), "response", "class codes"
  )
  expect_source_refusal(
    fit_source(row_source(
      csv_of(data.frame(d$x[few, ], y = c("maybe", d$y[few[-1]]))), y = "y"
    )), "response", "two classes"
  )
})

test_that("columns that are no numbers", {
  d <- source_data(300)
  frame <- data.frame(d$x, kind = rep_len(c("u", "v"), 300), y = d$y)
  con <- sqlite_of(frame)
  on.exit(DBI::dbDisconnect(con))
  expect_source_refusal(fit_source(row_source(con, "select * from d", y = "y")), "argument", "kind")
  expect_source_refusal(fit_source(row_source(frame, y = "y")), "argument", "kind")
  expect_source_refusal(fit_source(row_source(csv_of(frame), y = "y")), "argument", "kind")
  frame$kind <- as.character(seq_len(300))
  frame$kind[250] <- "many"
  condition <- expect_source_refusal(
    fit_source(row_source(csv_of(frame), y = "y")), "argument", "kind"
  )
  expect_match(conditionMessage(condition), "\"many\" in row 250")
})

test_that("text and logical values that come late in a file are found", {
  d <- data.frame(a = as.character(1:70000), g = "01", y = rep(0:1, 35000))
  d$g[69000] <- "u"
  fit <- function() bkm(y ~ a + (1 | g), row_source(file, "y"), threads = 1, method = "vb")
  file <- csv_of(d)
  expect_setequal(fit()$posterior$random[[1]]$levels, c("01", "u"))
  d$a[65540] <- "many"
  file <- csv_of(d)
  condition <- expect_source_refusal(
    bkm(y ~ a, row_source(file, "y"), threads = 1), "argument", "`a`"
  )
  expect_match(conditionMessage(condition), "\"many\" in row 65540")
})

test_that("text among the numbers of a database is not taken for 0", {
  d <- source_data(50)
  con <- sqlite_of(data.frame(d$x, y = d$y))
  on.exit(DBI::dbDisconnect(con))
  DBI::dbExecute(con, "update d set b = 'many' where rowid = 40")
  expect_source_refusal(
    fit_source(row_source(con, "select * from d", y = "y")), "argument", "several types"
  )
})

test_that("logical and 64-bit columns are numbers", {
  d <- source_data(200)
  x <- data.frame(d$x, flag = d$x[, 1] > 0)
  expect_identical(
    fit_source(row_source(x, d$y))$posterior,
    fit_source(row_source(data.frame(x[1:3], flag = +x$flag), d$y))$posterior
  )
  file <- csv_of(data.frame(x, y = d$y))
  expect_identical(
    fit_source(row_source(file, y = "y"))$posterior, fit_source(row_source(x, d$y))$posterior
  )
  con <- sqlite_of(data.frame(big = 2^40 + seq_len(200), y = d$y))
  on.exit(DBI::dbDisconnect(con))
  source <- row_source(con, "select cast(big as integer) as big, y from d", y = "y")
  fit <- fit_source(source)
  expect_equal(fit$transform$center[["big"]], 2^40 + 100.5)
})

test_that("a query whose columns change after the source was made", {
  d <- source_data(50)
  con <- sqlite_of(data.frame(d$x, y = d$y))
  on.exit(DBI::dbDisconnect(con))
  source <- row_source(con, "select * from d", y = "y")
  fit <- fit_source(source)
  DBI::dbExecute(con, "alter table d rename column b to renamed")
  condition <- expect_source_refusal(fit_source(source), "dimension", "differ")
  expect_setequal(condition$column, c("b", "renamed"))
  expect_source_refusal(predict(fit, source), "dimension", "differ")
  other <- row_source(con, "select * from d", y = "y")
  expect_source_refusal(predict(fit, other), "argument", "lacks column `b`")
  DBI::dbExecute(con, "drop table d")
  expect_source_refusal(fit_source(source), "argument", "cannot be read")
})

test_that("a closed connection and a query that fails", {
  d <- source_data(50)
  con <- sqlite_of(data.frame(d$x, y = d$y))
  source <- row_source(con, "select * from d", y = "y")
  expect_source_refusal(
    row_source(con, "select * from nothing", y = "y"), "argument", "cannot be read"
  )
  expect_source_refusal(row_source(con, 1:3, y = "y"), "argument", "query")
  expect_source_refusal(row_source(con, "select a, b as a, y from d", y = "y"), "argument", "twice")
  DBI::dbDisconnect(con)
  expect_source_refusal(fit_source(source), "argument", "closed")
  expect_source_refusal(row_source(con, "select * from d", y = "y"), "argument", "closed")
})

test_that("a connection that breaks off midway", {
  d <- source_data(70000, 2)
  con <- sqlite_of(data.frame(d$x, y = d$y))
  on.exit(DBI::dbDisconnect(con))
  # The database stops with an overflow when it comes to that row.
  source <- row_source(con, paste(
    "select abs(case when rowid = 69000 then -9223372036854775808 else a end)", "as a, b, y from d"
  ), y = "y")
  before <- list.files(tempdir(), "bayeskernel-rows")
  condition <- expect_source_refusal(fit_source(source), "argument", "broke off after row 65536")
  expect_match(conditionMessage(condition), "integer overflow")
  expect_equal(condition$row, 65536)
  expect_identical(list.files(tempdir(), "bayeskernel-rows"), before)
  expect_silent(DBI::dbGetQuery(con, "select 1")) # no result is left open
  fit <- fit_source(row_source(d$x, d$y))
  expect_source_refusal(predict(fit, source), "argument", "broke off after row 65536")
})

test_that("files that are not there, differ, or end too soon", {
  d <- source_data(100)
  frame <- data.frame(d$x, y = d$y)
  file <- csv_of(frame)
  expect_source_refusal(row_source(tempfile(), y = "y"), "argument", "no such file")
  other <- csv_of(stats::setNames(frame, c("a", "b", "d", "y")))
  condition <- expect_source_refusal(row_source(c(file, other), y = "y"), "dimension", "differ")
  expect_setequal(condition$column, c("c", "d"))
  expect_source_refusal(row_source(character()), "argument", "x")
  source <- row_source(file, y = "y")
  unlink(file)
  expect_source_refusal(fit_source(source), "argument", "cannot be opened")

  lines <- readLines(other)
  writeLines(c(lines[1:60], "1,2"), other)
  expect_source_refusal(fit_source(row_source(other, y = "y")), "argument", "cannot be read")
  empty <- rows_file()
  file.create(empty)
  expect_source_refusal(row_source(empty, y = "y"), "dimension", "columns")
})

# Promises that are not believed -----------------------------------------------

test_that("names of files, separators and columns that are none", {
  for (x in list("", NA_character_, c("a", ""), tempdir(), "stdin", "clipboard")) {
    expect_source_refusal(row_source(x), "argument", "file")
  }
  file <- csv_of(data.frame(a = 1:3, y = c(0, 1, 0)))
  odd <- list("", ",,", "\u00b7", "\xff", "\"", "\n", NA_character_, 1, c(",", ";"))
  for (sep in odd) expect_source_refusal(row_source(file, y = "y", sep = sep), "argument", "sep")
  expect_source_refusal(row_source(file, y = "\xff"), "argument", "`y`")
  writeBin(c(charToRaw("a,caf"), as.raw(0xe9), charToRaw("\n1,2\n")), file)
  expect_source_refusal(row_source(file), "dimension", "UTF-8")
  x <- matrix(1, 2, 1, dimnames = list(NULL, "caf\xe9"))
  expect_source_refusal(row_source(x), "argument", "UTF-8")
})

test_that("a second statement in a query is an error, a semicolon is not", {
  d <- source_data(20)
  con <- sqlite_of(data.frame(d$x, y = d$y))
  on.exit(DBI::dbDisconnect(con))
  for (query in c(
    "select * from d; drop table d", "select * from d;\n-- no\nselect 1;",
    "select ';' as a from d /* ; */; select 1"
  )) {
    expect_source_refusal(row_source(con, query, y = "y"), "argument", "more than one statement")
  }
  expect_true(DBI::dbExistsTable(con, "d"))
  for (query in c(
    "select * from d;", "select * from d ; \n ;",
    "select a, y, ';' = 'x;y' as \"b;c\" from d /* ; select 1 */ -- ; select 1"
  )) {
    expect_s3_class(suppressWarnings(row_source(con, query, y = "y")), "row_source")
  }
})

# Statements that change data, however they are dressed.
test_that("a query that changes the database is not sent", {
  con <- sqlite_of(data.frame(a = 1:4, y = c(0, 1, 0, 1)))
  on.exit(DBI::dbDisconnect(con))
  for (query in c(
    "delete from d", "drop table d", "update d set a = 0", "", "insert into d values (1, 2)",
    "-- select\ndelete from d", "/* select */ drop table d", "pragma user_version = 7",
    "explain select * from d", "replace into d values (1, 2)"
  )) {
    expect_source_refusal(row_source(con, query), "argument", "not a SELECT statement")
  }
  for (query in c(
    "with q as (select 1) delete from d",
    "WITH q AS (select 1)\nDELETE\nFROM d",
    "with q as (delete from d returning *) select * from q",
    "with q as (select 1) update d set a = 0",
    "with q as (select 1) insert into d select 1, 2",
    "select * into e from d", "with q as (select 1)/* ' */delete/* ' */from d"
  )) {
    expect_source_refusal(row_source(con, query), "argument", "changes the database")
  }
  for (query in c("select a from d /* delete", "select 'a from d")) {
    expect_source_refusal(row_source(con, query), "argument", "does not end")
  }
  # What no reading of the text shows, the table expression stops.
  expect_source_refusal(
    row_source(con, "with q as (select 1) delete\n[from] d"), "argument", "syntax"
  )
  # The look comes again when a source is read.
  source <- row_source(con, "select * from d", y = "y")
  source$query <- "delete from d"
  expect_source_refusal(bsvm(source, threads = 1), "argument", "not a SELECT statement")
  expect_identical(DBI::dbGetQuery(con, "select sum(a) from d")[[1]], 10L)
})

test_that("queries that read are sent, whatever their text and names hold", {
  con <- sqlite_of(data.frame(a = 1:4, y = c(0, 1, 0, 1)))
  on.exit(DBI::dbDisconnect(con))
  columns <- function(query) row_source(con, query)$all_columns
  expect_identical(columns("values (1, 2), (3, 4)"), c("column1", "column2"))
  expect_identical(columns("with q as (select a from d) select * from q"), "a")
  expect_identical(
    columns(paste("select a, 'it''s; delete from d' as \"delete from\"", "from d -- it's")),
    c("a", "delete from")
  )
  expect_identical(
    columns("-- first;\n select replace('a', 'b', 'c') as [a 'b] from d ;; "), "a 'b"
  )
  expect_identical(columns("select a from d where 'x\\' <> ';y'"), "a")
  expect_source_refusal(row_source(con, "select a, a from d"), "argument", "`a`")
})

test_that("integers that a connection cannot read are no missing values", {
  con <- DBI::dbConnect(RSQLite::SQLite(), ":memory:", bigint = "integer")
  on.exit(DBI::dbDisconnect(con))
  DBI::dbExecute(con, "create table d (a integer, y integer)")
  DBI::dbExecute(con, "insert into d values (1, 0), (3, 1), (3000000000, 1)")
  expect_source_refusal(
    bsvm(row_source(con, "select * from d", y = "y"), threads = 1), "argument", "beyond"
  )
  DBI::dbExecute(con, "update d set a = null where a > 9")
  expect_source_refusal(
    bsvm(row_source(con, "select * from d", y = "y"), threads = 1), "missing", "`a`"
  )
})

# A driver that writes down what it is asked. Outside of transactions Postgres has no savepoints;
# inside of them MariaDB does not change their kind.
logging_driver <- function(class, inside) {
  where <- globalenv()
  define <- function(generic, signature, f) methods::setMethod(generic, signature, f, where = where)
  methods::setClass(class,
    contains = "DBIConnection", slots = c(log = "environment"), where = where
  )
  note <- function(conn, text) conn@log$did <- c(conn@log$did, text)
  define(DBI::dbBegin, class, function(conn, ...) note(conn, "begin"))
  define(DBI::dbRollback, class, function(conn, ...) note(conn, "rollback"))
  define(
    DBI::dbExecute, c(class, "character"), function(conn, statement, ...) {
      if (grepl("^savepoint", statement) && !inside) stop("no transaction")
      if (class == "MariaDBConnection" && inside) stop("in a transaction")
      note(conn, statement)
    }
  )
  methods::new(class, log = new.env())
}

test_that("rows of Postgres and MariaDB are read in transactions that read", {
  expected <- list(
    PqConnection = c("begin", "set transaction read only"),
    MariaDBConnection = c("set transaction read only", "begin")
  )
  for (class in names(expected)) {
    con <- logging_driver(class, inside = FALSE)
    end_reading(con, begin_reading(con))
    expect_identical(con@log$did, c(expected[[class]], "rollback"))
    # The user's own transaction stays theirs.
    con <- logging_driver(class, inside = TRUE)
    end_reading(con, begin_reading(con))
    expect_false(any(c("begin", "rollback") %in% con@log$did))
    expect_false("set transaction read only" %in% con@log$did)
    methods::removeClass(class, where = globalenv())
  }
  con <- sqlite_of(data.frame(a = 1:3))
  on.exit(DBI::dbDisconnect(con))
  expect_false(begin_reading(con))
})

test_that("an empty text is a class and a group, an empty cell no number", {
  set.seed(1)
  d <- data.frame(a = rnorm(60), g = rep(c("", "u", "v"), 20), y = rep(c("", "x"), 30))
  d$a <- d$a + 2 * (d$y == "x")
  file <- csv_of(d[c("a", "y")])
  fit <- fit_source(row_source(file, y = "y"))
  expect_identical(fit$levels, c("", "x"))
  expect_equal(coef(fit_source(row_source(d["a"], d$y))), coef(fit))
  fit <- bkm(y ~ a + (1 | g), row_source(csv_of(d), y = "y"), threads = 1)
  expect_identical(fit$posterior$random[[1]]$levels, c("", "u", "v"))
  d$g <- rep(c(NA, 1, 2), 20)
  write.csv(d, file, row.names = FALSE, na = "")
  expect_error(
    bkm(y ~ a + (1 | g), row_source(file, y = "y"), threads = 1), "`g`",
    class = "bayeskernel_error_missing"
  )
  d$number <- c(NA, rnorm(59))
  write.csv(d[c("a", "number")], file, row.names = FALSE, na = "")
  expect_error(
    bkm(number ~ a, row_source(file, y = "number"), family = "gaussian"), "number",
    class = "bayeskernel_error_missing"
  )
})

# Arrow chunks -----------------------------------------------------------------

skip_without_arrow <- function() {
  skip_if_not_installed("DBI", "1.2.0")
  skip_if_not_installed("nanoarrow")
}

# A driver that hands out Arrow chunks and, as duckdb does, reads everything for dbFetch(). Its log
# counts chunks that are out and the rows of each.
chunk_driver <- function(frame, own_size = NULL) {
  log <- new.env()
  log$rows <- integer()
  log$at <- 0L
  log$cleared <- 0L
  where <- globalenv()
  define <- function(generic, signature, f) methods::setMethod(generic, signature, f, where = where)
  arrow <- function(name) getExportedValue("DBI", name)
  methods::setClass("ChunkConnection",
    contains = "DBIConnection", slots = c(log = "environment"), where = where
  )
  methods::setClass("ChunkResult",
    contains = "DBIResultArrow", slots = c(log = "environment"), where = where
  )
  define(DBI::dbIsValid, "ChunkConnection", function(dbObj, ...) TRUE)
  define(
    arrow("dbSendQueryArrow"), c("ChunkConnection", "character"),
    function(conn, statement, ...) {
      conn@log$at <- 0L
      methods::new("ChunkResult", log = conn@log)
    }
  )
  define(DBI::dbColumnInfo, "ChunkResult", function(res, ...) data.frame(name = names(frame)))
  define(DBI::dbClearResult, "ChunkResult", function(res, ...) {
    res@log$cleared <- res@log$cleared + 1L
    invisible(TRUE)
  })
  define(
    arrow("dbFetchArrowChunk"), "ChunkResult",
    function(res, ..., chunk_size = 1e6) {
      if (!is.null(own_size)) chunk_size <- own_size
      rows <- utils::head(seq_len(nrow(frame))[seq_len(nrow(frame)) > res@log$at], chunk_size)
      res@log$at <- res@log$at + length(rows)
      res@log$rows <- c(res@log$rows, length(rows))
      nanoarrow::as_nanoarrow_array(frame[rows, , drop = FALSE])
    }
  )
  list(connection = methods::new("ChunkConnection", log = log), log = log)
}

test_that("chunks of Arrow are read a block at a time, whatever their size", {
  skip_without_arrow()
  d <- source_data(70000, 2)
  frame <- data.frame(d$x, y = d$y)
  expected <- fit_source(row_source(frame, y = "y"))
  for (size in list(NULL, 7000, 1e6)) {
    driver <- chunk_driver(frame, size)
    source <- row_source(driver$connection, "select *", y = "y")
    expect_identical(driver$log$rows, integer()) # nothing but names is read
    fit <- fit_source(source)
    expect_identical(fit$posterior, expected$posterior)
    expect_identical(driver$log$cleared, 2L)
    asked <- if (is.null(size)) c(65536L, 4464L, 0L) else driver$log$rows
    expect_identical(driver$log$rows, asked)
    expect_identical(predict(fit, source), predict(expected, d$x))
  }
})

test_that("a driver without chunks of its own is read by dbFetch()", {
  con <- sqlite_of(data.frame(a = 1:3, y = c(0, 1, 0)))
  on.exit(DBI::dbDisconnect(con))
  expect_false(streams_arrow(con))
})

test_that("drivers with Arrow chunks of their own give the fit of the matrix", {
  skip_without_arrow()
  d <- source_data(70000, 2)
  frame <- data.frame(d$x, y = d$y)
  matches <- function(con) {
    expect_true(streams_arrow(con))
    source <- row_source(con, "select * from d order by rowid", y = "y")
    expect_identical(fit_source(source)$posterior, fit_source(row_source(d$x, d$y))$posterior)
  }
  there <- function(package, version = "0") {
    requireNamespace(package, quietly = TRUE) && utils::packageVersion(package) >= version
  }
  adbi <- there("adbi") && there("adbcsqlite") && there("RSQLite")
  duckdb <- there("duckdb", "1.5.0")
  if (!adbi && !duckdb) skip("neither adbi with adbcsqlite nor duckdb")
  if (adbi) {
    file <- tempfile(fileext = ".sqlite")
    writer <- DBI::dbConnect(RSQLite::SQLite(), file)
    DBI::dbWriteTable(writer, "d", frame)
    DBI::dbDisconnect(writer)
    con <- DBI::dbConnect(getExportedValue("adbi", "adbi")("adbcsqlite"), uri = file)
    matches(con)
    DBI::dbDisconnect(con)
    unlink(file)
  }
  if (duckdb) {
    con <- DBI::dbConnect(getExportedValue("duckdb", "duckdb")())
    DBI::dbWriteTable(con, "d", frame)
    matches(con)
    DBI::dbDisconnect(con, shutdown = TRUE)
  }
})

test_that("a formula chooses columns, and the response where the source has none", {
  set.seed(3)
  d <- data.frame(a = rnorm(200), b = rnorm(200), c = rnorm(200))
  d$y <- d$a - d$b + rlogis(200) > 0
  open <- row_source(d)
  own <- row_source(d[c("a", "b", "y")], "y")
  for (model in list(bkm, bsvm, gpsvm)) {
    expected <- predict(model(own, threads = 1), d, type = "link")
    fit <- model(y ~ a + b, open, threads = 1)
    expect_identical(predict(fit, d, type = "link"), expected)
    fit <- model(y ~ a + b, row_source(d, "y"), threads = 1)
    expect_identical(predict(fit, d, type = "link"), expected)
  }
  expect_error(bkm(open), class = "bayeskernel_error_response")
  expect_error(bkm(absent ~ a, open), "absent", class = "bayeskernel_error_response")
  expect_error(gpsvm(c ~ a, row_source(d, "y")), "different", class = "bayeskernel_error_response")
})
