#' Predict from a Bayesian support vector machine
#'
#' Classes, class probabilities and latent values for the rows of the fit or
#' for new ones. The uncertainty of the coefficients, of the random effects and
#' of groups that the fit has not seen is averaged over.
#'
#' @param object A fit by [bsvm()].
#' @param newdata Data frame with the predictors and grouping factors of the
#'   formula (and the variables of `offset()`), or for a fit to a matrix a
#'   matrix or data frame with the same columns: by name if named, else by
#'   position. Default: the rows of the fit.
#' @param type `"class"`: factor; `"prob"`: matrix of class probabilities;
#'   `"link"`: posterior mean of the latent value f, whose positive side is the
#'   second class.
#' @param link How a latent value becomes a probability. `"probit"`, the
#'   default, is \eqn{\Phi(f)}, the better calibrated of the two; `"hinge"` is
#'   the probability that the pseudo-likelihood itself implies, which is too
#'   sure of itself.
#' @param threshold For `"class"`: the positive class is predicted when its
#'   probability is at least this. A number in \[0, 1\], or `"prevalence"`, the
#'   weighted share of the positive class in the rows of the fit. Default
#'   `NULL`: the more probable class, that is 0.5.
#' @param se.fit Also return posterior standard deviations, with `"link"` or
#'   `"prob"`.
#' @param draws Return draws in place of averages: of f, or with
#'   `type = "prob"` of the probability of the positive class.
#' @param n_draws Number of draws. Default: every stored draw of a `"gibbs"`
#'   fit (a smaller number takes evenly spaced ones); 1000 draws from q of a
#'   `"vb"` fit.
#' @param seed For `draws = TRUE`: whole number, or `NULL` for R's generator.
#'   It matters to `"vb"` fits and to groups that the fit has not seen.
#' @param ... No further arguments.
#'
#' @return As many rows as `newdata` has; a row in which a predictor is missing
#'   gives `NA`, or with `missing = "model"` a prediction that averages over
#'   the missing value given the other predictors.
#' * `"class"`: factor with the two classes as levels.
#' * `"prob"`: matrix, n x 2, with the classes as column names.
#' * `"link"`: numeric vector.
#'
#'   With `se.fit = TRUE` a list of `fit` and `se.fit`, a vector of length n:
#'   the posterior standard deviation of f, or of the probability. With
#'   `draws = TRUE` a matrix, draws x n.
#'
#' @section New groups: A level of a grouping factor that the fit has not seen
#'   has an effect from its prior. `"link"` puts it at its mean, 0; standard
#'   deviations and probabilities include its variance: of the same draw for
#'   `"gibbs"`; for `"vb"` the mean of its q. Draws contain a simulated effect,
#'   the same one for all rows of a new level.
#'
#' @section Errors: `bayeskernel_error_argument` for a new level of a fixed
#'   factor, a missing column, or arguments that do not go together;
#'   `bayeskernel_error_dimension` for a matrix of the wrong width.
#'
#' @references Luts, J. and Ormerod, J. T. (2014). Mean field variational
#'   Bayesian inference for support vector machine classification.
#'   *Computational Statistics & Data Analysis* 73, 163-176. Their rule, the
#'   sign of the mean of f, is `predict(type = "link") > 0`.
#'
#' @examples
#' set.seed(1)
#' d <- data.frame(x = rnorm(100), g = gl(10, 10))
#' d$y <- d$x + rnorm(10)[d$g] + rlogis(100) > 0
#' fit <- bsvm(y ~ x + (1 | g), d, threads = 1)
#' new <- data.frame(x = c(0, 1, NA), g = c("3", "new", "3"))
#' predict(fit, new)
#' predict(fit, new, type = "prob")
#' predict(fit, new, type = "link", se.fit = TRUE)
#' dim(predict(fit, new, draws = TRUE, seed = 1))
#' @export
predict.bsvm <- function(object, newdata = NULL,
                         type = c("class", "prob", "link"),
                         link = c("probit", "hinge"), threshold = NULL,
                         se.fit = FALSE, draws = FALSE, n_draws = NULL,
                         seed = NULL, ...) {
  check_no_dots(...)
  given <- !missing(type)
  type <- check_choice(type, c("class", "prob", "link"), "type")
  link <- check_choice(link, c("probit", "hinge"), "link")
  se.fit <- check_flag(se.fit, "se.fit")
  draws <- check_flag(draws, "draws")
  if (draws && !given) type <- "link"
  check_predict_choices(type, threshold, se.fit, draws)
  if (inherits(newdata, "row_source")) {
    return(predict_source(
      object, newdata, type, link, threshold, se.fit, draws, n_draws, seed
    ))
  }
  if (draws) {
    return(predict_draws(object, newdata, type, link, n_draws, seed))
  }
  cut <- resolve_threshold(threshold, object)
  moments <- if (is.null(newdata)) {
    fitted_moments(object, link)
  } else {
    new_moments(object, newdata, link)
  }
  fit <- switch(type,
    link = moments$mean,
    prob = probability_matrix(moments$prob, object$levels),
    class = class_factor(moments$prob, cut, object$levels)
  )
  if (!se.fit) {
    return(fit)
  }
  se <- if (type == "link") {
    sqrt(moments$var)
  } else {
    probability_sd(object, moments, link)
  }
  list(fit = fit, se.fit = se)
}

check_predict_choices <- function(type, threshold, se.fit, draws) {
  refuse <- function(header, cure) {
    bk_abort("argument", header, cure, found = type)
  }
  if (type == "class" && se.fit) {
    refuse(
      "A class has no standard error.",
      "Use type = \"link\" or type = \"prob\"."
    )
  }
  if (type == "class" && draws) {
    refuse(
      "Draws are of a latent value or of a probability, not of a class.",
      "Use type = \"link\" or type = \"prob\"."
    )
  }
  if (draws && se.fit) {
    refuse(
      "`draws = TRUE` and `se.fit = TRUE` exclude each other.",
      "Take standard deviations of the columns of the draws."
    )
  }
  if (type != "class" && !is.null(threshold)) {
    refuse(
      "`threshold` applies to classes only.", "Use type = \"class\"."
    )
  }
}

resolve_threshold <- function(threshold, object) {
  if (is.null(threshold)) {
    return(0.5)
  }
  if (identical(threshold, "prevalence")) {
    if (!is.null(object$share)) {
      return(object$share)
    }
    return(sum(object$weights[object$y > 0]) / sum(object$weights))
  }
  if (is.character(threshold)) {
    abort_argument(
      threshold, "threshold", "a number from 0 to 1, or \"prevalence\""
    )
  }
  check_number(threshold, 0, 1, "threshold")
}

probability_matrix <- function(prob, levels) {
  matrix(c(1 - prob, prob), length(prob), 2, dimnames = list(NULL, levels))
}

# Equal probabilities go to the positive class (svm.md section 8).
class_factor <- function(prob, cut, levels) {
  factor(levels[1L + (prob >= cut)], levels)
}

new_moments <- function(object, newdata, link) {
  new <- new_rows(object, newdata)
  complete <- which(new$complete)
  moments <- predict_moments(object, take_rows(new, complete), link)
  lapply(moments, spread, complete, length(new$complete))
}

new_rows <- function(object, newdata) {
  new <- design_new(object$design, newdata, call = user_call())
  new$random <- forget_groups(object, new$random)
  new
}

# A sampler that stored no random effects knows none of its groups.
forget_groups <- function(object, random) {
  for (t in seq_along(random)) {
    if (is.null(object$posterior$random[[t]]$mean)) {
      random[[t]]$group[] <- 0L
    }
  }
  random
}

# Names of groups, so that rows of one unseen group share its effect.
group_names <- function(info, newdata) {
  lapply(info$random, function(term) {
    leaves <- lapply(term$leaves, function(leaf) {
      as.character(eval(str2lang(leaf), newdata, info$env))
    })
    do.call(paste, c(leaves, sep = ":"))
  })
}

take_rows <- function(new, rows) {
  if (length(rows) == nrow(new$x)) {
    return(new)
  }
  list(
    x = new$x[rows, , drop = FALSE], offset = new$offset[rows],
    holes = take_holes(new$holes, rows),
    random = lapply(new$random, function(term) {
      term$z <- term$z[rows, , drop = FALSE]
      term$group <- term$group[rows]
      term$name <- term$name[rows]
      term
    })
  )
}

spread <- function(values, at, n) {
  if (length(values) == n) {
    return(values)
  }
  out <- rep(NA_real_, n)
  out[at] <- values
  out
}

# What the fit keeps about its own rows, in their order.
kept_moments <- function(object, link) {
  kept <- object$fitted
  if (is.null(kept)) {
    bk_abort(
      "argument", "The fit keeps nothing about the rows of its source.",
      "Give rows, or the row source, as `newdata`."
    )
  }
  prob <- if (object$method == "gibbs") {
    kept[[link]]
  } else {
    link_probability(kept$mean, kept$var, link)
  }
  list(mean = kept$mean, var = kept$var, prob = prob)
}

# Rows that na.exclude took out come back as NA.
fitted_moments <- function(object, link) {
  lapply(kept_moments(object, link), stats::napredict, omit = object$na.action)
}

# For "vb" by the trapezoidal rule over f ~ N(mean, var), which converges
# geometrically for the probit curve.
probability_sd <- function(object, moments, link) {
  if (object$method == "gibbs") {
    if (is.null(moments$prob_sd)) {
      bk_abort(
        "argument", "The fit keeps no standard errors of probabilities.",
        "Give the rows as `newdata`, or use type = \"link\"."
      )
    }
    return(moments$prob_sd)
  }
  nodes <- seq(-8, 8, by = 0.1)
  weights <- stats::dnorm(nodes) / sum(stats::dnorm(nodes))
  sd <- sqrt(moments$var)
  first <- second <- 0
  for (k in seq_along(nodes)) {
    p <- link_curve(moments$mean + sd * nodes[k], link)
    first <- first + weights[k] * p
    second <- second + weights[k] * p^2
  }
  sqrt(pmax(second - first^2, 0))
}

predict_draws <- function(object, newdata, type, link, n_draws, seed) {
  if (!is.null(n_draws)) n_draws <- check_count(n_draws, name = "n_draws")
  if (is.null(n_draws) && object$method != "gibbs") n_draws <- 1000L
  if (is.null(newdata)) {
    bk_abort(
      "argument", "Draws need `newdata`: the fit keeps no predictors.",
      "Give the data of the fit, or other rows."
    )
  }
  new <- new_rows(object, newdata)
  names <- group_names(object$design, newdata)
  for (t in seq_along(names)) new$random[[t]]$name <- names[[t]]
  complete <- which(new$complete)
  part <- take_rows(new, complete)
  part$uses <- data_uses(object, part)
  f <- with_seed(seed, {
    draw_predictor(draw_parts(object, used_levels(part), n_draws), part)
  })
  if (type == "prob") f <- link_curve(f, link)
  if (length(complete) == length(new$complete)) {
    return(f)
  }
  out <- matrix(NA_real_, nrow(f), length(new$complete))
  out[, complete] <- f
  out
}
