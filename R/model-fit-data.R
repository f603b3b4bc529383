# The data of a fit, for everything that reads them again: kept with the fit while they are few,
# otherwise looked for under the names of its call and compared with a digest. A name may mean other
# rows by now; no reader looks anywhere but here.

# Most cells of the data that a fit keeps.
cells_option <- "bayeskernel.model_cells"

# Puts the data into a fit, or a digest of them.
# fit, rows, front, settings: see fit_model().
# Returns the fit with `data`: `rows` as predict() takes them, `y` if there is no formula, `weights`
#   and `offset` as they were given; or `digest`, of each variable, and `at`, which rows of the data
#   they are (`NULL` for all); or `absent`, why there are none. `zero`, rows of weight 0: see
#   keep_zero().
keep_data <- function(fit, rows, front, settings) {
  # Only a source has something to put away.
  if (!is.null(rows$release)) {
    fit$data <- list(absent = "source")
    return(fit)
  }
  if (is.null(fit$formula)) {
    given <- list(x = front$x, y = front$y, weights = front$weights, offset = front$offset)
    at <- if (!is.null(rows$rows)) {
      data_places(rows)
    } else if (length(rows$na.action)) {
      setdiff(seq_len(NROW(given$y)), unclass(rows$na.action))
    }
  } else {
    joined <- !("formula" %in% ls(front))
    given <- if (joined) joined_arguments(as.list(front)) else formula_arguments(front)
    at <- if (!is.null(rows$rows)) data_places(rows)
  }
  found <- data_of_call(fit, given, at)
  fit$data <- if (settings$model && count_cells(found) <= getOption(cells_option, 1e6)) {
    c(found, n = count_rows(found$rows))
  } else {
    list(digest = data_digest(found), at = at, joined = !is.null(fit$formula) && joined)
  }
  if (length(rows$zero)) fit$zero <- keep_zero(fit, rows, given)
  fit
}

# Trials of a unit are one row of the data; copies of incomplete rows are rows.
data_places <- function(rows) if (is.null(rows$repeats)) unique(rows$rows) else rows$rows

# Rows of weight 0, which have fitted values: `rows` and `y` as data_of_call() has them, and `at`,
# where they stand among the rows that fitted() answers for.
keep_zero <- function(fit, rows, given) {
  found <- data_of_call(fit, given, rows$zero, unique(rows$rows))
  out <- rows$na.action
  padded <- if (inherits(out, "exclude")) as.integer(names(out))
  list(
    at = match(rows$zero, sort(c(unique(rows$rows), rows$zero, padded))), y = found$y,
    rows = without_names(found$rows)
  )
}

# Predictions of other rows carry their names.
without_names <- function(rows) {
  if (is.data.frame(rows)) {
    attr(rows, "row.names") <- .set_row_names(.row_names_info(rows, 2L))
  } else if (is.list(rows)) {
    rows <- lapply(rows, without_names)
  } else if (length(dim(rows)) == 2L) {
    rownames(rows) <- NULL
  }
  rows
}

# `x` and `y` that were read as data of a formula, see design_from_frame().
joined_arguments <- function(given) {
  names(given$x) <- predictor_names(given$x)
  c(frame_with_response(given$x, given$y), given[c("weights", "offset")])
}

# Of spaces those of the first.
count_rows <- function(rows) {
  if (is.list(rows) && !is.data.frame(rows)) rows <- rows[[1]]
  NROW(rows)
}

# What keep_data() keeps, of the arguments as they were typed and their values. `objects`: those
# that the rows of a kernel matrix have values with.
data_of_call <- function(object, given, at, objects = at) {
  found <- if (is.null(object$formula)) {
    given[c("x", "y", "weights", "offset")]
  } else {
    env <- environment(given$formula) %||% globalenv()
    scope <- check_data(given$data) %||% env
    extras <- lapply(given[c("weights", "offset")], function(value) {
      if (!is.null(value)) eval_argument(value, "weights", scope, env)
    })
    c(list(rows = raw_variables(object, given, scope, env)), extras)
  }
  names(found)[1L] <- "rows"
  if (!is.null(object$repeats)) found["weights"] <- NULL
  if (is.null(at)) return(found)
  others <- names(found)[-1L]
  found$rows <- rows_at_places(found$rows, at, object$design$type, objects)
  found[others] <- lapply(found[others], rows_at_places, at)
  found
}

# Variables of the formula and of arguments that have a value a row.
raw_variables <- function(object, given, scope, env) {
  value <- function(name) {
    if (is.list(scope) && name %in% names(scope)) {
      scope[[name]]
    } else {
      get0(name, if (is.environment(scope)) scope else env)
    }
  }
  needed <- fit_variables(object)
  extra <- unlist(lapply(given[c("weights", "offset")], function(typed) {
    if (is.language(typed)) all.vars(typed)
  }))
  values <- lapply(stats::setNames(nm = union(needed, extra)), value)
  n <- if (is.data.frame(scope)) {
    .row_names_info(scope, 2L)
  } else {
    NROW(values[[object$design$variables[1] %||% needed[1]]])
  }
  values <- values[vapply(values, function(v) !is.null(v) && !is.function(v) && NROW(v) == n, NA)]
  structure(
    values, class = "data.frame",
    row.names = if (is.data.frame(scope)) attr(scope, "row.names") else seq_len(n)
  )
}

# Those of the response first.
fit_variables <- function(object) {
  response <- if (is.null(object$formula)) ".response" else all.vars(object$formula[[2]])
  union(response, object$design$variables %||% matrix_names(object))
}

# Of what predict() takes; of a square kernel its rows and columns, of spaces those of each.
rows_at_places <- function(x, at, type = "matrix", objects = at) {
  if (type == "spaces" && is.list(x) && !is.data.frame(x)) {
    lapply(x, rows_at_places, at, type, objects)
  } else if (length(dim(x)) != 2L) {
    x[at]
  } else if (type == "kernel" || type == "spaces" && nrow(x) == ncol(x) && nrow(x) > 1L) {
    x[at, objects, drop = FALSE]
  } else {
    x[at, , drop = FALSE]
  }
}

# --- digests -----------------------------------------------------------------

# By name the parts that are compared.
data_parts <- function(found) {
  rows <- found$rows
  spaces <- is.list(rows) && !isS4(rows)
  c(
    if (spaces) as.list(rows) else list(x = rows), if (!is.null(found$y)) list(.response = found$y),
    if (!is.null(found$weights)) list("(weights)" = found$weights),
    if (!is.null(found$offset)) list("(offset)" = found$offset)
  )
}

count_cells <- function(x) {
  if (is.list(x)) return(sum(vapply(x, count_cells, 0)))
  as.double(length(if (is.atomic(x) || !is_sparse(x)) x else x@x))
}

data_digest <- function(found) vapply(data_parts(found), digest_of, "")

# Of values, whatever their names: a whole number is the same as integer and as double, a label as
# factor and as text.
digest_of <- function(x) {
  if (is_sparse(x)) {
    x <- methods::as(methods::as(x, "generalMatrix"), "CsparseMatrix")
    return(paste(digest_cpp(dim(x)), digest_cpp(x@i), digest_cpp(x@p), digest_cpp(x@x)))
  }
  if (is.list(x)) return(paste(vapply(x, digest_of, ""), collapse = " "))
  if (is.factor(x)) x <- as.character(x)
  paste(c(dim(x), core_call(digest_cpp(x))), collapse = " ")
}

# --- finding them ------------------------------------------------------------

# The data of a fit.
# Returns what keep_data() keeps of them, or a list with `absent`, the reason in words.
training_data <- function(object) {
  known <- object$data
  if (!is.null(known$rows)) {
    if (!identical(count_rows(known$rows), known$n)) abort_not_whole("data")
    return(known)
  }
  # Of a version that kept the model frame, or nothing that they could be compared with.
  if (is.null(known)) {
    frame <- object$frame
    whole <- is.data.frame(frame) && !is.null(object$formula) &&
      all(fit_variables(object) %in% names(frame))
    return(if (whole) {
      list(rows = as.data.frame(frame))
    } else {
      list(absent = "It was made by an earlier version, which kept no data.")
    })
  }
  if (!is.null(known$absent)) {
    return(list(absent = switch(known$absent,
      source = "It was made from a row source, whose rows are not kept.",
      extended = "It was extended: of its first rows it keeps the posterior."
    ), never = TRUE))
  }
  changed <- NULL
  for (home in user_homes()) {
    found <- tryCatch(data_at(object, home), error = function(e) NULL)
    if (is.null(found)) next
    digest <- data_digest(found)
    if (identical(digest, known$digest)) return(found)
    changed <- changed %||% changed_parts(digest, known$digest)
  }
  list(absent = if (is.null(changed)) {
    "It was made without them, and they are not found by their name any more."
  } else {
    sprintf(
      "It was made without them, and what has their name differs in %s.", list_some(changed, 4L)
    )
  })
}

changed_parts <- function(digest, known) {
  names <- names(known)
  shown <- sub("^[.]response$", "y", sub("^\\((.*)\\)$", "\\1", names))
  sprintf("`%s`", shown)[is.na(digest[names]) | digest[names] != known]
}

# The data as the call names them in `home`.
data_at <- function(object, home) {
  call <- object$call
  value <- function(name) if (!is.null(call[[name]])) eval(call[[name]], home)
  at <- object$data$at
  joined <- isTRUE(object$data$joined)
  if (is.null(object$formula) || joined) {
    given <- list(
      x = eval(if (is.null(call$x)) call[[2]] else call$x, home),
      y = eval(if (is.null(call$y)) call[[3]] else call$y, home),
      weights = value("weights"), offset = value("offset")
    )
    return(data_of_call(object, if (joined) joined_arguments(given) else given, at))
  }
  formula <- object$formula
  environment(formula) <- home
  data_of_call(object, list(
    formula = formula, weights = call$weights, offset = call$offset,
    data = if (is.null(call$data)) home else value("data")
  ), at)
}

# Frames that run a user's code, the innermost first, and the workspace. Tests of this package run
# in environments that its namespace, or a copy of it, encloses; of our own functions it is the
# parent.
user_homes <- function() {
  home <- topenv()
  frames <- as.list(sys.frames())
  foreign <- vapply(frames, function(frame) {
    top <- topenv(frame)
    (isNamespace(top) && environmentName(top) != environmentName(home)) ||
      identical(parent.env(frame), home)
  }, NA)
  c(rev(frames[!foreign]), globalenv())
}

# --- as readers want them ----------------------------------------------------

# Rows of the fit with the columns of its data, the response among them; NULL if they are not to be
# had, or there are no predictors.
fit_data <- function(object) {
  found <- training_data(object)
  if (is.null(found$rows) || object$design$type %in% c("kernel", "spaces")) return(NULL)
  if (!is.null(object$formula)) return(found$rows)
  with_response(object, found, ".response")
}

with_response <- function(object, found, name) {
  x <- found$rows
  x <- as.data.frame(if (is_sparse(x)) as.matrix(x) else x)
  if (object$design$type == "matrix") names(x) <- setdiff(matrix_names(object), "(Intercept)")
  out <- cbind(data.frame(found$y), x)
  width <- length(out) - length(x)
  own <- if (width == 1L) name else paste0(name, seq_len(width))
  names(out) <- make.unique(c(own, names(x)))
  out
}

# With columns that are in no formula, where the data of the call are still those of the fit.
whole_data <- function(object) {
  own <- fit_data(object)
  call <- object$call
  if (is.null(own) || is.null(object$formula) || is.null(call$data)) return(own)
  for (home in user_homes()) {
    all <- tryCatch(as.data.frame(eval(call$data, home)), error = identity)
    if (!is.data.frame(all)) next
    at <- match(attr(own, "row.names"), attr(all, "row.names"))
    same <- !anyNA(at) && all(names(own) %in% names(all)) && identical(
      lapply(own, digest_of), lapply(all[at, names(own), drop = FALSE], digest_of)
    )
    if (same) return(all[at, , drop = FALSE])
  }
  own
}

need_data <- function(object, cure = "give the rows as `newdata`") {
  found <- training_data(object)
  if (is.null(found$rows)) abort_no_data(found, cure)
  found
}

abort_no_data <- function(found, cure = "give the rows as `newdata`") {
  bk_abort(
    "argument", "The data of the fit are gone.", found$absent,
    if (isTRUE(found$never)) {
      paste0(toupper(substr(cure, 1, 1)), substring(cure, 2), ".")
    } else {
      sprintf(
        paste(
          "Fit with `model = TRUE` to keep up to %s cells",
          "(options(bayeskernel.model_cells = )), or %s."
        ),
        format(getOption(cells_option, 1e6), big.mark = ",", scientific = FALSE), cure
      )
    },
    column = "newdata"
  )
}

# What wants all rows at once cannot take those of a source.
refuse_source_rows <- function(x) {
  if (inherits(x, "row_source")) {
    bk_abort(
      "argument", "Rows in a source are not for this function.",
      "Found: a row source.", "Accepted: a data frame or a matrix. predict() takes a source.",
      column = "newdata", found = "row_source"
    )
  }
}

# The rows of the fit as predict() takes them.
own_data <- function(object) need_data(object)$rows

# The model frame.
fit_frame <- function(object) {
  if (!is.null(object$frame)) return(unit_frame(object, object$frame))
  need_formula(object)
  frame_of_data(object, need_data(object, "give the rows"))
}

frame_of_data <- function(object, found) {
  design <- suppressWarnings(suppressMessages(bsvm_design(
    object$formula, found$rows, weights = found$weights, offset = found$offset,
    na.action = if (is.null(object$design$holes)) stats::na.fail,
    missing = if (is.null(object$design$holes)) "fail" else "model",
    kind = model_of(object)$rows$response(object)
  )))
  frame <- unit_frame(design, design$frame)
  # What a term computes from all rows, such as a mean, stays what it was.
  if (nrow(frame) == nrow(found$rows)) {
    trained <- tryCatch(
      stats::model.frame.default(object$design$frame_terms, found$rows, na.action = stats::na.pass),
      error = function(e) NULL
    )
    for (name in intersect(names(trained), names(frame))) frame[[name]] <- trained[[name]]
  }
  frame
}

# A call of the fit with its own data in place of names that may mean others.
call_with_data <- function(object, call) {
  found <- training_data(object)
  if (is.null(found$rows)) {
    from_source <- identical(object$data$absent, "source")
    if (from_source || is.null(object$data)) return(call)
    abort_no_data(found, "fit again")
  }
  parts <- as.list(call)
  names(parts) <- names(parts) %||% rep("", length(parts))
  # x and y may have been given without names.
  if (is.null(object$formula)) {
    plain <- setdiff(which(names(parts) == ""), 1L)
    absent <- sum(!(c("x", "y") %in% names(parts)))
    parts[utils::head(plain, absent)] <- NULL
  }
  parts[c("subset", "weights", "offset", "x", "y", "data")] <- NULL
  own <- if (is.null(object$formula)) list(x = found$rows, y = found$y) else list(data = found$rows)
  as.call(c(parts, own, Filter(length, found[c("weights", "offset")])))
}

need_formula <- function(object) {
  if (is.null(object$formula)) {
    bk_abort(
      "argument", "The fit was made from a matrix and has no formula.",
      sprintf("Use %s(formula, data), or keep x and y yourself.", model_of(object)$name)
    )
  }
}

matrix_names <- function(object) object$design$columns

# Its fixed part with smooths as they are written, and its bars.
effect_parts <- function(object) {
  formula <- effect_formula(object)
  parts <- split_bars(formula[[3]])
  formula[[3]] <- parts$fixed
  list(fixed = formula, bars = parts$bars)
}

# A formula also for a fit to a matrix.
effect_formula <- function(object) {
  object$formula %||%
    stats::reformulate(sprintf("`%s`", matrix_names(object)), ".response", env = globalenv())
}

# Limits of mixtures are not among what a fit keeps of its own rows.
check_rows_given <- function(rows) {
  if (is.null(rows)) {
    bk_abort(
      "argument", "Intervals need `newdata`: the fit keeps no predictors.",
      "Give the data of the fit, or other rows, as `newdata`.", column = "newdata"
    )
  }
}

# The response of `n` new rows: numbers of a regression, otherwise the numbers of the classes; from
# `newdata` if `y` is NULL. NA where it is missing.
new_response <- function(object, newdata, y, n, declared = FALSE) {
  if (!is_regression(object)) return(new_labels(object, newdata, y, n, declared))
  if (is.null(y) && is.list(newdata)) y <- response_at(object, newdata)
  if (is.null(y) || length(y) != n || !is.numeric(y) || is.factor(y)) {
    bk_abort(
      "argument", "The response of `newdata` is not known.", paste("Found:", describe_value(y)),
      sprintf("Give `y` with one number for each of the %d rows.", n), column = "y", found = y,
      expected = n
    )
  }
  as.double(y)
}
