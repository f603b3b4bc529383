#' Bayesian additive regression and classification kernels
#'
#' A regression function, or a probability, as a sum of an unknown number of
#' Gaussian kernels at rows of the data, each predictor with a scale of its own
#' that may be zero (Ouyang, 2008, after Clyde and Wolpert). Reversible jump
#' Markov chains average over the number of kernels, their places, their scales
#' and the predictors in the model; coefficients are integrated out.
#'
#' @inheritParams fit-arguments
#' @param x A numeric matrix, n rows by p predictors, or a data frame of
#'   predictors; or, for the formula method, `formula`.
#' @param y Response, length n. For `"gaussian"` numeric; for `"binomial"` two
#'   classes as a factor (its second level is the positive class), text, logical,
#'   0/1 or -1/+1; for `"ordinal"` an ordered factor.
#' @param family `"gaussian"`, regression with normal noise; `"binomial"`,
#'   two classes by a probit link; `"ordinal"`, ordered classes by cut points
#'   of the same latent function. Also [gaussian()] and [binomial()], as objects
#'   or functions. A response of 0 and 1 alone has to be told apart: it is
#'   fitted with `family = "binomial"`, or `family = "gaussian"` given as such.
#' @param scales `"different"`: every predictor has a kernel scale of its own;
#'   `"equal"`: all predictors in the model share one. Default `"different"`,
#'   with `structure` `"equal"`.
#' @param select Whether predictors may leave the model. Default `FALSE`.
#' @param structure `NULL`, or [markov()]: predictors enter the model in blocks
#'   of neighbouring columns. Needs `select = TRUE` and `scales = "equal"`.
#' @param prior Made by [bark_prior()].
#' @param standardize Centre and scale the predictors (default `TRUE`). The
#'   response of a regression always is. Kernel scales refer to the standardised
#'   predictors.
#' @param chains,warmup,draws,thin Number of chains, discarded sweeps, kept
#'   draws per chain, sweeps per kept draw. A sweep is one jump and a few other
#'   moves, so there have to be many: 4 chains, 100,000 sweeps of warmup, and
#'   1000 draws 100 sweeps apart. Where f stays uncertain or n is large, more.
#' @param ... Passed to methods; an argument that no method knows is an error,
#'   and so is `weights`.
#'
#' @return An object of class `c("bark", "bayeskernel_fit")`: a plain list that
#'   survives [saveRDS()], with `draws` (array, draws x chains x variables),
#'   `family`, `levels`, `columns`, `reference` (numbers of the rows at which
#'   the draws have f), `n`, `dropped`, `acceptance` (proposed and accepted
#'   moves by chain). The methods of every fit are listed in [fit-arguments].
#'
#' @section Model: \eqn{y_i = f(x_i) + e_i}{y_i = f(x_i) + e_i} with
#'   \eqn{e_i \sim N(0, 1 / \phi)}{e_i ~ N(0, 1 / phi)}, or
#'   \eqn{P(y_i = 1) = \Phi(f(x_i))}{P(y_i = 1) = Phi(f(x_i))}, with
#'   \deqn{f(x) = \sum_j b_j \exp\{-\sum_l \lambda_l (x_l - c_{jl})^2\}}{f(x) =
#'   sum_j b_j exp(-sum_l lambda_l (x_l - c_jl)^2)}
#'   and centres \eqn{c_j}{c_j} among the rows of the data, or a constant in
#'   place of a kernel. A scale lambda is a length-scale of
#'   \eqn{1 / \sqrt{2 \lambda}}{1 / sqrt(2 lambda)} in [rbf()]. With ordered
#'   classes \eqn{P(y_i \le c) = \Phi(t_c - f(x_i))}{P(y_i <= c) = Phi(t_c -
#'   f(x_i))}, where \eqn{t_1 = 0}{t_1 = 0} and the gaps between cut points are
#'   exponential variables with mean 1.
#'
#' @section Chains: Chains of a regression start from 30 kernels (fewer with
#'   less than 120 rows), each the best of 64 random places for what the earlier
#'   ones leave, and shed them; those of a classification from random kernels.
#'   All begin with every predictor in the model, but see [markov()]. Prior
#'   variances v of coefficients with \eqn{\phi v n > 10^{14}}{phi v n > 1e14},
#'   which only a response without noise asks for, are left out: doubles cannot
#'   hold them.
#'
#' @section Draws: Variables of `fit$draws`: `sigma`, the standard deviation of
#'   the noise on the scale of the data, and `phi`, its precision for the
#'   standardised response (regressions); `J`, the number of kernels, and `m`,
#'   at how many places they are; `d`, the number of predictors in the model
#'   (`select = TRUE`); `T`, the sum of the kernel scales; `log_lik`, the log
#'   density of the standardised (or latent) response with the coefficients
#'   integrated out; `q0`, `q1`, the probabilities of [markov()], if it has
#'   hyper-priors; `cut[k]`, cut points; `f[k]`, the function at the rows
#'   `fit$reference`, at most ten, on the scale of the data: its mean given the
#'   rest of the draw (`predict(fit, draws = TRUE)` draws the coefficients,
#'   too); `lambda[name]`, the scale of a predictor, 0 while it is not in the
#'   model.
#'
#' @section Errors: All inherit from `bayeskernel_error`: `_response`,
#'   `_missing`, `_dimension`, `_prior`, `_argument`, `_numeric`, `_cluster`. A
#'   constant column is dropped with a warning; a constant response is not
#'   scaled, with a warning.
#'
#' @references Ouyang, Z. (2008). *Bayesian additive regression kernels*. PhD
#'   thesis, Duke University, chapters 3 and 4.
#'
#'   Holmes, C. C. and Held, L. (2006). Bayesian auxiliary variable models for
#'   binary and multinomial regression. *Bayesian Analysis* 1, 145-168.
#'
#' @examples
#' set.seed(1)
#' d <- data.frame(a = runif(60, -2, 2), b = runif(60))
#' d$y <- sin(2 * d$a) + rnorm(60) / 5
#' # Far longer chains are needed in earnest: see the defaults.
#' fit <- bark(y ~ a + b, d, select = TRUE, chains = 2, warmup = 2000,
#'   draws = 200, thin = 10, threads = 1, seed = 1)
#' fit
#' inclusion(fit)
#' predict(fit, data.frame(a = c(0, 1), b = 0.5), interval = "prediction")
#' @export
bark <- function(x, ...) UseMethod("bark")

#' @rdname bark
#' @export
bark.formula <- function(formula, data,
                         family = c("gaussian", "binomial", "ordinal"),
                         scales = c("different", "equal"),
                         select = FALSE, structure = NULL,
                         prior = bark_prior(), standardize = TRUE, subset,
                         na.action = stats::na.fail, chains = 4,
                         warmup = 1e5, draws = 1000, thin = 100, seed = NULL,
                         threads = getOption("bayeskernel.threads", 2L),
                         cluster = NULL,
                         progress = getOption(
                           "bayeskernel.progress", interactive()
                         ),
                         on_interrupt = c("stop", "keep"), start = NULL,
                         model = FALSE, ...) {
  fit_model(bark_model, match.call(), environment(), ...)
}

#' @rdname bark
#' @export
bark.default <- function(x, y, family = c("gaussian", "binomial", "ordinal"),
                         scales = c("different", "equal"),
                         select = FALSE, structure = NULL,
                         prior = bark_prior(), standardize = TRUE,
                         na.action = stats::na.fail, chains = 4,
                         warmup = 1e5, draws = 1000, thin = 100, seed = NULL,
                         threads = getOption("bayeskernel.threads", 2L),
                         cluster = NULL,
                         progress = getOption(
                           "bayeskernel.progress", interactive()
                         ),
                         on_interrupt = c("stop", "keep"), start = NULL,
                         model = FALSE, ...) {
  fit_model(bark_model, match.call(), environment(), ...)
}

bark_arguments <- function() {
  list(
    family = check_family, scales = one_of("different", "equal"),
    select = check_flag, structure = function(x, name) x
  )
}

#' The name of a family that is given as in glm(): by name, as a function, or as
#' an object.
#' @noRd
check_family <- function(family, name) {
  known <- c("gaussian", "binomial", "ordinal")
  given <- family
  if (is.function(family)) {
    family <- tryCatch(family(), error = function(e) NULL)
  }
  if (inherits(family, "family")) {
    link <- family$link
    family <- family$family
    # The link of binomial() is logit unless another is asked for.
    if (!(family %in% known) || !(link %in% c("identity", "logit", "probit"))) {
      abort_argument(
        sprintf("%s(link = %s)", family, link), name,
        "gaussian, binomial (with the probit link), or \"ordinal\""
      )
    }
  } else if (is.function(given)) {
    abort_argument(given, name, paste(quoted(known), collapse = ", "))
  }
  check_choice(family, known, name)
}

# What looks at several arguments.
settle_bark <- function(settings) {
  if (!("scales" %in% settings$given) && !is.null(settings$structure)) {
    settings$scales <- "equal"
  }
  check_structure(settings$structure, settings$select, settings$scales)
  settings
}

check_structure <- function(structure, select, scales) {
  if (is.null(structure)) {
    return(invisible())
  }
  if (!inherits(structure, "markov")) {
    abort_argument(
      structure, "structure", "NULL, or markov(q, s)",
      kind = "prior"
    )
  }
  remade(structure, "structure", "markov")
  if (!select || scales != "equal") {
    bk_abort(
      "argument", "`structure` is a prior of selection with one scale.",
      c(
        sprintf("Found: select = %s, scales = \"%s\".", select, scales),
        "Accepted: select = TRUE, scales = \"equal\"."
      ),
      column = "structure", found = c(select, scales)
    )
  }
}

bark_model <- list(
  name = "bark", title = "Bayesian additive kernels",
  methods = "rjmcmc", samplers = "rjmcmc", links = "probit",
  families = c("gaussian", "binomial", "ordinal"), linear = FALSE,
  prior = "bark_prior", arguments = bark_arguments, settle = settle_bark,
  rows = list(
    linear = FALSE, weights = FALSE,
    response = function(settings) settings$family
  ),
  job = bark_job, chains = bark_chains, draws = bark_draws,
  watched = function(fit) watched_names(fit$draws), collect = bark_collect,
  validate = validate_bark,
  free_state = c("location", "count", "varphi", "unit_column")
)
