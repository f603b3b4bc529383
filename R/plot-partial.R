# Partial dependence: what the function, or the probabilities, do on average when one predictor
# changes; and the number of kernels.

partial_table <- function(x, newdata, pars, threads, re.form = NA, level = 0.95) {
  groups <- check_re_form(re.form)
  source <- partial_source(x, newdata, threads, groups, level)
  left <- if (is.null(pars)) length(source$names) - most_panels
  if (sum(left) > 0L) {
    strength <- source$strength()
    pars <- names(strength)[sort(utils::head(order(-strength), most_panels))]
  }
  pars <- check_pars(pars, source$names)
  curves <- told_lapply(stats::setNames(nm = pars), source$curve)
  # One column of numbers, or of their and the levels' names.
  levels <- vapply(curves, function(curve) is.factor(curve$value), NA)
  seen <- if (is.null(newdata) && length(source$names) == 1L) seen_rows(x, source$names)
  if (is.numeric(seen$value)) {
    ends <- range(curves[[1]]$value)
    seen <- seen[seen$value >= ends[1] & seen$value <= ends[2], ]
  }
  out <- do.call(rbind, Map(function(name, curve) {
    if (any(levels) && length(levels) > 1L) curve$value <- as.character(curve$value)
    cbind(predictor = name, curve)
  }, names(curves), curves))
  rownames(out) <- NULL
  points <- levels | source$few[pars]
  lines <- do.call(rbind, Map(function(name, curve) {
    if (!is.null(attr(curve, "lines"))) cbind(predictor = name, attr(curve, "lines"))
  }, pars[!points], curves[!points]))
  structure(
    out, points = pars[points], rows = source$rows[pars[!points]], lines = lines,
    note = c(groups_meant(x, newdata, groups, !is.null(lines)), if (sum(left) > 0L) {
      sprintf(
        "the %d that change it most; `pars` names others of %d", most_panels, left + most_panels
      )
    }, if (source$cut) "from the 1 % to the 99 % quantile of the rows"), seen = seen
  )
}

# Panels that a figure has if nobody names predictors.
most_panels <- 6L

# lapply() that tells, where someone watches, what it is at after two seconds.
told_lapply <- function(names, f) {
  start <- proc.time()[["elapsed"]]
  shown <- FALSE
  on.exit(if (shown) cat(sprintf("\r%60s\r", ""), file = stderr()))
  lapply(names, function(name) {
    late <- proc.time()[["elapsed"]] - start > 2
    if (late && getOption("bayeskernel.progress", interactive())) {
      shown <<- TRUE
      text <- sprintf("plot: %d of %d predictors", match(name, names), length(names))
      cat(sprintf("\r%-60s", text), file = stderr())
    }
    f(name)
  })
}

# Of a regression on one predictor up to 1000 of its rows, which the curve is drawn over.
seen_rows <- function(x, name) {
  rows <- fit_data(x)
  if (nrow(rows) > x$n && !is.null(x$na.action)) rows <- rows[-x$na.action, , drop = FALSE]
  known <- is_regression(x) && is.numeric(x$y) && is.null(x$units) &&
    all(c(nrow(rows), length(x$y)) == x$n)
  if (!known) return(NULL)
  rows <- data.frame(value = rows[[name]], y = as.vector(x$y))
  rows[spread_over(nrow(rows), 1000L), ]
}

# For which groups the curves of a fit with random effects are; NULL of other fits.
groups_meant <- function(x, newdata, groups, lines) {
  names <- unique(unlist(lapply(x$design$random, `[[`, "label")))
  if (length(names) == 0L) return(NULL)
  names <- abbreviate_end(names, 24L)
  switch(groups,
    new = sprintf("for a new group of %s", names),
    none = sprintf("random effects of %s at 0", names),
    sprintf(
      if (lines) {
        "%s groups of %s at the same rows, thin; bold: each row in its group"
      } else {
        "average over the %s groups of %s"
      },
      if (is.null(newdata)) "known" else "given", names
    )
  )
}

# Back to a table a predictor, with factors for levels.
draw_partial <- function(x, data, level, main) {
  names <- unique(data$predictor)
  plot_partial(x, lapply(stats::setNames(nm = names), function(name) {
    curve <- data[data$predictor == name, names(data) != "predictor", drop = FALSE]
    text <- as.character(curve$value)
    points <- name %in% attr(data, "points")
    curve$value <- if (points) factor(text, unique(text)) else text_numbers(text)
    curve
  }), main, data, level)
}

# What partial dependence is drawn from.
# groups: those of random effects, by check_re_form(); all rows are of one new group.
# Returns a list: `names` of the predictors that may change; `few`, which have few values; `rows`,
#   values inside the curve; `cut`, whether some are outside of one; `strength()`, how much each
#   matters, named; `curve(name)`, a data frame with `value`, for more than two classes `class`,
#   `fit`, `lwr`, `upr`.
partial_source <- function(x, newdata, threads, groups, level) {
  data <- partial_data(x, newdata)
  if (groups == "new") data[group_variables(x$design)] <- "a new group"
  data <- complete_rows(x, data, groups)
  names <- partial_names(x, data)
  # Classes are as many curves, and probabilities of more than two take longer, as do averages over
  # draws of kernels.
  many <- length(x$levels) > 2L
  sampled <- !is.null(x$draws) && !is_linear(x)
  # Probabilities of each draw by quadrature: those of all draws take minutes.
  drawn <- sampled && inherits(x, "mkprobit")
  part <- function(rows, name, values) {
    out <- rows[rep(seq_len(nrow(rows)), length(values)), , drop = FALSE]
    out[[name]] <- rep(values, each = nrow(rows))
    out
  }
  most <- if (many) max(40, 400 %/% length(x$levels)) else 200
  if (sampled) most <- if (many) 40 else 60
  rows <- data[spread_over(nrow(data), most), , drop = FALSE]
  # Rows of one predictor are alike once it has a value.
  read <- intersect(names(rows), c(x$design$variables, names))
  if (groups == "none") read <- setdiff(read, group_variables(x$design, TRUE))
  alike <- length(names) == 1L && identical(read, names)
  if (alike) rows <- rows[1L, , drop = FALSE]
  cells <- if (alike) 401L else if (many) 45L else 101L
  if (sampled && !alike) cells <- if (many) 34L else 51L
  grids <- lapply(data[names], value_grid, cells)
  few <- rows[spread_over(nrow(rows), 25L), , drop = FALSE]
  list(
    names = names, few = vapply(data[names], few_values, NA),
    rows = Map(function(v, grid) {
      v <- v[spread_over(length(v), 200L)]
      if (is.numeric(v)) inside_curve(v, grid) else v
    }, data[names], grids),
    cut = any(mapply(function(v, grid) {
      is.numeric(v) && length(inside_curve(v, grid)) < sum(!is.na(v))
    }, data[names], grids)),
    strength = function() {
      names <- likely_names(x, rows, names, threads, groups)
      vapply(stats::setNames(nm = names), function(name) {
        values <- grids[[name]][spread_over(length(grids[[name]]), 5L)]
        all <- new_rows(x, part(few, name, values), groups, named = TRUE)
        count <- length(values)
        each <- if (sampled) {
          as.matrix(colMeans(curve_draws(x, all, count, 100L, threads)))
        } else {
          predicted_values(x, all, threads)
        }
        mean <- average_rows(each, count)
        max(apply(mean, 2, function(curve) diff(range(curve))))
      }, 0)
    },
    curve = function(name) {
      values <- grids[[name]]
      read <- function(at, some) {
        new_rows(x, part(rows[at, , drop = FALSE], name, values[some]), groups, named = TRUE)
      }
      # Bands are smooth: fewer values and rows do for them.
      knots <- seq_along(values)
      if (!alike && !sampled && is.numeric(values)) knots <- spread_over(length(values), 34L)
      cells <- 2000 %/% max(1L, length(x$levels) - 1L)
      at <- seq_len(nrow(rows))
      if (!sampled) at <- spread_over(length(at), min(60, max(20, cells %/% length(knots))))
      all <- read(seq_len(nrow(rows)), seq_along(values))
      band <- if (!drawn) if (sampled) all else read(at, knots)
      structure(
        data_curve(x, all, band, values, list(rows = at, knots = knots), threads, level),
        lines = group_lines(x, rows, name, values, groups, threads)
      )
    }
  )
}

# The curve of each known group, an average over the same rows for all, so that groups differ by
# their effects alone. NULL without groups, for levels, and for more than two classes.
group_lines <- function(x, rows, name, values, groups, threads) {
  by <- intersect(group_variables(x$design), names(rows))
  if (groups != "as given" || length(by) == 0L || !is.numeric(values) || length(x$levels) > 2L) {
    return(NULL)
  }
  known <- unique(rows[by])
  # Some 30,000 predictions in all.
  most <- max(10L, 1500L %/% nrow(known))
  base <- rows[spread_over(nrow(rows), most), , drop = FALSE]
  cell <- expand.grid(
    row = seq_len(nrow(base)), group = seq_len(nrow(known)),
    value = values[spread_over(length(values), 21L)]
  )
  all <- base[cell$row, , drop = FALSE]
  all[by] <- known[cell$group, , drop = FALSE]
  all[[name]] <- cell$value
  all <- new_rows(x, all, groups, named = TRUE)
  stats::aggregate(
    list(fit = drop(predicted_values(x, all, threads))),
    list(value = cell$value, group = finest_groups(all)), mean
  )
}

# Of very many variables only those are tried that go with the mean of f.
likely_names <- function(x, rows, names, threads, groups, most = 40L) {
  if (length(names) <= most) return(names)
  mean <- as.matrix(latent(x, new_rows(x, rows, groups), character(), threads)$mean)
  go <- vapply(rows[names], function(v) {
    max(abs(suppressWarnings(stats::cor(as.numeric(factor(v)), mean))), 0, na.rm = TRUE)
  }, 0)
  names[sort(utils::head(order(-go), most))]
}

# Means, or probabilities of the positive class or of each class: rows x 1 or x classes.
predicted_values <- function(x, rows, threads) {
  link <- if (!is_regression(x)) prediction_link(x, NULL)
  moments <- latent_by_link(x, rows, as.character(link), threads)
  as.matrix(if (is_regression(x)) moments$mean else moments$prob[[link]])
}

# By value of the grid, over the rows that have it.
average_rows <- function(values, count) {
  each <- nrow(values) / count
  rowsum(values, rep(seq_len(count), each = each), reorder = FALSE) / each
}

# The average of predictions at each value, with intervals over draws; without one for a posterior
# mode.
# rows, few: of all values and rows, and of those of the band, which `at` counts: `rows`, `knots`;
# `few` is NULL where draws give the average, too, as that of all draws takes long.
data_curve <- function(x, rows, few, values, at, threads, level) {
  count <- length(values)
  knots <- at$knots
  most <- if (length(x$levels) > 2L) 300L else 600L
  draws <- if (x$method != "ecm") {
    curve_draws(x, few %||% rows, length(knots), most, threads)
  }
  each <- if (is.null(few)) as.matrix(colMeans(draws)) else predicted_values(x, rows, threads)
  fit <- average_rows(each, count)
  cells <- as.vector(outer(at$rows, (knots - 1L) * (nrow(each) / count), `+`))
  middle <- average_rows(each[cells, , drop = FALSE], length(knots))
  parts <- lapply(seq_len(ncol(fit)), function(k) {
    band <- matrix(NA_real_, 2L, count)
    if (!is.null(draws)) {
      own <- if (length(dim(draws)) == 3L) draws[, , k] else draws
      ends <- steady_quantiles(
        t(average_rows(t(own), length(knots))), c(1 - level, 1 + level) / 2
      )
      band <- t(band_between(t(ends) - middle[, k], knots, count) + fit[, k])
      if (!is_regression(x)) band <- pmin(pmax(band, 0), 1)
    }
    curve_table(x, values, unname(fit[, k]), band, k)
  })
  do.call(rbind, parts)
}

# How far the ends of a band are from its curve at all of `count` places, from those at some.
band_between <- function(ends, knots, count) {
  if (length(knots) == count) return(ends)
  apply(ends, 2L, function(end) {
    stats::approx(knots, end, xout = seq_len(count))$y
  })
}

# Lines that are many are faint.
line_alpha <- function(lines) max(0.12, min(0.4, 8 / length(unique(lines$group))))

# Names of the groups of the random term of most columns, by row.
finest_groups <- function(rows) {
  width <- vapply(rows$random, function(term) ncol(term$z), 1L)
  rows$random[which.max(width)][1L][[1L]]$name
}

curve_table <- function(x, value, fit, band, k) {
  if (!is.numeric(value)) value <- factor(value, unique(value))
  out <- data.frame(value = value, fit = fit, lwr = band[1, ], upr = band[2, ])
  if (length(x$levels) > 2L) cbind(out[1], class = x$levels[k], out[-1]) else out
}

# As draws of the response or of probabilities, draws x rows (x classes).
curve_draws <- function(x, rows, count, take, threads) {
  drawn_values(x, with_seed(1, partial_draws(x, rows, count, take, threads)))
}

# Draws of what is averaged over the rows of each of `count` values, together.
partial_draws <- function(x, rows, count, take, threads) UseMethod("partial_draws")

#' @exportS3Method
partial_draws.default <- function(x, rows, count, take, threads) {
  latent_draws(x, rows, take, threads = threads)
}

#' @exportS3Method
partial_draws.seqkr <- function(x, rows, count, take, threads) joint_draws(x, rows, take, threads)

#' @exportS3Method
partial_draws.bark <- partial_draws.seqkr

# The band is of each value.
#' @exportS3Method
partial_draws.gpsvm <- function(x, rows, count, take, threads) {
  block_draws(x, rows, take, threads, rep(seq_len(count), each = nrow(rows$x) / count))
}

#' @exportS3Method
partial_draws.mkprobit <- function(x, rows, count, take, threads) {
  mkprobit_drawn(x, rows, take, threads, rep(seq_len(count), each = nrow(rows$x) / count))
}

plot_partial <- function(x, curves, main, data, level) {
  curve_panels(
    curves, response_label(x), main_title(main, partial_title(!anyNA(data$lwr), level)),
    if (length(x$levels) > 2L) x$levels, attr(data, "rows"), attr(data, "note"),
    attr(data, "seen"), attr(data, "lines")
  )
}

partial_title <- function(banded, level) {
  paste0("Partial dependence", if (banded) sprintf(", %s intervals", percent(level)))
}

# A panel for each predictor.
# curves: named: `value`, a factor for levels; `fit`, `lwr`, `upr`; `class`.
# label: of what is drawn.
# classes: for a curve each, with a key.
# rows: named: values of numbers in the rows, shown along the axis.
# note: a line below the title.
# seen: rows behind the curve of the only panel, `value` and `y`.
# lines: of each `group` of a `predictor`, `value` and `fit`.
curve_panels <- function(curves, label, title, classes = NULL, rows, note,
                         seen = NULL, lines = NULL) {
  old <- bk_looks(length(curves))
  old$omi <- graphics::par("omi")
  on.exit(graphics::par(old))
  # One key for all panels, at the right of them; of many classes names at the curves.
  many <- length(classes) > most_curves
  several <- length(curves) > 1L && length(classes) > 0L && !many
  told <- told_classes(curves, classes)
  colours <- rep_len("grey75", max(1L, length(classes)))
  colours[told] <- bk_palette(length(told))
  labels <- if (length(classes) && !many) (if (several) outer_labels else key_labels)(classes)
  if (length(curves) > 1L) title <- title_outside(title, many || !is.null(note))
  ends <- unlist(lapply(curves, `[`, c("fit", "lwr", "upr")))
  limits <- range(ends, seen$y, lines$fit, na.rm = TRUE)
  if (diff(limits) < 1e-8 * max(abs(limits), 1)) limits <- limits + c(-1, 1)
  # Room for numbers of many digits.
  digits <- max(nchar(format(pretty(limits), trim = TRUE)))
  mar <- graphics::par("mar") + c(0, 0.4 * max(digits - 4, 0), 0, 0)
  for (name in names(curves)) {
    graphics::par(mar = mar)
    curve <- curves[[name]]
    size <- min(1, 0.75 / graphics::par("cex"))
    if (many) tags <- margin_labels(abbreviate_middle(classes[told], 14L), 4, size, 0.2)
    is_level <- is.factor(curve$value)
    at <- as.numeric(curve$value)
    xlab <- abbreviate_middle(name)
    if (is_level) {
      level_panel(levels(curve$value), limits, xlab, title)
    } else {
      bk_panel(range(at), limits, xlab, "", title)
      rows_along(rows[[name]])
    }
    label_beside(label, graphics::par("mar")[2] - 1.5)
    if (!is.null(seen)) {
      where <- if (is_level) match(as.character(seen$value), levels(curve$value)) else seen$value
      graphics::points(where, seen$y, pch = 19, cex = 0.5, col = seen_colour(nrow(seen)))
    }
    shown <- lines[lines$predictor == name, ]
    for (own in split(seq_along(shown$group), shown$group)) {
      faint <- grDevices::adjustcolor(colours[1], line_alpha(lines))
      graphics::lines(shown[own, c("value", "fit")], col = faint)
    }
    draw_curves(curve, at, classes, told, is_level, colours)
    if (many) name_curves(curve, classes[told], tags, size, colours[told])
    if (length(labels) && !several) key_classes(labels, colours, 1L)
  }
  outside <- attr(title, "outside")
  if (!is.null(outside)) {
    line <- if (is.null(note)) -0.1 else 1.1
    graphics::mtext(outside, outer = TRUE, adj = 0.02, line = line, cex = 1.05)
  }
  note <- paste(c(note, if (many) gray_classes), collapse = "; ")
  if (!nzchar(note)) note <- NULL
  if (!is.null(note) && is.null(outside)) {
    bk_note(note, adj = 0)
  } else if (!is.null(note)) {
    graphics::mtext(note, 3, 0, outer = TRUE, adj = 0.02, cex = 0.75, col = muted[["axis"]])
  }
  if (several) key_outside(labels, colours, 1L)
}

# Most classes whose curves can be told apart.
most_curves <- 5L

# Numbers of the classes whose curves are in colors: all, or the few that change most along one of
# the predictors.
told_classes <- function(curves, classes) {
  if (length(classes) <= most_curves) return(seq_len(max(1L, length(classes))))
  change <- vapply(curves, function(curve) {
    as.vector(tapply(curve$fit, factor(curve$class, classes), function(fit) diff(range(fit))))
  }, numeric(length(classes)))
  sort(order(-apply(change, 1L, max))[seq_len(most_curves)])
}

# Of a table with curves of several predictors.
told_rows <- function(data, classes) {
  if (length(classes) <= most_curves) return(rep(TRUE, nrow(data)))
  as.character(data$class) %in% classes[told_classes(split(data, data$predictor), classes)]
}

gray_classes <- "gray: classes that change less"

# The curves in colors over the others in gray, which have no bands.
draw_curves <- function(curve, at, classes, told, is_level, colours) {
  class <- if (is.null(curve$class)) 1L else match(curve$class, classes)
  for (k in setdiff(class, told)) {
    draw <- if (is_level) graphics::points else graphics::lines
    draw(at[class == k], curve$fit[class == k], col = "grey75", cex = 0.6)
  }
  for (j in seq_along(told)) {
    own <- class == told[j]
    shift <- if (is_level) 0.25 * ((j - 0.5) / length(told) - 0.5) else 0
    draw_band(at[own] + shift, curve[own, ], is_level, colours[told[j]])
  }
}

# Names of classes right of the panel, as high as their curves end, or nearly.
name_curves <- function(curve, classes, tags, size, colours) {
  ends <- vapply(classes, function(class) utils::tail(curve$fit[curve$class == class], 1L), 0)
  graphics::text(
    graphics::par("usr")[2] + 0.5 * graphics::strwidth("0"),
    apart(ends, 1.4 * graphics::strheight("0", cex = size)), tags,
    adj = c(0, 0.5), cex = size, col = colours, xpd = NA
  )
}

# Numbers moved until they are at least `gap` apart, in their order.
apart <- function(y, gap) {
  by <- order(y)
  steps <- gap * seq_along(y)
  moved <- cummax(y[by] - steps) + steps
  replace(y, by, moved - mean(moved - y[by]))
}

# Of several panels one title, in room above them all: "" for each panel, with the title as
# attribute.
# noted: with a line of small print below it.
title_outside <- function(title, noted) {
  if (is.character(title) && !nzchar(title)) return(title)
  above <- if (noted) 0.47 else 0.25
  graphics::par(
    omi = replace(graphics::par("omi"), 3, above), mar = replace(graphics::par("mar"), 3, 0.8)
  )
  structure("", outside = title)
}

draw_band <- function(at, curve, is_level, colour, line = 1L) {
  if (is_level) {
    graphics::segments(at, curve$lwr, at, curve$upr, col = colour, lwd = 2)
    graphics::points(at, curve$fit, pch = 19, cex = 0.9, col = colour)
  } else {
    graphics::polygon(
      c(at, rev(at)), c(curve$lwr, rev(curve$upr)),
      col = grDevices::adjustcolor(colour, 0.2), border = NA
    )
    graphics::lines(at, curve$fit, col = colour, lwd = 2, lty = line)
  }
}

kernel_data <- function(x) if (inherits(x, "seqkr")) seqkr_counts(x) else kernel_counts(x)

draw_kernels <- function(x, data, main) {
  table <- data
  seen <- range(table$kernels[table$posterior > 0 | table$prior > 1e-3])
  shown <- table[table$kernels >= seen[1] & table$kernels <= seen[2], ]
  old <- bk_look()
  on.exit(graphics::par(old))
  bk_panel(
    seen + c(-0.6, 0.6), c(0, 1.12 * max(shown$prior, shown$posterior)), "Number of kernels",
    "Probability", main_title(main, "Posterior and prior"), grid = "y"
  )
  graphics::rect(
    shown$kernels - 0.38, 0, shown$kernels + 0.38, shown$posterior,
    col = bk_colours[["blue"]], border = NA
  )
  graphics::lines(
    shown$kernels, shown$prior, type = "o", pch = 19, cex = 0.5, col = bk_colours[["orange"]]
  )
  graphics::legend(
    "topright", c("posterior", "prior"), pch = c(15, 19), lty = c(NA, 1), pt.cex = c(1.5, 0.5),
    col = bk_colours[c("blue", "orange")], bty = "n", cex = 0.85
  )
}
