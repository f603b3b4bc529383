#' Coefficients and covariances of a Bayesian support vector machine
#'
#' @param object A fit by [bsvm()].
#' @param scale `"data"`: for the predictors as they were given. `"model"`: for
#'   the centred and scaled predictors on which the model was fitted, the scale
#'   of the priors.
#' @param ... No further arguments.
#' @return `coef()` and `fixef()`: posterior means of the p fixed coefficients,
#'   penalised ones included, named by the columns of the design. `vcov()`:
#'   their p x p posterior covariance. The random effects are those of
#'   [ranef()][ranef.bsvm].
#' @section Variational fits: A `"vb"` fit understates variances.
#' @examples
#' set.seed(1)
#' d <- data.frame(x = rnorm(100, 5), z = rnorm(100))
#' d$y <- d$x - 5 + rlogis(100) > 0
#' fit <- bsvm(y ~ x + z, d, threads = 1)
#' coef(fit)
#' coef(fit, scale = "model")
#' sqrt(diag(vcov(fit)))
#' @export
coef.bsvm <- function(object, scale = c("data", "model"), ...) {
  check_no_dots(...)
  scale <- check_choice(scale, c("data", "model"), "scale")
  wide <- object$posterior$wide
  theta <- effect_mean(object$posterior)[fixed_positions(object)]
  if (!is.null(wide)) {
    kept <- seq_len(wide$first)
    theta <- c(theta[kept], wide$basis %*% theta[-seq_len(wide$first)])
  }
  if (scale == "data") theta <- drop(theta_to_data(object, t(theta)))
  stats::setNames(theta, fixed_names(object))
}

#' @rdname coef.bsvm
#' @export
fixef.bsvm <- function(object, scale = c("data", "model"), ...) {
  coef.bsvm(object, scale, ...)
}

#' @rdname coef.bsvm
#' @export
vcov.bsvm <- function(object, scale = c("data", "model"), ...) {
  check_no_dots(...)
  scale <- check_choice(scale, c("data", "model"), "scale")
  wide <- object$posterior$wide
  at <- fixed_positions(object)
  out <- effect_cov(object$posterior)[at, at, drop = FALSE]
  if (!is.null(wide)) {
    rows <- wide_rows(wide)
    hidden <- diag(rep(0:1, c(wide$first, nrow(wide$basis))))
    block <- wide$first + seq_len(nrow(wide$basis))
    hidden[block, block] <- hidden[block, block] - tcrossprod(wide$basis)
    out <- rows %*% out %*% t(rows) + wide$hidden_var * hidden
  }
  if (scale == "data") {
    out <- theta_to_data(object, t(theta_to_data(object, out)))
  }
  dimnames(out) <- list(fixed_names(object), fixed_names(object))
  out
}

# Places of the fixed coefficients in theta; random effects may follow them.
fixed_positions <- function(object) {
  wide <- object$posterior$wide
  seq_len(if (is.null(wide)) {
    length(object$transform$scale)
  } else {
    wide$first + ncol(wide$basis)
  })
}

# Each coefficient as a combination of the fewer that a wide fit keeps.
wide_rows <- function(wide) {
  out <- matrix(
    0, wide$first + nrow(wide$basis), wide$first + ncol(wide$basis)
  )
  diag(out)[seq_len(wide$first)] <- 1
  out[-seq_len(wide$first), -seq_len(wide$first)] <- wide$basis
  out
}

# Square roots of the diagonal of vcov(), without forming it.
fixed_sd <- function(object, scale = "data") {
  if (object$method == "gibbs") {
    draws <- flat_draws(object, fixed_names(object))
    if (scale == "model") draws <- theta_to_model(object, draws)
    return(apply(draws, 2, stats::sd))
  }
  wide <- object$posterior$wide
  at <- fixed_positions(object)
  cov <- effect_cov(object$posterior)[at, at, drop = FALSE]
  var <- if (is.null(wide)) {
    diag(cov)
  } else {
    rows <- wide_rows(wide)
    unseen <- rep(0:1, c(wide$first, nrow(wide$basis))) *
      (1 - rowSums(rows^2))
    quadratic(rows, cov) + wide$hidden_var * pmax(unseen, 0)
  }
  if (scale == "model") {
    return(sqrt(var))
  }
  transform <- object$transform
  var <- var / transform$scale^2
  if (fit_has_intercept(object)) {
    at_zero <- matrix(-transform$center / transform$scale, 1)
    at_zero[1] <- 1
    reduced <- reduce_columns(wide, at_zero)
    var[1] <- quadratic(reduced$x, cov) + reduced$hidden
  }
  sqrt(var)
}

#' Random effects
#'
#' @param object A fit by [bsvm()] whose formula has random terms.
#' @param condVar Add posterior covariances, default `TRUE`.
#' @param ... No further arguments.
#' @return A list of class `ranef_bayeskernel`, named by grouping term. Each
#'   element is a data frame of posterior means: groups as rows, effects as
#'   columns, on the scale of the data. With `condVar` it has an attribute
#'   `postVar`, the posterior covariances as an array r x r x groups, as lme4
#'   gives them; terms of one grouping factor that were declared uncorrelated
#'   share a data frame, and their `postVar` is a list of arrays.
#'   `as.data.frame()` gives a row an effect: `grpvar`, `term`, `grp`,
#'   `condval`, `condsd`.
#' @section Errors: `bayeskernel_error_argument` without random terms, or if
#'   the fit was made with `keep_ranef = FALSE`.
#' @examples
#' set.seed(1)
#' d <- data.frame(x = rnorm(100), g = gl(10, 10))
#' d$y <- d$x + rnorm(10)[d$g] + rlogis(100) > 0
#' fit <- bsvm(y ~ x + (1 | g), d, threads = 1)
#' ranef(fit)
#' head(as.data.frame(ranef(fit)))
#' @export
ranef.bsvm <- function(object, condVar = TRUE, ...) {
  check_no_dots(...)
  condVar <- check_flag(condVar, "condVar")
  need_random(object)
  random <- object$posterior$random
  if (is.null(random[[1]]$mean)) {
    bk_abort(
      "argument", "The fit has not stored its random effects.",
      "Fit it with `keep_ranef = TRUE`."
    )
  }
  labels <- vapply(random, `[[`, "", "label")
  out <- lapply(unique(labels), function(label) {
    at <- which(labels == label)
    mean <- lapply(at, function(t) {
      random[[t]]$mean %*% t(object$transform$random[[t]])
    })
    frame <- as.data.frame(do.call(cbind, mean))
    dimnames(frame) <- list(
      random[[at[1]]]$levels, unlist(lapply(random[at], `[[`, "columns"))
    )
    if (condVar) {
      arrays <- lapply(at, function(t) {
        map_covariances(random[[t]]$cov, object$transform$random[[t]])
      })
      attr(frame, "postVar") <- if (length(at) > 1) arrays else arrays[[1]]
    }
    frame
  })
  structure(out, names = unique(labels), class = "ranef_bayeskernel")
}

# T V_g T' for every slice.
map_covariances <- function(v, map) {
  left <- map_slices(aperm(v, c(2, 1, 3)), map)
  map_slices(aperm(left, c(2, 1, 3)), map)
}

#' @export
print.ranef_bayeskernel <- function(x, digits = default_digits(), n = 10, ...) {
  for (label in names(x)) {
    cat("Random effects of ", label, ", posterior means\n", sep = "")
    frame <- x[[label]]
    attr(frame, "postVar") <- NULL
    print(utils::head(frame, n), digits = digits)
    if (nrow(frame) > n) {
      cat(sprintf("... and %d groups more\n", nrow(frame) - n))
    }
  }
  invisible(x)
}

#' @export
as.data.frame.ranef_bayeskernel <- function(x, row.names = NULL,
                                            optional = FALSE, ...) {
  parts <- lapply(names(x), function(label) {
    frame <- x[[label]]
    var <- attr(frame, "postVar")
    out <- data.frame(
      grpvar = label,
      term = factor(rep(names(frame), each = nrow(frame)), names(frame)),
      grp = factor(rep(rownames(frame), length(frame)), rownames(frame)),
      condval = unlist(frame, use.names = FALSE)
    )
    if (!is.null(var)) {
      if (!is.list(var)) var <- list(var)
      out$condsd <- unlist(lapply(var, slice_sd))
    }
    out
  })
  if (length(parts) > 1) {
    # One set of levels for rbind().
    terms <- unique(unlist(lapply(parts, function(p) levels(p$term))))
    for (k in seq_along(parts)) {
      parts[[k]]$term <- factor(parts[[k]]$term, terms)
    }
  }
  out <- do.call(rbind, parts)
  rownames(out) <- row.names
  out
}

# Groups x r standard deviations from r x r x groups covariances.
slice_sd <- function(v) {
  vapply(seq_len(dim(v)[1]), function(k) sqrt(v[k, k, ]), numeric(dim(v)[3]))
}

#' Variance components of random effects
#'
#' @param x A fit by [bsvm()] whose formula has random terms.
#' @param sigma Unused; the generic has it.
#' @param ... No further arguments.
#' @return A list of class `bayeskernel_varcorr`, named by grouping term: the
#'   posterior mean of the covariance matrix of its effects on the scale of the
#'   data, with attributes `stddev` and `correlation`. It prints as lme4's does,
#'   and `as.data.frame()` gives `grp`, `var1`, `var2`, `vcov`, `sdcor`.
#'   Intervals are in `summary()`.
#' @examples
#' set.seed(1)
#' d <- data.frame(x = rnorm(100), g = gl(10, 10))
#' d$y <- d$x + rnorm(10)[d$g] + rlogis(100) > 0
#' fit <- bsvm(y ~ x + (1 | g), d, threads = 1)
#' VarCorr(fit)
#' as.data.frame(VarCorr(fit))
#' @export
VarCorr.bsvm <- function(x, sigma = 1, ...) {
  need_random(x)
  random <- x$posterior$random
  covariances <- lapply(seq_along(random), function(t) {
    columns <- random[[t]]$columns
    out <- variance_mean(x, t)
    dimnames(out) <- list(columns, columns)
    out
  })
  names(covariances) <- make.unique(vapply(random, `[[`, "", "label"))
  new_varcorr(covariances)
}

need_random <- function(object) {
  if (length(object$posterior$random) == 0) {
    bk_abort(
      "argument", "The model has no random effects.",
      "Random terms stand in bars in the formula, as in y ~ x + (1 | g)."
    )
  }
}

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
