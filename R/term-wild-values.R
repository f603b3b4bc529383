# A few values far from all others (a slip of the keyboard, a code of missing values) would set the
# scale of a column: beside them the others are one place, where no kernel tells them apart. Such a
# column is scaled by its other values.

# Without the farthest hundredth of its rows the standard deviation is less than this share of what
# it is.
wild_share <- 0.1

# Centre, scale and range of a column without values far from the others.
# x: numbers, without missing values.
# Returns nULL if no value is far; or a list of `center`, `scale` and `range` of the others, and
#   `far`, the places of those that are.
without_wild <- function(x) {
  n <- length(x)
  if (n < 5L) return(NULL)
  few <- max(1L, n %/% 100L)
  mean <- sum(x) / n
  deviation <- abs(x - mean)
  square <- sum(deviation^2)
  # So few rows cannot have all but the hundredth of the squares otherwise.
  if (!is.finite(square) || few * max(deviation)^2 < 0.9 * square) return(NULL)
  middle <- stats::median(x)
  far <- order(abs(x - middle), decreasing = TRUE)[seq_len(few)]
  rest <- x[-far]
  scale <- stats::sd(rest)
  if (scale <= 1e-10 * abs(middle) || scale == 0 || scale > wild_share * sqrt(square / (n - 1))) {
    return(NULL)
  }
  far <- far[abs(x[far] - mean(rest)) > scale / wild_share]
  rest <- x[-far]
  list(center = mean(rest), scale = stats::sd(rest), range = range(rest), far = sort(far))
}

# Centres and scales of the columns of x, given those by the moments of all rows; a warning names
# the columns that are scaled by others. A row counts as often as `copies` says.
robust_places <- function(x, center, scale, copies = NULL) {
  if (!is.null(copies)) x <- x[repeated_rows(copies), , drop = FALSE]
  for (j in seq_len(ncol(x))) {
    there <- which(!is.na(x[, j]))
    wild <- without_wild(x[there, j])
    if (is.null(wild)) next
    center[j] <- wild$center
    scale[j] <- wild$scale
    warn_wild(
      colnames(x)[j], unique(x[there[wild$far], j]), wild$range,
      "The column is scaled by the others."
    )
  }
  list(center = center, scale = scale)
}

warn_wild <- function(name, values, range, effect) {
  bk_warn(
    "outlier", fit_header("Column `%s` has values far from all others.", name),
    sprintf("Found: %s.", list_some(format_each(values))),
    sprintf(
      "All others lie from %s to %s.", format(range[1], digits = 4), format(range[2], digits = 4)
    ),
    effect, "Correct such values, or leave out their rows, if they are errors.", column = name,
    found = values
  )
}

# The columns (rows of x, d x n) with far values drawn in, for what looks for clusters: they would
# take all.
tame_rows <- function(x) {
  for (j in seq_len(nrow(x))) {
    wild <- without_wild(x[j, ])
    if (is.null(wild)) next
    reach <- wild$scale / wild_share
    x[j, ] <- pmin(pmax(x[j, ], wild$center - reach), wild$center + reach)
  }
  x
}

# Clusters of rows are fewer than asked for where the rows are few places beside their spread: what
# differs within one is noise to the process.
warn_few_inducing <- function(found, asked, term) {
  if (found >= asked / 2) return(invisible())
  bk_warn(
    "kernel", fit_header("Few inducing points cover the rows of `%s`.", term),
    sprintf("Found: %.0f places for %.0f points.", found, asked),
    paste(
      "A few values are far away, and the other rows lie close together. Transform the",
      "variables (a logarithm, ranks), or give the points by `inducing`."
    ),
    column = "inducing", found = found, expected = asked
  )
}
