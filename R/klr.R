#' Kernel logistic regression on a learned projection
#'
#' @description
#' Kernel logistic regression on a few learned linear combinations of the predictors, for two
#' classes (Ouyang, 2008, chapter 2). It shows along which directions the classes differ. It takes
#' some seconds to minutes, for up to some thousand rows.
#'
#' Quick start:
#' ```
#' two <- droplevels(iris[51:150, ])
#' fit <- klr(Species ~ Petal.Length + Petal.Width, two, rank = 1, seed = 1)
#' plot(fit, "projection")
#' ```
#'
#' @inheritParams fit-arguments
#' @param x,formula A formula; or a numeric matrix or data frame of predictors.
#' @param y Response with two classes, with a matrix `x`: a factor (its second level is the positive
#'   class), text, logical, 0/1 or -1/+1.
#' @param rank Number of directions. Default 2, or 1 with one predictor. With several, such as
#'   `1:3`, cross-validation chooses one.
#' @param folds Number of folds for that. Default 5.
#' @param prior Made by [klr_prior()].
#' @param standardize Center and scale the predictors (default). Directions refer to the
#'   standardized predictors.
#' @param chains,ndraws Number of chains and of kept draws per chain. Default 4 and 1000, after
#'   20,000 iterations of warm-up; see [klr_control()].
#' @param until `"auto"` (default): until R-hat is at most 1.05, unless the length of the run is
#'   given. [stop_at()]: until the chains agree as it says. `NULL`: one round.
#' @param ... Passed to methods. An argument that no method knows is an error, and so is `weights`.
#' @return An object of class `c("klr", "bayeskernel_fit")`: a plain list that survives [saveRDS()].
#'   It has `draws` (array, draws x chains x variables), `rank`, `ranks` (data frame of `rank`,
#'   `log_loss`, `error`, with several ranks), `levels`, `columns`, `reference` (numbers of the rows
#'   at which the draws have f), `n`, `dropped`, `acceptance`. [projection()] has the directions.
#'   The methods of every fit are listed in [fit-arguments].
#'
#' @section Model: \eqn{P(y_i = 1) = 1 / (1 + e^{-f(x_i)})}{P(y_i = 1) = 1 / (1
#'   + exp(-f(x_i)))} with
#'   \deqn{f(x) = b_0 + \sum_j b_j \exp\{-\frac12 \sum_{l=1}^r \lambda_{jl}
#'   (u_l'(x - c_j))^2\}}{f(x) = b_0 + sum_j b_j exp(-1/2 sum_l lambda_jl
#'   (u_l'(x - c_j))^2)}
#'   (equation 2.5), centers \eqn{c_j}{c_j} among the rows, and \eqn{U = (u_1,
#'   \ldots, u_r)}{U = (u_1, ..., u_r)} uniform among the matrices with
#'   orthonormal columns. Each kernel has r scales of its own. A scale lambda is
#'   a length-scale of \eqn{1 / \sqrt{\lambda}}{1 / sqrt(lambda)} in [rbf()].
#'
#' @section Chains: Reversible jump Markov chains, in two schemes, see [klr_prior()]. Every other
#'   chain starts at the directions of sliced average variance estimation, the others at random
#'   ones. As printed in the dissertation, two moves leave another distribution invariant; they are
#'   corrected here.
#'
#' @section Convergence: In `klr()` the directions converge before the function does. R-hat is
#'   judged for the shares of the predictors, J, the intercept and the likelihood. If the classes
#'   are separable, the data bound f from one side only, and chains may stay at different f for
#'   long. `summary()` has R-hat of all variables. `print()` has the largest difference between
#'   chains of the probability of a row.
#'
#' @section Many predictors: Use at most a tenth as many predictors as rows, unless they are
#'   correlated. With more, select some first, as by `inclusion(bsvm(x, y, select = TRUE))`. A
#'   warning, `bayeskernel_warning_identification`, says if the draws do not agree on any direction.
#'
#' @section Draws: Variables of `fit$draws`, of which each means the same in every draw: `intercept`
#'   (b_0); `J`, the number of kernels; `mu` and `sd`, mean and standard deviation of the log
#'   scales; `log_lik`; `f[k]`, the latent function at the rows `fit$reference`, at most ten;
#'   `P[name]`, the share of a predictor in the learned directions, that is the squared length of
#'   its row of U: between 0 and 1, with sum r.
#'
#' @section Errors: All inherit from `bayeskernel_error`: `_response`, `_missing`, `_dimension`,
#'   `_prior`, `_argument` (among them a `rank` above the number of predictors), `_numeric`,
#'   `_cluster`. A constant column is dropped with a warning.
#'
#' @references Ouyang, Z. (2008). *Bayesian additive regression kernels*. PhD
#'   thesis, Duke University, chapter 2.
#'
#'   Cook, R. D. and Weisberg, S. (1991). Comment on "Sliced inverse regression for dimension
#'   reduction". *Journal of the American Statistical Association* 86, 328-332.
#'
#' @seealso [gpsvm()] for more rows, [projection()], [klr_prior()], [klr_control()], [stop_at()];
#'   [predict()][predict.bayeskernel_fit], [plot()][plot.bayeskernel_fit];
#'   `vignette("dimension-reduction")`.
#'
#' @examples
#' two <- droplevels(iris[51:150, ])
#' fit <- klr(Species ~ Petal.Length + Petal.Width, two, rank = 1, seed = 1, threads = 1)
#' fit
#' projection(fit)
#' plot(fit)
#' @rdname klr
#' @export
klr.default <- function(x, y, rank = NULL, folds = 5, prior = klr_prior(), standardize = TRUE,
                        na.action = stats::na.fail, chains = 4, ndraws = NULL, until = "auto",
                        seed = NULL, threads = getOption("bayeskernel.threads", 2L),
                        control = klr_control(), model = TRUE, ...) {
  fit_model(klr_model, match.call(), environment(), ...)
}

#' @rdname klr
#' @export
klr <- function(x, ...) UseMethod("klr")

#' @rdname klr
#' @export
klr.formula <- function(formula, data, rank = NULL, folds = 5, prior = klr_prior(),
                        standardize = TRUE, subset, na.action = stats::na.fail, chains = 4,
                        ndraws = NULL, until = "auto", seed = NULL,
                        threads = getOption("bayeskernel.threads", 2L), control = klr_control(),
                        model = TRUE, ...) {
  fit_model(klr_model, match.call(), environment(), ...)
}

check_ranks <- function(rank, name) {
  good <- is.numeric(rank) && length(rank) > 0L && is.null(dim(rank)) &&
    all(is.finite(rank)) && all(rank == trunc(rank)) && all(rank >= 1) &&
    !anyDuplicated(rank)
  if (!good) {
    abort_argument(rank, name, "a whole number of at least 1, or several different ones")
  }
  as.integer(rank)
}

#' @exportS3Method
#' @noRd
model_of.klr <- function(object) klr_model

klr_model <- list(
  name = "klr", title = "Kernel logistic regression",
  methods = "rjmcmc", samplers = "rjmcmc", links = "logit",
  families = "binomial", linear = FALSE, prior = "klr_prior",
  arguments = function() {
    list(
      rank = or_null(check_ranks), folds = count_from(2), warmup = or_null(count_from(0)),
      ndraws = or_null(count_from(1)), thin = or_null(count_from(1)), until = check_auto_until
    )
  },
  settle = function(settings) {
    settle_until(settings, stop_at(rhat = 1.05), c(warmup = 20000, draws = 1000, thin = 20))
  },
  rows = list(linear = FALSE, weights = FALSE, response = function(settings) "pair"),
  job = klr_job, chains = klr_chains, draws = klr_draws,
  watched = klr_watched,
  collect = klr_collect, validate = validate_klr,
  free_state = c("centre", "log_lambda", "coefficient", "variance")
)
