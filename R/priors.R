#' Prior of the Bayesian support vector machine
#'
#' Every constant of the prior of [bsvm()]. The defaults are vague; they refer
#' to the scale on which the model is fitted, which is that of the standardised
#' predictors unless `standardize = FALSE`.
#'
#' @param beta_var Variance of the fixed coefficients: one positive number, or
#'   one per unpenalised fixed column in the order of the design (intercept
#'   first). Default 1e8, which lets the data speak.
#' @param beta_mean Mean of the fixed coefficients, one number or one per
#'   unpenalised fixed column. Default 0.
#' @param var_shape,var_rate Shape A and rate B, both positive, of the inverse
#'   gamma prior \eqn{\sigma^2 \sim IG(A, B)} of every variance component: of
#'   the penalty, of a random intercept, of the selected coefficients. Default
#'   0.01 each.
#' @param cov_df,cov_scale Degrees of freedom and scale S of the inverse
#'   Wishart prior of the covariance of r correlated random effects. `cov_df` is
#'   a number above r - 1; `NULL`, the default, means r + 1. `cov_scale` is a
#'   positive number s for S = s I (default 0.02), or a symmetric positive
#'   definite r x r matrix.
#' @param rho Prior probability, strictly between 0 and 1, that a column under
#'   selection is in the model. Default 0.01.
#' @param rho_beta `NULL` (default: `rho` is known), or `c(a1, a0)`, both
#'   positive, for a Beta(a1, a0) prior on it.
#' @param x_mean_var Variance of the prior of the means of predictors with
#'   modelled missing values. Default 1e8.
#' @param x_df,x_scale Degrees of freedom and scale of the inverse Wishart
#'   prior of the covariance of these P predictors. `NULL`, the default of
#'   `x_df`, means P + 1; `x_scale` is a positive number times I (default 0.01)
#'   or a symmetric positive definite P x P matrix.
#' @return An object of class `c("bsvm_prior", "bayeskernel_prior")`, a list
#'   with the arguments as elements.
#' @section Errors: `bayeskernel_error_prior` names the argument, what was
#'   found and what would be accepted. Lengths that depend on the design are
#'   checked by [bsvm()].
#' @references Luts, J. and Ormerod, J. T. (2014). Mean field variational
#'   Bayesian inference for support vector machine classification.
#'   *Computational Statistics & Data Analysis* 73, 163-176.
#' @examples
#' bsvm_prior()
#' bsvm_prior(beta_var = 100, var_shape = 2, var_rate = 1)
#' @export
bsvm_prior <- function(beta_var = 1e8, beta_mean = 0, var_shape = 0.01,
                       var_rate = 0.01, cov_df = NULL, cov_scale = 0.02,
                       rho = 0.01, rho_beta = NULL, x_mean_var = 1e8,
                       x_df = NULL, x_scale = 0.01) {
  out <- list(
    beta_var = prior_vector(beta_var, "beta_var", positive = TRUE),
    beta_mean = prior_vector(beta_mean, "beta_mean", positive = FALSE),
    var_shape = prior_number(var_shape, "var_shape"),
    var_rate = prior_number(var_rate, "var_rate"),
    cov_df = if (!is.null(cov_df)) prior_number(cov_df, "cov_df"),
    cov_scale = prior_scale(cov_scale, "cov_scale"),
    rho = prior_number(rho, "rho", upper = 1),
    rho_beta = if (!is.null(rho_beta)) prior_pair(rho_beta, "rho_beta"),
    x_mean_var = prior_number(x_mean_var, "x_mean_var"),
    x_df = if (!is.null(x_df)) prior_number(x_df, "x_df"),
    x_scale = prior_scale(x_scale, "x_scale")
  )
  structure(out, class = c("bsvm_prior", "bayeskernel_prior"))
}

#' @export
format.bsvm_prior <- function(x, digits = 4, ...) {
  shown <- vapply(x, prior_text, "", digits = digits)
  df <- function(value, default) if (is.null(value)) default else shown[[value]]
  inclusion <- if (is.null(x$rho_beta)) {
    paste("probability", shown[["rho"]])
  } else {
    paste0("probability ~ Beta", shown[["rho_beta"]])
  }
  c(
    "fixed coefficients" = sprintf(
      "N(mean %s, variance %s)", shown[["beta_mean"]], shown[["beta_var"]]
    ),
    "variance components" = sprintf(
      "inverse gamma(%s, %s)", shown[["var_shape"]], shown[["var_rate"]]
    ),
    "covariances" = sprintf(
      "inverse Wishart(df %s, scale %s)",
      df(if (!is.null(x$cov_df)) "cov_df", "r + 1"), shown[["cov_scale"]]
    ),
    "inclusion" = inclusion,
    "missing predictors, mean" = sprintf("N(0, %s)", shown[["x_mean_var"]]),
    "missing predictors, covariance" = sprintf(
      "inverse Wishart(df %s, scale %s)",
      df(if (!is.null(x$x_df)) "x_df", "P + 1"), shown[["x_scale"]]
    )
  )
}

#' @export
print.bsvm_prior <- function(x, digits = 4, ...) {
  text <- format(x, digits = digits)
  cat("Prior of bsvm()\n")
  cat(paste0("  ", format(paste0(names(text), ":")), " ", text, "\n"), sep = "")
  invisible(x)
}

prior_text <- function(value, digits) {
  if (is.null(value)) {
    "default"
  } else if (is.matrix(value)) {
    sprintf("a %d x %d matrix", nrow(value), ncol(value))
  } else {
    text <- vapply(value, format, "", digits = digits)
    if (length(text) > 4L) text <- c(text[1:3], "...")
    text <- paste(text, collapse = ", ")
    if (length(value) > 1L) sprintf("(%s)", text) else text
  }
}

# The prior of p unpenalised fixed columns, one mean and one variance each.
resolve_prior <- function(prior, p, columns = NULL, call = user_call()) {
  check_prior(prior, call = call)
  for (name in c("beta_var", "beta_mean")) {
    given <- length(prior[[name]])
    if (given != 1L && given != p) {
      bk_abort(
        "prior",
        sprintf("Argument `%s` of bsvm_prior() has the wrong length.", name),
        c(
          sprintf("Found: %d values.", given),
          sprintf("Accepted: 1 value, or %d, one per fixed column.", p),
          if (length(columns)) {
            paste("Fixed columns:", list_some(columns))
          }
        ),
        column = name, found = given, expected = p, call = call
      )
    }
  }
  list(
    beta_var = rep_len(prior$beta_var, p),
    beta_mean = rep_len(prior$beta_mean, p)
  )
}

# The inverse Wishart prior of the r correlated effects of one random term.
covariance_prior <- function(prior, r, label, call = user_call()) {
  df <- if (is.null(prior$cov_df)) r + 1 else prior$cov_df
  if (df <= r - 1) {
    bk_abort(
      "prior", "Argument `cov_df` of bsvm_prior() is too small.",
      c(
        sprintf("Found: %s.", format(df)),
        sprintf(
          "Accepted: a number above %d, for the %d effects of `%s`.",
          r - 1L, r, label
        )
      ),
      column = "cov_df", found = df, expected = r - 1, call = call
    )
  }
  scale <- prior$cov_scale
  if (!is.matrix(scale)) {
    scale <- diag(scale, r)
  } else if (nrow(scale) != r) {
    bk_abort(
      "prior", "Argument `cov_scale` of bsvm_prior() has the wrong size.",
      c(
        sprintf("Found: a %d x %d matrix.", nrow(scale), ncol(scale)),
        sprintf(
          "Accepted: one number, or a %d x %d matrix for the effects of `%s`.",
          r, r, label
        )
      ),
      column = "cov_scale", found = dim(scale), expected = c(r, r), call = call
    )
  }
  list(df = df, scale = scale)
}

check_prior <- function(prior, call = user_call()) {
  if (!inherits(prior, "bsvm_prior")) {
    abort_argument(
      prior, "prior", "a prior made by bsvm_prior()",
      kind = "prior", call = call
    )
  }
  prior
}

prior_number <- function(x, name, upper = Inf, call = user_call()) {
  check_number(
    x, 0, upper,
    name = name, closed = c(FALSE, FALSE), kind = "prior", call = call
  )
}

prior_vector <- function(x, name, positive, call = user_call()) {
  good <- is.numeric(x) && length(x) > 0L && is.null(dim(x)) &&
    all(is.finite(x)) && (!positive || all(x > 0))
  if (!good) {
    abort_argument(
      x, name,
      paste(
        "one", if (positive) "positive",
        "finite number, or one per fixed column"
      ),
      kind = "prior", call = call
    )
  }
  as.double(x)
}

prior_pair <- function(x, name, call = user_call()) {
  if (length(x) != 2L) {
    abort_argument(
      x, name, "NULL or two positive finite numbers, c(a1, a0)",
      kind = "prior", call = call
    )
  }
  prior_vector(x, name, positive = TRUE, call = call)
}

prior_scale <- function(x, name, call = user_call()) {
  if (!is.matrix(x)) {
    return(prior_number(x, name, call = call))
  }
  good <- is.numeric(x) && nrow(x) == ncol(x) && nrow(x) > 0L &&
    all(is.finite(x)) && isSymmetric(unname(x)) &&
    !inherits(try(chol(x), silent = TRUE), "try-error")
  if (!good) {
    abort_argument(
      x, name,
      "one positive number, or a symmetric positive definite matrix",
      kind = "prior", call = call
    )
  }
  storage.mode(x) <- "double"
  unname(x)
}

# The inverse Wishart prior of the covariance of P predictors with holes.
predictor_prior <- function(prior, predictors, call = user_call()) {
  df <- if (is.null(prior$x_df)) predictors + 1 else prior$x_df
  if (df <= predictors - 1) {
    bk_abort(
      "prior", "Argument `x_df` of bsvm_prior() is too small.",
      c(
        sprintf("Found: %s.", format(df)),
        sprintf(
          "Accepted: a number above %d, for %d predictors.",
          predictors - 1L, predictors
        )
      ),
      column = "x_df", found = df, expected = predictors - 1, call = call
    )
  }
  scale <- prior$x_scale
  if (!is.matrix(scale)) {
    scale <- diag(scale, predictors)
  } else if (nrow(scale) != predictors) {
    bk_abort(
      "prior", "Argument `x_scale` of bsvm_prior() has the wrong size.",
      c(
        sprintf("Found: a %d x %d matrix.", nrow(scale), ncol(scale)),
        sprintf(
          "Accepted: one number, or a %d x %d matrix.", predictors, predictors
        )
      ),
      column = "x_scale", found = dim(scale),
      expected = c(predictors, predictors), call = call
    )
  }
  list(df = df, scale = scale)
}
