# Smooth terms of a fit: their curves and pictures.

# Mean and, by probability, quantiles of the contribution of a smooth to the
# latent value over a grid by smooth_grid().
smooth_curve <- function(object, grid, probs) {
  at <- grid$at
  columns <- grid$columns
  if (is_sampled(object)) {
    draws <- flat_draws(object, fixed_names(object)[at])
    values <- tcrossprod(draws, columns)
    return(list(
      mean = colMeans(values),
      quantiles = t(apply(values, 2, stats::quantile, probs, names = FALSE))
    ))
  }
  mean <- drop(columns %*% coefficient_mean(object, "data")[at])
  sd <- sqrt(
    pmax(quadratic(columns, coefficient_cov(object, "data")[at, at]), 0)
  )
  list(mean = mean, quantiles = mean + outer(sd, stats::qnorm(probs)))
}

draw_smooths <- function(x, pars, main) {
  labels <- vapply(x$smooths, `[[`, "", "label")
  which <- match(check_pars(pars, labels), labels)
  if (is.null(pars)) {
    few <- lengths(lapply(x$smooths[which], `[[`, "variables")) <= 2L
    if (any(few)) which <- which[few]
  }
  if (length(which) > 1) {
    old <- graphics::par(mfrow = panel_layout(length(which)))
    on.exit(graphics::par(old))
  }
  label <- paste("Effect on", predicted_name(x))
  for (k in which) {
    smooth <- x$smooths[[k]]
    factors <- !vapply(smooth$levels[seq_along(smooth$variables)], is.null, NA)
    kind <- paste0(length(smooth$variables), if (any(factors)) "f")
    if (!(kind %in% c("1", "2", "1f", "2f"))) {
      bk_abort(
        "argument", sprintf("`%s` has too many variables to draw.", labels[k]),
        paste(
          "Accepted: terms of one or two variables. exposure() shows what more",
          "of them do."
        ),
        column = "pars", found = labels[k]
      )
    }
    grid <- smooth_grid(x$design, k, if (kind == "2") 40L else 100L)
    curve <- smooth_curve(x, grid, c(0.05, 0.25, 0.75, 0.95))
    title <- main_title(main, smooth$label)
    at <- grid$data[smooth$variables[order(factors)]]
    switch(kind,
      "2" = plot_smooth_surface(at, curve$mean, title),
      "1f" = plot_intervals(
        curve$mean, curve$quantiles[, 1], curve$quantiles[, 4],
        labels = as.character(at[[1]]), xlab = label, main = title
      ),
      plot_smooth_curves(at, curve, label, title)
    )
  }
}

# A curve with its intervals, or one without for each level of a factor.
plot_smooth_curves <- function(at, curve, label, main) {
  one <- length(at) == 1L
  level <- if (one) factor(rep("", nrow(at))) else at[[2]]
  count <- nlevels(level)
  old <- bk_look()
  on.exit(graphics::par(old))
  # Names of many levels would hide the curves.
  labels <- if (!one && count <= 24L) key_labels(levels(level))
  bk_panel(
    range(at[[1]]), range(if (one) curve$quantiles, curve$mean, 0),
    xlab = names(at)[1], ylab = label, main = main
  )
  graphics::abline(h = 0, col = muted[["line"]], lty = 2)
  for (k in if (one) 1:2) {
    graphics::polygon(
      c(at[[1]], rev(at[[1]])),
      c(curve$quantiles[, k], rev(curve$quantiles[, 5 - k])),
      col = grDevices::adjustcolor(bk_palette(1), 0.08 + 0.1 * k), border = NA
    )
  }
  for (l in seq_len(count)) {
    own <- as.integer(level) == l
    graphics::lines(
      at[[1]][own], curve$mean[own],
      col = bk_palette(count)[l], lty = bk_lines(count)[l], lwd = 2
    )
  }
  if (!is.null(labels)) key_classes(labels, bk_palette(count), bk_lines(count))
}

# White where the surface is `middle`; `points` are two columns on top.
plot_smooth_surface <- function(at, mean, main, middle = 0, points = NULL) {
  sides <- lapply(at, function(v) sort(unique(v)))
  z <- matrix(mean, length(sides[[1]]))
  old <- bk_look()
  on.exit(graphics::par(old))
  bk_panel(
    range(sides[[1]]), range(sides[[2]]),
    xlab = names(at)[1], ylab = names(at)[2], main = main
  )
  # Not too dark for lines and points on top.
  ends <- blend(bk_colours[c("orange", "blue")], 0.75)
  colours <- grDevices::colorRampPalette(c(ends[1], "white", ends[2]))(61)
  graphics::image(
    sides[[1]], sides[[2]], z - middle,
    zlim = c(-1, 1) * max(abs(z - middle), 1e-300), col = colours, add = TRUE
  )
  if (!is.null(points)) {
    graphics::points(
      points,
      pch = 19, cex = 0.4, col = grDevices::adjustcolor(muted[["line"]], 0.5)
    )
  }
  graphics::contour(
    sides[[1]], sides[[2]], z,
    add = TRUE, col = muted[["axis"]], labcex = 0.7
  )
}
