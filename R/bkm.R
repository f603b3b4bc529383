#' Bayesian kernel machine: one formula, four families
#'
#' Fits generalized linear mixed models with smooth terms, Gaussian processes ([gp()]), units of
#' known correlation, selection among predictors and modelled missing predictors, in nearly any
#' combination, by Bayes' rule: logistic and probit models of two classes, regressions of a number,
#' and the support vector machine of [bsvm()]. Expectation propagation, the default, gives
#' posteriors as wide as those of long runs of a sampler in a fraction of a second, with
#' leave-one-out predictions and an evidence for comparing models.
#'
#' @inheritParams bsvm
#' @inheritParams fit-arguments
#' @param y Response, length n. Two classes: a factor (its second level is the positive class), text
#'   (in alphabetical order), logical, 0/1 or -1/+1; or `cbind(successes, failures)`, n rows of
#'   counts. These become rows of either class with the counts as weights: [nobs()], [fitted()] and
#'   [residuals()] have one for each count that is not zero. A regression: numbers.
#' @param formula Two-sided formula with the terms of [bsvm()] and [gp()] terms;
#'   for a row source see the section on these.
#' @param family `"logit"`, the default of two classes: logistic regression;
#'   `"probit"`; `"gaussian"`, the default of a numeric response; `"hinge"` or
#'   [hinge()], the pseudo-likelihood of [bsvm()], on request alone. Also the objects
#'   `binomial()`, `binomial("probit")` and `gaussian()` of [stats::family()].
#' @param method `"ep"`, expectation propagation; `"vb"`, variational Bayes; `"gibbs"`, the sampler;
#'   `"svi"`, stochastic variational steps and then full passes. `NULL`, the default: `"ep"`; `"vb"`
#'   with `select`. A row source is read by `"ep"`, which keeps 16 bytes of each row, and 24 and 8
#'   for each [gp()] term more with such terms, more with random ones; by `"vb"` or by `"svi"`.
#' @param penalty Prior precision of the predictors. `"learn"` gives them one common variance that
#'   is estimated; a positive number a holds the precision at a; `"none"` leaves them with the prior
#'   of [bkm_prior()]. Default: `"none"`; for `"gaussian"` and `"hinge"` without random terms,
#'   smooths and selection `"learn"`.
#' @param cov Correlated units: a list of covariance matrices named by variables
#'   of the data, `list(unit = G)`, of at most 2000 units, or of their inverses,
#'   `list(unit = unit_precision(Q))`, or of their roots with any number of
#'   units, `list(unit = unit_low_rank(L))`. Each adds effects
#'   \eqn{a \sim N(0, t^2 G)}{a ~ N(0, t^2 G)} of the units, `G` scaled to a mean
#'   diagonal of 1 and t^2 estimated. Rows and columns of `G` are named by the
#'   units; units without rows of data are predicted from those that they are
#'   correlated with, units that `G` does not have from the prior or, with their
#'   covariances, by `newcov` of [predict()][predict.bayeskernel_fit]. For effects
#'   of the same units that are independent add `(1 | unit)`.
#' @param prior A prior made by [bkm_prior()].
#' @param standardize Centre and scale the columns of the design, and a numeric response, before
#'   fitting (default `TRUE`). Undone in everything that is reported.
#'
#' @return An object of class `c("bkm", "bayeskernel_fit")`: a plain list that survives [saveRDS()],
#'   with the methods of every fit, see [fit-arguments].
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
#' @section Methods: `"ep"` replaces each row's likelihood by a Gaussian site that matches moments.
#'   Variances, up to eight of them (the noise is one, and `(x | g)` has three), are averaged over
#'   by their evidence: on a grid of up to three, with more at 128 to 216 points that are spread
#'   over all. Beyond that, and with [gp()] terms under the hinge, whose pseudo-evidence grows with
#'   their variance, they have inverse gamma factors as in `"vb"`, and standard deviations may be
#'   half as large as they should be, which `print()` says where it is for their number. Of the
#'   average, with at most 60 columns beside groups of one or two effects, what sites miss of the
#'   evidence of rows that share an effect is added by quadrature: without it the variance of groups
#'   comes out too small where most of them have rows of one class. The fit has leave-one-out
#'   predictive densities from its cavities, see `loo()`, and an evidence, see [log_evidence()].
#'   With at most 30 coefficients, random effects included, 5000 rows and no [gp()] term, `print()`
#'   tells how far importance sampling bears it out. Sites that do not settle: a warning, and the
#'   answer of `"vb"`.
#'
#'   `"vb"` is mean-field variational Bayes between coefficients and variances, with rows by
#'   one-dimensional quadrature for `"logit"` and `"probit"`: standard deviations are 5 to 20 per
#'   cent short with learned variances, right without. With `select` rows have to be quadratic in f,
#'   and it is much worse: inclusions are too extreme.
#'
#'   `"gibbs"` draws from the posterior itself, by Polya-Gamma variables for `"logit"` and normal
#'   ones for `"probit"`. Weights of a probit model have to be whole there. Where most groups have
#'   rows of one class only and the evidence of groups, which is not part of the average, would move
#'   their variance or is not known, the summary says that `"ep"` understates it: sample then.
#'
#'   Correlated effects, `(x | g)`, have standard deviations and correlations as [bkm_prior()] says:
#'   in 150 regressions with 10 groups of 8 rows a slope of 0 was called different from it at 5 per
#'   cent in 5 per cent, as with `(x || g)`; `lme4::lmer()` did in 7, the inverse Wishart prior of
#'   `cov_scale = 0.02` in 13 per cent. In 150 of `"logit"`, 20 groups of 10, it was called so in 4,
#'   by `lme4::glmer()` in 9, with the inverse Wishart prior in 10. Standard errors of the fixed
#'   intercept and slope of `lme4::sleepstudy`, a regression, are 8.4 and 1.64 by `"ep"`, 8.5 and
#'   1.66 by `"gibbs"`, and 6.8 and 1.55 by `lme4::lmer()`, which takes the variances as known.
#'
#' @section Units: Coefficients are on the scale of the data: of `"logit"`, log
#'   odds, `summary(fit, exp = TRUE)` gives odds ratios. Priors are on the scale
#'   of the fit, see [bkm_prior()].
#'
#' @section Which family: Logit and probit predict alike; logit has odds ratios, takes any weights
#'   with each method, and mixes better. The hinge predicts classes about as well, and nothing else
#'   that a likelihood is for. Compare logit and probit by evidence only with priors of the same
#'   meaning, as the defaults are.
#'
#' @section Rows in a source: `bkm(source)` has every column of a [row_source()] as a predictor.
#'   With `formula`, `bkm(source, ~ gp(x1, x2) + z)`, or with the source as `data` of
#'   `y ~ gp(x1, x2) + z`, it has numeric columns and [gp()] terms of such columns, whose `by` is a
#'   number. Inducing points, and length-scales that are open, come from 10,000 rows evenly spread
#'   over the source, on whose standard deviations given length-scales are; columns of the processes
#'   are computed block by block at every reading, so that no feature is kept, in memory or on disk.
#'   Variances have inverse gamma factors, those of processes the value at the maximum, whatever
#'   their number.
#'
#'   One random term of a column, `(1 | id)` or `(x | id)`, may be beside them:
#'   `bkm(source, ~ x + gp(t) + (1 | id))`. The column names the groups by text, numbers or logical
#'   values; those of a text file that are all numbers are numbers. Rows of a group may be anywhere:
#'   the temporary file is sorted by group where they did not come so, for which it needs its room
#'   on disk twice for a while. With such a term a fit is that of the data frame, the grid of
#'   variances of `"ep"` and its evidence by group included; and `"svi"` takes steps by whole
#'   groups. In memory are numbers for each row by `"ep"`, many for each column of each effect of
#'   each group, and two chunks of rows, in which a group is never split: with 2e6 rows, 10 columns
#'   and 100,000 groups R took 0.45 GB by `"vb"` and 0.69 GB by `"ep"`. Above 4e7 columns times
#'   effects times groups a fit is refused: `options(bayeskernel.group_numbers = )` is that limit.
#'   Rows come without moments of their own: `fitted()` and leave-one-out densities need the rows in
#'   memory. The sandwich of family `"hinge"` is by group, of `"ep"`.
#'
#'   Other random terms, smooths, factors and expressions are refused: let the
#'   query or the file have computed columns, or give the rows as a data frame.
#'
#'   Rows in memory have such columns, too, where they would be more than 1e8 numbers with those of
#'   the other terms, by `"ep"` and `"vb"` and without holes: beside any terms that these take, and
#'   `"ep"` then has inverse gamma factors for all variances.
#'
#' @section Rows over the workers of a cluster: With `cluster` the methods `"ep"`, `"vb"` and
#'   `"svi"` share the rows in memory among the workers, `"gibbs"` its chains. Each worker keeps its
#'   rows, cut where groups of the random term with most effects begin, and sends sums at each pass,
#'   which are added in the order of the rows: the fit is that of one process, bit by bit. All
#'   terms, families and weights, and modelled missing predictors of families that are no hinge, may
#'   be there. Sums take p^2 numbers for p columns, at most 16 times, and of groups p + r numbers
#'   for each of their r effects, both ways; with [gp()] terms by `"vb"` a number a row comes back,
#'   too. By `"ep"` messages are exchanged once for each value of the variances, nine numbers a row
#'   at most; evidence by group and what is said of each row are computed here, as are the
#'   stochastic epochs of `"svi"`: with many groups `"ep"` is no faster. Rows are shared in runs of
#'   65,536, of 16,384 from 256 columns on: fewer go to one worker, and nothing is gained. See
#'   [bayeskernel-large] on sockets that do not wait.
#'
#'   Not shared are selection, random terms that are crossed and both large (by `"ep"` and `"vb"`,
#'   where they are eliminated together), more columns than rows, rows in a source, and holes that
#'   [bsvm()] models without atoms: such fits are computed as without `cluster`.
#'
#' @section Missing predictors: As [bsvm()]: `missing = "model"` treats numeric predictors as
#'   jointly Gaussian and averages over what is missing, in [gp()] terms, too.
#'
#'   With bars in the formula, each of its grouping factors adds a normal effect
#'   of its groups to the predictors that miss values: \eqn{x_i = \mu + B z_i +
#'   \sum_g a_{g(i)} + e_i}{x_i = mu + B z_i + sum_g a_g(i) + e_i}, with
#'   \eqn{a_g \sim N(0, S_b)}{a_g ~ N(0, S_b)}, \eqn{e_i \sim N(0, S_w)}{e_i ~
#'   N(0, S_w)} and z the predictors without missing values. What is missing borrows from the other
#'   rows of its group; the levels of factors, and the classes, may be more frequent in some groups.
#'   A random slope `(x | g)` of a predictor with missing values makes no difference to this: the
#'   slope of a group and its effect on x are taken as independent. A group that is new at
#'   prediction has the law of any group; by `"gibbs"` every new row has it.
#'
#'   Rows of a group that miss a number share the group's effect on it. By `"ep"` and `"vb"` rows
#'   are completed each by itself, and coefficients, of `"ep"` also the variances of the noise and
#'   of one random intercept, are then moved to the maximum of the likelihood of whole groups, for
#'   classes by one step towards it. That is so of the random term with most effects and up to 60
#'   coefficients, of numbers in linear terms without missing factors, and not of the hinge.
#'
#'   Whether a value is missing may depend on the response, too. A Gaussian response is one
#'   predictor more while the law is estimated, by EM of the joint normal distribution, which is
#'   exact where the model is linear. Where it is not (`gp(x)`, products), this is the start of at
#'   most three rounds in which the law is fitted to completed rows at their probabilities given the
#'   response. Classes have laws of their own where they miss more, see below.
#'
#'   Factors may miss values as well: by `"ep"` and `"vb"` the row counts with each level, with
#'   weights that add up to 1; `"gibbs"` draws one completion of the row by these weights. The
#'   combinations of levels of the factors that miss values, at most 100, have probabilities, and
#'   given them numeric predictors are Gaussian with means that are sums over these factors and one
#'   covariance (the general location model of Little and Schluchter, 1985, fitted by EM to all
#'   rows). Factors without missing values tell about the missing ones through their indicators,
#'   which count as numeric predictors there, if they have at most 20 levels. Where rows with
#'   missing values are more frequent in one class (p < .01), each class has such a model. A row has
#'   at most 256 completions; what has a probability below .001 given the row's other predictors is
#'   left out. Whether a value is missing may depend on what is seen, not on the value itself. A
#'   factor in `by`, in a smooth or in bars may not miss values, and a new row may miss only factors
#'   that did so in the fit.
#'
#'   By `"ep"` and `"vb"` covariances of coefficients have what the missing values
#'   leave unknown, by Louis' (1982) formula at the completions' probabilities
#'   (of `family = "hinge"` by `"vb"` only where factors miss values or there are
#'   `gp()` or random terms); random effects have it by way of the coefficients.
#'
#' @section Errors: All inherit from `bayeskernel_error`: `_response`, which says the family that
#'   would fit, `_missing`, `_dimension`, `_prior`, `_argument`, `_numeric`, `_cluster`. A constant
#'   column is dropped with a warning. `bayeskernel_warning_separation`: the classes are separated
#'   and the prior is nearly flat.
#'
#' @references Rasmussen, C. E. and Williams, C. K. I. (2006). *Gaussian
#'   Processes for Machine Learning*. MIT Press, section 3.6.
#'
#'   Minka, T. P. (2001). Expectation propagation for approximate Bayesian
#'   inference. *Uncertainty in Artificial Intelligence* 17, 362-369.
#'
#'   Polson, N. G., Scott, J. G. and Windle, J. (2013). Bayesian inference for logistic models using
#'   Polya-Gamma latent variables. *Journal of the American Statistical Association* 108, 1339-1349.
#'
#'   Albert, J. H. and Chib, S. (1993). Bayesian analysis of binary and
#'   polychotomous response data. *Journal of the American Statistical
#'   Association* 88, 669-679.
#'
#'   Gelman, A., Jakulin, A., Pittau, M. G. and Su, Y.-S. (2008). A weakly
#'   informative default prior distribution for logistic and other regression
#'   models. *Annals of Applied Statistics* 2, 1360-1383.
#'
#'   Little, R. J. A. and Schluchter, M. D. (1985). Maximum likelihood estimation for mixed
#'   continuous and categorical data with missing values. *Biometrika* 72, 497-512.
#'
#'   Louis, T. A. (1982). Finding the observed information matrix when using the
#'   EM algorithm. *Journal of the Royal Statistical Society B* 44, 226-233.
#'
#'   Luts, J. and Ormerod, J. T. (2014). Mean field variational Bayesian inference for support
#'   vector machine classification. *Computational Statistics & Data Analysis* 73, 163-176.
#'
#' @seealso [bkm_prior()], [log_evidence()], [predict()][predict.bayeskernel_fit].
#' @examples
#' set.seed(1)
#' d <- data.frame(x1 = rnorm(200), x2 = rnorm(200), g = gl(20, 10))
#' f <- d$x1 - d$x2 + rnorm(20)[d$g]
#' d$y <- factor(ifelse(f + rlogis(200) > 0, "yes", "no"))
#' fit <- bkm(y ~ x1 + x2 + (1 | g), d, threads = 1)
#' fit
#' head(predict(fit, d, type = "prob"))
#' # A group that the fit has not seen is averaged over.
#' predict(fit, data.frame(x1 = 1, x2 = 0, g = "new"), type = "response")
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
