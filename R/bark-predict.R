#' Predict from Bayesian additive regression or classification kernels
#'
#' Means, classes, probabilities and latent values for the rows of the fit or
#' for new ones, averaged over all draws, with the coefficients of each draw
#' integrated out.
#'
#' @param object A fit by [bark()].
#' @param newdata Data frame with the variables of the formula, or for a fit to
#'   a matrix a matrix or data frame with the same columns: by name if named,
#'   else by position. Default: the rows of the fit.
#' @param type Of a regression `"response"`, the mean of the response. Of
#'   classes `"class"`, the default: a factor; `"prob"`: matrix of class
#'   probabilities; `"link"`: posterior mean of the latent function.
#' @param threshold For `"class"` of two: the positive class is predicted when
#'   its probability is at least this. A number in \[0, 1\], or `"prevalence"`,
#'   the share of the positive class in the rows of the fit. Default `NULL`: the
#'   more probable class.
#' @param se.fit Also return posterior standard deviations: of the function, or
#'   with `"prob"` of the probability of the positive class, with more than two
#'   classes of each.
#' @param interval `"credible"`, for the function (`"response"`, `"link"`), or
#'   `"prediction"`, for a new response (`"response"`): a matrix with columns
#'   `fit`, `lwr`, `upr`. The limits are quantiles of one draw for each stored
#'   one.
#' @param level Probability of the interval, default 0.95.
#' @param draws Return draws in place of averages: of the function, with
#'   `interval = "prediction"` of a new response, with `type = "prob"` of the
#'   probability of the positive class (two classes).
#' @param n_draws Number of draws, default and at most all stored ones.
#' @param seed For intervals and draws: whole number, or `NULL` for R's
#'   generator.
#' @param threads Worker threads.
#' @param ... No further arguments.
#' @return As many rows as `newdata` has; a row in which a predictor is missing
#'   gives `NA`. `"response"`, `"link"`: numeric vector, scale of the data for
#'   `"response"`; `"class"`: factor; `"prob"`: matrix n x classes with the
#'   classes as column names. With `se.fit = TRUE` a list of `fit` and `se.fit`.
#'   With `draws = TRUE` a matrix, draws x n, whose columns are right one by
#'   one: coefficients are drawn apart for every row.
#' @section Errors: `bayeskernel_error_argument` for a missing column, a new
#'   level of a factor or arguments that do not go together;
#'   `bayeskernel_error_dimension` for a matrix of the wrong width.
#' @references Ouyang, Z. (2008). *Bayesian additive regression kernels*. PhD
#'   thesis, Duke University, chapter 3; its probabilities are signs of the mean
#'   of f.
#' @examples
#' set.seed(1)
#' x <- matrix(runif(120, -2, 2), 60, 2)
#' y <- rowSums(x^2) + rnorm(60) / 2 > 2.5
#' # Far longer chains are needed in earnest.
#' fit <- bark(x, y, family = "binomial", chains = 1, warmup = 2000,
#'   draws = 200, thin = 10, threads = 1, seed = 1)
#' new <- rbind(c(0, 0), c(2, 1), c(NA, 1))
#' predict(fit, new)
#' predict(fit, new, type = "prob", se.fit = TRUE)
#' predict(fit, new, type = "link", interval = "credible", seed = 1)
#' @export
predict.bark <- function(object, newdata = NULL,
                         type = c("response", "class", "prob", "link"),
                         threshold = NULL, se.fit = FALSE,
                         interval = c("none", "credible", "prediction"),
                         level = 0.95, draws = FALSE, n_draws = NULL,
                         seed = NULL,
                         threads = getOption("bayeskernel.threads", 2L),
                         ...) {
  check_no_dots(...)
  se.fit <- check_flag(se.fit, "se.fit")
  draws <- check_flag(draws, "draws")
  type <- bark_type(object, if (missing(type)) NULL else type, draws)
  interval <- check_choice(
    interval, c("none", "credible", "prediction"), "interval"
  )
  level <- check_number(level, 0, 1, "level", closed = FALSE)
  threads <- check_threads(threads)
  check_predict_choices(type, threshold, se.fit, draws)
  check_bark_choices(object, type, threshold, interval, draws)
  if (draws || interval != "none") {
    f <- bark_new_draws(
      object, newdata, n_draws, interval == "prediction", seed, threads,
      if (!draws) c(1 - level, 1 + level) / 2
    )
    if (!draws) {
      return(cbind(fit = f[1, ], lwr = f[2, ], upr = f[3, ]))
    }
    return(if (type == "prob") stats::pnorm(f) else f)
  }
  moments <- if (is.null(newdata)) {
    bark_kept_moments(object)
  } else {
    bark_new_moments(object, newdata, threads)
  }
  fit <- switch(type,
    prob = class_probabilities(moments$prob, object$levels),
    class = bark_class(object, moments$prob, threshold),
    moments$mean
  )
  if (!se.fit) {
    return(fit)
  }
  list(
    fit = fit,
    se.fit = if (type == "prob") moments$prob_sd else sqrt(moments$var)
  )
}

bark_type <- function(object, type, draws, call = user_call()) {
  known <- if (is_regression(object)) {
    "response"
  } else {
    c("class", "prob", "link")
  }
  if (is.null(type)) {
    return(if (draws) known[length(known)] else known[1])
  }
  check_choice(type, known, "type", call = call)
}

is_regression <- function(object) length(object$levels) == 0L

check_bark_choices <- function(object, type, threshold, interval, draws) {
  if (interval != "none" && type %in% c("class", "prob")) {
    bk_abort(
      "argument", "Intervals are of latent values.",
      "Use type = \"link\", and se.fit = TRUE for probabilities.",
      column = "interval", found = type
    )
  }
  if (interval == "prediction" && !is_regression(object)) {
    bk_abort(
      "argument", "Prediction intervals are of numeric responses.",
      "Accepted: interval = \"credible\", of the latent function.",
      column = "interval", found = interval
    )
  }
  asked <- c(
    if (!is.null(threshold)) "threshold",
    if (draws && type == "prob") "draws"
  )
  if (length(object$levels) > 2L && length(asked)) {
    bk_abort(
      "argument", "Some arguments need a fit with two classes.",
      sprintf(
        "Found: `%s`, and %d classes.", paste(asked, collapse = "`, `"),
        length(object$levels)
      ),
      column = asked[1], found = asked
    )
  }
}

bark_class <- function(object, prob, threshold = NULL) {
  out <- chosen_class(object, prob, threshold)
  if (object$family == "ordinal") {
    factor(out, object$levels, ordered = TRUE)
  } else {
    out
  }
}

# What the core reads of the draws `take`, chain after chain; NULL for all.
bark_core_draws <- function(object, take = NULL) {
  flat <- stack_chains(object$draws)
  names <- colnames(flat)
  kernels <- join_kernels(object$posterior$kernels)
  if (!is.null(take)) {
    flat <- flat[take, , drop = FALSE]
    last <- cumsum(kernels$size)[take]
    kernels$size <- kernels$size[take]
    at <- sequence(kernels$size, last - kernels$size + 1L)
    for (name in c("location", "variance", "mean")) {
      kernels[[name]] <- kernels[[name]][at]
    }
  }
  part <- function(prefix) {
    unname(flat[, startsWith(names, prefix), drop = FALSE])
  }
  list(
    kernels = kernels, lambda = part("lambda["),
    phi = if (is_regression(object)) flat[, "phi"] else rep(1, nrow(flat)),
    cuts = part("cut["), classes = length(object$levels)
  )
}

# Moments of f on the scale of the data, and of class probabilities, for rows on
# the scale of the model. Vectors for two classes, matrices for more.
bark_moments <- function(object, x, threads, call = user_call()) {
  classes <- length(object$levels)
  out <- if (nrow(x) == 0L) {
    list(
      mean = numeric(), var = numeric(), prob = matrix(0, 0L, classes),
      prob_sd = matrix(0, 0L, classes)
    )
  } else {
    core_call(bark_predict_cpp(
      bark_core_draws(object), object$posterior$x, x, threads
    ), call)
  }
  to_data <- object$transform$response
  moments <- list(
    mean = to_data[1] + to_data[2] * out$mean, var = to_data[2]^2 * out$var
  )
  if (classes == 0L) {
    return(moments)
  }
  chances <- lapply(out[c("prob", "prob_sd")], function(each) {
    if (classes == 2L) {
      return(each[, 2])
    }
    colnames(each) <- object$levels
    each
  })
  c(moments, chances)
}

bark_new_moments <- function(object, newdata, threads, call = user_call()) {
  new <- bark_new_rows(object, newdata, call)
  lapply(
    bark_moments(object, new$x, threads, call), spread_rows, new$complete,
    new$n
  )
}

# Rows that na.exclude took out come back as NA.
bark_kept_moments <- function(object) {
  lapply(object$fitted, stats::napredict, omit = object$na.action)
}

# One f ~ N(mean, var) for every draw and row, with the noise of a new response
# if asked: draws x rows, or only the mean of f and their quantiles. Rows are
# taken in parts of some million numbers.
bark_new_draws <- function(object, newdata, n_draws, noise, seed, threads,
                           quantiles = NULL, call = user_call()) {
  new <- if (is.null(newdata)) {
    bark_own_rows(object)
  } else {
    bark_new_rows(object, newdata, call)
  }
  total <- prod(dim(object$draws)[1:2])
  take <- NULL
  if (!is.null(n_draws)) {
    n_draws <- check_count(n_draws, name = "n_draws", call = call)
    if (n_draws < total) take <- round(seq(1, total, length.out = n_draws))
  }
  core <- bark_core_draws(object, take)
  to_data <- object$transform$response
  size <- max(1, 4e6 %/% length(core$phi))
  rows <- nrow(new$x)
  draw_part <- function(first) {
    part <- first + seq_len(min(size, rows - first))
    f <- core_call(bark_latent_cpp(
      core, object$posterior$x, new$x[part, , drop = FALSE], threads
    ), call)
    if (noise) f$var <- f$var + 1 / core$phi
    drawn <- f$mean + sqrt(f$var) * stats::rnorm(length(f$mean))
    if (is.null(quantiles)) {
      drawn
    } else {
      rbind(
        colMeans(f$mean),
        apply(drawn, 2, stats::quantile, quantiles, names = FALSE)
      )
    }
  }
  parts <- with_seed(
    seed, lapply(if (rows > 0L) seq(0, rows - 1, by = size), draw_part)
  )
  out <- matrix(
    NA_real_, if (is.null(quantiles)) length(core$phi) else 3L, new$n
  )
  if (length(parts)) {
    out[, new$complete] <- to_data[1] + to_data[2] * do.call(cbind, parts)
  }
  out
}
