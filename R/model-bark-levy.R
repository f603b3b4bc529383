#' Approximations of a stable Levy measure
#'
#' What the constants of [bark_prior()] mean: the symmetric stable process has
#' infinitely many small jumps, and [bark()] works with finitely many.
#'
#' @inheritParams bark_prior
#' @param x What `levy()` returns.
#' @param digits Significant digits.
#' @param ... No further arguments.
#' @param ... Not used: what is not among these arguments is an error.
#' @return An object of class `levy`, a list of `alpha`, `gamma`, `epsilon`; `kernels`, the expected
#'   number of kernels; and `error`, the squared L2 error of the approximation, in units of the
#'   squared norm of a kernel. Both are named by the approximation: `"continuous"`, which [bark()]
#'   uses, damps jumps below epsilon; `"truncated"` cuts them off. Its coefficients cannot be
#'   integrated out, so [bark()] has no truncated measure. [klr_prior()] has both.
#' @section Errors: `bayeskernel_error_prior`, as in [bark_prior()].
#' @seealso [bark_prior()], [bark()].
#' @references Ouyang, Z. (2008). *Bayesian additive regression kernels*. PhD
#'   thesis, Duke University, section 3.1 and appendix B, which has a bound of
#'   the continuous error instead of its value.
#' @examples
#' levy()
#' levy(alpha = 1.5, gamma = 2, epsilon = 0.1)
#' @export
levy <- function(alpha = 1, gamma = 5, epsilon = 0.5, ...) {
  refuse_others(...)
  alpha <- check_alpha(alpha)
  gamma <- prior_number(gamma, "gamma")
  epsilon <- prior_number(epsilon, "epsilon")
  known <- core_call(levy_cpp(alpha, gamma, epsilon))
  if (!all(is.finite(unlist(known)))) {
    bk_abort(
      "prior", "The measure is beyond the range of numbers.",
      sprintf("Found: gamma %s, epsilon %s.", format(gamma), format(epsilon)),
      "Accepted: both of an order at which kernels and error are finite.",
      column = "gamma", found = c(gamma, epsilon)
    )
  }
  part <- function(name) {
    c(continuous = known$continuous[[name]], truncated = known$truncated[[name]])
  }
  structure(
    list(
      alpha = alpha, gamma = gamma, epsilon = epsilon,
      kernels = part("kernels"), error = part("error")
    ),
    class = "levy"
  )
}

check_alpha <- function(alpha) {
  check_number(alpha, 0, 2, "alpha", closed = c(FALSE, FALSE), kind = "prior")
}

# Mean of the Poisson prior of the number of kernels.
expected_kernels <- function(prior) {
  levy_cpp(prior$alpha, prior$gamma, prior$epsilon)$continuous[["kernels"]]
}

#' @rdname levy
#' @export
print.levy <- function(x, digits = 4, ...) {
  cat(sprintf(
    "Stable Levy measure: alpha %s, gamma %s, epsilon %s\n", format(x$alpha, digits = digits),
    format(x$gamma, digits = digits), format(x$epsilon, digits = digits)
  ))
  table <- cbind("Expected kernels" = x$kernels, "Squared L2 error" = x$error)
  rownames(table) <- c("continuous (bark)", "truncated")
  text <- format(signif(table, digits), trim = TRUE, drop0trailing = TRUE)
  print(array(text, dim(table), dimnames(table)), quote = FALSE, right = TRUE)
  invisible(x)
}

#' Markov prior for selecting blocks of neighboring predictors
#'
#' A Markov chain along the columns of the predictors as prior of which of them
#' [bark()] has in its model: for predictors with an order, such as the points
#' of a spectrum, whose neighbors are likely to matter together.
#'
#' @param q Probability that a predictor is in, strictly between 0 and 1.
#' @param s Probability that a block of predictors in the model ends at any of its members: its
#'   length is 1 / s on average. Strictly between 0 and 1, and below (1 - q) / q.
#' @param hyper `NULL`, the default: q and s are known. Otherwise four positive numbers
#'   `c(a, b, c, d)`: the probability that the neighbor of a predictor outside the model is outside
#'   has the prior Beta(a, b), and the probability that the neighbor of one inside is inside
#'   Beta(c, d); q and s are then where the chains start.
#' @param x What `markov()` returns.
#' @param p Number of predictors, for the expected numbers of predictors and of blocks in the model.
#' @param digits Significant digits.
#' @param ... No further arguments.
#' @param ... Not used: what is not among these arguments is an error.
#' @return An object of class `markov`, a list of `q`, `s`, `hyper`, and the probabilities of
#'   staying out, `q0` = 1 - q s / (1 - q), and in, `q1` = 1 - s.
#' @section Errors: `bayeskernel_error_prior` names the argument, what was found
#'   and what would be accepted.
#' @seealso [bark()]; `vignette("structured-selection")`.
#' @references Ouyang, Z. (2008). *Bayesian additive regression kernels*. PhD
#'   thesis, Duke University, section 4.2. The expected number of blocks is
#'   p q s + q (1 - s), of which it has the first term.
#' @examples
#' print(markov(q = 0.2, s = 0.15), p = 100)
#' @export
markov <- function(q, s, hyper = NULL, ...) {
  refuse_others(...)
  check_given("q", "s")
  q <- prior_number(q, "q", upper = 1)
  s <- check_ending(s, q)
  structure(
    list(
      q = q, s = s,
      hyper = if (!is.null(hyper)) positive_numbers(hyper, "hyper", letters[1:4], "NULL, or "),
      q0 = 1 - q * s / (1 - q), q1 = 1 - s
    ),
    class = "markov"
  )
}

# With blocks that end too often the chain is outside too rarely for its share.
check_ending <- function(s, q) {
  s <- prior_number(s, "s", upper = 1)
  if (s >= (1 - q) / q) {
    abort_argument(
      s, "s", sprintf("a number below (1 - q) / q, which is %s", format((1 - q) / q)),
      kind = "prior"
    )
  }
  s
}

# Under the stationary chain.
expected_blocks <- function(x, p) c(variables = p * x$q, blocks = p * x$q * x$s + x$q * (1 - x$s))

#' @rdname markov
#' @export
format.markov <- function(x, p = NULL, digits = 4, ...) {
  number <- function(value) format(value, digits = digits)
  c(
    "probability of being in" = number(x$q), "mean length of a block" = number(1 / x$s),
    "stays out, in" = sprintf("%s, %s%s", number(x$q0), number(x$q1), {
      if (is.null(x$hyper)) "" else " at the start"
    }),
    "hyper-priors" = if (!is.null(x$hyper)) {
      sprintf(
        "Beta%s of staying out, Beta%s of staying in",
        prior_text(x$hyper[1:2], digits), prior_text(x$hyper[3:4], digits)
      )
    },
    "expected" = if (!is.null(p)) {
      expected <- expected_blocks(x, p)
      sprintf(
        "%s of %.0f predictors, in %s blocks", number(expected[["variables"]]),
        p, number(expected[["blocks"]])
      )
    }
  )
}

#' @rdname markov
#' @export
print.markov <- function(x, p = NULL, digits = 4, ...) {
  if (!is.null(p)) p <- check_count(p, 1, name = "p")
  print_lines("Markov prior of the predictors in the model", format(x, p = p, digits = digits))
  invisible(x)
}
