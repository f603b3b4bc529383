# What a proper likelihood makes possible: evidence, comparison of models, leave-one-out by
# cavities, the likelihood of a fit.

#' Evidence of a model, and comparison of models
#'
#' The logarithm of the marginal likelihood, the probability of the responses under the model with
#' all parameters averaged over by the prior, as expectation propagation approximates it; and tables
#' of several models of the same responses.
#'
#' @param object A fit by [bkm()] with `method = "ep"` and a proper likelihood: family `"logit"`,
#'   `"probit"` or `"gaussian"`; for `log_evidence()` also one by [seqkr()].
#' @param ... `anova()`: further such fits, of the same rows, with names if wanted, as in
#'   `anova(null = fit0, full = fit1)`. `log_evidence()`: no further arguments.
#' @param by_row For [seqkr()]: the log predictive density of each row given those before it, in the
#'   order in which they were taken; default `FALSE`, their sum.
#' @return `log_evidence()`: one number. With [seqkr()] its exponential is an estimate of the
#'   evidence without bias, except for the effect of `temper`. With learned variances it is averaged
#'   over their grid and prior, see [bayeskernel-engines]. With more than eight of them, or more
#'   than two of a row source without groups, their posterior is variational and the evidence a
#'   little too small.
#'
#'   `anova()`: a data frame of class `bayeskernel_anova` with a row a model: `family`, `columns`,
#'   the number of columns of fixed terms and smooths, `log_evidence`, `difference` from the best,
#'   `elpd_loo`, the sum of the leave-one-out log predictive densities, `p_loo`, the effective
#'   number of parameters (how far the densities of the rows of the fit are above these),
#'   `elpd_diff` from the best of these, and `se_diff`, the standard error of that difference. It
#'   prints the formula of each model above the table.
#' @section What can be compared: Models of the same responses in the same units, by a normalized
#'   likelihood; weights are whole numbers. Logit and probit models can stand in one table while
#'   their priors mean the same, as the defaults do. The hinge is not normalized: its evidence
#'   cannot be compared with another. The evidence depends on the width of the priors, however wide:
#'   under flat ones it falls without end. `elpd_loo` hardly does.
#' @section Errors: `bayeskernel_error_argument` for fits that cannot be compared, with the reason.
#' @seealso [logLik()][logLik.bayeskernel_fit], [compare_terms()], [bkm()], [seqkr()].
#' @references Rasmussen, C. E. and Williams, C. K. I. (2006). *Gaussian
#'   Processes for Machine Learning*. MIT Press, sections 3.6 and 5.4.
#' @examples
#' wind <- bkm(log(Ozone) ~ Wind, airquality, na.action = na.omit)
#' both <- update(wind, . ~ . + Temp)
#' log_evidence(wind)
#' anova(wind, both)
#' @aliases log_evidence.bkm anova.bkm print.bayeskernel_anova
#' @export
log_evidence <- function(object, ...) {
  check_given("object")
  UseMethod("log_evidence")
}

#' @rdname log_evidence
#' @export
log_evidence.bayeskernel_fit <- function(object, ...) {
  check_whole(object, ...)
  need_evidence(object)
  evidence_of(object)
}

#' @rdname log_evidence
#' @export
log_evidence.seqkr <- function(object, by_row = FALSE, ...) {
  check_whole(object, ...)
  if (check_flag(by_row, "by_row")) object$trace$steps$log_evidence else object$log_evidence
}

need_evidence <- function(object, name = NULL) {
  refuse_pseudo(object, "evidence")
  told <- if (is.null(name)) "" else sprintf(" of `%s`", name)
  if (isTRUE(object$powers)) {
    bk_abort(
      "argument", sprintf("The evidence%s is not one.", told),
      "Likelihood powers, `weights`, are not normalized over y.",
      "Accepted: whole weights, how often each row occurs.", column = "weights"
    )
  }
  if (!is.null(object$shared)) {
    bk_abort(
      "argument", sprintf("There is no evidence%s.", told),
      sprintf(
        "Found: missing values of whole groups, in %s.",
        list_some(paste0("`", object$holes$shared, "`"))
      ),
      "The fit averages over completed data, each with its own evidence.",
      "Compare fits to groups without missing values.", column = object$holes$shared
    )
  }
  if (is.null(object$log_evidence)) {
    bk_abort(
      "argument", sprintf("There is no evidence%s.", told),
      sprintf("Found: a fit by %s(method = \"%s\").", model_of(object)$name, object$method),
      "Accepted: a fit by bkm(method = \"ep\") or seqkr().",
      if (!is.null(object$trace$elbo)) "elbo() is a bound of it.",
      column = "method", found = object$method
    )
  }
}

#' @rdname log_evidence
#' @importFrom stats anova
#' @export
anova.bayeskernel_fit <- function(object, ...) {
  # A first fit with a name of its own is among the dots.
  fits <- c(if (!missing(object)) list(object), list(...))
  typed <- c(if (!missing(object)) substitute(object), as.list(substitute(list(...)))[-1L])
  check_whole(fits[[1L]])
  given <- names(fits) %||% rep("", length(fits))
  names <- ifelse(nzchar(given), given, vapply(typed, function(expression) {
    text <- deparse1(expression)
    if (nchar(text) > 24L) "" else text
  }, ""))
  unnamed <- !nzchar(names)
  names[unnamed] <- paste("model", which(unnamed))
  for (k in seq_along(fits)) {
    if (!inherits(fits[[k]], "bayeskernel_fit")) {
      abort_argument(fits[[k]], names[k], "a fit by bkm(method = \"ep\")")
    }
    need_evidence(fits[[k]], names[k])
    need_rows(fits[[k]], "anova()")
    if (is.null(fits[[k]]$loo)) abort_argument(fits[[k]], names[k], "a fit by bkm(method = \"ep\")")
    if (k > 1L) need_same_rows(fits[[1L]], fits[[k]], names[k])
  }
  pointwise <- lapply(fits, row_elpd)
  evidence <- vapply(fits, evidence_of, 1)
  elpd <- vapply(pointwise, sum, 1)
  best <- which.max(elpd)
  out <- data.frame(
    family = vapply(fits, linear_family, ""), columns = lengths(lapply(fits, fixed_names)),
    log_evidence = evidence, difference = evidence - max(evidence), elpd_loo = elpd,
    p_loo = vapply(fits, function(fit) sum(unit_log_density(fit)), 1) - elpd,
    elpd_diff = elpd - elpd[best],
    se_diff = vapply(pointwise, function(own) sum_error(own - pointwise[[best]]), 1),
    row.names = make.unique(names)
  )
  formulas <- vapply(fits, function(fit) {
    if (is.null(fit$formula)) "a matrix of predictors" else deparse1(stats::formula(fit))
  }, "")
  structure(
    out, heading = paste0(rownames(out), ": ", formulas),
    random = any(vapply(fits, has_groups, NA)),
    class = c("bayeskernel_anova", "data.frame")
  )
}

# Leave-one-out log predictive densities of the rows: by cavities where the fit has them, else by
# importance sampling.
row_elpd <- function(fit, seed = NULL) {
  if (!is.null(fit$loo)) return(cavity_elpd(fit))
  sampled_loo(fit, seed = seed)$pointwise[, "elpd_loo"]
}

# The standard error of a sum over independent rows, each the sum of `copies` equal ones.
sum_error <- function(x, copies = 1) {
  if (length(copies) != length(x)) return(sqrt(length(x) * stats::var(x)))
  total <- sum(copies)
  squares <- sum(copies * (x / copies - sum(x) / total)^2)
  sqrt(total * squares / (total - 1))
}

# How often the rows of a fit count.
loo_copies <- function(object) {
  if (is.null(object$units)) row_copies(object$weights, object$counted) else unit_copies(object)
}

need_same_rows <- function(first, other, name) {
  same <- c(
    "number of rows" = identical(first$n, other$n),
    "classes" = identical(first$levels, other$levels),
    "responses" = identical(as.double(first$y), as.double(other$y)),
    "counts" = isTRUE(all.equal(first$weights, other$weights))
  )
  if (!all(same)) {
    bk_abort(
      "argument", sprintf("`%s` is a model of other responses.", name),
      paste("Different:", paste(names(same)[!same], collapse = ", ")),
      "Accepted: fits to the same rows, in the same order and units.",
      "Rows with missing predictors drop out of one model and not another.", column = name
    )
  }
}

#' @export
print.bayeskernel_anova <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  digits <- check_count(digits, 1L, 22L)
  cat("Models of the same responses\n")
  for (line in attr(x, "heading")) writeLines(strwrap(line, text_width(), exdent = 2))
  shown <- as.data.frame(lapply(x, function(column) {
    if (is.double(column)) formatC(column, format = "f", digits = 2) else column
  }), row.names = abbreviate_middle(rownames(x)))
  print(as.matrix(shown), quote = FALSE, right = TRUE)
  if (length(unique(x$family)) > 1L) {
    print_line("Logit and probit compare by evidence only under priors that mean the same.")
  }
  if (length(unique(x$columns)) > 1L) {
    print_line("The evidence depends on how wide the priors are; elpd_loo hardly does.")
  }
  if (isTRUE(attr(x, "random"))) print_line(rows_left_out)
  invisible(x)
}

#' Likelihood of a fit
#'
#' The log-likelihood at the posterior mean, with the effective number of parameters, for
#' [stats::AIC()] and the like.
#'
#' @param object A fit by [bkm()] with a proper likelihood.
#' @param ... No further arguments.
#' @return An object of class `logLik`: the log-likelihood at the posterior mean of the latent value
#'   of each row, known groups with their effects. Its `df` is the effective number of parameters,
#'   twice what the log-likelihood falls on average over the posterior, so that [stats::AIC()] is
#'   the deviance information criterion (DIC).
#' @section Mixed models: `AIC()` and `BIC()` are conditional on the effects of the groups in the
#'   data. Do not compare them with those of lme4, which are marginal; compare models with
#'   [anova()].
#' @section Errors: `bayeskernel_error_argument` for other fits: a pseudo-likelihood has none, and
#'   in kernel models nothing was maximized; see [log_lik()][posterior_predict.bayeskernel_fit].
#' @seealso [log_evidence()], [compare_terms()].
#' @references Spiegelhalter, D. J., Best, N. G., Carlin, B. P. and van der
#'   Linde, A. (2002). Bayesian measures of model complexity and fit. *Journal
#'   of the Royal Statistical Society B* 64, 583-639.
#' @examples
#' fit <- bkm(depth > 300 ~ poly(long, 2) + lat, quakes)
#' logLik(fit)
#' AIC(fit)
#' @aliases logLik.bkm extractAIC.bayeskernel_fit AIC.bkm BIC.bkm
#' @importFrom stats logLik
#' @export
logLik.bayeskernel_fit <- function(object, ...) {
  check_whole(object, ...)
  refuse_pseudo(object, "log-likelihood")
  if (!is_linear(object) || is.null(object$fitted)) {
    bk_abort(
      "argument", "There is no maximum of a likelihood.",
      "The posterior is averaged over; nothing was maximized.",
      "Use log_lik() of package rstantools, or loo() of package loo."
    )
  }
  at <- likelihood_moments(object)
  structure(
    at$best, df = 2 * (at$best - at$average) + (is_regression(object) && is.null(object$expected)),
    nobs = stats::nobs(object), class = "logLik"
  )
}

# The log-likelihood of the fit's own rows at the posterior mean of f, and its mean over the
# posterior.
likelihood_moments <- function(object) {
  weights <- object$weights %||% 1
  f <- object$fitted
  constant <- sum(unit_constant(object))
  regression <- is_regression(object)
  sigma <- if (regression) sqrt(noise_variance(object))
  y <- if (regression) object$y else own_classes(object)
  density <- function(f) log_density(y, f, sigma, links_of(object)[1], regression)
  average <- average_likelihood(object)
  if (!is.null(average)) {
    return(list(best = sum(weights * density(f$mean)) + constant, average = average + constant))
  }
  # By the trapezoidal rule, as in probability_sd().
  nodes <- seq(-8, 8, by = 0.1)
  mass <- stats::dnorm(nodes) / sum(stats::dnorm(nodes))
  average <- 0
  for (k in seq_along(nodes)) {
    average <- average + mass[k] * density(f$mean + sqrt(f$var) * nodes[k])
  }
  list(
    best = sum(weights * density(f$mean)) + constant, average = sum(weights * average) + constant
  )
}

# The mean of the log-likelihood over the posterior where it is known: over draws, or from
# expectation propagation. That over normal f of the same moments falls too far where effects of
# groups are skewed.
average_likelihood <- function(object) {
  weights <- object$weights %||% 1
  if (!is.null(object$expected)) return(sum(weights * object$expected))
  NULL
}

# --- leave-one-out by cavities -----------------------------------------------

cavities <- "the cavities of expectation propagation"

# As loo() of package loo gives it, without importance sampling.
cavity_loo <- function(object) {
  elpd <- cavity_elpd(object)
  lpd <- unit_log_density(object)
  pointwise <- cbind(elpd_loo = elpd, p_loo = lpd - elpd, looic = -2 * elpd)
  estimates <- cbind(
    Estimate = colSums(pointwise), SE = apply(pointwise, 2, sum_error, loo_copies(object))
  )
  structure(
    list(
      estimates = estimates, pointwise = pointwise, diagnostics = NULL,
      by = if (is_linear(object) && !is_pseudo(object)) cavities else "probabilities of predict()",
      note = tuning_note(object)
    ),
    class = c("cavity_loo", "loo"), dims = c(NA, nrow(pointwise))
  )
}

# Of all trials of a unit at once: f is the same in all of them.
unit_log_density <- function(object) {
  if (is.null(object$units)) return((object$weights %||% 1) * own_log_density(object))
  f <- by_unit(object, object$fitted[c("mean", "var")])
  nodes <- seq(-8, 8, by = 0.05)
  copies <- unit_copies(object)
  log_p <- t(count_densities(object, list(f = t(f$mean + outer(sqrt(f$var), nodes))))) / copies
  mass <- stats::dnorm(nodes, log = TRUE) + log(0.05)
  copies * log_row_sums(log_p + rep(mass, each = nrow(log_p)))
}

# Of the rows of the fit, averaged over the posterior.
own_log_density <- function(object) {
  if (is_regression(object)) {
    f <- object$fitted
    return(stats::dnorm(object$y, f$mean, sqrt(f$var + noise_variance(object)), log = TRUE))
  }
  link <- links_of(object)[1]
  p <- latent_by_link(object, links = link)$prob[[link]]
  log(pmax(own_probability(p, own_classes(object)), .Machine$double.xmin))
}

#' @export
print.cavity_loo <- function(x, digits = 1, ...) {
  digits <- check_count(digits, 0L, name = "digits")
  by <- paste(c(x$by %||% cavities, x$note), collapse = "; ")
  cat(sprintf("\nLeave-one-out of %d rows, by %s\n\n", nrow(x$pointwise), by))
  print(round(x$estimates, digits))
  invisible(x)
}

# What drop1(), add1() and step() ask for.
#' @importFrom stats extractAIC
#' @export
extractAIC.bayeskernel_fit <- function(fit, ...) {
  check_whole(fit)
  bk_abort(
    "argument", "Terms are not dropped or added by AIC.",
    "A posterior has no maximum to count parameters of.",
    "Use compare_terms() or anova(), or fit with `select = TRUE`."
  )
}
