# Gaussian processes as terms of a formula: gp(x1, x2, by = f). To the linear model a term is a
# block of columns with one variance, as a smooth is: whitened features of the kernel on inducing
# points, b_i (L^-1 k(x_i) - centre), whose residual the rows have beside it (gp/terms.hpp).

#' Gaussian process terms
#'
#' In the formula of [bkm()] or [gpsvm()], `gp(x1, x2)` stands for an unknown smooth function of the
#' variables, with a Gaussian process prior. Its variance and its length-scales are learned. Several
#' may be in one formula, together with fixed effects, smooths, random effects and predictors with
#' missing values.
#'
#' @param ... One or more numeric variables, or expressions of them.
#' @param by A factor gives each level a function of its own. Put the factor itself into the
#'   formula, too, for the difference of the levels. A number multiplies the function: a coefficient
#'   that varies with the variables.
#' @param kernel A kernel, see [kernels]: its variance is set to 1, for the term has its own. A
#'   variable that only a kernel `categorical(columns = )` looks at may be a factor. Length-scales
#'   that are given are held; those left open are learned. They are in standard deviations of the
#'   variables (without values far from all others, which a warning names), unless
#'   `standardize = FALSE`.
#' @param inducing Inducing points: how many, or a matrix or data frame with a column for each
#'   variable, on their scale. By default at most 100; 150 for one variable with up to 1000 rows,
#'   if the term has no `by` and is the only `gp()` term; 5 n^(1/3) for three or more variables, if
#'   this is more. With fewer different rows (of a level, with `by`) each is one.
#' @return Used for its meaning in a formula; evaluated, a list of what was written.
#'
#' @section Model: With \eqn{g \sim GP(0, k)}{g ~ GP(0, k)} the term of row i is
#'   \eqn{s\, b_i\, g(x_i)}{s b_i g(x_i)}; b is 1, the indicator of a level, or
#'   a number, and \eqn{s^2 \sim IG(.01, .01)}{s^2 ~ IG(.01, .01)} by default, see
#'   [bkm_prior()]. The process is represented by m inducing points, with the
#'   rest of its variance at each row as independent noise; the summary warns
#'   where that rest matters. By sampling (`method = "gibbs"`) that rest is left
#'   out of the fit. With an intercept the average of the function over the rows
#'   is 0, unless `by` is a number. Noise below some 1e-4 of the standard deviation of the response
#'   is overestimated.
#'
#' @section Learning: Open length-scales maximize the bound of variational Bayes times a
#'   log-normal density. Its center is the median distance of the rows, and its standard deviation
#'   is 2 on the log scale. Those of one `rbf(ard = TRUE)` are held near each other, the more so
#'   the more variables there are for the rows. The search begins at the best of eight
#'   length-scales, from 2 to 1/64 times that distance, so that it finds a season in a long
#'   series. With more than 10,000 rows a sample of that many is used, of whole groups. Entries of
#'   the projection of `rbf(rank = )` have a normal density with standard deviation 2. All are
#'   estimates: their uncertainty is not in the intervals.
#'
#' @section Many rows: For rows in a [row_source()], or when the columns would take more than 1e8
#'   numbers, the features of the inducing points are computed at every reading of the rows.
#'
#' @section Missing values: With `missing = "model"` the variables may have missing values, factors
#'   that `categorical()` looks at, too; a factor in `by` may not.
#' @references Wenzel, F., Galy-Fajou, T., Deutsch, M. and Kloft, M. (2017). Bayesian nonlinear
#'   support vector machines for big data. *ECML PKDD*, section 3.
#' @seealso [bkm()], [gpsvm()], [kernels]
#' @examples
#' set.seed(1)
#' d <- data.frame(x = runif(150, -2, 2), z = rnorm(150))
#' d$y <- rbinom(150, 1, plogis(3 * sin(2 * d$x) + d$z))
#' fit <- bkm(y ~ gp(x) + z, d)
#' fit
#' plot(fit, "smooth")
#' @export
gp <- function(..., by = NULL, kernel = rbf(), inducing = NULL) {
  typed <- match.call(expand.dots = FALSE)
  variables <- as.list(typed$...)
  list(
    variables = vapply(variables, deparse1, ""), by = if (!is.null(typed$by)) deparse1(typed$by),
    kernel = kernel, inducing = inducing
  )
}

process_heads <- c("gp", "bayeskernel::gp")

# Reading --------------------------------------------------------------------

# The description of one term, in the form of read_smooth().
read_process <- function(expr, env) {
  text <- deparse1(expr)
  expr[[1]] <- as.name("gp")
  typed <- tryCatch(match.call(gp, expr), error = function(e) {
    abort_process(
      text, "Term `%s` is not valid.", conditionMessage(e),
      "Accepted: gp(x1, x2, by = f, kernel = rbf(), inducing = 50)."
    )
  })
  own <- c("by", "kernel", "inducing")
  names <- (names(typed) %||% character(length(typed)))[-1L]
  strange <- setdiff(names, c(own, ""))
  if (length(strange)) {
    abort_process(
      text, "Term `%s` has an unknown argument.", sprintf("Found: `%s`.", strange[1]),
      paste("Accepted: variables,", list_some(paste0("`", own, "`")))
    )
  }
  variables <- unname(as.list(typed)[-1L][!(names %in% own)])
  if (length(variables) == 0L) {
    abort_process(
      text, "Term `%s` has no variables.", NULL,
      "Accepted: one variable or more, such as gp(x1, x2)."
    )
  }
  value <- function(name) {
    tryCatch(eval(typed[[name]], env), error = function(e) {
      if (inherits(e, "bayeskernel_error")) stop(e)
      abort_process(
        text, paste0("Argument `", name, "` of `%s` cannot be computed."), conditionMessage(e)
      )
    })
  }
  kernel <- if (is.null(typed$kernel)) rbf() else as_kernel(value("kernel"))
  check_kernel(kernel, "kernel")
  if (stands_alone(kernel)) {
    abort_process(
      text, "The kernel of `%s` is not one of a process.", sprintf("Found: %s().", kernel$kind),
      "Accepted: rbf() and its relatives, their sums and products."
    )
  }
  # As terms() writes it.
  by <- if (!is.null(typed$by)) deparse1(typed$by, backtick = TRUE)
  keys <- c(vapply(variables, deparse1, ""), by)
  twice <- keys[duplicated(keys)]
  if (length(twice)) {
    abort_process(text, "Term `%s` has a variable twice.", sprintf("Found twice: `%s`.", twice[1]))
  }
  list(
    text = text, spec = list(term = keys[seq_along(variables)]), keys = keys,
    variables = c(variables, typed$by), by = by,
    process = list(kernel = kernel, inducing = if (!is.null(typed$inducing)) value("inducing"))
  )
}

abort_process <- function(text, header, found, cure = NULL) abort_smooth(text, header, found, cure)

# Building -------------------------------------------------------------------

# The terms of a design, one for each level of a factor `by`, in the form of build_smooth(): `x`
# names the features, which are computed once length-scales are known; `rows` are the variables of
# the rows on the scale of the data, a number `by` the last of them, and 0 or 1 by level.
build_process <- function(term, frame, rows, copies, standardize, centred) {
  names <- vapply(term$variables, deparse1, "")
  d <- length(term$spec$term)
  n <- .row_names_info(frame, 2L)
  own <- names[seq_len(d)]
  coded <- category_columns(term$process$kernel, d, term$spec$term)
  levels <- lapply(seq_len(d), function(k) {
    if (k %in% coded) levels(factor(frame[[own[k]]]))
  })
  x <- vapply(seq_len(d), function(k) {
    if (k %in% coded) {
      as.double(match(as.character(frame[[own[k]]]), levels[[k]]))
    } else {
      process_variable(frame[[own[k]]], own[k], term)
    }
  }, numeric(n))
  dim(x) <- c(n, d)
  colnames(x) <- names[seq_len(d)]
  moments <- observed_moments(x, copies)
  check_columns(moments, x, colnames(x), rows, missing_allowed = TRUE)
  flat <- which(constant_columns(moments))
  if (length(flat)) {
    abort_process(
      term$text, "Term `%s` has a variable that does not vary.",
      sprintf("Found: `%s`.", names[flat[1]]), "Leave it out."
    )
  }
  center <- numeric(d)
  scale <- rep(1, d)
  if (standardize) {
    plain <- setdiff(seq_len(d), coded)
    places <- robust_places(
      x[, plain, drop = FALSE], moments$mean[plain], moments$sd[plain], copies
    )
    center[plain] <- places$center
    scale[plain] <- places$scale
  }
  by <- process_by(frame, term, rows)
  parts <- if (is.null(by$levels)) list(NULL) else by$levels
  lapply(parts, function(level) {
    inside <- if (is.null(level)) NULL else as.numeric(by$values == level)
    number <- if (is.null(by$levels)) by$values
    used <- rowSums(is.na(x)) == 0 & (inside %||% rep(1, n)) > 0
    process <- place_process(
      scale_columns_by(x[used, , drop = FALSE], center, scale), term, d,
      center, scale, length(coded) > 0L
    )
    process[c("center", "scale")] <- list(
      c(center, if (!is.null(number)) 0), c(scale, if (!is.null(number)) 1)
    )
    process$number <- !is.null(number)
    process$centred <- centred && is.null(number)
    m <- nrow(process$z)
    list(
      label = process_label(term, level), keys = term$keys, names = names, by = term$by,
      level = level, dim = d, process = process, block = rep(1, m), x = matrix(0, 0L, m),
      rows = list(
        x = cbind(x, if (!is.null(number)) cbind(by = number)), inside = inside, copies = copies
      ),
      ranges = c(
        lapply(seq_len(d), function(k) {
          if (!(k %in% coded)) range(x[, k], na.rm = TRUE)
        }),
        if (!is.null(term$by)) list(if (!is.null(number)) range(number, na.rm = TRUE))
      ),
      levels = c(levels, if (!is.null(term$by)) list(by$levels))
    )
  })
}

scale_columns_by <- function(x, center, scale) {
  (x - rep(center, each = nrow(x))) / rep(scale, each = nrow(x))
}

process_label <- function(term, level) {
  label <- sprintf("gp(%s)", paste(term$spec$term, collapse = ","))
  paste0(label, if (!is.null(term$by)) paste0(":", term$by), level)
}

process_variable <- function(column, name, term) {
  if (is.logical(column) && all(is.na(column))) column <- as.double(column)
  if (is.factor(column) || is.character(column)) {
    abort_process(
      term$text, "Term `%s` has a factor for a variable.", sprintf("Found: factor `%s`.", name),
      sprintf(paste(
        "Accepted: numbers. Give `%s` as `by`, as a fixed term, as a random",
        "term `(1 | %s)`, or to a kernel categorical(columns = \"%s\")."
      ), name, name, name)
    )
  }
  if (NCOL(column) > 1L) {
    abort_process(
      term$text, "Term `%s` has a matrix for a variable.",
      sprintf("Found: `%s` with %d columns.", name, NCOL(column)),
      "Accepted: a variable for each column."
    )
  }
  as.double(column)
}

# Values of `by`: levels that occur, or numbers.
process_by <- function(frame, term, rows) {
  if (is.null(term$by)) return(NULL)
  by <- frame[[by_name(term)]]
  if (is.character(by) || is.factor(by)) {
    by <- factor(by)
    if (anyNA(by)) {
      abort_missing(
        stats::setNames(sum(is.na(by)), term$by), which(is.na(by))[1], rows, "Predictor"
      )
    }
    return(list(values = as.character(by), levels = levels(by)))
  }
  if (NCOL(by) > 1L || !(is.numeric(by) || is.logical(by))) {
    abort_process(
      term$text, "Term `%s` has no usable `by`.",
      sprintf("Found: %s.", article(paste("object of class", class(by)[1]))),
      "Accepted: a factor, text, or numbers, one value a row."
    )
  }
  by <- as.double(by)
  values <- cbind(by)
  colnames(values) <- term$by
  check_columns(observed_moments(values), values, term$by, rows, missing_allowed = TRUE)
  list(values = by)
}

# Functions of levels are centred: the levels' own means are not in them.
inform_levels <- function(parsed, built) {
  by <- unique(unlist(lapply(built, function(term) {
    if (!is.null(term$level) && term$process$centred) utils::tail(term$names, 1L)
  })))
  fixed <- variable_names(parsed$terms)
  bars <- unlist(lapply(parsed$bars, function(bar) vapply(bar$leaves, deparse1, "")))
  for (name in setdiff(by, c(fixed, bars))) {
    bk_inform(
      "by", fit_header("Factor `%s` is in the model as `by` alone.", name),
      "The function of each level has a mean of 0 over its rows.",
      sprintf("Add `%s` for the differences between the levels.", name), column = name
    )
  }
}

# Kernel and inducing points of a term, from its complete rows on the scale of the model.
place_process <- function(x, term, d, center, scale, coded) {
  few <- x[spread_over(nrow(x), 10000L), , drop = FALSE]
  distinct <- unique(few)
  if (nrow(distinct) < 2L) {
    abort_process(
      term$text, "Term `%s` has fewer than two places.",
      sprintf("Found: %d.", nrow(distinct)), "Leave it out."
    )
  }
  kernel <- resolve_lengthscale(
    place_columns(term$process$kernel, d, term$spec$term, scale = scale),
    median_of_columns(t(distinct)), d, term$spec$term
  )
  kernel_to_core(kernel, d)
  free <- open_lengthscales(term$process$kernel, kernel)
  # Copies of a row are one place.
  n <- if (nrow(distinct) < nrow(few)) nrow(distinct) else term$process$n %||% nrow(x)
  z <- process_inducing(term$process$inducing, distinct, n, d, center, scale, term)
  # No mean of codes is a category: the rows nearest to the centres.
  if (coded) {
    nearest <- apply(z, 1L, function(center) which.min(colSums((t(distinct) - center)^2)))
    z <- unique(distinct[nearest, , drop = FALSE])
  }
  # The variance of a single kernel is the term's own; of sums and products those within are
  # relative to it.
  if (is.null(kernel$children)) kernel$variance <- 1
  list(kernel = kernel, free = free, z = z)
}

# Columns that categorical() alone looks at, and so may be factors.
category_columns <- function(kernel, d, names) {
  placed <- place_columns(kernel, d, names)
  at <- function(leaf) {
    if (is.null(leaf$columns)) seq_len(d) else unname(leaf$columns)
  }
  leaves <- kernel_leaves(placed)
  kinds <- vapply(leaves, `[[`, "", "kind")
  setdiff(
    unlist(lapply(leaves[kinds == "categorical"], at)),
    unlist(lapply(leaves[kinds != "categorical"], at))
  )
}

# Which of kernel_parameters() are length-scales, or of projections, that were left open.
open_lengthscales <- function(given, resolved) {
  which(unlist(Map(function(given, resolved) {
    names <- names(leaf_parameters(resolved))
    startsWith(names, "lengthscale") & is.null(given$lengthscale) |
      startsWith(names, "projection") & is.null(given$projection)
  }, kernel_leaves(given), kernel_leaves(resolved))))
}

# m x d, scale of the model.
process_inducing <- function(given, distinct, n, d, center, scale, term) {
  if (is.matrix(given) || is.data.frame(given)) {
    z <- tryCatch(matrix(as.double(as.matrix(given)), NROW(given)), warning = function(w) NULL)
    if (is.null(z) || ncol(z) != d || nrow(z) < 1L || anyNA(z) || anyDuplicated(z)) {
      abort_process(
        term$text, "Inducing points of `%s` are not usable.",
        sprintf("Found: %s.", article(describe_value(given))),
        sprintf("Accepted: different rows of numbers, %d columns.", d)
      )
    }
    return(scale_columns_by(z, center, scale))
  }
  count <- if (is.null(given)) {
    default_process_inducing(n, d, isTRUE(term$process$alone))
  } else {
    check_count(given, 1L, 1e5, name = "inducing")
  }
  if (count >= nrow(distinct)) return(distinct)
  # The points do not depend on R's generator: the seed is the same always.
  z <- t(core_call(gpsvm_inducing_cpp(tame_rows(t(distinct)), count, "kmeans", 1, 1L))$z)
  warn_few_inducing(nrow(z), count, term$text)
  z
}

# Every place where these are few. A series, the only process of a model, has many turns along its
# one variable; many variables and places ask for more points.
default_process_inducing <- function(n, d, alone) {
  series <- d == 1L && alone && n <= 1000
  min(n, if (series) 150 else if (d < 3L) 100 else max(100, ceiling(5 * n^(1 / 3))))
}

# Features -------------------------------------------------------------------

# Features of rows on the scale of the data, a number `by` in the last column: without `centre`, n x
# m, and what they leave open of the variance 1.
process_features <- function(process, x, inside, threads) {
  x <- scale_columns_by(x, process$center, process$scale)
  d <- ncol(process$z)
  by <- if (process$number) x[, d + 1L] else inside
  out <- core_call(process_features_cpp(
    kernel_to_core(process$kernel, d), process$z, x[, seq_len(d), drop = FALSE] + 0, threads
  ))
  out["by"] <- list(by)
  out
}

# The same with the multiples and centred.
process_columns <- function(process, x, inside, threads = 1L) {
  centre_features(process, process_features(process, x, inside, threads))
}

centre_features <- function(process, out) {
  out$x <- out$x - rep(process$centre, each = nrow(out$x))
  if (!is.null(out$by)) {
    out$x <- out$x * out$by
    out$open <- out$open * out$by^2
  }
  out
}

# Rows of a design whose processes have their features: `x` filled, where it is, so that every owner
# of it has them, `open`, n x terms. Centres are means over these rows, `weights` those of atoms.
fill_design <- function(rows, threads) {
  if (length(rows$processes) == 0L) return(rows)
  share <- if (is.null(rows$atoms)) NULL else exp(rows$atoms$log_prior)
  at <- which(vapply(rows$info$smooths, is_process, NA))
  open <- matrix(0, nrow(rows$x), length(at))
  rows$x <- as_doubles(rows$x)
  for (k in seq_along(at)) {
    smooth <- rows$info$smooths[[at[k]]]
    process <- smooth$process
    own <- rows$processes[[k]]
    x <- scale_columns_by(own$x, process$center, process$scale)
    d <- ncol(process$z)
    # The one matrix of many rows that there is: written where it is.
    found <- core_call(process_fill_cpp(
      kernel_to_core(process$kernel, d), process$z, x[, seq_len(d), drop = FALSE],
      as.double(if (process$number) x[, d + 1L] else own$inside),
      as.double(centre_weight(process, own, share)), rows$x, min(smooth$at) - 1L, threads
    ))
    rows$info$smooths[[at[k]]]$process[c("centre", "left")] <- found[c("centre", "left")]
    open[, k] <- found$open
  }
  rows$open <- open
  rows
}

# Weights of the rows in the mean that a term is centred by, NULL for none.
centre_weight <- function(process, own, share) {
  if (!process$centred) return(NULL)
  weight <- own$copies %||% rep(1, nrow(own$x))
  if (!is.null(share)) weight <- weight * share
  if (!is.null(own$inside)) weight <- weight * own$inside
  weight / sum(weight)
}

# New rows: columns of the processes, and the variance that they leave open. Of rows with holes once
# more when these are atoms.
fill_processes <- function(object, rows, threads = getOption("bayeskernel.threads", 2L)) {
  if (length(rows$processes) == 0L) return(rows)
  smooths <- processes_of(object$design$smooths)
  rows$open <- matrix(0, nrow(rows$x), length(smooths))
  for (k in seq_along(smooths)) {
    own <- process_columns(
      smooths[[k]]$process, rows$processes[[k]]$x, rows$processes[[k]]$inside, threads
    )
    rows$x[, smooths[[k]]$at] <- own$x
    rows$open[, k] <- own$open
  }
  if (is.null(rows$holes)) rows["processes"] <- list(NULL)
  rows
}

# Var f of rows beyond their columns, from the variances of the terms. A sampler's fit knows of
# none.
open_variance <- function(object, rows) {
  # Of no rows cbind() would make a column of NULL.
  open <- do.call(cbind, Filter(length, list(rows$open, rows$unit_open)))
  if (is.null(open) || !is.null(object$draws)) return(0)
  smooths <- object$design$smooths
  labels <- vapply(
    c(
      if (length(rows$open)) processes_of(smooths),
      if (length(rows$unit_open)) correlated_of(smooths)
    ), `[[`, "", "label"
  )
  variance <- vapply(object$posterior$variance, function(component) {
    if (component$type == "point") {
      component$value[1]
    } else if (component$type == "iid") {
      inverse_gamma_mean(component$shape, component$rate)
    } else {
      NA
    }
  }, 0)
  at <- match(labels, vapply(object$posterior$variance, `[[`, "", "label"))
  drop(open %*% variance[at])
}

# Variables of a term in new rows, NA where one is missing.
process_new <- function(smooth, frame) {
  process <- smooth$process
  d <- smooth$dim
  n <- .row_names_info(frame, 2L)
  columns <- lapply(seq_along(smooth$names), function(v) {
    new_smooth_variable(frame[[smooth$names[v]]], smooth$names[v], smooth$levels[[v]])
  })
  number <- process$number
  # Codes of a category: new_smooth_variable() has made it a factor.
  x <- vapply(columns[seq_len(d + number)], as.double, numeric(n))
  dim(x) <- c(n, d + number)
  colnames(x) <- c(smooth$names[seq_len(d)], if (number) "by")
  list(
    x = x,
    inside = if (!is.null(smooth$level)) as.numeric(as.character(columns[[d + 1L]]) == smooth$level)
  )
}

# Missing values -------------------------------------------------------------

# Which variables of the model frame are in processes, but not as the factor of `by`.
process_variables <- function(parsed) {
  unlist(lapply(Filter(is_process, parsed$smooths), function(term) {
    vapply(term$variables, deparse1, "")
  }))
}

# A process's variables as a part of missing_model().
process_part <- function(smooth, predictors, mask) {
  names <- smooth$names
  names <- names[seq_len(ncol(smooth$rows$x))]
  at <- match(predictors, names)
  x <- smooth$rows$x
  for (j in which(!is.na(at))) x[mask[, j], at[j]] <- 1
  made <- list(
    made = lapply(at, function(k) if (is.na(k)) integer() else k),
    itself = stats::setNames(at, predictors)
  )
  list(
    center = smooth$process$center, scale = smooth$process$scale, made = made,
    cells = missing_cells(x, made, mask)
  )
}

# Learning -------------------------------------------------------------------

# Length-scales and projections that were left open, at the maximum of the mean-field bound of the
# job's family and priors.
learn_processes <- function(job, rows) {
  smooths <- rows$info$smooths
  at <- which(vapply(smooths, is_process, NA))
  open <- lapply(smooths[at], function(smooth) smooth$process$free)
  if (sum(lengths(open)) == 0L) return(rows)
  share <- if (is.null(rows$atoms)) NULL else exp(rows$atoms$log_prior)
  terms <- lapply(seq_along(at), function(k) {
    process <- smooths[[at[k]]]$process
    own <- rows$processes[[k]]
    x <- scale_columns_by(own$x, process$center, process$scale)
    d <- ncol(process$z)
    list(
      first = min(smooths[[at[k]]]$at) - 1L, x = x[, seq_len(d), drop = FALSE], z = process$z,
      by = as.double(if (process$number) x[, d + 1L] else own$inside),
      centre_weight = as.double(centre_weight(process, own, share)),
      kernel = kernel_to_core(process$kernel, d), free = as.integer(process$free)
    )
  })
  data <- wide_data(learning_rows(c(job$data, list(processes = terms))), rows)
  # A sampler draws the variances of the terms.
  prior <- job$shared$prior
  labels <- vapply(smooths[at], `[[`, "", "label")
  for (l in seq_along(prior$blocks)) {
    if (prior$blocks[[l]]$label %in% labels) prior$blocks[[l]]$kind <- "point"
  }
  # The effects of the groups that are there.
  for (l in seq_along(prior$blocks)) {
    if (isTRUE(prior$blocks[[l]]$eliminated)) prior$blocks[[l]]$members <- data$n_groups
  }
  # Far shorter ones, too: from a long length-scale no gradient leads to the season of a series.
  control <- utils::modifyList(job$control, list(
    tol = 1e-4, max_iter = 500, most = max(40L, 5L * sum(lengths(open))), factors = 2^(1:-6),
    progress = FALSE
  ))
  found <- core_call(process_learn_cpp(data, prior, control))
  if (found$interrupted) return(rows)
  for (k in seq_along(at)) {
    rows$info$smooths[[at[k]]]$process$kernel <- settle_projections(
      update_kernel(smooths[[at[k]]]$process$kernel, found$log_parameters[[k]])
    )
  }
  rows
}

# The design of so many rows that the columns of processes are not kept, but computed by the core at
# every reading of the rows: `x` has names alone, `lean` the columns that are kept, and their
# places.
lean_columns <- function(fixed, smooths, before) {
  added <- rep(vapply(smooths, is_process, NA), lengths(lapply(smooths, `[[`, "block")))
  made <- c(logical(before), added)
  names <- character(length(made))
  names[before + which(added)] <- unlist(lapply(processes_of(smooths), `[[`, "columns"))
  there <- which(!made)[fixed$keep]
  names[there] <- colnames(fixed$x)
  keep <- sort(c(there, which(made)))
  at <- match(there, keep)
  spread <- function(values, default) {
    out <- rep(default, length(keep))
    out[at] <- values
    out
  }
  fixed$lean <- list(x = fixed$x, at = at)
  fixed$x <- matrix(0, 0L, length(keep), dimnames = list(NULL, names[keep]))
  fixed$center <- spread(fixed$center, 0)
  fixed$scale <- spread(fixed$scale, 1)
  fixed$keep <- keep
  fixed
}

# The same with all columns, those of processes to be filled.
whole_design <- function(rows) {
  if (is.null(rows$lean)) return(rows)
  rows$x <- wide_matrix(rows$lean, rows$x)
  rows["lean"] <- list(NULL)
  rows
}

wide_matrix <- function(lean, names) {
  out <- matrix(0, nrow(lean$x), ncol(names), dimnames = dimnames(names))
  out[, lean$at] <- lean$x
  out
}

# Data for the core with all columns.
wide_data <- function(data, rows) {
  if (is.null(rows$lean)) return(data)
  data$x <- wide_matrix(list(x = data$x, at = rows$lean$at), rows$x)
  data$center <- as.double(rows$center)
  data$scale <- as.double(rows$scale)
  data
}

# Beside the columns that are kept the core reads the variables of processes.
add_lean_processes <- function(job) {
  rows <- learn_processes(job, job$design)
  job$design$info <- rows$info
  terms <- processes_of(rows$info$smooths)
  variables <- lapply(seq_along(terms), function(k) {
    process <- terms[[k]]$process
    own <- job$design$processes[[k]]
    cbind(scale_columns_by(own$x, process$center, process$scale), own$inside)
  })
  job$data$variables <- unname(do.call(cbind, variables))
  job$data$plain <- ncol(job$data$x)
  job$data$variables_count <- ncol(job$data$variables)
  job$data$processes <- streamed_processes(terms, job$data$plain)
  job$design["processes"] <- list(NULL)
  # A fit at every point of a grid would take its time.
  job$control$variances <- "vb"
  job$shared$data <- job$data
  job
}

# What processes do not go with.
refuse_with_processes <- function(rows, settings) {
  found <- c(
    if (!isFALSE(settings$select %||% FALSE)) "`select`",
    if (settings$method == "gibbs" && !is.null(rows$holes)) {
      "missing = \"model\" with method = \"gibbs\""
    }
  )
  if (length(found)) {
    bk_abort(
      "argument", "Terms gp() do not go with what was asked for.",
      sprintf("Found: %s.", paste(found, collapse = " and ")),
      "Accepted: no selection; by sampling, complete rows.", column = "formula", found = found
    )
  }
}

# A formula of gpsvm() with gp() terms is one of bkm().
has_processes <- function(formula) {
  inherits(formula, "formula") && length(find_terms(
    formula[[length(formula)]], function(head) head %in% process_heads
  )) > 0L
}

mixed_gpsvm <- function(call, control) {
  own <- typed_entries(control, "gpsvm")
  alien <- intersect(c(names(call), names(own)), c(
    "kernel", "inducing", "tune", "tune_rows", "nugget", "optimize_inducing",
    "seeding", "rate", "epoch_tol"
  ))
  if (length(alien)) {
    bk_abort(
      "argument", sprintf("`%s` does not go with gp() terms in the formula.", alien[1]),
      "Accepted: kernel and inducing points of a term, gp(x, kernel = rbf()).", column = alien[1]
    )
  }
  call[[1L]] <- quote(bayeskernel::bkm)
  of_hinge <- intersect(names(call), c("learning_rate", "class_weights"))
  call$family <- if (length(of_hinge)) {
    as.call(c(quote(bayeskernel::hinge), as.list(call)[of_hinge]))
  } else {
    "hinge"
  }
  call[of_hinge] <- NULL
  call$control <- if (length(own)) as.call(c(quote(list), own))
  call
}

# Most rows that length-scales are learned from.
most_learning_rows <- 10000

# Of many rows some, all of a group or of a row's atoms or none, evenly spread.
learning_rows <- function(data, most = most_learning_rows) {
  n <- nrow(data$x)
  if (n <= most) return(data)
  unit <- if (length(data$group)) data$group else data$atoms$row %||% seq_len(n)
  units <- unique(unit)
  units <- units[spread_over(length(units), ceiling(length(units) * most / n))]
  at <- which(unit %in% units)
  data <- rows_at(data, at)
  if (length(data$group)) {
    data$group <- match(data$group, units)
    data$n_groups <- length(units)
  }
  data$processes <- lapply(data$processes, function(term) {
    for (name in c("x", "by", "centre_weight")) term[[name]] <- values_at(term[[name]], at)
    if (length(term$centre_weight)) {
      term$centre_weight <- term$centre_weight / sum(term$centre_weight)
    }
    term
  })
  data
}

# Saying ---------------------------------------------------------------------

# components: the table of the standard deviations of terms.
process_fact <- function(object, components) {
  terms <- processes_of(object$design$smooths)
  if (length(terms) == 0L) return(NULL)
  vapply(terms, function(term) {
    sprintf(
      "%s %s, %d inducing points", term$label,
      format_process(term$process, components$estimate[match(term$label, components$group)]),
      nrow(term$process$z)
    )
  }, "", USE.NAMES = FALSE)
}

# Variance that inducing points leave at the rows counts as noise of each.
process_note <- function(object) {
  terms <- processes_of(object$design$smooths)
  left <- vapply(terms, function(term) term$process$left %||% 0, 0)
  if (length(left) == 0L || max(left) < 0.002) return(NULL)
  worst <- terms[[which.max(left)]]
  sprintf(
    "Inducing points of %s leave %.1f %% of its variance: give more of them.",
    worst$label, 100 * max(left)
  )
}

# sd: of the term, whose square multiplies the kernel; or NA.
format_process <- function(process, sd) {
  kernel <- map_leaves(process$kernel, function(leaf) {
    for (name in intersect(c("lengthscale", "period"), names(leaf))) {
      if (!is.null(leaf[[name]])) leaf[[name]] <- signif(leaf[[name]], 3)
    }
    leaf
  })
  format(if (is.na(sd)) kernel else scale_kernel(kernel, signif(sd^2, 3)))
}

# The default number of inducing points.
default_inducing <- function(n) {
  if (n <= 250) min(n, 50) else min(max(50, ceiling(n / 5)), 100)
}

# For the core, which computes their columns; variables lie one after another, a multiple after
# those of its term.
streamed_processes <- function(terms, before) {
  lapply(unname(terms), function(term) {
    process <- term$process
    d <- ncol(process$z)
    has_by <- process$number || !is.null(term$level)
    columns <- before + seq_len(d)
    before <<- before + d + has_by
    list(
      kernel = kernel_to_core(process$kernel, d), z = process$z, columns = columns,
      by = if (has_by) before else 0L, first = min(term$at) - 1L, centred = process$centred
    )
  })
}
