# Effects of units whose correlations are known, a ~ N(0, t^2 G), as a block of
# columns: a = L b with G = L L' and b iid, so that row i has row unit(i) of L.

# `cov`: a named list of covariance matrices, by variable of the data.
check_cov <- function(cov, name = "cov", call = user_call()) {
  if (is.null(cov)) {
    return(NULL)
  }
  named <- is.list(cov) && !is.data.frame(cov) && length(cov) > 0L &&
    !is.null(names(cov)) && all(nzchar(names(cov))) &&
    !anyDuplicated(names(cov))
  if (!named) {
    abort_argument(
      cov, name, "a list of matrices named by variables, list(unit = G)",
      call = call
    )
  }
  Map(function(g, unit) check_unit_covariance(g, unit, call), cov, names(cov))
}

# A matrix with names, scaled to a mean diagonal of 1, and its root.
check_unit_covariance <- function(g, unit, call) {
  abort <- function(header, found, cure) {
    bk_abort(
      "argument", fit_header(header, unit), c(found, cure),
      column = "cov", found = unit, call = call
    )
  }
  if (is_sparse(g)) g <- as.matrix(g)
  if (!is.matrix(g) || !is.numeric(g) || nrow(g) != ncol(g) || nrow(g) < 2L) {
    abort(
      "The covariance of `%s` is no square matrix of numbers.",
      sprintf("Found: %s.", article(describe_value(g))),
      "Accepted: a matrix with a row and a column for each unit."
    )
  }
  levels <- rownames(g)
  if (is.null(levels)) levels <- colnames(g)
  if (is.null(levels) || anyNA(levels) || anyDuplicated(levels) ||
    !is.null(colnames(g)) && !identical(colnames(g), levels)) {
    abort(
      "The covariance of `%s` does not name its units.", NULL,
      "Accepted: the same different names for rows and columns."
    )
  }
  if (nrow(g) > most_units) {
    abort(
      "The covariance of `%s` has too many units.",
      sprintf("Found: %d.", nrow(g)), sprintf("Accepted: %d.", most_units)
    )
  }
  if (!all(is.finite(g)) || max(abs(g - t(g))) > 1e-8 * max(abs(g))) {
    abort(
      "The covariance of `%s` is not symmetric, or not finite.", NULL,
      "Accepted: a symmetric matrix of finite numbers."
    )
  }
  eigen <- eigen((g + t(g)) / 2, symmetric = TRUE)
  largest <- eigen$values[1]
  smallest <- eigen$values[nrow(g)]
  if (largest <= 0 || smallest < -1e-8 * largest) {
    abort(
      "The covariance of `%s` is not positive definite.",
      sprintf(
        "Found: eigenvalues from %.3g to %.3g.", smallest, largest
      ), "Accepted: a covariance matrix; small negative ones become 0."
    )
  }
  if (smallest < 0) {
    message(sprintf(
      "Negative eigenvalues of the covariance of `%s`, down to %.2g, became 0.",
      unit, smallest
    ))
  }
  scale <- mean(diag(g))
  # Roots of semidefinite matrices, too, lower triangular up to signs.
  root <- eigen$vectors %*% (sqrt(pmax(eigen$values, 0) / scale) *
    t(eigen$vectors))
  list(levels = levels, root = root, scale = scale)
}

most_units <- 2000L

is_correlated <- function(term) !is.null(term$correlated)

# As read_smooth() describes a term.
read_correlated <- function(cov) {
  unname(Map(function(own, unit) {
    list(
      text = sprintf("cov(%s)", unit), spec = list(term = unit), keys = unit,
      variables = list(as.name(unit)), by = NULL, correlated = own
    )
  }, cov, names(cov)))
}

build_correlated <- function(term, frame, rows, call) {
  own <- term$correlated
  unit <- frame[[term$keys]]
  lost <- setdiff(unique(as.character(unit[!is.na(unit)])), own$levels)
  if (length(lost)) {
    bk_abort(
      "argument",
      fit_header("The covariance of `%s` lacks units of the data.", term$keys),
      c(
        sprintf("Lacking: %s.", list_some(quoted(lost))),
        paste("Found:", list_some(quoted(own$levels)))
      ),
      column = "cov", found = lost, call = call
    )
  }
  smooth <- list(
    label = term$text, keys = term$keys, names = term$keys, by = NULL,
    level = NULL, dim = 1L, correlated = own,
    block = rep(1, length(own$levels)),
    ranges = stats::setNames(list(NULL), term$keys),
    levels = stats::setNames(list(own$levels), term$keys)
  )
  smooth$x <- correlated_columns(smooth, unit)
  list(smooth)
}

# Of units beyond the matrix: no effect is known.
correlated_columns <- function(smooth, unit) {
  own <- smooth$correlated
  x <- own$root[match(as.character(unit), own$levels), , drop = FALSE]
  unknown <- is.na(x[, 1L]) & !is.na(unit)
  x[unknown, ] <- 0
  x
}
