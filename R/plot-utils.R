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
    graphics::mtext(
      sprintf("first %d below the axis", hidden),
      side = 3, adj = 1, line = 0.2, cex = 0.75, col = muted[["axis"]]
    )
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
