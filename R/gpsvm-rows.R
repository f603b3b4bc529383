# Rows for gpsvm() from a formula, a matrix, a sparse matrix or a row source:
# one list for the core, what prediction needs of them, and checked labels.

gpsvm_rows <- function(data, classes, columns, center, scale, info, ...) {
  data$labels <- classes$y
  data$center <- as.double(center)
  data$scale <- as.double(scale)
  list(
    data = data, n = length(classes$y), levels = classes$levels,
    columns = columns, center = stats::setNames(center, columns),
    scale = stats::setNames(scale, columns), info = info, ...
  )
}

# A formula goes the way of bsvm(); its intercept is left out.
gpsvm_frame_rows <- function(formula, data, weights, subset, na.action,
                             standardize, call) {
  design <- bsvm_design(
    formula, data,
    weights = weights, subset = subset, na.action = na.action,
    standardize = standardize, call = call, drop_aliased = FALSE,
    missing = "refuse", indicators = TRUE, kind = "many"
  )
  refuse_linear_terms(design, "gpsvm", call)
  used <- setdiff(seq_len(ncol(design$x)), if (has_intercept(design)) 1L)
  if (length(used) == 0L) abort_no_columns(call)
  x <- design$x[, used, drop = FALSE]
  storage.mode(x) <- "double"
  gpsvm_rows(
    list(
      type = "matrix", x = x, weights = core_weights(design$weights),
      source = seq_along(used)
    ),
    design[c("y", "levels")], colnames(x),
    design$center[used], design$scale[used], design$info,
    used = used, response = design$response, formula = design$formula,
    terms = design$terms, xlevels = design$xlevels,
    contrasts = design$contrasts, dropped = design$dropped,
    na.action = design$na.action, weights = kept_weights(design$weights),
    frame = design$frame
  )
}

# Models whose kernels combine the predictors know no other terms.
refuse_linear_terms <- function(design, model, call) {
  found <- c(
    if (length(design$random)) "random terms",
    if (length(design$smooths)) "smooth terms",
    if (any(design$offset != 0)) "an offset"
  )
  if (length(found)) {
    bk_abort(
      "argument",
      sprintf("The formula has terms that %s() does not know.", model),
      c(
        sprintf("Found: %s.", paste(found, collapse = " and ")),
        "Accepted: predictors, which the kernel combines.",
        if (model == "gpsvm") "Use bsvm() for a linear machine with such terms."
      ),
      column = "formula", found = found, call = call
    )
  }
}

# Weights that are all 1 cost nothing.
core_weights <- function(weights) {
  if (is.null(weights) || all(weights == 1)) numeric() else as.double(weights)
}

# Those of a fit: NULL when all are 1.
kept_weights <- function(weights) {
  weights <- core_weights(weights)
  if (length(weights)) weights
}

gpsvm_matrix_rows <- function(x, y, weights, na.action, standardize, call) {
  standardize <- check_flag(standardize, "standardize", call = call)
  counted <- spread_counts(y, "y", nrow(x), "many", weights)
  if (!is.null(counted)) {
    return(gpsvm_matrix_rows(
      x[counted$at, , drop = FALSE], counted$y, counted$weights, na.action,
      standardize, call
    ))
  }
  if (is_sparse(x)) {
    return(gpsvm_sparse_rows(x, y, weights, standardize, call))
  }
  check_predictors(x, call)
  columns <- predictor_names(x, call)
  named <- !is.null(colnames(x))
  if (is.data.frame(x)) {
    names(x) <- columns
    if (!all(vapply(x, is_plain_number, NA))) {
      return(gpsvm_data_frame_rows(
        x, y, weights, na.action, standardize, call
      ))
    }
    x <- do.call(cbind, unclass(x))
  }
  if (storage.mode(x) != "double") storage.mode(x) <- "double"
  if (nrow(x) < 2L) abort_too_few_rows(nrow(x), call)
  moments <- block_moments(x)
  usable <- usable_matrix_rows(x, y, weights, moments, na.action, call)
  if (!is.null(usable$keep)) {
    x <- x[usable$keep, , drop = FALSE]
    y <- y[usable$keep]
    weights <- weights[usable$keep]
    moments <- block_moments(x)
  }
  check_columns(moments, x, columns, usable$keep, call)
  constant <- constant_columns(moments)
  warn_dropped(columns[constant], character(), call)
  keep <- which(!constant)
  if (length(keep) == 0L) abort_no_columns(call)
  gpsvm_rows(
    list(
      type = "matrix", x = x, weights = core_weights(weights), source = keep
    ),
    read_response(y, "y", "many", usable$keep), columns[keep],
    if (standardize) moments$mean[keep] else numeric(length(keep)),
    if (standardize) moments$sd[keep] else rep(1, length(keep)),
    matrix_info(columns, named, keep),
    used = seq_along(keep) + 1L, response = "y", dropped = columns[constant],
    na.action = usable$na.action, weights = kept_weights(weights)
  )
}

# Predictors that are not all numbers go the way of a formula.
gpsvm_data_frame_rows <- function(x, y, weights, na.action, standardize,
                                  call) {
  joined <- frame_with_response(x, y, call)
  out <- gpsvm_frame_rows(
    joined$formula, joined$data, weights, NULL, na.action, standardize, call
  )
  out["formula"] <- out["terms"] <- list(NULL)
  out
}

# Labels of a right kind, a label and a weight a row.
check_given_rows <- function(y, weights, n, call) {
  refuse_label_type(y, "y", response_kinds$many)
  given <- list(y = y, weights = weights)
  for (name in names(given)) {
    found <- length(given[[name]])
    if (!is.null(given[[name]]) && found != n) {
      abort_length(name, found, n, call)
    }
  }
}

usable_matrix_rows <- function(x, y, weights, moments, na.action, call) {
  n <- nrow(x)
  check_given_rows(y, weights, n, call)
  incomplete <- which(moments$missing > 0)
  names <- predictor_names(x, call)
  frame <- list2DF(c(
    list(y = y),
    stats::setNames(lapply(incomplete, function(j) x[, j]), names[incomplete]),
    if (!is.null(weights)) list("(weights)" = weights)
  ))
  usable_rows(frame, NULL, na.action, call)
}

is_sparse <- function(x) isS4(x) && methods::is(x, "sparseMatrix")

# Rows of a sparse matrix are put together when they are read; centring costs
# no memory.
gpsvm_sparse_rows <- function(x, y, weights, standardize, call) {
  n <- nrow(x)
  d <- ncol(x)
  columns <- colnames(x)
  named <- !is.null(columns)
  if (!named) columns <- paste0("x", seq_len(d))
  if (n < 2L) abort_too_few_rows(n, call)
  check_given_rows(y, weights, n, call)
  check_weights(weights, NULL, call)
  if (any(weights == 0)) {
    used <- weights > 0
    return(gpsvm_sparse_rows(
      x[used, , drop = FALSE], y[used], weights[used], standardize, call
    ))
  }
  wide <- methods::as(methods::as(Matrix::t(x), "dMatrix"), "generalMatrix")
  wide <- methods::as(wide, "CsparseMatrix")
  if (any(!is.finite(wide@x))) {
    at <- which(!is.finite(wide@x))[1]
    row <- findInterval(at - 1, wide@p)
    abort_missing(
      stats::setNames(1L, columns[wide@i[at] + 1L]), row,
      what = "Predictor", call = call,
      cure = "Leave such rows out, or impute them."
    )
  }
  classes <- read_response(y, "y", "many")
  mean <- Matrix::rowSums(wide) / n
  squares <- wide
  squares@x <- wide@x^2
  variance <- (Matrix::rowSums(squares) - n * mean^2) / (n - 1)
  constant <- variance <= 1e-20 * mean^2 | variance <= 0
  warn_dropped(columns[constant], character(), call)
  keep <- which(!constant)
  if (length(keep) == 0L) abort_no_columns(call)
  gpsvm_rows(
    list(
      type = "sparse", begin = wide@p, column = wide@i, value = wide@x,
      columns = d, weights = core_weights(weights), source = keep
    ),
    classes, columns[keep],
    if (standardize) mean[keep] else numeric(length(keep)),
    if (standardize) sqrt(variance[keep]) else rep(1, length(keep)),
    matrix_info(columns, named, keep),
    used = seq_along(keep) + 1L, response = "y", dropped = columns[constant],
    weights = kept_weights(weights)
  )
}

# The source is read once, into the file `path`.
gpsvm_source_rows <- function(source, path, standardize, progress, call) {
  spooled <- spool_rows(source, path, standardize, FALSE, progress, call)
  keep <- spooled$source[-1]
  if (length(keep) == 0L) abort_no_columns(call)
  columns <- spooled$names[-1]
  center <- spooled$center[-1]
  scale <- spooled$scale[-1]
  list(
    data = list(
      type = "file", path = path, rows = spooled$rows,
      columns = spooled$columns, labels = numeric(), weights = numeric(),
      source = keep, center = center, scale = scale,
      positive = spooled$positive
    ),
    n = spooled$rows, levels = spooled$levels, columns = columns,
    center = stats::setNames(center, columns),
    scale = stats::setNames(scale, columns),
    info = matrix_info(source$columns, TRUE, keep),
    used = seq_along(keep) + 1L, response = source$response,
    dropped = spooled$dropped, share = spooled$share
  )
}

# A kernel matrix: its rows are those of K and the diagonal.
gpsvm_kernel_rows <- function(x, y, weights, na.action, call) {
  k <- kernel_matrix(precomputed(), x)
  dimnames(k) <- NULL
  n <- nrow(k)
  check_given_rows(y, weights, n, call)
  check_weights(weights, NULL, call)
  columns <- c(paste0("k", seq_len(n)), "diagonal")
  gpsvm_rows(
    list(
      type = "matrix", x = cbind(k, diag(k)), weights = core_weights(weights),
      source = seq_len(n + 1L)
    ),
    read_response(y, "y", "many"), columns, numeric(n + 1L),
    rep(1, n + 1L), list(type = "kernel", rows = n, diagonal = mean(diag(k))),
    response = "y", weights = kept_weights(weights)
  )
}

# New rows for a fit, as the core reads them: `complete` tells those that have
# everything.
gpsvm_new_rows <- function(object, newdata, call = user_call()) {
  if (object$design$type == "kernel") {
    x <- new_kernel_rows(object, newdata, call)
    complete <- which(is.finite(rowSums(x)))
  } else {
    if (is_sparse(newdata)) newdata <- as.matrix(newdata)
    new <- design_new(object$design, newdata, call = call)
    complete <- which(new$complete)
    x <- new$x[complete, object$used, drop = FALSE]
    n <- length(new$complete)
    return(list(data = new_data(object, x), complete = complete, n = n))
  }
  list(
    data = new_data(object, x[complete, , drop = FALSE]), complete = complete,
    n = nrow(x)
  )
}

new_data <- function(object, x) {
  storage.mode(x) <- "double"
  list(
    type = "matrix", x = unname(x), labels = numeric(), weights = numeric(),
    source = seq_len(ncol(x)), center = unname(object$transform$center),
    scale = unname(object$transform$scale)
  )
}

# Kernel values of new rows with the training rows, and of each with itself.
new_kernel_rows <- function(object, newdata, call) {
  n <- object$design$rows
  if (!is.matrix(newdata) || !is.numeric(newdata) ||
    !(ncol(newdata) %in% c(n, n + 1L))) {
    abort_argument(
      newdata, "newdata", sprintf(paste(
        "a matrix of kernel values with the %d training rows, and in column",
        "%d those of the new rows with themselves, if they vary"
      ), n, n + 1L),
      kind = "dimension", call = call
    )
  }
  if (ncol(newdata) == n) newdata <- cbind(newdata, object$design$diagonal)
  newdata
}
