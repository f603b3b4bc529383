# A fit may come from a file that something else has written. What its methods compute with is
# compared with the stamp that it got when it was made, once, at the door: by the method that the
# user called, not by those that this one calls. Fits of versions without stamps are looked at for
# sizes that lie. `...`: arguments that the method does not have.
check_whole <- function(fit, ...) {
  if (sys.parent() - user_frame() <= 1L) refuse_changed(fit)
  if (...length()) check_no_dots(...)
}

# What makes or changes a fit stamps it last.
stamped <- function(fit) {
  fit$stamp <- stamp_of(fit)
  fit
}

abort_not_whole <- function(path) {
  bk_abort(
    "argument", "The fit is not whole.",
    sprintf("Found: `%s` is not what it was when the fit was made.", path),
    "A fit that was changed has to be made again.", column = sub(".*[$]", "", path)
  )
}

refuse_changed <- function(fit) {
  wrong <- if (!is.list(fit) || !is.character(fit$method)) {
    "method"
  } else if (is.null(fit$stamp)) {
    torn_element(fit)
  } else {
    changed_element(fit)
  }
  if (!is.null(wrong)) abort_not_whole(wrong)
}

# The path of what the stamp of a fit does not know; NULL where there is none.
changed_element <- function(fit) {
  now <- stamp_of(fit)
  then <- fit$stamp
  if (!is.list(then) || !identical(dim(then$numbers), c(5L, length(then$text)))) return("stamp")
  # What a user has added changes nothing, and data may be taken out.
  paths <- names(then$text)
  found <- names(now$text)
  known <- sub("[$].*$", "", found) %in% sub("[$].*$", "", paths)
  gone <- if (is.null(fit$data)) grep("^data([$]|$)", setdiff(paths, found), value = TRUE)
  paths <- setdiff(paths, gone)
  if (!identical(found[known], paths)) {
    return(c(setdiff(paths, found), setdiff(found[known], paths), "names")[1])
  }
  then <- list(text = then$text[paths], numbers = then$numbers[, paths, drop = FALSE])
  now <- list(text = now$text[paths], numbers = now$numbers[, paths, drop = FALSE])
  size <- then$numbers[c(1, 1, 3, 3, 3), , drop = FALSE]
  size[5, ] <- size[5, ] * size[1, ]
  same <- then$text == now$text & colSums(abs(now$numbers - then$numbers) > 1e-12 * size) == 0
  if (!all(same)) paths[which(!same)[1]]
}

# The name of the first element, at any depth, that has another length than its dimensions or names
# say, which a file can hold and which R and the core would follow out of its memory; NULL where
# there is none.
torn_element <- function(x, name = "fit") {
  if (isS4(x) || !(is.atomic(x) || is.list(x))) return(NULL)
  size <- attr(x, "dim")
  labels <- attr(x, "dimnames")
  names <- attr(x, "names")
  bare <- length(unclass(x))
  torn <- (!is.null(size) && prod(size) != bare) ||
    (is.null(size) && !is.null(names) && length(names) != bare) ||
    (!is.null(labels) && (length(labels) != length(size) ||
      !all(lengths(labels) %in% 0L | lengths(labels) == size)))
  if (torn) return(name)
  if (is.list(x)) {
    for (k in seq_len(bare)) {
      part <- .subset2(x, k)
      if (is.null(attributes(part)) && is.atomic(part)) next
      own <- names[k]
      hit <- torn_element(part, if (length(own) && nzchar(own)) own else name)
      if (!is.null(hit)) return(hit)
    }
  }
}

# By path, elements of elements each for itself, so that an error can name what was changed: a list
# of `text`, a digest of sizes and words, and `numbers`, of which files of text keep 16 digits.
stamp_of <- function(fit) {
  parts <- unclass(fit)
  parts <- parts[setdiff(names(parts), c("stamp", "call", "moved", "vcov_type"))]
  deep <- vapply(parts, function(part) {
    is.list(part) && !is.object(part) && length(part) > 0L && !is.null(names(part))
  }, NA)
  parts <- c(list(class = class(fit)), parts[!deep], unlist(
    lapply(names(parts)[deep], function(name) {
      stats::setNames(parts[[name]], paste0(name, "$", names(parts[[name]])))
    }),
    recursive = FALSE
  ))
  traces <- lapply(parts, trace_of)
  list(
    text = vapply(traces, `[[`, "", "text"), numbers = vapply(traces, `[[`, numeric(5), "numbers")
  )
}

# Of lists all that they hold, at any depth; of long vectors some.
trace_of <- function(x) {
  none <- if (is.null(x)) "NULL"
  if (!is.list(x)) x <- list(x)
  # Beside a text all numbers would be written out.
  plain <- all(unlist(rapply(x, function(leaf) {
    is.numeric(leaf) || is.logical(leaf) || is.factor(leaf)
  }, how = "list"), use.names = FALSE))
  numbers <- if (plain) unlist(x, use.names = FALSE)
  if (!is.numeric(numbers)) {
    numbers <- unlist(rapply(x, function(leaf) {
      if (is.numeric(leaf) || is.logical(leaf) || is.factor(leaf)) some_of(leaf)
    }, how = "list"), use.names = FALSE)
  }
  words <- unlist(rapply(x, function(leaf) {
    if (is.numeric(leaf)) {
      c(length(leaf), dim(leaf))
    } else if (is.atomic(leaf)) {
      c(mode(leaf), length(leaf), dim(leaf), levels(leaf), if (is.character(leaf)) some_of(leaf))
    } else {
      mode(leaf)
    }
  }, how = "list"), use.names = FALSE)
  numbers <- as.double(some_of(numbers))
  odd <- !is.finite(numbers)
  numbers[odd] <- 0
  list(
    text = digest_cpp(c(none, names(x), as.character(words))),
    numbers = c(
      length(numbers), sum(odd), sum(abs(numbers)), sum(numbers), sum(numbers * seq_along(numbers))
    )
  )
}

some_of <- function(x) {
  size <- length(x)
  x <- unclass(x)
  if (size > most_traced) x[seq.int(1, size, length.out = most_traced)] else x
}

most_traced <- 50000L
