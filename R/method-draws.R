#' Posterior draws of a fit
#'
#' Converters to what other packages work on. A sampler hands over its kept draws. A variational fit
#' has none: independent draws are made from its approximate posterior q.
#'
#' @param x A fit of this package.
#' @param ndraws Number of draws from q, default 1000; samplers ignore it.
#' @param seed Whole number for the draws from q; `NULL` takes one from R's
#'   generator, so that `set.seed()` reproduces them. Samplers ignore it.
#' @param row.names,optional Unused, as the generic has them.
#' @param ... Unused.
#' @return Variables have the names that `summary()` shows, and are on the scale
#'   of the data. Chains are as they were sampled, also those of a [bark()] that
#'   summaries and predictions weigh differently.
#' * `as.array()`: iterations x chains x variables; q counts as one chain.
#' * `as.matrix()`, `as.data.frame()`: draws x variables, chain after chain.
#' * `as.mcmc.list()` (coda): one element a chain; `start` and `thin` count
#'   sweeps, those of the warmup included.
#' * `as.mcmc()` (coda): one chain as it is; several chains one after another,
#'   with draws counted from 1.
#' * `posterior::as_draws()`: a `draws_array`. The other formats of package
#'   posterior follow from it: `posterior::as_draws_df(fit)`.
#' @seealso [posterior_predict()][posterior_predict.bayeskernel_fit], [rhat.bayeskernel_fit],
#'   [bayeskernel-diagnostics].
#' @examples
#' fit <- bkm(am ~ wt, mtcars)
#' draws <- as.matrix(fit, seed = 1)
#' # The weight at which both transmissions are equally probable.
#' quantile(-draws[, "(Intercept)"] / draws[, "wt"], c(0.05, 0.5, 0.95))
#' @name draws
NULL

#' @rdname draws
#' @export
as.array.bayeskernel_fit <- function(x, ndraws = 1000, seed = NULL, ...) {
  check_whole(x)
  draws <- parameter_draws(x, ndraws, seed)
  if (is.null(draws)) {
    bk_abort(
      "argument", "This fit has no draws of its parameters.",
      sprintf("It is of class \"%s\".", class(x)[1]),
      "summary() has their moments; predict(draws = TRUE) draws the function."
    )
  }
  names(dimnames(draws)) <- c("iteration", "chain", "variable")
  draws
}

#' @rdname draws
#' @export
as.matrix.bayeskernel_fit <- function(x, ndraws = 1000, seed = NULL, ...) {
  check_whole(x)
  stack_chains(as.array.bayeskernel_fit(x, ndraws, seed))
}

#' @rdname draws
#' @export
as.data.frame.bayeskernel_fit <- function(x, row.names = NULL, optional = FALSE, ndraws = 1000,
                                          seed = NULL, ...) {
  check_whole(x)
  as.data.frame(as.matrix.bayeskernel_fit(x, ndraws, seed), row.names = row.names)
}

#' @rdname draws
#' @method as.mcmc.list bayeskernel_fit
#' @rawNamespace S3method(coda::as.mcmc.list, bayeskernel_fit)
as.mcmc.list.bayeskernel_fit <- function(x, ndraws = 1000, seed = NULL, ...) {
  draws <- as.array.bayeskernel_fit(x, ndraws, seed)
  sweeps <- kept_sweeps(x)
  coda::mcmc.list(lapply(seq_len(dim(draws)[2]), function(chain) {
    coda::mcmc(
      stack_chains(draws[, chain, , drop = FALSE]), start = sweeps$start, thin = sweeps$thin
    )
  }))
}

#' @rdname draws
#' @method as.mcmc bayeskernel_fit
#' @export
as.mcmc.bayeskernel_fit <- function(x, ndraws = 1000, seed = NULL, ...) {
  check_whole(x)
  chains <- as.mcmc.list.bayeskernel_fit(x, ndraws, seed)
  if (length(chains) == 1L) return(chains[[1]])
  coda::mcmc(do.call(rbind, lapply(chains, as.matrix)))
}

#' @rdname draws
#' @exportS3Method posterior::as_draws
as_draws.bayeskernel_fit <- function(x, ndraws = 1000, seed = NULL, ...) {
  check_whole(x)
  posterior::as_draws_array(as.array.bayeskernel_fit(x, ndraws, seed))
}

# Stored draws, or made from q; NULL where neither is to be had.
parameter_draws <- function(x, n = 1000, seed = NULL) {
  if (!is.null(x$draws)) return(x$draws)
  n <- check_count(n, name = "ndraws")
  seed <- check_seed(seed)
  flat <- draws_from_posterior(x, n, seed)
  if (!is.null(flat)) array(flat, c(nrow(flat), 1L, ncol(flat)), list(NULL, NULL, colnames(flat)))
}

#' @export
draws_from_posterior.default <- function(object, n = 1000, seed = NULL) NULL

# Sweeps of the first kept draw, and between two of them.
kept_sweeps <- function(fit) {
  if (is.null(fit$draws)) return(list(start = 1, thin = 1))
  thin <- fit$sampler$thin
  list(start = fit$sampler$warmup + thin, thin = thin)
}
