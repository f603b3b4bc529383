#' Balanced error rate
#'
#' The mean over the true classes of the share of their rows that were predicted to be of another
#' class. Unlike the plain error rate it does not reward a rule that always names the larger class:
#' with two classes that rule has a balanced error of 0.5.
#'
#' @param truth True classes: factor, character, logical or numeric vector, length n.
#' @param predicted Predicted classes, length n, with the labels of `truth`.
#' @return One number in \[0, 1\]. Rows where either is `NA` are left out, and
#'   classes that no row is of.
#' @section Errors: `bayeskernel_error_dimension` if the lengths differ or no row remains,
#'   `bayeskernel_error_response` for what are no labels, `bayeskernel_error_argument` if
#'   `predicted` names a class that `truth` does not know.
#' @seealso [auc()], [brier_score()], [calibration()].
#' @references Luts, J. and Ormerod, J. T. (2014). Mean field variational
#'   Bayesian inference for support vector machine classification.
#'   *Computational Statistics & Data Analysis* 73, 163-176, section 4.
#' @examples
#' truth <- factor(c("no", "no", "no", "yes"))
#' balanced_error(truth, c("no", "no", "no", "no"))
#' @export
balanced_error <- function(truth, predicted) {
  check_given("truth", "predicted")
  refuse_fit(truth, "truth")
  refuse_label_type(truth, "truth", list())
  refuse_label_type(predicted, "predicted", list())
  if (length(truth) != length(predicted)) {
    bk_abort(
      "dimension", "`truth` and `predicted` have different lengths.",
      sprintf("Found: %d and %d.", length(truth), length(predicted)),
      found = length(predicted), expected = length(truth)
    )
  }
  known <- if (is.factor(truth)) levels(truth) else unique(truth)
  known <- as.character(known[!is.na(known)])
  named <- if (is.factor(predicted)) levels(predicted) else unique(predicted)
  strange <- setdiff(as.character(named[!is.na(named)]), known)
  truth <- as.character(truth)
  predicted <- as.character(predicted)
  if (any(strange %in% predicted)) {
    bk_abort(
      "argument", "`predicted` has classes that `truth` does not have.",
      paste("Found:", list_some(quoted(strange), 4L)),
      paste("Accepted:", paste(quoted(known), collapse = ", ")),
      column = "predicted", found = strange, expected = known
    )
  }
  use <- !is.na(truth) & !is.na(predicted)
  if (!any(use)) {
    bk_abort(
      "dimension", "No row has both a true and a predicted class.",
      sprintf("Found: %d rows.", length(truth)),
      column = "truth", found = length(truth), expected = 1L
    )
  }
  mean(tapply(predicted[use] != truth[use], truth[use], mean))
}

#' Brier score and log-loss
#'
#' How far predicted probabilities are from what happened; smaller is better. Both are proper: no
#' forecast does better in the long run than the true probabilities.
#'
#' With two classes the Brier score is that of the positive class, the mean of (1\[y positive\] -
#' p)^2, from 0 to 1; a constant p = 0.5 has 0.25. With more classes it is the mean over the rows of
#' the sum over the classes of (1\[y = k\] - p_k)^2, from 0 to 2: with two classes that would be
#' twice the number given here.
#'
#' The log-loss is the mean of -log p of the class that a row has, with p
#' clipped to \[1e-15, 1 - 1e-15\]; a constant p = 0.5 has log 2.
#'
#' @param y True classes, length n: a factor (with two levels the second is the positive class),
#'   text (its levels are the sorted labels), logical, 0/1 or -1/+1. All rows may be of one class.
#' @param prob Probabilities in \[0, 1\]: of the positive class, length n; or a matrix n x classes,
#'   as `predict(type = "prob")` gives it. Its column names, if it has any, are the classes as text;
#'   else its columns are the levels of `y` in order. With two columns the second is the positive
#'   class. Rows sum to 1, up to 0.001. A class that no row has, and whose probability is 0 in every
#'   row, does not count: what remains may be two classes.
#' @return One number.
#' @section Errors: `bayeskernel_error_dimension` if the lengths differ or there are no rows,
#'   `bayeskernel_error_missing` for missing values, `bayeskernel_error_response` if `y` is of
#'   another kind or has classes that `prob` does not have, `bayeskernel_error_argument` if `prob`
#'   is not between 0 and 1, or its rows do not sum to 1.
#' @references
#' Brier, G. W. (1950). Verification of forecasts expressed in terms of
#' probability. *Monthly Weather Review* 78, 1-3.
#'
#' Gneiting, T. and Raftery, A. E. (2007). Strictly proper scoring rules, prediction, and
#' estimation. *Journal of the American Statistical Association* 102, 359-378.
#' @seealso [auc()], [calibration()], [balanced_error()].
#' @examples
#' y <- factor(c("no", "no", "yes", "yes"))
#' brier_score(y, c(0.1, 0.4, 0.6, 0.9))
#' log_loss(y, c(0.1, 0.4, 0.6, 0.9))
#' three <- factor(c("a", "b", "c"))
#' brier_score(three, rbind(c(0.8, 0.1, 0.1), c(0.2, 0.5, 0.3), c(0, 0, 1)))
#' @export
brier_score <- function(y, prob) {
  check_given("y", "prob")
  rows <- scored_rows(y, prob)
  if (ncol(rows$prob) == 2L) {
    mean(((rows$true == 2L) - rows$prob[, 2])^2)
  } else {
    mean(rowSums((diag(ncol(rows$prob))[rows$true, ] - rows$prob)^2))
  }
}

#' @rdname brier_score
#' @export
log_loss <- function(y, prob) {
  check_given("y", "prob")
  rows <- scored_rows(y, prob)
  p <- rows$prob[cbind(seq_along(rows$true), rows$true)]
  -mean(log(pmin(pmax(p, 1e-15), 1 - 1e-15)))
}

#' Area under the ROC curve
#'
#' The share of the pairs of a positive and a negative row in which the positive one has the higher
#' score, ties counting one half: 0.5 is guessing. By mid-ranks, in the order of n log n operations.
#' With more than two classes the mean over all pairs of classes (Hand and Till 2001).
#'
#' @param y True classes, as in [brier_score()]; two or more must occur.
#' @param score Numeric, length n; higher means more likely positive. Only the order counts: latent
#'   values and probabilities give the same area. Or a matrix with a column for each class, by name
#'   as in [brier_score()], where levels of `y` without rows do not count.
#' @return One number in \[0, 1\].
#' @section Errors: `bayeskernel_error_response` if one class only occurs or
#'   `y` is of another kind, `bayeskernel_error_missing` for missing values,
#'   `bayeskernel_error_dimension` if the lengths differ.
#' @seealso [balanced_error()], [brier_score()], [calibration()].
#' @references Hanley, J. A. and McNeil, B. J. (1982). The meaning and use of the area under a
#'   receiver operating characteristic (ROC) curve. *Radiology* 143, 29-36.
#'
#'   Hand, D. J. and Till, R. J. (2001). A simple generalisation of the area under the ROC curve for
#'   multiple class classification problems. *Machine Learning* 45, 171-186.
#' @examples
#' auc(c(0, 0, 1, 1), c(0.1, 0.4, 0.35, 0.8))
#' @export
auc <- function(y, score) {
  check_given("y", "score")
  all <- label_codes(y)
  labels <- two_classes(all)
  if (is.data.frame(score)) score <- as.matrix(score)
  check_score(score, length(y), "score")
  if (is.null(labels)) return(auc_of_pairs(all, score))
  if (NCOL(score) > 2L) score <- score_of_two(labels, score, all$levels)
  if (NCOL(score) > 2L) abort_classes(labels$levels, sprintf("%d columns", ncol(score)), "score")
  positive <- labels$code == 2L
  if (NCOL(score) == 2L) {
    positive <- match_columns(labels, score, "score") == 2L
    score <- score[, 2]
  }
  n1 <- as.double(sum(positive))
  n0 <- length(positive) - n1
  if (n1 == 0 || n0 == 0) {
    bk_abort(
      "response", "`y` has one class only: the area is not defined.",
      sprintf("Found: all %d rows are %s.", length(y), quoted(labels$levels[1 + (n0 == 0)])),
      column = "y", found = labels$levels[1 + (n0 == 0)], expected = 2L
    )
  }
  rank_area(score, positive)
}

rank_area <- function(score, positive) {
  n1 <- as.double(sum(positive))
  (sum(rank(score)[positive]) - n1 * (n1 + 1) / 2) / (n1 * (length(positive) - n1))
}

# Of each pair of classes that occur, the mean of the two areas by the score of either.
auc_of_pairs <- function(labels, score) {
  if (NCOL(score) < 3L) {
    bk_abort(
      "response", "Argument `y` is not valid: it has more than two levels.",
      sprintf("Found: %d levels, %s.", length(labels$levels), list_some(quoted(labels$levels))),
      "Accepted: two levels, or `score` a matrix with one named column for each class.",
      column = "y", found = labels$levels, expected = 2L
    )
  }
  column <- match_columns(labels, score, "score")
  classes <- unique(column)
  if (length(classes) < 2L) return(auc(labels$code == labels$code[1L], score[, column[1L]]))
  pairs <- utils::combn(classes, 2L)
  mean(apply(pairs, 2L, function(pair) {
    rows <- column %in% pair
    mean(vapply(pair, function(k) rank_area(score[rows, k], column[rows] == k), 1))
  }))
}

# The columns of the two classes, where names tell which these are and others are of levels that
# `declared` has without rows, or are 0.
score_of_two <- function(labels, score, declared) {
  at <- match(labels$levels, colnames(score))
  more <- setdiff(seq_len(ncol(score)), at)
  empty <- colnames(score)[more] %in% declared | colSums(score[, more, drop = FALSE] != 0) == 0
  if (anyNA(at) || !all(empty)) score else score[, at, drop = FALSE]
}

#' Calibration table: predicted against observed frequency
#'
#' Rows are put into bins by their predicted probability. Where predictions mean what they say, the
#' observed frequency of a bin is its mean prediction, up to chance. `plot(fit, "calibration")`
#' draws the table.
#'
#' @inheritParams brier_score
#' @param prob As in [brier_score()]. With more than two classes the probability of the most
#'   probable class is held against how often it was the right one.
#' @param bins Number of bins of equal width on \[0, 1\], from 2 to 10,000. Default: up to ten
#'   bins between quantiles of the probability, of about 20 rows or more, or a third of all if these
#'   are fewer than 60.
#' @return Data frame, one row for each bin that is not empty: `predicted`, the
#'   mean probability; `observed`, the frequency; `lower` and `upper`, its 95 %
#'   interval of Wilson (1927); `rows`, their number.
#' @inheritSection brier_score Errors
#' @details Package caret has a function of this name for formulas. With both attached, calls with
#'   labels come here.
#' @seealso [brier_score()], [plot()][plot.bayeskernel_fit] with `"calibration"`.
#' @references Wilson, E. B. (1927). Probable inference, the law of succession, and statistical
#'   inference. *Journal of the American Statistical Association* 22, 209-212.
#' @examples
#' set.seed(1)
#' p <- runif(500)
#' calibration(runif(500) < p, p, bins = 5)
#' @export
calibration <- function(y, prob, bins = NULL) {
  check_given("y")
  if (inherits(y, "formula")) {
    bk_abort(
      "argument", "`y` is a formula.", "Accepted: labels, and probabilities of them as `prob`.",
      "That of a formula is caret::calibration().", column = "y"
    )
  }
  if (!inherits(y, "bayeskernel_fit")) check_given("prob")
  rows <- scored_rows(y, prob)
  judged <- judge(rows$prob, rows$true)
  calibration_table(judged$probability, judged$happened, bins)
}

# caret has a generic of this name, for formulas: what is no formula comes here, whichever of the
# two packages is attached last.
register_calibration <- function(...) {
  own <- function(x, ...) calibration(x, ...)
  for (class in c("factor", "character", "logical", "numeric", "bayeskernel_fit")) {
    registerS3method("calibration", class, own, envir = asNamespace("caret"))
  }
}

# The number of the true class of each row, and the probabilities n x k.
scored_rows <- function(y, prob) {
  labels <- label_codes(y)
  if (is.data.frame(prob)) prob <- as.matrix(prob)
  check_score(prob, length(y), "prob")
  outside <- which(prob < 0 | prob > 1)
  if (length(outside) > 0L) {
    bk_abort(
      "argument", "`prob` has values that are not probabilities.",
      sprintf(
        "Found: %s, in row %d.", format(prob[outside[1]]), (outside[1] - 1L) %% length(y) + 1L
      ),
      "Accepted: numbers from 0 to 1.",
      column = "prob", found = prob[outside[1]], expected = c(0, 1)
    )
  }
  if (NCOL(prob) == 1L) {
    two <- two_classes(labels)
    if (is.null(two)) abort_classes(labels$levels, "one column")
    prob <- as.vector(prob)
    return(list(true = two$code, prob = cbind(1 - prob, prob)))
  }
  total <- rowSums(prob)
  wrong <- which(abs(total - 1) > 1e-3)
  if (length(wrong)) {
    bk_abort(
      "argument", "`prob` has rows that do not sum to 1.",
      sprintf(
        "Found: a sum of %s in row %d (%d such rows).",
        format(total[wrong[1]], digits = 4), wrong[1], length(wrong)
      ),
      "Accepted: the probability of each class, or those of the second of two.",
      column = "prob", row = wrong[1], found = total[wrong[1]], expected = 1
    )
  }
  without_empty(match_columns(labels, prob), prob)
}

# Without columns of classes that neither rows nor probabilities have; two columns remain.
without_empty <- function(true, prob) {
  there <- colSums(prob > 0) > 0 | tabulate(true, ncol(prob)) > 0
  if (all(there) || ncol(prob) == 2L) return(list(true = true, prob = prob))
  if (sum(there) < 2L) there[which(!there)[seq_len(2L - sum(there))]] <- TRUE
  list(true = match(true, which(there)), prob = prob[, there, drop = FALSE])
}

# Which column of `prob` is the class of each row: by name, if there are names.
match_columns <- function(labels, prob, name = "prob") {
  if (is.null(colnames(prob))) {
    if (length(labels$levels) != ncol(prob)) {
      abort_classes(labels$levels, sprintf("%d columns", ncol(prob)), name)
    }
    return(labels$code)
  }
  column <- match(labels$levels, colnames(prob))[labels$code]
  if (anyNA(column)) {
    abort_classes(
      labels$levels, paste("columns", paste(quoted(colnames(prob)), collapse = ", ")), name
    )
  }
  column
}

abort_classes <- function(levels, columns, name = "prob") {
  bk_abort(
    "response", sprintf("The classes of `y` and of `%s` are not the same.", name),
    sprintf("Found: classes %s.", list_some(quoted(levels))),
    sprintf("`%s` has %s.", name, columns),
    paste(
      "Accepted: a matrix with one column for each class; with two classes",
      "also the probabilities of the second."
    ),
    column = "y", found = levels, expected = columns
  )
}

# Codes 1, 2, ... of the classes. Unlike the response of a fit, the labels of a measure may all be
# of one class; the kind of `y` says which.
label_codes <- function(y) {
  refuse_fit(y, "y")
  refuse_label_type(y, "y", list())
  if (length(y) == 0L) {
    bk_abort(
      "dimension", "There are no rows.", "Accepted: one label or more.",
      column = "y", found = 0L, expected = 1L
    )
  }
  check_no_missing(y, "y")
  check_labels_there(y, "y", what = "Argument")
  levels <- declared_levels(y)
  if (is.null(levels)) {
    abort_argument(y, "y", "a factor, text, logical, 0/1 or -1/+1", kind = "response")
  }
  list(code = match_levels(y, levels), levels = levels)
}

# Measures compare labels with predictions of them; a fit alone has neither of new rows.
refuse_fit <- function(y, name) {
  if (!inherits(y, "bayeskernel_fit")) return(invisible())
  bk_abort(
    "argument", sprintf("`%s` is a fit.", name),
    "Accepted: labels, then predictions of them: predict(fit, newdata, type = \"prob\").",
    "summary(fit, newdata) has the scores of new rows, plot(fit, \"calibration\") the calibration.",
    column = name
  )
}

# Levels that no row has do not count where they would be in the way, as in a fit. NULL if it is not
# clear which two classes are meant.
two_classes <- function(labels) {
  if (length(labels$levels) > 2L) {
    used <- sort(unique(labels$code))
    labels <- list(code = match(labels$code, used), levels = labels$levels[used])
  }
  if (length(labels$levels) == 2L) labels
}

check_score <- function(x, n, name) {
  if (!is.numeric(x)) abort_argument(x, name, "numbers, one or more for each label")
  if (NROW(x) != n) abort_length(name, NROW(x), n)
  check_no_missing(x, name)
}

check_no_missing <- function(x, name) {
  bad <- which(is.na(x))
  if (length(bad) > 0L) {
    abort_missing(
      count = stats::setNames(length(bad), name), first = (bad[1] - 1L) %% NROW(x) + 1L,
      what = "Argument", cure = "Leave such rows out."
    )
  }
}

# By bins of equal width on [0, 1], without a number by quantiles; the same probability is in the
# same bin. A data frame of the bins that are not empty: predicted (mean), observed, lower, upper
# (Wilson interval) and rows.
calibration_table <- function(probability, positive, bins = 10L, level = 0.95) {
  bin <- if (is.null(bins)) {
    n <- length(probability)
    count <- max(1, min(10, floor(n / min(20, max(n / 3, 1)))))
    ends <- stats::quantile(probability, seq_len(count - 1) / count, names = FALSE, type = 1)
    findInterval(probability, unique(ends), left.open = TRUE)
  } else {
    edges <- seq(0, 1, length.out = check_count(bins, 2, 1e4) + 1L)
    cut(probability, edges, include.lowest = TRUE, labels = FALSE)
  }
  bin <- factor(bin)
  rows <- as.vector(table(bin))
  mean_in <- function(x) as.vector(tapply(as.numeric(x), bin, mean))
  out <- data.frame(
    predicted = mean_in(probability), observed = mean_in(positive), rows = rows
  )
  z <- stats::qnorm((1 + level) / 2)
  spread <- z / (1 + z^2 / out$rows) *
    sqrt(out$observed * (1 - out$observed) / out$rows + (z / (2 * out$rows))^2)
  centre <- (out$observed + z^2 / (2 * out$rows)) / (1 + z^2 / out$rows)
  out$lower <- pmax(0, centre - spread)
  out$upper <- pmin(1, centre + spread)
  rownames(out) <- NULL
  out[c("predicted", "observed", "lower", "upper", "rows")]
}
