# Partial dependence: what the function, or the probabilities, do on average
# when one predictor changes; and the number of kernels.

draw_partial <- function(x, newdata, pars, main, threads) {
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
  plot_partial(x, curves, main)
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
    bark_scaled_rows(x, new_rows(x, newdata)$x)
  }
  if (nrow(rows) == 0L) {
    bk_abort(
      "dimension", "`newdata` has no complete rows to average over.",
      "Accepted: one row or more.",
      column = "newdata", found = 0L, expected = 1L
    )
  }
  at <- spread_over(nrow(rows), most)
  colnames(rows) <- x$columns
  rows[at, , drop = FALSE]
}

# Mean over the rows, at each value of a grid, with a 90 % band over at most 400
# draws: of the function, of the probability of the positive class, or of those
# of more classes.
partial_curve <- function(variable, x, rows, threads) {
  settings <- partial_grid(variable, x, rows)
  all <- do.call(rbind, lapply(settings$points, function(point) {
    rows[, variable$columns] <- rep(point, each = nrow(rows))
    unname(rows)
  }))
  group <- rep(seq_along(settings$points), each = nrow(rows))
  average <- function(values) rowsum(values, group) / nrow(rows)
  drawn <- partial_draws(x, all, threads)
  many <- length(x$levels) > 2L
  # Averages of probabilities have no need of draws.
  exact <- if (many) average(bark_moments(x, all, threads)$prob)
  parts <- lapply(seq_along(drawn), function(k) {
    values <- average(t(drawn[[k]]))
    band <- apply(values, 1, stats::quantile, c(0.05, 0.95), names = FALSE)
    out <- data.frame(
      value = settings$value,
      fit = if (many) unname(exact[, k]) else unname(rowMeans(values)),
      lwr = band[1, ], upr = band[2, ]
    )
    if (many) cbind(out[1], class = x$levels[k], out[-1]) else out
  })
  do.call(rbind, parts)
}

# Draws x rows of what is averaged, a matrix for each class of more than two.
partial_draws <- function(x, rows, threads, most = 400L) {
  take <- spread_over(prod(dim(x$draws)[1:2]), most)
  core <- bark_core_draws(x, take)
  f <- core_call(bark_latent_cpp(core, x$posterior$x, rows, threads))
  # The same quantile for every row of a draw, spread evenly over the draws (the
  # fractional parts of the golden ratio's multiples).
  z <- stats::qnorm((seq_along(take) * (sqrt(5) - 1) / 2) %% 1)
  f <- f$mean + z * sqrt(f$var)
  if (is_regression(x)) {
    return(list(x$transform$response[1] + x$transform$response[2] * f))
  }
  if (length(x$levels) == 2L) {
    return(list(stats::pnorm(f)))
  }
  cuts <- cbind(-Inf, 0, core$cuts, Inf)
  lapply(seq_along(x$levels), function(k) {
    stats::pnorm(cuts[, k + 1L] - f) - stats::pnorm(cuts[, k] - f)
  })
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

plot_partial <- function(x, curves, main) {
  many <- length(curves) > 1L
  classes <- length(x$levels) > 2L
  old <- bk_looks(length(curves))
  on.exit(graphics::par(old))
  labels <- if (classes) key_labels(x$levels)
  limits <- range(unlist(lapply(curves, `[`, c("fit", "lwr", "upr"))))
  if (diff(limits) < 1e-8 * max(abs(limits), 1)) limits <- limits + c(-1, 1)
  for (name in names(curves)) {
    partial_panel(x, curves[[name]], name, limits, main_title(
      main, if (many) "" else "Partial dependence, 90 % band"
    ))
    count <- length(x$levels)
    if (classes) key_classes(labels, bk_palette(count), bk_lines(count))
  }
}

partial_panel <- function(x, curve, name, limits, main) {
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
  class <- if (is.null(curve$class)) 1L else match(curve$class, x$levels)
  count <- max(class)
  for (k in seq_len(count)) {
    own <- curve[class == k, ]
    where <- at[class == k]
    if (is_level) where <- where + 0.25 * ((k - 0.5) / count - 0.5)
    draw_band(where, own, is_level, bk_palette(count)[k], bk_lines(count)[k])
  }
}

draw_band <- function(at, curve, is_level, colour, line) {
  if (is_level) {
    graphics::segments(at, curve$lwr, at, curve$upr, col = colour, lwd = 2)
    graphics::points(at, curve$fit, pch = 21, bg = "white", col = colour)
  } else {
    graphics::polygon(
      c(at, rev(at)), c(curve$lwr, rev(curve$upr)),
      col = grDevices::adjustcolor(colour, 0.2), border = NA
    )
    graphics::lines(at, curve$fit, col = colour, lwd = 2, lty = line)
  }
}

draw_kernels <- function(x, main) {
  table <- kernel_counts(x)
  seen <- range(table$kernels[table$posterior > 0 | table$prior > 1e-3])
  shown <- table[table$kernels >= seen[1] & table$kernels <= seen[2], ]
  old <- bk_look()
  on.exit(graphics::par(old))
  bk_panel(
    seen + c(-0.6, 0.6), c(0, 1.12 * max(shown$prior, shown$posterior)),
    "Number of kernels", "Probability",
    main_title(main, "Number of kernels"),
    grid = "y"
  )
  graphics::rect(
    shown$kernels - 0.38, 0, shown$kernels + 0.38, shown$posterior,
    col = bk_colours[["blue"]], border = NA
  )
  graphics::lines(
    shown$kernels, shown$prior,
    type = "o", pch = 19, cex = 0.5, col = bk_colours[["orange"]]
  )
  graphics::legend(
    "topright", c("posterior", "prior"),
    pch = c(15, 19), lty = c(NA, 1), pt.cex = c(1.5, 0.5),
    col = bk_colours[c("blue", "orange")], bty = "n", cex = 0.85
  )
  table
}
