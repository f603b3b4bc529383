#' Priors of the linear models
#'
#' @description
#' `bkm_prior()` makes the prior of [bkm()] and `bsvm_prior()` that of [bsvm()]. The defaults are
#' weak and suit most data. Give only what you want to change:
#' ```
#' data("bdf", package = "nlme")
#' # Log odds ratios of one standard deviation of a predictor: about normal, mean 0, sd 1.
#' prior <- bkm_prior(beta_var = 1)
#' fit <- bkm(langPOST > 40 ~ IQ.verb + ses + (1 | schoolNR), bdf, prior = prior)
#' fit$prior   # the prior of the fit, with its numbers
#' ```
#'
#' @section All arguments: Numbers are on the scale of the fit: every predictor has standard
#'   deviation 1, and a numeric response, too. With `standardize = FALSE` this is the scale of the
#'   data, and `sd_scale` and `noise_rate` have defaults in the unit of the response. Variances are
#'   in squared units. IG is the inverse gamma distribution.
#' `bsvm_prior()` has no arguments for noise and slab.
#'
#' | argument | prior of | form | default |
#' |---|---|---|---|
#' | `beta_mean`, `beta_var` | coefficients | normal: mean, variance | 0; by family, see below |
#' | `intercept_var` | intercept | normal: variance | by family, see below |
#' | `sd_scale` | sd of random effects, smooths, processes | half t: scale | 2.5 (probit: 1.47) |
#' | `rho` | inclusion in the model, `select` | probability | 0.01 |
#' | `inclusion` | what is selected | `"term"`, `"column"` | `"term"` |
#' | `rho_beta` | `rho` | Beta(a1, a0) | not used |
#' | `noise_shape`, `noise_rate` | variance of the noise, `"gaussian"` | IG | 0.01, 1e-6 |
#' | `var_shape`, `var_rate` | variances, instead of `sd_scale` | IG | not used, but see below |
#' | `cov_df`, `cov_scale` | covariance of correlated effects | inverse Wishart | not used |
#' | `slab_shape`, `slab_rate` | variance of selected coefficients | IG | not used |
#' | `x_mean_var` | means of predictors, `missing = "model"` | normal: variance | 1e8 |
#' | `x_df`, `x_scale` | their P x P covariance | inverse Wishart | P + 1, 0.01 |
#'
#' Where the table says "not used", the argument replaces a default of another form:
#' * Correlated random effects: each standard deviation is half t with 2 degrees of freedom and
#'   scale `sd_scale`. Each correlation is uniform (Huang and Wand 2013). The intercept among them
#'   is that at the means of the predictors.
#' * A random intercept, a random slope alone, a smooth: half t with 4 degrees of freedom. So has a
#'   process of a response of two classes: if it separates them, the data do not bound its variance.
#'   The variance of a process of a numeric response is IG(0.01, 0.01), in the unit of the response.
#' * Selected coefficients and a learned penalty: their scale is half t with 4 degrees of freedom
#'   and scale 1.
#' * `rho` is known.
#'
#' @section The default prior of the coefficients:
#' s is the standard deviation of a column and t that of a numeric response. The prior is the same
#' with `standardize = FALSE`.
#'
#' | family | sd of a coefficient | sd of the intercept |
#' |---|---|---|
#' | `"logit"`, `"hinge"` | 2.5 / s | 10 |
#' | `"probit"` | 1.47 / s | 5.9 |
#' | `"gaussian"` | 25 t / s | 1e4 t |
#'
#' For two classes this is weak but not flat: a flat prior has no use where a column separates the
#' classes. One standard deviation of a predictor rarely moves the latent value by more than 5
#' (Gelman et al. 2008). For numbers the prior moves estimates of ordinary data by less than 1 % of
#' their standard deviations. The intercept is that at the means of the predictors.
#'
#' * **Rare levels.** Where more than 99 % of the rows share one value, s is that of a share of 99
#'   %. The coefficient of a dummy variable then has a standard deviation of 25 at most.
#' * **Products and powers** such as `year:arm` may be nearly a combination of earlier columns of
#'   their variables. If these explain more than 75 % of the variance, the prior is of what the
#'   column adds to them. For a column of `poly(year, 2, raw = TRUE)` the limit is 95 %. Fits then
#'   do not depend on where a predictor has its zero.
#' * **Exceptions.** With a penalty, selection, modeled missing values, `beta_var`, a matrix of
#'   predictors or a [row_source()] the prior is of the columns as they are. A warning of class
#'   `bayeskernel_warning_identification` says so where it matters. Then subtract a typical value
#'   from the predictor.
#'
#' @param beta_var Variance of the coefficients except the intercept: one positive number. Or one
#'   for each unpenalized fixed column in the order of the design, the intercept first.
#' @param beta_mean Mean of the coefficients: one number, or one for each such column.
#' @param intercept_var Variance of the intercept. Not used if `beta_var` has a number for each
#'   column. With `beta_var`, or with a penalty, the default of `"gaussian"` and `"hinge"` is 1e8.
#'   That of `bsvm_prior(beta_var = )` is `beta_var`.
#' @param var_shape,var_rate Shape and rate, positive. If given, they are also those of random
#'   intercepts, single random slopes and the penalty, instead of half t. If one is given, the other
#'   is 0.01; such a rate of random effects is multiplied by the square of `sd_scale`.
#' @param slab_shape,slab_rate Shape and rate, positive. Vague ones let the variance grow while
#'   nothing is selected; inclusions then fall below their prior.
#' @param noise_shape,noise_rate Shape and rate, positive. The default rate is 1e-6. Where least
#'   squares leave next to nothing it is smaller, so that it is never most of the noise. With
#'   [gp()] terms it is always 1e-6.
#' @param cov_df,cov_scale Degrees of freedom, above r - 1 (r + 1 if only `cov_scale` is given). The
#'   scale is a positive number times the identity (0.02 if only `cov_df` is given), or a symmetric
#'   positive definite r x r matrix.
#' @param rho Probability, strictly between 0 and 1.
#' @param rho_beta `c(a1, a0)`, both positive, or `NULL`.
#' @param x_mean_var A positive number.
#' @param x_df,x_scale Degrees of freedom; a positive number times the identity, or a symmetric
#'   positive definite matrix.
#' @param inclusion `"term"`: the columns of a factor or of `poly(x, 3)` are all in or all out. If
#'   in, their effects have independent Laplace priors. `"column"`: each column has its own
#'   indicator, the default of `method = "vb"` with `polish = "ep"` or `FALSE`, which know no other.
#'   A factor of two levels is one column either way.
#' @param sd_scale A positive number. Not used with `var_rate`; for correlated
#'   effects not with `cov_df` or `cov_scale`. It matters where each group has one row, or rows of
#'   one class: there the data do not bound the standard deviation.
#' @param ... Not used: what is not among these arguments is an error.
#' @return A list with the arguments as elements, of class `c("bkm_prior", "bayeskernel_prior")` or
#'   `c("bsvm_prior", "bayeskernel_prior")`.
#' @section Errors: `bayeskernel_error_prior` names the argument, what was found and what would be
#'   accepted. Lengths that depend on the design are checked by the fit.
#' @references
#' Gelman, A., Jakulin, A., Pittau, M. G. and Su, Y.-S. (2008). A weakly
#' informative default prior distribution for logistic and other regression
#' models. *Annals of Applied Statistics* 2, 1360-1383.
#'
#' Huang, A. and Wand, M. P. (2013). Simple marginally noninformative prior
#' distributions for covariance matrices. *Bayesian Analysis* 8, 439-452.
#' @seealso [bkm()], [bsvm()], [inclusion()] for `rho`, [imputed()] for missing predictors.
#' @examples
#' bkm_prior()
#' bkm_prior(beta_var = 1, intercept_var = 25)
#' bsvm_prior(var_shape = 2, var_rate = 1)
#' @export
bkm_prior <- function(beta_var = NULL, beta_mean = 0, intercept_var = NULL, sd_scale = NULL,
                      rho = 0.01, inclusion = NULL, rho_beta = NULL, noise_shape = 0.01,
                      noise_rate = NULL, var_shape = NULL, var_rate = NULL, cov_df = NULL,
                      cov_scale = NULL, slab_shape = NULL, slab_rate = NULL, x_mean_var = 1e8,
                      x_df = NULL, x_scale = 0.01, ...) {
  refuse_others(...)
  new_prior("bkm_prior", as.list(environment()))
}

#' @rdname bkm_prior
#' @export
bsvm_prior <- function(beta_var = NULL, beta_mean = 0, intercept_var = NULL, sd_scale = NULL,
                       rho = 0.01, inclusion = NULL, rho_beta = NULL, var_shape = NULL,
                       var_rate = NULL, cov_df = NULL, cov_scale = NULL, x_mean_var = 1e8,
                       x_df = NULL, x_scale = 0.01, ...) {
  refuse_others(...)
  new_prior("bsvm_prior", as.list(environment()))
}

#' Prior of gpsvm(): bounds for tuning
#'
#' The box inside which `gpsvm(tune = TRUE)` looks for kernel parameters. Without one the
#' pseudo-likelihood has degenerate optima, such as a constant function of unbounded length-scale.
#'
#' @param lengthscale `c(lower, upper)`, positive, in units of the standardized predictors; `NULL`,
#'   the default, is 0.05 and 20 times the median distance between rows in the columns of the
#'   kernel. That of [periodic()], which has no unit, stays between 0.05 and 20, its period between
#'   half and twice what it starts from.
#' @param variance `c(lower, upper)` of every variance, default 0.01 and 1e4.
#' @param nugget `c(lower, upper)` of the nugget, default 1e-6 and 10. It is
#'   tuned only if it starts above 0.
#' @param ... Not used: what is not among these arguments is an error.
#' @return An object of class `c("gpsvm_prior", "bayeskernel_prior")`.
#' @section Errors: `bayeskernel_error_prior` names the argument, what was found
#'   and what would be accepted.
#' @seealso [gpsvm()], [gpsvm_control()].
#' @examples
#' gpsvm_prior(variance = c(0.1, 100))
#' @export
gpsvm_prior <- function(lengthscale = NULL, variance = c(1e-2, 1e4), nugget = c(1e-6, 10), ...) {
  refuse_others(...)
  new_prior("gpsvm_prior", as.list(environment()))
}

#' Prior of Bayesian additive regression kernels
#'
#' Every constant of the prior of [bark()]. They refer to the standardized
#' predictors and, in a regression, to the standardized response.
#'
#' The number of kernels is Poisson with mean `kernels`. A coefficient is
#' `epsilon` times a t variable with `alpha` degrees of freedom: at the default
#' a Cauchy variable, for which the kernels at one location add up to one column
#' of the model. Other values of `alpha` keep every kernel apart and cost more.
#'
#' Smooth functions are sums of wide kernels with large coefficients of either
#' sign. How large is learned: \eqn{\epsilon^2}{epsilon^2} has the gamma prior
#' `scale`, with `kernels` held, and is drawn from
#' \deqn{\epsilon^2 \mid \varphi \sim \mathrm{Ga}(a + \alpha U / 2, b +
#'   \alpha \sum_u \varphi_u / 2)}{epsilon^2 | varphi ~ Ga(a + alpha U / 2, b +
#'   alpha sum(varphi) / 2)} given the U precisions of the coefficients. The default, Ga(2, 1e-4),
#' lets it be large. It is a compromise: a vaguer prior underfits smooth functions, and one with
#' larger coefficients is worse on some small data.
#'
#' A function may change quickly with one predictor in one of its terms and hardly in another, as a
#' sum of functions of different predictors does. With `vectors` above 1 there are as many vectors
#' of kernel scales, each with a scale for every predictor and a sum of its own, and each kernel has
#' one of them, all alike a priori. Two are the default of regressions with different scales; more
#' did no better.
#'
#' Kernels that are narrow in several predictors reach hardly a row but their
#' own, and few rows are soon explained by such kernels, one for each row that
#' stands out. So the prior of each vector of scales has a factor
#' \eqn{\exp\{-(r / n \kappa)^2\}}{exp(-(r / (n kappa))^2)}, r = `reach`,
#' where \eqn{\kappa = \prod_l (1 + 4 \lambda_l)^{-1/2}}{kappa = prod((1 + 4 lambda_l)^(-1/2))} is
#' the mean of a kernel over independent standard normal predictors, and n \eqn{\kappa}{kappa} the
#' rows that one reaches on average. This improves predictions and intervals on small data, and
#' costs a little if some rows do stand out.
#'
#' With `gamma` and `epsilon` the prior is that of the Levy measure itself, whose constants are
#' known: `bark_prior(gamma = 5, epsilon = 0.5)`, 10 kernels expected, is Ouyang's.
#'
#' @param alpha Index of stability, strictly between 0 and 2, default 1.
#' @param gamma Intensity of the Levy measure, positive. `NULL`, the default:
#'   what `kernels` and `epsilon` say. If only `epsilon` is given, 5.
#' @param epsilon Scale of a coefficient, the size of the small jumps that are left out, positive;
#'   with `scale` where the chains begin. `NULL`, the default: 1 with `scale`, else 0.5.
#' @param kernels Expected number of kernels, positive, default 30. Not read if
#'   `gamma` or `epsilon` is given; [levy()] tells what they expect.
#' @param scale `c(a, b)`, both positive: \eqn{\epsilon^2}{epsilon^2} is Ga(a, b), of mean a / b.
#'   `NULL`, the default if `gamma` or `epsilon` is given: they are known.
#' @param lambda_shape,lambda_rate Shape and rate of the gamma prior of the sum
#'   of the kernel scales of all predictors in the model; default 1 each.
#' @param inclusion `c(a, b)`, both positive: the probability that a predictor
#'   is in the model is Beta(a, b), and is integrated out. Default `c(1, 1)`.
#'   Read with `select = TRUE` and without `structure`.
#' @param phi Prior of the precision of the noise: `"loguniform"`, the default, from 1e-6 to 1e8, or
#'   `c(shape, rate)` of a gamma distribution. Read in regressions. With `weights` the precision is
#'   that of weight 1, and the range that of their mean.
#' @param max_kernels Most kernels, a whole number of at least 1. `NULL`, the
#'   default, is n - 1 for n rows, at most 200.
#' @param vectors Number of vectors of kernel scales. `NULL`, the default: 2 in
#'   a regression by `scales = "different"` without selection, with `scale`,
#'   else 1. More than 1 need `scales = "different"` and `select = FALSE`.
#' @param reach The r of the prior's factor for how far kernels reach, in rows, at least 0. `NULL`,
#'   the default: 60, or n / 2 if that is less, in a regression with `scale` and without selection,
#'   else 0, no such factor. More than 0 needs `select = FALSE`.
#' @param ... Not used: what is not among these arguments is an error.
#' @return An object of class `c("bark_prior", "bayeskernel_prior")`, a list
#'   with the arguments as elements.
#' @section Errors: `bayeskernel_error_prior` names the argument, what was found
#'   and what would be accepted.
#' @seealso [bark()], [bark_control()]; `vignette("bark")`.
#' @references Ouyang, Z. (2008). *Bayesian additive regression kernels*. PhD
#'   thesis, Duke University, sections 3.1 and 3.2. Its prior of `phi`, 1 / phi
#'   on the whole half line, leaves the posterior improper, hence the bounds.
#' @examples
#' bark_prior()
#' bark_prior(gamma = 5, epsilon = 0.5, phi = c(2, 1))
#' @export
bark_prior <- function(alpha = 1, gamma = NULL, epsilon = NULL, lambda_shape = 1, lambda_rate = 1,
                       inclusion = c(1, 1), phi = "loguniform", max_kernels = NULL, kernels = 30,
                       vectors = NULL, scale = if (is.null(gamma) && is.null(epsilon)) c(2, 1e-4),
                       reach = NULL, ...) {
  refuse_others(...)
  given <- as.list(environment())
  if (is.null(gamma) && is.null(epsilon) && !is.null(scale)) {
    given$epsilon <- 1
    # As many kernels as are expected of gamma = 1, gamma times.
    given$gamma <- prior_number(kernels, "kernels") /
      levy(check_alpha(alpha), 1, 1)$kernels[["continuous"]]
  }
  given$gamma <- given$gamma %||% 5
  given$epsilon <- given$epsilon %||% 0.5
  out <- new_prior("bark_prior", given)
  out$kernels <- levy(out$alpha, out$gamma, out$epsilon)$kernels[["continuous"]]
  out
}

#' Prior of the multinomial probit model
#'
#' @param tau,nu Shape and rate, both positive, of the gamma prior of the precision of every
#'   coefficient, for `latent_scales` `"class"` and `"shared"`. Default 1 each. With `sparse = TRUE`
#'   both are 1e-6 unless they are given.
#' @param alpha0 The precision itself with `latent_scales = "fixed"`, a positive
#'   number, default 1; otherwise where the iteration starts.
#' @param weights Prior of the kernels' weights, with `weight_hyper = "learned"`.
#'   * A sum: `c(mu, lambda)`, default `c(1, 1)`, shape and rate of the gamma prior of the
#'     Dirichlet's parameters.
#'   * A product: `c(h_pi, h_chi)`, default `c(1, 1)`. Each weight is gamma; its shape and rate have
#'     exponential priors with these rates.
#'   * `combine = "binary"`: the probability that a kernel is in the sum, default 0.5.
#' @param weight_hyper `"learned"` (default): the parameters of the prior of the weights are
#'   learned. `"fixed"`: they are numbers, default 1 each. Weights of a product are then
#'   Gamma(`weights[1]`, `weights[2]`), shape and rate. Those of a sum are Dirichlet with the
#'   parameter `weights`, one number, or `weights[1] / weights[2]`. With learned parameters the
#'   prior of a product's weights has no mean, and neither has the posterior.
#' @param theta Shape and rate of the gamma prior of theta = 1 / (2 l^2) for
#'   each length-scale l that is learned. Default 1 each.
#' @param variance,intercept With `coefficients = "process"`: variance of the process, and standard
#'   deviation of the constant of each class, positive numbers. `NULL`, the default: tuned, from 16
#'   and 3. A process has these and `groups` alone.
#' @param groups With `coefficients = "process"`: variance of the effects of every grouping
#'   factor, `(1 | g)`, a positive number. `NULL`, the default: tuned, one each, from 1.
#' @param ... Not used: what is not among these arguments is an error.
#' @return An object of class `c("mkprobit_prior", "bayeskernel_prior")`, a list
#'   with the arguments as elements; `weights` and what was not given are `NULL`
#'   until [mkprobit()] knows the composite.
#' @section Errors: `bayeskernel_error_prior` names the argument, what was found
#'   and what would be accepted.
#' @seealso [mkprobit()], [mkprobit_control()].
#' @references Damoulas, T. and Girolami, M. A. (2009). Combining feature spaces
#'   for classification. *Pattern Recognition* 42, 2671-2683, section 3.
#' @examples
#' mkprobit_prior()
#' mkprobit_prior(tau = 3, nu = 3, weights = c(2, 1))
#' mkprobit_prior(weights = c(1, 1), weight_hyper = "fixed")
#' @export
mkprobit_prior <- function(tau = NULL, nu = NULL, alpha0 = 1, weights = NULL, theta = c(1, 1),
                           weight_hyper = c("learned", "fixed"), variance = NULL,
                           intercept = NULL, groups = NULL, ...) {
  refuse_others(...)
  out <- new_prior("mkprobit_prior", as.list(environment()))
  # A probability, or the parameter of a Dirichlet law.
  if (length(weights) == 1L) {
    most <- if (out$weight_hyper == "fixed") Inf else 1
    out$weights <- prior_number(weights, "weights", upper = most)
  }
  out
}

#' Prior of kernel logistic regression on a learned projection
#'
#' Every constant of the prior of [klr()]. They refer to the standardized predictors.
#'
#' The symmetric stable process has infinitely many small jumps. `"truncated"` leaves out those
#' below `epsilon`: coefficients have a two-sided Pareto distribution beyond it, and are moved one
#' at a time. `"continuous"` damps them: a coefficient is `epsilon` times a t variable with `alpha`
#' degrees of freedom; given Polya-Gamma variables all coefficients are integrated out of the moves.
#' The two mean other numbers of kernels, and much the same predictions.
#'
#' @param alpha Index of stability, strictly between 0 and 2, default 1.
#' @param epsilon Size of the small jumps that are left out, positive, default 0.1.
#' @param gamma `c(a, b)`, shape and rate of the gamma prior of the intensity of kernels, which is
#'   integrated out; default 1 each. The number of kernels is negative binomial, with mean a / b
#'   times 2 Gamma(alpha) sin(pi alpha / 2) / (pi epsilon^alpha) for `"truncated"`; see [levy()].
#' @param coefficients `"truncated"`, the default and the dissertation's, or `"continuous"`.
#' @param log_lambda `c(mean, sd, shape, rate)`: logarithms of kernel scales are normal with a mean
#'   mu ~ N(mean, sd^2) and a precision of gamma(shape, rate); default `c(0, 1, 1, 1)`.
#' @param intercept_rate Rate of the double exponential prior of the intercept, default 1.
#' @param max_kernels Most kernels, default 60.
#' @param ... Not used: what is not among these arguments is an error.
#' @return An object of class `c("klr_prior", "bayeskernel_prior")`, a list with
#'   the arguments as elements.
#' @section Errors: `bayeskernel_error_prior` names the argument, what was found
#'   and what would be accepted.
#' @seealso [klr()], [klr_control()].
#' @references Ouyang, Z. (2008). *Bayesian additive regression kernels*. PhD
#'   thesis, Duke University, section 2.2 and appendix A.
#' @examples
#' klr_prior()
#' klr_prior(coefficients = "continuous", gamma = c(2, 1))
#' @export
klr_prior <- function(alpha = 1, epsilon = 0.1, gamma = c(1, 1),
                      coefficients = c("truncated", "continuous"), log_lambda = c(0, 1, 1, 1),
                      intercept_rate = 1, max_kernels = 60, ...) {
  refuse_others(...)
  out <- new_prior("klr_prior", as.list(environment()))
  kernels <- klr_kernels_cpp(out)
  if (!is.finite(kernels) || kernels <= 0) {
    abort_argument(
      epsilon, "epsilon", "of a size that expects a finite number of kernels", kind = "prior"
    )
  }
  out
}

check_log_lambda <- function(x) {
  good <- is.numeric(x) && length(x) == 4L && is.null(dim(x)) && all(is.finite(x)) && all(x[-1] > 0)
  if (!good) {
    abort_argument(
      x, "log_lambda", "a number and three positive ones: c(mean, sd, shape, rate)", kind = "prior"
    )
  }
  as.double(x)
}

# Lines of a prior: what it is of, then its parts.

#' @export
format.bsvm_prior <- function(x, digits = 4, ...) {
  out <- linear_prior_text(x, digits)
  c(
    out[names(out) %in% c("fixed coefficients", "intercept")],
    out[c("random effects, smooths", "processes")], "penalty, selection" = out[["penalty"]],
    out[c("covariances", "inclusion")], out[startsWith(names(out), "missing")]
  )
}

#' @export
format.bkm_prior <- function(x, digits = 4, ...) {
  out <- linear_prior_text(x, digits)
  c(
    out[names(out) %in% c("fixed coefficients", "intercept")],
    out[c("random effects, smooths", "processes", "penalty", "covariances")],
    "selected coefficients" = variance_text(variance_prior(x, "slab", scale = TRUE), digits),
    out["inclusion"],
    # That of a fit to classes has none.
    if (!isTRUE(x$separable)) c(noise = variance_text(variance_prior(x, "noise"), digits)),
    out[startsWith(names(out), "missing")]
  )
}

# What the priors of bsvm() and bkm() have in common. A prior that is not yet of a fit does not know
# its defaults.
linear_prior_text <- function(x, digits) {
  if (inherits(x, "bsvm_prior")) {
    x$intercept_var <- x$intercept_var %||% x$beta_var
    x$separable <- TRUE
  }
  default <- if (inherits(x, "bkm_prior")) "by family" else "default"
  text <- function(name) prior_text(x[[name]], digits)
  normal <- function(name) {
    variance <- if (is.null(x[[name]])) default else text(name)
    mean <- prior_text(if (name == "beta_var") x$beta_mean else x$beta_mean[1L], digits)
    paste0(
      sprintf("N(mean %s, variance %s)", mean, variance),
      if (isTRUE(x$by_column) && name == "beta_var") ", of standardized columns"
    )
  }
  own_variance <- !is.null(unlist(x[c("var_shape", "var_rate")]))
  open <- is.null(x$sd_scale) && !own_variance
  covariance <- covariance_prior(x, 2L, "")
  inclusion <- if (is.null(x$rho_beta)) {
    paste("probability", text("rho"))
  } else {
    paste0("probability ~ Beta", text("rho_beta"))
  }
  c(
    "fixed coefficients" = normal("beta_var"),
    if (length(x$beta_var) < 2L) c(intercept = normal("intercept_var")),
    "random effects, smooths" = if (open) default else variance_text(random_prior(x), digits),
    processes = if (open || is.null(x$separable) && !own_variance) {
      default
    } else {
      variance_text(process_prior(x), digits)
    },
    penalty = variance_text(variance_prior(x, scale = TRUE), digits),
    covariances = if (given_covariance(x)) {
      sprintf(
        "inverse Wishart(df %s, scale %s)", if (is.null(x$cov_df)) "r + 1" else text("cov_df"),
        prior_text(x$cov_scale %||% 0.02, digits)
      )
    } else if (is.null(covariance$half_t)) {
      default
    } else {
      variance_text(covariance, digits)
    },
    inclusion = if (by_term(x)) paste(inclusion, "of each term") else inclusion,
    "missing predictors, mean" = sprintf("N(0, %s)", text("x_mean_var")),
    "missing predictors, covariance" = sprintf(
      "inverse Wishart(df %s, scale %s)",
      if (is.null(x$x_df)) "P + 1" else text("x_df"), text("x_scale")
    )
  )
}

#' @export
format.gpsvm_prior <- function(x, digits = 4, ...) {
  range <- function(value) paste(vapply(value, format, "", digits = digits), collapse = " to ")
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
      if (is.null(x$max_kernels)) "" else sprintf(", at most %d", x$max_kernels)
    ),
    "coefficients" = {
      size <- if (is.null(x$scale)) number(x$epsilon) else "epsilon"
      paste0(if (x$alpha == 1) {
        sprintf("Cauchy of scale %s", size)
      } else {
        sprintf("%s times t with %s degrees of freedom", size, number(x$alpha))
      }, if (!is.null(x$scale)) sprintf(", epsilon^2 ~ gamma%s", prior_text(x$scale, digits)))
    },
    "sum of the scales" = sprintf(
      "gamma(%s, %s)%s", number(x$lambda_shape), number(x$lambda_rate),
      if ((x$vectors %||% 1) > 1) sprintf(" of each of %d vectors", x$vectors) else ""
    ),
    "reach" = if ((x$reach %||% 0) > 0) {
      sprintf("exp(-(%s / rows that a kernel reaches)^2)", number(x$reach))
    },
    "inclusion" = sprintf("probability ~ Beta%s", prior_text(x$inclusion, digits)),
    "precision of noise" = if (is.character(x$phi)) {
      "log-uniform from 1e-6 to 1e8"
    } else {
      paste0("gamma", prior_text(x$phi, digits))
    }
  )
}

#' @export
format.klr_prior <- function(x, digits = 4, ...) {
  number <- function(value) format(value, digits = digits)
  scales <- vapply(x$log_lambda, number, "")
  c(
    "kernels" = sprintf(
      "negative binomial, %s expected, at most %d", number(klr_kernels_cpp(x)), x$max_kernels
    ),
    "coefficients" = if (x$coefficients == "truncated") {
      sprintf("Pareto of index %s beyond %s in size", number(x$alpha), number(x$epsilon))
    } else {
      sprintf("%s times t with %s degrees of freedom", number(x$epsilon), number(x$alpha))
    },
    "log scales" = sprintf(
      "N(mu, 1 / tau), mu ~ N(%s, %s^2), tau ~ gamma(%s, %s)", scales[1],
      scales[2], scales[3], scales[4]
    ),
    "intercept" = sprintf("double exponential of rate %s", number(x$intercept_rate))
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
  print_line(title)
  print_facts(stats::setNames(lines, paste0("  ", names(lines))))
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

#' @export
format.mkprobit_prior <- function(x, digits = 4, ...) {
  shown <- function(value, default) {
    if (is.null(value)) default else prior_text(value, digits)
  }
  c(
    "precision of coefficients" = sprintf("gamma(%s, %s)", shown(x$tau, "1"), shown(x$nu, "1")),
    "fixed precision" = shown(x$alpha0, "1"),
    "kernel weights" = paste0(
      shown(x$weights, "by composite, see ?mkprobit_prior"),
      if (identical(x$weight_hyper, "fixed")) ", parameters fixed"
    ),
    "1 / (2 lengthscale^2)" = paste0("gamma", prior_text(x$theta, digits)),
    "variance of a process" = shown(x$variance, "tuned"),
    "sd of its constants" = shown(x$intercept, "tuned"),
    "variance of its groups" = shown(x$groups, "tuned")
  )
}

# Checks ----------------------------------------------------------------------

# The arguments of each prior in the order of its list, and what each may be: a function of the
# value and its name. Defaults stand in the signatures.
delayedAssign("prior_arguments", local({
  number <- or_null(prior_number)
  # The linear models; noise and slabs are of those with a family.
  linear <- list(
    beta_var = or_null(function(x, name) prior_vector(x, name, TRUE)),
    beta_mean = function(x, name) prior_vector(x, name, FALSE),
    var_shape = number, var_rate = number, cov_df = number, cov_scale = or_null(prior_scale),
    rho = function(x, name) prior_number(x, name, upper = 1),
    rho_beta = or_null(these_positive(c("a1", "a0"), "NULL, or ")),
    x_mean_var = prior_number, x_df = number, x_scale = prior_scale,
    inclusion = or_null(one_of("column", "term")), intercept_var = number, sd_scale = number
  )
  list(
    bsvm_prior = linear,
    bkm_prior = c(linear, list(
      slab_shape = number, slab_rate = number, noise_shape = prior_number, noise_rate = number
    )),
    gpsvm_prior = list(
      lengthscale = or_null(prior_range), variance = prior_range, nugget = prior_range
    ),
    bark_prior = list(
      alpha = function(x, name) check_alpha(x), gamma = prior_number, epsilon = prior_number,
      kernels = function(x, name) x, scale = or_null(these_positive(c("a", "b"), "NULL, or ")),
      lambda_shape = prior_number, lambda_rate = prior_number,
      inclusion = these_positive(c("a", "b")),
      phi = function(x, name) {
        if (identical(x, "loguniform")) {
          x
        } else {
          positive_numbers(x, name, c("shape", "rate"), "\"loguniform\", or ")
        }
      },
      max_kernels = or_null(prior_count(1)), vectors = or_null(prior_count(1)),
      reach = or_null(function(x, name) {
        check_number(x, 0, name = name, closed = c(TRUE, FALSE), kind = "prior")
      })
    ),
    mkprobit_prior = list(
      tau = number, nu = number, alpha0 = prior_number,
      weights = or_null(function(x, name) {
        if (length(x) == 1L) {
          x
        } else {
          positive_numbers(x, name, c("first", "second"), "a probability, or ")
        }
      }),
      theta = these_positive(c("shape", "rate")), weight_hyper = one_of("learned", "fixed"),
      variance = number, intercept = number, groups = number
    ),
    klr_prior = list(
      alpha = function(x, name) check_alpha(x), epsilon = prior_number,
      gamma = these_positive(c("a", "b")), coefficients = one_of("truncated", "continuous"),
      log_lambda = function(x, name) check_log_lambda(x),
      intercept_rate = function(x, name) check_number(x, 1e-4, 1e4, name, kind = "prior"),
      max_kernels = prior_count(0, 1000)
    )
  )
}))

new_prior <- function(class, given) {
  checks <- prior_arguments[[class]]
  values <- lapply(stats::setNames(nm = names(checks)), function(name) {
    checks[[name]](given[[name]], name)
  })
  structure(values, class = c(class, "bayeskernel_prior"))
}

prior_number <- function(x, name, upper = Inf) {
  check_number(x, 0, upper, name, closed = c(FALSE, FALSE), kind = "prior")
}

prior_count <- function(lower, upper = .Machine$integer.max) {
  function(x, name) check_count(x, lower, upper, name, kind = "prior")
}

these_positive <- function(names, or = "") function(x, name) positive_numbers(x, name, names, or)

# As many positive numbers as there are names, in that order.
positive_numbers <- function(x, name, names, or = "") {
  good <- is.numeric(x) && length(x) == length(names) && is.null(dim(x)) &&
    all(is.finite(x)) && all(x > 0)
  if (!good) {
    abort_argument(
      x, name,
      sprintf(
        "%s%d positive finite numbers, c(%s)", or, length(names), paste(names, collapse = ", ")
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
      x, name, "two positive finite numbers, the lower before the upper", kind = "prior"
    )
  }
  x
}

prior_vector <- function(x, name, positive) {
  good <- is.numeric(x) && length(x) > 0L && is.null(dim(x)) &&
    all(is.finite(x)) && (!positive || all(x > 0))
  if (!good) {
    abort_argument(
      x, name, paste("one", if (positive) "positive", "finite number, or one per fixed column"),
      kind = "prior"
    )
  }
  stats::setNames(as.double(x), names(x))
}

prior_scale <- function(x, name) {
  if (!is.matrix(x)) return(prior_number(x, name))
  good <- is.numeric(x) && nrow(x) == ncol(x) && nrow(x) > 0L &&
    all(is.finite(x)) && isSymmetric(unname(x)) &&
    !inherits(try(chol(x), silent = TRUE), "try-error")
  if (!good) {
    abort_argument(
      x, name, "one positive number, or a symmetric positive definite matrix", kind = "prior"
    )
  }
  storage.mode(x) <- "double"
  unname(x)
}

# What depends on the design --------------------------------------------------

# The prior of a variance for the core, list(shape, rate, half_t): `of` is "var", "slab" or "noise".
# `scale`: of a scale that the data may leave unbounded, which is half t unless the user has said.
# `size` is the unit of the coefficients.
variance_prior <- function(prior, of = "var", scale = FALSE) {
  given <- prior[paste0(of, c("_shape", "_rate"))]
  size <- prior$size %||% 1
  out <- list(shape = given[[1]] %||% 0.01, rate = given[[2]] %||% (vague_rates[[of]] * size^2))
  if (scale && is.null(unlist(given))) out$half_t <- c(4, size)
  out
}

# That of the noise is smaller: the data bound it, and where it is small a larger one would be most
# of it.
vague_rates <- c(var = 0.01, slab = 0.01, noise = 1e-6)

# That of a random effect without a covariance, and of a smooth, whose unit is `size` times that of
# the coefficients. Where groups have one row each the data leave its scale unbounded, too.
random_prior <- function(prior, size = 1) {
  prior$size <- size * (prior$size %||% 1)
  if (is.null(prior$sd_scale)) return(variance_prior(prior))
  prior$size <- prior$sd_scale * prior$size
  variance_prior(prior, scale = TRUE)
}

# That of a process, whose variance residuals of a numeric response bound, but not classes that it
# may separate.
process_prior <- function(prior) {
  if (isTRUE(prior$separable)) random_prior(prior) else variance_prior(prior)
}

# That of r correlated ones: standard deviations likewise, by the degrees of freedom at which
# correlations are uniform. With 4, as one alone has, they shrink towards 0.
covariance_prior <- function(prior, r, of) {
  out <- wishart_prior(prior, r, of)
  if (!given_covariance(prior) && !is.null(prior$sd_scale)) {
    out$half_t <- c(2, prior$sd_scale * (prior$size %||% 1))
  }
  out
}

given_covariance <- function(prior) !is.null(prior$cov_df) || !is.null(prior$cov_scale)

variance_text <- function(q, digits) {
  if (is.null(q$half_t)) {
    sprintf("inverse gamma(%s, %s)", prior_text(q$shape, digits), prior_text(q$rate, digits))
  } else {
    sprintf("sd half t(%g, scale %s)", q$half_t[1], prior_text(q$half_t[2], digits))
  }
}

# The prior of p unpenalised fixed columns, one mean and one variance each.
resolve_prior <- function(prior, p, columns = NULL) {
  for (name in c("beta_var", "beta_mean")) {
    given <- length(prior[[name]])
    if (given != 1L && given != p) {
      bk_abort(
        "prior", sprintf("Argument `%s` of %s() has the wrong length.", name, class(prior)[1]),
        sprintf("Found: %d values.", given),
        sprintf("Accepted: 1 value, or %d, one per fixed column.", p),
        if (length(columns)) paste("Fixed columns:", list_some(columns)), column = name,
        found = given, expected = p
      )
    }
    # Names that are given say which is which.
    named <- names(prior[[name]])
    if (is.null(named) || is.null(columns)) next
    if (!setequal(named, columns)) {
      bk_abort(
        "prior", sprintf("Argument `%s` of %s() names other columns.", name, class(prior)[1]),
        paste("Found:", list_some(named)), paste("Fixed columns:", list_some(columns)),
        "Without names: one value for all, or one per fixed column.", column = name,
        found = named, expected = columns
      )
    }
    prior[[name]] <- unname(prior[[name]][columns])
  }
  list(beta_var = rep_len(prior$beta_var, p), beta_mean = rep_len(prior$beta_mean, p))
}

# The inverse Wishart prior of the covariance of the r correlated effects of a random term, or (`x`)
# of the r predictors with holes.
wishart_prior <- function(prior, r, of, x = FALSE) {
  names <- if (x) c("x_df", "x_scale") else c("cov_df", "cov_scale")
  refuse <- function(name, wrong, found, expected, accepted) {
    bk_abort(
      "prior", sprintf("Argument `%s` of %s() %s.", name, class(prior)[1], wrong),
      paste0("Found: ", found, "."), paste0("Accepted: ", accepted, "."), column = name,
      found = found, expected = expected
    )
  }
  df <- prior[[names[1]]] %||% (r + 1)
  if (df <= r - 1) {
    refuse(
      names[1], "is too small", format(df), r - 1, sprintf("a number above %d, for %s", r - 1L, of)
    )
  }
  scale <- prior[[names[2]]] %||% (0.02 * (prior$size %||% 1)^2)
  if (!is.matrix(scale)) {
    scale <- diag(scale, r)
  } else if (nrow(scale) != r) {
    refuse(
      names[2], "has the wrong size", sprintf("a %d x %d matrix", nrow(scale), ncol(scale)),
      c(r, r), sprintf("one number, or a %d x %d matrix for %s", r, r, of)
    )
  }
  list(df = df, scale = scale)
}
