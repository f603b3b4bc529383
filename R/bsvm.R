#' Bayesian linear support vector machine
#'
#' Fits the Bayesian support vector machine of Luts and Ormerod (2014): the hinge loss as a
#' pseudo-likelihood, a Gaussian prior on the coefficients, a learned penalty, random effects in the
#' notation of lme4, smooth terms in that of mgcv, selection among predictors, and a model of
#' missing predictors, in any combination. Mean-field variational Bayes answers in milliseconds; the
#' Gibbs sampler draws from the posterior itself.
#'
#' @inheritParams fit-arguments
#' @param x A formula, see `formula`; or a numeric matrix, n rows by p predictors, or a data frame
#'   of predictors, to which an intercept is added; or a [row_source()] for data larger than memory.
#' @param formula Two-sided formula with fixed terms; random terms in bars, `(1 | g)`, `(x | g)`,
#'   `(x || g)`, nested `(1 | a / b)` and crossed `(1 | a) + (1 | b)`; and smooth terms of mgcv,
#'   `s(x)`, `s(x, by = f)`, `t2(x, z)`, each a variance component.
#' @param y Response with two classes, length n: a factor (its second level is the positive class),
#'   text (in alphabetical order), logical, 0/1 or -1/+1; or `cbind(successes, failures)`, n rows of
#'   counts. These become rows of either class with the counts as weights: [nobs()], [fitted()] and
#'   [residuals()] have one for each count that is not zero.
#' @param method `"ep"`, expectation propagation; `"vb"`, mean-field variational Bayes, the papers'
#'   method; `"gibbs"`, the sampler; `"svi"`, stochastic variational steps over minibatches and then
#'   full passes, which ends where `"vb"` does and reads its rows from a matrix or from a
#'   [row_source()]. `NULL`, the default: `"ep"`; `"vb"` with `select`, with crossed terms of many
#'   levels, and above 1e8 cells (rows x columns) in memory, where it takes half the time. `print()`
#'   says which. A row source is read by `"ep"`, which keeps 16 bytes of each row, or by `"svi"`,
#'   which keeps none, is twice as fast, and has the small standard deviations of `"vb"` alone.
#' @param penalty Prior precision of the predictors. `"learn"` gives them one
#'   common variance that is estimated; a positive number a holds the precision
#'   at a; `"none"` leaves them with the vague prior of the intercept. Default:
#'   `"learn"`, or `"none"` with random terms, smooths or selection.
#' @param select `TRUE`: every fixed column but the intercept is in the model with prior probability
#'   `rho` of [bsvm_prior()]; its coefficient then has a Laplace prior of learned scale. A one-sided
#'   formula names the terms to select among, `~ . - age`; the others are always in. A factor is one
#'   term: all its levels are in or out together, unless the prior says `inclusion = "column"`. See
#'   [inclusion()].
#' @param missing What is done about missing predictors: `"fail"`, the default, stops and names
#'   them; `"omit"` leaves their rows out, and those without a response or a weight, and says how
#'   many; `"model"` treats numeric predictors as jointly Gaussian and averages over the missing
#'   values, see the section below and [imputed()].
#' @param learning_rate Power to which the pseudo-likelihood is taken, beside the weights of rows:
#'   1, the paper's; a number above 0 and at most 10; or `"calibrated"`, the rate at which the
#'   spread of the posterior is that of the estimates over samples, found by fits by expectation
#'   propagation, between .05 and 1. `NULL`, the default, is `"calibrated"` with `select` and with
#'   `missing = "model"`, else 1. See `help("svm-posterior")`.
#' @param class_weights Weights of the classes in the likelihood: `"none"`; `"balanced"`, n / (2
#'   n_class), so that both classes have the same weight, for data where one is rare; or positive
#'   numbers named by classes, 1 for those not named. Unlike `weights` they do not count as rows.
#' @param prior A prior made by [bsvm_prior()].
#' @param standardize Centre and scale the columns of the design before fitting
#'   (default `TRUE`). Undone in everything that is reported.
#' @param offset Known part of the latent value, length n; default 0. Also as
#'   `offset()` in the formula.
#'
#' @return An object of class `c("bsvm", "bayeskernel_fit")`: a plain list that survives
#'   [saveRDS()], with the methods of every fit, see [fit-arguments].
#'
#' @section Model: With labels \eqn{y_i = \pm 1}{y_i = -1, +1}, weights
#'   \eqn{\omega_i}{w_i} and latent values \eqn{f_i = o_i + x_i'\beta + z_i'u},
#'   the pseudo-likelihood is
#'   \eqn{\prod_i \exp\{-2 \omega_i \max(1 - y_i f_i, 0)\}}{prod exp(-2 w_i
#'   max(1 - y_i f_i, 0))}. It is not normalised over y, so the bound of
#'   [elbo()] is a bound on a pseudo-evidence: compare starts or approximations
#'   of one model with it, not models.
#'
#' @section Selection: Inclusion probabilities are those of the pseudo-likelihood, which counts
#'   every label about twice and prefers latent values beyond -1 and 1. At `learning_rate = 1`
#'   labels that no predictor explains therefore let in more columns than `rho` says: of 50 columns
#'   of noise about 13 % at `rho = 0.01` and 200 rows. At the calibrated rate, the default with
#'   `select`, none of 48 came in beside two signals in 50 data sets, and weak signals come in less
#'   often, too.
#'
#' @section Missing predictors: With `missing = "model"` the numeric main
#'   effects \eqn{x_i} of the formula, and the predictors of random slopes, are
#'   \eqn{N(\mu_x, \Sigma_x)}{N(mu_x, Sigma_x)}, with values missing completely
#'   at random; groups of the formula add to them, see [bkm()]. A predictor with missing values may
#'   stand by itself, as `log(x)` say, in a random slope, and in a product with predictors that are
#'   known. Not Gaussian given the rest, and refused: missing values in smooths or polynomials, in
#'   products of two numbers that both miss some, in a grouping factor, in the response, in weights.
#'   Factors may miss values, without `select`, see [bkm()].
#'
#'   The pseudo-likelihood is not normalised over y: it favours large latent values of either sign.
#'   At `learning_rate = 1` that pulls the coefficient of a predictor with many missing values away
#'   from 0; the calibrated rate, the default here, leaves little of it. Coefficients depend on the
#'   rate: compare them with a fit without missing values at the same one.
#'
#' @section Crossed random terms: Of several random terms one is eliminated exactly; the others are
#'   columns of the model, exact too, while they have at most 500 columns in all and rows times the
#'   square of their number is at most 5e9. Beyond that the terms are crossed: their cost grows
#'   linearly in rows and levels, and the fit says so. `"vb"` then keeps exact means, the fixed
#'   effects and one term (the inner one of nested terms) given all others; the levels of each
#'   further term are independent given the fixed effects and one direction that the levels of a
#'   term share, which matters least where levels meet at random: standard deviations are within
#'   about 1 per cent of those of the columns. Of two nested terms that are both crossed with the
#'   exact one the outer one's standard deviations are too small. `"gibbs"` draws all effects
#'   jointly and is exact. Selection, modelled missing predictors and `"svi"` keep the columns and
#'   are refused above 5,000 of them.
#'
#' @section Variances of `"vb"`: A mean-field approximation understates posterior variances:
#'   [bayeskernel-engines] says by how much. Where intervals matter, use `"ep"` or `"gibbs"`.
#'
#' @section Rows over the workers of a cluster: With `cluster` the methods `"ep"`,
#'   `"vb"` and `"svi"` share rows in memory among the workers, `"gibbs"` its
#'   chains, with the fit of one process; see [bkm()].
#'
#' @section Errors: All inherit from `bayeskernel_error`: `_response`, `_missing`, `_dimension`,
#'   `_prior`, `_argument`, `_numeric`, `_cluster`. A constant column is dropped with a warning.
#'
#' @references Luts, J. and Ormerod, J. T. (2014). Mean field variational
#'   Bayesian inference for support vector machine classification.
#'   *Computational Statistics & Data Analysis* 73, 163-176, sections 2 and 3.
#'
#' @examples
#' set.seed(1)
#' d <- data.frame(x1 = rnorm(200), x2 = rnorm(200), g = gl(20, 10))
#' f <- d$x1 - d$x2 + rnorm(20)[d$g]
#' d$y <- factor(ifelse(f + rlogis(200) > 0, "yes", "no"))
#' fit <- bsvm(y ~ x1 + x2 + (1 | g), d, threads = 1)
#' fit
#' head(predict(fit, d, type = "prob"))
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
bsvm.row_source <- function(x, method = "ep", penalty = NULL, prior = bsvm_prior(),
                            standardize = TRUE, seed = NULL,
                            threads = getOption("bayeskernel.threads", 2L),
                            control = bsvm_control(), ...) {
  fit_model(bsvm_model, match.call(), environment(), ...)
}
