# Checks of the distribution of a response: residuals, their quantiles, and responses that the fit
# draws.

residual_pictures <- function(x) {
  check <- function(draw, data, gg) {
    picture(
      draw, NULL, if (!has_fitted(x)) "newdata",
      "It has not kept its rows: give `newdata` and `y`.",
      data = data, gg = gg
    )
  }
  c(
    list(
      residuals = check(draw_residuals, residual_data, gg_residuals),
      qq = check(draw_qq, qq_data, gg_qq)
    ),
    if (is_regression(x)) {
      list(predictive = check(draw_predictive, predictive_data, gg_predictive))
    }
  )
}

# Of numbers divided by the standard deviation of a new response, of classes and counts by quantile.
residual_data <- function(x, newdata, y) {
  if (!is_regression(x)) return(quantile_residuals(x, newdata, y))
  rows <- observed_data(x, newdata, y)
  sd <- (rows$upr - rows$lwr) / (2 * stats::qnorm(0.975))
  data.frame(
    fit = rows$fit, residual = rows$observed - rows$fit,
    standardized = (rows$observed - rows$fit) / sd
  )
}

# Randomized quantile residuals (Dunn and Smyth 1996): normal if the probabilities are right. Of
# counts those of the successes of a unit; of more than two classes of whether the likely one came.
quantile_residuals <- function(x, newdata, y) {
  rows <- judged_counts(x, newdata, y, NULL)
  if (is.null(rows)) {
    cases <- judged_rows(x, newdata, y, NULL)
    rows <- data.frame(p = cases$probability, size = 1, yes = as.numeric(cases$happened))
  }
  below <- stats::pbinom(rows$yes - 1, rows$size, rows$p)
  above <- stats::pbinom(rows$yes, rows$size, rows$p)
  u <- with_seed(1, stats::runif(nrow(rows), below, above))
  # Finite where an impossible response came.
  z <- pmin(pmax(stats::qnorm(u), -8), 8)
  data.frame(fit = rows$p, residual = rows$yes / rows$size - rows$p, standardized = z)
}

residual_name <- function(x) {
  if (is_regression(x)) "Standardized residual" else "Randomized quantile residual"
}

residual_title <- function(x, newdata) {
  rows <- if (!is_regression(x)) judged_title(x, newdata)
  paste0(residual_name(x), "s", rows, if (is.null(rows)) ", with a smooth line")
}

draw_residuals <- function(x, data, newdata, main) {
  old <- bk_look()
  on.exit(graphics::par(old))
  bk_panel(
    range(data$fit), range(data$standardized, -2, 2), fitted_label(x), residual_name(x),
    main_title(main, residual_title(x, newdata))
  )
  graphics::abline(h = 0, col = muted[["line"]], lty = 2)
  graphics::points(
    data$fit, data$standardized, pch = 19, cex = 0.5,
    col = grDevices::adjustcolor(bk_colours[["blue"]], many_alpha(nrow(data)))
  )
  if (nrow(data) > 3L) {
    graphics::lines(
      stats::lowess(data$fit, data$standardized), col = bk_colours[["orange"]], lwd = 2
    )
  }
}

qq_data <- function(x, newdata, y) {
  z <- sort(residual_data(x, newdata, y)$standardized)
  n <- length(z)
  # Where 95 % of each order statistic of n independent normal numbers are.
  end <- function(p) stats::qnorm(stats::qbeta(p, seq_len(n), rev(seq_len(n))))
  data.frame(
    normal = stats::qnorm(stats::ppoints(n)), standardized = z, lower = end(0.025),
    upper = end(0.975)
  )
}

qq_title <- function(x, newdata) {
  rows <- if (!is_regression(x)) judged_title(x, newdata)
  paste0("Quantiles of ", tolower(residual_name(x)), "s", rows)
}

draw_qq <- function(x, data, newdata, main) {
  old <- bk_look()
  on.exit(graphics::par(old))
  bk_panel(
    range(data$normal), range(data[-1L]), "Normal quantile", residual_name(x),
    main_title(main, qq_title(x, newdata))
  )
  graphics::polygon(
    c(data$normal, rev(data$normal)), c(data$lower, rev(data$upper)), col = "grey92", border = NA
  )
  bk_note("gray: 95 % if the model is right")
  graphics::abline(0, 1, col = muted[["line"]], lty = 2)
  graphics::points(data$normal, data$standardized, pch = 19, cex = 0.6, col = bk_colours[["blue"]])
}

# Densities of the response and of twenty responses that the fit draws for the same rows.
predictive_data <- function(x, newdata, y) {
  observed <- observed_data(x, newdata, y)$observed
  drawn <- do.call(stats::predict, c(
    list(x, draws = TRUE, ndraws = 20, interval = "prediction", seed = 1),
    if (!is.null(newdata)) list(newdata = newdata)
  ))
  drawn <- drawn[, stats::complete.cases(t(drawn)), drop = FALSE]
  range <- range(observed, drawn)
  density_of <- function(values, name) {
    d <- stats::density(values, from = range[1], to = range[2], n = 200)
    data.frame(set = name, value = d$x, density = d$y)
  }
  parts <- lapply(seq_len(nrow(drawn)), function(k) density_of(drawn[k, ], paste("draw", k)))
  rbind(density_of(observed, "observed"), do.call(rbind, parts))
}

draw_predictive <- function(x, data, main) {
  old <- bk_look()
  on.exit(graphics::par(old))
  bk_panel(
    range(data$value), c(0, max(data$density)), x$response, "Density",
    main_title(main, "Observed responses and 20 that the fit draws")
  )
  for (name in rev(unique(data$set))) {
    own <- data[data$set == name, ]
    is_observed <- name == "observed"
    graphics::lines(
      own$value, own$density, lwd = if (is_observed) 2.5 else 0.8,
      col = if (is_observed) bk_colours[["orange"]] else blend(bk_colours[["blue"]], 0.5)
    )
  }
  graphics::legend(
    "topright", c("observed", "drawn"), col = bk_colours[c("orange", "blue")], lwd = c(2.5, 0.8),
    bty = "n", cex = 0.85
  )
}

gg_residuals <- function(x, data, newdata) {
  gg_start(
    data, aes_of(x = "fit", y = "standardized"), residual_title(x, newdata), fitted_label(x),
    residual_name(x)
  ) + ggplot2::geom_hline(yintercept = 0, linetype = 2, color = muted[["line"]]) +
    ggplot2::geom_point(
      color = bk_colours[["blue"]], size = 0.9, alpha = many_alpha(nrow(data))
    ) + if (nrow(data) > 3L) ggplot2::geom_line(
      aes_of(x = "x", y = "y"), as.data.frame(stats::lowess(data$fit, data$standardized)),
      color = bk_colours[["orange"]], linewidth = 0.9
    )
}

gg_qq <- function(x, data, newdata) {
  gg_start(
    data, aes_of(x = "normal", y = "standardized"), qq_title(x, newdata), "Normal quantile",
    residual_name(x), "gray: 95 % if the model is right"
  ) + ggplot2::geom_ribbon(aes_of(ymin = "lower", ymax = "upper"), fill = "grey92") +
    ggplot2::geom_abline(linetype = 2, color = muted[["line"]]) +
    ggplot2::geom_point(color = bk_colours[["blue"]], size = 0.9)
}

gg_predictive <- function(x, data) {
  data$kind <- ifelse(data$set == "observed", "observed", "drawn")
  # The last set is on top.
  data$set <- factor(data$set, rev(unique(data$set)))
  mapping <- aes_of(x = "value", y = "density", group = "set", color = "kind", alpha = "kind")
  gg_start(data, mapping, "Observed responses and 20 that the fit draws", x$response, "Density") +
    ggplot2::geom_line(aes_of(linewidth = "kind")) + ggplot2::labs(color = NULL) +
    ggplot2::scale_linewidth_manual(values = c(observed = 1.1, drawn = 0.3), guide = "none") +
    ggplot2::scale_color_manual(
      values = c(observed = bk_colours[["orange"]], drawn = bk_colours[["blue"]])
    ) + ggplot2::scale_alpha_manual(values = c(observed = 1, drawn = 0.4), guide = "none")
}
