#' What a sum of kernels says about its own rows
#'
#' @param object,x A fit by [bark()].
#' @param type Of residuals. Regressions: `"response"`, the response less its
#'   fitted value; `"pearson"`, that divided by the posterior mean of the
#'   standard deviation of the noise. Classes, with t the label as 0 or 1 and p
#'   the fitted probability: `"response"`, t - p; `"pearson"`,
#'   \eqn{(t - p) / \sqrt{p (1 - p)}}{(t - p) / sqrt(p (1 - p))}; with more than
#'   two classes p is that of the row's own class, t = 1.
#' @param formula A fit by [bark()].
#' @param ... No further arguments.
#' @return Vectors in the order of the rows of the fit.
#' * `fitted()`: means of the response, or probabilities of the positive class;
#'   with more than two classes a matrix, n x classes.
#' * `residuals()`: see `type`.
#' * `nobs()`: number of rows used.
#' * `weights()`: 1 for each row.
#' * `formula()`, `terms()`, `model.frame()`: of the formula interface;
#'   `model.frame()` needs a fit with `model = TRUE`.
#' @section Errors: `bayeskernel_error_argument` if the fit has no formula, or
#'   no frame.
#' @examples
#' set.seed(1)
#' d <- data.frame(a = runif(50), b = runif(50))
#' d$y <- d$a * d$b + rnorm(50) / 10
#' # Far longer chains are needed in earnest.
#' fit <- bark(y ~ a + b, d, chains = 2, warmup = 2000, draws = 200, thin = 10,
#'   threads = 1, seed = 1)
#' head(fitted(fit))
#' head(residuals(fit))
#' nobs(fit)
#' @name bark-rows
NULL

#' @rdname bark-rows
#' @export
fitted.bark <- function(object, ...) {
  check_no_dots(...)
  kept <- bark_kept_moments(object)
  if (is_regression(object)) kept$mean else kept$prob
}

#' @rdname bark-rows
#' @export
residuals.bark <- function(object, type = c("response", "pearson"), ...) {
  check_no_dots(...)
  type <- check_choice(type, c("response", "pearson"), "type")
  fitted <- fitted.bark(object)
  y <- stats::napredict(object$na.action, object$y)
  if (is_regression(object)) {
    sd <- if (type == "pearson") mean(object$draws[, , "sigma"]) else 1
    return((y - fitted) / sd)
  }
  if (is.matrix(fitted)) {
    fitted <- fitted[cbind(seq_along(y), y)]
    out <- 1 - fitted
  } else {
    out <- y - 1 - fitted
  }
  if (type == "pearson") out / sqrt(fitted * (1 - fitted)) else out
}

#' @rdname bark-rows
#' @export
nobs.bark <- function(object, ...) object$n

#' @rdname bark-rows
#' @export
weights.bark <- function(object, ...) {
  stats::napredict(object$na.action, rep(1, object$n))
}

#' @rdname bark-rows
#' @export
formula.bark <- function(x, ...) {
  need_bark_formula(x)
  x$formula
}

#' @rdname bark-rows
#' @export
terms.bark <- function(x, ...) {
  need_bark_formula(x)
  x$terms
}

#' @rdname bark-rows
#' @export
model.frame.bark <- function(formula, ...) {
  need_bark_formula(formula)
  if (is.null(formula$frame)) {
    bk_abort(
      "argument", "The fit does not keep its model frame.",
      "Fit with `model = TRUE` to keep it."
    )
  }
  formula$frame
}

need_bark_formula <- function(object) {
  if (is.null(object$formula)) {
    bk_abort(
      "argument", "The fit was made from a matrix and has no formula.",
      "Use bark(formula, data), or keep x and y yourself."
    )
  }
}
