# Smooth terms of mgcv as blocks of columns with a variance component each. mgcv makes basis and
# penalty; in the coordinates of smooth2random() the penalty of a smooth is the identity on some
# columns, which are a block "iid", and zero on the others, which are fixed columns (Wood 2017,
# Generalized Additive Models, section 5.8).

smooth_functions <- c("s", "te", "ti", "t2")
smooth_heads <- c(smooth_functions, paste0("mgcv::", smooth_functions))
factor_bases <- c("re", "fs", "mrf", "sz")

# Reading --------------------------------------------------------------------

# Splits the right side of a formula into its smooth terms and the rest, NULL if nothing is left.
take_smooths <- function(expr) {
  smooths_in <- function(term) find_terms(term, is_smooth_head)
  inside <- smooths_in(expr)
  if (length(inside) == 0L) return(list(rest = expr, smooths = list()))
  parts <- sum_terms(expr, function(term) length(smooths_in(term)) > 0L)
  if (length(parts$terms) > 1L) {
    taken <- lapply(parts$terms, take_smooths)
    return(list(
      rest = join_terms(lapply(taken, `[[`, "rest"), parts$signs),
      smooths = unlist(lapply(taken, `[[`, "smooths"), recursive = FALSE)
    ))
  }
  head <- deparse1(expr[[1]])
  if (is_smooth_head(head)) return(list(rest = NULL, smooths = list(expr)))
  if (length(expr) != 2L || !head %in% c("(", "+")) refuse_smooth_use(inside[[1]], expr)
  taken <- take_smooths(expr[[2]])
  if (!is.null(taken$rest)) taken$rest <- call(head, taken$rest)
  taken
}

is_smooth_head <- function(head) head %in% c(smooth_heads, process_heads)

refuse_smooth_use <- function(smooth, within) {
  text <- deparse1(smooth)
  head <- sub("^.*::", "", deparse1(smooth[[1]]))
  bk_abort(
    "argument", fit_header("Smooth term `%s` has to be added.", text),
    sprintf("Found: %s.", deparse1(within)),
    sprintf(paste(
      "Accepted: smooth terms joined to others by `+`. A curve for each",
      "level of f is `%s(x, by = f)`, one scaled by z is `%s(x, by = z)`."
    ), head, head),
    column = text, found = deparse1(within)
  )
}

# One smooth term: mgcv's description of it and the variables that it needs.
read_smooth <- function(expr, env) {
  if (deparse1(expr[[1]]) %in% process_heads) return(read_process(expr, env))
  text <- deparse1(expr)
  name <- sub("^mgcv::", "", deparse1(expr[[1]]))
  if (name %in% c("te", "ti")) refuse_tensor(name, expr, text)
  expr[[1]] <- call("::", quote(mgcv), as.name(name))
  invalid <- function(e) {
    abort_smooth(
      text, "Smooth term `%s` is not valid.", e,
      paste(
        "Accepted: as described in `?mgcv::s`, computed variables in I(), such", "as s(I(x / 2))."
      )
    )
  }
  # mgcv warns before it goes on with something else than was written.
  spec <- tryCatch(eval(expr, env), error = invalid, warning = invalid)
  for (argument in c("sp", "id")) {
    if (!is.null(spec[[argument]])) {
      abort_smooth(
        text, "Smooth term `%s` has an argument without use.", sprintf("Found: `%s`.", argument),
        "Every smooth has a variance of its own, which is estimated."
      )
    }
  }
  by <- if (spec$by != "NA") spec$by
  keys <- c(spec$term, by)
  list(text = text, spec = spec, keys = keys, variables = lapply(keys, str2lang), by = by)
}

refuse_tensor <- function(name, expr, text) {
  expr[[1]] <- as.name("t2")
  bk_abort(
    "argument", fit_header("Smooth term `%s` is not offered.", text),
    sprintf(
      paste(
        "The penalties of %s() overlap, so that it is no sum of independent", "random effects."
      ), name
    ),
    sprintf("Use the tensor product `%s`.", deparse1(expr)),
    column = text, found = name, expected = "t2"
  )
}

check_distinct_smooths <- function(smooths) {
  texts <- vapply(smooths, `[[`, "", "text")
  twice <- texts[duplicated(texts)]
  if (length(twice)) {
    bk_abort(
      "argument", fit_header("Smooth term `%s` is there twice.", twice[1]), "Drop one of the two.",
      column = twice[1], found = twice
    )
  }
}

abort_smooth <- function(text, header, found, cure = NULL) {
  if (inherits(found, "condition")) found <- trimws(gsub("\\s+", " ", conditionMessage(found)))
  bk_abort("argument", fit_header(header, text), found, cure, column = text, found = found)
}

# Building -------------------------------------------------------------------

# What a kind of term does for itself: `build`, its parts in a design; `columns` of new rows, NA
# where one of its variables is missing; columns `at` values. Terms of stored fits have no class:
# their kind is read off them.
smooth_kind <- function(term) {
  if (is_process(term)) {
    list(build = build_process, columns = process_place, at = process_at)
  } else if (is_correlated(term)) {
    list(
      build = build_correlated,
      columns = function(smooth, frame, ...) correlated_columns(smooth, frame[[smooth$names]]),
      at = function(smooth, data, n) correlated_columns(smooth, data[[1L]])
    )
  } else {
    list(build = build_smooth, columns = curve_new, at = curve_at)
  }
}

# The smooths of a design from a frame without holes in their variables. A factor in `by` makes one
# smooth for each level.
build_smooths <- function(smooths, frame, rows, standardize, intercept, copies = NULL) {
  alone <- sum(vapply(smooths, is_process, NA)) == 1L
  built <- unlist(lapply(smooths, function(term) {
    if (is_process(term)) term$process$alone <- alone && is.null(term$by)
    smooth_kind(term)$build(
      term, frame, rows, copies = copies, standardize = standardize, centred = intercept
    )
  }), recursive = FALSE)
  labels <- make.unique(vapply(built, `[[`, "", "label"), sep = "#")
  Map(name_smooth, built, labels)
}

build_smooth <- function(term, frame, rows, copies = NULL, ...) {
  names <- vapply(term$variables, deparse1, "")
  columns <- Map(function(column, name) {
    smooth_variable(column, name, term, rows)
  }, unclass(frame)[names], names)
  data <- stats::setNames(columns, term$keys)
  n <- .row_names_info(frame, 2L)
  # Its constraint is a mean over the rows.
  at <- if (is.null(copies)) seq_len(n) else repeated_rows(copies)
  if (!is.null(copies)) data <- lapply(data, values_at, at)
  bases <- tryCatch(
    # The constraint of the fit is kept for prediction too (modCon), which is what leaves the
    # penalties of t2() diagonal.
    mgcv::smoothCon(
      term$spec, data, n = length(at), absorb.cons = TRUE, modCon = 3
    ),
    error = function(e) abort_construction(e, term, columns)
  )
  lapply(bases, function(basis) {
    effects <- independent_effects(basis, term)
    order <- order(effects$block)
    smooth <- list(
      label = basis$label, keys = term$keys, names = names, by = term$by, level = basis$by.level,
      dim = length(term$spec$term), basis = lean_basis(basis), rotation = effects$rotation,
      scale = effects$scale, order = order, block = effects$block[order],
      ranges = lapply(columns, function(v) if (is.numeric(v)) range(v)),
      levels = lapply(columns, levels)
    )
    # Not basis$X, from which prediction can differ in the ninth digit.
    smooth$x <- smooth_at(smooth, columns, n)
    smooth
  })
}

# Coordinates in which each penalty is the identity on columns of its own: `block` says on which, 0
# for columns without penalty. Several penalties have to be diagonal already, as those of t2() and
# "fs" are; smooth2random() stops at those of a single column.
independent_effects <- function(basis, term) {
  k <- ncol(basis$X)
  if (isTRUE(basis$fixed) || length(basis$S) == 0L) return(list(block = numeric(k)))
  if (length(basis$S) == 1L) {
    random <- tryCatch(
      mgcv::smooth2random(basis, "", type = 2),
      error = function(e) abort_smooth(term$text, "Smooth term `%s` cannot be a random effect.", e)
    )
    return(list(block = random$pen.ind, rotation = random$trans.U, scale = random$trans.D))
  }
  diagonals <- vapply(basis$S, diag, numeric(k))
  off <- vapply(basis$S, function(S) max(abs(S - diag(diag(S)))), 0)
  if (any(off > 1e-10 * apply(diagonals, 2L, max)) || any(rowSums(diagonals > 0) > 1L)) {
    abort_smooth(
      term$text, "Smooth term `%s` cannot be a random effect.",
      "Its penalties overlap, so that it is no sum of independent effects.",
      paste(
        "Accepted: bases with one penalty, such as \"tp\", \"cr\", \"ps\",",
        "factor smooths \"fs\", and t2()."
      )
    )
  }
  own <- rowSums(diagonals)
  list(block = max.col(diagonals, "first") * (own > 0), scale = ifelse(own > 0, 1 / sqrt(own), 1))
}

name_smooth <- function(smooth, label) {
  smooth$label <- label
  penalised <- smooth$block > 0
  names <- character(length(penalised))
  names[!penalised] <- sprintf("%s.fx%d", label, seq_len(sum(!penalised)))
  names[penalised] <- sprintf("%s.%d", label, seq_len(sum(penalised)))
  colnames(smooth$x) <- smooth$columns <- names
  smooth
}

# Unpenalised columns first, then the blocks one after the other.
smooth_coordinates <- function(x, smooth) {
  attributes(x) <- list(dim = dim(x))
  if (!is.null(smooth$rotation)) x <- x %*% smooth$rotation
  if (!is.null(smooth$scale)) x <- x * rep(smooth$scale, each = nrow(x))
  x[, smooth$order, drop = FALSE]
}

smooth_variable <- function(column, name, term, rows) {
  if (is.character(column)) column <- factor(column)
  if (is.factor(column)) {
    if (!identical(name, by_name(term)) && !takes_factors(term$spec)) {
      abort_smooth(
        term$text, "Smooth term `%s` has a factor for a variable.",
        sprintf("Found: factor `%s`.", name),
        sprintf(
          paste(
            "Accepted: numbers. Give `%s` as a fixed term, as a random term",
            "`(1 | %s)`, or as `by`."
          ), name, name
        )
      )
    }
    return(column[drop = TRUE])
  }
  values <- if (is.matrix(column)) column + 0 else as.double(column)
  check_columns(column_moments_cpp(cbind(c(values))), cbind(c(values)), name, rows)
  # Knots of "cr" and "cs" stand at quantiles.
  if (!is.matrix(values) && !inherits(term$spec, c("cr.smooth.spec", "cs.smooth.spec"))) {
    wild <- without_wild(values)
    if (!is.null(wild)) {
      warn_wild(name, values[wild$far], wild$range, c(
        sprintf("To `%s` the others are nearly one place.", term$text),
        "A basis with knots at quantiles is s(x, bs = \"cr\")."
      ))
    }
  }
  values
}

by_name <- function(term) {
  if (!is.null(term$by)) deparse1(term$variables[[length(term$variables)]])
}

takes_factors <- function(spec) {
  classes <- unlist(lapply(c(list(spec), spec$margin), class))
  any(sub("\\.smooth\\.spec$", "", classes) %in% factor_bases)
}

abort_construction <- function(error, term, columns) {
  message <- conditionMessage(error)
  basis <- sub("\\.smooth\\.spec$", "", class(term$spec)[1])
  if (grepl("no applicable method", message, fixed = TRUE)) {
    abort_smooth(
      term$text, "Smooth term `%s` has an unknown basis.",
      sprintf("Found: bs = %s.", quoted(basis)),
      "Accepted: the bases of `?mgcv::smooth.terms`, such as \"tp\", \"cr\"."
    )
  }
  distinct <- vapply(columns, function(v) length(unique(c(v))), 1L)
  abort_smooth(
    term$text, "Smooth term `%s` cannot be made.",
    c(
      trimws(gsub("\\s+", " ", message)),
      sprintf("`%s` has %d distinct values.", names(columns), distinct)
    ),
    paste("Give fewer basis functions, such as `k = 4`, or use the variable as it", "stands.")
  )
}

# What prediction reads of a basis: no rows of the data, and no environment that would carry them
# along.
lean_basis <- function(basis) {
  basis[c("X", "Xb", "Xp", "S", "Sp", "fac", "ind", "D", "C")] <- NULL
  if (is.list(basis$base)) basis$base$S <- NULL
  if (inherits(basis$form, "formula")) environment(basis$form) <- globalenv()
  basis$margin <- lapply(basis$margin, lean_basis)
  if (length(basis$margin) == 0L) basis$margin <- NULL
  basis
}

smooth_parts <- function(smooths) unname(lapply(smooths, `[[`, "x"))

# cbind() that needs no more memory than its answer, which may be the largest matrix of a fit.
# Columns that are to be filled have no rows yet: they are 0, or left out if they are to be computed
# when they are read (`lean`).
join_columns <- function(x, parts, lean = FALSE) {
  if (lean) parts <- Filter(nrow, parts)
  if (length(parts) == 0L) return(x)
  parts <- c(list(x), parts)
  names <- unlist(lapply(parts, colnames))
  out <- matrix(0, nrow(x), length(names))
  at <- 0L
  for (part in parts) {
    if (nrow(part) == nrow(out)) out[, at + seq_len(ncol(part))] <- part
    at <- at + ncol(part)
  }
  dimnames(out) <- list(rownames(x), names)
  out
}

smooth_penalised <- function(smooths) as.logical(unlist(lapply(smooths, `[[`, "block")) > 0)

# Where the smooths are among the columns that were kept. `first` is the number of columns before
# those of the smooths.
place_smooths <- function(smooths, keep, first, copies) {
  for (k in seq_along(smooths)) {
    smooth <- smooths[[k]]
    at <- match(first + seq_along(smooth$block), keep)
    blocks <- unname(split(at, smooth$block))
    if (any(smooth$block == 0)) blocks <- blocks[-1L]
    smooths[[k]]$at <- at
    smooths[[k]]$fixed <- at[smooth$block == 0 & !is.na(at)]
    smooths[[k]]$blocks <- blocks
    smooths[[k]]$sizes <- smooth_sizes(smooth, copies)
    first <- first + length(at)
  }
  smooths
}

# What the sd of a block's coefficients is multiplied by to give the sd of the function, on average
# over the rows that the block has an effect on: the prior of the function then depends neither on
# the basis nor on its scale (Sorbye and Rue 2014, Spatial Statistics 8). A process has variance 1
# as it is.
smooth_sizes <- function(smooth, copies) {
  numbers <- sort(unique(smooth$block[smooth$block > 0]))
  vapply(numbers, function(b) {
    if (is_process(smooth) || is.null(smooth$x)) return(1)
    variance <- rowSums(smooth$x[, smooth$block == b, drop = FALSE]^2)
    used <- is.finite(variance) & variance > 0
    if (!any(used)) return(1)
    variance <- variance[used]
    sqrt(if (is.null(copies)) mean(variance) else stats::weighted.mean(variance, copies[used]))
  }, 0)
}

# The part for the fit, and the part for prediction.
smooth_summary <- function(smooth) {
  several <- length(smooth$blocks) > 1L
  list(
    label = smooth$label, variables = utils::head(smooth$names, smooth$dim), by = smooth$by,
    level = smooth$level, dim = smooth$dim, fixed = smooth$fixed, process = is_process(smooth),
    blocks = smooth$blocks, sizes = smooth$sizes,
    block_labels = if (several) {
      paste0(smooth$label, ":", seq_along(smooth$blocks))
    } else {
      rep(smooth$label, length(smooth$blocks))
    },
    ranges = smooth$ranges, levels = smooth$levels
  )
}

# --- how wiggly a smooth is ---------------------------------------------------

plain_smooths <- function(object) Filter(function(smooth) !isTRUE(smooth$process), object$smooths)

# Effective degrees of freedom of each smooth. A penalized column with prior variance t counts 1 - v
# / t, where v is its posterior variance given t; an unpenalized one counts 1. With expectation
# propagation the sum is averaged over the values of t. Draws do not say what v is given t: NA.
smooth_table <- function(object) {
  smooths <- plain_smooths(object)
  if (length(smooths) == 0L) return(NULL)
  fits <- if (has_points(object)) at_points(object) else list(object)
  weights <- if (has_points(object)) point_weights(object) else 1
  edf <- vapply(smooths, function(smooth) {
    stats::weighted.mean(vapply(fits, smooth_edf, 1, smooth), weights)
  }, 1)
  columns <- vapply(smooths, function(smooth) {
    length(smooth$fixed) + length(unlist(smooth$blocks))
  }, 1L)
  out <- cbind(edf = edf, columns = columns)
  rownames(out) <- vapply(smooths, `[[`, "", "label")
  out
}

smooth_edf <- function(object, smooth) {
  if (!is.null(object$draws) || is.null(object$posterior$theta_cov)) return(NA_real_)
  spread <- diag(object$posterior$theta_cov)
  labels <- vapply(object$posterior$variance, `[[`, "", "label")
  used <- mapply(function(at, label) {
    prior <- object$posterior$variance[[match(label, labels)]]
    precision <- switch(prior$type, iid = prior$shape / prior$rate, point = 1 / prior$value[1],
      NA_real_
    )
    # With missing values the variance is wider than that of known rows, and may exceed t.
    length(at) - sum(pmin(precision * spread[at], 1))
  }, smooth$blocks, smooth$block_labels)
  length(smooth$fixed) + sum(used)
}
