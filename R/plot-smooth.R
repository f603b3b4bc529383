# Smooth terms of a fit: their curves and pictures.

# Mean and, by probability, quantiles of the contribution of a smooth to the
# latent value over a grid by smooth_grid().
smooth_curve <- function(object, grid, probs) {
  at <- grid$at
  columns <- grid$columns
  if (object$method == "gibbs") {
    draws <- flat_draws(object, fixed_names(object)[at])
    values <- tcrossprod(draws, columns)
    return(list(
      mean = colMeans(values),
      quantiles = t(apply(values, 2, stats::quantile, probs, names = FALSE))
    ))
  }
  mean <- drop(columns %*% coefficient_mean(object, "data")[at])
  sd <- sqrt(pmax(quadratic(columns, coefficient_cov(object, "data")[at, at]), 0))
  list(mean = mean, quantiles = mean + outer(sd, stats::qnorm(probs)))
}

draw_smooths <- function(x, pars, main) {
  labels <- vapply(x$smooths, `[[`, "", "label")
  which <- match(check_pars(pars, labels), labels)
  if (length(which) > 1) {
    old <- graphics::par(mfrow = panel_layout(length(which)))
    on.exit(graphics::par(old))
  }
  for (k in which) {
    smooth <- x$smooths[[k]]
    title <- main_title(main, smooth$label)
    factors <- !vapply(smooth$levels[seq_along(smooth$variables)], is.null, NA)
    kind <- paste0(length(smooth$variables), if (any(factors)) "f")
    switch(kind,
      "1" = plot_smooth_curve(x, k, title),
      "2" = plot_smooth_surface(x, k, title),
      "1f" = plot_smooth_levels(x, k, title),
      "2f" = plot_smooth_family(x, k, title, which(factors)),
      bk_abort(
        "argument", sprintf("`%s` has too many variables to draw.", labels[k]),
        "Accepted: smooths of one or two variables.",
        column = "pars", found = labels[k]
      )
    )
  }
}

plot_smooth_curve <- function(x, k, main) {
  grid <- smooth_grid(x$design, k)
  curve <- smooth_curve(x, grid, c(0.05, 0.25, 0.75, 0.95))
  at <- grid$data[[x$smooths[[k]]$variables]]
  old <- bk_look()
  on.exit(graphics::par(old))
  bk_panel(
    range(at), range(curve$quantiles, 0),
    xlab = x$smooths[[k]]$variables, ylab = "Effect on the latent value",
    main = main
  )
  colour <- bk_colours[["blue"]]
  band <- function(columns, alpha) {
    q <- curve$quantiles[, columns]
    graphics::polygon(
      c(at, rev(at)), c(q[, 1], rev(q[, 2])),
      col = grDevices::adjustcolor(colour, alpha), border = NA
    )
  }
  band(c(1, 4), 0.18)
  band(c(2, 3), 0.28)
  graphics::abline(h = 0, col = muted[["line"]], lty = 2)
  graphics::lines(at, curve$mean, col = colour, lwd = 2)
  invisible(NULL)
}

# One effect a level of a factor.
plot_smooth_levels <- function(x, k, main) {
  grid <- smooth_grid(x$design, k)
  curve <- smooth_curve(x, grid, c(0.05, 0.95))
  plot_intervals(
    curve$mean, curve$quantiles[, 1], curve$quantiles[, 2],
    labels = as.character(grid$data[[1]]), xlab = "Effect on the latent value",
    main = main
  )
}

# One curve a level of a factor.
plot_smooth_family <- function(x, k, main, factor) {
  grid <- smooth_grid(x$design, k)
  mean <- smooth_curve(x, grid, 0.5)$mean
  names <- x$smooths[[k]]$variables
  at <- grid$data[[names[-factor]]]
  level <- grid$data[[names[factor]]]
  count <- nlevels(level)
  old <- bk_look()
  on.exit(graphics::par(old))
  # Names of many levels would hide the curves.
  labels <- if (count <= 24L) key_labels(levels(level))
  bk_panel(
    range(at), range(mean, 0),
    xlab = names[-factor], ylab = "Effect on the latent value", main = main
  )
  for (l in seq_len(count)) {
    own <- as.integer(level) == l
    graphics::lines(
      at[own], mean[own],
      col = bk_palette(count)[l], lty = bk_lines(count)[l], lwd = 1.5
    )
  }
  if (!is.null(labels)) key_classes(labels, bk_palette(count), bk_lines(count))
  invisible(NULL)
}

plot_smooth_surface <- function(x, k, main) {
  grid <- smooth_grid(x$design, k, n = 40)
  curve <- smooth_curve(x, grid, 0.5)
  names <- x$smooths[[k]]$variables
  sides <- lapply(grid$data[names], function(v) sort(unique(v)))
  z <- matrix(curve$mean, length(sides[[1]]))
  old <- bk_look()
  on.exit(graphics::par(old))
  limit <- max(abs(z))
  bk_panel(
    range(sides[[1]]), range(sides[[2]]),
    xlab = names[1], ylab = names[2], main = main
  )
  colours <- grDevices::colorRampPalette(
    c(bk_colours[["orange"]], "white", bk_colours[["blue"]])
  )(61)
  graphics::image(
    sides[[1]], sides[[2]], z,
    zlim = c(-limit, limit), col = colours, add = TRUE
  )
  graphics::contour(
    sides[[1]], sides[[2]], z,
    add = TRUE, col = muted[["axis"]], labcex = 0.7
  )
  invisible(NULL)
}
