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
#' @param data,y Data frame with the variables of `formula`. Or the response with two classes, with
#'   a matrix `x`: a factor (its second level is the positive class), text, logical, 0/1 or -1/+1.
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
#'   Fields of use are `draws` (array, draws x chains x variables), `rank`, `levels`, `columns`,
#'   `n`, `dropped` and `acceptance`. With several ranks, `ranks` is a data frame with their
#'   `log_loss` and `error`. `reference` has the numbers of the rows at which the draws have f.
#'   [projection()] has the directions. The methods of every fit are listed in [fit-arguments].
#'
#' @section Model: \eqn{P(y_i = 1) = 1 / (1 + e^{-f(x_i)})}{P(y_i = 1) = 1 / (1
#'   + exp(-f(x_i)))} with
#'   \deqn{f(x) = b_0 + \sum_j b_j \exp\{-\frac12 \sum_{l=1}^r \lambda_{jl}
#'   (u_l'(x - c_j))^2\}}{f(x) = b_0 + sum_j b_j exp(-1/2 sum_l lambda_jl
#'   (u_l'(x - c_j))^2)}
#'   (equation 2.5). The centers \eqn{c_j}{c_j} are rows. \eqn{U = (u_1,
#'   \ldots, u_r)}{U = (u_1, ..., u_r)} is uniform among the matrices with
#'   orthonormal columns. Each kernel has r scales of its own. A scale lambda is
#'   a length-scale of \eqn{1 / \sqrt{\lambda}}{1 / sqrt(lambda)} in [rbf()].
#'
#' @section Chains: Reversible jump Markov chains, in two schemes, see [klr_prior()]. Every other
#'   chain starts at the directions of sliced average variance estimation, the others at random
#'   ones. Two moves of the thesis, as printed, do not leave the posterior
#'   invariant. They are corrected.
#'
#' @section Convergence: In `klr()` the directions converge before the function does. R-hat is
#'   judged for the shares of the predictors, J, the intercept and the likelihood. If the classes
#'   are separable, the data bound f from one side only, and chains may stay at different f for
#'   long. `summary()` has R-hat of all variables. `print()` has the largest difference between
#'   chains of the probability of a row.
#'
#' @section Many predictors: Use at most a tenth as many predictors as rows, unless they are
#'   correlated. With more predictors than rows it is no better than chance. Select some first, as
#'   by `inclusion(bsvm(x, y, select = TRUE))`. Time grows with the number of predictors, too. A
#'   warning, `bayeskernel_warning_identification`,
#'   says if the draws do not agree on any direction.
#'
#' @section Draws: `fit$draws` has variables that mean the same in every draw:
#'   * `intercept`: b_0;
#'   * `J`: the number of kernels;
#'   * `mu`, `sd`: mean and standard deviation of the log scales;
#'   * `log_lik`: the log likelihood;
#'   * `f[k]`: the latent function at the rows `fit$reference`, at most ten;
#'   * `P[name]`: the share of a predictor in the learned directions. It is the squared length of
#'     its row of U, between 0 and 1; all add up to r.
#'
#' @section Errors: See `?bayeskernel`. A constant column is dropped with a warning.
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
#'   [published()] has the settings of the thesis and [reproduce()] its tables. The
#'   site has them in the article "Reproduced: Ouyang (2008)".
#'
#' @examples
#' two <- droplevels(iris[51:150, ])
#' fit <- klr(Species ~ Petal.Length + Petal.Width, two, rank = 1, seed = 1)
#' fit
#' projection(fit)
#' plot(fit)
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

#' @rdname klr
#' @export
klr.default <- function(x, y, rank = NULL, folds = 5, prior = klr_prior(), standardize = TRUE,
                        na.action = stats::na.fail, chains = 4, ndraws = NULL, until = "auto",
                        seed = NULL, threads = getOption("bayeskernel.threads", 2L),
                        control = klr_control(), model = TRUE, ...) {
  fit_model(klr_model, match.call(), environment(), ...)
}

check_ranks <- function(rank, name) {
  good <- is.numeric(rank) && length(rank) > 0L && is.null(dim(rank)) &&
    all(is.finite(rank)) && all(rank == trunc(rank)) && all(rank >= 1) && !anyDuplicated(rank)
  if (!good) abort_argument(rank, name, "a whole number of at least 1, or several different ones")
  as.integer(rank)
}

# From rows and settings to a fit ------------------------------------------------

klr_job <- function(rows, settings) {
  data <- list(
    x = scaled_rows(rows$data$x[, rows$data$source, drop = FALSE], rows$center, rows$scale),
    signs = as.double(rows$y)
  )
  p <- ncol(data$x)
  settings$rank <- settings$rank %||% min(2L, p)
  if (max(settings$rank) > p) {
    most <- sprintf("at most %d, the number of predictors that vary", p)
    abort_argument(settings$rank, "rank", most)
  }
  reference <- reference_rows(list(y = data$signs, x = data$x))
  job <- list(
    settings = settings, reference = reference,
    stored = 5 + length(reference) + p + p * max(settings$rank) +
      2 * (2 + max(settings$rank)) * klr_kernels_cpp(settings$prior),
    control = list(
      rank = as.double(settings$rank[1]), reference = reference - 1,
      warmup = as.double(settings$warmup), draws = as.double(settings$draws),
      thin = as.double(settings$thin), seed = as.double(settings$seed),
      chain_id = 0:(settings$chains - 1L), threads = settings$threads,
      progress = settings$progress, states = list()
    ),
    shared = list(data = data, prior = unclass(settings$prior))
  )
  if (length(settings$rank) > 1L) job <- choose_rank(job)
  job
}

klr_chains <- function(control, data, prior) klr_fit_cpp(data, prior, control)

# The rank with the smallest log loss of rows that were left out, by chains half in number. Which
# rows those are follows from the seed; classes are spread evenly over the parts.
choose_rank <- function(job) {
  settings <- job$settings
  with_rank <- function(rank, ranks) {
    job$settings$rank <- rank
    job$control$rank <- as.double(rank)
    job$ranks <- ranks
    job
  }
  if (!is.null(settings$resume)) return(with_rank(settings$resume$rank, settings$resume$ranks))
  data <- job$shared$data
  n <- nrow(data$x)
  folds <- min(settings$folds, n)
  fold <- integer(n)
  fold[with_seed(settings$seed, order(data$signs, stats::runif(n)))] <- rep_len(seq_len(folds), n)
  prob <- matrix(0, n, length(settings$rank))
  control <- job$control
  control[c("reference", "progress", "chain_id")] <-
    list(numeric(), FALSE, control$chain_id[seq_len(max(1L, settings$chains %/% 2L))])
  for (k in seq_along(settings$rank)) {
    control$rank <- as.double(settings$rank[k])
    for (own in seq_len(folds)) {
      at <- fold == own
      part <- list(x = data$x[!at, , drop = FALSE], signs = data$signs[!at])
      core <- run_chains(
        klr_chains, control, list(data = part, prior = job$shared$prior), settings$cluster
      )
      if (core$status$interrupted) abort_interrupted()
      if (core$status$kept < settings$draws) check_reached(core$status, settings)
      intercept <- core$scalars[, , 1]
      draws <- c(join_kernels(core$kernels), list(intercept = intercept, rank = control$rank))
      prob[at, k] <- core_call(klr_predict_cpp(
        lapply(draws, as.double), part$x, data$x[at, , drop = FALSE], settings$threads
      ))$prob
    }
  }
  hit <- 0.5 + data$signs * (prob - 0.5)
  ranks <- data.frame(
    rank = settings$rank, log_loss = -colMeans(log(pmax(hit, .Machine$double.xmin))),
    error = colMeans((prob > 0.5) != (data$signs > 0))
  )
  with_rank(settings$rank[which.min(ranks$log_loss)], ranks)
}

# One array draws x chains x variables.
klr_draws <- function(core, job, rows) {
  names <- c("intercept", "J", "mu", "sd", "log_lik", sprintf("f[%d]", seq_along(job$reference)))
  p <- length(rows$columns)
  size <- dim(core$scalars)[1:2]
  # Squared lengths of the rows of U, of the draws made now: those before are put in their places
  # later, those not reached are cut.
  before <- if (length(job$control$states)) dim(job$settings$resume$draws)[1]
  shares <- vapply(core$kernels, function(chain) {
    out <- matrix(0, size[1], p)
    count <- length(chain$size)
    frames <- array(chain$frame, c(p, job$control$rank, count))
    out[sum(before) + seq_len(count), ] <- t(apply(frames^2, c(1, 3), sum))
    out
  }, matrix(0, size[1], p))
  array(
    c(core$scalars, aperm(array(shares, c(size[1], p, size[2])), c(1, 3, 2))),
    c(size, length(names) + p), list(NULL, NULL, c(names, sprintf("P[%s]", rows$columns)))
  )
}

# Variables on which chains have to agree: where classes can be told apart without error the data
# hardly bound f, whose law has no mean there, nor the scales of kernels that it is made of.
klr_watched <- function(draws) {
  grep("^(intercept|J|log_lik)$|^P\\[", dimnames(draws)[[3]], value = TRUE)
}

klr_collect <- function(fit, core, job, rows) {
  settings <- job$settings
  fit$rank <- settings$rank
  fit$ranks <- job$ranks
  fit$share <- mean(rows$y > 0)
  fit$reference <- original_rows(job$reference, rows$rows)
  core <- join_earlier(core)
  fit$acceptance <- core$acceptance
  kernels <- lapply(core$kernels, take_klr_kernels, seq_len(dim(fit$draws)[1]), fit$rank)
  fit$posterior <- list(kernels = kernels, x = job$shared$data$x)
  fit$fitted <- klr_moments(fit, fit$posterior$x, settings$threads)
  if (settings$prior$max_kernels > 0) warn_unknown_directions(fit)
  fit
}

take_klr_kernels <- function(kernels, take, rank) {
  size <- kernels$size[take]
  at <- sequence(size, cumsum(kernels$size)[take] - size + 1L)
  list(
    size = size, centre = kernels$centre[at], coefficient = kernels$coefficient[at],
    log_lambda = as.vector(matrix(kernels$log_lambda, rank)[, at]),
    frame = as.vector(matrix(kernels$frame, ncol = length(kernels$size))[, take])
  )
}

# f at rows, given the draws -----------------------------------------------------

# What the core reads of the draws `take`, chain after chain; NULL for all.
klr_core_draws <- function(object, take = NULL) {
  kernels <- join_kernels(object$posterior$kernels)
  intercept <- as.vector(object$draws[, , "intercept"])
  if (!is.null(take)) {
    kernels <- take_klr_kernels(kernels, take, object$rank)
    intercept <- intercept[take]
  }
  # No draw may have a kernel.
  lapply(c(kernels, list(intercept = intercept, rank = object$rank)), as.double)
}

# Moments of f and of the probability for rows on the scale of the model.
klr_moments <- function(object, x, threads) {
  core_call(klr_predict_cpp(klr_core_draws(object), object$posterior$x, x, threads))
}

#' @exportS3Method
latent.klr <- function(object, rows = NULL, links = "logit",
                       threads = getOption("bayeskernel.threads", 2L)) {
  if (is.null(rows)) return(kept_latent(object, links))
  out <- klr_moments(object, scaled_predictors(object, rows$x), threads)
  c(out[c("mean", "var")], list(prob = list(logit = out$prob), prob_sd = list(logit = out$prob_sd)))
}

#' @exportS3Method
latent_draws.klr <- function(object, rows = NULL, take = NULL, response = FALSE,
                             threads = getOption("bayeskernel.threads", 2L)) {
  core <- klr_core_draws(object, taken_draws(object, take))
  f <- core_call(klr_latent_cpp(core, object$posterior$x, rows_or_own(object, rows), threads))
  list(f = f, mean = colMeans(f))
}

#' @exportS3Method
parameters.klr <- function(object, level = 0.95) {
  names <- dimnames(object$draws)[[3]]
  table <- with_convergence(
    draws_table(stack_chains(object$draws), level), object, convergence_table(object$draws)
  )
  share <- startsWith(names, "P[")
  # As many directions as predictors have shares of 1, but for rounding.
  table[share, ] <- round(table[share, ], 12)
  at <- startsWith(names, "f[")
  rest <- !share & !at & names != "log_lik"
  words <- c(
    intercept = "intercept (b_0)", J = "kernels (J)",
    mu = "mean of the log scales (mu)", sd = "sd of the log scales (sd)"
  )
  rbind(
    parameter_rows(
      "share", table[share, , drop = FALSE], label = sprintf("share of %s", object$columns)
    ),
    parameter_rows("parameter", table[rest, , drop = FALSE], label = words[names[rest]]),
    parameter_rows(
      "function", table[at, , drop = FALSE], group = "rows of the data, from low to high",
      label = sprintf("f at row %d", object$reference)
    )
  )
}

#' @exportS3Method
facts.klr <- function(object, only = NULL) {
  apart <- apart_by_chain(object)
  chosen_facts(
    only, title = "Kernel logistic regression on a learned projection", Rows = rows_fact(object),
    Fit = own_fit(object),
    Projection = c(
      sprintf("%d of %d directions", object$rank, length(object$columns)),
      if (!is.null(object$ranks)) paste("chosen by cross-validation, log loss", toString(
        sprintf("%.3f at rank %d", object$ranks$log_loss, object$ranks$rank)
      ))
    ),
    Spread = if (object$rank < length(object$columns)) {
      angles <- projection(object)$angles
      largest <- angles[, ncol(angles)]
      sprintf(
        "largest angle of a draw to the mean space %.0f degrees (median), 90 %% below %.0f",
        stats::median(largest), stats::quantile(largest, 0.9, names = FALSE)
      )
    },
    Agreement = if (!is.null(apart)) sprintf(
      "probabilities of %d rows differ by at most %.2f between chains",
      length(object$reference), apart
    ),
    Kernels = sprintf(
      "%.1f (mean), %s expected by the prior, which is %s", mean(object$draws[, , "J"]),
      format(klr_kernels_cpp(object$prior), digits = 3), object$prior$coefficients
    )
  )
}

# The largest difference between chains of the probability of a reference row.
apart_by_chain <- function(fit) {
  at <- startsWith(dimnames(fit$draws)[[3]], "f[")
  if (!any(at) || dim(fit$draws)[2] < 2L) return(NULL)
  means <- apply(stats::plogis(fit$draws[, , at, drop = FALSE]), 3:2, mean)
  max(apply(means, 1, max) - apply(means, 1, min))
}

#' @exportS3Method
extras.klr <- function(object) {
  rates <- acceptance_rates(object)
  list(
    summary = list(
      projection = projection(object), acceptance = rates,
      reference = object$reference, ranks = object$ranks
    ),
    glance = list(rank = object$rank, kernels = mean(object$draws[, , "J"])),
    details = acceptance_text(rates[!is.na(rates)])
  )
}

# The learned directions: the span of U, which is all that the data can know --------

#' Learned directions of a fit
#'
#' Along which combinations of the predictors do the classes differ? The columns of U of [klr()] may
#' change sign and order without a change of the model, so only the space that they span is known.
#' The reported directions are the leading eigenvectors of the posterior mean of UU'. They span the
#' space nearest to all draws.
#'
#' @param object A fit by [klr()].
#' @param ... No further arguments.
#' @return A list of class `klr_projection`:
#'   * `directions`, p x r: these eigenvectors, for standardized predictors. The largest entry of
#'     each is positive.
#'   * `mean`, p x p: the posterior mean of UU'.
#'   * `values`: its eigenvalues. If the space is known, r of them are 1 and the others 0.
#'   * `angles`, draws x r: the principal angles between the space of each draw and that of
#'     `directions`, in degrees, smallest first.
#'   * `coordinates`, n x r: the rows of the fit in these directions.
#' @section Errors: `bayeskernel_error_argument` for fits without a projection.
#' @seealso [klr()]; `vignette("dimension-reduction")`.
#' @references Ouyang, Z. (2008). *Bayesian additive regression kernels*. PhD
#'   thesis, Duke University, section 2.4 and figures 2.2 to 2.4.
#' @examples
#' set.seed(1)
#' x <- matrix(rnorm(240), 60, dimnames = list(NULL, letters[1:4]))
#' fit <- klr(x, x[, 1] > x[, 2], rank = 1, chains = 2, seed = 1)
#' projection(fit)
#' @export
projection <- function(object, ...) {
  check_given("object")
  UseMethod("projection")
}

#' @rdname projection
#' @export
projection.bayeskernel_fit <- function(object, ...) {
  check_whole(object, ...)
  if (is.null(object$rank)) {
    bk_abort(
      "argument", "This fit has no projection.",
      sprintf("Found: a fit by %s(). Accepted: a fit by klr().", model_of(object)$name)
    )
  }
  p <- length(object$columns)
  r <- object$rank
  frames <- klr_frames(object)
  # UU' summed over draws and columns is one product.
  mean <- tcrossprod(matrix(frames, p)) / dim(frames)[3]
  dimnames(mean) <- list(object$columns, object$columns)
  own <- eigen(mean, symmetric = TRUE)
  directions <- own$vectors[, seq_len(r), drop = FALSE]
  largest <- max.col(abs(t(directions)), "first")
  sign <- sign(directions[cbind(largest, seq_len(r))])
  directions <- directions * rep(sign, each = p)
  dimnames(directions) <- list(object$columns, sprintf("u%d", seq_len(r)))
  structure(list(
    directions = directions, mean = mean, values = own$values,
    angles = principal_angles(directions, frames),
    coordinates = object$posterior$x %*% directions
  ), class = "klr_projection")
}

# U of each draw, p x r x draws.
klr_frames <- function(object) {
  frames <- unlist(lapply(object$posterior$kernels, `[[`, "frame"))
  size <- c(length(object$columns), object$rank)
  array(frames, c(size, length(frames) / prod(size)))
}

# In degrees, draws x r. The cosines are singular values of V'U; of small angles the sines, those of
# what U has outside the span of V, are exact.
principal_angles <- function(v, frames) {
  r <- ncol(v)
  out <- apply(frames, 3L, function(u) {
    u <- matrix(u, nrow(v))
    inside <- crossprod(v, u)
    cosine <- pmin(svd(inside, 0L, 0L)$d, 1)
    sine <- pmin(rev(svd(u - v %*% inside, 0L, 0L)$d), 1)
    ifelse(cosine > 0.7, asin(sine), acos(cosine)) * 180 / pi
  })
  matrix(out, ncol = r, byrow = TRUE)
}

# Where directions are uniform a priori, those of many predictors say little about new rows although
# own rows are met: then the draws do not agree. `agreement`: the leading eigenvalue of the mean,
# over draws, of the projection to the span of X U, 1 where that direction of the rows is known. X U
# and not U is looked at: of correlated predictors many U give the same coordinates of the rows.
warn_unknown_directions <- function(fit) {
  p <- length(fit$columns)
  if (fit$rank >= p) return(invisible())
  frames <- klr_frames(fit)
  take <- unique(round(seq(1, dim(frames)[3], length.out = 400L)))
  rows <- svd(fit$posterior$x, nu = 0L)
  rows <- rows$d * t(rows$v)
  spans <- apply(frames[, , take, drop = FALSE], 3L, function(u) {
    svd(rows %*% matrix(u, ncol = fit$rank), nv = 0L)$u
  })
  agreement <- svd(matrix(spans, nrow(rows)), 0L, 0L)$d[1]^2 / length(take)
  if (agreement >= 0.75) return(invisible())
  bk_warn("identification", "The draws do not agree on any direction.",
  sprintf("Found: agreement %.2f, of %d rows and %d predictors; 1: known.", agreement, fit$n, p),
  paste(
    "New rows may be predicted no better than by the shares of the classes,",
    "even where the rows of the fit are met."
  ), "Select first, as by `inclusion(bsvm(x, y, select = TRUE))`: Many predictors in ?klr.",
  agreement = agreement)
}

#' @rdname projection
#' @param x What `projection()` returns.
#' @param digits Significant digits.
#' @export
print.klr_projection <- function(x, digits = 3, ...) {
  cat("Mean space of the learned directions (standardized predictors):\n")
  print(format(x$directions, digits = digits), quote = FALSE, right = TRUE)
  q <- apply(x$angles, 2, stats::quantile, c(0.5, 0.9), names = FALSE)
  cat(sprintf(
    "Principal angles of the draws to it: median %s, 90 %% below %s degrees\n",
    toString(round(q[1, ], 1)), toString(round(q[2, ], 1))
  ))
  invisible(x)
}

# The model ----------------------------------------------------------------------

delayedAssign("klr_model", list(
  name = "klr", methods = c(rjmcmc = "sampler"), links = "logit",
  arguments = list(
    rank = check_ranks, folds = count_from(2), warmup = count_from(0),
    ndraws = count_from(1), thin = count_from(1), until = check_auto_until
  ),
  settle = function(settings) {
    settle_until(settings, stop_at(rhat = 1.05), c(warmup = 20000, draws = 1000, thin = 20))
  },
  rows = list(linear = FALSE, weights = FALSE, response = function(settings) "pair"),
  job = klr_job, chains = klr_chains, draws = klr_draws, watched = klr_watched,
  collect = klr_collect,
  free_state = c("centre", "log_lambda", "coefficient", "variance")
))
