# The design of new rows, from the stored parts of the training design alone.

# Design of new rows.
# info: for the training design, its `info`.
# newdata: data frame, or for a matrix fit a matrix with the same columns.
# first: number of rows before these, for errors.
# Returns a list: `x` (rows x p, data scale); `random`, a list of `z` and `group`, 0 for a level
#   without training rows; `offset`; `complete`, FALSE for rows where anything is missing, whose
#   other entries mean nothing. With modeled holes these are not counted as missing: `holes`, by
#   new_missing(), tells them, and x and z have the center of the column in their place.
design_new <- function(info, newdata, first = 0) {
  out <- if (info$type == "matrix") {
    new_matrix_rows(info, newdata)
  } else {
    new_frame_rows(info, newdata)
  }
  values <- out$values
  factors <- out$factors
  out[c("values", "factors")] <- NULL
  if (!is.null(info$holes)) {
    cells <- new_cells(info$holes, out, is.na(values))
    out$x <- fill_cells(out$x, cells[[1]], info$holes$parts[[1]])
    before <- 1L + length(out$random)
    for (k in seq_along(out$processes)) {
      out$processes[[k]]$x <- fill_cells(
        out$processes[[k]]$x, cells[[before + k]], info$holes$parts[[before + k]]
      )
    }
    for (t in seq_along(out$random)) {
      out$random[[t]]$z <- fill_cells(
        out$random[[t]]$z, cells[[t + 1L]], info$holes$parts[[t + 1L]]
      )
    }
  }
  moments <- column_moments_cpp(out$x)
  check_columns(
    moments, out$x, colnames(out$x), if (first > 0) first + seq_len(nrow(out$x)),
    missing_allowed = TRUE
  )
  if (any(moments$missing > 0)) out$complete <- out$complete & !is.na(rowSums(out$x))
  for (k in seq_along(out$processes)) {
    own <- out$processes[[k]]$x
    check_columns(column_moments_cpp(own), own, colnames(own), NULL, missing_allowed = TRUE)
  }
  for (t in seq_along(out$random)) {
    z <- out$random[[t]]$z
    group <- out$random[[t]]$group
    check_columns(column_moments_cpp(z), z, info$random[[t]]$columns, NULL, missing_allowed = TRUE)
    out$complete <- out$complete & !is.na(group) & !is.na(rowSums(z))
    out$random[[t]]$group[is.na(group)] <- 0L
  }
  out$complete <- out$complete & !is.na(out$offset)
  if (!is.null(info$holes)) {
    found <- new_missing(info$holes, values, cells, out$complete, factors)
    out[c("complete", "holes")] <- found[c("complete", "holes")]
  }
  out
}

new_frame_rows <- function(info, newdata) {
  newdata <- check_newdata(info, newdata)
  n <- .row_names_info(newdata, 2L)
  if (n == 0L) return(no_new_rows(info))
  newdata <- as_trained(newdata, info$kinds, info$variables)
  if (length(info$across)) warn_across(info$across)
  frame <- tryCatch(
    stats::model.frame.default(info$frame_terms, newdata, na.action = stats::na.pass),
    error = function(e) {
      explain_frame_error(
        e, list(frame_terms = info$frame_terms, env = info$env, response = ""), newdata, n
      )
    }
  )
  offset <- stats::model.offset(frame)
  offset <- if (is.null(offset) && is.null(info$offset)) {
    numeric(n)
  } else {
    new_offset(info, newdata, offset, n)
  }
  smooth_columns <- own_open <- NULL
  processes <- list()
  if (length(info$smooths)) {
    smooth_columns <- do.call(cbind, unname(lapply(
      info$smooths, smooth_new, frame = frame,
      holes = c(info$holes$predictors, names(info$holes$levels))
    )))
    processes <- lapply(unname(processes_of(info$smooths)), process_new, frame = frame)
    own_open <- unit_open(info$smooths, frame)
  }
  frame <- code_new_variables(info, frame)
  values <- NULL
  filled <- frame
  if (!is.null(info$holes)) {
    values <- predictor_matrix(frame, info$holes$predictors)
    filled <- fill_frame(frame, info$holes$predictors)
  }
  levels <- info$holes$levels
  if (length(levels)) {
    codes <- factor_codes(frame, levels)
    factors <- list(
      codes = codes, frame = frame, wide = completed_rows(
        codes, levels, filled, info, smooth_columns, processes, unname(processes_of(info$smooths))
      )
    )
    filled <- put_codes(filled, first_levels(codes), levels)
    processes <- Map(function(own, term) {
      own$x <- put_process_codes(own$x, first_levels(codes), term, levels)
      own
    }, processes, unname(processes_of(info$smooths)))
  }
  x <- plain_model_matrix(info$terms, filled)
  attr(x, "assign") <- NULL
  attr(x, "contrasts") <- NULL
  random <- lapply(info$random, function(term) {
    z <- plain_model_matrix(term$terms, filled)
    attr(z, "assign") <- attr(z, "contrasts") <- NULL
    list(z = z, group = group_new(term, frame))
  })
  x <- cbind(x, smooth_columns)
  undetermined <- if (!is.null(info$determined)) undetermined_rows(info$determined, x)
  # Columns of terms that followed a stream are the last of the model.
  if (length(info$keep) < ncol(x) || is.unsorted(info$keep)) x <- x[, info$keep, drop = FALSE]
  # Columns that were dropped, being constant, can still be missing.
  constant <- vapply(frame[info$constant], is.na, logical(n))
  dim(constant) <- c(n, length(info$constant))
  list(
    x = x, random = random, offset = offset, processes = processes, unit_open = own_open,
    complete = rowSums(constant) == 0, values = values, factors = if (length(levels)) factors,
    undetermined = undetermined
  )
}

# Bases such as ns() cannot be computed for no rows.
no_new_rows <- function(info) {
  empty <- function(columns) matrix(0, 0L, length(columns), dimnames = list(NULL, columns))
  list(
    x = empty(info$columns),
    random = lapply(info$random, function(term) list(z = empty(term$columns), group = integer())),
    offset = numeric(), complete = logical(),
    processes = lapply(unname(processes_of(info$smooths)), function(smooth) {
      list(
        x = matrix(0, 0L, smooth$dim + smooth$process$number),
        inside = if (!is.null(smooth$level)) numeric()
      )
    }),
    values = matrix(0, 0L, length(info$holes$predictors)),
    factors = if (length(info$holes$levels)) no_factors(info$holes)
  )
}

no_factors <- function(info) {
  frame <- lapply(info$guides, function(levels) character())
  attr(frame, "row.names") <- integer()
  list(
    codes = matrix(0L, 0L, length(info$levels), dimnames = list(NULL, names(info$levels))),
    frame = frame
  )
}

check_newdata <- function(info, newdata) {
  if (!is.list(newdata) || (is.object(newdata) && !is.data.frame(newdata))) {
    abort_argument(newdata, "newdata", "a data frame")
  }
  if (!is.data.frame(newdata)) newdata <- as.data.frame(newdata)
  lacking <- setdiff(info$variables, names(newdata))
  if (length(lacking)) abort_lacking(lacking, names(newdata), group_variables(info))
  newdata
}

new_matrix_rows <- function(info, newdata) {
  if (is.data.frame(newdata)) {
    used <- names(newdata)
    if (all(info$columns %in% used)) used <- info$columns
    for (name in used) {
      if (!is_plain_number(newdata[[name]])) {
        refuse_no_numbers(newdata[[name]], name)
      }
    }
    newdata <- do.call(cbind, unclass(newdata)[used])
  }
  if (!is.matrix(newdata) || !(is.numeric(newdata) || is.logical(newdata))) {
    abort_argument(newdata, "newdata", "a numeric matrix or data frame")
  }
  if (info$named && !is.null(colnames(newdata))) {
    lacking <- setdiff(info$columns, colnames(newdata))
    if (length(lacking)) abort_lacking(lacking, colnames(newdata))
    newdata <- newdata[, info$columns, drop = FALSE]
  } else if (ncol(newdata) != length(info$columns)) {
    bk_abort(
      "dimension", "`newdata` has the wrong number of columns.",
      sprintf("Found: %d columns.", ncol(newdata)),
      sprintf(
        "Accepted: %d, the columns of the training matrix in their order.", length(info$columns)
      ),
      column = "newdata", found = ncol(newdata), expected = length(info$columns)
    )
  }
  n <- nrow(newdata)
  offset <- new_offset(info, NULL, NULL, n)
  x <- cbind(rep(1, n), newdata)
  dimnames(x) <- list(NULL, c("(Intercept)", info$columns))
  storage.mode(x) <- "double"
  undetermined <- if (!is.null(info$determined)) undetermined_rows(info$determined, x)
  if (length(info$keep) < ncol(x)) x <- x[, info$keep, drop = FALSE]
  values <- x[, info$holes$predictors, drop = FALSE]
  x[, info$holes$predictors][is.na(values)] <- 1
  list(
    x = x, random = list(), offset = offset, complete = rep(TRUE, n), values = values,
    undetermined = undetermined
  )
}

new_offset <- function(info, newdata, from_formula, n) {
  total <- as.double(from_formula %||% numeric(n))
  if (identical(info$offset, "vector")) {
    bk_abort(
      "argument", "The offset of new rows is not known.",
      "The model was fitted with `offset` given as a vector.",
      paste(
        "Fit it with a column, by `offset(column)` in the formula or by",
        "`offset = column`, and put that column into `newdata`."
      ),
      column = "offset"
    )
  }
  if (!is.null(info$offset)) {
    own <- eval_argument(info$offset, "offset", newdata, info$env)
    total <- total + own
  }
  infinite <- which(!is.na(total) & !(abs(total) <= largest_magnitude))
  if (length(infinite)) checked_offset(replace(total, is.na(total), 0), NULL)
  total
}

abort_lacking <- function(lacking, found, groups = NULL) {
  bk_abort(
    "argument", fit_header("`newdata` lacks column `%s`.", lacking[1]),
    if (length(lacking) > 1L) paste("Lacking:", list_some(lacking)),
    paste("Found:", list_some(found)),
    "Accepted: every variable of the formula except the response.",
    if (all(lacking %in% groups)) {
      "Without it: `re.form = \"new\"`, the average over groups, or `NA`, a group of effect 0."
    },
    column = lacking, found = found
  )
}

# Brings the variables of new rows to the types and levels of the training data.
code_new_variables <- function(info, frame) {
  for (name in names(info$xlevels)) {
    column <- code_new_factor(frame[[name]], info$xlevels[[name]], name)
    frame[[name]] <- if (name %in% info$constant) {
      ifelse(is.na(column), NA_real_, 1)
    } else {
      attr(column, "contrasts") <- info$contrasts[[name]]
      column
    }
  }
  used <- c(
    variable_names(info$terms),
    unlist(lapply(info$random, function(term) variable_names(term$terms)))
  )
  for (name in setdiff(used, names(info$xlevels))) {
    column <- frame[[name]]
    if (is.logical(column) && all(is.na(column))) {
      frame[[name]] <- as.double(column)
    } else if (is.factor(column) || is.character(column) || is.logical(column)) {
      refuse_no_numbers(column, name)
    }
  }
  frame
}
