# Terms of the fixed part by name: those among which the model selects, and those whose factors are
# coded with a column for each level.

# Columns of the terms among which a model selects.
# design: by `bsvm_design()` or `design_from_matrix()`.
# select: `TRUE` for all terms of the fixed part, or a one-sided formula of terms, in which `.`
#   stands for all of them.
# Returns positions in `design$x`; none for `FALSE`.
selection_columns <- function(design, select) {
  if (is.null(select) || isFALSE(select)) return(integer())
  chosen <- choose_terms(select, design$term_labels, is.null(design$terms))
  columns <- which(design$assign %in% chosen)
  if (length(columns) == 0L) {
    bk_abort(
      "argument", "There is nothing to select among.",
      if (inherits(select, "formula")) sprintf("Found: select = %s.", deparse1(select)),
      paste("Terms of the fixed part:", list_terms(design$term_labels)), column = "select",
      found = select, expected = design$term_labels
    )
  }
  columns
}

# Positions among `labels` of the terms that `chosen` means. The labels are terms in the language of
# formulas, or column names of a matrix.
choose_terms <- function(chosen, labels, are_names) {
  if (isTRUE(chosen)) return(seq_along(labels))
  if (is.null(chosen) || isFALSE(chosen)) return(integer())
  if (is.character(chosen)) {
    check_known_terms(chosen, chosen, labels, labels)
    return(match(chosen, labels))
  }
  if (!inherits(chosen, "formula") || length(chosen) != 2L) {
    abort_argument(
      chosen, "select", "TRUE, FALSE or a one-sided formula of terms, such as ~ . - age"
    )
  }
  known <- lapply(labels, if (are_names) as.name else str2lang)
  all <- sum_of_terms(known)
  everything <- call("(", if (is.null(all)) 1 else all)
  meant <- do.call(substitute, list(chosen[[2]], list(. = everything)))
  keys <- vapply(known, function(term) term_keys(term), "")
  named <- term_keys(without_minus(meant))
  check_known_terms(named, names(named), keys, labels)
  sort(match(term_keys(meant), keys))
}

# Of equal halves: of many terms a sum from the left would be too deep for R.
sum_of_terms <- function(terms) {
  if (length(terms) < 2L) return(if (length(terms)) terms[[1L]])
  first <- seq_len(length(terms) %/% 2L)
  call("+", sum_of_terms(terms[first]), sum_of_terms(terms[-first]))
}

# A term by its variables in a fixed order, named by how it was written.
term_keys <- function(expr) {
  terms <- read_terms(stats::as.formula(call("~", expr), globalenv()), NULL)
  factors <- term_factors(terms) > 0
  names <- variable_names(terms)
  stats::setNames(
    vapply(seq_len(ncol(factors)), function(t) {
      paste(sort(names[factors[, t]]), collapse = ":")
    }, ""),
    attr(terms, "term.labels")
  )
}

# A term that is taken out has to be there as well.
without_minus <- function(expr) {
  if (!is.call(expr) || !(deparse1(expr[[1]]) %in% formula_operators)) return(expr)
  expr[-1L] <- lapply(as.list(expr)[-1L], without_minus)
  if (identical(expr[[1]], as.name("-"))) {
    if (length(expr) == 2L) return(expr[[2]])
    expr[[1]] <- as.name("+")
  }
  expr
}

check_known_terms <- function(found, shown, keys, labels) {
  unknown <- shown[!(found %in% keys)]
  if (length(unknown)) {
    bk_abort(
      "argument", fit_header("`select` names `%s`, which is not a fixed term.", unknown[1]),
      if (length(unknown) > 1L) paste("Unknown:", list_some(unknown)),
      paste("Terms of the fixed part:", list_terms(labels)),
      "Smooth terms and random terms have priors of their own.", column = unknown, found = unknown,
      expected = labels
    )
  }
}

list_terms <- function(labels) {
  if (length(labels)) paste0(list_some(labels), ".") else "none."
}

# Codes the factors of some terms by one indicator for each level: 2 in the matrix of factors is
# what model.matrix() reads so. A variable of `two` levels stays one column against its reference:
# two columns that say the same would share what it is worth.
full_indicators <- function(terms, chosen, two) {
  factors <- attr(terms, "factors")
  if (length(chosen) && length(factors)) {
    part <- factors[, chosen, drop = FALSE]
    part[part == 1L & !(variable_names(terms) %in% two)] <- 2L
    factors[, chosen] <- part
    attr(terms, "factors") <- factors
  }
  terms
}
