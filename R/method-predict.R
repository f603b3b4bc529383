#' Predictions
#'
#' @description
#' Classes, probabilities or means for the rows of a fit or for new rows, averaged over the
#' posterior. A group that the fit has not seen is averaged over, too.
#'
#' Quick start:
#' ```
#' data("bdf", package = "nlme")
#' fit <- bkm(langPOST > 40 ~ IQ.verb + ses + (1 | schoolNR), bdf)
#' predict(fit, bdf[1:3, ], type = "prob")
#' ```
#'
#' @param object A fit of any model of the package.
#' @param newdata Data frame with the variables of the formula, its grouping factors and offsets, or
#'   a [row_source()]. Default: the rows of the fit. For a fit to a matrix: a matrix or data frame
#'   with its columns. For several feature spaces: a list of these by name. For a kernel given as a
#'   matrix: the kernel values of the new rows with those of the fit. A [gpsvm()] whose diagonal
#'   varies also needs those with themselves, as last column.
#' @param type For classes:
#'   * `"class"`, the default: a factor;
#'   * `"prob"`: a matrix of class probabilities;
#'   * `"response"`: the probability of the positive class, as for [glm()];
#'   * `"link"`: the mean of the latent value f, whose positive side is the second class, or a
#'     column for each class if there are more;
#'   * `"logprob"`, of [mkprobit()]: logarithms of probabilities.
#'
#'   For counts, `cbind(s, f)`, `"response"`, the default: the rate of successes; `"prob"`, the
#'   rates of both; or `"link"`. Such a row is of many trials and has no class.
#'
#'   For a regression `"response"`, the default, or `"link"`: the mean. `"terms"`, of [bkm()] and
#'   [bsvm()]: what each term adds to f.
#' @param link For support vector machines, how f becomes a probability: `"calibrated"`, see The
#'   calibrated link, the default, but with three or more classes only if each has 30 rows;
#'   `"probit"`; or `"hinge"`, the probability that the loss implies, which is too near to 0 or 1.
#'   Other models have only their own link.
#' @param threshold With two classes: the positive class is predicted when its probability is at
#'   least this number. `"prevalence"`: the share of that class in the fit, for a rare class.
#'   `"margin"`: the sign of the mean of f. Default `NULL`: the more probable class.
#' @param se.fit Also return posterior standard deviations: of f or the mean, with `"prob"` and
#'   `"response"` of the probability.
#' @param interval `"none"`; `"credible"`, or `"confidence"`, for the mean, f or a probability; or
#'   `"prediction"`, for a new response of a regression, or for the number of successes of a [bkm()]
#'   to counts, from draws. `newdata` then has the variables of the response, whose sum are the
#'   trials of the row. A matrix with columns `fit`, `lwr`, `upr`;
#'   with `"prob"` an array, rows x (`fit`, `lwr`, `upr`) x classes. Limits come from a normal
#'   distribution of f. Those of [bark()] and [klr()], and of probabilities of [mkprobit()], are
#'   quantiles of draws.
#' @param level Probability of the interval, default 0.95.
#' @param draws Return draws instead of averages, of what `type` and `interval` say.
#' @param ndraws Number of draws. Default: every stored draw of a sampler (a smaller number takes
#'   evenly spaced ones); 1000 draws from q of a fit without draws.
#' @param re.form `NULL`, the default: with random effects, of known and unknown groups. `"new"`:
#'   every row is of a group that the fit has not seen: probabilities of the population. `NA` or
#'   `~ 0`: without them, f at a group whose effect is 0. With both the grouping factors need not be
#'   in `newdata`.
#' @param terms,exclude For a [bkm()] or [bsvm()], as in [mgcv::predict.gam()]: names of the terms
#'   that count, all others being 0, and of terms that are 0. Names are the columns of
#'   `type = "terms"`, and `"(Intercept)"`. `newdata` need not have the variables of the others.
#' @param newcov For a [bkm()] with correlated units: covariances of new units with those of the
#'   fit, a list named as `cov` was, `list(unit = C)`. `C` has a named row for each new unit and a
#'   column for each unit of `cov`, and for each new one to give its variance. Or a
#'   [unit_low_rank()] of the new units.
#' @param seed For draws and intervals from draws: whole number, or `NULL` for R's generator.
#' @param threads Worker threads.
#' @param ... No further arguments.
#'
#' @return As many rows as `newdata` has, named by its row names where these are no numbers. A row
#'   in which a predictor is missing gives `NA`, or, from a fit with `missing = "model"`, a
#'   prediction that averages over the missing value.
#' * `"class"`: factor; `"prob"`: matrix n x classes; `"link"`, `"response"`: numeric vector, scale
#'   of the data. Levels of the response that no row of the fit has are kept.
#' * With `se.fit = TRUE` a list of `fit` and `se.fit`; with an interval, too, `fit` has its limits.
#' * `"terms"`: matrix n x terms, on the scale of f. Each row adds up to f with the attribute
#'   `"constant"` and the offset. A row with a missing variable gives `NA`.
#' * With `draws = TRUE` a matrix, draws x n; of probabilities of more than two classes an array,
#'   draws x n x classes. For [bkm()] and [bsvm()] its rows are draws of the whole function; for
#'   kernel models each column is a sample of the posterior at its row.
#'
#' @section Intervals of probabilities: A credible interval with `"prob"` or `"response"` is about
#'   the probability of the class, which is uncertain because f is. It is not about the label. It is
#'   wide where the fit knows little of f: limits near 0 and 1 mean that almost any probability is
#'   possible there. `fit` is the mean of the probability over f, the same number as without
#'   `interval`. **Use this mean as the probability of the class**: it contains the uncertainty of
#'   f. Where f is very uncertain and far from 0, the mean can lie outside of the interval.
#'   With more than two classes [mkprobit()], and [bark()] of ordered classes, have intervals and
#'   draws of probabilities. [gpsvm()] has standard deviations of `type = "link"` only.
#'
#' @section The calibrated link: `bsvm()` and `gpsvm()` have no model of the response. Their
#'   probabilities come from a logistic curve whose intercept and slope the fit chooses by left-out
#'   rows, `fit$link`; rows of new groups have numbers of their own. See [svm-posterior].
#'
#' @section New groups: A level of a grouping factor that the fit has not seen has an effect from
#'   its prior. The mean of f has this effect at 0; standard deviations and probabilities include
#'   its variance, and draws contain a simulated effect. The same holds for units that `cov` of
#'   [bkm()] did not have. With `newcov` their effects are predicted from the units of the fit.
#'
#' @section Memory: Rows are taken in slices. An answer above
#'   `getOption("bayeskernel.max_bytes", 8e9)` bytes is refused.
#'
#' @section Errors: `bayeskernel_error_argument` for a missing column, a new
#'   level of a factor among the predictors, or arguments that do not go
#'   together; `bayeskernel_error_dimension` for a matrix of the wrong width.
#'   `bayeskernel_warning_dropped_column`: the fit dropped a column that was constant or that others
#'   determined, and new rows have other values of it.
#'
#' @references Luts, J. and Ormerod, J. T. (2014). *Computational Statistics & Data Analysis* 73,
#'   163-176: `threshold = "margin"`, `link = "probit"`.
#'
#'   Wenzel, F., Galy-Fajou, T., Deutsch, M. and Kloft, M. (2017). *ECML PKDD*, section 4.4, with
#'   the variance and the root that are missing there.
#'
#' @seealso [calibration()], [brier_score()] and [log_loss()] to judge probabilities;
#'   [posterior_predict()][posterior_predict.bayeskernel_fit]; [effects]; [tidymodels];
#'   `vignette("prediction-and-probabilities")`.
#' @examples
#' data("bdf", package = "nlme")
#' fit <- bkm(langPOST > 40 ~ IQ.verb + ses + (1 | schoolNR), bdf)
#' pupil <- data.frame(IQ.verb = 12, ses = 25, schoolNR = c("1", "new"))
#' predict(fit, pupil)
#' predict(fit, pupil, type = "prob", se.fit = TRUE)
#' predict(fit, pupil, type = "link", interval = "credible")
#' # Leave the schools out: the probability in a school with effect 0.
#' predict(fit, pupil, type = "response", re.form = NA)
#' dim(predict(fit, pupil, draws = TRUE, seed = 1))
#' @aliases predict.bkm predict.bsvm predict.gpsvm predict.mkprobit predict.bark predict.klr
#'   predict.seqkr
#' @export
predict.bayeskernel_fit <- function(object, newdata = NULL, type = NULL, link = NULL,
                                    threshold = NULL, se.fit = FALSE, interval = "none",
                                    level = 0.95, draws = FALSE, re.form = NULL, ..., ndraws = NULL,
                                    terms = NULL, exclude = NULL, newcov = NULL, seed = NULL,
                                    threads = getOption("bayeskernel.threads", 2L)) {
  check_whole(object, ...)
  if (is.environment(newdata) || is.function(newdata)) {
    abort_argument(newdata, "newdata", "a data frame, a matrix or a row source")
  }
  if (!is.null(newcov)) object <- with_new_units(object, newcov, newdata)
  draws <- check_flag(draws, "draws")
  # Of counts a prediction interval is of one type.
  if (identical(interval, "prediction") && are_counts(object)) type <- type %||% "response"
  type <- prediction_type(object, type, draws)
  interval <- check_choice(interval, c("none", "credible", "confidence", "prediction"))
  # As lm() has it.
  if (interval == "confidence") interval <- "credible"
  # Draws of what an interval is of.
  if (draws && interval == "credible") interval <- "none"
  ask <- list(
    type = type, link = prediction_link(object, link), threshold = threshold,
    se.fit = check_flag(se.fit, "se.fit"), interval = interval,
    level = check_number(level, 0, 1, "level", closed = FALSE), draws = draws,
    ndraws = if (!is.null(ndraws)) check_count(ndraws, name = "ndraws"),
    groups = check_re_form(re.form), seed = seed, threads = check_threads(threads),
    kept = if (!is.null(terms) || !is.null(exclude)) kept_terms(object, terms, exclude)
  )
  ask$latent <- type == "link" || is_regression(object)
  ask$joint <- !ask$latent && (ask$interval != "none" ||
    (ask$se.fit && length(object$levels) > 2L)) && draws_classes(object)
  # Engines of one model share one meaning: limits are normal unless all sample.
  always <- all(model_of(object)$methods == "sampler")
  ask$sampled <- draws || (ask$interval != "none" && always)
  check_prediction(object, ask)
  if (type == "class") resolve_threshold(threshold, object)
  if (type == "terms") return(predict_terms(object, newdata, ask))
  if (ask$interval == "prediction" && are_counts(object)) {
    return(predict_counts(object, newdata, ask, re.form))
  }
  if (ask$se.fit && ask$interval != "none") {
    one <- function(...) predict_asked(object, newdata, utils::modifyList(ask, list(...)))
    # As predict.lm() has it.
    return(list(
      fit = one(se.fit = FALSE),
      se.fit = one(
        interval = "none", sampled = FALSE, joint = ask$joint && length(object$levels) > 2L
      )$se.fit
    ))
  }
  predict_asked(object, newdata, ask)
}

predict_asked <- function(object, newdata, ask) {
  out <- if (inherits(newdata, "row_source")) {
    predict_source(object, newdata, ask)
  } else if (is.null(newdata)) {
    predict_own(object, ask)
  } else {
    predict_slices(object, newdata, ask)
  }
  type <- ask$type
  if (ask$latent || is.null(object$declared)) return(out)
  with_declared(object, out, if (type == "logprob") -Inf else 0)
}

known_types <- function(object) {
  if (is_regression(object)) {
    c("response", "link")
  } else if (!is.null(object$units)) {
    c("response", "prob", "link")
  } else {
    c("class", "prob", "link", "response", if (inherits(object, "mkprobit")) "logprob")
  }
}

# And those of ordered classes, which have one function.
draws_classes <- function(object) {
  inherits(object, "mkprobit") || identical(object$family, "ordinal") && length(object$levels) > 2L
}

prediction_type <- function(object, type, draws) {
  if (identical(type, "terms")) {
    need_terms(object)
    return(type)
  }
  known <- known_types(object)
  if (identical(type, "class") && are_counts(object)) {
    bk_abort(
      "argument", "A row of counts has no class.",
      sprintf(
        "Use type = \"response\", the rate of \"%s\", or \"prob\", the rates of both.",
        object$levels[2]
      ), column = "type", found = type, expected = known
    )
  }
  if (is_string(type) && type %in% c("class", "prob") && is_regression(object)) {
    bk_abort(
      "argument", "The response of the fit is a number: it has no classes.",
      sprintf("Found: type = \"%s\".", type),
      "Use type = \"response\". To fit classes make the response a factor.",
      column = "type", found = type, expected = known
    )
  }
  if (is.null(type)) return(if (draws && !is_regression(object)) "link" else known[1])
  if (is.character(type) && isTRUE(type %in% known)) return(as.vector(type))
  check_choice(type, c(known, if (is_linear(object)) "terms"), "type")
}

prediction_link <- function(object, link) {
  known <- links_of(object)
  if (identical(link, "calibrated") && is_pseudo(object) && !is_calibrated(object)) {
    abort_uncalibrated(object)
  }
  if (is.null(link)) known[1] else check_choice(link, known, "link")
}

# What cannot be asked for together.
check_prediction <- function(object, ask) {
  refuse_if <- function(wrong, column, header, cure) {
    if (wrong) bk_abort("argument", header, cure, column = column, found = ask[[column]])
  }
  of_class <- ask$type == "class"
  interval <- ask$interval != "none"
  refuse_if(
    of_class && ask$se.fit, "se.fit", "A class has no standard error.",
    "Use type = \"link\" or type = \"prob\"."
  )
  refuse_if(
    of_class && ask$draws, "draws",
    "Draws are of a latent value or of a probability, not of a class.",
    "Use type = \"link\" or type = \"prob\"."
  )
  refuse_if(
    ask$type == "terms" && (ask$draws || interval), if (interval) "interval" else "draws",
    "Terms have standard errors, but neither draws nor intervals.",
    "Use se.fit = TRUE, or type = \"link\" with `terms`."
  )
  refuse_if(
    ask$type == "logprob" && (ask$se.fit || ask$draws), "type",
    "Log probabilities come without standard errors and draws.", "Use type = \"prob\"."
  )
  refuse_if(
    ask$draws && ask$se.fit, "draws", "`draws = TRUE` and `se.fit = TRUE` exclude each other.",
    "Take standard deviations of the columns of the draws."
  )
  refuse_if(
    !of_class && !is.null(ask$threshold), "threshold",
    "`threshold` applies to classes only.", "Use type = \"class\"."
  )
  refuse_if(
    interval && !ask$latent && !(ask$type %in% c("prob", "response")),
    "interval", "Intervals are of latent values and of probabilities.",
    "Use type = \"link\", \"response\" or \"prob\"."
  )
  refuse_if(
    ask$interval == "prediction" && are_counts(object) && ask$type != "response", "type",
    "A prediction interval of counts is of the number of successes.", "Use type = \"response\"."
  )
  refuse_if(
    ask$interval == "prediction" && are_counts(object) && ask$se.fit, "se.fit",
    "A prediction interval of counts comes without standard errors.",
    "Use interval = \"credible\", of the rate."
  )
  refuse_if(
    ask$interval == "prediction" && !is_regression(object) && !are_counts(object), "interval",
    "Prediction intervals are of numeric responses and of counts.",
    "Accepted: interval = \"credible\", of the latent function."
  )
  if (length(object$levels) > 2L) refuse_for_classes(object, ask)
}

# What cannot be asked of more than two classes.
refuse_for_classes <- function(object, ask) {
  several <- has_machines(object)
  joint <- draws_classes(object)
  interval <- ask$interval != "none"
  asked <- c("threshold", "draws", "interval", "se.fit")[c(
    !is.null(ask$threshold), ask$draws && (several || !ask$latent) && !joint,
    interval && several && !joint, ask$se.fit && several && !ask$latent && !joint
  )]
  if (length(asked)) {
    bk_abort(
      "argument", "Some arguments need a fit with two classes.",
      sprintf(
        "Found: `%s`, and %d classes.", paste(asked, collapse = "`, `"), length(object$levels)
      ),
      "Accepted: type = \"class\" or \"prob\", and type = \"link\" with se.fit = TRUE.",
      if (!is.null(ask$threshold)) {
        paste(
          "For rare classes: divide each column of predict(fit, newdata, type = \"prob\") by the",
          "share of its class, and take the largest."
        )
      },
      column = asked[1], found = ask[[asked[1]]]
    )
  }
}

# The rows of the fit, of which it keeps moments; for other answers they are predicted from its
# data. Those that na.exclude took out come back as NA.
predict_own <- function(object, ask) {
  limits <- ask$interval != "none" && !is.null(model_of(object)$limits)
  anew <- ask$groups != "as given" || !is.null(ask$kept) || (ask$sampled && !keeps_rows(object)) ||
    (limits && !is.null(training_data(object)$rows))
  out <- if (anew) {
    predict_slices(object, own_data(object), ask)
  } else {
    by_unit(object, answer(object, NULL, ask, object$n), ask$draws)
  }
  out <- fill_excluded(by_row(object, out, ask$draws), object$na.action, ask$draws)
  with_zero(object, out, predict_slices(object, object$zero$rows, ask), ask$draws)
}

# Answers for the rows of the fit with those for its rows of weight 0 among them.
with_zero <- function(object, own, zero, draws = FALSE) {
  at <- object$zero$at
  if (length(at) == 0L) return(own)
  each_part(join_predictions(list(own, zero), draws), draws, function(part) {
    n <- NROW(part)
    place <- integer(n)
    place[at] <- seq(n - length(at) + 1L, n)
    place[-at] <- seq_len(n - length(at))
    values_at(part, place)
  })
}

without_zero <- function(object, x) {
  if (length(object$zero$at) == 0L) return(x)
  each_part(x, FALSE, function(part) values_at(part, -object$zero$at))
}

fill_excluded <- function(x, action, draws = FALSE) {
  each_part(x, draws, function(part) stats::napredict(action, part))
}

predict_rows <- function(object, newdata, ask, first = 0) {
  if (!is.null(ask$kept)) newdata <- with_unneeded(object, newdata, ask$kept)
  rows <- new_rows(object, newdata, ask$groups, ask$sampled, first)
  if (is.null(ask$kept) && !is.null(rows$undetermined)) warn_undetermined(rows$undetermined, first)
  if (!is.null(ask$kept)) {
    part <- keep_terms(object, rows, ask$kept)
    object <- part$object
    rows <- part$rows
  }
  out <- answer(object, rows, ask, length(rows$complete))
  fill_incomplete(out, rows, ask$draws)
}

# What was asked for, of n rows, or (NULL) of those of the fit.
answer <- function(object, rows, ask, n) {
  if (!is.null(object$link$new)) object$link <- link_of_rows(object$link, rows)
  if (ask$interval != "none" && !ask$latent && !ask$joint) {
    probability_limits(object, rows, ask, n)
  } else if (ask$sampled && (ask$draws || !isTRUE(ask$joint))) {
    answer_draws(object, rows, ask, n)
  } else {
    answer_moments(object, rows, ask)
  }
}

# The limits of f, put through the curve that makes probabilities of it.
probability_limits <- function(object, rows, ask, n) {
  of_f <- ask
  of_f$latent <- TRUE
  limits <- answer(object, rows, of_f, n)
  moments <- latent_by_link(object, rows, ask$link, ask$threads)
  curve <- if (ask$link == "calibrated") {
    at <- moments_of_link(object$link, moments)
    function(f) {
      p <- stats::plogis(calibrated_f(object$link, f, at$mean, at$var))
      lapsed(p, object$link, 2L)
    }
  } else {
    function(f) link_curve(f, ask$link)
  }
  limits_of_two(
    object, ask$type, moments$prob[[ask$link]], curve(limits[, "lwr"]), curve(limits[, "upr"])
  )
}

# Moments as what was asked for.
answer_moments <- function(object, rows, ask) {
  if (isTRUE(ask$joint)) return(class_spread(object, rows, ask))
  links <- if (ask$latent) character() else ask$link
  moments <- latent_by_link(object, rows, links, ask$threads)
  if (ask$interval != "none") {
    own <- model_of(object)$limits
    limits <- if (!is.null(own)) own(object, rows, ask)
    if (!is.null(limits)) return(limits)
    noise <- if (ask$interval == "prediction") noise_variance(object) else 0
    half <- stats::qnorm((1 + ask$level) / 2) * sqrt(moments$var + noise)
    if (is.matrix(half)) {
      return(limits_by_class(moments$mean, moments$mean - half, moments$mean + half))
    }
    return(cbind(fit = moments$mean, lwr = moments$mean - half, upr = moments$mean + half))
  }
  prob <- moments$prob[[ask$link]]
  fit <- if (ask$latent) {
    moments$mean
  } else {
    switch(ask$type,
      class = chosen_class(object, prob, ask$threshold, moments$mean),
      prob = probability_matrix(prob, object$levels),
      response = prob, logprob = moments$log_prob
    )
  }
  if (!ask$se.fit) return(fit)
  if (ask$latent) return(list(fit = fit, se.fit = sqrt(moments$var)))
  sd <- moments$prob_sd[[ask$link]]
  if (ask$link == "calibrated") {
    at <- moments_of_link(object$link, moments)
    f <- calibrated_f(object$link, at$mean, at$mean, at$var)
    sd <- probability_sd(f, object$link$slope^2 * at$var, "logit") *
      (1 - (object$link$lapse %||% 0))
  } else if (is.null(sd) && is.null(object$draws)) {
    sd <- probability_sd(moments$mean, moments$var, ask$link)
  }
  if (is.null(sd)) {
    bk_abort(
      "argument", "The fit keeps no standard errors of probabilities.",
      "Give the rows as `newdata`, or use type = \"link\"."
    )
  }
  list(fit = fit, se.fit = sd)
}

# Rows x limits x classes.
limits_by_class <- function(fit, lower, upper) {
  out <- array(
    c(fit, lower, upper), c(dim(fit), 3L),
    list(rownames(fit), colnames(fit), c("fit", "lwr", "upr"))
  )
  aperm(out, c(1L, 3L, 2L))
}

# Of two classes: for "response" of the positive one, else of both.
limits_of_two <- function(object, type, prob, lower, upper) {
  if (type == "response") return(cbind(fit = prob, lwr = unname(lower), upr = unname(upper)))
  names <- object$levels
  limits_by_class(
    probability_matrix(prob, names), unname(cbind(1 - upper, lower)),
    unname(cbind(1 - lower, upper))
  )
}

# Standard deviations or limits of class probabilities, from draws. The same seed for every call
# that has none: averages do not change from call to call.
class_spread <- function(object, rows, ask, most = 400L) {
  moments <- latent(object, rows, ask$link, ask$threads)
  prob <- moments$prob[[ask$link]]
  n <- NROW(prob)
  take <- ask$ndraws %||% if (is.null(object$draws)) most
  ends <- c(1 - ask$level, 1 + ask$level) / 2
  sd <- moments$prob_sd[[ask$link]]
  if (ask$interval == "none" && !is.null(sd)) return(list(fit = prob, se.fit = sd))
  draws <- with_seed(ask$seed %||% 1L, {
    latent <- latent_draws(object, rows, take, threads = ask$threads)
    draw_probability(object, latent, ask$link)
  })
  size <- dim(draws)
  flat <- matrix(draws, size[1])
  if (ask$interval == "none") {
    centred <- flat - rep(colMeans(flat), each = size[1])
    sd <- matrix(sqrt(colSums(centred^2) / (size[1] - 1)), n, NCOL(prob))
    if (inherits(object, "mkprobit")) sd[] <- sqrt(sd^2 + lapse_sd(object, prob)^2)
    dimnames(sd) <- dimnames(prob)
    return(list(fit = prob, se.fit = sd))
  }
  limits <- column_quantiles(flat, ends)
  if (length(size) == 2L) return(limits_of_two(object, ask$type, prob, limits[1, ], limits[2, ]))
  limits_by_class(prob, matrix(limits[1, ], n), matrix(limits[2, ], n))
}

# Draws x rows, or limits that are quantiles of them: these in parts of some million numbers.
answer_draws <- function(object, rows, ask, n) {
  take <- function(rows) {
    latent_draws(
      object, rows, ask$ndraws, response = ask$interval == "prediction", threads = ask$threads
    )
  }
  if (ask$draws) {
    check_answer_size(n, draw_count(object, ask$ndraws))
    latent <- with_seed(ask$seed, take(rows))
    return(if (ask$latent) latent$f else draw_probability(object, latent, ask$link))
  }
  limits <- function(rows) {
    latent <- take(rows)
    mean <- latent$mean
    if (is.null(mean)) mean <- latent(object, rows, character())$mean
    ends <- column_quantiles(latent$f, c(1 - ask$level, 1 + ask$level) / 2)
    cbind(fit = mean, lwr = ends[1, ], upr = ends[2, ])
  }
  if (is.null(rows)) return(with_seed(ask$seed, limits(NULL)))
  slices <- row_slices(n, draw_count(object, ask$ndraws))
  with_seed(ask$seed, do.call(rbind, lapply(slices, function(at) limits(take_rows(rows, at)))))
}

# predict() with those arguments that were given.
prediction <- function(x, newdata, type, link = NULL, ...) {
  asked <- list(x, newdata = newdata, type = type, link = link, ...)
  out <- do.call(stats::predict, Filter(Negate(is.null), asked))
  if (!is.null(newdata)) return(out)
  out <- without_zero(x, out)
  if (is.null(x$repeats)) return(out)
  each_part(out, FALSE, function(part) values_at(part, x$repeats))
}
