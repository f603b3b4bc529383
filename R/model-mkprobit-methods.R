# What mkprobit() tells of its fits, and what only it has: weights of kernels, several fits as one
# classifier.

#' Weights of the kernels
#'
#' @param object A fit of [mkprobit()].
#' @param ... Unused.
#' @return Data frame, a row for each feature space: `space`; `mean` and `sd` of the posterior of
#'   its weight; `lower` and `upper`, limits of 95 %; `median`. The sampler has a spread, and so
#'   have `weights_method = "is"` and `"slice"`. Where the weights are held or are point estimates,
#'   `sd` is `NA` and there is no median. The weights of a product
#'   drawn with `"gibbs"` have no mean unless [mkprobit_prior()] has `weight_hyper = "fixed"`: then
#'   `mean` and `sd` are `NA`, and summaries have the median. For a binary composite the mean is the
#'   probability that the kernel is in it, and the attribute `states` holds the subsets with their
#'   bounds (by `"loo"` the sum of log probabilities of left-out objects) and probabilities.
#'   Columns that are `NA` throughout are not printed.
#' @section Errors: `bayeskernel_error_argument` for other models.
#' @seealso [mkprobit()], [mkprobit_control()]; `vignette("feature-spaces")`.
#' @references Damoulas, T. and Girolami, M. A. (2009). Combining feature spaces
#'   for classification. *Pattern Recognition* 42, 2671-2683, figures 8 and 9.
#' @examples
#' at <- seq(1, 150, by = 3)
#' spaces <- list(sepal = iris[at, 1:2], petal = iris[at, 3:4])
#' fit <- mkprobit(
#'   spaces, iris$Species[at],
#'   kernel_weights = "learn"
#' )
#' kernel_weights(fit)
#' @export
kernel_weights <- function(object, ...) {
  check_given("object")
  UseMethod("kernel_weights")
}

#' @rdname kernel_weights
#' @export
kernel_weights.bayeskernel_fit <- function(object, ...) {
  check_whole(object, ...)
  if (is.null(object$weights_table)) {
    bk_abort(
      "argument", sprintf("A fit of %s() has no weights of kernels.", class(object)[1]),
      "Accepted: a fit of mkprobit().", found = class(object)[1]
    )
  }
  structure(
    object$weights_table, states = object$states,
    class = c("bayeskernel_weights", class(object$weights_table))
  )
}

# Without the columns that a method has nothing for.
#' @export
print.bayeskernel_weights <- function(x, ...) {
  known <- !vapply(x, function(column) all(is.na(column)), NA)
  shown <- as.data.frame(x)[known]
  numbers <- vapply(shown, is.numeric, NA)
  # A weight far below the largest is 0.
  places <- 4 - ceiling(log10(max(unlist(shown[numbers]), na.rm = TRUE)))
  if (is.finite(places)) shown[numbers] <- round(shown[numbers], places)
  print(shown, ...)
  invisible(x)
}

#' @exportS3Method
parameters.mkprobit <- function(object, level = 0.95) {
  functions <- reference_table(object, level)
  rbind(
    if (object$learned) parameter_rows("parameter", weights_matrix(object, level)),
    sampled_parameters(object, level), kernel_rows(object),
    parameter_rows(
      "function", functions, group = "rows of the data", label = function_labels(object)
    )
  )
}

weights_matrix <- function(object, level) {
  names <- sprintf("weight[%s]", names(object$spaces))
  own <- object$weights_table
  # Those that a process was given before its chains are no draws.
  if (all(names %in% dimnames(object$draws)[[3]])) {
    draws <- object$draws[, , names, drop = FALSE]
    out <- draws_table(draws, level)
    if (!has_mean(object)) out[, 1:2] <- cbind(apply(draws, 3, stats::median), NA)
    return(out)
  }
  scale <- stats::qnorm((1 + level) / 2) / stats::qnorm(0.975)
  limit <- function(end) own$mean + scale * (end - own$mean)
  out <- coef_table(
    stats::setNames(own$mean, names), own$sd, limit(own$lower), limit(own$upper), level = level
  )
  # A point estimate has no spread.
  out[is.na(out[, 2]) | out[, 2] == 0, 2:4] <- NA
  out
}

# Hyperparameters and length-scales that were drawn.
sampled_parameters <- function(object, level) {
  if (is.null(object$draws)) return(NULL)
  names <- dimnames(object$draws)[[3]]
  at <- grepl("^(rho|pi|chi|log_theta)\\[", names)
  if (any(at)) parameter_rows("parameter", draws_table(object$draws[, , at, drop = FALSE], level))
}

kernel_rows <- function(object) {
  values <- c(
    kernel_parameters(object), if (!is.null(object$process)) {
      stats::setNames(object$process, paste0("process.", names(object$process)))
    }
  )
  if (length(values) == 0L) return(NULL)
  parameter_rows("kernel", coef_table(values, rep(NA_real_, length(values))))
}

# The latent functions at the rows of reference.
reference_table <- function(object, level) {
  if (!is.null(object$draws)) {
    names <- dimnames(object$draws)[[3]]
    at <- startsWith(names, "f[")
    return(draws_table(object$draws[, , at, drop = FALSE], level))
  }
  moments <- object$reference_moments
  coef_table(
    stats::setNames(as.vector(moments$mean), function_names(object)), sqrt(as.vector(moments$var)),
    level = level
  )
}

function_labels <- function(object) {
  names <- if (is.null(object$draws)) {
    function_names(object)
  } else {
    all <- dimnames(object$draws)[[3]]
    all[startsWith(all, "f[")]
  }
  sub("^f\\[([^,]*),?(.*)\\]$", "\\2 f at row \\1", names)
}

#' @exportS3Method
facts.mkprobit <- function(object, only = NULL) {
  count <- length(object$spaces)
  groups <- group_sizes(object)
  chosen_facts(
    only, title = paste(
      if (count > 1L) "Multinomial probit on combined kernels," else "Multinomial probit,",
      if (object$method == "vb") "variational Bayes" else "Gibbs sampler"
    ),
    Rows = if (length(object$levels) == 2L) {
      rows_fact(object)
    } else {
      sprintf("%.0f in %d classes: %s", object$n, length(object$levels), list_some(object$levels))
    },
    Groups = if (length(groups)) sprintf("%s %d", names(groups), groups),
    Counts = counts_fact(object),
    "Class weights" = if (length(object$class_weights)) class_weights_fact(object),
    Spaces = if (count > 1L) sprintf("%d, their %s", count, switch(
      object$combine, sum = "weighted sum", product = "product", binary = "subset"
    )),
    Kernels = if (count == 1L) {
      format(whole_kernel(object))
    } else {
      paste(
        utils::head(sprintf("%s %s", names(object$spaces), vapply(object$kernel, format, "")), 8L),
        collapse = "; "
      )
    },
    LOO = left_out_fact(object),
    Weights = if (count > 1L) weights_fact(object), Process = mkprobit_process_fact(object),
    Tuned = if (!is.null(object$process) && !is.null(object$tuned)) {
      process_tuning_fact(object$tuned)
    },
    Scales = if (is.null(object$process)) {
      paste(switch(object$latent_scales,
        class = "one for every class and regressor",
        shared = "shared by the classes", fixed = "fixed"
      ), if (object$sparse) ", sparse" else "", sep = "")
    },
    Regressors = if (!is.null(object$inducing_count)) {
      sprintf("the kernels to %d objects", object$inducing_count)
    },
    Relevant = if (!is.null(object$relevant)) relevant_fact(object)
  )
}

# The only kernel, with the variance of the process.
whole_kernel <- function(object) {
  kernel <- object$kernel
  variance <- object$process[["variance"]]
  if (is.null(variance) || stands_alone(kernel)) kernel else scale_kernel(kernel, variance)
}

mkprobit_process_fact <- function(object) {
  found <- object$process
  if (is.null(found)) return(NULL)
  said <- length(object$spaces) == 1L && !stands_alone(object$kernel)
  text <- c(
    if (!said) paste("variance", signif(found[["variance"]], 3)),
    if (found[["intercept"]] > 0) sprintf("sd of class constants %.3g", found[["intercept"]]),
    sprintf("variance of %s %.3g", names(found)[-(1:3)], found[-(1:3)]),
    if (found[["sharpness"]] != 1) {
      sprintf("latent means multiplied by %.3g", found[["sharpness"]])
    }
  )
  if (length(text)) paste(text, collapse = ", ")
}

process_tuning_fact <- function(tuned) {
  sprintf(
    "by leave-one-out on %.0f rows%s", tuned$rows,
    if (!tuned$settled && !tuned$interrupted) ", not settled" else ""
  )
}

relevant_fact <- function(object) {
  counts <- object$relevant
  of <- ncol(object$coefficients$mean)
  if (length(counts) == 1L) return(sprintf("%.0f of %d regressors", counts, of))
  sprintf(
    "%s of %d regressors each",
    paste(utils::head(paste(names(counts), counts), 8L), collapse = ", "), of
  )
}

# Exactly equal are only those of the start.
has_start_weights <- function(object) {
  mean <- object$weights_table$mean
  object$learned && is.null(object$draws) && all(mean == mean[1L])
}

weights_fact <- function(object) {
  table <- object$weights_table
  spread <- ifelse(
    is.na(table$sd) | table$sd == 0, "", sprintf(" (sd %s)", format(table$sd, digits = 2))
  )
  heavy <- !is.null(object$draws) && !has_mean(object)
  middle <- if (heavy) table$median %||% table$mean else table$mean
  if (has_start_weights(object)) return("equal: learned weights were no better in folds")
  shown <- utils::head(paste0(table$space, " ", format(middle, digits = 3), spread), 8L)
  paste0(
    if (object$learned) "learned: " else "held: ", if (heavy) "medians ",
    paste(shown, collapse = ", ")
  )
}

#' @exportS3Method
extras.mkprobit <- function(object) {
  qr <- isTRUE(object$diagnostics$qr)
  list(
    summary = list(weights = object$weights_table, states = object$states),
    glance = list(spaces = length(object$spaces), combine = object$combine),
    notes = c(
      if (qr) "Badly conditioned kernels: solved by QR.",
      if (isFALSE(object$search$taken)) {
        "Tuned length-scales predicted worse; the fit is that of the start."
      },
      if (!is.null(object$diagnostics$weights_ess)) {
        sprintf("The effective sample size of the weights is %.0f.", object$diagnostics$weights_ess)
      }
    )
  )
}

# Several fits as one ----------------------------------------------------------

#' Combine several classifiers
#'
#' Combines the class probabilities of fits to the same classes, one for each feature space as a
#' rule: what [mkprobit()] combines kernels instead.
#'
#' @param fits A named list of fits with the same classes, in any order, of
#'   [mkprobit()] or of any model of this package.
#' @param rule `"product"` of the probabilities, `"mean"`, the largest (`"max"`), or `"majority"`:
#'   the share of the fits that choose the class, ties broken by the mean.
#' @param object What `combine_classifiers()` gives.
#' @param newdata A list of new rows for each fit, with the names of the fits;
#'   or rows that suit all of them. Default: the rows of the fits, which then
#'   must have the same classes, row by row. Rows with names are matched by these.
#' @param type `"class"`, `"prob"` or `"logprob"`.
#' @param x See `object`.
#' @param ... Passed to `predict()` of the fits.
#' @return `combine_classifiers()`: an object of class `combined_classifiers`
#'   with `fits`, `rule` and `levels`. `predict()`: a factor, or a matrix rows x
#'   classes whose rows sum to 1, or its logarithm.
#' @section Errors: `bayeskernel_error_argument` if one of the fits is a
#'   regression, if they do not share their classes, or `newdata` has no part
#'   for one of them; `bayeskernel_error_dimension` if the rows are not the same.
#' @seealso [mkprobit()]; `vignette("feature-spaces")`.
#' @references Damoulas, T. and Girolami, M. A. (2009). Combining feature spaces
#'   for classification. *Pattern Recognition* 42, 2671-2683, section 4.3.
#' @examples
#' at <- seq(1, 150, by = 2)
#' spaces <- list(sepal = iris[1:2], petal = iris[3:4])
#' fits <- lapply(spaces, function(x) {
#'   mkprobit(x[at, ], iris$Species[at])
#' })
#' both <- combine_classifiers(fits, "product")
#' mean(predict(both, lapply(spaces, `[`, -at, )) == iris$Species[-at])
#' @export
combine_classifiers <- function(fits, rule = c("product", "mean", "max", "majority")) {
  check_given("fits")
  rule <- check_choice(rule, c("product", "mean", "max", "majority"), "rule")
  good <- is.list(fits) && length(fits) > 0L && all(vapply(fits, function(fit) {
    inherits(fit, "bayeskernel_fit")
  }, NA))
  if (!good || (!is.null(names(fits)) && anyDuplicated(names(fits)))) {
    abort_argument(fits, "fits", "a list of fits to classes, such as mkprobit()")
  }
  for (fit in fits) refuse_changed(fit)
  refuse_regressions(fits)
  levels <- class_levels(fits[[1]])
  same <- vapply(fits, function(fit) setequal(class_levels(fit), levels), NA)
  if (!all(same)) {
    other <- class_levels(fits[[which(!same)[1]]])
    bk_abort(
      "argument", "The fits do not have the same classes.",
      sprintf("Found: %s in fit %d.", list_some(other), which(!same)[1]),
      sprintf("Accepted: those of the first, %s.", list_some(levels)),
      column = "fits", found = other, expected = levels
    )
  }
  structure(list(fits = fits, rule = rule, levels = levels), class = "combined_classifiers")
}

refuse_regressions <- function(fits) {
  wrong <- which(vapply(fits, is_regression, NA))
  if (length(wrong)) {
    bk_abort(
      "argument", "There is a regression among the fits.",
      sprintf("Found: fit %d, by %s(), of a number.", wrong[1], model_of(fits[[wrong[1]]])$name),
      "Accepted: fits to the same classes.",
      column = "fits", found = unname(wrong), expected = "classes"
    )
  }
}

#' @rdname combine_classifiers
#' @export
predict.combined_classifiers <- function(object, newdata = NULL,
                                         type = c("class", "prob", "logprob"), ...) {
  type <- check_choice(type, c("class", "prob", "logprob"), "type")
  fits <- object$fits
  rows <- rows_by_fit(fits, newdata)
  logs <- unname(Map(function(fit, rows) {
    out <- if (inherits(fit, "mkprobit")) {
      stats::predict(fit, rows, type = "logprob", ...)
    } else {
      prob <- stats::predict(fit, rows, type = "prob", ...)
      log(pmax(prob, .Machine$double.xmin))
    }
    out[, object$levels, drop = FALSE]
  }, fits, rows))
  sizes <- vapply(logs, nrow, 1L)
  if (length(unique(sizes)) > 1L) {
    bk_abort(
      "dimension", "The fits were given different numbers of rows.",
      sprintf("Found: %s.", paste(sizes, collapse = ", ")), column = "newdata", found = sizes
    )
  }
  orders <- row_orders(logs)
  if (is.null(newdata)) check_same_rows(fits, orders)
  logs <- Map(take_objects, logs, orders)
  out <- combined_logs(logs, object$rule)
  dimnames(out) <- list(rownames(logs[[1]]), object$levels)
  switch(type,
    class = chosen_class(list(levels = object$levels), exp(out)),
    prob = exp(out), logprob = out
  )
}

# For each fit the order in which its rows are those of the first that has names, NULL as they are.
row_orders <- function(logs) {
  names <- lapply(logs, rownames)
  first <- Position(Negate(is.null), names)
  lapply(seq_along(names), function(k) {
    if (!is.na(first)) {
      match_objects(
        names[[k]], names[[first]], sprintf("the rows of fit %d", k),
        sprintf("those of fit %d", first)
      )
    }
  })
}

# Of the rows of the fits their classes tell whether they are the same.
check_same_rows <- function(fits, orders) {
  classes <- Map(function(fit, order) {
    if (length(fit$y)) {
      own <- stats::napredict(fit$na.action, own_classes(fit))
      take_objects(fit$levels[own], order)
    }
  }, unname(fits), orders)
  known <- which(lengths(classes) > 0L)
  for (k in known[-1L]) {
    other <- which(classes[[k]] != classes[[known[1]]])
    if (length(other)) {
      bk_abort(
        "dimension", "The fits do not have the same rows in the same order.",
        sprintf(
          "Found: row %d is of class %s in fit %d, of %s in fit %d.", other[1],
          quoted(classes[[known[1]]][other[1]]), known[1], quoted(classes[[k]][other[1]]), k
        ),
        "Accepted: the same rows in one order, or rows with names.",
        column = "newdata", row = other[1], found = classes[[k]][other[1]]
      )
    }
  }
}

rows_by_fit <- function(fits, newdata) {
  count <- length(fits)
  split <- is.list(newdata) && !is.data.frame(newdata) &&
    length(newdata) == count && (is.null(names(fits)) || all(names(fits) %in% names(newdata)))
  if (!split) return(rep(list(newdata), count))
  if (is.null(names(fits))) newdata else newdata[names(fits)]
}

# Log probabilities, rows x classes, that sum to one over the classes.
combined_logs <- function(logs, rule) {
  probs <- lapply(logs, exp)
  mean <- Reduce(`+`, probs) / length(probs)
  out <- switch(rule,
    product = Reduce(`+`, logs),
    mean = log(mean),
    max = do.call(pmax, logs),
    majority = {
      votes <- Reduce(`+`, lapply(logs, function(log) {
        best <- max.col(replace(log, is.na(log), -Inf), "first")
        out <- 0 * log
        out[cbind(seq_along(best), best)] <- 1 + out[cbind(seq_along(best), best)]
        out
      }))
      # Less than a vote.
      log(votes + 1e-6 * mean)
    }
  )
  out[out == -Inf] <- -1e300
  out - log_row_sums(out)
}

#' @rdname combine_classifiers
#' @export
print.combined_classifiers <- function(x, ...) {
  print_facts(c(
    Classifiers = sprintf("%d, combined by \"%s\"", length(x$fits), x$rule),
    Classes = list_some(x$levels)
  ))
  invisible(x)
}

# Groups -----------------------------------------------------------------------

# Effects of each grouping factor's levels on each class's latent function. `condVar`: their
# variances, which leave out those between classes.
#' @exportS3Method
ranef.mkprobit <- function(object, condVar = TRUE, ...) {
  check_no_dots(...)
  condVar <- check_flag(condVar, "condVar")
  groups <- grouping_factors(object)
  found <- group_coefficients(object)
  last <- cumsum(lengths(groups$levels))
  out <- lapply(seq_along(groups$labels), function(t) {
    levels <- groups$levels[[t]]
    at <- last[t] - rev(seq_along(levels)) + 1L
    frame <- as.data.frame(t(found$mean[, at, drop = FALSE]) * sqrt(groups$variance[t]))
    dimnames(frame) <- list(levels, object$levels)
    if (condVar) {
      var <- apply(found$var[, at, drop = FALSE] * groups$variance[t], 2L, diag, simplify = FALSE)
      attr(frame, "postVar") <- simplify2array(var)
    }
    frame
  })
  ranef_table(stats::setNames(out, groups$labels))
}

#' @exportS3Method
VarCorr.mkprobit <- function(x, sigma = 1, ...) {
  groups <- grouping_factors(x)
  new_varcorr(stats::setNames(lapply(groups$variance, function(variance) {
    matrix(variance, 1L, 1L, dimnames = rep(list("(Intercept)"), 2L))
  }), groups$labels))
}

#' @exportS3Method lme4::ngrps
ngrps.mkprobit <- function(object, ...) {
  groups <- grouping_factors(object)
  stats::setNames(lengths(groups$levels), groups$labels)
}

grouping_factors <- function(object) {
  groups <- object$posterior$process$groups
  if (is.null(groups)) need_random(object)
  groups
}

# Coefficients of the indicators of levels, classes x levels: the last but for the constants.
group_coefficients <- function(object) {
  process <- object$posterior$process
  levels <- sum(lengths(process$groups$levels))
  classes <- length(object$levels)
  core <- object$posterior$core
  moments <- if (object$method == "vb") {
    object$coefficients[c("mean", "var")]
  } else {
    w <- do.call(cbind, lapply(core$chains, `[[`, "mean"))
    mean <- rowMeans(w)
    list(
      mean = matrix(mean, classes),
      var = matrix(rowSums((w - mean)^2) / max(1, ncol(w) - 1), classes)
    )
  }
  at <- ncol(moments$mean) - (process$intercept > 0) - rev(seq_len(levels)) + 1L
  lapply(moments, function(x) x[, at, drop = FALSE])
}
