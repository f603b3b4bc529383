# Checks of arguments. Each returns the value in its canonical type, or raises an error that names
# the argument, what was found and what would be accepted.

check_flag <- function(x, name = deparse1(substitute(x))) {
  if (!isTRUE(x) && !isFALSE(x)) abort_argument(x, name, "TRUE or FALSE")
  as.vector(x)
}

check_number <- function(x, lower = -Inf, upper = Inf, name = deparse1(substitute(x)),
                         closed = c(TRUE, TRUE), kind = "argument") {
  closed <- rep_len(closed, 2L)
  inside <- is_finite_scalar(x) && (x > lower || closed[1] && x == lower) &&
    (x < upper || closed[2] && x == upper)
  if (!inside) {
    expected <- paste("one finite number", range_text(lower, upper, closed))
    abort_argument(x, name, trimws(expected), kind = kind)
  }
  as.double(x)
}

check_count <- function(x, lower = 1L, upper = .Machine$integer.max, name = deparse1(substitute(x)),
                        kind = "argument") {
  if (!is_finite_scalar(x) || x != trunc(x) || x < lower || x > upper) {
    expected <- if (upper < .Machine$integer.max) {
      sprintf("one whole number from %.0f to %.0f", lower, upper)
    } else {
      sprintf("one whole number of at least %.0f", lower)
    }
    abort_argument(x, name, expected, kind = kind)
  }
  as.integer(x)
}

check_learning_rate <- function(x, name) {
  if (is.null(x) || identical(x, "calibrated")) return(x)
  if (!is_finite_scalar(x) || x <= 0 || x > 10) {
    abort_argument(x, name, "a number above 0 and at most 10, or \"calibrated\"")
  }
  as.double(x)
}

check_class_weights <- function(x, name) {
  if (is.null(x) || identical(x, "none") || identical(x, c("none", "balanced"))) return("none")
  if (identical(x, "balanced")) return(x)
  # Names that are not there are asked for where the classes are known.
  named <- is.null(names(x)) || (all(nzchar(names(x))) && !anyDuplicated(names(x)))
  good <- is.numeric(x) && length(x) > 0L && named && all(is.finite(x)) && all(x > 0)
  if (!good) abort_argument(x, name, "\"none\", \"balanced\", or positive numbers named by classes")
  x
}

check_choice <- function(x, choices, name = deparse1(substitute(x))) {
  # A default of the form `method = c("vb", "gibbs")` means its first element.
  if (identical(x, choices)) return(choices[1])
  if (!is.character(x) || length(x) != 1L || !(x %in% choices)) {
    abort_argument(
      x, name, paste("one of", paste(quoted(choices), collapse = ", ")), accepted = choices
    )
  }
  as.vector(x)
}

# `NULL` takes one integer from R's generator, so that set.seed() reproduces a fit. Draws from a
# variational posterior use R's generator as well, with a seed of their own; with_seed() puts its
# state back.
check_seed <- function(seed, name = "seed") {
  if (is.null(seed)) return(sample.int(.Machine$integer.max, 1L))
  check_count(seed, lower = 0L, name = name)
}

check_threads <- function(threads, name = "threads") {
  check_count(threads, lower = 1L, upper = 1024L, name = name)
}

# Whatever speaks the interface of package parallel; a list of clusters is one of all their workers.
check_cluster <- function(cluster, name = "cluster") {
  are_clusters <- function(x) length(x) > 0L && all(vapply(x, inherits, NA, "cluster"))
  if (!is.object(cluster) && is.list(cluster) && are_clusters(cluster)) {
    workers <- unlist(lapply(cluster, unclass), recursive = FALSE)
    return(structure(workers, class = "cluster"))
  }
  if (!is.null(cluster) && !inherits(cluster, "cluster")) {
    abort_argument(
      cluster, name, "NULL, a cluster such as parallel::makePSOCKcluster(2), or a list of clusters",
      kind = "cluster"
    )
  }
  cluster
}

# For functions whose `...` exists only because their generic has it: a misspelt argument must not
# be ignored. `has` are the arguments of the function that was called.
check_no_dots <- function(..., has = names(formals(sys.function(user_frame()))),
                          moved = character()) {
  if (...length() == 0L) return(invisible())
  # Their values may not even be there.
  given <- names(substitute(list(...)))[-1L]
  unused <- given[nzchar(given)]
  has <- setdiff(has, "...")
  meant <- vapply(unused, nearest_argument, "", has, moved)
  bk_abort(
    "argument", "There are arguments that this function does not have.",
    if (length(unused)) {
      paste0("Found: ", paste(quoted(unused), collapse = ", "), ".")
    } else {
      sprintf("Found: %d without a name.", ...length())
    },
    sprintf("Instead of `%s` try %s.", unused, meant)[nzchar(meant)],
    paste0("It has: ", paste(has, collapse = ", "), "."), found = unused, expected = has
  )
}

# Makers of priors, controls, kernels and their like end in `...`, so that what they do not have is
# an error of this package, with advice, not R's.
refuse_others <- function(...) {
  if (...length()) check_no_dots(..., has = names(formals(sys.function(sys.parent()))))
}

# Arguments of a function of this package, or of what it is called; NULL if there is none.
own_formals <- function(maker) {
  if (is.character(maker)) maker <- get0(maker, topenv(), mode = "function")
  if (!is.null(maker)) formals(maker)[names(formals(maker)) != "..."]
}

# An object as its constructor makes it from the arguments that it holds, so that what was changed
# since is checked, too.
remade <- function(x, name, maker) {
  arguments <- names(own_formals(maker))
  if (!is.list(x) || !all(arguments %in% names(x))) {
    abort_argument(x, name, sprintf("what %s() makes, as it was made", maker), kind = "prior")
  }
  do.call(maker, unclass(x)[arguments])
}

abort_argument <- function(x, name, expected, kind = "argument", accepted = expected) {
  bk_abort(
    kind, sprintf("Argument `%s` is not valid.", name), paste("Found:", describe_value(x)),
    paste("Accepted:", expected),
    value_elsewhere(x, name, accepted) %||% nearest_value(x, accepted),
    column = name, found = x, expected = accepted
  )
}

is_finite_scalar <- function(x) is.numeric(x) && length(x) == 1L && is.null(dim(x)) && is.finite(x)

is_sparse <- function(x) isS4(x) && methods::is(x, "sparseMatrix")

range_text <- function(lower, upper, closed) {
  low <- sprintf("%s %s", if (closed[1]) "of at least" else "above", lower)
  high <- sprintf("%s %s", if (closed[2]) "at most" else "below", upper)
  paste(c(low, high)[is.finite(c(lower, upper))], collapse = " and ")
}

# A value in a few words, whatever it is.
describe_value <- function(x) {
  if (is.null(x)) {
    "NULL"
  } else if (is.factor(x) || !is.atomic(x) || !is.null(dim(x))) {
    article(paste("object of class", quoted(class(x)[1])))
  } else if (length(x) == 0L) {
    article(paste(typeof(x), "vector of length 0"))
  } else {
    shown <- utils::head(x, 3L)
    shown <- if (is.character(x)) quoted(shown) else format_each(shown)
    shown <- paste(shown, collapse = " ")
    if (nchar(shown) > 50L) shown <- paste0(substr(shown, 1L, 47L), "...")
    if (length(x) == 1L) {
      shown
    } else {
      sprintf(
        "%s, %s%s", article(paste(typeof(x), "vector of length", length(x))),
        shown, if (length(x) > 3L) " ..." else ""
      )
    }
  }
}

format_each <- function(x, digits = 7) vapply(x, format, character(1), digits = digits)

quoted <- function(x) ifelse(is.na(x), "NA", encodeString(as.character(x), quote = "\""))

article <- function(noun) paste(if (grepl("^[aeiou]", noun)) "an" else "a", noun)

# Rows that are given as a table of whatever kind.
as_frame <- function(newdata) {
  if (!is.list(newdata) && !is.matrix(newdata)) {
    abort_argument(newdata, "newdata", "a data frame or a matrix")
  }
  as.data.frame(newdata)
}

# Arguments of the function that calls, by name, which have no default and were not given.
check_given <- function(...) {
  front <- parent.frame()
  absent <- Filter(function(name) eval(call("missing", as.name(name)), front), c(...))
  if (length(absent) == 0L) return(invisible())
  own <- formals(sys.function(sys.parent()))
  needed <- vapply(own, function(default) identical(default, substitute()), NA)
  use <- paste(setdiff(names(own)[needed], "..."), collapse = ", ")
  abort_absent(absent[1L], sprintf("%s(%s)", called_name(user_call() %||% quote(f())), use))
}

abort_absent <- function(name, accepted) {
  bk_abort(
    "argument", sprintf("Argument `%s` is missing.", name), sprintf("Accepted: %s.", accepted),
    column = name
  )
}

# The value of an argument, whose expression may be no value at all.
given <- function(value, name) {
  tryCatch(value, error = function(e) {
    if (inherits(e, "bayeskernel_error")) stop(e)
    header <- sprintf("Argument `%s` has no value.", name)
    bk_abort("argument", header, conditionMessage(e), column = name)
  })
}

check_until <- function(x, name) {
  if (is.null(x) || inherits(x, "bayeskernel_until")) return(x)
  abort_argument(x, name, "NULL, stop_at(rhat = 1.01) or stop_at(ess = 400)")
}

# Of models with a goal of their own "auto" stands for it.
check_auto_until <- function(x, name) {
  if (identical(x, "auto")) x else check_until(x, name)
}

# Evaluates with a generator of its own when a seed is given; R's generator is left as it was.
with_seed <- function(seed, code) {
  if (is.null(seed)) return(code)
  seed <- check_seed(seed)
  home <- globalenv()
  before <- home[[".Random.seed"]]
  on.exit(
    if (is.null(before)) {
      rm(".Random.seed", envir = home)
    } else {
      assign(".Random.seed", before, envir = home)
    }
  )
  set.seed(seed, "Mersenne-Twister", "Inversion", "Rejection")
  code
}

sorted_text <- function(x, name) {
  x <- unique(x)
  if (!all(validEnc(x))) {
    abort_argument(x[!validEnc(x)], name, "text whose bytes are characters, as in UTF-8")
  }
  sort(x, method = "radix")
}

check_answer_size <- function(rows, columns) {
  bytes <- 8 * as.double(rows) * columns
  most <- getOption("bayeskernel.max_bytes", 8e9)
  if (bytes > most) {
    bk_abort(
      "argument", "The predictions would not fit in memory.",
      sprintf("Found: %.0f rows of %.0f numbers, %.1f GB.", rows, columns, bytes / 1e9),
      sprintf("Accepted: %.1f GB (option \"bayeskernel.max_bytes\").", most / 1e9),
      "Ask for fewer rows at a time, or for fewer draws by `ndraws`.",
      column = "newdata", found = bytes, expected = most
    )
  }
}
