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

gg_start <- function(data, mapping, title = NULL, x = NULL, y = NULL) {
  ggplot2::ggplot(data, mapping) + ggplot2::theme_minimal() +
    ggplot2::labs(title = title, x = x, y = y)
}

# Colors and fills of classes, those of base plots; of many those of ggplot2.
gg_classes <- function(levels) {
  if (length(levels) > length(bk_colours)) return(NULL)
  values <- stats::setNames(bk_palette(length(levels)), levels)
  list(ggplot2::scale_color_manual(values = values), ggplot2::scale_fill_manual(values = values))
}

# --- a row for each term -----------------------------------------------------

# In the order of the data, first on top.
in_order <- function(text) factor(text, rev(unique(text)))

gg_rows <- function(data, label, xlab, title, zero = TRUE) {
  data$label <- in_order(data[[label]])
  blue <- bk_colours[["blue"]]
  out <- gg_start(data, aes_of(x = "estimate", y = "label"), title, xlab)
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

gg_coefficients <- function(x, data, scale) {
  unit <- if (scale == "data") "unit" else "standard deviation"
  gg_rows(
    data, "term", sprintf("Change of %s per %s", predicted_name(x), unit),
    "Coefficients, 50 % and 90 % intervals"
  )
}

gg_random_effects <- function(x, data) {
  data$panel <- paste(data$term, "by", data$group)
  # The same level has another place in each panel.
  data$row <- paste(data$level, data$panel)
  names <- stats::setNames(data$level, data$row)
  out <- gg_rows(data, "row", sprintf("Effect on %s, 90 %% intervals", predicted_name(x)), NULL)
  out + ggplot2::scale_y_discrete(labels = names) + ggplot2::facet_wrap("panel", scales = "free") +
    ggplot2::theme(axis.text.y = if (nrow(data) > 60L) ggplot2::element_blank())
}

gg_scales <- function(x, data) {
  gg_rows(data, "predictor", "Kernel scale", "Kernel scales, quartiles and 90 % intervals", FALSE)
}

gg_weights <- function(x, data) {
  names(data)[match(c("space", "mean"), names(data))] <- c("label", "estimate")
  gg_rows(data, "label", "Weight of the kernel", "Weights of the kernels", FALSE)
}

gg_lengthscales <- function(x, data) {
  data$predictor <- in_order(data$predictor)
  out <- gg_start(data, aes_of(x = "lengthscale", y = "predictor"), "Length-scales", "Length-scale") +
    ggplot2::geom_point(color = bk_colours[["blue"]]) + ggplot2::scale_x_log10()
  if (anyNA(data$median_distance)) return(out)
  out + ggplot2::geom_vline(xintercept = data$median_distance[1], linetype = 2) +
    ggplot2::labs(caption = "dashed: median distance between rows")
}

gg_inclusion <- function(x, data) {
  data <- data[order(-data$inclusion), ]
  data$column <- in_order(data$column)
  signed <- !all(is.na(data$positive))
  out <- gg_start(
    data, aes_of(x = "inclusion", y = "column"), "Which predictors are in the model",
    "Posterior inclusion probability"
  ) + ggplot2::xlim(0, 1)
  if (!signed) return(out + ggplot2::geom_col(fill = bk_colours[["blue"]]))
  out + ggplot2::geom_col(aes_of(fill = "positive")) + ggplot2::scale_fill_gradient2(
    low = bk_colours[["orange"]], mid = "grey82", high = bk_colours[["blue"]], midpoint = 0.5,
    limits = c(0, 1), name = "P(effect > 0)"
  )
}

# --- curves ------------------------------------------------------------------

gg_band <- function(low = "lwr", high = "upr", alpha = 0.2, fill = bk_colours[["blue"]]) {
  ggplot2::geom_ribbon(aes_of(ymin = low, ymax = high), alpha = alpha, fill = fill, color = NA)
}

response_label <- function(x) {
  if (is_regression(x)) {
    x$response
  } else if (length(x$levels) > 2L) {
    "Probability"
  } else {
    sprintf("Probability of \"%s\"", x$levels[2])
  }
}

# Panels of numbers and of levels differ in their axis, so they are not of one plot.
gg_partial <- function(x, data) {
  many <- !is.null(data$class)
  factors <- attr(data, "factors")
  levels <- length(factors) > 0L
  if (levels) {
    data$value <- factor(as.character(data$value), unique(as.character(data$value)))
    numbers <- data[!data$predictor %in% factors, ]
    if (nrow(numbers) > 0L) {
      bk_inform("plot", "Numbers and levels do not share an axis: numbers are drawn.",
        paste0("Give pars = ", list_some(quoted(factors)), " for the levels.")
      )
      data <- numbers
      data$value <- as.numeric(as.character(data$value))
      levels <- FALSE
    }
  }
  mapping <- if (many) {
    aes_of(x = "value", y = "fit", color = "class", fill = "class")
  } else {
    aes_of(x = "value", y = "fit")
  }
  banded <- !all(is.na(data$lwr))
  title <- if (banded) "Partial dependence, 90 % band" else "Partial dependence"
  out <- gg_start(data, mapping, title, NULL, response_label(x))
  limits <- aes_of(ymin = "lwr", ymax = "upr")
  blue <- bk_colours[["blue"]]
  own <- function(geom, ...) if (many) geom(...) else geom(..., color = blue)
  out <- if (levels) {
    out + own(
      ggplot2::geom_pointrange, limits, position = ggplot2::position_dodge(width = 0.3),
      na.rm = TRUE
    )
  } else {
    ribbon <- list(limits, alpha = 0.2, color = NA, na.rm = TRUE)
    if (!many) ribbon$fill <- blue
    out + do.call(ggplot2::geom_ribbon, ribbon) + own(ggplot2::geom_line)
  }
  out + ggplot2::facet_wrap("predictor", scales = "free_x") + if (many) gg_classes(x$levels)
}

gg_functions <- function(x, data) {
  data$lwr <- data$fit - 2 * data$sd
  data$upr <- data$fit + 2 * data$sd
  mapping <- aes_of(x = "value", y = "fit", color = "class", fill = "class")
  gg_start(data, mapping, "Latent functions, two sd", data$predictor[1], "Latent function") +
    ggplot2::geom_ribbon(aes_of(ymin = "lwr", ymax = "upr"), alpha = 0.15, color = NA) +
    ggplot2::geom_line() + gg_classes(x$levels)
}

gg_curve <- function(x, data) {
  gg_start(data, aes_of(x = "x", y = "fit"), "Function, 90 % bands", x$columns, response_label(x)) +
    gg_band(alpha = 0.13) + gg_band("lwr_mean", "upr_mean", 0.25) +
    ggplot2::geom_line(color = bk_colours[["blue"]])
}

gg_smooths <- function(x, data) {
  label <- paste("Effect on", predicted_name(x))
  surface <- data$kind == "2"
  if (all(surface)) {
    data$by <- as.numeric(data$by)
    return(gg_start(data, aes_of(x = "at", y = "by", fill = "fit")) +
      ggplot2::geom_tile() + ggplot2::facet_wrap("term", scales = "free") +
      ggplot2::scale_fill_gradient2(
        low = bk_colours[["orange"]], high = bk_colours[["blue"]], name = label
      ))
  }
  if (any(surface)) {
    bk_inform("plot", "Curves and surfaces do not share axes: curves are drawn.",
      paste0("Give pars = ", list_some(quoted(unique(data$term[surface]))), " for the others.")
    )
    data <- data[!surface, ]
  }
  if (any(data$kind == "f")) {
    names(data)[match(c("fit", "lwr", "upr"), names(data))] <- c("estimate", "lower", "upper")
    return(gg_rows(data[data$kind == "f", ], "by", label, NULL) + ggplot2::facet_wrap("term"))
  }
  grouped <- any(data$kind == "1f")
  mapping <- if (grouped) aes_of(x = "at", y = "fit", color = "by") else aes_of(x = "at", y = "fit")
  out <- gg_start(data, mapping, NULL, NULL, label) +
    ggplot2::geom_hline(yintercept = 0, linetype = 2, color = muted[["line"]])
  out <- if (grouped) {
    out + ggplot2::geom_line() + ggplot2::labs(color = NULL)
  } else {
    out + gg_band(alpha = 0.16) + gg_band("lwr_50", "upr_50", 0.25) +
      ggplot2::geom_line(color = bk_colours[["blue"]])
  }
  out + ggplot2::facet_wrap("term", scales = "free_x")
}

# --- fit, chains, planes -----------------------------------------------------

gg_calibration <- function(x, data, newdata, link) {
  two <- length(x$levels) == 2L
  gg_start(
    data, aes_of(x = "predicted", y = "observed"), calibration_title(x, newdata, link),
    if (two) sprintf("Predicted probability of \"%s\"", x$levels[2]) else
      "Probability of the predicted class",
    if (two) "Observed frequency" else "Frequency of being right"
  ) + ggplot2::geom_abline(linetype = 2, color = muted[["line"]]) +
    ggplot2::geom_linerange(aes_of(ymin = "lower", ymax = "upper"), color = bk_colours[["blue"]]) +
    ggplot2::geom_line(color = bk_colours[["blue"]]) +
    ggplot2::geom_point(aes_of(size = "rows"), color = bk_colours[["blue"]]) +
    ggplot2::coord_cartesian(xlim = c(0, 1), ylim = c(0, 1))
}

gg_observed <- function(x, data) {
  gg_start(
    data, aes_of(x = "fit", y = "observed"), "90 % prediction intervals", "Fitted", "Observed"
  ) + ggplot2::geom_abline(linetype = 2, color = muted[["line"]]) +
    ggplot2::geom_linerange(
      aes_of(ymin = "lwr", ymax = "upr"), alpha = 0.25, color = bk_colours[["blue"]]
    ) + ggplot2::geom_point(color = bk_colours[["blue"]], size = 0.8)
}

gg_bound <- function(x, data) {
  gg_start(
    data, aes_of(x = "pass", y = "bound"), "Variational bound", "Pass over the data", "Lower bound"
  ) + ggplot2::geom_line(color = bk_colours[["blue"]])
}

gg_trace <- function(x, data) {
  data$chain <- factor(data$chain)
  data$variable <- factor(data$variable, unique(data$variable))
  gg_start(data, aes_of(x = "draw", y = "value", color = "chain"), NULL, "Kept draw") +
    ggplot2::geom_line(linewidth = 0.3) + ggplot2::facet_wrap("variable", scales = "free_y") +
    gg_classes(levels(data$chain))
}

gg_kernels <- function(x, data) {
  data <- data[data$posterior > 0 | data$prior > 1e-3, ]
  gg_start(
    data, aes_of(x = "kernels", y = "posterior"), "Number of kernels, prior as a line",
    "Number of kernels", "Probability"
  ) + ggplot2::geom_col(fill = bk_colours[["blue"]]) +
    ggplot2::geom_line(aes_of(y = "prior"), color = bk_colours[["orange"]])
}

gg_stream <- function(x, data) {
  data$row <- seq_len(nrow(data))
  data$total <- cumsum(data$log_evidence)
  gg_start(data, aes_of(x = "row", y = "total"), "Log evidence of the rows so far", "Row",
    "Log evidence"
  ) + ggplot2::geom_line(color = bk_colours[["blue"]])
}

gg_projection <- function(x, data) {
  one <- is.null(data$u2)
  gg_start(
    data, aes_of(x = "u1", y = if (one) "probability" else "u2", color = "class"),
    "Rows in the learned directions"
  ) + ggplot2::geom_point() + gg_classes(x$levels)
}

gg_boundary <- function(x, data) {
  names <- names(data)[1:2]
  points <- attr(data, "points")
  many <- length(x$levels) > 2L
  prob <- as.matrix(data[paste0("prob_", x$levels)])
  best <- most_probable(prob)
  field <- data.frame(x = data[[1]], y = data[[2]], sd = data$sd, prob = prob[, 2])
  field$class <- factor(x$levels[best$class], x$levels)
  field$sure <- best$prob
  out <- if (many) {
    gg_start(field, aes_of(x = "x", y = "y"), "Most probable class", names[1], names[2]) +
      ggplot2::geom_raster(aes_of(fill = "class", alpha = "sure")) + gg_classes(x$levels) +
      ggplot2::scale_alpha(range = c(0.1, 0.7), guide = "none")
  } else {
    gg_start(field, aes_of(x = "x", y = "y"), response_label(x), names[1], names[2]) +
      ggplot2::geom_raster(aes_of(fill = "prob")) +
      ggplot2::geom_contour(aes_of(z = "prob"), breaks = c(0.1, 0.5, 0.9), color = "grey20") +
      ggplot2::scale_fill_gradient2(
        low = class_pair[1], high = class_pair[2], midpoint = 0.5, limits = c(0, 1), name = NULL
      )
  }
  if (nrow(points$at) == 0L) return(out)
  rows <- data.frame(x = points$at[, 1], y = points$at[, 2])
  out + ggplot2::geom_point(
    aes_of(x = "x", y = "y"), rows, shape = 21, inherit.aes = FALSE, color = "white",
    fill = ifelse(is.na(points$class), "grey50",
      (if (many) bk_palette(length(x$levels)) else class_pair)[points$class]
    )
  )
}
