# Smooth terms of a fit: their curves and pictures.

# Mean, sd and, by probability, quantiles of the contribution of a smooth to the latent value over a
# grid by smooth_grid().
smooth_curve <- function(object, grid, probs) {
  at <- grid$at
  columns <- grid$columns
  if (!is.null(object$draws)) {
    draws <- flat_draws(object, fixed_names(object)[at])
    values <- tcrossprod(draws, columns)
    return(list(
      mean = colMeans(values), sd = apply(values, 2, stats::sd),
      quantiles = t(apply(values, 2, stats::quantile, probs, names = FALSE))
    ))
  }
  mean <- drop(columns %*% coefficient_mean(object, "data")[at])
  sd <- sqrt(pmax(quadratic(columns, coefficient_cov(object, "data")[at, at]), 0))
  list(mean = mean, sd = sd, quantiles = mean + outer(sd, stats::qnorm(probs)))
}

# Every panel one below the other: `at`, and of a second variable `by`.
smooth_data <- function(x, pars, level = 0.95) {
  panels <- smooth_panels(x, pars, level)
  out <- do.call(rbind, lapply(panels, function(panel) {
    at <- panel$at
    data.frame(
      term = panel$label, kind = panel$kind, at = if (is.numeric(at[[1]])) at[[1]] else NA_real_,
      by = as.character(
        if (length(at) > 1L) at[[2]] else if (!is.numeric(at[[1]])) at[[1]] else NA
      ),
      fit = panel$mean, sd = panel$sd, lwr = panel$quantiles[, 1], upr = panel$quantiles[, 4],
      lwr_50 = panel$quantiles[, 2], upr_50 = panel$quantiles[, 3], row.names = NULL
    )
  }))
  structure(out, panels = panels)
}

smooth_panels <- function(x, pars, level) {
  labels <- vapply(x$smooths, `[[`, "", "label")
  which <- match(check_pars(pars, labels), labels)
  if (is.null(pars)) {
    few <- lengths(lapply(x$smooths[which], `[[`, "variables")) <= 2L
    if (any(few)) which <- which[few]
  }
  lapply(which, smooth_panel, x = x, level = level)
}

draw_smooths <- function(x, data, level, main) {
  panels <- attr(data, "panels")
  surface <- vapply(panels, function(panel) panel$kind == "2", NA)
  # One scale for all surfaces, and beside each how uncertain it is.
  means <- largest(unlist(lapply(panels[surface], `[[`, "mean")))
  sds <- largest(unlist(lapply(panels[surface], `[[`, "sd")))
  old <- bk_looks(length(panels) + sum(surface))
  on.exit(graphics::par(old))
  label <- paste("Effect on", predicted_name(x))
  limits <- smooth_limits(data)
  seen <- seen_values(x, unlist(lapply(panels, function(panel) names(panel$at))))
  for (k in seq_along(panels)) {
    panel <- panels[[k]]
    title <- main_title(main, panel$title)
    at <- panel$at
    switch(panel$kind,
      "2" = {
        plot_smooth_surface(at, panel$mean, title, limit = means)
        draw_surface(
          at, panel$sd, paste("sd of", panel$title), c(0, sds),
          c("white", blend(bk_colours["purple"], 0.75))
        )
      },
      "f" = plot_intervals(
        panel$mean, panel$quantiles[, 1], panel$quantiles[, 4], reach = limits,
        labels = do.call(paste, c(lapply(at, as.character), sep = ", ")), xlab = label, main = title
      ),
      plot_smooth_curves(
        at, panel, label, title, seen[[names(at)[1]]], limits, if (k == 1L) two_intervals(level)
      )
    )
  }
}

# What all curves and levels reach: curves by level have no intervals.
smooth_limits <- function(data) {
  ends <- data$kind %in% c("1", "f")
  range(data$fit[data$kind != "2"], data$lwr[ends], data$upr[ends], 0)
}

# Up to 200 values of numbers in the rows of the fit, by name, inside the curves.
seen_values <- function(x, names) {
  lapply(number_columns(x, names), function(v) {
    inside_curve(v[spread_over(length(v), 200L)], curve_ends(v))
  })
}

# Of the rows of the fit those of these variables that are numbers.
number_columns <- function(x, names) {
  data <- fit_data(x)
  data <- as.list(data[intersect(names, names(data))])
  Filter(function(v) is.numeric(v) && is.null(dim(v)), data)
}

largest <- function(values) max(abs(as.double(values)), 1e-300)

# What is drawn of a smooth: a curve, "1", curves by level of a factor, "1f", a surface, "2", or
# values by levels, "f".
smooth_panel <- function(k, x, level = 0.95) {
  smooth <- x$smooths[[k]]
  factors <- !vapply(smooth$levels[seq_along(smooth$variables)], is.null, NA)
  if (length(factors) > 2L) {
    bk_abort(
      "argument", sprintf("`%s` has too many variables to draw.", smooth$label),
      "Accepted: terms of one or two variables. plot(fit, \"partial\") and exposure() show others.",
      column = "pars", found = smooth$label
    )
  }
  numbers <- sum(!factors)
  kind <- if (numbers == 0L) "f" else if (any(factors)) "1f" else numbers
  built <- x$design$smooths[[k]]
  ends <- lapply(number_columns(x, built$names), curve_ends)
  grid <- smooth_grid(x$design, k, if (numbers == 2L) 40L else 201L, ends)
  c(
    list(
      kind = as.character(kind), label = smooth$label, title = smooth_title(built),
      at = grid$data[smooth$variables[order(factors)]]
    ),
    smooth_curve(x, grid, five_ends(level)[-3L])
  )
}

# The label, with what the curve is multiplied by, or the level that it is of, in words.
smooth_title <- function(smooth) {
  by <- smooth$names[-seq_len(smooth$dim)][1L]
  ending <- paste0(":", by, smooth$level)
  if (is.na(by) || !endsWith(smooth$label, ending)) return(smooth$label)
  start <- substr(smooth$label, 1L, nchar(smooth$label) - nchar(ending))
  paste0(start, ", by ", paste(c(by, smooth$level), collapse = " = "))
}

# A curve with its intervals, of which `note` tells, or one without for each level of a factor;
# `limits` of the y axis.
plot_smooth_curves <- function(at, curve, label, main, rows,
                               limits, note) {
  one <- length(at) == 1L
  level <- if (one) factor(rep("", nrow(at))) else at[[2]]
  count <- nlevels(level)
  old <- bk_look()
  on.exit(graphics::par(old))
  # Names of many levels would hide the curves.
  labels <- if (!one && count <= 24L) key_labels(levels(level))
  bk_panel(range(at[[1]]), limits, xlab = names(at)[1], ylab = label, main = main)
  graphics::abline(h = 0, col = muted[["line"]], lty = 2)
  for (k in if (one) 1:2) {
    graphics::polygon(
      c(at[[1]], rev(at[[1]])), c(curve$quantiles[, k], rev(curve$quantiles[, 5 - k])),
      col = grDevices::adjustcolor(bk_palette(1), 0.08 + 0.1 * k), border = NA
    )
  }
  for (l in seq_len(count)) {
    own <- as.integer(level) == l
    graphics::lines(
      at[[1]][own], curve$mean[own], col = bk_palette(count)[l], lty = bk_lines(count)[l], lwd = 2
    )
  }
  rows_along(rows)
  if (one && !is.null(note)) bk_note(note)
  if (!is.null(labels)) key_classes(labels, bk_palette(count), bk_lines(count))
}

# White where the surface is `middle`, the darkest color `limit` from there; `points` are two
# columns on top.
plot_smooth_surface <- function(at, mean, main, middle = 0, points = NULL,
                                limit = largest(mean - middle)) {
  # Not too dark for lines and points on top.
  ends <- blend(bk_colours[c("orange", "blue")], 0.75)
  draw_surface(at, mean, main, middle + c(-1, 1) * limit, c(ends[1], "white", ends[2]), points)
}

# A surface over two variables between `limits`, with the key of its colors.
draw_surface <- function(at, values, main, limits, colors, points = NULL) {
  sides <- lapply(at, function(v) sort(unique(v)))
  z <- matrix(values, length(sides[[1]]))
  marks <- pretty(limits, 5)
  marks <- marks[marks >= limits[1] & marks <= limits[2]]
  old <- bk_look()
  on.exit(graphics::par(old))
  key <- max(graphics::strwidth(format(marks), "inches", cex = 0.8))
  mai <- graphics::par("mai")
  room <- key + 4 * graphics::strwidth("0", "inches")
  graphics::par(mai = replace(mai, 4, mai[4] + room))
  bk_panel(
    range(sides[[1]]), range(sides[[2]]), xlab = names(at)[1], ylab = names(at)[2], main = main
  )
  colors <- grDevices::colorRampPalette(colors)(61)
  # Cells drawn one by one show seams.
  even <- all(vapply(sides, function(v) diff(range(diff(v))) <= 1e-6 * diff(range(v)), NA))
  graphics::image(
    sides[[1]], sides[[2]], z, zlim = limits, col = colors, add = TRUE, useRaster = even
  )
  if (!is.null(points)) {
    graphics::points(
      points, pch = 19, cex = 0.4, col = grDevices::adjustcolor(muted[["line"]], 0.5)
    )
  }
  contour_field(
    list(x = sides[[1]], y = sides[[2]]), z,
    pretty(values, 8), drawlabels = TRUE, col = muted[["axis"]]
  )
  key_scale(colors, (marks - limits[1]) / diff(limits), format(marks))
}
