#' What a fit says about its own rows
#'
#' @param object,x A fit by [bsvm()].
#' @param type Of residuals, with t the label as 0 or 1, p the fitted
#'   probability and w the weight: `"response"`, the default, is t - p;
#'   `"pearson"` is \eqn{\sqrt{w} (t - p) / \sqrt{p (1 - p)}}{sqrt(w) (t - p) /
#'   sqrt(p (1 - p))}. There are no deviance residuals: the pseudo-likelihood is
#'   not that of a probability.
#' @param formula A fit by [bsvm()].
#' @param ... No further arguments.
#' @return Vectors in the order of the rows of the fit; rows that
#'   `na.action = na.exclude` left out are `NA`, rows of weight zero are not in
#'   the fit.
#' * `fitted()`: probabilities of the positive class, by the probit link: the
#'   second column of `predict(type = "prob")`.
#' * `residuals()`: see `type`.
#' * `nobs()`: number of rows used.
#' * `weights()`: likelihood powers.
#' * `formula()`, `terms()`, `model.frame()`: of the formula interface. The
#'   model frame is made again from the data of the call unless the fit was made
#'   with `model = TRUE`.
#'
#'   There is no `logLik()`: a pseudo-likelihood does not compare models.
#' @section Errors: `bayeskernel_error_argument` if a fit to a matrix is asked
#'   for its formula, or if the data of the call are gone.
#' @examples
#' set.seed(1)
#' d <- data.frame(x = rnorm(100), g = gl(10, 10))
#' d$y <- d$x + rnorm(10)[d$g] + rlogis(100) > 0
#' fit <- bsvm(y ~ x + (1 | g), d, threads = 1)
#' head(fitted(fit))
#' head(residuals(fit, "pearson"))
#' nobs(fit)
#' @name bsvm-rows
NULL

#' @rdname bsvm-rows
#' @export
fitted.bsvm <- function(object, ...) {
  check_no_dots(...)
  fitted_moments(object, "probit")$prob
}

#' @rdname bsvm-rows
#' @export
residuals.bsvm <- function(object, type = c("response", "pearson"), ...) {
  check_no_dots(...)
  type <- check_choice(type, c("response", "pearson"), "type")
  p <- fitted.bsvm(object)
  out <- stats::napredict(object$na.action, as.numeric(object$y > 0)) - p
  if (type == "pearson") {
    weights <- stats::napredict(object$na.action, object$weights)
    out <- sqrt(weights) * out / sqrt(p * (1 - p))
  }
  out
}

#' @rdname bsvm-rows
#' @export
nobs.bsvm <- function(object, ...) object$n

#' @rdname bsvm-rows
#' @export
weights.bsvm <- function(object, ...) {
  stats::napredict(object$na.action, object$weights)
}

#' @rdname bsvm-rows
#' @export
formula.bsvm <- function(x, ...) {
  need_formula(x)
  x$formula
}

#' @rdname bsvm-rows
#' @export
terms.bsvm <- function(x, ...) {
  need_formula(x)
  x$terms
}

#' @rdname bsvm-rows
#' @export
model.frame.bsvm <- function(formula, ...) {
  fit_frame(formula, parent.frame())
}

# The arguments of the call mean something in `home`, where it was typed.
fit_frame <- function(object, home) {
  if (!is.null(object$frame)) {
    return(object$frame)
  }
  need_formula(object)
  call <- object$call
  value <- function(name) if (!is.null(call[[name]])) eval(call[[name]], home)
  tryCatch(
    {
      data <- if (is.null(call$data)) home else value("data")
      na_action <- if (is.null(call$na.action)) {
        stats::na.fail
      } else {
        value("na.action")
      }
      suppressWarnings(bsvm_design(
        object$formula, data,
        weights = call$weights, subset = call$subset, offset = call$offset,
        na.action = na_action,
        missing = if (is.null(call$missing)) "fail" else value("missing")
      ))$frame
    },
    error = function(e) {
      bk_abort(
        "argument", "The data of the fit are not to be had any more.",
        c(
          trimws(conditionMessage(e)),
          "Fit with `model = TRUE` to keep the model frame."
        )
      )
    }
  )
}

need_formula <- function(object) {
  if (is.null(object$formula)) {
    bk_abort(
      "argument", "The fit was made from a matrix and has no formula.",
      "Use bsvm(formula, data), or keep x and y yourself."
    )
  }
}
