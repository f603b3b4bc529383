# Chains of every sampler: run here or on the workers of a cluster, joined, continued, and cut to
# what was reached.

# Runs the chains of a model.
# model: its facts, of which this reads `chains`, the function that runs a share of the chains, here
#   or on a worker, and `draws(core, job, rows)`, which makes of its answer one array, draws x
#   chains x variables, with names and on the scale of the data.
# job: `control`: a list with `chain_id`, `states`, `seed`, `progress`, and what else the chains
#   read first; `shared`: their other arguments; `settings`; `stored`: how many numbers a draw has,
#   for checking memory.
# Returns the core's answer, with `draws` of earlier runs and these, `seed` and `fingerprint`.
sample_chains <- function(model, job, rows) {
  settings <- job$settings
  check_enough_draws(settings)
  check_memory(job, rows$n)
  fingerprint <- fingerprint_of(job)
  earlier <- resumed(settings$resume, fingerprint, settings)
  if (!is.null(earlier)) {
    # Of a run in rounds the last one goes on.
    job$control[c("warmup", "thin")] <- earlier$sampler[c("warmup", "thin")]
    check_state(earlier, model, job, rows)
    settings$seed <- earlier$seed
    job$control$seed <- as.double(earlier$seed)
    job$control$states <- earlier$state
  }
  rounds <- !is.null(settings$until)
  # Of rounds a script has a line each, and no bar that moves.
  if (rounds && !interactive()) job$control$progress <- FALSE
  core <- run_round(model, job, rows, settings, earlier)
  if (rounds) core <- run_rounds(model, job, rows, core)
  c(core, list(seed = settings$seed, fingerprint = fingerprint))
}

# One run of given length, `earlier` draws first. An interrupt that leaves draws is a warning, if
# `warn`.
run_round <- function(model, job, rows, settings, earlier = NULL, warn = TRUE) {
  core <- run_chains(model$chains, job$control, job$shared, settings$cluster)
  check_reached(core$status, settings)
  if (warn) warn_interrupted(core, settings)
  core$draws <- merge_draws(model$draws(core, job, rows), core$status$kept, earlier)
  core["earlier"] <- list(earlier)
  core$length <- job$control[c("warmup", "thin")]
  core
}

# More of them until the chains agree or the cap is reached. A round that an interrupt cut short
# leaves the one before.
run_rounds <- function(model, job, rows, core) {
  settings <- job$settings
  until <- settings$until
  first <- settings$warmup + settings$draws * settings$thin
  seconds <- core$status$seconds
  round <- 1L
  repeat {
    table <- convergence_table(watched_draws(model, core$draws))
    reached <- until_reached(until, table)
    ended <- core$status$interrupted || nzchar(core$status$failure)
    control <- if (!reached && !ended && !is.null(core$states)) {
      next_round(until, job$control, first, seconds)
    }
    if (settings$progress && !core$status$interrupted) {
      done <- job$control$warmup + job$control$draws * job$control$thin
      message(round_line(
        model$name, round, done, if (is.null(control)) done else most_sweeps(
          until, done, first, seconds
        ), table, seconds, reached
      ))
    }
    if (is.null(control)) break
    control$states <- core$states
    job$control <- control
    last <- core
    core <- tryCatch(
      run_round(model, job, rows, settings, warn = FALSE),
      bayeskernel_error_argument = function(e) NULL
    )
    round <- round + 1L
    if (is.null(core) || 2 * dim(core$draws)[1] < settings$draws) {
      core <- last
      core$status$interrupted <- TRUE
      bk_warn(
        "interrupt", "Interrupted: the draws of the round before are kept.",
        "Continue with the same call and control = list(resume = <this fit>)."
      )
    } else {
      warn_interrupted(core, settings)
      seconds <- core$status$seconds <- seconds + core$status$seconds
    }
  }
  core$status$until <- c(list(
    aims = Filter(length, unclass(until)[c("rhat", "ess")]), goal = format(until), reached = reached
  ), until[intersect("longer", names(until))])
  core
}

watched_draws <- function(model, draws) {
  watched <- if (is.null(model$watched)) TRUE else model$watched(draws)
  draws[, , watched, drop = FALSE]
}

# Chains in this process, or in shares over the workers of a cluster.
run_chains <- function(chains, control, shared, cluster) {
  if (is.null(cluster)) return(core_call(do.call(chains, c(list(control), shared))))
  greet_workers(cluster)
  control$progress <- FALSE
  jobs <- lapply(
    worker_shares(length(control$chain_id), cluster), share_of_chains, control = control
  )
  parts <- on_cluster(do.call(parallel::clusterApply, c(
    list(cluster, jobs, chains), unname(shared)
  )))
  join_chains(lapply(parts, core_call))
}

share_of_chains <- function(control, at) {
  control$chain_id <- control$chain_id[at]
  if (length(control$states)) control$states <- control$states[at]
  control
}

# Which dimension of what the cores answer counts chains; and names of means over draws, with those
# of their variances or standard deviations.
chain_dimension <- c(draws = 2L, scalars = 2L, lambda = 2L, acceptance = 3L)
pooled_moments <- list(
  holes = c(mean = "var"),
  fitted_holes = c(mean = "var", probit = "probit_sd", hinge = "hinge_sd", logit = "logit_sd")
)

join_chains <- function(parts) {
  out <- parts[[1]]
  chains <- vapply(parts, function(part) dim(part$draws %||% part$scalars)[2], 1L)
  for (name in names(out)) {
    each <- lapply(parts, `[[`, name)
    out[[name]] <- if (name %in% names(chain_dimension)) {
      join_arrays(each, chain_dimension[[name]])
    } else if (name %in% c("states", "kernels")) {
      do.call(c, each)
    } else if (name == "status") {
      join_status(each)
    } else if (name %in% names(pooled_moments)) {
      pool_moments(each, chains * dim(out$draws)[1], pooled_moments[[name]])
    } else {
      each[[1]]
    }
  }
  out
}

# How a run went from how the runs of shares of its chains went.
join_status <- function(parts) {
  out <- parts[[1]]
  failures <- vapply(parts, `[[`, "", "failure")
  out$failure <- c(failures[nzchar(failures)], "")[1]
  out$interrupted <- any(vapply(parts, `[[`, NA, "interrupted"))
  out$kept <- min(vapply(parts, `[[`, 0, "kept"))
  out$seconds <- max(vapply(parts, `[[`, 0, "seconds"))
  if (!is.null(out$jitter)) out$jitter <- max(vapply(parts, `[[`, 0, "jitter"))
  out
}

# Means and variances of all draws from those of shares of `count` draws.
pool_moments <- function(parts, count, pairs) {
  out <- parts[[1]]
  if (is.null(out) || length(parts) == 1L) return(out)
  total <- sum(count)
  for (mean in intersect(names(pairs), names(out))) {
    spread <- pairs[[mean]]
    power <- if (endsWith(spread, "sd")) 2 else 1
    means <- lapply(parts, `[[`, mean)
    out[[mean]] <- Reduce(`+`, Map(`*`, means, count)) / total
    squares <- Map(function(part, own, k) {
      (k - 1) * part[[spread]]^power + k * (own - out[[mean]])^2
    }, parts, means, count)
    out[[spread]] <- (Reduce(`+`, squares) / (total - 1))^(1 / power)
  }
  out
}

# Errors, and the warning of a failure, where less was reached than asked for.
check_reached <- function(status, settings) {
  kept <- status$kept
  if (nzchar(status$failure)) {
    details <- c(
      sprintf("In sweep %.0f: %s.", status$sweeps + 1, status$failure),
      "Standardize the predictors, or give the prior less variance."
    )
    if (kept < 1) bk_abort("numeric", "The sampler failed.", details)
    bk_warn("convergence", sprintf(
      "The sampler failed; %.0f of %d draws a chain are kept.", kept, settings$draws
    ), details)
  }
  if (status$interrupted && settings$on_interrupt == "stop") abort_interrupted()
  if (kept < 1) {
    bk_abort("argument", "Interrupted before the first draw was kept.", "The warmup was not over.")
  }
}

warn_interrupted <- function(core, settings) {
  status <- core$status
  if (status$interrupted) {
    bk_warn("interrupt", sprintf(
      "Interrupted: %.0f of %d draws a chain are kept.", status$kept, settings$draws
    ), if (is.null(core$states)) {
      "The chains of its classifiers are at different places: fit again for more."
    } else {
      "Continue with the same call and control = list(resume = <this fit>)."
    })
  }
}

# Draws of an earlier run first; only what was reached is kept.
merge_draws <- function(draws, kept, earlier) {
  if (!is.null(earlier)) draws[seq_len(dim(earlier$draws)[1]), , ] <- earlier$draws
  if (kept < dim(draws)[1]) draws <- draws[seq_len(kept), , , drop = FALSE]
  draws
}

# What every fit with draws has.
add_draws <- function(fit, model, core, settings) {
  fit$draws <- core$draws
  fit$state <- core$states
  fit$sampler <- c(settings["chains"], core$length, list(fingerprint = core$fingerprint))
  fit$diagnostics <- c(
    core$status[c("sweeps", "interrupted", "seconds")],
    core$status[intersect(c("jitter", "until"), names(core$status))],
    list(table = convergence_table(watched_draws(model, fit$draws)))
  )
  fit
}

# Going on --------------------------------------------------------------------

check_resume <- function(start, model, settings) {
  wanted <- sprintf("NULL, or a fit of %s() by a sampler", model$name)
  if (!inherits(start, model$name) || is.null(start$draws) ||
    !("sampler" %in% model$methods[start$method])) {
    abort_argument(start, "resume", wanted)
  }
  if (!("sampler" %in% model$methods[settings$method])) {
    bk_abort(
      "argument", "`resume` continues the chains of a sampler.",
      sprintf(
        "Found: method \"%s\". Accepted: method = %s.", settings$method,
        paste(quoted(names(model$methods)[model$methods == "sampler"]), collapse = ", ")
      ),
      column = "resume"
    )
  }
  refuse_changed(start)
}

# The fit whose chains go on until there are `draws` of them: with as many as that nothing is left
# to do.
resumed <- function(start, fingerprint, settings) {
  if (is.null(start)) return(NULL)
  if (!isTRUE(all.equal(start$sampler$fingerprint, fingerprint, 1e-10))) {
    bk_abort(
      "argument", "`resume` is a fit of another model or other data.",
      "Data, formula, prior, chains, warmup and thin must be the same.",
      "Only `ndraws` and the way the work is shared may differ.", column = "resume"
    )
  }
  if (dim(start$draws)[1] > settings$draws) {
    bk_abort(
      "argument", "`resume` already holds more draws than `ndraws`.",
      sprintf(
        "It holds %d a chain, `ndraws` is the number of all: %d.",
        dim(start$draws)[1], settings$draws
      ),
      column = "resume"
    )
  }
  start
}

# The states of chains are what those of a chain are that has just begun: same names, same sizes,
# finite numbers.
check_state <- function(start, model, job, rows) {
  control <- share_of_chains(job$control, 1L)
  control$progress <- FALSE
  control[c("draws", "thin")] <- 1
  control$warmup <- 0
  begun <- core_call(do.call(model$chains, c(list(control), job$shared)))
  names <- dimnames(model$draws(begun, job, rows))[[3]]
  if (!identical(dimnames(start$draws)[[3]], names) ||
    !identical(dim(start$draws)[2], job$settings$chains)) {
    abort_not_whole("draws")
  }
  if (is.null(start$state)) {
    bk_abort(
      "argument", "The chains of `resume` cannot be continued.",
      "An interrupt left them at different places.", column = "resume"
    )
  }
  kept <- dim(start$draws)[1]
  sweeps <- job$control$warmup + job$control$thin * (kept + 0:1)
  good <- vapply(start$state, function(state) {
    sweep <- unlist(state)[grepl("(^|[.])sweep$", names(unlist(state)))]
    same_shape(state, begun$states[[1]], model$free_state) &&
      all(sweep >= sweeps[1] & sweep <= sweeps[2])
  }, NA)
  if (length(good) != job$settings$chains || !all(good)) abort_not_whole("state")
}

# What must be the same for chains to be continued: everything that they read but the way in which
# the work is shared, long vectors by a few sums.
fingerprint_of <- function(job) {
  free <- c(
    "seed", "draws", "threads", "progress", "states", "tol", "max_iter", "accelerate", "part"
  )
  list(
    control = sketch(job$control[setdiff(names(job$control), free)]), shared = sketch(job$shared)
  )
}

sketch <- function(x) {
  if (is.list(x)) return(lapply(unclass(x), sketch))
  if (!is.numeric(x) || length(x) < 100L) return(unname(x))
  rows <- NROW(x)
  missing <- if (anyNA(x)) sum(is.na(x)) else 0L
  if (missing > 0L) x[is.na(x)] <- 0
  if (is.null(dim(x))) dim(x) <- c(rows, 1L)
  c(dim(x), missing, colSums(x), crossprod(x, cos(seq_len(rows))))
}

# Memory ----------------------------------------------------------------------

# Refuses chains whose draws and states this machine cannot hold.
check_memory <- function(job, n) {
  settings <- job$settings
  bytes <- 8 * settings$chains * (as.double(settings$draws) * job$stored + 2 * n + job$stored)
  most <- getOption("bayeskernel.max_bytes", available_bytes())
  if (bytes > most) {
    bk_abort(
      "argument", "The draws would need too much memory.",
      sprintf(
        "Found: %d chains of %d draws of %.0f numbers, %s.", settings$chains,
        settings$draws, job$stored, format_bytes(bytes)
      ),
      sprintf("Accepted: at most %s, or options(bayeskernel.max_bytes = ).", format_bytes(most)),
      "Ask for fewer `ndraws` or `chains`, or raise `thin` of `control`.",
      column = if (settings$chains > 1000) "chains" else "draws", found = bytes, expected = most
    )
  }
}

# What is free, where the system says so.
available_bytes <- function() {
  lines <- tryCatch(
    suppressWarnings(readLines("/proc/meminfo", 10L)), error = function(e) character()
  )
  line <- grep("^MemAvailable:", lines, value = TRUE)
  if (length(line)) 1024 * as.double(gsub("[^0-9]", "", line)) else 16e9
}

format_bytes <- function(bytes) {
  power <- max(0, min(4, floor(log(max(bytes, 1), 1000))))
  unit <- c("bytes", "kB", "MB", "GB", "TB")[power + 1]
  sprintf("%.3g %s", bytes / 1000^power, unit)
}
