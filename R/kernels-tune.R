# Parameters of a kernel from the data: the maximum of a bound or of a score
# inside a box, or the best of a grid by cross-validation. For every model with
# a kernel object.

# Whether a kernel leaves a length-scale or variance to the model.
has_open_scale <- function(kernel) anyNA(kernel_parameters(kernel))

#' The maximum of a bound over the parameters of a kernel
#'
#' From three starts by L-BFGS-B in the logarithms, entries of projections as
#' they are, then with the locations of
#' the inducing points if asked.
#'
#' @param process `kernel`, `nugget` (tuned if above 0), `z` (d x m) and
#'   `medians`, of the distances in the columns of each leaf of the kernel.
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
  roles <- parameter_roles(process$kernel)
  from <- core_parameters(process$kernel)
  best <- NULL
  for (factor in c(1, 0.5, 2)) {
    start <- stretch_parameters(from, roles, factor)
    if (process$nugget > 0) start <- c(start, nugget = log(process$nugget))
    start <- pmin(pmax(start, box$lower), box$upper)
    found <- climb_bound(bound_at, start, process, box)
    if (is.null(best) || found$bound > best$bound) best <- found
    best$interrupted <- found$interrupted
    if (found$interrupted) break
  }
  if (locations && !best$interrupted) {
    free <- rep(Inf, length(process$z))
    box <- list(lower = c(box$lower, -free), upper = c(box$upper, free))
    best <- climb_bound(bound_at, c(best$log, process$z), process, box, TRUE)
  }
  at <- seq_along(parameters)
  kernel <- settle_projections(update_kernel(process$kernel, best$log[at]))
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

#' The maximum of a score over the parameters of a kernel
#'
#' From the best of a grid by L-BFGS-B in the logarithms, with differences for
#' derivatives. The score is taken less sum t^2 / (2 2^2), t the logarithms of
#' parameters over their starts: along some directions, as of a variance and a
#' length-scale that grow together, there is hardly anything to choose by.
#'
#' @param score_at Function of a list `kernel` (log parameters), `nugget`, `z`;
#'   gives a number, -Inf where there is none, or `NULL` after an interrupt.
#' @inheritParams maximise_bound
#' @return A list: `kernel`, `nugget` and `tuned`.
#' @noRd
maximise_score <- function(process, score_at, prior) {
  coordinates <- score_coordinates(process, prior)
  box <- coordinates$box
  roles <- coordinates$roles
  count <- seq_along(roles)
  evaluations <- 0L
  interrupted <- FALSE
  worst <- 0
  at <- function(par) {
    nugget <- if (length(par) > length(count)) exp(par[[length(par)]]) else 0
    list(
      kernel = coordinates$expand(par[count]), nugget = nugget, z = process$z
    )
  }
  # L-BFGS-B takes finite values only.
  value <- function(par) {
    out <- if (!interrupted) score_at(at(par))
    interrupted <<- is.null(out)
    if (interrupted) stop_climb()
    evaluations <<- evaluations + 1L
    score <- out
    out <- out - score_prior(par, start)
    if (is.finite(out)) worst <<- min(worst, out) else out <- 10 * worst - 1
    if (out > best$bound) best <<- list(par = par, bound = out, score = score)
    out
  }
  into_box <- function(par) pmin(pmax(par, box$lower), box$upper)
  start <- coordinates$start
  if (process$nugget > 0) start <- c(start, nugget = log(process$nugget))
  best <- list(par = into_box(start), bound = -Inf)
  converged <- FALSE
  tryCatch(
    {
      grid <- scale_grid(roles)
      for (g in seq_len(nrow(grid))) {
        par <- start
        par[count] <- start[count] + grid_step(grid[g, ], roles)
        value(into_box(par))
      }
      found <- stats::optim(
        best$par, function(par) -value(par),
        method = "L-BFGS-B", lower = box$lower, upper = box$upper,
        control = list(
          maxit = 30, factr = 1e10, ndeps = rep(1e-2, length(start))
        )
      )
      converged <- found$convergence == 0L
    },
    bayeskernel_climb = function(e) NULL,
    interrupt = function(e) interrupted <<- TRUE
  )
  kernel <- update_kernel(process$kernel, at(best$par)$kernel)
  list(
    kernel = kernel, nugget = at(best$par)$nugget,
    tuned = list(
      by = "loo", bound = best$score %||% -Inf, evaluations = evaluations,
      converged = converged, off = switched_off(kernel),
      interrupted = interrupted
    )
  )
}

# What a score is climbed in: the parameters' logarithms; of a projection the
# logarithm of a length-scale along it, 0 at its start.
score_coordinates <- function(process, prior) {
  values <- core_parameters(process$kernel)
  box <- tuning_box(exp(values), process, prior)
  roles <- parameter_roles(process$kernel)
  leaf <- parameter_leaves(process$kernel)$at
  projected <- roles == "projection"
  first <- which(!projected | !duplicated(ifelse(projected, leaf, 0L)))
  scales <- projected[first]
  into <- function(ends, end) {
    c(ifelse(scales, end, ends[first]), ends[-seq_along(values)])
  }
  list(
    start = ifelse(scales, 0, values[first]),
    roles = ifelse(scales, "lengthscale", roles[first]),
    box = list(
      lower = into(box$lower, log(1 / 8)), upper = into(box$upper, log(8))
    ),
    expand = function(par) {
      out <- values
      out[first[!scales]] <- par[!scales]
      factor <- exp(-par[scales])
      out[projected] <- values[projected] *
        factor[match(leaf[projected], leaf[first[scales]])]
      unname(out)
    }
  )
}

score_prior <- function(par, start) sum((par - start)^2) / 8

# Factors of all length-scales and of all variances.
scale_grid <- function(roles) {
  expand.grid(
    lengthscale = if ("lengthscale" %in% roles) c(0.25, 0.5, 1, 2, 4) else 1,
    variance = c(0.25, 1, 4, 16)
  )
}

# In the logarithms. A period is where it was.
grid_step <- function(factors, roles) {
  steps <- c(
    lengthscale = log(factors$lengthscale), variance = log(factors$variance),
    period = 0
  )
  unname(steps[roles])
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
    bayeskernel_climb = function(e) NULL, interrupt = function(e) NULL
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
  leaf <- parameter_leaves(process$kernel)
  roles <- parameter_roles(process$kernel)
  # The bounds of length-scales mean distances; a periodic kernel knows none.
  turns <- leaf$kind == "periodic"
  bound <- function(k) {
    ell <- c(0.05, 20)[k] * process$medians[leaf$at]
    if (!is.null(prior$lengthscale)) ell[!turns] <- prior$lengthscale[k]
    out <- ifelse(roles == "lengthscale", ell, prior$variance[k])
    around <- roles == "period"
    out[around] <- parameters[around] * c(0.5, 2)[k]
    entries <- roles == "projection"
    nearest <- 0.05 * process$medians[leaf$at]
    if (!is.null(prior$lengthscale)) nearest[] <- prior$lengthscale[1L]
    out <- log(c(out, if (process$nugget > 0) prior$nugget[k]))
    out[which(entries)] <- c(-1, 1)[k] / nearest[entries]
    out
  }
  list(lower = bound(1), upper = bound(2))
}

# Components of a sum whose variance is nothing beside that of the others.
switched_off <- function(kernel) {
  variance <- kernel_parameters(kernel)[parameter_roles(kernel) == "variance"]
  names(variance)[variance < 1e-6 * sum(variance)]
}

#' The best of a grid of kernels by cross-validation
#'
#' @param kernel The kernel whose length-scales and variances are multiplied.
#' @param labels The folds have equal shares of each.
#' @param loss Function of a kernel and of which part of each row is left out,
#'   0 or 1 where it counts once; gives the sum of their losses, or `NULL` after
#'   an interrupt, which ends the search.
#' @param copies How often each row counts.
#' @param total Sum of what the losses are weighted by.
#' @return A list: `kernel` and `tuned`.
#' @noRd
choose_by_folds <- function(kernel, labels, loss, folds = 5L, copies = 1,
                            total = length(labels)) {
  out <- fold_shares(labels, folds, copies)
  parameters <- kernel_parameters(kernel)
  roles <- parameter_roles(kernel)
  grid <- scale_grid(roles)
  grid$log_loss <- NA_real_
  at <- function(g) {
    update_kernel(kernel, log(parameters) + grid_step(grid[g, ], roles))
  }
  interrupted <- FALSE
  for (g in seq_len(nrow(grid))) {
    parts <- numeric()
    for (k in seq_len(folds)) {
      part <- loss(at(g), out[, k])
      interrupted <- is.null(part)
      if (interrupted) break
      parts[k] <- part
    }
    if (interrupted) break
    grid$log_loss[g] <- sum(parts) / total
  }
  best <- which.min(grid$log_loss)
  list(
    kernel = if (length(best)) at(best) else kernel,
    tuned = list(
      by = "cv", grid = grid, folds = folds, interrupted = interrupted
    )
  )
}

# Which part of each row is in each fold: of a row that counts several times
# some of these.
fold_shares <- function(labels, folds, copies = 1) {
  if (!any(copies > 1)) {
    return(outer(fold_numbers(labels, folds), seq_len(folds), `==`) + 0)
  }
  # A power that is no count is of one row.
  copies <- pmax(ceiling(copies), 1)
  row <- rep(seq_along(labels), copies)
  fold <- fold_numbers(labels[row], folds)
  vapply(seq_len(folds), function(k) {
    tabulate(row[fold == k], length(labels)) / copies
  }, numeric(length(labels)))
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
