# Expressions of a formula whose values depend on other rows than their own, and columns whose unit
# is no part of their numbers. New rows are read as the rows of the fit were.

# What new rows need to be read as the rows of the fit were.
# needed: names of the variables that have a value for each of the `n` rows.
# Returns a list: `predvars` of the terms, `offset`; `kinds`, by column_kind(); `names` of the
#   variables that depend on other rows all the same.
read_across <- function(terms, offset, needed, data, env, n) {
  scope <- data %||% env
  variables <- as.list(attr(terms, "predvars") %||% attr(terms, "variables"))
  columns <- lapply(stats::setNames(nm = needed), function(name) {
    if (is.list(data) && name %in% names(data)) data[[name]] else get0(name, envir = env)
  })
  across <- logical(length(variables) - 1L)
  if (is.call(offset) || any(vapply(variables[-1L], is.call, NA))) with_seed(1, {
    variables[-1L] <- lapply(variables[-1L], keep_summaries, needed, scope, env, n)
    offset <- keep_summaries(offset, needed, scope, env, n)
    across <- looks_across(variables[-1L], columns, env)
  })
  kinds <- lapply(columns, column_kind)
  inside <- unlist(lapply(Filter(is.call, variables), all.vars))
  of_levels <- vapply(kinds, function(kind) !is.null(kind$levels), NA)
  kinds <- kinds[lengths(kinds) > 0L & (!of_levels | needed %in% inside)]
  list(
    predvars = as.call(variables), offset = offset, kinds = kinds,
    names = variable_names(terms)[across]
  )
}

# The left side of the formula for new rows; NULL if that is what it is for those of the fit.
kept_response <- function(left, parsed, data, n) {
  scope <- data %||% parsed$env
  columns <- Filter(function(name) {
    NROW(tryCatch(eval(as.name(name), scope, parsed$env), error = function(e) NULL)) == n
  }, all.vars(left))
  kept <- with_seed(1, keep_summaries(left, columns, scope, parsed$env, n))
  if (!identical(kept, left)) kept
}

# What is summed up over the columns of the fit, such as the mean of `I(x - mean(x))`, becomes the
# number that it is there.
# columns: names of the variables that have a value for each of the `n` rows.
keep_summaries <- function(expr, columns, scope, env, n, whole = FALSE) {
  if (!is.call(expr) || !any(all.vars(expr) %in% columns)) return(expr)
  if (whole) {
    value <- tryCatch(suppressWarnings(eval(expr, scope, env)), error = function(e) NULL)
    if (is.atomic(value) && !is.null(value) && NROW(value) != n) return(value)
  }
  if (deparse1(expr[[1L]]) %in% c("function", "~", "$", "@")) return(expr)
  inner <- vapply(as.list(expr), is.call, NA)
  expr[inner] <- lapply(as.list(expr)[inner], keep_summaries, columns, scope, env, n, TRUE)
  expr
}

# Which variables have other values where fewer rows are there, such as `rank(x)`: among some rows,
# a part of these and rows alone.
looks_across <- function(variables, columns, env) {
  n <- if (length(columns)) NROW(columns[[1L]]) else 0L
  some <- spread_over(n, 400L)
  n <- length(some)
  if (n < 6L) return(logical(length(variables)))
  parts <- list(seq.int(n %/% 4L + 1L, length.out = n %/% 3L), 1L, n %/% 3L, n)
  rows <- lapply(Filter(is.atomic, columns), values_at, some)
  fewer <- lapply(parts, function(at) lapply(rows, values_at, at))
  vapply(variables, function(variable) {
    if (!is.call(variable)) return(FALSE)
    value <- function(scope) {
      tryCatch(suppressWarnings(eval(variable, scope, env)), error = function(e) NULL)
    }
    all <- value(rows)
    !is.null(all) && any(mapply(function(scope, at) {
      part <- value(scope)
      !is.null(part) && !same_values(values_at(all, at), part)
    }, fewer, parts))
  }, NA)
}

same_values <- function(a, b) {
  plain <- if (is.factor(a) || is.factor(b)) as.character else as.vector
  isTRUE(all.equal(plain(a), plain(b), check.attributes = FALSE))
}

# The unit of a time, or "levels" of a factor; NULL of other columns.
column_kind <- function(column) {
  if (inherits(column, "difftime")) {
    list(time = "difftime", units = attr(column, "units"))
  } else if (inherits(column, "Date")) {
    list(time = "Date")
  } else if (inherits(column, c("POSIXct", "POSIXlt"))) {
    list(time = "POSIXct")
  } else if (is.factor(column)) {
    list(levels = levels(column), ordered = is.ordered(column))
  }
}

# New columns in the units of those of the fit, and with their levels. Plain numbers are taken to be
# in these units.
# kinds: by column_kind(), of factors those whose codes an expression may see; NULL of a fit of an
#   earlier version.
as_trained <- function(newdata, kinds, variables) {
  if (is.null(kinds)) return(newdata)
  for (name in variables) {
    column <- newdata[[name]]
    own <- kinds[[name]]
    if (is.null(own) && (!is.object(column) || is.factor(column))) next
    new <- column_kind(column)
    if (!is.null(own$levels)) {
      if (is.factor(column) || is.character(column)) {
        levels <- unique(c(own$levels, new$levels %||% sort(unique(column))))
        newdata[[name]] <- factor(as.character(column), levels, ordered = own$ordered)
      }
    } else if (!is.null(new$time) && !identical(new, own)) {
      newdata[[name]] <- in_unit(column, own, new, name)
    }
  }
  newdata
}

in_unit <- function(column, own, new, name) {
  if (identical(own$time, "difftime") && identical(new$time, "difftime")) {
    units(column) <- own$units
    return(column)
  }
  bk_abort(
    "argument", fit_header("Column `%s` of `newdata` has another unit than that of the fit.", name),
    sprintf("Found: a column of class %s.", quoted(class(column)[1L])),
    switch(own$time %||% "numbers",
      difftime = "Accepted: time differences, or numbers in units of the fit.",
      Date = "Accepted: dates, by as.Date().", POSIXct = "Accepted: times, by as.POSIXct().",
      "Accepted: numbers, as in the training data."
    ),
    column = name, found = class(column)
  )
}

warn_across <- function(names) {
  bk_warn(
    "effects", fit_header("Term `%s` depends on which rows are given together.", names[1L]),
    if (length(names) > 1L) paste("So do:", list_some(names[-1L])),
    "In new rows it is computed from these, not from the rows of the fit.",
    "Make it a column before the fit, whose values new rows have, too.", names = names
  )
}
