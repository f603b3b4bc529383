# Selection as the user sees it: inclusion probabilities, their table and their
# pictures.

#' Posterior inclusion probabilities
#'
#' @param object A fit by [bsvm()] or [bark()] made with `select`.
#' @param ... Unused.
#' @return Named numeric vector, one element in \[0, 1\] for each column of the
#'   design under selection: for `"vb"` the variational probability, for
#'   `"gibbs"` the mean over all kept draws of the conditional probability
#'   given the rest (Rao-Blackwell), for [bark()] the share of the draws in
#'   which the column is in the model.
#' @section Variational fits: `"vb"` is more extreme than the posterior: it says
#'   nearly 0 or nearly 1 where `"gibbs"` still hesitates.
#' @section Errors: `bayeskernel_error_argument` if the fit has no selection.
#' @references Luts, J. and Ormerod, J. T. (2014). Mean field variational
#'   Bayesian inference for support vector machine classification.
#'   *Computational Statistics & Data Analysis* 73, 163-176, section 3.2.
#' @examples
#' set.seed(1)
#' x <- matrix(rnorm(2000), 200, 10, dimnames = list(NULL, letters[1:10]))
#' y <- x[, "a"] - x[, "b"] + rlogis(200) > 0
#' fit <- bsvm(x, y, select = TRUE, prior = bsvm_prior(rho = 0.1), threads = 1)
#' round(inclusion(fit), 3)
#' @export
inclusion <- function(object, ...) UseMethod("inclusion")

#' @rdname inclusion
#' @export
inclusion.bsvm <- function(object, ...) {
  check_no_dots(...)
  need_selection(object)
  selection <- object$posterior$selection
  stats::setNames(
    as.vector(selection$inclusion), fixed_names(object)[selection$columns]
  )
}

need_selection <- function(object) {
  if (is.null(object$posterior$selection)) {
    bk_abort(
      "argument", "The fit has no selection.",
      "Fit it with `select = TRUE`, or with a formula of terms to select among."
    )
  }
}

# P(effect > 0 | in the model), by selected column.
positive_share <- function(object) {
  columns <- object$posterior$selection$columns
  if (object$method == "gibbs") {
    draws <- flat_draws(object, fixed_names(object)[columns])
    ins <- colSums(draws != 0)
    return(ifelse(ins > 0, colSums(draws > 0) / pmax(ins, 1), 0.5))
  }
  posterior <- object$posterior
  sd <- sqrt(diag(posterior$theta_cov)[columns])
  unname(stats::pnorm(posterior$theta_mean[columns] / sd))
}

# Summary of the selected columns, most probable first: posterior of the effect
# with its point mass at 0, and its inclusion.
selection_table <- function(object, level = 0.95) {
  if (is.null(object$posterior$selection)) {
    return(NULL)
  }
  inclusion <- inclusion.bsvm(object)
  table <- fixed_table(object, level)[names(inclusion), , drop = FALSE]
  out <- cbind(
    table,
    Inclusion = inclusion, Prior = object$posterior$selection$prior
  )
  out[order(-inclusion, -abs(table[, "Estimate"])), , drop = FALSE]
}

# Quantiles of gamma theta with theta ~ N(mean, sd^2), P(gamma = 1) = chance.
spike_quantile <- function(p, mean, sd, chance) {
  below <- chance * stats::pnorm(0, mean, sd)
  upper <- p > below + 1 - chance
  lower <- p < below
  out <- numeric(length(mean))
  out[lower] <- (mean + sd * stats::qnorm(pmin(p / chance, 1)))[lower]
  out[upper] <- (mean + sd * stats::qnorm(
    pmin(pmax((p - 1 + chance) / chance, 0), 1)
  ))[upper]
  out
}

# As in Figure 3 of the paper: bars as high as the probability, dark for
# positive effects and white for negative ones. `positive` is NULL where effects
# have no sign, `prior` where it is not one number.
plot_inclusion <- function(inclusion, positive, prior, main = "") {
  count <- length(inclusion)
  size <- min(0.85, max(0.45, 40 / count))
  labelled <- count <= 80L
  old <- bk_look(left = 3.2)
  on.exit(graphics::par(old))
  bottom <- 1
  if (labelled) {
    labels <- abbreviate_middle(names(inclusion), 20L)
    inches <- max(graphics::strwidth(labels, "inches", cex = size))
    bottom <- 0.8 + inches / graphics::par("csi")
  }
  graphics::par(mar = c(bottom, 3.2, 3.4, 0.8))
  bk_panel(
    c(0.4, count + 0.6), c(0, 1),
    ylab = "Posterior inclusion probability", main = "", axes = "y", grid = "y"
  )
  graphics::title(main = main, adj = 0, line = 2)
  if (!is.null(prior)) {
    graphics::abline(h = prior, col = bk_colours[["orange"]], lty = 2)
  }
  at <- seq_len(count)
  graphics::rect(
    at - 0.36, 0, at + 0.36, inclusion,
    col = if (is.null(positive)) bk_colours[["blue"]] else shade_of(positive),
    border = muted[["axis"]], lwd = 0.7
  )
  if (labelled) {
    bk_axis(1, at, labels, las = 2, cex.axis = size, tick = FALSE)
  }
  # The legend stands in the margin: bars may fill the panel.
  if (!is.null(positive)) {
    graphics::legend(
      "topleft", c("positive effect", "sign unclear", "negative effect"),
      fill = shade_of(c(1, 0.5, 0)), border = muted[["axis"]], bty = "n",
      horiz = TRUE, cex = 0.8, inset = c(0, -0.09), xpd = TRUE
    )
  }
  legend_prior(prior)
  invisible(NULL)
}

legend_prior <- function(prior) {
  if (is.null(prior)) {
    return(invisible())
  }
  graphics::legend(
    "topright", sprintf("prior %s", format(prior, digits = 2)),
    lty = 2, col = bk_colours[["orange"]], bty = "n", cex = 0.8,
    inset = c(0, -0.09), xpd = TRUE
  )
}

shade_of <- function(positive) {
  grDevices::colorRampPalette(c("white", "#10304A"))(101)[
    round(100 * positive) + 1
  ]
}

#' Inclusion along the prior probability
#'
#' Fits a variational model with selection again for every value of the prior
#' inclusion probability: how many columns are kept depends on it.
#'
#' @param object A `"vb"` fit by [bsvm()] made with `select`, whose data are
#'   still there.
#' @param rho Prior probabilities, strictly between 0 and 1, any length.
#' @param x An `inclusion_path`.
#' @param names How many columns are named in the plot, default 12.
#' @param main Title.
#' @param ... No further arguments.
#' @return `inclusion_path()`: a list of class `inclusion_path` with `rho` in
#'   decreasing order, matrices `inclusion` and `effect` (posterior mean of the
#'   effect of a standardised column), a row for each `rho`, and `elbo`, the
#'   bounds. The plot shows the effects.
#' @examples
#' set.seed(1)
#' x <- matrix(rnorm(2000), 200, 10, dimnames = list(NULL, letters[1:10]))
#' y <- x[, "a"] - x[, "b"] / 2 + rlogis(200) > 0
#' fit <- bsvm(x, y, select = TRUE, threads = 1)
#' path <- inclusion_path(fit, rho = c(0.3, 0.1, 0.01, 1e-4))
#' path
#' plot(path)
#' @export
inclusion_path <- function(object, rho = 10^seq(-0.3, -5, length.out = 20)) {
  if (!inherits(object, "bsvm") || identical(object$method, "gibbs")) {
    abort_argument(object, "object", "a fit by bsvm(method = \"vb\")")
  }
  need_selection(object)
  good <- is.numeric(rho) && length(rho) > 0L && !anyNA(rho) &&
    all(rho > 0 & rho < 1)
  if (!good) abort_argument(rho, "rho", "numbers strictly between 0 and 1")
  rho <- sort(rho, decreasing = TRUE)
  home <- parent.frame()
  fits <- lapply(rho, function(value) {
    prior <- object$prior
    prior$rho <- value
    prior["rho_beta"] <- list(NULL)
    call <- object$call
    call$prior <- prior
    eval(call, home)
  })
  columns <- object$posterior$selection$columns
  structure(
    list(
      rho = rho, inclusion = do.call(rbind, lapply(fits, inclusion.bsvm)),
      effect = do.call(rbind, lapply(fits, function(fit) {
        coef.bsvm(fit, "model")[columns]
      })),
      elbo = vapply(fits, function(fit) {
        fit$trace$elbo[length(fit$trace$elbo)]
      }, 1)
    ),
    class = "inclusion_path"
  )
}

#' @rdname inclusion_path
#' @export
print.inclusion_path <- function(x, ...) {
  cat("Columns kept (inclusion above 0.5) along the prior probability\n")
  print(data.frame(
    rho = signif(x$rho, 3), kept = rowSums(x$inclusion > 0.5),
    bound = round(x$elbo, 3)
  ), row.names = FALSE)
  invisible(x)
}

#' @rdname inclusion_path
#' @export
plot.inclusion_path <- function(x, names = 12, main = NULL, ...) {
  check_no_dots(...)
  names <- check_count(names, 0, name = "names")
  old <- bk_look()
  on.exit(graphics::par(old))
  at <- log10(x$rho)
  largest <- utils::head(
    order(-apply(abs(x$effect), 2, max)), min(names, ncol(x$effect))
  )
  labels <- abbreviate_middle(colnames(x$effect)[largest], 20L)
  inches <- max(0, graphics::strwidth(labels, "inches", cex = 0.75))
  graphics::par(mar = replace(
    graphics::par("mar"), 4, 0.8 + inches / graphics::par("csi")
  ))
  bk_panel(
    range(at), range(x$effect, 0),
    xlab = expression(log[10] ~ "prior inclusion probability"),
    ylab = "Effect of a standardised column",
    main = main_title(main, "Effects along the prior inclusion probability")
  )
  colours <- rep("grey70", ncol(x$effect))
  colours[largest] <- bk_palette(length(largest))
  for (k in order(colours != "grey70")) {
    graphics::lines(at, x$effect[, k], col = colours[k], lwd = 1.5)
  }
  end <- x$effect[1, largest]
  graphics::mtext(
    labels,
    side = 4, at = spread_labels(end, 0.035 * diff(graphics::par("usr")[3:4])),
    line = 0.2, las = 1, cex = 0.75, col = colours[largest]
  )
  invisible(NULL)
}

# Heights at least `gap` apart, close to those wanted.
spread_labels <- function(y, gap) {
  order <- order(y)
  out <- y[order]
  for (k in seq_along(out)[-1L]) out[k] <- max(out[k], out[k - 1L] + gap)
  out <- out - (mean(out) - mean(y))
  out[order(order)]
}
