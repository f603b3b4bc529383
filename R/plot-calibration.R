# Predicted probabilities against what happened, and observed against fitted values.

# As judge(), of the rows given the others by the link of predict(), where the fit has these, else
# NULL.
left_out_rows <- function(x) {
  log_prob <- left_out_logs(x)
  if (is.null(log_prob)) return(NULL)
  if (length(x$levels) > 2L) return(x$judged)
  happened <- own_classes(x) == 2L
  data.frame(probability = ifelse(happened, exp(log_prob), -expm1(log_prob)), happened)
}

# Of counts, by row: the probability of a success, the trials and the successes. NULL for rows that
# are cases. Rows with missing values are left out.
judged_counts <- function(x, newdata, y, link) {
  if (is.null(newdata)) {
    if (is.null(x$units)) return(NULL)
    size <- round(stats::weights(x))
    yes <- round(size * (stats::fitted(x) + stats::residuals(x)))
  } else {
    if (!are_counts(x) || !(is.null(y) || is.matrix(y))) return(NULL)
    counts <- new_counts(x, newdata, y)
    size <- rowSums(counts)
    yes <- counts[, 1L]
  }
  p <- prediction(x, newdata, "prob", link)[, x$levels[2L]]
  out <- data.frame(p = unname(p), size = unname(size), yes = unname(yes))
  out[stats::complete.cases(out), ]
}

# Probabilities of the likely class, of two the second, and whether it happened.
judged_rows <- function(x, newdata, y, link) {
  counts <- judged_counts(x, newdata, y, link)
  if (!is.null(counts)) {
    # Each trial is a case.
    happened <- rep(rep(c(TRUE, FALSE), nrow(counts)), rbind(counts$yes, counts$size - counts$yes))
    return(data.frame(probability = rep(counts$p, counts$size), happened))
  }
  own <- is.null(newdata)
  copies <- if (own) several_copies(x$weights)
  left_out <- if (own && is.null(link)) left_out_rows(x)
  if (!is.null(left_out)) return(left_out[rep(seq_len(x$n), copies %||% 1), ])
  prob <- prediction(x, newdata, "prob", link)[, x$levels, drop = FALSE]
  # As predict() does, where rows were left out by na.exclude().
  true <- if (own) {
    stats::napredict(x$na.action, own_classes(x))
  } else {
    new_response(x, newdata, y, nrow(prob), declared = TRUE)
  }
  if (!is.null(copies)) {
    copies <- stats::napredict(x$na.action, copies)
    copy <- rep(seq_along(copies), ifelse(is.na(copies), 0, copies))
    prob <- prob[copy, , drop = FALSE]
    true <- true[copy]
  }
  use <- !is.na(true) & !is.na(rowSums(prob))
  judge(prob[use, , drop = FALSE], true[use])
}

calibration_data <- function(x, newdata, y, link, bins, level) {
  rows <- judged_rows(x, newdata, y, link)
  out <- calibration_table(rows$probability, rows$happened, bins, level)
  structure(out, probability = rows$probability)
}

# Of which rows a title is.
judged_title <- function(x, newdata, link = NULL) {
  if (!is.null(newdata)) {
    " on the rows of newdata"
  } else if (is.null(link) && !is.null(left_out_rows(x))) {
    ", each row left out"
  } else {
    ", own rows: too optimistic"
  }
}

calibration_title <- function(x, newdata, link) {
  paste0("Calibration", judged_title(x, newdata, link))
}

# What the probability is of.
fitted_label <- function(x) {
  if (is_regression(x)) return(observed_labels(x)[1])
  if (length(x$levels) > 2L) return("Probability of the predicted class")
  paste("Predicted probability of", class_label(x))
}

draw_calibration <- function(x, data, newdata, link, level, main) {
  two <- length(x$levels) == 2L
  plot_calibration(
    data, main = main_title(main, calibration_title(x, newdata, link)),
    xlab = fitted_label(x), ylab = if (two) "Observed frequency" else "Frequency of being right",
    level = level
  )
}

# Observed against fitted, with the interval of a new response: normal, by the moments of f and the
# mean variance of the noise.
observed_data <- function(x, newdata, y, level = 0.95) {
  moments <- prediction(x, newdata, "response", se.fit = TRUE)
  observed <- if (is.null(newdata)) {
    stats::napredict(x$na.action, x$y)
  } else {
    new_response(x, newdata, y, length(moments$fit))
  }
  half <- stats::qnorm((1 + level) / 2) * sqrt(moments$se.fit^2 + noise_variance(x))
  out <- data.frame(
    observed = observed, fit = unname(moments$fit),
    lwr = unname(moments$fit - half), upr = unname(moments$fit + half)
  )
  out[stats::complete.cases(out), ]
}

draw_observed <- function(x, data, newdata, level, main) {
  plot_observed(data, main_title(main, observed_title(newdata, level)), observed_labels(x))
}

observed_title <- function(newdata, level) {
  rows <- if (is.null(newdata)) "Rows of the fit" else "New rows"
  sprintf("%s, %s prediction intervals", rows, percent(level))
}

# Of the axes.
observed_labels <- function(x) {
  paste(c("Fitted", "Observed"), if (is_string(x$response)) x$response else "response")
}

plot_observed <- function(rows, main, labels) {
  old <- bk_look()
  on.exit(graphics::par(old))
  bk_panel(range(rows$fit), range(rows[c("observed", "lwr", "upr")]), labels[1], labels[2], main)
  blue <- bk_colours[["blue"]]
  outside <- rows$observed < rows$lwr | rows$observed > rows$upr
  some <- rows[some_along(rows$fit), ]
  graphics::segments(
    some$fit, some$lwr, some$fit, some$upr, col = grDevices::adjustcolor(blue, 0.25)
  )
  colours <- grDevices::adjustcolor(c(blue, bk_colours[["orange"]]), many_alpha(nrow(rows)))
  graphics::points(
    rows$fit, rows$observed, pch = 19, cex = if (nrow(rows) > 500L) 0.35 else 0.6,
    col = colours[1L + outside]
  )
  graphics::abline(0, 1, col = "grey20", lty = 2)
  bk_note(inside_note(outside))
}

inside_note <- function(outside) sprintf("%.0f %% inside", 100 * mean(!outside))

# How many rows there are of each probability, as bars between -0.16 and -0.05.
probability_bars <- function(probability) {
  edges <- seq(0, 1, length.out = 41)
  counts <- graphics::hist(probability, edges, plot = FALSE)$counts
  data.frame(left = edges[-41], right = edges[-1], top = -0.16 + 0.11 * counts / max(counts))
}

# Predicted against observed frequency, by calibration_table(), whose attribute has the
# probabilities.
plot_calibration <- function(table, main = "", xlab = "Predicted probability",
                             ylab = "Observed frequency", level = 0.95) {
  old <- bk_look()
  on.exit(graphics::par(old))
  bk_panel(c(0, 1), c(-0.16, 1), xlab, ylab, main, axes = "x", grid = "x")
  ticks <- seq(0, 1, 0.2)
  bk_grid(h = ticks)
  bk_axis(2, ticks)
  graphics::segments(0, 0, 1, 1, col = muted[["line"]], lty = 2)

  # Below the diagram: how many rows there are of each probability.
  bars <- probability_bars(attr(table, "probability"))
  graphics::rect(bars$left, -0.16, bars$right, bars$top, col = "grey75", border = NA)

  colour <- bk_colours[["blue"]]
  graphics::segments(
    table$predicted, table$lower, table$predicted, table$upper,
    col = grDevices::adjustcolor(colour, 0.5), lwd = 2
  )
  graphics::points(
    table$predicted, table$observed, pch = 21, bg = colour, col = "white",
    cex = 0.6 + 0.9 * sqrt(table$rows / max(table$rows))
  )
  graphics::text(0, -0.1, "rows", adj = c(1.15, 0.5), cex = 0.75, xpd = NA, col = muted[["axis"]])
  bk_note(paste(percent(level), "intervals"))
  invisible(table)
}
