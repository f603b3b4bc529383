# Kernel objects: what users write, what it is called, and the way to the core.
# A kernel is a list with `kind` and, for a leaf, its parameters, for a sum or
# a product its `children`.

#' Kernels
#'
#' Kernels (covariance functions) of the models of this package, as objects
#' that can be added, multiplied and scaled.
#'
#' @details
#' With d the Euclidean distance of two rows x and z, x'z their inner product,
#' l the length-scale and v the variance,
#'
#' | object | k(x, z) |
#' |---|---|
#' | `rbf(l, v)` | `v * exp(-d^2 / (2 * l^2))` |
#' | `rbf(c(l1, l2, ...), v)` | `v * exp(-sum((x - z)^2 / l^2) / 2)` |
#' | `linear(v)` | `v * x'z` |
#' | `polynomial(degree, offset, v)` | `v * (x'z + offset)^degree` |
#' | `precomputed()` | the data are the kernel matrix |
#' | `k1 + k2`, `k1 * k2` | sum and product of kernels |
#' | `3 * k` | `k` with 3 times the variance |
#'
#' Papers and other packages write the first of them in their own way:
#'
#' | source | writes | here |
#' |---|---|---|
#' | Wenzel et al. (2017) | `exp(-d^2 / theta^2)` | `rbf(theta / sqrt(2))` |
#' | kernlab, e1071 | `exp(-gamma * d^2)` | `rbf(1 / sqrt(2 * gamma))` |
#' | by column | `exp(-sum(t * (x - z)^2))` | `rbf(1 / sqrt(2 * t))` |
#'
#' Models standardise their predictors unless told otherwise; length-scales
#' then mean the standardised predictors.
#'
#' @param lengthscale Positive number: the distance, in units of the
#'   predictors, over which the kernel falls from 1 to `exp(-1/2)`; or a vector
#'   with one for each column, in their order. `NULL` (default) is the model's
#'   own choice, in [gpsvm()] and [kernel_matrix()] the median distance between
#'   rows, of which at most 1000 are looked at.
#' @param variance Positive number, the scale of the kernel: for `rbf()`, the
#'   variance of the function at every point. Default 1.
#' @param ard `TRUE` gives each column a length-scale of its own, all starting
#'   from `lengthscale` (automatic relevance determination: models that learn
#'   their kernel learn which columns matter). Default `FALSE`; a vector of
#'   length-scales implies `TRUE`.
#' @param degree Whole number of at least 1, default 2.
#' @param offset Number of at least 0, default 1: how much the terms below
#'   `degree` count.
#' @param e1,e2 Kernels; for `*`, one may be a positive number.
#' @param x A kernel.
#' @param ... Unused.
#' @return An object of class `bayeskernel_kernel`, a plain list.
#' @section Errors: `bayeskernel_error_kernel` for a parameter that is out of
#'   range and for combinations that are no kernel. A negative `offset` is
#'   refused because its matrices would not be positive semidefinite.
#' @references Wenzel, F., Galy-Fajou, T., Deutsch, M. and Kloft, M. (2017).
#'   Bayesian nonlinear support vector machines for big data. *ECML PKDD*.
#' @seealso [kernel_matrix()], [kernel_parameters()]
#' @examples
#' rbf(lengthscale = 2)
#' rbf(c(age = 10, income = 2), variance = 4) + 0.1 * linear()
#' @name kernels
NULL

#' @rdname kernels
#' @export
rbf <- function(lengthscale = NULL, variance = 1, ard = FALSE) {
  lengthscale <- check_lengthscale(lengthscale)
  new_kernel(
    "rbf",
    lengthscale = lengthscale, variance = check_variance(variance),
    ard = check_flag(ard) || length(lengthscale) > 1L
  )
}

#' @rdname kernels
#' @export
linear <- function(variance = 1) {
  new_kernel("linear", variance = check_variance(variance))
}

#' @rdname kernels
#' @export
polynomial <- function(degree = 2, offset = 1, variance = 1) {
  new_kernel(
    "polynomial",
    degree = check_count(degree, kind = "kernel"),
    offset = check_number(offset, 0, kind = "kernel"),
    variance = check_variance(variance)
  )
}

#' @rdname kernels
#' @export
precomputed <- function() new_kernel("precomputed")

new_kernel <- function(kind, ...) {
  structure(list(kind = kind, ...), class = "bayeskernel_kernel")
}

check_variance <- function(variance, call = user_call()) {
  check_number(
    variance, 0,
    name = "variance", closed = c(FALSE, TRUE), kind = "kernel", call = call
  )
}

check_lengthscale <- function(x, call = user_call()) {
  if (!is_lengthscale(x)) {
    abort_argument(
      x, "lengthscale",
      "NULL, a positive number, or a positive number for each column",
      kind = "kernel", call = call
    )
  }
  if (!is.null(x)) storage.mode(x) <- "double"
  x
}

is_lengthscale <- function(x) {
  is.null(x) || (is.numeric(x) && is.null(dim(x)) && length(x) > 0L &&
    all(is.finite(x) & x > 0))
}

is_kernel <- function(x) inherits(x, "bayeskernel_kernel")

is_precomputed <- function(kernel) kernel$kind == "precomputed"

# Combination ------------------------------------------------------------------

#' @rdname kernels
#' @export
Ops.bayeskernel_kernel <- function(e1, e2) {
  call <- if (missing(e2)) {
    call(.Generic, substitute(e1))
  } else {
    short_call(call(.Generic, substitute(e1), substitute(e2)))
  }
  if (!missing(e2) && .Generic %in% c("+", "*")) {
    for (e in list(e1, e2)) if (is_kernel(e)) check_kernel(e, call = call)
    if (is_kernel(e1) && is_kernel(e2)) {
      return(combine_kernels(.Generic, list(e1, e2), call))
    }
    number <- if (is_kernel(e1)) e2 else e1
    if (.Generic == "*" && is_finite_scalar(number) && number > 0) {
      return(scale_kernel(if (is_kernel(e1)) e1 else e2, number, call))
    }
  }
  bk_abort(
    "kernel", "This is no operation on kernels.",
    c(
      paste("Found:", describe_operation(.Generic, e1, if (!missing(e2)) e2)),
      "Accepted: kernel + kernel, kernel * kernel, positive number * kernel"
    ),
    column = .Generic, call = call
  )
}

describe_operation <- function(operator, left, right) {
  side <- function(x) if (is_kernel(x)) "kernel" else describe_value(x)
  if (is.null(right)) {
    paste(operator, side(left))
  } else {
    paste(side(left), operator, side(right))
  }
}

# Sums of sums and products of products become one.
combine_kernels <- function(operator, kernels, call) {
  kind <- if (operator == "+") "sum" else "product"
  for (kernel in kernels) refuse_precomputed(kernel, call)
  children <- lapply(kernels, function(kernel) {
    if (kernel$kind == kind) kernel$children else list(kernel)
  })
  new_kernel(kind, children = unlist(children, recursive = FALSE))
}

scale_kernel <- function(kernel, factor, call) {
  refuse_precomputed(kernel, call)
  if (kernel$kind == "sum") {
    kernel$children <- lapply(kernel$children, scale_kernel, factor, call)
  } else if (kernel$kind == "product") {
    kernel$children[[1]] <- scale_kernel(kernel$children[[1]], factor, call)
  } else {
    kernel$variance <- check_variance(kernel$variance * factor, call)
  }
  kernel
}

refuse_precomputed <- function(kernel, call) {
  if (!is_precomputed(kernel)) {
    return(invisible(kernel))
  }
  bk_abort(
    "kernel", "precomputed() cannot be part of another kernel.",
    paste(
      "Accepted: sums, products and multiples of the matrices themselves, with",
      "precomputed() as the kernel."
    ),
    found = "precomputed", call = call
  )
}

map_leaves <- function(kernel, f) {
  if (is.null(kernel$children)) {
    return(f(kernel))
  }
  kernel$children <- lapply(kernel$children, map_leaves, f)
  kernel
}

kernel_leaves <- function(kernel) {
  if (is.null(kernel$children)) {
    return(list(kernel))
  }
  unlist(lapply(kernel$children, kernel_leaves), recursive = FALSE)
}

# Text -------------------------------------------------------------------------

#' @rdname kernels
#' @export
format.bayeskernel_kernel <- function(x, ...) {
  check_kernel(x, "x")
  if (x$kind == "sum") {
    return(paste(vapply(x$children, format, ""), collapse = " + "))
  }
  if (x$kind == "product") {
    parts <- vapply(x$children, function(child) {
      text <- format(child)
      if (child$kind == "sum") paste0("(", text, ")") else text
    }, "")
    return(paste(parts, collapse = " * "))
  }
  arguments <- switch(x$kind,
    rbf = c(
      lengthscale = format_lengthscale(x$lengthscale),
      variance = format_each(x$variance),
      ard = if (x$ard && length(x$lengthscale) < 2L) "TRUE"
    ),
    linear = c(variance = format_each(x$variance)),
    polynomial = c(
      degree = format_each(x$degree), offset = format_each(x$offset),
      variance = format_each(x$variance)
    ),
    precomputed = character()
  )
  sprintf(
    "%s(%s)", x$kind, paste(names(arguments), arguments,
      sep = " = ", collapse = ", "
    )
  )
}

# Of many length-scales of named columns those that matter most, the shortest,
# come first.
format_lengthscale <- function(lengthscale, most = 6L) {
  if (is.null(lengthscale)) {
    return("NULL")
  }
  if (length(lengthscale) == 1L) {
    return(format_each(unname(lengthscale)))
  }
  named <- !is.null(names(lengthscale))
  rest <- length(lengthscale) - most
  if (rest > 0L && named) lengthscale <- sort(lengthscale)
  shown <- utils::head(lengthscale, most)
  text <- vapply(unname(shown), format, "", digits = 4)
  if (named) text <- paste(names(shown), "=", text)
  if (rest > 0L) {
    text <- c(text, sprintf("... %d %s", rest, if (named) "longer" else "more"))
  }
  sprintf("c(%s)", paste(text, collapse = ", "))
}

#' @rdname kernels
#' @export
print.bayeskernel_kernel <- function(x, ...) {
  leaves <- kernel_leaves(x)
  formulas <- vapply(leaves, kernel_formula, "")
  names(formulas) <- vapply(leaves, `[[`, "", "kind")
  formulas <- formulas[!duplicated(formulas)]
  print_facts(c(Kernel = format(x), formulas))
  invisible(x)
}

kernel_formula <- function(leaf) {
  switch(leaf$kind,
    rbf = if (leaf$ard) {
      "variance * exp(-sum((x - z)^2 / lengthscale^2) / 2)"
    } else {
      "variance * exp(-|x - z|^2 / (2 * lengthscale^2))"
    },
    linear = "variance * x'z",
    polynomial = "variance * (x'z + offset)^degree",
    precomputed = "the data are the kernel matrix"
  )
}

# Parameters -------------------------------------------------------------------

#' Parameters of a kernel
#'
#' @param kernel A kernel, see [kernels], or a fit that has one, of [gpsvm()].
#' @return Named numeric vector of the variances and length-scales, on their
#'   own scale, from left to right: `variance`, `lengthscale`, or
#'   `lengthscale.1`, ... (by the names of the length-scales if they have any)
#'   where each column has its own. With several terms each name starts with
#'   its term, such as `rbf.variance`, or `rbf1.` and `rbf2.` where there are
#'   two of a kind. `NA` for a length-scale that the model is to choose. Empty
#'   for `precomputed()`.
#' @section Errors: `bayeskernel_error_kernel` if `kernel` is not a kernel.
#' @examples
#' kernel_parameters(rbf(2) + linear(0.5))
#' @export
kernel_parameters <- function(kernel) {
  if (inherits(kernel, "bayeskernel_fit")) kernel <- fitted_kernel(kernel)
  check_kernel(kernel)
  leaves <- kernel_leaves(kernel)
  kinds <- vapply(leaves, `[[`, "", "kind")
  several <- kinds %in% kinds[duplicated(kinds)]
  number <- stats::ave(seq_along(kinds), kinds, FUN = seq_along)
  prefix <- paste0(kinds, ifelse(several, number, ""), ".")
  if (length(leaves) == 1L) prefix <- ""
  unlist(Map(function(leaf, prefix) {
    values <- leaf_parameters(leaf)
    stats::setNames(values, paste0(prefix, recycle0 = TRUE, names(values)))
  }, leaves, prefix, USE.NAMES = FALSE))
}

fitted_kernel <- function(fit) {
  if (is.null(fit$kernel)) {
    bk_abort(
      "kernel", sprintf("A fit of %s() has no kernel.", class(fit)[1]),
      "Accepted: a kernel, or a fit of gpsvm().",
      column = "kernel", found = class(fit)
    )
  }
  fit$kernel
}

leaf_parameters <- function(leaf) {
  ell <- leaf$lengthscale
  if (is_precomputed(leaf)) {
    return(stats::setNames(numeric(), character()))
  }
  if (leaf$kind != "rbf") {
    return(c(variance = leaf$variance))
  }
  if (length(ell) > 1L) {
    own <- if (is.null(names(ell))) seq_along(ell) else names(ell)
    names(ell) <- paste0("lengthscale.", own)
  } else {
    ell <- c(lengthscale = if (is.null(ell)) NA_real_ else ell[[1]])
  }
  c(variance = leaf$variance, ell)
}

check_kernel <- function(kernel, name = "kernel", call = user_call()) {
  if (!is_kernel(kernel) || !is_whole_kernel(kernel)) {
    abort_argument(
      kernel, name, "a kernel object, such as rbf(), as it was made",
      kind = "kernel", call = call
    )
  }
  kernel
}

# What the functions above make, which someone may have changed since.
is_whole_kernel <- function(kernel) {
  positive <- function(x) is_finite_scalar(x) && x > 0
  number <- function(x) is_finite_scalar(x) && x >= 0
  is.list(kernel) && is_string(kernel$kind) && switch(kernel$kind,
    rbf = positive(kernel$variance) && is_flag(kernel$ard) &&
      is_lengthscale(kernel$lengthscale),
    linear = positive(kernel$variance),
    polynomial = positive(kernel$variance) && number(kernel$offset) &&
      number(kernel$degree) && kernel$degree == trunc(kernel$degree),
    precomputed = TRUE,
    sum = , product = is.list(kernel$children) && length(kernel$children) > 0L &&
      all(vapply(kernel$children, is_whole_kernel, NA)),
    FALSE
  )
}

#' Fill in what a kernel leaves open
#'
#' @param median Length-scale where none is given; evaluated only then.
#' @param d Number of columns: with it, `ard` length-scales become as many.
#' @param columns Their names, or `NULL`.
#' @return The kernel, all of its parameters numbers.
#' @noRd
resolve_lengthscale <- function(kernel, median, d = NULL, columns = NULL,
                                call = user_call()) {
  map_leaves(kernel, function(leaf) {
    if (leaf$kind != "rbf") {
      return(leaf)
    }
    if (is.null(leaf$lengthscale)) leaf$lengthscale <- median
    if (!is.null(d)) {
      leaf$lengthscale <- column_lengthscales(leaf, d, call)
      if (leaf$ard && is.null(names(leaf$lengthscale))) {
        names(leaf$lengthscale) <- columns
      }
    }
    leaf
  })
}

column_lengthscales <- function(leaf, d, call) {
  ell <- leaf$lengthscale
  if (length(ell) == 1L) {
    return(if (leaf$ard) rep(unname(ell), d) else ell)
  }
  if (length(ell) != d) {
    bk_abort(
      "kernel", "The kernel's length-scales do not match the columns.",
      c(
        sprintf(
          "Found: %d length-scales for %d column%s.", length(ell), d,
          if (d == 1L) "" else "s"
        ),
        sprintf("Accepted: one length-scale for all columns, or %d.", d)
      ),
      column = "lengthscale", found = length(ell), expected = d, call = call
    )
  }
  ell
}

# The kernel with other parameters, in the order of kernel_parameters(); all
# must be numbers already.
update_kernel <- function(kernel, log_parameters) {
  at <- 0L
  take <- function(count) {
    at <<- at + count
    exp(unname(log_parameters)[at - count + seq_len(count)])
  }
  kernel <- map_leaves(kernel, function(leaf) {
    if (is_precomputed(leaf)) {
      return(leaf)
    }
    leaf$variance <- take(1L)
    if (leaf$kind == "rbf") leaf$lengthscale[] <- take(length(leaf$lengthscale))
    leaf
  })
  stopifnot(at == length(log_parameters))
  kernel
}

# What glue_kernel.h reads, for points of `d` columns. Length-scales must be
# known.
kernel_to_core <- function(kernel, d, call = user_call()) {
  kernel <- map_leaves(kernel, function(leaf) {
    if (leaf$kind == "rbf") {
      stopifnot(is.numeric(leaf$lengthscale))
      leaf$lengthscale <- unname(column_lengthscales(leaf, d, call))
    }
    leaf
  })
  unclass_tree(kernel)
}

unclass_tree <- function(kernel) {
  kernel <- unclass(kernel)
  if (!is.null(kernel$children)) {
    kernel$children <- lapply(kernel$children, unclass_tree)
  }
  kernel
}

# Matrices ---------------------------------------------------------------------

#' Kernel matrix
#'
#' @param kernel A kernel, see [kernels]. A length-scale that it leaves open is
#'   the median distance between rows of `x`, at most 1000 of them, evenly
#'   spaced.
#' @param x,z Numeric matrices, or data frames of numbers, with the same
#'   columns; finite, taken as they are (not standardised). `z` is `x` if not
#'   given. With `precomputed()`, `x` is the kernel matrix, square and
#'   symmetric, and there is no `z`.
#' @param threads Worker threads. The result does not depend on them.
#' @return Numeric matrix, `nrow(x)` by `nrow(z)`, of k(x_i, z_j), with the row
#'   names of `x` and `z` as dimnames if they have any. Exactly symmetric when
#'   `z` is not given.
#' @section Errors: `bayeskernel_error_kernel` for what is not a kernel, as many
#'   length-scales as there are not columns, and a precomputed matrix that is
#'   not symmetric; `bayeskernel_error_dimension` if `x` and `z` differ in their
#'   columns; `bayeskernel_error_missing` for values that are not finite;
#'   `bayeskernel_error_numeric` if k(x, z) is not; `bayeskernel_error_argument`
#'   for other input.
#' @examples
#' x <- matrix(rnorm(20), 10)
#' k <- kernel_matrix(rbf(lengthscale = 1), x, threads = 1)
#' all.equal(k, exp(-as.matrix(dist(x))^2 / 2), check.attributes = FALSE)
#' @export
kernel_matrix <- function(kernel, x, z = x,
                          threads = getOption("bayeskernel.threads", 2L)) {
  check_kernel(kernel)
  threads <- check_threads(threads)
  x <- check_points(x, "x")
  if (is_precomputed(kernel)) {
    return(check_precomputed(x, missing(z)))
  }
  z <- if (missing(z)) x else check_points(z, "z")
  d <- ncol(x)
  if (ncol(z) != d) {
    bk_abort(
      "dimension", "`x` and `z` do not have the same number of columns.",
      sprintf("Found: %d and %d.", d, ncol(z)),
      column = "z", found = ncol(z), expected = d
    )
  }
  points <- t(x)
  kernel <- resolve_lengthscale(kernel, median_distance_cpp(points))
  core <- core_call(kernel_matrix_cpp(
    kernel_to_core(kernel, d), points, t(z), threads
  ))
  values <- core$values
  if (!all(is.finite(range(values, 0)))) {
    bk_abort(
      "numeric", "Values of the kernel are beyond the range of numbers.",
      c(
        sprintf("Found: %s.", format(values[!is.finite(values)][1])),
        "Change the unit of the predictors, or the kernel's parameters."
      ),
      column = "x"
    )
  }
  if (!is.null(rownames(x)) || !is.null(rownames(z))) {
    dimnames(values) <- list(rownames(x), rownames(z))
  }
  values
}

check_points <- function(x, name, call = user_call()) {
  if (is.data.frame(x) && all(vapply(x, is_plain_number, NA))) {
    x <- as.matrix(x)
  }
  if (!is.matrix(x) || !(is.numeric(x) || is.logical(x))) {
    abort_argument(
      x, name, "a numeric matrix, or a data frame whose columns are numbers",
      call = call
    )
  }
  if (ncol(x) == 0L) {
    bk_abort(
      "dimension", sprintf("`%s` has no columns.", name),
      "Accepted: at least one column.",
      column = name, found = 0L, call = call
    )
  }
  storage.mode(x) <- "double"
  check_finite_points(x, name, call)
  x
}

check_finite_points <- function(x, name, call) {
  ends <- if (length(x)) range(x) else 0
  if (!anyNA(ends) && all(abs(ends) <= largest_magnitude)) {
    return(invisible(x))
  }
  bad <- !(abs(x) <= largest_magnitude) | is.na(x)
  at <- which(colSums(bad) > 0)
  columns <- colnames(x)[at]
  if (is.null(columns)) columns <- sprintf("%s[, %d]", name, at)
  infinite <- any(!is.na(x[bad]))
  abort_missing(
    stats::setNames(colSums(bad[, at, drop = FALSE]), columns),
    apply(bad[, at, drop = FALSE], 2, which.max),
    what = if (length(at) > 1L) "Columns" else "Column",
    values = value_problem(anyNA(x[bad]), infinite),
    call = call, cure = "Leave such rows out, or impute them."
  )
}

check_precomputed <- function(x, alone, call = user_call()) {
  if (!alone) {
    bk_abort(
      "argument", "A precomputed kernel matrix has no `z`.",
      "Accepted: kernel_matrix(precomputed(), x) with x the kernel matrix.",
      column = "z", call = call
    )
  }
  if (nrow(x) != ncol(x)) {
    bk_abort(
      "dimension", "A precomputed kernel matrix must be square.",
      sprintf("Found: %d rows and %d columns.", nrow(x), ncol(x)),
      column = "x", found = dim(x), call = call
    )
  }
  if (!isSymmetric(unname(x))) {
    gap <- abs(x - t(x))
    at <- arrayInd(which.max(gap), dim(x))
    bk_abort(
      "kernel", "A precomputed kernel matrix must be symmetric.",
      c(
        sprintf(
          "Found: %s in row %d, column %d, and %s across the diagonal.",
          format(x[at]), at[1], at[2], format(x[at[2], at[1]])
        ),
        "Accepted: k[i, j] = k[j, i], such as (k + t(k)) / 2."
      ),
      column = "x", row = at[1], found = x[at], expected = x[at[2], at[1]],
      call = call
    )
  }
  x
}
