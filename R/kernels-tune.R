# Parameters of a kernel from the data: the maximum of a bound inside a box, or
# the best of a grid by cross-validation. For every model with a kernel object.

#' The maximum of a bound over the parameters of a kernel
#'
#' From three starts by L-BFGS-B in the logarithms, then with the locations of
#' the inducing points if asked.
#'
#' @param process `kernel`, `nugget` (tuned if above 0), `z` (d x m) and
#'   `median_distance`.
#' @param bound_at Function of a list `kernel` (log parameters), `nugget`, `z`
#'   and of `locations`, whether the gradient in z is wanted; gives a list
#'   `bound`, the gradients `kernel`, `nugget`, `locations`, and `interrupted`.
#' @param prior Bounds of the parameters, as gpsvm_prior() gives them.
#' @param locations Move the points as well.
#' @return A list: `kernel`, `nugget`, `z`, and `tuned`, how it went.
#' @noRd
maximise_bound <- function(process, bound_at, prior, locations = FALSE) {
  parameters <- kernel_parameters(process$kernel)
  box <- tuning_box(parameters, process, prior)
  scaled <- grepl("lengthscale", names(parameters))
  best <- NULL
  for (factor in c(1, 0.5, 2)) {
    start <- log(parameters)
    start[scaled] <- start[scaled] + log(factor)
    if (process$nugget > 0) start <- c(start, nugget = log(process$nugget))
    start <- pmin(pmax(start, box$lower), box$upper)
    found <- climb_bound(bound_at, start, process, box)
    if (is.null(best) || found$bound > best$bound) best <- found
    if (found$interrupted) break
  }
  if (locations && !best$interrupted) {
    free <- rep(Inf, length(process$z))
    box <- list(lower = c(box$lower, -free), upper = c(box$upper, free))
    best <- climb_bound(bound_at, c(best$log, process$z), process, box, TRUE)
  }
  at <- seq_along(parameters)
  kernel <- update_kernel(process$kernel, best$log[at])
  list(
    kernel = kernel, z = best$z,
    nugget = if (process$nugget > 0) exp(best$log[[length(at) + 1L]]) else 0,
    tuned = list(
      by = "bound", bound = best$bound, evaluations = best$evaluations,
      converged = best$converged, off = switched_off(kernel),
      interrupted = best$interrupted
    )
  )
}

# One ascent. Value and gradient come together: each point is visited once. An
# interrupt ends it at the best point so far.
climb_bound <- function(bound_at, start, process, box, locations = FALSE) {
  count <- length(start) - if (locations) length(process$z) else 0L
  tuned_nugget <- process$nugget > 0
  n_kernel <- count - tuned_nugget
  evaluations <- 0L
  last <- best <- NULL
  at <- function(par) {
    if (identical(last$par, par)) {
      return(last)
    }
    z <- if (locations) {
      matrix(par[-seq_len(count)], nrow(process$z))
    } else {
      process$z
    }
    nugget <- if (tuned_nugget) exp(par[[n_kernel + 1L]]) else 0
    value <- bound_at(
      list(kernel = unname(par[seq_len(n_kernel)]), nugget = nugget, z = z),
      locations
    )
    if (value$interrupted) stop_climb()
    evaluations <<- evaluations + 1L
    gradient <- c(
      value$kernel, if (tuned_nugget) nugget * value$nugget,
      if (locations) value$locations
    )
    last <<- list(par = par, bound = value$bound, gradient = gradient)
    if (is.null(best) || last$bound > best$bound) best <<- last
    last
  }
  found <- tryCatch(
    stats::optim(
      start, function(par) -at(par)$bound, function(par) -at(par)$gradient,
      method = "L-BFGS-B", lower = box$lower, upper = box$upper,
      control = list(maxit = 60, factr = 1e8)
    ),
    bayeskernel_climb = function(e) NULL
  )
  end <- if (!is.null(found)) {
    list(par = found$par, bound = -found$value)
  } else {
    best %||% list(par = start, bound = -Inf)
  }
  par <- end$par
  list(
    log = par[seq_len(count)], bound = end$bound,
    z = if (locations) matrix(par[-seq_len(count)], nrow(process$z)),
    evaluations = evaluations, interrupted = is.null(found),
    converged = !is.null(found) && found$convergence == 0L
  )
}

stop_climb <- function() {
  stop(structure(
    list(message = "interrupted", call = NULL),
    class = c("bayeskernel_climb", "error", "condition")
  ))
}

tuning_box <- function(parameters, process, prior) {
  ell <- prior$lengthscale
  if (is.null(ell)) ell <- c(0.05, 20) * process$median_distance
  bound <- function(k) {
    out <- rep(prior$variance[k], length(parameters))
    out[grepl("lengthscale", names(parameters))] <- ell[k]
    log(c(out, if (process$nugget > 0) prior$nugget[k]))
  }
  list(lower = bound(1), upper = bound(2))
}

# Components of a sum whose variance is nothing beside that of the others.
switched_off <- function(kernel) {
  parameters <- kernel_parameters(kernel)
  variance <- parameters[grepl("variance$", names(parameters))]
  names(variance)[variance < 1e-6 * sum(variance)]
}

#' The best of a grid of kernels by cross-validation
#'
#' @param kernel The kernel whose length-scales and variances are multiplied.
#' @param labels The folds have equal shares of each.
#' @param loss Function of a kernel and of which rows are left out; gives the
#'   sum of their losses, or `NULL` after an interrupt, which ends the search.
#' @return A list: `kernel` and `tuned`.
#' @noRd
choose_by_folds <- function(kernel, labels, loss, folds = 5L) {
  fold <- fold_numbers(labels, folds)
  parameters <- kernel_parameters(kernel)
  scaled <- grepl("lengthscale", names(parameters))
  grid <- expand.grid(
    lengthscale = if (any(scaled)) c(0.25, 0.5, 1, 2, 4) else 1,
    variance = c(0.25, 1, 4, 16)
  )
  grid$log_loss <- NA_real_
  at <- function(g) {
    update_kernel(kernel, log(parameters) + ifelse(
      scaled, log(grid$lengthscale[g]), log(grid$variance[g])
    ))
  }
  interrupted <- FALSE
  for (g in seq_len(nrow(grid))) {
    parts <- numeric()
    for (k in seq_len(folds)) {
      part <- loss(at(g), fold == k)
      interrupted <- is.null(part)
      if (interrupted) break
      parts[k] <- part
    }
    if (interrupted) break
    grid$log_loss[g] <- sum(parts) / length(labels)
  }
  best <- which.min(grid$log_loss)
  list(
    kernel = if (length(best)) at(best) else kernel,
    tuned = list(
      by = "cv", grid = grid, folds = folds, interrupted = interrupted
    )
  )
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
