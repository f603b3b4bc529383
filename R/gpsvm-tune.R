# Kernel parameters from the data: the bound's maximum inside a box, or the
# log-loss of a cross-validated grid (gpsvm.md section 6).

tune_gpsvm <- function(model, rows, sample, settings, call) {
  if (is_precomputed(model$kernel)) {
    bk_abort(
      "kernel", "A precomputed kernel has no parameters to tune.",
      "Use tune = FALSE, or a kernel such as rbf().",
      column = "tune", call = call
    )
  }
  if (rows$n > settings$tune_rows || ncol(sample$x) < rows$n) {
    sample <- core_call(gpsvm_sample_cpp(
      rows$data, settings$tune_rows, as.double(settings$seed)
    ), call)
  }
  data <- sample_data(sample$x, sample$labels)
  if (length(rows$data$weights)) {
    data$weights <- rows$data$weights[sample$row]
  }
  classes <- machine_labels(rows$levels, data_positive(rows$data))
  if (identical(settings$tune, "cv")) {
    tune_by_folds(model, data, classes, settings, call)
  } else {
    tune_by_bound(model, data, classes, settings, call)
  }
}

tune_by_bound <- function(model, data, classes, settings, call) {
  kernel <- model$kernel
  parameters <- kernel_parameters(kernel)
  box <- tuning_box(parameters, model, settings)
  scaled <- grepl("lengthscale", names(parameters))
  # The exact process of a sample of rows has its points there.
  points <- model$z
  if (settings$exact) model$z <- t(data$x)
  tuner <- gpsvm_tuner_cpp(
    data, ncol(model$z), settings$exact, classes, settings$threads
  )
  core <- kernel_to_core(kernel, nrow(model$z))
  best <- NULL
  for (factor in c(1, 0.5, 2)) {
    start <- log(parameters)
    start[scaled] <- start[scaled] + log(factor)
    if (model$nugget > 0) start <- c(start, nugget = log(model$nugget))
    start <- pmin(pmax(start, box$lower), box$upper)
    found <- climb_bound(tuner, core, start, model, FALSE, box, settings, call)
    if (is.null(best) || found$bound > best$bound) best <- found
  }
  if (settings$optimise_inducing && !settings$exact) {
    wide <- function(side, value) {
      c(box[[side]], rep(value, length(model$z)))
    }
    box <- list(lower = wide("lower", -Inf), upper = wide("upper", Inf))
    best <- climb_bound(
      tuner, core, c(best$log, model$z), model, TRUE, box, settings, call
    )
  }
  at <- seq_along(parameters)
  model$kernel <- update_kernel(kernel, best$log[at])
  if (model$nugget > 0) model$nugget <- exp(best$log[[length(at) + 1L]])
  model$z <- if (is.null(best$z)) points else best$z
  model$tuned <- list(
    by = "bound", bound = best$bound, evaluations = best$evaluations,
    rows = nrow(data$x), converged = best$converged,
    off = switched_off(model$kernel)
  )
  model
}

# One ascent by L-BFGS-B in the log parameters, and the inducing points with
# `locations`. Value and gradient come together: each point is visited once.
climb_bound <- function(tuner, core, start, model, locations, box, settings,
                        call) {
  count <- length(start) - if (locations) length(model$z) else 0L
  n_kernel <- count - (model$nugget > 0)
  passes <- list(
    tol = 1e-7, max_iter = 300L, accelerate = settings$accelerate
  )
  evaluations <- 0L
  last <- NULL
  at <- function(par) {
    if (identical(last$par, par)) {
      return(last)
    }
    z <- if (locations) {
      matrix(par[-seq_len(count)], nrow(model$z))
    } else {
      model$z
    }
    nugget <- if (model$nugget > 0) exp(par[[n_kernel + 1L]]) else 0
    value <- core_call(gpsvm_bound_cpp(
      tuner, core, unname(par[seq_len(n_kernel)]), nugget, z, locations, passes
    ), call)
    if (value$interrupted) abort_interrupted()
    evaluations <<- evaluations + 1L
    gradient <- c(
      value$kernel, if (model$nugget > 0) nugget * value$nugget,
      if (locations) value$locations
    )
    last <<- list(par = par, bound = value$bound, gradient = gradient)
    last
  }
  found <- stats::optim(
    start, function(par) -at(par)$bound, function(par) -at(par)$gradient,
    method = "L-BFGS-B", lower = box$lower, upper = box$upper,
    control = list(maxit = 60, factr = 1e8)
  )
  list(
    log = found$par[seq_len(count)], bound = -found$value,
    z = if (locations) matrix(found$par[-seq_len(count)], nrow(model$z)),
    evaluations = evaluations, converged = found$convergence == 0L
  )
}

tuning_box <- function(parameters, model, settings) {
  prior <- settings$prior
  ell <- prior$lengthscale
  if (is.null(ell)) ell <- c(0.05, 20) * model$median_distance
  bound <- function(k) {
    out <- rep(prior$variance[k], length(parameters))
    out[grepl("lengthscale", names(parameters))] <- ell[k]
    log(c(out, if (model$nugget > 0) prior$nugget[k]))
  }
  list(lower = bound(1), upper = bound(2))
}

# Components of a sum whose variance is nothing beside that of the others.
switched_off <- function(kernel) {
  parameters <- kernel_parameters(kernel)
  variance <- parameters[grepl("variance$", names(parameters))]
  names(variance)[variance < 1e-6 * sum(variance)]
}

tune_by_folds <- function(model, data, classes, settings, call) {
  n <- nrow(data$x)
  folds <- 5L
  fold <- fold_numbers(data$labels, folds)
  parameters <- kernel_parameters(model$kernel)
  scaled <- grepl("lengthscale", names(parameters))
  grid <- expand.grid(
    lengthscale = if (any(scaled)) c(0.25, 0.5, 1, 2, 4) else 1,
    variance = c(0.25, 1, 4, 16)
  )
  settings$progress <- FALSE
  grid$log_loss <- vapply(seq_len(nrow(grid)), function(g) {
    log <- log(parameters) + ifelse(
      scaled, log(grid$lengthscale[g]), log(grid$variance[g])
    )
    kernel <- kernel_to_core(
      update_kernel(model$kernel, log), nrow(model$z)
    )
    sum(vapply(seq_len(folds), function(k) {
      fold_loss(kernel, model, data, fold == k, classes, settings, call)
    }, 0)) / n
  }, 0)
  best <- which.min(grid$log_loss)
  model$kernel <- update_kernel(model$kernel, log(parameters) + ifelse(
    scaled, log(grid$lengthscale[best]), log(grid$variance[best])
  ))
  model$tuned <- list(by = "cv", grid = grid, folds = folds, rows = n)
  model
}

# Every class spread over the folds.
fold_numbers <- function(labels, folds) {
  out <- integer(length(labels))
  for (label in unique(labels)) {
    at <- which(labels == label)
    out[at] <- rep_len(seq_len(folds), length(at))
  }
  out
}

# Sum of minus log probabilities of the labels left out.
fold_loss <- function(kernel, model, data, out, classes, settings, call) {
  part <- function(rows) {
    data$x <- data$x[rows, , drop = FALSE]
    data$labels <- data$labels[rows]
    if (length(data$weights)) data$weights <- data$weights[rows]
    data
  }
  z <- if (settings$exact) t(data$x[!out, , drop = FALSE]) else model$z
  settings$method <- "vb"
  settings$keep <- TRUE
  settings$tol <- 1e-4
  settings$nugget <- model$nugget
  core <- core_call(gpsvm_fit_cpp(
    part(!out), kernel, z, gpsvm_control(settings, classes)
  ), call)
  if (core$interrupted) abort_interrupted()
  moments <- core_call(gpsvm_predict_cpp(
    part(out), kernel, z, model$nugget,
    lapply(core$fits, `[`, c("mean", "whitener")), settings$threads
  ), call)
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
