# Kernel objects: what users write, what it is called, and the way to the core. A kernel is a list
# with `kind` and, for a leaf, its parameters, for a sum or a product its `children`.

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
#' | `rbf(variance = v, rank = r)` | `v * exp(-sum((A %*% (x - z))^2) / 2)`, A learned, of r rows |
#' | `matern(1/2, l, v)` | `v * exp(-d / l)` |
#' | `matern(3/2, l, v)` | `v * (1 + u) * exp(-u)`, `u = sqrt(3) * d / l` |
#' | `matern(5/2, l, v)` | the same with `1 + u + u^2 / 3`, `u = sqrt(5) * d / l` |
#' | `periodic(p, l, v)` | `v * exp(-2 * sum(sin(pi * (x - z) / p)^2) / l^2)` |
#' | `linear(v)` | `v * x'z`; alone in [gpsvm()] `v * (x'z + 1)` |
#' | `polynomial(degree, offset, v)` | `v * (x'z + offset)^degree` |
#' | `precomputed()` | the data are the kernel matrix |
#' | `categorical(v)` | `v` where all columns agree, else 0 |
#' | `basis(degree)` | none: the columns, or their products, are regressors |
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
#' Models standardize their predictors unless told otherwise; length-scales then mean the
#' standardized predictors. The period of `periodic()` is in units of the predictor as it was given.
#' Only [gpsvm()] tunes it, with the other parameters, from half to twice what is given; a
#' length-scale that is given, `periodic(12, 1)`, or `tune = FALSE` keeps both. Terms [gp()] and the
#' other models keep the period. Its length-scale has no unit: at 1 the kernel falls to `exp(-2)`
#' half a period away.
#'
#' With `rank` the columns are projected on a few directions that [gpsvm()] and terms [gp()] learn:
#' A has `rank` rows and a column for each of theirs. Where the response depends on few combinations
#' of many predictors that is more than a length-scale for each can say. A is known up to rotation;
#' it is given with orthogonal rows, the longest, along which the function varies most, first.
#'
#' With `columns` a kernel looks at some of the columns: `rbf(columns = c("lon",
#' "lat")) * periodic(12, columns = "month")`. Names are those of predictors,
#' also of a factor, which stands for all of its indicators; numbers count the
#' columns that were given or that the formula makes.
#'
#' `categorical()` compares codes, or the levels of a factor:
#' `rbf(columns = "time") * categorical(columns = "group")` has a function of time for each group,
#' `rbf() + categorical(columns = "group")` a random intercept. In [gpsvm()] its inducing points are
#' rows, of which every level should have some. In [mkprobit()] it also stands alone: a factor is a
#' space with a weight of its own.
#'
#' `basis()` is for [mkprobit()], and stands alone, as `precomputed()` does. It
#' takes the columns as they are, not standardized, `basis(2)` the quadratic
#' expansion 1, x_d, x_d x_e of standardized columns.
#'
#' @param lengthscale Positive number: the distance, in units of the predictors, over which `rbf()`
#'   falls from 1 to `exp(-1/2)`; or a vector with one for each column, in their order. `NULL`
#'   (default) is the model's own choice. In [gpsvm()] and [kernel_matrix()] this is the median
#'   distance between at most 1000 rows in the columns of the kernel. For
#'   `periodic()` one number, 1 if `NULL`.
#' @param variance Positive number, the scale of the kernel: for `rbf()`, `matern()`, `periodic()`
#'   and `categorical()` the variance of the function at every point. Default 1.
#' @param ard `TRUE` gives each column a length-scale of its own, all starting from `lengthscale`
#'   (automatic relevance determination: models that learn their kernel learn which columns matter).
#'   This overfits if there are few rows for each column; then `print()` warns of it.
#'   Default `FALSE`; a vector of length-scales implies `TRUE`.
#' @param columns Names or numbers of the columns that the kernel looks at;
#'   `NULL`, the default, for all.
#' @param rank Number of directions that the columns are projected on, at most as many as there are
#'   columns, instead of length-scales; `NULL`, the default, for none. The models that learn it are
#'   [gpsvm()] and [bkm()] with [gp()] terms.
#' @param nu Smoothness of the functions: 1/2 (continuous), 3/2 (the default:
#'   once differentiable) or 5/2 (twice).
#' @param period Positive number, default 1: the distance, in units of the
#'   predictor, after which the function repeats.
#' @param degree Whole number of at least 1, default 2; of `basis()` also
#'   `NULL`, the default: no products.
#' @param offset Number of at least 0, default 1: how much the terms below `degree` count.
#' @param e1,e2 Kernels, one of which may be a name; for `*`, one may be a positive number.
#' @param x A kernel.
#' @param ... Not used: what is not among these arguments is an error.
#' @return An object of class `bayeskernel_kernel`, a plain list.
#' @section Errors: `bayeskernel_error_kernel` for a parameter that is out of range, and for
#'   combinations that are no kernel. The model raises it for `columns` that it does not have. A
#'   negative `offset` is refused because its matrices would not be positive semidefinite.
#' @references Wenzel, F., Galy-Fajou, T., Deutsch, M. and Kloft, M. (2017).
#'   Bayesian nonlinear support vector machines for big data. *ECML PKDD*.
#' @seealso [kernel_matrix()], [kernel_parameters()]
#' @examples
#' rbf(lengthscale = 2)
#' rbf(c(age = 10, income = 2), variance = 4) + 0.1 * linear()
#' matern(5/2, columns = c("lon", "lat")) * periodic(12, columns = "month")
#'
#' # A function of your own: its matrix of the rows, and of new rows by those of the fit.
#' own <- function(a, b) 1 / (1 + outer(rowSums(a^2), rowSums(b^2), `+`) - 2 * a %*% t(b))
#' x <- scale(iris[51:150, 1:4])
#' old <- x[-1, ]
#' fit <- gpsvm(own(old, old), factor(iris$Species[52:150]), kernel = precomputed())
#' predict(fit, own(x[1, , drop = FALSE], old), type = "prob")
#' @name kernels
NULL

#' @rdname kernels
#' @export
rbf <- function(lengthscale = NULL, variance = 1, ard = FALSE, columns = NULL, rank = NULL, ...) {
  refuse_others(...)
  if (!is.null(rank)) refuse_scales(rank, lengthscale, ard)
  new_leaf(
    "rbf", lengthscale = lengthscale, rank = rank, variance = variance, ard = ard, columns = columns
  )
}

#' @rdname kernels
#' @export
matern <- function(nu = 3 / 2, lengthscale = NULL, variance = 1, ard = FALSE, columns = NULL, ...) {
  refuse_others(...)
  new_leaf(
    "matern", nu = nu, lengthscale = lengthscale, variance = variance, ard = ard, columns = columns
  )
}

#' @rdname kernels
#' @export
periodic <- function(period = 1, lengthscale = NULL, variance = 1, columns = NULL, ...) {
  refuse_others(...)
  new_leaf(
    "periodic", period = period, lengthscale = lengthscale, variance = variance, columns = columns
  )
}

#' @rdname kernels
#' @export
linear <- function(variance = 1, columns = NULL, ...) {
  refuse_others(...)
  new_leaf("linear", variance = variance, columns = columns)
}

#' @rdname kernels
#' @export
polynomial <- function(degree = 2, offset = 1, variance = 1, columns = NULL, ...) {
  refuse_others(...)
  new_leaf("polynomial", degree = degree, offset = offset, variance = variance, columns = columns)
}

#' @rdname kernels
#' @export
categorical <- function(variance = 1, columns = NULL, ...) {
  refuse_others(...)
  new_leaf("categorical", variance = variance, columns = columns)
}

#' @rdname kernels
#' @export
precomputed <- function(...) {
  refuse_others(...)
  new_leaf("precomputed")
}

#' @rdname kernels
#' @export
basis <- function(degree = NULL, ...) {
  refuse_others(...)
  new_leaf("basis", degree = degree)
}

new_kernel <- function(kind, ...) structure(list(kind = kind, ...), class = "bayeskernel_kernel")

is_columns <- function(x) {
  plain <- (is.character(x) || is.numeric(x)) && is.null(dim(x))
  is.null(x) || (plain && length(x) > 0L && !anyNA(x) && !anyDuplicated(x) &&
    (is.character(x) || all(x >= 1 & x <= .Machine$integer.max & x == trunc(x))))
}

check_positive <- function(x, name = "variance") {
  check_number(x, 0, name = name, closed = c(FALSE, TRUE), kind = "kernel")
}

check_lengthscale <- function(x) {
  if (is.null(x)) return(NULL)
  if (!is.numeric(x) || !is.null(dim(x)) || length(x) == 0L || !all(is.finite(x) & x > 0)) {
    abort_argument(
      x, "lengthscale", "NULL, a positive number, or a positive number for each column",
      kind = "kernel"
    )
  }
  storage.mode(x) <- "double"
  x
}

is_kernel <- function(x) inherits(x, "bayeskernel_kernel")

# A kernel by its name, or by the function that makes it, as an object.
as_kernel <- function(x) {
  known <- names(kernel_kinds)
  if (is_string(x) && x %in% known) return(new_leaf(x))
  own <- Filter(function(name) identical(get0(name, topenv()), x), known)
  if (is.function(x) && length(own)) new_leaf(own) else x
}

is_precomputed <- function(kernel) identical(kernel$kind, "precomputed")

# Those without parameters, which are no part of others.
stands_alone <- function(kernel) isTRUE(kind_of(kernel)$alone)

has_categories <- function(kernel) any_leaf(kernel, function(leaf) leaf$kind == "categorical")

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
    e1 <- as_kernel(e1)
    e2 <- as_kernel(e2)
    for (e in list(e1, e2)) if (is_kernel(e)) check_kernel(e)
    if (is_kernel(e1) && is_kernel(e2)) return(combine_kernels(.Generic, list(e1, e2)))
    number <- if (is_kernel(e1)) e2 else e1
    if (.Generic == "*" && is_finite_scalar(number) && number > 0) {
      return(scale_kernel(if (is_kernel(e1)) e1 else e2, number))
    }
  }
  bk_abort(
    "kernel", "This is no operation on kernels.",
    paste("Found:", describe_operation(.Generic, e1, if (!missing(e2)) e2)),
    "Accepted: kernel + kernel, kernel * kernel, positive number * kernel",
    column = .Generic, call = call
  )
}

describe_operation <- function(operator, left, right) {
  side <- function(x) if (is_kernel(x)) "kernel" else describe_value(x)
  if (is.null(right)) paste(operator, side(left)) else paste(side(left), operator, side(right))
}

# Sums of sums and products of products become one.
combine_kernels <- function(operator, kernels) {
  kind <- if (operator == "+") "sum" else "product"
  for (kernel in kernels) refuse_precomputed(kernel)
  children <- lapply(kernels, function(kernel) {
    if (kernel$kind == kind) kernel$children else list(kernel)
  })
  new_kernel(kind, children = unlist(children, recursive = FALSE))
}

scale_kernel <- function(kernel, factor) {
  refuse_precomputed(kernel)
  if (kernel$kind == "sum") {
    kernel$children <- lapply(kernel$children, scale_kernel, factor)
  } else if (kernel$kind == "product") {
    kernel$children[[1]] <- scale_kernel(kernel$children[[1]], factor)
  } else {
    kernel$variance <- check_positive(leaf_variance(kernel) * factor)
  }
  kernel
}

refuse_precomputed <- function(kernel) {
  if (!stands_alone(kernel)) return(invisible(kernel))
  bk_abort(
    "kernel", sprintf("%s() cannot be part of another kernel.", kernel$kind),
    if (is_precomputed(kernel)) {
      paste(
        "Accepted: sums, products and multiples of the matrices themselves,",
        "with precomputed() as the kernel."
      )
    } else {
      "mkprobit() combines it with others as a space of its own."
    },
    found = kernel$kind
  )
}

map_leaves <- function(kernel, f) {
  if (is.null(kernel$children)) return(f(kernel))
  kernel$children <- lapply(kernel$children, map_leaves, f)
  kernel
}

kernel_leaves <- function(kernel) {
  if (is.null(kernel$children)) return(list(kernel))
  unlist(lapply(kernel$children, kernel_leaves), recursive = FALSE)
}

# Text -------------------------------------------------------------------------

#' @rdname kernels
#' @export
format.bayeskernel_kernel <- function(x, ...) {
  check_kernel(x, "x")
  if (x$kind == "sum") return(paste(vapply(x$children, format, ""), collapse = " + "))
  if (x$kind == "product") {
    parts <- vapply(x$children, function(child) {
      text <- format(child)
      if (child$kind == "sum") paste0("(", text, ")") else text
    }, "")
    return(paste(parts, collapse = " * "))
  }
  format_leaf(x)
}

# Names where they are known.
format_columns <- function(columns) {
  columns <- names(columns) %||% columns
  text <- if (is.character(columns)) encodeString(columns, quote = "\"") else as.character(columns)
  if (length(text) == 1L) text else sprintf("c(%s)", toString(text))
}

# Of many length-scales of named columns those that matter most, the shortest, come first.
format_lengthscale <- function(lengthscale, most = 6L) {
  if (is.null(lengthscale)) return("NULL")
  if (length(lengthscale) == 1L) return(format_each(unname(lengthscale), 4))
  named <- !is.null(names(lengthscale))
  rest <- length(lengthscale) - most
  if (rest > 0L && named) lengthscale <- sort(lengthscale)
  shown <- utils::head(lengthscale, most)
  text <- vapply(unname(shown), format, "", digits = 4)
  if (named) text <- paste(names(shown), "=", text)
  if (rest > 0L) text <- c(text, sprintf("... %d %s", rest, if (named) "longer" else "more"))
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

# Parameters -------------------------------------------------------------------

#' Parameters of a kernel
#'
#' @param kernel A kernel, see [kernels], or a fit by [gpsvm()] or [mkprobit()]. The latter has one
#'   for each space, whose names come first.
#' @return Named numeric vector of the variances, length-scales and periods, on their own scale,
#'   from left to right: `variance`, `lengthscale`, or `lengthscale.1`, ... (by the names of the
#'   length-scales if they have any) where each column has its own, `period`; of `rbf(rank = )` the
#'   entries of the projection, row after row: `projection.x1`, ..., of more than one row
#'   `projection1.x1`, .... With several terms each name starts with its term, such as
#'   `rbf.variance`, or `rbf1.` and `rbf2.` where there are two of a kind. `NA` for a length-scale
#'   or a projection that the model is to choose. Empty for `precomputed()`.
#' @section Errors: `bayeskernel_error_kernel` if `kernel` is not a kernel.
#' @seealso [kernels], [kernel_matrix()].
#' @examples
#' kernel_parameters(rbf(2) + linear(0.5))
#' @export
kernel_parameters <- function(kernel) {
  check_given("kernel")
  if (inherits(kernel, "bayeskernel_fit")) kernel <- fitted_kernel(kernel)
  # One for each space.
  if (!is_kernel(kernel) && is.list(kernel) && length(kernel)) {
    return(unlist(lapply(kernel, kernel_parameters)))
  }
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
  terms <- processes_of(fit$design$smooths)
  if (is.null(fit$kernel) && length(terms)) {
    return(lapply(
      stats::setNames(terms, vapply(terms, `[[`, "", "label")), function(term) term$process$kernel
    ))
  }
  if (is.null(fit$kernel)) {
    bk_abort(
      "kernel", sprintf("A fit of %s() has no kernel.", class(fit)[1]),
      "Accepted: a kernel, or a fit of gpsvm().", column = "kernel", found = class(fit)
    )
  }
  fit$kernel
}

leaf_parameters <- function(leaf) {
  ell <- leaf$lengthscale
  if (stands_alone(leaf)) return(stats::setNames(numeric(), character()))
  if (!has_lengthscale(leaf)) return(c(variance = leaf_variance(leaf), period = leaf$period))
  if (is_ranked(leaf)) return(c(variance = leaf$variance, projection_values(leaf)))
  if (length(ell) > 1L) {
    own <- if (is.null(names(ell))) seq_along(ell) else names(ell)
    names(ell) <- paste0("lengthscale.", own)
  } else {
    ell <- c(lengthscale = if (is.null(ell)) NA_real_ else ell[[1]])
  }
  c(variance = leaf$variance, ell, period = leaf$period)
}

# categorical() of earlier versions had none.
leaf_variance <- function(leaf) leaf$variance %||% 1

# The number of the leaf that each of kernel_parameters() is of, and whether it repeats.
parameter_leaves <- function(kernel) {
  leaves <- kernel_leaves(kernel)
  at <- rep(seq_along(leaves), lengths(lapply(leaves, leaf_parameters)))
  data.frame(at = at, turns = vapply(leaves, has_argument, NA, "period")[at])
}

# What each of kernel_parameters() is, which a column's name may not tell.
parameter_roles <- function(kernel) {
  unlist(lapply(kernel_leaves(kernel), function(leaf) {
    count <- length(leaf_parameters(leaf))
    if (count == 0L) return(character())
    scales <- count - 1L - length(leaf$period)
    if (is_ranked(leaf)) return(c("variance", rep("projection", scales)))
    c("variance", rep("lengthscale", scales), if (length(leaf$period)) "period")
  }))
}

# Which of them are a family: the length-scales of a leaf, every other one by itself.
parameter_families <- function(kernel) {
  roles <- parameter_roles(kernel)
  own <- ifelse(roles == "lengthscale", 0L, seq_along(roles))
  family <- paste(parameter_leaves(kernel)$at, own)
  match(family, unique(family))
}

check_kernel <- function(kernel, name = "kernel") {
  if (!is_kernel(kernel) || !is_whole_kernel(kernel)) {
    abort_argument(
      kernel, name, paste(
        "a kernel such as rbf(), or its name:", paste(quoted(names(kernel_kinds)), collapse = ", "),
        if (is.function(kernel)) {
          "-- or the values K of your own function, gpsvm(K, y, kernel = precomputed())"
        }
      ), kind = "kernel", accepted = names(kernel_kinds)
    )
  }
  kernel
}

# What the functions above make, which someone may have changed since.
is_whole_kernel <- function(kernel) {
  if (!is.list(kernel) || !is_columns(kernel$columns) || !is_string(kernel$kind)) return(FALSE)
  if (kernel$kind %in% c("sum", "product")) {
    return(is.list(kernel$children) && length(kernel$children) > 0L &&
      all(vapply(kernel$children, is_whole_kernel, NA)))
  }
  kernel$kind %in% names(kernel_kinds) && is_whole_leaf(kernel)
}

# Columns of a kernel as numbers.
# d: number of columns that the kernel meets.
# columns: their names, or `NULL`.
# terms: the terms that they come from: a factor stands for all of its columns.
# source: their numbers among those that the user gave.
# scale: what they were divided by, which a period was not.
# Returns the kernel, its `columns` numbers from 1 to `d`, with their names if these are known; a
#   kernel that has been here goes by the names.
place_columns <- function(kernel, d, columns = NULL, terms = NULL, source = seq_len(d),
                          scale = rep(1, d)) {
  map_leaves(kernel, function(leaf) {
    at <- seq_len(d)
    if (!is.null(leaf$columns)) {
      at <- find_columns(leaf$columns, columns, terms, source)
      leaf$columns <- stats::setNames(at, columns[at])
    }
    if (has_argument(leaf, "period")) leaf$unit <- unname(scale[at])
    leaf
  })
}

find_columns <- function(wanted, columns, terms, source) {
  if (is.numeric(wanted) && (is.null(names(wanted)) || is.null(columns))) {
    found <- as.list(match(wanted, source))
  } else {
    wanted <- names(wanted) %||% wanted
    found <- lapply(wanted, function(name) {
      at <- match(name, columns)
      if (is.na(at)) which(terms %in% name) else at
    })
  }
  lost <- lengths(found) == 0L | is.na(found)
  if (any(lost)) {
    known <- if (is.null(columns)) {
      sprintf("numbers from 1 to %d", max(source))
    } else {
      list_some(unique(c(columns, terms)))
    }
    bk_abort(
      "kernel", "The kernel looks at columns that the data do not have.",
      sprintf("Found: %s.", list_some(wanted[lost])), sprintf("Accepted: %s.", known),
      column = "columns", found = wanted[lost], expected = columns
    )
  }
  unique(unlist(found))
}

# For rows as read_rows() gives them.
place_kernel <- function(kernel, rows) {
  place_columns(
    kernel, length(rows$columns), rows$columns, rows$column_terms, rows$data$source, rows$scale
  )
}

# Fill in what a kernel leaves open.
# kernel: with its columns placed.
# median: length-scale where none is given, or a function that gives it for some columns (`NULL` for
#   all); looked at only then.
# d: number of columns: with it, `ard` length-scales become as many.
# columns: their names, or `NULL`.
# Returns the kernel, all of its parameters numbers.
resolve_lengthscale <- function(kernel, median, d, columns = NULL) {
  map_leaves(kernel, function(leaf) {
    if (!has_lengthscale(leaf)) return(leaf)
    if (is_ranked(leaf)) {
      own <- if (is.null(leaf$columns)) columns else names(leaf$columns)
      leaf$projection <- leaf_projection(leaf, median, length(leaf$columns %||% seq_len(d)), own)
      return(leaf)
    }
    if (is.null(leaf$lengthscale)) leaf$lengthscale <- leaf_median(leaf, median)
    if (!is.null(d) && has_argument(leaf, "ard")) {
      leaf$lengthscale <- column_lengthscales(leaf, d)
      if (leaf$ard && is.null(names(leaf$lengthscale))) {
        own <- if (is.null(leaf$columns)) columns else names(leaf$columns)
        names(leaf$lengthscale) <- own
      }
    }
    leaf
  })
}

# That of a periodic kernel has no unit.
leaf_median <- function(leaf, median) {
  if (has_argument(leaf, "period")) {
    1
  } else if (is.function(median)) {
    median(leaf$columns)
  } else {
    median
  }
}

column_lengthscales <- function(leaf, d) {
  ell <- leaf$lengthscale
  if (!is.null(leaf$columns)) d <- length(leaf$columns)
  if (length(ell) == 1L) return(if (leaf$ard) rep(unname(ell), d) else ell)
  if (length(ell) != d) {
    bk_abort(
      "kernel", "The kernel's length-scales do not match the columns.",
      sprintf("Found: %d length-scales for %d column%s.", length(ell), d, if (d == 1L) "" else "s"),
      sprintf("Accepted: one length-scale for all columns, or %d.", d), column = "lengthscale",
      found = length(ell), expected = d
    )
  }
  ell
}

# The kernel with other parameters, as core_parameters() has them; all must be numbers already.
update_kernel <- function(kernel, log_parameters) {
  at <- 0L
  take_plain <- function(count) {
    at <<- at + count
    unname(log_parameters)[at - count + seq_len(count)]
  }
  take <- function(count) exp(take_plain(count))
  kernel <- map_leaves(kernel, function(leaf) {
    if (stands_alone(leaf)) return(leaf)
    leaf$variance <- take(1L)
    if (is_ranked(leaf)) {
      a <- leaf$projection
      leaf$projection[] <- matrix(take_plain(length(a)), nrow(a), byrow = TRUE)
    } else if (has_lengthscale(leaf)) {
      leaf$lengthscale[] <- take(length(leaf$lengthscale))
    }
    if (has_argument(leaf, "period")) leaf$period <- take(1L)
    leaf
  })
  stopifnot(at == length(log_parameters))
  kernel
}

# What glue_kernel.h reads, for points of `d` columns. Length-scales must be known, and columns
# numbers.
kernel_to_core <- function(kernel, d) {
  kernel <- map_leaves(kernel, function(leaf) {
    if (is_ranked(leaf)) {
      stopifnot(is.numeric(leaf$projection))
    } else if (has_lengthscale(leaf)) {
      stopifnot(is.numeric(leaf$lengthscale))
      if (has_argument(leaf, "ard")) leaf$lengthscale <- unname(column_lengthscales(leaf, d))
    }
    if (has_argument(leaf, "period") && is.null(leaf$unit)) leaf$unit <- 1
    if (!stands_alone(leaf)) leaf$variance <- leaf_variance(leaf)
    if (!is.null(leaf$columns)) {
      stopifnot(is.numeric(leaf$columns))
      leaf$columns <- unname(leaf$columns)
    }
    kind_of(leaf)$core(leaf)
  })
  unclass_tree(kernel)
}

unclass_tree <- function(kernel) {
  kernel <- unclass(kernel)
  if (!is.null(kernel$children)) kernel$children <- lapply(kernel$children, unclass_tree)
  kernel
}

# Matrices ---------------------------------------------------------------------

#' Kernel matrix
#'
#' @param kernel A kernel, see [kernels]. A length-scale that it leaves open is the median distance
#'   between rows of `x`, at most 1000 of them, evenly spaced.
#' @param x,z Numeric matrices, or data frames of numbers (with `categorical()` alone factors, too),
#'   with the same columns; finite, taken as they are (not standardized). `z` is `x` if not given.
#'   With `precomputed()`, `x` is the kernel matrix, square and symmetric, and there is no `z`.
#' @param threads Worker threads. The result does not depend on them.
#' @return Numeric matrix, `nrow(x)` by `nrow(z)`, of k(x_i, z_j), with the row names of `x` and `z`
#'   as dimnames if they have any. Exactly symmetric when `z` is not given.
#' @section Errors: `bayeskernel_error_kernel` for what is not a kernel, a wrong number of
#'   length-scales, unknown columns, and a precomputed matrix that is not symmetric;
#'   `bayeskernel_error_dimension` if `x` and `z` differ in their columns;
#'   `bayeskernel_error_missing` for values that are not finite; `bayeskernel_error_numeric` if k(x,
#'   z) is not; `bayeskernel_error_argument` for other input.
#' @seealso [kernels], [kernel_parameters()].
#' @examples
#' x <- matrix(rnorm(20), 10)
#' k <- kernel_matrix(rbf(lengthscale = 1), x)
#' all.equal(k, exp(-as.matrix(dist(x))^2 / 2), check.attributes = FALSE)
#' @export
kernel_matrix <- function(kernel, x, z = x, threads = getOption("bayeskernel.threads", 2L)) {
  check_given("kernel", "x")
  kernel <- as_kernel(kernel)
  check_kernel(kernel)
  threads <- check_threads(threads)
  if (kernel$kind == "categorical") return(agreement(kernel, x, if (missing(z)) x else z))
  x <- check_points(x, "x")
  if (is_precomputed(kernel)) return(check_precomputed(x, missing(z)))
  if (kernel$kind == "basis") {
    bk_abort(
      "kernel", "A basis is no kernel.",
      "Its columns are regressors of mkprobit().", found = "basis"
    )
  }
  z <- if (missing(z)) x else check_points(z, "z")
  d <- ncol(x)
  if (ncol(z) != d) abort_unequal_columns(d, ncol(z))
  points <- t(x)
  if (has_rank(kernel) && anyNA(kernel_parameters(kernel))) {
    bk_abort(
      "kernel", "The projection of the kernel is not known.",
      "Accepted with `rank`: the kernel of a fit, which has learned it.", column = "rank"
    )
  }
  kernel <- resolve_lengthscale(
    place_columns(kernel, d, colnames(x)), median_of_columns(points),
    if (has_rank(kernel)) d, colnames(x)
  )
  core <- core_call(kernel_matrix_cpp(kernel_to_core(kernel, d), points, t(z), threads))
  values <- core$values
  if (!all(is.finite(range(values, 0)))) {
    bk_abort(
      "numeric", "Values of the kernel are beyond the range of numbers.",
      sprintf("Found: %s.", format(values[!is.finite(values)][1])),
      "Change the unit of the predictors, or the kernel's parameters.", column = "x"
    )
  }
  if (!is.null(rownames(x)) || !is.null(rownames(z))) {
    dimnames(values) <- list(rownames(x), rownames(z))
  }
  values
}

abort_unequal_columns <- function(expected, found) {
  bk_abort(
    "dimension", "`x` and `z` do not have the same number of columns.",
    sprintf("Found: %d and %d.", expected, found), column = "z", found = found, expected = expected
  )
}

# Median distances of points, columns x rows, for resolve_lengthscale(); that of all columns is
# known where the caller has it.
median_of_columns <- function(points, all = NULL) {
  function(columns) {
    if (!is.null(columns)) {
      median_distance_cpp(points[columns, , drop = FALSE])
    } else {
      all %||% median_distance_cpp(points)
    }
  }
}

# The variance where rows of `x` and of `z` agree in the columns of the kernel.
agreement <- function(kernel, x, z) {
  if (NCOL(x) != NCOL(z)) abort_unequal_columns(NCOL(x), NCOL(z))
  names <- if (is.data.frame(x)) names(x) else colnames(x)
  at <- place_columns(kernel, NCOL(x), names)$columns %||% seq_len(NCOL(x))
  words <- function(x) {
    columns <- lapply(as.data.frame(x)[at], as.character)
    if (anyNA(columns, recursive = TRUE)) abort_missing(stats::setNames(1L, "x"), 1L)
    do.call(paste, c(columns, sep = "\r"))
  }
  out <- leaf_variance(kernel) * outer(words(x), words(z), `==`)
  dimnames(out) <- if (!is.null(rownames(x)) && is.matrix(x)) list(rownames(x), rownames(z))
  out
}

check_points <- function(x, name) {
  if (is.data.frame(x) && all(vapply(x, is_plain_number, NA))) x <- as.matrix(x)
  if (!is.matrix(x) || !(is.numeric(x) || is.logical(x))) {
    abort_argument(x, name, "a numeric matrix, or a data frame whose columns are numbers")
  }
  if (ncol(x) == 0L) {
    bk_abort(
      "dimension", sprintf("`%s` has no columns.", name), "Accepted: at least one column.",
      column = name, found = 0L
    )
  }
  storage.mode(x) <- "double"
  check_finite_points(x, name)
  x
}

check_finite_points <- function(x, name) {
  ends <- if (length(x)) range(x) else 0
  if (!anyNA(ends) && all(abs(ends) <= largest_magnitude)) return(invisible(x))
  bad <- !(abs(x) <= largest_magnitude) | is.na(x)
  at <- which(colSums(bad) > 0)
  columns <- colnames(x)[at]
  if (is.null(columns)) columns <- sprintf("%s[, %d]", name, at)
  infinite <- any(!is.na(x[bad]))
  abort_missing(
    stats::setNames(colSums(bad[, at, drop = FALSE]), columns),
    apply(bad[, at, drop = FALSE], 2, which.max),
    what = if (length(at) > 1L) "Columns" else "Column",
    values = value_problem(anyNA(x[bad]), infinite), cure = "Leave such rows out, or impute them."
  )
}

check_precomputed <- function(x, alone) {
  if (!alone) {
    bk_abort(
      "argument", "A precomputed kernel matrix has no `z`.",
      "Accepted: kernel_matrix(precomputed(), x) with x the kernel matrix.", column = "z"
    )
  }
  if (nrow(x) != ncol(x)) {
    bk_abort(
      "dimension", "A precomputed kernel matrix must be square.",
      sprintf("Found: %d rows and %d columns.", nrow(x), ncol(x)), column = "x", found = dim(x)
    )
  }
  if (!isSymmetric(unname(x))) {
    gap <- abs(x - t(x))
    at <- arrayInd(which.max(gap), dim(x))
    bk_abort(
      "kernel", "A precomputed kernel matrix must be symmetric.",
      sprintf(
        "Found: %s in row %d, column %d, and %s across the diagonal.",
        format(x[at]), at[1], at[2], format(x[at[2], at[1]])
      ),
      "Accepted: k[i, j] = k[j, i], such as (k + t(k)) / 2.",
      column = "x", row = at[1], found = x[at], expected = x[at[2], at[1]]
    )
  }
  x
}

is_process <- function(term) !is.null(term$process)

# The terms of a fit or of a design with processes.
processes_of <- function(smooths) Filter(is_process, smooths)
