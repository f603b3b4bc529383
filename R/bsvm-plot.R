#' Plot a Bayesian support vector machine
#'
#' @param x A fit by [bsvm()].
#' @param type
#'   * `"coef"`, the default: fixed coefficients with 50 % and 90 % posterior
#'     intervals;
#'   * `"ranef"`: random effects with 90 % intervals, in order of size;
#'   * `"calibration"`: predicted probability against observed frequency with
#'     95 % intervals. On the rows of the fit it flatters the fit: give
#'     `newdata`;
#'   * `"inclusion"`: posterior inclusion probabilities as bars, dark for
#'     positive effects and white for negative ones (the probability that the
#'     effect is positive, given that it is in the model);
#'   * `"smooth"`: the smooth curves with 50 % and 90 % pointwise intervals,
#'     or the posterior mean surface of two variables;
#'   * `"bound"`: the variational bound by pass (`"vb"`);
#'   * `"trace"`: draws by chain (`"gibbs"`).
#' @param pars Which: coefficients (`"coef"`, `"inclusion"`), grouping terms
#'   (`"ranef"`), smooths (`"smooth"`) or variables of `dimnames(as.array(x))` (`"trace"`), by name. Default: all
#'   but the intercept; all; the first six that are not single random effects.
#' @param scale For `"coef"`: `"data"`, or `"model"` for the effects of
#'   standardised predictors, which can be compared.
#' @param newdata,y For `"calibration"`: other rows and their labels; `y` may be
#'   left out when `newdata` contains the response.
#' @param link For `"calibration"`: as in [predict.bsvm()].
#' @param bins For `"calibration"`: number of bins of equal width.
#' @param main Title.
#' @param ... No further arguments.
#' @return For `"calibration"` the table of bins, else `NULL`; invisibly.
#' @section Errors: `bayeskernel_error_argument` for a type that does not apply
#'   to the fit, with those that do; for unknown `pars`.
#' @examples
#' set.seed(1)
#' d <- data.frame(x = rnorm(100), g = gl(10, 10))
#' d$y <- d$x + rnorm(10)[d$g] + rlogis(100) > 0
#' fit <- bsvm(y ~ x + (1 | g), d, threads = 1)
#' plot(fit)
#' plot(fit, "ranef")
#' plot(fit, "calibration", bins = 5)
#' @export
plot.bsvm <- function(x, type = c("coef", "ranef", "inclusion", "smooth",
                                  "calibration", "bound", "trace"),
                      pars = NULL, scale = c("data", "model"), newdata = NULL,
                      y = NULL, link = c("probit", "hinge"), bins = 10,
                      main = NULL, ...) {
  check_no_dots(...)
  types <- eval(formals(plot.bsvm)$type)
  if (missing(type) && !is.null(x$posterior$selection)) type <- "inclusion"
  type <- check_plot_type(x, check_choice(type, types, "type"))
  out <- switch(type,
    coef = plot_coefficients(
      x, pars, check_choice(scale, c("data", "model"), "scale"), main
    ),
    ranef = plot_random_effects(x, pars, main),
    inclusion = plot_bsvm_inclusion(x, pars, main),
    smooth = plot_smooths(x, pars, main),
    calibration = plot_bsvm_calibration(
      x, newdata, y, check_choice(link, c("probit", "hinge"), "link"),
      check_count(bins, 2, name = "bins"), main
    ),
    bound = plot_bound(elbo(x), main = main_title(main, "Variational bound")),
    trace = plot_traces(x$draws[, , trace_pars(x, pars), drop = FALSE])
  )
  invisible(out)
}

main_title <- function(main, default) if (is.null(main)) default else main

check_plot_type <- function(x, type) {
  known <- c(
    if (length(fixed_names(x)) > 0) "coef",
    if (!is.null(x$posterior$random[1][[1]]$mean)) "ranef",
    if (!is.null(x$posterior$selection)) "inclusion",
    if (length(x$smooths) > 0) "smooth",
    "calibration", if (x$method == "gibbs") "trace" else "bound"
  )
  if (!(type %in% known)) {
    bk_abort(
      "argument", sprintf("There is no \"%s\" plot of this fit.", type),
      c(
        switch(type,
          coef = "It has no fixed coefficients.",
          ranef = "It has no random effects, or has not stored them.",
          inclusion = "It has no selection.",
          smooth = "It has no smooth terms.",
          bound = "A sampler has no bound.",
          trace = "Method \"vb\" has no chains."
        ),
        paste("Accepted:", paste(quoted(known), collapse = ", "))
      ),
      column = "type", found = type, expected = known
    )
  }
  type
}

check_pars <- function(pars, known) {
  if (is.null(pars)) {
    return(known)
  }
  strange <- setdiff(pars, known)
  if (!is.character(pars) || length(strange) > 0) {
    bk_abort(
      "argument", "`pars` names what is not in the fit.",
      c(
        paste("Found:", list_some(quoted(strange))),
        paste("Accepted:", list_some(known))
      ),
      column = "pars", found = strange, expected = known
    )
  }
  pars
}

# Quantiles of the fixed coefficients: p x 5, for 90 %, 50 % and the median.
coefficient_quantiles <- function(x, scale) {
  at <- c(0.05, 0.25, 0.5, 0.75, 0.95)
  names <- fixed_names(x)
  if (x$method == "gibbs") {
    draws <- flat_draws(x, names)
    if (scale == "model") draws <- theta_to_model(x, draws)
    out <- t(apply(draws, 2, stats::quantile, at, names = FALSE))
  } else {
    out <- vb_quantiles(x, at, scale)
  }
  rownames(out) <- names
  out
}

plot_coefficients <- function(x, pars, scale, main) {
  names <- fixed_names(x)
  if (is.null(pars) && length(names) > 1) {
    # The intercept is no effect, and its size would hide the others; the
    # coefficients of a smooth mean nothing one by one.
    wiggly <- unlist(lapply(x$smooths, `[[`, "blocks"))
    pars <- setdiff(names, c("(Intercept)", names[wiggly]))
  }
  pars <- check_pars(pars, names)
  q <- coefficient_quantiles(x, scale)[pars, , drop = FALSE]
  draw_two_intervals(
    q,
    xlab = if (scale == "data") {
      "Change of the latent value per unit"
    } else {
      "Change of the latent value per standard deviation"
    },
    main = main_title(main, "Coefficients, 50 % and 90 % intervals")
  )
}

# A thin line from column 1 to 5, a thick one from 2 to 4, a point at 3; first
# row on top.
draw_two_intervals <- function(q, xlab, main, max_labels = 45L) {
  rows <- nrow(q)
  labelled <- rows <= max_labels
  size <- if (rows > 25L) 0.7 else 0.85
  old <- bk_look(left = 1.5)
  on.exit(graphics::par(old))
  if (labelled) {
    labels <- abbreviate_middle(rownames(q))
    inches <- max(graphics::strwidth(labels, "inches", cex = size))
    graphics::par(mar = replace(
      graphics::par("mar"), 2, 1 + inches / graphics::par("csi")
    ))
  }
  at <- rev(seq_len(rows))
  bk_panel(
    range(q, 0, finite = TRUE), c(0.5, rows + 0.5),
    xlab = xlab, main = main, axes = "x", grid = "x"
  )
  if (labelled) bk_grid(h = at)
  graphics::abline(v = 0, col = muted[["line"]])
  colour <- bk_colours[["blue"]]
  width <- if (labelled) c(1.5, 4.5) else c(0.5, 1.5)
  graphics::segments(q[, 1], at, q[, 5], at, col = colour, lwd = width[1])
  graphics::segments(q[, 2], at, q[, 4], at, col = colour, lwd = width[2])
  graphics::points(q[, 3], at,
    pch = 21, bg = "white", col = colour, cex = if (labelled) 1 else 0.3
  )
  if (labelled) bk_axis(2, at, labels, cex.axis = size, tick = FALSE)
}

plot_random_effects <- function(x, pars, main) {
  effects <- ranef.bsvm(x)
  effects <- effects[check_pars(pars, names(effects))]
  table <- as.data.frame(structure(effects, class = "ranef_bayeskernel"))
  panels <- split(table, list(table$term, table$grpvar), drop = TRUE)
  if (length(panels) > 1) {
    old <- graphics::par(mfrow = rev(grDevices::n2mfrow(length(panels))))
    on.exit(graphics::par(old))
  }
  half <- stats::qnorm(0.95)
  for (panel in panels) {
    panel <- panel[order(-panel$condval), ]
    plot_intervals(
      panel$condval, panel$condval - half * panel$condsd,
      panel$condval + half * panel$condsd,
      labels = as.character(panel$grp), xlab = "Effect on the latent value",
      main = main_title(main, sprintf(
        "%s by %s, 90 %% intervals", panel$term[1], panel$grpvar[1]
      ))
    )
  }
}

plot_bsvm_inclusion <- function(x, pars, main) {
  inclusion <- inclusion.bsvm(x)
  at <- match(check_pars(pars, names(inclusion)), names(inclusion))
  plot_inclusion(
    inclusion[at], positive_share(x)[at], x$posterior$selection$prior,
    main_title(main, "Which predictors are in the model")
  )
}

trace_pars <- function(x, pars) {
  known <- dimnames(x$draws)[[3]]
  if (is.null(pars)) {
    return(utils::head(known[!is_detail(known)], 6))
  }
  check_pars(pars, known)
}

plot_bsvm_calibration <- function(x, newdata, y, link, bins, main) {
  if (is.null(newdata)) {
    prob <- kept_moments(x, link)$prob
    positive <- x$y > 0
    title <- "Calibration on the rows of the fit"
  } else {
    prob <- new_moments(x, newdata, link)$prob
    positive <- new_labels(x, newdata, y, length(prob)) == 2L
    title <- "Calibration on new rows"
  }
  use <- !is.na(prob) & !is.na(positive)
  plot_calibration(
    prob[use], positive[use], bins,
    main = main_title(main, title),
    xlab = sprintf("Predicted probability of \"%s\"", x$levels[2])
  )
}
