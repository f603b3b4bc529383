# What packages that compute effects ask of every fit: the data it was made from, and predictions as
# functions of its coefficients.

#' Effects with marginaleffects and emmeans
#'
#' Fits work with the packages marginaleffects (average predictions, comparisons and slopes),
#' emmeans (estimated marginal means and contrasts) and insight (what a model is). Load the package
#' and call its functions on the fit.
#'
#' @section marginaleffects: `predictions()`, `comparisons()`, `slopes()` and their averages take
#'   `type = "response"` (the default: the probability of the positive class, those of all classes
#'   if there are more, or the mean of a regression), `"prob"` (of every class) or `"link"`.
#'
#'   *Random effects.* Rows of `newdata` count as [predict()][predict.bayeskernel_fit] says. A known
#'   group has its own effect: predictions are conditional. A level that the fit has not seen is
#'   integrated over: give `newdata` one, as in `transform(data, patient = "new")`, for effects in
#'   the population. The argument `re.form = "new"` does the same, and `re.form = NA` puts the
#'   effects at 0, for a typical group; marginaleffects then warns that it does not know the
#'   argument, and passes it on.
#'
#'   *Standard errors* are by the delta method from [vcov()][vcov.bayeskernel_fit]: the covariance
#'   of the fixed coefficients (of a support vector machine the sandwich; `vcov = "posterior"` asks
#'   for the other), with the spread of everything else as it is. That is right where random effects
#'   are 0 or integrated over, except that their variances are taken as known. For known groups the
#'   uncertainty of their own effects is left out. A warning says so; `options(marginaleffects_safe
#'   = FALSE)` silences it.
#'
#'   *Intervals from draws.* For a fit by a sampler, and for any fit after
#'   `options(bayeskernel.effects = "draws")`, effects are computed in every posterior draw (at most
#'   1000, the same ones each time): `estimate` is their median, intervals are quantiles, known
#'   groups and variances are as uncertain as they are, and `get_draws()` hands them over. Within a
#'   draw unseen groups are integrated over. This needs package collapse (2.0.18 or newer), without
#'   which samplers use the delta method as well. `options(bayeskernel.effects = "delta")` asks for
#'   it always. Fits without coefficients, by [gpsvm()] and [bark()], have no other standard errors.
#'
#' @section emmeans: Estimated marginal means are of the linear predictor with
#'   random effects at 0: the fixed part of the model, smooths among it, and
#'   [vcov()][vcov.bayeskernel_fit]. `type = "response"` transforms them by the
#'   link: probabilities by the inverse logit or by \eqn{\Phi}, and contrasts
#'   become odds ratios where the link is the logit. They are those of a typical
#'   group; `bias.adjust = TRUE` with the standard deviation of the random
#'   effects as `sigma` comes near those of the population, for which
#'   `marginaleffects::avg_predictions()` has the exact integral. A support
#'   vector machine has the calibrated link by default, see `link` of
#'   [predict()][predict.bayeskernel_fit]. Fits by a sampler hand over the draws of their
#'   coefficients, except that a support vector machine does so only with `vcov. = "posterior"`.
#'
#' @section insight: `find_formula()`, `get_data()`, `model_info()`, `get_parameters()`, `n_obs()`
#'   and what follows from them, such as `find_predictors()`, `find_random()` or `get_response()`.
#'   `model_info()` says `is_bayesian`, `is_mixed`, `is_binomial` and the link. `performance::r2()`
#'   is 1 minus the share of the residual sum of squares; for two classes it is Tjur's. Package
#'   parameters does not know these fits, and `ggeffects::ggpredict()` has no intervals and is for
#'   one known group: use [tidy()][tidy.bayeskernel_fit] and [plot_data()] or marginaleffects.
#'
#' @section The data of the fit: A fit keeps the variables of its formula, up to a million cells
#'   (`model`, see [fit-arguments]). Larger data are looked for under the name that they had in its
#'   call, where the effects are asked for, and have to be those of the fit in every value.
#'   Otherwise `marginaleffects::set_modeldata()`, `newdata =`, or `data =` of emmeans tell them.
#'
#' @seealso [predict()][predict.bayeskernel_fit], [exposure()]; `vignette("mixed-logit")`.
#' @examples
#' data("bdf", package = "nlme")
#' d <- bdf[1:600, ]
#' fit <- bkm(langPOST > 40 ~ IQ.verb + sex + (1 | schoolNR), d)
#' if (getRversion() >= "4.4" && requireNamespace("marginaleffects", quietly = TRUE)) {
#'   marginaleffects::avg_slopes(fit, newdata = transform(d, schoolNR = "new"))
#' }
#' if (requireNamespace("emmeans", quietly = TRUE)) {
#'   emmeans::emmeans(fit, pairwise ~ sex, type = "response")
#' }
#' @name effects
NULL

coef_or_null <- function(object) tryCatch(stats::coef(object), bayeskernel_error = function(e) NULL)

# --- marginaleffects ---------------------------------------------------------

# It has methods for classes that it does not know if it is told of them.
announce_classes <- function(...) {
  known <- getOption("marginaleffects_model_classes")
  options(marginaleffects_model_classes = union(known, "bayeskernel_fit"))
}

#' @exportS3Method marginaleffects::get_coef
get_coef.bayeskernel_fit <- function(model, ...) {
  check_whole(model)
  known <- coef_or_null(model)
  if (is.null(model$moved)) known else known + model$moved[names(known)]
}

# Coefficients move away from those of the posterior; what prediction adds for that is linear in
# them (moved_rows()).
#' @exportS3Method marginaleffects::set_coef
set_coef.bayeskernel_fit <- function(model, coefs, ...) {
  # Units of `cov` stay where they are.
  model$moved <- 0 * coefficient_mean(model, "data")
  model$moved[names(coefs)] <- coefs - stats::coef(model)[names(coefs)]
  model
}

#' @exportS3Method marginaleffects::get_vcov
get_vcov.bayeskernel_fit <- function(model, vcov = NULL, re.form = NULL, ...) {
  check_whole(model)
  if (isFALSE(vcov) || is.null(coef_or_null(model))) return(NULL)
  if (is.function(vcov)) vcov <- vcov(model)
  if (is.null(vcov) || isTRUE(vcov)) vcov <- stats::vcov(model)
  if (is_string(vcov)) vcov <- stats::vcov(with_vcov(model, vcov, "vcov"))
  size <- length(stats::coef(model))
  if (!is.matrix(vcov) || !is.numeric(vcov) || any(dim(vcov) != size)) {
    abort_argument(
      vcov, "vcov", sprintf(
        paste(
          "TRUE, FALSE, \"sandwich\", \"posterior\", a %d x %d matrix, or a",
          "function of the fit giving one"
        ),
        size, size
      )
    )
  }
  if (is.null(re.form) && !effects_drawn(model)) warn_known_groups(model, parent.frame())
  vcov
}

# The rows whose effects are asked for are in the frame of the caller, of hypotheses about
# coefficients none; where they cannot be seen, some may be of known groups.
warn_known_groups <- function(model, frame) {
  safe <- isTRUE(getOption("marginaleffects_safe", TRUE))
  if (!safe || !has_groups(model)) return()
  known <- tryCatch(
    {
      asked <- as.data.frame(frame$mfx@newdata)
      nrow(asked) > 0L && any(unlist(lapply(
        new_rows(model, asked)$random, function(term) term$group > 0L
      )))
    },
    error = function(e) TRUE
  )
  if (known) {
    bk_warn(
      "effects", "Standard errors are those of the fixed coefficients.",
      "The effects of groups that the fit knows are taken as known.",
      paste(
        "For the population give `newdata` a group that is new; for known",
        "groups set options(bayeskernel.effects = \"draws\")."
      ),
      call = NULL
    )
  }
}

#' @exportS3Method marginaleffects::get_predict
get_predict.bayeskernel_fit <- function(model, newdata = NULL, type = "response", re.form = NULL,
                                        link = NULL, ...) {
  check_whole(model)
  type <- check_choice(type %||% "response", setdiff(known_types(model), "class"), "type")
  data <- if (is.null(newdata)) fit_data(model) else as_frame(newdata)
  ask <- list(
    type = type, link = prediction_link(model, link),
    latent = type == "link" || is_regression(model)
  )
  drawn <- effects_drawn(model)
  if (model$design$type == "matrix") data <- data[matrix_names(model)]
  rows <- new_rows(model, data, check_re_form(re.form), drawn)
  draws <- if (drawn) effect_draws(model, rows, ask)
  values <- if (drawn) NULL else moved_values(model, rows, ask)
  classes <- if (drawn) unlist(dimnames(draws)[3]) else colnames(values)
  if (drawn) {
    # Draws become columns; classes stand one below the other.
    order <- c(seq_along(dim(draws))[-1L], 1L)
    draws <- matrix(aperm(draws, order), ncol = dim(draws)[1])
    values <- apply(draws, 1, stats::median)
  }
  out <- data.frame(estimate = c(values))
  if (!is.null(classes)) out$group <- factor(rep(classes, each = nrow(data)), classes)
  if (!is.null(newdata$rowid)) out$rowid <- rep_len(newdata$rowid, nrow(out))
  if (drawn) attr(out, "posterior_draws") <- draws
  out
}

# The answer of predict() with the coefficients where set_coef() put them.
moved_values <- function(model, rows, ask) {
  if (!is.null(model$moved)) rows$offset <- rows$offset + drop(rows$x %*% model$moved)
  links <- if (ask$latent) character() else ask$link
  moments <- latent_by_link(model, rows, links)
  values <- if (ask$latent) moments$mean else moments$prob[[ask$link]]
  if (ask$type == "prob") values <- probability_matrix(values, model$levels)
  fill_incomplete(values, rows)
}

# --- effects in every draw ---------------------------------------------------

effects_drawn <- function(object) {
  wish <- getOption("bayeskernel.effects")
  if (!is.null(wish)) {
    return(check_choice(wish, c("delta", "draws"), "bayeskernel.effects") == "draws")
  }
  # Draws are of the posterior.
  (!is.null(object$draws) && vcov_type(object) == "posterior" || is.null(coef_or_null(object))) &&
    requireNamespace("collapse", quietly = TRUE) &&
    utils::packageVersion("collapse") >= "2.0.18"
}

# Draws x rows (x classes). The same draws at every call, so that differences of predictions are
# differences within a draw.
effect_draws <- function(object, rows, ask, most = 1000L) {
  unseen <- lapply(rows$random, function(term) term$group == 0L)
  open <- Reduce(`|`, unseen, logical(length(rows$offset)))
  if (any(open)) {
    out <- open_groups(object, rows, ask, unseen, most)
  } else {
    drawn <- with_seed(1, latent_draws(object, rows, most))
    out <- drawn$f
    if (!ask$latent) out <- draw_probability(object, drawn, ask$link)
  }
  if (ask$type == "prob" && length(dim(out)) == 2L) {
    out <- array(c(1 - out, out), c(dim(out), 2L), list(NULL, NULL, object$levels))
  }
  back <- match(seq_len(rows$n), rows$complete)
  if (length(dim(out)) == 3L) out[, back, , drop = FALSE] else out[, back, drop = FALSE]
}

# Groups that the fit has not seen are integrated over within each draw: their effects are 0 in f,
# and their variances are those of the draw.
open_groups <- function(object, rows, ask, unseen, most) {
  closed <- rows
  for (t in seq_along(unseen)) closed$random[[t]]$z[unseen[[t]], ] <- 0
  f <- with_seed(1, latent_draws(object, closed, most))$f
  if (ask$latent) return(f)
  draws <- as.matrix(object, ndraws = nrow(f), seed = 1)
  if (nrow(draws) > nrow(f)) draws <- draws[taken_draws(object, nrow(f)), ]
  var <- 0
  for (t in seq_along(unseen)) {
    term <- object$posterior$random[[t]]
    z <- rows$random[[t]]$z * unseen[[t]]
    names <- covariance_names(term$label, term$columns)
    pairs <- lower_triangle(length(term$columns))
    twice <- ifelse(pairs[, 1] == pairs[, 2], 1, 2)
    var <- var + tcrossprod(
      draws[, names, drop = FALSE],
      z[, pairs[, 1], drop = FALSE] * z[, pairs[, 2], drop = FALSE] * rep(twice, each = nrow(z))
    )
  }
  out <- if (ask$link == "calibrated") {
    calibrated_probability(repeat_link(link_of_rows(object$link, rows), nrow(f)), c(f), c(var))
  } else {
    link_probability(c(f), c(var), ask$link)
  }
  matrix(out, nrow(f))
}
