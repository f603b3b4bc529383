# Missing values of numeric predictors that the model describes, x_i ~ N(mu, Sigma) (Luts and
# Ormerod). A hole enters a column of the design as the predictor itself or in a product with known
# columns, so the column is linear in it: value = base + slope * x_ij. The slope is the column with
# 1 in the hole.

# Cells of a design matrix ----------------------------------------------------

# After columns were dropped.
keep_columns <- function(columns, keep) {
  list(
    made = lapply(columns$made, function(k) {
      k <- match(k, keep)
      k[!is.na(k)]
    }),
    itself = stats::setNames(match(columns$itself, keep), names(columns$itself))
  )
}

keep_cells <- function(cells, keep) {
  cells$column <- match(cells$column, keep)
  take_cells(cells, which(!is.na(cells$column)))
}

take_cells <- function(cells, at) lapply(cells, `[`, at)

# Numeric variables of a frame as one matrix, NA in holes.
predictor_matrix <- function(frame, names) {
  n <- .row_names_info(frame, 2L)
  x <- vapply(unclass(frame)[names], as.double, numeric(n))
  matrix(x, n, length(names), dimnames = list(NULL, names))
}

# The frame with 1 in the holes.
fill_frame <- function(frame, names) {
  for (name in names) {
    column <- frame[[name]]
    gone <- is.na(column)
    if (any(gone)) {
      if (is.object(column) || is.logical(column)) column <- as.double(column)
      frame[[name]] <- replace(column, gone, 1)
    }
  }
  frame
}

# The model of predictors ------------------------------------------------------

# Predictors with holes and where they enter the design. Predictors are the columns and random
# slopes that are a numeric variable, and whatever else has holes.
# values: variables, n x candidates, data scale.
# fixed, random: the columns of x, and of z of each random term: `center`, `scale`, `made` by
#   predictor_columns(), `cells` by missing_cells().
# pairs: for variables that cannot both be missing.
# factors: those with holes: `levels`, `codes`; `wide`, by completed_rows(); `guides`, levels of
#   factors that tell about them, and the coded `frame`.
# Returns a list of `info`, for new rows, and `holes`: `predictors`; `center`, `scale_x`; `x` (n x
#   P, model scale, NA in holes); `mean`, `var` of its observed values; `use_row`, `use_column`,
#   `use_predictor` (0-based), `use_base`, `use_slope`: the standardized column is base + slope * x;
#   `random_uses`, for each random term a list of the same. With factors `levels`, `codes`, `guides`
#   (n x K) and `wide`, of which `uses` has the uses of x and of each term.
missing_model <- function(values, fixed, random, standardize, pairs, factors = NULL,
                          copies = NULL) {
  parts <- c(list(fixed), random)
  itself <- vapply(parts, function(part) !is.na(part$made$itself), logical(ncol(values)))
  used <- unlist(lapply(parts, function(part) part$cells$predictor))
  # What a level makes of a predictor tells more than the one that is there.
  if (!is.null(factors$wide)) {
    used <- c(used, unlist(lapply(parts, function(part) {
      which(lengths(part$made$made) > 0L & colSums(is.na(values)) > 0)
    })))
  }
  kept <- which(rowSums(matrix(itself, ncol(values))) > 0 | tabulate(used, ncol(values)) > 0L)
  if (length(kept) == 0L && length(factors$levels) == 0L) return(NULL)
  values <- values[, kept, drop = FALSE]
  moments <- observed_moments(values, copies)
  center <- if (standardize) moments$mean else numeric(length(kept))
  scale <- if (standardize) moments$sd else rep(1, length(kept))
  own <- fixed$made$itself[kept]
  center[!is.na(own)] <- fixed$center[own[!is.na(own)]]
  scale[!is.na(own)] <- fixed$scale[own[!is.na(own)]]
  parts <- lapply(parts, function(part) {
    part$cells$predictor <- match(part$cells$predictor, kept)
    list(
      made = unname(part$made$made[kept]), center = part$center,
      scale = part$scale, cells = part$cells
    )
  })
  info <- list(
    predictors = colnames(values), center = center, scale = scale,
    pairs = Filter(function(pair) all(pair %in% c(colnames(values), names(factors$levels))), pairs),
    parts = lapply(parts, function(part) part[names(part) != "cells"])
  )
  info[c("levels", "guides")] <- factors[c("levels", "guides")]
  list(
    info = info,
    holes = c(
      list(
        predictors = info$predictors, center = center, scale_x = scale,
        x = model_scale(values, info),
        mean = (moments$mean - center) / scale, var = (moments$sd / scale)^2
      ),
      all_uses(info, lapply(parts, `[[`, "cells")), missing_factors(info, factors, values)
    )
  )
}

# The part of `holes` of factors, of a design or of new rows.
missing_factors <- function(info, factors, values) {
  if (length(info$levels) == 0L) return(NULL)
  wide <- factors$wide
  if (!is.null(wide)) {
    mask <- is.na(values)[wide$at, , drop = FALSE]
    wide$uses <- each_use(info, new_cells(info, wide, mask))
  }
  list(
    levels = info$levels, codes = factors$codes,
    guides = guide_columns(factors$frame, info$guides), wide = wide
  )
}

model_scale <- function(values, info) {
  n <- nrow(values)
  (values - rep(info$center, each = n)) / rep(info$scale, each = n)
}

# Uses in the format of the core: 0-based, ordered by row and predictor, with the standardised
# column as a function of the predictor on the model scale.
all_uses <- function(info, cells) {
  uses <- each_use(info, cells)
  c(
    stats::setNames(uses[[1]], paste0("use_", names(uses[[1]]))),
    list(random_uses = unname(uses[-1L]))
  )
}

# Of each part.
each_use <- function(info, cells) {
  Map(function(cells, part) {
    cells <- take_cells(cells, order(cells$row, cells$predictor, cells$column))
    j <- cells$predictor
    k <- cells$column
    base <- (cells$slope * info$center[j] - part$center[k]) / part$scale[k]
    list(
      row = cells$row - 1L, column = k - 1L, predictor = j - 1L, base = unname(base),
      slope = unname(cells$slope * info$scale[j] / part$scale[k])
    )
  }, cells, info$parts)
}

# New rows -------------------------------------------------------------------

# Cells of new rows in the holes that `mask` marks: of x and of each z, which were computed with 1
# there, or hold NA when they are the predictors.
new_cells <- function(info, out, mask) {
  matrices <- c(list(out$x), lapply(out$random, `[[`, "z"))
  # Of processes 1 is put into the holes here.
  processes <- Map(function(own, part) {
    for (j in seq_along(part$made)) own$x[mask[, j], part$made[[j]]] <- 1
    own$x
  }, out$processes, utils::tail(info$parts, length(out$processes)))
  Map(function(x, part) missing_cells(x, part, mask), c(matrices, processes), info$parts)
}

fill_cells <- function(x, cells, part) {
  x[cbind(cells$row, cells$column)] <- part$center[cells$column]
  x
}

# Holes of new rows from the predictors `values` (data scale) and the cells of x and of each z;
# `factors` as missing_model() takes them. A row where two unknowns are multiplied, or are made of
# one variable, has no normal latent value and counts as incomplete.
new_missing <- function(info, values, cells, complete, factors) {
  mask <- is.na(if (is.null(factors)) values else cbind(values, factors$codes))
  own <- missing_factors(info, factors, values)
  twice <- function(part) part$row[duplicated(cbind(part$row, part$column))]
  tangled <- unlist(lapply(cells, twice))
  if (!is.null(own$wide)) {
    wide <- unlist(lapply(own$wide$uses, twice))
    tangled <- c(tangled, own$wide$at[wide + 1L])
  }
  for (pair in info$pairs) tangled <- c(tangled, which(mask[, pair[1]] & mask[, pair[2]]))
  complete[tangled] <- FALSE
  cells <- lapply(cells, function(part) take_cells(part, which(complete[part$row])))
  list(
    complete = complete, holes = c(list(x = model_scale(values, info)), all_uses(info, cells), own)
  )
}
