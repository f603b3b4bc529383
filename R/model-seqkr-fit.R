# From rows and settings to a fit of seqkr(), and on with more rows.

seqkr_job <- function(rows, settings) {
  refuse_codes(rows, settings)
  classes <- length(rows$levels) == 2L
  y_scale <- if (classes || !settings$standardize) c(0, 1) else response_scale(rows$y)
  x <- rows$data$x[, rows$data$source, drop = FALSE]
  x <- t(scaled_rows(x, rows$center, rows$scale))
  n <- ncol(x)
  warn_vanishing(settings$prior, classes)
  if (settings$moves == "printed") warn_printed()
  list(
    settings = settings, y_scale = y_scale, x = x, y = core_response(rows$y, classes, y_scale),
    order = if (settings$order == "given") seq_len(n) else with_seed(settings$seed, sample.int(n)),
    kernel = resolve_lengthscale(
      place_kernel(settings$kernel, rows),
      median_of_columns(x[, spread_over(n, 1000), drop = FALSE]), nrow(x), rows$columns
    ),
    grid = core_candidates(settings$grid, rows)
  )
}

# Classes as -1 and +1.
core_response <- function(y, classes, y_scale) {
  if (classes) 2 * as.double(y) - 3 else (y - y_scale[1]) / y_scale[2]
}

core_candidates <- function(grid, rows) {
  if (is.character(grid)) return(matrix(0, length(rows$columns), 0L))
  if (ncol(grid) == length(rows$columns) + length(rows$dropped)) {
    if (is.null(colnames(grid))) {
      kept <- setdiff(seq_len(ncol(grid)), match(rows$dropped, colnames(rows$data$x)))
      grid <- grid[, kept, drop = FALSE]
    } else {
      grid <- grid[, setdiff(colnames(grid), rows$dropped), drop = FALSE]
    }
  }
  named <- !is.null(colnames(grid))
  if (named && all(rows$columns %in% colnames(grid))) {
    grid <- grid[, rows$columns, drop = FALSE]
  } else if (named || ncol(grid) != length(rows$columns)) {
    bk_abort(
      "dimension", "`grid` does not have the columns of the model.",
      sprintf("Found: %d columns.", ncol(grid)),
      sprintf("Accepted: %d, %s.", length(rows$columns), list_some(rows$columns)),
      column = "grid", found = ncol(grid), expected = length(rows$columns)
    )
  }
  t(scaled_rows(grid, rows$center, rows$scale))
}

# Nearly flat priors of variances cannot be drawn from.
vanishing <- function(variance) length(variance) == 2L && variance[1] < 0.01

warn_vanishing <- function(prior, classes) {
  names <- c(if (!classes) "noise", "coef")
  found <- names[vapply(prior[names], vanishing, NA)]
  if (length(found)) {
    bk_warn(
      "prior", "The prior of a variance vanishes.",
      sprintf("Found: %s.", paste(found, collapse = " and ")),
      "The posterior is nearly improper; see the help of seqkr_prior().",
      "The first variances are drawn from the default prior."
    )
  }
}

warn_printed <- function() {
  bk_warn(
    "convergence", "The weight as it is printed makes no valid sampler.",
    "More particles do not bring its answer nearer to the posterior.",
    "Use moves = \"corrected\", the same moves with a valid weight, or \"rj\"."
  )
}

core_sets_prior <- function(prior, classes) {
  noise <- if (classes) 1 else prior$noise
  first <- function(variance, default) {
    if (vanishing(variance)) default else variance
  }
  list(
    lambda = prior$lambda, kmax = as.double(prior$kmax), noise = noise, coef = prior$coef,
    first_noise = first(noise, c(1, 0.01)), first_coef = first(prior$coef, c(1, 1))
  )
}

seqkr_core_control <- function(settings, grid, classes) {
  list(
    particles = as.double(settings$particles), corrected = settings$moves != "rj",
    printed = settings$moves == "printed", classes = classes, sweeps = as.double(settings$sweeps),
    ess = as.double(settings$ess), temper = settings$temper, resampling = settings$resampling,
    seed = as.double(settings$seed), grid = grid, grid_max = as.double(settings$grid_max),
    unique = settings$unique_grid,
    move_rate = settings$move_rate %||% 0.25, finish = as.double(settings$final_moves),
    threads = settings$threads, progress = settings$progress
  )
}

run_particles <- function(x, y, kernel, settings, grid, prior, classes, state = NULL) {
  check_grid_memory(ncol(x) + (state$rows %||% 0), ncol(grid), settings, classes)
  core <- core_call(seqkr_fit_cpp(
    x, y, kernel_to_core(kernel, nrow(x)), core_sets_prior(prior, classes),
    seqkr_core_control(settings, grid, classes), state
  ))
  core$status <- list(interrupted = core$interrupted)
  core$usable <- FALSE
  core
}

# Products of candidates, their values at the rows, latent responses; and the state, a copy.
check_grid_memory <- function(n, given, settings, classes) {
  points <- if (given > 0L) given else min(n, settings$grid_max)
  rows <- if (classes) n else if (given > 0L) 0 else points
  bytes <- 8 * as.double(points) * (2 * points + rows) +
    if (classes) 16 * as.double(n) * settings$particles else 0
  most <- getOption("bayeskernel.max_bytes", available_bytes())
  if (bytes > most) {
    bk_abort(
      "argument", "The stream would need too much memory.",
      sprintf("Found: %.0f rows and %.0f candidates, %s.", n, points, format_bytes(bytes)),
      sprintf("Accepted: at most %s, or options(bayeskernel.max_bytes = ).", format_bytes(most)),
      "Lower `grid_max`, or give fewer candidates as `grid`.", column = "grid_max", found = bytes,
      expected = most
    )
  }
}

seqkr_run <- function(job) {
  settings <- job$settings
  classes <- settings$family == "binomial"
  run <- function(kernel) {
    core <- run_particles(
      job$x[, job$order, drop = FALSE], job$y[job$order], kernel, settings,
      job$grid, settings$prior, classes
    )
    core$kernel <- kernel
    core
  }
  parameters <- kernel_parameters(job$kernel)
  scaled <- parameter_roles(job$kernel) == "lengthscale"
  by_default <- is.null(settings$tune)
  tune <- settings$tune %||% has_open_scale(settings$kernel)
  if (!tune || !any(scaled)) return(run(job$kernel))
  whole <- job$order
  particles <- settings$particles
  if (by_default) {
    job$order <- utils::head(whole, default_tuning_rows[[settings$family]])
    settings$particles <- min(particles, tuning_particles)
  }
  factors <- 2^(seq(-4, 4) / 2)
  tried <- rep(NA_real_, length(factors))
  best <- NULL
  while (length(g <- next_factor(tried))) {
    log <- log(parameters)
    log[scaled] <- log[scaled] + log(factors[g])
    core <- run(update_kernel(job$kernel, log))
    if (core$interrupted) return(core)
    evidence <- sum(core$steps[, "log_evidence"])
    tried[g] <- if (is.na(evidence)) -Inf else evidence
    if (is.null(best) || tried[g] > max(tried[-g], na.rm = TRUE)) best <- core
  }
  rows <- length(job$order)
  job$order <- whole
  fewer <- settings$particles < particles
  settings$particles <- particles
  if (fewer || rows < length(whole)) best <- run(best$kernel)
  best$tuned <- list(
    by = "evidence",
    grid = data.frame(factor = factors, log_evidence = tried)[!is.na(tried), , drop = FALSE],
    rows = rows, by_default = by_default
  )
  best
}

# Which of the nine to try next, none in the end: every other one from the shortest, up to the first
# after the middle that is worse than the one before, as wide kernels take the most time; then the
# neighbors of the best.
next_factor <- function(tried) {
  for (g in seq(1L, 9L, by = 2L)) {
    if (is.na(tried[g])) return(g)
    if (g >= 5L && tried[g] < tried[g - 2L]) break
  }
  near <- which.max(tried) + c(-1L, 1L)
  near <- near[near >= 1L & near <= 9L]
  utils::head(near[is.na(tried[near])], 1L)
}

# Rows by whose evidence a length-scale that nobody gave is chosen, and particles, so that it takes
# a few seconds.
default_tuning_rows <- list(gaussian = 500L, binomial = 200L)
tuning_particles <- 100

seqkr_collect <- function(fit, core, job, rows) {
  settings <- job$settings
  fit[c(
    "family", "moves", "particles", "sweeps", "ess", "resampling", "temper",
    "grid_max", "unique_grid", "final_moves", "move_rate"
  )] <- settings[c(
    "family", "moves", "particles", "sweeps", "ess", "resampling", "temper",
    "grid_max", "unique_grid", "final_moves", "move_rate"
  )]
  fit$transform$response <- job$y_scale
  fit$kernel <- core$kernel
  fit["tuned"] <- list(core$tuned)
  fit$grid <- job$grid
  fit$order <- job$order
  fit$asked <- settings$kernel
  fit$places <- list(source = rows$data$source, terms = rows$column_terms)
  fit$standardized <- settings$standardize
  x <- rows$data$x[job$order, rows$data$source, drop = FALSE]
  fit$reservoir <- add_to_reservoir(NULL, x, as.double(rows$y)[job$order], 0, settings$seed)
  if (length(rows$levels) == 2L) fit$share <- mean(rows$y - 1)
  fit <- take_particles(fit, core)
  fit$fitted <- seqkr_moments(fit, job$x, settings$threads)
  fit["stream"] <- list(watch_first(fit, job$x))
  fit
}

# What a run of the particles leaves in a fit, after its first rows or later ones.
take_particles <- function(fit, core) {
  fit$posterior <- c(core$posterior, list(kernel = kernel_to_core(fit$kernel, length(fit$columns))))
  fit$state <- core$state
  steps <- as.data.frame(core$steps)
  fit$trace$steps <- rbind(fit$trace$steps, steps)
  # A density of y, not of the standardised response.
  scale <- fit$transform$response[2]
  at <- nrow(fit$trace$steps) + 1L - rev(seq_len(nrow(steps)))
  fit$trace$steps$log_evidence[at] <- steps$log_evidence - log(scale)
  fit$trace$steps$noise[at] <- steps$noise * scale^2
  fit$log_evidence <- sum(fit$trace$steps$log_evidence)
  fit$diagnostics <- list(
    seconds = (fit$diagnostics$seconds %||% 0) + core$seconds, interrupted = FALSE
  )
  warn_few_particles(steps, fit)
  fit
}

# Of one row that a single particle explains the evidence may be wrong by any amount.
warn_few_particles <- function(steps, fit) {
  alone <- steps$ess < 2 & fit$particles >= 20
  low <- steps$ess < 0.05 * fit$particles
  if (!any(alone) && sum(low) < 3L) return(invisible())
  cure <- c(
    "Use more `particles` or `sweeps`", if (fit$moves != "rj") "`moves = \"rj\"`",
    if (!fit$temper) "`temper = TRUE`"
  )
  found <- if (any(alone)) {
    worst <- which.min(steps$ess)
    c(
      sprintf(
        "Found: %.1f of %d effective after row %d of the stream%s.", steps$ess[worst],
        fit$particles, nrow(fit$trace$steps) - nrow(steps) + worst,
        if (sum(alone) > 1L) sprintf(", below 2 after %d rows", sum(alone)) else ""
      ), "Do not rely on the log evidence."
    )
  } else {
    sprintf(
      "Found: %d rows after which less than 5 %% of %d were effective.", sum(low), fit$particles
    )
  }
  bk_warn(
    "convergence", "Few particles carry the weight.",
    found, paste0(paste(cure, collapse = ", or "), ".")
  )
}

#' @rdname extend
#' @export
extend.seqkr <- function(object, newdata, y = NULL, retune = FALSE,
                         threads = getOption("bayeskernel.threads", 2L),
                         progress = getOption("bayeskernel.progress", interactive()), ...) {
  check_given("newdata")
  check_whole(object, ...)
  settings <- object[c(
    "particles", "moves", "sweeps", "ess", "temper", "resampling", "seed",
    "grid_max", "unique_grid", "final_moves", "move_rate"
  )]
  settings$threads <- check_threads(threads)
  settings$progress <- check_flag(progress, "progress")
  retune <- check_flag(retune, "retune")
  if (retune) refuse_retuning(object)
  y <- given(y, "y")
  n <- NROW(newdata)
  response <- new_response(object, newdata, y, n)
  refuse_gap(is.na(response) | is.nan(response), object$response, "response")
  rows <- new_rows(object, newdata)
  complete <- seq_len(n) %in% rows$complete
  refuse_gap(!complete, "newdata", "predictor")
  if (any(!is.finite(response))) abort_argument(response, "y", "finite numbers", kind = "response")
  if (n == 0L) return(if (retune) stamped(retuned(object, settings)) else object)
  classes <- length(object$levels) == 2L
  x <- t(scaled_predictors(object, rows$x))
  core <- run_particles(
    x, core_response(response, classes, object$transform$response),
    object$kernel, settings, object$grid, object$prior, classes, object$state
  )
  if (core$interrupted) abort_interrupted()
  before <- object$n
  out <- take_particles(object, core)
  out$n <- before + n
  out$order <- c(object$order, before + seq_len(n))
  if (classes) out$share <- (object$share * before + sum(response - 1)) / out$n
  out$elapsed[] <- out$elapsed + core$seconds
  out["na.action"] <- out["frame"] <- list(NULL)
  out$data <- list(absent = "extended")
  # Earlier rows are there while their inputs may become centres.
  kept <- out$state$x
  known <- ncol(kept) == out$n && !is.null(object$y)
  out["y"] <- list(if (known) c(object$y, response))
  out["fitted"] <- list(if (known) {
    seqkr_moments(out, kept[, order(out$order), drop = FALSE], threads)
  })
  if (!is.null(object$reservoir)) {
    out$reservoir <- add_to_reservoir(
      object$reservoir, rows$x[, object$used, drop = FALSE],
      as.double(response), before, object$seed
    )
  }
  if (retune) {
    out[c("y", "fitted")] <- list(NULL)
    return(stamped(retuned(out, settings)))
  }
  missed <- if (!classes) {
    expected <- seqkr_moments(object, x, threads)
    missed_rows(response, expected$mean, expected$var + mean(seqkr_sigma(object)^2))
  }
  out$stream <- watch_particles(out, x, as.double(response), before, missed)
  stamped(out)
}

# Values that are missing in the rows of a stream.
refuse_gap <- function(missing, column, what) {
  if (any(missing)) {
    at <- which(missing)[1]
    bk_abort(
      "missing", sprintf("A %s is missing; the fit is as it was.", what),
      sprintf(
        "Found: row %d%s.", at,
        if (sum(missing) > 1L) sprintf(" and %d more", sum(missing) - 1L) else ""
      ), "Leave such rows out of the batch.",
      column = column, row = at
    )
  }
}
