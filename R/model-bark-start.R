# Which predictors the chains start with, 0 or 1: a column for all chains, or for one after another,
# over and over. All of them; along an ordered axis starts lie far apart, so that R-hat can tell
# whether the chains found one another: none, all, every other one, and those that differ most with
# the response, in turn.

start_indicators <- function(data, structure) {
  p <- ncol(data$x)
  if (is.null(structure)) return(matrix(1L, p, 1L))
  strength <- abs(drop(crossprod(data$x, data$y - mean(data$y))))
  cbind(0L, rep(1L, p), seq_len(p) %% 2L, as.integer(strength > mean(strength)))
}

# Many rows -------------------------------------------------------------------

# Chains of a regression of more rows begin with a run on a part of them: most of what is to be
# found, which predictors matter and how far, is found there at a small share of the time. It is a
# start and no more: what follows, its warmup first, is of all rows.
most_whole <- 1500L
part_size <- 500L
part_sweeps <- 10000

# A part that does not depend on the order of the rows.
part_of_rows <- function(data) sort(ordered_rows(data)[spread_over(nrow(data$x), part_size)])

# The core's answer for the part, with states for chains of all rows.
begin_on_part <- function(control, data, prior) {
  rows <- control$part
  n <- nrow(data$x)
  own <- control
  own[c("warmup", "draws", "thin")] <- c(part_sweeps - 1, 1, 1)
  # Numbers that no other chain has.
  own$seed <- control$seed + 2^40
  data$x <- data$x[rows, , drop = FALSE]
  data$y <- data$y[rows]
  if (!is.null(data$weights)) data$weights <- data$weights[rows]
  if (!is.null(data$blocks$level)) data$blocks$level <- data$blocks$level[rows, , drop = FALSE]
  prior$max_kernels <- min(prior$max_kernels, length(rows) - 1L)
  core <- bark_fit_cpp(data, prior, own)
  core$states <- if (!nzchar(core$status$failure)) {
    lapply(core$states, state_of_all, rows, n)
  } else {
    list()
  }
  core
}

# A state of chains of `rows` as one of chains of all n rows that has just begun. Location 0 is the
# constant; those of the second vector of scales follow those of the first.
state_of_all <- function(state, rows, n) {
  at <- state$location
  size <- length(rows)
  state$location <- ifelse(at == 0, 0, rows[(at - 1) %% size + 1] + (at - 1) %/% size * n)
  state$sweep <- 0
  state
}
