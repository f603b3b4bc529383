# Selection as the user sees it: inclusion probabilities, and their path.

#' @rdname inclusion
#' @export
inclusion.bayeskernel_fit <- function(object, by = c("column", "term"), ...) {
  check_whole(object, ...)
  by <- check_choice(by, c("column", "term"), "by")
  need_selection(object)
  columns <- inclusion_by(object)
  if (by == "column") return(columns)
  terms <- term_of_columns(object)[names(columns)]
  shared <- by_term(object$prior)
  vapply(split(names(columns), factor(terms, unique(terms))), function(own) {
    if (length(own) == 1L || shared) columns[[own[1L]]] else inclusion_of_any(object, own)
  }, 0)
}

need_selection <- function(object) {
  if (is.null(inclusion_columns(object))) {
    bk_abort(
      "argument", "The fit has no selection.",
      "Fit it with `select = TRUE`, or with a formula of terms to select among."
    )
  }
}

#' @exportS3Method
selection_of.bark <- function(object) {
  list(
    columns = if (object$select) object$columns,
    inclusion = function() colMeans(bark_scales(object) > 0),
    draws = function(columns) bark_scales(object)[, columns], positive = function() NULL
  )
}

#' @exportS3Method
selection_of.default <- function(object) {
  selection <- object$posterior$selection
  at <- selection$columns
  columns <- if (!is.null(at)) fixed_names(object)[at]
  list(
    columns = columns,
    inclusion = function() {
      out <- as.vector(selection$polished %||% selection$inclusion)
      names(out) <- columns
      range <- selection$range
      if (!is.null(range)) attr(out, "range") <- stats::setNames(range, columns)
      out
    },
    draws = function(columns) flat_draws(object, columns),
    positive = function() effect_signs(object, at)
  )
}

# That one of several columns is in the model, or more.
inclusion_of_any <- function(object, columns) {
  if (!is_sampled(object)) {
    bk_abort(
      "argument", "The fit has no joint draws of its indicators.",
      sprintf("Found: a term of %d columns, each in or out by itself.", length(columns)),
      "Accepted: by = \"column\"; or a fit with `polish = TRUE`.", column = "by", found = "term"
    )
  }
  mean(rowSums(selection_of(object)$draws(columns) != 0) > 0)
}

# The term of the formula that each column of the design belongs to, by name; of a matrix every
# column is a term. Widths of terms are those of their variables: a factor has a column for each
# level where `factors` says 2, for each contrast where it says 1.
term_of_columns <- function(object) {
  info <- object$design
  if (is.null(info$terms)) return(stats::setNames(nm = info$columns))
  coding <- attr(info$terms, "factors")
  classes <- attr(info$frame_terms, "dataClasses")
  width <- function(variable, code) {
    levels <- length(info$xlevels[[variable]])
    if (levels == 0L && identical(classes[[variable]], "logical")) levels <- 2L
    if (levels > 0L) return(if (code == 2L) levels else levels - 1L)
    if (startsWith(classes[[variable]], "nmatrix.")) {
      return(as.integer(sub("nmatrix.", "", classes[[variable]], fixed = TRUE)))
    }
    1L
  }
  labels <- attr(info$terms, "term.labels")
  variables <- variable_names(info$terms)
  widths <- vapply(seq_along(labels), function(t) {
    used <- which(coding[, t] > 0)
    prod(vapply(used, function(v) width(variables[v], coding[v, t]), 1L))
  }, 1)
  all <- c(if (attr(info$terms, "intercept") == 1L) "(Intercept)", rep(labels, widths))
  own <- all[info$keep]
  stats::setNames(ifelse(is.na(own), info$columns, own), info$columns)
}

# P(effect > 0 | in the model), by selected column.
effect_signs <- function(object, columns) {
  if (is_sampled(object)) {
    draws <- flat_draws(object, fixed_names(object)[columns])
    ins <- colSums(draws != 0)
    return(ifelse(ins > 0, colSums(draws > 0) / pmax(ins, 1), 0.5))
  }
  posterior <- object$posterior
  sd <- sqrt(cov_diagonal(posterior$theta_cov)[columns])
  unname(stats::pnorm(posterior$theta_mean[columns] / sd))
}

#' Inclusion along the prior probability
#'
#' Fits a variational model with selection again for every value of the prior
#' inclusion probability: how many columns are kept depends on it.
#'
#' @param object A `"vb"` fit by [bsvm()] or [bkm()] made with `select`.
#' @param rho Prior probabilities, strictly between 0 and 1, any length.
#' @param x An `inclusion_path`.
#' @param names How many columns are named in the plot, default 12.
#' @param main Title.
#' @param ... No further arguments.
#' @return `inclusion_path()`: a list of class `inclusion_path` with `rho` in decreasing order,
#'   matrices `inclusion` and `effect` (posterior mean of the effect of a standardized column), a
#'   row for each `rho`, and `elbo`, the bounds. The plot shows the effects.
#' @seealso [inclusion()], [bsvm()].
#' @examples
#' set.seed(1)
#' x <- matrix(rnorm(2000), 200, 10, dimnames = list(NULL, letters[1:10]))
#' y <- x[, "a"] - x[, "b"] / 2 + rlogis(200) > 0
#' fit <- bsvm(x, y, select = TRUE, threads = 1)
#' path <- inclusion_path(fit, rho = c(0.3, 0.1, 0.01, 1e-4))
#' path
#' plot(path)
#' @export
inclusion_path <- function(object, rho = 10^seq(-0.3, -5, length.out = 20)) {
  if (!inherits(object, c("bsvm", "bkm")) || identical(object$method, "gibbs")) {
    abort_argument(object, "object", "a fit by bsvm(method = \"vb\")")
  }
  need_selection(object)
  good <- is.numeric(rho) && length(rho) > 0L && !anyNA(rho) && all(rho > 0 & rho < 1)
  if (!good) abort_argument(rho, "rho", "numbers strictly between 0 and 1")
  rho <- sort(rho, decreasing = TRUE)
  home <- parent.frame()
  fits <- lapply(rho, function(value) {
    prior <- object$prior
    prior$rho <- value
    prior["rho_beta"] <- list(NULL)
    call <- object$call
    # The package need not be attached.
    call[[1]] <- if (inherits(object, "bkm")) bkm else bsvm
    call$prior <- prior
    call$control <- as.call(list(changed_control, call$control %||% list(), polish = FALSE))
    eval(call_with_data(object, call), home)
  })
  columns <- object$posterior$selection$columns
  structure(
    list(
      rho = rho, inclusion = do.call(rbind, lapply(fits, inclusion_by)),
      effect = do.call(rbind, lapply(fits, function(fit) coefficient_mean(fit, "model")[columns])),
      elbo = vapply(fits, function(fit) fit$trace$elbo[length(fit$trace$elbo)], 1)
    ),
    class = "inclusion_path"
  )
}

#' @rdname inclusion_path
#' @export
print.inclusion_path <- function(x, ...) {
  cat("Columns kept (inclusion above 0.5) along the prior probability\n")
  print(data.frame(
    rho = signif(x$rho, 3), kept = rowSums(x$inclusion > 0.5), bound = round(x$elbo, 3)
  ), row.names = FALSE)
  invisible(x)
}

# Heights at least `gap` apart, close to those wanted.
spread_labels <- function(y, gap) {
  order <- order(y)
  out <- y[order]
  for (k in seq_along(out)[-1L]) out[k] <- max(out[k], out[k - 1L] + gap)
  out <- out - (mean(out) - mean(y))
  out[order(order)]
}
