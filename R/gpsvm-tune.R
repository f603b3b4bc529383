# What gpsvm() tunes its kernel by: the bound on a sample of the rows, or the
# log-loss of rows that are left out.

tune_process <- function(process, rows, data, sample, settings) {
  if (is_precomputed(process$kernel)) {
    bk_abort(
      "kernel", "A precomputed kernel has no parameters to tune.",
      "Use tune = FALSE, or a kernel such as rbf().",
      column = "tune"
    )
  }
  if (rows$n > settings$tune_rows || ncol(sample$x) < rows$n) {
    sample <- core_call(gpsvm_sample_cpp(
      data, settings$tune_rows, as.double(settings$seed)
    ))
  }
  few <- sample_data(sample$x, sample$labels)
  if (length(data$weights)) few$weights <- data$weights[sample$row]
  classes <- machine_labels(rows$levels, data_positive(data))
  settings$progress <- FALSE
  found <- if (identical(settings$tune, "cv")) {
    choose_by_folds(process$kernel, few$labels, function(kernel, out) {
      fold_loss(kernel, process, few, out, classes, settings)
    })
  } else {
    maximise_process(process, few, classes, settings)
  }
  if (isTRUE(found$tuned$interrupted)) stop_or_keep_tuning(settings)
  found$tuned$rows <- nrow(few$x)
  process[names(found)] <- found
  process
}

stop_or_keep_tuning <- function(settings) {
  if (settings$on_interrupt == "stop") abort_interrupted()
  bk_warn(
    "interrupt", "Interrupted: the kernel is the best so far.",
    "It is not fully tuned; the fit itself goes on with it."
  )
}

maximise_process <- function(process, data, classes, settings) {
  # The exact process of a sample of rows has its points there.
  points <- process$z
  if (settings$exact) process$z <- t(data$x)
  tuner <- core_call(gpsvm_tuner_cpp(
    data, ncol(process$z), settings$exact, classes, settings$threads
  ))
  core <- kernel_to_core(process$kernel, nrow(process$z))
  passes <- list(
    tol = 1e-7, max_iter = 300L, accelerate = settings$accelerate
  )
  found <- maximise_bound(process, function(at, locations) {
    core_call(gpsvm_bound_cpp(
      tuner, core, at$kernel, at$nugget, at$z, locations, passes
    ))
  }, settings$prior, settings$optimise_inducing && !settings$exact)
  if (is.null(found$z)) found$z <- points
  found
}

# Sum of minus log probabilities of the labels left out; NULL after an
# interrupt.
fold_loss <- function(kernel, process, data, out, classes, settings) {
  part <- function(rows) {
    data$x <- data$x[rows, , drop = FALSE]
    data$labels <- data$labels[rows]
    if (length(data$weights)) data$weights <- data$weights[rows]
    data
  }
  z <- if (settings$exact) t(data$x[!out, , drop = FALSE]) else process$z
  settings$method <- "vb"
  settings$keep <- TRUE
  settings$tol <- 1e-4
  settings$nugget <- process$nugget
  kernel <- kernel_to_core(kernel, nrow(process$z))
  core <- core_call(gpsvm_fit_cpp(
    part(!out), kernel, z, gpsvm_control(settings, classes)
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
  labels <- data$labels[out]
  p <- if (length(classes) == 1L) {
    ifelse(labels == classes, prob[, 1], 1 - prob[, 1])
  } else {
    (prob / rowSums(prob))[cbind(seq_along(labels), labels + 1)]
  }
  -sum(log(pmax(p, 1e-15)))
}
