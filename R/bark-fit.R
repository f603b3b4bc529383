# From rows and settings to a fit of bark(): chains, draws on the scale of the
# data, what prediction needs.

bark_fit <- function(rows, settings, start, call) {
  started <- proc.time()[["elapsed"]]
  reference <- reference_rows(rows$data)
  job <- bark_job(rows, settings, reference)
  earlier <- check_bark_start(start, job, settings, call)
  if (!is.null(earlier)) settings$seed <- earlier$seed
  core <- run_bark(job, settings, earlier, call)
  status <- core$status
  if (status$interrupted && settings$on_interrupt == "stop") abort_interrupted()
  draws <- bark_draws(core, rows, settings, length(reference))
  draws <- merge_draws(draws, status, earlier, settings, call)
  fit <- new_fit(
    bark_model, call, rows, settings,
    method = "rjmcmc", family = settings$family, scales = settings$scales,
    select = settings$select, structure = settings$structure,
    transform = c(rows[c("center", "scale")], list(response = rows$y_scale)),
    share = if (length(rows$levels) == 2L) mean(rows$y - 1),
    max_kernels = job$prior$max_kernels,
    reference = if (is.null(rows$rows)) reference else rows$rows[reference],
    draws = draws
  )
  if (settings$model) fit["frame"] <- list(rows$frame)
  # Prediction needs every row: the coefficients given a draw depend on all.
  fit$posterior <- list(
    kernels = lapply(core$kernels, first_kernels, dim(draws)[1]),
    x = rows$data$x, reference = reference
  )
  fit$fitted <- bark_moments(fit, rows$data$x, settings$threads, call)
  fit$acceptance <- core$acceptance
  fit$state <- core$states
  fit$sampler <- list(
    chains = settings$chains, warmup = settings$warmup, thin = settings$thin,
    fingerprint = bark_fingerprint(job, settings)
  )
  fit$diagnostics <- list(
    sweeps = status$sweeps, interrupted = status$interrupted,
    seconds = status$seconds,
    table = convergence_table(draws[, , watched_names(draws), drop = FALSE])
  )
  if (!status$interrupted) warn_convergence(fit$diagnostics$table, call = call)
  fit$elapsed <- c(
    core = status$seconds, total = proc.time()[["elapsed"]] - started
  )
  fit
}

# Rows at which every draw has f: at most ten, spread evenly over the rows in
# the order of the response and then of the predictors, so that they do not
# depend on the order in which the rows came.
reference_rows <- function(data) {
  sorted <- do.call(order, c(list(data$y), unname(as.data.frame(data$x))))
  n <- length(sorted)
  sorted[unique(round(seq(1, n, length.out = min(n, 10L))))]
}

# What the core reads.
bark_job <- function(rows, settings, reference) {
  prior <- settings$prior
  most <- prior$max_kernels
  structure <- settings$structure
  list(
    data = rows$data,
    prior = c(
      prior[c(
        "alpha", "gamma", "epsilon", "lambda_shape", "lambda_rate", "inclusion"
      )],
      list(
        sampled_inclusion = FALSE,
        phi = if (is.character(prior$phi)) numeric() else prior$phi,
        max_kernels = if (is.null(most)) min(rows$n - 1L, 200L) else most,
        kill_power = 1,
        markov = as.numeric(c(structure$q0, structure$q1)),
        markov_beta = as.numeric(structure$hyper)
      )
    ),
    settings = list(
      scales = settings$scales, select = settings$select,
      warmup = as.double(settings$warmup), draws = as.double(settings$draws),
      thin = as.double(settings$thin), seed = as.double(settings$seed),
      chain_id = seq_len(settings$chains) - 1L, threads = settings$threads,
      progress = settings$progress,
      reference = rows$data$x[reference, , drop = FALSE], states = list(),
      start = start_indicators(
        rows$data, settings$structure, settings$chains
      )
    )
  )
}

# What must be the same for chains to be continued.
bark_fingerprint <- function(job, settings) {
  data <- job$data
  list(
    size = dim(data$x), classes = data$classes,
    sums = c(colSums(data$x^2), crossprod(data$x, data$y), sum(data$y)),
    prior = job$prior,
    settings = settings[c(
      "family", "scales", "select", "chains", "warmup", "thin"
    )]
  )
}

check_bark_start <- function(start, job, settings, call) {
  if (is.null(start)) {
    return(NULL)
  }
  if (!inherits(start, "bark")) {
    abort_argument(start, "start", "NULL, or a fit of bark()", call = call)
  }
  fingerprint <- bark_fingerprint(job, settings)
  if (!identical(start$sampler$fingerprint, fingerprint)) {
    bk_abort("argument", "`start` is a fit of another model or other data.",
      c(
        "Data, formula, prior, chains, warmup and thin must be the same.",
        "Only `draws` and the way the work is shared may differ."
      ),
      column = "start", call = call
    )
  }
  if (dim(start$draws)[1] >= settings$draws) {
    bk_abort("argument", "`start` already holds as many draws as `draws`.",
      sprintf(
        "It holds %d a chain, `draws` is %d.", dim(start$draws)[1],
        settings$draws
      ),
      column = "start", call = call
    )
  }
  start
}

# Runs the chains, or goes on with those of an earlier fit: they know how many
# sweeps they have done, and arrays have blank rows for the draws before.
run_bark <- function(job, settings, earlier, call) {
  if (!is.null(earlier)) {
    job$settings$seed <- as.double(settings$seed)
    job$settings$states <- earlier$state
  }
  core <- run_bark_chains(job, settings$cluster, call)
  if (!is.null(earlier)) {
    core$acceptance <- core$acceptance + earlier$acceptance
    core$kernels <- Map(function(first, second) {
      join_kernels(list(first, second))
    }, earlier$posterior$kernels, core$kernels)
  }
  core
}

run_bark_chains <- function(job, cluster, call) {
  if (is.null(cluster)) {
    return(core_call(bark_on_worker(job$settings, job$data, job$prior), call))
  }
  greet_workers(cluster, call)
  settings <- job$settings
  shares <- Filter(length, parallel::splitIndices(
    length(settings$chain_id), length(cluster)
  ))
  jobs <- lapply(shares, function(share) {
    settings$chain_id <- settings$chain_id[share]
    settings$start <- settings$start[, share, drop = FALSE]
    if (length(settings$states)) settings$states <- settings$states[share]
    settings$progress <- FALSE
    settings
  })
  parts <- on_cluster(parallel::clusterApply(
    cluster, jobs, bark_on_worker, job$data, job$prior
  ), call)
  join_bark_chains(lapply(parts, core_call, call = call))
}

bark_on_worker <- function(settings, data, prior) {
  bark_fit_cpp(data, prior, settings)
}

join_bark_chains <- function(parts) {
  pick <- function(name) lapply(parts, `[[`, name)
  status <- join_status(pick("status"))
  list(
    scalars = join_second(pick("scalars")),
    lambda = join_second(pick("lambda")),
    kernels = do.call(c, pick("kernels")),
    acceptance = array(
      unlist(pick("acceptance")),
      replace(
        dim(parts[[1]]$acceptance), 3,
        sum(vapply(pick("acceptance"), function(x) dim(x)[3], 1L))
      ),
      dimnames(parts[[1]]$acceptance)
    ),
    states = do.call(c, pick("states")), status = status
  )
}

# Arrays one after another along their second dimension, the chains.
join_second <- function(arrays) {
  last <- lapply(arrays, aperm, c(1, 3, 2))
  size <- dim(last[[1]])
  size[3] <- sum(vapply(last, function(x) dim(x)[3], 1L))
  aperm(array(unlist(last), size), c(1, 3, 2))
}

# One array draws x chains x variables on the scale of the data.
bark_draws <- function(core, rows, settings, points) {
  names <- scalar_names(rows, settings, points)
  scalars <- core$scalars
  dimnames(scalars) <- list(NULL, NULL, names)
  at <- startsWith(names, "f[")
  scalars[, , at] <- rows$y_scale[1] + rows$y_scale[2] * scalars[, , at]
  sigma <- rows$y_scale[2] / sqrt(scalars[, , "phi", drop = FALSE])
  gaussian <- rows$data$classes == 0L
  shown <- setdiff(
    names, c(if (!gaussian) "phi", if (!settings$select) "d")
  )
  parts <- list(
    if (gaussian) sigma, scalars[, , shown, drop = FALSE], core$lambda
  )
  names <- c(
    if (gaussian) "sigma", shown, sprintf("lambda[%s]", rows$columns)
  )
  array(
    unlist(parts), c(dim(scalars)[1:2], length(names)), list(NULL, NULL, names)
  )
}

# In the order in which the core has them.
scalar_names <- function(rows, settings, points) {
  hyper <- !is.null(settings$structure$hyper)
  cuts <- max(0L, length(rows$levels) - 2L)
  c(
    "phi", "J", "m", "d", "T", "log_lik", if (hyper) c("q0", "q1"),
    if (cuts > 0L) sprintf("cut[%d]", seq_len(cuts) + 1L),
    sprintf("f[%d]", seq_len(points))
  )
}

# Variables that mean the same in every draw.
watched_names <- function(draws) {
  names <- dimnames(draws)[[3]]
  known <- c("sigma", "J", "m", "d", "q0", "q1")
  names[names %in% known | grepl("^(cut|f)\\[", names)]
}

# Those of the first draws of a chain.
first_kernels <- function(kernels, draws) {
  size <- kernels$size[seq_len(draws)]
  at <- seq_len(sum(size))
  list(
    size = size, location = kernels$location[at],
    variance = kernels$variance[at], mean = kernels$mean[at]
  )
}

join_kernels <- function(parts) {
  lapply(stats::setNames(nm = names(parts[[1]])), function(name) {
    unlist(lapply(parts, `[[`, name))
  })
}
