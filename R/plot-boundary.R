# The class probabilities over a plane of two predictors.

boundary_data <- function(x, pars, newdata, y, link) {
  columns <- check_boundary_columns(x, pars)
  if (is.null(newdata)) {
    newdata <- drawn_rows(x)
    # Of a matrix of predictors.
    if (is.null(x$formula)) y <- y %||% newdata$.response
  }
  points <- boundary_points(x, columns, newdata, y, link)
  held <- held_row(x)
  field <- boundary_field(x, columns, points$at, link, held = held)
  out <- expand.grid(stats::setNames(field[c("x", "y")], columns))
  out$sd <- field$sd
  out[paste0("prob_", x$levels)] <- field$prob
  others <- held[setdiff(names(held), c(columns, x$dropped, group_variables(x$design)))]
  shown <- of_levels(newdata, others)
  note <- held_note(others)
  if (!all(shown)) note <- paste0(note, "; rows of other levels left out")
  points <- list(
    at = points$at[shown, , drop = FALSE], class = points$class[shown], wrong = points$wrong[shown]
  )
  structure(out, points = points, held = note)
}

# Which rows have the levels of factors for which the surface is drawn.
of_levels <- function(rows, held) {
  out <- rep(TRUE, NROW(rows))
  levels <- names(held)[!vapply(held, is.numeric, NA)]
  for (name in intersect(levels, names(rows))) {
    out <- out & rows[[name]] %in% held[[name]]
  }
  out
}

# What is said of the predictors that are held.
held_note <- function(held) {
  if (length(held) == 0L) return(NULL)
  value <- vapply(held, function(v) {
    if (is.numeric(v)) format(v, digits = 3) else as.character(v)
  }, "")
  text <- paste("at", paste(names(held), value, sep = " = ", collapse = ", "))
  if (nchar(text) <= 60L) return(text)
  if (all(vapply(held, is.numeric, NA))) {
    "others at their middle"
  } else {
    "others at their median or most frequent level"
  }
}

draw_boundary <- function(x, data, main) {
  columns <- names(data)[1:2]
  points <- attr(data, "points")
  field <- list(
    x = unique(data[[1]]), y = unique(data[[2]]), sd = data$sd,
    prob = unname(as.matrix(data[paste0("prob_", x$levels)]))
  )
  levels <- x$levels
  many <- length(levels) > 2L
  colours <- if (many) bk_palette(length(levels)) else class_pair
  # Colours of many classes are not told apart at once: names, or numbers if names are long, stand
  # in their regions, too.
  named <- length(levels) > length(bk_colours)
  short <- max(nchar(levels)) <= 4L
  labels <- if (named && !short) paste(seq_along(levels), levels) else levels
  old <- bk_look()
  on.exit(graphics::par(old))
  # Below there is a note, above a key and one more, at the right a key.
  wrong <- points$wrong %in% TRUE
  key <- any(wrong) || (!many && nrow(points$at) > 0L)
  top <- 2.8 + 1.2 * key + 0.8 * (key && !is.null(attr(data, "held")))
  graphics::par(mar = replace(graphics::par("mar"), c(1, 3, 4), c(4.8, top, 3.2)))
  if (many) labels <- key_labels(labels)
  bk_panel(
    range(field$x), range(field$y), columns[1], columns[2],
    main = main_title(main, if (many) {
      "Most probable class"
    } else {
      response_label(x)
    }), axes = character(), grid = character()
  )
  draw_field(field$x, field$y, if (many) {
    shade_classes(field$prob, colours)
  } else {
    shade_probability(field$prob[, 2])
  })
  for (side in 1:2) bk_axis(side)
  if (many) {
    contour_classes(field)
    key_classes(labels, colours)
  } else {
    contour_field(field, field$prob[, 2], c(0.1, 0.9), lwd = 1)
    contour_field(field, field$prob[, 2], 0.5, lwd = 2.5)
    key_probability()
  }
  contour_field(
    field, field$sd, pretty(field$sd, 5), lty = 2, lwd = 0.8, col = "grey40", drawlabels = TRUE
  )
  few <- shows_inducing(x, points, columns)
  if (few) graphics::points(x$inducing[, columns], pch = 3, cex = 0.7, lwd = 1.2, col = "grey30")
  # Those in rings are on top.
  for (own in list(which(!wrong), which(wrong))) {
    graphics::points(
      points$at[own, , drop = FALSE], pch = 21, cex = if (nrow(points$at) > 300L) 0.6 else 0.8,
      col = if (any(wrong[own])) "black" else "white", lwd = if (any(wrong[own])) 1.3 else 0.6,
      bg = point_colours(points$class[own], colours)
    )
  }
  if (named) name_regions(if (short) levels else seq_along(levels), field)
  bk_note(boundary_note(few), below = TRUE)
  held <- attr(data, "held")
  if (!is.null(held)) bk_note(held, adj = 0, line = if (key) 1.4 else 0.2)
  if (key) {
    rows <- !many & rep(nrow(points$at) > 0L, 2L)
    key_above(
      c(levels[rows], if (any(wrong)) wrong_rows(points, held)), pch = 21, pt.lwd = 1.3,
      col = c(rep("white", sum(rows)), if (any(wrong)) "black"),
      pt.bg = c(point_colours(1:2, colours)[rows], if (any(wrong)) NA)
    )
  }
}

boundary_note <- function(few) {
  paste0("dashed: sd of the latent value", if (few) ", +: inducing points")
}

# `held`: what other predictors are at in the map, where there are some. Classes of rows are by all.
wrong_rows <- function(points, held) {
  wrong <- points$wrong[!is.na(points$wrong)]
  sprintf(
    "misclassified%s, %d of %d", if (is.null(held)) "" else " by all predictors", sum(wrong),
    length(wrong)
  )
}

# The name of each class in the middle of where it is the most probable, on white.
name_regions <- function(names, field) {
  grid <- expand.grid(field$x, field$y)
  best <- most_probable(field$prob)
  for (k in unique(best$class)) {
    own <- grid[best$class == k, ]
    size <- diff(graphics::par("usr"))[c(1, 3)]
    middle <- which.min(colSums(((t(own) - colMeans(own)) / size)^2))
    for (turn in seq(0, 2 * pi, length.out = 9)) {
      by <- 0.1 * c(graphics::strwidth("n"), graphics::strheight("n")) * c(cos(turn), sin(turn))
      graphics::text(
        own[middle, 1] + by[1], own[middle, 2] + by[2], names[k], font = 2, col = "white"
      )
    }
    graphics::text(own[middle, 1], own[middle, 2], names[k], font = 2)
  }
}

# Why the fit is no function over a plane; NULL if it is one.
no_boundary <- function(x) {
  if (x$design$type == "kernel") {
    "Its kernel was given as a matrix: it knows no predictors."
  } else if (length(x$columns) < 2L) {
    "It has one predictor only."
  } else if (length(plane_columns(x)) < 2L) {
    paste("It has factors, or functions of predictors, among its predictors, and its data have no",
      "two numeric predictors, or are gone."
    )
  }
}

# Predictors that may be axes: the columns, or where these are of factors or functions the numbers
# in the data.
plane_columns <- function(x) {
  plain <- length(setdiff(x$design$variables, c(x$columns, x$dropped))) == 0L
  if (plain) return(x$columns)
  data <- if (!is.null(x$n)) fit_data(x)
  if (is.null(data)) return(character())
  names <- partial_names(x, data, slopes = FALSE)
  names[vapply(data[names], is.numeric, NA)]
}

check_boundary_columns <- function(x, columns) {
  known <- plane_columns(x)
  if (is.null(columns) && length(known) == 2L) return(known)
  valid <- is.character(columns) && length(columns) == 2L &&
    !anyDuplicated(columns) && all(columns %in% known)
  if (!valid) {
    abort_argument(columns, "pars", paste("two different names of", list_some(quoted(known))))
  }
  columns
}

# Darker than the field.
point_colours <- function(class, colours) {
  dark <- grDevices::adjustcolor(colours, red.f = 0.8, green.f = 0.8, blue.f = 0.8)
  ifelse(is.na(class), "grey50", dark[class])
}

# Inducing points that are most of the rows would hide them.
shows_inducing <- function(x, points, columns) {
  rows <- nrow(points$at)
  all(columns %in% colnames(x$inducing)) && (rows == 0L || nrow(x$inducing) < 0.5 * rows)
}

# The rows of the fit, as many of them as do not hide the field.
drawn_rows <- function(x, most = 1000L) {
  data <- if (!is.null(x$n)) fit_data(x)
  if (is.data.frame(data) && nrow(data) == x$n) data[spread_over(nrow(data), most), , drop = FALSE]
}

# The rows of `newdata` on the two axes, the numbers of their classes, NA where they are not known,
# and whether another class is the most probable one, where the rows have all predictors.
boundary_points <- function(x, columns, newdata, y, link = NULL) {
  if (is.null(newdata)) return(list(at = matrix(0, 0, 2), class = integer()))
  if (!is.data.frame(newdata)) newdata <- as.matrix(newdata)
  if (is.null(colnames(newdata)) && ncol(newdata) == length(x$design$columns)) {
    colnames(newdata) <- x$design$columns
  }
  absent <- setdiff(columns, colnames(newdata))
  if (length(absent) > 0L) {
    bk_abort(
      "argument", "`newdata` does not have the columns of the axes.",
      paste("Missing:", paste(quoted(absent), collapse = ", ")),
      paste("Found:", list_some(quoted(colnames(newdata)))),
      column = absent, found = colnames(newdata), expected = columns
    )
  }
  n <- nrow(newdata)
  class <- tryCatch(
    new_labels(x, newdata, y, n, declared = TRUE),
    error = function(e) if (is.null(y)) rep(NA_integer_, n) else stop(e)
  )
  needed <- if (x$design$type == "matrix") x$design$columns else x$design$variables
  wrong <- rep(NA, n)
  if (!all(is.na(class)) && all(setdiff(needed, "(Intercept)") %in% colnames(newdata))) {
    prob <- prediction(x, newdata, "prob", link)[, x$levels, drop = FALSE]
    known <- !is.na(rowSums(prob))
    wrong[known] <- max.col(prob[known, , drop = FALSE], "first") != class[known]
  }
  list(at = data.matrix(as_frame(newdata)[columns]), class = class, wrong = wrong)
}

# Where the fit has been, on the scale of the data: inducing points, or rows.
plane_rows <- function(x) {
  if (!is.null(x$inducing)) return(x$inducing)
  if (!is.null(x$plane)) return(x$plane$range)
  out <- sweep(sweep(x$posterior$x, 2, x$transform$scale, "*"), 2, x$transform$center, "+")
  colnames(out) <- x$columns
  out
}

# Probabilities (grid x classes) and the standard deviation of the latent value of the likely class
# on a grid, x running faster.
boundary_field <- function(x, columns, at, link = NULL, cells = 80L, held = held_row(x)) {
  data <- if (!all(columns %in% x$columns)) fit_data(x)
  axes <- lapply(columns, function(name) {
    seen <- if (is.null(data)) plane_rows(x)[, name] else data[[name]]
    limits <- range(seen, at[, match(name, columns)], finite = TRUE)
    # A function, a logarithm say, may have no value beyond the rows.
    room <- if (name %in% x$columns) max(0.08 * diff(limits), 1e-8) else 0
    seq(limits[1] - room, limits[2] + room, length.out = cells)
  })
  grid <- held[rep(1L, cells^2), , drop = FALSE]
  grid[columns] <- expand.grid(axes)
  groups <- if (length(x$design$random)) "new"
  prob <- unname(prediction(x, grid, "prob", link, re.form = groups)[, x$levels, drop = FALSE])
  sd <- prediction(x, grid, "link", se.fit = TRUE, re.form = groups)$se.fit
  if (NCOL(sd) > 1L) sd <- sd[cbind(seq_len(nrow(sd)), most_probable(prob)$class)]
  list(x = axes[[1]], y = axes[[2]], prob = prob, sd = as.vector(sd))
}

# A row of the data with numbers at their median and factors at their most frequent level; without
# data, numbers at their mean.
held_row <- function(x) {
  data <- if (!is.null(x$n)) fit_data(x)
  names <- if (x$design$type == "matrix") x$design$columns else x$design$variables
  if (is.null(data) || !all(names %in% names(data))) {
    return(as.data.frame(as.list(held_values(x)), optional = TRUE))
  }
  row <- data[1, names, drop = FALSE]
  row[] <- lapply(data[names], function(v) {
    if (is.numeric(v) && is.null(dim(v))) return(stats::median(v, na.rm = TRUE))
    at <- match(v, v)
    v[which.max(tabulate(at[!is.na(v)]))]
  })
  row
}

# Every predictor that predict() asks for at its mean; without standardising, the fit has that of
# the inducing points alone. Dropped ones do not count.
held_values <- function(x) {
  mean <- if (!is.null(x$plane)) {
    x$plane$mean
  } else if (all(x$transform$scale == 1)) {
    colMeans(plane_rows(x))
  } else {
    x$transform$center
  }
  names <- if (x$design$type == "matrix") x$design$columns else x$design$variables
  stats::setNames(ifelse(names %in% names(mean), mean[names], 0), names)
}
