#' Regression and classification with sums of kernels
#'
#' @description
#' Non-linear regression if some predictors are irrelevant, and classification with two or ordered
#' classes (Ouyang, 2008). The function is a sum of kernels; Markov chains learn how many, where and
#' how wide. It takes some seconds to minutes, for up to some thousand rows.
#'
#' Quick start:
#' ```
#' fit <- bark(Volume ~ Girth + Height, trees, seed = 1)
#' predict(fit, trees[1:3, ], interval = "prediction", seed = 1)
#' plot(fit, "partial")
#' ```
#'
#' @inheritParams fit-arguments
#' @param x,formula A formula, in which `(1 | g)` is a random intercept; or a numeric matrix or data
#'   frame of predictors.
#' @param data,y Data frame with the variables of `formula`. Or the response, with a matrix `x`:
#'   numbers; two classes (a factor, text, logical); or an ordered factor. For 0/1 numbers give
#'   `family = "binomial"` or `"gaussian"`.
#' @param family `NULL` (default): as the response says, `"gaussian"`, `"binomial"` (probit link) or
#'   `"ordinal"`. Also [gaussian()] and `binomial("probit")`.
#' @param scales `"different"` (default): a kernel scale for each predictor. `"equal"`: one for all,
#'   the default with `structure`.
#' @param select Whether predictors may leave the model. Default `FALSE`. To ask which
#'   predictors matter, use `scales = "equal"`.
#' @param structure `NULL`, or [markov()]: predictors enter the model in blocks of neighboring
#'   columns. Needs `select = TRUE` and `scales = "equal"`.
#' @param linear Whether to add a linear part, a coefficient for every column. Default `FALSE`. Not
#'   with `select = TRUE`.
#' @param prior Made by [bark_prior()]. `NULL` (default): `bark_prior()`, and for classes
#'   `bark_prior(gamma = 5, epsilon = 0.5)`: 10 kernels are expected, with coefficients of scale
#'   `epsilon`, see Model.
#' @param standardize Center and scale the predictors (default). The response of a regression always
#'   is. Kernel scales refer to the standardized predictors.
#' @param weights For a regression precision weights, as in [stats::lm()]. For classes counts,
#'   whole numbers. Length n, default 1.
#' @param chains,ndraws Number of chains and of kept draws per chain. See [bark_control()] for
#'   the length of a run.
#' @param until `"auto"` (default): as long as it helps predictions. `stop_at(rhat = 1.01)`: until
#'   the chains agree. `NULL`: one round. See [bark_control()].
#' @param chain_weights `"stacking"` (default with `until`): chains that disagree are weighted by
#'   their predictions of left-out rows. `"equal"`: not so.
#' @return An object of class `c("bark", "bayeskernel_fit")`: a plain list that survives
#'   [saveRDS()]. It has `draws` (array, draws x chains x variables, see [bark_control()]),
#'   `family`, `levels`, `columns`, `reference` (numbers of the rows at which the draws have f),
#'   `n`, `dropped`, `chain_weights`, `acceptance`. The methods of every fit are listed in
#'   [fit-arguments].
#'
#' @section Model: \eqn{y_i = f(x_i) + e_i}{y_i = f(x_i) + e_i} with \eqn{e_i
#'   \sim N(0, 1 / (\phi w_i))}{e_i ~ N(0, 1 / (phi w_i))} for weights
#'   \eqn{w_i}{w_i}, or \eqn{P(y_i = 1) = \Phi(f(x_i))}{P(y_i = 1) =
#'   Phi(f(x_i))}, with \deqn{f(x) = \sum_j b_j \exp\{-\sum_l \lambda_l (x_l -
#'   c_{jl})^2\}}{f(x) = sum_j b_j exp(-sum_l lambda_l (x_l - c_jl)^2)} and
#'   coefficients \eqn{b_j}{b_j} that are `epsilon` times Cauchy variables (Student t with
#'   `alpha = 1` degree of freedom), and centers \eqn{c_j}{c_j} among the rows of the data,
#'   whatever their weights, or a constant instead of a kernel. A regression learns `epsilon`; for
#'   classes it is 0.5, which keeps the latent function bounded. Where [bark_prior()] has several
#'   `vectors` of scales, as it has in a regression by default, each kernel j
#'   has those of one of them. A scale lambda is a length-scale of
#'   \eqn{1 / \sqrt{2 \lambda}}{1 / sqrt(2 lambda)} in [rbf()]. With three
#'   or more ordered classes \eqn{P(y_i \le c) = \Phi(t_c - f(x_i))}{P(y_i <= c)
#'   = Phi(t_c - f(x_i))}. The gaps between cut points are exponential variables
#'   with mean 1. The middle of the first and the last one is a normal variable
#'   with mean 0 and standard deviation 2. So the opposite order of the classes
#'   gives the same model.
#'
#' @section Random intercepts and a linear part: A term `(1 | g)` adds an effect \eqn{u_g \sim N(0,
#'   \tau^2)}{u_g ~ N(0, tau^2)} of each group to f. `linear = TRUE` adds \eqn{\sum_l \beta_l
#'   x_l}{sum_l beta_l x_l} with \eqn{\beta_l \sim N(0, \tau^2)}{beta_l ~ N(0, tau^2)}, for the
#'   standardized predictors. Each has its own tau, half t with 4 degrees of freedom and scale 1.
#'   Several factors have at most 200 levels in all. Slopes, `(x | g)`, are refused. A new group has
#'   an effect of variance tau^2.
#'
#' @section Convergence: The posterior is often bimodal and chains rarely switch modes, so warm-up
#'   starts with many short runs and keeps the best. Chains that disagree are combined by stacking,
#'   and a warning says how far their predictions differ, and the Monte Carlo error of the combined
#'   prediction. More chains lower that error. Chains that agree may have missed a mode.
#'   See [bark_control()] and [bayeskernel-diagnostics].
#'
#' @section Errors: See `?bayeskernel`. A constant column is dropped with a warning; a constant
#'   response is not scaled, with a warning.
#'
#' @references Ouyang, Z. (2008). *Bayesian additive regression kernels*. PhD
#'   thesis, Duke University, chapters 3 and 4.
#'
#' @seealso [seqkr()] for streaming data, [bkm()] with [gp()] for larger data; [bark_prior()],
#'   [bark_control()], [markov()], [stop_at()]; [inclusion()], [predict()][predict.bayeskernel_fit],
#'   [plot()][plot.bayeskernel_fit]; `vignette("bark")`, `vignette("structured-selection")`.
#'   [published()] has the settings of the thesis and [reproduce()] its tables. The
#'   site has them in the article "Reproduced: Ouyang (2008)".
#'
#' @examples
#' fit <- bark(Volume ~ Girth + Height, trees, seed = 1)
#' fit
#' new <- data.frame(Girth = c(10, 16), Height = c(70, 80))
#' predict(fit, new, interval = "prediction", seed = 1)
#' @rdname bark
#' @export
bark <- function(x, ...) UseMethod("bark")

#' @rdname bark
#' @export
bark.formula <- function(formula, data, family = NULL, scales = NULL, select = FALSE,
                         structure = NULL, linear = FALSE, prior = NULL, standardize = TRUE,
                         weights, subset, na.action = stats::na.fail, chains = 4, ndraws = NULL,
                         until = "auto", chain_weights = NULL, seed = NULL,
                         threads = getOption("bayeskernel.threads", 2L), control = bark_control(),
                         model = TRUE, ...) {
  fit_model(bark_model, match.call(), environment(), ...)
}

#' @rdname bark
#' @export
bark.default <- function(x, y, family = NULL, scales = NULL, select = FALSE, structure = NULL,
                         linear = FALSE, prior = NULL, standardize = TRUE, weights = NULL,
                         na.action = stats::na.fail, chains = 4, ndraws = NULL, until = "auto",
                         chain_weights = NULL, seed = NULL,
                         threads = getOption("bayeskernel.threads", 2L), control = bark_control(),
                         model = TRUE, ...) {
  fit_model(bark_model, match.call(), environment(), ...)
}

# The name of a family that is given as in glm(): by name, as a function, or as an object. Of
# classes the link is probit, whatever an object says: one that says logit, as binomial() does, is
# told so.
check_family <- function(family, name, known = c("gaussian", "binomial", "ordinal")) {
  given <- glm_family(family)
  if (is.null(given)) return(check_choice(family, known, name))
  links <- list(gaussian = "identity", binomial = c("probit", "logit"))
  if (!(given$name %in% known && given$link %in% links[[given$name]])) {
    abort_family_link(given, name, paste(
      c("gaussian()", "binomial(\"probit\")", quoted(known)), collapse = ", "
    ))
  }
  if (given$named && given$link == "logit") {
    bk_inform(
      "link", "The link is probit, not logit: there is no other.",
      "binomial(\"probit\") says so; so does family = \"binomial\"."
    )
  }
  given$name
}

# Numbers without a family are a regression, but not codes of classes.
settle_regression <- function(settings) {
  settings$family_said <- !is.null(settings$family)
  settings$family <- settings$family %||% "gaussian"
  settings
}

# What looks at several arguments.
settle_bark <- function(settings) {
  settings$scales <- settings$scales %||% if (is.null(settings$structure)) "different" else "equal"
  settings <- settle_until(settings, brief_goal(), c(
    warmup = 5e4, draws = 1000, thin = 50
  ), c(warmup = 12500, draws = 500, thin = 25))
  # Of a run whose length was said the chains are taken as they are.
  said <- is.null(settings$until) || settings$chains == 1L
  settings$chain_weights <- settings$chain_weights %||% if (said) "equal" else "stacking"
  settings <- settle_regression(settings)
  settings$prior <- settings$prior %||%
    if (settings$family == "gaussian") bark_prior() else bark_prior(gamma = 5, epsilon = 0.5)
  check_structure(settings$structure, settings$select, settings$scales)
  settings$prior["vectors"] <- list(scale_vectors(settings))
  if (settings$linear && settings$select) {
    bk_abort(
      "argument", "A linear part has all predictors: none is selected.",
      "Found: linear = TRUE and select = TRUE.", "Accepted: one of them.",
      column = "linear", found = TRUE
    )
  }
  settings
}

# The run of a call that says nothing of its length: as long as it helps predictions, see
# bench/bark.R. Who asks for stop_at(rhat = 1.01) has longer rounds.
brief_goal <- function() {
  goal <- stop_at(rhat = most_rhat, sweeps = 1e5)
  goal$longer <- list(text = "stop_at(rhat = 1.01)", sweeps = 1.6e6)
  goal
}

# With more rows it has fewer rounds, as a sweep takes as long as there are rows; of many rows it is
# one round of fewer sweeps, and of fewer draws, as each is a product of all rows to predict by.
brief_run <- function(settings, n) {
  if (n <= most_whole) {
    if (n > 300L) settings$until$sweeps <- settings$until$sweeps / 2
    return(settings)
  }
  sweeps <- max(5000, round(6e7 / n))
  settings$draws <- 250L
  settings$thin <- as.integer(sweeps %/% 500)
  settings$warmup <- settings$thin * 250L
  settings$until$sweeps <- 2 * settings$warmup
  settings
}

# Whether it is a regression whose scale of the coefficients is learned.
learns_scale <- function(settings) settings$family == "gaussian" && !is.null(settings$prior$scale)

# How many vectors of scales the kernels choose from.
scale_vectors <- function(settings) {
  vectors <- settings$prior$vectors
  free <- settings$scales == "different" && !settings$select
  if (free || (vectors %||% 1) == 1) {
    return(vectors %||% if (free && learns_scale(settings)) 2L else 1L)
  }
  bk_abort(
    "prior", "Several vectors of scales are those of all predictors.",
    sprintf(
      "Found: vectors = %d with scales = \"%s\", select = %s.", vectors,
      settings$scales, settings$select
    ),
    "Accepted: scales = \"different\", select = FALSE; or vectors = 1.",
    column = "vectors", found = vectors, expected = 1L
  )
}

# How many rows a kernel is to reach.
kernel_reach <- function(settings, n) {
  reach <- settings$prior$reach
  if (settings$select && (reach %||% 0) > 0) {
    bk_abort(
      "prior", "How far kernels reach is a prior of the scales of all predictors.",
      sprintf("Found: reach = %s with select = TRUE.", format(reach)),
      "Accepted: select = FALSE; or reach = 0.", column = "reach", found = reach, expected = 0
    )
  }
  learned <- learns_scale(settings) && !settings$select
  reach %||% if (learned) min(60, n / 2) else 0
}

check_structure <- function(structure, select, scales) {
  if (is.null(structure)) return(invisible())
  if (!inherits(structure, "markov")) {
    abort_argument(structure, "structure", "NULL, or markov(q, s)", kind = "prior")
  }
  remade(structure, "structure", "markov")
  if (!select || scales != "equal") {
    bk_abort(
      "argument", "`structure` is a prior of selection with one scale.",
      sprintf("Found: select = %s, scales = \"%s\".", select, scales),
      "Accepted: select = TRUE, scales = \"equal\".",
      column = "structure", found = c(select, scales)
    )
  }
}

delayedAssign("bark_model", list(
  name = "bark", methods = c(rjmcmc = "sampler"), links = "probit",
  families = c("gaussian", "binomial", "ordinal"),
  arguments = list(
    family = check_family, scales = one_of("different", "equal"),
    select = check_flag, structure = function(x, name) x, linear = check_flag,
    chain_weights = one_of("stacking", "equal"), warmup = count_from(0),
    ndraws = count_from(1), thin = count_from(1), until = check_auto_until
  ),
  settle = settle_bark,
  rows = list(
    linear = FALSE, intercepts = TRUE, weights = TRUE, noise_weights = TRUE,
    response = function(settings) settings$family
  ),
  job = bark_job, chains = bark_chains, draws = bark_draws, watched = watched_names,
  collect = bark_collect,
  free_state = c("location", "count", "varphi", "unit_column")
))
