#' What an SVM's posterior is, and is not
#'
#' The posterior of [bsvm()], [gpsvm()] and `bkm(family = "hinge")` is that of a
#' pseudo-likelihood, \eqn{\exp\{-2 \max(1 - y f, 0)\}}{exp(-2 max(1 - y f, 0))}
#' for each row. It ranks rows, and its means are good estimates of what the
#' hinge loss looks for. Its spread is not how uncertain these are, and it may collapse to the
#' common class. This page says what is done about that, and when to use another model.
#'
#' @section For effects use `bkm()`: A slope of a support vector machine has no meaning in terms of
#'   odds, and sums of rows are weighed as no probability weighs them. Where effects are the
#'   question, [bkm()] with `family = "logit"` has the same terms, and a likelihood: what follows is
#'   not needed there.
#'
#' @section Standard errors: The gradients of the loss vary more over samples,
#'   2.5 to 5 times in variance, than its curvature says. Posterior standard
#'   deviations are therefore about half of what they should be. [vcov()],
#'   [confint()], [summary()], [tidy()] and what effects are computed from show
#'   the *sandwich* instead: the jackknife's sum of squared moves of the
#'   estimates as rows are left out, \eqn{\sum_i \delta_i \delta_i'}{sum d_i
#'   d_i'} with \eqn{\delta_i = S x_i g_i / (1 - \kappa_i s_i)}{d_i = S x_i g_i
#'   / (1 - kappa_i s_i)}, S the posterior covariance, g and \eqn{\kappa}{kappa}
#'   gradient and precision of the row's site, s the variance of f there.
#'   Nothing is refitted. With bars it is by groups, those in which all others
#'   nest: whole groups come and go. Rows that count several times, by
#'   `cbind(successes, failures)` or whole `weights`, are so many observations;
#'   other weights are powers. `type = "posterior"` (`vcov = ` in `summary()`
#'   and `tidy()`) is the covariance of the posterior, the published one. There
#'   is no sandwich with selection, modeled missing values, crossed random
#'   terms, or rows from a source, nor, with `"ep"` and `"gibbs"`, where the fit
#'   separates the classes: there the prior limits the coefficients, and leaving
#'   rows out does not show how uncertain they are. The summary then says that it
#'   shows the posterior. Standard errors of predictions, of random effects and of
#'   variances are the posterior's throughout.
#'
#'   In simulations by expectation propagation (four correlated predictors, two of them without
#'   effect; balanced classes, 15 % of labels flipped, or a prevalence of .2 with balanced weights;
#'   100, 200 and 1000 rows, 300 sets of each) a true 0 lay outside 95 % intervals in 5.2 to 7.7 %
#'   of the sets by the sandwich, in 30 to 43 % by the posterior; other slopes were covered in 94 to
#'   96 % against 61 to 76 %. With random intercepts, 200 sets of each of four designs, these were
#'   3.5 to 6.0 % and 93 to 95 % by groups, 27 to 30 % and 74 to 78 % by the posterior.
#'
#'   With the prevalence of .2 and no weights, of 300 sets each, 65 % of the fits to 100 rows, 80 %
#'   of those to 200 and 97 % of those to 1000 gave the rare class up (see below). The limit of all
#'   slopes is 0 there. A true 0 lay outside in 1.0, 1.2 and 4.3 % of the sets: what leaving a row
#'   out changes is the fit at every variance of the slopes, and the weights of these. At the
#'   likeliest variance alone it would be 13, 17 and 37 %. Such slopes still say little. Mean field
#'   has one variance, which goes to 0 with them, and no standard errors there (`NA`).
#'
#'   With few rows and classes that are nearly separated one step is short of
#'   what leaving a row out does: standard errors there are too small, by a fifth
#'   in the worst of the cases that were refitted, and more by mean field.
#'
#' @section Learning rate: The pseudo-likelihood to a power
#'   \eqn{\eta}{eta} is as legitimate. `learning_rate = "calibrated"` takes the
#'   power at which the spread of the posterior is, on average over the rows, that of the estimates:
#'   \deqn{\hat\eta = \eta \sum_i \kappa_i s_i / \sum_i g_i^2 s_i / (1 -
#'   \kappa_i s_i)}{eta' = eta sum kappa s / sum g^2 s / (1 - kappa s)}
#'   by refits from 0.3 on, between .05 and 1; usually .2 to .4. That matters for what the
#'   posterior's spread decides: at rate 1 variances of groups, inclusion probabilities of noise and
#'   coefficients of predictors with modeled missing values are too large. It is no better for
#'   fixed effects, whose estimates can run out where data are few and nearly separable; there rate
#'   1, the published one, with the sandwich is the default. With random effects and a rare class
#'   combine it with `class_weights = "balanced"`.
#'
#' @section Rare classes: With few rows of a class the hinge loss is least where f is constant,
#'   beyond the margin of the other: slopes shrink to 0, and no row is classified as rare. A warning
#'   says so when less than a fifth of the rows of the smaller class lie on its side.
#'   `class_weights = "balanced"` gives both classes the same weight in the loss; probabilities are
#'   those of the data as they are.
#'
#'   The means of f of a class that is never predicted still rank rows, by differences
#'   that are far below their variances. The calibrated link then counts a variance
#'   only beyond those of 19 of 20 rows (`fit$link$offset`), where that makes the rows given the others
#'   more probable by a factor of 20 or more: probabilities need no weights, slopes do.
#'
#'   With one slope of 1 and 1000 rows, prevalences .3, .2, .09 and .03 (25 sets each), the mean
#'   slope was .32, .00, .00 and .00 without weights, and 1.02, 1.02, 1.02 and .98 with them;
#'   log-losses of new rows were then within .001 of those of logistic regression. The warning came
#'   in all 92 fits whose slope was below half of the weighted one, and in one of 58 others.
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
#' fit <- bsvm(y ~ x + z, d, threads = 1)
#' confint(fit)
#' confint(fit, type = "posterior")
#' bsvm(y ~ x + z, d, learning_rate = "calibrated", threads = 1)
#'
#' d$rare <- d$x + rlogis(200) > 2.5
#' coef(bsvm(rare ~ x + z, d, class_weights = "balanced", threads = 1))
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
#'   [bsvm()] and [bkm()] with `"gibbs"` m and v are the median and the squared half distance of the
#'   16 and 84 % quantiles (`fit$link$robust`), and rows are left out of ten short chains, a tenth
#'   of them each. A link whose log-loss on its own left-out rows is clearly worse than that of the
#'   shares of the classes, or of the sign of the margin with its rate of errors, is refused if
#'   `"probit"` is better: a warning of class `bayeskernel_warning_link` says so, and `"probit"` is
#'   the default.
#'
#'   The default class is the more probable one; as a differs from 0 it is not always the sign of f,
#'   which is `threshold = "margin"`. Standard deviations and draws of P are those of the logistic
#'   curve of f that has P as its mean, with a and \eqn{\kappa}{kappa} as they are.
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
