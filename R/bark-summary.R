#' Summary of Bayesian additive regression or classification kernels
#'
#' @param object,x A fit by [bark()], or its summary.
#' @param digits Significant digits.
#' @param ... No further arguments.
#' @return `summary()`: an object of class `summary.bark`, a list of
#'   * `parameters`: matrix with a row for each variable that means the same in
#'     every draw (`sigma`, `J`, `m`, `d`, cut points, f at the reference rows;
#'     see section Draws of [bark()]), and columns `Estimate` (posterior mean),
#'     `SD`, `2.5 %`, `97.5 %`, `R-hat` and `ESS`, the smaller of the effective
#'     sample sizes of bulk and tails. For f the spread is that of its posterior
#'     (normal quantiles), with the spread of the coefficients within a draw;
#'   * `scales`: the same columns without the last two for the kernel scales of
#'     the predictors, largest first, with `select = TRUE` also `Inclusion`,
#'     most probable first. Moments and quantiles count a predictor outside the
#'     model as 0;
#'   * `kernels`: data frame with `kernels`, `prior` and `posterior`, the
#'     probabilities of each number of kernels;
#'   * `acceptance`: share of the proposed moves that were accepted, by kind,
#'     over all chains, after the warmup; `NaN` for kinds that were never
#'     proposed;
#'   * `reference`: numbers of the rows of the data at which f is shown;
#'   * `family`, `levels`, `n`, `structure`, `call`, `diagnostics`, `elapsed`.
#' @examples
#' set.seed(1)
#' d <- data.frame(a = runif(50, -2, 2), b = runif(50))
#' d$y <- sin(2 * d$a) + rnorm(50) / 5
#' # Far longer chains are needed in earnest.
#' fit <- bark(y ~ a + b, d, chains = 2, warmup = 2000, draws = 200, thin = 10,
#'   threads = 1, seed = 1)
#' summary(fit)
#' @export
summary.bark <- function(object, ...) {
  check_no_dots(...)
  structure(
    list(
      parameters = bark_parameters(object), scales = bark_scale_table(object),
      kernels = kernel_counts(object), acceptance = acceptance_rates(object),
      reference = object$reference, family = object$family,
      scaling = object$scales, select = object$select,
      structure = object$structure, levels = object$levels, n = object$n,
      prior = object$prior, share = object$share, method = object$method,
      call = object$call, diagnostics = fit_quality(object),
      elapsed = object$elapsed
    ),
    class = "summary.bark"
  )
}

# f is drawn as its mean given the rest: its spread is that of the fit, which
# has the coefficients' too, and its quantiles are those of a normal variable.
bark_parameters <- function(object, level = 0.95) {
  names <- watched_names(object$draws)
  flat <- stack_chains(object$draws)[, names, drop = FALSE]
  table <- object$diagnostics$table
  out <- draws_table(flat, level)
  at <- startsWith(names, "f[")
  own <- object$posterior$reference
  out[at, ] <- coef_table(
    object$fitted$mean[own], sqrt(object$fitted$var[own]),
    level = level
  )
  cbind(
    out,
    # Small counts can be constant in the tails.
    "R-hat" = table$rhat,
    ESS = pmin(table$ess_bulk, table$ess_tail, na.rm = TRUE)
  )
}

bark_scale_table <- function(object, level = 0.95) {
  out <- draws_table(bark_scales(object), level)
  if (!object$select) {
    return(out[order(-out[, "Estimate"]), , drop = FALSE])
  }
  out <- cbind(out, Inclusion = inclusion.bark(object))
  out[order(-out[, "Inclusion"], -out[, "Estimate"]), , drop = FALSE]
}

# The Poisson prior of the number of kernels, cut at the largest allowed, beside
# how often the draws have each.
kernel_counts <- function(object) {
  drawn <- as.vector(object$draws[, , "J"])
  mean <- expected_kernels(object$prior)
  last <- min(
    object$max_kernels, max(drawn, stats::qpois(0.9999, mean))
  )
  kernels <- 0:last
  data.frame(
    kernels = kernels,
    prior = stats::dpois(kernels, mean) /
      stats::ppois(object$max_kernels, mean),
    posterior = tabulate(drawn + 1L, last + 1L) / length(drawn)
  )
}

# Over the chains.
acceptance_rates <- function(object) {
  counts <- rowSums(object$acceptance, dims = 2L)
  stats::setNames(counts[, 2] / counts[, 1], rownames(counts))
}

#' @rdname summary.bark
#' @export
print.summary.bark <- function(x, digits = default_digits(), ...) {
  print_header(bark_title(x$family), x$call, bark_facts(x, digits))
  at <- startsWith(rownames(x$parameters), "f[")
  print_coef_table(x$parameters[!at, , drop = FALSE], digits)
  writeLines(c("", strwrap(sprintf(
    "%s at rows %s of the data:",
    if (x$family == "gaussian") "Function" else "Latent function",
    paste(x$reference, collapse = ", ")
  ), 79)))
  print_coef_table(x$parameters[at, , drop = FALSE], digits)
  cat("\n")
  print_scales(x, digits, max_rows = 12L)
  writeLines(gsub(
    "~", " ", strwrap(acceptance_text(x$acceptance), 79, exdent = 2)
  ))
  writeLines(strwrap(quality_note(x), 79, exdent = 2))
  invisible(x)
}

#' @rdname summary.bark
#' @export
print.bark <- function(x, digits = default_digits(), ...) {
  summary <- summary.bark(x)
  print_header(bark_title(x$family), x$call, bark_facts(summary, digits))
  columns <- setdiff(colnames(summary$parameters), c("R-hat", "ESS"))
  at <- startsWith(rownames(summary$parameters), "f[")
  print_coef_table(summary$parameters[!at, columns, drop = FALSE], digits)
  cat("\n")
  print_scales(summary, digits, max_rows = 8L)
  writeLines(strwrap(convergence_line(summary), 79, exdent = 2))
  invisible(x)
}

print_scales <- function(x, digits, max_rows) {
  cat(sprintf(
    "Kernel scales%s:\n",
    if (x$select) ", by probability of being in the model" else ""
  ))
  shown <- utils::head(x$scales, max_rows)
  print_coef_table(shown, digits)
  rest <- x$scales[-seq_len(nrow(shown)), , drop = FALSE]
  if (nrow(rest) > 0L) {
    column <- if (x$select) "Inclusion" else "Estimate"
    cat(sprintf(
      "... and %d more, %s at most %s\n", nrow(rest),
      if (x$select) "inclusion" else "mean",
      format(max(rest[, column]), digits = 2)
    ))
  }
  cat("\n")
}

bark_title <- function(family) {
  sprintf("Bayesian additive %s", switch(family,
    gaussian = "regression kernels",
    binomial = "classification kernels",
    ordinal = "kernels for ordered classes"
  ))
}

bark_facts <- function(x, digits) {
  kernels <- x$parameters[c("J", "m"), , drop = FALSE]
  prior <- expected_kernels(x$prior)
  list(
    Rows = if (x$family == "gaussian") {
      sprintf("%.0f", x$n)
    } else if (length(x$levels) == 2L) {
      sprintf(
        "%.0f, %s %% of class \"%s\" (the positive one)", x$n,
        format(100 * x$share, digits = 3), x$levels[2]
      )
    } else {
      sprintf(
        "%.0f in %d classes: %s", x$n, length(x$levels),
        paste(utils::head(x$levels, 8L), collapse = " < ")
      )
    },
    Kernels = sprintf(
      "%.1f at %.1f places (means), %s expected by the prior",
      kernels["J", 1], kernels["m", 1], format(prior, digits = digits)
    ),
    Scales = if (x$scaling == "equal") {
      "one for all predictors in the model"
    } else {
      "one for each predictor"
    },
    Selection = if (x$select) {
      inclusion <- x$scales[, "Inclusion"]
      sprintf(
        "among %d predictors%s; %d above 0.5, %s expected", length(inclusion),
        if (is.null(x$structure)) "" else " in blocks",
        sum(inclusion > 0.5), format(sum(inclusion), digits = 3)
      )
    },
    Structure = if (!is.null(x$structure)) {
      expected <- expected_blocks(x$structure, nrow(x$scales))
      sprintf(
        "%s predictors in %s blocks expected by the prior",
        format(expected[["variables"]], digits = 3),
        format(expected[["blocks"]], digits = 3)
      )
    }
  )
}

# A tilde stands for a space at which no line is broken.
acceptance_text <- function(rates) {
  rates <- rates[!is.nan(rates)]
  if (length(rates) == 0L) {
    return(character())
  }
  paste0("Accepted moves: ", paste(
    sprintf("%s~%.0f~%%", gsub(" ", "~", names(rates)), 100 * rates),
    collapse = ", "
  ), ".")
}

#' Tidy tables of Bayesian additive regression or classification kernels
#'
#' @param x A fit by [bark()].
#' @param conf.int Add posterior intervals, default `FALSE`.
#' @param conf.level Their probability, default 0.95.
#' @param data,newdata Rows to add predictions to; `newdata` takes precedence.
#'   Default: those of the fit, which needs `model = TRUE`.
#' @param ... No further arguments.
#' @return A tibble, or a data frame when package tibble is missing.
#' * `tidy()`: `effect`, `"parameter"` or `"scale"`; `term`, as in
#'   [summary.bark()], or the predictor; `estimate` (posterior mean),
#'   `std.error` (posterior sd), with `conf.int` `conf.low` and `conf.high`; and
#'   `inclusion`, the probability of a predictor to be in the model, `NA` for
#'   parameters and without selection.
#' * `glance()`: one row with `nobs`, `family`, `method`, `kernels` (their mean
#'   number), `sigma` (`NA` for classes), `converged` (R-hat at most 1.05
#'   everywhere), `rhat.max`, `ess.min`, `seconds`.
#' * `augment()`: the data with `.fitted` (regression: mean of the response;
#'   classes: of the latent function), `.se.fit` (its posterior sd), and for
#'   classes `.prob` (of the positive class; with more than two `.prob_` with
#'   each class) and `.class`.
#' @examples
#' set.seed(1)
#' d <- data.frame(a = runif(50, -2, 2), b = runif(50))
#' d$y <- sin(2 * d$a) + rnorm(50) / 5
#' # Far longer chains are needed in earnest.
#' fit <- bark(y ~ a + b, d, select = TRUE, chains = 2, warmup = 2000,
#'   draws = 200, thin = 10, threads = 1, seed = 1)
#' tidy(fit, conf.int = TRUE)
#' glance(fit)
#' head(augment(fit, d))
#' @export
tidy.bark <- function(x, conf.int = FALSE, conf.level = 0.95, ...) {
  check_no_dots(...)
  conf.int <- check_flag(conf.int, "conf.int")
  level <- check_number(conf.level, 0, 1, "conf.level", closed = FALSE)
  rows <- function(effect, table, inclusion) {
    data.frame(
      effect = effect, term = rownames(table), estimate = table[, 1],
      std.error = table[, 2], conf.low = table[, 3], conf.high = table[, 4],
      inclusion = inclusion
    )
  }
  scales <- draws_table(bark_scales(x), level)
  out <- rbind(
    rows("parameter", bark_parameters(x, level), NA_real_),
    rows("scale", scales, if (x$select) inclusion.bark(x) else NA_real_)
  )
  if (!conf.int) out$conf.low <- out$conf.high <- NULL
  rownames(out) <- NULL
  as_table(out)
}

#' @rdname tidy.bark
#' @export
glance.bark <- function(x, ...) {
  check_no_dots(...)
  d <- fit_quality(x)
  as_table(data.frame(
    nobs = x$n, family = x$family, method = x$method,
    kernels = mean(x$draws[, , "J"]),
    sigma = if (is_regression(x)) mean(x$draws[, , "sigma"]) else NA_real_,
    converged = isTRUE(d$max_rhat <= 1.05), rhat.max = d$max_rhat,
    ess.min = d$min_ess, seconds = x$elapsed[["total"]]
  ))
}

#' @rdname tidy.bark
#' @export
augment.bark <- function(x, data = NULL, newdata = NULL, ...) {
  check_no_dots(...)
  rows <- if (!is.null(newdata)) newdata else data
  if (is.null(rows)) {
    rows <- if (is.null(x$frame)) model.frame.bark(x) else x$frame
    moments <- x$fitted
  } else {
    moments <- bark_new_moments(
      x, rows, getOption("bayeskernel.threads", 2L)
    )
  }
  out <- as.data.frame(rows)
  out$.fitted <- moments$mean
  out$.se.fit <- sqrt(moments$var)
  if (!is_regression(x)) {
    if (is.matrix(moments$prob)) {
      out[paste0(".prob_", x$levels)] <- as.data.frame(moments$prob)
    } else {
      out$.prob <- moments$prob
    }
    out$.class <- bark_class(x, moments$prob)
  }
  as_table(out)
}
