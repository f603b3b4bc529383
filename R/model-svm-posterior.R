#' What an SVM's posterior is, and is not
#'
#' The posterior of [bsvm()], [gpsvm()] and `bkm(family = "hinge")` is that of a pseudo-likelihood.
#' Each row has the factor \eqn{\exp\{-2 \max(1 - y f, 0)\}}{exp(-2 max(1 - y f, 0))}. The posterior
#' ranks rows, and its means are good estimates of what the hinge loss looks for. Its spread is not
#' the uncertainty of these estimates. With a rare class it may collapse to the common one. This
#' page says what is done about both, and when to use another model.
#'
#' @section For effects use `bkm()`: A slope of a support vector machine has no meaning in terms of
#'   odds. Where effects are the question, use [bkm()] with `family = "logit"`. It has the same
#'   terms and a likelihood, and what follows is not needed there.
#'
#' @section Standard errors: Gradients of the loss vary more over samples than its curvature says.
#'   Posterior standard deviations are therefore about half of what they should be. [vcov()],
#'   [confint()], [summary()] and [tidy()] show the *sandwich* instead.
#'
#'   The sandwich is a jackknife: the sum of squared moves of the estimates as rows are left out,
#'   \eqn{\sum_i \delta_i \delta_i'}{sum d_i d_i'} with \eqn{\delta_i = S x_i g_i / (1 - \kappa_i
#'   s_i)}{d_i = S x_i g_i / (1 - kappa_i s_i)}. S is the posterior covariance. g and
#'   \eqn{\kappa}{kappa} are gradient and precision of the row's site, and s is the variance of f
#'   there. Nothing is refitted. With random effects whole groups are left out, those in which all
#'   others nest. Rows of `cbind(successes, failures)` or whole `weights` count as so many
#'   observations; other weights are powers.
#'
#'   `type = "posterior"` (`vcov = ` in `summary()` and `tidy()`) is the covariance of the
#'   posterior, the published one. The summary shows it, and says so, where there is no sandwich:
#'   with selection, modeled missing values, crossed random terms, or rows from a source. With
#'   `"ep"` and `"gibbs"` there is none either where the fit separates the classes. The prior limits
#'   the coefficients there. Standard errors of predictions, random effects and variances are always
#'   those of the posterior.
#'
#'   With few rows and nearly separated classes the sandwich is too small. With a rare class and no
#'   weights all slopes tend to 0, and intervals say little. `bench/trust.R` in the sources has
#'   simulations of the coverage.
#'
#' @section Learning rate: The pseudo-likelihood to a power \eqn{\eta}{eta} is as legitimate.
#'   `learning_rate = "calibrated"` takes the power at which the posterior's spread is, on average
#'   over the rows, that of the estimates:
#'   \deqn{\hat\eta = \eta \sum_i \kappa_i s_i / \sum_i g_i^2 s_i / (1 -
#'   \kappa_i s_i)}{eta' = eta sum kappa s / sum g^2 s / (1 - kappa s)}
#'   It is found by refits from 0.3 on, between .05 and 1, and usually is .2 to .4. At rate 1 some
#'   things come out too large: variances of groups, inclusion probabilities of noise, and
#'   coefficients of predictors with modeled missing values. For fixed effects rate 1 with the
#'   sandwich is the default. With random effects and a rare class combine the calibrated rate with
#'   `class_weights = "balanced"`.
#'
#' @section Rare classes: With few rows of a class the hinge loss is least where f is constant.
#'   Slopes then shrink to 0, and no row is classified as rare. A warning says so when less than a
#'   fifth of the rows of the smaller class lie on the side of that class. `class_weights =
#'   "balanced"` gives both classes the same weight in the loss. Probabilities are calibrated after
#'   that, so that predicted classes hardly change. Use `predict(fit, threshold = "prevalence")` to
#'   find more of a rare class.
#'
#'   Even then the means of f rank rows, by differences far below their variances. The calibrated
#'   link then counts a variance only beyond those of 19 of 20 rows (`fit$link$offset`). It does so
#'   where the rows given the others become more probable by a factor of 20 or more. New
#'   rows unlike these could then be wrong with certainty. So half a row of each class is added: no
#'   probability is below 1 / (2 n + k), for n rows and k classes. Slopes need weights.
#'   Probabilities of [gpsvm()] are on average as good without. With few rows of a class those of
#'   [bkm()] are often better.
#'
#' @references Lyddon, S. P., Holmes, C. C. and Walker, S. G. (2019). General Bayesian updating and
#'   the loss-likelihood bootstrap. *Biometrika* 106, 465-478.
#'
#'   Efron, B. and Stein, C. (1981). The jackknife estimate of variance. *Annals
#'   of Statistics* 9, 586-596.
#' @examples
#' set.seed(1)
#' d <- data.frame(x = rnorm(200), z = rnorm(200))
#' d$y <- d$x + rlogis(200) > 0
#' fit <- bsvm(y ~ x + z, d)
#' confint(fit)
#' confint(fit, type = "posterior")
#' bsvm(y ~ x + z, d, learning_rate = "calibrated")
#'
#' d$rare <- d$x + rlogis(200) > 2.5
#' coef(bsvm(rare ~ x + z, d, class_weights = "balanced"))
#' @section The calibrated link: With m and v the posterior mean and variance of f,
#'   \deqn{P(y = 1) = 1 / (1 + \exp(-a - \kappa m / \sqrt{1 + \pi \kappa^2 v /
#'   8})),}{P(y = 1) = plogis(a + kappa m / sqrt(1 + pi kappa^2 v / 8)),}
#'   the normal average of a logistic curve (MacKay, 1992), after Platt's (2000)
#'   idea. The fit chooses a and \eqn{\kappa}{kappa} by maximum likelihood,
#'   under weak priors, from m and v of each of its rows given the others: for
#'   `"ep"` from its cavities, for other methods by removing one row's term from the
#'   posterior. `weights` count, weights of classes do not. At most 20000 rows
#'   are used, a like number of each class. More than two classes have one
#'   \eqn{\kappa}{kappa} and an intercept each, \eqn{P_c \propto \exp(a_c +
#'   \dots)}{P_c proportional to exp(a_c + ...)}. The numbers are `fit$link`.
#'   Fewer than 3 rows in one of two classes, or 30 in one of more, are too few:
#'   then `"probit"` is the default.
#'
#'   Where the classes are (nearly) separated, draws of f have heavy tails. For such fits of
#'   [bsvm()] and [bkm()] with `"gibbs"` m is the median. v is the squared half distance of the 16
#'   and 84 % quantiles (`fit$link$robust`). Rows are then left out of ten short chains, a tenth of
#'   them each.
#'
#'   A link is refused if its log-loss on its own left-out rows is clearly worse than that of the
#'   shares of the classes, or of the sign of the margin, and `"probit"` is better. A warning of
#'   class `bayeskernel_warning_link` says so, and `"probit"` is the default.
#'
#'   The default class is the more probable one; as a differs from 0 it is not always the sign of f,
#'   which is `threshold = "margin"`. Standard deviations and draws of P are those of
#'   the logistic curve of f that has P as its mean.
#'
#'   A row given the others belongs to a known group. Rows of new groups have an intercept and a
#'   slope of their own, `fit$link$new`, from the rows of each group given the other groups. That
#'   needs 30 groups in which all others nest, and a sandwich covariance or, for a sampler or with
#'   selection, ten groups a column. With fewer groups they have the numbers of known groups, which
#'   may be far off.
#'
#' @references MacKay, D. J. C. (1992). The evidence framework applied to classification
#'   networks. *Neural Computation* 4, 720-736, eq. (10).
#'
#'   Platt, J. C. (2000). Probabilities for SV machines. In *Advances in Large
#'   Margin Classifiers*, MIT Press, 61-74.
#'
#' @seealso [predict()][predict.bayeskernel_fit], [bsvm()], [gpsvm()];
#'   `vignette("prediction-and-probabilities")`.
#'
#' @name svm-posterior
NULL
