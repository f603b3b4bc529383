# Rows for a fit, from whatever the user gave: a formula and data, a matrix, a data frame, a sparse
# matrix, a kernel matrix, a row source. One list for all models, with what prediction and the row
# methods need.

# Reads the rows of a fit.
# model: the facts of the model, of which `rows` says
# * `linear`: columns with an intercept, bars, smooths, modeled missing values; otherwise predictors
#   that a kernel combines;
# * `intercepts`: whether predictors that a kernel combines may stand beside random intercepts,
#   which come as `random`;
# * `weights`: whether rows have weights; `noise_weights`: they divide the variance of the noise,
#   and are no powers of the likelihood;
# * `source`: the methods that read a row source;
# * `sparse`, `kernel`: whether these matrices are read;
# * `read(model, given, kind, settings)`: in place of all that for what is given without a formula;
# * `response(settings)`: the kind of response, see read_response().
# front, settings: see read_settings().
# Returns a list: `y`, `levels`, `response`, `n`, `weights`, `na.action`, `dropped`, `info` for
#   design_new(), `formula`, `terms`, `xlevels`, `contrasts`, `frame`, `rows` (their numbers in the
#   data, `NULL` for all); `release()`, if something has to be put away. Of linear models the rest
#   is what bsvm_design() returns. Of others `data`, predictors as the cores read them: `type`
#   ("matrix", "sparse", "file"), the numbers, and `source`, which columns the model has; `columns`,
#   their names; `column_terms`, of a formula the terms that they are of; `center`, `scale`; `used`,
#   their places among the columns of design_new().
read_rows <- function(model, front, settings) {
  facts <- model$rows
  kind <- facts$response(settings)
  if (!("formula" %in% ls(front)) && eval(quote(missing(x)), front)) {
    abort_absent("formula", sprintf("%1$s(y ~ x, data), or %1$s(x, y)", model$name))
  }
  given <- given_source(model, front)
  if (!is.null(given)) return(source_rows(model, given$source, settings, given$formula))
  if ("formula" %in% ls(front)) {
    return(formula_rows(model, kind, formula_arguments(front), settings))
  }
  if (eval(quote(missing(y)), front)) {
    bk_abort(
      "response", "The response `y` is missing.",
      "Give one value for each row of `x`: labels of classes, or numbers.", column = "y"
    )
  }
  if (inherits(front$y, "formula")) {
    bk_abort(
      "argument", "The formula comes first, the data second.",
      fit_header("Write %s.", sprintf("%s(%s, data)", model$name, deparse1(front$y))),
      column = "y", found = front$y
    )
  }
  given <- list(
    x = front$x, y = one_column(front$y), weights = front$weights, offset = front$offset,
    na.action = front$na.action
  )
  if (!is.null(facts$read)) {
    facts$read(model, given, kind, settings)
  } else if (isTRUE(facts$kernel) && is_precomputed(settings$kernel)) {
    kernel_matrix_rows(given, kind)
  } else if (facts$linear) {
    linear_matrix_rows(given, settings, kind)
  } else {
    predictor_rows(model, given, kind, settings)
  }
}

# A row source, as `x` or as the data of a formula, and the `formula` whose terms are read of it;
# NULL: none was given.
given_source <- function(model, front) {
  of_data <- "data" %in% ls(front) && !eval(quote(missing(data)), front)
  source <- if (of_data) tryCatch(front$data, error = refuse_data) else front$x
  if (!inherits(source, "row_source")) return(NULL)
  reader <- get0(paste0(model$name, ".row_source"), topenv())
  if (is.null(reader)) {
    bk_abort(
      "argument", sprintf("%s() reads no row source.", model$name),
      "Give the rows as a data frame, or use bkm(), bsvm() or gpsvm().",
      column = if (of_data) "data" else "x"
    )
  }
  known <- names(formals(reader))
  alien <- if (of_data) setdiff(changed_arguments(model, front), c(known, "data", "formula"))
  if (length(alien)) {
    bk_abort(
      "argument", sprintf("`%s` is not for rows in a source.", alien[1]),
      "Give the rows as a data frame, or leave the argument out.", column = alien[1]
    )
  }
  source <- source_with_response(check_source(source), front$formula)
  if (!of_data || "formula" %in% known) return(list(source = source, formula = front$formula))
  layout <- source_layout(front$formula, source)
  if (length(c(layout$parsed$smooths, layout$parsed$bars))) {
    bk_abort(
      "argument",
      sprintf("For rows in a source the formula of %s() has names of columns alone.", model$name),
      sprintf("%s reads gp() and (1 | g) of a row source.", reader_of_terms(model)),
      column = "formula"
    )
  }
  if (model$rows$linear && attr(layout$parsed$terms, "intercept") == 0L) {
    bk_abort(
      "argument", sprintf("For rows in a source %s() has an intercept.", model$name),
      sprintf("%s reads a formula without one.", reader_of_terms(model)), column = "formula"
    )
  }
  source$columns <- layout$columns
  list(source = source)
}

refuse_data <- function(e) {
  if (inherits(e, "bayeskernel_error")) stop(e)
  bk_abort(
    "argument", "Argument `data` cannot be computed.", conditionMessage(e),
    "If they were removed after the fit: update(fit, data = ).", column = "data"
  )
}

reader_of_terms <- function(model) {
  if (model$rows$linear) "bkm(family = \"hinge\")" else "bkm()"
}

# Arguments of a formula method that are not as its defaults are.
changed_arguments <- function(model, front) {
  defaults <- formals(get(paste0(model$name, ".formula"), topenv()))
  Filter(function(name) {
    default <- defaults[name]
    # Without a default; such a thing cannot be given a name of its own.
    open <- identical(unname(default), list(quote(expr = ))) # nolint
    !eval(call("missing", as.name(name)), front) &&
      (open || !identical(get(name, front), eval(default[[1]], topenv())))
  }, ls(front))
}

# Arguments of a formula method: `weights`, `subset` and `offset` as they were typed, for they mean
# columns of the data.
formula_arguments <- function(front) {
  typed <- function(name) {
    there <- name %in% ls(front) && !eval(call("missing", as.name(name)), front)
    if (there) eval(call("substitute", as.name(name)), front)
  }
  formula <- front$formula
  list(
    formula = formula, weights = typed("weights"), subset = typed("subset"),
    offset = typed("offset"), na.action = front$na.action,
    data = if (eval(quote(missing(data)), front)) environment(formula) else front$data
  )
}

formula_rows <- function(model, kind, given, settings) {
  linear <- model$rows$linear
  penalty <- settings$penalty
  out <- bsvm_design(
    given$formula, given$data,
    weights = given$weights, subset = given$subset, offset = given$offset,
    na.action = given$na.action, kind = kind,
    standardize = linear && settings$standardize,
    # A vague prior cannot tell columns apart that are combinations of others; a penalty can.
    drop_aliased = if (!linear) {
      FALSE
    } else if (!is.null(penalty)) {
      identical(penalty, "none")
    },
    missing = if (!linear) "refuse" else settings$missing %||% "fail",
    indicators = if (linear) settings$select %||% FALSE else TRUE,
    cov = settings$cov
  )
  if (linear) out else predictors_of_design(model, out, settings)
}

linear_matrix_rows <- function(given, settings, kind) {
  design_from_matrix(
    given$x, given$y, weights = given$weights, offset = given$offset,
    standardize = settings$standardize, na.action = given$na.action,
    drop_aliased = if (!is.null(settings$penalty)) identical(settings$penalty, "none"),
    missing = settings$missing %||% "fail",
    indicators = settings$select %||% FALSE, kind = kind
  )
}

# Predictors that a kernel combines -------------------------------------------

# Of a design from a formula: its columns but the intercept. Without an intercept it keeps
# constants, of which a kernel can make nothing.
predictors_of_design <- function(model, design, settings) {
  intercepts <- isTRUE(model$rows$intercepts)
  refuse_linear_terms(design, model$name, intercepts)
  used <- setdiff(seq_len(ncol(design$x)), if (has_intercept(design)) 1L)
  if (length(used) == 0L) abort_no_columns()
  x <- design$x[, used, drop = FALSE]
  storage.mode(x) <- "double"
  counted <- isTRUE(design$counted)
  copies <- rows_counted(model, design$weights, counted, settings)
  out <- place_predictors(x, block_moments(x), settings, copies)
  out$counted <- counted
  out$column_terms <- design$term_labels[design$assign[used][out$data$source]]
  out$used <- used[out$data$source]
  out$dropped <- c(design$dropped, out$dropped)
  out$weights <- kept_weights(design$weights)
  if (intercepts && length(design$random)) out$random <- design$random
  c(out, design[c(
    "y", "levels", "declared", "n", "info", "response", "formula", "terms", "xlevels", "contrasts",
    "na.action", "rows", "zero", "frame", "units"
  )])
}

# Models whose kernels combine the predictors know no other terms, but for random `intercepts` in
# some.
refuse_linear_terms <- function(design, model, intercepts) {
  slopes <- Filter(function(term) {
    !intercepts || !identical(term$columns, "(Intercept)")
  }, design$random)
  found <- c(
    if (length(slopes)) {
      if (intercepts) "random slopes" else "random terms"
    },
    if (length(design$smooths)) "smooth terms", if (any(design$offset != 0)) "an offset"
  )
  if (length(found)) {
    bk_abort(
      "argument", sprintf("The formula has terms that %s() does not know.", model),
      sprintf("Found: %s.", paste(found, collapse = " and ")),
      sprintf(
        "Accepted: predictors, which the kernel combines%s.",
        if (intercepts) ", and random intercepts, (1 | g)" else ""
      ),
      paste(
        "With such terms: bkm(), whose gp() terms are curves, of two classes",
        "or numbers; linear: bsvm()."
      ),
      if (length(design$random) && model == "gpsvm") {
        paste(
          "Groups can be a predictor, too: `y ~ x + g` with kernel =",
          "rbf(columns = \"x\") + categorical(columns = \"g\")."
        )
      },
      column = "formula", found = found
    )
  }
}

# Which columns vary, and their centres and scales.
place_predictors <- function(x, moments, settings, copies = NULL) {
  moments <- counted_moments(x, moments, copies)
  constant <- constant_columns(moments)
  names <- colnames(x)
  if (any(constant)) warn_dropped(names[constant], character())
  keep <- which(!constant)
  if (length(keep) == 0L) abort_no_columns()
  moved <- settings$standardize %||% TRUE
  places <- list(
    center = if (moved) moments$mean[keep] else numeric(length(keep)),
    scale = if (moved) moments$sd[keep] else rep(1, length(keep))
  )
  if (moved && is.matrix(x)) {
    places <- robust_places(
      x[, keep, drop = FALSE], places$center, places$scale, copies
    )
  }
  list(
    data = list(type = "matrix", x = x, source = keep), columns = names[keep],
    center = stats::setNames(places$center, names[keep]),
    scale = stats::setNames(places$scale, names[keep]), dropped = names[constant]
  )
}

# Of a matrix, a data frame or a sparse matrix.
predictor_rows <- function(model, given, kind, settings) {
  check_row_numbers(given$weights, "weights")
  counted <- spread_counts(given$y, "y", NROW(given$x), kind, given$weights)
  if (!is.null(counted)) {
    given$x <- given$x[counted$at, , drop = FALSE]
    given[c("y", "weights")] <- counted[c("y", "weights")]
    given$counted <- TRUE
  }
  x <- given$x
  if (inherits(x, "kernelMatrix") && !is_precomputed(settings$kernel)) {
    bk_abort(
      "kernel", "A kernel matrix is given as predictors.",
      "Use gpsvm(x, y, kernel = precomputed()).", column = "x"
    )
  }
  if (isTRUE(model$rows$sparse) && is_sparse(x)) return(sparse_rows(model, given, kind, settings))
  check_predictors(x)
  columns <- predictor_names(x)
  named <- !is.null(colnames(x))
  if (is.data.frame(x)) {
    names(x) <- columns
    # Predictors that are not all numbers go the way of a formula.
    if (!all(vapply(x, is_plain_number, NA))) {
      warn_frame_response(x, given$y)
      given[c("formula", "data")] <- frame_with_response(x, given$y)
      out <- formula_rows(model, kind, given, settings)
      out["formula"] <- out["terms"] <- list(NULL)
      return(out)
    }
    x <- do.call(cbind, unclass(x))
  }
  if (storage.mode(x) != "double") storage.mode(x) <- "double"
  if (nrow(x) < 2L) abort_too_few_rows(nrow(x))
  check_given_rows(given, nrow(x), kind)
  moments <- block_moments(x)
  usable <- usable_rows(frame_of_gaps(x, columns, moments, given), NULL, given$na.action)
  y <- given$y
  weights <- given$weights
  if (!is.null(usable$keep)) {
    x <- x[usable$keep, , drop = FALSE]
    y <- y[usable$keep]
    weights <- weights[usable$keep]
    moments <- block_moments(x)
  }
  check_columns(moments, x, columns, usable$keep)
  response <- read_response(y, "y", kind, usable$keep)
  if (!identical(colnames(x), columns)) colnames(x) <- columns
  warn_response_column(x, response)
  out <- place_predictors(
    x, moments, settings, rows_counted(model, weights, !is.null(counted), settings)
  )
  out$counted <- !is.null(counted)
  c(out, response, list(
    n = nrow(x), used = seq_along(out$data$source) + 1L, response = "y",
    info = matrix_info(columns, named, out$data$source, moments$mean),
    weights = kept_weights(weights), na.action = usable$na.action,
    rows = original_rows(usable$keep, counted$at), frame = list(x = x, y = y),
    zero = unique(original_rows(usable$zero, counted$at)),
    units = if (!is.null(counted)) {
      rows <- usable$keep %||% seq_along(y)
      units_of(original_rows(rows, counted$at), counted$each[rows])
    }
  ))
}

# Only what may have missing values: columns of which some are.
frame_of_gaps <- function(x, columns, moments, given) {
  gaps <- which(moments$missing > 0)
  list2DF(c(
    list(y = given$y), stats::setNames(lapply(gaps, function(j) x[, j]), columns[gaps]),
    if (!is.null(given$weights)) list("(weights)" = given$weights)
  ))
}

# Labels of a right kind, a label and a weight a row.
check_given_rows <- function(given, n, kind) {
  if (kind != "gaussian") {
    refuse_label_type(given$y, "y", response_kinds[[kind]])
  } else if (length(dim(given$y)) > 1L) {
    read_response(given$y, "y", kind)
  }
  for (name in c("y", "weights")) {
    found <- length(given[[name]])
    if (!is.null(given[[name]]) && found != n) abort_length(name, found, n)
  }
}

# How often each row counts where weights are repeated rows, else NULL: weights of noise are not.
rows_counted <- function(model, weights, counted, settings) {
  if (isTRUE(model$rows$noise_weights) && identical(settings$family, "gaussian")) return(NULL)
  several_copies(weights, counted)
}

# Weights that are all 1 cost nothing.
kept_weights <- function(weights) {
  if (!is.null(weights) && any(weights != 1)) as.double(weights)
}

# Rows of a sparse matrix are put together when they are read; centring costs no memory.
sparse_rows <- function(model, given, kind, settings) {
  x <- given$x
  n <- nrow(x)
  if (n < 2L) abort_too_few_rows(n)
  check_given_rows(given, n, kind)
  check_weights(given$weights, NULL)
  if (any(given$weights == 0)) {
    used <- given$weights > 0
    given$x <- x[used, , drop = FALSE]
    given$y <- given$y[used]
    given$weights <- given$weights[used]
    out <- sparse_rows(model, given, kind, settings)
    return(c(out, list(rows = which(used), zero = which(!used))))
  }
  named <- !is.null(colnames(x))
  columns <- if (named) colnames(x) else paste0("x", seq_len(ncol(x)))
  wide <- methods::as(methods::as(Matrix::t(x), "dMatrix"), "generalMatrix")
  wide <- methods::as(wide, "CsparseMatrix")
  refuse_sparse_gaps(wide, columns)
  response <- read_response(given$y, "y", kind)
  copies <- rows_counted(model, given$weights, given$counted, settings)
  moments <- sparse_moments(wide, copies %||% rep(1, n))
  holder <- matrix(0, 0L, length(columns), dimnames = list(NULL, columns))
  out <- place_predictors(holder, moments, settings)
  out$data <- list(
    type = "sparse", begin = wide@p, column = wide@i, value = wide@x,
    columns = length(columns), source = out$data$source
  )
  c(out, response, list(
    n = n, used = seq_along(out$data$source) + 1L, response = "y",
    info = matrix_info(columns, named, out$data$source),
    weights = kept_weights(given$weights), counted = given$counted
  ))
}

sparse_moments <- function(wide, copies) {
  total <- sum(copies)
  mean <- as.vector(wide %*% copies) / total
  squares <- wide
  squares@x <- wide@x^2
  variance <- (as.vector(squares %*% copies) - total * mean^2) / (total - 1)
  # Rounding leaves something of the variance of a constant.
  variance[variance <= 1e-20 * mean^2] <- 0
  list(mean = mean, sd = sqrt(variance), min = -(variance > 0), max = variance)
}

refuse_sparse_gaps <- function(wide, columns) {
  at <- which(!is.finite(wide@x))
  if (length(at)) {
    row <- findInterval(at[1] - 1, wide@p)
    abort_missing(
      stats::setNames(1L, columns[wide@i[at[1]] + 1L]), row,
      what = "Predictor", cure = "Leave such rows out, or impute them."
    )
  }
}

# A kernel matrix: its rows are those of K and the diagonal.
kernel_matrix_rows <- function(given, kind) {
  check_row_numbers(given$weights, "weights")
  given$x <- square_by_name(given$x)
  k <- kernel_matrix(precomputed(), given$x)
  n <- nrow(k)
  if (n <= largest_exact) check_gram(k)
  check_given_rows(given, n, kind)
  objects <- object_names(given$x, TRUE)
  for (name in c("y", "weights")) {
    given[[name]] <- take_objects(given[[name]], match_objects(
      object_names(given[[name]]), objects, sprintf("`%s`", name), "`x`"
    ))
  }
  dimnames(k) <- NULL
  check_weights(given$weights, NULL)
  columns <- c(paste0("k", seq_len(n)), "diagonal")
  c(read_response(given$y, "y", kind), list(
    data = list(type = "matrix", x = cbind(k, diag(k)), source = seq_len(n + 1L)), n = n,
    columns = columns, center = stats::setNames(numeric(n + 1L), columns),
    scale = stats::setNames(rep(1, n + 1L), columns),
    info = list(
      type = "kernel", rows = n, diagonal = mean(diag(k)),
      varies = diff(range(diag(k))) > 1e-6 * max(diag(k)), objects = objects
    ),
    response = "y", weights = kept_weights(given$weights), frame = list(x = k, y = given$y)
  ))
}

# Row sources -----------------------------------------------------------------

# The source is read once, into a temporary file.
source_rows <- function(model, source, settings, formula) {
  apart <- identical(source$type, "cluster")
  methods <- model$rows$source
  if (apart && length(methods)) methods <- c("ep", "vb", "svi")
  if (!all(settings$method %in% methods)) {
    abort_argument(
      settings$method, "method",
      paste(
        if (apart) "for rows of a cluster" else "for a row source",
        paste(quoted(methods), collapse = " or ")
      )
    )
  }
  path <- tempfile("bayeskernel-rows-")
  release <- function() {
    if (apart) close_workers(source$cluster, basename(path), part_close) else unlink(path)
  }
  linear <- model$rows$linear
  text <- source$type == "text" || isTRUE(source$text)
  layout <- if (!is.null(formula)) source_layout(formula, source)
  if (!is.null(layout)) {
    source$columns <- layout$columns
    source$raw <- layout$group
  }
  if (apart) refuse_beside_cluster(layout$group, settings)
  aliased <- identical(settings$penalty, "none") || (is.null(settings$penalty) && !is.null(layout))
  done <- FALSE
  on.exit(if (!done) release())
  spool <- if (apart) spool_parts else spool_rows
  file <- spool(
    source, path, settings$standardize,
    linear && aliased, settings$progress,
    if (model$rows$response(settings) == "number") {
      number_coder(source$response, text)
    } else {
      label_coder(source$response, text, if (model$name == "bkm") "file_any" else "file")
    }, layout$plain %||% length(source$columns)
  )
  # Its first column is an intercept.
  at <- if (linear) seq_along(file$source) else seq_along(file$source)[-1]
  if (length(at) == 0L) abort_no_columns()
  columns <- file$names[at]
  keep <- file$source[-1]
  common <- list(
    n = file$rows, levels = file$levels, declared = file$declared, share = file$share,
    y_sd = file$y_sd, y_mean = file$y_mean, spread = source_spread(file),
    dropped = file$dropped, response = source$response, release = release
  )
  if (!is.null(layout)) {
    if (attr(layout$parsed$terms, "intercept") == 0L) {
      file[c("source", "names", "center", "scale")] <-
        lapply(file[c("source", "names", "center", "scale")], `[`, -1L)
      file$center[] <- 0
      common$spread <- lapply(common$spread, `[`, -1L)
    }
    out <- source_term_rows(source, layout, file, settings)
    done <- TRUE
    return(c(out, common))
  }
  done <- TRUE
  c(common, list(
    data = c(
      list(type = "file"), file[stored_rows(file)],
      list(source = file$source[at], center = file$center[at], scale = file$scale[at])
    ),
    columns = columns, center = stats::setNames(file$center[at], columns),
    scale = stats::setNames(file$scale[at], columns),
    info = matrix_info(source$columns, TRUE, keep), used = seq_along(keep) + 1L
  ))
}

# What the core reads of a file by spool_rows(); `shares`, where workers have it.
stored_rows <- function(file) {
  intersect(c("path", "rows", "columns", "positive", "shares"), names(file))
}

# The same of rows in a file, of which there are moments. A column from 0 to 1 whose variance is m
# (1 - m), m its mean, is a dummy.
source_spread <- function(file) {
  keep <- file$source[-1L]
  moments <- lapply(file$moments[c("mean", "sd", "min", "max")], `[`, keep)
  m <- moments$mean
  binary <- moments$min == 0 & moments$max == 1 & abs(
    moments$sd^2 * (file$rows - 1) / file$rows - m * (1 - m)
  ) < 1e-9
  share <- pmax(pmin(m, 1 - m), rare_share)
  sd <- ifelse(binary, pmax(moments$sd, sqrt(share * (1 - share))), moments$sd)
  list(mean = c(0, m), sd = c(1, sd))
}

# A dummy of a smaller share of the rows has the prior of one of this share. Its own standard
# deviation goes to 0 with its share, and the prior of its coefficient would grow with the number of
# rows.
rare_share <- 0.01

largest_exact <- 5000L
