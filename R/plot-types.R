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
#' @param type Type of plot, see Details. Default: the first that tells something about the fit.
#' @param pars Which, by name: the two axes of `"boundary"`, predictors of `"partial"` and
#'   `"scales"`, coefficients of `"coef"`, columns of `"inclusion"`, grouping terms of `"ranef"`
#'   (`"g"` or `"(1 | g)"`), terms of `"smooth"`, variables of `dimnames(as.array(x))` for
#'   `"trace"`. Default: all; of `"partial"` and `"trace"` six. If there are more than can be read,
#'   the largest are shown and a note counts the others.
#' @param newdata,y Other rows and their response, which may be left out when `newdata` contains it:
#'   rows to judge, the points of `"boundary"`, or the rows over which `"partial"` averages.
#'   Default: the rows of the fit.
#' @param scale For `"coef"`: `"sd"` multiplies the coefficients of numeric predictors by their
#'   standard deviation, so that effects can be compared. The names of the rows tell it. `"data"`
#'   shows the coefficients as `coef()` and `summary()` have them, `"model"` those of all columns
#'   standardized.
#' @param link For `"boundary"` and `"calibration"`: as in `predict()`.
#' @param bins For `"calibration"`: as in [calibration()].
#' @param re.form For `"partial"`: random effects as in `predict()`. `NA`, the default: a group
#'   whose effects are 0; `NULL`: each row in its group, and a thin curve for each group, all at
#'   the same rows; `"new"`: a new group, which for a probability averages over what its effect
#'   may be.
#' @param level Probability of the intervals. Default 0.95.
#' @param main Title: one text, or an expression.
#' @param threads,... Worker threads; no further arguments.
#' @details
#' Begin with `"calibration"` of classes, or `"fit"` of a number: does the fit predict? Then
#' `"partial"` shows how it depends on each predictor.
#'
#' | `type` | bkm, bsvm | gpsvm | bark | mkprobit | klr | seqkr |
#' |---|---|---|---|---|---|---|
#' | `"partial"`, `"calibration"`, `"trace"` | x | x | x | x | x | x |
#' | `"residuals"`, `"qq"` | x | x | x | x | x | x |
#' | `"fit"` | x | | x | | x | x |
#' | `"predictive"` | x | | x | | | x |
#' | `"inclusion"`, `"ranef"` | x | | x | | | |
#' | `"coef"`, `"smooth"` | x | | | | | |
#' | `"boundary"` | | x | | x | x | |
#' | `"bound"` | x | x | | x | | |
#' | `"kernels"` | | | x | | | x |
#' | `"lengthscales"` | | x | | | | |
#' | `"scales"` | | | x | | | |
#' | `"weights"` | | | | x | | |
#' | `"projection"` | | | | | x | |
#'
#' * `"partial"`: the mean response, or the probability of the positive or of each class, as one
#'   predictor changes. It is an average over up to 200 rows in which everything else stays what it
#'   is. Intervals are of up to 600 draws; a posterior mode has none. With 1000 rows or more, curves
#'   of this type and of `"smooth"` go from the 1 % to the 99 % quantile of a predictor. These
#'   averages hide interactions: `exposure(type = "slices")` has curves of one predictor by another.
#' * `"calibration"`: predicted probability against observed frequency, see [calibration()]; of more
#'   than two classes, how often the predicted class is right. `bkm()` with `"ep"`, `bsvm()`,
#'   `gpsvm()` and `mkprobit()` predict each row of classes from the others. Where a fit cannot, as
#'   with counts, the title says `"own rows"`: give `newdata`.
#' * `"trace"`: draws by chain, with standard deviations and correlations as `summary()` has them;
#'   of `seqkr()` log evidence and effective particles by row.
#' * `"fit"`: observed against fitted values with prediction intervals; of classes `"calibration"`;
#'   of `seqkr()` with one predictor the curve.
#' * `"residuals"`, `"qq"`: standardized residuals and their normal quantiles. Classes and counts
#'   have randomized quantile residuals (\doi{10.1080/10618600.1996.10474708}), which are normal if
#'   the probabilities are right. With more than two classes they judge the predicted class.
#' * `"predictive"`: the density of a numeric response with that of 20 simulated ones.
#' * `"inclusion"`: posterior inclusion probabilities, that of the prior dashed. Colors tell the
#'   sign of the effect. With `structure` they are along the order of the columns.
#' * `"ranef"`, `"coef"`: effects of groups and coefficients with intervals.
#' * `"smooth"`: curves with intervals, or a surface of two variables and its standard deviation.
#' * `"boundary"`: the probability over two predictors with lines at 0.1, 0.5 (bold) and 0.9; of
#'   more classes the most probable one, paler where it is less probable. Other predictors are at
#'   their median or most frequent level. Rings are misclassified rows, + inducing points, dashed
#'   lines the standard deviation of the latent value.
#' * `"bound"`: the variational bound of each pass.
#' * `"kernels"`: posterior and prior of the number of kernels.
#' * `"lengthscales"`: shortest first, with the median distance between rows dashed. A predictor
#'   with a length-scale far above it hardly matters. With one predictor: correlation by distance.
#' * `"scales"`: kernel scales of the predictors, median, quartiles and intervals.
#' * `"weights"`: of kernels: mean and limits, of draws the quartiles, of subsets probabilities.
#' * `"projection"`: rows in the learned directions; of one direction their probabilities along it.
#' @return What is drawn, invisibly, as from [plot_data()], without the curves of single groups.
#' @section Errors: `bayeskernel_error_argument` for a type that does not apply
#'   to the fit, with the reason and those that do; for unknown
#'   `pars`. `bayeskernel_error_response` for labels that the fit does not know.
#' @seealso [plot_data()] for the numbers and for ggplot2; [exposure()] for the joint effect of
#'   several predictors.
#' @examples
#' data("bdf", package = "nlme")
#' fit <- bkm(langPOST > 40 ~ s(IQ.verb) + (1 | schoolNR), bdf[1:300, ])
#' plot(fit, "smooth")   # the default of this fit
#' plot(fit, "ranef")
#' plot(fit, "calibration", bins = 5)
#' map <- gpsvm(depth > 300 ~ long + lat, quakes[1:200, ], tune = FALSE)
#' plot(map, "boundary")
#' plot(exposure(map, pars = c("long", "lat"), type = "slices"))   # an interaction
#' @aliases plot.bkm plot.bsvm plot.gpsvm plot.mkprobit plot.bark plot.klr plot.seqkr
#' @export
plot.bayeskernel_fit <- function(x, type = NULL, pars = NULL, newdata = NULL, y = NULL,
                                 scale = c("sd", "data", "model"), link = NULL, bins = NULL,
                                 re.form = NA, level = 0.95, main = NULL,
                                 threads = getOption("bayeskernel.threads", 2L), ...) {
  check_no_dots(..., moved = moved_in_plot)
  asked <- asked_picture(
    x, type, pars, newdata, given(y, "y"), scale, link, bins, re.form, level, main, threads
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
#' @param ... Arguments of [plot()][plot.bayeskernel_fit]: `pars`, `newdata`, `y`, `scale`,
#'   `link`, `bins`, `re.form`, `level`, `main`, `threads`.
#' @return A data frame. Coefficients have intervals of `level`, `estimate`, `lower`, `upper`, and
#'   of 50 %, `lower_50` and `upper_50`, and what those of `coef()` are multiplied by, `per`. Curves
#'   have `fit`, `lwr` and `upr`. `autoplot()` returns a
#'   `ggplot` object, to which scales, themes and facets can be added.
#' @section Errors: `bayeskernel_error_argument` for a type that does not apply to the fit.
#' @seealso [plot()][plot.bayeskernel_fit] for the types.
#' @examples
#' data("bdf", package = "nlme")
#' fit <- bkm(langPOST > 40 ~ IQ.verb + ses + (1 | schoolNR), bdf[1:300, ])
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

# Arguments that plot() does not have, and what does what they ask for.
moved_in_plot <- c(
  columns = "`pars`",
  by = "plot(exposure(fit, pars = c(\"x\", \"z\"), type = \"slices\")), curves of x by z"
)

# The picture that is asked for, as plot() finds it, with its data.
asked_picture <- function(x, type = NULL, pars = NULL, newdata = NULL, y = NULL,
                          scale = c("sd", "data", "model"), link = NULL, bins = NULL, re.form = NA,
                          level = 0.95, main = NULL,
                          threads = getOption("bayeskernel.threads", 2L), ...) {
  check_whole(x)
  check_no_dots(..., has = names(formals(plot.bayeskernel_fit)), moved = moved_in_plot)
  known <- pictures(x)
  given <- list(
    x = x, pars = pars, newdata = newdata, y = given(y, "y"),
    scale = check_choice(scale, c("sd", "data", "model"), "scale"), link = link,
    bins = if (!is.null(bins)) check_count(bins, 2, name = "bins"), re.form = re.form,
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
  # Has two axes.
  if (!length(given$pars) %in% c(0L, 2L)) types <- setdiff(types, "boundary")
  # A fit's own rows, not left out, look too good.
  own <- !is.null(x$levels) && is.null(given$y) && is.null(given$newdata) &&
    is.null(left_out_rows(x))
  if (own) types <- union(setdiff(types, "calibration"), types)
  drawn <- Filter(function(name) refusal(known[[name]], given) == "", types)
  if (only_wide(x) && is_linear(x)) {
    drawn <- union(intersect("partial", drawn), drawn)
  } else if (identical(drawn[1], "coef") && is_linear(x)) {
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
  kinds <- c(names(known), names(pictures_elsewhere))
  if (!(is_string(type) && type %in% kinds)) check_choice(type, drawn, "type")
  picture <- known[[type]]
  refused <- if (is.null(picture)) pictures_elsewhere[[type]] else refusal(picture, given)
  if (refused != "") {
    bk_abort(
      "argument", sprintf("There is no \"%s\" plot of this fit.", type),
      refused, paste("Accepted:", paste(quoted(drawn), collapse = ", ")),
      column = "type", found = type, expected = drawn
    )
  }
  type
}

# Why a model has no plot of a type that others have.
pictures_elsewhere <- c(
  coef = "Its function has no coefficients: \"partial\" shows the effect of a predictor.",
  ranef = "It has no random effects.", smooth = "It has no smooth terms.",
  inclusion = "It has no selection of predictors.",
  boundary = "Boundaries are of classifiers with kernels: \"partial\" shows effects.",
  lengthscales = "Length-scales are of kernels of gpsvm().",
  scales = "Kernel scales are of bark().",
  kernels = "A number of kernels is learned by bark() and seqkr().",
  weights = "Weights of kernels are of mkprobit().",
  projection = "Learned directions are of klr().",
  predictive = "It has no numeric response: see \"calibration\".",
  fit = "It has no numeric response: see \"calibration\".",
  bound = "It has no variational bound."
)

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
  draws <- deviation_draws(x, shown)
  size <- dim(draws)
  data.frame(
    draw = rep(seq_len(size[1]), prod(size[2:3])),
    chain = rep(rep(seq_len(size[2]), each = size[1]), size[3]),
    variable = rep(words(shown), each = prod(size[1:2])), value = as.vector(draws)
  )
}

# Variances and covariances of effects as summary() has them: standard deviations, correlations.
deviation_draws <- function(x, shown) {
  draws <- x$draws
  known <- dimnames(draws)[[3]]
  out <- draws[, , shown, drop = FALSE]
  variances <- Filter(length, regmatches(known, regexec("^Sigma\\[(.*):(.*),\\2\\]$", known)))
  variances <- do.call(rbind, variances)
  for (own in split(seq_len(NROW(variances)), variances[, 2])) {
    name <- covariance_names(variances[own[1], 2], variances[own, 3])
    pair <- lower_triangle(length(own))
    for (k in which(name %in% shown)) {
      at <- variances[own[pair[k, ]], 1]
      out[, , name[k]] <- if (at[1] == at[2]) sqrt(draws[, , at[1]]) else
        draws[, , name[k]] / sqrt(draws[, , at[1]] * draws[, , at[2]])
    }
  }
  of_terms <- if (is_linear(x)) shown[startsWith(shown, "sigma2[")]
  out[, , of_terms] <- sqrt(out[, , of_terms])
  out
}

# Names of draws in words.
trace_words <- function(names) {
  names <- sub("^Sigma\\[(.*):(.*),\\2\\]$", "sd(\\2 | \\1)", names)
  names <- sub("^Sigma\\[([^:]*):(.*),(.*)\\]$", "cor(\\3, \\2 | \\1)", names)
  names <- sub("^f\\[(\\d+)\\]$", "f of row \\1", names)
  names <- sub("^sigma2\\[(.*)\\]$", "sd(\\1)", names)
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
    draw_boundary, reason, if (length(x$columns) != 2L) "pars",
    "It has more than two predictors: give two numeric ones as `pars`.", data = boundary_data,
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

has_fitted <- function(x) {
  !is.null(x$y) &&
    (!is.null(x$fitted) || is_linear(x) || (inherits(x, "mkprobit") && keeps_rows(x)))
}

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
  c(list(
    coef = picture(
      draw_coefficients, if (!fixed) "It has no coefficients.",
      data = coefficient_data, gg = gg_coefficients
    ),
    fit = fit_picture(object), calibration = calibration_picture(object),
    partial = partial_picture(object), bound = bound_picture(object), trace = trace_picture(object)
  ), residual_pictures(object))
}

# Of smooth terms that a curve or surface can show there is none.
only_wide <- function(x) {
  length(x$smooths) > 0L && all(lengths(lapply(x$smooths, `[[`, "variables")) > 2L)
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
      draw_smooths, if (length(object$smooths) == 0L) {
        "It has no smooth terms."
      } else if (only_wide(object)) {
        "Its smooth terms have too many variables to draw: see \"partial\" and exposure()."
      }, data = smooth_data, gg = gg_smooths
    ),
    fit = if (is_regression(object)) fit_picture(object), calibration = calibration_picture(object),
    partial = partial_picture(object), bound = bound_picture(object), trace = trace_picture(object)
  )
  all <- c(all, residual_pictures(object))
  if (length(object$smooths)) all <- all[union(c("inclusion", "smooth"), names(all))]
  Filter(Negate(is.null), all)
}

#' @exportS3Method
pictures.bkm <- pictures.bsvm

#' @exportS3Method
pictures.gpsvm <- function(object) {
  c(list(
    boundary = boundary_picture(object),
    calibration = calibration_picture(object), partial = partial_picture(object),
    bound = bound_picture(object), trace = trace_picture(object),
    lengthscales = picture(
      draw_lengthscales, if (length(lengthscales(object)) == 0L) "Its kernel has no length-scales.",
      data = lengthscale_data, gg = gg_lengthscales
    )
  ), residual_pictures(object))
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
  all <- c(all, residual_pictures(object))
  if (has_groups(object)) all$ranef <- picture(
    draw_random_effects, data = random_effect_data, gg = gg_random_effects
  )
  all
}
