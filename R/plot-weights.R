# Weights of kernels and latent functions of mkprobit().

# The limits are of `level`.
weights_data <- function(x, level) {
  table <- kernel_weights(x)
  known <- !is.na(table$lower)
  if (any(known)) {
    ends <- weights_matrix(x, level)[known, 3:4, drop = FALSE]
    table$lower[known] <- ends[, 1]
    table$upper[known] <- ends[, 2]
  }
  table
}

# A dot and its limits for each kernel; of a sampler the box of its draws (median, quartiles,
# limits). Of subsets bars: probabilities.
draw_kernel_weights <- function(x, data, level, main) {
  table <- data
  n <- nrow(table)
  at <- rev(seq_len(n))
  names <- sprintf("weight[%s]", table$space)
  drawn <- x$learned && x$combine != "binary" && all(names %in% dimnames(x$draws)[[3]])
  ends <- if (drawn) {
    flat <- stack_chains(x$draws[, , names, drop = FALSE])
    column_quantiles(flat, five_ends(level))
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
    main = main_title(main, weights_title(x, level)), axes = "x", grid = "x"
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

weights_title <- function(x, level) {
  if (!x$learned) {
    "Given, not learned"
  } else if (has_start_weights(x)) {
    "Equal: learned weights were no better in folds"
  } else if (x$combine == "binary" || anyNA(kernel_weights(x)$lower)) {
    "Learned from the data"
  } else {
    sprintf("Learned from the data, %s limits", percent(level))
  }
}

#' @exportS3Method
pictures.mkprobit <- function(object) {
  single <- object$design$type != "spaces"
  flat <- single && !(is.null(object$inducing) && is.null(object$plane))
  all <- list(
    boundary = boundary_picture(object, if (!single) {
      "It has several feature spaces, or a kernel without predictors."
    } else if (!flat) {
      "Its regressors are no points."
    } else {
      no_boundary(object)
    }),
    weights = picture(draw_kernel_weights, if (length(object$spaces) == 1L) {
      "It has one kernel."
    }, data = weights_data, gg = gg_weights),
    calibration = calibration_picture(object),
    partial = if (single) {
      partial_picture(object)
    } else {
      picture(draw_partial, "It was made from several feature spaces.")
    },
    bound = bound_picture(object), trace = trace_picture(object)
  )
  all <- c(all, residual_pictures(object))
  # Weights that were held show nothing.
  if (object$learned) all else all[c(setdiff(names(all), "weights"), "weights")]
}
