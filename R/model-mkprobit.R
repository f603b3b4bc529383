#' Multinomial probit on combined kernels
#'
#' @description
#' Classification with many classes and one or many feature spaces (Damoulas and Girolami, 2009). A
#' feature space is a set of predictors with a kernel of its own. The sum or product of the kernels
#' is the kernel of one multinomial probit model. It takes seconds for some hundred rows, more
#' with many classes. For a single table with many rows use [gpsvm()].
#'
#' Quick start:
#' ```
#' fit <- mkprobit(Species ~ ., iris, seed = 1)
#' predict(fit, iris[c(1, 71, 120), ], type = "prob")
#' plot(fit, "calibration")
#' ```
#'
#' @inheritParams fit-arguments
#' @param x,formula A formula (one space, and random intercepts `(1 | g)`); or a numeric matrix or
#'   data frame; or a named list of these, one for each space, also kernel matrices
#'   ([precomputed()]), [basis()] and factors. Rows match by name. Not a sparse matrix: [gpsvm()]
#'   alone takes one.
#' @param data,y Data frame with the variables of `formula`. Or the classes, with `x` as data: a
#'   factor, text, logical, 0/1 or -1/+1. All levels of a factor are classes.
#' @param kernel A kernel for all spaces, or a list of one for each, see [kernels]. Default:
#'   [rbf()], and [categorical()] for factors.
#' @param combine `"sum"` of weight times kernel, `"product"` of kernels to the power of their
#'   weights, or `"binary"`, a sum with weights 0 or 1.
#' @param kernel_weights `"fixed"` (default: equal weights), `"learn"`, or a number for each space.
#'   See [kernel_weights()].
#' @param coefficients `"process"` (default): the function of each class is a Gaussian process.
#'   `"weights"`: the paper's model. See The process prior.
#' @param method `"vb"` (default) or `"gibbs"`.
#' @param tune `NULL` (default): choose the variance, open length-scales, and the variances of the
#'   terms of a sum such as `rbf() + linear()` if none of them is given, by left-out rows. `TRUE`:
#'   given ones, too. `FALSE`: nothing. With `coefficients = "weights"` the default
#'   is `FALSE`.
#' @param inducing A number of rows to which the kernels are computed. Default `NULL`: all, or 500
#'   if there are more than 2000 rows.
#' @param prior Made by [mkprobit_prior()].
#' @param standardize Center and scale the columns of every space of numbers (default).
#'   Length-scales refer to the scaled columns.
#' @param weights Counts, whole numbers, length n: how often each row occurs. Default 1.
#' @return An object of class `c("mkprobit", "bayeskernel_fit")`: a plain list that survives
#'   [saveRDS()]. It has `combine`, `spaces` (name, kernel, columns and transform of each),
#'   `kernel` (with the length-scales that were chosen), `weights_table` (see [kernel_weights()]),
#'   `coefficients` (`mean`, `var`, `alpha`), `method`, `levels`, `n`. The methods of every fit are
#'   listed in [fit-arguments]. [predict()][predict.bayeskernel_fit] takes new rows in the form of
#'   `x`.
#'
#' @section The process prior: \eqn{f_c = b_c + g_c}{f_c = b_c + g_c} with
#'   \eqn{g_c \sim GP(0, v K)}{g_c ~ GP(0, v K)} and
#'   \eqn{b_c \sim N(0, s^2)}{b_c ~ N(0, s^2)} for class c. K is the combined kernel, divided by its
#'   mean over the diagonal. One v and s serve all classes, see [mkprobit_prior()]. The
#'   process is exact by default with up to 2000 rows.
#'
#'   The fit chooses v, length-scales, and the weights of `kernel_weights = "learn"` in two steps:
#'   * It maximizes the leave-one-out log probability of at most 500 rows, less a weak penalty,
#'     which holds the length-scales of a kernel near each other, as in [gpsvm()]. With fewer than
#'     100 rows it keeps v near 1, so that few rows give no sure probabilities.
#'   * Random folds compare the result with the start, and a few steps improve the better one.
#'
#'   Subsets of kernels are not learned. Variational means are too near to zero, so the folds also
#'   choose a factor of the means, which `print()` shows. No class has probability 0: a share of
#'   0.1 / rows is divided evenly.
#'
#' @section Groups: `y ~ x1 + x2 + (1 | g)` adds to each latent function an effect of the row's
#'   group, \eqn{u_{cg} \sim N(0, v_g)}{u_cg ~ N(0, v_g)}. There may be several grouping factors,
#'   also nested ones, `(1 | g / h)`, each with a variance. The variance is tuned by left-out rows,
#'   not by left-out groups. [predict()] uses the effect of a known group, and the variance
#'   \eqn{v_g}{v_g} for a new one; `re.form = NA` leaves both out.
#'
#' @section Model with weights: Latent \eqn{y_{cn} \sim N(w_c k_n, 1)}{y_cn ~ N(w_c k_n, 1)}
#'   for class c and object n, whose class is that of the largest;
#'   \eqn{w_{cm} \sim N(0, 1 / \alpha_{cm})}{w_cm ~ N(0, 1 / alpha_cm)}. Only
#'   differences of the latent functions are known from the data: `"link"` has a
#'   column for each class, and of two classes their difference over sqrt(2),
#'   whose probit is the probability of the second. There is no intercept unless
#'   `bias = TRUE`.
#'
#' @section Errors: See `?bayeskernel`. A constant column is dropped with a warning.
#'
#' @references Damoulas, T. and Girolami, M. A. (2009). Combining feature spaces
#'   for classification. *Pattern Recognition* 42, 2671-2683.
#'
#'   Girolami, M. and Rogers, S. (2006). Variational Bayesian multinomial probit regression with
#'   Gaussian process priors. *Neural Computation* 18, 1790-1817.
#'
#' @seealso [gpsvm()] for large data; [kernels], [kernel_weights()], [combine_classifiers()],
#'   [mkprobit_prior()], [mkprobit_control()] for engines of learned weights;
#'   [predict()][predict.bayeskernel_fit], [plot()][plot.bayeskernel_fit];
#'   `vignette("feature-spaces")`.
#'   [published()] has the settings of the paper and [reproduce()] its tables. The
#'   site has them in the article "Reproduced: Damoulas and Girolami (2009)".
#'
#' @examples
#' at <- seq(1, 150, by = 2)
#' fit <- mkprobit(
#'   list(sepal = iris[at, 1:2], petal = iris[at, 3:4]), iris$Species[at]
#' )
#' fit
#' new <- list(sepal = iris[-at, 1:2], petal = iris[-at, 3:4])
#' mean(predict(fit, new) == iris$Species[-at])
#' predict(fit, lapply(new, head, 3), type = "prob")
#' @rdname mkprobit
#' @export
mkprobit <- function(x, ...) UseMethod("mkprobit")

#' @rdname mkprobit
#' @export
mkprobit.formula <- function(formula, data, kernel = NULL, combine = c("sum", "product", "binary"),
                             coefficients = c("process", "weights"), kernel_weights = "fixed",
                             method = c("vb", "gibbs"), tune = NULL, inducing = NULL,
                             prior = mkprobit_prior(), standardize = TRUE, weights, subset,
                             na.action = stats::na.fail, chains = 4, ndraws = 1000, until = NULL,
                             seed = NULL, threads = getOption("bayeskernel.threads", 2L),
                             control = mkprobit_control(), model = TRUE, ...) {
  fit_model(mkprobit_model, match.call(), environment(), ...)
}

#' @rdname mkprobit
#' @export
mkprobit.default <- function(x, y, kernel = NULL, combine = c("sum", "product", "binary"),
                             coefficients = c("process", "weights"), kernel_weights = "fixed",
                             method = c("vb", "gibbs"), tune = NULL, inducing = NULL,
                             prior = mkprobit_prior(), standardize = TRUE, weights = NULL,
                             na.action = stats::na.fail, chains = 4, ndraws = 1000, until = NULL,
                             seed = NULL, threads = getOption("bayeskernel.threads", 2L),
                             control = mkprobit_control(), model = TRUE, ...) {
  fit_model(mkprobit_model, match.call(), environment(), ...)
}

check_space_kernels <- function(kernel, name) {
  kernel <- as_kernel(kernel)
  if (is.null(kernel) || is_kernel(kernel)) {
    return(if (is.null(kernel)) NULL else check_space_kernel(kernel, name))
  }
  if (is.character(kernel)) kernel <- as.list(kernel)
  if (is.factor(kernel)) {
    bk_abort(
      "kernel", sprintf("Argument `%s` is a factor.", name),
      "The response is the second argument. Several feature spaces are one list:",
      "mkprobit(list(a = x1, b = x2), y).", column = name
    )
  }
  if (!is.list(kernel) || length(kernel) == 0L) {
    abort_argument(
      kernel, name, "NULL, a kernel such as rbf(), or a list of kernels", kind = "kernel",
      accepted = names(kernel_kinds)
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
  if (identical(x, "fixed") || identical(x, "learn")) return(x)
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
  if (process) return(settle_process(settings))
  refuse_process_prior(settings$prior)
  settings$tune <- settings$tune %||% FALSE
  prior <- settings$prior
  combine <- settings$combine
  settings$learn <- identical(settings$kernel_weights, "learn")
  by <- settings$weights_method
  known <- switch(combine,
    binary = c("loo", "enumerate", "is"), product = c("loo", "profile", "map", "is"),
    sum = c("loo", "profile", "map", "is", "slice")
  )
  # Length-scales take many fits by differences.
  if (is.null(by)) by <- known[if (settings$tune) 2L else 1L]
  if (settings$learn && !(by %in% known)) {
    bk_abort(
      "argument", "This `weights_method` does not suit the composite.",
      sprintf("Found: \"%s\" with combine = \"%s\".", by, combine),
      sprintf("Accepted: %s.", paste(quoted(known), collapse = ", ")),
      column = "weights_method", found = by, expected = known
    )
  }
  if (settings$learn && settings$tune && by == "slice" && settings$method == "vb") {
    bk_abort(
      "argument", "This `weights_method` does not learn length-scales.",
      "Found: \"slice\" with tune = TRUE.",
      "Accepted: \"profile\", \"map\", \"is\", or method = \"gibbs\".",
      column = "weights_method", found = by, expected = c("profile", "map", "is")
    )
  }
  if (settings$is_target == "point" && by != "is") {
    bk_abort(
      "argument", "`is_target` belongs to importance sampling.",
      sprintf("Found: \"point\" with weights_method = \"%s\".", by),
      "Accepted: weights_method = \"is\".",
      column = "is_target", found = "point", expected = "exact"
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
  if (identical(wish, "none")) return(invisible())
  fault <- if (settings$coefficients == "weights") {
    "coefficients = \"weights\""
  } else if (settings$method == "gibbs") {
    "method = \"gibbs\""
  }
  if (!is.null(fault)) {
    bk_abort(
      "argument", "Weights of classes need a process and variational Bayes.",
      sprintf("Found: `class_weights` with %s.", fault),
      "Accepted: coefficients = \"process\" and method = \"vb\"; or `weights`, counts of rows.",
      column = "class_weights", found = wish, expected = "none"
    )
  }
}

# Of the process prior: what belongs to the paper's weights is refused.
settle_process <- function(settings) {
  settings$learn <- identical(settings$kernel_weights, "learn")
  prior <- settings$prior
  other <- c(
    latent_scales = settings$latent_scales != "class", sparse = settings$sparse,
    zeta_moment = settings$zeta_moment == "point", is_target = settings$is_target == "point",
    weights_method = !(settings$weights_method %||% "loo") == "loo",
    "prior$tau" = !is.null(prior$tau), "prior$nu" = !is.null(prior$nu),
    "prior$weights" = !is.null(prior$weights)
  )
  if (any(other)) {
    name <- names(other)[other][1L]
    bk_abort(
      "argument", "This setting belongs to the paper's coefficients.",
      sprintf("Found: `%s`, with coefficients = \"process\".", name),
      "Accepted: coefficients = \"weights\", or without that setting.",
      column = name, found = name, expected = "weights"
    )
  }
  if (settings$learn && settings$combine == "binary") {
    bk_abort(
      "argument", "A process does not learn subsets of the kernels.",
      "Accepted: combine = \"sum\", whose weights may become small,",
      "numbers 0 or 1 as `kernel_weights`, or coefficients = \"weights\".",
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
      sprintf("Found: `%s`, with coefficients = \"weights\".", given[1L]),
      "Accepted: `tau`, `nu` and `alpha0` of mkprobit_prior().",
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
      sprintf("Found: a first parameter of %s.", format(found[1])),
      sprintf(
        "Accepted: 1 or more, or weights_method = \"%s\".", if (settings$tune) "loo" else "is"
      ),
      column = "weights", found = found[1], expected = 1
    )
  }
  settings[c("prior_weights", "held_hyper")] <- list(found, held)
  settings
}

delayedAssign("mkprobit_model", list(
  name = "mkprobit", methods = c(vb = "seeded", gibbs = "sampler"), links = "probit",
  arguments = list(
    kernel = check_space_kernels, combine = one_of("sum", "product", "binary"),
    coefficients = one_of("process", "weights"), kernel_weights = check_kernel_weights,
    weights_method = one_of("loo", "profile", "map", "is", "slice", "enumerate"),
    is_target = one_of("exact", "point"), latent_scales = one_of("class", "shared", "fixed"),
    sparse = check_flag, tune = check_flag, bias = check_flag,
    inducing = count_from(2), class_weights = check_class_weights, normalize = check_flag,
    nodes = count_from(5, most_nodes), zeta_moment = one_of("exact", "point"),
    tol = number_from(0),
    tolw = function(x, name) {
      if (identical(x, Inf)) x else check_number(x, 0, name = name)
    },
    max_iter = count_from(1), collapsed = check_flag, allow_empty = check_flag,
    force = check_flag
  ),
  settle = settle_mkprobit,
  rows = list(
    linear = FALSE, intercepts = TRUE, weights = TRUE, response = function(settings) "classes",
    read = space_rows
  ),
  job = mkprobit_job, run = mkprobit_run,
  chains = function(control, data) mkprobit_gibbs_cpp(data, control), draws = mkprobit_draws_of,
  watched = function(draws) setdiff(dimnames(draws)[[3]], "log_lik"), collect = mkprobit_collect
))
