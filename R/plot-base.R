# Base graphics with one look: thin grid, muted axes, a palette that colour blind readers can tell
# apart. Every function takes plain vectors, draws one figure, and leaves the graphical parameters
# as it found them.

# After Okabe and Ito (2008), with an olive and a slate for eight in all.
bk_colours <- c(
  blue = "#0072B2", orange = "#D55E00", green = "#009E73", purple = "#AA5588",
  sky = "#56B4E9", amber = "#E69F00", olive = "#8C8C00", slate = "#3B3B5C"
)
muted <- c(axis = "grey35", grid = "grey91", line = "grey55")

# Of more than eight the 26 of Green-Armytage (2010).
bk_palette <- function(n) {
  if (n <= length(bk_colours)) return(unname(bk_colours)[seq_len(n)])
  unname(grDevices::palette.colors(n, "Alphabet", recycle = TRUE))
}

# Line types for those beyond the colours.
bk_lines <- function(n) 1L + (seq_len(n) - 1L) %/% length(bk_colours) %% 6L

# Sets the look and returns what it replaced, for par() when the figure is done.
bk_look <- function(left = 3.8, ...) {
  graphics::par(
    mar = c(3.6, left, 2.8, 0.8), mgp = c(2.3, 0.5, 0), tcl = -0.25, las = 1,
    col.axis = muted[["axis"]], col.lab = "grey15", font.main = 1,
    cex.main = 1.05, lend = "butt", xpd = FALSE, ...
  )
}

# Rows and columns of panels, no fewer columns than rows: figures are wide.
panel_layout <- function(panels) {
  columns <- ceiling(sqrt(panels))
  c(ceiling(panels / columns), columns)
}

# For several panels, in letters that can be read where these are small; one goes into the layout
# that the user may have set.
bk_looks <- function(panels) {
  if (panels == 1L) return(bk_look())
  bk_look(mfrow = panel_layout(panels), cex = if (panels > 2L) 0.83 else 1)
}

# An empty panel with grid, axes and titles.
bk_panel <- function(xlim, ylim, xlab, ylab = "", main = "",
                     axes = c("x", "y"), grid = c("x", "y")) {
  away <- if (nzchar(ylab) && "y" %in% axes) beyond_ticks(ylim)
  graphics::plot.new()
  graphics::plot.window(xlim, ylim)
  if ("x" %in% grid) bk_grid(v = graphics::axTicks(1))
  if ("y" %in% grid) bk_grid(h = graphics::axTicks(2))
  for (side in match(axes, c("x", "y"))) bk_axis(side)
  bk_title(main)
  graphics::title(ylab = ylab, line = max(graphics::par("mgp")[1], away))
  label_below(xlab)
}

# In the topmost line of the margin, from where the panel begins; with `wide` from the left of the
# figure if it is wider than the panel.
bk_title <- function(main, wide = FALSE) {
  line <- graphics::par("mar")[3] - 1.4
  room <- graphics::par("pin")[1] + graphics::par("mai")[4]
  size <- graphics::par("cex.main")
  if (wide && is.character(main) && graphics::strwidth(main, "inches", cex = size) > room) {
    main <- cut_to(main, graphics::par("fin")[1] - 0.1, size)
    graphics::mtext(
      main, line = line, at = graphics::grconvertX(0.02, "nfc"), adj = 0,
      cex = size * graphics::par("cex")
    )
  } else {
    title <- fit_title(main)
    graphics::title(main = title$main, adj = 0, line = line, cex.main = title$size)
  }
}

# The line of the label of the y axis, beyond its numbers, and a margin that has room for it.
beyond_ticks <- function(ylim) {
  numbers <- format(pretty(ylim), trim = TRUE)
  line <- 0.9 + max(graphics::strwidth(numbers, "inches")) / graphics::par("csi")
  mar <- graphics::par("mar")
  graphics::par(mar = replace(mar, 2, max(mar[2], line + 1.3)))
  line
}

# The label of the x axis: in the middle, else ending where the panel ends, for wide names of rows
# leave room at the left.
label_below <- function(xlab, line = graphics::par("mgp")[1]) {
  size <- graphics::par("cex.lab")
  sides <- graphics::par("mai")[c(2, 4)]
  wide <- graphics::strwidth(xlab, "inches", cex = size)
  room <- graphics::par("pin")[1] + 2 * min(sides)
  graphics::title(
    xlab = xlab, line = line, adj = if (wide > room) 1 else 0.5,
    cex.lab = size * max(0.6, min(1, (graphics::par("fin")[1] - sides[2]) / wide))
  )
}

# The label of the y axis, in smaller letters where the figure is low.
label_beside <- function(ylab, line) {
  wide <- graphics::strwidth(ylab, "inches", cex = graphics::par("cex.lab"))
  room <- graphics::par("fin")[2] - 0.1
  graphics::title(
    ylab = ylab, line = line,
    cex.lab = graphics::par("cex.lab") * max(0.6, min(1, room / max(wide, 1e-8)))
  )
}

# A title no wider than its panel and the margin right of it: in smaller letters, then cut.
fit_title <- function(main) {
  size <- graphics::par("cex.main")
  if (is.character(main) && any(nzchar(main))) {
    room <- graphics::par("fin")[1] - graphics::par("mai")[2]
    wide <- max(graphics::strwidth(main, "inches", cex = size))
    size <- size * max(0.8, min(1, room / wide))
    main <- cut_to(main, room, size)
  }
  list(main = main, size = size)
}

# An empty panel with a place on the x axis for each level. Names that are too wide for their places
# stand upright in a margin as high as they are: axis() would leave out some of them. The margin
# stays until the next panel.
level_panel <- function(levels, limits, xlab, main) {
  inches <- function(size) graphics::strwidth(levels, "inches", cex = size)
  at <- seq_along(levels)
  sides <- graphics::par("mai")[c(2, 4)]
  place <- 0.9 * (graphics::par("fin")[1] - sum(sides)) / length(levels)
  size <- max(0.8, min(1, place / max(inches(1))))
  upright <- max(inches(size)) > place
  if (upright) {
    levels <- margin_labels(levels, 1, size, 0.3)
    graphics::par(mar = graphics::par("mar") + c(1.5, 0, 0, 0))
  }
  bk_panel(range(at) + c(-0.5, 0.5), limits, "", "", main, "y", "y")
  label_below(xlab, graphics::par("mar")[1] - 1.3)
  bk_axis(1, at, levels, cex.axis = size, las = if (upright) 2 else 1, gap.axis = 0)
}

bk_grid <- function(...) graphics::abline(..., col = muted[["grid"]], lwd = 0.8)

bk_axis <- function(side, at = NULL, labels = TRUE, ...) {
  graphics::axis(side, at, labels, lwd = 0, lwd.ticks = 0.8, col.ticks = muted[["axis"]], ...)
}

# Makes a margin as wide as the labels, up to `share` of the figure, and returns them, cut only if
# there is no room.
margin_labels <- function(labels, side, size, share = 0.45) {
  labels <- cut_to(labels, share * graphics::par("fin")[1], size)
  inches <- max(0, graphics::strwidth(labels, "inches", cex = size))
  graphics::par(mar = replace(graphics::par("mar"), side, 1 + inches / graphics::par("csi")))
  labels
}

cut_to <- function(labels, inches, size = 1) {
  for (length in seq(60L, 16L, -4L)) {
    if (all(graphics::strwidth(labels, "inches", cex = size) <= inches)) break
    labels <- abbreviate_middle(labels, length)
  }
  labels
}

# A remark in small print at the right above the panel, or in the middle below its labels.
bk_note <- function(text, below = FALSE, adj = if (below) 0.5 else 1,
                    line = if (below) 3.5 else 0.2) {
  graphics::mtext(
    text, if (below) 1 else 3, line, adj = adj,
    cex = max(0.75 * graphics::par("cex"), 0.7), col = muted[["axis"]]
  )
}

# Traces of draws (iterations x chains x variables), chains in colours.
plot_traces <- function(draws, max_panels = 6L) {
  iterations <- dim(draws)[1]
  shown <- seq_len(min(dim(draws)[3], max_panels))
  names <- dimnames(draws)[[3]]
  old <- bk_looks(length(shown))
  on.exit(graphics::par(old))
  colours <- grDevices::adjustcolor(bk_palette(dim(draws)[2]), 0.65)
  # More points than this hide each other and make huge vector files.
  keep <- spread_over(iterations, 2000)
  for (v in shown) {
    limits <- trace_limits(draws[, , v])
    bk_panel(c(1, iterations), limits, xlab = "Kept draw", main = names[v], grid = "y")
    beyond <- sum(draws[, , v] < limits[1] | draws[, , v] > limits[2], na.rm = TRUE)
    if (beyond > 0L) bk_note(sprintf("%d beyond the axis", beyond))
    for (chain in seq_len(dim(draws)[2])) {
      graphics::lines(keep, draws[keep, chain, v], col = colours[chain], lwd = 0.7)
    }
  }
  invisible(NULL)
}

# The range of draws, without few that are so far that the others look flat.
trace_limits <- function(values) {
  values <- values[is.finite(values)]
  middle <- stats::quantile(values, c(0.01, 0.99), names = FALSE)
  room <- 3 * diff(middle)
  near <- values >= middle[1] - room & values <= middle[2] + room
  if (room > 0) range(values[near]) else range(values)
}

# Where the axis of a bound begins: the first passes may climb so far that the rest looks flat.
bound_floor <- function(bound) {
  finite <- bound[is.finite(bound)]
  top <- max(finite)
  low <- min(finite)
  half <- stats::median(finite)
  cut <- length(finite) > 10L && (top - low) > 20 * (top - half)
  if (cut) min(finite[finite > top - max(20 * (top - half), 1e-8)]) else low
}

# A bound that rises, by pass.
plot_bound <- function(bound, ylab = "Lower bound", main = "") {
  passes <- seq_along(bound)
  low <- bound_floor(bound)
  top <- max(bound[is.finite(bound)])
  # Passes are whole.
  old <- bk_look(lab = c(max(1L, min(5L, length(passes) - 1L)), 5L, 7L))
  on.exit(graphics::par(old))
  bk_panel(range(passes), c(low, top), "Pass over the data", ylab, main)
  graphics::lines(passes, bound, col = bk_colours[["blue"]], lwd = 1.8)
  if (length(passes) <= 60L) {
    graphics::points(passes, bound, pch = 19, cex = 0.5, col = bk_colours[["blue"]])
  }
  hidden <- sum(bound < low, na.rm = TRUE)
  if (hidden > 0L) bk_note(hidden_note(hidden))
  invisible(NULL)
}

hidden_note <- function(hidden) {
  if (hidden > 0L) {
    paste(if (hidden == 1L) "first pass" else sprintf("first %d passes", hidden), "below the axis")
  }
}

two_intervals <- function(level) sprintf("50 %% and %s intervals", percent(level))

# Chances of the ends of an interval of `level`, of the quartiles and the median.
five_ends <- function(level) c((1 - level) / 2, 0.25, 0.5, 0.75, (1 + level) / 2)

# How opaque points are: many would hide each other.
many_alpha <- function(n) max(0.2, min(1, sqrt(500 / n)))

seen_colour <- function(n) grDevices::adjustcolor(muted[["line"]], many_alpha(n))

# Numbers of at most `most` rows, evenly from the lowest value to the highest.
some_along <- function(values, most = 300L) order(values)[spread_over(length(values), most)]

# What predictions are of: the response, or a class; of TRUE and FALSE the condition.
response_label <- function(x) {
  if (is_regression(x)) {
    x$response
  } else if (length(x$levels) > 2L) {
    "Probability"
  } else {
    paste("Probability of", class_label(x))
  }
}

# The positive class; of a condition what it says.
class_label <- function(x) {
  condition <- identical(x$levels, c("FALSE", "TRUE")) && is_string(x$response)
  if (condition) abbreviate_middle(x$response) else sprintf("\"%s\"", x$levels[2])
}
