# Draws of the parameters, for "vb" from q and for "gibbs" as stored, in one
# form, on the scale of the data:
#   theta    S x p
#   effects  by random term, S x r x levels asked for
#   levels   by random term, the codes of those levels
#   sigma    by random term, r x r x S covariances
#   others   S x further variables, named (variational fits)
#   sigma_noise   S, the standard deviation of a numeric response
#   x_mean, x_cov   of predictors with modelled holes: S x P, P x P x S

used_levels <- function(new) {
  lapply(new$random, function(term) sort(unique(term$group[term$group > 0L])))
}

draw_parts <- function(object, levels, n = NULL) {
  if (!is.null(object$draws)) {
    gibbs_parts(object, levels, n)
  } else if (has_points(object)) {
    point_parts(object, levels, n)
  } else {
    vb_parts(object, levels, n)
  }
}

# Chosen variables of a "gibbs" fit, chains one after another: S x variables.
flat_draws <- function(object, names, take = NULL) {
  size <- dim(object$draws)
  # Columns that the sampler did not visit are out.
  there <- match(names, dimnames(object$draws)[[3]])
  out <- if (anyNA(there) && isTRUE(object$posterior$selection$screened > 0)) {
    all <- matrix(0, prod(size[1:2]), length(names))
    all[, !is.na(there)] <- object$draws[, , there[!is.na(there)]]
    all
  } else {
    object$draws[, , names, drop = FALSE]
  }
  dim(out) <- c(prod(size[1:2]), length(names))
  if (is.null(take)) out else out[take, , drop = FALSE]
}

gibbs_parts <- function(object, levels, n) {
  total <- prod(dim(object$draws)[1:2])
  take <- NULL
  if (!is.null(n) && n < total) take <- round(seq(1, total, length.out = n))
  size <- if (is.null(take)) total else n
  out <- list(
    theta = flat_draws(object, fixed_names(object), take),
    effects = list(), levels = levels, sigma = list()
  )
  for (t in seq_along(levels)) {
    term <- object$posterior$random[[t]]
    r <- length(term$columns)
    names <- ranef_names(term$label, term$columns, term$levels[levels[[t]]])
    out$effects[[t]] <- array(flat_draws(object, names, take), c(size, r, length(levels[[t]])))
    names <- covariance_names(term$label, term$columns)
    lower <- flat_draws(object, names, take)
    out$sigma[[t]] <- fill_symmetric(lower, r)
  }
  law <- predictor_names_of_draws(object$holes$predictors)
  if (length(law) && all(law %in% dimnames(object$draws)[[3L]])) {
    out[c("x_mean", "x_cov")] <- gibbs_predictors(object, take)
  }
  if (is_regression(object)) {
    name <- noise_name(fixed_names(object))
    out$sigma_noise <- drop(flat_draws(object, name, take))
  }
  out
}

fill_symmetric <- function(lower, r) {
  pairs <- lower_triangle(r)
  out <- array(0, c(r, r, nrow(lower)))
  for (k in seq_len(nrow(pairs))) {
    out[pairs[k, 1], pairs[k, 2], ] <- lower[, k]
    out[pairs[k, 2], pairs[k, 1], ] <- lower[, k]
  }
  out
}

# n joint draws from q(theta, u) q(variances): theta first, then u_g given it, u_g | theta ~
# N(mean_g - H_g (theta - mean), D_g^-1).
vb_parts <- function(object, levels, n) {
  posterior <- object$posterior
  size <- length(posterior$theta_mean)
  cov <- posterior$theta_cov
  deviation <- if (inherits(cov, "sparse_covariance")) {
    sparse_normal(n, cov)
  } else {
    normal_matrix(n, size) %*% covariance_root(cov)
  }
  theta <- deviation + rep(posterior$theta_mean, each = n)
  selected <- draw_selection(posterior, n)
  effects <- if (is.null(selected)) theta else theta * selected$indicator
  out <- list(
    theta = fixed_draws(object, effects), effects = list(), levels = levels, sigma = list()
  )
  noise <- if (length(levels)) eliminated_noise(posterior, levels, n)
  for (t in seq_along(levels)) {
    term <- posterior$random[[t]]
    g <- levels[[t]]
    r <- length(term$columns)
    u <- array(0, c(n, r, length(g)))
    for (k in seq_len(r)) {
      u[, k, ] <- if (term$eliminated) {
        rep(term$mean[g, k], each = n) - deviation %*% matrix(term$loading[k, , g], size, length(g))
      } else {
        theta[, term$index[(g - 1L) * r + k]]
      }
    }
    if (term$eliminated && length(g) > 0) u <- u + noise[[t]]
    map <- object$transform$random[[t]]
    out$effects[[t]] <- map_slices(u, map)
    out$sigma[[t]] <- variance_draws(object, t, n)
  }
  out$sigma_noise <- noise_draws(posterior$noise, n)
  out$others <- cbind(
    component_draws(posterior, n), if (!is.null(out$sigma_noise)) {
      matrix(out$sigma_noise, n, 1L, dimnames = list(NULL, noise_name(fixed_names(object))))
    }, selected$others
  )
  if (!is.null(posterior$holes)) out[c("x_mean", "x_cov")] <- vb_predictors(object, n)
  out
}

# Of a numeric response, from an inverse gamma q or at a point of a grid.
noise_draws <- function(noise, n) {
  if (is.null(noise)) {
    NULL
  } else if (is.list(noise)) {
    sqrt(noise$rate / stats::rgamma(n, noise$shape))
  } else {
    rep(sqrt(noise), n)
  }
}

# Variances of the penalty and of smooths.
component_draws <- function(posterior, n) {
  count <- length(posterior$variance) - length(posterior$random)
  components <- Filter(
    function(q) q$type %in% c("iid", "point"), posterior$variance[seq_len(count)]
  )
  out <- vapply(components, function(q) {
    if (q$type == "point") rep(q$value[1], n) else q$rate / stats::rgamma(n, q$shape)
  }, numeric(n))
  labels <- vapply(components, `[[`, "", "label")
  matrix(out, n, dimnames = list(NULL, sprintf("sigma2[%s]", labels)))
}

# Indicators from q, 1 for columns that are always in.
draw_selection <- function(posterior, n) {
  selection <- posterior$selection
  if (is.null(selection)) return(NULL)
  chance <- rep(posterior$gamma, each = n)
  indicator <- matrix(as.numeric(stats::runif(length(chance)) < chance), n)
  others <- cbind("sigma2[selection]" = selection$rate / stats::rgamma(n, selection$shape))
  if (length(selection$rho) == 2L) {
    others <- cbind(others, rho = stats::rbeta(n, selection$rho[1], selection$rho[2]))
  }
  list(indicator = indicator, others = others)
}

# Draws of the fixed coefficients on the scale of the data, from draws of theta.
fixed_draws <- function(object, theta) {
  p <- length(object$transform$scale)
  wide <- object$posterior$wide
  if (!is.null(wide)) {
    q <- nrow(wide$basis)
    seen <- theta[, wide$first + seq_len(ncol(wide$basis)), drop = FALSE]
    hidden <- sqrt(wide$hidden_var) * normal_matrix(nrow(theta), q)
    block <- hidden + (seen - hidden %*% wide$basis) %*% t(wide$basis)
    theta <- cbind(theta[, seq_len(wide$first), drop = FALSE], block)
  }
  theta_to_data(object, theta[, seq_len(p), drop = FALSE])
}

# Rows are coefficient vectors: beta = theta / s, and the intercept takes up the centring.
theta_to_data <- function(object, theta) {
  transform <- object$transform
  out <- theta / rep(transform$scale, each = nrow(theta))
  if (fit_has_intercept(transform)) {
    shift <- out[, -1, drop = FALSE] %*% transform$center[-1]
    out[, 1] <- out[, 1] - drop(shift)
  }
  out
}

# The way back.
theta_to_model <- function(object, beta) {
  transform <- object$transform
  if (fit_has_intercept(transform)) {
    shift <- beta[, -1, drop = FALSE] %*% transform$center[-1]
    beta[, 1] <- beta[, 1] + drop(shift)
  }
  beta * rep(transform$scale, each = nrow(beta))
}

# The inverse of a random term's map to the scale of the data: slopes are divided by their scales,
# and the intercept takes up the centring.
invert_map <- function(map, columns) {
  scale <- 1 / diag(map)
  out <- diag(scale, length(scale))
  at <- match("(Intercept)", columns)
  if (!is.na(at)) {
    out[at, ] <- -map[at, ] * scale
    out[at, at] <- 1
  }
  out
}

# u (S x r x G) times map', slice by slice.
map_slices <- function(u, map) {
  r <- nrow(map)
  out <- array(0, dim(u))
  for (k in seq_len(r)) {
    for (l in seq_len(r)) {
      if (map[k, l] != 0) out[, k, ] <- out[, k, ] + map[k, l] * u[, l, ]
    }
  }
  out
}

# Lower Cholesky factors of r x r x G, all groups at once.
cholesky_slices <- function(a) {
  r <- dim(a)[1]
  out <- array(0, dim(a))
  for (j in seq_len(r)) {
    for (i in j:r) {
      left <- a[i, j, ]
      for (k in seq_len(j - 1)) left <- left - out[i, k, ] * out[j, k, ]
      out[i, j, ] <- if (i == j) sqrt(pmax(left, 0)) else left / out[j, j, ]
    }
  }
  out
}

# Draws from q of the covariance of random term t, data scale: r x r x n.
variance_draws <- function(object, t, n) {
  component <- variance_of_term(object, t)
  map <- object$transform$random[[t]]
  r <- nrow(map)
  if (component$type == "point") return(array(map %*% component$value %*% t(map), c(r, r, n)))
  if (component$type == "iid") {
    sigma2 <- component$rate / stats::rgamma(n, component$shape)
    return(outer(map %*% t(map), sigma2))
  }
  # Psi^-1 ~ W(df, S^-1) for Psi ~ IW(df, S), mapped after it is drawn.
  out <- stats::rWishart(n, component$df, chol2inv(chol(component$scale)))
  for (s in seq_len(n)) out[, , s] <- map %*% chol2inv(chol(out[, , s])) %*% t(map)
  out
}

# n draws of mu_x and Sigma_x from q, scale of the data.
vb_predictors <- function(object, n) {
  q <- object$posterior$holes
  scale <- object$holes$scale_x
  size <- length(scale)
  mean <- normal_matrix(n, size) %*% covariance_root(q$x_mean_cov)
  mean <- mean + rep(q$x_mean, each = n)
  mean <- mean * rep(scale, each = n) + rep(object$holes$center, each = n)
  cov <- stats::rWishart(n, q$df, solve(q$scale))
  for (s in seq_len(n)) cov[, , s] <- chol2inv(chol(cov[, , s])) * outer(scale, scale)
  list(mean, cov)
}

gibbs_predictors <- function(object, take) {
  names <- predictor_names_of_draws(object$holes$predictors)
  size <- length(object$holes$predictors)
  list(
    flat_draws(object, names[seq_len(size)], take),
    fill_symmetric(flat_draws(object, names[-seq_len(size)], take), size)
  )
}

# --- all parameters ----------------------------------------------------------

# Named as the draws of a sampler, n x variables.
#' @export
draws_from_posterior.bsvm <- function(object, n = 1000, seed = NULL) {
  random <- object$posterior$random
  levels <- lapply(random, function(t) seq_along(t$levels))
  parts <- with_seed(seed, draw_parts(object, levels, n))
  columns <- list(parts$theta)
  names <- fixed_names(object)
  for (t in seq_along(levels)) {
    term <- random[[t]]
    columns <- c(columns, list(matrix(parts$effects[[t]], nrow(parts$theta))))
    names <- c(names, ranef_names(term$label, term$columns, term$levels))
  }
  columns <- c(columns, list(parts$others))
  names <- c(names, colnames(parts$others))
  for (t in seq_along(levels)) {
    term <- random[[t]]
    pairs <- lower_triangle(length(term$columns))
    for (k in seq_len(nrow(pairs))) {
      columns <- c(columns, list(parts$sigma[[t]][pairs[k, 1], pairs[k, 2], ]))
    }
    names <- c(names, covariance_names(term$label, term$columns))
  }
  if (!is.null(parts$x_mean)) {
    pairs <- lower_triangle(ncol(parts$x_mean))
    flat <- matrix(aperm(parts$x_cov, c(3, 1, 2)), nrow(parts$x_mean))
    at <- (pairs[, 2] - 1L) * ncol(parts$x_mean) + pairs[, 1]
    columns <- c(columns, list(parts$x_mean, flat[, at]))
    names <- c(names, predictor_names_of_draws(object$holes$predictors))
  }
  out <- do.call(cbind, columns)
  colnames(out) <- names
  out
}

#' @export
draws_from_posterior.bkm <- draws_from_posterior.bsvm

fixed_names <- function(object) names(object$transform$center)
