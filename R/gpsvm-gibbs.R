# The Gibbs sampler's side of gpsvm(): chains over threads or a cluster, one
# set of them for each machine, and moments of f from the draws.

gpsvm_gibbs <- function(fit, data, model, settings, call) {
  settings$nugget <- model$nugget
  labels <- machine_labels(fit$levels)
  control <- gpsvm_control(settings, labels)
  runs <- lapply(seq_along(labels), function(k) {
    run_process_chains(
      data, model, control, labels[k], k - 1L, settings$cluster, call
    )
  })
  status <- lapply(runs, `[[`, "status")
  interrupted <- vapply(status, `[[`, NA, "interrupted")
  if (any(interrupted) && settings$on_interrupt == "stop") abort_interrupted()
  kept <- lapply(runs, function(run) {
    merge_draws(run$draws, run$status, NULL, settings, call)
  })
  least <- min(vapply(kept, function(draws) dim(draws)[1], 1L))
  names <- machine_names(fit$levels)
  draws <- array(0, c(
    least, dim(kept[[1]])[2], ncol(model$z) * length(kept)
  ), list(NULL, NULL, process_names(names, ncol(model$z), settings$exact)))
  for (k in seq_along(kept)) {
    at <- (k - 1L) * ncol(model$z) + seq_len(ncol(model$z))
    draws[, , at] <- kept[[k]][seq_len(least), , , drop = FALSE]
  }
  fit$draws <- draws
  fit$posterior$factor <- runs[[1]]$factor
  fit$state <- lapply(runs, `[[`, "states")
  fit$sampler <- settings[c("chains", "warmup", "thin")]
  fit$fitted <- gibbs_process_fitted(fit, data, settings$threads)
  fit$diagnostics <- list(
    sweeps = status[[1]]$sweeps, interrupted = any(interrupted),
    seconds = sum(vapply(status, `[[`, 0, "seconds")),
    jitter = runs[[1]]$jitter,
    table = convergence_table(draws)
  )
  if (!any(interrupted)) warn_convergence(fit$diagnostics$table, call = call)
  fit
}

# f at every row of the exact process, u at every inducing point of another.
process_names <- function(machines, m, exact) {
  symbol <- if (exact) "f" else "u"
  if (length(machines) == 1L) {
    return(sprintf("%s[%d]", symbol, seq_len(m)))
  }
  sprintf("%s[%s,%d]", symbol, rep(machines, each = m), seq_len(m))
}

run_process_chains <- function(data, model, control, label, machine, cluster,
                               call) {
  if (is.null(cluster)) {
    return(core_call(process_chains_on_worker(
      control, data, model$kernel_core, model$z, label, machine
    ), call))
  }
  greet_workers(cluster, call)
  shares <- Filter(length, parallel::splitIndices(
    length(control$chain_id), length(cluster)
  ))
  jobs <- lapply(shares, function(share) {
    control$chain_id <- control$chain_id[share]
    control$progress <- FALSE
    control
  })
  parts <- on_cluster(parallel::clusterApply(
    cluster, jobs, process_chains_on_worker, data, model$kernel_core, model$z,
    label, machine
  ), call)
  parts <- lapply(parts, core_call, call = call)
  c(join_chains(parts), parts[[1]][c("factor", "jitter")])
}

process_chains_on_worker <- function(control, data, kernel, z, label, machine) {
  gpsvm_gibbs_cpp(data, kernel, z, control, label, machine)
}

# Moments of f and class probabilities of the rows of the fit.
gibbs_process_fitted <- function(fit, data, threads) {
  probit <- gibbs_process_moments(fit, data, "probit", threads)
  hinge <- gibbs_process_moments(fit, data, "hinge", threads)
  list(
    mean = probit$mean, var = probit$var, probit = probit$prob,
    hinge = hinge$prob
  )
}

# The same for any rows, over the draws: rows are taken in parts, each with at
# most some million latent values.
gibbs_process_moments <- function(object, data, link, threads) {
  m <- ncol(object$posterior$z)
  machines <- machine_names(object$levels)
  flat <- stack_chains(object$draws)
  parts <- lapply(seq_along(machines), function(k) {
    at <- (k - 1L) * m + seq_len(m)
    points <- t(forwardsolve(
      object$posterior$factor, t(flat[, at, drop = FALSE])
    ))
    one_process_moments(object, data, points, link, threads)
  })
  if (length(parts) == 1L) {
    return(parts[[1]])
  }
  out <- lapply(c(mean = "mean", var = "var", prob = "prob"), function(name) {
    both <- do.call(cbind, lapply(parts, `[[`, name))
    colnames(both) <- object$levels
    both
  })
  out$prob <- out$prob / rowSums(out$prob)
  out
}

one_process_moments <- function(object, data, points, link, threads) {
  n <- nrow(data$x)
  size <- max(1, 4e6 %/% nrow(points))
  parts <- lapply(seq(0, n - 1, by = size), function(first) {
    data$x <- data$x[first + seq_len(min(size, n - first)), , drop = FALSE]
    data$labels <- data$weights <- numeric()
    latent <- latent_draws(object, data, points, threads)
    process_summary(latent$f, latent$residual, link)
  })
  lapply(stats::setNames(nm = names(parts[[1]])), function(name) {
    unlist(lapply(parts, `[[`, name))
  })
}

# f: rows x draws of what the inducing points say; r: what they leave open,
# which the hinge link averages over by a normal quantile for every draw, spread
# evenly (the fractional parts of the golden ratio's multiples).
process_summary <- function(f, r, link) {
  mean <- rowMeans(f)
  spread <- function(x, center) {
    rowSums((x - center)^2) / max(1, ncol(x) - 1)
  }
  prob <- if (link == "probit") {
    stats::pnorm(f / sqrt(1 + r))
  } else {
    z <- stats::qnorm((seq_len(ncol(f)) * (sqrt(5) - 1) / 2) %% 1)
    link_curve(f + outer(sqrt(r), z), "hinge")
  }
  p <- rowMeans(prob)
  list(
    mean = mean, var = spread(f, mean) + r, prob = p,
    prob_sd = sqrt(spread(prob, p))
  )
}

# A failure of a worker, or of the way to it.
on_cluster <- function(code, call) {
  tryCatch(code, error = function(e) {
    if (inherits(e, "bayeskernel_error")) stop(e)
    bk_abort("cluster", "A worker of `cluster` failed.",
      c(
        conditionMessage(e),
        "bayeskernel must be installed on the workers, in this version.",
        "Stop the cluster and make a new one: others may still be at work."
      ),
      call = call
    )
  })
}
