# Families of responses of the linear model: their names, links and priors, and the scale on which a
# numeric response is fitted. The core has their rules.

# A family as glm() has it, the object or the function that makes it: its name and link, and whether
# the link was named, which a function does not. NULL for what is none of these.
glm_family <- function(family) {
  named <- !is.function(family)
  if (!named) family <- tryCatch(family(), error = function(e) NULL)
  if (inherits(family, "family")) list(name = family$family, link = family$link, named = named)
}

abort_family_link <- function(given, name, accepted) {
  abort_argument(
    sprintf("%s(\"%s\")", given$name, given$link), name, accepted,
    accepted = c("gaussian", accepted)
  )
}

#' The hinge loss of support vector machines as a family
#'
#' For `family` of [bkm()], with the two arguments that the other families do
#' not have: `bkm(y ~ x, d, family = hinge(class_weights = "balanced"))`.
#' `family = "hinge"` is `hinge()`; [bsvm()] has them as arguments of its own.
#'
#' @inheritParams bsvm
#' @param ... Not used: what is not among these arguments is an error.
#' @return An object of class `bayeskernel_hinge`.
#' @section Errors: `bayeskernel_error_argument`.
#' @seealso [bkm()], [bsvm()], [svm-posterior].
#' @examples
#' bkm(am ~ wt, mtcars, family = hinge(learning_rate = 0.5))
#' @export
hinge <- function(learning_rate = NULL, class_weights = c("none", "balanced"), ...) {
  refuse_others(...)
  structure(
    list(
      learning_rate = check_learning_rate(learning_rate, "learning_rate"),
      class_weights = check_class_weights(class_weights, "class_weights")
    ),
    class = "bayeskernel_hinge"
  )
}

#' @export
print.bayeskernel_hinge <- function(x, ...) {
  cat(
    "Family hinge: learning rate", x$learning_rate %||% "by the model",
    "and weights of classes", if (is.numeric(x$class_weights)) {
      paste(names(x$class_weights), x$class_weights, collapse = ", ")
    } else {
      x$class_weights
    }, "\n"
  )
  invisible(x)
}

# What a family that is an object says beside its name.
settle_hinge <- function(settings) {
  if (inherits(settings$family, "bayeskernel_hinge")) {
    own <- unclass(settings$family)
    settings[names(own)] <- own
    settings$family <- "hinge"
  }
  settings
}

# The name that the core knows. NULL: as the response says.
check_linear_family <- function(family, name) {
  known <- c("logit", "probit", "gaussian", "hinge")
  if (identical(family, hinge)) family <- hinge()
  if (inherits(family, "bayeskernel_hinge")) return(do.call(hinge, unclass(family)))
  given <- glm_family(family)
  if (!is.null(given)) {
    meant <- c(
      "binomial logit" = "logit", "binomial probit" = "probit", "gaussian identity" = "gaussian"
    )[paste(given$name, given$link)]
    if (is.na(meant)) {
      abort_family_link(given, name, paste(
        "binomial(), binomial(\"probit\"), gaussian(), or one of",
        paste(quoted(known), collapse = ", ")
      ))
    }
    return(unname(meant))
  }
  if (identical(family, "binomial")) {
    "logit"
  } else if (!is.null(family)) {
    check_choice(family, known, name)
  }
}

# Fits of versions before 0.3.0 do not say.
linear_family <- function(object) object$family %||% "hinge"

# Ways from f to a probability, the first of them the default.
linear_links <- function(object) {
  switch(object$family %||% "hinge",
    hinge = hinge_links(object), gaussian = "identity", object$family
  )
}

# --- settings that depend on the family --------------------------------------

# A power of a normal distribution function is no mixture over one latent normal variable; a whole
# one is over several.
refuse_powers <- function(rows) {
  at <- which(rows$weights != trunc(rows$weights))
  if (length(at)) {
    bk_abort(
      "argument", "Sampling of a probit model needs whole weights.",
      sprintf("Found: %s in row %.0f.", format(rows$weights[at[1]]), data_rows(rows, at[1])),
      "Accepted: whole numbers, for rows that occur more than once.",
      "Any weights: family = \"logit\", or method = \"ep\".", column = "weights",
      row = data_rows(rows, at[1]), found = rows$weights[at[1]]
    )
  }
}

# For the core, which takes the hinge where nothing is said: chains of earlier versions can be
# continued.
core_family <- function(settings, prior) {
  family <- settings$family
  # Selection by mean field needs rows that are quadratic in f.
  augmented <- family == "gaussian" || !isFALSE(settings$select %||% FALSE)
  c(
    list(family = family, rule = if (augmented) "augmented" else "direct"),
    if (family == "gaussian") list(noise = list(shape = prior$noise_shape, rate = prior$noise_rate))
  )
}

# --- the scale of a numeric response -----------------------------------------

# A number is fitted in units of its standard deviation, without its mean where there is an
# intercept to take that up.
linear_response_scale <- function(rows, settings) {
  if (!is.null(rows$y_sd)) return(NULL)
  moments <- response_scale(rows$y - rows$offset, several_copies(rows$weights))
  if (!settings$standardize) moments <- 0:1
  c(center = if (has_intercept(rows)) moments[[1]] else 0, scale = moments[[2]])
}

# The response of a row source is fitted as it is, under the prior that this amounts to; `size` is
# its standard deviation, `center` its mean.
scale_prior <- function(prior, size, center = NULL) {
  for (name in c("beta_var", "intercept_var", "var_rate", "slab_rate", "noise_rate", "cov_scale")) {
    if (!is.null(prior[[name]])) prior[[name]] <- size^2 * prior[[name]]
  }
  prior$beta_mean <- size * prior$beta_mean
  prior$size <- size
  prior$center <- center
  prior
}

scale_response <- function(rows, scale) {
  rows$y <- (rows$y - scale[["center"]]) / scale[["scale"]]
  rows$offset <- rows$offset / scale[["scale"]]
  rows
}

# What the core answers without draws, in units of the response: the intercept takes up its centre.
rescale_answer <- function(core, scale, weights) {
  size <- scale[["scale"]]
  shift <- scale[["center"]]
  core <- rescale_posterior(core, size, shift)
  core$mean <- shift + size * core$mean
  core$variance_f <- size^2 * core$variance_f
  # Densities of y are those of its scaled values over the scale.
  jacobian <- sum(weights) * log(size)
  if (length(core$status$bound)) core$status$bound <- core$status$bound - jacobian
  for (name in intersect(c("log_evidence", "log_z"), names(core))) {
    core[[name]] <- core[[name]] - jacobian
  }
  for (name in intersect(c("loo", "expected"), names(core))) {
    core[[name]] <- core[[name]] - log(size)
  }
  for (k in seq_along(core$points)) {
    core$points[[k]] <- rescale_posterior(core$points[[k]], size, shift)
  }
  core
}

rescale_posterior <- function(q, size, shift) {
  times <- function(names, factor) {
    for (name in intersect(names, names(q))) q[[name]] <<- factor * q[[name]]
  }
  times(c("theta_mean", "group_mean"), size)
  times(c("theta_cov", "group_cov", "schur", "shared_cov"), size^2)
  if (shift != 0) q$theta_mean[1] <- q$theta_mean[1] + shift
  if (length(q$precision)) q$precision <- lapply(q$precision, function(own) own / size^2)
  for (k in seq_along(q$variance)) {
    for (name in intersect(c("rate", "scale", "value"), names(q$variance[[k]]))) {
      q$variance[[k]][[name]] <- size^2 * q$variance[[k]][[name]]
    }
  }
  if (!is.null(q$selection)) q$selection$rate <- size^2 * q$selection$rate
  for (k in seq_along(q$crossed)) {
    q$crossed[[k]]$mean <- size * q$crossed[[k]]$mean
    for (name in c("cov", "schur")) q$crossed[[k]][[name]] <- size^2 * q$crossed[[k]][[name]]
  }
  for (k in seq_along(q$pairs)) q$pairs[[k]]$cov <- size^2 * q$pairs[[k]]$cov
  if (is.list(q$noise)) {
    q$noise$rate <- size^2 * q$noise$rate
  } else if (!is.null(q$noise)) {
    q$noise <- size^2 * q$noise
  }
  q
}

# What draws call the standard deviation of the noise, beside the columns of the design.
noise_name <- function(columns) {
  if ("sigma" %in% columns) "sigma[noise]" else "sigma"
}

# Draws, which have columns of coefficients, effects and variances, the last of them the noise's.
rescale_draws <- function(draws, scale, fixed) {
  if (is.null(scale)) return(draws)
  names <- dimnames(draws)[[3]]
  sigma <- names == noise_name(fixed)
  draws[, , sigma] <- sqrt(draws[, , sigma])
  size <- scale[["scale"]]
  linear <- sigma | names %in% fixed | startsWith(names, "b[")
  draws[, , linear] <- size * draws[, , linear]
  square <- startsWith(names, "sigma2[") | startsWith(names, "Sigma[")
  draws[, , square] <- size^2 * draws[, , square]
  if (scale[["center"]] != 0) draws[, , 1] <- draws[, , 1] + scale[["center"]]
  draws
}
