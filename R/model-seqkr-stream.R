# What a fit by seqkr() keeps of its stream beside the particles: some rows, each of all so far with
# the same probability, by which it can be tuned anew; and what later rows are, against the first.

# Rows that are kept.
reservoir_rows <- 500L

# Row t of the stream takes place j = ceiling(u t) of the reservoir if there is one (Vitter 1985,
# algorithm R). The number u belongs to t, so that the rows kept do not depend on the batches in
# which they came.
reservoir_number <- function(t, seed) {
  block <- (t - 1) %/% 1000
  out <- numeric(length(t))
  for (b in unique(block)) {
    own <- block == b
    out[own] <- with_seed(
      (as.double(seed %||% 0) + 7919 * (b + 1)) %% 2147483647, stats::runif(1000L)
    )[(t[own] - 1) %% 1000 + 1]
  }
  out
}

# `reservoir` of the first `before` rows, with rows `x` (on the scale of the data) and responses `y`
# after them.
add_to_reservoir <- function(reservoir, x, y, before, seed) {
  t <- before + seq_len(nrow(x))
  places <- ifelse(t <= reservoir_rows, t, pmax(ceiling(reservoir_number(t, seed) * t), 1))
  rows <- which(places <= reservoir_rows)
  # Of rows for one place the last stays.
  rows <- rows[!duplicated(places[rows], fromLast = TRUE)]
  at <- places[rows]
  size <- max(length(reservoir$y), at, 0)
  new_x <- matrix(0, size, ncol(x), dimnames = list(NULL, colnames(x)))
  new_y <- numeric(size)
  kept <- seq_along(reservoir$y)
  new_x[kept, ] <- reservoir$x
  new_y[kept] <- reservoir$y
  new_x[at, ] <- x[rows, ]
  new_y[at] <- y[rows]
  list(x = new_x, y = new_y)
}

# A fit of the reservoir, in place of the particles that a stream has. Scales, length-scales and
# candidates are those of the rows kept, which stand for all: the posterior is that of so many rows.
retuned <- function(object, settings) {
  reservoir <- object$reservoir
  x <- reservoir$x
  moments <- column_moments_cpp(x)
  standardize <- isTRUE(object$standardized)
  p <- ncol(x)
  # In the places that they had among the columns of the first rows.
  source <- object$places$source
  wide <- matrix(0, nrow(x), max(source))
  wide[, source] <- x
  rows <- list(
    data = list(x = wide, source = source), y = reservoir$y, columns = object$columns,
    column_terms = object$places$terms, levels = object$levels, dropped = character(),
    center = if (standardize) moments$mean else numeric(p),
    scale = if (standardize) moments$sd else rep(1, p)
  )
  flat <- !(rows$scale > 0)
  rows$center[flat] <- object$transform$center[flat]
  rows$scale[flat] <- object$transform$scale[flat]
  names(rows$center) <- names(rows$scale) <- object$columns
  open <- has_open_scale(object$asked)
  settings[c("kernel", "family", "prior", "standardize", "order")] <- list(
    object$asked, object$family, object$prior, standardize, "random"
  )
  settings["tune"] <- list(if (open) NULL else TRUE)
  settings$family_said <- TRUE
  settings$grid <- if (ncol(object$grid)) {
    t(object$grid * object$transform$scale + object$transform$center)
  } else {
    "seen"
  }
  job <- seqkr_job(rows, settings)
  core <- seqkr_run(job)
  if (core$interrupted) abort_interrupted()
  out <- object
  out$transform$center <- rows$center
  out$transform$scale <- rows$scale
  out$transform$response <- job$y_scale
  out$kernel <- core$kernel
  out["tuned"] <- list(core$tuned)
  out$grid <- job$grid
  out <- take_particles(out, core)
  # Rows have been predicted once, as they came.
  out$trace$steps <- object$trace$steps
  out$log_evidence <- object$log_evidence
  out$retuned <- list(rows = length(reservoir$y), at = object$n)
  out["stream"] <- list(NULL)
  out
}

refuse_retuning <- function(object) {
  if (is.null(object$reservoir)) {
    bk_abort(
      "argument", "The fit keeps no rows that it could be tuned by.",
      "It was made by an earlier version.", "update(fit, data = ) fits anew.", column = "retune"
    )
  }
}

# Against the first rows: location and scale of the columns and of a numeric response, and rows
# outside where inputs are no candidates any more.
# missed: of a numeric response, by missed_rows().
watch_particles <- function(object, x, response, before, missed) {
  p <- length(object$columns)
  center <- object$transform$center
  scale <- object$transform$scale
  values <- (x * scale) + center
  rownames(values) <- object$columns
  closed <- ncol(object$grid) > 0L || before >= object$grid_max
  outside <- if (closed) c(candidates = beyond_candidates(object, x)) else numeric()
  values <- t(values)
  if (is_regression(object)) {
    values <- cbind(values, response)
    colnames(values)[p + 1L] <- object$response
    center <- c(center, object$transform$response[1L])
    scale <- c(scale, object$transform$response[2L])
  }
  stream <- watch_moments(
    object$stream, if (length(values)) column_moments_cpp(values + 0), colnames(values), center,
    scale, outside, ncol(x), particles_cure
  )
  if (is.null(missed)) stream else watch_predictions(stream, missed, particles_cure)
}

particles_cure <- c(
  "With a larger `grid_max` inputs stay candidates for longer.",
  "extend(retune = TRUE) fits rows of both kinds."
)

# The share of rows x, in columns, outside of the range of the candidates.
beyond_candidates <- function(object, x) {
  candidates <- object$state$points
  if (length(candidates) == 0L) return(0)
  mean(Reduce(`|`, lapply(seq_len(nrow(x)), function(k) {
    beyond_range(x[k, ], range(candidates[k, ]))
  })))
}

# Of first rows some may come after those that are candidates.
watch_first <- function(object, x) {
  if (ncol(x) <= object$grid_max) return(NULL)
  outside <- add_outside(NULL, c(candidates = beyond_candidates(object, x)), ncol(x))
  if (outside$rows < 3 || outside$rows <= 0.05 * outside$n) return(NULL)
  warn_outside("candidates", outside, particles_cure)
  list(said = "candidates")
}
