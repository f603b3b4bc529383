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
    rho_beta = if (!is.null(rho_beta)) {
      positive_numbers(rho_beta, "rho_beta", c("a1", "a0"), "NULL, or ")
    },
    x_mean_var = prior_number(x_mean_var, "x_mean_var"),
    x_df = if (!is.null(x_df)) prior_number(x_df, "x_df"),
    x_scale = prior_scale(x_scale, "x_scale")
  )
  structure(out, class = c("bsvm_prior", "bayeskernel_prior"))
}

#' Bounds for the tuning of gpsvm()
#'
#' The box inside which `gpsvm(tune = TRUE)` looks for kernel parameters.
#' Without one the pseudo-likelihood has degenerate optima, such as a constant
#' function of unbounded length-scale.
#'
#' @param lengthscale `c(lower, upper)`, positive, in units of the standardised
#'   predictors; `NULL`, the default, is 0.05 and 20 times the median distance
#'   between rows.
#' @param variance `c(lower, upper)` of every variance, default 0.01 and 1e4.
#' @param nugget `c(lower, upper)` of the nugget, default 1e-6 and 10. It is
#'   tuned only if it starts above 0.
#' @return An object of class `c("gpsvm_prior", "bayeskernel_prior")`.
#' @section Errors: `bayeskernel_error_prior` names the argument, what was found
#'   and what would be accepted.
#' @examples
#' gpsvm_prior(variance = c(0.1, 100))
#' @export
gpsvm_prior <- function(lengthscale = NULL, variance = c(1e-2, 1e4),
                        nugget = c(1e-6, 10)) {
  structure(
    list(
      lengthscale = if (!is.null(lengthscale)) {
        prior_range(lengthscale, "lengthscale")
      },
      variance = prior_range(variance, "variance"),
      nugget = prior_range(nugget, "nugget")
    ),
    class = c("gpsvm_prior", "bayeskernel_prior")
  )
}

#' Prior of Bayesian additive regression kernels
#'
#' Every constant of the prior of [bark()]. They refer to the standardised
#' predictors and, in a regression, to the standardised response.
#'
#' The number of kernels is Poisson; [levy()] tells its mean, which is
#' `gamma / epsilon` at `alpha = 1`. A coefficient is `epsilon` times a t
#' variable with `alpha` degrees of freedom: at the default a Cauchy variable,
#' for which the kernels at one location add up to one column of the model.
#' Other values of `alpha` keep every kernel apart and cost more.
#'
#' @param alpha Index of stability, strictly between 0 and 2, default 1.
#' @param gamma Intensity of the Levy measure, positive, default 5.
#' @param epsilon Size of the small jumps that are left out, positive, default
#'   0.5.
#' @param lambda_shape,lambda_rate Shape and rate of the gamma prior of the sum
#'   of the kernel scales of all predictors in the model; default 1 each.
#' @param inclusion `c(a, b)`, both positive: the probability that a predictor
#'   is in the model is Beta(a, b), and is integrated out. Default `c(1, 1)`.
#'   Read with `select = TRUE` and without `structure`.
#' @param phi Prior of the precision of the noise: `"loguniform"`, the default,
#'   from 1e-6 to 1e8, or `c(shape, rate)` of a gamma distribution. Read in
#'   regressions.
#' @param max_kernels Most kernels, a whole number of at least 1. `NULL`, the
#'   default, is n - 1 for n rows, at most 200.
#' @return An object of class `c("bark_prior", "bayeskernel_prior")`, a list
#'   with the arguments as elements.
#' @section Errors: `bayeskernel_error_prior` names the argument, what was found
#'   and what would be accepted.
#' @references Ouyang, Z. (2008). *Bayesian additive regression kernels*. PhD
#'   thesis, Duke University, sections 3.1 and 3.2. Its prior of `phi`, 1 / phi
#'   on the whole half line, leaves the posterior improper, hence the bounds.
#' @examples
#' bark_prior()
#' bark_prior(gamma = 2, phi = c(2, 1))
#' @export
bark_prior <- function(alpha = 1, gamma = 5, epsilon = 0.5, lambda_shape = 1,
                       lambda_rate = 1, inclusion = c(1, 1),
                       phi = "loguniform", max_kernels = NULL) {
  structure(
    list(
      alpha = check_alpha(alpha), gamma = prior_number(gamma, "gamma"),
      epsilon = prior_number(epsilon, "epsilon"),
      lambda_shape = prior_number(lambda_shape, "lambda_shape"),
      lambda_rate = prior_number(lambda_rate, "lambda_rate"),
      inclusion = positive_numbers(inclusion, "inclusion", c("a", "b")),
      phi = if (identical(phi, "loguniform")) {
        phi
      } else {
        positive_numbers(
          phi, "phi", c("shape", "rate"), "\"loguniform\", or "
        )
      },
      max_kernels = if (!is.null(max_kernels)) {
        check_count(max_kernels, 1, name = "max_kernels", kind = "prior")
      }
    ),
    class = c("bark_prior", "bayeskernel_prior")
  )
}

# Lines of a prior: what it is of, then its parts.

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
format.gpsvm_prior <- function(x, digits = 4, ...) {
  range <- function(value) {
    paste(vapply(value, format, "", digits = digits), collapse = " to ")
  }
  c(
    "length-scales" = if (is.null(x$lengthscale)) {
      "0.05 to 20 median distances"
    } else {
      range(x$lengthscale)
    },
    "variances" = range(x$variance), "nugget" = range(x$nugget)
  )
}

#' @export
format.bark_prior <- function(x, digits = 4, ...) {
  number <- function(value) format(value, digits = digits)
  kernels <- number(expected_kernels(x))
  c(
    "kernels" = sprintf(
      "Poisson, %s expected%s", kernels,
      if (is.null(x$max_kernels)) {
        ""
      } else {
        sprintf(", at most %d", x$max_kernels)
      }
    ),
    "coefficients" = if (x$alpha == 1) {
      sprintf("Cauchy of scale %s", number(x$epsilon))
    } else {
      sprintf(
        "%s times t with %s degrees of freedom", number(x$epsilon),
        number(x$alpha)
      )
    },
    "sum of the scales" = sprintf(
      "gamma(%s, %s)", number(x$lambda_shape), number(x$lambda_rate)
    ),
    "inclusion" = sprintf("probability ~ Beta%s",
      prior_text(x$inclusion, digits)
    ),
    "precision of noise" = if (is.character(x$phi)) {
      "log-uniform from 1e-6 to 1e8"
    } else {
      paste0("gamma", prior_text(x$phi, digits))
    }
  )
}

#' @export
print.bayeskernel_prior <- function(x, digits = 4, ...) {
  model <- sub("_prior$", "", class(x)[1])
  print_lines(
    paste0(if (model == "gpsvm") "Bounds" else "Prior", " of ", model, "()"),
    format(x, digits = digits)
  )
  invisible(x)
}

print_lines <- function(title, lines) {
  cat(title, "\n", sep = "")
  names <- format(paste0(names(lines), ":"))
  cat(paste0("  ", names, " ", lines, "\n"), sep = "")
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

# Checks ----------------------------------------------------------------------

prior_number <- function(x, name, upper = Inf) {
  check_number(x, 0, upper, name, closed = c(FALSE, FALSE), kind = "prior")
}

# As many positive numbers as there are names, in that order.
positive_numbers <- function(x, name, names, or = "") {
  good <- is.numeric(x) && length(x) == length(names) && is.null(dim(x)) &&
    all(is.finite(x)) && all(x > 0)
  if (!good) {
    abort_argument(
      x, name,
      sprintf(
        "%s%d positive finite numbers, c(%s)", or, length(names),
        paste(names, collapse = ", ")
      ),
      kind = "prior"
    )
  }
  as.double(x)
}

prior_range <- function(x, name) {
  x <- positive_numbers(x, name, c("lower", "upper"))
  if (x[1] >= x[2]) {
    abort_argument(
      x, name, "two positive finite numbers, the lower before the upper",
      kind = "prior"
    )
  }
  x
}

prior_vector <- function(x, name, positive) {
  good <- is.numeric(x) && length(x) > 0L && is.null(dim(x)) &&
    all(is.finite(x)) && (!positive || all(x > 0))
  if (!good) {
    abort_argument(
      x, name,
      paste(
        "one", if (positive) "positive",
        "finite number, or one per fixed column"
      ),
      kind = "prior"
    )
  }
  as.double(x)
}

prior_scale <- function(x, name) {
  if (!is.matrix(x)) {
    return(prior_number(x, name))
  }
  good <- is.numeric(x) && nrow(x) == ncol(x) && nrow(x) > 0L &&
    all(is.finite(x)) && isSymmetric(unname(x)) &&
    !inherits(try(chol(x), silent = TRUE), "try-error")
  if (!good) {
    abort_argument(
      x, name,
      "one positive number, or a symmetric positive definite matrix",
      kind = "prior"
    )
  }
  storage.mode(x) <- "double"
  unname(x)
}

# What depends on the design --------------------------------------------------

# The prior of p unpenalised fixed columns, one mean and one variance each.
resolve_prior <- function(prior, p, columns = NULL) {
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
        column = name, found = given, expected = p
      )
    }
  }
  list(
    beta_var = rep_len(prior$beta_var, p),
    beta_mean = rep_len(prior$beta_mean, p)
  )
}

# The inverse Wishart prior of the covariance of the r correlated effects of a
# random term, or (`x`) of the r predictors with holes.
wishart_prior <- function(prior, r, of, x = FALSE) {
  names <- if (x) c("x_df", "x_scale") else c("cov_df", "cov_scale")
  refuse <- function(name, wrong, found, expected, accepted) {
    bk_abort(
      "prior", sprintf("Argument `%s` of bsvm_prior() %s.", name, wrong),
      c(paste0("Found: ", found, "."), paste0("Accepted: ", accepted, ".")),
      column = name, found = found, expected = expected
    )
  }
  df <- prior[[names[1]]] %||% (r + 1)
  if (df <= r - 1) {
    refuse(
      names[1], "is too small", format(df), r - 1,
      sprintf("a number above %d, for %s", r - 1L, of)
    )
  }
  scale <- prior[[names[2]]]
  if (!is.matrix(scale)) {
    scale <- diag(scale, r)
  } else if (nrow(scale) != r) {
    refuse(
      names[2], "has the wrong size",
      sprintf("a %d x %d matrix", nrow(scale), ncol(scale)), c(r, r),
      sprintf("one number, or a %d x %d matrix for %s", r, r, of)
    )
  }
  list(df = df, scale = scale)
}
