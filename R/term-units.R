# Effects of units whose correlations are known, a ~ N(0, t^2 G), as a block of columns: a = L b
# with G = L L' and b iid, so that row i has row unit(i) of L.

#' The precision of correlated units
#'
#' Marks a matrix given to `cov` of [bkm()] as the inverse of the covariance: of
#' pedigrees, trees, time series and Markov random fields it is the sparse one.
#'
#' @param q Precision matrix, symmetric and positive definite, its rows and columns named by the
#'   units, at most 2000; dense, or a sparse one of package Matrix.
#' @return An object for `cov = list(unit = unit_precision(q))`. The fit is that
#'   of `solve(q)`, which is computed.
#' @seealso [unit_low_rank()]
#' @section Errors: `bayeskernel_error_argument` by [bkm()] for a matrix that is
#'   no precision. One that is singular, such as of an intrinsic field, becomes
#'   one by a small multiple of the identity.
#' @examples
#' # A first-order autoregression over 20 times.
#' times <- 1:20
#' q <- diag(c(1, rep(1 + 0.9^2, 18), 1))
#' q[abs(outer(times, times, "-")) == 1] <- -0.9
#' dimnames(q) <- list(times, times)
#' set.seed(1)
#' d <- data.frame(time = times)
#' d$y <- as.vector(arima.sim(list(ar = 0.9), 20)) + rnorm(20)
#' fit <- bkm(y ~ 1, d, cov = list(time = unit_precision(q)))
#' fitted(fit)
#' @export
unit_precision <- function(q) {
  if (missing(q)) abort_absent("q", unit_matrix)
  structure(list(matrix = q), class = "bayeskernel_precision")
}

#' A low-rank covariance of units
#'
#' Marks a matrix given to `cov` of [bkm()] as a root of the covariance: `G = l %*% t(l)`, a row of
#' `l` for each unit. The fit then has `ncol(l)` columns instead of one for each unit, and `G` is
#' never formed: so many thousands of units go, such as lines with some hundred genotyped markers.
#'
#' @param l Numeric matrix, units x at most 2000 columns, its rows named by the
#'   units; dense, or a sparse one of package Matrix.
#' @return An object for `cov = list(unit = unit_low_rank(l))`, which is the
#'   model of `cov = list(unit = l %*% t(l))`; and, with rows for new units, for
#'   `newcov` of [predict()][predict.bayeskernel_fit].
#' @section New units: `newcov = list(unit = unit_low_rank(new))` has rows for
#'   units that the fit does not have, in its columns. Their effects are
#'   those combinations of the columns' coefficients, and nothing is left open.
#'   A matrix of covariances with all units of the fit goes, too.
#' @section Errors: `bayeskernel_error_argument` by [bkm()] for a matrix without
#'   the units' names, with values that are not finite, or all of them 0.
#' @seealso [unit_precision()], [bkm()].
#' @examples
#' # 200 lines with 30 markers, two rows each.
#' set.seed(1)
#' markers <- matrix(rbinom(200 * 30, 2, 0.4), 200)
#' rownames(markers) <- sprintf("line%d", 1:200)
#' markers <- scale(markers, scale = FALSE)
#' effect <- drop(markers %*% rnorm(30, sd = 0.3))
#' d <- data.frame(line = rep(rownames(markers), 2))
#' d$y <- effect[d$line] + rnorm(400)
#' fit <- bkm(y ~ 1, d, cov = list(line = unit_low_rank(markers)))
#' cor(predict(fit, d[1:200, , drop = FALSE]), effect)
#' @export
unit_low_rank <- function(l) {
  if (missing(l)) abort_absent("l", unit_matrix)
  structure(list(matrix = l), class = "bayeskernel_low_rank")
}

unit_matrix <- "a matrix whose rows are named by the units"

is_low_rank <- function(x) inherits(x, "bayeskernel_low_rank")

# `cov`: a named list of covariance matrices, by variable of the data.
check_cov <- function(cov, name = "cov") {
  if (is.null(cov)) return(NULL)
  named <- is.list(cov) && !is.data.frame(cov) && length(cov) > 0L &&
    !is.null(names(cov)) && all(nzchar(names(cov))) &&
    !anyDuplicated(names(cov))
  if (!named) abort_argument(cov, name, "a list of matrices named by variables, list(unit = G)")
  Map(function(g, unit) {
    if (is_low_rank(g)) check_unit_root(g, unit) else check_unit_covariance(g, unit)
  }, cov, names(cov))
}

# A root that is given, scaled to a mean diagonal of 1.
check_unit_root <- function(g, unit) {
  root <- check_root_matrix(g, unit, "cov")
  if (ncol(root) > most_units) {
    abort_units(
      unit, "The root of the covariance of `%s` has too many columns.",
      sprintf("Found: %d.", ncol(root)),
      sprintf("Accepted: %d, such as leading left singular vectors times values.", most_units)
    )
  }
  if (nrow(root) < 2L || all(root == 0)) {
    abort_units(
      unit, "The root of the covariance of `%s` says nothing.",
      if (nrow(root) < 2L) "Found: one unit." else "Found: zeros alone.",
      "Accepted: a matrix with a row for each of several units."
    )
  }
  levels <- rownames(root)
  scale <- mean(rowSums(root^2))
  list(levels = levels, root = unname(root) / sqrt(scale), scale = scale, low_rank = TRUE)
}

abort_units <- function(unit, header, ..., argument = "cov") {
  bk_abort("argument", fit_header(header, unit), ..., column = argument, found = unit)
}

# Different names, as many as there should be.
are_names <- function(x, size = length(x)) {
  length(x) == size && size > 0L && !anyNA(x) && !anyDuplicated(x)
}

check_root_matrix <- function(g, unit, argument) {
  root <- g$matrix
  if (is_sparse(root)) root <- as.matrix(root)
  abort <- function(wrong, ...) {
    abort_units(unit, paste("The root of the covariance of `%s`", wrong), ..., argument = argument)
  }
  if (!is.matrix(root) || !is.numeric(root) || length(root) == 0L) {
    abort(
      "is no matrix of numbers.", sprintf("Found: %s.", article(describe_value(root))),
      "Accepted: a matrix with a row for each unit."
    )
  }
  levels <- rownames(root)
  if (!are_names(levels)) {
    abort("does not name its units.", "Accepted: different names for its rows.")
  }
  bad <- which(!is.finite(root), arr.ind = TRUE)
  if (nrow(bad)) {
    abort(
      "is not finite.", sprintf(
        "Found: %s in the row of %s.",
        format(root[bad[1L, , drop = FALSE]]), quoted(levels[bad[1L, 1L]])
      ), "Accepted: finite numbers."
    )
  }
  storage.mode(root) <- "double"
  root
}

# A matrix with names, scaled to a mean diagonal of 1, and its root.
check_unit_covariance <- function(g, unit) {
  inverse <- inherits(g, "bayeskernel_precision")
  abort <- function(wrong, ...) {
    what <- if (inverse) "precision" else "covariance"
    abort_units(unit, paste("The", what, "of `%s`", wrong), ...)
  }
  if (inverse) g <- g$matrix
  # Before a sparse matrix becomes a dense one.
  if (length(dim(g)) == 2L && nrow(g) > most_units) {
    abort(
      "has too many units.", sprintf("Found: %d.", nrow(g)), sprintf("Accepted: %d.", most_units)
    )
  }
  if (is_sparse(g)) g <- as.matrix(g)
  if (!is.matrix(g) || !is.numeric(g) || nrow(g) != ncol(g) || nrow(g) < 2L) {
    abort(
      "is no square matrix of numbers.", sprintf("Found: %s.", article(describe_value(g))),
      "Accepted: a matrix with a row and a column for each unit."
    )
  }
  levels <- rownames(g) %||% colnames(g)
  if (!are_names(levels) || !identical(colnames(g) %||% levels, levels)) {
    abort("does not name its units.", "Accepted: the same different names for rows and columns.")
  }
  if (!all(is.finite(g)) || max(abs(g - t(g))) > 1e-8 * max(abs(g))) {
    abort("is not symmetric, or not finite.", "Accepted: a symmetric matrix of finite numbers.")
  }
  if (inverse) {
    root <- tryCatch(chol((g + t(g)) / 2), error = function(e) NULL)
    # Of a singular matrix rounding may leave a root.
    if (is.null(root) || min(diag(root)) < 1e-7 * max(diag(root))) {
      abort("is not positive definite.", paste(
        "Accepted: a precision matrix. A singular one becomes one by a small",
        "multiple of the identity."
      ))
    }
    g <- chol2inv(root)
  }
  eigen <- eigen((g + t(g)) / 2, symmetric = TRUE)
  largest <- eigen$values[1]
  smallest <- eigen$values[nrow(g)]
  if (largest <= 0 || smallest < -1e-8 * largest) {
    abort(
      "is not positive definite.",
      sprintf("Found: eigenvalues from %.3g to %.3g.", smallest, largest),
      "Accepted: a covariance matrix; small negative ones become 0."
    )
  }
  if (smallest < 0) {
    message(sprintf(
      "Negative eigenvalues of the covariance of `%s`, down to %.2g, became 0.", unit, smallest
    ))
  }
  scale <- mean(diag(g))
  # Roots of semidefinite matrices, too, lower triangular up to signs.
  root <- eigen$vectors %*% (sqrt(pmax(eigen$values, 0) / scale) * t(eigen$vectors))
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

build_correlated <- function(term, frame, rows, ...) {
  own <- term$correlated
  unit <- frame[[term$keys]]
  lost <- setdiff(unique(as.character(unit[!is.na(unit)])), own$levels)
  if (length(lost)) {
    bk_abort(
      "argument", fit_header("The covariance of `%s` lacks units of the data.", term$keys),
      sprintf("Lacking: %s.", list_some(quoted(lost))),
      paste("Found:", list_some(quoted(own$levels))), column = "cov", found = lost
    )
  }
  smooth <- list(
    label = term$text, keys = term$keys, names = term$keys, by = NULL, level = NULL, dim = 1L,
    correlated = own, block = rep(1, ncol(own$root)),
    ranges = stats::setNames(list(NULL), term$keys),
    levels = stats::setNames(list(own$levels), term$keys)
  )
  smooth$x <- correlated_columns(smooth, unit)
  list(smooth)
}

# Of units beyond the matrix the prior's mean.
correlated_columns <- function(smooth, unit) {
  own <- smooth$correlated
  x <- own$root[match(as.character(unit), own$levels), , drop = FALSE]
  unknown <- is.na(x[, 1L]) & !is.na(unit)
  x[unknown, ] <- 0
  x
}

# New units -------------------------------------------------------------------

correlated_of <- function(smooths) unname(Filter(is_correlated, smooths))

# What the units of the fit leave open of the variance of a unit, in multiples of t^2: n x
# correlated terms; NULL without such.
unit_open <- function(smooths, frame) {
  terms <- correlated_of(smooths)
  if (length(terms) == 0L) return(NULL)
  n <- .row_names_info(frame, 2L)
  out <- vapply(terms, function(smooth) {
    own <- smooth$correlated
    at <- match(as.character(frame[[smooth$names]]), own$levels)
    left <- own$left %||% numeric(length(own$levels))
    ifelse(is.na(at), 1, left[at])
  }, numeric(n))
  matrix(out, n)
}

# The fit with rows for units that it has not seen, of which `newcov` has covariances: E a_new =
# G(new, old) G^-1 E a, and the rest of the variance.
with_new_units <- function(object, newcov, newdata) {
  if (is.null(newdata)) {
    bk_abort(
      "argument", "`newcov` is of units in `newdata`, which is not there.",
      "Give rows of these units as `newdata`.", column = "newcov"
    )
  }
  terms <- correlated_of(object$design$smooths)
  units <- vapply(terms, `[[`, "", "names")
  if (length(units) == 0L) {
    bk_abort(
      "argument", "The fit has no correlated units.",
      "Leave `newcov` out: it extends matrices given to bkm(cov = ).", column = "newcov"
    )
  }
  strange <- setdiff(names(newcov), units)
  if (!is.list(newcov) || is.data.frame(newcov) || is.null(names(newcov)) ||
    length(strange) || anyDuplicated(names(newcov))) {
    abort_argument(
      newcov, "newcov",
      sprintf("a list of matrices named by units, some of %s", list_some(quoted(units)))
    )
  }
  object$design$smooths <- lapply(object$design$smooths, function(smooth) {
    if (is_correlated(smooth) && smooth$names %in% names(newcov)) {
      smooth$correlated <- extended_units(smooth$correlated, newcov[[smooth$names]], smooth$names)
    }
    smooth
  })
  object
}

abort_newcov <- function(unit, wrong, ...) {
  abort_units(unit, paste("`newcov` of `%s`", wrong), ..., argument = "newcov")
}

check_newcov <- function(own, given, unit) {
  if (!is.matrix(given) || !is.numeric(given) || !are_names(rownames(given), nrow(given)) ||
    !are_names(colnames(given), ncol(given)) || all(rownames(given) %in% own$levels)) {
    abort_newcov(
      unit, "does not name new units.", sprintf("Found: %s.", article(describe_value(given))),
      "Accepted: a matrix with named rows, new units, and columns, all units of the fit."
    )
  }
  lost <- setdiff(own$levels, colnames(given))
  if (length(lost)) {
    abort_newcov(
      unit, "lacks units of the fit.", sprintf("Lacking: %s.", list_some(quoted(lost))),
      "Accepted: a column for each unit of the matrix given to bkm()."
    )
  }
  if (!all(is.finite(given))) {
    abort_newcov(unit, "is not finite.", "Accepted: finite numbers.")
  }
}

# Rows of the root that are given.
extended_root <- function(own, given, unit) {
  if (!isTRUE(own$low_rank)) {
    abort_newcov(
      unit, "is a root, but the fit has a covariance.",
      "Accepted: a matrix of covariances with the units of the fit."
    )
  }
  rows <- check_root_matrix(given, unit, "newcov")
  if (ncol(rows) != ncol(own$root)) {
    abort_newcov(
      unit, "does not have the columns of the fit.",
      sprintf("Found: %d. Accepted: %d.", ncol(rows), ncol(own$root))
    )
  }
  rows <- rows[!(rownames(rows) %in% own$levels), , drop = FALSE]
  if (nrow(rows) == 0L) {
    abort_newcov(unit, "does not name new units.", "Accepted: units that the fit does not have.")
  }
  own$left <- numeric(length(own$levels) + nrow(rows))
  own$levels <- c(own$levels, rownames(rows))
  own$root <- rbind(own$root, unname(rows) / sqrt(own$scale))
  own
}

# The units of a fit and new ones, whose rows of the root are G(new, old) L^-T; `left` is the
# variance that they leave.
extended_units <- function(own, given, unit) {
  if (is_low_rank(given)) return(extended_root(own, given, unit))
  if (is_sparse(given)) given <- as.matrix(given)
  check_newcov(own, given, unit)
  new <- setdiff(rownames(given), own$levels)
  given <- given[new, , drop = FALSE] / own$scale
  with_old <- given[, own$levels, drop = FALSE]
  root <- if (isTRUE(own$low_rank)) {
    svd(own$root)
  } else {
    parts <- eigen(own$root, symmetric = TRUE)
    list(d = parts$values, u = parts$vectors, v = parts$vectors)
  }
  there <- root$d > 1e-7 * root$d[1L]
  rows <- (with_old %*% root$u[, there, drop = FALSE]) %*%
    (t(root$v[, there, drop = FALSE]) / root$d[there])
  gap <- max(abs(tcrossprod(rows, own$root) - with_old))
  if (gap > 1e-5 * max(1, abs(with_old))) {
    abort_newcov(
      unit, "contradicts the covariance of the fit.",
      "What does not vary over its units has a covariance with new ones."
    )
  }
  variance <- rep(1, length(new))
  known <- new %in% colnames(given)
  variance[known] <- given[cbind(new, new)[known, , drop = FALSE]]
  left <- variance - rowSums(rows^2)
  bad <- which(left < -1e-6 * pmax(variance, 1))
  if (length(bad)) {
    abort_newcov(
      unit, "is no covariance with the units of the fit.",
      sprintf(
        "Found: unit %s of variance %.3g, of which the others explain %.3g.", quoted(new[bad[1L]]),
        own$scale * variance[bad[1L]], own$scale * (variance - left)[bad[1L]]
      ),
      if (!all(known)) {
        paste(
          "Give columns of the new units, too: their variances were taken to",
          "be the mean variance of the units of the fit."
        )
      }
    )
  }
  list(
    levels = c(own$levels, new), root = rbind(own$root, rows),
    scale = own$scale, left = c(numeric(length(own$levels)), pmax(left, 0))
  )
}
