#' What a nonlinear machine says about its own rows
#'
#' @param object,x A fit by [gpsvm()].
#' @param type Of residuals, with t the label as 0 or 1, p the fitted probability
#'   and w the weight: `"response"`, t - p; `"pearson"`,
#'   \eqn{\sqrt{w} (t - p) / \sqrt{p (1 - p)}}{sqrt(w) (t - p) / sqrt(p (1 -
#'   p))}. With more than two classes p is that of the row's own class, t = 1.
#' @param formula A fit by [gpsvm()].
#' @param ... No further arguments.
#' @return Vectors in the order of the rows of the fit.
#' * `fitted()`: probabilities of the positive class by the probit link; with
#'   more than two classes a matrix, n x classes.
#' * `residuals()`: see `type`.
#' * `nobs()`: number of rows used.
#' * `weights()`: likelihood powers.
#' * `formula()`, `terms()`, `model.frame()`: of the formula interface;
#'   `model.frame()` needs a fit with `model = TRUE`.
#' @section Errors: `bayeskernel_error_argument` if the fit keeps nothing about
#'   its rows (those of a row source, or very many) or has no formula.
#' @examples
#' set.seed(1)
#' d <- data.frame(a = rnorm(100), b = rnorm(100))
#' d$y <- d$a * d$b + rnorm(100) / 2 > 0
#' fit <- gpsvm(y ~ a + b, d, threads = 1, seed = 1)
#' head(fitted(fit))
#' head(residuals(fit))
#' nobs(fit)
#' @name gpsvm-rows
NULL

#' @rdname gpsvm-rows
#' @export
fitted.gpsvm <- function(object, ...) {
  check_no_dots(...)
  gpsvm_kept_moments(object, "probit")$prob
}

#' @rdname gpsvm-rows
#' @export
residuals.gpsvm <- function(object, type = c("response", "pearson"), ...) {
  check_no_dots(...)
  type <- check_choice(type, c("response", "pearson"), "type")
  p <- fitted.gpsvm(object)
  y <- stats::napredict(object$na.action, object$y)
  out <- if (is.matrix(p)) {
    p <- p[cbind(seq_along(y), y)]
    1 - p
  } else {
    as.numeric(y > 0) - p
  }
  if (type == "pearson") {
    out <- sqrt(weights.gpsvm(object)) * out / sqrt(p * (1 - p))
  }
  out
}

#' @rdname gpsvm-rows
#' @export
nobs.gpsvm <- function(object, ...) object$n

#' @rdname gpsvm-rows
#' @export
weights.gpsvm <- function(object, ...) {
  if (is.null(object$weights) && is.null(object$y)) {
    bk_abort(
      "argument", "The fit keeps nothing about its rows.",
      "Their weights are all 1."
    )
  }
  weights <- object$weights
  if (is.null(weights)) weights <- rep(1, object$n)
  stats::napredict(object$na.action, weights)
}

#' @rdname gpsvm-rows
#' @export
formula.gpsvm <- function(x, ...) {
  need_gpsvm_formula(x)
  x$formula
}

#' @rdname gpsvm-rows
#' @export
terms.gpsvm <- function(x, ...) {
  need_gpsvm_formula(x)
  x$terms
}

#' @rdname gpsvm-rows
#' @export
model.frame.gpsvm <- function(formula, ...) {
  need_gpsvm_formula(formula)
  if (is.null(formula$frame)) {
    bk_abort(
      "argument", "The fit does not keep its model frame.",
      "Fit with `model = TRUE` to keep it."
    )
  }
  formula$frame
}

need_gpsvm_formula <- function(object) {
  if (is.null(object$formula)) {
    bk_abort(
      "argument", "The fit was made from a matrix and has no formula.",
      "Use gpsvm(formula, data), or keep x and y yourself."
    )
  }
}

#' @export
draws_from_posterior.gpsvm <- function(object, n = 1000, seed = NULL) {
  if (object$method == "ecm") {
    bk_abort(
      "argument", "The posterior mode has no draws.",
      "Use method = \"vb\" or method = \"gibbs\"."
    )
  }
  machines <- object$posterior$machines
  m <- ncol(object$posterior$z)
  with_seed(seed, {
    parts <- lapply(machines, function(machine) {
      v <- matrix(stats::rnorm(n * m), n, m) %*% machine$whitener +
        rep(machine$mean, each = n)
      v %*% t(object$posterior$factor)
    })
    out <- do.call(cbind, parts)
    colnames(out) <- process_names(names(machines), m, object$exact)
    out
  })
}

#' Summary of a nonlinear Bayesian support vector machine
#'
#' @param object,x A fit by [gpsvm()], or its summary.
#' @param newdata Rows to judge predictions on, as for [predict.gpsvm()].
#' @param y Their labels. With a formula they may be in `newdata`.
#' @param digits Significant digits.
#' @param ... No further arguments.
#' @return `summary()`: an object of class `summary.gpsvm`, a list of
#'   * `kernel`, `parameters` (named vector of variances and length-scales, in
#'     units of the standardised predictors), `nugget`, `inducing` (their
#'     number), `tuned`;
#'   * `gain`: estimate of what twice as many inducing points would add to the
#'     bound, from fits of both to at most some hundred rows, scaled to all;
#'     `NULL` for the exact process;
#'   * `measures`, with `newdata`: `error`, `brier`, `log_loss`, `auc` (of the
#'     latent mean; two classes) and `calibration`, see [brier_score()];
#'   * `n`, `levels`, `share`, `method`, `call`, `diagnostics`, `elapsed`.
#' @examples
#' set.seed(1)
#' x <- matrix(rnorm(600), 300, 2)
#' y <- x[, 1]^2 + x[, 2] + rnorm(300) / 2 > 1
#' fit <- gpsvm(x[1:200, ], y[1:200], threads = 1, seed = 1)
#' summary(fit, x[201:300, ], y[201:300])
#' @export
summary.gpsvm <- function(object, newdata = NULL, y = NULL, ...) {
  check_no_dots(...)
  structure(
    list(
      kernel = object$kernel, parameters = kernel_parameters(object$kernel),
      nugget = object$nugget, inducing = ncol(object$posterior$z),
      exact = object$exact, tuned = object$tuned, gain = object$gain,
      measures = if (!is.null(newdata)) {
        prediction_measures(object, newdata, y)
      },
      n = object$n, levels = object$levels, share = object$share,
      method = object$method, chosen = object$chosen, call = object$call,
      diagnostics = gpsvm_quality(object), elapsed = object$elapsed
    ),
    class = "summary.gpsvm"
  )
}

prediction_measures <- function(object, newdata, y, call = user_call()) {
  n <- if (inherits(newdata, "row_source")) length(y) else NROW(newdata)
  y <- factor(
    object$levels[new_labels(object, newdata, y, n)], object$levels
  )
  check_labels_there(y, "y", what = "Argument")
  prob <- predict.gpsvm(object, newdata, type = "prob")
  if (length(y) != nrow(prob)) abort_length("y", length(y), nrow(prob), call)
  there <- !is.na(prob[, 1])
  y <- y[there]
  prob <- prob[there, , drop = FALSE]
  two <- ncol(prob) == 2L
  scores <- if (two) prob[, 2] else prob
  out <- list(
    rows = length(y),
    error = mean(max.col(prob, "last") != as.integer(y)),
    brier = brier_score(y, scores), log_loss = log_loss(y, scores)
  )
  if (two) {
    latent <- predict.gpsvm(object, newdata, type = "link")[there]
    out$error <- mean((latent >= 0) != (as.integer(y) == 2L))
    if (length(unique(y)) == 2L) out$auc <- auc(y, latent)
  }
  out$calibration <- calibration(y, scores)
  out
}

gpsvm_quality <- function(object) {
  if (object$method == "gibbs") {
    return(fit_quality(object))
  }
  d <- object$diagnostics
  bound <- object$trace$elbo
  objective <- object$trace$objective
  c(
    d[c("passes", "steps", "batch_size", "converged", "jitter")],
    list(
      watched = length(object$trace$epochs) > 0L || d$passes > 0,
      elbo = if (length(bound)) bound[length(bound)] else NA_real_,
      objective = if (length(objective)) objective[length(objective)]
    )
  )
}

#' @rdname summary.gpsvm
#' @export
print.summary.gpsvm <- function(x, digits = default_digits(), ...) {
  print_header(gpsvm_title(x$method), x$call, gpsvm_facts(x, digits))
  if (!is.null(x$measures)) {
    m <- x$measures
    cat(sprintf("Predictions for %d rows:\n", m$rows))
    values <- unlist(m[c("error", "brier", "log_loss", "auc")])
    names(values) <- c(
      "Error", "Brier score", "Log loss", "AUC"
    )[seq_along(values)]
    print_facts(lapply(values, format, digits = digits))
    cat("\n")
  }
  if (!is.null(x$gain)) {
    writeLines(strwrap(sprintf(
      "Twice the inducing points would add about %s to the bound.",
      format(x$gain, digits = 2)
    ), 79))
  }
  cat(gpsvm_line(x), "\n", sep = "")
  invisible(x)
}

#' @rdname summary.gpsvm
#' @export
print.gpsvm <- function(x, digits = default_digits(), ...) {
  summary <- summary.gpsvm(x)
  print_header(gpsvm_title(x$method), x$call, gpsvm_facts(summary, digits))
  cat(gpsvm_line(summary), "\n", sep = "")
  invisible(x)
}

gpsvm_title <- function(method) {
  sprintf("Bayesian nonlinear support vector machine, %s", switch(method,
    vb = "variational Bayes",
    svi = "stochastic variational Bayes",
    gibbs = "Gibbs sampler",
    ecm = "posterior mode"
  ))
}

gpsvm_facts <- function(x, digits) {
  list(
    Rows = if (length(x$levels) == 2L) {
      sprintf(
        "%.0f, %s %% of class \"%s\" (the positive one)", x$n,
        format(100 * x$share, digits = 3), x$levels[2]
      )
    } else {
      sprintf(
        "%.0f in %d classes, a machine for each: %s", x$n, length(x$levels),
        list_some(x$levels)
      )
    },
    Kernel = format(x$kernel),
    Nugget = if (x$nugget > 0) format(x$nugget, digits = digits),
    Inducing = if (x$exact) {
      "every row (exact process)"
    } else {
      sprintf("%d points", x$inducing)
    },
    Tuned = if (!is.null(x$tuned)) tuning_text(x$tuned),
    Method = if (x$chosen) {
      sprintf(
        "\"%s\", chosen for %.0f rows and %d inducing points", x$method, x$n,
        x$inducing
      )
    }
  )
}

tuning_text <- function(tuned) {
  text <- if (tuned$by == "cv") {
    sprintf(
      "by %d-fold cross-validation over %d settings, log loss %s", tuned$folds,
      nrow(tuned$grid), format(min(tuned$grid$log_loss), digits = 3)
    )
  } else {
    sprintf("by the bound, from three starts, on %.0f rows", tuned$rows)
  }
  if (length(tuned$off)) {
    text <- paste0(text, "; switched off: ", paste(tuned$off, collapse = ", "))
  }
  text
}

gpsvm_line <- function(x) {
  d <- x$diagnostics
  if (x$method == "gibbs") {
    return(convergence_line(x))
  }
  work <- c(
    if (isTRUE(d$steps > 0)) {
      sprintf(
        ngettext(d$steps, "%.0f minibatch of %.0f", "%.0f minibatches of %.0f"),
        d$steps, d$batch_size
      )
    },
    if (d$passes > 0) sprintf("%.0f passes", d$passes)
  )
  value <- if (x$method == "ecm") {
    sprintf("objective %s", format(d$objective, digits = 7))
  } else if (is.na(d$elbo)) {
    "bound not computed"
  } else {
    sprintf("bound %s", format(d$elbo, nsmall = 2, digits = 7))
  }
  sprintf(
    "%s after %s, %s, %s s",
    if (!isTRUE(d$converged)) {
      "NOT converged"
    } else if (d$watched) {
      "Converged"
    } else {
      "Ended"
    },
    paste(work, collapse = " and "), value,
    format(x$elapsed[["total"]], digits = 2)
  )
}

#' Tidy tables of a nonlinear Bayesian support vector machine
#'
#' @param x A fit by [gpsvm()].
#' @param data,newdata Rows to add predictions to; `newdata` takes precedence.
#' @param link As in [predict.gpsvm()].
#' @param ... No further arguments.
#' @return A tibble, or a data frame when package tibble is missing.
#' * `tidy()`: a row for each kernel parameter, `term` and `estimate`, in units
#'   of the standardised predictors, and for the nugget.
#' * `glance()`: one row with `nobs`, `method`, `inducing`, `elbo`, `passes`,
#'   `converged`, `rhat.max`, `ess.min`, `seconds`.
#' * `augment()`: the data with `.fitted` (latent mean), `.prob` (probability of
#'   the positive class) and `.class`; for more than two classes `.class` and
#'   `.prob_` with each class.
#' @examples
#' set.seed(1)
#' d <- data.frame(a = rnorm(100), b = rnorm(100))
#' d$y <- d$a * d$b + rnorm(100) / 2 > 0
#' fit <- gpsvm(y ~ a + b, d, threads = 1, seed = 1)
#' tidy(fit)
#' glance(fit)
#' head(augment(fit, d))
#' @export
tidy.gpsvm <- function(x, ...) {
  check_no_dots(...)
  values <- c(kernel_parameters(x$kernel), nugget = x$nugget)
  as_table(data.frame(term = names(values), estimate = unname(values)))
}

#' @rdname tidy.gpsvm
#' @export
glance.gpsvm <- function(x, ...) {
  check_no_dots(...)
  d <- gpsvm_quality(x)
  sampled <- x$method == "gibbs"
  as_table(data.frame(
    nobs = x$n, method = x$method, inducing = ncol(x$posterior$z),
    elbo = if (sampled) NA_real_ else d$elbo,
    passes = if (sampled) NA_integer_ else as.integer(d$passes),
    converged = if (sampled) isTRUE(d$max_rhat <= 1.05) else d$converged,
    rhat.max = if (sampled) d$max_rhat else NA_real_,
    ess.min = if (sampled) d$min_ess else NA_real_,
    seconds = x$elapsed[["total"]]
  ))
}

#' @rdname tidy.gpsvm
#' @export
augment.gpsvm <- function(x, data = NULL, newdata = NULL,
                          link = c("probit", "hinge"), ...) {
  check_no_dots(...)
  link <- check_choice(link, c("probit", "hinge"), "link")
  rows <- if (!is.null(newdata)) newdata else data
  if (is.null(rows)) {
    rows <- if (is.null(x$frame)) model.frame.gpsvm(x) else x$frame
    moments <- gpsvm_kept_moments(x, link)
  } else {
    moments <- gpsvm_moments(
      x, rows, link, getOption("bayeskernel.threads", 2L)
    )
  }
  out <- as.data.frame(rows)
  if (is.matrix(moments$prob)) {
    out[paste0(".prob_", x$levels)] <- as.data.frame(moments$prob)
  } else {
    out$.fitted <- moments$mean
    out$.prob <- moments$prob
  }
  out$.class <- chosen_class(x, moments$prob, NULL)
  as_table(out)
}
