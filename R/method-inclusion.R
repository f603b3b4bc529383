# Selection as the user sees it: inclusion probabilities, and their path.

#' Posterior inclusion probabilities
#'
#' The probability of every predictor to be in the model.
#'
#' @param object A fit by [bkm()], [bsvm()] or [bark()] made with `select`.
#' @param by `"column"` of the design, the default; `"term"` of the formula: the
#'   probability that any of the columns of the term is in the model.
#' @param ... Unused.
#' @return Named numeric vector of probabilities, one for each column of the design under selection:
#'   * `"gibbs"`: the mean over all draws of the conditional probability given the rest;
#'   * `"vb"`: the same from 4 short runs of the sampler that begin at the variational optimum. The
#'     attribute `range` says how much the runs differ;
#'   * `polish = "ep"` or `FALSE`: the probability of EP, or of variational Bayes;
#'   * [bark()]: the share of the draws in which the column is in the model.
#'
#'   With `by = "term"` an element for each term: the probability that any of its columns is in.
#'   Fits without draws do not know it for several columns, and say so.
#' @section The prior: With the default of [bkm_prior()] and [bsvm_prior()], `rho = 0.01`, one term
#'   of a hundred is expected to matter. This suits many columns of which few matter. If there are
#'   ten terms it expects 0.1, so that few rows show only strong effects. With few terms say what
#'   you expect: `prior = bkm_prior(rho = 0.5)` expects half of them. Or let the data tell the
#'   share: `prior = bkm_prior(rho_beta = c(1, 1))`. [print()] shows the prior in the column next to
#'   the posterior: compare both.
#' @section Variational fits: The variational probability is more extreme than the posterior: nearly
#'   0 or nearly 1 where `"gibbs"` still hesitates. What is reported, coefficients and predictions
#'   included, is therefore the sampler's. Where a column's probability differs by more than 0.3
#'   between the streams, [print()] and [summary()] say that the selection has not settled: run
#'   `method = "gibbs"` for longer.
#' @section Expectation propagation: `polish = "ep"` gives the same numbers every time, and with few
#'   columns they are close to those of long chains, within about 0.05. If a rare column separates
#'   the classes where it is not 0, its probability can be far too low, without a warning. If the
#'   messages settle at several places, the one with the highest evidence counts.
#' @section Errors: `bayeskernel_error_argument` if the fit has no selection.
#' @seealso [inclusion_path()], [compare_terms()], [bkm()], [bsvm()], [bark()]; `vignette("spam")`.
#' @references Luts, J. and Ormerod, J. T. (2014). Mean field variational
#'   Bayesian inference for support vector machine classification.
#'   *Computational Statistics & Data Analysis* 73, 163-176, section 3.2.
#' @examples
#' two <- droplevels(subset(chickwts, feed %in% c("casein", "soybean", "linseed")))
#' fit <- bkm(
#'   weight > 250 ~ feed, two, select = TRUE, prior = bkm_prior(rho = 0.5), seed = 1
#' )
#' round(inclusion(fit), 3)
#' round(inclusion(fit, by = "term"), 3)
#' @aliases inclusion.bkm inclusion.bsvm inclusion.bark
#' @export
inclusion <- function(object, ...) {
  check_given("object")
  UseMethod("inclusion")
}

#' @rdname inclusion
#' @export
inclusion.bayeskernel_fit <- function(object, by = c("column", "term"), ...) {
  check_whole(object, ...)
  by <- check_choice(by, c("column", "term"), "by")
  need_selection(object)
  if (by == "term") return(inclusion_by_term(object))
  columns <- inclusion_by(object)
  # Its range is for programs: no one wants to see it under the table.
  if (!is.null(attr(columns, "range"))) class(columns) <- c("bayeskernel_inclusion", "numeric")
  columns
}

#' @export
print.bayeskernel_inclusion <- function(x, ...) {
  shown <- stats::setNames(as.vector(x), names(x))
  print(if (is.numeric(shown)) round(shown, 4) else shown, ...)
  invisible(x)
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

# P(effect > 0 | in the model), by selected column.
effect_signs <- function(object, columns) {
  if (!is.null(object$draws)) {
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
#' fit <- bsvm(x, y, select = TRUE)
#' path <- inclusion_path(fit, rho = c(0.3, 0.1, 0.01, 1e-4))
#' path
#' plot(path)
#' @export
inclusion_path <- function(object, rho = 10^seq(-0.3, -5, length.out = 20)) {
  check_given("object")
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
