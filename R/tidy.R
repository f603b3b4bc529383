# Tables for other programs (package generics): tibbles when tibble is there.

as_table <- function(frame) {
  if (requireNamespace("tibble", quietly = TRUE)) {
    tibble::as_tibble(frame)
  } else {
    frame
  }
}

#' Tidy tables of a Bayesian support vector machine
#'
#' @param x A fit by [bsvm()].
#' @param effects Which rows: `"fixed"` coefficients; `"ran_pars"`, standard
#'   deviations and correlations of random effects and the standard deviation of
#'   penalised coefficients; `"ran_vals"`, the random effects. Default the first
#'   two.
#' @param conf.int Add posterior intervals, default `FALSE`.
#' @param conf.level Their probability, default 0.95.
#' @param data The data of the fit; default the model frame.
#' @param newdata New data; takes precedence over `data`.
#' @param link As in [predict.bsvm()].
#' @param ... No further arguments.
#' @return A tibble, or a data frame when package tibble is missing; scale of
#'   the data.
#' * `tidy()`: `effect`, `group`, `level` (with `"ran_vals"`), `term`,
#'   `estimate` (posterior mean), `std.error` (posterior sd), and with
#'   `conf.int` `conf.low`, `conf.high`. Rows of `"ran_pars"` have terms such as
#'   `sd__(Intercept)` and `cor__(Intercept).time`.
#' * `glance()`: one row with `nobs`, `method`, `elbo` (`NA` for a sampler; it
#'   bounds a pseudo-evidence), `passes`, `converged` (samplers: R-hat at most
#'   1.05 everywhere), `rhat.max`, `ess.min`, `seconds`.
#' * `augment()`: the data with `.fitted` (latent mean), `.prob` (probability of
#'   the positive class), `.class`.
#' @examples
#' set.seed(1)
#' d <- data.frame(x = rnorm(100), g = gl(10, 10))
#' d$y <- d$x + rnorm(10)[d$g] + rlogis(100) > 0
#' fit <- bsvm(y ~ x + (1 | g), d, threads = 1)
#' tidy(fit, conf.int = TRUE)
#' glance(fit)
#' head(augment(fit, newdata = d))
#' @export
tidy.bsvm <- function(x, effects = c("fixed", "ran_pars"), conf.int = FALSE,
                      conf.level = 0.95, ...) {
  check_no_dots(...)
  known <- c("fixed", "ran_pars", "ran_vals")
  if (!is.character(effects) || !all(effects %in% known) ||
    length(effects) == 0) {
    abort_argument(
      effects, "effects",
      paste("some of", paste(quoted(known), collapse = ", "))
    )
  }
  conf.int <- check_flag(conf.int, "conf.int")
  level <- check_number(conf.level, 0, 1, "conf.level", closed = FALSE)
  parts <- list(
    if ("fixed" %in% effects) tidy_fixed(x, level),
    if ("ran_pars" %in% effects) tidy_variances(x, level),
    if ("ran_vals" %in% effects) tidy_effects(x, level)
  )
  out <- do.call(rbind, parts)
  if (!("ran_vals" %in% effects)) out$level <- NULL
  if (!conf.int) out$conf.low <- out$conf.high <- NULL
  rownames(out) <- NULL
  as_table(out)
}

tidy_rows <- function(effect, group, level, term, table) {
  data.frame(
    effect = rep(effect, nrow(table)), group = rep_len(group, nrow(table)),
    level = rep_len(level, nrow(table)), term = as.character(term),
    estimate = table[, 1], std.error = table[, 2],
    conf.low = table[, 3], conf.high = table[, 4]
  )
}

tidy_fixed <- function(x, level) {
  table <- fixed_table(x, level)
  tidy_rows("fixed", NA_character_, NA_character_, rownames(table), table)
}

tidy_variances <- function(x, level) {
  table <- variance_table(x, level)
  if (is.null(table)) {
    return(NULL)
  }
  terms <- lapply(x$posterior$random, function(term) {
    pairs <- lower_triangle(length(term$columns))
    from <- term$columns[pairs[, 2]]
    to <- term$columns[pairs[, 1]]
    cbind(term$label, ifelse(
      pairs[, 1] == pairs[, 2], paste0("sd__", from),
      paste0("cor__", from, ".", to)
    ))
  })
  labels <- vapply(plain_components(x), `[[`, "", "label")
  if (length(labels) > 0) {
    terms <- c(terms, list(cbind(labels, paste0("sd__", labels))))
  }
  terms <- do.call(rbind, terms)
  tidy_rows("ran_pars", terms[, 1], NA_character_, terms[, 2], table)
}

# Normal intervals: exact for "vb", close for draws of so many effects.
tidy_effects <- function(x, level) {
  if (length(x$posterior$random) == 0) {
    return(NULL)
  }
  effects <- as.data.frame(ranef.bsvm(x))
  table <- coef_table(effects$condval, effects$condsd, level = level)
  tidy_rows(
    "ran_vals", effects$grpvar, as.character(effects$grp),
    as.character(effects$term), table
  )
}

#' @rdname tidy.bsvm
#' @export
glance.bsvm <- function(x, ...) {
  check_no_dots(...)
  d <- fit_quality(x)
  vb <- x$method != "gibbs"
  as_table(data.frame(
    nobs = x$n, method = x$method,
    elbo = if (vb) d$elbo else NA_real_,
    passes = if (vb) as.integer(d$passes) else NA_integer_,
    converged = if (vb) d$converged else isTRUE(d$max_rhat <= 1.05),
    rhat.max = if (vb) NA_real_ else d$max_rhat,
    ess.min = if (vb) NA_real_ else d$min_ess,
    seconds = x$elapsed[["total"]]
  ))
}

#' @rdname tidy.bsvm
#' @export
augment.bsvm <- function(x, data = NULL, newdata = NULL,
                         link = c("probit", "hinge"), ...) {
  check_no_dots(...)
  link <- check_choice(link, c("probit", "hinge"), "link")
  moments <- if (!is.null(newdata)) {
    new_moments(x, newdata, link)
  } else if (!is.null(data)) {
    new_moments(x, data, link)
  } else {
    kept_moments(x, link)
  }
  out <- if (!is.null(newdata)) {
    newdata
  } else if (!is.null(data)) {
    data
  } else {
    fit_frame(x, parent.frame())
  }
  out <- as.data.frame(out)
  out$.fitted <- moments$mean
  out$.prob <- moments$prob
  out$.class <- class_factor(moments$prob, 0.5, x$levels)
  as_table(out)
}
