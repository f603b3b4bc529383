# Arguments of the functions that fit: one table for all of them, read by name.

#' Arguments common to all fitting functions
#'
#' The rest of the arguments is on the page of each function: [bkm()], [bsvm()], [gpsvm()],
#' [mkprobit()], [bark()], [klr()], [seqkr()]. Formulas of [bkm()] and [bsvm()] are those of lme4,
#' with an intercept and contrasts.
#'
#' @param formula Two-sided formula of the predictors. No intercept is needed.
#'   A factor becomes one column per level.
#' @param data Data frame with the variables of `formula`.
#' @param weights How often each row counts, length n, at least 0, default 1: a row of weight 2 is
#'   the same as two rows. For precision weights as in [stats::lm()] use `weights / mean(weights)`.
#' @param subset,na.action As in [stats::lm()]. The default `na.fail` stops at missing values.
#' @param chains,ndraws Number of chains and of kept draws per chain (`"gibbs"`).
#' @param until For samplers: [stop_at()] runs the chains until they agree.
#'   `NULL`: a run of fixed length.
#' @param seed Whole number, or `NULL` for one from R's generator. Results do not depend on
#'   `threads`.
#' @param threads Number of threads, default 2.
#' @param control Controls of the engine and of the run, by the function named after the model, as
#'   [bkm_control()].
#' @param model Keep the data in the fit (default, up to a million cells). Partial plots,
#'   [exposure()] and [augment()] use them, see [fit-arguments].
#' @param ... Passed to methods. An argument that no method knows is an error.
#' @section The data in the fit: With `model = TRUE` a fit keeps the variables of the formula as
#'   they are in `data`, or `x` and `y`. Above a million cells, or
#'   `getOption("bayeskernel.model_cells")`, it keeps a digest instead, as with `model = FALSE`.
#'   Functions that need the rows then look for the data under their name in the call. Data that
#'   have changed since are refused. A fit to a [row_source()], or after [extend()], has no data.
#' @section Weights: If all weights are whole numbers, they are counts: a row of weight 2 is the
#'   same as two rows, also where columns are standardized. What leaves a row out leaves out one of
#'   its copies. The choice of a kernel by [gpsvm()] leaves out all of them: a kernel is not judged
#'   by how well copies of a row tell the row. It leaves out one in a table of counts, where nearly
#'   all copies have rows of another class at their place. With `missing = "model"` each copy has
#'   missing values of its own. Expectation propagation takes all copies in one step, which is
#'   nearer to the posterior than repeated rows are.
#'
#'   Other weights are powers of the likelihood; a warning tells if their mean is above 10 or below
#'   0.1. A row of weight 0 has no influence; it has a fitted
#'   value and a residual, as in [stats::glm()]. Weights of a regression by [bark()] divide the
#'   variance of the noise, as in [stats::lm()]. A [row_source()] has no weights.
#' @section Methods of a fit: [print()], [summary()], [plot()], [predict()], [fitted()],
#'   [residuals()], [nobs()], [weights()], [formula()], [terms()], [model.frame()], [update()],
#'   [anova()], [coef()], [vcov()], [confint()], [fixef()], [ranef()], [VarCorr()], [logLik()],
#'   [simulate()], [inclusion()], [imputed()], [kernel_weights()], [projection()], [exposure()],
#'   [elbo()], [log_evidence()], `loo::loo()`, [as.mcmc.list()], [posterior::as_draws()], [tidy()],
#'   [glance()], [augment()], [extend()]. A method that does not apply to a model says why.
#' @section Memory: A run whose draws would not fit into the free memory, or into
#'   `getOption("bayeskernel.max_bytes")` bytes, is refused before it begins.
#' @seealso [bayeskernel], the map of the package; [bayeskernel-engines].
#' @name fit-arguments
#' @keywords internal
NULL

# Checks of the arguments that mean the same in every model; each takes a value and its name. A
# model adds its own, or others in their place. Tables of functions, this and those of the models,
# are made once all files are read (zzz.R): some of their functions stand in later ones.
delayedAssign("house_arguments", list(
  standardize = check_flag, chains = count_from(1), warmup = count_from(0),
  ndraws = count_from(1), thin = count_from(1), tol = number_from(0), max_iter = count_from(1),
  accelerate = check_flag, batch_size = count_from(1), epochs = count_from(0),
  threads = count_from(1, 1024), cluster = check_cluster, progress = check_flag,
  on_interrupt = one_of("stop", "keep"), resume = function(x, name) x, until = check_until,
  model = check_flag
))

count_from <- function(lower, upper = .Machine$integer.max) {
  function(x, name) check_count(x, lower, upper, name = name)
}

number_from <- function(lower) {
  function(x, name) check_number(x, lower, name = name)
}

one_of <- function(...) {
  function(x, name) check_choice(x, c(...), name)
}

or_null <- function(check) {
  function(x, name) if (!is.null(x)) check(x, name)
}
