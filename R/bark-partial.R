# Partial dependence of bark(): what the function does on average when one
# predictor changes.

plot_partial <- function(x, newdata, pars, main, threads) {
  variables <- partial_variables(x)
  known <- names(variables)
  if (is.null(pars)) {
    scales <- colMeans(bark_scales(x))
    strength <- vapply(variables, function(v) sum(scales[v$columns]), 0)
    pars <- known[sort(utils::head(order(-strength), 6L))]
  }
  variables <- variables[check_pars(pars, known)]
  rows <- partial_rows(x, newdata)
  curves <- lapply(variables, partial_curve, x = x, rows = rows,
    threads = threads
  )
  draw_partial(x, curves, variables, main)
  out <- do.call(rbind, Map(function(name, curve) {
    cbind(predictor = name, curve)
  }, names(curves), curves))
  rownames(out) <- NULL
  out
}

# The predictors that may change: a numeric column, or all columns of a factor
# and its levels.
partial_variables <- function(x) {
  numeric <- x$columns
  factors <- list()
  for (name in names(x$xlevels)) {
    columns <- paste0(name, x$xlevels[[name]])
    if (all(columns %in% x$columns)) {
      factors[[name]] <- list(columns = columns, levels = x$xlevels[[name]])
      numeric <- setdiff(numeric, columns)
    }
  }
  c(lapply(stats::setNames(nm = numeric), function(name) {
    list(columns = name)
  }), factors)
}

# Up to 200 rows on the scale of the model.
partial_rows <- function(x, newdata, most = 200L) {
  rows <- if (is.null(newdata)) {
    x$posterior$x
  } else {
    bark_new_rows(x, newdata)$x
  }
  if (nrow(rows) == 0L) {
    bk_abort(
      "dimension", "`newdata` has no complete rows to average over.",
      "Accepted: one row or more.",
      column = "newdata", found = 0L, expected = 1L
    )
  }
  at <- unique(round(seq(1, nrow(rows), length.out = min(nrow(rows), most))))
  colnames(rows) <- x$columns
  rows[at, , drop = FALSE]
}

# Mean over the rows, at each value of a grid, with a 90 % band over at most 400
# draws; for more than two classes the probability of each.
partial_curve <- function(variable, x, rows, threads) {
  settings <- partial_grid(variable, x, rows)
  all <- do.call(rbind, lapply(settings$points, function(point) {
    rows[, variable$columns] <- rep(point, each = nrow(rows))
    unname(rows)
  }))
  group <- rep(seq_along(settings$points), each = nrow(rows))
  if (length(x$levels) > 2L) {
    prob <- rowsum(bark_moments(x, all, threads)$prob, group) / nrow(rows)
    return(data.frame(
      value = rep(settings$value, length(x$levels)),
      class = rep(x$levels, each = length(settings$value)),
      fit = as.vector(prob), lwr = NA_real_, upr = NA_real_
    ))
  }
  total <- prod(dim(x$draws)[1:2])
  take <- unique(round(seq(1, total, length.out = min(total, 400L))))
  core <- bark_core_draws(x, take)
  f <- core_call(bark_latent_cpp(core, x$posterior$x, all, threads))
  # The same quantile for every row of a draw, spread evenly over the draws (the
  # fractional parts of the golden ratio's multiples).
  z <- stats::qnorm((seq_along(take) * (sqrt(5) - 1) / 2) %% 1)
  f <- f$mean + z * sqrt(f$var)
  f <- if (is_regression(x)) {
    x$transform$response[1] + x$transform$response[2] * f
  } else {
    stats::pnorm(f)
  }
  average <- rowsum(t(f), group) / nrow(rows)
  band <- apply(average, 1, stats::quantile, c(0.05, 0.95), names = FALSE)
  data.frame(
    value = settings$value, fit = rowMeans(average), lwr = band[1, ],
    upr = band[2, ]
  )
}

# Values of the predictor, and what its columns are then.
partial_grid <- function(variable, x, rows, cells = 30L) {
  center <- x$transform$center[variable$columns]
  scale <- x$transform$scale[variable$columns]
  if (!is.null(variable$levels)) {
    each <- diag(length(variable$levels))
    return(list(
      value = factor(variable$levels, variable$levels),
      points = lapply(variable$levels, function(level) {
        unname((as.numeric(variable$levels == level) - center) / scale)
      })
    ))
  }
  seen <- sort(unique(rows[, variable$columns]))
  if (length(seen) > 8L) {
    seen <- seq(seen[1], seen[length(seen)], length.out = cells)
  }
  list(value = unname(center + scale * seen), points = as.list(seen))
}

draw_partial <- function(x, curves, variables, main) {
  many <- length(curves) > 1L
  # One panel goes into the layout that the user may have set.
  old <- if (many) {
    bk_look(mfrow = grDevices::n2mfrow(length(curves)))
  } else {
    bk_look()
  }
  on.exit(graphics::par(old))
  all <- unlist(lapply(curves, `[`, c("fit", "lwr", "upr")))
  limits <- range(all, finite = TRUE)
  if (diff(limits) < 1e-8 * max(abs(limits), 1)) limits <- limits + c(-1, 1)
  for (name in names(curves)) {
    draw_one_partial(x, curves[[name]], name, limits, main_title(
      main, if (many) {
        ""
      } else if (length(x$levels) > 2L) {
        "Partial dependence"
      } else {
        "Partial dependence, 90 % band"
      }
    ))
  }
}

draw_one_partial <- function(x, curve, name, limits, main) {
  is_level <- is.factor(curve$value)
  at <- as.numeric(curve$value)
  room <- if (is_level) 0.5 else 0
  bk_panel(
    range(at) + c(-room, room), limits, abbreviate_middle(name),
    if (is_regression(x)) {
      x$response
    } else if (length(x$levels) == 2L) {
      sprintf("Probability of \"%s\"", x$levels[2])
    } else {
      "Probability"
    },
    main,
    axes = if (is_level) "y" else c("x", "y"),
    grid = if (is_level) "y" else c("x", "y")
  )
  if (is_level) {
    bk_axis(1, seq_len(nlevels(curve$value)), levels(curve$value))
  }
  if (!is.null(curve$class)) {
    return(draw_class_curves(x, curve, at, is_level))
  }
  blue <- bk_colours[["blue"]]
  if (is_level) {
    graphics::segments(at, curve$lwr, at, curve$upr, col = blue, lwd = 2)
    graphics::points(at, curve$fit, pch = 21, bg = "white", col = blue)
  } else {
    graphics::polygon(
      c(at, rev(at)), c(curve$lwr, rev(curve$upr)),
      col = grDevices::adjustcolor(blue, 0.2), border = NA
    )
    graphics::lines(at, curve$fit, col = blue, lwd = 2)
  }
}

draw_class_curves <- function(x, curve, at, is_level) {
  colours <- bk_palette(length(x$levels))
  for (k in seq_along(x$levels)) {
    own <- curve$class == x$levels[k]
    graphics::lines(
      at[own], curve$fit[own],
      col = colours[k], lwd = 2,
      type = if (is_level) "b" else "l"
    )
  }
  # Above the panel, where no curve can be.
  graphics::legend(
    "topright", abbreviate_middle(x$levels, 16L),
    col = colours, lwd = 2, bty = "n", cex = 0.8, horiz = TRUE,
    inset = c(0, -0.1), xpd = TRUE
  )
}
