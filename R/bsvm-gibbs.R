# The Gibbs sampler's side of bsvm(): chains over threads or a cluster,
# continued runs, and posterior summaries from draws.

bsvm_fit_gibbs <- function(fit, design, data, blocks, settings, start, call) {
  fingerprint <- gibbs_fingerprint(design, data, blocks, settings)
  earlier <- check_start(start, fingerprint, settings, call)
  if (!is.null(earlier)) {
    settings$seed <- fit$seed <- earlier$seed
  }
  control <- core_settings(settings, design)
  if (!is.null(earlier)) control$states <- earlier$state
  core <- run_gibbs(data, core_prior(blocks), control, settings$cluster, call)
  status <- core$status
  if (status$interrupted && settings$on_interrupt == "stop") abort_interrupted()
  draws <- merge_draws(core$draws, status, earlier, settings, call)
  dimnames(draws) <- list(NULL, NULL, c(
    gibbs_names(design, blocks, settings$keep_ranef),
    structured_names(design, data, settings)
  ))
  fit$draws <- draws
  fit$posterior <- gibbs_posterior(draws, design, blocks, settings$keep_ranef)
  fit$posterior$selection <- gibbs_selection(draws, design, data, fit$prior)
  fit$imputed <- imputed_gibbs(core$holes, design)
  fit$fitted <- gibbs_fitted(fit, design)
  fit$fitted <- replace_hole_rows(fit$fitted, core$fitted_holes)
  fit$state <- core$states
  fit$sampler <- list(
    chains = settings$chains, warmup = settings$warmup, thin = settings$thin,
    fingerprint = fingerprint
  )
  fit$diagnostics <- list(
    sweeps = status$sweeps, interrupted = status$interrupted,
    seconds = status$seconds, table = convergence_table(
      draws[, , !is_detail(dimnames(draws)[[3]]), drop = FALSE]
    )
  )
  if (!status$interrupted) warn_convergence(fit$diagnostics$table, call = call)
  fit
}

# Draws that are many and of which each matters little.
is_detail <- function(names) startsWith(names, "b[") | startsWith(names, "x[")

# What must be the same for chains to be continued.
gibbs_fingerprint <- function(design, data, blocks, settings) {
  list(
    n = length(design$y), columns = colnames(design$x),
    sums = c(
      colSums(design$x), crossprod(design$x, design$y), sum(design$weights),
      sum(design$weights * design$y), sum(design$offset * design$y)
    ),
    levels = lapply(design$random, `[[`, "levels"), blocks = blocks,
    selection = data$selection, holes = holes_fingerprint(data$holes),
    settings = settings[c(
      "chains", "warmup", "thin", "keep_ranef", "keep_imputed"
    )]
  )
}

holes_fingerprint <- function(holes) {
  if (is.null(holes)) {
    return(NULL)
  }
  filled <- replace(holes$x, is.na(holes$x), 0)
  c(
    holes[c("mean_var", "df", "scale", "center", "scale_x")],
    list(colSums(is.na(holes$x)), crossprod(filled), length(holes$use_row))
  )
}

check_start <- function(start, fingerprint, settings, call) {
  if (is.null(start)) {
    return(NULL)
  }
  if (!inherits(start, "bsvm") || !identical(start$method, "gibbs")) {
    bk_abort("argument", "`start` must be a fit of bsvm(method = \"gibbs\").",
      paste("Found an object of class", class(start)[1]),
      call = call
    )
  }
  same <- identical(start$sampler$fingerprint, fingerprint)
  if (!same) {
    bk_abort("argument", "`start` is a fit of another model or other data.",
      c(
        "Data, formula, prior, chains, warmup and thin must be the same.",
        "Only `draws` and the way the work is shared may differ."
      ),
      call = call
    )
  }
  if (dim(start$draws)[1] > settings$draws) {
    bk_abort("argument", "`start` already holds more draws than `draws`.",
      sprintf(
        "It holds %d a chain, `draws` is %d.", dim(start$draws)[1],
        settings$draws
      ),
      call = call
    )
  }
  start
}

run_gibbs <- function(data, prior, control, cluster, call) {
  if (is.null(cluster)) {
    return(core_call(gibbs_on_worker(control, data, prior), call))
  }
  shares <- parallel::splitIndices(length(control$chain_id), length(cluster))
  shares <- Filter(length, shares)
  jobs <- lapply(shares, function(share) {
    job <- control
    job$chain_id <- control$chain_id[share]
    if (length(control$states) > 0) job$states <- control$states[share]
    job$progress <- FALSE
    job
  })
  parts <- tryCatch(
    parallel::clusterApply(cluster, jobs, gibbs_on_worker, data, prior),
    error = function(e) {
      bk_abort("cluster", "A worker of `cluster` failed.",
        c(
          conditionMessage(e),
          "bayeskernel must be installed on the workers, in this version."
        ),
        call = call
      )
    }
  )
  parts <- lapply(parts, core_call, call = call)
  join_chains(parts)
}

gibbs_on_worker <- function(control, data, prior) {
  if (is.null(data$selection) && is.null(data$holes)) {
    bsvm_gibbs_cpp(data, prior, control)
  } else {
    bsvm_structured_gibbs_cpp(data, prior, control)
  }
}

join_chains <- function(parts) {
  dims <- lapply(parts, function(part) dim(part$draws))
  chains <- vapply(dims, `[`, 1L, 2)
  out <- array(0, c(dims[[1]][1], sum(chains), dims[[1]][3]))
  before <- 0L
  for (k in seq_along(parts)) {
    out[, before + seq_len(chains[k]), ] <- parts[[k]]$draws
    before <- before + chains[k]
  }
  list(
    draws = out, states = do.call(c, lapply(parts, `[[`, "states")),
    status = join_status(lapply(parts, `[[`, "status")),
    holes = pool_parts(parts, "holes", chains, list(mean = "var")),
    fitted_holes = pool_parts(
      parts, "fitted_holes", chains,
      list(mean = "var", probit = "probit_sd", hinge = "hinge_sd")
    )
  )
}

# How a run went from how the runs of shares of its chains went.
join_status <- function(parts) {
  out <- parts[[1]]
  failures <- vapply(parts, `[[`, "", "failure")
  out$failure <- c(failures[nzchar(failures)], "")[1]
  out$kept <- min(vapply(parts, `[[`, 0, "kept"))
  out$seconds <- max(vapply(parts, `[[`, 0, "seconds"))
  out
}

# Means and variances of all draws from those of shares of the chains. `pairs`
# names the element of the spread (a variance or an sd) by that of the mean.
pool_parts <- function(parts, name, chains, pairs) {
  out <- parts[[1]][[name]]
  if (is.null(out) || length(parts) == 1L) {
    return(out)
  }
  draws <- dim(parts[[1]]$draws)[1]
  count <- chains * draws
  total <- sum(count)
  for (mean in names(pairs)) {
    spread <- pairs[[mean]]
    power <- if (endsWith(spread, "sd")) 2 else 1
    means <- lapply(parts, function(part) part[[name]][[mean]])
    out[[mean]] <- Reduce(`+`, Map(`*`, means, count)) / total
    squares <- Map(function(part, own, k) {
      (k - 1) * part[[name]][[spread]]^power + k * (own - out[[mean]])^2
    }, parts, means, count)
    out[[spread]] <- (Reduce(`+`, squares) / (total - 1))^(1 / power)
  }
  out
}

# Draws of an earlier run first; only what was reached is kept.
merge_draws <- function(draws, status, earlier, settings, call) {
  kept <- status$kept
  if (!is.null(earlier)) {
    before <- dim(earlier$draws)[1]
    draws[seq_len(before), , ] <- earlier$draws
  }
  if (nzchar(status$failure)) {
    details <- c(
      sprintf("In sweep %.0f: %s.", status$sweeps + 1, status$failure),
      "Standardise the predictors, or give the prior less variance."
    )
    if (kept < 1) {
      bk_abort("numeric", "The sampler failed.", details, call = call)
    }
    bk_warn("convergence", sprintf(
      "The sampler failed; %.0f of %d draws a chain are kept.", kept,
      settings$draws
    ), details, call = call)
  }
  if (kept < 1) {
    bk_abort("argument", "Interrupted before the first draw was kept.",
      "The warmup was not over.",
      call = call
    )
  }
  if (status$interrupted) {
    bk_warn("interrupt", sprintf(
      "Interrupted: %.0f of %d draws a chain are kept.", kept, settings$draws
    ), "Continue with the same call and `start =` this fit.", call = call)
  }
  if (kept < dim(draws)[1]) draws <- draws[seq_len(kept), , , drop = FALSE]
  draws
}

gibbs_names <- function(design, blocks, keep_ranef) {
  members <- variances <- character()
  for (block in blocks$blocks) {
    if (block$kind == "held") next
    if (block$random == 0L) {
      variances <- c(variances, sprintf("sigma2[%s]", block$label))
      next
    }
    levels <- design$random[[block$random]]$levels
    if (keep_ranef) {
      members <- c(members, ranef_names(block$label, block$columns, levels))
    }
    variances <- c(variances, covariance_names(block$label, block$columns))
  }
  c(colnames(design$x), members, variances)
}

ranef_names <- function(label, columns, levels) {
  sprintf(
    "b[%s %s:%s]", rep(columns, length(levels)), label,
    rep(levels, each = length(columns))
  )
}

# Lower triangle, column by column.
covariance_names <- function(label, columns) {
  pairs <- which(lower.tri(diag(length(columns)), diag = TRUE), arr.ind = TRUE)
  sprintf("Sigma[%s:%s,%s]", label, columns[pairs[, 1]], columns[pairs[, 2]])
}

# Means and covariances of the draws, on the scale of the model.
gibbs_posterior <- function(draws, design, blocks, keep_ranef) {
  flat <- matrix(draws, ncol = dim(draws)[3])
  colnames(flat) <- dimnames(draws)[[3]]
  p <- ncol(design$x)
  to_model <- solve_data_map(design)
  theta <- flat[, seq_len(p), drop = FALSE]
  posterior <- list(
    theta_mean = drop(to_model %*% colMeans(theta)),
    theta_cov = to_model %*% covariance_of(theta) %*% t(to_model),
    random = list(), variance = list()
  )
  for (l in seq_along(blocks$blocks)) {
    block <- blocks$blocks[[l]]
    posterior$variance[[l]] <- list(
      label = block$label, columns = block$columns, type = block$kind,
      precision = block$precision
    )
    if (block$random == 0L) next
    term <- design$random[[block$random]]
    out <- list(
      label = block$label, columns = block$columns, levels = term$levels,
      eliminated = FALSE
    )
    if (keep_ranef) {
      inverse <- solve(block$transform)
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

# beta(data) = A beta(model) for x* = (x - c) / s; the inverse of A.
solve_data_map <- function(design) {
  if (ncol(design$x) == 0) {
    return(matrix(0, 0, 0))
  }
  solve(data_map(design$center, design$scale, has_intercept(design)))
}

# As cov(), also for no columns and for a single draw.
covariance_of <- function(x) {
  centred <- x - rep(colMeans(x), each = nrow(x))
  crossprod(centred) / max(1, nrow(x) - 1)
}

data_map <- function(center, scale, intercept) {
  out <- diag(1 / scale, length(scale))
  if (intercept) out[1, ] <- out[1, ] - center / scale
  out
}

gibbs_selection <- function(draws, design, data, prior) {
  if (is.null(data$selection)) {
    return(NULL)
  }
  columns <- data$selection$columns + 1L
  names <- inclusion_names(colnames(design$x)[columns])
  list(
    columns = columns, prior = prior_inclusion(prior),
    inclusion = unname(colMeans(draws[, , names, drop = FALSE], dims = 2))
  )
}

# Rows with holes were averaged by the sampler itself, over their imputed
# values.
replace_hole_rows <- function(fitted, holes) {
  for (name in intersect(names(fitted), names(holes))) {
    fitted[[name]][holes$row] <- holes[[name]]
  }
  fitted
}

# Moments of f and class probabilities of the rows of the fit, over the draws.
gibbs_fitted <- function(fit, design) {
  new <- list(
    x = design$x, random = forget_groups(fit, design$random),
    offset = design$offset
  )
  gibbs_moments(fit, new, c("probit", "hinge"))[
    c("mean", "var", "probit", "hinge")
  ]
}
