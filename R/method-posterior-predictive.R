#' Draws of the posterior predictive distribution
#'
#' Methods for the generics of packages rstantools, loo and bayesplot. Load these, or call a generic
#' by its full name: `rstantools::posterior_predict(fit)`, `loo::loo(fit)`,
#' `bayesplot::pp_check(fit)`.
#'
#' @param object,x A fit by [bkm()], [bsvm()], [gpsvm()] or [bark()].
#' @param newdata Rows as [predict()][predict.bayeskernel_fit] takes them.
#'   Default: the rows of the fit.
#' @param ndraws Number of draws. Default: all of a sampler, 1000 from q.
#' @param re_formula What brms calls `re.form`.
#' @param re.form,seed As for [predict()][predict.bayeskernel_fit].
#' @param link As for [predict()][predict.bayeskernel_fit]: how f becomes a probability.
#' @param transform Return probabilities, as `posterior_epred()`, instead of f.
#' @param prob Probability of the intervals, default 0.95.
#' @param pars Names of parameters; default all.
#' @param y Responses of `newdata`; by default its column of that name.
#' @param ... `loo()`: arguments of [loo::loo()]. `pp_check()`: arguments of the
#'   plotting function of bayesplot. Otherwise none.
#' @return Matrices, draws x rows:
#' * `posterior_linpred()`: the latent f, or the mean of a regression; several
#'   latent functions make an array, draws x rows x classes.
#' * `posterior_epred()`: expected responses: means, or probabilities of the
#'   positive class; of each class (draws x rows x classes) if there are more.
#' * `posterior_predict()`: simulated responses: numbers; 0 and 1 for two
#'   classes; of the rows of a fit to counts the number of successes; the number of the class for
#'   more, with an attribute `levels`.
#' * `log_lik()`: logarithm of the probability, or density, of each response.
#' * `loo()`: leave-one-out cross-validation by these, see [loo::loo()].
#'
#'   `bayes_R2()`, of a regression by [bkm()]: a number for each draw, the variance of the means of
#'   the rows over its sum with that of the noise (Gelman et al. 2019).
#'
#'   `posterior_interval()`: central intervals of parameters, a row each. `prior_summary()`: the
#'   prior of the fit. `pp_check()`: a ggplot, the distribution of the responses and that of
#'   `ndraws` (default 50) simulated ones.
#' @section Weights: A row of weight w counts w times in `log_lik()` and
#'   `loo()`, as a row of w trials does. In a [bark()] the weight divides the
#'   variance of the row's noise, and the row counts once. A row of `cbind(successes, failures)` is
#'   left out whole; of weight w, one of its w copies is. Its likelihood counts the orders of its
#'   trials, as that of [stats::glm()] does; that of one row for each trial does not. The two differ
#'   by a constant.
#' @section Leave-one-out: A fit by expectation propagation has the predictive density of each row
#'   given the others, from its cavities: `loo()` sums them, without importance sampling. So it does
#'   for [bsvm()] and [gpsvm()] with `"ep"` for the probabilities of `predict()`. Other fits
#'   take `log_lik()` and Pareto smoothed importance sampling. A kernel that was tuned by
#'   leave-one-out has seen all rows. With one length-scale that hardly matters. With many, as of
#'   `rbf(ard = TRUE)`, the score is optimistic.
#' @section Support vector machines: Their likelihood is a pseudo-likelihood:
#'   the hinge loss is not minus the logarithm of a probability.
#'   `posterior_predict()`, `pp_check()` and `log_lik()` are errors;
#'   [bkm()] has the same models with a likelihood.
#' @section Errors: `bayeskernel_error_argument`, as [predict()][predict.bayeskernel_fit]; also if
#'   the data of the fit are gone, for `log_lik()` of a pseudo-likelihood, and for `loo()` of one
#'   without `"ep"` or of counts.
#' @references Gelman, A., Goodrich, B., Gabry, J. and Vehtari, A. (2019). R-squared for Bayesian
#'   regression models. *The American Statistician* 73, 307-309.
#' @seealso [predict()][predict.bayeskernel_fit], [draws].
#' @examples
#' fit <- bkm(log(Ozone) ~ s(Wind) + Temp, airquality, na.action = na.omit)
#' if (requireNamespace("rstantools", quietly = TRUE)) {
#'   dim(rstantools::posterior_predict(fit, ndraws = 50, seed = 1))
#'   rstantools::posterior_interval(fit, pars = "Temp")
#' }
#' if (requireNamespace("bayesplot", quietly = TRUE)) bayesplot::pp_check(fit, seed = 1)
#' @name posterior_predict.bayeskernel_fit
NULL

#' @rdname posterior_predict.bayeskernel_fit
#' @exportS3Method rstantools::posterior_linpred
posterior_linpred.bayeskernel_fit <- function(object, transform = FALSE, newdata = NULL,
                                              ndraws = NULL, re.form = re_formula, link = NULL,
                                              seed = NULL, re_formula = NULL, ...) {
  check_whole(object, ...)
  latent <- posterior_latent(object, newdata, ndraws, re.form, seed)
  if (!check_flag(transform, "transform") || is_regression(object)) return(latent$f)
  with_declared(object, draw_probability(object, latent, prediction_link(object, link)))
}

#' @rdname posterior_predict.bayeskernel_fit
#' @exportS3Method rstantools::posterior_epred
posterior_epred.bayeskernel_fit <- function(object, newdata = NULL, ndraws = NULL,
                                            re.form = re_formula, link = NULL, seed = NULL,
                                            re_formula = NULL, ...) {
  check_whole(object, ...)
  latent <- posterior_latent(object, newdata, ndraws, re.form, seed)
  if (is_regression(object)) return(latent$f)
  draw_probability(object, latent, prediction_link(object, link))
}

#' @rdname posterior_predict.bayeskernel_fit
#' @exportS3Method rstantools::posterior_predict
posterior_predict.bayeskernel_fit <- function(object, newdata = NULL, ndraws = NULL,
                                              re.form = re_formula, link = NULL, seed = NULL,
                                              re_formula = NULL, ...) {
  check_whole(object, ...)
  refuse_simulation(object)
  if (is.null(newdata) && !is.null(object$units)) {
    return(count_draws(object, ndraws, re.form, link, seed))
  }
  out <- predictive_draws(object, newdata, ndraws, re.form, link, seed)
  if (length(object$levels) == 2L) {
    out <- out - 1L
  } else if (!is_regression(object)) {
    levels <- class_levels(object)
    out[] <- match(object$levels, levels)[out]
    attr(out, "levels") <- levels
  }
  out
}

# Successes of the units of the fit, or of new rows of so many trials, draws x units.
count_draws <- function(object, draws, re.form = NULL, link = NULL, seed, newdata = NULL,
                        trials = unit_trials(object)$all) {
  link <- prediction_link(object, link)
  with_seed(seed, {
    latent <- posterior_latent(object, newdata, draws, re.form)
    p <- draw_probability(object, latent, link)
    size <- rep(round(trials), each = nrow(p))
    known <- !is.na(p) & !is.na(size)
    out <- matrix(NA_integer_, nrow(p), ncol(p), dimnames = list(NULL, colnames(p)))
    out[known] <- stats::rbinom(sum(known), size[known], p[known])
    out
  })
}

# What predict() says of a new number of successes: limits, or draws.
predict_counts <- function(object, newdata, ask, re.form) {
  refuse_simulation(object)
  if (!is.null(ask$kept)) {
    bk_abort(
      "argument", "Prediction intervals of counts are of the whole model.",
      "Found: `terms` or `exclude`.", "Accepted: interval = \"credible\".", column = "interval"
    )
  }
  trials <- if (is.null(newdata)) unit_trials(object)$all else rowSums(new_counts(object, newdata))
  draws <- count_draws(object, ask$ndraws, re.form, ask$link, ask$seed, newdata, trials)
  own <- function(x) if (is.null(newdata)) fill_excluded(x, object$na.action, ask$draws) else x
  whole <- function(x) {
    if (!is.null(newdata)) return(x)
    with_zero(object, x, predict_counts(object, object$zero$rows, ask, re.form), ask$draws)
  }
  if (ask$draws) return(whole(own(draws)))
  known <- colSums(is.na(draws)) == 0
  limits <- matrix(NA_real_, ncol(draws), 2L, dimnames = list(NULL, c("lwr", "upr")))
  ends <- column_quantiles(draws[, known, drop = FALSE] + 0, c(1 - ask$level, 1 + ask$level) / 2)
  limits[known, ] <- cbind(floor(ends[1, ]), ceiling(ends[2, ]))
  rate <- stats::predict(
    object, newdata, "response", ask$link, re.form = re.form, threads = ask$threads
  )
  if (is.null(newdata)) rate <- without_zero(object, rate)
  whole(cbind(fit = rate * own(trials), own(limits)))
}

# What is not normalised over y is no law that responses could be drawn from.
refuse_simulation <- function(object) {
  refuse_pseudo(object, "distribution of responses", paste(
    "Probabilities by a link are a convention: posterior_epred() draws these,",
    "predict(type = \"prob\") has their means."
  ))
}

# Responses: numbers, or numbers of classes.
predictive_draws <- function(object, newdata, draws, re.form = NULL, link = NULL, seed) {
  if (is_regression(object)) {
    return(posterior_latent(object, newdata, draws, re.form, seed, response = TRUE)$f)
  }
  link <- prediction_link(object, link)
  with_seed(seed, {
    latent <- posterior_latent(object, newdata, draws, re.form)
    p <- draw_probability(object, latent, link)
    size <- dim(p)[1:2]
    classes <- length(object$levels)
    u <- matrix(stats::runif(prod(size)), size[1])
    below <- if (classes == 2L) 1 - p else p[, , 1]
    out <- matrix(1L, size[1], size[2], dimnames = list(NULL, colnames(below)))
    for (k in seq_len(classes - 1L)) {
      out <- out + (u > below)
      if (k < classes - 1L) below <- below + p[, , k + 1L]
    }
    storage.mode(out) <- "integer"
    out
  })
}

#' @rdname posterior_predict.bayeskernel_fit
#' @exportS3Method rstantools::posterior_interval
posterior_interval.bayeskernel_fit <- function(object, prob = 0.95, pars = NULL, ...) {
  check_whole(object, ...)
  prob <- check_number(prob, 0, 1, "prob", closed = FALSE)
  draws <- parameter_draws(object)
  # Without draws of them their own limits.
  rows <- if (is.null(draws)) parameters(with_vcov(object, "posterior"), prob)
  known <- if (is.null(draws)) rownames(rows) else dimnames(draws)[[3]]
  if (is.null(pars)) pars <- known
  if (!is.character(pars) || !all(pars %in% known)) {
    abort_argument(pars, "pars", paste("names among", list_some(known)))
  }
  ends <- c(1 - prob, 1 + prob) / 2
  out <- if (is.null(draws)) {
    as.matrix(rows[pars, c("lower", "upper")])
  } else {
    flat <- if (is.null(object$draws)) {
      stack_chains(draws[, , pars, drop = FALSE])
    } else {
      pooled_draws(object, pars)
    }
    t(column_quantiles(flat, ends))
  }
  dimnames(out) <- list(pars, paste0(format(100 * ends, trim = TRUE), "%"))
  out
}

#' @rdname posterior_predict.bayeskernel_fit
#' @exportS3Method rstantools::bayes_R2
bayes_R2.bayeskernel_fit <- function(object, ndraws = NULL, re.form = NULL, seed = NULL, ...) {
  check_whole(object, ...)
  if (!is_regression(object) || !is_linear(object)) {
    bk_abort(
      "argument", "The Bayesian R2 is of a regression by bkm().",
      sprintf(
        "Found: a fit of %s()%s.", class(object)[1],
        if (is_regression(object)) "" else " to classes"
      ),
      "summary(fit) has measures of other fits.", column = "object"
    )
  }
  latent <- posterior_latent(object, NULL, ndraws, re.form, seed)
  n <- ncol(latent$f)
  share <- rep_len(likelihood_powers(object) %||% 1, n)
  share <- share / sum(share)
  rest <- latent$f - drop(latent$f %*% share)
  explained <- drop(rest^2 %*% share) * n / (n - 1)
  explained / (explained + latent$sigma^2)
}

#' @rdname posterior_predict.bayeskernel_fit
#' @exportS3Method rstantools::prior_summary
prior_summary.bayeskernel_fit <- function(object, ...) {
  check_whole(object, ...)
  # A prior without settings is told among the facts.
  object$prior %||% object$kernel %||% facts(object)["Prior"]
}

#' @rdname posterior_predict.bayeskernel_fit
#' @exportS3Method rstantools::log_lik
log_lik.bayeskernel_fit <- function(object, newdata = NULL, y = NULL,
                                    ndraws = NULL, seed = NULL, ...) {
  check_whole(object, ...)
  refuse_pseudo(object, "log-likelihood")
  log_densities(object, newdata, y, ndraws, seed)
}

#' @rdname posterior_predict.bayeskernel_fit
#' @exportS3Method loo::loo
loo.bayeskernel_fit <- function(x, ..., seed = NULL) {
  check_whole(x)
  if (is.null(fit_quality(x)$loo) || !is.null(x$units)) {
    refuse_pseudo(x, paste0(
      "likelihood, so no leave-one-out log score", if (!is.null(x$units)) " of counts"
    ))
  }
  need_rows(x, "loo()")
  if (!is.null(x$loo)) {
    check_no_dots(...)
    return(cavity_loo(x))
  }
  sampled_loo(x, ..., seed = seed)
}

sampled_loo <- function(x, ..., seed) {
  log_lik <- repeated_columns(x, log_densities(x, seed = seed))
  size <- dim(x$draws)
  # Draws that are not of chains are independent; of weighted chains they are no chains any more.
  r_eff <- if (is.null(size) || !is.null(weighted_rows(x))) {
    rep(1, ncol(log_lik))
  } else {
    chain <- rep(seq_len(size[2]), each = size[1])
    loo::relative_eff(exp(log_lik), chain_id = chain)
  }
  loo::loo(log_lik, r_eff = r_eff, ...)
}

#' @rdname posterior_predict.bayeskernel_fit
#' @exportS3Method bayesplot::pp_check
pp_check.bayeskernel_fit <- function(object, ..., ndraws = 50, seed = NULL) {
  check_whole(object)
  refuse_simulation(object)
  need_rows(object, "pp_check()")
  if (!is.null(object$units)) {
    trials <- unit_trials(object)
    simulated <- count_draws(object, ndraws, seed = seed)
    return(bayesplot::ppc_dens_overlay(
      unit_shares(object), t(t(simulated) / round(trials$all)), ...
    ))
  }
  simulated <- predictive_draws(object, NULL, ndraws, seed = seed)
  if (is_regression(object)) return(bayesplot::ppc_dens_overlay(object$y, simulated, ...))
  bayesplot::ppc_bars(as.integer(own_classes(object)), simulated, ...)
}
