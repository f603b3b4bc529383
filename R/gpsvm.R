#' Bayesian nonlinear support vector machine
#'
#' Fits the Bayesian support vector machine with a Gaussian process for the decision function
#' (Wenzel et al., 2017; Henao et al., 2014): the hinge loss as a pseudo-likelihood, kernels of
#' [rbf()] and its relatives, and inducing points that keep the cost linear in the number of rows,
#' from fifty of them to millions. Variational Bayes, its stochastic form, expectation propagation,
#' a Gibbs sampler and the posterior mode share one engine.
#'
#' @inheritParams fit-arguments
#' @param x A numeric matrix, n rows by d predictors, or a sparse matrix of package Matrix, or a
#'   data frame of predictors; a [row_source()] for data larger than memory; the square kernel
#'   matrix itself with `kernel = precomputed()`, whose row names, if it has any, are matched with
#'   the names of `y` and with column names of new kernel values; or, for the formula method,
#'   `formula`.
#' @param y Response, length n: two classes as a factor (its second level is the positive class),
#'   text (in alphabetical order), logical, 0/1 or -1/+1, or `cbind(successes, failures)`, counts
#'   that weight a row of either class; or a factor or text with more than two classes, each of
#'   which then gets a machine against the rest, with shared kernel and inducing points. Levels
#'   without rows stay, with probability 0.
#' @param kernel A kernel object: [rbf()], [matern()], [periodic()], [polynomial()], [linear()],
#'   [categorical()], sums and products of them, on all columns or on some, or [precomputed()]. A
#'   length-scale that is left open is the median distance between (at most 1000) rows.
#'   Length-scales refer to the standardized predictors, periods to these as they are. The points of
#'   a categorical kernel are rows. [linear()] alone has a constant, as `polynomial(1)` has;
#'   `polynomial(1, offset = 0)` has none. Or a kernel's name, `"rbf"`.
#' @param inducing Inducing points: how many (by default n up to 50 rows, 50 up to 250 rows, then n
#'   / 5, at most 100); a matrix of locations on the scale of the data with the columns of `x`; or
#'   `"all"`, every row: the exact process, whose cost is of order n^3, for at most 5000 rows. Where
#'   `tune` is `"loo"`, as it mostly is by default, and the method `"ep"` or `"vb"`, the default has
#'   more where the score of rows left out, with the kernel that was found, is higher by more than
#'   0.5: every row while machines x n^3 is at most 1e9 (1000 rows of two classes), else sqrt(2.5e8
#'   / (machines x n)) points. Many predictors ask for them.
#' @param method `"ep"`, expectation propagation, whose standard deviations are those of the
#'   sampler; `"vb"`, variational Bayes by full passes, the papers' method; `"svi"`, stochastic
#'   steps over minibatches and then full passes, which ends where `"vb"` does; `"gibbs"`, the
#'   sampler; `"ecm"`, the posterior mode. `NULL`, the default, takes `"ep"` while n times the
#'   number of inducing points is at most 5e7, else `"svi"`; `print()` says which.
#' @param tune How length-scales, variances and, if it starts above 0, the nugget are chosen, inside
#'   the box of [gpsvm_prior()]: `"loo"`, or `TRUE`, maximizes the log probability of each row given
#'   the others, by the cavities of expectation propagation and the link that they calibrate, less
#'   \eqn{t^2 / 8}{t^2 / 8} for each log ratio t of a parameter to its start,
#'   from the best of a grid; `"bound"` maximizes [elbo()], from three starts; `"cv"` chooses a
#'   common factor of the length-scales and the variance by five-fold cross-validated log-loss;
#'   `FALSE` takes the kernel as it is. `NULL`, the default, is `"loo"` on at most 1000 rows where a
#'   length-scale is left open and machines x rows x m^2 (m inducing points) x parameters / 2 is at
#'   most 7e7, which takes up to 15 seconds on one thread, and `FALSE` otherwise; with
#'   `inducing = "all"` it looks at as many rows as that allows, if these are 150 or more; `print()`
#'   says which. Of a kernel with `rank`, by default always tuned, `"loo"` maximizes the bound
#'   first, and then judges the scale of its projection and the variance; `"cv"` does not go with
#'   it.
#' @param nugget Variance of white noise on the decision function, at least 0; default 0.
#' @param learning_rate Power to which the pseudo-likelihood is taken, in addition to the weights of
#'   rows: 1, the paper's and the default; a number above 0 and at most 10; or `"calibrated"`, the
#'   rate at which the spread of the posterior is that of the estimates over samples, found by fits
#'   by expectation propagation, between .05 and 1. See `help("svm-posterior")`.
#' @param class_weights Weights of the classes in the likelihood: `"none"`; `"balanced"`, n / (2
#'   n_class), so that a machine's two classes have the same weight (with more classes: each against
#'   the rest); or positive numbers named by classes, 1 for those not named. Unlike `weights` they
#'   do not count as rows.
#' @param prior Bounds for `tune`, made by [gpsvm_prior()].
#' @param standardize Centre and scale the predictors (default `TRUE`): by all rows, also those of a
#'   row source. Of rows in memory, values far from all others (without a hundredth of the rows the
#'   standard deviation would be less than a tenth) are left out of that, with a warning.
#'
#' @return An object of class `c("gpsvm", "bayeskernel_fit")`: a plain list that survives
#'   [saveRDS()], with `kernel`, `inducing` (m x d, scale of the data), `nugget`, `median_distance`
#'   (where it was needed), `method`, `levels`, `n`; after `"ep"` also `loo`, the log probability of
#'   each row's class given the other rows, and `log_evidence`, which is that of a
#'   pseudo-likelihood. The methods of every fit are listed in [fit-arguments].
#'
#' @section Model: With labels \eqn{y_i = \pm 1}{y_i = -1, +1} and
#'   \eqn{f \sim GP(0, k)}{f ~ GP(0, k)} the pseudo-likelihood is
#'   \eqn{\prod_i \exp\{-2 w_i \max(1 - y_i f_i, 0)\}}{prod exp(-2 w_i max(1 -
#'   y_i f_i, 0))}: a support vector
#'   machine of cost C has a kernel of variance C / 2 here. It is not
#'   normalized over y, so [elbo()] bounds a pseudo-evidence, and
#'   `tune = "bound"`, which maximizes it, is a useful rule rather than maximum
#'   likelihood; `tune = "loo"` judges predictions instead. Wenzel et al. write
#'   the kernel \eqn{\exp(-|x - z|^2 / \theta^2)}{exp(-|x - z|^2 / theta^2)},
#'   which is `rbf(lengthscale = theta / sqrt(2))`.
#'
#' @section Formulas with terms: A formula with [gp()] terms, such as
#'   `y ~ gp(x1, x2) + z + (1 | id)`, of two classes, is fitted by [bkm()] with `family = "hinge"`,
#'   whose fit is returned, with random effects, smooths and missing predictors; kernels and
#'   inducing points are then arguments of [gp()]. Without `gp()` the predictors of the formula are
#'   those of the kernel, and random effects or smooths are an error.
#'
#' @section Tuning: `tune = "loo"` judges predictions, without refits. The bound likes large
#'   variances on small noisy data, and so predictions that are too sure. A length-scale for each
#'   predictor, `rbf(ard = TRUE)`, gains most where few predictors matter.
#'
#' @section Standard deviations: Those of `"vb"` and `"svi"` are 0.6 to 0.9 of
#'   the posterior's ([bayeskernel-engines]), while the means agree (correlation 0.9998 with the
#'   sampler). Those of `"ep"` are 0.98 to 1.00, at the cost of `"vb"`.
#'   `"ecm"` has the curvature at the mode in their place.
#'
#' @section Expectation propagation: Each row's likelihood is replaced by a Gaussian site that gives
#'   the right moments beside the others', residuals of the inducing points included. What the
#'   others say of a row predicts it without it: `fit$loo`, with the class's probability by the
#'   probit link. `fit$log_evidence` is as little a probability of the data as [elbo()] bounds one,
#'   and must not choose kernels. Where the sites do not settle in `max_iter` passes, a warning says
#'   so and the fit is that of `"vb"`.
#'
#' @section Cluster: Every pass waits for the slowest worker, and a message
#'   takes some 40 ms: workers pay off where a pass takes a second or more. For
#'   `"ep"` every worker keeps the sites of its rows, 56 bytes a row.
#'
#' @section Errors: All inherit from `bayeskernel_error`: `_response`,
#'   `_missing`, `_dimension`, `_kernel`, `_prior`, `_argument`, `_numeric`,
#'   `_cluster`. A constant column is dropped with a warning.
#'
#' @references Wenzel, F., Galy-Fajou, T., Deutsch, M. and Kloft, M. (2017). Bayesian nonlinear
#'   support vector machines for big data. *ECML PKDD 2017*, sections 3 and 4.
#'
#'   Henao, R., Yuan, X. and Carin, L. (2014). Bayesian nonlinear support vector
#'   machines and discriminative factor modeling. *NIPS 27*.
#'
#' @examples
#' set.seed(1)
#' x <- matrix(rnorm(400), 200, 2, dimnames = list(NULL, c("a", "b")))
#' y <- factor(ifelse(rowSums(x^2) + rnorm(200) / 2 > 1.5, "out", "in"))
#' fit <- gpsvm(x, y, threads = 1, seed = 1)
#' fit
#' new <- rbind(c(0, 0), c(2, 2))
#' predict(fit, new, type = "prob")
#' predict(fit, new, type = "link", se.fit = TRUE)
#' @rdname gpsvm
#' @export
gpsvm.default <- function(x, y, kernel = rbf(), inducing = NULL, method = NULL, tune = NULL,
                          nugget = 0, learning_rate = 1, class_weights = c("none", "balanced"),
                          prior = gpsvm_prior(), standardize = TRUE, weights = NULL,
                          na.action = stats::na.fail, chains = 4, ndraws = 1000, until = NULL,
                          seed = NULL, threads = getOption("bayeskernel.threads", 2L),
                          control = gpsvm_control(), model = TRUE, ...) {
  fit_model(gpsvm_model, match.call(), environment(), ...)
}

#' @rdname gpsvm
#' @export
gpsvm <- function(x, ...) UseMethod("gpsvm")

#' @rdname gpsvm
#' @export
gpsvm.formula <- function(formula, data, kernel = rbf(), inducing = NULL, method = NULL,
                          tune = NULL, nugget = 0, learning_rate = 1,
                          class_weights = c("none", "balanced"), prior = gpsvm_prior(),
                          standardize = TRUE, weights, subset, na.action = stats::na.fail,
                          chains = 4, ndraws = 1000, until = NULL, seed = NULL,
                          threads = getOption("bayeskernel.threads", 2L), control = gpsvm_control(),
                          model = TRUE, ...) {
  if (has_processes(formula)) {
    return(eval(mixed_gpsvm(match.call(), control), parent.frame()))
  }
  fit_model(gpsvm_model, match.call(), environment(), ...)
}

#' @rdname gpsvm
#' @export
gpsvm.row_source <- function(x, kernel = rbf(), inducing = NULL, method = NULL, tune = NULL,
                             nugget = 0, learning_rate = 1, prior = gpsvm_prior(),
                             standardize = TRUE, seed = NULL,
                             threads = getOption("bayeskernel.threads", 2L),
                             control = gpsvm_control(), ...) {
  fit_model(gpsvm_model, match.call(), environment(), ...)
}

gpsvm_arguments <- function() {
  list(
    kernel = check_process_kernel, inducing = check_inducing, tune = check_tune,
    tune_rows = count_from(50), nugget = number_from(0), optimize_inducing = check_flag,
    seeding = one_of("kmeans", "random"), tol = or_null(number_from(0)), max_iter = count_from(0),
    epochs = count_from(1), rate = one_of("rm", "adaptive"), epoch_tol = number_from(0),
    learning_rate = check_learning_rate, class_weights = check_class_weights
  )
}

check_process_kernel <- function(kernel, name) {
  kernel <- as_kernel(kernel)
  check_kernel(kernel, name)
  if (kernel$kind == "basis") {
    abort_argument(kernel, name, "a kernel of numbers; mkprobit() takes this one", kind = "kernel")
  }
  with_constant(kernel)
}

# Functions of linear() alone are 0 at the mean of the predictors, and so is every boundary there:
# it has a constant with the variance of the slopes.
with_constant <- function(kernel) {
  leaves <- kernel_leaves(kernel)
  alone <- kernel$kind != "product" && all(vapply(leaves, function(leaf) leaf$kind == "linear", NA))
  if (!alone) {
    return(kernel)
  }
  first <- leaves[[1]]
  first <- polynomial(1, offset = 1, variance = first$variance, columns = first$columns)
  if (kernel$kind == "sum") {
    kernel$children[[1]] <- first
    kernel
  } else {
    first
  }
}

check_tune <- function(x, name) {
  known <- list(NULL, TRUE, FALSE, "loo", "bound", "cv")
  if (!any(vapply(known, identical, NA, x))) {
    abort_argument(x, name, "NULL, TRUE, FALSE, \"loo\", \"bound\" or \"cv\"")
  }
  x
}

check_inducing <- function(inducing, name) {
  if (is.null(inducing) || identical(inducing, "all")) {
    return(inducing)
  }
  if (is.data.frame(inducing)) inducing <- as.matrix(inducing)
  if (is.matrix(inducing) && is.numeric(inducing)) {
    if (nrow(inducing) == 0L || any(!is.finite(inducing))) {
      abort_argument(inducing, name, "a matrix of finite numbers with a row at least")
    }
    return(inducing)
  }
  if (!is_finite_scalar(inducing)) {
    abort_argument(inducing, name, "NULL, a number, a matrix of locations, or \"all\"")
  }
  check_count(inducing, 1, name = name)
}

gpsvm_model <- list(
  name = "gpsvm", title = "Bayesian nonlinear support vector machine",
  methods = c("ep", "svi", "vb", "gibbs", "ecm"), samplers = "gibbs",
  links = function(object) hinge_links(object),
  families = c("binomial", "multinomial"),
  linear = FALSE, jitter = 1.5e-6, prior = "gpsvm_prior",
  arguments = gpsvm_arguments,
  rows = list(
    linear = FALSE, weights = TRUE, source = c("vb", "svi", "ep"),
    sparse = TRUE, kernel = TRUE, response = function(settings) "many"
  ),
  job = gpsvm_job, run = gpsvm_run, chains = gpsvm_chains,
  draws = gpsvm_draws_of, collect = gpsvm_collect, left_out = process_left_out,
  validate = validate_gpsvm
)
