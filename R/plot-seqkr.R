#' @exportS3Method
pictures.seqkr <- function(object) {
  one <- length(object$columns) == 1L
  c(list(
    fit = if (one) picture(draw_curve, data = curve_data, gg = gg_curve) else fit_picture(object),
    kernels = picture(draw_kernels, data = kernel_data, gg = gg_kernels),
    trace = picture(draw_stream, data = function(x) x$trace$steps, gg = gg_stream),
    calibration = calibration_picture(object), partial = partial_picture(object)
  ), residual_pictures(object))
}

draw_curve <- function(x, data, level, main) {
  centres <- seqkr_centres(x)
  regression <- is_regression(x)
  at <- data$x
  reach <- range(at)
  limits <- as.matrix(data[c("fit", "lwr", "upr")])
  inner <- cbind(fit = data$fit, lwr = data$lwr_mean, upr = data$upr_mean)
  rows <- curve_rows(x)
  old <- bk_look()
  on.exit(graphics::par(old))
  bk_panel(
    reach, range(limits, rows$y), x$columns,
    response_label(x),
    main_title(main, curve_title(x, level))
  )
  blue <- bk_colours[["blue"]]
  band <- function(limits, strength) {
    graphics::polygon(
      c(at, rev(at)), c(limits[, "lwr"], rev(limits[, "upr"])),
      col = grDevices::adjustcolor(blue, strength), border = NA
    )
  }
  if (regression) band(limits, 0.13)
  band(inner, 0.25)
  if (!is.null(rows)) graphics::points(rows, pch = 19, cex = 0.5, col = muted[["line"]])
  graphics::lines(at, inner[, "fit"], col = blue, lwd = 1.8)
  shown <- centres[centres$inclusion > 0, , drop = FALSE]
  if (nrow(shown)) bk_note("ticks: candidates for centers")
  graphics::rug(
    shown[[1]],
    col = grDevices::adjustcolor(bk_colours[["orange"]], 0.7), ticksize = 0.04, quiet = TRUE
  )
}

# Evidence and effective particles, by row.
draw_stream <- function(x, data, main) {
  steps <- data
  at <- seq_len(nrow(steps))
  keep <- spread_over(length(at), 2000)
  old <- bk_looks(2L)
  on.exit(graphics::par(old))
  total <- cumsum(steps$log_evidence)
  bk_panel(range(at), range(total), "Row", "Log evidence", main_title(main, "Log evidence so far"))
  graphics::lines(at[keep], total[keep], col = bk_colours[["blue"]], lwd = 1.6)
  bk_panel(
    range(at), c(0, x$particles), "Row", "Effective particles",
    if (is.null(main)) "Effective particles, dots: resampled" else ""
  )
  graphics::lines(at[keep], steps$ess[keep], col = bk_colours[["blue"]], lwd = 1)
  divided <- intersect(keep, which(steps$resampled > 0))
  graphics::points(
    at[divided], steps$ess[divided], pch = 19, cex = 0.4, col = bk_colours[["orange"]]
  )
}
