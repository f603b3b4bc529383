#' Bayesian linear support vector machine
#'
#' Fits the Bayesian support vector machine of Luts and Ormerod (2014): the
#' hinge loss as a pseudo-likelihood, a Gaussian prior on the coefficients, a
#' learned penalty, and random effects in the notation of lme4. Mean-field
#' variational Bayes answers in milliseconds; the Gibbs sampler draws from the
#' posterior itself.
#'
#' @param x For the formula method, `formula`: a two-sided formula with fixed
#'   terms and random terms in bars, `(1 | g)`, `(x | g)`, `(x || g)`, nested
#'   `(1 | a / b)` and crossed `(1 | a) + (1 | b)`. Otherwise a numeric matrix,
#'   n rows by p predictors, or a data frame of predictors; an intercept is
#'   added.
#' @param formula See `x`.
#' @param data Data frame in which the variables of `formula` are found.
#' @param y Response with two classes, length n: a factor (its second level is
#'   the positive class), logical, 0/1 or -1/+1.
#' @param method `"vb"`, mean-field variational Bayes (the default), or
#'   `"gibbs"`, the sampler.
#' @param penalty Prior precision of the predictors. `"learn"` gives them one
#'   common variance that is estimated; a positive number a holds the precision
#'   at a; `"none"` leaves them with the vague prior of the intercept. Default:
#'   `"learn"`, or `"none"` when the formula has random terms.
#' @param prior A prior made by [bsvm_prior()].
#' @param standardize Centre and scale the columns of the design before fitting
#'   (default `TRUE`). Undone in everything that is reported.
#' @param weights Likelihood powers, length n, not negative; default 1.
#' @param offset Known part of the latent value, length n; default 0. Also as
#'   `offset()` in the formula.
#' @param subset,na.action As in [stats::lm()]; the default `na.fail` stops at
#'   missing values and names them.
#' @param chains,warmup,draws,thin For `"gibbs"`: number of chains, discarded
#'   sweeps, kept draws per chain, sweeps per kept draw.
#' @param tol,max_iter For `"vb"`: stop when a step gains less than
#'   `tol * (1 + abs(elbo) / 1000)`; cap on passes over the data, which warns.
#' @param accelerate For `"vb"`: take steps with the curvature of the bound and
#'   extrapolate them (default). `FALSE` gives plain coordinate ascent, which
#'   arrives at the same place more slowly.
#' @param seed Whole number, or `NULL` to take one from R's generator. Results
#'   do not depend on `threads`, nor on how often a run was interrupted.
#' @param threads Worker threads.
#' @param cluster A cluster of package parallel that shares the chains, with
#'   bayeskernel installed on its workers; the draws are the same as without.
#' @param progress Show progress and time left.
#' @param on_interrupt What Ctrl-C does to a sampler: `"stop"` raises an error,
#'   `"keep"` returns the draws so far with a warning.
#' @param start A `"gibbs"` fit of the same model and data: its chains are
#'   continued until they hold `draws` draws each. An interrupted run that is
#'   continued gives the draws of an uninterrupted one.
#' @param keep_ranef Store draws of the random effects (default). `FALSE` saves
#'   memory with many groups; predictions then treat every group as new.
#' @param model Keep the model frame in the fit.
#' @param ... Passed to methods; an argument that no method knows is an error.
#'
#' @return An object of class `c("bsvm", "bayeskernel_fit")`: a plain list that
#'   survives [saveRDS()]. Its methods: [print()], [summary()],
#'   [predict()][predict.bsvm], [coef()], [vcov()], [fixef()], [ranef()],
#'   [VarCorr()], [elbo()], [plot()][plot.bsvm], [coda::as.mcmc.list()],
#'   [posterior::as_draws()], `tidy()`, `glance()`, `augment()`.
#'
#' @section Model: With labels \eqn{y_i = \pm 1}{y_i = -1, +1}, weights
#'   \eqn{\omega_i}{w_i} and latent values \eqn{f_i = o_i + x_i'\beta + z_i'u},
#'   the pseudo-likelihood is
#'   \eqn{\prod_i \exp\{-2 \omega_i \max(1 - y_i f_i, 0)\}}{prod exp(-2 w_i
#'   max(1 - y_i f_i, 0))}. It is not normalised over y, so the bound of
#'   [elbo()] is a bound on a pseudo-evidence: compare starts or approximations
#'   of one model with it, not models.
#'
#' @section Variances of `"vb"`: A mean-field approximation understates
#'   posterior variances. Where intervals matter, use `"gibbs"`.
#'
#' @section Errors: All inherit from `bayeskernel_error`: `_response`,
#'   `_missing`, `_dimension`, `_prior`, `_argument`, `_numeric`. A constant
#'   column is dropped with a warning.
#'
#' @references Luts, J. and Ormerod, J. T. (2014). Mean field variational
#'   Bayesian inference for support vector machine classification.
#'   *Computational Statistics & Data Analysis* 73, 163-176, sections 2 and 3.1.
#'
#' @examples
#' set.seed(1)
#' d <- data.frame(x1 = rnorm(200), x2 = rnorm(200), g = gl(20, 10))
#' f <- d$x1 - d$x2 + rnorm(20)[d$g]
#' d$y <- factor(ifelse(f + rlogis(200) > 0, "yes", "no"))
#' fit <- bsvm(y ~ x1 + x2 + (1 | g), d, threads = 1)
#' fit
#' head(predict(fit, d, type = "prob"))
#' @export
bsvm <- function(x, ...) UseMethod("bsvm")

#' @rdname bsvm
#' @export
bsvm.formula <- function(formula, data, method = c("vb", "gibbs"),
                         penalty = NULL, prior = bsvm_prior(),
                         standardize = TRUE, weights, offset, subset,
                         na.action = stats::na.fail, chains = 4, warmup = 1000,
                         draws = 1000, thin = 1, tol = 1e-6, max_iter = 2000,
                         accelerate = TRUE, seed = NULL,
                         threads = getOption("bayeskernel.threads", 2L),
                         cluster = NULL,
                         progress = getOption(
                           "bayeskernel.progress", interactive()
                         ),
                         on_interrupt = c("stop", "keep"), start = NULL,
                         keep_ranef = TRUE, model = FALSE, ...) {
  call <- match.call()
  call[[1L]] <- quote(bsvm)
  check_no_dots(...)
  settings <- bsvm_settings(
    method, chains, warmup, draws, thin, tol, max_iter, accelerate, seed,
    threads, cluster, progress, on_interrupt, keep_ranef
  )
  if (missing(data)) data <- environment(formula)
  design <- bsvm_design(
    formula, data,
    weights = if (missing(weights)) NULL else substitute(weights),
    subset = if (missing(subset)) NULL else substitute(subset),
    offset = if (missing(offset)) NULL else substitute(offset),
    na.action = na.action, standardize = standardize,
    drop_aliased = drop_aliased(penalty), call = call
  )
  bsvm_fit(design, penalty, prior, settings, start, model, call)
}

#' @rdname bsvm
#' @export
bsvm.default <- function(x, y, method = c("vb", "gibbs"), penalty = NULL,
                         prior = bsvm_prior(), standardize = TRUE,
                         weights = NULL, offset = NULL,
                         na.action = stats::na.fail, chains = 4,
                         warmup = 1000, draws = 1000, thin = 1, tol = 1e-6,
                         max_iter = 2000, accelerate = TRUE, seed = NULL,
                         threads = getOption("bayeskernel.threads", 2L),
                         cluster = NULL,
                         progress = getOption(
                           "bayeskernel.progress", interactive()
                         ),
                         on_interrupt = c("stop", "keep"), start = NULL,
                         model = FALSE, ...) {
  call <- match.call()
  call[[1L]] <- quote(bsvm)
  check_no_dots(...)
  settings <- bsvm_settings(
    method, chains, warmup, draws, thin, tol, max_iter, accelerate, seed,
    threads, cluster, progress, on_interrupt, TRUE
  )
  if (missing(y)) {
    bk_abort("response", "The response `y` is missing.",
      "Give a factor, logical, 0/1 or -1/+1 vector with one label a row.",
      call = call
    )
  }
  design <- design_from_matrix(
    x, y,
    weights = weights, offset = offset, standardize = standardize,
    na.action = na.action, drop_aliased = isTRUE(drop_aliased(penalty)),
    call = call
  )
  bsvm_fit(design, penalty, prior, settings, start, model, call)
}

# A vague prior cannot tell columns apart that are combinations of others; a
# penalty can. NULL: as the model chooses its penalty.
drop_aliased <- function(penalty) {
  if (is.null(penalty)) NULL else identical(penalty, "none")
}

bsvm_settings <- function(method, chains, warmup, draws, thin, tol, max_iter,
                          accelerate, seed, threads, cluster, progress,
                          on_interrupt, keep_ranef) {
  list(
    method = check_choice(method, c("vb", "gibbs"), "method"),
    chains = check_count(chains, 1, name = "chains"),
    warmup = check_count(warmup, 0, name = "warmup"),
    draws = check_count(draws, 1, name = "draws"),
    thin = check_count(thin, 1, name = "thin"),
    tol = check_number(tol, 0, name = "tol"),
    max_iter = check_count(max_iter, 1, name = "max_iter"),
    accelerate = check_flag(accelerate, "accelerate"),
    seed = if (identical(method[1], "gibbs")) check_seed(seed) else seed,
    threads = check_threads(threads),
    cluster = check_cluster(cluster),
    progress = check_flag(progress, "progress"),
    on_interrupt = check_choice(on_interrupt, c("stop", "keep"), "on_interrupt"),
    keep_ranef = check_flag(keep_ranef, "keep_ranef")
  )
}
