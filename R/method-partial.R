# Rows for which there are predictions.
complete_rows <- function(x, data, groups = "as given") {
  data <- data[new_rows(x, data, groups)$complete, , drop = FALSE]
  if (nrow(data) == 0L) abort_no_rows()
  data
}

abort_no_rows <- function() {
  bk_abort(
    "dimension", "`newdata` has no complete rows to average over.", "Accepted: one row or more.",
    column = "newdata", found = 0L, expected = 1L
  )
}

partial_data <- function(x, newdata) {
  refuse_source_rows(newdata)
  if (is.null(newdata)) newdata <- repeated_data(x)
  if (is.null(newdata)) abort_no_data(training_data(x))
  if (is_sparse(newdata)) newdata <- as.matrix(newdata)
  out <- as.data.frame(newdata)
  if (x$design$type == "matrix") {
    known <- setdiff(matrix_names(x), "(Intercept)")
    by_place <- is.null(colnames(newdata)) || (!x$design$named && !all(known %in% names(out)))
    if (by_place && length(out) == length(known)) names(out) <- known
  }
  out
}

# Rows of the fit, those of whole weights and counts as often as they count, in all up to 10,000 or
# as many as there are.
repeated_data <- function(x) {
  out <- fit_data(x)
  copies <- several_copies(sum_by_unit(x, x$weights))
  if (is.null(out) || length(copies) != nrow(out)) return(out)
  at <- spread_over(sum(copies), max(1e4, nrow(out)))
  out[findInterval(at - 0.5, cumsum(c(0, copies))), , drop = FALSE]
}

# Variables of the fixed part and, if wanted, of random slopes; not those that only name groups or
# are offsets.
partial_names <- function(x, data, slopes = TRUE) {
  names <- varied_names(x, slopes)
  plain <- vapply(data[names], function(v) is.null(dim(v)), NA)
  names[plain]
}

varied_names <- function(x, slopes = TRUE) {
  info <- x$design
  if (info$type == "matrix") {
    setdiff(info$columns, "(Intercept)")
  } else {
    random <- if (slopes) lapply(info$random, function(term) all.vars(term$terms))
    smooths <- lapply(info$smooths, `[[`, "names")
    fixed <- as.list(attr(info$terms, "variables"))[-c(1L, 1L + attr(info$terms, "offset"))]
    intersect(info$variables, unlist(c(lapply(fixed, all.vars), smooths, random)))
  }
}

# Where curves of a variable end: of 1000 rows or more at its 1 % and 99 % quantiles, as few rows
# that are far out would make all others look alike.
curve_ends <- function(v) {
  v <- v[!is.na(v)]
  ends <- if (length(v) >= 1000L) stats::quantile(v, c(0.01, 0.99), names = FALSE) else range(v)
  if (diff(ends) > 0) ends else range(v)
}

# Those of the values that a curve with these ends covers.
inside_curve <- function(v, ends) v[which(v >= ends[1] & v <= ends[length(ends)])]

# Numbers over the range of a variable, or its own if they are few; the levels of a factor that
# occur.
value_grid <- function(v, cells = 45L) {
  if (!is.numeric(v)) return(sort(unique(if (is.factor(v)) droplevels(v) else v)))
  seen <- sort(unique(v))
  if (length(seen) <= 8L) return(seen)
  ends <- curve_ends(v)
  seq(ends[1], ends[2], length.out = cells)
}

# Up to six numbers are drawn as levels are.
few_values <- function(v) is.numeric(v) && length(unique(v)) <= 6L

# As function values, or as probabilities.
drawn_values <- function(x, drawn, scale = "response") {
  if (scale == "link" || is_regression(x)) {
    drawn$f
  } else {
    draw_probability(x, drawn, prediction_link(x, NULL))
  }
}

check_pars <- function(pars, known) {
  if (is.null(pars)) return(known)
  if (!is.character(pars)) {
    abort_argument(pars, "pars", paste("names of predictors:", list_some(known)))
  }
  strange <- setdiff(pars, known)
  if (length(strange) > 0) {
    bk_abort(
      "argument", "`pars` names what is not in the fit.",
      paste("Found:", list_some(quoted(strange))), paste("Accepted:", list_some(known)),
      column = "pars", found = strange, expected = known
    )
  }
  pars
}
