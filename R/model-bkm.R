#' Mixed models, smooths and Gaussian processes in one formula
#'
#' @description
#' Fits logistic, probit and Gaussian regression with fixed and random effects, smooth terms,
#' Gaussian processes ([gp()]), variable selection and missing predictors. The posterior comes from
#' expectation propagation (EP), which takes seconds, or from a Gibbs sampler.
#'
#' Quick start:
#' ```
#' data("bdf", package = "nlme")
#' fit <- bkm(langPOST > 40 ~ IQ.verb + ses + (1 | schoolNR), bdf)
#' summary(fit, exp = TRUE)
#' ```
#'
#' @inheritParams bsvm
#' @inheritParams fit-arguments
#' @param x,formula A formula: fixed terms, `(1 | g)`, `(x | g)`, `(x || g)` and `(1 | a / b)` as in
#'   lme4, `s(x)` and `t2(x, z)` as in mgcv, and [gp()] terms. Or a numeric matrix or data frame of
#'   predictors, or a [row_source()].
#' @param data,y Data frame with the variables of `formula`. Or the response, with a matrix `x`: two
#'   classes (a factor, text, logical, 0/1 or -1/+1), counts `cbind(successes, failures)`, or
#'   numbers. The second level is the positive class.
#' @param family `"logit"` (default for two classes), `"probit"`, `"gaussian"` (default for
#'   numbers), or `"hinge"`, the loss of [bsvm()]. The names of [stats::glm()] work, too:
#'   `"binomial"` (logit), `binomial()`, `binomial("probit")`, `gaussian()`.
#' @param method `"ep"` (default), `"vb"` (variational Bayes; default with `select`), `"gibbs"`
#'   (the sampler) or `"svi"` (stochastic variational). See [bayeskernel-engines].
#' @param penalty Prior precision of the coefficients: `"none"` (the prior of [bkm_prior()]),
#'   `"learn"` (one common variance, estimated) or a number. Default: see Details.
#' @param cov Correlated units, such as relatives or neighbors: a list of covariance matrices named
#'   by variables of the data, `list(unit = G)`. See Correlated units.
#' @param prior A prior made by [bkm_prior()].
#' @param standardize Center and scale the columns of the design and a numeric response for the fit
#'   (default). All results are on the scale of the data.
#' @return An object of class `c("bkm", "bayeskernel_fit")`, a plain list that survives [saveRDS()].
#'   Use its methods rather than its fields: [summary()], [predict()][predict.bayeskernel_fit],
#'   [plot()][plot.bayeskernel_fit], [coef()], [vcov()], [ranef()], [anova()] and those of
#'   [fit-arguments]. Fields of use are `family`, `method`, `levels` (the classes), `n`, `formula`,
#'   `log_evidence` and `loo` (with `"ep"`), and `draws` (with `"gibbs"`).
#' @details Default of `penalty`: `"none"`, with estimates near those of [stats::lm()] and
#'   [stats::glm()]. If all terms are fixed effects it is `"learn"` for `"hinge"`, and for
#'   `"gaussian"` with fewer than two rows for each column. The coefficients are then shrunk towards
#'   0, as in a ridge regression, and the printed table says so. With many predictors
#'   `penalty = "learn"` predicts better. Products of predictors far from 0 are never penalized
#'   by default. See [bkm_prior()].
#'
#'   Priors are of centered and scaled predictors, unless `standardize = FALSE`: the intercept is
#'   that at the means of the predictors, and a coefficient that of one standard deviation. A shift
#'   of x does not change a model with `(x | g)`. It changes one with `(x || g)`, whose independent
#'   intercept and slope are those of x as it is. Results are on the scale of the data.
#'
#' @section Model: With latent values \eqn{f_i = o_i + x_i'\beta + z_i'u} and
#'   weights \eqn{w_i}{w}, row i adds \eqn{w_i \log p(y_i | f_i)}{w log p(y |
#'   f)} to the log-likelihood:
#'   * `"logit"`: \eqn{p(y = 1 | f) = 1 / (1 + e^{-f})};
#'   * `"probit"`: \eqn{p(y = 1 | f) = \Phi(f)};
#'   * `"gaussian"`: \eqn{y \sim N(f, \sigma^2)}, with \eqn{\sigma^2} learned;
#'   * `"hinge"`: a pseudo-likelihood, see [bsvm()]. It is not normalized over
#'     y: such a fit has no log-likelihood, evidence, leave-one-out score or
#'     simulated responses.
#'
#'   Standard deviations of few groups are larger than by REML, see [bkm_prior()].
#'
#' @section Which family: Logit and probit predict alike. Logit has odds ratios, by
#'   `summary(fit, exp = TRUE)`, and takes any weights. The hinge predicts classes as well, but has
#'   no likelihood.
#'
#' @section Correlated units: Each matrix of `cov` adds effects
#'   \eqn{a \sim N(0, t^2 G)}{a ~ N(0, t^2 G)} of the units. `G` is scaled to a mean diagonal of 1,
#'   and t is estimated. Rows and columns of `G` are named by the units. `G` has at most 2000 units;
#'   for more use [unit_low_rank()], and for inverses [unit_precision()]. Units without rows of data
#'   are predicted from those that they are correlated with; other new units from the prior, or with
#'   `newcov` of [predict()][predict.bayeskernel_fit].
#'
#' @section Errors: See `?bayeskernel`. A constant column is dropped with a warning.
#'   `bayeskernel_warning_separation`: the classes are separated, and the prior alone
#'   limits the effects that separate them.
#'
#' @references Minka, T. P. (2001). Expectation propagation for approximate Bayesian inference.
#'   *Uncertainty in Artificial Intelligence* 17, 362-369.
#'
#' @seealso [bsvm()] for the hinge loss, [gpsvm()] for a non-linear boundary; [bkm_prior()],
#'   [bkm_control()], [bayeskernel-large]; [log_evidence()] and [compare_terms()] to compare models;
#'   [predict()][predict.bayeskernel_fit], [plot()][plot.bayeskernel_fit],
#'   [summary()][summary.bayeskernel_fit]; `vignette("mixed-logit")`, `vignette("mixed-kernels")`,
#'   `vignette("missing-predictors")`.
#'
#' @examples
#' data("bdf", package = "nlme")
#' fit <- bkm(langPOST > 40 ~ IQ.verb + ses + (1 | schoolNR), bdf)
#' summary(fit, exp = TRUE)
#' # Of a known school, and of a new one.
#' pupil <- data.frame(IQ.verb = 12, ses = 25, schoolNR = c("1", "new"))
#' predict(fit, pupil, type = "prob")
#' # Random slopes; a curve; counts of successes and failures.
#' bkm(weight ~ Time * Diet + (Time | Chick), ChickWeight)
#' bkm(langPOST > 40 ~ s(IQ.verb) + (1 | schoolNR), bdf[1:600, ])
#' bkm(cbind(ncases, ncontrols) ~ alcgp + tobgp, esoph)
#' # `missing` keeps rows without Solar.R; `na.action` omits the 37 without Ozone, the response.
#' bkm(Ozone ~ Wind + Solar.R, airquality, missing = "model", na.action = na.omit)
#' @rdname bkm
#' @export
bkm <- function(x, ...) UseMethod("bkm")

#' @rdname bkm
#' @export
bkm.formula <- function(formula, data, family = NULL, method = NULL, penalty = NULL, select = FALSE,
                        missing = c("fail", "omit", "model"), cov = NULL, prior = bkm_prior(),
                        standardize = TRUE, weights, offset, subset, na.action = stats::na.fail,
                        chains = 4, ndraws = 1000, until = NULL, seed = NULL,
                        threads = getOption("bayeskernel.threads", 2L), control = bkm_control(),
                        model = TRUE, ...) {
  fit_model(bkm_model, match.call(), environment(), ...)
}

#' @rdname bkm
#' @export
bkm.default <- function(x, y, family = NULL, method = NULL, penalty = NULL, select = FALSE,
                        missing = c("fail", "omit", "model"), prior = bkm_prior(),
                        standardize = TRUE, weights = NULL, offset = NULL,
                        na.action = stats::na.fail, chains = 4, ndraws = 1000, until = NULL,
                        seed = NULL, threads = getOption("bayeskernel.threads", 2L),
                        control = bkm_control(), model = TRUE, ...) {
  fit_model(bkm_model, match.call(), environment(), ...)
}

#' @rdname bkm
#' @export
bkm.row_source <- function(x, formula = NULL, family = NULL, method = "ep", penalty = NULL,
                           prior = bkm_prior(), standardize = TRUE, seed = NULL,
                           threads = getOption("bayeskernel.threads", 2L), control = bkm_control(),
                           ...) {
  # In version 0.5.0 the family came second.
  if (is.null(family) && !is.null(formula) && !inherits(formula, "formula")) {
    family <- formula
    formula <- NULL
  }
  fit_model(bkm_model, match.call(), environment(), ...)
}
