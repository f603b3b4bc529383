# Fields of colours over a plane, their contours and keys.

# Colours of the negative and of the positive class.
class_pair <- c("#D55E00", "#0072B2")

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
    grDevices::as.raster(t(image)), x[1] - half[1], y[1] - half[2], x[length(x)] + half[1],
    y[length(y)] + half[2]
  )
}

# contour() warns when a surface is flat and has nothing to draw then.
contour_field <- function(field, z, levels, drawlabels = FALSE, ...) {
  if (diff(range(z)) > 1e-8 * max(abs(z))) {
    graphics::contour(
      field$x, field$y, matrix(z, length(field$x)),
      levels = levels, add = TRUE, drawlabels = drawlabels, labcex = 0.7, ...
    )
  }
}

# Where the most probable class changes.
contour_classes <- function(field) {
  for (k in seq_len(ncol(field$prob))) {
    contour_field(field, class_lead(field$prob, k), 0, lwd = 2)
  }
}

# By how much a class is more probable than the best of the others.
class_lead <- function(prob, k) {
  others <- prob[, -k, drop = FALSE]
  prob[, k] - others[cbind(seq_len(nrow(others)), max.col(others, "first"))]
}

# Makes room at the right for a key of classes, and returns their names, cut only if there is no
# room.
key_labels <- function(labels) {
  labels <- margin_labels(labels, 4, 0.85, 0.3)
  mar <- graphics::par("mar")
  graphics::par(mar = replace(mar, 4, mar[4] + 1.8))
  labels
}

# The same of several panels: room at the right of them all, and the key there.
outer_labels <- function(labels) {
  # The key is drawn at full size, letters of many panels are smaller.
  size <- 0.85 / graphics::par("cex")
  labels <- cut_to(labels, 0.3 * graphics::par("din")[1], size)
  wide <- max(graphics::strwidth(labels, "inches", cex = size)) + 0.45
  graphics::par(omi = replace(graphics::par("omi"), 4, wide))
  labels
}

key_outside <- function(labels, colours, lines) {
  wide <- graphics::par("omi")[4]
  old <- graphics::par(fig = c(0, 1, 0, 1), omi = rep(0, 4), mai = rep(0, 4), new = TRUE, cex = 1)
  on.exit(graphics::par(old))
  graphics::plot.new()
  graphics::plot.window(c(0, graphics::par("din")[1]), c(0, 1), xaxs = "i")
  graphics::legend(
    graphics::par("din")[1] - wide, 0.9, labels, bty = "n", cex = 0.85, col = colours, lty = lines,
    lwd = 2, seg.len = 1.2, x.intersp = 0.6
  )
}

# A scale of probability at the right of the panel.
key_probability <- function() {
  marks <- c(0, 0.1, 0.5, 0.9, 1)
  key_scale(shade_probability(seq(0, 1, length.out = 101)), marks, marks, heavy = marks == 0.5)
}

# A scale at the right of the panel: colors from the lowest value up, `at` where on it, 0 to 1, the
# labels stand.
key_scale <- function(colors, at, labels, heavy = FALSE) {
  usr <- graphics::par("usr")
  unit <- graphics::strwidth("0")
  left <- usr[2] + 1.2 * unit
  old <- graphics::par(xpd = NA)
  on.exit(graphics::par(old))
  graphics::rasterImage(
    grDevices::as.raster(matrix(rev(colors))), left, usr[3], left + 1.8 * unit, usr[4]
  )
  y <- usr[3] + at * (usr[4] - usr[3])
  graphics::segments(left, y, left + 1.8 * unit, y, lwd = ifelse(heavy, 2.5, 1) * (at > 0 & at < 1))
  graphics::text(left + 2.4 * unit, y, labels, adj = 0, cex = 0.8, col = muted[["axis"]])
}

# Names of the classes at the right of the panel, smaller if there are many: with boxes, lines, or
# neither.
key_classes <- function(labels, colours, lines = NULL) {
  usr <- graphics::par("usr")
  room <- graphics::par("pin")[2] / (1.25 * graphics::par("csi"))
  marks <- if (!is.null(lines)) {
    list(col = colours, lty = lines, lwd = 2)
  } else if (!is.null(colours)) {
    list(fill = blend(colours, 0.75), border = NA)
  }
  do.call(graphics::legend, c(list(
    usr[2], usr[4], labels, bty = "n", cex = min(0.85, room / length(labels)), xpd = NA,
    seg.len = 1.2, x.intersp = 0.6
  ), marks))
}
