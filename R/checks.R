# Checks of arguments. Each returns the value in its canonical type, or raises an error that names
# the argument, what was found and what would be accepted.

check_flag <- function(x, name = deparse1(substitute(x))) {
  if (!is_flag(x)) abort_argument(x, name, "TRUE or FALSE")
  as.vector(x)
}

is_flag <- function(x) is.logical(x) && length(x) == 1L && !is.na(x)

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

check_cluster <- function(cluster, name = "cluster") {
  if (!is.null(cluster) && !inherits(cluster, "cluster")) {
    abort_argument(
      cluster, name, "NULL or a cluster of package parallel, such as makePSOCKcluster(2)",
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

# An object as its constructor makes it from the arguments that it holds, so that what was changed
# since is checked, too.
remade <- function(x, name, maker) {
  arguments <- names(formals(maker))
  if (!is.list(x) || !all(arguments %in% names(x))) {
    abort_argument(x, name, sprintf("what %s() makes, as it was made", maker), kind = "prior")
  }
  do.call(maker, unclass(x)[arguments])
}

# What users of other packages call the arguments, in order of preference.
known_as <- list(
  penalty = c("cost", "c", "lambda", "alpha"),
  threads = c("cores", "ncores", "nthread", "nthreads", "n_jobs"),
  max_iter = c("iter", "maxit", "iterations", "niter"),
  ndraws = c("iter", "draws", "n_draws", "nsamples", "nsave", "ndpost", "iterations"),
  warmup = c("burnin", "burn", "nburn", "nskip"), chains = "nchains",
  thin = c("keepevery", "nthin"), progress = c("verbose", "trace", "refresh"),
  standardize = c("scale", "scaled", "center"), kernel = c("gamma", "sigma", "cost", "c"),
  inducing = c("m", "landmarks", "ninducing", "sparse"), select = "selection", na.action = "na.rm",
  type = "what", newdata = "newx", level = c("conf.level", "prob", "probs"),
  conf.level = c("level", "prob"), conf.int = "interval", interval = c("intervals", "conf.int"),
  re.form = "reform", se.fit = "se"
)

# What users of other packages write and need not here: what to do instead.
not_needed <- list(
  "leaving it out: new groups are averaged over" = "allow.new.levels",
  "leaving it out: nothing has to be set" = c("nAGQ", "REML"),
  "leaving it out, and predict(type = \"prob\")" = "probability",
  "C() in the formula, C(f, contr.sum)" = "contrasts",
  "bkm() or bark(), which have families of responses" = "family",
  "gpsvm(), which has kernels" = c("kernel", "gamma", "sigma", "degree", "coef0")
)

# Parameters of kernels in other packages, as arguments of ours.
kernel_terms <- c(
  cost = "`kernel = rbf(variance = C / 2)`, for an SVM of cost C",
  c = "`kernel = rbf(variance = C / 2)`, for an SVM of cost C",
  gamma = "`kernel = rbf(1 / sqrt(2 * gamma))`",
  sigma = paste("`kernel = rbf(1 / sqrt(2 * sigma))`, where kernlab's sigma is gamma"),
  lengthscale = "`kernel = rbf(lengthscale)`",
  degree = "`kernel = polynomial(degree)`",
  coef0 = "`kernel = polynomial(degree, offset = coef0)`",
  variance = "`kernel = rbf(variance = )`"
)

# The argument that is meant by `name`, as text for a message, or "". `moved`: what is written in
# place of arguments that there are not, by their names.
nearest_argument <- function(name, has, moved = character()) {
  if (name %in% names(moved)) return(moved[[name]])
  plain <- function(x) gsub("[^a-z0-9]", "", tolower(readable(x)))
  if ("kernel" %in% has && plain(name) %in% names(kernel_terms)) return(kernel_terms[[plain(name)]])
  has <- c(has, setdiff(names(moved), has))
  alias <- names(known_as)[vapply(known_as, function(names) plain(name) %in% plain(names), NA)]
  distance <- utils::adist(plain(name), plain(has))[1L, ]
  near <- has[distance <= min(2, nchar(plain(name)) / 2) & distance == min(distance, Inf)]
  inside <- has[nchar(plain(name)) > 2L & (startsWith(plain(has), plain(name)) |
    endsWith(plain(has), plain(name)))]
  found <- c(near, intersect(alias, has), inside)
  if (length(found)) {
    own <- found[1L]
    return(if (own %in% names(moved)) moved[[own]] else paste0("`", own, "`"))
  }
  advice <- names(not_needed)[vapply(not_needed, function(names) plain(name) %in% plain(names), NA)]
  c(advice, "")[1L]
}

abort_argument <- function(x, name, expected, kind = "argument", accepted = expected) {
  bk_abort(
    kind, sprintf("Argument `%s` is not valid.", name), paste("Found:", describe_value(x)),
    paste("Accepted:", expected), column = name, found = x, expected = accepted
  )
}

is_finite_scalar <- function(x) is.numeric(x) && length(x) == 1L && is.null(dim(x)) && is.finite(x)


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

format_each <- function(x) vapply(x, format, character(1), digits = 7)

quoted <- function(x) ifelse(is.na(x), "NA", encodeString(as.character(x), quote = "\""))

article <- function(noun) paste(if (grepl("^[aeiou]", noun)) "an" else "a", noun)

# Rows that are given as a table of whatever kind.
as_frame <- function(newdata) {
  if (!is.list(newdata) && !is.matrix(newdata)) {
    abort_argument(newdata, "newdata", "a data frame or a matrix")
  }
  as.data.frame(newdata)
}
