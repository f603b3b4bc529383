#' Fitted values, residuals, weights and formula of a fit, and its update
#'
#' The methods of a glm, for fits of every model.
#'
#' @param object,x,formula A fit.
#' @param type Type of residuals. `"response"`, the default: the response less its fitted value; of
#'   classes the label, 0 or 1, less the fitted probability. `"pearson"`: that divided by its
#'   standard deviation, and multiplied by the root of the weight. With more than two classes the
#'   label is 1 and the probability that of the row's own class.
#' @param data For `model.matrix()`: rows as [predict()] takes them; default the rows of the fit.
#' @param formula. A formula such as `. ~ . - x`, see [stats::update()].
#' @param evaluate Fit, the default, or return the call.
#' @param nsim Number of simulated responses.
#' @param re.form The random effects that `simulate()` has: as in
#'   [predict()][predict.bayeskernel_fit].
#' @param seed Whole number, or `NULL` for R's generator.
#' @param ... `update()`: arguments to change or to add. Otherwise none.
#' @return Vectors in the order of the rows of the fit; rows that `na.action = na.exclude` left out
#'   are `NA`. Rows of weight 0 have fitted values and residuals, as in [stats::glm()].
#' * With `cbind(successes, failures)` a row is one unit: `weights()` are its trials, `residuals()`
#'   are of the share of successes, and `simulate()` gives pairs of counts.
#' * `fitted()`: the mean of the response of a regression; the probability of the positive class;
#'   with more classes a matrix, n x classes.
#' * `residuals()`: see `type`.
#' * `nobs()`: number of rows used, without those of weight 0. `weights()`: likelihood powers; of a
#'   [bark()] what the variance of the noise is divided by.
#' * `formula()`, `terms()`: of the formula interface. `model.frame()`: made from
#'   the data that the fit keeps, or from those of its call, if they are still
#'   the same (`model`, see [fit-arguments]). `model.matrix()`: columns of the
#'   predictors, scale of the data; random effects apart.
#' * `family()`: an object of class `family`: the distribution of the response and the default link.
#'   That of a support vector machine is the hinge pseudo-likelihood.
#' * `sigma()`: posterior mean of the standard deviation of the response of a
#'   regression. `deviance()`: posterior mean of minus twice the log-likelihood.
#' * `simulate()`: data frame with `nsim` responses drawn from the posterior predictive distribution
#'   at the rows of the fit, of a [bark()] with their weights.
#' * `ngrps()` (lme4): number of groups of each grouping factor.
#' * `update()`: the call with changes, fitted anew.
#' @section Errors: `bayeskernel_error_argument`, with the reason, for what a model does not have,
#'   such as the deviance of a pseudo-likelihood, or if the data of the call are gone.
#' @seealso [fit-arguments], [predict()][predict.bayeskernel_fit],
#'   [summary()][summary.bayeskernel_fit].
#' @examples
#' data("bdf", package = "nlme")
#' fit <- bkm(langPOST > 40 ~ IQ.verb + ses + (1 | schoolNR), bdf[1:600, ])
#' head(fitted(fit))
#' head(residuals(fit, "pearson"))
#' head(model.matrix(fit))
#' family(fit)
#' update(fit, . ~ . + poly(IQ.verb, 2) - IQ.verb)
#' @aliases fitted.bkm fitted.bsvm fitted.gpsvm fitted.mkprobit fitted.bark fitted.klr fitted.seqkr
#'   residuals.bkm residuals.bsvm residuals.gpsvm residuals.mkprobit residuals.bark residuals.klr
#'   residuals.seqkr update.bkm update.bsvm update.gpsvm update.mkprobit update.bark update.klr
#'   update.seqkr simulate.bkm simulate.bark deviance.bkm deviance.bark sigma.bkm sigma.bark
#' @name fit-methods
NULL

#' @rdname fit-methods
#' @export
fitted.bayeskernel_fit <- function(object, ...) {
  check_whole(object, ...)
  link <- prediction_link(object, NULL)
  moments <- latent_by_link(object, NULL, link)
  out <- if (is_regression(object)) moments$mean else moments$prob[[link]]
  out <- fill_excluded(by_row(object, by_unit(object, out)), object$na.action)
  if (!is_regression(object)) out <- with_declared(object, out)
  with_zero(object, out, fitted_zero(object))
}

fitted_zero <- function(object) {
  rows <- object$zero$rows
  if (is_regression(object)) return(stats::predict(object, rows))
  prob <- stats::predict(object, rows, "prob")
  if (length(object$levels) == 2L) prob[, object$levels[2L]] else prob
}

# The response of rows of weight 0, as residuals() has it of the others.
response_of_zero <- function(object) {
  y <- object$zero$y %||% response_at(object, object$zero$rows)
  if (are_counts(object)) return(unname(y[, 1L] / rowSums(y)))
  y <- new_response(object, object$zero$rows, y, NROW(y))
  if (is_regression(object) || length(object$levels) > 2L) y else y - 1
}

#' @rdname fit-methods
#' @export
residuals.bayeskernel_fit <- function(object, type = c("response", "pearson"), ...) {
  check_whole(object, ...)
  type <- check_choice(type, c("response", "pearson"), "type")
  p <- stats::fitted(object)
  if (is_regression(object)) {
    y <- stats::napredict(object$na.action, by_row(object, object$y))
    out <- with_zero(object, y, response_of_zero(object)) - p
    return(if (type == "pearson") {
      sqrt(stats::weights(object)) * out / stats::sigma(object)
    } else {
      out
    })
  }
  y <- if (is.matrix(p)) own_classes(object) else unit_shares(object)
  y <- stats::napredict(object$na.action, by_row(object, y))
  y <- with_zero(object, y, response_of_zero(object))
  if (is.matrix(p)) {
    p <- p[cbind(seq_along(y), match(object$levels, class_levels(object))[y])]
    y <- 1
  }
  out <- y - p
  if (type == "pearson") out <- sqrt(stats::weights(object)) * out / sqrt(p * (1 - p))
  out
}

#' @rdname fit-methods
#' @export
nobs.bayeskernel_fit <- function(object, ...) {
  check_whole(object)
  unit <- object$units %||% object$repeats
  if (is.null(unit)) object$n else length(unique(unit))
}

#' @rdname fit-methods
#' @export
weights.bayeskernel_fit <- function(object, ...) {
  check_whole(object, ...)
  weights <- object$weights
  if (is.null(weights)) weights <- rep(1, object$n)
  weights <- sum_by_unit(object, weights)
  with_zero(object, stats::napredict(object$na.action, weights), numeric(length(object$zero$at)))
}

#' @rdname fit-methods
#' @export
formula.bayeskernel_fit <- function(x, ...) {
  check_whole(x)
  need_formula(x)
  x$formula
}

#' @rdname fit-methods
#' @export
terms.bayeskernel_fit <- function(x, ...) {
  check_whole(x)
  need_formula(x)
  x$terms
}

#' @rdname fit-methods
#' @export
model.frame.bayeskernel_fit <- function(formula, ...) {
  check_whole(formula, ...)
  fit_frame(formula)
}

#' @rdname fit-methods
#' @export
model.matrix.bayeskernel_fit <- function(object, data = NULL, ...) {
  check_whole(object, ...)
  if (object$design$type == "kernel") {
    bk_abort(
      "argument", "The fit was made from a kernel and has no predictors.",
      "Its columns are those of the kernel matrix."
    )
  }
  if (is.null(data)) data <- own_data(object)
  rows <- new_rows(object, data, "none")
  out <- fill_incomplete(rows$x, rows)
  if (is.null(object$used)) out else out[, object$used, drop = FALSE]
}

#' @rdname fit-methods
#' @importFrom stats family
#' @export
family.bayeskernel_fit <- function(object, ...) {
  check_whole(object)
  out <- if (is_regression(object)) {
    stats::gaussian()
  } else {
    link <- links_of(object)[1]
    if (link == "calibrated") {
      link <- structure(calibrated_glm_link(object$link), class = "link-glm")
    }
    stats::binomial(link)
  }
  if (is_pseudo(object)) {
    out$family <- "hinge (pseudo-likelihood)"
  } else if (length(object$levels) > 2L) {
    out$family <- object$family
  }
  out
}

refuse_pseudo <- function(object, what, cure = paste(
                            "Compare fits by predictions for rows that were",
                            "left out: log_loss(), brier_score(),", "summary(fit, newdata)."
                          )) {
  if (is_pseudo(object)) {
    bk_abort(
      "argument", sprintf("A support vector machine has no %s.", what),
      paste(
        "Its likelihood is a pseudo-likelihood: the hinge loss is not minus",
        "the logarithm of a probability of the labels."
      ),
      if (is_linear(object)) "A model with a likelihood: bkm(family = \"logit\").", cure,
      found = model_of(object)$name
    )
  }
}

#' @rdname fit-methods
#' @importFrom stats sigma
#' @export
sigma.bayeskernel_fit <- function(object, ...) {
  check_whole(object, ...)
  if (!is_regression(object)) {
    bk_abort(
      "argument", "Classes have no residual standard deviation.",
      "It belongs to a numeric response."
    )
  }
  if (is.null(object$draws)) noise_row(object)$estimate else mean(sigma_draws(object))
}

# A predictor may be called sigma, too.
noise_row <- function(object) {
  if (is_linear(object)) noise_parameters(object, NULL) else parameters(object)["sigma", ]
}

sigma_draws <- function(object) {
  name <- if (is_linear(object)) noise_name(fixed_names(object)) else "sigma"
  pooled_draws(object, name)
}

# Posterior mean of the square of sigma().
noise_variance <- function(object) {
  if (is.null(object$draws)) {
    sum(noise_row(object)[c("estimate", "sd")]^2)
  } else {
    mean(sigma_draws(object)^2)
  }
}

#' @rdname fit-methods
#' @importFrom stats deviance
#' @export
deviance.bayeskernel_fit <- function(object, ...) {
  check_whole(object, ...)
  refuse_pseudo(object, "deviance")
  need_rows(object, "deviance()")
  if (is_linear(object) && !is.null(object$fitted)) return(-2 * likelihood_moments(object)$average)
  -2 * mean(rowSums(log_densities(object, seed = 1)))
}

#' @rdname fit-methods
#' @importFrom stats simulate
#' @export
simulate.bayeskernel_fit <- function(object, nsim = 1, seed = NULL, re.form = NULL, ...) {
  check_whole(object, ...)
  refuse_simulation(object)
  need_rows(object, "simulate()")
  nsim <- check_count(nsim, name = "nsim")
  seed <- check_seed(seed)
  if (!is.null(object$units)) return(simulated_counts(object, nsim, seed))
  y <- predictive_draws(object, NULL, nsim, re.form, seed = seed)
  y <- y[rep_len(seq_len(nrow(y)), nsim), , drop = FALSE]
  out <- lapply(seq_len(nsim), function(k) {
    if (is_regression(object)) return(y[k, ])
    factor(
      object$levels[y[k, ]], class_levels(object), ordered = identical(object$family, "ordinal")
    )
  })
  structure(list2DF(stats::setNames(out, paste0("sim_", seq_len(nsim)))), seed = seed)
}

# Pairs of counts, as the response is.
simulated_counts <- function(object, nsim, seed) {
  size <- unit_trials(object)$all
  y <- count_draws(object, nsim, seed = seed)
  y <- y[rep_len(seq_len(nrow(y)), nsim), , drop = FALSE]
  out <- lapply(seq_len(nsim), function(k) {
    counts <- cbind(y[k, ], round(size) - y[k, ])
    colnames(counts) <- rev(object$levels)
    counts
  })
  names(out) <- paste0("sim_", seq_len(nsim))
  structure(out, class = "data.frame", row.names = .set_row_names(length(size)), seed = seed)
}

#' @rdname fit-methods
#' @exportS3Method lme4::ngrps
ngrps.bayeskernel_fit <- function(object, ...) {
  check_whole(object)
  sizes <- group_sizes(object)
  if (length(sizes) == 0L) {
    bk_abort(
      "argument", "The model has no random effects, hence no groups.",
      "Random terms stand in bars in the formula, as in y ~ x + (1 | g)."
    )
  }
  sizes
}

#' @rdname fit-methods
#' @importFrom stats update
#' @export
update.bayeskernel_fit <- function(object, formula., ..., evaluate = TRUE) {
  check_whole(object)
  formula <- if (!missing(formula.)) stats::update(stats::formula(object), formula.)
  changes <- match.call(expand.dots = FALSE)$...
  if (!any(c("data", "x") %in% names(changes))) need_rows(object, "update()")
  call <- changed_call(object, formula, changes)
  if (evaluate) eval_fit(object, call, parent.frame()) else call
}

# The call of a fit with another formula and other arguments.
changed_call <- function(object, formula, changes) {
  call <- object$call
  if (!is.null(formula)) {
    # It may have been given without its name.
    call[[if (is.null(call$formula)) 2L else "formula"]] <- formula
  }
  changes$control <- merged_control(call$control, changes$control)
  call[names(changes)] <- changes
  call
}

# Entries of a control take the place of those of an earlier one, where both are written out;
# otherwise the later one stands.
merged_control <- function(earlier, later) {
  written <- function(x) {
    if (is.call(x)) {
      x <- as.list(x)
      made <- is.name(x[[1L]]) && grepl("^list$|_control$", x[[1L]])
      x <- if (made) x[-1L]
    }
    named <- is.list(x) && !is.object(x) && !is.null(names(x))
    if (named && all(nzchar(names(x)))) x
  }
  before <- written(earlier)
  own <- written(later)
  if (is.null(before) || is.null(own)) return(later)
  before[names(own)] <- own
  as.call(c(quote(list), before))
}

eval_fit <- function(object, call, home) {
  name <- model_of(object)$name
  # Where the package is not attached.
  if (is.name(call[[1L]]) && !exists(name, home, mode = "function")) {
    call[[1L]] <- call("::", quote(bayeskernel), as.name(name))
  }
  eval(call, home)
}
