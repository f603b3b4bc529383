# Which predictors the chains start with: predictors x chains of 0 and 1. All
# of them; along an ordered axis starts lie far apart, so that R-hat can tell
# whether the chains found one another: none, all, every other one, and those
# that differ most with the response, in turn.

start_indicators <- function(data, structure, chains) {
  p <- ncol(data$x)
  if (is.null(structure)) {
    return(matrix(1L, p, chains))
  }
  strength <- abs(drop(crossprod(data$x, data$y - mean(data$y))))
  starts <- cbind(
    0L, 1L, seq_len(p) %% 2L, as.integer(strength > mean(strength))
  )
  starts[, rep_len(seq_len(4), chains), drop = FALSE]
}
