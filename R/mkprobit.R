#' Multinomial probit on combined kernels
#'
#' Classifies objects that are described in one or many feature spaces (Damoulas and Girolami,
#' 2009): one kernel for each space, a sum, a product or a subset of them, and one multinomial
#' probit model of all classes. The latent function of each class is a Gaussian process with the
#' combined kernel; the paper's prior, of weights of kernels, is `coefficients = "weights"`.
#' Variational Bayes and a Gibbs sampler; the weight of each kernel can be learned.
#'
#' @inheritParams fit-arguments
#' @param x A numeric matrix, n objects by d predictors, or a data frame; a named list of these, one
#'   for each feature space, of square kernel matrices (with `kernel = precomputed()`), of features
#'   (with [basis()]) and of factors (with [categorical()]), all with n rows; or, for the formula
#'   method, `formula`: one space, and random intercepts, `(1 | g)`. Rows that have names are
#'   matched by these, also with those of
#'   `y`, if it has any; others are in the same order.
#' @param y Classes, length n: a factor, text, logical, 0/1 or -1/+1. All levels
#'   of a factor are classes; one without rows warns and has its prior.
#' @param coefficients `"process"`, the default: the latent function of each class is a Gaussian
#'   process with the combined kernel, plus a constant. `"weights"`: it is the paper's weighted sum
#'   of kernels to all objects, with a gamma prior for the precision of each weight. See the section
#'   on the process prior.
#' @param weights Counts, whole numbers, length n: how often each row occurs,
#'   default once. A row is one regressor, however often it occurs.
#' @param kernel A kernel object for every space, or a list of them in the order of the spaces (or
#'   by name): [rbf()], [matern()], [periodic()], [polynomial()], [linear()], [categorical()], their
#'   sums and products, [precomputed()], [basis()], or their names. Default `NULL`: `rbf()`, and
#'   `categorical()` for factors. A length-scale that is left open is sqrt(d / 2) for d columns, the
#'   paper's exp(-|x - z|^2 / d).
#' @param combine `"sum"`, of weight times kernel; `"product"`, of kernels to
#'   the power of their weights; `"binary"`, a sum whose weights are 0 or 1.
#' @param kernel_weights `"fixed"`: 1 / S each for a sum of S kernels, else 1;
#'   `"learn"`; or S numbers, at least 0, which are held.
#' @param method `"vb"` or `"gibbs"`.
#' @param tune With a process: `NULL`, the default, finds its variance, the sd of the constants and
#'   the length-scales that are left open by left-out rows; `TRUE` also length-scales that are
#'   given, `FALSE` nothing. With `coefficients = "weights"` (default `FALSE`) `TRUE` learns the
#'   length-scales of every `rbf()`, `matern()` and `periodic()`, one each, or one a column with
#'   `ard = TRUE`; with `combine = "product"` those of `rbf()` on all columns alone, and with
#'   learned weights, which cannot be told from length-scales, only if `control` has `force = TRUE`.
#' @param inducing `NULL`: every object is a regressor; of a process of more than
#'   2000 objects 500 are. A number m: m objects, those nearest to centres of
#'   clusters, and the kernels to these, which keeps the cost of a pass linear in
#'   n. What they leave open of a process is noise of each row, as in [gpsvm()].
#' @param class_weights Of a process: `"none"`; `"balanced"`, which gives every class that has rows
#'   the same share of the likelihood; or positive numbers named by classes, the others 1. The
#'   likelihood of each row is raised to the weight of its class, left-out rows count as much, and
#'   probabilities are those of a population with such shares. `"vb"` only: the sampler has no
#'   powers.
#' @param prior Made by [mkprobit_prior()].
#' @param standardize Centre and scale the columns of every space of numbers
#'   (default `TRUE`). Length-scales refer to the scaled columns.
#'
#' @return An object of class `c("mkprobit", "bayeskernel_fit")`: a plain list that survives
#'   [saveRDS()], with `combine`, `spaces` (name, kernel, columns and transform of each), `kernel`
#'   (with the length-scales that were chosen or learned; a list if there are several spaces),
#'   `weights_table` (see [kernel_weights()]), `coefficients` (`mean`, `var` and `alpha`, the mean
#'   precision, classes x regressors), `method`, `levels`, `n`. The methods of every fit are listed
#'   in [fit-arguments]; [predict()] takes new rows in the form of `x`, for a kernel matrix the
#'   kernel values of the new rows with all rows of the fit, and has `type = "logprob"`; draws,
#'   standard errors and intervals are of any number of classes.
#'
#' @section The process prior: \eqn{f_c = b_c + g_c}{f_c = b_c + g_c} with
#'   \eqn{g_c \sim GP(0, v K)}{g_c ~ GP(0, v K)} and
#'   \eqn{b_c \sim N(0, s^2)}{b_c ~ N(0, s^2)}; K is the weighted sum, the product
#'   of powers, or the subset of the spaces' kernels, each divided by its mean
#'   over the diagonal. One v and s serve all classes.
#'   [mkprobit_prior()] holds them. Spaces of [basis()] have any number of
#'   features. With every object a regressor the process is exact; rows whose
#'   kernel values follow from others', to ten digits, are left out of the
#'   algebra. Of new rows of a kernel matrix it is not known how far their
#'   kernel with themselves is from the mean, which is used.
#'
#'   Hyperparameters maximise the sum of log P(class of n | the other rows) on
#'   at most 500 rows, of every class its share, by one step of Newton's a row,
#'   less t^2 / 8 for each log ratio t to its start (for v, as much for every
#'   class). First v is 16; a second search moves it, too. That step thinks too
#'   well of large v where classes are many and small, so five folds decide
#'   between the start and the ends of both searches. With `kernel_weights =
#'   "learn"` the weights are among them; of a learned product length-scales
#'   are not, unless `force = TRUE`. Subsets are not learned.
#'
#'   The means of variational Bayes are those of the posterior's mode, too near
#'   to zero, while the variances of new rows are the prior's far from the data:
#'   probabilities are too timid. The folds therefore also choose a factor of
#'   the means between 1/2 and 4, a priori near 2, which `print()` shows; with `tune = FALSE` and
#'   `"gibbs"` it is 1. The sampler has the hyperparameters that were tuned so;
#'   with large v its chains mix slowly.
#'
#' @section Groups: `y ~ x1 + x2 + (1 | g)` adds to each latent function an effect of the row's
#'   group, \eqn{u_{cg} \sim N(0, v_g)}{u_cg ~ N(0, v_g)}: a process more, whose kernel is 1 within
#'   a group and 0 between groups, not part of `combine`. There may be several grouping factors,
#'   also nested ones, `(1 | g / h)`, each with a variance. It is tuned by left-out rows, of which
#'   others of the same group stay, not by left-out groups. [predict()] has the effect of a group
#'   that the fit knows, for others the variance \eqn{v_g}{v_g}; `re.form = NA` leaves both out.
#'   Draws of rows of one new group are independent.
#'
#' @section Model with weights: Latent \eqn{y_{cn} \sim N(w_c k_n, 1)}{y_cn ~ N(w_c k_n, 1)}
#'   for class c and object n, whose class is that of the largest;
#'   \eqn{w_{cm} \sim N(0, 1 / \alpha_{cm})}{w_cm ~ N(0, 1 / alpha_cm)}. Only
#'   differences of the latent functions are known from the data: `"link"` has a
#'   column for each class, and of two classes their difference over sqrt(2),
#'   whose probit is the probability of the second. There is no intercept unless
#'   `bias = TRUE`.
#'
#' @section Learned weights: Of `coefficients = "weights"`. The bound of variational Bayes is loose,
#'   the more so the larger the kernel: weights that it chooses favour small and smooth kernels.
#'   `"loo"` judges predictions instead: the sum of log P(class of n | the other objects), to which
#'   the log prior density of the log weights is added, Gamma(1, 1) for the weights of a sum and
#'   that of [mkprobit_prior()] for those of a product. Nothing is fitted anew for each object: one
#'   step of Newton's takes it out, and its regressor with it. Gradients are by differences, one fit
#'   for each kernel, some tens of fits in all; the fit that is returned is that of the weights
#'   found, as if they had been given. On ten draws of 200 handwritten numerals in four spaces the
#'   mean error of the learned sum was 3.8 % (equal weights 5.2 %; the best combined classifiers 5.2
#'   %; `"profile"`, on six, 11.5 %), of subsets 4.9 %; of the learned product 7.0 %, more than that
#'   of equal powers, 5.9 %. On 27 protein folds, one division, it was 48.0 % for sum and product
#'   (equal weights 51 %, `"profile"` 79 and 89 %). See `vignette("feature-spaces")`. For more than
#'   some thousand objects or with `inducing`, `"profile"` costs less.
#'
#'   Standard deviations by `"is"` and `"slice"` are those of a factor of the posterior, given the
#'   means of the rest: too small, by far where weights and coefficients are tied together. `"is"`
#'   draws 3000 sets of weights once and weighs them anew in every pass, so that the bound rises;
#'   when fewer than 50 of them count, others are drawn near the mode, and the trace of the bound
#'   begins anew. Weights below some thousandths, where a kernel is out, are beyond the reach of
#'   such points. In a product (200 sets, each of which costs a product of matrices) the kernels are
#'   taken at the mean weights, as in the paper, and the bound may fall. `"slice"` has no such
#'   limits; its bound has the error of simulation. The number of sets that count is
#'   `diagnostics$weights_ess` of the fit.
#'
#' @section Departures from the paper: The precision's update has the coefficients' second moment
#'   where (11) prints their squared mean; moments (7) and (8) are by quadrature in place of
#'   simulation; predictive variances enter (12) as they are derived, not inverted. The bound has
#'   every constant, rises in every pass, and drives convergence.
#'
#' @section Errors: All inherit from `bayeskernel_error`: `_dimension`, for spaces with different
#'   numbers of rows; `_kernel`, for a matrix that is not symmetric or not positive semi-definite,
#'   kernels with different numbers of regressors in one composite, a product of kernels with
#'   negative values; `_argument`, for learned weights of one space, a learned product of `rbf()`
#'   with `tune`; `_response`, `_missing`, `_prior`, `_numeric`. A constant column is dropped with a
#'   warning.
#'
#' @references Damoulas, T. and Girolami, M. A. (2009). Combining feature spaces
#'   for classification. *Pattern Recognition* 42, 2671-2683.
#'
#'   Girolami, M. and Rogers, S. (2006). Variational Bayesian multinomial probit regression with
#'   Gaussian process priors. *Neural Computation* 18, 1790-1817.
#'
#' @examples
#' at <- seq(1, 150, by = 2)
#' fit <- mkprobit(
#'   list(sepal = iris[at, 1:2], petal = iris[at, 3:4]), iris$Species[at],
#'   threads = 1
#' )
#' fit
#' new <- list(sepal = iris[-at, 1:2], petal = iris[-at, 3:4])
#' mean(predict(fit, new) == iris$Species[-at])
#' predict(fit, lapply(new, head, 3), type = "prob", se.fit = TRUE)
#' @rdname mkprobit
#' @export
mkprobit.default <- function(x, y, kernel = NULL, combine = c("sum", "product", "binary"),
                             coefficients = c("process", "weights"), kernel_weights = "fixed",
                             method = c("vb", "gibbs"), tune = NULL, inducing = NULL,
                             class_weights = c("none", "balanced"), prior = mkprobit_prior(),
                             standardize = TRUE, weights = NULL, na.action = stats::na.fail,
                             chains = 4, ndraws = 1000, until = NULL,
                             seed = NULL, threads = getOption("bayeskernel.threads", 2L),
                             control = mkprobit_control(), model = TRUE, ...) {
  fit_model(mkprobit_model, match.call(), environment(), ...)
}

#' @rdname mkprobit
#' @export
mkprobit <- function(x, ...) UseMethod("mkprobit")

#' @rdname mkprobit
#' @export
mkprobit.formula <- function(formula, data, kernel = NULL, combine = c("sum", "product", "binary"),
                             coefficients = c("process", "weights"), kernel_weights = "fixed",
                             method = c("vb", "gibbs"), tune = NULL, inducing = NULL,
                             class_weights = c("none", "balanced"), prior = mkprobit_prior(),
                             standardize = TRUE, weights, subset, na.action = stats::na.fail,
                             chains = 4, ndraws = 1000, until = NULL,
                             seed = NULL, threads = getOption("bayeskernel.threads", 2L),
                             control = mkprobit_control(), model = TRUE, ...) {
  fit_model(mkprobit_model, match.call(), environment(), ...)
}

mkprobit_arguments <- function() {
  list(
    kernel = check_space_kernels,
    combine = one_of("sum", "product", "binary"),
    coefficients = one_of("process", "weights"),
    kernel_weights = check_kernel_weights,
    weights_method = or_null(one_of("loo", "profile", "map", "is", "slice", "enumerate")),
    latent_scales = one_of("class", "shared", "fixed"), sparse = check_flag,
    tune = or_null(check_flag), bias = or_null(check_flag),
    inducing = or_null(count_from(2)), class_weights = check_class_weights, normalize = check_flag,
    nodes = or_null(count_from(5, most_nodes)),
    zeta_moment = one_of("exact", "point"), tol = or_null(number_from(0)),
    tolw = function(x, name) {
      if (identical(x, Inf)) x else check_number(x, 0, name = name)
    },
    max_iter = or_null(count_from(1)), collapsed = check_flag,
    allow_empty = check_flag,
    force = check_flag
  )
}

check_space_kernels <- function(kernel, name) {
  kernel <- as_kernel(kernel)
  if (is.null(kernel) || is_kernel(kernel)) {
    return(if (is.null(kernel)) NULL else check_space_kernel(kernel, name))
  }
  if (is.character(kernel)) kernel <- as.list(kernel)
  if (!is.list(kernel) || length(kernel) == 0L) {
    abort_argument(
      kernel, name, "NULL, a kernel such as rbf(), or a list of kernels", kind = "kernel"
    )
  }
  kernel <- lapply(kernel, as_kernel)
  for (one in kernel) check_space_kernel(one, name)
  kernel
}

# A space of categories is one factor, or several that agree, with a weight.
check_space_kernel <- function(kernel, name) {
  check_kernel(kernel, name)
  refuse_rank(kernel, "mkprobit()")
  whole <- is.null(kernel$columns) && leaf_variance(kernel) == 1
  if (kernel$kind == "categorical" && !whole) {
    abort_argument(
      kernel, name, "categorical() as it is, for a space of its columns, which has a weight",
      kind = "kernel"
    )
  }
  kernel
}

check_kernel_weights <- function(x, name) {
  if (identical(x, "fixed") || identical(x, "learn")) {
    return(x)
  }
  good <- is.numeric(x) && length(x) > 0L && is.null(dim(x)) && all(is.finite(x)) && all(x >= 0)
  if (!good) {
    abort_argument(x, name, "\"fixed\", \"learn\", or a number of at least 0 for each kernel")
  }
  x
}

# What looks at several arguments.
settle_mkprobit <- function(settings) {
  process <- settings$coefficients == "process"
  settings$bias <- settings$bias %||% process
  refuse_class_weights(settings)
  if (process) {
    return(settle_process(settings))
  }
  refuse_process_prior(settings$prior)
  settings$tune <- settings$tune %||% FALSE
  prior <- settings$prior
  combine <- settings$combine
  settings$learn <- identical(settings$kernel_weights, "learn")
  by <- settings$weights_method
  known <- switch(combine,
    binary = c("loo", "enumerate"), product = c("loo", "profile", "map", "is"),
    sum = c("loo", "profile", "map", "is", "slice")
  )
  # Length-scales take many fits by differences.
  if (is.null(by)) by <- known[if (settings$tune) 2L else 1L]
  if (settings$learn && !(by %in% known)) {
    bk_abort(
      "argument", "This `weights_method` does not suit the composite.",
      c(
        sprintf("Found: \"%s\" with combine = \"%s\".", by, combine),
        sprintf("Accepted: %s.", paste(quoted(known), collapse = ", "))
      ),
      column = "weights_method", found = by, expected = known
    )
  }
  spread <- by %in% c("is", "slice") && settings$method == "vb"
  if (settings$learn && settings$tune && spread) {
    bk_abort(
      "argument", "This `weights_method` does not learn length-scales.",
      c(
        sprintf("Found: \"%s\" with tune = TRUE.", by),
        "Accepted: \"profile\", \"map\", or method = \"gibbs\"."
      ),
      column = "weights_method", found = by, expected = c("profile", "map")
    )
  }
  settings$weights_method <- by
  settings <- settle_weight_prior(settings)
  # Constants of a vague prior make 0.1 % of the bound a long way.
  sparse <- settings$sparse
  settings$tol <- settings$tol %||% if (sparse) 1e-6 else 1e-3
  settings$max_iter <- settings$max_iter %||% if (sparse) 2000L else 100L
  vague <- if (settings$sparse) 1e-6 else 1
  settings$gamma <- c(prior$tau %||% vague, prior$nu %||% vague)
  settings
}

# Powers of the likelihood, which neither the sampler nor the paper's model has.
refuse_class_weights <- function(settings) {
  wish <- settings$class_weights
  if (identical(wish, "none")) {
    return(invisible())
  }
  fault <- if (settings$coefficients == "weights") {
    "coefficients = \"weights\""
  } else if (settings$method == "gibbs") {
    "method = \"gibbs\""
  }
  if (!is.null(fault)) {
    bk_abort(
      "argument", "Weights of classes need a process and variational Bayes.",
      c(
        sprintf("Found: `class_weights` with %s.", fault),
        "Accepted: coefficients = \"process\" and method = \"vb\"; or `weights`, counts of rows."
      ),
      column = "class_weights", found = wish, expected = "none"
    )
  }
}

# Of the process prior: what belongs to the paper's weights is refused.
settle_process <- function(settings) {
  settings$learn <- identical(settings$kernel_weights, "learn")
  prior <- settings$prior
  other <- c(
    latent_scales = settings$latent_scales != "class",
    sparse = settings$sparse, zeta_moment = settings$zeta_moment == "point",
    weights_method = !(settings$weights_method %||% "loo") == "loo",
    "prior$tau" = !is.null(prior$tau), "prior$nu" = !is.null(prior$nu),
    "prior$weights" = !is.null(prior$weights)
  )
  if (any(other)) {
    name <- names(other)[other][1L]
    bk_abort(
      "argument", "This setting belongs to the paper's coefficients.",
      c(
        sprintf("Found: `%s`, with coefficients = \"process\".", name),
        "Accepted: coefficients = \"weights\", or without that setting."
      ),
      column = name, found = name, expected = "weights"
    )
  }
  if (settings$learn && settings$combine == "binary") {
    bk_abort(
      "argument", "A process does not learn subsets of the kernels.",
      c(
        "Accepted: combine = \"sum\", whose weights may become small,",
        "numbers 0 or 1 as `kernel_weights`, or coefficients = \"weights\"."
      ),
      column = "combine", found = "binary", expected = c("sum", "product")
    )
  }
  settings$weights_method <- "loo"
  settings$tol <- settings$tol %||% 1e-7
  settings$max_iter <- settings$max_iter %||% 1000L
  settings
}

refuse_process_prior <- function(prior) {
  given <- c("variance", "intercept", "groups")
  given <- given[lengths(prior[given]) > 0L]
  if (length(given)) {
    bk_abort(
      "prior", "This part of the prior belongs to the process.",
      c(
        sprintf("Found: `%s`, with coefficients = \"weights\".", given[1L]),
        "Accepted: `tau`, `nu` and `alpha0` of mkprobit_prior()."
      ),
      column = given[1L], found = prior[[given[1L]]]
    )
  }
}

# `prior_weights`: of a binary composite a probability; of others two numbers, of the priors of the
# parameters of a law, or, `held_hyper`, these parameters.
settle_weight_prior <- function(settings) {
  combine <- settings$combine
  given <- settings$prior$weights
  binary <- combine == "binary"
  held <- identical(settings$prior$weight_hyper, "fixed") && !binary
  alone <- binary || (held && combine == "sum")
  wrong <- length(given) == 1L && (!alone || (binary && given >= 1)) ||
    length(given) == 2L && binary
  if (wrong) {
    abort_argument(
      given, "weights", if (binary) {
        "one probability, for combine = \"binary\""
      } else {
        sprintf("two positive numbers, for combine = \"%s\"", combine)
      },
      kind = "prior"
    )
  }
  found <- given %||% if (binary) 0.5 else c(1, 1)
  # Of a Dirichlet law, whose parameters are the same, by their prior's mean.
  if (held && combine == "sum") {
    found <- c(if (length(found) == 2L) found[1] / found[2] else found, 1)
  }
  point <- settings$weights_method %in% c("profile", "map")
  if (settings$learn && held && found[1] < 1 && settings$method == "vb" && point) {
    bk_abort(
      "prior", "With this prior the weights have no most probable value.",
      c(
        sprintf("Found: a first parameter of %s.", format(found[1])),
        sprintf(
          "Accepted: 1 or more, or weights_method = \"%s\".", if (settings$tune) "loo" else "is"
        )
      ),
      column = "weights", found = found[1], expected = 1
    )
  }
  settings[c("prior_weights", "held_hyper")] <- list(found, held)
  settings
}

mkprobit_model <- list(
  name = "mkprobit", title = "Multinomial probit on combined kernels",
  methods = c("vb", "gibbs"), samplers = "gibbs", links = "probit",
  families = c("binomial", "multinomial"), linear = FALSE, joint = TRUE,
  prior = "mkprobit_prior", arguments = mkprobit_arguments,
  settle = settle_mkprobit,
  rows = list(
    linear = FALSE, intercepts = TRUE, weights = TRUE, response = function(settings) "declared",
    read = function(...) space_rows(...)
  ),
  job = function(...) mkprobit_job(...), run = function(...) mkprobit_run(...),
  chains = function(control, data) mkprobit_gibbs_cpp(data, control),
  draws = function(...) mkprobit_draws_of(...),
  watched = function(draws) setdiff(dimnames(draws)[[3]], "log_lik"),
  collect = function(...) mkprobit_collect(...),
  validate = function(fit) validate_mkprobit(fit),
  free_state = character()
)
