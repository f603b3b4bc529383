#' Predict from a Bayesian nonlinear support vector machine
#'
#' Classes, class probabilities and latent values for the rows of the fit or for
#' new ones.
#'
#' @param object A fit by [gpsvm()].
#' @param newdata Data frame with the variables of the formula, or for a fit to
#'   a matrix a matrix or data frame with the same columns: by name if named,
#'   else by position; a [row_source()] with these columns; for a precomputed
#'   kernel its values, new rows by training rows (and in a last column, if they
#'   vary, the values of the new rows with themselves). Default: the rows of the
#'   fit.
#' @param type `"class"`: factor; `"prob"`: matrix of class probabilities;
#'   `"link"`: posterior mean of the latent value f, whose positive side is the
#'   second class; for more than two classes a matrix with a column for each
#'   machine.
#' @param link How f becomes a probability. `"probit"`, the default:
#'   \eqn{\Phi(m / \sqrt{1 + v})}{Phi(m / sqrt(1 + v))} for mean m and variance v
#'   of f, a convention with the better Brier score; `"hinge"`: the probability
#'   that the pseudo-likelihood itself implies, which is too sure of itself.
#'   With more than two classes the machines' probabilities are divided by their
#'   sum.
#' @param threshold For `"class"` of two: the positive class is predicted when
#'   its probability is at least this. A number in \[0, 1\], or `"prevalence"`,
#'   the weighted share of the positive class in the rows of the fit. Default
#'   `NULL`: the more probable class.
#' @param se.fit Also return posterior standard deviations, with `"link"` of f,
#'   with `"prob"` of the probability of the positive class (two classes).
#' @param interval `"credible"`, with `"link"` and two classes: a matrix with
#'   columns `fit`, `lwr`, `upr`, the interval of probability `level` for f.
#' @param level Probability of the interval, default 0.95.
#' @param draws Return draws in place of averages (two classes): of f, or with
#'   `type = "prob"` of the probability of the positive class.
#' @param n_draws Number of draws; default every stored draw of a `"gibbs"` fit,
#'   1000 from q otherwise.
#' @param seed For `draws = TRUE`: whole number, or `NULL` for R's generator.
#' @param threads Worker threads.
#' @param ... No further arguments.
#' @return As many rows as `newdata` has; a row in which a predictor is missing
#'   gives `NA`. `"class"`: factor; `"prob"`: matrix n x classes with the classes
#'   as column names; `"link"`: numeric vector, or matrix. With `se.fit = TRUE` a
#'   list of `fit` and `se.fit`. With `draws = TRUE` a matrix, draws x n, whose
#'   columns are right one by one: the part of f that the inducing points leave
#'   open is drawn apart for every row.
#' @section Errors: `bayeskernel_error_argument` for a missing column or
#'   arguments that do not go together; `bayeskernel_error_dimension` for a
#'   matrix of the wrong width.
#' @references Wenzel, F., Galy-Fajou, T., Deutsch, M. and Kloft, M. (2017),
#'   section 4.4, with the variance and the root that are missing there.
#' @examples
#' set.seed(1)
#' x <- matrix(rnorm(300), 150, 2)
#' y <- x[, 1]^2 + x[, 2] + rnorm(150) / 2 > 1
#' fit <- gpsvm(x, y, threads = 1, seed = 1)
#' new <- rbind(c(0, 0), c(2, 1), c(NA, 1))
#' predict(fit, new)
#' predict(fit, new, type = "prob")
#' predict(fit, new, type = "link", interval = "credible")
#' @export
predict.gpsvm <- function(object, newdata = NULL,
                          type = c("class", "prob", "link"),
                          link = c("probit", "hinge"), threshold = NULL,
                          se.fit = FALSE, interval = c("none", "credible"),
                          level = 0.95, draws = FALSE, n_draws = NULL,
                          seed = NULL,
                          threads = getOption("bayeskernel.threads", 2L),
                          ...) {
  check_no_dots(...)
  given <- !missing(type)
  type <- check_choice(type, c("class", "prob", "link"), "type")
  link <- check_choice(link, c("probit", "hinge"), "link")
  interval <- check_choice(interval, c("none", "credible"), "interval")
  level <- check_number(level, 0, 1, "level", closed = FALSE)
  se.fit <- check_flag(se.fit, "se.fit")
  draws <- check_flag(draws, "draws")
  threads <- check_threads(threads)
  if (draws && !given) type <- "link"
  check_predict_choices(type, threshold, se.fit, draws)
  check_two_machines(object, type, threshold, se.fit, interval, draws)
  if (inherits(newdata, "row_source")) {
    return(predict_source(
      object, newdata, type, link, threshold, se.fit, draws, n_draws, seed
    ))
  }
  if (draws) {
    return(gpsvm_draws(object, newdata, type, link, n_draws, seed, threads))
  }
  moments <- if (is.null(newdata)) {
    gpsvm_kept_moments(object, link)
  } else {
    gpsvm_moments(object, newdata, link, threads)
  }
  if (interval == "credible") {
    half <- stats::qnorm((1 + level) / 2) * sqrt(moments$var)
    return(cbind(
      fit = moments$mean, lwr = moments$mean - half, upr = moments$mean + half
    ))
  }
  fit <- switch(type,
    link = moments$mean,
    prob = class_probabilities(moments$prob, object$levels),
    class = chosen_class(object, moments$prob, threshold)
  )
  if (!se.fit) {
    return(fit)
  }
  list(fit = fit, se.fit = if (type == "link") {
    sqrt(moments$var)
  } else {
    gpsvm_probability_sd(object, moments, link)
  })
}

check_two_machines <- function(object, type, threshold, se.fit, interval,
                               draws) {
  if (interval == "credible" && type != "link") {
    bk_abort(
      "argument", "Intervals are of latent values.",
      "Use type = \"link\", and se.fit = TRUE for probabilities.",
      column = "interval", found = type
    )
  }
  asked <- c(
    if (!is.null(threshold)) "threshold", if (draws) "draws",
    if (interval == "credible") "interval",
    if (se.fit && type == "prob") "se.fit"
  )
  if (length(object$levels) > 2L && length(asked)) {
    bk_abort(
      "argument", "Some arguments need a fit with two classes.",
      c(
        sprintf(
          "Found: `%s`, and %d classes.", paste(asked, collapse = "`, `"),
          length(object$levels)
        ),
        "Accepted: type = \"class\", \"prob\" or \"link\"."
      ),
      column = asked[1], found = asked
    )
  }
}

# Mean, variance and probability of f: vectors for two classes, else matrices.
gpsvm_moments <- function(object, newdata, link, threads,
                          call = user_call()) {
  new <- gpsvm_new_rows(object, newdata, call)
  out <- if (length(new$complete) == 0L) {
    empty_moments(object)
  } else if (object$method == "gibbs") {
    gibbs_process_moments(object, new$data, link, threads)
  } else {
    q_moments(object, new$data, link, threads)
  }
  lapply(out, spread_rows, new$complete, new$n)
}

empty_moments <- function(object) {
  none <- if (length(object$levels) > 2L) {
    matrix(0, 0L, length(object$levels))
  } else {
    numeric()
  }
  list(mean = none, var = none, prob = none)
}

q_moments <- function(object, data, link, threads) {
  posterior <- object$posterior
  out <- core_call(gpsvm_predict_cpp(
    data, posterior$kernel, posterior$z, posterior$nugget,
    unname(posterior$machines), threads
  ))
  out <- lapply(out, name_machines, object$levels)
  out$prob <- machine_probability(out$mean, out$var, link)
  out
}

# A column for each machine, or a vector for the only one.
name_machines <- function(x, levels) {
  if (length(levels) == 2L) {
    return(drop(x[, 1]))
  }
  colnames(x) <- levels
  x
}

machine_probability <- function(mean, var, link) {
  prob <- link_probability(mean, var, link)
  if (!is.matrix(mean)) {
    return(as.vector(prob))
  }
  dim(prob) <- dim(mean)
  colnames(prob) <- colnames(mean)
  # Far from every class all are 0.
  prob <- pmax(prob, .Machine$double.xmin)
  prob / rowSums(prob)
}

gpsvm_kept_moments <- function(object, link) {
  kept <- object$fitted
  if (is.null(kept)) {
    bk_abort(
      "argument", "The fit keeps nothing about its rows, which are too many.",
      "Give rows, or the row source, as `newdata`."
    )
  }
  out <- list(
    mean = name_kept(kept$mean, object), var = name_kept(kept$var, object)
  )
  out$prob <- if (is.null(kept[[link]])) {
    machine_probability(out$mean, out$var, link)
  } else {
    kept[[link]]
  }
  if (is.null(object$na.action)) {
    return(out)
  }
  lapply(out, function(x) stats::napredict(object$na.action, x))
}

name_kept <- function(x, object) {
  if (is.matrix(x)) colnames(x) <- object$levels
  x
}

class_probabilities <- function(prob, levels) {
  if (is.matrix(prob)) prob else probability_matrix(prob, levels)
}

chosen_class <- function(object, prob, threshold) {
  if (!is.matrix(prob)) {
    return(class_factor(
      prob, resolve_threshold(threshold, object), object$levels
    ))
  }
  best <- rep(NA_integer_, nrow(prob))
  there <- which(!is.na(prob[, 1]))
  best[there] <- max.col(prob[there, , drop = FALSE], "first")
  factor(object$levels[best], object$levels)
}

spread_rows <- function(values, at, n) {
  if (!is.matrix(values)) {
    return(spread(values, at, n))
  }
  if (nrow(values) == n) {
    return(values)
  }
  out <- matrix(NA_real_, n, ncol(values), dimnames = list(
    NULL, colnames(values)
  ))
  out[at, ] <- values
  out
}

gpsvm_probability_sd <- function(object, moments, link) {
  if (object$method == "gibbs") {
    return(moments$prob_sd)
  }
  probability_sd(object, moments, link)
}

gpsvm_draws <- function(object, newdata, type, link, n_draws, seed, threads,
                        call = user_call()) {
  if (!is.null(n_draws)) n_draws <- check_count(n_draws, name = "n_draws")
  if (is.null(newdata)) {
    bk_abort(
      "argument", "Draws need `newdata`: the fit keeps no predictors.",
      "Give the data of the fit, or other rows."
    )
  }
  new <- gpsvm_new_rows(object, newdata, call)
  f <- with_seed(seed, {
    points <- whitened_draws(object, n_draws)
    if (length(new$complete) == 0L) {
      matrix(0, nrow(points), 0)
    } else {
      latent <- latent_draws(object, new$data, points, threads)
      noise <- rep(sqrt(latent$residual), ncol(latent$f)) *
        stats::rnorm(length(latent$f))
      t(latent$f + noise)
    }
  })
  if (type == "prob") f <- link_curve(f, link)
  if (length(new$complete) == new$n) {
    return(f)
  }
  out <- matrix(NA_real_, nrow(f), new$n)
  out[, new$complete] <- f
  out
}

# Draws x m of the whitened process at the inducing points.
whitened_draws <- function(object, n_draws) {
  posterior <- object$posterior
  if (object$method == "gibbs") {
    flat <- stack_chains(object$draws)
    if (!is.null(n_draws) && n_draws < nrow(flat)) {
      flat <- flat[round(seq(1, nrow(flat), length.out = n_draws)), ,
        drop = FALSE
      ]
    }
    return(t(forwardsolve(posterior$factor, t(flat))))
  }
  machine <- posterior$machines[[1]]
  m <- length(machine$mean)
  if (is.null(n_draws)) n_draws <- 1000L
  z <- matrix(stats::rnorm(n_draws * m), n_draws, m)
  z %*% machine$whitener + rep(machine$mean, each = n_draws)
}

latent_draws <- function(object, data, points, threads) {
  posterior <- object$posterior
  core_call(gpsvm_latent_cpp(
    data, posterior$kernel, posterior$z, posterior$nugget, t(points), threads
  ))
}
