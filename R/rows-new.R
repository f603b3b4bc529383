# New rows for a fit of any model, in slices or from a row source, and the way of their predictions
# back to all rows.

# New rows.
# groups: `"as given"`, all `"new"`, or `"none"`: without random effects.
# named: name the groups, for draws of their effects.
# first: number of rows before these, for errors.
# Returns a list: `x`, `random` (for each term `z`, `group`, `name`), `offset`, `holes`, as
#   design_new() has them, of the complete rows alone; `complete`, their numbers; `n`, the number of
#   all; `names` of all or NULL.
new_rows <- function(object, newdata, groups = "as given", named = FALSE, first = 0) {
  info <- object$design
  if (info$type == "kernel") {
    x <- new_kernel_values(info, newdata)
    complete <- which(is.finite(rowSums(x)))
    return(list(
      x = x[complete, , drop = FALSE], offset = numeric(length(complete)), random = list(),
      complete = complete, n = nrow(x), names = given_names(newdata)
    ))
  }
  if (info$type == "spaces") return(new_space_rows(info, newdata, first))
  if (!is.data.frame(newdata) && is_sparse(newdata)) newdata <- as.matrix(newdata)
  if (groups != "as given" && length(info$random)) {
    newdata <- without_groups(info, newdata, groups == "new")
    if (groups == "none") {
      info["random"] <- list(list())
      count <- length(processes_of(info$smooths))
      info$holes$parts <- c(info$holes$parts[1], utils::tail(info$holes$parts, count))
    }
  }
  new <- design_new(info, newdata, first = first)
  if (groups == "new" || !is.null(object$draws)) {
    new$random <- forget_groups(object, new$random, groups == "new")
  }
  if (named) {
    for (t in seq_along(new$random)) new$random[[t]]$name <- group_names(info, newdata, t)
  }
  complete <- which(new$complete)
  n <- length(new$complete)
  new["complete"] <- NULL
  if (length(complete) < n) new <- take_rows(new, complete)
  if (length(new$processes)) new <- fill_processes(object, new)
  c(new, list(complete = complete, n = n, names = given_names(newdata)))
}

# A sampler that stored no random effects knows none of its groups.
forget_groups <- function(object, random, all = FALSE) {
  for (t in seq_along(random)) {
    known <- object$posterior$random[[t]]$mean %||% object$posterior$process$groups
    if (all || is.null(known)) random[[t]]$group[] <- 0L
  }
  random
}

# Variables of random terms alone need not be there; for `new` groups only their factors: a row that
# does not tell its group has one of its own.
without_groups <- function(info, newdata, new) {
  if (!is.list(newdata)) return(newdata)
  alone <- group_variables(info, !new)
  lacking <- setdiff(info$variables, c(names(newdata), alone))
  if (length(lacking)) abort_lacking(lacking, names(newdata))
  absent <- setdiff(alone, names(newdata))
  if (!new) {
    newdata[absent] <- NA
    return(newdata)
  }
  n <- if (is.data.frame(newdata)) nrow(newdata) else NROW(newdata[[1]])
  newdata[absent] <- rep(list(rep(NA, n)), length(absent))
  newdata[alone] <- lapply(newdata[alone], function(group) {
    ifelse(is.na(group), sprintf(".row %d", seq_len(n)), as.character(group))
  })
  newdata
}

# Variables that name groups, with `slopes` also those of their effects, and are in no other term.
group_variables <- function(info, slopes = FALSE) {
  factors <- unlist(lapply(info$random, function(term) {
    lapply(term$leaves, function(leaf) all.vars(read_text(leaf, info$variables)))
  }))
  of_slopes <- unlist(lapply(info$random, function(term) all.vars(term$terms)))
  elsewhere <- c(
    all.vars(info$terms), unlist(lapply(info$smooths, `[[`, "names")),
    all.vars(info$offset), if (!slopes) of_slopes
  )
  unique(setdiff(c(factors, if (slopes) of_slopes), elsewhere))
}

# Names of groups, so that rows of one unseen group share its effect.
group_names <- function(info, newdata, t) {
  leaves <- lapply(info$random[[t]]$leaves, function(leaf) {
    as.character(eval(read_text(leaf, names(newdata)), newdata, info$env))
  })
  do.call(paste, c(leaves, sep = ":"))
}

# Kernel values of new rows with the training rows, and of each with itself: those of a matrix with
# names are found by these, both.
new_kernel_values <- function(info, newdata) {
  n <- info$rows
  if (is.matrix(newdata) && is.numeric(newdata)) {
    at <- match_training(newdata, info$objects, n)
    if (!is.null(at)) newdata <- named_kernel_values(newdata, at)
  }
  if (!is.matrix(newdata) || !is.numeric(newdata) || !(ncol(newdata) %in% c(n, n + 1L))) {
    abort_argument(
      newdata, "newdata", sprintf(paste(
        "a matrix of kernel values with the %d training rows, and in column",
        "%d those of the new rows with themselves, if they vary"
      ), n, n + 1L),
      kind = "dimension"
    )
  }
  if (ncol(newdata) > n) return(newdata)
  # A symmetric matrix is of the rows of the fit, and has their variances.
  if (nrow(newdata) == n && isSymmetric(unname(newdata))) {
    return(cbind(newdata, diag(newdata), deparse.level = 0))
  }
  if (isTRUE(info$varies)) {
    bk_warn(
      "kernel", "The variances of new rows are not known: their mean is taken.",
      "The diagonal of the kernel matrix of the fit varies.",
      sprintf("Give k(x, x) of each new row as column %d of `newdata`.", n + 1L)
    )
  }
  cbind(newdata, info$diagonal)
}

# Columns `at` of a matrix with names, and the variance of each row: its value in the column of its
# own name, or the only column that is left.
named_kernel_values <- function(x, at) {
  rest <- setdiff(seq_len(ncol(x)), at)
  rows <- usable_names(rownames(x))
  if (!is.null(rows) && are_automatic(rows)) rows <- NULL
  own <- match(rows, colnames(x))
  variance <- if (length(own) && !anyNA(own)) {
    x[cbind(seq_along(own), own)]
  } else if (length(rest) == 1L) {
    x[, rest]
  }
  cbind(x[, at, drop = FALSE], variance, deparse.level = 0)
}

take_rows <- function(rows, at) {
  if (length(at) == length(rows$offset)) return(rows)
  rows$x <- rows$x[at, , drop = FALSE]
  rows$offset <- rows$offset[at]
  rows$holes <- take_missing(rows$holes, at)
  rows$random <- lapply(rows$random, take_term, at)
  rows$processes <- lapply(rows$processes, take_process, at)
  for (name in c("open", "unit_open")) {
    if (!is.null(rows[[name]])) rows[[name]] <- rows[[name]][at, , drop = FALSE]
  }
  rows
}

take_term <- function(term, at) {
  term$z <- term$z[at, , drop = FALSE]
  term$group <- term$group[at]
  term$name <- term$name[at]
  term
}

take_process <- function(own, at) {
  list(x = own$x[at, , drop = FALSE], inside = own$inside[at], copies = own$copies[at])
}

# The part of `holes` of some rows, counted anew.
take_missing <- function(holes, rows) {
  if (is.null(holes)) return(NULL)
  pick <- function(uses, row) pick_uses(uses, rows, row)
  fields <- c("use_row", "use_column", "use_predictor", "use_base", "use_slope")
  c(
    list(x = holes$x[rows, , drop = FALSE]), pick(holes[fields], "use_row"),
    list(random_uses = lapply(holes$random_uses, pick, "row")),
    if (!is.null(holes$codes)) {
      list(
        levels = holes$levels, codes = holes$codes[rows, , drop = FALSE],
        guides = holes$guides[rows, , drop = FALSE], wide = take_wide(holes$wide, rows)
      )
    }
  )
}

pick_uses <- function(uses, rows, row = "row") {
  at <- match(uses[[row]] + 1L, rows)
  keep <- !is.na(at)
  uses <- lapply(uses, `[`, keep)
  uses[[row]] <- at[keep] - 1L
  uses
}

# Elements of the largest temporary matrix.
slice_size <- 4e6

row_slices <- function(n, width) {
  size <- max(1, floor(slice_size / max(1, width)))
  begin <- seq(1, max(n, 1), by = size)
  lapply(begin, function(b) seq_len(min(size, n - b + 1)) + b - 1L)
}

# Back to all rows ------------------------------------------------------------

# Does `change`, of rows, to every element of an answer; rows of draws are columns.
each_part <- function(x, draws, change) {
  if (is.list(x)) {
    lapply(x, each_part, draws, change)
  } else if (length(dim(x)) == 3L) {
    # Rows first, the rest side by side.
    turn <- if (draws) c(2L, 1L, 3L) else 1:3
    x <- aperm(x, turn)
    size <- dim(x)[-1L]
    names <- dimnames(x)
    flat <- change(matrix(x, nrow(x), dimnames = list(names[[1]], NULL)))
    out <- array(flat, c(nrow(flat), size))
    dimnames(out) <- list(rownames(flat), names[[2]], names[[3]])
    aperm(out, turn)
  } else if (is.null(x) || !draws) {
    change(x)
  } else {
    t(change(t(x)))
  }
}

# From the complete rows to all rows, with the names of these.
fill_incomplete <- function(out, rows, draws = FALSE) {
  if (length(rows$complete) == rows$n && is.null(rows$names)) return(out)
  back <- match(seq_len(rows$n), rows$complete)
  each_part(out, draws, function(x) {
    if (is.matrix(x)) {
      if (anyNA(back)) x <- x[back, , drop = FALSE]
      if (!is.null(rows$names)) rownames(x) <- rows$names
    } else if (!is.null(x)) {
      if (anyNA(back)) x <- x[back]
      names(x) <- rows$names
    }
    x
  })
}

# Parts of the rows -----------------------------------------------------------

# The source without predictors that a formula does not read; columns that name groups, and are
# nothing else, come as they are.
needed_columns <- function(info, source) {
  if (info$type != "formula") return(source)
  alone <- group_variables(info)
  needed <- intersect(source$columns, info$variables)
  source$columns <- setdiff(needed, alone)
  source$raw <- intersect(needed, alone)
  source
}

# The predictors of a block: a formula looks for its variables in a data frame.
block_values <- function(object, source, block) {
  if (object$design$type == "matrix") return(block$x)
  x <- as.data.frame(block$x)
  x[source$raw] <- if (source$type == "text") {
    known <- lapply(object$design$random, `[[`, "leaf_levels")
    Map(function(values, name) {
      text_groups_like(values, unlist(lapply(known, `[[`, name)))
    }, block$raw, source$raw)
  } else {
    block$raw
  }
  x
}

# The row would be counted from the start of its block.
refuse_infinite <- function(block) {
  check_columns(
    column_moments_cpp(block$x), block$x, colnames(block$x), block$first + seq_len(nrow(block$x)),
    missing_allowed = TRUE
  )
}
