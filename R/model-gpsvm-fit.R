# From rows and settings to a fit of gpsvm(): inducing points, kernel, engine.

gpsvm_job <- function(rows, settings) {
  settings <- settle_kernel_steps(rows, choose_method(rows, settings))
  data <- weigh_machines(process_data(rows), rows, settings)
  rate <- settings$learning_rate %||% 1
  if (is.numeric(rate)) data <- scale_powers(data, rate)
  sample <- sample_process_rows(data, max(20 * settings$count, 1e4), settings$seed)
  process <- open_process(rows, data, sample, settings)
  settings <- settle_tuning(rows, settings)
  if (!isFALSE(settings$tune)) {
    process <- tune_process(process, rows, data, sample, settings)
    if (isTRUE(process$more)) {
      settings$count <- ncol(process$z)
      settings$exact <- settings$count == rows$n
    }
    # It was warned of.
    settings$kept <- isTRUE(process$tuned$interrupted)
  }
  process$tuned <- process$tuned %||% settings$untuned
  process$kernel_core <- kernel_to_core(process$kernel, nrow(process$z))
  settings$nugget <- process$nugget
  settings$calibrated <- identical(rate, "calibrated")
  if (settings$calibrated) {
    rate <- calibrated_process_rate(process, rows, data, settings)
    data <- scale_powers(data, rate)
  }
  settings$learning_rate <- rate
  labels <- machine_labels(rows$levels, data_positive(data))
  control <- gpsvm_core_control(settings, labels)
  control$machine_weights <- data$machine_weights
  if (settings$kernel_steps > 0) {
    control$kernel_steps <- as.double(settings$kernel_steps)
    parameters <- kernel_parameters(process$kernel)
    box <- tuning_box(parameters, process, settings$prior)
    control[c("lower", "upper")] <- lapply(box, utils::head, length(parameters))
  }
  if (length(process$messages)) control$messages <- process$messages
  list(
    settings = settings, process = process, sample = sample, data = data, labels = labels,
    stored = ncol(process$z) * length(labels), control = control,
    shared = list(data = data, kernel = process$kernel_core, z = process$z, labels = labels)
  )
}

# Rows as the core reads them.
process_data <- function(rows) {
  out <- rows$data
  out$weights <- as.double(rows$weights)
  out$copies <- as.double(row_copies(rows$weights, rows$counted))
  # A file has its labels.
  out$labels <- as.double(rows$y)
  out$center <- as.double(rows$center)
  out$scale <- as.double(rows$scale)
  out
}

gpsvm_collect <- function(fit, core, job, rows) {
  settings <- job$settings
  process <- climbed_process(job$process, core, settings)
  fit[c("chosen", "exact", "learning_rate", "calibrated")] <-
    settings[c("chosen", "exact", "learning_rate", "calibrated")]
  fit$class_weights <- job$data$class_weights
  fit[c("kernel", "nugget", "median_distance", "tuned")] <-
    pick(process, c("kernel", "nugget", "median_distance", "tuned"))
  fit$inducing <- inducing_on_data_scale(process$z, rows)
  fit["y"] <- list(if (rows$n <= 1e6) fit_labels(rows))
  fit["share"] <- list(class_share(rows))
  fit$posterior <- list(
    z = process$z, kernel = process$kernel_core, nugget = process$nugget, factor = core$factor
  )
  if (fit$method == "gibbs") {
    fit$fitted <- own_moments(moments_of_process(
      fit, job$data, c("probit", "hinge"), settings$threads
    ))
    fit$diagnostics$jitter <- core$jitter
    warn_given_up(fit$levels, rows$y + 1, fit$fitted$mean, fit$weights, given_up_advice(fit))
    return(fit)
  }
  fit <- collect_machines(fit, core, job)
  if (fit$method == "ep") fit <- collect_messages(fit, leave_copies_out(core, fit, job), job)
  if (fit$method %in% c("vb", "svi")) {
    fit$gain <- doubling_gain(process, fit$posterior$machines, job$sample, job, rows$n)
  }
  if (!is.null(fit$fitted)) {
    warn_given_up(fit$levels, rows$y + 1, fit$fitted$mean, fit$weights, given_up_advice(fit))
  }
  fit
}

# Weights of classes are undone by the calibrated link.
given_up_advice <- function(fit) {
  if (!is_precomputed(fit$kernel) && (fit$tuned$by %||% "none") == "none") {
    "Choose the kernel by tune = TRUE."
  } else if (length(fit$levels) == 2L) {
    "To predict it more often: predict(fit, threshold = \"prevalence\")."
  } else {
    "Use class_weights = \"balanced\"."
  }
}

# Steps of the kernel between those of q need minibatches of rows as they are, and one machine.
settle_kernel_steps <- function(rows, settings) {
  if (settings$kernel_steps == 0) return(settings)
  found <- c(
    "more than two classes" = length(rows$levels) > 2L,
    "a method other than \"svi\"" = settings$method != "svi",
    "a point in every row" = settings$exact, "a cluster" = !is.null(settings$cluster),
    "rows of a cluster's workers" = !is.null(rows$data$shares),
    "a kernel of codes" = has_categories(settings$kernel),
    "a kernel with `rank`" = has_rank(settings$kernel)
  )
  if (any(found)) {
    bk_abort(
      "argument", "The kernel cannot be moved by minibatches.",
      sprintf("Found: %s.", list_some(names(found)[found])),
      "Accepted: kernel_steps = 0, which moves none.",
      column = "kernel_steps", found = names(found)[found]
    )
  }
  settings$keep <- FALSE
  settings$tune <- settings$tune %||% FALSE
  settings
}

# The process as stochastic steps have moved it.
climbed_process <- function(process, core, settings) {
  if (settings$kernel_steps == 0) return(process)
  process$kernel <- update_kernel(process$kernel, core$kernel)
  process$z <- core$z
  process$kernel_core <- kernel_to_core(process$kernel, nrow(process$z))
  process
}

choose_method <- function(rows, settings) {
  n <- rows$n
  given <- settings$inducing
  precomputed <- is_precomputed(settings$kernel)
  settings$count <- if (is.null(given)) {
    if (precomputed) n else default_inducing(n)
  } else if (identical(given, "all")) {
    n
  } else if (is.matrix(given)) {
    nrow(given)
  } else {
    given
  }
  if (settings$count > n) {
    bk_abort(
      "dimension", "There are more inducing points than rows.",
      sprintf("Found: %.0f inducing points, %.0f rows.", settings$count, n),
      "Accepted: at most one a row.", column = "inducing", found = settings$count, expected = n
    )
  }
  settings$exact <- !is.matrix(given) && settings$count == n
  if (settings$exact && n > largest_exact) {
    bk_abort(
      "argument", "The exact process would take too long.",
      sprintf("Found: %.0f rows, whose cube is the cost of a pass.", n),
      sprintf("Accepted: at most %d rows with every row an inducing point.", largest_exact),
      column = "inducing", found = n, expected = largest_exact
    )
  }
  if (precomputed && !settings$exact) {
    bk_abort(
      "kernel", "A precomputed kernel has no inducing points to choose.",
      "Accepted: inducing = \"all\", the default for such a kernel.",
      column = "inducing", found = given
    )
  }
  absent <- !is.null(rows$data$shares)
  if (settings$exact && absent) refuse_absent_process(n)
  settings$chosen <- is.null(settings$method)
  if (settings$chosen) {
    small <- settings$exact || n * settings$count <= 5e7
    settings$method <- if (small) "ep" else if (absent) "vb" else "svi"
  }
  bytes <- 8 * n * (settings$count + 1)
  # A single epoch has no use for features that are kept.
  once <- settings$method == "svi" && settings$max_iter == 0 && settings$epochs == 1
  settings$keep <- settings$exact || settings$method %in% c("gibbs", "ecm") ||
    (bytes <= 1e9 && is.null(settings$cluster) && !once && !absent)
  if (settings$keep && bytes > 8e9) {
    bk_abort(
      "argument", sprintf("Method \"%s\" would need too much memory.", settings$method),
      sprintf("Found: %.1f GB of features.", bytes / 1e9),
      "Use method = \"svi\" or fewer inducing points.", column = "method", found = settings$method
    )
  }
  if (is.null(settings$tol)) settings$tol <- switch(settings$method, ecm = 1e-8, ep = 1e-3, 1e-6)
  settings
}

# Kernel and inducing points, on the scale of the model.
open_process <- function(rows, data, sample, settings) {
  # What is open is NA.
  asked <- settings$kernel_steps > 0 || has_open_scale(settings$kernel) ||
    settings$optimize_inducing || !isFALSE(settings$tune %||% FALSE)
  points <- counted_points(data, sample)
  median <- if (asked && !is_precomputed(settings$kernel)) median_distance_cpp(points)
  median_of <- median_of_columns(points, median)
  kernel <- resolve_lengthscale(
    place_kernel(settings$kernel, rows), median_of, nrow(sample$x), rows$columns
  )
  list(
    kernel = kernel, median_distance = median,
    medians = if (!is.null(median)) vapply(kernel_leaves(kernel), leaf_median, 0, median_of),
    nugget = settings$nugget, z = place_inducing(rows, data, sample, settings, kernel)
  )
}

# Of rows as often as they count.
counted_points <- function(data, sample) {
  if (!any(data$copies > 1)) return(sample$x)
  sample$x[, repeated_rows(data$copies[sample$row], 1e4), drop = FALSE]
}

# So far that next to the square of the mean the distances of all others are lost.
refuse_far <- function(x, columns, most = 5e6) {
  far <- which(abs(rowMeans(x) - apply(x, 1L, stats::median)) > most)
  if (length(far) == 0L) return(invisible())
  bk_abort(
    "numeric", sprintf("Column `%s` has a value too far from all others.", columns[far[1]]),
    "The kernel cannot tell the other rows apart.",
    "Correct the value, or leave out its row.", column = columns[far[1]]
  )
}

# Clusters are those of the kernel's own distance.
place_inducing <- function(rows, data, sample, settings, kernel) {
  given <- settings$inducing
  if (settings$exact) {
    refuse_far(sample$x, rows$columns)
    if (rows$n == ncol(sample$x)) return(sample$x)
    return(sample_process_rows(data, rows$n, 0)$x)
  }
  if (is.matrix(given)) return(given_inducing(given, rows))
  unit <- if (settings$seeding == "kmeans") column_lengths(kernel, nrow(sample$x)) else 1
  points <- unit * core_call(gpsvm_inducing_cpp(
    tame_rows(counted_points(data, sample) / unit), settings$count, settings$seeding,
    as.double(settings$seed), settings$threads
  ))$z
  warn_few_inducing(
    ncol(points), min(settings$count, ncol(unique(sample$x, MARGIN = 2))), "gpsvm()"
  )
  # A mean of codes is none: of each cluster the row nearest to its centre.
  if (has_categories(settings$kernel)) {
    near <- sample$x[, nearest_columns(sample$x, points), drop = FALSE]
    points <- near[, !duplicated(t(near)), drop = FALSE]
  }
  points
}

# The shortest length-scale of every column, 1 where none differs from others.
column_lengths <- function(kernel, d) {
  out <- rep(Inf, d)
  differ <- FALSE
  for (leaf in kernel_leaves(kernel)) {
    ell <- leaf$lengthscale
    if (is.null(ell) || has_argument(leaf, "period")) next
    at <- leaf$columns %||% seq_len(d)
    out[at] <- pmin(out[at], ell)
    differ <- differ || length(unique(ell)) > 1L
  }
  if (differ) ifelse(is.finite(out), out, 1) else 1
}

# Columns are found by name if both have names.
given_inducing <- function(given, rows) {
  from_matrix <- rows$info$type == "matrix"
  columns <- if (from_matrix) rows$info$columns else rows$columns
  named <- !is.null(colnames(given)) && !(from_matrix && !rows$info$named)
  fits <- if (named) all(columns %in% colnames(given)) else ncol(given) == length(columns)
  if (!fits) {
    bk_abort(
      "dimension", "`inducing` does not have the columns of the model.",
      sprintf("Found: %s.", if (named) {
        list_some(colnames(given))
      } else {
        sprintf("%d columns", ncol(given))
      }),
      sprintf("Accepted: %d, %s.", length(columns), list_some(columns)),
      column = "inducing", found = ncol(given), expected = length(columns)
    )
  }
  if (named) given <- given[, columns, drop = FALSE]
  if (from_matrix) given <- design_new(rows$info, given)$x[, rows$used, drop = FALSE]
  twice <- which(duplicated(given))
  if (length(twice)) {
    bk_abort(
      "argument", "Inducing points are given twice.",
      sprintf("Found: row %d repeats an earlier one.", twice[1]),
      "Accepted: different locations, such as unique(inducing).",
      column = "inducing", row = twice[1], found = given[twice[1], ]
    )
  }
  unname((t(given) - rows$center) / rows$scale)
}

inducing_on_data_scale <- function(z, rows) {
  out <- t(z * rows$scale + rows$center)
  dimnames(out) <- list(NULL, rows$columns)
  out
}

# Labels as the methods of fits read them: -1 and +1, or numbers of classes. A row source keeps its
# own.
fit_labels <- function(rows) {
  codes <- rows$y
  if (length(codes) == 0L) {
    NULL
  } else if (length(rows$levels) > 2L) {
    codes + 1
  } else {
    2 * codes - 1
  }
}

# Weighted share of the positive of two classes.
class_share <- function(rows) {
  codes <- rows$y
  if (length(codes) == 0L) {
    rows$share
  } else if (is.null(rows$weights)) {
    sum(codes) / rows$n
  } else {
    sum(rows$weights * codes) / sum(rows$weights)
  }
}

# The labels that are positive in turn: one for two classes.
machine_labels <- function(levels, positive = 1L) {
  if (length(levels) > 2L) seq_along(levels) - 1L else as.integer(positive)
}

gpsvm_core_control <- function(settings, classes) {
  svi <- settings$method == "svi"
  list(
    method = settings$method, classes = classes, tol = settings$tol,
    max_iter = if (svi) settings$max_iter else max(1L, settings$max_iter),
    accelerate = settings$accelerate, exact = settings$exact, keep = settings$keep,
    nugget = settings$nugget, epochs = if (svi) settings$epochs else 0L, rate = settings$rate,
    batch_size = as.double(settings$batch_size), epoch_tol = settings$epoch_tol,
    kernel_steps = 0,
    seed = as.double(settings$seed), threads = settings$threads, progress = settings$progress,
    remote = NULL, warmup = settings$warmup, draws = settings$draws, thin = settings$thin,
    chain_id = seq_len(settings$chains), states = list()
  )
}

gpsvm_run <- function(job) {
  settings <- job$settings
  control <- job$control
  if (!is.null(settings$cluster) && !settings$exact && settings$method != "ecm") {
    share <- share_process_rows(job$data, job$process, settings)
    on.exit(share$release())
    control$remote <- share$remote
  }
  data <- job$data
  absent <- !is.null(data$shares)
  if (absent) control$remote <- share_process_parts(job, settings)
  run <- function(control) {
    # Messages are with the rows.
    if (absent) data$rows <- if (control$method == "ep") 0 else job$data$rows
    gpsvm_fit_cpp(data, job$process$kernel_core, job$process$z, control)
  }
  core <- run(control)
  if (settings$method == "ep") core <- settled_or_bound(core, run, control)
  core <- core_call(core)
  core$status <- list(interrupted = core$interrupted)
  core$usable <- all(vapply(core$fits, function(machine) {
    length(machine$mean) > 0L && all(is.finite(machine$mean)) && length(machine$whitener) > 0L
  }, NA))
  core
}

# Messages that did not settle give way to mean field.
settled_or_bound <- function(core, run, control) {
  failed <- inherits(core, "bayeskernel_core_error")
  if (failed && core$kind != "numeric" || isTRUE(core$interrupted)) return(core)
  status <- lapply(core$fits, `[[`, "status")
  if (!failed && all(vapply(status, `[[`, NA, "converged"))) return(core)
  worst <- if (!failed) status[[which.max(vapply(status, `[[`, 1, "change"))]]
  warn_unsettled(if (failed) {
    core$message
  } else {
    sprintf("After %.0f passes its sites still moved by %.2g.", worst$passes, worst$change)
  }, "vb", !failed && worst$passes >= control$max_iter)
  control$method <- "vb"
  control[c("tol", "max_iter")] <- list(1e-6, 2000L)
  core <- run(control)
  if (!inherits(core, "bayeskernel_core_error")) core$fallback <- "vb"
  core
}

# The core's answer with `loo`, of rows that count several times, as without one of these.
leave_copies_out <- function(core, fit, job) {
  copies <- job$data$copies
  at <- fit$fitted
  if (!is.null(core$fallback) || is.null(at) ||
    length(copies) != length(job$data$labels) || !any(copies > 1)) {
    return(core)
  }
  column <- function(x, k) if (is.matrix(x)) x[, k] else x
  core$fits <- lapply(seq_along(core$fits), function(k) {
    own <- core$fits[[k]]
    own$loo <- left_out_copy(
      list(mean = own$left_out_mean, var = own$left_out_var), column(at$mean, k), column(at$var, k),
      ifelse(job$data$labels == job$labels[k], 1, -1), own$loo, copies
    )$log_p
    own
  })
  core
}

# What expectation propagation adds to the machines.
collect_messages <- function(fit, core, job) {
  status <- lapply(core$fits, `[[`, "status")
  pick <- function(name) unlist(lapply(status, `[[`, name))
  fit$check <- list(
    passes = sum(pick("passes")), change = max(0, pick("change")),
    engine = core$fallback %||% "ep", fallback = core$fallback
  )
  if (!is.null(core$fallback)) return(fit)
  fit$trace <- list()
  fit$log_evidence <- sum(pick("log_evidence"))
  left_out <- do.call(cbind, lapply(core$fits, `[[`, "loo"))
  if (ncol(left_out) == 1L) {
    fit$loo <- as.vector(left_out)
  } else if (length(job$data$labels) == nrow(left_out)) {
    y <- match(job$data$labels, job$labels)
    fit <- add_left_out(fit, log(class_prob(left_out, y)), y)
  }
  fit
}

# Probabilities of all classes from the log probabilities of each machine, whose label of a row says
# whether the row is of its class; `y` are the numbers of the classes.
class_prob <- function(left_out, y) {
  own <- cbind(seq_along(y), y)
  prob <- -expm1(left_out)
  prob[own] <- exp(left_out[own])
  normalise_rows(prob)
}

collect_machines <- function(fit, core, job) {
  settings <- job$settings
  fits <- core$fits
  names(fits) <- machine_names(fit$levels)
  fit$posterior$machines <- lapply(fits, `[`, c("mean", "whitener"))
  fit$fitted <- gpsvm_fitted(fit, fits, job$data, settings)
  status <- lapply(fits, `[[`, "status")
  if (settings$method == "ecm") {
    fit$trace <- list(objective = status[[1]]$objective)
  } else {
    fit$trace <- list(elbo = total_bound(status))
    if (length(status[[1]]$epoch_bound)) fit$trace$epochs <- status[[1]]$epoch_bound
  }
  fit$diagnostics <- gpsvm_diagnostics(status, core)
  fit
}

# The label that is positive: classes of a row source are numbered as they came.
data_positive <- function(data) {
  if (is.null(data$positive)) 1L else data$positive
}

machine_names <- function(levels) {
  if (length(levels) > 2L) levels else levels[2]
}

# Moments of f at the rows of the fit, but for those of a source and where they are very many.
gpsvm_fitted <- function(fit, fits, data, settings) {
  if (data$type == "file") return(NULL)
  known <- fitted_of(fits)
  # With every row a point those of the core know the row's own nugget, which predictions do not.
  every <- (fit$method == "ep" || fit$nugget > 0) && length(fits[[1]]$mean) == fit$n
  if ((is.null(known) || every) && fit$n * (length(fits[[1]]$mean) + 1) <= 5e7) {
    known <- moments_of_process(fit, data, "probit", settings$threads)[c("mean", "var")]
  }
  known
}

# Moments of f as the core gives them: vectors, or a column a class.
fitted_of <- function(fits) {
  if (is.null(fits[[1]]$fitted_mean)) return(NULL)
  join <- function(name) {
    parts <- lapply(fits, `[[`, name)
    if (length(parts) == 1L) parts[[1]] else do.call(cbind, parts)
  }
  list(mean = join("fitted_mean"), var = join("fitted_var"))
}

# Bounds of machines add up; one that has converged stays where it is.
total_bound <- function(status) {
  bounds <- lapply(status, `[[`, "bound")
  most <- max(lengths(bounds))
  if (most == 0L) return(NULL)
  Reduce(`+`, lapply(bounds, function(bound) {
    c(bound, rep(bound[length(bound)], most - length(bound)))
  }))
}

gpsvm_diagnostics <- function(status, core) {
  pick <- function(name) unlist(lapply(status, `[[`, name))
  list(
    passes = sum(pick("passes")), rejected = sum(pick("rejected")),
    converged = all(pick("converged")), largest_fall = max(0, pick("largest_fall")),
    steps = sum(pick("steps")), batch_size = status[[1]]$batch_size, jitter = core$jitter,
    seconds = core$seconds, interrupted = core$interrupted
  )
}

# New inducing points that doubling_gain() tries, at most.
most_new_points <- 256

# What twice as many inducing points would add to the bound: some new ones are given what the fit
# leaves to them of a sample of rows, and their gain is scaled to as many as there are and to all
# rows.
doubling_gain <- function(model, machines, sample, job, rows) {
  settings <- job$settings
  n <- ncol(sample$x)
  m <- ncol(model$z)
  if (settings$exact || is_precomputed(model$kernel) || 2 * m > n) return(NULL)
  at <- unique(round(seq(1, n, length.out = min(n, max(500, 2 * m)))))
  x <- sample$x[, at, drop = FALSE]
  more <- x[, spread_over(ncol(x), min(m, most_new_points)), drop = FALSE]
  both <- cbind(model$z, more)
  both <- both[, !duplicated(t(both)), drop = FALSE]
  new <- ncol(both) - m
  if (new < 1L) return(0)
  core <- gpsvm_more_points_cpp(
    sample_data(x, sample$labels[at]), model$kernel_core, both, new,
    model$nugget, machines, list(
      classes = job$labels, tol = 0.05, max_iter = 100L,
      accelerate = settings$accelerate, threads = settings$threads
    )
  )
  if (inherits(core, "bayeskernel_core_error") || is.nan(core$gain)) return(NA_real_)
  core$gain * (m / new) * (rows / ncol(x))
}

# A sample on the scale of the model as rows of the core.
sample_data <- function(x, labels) {
  d <- nrow(x)
  list(
    type = "matrix", x = t(x), labels = as.double(labels), weights = numeric(), source = seq_len(d),
    center = numeric(d), scale = rep(1, d)
  )
}

# The Gibbs sampler's side: one set of chains for each machine, and moments of f from the draws ----

# Chains of every machine in turn: their draws side by side, states by chain. After an interrupt the
# machines that follow go as far as it did.
gpsvm_chains <- function(control, data, kernel, z, labels) {
  states <- control$states
  runs <- list()
  for (k in seq_along(labels)) {
    control$states <- lapply(states, `[[`, k)
    if (length(control$machine_weights)) data$weights <- control$machine_weights[[k]]
    run <- gpsvm_gibbs_cpp(data, kernel, z, control, labels[k], k - 1L)
    if (inherits(run, "bayeskernel_core_error")) return(run)
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
  if (length(machines) == 1L) return(sprintf("%s[%d]", symbol, seq_len(m)))
  sprintf("%s[%s,%d]", symbol, rep(machines, each = m), seq_len(m))
}
