#' Sequential kernel regression for streaming data
#'
#' @description
#' Non-linear regression, or classification of two classes, that reads its rows once and can add
#' rows later with [extend()] (a particle filter; the model of Vermaak, Godsill and Doucet, 2004).
#' One of the first thousand rows takes about a millisecond, a later one more, up to the limit that
#' `grid_max` of [seqkr_control()] sets.
#'
#' Quick start:
#' ```
#' nile <- data.frame(year = 1871:1970, flow = as.numeric(Nile))
#' fit <- seqkr(flow ~ year, nile[1:80, ], seed = 1)
#' fit <- extend(fit, nile[81:100, ])
#' ```
#'
#' @inheritParams fit-arguments
#' @param x,formula A formula; or a numeric matrix or data frame of predictors.
#' @param data,y Data frame with the variables of `formula`. Or the response, with a matrix `x`:
#'   numbers, or two classes as a factor (its second level is the positive class), text or logical.
#'   For 0/1 numbers give `family`.
#' @param family `NULL` (default): as the response says, `"gaussian"` or `"binomial"` (probit link).
#' @param kernel A kernel or its name, see [kernels]. An open length-scale is the median distance
#'   between rows. The paper's width w is `rbf(lengthscale = w / sqrt(2))`.
#' @param particles Number of particles. Default 250.
#' @param moves `"rj"` (default): every new input joins the centers, or takes the place of one near
#'   it, with its conditional probability. Reversible jumps follow. `"corrected"`: the paper's moves
#'   with a valid weight; the new input may take the place of a center, too. `"printed"`: the moves
#'   with the weight as the paper prints it. It warns, as it is no valid sampler and its
#'   `log_evidence` has no meaning.
#' @param sweeps Reversible jumps for each particle and row, with `"rj"`. Default 3. More are more
#'   accurate and slower.
#' @param order `"random"` (default): the rows are taken in random order. `"given"`: in their own
#'   order, as a stream.
#' @param grid `"seen"` (default): centers are inputs of rows seen so far. Or a matrix of
#'   candidates.
#' @param tune Choose a common factor of the length-scales, out of nine from 1/4 to 4, by the
#'   evidence; those far from the best are not tried. Default: if the kernel leaves a length-scale
#'   open, with at most 100 particles.
#' @param prior Made by [seqkr_prior()].
#' @param standardize Center and scale predictors, and a numeric response, by the rows of this call
#'   (default). [extend()] keeps the scale.
#' @param ... Passed to methods. An argument that no method knows is an error, and so is `weights`.
#' @return An object of class `c("seqkr", "bayeskernel_fit")`: a plain list that survives
#'   [saveRDS()]. Fields of use are `kernel`, `family`, `levels`, `columns`, `n`, `order`,
#'   `log_evidence`, and `posterior`, the particles. `trace$steps` has a row for each row of the
#'   data: `log_evidence`, `ess`, `stages`, `resampled`, `kernels`, `noise`, `seconds`. `reservoir`
#'   has up to 500 rows, for tuning in [extend()]. The methods of every fit are listed in
#'   [fit-arguments].
#'
#' @section Model: \eqn{y = b_0 + \sum_{c \in U} b_c k(x, c) + e}{y = b_0 +
#'   sum_(c in U) b_c k(x, c) + e}, \eqn{e \sim N(0, \sigma^2)}{e ~ N(0, sigma^2)}, or
#'   \eqn{P(y = 1) = \Phi(.)}{P(y = 1) = Phi(.)} of that sum. U is a set of
#'   inputs seen so far. Its size is Poisson, cut at `kmax`; sets of one size are equally probable.
#'   Coefficients are normal with a common variance, and are integrated out. Variances are inverse
#'   gamma, see [seqkr_prior()].
#'
#' @section Precision: With wide kernels the columns of centers are almost equal and their
#'   coefficients large. Where double precision loses their differences, sums of products are kept
#'   to twice as many digits, which costs time. For more than 100
#'   candidates of a matrix `grid`, or once `grid_max` is reached, the coefficients are shrunk a
#'   little instead.
#'
#' @section Limits of the model: Independent coefficients make smooth functions. Credible limits are
#'   those of the model, and too narrow where the function is rougher. Means of eight data sets:
#'   | function | rows | error (RMSE) | cover of 90 % limits |
#'   |---|---|---|---|
#'   | sin(1.5 x) | 200 | .050 | .92 |
#'   | sin(4 a) + b, noise .2 | 200 | .058 | .81 |
#'   | sin(2 a) + b^2 / 2 | 200 | .102 | .89 |
#'   | Friedman 1, 10 predictors | 100 | 2.10 | .61 |
#'   | probability of a class | 200 | .118 | .84 |
#'
#'   Longer runs, or an average over length-scales, change little. With more than five predictors
#'   credible limits are much too narrow, and `print()` says so. [gp()] in [bkm()] is a dense
#'   Gaussian process.
#'
#' @section Errors: See `?bayeskernel`. A constant column is dropped with a warning; a constant
#'   response is not scaled, with a warning. One row that leaves fewer than two particles
#'   effective, or three that leave less than 5 %, give a warning: the log evidence is not to be
#'   relied on. So do rows outside of the range of the candidates, once `grid_max` is reached.
#'
#' @references Vermaak, J., Godsill, S. J. and Doucet, A. (2004). Sequential Bayesian kernel
#'   regression. *Advances in Neural Information Processing Systems* 16.
#'
#'   Del Moral, P., Doucet, A. and Jasra, A. (2006). Sequential Monte Carlo
#'   samplers. *Journal of the Royal Statistical Society* B 68, 411-436.
#'
#' @seealso [extend()], which also adds rows to [bkm()] and [bsvm()]; [log_evidence()], [kernels],
#'   [seqkr_prior()], [seqkr_control()]; [predict()][predict.bayeskernel_fit],
#'   [plot()][plot.bayeskernel_fit]; `vignette("streaming")`.
#'   [published()] has the settings of the paper and [reproduce()] its tables. The site has them in
#'   the article "Reproduced: Vermaak, Godsill and Doucet (2004)".
#'
#' @examples
#' nile <- data.frame(year = 1871:1970, flow = as.numeric(Nile))
#' fit <- seqkr(flow ~ year, nile[1:80, ], seed = 1)
#' fit
#' fit <- extend(fit, nile[81:100, ])
#' predict(fit, data.frame(year = 1971), interval = "prediction")
#' log_evidence(fit)
#' @rdname seqkr
#' @export
seqkr <- function(x, ...) UseMethod("seqkr")

#' @rdname seqkr
#' @export
seqkr.formula <- function(formula, data, family = NULL, kernel = rbf(), particles = 250,
                          moves = c("rj", "corrected", "printed"), sweeps = 3,
                          order = c("random", "given"), grid = "seen", tune = NULL,
                          prior = seqkr_prior(), standardize = TRUE,
                          subset, na.action = stats::na.fail, seed = NULL,
                          threads = getOption("bayeskernel.threads", 2L), control = seqkr_control(),
                          model = TRUE, ...) {
  fit_model(seqkr_model, match.call(), environment(), ...)
}

#' @rdname seqkr
#' @export
seqkr.default <- function(x, y, family = NULL, kernel = rbf(), particles = 250,
                          moves = c("rj", "corrected", "printed"), sweeps = 3,
                          order = c("random", "given"), grid = "seen", tune = NULL,
                          prior = seqkr_prior(), standardize = TRUE,
                          na.action = stats::na.fail, seed = NULL,
                          threads = getOption("bayeskernel.threads", 2L), control = seqkr_control(),
                          model = TRUE, ...) {
  fit_model(seqkr_model, match.call(), environment(), ...)
}

check_grid <- function(grid, name) {
  if (is.data.frame(grid)) grid <- as.matrix(grid)
  matrix <- is.numeric(grid) && is.matrix(grid) && nrow(grid) > 0L && all(is.finite(grid))
  if (!identical(grid, "seen") && !matrix) {
    abort_argument(grid, name, "\"seen\", or a matrix of finite numbers, a candidate a row")
  }
  grid
}

#' Prior of sequential kernel regression
#'
#' They refer to the standardized predictors and response, if these are.
#'
#' @param lambda Mean of the Poisson distribution of the number of kernels
#'   before it is cut, positive; default 8. The published model has 1, which
#'   smooths functions of several predictors too much.
#' @param kmax Most kernels, a whole number; default 50. With 0 there is the constant alone.
#' @param noise `c(a, b)`: the variance of the noise has a density proportional
#'   to x^(-a - 1) exp(-b / x), default `c(1, 0.01)`; or one number, the
#'   variance itself, if it is known; or `c(0, 0)`, see below. Not read with `family = "binomial"`.
#' @param coef The same of the variance of the coefficients; default `c(1, 1)`.
#' @section Vanishing priors: The paper sets a = b = 0. The posterior is improper then, for any
#'   number of rows: towards a variance 0 of the coefficients the likelihood tends to a constant,
#'   and 1 / x has no finite integral there. `c(0, 0)` and shapes below 0.01 are accepted by
#'   [seqkr()] with a warning; the first variances come from the default prior then.
#' @param ... Not used: what is not among these arguments is an error.
#' @return An object of class `c("seqkr_prior", "bayeskernel_prior")`, a list
#'   with the arguments as elements.
#' @section Errors: `bayeskernel_error_prior` names the argument, what was found
#'   and what would be accepted.
#' @seealso [seqkr()], [seqkr_control()].
#' @references Vermaak, J., Godsill, S. J. and Doucet, A. (2004). Sequential Bayesian kernel
#'   regression. *Advances in Neural Information Processing Systems* 16, section 2.
#' @examples
#' seqkr_prior()
#' seqkr_prior(lambda = 5, noise = 0.01)
#' @export
seqkr_prior <- function(lambda = 8, kmax = 50, noise = c(1, 0.01), coef = c(1, 1), ...) {
  refuse_others(...)
  variance <- function(x, name) {
    if (length(x) == 1L) return(prior_number(x, name))
    if (is.numeric(x) && length(x) == 2L && all(x %in% 0)) return(c(0, 0))
    positive_numbers(x, name, c("a", "b"), "c(0, 0), one positive number, or ")
  }
  structure(
    list(
      lambda = prior_number(lambda, "lambda"),
      kmax = check_count(kmax, 0, 1000, name = "kmax", kind = "prior"),
      noise = variance(noise, "noise"), coef = variance(coef, "coef")
    ),
    class = c("seqkr_prior", "bayeskernel_prior")
  )
}

#' @export
format.seqkr_prior <- function(x, digits = 4, ...) {
  variance <- function(value) {
    if (length(value) == 1L) return(paste("known,", format(value, digits = digits)))
    paste0("inverse gamma", prior_text(value, digits))
  }
  c(
    "kernels" = sprintf("Poisson(%s), at most %d", format(x$lambda, digits = digits), x$kmax),
    "variance of noise" = variance(x$noise), "variance of coefficients" = variance(x$coef)
  )
}

delayedAssign("seqkr_model", list(
  name = "seqkr", methods = c(smc = "seeded"), links = "probit",
  families = c("gaussian", "binomial"),
  arguments = list(
    family = function(family, name) check_family(family, name, c("gaussian", "binomial")),
    kernel = function(kernel, name) {
      kernel <- as_kernel(kernel)
      check_kernel(kernel, name)
      refuse_rank(kernel, "seqkr()")
      if (stands_alone(kernel)) {
        bk_abort(
          "kernel", if (is_precomputed(kernel)) {
            "A precomputed kernel has no inputs that could be centers."
          } else {
            "A basis is no kernel."
          },
          paste(
            "Accepted: rbf(), matern(), periodic(), linear(), polynomial(),",
            "categorical() and combinations of them."
          ),
          column = name, found = kernel$kind
        )
      }
      kernel
    },
    particles = count_from(2), moves = one_of("rj", "corrected", "printed"), sweeps = count_from(0),
    ess = number_from(0),
    resampling = one_of("systematic", "stratified", "residual", "multinomial"), temper = check_flag,
    order = one_of("random", "given"), grid = check_grid, grid_max = count_from(1),
    unique_grid = check_flag, final_moves = count_from(0),
    move_rate = function(x, name) check_number(x, 0, 0.5, name, c(FALSE, TRUE)),
    tune = check_flag
  ),
  settle = settle_regression,
  rows = list(
    linear = FALSE, weights = FALSE,
    response = function(settings) {
      if (settings$family == "binomial") "sequence" else settings$family
    }
  ),
  job = seqkr_job, run = seqkr_run, collect = seqkr_collect,
  limits = particle_limits
))
