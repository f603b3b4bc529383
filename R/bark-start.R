# Which predictors the chains start with, 0 or 1: a column for all chains, or
# for one after another, over and over. All of them; along an ordered axis
# starts lie far apart, so that R-hat can tell whether the chains found one
# another: none, all, every other one, and those that differ most with the
# response, in turn.

start_indicators <- function(data, structure) {
  p <- ncol(data$x)
  if (is.null(structure)) {
    return(matrix(1L, p, 1L))
  }
  strength <- abs(drop(crossprod(data$x, data$y - mean(data$y))))
  cbind(0L, rep(1L, p), seq_len(p) %% 2L, as.integer(strength > mean(strength)))
}
