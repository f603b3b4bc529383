# plot() of every fit: which pictures a model has, which of them apply, and the arguments that each
# takes.

#' Plot a fit
#'
#' @description
#' Plots of coefficients, effects, calibration, boundaries and chains, by the model.
#'
#' Quick start:
#' ```
#' fit <- gpsvm(depth > 300 ~ long + lat, quakes, seed = 1)
#' plot(fit, "boundary")
#' plot(fit, "calibration")
#' ```
#'
#' @param x A fit.
#' @param type Type of plot. Default: the first that applies to the fit, in this order. [bkm()] and
#'   [bsvm()]:
#'   * `"inclusion"`: posterior inclusion probabilities of selected columns, largest first, with
#'     that of the prior as a dashed line; colors tell the sign of the effect;
#'   * `"smooth"`: smooth curves with pointwise intervals, also of 50 %, or the posterior mean
#'     surface of two variables and its standard deviation;
#'   * `"coef"`: fixed coefficients with posterior intervals, also of 50 %, see `scale`;
#'   * `"ranef"`: random effects with intervals, in order of size;
#'   * `"fit"`: for regressions observed against fitted values with prediction intervals;
#'   * `"calibration"`: predicted probability against observed frequency with intervals; with
#'     more than two classes the probability of the predicted class against how often it was right.
#'     Each row is predicted from the others where the fit can, as of two classes with `"ep"`; else
#'     the title says that its own rows look too good: give `newdata`;
#'   * `"partial"`, first with fewer than three coefficients: the mean of the response, or the
#'     probability of the positive class, as one predictor changes, with intervals. It is an
#'     average over up to 200 rows of the fit, or of `newdata`, in which everything else stays what
#'     it is. Random effects are 0, as in a typical group, and the subtitle says so; `re.form =
#'     NULL` shows the known groups, a thin line for each, over its own rows;
#'   * `"bound"`: the variational bound of each pass; `"trace"`: draws by chain;
#'   * `"residuals"`, `"qq"`, `"predictive"`, for regressions: standardized residuals against fitted
#'     values, their normal quantiles, and the density of the responses with that of 20 simulated
#'     ones.
#'
#'   [gpsvm()]:
#'   * `"boundary"`, first with two predictors: the probability of the positive class in colors,
#'     with lines at 0.1, 0.5 (bold) and 0.9. Dashed lines are the standard deviation of the latent
#'     value. Points are the rows of the fit, and + the inducing points if they are few. With more
#'     classes the most probable one is shown, paler where it is less probable;
#'   * `"calibration"`, `"partial"` (with more classes of each; a posterior mode
#'     has no intervals), `"bound"`, `"trace"`;
#'   * `"lengthscales"`: of the kernel, for standardized predictors, shortest
#'     first, with the median distance between rows as a dashed line: a
#'     predictor with a length-scale far above it hardly matters. If there is only one, the curve
#'     of the correlation of two rows by their distance.
#'
#'   [bark()]:
#'   * `"inclusion"`; with `structure` along the order of the columns, whose names are the axis if
#'     they are numbers;
#'   * `"partial"`, in rows that the fit has kept. Within a draw the errors of the rows are taken to
#'     be common to all, which makes the intervals a little too wide;
#'   * `"scales"`: kernel scales of the standardized predictors: median,
#'     quartiles and intervals. One outside the model has 0;
#'   * `"fit"`, `"calibration"`, `"kernels"` (the posterior of their number and its prior),
#'     `"trace"`, `"residuals"`, `"qq"`, `"predictive"`, `"ranef"`.
#'
#'   [mkprobit()]:
#'   * `"boundary"`: as above, with the inducing points (+) if there are any;
#'   * `"weights"`: of the kernels: mean and limits, of a sampler's draws the quartiles, too, of
#'     subsets the probability of each kernel;
#'   * `"calibration"`, `"partial"`, `"bound"`, `"trace"`.
#'
#'   [klr()]:
#'   * `"projection"`: the rows in the learned directions, classes in colors; with one direction
#'     their probabilities along it, with limits. Axes name the two predictors that weigh most;
#'   * `"boundary"`, `"fit"`, `"calibration"`, `"partial"`, `"trace"`.
#'
#'   [seqkr()]: `"fit"`, with one predictor the curve; `"kernels"`; `"trace"`, the log evidence and
#'   the effective particles by row; `"calibration"`, `"partial"`, and those of the residuals.
#' @param pars Which, by name: coefficients (`"coef"`), columns (`"inclusion"`), predictors
#'   (`"scales"`, `"partial"`), grouping terms (`"ranef"`), smooths (`"smooth"`) or variables of
#'   `dimnames(as.array(x))` (`"trace"`). Default: all except the intercept; of predictors for
#'   `"partial"` the six of most influence, of draws six that are not single random effects. If
#'   there are more than can be read, the largest are shown and a note counts the others.
#' @param newdata,y For `"calibration"` and `"fit"`: other rows and their response, which may be
#'   left out when `newdata` contains it. For `"boundary"`: rows that are drawn as points, gray
#'   without labels, and set the range of the axes; default: those of the fit. Rows of other factor
#'   levels than the surface's are left out. For `"partial"`: the rows to average over.
#' @param columns For `"boundary"`: names of two numeric predictors, the axes. The others are held
#'   at their median or most frequent level, or at their mean if the data of the fit are gone; the
#'   subtitle says where. Default: the two there are.
#' @param scale For `"coef"`: `"sd"`, the change per standard deviation of a numeric predictor, and
#'   per level of a factor; `"data"`, the coefficients as `summary()` has them; `"model"`, those of
#'   all columns standardized.
#' @param link For `"boundary"` and `"calibration"`: as in `predict()`.
#' @param bins For `"calibration"`: number of bins of equal width.
#' @param re.form For `"partial"`: random effects as in `predict()`. `NA`, the default: a group
#'   whose effects are 0; `NULL`: the groups of the rows and their average; `"new"`: a new group,
#'   which for a probability averages over what its effect may be.
#' @param level Probability of the intervals and limits, which the plot tells. Default 0.95, as in
#'   `summary()` and `predict()`.
#' @param main Title: one text, or an expression.
#' @param threads,... Worker threads; no further arguments.
#' @return What is drawn, invisibly: the table of [calibration()] for `"calibration"`, data frames
#'   for `"partial"` (`predictor`, `value`, `fit`, `lwr`, `upr`, and `class` with more than two),
#'   `"fit"` and `"kernels"`; else `NULL`.
#' @section Errors: `bayeskernel_error_argument` for a type that does not apply
#'   to the fit, with the reason and those that do; for unknown `columns` or
#'   `pars`. `bayeskernel_error_response` for labels that the fit does not know.
#' @seealso [plot_data()] for the numbers and for ggplot2; [exposure()] for the joint effect of
#'   several predictors.
#' @examples
#' data("bdf", package = "nlme")
#' fit <- bkm(langPOST > 40 ~ s(IQ.verb) + (1 | schoolNR), bdf[1:600, ], threads = 1)
#' plot(fit)
#' plot(fit, "ranef")
#' plot(fit, "smooth")
#' plot(fit, "calibration", bins = 5)
#' plot(gpsvm(depth > 300 ~ long + lat, quakes[1:200, ], tune = FALSE, threads = 1), "boundary")
#' @aliases plot.bkm plot.bsvm plot.gpsvm plot.mkprobit plot.bark plot.klr plot.seqkr
#' @export
plot.bayeskernel_fit <- function(x, type = NULL, pars = NULL, newdata = NULL, y = NULL,
                                 columns = NULL, scale = c("sd", "data", "model"), link = NULL,
                                 bins = 10, re.form = NA, level = 0.95, main = NULL,
                                 threads = getOption("bayeskernel.threads", 2L), ...) {
  check_no_dots(...)
  asked <- asked_picture(
    x, type, pars, newdata, given(y, "y"), columns, scale, link, bins, re.form, level,
    main, threads
  )
  draw <- asked$picture$draw
  do.call(draw, asked$given[names(formals(draw))], quote = TRUE)
  invisible(without_marks(asked$given$data))
}

#' The data of a plot
#'
#' `plot_data()` returns what [plot()][plot.bayeskernel_fit] draws; `autoplot()` of package ggplot2
#' draws it. Both take the same types and arguments.
#'
#' @inheritParams plot.bayeskernel_fit
#' @param object A fit.
#' @param ... Arguments of [plot()][plot.bayeskernel_fit]: `pars`, `newdata`, `y`, `columns`,
#'   `scale`, `link`, `bins`, `re.form`, `level`, `main`, `threads`.
#' @return A data frame. Coefficients have intervals of `level`, `estimate`, `lower`, `upper`, and
#'   of 50 %, `lower_50` and `upper_50`; curves have `fit`, `lwr` and `upr`. `autoplot()` returns a
#'   `ggplot` object, to which scales, themes and facets can be added.
#' @section Errors: `bayeskernel_error_argument` for a type that does not apply to the fit.
#' @seealso [plot()][plot.bayeskernel_fit] for the types.
#' @examples
#' data("bdf", package = "nlme")
#' fit <- bkm(langPOST > 40 ~ IQ.verb + ses + (1 | schoolNR), bdf[1:300, ], threads = 1)
#' plot_data(fit, "coef")
#' if (requireNamespace("ggplot2", quietly = TRUE)) ggplot2::autoplot(fit, "coef")
#' @export
plot_data <- function(object, type = NULL, ...) {
  check_given("object")
  asked <- asked_picture(object, type, ...)
  without_marks(asked$given$data)
}

# A data frame without the attributes that only its drawing reads.
without_marks <- function(data) {
  if (is.data.frame(data)) attributes(data) <- attributes(data)[c("names", "row.names", "class")]
  data
}

# The picture that is asked for, as plot() finds it, with its data.
asked_picture <- function(x, type = NULL, pars = NULL, newdata = NULL, y = NULL, columns = NULL,
                          scale = c("sd", "data", "model"), link = NULL, bins = 10, re.form = NA,
                          level = 0.95, main = NULL,
                          threads = getOption("bayeskernel.threads", 2L), ...) {
  check_whole(x)
  check_no_dots(..., has = names(formals(plot.bayeskernel_fit)))
  known <- pictures(x)
  given <- list(
    x = x, pars = pars, newdata = newdata, y = given(y, "y"),
    columns = columns, scale = check_choice(scale, c("sd", "data", "model"), "scale"),
    link = link, bins = check_count(bins, 2, name = "bins"), re.form = re.form,
    level = check_number(level, 0, 1, "level", closed = FALSE), main = check_title(main),
    threads = check_threads(threads)
  )
  if (is.null(type)) type <- telling_picture(known, given)
  picture <- known[[check_picture(known, type, given)]]
  given$data <- do.call(picture$data, given[names(formals(picture$data))], quote = TRUE)
  list(type = type, picture = picture, given = given)
}

# A picture of a fit: `draw`, a function of some of the arguments of plot(); `reason`, why it does
# not apply, NULL if it does; `needs`, an argument of plot() without which there is nothing to draw,
# or a function that tells that argument where finding out costs something, and `ask`, what to tell
# then; `data`, a function of some of these arguments, too, of what is drawn, which `draw` reads;
# `gg`, a function of the same as `draw`, the plot by ggplot2.
picture <- function(draw, reason = NULL, needs = NULL, ask = NULL, data = NULL, gg = NULL) {
  list(draw = draw, reason = reason, needs = needs, ask = ask, data = data, gg = gg)
}

# Why a picture is not drawn; "" if it can be.
refusal <- function(picture, given) {
  if (!is.null(picture$reason)) return(picture$reason)
  needs <- picture$needs
  if (is.function(needs)) needs <- needs(given)
  if (!is.null(needs) && is.null(given[[needs]])) picture$ask else ""
}

telling_picture <- function(known, given = list()) {
  types <- names(known)
  x <- given$x
  # A fit's own rows, not left out, look too good.
  own <- !is.null(x$levels) && is.null(given$y) && is.null(given$newdata) &&
    is.null(left_out_prob(x))
  if (own) types <- union(setdiff(types, "calibration"), types)
  drawn <- Filter(function(name) refusal(known[[name]], given) == "", types)
  if (identical(drawn[1], "coef") && is_linear(x)) {
    drawn <- union(intersect(telling_coefficients(x), drawn), drawn)
  }
  c(drawn, types)[1]
}

# Fewer than three coefficients tell less than what they do to the response, and none less than the
# random effects.
telling_coefficients <- function(x) {
  names <- setdiff(plain_coefficients(x, fixed_names(x)), "(Intercept)")
  if (length(names) == 0L) "ranef" else if (length(names) < 3L) "partial"
}

check_picture <- function(known, type, given) {
  drawn <- names(known)[vapply(known, refusal, "", given) == ""]
  if (!(is_string(type) && type %in% names(known))) check_choice(type, drawn, "type")
  refused <- refusal(known[[type]], given)
  if (refused != "") {
    bk_abort(
      "argument", sprintf("There is no \"%s\" plot of this fit.", type),
      refused, paste("Accepted:", paste(quoted(drawn), collapse = ", ")),
      column = "type", found = type, expected = drawn
    )
  }
  type
}

# Titles are one text, or what plotmath draws.
check_title <- function(main) {
  good <- is.null(main) || is.language(main) ||
    (is.character(main) && length(main) == 1L && !is.na(main))
  if (!good) abort_argument(main, "main", "one text")
  main
}

main_title <- function(main, default) if (is.null(main)) default else main

# --- which pictures a model has ----------------------------------------------

bound_picture <- function(x) {
  picture(
    data = function(x) data.frame(pass = seq_along(elbo(x)), bound = as.vector(elbo(x))),
    gg = gg_bound, draw = function(x, data, main) {
      plot_bound(data$bound, main = main_title(main, "Variational bound"))
      d <- x$diagnostics
      others <- sum(d$passes, -length(elbo(x)), -(d$rejected %||% 0))
      if (inherits(x, "mkprobit") && others > 0) {
        bk_note(sprintf("the last fit; %.0f passes before compare weights", others))
      }
    },
    reason = if (is.null(x$trace$elbo)) sprintf("Method \"%s\" has no bound.", x$method)
  )
}

# `names`: of the draws that may be shown; `words`: what these say for them.
trace_picture <- function(x, names = dimnames(x$draws)[[3]], words = trace_words) {
  picture(
    data = function(x, pars) trace_data(x, pars, names, words), gg = gg_trace,
    draw = function(x, data) {
      names <- unique(data$variable)
      draws <- array(data$value, c(dim(x$draws)[1:2], length(names)), list(NULL, NULL, names))
      plot_traces(draws)
    },
    reason = if (is.null(x$draws)) sprintf("Method \"%s\" has no chains.", x$method)
  )
}

trace_data <- function(x, pars, names, words) {
  shown <- if (is.null(pars)) trace_names(names) else check_pars(pars, dimnames(x$draws)[[3]])
  draws <- x$draws[, , shown, drop = FALSE]
  size <- dim(draws)
  data.frame(
    draw = rep(seq_len(size[1]), prod(size[2:3])),
    chain = rep(rep(seq_len(size[2]), each = size[1]), size[3]),
    variable = rep(words(shown), each = prod(size[1:2])), value = as.vector(draws)
  )
}

# Names of draws in words.
trace_words <- function(names) {
  names <- sub("^Sigma\\[(.*):(.*),\\2\\]$", "var(\\2 | \\1)", names)
  names <- sub("^Sigma\\[([^:]*):(.*),(.*)\\]$", "cov(\\2, \\3 | \\1)", names)
  names <- sub("^f\\[(\\d+)\\]$", "f of row \\1", names)
  known <- c(sigma = "sd of the noise (sigma)", log_lik = "log-likelihood")
  ifelse(names %in% names(known), known[names], names)
}

# Six variables: those of few values that all draws share, and of a function some from low to high.
trace_names <- function(known, most = 6L) {
  known <- known[!is_detail(known)]
  at <- grepl("^[fu]\\[", known)
  first <- utils::head(known[!at], if (any(at)) 4L else most)
  points <- known[at]
  c(first, points[spread_over(length(points), most - length(first))])
}

boundary_picture <- function(x, reason = no_boundary(x)) {
  picture(
    draw_boundary, reason, if (length(x$columns) != 2L) "columns",
    "It has more than two predictors: give two numeric ones as `columns`.", data = boundary_data,
    gg = gg_boundary
  )
}

calibration_picture <- function(x) {
  picture(
    draw_calibration, if (is_regression(x)) "It has no classes: see \"fit\".",
    if (!has_fitted(x)) "newdata", paste(
      "It has not kept probabilities of its rows: give `newdata` and `y`."
    ), data = calibration_data, gg = gg_calibration
  )
}

has_fitted <- function(x) !is.null(x$y) && (!is.null(x$fitted) || is_linear(x))

partial_picture <- function(x) {
  picture(
    draw_partial, if (x$design$type == "kernel") {
      "It was made from a kernel and has no predictors."
    } else if (length(varied_names(x)) == 0L) {
      "It has no predictors."
    },
    function(given) {
      at_hand <- !is.null(given$newdata) || !is.null(fit_data(x))
      if (!at_hand) "newdata"
    }, "The data of the fit are gone: give rows as `newdata`.",
    data = partial_table, gg = gg_partial
  )
}

fit_picture <- function(x) {
  picture(
    if (is_regression(x)) draw_observed else draw_calibration,
    needs = if (!has_fitted(x)) "newdata",
    ask = "It has not kept its rows: give `newdata` and `y`.",
    data = if (is_regression(x)) observed_data else calibration_data,
    gg = if (is_regression(x)) gg_observed else gg_calibration
  )
}

# A model without a method of its own.
#' @exportS3Method
pictures.default <- function(object) {
  fixed <- any(parameters(object, 0.95)$effect == "fixed")
  list(
    coef = picture(
      draw_coefficients, if (!fixed) "It has no coefficients.",
      data = coefficient_data, gg = gg_coefficients
    ),
    fit = fit_picture(object), calibration = calibration_picture(object),
    partial = partial_picture(object), bound = bound_picture(object), trace = trace_picture(object)
  )
}

only_smooths <- function(x) {
  length(x$smooths) > 0L && length(plain_coefficients(x, fixed_names(x))) == 0L
}

#' @exportS3Method
pictures.bsvm <- function(object) {
  all <- list(
    inclusion = picture(
      draw_inclusion, if (is.null(object$posterior$selection)) "It has no selection.",
      data = inclusion_data, gg = gg_inclusion
    ),
    coef = picture(
      draw_coefficients, if (length(fixed_names(object)) == 0L) "It has no fixed coefficients.",
      if (only_smooths(object)) "pars",
      "Its coefficients are of smooth terms, see \"smooth\": name some as `pars`.",
      data = coefficient_data, gg = gg_coefficients
    ),
    ranef = picture(
      draw_random_effects, if (is.null(object$posterior$random[1][[1]]$mean)) {
        "It has no random effects, or has not stored them."
      }, data = random_effect_data, gg = gg_random_effects
    ),
    smooth = picture(
      draw_smooths, if (length(object$smooths) == 0L) "It has no smooth terms.", data = smooth_data,
      gg = gg_smooths
    ),
    fit = if (is_regression(object)) fit_picture(object), calibration = calibration_picture(object),
    partial = partial_picture(object), bound = bound_picture(object), trace = trace_picture(object)
  )
  if (is_regression(object)) all <- c(all, residual_pictures(object))
  if (length(object$smooths)) all <- all[union(c("inclusion", "smooth"), names(all))]
  Filter(Negate(is.null), all)
}

#' @exportS3Method
pictures.bkm <- pictures.bsvm

#' @exportS3Method
pictures.gpsvm <- function(object) {
  list(
    boundary = boundary_picture(object),
    calibration = calibration_picture(object), partial = partial_picture(object),
    bound = bound_picture(object), trace = trace_picture(object),
    lengthscales = picture(
      draw_lengthscales, if (length(lengthscales(object)) == 0L) "Its kernel has no length-scales.",
      data = lengthscale_data, gg = gg_lengthscales
    )
  )
}

#' @exportS3Method
pictures.bark <- function(object) {
  all <- list(
    inclusion = picture(
      draw_inclusion, if (!object$select) "It has no selection.",
      data = inclusion_data, gg = gg_inclusion
    ),
    partial = partial_picture(object),
    scales = picture(draw_scales, data = scale_data, gg = gg_scales),
    fit = fit_picture(object), calibration = calibration_picture(object),
    kernels = picture(draw_kernels, data = kernel_data, gg = gg_kernels),
    trace = trace_picture(object, watched_names(object$draws), function(names) {
      trace_words(bark_words(names))
    })
  )
  if (is_regression(object)) all <- c(all, residual_pictures(object))
  if (length(object$posterior$random)) all$ranef <- picture(
    draw_random_effects, data = random_effect_data, gg = gg_random_effects
  )
  all
}
