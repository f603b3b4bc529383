# Rows for bark() from a formula, a matrix or a data frame: predictors and
# response on the scale of the model, and what the way back needs.

bark_frame_rows <- function(formula, data, family, subset, na.action,
                            standardize, call) {
  design <- bsvm_design(
    formula, data,
    subset = subset, na.action = na.action, standardize = FALSE, call = call,
    drop_aliased = FALSE, missing = "refuse", indicators = TRUE,
    kind = family
  )
  refuse_linear_terms(design, "bark", call)
  used <- setdiff(seq_len(ncol(design$x)), if (has_intercept(design)) 1L)
  if (length(used) == 0L) abort_no_columns(call)
  x <- design$x[, used, drop = FALSE]
  storage.mode(x) <- "double"
  # Without an intercept the design keeps constants, which kernels cannot use.
  moments <- column_moments_cpp(x)
  constant <- constant_columns(moments)
  warn_dropped(colnames(x)[constant], character(), call)
  if (all(constant)) abort_no_columns(call)
  bark_rows(
    x, moments, which(!constant), design[c("y", "levels")], standardize, call,
    info = design$info, used = used[!constant], response = design$response,
    formula = design$formula, terms = design$terms, xlevels = design$xlevels,
    contrasts = design$contrasts,
    dropped = c(design$dropped, colnames(x)[constant]),
    na.action = design$na.action, rows = design$rows, frame = design$frame
  )
}

bark_matrix_rows <- function(x, y, family, na.action, standardize, call) {
  check_predictors(x, call)
  columns <- predictor_names(x, call)
  named <- !is.null(colnames(x))
  # A matrix of labels is refused before its rows are counted.
  if (length(dim(y)) > 1L) read_response(y, "y", family)
  if (length(y) != nrow(x)) abort_length("y", length(y), nrow(x), call)
  if (is.data.frame(x)) {
    names(x) <- columns
    if (!all(vapply(x, is_plain_number, NA))) {
      return(bark_data_frame_rows(x, y, family, na.action, standardize, call))
    }
    x <- do.call(cbind, unclass(x))
  }
  storage.mode(x) <- "double"
  if (nrow(x) < 2L) abort_too_few_rows(nrow(x), call)
  moments <- column_moments_cpp(x)
  incomplete <- which(moments$missing > 0)
  usable <- usable_rows(list2DF(c(list(y = y), stats::setNames(
    lapply(incomplete, function(j) x[, j]), columns[incomplete]
  ))), NULL, na.action, call)
  if (!is.null(usable$keep)) {
    x <- x[usable$keep, , drop = FALSE]
    y <- y[usable$keep]
    moments <- column_moments_cpp(x)
  }
  check_columns(moments, x, columns, usable$keep, call)
  parsed <- read_response(y, "y", family, usable$keep)
  constant <- constant_columns(moments)
  warn_dropped(columns[constant], character(), call)
  if (all(constant)) abort_no_columns(call)
  keep <- which(!constant)
  colnames(x) <- columns
  bark_rows(
    x, moments, keep, parsed, standardize, call,
    info = matrix_info(columns, named, keep), used = seq_along(keep) + 1L,
    response = "y", dropped = columns[constant],
    na.action = usable$na.action, rows = usable$keep,
    frame = list(x = x, y = y)
  )
}

# Predictors that are not all numbers go the way of a formula.
bark_data_frame_rows <- function(x, y, family, na.action, standardize, call) {
  joined <- frame_with_response(x, y, call)
  out <- bark_frame_rows(
    joined$formula, joined$data, family, NULL, na.action, standardize, call
  )
  out["formula"] <- out["terms"] <- list(NULL)
  out
}

# Columns `keep` of x and the response (numbers, or numbers of classes) on the
# scale of the model.
bark_rows <- function(x, moments, keep, parsed, standardize, call, info, used,
                      ...) {
  standardize <- check_flag(standardize, "standardize", call = call)
  columns <- colnames(x)[keep]
  center <- if (standardize) moments$mean[keep] else numeric(length(keep))
  scale <- if (standardize) moments$sd[keep] else rep(1, length(keep))
  classes <- length(parsed$levels)
  y_scale <- if (classes == 0L) response_scale(parsed$y, call) else c(0, 1)
  list(
    data = list(
      x = scaled_rows(x[, keep, drop = FALSE], center, scale),
      y = (parsed$y - y_scale[1]) / y_scale[2], classes = classes
    ),
    y = parsed$y, y_scale = y_scale, levels = parsed$levels,
    n = length(parsed$y), columns = columns,
    center = stats::setNames(center, columns),
    scale = stats::setNames(scale, columns), info = info, used = used, ...
  )
}

scaled_rows <- function(x, center, scale) {
  unname((x - rep(center, each = nrow(x))) / rep(scale, each = nrow(x)))
}

# Mean and standard deviation.
response_scale <- function(y, call) {
  moments <- column_moments_cpp(cbind(y))
  check_columns(moments, cbind(y), "y", NULL, call)
  if (!constant_columns(moments)) {
    return(c(moments$mean, moments$sd))
  }
  bk_warn("response", "The response is constant.",
    c(
      sprintf("Found: all %d values are %s.", length(y), format(y[1])),
      "It is not scaled: there is nothing to learn from it."
    ),
    call = call
  )
  c(moments$mean, 1)
}

# The rows of a fit; those that na.exclude took out come back as NA.
bark_own_rows <- function(object) {
  at <- stats::napredict(object$na.action, seq_len(object$n))
  list(
    x = object$posterior$x, complete = which(!is.na(at)), n = length(at)
  )
}

# New rows for a fit, on the scale of the model: those with all predictors.
bark_new_rows <- function(object, newdata, call = user_call()) {
  new <- design_new(object$design, newdata, call = call)
  complete <- which(new$complete)
  list(
    x = scaled_rows(
      new$x[complete, object$used, drop = FALSE], object$transform$center,
      object$transform$scale
    ),
    complete = complete, n = length(new$complete)
  )
}
