# Plain matrices for the engines, from a formula or from a matrix, and the same columns again for
# new data. Every number that prediction needs is stored by the training design; nothing is computed
# anew from new rows.

# Design of a model from its formula.
# formula, data: as typed. `data` may be an environment or `NULL`.
# weights, subset, offset: expressions in the columns of `data`, vectors, column names, or `NULL`.
# standardize: compute centers and scales (otherwise 0 and 1).
# drop_aliased: drop columns that are linear combinations of earlier ones. `NULL`: only with random
#   terms, smooths, factors, products or powers, for then the fixed columns are not penalized by
#   default; a penalty can tell such columns apart. Never when there are more columns than rows.
# missing: what to do about missing predictors: `"fail"`, what `na.action` says; `"omit"`, drop such
#   rows with a message; `"model"`, describe those of numeric predictors by a normal distribution.
# indicators: terms whose factors get a column for each level, none left out: `TRUE`, `FALSE`, names
#   of terms, or a one-sided formula. Columns of these terms are not dropped for being aliased.
# cov: by check_cov(): covariances of units.
# kind: what read_response() is to make of the response. Counts become weighted rows, of which
#   `rows` then names the row of the data.
# Returns a list: `y`, `levels`, `response`; `x` (n x p, data scale), `center`, `scale`, `assign`
#   (term of each column, 0 for the intercept, NA in a smooth), `term_labels`; `smooths`, by
#   smooth_summary(); `holes`, by missing_model(); `weights`, `offset`; `random`, a list of terms;
#   `terms`, `xlevels`, `contrasts`, `formula`, `dropped`, `na.action`, `n_omitted`,
#   `n_zero_weight`, `rows` and `zero` (numbers in the data of those used, `NULL` for all, and of
#   those of weight 0), `repeats` (which rows repeat others, by incomplete_copies()), `n`, `frame`,
#   and `info`, the part that
#   `design_new()` reads and a fit keeps.
bsvm_design <- function(formula, data = NULL, weights = NULL, subset = NULL, offset = NULL,
                        na.action = stats::na.fail, standardize = TRUE, drop_aliased = NULL,
                        missing = "fail", indicators = FALSE, kind = "two", cov = NULL) {
  standardize <- check_flag(standardize, "standardize")
  if (!identical(missing, "refuse")) missing <- check_missing(missing)
  data <- check_data(data)
  parsed <- parse_formula(formula, data, cov)
  built <- build_frame(parsed, data, weights, offset, subset)
  info <- design_info_formula(parsed, built, data, offset)
  numeric <- if (missing == "model") modelled_variables(parsed, built$frame)
  usable <- usable_rows(
    built$frame, built$rows, na.action, missing, numeric$allowed,
    function(frame, rows) check_missing_model(parsed, frame, numeric$allowed, info$variables, rows),
    leaf_names(parsed)
  )
  rows <- built$rows
  frame <- built$frame
  if (!is.null(usable$keep)) {
    rows <- original_rows(usable$keep, rows)
    frame <- frame_rows(frame, usable$keep)
  }
  repeats <- if (missing == "model") incomplete_copies(frame, numeric$allowed)
  if (!is.null(repeats)) {
    rows <- original_rows(repeats, rows)
    frame <- repeated_frame(frame, repeats)
    if (length(usable$na.action)) class(usable$na.action) <- "omit"
  }
  given <- frame[["(weights)"]]
  counted <- if (is.matrix(frame[[1L]])) spread_frame(frame, parsed$response, kind)
  if (!is.null(counted)) {
    if (missing == "model") abort_counted_missing(parsed$response)
    rows <- original_rows(counted$at, rows)
    frame <- counted$frame
    # Their positions are those of rows before the counts were spread.
    if (length(usable$na.action)) class(usable$na.action) <- "omit"
  }
  n <- .row_names_info(frame, 2L)
  weights <- as.double(frame[["(weights)"]] %||% rep(1, n))
  response <- read_response(frame[[1L]], parsed$response, kind, rows)
  offset <- stats::model.offset(frame)
  columns <- design_columns(
    parsed, frame, info, numeric, indicators, standardize, drop_aliased, rows, response$levels,
    if (!is.null(given) || !is.null(counted)) several_copies(weights, !is.null(counted))
  )
  info <- columns$info
  c(
    response,
    columns[c(
      "x", "lean", "center", "scale", "assign", "smooths", "processes",
      "holes", "random", "xlevels", "contrasts", "dropped"
    )],
    list(
      response = parsed$response, term_labels = attr(info$terms, "term.labels"), weights = weights,
      offset = if (is.null(offset)) numeric(n) else checked_offset(offset, rows),
      formula = `environment<-`(parsed$formula, info$env),
      terms = `environment<-`(parsed$terms, info$env)
    ),
    usable[c("na.action", "n_omitted", "n_zero_weight", "zero")],
    list(
      rows = rows, n = n, frame = frame, info = info, repeats = repeats,
      counted = !is.null(counted), powers = !is.null(given) && are_powers(given),
      units = if (!is.null(counted)) units_of(counted$at, counted$each)
    )
  )
}

# Whether the default of a regression without other parts is no penalty.
is_least_squares <- function(levels, n, p) is.null(levels) && n >= 2L * p

# Whether some columns are of one term, or of one variable: factors, products, powers.
unlike_columns <- function(terms, assign) {
  variables <- lapply(attr(terms, "term.labels"), function(label) all.vars(str2lang(label)))
  anyDuplicated(unlist(variables)) > 0L || anyDuplicated(assign[which(assign > 0L)]) > 0L
}

# The matrices of fixed, smooth and random terms, from a frame without missing values but those that
# are to be modelled, of the variables that modelled_variables() gives. `copies`: how often each row
# counts, NULL for once.
design_columns <- function(parsed, frame, info, modelled, indicators,
                           standardize, drop_aliased, rows, levels, copies = NULL) {
  gaps <- if (!is.null(modelled)) read_gaps(frame, modelled, rows)
  holes <- any(gaps$mask) || anyNA(gaps$codes)
  coded <- code_factors(gaps$frame %||% frame, parsed)
  random <- lapply(parsed$bars, function(bar) {
    environment(bar$terms) <- info$env
    random_term(bar, coded$frame, standardize, rows, gaps, copies)
  })
  smooths <- built <- list()
  if (length(parsed$smooths)) {
    smooths <- build_smooths(
      parsed$smooths, frame, rows, standardize, attr(info$terms, "intercept") == 1L, copies
    )
    built <- unname(processes_of(smooths))
    inform_levels(parsed, built)
  }
  chosen <- integer()
  if (!isFALSE(indicators)) {
    chosen <- choose_terms(indicators, attr(info$terms, "term.labels"), FALSE)
    info$terms <- full_indicators(info$terms, chosen, two_valued(coded))
  }
  x <- plain_model_matrix(info$terms, coded$frame)
  assign <- attr(x, "assign")
  # One after the other: both at once would copy the matrix.
  attr(x, "assign") <- NULL
  attr(x, "contrasts") <- NULL
  if (!is.null(gaps)) {
    made <- predictor_columns(assign, info$terms, colnames(gaps$mask))
    cells <- missing_cells(x, made, gaps$mask)
    x <- clear_factors(clear_missing(x, cells), assign, info$terms, is.na(gaps$codes))
  }
  before <- ncol(x)
  lean <- FALSE
  penalised <- logical(before)
  if (length(smooths)) {
    added <- length(smooth_penalised(smooths))
    lean <- length(built) > 0L && !holes && nrow(x) * (before + added) > most_ep_cells
    x <- join_columns(x, smooth_parts(smooths), lean)
    shown <- if (lean) Negate(is_process) else function(smooth) TRUE
    assign <- c(assign, rep(NA_integer_, added))
    penalised <- c(penalised, smooth_penalised(Filter(shown, smooths)))
  }
  if (ncol(x) == 0L && length(random) == 0L) abort_no_columns()
  if (is.null(drop_aliased)) {
    drop_aliased <- length(c(parsed$bars, parsed$smooths)) > 0L || is.null(gaps) && (
      is_least_squares(levels, sum(copies %||% nrow(x)), ncol(x)) ||
        unlike_columns(info$terms, assign)
    )
  }
  fixed <- fixed_columns(
    x, standardize, drop_aliased, rows, observed_moments(x, copies), penalised = penalised,
    apart = assign[seq_len(ncol(x))] %in% chosen, holes = holes
  )
  if (lean) fixed <- lean_columns(fixed, smooths, before)
  if (length(smooths)) smooths <- place_smooths(smooths, fixed$keep, before, copies)
  info$keep <- fixed$keep
  info$determined <- fixed$determined
  info$columns <- colnames(fixed$x)
  info$smooths <- lapply(smooths, function(smooth) smooth[setdiff(names(smooth), c("x", "rows"))])
  info$random <- lapply(random, `[[`, "info")
  info[c("xlevels", "constant")] <- coded[c("xlevels", "constant")]
  info["contrasts"] <- list(coded$contrasts)
  if (!is.null(gaps)) {
    fixed$made <- keep_columns(made, fixed$keep)
    fixed$cells <- keep_cells(cells, fixed$keep)
    holes <- model_gaps(gaps, fixed, coded, info, random, smooths, built, x, standardize, copies)
    info$holes <- holes$info
  }
  c(
    fixed[c("x", "center", "scale", "dropped")],
    list(
      assign = assign[fixed$keep], lean = fixed$lean, smooths = lapply(smooths, smooth_summary),
      processes = lapply(built, `[[`, "rows"), holes = if (!is.null(gaps)) holes$holes,
      random = lapply(random, function(term) {
        term[setdiff(names(term), c("info", "made", "cells"))]
      }),
      xlevels = coded$xlevels, contrasts = coded$contrasts, info = info
    )
  )
}

# Names of the variables that have two values.
two_valued <- function(coded) {
  c(
    names(coded$xlevels)[lengths(coded$xlevels) == 2L],
    names(coded$frame)[vapply(coded$frame, is.logical, NA)]
  )
}

# Which values of the variables that missing = "model" lets be missing are, as `mask` and as NA of
# `codes`; the frame with others in their place.
read_gaps <- function(frame, modelled, rows) {
  values <- predictor_matrix(frame, modelled$numeric)
  check_observed(values, observed_moments(values))
  levels <- missing_levels(frame, modelled$factors)
  codes <- factor_codes(frame, levels)
  list(
    values = values, mask = is.na(values), levels = levels, codes = codes,
    frame = put_codes(fill_frame(frame, modelled$numeric), first_levels(codes), levels)
  )
}

model_gaps <- function(gaps, fixed, coded, info, random, smooths, built, x, standardize, copies) {
  numeric <- colnames(gaps$values)
  smooth_columns <- if (anyNA(gaps$codes)) {
    join_columns(x[, 0L, drop = FALSE], smooth_parts(smooths))
  }
  wide <- completed_rows(
    gaps$codes, gaps$levels, coded$frame, info, smooth_columns, lapply(built, `[[`, "rows"), built
  )
  missing_model(
    gaps$values, fixed, c(random, lapply(built, process_part, numeric, gaps$mask)), standardize,
    shared_variables(info$frame_terms, c(numeric, names(gaps$levels)), info$variables),
    list(
      levels = gaps$levels, codes = gaps$codes, wide = wide,
      guides = guide_levels(coded$xlevels, names(gaps$levels)), frame = coded$frame
    ), copies
  )
}

# Design of a model from a matrix or data frame of predictors. An intercept is put before the
# columns of `x`. Returns what `bsvm_design()` returns, without `formula` and `terms`.
design_from_matrix <- function(x, y, weights = NULL, offset = NULL, standardize = TRUE,
                               na.action = stats::na.fail, drop_aliased = FALSE,
                               missing = "fail", indicators = FALSE, kind = "two") {
  standardize <- check_flag(standardize, "standardize")
  if (!identical(missing, "refuse")) missing <- check_missing(missing)
  check_predictors(x)
  counted <- spread_counts(y, "y", nrow(x), kind, weights)
  if (!is.null(counted)) {
    if (missing == "model") abort_counted_missing("y")
    return(counted_design(counted, weights, design_from_matrix(
      x[counted$at, , drop = FALSE], counted$y, counted$weights,
      if (is.null(offset)) NULL else offset[counted$at], standardize,
      na.action, drop_aliased, missing, indicators, kind
    )))
  }
  columns <- predictor_names(x)
  named <- !is.null(colnames(x))
  if (is.data.frame(x)) {
    names(x) <- columns
    if (!all(vapply(x, is_plain_number, NA))) {
      return(design_from_frame(
        x, y, weights, offset, standardize, na.action, drop_aliased, missing, indicators, kind
      ))
    }
    x <- do.call(cbind, unclass(x))
  }
  check_beside_matrix(list(y = y, weights = weights, offset = offset), nrow(x), kind)
  modelled <- missing == "model"
  used <- usable_matrix(x, columns, y, weights, offset, na.action, missing)
  x <- used$x
  frame <- used$frame
  rows <- used$rows
  n <- nrow(x)
  weights <- as.double(frame[["(weights)"]] %||% rep(1, n))
  response <- read_response(frame$y, "y", kind, rows)
  warn_response_column(x, response)
  offset_rows <- frame[["(offset)"]]
  values <- if (modelled) x[, -1L, drop = FALSE]
  copies <- several_copies(weights)
  if (modelled) {
    moments <- observed_moments(x, copies)
    check_observed(values, lapply(moments, `[`, -1L))
  } else {
    moments <- counted_moments(x, used$moments, copies)
  }
  fixed <- fixed_columns(
    x, standardize, drop_aliased %||% (!modelled &&
        is_least_squares(response$levels, sum(copies %||% n), ncol(x))),
    rows, moments,
    apart = c(FALSE, rep(isTRUE(indicators), length(columns))), holes = modelled
  )
  holes <- matrix_missing(values, fixed, standardize, copies)
  c(
    response, fixed[c("x", "center", "scale", "dropped")],
    list(
      assign = fixed$keep - 1L, term_labels = columns, smooths = list(), holes = holes$holes,
      response = "y", weights = weights,
      offset = if (is.null(offset_rows)) numeric(n) else checked_offset(offset_rows, rows),
      random = list(), formula = NULL, terms = NULL, xlevels = NULL, contrasts = NULL
    ),
    used$usable[c("na.action", "n_omitted", "n_zero_weight", "zero")],
    list(
      rows = rows, n = n, repeats = used$repeats,
      frame = structure(
        list(y = frame$y, x = fixed$x), row.names = .set_row_names(n), class = "data.frame"
      ),
      info = list(
        type = "matrix", columns = columns, named = named, keep = fixed$keep,
        determined = fixed$determined, random = list(), offset = stored_offset(offset),
        holes = holes$info
      ),
      counted = FALSE, powers = are_powers(weights)
    )
  )
}

# Beside `n` rows of a matrix.
check_beside_matrix <- function(given, n, kind) {
  if (n < 2L) abort_too_few_rows(n)
  if (kind == "number" || kind == "any" && is_measured(given$y)) {
    if (length(dim(given$y)) > 1L) read_numbers(given$y, "y", NULL, "number")
  } else {
    refuse_label_type(given$y, "y", response_kinds[[kind]])
  }
  for (name in names(given)) {
    value <- eval_argument(given[[name]], name, NULL, NULL)
    if (!is.null(value) && length(value) != n) abort_length(name, length(value), n)
  }
}

# The rows of a matrix that are used, after an intercept, and `frame`, what stands beside them; as
# bsvm_design() has them of a formula.
usable_matrix <- function(x, columns, y, weights, offset, na.action, missing) {
  # The only copy of x, of which the names are set without another.
  x <- cbind(1, x)
  dimnames(x) <- list(NULL, c("(Intercept)", columns))
  moments <- block_moments(x, length(columns))
  modelled <- missing == "model"
  incomplete <- if (modelled) integer() else which(moments$missing > 0)
  frame <- list2DF(c(
    list(y = y), stats::setNames(lapply(incomplete, function(j) x[, j]), colnames(x)[incomplete]),
    if (!is.null(weights)) list("(weights)" = weights),
    if (!is.null(offset)) list("(offset)" = offset)
  ))
  usable <- usable_rows(frame, NULL, na.action, missing, if (modelled) columns)
  rows <- usable$keep
  if (!is.null(rows)) {
    x <- x[rows, , drop = FALSE]
    frame <- frame_rows(frame, rows)
    moments <- block_moments(x, length(columns))
  }
  repeats <- if (modelled) incomplete_copies(c(frame, list(x = x)), "x")
  if (!is.null(repeats)) {
    rows <- original_rows(repeats, rows)
    frame <- repeated_frame(frame, repeats)
    x <- x[repeats, , drop = FALSE]
  }
  list(x = x, frame = frame, usable = usable, rows = rows, moments = moments, repeats = repeats)
}

# The design of rows of counts that were spread, by spread_counts().
counted_design <- function(counted, weights, out) {
  rows <- out$rows %||% seq_along(counted$at)
  out$rows <- counted$at[rows]
  out$zero <- unique(counted$at[out$zero])
  out$units <- units_of(out$rows, counted$each[rows])
  out$counted <- TRUE
  out$powers <- are_powers(weights)
  out
}

# Every column of a matrix is a predictor of its own.
matrix_missing <- function(values, fixed, standardize, copies) {
  if (is.null(values)) return(NULL)
  own <- seq_len(ncol(values)) + 1L
  columns <- keep_columns(list(made = as.list(own), itself = own), fixed$keep)
  at <- which(is.na(values), arr.ind = TRUE)
  cells <- list(row = at[, 1], column = at[, 2] + 1L, predictor = at[, 2], slope = rep(1, nrow(at)))
  fixed$made <- columns
  fixed$cells <- keep_cells(lapply(cells, unname), fixed$keep)
  missing_model(values, fixed, list(), standardize, list(), copies = copies)
}

# Predictors that are not all numbers go the way of a formula.
design_from_frame <- function(x, y, weights, offset, standardize, na.action, drop_aliased,
                              missing, indicators, kind) {
  warn_frame_response(x, y)
  joined <- frame_with_response(x, y)
  bsvm_design(
    joined$formula, joined$data, weights = weights, offset = offset, na.action = na.action,
    standardize = standardize, drop_aliased = drop_aliased, missing = missing,
    indicators = indicators, kind = kind
  )
}

# Predictors and response in one data frame, and its formula.
frame_with_response <- function(x, y) {
  n <- .row_names_info(x, 2L)
  if (NROW(y) != n) abort_length("y", NROW(y), n)
  name <- utils::tail(make.unique(c(names(x), "y")), 1L)
  list(
    formula = stats::as.formula(call("~", as.name(name), quote(.)), globalenv()),
    data = list2DF(c(stats::setNames(list(y), name), unclass(x)[names(x)]))
  )
}

# Inside "refuse" is "fail" for models whose users have no such choice.
check_missing <- function(missing, name = "missing") {
  ways <- c("fail", "omit", "model")
  if (identical(missing, ways) || (length(missing) == 1L && missing %in% ways)) return(missing[1L])
  abort_argument(
    missing, name, paste("one of", paste(quoted(ways), collapse = ", "), "or what mnar() makes"),
    accepted = ways
  )
}

# Likelihood powers are not normalized over y; whole ones are rows.
are_powers <- function(weights) length(weights) > 0L && any(weights != trunc(weights))

# Of an incomplete row each copy has missing values of its own: the numbers of the rows, each as
# often as it counts; NULL where none counts twice, or no value of `names` is missing.
incomplete_copies <- function(frame, names) {
  copies <- several_copies(frame[["(weights)"]])
  if (is.null(copies) || !any(vapply(unclass(frame)[names], anyNA, NA))) return(NULL)
  total <- sum(copies)
  if (total > most_repeated) {
    bk_abort(
      "argument", "Missing predictors and weights make too many rows.",
      sprintf("Found: weights that add up to %.0f.", total),
      sprintf("Accepted: at most %.0f, for each copy has values of its own.", most_repeated),
      "Drop incomplete rows by `missing = \"omit\"`, or impute their values.",
      column = "weights", found = total, expected = most_repeated
    )
  }
  rep(seq_along(copies), copies)
}

most_repeated <- 1e7

repeated_frame <- function(frame, at) {
  names <- attr(frame, "row.names")
  frame <- frame_rows(frame, at)
  attr(frame, "row.names") <- if (is.character(names)) {
    make.unique(as.character(names[at]))
  } else {
    .set_row_names(length(at))
  }
  frame[["(weights)"]][] <- 1
  frame
}

# A frame whose response are counts, with a weighted row of each class.
spread_frame <- function(frame, name, kind) {
  counted <- spread_counts(
    frame[[1L]], name, .row_names_info(frame, 2L), kind, frame[["(weights)"]]
  )
  if (is.null(counted)) return(NULL)
  frame[[1L]] <- integer(length(frame[[1L]]) / 2L)
  frame <- frame_rows(frame, counted$at)
  attr(frame, "row.names") <- .set_row_names(length(counted$at))
  frame[[1L]] <- counted$y
  frame[["(weights)"]] <- counted$weights
  list(frame = frame, at = counted$at, each = counted$each)
}

abort_counted_missing <- function(name) {
  bk_abort(
    "argument", "Counts cannot be had with `missing = \"model\"`.",
    "A row of counts enters as rows, which would miss different values.",
    "Give one row for each trial, or leave rows out: `missing = \"omit\"`.", column = name
  )
}

# What design_new() reads of a fit to a matrix: an intercept comes before the columns `keep`; the
# others are constant, at `mean` where this is asked of new rows.
matrix_info <- function(columns, named, keep, mean = NULL) {
  lost <- setdiff(seq_along(columns), keep)
  list(
    type = "matrix", columns = columns, named = named, keep = c(1L, keep + 1L),
    determined = if (length(mean) && length(lost)) {
      list(
        by = integer(), lost = lost + 1L, center = numeric(), scale = numeric(),
        mean = mean[lost], slopes = matrix(0, 0L, length(lost))
      )
    }, random = list()
  )
}

# Expectation propagation has no crossed form, and takes more passes: where the user has not asked
# for it, such models are fitted by variational Bayes.
most_ep_cells <- 1e8

has_intercept <- function(design) ncol(design$x) > 0 && colnames(design$x)[1] == "(Intercept)"
