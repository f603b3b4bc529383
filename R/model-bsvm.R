#' Linear Bayesian support vector machine
#'
#' @description
#' Fits the linear support vector machine of Luts and Ormerod (2014) for two classes, with random
#' effects, smooth terms, variable selection and missing predictors in one formula. It takes a
#' fraction of a second for some thousand rows.
#'
#' Quick start:
#' ```
#' data("bdf", package = "nlme")
#' fit <- bsvm(langPOST > 40 ~ IQ.verb + ses + (1 | schoolNR), bdf)
#' predict(fit, bdf[1:3, ], type = "prob")
#' ```
#'
#' @inheritParams fit-arguments
#' @param x,formula A formula: fixed terms, `(1 | g)`, `(x | g)`, `(1 | a / b)` as in lme4, `s(x)`
#'   and `t2(x, z)` as in mgcv. Or a numeric matrix or data frame of predictors, or a
#'   [row_source()].
#' @param data,y Data frame with the variables of `formula`. Or the response with two classes, with
#'   a matrix `x`: a factor (its second level is the positive class), text, logical, 0/1 or -1/+1,
#'   or `cbind(successes, failures)`.
#' @param method `"ep"` (default), `"vb"` (default with `select`), `"gibbs"` or `"svi"`.
#'   See [bayeskernel-engines].
#' @param penalty Prior precision of the coefficients: `"learn"`, a number, or `"none"`. Default:
#'   `"learn"`; `"none"` with random terms, smooths or selection.
#' @param select `TRUE`: select among all terms; or a one-sided formula of the terms to select
#'   among, `~ . - age`. A factor is in or out as a whole. See [inclusion()].
#' @param missing Missing predictors: `"fail"` (default) stops, `"omit"` leaves their rows out,
#'   `"model"` averages over the missing values of jointly normal numbers, or of factors, that are
#'   missing at random, see [imputed()]. [mnar()]: not at random.
#' @param learning_rate Power of the pseudo-likelihood: a number, or `"calibrated"`, the default
#'   with `select` and `missing = "model"`; else 1. See `help("svm-posterior")`.
#' @param class_weights Weights of the classes in the loss: `"none"`, `"balanced"` (for a rare
#'   class), or numbers named by classes. They hardly change predicted classes, see Rare classes.
#' @param prior A prior made by [bsvm_prior()].
#' @param standardize Center and scale the columns of the design for the fit (default). All results
#'   are on the scale of the data.
#' @param offset Known part of the latent value, length n. Also as `offset()` in the formula.
#' @return An object of class `c("bsvm", "bayeskernel_fit")`, a plain list that survives
#'   [saveRDS()]. Use its methods rather than its fields: [summary()],
#'   [predict()][predict.bayeskernel_fit], [plot()][plot.bayeskernel_fit], [coef()], [confint()],
#'   [ranef()], [inclusion()] and those of [fit-arguments]. Fields of use are `method`, `n`,
#'   `levels` (the classes), `link` (the calibration of probabilities), `learning_rate`, and, with
#'   `"gibbs"`, `draws`.
#'
#' @section Model: With labels \eqn{y_i = \pm 1}{y_i = -1, +1}, weights
#'   \eqn{\omega_i}{w_i} and latent values \eqn{f_i = o_i + x_i'\beta + z_i'u},
#'   the pseudo-likelihood is
#'   \eqn{\prod_i \exp\{-2 \omega_i \max(1 - y_i f_i, 0)\}}{prod exp(-2 w_i
#'   max(1 - y_i f_i, 0))}. It is not normalized over y, so the bound of
#'   [elbo()] is a bound on a pseudo-evidence: compare starts or approximations
#'   of one model with it, not models.
#'
#' @section Standard errors and probabilities: The hinge loss is no likelihood. Standard errors are
#'   those of a sandwich estimator, and probabilities come from a link that is calibrated on
#'   left-out rows. See `help("svm-posterior")`. Use [bkm()] for odds ratios and likelihood-based
#'   intervals.
#'
#' @section Selection: At `learning_rate = 1` the pseudo-likelihood counts labels about twice, so
#'   that more noise columns are selected than `rho` of [bsvm_prior()] says. At the calibrated rate,
#'   the default with `select`, few are, and weak signals are missed more often.
#'
#' @section Rare classes: Probabilities are calibrated after the fit, and the predicted class is the
#'   more probable one. Therefore `class_weights` change the slopes, and hardly the predicted
#'   classes. To predict a rare class more often use `predict(fit, threshold = "prevalence")`.
#'
#' @section Missing predictors: `missing = "model"` treats numeric predictors as jointly Gaussian,
#'   with values missing at random, see [imputed()]. Smooths, polynomials, grouping factors, the
#'   response and weights may not have missing values, nor may both predictors of a product. A
#'   factor with missing levels may get coefficients that are far off, because the loss is no
#'   likelihood. Use [bkm()] for these.
#'
#' @section Crossed random terms: Terms with up to 500 levels in all are exact. See
#'   [bayeskernel-large] for more levels.
#'
#' @section Errors: See `?bayeskernel`. A constant column is dropped with a warning.
#'
#' @references Luts, J. and Ormerod, J. T. (2014). Mean field variational
#'   Bayesian inference for support vector machine classification.
#'   *Computational Statistics & Data Analysis* 73, 163-176, sections 2 and 3.
#'
#' @seealso [bkm()] for the same formula with a likelihood, [gpsvm()] for a non-linear boundary;
#'   [bsvm_prior()], [bsvm_control()]; [inclusion()], [imputed()];
#'   [predict()][predict.bayeskernel_fit], [plot()][plot.bayeskernel_fit],
#'   [summary()][summary.bayeskernel_fit]; `vignette("toenail")`, `vignette("spam")`.
#'   [published()] has the settings of the paper and [reproduce()] its tables. The
#'   site has them in the article "Reproduced: Luts and Ormerod (2014)".
#'
#' @examples
#' data("bdf", package = "nlme")
#' fit <- bsvm(langPOST > 40 ~ IQ.verb + ses + (1 | schoolNR), bdf)
#' fit
#' predict(fit, bdf[1:3, ], type = "prob")
#' # A curve and random slopes.
#' bsvm(langPOST > 40 ~ s(IQ.verb) + (ses | schoolNR), bdf[1:600, ])
#' # Which measurements separate the two species?
#' two <- droplevels(iris[51:150, ])
#' round(inclusion(bsvm(Species ~ ., two, select = TRUE, seed = 1)), 3)
#' @rdname bsvm
#' @export
bsvm <- function(x, ...) UseMethod("bsvm")

#' @rdname bsvm
#' @export
bsvm.formula <- function(formula, data, method = NULL, penalty = NULL, select = FALSE,
                         missing = c("fail", "omit", "model"), learning_rate = NULL,
                         class_weights = c("none", "balanced"), prior = bsvm_prior(),
                         standardize = TRUE, weights, offset, subset, na.action = stats::na.fail,
                         chains = 4, ndraws = 1000, until = NULL, seed = NULL,
                         threads = getOption("bayeskernel.threads", 2L), control = bsvm_control(),
                         model = TRUE, ...) {
  fit_model(bsvm_model, match.call(), environment(), ...)
}

#' @rdname bsvm
#' @export
bsvm.default <- function(x, y, method = NULL, penalty = NULL, select = FALSE,
                         missing = c("fail", "omit", "model"), learning_rate = NULL,
                         class_weights = c("none", "balanced"), prior = bsvm_prior(),
                         standardize = TRUE, weights = NULL, offset = NULL,
                         na.action = stats::na.fail, chains = 4, ndraws = 1000, until = NULL,
                         seed = NULL, threads = getOption("bayeskernel.threads", 2L),
                         control = bsvm_control(), model = TRUE, ...) {
  fit_model(bsvm_model, match.call(), environment(), ...)
}

#' @rdname bsvm
#' @export
bsvm.row_source <- function(x, method = "ep", penalty = NULL, prior = bsvm_prior(),
                            standardize = TRUE, seed = NULL,
                            threads = getOption("bayeskernel.threads", 2L),
                            control = bsvm_control(), ...) {
  fit_model(bsvm_model, match.call(), environment(), ...)
}
