# The files of R/ by their prefixes, each of which calls its own and those before it. From the root
# of the sources:
#
#   Rscript tools/layers.R            calls of a later prefix, files in circles of calls
#   Rscript tools/layers.R --write    and the table of ARCHITECTURE.md anew
#
# tests/testthat/test-layers.R reads upward_calls().

prefixes <- c(
  util = "lists and lines of text",
  arg = "errors with classes, checks, arguments of all models as one table, `control`",
  kernel = "kinds of kernels, their objects, matrices, ranks, the search over their parameters",
  posterior = "links, mixtures of Gaussians, draws and their tables, R-hat and effective draws",
  run = "chains, when they end, workers of a cluster, the stamp of a fit",
  term = "what a formula has: columns, bars, smooths, `gp()`, units; the part of it that it hides",
  rows = "rows as a model takes them: formula, frame, matrix, spaces, response, missing, sources",
  model = "what a model is, the fit and its data, parameters, facts; then each model",
  method = "generics of a user, one method of each for all models",
  show = "print, summary, tidy",
  plot = "plots by base graphics and ggplot2, and which of them a model has",
  bridge = "marginaleffects, emmeans, insight, parsnip",
  paper = "tables and figures of papers, their data",
  package = "pages of help without a function"
)
aside <- c("RcppExports.R", "bayeskernel-package.R", "zzz.R")

prefix_of <- function(file) match(sub("-.*", "", file), names(prefixes))

name_of <- function(code) {
  named <- is.call(code) && identical(code[[1]], as.name("<-")) && is.name(code[[2]])
  if (named) as.character(code[[2]]) else ""
}

# One row for each object of the package that a function or a constant of it uses: called, or handed
# on by its name. What is local to the function, an argument too, is not of the package.
read_calls <- function(root = ".") {
  files <- setdiff(list.files(file.path(root, "R"), "[.]R$"), aside)
  code <- lapply(file.path(root, "R", files), function(file) {
    as.list(parse(file, keep.source = FALSE))
  })
  file <- rep(files, lengths(code))
  code <- unlist(code, recursive = FALSE)
  by <- vapply(code, name_of, "")
  home <- stats::setNames(file, by)
  do.call(rbind, lapply(seq_along(code), function(i) {
    whole <- eval(call("function", NULL, code[[i]]), baseenv())
    used <- setdiff(intersect(codetools::findGlobals(whole), by), c("", by[i]))
    data.frame(
      file = rep(file[i], length(used)), by = rep(by[i], length(used)), used = used,
      home = unname(home[used])
    )
  }))
}

upward_calls <- function(root = ".", calls = read_calls(root)) {
  up <- calls[prefix_of(calls$home) > prefix_of(calls$file), ]
  sprintf("%s: %s() calls %s() of %s", up$file, up$by, up$used, up$home)
}

# Sets of files, or of prefixes, that reach one another.
circles <- function(from, to) {
  all <- unique(c(from, to))
  reach <- table(factor(from, all), factor(to, all)) > 0
  for (k in all) reach <- reach | outer(reach[, k], reach[k, ], `&`)
  both <- reach & t(reach)
  Filter(function(set) length(set) > 1L, unique(lapply(all, function(k) all[both[k, ]])))
}

table_of_prefixes <- function(root = ".") {
  files <- setdiff(list.files(file.path(root, "R"), "[.]R$"), aside)
  lines <- vapply(file.path(root, "R", files), function(file) length(readLines(file)), 1L)
  at <- factor(names(prefixes)[prefix_of(files)], names(prefixes))
  c(
    "| prefix | files | lines | what it holds |", "|---|--:|--:|---|",
    sprintf(
      "| `%s-` | %d | %d | %s |", names(prefixes), as.integer(table(at)),
      as.integer(tapply(lines, at, sum)), prefixes
    )
  )
}

if (sys.nframe() == 0L) {
  calls <- read_calls()
  up <- upward_calls(calls = calls)
  cat(length(up), "calls of a later prefix\n")
  writeLines(up)
  of_prefix <- function(file) names(prefixes)[prefix_of(file)]
  between <- circles(of_prefix(calls$file), of_prefix(calls$home))
  cat(length(unlist(between)), "prefixes in circles\n")
  for (set in circles(calls$file, calls$home)) {
    cat(length(set), "files in a circle:", toString(sub("[.]R$", "", sort(set))), "\n")
  }
  if ("--write" %in% commandArgs(TRUE)) {
    text <- readLines("ARCHITECTURE.md")
    head <- grep("^[|] prefix [|] files [|]", text)
    last <- head + which(!startsWith(c(text, "")[head:(length(text) + 1L)], "|"))[1] - 2L
    text <- c(text[seq_len(head - 1L)], table_of_prefixes(), text[-seq_len(last)])
    writeLines(text, "ARCHITECTURE.md")
  }
}
