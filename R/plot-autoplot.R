# Plots by ggplot2, of the data that base plots draw. Nothing is imported: the method is registered
# when ggplot2 loads.

#' @rdname plot_data
#' @exportS3Method ggplot2::autoplot
autoplot.bayeskernel_fit <- function(object, type = NULL, ...) {
  asked <- asked_picture(object, type, ...)
  gg <- asked$picture$gg
  out <- do.call(gg, asked$given[names(formals(gg))], quote = TRUE)
  if (is.null(asked$given$main)) out else out + ggplot2::ggtitle(asked$given$main)
}

# Names of columns as aesthetics.
aes_of <- function(...) do.call(ggplot2::aes, lapply(list(...), as.name))

gg_start <- function(data, mapping, title = NULL, x, y = NULL, caption = NULL) {
  axis <- ggplot2::guide_axis(check.overlap = TRUE)
  lines <- function(text, most) {
    if (is.character(text)) paste(strwrap(text, most), collapse = "\n") else text
  }
  ggplot2::ggplot(data, mapping) + ggplot2::theme_minimal() + ggplot2::guides(x = axis, y = axis) +
    ggplot2::theme(
      panel.grid.minor = ggplot2::element_blank(), strip.clip = "off",
      panel.spacing = ggplot2::unit(1.2, "lines"),
      plot.title = ggplot2::element_text(size = ggplot2::rel(1.05)),
      plot.subtitle = ggplot2::element_text(color = muted[["axis"]], size = ggplot2::rel(0.85)),
      plot.caption = ggplot2::element_text(color = muted[["axis"]])
    ) + ggplot2::labs(
      title = lines(title, 64), x = lines(x, 60), y = lines(y, 40), caption = lines(caption, 76)
    )
}

# Ticks along the axis where rows are; of no rows nothing.
gg_rug <- function(values, name = "at") {
  if (NROW(values) == 0L) return(NULL)
  data <- if (is.data.frame(values)) values else stats::setNames(data.frame(values), name)
  ggplot2::geom_rug(
    aes_of(x = name), data, sides = "b", inherit.aes = FALSE, alpha = 0.35, color = muted[["line"]],
    length = ggplot2::unit(0.02, "npc")
  )
}

# Colors and fills of classes, those of base plots.
gg_classes <- function(levels) {
  values <- stats::setNames(bk_palette(length(levels)), levels)
  list(ggplot2::scale_color_manual(values = values), ggplot2::scale_fill_manual(values = values))
}

# --- a row for each term -----------------------------------------------------

# Panels in as many columns as base plots have.
gg_panels <- function(data, name, ...) {
  ggplot2::facet_wrap(name, ncol = panel_layout(length(unique(data[[name]])))[2], ...)
}

# In the order of the data, first on top.
in_order <- function(text) factor(text, rev(unique(text)))

# Names of rows, in smaller letters where there are many; where they are long the label of the other
# axis, too, ends where the panel does.
gg_row_names <- function(names, rows = length(names)) {
  short <- stats::setNames(abbreviate_middle(as.character(names), 36L), names(names) %||% names)
  list(
    ggplot2::scale_y_discrete(labels = short), ggplot2::theme(
      axis.text.y = ggplot2::element_text(size = ggplot2::rel(max(0.9, min(1, 20 / rows)))),
      axis.title.x = ggplot2::element_text(hjust = if (max(nchar(short), 0) > 14L) 1 else 0.5)
    )
  )
}

gg_rows <- function(data, label, xlab, title, zero = TRUE, caption = NULL,
                    names = unique(data[[label]]), rows = length(names)) {
  data$label <- in_order(data[[label]])
  blue <- bk_colours[["blue"]]
  out <- gg_start(data, aes_of(x = "estimate", y = "label"), title, xlab, caption = caption) +
    gg_row_names(names, rows)
  if (zero) out <- out + ggplot2::geom_vline(xintercept = 0, color = muted[["line"]])
  out <- out + ggplot2::geom_segment(
    aes_of(x = "lower", xend = "upper", yend = "label"), color = blue
  )
  if (!is.null(data$lower_50)) {
    out <- out + ggplot2::geom_segment(
      aes_of(x = "lower_50", xend = "upper_50", yend = "label"), color = blue, linewidth = 1.6
    )
  }
  out + ggplot2::geom_point(color = blue, shape = 21, fill = "white")
}

gg_coefficients <- function(x, data, scale, level) {
  shown <- shown_coefficients(x, data)
  label <- change_label_of(x, scale, data$term)
  data$term <- step_labels(data)
  gg_rows(
    data[shown$rows, ], "term", label,
    paste("Coefficients,", two_intervals(level)), caption = shown$note
  )
}

gg_random_effects <- function(x, data, level) {
  data$panel <- paste(data$term, "by", data$group)
  # The same level has another place in each panel.
  data$row <- paste(data$level, data$panel)
  names <- stats::setNames(data$level, data$row)
  panels <- unique(data$panel)
  many <- nrow(data) > most_rows * length(panels)
  data$panel <- factor(data$panel, panels)
  one <- length(panels) == 1L
  out <- gg_rows(
    data, "row", sprintf("Effect on %s", predicted_name(x)),
    sprintf("%s, %s intervals", if (one) panels else "Random effects", percent(level)),
    names = names, rows = max(table(data$panel))
  )
  if (many) out <- out + ggplot2::theme(panel.grid.major.y = ggplot2::element_blank())
  if (one) return(out)
  out + gg_panels(data, "panel", scales = "free") +
    ggplot2::theme(axis.title.x = ggplot2::element_text(hjust = 0.5))
}

gg_scales <- function(x, data, level) {
  shown <- largest_rows(data$mean)
  gg_rows(
    data[shown, ], "predictor", scale_label(x), scales_title(level),
    FALSE, rest_note(nrow(data), length(shown), "mean")
  )
}

gg_weights <- function(x, data, level) {
  data$label <- in_order(data$space)
  blue <- bk_colours[["blue"]]
  out <- gg_start(
    data, aes_of(x = "mean", y = "label"), weights_title(x, level), weight_label(x)
  ) + gg_row_names(data$space) + ggplot2::geom_col(
    fill = if (all(is.na(data$lower))) blue else blend(blue, 0.4), width = 0.6
  )
  if (x$combine != "product") out <- out + ggplot2::xlim(0, 1)
  known <- data[!is.na(data$lower), ]
  if (nrow(known) == 0L) return(out)
  out + ggplot2::geom_segment(
    aes_of(x = "lower", xend = "upper", yend = "label"), known, color = blue, linewidth = 1
  )
}

gg_lengthscales <- function(x, data) {
  curve <- correlation_curve(x, data)
  out <- if (is.null(curve)) {
    note <- lengthscale_note(nrow(data))
    data <- utils::head(data, most_rows)
    data$predictor <- in_order(data$predictor)
    seen <- range(data$lengthscale, data$median_distance, na.rm = TRUE)
    gg_start(
      data, aes_of(x = "lengthscale", y = "predictor"), "Length-scales", lengthscale_label(x),
      caption = note
    ) + gg_row_names(levels(data$predictor)) +
      ggplot2::geom_point(color = bk_colours[["blue"]], size = 2) +
      ggplot2::scale_x_log10(limits = range(seen, mean(seen) / 2, mean(seen) * 2))
  } else {
    gg_start(
      curve, aes_of(x = "distance", y = "correlation"), correlation_title(data), distance_label(x),
      "Correlation of the latent values"
    ) + ggplot2::geom_line(color = bk_colours[["blue"]], linewidth = 0.9)
  }
  if (anyNA(data$median_distance)) return(out)
  out + ggplot2::geom_vline(
    xintercept = data$median_distance[1], linetype = 2, color = muted[["line"]]
  ) + ggplot2::labs(
    caption = paste(c("dashed: median distance between rows", out$labels$caption), collapse = "; ")
  )
}

gg_inclusion <- function(x, data) {
  if (!is.null(x$structure)) return(gg_inclusion_along(x, data))
  shown <- shown_inclusion(data$inclusion)
  data <- data[shown$rows, ]
  data$column <- in_order(data$column)
  signed <- !all(is.na(data$positive))
  out <- gg_start(
    data, aes_of(x = "inclusion", y = "column"), "Which predictors are in the model",
    "Posterior inclusion probability", caption = shown$note
  ) + ggplot2::xlim(0, 1) + gg_row_names(levels(data$column))
  prior <- unique(stats::na.omit(parameters(x, 0.95)$prior))
  if (length(prior) == 1L) {
    dashed <- sprintf("dashed: prior probability %s", format(prior, digits = 2))
    out <- out + ggplot2::geom_vline(xintercept = prior, linetype = 2, color = muted[["axis"]]) +
      ggplot2::labs(caption = paste(c(dashed, shown$note), collapse = "; "))
  }
  if (!signed) return(out + ggplot2::geom_col(fill = bk_colours[["blue"]]))
  out + ggplot2::geom_col(aes_of(fill = "positive")) + ggplot2::scale_fill_gradient2(
    low = bk_colours[["orange"]], mid = "grey82", high = bk_colours[["blue"]], midpoint = 0.5,
    limits = c(0, 1), name = "P(effect > 0)"
  )
}

# Along the order of the columns.
gg_inclusion_along <- function(x, data) {
  at <- places_along(data$column)
  data$at <- at$at
  prior <- prior_share(x)
  out <- gg_start(
    data, aes_of(x = "at", y = "inclusion"), "Which predictors are in the model", at$label,
    "Posterior inclusion probability"
  ) + ggplot2::geom_area(fill = bk_colours[["blue"]], alpha = 0.25) +
    ggplot2::geom_line(color = bk_colours[["blue"]])
  if (is.null(prior)) return(out)
  out + ggplot2::geom_hline(yintercept = prior, linetype = 2, color = muted[["axis"]]) +
    ggplot2::labs(caption = sprintf("dashed: prior probability %s", format(prior, digits = 2)))
}

# --- curves ------------------------------------------------------------------

gg_band <- function(low = "lwr", high = "upr", alpha, fill = bk_colours[["blue"]]) {
  ggplot2::geom_ribbon(aes_of(ymin = low, ymax = high), alpha = alpha, fill = fill, color = NA)
}

# A panel for each predictor. Those of numbers and of levels differ in their axis: levels of the
# k-th predictor lie at k * far + 1, 2, ..., beyond all numbers, and the breaks of such panels are
# their names.
gg_partial <- function(x, data, level) {
  marks <- attributes(data)
  many <- !is.null(data$class)
  if (many) data$class <- factor(data$class, x$levels)
  data$predictor <- factor(data$predictor, unique(data$predictor))
  stepped <- data$predictor %in% marks$points
  text <- as.character(data$value)
  data$at <- text_numbers(text)
  far <- 10 * max(abs(data$at[!stepped]), length(text))
  for (name in unique(as.character(data$predictor[stepped]))) {
    own <- data$predictor == name
    start <- far * match(name, levels(data$predictor))
    data$at[own] <- start + match(text[own], unique(text[own]))
  }
  told <- told_rows(data, x$levels)
  hidden <- gg_hidden(data[!told, ], stepped[!told])
  data <- droplevels(data[told, ])
  stepped <- stepped[told]
  text <- text[told]
  mapping <- list(x = "at", y = "fit")
  if (many) mapping <- c(mapping, color = "class", fill = "class")
  banded <- !all(is.na(data$lwr))
  one <- nlevels(data$predictor) == 1L
  out <- gg_start(
    data, do.call(aes_of, mapping), partial_title(banded, level), if (one) levels(data$predictor),
    response_label(x), if (!all(told)) gray_classes
  ) + ggplot2::labs(subtitle = if (length(marks$note)) paste(marks$note, collapse = "; ")) + hidden
  seen <- marks$seen
  if (!is.null(seen)) {
    seen$at <- data$at[match(as.character(seen$value), text)]
    if (!any(stepped)) seen$at <- as.numeric(seen$value)
    out <- out + ggplot2::geom_point(
      aes_of(x = "at", y = "y"), seen, inherit.aes = FALSE, color = seen_colour(nrow(seen)),
      size = 0.8
    )
  }
  blue <- bk_colours[["blue"]]
  lines <- marks$lines
  if (!is.null(lines)) {
    lines$predictor <- factor(lines$predictor, levels(data$predictor))
    out <- out + ggplot2::geom_line(
      aes_of(x = "value", y = "fit", group = "group"), lines, color = blue,
      alpha = line_alpha(lines), linewidth = 0.3
    )
  }
  own <- function(geom, ...) if (many) geom(...) else geom(..., color = blue)
  limits <- aes_of(ymin = "lwr", ymax = "upr")
  if (any(!stepped)) {
    ribbon <- list(limits, data[!stepped, ], alpha = 0.2, color = NA, na.rm = TRUE)
    if (!many) ribbon$fill <- blue
    out <- out + do.call(ggplot2::geom_ribbon, ribbon) +
      own(ggplot2::geom_line, data = data[!stepped, ]) + gg_partial_rug(marks$rows, data)
  }
  if (any(stepped)) {
    out <- out + own(
      ggplot2::geom_pointrange, limits, data = data[stepped, ], na.rm = TRUE, size = 0.3,
      position = ggplot2::position_dodge(width = 0.3)
    ) + gg_level_axis(data$at[stepped], text[stepped], far, nlevels(data$predictor))
  }
  if (many) out <- out + gg_classes(levels(data$class))
  if (one) return(out)
  out + gg_panels(data, "predictor", scales = "free_x", strip.position = "bottom") +
    ggplot2::theme(strip.placement = "outside")
}

# The curves of classes that have no colors.
gg_hidden <- function(data, stepped) {
  if (nrow(data) == 0L) return(NULL)
  at <- aes_of(x = "at", y = "fit", group = "class")
  list(
    ggplot2::geom_line(at, data[!stepped, ], inherit.aes = FALSE, color = "grey75"),
    ggplot2::geom_point(at, data[stepped, ], inherit.aes = FALSE, color = "grey75", size = 0.8)
  )
}

# Names of levels in lines of a few letters, upright where there is no room for these.
gg_level_axis <- function(at, text, far, panels) {
  numbers <- scales_breaks()
  text <- gsub("(.{1,12})(\\s+|$)", "\\1\n", abbreviate_middle(text))
  text <- sub("\n$", "", text)
  room <- 64 / panel_layout(panels)[2] / max(table(at %/% far) / table(at)[1])
  upright <- max(nchar(unlist(strsplit(text, "\n")))) > room
  list(if (upright) ggplot2::theme(
    axis.text.x = ggplot2::element_text(angle = 90, hjust = 1, vjust = 0.5)
  ), ggplot2::scale_x_continuous(
    guide = ggplot2::guide_axis(check.overlap = FALSE), breaks = function(limits) {
      if (limits[2] < far) return(numbers(limits))
      sort(unique(at[at >= limits[1] & at <= limits[2]]))
    },
    labels = function(breaks) {
      found <- match(breaks, at)
      ifelse(is.na(found), format(breaks, trim = TRUE, drop0trailing = TRUE), text[found])
    },
    expand = ggplot2::expansion(mult = 0.05, add = c(0, 0))
  ))
}

scales_breaks <- function() {
  function(limits) {
    marks <- pretty(limits, 5)
    marks[marks >= limits[1] & marks <= limits[2]]
  }
}

gg_partial_rug <- function(rows, data) {
  rows <- rows[intersect(names(rows), levels(data$predictor))]
  if (length(rows) == 0L) return(NULL)
  gg_rug(data.frame(
    at = as.numeric(unlist(rows)),
    predictor = factor(rep(names(rows), lengths(rows)), levels(data$predictor))
  ))
}

gg_curve <- function(x, data, level) {
  rows <- curve_rows(x)
  out <- gg_start(
    data, aes_of(x = "x", y = "fit"), curve_title(x, level), x$columns, response_label(x),
    "ticks: candidates for centers"
  ) + gg_band(alpha = 0.13) + gg_band("lwr_mean", "upr_mean", 0.25)
  if (!is.null(rows)) {
    out <- out + ggplot2::geom_point(
      aes_of(x = "x", y = "y"), rows, inherit.aes = FALSE, color = muted[["line"]], size = 0.8
    )
  }
  centres <- seqkr_centres(x)
  out + ggplot2::geom_line(color = bk_colours[["blue"]]) + ggplot2::geom_rug(
    aes_of(x = "x"), data.frame(x = centres[centres$inclusion > 0, 1]), sides = "b",
    inherit.aes = FALSE, color = bk_colours[["orange"]], alpha = 0.7
  )
}

# `gg_start()` of panels by term; of one term its variables are the names of the axes.
gg_smooths <- function(x, data, level) {
  label <- paste("Effect on", predicted_name(x))
  panels <- attr(data, "panels")
  surface <- data$kind == "2"
  if (any(surface) && !all(surface)) {
    bk_inform("plot", "Curves and surfaces do not share axes: curves are drawn.",
      paste0("Give pars = ", list_some(quoted(unique(data$term[surface]))), " for the others.")
    )
  }
  titles <- vapply(panels, `[[`, "", "title")
  data$term <- titles[match(data$term, vapply(panels, `[[`, "", "label"))]
  if (all(surface)) return(gg_surfaces(data, panels, label))
  panels <- panels[vapply(panels, function(panel) panel$kind != "2", NA)]
  data <- data[!surface, ]
  data$term <- factor(data$term, unique(data$term))
  if (any(data$kind == "f")) {
    names(data)[match(c("fit", "lwr", "upr"), names(data))] <- c("estimate", "lower", "upper")
    return(gg_rows(data[data$kind == "f", ], "by", label, NULL) + ggplot2::facet_wrap("term"))
  }
  grouped <- any(data$kind == "1f")
  one <- length(unique(data$term)) == 1L
  variable <- unlist(lapply(panels, function(panel) names(panel$at)[1]))
  mapping <- if (grouped) aes_of(x = "at", y = "fit", color = "by") else aes_of(x = "at", y = "fit")
  title <- if (one) as.character(data$term[1]) else "Smooths"
  if (!grouped) title <- paste0(title, ", ", two_intervals(level))
  out <- gg_start(data, mapping, title, if (one) variable[1], label) +
    ggplot2::geom_hline(yintercept = 0, linetype = 2, color = muted[["line"]])
  out <- if (grouped) {
    out + ggplot2::geom_line() + ggplot2::labs(color = NULL)
  } else {
    out + gg_band(alpha = 0.16) + gg_band("lwr_50", "upr_50", 0.25) +
      ggplot2::geom_line(color = bk_colours[["blue"]])
  }
  seen <- seen_values(x, variable)[variable]
  terms <- rep(unique(data$term), lengths(seen))
  out <- out + gg_rug(data.frame(at = unlist(seen, use.names = FALSE), term = terms))
  if (one) out else out + gg_panels(data, "term", scales = "free_x")
}

gg_surfaces <- function(data, panels, label) {
  data$by <- text_numbers(data$by)
  one <- length(panels) == 1L
  variables <- names(panels[[1]]$at)
  out <- gg_start(
    data, aes_of(x = "at", y = "by"), if (one) data$term[1], if (one) variables[1],
    if (one) variables[2], "lines: of equal effect"
  ) + ggplot2::geom_raster(aes_of(fill = "fit"), interpolate = TRUE) +
    ggplot2::geom_contour(aes_of(z = "fit"), color = muted[["axis"]], linewidth = 0.3) +
    ggplot2::scale_fill_gradient2(
      low = bk_colours[["orange"]], high = bk_colours[["blue"]], name = label
    )
  if (one) out else out + gg_panels(data, "term", scales = "free")
}

# --- fit, chains, planes -----------------------------------------------------

gg_calibration <- function(x, data, newdata, link, level) {
  two <- length(x$levels) == 2L
  blue <- bk_colours[["blue"]]
  gg_start(
    data, aes_of(x = "predicted", y = "observed"), calibration_title(x, newdata, link),
    fitted_label(x), if (two) "Observed frequency" else "Frequency of being right",
    sprintf("lines: %s intervals; gray: rows by probability", percent(level))
  ) + ggplot2::geom_segment(
    aes_of(x = "start", y = "start", xend = "end", yend = "end"), data.frame(start = 0, end = 1),
    linetype = 2, color = muted[["line"]]
  ) + ggplot2::geom_rect(
    aes_of(xmin = "left", xmax = "right", ymax = "top"), inherit.aes = FALSE, ymin = -0.16,
    probability_bars(attr(data, "probability")), fill = "grey75"
  ) + ggplot2::geom_linerange(aes_of(ymin = "lower", ymax = "upper"), color = blend(blue, 0.6)) +
    ggplot2::geom_point(aes_of(size = "rows"), color = blue) +
    ggplot2::scale_size_area(max_size = 4, guide = "none") +
    ggplot2::scale_y_continuous(breaks = seq(0, 1, 0.2)) +
    ggplot2::coord_cartesian(xlim = c(0, 1), ylim = c(-0.16, 1))
}

gg_observed <- function(x, data, newdata, level) {
  outside <- data$observed < data$lwr | data$observed > data$upr
  labels <- observed_labels(x)
  blue <- bk_colours[["blue"]]
  gg_start(
    data, aes_of(x = "fit", y = "observed"), observed_title(newdata, level), labels[1], labels[2],
    inside_note(outside)
  ) + ggplot2::geom_linerange(
    aes_of(ymin = "lwr", ymax = "upr"), data[some_along(data$fit), ], alpha = 0.25, color = blue
  ) + ggplot2::geom_point(
    color = ifelse(outside, bk_colours[["orange"]], blue), alpha = many_alpha(nrow(data)),
    size = if (nrow(data) > 500L) 0.6 else 1
  ) + ggplot2::geom_abline(linetype = 2, color = "grey20")
}

gg_bound <- function(x, data) {
  low <- bound_floor(data$bound)
  shown <- data[is.finite(data$bound) & data$bound >= low, ]
  hidden <- nrow(data) - nrow(shown)
  gg_start(
    shown, aes_of(x = "pass", y = "bound"), "Variational bound", "Pass over the data",
      "Lower bound",
    hidden_note(hidden)
  ) + ggplot2::geom_line(color = bk_colours[["blue"]]) +
    if (nrow(shown) <= 60L) ggplot2::geom_point(color = bk_colours[["blue"]], size = 0.9)
}

gg_trace <- function(x, data) {
  data$chain <- factor(data$chain)
  data$variable <- factor(data$variable, unique(data$variable))
  for (own in split(seq_len(nrow(data)), data$variable)) {
    limits <- trace_limits(data$value[own])
    data$value[own] <- replace(
      data$value[own], data$value[own] < limits[1] | data$value[own] > limits[2], NA
    )
  }
  data <- data[data$draw %in% spread_over(max(data$draw), 2000), ]
  gg_start(data, aes_of(x = "draw", y = "value", color = "chain"), NULL, "Kept draw") +
    ggplot2::geom_line(linewidth = 0.3, alpha = 0.65, na.rm = TRUE) +
    gg_panels(data, "variable", scales = "free_y") + gg_classes(levels(data$chain)) +
    ggplot2::guides(color = ggplot2::guide_legend(override.aes = list(linewidth = 1, alpha = 1)))
}

gg_kernels <- function(x, data) {
  data <- data[data$posterior > 0 | data$prior > 1e-3, ]
  line <- aes_of(y = "prior")
  line$colour <- "prior"
  gg_start(
    data, aes_of(x = "kernels", y = "posterior"), "Posterior and prior", "Number of kernels",
    "Probability"
  ) + ggplot2::geom_col(ggplot2::aes(fill = "posterior"), width = 0.76) +
    ggplot2::geom_line(line) + ggplot2::geom_point(line, size = 0.8) +
    ggplot2::scale_fill_manual(values = c(posterior = bk_colours[["blue"]]), name = NULL) +
    ggplot2::scale_color_manual(values = c(prior = bk_colours[["orange"]]), name = NULL)
}

gg_stream <- function(x, data) {
  n <- nrow(data)
  panels <- c("Log evidence so far", "Effective particles (dots: resampled)")
  long <- data.frame(
    row = rep(seq_len(n), 2L), value = c(cumsum(data$log_evidence), data$ess),
    panel = factor(rep(panels, each = n), panels), resampled = c(logical(n), data$resampled > 0)
  )
  gg_start(long, aes_of(x = "row", y = "value"), NULL, "Row") +
    ggplot2::geom_line(color = bk_colours[["blue"]]) +
    ggplot2::geom_point(data = long[long$resampled, ], color = bk_colours[["orange"]], size = 0.8) +
    ggplot2::geom_blank(
      data = data.frame(row = 1, value = 0, panel = factor(panels[2], panels))
    ) + gg_panels(long, "panel", scales = "free_y")
}

gg_projection <- function(x, data, level) {
  found <- projection(x)
  one <- is.null(data$u2)
  data$class <- factor(data$class, x$levels)
  half <- stats::qnorm((1 + level) / 2) * x$fitted$prob_sd
  data$lower <- pmax(data$probability - half, 0)
  data$upper <- pmin(data$probability + half, 1)
  out <- gg_start(
    data, aes_of(x = "u1", y = if (one) "probability" else "u2", color = "class", shape = "class"),
    "Rows in the learned directions", long_axis_name(found, 1L),
    if (one) response_label(x) else long_axis_name(found, 2L),
    if (one) sprintf("bars: %s limits", percent(level))
  )
  if (one) {
    out <- out + ggplot2::geom_linerange(
      aes_of(ymin = "lower", ymax = "upper"), color = blend(muted[["line"]], 0.5)
    )
  }
  out + ggplot2::geom_point() + ggplot2::labs(color = NULL, shape = NULL) +
    ggplot2::scale_color_manual(values = stats::setNames(class_pair, x$levels)) +
    ggplot2::scale_shape_manual(values = stats::setNames(c(1, 19), x$levels))
}

gg_boundary <- function(x, data) {
  names <- names(data)[1:2]
  many <- length(x$levels) > 2L
  prob <- as.matrix(data[paste0("prob_", x$levels)])
  best <- most_probable(prob)
  field <- data.frame(x = data[[1]], y = data[[2]], sd = data$sd, prob = prob[, 2])
  field$class <- factor(x$levels[best$class], x$levels)
  field$sure <- best$prob
  points <- attr(data, "points")
  wrong <- points$wrong %in% TRUE
  few <- shows_inducing(x, points, names)
  title <- if (many) "Most probable class" else response_label(x)
  out <- gg_start(
    field, aes_of(x = "x", y = "y"), title, names[1], names[2],
    paste0(
      boundary_note(few),
      if (any(wrong)) paste("; in rings:", wrong_rows(points, attr(data, "held")))
    )
  ) + ggplot2::labs(subtitle = attr(data, "held"))
  out <- if (many) {
    out + ggplot2::geom_raster(aes_of(fill = "class", alpha = "sure"), interpolate = TRUE) +
      gg_classes(x$levels) + ggplot2::scale_alpha(range = c(0.1, 0.7), guide = "none") +
      ggplot2::guides(fill = ggplot2::guide_legend(override.aes = list(alpha = 0.7))) +
      gg_class_borders(data[1:2], prob)
  } else {
    out + ggplot2::geom_raster(aes_of(fill = "prob"), interpolate = TRUE) +
      ggplot2::geom_contour(aes_of(z = "prob"), breaks = c(0.1, 0.9), color = "grey20") +
      ggplot2::geom_contour(aes_of(z = "prob"), breaks = 0.5, color = "grey10", linewidth = 1) +
      ggplot2::scale_fill_gradient2(
        low = blend(class_pair[1], 0.7), high = blend(class_pair[2], 0.7), midpoint = 0.5,
        limits = c(0, 1), name = NULL
      )
  }
  if (diff(range(field$sd)) > 1e-8 * max(abs(field$sd))) {
    out <- out + ggplot2::geom_contour(
      aes_of(z = "sd"), breaks = pretty(field$sd, 5), color = "grey40", linetype = 2,
      linewidth = 0.3
    )
  }
  out + gg_boundary_points(x, points, many, few, names)
}

# Where the most probable class changes.
gg_class_borders <- function(at, prob) {
  lapply(seq_len(ncol(prob)), function(k) {
    own <- data.frame(x = at[[1]], y = at[[2]], lead = class_lead(prob, k))
    if (all(own$lead < 0) || all(own$lead > 0)) return(NULL)
    ggplot2::geom_contour(aes_of(z = "lead"), own, breaks = 0, color = "grey10", linewidth = 0.8)
  })
}

gg_boundary_points <- function(x, points, many, few, names) {
  rows <- data.frame(x = points$at[, 1], y = points$at[, 2])
  colours <- if (many) bk_palette(length(x$levels)) else class_pair
  list(
    if (nrow(rows) > 0L) ggplot2::geom_point(
      aes_of(x = "x", y = "y"), rows, shape = 21, inherit.aes = FALSE,
      color = ifelse(points$wrong %in% TRUE, "black", "white"),
      size = if (nrow(rows) > 300L) 1.2 else 1.8,
      fill = point_colours(points$class, colours)
    ),
    if (few) ggplot2::geom_point(
      aes_of(x = "x", y = "y"), shape = 3, inherit.aes = FALSE,
      data = data.frame(x = x$inducing[, names[1]], y = x$inducing[, names[2]])
    )
  )
}
