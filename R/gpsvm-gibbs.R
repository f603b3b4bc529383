# The Gibbs sampler's side of gpsvm(): one set of chains for each machine, and moments of f from the
# draws.

# Chains of every machine in turn: their draws side by side, states by chain. After an interrupt the
# machines that follow go as far as it did.
gpsvm_chains <- function(control, data, kernel, z, labels) {
  states <- control$states
  runs <- list()
  for (k in seq_along(labels)) {
    control$states <- lapply(states, `[[`, k)
    if (length(control$machine_weights)) {
      data$weights <- control$machine_weights[[k]]
    }
    run <- gpsvm_gibbs_cpp(data, kernel, z, control, labels[k], k - 1L)
    if (inherits(run, "bayeskernel_core_error")) {
      return(run)
    }
    if (run$status$interrupted) control$draws <- run$status$kept
    runs[[k]] <- run
    if (control$draws < 1) break
  }
  out <- runs[[1]]
  least <- control$draws
  out$draws <- array(unlist(lapply(runs, function(run) {
    run$draws[seq_len(least), , , drop = FALSE]
  })), c(least, dim(out$draws)[2], dim(out$draws)[3] * length(runs)))
  out$states <- lapply(seq_along(out$states), function(chain) {
    lapply(runs, function(run) run$states[[chain]])
  })
  # Machines that were further on have draws that are not kept.
  interrupted <- vapply(runs, function(run) run$status$interrupted, NA)
  if (any(interrupted) && length(labels) > 1L) out["states"] <- list(NULL)
  out$status <- join_status(lapply(runs, `[[`, "status"))
  out$status$seconds <- sum(vapply(runs, function(run) run$status$seconds, 0))
  out
}

gpsvm_draws_of <- function(core, job, rows) {
  dimnames(core$draws) <- list(NULL, NULL, process_names(
    machine_names(rows$levels), ncol(job$process$z), job$settings$exact
  ))
  core$draws
}

# f at every row of the exact process, u at every inducing point of another.
process_names <- function(machines, m, exact) {
  symbol <- if (exact) "f" else "u"
  if (length(machines) == 1L) {
    return(sprintf("%s[%d]", symbol, seq_len(m)))
  }
  sprintf("%s[%s,%d]", symbol, rep(machines, each = m), seq_len(m))
}
