# The Gibbs sampler's side of bsvm(): names of draws and posterior summaries.

linear_chains <- function(control, data, prior) {
  run <- if (length(data$crossed)) bsvm_crossed_gibbs_cpp else bsvm_gibbs_cpp
  run(data, prior, control)
}

# The core's draws are on the scale of the predictors as they were given.
linear_draws_of <- function(core, job, rows) {
  dimnames(core$draws) <- list(NULL, NULL, job$names)
  rescale_draws(core$draws, job$response, colnames(job$design$x))
}

draw_names <- function(design, blocks, data, settings) {
  c(
    gibbs_names(design, blocks, settings$keep_ranef),
    if (settings$family == "gaussian") noise_name(colnames(design$x)),
    structured_names(design, data, settings)
  )
}

collect_gibbs <- function(fit, core, job) {
  design <- job$design
  keep_ranef <- job$settings$keep_ranef
  draws <- fit$draws
  fit$posterior <- gibbs_posterior(draws, design, job$blocks, keep_ranef)
  fit$posterior$selection <- gibbs_selection(draws, design, job$data, fit$prior)
  if (is.null(job$atoms)) {
    fit$imputed <- imputed_gibbs(core$holes, design)
    fit$fitted <- averaged_fitted(fit, design)
    fit$fitted <- replace_incomplete_rows(fit$fitted, core$fitted_holes, job$response)
  } else {
    fit$imputed <- imputed_completed(core, job)
    fit$fitted <- fitted_completed(fit, core, job)
  }
  fit$expected <- gibbs_expected(fit, job)
  if (fit$family != "gaussian") {
    warn_separation(fit$posterior$theta_mean, design$y * fit$fitted$mean, fit, job)
  }
  fit
}

# Moments of rows from those of their atoms, by how often each was drawn.
fitted_completed <- function(fit, core, job) {
  rows <- job$wide
  rows$random <- forget_groups(fit, rows$random)
  all <- with_prob_sd(latent.bsvm(fit, rows, linear_links(fit)))
  own_moments(pool_completed(all, core$share, job$atoms$row))
}

# What the rows do to a support vector machine by its draws, at most 1000 of them, some rows at a
# time; S is their covariance. NULL where random effects are not kept.
gibbs_influence <- function(fit, job) {
  design <- job$design
  if (fit$family != "hinge" || !is.null(job$data$selection) || models_missing(job) ||
    (length(design$random) > 0L && !job$settings$keep_ranef)) {
    return(NULL)
  }
  size <- min(prod(dim(fit$draws)[1:2]), 1000)
  if (size < 2L) return(NULL)
  parts <- by_drawn_rows(fit, design, size, function(latent, at) {
    core_call(stein_influence_cpp(
      latent$f, as.double(design$y[at]), as.double(job$data$weights[at])
    ))
  })
  out <- lapply(
    stats::setNames(nm = names(parts[[1L]])),
    function(name) unlist(lapply(parts, `[[`, name), use.names = FALSE)
  )
  c(out, list(cov = fit$posterior$theta_cov))
}

# `visit(latent, at)` of the draws of some rows at a time, `at`.
by_drawn_rows <- function(fit, design, size, visit) {
  n <- nrow(design$x)
  random <- forget_groups(fit, design$random)
  lapply(split(seq_len(n), (seq_len(n) - 1L) %/% max(1, floor(2e6 / size))), function(at) {
    rows <- list(
      x = design$x[at, , drop = FALSE], offset = fit$offset[at], open = design$open[at],
      random = lapply(random, take_term, at)
    )
    visit(latent_draws.bsvm(fit, rows, size), at)
  })
}

# E log p(y | f) of each row over the draws, at most 4000 of them; NULL where f of the rows is not
# to be had from these, or there is no likelihood.
gibbs_expected <- function(fit, job) {
  design <- job$design
  if (fit$family == "hinge" || models_missing(job) ||
    (length(design$random) > 0L && !job$settings$keep_ranef)) {
    return(NULL)
  }
  y <- if (is_regression(fit)) fit$y else own_classes(fit)
  size <- min(prod(dim(fit$draws)[1:2]), 4000)
  parts <- by_drawn_rows(fit, design, size, function(latent, at) {
    draws <- nrow(latent$f)
    values <- log_density(
      rep(y[at], each = draws), latent$f, latent$sigma, links_of(fit)[1], is_regression(fit)
    )
    colMeans(matrix(values, draws))
  })
  unlist(parts, use.names = FALSE)
}

# Draws that are many and of which each matters little.
is_detail <- function(names) startsWith(names, "b[") | startsWith(names, "x[")

gibbs_names <- function(design, blocks, keep_ranef) {
  members <- variances <- character()
  for (block in blocks$blocks) {
    if (block$kind == "held") next
    if (block$random == 0L) {
      variances <- c(variances, sprintf("sigma2[%s]", block$label))
      next
    }
    levels <- design$random[[block$random]]$levels
    if (keep_ranef) members <- c(members, ranef_names(block$label, block$columns, levels))
    variances <- c(variances, covariance_names(block$label, block$columns))
  }
  c(colnames(design$x), members, variances)
}

ranef_names <- function(label, columns, levels) {
  sprintf("b[%s %s:%s]", rep(columns, length(levels)), label, rep(levels, each = length(columns)))
}

# Lower triangle, column by column.
covariance_names <- function(label, columns) {
  pairs <- lower_triangle(length(columns))
  sprintf("Sigma[%s:%s,%s]", label, columns[pairs[, 1]], columns[pairs[, 2]])
}

# Means and covariances of the draws, on the scale of the model.
gibbs_posterior <- function(draws, design, blocks, keep_ranef) {
  flat <- matrix(draws, ncol = dim(draws)[3])
  colnames(flat) <- dimnames(draws)[[3]]
  p <- ncol(design$x)
  center <- stats::setNames(design$center, colnames(design$x))
  theta <- theta_to_model(
    list(transform = list(center = center, scale = design$scale)),
    unname(flat[, seq_len(p), drop = FALSE])
  )
  posterior <- list(
    theta_mean = colMeans(theta), theta_cov = covariance_of(theta),
    random = list(), variance = list()
  )
  for (l in seq_along(blocks$blocks)) {
    block <- blocks$blocks[[l]]
    posterior$variance[[l]] <- list(
      label = block$label, columns = block$columns, type = block$kind, precision = block$precision
    )
    if (block$random == 0L) next
    term <- design$random[[block$random]]
    out <- list(
      label = block$label, columns = block$columns, levels = term$levels,
      eliminated = FALSE, crossed = block$crossed
    )
    if (keep_ranef) {
      inverse <- invert_map(block$transform, block$columns)
      r <- block$width
      names <- ranef_names(block$label, block$columns, term$levels)
      u <- flat[, names, drop = FALSE]
      mean <- matrix(colMeans(u), ncol = r, byrow = TRUE)
      out$mean <- mean %*% t(inverse)
      out$cov <- array(0, c(r, r, block$members))
      if (r == 1) {
        squares <- colSums((u - rep(colMeans(u), each = nrow(u)))^2)
        out$cov[] <- inverse[1]^2 * squares / max(1, nrow(u) - 1)
      }
      for (g in seq_len(block$members * (r > 1))) {
        own <- covariance_of(u[, (g - 1) * r + seq_len(r), drop = FALSE])
        out$cov[, , g] <- inverse %*% own %*% t(inverse)
      }
    }
    posterior$random[[block$random]] <- out
  }
  posterior
}

# As cov(), also for no columns and for a single draw.
covariance_of <- function(x) {
  centred <- x - rep(colMeans(x), each = nrow(x))
  crossprod(centred) / max(1, nrow(x) - 1)
}

gibbs_selection <- function(draws, design, data, prior) {
  if (is.null(data$selection)) return(NULL)
  columns <- data$selection$columns + 1L
  names <- inclusion_names(colnames(design$x)[columns])
  list(
    columns = columns, prior = prior_inclusion(prior),
    inclusion = unname(colMeans(draws[, , names, drop = FALSE], dims = 2))
  )
}

# Rows with holes were averaged by the sampler itself, over their imputed values.
replace_incomplete_rows <- function(fitted, holes, response) {
  if (!is.null(holes) && !is.null(response)) {
    holes$mean <- response[["center"]] + response[["scale"]] * holes$mean
    holes$var <- response[["scale"]]^2 * holes$var
  }
  for (name in intersect(names(fitted), names(holes))) fitted[[name]][holes$row] <- holes[[name]]
  fitted
}

# Moments of f and class probabilities of the rows of the fit, over the draws or the points of a
# grid.
averaged_fitted <- function(fit, design) {
  rows <- list(
    x = design$x, random = forget_groups(fit, design$random),
    offset = fit$offset, open = design$open
  )
  own_moments(latent.bsvm(fit, rows, linear_links(fit)))
}
