#' Add rows to a fit
#'
#' The same model with more rows; the old ones are no longer needed.
#'
#' A fit by [seqkr()] goes on from its particles: to extend a fit to rows 1 to s, taken in the given
#' order, by rows s + 1 to t is identical to one fit to rows 1 to t. Predictors and response are
#' standardized as by the first rows. A batch that is refused leaves the fit as it was.
#'
#' A fit by [bkm()] or [bsvm()] with `method = "ep"` takes its posterior as the prior of the new
#' rows: coefficients, smooths, processes and the effects of groups are updated, groups that are new
#' come in by the law of the others. The variances of groups and smooths, length-scales and the
#' calibrated link of a support vector machine stay as they were estimated. A warning says where the
#' first rows hardly tell a variance of groups. The noise of a regression is updated. What was
#' integrated over a grid of variances goes on as one Gaussian at their means. The fit
#' then keeps nothing about its rows: no [fitted()], no leave-one-out, no [deviance()];
#' [update()] needs the rows, too.
#'
#' Rows of a [row_source()] are read in blocks. Where the workers of a cluster have them, each keeps
#' its own and sends sums. The fit is that of the same rows in a data frame, to the tolerance of
#' expectation propagation. Such rows extend fits of columns and random terms, without smooths,
#' [gp()] terms, offsets and weights. Groups may be new and may be in several parts.
#'
#' @section Rows outside: Terms follow their stream. A curve `s(x)` of a basis `"tp"` or `"cr"` is
#'   known where its knots are; beyond, it has the prior of a smoothing spline, a twice integrated
#'   white noise that continues value and slope, on up to 60 intervals. A process `gp()` gets
#'   further inducing points at rows where more than a tenth of its variance, or of the noise's, is
#'   open, up to 200 in all. Both leave what is known as it is. Other bases and surfaces go on by
#'   their last slope, and of [seqkr()] with `grid_max` or `grid` inputs are no candidates any more:
#'   where at least three rows and 5 % of the later ones are more than a tenth of the range outside,
#'   a warning of class `bayeskernel_warning_outside` says the share. It also says, once ten rows
#'   have come, which columns have a location that is more than 5 standard deviations of the first
#'   rows away, or another scale by a factor of 5 (a smaller one after 50 rows): the first rows
#'   decide scales, length-scales and variances for good. If nothing else was said, it says of a
#'   numeric response that more than 5 % of the later rows, three at least, are more than 3 standard
#'   deviations from what the fit before them predicted. Classes have no such check.
#'
#'   `retune = TRUE` of [seqkr()] begins anew from a reservoir of 500 rows, in which each row so far
#'   is with the same probability: scales, length-scales (as by `tune`), candidates and particles
#'   are then those of a fit to it, and the posterior that of so many rows, wider than that of all.
#'   The [log_evidence()] stays the sum over rows of how well each was predicted when it came.
#'
#' @param object A fit.
#' @param newdata A data frame or matrix with the predictors of the fit, or of a
#'   formula also its response. For [bkm()] and [bsvm()] also a [row_source()], of a cluster too,
#'   which names the response.
#' @param y The response of these rows, if it is not a column of `newdata`: one value for each, of
#'   `log(y) ~ x` the logarithm.
#' @param weights How often each new row counts, as in the fit; default 1. For [bkm()] and
#'   [bsvm()].
#' @param retune For [seqkr()]: whether to fit anew by rows of the whole stream,
#'   after these have come, see below; of no rows, at once.
#' @param threads,progress As in the function that made the fit.
#' @param ... Passed to methods; an argument that no method knows is an error.
#' @return A fit of the same class to all rows; `stream` in it is what later rows have been like.
#'   For [seqkr()] it keeps up to 500 rows as `reservoir`, and fitted values while it keeps all
#'   rows, until there are `grid_max` candidates.
#' @section Errors: `bayeskernel_error_missing`, `_response`, `_dimension` or
#'   `_argument`; `_argument` for fits that cannot be extended.
#' @seealso [seqkr()], [bkm()], [bsvm()]; `vignette("streaming")`.
#' @examples
#' set.seed(1)
#' d <- data.frame(x = runif(60, -3, 3))
#' d$y <- sin(2 * d$x) + rnorm(60) / 5
#' fit <- seqkr(y ~ x, d[1:40, ], order = "given", seed = 1)
#' fit <- extend(fit, d[41:60, ])
#' nobs(fit)
#'
#' visits <- data.frame(x = rnorm(300), g = gl(30, 10))
#' visits$y <- visits$x + 2 * rnorm(30)[visits$g] + rlogis(300) > 0
#' fit <- bkm(y ~ x + (1 | g), visits[1:200, ])
#' fit <- extend(fit, visits[201:300, ])
#' nobs(fit)
#' @export
extend <- function(object, ...) {
  check_given("object")
  UseMethod("extend")
}

#' @rdname extend
#' @export
extend.bayeskernel_fit <- function(object, ...) {
  check_whole(object)
  bk_abort(
    "argument", sprintf("A fit by %s() cannot be extended.", model_of(object)$name),
    "Accepted: a fit by seqkr(), or by bkm() or bsvm() with method = \"ep\".",
    "update(fit, data = ) fits anew; `resume` continues chains.", column = "object"
  )
}

# What looks at the rows of a fit: those of an extended one are gone, and its call knows the first
# of them alone.
need_rows <- function(object, what) {
  if (!identical(object$data$absent, "extended")) return(invisible())
  data <- if (is.null(object$formula)) "x = , y = " else "data = "
  bk_abort(
    "argument", sprintf("%s needs the rows, and an extended fit keeps none.", what),
    sprintf("Found: a fit to %.0f rows by extend().", object$n),
    sprintf("Fit all rows at once, by update(fit, %s), for this.", data), column = "object"
  )
}
