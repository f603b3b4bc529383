# summary() and print() of every fit: the facts, tables cut from parameters(), and a line about how
# the fit ended.

#' Summary of a fit
#'
#' @description
#' Estimates with standard deviations and limits, variance components, and what there is to know
#' about convergence. With `newdata` also scores of predictions.
#'
#' Quick start:
#' ```
#' data("bdf", package = "nlme")
#' fit <- bkm(langPOST > 40 ~ IQ.verb + ses + (1 | schoolNR), bdf)
#' summary(fit, exp = TRUE)
#' ```
#'
#' @param object,x A fit, or its summary.
#' @param newdata Rows to judge predictions on, as for `predict()`.
#' @param y Their response. Not needed if `newdata` contains it.
#' @param exp Show odds ratios instead of log odds: of a [bkm()] of family
#'   `"logit"`. Estimate and limits are exponentials of those of the
#'   coefficients, the SD is that times the ratio. Default `FALSE`.
#' @param vcov Covariance that standard deviations and limits of fixed coefficients are from:
#'   `"sandwich"` or `"posterior"`, see [vcov()][vcov.bayeskernel_fit]. `NULL`: the fit's own.
#' @param digits Significant digits that `print()` shows of the largest estimate of a table, from 1
#'   to 22. The smallest SD has one fewer, at least one, and all rows have the same decimals.
#'   Default: four less than `options("digits")`, at least 3.
#' @param detail Print every fact, the acceptance rates of samplers and the function at some rows,
#'   too. Default `FALSE`.
#' @param ... No further arguments.
#' @return `summary()`: an object of class `summary.bayeskernel_fit`, a list. Its tables are
#'   matrices with columns `Estimate` (posterior mean), `SD`, `2.5 %` and `97.5 %`. Samplers add
#'   `R-hat` and `ESS`, the effective sample size. Selection adds `Inclusion` and `Prior`, the
#'   probabilities to be in the model. A table that does not apply is `NULL`:
#'   * `coefficients`: the fixed coefficients, on the scale of the data;
#'   * `selection`: those under selection, most probable first, with their point mass at 0;
#'   * `variances`: standard deviations `sd(effect | group)` and correlations
#'     `cor(effect, effect | group)` of random effects, and `sd(penalty)` of penalized coefficients,
#'     for standardized predictors. `sd(s(x))` is that of the coefficients of a smooth: 0 for a
#'     line, larger for a curve that bends more. Its unit depends on the basis;
#'   * `smooths`: effective degrees of freedom and number of columns of each smooth;
#'   * `scales`: the kernel scales of [bark()], or the shares of predictors in the directions of
#'     [klr()]; a predictor outside the model counts as 0. A scale says how narrow a kernel is, not
#'     how much a predictor matters: the most probable come first, then those with the largest range
#'     of their partial effect, which `print()` shows as `Range`;
#'   * `parameters`: those of the kernel of [gpsvm()], for standardized predictors; those of
#'     [bark()] that mean the same in every draw, see [bark_control()].
#'
#'   With `newdata` the element `measures` has scores of the predictions, see [brier_score()].
#'   `Pareto k` checks `"ep"` by importance sampling: below 0.5 the approximation is good, above 0.7
#'   use `method = "gibbs"`.
#'
#'   Further elements are `facts` (the lines at the head), `n`, `levels`, `method`, `call`,
#'   `diagnostics` and `elapsed`. [bark()] has `kernels` (their number), `acceptance` (of proposed
#'   moves) and `reference` (the rows at which f is shown).
#'
#'   `print()` of a fit shows the facts and the shorter tables. As a data frame:
#'   `tidy(fit, effects = "ran_pars", conf.int = TRUE)` has the variance components.
#' @section Estimates: For variational fits the intervals are those of the factors of q;
#'   correlations are summarized by 4000 draws with a fixed seed. The estimate of a standard
#'   deviation is its posterior mean, in `print()` and [VarCorr()][VarCorr.bayeskernel_fit], too.
#'   Where the tail is so heavy that mean or variance do not exist, the estimate is the posterior
#'   median and `SD` is `NA`.
#' @section Errors: `bayeskernel_error_argument`, `_response` or `_dimension` if
#'   `y` is not the response of the rows of `newdata`.
#' @seealso [coef()][coef.bayeskernel_fit], [tidy()][tidy.bayeskernel_fit],
#'   [plot()][plot.bayeskernel_fit].
#' @examples
#' data("bdf", package = "nlme")
#' train <- bdf[1:1500, ]
#' fit <- bkm(langPOST > 40 ~ IQ.verb + ses + (1 | schoolNR), train)
#' summary(fit, exp = TRUE)
#' print(fit, digits = 2)
#' # With scores of predictions for other pupils.
#' summary(fit, newdata = bdf[-(1:1500), ])
#' @aliases summary.bkm summary.bsvm summary.gpsvm summary.mkprobit summary.bark summary.klr
#'   summary.seqkr print.bkm print.bsvm print.gpsvm print.mkprobit print.bark print.klr print.seqkr
#' @export
summary.bayeskernel_fit <- function(object, newdata = NULL, y = NULL,
                                    exp = FALSE, vcov = NULL, detail = FALSE,
                                    digits = max(3L, getOption("digits") - 4L), ...) {
  check_whole(object)
  detail <- check_flag(detail, "detail")
  digits <- check_count(digits, 1L, 22L)
  if (...length()) check_no_dots(...)
  if (!is.null(vcov)) object <- with_vcov(object, vcov, "vcov")
  y <- given(y, "y")
  extra <- extras(object)
  rows <- parameters(object, 0.95)
  exp <- check_flag(exp, "exp")
  if (exp) rows <- odds_ratios(object, rows, "exp")
  parts <- shown_parts(object, rows)
  matrices <- lapply(parts$rows, function(table) {
    if (nrow(table) > 0L) parameter_matrix(table)
  })
  # A linear model has coefficients, were it none.
  if (is.null(matrices$coefficients) && any(rows$effect == "ran_pars")) {
    matrices$coefficients <- parameter_matrix(parts$rows$coefficients)
  }
  structure(
    c(matrices, parts, list(
      n = object$n, method = object$method,
      measures = if (!is.null(newdata)) prediction_measures(object, newdata, y),
      exp = exp, notes = c(extra$notes, fit_hints(object)),
      detail = detail, details = extra$details, digits = digits
    ), extra$summary),
    class = "summary.bayeskernel_fit"
  )
}

# What both a fit and its summary print, such as `rows`, those of parameters() by the table that
# they are in. Scales of kernels do not tell how much a predictor matters, so they come with the
# range of its partial effect. The coefficients of a smooth mean nothing one by one: they belong to
# the curve, whose table says more.
shown_parts <- function(object, rows, only = NULL) {
  names <- c("coefficients", "selection", "scales", "variances", "parameters")
  table <- c(
    fixed = "coefficients", ran_pars = "variances", scale = "scales", share = "scales",
    kernel = "parameters", parameter = "parameters", "function" = "parameters"
  )[rows$effect]
  fixed <- rows$effect == "fixed"
  table[fixed & !is.na(rows$inclusion)] <- "selection"
  table[fixed & !is.na(rows$group)] <- NA
  tables <- split(rows, factor(table, names))
  for (name in c("selection", "scales")) {
    own <- tables[[name]]
    inclusion <- ifelse(is.na(own$inclusion), 0, own$inclusion)
    if (any(own$effect == "scale")) own$range <- unname(partial_ranges(object)[own$term])
    tables[[name]] <- own[order(-inclusion, -abs(own$range %||% own$estimate)), ]
  }
  call <- object$call
  typed <- call[["formula"]]
  # The formula itself, if it is short, where the call has its name, or what makes it.
  short <- inherits(object$formula, "formula") && length(deparse(object$formula)) == 1L
  plain <- is.call(typed) && identical(typed[[1L]], as.name("~"))
  if (!is.null(typed) && !plain && short) call$formula <- object$formula
  facts <- c(facts(object, only), Dropped = if (length(object$dropped)) dropped_fact(object))
  # Other titles name it.
  named <- length(object$levels) == 0L || grepl("logistic|probit", facts$title)
  list(
    rows = tables, smooths = if (length(object$smooths)) smooth_table(object),
    narrow = if (length(object$smooths)) narrow_smooths(object),
    facts = facts, link = if (!named) if (is.null(object$link$slope)) "probit" else "calibrated",
    levels = object$levels, call = call,
    # An extended fit has those of its first rows.
    variance_title = if (identical(object$data$absent, "extended")) {
      "Variance components, as they were before extend():"
    } else {
      "Variance components:"
    },
    diagnostics = fit_quality(object), elapsed = object$elapsed
  )
}

# Columns that have no coefficient, as NA of lm(); what smooths leave to others is no such column.
dropped_fact <- function(object) {
  dropped <- grep("\\.fx[0-9]+$", object$dropped, value = TRUE, invert = TRUE)
  if (length(dropped)) list_some(dropped)
}

# Fixed coefficients as odds ratios.
odds_ratios <- function(object, rows, name) {
  if (!is_linear(object) || linear_family(object) != "logit") {
    bk_abort(
      "argument", "Odds ratios belong to logistic models.",
      sprintf("Found: a fit by %s(), %s.", model_of(object)$name, if (is_regression(object)) {
        "a regression"
      } else {
        sprintf("link \"%s\"", links_of(object)[1])
      }),
      "Accepted: a fit by bkm(family = \"logit\").", column = name
    )
  }
  # Those of a smooth or process are no ratios one by one.
  at <- rows$effect == "fixed" & is.na(rows$group)
  for (column in c("estimate", "lower", "upper")) rows[[column]][at] <- exp(rows[[column]][at])
  rows$sd[at] <- rows$sd[at] * rows$estimate[at]
  rows
}

#' @rdname summary.bayeskernel_fit
#' @export
print.summary.bayeskernel_fit <- function(
  x, digits = x$digits %||% max(3L, getOption("digits") - 4L), ...
) {
  digits <- check_count(digits, 1L, 22L)
  if (x$detail) print_header(x$facts$title, x$call, x$facts[-1]) else print_head(x)
  print_tables(x, digits, max_rows = 60L)
  print_measures(x$measures, digits)
  if (!x$detail) {
    hidden <- c(facts_at_head, "Smooths", "Noise")
    print_facts(x$facts[setdiff(names(x$facts), hidden)], "\n")
  }
  for (line in c(x$notes, if (x$detail) x$details, quality_note(x))) print_line(line)
  invisible(x)
}

# Title with how the posterior was found, the call, and the rows.
print_head <- function(x) {
  # A check that went well is a detail.
  how <- sub(", [0-9]+ pass.*", "", x$facts$Posterior %||% "")
  title <- paste(c(x$facts$title, if (nzchar(how)) how), collapse = ", ")
  groups <- if (length(x$facts$Groups)) paste("groups:", paste(x$facts$Groups, collapse = ", "))
  link <- if (length(x$link)) paste("link:", x$link)
  rows <- paste(c(x$facts$Rows, groups, link), collapse = "; ")
  print_header(title, x$call, lines = 2L)
  print_facts(list(Rows = rows), "\n")
}

facts_at_head <- c("title", "Posterior", "Rows", "Groups")

# What print() of a fit says in addition to its tables.
facts_in_short <- c(
  "Pareto k",
  "Selection", "Not settled", "Missing", "Processes", "Kernel", "Kernels", "LOO", "Not tuned",
  "Inducing", "Spaces", "Weights", "Projection", "Agreement", "Fit", "Counts", "Chains", "Noise",
  "Dropped"
)

#' @rdname summary.bayeskernel_fit
#' @export
print.bayeskernel_fit <- function(x, digits = max(3L, getOption("digits") - 4L), ...) {
  digits <- check_count(digits, 1L, 22L)
  check_whole(x)
  # Of variances of a linear model there are estimates alone.
  linear <- !is.null(x$posterior$theta_mean)
  rows <- if (linear) fixed_parameters(x, 0.95) else parameters(x, 0.95)
  parts <- shown_parts(x, rows, c(facts_at_head, "Penalty", facts_in_short))
  print_head(parts)
  # What the chains are worth is said in one line below.
  parts$rows <- lapply(parts$rows, function(rows) {
    rows$rhat <- rows$ess <- rep(NA_real_, nrow(rows))
    rows[!(rows$effect %in% c("ran_pars", "function")), ]
  })
  print_tables(parts, digits, max_rows = 15L)
  if (has_groups(x)) {
    print_line(parts$variance_title)
    print_varcorr(group_covariances(x), digits)
    cat("\n")
  }
  facts <- parts$facts
  # The last line says it, too.
  if (any(grepl("they agree", facts$Chains))) facts$Chains <- NULL
  if (!is.null(facts$Noise)) {
    sd <- format(stats::sigma(x), digits = digits)
    facts$Noise <- if (!has_groups(x)) paste("sd", sd)
  }
  print_facts(facts[names(facts) %in% facts_in_short], "\n")
  print_line(convergence_line(parts))
  for (line in fit_hints(x)) print_line(line)
  if (!is.null(x$draws)) {
    d <- parts$diagnostics
    for (line in c(until_line(d), disagreement_line(d))) print_line(line)
  }
  invisible(x)
}

# Each table under its title; of the parameters those with a spread, values of the function apart.
print_tables <- function(x, digits, max_rows) {
  rows <- x$rows
  print_rows(
    if (isTRUE(x$exp)) {
      "Odds ratios (intercept: odds):"
    } else if (!is.null(x$facts$Penalty)) {
      "Fixed coefficients, shrunk by `penalty`:"
    } else {
      "Fixed coefficients:"
    }, rows$coefficients, digits, max_rows
  )
  if (!is.null(x$smooths)) print_smooths(x$smooths, x$narrow)
  if (NROW(rows$selection)) {
    print_chosen("Selected among, by inclusion probability:", rows$selection, digits, max_rows)
  }
  if (NROW(rows$scales)) {
    print_chosen(if (any(rows$scales$effect == "share")) {
      "Predictors, by their share of the learned directions:"
    } else if (!all(is.na(rows$scales$inclusion))) {
      "Predictors, by probability of being in the model (kernel scales):"
    } else {
      "Predictors, by the range of their partial effects (kernel scales):"
    }, rows$scales, digits, max_rows)
  }
  print_rows(x$variance_title, rows$variances, digits, max_rows)
  own <- rows$parameters
  own <- own[!is.na(own$lower), , drop = FALSE]
  values <- own$effect == "function"
  print_rows("Other parameters:", own[!values, ], digits, max_rows)
  # With variances of groups a screen has less room, with slopes as well none.
  slopes <- any(startsWith(rownames(own), "slope["))
  most <- if (!isTRUE(x$detail)) 0L else if (NROW(rows$variances)) 2L * !slopes else 6L
  if (any(values) && most > 0L) {
    shown <- own[values, ]
    count <- nrow(shown)
    shown <- shown[order(shown$estimate)[spread_over(count, most)], ]
    print_rows(sprintf(
      "%s at %s%s:", if (length(x$levels)) "Latent function" else "Function", shown$group[1],
      if (count > most) sprintf(", %d of %d", most, count) else ""
    ), shown, digits, max_rows)
  }
}

print_rows <- function(title, rows, digits, max_rows) {
  if (is.null(rows) || nrow(rows) == 0L) return(invisible())
  print_line(title)
  print_coef_table(parameter_matrix(rows, rows$label), digits, max_rows)
  if (anyNA(rows$sd)) {
    points <- anyNA(rows$lower[is.na(rows$sd)])
    cat(if (points) {
      "Without SD: an estimate of a point, whose uncertainty is not known.\n"
    } else {
      "Without SD: a median, as the tail is too heavy for moments.\n"
    })
  }
  cat("\n")
}

# The most probable or largest, and what is known of the others.
print_chosen <- function(title, rows, digits, max_rows) {
  print_line(title)
  max_rows <- min(max_rows, if (all(is.na(rows$inclusion))) 12L else 60L)
  kept <- sum(rows$inclusion > 0.5, na.rm = TRUE)
  shown <- min(max(kept, 8L), max_rows)
  # One row more takes no more room than a line that says so.
  if (nrow(rows) <= shown + 1L) shown <- nrow(rows)
  top <- utils::head(rows, shown)
  table <- parameter_matrix(top, top$label)
  if (!is.null(rows$range)) table <- cbind(table, Range = top$range)
  print_coef_table(table, digits, shown)
  rest <- utils::tail(rows, nrow(rows) - shown)
  if (nrow(rest) > 0L) {
    cat(sprintf(
      "... and %d more, %s\n", nrow(rest),
      if (all(is.na(rest$inclusion))) {
        own <- rest$range %||% rest$estimate
        paste(
          if (is.null(rest$range)) "mean" else "range", "at most",
          format(max(own, na.rm = TRUE), digits = 2)
        )
      } else if (kept > shown) {
        sprintf("%d of them above 0.5", kept - shown)
      } else {
        paste("inclusion at most", format(max(rest$inclusion), digits = 2))
      }
    ))
  }
  cat("\n")
}

# Labels of smooths of one variable along which residuals are like their neighbors: von Neumann's
# ratio of the squared differences is below 1 by more than four standard deviations. Of the rows
# that the fit has kept.
narrow_smooths <- function(object) {
  data <- object$data$rows
  own <- Filter(function(smooth) {
    x <- data[[smooth$variables[1]]]
    size <- length(smooth$fixed) + length(unlist(smooth$blocks))
    smooth$dim == 1 && is.numeric(x) && length(unique(x)) > 3 * size
  }, plain_smooths(object))
  if (length(own) == 0L || length(object$levels) > 2L) return(NULL)
  r <- stats::residuals(object, "pearson")
  if (length(r) != nrow(data)) return(NULL)
  alike <- Filter(function(smooth) {
    rows <- order(data[[smooth$variables[1]]])
    if (!is.null(smooth$level)) rows <- rows[data[[smooth$by]][rows] %in% smooth$level]
    along <- r[rows][!is.na(r[rows])]
    isTRUE((1 - mean(diff(along)^2) / (2 * mean(along^2))) * sqrt(length(along)) > 4)
  }, own)
  vapply(alike, `[[`, "", "label")
}

print_smooths <- function(smooths, narrow = NULL) {
  known <- !all(is.na(smooths[, "edf"]))
  print_line(if (known) "Smooth terms, effective degrees of freedom:" else "Smooth terms:")
  text <- cbind(edf = ifelse(
    is.na(smooths[, "edf"]), "-", formatC(smooths[, "edf"], format = "f", digits = 1)
  ), Columns = format(smooths[, "columns"]))
  rownames(text) <- rownames(smooths)
  if (!known) text <- text[, "Columns", drop = FALSE]
  print(text, quote = FALSE, right = TRUE)
  if (length(narrow)) {
    print_line(sprintf(
      "Residuals along %s are correlated: try a larger k, k = %.0f say.",
      paste(narrow, collapse = " and "), 2 * (max(smooths[narrow, "columns"]) + 1)
    ))
  }
  cat("\n")
}

print_measures <- function(measures, digits) {
  if (is.null(measures)) return(invisible())
  words <- c(
    error = "Error", brier = "Brier score", log_loss = "Log loss", auc = "AUC",
    rmse = "Root mean square error", r2 = "R2"
  )
  cat(sprintf("Predictions for %d rows:\n", measures$rows))
  known <- intersect(names(words), names(measures))
  values <- lapply(measures[known], format, digits = digits)
  print_facts(stats::setNames(values, words[known]), "\n")
}

# --- how far a fit can be trusted --------------------------------------------

convergence_line <- function(x) {
  d <- x$diagnostics
  time <- if (length(x$elapsed)) sprintf(", %s~s", format(x$elapsed[["total"]], digits = 2))
  line <- if (is.null(d$chains)) variational_line(d, is.null(x$facts$LOO)) else sampler_line(d)
  paste0(line, time, ".")
}

sampler_line <- function(d) {
  sprintf(
    "%d chain%s of %d draws, warmup %d: %s", d$chains,
    if (d$chains > 1) "s" else "", d$draws, d$warmup,
    if (is.na(d$max_rhat)) {
      "too few for R-hat"
    } else if (is.infinite(d$max_rhat)) {
      "some stand still, each elsewhere (R-hat is infinite)"
    } else {
      paste0(
        sprintf("largest R-hat %.2f", d$max_rhat),
        if (!is.na(d$min_ess)) sprintf(", smallest~ESS~%.0f", d$min_ess),
        # No table has it.
        sprintf("~(%s)", grep("^[fub]\\[", d$least, value = TRUE))
      )
    }
  )
}

# `score`: whether it says how well rows are predicted from the others.
variational_line <- function(d, score) {
  # What iterates says whether it converged.
  if (is.null(d$converged)) {
    if (!is.null(d$particles)) {
      return(sprintf(
        "%d particles over %d rows, log evidence %.2f", d$particles, d$rows, d$log_evidence
      ))
    }
    return("Exact")
  }
  work <- c(
    if (isTRUE(d$steps > 0)) {
      sprintf(
        ngettext(d$steps, "%.0f minibatch of %.0f", "%.0f minibatches of %.0f"),
        d$steps, d$batch_size
      )
    },
    if (isTRUE(d$passes > 0)) sprintf(ngettext(d$passes, "%.0f pass", "%.0f passes"), d$passes)
  )
  value <- if (!is.null(d$loo)) {
    c(
      if (!is.null(d$log_evidence)) sprintf("log~evidence~%.2f", d$log_evidence),
      if (score) sprintf("leave-one-out~log~score~%.2f", d$loo)
    )
  } else if (isTRUE(d$no_bound)) {
    # It is loose, and bounds of other kernels are not compared with it.
    NULL
  } else if (!is.na(d$elbo)) {
    sprintf("bound %.2f", d$elbo)
  } else if (!is.na(d$objective)) {
    sprintf("objective %s", format(d$objective, digits = 7))
  } else {
    "bound not computed"
  }
  ended <- if (!isTRUE(d$converged)) {
    "NOT converged"
  } else if (d$watched) {
    "Converged"
  } else {
    "Ended"
  }
  paste0(
    ended, if (length(work)) paste(" after", paste(work, collapse = " and ")),
    if (length(value)) paste0(", ", value, collapse = "")
  )
}

# The method whose standard deviations can be believed, of those that fit the model: expectation
# propagation where there is it.
exact_method <- function(x) {
  without <- NROW(x$selection) > 0L || !is.null(x$facts[["Crossed"]])
  if (called_name(x$call) %in% c("bsvm", "bkm", "gpsvm") && !without) "ep" else "gibbs"
}

quality_note <- function(x) {
  d <- x$diagnostics
  line <- convergence_line(x)
  if (is.null(d$chains)) {
    return(c(line, if (x$method %in% c("vb", "svi")) {
      sprintf(
        "%s standard deviations are too small: see method = \"%s\".",
        if (is.null(x$facts[["Standard errors"]])) "Variational" else "The posterior's variational",
        exact_method(x)
      )
    }))
  }
  c(
    line, until_line(x$diagnostics),
    if (isTRUE(d$interrupted)) "The run was interrupted: draws are few.",
    disagreement_line(d),
    if (!is.na(d$min_ess) && d$min_ess < 100) "Fewer than 100 effective draws: intervals are rough."
  )
}

disagreement_line <- function(d) {
  if (is.null(d$until) && isTRUE(d$max_rhat > most_rhat)) {
    paste(
      if (d$chains > 1) "The chains" else "The halves of the chain",
      "disagree (R-hat above 1.05): more sweeps are needed."
    )
  }
}

# --- predictions for other rows ----------------------------------------------

prediction_measures <- function(object, newdata, y) {
  n <- if (inherits(newdata, "row_source")) length(y) else NROW(newdata)
  true <- new_response(object, newdata, y, n, declared = TRUE)
  if (is_regression(object)) {
    y <- true
    fit <- stats::predict(object, newdata)
    use <- !is.na(fit) & !is.na(y)
    left <- (y - fit)[use]
    return(list(
      rows = sum(use), rmse = sqrt(mean(left^2)),
      r2 = 1 - sum(left^2) / sum((y[use] - mean(y[use]))^2)
    ))
  }
  prob <- stats::predict(object, newdata, type = "prob")
  use <- !is.na(prob[, 1]) & !is.na(true)
  class <- true[use]
  levels <- known_levels(object)
  # Levels that neither fit nor rows have are in no one's way.
  two <- length(object$levels) == 2L && all(class <= 2)
  if (two) levels <- object$levels
  prob <- prob[use, levels, drop = FALSE]
  y <- factor(levels[class], levels)
  scores <- if (two) prob[, 2] else prob
  out <- list(
    rows = length(y), error = mean(max.col(prob, "last") != class),
    brier = brier_score(y, scores), log_loss = log_loss(y, scores)
  )
  if (two && length(unique(class)) == 2L) {
    latent <- stats::predict(object, newdata, type = "link")[use]
    out$auc <- auc(y, latent)
  }
  out$calibration <- calibration(y, scores)
  out
}
