# Plain matrices for the engines, from a formula or from a matrix, and the same
# columns again for new data. Every number that prediction needs is stored by
# the training design; nothing is computed anew from new rows.

# Squares and products of larger numbers overflow, of smaller ones underflow.
largest_magnitude <- 1e150

#' Design of a model from its formula
#'
#' @param formula,data As typed. `data` may be an environment or `NULL`.
#' @param weights,subset,offset Expressions in the columns of `data`, vectors,
#'   column names, or `NULL`.
#' @param standardize Compute centres and scales (otherwise 0 and 1).
#' @param drop_aliased Drop columns that are linear combinations of earlier
#'   ones. `NULL`: only with random terms, for then the fixed columns are not
#'   penalised by default; a penalty can tell such columns apart. Never when
#'   there are more columns than rows.
#' @param call The user's call, for messages.
#' @return A list: `y` (-1, +1), `levels`, `response`; `x` (n x p, data scale),
#'   `center`, `scale`; `weights`, `offset`; `random`, a list of terms; `terms`,
#'   `xlevels`, `contrasts`, `formula`, `dropped`, `na.action`,
#'   `n_zero_weight`, `rows` (of the data, `NULL` for all), `n`, `frame`, and
#'   `info`, the part that `design_new()` reads and a fit keeps.
#' @noRd
bsvm_design <- function(formula, data = NULL, weights = NULL, subset = NULL,
                        offset = NULL, na.action = stats::na.fail,
                        standardize = TRUE, call = user_call(),
                        drop_aliased = NULL) {
  standardize <- check_flag(standardize, "standardize", call = call)
  data <- check_data(data, call)
  parsed <- parse_formula(formula, data, call)
  built <- build_frame(parsed, data, weights, offset, subset, call)
  usable <- usable_rows(built$frame, built$rows, na.action, call)
  rows <- original_rows(usable$keep, built$rows)
  frame <- frame_rows(built$frame, usable$keep)
  response <- parse_response(frame[[1L]], parsed$response, rows, call)
  n <- length(response$y)

  info <- design_info_formula(parsed, built, data, offset)
  parsed$bars <- lapply(parsed$bars, function(bar) {
    bar$terms <- with_environment(bar$terms, info$env)
    bar
  })
  coded <- code_factors(frame, design_variables(parsed))
  x <- plain_model_matrix(info$terms, coded$frame)
  info[c("xlevels", "constant")] <- coded[c("xlevels", "constant")]
  info["contrasts"] <- list(coded$contrasts)
  attr(x, "assign") <- attr(x, "contrasts") <- NULL
  if (is.null(drop_aliased)) drop_aliased <- length(parsed$bars) > 0L
  random <- lapply(
    parsed$bars, random_term,
    frame = coded$frame, standardize = standardize, rows = rows, call = call
  )
  info$random <- lapply(random, `[[`, "info")
  if (ncol(x) == 0L && length(random) == 0L) abort_no_columns(call)
  fixed <- fixed_columns(x, standardize, drop_aliased, rows, call)
  info$keep <- fixed$keep
  info$columns <- colnames(fixed$x)
  c(
    response, fixed[c("x", "center", "scale", "dropped")],
    list(
      response = parsed$response,
      weights = row_vector(frame[["(weights)"]], n, 1),
      offset = checked_offset(stats::model.offset(frame), n, rows, call),
      random = lapply(random, function(term) term[names(term) != "info"]),
      formula = with_environment(parsed$formula, info$env),
      terms = with_environment(parsed$terms, info$env),
      xlevels = coded$xlevels, contrasts = coded$contrasts,
      na.action = usable$na.action, n_zero_weight = usable$n_zero_weight,
      rows = rows, n = n, frame = frame, info = info
    )
  )
}

#' Design of a model from a matrix or data frame of predictors
#'
#' An intercept is put before the columns of `x`. Returns what `bsvm_design()`
#' returns, without `formula` and `terms`.
#' @noRd
design_from_matrix <- function(x, y, weights = NULL, offset = NULL,
                               standardize = TRUE, call = user_call(),
                               na.action = stats::na.fail,
                               drop_aliased = FALSE) {
  standardize <- check_flag(standardize, "standardize", call = call)
  check_predictors(x, call)
  columns <- predictor_names(x, call)
  named <- !is.null(colnames(x))
  if (is.data.frame(x)) {
    names(x) <- columns
    if (!all(vapply(x, is_plain_number, NA))) {
      return(design_from_frame(
        x, y, weights, offset, standardize, call, na.action, drop_aliased
      ))
    }
    x <- do.call(cbind, unclass(x))
  }
  n <- nrow(x)
  if (n < 2L) abort_too_few_rows(n, call)
  refuse_response_type(y, "y", call)
  given <- list(y = y, weights = weights, offset = offset)
  for (name in names(given)) {
    value <- eval_argument(given[[name]], name, NULL, NULL, call)
    if (!is.null(value) && length(value) != n) {
      abort_length(name, length(value), n, call)
    }
  }
  # The only copy of x, of which the names are set without another.
  x <- cbind(1, x)
  dimnames(x) <- list(NULL, c("(Intercept)", columns))
  moments <- column_moments_cpp(x)
  holes <- which(moments$missing > 0)
  frame <- list2DF(c(
    list(y = y),
    stats::setNames(lapply(holes, function(j) x[, j]), colnames(x)[holes]),
    if (!is.null(weights)) list("(weights)" = weights),
    if (!is.null(offset)) list("(offset)" = offset)
  ))
  usable <- usable_rows(frame, NULL, na.action, call)
  rows <- usable$keep
  if (!is.null(rows)) {
    x <- x[rows, , drop = FALSE]
    frame <- frame_rows(frame, rows)
    moments <- column_moments_cpp(x)
  }
  response <- parse_response(frame$y, "y", rows, call)
  fixed <- fixed_columns(x, standardize, drop_aliased, rows, call, moments)
  n <- nrow(x)
  c(
    response, fixed[c("x", "center", "scale", "dropped")],
    list(
      response = "y", weights = row_vector(frame[["(weights)"]], n, 1),
      offset = checked_offset(frame[["(offset)"]], n, rows, call),
      random = list(), formula = NULL, terms = NULL, xlevels = NULL,
      contrasts = NULL, na.action = usable$na.action,
      n_zero_weight = usable$n_zero_weight, rows = rows, n = n,
      frame = structure(
        list(y = frame$y, x = fixed$x),
        row.names = .set_row_names(n), class = "data.frame"
      ),
      info = list(
        type = "matrix", columns = columns, named = named, keep = fixed$keep,
        random = list(), offset = stored_offset(offset)
      )
    )
  )
}

# Predictors that are not all numbers go the way of a formula.
design_from_frame <- function(x, y, weights, offset, standardize, call,
                              na.action, drop_aliased) {
  if (NROW(y) != .row_names_info(x, 2L)) {
    abort_length("y", NROW(y), .row_names_info(x, 2L), call)
  }
  name <- utils::tail(make.unique(c(names(x), "y")), 1L)
  x <- list2DF(c(stats::setNames(list(y), name), unclass(x)[names(x)]))
  formula <- stats::as.formula(call("~", as.name(name), quote(.)), globalenv())
  bsvm_design(
    formula, x,
    weights = weights, offset = offset, na.action = na.action,
    standardize = standardize, call = call, drop_aliased = drop_aliased
  )
}

# The part of a design that prediction reads.
design_info <- function(design) design$info

design_info_formula <- function(parsed, built, data, offset) {
  trained <- attr(built$frame, "terms")
  offset <- stored_offset(offset)
  predictors <- stats::delete.response(trained)
  needed <- needed_variables(predictors, offset, data, parsed$env, built$n)
  env <- lean_environment(
    list(attr(predictors, "variables"), attr(predictors, "predvars"), offset),
    parsed$env, c(needed, if (is.list(data)) names(data))
  )
  list(
    type = "formula", env = env, variables = needed,
    terms = with_environment(stats::delete.response(parsed$terms), env),
    frame_terms = with_environment(predictors, env),
    offset = offset
  )
}
