# The columns of a design: which are of use, their centre and scale, and which numbers the engines
# can take.

# Drops what carries no information, and finds centre and scale of the rest. Columns `penalised`
# stay as they are; columns `apart` have a prior that can tell them from others. Missing values are
# filled with the column's centre.
fixed_columns <- function(x, standardize, drop_aliased, rows, moments = observed_moments(x),
                          penalised = logical(ncol(x)), apart, holes) {
  p <- ncol(x)
  columns <- colnames(x)
  intercept <- p > 0L && columns[1] == "(Intercept)"
  is_intercept <- seq_len(p) == 1L & intercept
  check_columns(moments, x, columns, rows, missing_allowed = holes)
  constant <- constant_columns(moments) & !is_intercept & !penalised
  # Without an intercept a constant column may stand for one.
  useless <- constant & (intercept | moments$max == 0)
  center <- if (intercept) moments$mean else numeric(p)
  scale <- moments$sd
  center[is_intercept | constant | penalised] <- 0
  scale[is_intercept | constant | penalised] <- 1
  if (holes) x <- fill_missing(x, moments, center * standardize)
  keep <- which(!useless)
  candidates <- which(!useless & !penalised & !apart)
  aliased <- integer()
  # One column that varies is no combination of the intercept.
  if (drop_aliased && length(candidates) > 1L + intercept && length(candidates) <= nrow(x)) {
    aliased <- candidates[aliased_columns(x, candidates, center, scale)]
  }
  keep <- setdiff(keep, aliased)
  if (any(useless) || length(aliased)) warn_dropped(columns[useless], columns[aliased])
  if (length(keep) == 0L && p > 0L) abort_no_columns()
  lost <- setdiff(c(which(useless), aliased), grep("\\.fx[0-9]+$", columns))
  determined <- if (length(lost) && !holes) {
    determined_columns(x, setdiff(candidates, aliased), lost, center, scale, moments$mean)
  }
  if (!standardize) {
    center[] <- 0
    scale[] <- 1
  }
  list(
    x = if (length(keep) < p) x[, keep, drop = FALSE] else x, center = center[keep],
    scale = scale[keep], keep = keep, dropped = columns[sort(c(which(useless), aliased))],
    determined = determined
  )
}

fill_missing <- function(x, moments, values) {
  for (j in which(moments$missing > 0)) x[is.na(x[, j]), j] <- values[j]
  x
}

constant_columns <- function(moments) {
  moments$max == moments$min | moments$sd <= 1e-12 * abs(moments$mean)
}

# Positions in `keep` of columns that the earlier ones determine. Full rank in some rows is full
# rank in all, so the rows are tried in part first.
aliased_columns <- function(x, keep, center, scale) {
  rank_of <- function(at) {
    qr(scaled_rows(x[at, keep, drop = FALSE], center[keep], scale[keep]), tol = 1e-7)
  }
  n <- nrow(x)
  few <- max(1000L, 10L * length(keep))
  if (n > 2L * few) {
    some <- rank_of(as.integer(seq(1, n, length.out = few)))
    if (some$rank == length(keep)) return(integer())
  }
  all <- rank_of(seq_len(n))
  sort(all$pivot[seq_along(keep) > all$rank])
}

warn_dropped <- function(constant, aliased) {
  dropped <- c(constant, aliased)
  # The column of a smooth that its penalty leaves free, by the term's name.
  smooth <- grepl("^s\\(.*\\.fx[0-9]+$", aliased)
  terms <- unique(sub("(#[0-9]+)?\\.fx[0-9]+$", "", aliased[smooth]))
  bk_warn(
    "dropped_column",
    if (length(dropped) == 1L) {
      fit_header("Column `%s` was dropped.", dropped)
    } else {
      sprintf("%d columns were dropped.", length(dropped))
    },
    if (length(constant)) paste("Constant:", list_some(constant)),
    if (any(!smooth)) paste("Determined by the columns before:", list_some(aliased[!smooth])),
    if (any(smooth)) paste("The columns before hold the linear part of:", list_some(terms)),
    if (any(smooth)) {
      "A smooth contains the linear part of its predictor: `s(x)`, not `x + s(x)`."
    } else {
      "Leave them out of the model to avoid this warning."
    },
    column = dropped
  )
}

# Columns of a matrix that are the response, or codes of its classes that begin with 0 or 1.
warn_response_column <- function(x, response) {
  y <- response$y
  codes <- if (length(response$levels)) as.double(match(y, sort(unique(y))))
  first <- seq_len(min(10L, nrow(x)))
  for (values in unique(c(list(y), if (length(codes)) list(codes, codes - 1)))) {
    at <- which(colSums(x[first, , drop = FALSE] != values[first]) == 0)
    same <- Filter(function(j) isTRUE(all(x[, j] == values)), at)
    for (name in colnames(x)[same]) {
      bk_warn(
        "response", fit_header("Column `%s` of x equals the response.", name),
        "It predicts itself: leave it out of x.", column = name
      )
    }
  }
}

# Of a data frame: its factors and text as numbers of the classes.
warn_frame_response <- function(x, y) {
  plain <- function(v) is.atomic(v) && is.null(dim(v)) && length(v) == length(y)
  x <- Filter(plain, x)
  if (!plain(y) || length(x) == 0L) return(invisible())
  classes <- if (is.factor(y)) levels(y) else sort(unique(y))
  number <- function(v) as.double(if (is.numeric(v)) v else match(v, classes))
  warn_response_column(do.call(cbind, lapply(x, number)), list(
    y = number(y), levels = if (!is.numeric(y) || length(classes) == 2L) classes
  ))
}

# How the columns `by` make the columns `lost`, which were dropped.
determined_columns <- function(x, by, lost, center, scale, mean) {
  out <- list(by = by, lost = lost, center = center[by], scale = scale[by], mean = mean[lost])
  rows <- scaled_rows(x[, by, drop = FALSE], out$center, out$scale)
  values <- scaled_rows(x[, lost, drop = FALSE], out$mean, 1)
  out$slopes <- qr.coef(qr(rows), values)
  out$slopes[is.na(out$slopes)] <- 0
  out
}

# New rows, of which `x` has all columns, where a column that was dropped is not what the others
# made of it in the fit: they ask for an effect that it does not know.
undetermined_rows <- function(determined, x) {
  if (nrow(x) == 0L) return(NULL)
  rows <- scaled_rows(x[, determined$by, drop = FALSE], determined$center, determined$scale)
  made <- rows %*% determined$slopes
  values <- scaled_rows(x[, determined$lost, drop = FALSE], determined$mean, 1)
  size <- abs(rows) %*% abs(determined$slopes) + abs(x[, determined$lost, drop = FALSE])
  off <- abs(values - made) > 1e-6 * size
  off[is.na(off)] <- FALSE
  columns <- colnames(x)[determined$lost]
  if (any(off)) list(rows = which(rowSums(off) > 0), columns = columns[colSums(off) > 0])
}

warn_undetermined <- function(found, first) {
  bk_warn(
    "dropped_column", "New rows ask for an effect that the fit does not know.",
    paste("Columns that were dropped:", list_some(found$columns)),
    sprintf(
      "In the rows of the fit others determined them, in new row %.0f they do not.",
      first + found$rows[1]
    ),
    "What they differ by is taken to have no effect.", column = found$columns,
    row = first + found$rows[1]
  )
}

# Numbers that the engines cannot square. `rows` maps to the rows of the data.
check_columns <- function(moments, x, columns, rows, missing_allowed = FALSE, in_source = FALSE) {
  largest <- pmax(abs(moments$min), abs(moments$max))
  filled <- moments$min <= moments$max
  infinite <- filled & !is.finite(largest)
  bad <- infinite | (moments$missing > 0 & !missing_allowed)
  if (any(bad)) {
    at <- lapply(which(bad), function(j) {
      which(if (missing_allowed) is.infinite(x[, j]) else !is.finite(x[, j]))
    })
    abort_missing(
      stats::setNames(lengths(at), columns[bad]), vapply(at, `[`, 1L, 1L), rows,
      if (sum(bad) > 1L) "Predictors" else "Predictor",
      value_problem(any(moments$missing[bad] > 0) && !missing_allowed, any(infinite)),
      if (in_source) missing_in_source else missing_in_data
    )
  }
  huge <- filled & largest > largest_magnitude
  tiny <- filled & largest < 1 / largest_magnitude & moments$max > moments$min
  if (any(huge | tiny)) {
    j <- which(huge | tiny)[1]
    bk_abort(
      "numeric",
      fit_header(
        if (huge[j]) {
          "Values of `%s` are too large to compute with."
        } else {
          "Values of `%s` are too small to compute with."
        }, columns[j]
      ),
      sprintf("Found: magnitude %s.", format(largest[j], digits = 3)),
      sprintf(
        "Accepted: magnitudes from %s to %s. Change the unit of the column.",
        format(1 / largest_magnitude), format(largest_magnitude)
      ),
      column = columns[j], found = largest[j], expected = largest_magnitude
    )
  }
}

abort_no_columns <- function() {
  bk_abort(
    "dimension", "The model has no columns.",
    paste("Accepted: at least one predictor that varies, an intercept, or a", "random term."),
    column = "x", found = 0L
  )
}

check_predictors <- function(x) {
  is_matrix <- is.matrix(x) && (is.numeric(x) || is.logical(x))
  if (is.matrix(x) && is.character(x)) {
    bk_abort(
      "argument", "`x` is a character matrix.",
      "Accepted: a numeric matrix, or a data frame, whose columns may be text.",
      column = "x", found = "character", expected = "numeric"
    )
  }
  if (is.character(x) && length(x) == 1L && grepl("~", x, fixed = TRUE)) {
    bk_abort(
      "argument", "The formula is text.", paste("Found:", describe_value(x)),
      "Make it a formula by as.formula().", column = "x", found = x, expected = "formula"
    )
  }
  if (!is_matrix && !is.data.frame(x)) {
    accepted <- if (isS4(x)) {
      "a numeric matrix, such as as.matrix() makes"
    } else {
      "a numeric matrix, n rows by p columns, or a data frame"
    }
    abort_argument(x, "x", accepted)
  }
  for (j in if (is.data.frame(x)) seq_along(x)) {
    if (length(dim(x[[j]])) > 1L) {
      bk_abort(
        "dimension", "`x` has a column that is itself a matrix or data frame.",
        sprintf("Found: column %d, %s.", j, quoted(names(x)[j])),
        "Accepted: numbers, factors or text. A formula takes such a column.",
        column = names(x)[j], found = dim(x[[j]])
      )
    }
  }
  if (ncol(x) == 0L) {
    bk_abort(
      "dimension", "`x` has no columns.",
      paste(
        "Accepted: at least one column. A model with an intercept alone is", "bsvm(y ~ 1, data)."
      ),
      column = "x", found = 0L
    )
  }
}

# A name for every column; x3 for the third if it has none.
predictor_names <- function(x) {
  names <- colnames(x)
  if (is.null(names)) names <- character(ncol(x))
  unnamed <- is.na(names) | names == ""
  names[unnamed] <- paste0("x", seq_along(names))[unnamed]
  if (!all(validEnc(names))) abort_argument(names[!validEnc(names)], "x", "columns named in UTF-8")
  refuse_repeated(names)
  names
}

refuse_repeated <- function(names) {
  twice <- unique(names[duplicated(names)])
  if (length(twice)) {
    bk_abort(
      "argument", fit_header("Column name `%s` is used twice.", twice[1]),
      paste("Found more than once:", list_some(twice)),
      "Accepted: a name of its own for every column, see make.unique().",
      column = twice, found = names
    )
  }
}

checked_offset <- function(offset, rows) {
  offset <- as.double(offset)
  bad <- which(!(abs(offset) <= largest_magnitude))
  if (length(bad)) {
    bk_abort(
      "argument", "The offset has values that are not finite numbers.",
      sprintf(
        "Found: %s in row %d (%d such rows).", format(offset[bad[1]]),
        original_rows(bad[1], rows), length(bad)
      ),
      sprintf("Accepted: magnitudes up to %s.", format(largest_magnitude)), column = "offset",
      row = original_rows(bad[1], rows), found = offset[bad[1]]
    )
  }
  offset
}

# Model matrices -------------------------------------------------------------

# Text, factors and logicals become factors of the levels that occur, with their contrasts fixed. A
# factor of one level is a constant column: it becomes the number 1, for it has no contrasts.
code_factors <- function(frame, parsed) {
  parts <- c(list(parsed$terms), lapply(parsed$bars, `[[`, "terms"))
  variables <- setdiff(unlist(lapply(parts, variable_names)), parsed$response)
  xlevels <- contrasts <- list()
  constant <- character()
  for (name in variables) {
    column <- frame[[name]]
    if (is.character(column)) {
      column <- factor(column)
    } else if (is.logical(column) && is.null(dim(column))) {
      column <- structure(column + 1L, levels = c("FALSE", "TRUE"), class = "factor")
    } else if (is.factor(column)) {
      used <- tabulate(column, nlevels(column)) > 0L
      if (!all(used)) column <- column[drop = TRUE]
    } else {
      next
    }
    xlevels[[name]] <- levels(column)
    if (nlevels(column) == 1L) {
      constant <- c(constant, name)
      column <- rep(1, length(column))
    } else {
      if (is.null(attr(column, "contrasts"))) {
        attr(column, "contrasts") <- getOption("contrasts")[[1L + is.ordered(column)]]
      }
      contrasts[[name]] <- attr(column, "contrasts")
    }
    frame[[name]] <- column
  }
  if (length(xlevels) == 0L) xlevels <- NULL
  if (length(contrasts) == 0L) contrasts <- NULL
  list(frame = frame, xlevels = xlevels, contrasts = contrasts, constant = constant)
}

# model.matrix() without row names: making them text costs more than the matrix.
plain_model_matrix <- function(terms, frame) {
  n <- .row_names_info(frame, 2L)
  if (length(attr(terms, "term.labels")) == 0L) {
    columns <- if (attr(terms, "intercept") == 1L) "(Intercept)"
    x <- matrix(1, n, length(columns), dimnames = list(NULL, columns))
    attr(x, "assign") <- integer(length(columns))
    return(x)
  }
  labels <- attr(terms, "term.labels")
  numbers <- all(attr(terms, "order") <= 1L) && all(labels %in% names(frame)) &&
    all(vapply(labels, function(name) {
      is.numeric(frame[[name]]) && !is.object(frame[[name]]) && is.null(dim(frame[[name]]))
    }, NA))
  if (!numbers) {
    attr(frame, "row.names") <- integer()
    x <- tryCatch(stats::model.matrix.default(terms, frame), error = function(e) {
      bk_abort(
        "argument", "The columns of the formula cannot be made.", conditionMessage(e),
        if (any(vapply(frame, is.ordered, NA))) {
          "An ordered factor with many levels: (1 | g), or factor(g, ordered = FALSE)."
        }
      )
    })
    # Level 1 of V1 is called as the variable V11, which keeps its name.
    if (anyDuplicated(colnames(x))) {
      at <- order(colnames(x) != c("(Intercept)", labels)[attr(x, "assign") + 1L])
      colnames(x)[at] <- make.unique(colnames(x)[at])
    }
    return(x)
  }
  # What binds the matrix makes no functions, which would keep it: the caller may change it without
  # a copy.
  intercept <- attr(terms, "intercept") == 1L
  columns <- unclass(frame)[labels]
  if (intercept) columns <- c(list("(Intercept)" = 1), columns)
  x <- do.call(cbind, columns)
  if (!is.double(x)) storage.mode(x) <- "double"
  attr(x, "assign") <- seq_along(columns) - intercept
  x
}

# Rows of a block with so many predictors: at most 65,536 rows and, for more than 2048 rows, 32 MB.
# Moments are sums over blocks, so it depends on nothing else.
block_rows <- function(columns) 2048L * min(32L, max(1L, 2048L %/% (columns + 1L)))

code_new_factor <- function(column, levels, name) {
  # As databases and row sources have logical values.
  if (is.numeric(column) && all(levels %in% c("FALSE", "TRUE")) && all(column %in% c(0, 1, NA))) {
    column <- column == 1
  }
  if (is.factor(column)) {
    found <- levels(column)
    codes <- as.integer(column)
  } else {
    found <- unique(column)
    codes <- match(column, found)
    found <- as.character(found)
  }
  known <- match(found, levels)
  coded <- known[codes]
  strange <- which(is.na(coded) & !is.na(column))
  if (length(strange)) {
    new <- unique(as.character(column[strange]))
    bk_abort(
      "argument", fit_header("Factor `%s` has a new level.", name),
      sprintf("Found: %s, first in row %d.", list_some(quoted(new)), strange[1]),
      paste("Accepted:", list_some(quoted(levels))), column = name, row = strange[1], found = new,
      expected = levels
    )
  }
  structure(coded, levels = levels, class = "factor")
}

# Rows that stand for several equal ones: counts, and whole weights.
row_copies <- function(weights, counted = FALSE) {
  whole <- length(weights) > 0L && all(weights == trunc(weights))
  if (isTRUE(counted) || whole) weights else 1
}

# The same where a row counts more than once, else NULL.
several_copies <- function(weights, counted = FALSE) {
  copies <- row_copies(weights, counted)
  if (any(copies > 1)) copies
}

scaled_rows <- function(x, center, scale) {
  unname((x - rep(center, each = nrow(x))) / rep(scale, each = nrow(x)))
}

missing_rows <- function(column) {
  if (is.matrix(column)) which(rowSums(is.na(column)) > 0) else which(is.na(column))
}
