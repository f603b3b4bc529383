# Pictures of the joint effect of several predictors.

#' @rdname exposure
#' @export
plot.bayeskernel_exposure <- function(x, main = NULL, ...) {
  check_no_dots(...)
  main <- check_title(main)
  info <- attr(x, "exposure")
  if (is.null(info)) {
    bk_abort(
      "argument", "The table has lost what it is about.",
      "Draw what exposure() returned, and not a part of it."
    )
  }
  if (nrow(x) == 0L) {
    bk_abort(
      "dimension", "The table has no rows to draw.",
      "Draw what exposure() returned, and not a part of it.", column = "x", found = 0L
    )
  }
  info$table <- as.data.frame(x)
  draw <- switch(info$type,
    overall = plot_overall, single = plot_single,
    interaction = plot_interaction, univariate = plot_univariate,
    bivariate = plot_bivariate, slices = plot_slices
  )
  draw(info, main)
  invisible(x)
}

# As draw_band() reads a curve.
as_curve <- function(table) data.frame(fit = table$estimate, lwr = table$lower, upr = table$upper)

# With zero, and not nothing if all is zero.
wide_range <- function(...) {
  limits <- range(..., 0)
  if (diff(limits) > 0) limits else c(-1, 1)
}

interval_note <- function(info) paste(percent(info$level), "intervals")

change_label <- function(info) sprintf("Change of %s", info$what)

# Intervals by quantile.
plot_overall <- function(info, main) {
  table <- info$table
  old <- bk_look(left = 4.4)
  on.exit(graphics::par(old))
  bk_panel(
    range(table$quantile) + c(-0.01, 0.01), wide_range(table$lower, table$upper),
    sprintf("Quantile of %s", abbreviate_end(info$pars)), "",
    main_title(main, paste0("Overall effect, less that at the medians, ", interval_note(info)))
  )
  graphics::title(ylab = change_label(info), line = 3.3)
  graphics::abline(h = 0, col = muted[["line"]], lty = 2)
  draw_band(table$quantile, as_curve(table), TRUE, bk_colours[["blue"]], 1L)
}

# As many names as fit into a label.
abbreviate_end <- function(names, most = 48L) {
  fits <- cumsum(nchar(names) + 2L) <= most
  if (all(fits)) return(paste(names, collapse = ", "))
  if (!fits[1]) return(sprintf("%d predictors together", length(names)))
  sprintf("%s and %d more", paste(names[fits], collapse = ", "), sum(!fits))
}

# A row for each predictor, with an interval for each quantile of the others.
plot_single <- function(info, main) {
  names <- info$pars[largest_rows(vapply(info$pars, function(name) {
    max(abs(info$table$estimate[info$table$predictor == name]))
  }, 0), 15L)]
  table <- info$table[info$table$predictor %in% names, ]
  place <- row_panel(
    names, wide_range(table$lower, table$upper),
    sprintf(
      "%s from quantile %s to %s", change_label(info),
      format(info$change[1]), format(info$change[2])
    ), main_title(main, paste0("Effect of each, ", interval_note(info))),
    rest_note(length(info$pars), length(names), "change"),
    top = if (length(info$pars) > 1L) 3.4 else 2.2
  )
  on.exit(graphics::par(place$old))
  graphics::abline(v = 0, col = muted[["line"]])
  others <- unique(table$others)
  colours <- bk_palette(length(others))
  step <- min(0.25, 0.7 / length(others))
  for (k in seq_along(others)) {
    own <- table[table$others == others[k], ]
    at <- place$at[match(own$predictor, names)] - step * (k - (length(others) + 1) / 2)
    graphics::segments(own$lower, at, own$upper, at, col = colours[k], lwd = 2)
    graphics::points(own$estimate, at, pch = 21, bg = "white", col = colours[k])
  }
  if (length(info$pars) > 1L) {
    key_above(
      sprintf("others at %s", format(others, trim = TRUE)), col = colours, pch = 21,
      pt.bg = "white", lty = 1, lwd = 2
    )
  }
}

plot_interaction <- function(info, main) {
  table <- info$table
  shown <- largest_rows(abs(table$estimate))
  table <- table[shown, ]
  plot_intervals(
    table$estimate, table$lower, table$upper, table$predictor,
    xlab = change_label(info), main = main_title(main, sprintf(
      "Effect with the others at %s, less at %s, %s", format(info$quantiles[2]),
      format(info$quantiles[1]), interval_note(info)
    )),
    note = rest_note(nrow(info$table), length(shown), "change")
  )
}

# A panel for each predictor, at most twelve: of those whose curves go furthest.
plot_univariate <- function(info, main, most = 12L) {
  own <- split(info$table, factor(info$table$predictor, info$pars))
  reach <- vapply(own, function(curve) diff(range(curve$estimate)), 0)
  shown <- sort(utils::head(order(-reach), most))
  curves <- lapply(own[shown], function(curve) {
    # Numbers stand as text beside the names of levels.
    name <- curve$predictor[1L]
    value <- if (is.null(info$points[[name]]) || name %in% info$few) {
      factor(curve$value, unique(curve$value))
    } else {
      text_numbers(curve$value)
    }
    cbind(value = value, as_curve(curve))
  })
  curve_panels(
    curves, sentence(info$what),
    main_title(main, interval_note(info)), rows = info$points,
    note = if (length(own) > length(shown)) {
      sprintf("%d more not shown", length(own) - length(shown))
    }
  )
}

# Where there are rows: short lines on the axis.
rows_along <- function(values) {
  if (length(values) == 0L) return(invisible())
  usr <- graphics::par("usr")
  graphics::segments(
    values, usr[3], values, usr[3] + 0.025 * diff(usr[3:4]),
    col = grDevices::adjustcolor(muted[["line"]], 0.5), lwd = 0.7
  )
}

plot_bivariate <- function(info, main) {
  table <- info$table
  at <- stats::setNames(table[c("value1", "value2")], info$pars)
  probability <- info$classes && info$scale == "response"
  middle <- if (probability) {
    0.5
  } else if (info$classes) {
    0
  } else {
    mean(range(table$estimate))
  }
  plot_smooth_surface(
    at, table$estimate, main_title(main, sentence(info$what)), middle, info$points[info$pars]
  )
}

# A curve for each value of the second predictor.
plot_slices <- function(info, main) {
  table <- info$table
  value <- table$value2
  at <- unique(value)
  labels <- if (is.numeric(value)) {
    quantile <- table$quantile2[match(at, value)]
    sprintf("%s (quantile %s)", formatC(at, digits = 3, format = "g"), quantile)
  } else {
    as.character(at)
  }
  count <- length(at)
  old <- bk_look(left = 4.4)
  on.exit(graphics::par(old))
  labels <- key_labels(labels)
  bk_panel(
    range(table$value1), range(table$lower, table$upper), info$pars[1], "",
    main_title(main, sprintf("By %s, %s", abbreviate_middle(info$pars[2]), interval_note(info)))
  )
  graphics::title(ylab = sentence(info$what), line = 3.3)
  rows_along(info$points[[info$pars[1]]])
  for (k in seq_len(count)) {
    own <- table[value == at[k], ]
    few <- info$pars[1] %in% info$few
    shift <- if (few) 0.02 * (k - (count + 1) / 2) * diff(range(table$value1)) else 0
    draw_band(own$value1 + shift, as_curve(own), few, bk_palette(count)[k], bk_lines(count)[k])
  }
  key_classes(labels, bk_palette(count), bk_lines(count))
}
