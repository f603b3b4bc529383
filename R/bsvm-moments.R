# Mean and variance of f = o + x'beta + z'u and the class probability, by row:
# from the joint Gaussian of a "vb" fit, from the draws of a "gibbs" fit.
# `new` is the list of design_new(): x, random (z, group; group 0 = a level
# that the fit has not seen), offset, complete.

# Elements of the largest temporary matrix: rows are taken in slices.
slice_size <- 4e6

row_slices <- function(n, width) {
  size <- max(1, floor(slice_size / max(1, width)))
  begin <- seq(1, max(n, 1), by = size)
  lapply(begin, function(b) seq_len(min(size, n - b + 1)) + b - 1L)
}

# list(mean, var, prob): prob is that of the positive class; from draws also
# its standard deviation.
predict_moments <- function(object, new, link) {
  if (object$method == "gibbs") {
    out <- gibbs_moments(object, new, link)
    out <- stats::setNames(out, c("mean", "var", "prob", "prob_sd"))
    return(replace_gibbs_holes(out, object, new, link))
  }
  out <- replace_vb_holes(vb_moments(object, new), object, new)
  out$prob <- link_probability(out$mean, out$var, link)
  out
}

# E g(f) for f ~ N(mean, var) (svm.md section 8).
link_probability <- function(mean, var, link) {
  if (link == "probit") {
    stats::pnorm(mean / sqrt(1 + var))
  } else {
    hinge_probability_cpp(as.double(mean), as.double(var))
  }
}

# g(f) itself.
link_curve <- function(f, link) {
  if (link == "probit") {
    stats::pnorm(f)
  } else {
    stats::plogis(2 * (pmax(1 + f, 0) - pmax(1 - f, 0)))
  }
}

# --- mean field --------------------------------------------------------------

# O(P^2) a row, P the length of theta.
vb_moments <- function(object, new) {
  n <- nrow(new$x)
  posterior <- object$posterior
  if (length(posterior$random) == 0 && is.null(posterior$wide)) {
    # Columns that are surely out add nothing.
    used <- which(rep_len(in_model(posterior), ncol(new$x)))
    transform <- object$transform
    return(core_call(linear_moments_cpp(
      if (length(used) < ncol(new$x)) new$x[, used, drop = FALSE] else new$x,
      transform$center[used], transform$scale[used], as.double(new$offset),
      effect_mean(posterior)[used],
      effect_cov(posterior)[used, used, drop = FALSE],
      check_threads(getOption("bayeskernel.threads", 2L))
    )))
  }
  mean <- var <- numeric(n)
  for (rows in row_slices(n, length(object$posterior$theta_mean))) {
    part <- model_rows(object, new, rows)
    part <- vb_rows(object, part$x, part$random)
    mean[rows] <- new$offset[rows] + part$mean
    var[rows] <- part$var
  }
  list(mean = mean, var = var)
}

# Columns on the scale of the model.
model_rows <- function(object, new, rows) {
  random <- lapply(seq_along(new$random), function(t) {
    z <- new$random[[t]]$z[rows, , drop = FALSE]
    list(
      z = z %*% object$transform$random[[t]], group = new$random[[t]]$group[rows]
    )
  })
  list(
    x = scale_columns(new$x[rows, , drop = FALSE], object$transform),
    random = random
  )
}

# Mean and variance of x'theta + z'u without offset, scale of the model.
vb_rows <- function(object, x, random) {
  posterior <- object$posterior
  n <- nrow(x)
  reduced <- reduce_columns(posterior$wide, x)
  var <- reduced$hidden
  # Coefficients of theta; Cov(theta, u) enters through the loading.
  a <- matrix(0, n, length(posterior$theta_mean))
  a[, seq_len(ncol(reduced$x))] <- reduced$x
  mean <- numeric(n)
  shift <- 0
  for (t in seq_along(posterior$random)) {
    term <- posterior$random[[t]]
    r <- length(term$columns)
    z <- random[[t]]$z
    group <- random[[t]]$group
    known <- which(group > 0L)
    unknown <- which(group == 0L)
    if (length(unknown) > 0) {
      var[unknown] <- var[unknown] +
        quadratic(z[unknown, , drop = FALSE], vb_variance_mean(object, t))
    }
    if (length(known) == 0) next
    z <- z[known, , drop = FALSE]
    g <- group[known]
    if (!term$eliminated) {
      for (k in seq_len(r)) {
        a[cbind(known, term$index[(g - 1L) * r + k])] <- z[, k]
      }
      next
    }
    mean[known] <- mean[known] + rowSums(z * term$mean[g, , drop = FALSE])
    if (is.null(dim(shift))) shift <- matrix(0, n, ncol(a))
    for (k in seq_len(r)) {
      loading <- matrix(term$loading[k, , g], ncol(a), length(g))
      shift[known, ] <- shift[known, ] + z[, k] * t(loading)
      for (l in seq_len(r)) {
        var[known] <- var[known] + z[, k] * z[, l] * term$schur[k, l, g]
      }
    }
  }
  if (!is.null(posterior$pairs)) var <- var + pair_variance(posterior, random)
  if (!is.null(posterior$gamma)) {
    var <- var + drop(a^2 %*% indicator_var(posterior))
    a <- a * rep(posterior$gamma, each = n)
  }
  mean <- mean + drop(a %*% posterior$theta_mean)
  a <- a - shift
  list(mean = mean, var = var + rowSums((a %*% posterior$theta_cov) * a))
}

# Data scale to the scale of the model.
scale_columns <- function(x, transform) {
  n <- nrow(x)
  (x - rep(transform$center, each = n)) / rep(transform$scale, each = n)
}

# Columns that were turned into fewer by an orthogonal basis; what the basis
# does not reach kept its prior variance.
reduce_columns <- function(wide, x) {
  if (is.null(wide)) {
    return(list(x = x, hidden = numeric(nrow(x))))
  }
  kept <- seq_len(wide$first)
  block <- x[, -kept, drop = FALSE]
  if (wide$first == 0) block <- x
  seen <- block %*% wide$basis
  list(
    x = cbind(x[, kept, drop = FALSE], seen),
    hidden = wide$hidden_var *
      pmax(rowSums(block^2) - rowSums(seen^2), 0)
  )
}

# z' V z by row.
quadratic <- function(z, v) rowSums((z %*% v) * z)

# --- variance components -----------------------------------------------------

# q of the variance of random term t; these come last.
variance_of_term <- function(object, t) {
  all <- object$posterior$variance
  all[[length(all) - length(object$posterior$random) + t]]
}

# Posterior mean of the covariance of random term t, on the scale of the data.
# Without a finite mean, the reciprocal of the mean precision.
variance_mean <- function(object, t) {
  component <- variance_of_term(object, t)
  r <- length(component$columns)
  if (object$method == "gibbs") {
    pairs <- lower_triangle(r)
    names <- covariance_names(component$label, component$columns)
    out <- matrix(0, r, r)
    out[pairs] <- colMeans(flat_draws(object, names))
    out[pairs[, 2:1, drop = FALSE]] <- out[pairs]
    return(out)
  }
  map <- object$transform$random[[t]]
  map %*% vb_variance_mean(object, t) %*% t(map)
}

# The same for a "vb" fit on the scale of the model.
vb_variance_mean <- function(object, t) {
  component <- variance_of_term(object, t)
  r <- length(component$columns)
  if (component$type == "iid") {
    diag(inverse_gamma_mean(component$shape, component$rate), r)
  } else {
    df <- component$df - r - 1
    component$scale / (if (df > 0) df else component$df)
  }
}

inverse_gamma_mean <- function(shape, rate) {
  rate / (if (shape > 1) shape - 1 else shape)
}

lower_triangle <- function(r) {
  which(lower.tri(diag(r), diag = TRUE), arr.ind = TRUE, useNames = FALSE)
}

# --- draws -------------------------------------------------------------------

# Means over the draws of f, Var f and, for each link asked for, g(f), with its
# standard deviation. The effect of a group that the fit has not seen is
# integrated out under the variance of the same draw.
gibbs_moments <- function(object, new, links) {
  parts <- draw_parts(object, used_levels(new))
  terms <- lapply(seq_along(new$random), function(t) {
    term <- new$random[[t]]
    effects <- parts$effects[[t]]
    list(
      z = unname(term$z) + 0,
      group = match(term$group, parts$levels[[t]], nomatch = 0L),
      effects = matrix(effects, dim(effects)[1]),
      covariance = matrix(aperm(parts$sigma[[t]], c(3, 1, 2)), dim(effects)[1])
    )
  })
  out <- list()
  for (link in links) {
    moments <- draw_moments_cpp(
      unname(new$x) + 0, as.double(new$offset), parts$theta, terms,
      link == "hinge", check_threads(getOption("bayeskernel.threads", 2L))
    )
    out[c("mean", "var", link, paste0(link, "_sd"))] <- moments
  }
  out
}
