# The fit object: a plain list that saveRDS() keeps whole. What every fit has comes from the rows,
# the settings and the call; a model adds its own.

#' A fit from its parts
#'
#' @param model The facts of the model, see model_of().
#' @param call The user's call.
#' @param rows Rows as the readers give them, of which the fit keeps what
#'   prediction and the row methods need.
#' @param settings Checked settings.
#' @param ... Further elements, or others in place of the common ones.
#' @return A list of class `c(<model>, "bayeskernel_fit")`.
#' @noRd
new_fit <- function(model, call, rows, settings, ...) {
  common <- c(
    list(call = call),
    pick(rows, c("formula", "terms", "xlevels", "contrasts", "levels", "response")),
    pick(settings, c("method", "prior")),
    list(transform = rows[intersect(c("center", "scale"), names(rows))], seed = settings$seed),
    pick(rows, c("n", "dropped")), list(design = rows$info),
    pick(rows, c("used", "columns", "na.action", "y", "weights", "share")),
    list(version = utils::packageVersion("bayeskernel"))
  )
  common$units <- rows$units
  common$declared <- rows$declared
  given <- list(...)
  common[names(given)] <- given
  structure(common, class = c(model$name, "bayeskernel_fit"))
}

# Elements by name; NULL where there is none.
pick <- function(x, names) {
  stats::setNames(lapply(names, function(name) x[[name]]), names)
}

#' Checks a fit before the core reads it
#'
#' A fit may come from a file that something else has written: sizes must agree,
#' and numbers be finite. The model's `validate(fit)` names what is wrong.
#'
#' @param fit A fit.
#' @return The fit, invisibly; an error of class `_argument` if it is not whole.
#' @noRd
validate_fit <- function(fit) {
  model <- model_of(fit)
  torn <- torn_element(fit)
  if (!is.null(torn)) abort_not_whole(torn)
  draws <- fit$draws
  size <- c(NA, NA, length(dimnames(draws)[[3]]))
  wrong <- if (!is.list(fit) || !is_count(fit$n)) {
    "n"
  } else if (!(is.null(fit$levels) || is.character(fit$levels))) {
    "levels"
  } else if (!any(fit$method %in% model$methods)) {
    "method"
  } else if (fit$method %in% model$samplers && !has_shape(draws, size)) {
    "draws"
  } else if (is_calibrated(fit) && !whole_link(fit)) {
    "link"
  } else if (!is.null(model$validate)) {
    model$validate(fit)
  }
  if (length(wrong)) abort_not_whole(wrong[1])
  invisible(fit)
}

abort_not_whole <- function(wrong) {
  bk_abort(
    "argument", "The fit is not whole.",
    c(
      sprintf("Found: `%s` of a wrong size, or not finite.", wrong),
      "It has been changed since it was made: fit again."
    ),
    column = wrong
  )
}

is_count <- function(x) is_finite_scalar(x) && x >= 1

# Finite numbers in an array of these sizes, NA for any; a length for a vector.
has_shape <- function(x, size) {
  found <- if (is.null(dim(x))) length(x) else dim(x)
  is.numeric(x) && length(found) == length(size) &&
    all(found == size, na.rm = TRUE) && length(x) == prod(found) &&
    all(is.finite(x))
}

# The name of the first element, at any depth, that has another length than its dimensions or names
# say, which a file can hold and which R and the core would follow out of its memory; NULL where
# there is none.
torn_element <- function(x, name = "fit") {
  if (isS4(x) || !(is.atomic(x) || is.list(x))) {
    return(NULL)
  }
  size <- attr(x, "dim")
  labels <- attr(x, "dimnames")
  names <- attr(x, "names")
  bare <- length(unclass(x))
  torn <- (!is.null(size) && prod(size) != bare) ||
    (is.null(size) && !is.null(names) && length(names) != bare) ||
    (!is.null(labels) && (length(labels) != length(size) ||
      !all(lengths(labels) %in% 0L | lengths(labels) == size)))
  if (torn) {
    return(name)
  }
  if (is.list(x)) {
    for (k in seq_len(bare)) {
      part <- .subset2(x, k)
      if (is.null(attributes(part)) && is.atomic(part)) next
      own <- names[k]
      hit <- torn_element(part, if (length(own) && nzchar(own)) own else name)
      if (!is.null(hit)) {
        return(hit)
      }
    }
  }
}

# The same names and sizes, and finite numbers; only the latter for elements called as in `free`.
same_shape <- function(x, pattern, free = character()) {
  if (!is.list(pattern)) {
    size <- if (is.null(dim(pattern))) length(pattern) else dim(pattern)
    return(has_shape(x, size))
  }
  is.list(x) && length(x) == length(pattern) &&
    identical(names(x), names(pattern)) &&
    all(vapply(seq_along(x), function(k) {
      if (any(names(pattern)[k] %in% free)) {
        is.numeric(x[[k]]) && all(is.finite(x[[k]]))
      } else {
        same_shape(x[[k]], pattern[[k]], free)
      }
    }, NA))
}

# R has this from 4.4.
`%||%` <- function(x, y) if (is.null(x)) y else x
