# Missing values of factors: the row is completed with each level, so that what the formula makes of
# the factor is computed from known values. The completed rows are `wide`: `at`, the row that each
# stands for (those of a row follow each other), and `codes` of the factors; a row that misses no
# factor is there once.

# Most combinations of levels of the factors that miss values, and most levels of a factor that
# tells about others.
most_cells <- 100L
most_guide_levels <- 20L

is_factor_like <- function(column) {
  is.factor(column) || is.character(column) ||
    is.logical(column) && is.null(dim(column)) && !is_one_number(column)
}

# The levels that occur, of factors in the data or columns used as such.
observed_levels <- function(column) {
  if (is.logical(column)) c("FALSE", "TRUE")[c(FALSE, TRUE) %in% column] else levels(factor(column))
}

# Levels of the factors of a frame that miss values.
missing_levels <- function(frame, allowed) {
  names <- Filter(function(name) anyNA(frame[[name]]), allowed)
  levels <- lapply(frame[names], observed_levels)
  for (name in names) {
    if (length(levels[[name]]) == 0L) {
      bk_abort(
        "missing", fit_header("Predictor `%s` is missing in every row.", name),
        "Accepted: at least two different values. Drop the predictor.",
        column = name, found = .row_names_info(frame, 2L)
      )
    }
    if (length(levels[[name]]) == 1L) {
      bk_abort(
        "argument", fit_header("Predictor `%s` is constant where it is observed.", name),
        sprintf("Found: level %s alone.", quoted(levels[[name]])),
        paste("Accepted with `missing = \"model\"`: predictors that vary.", "Drop it."),
        column = name, found = levels[[name]]
      )
    }
  }
  cells <- prod(lengths(levels))
  if (cells > most_cells) {
    bk_abort(
      "argument", "Factors with missing values have too many levels.",
      sprintf(
        "Found: %.0f combinations of levels of %s.", cells, list_some(paste0("`", names, "`"))
      ),
      sprintf("Accepted: %d. Merge levels, or leave such rows out.", most_cells),
      column = names, found = cells, expected = most_cells
    )
  }
  levels
}

# n x factors, from 1; NA where a value is missing or no such level.
factor_codes <- function(frame, levels) {
  n <- .row_names_info(frame, 2L)
  out <- vapply(names(levels), function(name) {
    match(as.character(frame[[name]]), levels[[name]])
  }, integer(n))
  matrix(out, n, length(levels), dimnames = list(NULL, names(levels)))
}

# Every row with each combination of the levels that it misses.
complete_codes <- function(codes, levels) {
  sizes <- lengths(levels)
  pattern <- drop(is.na(codes) %*% 2^(seq_along(sizes) - 1))
  parts <- lapply(unique(pattern), function(own) {
    rows <- which(pattern == own)
    free <- which(is.na(codes[rows[1L], ]))
    if (length(free) == 0L) return(list(at = rows, codes = codes[rows, , drop = FALSE]))
    grid <- as.matrix(expand.grid(lapply(sizes[free], seq_len)))
    at <- rep(rows, each = nrow(grid))
    known <- codes[at, , drop = FALSE]
    known[, free] <- grid[rep(seq_len(nrow(grid)), length(rows)), ]
    list(at = at, codes = known)
  })
  at <- unlist(lapply(parts, `[[`, "at"))
  order <- order(at)
  list(at = at[order], codes = do.call(rbind, lapply(parts, `[[`, "codes"))[order, , drop = FALSE])
}

# A frame whose factors have these codes.
put_codes <- function(frame, codes, levels) {
  for (name in names(levels)) {
    values <- levels[[name]][codes[, name]]
    column <- frame[[name]]
    if (is.logical(column)) values <- as.logical(values)
    column[] <- values
    frame[[name]] <- column
  }
  frame
}

# Rows that miss a factor get its first level.
first_levels <- function(codes) {
  codes[is.na(codes)] <- 1L
  codes
}

# Columns of factors without holes that tell about what is missing: indicators of all levels but the
# first.
guide_columns <- function(frame, guides) {
  codes <- factor_codes(frame, guides)
  n <- nrow(codes)
  parts <- lapply(names(guides), function(name) {
    vapply(seq_along(guides[[name]])[-1L], function(k) as.double(codes[, name] == k), numeric(n))
  })
  matrix(as.double(unlist(parts)), n, sum(lengths(guides) - 1L))
}

guide_levels <- function(xlevels, holed) {
  guides <- xlevels[setdiff(names(xlevels), holed)]
  Filter(function(levels) length(levels) > 1L && length(levels) <= most_guide_levels, guides)
}

# The wide rows of a design or of new rows.
# codes, levels: for the factors with holes.
# frame: the frame of the rows, coded and with 1 in the holes of numbers.
# info: for the design: `terms`, `keep`, `random`.
# smooths: the columns of all smooths, or `NULL`.
# processes: a list of each process's `x` and `inside`.
# terms: the processes, of which `names` are their variables.
# Returns `at`, `codes`; `x`, `random` (a list of lists of `z`), `processes`; `NULL` where no factor
#   is missing.
completed_rows <- function(codes, levels, frame, info, smooths, processes, terms) {
  if (!anyNA(codes)) return(NULL)
  wide <- complete_codes(codes, levels)
  frame <- put_codes(frame_rows(frame, wide$at), wide$codes, levels)
  x <- plain_model_matrix(info$terms, frame)
  if (!is.null(smooths)) x <- cbind(x, smooths[wide$at, , drop = FALSE])
  wide$x <- x[, info$keep, drop = FALSE]
  wide$random <- lapply(info$random, function(term) list(z = plain_model_matrix(term$terms, frame)))
  wide$processes <- Map(function(own, term) {
    out <- take_process(own, wide$at)
    out$x <- put_process_codes(out$x, wide$codes, term, levels)
    out
  }, processes, terms)
  wide
}

# The codes of a category in the columns of a process.
put_process_codes <- function(x, codes, term, levels) {
  at <- seq_len(term$dim)
  for (k in at[term$names[at] %in% names(levels)]) {
    name <- term$names[k]
    x[, k] <- match(levels[[name]][codes[, name]], term$levels[[k]])
  }
  x
}

# Rows of a design without holes.
rows_without_missing <- function(holes) {
  rowSums(is.na(holes$x)) == 0 &
    (if (is.null(holes$codes)) TRUE else rowSums(is.na(holes$codes)) == 0)
}

# Of some rows, counted anew.
take_wide <- function(wide, rows) {
  if (is.null(wide)) return(NULL)
  out <- take_wide_places(wide, which(wide$at %in% rows))
  out$at <- match(out$at, rows)
  out
}

take_wide_places <- function(wide, keep) {
  list(
    at = wide$at[keep], codes = wide$codes[keep, , drop = FALSE], x = wide$x[keep, , drop = FALSE],
    random = lapply(wide$random, function(term) list(z = term$z[keep, , drop = FALSE])),
    processes = lapply(wide$processes, take_process, keep),
    uses = lapply(wide$uses, pick_uses, keep)
  )
}

# What the atoms do not go with.
refuse_missing_factors <- function(rows, settings) {
  found <- c(
    if (settings$method == "svi") "method = \"svi\"",
    if (!isFALSE(settings$select %||% FALSE)) "`select`"
  )
  if (length(found)) {
    bk_abort(
      "argument", "Missing values of factors do not go with all settings.",
      sprintf(
        "Found: %s, and missing values of %s.", paste(found, collapse = " and "),
        list_some(paste0("`", names(rows$holes$levels), "`"))
      ),
      paste(
        "Accepted: method = \"ep\", \"vb\" or \"gibbs\", without `select`; or",
        "leave the rows out, `missing = \"omit\"`."
      ),
      column = names(rows$holes$levels), found = found
    )
  }
}
