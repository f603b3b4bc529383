# What package insight, and with it those of easystats, cannot find out alone.

#' @exportS3Method insight::find_formula
find_formula.bayeskernel_fit <- function(x, verbose = TRUE, ...) {
  parts <- effect_parts(x)
  random <- lapply(parts$bars, function(bar) {
    stats::as.formula(call("~", bar), environment(parts$fixed))
  })
  if (length(random) == 1L) random <- random[[1]]
  out <- c(
    list(conditional = parts$fixed),
    if (length(random)) list(random = random)
  )
  structure(out, class = c("insight_formula", "list"))
}

#' @exportS3Method insight::get_data
get_data.bayeskernel_fit <- function(x, effects = "all", verbose = TRUE,
                                     additional_variables = NULL, ...) {
  data <- fit_data(x)
  if (is.null(data)) {
    if (verbose) {
      bk_warn("effects", "The data of the fit are not to be had any more.")
    }
    return(NULL)
  }
  if (isTRUE(additional_variables)) {
    return(data)
  }
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
  info <- NextMethod()
  link <- stats::family(x)$link
  classes <- length(x$levels)
  ordered <- identical(x$family, "ordinal")
  facts <- list(
    is_bayesian = TRUE, is_mixed = length(x$posterior$random) > 0L,
    is_linear = classes == 0L, is_binomial = classes == 2L,
    is_bernoulli = classes == 2L, is_logit = link == "logit" && classes > 0L,
    is_probit = link == "probit" && classes > 0L,
    is_multinomial = classes > 2L && !ordered,
    is_ordinal = classes > 2L && ordered, link_function = link,
    n_obs = x$n
  )
  info[names(facts)] <- facts
  info
}

#' @exportS3Method insight::n_obs
n_obs.bayeskernel_fit <- function(x, ...) stats::nobs(x)

#' @exportS3Method insight::get_parameters
get_parameters.bayeskernel_fit <- function(x, effects = "fixed", ...) {
  if (identical(effects, "random")) {
    return(unclass(ranef.bayeskernel_fit(x, FALSE)))
  }
  mean <- get_coef.bayeskernel_fit(x)
  data.frame(
    Parameter = names(mean), Estimate = unname(mean), stringsAsFactors = FALSE
  )
}

#' @exportS3Method insight::find_statistic
find_statistic.bayeskernel_fit <- function(x, ...) "z-statistic"

#' @exportS3Method insight::get_statistic
get_statistic.bayeskernel_fit <- function(x, ...) {
  mean <- stats::coef(x)
  statistic <- mean / sqrt(diag(stats::vcov(x)))
  structure(
    data.frame(
      Parameter = names(mean), Statistic = unname(statistic),
      stringsAsFactors = FALSE
    ),
    statistic = "z-statistic"
  )
}
