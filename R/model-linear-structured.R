# What selection and modelled holes add to a fit: lists for the core, and its answers with names and
# scales put back.

selected_columns <- function(design, settings) {
  if (is.null(settings$select) || isFALSE(settings$select)) return(integer())
  selected <- selection_columns(design, settings$select)
  if (length(selected) == 0L) {
    bk_abort(
      "argument", "There is no column to select among.",
      paste("Columns of the design:", list_some(colnames(design$x))), column = "select"
    )
  }
  selected
}

core_selection <- function(selected, prior, design) {
  of <- if (inherits(prior, "bkm_prior")) "slab" else "var"
  c(
    list(columns = as.integer(selected) - 1L), variance_prior(prior, of, scale = TRUE),
    list(rho = prior$rho, rho_beta = as.double(prior$rho_beta), start = 1),
    if (by_term(prior)) {
      term <- design$assign[selected]
      list(unit = match(term, unique(term)) - 1L)
    }
  )
}

# Whether the columns of a term share an indicator.
by_term <- function(prior) identical(prior$inclusion, "term")

# Holes in the columns of x, then those in the columns of random terms, which are columns of theta
# (kept terms) or of z (the eliminated one).
core_missing <- function(design, blocks, prior, groups) {
  holes <- design$holes
  predictors <- length(holes$predictors)
  out <- holes[c(
    "x", "mean", "var", "use_row", "use_column", "use_predictor", "use_base", "use_slope"
  )]
  width <- length(blocks$precision)
  for (block in blocks$blocks) {
    if (block$random == 0L) next
    uses <- holes$random_uses[[block$random]]
    if (length(uses$row) == 0L) next
    column <- if (block$eliminated) {
      width + uses$column
    } else {
      group <- design$random[[block$random]]$group[uses$row + 1L]
      block$first + (group - 1L) * block$width + uses$column
    }
    out$use_row <- c(out$use_row, uses$row)
    out$use_column <- c(out$use_column, column)
    out$use_predictor <- c(out$use_predictor, uses$predictor)
    out$use_base <- c(out$use_base, uses$base)
    out$use_slope <- c(out$use_slope, uses$slope)
  }
  for (name in c("use_row", "use_column", "use_predictor")) out[[name]] <- as.integer(out[[name]])
  for (name in c("mean", "var", "use_base", "use_slope")) out[[name]] <- as.double(out[[name]])
  storage.mode(out$x) <- "double"
  covariance <- wishart_prior(prior, predictors, sprintf("%d predictors", predictors), TRUE)
  c(out, list(
    mean_var = prior$x_mean_var, df = covariance$df, scale = covariance$scale,
    center = as.double(holes$center), scale_x = as.double(holes$scale_x)
  ), if (groups) core_groupings(design))
}

# Grouping factors of the model of the predictors, for samplers. Covariances between groups have a
# prior that is weak beside any that matters. Beside selection the model is that of Luts and Ormerod
# (2014), without groups.
core_groupings <- function(design) {
  where <- which(colSums(is.na(design$holes$x)) > 0)
  codes <- group_codes(design$random, grouping_terms(design$random))
  width <- length(where)
  if (width == 0L || length(codes) == 0L) return(NULL)
  list(
    where = where, groups = lapply(codes, function(code) used_codes(code)$code),
    between_df = width + 1, between_scale = diag(0.02, width)
  )
}

# Names of what the model of the predictors adds to the draws.
predictor_names_of_draws <- function(predictors) {
  pairs <- lower_triangle(length(predictors))
  c(
    sprintf("mu_x[%s]", predictors),
    sprintf("Sigma_x[%s,%s]", predictors[pairs[, 1]], predictors[pairs[, 2]])
  )
}

inclusion_names <- function(columns) sprintf("inclusion[%s]", columns)

# What the sampler stores beyond coefficients, effects and variances.
structured_names <- function(design, data, settings) {
  selection <- data$selection
  # Atoms have a law that is not drawn.
  holes <- if (is.null(data$atoms)) design$holes
  c(
    if (!is.null(selection)) {
      c(
        "sigma2[selection]", if (length(selection$rho_beta) > 0) "rho",
        inclusion_names(colnames(design$x)[selection$columns + 1L])
      )
    },
    if (!is.null(holes)) {
      c(predictor_names_of_draws(holes$predictors),
        if (settings$keep_imputed) missing_names(design))
    }
  )
}

# By row, then predictor; rows as they are counted in the data.
missing_names <- function(design) {
  places <- missing_places(design$holes$x)
  sprintf("x[%d,%s]", data_rows(design, places$row), design$holes$predictors[places$predictor])
}

missing_places <- function(x) {
  at <- which(t(is.na(x)), arr.ind = TRUE)
  list(row = unname(at[, 2]), predictor = unname(at[, 1]))
}

data_rows <- function(design, rows) {
  if (is.null(design$rows)) rows else design$rows[rows]
}

# `gamma`, one number per column of theta, turns coefficients into effects: the inclusion
# probability, or 1 for columns that are always in.
add_selection <- function(posterior, core, data, prior) {
  columns <- data$selection$columns + 1L
  gamma <- rep(1, length(posterior$theta_mean))
  gamma[columns] <- core$selection$inclusion
  posterior$gamma <- gamma
  posterior$selection <- c(
    list(columns = columns, prior = prior_inclusion(prior)), core$selection,
    core$polished[c("polished", "range", "polish", "log_z")]
  )
  posterior
}

# E gamma by column from each column alone: its score statistic against the other rows, with the
# penalty of BIC.
marginal_start <- function(job) {
  data <- job$data
  at <- data$selection$columns + 1L
  z <- scale(data$x[, at, drop = FALSE], data$center[at], data$scale[at])
  z[is.na(z)] <- 0
  w <- data$weights
  y <- data$y - data$offset * is_gaussian(job$settings)
  y <- y - sum(w * y) / sum(w)
  square <- colSums(w * y * z)^2 / pmax(colSums(w * y^2 * z^2), 1e-300)
  odds <- stats::qlogis(prior_inclusion(job$settings$prior)) + square / 2 - log(nrow(z)) / 2
  pmin(pmax(stats::plogis(odds), 0.01), 0.99)
}

is_gaussian <- function(settings) settings$family == "gaussian"

# Chains from the optimum of a variational selection are short: 50 sweeps that are forgotten and 250
# draws, and where they disagree as many draws of more sweeps. Of small data less is left open.
polish_goal <- function(x) {
  list(rhat = if (length(x) <= 1e5) 1.05 else 1.15, sweeps = 4000, seconds = Inf)
}

# The sampler's word on a variational selection. NULL when interrupted.
polish_selection <- function(job, core) {
  settings <- job$settings
  settings["keep_imputed"] <- FALSE
  selection <- core$selection
  within <- selection$inclusion > 0.5
  # A term is in where one of its columns is.
  unit <- job$data$selection$unit
  if (!is.null(unit)) within <- as.logical(stats::ave(+within, unit, FUN = max))
  gamma <- rep(1, length(core$theta_mean))
  gamma[job$data$selection$columns + 1L] <- within
  start <- list(
    precision = lapply(core$precision, as.matrix), theta = as.double(gamma * core$theta_mean),
    selection = list(`in` = as.double(within), precision = selection$shape / selection$rate)
  )
  if (is_gaussian(settings)) start$noise <- core$noise$shape / core$noise$rate
  control <- utils::modifyList(job$control, list(
    warmup = 50L, draws = 250L, thin = 1L, keep_ranef = settings$keep_ranef,
    keep_imputed = FALSE, chain_id = 1:4, seed = settings$seed %||% 1
  ))
  control$start <- start
  goal <- polish_goal(job$data$x)
  repeat {
    out <- core_call(linear_chains(control, job$data, job$shared$prior))
    if (is.null(out$draws) || isTRUE(out$status$interrupted)) return(NULL)
    if (until_reached(goal, convergence_table(out$draws))) break
    longer <- next_round(goal, control, 0, out$status$seconds)
    if (is.null(longer) || is.null(out$states)) break
    control <- longer
    control$states <- out$states
  }
  names <- draw_names(job$design, job$blocks, job$data, settings)
  columns <- colnames(job$design$x)[job$data$selection$columns + 1L]
  at <- match(inclusion_names(columns), names)
  streams <- colMeans(out$draws[, , at, drop = FALSE])
  dim(streams) <- c(4L, length(at))
  list(
    polished = colMeans(streams), range = apply(streams, 2L, max) - apply(streams, 2L, min),
    chains = out, names = names, run = control[c("warmup", "draws", "thin")]
  )
}

# Estimates are those of the streams that tell the inclusions.
collect_polish <- function(fit, core, job) {
  polish <- core$polished
  job$names <- polish$names
  job$settings$keep_imputed <- FALSE
  fit$draws <- linear_draws_of(polish$chains, job)
  fit$sampler <- c(chains = 4L, polish$run)
  fit$diagnostics$table <- convergence_table(watched_draws(model_of(fit), fit$draws))
  fit <- collect_gibbs(fit, polish$chains, job)
  fit$posterior$selection$range <- polish$range
  fit
}

# Inclusion by expectation propagation, whose messages go to the columns, too: no random numbers.
# NULL when interrupted.
polish_by_ep <- function(job, core, run = selection_ep_cpp) {
  selection <- core$selection
  control <- utils::modifyList(job$control, list(tol = 1e-4, max_iter = 200L))
  control$inclusion <- selection$inclusion
  control$from <- log(selection$rate / selection$shape)
  out <- run(job$data, job$shared$prior, control)
  failed <- inherits(out, "bayeskernel_core_error") && out$kind == "numeric"
  if (failed) {
    warn_unsettled_columns(out$message, "those of the variational optimum")
    return(list())
  }
  out <- core_call(out)
  if (isTRUE(out$status$interrupted)) return(NULL)
  if (!out$status$converged) {
    warn_unsettled_columns(sprintf(
      "After %.0f passes its messages still moved by %.2g.", out$status$passes, out$status$change
    ), "those of the last pass")
  }
  list(polished = out$inclusion, polish = "ep", log_z = out$start)
}

warn_unsettled_columns <- function(why, left) {
  bk_warn(
    "convergence", "Expectation propagation of the selection did not settle.", why,
    sprintf("Inclusion probabilities are %s.", left), "Use `polish = TRUE`, or method = \"gibbs\"."
  )
}

# What the sites of columns do not know.
refuse_ep_polish <- function(data, blocks, most = 1000L) {
  columns <- length(blocks$precision)
  found <- if (!is.null(data$holes) || !is.null(data$atoms)) {
    "missing predictors that are modeled"
  } else if (columns > most) {
    sprintf("%d columns, more than %d", columns, most)
  }
  if (!is.null(found)) {
    bk_abort(
      "argument", "`polish = \"ep\"` does not fit this model.", sprintf("Found: %s.", found),
      "Use `polish = TRUE`, or method = \"gibbs\".", column = "polish", found = "ep"
    )
  }
}

# Prior probability of inclusion.
prior_inclusion <- function(prior) {
  if (is.null(prior$rho_beta)) prior$rho else prior$rho_beta[1] / sum(prior$rho_beta)
}

# Covariance of the effects gamma * theta.
effect_cov <- function(posterior) {
  gamma <- posterior$gamma
  if (is.null(gamma)) return(posterior$theta_cov)
  if (inherits(posterior$theta_cov, "sparse_covariance")) {
    return(scale_sparse(posterior$theta_cov, gamma, indicator_var(posterior)))
  }
  out <- posterior$theta_cov * outer(gamma, gamma)
  diag(out) <- diag(out) + indicator_var(posterior)
  out
}

# Var of gamma_k theta_k that the indicator adds: gamma (1 - gamma) E theta^2.
indicator_var <- function(posterior) {
  gamma <- posterior$gamma
  gamma * (1 - gamma) * (cov_diagonal(posterior$theta_cov) + posterior$theta_mean^2)
}

# --- imputed values ----------------------------------------------------------

imputed_frame <- function(row, predictor, mean, sd, design) {
  out <- data.frame(
    row = data_rows(design, row), column = design$holes$predictors[predictor], mean = mean, sd = sd
  )
  out <- out[order(row, predictor), ]
  rownames(out) <- NULL
  out
}

imputed_vb <- function(holes, design) {
  at <- holes$predictor
  scale <- design$holes$scale_x[at]
  imputed_frame(
    holes$row, at, design$holes$center[at] + scale * holes$mean, scale * sqrt(holes$var), design
  )
}

# The core's sampler reports on the scale of the data.
imputed_gibbs <- function(holes, design) {
  if (is.null(holes)) return(NULL)
  imputed_frame(holes$row, holes$predictor, holes$mean, sqrt(holes$var), design)
}

#' Imputed values of missing predictors
#'
#' The posterior mean and standard deviation of each missing value, and what `missing = "model"`
#' assumes.
#'
#' @param object A fit by [bkm()] or [bsvm()] with `missing = "model"`.
#' @param ... Unused.
#' @return Data frame with a row for each missing value of the data: `row`, as the rows of the data
#'   are counted; `column`, the predictor as the model has it (for a term such as `log(x)` that is
#'   the logarithm); `mean` and `sd` of its posterior given the row's response and other predictors,
#'   on the scale of `column`. Where factors miss values there is a column `level`, too, and each
#'   such missing value has a row for each level: `mean` is the level's probability, `sd` the
#'   standard deviation of its indicator.
#' @section Variational fits: `"vb"` understates `sd`, except with groups and a Gaussian response.
#' @section Errors: `bayeskernel_error_argument` if the fit did not model missing predictors.
#' @references Luts, J. and Ormerod, J. T. (2014). Mean field variational
#'   Bayesian inference for support vector machine classification.
#'   *Computational Statistics & Data Analysis* 73, 163-176, section 3.3.
#' @section The model of missing predictors: Numeric predictors are jointly Gaussian,
#'   \eqn{x_i \sim N(\mu, \Sigma)}{x_i ~ N(mu, Sigma)}, and the fit averages over what is missing,
#'   in [gp()] terms, too. Values may be missing at random: by what is seen, and by the response,
#'   but not by the missing value itself.
#'
#' @section Groups: Each grouping factor of the formula adds a normal effect of its groups to the
#'   predictors with missing values. So a missing value borrows from the other rows of its group.
#'   The slope of a group and its effect on x are taken as independent. A new group has the
#'   distribution of any group.
#'
#'   With a Gaussian response `"ep"` and `"vb"` integrate the missing values and the effects of the
#'   groups out of the likelihood. Coefficients, variances and imputed values are those of that
#'   posterior, with the model of the predictors as estimated; the bound of `"vb"` is not. The same
#'   holds for missing factors with one effect of each group, with two classes, too. For two
#'   classes and missing numbers rows are completed one by one, and one step follows towards it.
#'   With half the values missing standard deviations are then up to a fifth off: use `"gibbs"`.
#'   With `"vb"` a standard deviation of groups near 0 is too large: use `"ep"`. All this applies to
#'   the random term with most effects and up to 60 coefficients, to numbers in linear terms and
#'   products, and not to the hinge.
#'
#'   Values of whole groups are drawn, 20 to 100 times. With few groups the means of coefficients
#'   have an error of simulation of 0.1 to 0.2 posterior standard deviations by that.
#'
#' @section The response: A Gaussian response counts as one more predictor while \eqn{\mu}{mu} and
#'   \eqn{\Sigma}{Sigma} are estimated by EM, which is exact for linear models. For [gp()] terms,
#'   products, and factors with groups it is the start of at most three rounds of fits to completed
#'   rows. Two classes have
#'   models of their own if one has more missing values.
#'
#' @section Factors: Factors may miss values, too, without `select`. With `"ep"` and `"vb"` a row
#'   counts with each level, with weights that add up to 1; `"gibbs"` draws one completion by these
#'   weights. The levels have probabilities, and given them the numeric predictors are Gaussian (the
#'   general location model of Little and Schluchter, 1985). At most 100 combinations of levels are
#'   possible, and 256 completions of a row. A factor in `by`, in a smooth or that names
#'   groups may not miss values. A new row may miss only factors that did so in the fit.
#'
#' @section Standard errors: With `"ep"` and `"vb"` covariances of coefficients include what the
#'   missing values leave unknown, by Louis' (1982) formula. With groups and
#'   a Gaussian response they are those of the likelihood without the missing values. For the hinge
#'   this holds with `"vb"`, and only if factors miss values or there are [gp()] or random terms.
#' @references
#' Little, R. J. A. and Schluchter, M. D. (1985). Maximum likelihood estimation for mixed
#' continuous and categorical data with missing values. *Biometrika* 72, 497-512.
#'
#' Louis, T. A. (1982). Finding the observed information matrix when using the
#' EM algorithm. *Journal of the Royal Statistical Society B* 44, 226-233.
#'
#' @seealso [bkm()], [bsvm()]; `vignette("missing-predictors")`, `vignette("duke")`.
#'
#' @examples
#' known <- subset(airquality, !is.na(Ozone))
#' fit <- bkm(log(Ozone) ~ Solar.R + Wind + Temp, known, missing = "model")
#' imputed(fit)
#' @aliases imputed.bkm imputed.bsvm
#' @export
imputed <- function(object, ...) {
  check_given("object")
  UseMethod("imputed")
}

#' @rdname imputed
#' @export
imputed.bayeskernel_fit <- function(object, ...) {
  check_whole(object, ...)
  if (is.null(object$imputed)) {
    bk_abort(
      "argument", "The fit did not model missing predictors.", "Fit it with `missing = \"model\"`."
    )
  }
  object$imputed
}
