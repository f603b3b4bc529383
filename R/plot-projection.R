# Figures 2.2 to 2.4: the rows in the learned directions. With one, the draws of the probability
# along it; with more, pairs of coordinates.
projection_data <- function(x) {
  z <- projection(x)$coordinates
  colnames(z) <- paste0("u", seq_len(ncol(z)))
  data.frame(z, class = x$levels[1L + (x$y > 0)], probability = x$fitted$prob, row.names = NULL)
}

draw_projection <- function(x, level, main) {
  found <- projection(x)
  z <- found$coordinates
  r <- ncol(z)
  class <- 1L + (x$y > 0)
  colours <- class_pair[class]
  title <- main_title(main, "Rows in the learned directions")
  # For the key, below the title.
  above <- c(0, 0, 1.2, 0)
  if (r == 1L) {
    # Distance from the curve is what other directions leave to the posterior.
    old <- bk_look()
    on.exit(graphics::par(old))
    graphics::par(mar = graphics::par("mar") + above)
    prob <- x$fitted$prob
    bk_panel(range(z), c(-0.06, 1.06), axis_name(found, 1L), response_label(x), title)
    half <- stats::qnorm((1 + level) / 2) * x$fitted$prob_sd
    graphics::segments(
      z, pmax(prob - half, 0), z, pmin(prob + half, 1), col = blend(muted[["line"]], 0.5), lwd = 0.8
    )
    graphics::points(z, prob, pch = c(1, 19)[class], cex = 0.7, col = colours)
    graphics::rug(z[class == 1L], 0.02, side = 1, col = class_pair[1])
    graphics::rug(z[class == 2L], 0.02, side = 3, col = class_pair[2])
    projection_key(x)
    bk_note(sprintf("bars: %s limits", percent(level)), adj = 0)
    return(invisible(found))
  }
  pairs <- utils::combn(min(r, 4L), 2L)
  old <- bk_looks(ncol(pairs))
  on.exit(graphics::par(old))
  graphics::par(mar = graphics::par("mar") + above)
  for (k in seq_len(ncol(pairs))) {
    at <- pairs[, k]
    bk_panel(
      range(z[, at[1]]), range(z[, at[2]]), axis_name(found, at[1]),
      axis_name(found, at[2]), if (k == 1L) title else ""
    )
    graphics::points(z[, at], pch = c(1, 19)[class], cex = 0.8, col = colours)
    if (k == 1L) projection_key(x)
  }
  invisible(found)
}

# The two predictors that weigh most.
long_axis_name <- function(found, l) {
  u <- found$directions[, l]
  top <- utils::head(order(-abs(u)), 2L)
  text <- paste(sprintf("%+.2f %s", u[top], names(u)[top]), collapse = " ")
  paste0("u", l, " = ", text, if (length(u) > 2L) " ...")
}

axis_name <- function(found, l) cut_to(long_axis_name(found, l), graphics::par("pin")[1])

projection_key <- function(x) key_above(x$levels, pch = c(1, 19), col = class_pair)

klr_words <- function(names) {
  known <- c(J = "kernels (J)", mu = "mean of log scales (mu)", sd = "sd of log scales (sd)")
  ifelse(names %in% names(known), known[names], trace_words(names))
}

#' @exportS3Method
pictures.klr <- function(object) {
  c(list(
    projection = picture(draw_projection, data = projection_data, gg = gg_projection),
    boundary = boundary_picture(object),
    fit = fit_picture(object), calibration = calibration_picture(object),
    partial = partial_picture(object), trace = trace_picture(object, words = klr_words)
  ), residual_pictures(object))
}
