# Pictures of inclusion probabilities.

inclusion_data <- function(x, pars) {
  inclusion <- inclusion_by(x)
  at <- match(check_pars(pars, names(inclusion)), names(inclusion))
  positive <- if (is.null(x$structure)) selection_of(x)$positive()[at]
  data.frame(
    column = names(inclusion)[at], inclusion = unname(inclusion)[at],
    positive = if (is.null(positive)) rep(NA_real_, length(at)) else unname(positive)
  )
}

draw_inclusion <- function(x, data, main) {
  inclusion <- stats::setNames(data$inclusion, data$column)
  main <- main_title(main, "Which predictors are in the model")
  if (is.null(x$structure)) {
    prior <- parameters(x, 0.95)$prior
    prior <- prior[!is.na(prior)]
    plot_inclusion(inclusion, if (!all(is.na(data$positive))) data$positive, prior, main)
  } else {
    plot_inclusion_along(inclusion, prior_share(x), main)
  }
}

# Bars as long as the probability, largest first; blue where the effect is positive with probability
# 1, orange with 0, `positive` is NULL where effects have no sign.
plot_inclusion <- function(inclusion, positive, prior, main) {
  count <- length(inclusion)
  which <- shown_inclusion(inclusion)
  order <- which$rows
  shown <- inclusion[order]
  prior <- if (length(unique(prior)) == 1L) prior[1]
  place <- row_panel(
    names(shown), c(0, 1), "Posterior inclusion probability", main, which$note, top = 3.4
  )
  on.exit(graphics::par(place$old))
  if (!is.null(prior)) graphics::abline(v = prior, col = muted[["axis"]], lty = 2)
  sign <- if (is.null(positive)) rep(1, count) else positive
  graphics::rect(
    0, place$at - 0.36, shown, place$at + 0.36, col = shade_of(sign[order]), border = NA
  )
  legend_above(
    if (is.null(positive)) character() else c("positive effect", "sign unclear", "negative effect"),
    shade_of(c(1, 0.5, 0)), prior
  )
  invisible(NULL)
}

# The largest first: rows of what is surely out are of little use.
shown_inclusion <- function(inclusion) {
  count <- length(inclusion)
  many <- min(most_rows, max(10L, sum(inclusion >= 0.001)))
  rows <- utils::head(order(-inclusion), if (count <= most_rows) count else many)
  rest <- inclusion[-rows]
  list(rows = rows, note = if (length(rest)) {
    sprintf("%d more columns, at most %s", length(rest), format(max(rest), digits = 2))
  })
}

# Between the title and the panel, where there are no bars.
legend_above <- function(labels, fill, prior) {
  text <- c(labels, if (!is.null(prior)) sprintf("prior %s", format(prior, digits = 2)))
  if (length(text) == 0L) return(invisible())
  count <- length(labels)
  key_above(
    text, fill = c(fill[seq_len(count)], if (!is.null(prior)) NA), border = NA,
    lty = c(rep(NA, count), if (!is.null(prior)) 2), col = muted[["axis"]]
  )
}

# A key in one line above the panel, ending where it does, in letters for which the figure has room.
key_above <- function(...) {
  usr <- graphics::par("usr")
  line <- graphics::par("csi") * diff(usr[3:4]) / graphics::par("pin")[2]
  key <- function(cex, ...) {
    graphics::legend(
      usr[2], usr[4] + 1.35 * line, ..., xjust = 1, bty = "n", horiz = TRUE, cex = cex, xpd = NA,
      x.intersp = 0.6, seg.len = 1.6
    )
  }
  room <- usr[2] - graphics::grconvertX(0, "nfc")
  wide <- key(0.8, ..., plot = FALSE)$rect$w
  key(0.8 * max(0.5, min(1, room / wide)), ...)
}

# Columns as they follow each other: their numbers, or their names if these are numbers.
places_along <- function(names) {
  at <- suppressWarnings(as.numeric(names))
  named <- !anyNA(at) && !is.unsorted(at, strictly = TRUE)
  if (named) {
    list(at = at, label = "Predictor")
  } else {
    list(at = seq_along(names), label = "Number of the predictor")
  }
}

plot_inclusion_along <- function(inclusion, prior, main) {
  along <- places_along(names(inclusion))
  at <- along$at
  old <- bk_look()
  on.exit(graphics::par(old))
  graphics::par(mar = replace(graphics::par("mar"), 3, 3.4))
  # Blocks move, and no single predictor may reach a large probability.
  bk_panel(
    range(at), c(0, min(1, max(0.5, 1.1 * inclusion))), along$label,
    "Posterior inclusion probability", main
  )
  if (!is.null(prior)) graphics::abline(h = prior, col = muted[["axis"]], lty = 2)
  blue <- bk_colours[["blue"]]
  graphics::polygon(
    c(at[1], at, at[length(at)]), c(0, inclusion, 0),
    col = grDevices::adjustcolor(blue, 0.25), border = NA
  )
  graphics::lines(at, inclusion, col = blue, lwd = 1.8)
  legend_above(character(), character(), prior)
  invisible(NULL)
}

# Blue for positive, orange for negative, grey between.
shade_of <- function(positive) {
  grDevices::colorRampPalette(
    c(bk_colours[["orange"]], "grey82", bk_colours[["blue"]])
  )(101)[round(100 * positive) + 1]
}

#' @rdname inclusion_path
#' @export
plot.inclusion_path <- function(x, names = 12, main = NULL, ...) {
  check_no_dots(...)
  names <- check_count(names, 0, name = "names")
  main <- check_title(main)
  old <- bk_look()
  on.exit(graphics::par(old))
  at <- log10(x$rho)
  strength <- apply(abs(x$effect), 2, max)
  largest <- order(-strength)[seq_len(min(names, ncol(x$effect)))]
  labels <- margin_labels(colnames(x$effect)[largest], 4, 0.75)
  room <- if (length(at) == 1L || diff(range(at)) == 0) 0.5 else 0
  bk_panel(
    range(at) + c(-room, room), range(x$effect, 0),
    xlab = expression(log[10] ~ "prior inclusion probability"),
    ylab = "Effect of a standardized column",
    main = main_title(main, "Effects along the prior inclusion probability")
  )
  colours <- rep("grey70", ncol(x$effect))
  colours[largest] <- bk_palette(length(largest))
  for (k in order(colours != "grey70")) {
    graphics::lines(
      at, x$effect[, k], col = colours[k], lwd = 1.5, type = if (room > 0) "p" else "l"
    )
  }
  if (length(largest) > 0L) {
    gap <- 0.035 * diff(graphics::par("usr")[3:4])
    graphics::mtext(
      labels, side = 4, at = spread_labels(x$effect[1, largest], gap), line = 0.2, las = 1,
      cex = 0.75, col = colours[largest]
    )
  }
  rest <- ncol(x$effect) - length(largest)
  if (rest > 0L) bk_note(sprintf("gray: %d without a name", rest))
  invisible(NULL)
}
