# Feature spaces: what users give, what fits keep of it, new rows of it, and the sources that the
# core reads.

# A matrix or a data frame without a formula: one space, read as any model's predictors; otherwise a
# list of spaces, each by the kind of its kernel.
space_rows <- function(model, given, kind, settings) {
  x <- given$x
  kernel <- settings$kernel
  raw <- is_kernel(kernel) && reads_raw(kernel)
  if (!raw && (is.matrix(x) || is.data.frame(x) || isS4(x))) {
    return(predictor_rows(model, given, kind, settings))
  }
  if (is.matrix(x) || is.data.frame(x) || !is.list(x)) x <- list(x = x)
  x <- check_spaces(x, given$y)
  kernels <- kernels_of_spaces(kernel, x)
  x <- Map(function(space, kernel, name) {
    if (is_precomputed(kernel)) square_by_name(space, name) else space
  }, x, kernels, names(x))
  check_row_numbers(given$weights, "weights")
  matched <- match_spaces(x, kernels, given$y, given$weights)
  x <- matched$x
  given[c("y", "weights")] <- matched[c("y", "weights")]
  usable <- usable_spaces(x, given)
  if (!is.null(usable$keep)) {
    x <- Map(function(space, kernel) {
      if (is_precomputed(kernel)) return(space[usable$keep, usable$keep, drop = FALSE])
      if (length(dim(space)) == 2L) space[usable$keep, , drop = FALSE] else space[usable$keep]
    }, x, kernels)
    given$y <- given$y[usable$keep]
    given$weights <- given$weights[usable$keep]
  }
  response <- read_response(given$y, "y", kind, usable$keep)
  parts <- Map(function(space, kernel, name) {
    read_space(model, space, kernel, name, given, kind, settings)
  }, x, kernels, names(x))
  spaces <- lapply(parts, `[[`, "space")
  at <- 0L
  for (name in names(spaces)) {
    width <- ncol(parts[[name]]$x)
    spaces[[name]]$at <- at + seq_len(width)
    at <- at + width
  }
  columns <- unlist(lapply(spaces, function(space) {
    paste(space$name, space$columns, sep = ".")
  }), use.names = FALSE)
  c(response, list(
    data = list(x = unname(do.call(cbind, lapply(parts, `[[`, "x")))), n = NROW(x[[1]]),
    spaces = spaces, columns = columns, response = "y",
    dropped = unlist(lapply(parts, `[[`, "dropped"), use.names = FALSE),
    info = list(
      type = "spaces", spaces = lapply(parts, `[[`, "info"),
      random = list(), columns = columns, variables = columns
    ),
    na.action = usable$na.action, rows = usable$keep, zero = usable$zero,
    weights = kept_weights(given$weights),
    frame = list(x = x, y = given$y)
  ))
}

# Kernels whose columns are taken as they are.
reads_raw <- function(kernel) {
  kernel$kind %in% c("precomputed", "categorical") ||
    (kernel$kind == "basis" && is.null(kernel$degree))
}

is_words <- function(x) is.factor(x) || is.character(x) || is.logical(x)

check_spaces <- function(x, y) {
  if (length(x) == 0L) abort_argument(x, "x", "a matrix, or a named list of at least one space")
  named <- names(x)
  if (is.null(named) || anyNA(named) || any(named == "") || anyDuplicated(named)) {
    bk_abort(
      "argument", "The feature spaces have no names of their own.",
      sprintf("Found: %s.", if (is.null(named)) "no names" else list_some(quoted(named))),
      "Accepted: a list such as list(shape = x1, color = x2).", column = "x", found = named
    )
  }
  for (name in named) {
    space <- x[[name]]
    if (!is.matrix(space) && !is.data.frame(space) && !is_words(space)) {
      abort_argument(
        space, sprintf("x$%s", name),
        "a matrix, a data frame or a factor with a row, or value, an object"
      )
    }
  }
  sizes <- vapply(x, NROW, 1L)
  if (length(unique(c(sizes, length(y)))) > 1L) {
    bk_abort(
      "dimension", "Spaces and response do not have the same number of rows.",
      sprintf("Found: %s, %d labels.", paste(
        names(sizes), sizes, sep = ": ", collapse = ", "
      ), length(y)),
      "Accepted: a row for every object in every space.",
      column = "x", found = sizes, expected = length(y)
    )
  }
  if (sizes[1] < 2L) abort_too_few_rows(sizes[[1]])
  x
}

# Spaces and response in the order of the first that has names.
match_spaces <- function(x, kernels, y, weights) {
  kernel <- vapply(kernels, is_precomputed, NA)
  known <- Map(object_names, x, kernel)
  first <- Position(Negate(is.null), known)
  if (is.na(first)) return(list(x = x, y = y, weights = weights))
  against <- sprintf("`%s`", names(x)[first])
  for (k in seq_along(x)[-first]) {
    x[[k]] <- take_objects(x[[k]], match_objects(
      known[[k]], known[[first]], sprintf("`%s`", names(x)[k]), against
    ), kernel[k])
  }
  in_order <- function(values, name) {
    take_objects(values, match_objects(object_names(values), known[[first]], name, against))
  }
  list(x = x, y = in_order(y, "`y`"), weights = in_order(weights, "`weights`"))
}

# One for all, or one for each.
kernels_of_spaces <- function(kernel, x) {
  if (is_kernel(kernel)) kernel <- rep(list(kernel), length(x))
  if (is.null(kernel)) {
    kernel <- lapply(x, function(space) {
      words <- is_words(space) || (is.data.frame(space) && all(vapply(space, is_words, NA)))
      if (words) categorical() else rbf()
    })
  }
  fits <- length(kernel) == length(x) && (is.null(names(kernel)) ||
    setequal(names(kernel), names(x)))
  if (!fits) {
    bk_abort(
      "kernel", "`kernel` does not have a kernel for each space.",
      sprintf("Found: %d kernels%s.", length(kernel), if (is.null(names(kernel))) {
        ""
      } else {
        paste(",", list_some(names(kernel)))
      }),
      sprintf("Accepted: one, or %d: %s.", length(x), list_some(names(x))),
      column = "kernel", found = length(kernel), expected = length(x)
    )
  }
  if (is.null(names(kernel))) names(kernel) <- names(x)
  kernel[names(x)]
}

# Rows in which any space or the response has a gap.
usable_spaces <- function(x, given) {
  gaps <- lapply(x, function(space) {
    bad <- if (is.data.frame(space)) {
      !stats::complete.cases(space)
    } else if (is.matrix(space)) {
      rowSums(is.na(space)) > 0
    } else {
      is.na(space)
    }
    if (any(bad)) ifelse(bad, NA_real_, 1)
  })
  if (length(dim(given$y)) > 1L) read_response(given$y, "y", "classes")
  weights <- given$weights
  if (!is.null(weights) && length(weights) != length(given$y)) {
    abort_length("weights", length(weights), length(given$y))
  }
  frame <- list2DF(c(
    list(y = given$y), Filter(Negate(is.null), gaps),
    if (!is.null(weights)) list("(weights)" = weights)
  ))
  usable_rows(frame, NULL, given$na.action)
}

# One space: its raw columns `x`, what the fit keeps, what new rows must have.
read_space <- function(model, value, kernel, name, given, kind, settings) {
  space <- list(name = name, kernel = kernel)
  if (kernel$kind == "categorical") return(read_categories(value, space))
  if (reads_raw(kernel)) {
    x <- check_points(value, sprintf("x$%s", name))
    if (is_precomputed(kernel)) check_gram(x, name)
    objects <- if (is_precomputed(kernel)) object_names(x, TRUE) else usable_names(colnames(x))
    columns <- colnames(x) %||% paste0("k", seq_len(ncol(x)))
    space[c("kind", "columns")] <- list("matrix", columns)
    space$transform <- list(center = 0, scale = 1)
    return(list(
      x = unname(x), space = space,
      info = list(
        type = "raw", columns = ncol(x), objects = objects, kernel = is_precomputed(kernel)
      )
    ))
  }
  if (is_words(value)) value <- data.frame(level = factor(value))
  given <- list(x = value, y = given$y, weights = given$weights, na.action = stats::na.fail)
  rows <- predictor_rows(model, given, kind, settings)
  space$kernel <- place_kernel(kernel, rows)
  space <- c(space, columns_of_space(kernel, rows))
  list(
    x = rows$data$x[, rows$data$source, drop = FALSE], space = space,
    info = c(rows$info, list(used = rows$used)),
    dropped = if (length(rows$dropped)) paste(name, rows$dropped, sep = ".")
  )
}

columns_of_space <- function(kernel, rows) {
  list(
    kind = if (kernel$kind == "basis") "matrix" else "kernel", columns = rows$columns,
    transform = list(center = unname(rows$center), scale = unname(rows$scale))
  )
}

# Levels as numbers; one that the fit has not seen is 0.
read_categories <- function(value, space) {
  frame <- as.data.frame(value)
  columns <- if (is_words(value)) "level" else names(frame)
  levels <- lapply(frame, function(column) {
    if (is.factor(column)) levels(column) else sort(unique(as.character(column)), method = "radix")
  })
  space <- c(space, list(
    kind = "category", columns = columns, transform = list(center = 0, scale = 1)
  ))
  info <- list(type = "levels", levels = levels, names = columns)
  list(x = category_codes(frame, levels), space = space, info = info)
}

category_codes <- function(frame, levels) {
  codes <- Map(function(column, levels) {
    out <- match(as.character(column), levels, nomatch = 0L)
    replace(as.double(out), is.na(column), NA)
  }, frame, levels)
  unname(do.call(cbind, codes))
}

# Symmetric, and positive semi-definite up to rounding.
check_gram <- function(k, name = NULL) {
  k <- unname(check_precomputed(k, TRUE))
  size <- max(abs(k), .Machine$double.xmin)
  shifted <- k / size + diag(1e-9 * nrow(k), nrow(k))
  whole <- tryCatch(is.matrix(chol(shifted)), error = function(e) FALSE)
  if (!whole) {
    least <- min(eigen(k, TRUE, only.values = TRUE)$values)
    bk_abort(
      "kernel", "A precomputed kernel matrix is not positive semi-definite.",
      sprintf(
        "Found%s: an eigenvalue of %.3g.",
        if (is.null(name)) "" else sprintf(" in space `%s`", name), least
      ),
      "Accepted: a kernel matrix, of which no eigenvalue is below zero.",
      column = name %||% "x", found = least, expected = 0
    )
  }
  invisible(k)
}

# New rows ---------------------------------------------------------------------

new_space_rows <- function(info, newdata, first) {
  names <- names(info$spaces)
  alone <- length(names) == 1L &&
    (is.matrix(newdata) || is.data.frame(newdata) || !is.list(newdata))
  if (alone) newdata <- stats::setNames(list(newdata), names)
  fits <- is.list(newdata) && !is.data.frame(newdata) && all(names %in% names(newdata))
  if (!fits) {
    bk_abort(
      "argument", "`newdata` does not have the spaces of the fit.",
      sprintf("Found: %s.", if (is.list(newdata) && length(newdata)) {
        list_some(quoted(names(newdata) %||% "no names"))
      } else {
        describe_value(newdata)
      }),
      sprintf("Accepted: a list with %s.", list_some(quoted(names))),
      column = "newdata", found = names(newdata), expected = names
    )
  }
  newdata <- Map(function(space, info, name) {
    if (info$type == "raw") raw_by_name(info, space, name) else space
  }, newdata[names], info$spaces, names)
  sizes <- vapply(newdata[names], NROW, 1L)
  if (length(unique(sizes)) > 1L) {
    bk_abort(
      "dimension", "The spaces of `newdata` differ in their numbers of rows.",
      sprintf("Found: %s.", paste(names(sizes), sizes, sep = ": ", collapse = ", ")),
      column = "newdata", found = sizes
    )
  }
  newdata <- match_new_spaces(newdata, info$spaces)
  parts <- Map(new_space, info$spaces, newdata[names], names, first)
  x <- do.call(cbind, unname(parts))
  complete <- which(!is.na(rowSums(x)))
  list(
    x = x[complete, , drop = FALSE], offset = numeric(length(complete)),
    random = list(), complete = complete, n = sizes[[1]],
    names = Find(Negate(is.null), lapply(newdata[names], given_names))
  )
}

# Columns of kernel values, and of regressors, as in the fit.
raw_by_name <- function(info, value, name) {
  if (is.data.frame(value)) value <- as.matrix(value)
  if (!is.matrix(value) || is.null(info$objects)) return(value)
  at <- if (info$kernel) {
    match_training(value, info$objects, info$columns, name)
  } else {
    match(info$objects, colnames(value))
  }
  if (is.null(at) || anyNA(at)) value else value[, at, drop = FALSE]
}

# New rows of every space in the order of the first that has names.
match_new_spaces <- function(newdata, spaces) {
  known <- Map(function(space, info) {
    if (isTRUE(info$kernel)) usable_names(rownames(space)) else object_names(space)
  }, newdata, spaces)
  first <- Position(Negate(is.null), known)
  if (is.na(first)) return(newdata)
  for (k in seq_along(newdata)[-first]) {
    newdata[[k]] <- take_objects(newdata[[k]], match_objects(
      known[[k]], known[[first]], sprintf("`%s`", names(newdata)[k]),
      sprintf("`%s`", names(newdata)[first])
    ))
  }
  newdata
}

new_space <- function(info, value, name, first) {
  if (info$type == "levels") {
    frame <- as.data.frame(value)
    if (length(frame) != length(info$levels)) {
      abort_space_width(name, length(frame), length(info$levels))
    }
    if (!is_words(value) && all(info$names %in% names(frame))) frame <- frame[info$names]
    return(category_codes(frame, info$levels))
  }
  if (info$type == "raw") {
    if (is.data.frame(value)) value <- as.matrix(value)
    if (!is.matrix(value) || !is.numeric(value) || ncol(value) != info$columns) {
      abort_space_width(name, NCOL(value), info$columns)
    }
    if (any(is.infinite(value))) check_finite_points(value, name)
    return(unname(value))
  }
  if (is_words(value)) value <- data.frame(level = factor(value))
  new <- design_new(info, value, first = first)
  x <- unname(new$x[, info$used, drop = FALSE])
  storage.mode(x) <- "double"
  x[!new$complete, ] <- NA
  x
}

abort_space_width <- function(name, found, expected) {
  bk_abort(
    "dimension", sprintf("Space `%s` has the wrong number of columns.", name),
    sprintf("Found: %d columns.", found),
    sprintf("Accepted: a matrix of numbers with %d.", expected),
    column = name, found = found, expected = expected
  )
}

# Sources ----------------------------------------------------------------------

# Of rows on the scale of the data, on that of the model: columns x rows.
space_points <- function(space, x) {
  x <- x[, space$at, drop = FALSE]
  if (space$kind == "kernel" || space$kernel$kind == "basis") {
    x <- scaled_rows(x, space$transform$center, space$transform$scale)
  }
  unname(t(x))
}

# What the core reads of a space at rows whose `points` these are, with regressors `space$z` (NULL:
# the rows themselves).
space_source <- function(space, points) {
  if (space$kind == "kernel") {
    list(
      kind = "kernel", kernel = kernel_to_core(space$kernel, nrow(points)), x = points, z = space$z
    )
  } else if (space$kind == "category") {
    list(kind = "category", x = points, z = space$z)
  } else if (is_precomputed(space$kernel)) {
    if (!is.null(space$take)) points <- points[space$take, , drop = FALSE]
    list(kind = "matrix", k = points / space$size)
  } else {
    list(kind = "matrix", k = features_of(points, space$kernel$degree))
  }
}

# Monomials of the columns up to a degree: features x rows, for two columns the numbers 1, x1, x2,
# x1^2, x1 x2 and x2^2.
features_of <- function(points, degree) {
  if (is.null(degree)) return(points)
  d <- nrow(points)
  parts <- list(matrix(1, 1L, ncol(points)))
  last <- parts[[1]]
  first <- 1L
  for (k in seq_len(degree)) {
    rows <- unlist(Map(function(at, from) {
      if (from <= d) rep(at, d - from + 1L)
    }, seq_along(first), first))
    by <- unlist(lapply(first, function(from) seq.int(from, d)))
    last <- last[rows, , drop = FALSE] * points[by, , drop = FALSE]
    first <- by
    parts[[k + 1L]] <- last
  }
  do.call(rbind, parts)
}

# A kernel of each point with itself.
kernel_diagonal <- function(kernel, points) {
  value <- function(kernel) {
    at <- kernel$columns %||% seq_len(nrow(points))
    square <- colSums(points[at, , drop = FALSE]^2)
    switch(kernel$kind,
      sum = Reduce(`+`, lapply(kernel$children, value)),
      product = Reduce(`*`, lapply(kernel$children, value)),
      kind_of(kernel)$diagonal(kernel, square)
    )
  }
  value(kernel)
}
