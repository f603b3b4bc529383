# From the user's formula and data to one checked model frame: which variables, which rows, nothing
# missing.

check_data <- function(data) {
  if (is.environment(data) || is.null(data)) return(data)
  if (!is.list(data) || (is.object(data) && !is.data.frame(data))) {
    abort_argument(data, "data", "a data frame, or a list of variables")
  }
  if (is.null(names(data)) && length(data)) abort_argument(data, "data", "a list with names")
  if (!is.data.frame(data)) {
    sizes <- unique(vapply(data, NROW, 1L))
    # Without a common length there is no frame, and `.` has no meaning.
    if (length(sizes) == 1L) {
      attr(data, "row.names") <- .set_row_names(sizes)
      class(data) <- "data.frame"
    }
  }
  if (is.data.frame(data) && .row_names_info(data, 2L) == 0L) abort_too_few_rows(0L)
  data
}

# Evaluates a model frame of all rows that `subset` names. `rows` maps its rows to those of `data`,
# NULL when they are all there.
build_frame <- function(parsed, data, weights, offset, subset) {
  env <- parsed$env
  scope <- if (is.null(data)) env else data
  check_variables(parsed, scope, env)
  extras <- list(
    weights = if (!is.null(weights)) eval_argument(weights, "weights", scope, env),
    offset = if (!is.null(offset)) eval_argument(offset, "offset", scope, env)
  )
  n <- if (is.data.frame(data)) .row_names_info(data, 2L)
  for (name in names(extras)) {
    given <- NROW(extras[[name]])
    if (!is.null(n) && !is.null(extras[[name]]) && given != n) abort_length(name, given, n)
  }
  if (is.null(n) && !is.null(subset)) n <- NROW(eval(parsed$frame_terms[[2]], scope, env))
  rows <- if (!is.null(subset)) subset_rows(subset, scope, env, n)
  frame_call <- as.call(c(
    list(
      quote(stats::model.frame.default), formula = parsed$frame_terms, data = scope,
      na.action = stats::na.pass, subset = rows
    ),
    extras
  ))
  # An empty argument and a NULL one are not the same to model.frame().
  frame_call <- frame_call[!vapply(as.list(frame_call), is.null, NA)]
  frame <- tryCatch(eval(frame_call), error = function(e) explain_frame_error(e, parsed, scope, n))
  for (name in setdiff(names(frame), parsed$response)) {
    if (is.complex(frame[[name]]) || is.raw(frame[[name]])) refuse_type(name, frame[[name]])
  }
  for (j in attr(attr(frame, "terms"), "offset")) check_offset_type(frame[[j]], names(frame)[j])
  if (is.null(n)) n <- nrow(frame)
  list(frame = frame, rows = rows, n = n)
}

# A variable has to be in `data` or, as for lm(), where the formula was written; a function of that
# name, such as time(), does not count, but contrasts in C() are functions.
check_variables <- function(parsed, scope, env) {
  taken <- intersect(c("$", "@"), all.names(parsed$frame_terms))
  if (length(taken) && !is.data.frame(scope)) {
    bk_abort(
      "argument", "The formula takes its variables out of an object.",
      sprintf("Found: %s.", deparse1(parsed$frame_terms)),
      "Write the names of its columns, and the object as `data`: y ~ x, data.", column = "formula"
    )
  }
  names <- all.vars(parsed$frame_terms)
  names <- setdiff(names, names(scope))
  # Contrasts in C() are functions.
  if ("C" %in% all.names(parsed$frame_terms)) {
    names <- setdiff(names, contrasts_of(parsed$frame_terms))
  }
  for (name in names) {
    object <- get0(name, envir = env)
    if (is.null(object) || is.function(object)) {
      in_response <- name %in% all.vars(parsed$frame_terms[[2]])
      bk_abort(
        if (in_response) "response" else "argument",
        fit_header(
          paste(
            if (in_response) "Response" else "Variable",
            if (is.environment(scope)) "`%s` is not found, and `data` is not given." else
              "`%s` is not in `data`."
          ), name
        ),
        if (is.data.frame(scope)) paste("Columns of `data`:", list_some(names(scope))),
        nearest_value(name, names(scope)),
        if (!is.environment(scope)) "Correct the formula, or add the column to `data`.",
        column = name, found = names(scope)
      )
    }
  }
}

# Names that stand for contrasts, as in C(x, contr.sum).
contrasts_of <- function(x) {
  if (!is.call(x)) return(NULL)
  terms <- sum_terms(x)$terms
  if (length(terms) > 1L) return(unlist(lapply(terms, contrasts_of)))
  own <- if (identical(x[[1]], quote(C)) && length(x) > 2L) all.vars(x[[3]])
  c(own, unlist(lapply(seq_along(x)[-1], function(k) contrasts_of(x[[k]]))))
}

# `weights`, `offset` and `subset` are expressions in the columns of `data`, vectors, or the name of
# a column as text.
eval_argument <- function(value, name, scope, env) {
  if (is.language(value)) {
    value <- tryCatch(eval(value, scope, env), error = function(e) {
      bk_abort(
        "argument", sprintf("Argument `%s` cannot be computed.", name), conditionMessage(e),
        paste(
          "Accepted: an expression in the columns of `data`, or a vector", "with one value a row."
        ),
        column = name
      )
    })
  }
  if (is.character(value) && length(value) == 1L && value %in% names(scope)) value <- scope[[value]]
  if (name %in% c("weights", "offset")) check_row_numbers(value, name)
  value
}

# Numbers of rows, or NULL. Dates and times are no numbers here, and factors are none anywhere.
check_row_numbers <- function(value, name) {
  if (!is.null(value) && (!is.numeric(value) || length(dim(value)) > 1L)) {
    abort_argument(value, name, "a numeric vector, one value a row")
  }
}

subset_rows <- function(subset, scope, env, n) {
  keep <- eval_argument(subset, "subset", scope, env)
  if (is.null(keep)) return(NULL)
  if (is.logical(keep)) {
    if (length(keep) != n) abort_length("subset", length(keep), n)
    rows <- which(keep)
  } else if (is_row_numbers(keep, n)) {
    rows <- seq_len(n)[keep]
  } else {
    abort_argument(keep, "subset", sprintf("logical, or row numbers up to %d", n))
  }
  if (length(rows) == 0L) {
    bk_abort("dimension", "`subset` leaves no rows.",
      "Accepted: a condition that at least two rows fulfil.",
      column = "subset", found = 0L
    )
  }
  rows
}

# Of rows to keep, or negative of rows to leave out.
is_row_numbers <- function(x, n) {
  is.numeric(x) && !is.object(x) && !anyNA(x) && all(abs(x) <= n) &&
    all(x == trunc(x)) && (all(x >= 0) || all(x <= 0))
}

# model.frame() failed: find the variable, in the order of the formula.
explain_frame_error <- function(error, parsed, scope, n) {
  variables <- as.list(attr(parsed$frame_terms, "variables"))[-1L]
  for (variable in variables) {
    name <- deparse1(variable)
    value <- tryCatch(suppressWarnings(eval(variable, scope, parsed$env)), error = identity)
    is_response <- identical(name, parsed$response)
    kind <- if (is_response) "response" else "argument"
    if (inherits(value, "error") && !is_response) {
      refuse_missing_inside(variable, name, value, scope, parsed$env)
    }
    if (inherits(value, "error") || is.null(value)) {
      bk_abort(kind, fit_header("Variable `%s` cannot be computed.", name),
        if (is.null(value)) "Found: NULL." else conditionMessage(value),
        "Accepted: an expression that gives one value, or row, for each row.",
        column = name
      )
    }
    if (!is.atomic(value)) {
      bk_abort(kind, fit_header("Variable `%s` is not a vector.", name),
        sprintf("Found: %s.", if (is.list(value)) {
          sprintf("a list column of class %s", quoted(class(value)[1]))
        } else {
          article(paste("object of class", quoted(class(value)[1])))
        }),
        "Accepted: numeric, logical, factor or character, one value a row.",
        column = name, found = class(value)
      )
    }
    if (is.null(n)) n <- NROW(value)
    if (NROW(value) != n) abort_length(name, NROW(value), n)
  }
  bk_abort("argument", "The model frame cannot be made.", conditionMessage(error))
}

# Bases such as poly() fail where their variable is missing.
refuse_missing_inside <- function(variable, name, error, scope, env) {
  for (inner in all.vars(variable)) {
    value <- tryCatch(eval(as.name(inner), scope, env), error = identity)
    if (is.atomic(value) && anyNA(value)) {
      bk_abort(
        "missing", fit_header("Variable `%s` cannot be computed with missing values.", name),
        sprintf(
          "`%s`: %d missing, first in row %d.", inner, sum(is.na(value)), which(is.na(value))[1]
        ),
        conditionMessage(error),
        sprintf("First leave out the rows in which `%s` is missing.", inner),
        sprintf(
          paste(
            "In bkm() and bsvm() `gp(%s)` is a smooth function of it that may",
            "miss values, with `missing = \"model\"`."
          ), inner
        ),
        column = name, row = which(is.na(value))[1], found = inner
      )
    }
  }
}

check_offset_type <- function(value, name) {
  if (!is.numeric(value) && !is.logical(value) || NCOL(value) > 1L) {
    bk_abort(
      "argument", fit_header("Term `%s` is not of numbers.", name),
      paste("Found:", describe_value(value)), "Accepted: a number for each row.",
      column = name, found = class(value)
    )
  }
}

refuse_type <- function(name, column) {
  bk_abort("argument", fit_header("Variable `%s` has no use here.", name),
    sprintf("Found: a vector of type %s.", typeof(column)),
    "Accepted: numeric, logical, factor or character.", column = name, found = typeof(column)
  )
}

# Rows to keep, NULL for all: an error or an omission for missing values, then the removal of rows
# whose weight is zero, which say nothing: `zero`, their numbers in the data. With missing = "model"
# variables `allowed` may have holes, and `check(frame, rows)` refuses others with the reason.
# `groups`: names of grouping factors.
usable_rows <- function(frame, rows, na.action, missing = "refuse",
                        allowed = NULL, check = function(frame, rows) NULL, groups = NULL) {
  omit <- if (!identical(na.action, stats::na.fail)) read_na_action(na.action)
  keep <- omitted <- NULL
  if (missing == "model" && is.null(omit)) check(frame, rows)
  with_na <- setdiff(names(frame)[vapply(frame, anyNA, NA)], allowed)
  refused <- if (is.null(omit) && missing != "omit") with_na
  if (length(refused)) refuse_missing(frame, refused, rows, missing != "refuse", groups)
  if (length(with_na)) {
    bad <- lapply(unclass(frame)[with_na], missing_rows)
    gone <- sort(unique(unlist(bad, use.names = FALSE)))
    keep <- seq_len(nrow(frame))[-gone]
    omitted <- original_rows(gone, rows)
    class(omitted) <- if (is.null(omit)) "omit" else omit
    if (missing == "omit") inform_dropped(bad, nrow(frame))
  }
  if (missing == "model" && !is.null(omit)) {
    check(frame_rows(frame, keep), original_rows(keep, rows))
  }
  zero <- integer()
  w <- frame[["(weights)"]]
  if (!is.null(w)) {
    if (!is.null(keep)) w <- w[keep]
    check_weights(w, original_rows(keep, rows))
    if (any(w == 0)) {
      left <- keep %||% seq_along(w)
      zero <- original_rows(left[w == 0], rows)
      keep <- left[w > 0]
    }
  }
  left <- if (is.null(keep)) nrow(frame) else length(keep)
  if (left < 2L) abort_too_few_rows(left)
  # naresid() and napredict() count among the rows that are left and those omitted, in their order:
  # not in the rows of `data`.
  if (!is.null(omitted)) {
    kept <- original_rows(keep, rows)
    names <- as.character(omitted)
    omitted[] <- match(omitted, sort(c(kept, omitted)))
    names(omitted) <- names
  }
  list(
    keep = keep, na.action = omitted, n_omitted = length(omitted), zero = zero,
    n_zero_weight = length(zero)
  )
}

# `choice`: the model has an argument `missing`.
refuse_missing <- function(frame, names, rows, choice, groups) {
  bad <- lapply(unclass(frame)[names], missing_rows)
  count <- stats::setNames(lengths(bad), sub("^\\((.*)\\)$", "\\1", names))
  first <- vapply(bad, `[`, 1L, 1L)
  fixed <- c(names(frame)[1L], "(weights)", "(offset)")
  # What is missing for the expression alone.
  made <- Filter(function(name) {
    column <- frame[[name]]
    is.numeric(column) && any(is.nan(column)) && !identical(inside_of(name), name)
  }, names)
  group <- intersect(names, groups)
  omit <- if (choice) "missing = \"omit\"" else "na.action = na.omit"
  abort_missing(count, first, rows, cure = if (length(made)) {
    sprintf("Look first at `%s`: it is NaN there, as the logarithm of a negative is.", made[1L])
  } else if (length(group)) {
    sprintf(
      "`%s` is a grouping factor: %s `%s`.", group[1L],
      "give these rows a level of their own, \"unknown\" say, or drop them by", omit
    )
  } else if (!choice) {
    missing_in_data
  } else if (any(names %in% fixed)) {
    paste(
      "Omit such rows with `na.action = na.omit`; with it and `missing = \"model\"` rows stay in",
      "which only predictors are missing."
    )
  } else {
    paste(
      "Drop such rows by `missing = \"omit\"`, average over them by `missing = \"model\"`,",
      "or impute them."
    )
  })
}

inform_dropped <- function(bad, n) {
  gone <- length(unique(unlist(bad, use.names = FALSE)))
  bk_inform(
    "dropped_rows", sprintf("%d of %d rows were dropped: they have missing values.", gone, n),
    paste0("`", names(bad), "`: ", lengths(bad), " missing."), n = gone
  )
}

read_na_action <- function(na.action) {
  if (is.character(na.action) && length(na.action) == 1L) {
    na.action <- get0(na.action, envir = asNamespace("stats"))
  }
  if (identical(na.action, stats::na.omit)) {
    "omit"
  } else if (identical(na.action, stats::na.exclude)) {
    "exclude"
  } else if (!is.null(na.action) && !identical(na.action, stats::na.fail) &&
    !identical(na.action, stats::na.pass)) {
    abort_argument(na.action, "na.action", "na.fail, na.omit or na.exclude")
  }
}

check_weights <- function(w, rows) {
  if (is.null(w)) return(invisible())
  if (anyNA(w)) {
    abort_missing(
      c(weights = sum(is.na(w))), which(is.na(w))[1], rows,
      what = "Argument", cure = "Leave out the rows without one."
    )
  }
  bad <- which(!(w >= 0 & w < Inf))
  if (length(bad)) {
    bk_abort(
      "argument", "Argument `weights` has negative or infinite values.",
      sprintf(
        "Found: %s in row %d (%d such rows).", format(w[bad[1]]),
        original_rows(bad[1], rows), length(bad)
      ),
      "Accepted: finite numbers of at least 0, not all 0.",
      column = "weights", row = original_rows(bad[1], rows), found = w[bad[1]]
    )
  }
  mean <- mean(w[w > 0])
  if (any(w != round(w)) && (mean > 10 || mean < 0.1)) {
    bk_warn(
      "weights", "The weights are far from 1.",
      sprintf("Found: mean %s.", format(mean, digits = 3)),
      "Each row counts as that many rows.", "If they are relative use w / mean(w).", found = mean
    )
  }
  if (length(w) && all(w == 0)) {
    bk_abort(
      "argument", "Argument `weights` is zero in every row.",
      "Accepted: finite numbers of at least 0, not all 0.", column = "weights", found = 0
    )
  }
}

# The rows `keep` of a frame, with the attributes that terms need.
frame_rows <- function(frame, keep) {
  if (is.null(keep)) return(frame)
  columns <- lapply(frame, values_at, keep)
  attributes(columns) <- attributes(frame)
  attr(columns, "row.names") <- attr(frame, "row.names")[keep]
  columns
}
