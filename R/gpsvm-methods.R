#' What a nonlinear machine says about its own rows
#'
#' @param object,x A fit by [gpsvm()].
#' @param type Of residuals, with t the label as 0 or 1, p the fitted probability
#'   and w the weight: `"response"`, t - p; `"pearson"`,
#'   \eqn{\sqrt{w} (t - p) / \sqrt{p (1 - p)}}{sqrt(w) (t - p) / sqrt(p (1 -
#'   p))}. With more than two classes p is that of the row's own class, t = 1.
#' @param formula A fit by [gpsvm()].
#' @param ... No further arguments.
#' @return Vectors in the order of the rows of the fit.
#' * `fitted()`: probabilities of the positive class by the probit link; with
#'   more than two classes a matrix, n x classes.
#' * `residuals()`: see `type`.
#' * `nobs()`: number of rows used.
#' * `weights()`: likelihood powers.
#' * `formula()`, `terms()`, `model.frame()`: of the formula interface;
#'   `model.frame()` needs a fit with `model = TRUE`.
#' @section Errors: `bayeskernel_error_argument` if the fit keeps nothing about
#'   its rows (those of a row source, or very many) or has no formula.
#' @examples
#' set.seed(1)
#' d <- data.frame(a = rnorm(100), b = rnorm(100))
#' d$y <- d$a * d$b + rnorm(100) / 2 > 0
#' fit <- gpsvm(y ~ a + b, d, threads = 1, seed = 1)
#' head(fitted(fit))
#' head(residuals(fit))
#' nobs(fit)
#' @name gpsvm-rows
NULL

#' @rdname gpsvm-rows
#' @export
fitted.gpsvm <- function(object, ...) {
  check_no_dots(...)
  gpsvm_kept_moments(object, "probit")$prob
}

#' @rdname gpsvm-rows
#' @export
residuals.gpsvm <- function(object, type = c("response", "pearson"), ...) {
  check_no_dots(...)
  type <- check_choice(type, c("response", "pearson"), "type")
  p <- fitted.gpsvm(object)
  y <- stats::napredict(object$na.action, object$y)
  out <- if (is.matrix(p)) {
    p <- p[cbind(seq_along(y), y)]
    1 - p
  } else {
    as.numeric(y > 0) - p
  }
  if (type == "pearson") {
    out <- sqrt(weights.gpsvm(object)) * out / sqrt(p * (1 - p))
  }
  out
}

#' @rdname gpsvm-rows
#' @export
nobs.gpsvm <- function(object, ...) object$n

#' @rdname gpsvm-rows
#' @export
weights.gpsvm <- function(object, ...) {
  if (is.null(object$weights) && is.null(object$y)) {
    bk_abort(
      "argument", "The fit keeps nothing about its rows.",
      "Their weights are all 1."
    )
  }
  weights <- object$weights
  if (is.null(weights)) weights <- rep(1, object$n)
  stats::napredict(object$na.action, weights)
}

#' @rdname gpsvm-rows
#' @export
formula.gpsvm <- function(x, ...) {
  need_gpsvm_formula(x)
  x$formula
}

#' @rdname gpsvm-rows
#' @export
terms.gpsvm <- function(x, ...) {
  need_gpsvm_formula(x)
  x$terms
}

#' @rdname gpsvm-rows
#' @export
model.frame.gpsvm <- function(formula, ...) {
  need_gpsvm_formula(formula)
  if (is.null(formula$frame)) {
    bk_abort(
      "argument", "The fit does not keep its model frame.",
      "Fit with `model = TRUE` to keep it."
    )
  }
  formula$frame
}

need_gpsvm_formula <- function(object) {
  if (is.null(object$formula)) {
    bk_abort(
      "argument", "The fit was made from a matrix and has no formula.",
      "Use gpsvm(formula, data), or keep x and y yourself."
    )
  }
}

#' @export
draws_from_posterior.gpsvm <- function(object, n = 1000, seed = NULL) {
  if (object$method == "ecm") {
    bk_abort(
      "argument", "The posterior mode has no draws.",
      "Use method = \"vb\" or method = \"gibbs\"."
    )
  }
  machines <- object$posterior$machines
  m <- ncol(object$posterior$z)
  with_seed(seed, {
    parts <- lapply(machines, function(machine) {
      v <- matrix(stats::rnorm(n * m), n, m) %*% machine$whitener +
        rep(machine$mean, each = n)
      v %*% t(object$posterior$factor)
    })
    out <- do.call(cbind, parts)
    colnames(out) <- process_names(names(machines), m, object$exact)
    out
  })
}
