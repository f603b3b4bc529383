# Base graphics with one look: thin grid, muted axes, a palette that colour
# blind readers can tell apart. Every function takes plain vectors, draws one
# figure, and leaves the graphical parameters as it found them.

# After Okabe and Ito (2008).
bk_colours <- c(
  blue = "#0072B2", orange = "#D55E00", green = "#009E73", purple = "#AA5588",
  sky = "#56B4E9", amber = "#E69F00"
)
muted <- c(axis = "grey35", grid = "grey91", line = "grey55")

bk_palette <- function(n) rep_len(unname(bk_colours), n)

# Sets the look and returns what it replaced, for par() when the figure is done.
bk_look <- function(left = 3.8, ...) {
  graphics::par(
    mar = c(3.6, left, 2.2, 0.8), mgp = c(2.3, 0.5, 0), tcl = -0.25, las = 1,
    col.axis = muted[["axis"]], col.lab = "grey15", font.main = 1,
    cex.main = 1.05, lend = "butt", xpd = FALSE, ...
  )
}

# An empty panel with grid, axes and titles.
bk_panel <- function(xlim, ylim, xlab = "", ylab = "", main = "",
                     axes = c("x", "y"), grid = c("x", "y")) {
  graphics::plot.new()
  graphics::plot.window(xlim, ylim)
  if ("x" %in% grid) bk_grid(v = graphics::axTicks(1))
  if ("y" %in% grid) bk_grid(h = graphics::axTicks(2))
  for (side in match(axes, c("x", "y"))) bk_axis(side)
  graphics::title(main = main, adj = 0, line = 0.8)
  graphics::title(xlab = xlab, ylab = ylab)
}

bk_grid <- function(...) {
  graphics::abline(..., col = muted[["grid"]], lwd = 0.8)
}

bk_axis <- function(side, at = NULL, labels = TRUE, ...) {
  graphics::axis(
    side, at, labels,
    lwd = 0, lwd.ticks = 0.8, col.ticks = muted[["axis"]], ...
  )
}

#' Estimates with intervals, one row each, first on top
#'
#' Labels are left out when there are too many rows to read them.
#'
#' @param estimate,lower,upper Numeric vectors of one length.
#' @param labels Character, one a row.
#' @param reference Where to draw a vertical line; `NULL` for none.
#' @param xlab,main Titles.
#' @param max_labels Most rows that are labelled.
#' @noRd
plot_intervals <- function(estimate, lower, upper, labels = names(estimate),
                           reference = 0, xlab = "", main = "",
                           max_labels = 45L) {
  rows <- length(estimate)
  labelled <- !is.null(labels) && rows <= max_labels
  size <- if (rows > 25L) 0.7 else 0.85
  old <- bk_look()
  on.exit(graphics::par(old))
  if (labelled) {
    labels <- abbreviate_middle(labels)
    # Room for the longest label, in lines of the margin.
    inches <- max(graphics::strwidth(labels, "inches", cex = size))
    graphics::par(mar = replace(
      graphics::par("mar"), 2, 1 + inches / graphics::par("csi")
    ))
  } else {
    graphics::par(mar = replace(graphics::par("mar"), 2, 1.5))
  }
  at <- rev(seq_len(rows))
  bk_panel(
    range(lower, upper, reference, finite = TRUE), c(0.5, rows + 0.5),
    xlab = xlab, main = main, axes = "x", grid = "x"
  )
  if (labelled) bk_grid(h = at)
  if (!is.null(reference)) {
    graphics::abline(v = reference, col = muted[["line"]])
  }
  colour <- bk_colours[["blue"]]
  dense <- rows > max_labels
  graphics::segments(
    lower, at, upper, at,
    col = if (dense) grDevices::adjustcolor(colour, 0.35) else colour,
    lwd = if (dense) 1 else 2
  )
  graphics::points(estimate, at,
    pch = 19, col = colour,
    cex = if (dense) 0.3 else 0.9
  )
  if (labelled) {
    bk_axis(2, at, labels, cex.axis = size, tick = FALSE)
  }
  invisible(NULL)
}

#' Traces of draws, chains in colours
#'
#' @param draws Array, iterations x chains x variables.
#' @param max_panels Most variables that are drawn.
#' @noRd
plot_traces <- function(draws, max_panels = 6L) {
  iterations <- dim(draws)[1]
  shown <- seq_len(min(dim(draws)[3], max_panels))
  names <- dimnames(draws)[[3]]
  # One panel goes into the layout that the user may have set.
  old <- if (length(shown) > 1L) {
    bk_look(mfrow = grDevices::n2mfrow(length(shown)))
  } else {
    bk_look()
  }
  on.exit(graphics::par(old))
  colours <- grDevices::adjustcolor(bk_palette(dim(draws)[2]), 0.65)
  # More points than this hide each other and make huge vector files.
  keep <- unique(round(seq(1, iterations, length.out = min(iterations, 2000))))
  for (v in shown) {
    bk_panel(
      c(1, iterations), range(draws[, , v], finite = TRUE),
      xlab = "Kept draw", main = abbreviate_middle(names[v]), grid = "y"
    )
    for (chain in seq_len(dim(draws)[2])) {
      graphics::lines(
        keep, draws[keep, chain, v],
        col = colours[chain], lwd = 0.7
      )
    }
  }
  invisible(NULL)
}

#' A bound that rises, by pass
#'
#' The first passes climb so far that the rest looks flat: the axis begins where
#' most of the climb is over, and says so.
#'
#' @param bound Numeric, one a pass.
#' @noRd
plot_bound <- function(bound, ylab = "Lower bound", main = "") {
  passes <- seq_along(bound)
  finite <- bound[is.finite(bound)]
  top <- max(finite)
  low <- min(finite)
  half <- stats::median(finite)
  cut <- length(finite) > 10L && (top - low) > 20 * (top - half)
  if (cut) low <- min(finite[finite > top - max(20 * (top - half), 1e-8)])
  old <- bk_look(left = 5)
  on.exit(graphics::par(old))
  bk_panel(
    range(passes), c(low, top),
    xlab = "Pass over the data", main = main
  )
  graphics::title(ylab = ylab, line = 3.9)
  graphics::lines(passes, bound, col = bk_colours[["blue"]], lwd = 1.8)
  if (length(passes) <= 60L) {
    graphics::points(passes, bound,
      pch = 19, cex = 0.5, col = bk_colours[["blue"]]
    )
  }
  hidden <- sum(bound < low, na.rm = TRUE)
  if (hidden > 0L) {
    bk_note(sprintf("first %d below the axis", hidden))
  }
  invisible(NULL)
}

#' Predicted against observed frequency
#'
#' @param probability Predicted probability of the positive class, by row.
#' @param positive Logical or 0/1, by row.
#' @param bins Bins of equal width on \[0, 1\].
#' @return Data frame `predicted` (mean), `observed`, `lower`, `upper` (95 %
#'   Wilson interval) and `rows` of the bins that are not empty, invisibly.
#' @noRd
plot_calibration <- function(probability, positive, bins = 10L, main = "",
                             xlab = "Predicted probability",
                             ylab = "Observed frequency") {
  table <- calibration_table(probability, positive, bins)
  old <- bk_look()
  on.exit(graphics::par(old))
  bk_panel(c(0, 1), c(-0.16, 1), xlab, ylab, main, axes = "x", grid = "x")
  ticks <- seq(0, 1, 0.2)
  bk_grid(h = ticks)
  bk_axis(2, ticks)
  graphics::segments(0, 0, 1, 1, col = muted[["line"]], lty = 2)

  # Below the diagram: how many rows there are of each probability.
  edges <- seq(0, 1, length.out = 41)
  counts <- graphics::hist(probability, edges, plot = FALSE)$counts
  graphics::rect(
    edges[-41], -0.16, edges[-1], -0.16 + 0.11 * counts / max(counts),
    col = "grey75", border = NA
  )

  colour <- bk_colours[["blue"]]
  graphics::segments(
    table$predicted, table$lower, table$predicted, table$upper,
    col = grDevices::adjustcolor(colour, 0.5), lwd = 2
  )
  graphics::lines(table$predicted, table$observed, col = colour, lwd = 1.2)
  graphics::points(table$predicted, table$observed,
    pch = 21, bg = colour,
    col = "white", cex = 1.3
  )
  invisible(table)
}

calibration_table <- function(probability, positive, bins = 10L) {
  bin <- cut(probability, seq(0, 1, length.out = bins + 1L),
    include.lowest = TRUE
  )
  rows <- as.vector(table(bin))
  mean_in <- function(x) as.vector(tapply(as.numeric(x), bin, mean))
  out <- data.frame(
    predicted = mean_in(probability), observed = mean_in(positive), rows = rows
  )[rows > 0L, ]
  z <- stats::qnorm(0.975)
  spread <- z / (1 + z^2 / out$rows) *
    sqrt(out$observed * (1 - out$observed) / out$rows + (z / (2 * out$rows))^2)
  centre <- (out$observed + z^2 / (2 * out$rows)) / (1 + z^2 / out$rows)
  out$lower <- pmax(0, centre - spread)
  out$upper <- pmin(1, centre + spread)
  rownames(out) <- NULL
  out[c("predicted", "observed", "lower", "upper", "rows")]
}

#' Positive numbers on a logarithmic axis, one row each, first on top
#'
#' @param values Named numeric vector.
#' @param reference Where to draw a dashed line; `NULL` for none.
#' @param note What the line is, in small print.
#' @noRd
plot_log_dots <- function(values, reference = NULL, xlab = "", main = "",
                          note = "", max_labels = 45L) {
  rows <- length(values)
  labelled <- rows <= max_labels
  size <- if (rows > 25L) 0.7 else 0.85
  old <- bk_look(left = 1.5)
  on.exit(graphics::par(old))
  labels <- abbreviate_middle(names(values))
  if (labelled) {
    inches <- max(graphics::strwidth(labels, "inches", cex = size))
    graphics::par(mar = replace(
      graphics::par("mar"), 2, 1 + inches / graphics::par("csi")
    ))
  }
  at <- rev(seq_len(rows))
  limits <- range(log10(c(values, reference)), finite = TRUE)
  # Less than a factor of five is no range for a logarithmic axis.
  limits <- limits + c(-1, 1) * max(0.04, (0.7 - diff(limits)) / 2)
  bk_panel(
    limits, c(0.5, rows + 0.5),
    xlab = xlab, main = main, axes = character(), grid = character()
  )
  ticks <- log_ticks(limits)
  bk_grid(v = log10(ticks))
  if (labelled) bk_grid(h = at)
  bk_axis(1, log10(ticks), format(ticks, trim = TRUE, drop0trailing = TRUE))
  if (!is.null(reference)) {
    graphics::abline(v = log10(reference), col = muted[["line"]], lty = 2)
    bk_note(note)
  }
  graphics::points(log10(values), at,
    pch = 19, col = bk_colours[["blue"]], cex = if (labelled) 1 else 0.4
  )
  if (labelled) bk_axis(2, at, labels, cex.axis = size, tick = FALSE)
  invisible(NULL)
}

# Round numbers between 10^limits: 1, 2, 5 times powers of ten, or of few
# powers of ten these alone.
log_ticks <- function(limits) {
  powers <- 10^seq(floor(limits[1]), ceiling(limits[2]))
  ticks <- if (diff(limits) > 3) powers else sort(c(outer(c(1, 2, 5), powers)))
  inside <- ticks >= 10^limits[1] & ticks <= 10^limits[2]
  ticks[inside]
}

# A remark in small print at the right above the panel, or below its labels.
bk_note <- function(text, below = FALSE) {
  graphics::mtext(
    text,
    side = if (below) 1 else 3, adj = if (below) 0.5 else 1,
    line = if (below) 3.5 else 0.2, cex = 0.75, col = muted[["axis"]]
  )
}

# Colours of the negative and of the positive class.
class_pair <- unname(bk_colours[c("orange", "blue")])

# White where p is 0.5; not too dark for lines and points on top.
shade_probability <- function(p, colours = class_pair) {
  ramp <- grDevices::colorRampPalette(
    c(blend(colours[1], 0.7), "white", blend(colours[2], 0.7))
  )(101)
  ramp[round(100 * p) + 1]
}

# The colour of the most probable class, white where all are as probable.
shade_classes <- function(prob, colours) {
  best <- most_probable(prob)
  k <- ncol(prob)
  blend(colours[best$class], 0.75 * (best$prob - 1 / k) / (1 - 1 / k))
}

# Colours over white.
blend <- function(colours, opacity) {
  rgb <- t(grDevices::col2rgb(colours))
  grDevices::rgb(255 - opacity * (255 - rgb), maxColorValue = 255)
}

# Colours of a grid whose x runs faster; each stands for the cell around it.
draw_field <- function(x, y, colours) {
  image <- matrix(colours, length(x))[, rev(seq_along(y))]
  half <- c(x[2] - x[1], y[2] - y[1]) / 2
  graphics::rasterImage(
    grDevices::as.raster(t(image)),
    x[1] - half[1], y[1] - half[2],
    x[length(x)] + half[1], y[length(y)] + half[2]
  )
}

# contour() warns when a surface is flat and has nothing to draw then.
contour_field <- function(field, z, levels, drawlabels = FALSE, ...) {
  if (diff(range(z)) > 1e-8 * max(abs(z))) {
    graphics::contour(
      field$x, field$y, matrix(z, length(field$x)),
      levels = levels, add = TRUE, drawlabels = drawlabels, labcex = 0.6, ...
    )
  }
}

# Where the most probable class changes.
contour_classes <- function(field) {
  for (k in seq_len(ncol(field$prob))) {
    others <- field$prob[, -k, drop = FALSE]
    lead <- field$prob[, k] - others[cbind(
      seq_len(nrow(others)), max.col(others, "first")
    )]
    contour_field(field, lead, 0, lwd = 2)
  }
}

# Room below for a note, and at the right for a key: a scale, or as wide as the
# longest label.
key_margins <- function(labels = NULL) {
  lines <- 3.2
  if (!is.null(labels)) {
    inches <- max(graphics::strwidth(labels, "inches", cex = 0.85))
    lines <- 2.6 + inches / graphics::par("csi")
  }
  graphics::par(mar = replace(graphics::par("mar"), c(1, 4), c(4.6, lines)))
}

# A scale of probability at the right of the panel.
key_probability <- function(marks = c(0, 0.1, 0.5, 0.9, 1)) {
  usr <- graphics::par("usr")
  unit <- graphics::strwidth("0")
  left <- usr[2] + 1.2 * unit
  p <- seq(1, 0, length.out = 101)
  graphics::par(xpd = NA)
  graphics::rasterImage(
    grDevices::as.raster(matrix(shade_probability(p))),
    left, usr[3], left + 1.8 * unit, usr[4]
  )
  at <- usr[3] + marks * (usr[4] - usr[3])
  graphics::segments(
    left, at, left + 1.8 * unit, at,
    lwd = ifelse(marks == 0.5, 2.5, 1) * (marks > 0 & marks < 1)
  )
  graphics::text(
    left + 2.4 * unit, at, marks,
    adj = 0, cex = 0.8, col = muted[["axis"]]
  )
  graphics::par(xpd = FALSE)
}

key_classes <- function(labels, colours) {
  usr <- graphics::par("usr")
  graphics::legend(
    usr[2], usr[4], labels,
    fill = blend(colours, 0.75), border = NA, bty = "n", cex = 0.85, xpd = NA
  )
}
