#' Balanced error rate
#'
#' The mean over the true classes of the share of their rows that were
#' predicted to be of another class. Unlike the plain error rate it does not
#' reward a rule that always names the larger class: with two classes that rule
#' has a balanced error of 0.5.
#'
#' @param truth True classes: factor, character, logical or numeric vector,
#'   length n.
#' @param predicted Predicted classes, length n, with the labels of `truth`.
#' @return One number in \[0, 1\]. Rows where either is `NA` are left out;
#'   `NaN` when no row remains.
#' @section Errors: `bayeskernel_error_dimension` if the lengths differ,
#'   `bayeskernel_error_argument` if `predicted` names a class that `truth`
#'   does not know.
#' @references Luts, J. and Ormerod, J. T. (2014). Mean field variational
#'   Bayesian inference for support vector machine classification.
#'   *Computational Statistics & Data Analysis* 73, 163-176, section 4.
#' @examples
#' truth <- factor(c("no", "no", "no", "yes"))
#' balanced_error(truth, c("no", "no", "no", "no"))
#' @export
balanced_error <- function(truth, predicted) {
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
      c(
        paste("Found:", paste(quoted(strange), collapse = ", ")),
        paste("Accepted:", paste(quoted(known), collapse = ", "))
      ),
      column = "predicted", found = strange, expected = known
    )
  }
  use <- !is.na(truth) & !is.na(predicted)
  mean(tapply(predicted[use] != truth[use], truth[use], mean))
}
