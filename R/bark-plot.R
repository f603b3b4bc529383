#' Plot Bayesian additive regression or classification kernels
#'
#' @param x A fit by [bark()].
#' @param type
#'   * `"inclusion"`, the default with `select = TRUE`: the probability of every
#'     predictor to be in the model, with that of the prior as a dashed line;
#'     with `structure` along the order of the columns, whose names are the axis
#'     if they are numbers;
#'   * `"scales"`, otherwise the default with several predictors: box plots of
#'     the kernel scales of the standardised predictors: median, quartiles, and
#'     whiskers from 5 % to 95 %. A predictor outside the model has scale 0;
#'   * `"partial"`: the function, or a probability, as one predictor changes and
#'     the others stay what they are in up to 200 rows, averaged over these;
#'     with a 90 % band (two classes or a regression). Within a draw the errors
#'     of the rows are taken to be common to all, which makes the band a little
#'     too wide;
#'   * `"fit"`: for regressions observed against fitted values with 90 %
#'     prediction intervals; for classes the same as `"calibration"`;
#'   * `"calibration"`: predicted probability against observed frequency with
#'     95 % intervals; with more than two classes the probability of the
#'     predicted class against how often it was right. On the rows of the fit it
#'     flatters the fit: give `newdata`;
#'   * `"kernels"`: the posterior of the number of kernels beside its prior;
#'   * `"trace"`: draws by chain.
#' @param newdata,y For `"fit"` and `"calibration"`: other rows and their
#'   response, which may be left out when `newdata` contains it. For
#'   `"partial"`: the rows to average over, of which up to 200 are taken;
#'   default those of the fit.
#' @param pars For `"trace"`: names of variables of `dimnames(x$draws)`. For
#'   `"partial"`, `"scales"` and `"inclusion"`: names of predictors. Default:
#'   six variables; the six predictors of most influence; all predictors.
#' @param bins For `"calibration"`: number of bins of equal width.
#' @param main Title.
#' @param threads Worker threads.
#' @param ... No further arguments.
#' @return What is drawn, invisibly: a data frame for `"partial"` (`predictor`,
#'   `value`, for more than two classes `class`, `fit`, `lwr`, `upr`), `"fit"`,
#'   `"calibration"` and `"kernels"`, else `NULL`.
#' @section Errors: `bayeskernel_error_argument` for a type that does not apply
#'   to the fit, with those that do, and for unknown `pars`;
#'   `bayeskernel_error_response` for labels that the fit does not know.
#' @references Ouyang, Z. (2008). *Bayesian additive regression kernels*. PhD
#'   thesis, Duke University, figures 3.1 to 3.3 and 4.3.
#' @examples
#' set.seed(1)
#' d <- data.frame(a = runif(60, -2, 2), b = runif(60))
#' d$y <- sin(2 * d$a) + rnorm(60) / 5
#' # Far longer chains are needed in earnest.
#' fit <- bark(y ~ a + b, d, chains = 2, warmup = 2000, draws = 200, thin = 10,
#'   threads = 1, seed = 1)
#' plot(fit)
#' plot(fit, "partial", pars = "a", threads = 1)
#' @export
plot.bark <- function(x, type = c("inclusion", "scales", "partial", "fit",
                                  "calibration", "kernels", "trace"),
                      newdata = NULL, y = NULL, pars = NULL, bins = 10,
                      main = NULL,
                      threads = getOption("bayeskernel.threads", 2L), ...) {
  check_no_dots(...)
  types <- eval(formals(plot.bark)$type)
  if (missing(type)) type <- telling_bark_plot(x)
  type <- check_bark_plot(x, check_choice(type, types, "type"))
  out <- switch(type,
    inclusion = plot_bark_inclusion(x, pars, main),
    scales = plot_scales(x, pars, main),
    partial = plot_partial(x, newdata, pars, main, check_threads(threads)),
    fit = plot_observed(x, newdata, y, main, check_threads(threads)),
    calibration = plot_bark_calibration(
      x, newdata, y, check_count(bins, 2, name = "bins"), main
    ),
    kernels = plot_kernels(x, main),
    trace = plot_traces(x$draws[, , bark_trace_pars(x, pars), drop = FALSE])
  )
  invisible(out)
}

telling_bark_plot <- function(x) {
  if (x$select) {
    "inclusion"
  } else if (length(x$columns) > 1L) {
    "scales"
  } else {
    "partial"
  }
}

# For classes a "fit" is judged by its calibration.
check_bark_plot <- function(x, type) {
  if (type == "fit" && !is_regression(x)) type <- "calibration"
  reason <- c(
    inclusion = if (!x$select) "It has no selection.",
    calibration = if (is_regression(x)) "It has no classes: see \"fit\"."
  )
  if (type %in% names(reason)) {
    known <- setdiff(eval(formals(plot.bark)$type), names(reason))
    bk_abort(
      "argument", sprintf("There is no \"%s\" plot of this fit.", type),
      c(
        reason[[type]],
        paste("Accepted:", paste(quoted(known), collapse = ", "))
      ),
      column = "type", found = type, expected = known
    )
  }
  type
}

# Six at most, those of f from low to high.
bark_trace_pars <- function(x, pars) {
  if (!is.null(pars)) {
    return(check_pars(pars, dimnames(x$draws)[[3]]))
  }
  watched <- watched_names(x$draws)
  at <- startsWith(watched, "f[")
  first <- utils::head(watched[!at], 4L)
  points <- watched[at]
  count <- min(length(points), 6L - length(first))
  c(first, points[unique(round(seq(1, length(points), length.out = count)))])
}

plot_bark_inclusion <- function(x, pars, main) {
  inclusion <- inclusion.bark(x)
  inclusion <- inclusion[check_pars(pars, names(inclusion))]
  main <- main_title(main, "Which predictors are in the model")
  if (is.null(x$structure)) {
    plot_inclusion(inclusion, NULL, prior_share(x), main)
  } else {
    plot_inclusion_along(inclusion, prior_share(x), main)
  }
}

# Columns as they follow each other: their numbers, or their names if these are
# numbers.
plot_inclusion_along <- function(inclusion, prior, main) {
  at <- suppressWarnings(as.numeric(names(inclusion)))
  named <- !anyNA(at) && !is.unsorted(at, strictly = TRUE)
  if (!named) at <- seq_along(inclusion)
  old <- bk_look()
  on.exit(graphics::par(old))
  # The legend stands between the title and the panel.
  graphics::par(mar = replace(graphics::par("mar"), 3, 3.4))
  # Blocks move, and no single predictor may reach a large probability.
  bk_panel(
    range(at), c(0, min(1, max(0.5, 1.1 * inclusion))),
    if (named) "Predictor" else "Number of the predictor",
    "Posterior inclusion probability"
  )
  graphics::title(main = main, adj = 0, line = 2)
  if (!is.null(prior)) {
    graphics::abline(h = prior, col = bk_colours[["orange"]], lty = 2)
  }
  blue <- bk_colours[["blue"]]
  graphics::polygon(
    c(at[1], at, at[length(at)]), c(0, inclusion, 0),
    col = grDevices::adjustcolor(blue, 0.25), border = NA
  )
  graphics::lines(at, inclusion, col = blue, lwd = 1.8)
  legend_prior(prior)
  invisible(NULL)
}

# Quartiles as boxes, the median as a line, whiskers for 90 %; first on top.
plot_scales <- function(x, pars, main, max_labels = 45L) {
  scales <- bark_scales(x)
  scales <- scales[, check_pars(pars, colnames(scales)), drop = FALSE]
  q <- apply(scales, 2, stats::quantile, c(0.05, 0.25, 0.5, 0.75, 0.95),
    names = FALSE
  )
  count <- ncol(q)
  labelled <- count <= max_labels
  size <- if (count > 25L) 0.7 else 0.85
  old <- bk_look(left = 1.5)
  on.exit(graphics::par(old))
  if (labelled) {
    labels <- abbreviate_middle(colnames(q))
    inches <- max(graphics::strwidth(labels, "inches", cex = size))
    graphics::par(mar = replace(
      graphics::par("mar"), 2, 1 + inches / graphics::par("csi")
    ))
  }
  at <- rev(seq_len(count))
  bk_panel(
    c(0, max(q, .Machine$double.xmin)), c(0.5, count + 0.5),
    xlab = if (all(x$transform$scale == 1)) {
      "Kernel scale"
    } else {
      "Kernel scale, standardised predictors"
    },
    main = main_title(main, "Kernel scales, quartiles and 90 % intervals"),
    axes = "x", grid = "x"
  )
  blue <- bk_colours[["blue"]]
  graphics::segments(q[1, ], at, q[5, ], at, col = blue, lwd = 1.2)
  graphics::rect(
    q[2, ], at - 0.32, q[4, ], at + 0.32,
    col = blend(blue, 0.35), border = blue, lwd = 0.8
  )
  graphics::segments(q[3, ], at - 0.32, q[3, ], at + 0.32,
    col = blue, lwd = 2.5
  )
  if (labelled) bk_axis(2, at, labels, cex.axis = size, tick = FALSE)
  invisible(NULL)
}

plot_kernels <- function(x, main) {
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
    fill = c(bk_colours[["blue"]], NA), border = NA, lty = c(NA, 1),
    col = bk_colours[["orange"]], bty = "n", cex = 0.85
  )
  table
}

# Observed against fitted, with the interval of a new response: normal, by the
# moments of f and the mean variance of the noise.
plot_observed <- function(x, newdata, y, main, threads) {
  moments <- if (is.null(newdata)) {
    x$fitted
  } else {
    bark_new_moments(x, newdata, threads)
  }
  observed <- if (is.null(newdata)) {
    x$y
  } else {
    numbers_of(x, newdata, y, length(moments$mean))
  }
  half <- stats::qnorm(0.95) *
    sqrt(moments$var + mean(x$draws[, , "sigma"]^2))
  out <- data.frame(
    observed = observed, fit = moments$mean, lwr = moments$mean - half,
    upr = moments$mean + half
  )
  draw_observed(out[stats::complete.cases(out), ], main_title(
    main, sprintf(
      "Fit to %s rows, 90 %% prediction intervals",
      if (is.null(newdata)) "its own" else "new"
    )
  ))
  out
}

draw_observed <- function(rows, main) {
  old <- bk_look(left = 4.4)
  on.exit(graphics::par(old))
  bk_panel(
    range(rows$fit), range(rows[c("observed", "lwr", "upr")]),
    "Fitted", "",
    main = main
  )
  graphics::title(ylab = "Observed", line = 3.3)
  graphics::abline(0, 1, col = muted[["line"]], lty = 2)
  many <- nrow(rows) > 500L
  blue <- bk_colours[["blue"]]
  outside <- rows$observed < rows$lwr | rows$observed > rows$upr
  graphics::segments(
    rows$fit, rows$lwr, rows$fit, rows$upr,
    col = grDevices::adjustcolor(blue, if (many) 0.08 else 0.25),
    lwd = if (many) 0.5 else 1
  )
  graphics::points(
    rows$fit, rows$observed,
    pch = 19, cex = if (many) 0.35 else 0.6,
    col = ifelse(outside, bk_colours[["orange"]], blue)
  )
  bk_note(sprintf("%.0f %% inside", 100 * mean(!outside)))
}

# The response of new rows, numbers.
numbers_of <- function(x, newdata, y, n) {
  if (is.null(y)) {
    y <- tryCatch(
      eval(str2lang(x$response), as.list(newdata), environment(x$formula)),
      error = function(e) NULL
    )
  }
  if (is.null(y) || length(y) != n || !is.numeric(y)) {
    bk_abort(
      "argument", "The response of `newdata` is not known.",
      sprintf("Give `y` with one number for each of the %d rows.", n),
      column = "y", found = length(y), expected = n
    )
  }
  as.double(y)
}

plot_bark_calibration <- function(x, newdata, y, bins, main) {
  if (is.null(newdata)) {
    prob <- class_probabilities(x$fitted$prob, x$levels)
    true <- x$y
    title <- "Calibration on the rows of the fit"
  } else {
    prob <- stats::predict(x, newdata, type = "prob")
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
