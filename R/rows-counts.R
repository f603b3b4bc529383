# Rows of counts, cbind(successes, failures): the core has a weighted row of either class,
# `fit$units` has the number of the row of the data that each is part of. Users see one unit a row,
# with so many trials. NULL: rows are units.

are_counts <- function(object) !is.null(object$units)

# Parts of an answer for the rows of the fit, by unit.
by_unit <- function(object, x, draws = FALSE) {
  if (is.null(object$units)) return(x)
  at <- which(!duplicated(object$units))
  each_part(x, draws, function(part) values_at(part, at))
}

# Numbers of the rows, added up.
sum_by_unit <- function(object, x) {
  if (is.null(object$units)) return(x)
  c(rowsum(as.double(x), object$units, reorder = TRUE))
}

# Trials and successes of each unit, its weight included.
unit_trials <- function(object) {
  list(
    all = sum_by_unit(object, object$weights),
    positive = sum_by_unit(object, object$weights * (own_classes(object) == 2))
  )
}

# The share of positive trials, or whether a row is positive.
unit_shares <- function(object) {
  if (is.null(object$units)) return(own_classes(object) - 1)
  trials <- unit_trials(object)
  trials$positive / trials$all
}

# What the number of orders of the trials adds to the logarithm of the probability of the counts.
unit_constant <- function(object) {
  if (is.null(object$units)) return(0)
  trials <- unit_trials(object)
  whole <- trials$all == trunc(trials$all)
  ifelse(whole, lchoose(trials$all, trials$positive), 0)
}

# A frame of such rows with the counts as its response.
unit_frame <- function(design, frame) {
  if (is.null(design$units)) return(frame)
  out <- frame[!duplicated(design$units), , drop = FALSE]
  positive <- as.double(design$y > min(design$y))
  counts <- rowsum(design$weights * cbind(positive, 1 - positive), design$units)
  dimnames(counts) <- list(NULL, rev(design$levels))
  out[[1L]] <- counts
  out[["(weights)"]] <- NULL
  attr(out, "terms") <- attr(frame, "terms")
  rownames(out) <- NULL
  out
}

# Rows that stand for several equal ones: counts, and whole weights.
row_copies <- function(weights, counted = FALSE) {
  whole <- length(weights) > 0L && all(weights == trunc(weights))
  if (isTRUE(counted) || whole) weights else 1
}
