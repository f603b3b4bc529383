# As a model frame names them: terms() puts some names into backticks.
variable_names <- function(terms) vapply(as.list(attr(terms, "variables"))[-1L], deparse1, "")

read_terms <- function(formula, data) {
  tryCatch(stats::terms(formula, data = data), error = function(e) {
    bk_abort(
      "argument", "The formula cannot be read.", sprintf("Found: %s.", deparse1(formula)),
      conditionMessage(e), "Accepted: terms joined by +, -, *, :, / and ^, see formula().",
      column = "formula"
    )
  })
}

formula_operators <- c("+", "-", "*", "/", ":", "^", "%in%", "(", "|", "||")

# Calls with a wanted head, among the operands of formula operators only.
find_terms <- function(expr, wanted) {
  terms <- sum_terms(expr)$terms
  if (length(terms) > 1L) return(unlist(lapply(terms, find_terms, wanted = wanted)))
  if (!is.call(expr)) return(NULL)
  head <- deparse1(expr[[1]])
  if (wanted(head)) return(list(expr))
  if (head %in% formula_operators) unlist(lapply(as.list(expr)[-1L], find_terms, wanted = wanted))
}

# The sum of what is left of these terms; NULL if nothing is.
join_terms <- function(terms, signs) {
  sum <- NULL
  for (k in which(!vapply(terms, is.null, NA))) {
    sum <- if (!is.null(sum)) {
      call(signs[k], sum, terms[[k]])
    } else if (signs[k] == "-") {
      call("-", terms[[k]])
    } else {
      terms[[k]]
    }
  }
  sum
}

# The terms of a sum, from left to right, and their signs. A sum of some hundreds is so deep a call
# that recursion exhausts R's stack. A term that is subtracted stays with all to its left if it is
# `special`.
sum_terms <- function(expr, special = function(term) FALSE) {
  terms <- list()
  signs <- character()
  while (is.call(expr) && length(expr) == 3L) {
    sign <- deparse1(expr[[1]])
    if (sign != "+" && (sign != "-" || special(expr[[3]]))) break
    terms[[length(terms) + 1L]] <- expr[[3]]
    signs[[length(signs) + 1L]] <- sign
    expr <- expr[[2]]
  }
  list(terms = c(list(expr), rev(terms)), signs = c("+", rev(signs)))
}
