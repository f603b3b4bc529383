# Tables for other programs (package generics): tibbles when tibble is there.

as_table <- function(frame) {
  if (requireNamespace("tibble", quietly = TRUE)) tibble::as_tibble(frame) else frame
}

#' Tidy tables of a fit
#'
#' `tidy()`: a row for each estimate. `glance()`: one row for the fit. `augment()`: the data with
#' predictions.
#'
#' @param x A fit.
#' @param effects Which rows, as far as the model has them. Default: all except the last two.
#'   * `"fixed"`: coefficients;
#'   * `"smooth"`: smooth terms, one row each, with their effective degrees of freedom;
#'   * `"ran_pars"`: standard deviations and correlations of random effects, and the standard
#'     deviation of penalized coefficients;
#'   * `"scale"`: kernel scales of the predictors of [bark()];
#'   * `"share"`: shares of the predictors in the directions of [klr()];
#'   * `"kernel"`: parameters of the kernel of [gpsvm()];
#'   * `"parameter"`: others;
#'   * `"function"`: values of the latent function at inducing points or reference rows;
#'   * `"ran_vals"`: the random effects.
#' @param conf.int Add posterior intervals, default `FALSE`.
#' @param conf.level Their probability, default 0.95.
#' @param exponentiate Odds ratios, as `exp` of [summary.bayeskernel_fit()], default `FALSE`.
#' @param vcov As of [summary.bayeskernel_fit()].
#' @param data The rows to add predictions to; default those of the fit: the
#'   model frame, see `model.frame()`, or of a matrix `y` and its columns.
#'   `newdata`: new data; takes precedence over `data`.
#' @param newdata See `data`.
#' @param ... For `augment()`: arguments of `predict()` for probabilities, such
#'   as `link`. Otherwise no further arguments.
#' @return A tibble, or a data frame when package tibble is missing; scale of the data.
#' * `tidy()`: `effect`, `group` (grouping term, or smooth), `level` (with `"ran_vals"`), `term`,
#'   `estimate` and `std.error` (posterior mean and sd), and on request `conf.low` and `conf.high`.
#'   With selection also `inclusion`, the probability to be in the model; with smooths `edf`, `NA`
#'   after a sampler. Rows of `"ran_pars"` have terms such as `sd__(Intercept)` and
#'   `cor__(Intercept).time`.
#' * `glance()`: one row with `nobs`, `method`, `elbo` (of `"vb"`, else `NA`), `passes`,
#'   `converged`, `rhat.max`, `ess.min` and `seconds`; and columns of the model, such as
#'   `log_evidence` and `elpd_loo` of [bkm()]. A sampler has converged when `until` is reached, or
#'   without it when R-hat is at most 1.05 everywhere.
#' * `augment()`: the data with `.fitted`, the mean response of a regression or the latent mean of
#'   two classes. A regression has `.se.fit`, its posterior sd. Classes have `.class` and `.prob`,
#'   the probability of the positive class, or `.prob_` with each class. Rows that `na.action` left
#'   out are not there.
#' @seealso [summary()][summary.bayeskernel_fit], [coef()][coef.bayeskernel_fit].
#' @examples
#' data("bdf", package = "nlme")
#' fit <- bkm(langPOST > 40 ~ IQ.verb + ses + (1 | schoolNR), bdf[1:600, ])
#' tidy(fit, conf.int = TRUE)
#' glance(fit)
#' head(augment(fit))
#' # A table for a report.
#' odds <- tidy(fit, effects = "fixed", exponentiate = TRUE, conf.int = TRUE)
#' if (requireNamespace("knitr", quietly = TRUE)) knitr::kable(odds[-(1:2)], digits = 3)
#' @aliases tidy.bkm tidy.bsvm tidy.gpsvm tidy.mkprobit tidy.bark tidy.klr tidy.seqkr glance.bkm
#'   glance.bsvm glance.gpsvm glance.mkprobit glance.bark glance.klr glance.seqkr augment.bkm
#'   augment.bsvm augment.gpsvm augment.mkprobit augment.bark augment.klr augment.seqkr
#' @export
tidy.bayeskernel_fit <- function(x, effects = NULL, conf.int = FALSE, conf.level = 0.95,
                                 exponentiate = FALSE, vcov = NULL, ...) {
  check_whole(x, ...)
  x <- with_vcov(x, vcov, "vcov")
  known <- c(
    "fixed", "smooth", "ran_pars", "scale", "share", "kernel", "parameter", "function", "ran_vals"
  )
  if (is.null(effects)) effects <- known[1:7]
  if (!is.character(effects) || !all(effects %in% known) || length(effects) == 0L) {
    abort_argument(effects, "effects", paste("some of", paste(quoted(known), collapse = ", ")))
  }
  conf.int <- check_flag(conf.int, "conf.int")
  level <- check_number(conf.level, 0, 1, "conf.level", closed = FALSE)
  rows <- parameters(x, level)
  if (check_flag(exponentiate, "exponentiate")) rows <- odds_ratios(x, rows, "exponentiate")
  smooths <- smooth_rows(x)
  # Columns of curves mean nothing one by one.
  curves <- rows$effect == "fixed" & !is.na(rows$group)
  rows <- rbind(tidy_rows(rows[!curves, ]), smooths)
  rows <- rows[order(match(rows$effect, known)), ]
  rows <- rows[rows$effect %in% effects, ]
  if ("ran_vals" %in% effects) rows <- rbind(rows, tidy_effects(x, level))
  if (!("ran_vals" %in% effects)) rows$level <- NULL
  if (!conf.int) rows$conf.low <- rows$conf.high <- NULL
  if (all(is.na(rows$inclusion))) rows$inclusion <- NULL
  if (!any(rows$effect == "smooth")) rows$edf <- NULL
  rownames(rows) <- NULL
  as_table(rows)
}

tidy_rows <- function(rows, level = NA_character_) {
  data.frame(
    effect = rows$effect, group = rows$group, level = rep_len(level, nrow(rows)), term = rows$term,
    estimate = rows$estimate, std.error = rows$sd, conf.low = rows$lower, conf.high = rows$upper,
    inclusion = rows$inclusion, edf = rep(NA_real_, nrow(rows))
  )
}

# One a smooth, whose size is its effective degrees of freedom.
smooth_rows <- function(x) {
  table <- smooth_table(x)
  if (is.null(table)) return(NULL)
  none <- NA_real_
  data.frame(
    effect = "smooth", group = NA_character_, level = NA_character_, term = rownames(table),
    estimate = none, std.error = none, conf.low = none, conf.high = none, inclusion = none,
    edf = unname(table[, "edf"])
  )
}

# Normal intervals: exact for "vb", close for draws of so many effects.
tidy_effects <- function(x, level) {
  if (!has_groups(x) && length(fitted_units(x)) == 0L) return(NULL)
  effects <- as.data.frame(ranef.bayeskernel_fit(x))
  table <- coef_table(effects$condval, effects$condsd, level = level)
  tidy_rows(
    parameter_rows("ran_vals", table, effects$grpvar, effects$term, effects$term),
    as.character(effects$grp)
  )
}

#' @rdname tidy.bayeskernel_fit
#' @export
glance.bayeskernel_fit <- function(x, ...) {
  check_whole(x, ...)
  d <- fit_quality(x)
  sampled <- !is.null(x$draws)
  number <- function(value) if (length(value)) value else NA_real_
  end <- x$diagnostics$until
  as_table(as.data.frame(c(
    list(nobs = stats::nobs(x), method = x$method), extras(x)$glance,
    list(
      elbo = number(d$elbo), passes = as.integer(number(d$passes)),
      # What `until` asked for where it was given, else R-hat at most 1.05.
      converged = if (!sampled) {
        d$converged %||% NA
      } else if (is.null(end)) {
        isTRUE(d$max_rhat <= 1.05)
      } else {
        isTRUE(end$reached)
      },
      rhat.max = number(d$max_rhat), ess.min = number(d$min_ess), seconds = x$elapsed[["total"]]
    )
  )))
}

#' @rdname tidy.bayeskernel_fit
#' @export
augment.bayeskernel_fit <- function(x, data = NULL, newdata = NULL, ...) {
  check_whole(x)
  new <- if (is.null(newdata)) data else newdata
  refuse_source_rows(new)
  rows <- if (is.null(new)) own_table(x) else new
  predicted <- function(type, ...) {
    values <- prediction(x, new, type, ...)
    if (is.null(new)) drop_left_out(values, x$na.action) else values
  }
  out <- as_frame(rows)
  if (is_regression(x)) {
    values <- predicted("response", se.fit = TRUE, ...)
    out$.fitted <- unname(values$fit)
    out$.se.fit <- unname(values$se.fit)
    return(as_table(out))
  }
  prob <- predicted("prob", ...)
  latent <- predicted("link")
  if (!is.matrix(latent)) out$.fitted <- unname(latent)
  if (length(x$levels) == 2L) {
    out$.prob <- unname(prob[, x$levels[2]])
  } else {
    out[paste0(".prob_", colnames(prob))] <- as.data.frame(unname(prob))
  }
  if (!are_counts(x)) out$.class <- unname(predicted("class", ...))
  as_table(out)
}

# The model frame, or response and columns of a matrix.
own_table <- function(x) {
  if (!is.null(x$formula) || !is.null(x$frame)) return(fit_frame(x))
  found <- need_data(x)
  if (x$design$type %in% c("kernel", "spaces")) return(data.frame(y = I(found$y)))
  with_response(x, found, "y")
}

# Without the rows that na.exclude() left out, for which predict() has NA.
drop_left_out <- function(values, left_out) {
  if (!inherits(left_out, "exclude")) return(values)
  if (is.list(values)) return(lapply(values, drop_left_out, left_out))
  if (is.matrix(values)) values[-left_out, , drop = FALSE] else values[-left_out]
}
