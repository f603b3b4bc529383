#' Tables and figures of the papers
#'
#' Runs a table or a figure of one of the five papers of [published()] with the
#' models of this package, and compares its numbers with the printed ones.
#'
#' Quick start:
#' ```
#' reproduce("vermaak2004")
#' x <- reproduce("vermaak2004", "figure1_fit")
#' x
#' plot(x)
#' ```
#'
#' Each item is a small script in the folder `papers` of the installed package,
#' `system.file("papers", package = "bayeskernel")`, which uses exported functions only. The paper's
#' numbers are in `published.csv` next to it, the results of an earlier run in `results.csv`.
#'
#' Two numbers agree if they differ by less than two standard errors of the difference plus half a
#' unit of the paper's last digit. They are undecided if these two standard errors are more than the
#' paper's number, unless that is 0, a claim of no difference. The standard error of the paper's
#' number is known where it prints a standard deviation over folds or trials. Where it prints none,
#' a mean over repetitions has our standard deviation, over its number of repetitions. Folds and
#' splits of one data set overlap, so their standard errors are those of the average over splits,
#' not of a new sample. One run whose error is not known decides nothing, nor does a number of
#' something else, as of data of another size.
#'
#' @param paper,item A name of the list that `reproduce()` gives. Without `item` the items of that
#'   paper are listed. `"table1"` is all of `"table1_heart"`, `"table1_german"` and so on, in a
#'   named list, where no item has that name itself.
#' @param size `"quick"`, at most five minutes an item; or `"paper"`, the paper's sizes as far as
#'   the time allows; or `"stored"`, the results that came with the package, which takes no time.
#'   The list's columns `quick_runs` and `paper_runs` say what each is. Without `item` the stored
#'   verdicts are counted.
#' @param seed A whole number, from which all random numbers follow.
#' @param threads Threads of every fit, default 1, at which times are compared.
#' @return Without `item` a data frame with a row for each item: `paper`, `item`, `title`, and
#'   `where` it is in the paper. `quick` and `paper_size` are CPU minutes, of the stored run or
#'   expected, `quick_runs` and `paper_runs` the repetitions, rows and sweeps. The item needs `data`
#'   (sets of [paper_data()]) and `packages`; `ready` says if all of them are here. The list prints
#'   which are not.
#'
#'   With `size = "stored"` the columns are instead the numbers of verdicts of each kind, and the
#'   `size` of the run. Seconds are not counted, ratios of times are. A printed number that several
#'   of ours are compared with is counted once, the other times in column `again`. `summary()` of a
#'   list or of an item gives these counts, too.
#'
#'   With `item` a data frame of class `reproduction`: `quantity`, `paper`, `ours`, `mc_error` (its
#'   Monte Carlo standard error, 0 where nothing is random, printed as `se`), `verdict` and `note`.
#'   The verdict is
#'   `"agrees"`, `"better"`, `"worse"` or `"undecided"`, or `"differs"` where neither direction is
#'   better. It is empty where the paper has no number and for seconds, which are of another
#'   computer, and `"not run"` where ours has none: the note says why.
#'
#'   A claim in words, such as that one error is below another, is a bound, as `<0` of their
#'   difference. The verdict is `"undecided"` where ours is within two standard errors of it, on
#'   either side. Figures without printed numbers, such as boxplots, have claims alone. `plot()`
#'   draws the figure. Without one, and where stored results lack its fit, it draws the numbers,
#'   with a panel for each unit.
#' @section Errors: `bayeskernel_error_argument` for other names;
#'   `bayeskernel_error_data` where data or a package is missing.
#' @seealso [published()] for the arguments of each paper, [paper_data()] for its data sets. The
#'   package's site has an article for each paper, with all items.
#' @examples
#' head(reproduce())
#' reproduce("vermaak2004", size = "stored")
#' reproduce("vermaak2004", "table1", size = "stored")
#' \donttest{
#' reproduce("vermaak2004", "figure1_fit")
#' }
#' @aliases print.reproduction plot.reproduction as.data.frame.reproduction
#' @export
reproduce <- function(paper = NULL, item = NULL, size = c("quick", "paper", "stored"), seed = 1,
                      threads = 1) {
  papers <- names(published_models())
  if (!is.null(paper)) papers <- check_choice(paper, papers, "paper")
  if (is.null(paper) || is.null(item)) {
    list_one <- if (identical(size, "stored")) count_verdicts else list_items
    return(do.call(rbind, lapply(papers, list_one)))
  }
  size <- check_choice(size, c("quick", "paper", "stored"), "size")
  item <- items_of(paper, item)
  if (length(item) > 1L) {
    return(sapply(item, reproduce, paper = paper, size, seed, threads, simplify = FALSE))
  }
  if (size == "stored") return(stored_item(paper, item))
  seed <- check_seed(seed)
  run_item(paper, item, size, seed, check_threads(threads))
}

papers_file <- function(...) system.file("papers", ..., package = "bayeskernel")

# What a file of code defines that the papers share; read once.
papers_code <- local({
  known <- list()
  function(file) {
    if (is.null(known[[file]])) {
      home <- new.env(parent = topenv())
      sys.source(papers_file(file), home)
      known[[file]] <<- home
    }
    known[[file]]
  }
})

# In the order of the papers: table 2 before table 10.
item_names <- function(paper) {
  names <- sub("[.]R$", "", list.files(papers_file(paper), "[.]R$"))
  key <- gsub("(?<![0-9])([0-9]{1,2})(?![0-9])", "0\\1", names, perl = TRUE)
  names[order(gsub("(?<![0-9])([0-9]{2})(?![0-9])", "0\\1", key, perl = TRUE), method = "radix")]
}

# An item, or all whose names go on after it.
items_of <- function(paper, item) {
  all <- item_names(paper)
  if (is.character(item) && length(item) == 1L && !item %in% all) {
    own <- all[startsWith(all, paste0(item, "_")) | startsWith(all, paste0(item, "."))]
    if (length(own)) return(own)
  }
  check_choice(item, all, "item")
}

# The script of an item, with the helpers that all share. `size` is read by the helpers' pick().
load_item <- function(paper, item, size = "quick") {
  home <- new.env(parent = topenv())
  sys.source(papers_file("helpers.R"), home)
  home$size <- size
  script <- new.env(parent = home)
  sys.source(papers_file(paper, paste0(item, ".R")), script)
  script
}

list_items <- function(paper) {
  stored <- stored_results(paper)
  rows <- lapply(item_names(paper), function(item) {
    about <- load_item(paper, item)$about
    whole <- minutes_of(about, stored[stored$item == item, ], "paper")
    data.frame(
      paper = paper, item = item, title = about$title, where = about$where,
      quick = min(whole, minutes_of(about, stored[stored$item == item, ], "quick")),
      paper_size = whole, quick_runs = size_text(about, "quick"),
      paper_runs = size_text(about, "paper"),
      data = paste(about$data, collapse = ", "), packages = paste(about$packages, collapse = ", "),
      ready = !length(lacking(about))
    )
  })
  structure(do.call(rbind, rows), class = c("reproduction_items", "data.frame"))
}

# What a size is, in words; items whose sizes are the same have none.
size_text <- function(about, size) {
  if (size %in% names(about$sizes)) about$sizes[[size]] else same_sizes
}
same_sizes <- "the same at both sizes"

# A row an item: how many of the paper's numbers and claims have each verdict.
count_verdicts <- function(paper) {
  items <- intersect(item_names(paper), stored_results(paper)$item)
  do.call(rbind, lapply(items, function(item) summary(stored_item(paper, item))))
}

#' @export
summary.reproduction <- function(object, ...) {
  kinds <- c("agrees", "better", "worse", "differs", "undecided")
  counted <- object$verdict %in% kinds & !grepl("^(CPU )?seconds", object$quantity)
  again <- attr(object, "again")
  structure(
    data.frame(
      paper = attr(object, "paper"), item = attr(object, "item"),
      as.list(table(factor(object$verdict[counted & !again], kinds))),
      again = sum(counted & again), size = attr(object, "how")$size
    ),
    class = c("reproduction_counts", "data.frame")
  )
}

#' @export
summary.reproduction_items <- function(object, ...) {
  do.call(rbind, lapply(unique(object$paper), count_verdicts))
}

# What print() says of sets and packages that some items need.
lacking_lines <- function(needed) {
  sets <- intersect(needed, names(paper_sets()))
  lacks <- lacking(list(data = sets, packages = setdiff(needed, sets)))
  c(
    if (length(lacks$sets)) sprintf(
      "Data sets that are not here: %s. paper_data(\"%s\") says where the first is from.",
      paste(lacks$sets, collapse = ", "), lacks$sets[1L]
    ),
    if (length(lacks$packages)) {
      sprintf("Packages that are not here: %s.", paste(lacks$packages, collapse = ", "))
    }
  )
}

# What the stored run took, or what the script expects.
minutes_of <- function(about, stored, size) {
  seconds <- stored$seconds[stored$size == size | is.null(about$sizes)]
  if (length(seconds)) signif(seconds[1L] / 60, 2) else about$minutes[[size]]
}

# Sets and packages that an item needs and that are not here.
lacking <- function(about) {
  sets <- Filter(function(name) !nzchar(where_is(name)), about$data)
  packages <- Filter(function(name) !requireNamespace(name, quietly = TRUE), about$packages)
  list(sets = sets, packages = packages)[lengths(list(sets, packages)) > 0L]
}

run_item <- function(paper, item, size, seed, threads) {
  script <- load_item(paper, item, size)
  lacks <- lacking(script$about)
  if (length(lacks$packages)) {
    bk_abort(
      "data", "This item needs a package that is not here.",
      sprintf("Install: %s.", paste(lacks$packages, collapse = ", ")), found = lacks$packages
    )
  }
  for (name in lacks$sets) abort_no_set(name, paper_sets()[[name]])
  old <- options(bayeskernel.threads = threads, bayeskernel.progress = FALSE)
  on.exit(options(old))
  told <- character()
  time <- system.time(result <- with_seed(seed, withCallingHandlers(
    script$run(),
    warning = function(w) {
      told <<- c(told, class(w)[1L])
      tryInvokeRestart("muffleWarning")
    },
    message = function(m) tryInvokeRestart("muffleMessage")
  )))
  new_reproduction(
    compared(result, published_numbers(paper, item), error_share(script$about, size)), paper, item,
    list(
      size = size, seed = seed, seconds = sum(time[1:2]),
      version = as.character(utils::packageVersion("bayeskernel")), warnings = table(told)
    ), attr(result, "raw")
  )
}

new_reproduction <- function(table, paper, item, how, raw = NULL) {
  about <- load_item(paper, item)$about
  structure(
    table, paper = paper, item = item, title = about$title, where = about$where, how = how,
    runs = size_text(about, how$size), raw = raw, class = c("reproduction", "data.frame")
  )
}

# What the paper prints of an item; numbers as text, for their last digit.
published_numbers <- function(paper, item) {
  table <- read_as_text(papers_file(paper, "published.csv"))
  table[table$item == item, ]
}

read_as_text <- function(file) {
  utils::read.csv(file, colClasses = "character", na.strings = character())
}

# The error of a mean of the paper over that of ours, by their numbers of repetitions; NA where the
# paper's numbers are no such means.
error_share <- function(about, size) {
  count <- about$repetitions
  if (is.null(count)) NA_real_ else sqrt(count[size] / count[["paper"]])
}

# share: error_share(), for numbers that are printed without an error.
compared <- function(result, printed, share = NA_real_) {
  result <- with_ratio_errors(with_not_run(result, printed))
  at <- match(result$quantity, printed$quantity)
  text <- function(column) {
    out <- as.character(printed[[column]])[at]
    out[is.na(out)] <- ""
    out
  }
  number <- function(column) suppressWarnings(as.numeric(text(column)))
  table <- data.frame(
    quantity = result$quantity, paper = number("paper"), ours = result$ours,
    mc_error = result$mc_error, verdict = "", note = ""
  )
  bound <- grepl("^[<>]", text("paper"))
  se <- ifelse(nzchar(text("se")) | bound, number("se"), share * table$mc_error)
  table$verdict <- mapply(
    verdict, table$ours, table$mc_error, text("paper"), ifelse(is.na(se), "", se), text("better")
  )
  # Seconds are of another computer, and p values of the printed means check the paper alone.
  table$verdict[grepl("^(CPU )?seconds|^p of the printed means", table$quantity)] <- ""
  # The paper's number is of something else, which the column says.
  apart <- text("undecided")
  table$verdict[nzchar(apart) & nzchar(table$verdict)] <- "undecided"
  table$verdict[!result$run] <- "not run"
  # Why they differ is said where they do.
  undecided <- table$verdict == "undecided"
  table$note[undecided] <- ifelse(
    bound, "Within two standard errors of the bound.",
    "Two standard errors of the difference exceed the number."
  )[undecided]
  unknown <- undecided & is.na(table$mc_error)
  table$note[unknown] <- "One run: its error is not known."
  table$note[undecided & nzchar(apart)] <- apart[undecided & nzchar(apart)]
  differ <- !table$verdict %in% c("", "agrees", "undecided")
  table$note[differ] <- ifelse(nzchar(text("note")), text("note"), "unexplained")[differ]
  none <- is.na(table$ours) & nzchar(text("paper"))
  table$note[none] <- text("note")[none]
  rownames(table) <- NULL
  structure(
    table, printed = text("paper"), se = number("se"), again = text("again") == "yes",
    error = sqrt(table$mc_error^2 + ifelse(is.na(se), 0, se)^2),
    # What `where` says after a semicolon: how the paper's number comes about.
    remark = sub("^[^;]*(; )?", "", text("where"))
  )
}

# The rows of a result, then a row without a number for each that the paper has alone.
with_not_run <- function(result, printed) {
  result <- result[c("quantity", "ours", "mc_error")]
  lacks <- setdiff(printed$quantity[nzchar(printed$paper)], result$quantity)
  none <- rep(NA_real_, length(lacks))
  more <- data.frame(quantity = lacks, ours = none, mc_error = none)
  cbind(rbind(result, more), run = rep(c(TRUE, FALSE), c(nrow(result), length(lacks))))
}

# The error of a ratio of two times from their own errors, as if these were independent.
with_ratio_errors <- function(result) {
  parts <- strsplit(result$quantity, " takes times as long as ", fixed = TRUE)
  for (k in which(lengths(parts) == 2L & is.na(result$mc_error))) {
    at <- match(paste("seconds,", parts[[k]]), result$quantity)
    relative <- result$mc_error[at] / result$ours[at]
    result$mc_error[k] <- result$ours[k] * sqrt(sum(relative^2))
  }
  result
}

# One verdict.
# ours, se_ours: our number and its Monte Carlo error, NA if unknown, 0 if nothing is random.
# paper, se: text: the paper's number, and its standard error or "". A claim in words is a bound,
#   as "<0" or ">0.5".
# better: "lower", "higher" or "".
verdict <- function(ours, se_ours, paper, se, better) {
  if (!nzchar(paper) || is.na(ours)) return("")
  if (is.na(se_ours)) return("undecided")
  if (grepl("^[<>]", paper)) {
    over <- ours - as.numeric(substring(paper, 2L))
    if (abs(over) <= 2 * se_ours) return("undecided")
    if ((over < 0) == startsWith(paper, "<")) return("agrees")
    if (!nzchar(better)) return("differs")
    return(if ((over < 0) == (better == "lower")) "better" else "worse")
  }
  se <- if (nzchar(se)) as.numeric(se) else 0
  number <- as.numeric(paper)
  difference <- ours - number
  errors <- 2 * sqrt(se_ours^2 + se^2)
  if (abs(difference) <= errors + half_unit(paper) + 1e-12) {
    # Errors as large as the number agree with any; a claim of no difference is about them.
    if (number != 0 && errors > abs(number)) "undecided" else "agrees"
  } else if (!nzchar(better)) {
    "differs"
  } else if ((difference < 0) == (better == "lower")) {
    "better"
  } else {
    "worse"
  }
}

# Half a unit of the last digit of a number as it is printed.
half_unit <- function(text) {
  digits <- if (grepl(".", text, fixed = TRUE)) nchar(sub(".*[.]", "", text)) else 0
  0.5 * 10^-digits
}

# Stored results --------------------------------------------------------------

stored_results <- function(paper) {
  file <- papers_file(paper, "results.csv")
  if (!nzchar(file)) return(NULL)
  table <- read_as_text(file)
  for (name in c("ours", "mc_error", "seed", "seconds")) {
    table[[name]] <- suppressWarnings(as.numeric(table[[name]]))
  }
  table
}

stored_item <- function(paper, item) {
  table <- stored_results(paper)
  own <- table[table$item == item & table$kind == "result", ]
  if (is.null(table) || !nrow(own)) {
    bk_abort(
      "data", "No results of this item are stored.",
      "Accepted: size = \"quick\" or \"paper\", which run it.", found = item
    )
  }
  new_reproduction(
    compared(
      own, published_numbers(paper, item), error_share(load_item(paper, item)$about, own$size[1L])
    ), paper, item,
    list(
      size = own$size[1L], seed = own$seed[1L], seconds = own$seconds[1L],
      version = own$version[1L], warnings = integer()
    ), stored_curves(table[table$item == item & table$kind == "figure", ])
  )
}

# The points of a figure, each named by its line and its place on it.
stored_curves <- function(rows) {
  if (nrow(rows) == 0L) return(NULL)
  data.frame(
    line = sub(" at [^ ]*$", "", rows$quantity), x = as.numeric(sub(".* ", "", rows$quantity)),
    y = rows$ours, error = rows$mc_error
  )
}

# Methods ---------------------------------------------------------------------

# The columns that a reader chooses by, and what is missing here.
#' @export
print.reproduction_items <- function(x, ...) {
  if (!all(c("paper", "item", "title", "quick", "paper_size", "ready") %in% names(x))) {
    return(NextMethod())
  }
  minutes <- function(column) vapply(60 * column, format_seconds, "")
  for (paper in unique(x$paper)) {
    own <- x[x$paper == paper, ]
    print_line(paste0("reproduce(\"", paper, "\", item):"))
    print_columns(data.frame(
      item = own$item, title = own$title, quick = minutes(own$quick),
      paper = ifelse(own$paper_runs == same_sizes, "same", minutes(own$paper_size)),
      here = ifelse(own$ready, "yes", "no")
    ), "title")
    cat("\n")
  }
  print_line(paste(
    "quick, paper: CPU time of these sizes, as stored or expected.",
    "here: its data and packages are installed.",
    "More columns: where, quick_runs, paper_runs, data, packages."
  ))
  needed <- unlist(strsplit(c(x$data[!x$ready], x$packages[!x$ready]), ", "))
  for (line in lacking_lines(unique(needed))) print_line(line)
  invisible(x)
}

# The counts of verdicts and their sums, paper by paper.
#' @export
print.reproduction_counts <- function(x, ...) {
  if (nrow(x) == 0L || !all(c("paper", "item", "again", "size") %in% names(x))) return(NextMethod())
  print_line("The paper's numbers and claims, by the verdict on ours.")
  for (paper in unique(x$paper)) {
    own <- as.data.frame(unclass(x))[x$paper == paper, names(x) != "paper"]
    counts <- vapply(own, is.numeric, NA)
    own <- rbind(own, c(list(item = "all"), colSums(own[counts]), list(size = "")))
    own[counts] <- lapply(own[counts], function(count) ifelse(count > 0, count, ""))
    cat("\n")
    print_line(paste0(paper, ":"))
    print_columns(own, character())
  }
  cat("\n")
  print_line("again: numbers that another item counts.")
  invisible(x)
}

#' @export
plot.reproduction_items <- function(x, ...) {
  bk_abort(
    "argument", "A list of items has no plot.", "Found: no `item`.",
    sprintf("Accepted: plot(reproduce(\"%s\", \"%s\", \"stored\")).", x$paper[1L], x$item[1L])
  )
}

#' @export
print.reproduction <- function(x, digits = 3, ...) {
  how <- attr(x, "how")
  print_line(sprintf("%s, %s: %s", attr(x, "paper"), attr(x, "where"), attr(x, "title")))
  print_line(sprintf(
    "size %s (%s), seed %g, version %s, %s CPU seconds", how$size, attr(x, "runs"), how$seed,
    how$version, format(signif(how$seconds, 2))
  ))
  cat("\n")
  print_columns(data.frame(
    quantity = x$quantity, paper = attr(x, "printed"),
    ours = number_text(x$ours, x$mc_error, digits),
    se = number_text(x$mc_error, x$mc_error, digits), verdict = x$verdict
  ), "quantity")
  said <- c(x$note, remark_text(x))
  for (note in setdiff(said, "")) {
    cat("\n")
    print_line(paste0(paste(rep(x$quantity, 2L)[said == note], collapse = "; "), ": ", note))
  }
  if (length(how$warnings)) {
    cat("\nWarnings: ", paste(how$warnings, names(how$warnings), collapse = ", "), "\n", sep = "")
  }
  invisible(x)
}

# A sentence on how the paper's numbers come about, or "".
remark_text <- function(x) sub("^(.+)$", "Paper's number: \\1.", attr(x, "remark"))

# Numbers as text, to the second digit of their standard error.
number_text <- function(number, error, digits) {
  places <- rep_len(1 - floor(log10(signif(error, 2))), length(number))
  out <- vapply(number, function(x) {
    format(x, digits = digits, scientific = !is.na(x) && x != 0 && abs(x) < 1e-6)
  }, "")
  known <- which(is.finite(places) & !is.na(number))
  out[known] <- vapply(known, function(k) {
    sprintf("%.*f", max(places[k], 0), round(number[k], places[k]) + 0)
  }, "")
  ifelse(is.na(number), "", out)
}

#' @export
as.data.frame.reproduction <- function(x, ...) {
  for (name in setdiff(names(attributes(x)), c("names", "row.names"))) attr(x, name) <- NULL
  structure(unclass(x), class = "data.frame")
}

#' @export
plot.reproduction <- function(x, ...) {
  script <- load_item(attr(x, "paper"), attr(x, "item"))
  # Letters of one size in all figures, larger on large devices.
  old <- graphics::par(ps = 9 * min(1.6, max(1, graphics::par("din")[1L] / 7)))
  on.exit(graphics::par(old))
  if (is.function(script$draw_table)) {
    script$draw_table(x)
  } else if (is.function(script$draw) && !is.null(attr(x, "raw"))) {
    script$draw(attr(x, "raw"))
  } else {
    papers_code("plots.R")$plot_numbers(x)
  }
  invisible(x)
}

#' @export
`[.reproduction` <- function(x, ...) as.data.frame(x)[...]
