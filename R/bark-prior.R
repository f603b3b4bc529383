#' Prior of Bayesian additive regression kernels
#'
#' Every constant of the prior of [bark()]. They refer to the standardised
#' predictors and, in a regression, to the standardised response.
#'
#' The number of kernels is Poisson; [levy()] tells its mean, which is
#' `gamma / epsilon` at `alpha = 1`. A coefficient is `epsilon` times a t
#' variable with `alpha` degrees of freedom: at the default a Cauchy variable,
#' for which the kernels at one location add up to one column of the model.
#' Other values of `alpha` keep every kernel apart and cost more.
#'
#' @param alpha Index of stability, strictly between 0 and 2, default 1.
#' @param gamma Intensity of the Levy measure, positive, default 5.
#' @param epsilon Size of the small jumps that are left out, positive, default
#'   0.5.
#' @param lambda_shape,lambda_rate Shape and rate of the gamma prior of the sum
#'   of the kernel scales of all predictors in the model; default 1 each.
#' @param inclusion `c(a, b)`, both positive: the probability that a predictor
#'   is in the model is Beta(a, b), and is integrated out. Default `c(1, 1)`.
#'   Read with `select = TRUE` and without `structure`.
#' @param phi Prior of the precision of the noise: `"loguniform"`, the default,
#'   from 1e-6 to 1e8, or `c(shape, rate)` of a gamma distribution. Read in
#'   regressions.
#' @param max_kernels Most kernels, a whole number of at least 1. `NULL`, the
#'   default, is n - 1 for n rows, at most 200.
#' @return An object of class `c("bark_prior", "bayeskernel_prior")`, a list
#'   with the arguments as elements.
#' @section Errors: `bayeskernel_error_prior` names the argument, what was found
#'   and what would be accepted.
#' @references Ouyang, Z. (2008). *Bayesian additive regression kernels*. PhD
#'   thesis, Duke University, sections 3.1 and 3.2. Its prior of `phi`, 1 / phi
#'   on the whole half line, leaves the posterior improper, hence the bounds.
#' @examples
#' bark_prior()
#' bark_prior(gamma = 2, phi = c(2, 1))
#' @export
bark_prior <- function(alpha = 1, gamma = 5, epsilon = 0.5, lambda_shape = 1,
                       lambda_rate = 1, inclusion = c(1, 1),
                       phi = "loguniform", max_kernels = NULL) {
  structure(
    list(
      alpha = check_alpha(alpha), gamma = prior_number(gamma, "gamma"),
      epsilon = prior_number(epsilon, "epsilon"),
      lambda_shape = prior_number(lambda_shape, "lambda_shape"),
      lambda_rate = prior_number(lambda_rate, "lambda_rate"),
      inclusion = positive_numbers(inclusion, "inclusion", c("a", "b")),
      phi = if (identical(phi, "loguniform")) {
        phi
      } else {
        positive_numbers(
          phi, "phi", c("shape", "rate"), "\"loguniform\", or "
        )
      },
      max_kernels = if (!is.null(max_kernels)) {
        check_count(max_kernels, 1, name = "max_kernels", kind = "prior")
      }
    ),
    class = c("bark_prior", "bayeskernel_prior")
  )
}

check_alpha <- function(alpha, call = user_call()) {
  check_number(
    alpha, 0, 2, "alpha",
    closed = c(FALSE, FALSE), kind = "prior", call = call
  )
}

# As many positive numbers as there are names, in that order.
positive_numbers <- function(x, name, names, or = "", call = user_call()) {
  good <- is.numeric(x) && length(x) == length(names) && is.null(dim(x)) &&
    all(is.finite(x)) && all(x > 0)
  if (!good) {
    abort_argument(
      x, name,
      sprintf(
        "%s%d positive finite numbers, c(%s)", or, length(names),
        paste(names, collapse = ", ")
      ),
      kind = "prior", call = call
    )
  }
  as.double(x)
}

#' @export
format.bark_prior <- function(x, digits = 4, ...) {
  number <- function(value) format(value, digits = digits)
  kernels <- number(expected_kernels(x))
  c(
    "kernels" = sprintf(
      "Poisson, %s expected%s", kernels,
      if (is.null(x$max_kernels)) {
        ""
      } else {
        sprintf(", at most %d", x$max_kernels)
      }
    ),
    "coefficients" = if (x$alpha == 1) {
      sprintf("Cauchy of scale %s", number(x$epsilon))
    } else {
      sprintf(
        "%s times t with %s degrees of freedom", number(x$epsilon),
        number(x$alpha)
      )
    },
    "sum of the scales" = sprintf(
      "gamma(%s, %s)", number(x$lambda_shape), number(x$lambda_rate)
    ),
    "inclusion" = sprintf("probability ~ Beta%s",
      prior_text(x$inclusion, digits)
    ),
    "precision of noise" = if (is.character(x$phi)) {
      "log-uniform from 1e-6 to 1e8"
    } else {
      paste0("gamma", prior_text(x$phi, digits))
    }
  )
}

#' @export
print.bark_prior <- function(x, digits = 4, ...) {
  text <- format(x, digits = digits)
  cat("Prior of bark()\n")
  cat(paste0("  ", format(paste0(names(text), ":")), " ", text, "\n"), sep = "")
  invisible(x)
}

#' Approximations of a stable Levy measure
#'
#' What the constants of [bark_prior()] mean: the symmetric stable process has
#' infinitely many small jumps, and [bark()] works with finitely many.
#'
#' @inheritParams bark_prior
#' @param x What `levy()` returns.
#' @param digits Significant digits.
#' @param ... No further arguments.
#' @return An object of class `levy`, a list of `alpha`, `gamma`, `epsilon`;
#'   `kernels`, the expected number of kernels; and `error`, the squared L2
#'   error of the approximation, in units of the squared norm of a kernel. Both
#'   are named by the approximation: `"continuous"`, which [bark()] uses, damps
#'   jumps below epsilon; `"truncated"` cuts them off.
#' @section Errors: `bayeskernel_error_prior`, as in [bark_prior()].
#' @references Ouyang, Z. (2008). *Bayesian additive regression kernels*. PhD
#'   thesis, Duke University, section 3.1 and appendix B, which has a bound of
#'   the continuous error in place of its value.
#' @examples
#' levy()
#' levy(alpha = 1.5, gamma = 2, epsilon = 0.1)
#' @export
levy <- function(alpha = 1, gamma = 5, epsilon = 0.5) {
  alpha <- check_alpha(alpha)
  gamma <- prior_number(gamma, "gamma")
  epsilon <- prior_number(epsilon, "epsilon")
  known <- core_call(levy_cpp(alpha, gamma, epsilon))
  if (!all(is.finite(unlist(known)))) {
    bk_abort(
      "prior", "The measure is beyond the range of numbers.",
      c(
        sprintf("Found: gamma %s, epsilon %s.", format(gamma), format(epsilon)),
        "Accepted: both of an order at which kernels and error are finite."
      ),
      column = "gamma", found = c(gamma, epsilon)
    )
  }
  part <- function(name) {
    c(
      continuous = known$continuous[[name]], truncated = known$truncated[[name]]
    )
  }
  structure(
    list(
      alpha = alpha, gamma = gamma, epsilon = epsilon,
      kernels = part("kernels"), error = part("error")
    ),
    class = "levy"
  )
}

# Mean of the Poisson prior of the number of kernels.
expected_kernels <- function(prior) {
  levy_cpp(prior$alpha, prior$gamma, prior$epsilon)$continuous[["kernels"]]
}

#' @rdname levy
#' @export
print.levy <- function(x, digits = 4, ...) {
  cat(sprintf(
    "Stable Levy measure: alpha %s, gamma %s, epsilon %s\n",
    format(x$alpha, digits = digits), format(x$gamma, digits = digits),
    format(x$epsilon, digits = digits)
  ))
  table <- cbind(
    "Expected kernels" = x$kernels, "Squared L2 error" = x$error
  )
  rownames(table) <- c("continuous (bark)", "truncated")
  print_text(array(
    format(signif(table, digits), trim = TRUE, drop0trailing = TRUE),
    dim(table), dimnames(table)
  ))
  invisible(x)
}

#' Predictors that are in or out of the model in blocks
#'
#' A Markov chain along the columns of the predictors as prior of which of them
#' [bark()] has in its model: for predictors with an order, such as the points
#' of a spectrum, whose neighbours are likely to matter together.
#'
#' @param q Probability that a predictor is in, strictly between 0 and 1.
#' @param s Probability that a block of predictors in the model ends at any of
#'   its members: its length is 1 / s on average. Strictly between 0 and 1, and
#'   below (1 - q) / q.
#' @param hyper `NULL`, the default: q and s are known. Otherwise four positive
#'   numbers `c(a, b, c, d)`: the probability that the neighbour of a predictor
#'   outside the model is outside has the prior Beta(a, b), and the probability
#'   that the neighbour of one inside is inside Beta(c, d); q and s are then
#'   where the chains start.
#' @param x What `markov()` returns.
#' @param p Number of predictors, for the expected numbers of predictors and of
#'   blocks in the model.
#' @param digits Significant digits.
#' @param ... No further arguments.
#' @return An object of class `markov`, a list of `q`, `s`, `hyper`, and the
#'   probabilities of staying out, `q0` = 1 - q s / (1 - q), and in, `q1` = 1 -
#'   s.
#' @section Errors: `bayeskernel_error_prior` names the argument, what was found
#'   and what would be accepted.
#' @references Ouyang, Z. (2008). *Bayesian additive regression kernels*. PhD
#'   thesis, Duke University, section 4.2. The expected number of blocks is
#'   p q s + q (1 - s), of which it has the first term.
#' @examples
#' print(markov(q = 0.2, s = 0.15), p = 100)
#' @export
markov <- function(q, s, hyper = NULL) {
  q <- prior_number(q, "q", upper = 1)
  s <- check_ending(s, q)
  structure(
    list(
      q = q, s = s,
      hyper = if (!is.null(hyper)) {
        positive_numbers(hyper, "hyper", letters[1:4], "NULL, or ")
      },
      q0 = 1 - q * s / (1 - q), q1 = 1 - s
    ),
    class = "markov"
  )
}

# With blocks that end too often the chain is outside too rarely for its share.
check_ending <- function(s, q, call = user_call()) {
  s <- prior_number(s, "s", upper = 1, call = call)
  if (s >= (1 - q) / q) {
    abort_argument(
      s, "s",
      sprintf("a number below (1 - q) / q, which is %s", format((1 - q) / q)),
      kind = "prior", call = call
    )
  }
  s
}

# Under the stationary chain.
expected_blocks <- function(x, p) {
  c(variables = p * x$q, blocks = p * x$q * x$s + x$q * (1 - x$s))
}

#' @rdname markov
#' @export
format.markov <- function(x, p = NULL, digits = 4, ...) {
  number <- function(value) format(value, digits = digits)
  c(
    "probability of being in" = number(x$q),
    "mean length of a block" = number(1 / x$s),
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
  text <- format(x, p = p, digits = digits)
  cat("Markov prior of the predictors in the model\n")
  cat(paste0("  ", format(paste0(names(text), ":")), " ", text, "\n"), sep = "")
  invisible(x)
}
