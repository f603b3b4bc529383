#' Plot a Gaussian process support vector machine
#'
#' @param x A fit by [gpsvm()].
#' @param type
#'   * `"boundary"`, the default with two predictors: the probability of the
#'     positive class in colours with its lines at 0.1, 0.5 (bold) and 0.9,
#'     dashed lines of the posterior standard deviation of the latent value,
#'     which grows where there are few data, and the inducing points (+). With
#'     more than two classes the most probable class, paler where it is less
#'     probable, and the lines where the most probable class changes;
#'   * `"calibration"`, otherwise the default if the fit has kept moments of its
#'     rows: predicted probability against observed frequency with 95 %
#'     intervals. On the rows of the fit it flatters the fit: give `newdata`.
#'     With more than two classes the probability of the predicted class against
#'     how often it was right;
#'   * `"bound"`: the variational bound by pass;
#'   * `"lengthscales"`: the length-scales of the kernel on a logarithmic axis,
#'     shortest first, with the median distance between rows as a dashed line.
#'     They refer to the predictors as standardised; one with a length-scale far
#'     above the median distance hardly matters;
#'   * `"trace"`: draws by chain (`"gibbs"`).
#' @param newdata For `"calibration"`: other rows. For `"boundary"`: rows that
#'   are drawn as points and set the range of the axes. Matrix or data frame as
#'   for [predict.gpsvm()].
#' @param y Labels of `newdata`; may be left out when `newdata` contains the
#'   response. A `"boundary"` draws points without labels in grey.
#' @param columns For `"boundary"`: names of two predictors, the axes; all
#'   others are held at their training mean. Default: the two there are.
#' @param pars For `"trace"`: names of variables of `dimnames(x$draws)`;
#'   default: the first six.
#' @param link For `"boundary"` and `"calibration"`: as in [predict.gpsvm()].
#' @param bins For `"calibration"`: number of bins of equal width.
#' @param main Title.
#' @param ... No further arguments.
#' @return For `"calibration"` the table of [calibration()], else `NULL`;
#'   invisibly.
#' @section Errors: `bayeskernel_error_argument` for a type that does not apply
#'   to the fit, with those that do; for unknown `columns` or `pars`.
#'   `bayeskernel_error_response` for labels that the fit does not know.
#' @examples
#' set.seed(1)
#' x <- matrix(rnorm(300), 150, 2, dimnames = list(NULL, c("a", "b")))
#' y <- rowSums(x^2) + rnorm(150) / 2 > 1.5
#' fit <- gpsvm(x, y, threads = 1)
#' plot(fit, newdata = x, y = y)
#' plot(fit, "calibration", bins = 5)
#' @export
plot.gpsvm <- function(x, type = c("boundary", "calibration", "bound",
                                   "lengthscales", "trace"),
                       newdata = NULL, y = NULL, columns = NULL, pars = NULL,
                       link = c("probit", "hinge"), bins = 10, main = NULL,
                       ...) {
  check_no_dots(...)
  types <- eval(formals(plot.gpsvm)$type)
  if (missing(type)) type <- telling_gpsvm_plot(x, newdata, columns)
  type <- check_choice(type, types, "type")
  link <- check_choice(link, c("probit", "hinge"), "link")
  check_gpsvm_plot(x, type, newdata)
  out <- switch(type,
    boundary = plot_boundary(
      x, check_boundary_columns(x, columns), newdata, y, link, main
    ),
    calibration = plot_gpsvm_calibration(
      x, newdata, y, link, check_count(bins, 2, name = "bins"), main
    ),
    bound = plot_bound(elbo(x), main = main_title(main, "Variational bound")),
    lengthscales = plot_lengthscales(x, main),
    trace = plot_traces(
      x$draws[, , check_pars(pars, dimnames(x$draws)[[3]]), drop = FALSE]
    )
  )
  invisible(out)
}

telling_gpsvm_plot <- function(x, newdata, columns) {
  two <- length(x$columns) == 2L || !is.null(columns)
  if (two && is.null(no_boundary(x))) {
    "boundary"
  } else if (has_fitted(x) || !is.null(newdata)) {
    "calibration"
  } else if (!is.null(x$trace$elbo)) {
    "bound"
  } else if (!is.null(x$draws)) {
    "trace"
  } else {
    "lengthscales"
  }
}

has_fitted <- function(x) !is.null(x$fitted$var) && !is.null(x$y)

# Why the fit is no function over a plane; NULL if it is one.
no_boundary <- function(x) {
  if (x$design$type == "kernel") {
    "Its kernel was given as a matrix: it knows no predictors."
  } else if (length(x$columns) < 2L) {
    "It has one predictor only."
  } else if (length(setdiff(x$design$variables, c(x$columns, x$dropped)))) {
    "It has factors, or functions of predictors, among its predictors."
  }
}

check_gpsvm_plot <- function(x, type, newdata) {
  reason <- c(
    boundary = no_boundary(x),
    calibration = if (is.null(newdata) && !has_fitted(x)) {
      "It has not kept probabilities of its rows: give `newdata` and `y`."
    },
    bound = if (is.null(x$trace$elbo)) {
      sprintf("Method \"%s\" has no bound.", x$method)
    },
    lengthscales = if (length(lengthscales(x)) == 0L) {
      "Its kernel has no length-scales."
    },
    trace = if (is.null(x$draws)) {
      sprintf("Method \"%s\" has no chains.", x$method)
    }
  )
  if (type %in% names(reason)) {
    known <- setdiff(eval(formals(plot.gpsvm)$type), names(reason))
    bk_abort(
      "argument", sprintf("There is no \"%s\" plot of this fit.", type),
      c(
        reason[[type]],
        paste("Accepted:", paste(quoted(known), collapse = ", "))
      ),
      column = "type", found = type, expected = known
    )
  }
}

check_boundary_columns <- function(x, columns) {
  if (is.null(columns) && length(x$columns) == 2L) {
    return(x$columns)
  }
  valid <- is.character(columns) && length(columns) == 2L &&
    !anyDuplicated(columns) && all(columns %in% x$columns)
  if (!valid) {
    abort_argument(
      columns, "columns",
      paste("two different names of", list_some(quoted(x$columns)))
    )
  }
  columns
}

# Length-scales of every component, named by component and column; none for a
# kernel without.
lengthscales <- function(x) {
  all <- c(numeric(), kernel_parameters(x$kernel))
  found <- all[grepl("(^|\\.)lengthscale(\\.|$)", names(all))]
  stats::setNames(found, sub("lengthscale\\.", "", names(found)))
}

plot_lengthscales <- function(x, main) {
  plot_log_dots(
    sort(lengthscales(x)),
    reference = x$median_distance,
    xlab = if (all(x$transform$scale == 1)) {
      "Length-scale"
    } else {
      "Length-scale, in standardised units"
    },
    main = main_title(main, "Length-scales"),
    note = if (!is.null(x$median_distance)) "dashed: median distance"
  )
}

plot_gpsvm_calibration <- function(x, newdata, y, link, bins, main) {
  if (is.null(newdata)) {
    prob <- stats::predict(x, type = "prob", link = link)
    true <- if (length(x$levels) == 2L) 1.5 + 0.5 * x$y else x$y
    # As predict() does, where rows were left out by na.exclude().
    true <- stats::napredict(x$na.action, true)
    title <- "Calibration on the rows of the fit"
  } else {
    prob <- stats::predict(x, newdata, type = "prob", link = link)
    true <- new_labels(x, newdata, y, nrow(prob))
    title <- "Calibration on new rows"
  }
  use <- !is.na(true) & !is.na(rowSums(prob))
  best <- most_probable(prob[use, , drop = FALSE])
  two <- length(x$levels) == 2L
  plot_calibration(
    best$prob, true[use] == best$class, bins,
    main = main_title(main, title),
    xlab = if (two) {
      sprintf("Predicted probability of \"%s\"", x$levels[2])
    } else {
      "Probability of the predicted class"
    },
    ylab = if (two) "Observed frequency" else "Frequency of being right"
  )
}

plot_boundary <- function(x, columns, newdata, y, link, main) {
  points <- boundary_points(x, columns, newdata, y)
  field <- boundary_field(x, columns, points$at, link)
  many <- length(x$levels) > 2L
  colours <- if (many) bk_palette(length(x$levels)) else class_pair
  title <- if (many) {
    "Most probable class"
  } else {
    sprintf("Probability of \"%s\"", x$levels[2])
  }
  old <- bk_look()
  on.exit(graphics::par(old))
  key_margins(if (many) abbreviate_middle(x$levels, 16L))
  bk_panel(
    range(field$x), range(field$y), columns[1], columns[2],
    main = main_title(main, title), axes = character(), grid = character()
  )
  draw_field(field$x, field$y, if (many) {
    shade_classes(field$prob, colours)
  } else {
    shade_probability(field$prob[, 2])
  })
  for (side in 1:2) bk_axis(side)
  if (many) {
    contour_classes(field)
    key_classes(abbreviate_middle(x$levels, 16L), colours)
  } else {
    contour_field(field, field$prob[, 2], c(0.1, 0.9), lwd = 1)
    contour_field(field, field$prob[, 2], 0.5, lwd = 2.5)
    key_probability()
  }
  contour_field(
    field, field$sd, pretty(field$sd, 5),
    lty = 2, lwd = 0.8, col = "grey40", drawlabels = TRUE
  )
  graphics::points(
    points$at,
    pch = 21, cex = 0.8, col = "white", lwd = 0.6,
    bg = ifelse(is.na(points$class), "grey50", colours[points$class])
  )
  graphics::points(x$inducing[, columns], pch = 3, cex = 0.7, lwd = 1.4)
  bk_note("dashed: sd of the latent value, +: inducing points", below = TRUE)
}

# The rows of `newdata` on the two axes, and the numbers of their classes, NA
# where they are not known.
boundary_points <- function(x, columns, newdata, y) {
  if (is.null(newdata)) {
    return(list(at = matrix(0, 0, 2), class = integer()))
  }
  if (!is.data.frame(newdata)) newdata <- as.matrix(newdata)
  if (is.null(colnames(newdata)) &&
    ncol(newdata) == length(x$design$columns)) {
    colnames(newdata) <- x$design$columns
  }
  absent <- setdiff(columns, colnames(newdata))
  if (length(absent) > 0L) {
    bk_abort(
      "argument", "`newdata` does not have the columns of the axes.",
      c(
        paste("Missing:", paste(quoted(absent), collapse = ", ")),
        paste("Found:", list_some(quoted(colnames(newdata))))
      ),
      column = absent, found = colnames(newdata), expected = columns
    )
  }
  n <- nrow(newdata)
  class <- tryCatch(new_labels(x, newdata, y, n), error = function(e) {
    if (is.null(y)) rep(NA_integer_, n) else stop(e)
  })
  list(at = data.matrix(as.data.frame(newdata)[columns]), class = class)
}

# Probabilities (grid x classes) and the standard deviation of the latent value
# of the likely class on a grid, x running faster.
boundary_field <- function(x, columns, at, link, cells = 80L) {
  axes <- lapply(columns, function(name) {
    limits <- range(x$inducing[, name], at[, match(name, columns)],
      finite = TRUE
    )
    room <- 0.08 * diff(limits)
    seq(
      limits[1] - max(room, 1e-8), limits[2] + max(room, 1e-8),
      length.out = cells
    )
  })
  grid <- as.data.frame(as.list(held_values(x)), optional = TRUE)
  grid <- grid[rep(1L, cells^2), , drop = FALSE]
  grid[columns] <- expand.grid(axes)
  prob <- unname(stats::predict(x, grid, type = "prob", link = link))
  sd <- stats::predict(x, grid, type = "link", se.fit = TRUE)$se.fit
  if (NCOL(sd) > 1L) {
    sd <- sd[cbind(seq_len(nrow(sd)), most_probable(prob)$class)]
  }
  list(x = axes[[1]], y = axes[[2]], prob = prob, sd = as.vector(sd))
}

# Every predictor that predict() asks for at its mean; without standardising,
# the fit has that of the inducing points alone. Dropped ones do not count.
held_values <- function(x) {
  mean <- if (all(x$transform$scale == 1)) {
    colMeans(x$inducing)
  } else {
    x$transform$center
  }
  names <- if (x$design$type == "matrix") {
    x$design$columns
  } else {
    x$design$variables
  }
  stats::setNames(ifelse(names %in% names(mean), mean[names], 0), names)
}
