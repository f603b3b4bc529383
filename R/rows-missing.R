# Which variables may have holes that are modelled, and why others may not.

# Names in the model frame of the numeric variables of fixed and random terms, and of the factors
# that have holes. `allowed` are those that may have holes: not in a smooth, a group or an offset as
# well, a factor not in `by`.
modelled_variables <- function(parsed, frame) {
  used <- unique(unlist(lapply(model_terms(parsed), function(terms) {
    variable_names(terms)[rowSums(term_factors(terms) > 0) > 0]
  })))
  used <- union(used, process_variables(parsed))
  numeric <- Filter(function(name) is_one_number(frame[[name]]), used)
  elsewhere <- c(smooth_names(parsed), leaf_names(parsed), offset_names(parsed), parsed$response)
  factors <- Filter(function(name) is_factor_like(frame[[name]]) && anyNA(frame[[name]]), used)
  factors <- setdiff(factors, unlist(c(elsewhere, process_factors(parsed))))
  list(
    numeric = numeric, factors = factors, allowed = c(setdiff(numeric, unlist(elsewhere)), factors)
  )
}

# What stands in `by` of processes.
process_factors <- function(parsed) {
  unlist(lapply(Filter(is_process, parsed$smooths), function(term) {
    if (!is.null(term$by)) by_name(term)
  }))
}

model_terms <- function(parsed) c(list(parsed$terms), lapply(parsed$bars, `[[`, "terms"))

# Of those that need known values.
smooth_names <- function(parsed) {
  lapply(parsed$smooths, function(term) {
    if (is_process(term)) character() else vapply(term$variables, deparse1, "")
  })
}

leaf_names <- function(parsed) {
  unlist(lapply(parsed$bars, function(bar) vapply(bar$leaves, deparse1, "")))
}

offset_names <- function(parsed) variable_names(parsed$terms)[attr(parsed$terms, "offset")]

# All values missing makes a logical column; it is refused as such later.
is_one_number <- function(column) {
  if (is.logical(column)) return(is.null(dim(column)) && length(column) > 0L && all(is.na(column)))
  NCOL(column) == 1L && !is.factor(column) && !is.character(column)
}

# A hole that the model cannot describe is refused with the reason; whether other missing values are
# an error is for `na.action` to say.
check_missing_model <- function(parsed, frame, allowed, variables, rows) {
  with_na <- names(frame)[vapply(frame, anyNA, NA)]
  smooth <- smooth_names(parsed)
  # A missing response, weight or offset is refused like anywhere else.
  elsewhere <- c(names(frame)[1L], "(weights)", "(offset)", offset_names(parsed))
  for (name in setdiff(with_na, elsewhere)) {
    in_smooth <- vapply(smooth, function(names) name %in% names, NA)
    reason <- if (any(in_smooth)) {
      sprintf(
        "It is in the smooth term `%s`, which needs known values.",
        parsed$smooths[[which(in_smooth)[1]]]$text
      )
    } else if (name %in% leaf_names(parsed)) {
      sprintf(
        "It is the grouping factor of `(. | %s)`: give these rows a level, \"unknown\" say.", name
      )
    } else if (!(name %in% allowed)) {
      why_not_modelled(frame[[name]])
    }
    if (!is.null(reason)) {
      curve <- if (any(in_smooth)) {
        smooth_inputs(parsed$smooths[[which(in_smooth)[1]]], name)
      } else if (NCOL(frame[[name]]) > 1L) {
        inside_of(name)
      }
      abort_missing_predictor(name, reason, missing_rows(frame[[name]]), rows, curve)
    }
  }
  holed <- Filter(function(name) !is_factor_like(frame[[name]]), intersect(with_na, allowed))
  check_products(parsed, holed, frame, rows)
  pairs <- shared_variables(parsed$frame_terms, with_na, variables)
  for (pair in pairs) {
    both <- which(is.na(c(frame[[pair[1]]])) & is.na(c(frame[[pair[2]]])))
    # x and log(x) missing together are one unknown value, not two normal ones.
    if (length(both)) {
      abort_missing_predictor(
        pair[1], sprintf("It is missing together with `%s`, made of the same variable.", pair[2]),
        both, rows, intersect(inside_of(pair[1]), inside_of(pair[2]))
      )
    }
  }
}

why_not_modelled <- function(column) {
  if (NCOL(column) > 1L) {
    sprintf("It has %d columns, which depend on one value.", NCOL(column))
  } else {
    "It is a factor that stands in `by`."
  }
}

# A product of two unknown values is not normal given the rest.
check_products <- function(parsed, holed, frame, rows) {
  for (terms in model_terms(parsed)) {
    factors <- term_factors(terms) > 0
    names <- variable_names(terms)
    unknown <- factors[names %in% holed, , drop = FALSE]
    bad <- which(colSums(unknown) > 1L)
    if (length(bad)) {
      both <- intersect(names[factors[, bad[1]]], holed)
      abort_missing_predictor(
        both[2],
        sprintf(
          "It is in the product `%s` with `%s`, which has missing values too.",
          attr(terms, "term.labels")[bad[1]], both[1]
        ),
        which(is.na(frame[[both[2]]])), rows
      )
    }
  }
}

# Pairs of terms' variables, among `names`, made of a common variable of the data.
shared_variables <- function(terms, names, variables) {
  expressions <- as.list(attr(terms, "variables"))[-1L]
  names(expressions) <- variable_names(terms)
  inside <- lapply(expressions[names(expressions) %in% names], all.vars)
  pairs <- list()
  for (name in intersect(unique(unlist(inside)), variables)) {
    users <- names(inside)[vapply(inside, function(v) name %in% v, NA)]
    if (length(users) > 1L) pairs <- c(pairs, utils::combn(users, 2L, simplify = FALSE))
  }
  unique(pairs)
}

# What a smooth is a function of, if `name` is among it and not in `by`.
smooth_inputs <- function(term, name) {
  names <- setdiff(vapply(term$variables, deparse1, ""), by_name(term))
  if (name %in% names) names
}

# The variables of an expression's text.
inside_of <- function(name) tryCatch(all.vars(str2lang(name)), error = function(e) name)

# `curve`: variables of which the term is a function that is no line.
abort_missing_predictor <- function(name, reason, at, rows, curve = NULL) {
  row <- original_rows(at[1], rows)
  bk_abort(
    "missing", fit_header("Missing values of `%s` cannot be modeled.", name), reason,
    sprintf("Found: %d missing, first in row %d.", length(at), row),
    if (length(curve)) {
      sprintf(
        "Accepted: `gp(%s)`, a smooth function of it that may miss values.",
        paste(curve, collapse = ", ")
      )
    },
    paste(
      "Accepted: missing values of factors, and of numbers that are terms of",
      "their own, random slopes, or multiplied by known columns or factors.",
      "Otherwise impute them,", "or leave such rows out with `missing = \"omit\"`."
    ),
    column = name, row = row, found = length(at)
  )
}

# The values that are there have to tell a mean and a variance.
check_observed <- function(x, moments) {
  nowhere <- which(moments$missing == nrow(x))
  if (length(nowhere)) {
    name <- colnames(x)[nowhere[1]]
    bk_abort(
      "missing", fit_header("Predictor `%s` is missing in every row.", name),
      "Accepted: at least two different values. Drop the predictor.", column = name, found = nrow(x)
    )
  }
  constant <- which(constant_columns(moments))
  if (length(constant)) {
    name <- colnames(x)[constant[1]]
    bk_abort(
      "argument", fit_header("Predictor `%s` is constant where it is observed.", name),
      sprintf("Found: %s.", format(moments$min[constant[1]], digits = 7)),
      paste("Accepted with `missing = \"model\"`: predictors that vary. Drop it."), column = name,
      found = moments$min[constant[1]]
    )
  }
}
