#' Data sets of the papers
#'
#' Finds a data set of one of the five papers of [published()]: in a folder
#' of yours, in the user's cache, in an R package that has it, or at its public
#' source, from which it is fetched if you agree. No data come with this package.
#'
#' A folder is named by `options(bayeskernel.data = )`, or by the environment variable
#' `BAYESKERNEL_DATA`. Files in it may be those of the public source, or tables with a header and
#' commas, the response last; the error of a set that is not found lists their names. What is
#' fetched goes to the cache, [tools::R_user_dir()], and is found there from then on.
#'
#' Before anything is fetched, its origin and licence are printed, and after it the MD5 sum of the
#' file. A table with other rows or columns than it should have is refused, from wherever it comes.
#'
#' @param name A name of the list that `paper_data()` gives.
#' @param download `TRUE` fetches what is found nowhere else, `FALSE` never.
#'   `NULL`, the default, asks where R is used interactively.
#' @return A data frame, the response in its last column except for `"toenail"`, which is as its
#'   package has it. `"numerals"` and `"protein"` hold a matrix in a column for each feature space.
#'   `"acath"` has two outcomes: `tvdlm` is no predictor of the last column, `sigdz`.
#'
#'   Without `name` a data frame of all sets: `name`, `paper`, `title`, `rows`, `columns`, where it
#'   is `found` without a download (a package, a folder, or `""`), `origin` and `licence`. Four
#'   columns are printed.
#' @section Errors: `bayeskernel_error_data` where a set is not found, cannot be
#'   fetched, or is not the set it should be.
#' @examples
#' paper_data()[c("name", "paper", "found")]
#' head(paper_data("crabs"))
#' @export
paper_data <- function(name = NULL, download = NULL) {
  if (is.null(name)) return(listed_sets())
  name <- check_choice(name, names(paper_sets()), "name")
  check_flag(download %||% FALSE, "download")
  table <- local_set(name) %||% fetched_set(name, download)
  settled_set(table, name)
}

paper_sets <- function() papers_code("data-sets.R")$paper_sets

listed_sets <- function() {
  text <- function(what) vapply(paper_sets(), function(set) set[[what]], "")
  number <- function(what) vapply(paper_sets(), function(set) set[[what]], 0L)
  table <- data.frame(
    name = names(paper_sets()), paper = text("paper"), title = text("title"), rows = number("rows"),
    columns = number("columns"), found = vapply(names(paper_sets()), where_is, ""),
    origin = text("origin"), licence = text("licence"), row.names = NULL
  )
  structure(table, class = c("listed_sets", "data.frame"))
}

# The columns that fit the screen; others where they are chosen.
#' @export
print.listed_sets <- function(x, ...) {
  if (nrow(x) == 0L) return(NextMethod())
  shown <- c("name", "paper", "title", "found")
  if (!all(c(shown, "origin") %in% names(x))) return(print_wrapped(x))
  print_wrapped(x, shown)
  print_line(sprintf("More columns: %s.", toString(setdiff(names(x), shown))))
  invisible(x)
}

data_cache <- function() tools::R_user_dir("bayeskernel", "cache")

# The place that has a set, without reading it: list(kind, at), or NULL.
find_set <- function(name) {
  set <- paper_sets()[[name]]
  if (!is.null(set$make)) return(list(kind = "made here", at = set$make))
  # The user's before the cache.
  folders <- c(getOption("bayeskernel.data"), Sys.getenv("BAYESKERNEL_DATA"), data_cache())
  for (folder in folders[nzchar(folders) & dir.exists(folders)]) {
    at <- files_in(folder, set)
    if (!is.null(at)) return(list(kind = folder, at = at))
  }
  package <- strsplit(set$package %||% "", "::", fixed = TRUE)[[1L]]
  if (length(package) && requireNamespace(package[1L], quietly = TRUE)) {
    list(kind = paste("package", package[1L]), at = package)
  }
}

# One file and its reader, or a group of files.
files_in <- function(folder, set) {
  for (group in set$groups) {
    files <- file.path(folder, unlist(group))
    if (all(file.exists(files))) return(stats::setNames(files, names(group)))
  }
  for (file in names(set$files)) {
    if (file.exists(file.path(folder, file))) return(file.path(folder, file))
  }
}

where_is <- function(name) {
  found <- find_set(name)
  if (is.null(found)) "" else found$kind
}

local_set <- function(name) {
  found <- find_set(name)
  set <- paper_sets()[[name]]
  if (is.null(found)) {
    NULL
  } else if (is.function(found$at)) {
    found$at()
  } else if (startsWith(found$kind, "package ")) {
    home <- new.env()
    utils::data(list = found$at[2L], package = found$at[1L], envir = home)
    (set$from_package %||% identity)(home[[found$at[2L]]])
  } else {
    read_set(set, found$at)
  }
}

read_set <- function(set, at) {
  if (!is.null(set$read_group)) return(set$read_group(at))
  read <- set$files[[basename(at)]]
  tryCatch(read(at), error = function(e) {
    if (inherits(e, "bayeskernel_error")) stop(e)
    bk_abort(
      "data", "A file of data is not what it should be.", sprintf("File: %s.", at),
      sprintf("Found: %s.", conditionMessage(e)), "Accepted: a table that can be read.",
      found = conditionMessage(e), expected = "a table that can be read"
    )
  })
}

fetched_set <- function(name, download) {
  set <- paper_sets()[[name]]
  if (!length(set$url) || !agreed(name, set, download)) abort_no_set(name, set)
  dir.create(data_cache(), recursive = TRUE, showWarnings = FALSE)
  for (file in names(set$url)) fetch_file(set$url[[file]], file, name)
  local_set(name)
}

agreed <- function(name, set, download) {
  message(set_origin(name, set))
  if (is.null(download)) {
    interactive() && isTRUE(utils::askYesNo("Fetch it?", default = FALSE))
  } else {
    download
  }
}

set_origin <- function(name, set) sprintf("%s: %s. Licence: %s.", name, set$origin, set$licence)

# A file that is cut short must not stay in the cache.
fetch_file <- function(url, file, name) {
  part <- tempfile("part", data_cache())
  on.exit(unlink(part))
  failed <- tryCatch(
    suppressWarnings(utils::download.file(url, part, mode = "wb", quiet = TRUE)),
    error = conditionMessage
  )
  if (!identical(failed, 0L)) {
    bk_abort(
      "data", "A data set cannot be fetched.",
      sprintf("Found: %s from %s.", failed, url), folder_advice(name), column = name, found = url
    )
  }
  file.rename(part, file.path(data_cache(), file))
  message(sprintf("%s, MD5 %s", file, tools::md5sum(file.path(data_cache(), file))))
}

abort_no_set <- function(name, set) {
  package <- sub("::.*", "", set$package %||% "")
  bk_abort(
    "data", sprintf("The data set \"%s\" is not here.", name), set_origin(name, set),
    if (nzchar(package)) sprintf("Install package %s, which has it.", package),
    if (length(set$url)) sprintf("Fetch it by paper_data(\"%s\", download = TRUE).", name),
    folder_advice(name), column = name, found = character(), expected = set_files(set)
  )
}

set_files <- function(set) {
  c(names(set$files), vapply(set$groups, function(group) {
    paste(unlist(group), collapse = " with ")
  }, ""))
}

folder_advice <- function(name) {
  files <- set_files(paper_sets()[[name]])
  if (length(files)) {
    sprintf(
      paste(
        "Put %s into a folder, and name that by options(bayeskernel.data",
        "= ) or the environment variable BAYESKERNEL_DATA."
      ),
      paste(files, collapse = " or ")
    )
  }
}

# The table that every source gives, or an error.
settled_set <- function(table, name) {
  set <- paper_sets()[[name]]
  if (!is.null(set$settle)) table <- set$settle(table)
  if (!identical(dim(table), c(set$rows, set$columns))) {
    bad_set(
      name, sprintf("%d rows, %d columns", nrow(table), ncol(table)),
      sprintf("%d rows, %d columns", set$rows, set$columns)
    )
  }
  if (!is.null(set$digest) && table_digest(table) != set$digest) {
    bad_set(name, "other numbers", sprintf("a table of MD5 %s", set$digest))
  }
  table
}

bad_set <- function(name, found, expected) {
  bk_abort(
    "data", sprintf("The data set \"%s\" is not the one of the paper.", name),
    sprintf("Found: %s, from %s.", found, where_is(name)), sprintf("Accepted: %s.", expected),
    column = name, found = found, expected = expected
  )
}

table_digest <- function(table) {
  file <- tempfile()
  on.exit(unlink(file))
  writeBin(charToRaw(paste0(do.call(paste, c(table, sep = ",")), "\n", collapse = "")), file)
  unname(tools::md5sum(file))
}
