# What package insight, and with it those of easystats, cannot find out alone.

#' @exportS3Method insight::find_formula
find_formula.bayeskernel_fit <- function(x, verbose = TRUE, ...) {
  check_whole(x)
  parts <- effect_parts(x)
  random <- lapply(parts$bars, function(bar) {
    stats::as.formula(call("~", bar), environment(parts$fixed))
  })
  if (length(random) == 1L) random <- random[[1]]
  out <- c(list(conditional = parts$fixed), if (length(random)) list(random = random))
  structure(out, class = c("insight_formula", "list"))
}

#' @exportS3Method insight::get_data
get_data.bayeskernel_fit <- function(x, effects = "all", verbose = TRUE,
                                     additional_variables = NULL, ...) {
  check_whole(x)
  data <- if (is.null(additional_variables)) fit_data(x) else whole_data(x)
  if (is.null(data)) {
    if (verbose) {
      bk_warn("effects", "The data of the fit are gone.", training_data(x)$absent)
    }
    return(NULL)
  }
  if (isTRUE(additional_variables)) return(data)
  weights <- all.vars(x$call$weights)
  wanted <- union(fit_variables(x), c(additional_variables, weights))
  if (!identical(effects, "all")) {
    parts <- effect_parts(x)
    random <- unique(unlist(lapply(parts$bars, all.vars)))
    wanted <- switch(effects,
      fixed = setdiff(wanted, setdiff(random, all.vars(parts$fixed))),
      random = random
    )
  }
  data[intersect(wanted, names(data))]
}

#' @exportS3Method insight::model_info
model_info.bayeskernel_fit <- function(x, verbose = TRUE, ...) {
  check_whole(x)
  info <- NextMethod()
  link <- stats::family(x)$link
  classes <- length(x$levels)
  ordered <- identical(x$family, "ordinal")
  facts <- list(
    is_bayesian = TRUE, is_mixed = has_groups(x), is_linear = classes == 0L,
    is_binomial = classes == 2L, is_bernoulli = classes == 2L,
    is_logit = link == "logit" && classes > 0L, is_probit = link == "probit" && classes > 0L,
    is_multinomial = classes > 2L && !ordered, is_ordinal = classes > 2L && ordered,
    link_function = link, n_obs = x$n
  )
  info[names(facts)] <- facts
  info
}

#' @exportS3Method insight::n_obs
n_obs.bayeskernel_fit <- function(x, ...) stats::nobs(x)

#' @exportS3Method insight::get_parameters
get_parameters.bayeskernel_fit <- function(x, effects = "fixed", ...) {
  check_whole(x)
  if (identical(effects, "random")) return(unclass(ranef.bayeskernel_fit(x, FALSE)))
  mean <- get_coef.bayeskernel_fit(x)
  data.frame(Parameter = names(mean), Estimate = unname(mean), stringsAsFactors = FALSE)
}

#' @exportS3Method insight::find_statistic
find_statistic.bayeskernel_fit <- function(x, ...) "z-statistic"

#' @exportS3Method insight::get_statistic
get_statistic.bayeskernel_fit <- function(x, ...) {
  check_whole(x)
  mean <- stats::coef(x)
  statistic <- mean / sqrt(diag(stats::vcov(x)))
  structure(
    data.frame(Parameter = names(mean), Statistic = unname(statistic), stringsAsFactors = FALSE),
    statistic = "z-statistic"
  )
}

# One number a row: means, probabilities of the positive class, or f.
#' @exportS3Method insight::get_predicted bayeskernel_fit
get_predicted.bayeskernel_fit <- function(x, data = NULL, predict = "expectation", ci = NULL, ...) {
  check_whole(x)
  known <- c("expectation", "response", "link", "classification")
  predict <- check_choice(predict %||% "expectation", known, "predict")
  if (length(x$levels) > 2L && predict != "classification") {
    bk_abort(
      "argument", "There is no one prediction a row.",
      sprintf("Found: %d classes.", length(x$levels)),
      "Use predict(type = \"prob\"), or predict = \"classification\".",
      column = "x", found = x$levels
    )
  }
  type <- switch(predict,
    link = "link", classification = if (!is_regression(x)) "class", "response"
  )
  values <- prediction(x, data, type)
  structure(unname(values), class = c(
    "get_predicted", if (is.factor(values)) "factor" else "numeric"
  ))
}

# Of its own rows, with the effects of their groups: of a regression as that of lm(), of two classes
# as Tjur (2009), the difference of the mean probabilities of the two. `shares` are of the positive
# class, as rows of counts have them.
#' @exportS3Method performance::r2 bayeskernel_fit
r2.bayeskernel_fit <- function(model, ...) {
  check_whole(model)
  if (length(model$levels) > 2L) {
    bk_abort(
      "argument", "R2 is of a number or of two classes.",
      sprintf("Found: %d classes.", length(model$levels)),
      "summary(fit, newdata) has measures of any number of classes.",
      column = "model", found = model$levels
    )
  }
  weights <- stats::weights(model)
  fit <- stats::fitted(model)
  rest <- stats::residuals(model, "response")
  if (is_regression(model)) {
    y <- fit + rest
    total <- sum(weights * (y - stats::weighted.mean(y, weights))^2)
    return(structure(
      list(R2 = c(R2 = 1 - sum(weights * rest^2) / total)), class = c("r2_generic", "list")
    ))
  }
  shares <- fit + rest
  tjur <- stats::weighted.mean(fit, weights * shares) -
    stats::weighted.mean(fit, weights * (1 - shares))
  structure(
    list(R2_Tjur = c("Tjur's R2" = tjur)), model_type = "Logistic", class = c("r2_pseudo", "list")
  )
}

# Columns as performance names them; of its own rows, as r2().
#' @exportS3Method performance::model_performance bayeskernel_fit
model_performance.bayeskernel_fit <- function(model, ...) {
  r2 <- unlist(lapply(unclass(r2.bayeskernel_fit(model)), unname))
  weights <- stats::weights(model)
  rest <- stats::residuals(model, "response")
  mean_of <- function(x) stats::weighted.mean(x, weights)
  out <- data.frame(t(r2), RMSE = sqrt(mean_of(rest^2)))
  if (is_regression(model)) {
    out$Sigma <- stats::sigma(model)
  } else {
    # Bounded as in log_loss().
    p <- stats::fitted(model)
    shares <- p + rest
    p <- pmin(pmax(p, 1e-15), 1 - 1e-15)
    out$Log_loss <- -mean_of(shares * log(p) + (1 - shares) * log1p(-p))
  }
  structure(out, class = c("performance_model", "data.frame"))
}

# Variances of the linear predictor that icc() of performance is a ratio of: that of the fixed
# effects over the rows, of the random intercepts, and of the response about them, for classes that
# of the latent response.
#' @exportS3Method insight::get_variance
get_variance.bayeskernel_fit <- function(x, ...) {
  check_whole(x)
  residual <- switch(if (inherits(x, "bkm")) x$family else "",
    gaussian = stats::sigma(x)^2, logit = pi^2 / 3, probit = 1
  )
  terms <- VarCorr.bayeskernel_fit(x)
  if (is.null(residual) || !length(terms) || any(lengths(terms) != 1L)) {
    bk_abort(
      "argument", "The variances are those of random intercepts in bkm().",
      sprintf("Found: a fit by %s().", model_of(x)$name),
      "Accepted: bars such as (1 | g), family \"gaussian\", \"logit\" or \"probit\".", column = "x"
    )
  }
  intercept <- vapply(terms, function(term) term[[1]], 0)
  list(
    var.fixed = stats::var(drop(stats::predict(x, type = "link", re.form = NA))),
    var.random = sum(intercept), var.residual = residual, var.distribution = residual,
    var.dispersion = 0, var.intercept = intercept
  )
}

# The reference model of package projpred: its terms are chosen among those of the formula, so that
# smooths, processes and groups are left to models that it fits itself.
#' @exportS3Method projpred::get_refmodel
get_refmodel.bayeskernel_fit <- function(object, ...) {
  check_whole(object)
  known <- c(gaussian = "gaussian", logit = "binomial")
  family <- if (inherits(object, "bkm")) object$family
  plain <- length(object$smooths) == 0L && !has_groups(object)
  plain <- plain && all(stats::weights(object) == 1) && all(object$offset == 0)
  if (!isTRUE(family %in% names(known)) || !plain || object$design$type == "matrix") {
    bk_abort(
      "argument", "projpred needs a bkm() of plain terms.",
      sprintf("Found: a fit by %s().", model_of(object)$name),
      "Accepted: plain terms without weights or offset, family \"gaussian\" or \"logit\".",
      column = "object", found = class(object)[1]
    )
  }
  data <- fit_data(object)
  if (is.null(data)) abort_no_data(training_data(object))
  draws <- 400L
  family <- if (family == "gaussian") stats::gaussian() else stats::binomial()
  projpred::init_refmodel(
    object, data, stats::formula(object), family,
    ref_predfun = function(fit, newdata = NULL) {
      t(stats::predict(
        fit, newdata %||% data, type = "link", draws = TRUE, ndraws = draws, seed = 1
      ))
    },
    extract_model_data = function(object, newdata = NULL, ..., extract_y = TRUE) {
      frame <- newdata %||% data
      formula <- stats::formula(object)
      y <- if (extract_y) eval(formula[[2L]], frame, environment(formula))
      list(y = y, weights = rep(1, nrow(frame)), offset = numeric(nrow(frame)))
    },
    dis = if (family$family == "gaussian") rep(stats::sigma(object), draws),
    cvrefbuilder = function(cvfit) get_refmodel.bayeskernel_fit(cvfit),
    cvfun = function(folds) {
      lapply(seq_len(max(folds)), function(k) stats::update(object, data = data[folds != k, ]))
    },
    ...
  )
}
