# The kinds of kernels, one row each. What is written, checked, shown and learned of a kernel, and
# what the core reads, comes from its row.

# An argument: the value that is not given, NULL if none need be; its check, and its text, NULL
# where it is not shown.
kernel_argument <- function(default, check, show = function(x, leaf) format_each(x, 4)) {
  list(default = default, check = check, show = show)
}

positive_argument <- function(default, ...) {
  kernel_argument(default, function(x, name) check_positive(x, name), ...)
}

count_argument <- function(default, upper = .Machine$integer.max) {
  kernel_argument(
    default, function(x, name) check_count(x, 1L, upper, name, "kernel"),
    function(x, leaf) if (!is.null(x)) format_each(x, 4)
  )
}

distance_argument <- kernel_argument(
  NULL, function(x, name) check_lengthscale(x),
  function(x, leaf) if (!is_ranked(leaf)) format_lengthscale(x)
)

ard_argument <- kernel_argument(
  FALSE, function(x, name) check_flag(x, name),
  function(x, leaf) if (x && length(leaf$lengthscale) < 2L) "TRUE"
)

# One kind of kernel.
# arguments: its parameters but for `columns`, in the order of its text. A model learns `variance`,
#   `lengthscale` and `period`; a length-scale is a distance unless there is a period.
# formula: k(x, z) as text, or a function of the kernel.
# diagonal: k(x, x) as a function of the kernel and of x'x, the variance if not given.
# negative: whether k(x, z) may be negative: a function of the kernel.
# alone: it is no part of other kernels, and has nothing to learn.
# terse: arguments at their defaults are not shown.
# core: the kernel as one of those that src/glue_kernel.h knows.
kernel_kind <- function(arguments, formula,
                        diagonal = function(leaf, square) rep(leaf_variance(leaf), length(square)),
                        negative = function(leaf) FALSE, alone = FALSE, terse = FALSE,
                        core = identity) {
  list(
    arguments = arguments, formula = formula, diagonal = diagonal, negative = negative,
    alone = alone, terse = terse, core = core
  )
}

kernel_kinds <- list(
  rbf = kernel_kind(
    list(
      lengthscale = distance_argument, rank = count_argument(NULL),
      variance = positive_argument(1), ard = ard_argument
    ),
    function(leaf) {
      if (is_ranked(leaf)) {
        "variance * exp(-sum((projection %*% (x - z))^2) / 2)"
      } else if (leaf$ard) {
        "variance * exp(-sum((x - z)^2 / lengthscale^2) / 2)"
      } else {
        "variance * exp(-|x - z|^2 / (2 * lengthscale^2))"
      }
    }
  ),
  matern = kernel_kind(
    list(
      nu = kernel_argument(3 / 2, function(x, name) {
        if (!is_finite_scalar(x) || !(x %in% c(0.5, 1.5, 2.5))) {
          abort_argument(x, name, "1/2, 3/2 or 5/2", kind = "kernel")
        }
        as.double(x)
      }, function(x, leaf) sprintf("%d/2", as.integer(2 * x))),
      lengthscale = distance_argument, variance = positive_argument(1), ard = ard_argument
    ),
    function(leaf) {
      sprintf(
        "variance * %s, u^2 = %g * sum((x - z)^2 / lengthscale^2)",
        c("exp(-u)", "(1 + u) * exp(-u)", "(1 + u + u^2 / 3) * exp(-u)")[leaf$nu + 0.5], 2 * leaf$nu
      )
    }
  ),
  periodic = kernel_kind(
    list(
      period = positive_argument(1),
      lengthscale = positive_argument(NULL, function(x, leaf) format_lengthscale(x)),
      variance = positive_argument(1)
    ),
    "variance * exp(-2 * sum(sin(pi * (x - z) / period)^2) / lengthscale^2)"
  ),
  linear = kernel_kind(
    list(variance = positive_argument(1)), "variance * x'z",
    diagonal = function(leaf, square) leaf$variance * square, negative = function(leaf) TRUE
  ),
  polynomial = kernel_kind(
    list(
      degree = count_argument(2),
      offset = kernel_argument(1, function(x, name) {
        check_number(x, 0, name = name, kind = "kernel")
      }),
      variance = positive_argument(1)
    ),
    "variance * (x'z + offset)^degree",
    diagonal = function(leaf, square) leaf$variance * (square + leaf$offset)^leaf$degree,
    negative = function(leaf) leaf$degree %% 2 == 1
  ),
  categorical = kernel_kind(
    list(variance = positive_argument(1)), "variance where all columns agree, else 0", terse = TRUE
  ),
  precomputed = kernel_kind(list(), "the data are the kernel matrix", alone = TRUE),
  basis = kernel_kind(
    list(degree = count_argument(NULL, 5L)), "the columns, or their products, are regressors",
    negative = function(leaf) TRUE, alone = TRUE
  )
)

# The row of a kernel; NULL for a sum or a product.
kind_of <- function(kernel) kernel_kinds[[kernel$kind]]

has_argument <- function(leaf, name) name %in% names(kind_of(leaf)$arguments)

# Distances of points matter to it.
has_lengthscale <- function(leaf) has_argument(leaf, "lengthscale")

any_leaf <- function(kernel, test) any(vapply(kernel_leaves(kernel), test, NA))

# A kernel of points. Without `columns` it looks at all.
new_leaf <- function(kind, ..., columns = NULL) {
  given <- list(...)
  arguments <- kernel_kinds[[kind]]$arguments
  values <- lapply(stats::setNames(nm = names(arguments)), function(name) {
    argument <- arguments[[name]]
    x <- if (name %in% names(given)) given[[name]] else argument$default
    checked_argument(argument, x, name)
  })
  if (has_argument(list(kind = kind), "ard")) {
    values$ard <- values$ard || length(values$lengthscale) > 1L
  }
  if (is.null(values$rank)) values$rank <- NULL
  if (!is_columns(columns)) {
    abort_argument(
      columns, "columns", "NULL, or different names or numbers of columns", kind = "kernel"
    )
  }
  if (is.numeric(columns)) columns <- as.integer(columns)
  if (!is.null(columns)) values$columns <- columns
  do.call(new_kernel, c(kind, values))
}

checked_argument <- function(argument, x, name) {
  if (is.null(x) && is.null(argument$default)) NULL else argument$check(x, name)
}

# What new_leaf() makes, which someone may have changed since. categorical() of earlier versions had
# no variance.
is_whole_leaf <- function(leaf) {
  arguments <- kind_of(leaf)$arguments
  if (leaf$kind == "categorical") leaf$variance <- leaf_variance(leaf)
  valid <- function(name) {
    tryCatch(
      {
        checked_argument(arguments[[name]], leaf[[name]], name)
        TRUE
      },
      bayeskernel_error = function(e) FALSE
    )
  }
  all(vapply(names(arguments), valid, NA)) && is_whole_projection(leaf)
}

format_leaf <- function(leaf) {
  kind <- kind_of(leaf)
  texts <- lapply(stats::setNames(nm = names(kind$arguments)), function(name) {
    argument <- kind$arguments[[name]]
    x <- if (name == "variance") leaf_variance(leaf) else leaf[[name]]
    if (!kind$terse || !identical(x, argument$default)) argument$show(x, leaf)
  })
  if (!is.null(leaf$columns)) texts$columns <- format_columns(leaf$columns)
  texts <- unlist(texts)
  sprintf(
    "%s(%s)", leaf$kind, paste(names(texts), texts, sep = " = ", collapse = ", ", recycle0 = TRUE)
  )
}

kernel_formula <- function(leaf) {
  formula <- kind_of(leaf)$formula
  if (is.function(formula)) formula(leaf) else formula
}
