#' Support vector machine with a Gaussian process
#'
#' @description
#' Non-linear classification, with two or more classes and probabilities: the Bayesian support
#' vector machine of Wenzel et al. (2017). A fit takes seconds up to a thousand rows, and inducing
#' points keep its cost linear in the number of rows, up to millions.
#'
#' Quick start:
#' ```
#' fit <- gpsvm(depth > 300 ~ long + lat, quakes, seed = 1)
#' predict(fit, data.frame(long = 175, lat = -20), type = "prob")
#' plot(fit, "boundary")
#' ```
#'
#' @inheritParams fit-arguments
#' @param x,formula A formula; or a numeric or sparse matrix or data frame of predictors; or a
#'   [row_source()]; or a square kernel matrix, with `kernel = precomputed()`.
#' @param data,y Data frame with the variables of `formula`. Or the response, with a matrix `x`: a
#'   factor, text, logical, 0/1 or -1/+1, or `cbind(successes, failures)`. With more than two
#'   classes each gets a classifier against the rest.
#' @param kernel A kernel or its name, see [kernels]: [rbf()] (default), [matern()], [periodic()],
#'   sums, products and others. Length-scales refer to the standardized predictors.
#' @param inducing Inducing points: how many, a matrix of them on the scale of the data, or `"all"`
#'   for the exact process (at most 5000 rows). Default: see Inducing points.
#' @param method `"ep"` (default), `"svi"` (default for large data), `"vb"`, `"gibbs"`, or `"ecm"`,
#'   the posterior mode. See [bayeskernel-engines]. `print()` says which was taken.
#' @param tune How the parameters of the kernel are chosen: `"loo"` or `TRUE`, `"bound"`, `"cv"`, or
#'   `FALSE`. Default: `"loo"`; `FALSE` for a kernel whose length-scale is given. See Tuning.
#' @param nugget Variance of white noise on the decision function, at least 0. Default 0. With
#'   fewer inducing points than rows only `"ep"` smooths with it.
#' @param learning_rate Power of the pseudo-likelihood: 1 (default), another number, or
#'   `"calibrated"`. See `help("svm-posterior")`.
#' @param class_weights Weights of the classes in the loss: `"none"`, `"balanced"`, or numbers named
#'   by classes. See Rare classes.
#' @param prior Bounds for `tune`, made by [gpsvm_prior()].
#' @param standardize Center and scale the predictors (default). Values far from all others do not
#'   count in the scale; a warning says so, as of a constant column, which is dropped.
#' @return An object of class `c("gpsvm", "bayeskernel_fit")`: a plain list that survives
#'   [saveRDS()], with `kernel`, `inducing` (m x d, scale of the data), `nugget`, `method`,
#'   `levels`, `n`, and after `"ep"` also `loo`, the log probability of each row's class given the
#'   other rows, by the link of `predict()`, and `loo_probit`, by `link = "probit"`. `print()` shows
#'   their mean log-loss and error (LOO). Where several length-scales were tuned by it, it is
#'   optimistic. Methods are listed in [fit-arguments].
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
#' @section Inducing points: Inducing points are places at which the function is known; between them
#'   it is interpolated. With `tune = "loo"` every row is one up to 250 rows of two classes, and up
#'   to 1000 rows points are added while the leave-one-out score improves by more than 0.5. Else
#'   there are n / 5, at least 50 and at most 100. Many predictors need many points.
#'
#' @section Rare classes: Probabilities are calibrated after the fit (of three or more classes
#'   where each has 30 rows), and the predicted class is the more probable one. Therefore
#'   `class_weights` change the function, and hardly the predicted classes. To predict a rare
#'   class more often use `predict(fit, threshold = "prevalence")`. In simulations with 2 to 10 %
#'   of rare rows the log-loss with balanced weights was on average that without. [bkm()] with
#'   [gp()] terms and `family = "logit"` often has a smaller one.
#'
#' @section Tuning: `"loo"` maximizes the leave-one-out log probability, without refits, with a weak
#'   penalty on the log parameters, started from a grid. `"bound"` maximizes [elbo()]; on small
#'   noisy data its predictions are too sure. `"cv"` uses five-fold cross-validation of a common
#'   factor of the length-scales and the variance. With many rows it looks at a part of them:
#'
#'   | | rows that choose the kernel |
#'   |---|---|
#'   | `tune = NULL` (default) | at most 1000, fewer with many classes or parameters |
#'   | `tune = TRUE` | at most 10,000 |
#'
#'   If fewer than 200 of the rows could be looked at, the default does not tune. `print()` says so.
#'
#'   `rbf(ard = TRUE)`, a length-scale for each predictor, helps if few predictors matter. With
#'   `"loo"` the length-scales are held near each other, the more so the more predictors there are
#'   for the rows. If they are more than an eighth of the rows, `print()` says that leave-one-out
#'   may be too good: compare the fit with `rbf()` on other rows.
#'
#' @section Formulas with terms: A formula with [gp()] terms may have random effects, smooths and
#'   missing predictors, `y ~ gp(x1, x2) + z + (1 | id)`. It returns the fit of [bkm()] with
#'   `family = "hinge"`. Without `gp()` random effects and smooths are an error, see `?bayeskernel`.
#'
#' @references Wenzel, F., Galy-Fajou, T., Deutsch, M. and Kloft, M. (2017). Bayesian nonlinear
#'   support vector machines for big data. *ECML PKDD 2017*, sections 3 and 4.
#'
#'   Henao, R., Yuan, X. and Carin, L. (2014). Bayesian nonlinear support vector
#'   machines and discriminative factor modeling. *NIPS 27*.
#'
#' @seealso [mkprobit()] for one model of many classes, [bsvm()] for a linear boundary; [kernels],
#'   [gpsvm_prior()], [gpsvm_control()]; [predict()][predict.bayeskernel_fit],
#'   [plot()][plot.bayeskernel_fit]; `vignette("nonlinear")`, `vignette("large-data")`.
#'   [published()] has the settings of the paper and [reproduce()] its tables. The
#'   site has them in the article "Reproduced: Wenzel et al. (2017)".
#'
#' @examples
#' fit <- gpsvm(depth > 300 ~ long + lat, quakes[1:300, ], seed = 1)
#' fit
#' new <- data.frame(long = c(170, 180), lat = c(-15, -20))
#' predict(fit, new, type = "prob")
#' predict(fit, new, type = "link", se.fit = TRUE)
#' # Three classes.
#' species <- gpsvm(Species ~ Petal.Length + Petal.Width, iris, seed = 1)
#' predict(species, iris[c(1, 71, 134), ], type = "prob")
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
  if (has_processes(formula)) return(eval(mixed_gpsvm(match.call(), control), parent.frame()))
  fit_model(gpsvm_model, match.call(), environment(), ...)
}

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
gpsvm.row_source <- function(x, kernel = rbf(), inducing = NULL, method = NULL, tune = NULL,
                             nugget = 0, learning_rate = 1, prior = gpsvm_prior(),
                             standardize = TRUE, seed = NULL,
                             threads = getOption("bayeskernel.threads", 2L),
                             control = gpsvm_control(), ...) {
  fit_model(gpsvm_model, match.call(), environment(), ...)
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
  if (!alone) return(kernel)
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
  if (is.null(inducing) || identical(inducing, "all")) return(inducing)
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

delayedAssign("gpsvm_model", list(
  name = "gpsvm",
  methods = c(ep = "seeded", svi = "seeded", vb = "seeded", gibbs = "sampler", ecm = "seeded"),
  links = hinge_links,
  arguments = list(
    kernel = check_process_kernel, inducing = check_inducing, tune = check_tune,
    tune_rows = count_from(50), nugget = number_from(0), optimize_inducing = check_flag,
    seeding = one_of("kmeans", "random"), tol = number_from(0), max_iter = count_from(0),
    epochs = count_from(1), rate = one_of("rm", "adaptive"), epoch_tol = number_from(0),
    kernel_steps = count_from(0), learning_rate = check_learning_rate,
    class_weights = check_class_weights
  ),
  rows = list(
    linear = FALSE, weights = TRUE, source = c("vb", "svi", "ep"),
    sparse = TRUE, kernel = TRUE, response = function(settings) "many"
  ),
  job = gpsvm_job, run = gpsvm_run, chains = gpsvm_chains,
  draws = gpsvm_draws_of, collect = gpsvm_collect, left_out = process_left_out
))
