# The way of one plain fit through R/: how many functions run, in how many
# files, and how many of the calls, each pair of caller and callee counted once,
# go from one file to another. `%||%` is not counted: R has it from 4.4.
#
#   Rscript bench/flow.R            counts
#   Rscript bench/flow.R bsvm       and the functions of that step, by file
#
# Of the installed package and the files of this folder's parent, which have to
# be of one version.

library(bayeskernel)

files <- list.files("R", "[.]R$", full.names = TRUE)
home <- unlist(lapply(files, function(file) {
  code <- Filter(function(e) {
    is.call(e) && identical(e[[1]], as.name("<-")) && is.name(e[[2]]) &&
      is.call(e[[3]]) && identical(e[[3]][[1]], as.name("function"))
  }, as.list(parse(file)))
  names <- vapply(code, function(e) as.character(e[[2]]), "")
  stats::setNames(rep(basename(file), length(names)), names)
}))
home <- home[names(home) != "%||%"]

# Each function of the package tells when it begins and ends.
trail <- new.env()
enter <- function(name) {
  caller <- if (length(trail$stack)) trail$stack[length(trail$stack)] else ""
  trail$calls[[paste(caller, name, sep = "\r")]] <- TRUE
  trail$stack <- c(trail$stack, name)
}
leave <- function() trail$stack <- trail$stack[-length(trail$stack)]
space <- asNamespace("bayeskernel")
methods <- get(".__S3MethodsTable__.", space)
watched <- function(f, name) {
  body(f) <- substitute({
    ENTER(NAME)
    on.exit(LEAVE(), add = TRUE)
    BODY
  }, list(ENTER = enter, LEAVE = leave, NAME = name, BODY = body(f)))
  f
}
bare <- told <- list()
for (name in intersect(names(home), ls(space, all.names = TRUE))) {
  f <- get(name, space)
  # What runs by on.exit() or reads the frames would be another function.
  if (!is.function(f) || is.primitive(f) ||
        any(c("on.exit", "sys.function", "match.call", "missing") %in% all.names(body(f)))) {
    next
  }
  bare[[name]] <- f
  f <- watched(f, name)
  told[[name]] <- f
  unlockBinding(name, space)
  assign(name, f, space)
  if (exists(name, methods, inherits = FALSE)) assign(name, f, methods)
}
# Lists of functions, as models are, have them, too.
watched_list <- function(x) {
  for (k in seq_along(x)) {
    if (is.list(x[[k]])) x[[k]] <- watched_list(x[[k]])
    at <- if (is.function(x[[k]])) Position(function(f) identical(f, x[[k]]), bare)
    if (length(at) && !is.na(at)) x[[k]] <- told[[at]]
  }
  x
}
for (name in ls(space, pattern = "_(model|arguments)$")) {
  if (!is.list(get(name, space))) next
  unlockBinding(name, space)
  assign(name, watched_list(get(name, space)), space)
}

steps <- list(
  bsvm = function() fit <<- bsvm(y ~ x + (1 | g), d, threads = 1),
  print = function() utils::capture.output(print(fit)),
  predict = function() predict(fit, d[1:3, ], type = "prob")
)
set.seed(1)
d <- data.frame(x = rnorm(200), g = gl(20, 10))
d$y <- d$x + rnorm(200) > 0
fit <- NULL
asked <- commandArgs(TRUE)
for (step in names(steps)) {
  trail$stack <- character()
  trail$calls <- list()
  suppressWarnings(steps[[step]]())
  pairs <- do.call(rbind, strsplit(names(trail$calls), "\r", fixed = TRUE))
  ran <- unique(pairs[, 2])
  across <- pairs[, 1] != "" & home[pairs[, 1]] != home[pairs[, 2]]
  cat(sprintf(
    "%-8s %3d functions, %2d files, %3d calls to another file\n", step,
    length(ran), length(unique(home[ran])), sum(across)
  ))
  if (step %in% asked) {
    own <- split(ran, home[ran])
    cat(sprintf("  %s: %s\n", names(own), vapply(own, toString, "")), sep = "")
  }
}
