# Pictures with a row for each coefficient, effect, predictor or length-scale. Where there are more
# rows than can be read, the largest are shown, and a note says how many are not.

# --- of fits -----------------------------------------------------------------

# Quantiles of the fixed coefficients: p x 5, for `level`, 50 % and the median.
coefficient_quantiles <- function(x, scale, level = 0.95) {
  if (!is_linear(x)) {
    wide <- parameters(x, level)
    narrow <- parameters(x, 0.5)
    out <- cbind(wide$lower, narrow$lower, wide$estimate, narrow$upper, wide$upper)
    rownames(out) <- wide$term
    return(out[wide$effect == "fixed", , drop = FALSE])
  }
  out <- fixed_quantiles(x, five_ends(level), scale)
  rownames(out) <- fixed_names(x)
  out
}

# The intercept is no effect, and its size would hide the others; the coefficients of a smooth mean
# nothing one by one.
plain_coefficients <- function(x, names) {
  labels <- paste0(vapply(x$smooths, `[[`, "", "label"), ".", recycle0 = TRUE)
  curves <- vapply(names, function(name) any(startsWith(name, labels)), NA)
  setdiff(names[!curves], "(Intercept)")
}

coefficient_data <- function(x, pars, scale, level) {
  q <- coefficient_quantiles(x, if (scale == "sd") "data" else scale, level)
  names <- rownames(q)
  if (is.null(pars) && length(names) > 1) {
    others <- plain_coefficients(x, names)
    pars <- if (length(others)) others else setdiff(names, "(Intercept)")
  }
  pars <- check_pars(pars, names)
  per <- if (scale == "sd") sd_units(x, pars) else rep(1, length(pars))
  q <- q[pars, , drop = FALSE] * per
  data.frame(
    term = pars, estimate = q[, 3], lower = q[, 1], upper = q[, 5], lower_50 = q[, 2],
    upper_50 = q[, 4], per = per, row.names = NULL
  )
}

# Names of rows with what a coefficient of coef() is multiplied by.
step_labels <- function(data) {
  step <- vapply(data$per, format, "", digits = 3)
  ifelse(data$per == 1, data$term, sprintf("%s (per sd, %s)", data$term, step))
}

# What a change of one is measured in: the standard deviation of a column of numbers, 1 of a level
# of a factor and of a column of 0 and 1. Of a product of both the deviations of the numbers.
sd_units <- function(x, names) {
  scale <- x$transform$scale
  if (!is_linear(x) || length(scale) == 0L) return(rep(1, length(names)))
  levels <- level_columns(x, names)
  center <- x$transform$center[names]
  spread <- center * (1 - center)
  # Of 0 and 1 the mean gives the deviation.
  two <- abs(scale[names]^2 / c(spread * x$n / (x$n - 1)) - 1) < 1e-9
  unname(ifelse(is.na(levels), ifelse(two %in% TRUE, 1, scale[names]), levels))
}

# Of a column with levels of factors the product of the deviations of its numbers, else NA.
level_columns <- function(x, names, kinds = c("factor", "ordered", "character", "logical")) {
  out <- stats::setNames(rep(NA_real_, length(names)), names)
  classes <- attr(x$design$frame_terms, "dataClasses")
  if (is.null(classes)) return(out)
  factors <- names(classes)[classes %in% kinds]
  terms <- term_of_columns(x)
  for (name in intersect(names, names(terms))) {
    parts <- strsplit(terms[[name]], ":", fixed = TRUE)[[1]]
    if (!any(parts %in% factors)) next
    numbers <- x$transform$scale[setdiff(parts, factors)]
    out[name] <- prod(numbers[!is.na(numbers)])
  }
  out
}

change_label_of <- function(x, scale, terms) {
  levels <- is_linear(x) & !is.na(level_columns(x, terms))
  # Whose columns are polynomials of the levels, none of which is the reference.
  ordered <- levels & !is.na(level_columns(x, terms, "ordered"))
  per <- switch(scale, data = "per unit", model = "per standard deviation of the column", sd = {
    text <- c(
      if (any(!levels)) {
        if (all(sd_units(x, terms) == 1)) "per unit" else "per sd of a predictor"
      }, if (any(levels & !ordered)) "from the reference level",
      if (any(ordered)) "per column of an ordered factor"
    )
    # All three in words that fit below a plot.
    if (length(text) == 3L) {
      "per sd, from the reference or per contrast"
    } else {
      paste(text, collapse = ", or ")
    }
  })
  sprintf("Change of %s %s", predicted_name(x), per)
}

# Effects of standardised predictors can be compared. Means: medians of a selection may all be 0.
shown_coefficients <- function(x, data) {
  size <- if (is_linear(x)) coefficient_mean(x, "model") else coefficient_quantiles(x, "model")[, 3]
  rows <- largest_rows(abs(size[data$term]))
  steps <- if (any(data$per != 1)) "coefficients of summary() times the sd in brackets"
  rest <- rest_note(nrow(data), length(rows), "standardized effect")
  list(rows = rows, note = if (length(c(steps, rest))) paste(c(steps, rest), collapse = "; "))
}

draw_coefficients <- function(x, data, scale, level, main) {
  shown <- shown_coefficients(x, data)
  q <- data[shown$rows, ]
  plot_intervals(
    q$estimate, q$lower, q$upper, labels = step_labels(q),
    inner = as.matrix(q[c("lower_50", "upper_50")]), note = shown$note,
    xlab = change_label_of(x, scale, data$term),
    main = main_title(main, paste("Coefficients,", two_intervals(level)))
  )
}

# What coefficients and effects are in.
predicted_name <- function(x) {
  if (is_regression(x)) {
    if (is_string(x$response)) x$response else "the response"
  } else if (identical(x$family, "logit")) {
    paste("the log odds of", class_label(x))
  } else {
    "the latent value"
  }
}

random_effect_data <- function(x, pars, level) {
  effects <- ranef.bayeskernel_fit(x)
  # Terms in bars, too, as `exclude` of predict() has them.
  if (is.character(pars)) {
    at <- match(group_of_term(pars), group_of_term(names(effects)))
    pars <- ifelse(is.na(at), pars, names(effects)[at])
  }
  effects <- effects[check_pars(pars, names(effects))]
  table <- as.data.frame(ranef_table(unclass(effects)))
  table <- table[order(table$grpvar, table$term, -table$condval), ]
  half <- stats::qnorm((1 + level) / 2) * table$condsd
  data.frame(
    term = as.character(table$term), group = as.character(table$grpvar),
    level = as.character(table$grp), estimate = table$condval, lower = table$condval - half,
    upper = table$condval + half
  )
}

draw_random_effects <- function(x, data, level, main) {
  panels <- split(data, list(data$term, data$group), drop = TRUE)
  old <- bk_looks(length(panels))
  on.exit(graphics::par(old))
  for (panel in panels) {
    plot_intervals(
      panel$estimate, panel$lower, panel$upper, labels = panel$level,
      xlab = sprintf("Effect on %s, %s intervals", predicted_name(x), percent(level)),
      main = main_title(main, paste(panel$term[1], "by", panel$group[1]))
    )
  }
}

# Length-scales of every component, named by component and column; none for a kernel without. That
# of a periodic one is no distance.
lengthscales <- function(x) {
  all <- c(numeric(), kernel_parameters(x$kernel))
  found <- all[parameter_roles(x$kernel) == "lengthscale" & !parameter_leaves(x$kernel)$turns]
  stats::setNames(found, sub("lengthscale\\.", "", names(found)))
}

# Quartiles as boxes, the median as a line, whiskers for `level`; first on top.
scale_data <- function(x, pars, level) {
  scales <- bark_scales(x)
  scales <- scales[, check_pars(pars, colnames(scales)), drop = FALSE]
  q <- apply(scales, 2, stats::quantile, five_ends(level), names = FALSE)
  data.frame(
    predictor = colnames(scales), mean = colMeans(scales), estimate = q[3, ], lower = q[1, ],
    upper = q[5, ], lower_50 = q[2, ], upper_50 = q[4, ], row.names = NULL
  )
}

scale_label <- function(x) {
  paste0(
    "Kernel scale", if (!all(x$transform$scale == 1)) " of the standardized predictor",
    " (0: without effect)"
  )
}

scales_title <- function(level) {
  sprintf("Kernel scales, quartiles and %s intervals", percent(level))
}

draw_scales <- function(x, data, level, main) {
  at <- largest_rows(data$mean)
  q <- t(as.matrix(data[at, c("lower", "lower_50", "estimate", "upper_50", "upper")]))
  colnames(q) <- data$predictor[at]
  place <- row_panel(
    colnames(q), c(0, if (any(q > 0)) max(q) else 1),
    xlab = scale_label(x),
    main = main_title(main, scales_title(level)),
    note = rest_note(nrow(data), length(at), "mean")
  )
  on.exit(graphics::par(place$old))
  at <- place$at
  blue <- bk_colours[["blue"]]
  graphics::segments(q[1, ], at, q[5, ], at, col = blue, lwd = 1.2)
  graphics::rect(
    q[2, ], at - 0.32, q[4, ], at + 0.32, col = blend(blue, 0.35), border = blue, lwd = 0.8
  )
  graphics::segments(q[3, ], at - 0.32, q[3, ], at + 0.32, col = blue, lwd = 2.5)
  invisible(NULL)
}

# --- of numbers --------------------------------------------------------------

# Most rows that can be read.
most_rows <- 30L

# Numbers of the rows to show: all in their order, or the largest.
largest_rows <- function(size, most = most_rows) {
  if (length(size) <= most) seq_along(size) else order(-size)[seq_len(most)]
}

rest_note <- function(all, shown, what) {
  if (shown < all) sprintf("the %d largest by %s; %d not shown", shown, what, all - shown)
}

# An empty panel with a labelled row for each label, first on top. Returns the heights of the rows
# and the graphical parameters to put back.
row_panel <- function(labels, xlim, xlab, main, note = NULL, axes = "x", top = 2.8, lines = TRUE) {
  rows <- length(labels)
  old <- bk_look(left = 1.5)
  bottom <- if (is.null(note)) 3.6 else 4.8
  graphics::par(mar = replace(graphics::par("mar"), c(1, 3), c(bottom, top)))
  # Letters as high as the rows allow.
  height <- graphics::par("pin")[2] / max(1L, sum(nzchar(labels)))
  size <- min(0.85, max(0.5, height / graphics::par("csi")))
  labels <- margin_labels(as.character(labels), 2, size)
  at <- rev(seq_len(rows))
  bk_panel(xlim, c(0.5, rows + 0.5), xlab = xlab, axes = axes, grid = axes)
  bk_title(main, wide = TRUE)
  if (lines) bk_grid(h = at)
  graphics::text(
    graphics::par("usr")[1], at, paste0(labels, " "),
    adj = c(1, 0.4), cex = size, xpd = NA, col = muted[["axis"]]
  )
  if (!is.null(note)) bk_note(note, below = TRUE)
  list(at = at, old = old)
}

# The labels of as many rows, evenly spread and with both ends, as a figure has room for.
named_rows <- function(labels, most = (graphics::par("fin")[2] - 1.5) / graphics::par("csi")) {
  shown <- unique(round(seq(1, length(labels), length.out = max(2, floor(most)))))
  ifelse(seq_along(labels) %in% shown, as.character(labels), "")
}

# Estimates with intervals, and if given thick ones within. More rows than can be read are drawn
# thin and without labels. `reach`: what the axis has at least.
plot_intervals <- function(estimate, lower, upper, labels = names(estimate), reference = 0,
                           xlab = "", main = "", note = NULL, inner = NULL, reach = NULL) {
  rows <- length(estimate)
  # Letters of a readable size have no room in the figure.
  dense <- rows > most_rows && (graphics::par("fin")[2] - 1.5) / rows <= 0.49 * graphics::par("csi")
  place <- row_panel(
    if (dense) named_rows(labels %||% character(rows)) else labels,
    range(lower, upper, reference, reach, finite = TRUE), xlab, main,
    if (dense) sprintf("%d in all, some named", rows) else note, lines = !dense
  )
  on.exit(graphics::par(place$old))
  at <- place$at
  if (!is.null(reference)) graphics::abline(v = reference, col = muted[["line"]])
  colour <- bk_colours[["blue"]]
  graphics::segments(
    lower, at, upper, at, col = if (dense) grDevices::adjustcolor(colour, 0.35) else colour,
    lwd = if (dense) 1 else 1.5
  )
  if (!is.null(inner)) graphics::segments(inner[, 1], at, inner[, 2], at, col = colour, lwd = 4.5)
  graphics::points(
    estimate, at, pch = if (dense) 19 else 21, bg = "white", col = colour,
    cex = if (dense) 0.3 else 1
  )
  invisible(NULL)
}

lengthscale_data <- function(x) {
  values <- sort(lengthscales(x))
  data.frame(
    predictor = names(values), lengthscale = unname(values),
    median_distance = rep(x$median_distance %||% NA_real_, length(values))
  )
}

lengthscale_note <- function(all) {
  if (all > most_rows) sprintf("the %d longest not shown", all - most_rows)
}

lengthscale_label <- function(x) {
  paste0(
    "Length-scale", if (!all(x$transform$scale == 1)) ", in sds of the predictors",
    ", log scale (the shorter, the more it matters)"
  )
}

# Of a kernel with one length-scale: the correlation of two rows by their distance; NULL of a sum or
# a product of kernels.
correlation_curve <- function(x, data) {
  kernel <- x$kernel
  if (nrow(data) != 1L || length(kernel_leaves(kernel)) != 1L || has_rank(kernel)) return(NULL)
  kernel$columns <- NULL
  reach <- max(4 * data$lengthscale, 1.2 * data$median_distance, na.rm = TRUE)
  distance <- seq(0, reach, length.out = 200)
  value <- drop(kernel_matrix(kernel, matrix(0, 1L, 1L), cbind(distance), threads = 1L))
  data.frame(distance = distance, correlation = value / value[1])
}

draw_lengthscales <- function(x, data, main) {
  curve <- correlation_curve(x, data)
  if (is.null(curve)) {
    draw_several_lengthscales(x, data, main)
  } else {
    draw_correlation(x, data, curve, main)
  }
}

correlation_title <- function(data) {
  sprintf("Correlation of two rows, length-scale %s", format(data$lengthscale[1], digits = 3))
}

distance_label <- function(x) {
  paste0("Distance of the rows", if (!all(x$transform$scale == 1)) ", in sds of the predictors")
}

draw_correlation <- function(x, data, curve, main) {
  old <- bk_look()
  on.exit(graphics::par(old))
  bk_panel(
    range(curve$distance), c(0, 1), distance_label(x), "Correlation of the latent values",
    main_title(main, correlation_title(data))
  )
  graphics::abline(v = data$median_distance[1], col = muted[["line"]], lty = 2)
  graphics::lines(curve$distance, curve$correlation, col = bk_colours[["blue"]], lwd = 2)
  if (!anyNA(data$median_distance)) bk_note("dashed: median distance")
}

draw_several_lengthscales <- function(x, data, main) {
  values <- stats::setNames(data$lengthscale, data$predictor)
  all <- length(values)
  values <- utils::head(values, most_rows)
  reference <- x$median_distance
  limits <- range(log10(c(values, reference)), finite = TRUE)
  # Less than a factor of five is no range for a logarithmic axis.
  limits <- limits + c(-1, 1) * max(0.04, (0.7 - diff(limits)) / 2)
  note <- c(if (!is.null(reference)) "dashed: median distance", lengthscale_note(all))
  place <- row_panel(
    names(values), limits, lengthscale_label(x),
    main_title(main, "Length-scales"), if (length(note)) paste(note, collapse = "; "),
    axes = character()
  )
  on.exit(graphics::par(place$old))
  ticks <- log_ticks(limits)
  bk_grid(v = log10(ticks))
  bk_axis(1, log10(ticks), format(ticks, trim = TRUE, drop0trailing = TRUE))
  if (!is.null(reference)) graphics::abline(v = log10(reference), col = muted[["line"]], lty = 2)
  graphics::points(log10(values), place$at, pch = 19, col = bk_colours[["blue"]])
  invisible(NULL)
}

# Round numbers between 10^limits: 1, 2, 5 times powers of ten, or of few powers of ten these alone.
log_ticks <- function(limits) {
  powers <- 10^seq(floor(limits[1]), ceiling(limits[2]))
  ticks <- if (diff(limits) > 3) powers else sort(c(outer(c(1, 2, 5), powers)))
  inside <- ticks >= 10^limits[1] & ticks <= 10^limits[2]
  ticks[inside]
}
