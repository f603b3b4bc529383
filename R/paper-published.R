# The arguments of papers, from inst/papers/models.R.

published_models <- function() papers_code("models.R")$published_models

#' The arguments of a paper's model
#'
#' Defaults of this package are not always those of the papers whose models it has. `published()`
#' gives the arguments that make a model the paper's, to be put into a call by [do.call()].
#'
#' Quick start, for a reader of Luts and Ormerod (2014):
#' ```
#' published("luts2014")                      # the models of the paper, and their arguments
#' arguments <- published("luts2014", "penalty")
#' fit <- do.call(bsvm, c(list(factor(am) ~ wt + hp, quote(mtcars)), arguments))
#' reproduce("luts2014")                      # the tables and figures of the paper
#' ```
#'
#' @details
#' In the tables below:
#' * **model** is a name for the second argument, and the models that a row is for. `*_gibbs` are
#'   all whose names end so.
#' * **default** is what the argument is without the paper, as a value or in words.
#' * **why** is where the paper says it: a section, equation or table of the paper, such as "B.4"
#'   of its appendix B. If the paper gives no number, or our copy lacks it, this column says so,
#'   and the value stands in for it.
#'
#' Arguments that the tables do not have are at the default, which is then the paper's. There are
#' two exceptions:
#' * Models `sinc`, `sinc_rj` and `boston` have proper priors of the variances and moves after the
#'   last row (`final_moves`). The paper's algorithm has neither; `sinc_printed` is as it.
#' * Damoulas and Girolami say only that hyperparameters "were set to uninformative values".
#'   Models by VB have the default, and `reproduce("damoulas2009", "table1_choices")` has errors
#'   by others.
#'
#' @param paper `"luts2014"` ([bsvm()]), `"wenzel2017"` ([gpsvm()]), `"damoulas2009"`
#'   ([mkprobit()]), `"ouyang2008"` ([bark()], [klr()]) or `"vermaak2004"` ([seqkr()]).
#' @param model The model of that paper, one of the first column of its table.
#' @return With `model` a named list of arguments. Without `model` a data frame with the columns
#'   `paper`, `model`, `fitter` (the function), `argument`, `default`, `published` (the paper's
#'   value) and `why`.
#' @eval published_sections()
#' @section Errors: `bayeskernel_error_argument`, which lists the papers, or the models of one.
#' @references
#' Damoulas, T. and Girolami, M. A. (2009). Combining feature spaces for
#' classification. *Pattern Recognition* 42, 2671-2683.
#'
#' Luts, J. and Ormerod, J. T. (2014). Mean field variational Bayesian inference for support vector
#' machine classification. *Computational Statistics & Data Analysis* 73, 163-176.
#'
#' Ouyang, Z. (2008). *Bayesian additive regression kernels*. PhD thesis, Duke University.
#'
#' Vermaak, J., Godsill, S. J. and Doucet, A. (2004). Sequential Bayesian kernel
#' regression. *Advances in Neural Information Processing Systems* 16.
#'
#' Wenzel, F., Galy-Fajou, T., Deutsch, M. and Kloft, M. (2017). Bayesian nonlinear support vector
#' machines for big data. *Machine Learning and Knowledge Discovery in Databases*, 307-322.
#' @seealso [reproduce()] for the papers' tables and figures.
#' @examples
#' published("luts2014", "penalty")
#' own <- list(factor(am) ~ wt + hp, quote(mtcars))
#' fit <- do.call(bsvm, c(own, published("luts2014", "penalty")))
#' published("vermaak2004")[c("model", "argument", "published", "why")]
#' @export
published <- function(paper = NULL, model = NULL) {
  if (is.null(paper)) {
    if (!is.null(model)) abort_argument(paper, "paper", "a paper, where `model` is given")
    tables <- lapply(names(published_models()), published)
    return(do.call(rbind, tables))
  }
  paper <- check_choice(paper, names(published_models()), "paper")
  if (is.null(model)) {
    table <- data.frame(paper = paper, published_table(paper))
    return(structure(table, class = c("published_arguments", "data.frame")))
  }
  models <- published_models()[[paper]]
  model <- check_choice(model, names(models), "model")
  lapply(models[[model]]$arguments, eval, topenv())
}

# One row an argument: model by model, but each value once.
published_table <- function(paper) {
  models <- published_models()[[paper]]
  rows <- do.call(rbind, Map(published_rows, models, names(models)))
  key <- paste(rows$fitter, rows$argument, rows$published)
  by <- split(rows$model, factor(key, unique(key)))
  used <- vapply(by, models_text, "", all = names(models))
  out <- rows[!duplicated(key), ]
  out$model <- unname(used)
  rownames(out) <- NULL
  out
}

models_text <- function(own, all) {
  sampled <- grep("_gibbs$", all, value = TRUE)
  if (setequal(own, all)) {
    "all"
  } else if (length(sampled) && setequal(own, sampled)) {
    "*_gibbs"
  } else {
    paste(own, collapse = ", ")
  }
}

published_rows <- function(model, name) {
  given <- model$arguments
  out <- lapply(names(given), function(argument) {
    value <- given[[argument]]
    nested <- argument %in% c("prior", "control")
    from <- if (nested) deparse1(value[[1L]]) else paste0(model$fitter, ".formula")
    values <- if (nested) as.list(value)[-1L] else given[argument]
    keys <- if (nested) paste0(argument, "$", names(values)) else names(values)
    reasons <- papers_code("models.R")$published_reasons[[model$fitter]][keys]
    data.frame(
      model = name, fitter = model$fitter, argument = keys,
      default = mapply(function(entry, reason) {
        if (nzchar(reason[1L])) reason[1L] else default_text(from, entry)
      }, names(values), reasons),
      published = vapply(values, deparse1, ""), why = mapply(why_of, values, reasons)
    )
  })
  do.call(rbind, out)
}

# The reason of a value, by its name where values have their own, or of all.
why_of <- function(value, reason) {
  own <- match(deparse1(value), names(reason))
  if (is.na(own)) reason[[2L]] else reason[[own]]
}

# The default of an argument, of a choice its first.
default_text <- function(fitter, argument) {
  value <- formals(get(fitter, topenv()))[[argument]]
  if (is.call(value) && identical(value[[1L]], quote(c))) value <- value[[2L]]
  if (identical(value, quote(expr = ))) "" else deparse1(value) # nolint
}

# The tables of the help page.
published_sections <- function() {
  unlist(lapply(names(published_models()), function(paper) {
    table <- published_table(paper)
    code <- function(x) sprintf("\\code{%s}", x)
    c(
      sprintf("@section Paper \"%s\":", paper), "\\tabular{lllll}{",
      paste(
        "\\strong{model}", "\\strong{argument}", "\\strong{default}", "\\strong{as published}",
        "\\strong{why} \\cr", sep = " \\tab "
      ),
      paste(
        table$model, code(table$argument), table$default, code(table$published),
        paste(table$why, "\\cr"), sep = " \\tab "
      ),
      "}"
    )
  }))
}

# A heading for each function and each set of its models, then a row an argument; of some columns
# alone a table as wide as the screen.
#' @export
print.published_arguments <- function(x, ...) {
  heads <- c("paper", "fitter", "model")
  if (nrow(x) == 0L) return(NextMethod())
  if (!all(heads %in% names(x))) return(print_wrapped(x))
  several <- ifelse(grepl("[,*]", x$model), "models", "model")
  models <- ifelse(x$model == "all", "all models", paste(several, x$model))
  heading <- sprintf("%s, %s(), %s", x$paper, x$fitter, models)
  rest <- as.data.frame(unclass(x))[setdiff(names(x), heads)]
  for (own in split(seq_along(heading), factor(heading, unique(heading)))) {
    print_line(heading[own[1L]])
    print_columns(rest[own, , drop = FALSE], intersect(c("published", "why"), names(rest)))
    cat("\n")
  }
  invisible(x)
}

# Columns of text, as wide as the screen; those of single words are not broken.
print_wrapped <- function(x, shown = names(x)) {
  table <- as.data.frame(unclass(x))[shown]
  table[] <- lapply(table, as.character)
  print_columns(table, shown[vapply(table, function(text) any(grepl(" ", text)), NA)])
  invisible(x)
}
