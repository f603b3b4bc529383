# The plot of a reproduction that has no figure of its own: a panel for each kind of quantity, so
# that an axis has one unit.

# Kinds by the words of a quantity; the first that fits counts.
kinds <- c(
  "p value" = "^p(,| of the printed means,) ", "CPU seconds" = "^(CPU )?seconds(, |$)",
  "ratio of times" = " times as long", "difference" = " minus ",
  "balanced error" = "^BER, ", "squared error" = "^squared error, ",
  "error" = "^(test )?error(, |$)|^error |^best error", "Brier score" = "^Brier(, |$)",
  "AUC" = "^AUC", "passes" = "^passes", "absolute error" = "absolute",
  "inclusion probability" = "^inclusion,? ", "number of kernels" = "^(expected )?kernels(, |$)",
  "number of predictors" = "^(variables|predictors) |^of these not ", "noise" = "^noise(, |$)",
  "width theta" = "^theta ", "R-hat" = "R-hat", "coefficient" = "^direction, ",
  "cosine with the true direction" = "cosine|SAVE$", "ratio of variances" = "^variance of ",
  "correlation" = "^correlation, ", "effective points" = "effective number",
  "share of the weights" = "^(sum|product), ", "kernel scale" = "^scale, "
)

# Words that the head of a panel says.
known <- paste0(
  "^(BER|(test |squared )?error|Brier|(CPU )?seconds|(expected )?kernels|inclusion|noise|",
  "direction|correlation|scale|p), "
)

# Kinds whose numbers differ by factors.
by_factors <- c("p value", "CPU seconds", "ratio of times")

# The rows of a reproduction by kind: label, ours, its error, the paper's number or bound.
# unit: the kind of quantities that no words tell.
panels_of <- function(x, unit) {
  kind <- rep(unit, nrow(x))
  label <- sub(known, "", x$quantity)
  for (name in rev(names(kinds))) {
    own <- grepl(kinds[[name]], x$quantity)
    kind[own] <- name
  }
  printed <- attr(x, "printed")
  if (is.null(printed)) printed <- as.character(x$paper)
  # An item with both has squared errors alone.
  if ("squared error" %in% kind) kind[kind == "error"] <- "squared error"
  table <- data.frame(
    label, quantity = x$quantity, ours = x$ours,
    error = ifelse(is.na(x$mc_error), 0, 2 * x$mc_error), paper = x$paper,
    sign = ifelse(grepl("^[<>]", printed), substr(printed, 1L, 1L), ""),
    bound = suppressWarnings(as.numeric(sub("^[<>]", "", printed)))
  )
  # A count of none says nothing without a number of the paper.
  given <- !is.na(table$ours) & (table$ours != 0 | !is.na(table$bound))
  split(table[given, ], factor(kind[given], unique(kind[given])))
}

# Single numbers of several kinds have one panel: each over the paper's number.
over_paper <- "ours over the paper's number"
grouped <- function(panels) {
  alone <- vapply(panels, function(table) {
    nrow(table) == 1L && !is.na(table$paper) && table$paper > 0 && table$ours > 0
  }, NA)
  if (sum(alone) < 2L) return(panels)
  group <- do.call(rbind, panels[alone])
  group$label <- group$quantity
  parts <- c("ours", "error", "bound")
  group[parts] <- group[parts] / group$paper
  group$paper <- 1
  c(panels[!alone], stats::setNames(list(group), over_paper))
}

# Places of an axis on both sides of the values.
ticks_of <- function(values, factors) {
  if (!factors) return(pretty(values, 3))
  powers <- 10^seq(floor(log10(min(values))), ceiling(log10(max(values))))
  if (length(powers) > 3L) return(powers[seq(1, length(powers), ceiling(length(powers) / 5))])
  all <- sort(c(outer(c(1, 2, 5), powers)))
  all[seq(max(which(all <= min(values))), min(which(all >= max(values))))]
}

# One panel: circles are ours with two standard errors, crosses the paper's numbers, and `<` or `>`
# its bounds. The axis of a single number begins at 0.
plot_panel <- function(table, kind, labels) {
  count <- nrow(table)
  at <- rev(seq_len(count))
  factors <- kind %in% c(by_factors, over_paper) && all(table$ours > 0) && count > 1L
  low <- table$ours - table$error
  if (factors) low <- pmax(low, table$ours / 10)
  zero <- kind == "difference" || count == 1L
  values <- c(low, table$ours + table$error, table$bound, if (zero) 0)
  values <- values[!is.na(values)]
  marks <- ticks_of(values, factors)
  graphics::plot(
    table$ours, at, type = "n", xlim = range(values, marks), ylim = c(0.4, count + 0.6),
    yaxt = "n", xaxt = "n", xlab = "", ylab = "", log = if (factors) "x" else "", bty = "n"
  )
  graphics::axis(1, marks, vapply(marks, format, "", digits = 6), col = "grey60", lwd = 0.7)
  graphics::abline(h = at, col = "grey92")
  if (kind == "difference") graphics::abline(v = 0, lty = 2, col = "grey60")
  graphics::segments(low, at, table$ours + table$error, at)
  graphics::points(table$ours, at, pch = 19)
  graphics::points(table$paper, at, pch = 4, col = bk_colours[["orange"]], lwd = 2)
  graphics::text(table$bound, at, table$sign, col = bk_colours[["orange"]], font = 2, cex = 1.2)
  if (length(labels)) graphics::axis(2, at, labels, tick = FALSE, line = -0.3)
  head <- paste0(kind, if (factors) " (log scale)")
  graphics::mtext(head, line = 0.1, adj = 0, font = 2, cex = graphics::par("cex"))
}

# Side by side where all panels have the same labels, else one above the other.
plot_numbers <- function(x) {
  panels <- grouped(panels_of(x, unit_of(attr(x, "paper"), attr(x, "item"))))
  own <- lapply(panels, function(table) {
    vapply(table$label, function(t) paste(strwrap(t, 40), collapse = "\n"), "", USE.NAMES = FALSE)
  })
  side <- length(panels) > 1 && all(vapply(own, identical, NA, own[[1]]))
  old <- graphics::par(no.readonly = TRUE)
  on.exit(graphics::par(old))
  lines <- vapply(own, function(text) max(lengths(strsplit(text, "\n", fixed = TRUE))), 0)
  # Heights and widths in lines of text, which become smaller where they would not fit.
  heights <- 1.3 * lines * vapply(own, length, 0) + 3.8
  if (side) heights <- heights[1]
  high <- graphics::par("csi")
  room <- graphics::par("din") / high - c(0, 2.7)
  size <- min(1, max(0.45, room[2] / sum(heights)))
  heights <- heights * min(2.5, room[2] / (size * sum(heights)))
  widest <- max(graphics::strwidth(unlist(own), "inches")) / high + 0.8
  count <- seq_along(panels)
  inner <- (room[1] - size * widest) / length(panels)
  left <- max(0, room[2] - size * sum(heights))
  graphics::layout(
    rbind(if (side) rbind(count) else cbind(count), 0),
    widths = if (side) c(size * widest + inner, rep(inner, length(panels) - 1)) else 1,
    heights = c(size * heights, left + 0.01)
  )
  graphics::par(cex = size, las = 1, mgp = c(2, 0.5, 0), tcl = -0.25, oma = c(0, 0, 2.7, 0))
  for (k in count) {
    first <- !side || k == 1
    graphics::par(mar = c(2, if (first) widest else 1.2, 1.6, 1.2), lab = c(3, 5, 7))
    plot_panel(panels[[k]], names(panels)[k], if (first) own[[k]])
  }
  graphics::mtext(attr(x, "title"), line = 1.4, font = 2, outer = TRUE, cex = size, adj = 0.02)
  all <- do.call(rbind, panels)
  key <- paste0(
    "circles: ours, with two standard errors",
    if (any(!is.na(all$paper))) "; crosses: the paper's numbers",
    if (any(nzchar(all$sign))) "; < or >: the paper's claims"
  )
  graphics::mtext(key, line = 0.2, outer = TRUE, cex = 0.9 * size, adj = 0.02, col = "grey30")
}

# The kind of quantities that no words tell, of a paper's item.
unit_of <- function(paper, item) {
  if (paper == "damoulas2009") return("error, per cent")
  if (paper != "ouyang2008") return("numbers")
  if (grepl("^table3.1", item)) "squared error over the best of a run" else "error, per cent"
}
