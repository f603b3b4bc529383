# From latent values to probabilities and classes.

# E g(f) for f ~ N(mean, var).
link_probability <- function(mean, var, link) {
  switch(link,
    probit = stats::pnorm(mean / sqrt(1 + var)),
    identity = mean,
    link_probability_cpp(as.double(mean), as.double(var), link)
  )
}

# g(f) itself.
link_curve <- function(f, link) {
  # Where there are no rows pnorm() drops the dimensions.
  f[] <- switch(link,
    probit = stats::pnorm(f), logit = stats::plogis(f), identity = f,
    hinge = stats::plogis(2 * (pmax(1 + f, 0) - pmax(1 - f, 0)))
  )
  f
}

# Probabilities of classes where a share of the rows, `lapse` of a tuned process or of a calibrated
# link, is of any class.
lapsed <- function(prob, by, classes) {
  share <- by$lapse
  if (is.null(share)) prob else (1 - share) * prob + share / classes
}

lapsed_log <- function(log_prob, process, classes) {
  if (is.null(process$lapse)) log_prob else log(lapsed(exp(log_prob), process, classes))
}

# link_curve() of two classes of a fit.
fit_curve <- function(object, f, link) {
  lapsed(link_curve(f, link), object$posterior$process, 2L)
}

# Probabilities of one or more machines by each link; those of several are divided by their sum.
link_moments <- function(mean, var, links) {
  prob <- lapply(links, function(link) {
    prob <- link_probability(mean, var, link)
    if (!is.matrix(mean)) return(prob)
    dim(prob) <- dim(mean)
    colnames(prob) <- colnames(mean)
    normalise_rows(prob)
  })
  list(prob = stats::setNames(prob, links))
}

# Standard deviation of g(f).
probability_sd <- function(mean, var, link, threads = 1L) {
  core_call(link_moments_cpp(as.double(mean), as.double(var), link, threads))$prob_sd
}

# Quantiles of every column, as quantile() gives them: probs x columns.
column_quantiles <- function(x, probs) {
  n <- nrow(x)
  sorted <- matrix(x[order(col(x), x)], n)
  at <- 1 + (n - 1) * probs
  low <- pmax(floor(at + 4 * .Machine$double.eps), 1)
  part <- pmax(at - low, 0)
  high <- pmin(low + 1, n)
  sorted[low, , drop = FALSE] * (1 - part) + sorted[high, , drop = FALSE] * part
}

# The same by all order statistics, those near the quantile weighing most (Harrell and Davis, 1982):
# the error is smaller, and quantiles of curves that cross are smooth.
steady_quantiles <- function(x, probs) {
  n <- nrow(x)
  if (n == 1L) return(x[rep(1L, length(probs)), , drop = FALSE])
  sorted <- matrix(x[order(col(x), x)], n)
  weights <- vapply(probs, function(p) {
    diff(stats::pbeta((0:n) / n, (n + 1) * p, (n + 1) * (1 - p)))
  }, numeric(n))
  crossprod(weights, sorted)
}

log_row_sums <- function(x) {
  most <- apply(x, 1L, max)
  most + log(rowSums(exp(x - most)))
}

# Far from every class all are 0.
normalise_rows <- function(prob) {
  prob <- pmax(prob, .Machine$double.xmin)
  prob / rowSums(prob)
}

# What a calibration is about: with two classes the positive one, with more the most probable one of
# each row.
most_probable <- function(prob) {
  class <- if (ncol(prob) == 2L) rep(2L, nrow(prob)) else max.col(prob, "first")
  list(class = class, prob = unname(prob[cbind(seq_along(class), class)]))
}

# Its probability, and whether it happened.
judge <- function(prob, true) {
  best <- most_probable(prob)
  data.frame(probability = best$prob, happened = true == best$class)
}

# Of the class of each row, from those of the second of two classes or of all.
own_probability <- function(prob, y) {
  if (NCOL(prob) > 1L) return(prob[cbind(seq_along(y), y)])
  prob <- drop(prob)
  ifelse(y == 2L, prob, 1 - prob)
}

# A fit with the log probabilities `loo` of its classes `y`, each given the other rows, from those
# of all classes; of more than two also with `judged`.
add_left_out <- function(fit, log_prob, y) {
  fit$loo <- own_probability(log_prob, y)
  if (ncol(log_prob) > 2L) fit$judged <- judge(normalise_rows(exp(log_prob)), y)
  fit
}

# Columns are classes, whether `prob` has one for each or that of the second.
probability_matrix <- function(prob, levels) {
  if (is.matrix(prob)) return(prob)
  matrix(c(1 - prob, prob), length(prob), 2, dimnames = list(names(prob), levels))
}

# Equal probabilities go to the positive class.
class_factor <- function(prob, cut, levels) factor(levels[1L + (prob >= cut)], levels)

# `mean` of f, whose sign `threshold = "margin"` is.
chosen_class <- function(object, prob, threshold = NULL, mean = NULL) {
  out <- if (identical(threshold, "margin")) {
    class_factor(mean, 0, object$levels)
  } else if (is.matrix(prob)) {
    best <- rep(NA_integer_, nrow(prob))
    there <- which(!is.na(prob[, 1]))
    best[there] <- max.col(prob[there, , drop = FALSE], "first")
    factor(object$levels[best], object$levels)
  } else {
    class_factor(prob, resolve_threshold(threshold, object), object$levels)
  }
  if (identical(object$family, "ordinal")) out <- factor(out, object$levels, ordered = TRUE)
  if (!is.null(object$declared)) out <- factor(out, object$declared)
  names(out) <- if (is.matrix(prob)) rownames(prob) else names(prob)
  out
}

resolve_threshold <- function(threshold, object) {
  if (is.null(threshold)) return(0.5)
  if (identical(threshold, "prevalence")) {
    if (!is.null(object$share)) return(object$share)
    return(sum(object$weights[object$y > 0]) / sum(object$weights))
  }
  if (identical(threshold, "margin")) return(NA_real_)
  if (is.character(threshold)) {
    abort_argument(threshold, "threshold", "a number from 0 to 1, \"prevalence\" or \"margin\"")
  }
  check_number(threshold, 0, 1, "threshold")
}

is_regression <- function(object) length(object$levels) == 0L

# More than two classes without an order have a machine, a latent function, each.
has_machines <- function(object) length(object$levels) > 2L && !identical(object$family, "ordinal")

# Numbers of the classes of the rows of the fit.
own_classes <- function(object) {
  y <- object$y
  if (length(object$levels) == 2L && min(y) < 0) 1.5 + 0.5 * y else y
}
