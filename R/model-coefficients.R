# A model without a method here is linear if its table has fixed effects.
coefficient_mean <- function(object, scale) UseMethod("coefficient_mean")

# Places of the fixed coefficients in theta; random effects may follow them.
fixed_positions <- function(object) {
  wide <- object$posterior$wide
  seq_len(if (is.null(wide)) length(object$transform$scale) else wide$first + ncol(wide$basis))
}

# Means of the fixed coefficients of a linear model, by name.
linear_coefficients <- function(object, scale) {
  posterior <- object$posterior
  wide <- posterior$wide
  theta <- posterior$theta_mean
  if (!is.null(posterior$gamma)) theta <- posterior$gamma * theta
  theta <- if (is.null(wide)) {
    theta[seq_along(object$transform$scale)]
  } else {
    c(theta[seq_len(wide$first)], wide$basis %*% theta[wide$first + seq_len(ncol(wide$basis))])
  }
  if (scale == "data") theta <- drop(theta_to_data(object, t(theta)))
  stats::setNames(theta, names(object$transform$center))
}

fit_has_intercept <- function(transform) identical(names(transform$center)[1L], "(Intercept)")

# Square roots of the diagonal of vcov(), without forming it.
fixed_sd <- function(object, scale = "data") {
  sandwich <- vcov_type(object) == "sandwich"
  if (!is.null(object$draws) && !sandwich) {
    draws <- flat_draws(object, fixed_names(object))
    if (scale == "model") draws <- theta_to_model(object, draws)
    return(apply(draws, 2, stats::sd))
  }
  wide <- object$posterior$wide
  if (sandwich) wide$hidden_var <- if (!is.null(wide)) 0
  cov <- if (sandwich) object$sandwich$cov else fixed_cov(object)
  var <- if (is.null(wide)) {
    unname(cov_diagonal(cov))
  } else {
    rows <- wide_rows(wide)
    unseen <- rep(0:1, c(wide$first, nrow(wide$basis))) * (1 - rowSums(rows^2))
    quadratic(rows, cov) + wide$hidden_var * pmax(unseen, 0)
  }
  if (scale == "model") return(sqrt(var))
  transform <- object$transform
  var <- var / transform$scale^2
  if (fit_has_intercept(transform)) {
    at_zero <- matrix(-transform$center / transform$scale, 1)
    at_zero[1] <- 1
    var[1] <- if (is.null(wide)) {
      quadratic(at_zero, cov)
    } else {
      reduced <- reduce_columns(wide, at_zero)
      quadratic(reduced$x, cov) + reduced$hidden
    }
  }
  sqrt(var)
}

# T V_g T' for every slice.
map_covariances <- function(v, map) {
  left <- map_slices(aperm(v, c(2, 1, 3)), map)
  map_slices(aperm(left, c(2, 1, 3)), map)
}

has_groups <- function(object) length(object$posterior$random) > 0L

need_random <- function(object) {
  if (!has_groups(object) && length(fitted_units(object)) == 0L) {
    bk_abort(
      "argument", "The model has no random effects.",
      "Random terms stand in bars in the formula, as in y ~ x + (1 | g)."
    )
  }
}

unit_positions <- function(object) unlist(lapply(fitted_units(object), `[[`, "at"))

# Correlated units (`cov`) of a fit: their columns have no names that mean something, and stand with
# the random effects.
fitted_units <- function(object) {
  labels <- vapply(object$smooths, function(smooth) smooth$label, "")
  terms <- correlated_of(object$design$smooths)
  lapply(terms, function(term) {
    list(
      unit = term$names, label = term$label, levels = term$correlated$levels,
      root = term$correlated$root, at = unlist(object$smooths[[match(term$label, labels)]]$blocks)
    )
  })
}

# Each coefficient as a combination of the fewer that a wide fit keeps.
wide_rows <- function(wide) {
  out <- matrix(0, wide$first + nrow(wide$basis), wide$first + ncol(wide$basis))
  diag(out)[seq_len(wide$first)] <- 1
  out[-seq_len(wide$first), -seq_len(wide$first)] <- wide$basis
  out
}

# Methods of other packages for what lme4 returns, such as lattice::dotplot(), find their parts.
ranef_table <- function(effects) structure(effects, class = c("ranef_bayeskernel", "ranef.mer"))
