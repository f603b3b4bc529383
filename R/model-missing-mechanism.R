# Predictors that are missing not at random: a probit model of being missing, given the predictor
# itself and others (Luts and Ormerod, section 3.3; Faes, Ormerod and Wand 2011). It weighs the
# completed rows: Phi(eta) where the predictor is missing. Its coefficients, the law of the
# predictors and the fit follow each other in steps of EM.

#' Predictors that are missing not at random
#'
#' `missing = "model"` takes values as missing at random: whether one is missing may depend on what
#' is seen, not on the value itself. `missing = mnar(x ~ x)` adds a model of being missing,
#' \eqn{P(x \mathrm{\ missing}) = \Phi(a_0 + a_1 x + ...)}, for [bkm()] and [bsvm()].
#'
#' The data say little about the slope of `x` itself: what they say comes from the assumed normal
#' law of the predictors and from the response. Compare `estimate` and `sd` with the prior, N(0,
#' 2.5^2), and fit again with a few fixed values of `slope`. If the coefficients of interest stay
#' where they are, what is assumed of the missing values does not matter.
#'
#' All slopes are for a predictor that is centered and scaled by the mean and standard deviation of
#' its observed values. They are estimated by EM and then held: intervals of the other coefficients
#' do not count their uncertainty. New rows that miss `x` are averaged under the same mechanism.
#'
#' @param formula `x ~ x + z`: on the left the predictor that is missing, on the right numeric
#'   predictors of the model that being missing depends on.
#' @param slope Named numbers, such as `c(x = 1)`: slopes that are held at these values.
#' @param object A fit with `missing = mnar()`.
#'
#' @param ... Not used: what is not among these arguments is an error.
#' @return `mnar()`: an object for the argument `missing`. `mechanism()`: a data frame with a row
#'   for each coefficient of the mechanism, and `estimate`, `sd` (given the other estimates; `NA`
#'   where it is held) and `prior_sd`.
#' @section Errors: `bayeskernel_error_argument` for what is no such formula, and for variables that
#'   are not numeric predictors of the model.
#' @references Faes, C., Ormerod, J. T. and Wand, M. P. (2011). Variational Bayesian inference for
#'   parametric and nonparametric regression with missing data. *Journal of the American Statistical
#'   Association* 106, 959-971.
#' @seealso [imputed()]; `vignette("missing-predictors")`.
#' @examples
#' set.seed(1)
#' d <- data.frame(x = rnorm(300), z = rnorm(300))
#' d$y <- 1 + d$x + d$z / 2 + rnorm(300)
#' d$x[runif(300) < pnorm(-0.5 + 1.5 * d$x)] <- NA # large values are missing
#' fit <- bkm(y ~ x + z, d, missing = mnar(x ~ x))
#' mechanism(fit)
#' # Fixed slopes: how far do the coefficients move?
#' sapply(c(0, 1, 2), function(a) {
#'   coef(bkm(y ~ x + z, d, missing = mnar(x ~ x, slope = c(x = a))))
#' })
#' @export
mnar <- function(formula, slope = NULL, ...) {
  refuse_others(...)
  check_given("formula")
  if (!inherits(formula, "formula") || length(formula) != 3L || !is.name(formula[[2L]])) {
    abort_argument(formula, "formula", "a formula such as x ~ x + z")
  }
  on <- attr(stats::terms(formula), "term.labels")
  known <- all.vars(formula[[3L]])
  if (length(on) == 0L || !setequal(on, known)) {
    abort_argument(formula, "formula", "names of predictors on the right, joined by +")
  }
  if (!is.null(slope)) {
    if (!is.numeric(slope) || is.null(names(slope)) || !all(is.finite(slope)) ||
      anyDuplicated(names(slope)) || !all(names(slope) %in% on)) {
      abort_argument(slope, "slope", paste("finite numbers with names among", list_some(on)))
    }
  }
  structure(
    list(variable = as.character(formula[[2L]]), on = on, slope = slope), class = "bayeskernel_mnar"
  )
}

#' @rdname mnar
#' @export
mechanism <- function(object) {
  check_given("object")
  own <- object$holes$model$mechanism
  if (is.null(own)) {
    bk_abort(
      "argument", "This fit has no model of being missing.",
      "Accepted: a fit with `missing = mnar(x ~ x)`.", column = "object"
    )
  }
  data.frame(
    term = c("(Intercept)", own$on), estimate = own$coef, sd = own$sd, prior_sd = mechanism_prior_sd
  )
}

mechanism_prior_sd <- 2.5

# Of the argument `missing`: the mechanism stands apart, the rest goes as "model".
take_mechanism <- function(settings) {
  if (!inherits(settings$missing, "bayeskernel_mnar")) return(settings)
  settings$mechanism <- settings$missing
  settings$missing <- "model"
  if (settings$method == "vb" && !isFALSE(settings$select %||% FALSE)) {
    bk_abort(
      "argument", "mnar() does not select by method = \"vb\".",
      "Accepted with `select`: method = \"gibbs\".", column = "missing"
    )
  }
  settings
}

# With the columns of `holes$x`, on a scale of mean 0 and sd 1, and where EM begins.
start_mechanism <- function(own, holes) {
  known <- holes$predictors
  gone <- setdiff(c(own$variable, own$on), known)
  if (length(gone) > 0L) {
    bk_abort(
      "argument", fit_header("mnar(): `%s` is no numeric predictor here.", gone[1]),
      paste("Accepted: variables of the model among", list_some(known)),
      column = gone[1], found = gone
    )
  }
  own$target <- match(own$variable, known)
  own$columns <- match(own$on, known)
  own$mean <- holes$mean[own$columns]
  own$scale <- sqrt(holes$var[own$columns])
  rate <- mean(is.na(holes$x[, own$target]))
  if (rate == 0) {
    bk_abort(
      "argument", fit_header("mnar(): `%s` misses no values.", own$variable),
      "Accepted: a predictor with missing values on the left.", column = own$variable
    )
  }
  held <- own$slope[own$on]
  own$held <- c(FALSE, if (is.null(own$slope)) logical(length(own$on)) else !is.na(held))
  own$coef <- c(stats::qnorm(rate), if (is.null(own$slope)) numeric(length(own$on)) else held)
  own$coef[is.na(own$coef)] <- 0
  own$coef <- unname(own$coef)
  own$sd <- rep(NA_real_, length(own$coef))
  own
}

mechanism_columns <- function(own, x) {
  cbind(1, (x[, own$columns, drop = FALSE] - rep(own$mean, each = nrow(x))) /
    rep(own$scale, each = nrow(x)))
}

# log P(missing) of completed rows, those that miss the predictor.
mechanism_tilt <- function(own, atoms, holes) {
  if (is.null(own)) return(0)
  gone <- is.na(holes$x[, own$target])[atoms$row]
  eta <- drop(mechanism_columns(own, atoms$predictors) %*% own$coef)
  ifelse(gone, stats::pnorm(eta, log.p = TRUE), 0)
}

# Probabilities in each row.
within_rows <- function(value, row) {
  value <- exp(value - stats::ave(value, row, FUN = max))
  value / stats::ave(value, row, FUN = sum)
}

# Rounds of the fit, and the move that ends them, as in settle_predictors().
most_mechanism_rounds <- 40L
mechanism_still <- 2e-3

settle_mechanism <- function(job, rows, settings) {
  steps <- settings
  steps$method <- "vb"
  steps$select <- FALSE
  steps$learning_rate <- job$settings$learning_rate
  model <- job$completion_model
  for (k in seq_len(most_mechanism_rounds)) {
    at <- linear_job(rows, steps, model)
    core <- run_vb(at)
    if (anyNA(core$share) || isTRUE(core$status$interrupted)) break
    new <- refit_mechanism(at, core$share)
    moved <- max(model_move(model, new), abs(new$mechanism$coef - model$mechanism$coef))
    model <- new
    if (moved < mechanism_still) break
  }
  linear_job(rows, settings, model)
}

# The likelihood of the completed rows stands, law of the predictors and mechanism move.
refit_mechanism <- function(job, share) {
  atoms <- job$atoms
  holes <- job$design$holes
  old <- job$completion_model
  row <- atoms$row
  gone <- is.na(holes$x[, old$mechanism$target])[row]
  columns <- mechanism_columns(old$mechanism, atoms$predictors)
  tilt <- mechanism_tilt(old$mechanism, atoms, holes)
  plain <- length(old$share) == 1L && length(old$groups) == 0L
  new <- old
  if (!plain) {
    new <- refit_completion_model(job, share)
    new$mechanism <- old$mechanism
    new$nodes <- old$nodes
  }
  base <- log(pmax(share, 1e-300)) - tilt
  for (k in 1:200) {
    last <- new
    if (plain) {
      law <- completed_law(job, share)
      new[names(law)] <- law
    }
    new$mechanism <- update_mechanism(new$mechanism, columns, gone, share)
    value <- base + mechanism_tilt(new$mechanism, atoms, holes)
    if (plain) value <- value + log_normal(atoms$predictors, new) - log_normal(atoms$predictors,
      old)
    share <- within_rows(value, row)
    if (max(model_move(last, new), abs(new$mechanism$coef - last$mechanism$coef)) < 1e-4) break
  }
  new$mechanism$sd <- mechanism_sd(new$mechanism, columns, gone, share, row)
  new
}

# Scores and curvatures of a probit model by completed row.
mechanism_scores <- function(own, columns, gone) {
  side <- ifelse(gone, 1, -1)
  eta <- side * drop(columns %*% own$coef)
  ratio <- exp(stats::dnorm(eta, log = TRUE) - stats::pnorm(eta, log.p = TRUE))
  list(score = side * ratio, curve = ratio * (ratio + eta))
}

# A Newton step of the expected log posterior, halved until that rises.
update_mechanism <- function(own, columns, gone, share) {
  free <- which(!own$held)
  value <- function(coef) {
    side <- ifelse(gone, 1, -1)
    sum(share * stats::pnorm(side * drop(columns %*% coef), log.p = TRUE)) -
      sum(coef^2) / (2 * mechanism_prior_sd^2)
  }
  at <- mechanism_scores(own, columns, gone)
  x <- columns[, free, drop = FALSE]
  score <- drop(crossprod(x, share * at$score)) - own$coef[free] / mechanism_prior_sd^2
  curve <- crossprod(x, share * at$curve * x) + diag(1 / mechanism_prior_sd^2, length(free))
  step <- solve(curve, score)
  from <- value(own$coef)
  for (k in 1:20) {
    coef <- replace(own$coef, free, own$coef[free] + step)
    if (value(coef) >= from) {
      own$coef <- coef
      break
    }
    step <- step / 2
  }
  own
}

# By the observed information (Louis 1982): that of the completed rows less what the missing values
# leave open.
mechanism_sd <- function(own, columns, gone, share, row) {
  free <- which(!own$held)
  at <- mechanism_scores(own, columns, gone)
  x <- columns[, free, drop = FALSE]
  score <- at$score * x
  mean <- rowsum(share * score, row)
  spread <- score - mean[match(row, rownames(mean)), , drop = FALSE]
  information <- crossprod(x, share * at$curve * x) - crossprod(spread, share * spread) +
    diag(1 / mechanism_prior_sd^2, length(free))
  out <- rep(NA_real_, length(own$coef))
  var <- tryCatch(diag(solve(information)), error = function(e) rep(NA_real_, length(free)))
  out[free] <- suppressWarnings(sqrt(pmin(ifelse(var > 0, var, Inf), mechanism_prior_sd^2)))
  out
}
