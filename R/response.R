# The labels of a two-class response: -1 for the first class, +1 for the
# second. `name` is what the user called the response.
parse_response <- function(y, name, rows = NULL, call = user_call()) {
  out <- positive_rows(y, name, rows, call)
  list(y = 2 * out$positive - 1, levels = out$levels)
}

# Which rows are of the second class.
positive_rows <- function(y, name, rows, call) {
  refuse_response_type(y, name, call)
  if (is.factor(y)) {
    codes <- as.integer(y)
    used <- which(tabulate(codes, nlevels(y)) > 0L)
    classes <- levels(y)[used]
  } else if (is.logical(y)) {
    codes <- y
    used <- c(FALSE, TRUE)[c(!all(y), any(y))]
    classes <- as.character(used)
  } else {
    codes <- as.double(y)
    check_finite_response(codes, name, rows, call)
    used <- distinct_numbers(codes)
    classes <- vapply(utils::head(used, 10L), format, "", digits = 7)
  }
  check_two_classes(y, used, classes, name, call)
  list(positive = codes == used[2], levels = classes)
}

# Sorted; by parts, since unique() of millions takes as much memory again.
distinct_numbers <- function(x) {
  size <- 1e5
  parts <- lapply(seq(0, max(0, length(x) - 1), by = size), function(first) {
    unique(x[first + seq_len(min(size, length(x) - first))])
  })
  sort(unique(unlist(parts)))
}

response_accepted <- paste(
  "Accepted: a factor with two levels (the second is the positive class),",
  "logical, 0/1 or -1/+1."
)

refuse_response_type <- function(y, name, call) {
  found <- if (length(dim(y)) > 1L || is.data.frame(y)) {
    sprintf("a matrix with %d columns", NCOL(y))
  } else if (is.character(y)) {
    sprintf("text, such as %s", list_some(unique(y), 3L))
  } else if (!is.factor(y) && !is.logical(y) && !is.numeric(y)) {
    article(paste("object of class", quoted(class(y)[1])))
  }
  if (is.null(found)) {
    return(invisible())
  }
  cure <- if (is.character(y)) {
    sprintf("Make it a factor: `factor(%s)`.", name)
  } else if (length(dim(y)) > 1L) {
    "Give one column of labels, one row for each observation."
  }
  bk_abort(
    "response", fit_header("Response `%s` is not of a two-class kind.", name),
    c(paste0("Found: ", found, "."), response_accepted, cure),
    column = name, found = class(y), expected = "two classes", call = call
  )
}

check_finite_response <- function(y, name, rows, call) {
  # The sum is finite or not without a vector of n logicals; an overflow of
  # finite numbers only costs the closer look.
  bad <- if (is.finite(sum(y))) integer() else which(!is.finite(y))
  if (length(bad)) {
    abort_missing(
      count = stats::setNames(length(bad), name), first = bad[1], rows = rows,
      what = "Response", call = call,
      values = value_problem(anyNA(y), any(is.infinite(y)))
    )
  }
}

check_two_classes <- function(y, used, classes, name, call) {
  k <- length(used)
  if (k != 2L) {
    header <- if (k == 1L) {
      fit_header("Response `%s` has one class only.", name)
    } else {
      fit_header(
        paste("Response `%s` has", k, "classes, not two."), name
      )
    }
    bk_abort(
      "response", header,
      c(
        if (k == 1L) {
          sprintf("Found: all %d rows are %s.", length(y), quoted(classes))
        } else {
          sprintf("Found: %s.", list_some(classes, total = k))
        },
        response_accepted,
        if (k == 1L) {
          "Look at `subset`, at zero `weights` and at rows that were omitted."
        } else {
          sprintf(
            "Make two of them, for example `I(%s %s)`.", name,
            if (is.numeric(y)) {
              paste(">", classes[1])
            } else {
              paste("==", quoted(classes[1]))
            }
          )
        }
      ),
      column = name, found = classes, expected = 2L, call = call
    )
  }
  coded <- is.factor(y) || is.logical(y) ||
    identical(used, c(0, 1)) || identical(used, c(-1, 1))
  if (!coded) {
    bk_abort(
      "response",
      fit_header("Response `%s` has numbers that are not class codes.", name),
      c(
        sprintf("Found: %s and %s.", classes[1], classes[2]), response_accepted,
        sprintf("Make it a factor: `factor(%s)`.", name)
      ),
      column = name, found = used, expected = list(c(0, 1), c(-1, 1)),
      call = call
    )
  }
}
