# Weights of kernels and latent functions of mkprobit().

# A dot and its 95 % limits for each kernel; of a sampler the box of its draws (median, quartiles, 5
# % and 95 %). Of subsets bars: probabilities.
draw_kernel_weights <- function(x, data, main) {
  table <- data
  n <- nrow(table)
  at <- rev(seq_len(n))
  drawn <- x$learned && !is.null(x$draws) && x$combine != "binary"
  ends <- if (drawn) {
    names <- sprintf("weight[%s]", table$space)
    flat <- stack_chains(x$draws[, , names, drop = FALSE])
    column_quantiles(flat, c(0.05, 0.25, 0.5, 0.75, 0.95))
  } else {
    rbind(table$lower, table$upper)
  }
  old <- bk_look()
  on.exit(graphics::par(old))
  labels <- margin_labels(table$space, 2, 0.9)
  graphics::par(mar = graphics::par("mar") + c(0, 0.6, 0, 0))
  top <- max(table$mean, ends, if (x$combine != "product") 1, na.rm = TRUE)
  bk_panel(
    c(0, top), c(0.5, n + 0.5), weight_label(x),
    main = main_title(main, weights_title(x)), axes = "x", grid = "x"
  )
  bk_axis(2, at, labels, cex.axis = 0.9)
  colour <- bk_colours[["blue"]]
  if (!drawn) {
    graphics::rect(
      0, at - 0.3, table$mean, at + 0.3, border = NA,
      col = if (all(is.na(ends[1, ]))) colour else blend(colour, 0.4)
    )
  }
  if (drawn) {
    graphics::segments(ends[1, ], at, ends[5, ], at, col = colour)
    graphics::rect(ends[2, ], at - 0.25, ends[4, ], at + 0.25, col = "white", border = colour)
    graphics::segments(ends[3, ], at - 0.25, ends[3, ], at + 0.25, col = colour, lwd = 2.5)
  } else {
    known <- !is.na(ends[1, ])
    graphics::segments(ends[1, known], at[known], ends[2, known], at[known], col = colour, lwd = 2)
  }
}

weight_label <- function(x) {
  in_or_out <- x$combine == "binary" && x$learned
  if (in_or_out) "Probability that the kernel is in" else "Weight of the kernel"
}

weights_title <- function(x) {
  if (!x$learned) {
    "Given, not learned"
  } else if (x$combine == "binary" || anyNA(kernel_weights(x)$lower)) {
    "Learned from the data"
  } else {
    "Learned from the data, 95 % limits"
  }
}

# The latent function of every class along one predictor, the others at their mean, with two
# standard deviations.
function_data <- function(x, columns) {
  points <- 200L
  if (is.null(columns)) columns <- x$columns
  if (!is_string(columns) || !(columns %in% x$columns)) {
    abort_argument(columns, "columns", paste("one of", list_some(quoted(x$columns))))
  }
  held <- held_values(x)
  limits <- range(plane_rows(x)[, columns])
  axis <- seq(limits[1], limits[2], length.out = points)
  grid <- as.data.frame(as.list(held), optional = TRUE)
  grid <- grid[rep(1L, points), , drop = FALSE]
  grid[[columns]] <- axis
  found <- prediction(x, grid, "link", se.fit = TRUE)
  mean <- as.matrix(found$fit)
  sd <- as.matrix(found$se.fit)
  data.frame(
    predictor = columns, value = rep(axis, ncol(mean)),
    class = rep(if (ncol(mean) > 1L) x$levels else x$levels[2], each = points),
    fit = as.vector(mean), sd = as.vector(sd)
  )
}

draw_functions <- function(x, data, main) {
  columns <- data$predictor[1]
  several <- length(unique(data$class)) > 1L
  mean <- matrix(data$fit, ncol = if (several) length(x$levels) else 1L)
  sd <- matrix(data$sd, nrow(mean))
  axis <- data$value[seq_len(nrow(mean))]
  limits <- range(axis)
  old <- bk_look()
  on.exit(graphics::par(old))
  labels <- if (several) key_labels(x$levels)
  bk_panel(
    limits, range(mean - 2 * sd, mean + 2 * sd), columns, "Latent function",
    main = main_title(main, if (several) {
      "Latent functions of the classes"
    } else {
      paste("Latent function of", class_label(x))
    })
  )
  colours <- bk_palette(ncol(mean))
  for (k in seq_len(ncol(mean))) {
    graphics::polygon(
      c(axis, rev(axis)), c(mean[, k] - 2 * sd[, k], rev(mean[, k] + 2 * sd[, k])),
      col = grDevices::adjustcolor(colours[k], 0.15), border = NA
    )
  }
  for (k in seq_len(ncol(mean))) {
    graphics::lines(axis, mean[, k], col = colours[k], lwd = 2, lty = bk_lines(ncol(mean))[k])
  }
  if (several) key_classes(labels, colours, bk_lines(ncol(mean)))
}
