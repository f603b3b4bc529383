# What gpsvm() tunes its kernel by: the bound on a sample of the rows, or the
# log-loss of rows that are left out, one by one or in folds.

# Work of a tuning that takes a few seconds: machines x rows x m^2, a
# multiplication each, for every two parameters.
quick_tuning <- list(rows = 1000, work = 7e7)

# An exact process is not tuned on fewer rows, unless someone says so.
fewest_tuning_rows <- 150

# TRUE is "loo". NULL: if a length-scale is left open, and it is quick on as
# many rows as may be looked at.
settle_tuning <- function(rows, settings) {
  tune <- settings$tune
  settings$by_default <- is.null(tune)
  if (has_rank(settings$kernel)) {
    return(settle_rank_tuning(settings))
  }
  if (is.null(tune)) {
    kernel <- settings$kernel
    few <- min(rows$n, quick_tuning$rows, settings$tune_rows)
    m <- if (settings$exact) few else settings$count
    columns <- if (is_precomputed(kernel)) 0 else length(kernel_parameters(
      resolve_lengthscale(
        place_kernel(kernel, rows), 1, length(rows$columns), rows$columns
      )
    ))
    work <- length(machine_labels(rows$levels)) * few * m^2 * columns / 2
    # The exact process of fewer rows is quick enough.
    if (settings$exact && work > quick_tuning$work) {
      each <- work / few^3
      fewer <- floor((quick_tuning$work / each)^(1 / 3))
      if (fewer >= fewest_tuning_rows) {
        few <- fewer
        work <- 0
      }
    }
    quick <- work <= quick_tuning$work && is.null(settings$cluster)
    open <- !is_precomputed(kernel) && has_open_scale(kernel)
    tune <- open && quick
    if (tune) settings$tune_rows <- few
    if (open && !quick) settings$untuned <- list(by = "none")
  }
  if (isTRUE(tune)) tune <- "loo"
  if (settings$optimise_inducing && has_kind(settings$kernel, "categorical")) {
    bk_abort(
      "kernel", "Inducing points of a categorical kernel cannot be moved.",
      c(
        "Found: optimise_inducing = TRUE.",
        "Accepted: optimise_inducing = FALSE; a code has no neighbours."
      ),
      column = "optimise_inducing", found = TRUE, expected = FALSE
    )
  }
  if (settings$optimise_inducing && !identical(tune, "bound")) {
    if (!settings$by_default && !isTRUE(settings$tune)) {
      bk_abort(
        "argument", "Inducing points are moved by the bound alone.",
        "Accepted with optimise_inducing = TRUE: tune = \"bound\".",
        column = "optimise_inducing", found = tune
      )
    }
    tune <- "bound"
  }
  settings$tune <- tune
  settings
}

# A projection is learned by the gradient of the bound; its scale, and the
# variance, then as those of other kernels.
settle_rank_tuning <- function(settings) {
  tune <- settings$tune
  open <- has_open_scale(settings$kernel)
  if (identical(tune, "cv") || open && isFALSE(tune)) {
    bk_abort(
      "argument", "A kernel with `rank` is tuned by the bound.",
      c(
        sprintf("Found: tune = %s.", deparse1(tune)),
        "Accepted: tune = \"loo\", the default for such a kernel, or \"bound\"."
      ),
      column = "tune", found = tune
    )
  }
  if (is.null(tune) && open) {
    settings$tune_rows <- min(settings$tune_rows, quick_tuning$rows)
  }
  settings$tune <- if (settings$optimise_inducing) {
    "bound"
  } else if (is.null(tune)) {
    if (open) "loo" else FALSE
  } else if (isTRUE(tune)) {
    "loo"
  } else {
    tune
  }
  settings
}

# Rows x m^2 of an evaluation, above which tuning has fewer inducing points than
# the fit, yet a hundred.
tuning_work <- 1e8

tune_process <- function(process, rows, data, sample, settings) {
  if (is_precomputed(process$kernel)) {
    bk_abort(
      "kernel", "A precomputed kernel has no parameters to tune.",
      "Use tune = FALSE, or a kernel such as rbf().",
      column = "tune"
    )
  }
  whole <- sample
  fewer <- max(100, floor(sqrt(tuning_work / min(rows$n, settings$tune_rows))))
  many <- !settings$exact && !settings$optimise_inducing &&
    !is.matrix(settings$inducing) && ncol(process$z) > fewer
  if (many) {
    process$z <- place_inducing(
      rows, data, sample, replace(settings, "count", fewer), process$kernel
    )
  }
  if (rows$n > settings$tune_rows || ncol(sample$x) < rows$n) {
    sample <- core_call(gpsvm_sample_cpp(
      data, settings$tune_rows, as.double(settings$seed)
    ))
  }
  few <- sample_data(sample$x, sample$labels)
  if (length(data$weights)) few$weights <- data$weights[sample$row]
  # Of the likelihood, with a learning rate and class weights; of the rows.
  few$users <- if (length(rows$weights)) {
    rows$weights[sample$row]
  } else {
    rep(1, ncol(sample$x))
  }
  few$copies <- if (length(data$copies) > 1L) {
    data$copies[sample$row]
  } else {
    rep(1, ncol(sample$x))
  }
  classes <- machine_labels(rows$levels, data_positive(data))
  settings$progress <- FALSE
  found <- if (identical(settings$tune, "cv")) {
    choose_by_folds(process$kernel, few$labels, function(kernel, out) {
      fold_loss(kernel, process, few, out, classes, settings)
    }, copies = few$copies, total = sum(few$users))
  } else {
    maximise_process(
      process, few, classes, settings, identical(settings$tune, "loo")
    )
  }
  if (isTRUE(found$tuned$interrupted)) stop_or_keep_tuning(settings)
  found$tuned$rows <- nrow(few$x)
  found$tuned$by_default <- settings$by_default
  process[names(found)] <- found
  if (many) {
    process$z <- place_inducing(
      rows, data, whole, settings, process$kernel
    )
  }
  take_more_points(process, rows, data, whole, few, classes, settings)
}

# What more inducing points must add to the score.
worth_of_points <- 0.5

# How many they are, if nobody said: more, every row where these are few, where
# the score with the kernel that was found is higher. `tuned$fewer` is then how
# many they were.
take_more_points <- function(process, rows, data, sample, few, classes,
                             settings) {
  count <- more_points(rows$n, length(classes))
  open <- is.null(settings$inducing) && process$tuned$by == "loo" &&
    !process$tuned$interrupted && is.null(settings$cluster) &&
    settings$method %in% c("ep", "vb")
  if (!open || count <= settings$count) {
    return(process)
  }
  settings$count <- count
  settings$exact <- count == rows$n
  more <- process
  more$z <- place_inducing(rows, data, sample, settings, process$kernel)
  tuning <- open_tuner(more, few, classes, settings)
  score <- score_left_out(tuning$tuner, tuning$kernel, list(
    kernel = core_parameters(process$kernel), nugget = process$nugget,
    z = tuning$z
  ), few, classes)
  tuned <- process$tuned
  tuned$evaluations <- tuned$evaluations + 1L
  if (!is.null(score) && score > tuned$bound + worth_of_points) {
    tuned$fewer <- ncol(process$z)
    tuned$bound <- score
    tuned$log_loss <- -score / sum(few$users)
    process$z <- more$z
  }
  process$tuned <- tuned
  process
}

# Every row where an exact pass takes less than a second, else as many points
# as a pass of that order can have.
more_points <- function(n, machines) {
  if (machines * n^3 <= 1e9) {
    n
  } else {
    min(n - 1, floor(sqrt(2.5e8 / (n * machines))))
  }
}

stop_or_keep_tuning <- function(settings) {
  if (settings$on_interrupt == "stop") abort_interrupted()
  bk_warn(
    "interrupt", "Interrupted: the kernel is the best so far.",
    "It is not fully tuned; the fit itself goes on with it."
  )
}

# What the core looks at a sample of rows with. The exact process of these has
# its points there.
open_tuner <- function(process, data, classes, settings) {
  z <- if (settings$exact) t(data$x) else process$z
  list(
    z = z, kernel = kernel_to_core(process$kernel, nrow(z)),
    tuner = core_call(gpsvm_tuner_cpp(
      data, ncol(z), settings$exact, classes, settings$threads
    ))
  )
}

maximise_process <- function(process, data, classes, settings, left_out) {
  points <- process$z
  tuning <- open_tuner(process, data, classes, settings)
  process$z <- tuning$z
  tuner <- tuning$tuner
  core <- tuning$kernel
  passes <- list(
    tol = 1e-7, max_iter = 300L, accelerate = settings$accelerate
  )
  stopped <- FALSE
  climb <- function(process, locations = FALSE) {
    maximise_bound(process, function(at, locations) {
      if (stopped) {
        return(list(interrupted = TRUE))
      }
      core_call(gpsvm_bound_cpp(
        tuner, core, at$kernel, at$nugget, at$z, locations, passes
      ))
    }, settings$prior, locations)
  }
  pointed <- 0L
  if (has_rank(process$kernel) && has_open_scale(settings$kernel)) {
    start <- point_projections(process, tuner, core, passes)
    process$kernel <- start$kernel
    stopped <- start$interrupted
    if (left_out) {
      found <- climb(process)
      if (found$tuned$interrupted) {
        found$z <- points
        return(found)
      }
      process[c("kernel", "nugget")] <- found[c("kernel", "nugget")]
      pointed <- found$tuned$evaluations
    }
  }
  if (left_out) {
    found <- maximise_score(process, function(at) {
      score_left_out(tuner, core, at, data, classes)
    }, settings$prior)
    found$tuned$evaluations <- found$tuned$evaluations + pointed
    found$tuned$log_loss <- -found$tuned$bound / sum(data$users)
    found$z <- points
    return(found)
  }
  found <- climb(process, settings$optimise_inducing && !settings$exact)
  if (is.null(found$z)) found$z <- points
  found
}

# Projections along the slopes of the best of three fits with one length-scale
# in the place of each: the kernel, and whether an interrupt came before it.
point_projections <- function(process, tuner, core, passes) {
  from <- core_parameters(process$kernel)
  roles <- parameter_roles(process$kernel)
  best <- NULL
  for (factor in c(1, 0.5, 2)) {
    found <- core_call(gpsvm_point_cpp(
      tuner, core, stretch_parameters(from, roles, factor), process$nugget,
      process$z, passes
    ))
    if (found$interrupted) break
    if (is.null(best) || found$bound > best$bound) best <- found
  }
  list(
    kernel = if (is.null(best)) {
      process$kernel
    } else {
      update_kernel(process$kernel, best$kernel)
    },
    interrupted = found$interrupted
  )
}

# Sum of log probabilities of the labels, each given the other rows, by the link
# that these calibrate, with its prior; NULL after an interrupt. Far from the
# optimum messages need not settle.
score_left_out <- function(tuner, kernel, at, data, classes) {
  core <- gpsvm_left_out_cpp(
    tuner, kernel, at$kernel, at$nugget, at$z, 1e-5, 100L
  )
  if (inherits(core, "bayeskernel_core_error") && core$kind == "numeric") {
    return(-Inf)
  }
  core <- core_call(core)
  if (core$interrupted) {
    return(NULL)
  }
  # Of a row that counts several times one is left out.
  for (k in seq_along(classes)) {
    own <- left_out_copy(
      list(mean = core$mean[, k], var = core$var[, k]), core$all_mean[, k],
      core$all_var[, k], ifelse(data$labels == classes[k], 1, -1),
      core$log_p[, k], data$copies
    )
    core$mean[, k] <- own$mean
    core$var[, k] <- own$var
    core$log_p[, k] <- own$log_p
  }
  link <- calibrate_link(list(
    mean = core$mean, var = core$var, weights = data$users,
    y = if (length(classes) > 1L) data$labels else +(data$labels == classes),
    counted = any(data$copies > 1)
  ), max(2L, length(classes)))
  if (is.null(link$slope)) {
    return(sum(
      data$users * class_log_score(core$log_p, data$labels, classes)
    ))
  }
  # A search needs a score without jumps from one form of the link to the other.
  -link$smooth
}

row_powers <- function(data) {
  if (length(data$weights)) data$weights else rep(1, length(data$labels))
}

# Sum of minus log probabilities of the labels left out; NULL after an
# interrupt. `out`: which part of each row is.
fold_loss <- function(kernel, process, data, out, classes, settings) {
  part <- function(share) {
    rows <- which(share > 0)
    share <- share[rows]
    powers <- row_powers(data)[rows]
    data$x <- data$x[rows, , drop = FALSE]
    data$labels <- data$labels[rows]
    if (length(data$weights) || any(share < 1)) data$weights <- powers * share
    data
  }
  z <- if (settings$exact) t(data$x[out < 1, , drop = FALSE]) else process$z
  settings$method <- "vb"
  settings$keep <- TRUE
  settings$tol <- 1e-4
  settings$nugget <- process$nugget
  kernel <- kernel_to_core(kernel, nrow(process$z))
  core <- core_call(gpsvm_fit_cpp(
    part(1 - out), kernel, z, gpsvm_control(settings, classes)
  ))
  if (core$interrupted) {
    return(NULL)
  }
  moments <- core_call(gpsvm_predict_cpp(
    part(out), kernel, z, process$nugget,
    lapply(core$fits, `[`, c("mean", "whitener")), settings$threads
  ))
  prob <- matrix(
    link_probability(moments$mean, moments$var, "probit"), nrow(moments$mean)
  )
  rows <- which(out > 0)
  labels <- data$labels[rows]
  p <- if (length(classes) == 1L) {
    ifelse(labels == classes, prob[, 1], 1 - prob[, 1])
  } else {
    (prob / rowSums(prob))[cbind(seq_along(labels), labels + 1)]
  }
  -sum(data$users[rows] * out[rows] * log(pmax(p, 1e-15)))
}
