#' The contribution of each term to prediction
#'
#' The model is fitted again without each term of its formula in turn, and the
#' table says what that costs in the prediction of rows that were left out.
#'
#' A term is a fixed one, such as `x` or `a:b`, a smooth, such as `s(x)`, or a random one in bars.
#' As in [stats::drop1()] a fixed term is left out only if no other one contains it: of `a * b` that
#' is `a:b`. A random term stays when the fixed effect of its variable goes.
#'
#' @param object A fit by formula with a likelihood, as by [bkm()]: whatever
#'   `loo()` takes. By `method = "ep"` leave-one-out is by cavities and needs no
#'   package; else it is by importance sampling of package loo.
#' @param terms Which terms, named as in the table. Default: all.
#' @param seed For importance sampling: whole number, the same draws at every
#'   call by default; `NULL` for R's generator.
#' @param digits Decimals.
#' @param x What `compare_terms()` returned.
#' @param ... No further arguments.
#' @return A data frame of class `bayeskernel_terms`, the most valuable term first, with the terms
#'   as row names: `elpd_loo`, the sum of leave-one-out log predictive densities of the model
#'   without it, `elpd_diff`, by how much that of the whole model is higher, and `se_diff`, the
#'   standard error of this difference. Its attribute `elpd_loo` is that of the whole model.
#' @section Reading it: A difference below twice its standard error is no evidence for the term, and
#'   one below about four is small whatever its standard error (Sivula and others). With two
#'   redundant terms each has a small value, because the other replaces it.
#' @section Errors: `bayeskernel_error_argument` for fits without a formula, of a pseudo-likelihood,
#'   or without terms, for unknown `terms`, for data that are gone, and where rows
#'   with missing predictors drop out of one model and not of the other.
#' @references Vehtari, A., Gelman, A. and Gabry, J. (2017). Practical Bayesian model evaluation
#'   using leave-one-out cross-validation and WAIC. *Statistics and Computing* 27, 1413-1432.
#'
#'   Sivula, T., Magnusson, M., Matamoros, A. A. and Vehtari, A. (2020). Uncertainty in Bayesian
#'   leave-one-out cross-validation based model comparison. arXiv:2008.10296.
#' @seealso [anova()][anova.bayeskernel_fit] for models of your own choice.
#' @examples
#' data("bdf", package = "nlme")
#' fit <- bkm(langPOST > 40 ~ IQ.verb + ses + (1 | schoolNR), bdf[1:600, ])
#' compare_terms(fit)
#' @aliases compare_terms.bkm
#' @export
compare_terms <- function(object, ...) {
  check_given("object")
  UseMethod("compare_terms")
}

#' @rdname compare_terms
#' @export
compare_terms.bayeskernel_fit <- function(object, terms = NULL, seed = 1, ...) {
  check_whole(object, ...)
  home <- parent.frame()
  need_formula(object)
  refuse_pseudo(object, "likelihood, so no leave-one-out log score")
  need_rows(object, "compare_terms()")
  formulas <- formulas_without(object)
  if (length(formulas) == 0L) {
    bk_abort(
      "argument", "The formula has no term that could be left out.",
      sprintf("Found: %s.", deparse1(stats::formula(object)))
    )
  }
  fixed <- attr(stats::terms(effect_parts(object)$fixed), "term.labels")
  contained <- setdiff(fixed, names(formulas))
  if (!is.null(terms)) {
    strange <- !is.character(terms) || !all(terms %in% names(formulas))
    if (strange || length(terms) == 0L) {
      abort_argument(terms, "terms", paste(
        "some of", paste(quoted(names(formulas)), collapse = ", ")
      ), accepted = names(formulas))
    }
    formulas <- formulas[unique(terms)]
  }
  whole <- row_elpd(object, seed)
  # Defaults that depend on what else is in the formula stay what they are.
  changes <- c(
    if (is_linear(object)) list(penalty = object$penalty),
    if (is_regression(object)) list(family = "gaussian")
  )
  rows <- lapply(names(formulas), function(name) {
    call <- changed_call(object, formulas[[name]], changes)
    if (!is.null(call$control)) {
      call$control <- as.call(list(changed_control, call$control, resume = NULL))
    }
    fit <- eval_fit(object, call_with_data(object, call), home)
    need_same_rows(object, fit, paste("without", name))
    own <- row_elpd(fit, seed)
    data.frame(
      elpd_loo = sum(own), elpd_diff = sum(whole - own),
      se_diff = sum_error(whole - own, loo_copies(object))
    )
  })
  out <- do.call(rbind, rows)
  rownames(out) <- names(formulas)
  structure(
    out[order(-out$elpd_diff), ],
    class = c("bayeskernel_terms", "data.frame"), elpd_loo = sum(whole),
    contained = contained, random = has_groups(object)
  )
}

# What leaving out a row leaves in.
rows_left_out <- "Rows are left out one by one: the random effects of their groups are known."

# The formula without each of its terms, named by these. All that stands between plus signs is text
# here, whatever it means to the model.
formulas_without <- function(object) {
  parts <- effect_parts(object)
  environment(parts$fixed) <- environment(object$formula)
  bars <- lapply(parts$bars, function(bar) call("(", bar))
  with_bars <- function(fixed, bars) {
    fixed[[3]] <- Reduce(function(sum, bar) call("+", sum, bar), bars, fixed[[3]])
    fixed
  }
  fixed <- stats::drop.scope(parts$fixed)
  out <- lapply(stats::setNames(nm = fixed), function(label) {
    less <- call("-", quote(.), str2lang(label))
    with_bars(stats::update(parts$fixed, stats::as.formula(call("~", quote(.), less))), bars)
  })
  names <- vapply(bars, deparse1, "")
  c(out, lapply(stats::setNames(seq_along(bars), names), function(k) {
    with_bars(parts$fixed, bars[-k])
  }))
}

#' @rdname compare_terms
#' @export
print.bayeskernel_terms <- function(x, digits = 1, ...) {
  digits <- check_count(digits, 0L, name = "digits")
  print_line("What is lost without each term, leave-one-out log predictive density")
  if (!is.null(attr(x, "elpd_loo"))) {
    print_facts(c("Whole model" = formatC(attr(x, "elpd_loo"), format = "f", digits = digits)))
  }
  contained <- attr(x, "contained")
  print_line(paste0(
    "Each row is the model without that term alone",
    if (length(contained)) sprintf("; terms within others stay: %s", list_some(contained)), "."
  ))
  if (isTRUE(attr(x, "random"))) print_line(rows_left_out)
  cat("\n")
  shown <- as.data.frame(lapply(x, formatC, format = "f", digits = digits))
  rownames(shown) <- make.unique(abbreviate_middle(rownames(x), 40L))
  print(as.matrix(shown), quote = FALSE, right = TRUE)
  invisible(x)
}
