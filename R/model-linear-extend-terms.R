# Terms that follow the rows of a stream. A curve s() is known where its knots are, a process gp()
# near its inducing points. Where later rows lie elsewhere, the term gets columns whose coefficients
# have the law of its others and are independent of them, so that all that is known stays as it is.
#
# A curve: its prior is that of a line plus a twice integrated white noise (Wahba 1978), which has
# no memory beyond value and slope: outside of its range it goes on as a line plus the double
# integrals of the noise on new intervals. A process: features L^-1 k(x) of more points come after
# those of the first ones, which do not change.

# Intervals that a curve may have beyond its first range, on either side.
most_intervals <- 60L

# Inducing points of a process that follows; if there were more, these.
most_points <- 200L

# A process gets a point at rows where it leaves more than this share of its variance open, and more
# than this share of the variance of a row's noise.
open_enough <- 0.1

# A fit whose terms reach the new rows.
# Returns the fit; `outside` has, of each term that cannot follow, the share of the new rows that
#   are outside.
follow_rows <- function(object, newdata, threads) {
  info <- object$design
  if (length(info$smooths) == 0L || NROW(newdata) == 0L) {
    return(list(object = object, outside = numeric()))
  }
  newdata <- as_trained(newdata, info$kinds, info$variables)
  frame <- stats::model.frame.default(info$frame_terms, newdata, na.action = stats::na.pass)
  outside <- numeric()
  for (k in seq_along(info$smooths)) {
    smooth <- object$design$smooths[[k]]
    grown <- if (is.null(info$holes)) {
      if (is_process(smooth)) {
        more_points_of(smooth, frame, enough_for(object, smooth), threads)
      } else if (is_numeric_curve(smooth)) {
        more_intervals(smooth, frame)
      }
    }
    if (!is.null(grown)) object <- insert_columns(object, k, grown)
    share <- share_outside(object$design$smooths[[k]], frame, threads)
    outside[smooth$label] <- share
  }
  list(object = object, outside = outside)
}

# --- curves ------------------------------------------------------------------

is_numeric_curve <- function(smooth) {
  !is.null(smooth$basis) && smooth$dim == 1L && is.null(smooth$levels[[1L]]) &&
    length(smooth$blocks) == 1L && !anyNA(smooth$at)
}

# Values of the variables at which the columns of a curve are those of its level, or of 1 times it.
along_curve <- function(smooth, x) {
  c(list(x), lapply(seq_along(smooth$keys)[-1L], function(v) {
    levels <- smooth$levels[[v]]
    if (is.null(levels)) rep(1, length(x)) else factor(rep(smooth$level, length(x)), levels)
  }))
}

# The integral of f''^2 of a curve with coefficients b, in multiples of b'b; NULL where the penalty
# is another, or the curve no line outside of its range.
curve_roughness <- function(smooth) {
  smooth$more <- NULL
  range <- smooth$ranges[[1L]]
  n <- 1000L
  step <- diff(range) / n
  x <- range[1L] + step * seq(-n %/% 4L, n + n %/% 4L)
  columns <- smooth_at(smooth, along_curve(smooth, x), length(x))
  penalised <- smooth$block[seq_len(ncol(columns))] > 0
  bend <- diff(columns[, penalised], differences = 2) / step^2
  inner <- x[-c(1L, length(x))]
  beyond <- inner < range[1L] - step | inner > range[2L] + step
  size <- crossprod(bend) * step
  unit <- mean(diag(size))
  if (max(abs(size - diag(unit, ncol(size)))) > 0.1 * unit ||
    max(abs(bend[beyond, ])) > 1e-3 * max(abs(bend))) {
    return(NULL)
  }
  unit
}

# The intervals that take a curve to all rows, and their number of columns.
more_intervals <- function(smooth, frame) {
  values <- frame[[smooth$names[1L]]]
  values <- values[is.finite(values)]
  known <- smooth$ranges[[1L]]
  if (length(values) == 0L || all(values >= known[1L] & values <= known[2L])) return(NULL)
  unit <- smooth$more$unit %||% curve_roughness(smooth)
  if (is.null(unit)) return(NULL)
  first <- smooth$more$first %||% known
  step <- diff(first) / (length(smooth$block) - length(smooth$more$from))
  reach <- range(values, known)
  left <- most_intervals - length(smooth$more$from)
  beyond <- (known[1L] - reach[1L]) + (reach[2L] - known[2L])
  if (left < 2L) return(NULL)
  # Rows far away get wide intervals.
  step <- max(step, beyond / (left - 1L))
  side <- function(from, to) {
    count <- ceiling(abs(to - from) / step)
    seq(from, to, length.out = count + 1L)
  }
  below <- if (reach[1L] < known[1L]) side(known[1L], reach[1L])
  above <- if (reach[2L] > known[2L]) side(known[2L], reach[2L])
  from <- c(utils::head(below, -1L), utils::head(above, -1L))
  to <- c(below[-1L], above[-1L])
  smooth$more <- list(
    unit = unit, first = first, from = c(smooth$more$from, from), to = c(smooth$more$to, to)
  )
  smooth$ranges[[1L]] <- reach
  list(smooth = smooth, count = length(from))
}

# --- processes ---------------------------------------------------------------

# Rows on the scale of a process, at most 2000 that differ, of its level.
process_rows_of <- function(smooth, frame) {
  own <- process_new(smooth, frame)
  x <- scale_columns_by(
    own$x, smooth$process$center, smooth$process$scale
  )[, seq_len(ncol(smooth$process$z)), drop = FALSE]
  there <- rowSums(is.na(x)) == 0 & (own$inside %||% rep(1, nrow(x))) > 0
  x[there, , drop = FALSE]
}

# What may be open at a row is noise to the fit.
enough_for <- function(object, smooth) {
  labels <- vapply(object$posterior$variance, `[[`, "", "label")
  variance <- component_mean(object$posterior$variance[[match(smooth$label, labels)]])
  noise <- object$posterior$noise
  level <- if (is.null(noise)) 1 else inverse_gamma_mean(noise$shape, noise$rate)
  open_enough * max(min(1, level / variance), 1e-4)
}

process_open <- function(process, x, threads) {
  core_call(process_features_cpp(
    kernel_to_core(process$kernel, ncol(process$z)), process$z, x + 0, threads
  ))$open
}

# One point after the other, where most is left open.
more_points_of <- function(smooth, frame, enough, threads) {
  process <- smooth$process
  x <- unique(process_rows_of(smooth, frame))
  if (nrow(x) == 0L || anyNA(smooth$at)) return(NULL)
  x <- x[spread_over(nrow(x), 2000L), , drop = FALSE]
  before <- nrow(process$z)
  enough <- max(enough, 4 * (process$left %||% 0))
  while (nrow(process$z) < max(most_points, before) && nrow(x) > 0L) {
    open <- process_open(process, x, threads)
    worst <- which.max(open)
    if (open[worst] <= enough) break
    process$z <- rbind(process$z, x[worst, ])
    x <- x[open > enough, , drop = FALSE]
  }
  count <- nrow(process$z) - before
  if (count == 0L) return(NULL)
  process$centre <- c(process$centre, numeric(count))
  smooth$process <- process
  list(smooth = smooth, count = count)
}

# --- the fit -----------------------------------------------------------------

# Columns of smooth k at the end of those that are no groups' effects.
insert_columns <- function(object, k, grown) {
  info <- object$design
  smooth <- grown$smooth
  more <- grown$count
  p <- length(object$transform$center)
  at <- p + seq_len(more)
  names <- sprintf("%s.%d", smooth$label, sum(smooth$block > 0) + seq_len(more))
  # Where the columns are when rows are read: after those of the same term.
  raw <- max(info$keep[smooth$at])
  info$keep <- c(ifelse(info$keep > raw, info$keep + more, info$keep), raw + seq_len(more))
  info$columns <- c(info$columns, names)
  smooth$columns <- c(smooth$columns, names)
  smooth$block <- c(smooth$block, rep(1, more))
  smooth$at <- c(smooth$at, at)
  smooth$blocks[[1L]] <- c(smooth$blocks[[1L]], at)
  info$smooths[[k]] <- smooth
  object$design <- info
  object$smooths[[k]] <- smooth_summary(smooth)
  object$transform$center[names] <- 0
  object$transform$scale[names] <- 1
  labels <- vapply(object$posterior$variance, `[[`, "", "label")
  b <- match(object$smooths[[k]]$block_labels, labels)
  object$posterior$variance[[b]]$columns <- c(object$posterior$variance[[b]]$columns, names)
  object$posterior <- insert_effects(
    object$posterior, p, names, component_mean(object$posterior$variance[[b]])
  )
  object
}

component_mean <- function(component) {
  if (component$type == "point") {
    component$value[1L]
  } else {
    inverse_gamma_mean(component$shape, component$rate)
  }
}

# Effects after the first p, with a normal law of their own.
insert_effects <- function(posterior, p, names, variance) {
  more <- length(names)
  size <- length(posterior$theta_mean)
  old <- c(seq_len(p), p + more + seq_len(size - p))
  mean <- stats::setNames(numeric(size + more), character(size + more))
  mean[old] <- posterior$theta_mean
  names(mean)[old] <- names(posterior$theta_mean) %||% rep("", size)
  names(mean)[p + seq_len(more)] <- names
  cov <- diag(variance, size + more)
  cov[old, old] <- posterior$theta_cov
  if (!is.null(dimnames(posterior$theta_cov))) dimnames(cov) <- list(names(mean), names(mean))
  if (is.null(names(posterior$theta_mean))) names(mean) <- NULL
  posterior$theta_mean <- mean
  posterior$theta_cov <- cov
  posterior["points"] <- list(NULL)
  posterior$random <- lapply(posterior$random, function(term) {
    if (is.null(term$index)) {
      loading <- array(0, dim(term$loading) + c(0L, more, 0L))
      loading[, old, ] <- term$loading
      term$loading <- loading
    } else {
      term$index <- old[term$index]
    }
    term
  })
  posterior
}

# --- what does not follow ----------------------------------------------------

# The share of rows beyond a tenth of the range of a variable, or where a process has more than half
# of its variance open.
share_outside <- function(smooth, frame, threads) {
  if (is_process(smooth)) {
    x <- process_rows_of(smooth, frame)
    open <- if (nrow(x)) process_open(smooth$process, x, threads) else 0
    return(mean(open > 0.5))
  }
  beyond <- FALSE
  for (v in seq_len(smooth$dim %||% 0L)) {
    x <- frame[[smooth$names[v]]]
    if (is.null(smooth$ranges[[v]]) || !is.numeric(x) || is.matrix(x)) next
    beyond <- beyond | beyond_range(x, smooth$ranges[[v]])
  }
  if (!is.null(smooth$level) && length(beyond) > 1L) {
    beyond <- beyond[frame[[smooth$names[smooth$dim + 1L]]] == smooth$level]
  }
  if (length(beyond) == 0L) 0 else mean(beyond, na.rm = TRUE)
}

beyond_range <- function(x, range) {
  margin <- diff(range) / 10
  x < range[1L] - margin | x > range[2L] + margin
}

# What a stream has seen since its first rows: `moments` of the columns whose location and scale
# those decided, `outside`, rows beyond their ranges, by term, and `said`, what a warning has been
# about.
# moments: those of the columns `names` in the n new rows.
watch_moments <- function(stream, moments, names, center, scale, outside, n, cure) {
  stream$outside <- add_outside(stream$outside, outside, n)
  known <- is.finite(center) & is.finite(scale) & scale > 0 & !(center == 0 & scale == 1)
  if (any(known) && n > 0L) {
    names <- names[known]
    moments <- lapply(moments[c("mean", "sd", "min", "max")], `[`, known)
    moments$sd[is.na(moments$sd)] <- 0
    stream$moments <- merge_moments(stream$moments, moments, as.double(n))
    moved <- setdiff(moved_columns(stream$moments, center[known], scale[known], names), stream$said)
    if (length(moved)) warn_moved(moved, stream$moments, names, cure)
    stream$said <- c(stream$said, moved)
  }
  far <- stream$outside$rows >= 3 & stream$outside$rows > 0.05 * stream$outside$n
  far <- setdiff(names(stream$outside$rows)[far], stream$said)
  if (length(far)) warn_outside(far, stream$outside, cure)
  stream$said <- c(stream$said, far)
  stream
}

add_outside <- function(known, share, n) {
  rows <- known$rows %||% numeric()
  for (label in names(share)) rows[label] <- sum(rows[label], share[[label]] * n, na.rm = TRUE)
  list(rows = rows, n = (known$n %||% 0) + n)
}

# Rows whose response is more than 3 of its standard deviations from what was predicted.
missed_rows <- function(y, mean, variance) {
  c(rows = sum((y - mean)^2 > 9 * variance), n = length(y))
}

# missed: of the new rows. Nothing that has been said of the stream is said again in other words.
watch_predictions <- function(stream, missed, cure) {
  stream$missed <- missed + (stream$missed %||% c(rows = 0, n = 0))
  far <- stream$missed[["rows"]] >= 3 && stream$missed[["rows"]] > 0.05 * stream$missed[["n"]]
  if (!far || length(stream$said)) return(stream)
  bk_warn(
    "outside", "Later rows are far from their predictions.",
    sprintf(
      "Found: %.0f %% of %.0f rows more than 3 standard deviations away; 0.3 %% are expected.",
      100 * stream$missed[["rows"]] / stream$missed[["n"]], stream$missed[["n"]]
    ),
    "The first rows decide length-scales and variances for good; intervals do not know of that.",
    utils::tail(cure, 1L), found = stream$missed[["rows"]] / stream$missed[["n"]]
  )
  stream$said <- "predictions"
  stream
}

# Fewer later rows than this say nothing about location and scale, and fewer than those nothing
# about a scale that is smaller: rows may come in order.
rows_that_tell <- 10
rows_of_small_scale <- 50

moved_columns <- function(moments, center, scale, names) {
  if (moments$n < rows_that_tell) return(character())
  sd <- sqrt(moments$squares / (moments$n - 1))
  smaller <- moments$n >= rows_of_small_scale & 5 * sd < scale
  # Rows of one level are no other scale.
  indicator <- abs(scale^2 - center * (1 - center)) < 0.05 * scale^2 &
    moments$min >= 0 & moments$max <= 1
  names[!indicator & (abs(moments$mean - center) > 5 * scale | sd > 5 * scale | smaller)]
}

warn_moved <- function(moved, moments, names, cure) {
  at <- match(moved[1L], names)
  bk_warn(
    "outside", fit_header("Later rows have `%s` on another scale.", moved[1]),
    sprintf(
      "Found: mean %s, standard deviation %s in %.0f later rows.",
      format(moments$mean[at], digits = 3),
      format(sqrt(moments$squares[at] / (moments$n - 1)), digits = 3), moments$n
    ),
    if (length(moved) > 1L) paste("Others:", list_some(sprintf("`%s`", moved[-1L]))),
    "The first rows decide scales, length-scales and variances for good.", utils::tail(cure, 1L),
    column = moved
  )
}

warn_outside <- function(far, outside, cure) {
  share <- outside$rows[far[1L]] / outside$n
  bk_warn(
    "outside", fit_header("Later rows lie outside of the range of `%s`.", far[1L]),
    sprintf("Found: %.0f %% of %.0f later rows.", 100 * share, outside$n),
    if (length(far) > 1L) paste("Others:", list_some(sprintf("`%s`", far[-1L]))),
    paste(
      "There the fit goes on by its last slope, or falls back to its mean,",
      "whatever the rows say; its intervals do not know of that."
    ),
    cure, column = far, found = share
  )
}
