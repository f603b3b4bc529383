# Pictures with a row for each coefficient, effect, predictor or length-scale. Where there are more
# rows than can be read, the largest are shown, and a note says how many are not.

# --- of fits -----------------------------------------------------------------

# Quantiles of the fixed coefficients: p x 5, for 90 %, 50 % and the median.
coefficient_quantiles <- function(x, scale) {
  if (!is_linear(x)) {
    wide <- parameters(x, 0.9)
    narrow <- parameters(x, 0.5)
    out <- cbind(wide$lower, narrow$lower, wide$estimate, narrow$upper, wide$upper)
    rownames(out) <- wide$term
    return(out[wide$effect == "fixed", , drop = FALSE])
  }
  out <- fixed_quantiles(x, c(0.05, 0.25, 0.5, 0.75, 0.95), scale)
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

coefficient_data <- function(x, pars, scale) {
  q <- coefficient_quantiles(x, scale)
  names <- rownames(q)
  if (is.null(pars) && length(names) > 1) {
    others <- plain_coefficients(x, names)
    pars <- if (length(others)) others else setdiff(names, "(Intercept)")
  }
  pars <- check_pars(pars, names)
  q <- q[pars, , drop = FALSE]
  data.frame(
    term = pars, estimate = q[, 3], lower = q[, 1], upper = q[, 5], lower_50 = q[, 2],
    upper_50 = q[, 4], row.names = NULL
  )
}

draw_coefficients <- function(x, data, scale, main) {
  # Effects of standardised predictors can be compared.
  strength <- abs(coefficient_quantiles(x, "model")[data$term, 3])
  shown <- largest_rows(strength)
  q <- data[shown, ]
  plot_intervals(
    q$estimate, q$lower, q$upper, labels = q$term, inner = as.matrix(q[c("lower_50", "upper_50")]),
    note = rest_note(nrow(data), length(shown), "standardized effect"),
    xlab = sprintf(
      "Change of %s per %s", predicted_name(x),
      if (scale == "data") "unit" else "standard deviation"
    ),
    main = main_title(main, "Coefficients, 50 % and 90 % intervals")
  )
}

# What coefficients and effects are in.
predicted_name <- function(x) {
  if (is_regression(x)) "the response" else "the latent value"
}

random_effect_data <- function(x, pars) {
  effects <- ranef.bayeskernel_fit(x)
  effects <- effects[check_pars(pars, names(effects))]
  table <- as.data.frame(structure(effects, class = "ranef_bayeskernel"))
  table <- table[order(table$grpvar, table$term, -table$condval), ]
  half <- stats::qnorm(0.95) * table$condsd
  data.frame(
    term = as.character(table$term), group = as.character(table$grpvar),
    level = as.character(table$grp), estimate = table$condval, lower = table$condval - half,
    upper = table$condval + half
  )
}

draw_random_effects <- function(x, data, main) {
  panels <- split(data, list(data$term, data$group), drop = TRUE)
  if (length(panels) > 1) {
    old <- graphics::par(mfrow = panel_layout(length(panels)))
    on.exit(graphics::par(old))
  }
  for (panel in panels) {
    plot_intervals(
      panel$estimate, panel$lower, panel$upper, labels = panel$level,
      xlab = sprintf("Effect on %s, 90 %% intervals", predicted_name(x)),
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

# Quartiles as boxes, the median as a line, whiskers for 90 %; first on top.
scale_data <- function(x, pars) {
  scales <- bark_scales(x)
  scales <- scales[, check_pars(pars, colnames(scales)), drop = FALSE]
  q <- apply(scales, 2, stats::quantile, c(0.05, 0.25, 0.5, 0.75, 0.95), names = FALSE)
  data.frame(
    predictor = colnames(scales), mean = colMeans(scales), estimate = q[3, ], lower = q[1, ],
    upper = q[5, ], lower_50 = q[2, ], upper_50 = q[4, ], row.names = NULL
  )
}

draw_scales <- function(x, data, main) {
  at <- largest_rows(data$mean)
  q <- t(as.matrix(data[at, c("lower", "lower_50", "estimate", "upper_50", "upper")]))
  colnames(q) <- data$predictor[at]
  place <- row_panel(
    colnames(q), c(0, if (any(q > 0)) max(q) else 1),
    xlab = if (all(x$transform$scale == 1)) {
      "Kernel scale"
    } else {
      "Kernel scale, standardized predictors"
    },
    main = main_title(main, "Kernel scales, quartiles and 90 % intervals"),
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
row_panel <- function(labels, xlim, xlab, main, note = NULL, axes = "x", top = 2.2, lines = TRUE) {
  rows <- length(labels)
  old <- bk_look(left = 1.5)
  bottom <- if (is.null(note)) 3.6 else 4.8
  graphics::par(mar = replace(graphics::par("mar"), c(1, 3), c(bottom, top)))
  # Letters as high as the rows allow.
  height <- graphics::par("pin")[2] / rows
  size <- min(0.85, max(0.5, height / graphics::par("csi")))
  labels <- margin_labels(labels, 2, size)
  at <- rev(seq_len(rows))
  bk_panel(xlim, c(0.5, rows + 0.5), xlab = xlab, main = main, axes = axes, grid = axes)
  if (lines) bk_grid(h = at)
  graphics::text(
    graphics::par("usr")[1], at, paste0(labels, " "),
    adj = c(1, 0.4), cex = size, xpd = NA, col = muted[["axis"]]
  )
  if (!is.null(note)) bk_note(note, below = TRUE)
  list(at = at, old = old)
}

# Whether letters of a readable size have room for so many rows in the figure.
rows_fit <- function(rows) (graphics::par("fin")[2] - 1.5) / rows > 0.49 * graphics::par("csi")

# Estimates with intervals, and if given thick ones within. More rows than can be read are drawn
# thin and without labels.
plot_intervals <- function(estimate, lower, upper, labels = names(estimate), reference = 0,
                           xlab = "", main = "", note = NULL, inner = NULL) {
  rows <- length(estimate)
  dense <- rows > most_rows && !rows_fit(rows)
  place <- row_panel(
    if (dense) rep("", rows) else labels, range(lower, upper, reference, finite = TRUE), xlab, main,
    if (dense) sprintf("%d, without names", rows) else note, lines = !dense
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

draw_lengthscales <- function(x, data, main) {
  values <- stats::setNames(data$lengthscale, data$predictor)
  all <- length(values)
  values <- utils::head(values, most_rows)
  reference <- x$median_distance
  limits <- range(log10(c(values, reference)), finite = TRUE)
  # Less than a factor of five is no range for a logarithmic axis.
  limits <- limits + c(-1, 1) * max(0.04, (0.7 - diff(limits)) / 2)
  note <- c(
    if (!is.null(reference)) "dashed: median distance",
    if (all > most_rows) sprintf("the %d longest not shown", all - most_rows)
  )
  place <- row_panel(
    names(values), limits,
    if (all(x$transform$scale == 1)) "Length-scale" else "Length-scale, in standardized units",
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
