# Parameters of a kernel from the data: the maximum of a bound or of a score inside a box, or the
# best of a grid by cross-validation. For every model with a kernel object.

# Whether a kernel leaves a length-scale or variance to the model.
has_open_scale <- function(kernel) anyNA(kernel_parameters(kernel))

# The maximum of a bound over the parameters of a kernel. From three starts by L-BFGS-B in the
# logarithms, entries of projections as they are, then with the locations of the inducing points if
# asked.
# process: `kernel`, `nugget` (tuned if above 0), `z` (d x m) and `medians`, of the distances in the
#   columns of each leaf of the kernel.
# bound_at: function of a list `kernel` (log parameters), `nugget`, `z` and of `locations`, whether
#   the gradient in z is wanted; gives a list `bound`, the gradients `kernel`, `nugget`,
#   `locations`, and `interrupted`.
# prior: bounds of the parameters, as gpsvm_prior() gives them.
# locations: move the points as well.
# Returns a list: `kernel`, `nugget`, `z`, and `tuned`, how it went.
maximise_bound <- function(process, bound_at, prior, locations) {
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
      by = "bound", bound = best$bound, evaluations = best$evaluations, converged = best$converged,
      off = switched_off(kernel), interrupted = best$interrupted
    )
  )
}

# The maximum of a score over the parameters of a kernel. From the best of a grid, in the
# logarithms: by quadratics through what is known of the score, of three parameters and more by
# L-BFGS-B with differences for derivatives. The score is taken less score_prior().
# levels: lists of `rows`, how many are looked at, and `score`, a function of a list `kernel` (log
#   parameters), `nugget`, `z`; the cheap ones first, of which each says better than the one before
#   what the last one says: all estimate the same number. They give the score, -Inf where there is
#   none, or one for each of two forms of a link, the second less `worth_of_form`; `NULL` after an
#   interrupt. The grid is for the first.
# tell: function of what is looked at, the number of evaluations and the best score.
# See maximise_bound() for what else it takes.
# Returns a list: `kernel`, `nugget` and `tuned`.
maximise_score <- function(process, levels, prior, tell = function(...) NULL) {
  coordinates <- score_coordinates(process, prior)
  count <- seq_along(coordinates$roles)
  start <- coordinates$start
  if (process$nugget > 0) start <- c(start, nugget = log(process$nugget))
  families <- coordinates$families[seq_along(start)]
  at <- function(par) {
    nugget <- if (length(par) > length(count)) exp(par[[length(par)]]) else 0
    list(kernel = coordinates$expand(par[count]), nugget = nugget, z = process$z)
  }
  evaluations <- 0L
  interrupted <- FALSE
  best <- list(level = 0L, bound = -Inf, par = start)
  value <- function(par, level) {
    score <- levels[[level]]$score(at(par))
    if (is.null(score)) stop_climb()
    evaluations <<- evaluations + 1L
    out <- score - score_prior(par, start, families, levels[[length(levels)]]$rows)
    top <- max(out)
    if (level > best$level || top > best$bound) {
      best <<- list(level = level, bound = top, par = par, score = best_form(score))
    }
    tell(sprintf("%.0f rows", levels[[level]]$rows), evaluations, best$score)
    out
  }
  converged <- FALSE
  tryCatch(
    {
      from <- look_at_grid(value, start, coordinates, process)
      converged <- climb_levels(value, from, vapply(levels, `[[`, 0, "rows"), coordinates$box)
    },
    bayeskernel_climb = function(e) interrupted <<- TRUE,
    interrupt = function(e) interrupted <<- TRUE
  )
  kernel <- update_kernel(process$kernel, at(best$par)$kernel)
  list(
    kernel = kernel, nugget = at(best$par)$nugget,
    tuned = list(
      by = "loo", bound = best$score %||% -Inf, evaluations = evaluations, converged = converged,
      off = switched_off(kernel), interrupted = interrupted
    )
  )
}

# The kernel and the nugget of the highest score, the one of `score` that is best where it begins,
# by a climb from log parameters that are near: `kernel` and `nugget`, NULL after an interrupt. The
# starts of `process` are what its prior is about, on `rows` rows.
climb_from <- function(process, kernel, nugget, score, prior, rows) {
  coordinates <- score_coordinates(process, prior)
  p <- seq_along(coordinates$roles)
  start <- c(coordinates$start, if (process$nugget > 0) log(process$nugget))
  par <- c(kernel, if (process$nugget > 0) log(nugget))
  form <- NULL
  best <- list(score = -Inf, par = par)
  value <- function(par) {
    nugget <- if (length(par) > length(p)) exp(par[[length(par)]]) else 0
    out <- score(list(kernel = coordinates$expand(par[p]), nugget = nugget))
    if (is.null(out)) stop_climb()
    out <- out - score_prior(par, start, coordinates$families[seq_along(par)], rows)
    if (is.null(form)) form <<- which.max(out)
    if (out[[form]] > best$score) best <<- list(score = out[[form]], par = par)
    out[[form]]
  }
  ended <- tryCatch(
    {
      climb_score(value, list(
        par = t(par), score = -Inf, top = 1L, unit = coordinate_units(coordinates$roles, process),
        model = list(curvature = diag(-0.5, length(par)), top = par)
      ), coordinates$box, FALSE, FALSE)
      TRUE
    },
    bayeskernel_climb = function(e) FALSE, interrupt = function(e) FALSE
  )
  if (!ended) return(NULL)
  list(
    kernel = update_kernel(process$kernel, coordinates$expand(best$par[p])),
    nugget = if (process$nugget > 0) exp(best$par[[length(par)]]) else 0
  )
}

# By how far neighbors of the grid are apart.
coordinate_units <- function(roles, process) {
  unit <- c(lengthscale = log(2), variance = log(4), period = log(2) / 4)[roles]
  c(unname(unit), if (process$nugget > 0) log(4))
}

# The points of a grid that were looked at, in rows, and their scores, a column a form of the link;
# `unit`, by how far neighbors are apart.
look_at_grid <- function(value, start, coordinates, process) {
  roles <- coordinates$roles
  box <- coordinates$box
  grid <- scale_grid(roles)
  # Neighbors follow each other: their messages are near.
  back <- match(grid$variance, unique(grid$variance)) %% 2 == 0
  grid <- grid[order(grid$variance, ifelse(back, -1, 1) * grid$lengthscale), ]
  par <- t(vapply(seq_len(nrow(grid)), function(g) {
    out <- start
    out[seq_along(roles)] <- start[seq_along(roles)] + grid_step(grid[g, ], roles)
    pmin(pmax(out, box$lower), box$upper)
  }, start))
  if (length(start) == 1L) par <- t(par)
  score <- lapply(seq_len(nrow(par)), function(g) value(par[g, ], 1L))
  list(par = par, score = do.call(rbind, score), unit = coordinate_units(roles, process))
}

# How much the second form of the link has to be better by, as in the core.
worth_of_form <- 3

# The score of the form that counts.
best_form <- function(score) {
  form <- which.max(score)
  score[[form]] + c(0, worth_of_form)[[form]]
}

# By how much less a top of the grid may be than the best to be climbed from, too.
near_best <- 3

# From the tops of the grid, of either form of the link, through the levels, of `rows`; from the
# best of each form alone once it has been looked at on more rows than the grid's, or on all. Gives
# whether all settled.
climb_levels <- function(value, from, rows, box) {
  levels <- length(rows)
  least <- max(from$score) - near_best
  if (!is.finite(least)) return(FALSE)
  converged <- TRUE
  for (form in seq_len(ncol(from$score))) {
    own <- from
    own$score <- from$score[, form]
    climbs <- lapply(grid_tops(own, least), function(top) {
      own$top <- top
      own
    })
    for (level in seq_len(levels)) {
      climbs <- lapply(climbs, function(own) {
        climb_score(function(par) value(par, level)[[form]], own, box, level == 1L, level == levels)
      })
      if (length(climbs) > 1L && (level > 1L || rows[1L] == rows[levels])) {
        best <- vapply(climbs, function(own) max(own$score), 0)
        climbs <- climbs[which.max(best)]
      }
    }
    converged <- converged && all(vapply(climbs, `[[`, NA, "converged"))
  }
  converged
}

# The two highest of the points without a higher neighbor, if they reach `least`.
grid_tops <- function(grid, least) {
  units <- grid$par / rep(grid$unit, each = nrow(grid$par))
  apart <- as.matrix(stats::dist(units, "maximum"))
  top <- vapply(seq_along(grid$score), function(g) {
    near <- apart[g, ] < 1.5 & seq_along(grid$score) != g
    grid$score[g] >= least && all(grid$score[near] <= grid$score[g])
  }, NA)
  top <- which(top)
  utils::head(top[order(grid$score[top], decreasing = TRUE)], 2L)
}

# One level. What is known is of it if `same`, else of the level before, and tells the shape. On the
# last the slopes are by differences to both sides.
climb_score <- function(value, from, box, same, last_level) {
  p <- length(from$unit)
  at <- from$par[from$top, ]
  if (p >= 3L) return(climb_by_differences(value, from, at, box))
  if (same) {
    # Another top of the grid has its own climb.
    near <- rowSums(abs(
      from$par - rep(at, each = nrow(from$par))
    ) > 1.5 * rep(from$unit, each = nrow(from$par))) == 0
    par <- from$par[near, , drop = FALSE]
    score <- from$score[near]
    model <- list(curvature = diag(-0.1, p))
  } else {
    model <- from$model
    at <- model$top
    par <- matrix(numeric(), 0L, p)
    score <- numeric()
  }
  look <- function(at) {
    at <- pmin(pmax(at, box$lower), box$upper)
    par <<- rbind(par, at, deparse.level = 0L)
    score <<- c(score, value(at))
    last(score)
  }
  look_around <- function(at, units) {
    for (k in seq_len(p)) {
      step <- units * from$unit[k] * (seq_len(p) == k)
      up <- all(at + step <= box$upper)
      if (up) look(at + step)
      if (!up || last_level && all(at - step >= box$lower)) look(at - step)
    }
  }
  # The last begins where the level before ended.
  radius <- if (last_level) 0.5 else 1
  if (!same) {
    look(at)
    look_around(at, if (last_level) 0.3 else 0.5)
  }
  converged <- FALSE
  wrong <- Inf
  for (turn in seq_len(20L)) {
    finite <- is.finite(score)
    if (!any(finite)) break
    best <- which.max(score)
    model <- fit_quadratic(
      par[finite, , drop = FALSE], score[finite], par[best, ], from$unit, radius, model$curvature
    )
    step <- quadratic_top(model, par[best, ], from$unit, radius, box)
    model$top <- step$par
    # A quadratic that was not right about its last top may be wrong of this.
    if (step$gain < 0.002 && (wrong < 0.05 || max(abs(step$units)) < 0.05)) {
      converged <- TRUE
      break
    }
    gain <- look(step$par) - score[best]
    wrong <- abs(gain - step$gain)
    if (!last_level && wrong < 0.01 && step$gain < 0.05) {
      converged <- TRUE
      break
    }
    share <- gain / step$gain
    if (!is.finite(share) || share < 0.25) {
      radius <- 0.5 * radius
    } else if (share > 0.5 && max(abs(step$units)) > 0.9 * radius) {
      radius <- min(2 * radius, 2)
    }
  }
  list(
    par = par, score = score, top = which.max(score), unit = from$unit,
    model = model, converged = converged
  )
}

# The quadratic about `center` that is nearest to scores near by, in units, where its curvature is
# not far from that of `curvature`.
fit_quadratic <- function(par, score, center, unit, radius, curvature) {
  p <- length(unit)
  d <- (par - rep(center, each = nrow(par))) / rep(unit, each = nrow(par))
  pairs <- which(lower.tri(curvature, TRUE), arr.ind = TRUE)
  products <- d[, pairs[, 1L], drop = FALSE] * d[, pairs[, 2L], drop = FALSE]
  same <- pairs[, 1L] == pairs[, 2L]
  products[, same] <- products[, same] / 2
  columns <- cbind(1, d, products)
  weight <- exp(-0.5 * rowSums(d^2) / max(radius, 0.25)^2)
  ridge <- c(1e-8, rep(1e-4 * radius^2, p), rep(1e-2 * radius^4, nrow(pairs)))
  prior <- c(0, numeric(p), curvature[pairs])
  # A small radius makes sizes differ, no more: that is no reason to stop.
  found <- drop(solve(
    crossprod(columns, weight * columns) + diag(ridge),
    crossprod(columns, weight * (score - max(score))) + ridge * prior, tol = 0
  ))
  curvature[pairs] <- found[-seq_len(p + 1L)]
  curvature[upper.tri(curvature)] <- t(curvature)[upper.tri(curvature)]
  list(slope = found[1L + seq_len(p)], curvature = curvature)
}

# Its top within `radius` units of the center and inside the box, and how much higher it is there.
quadratic_top <- function(model, center, unit, radius, box) {
  lower <- pmax((box$lower - center) / unit, -radius)
  upper <- pmin((box$upper - center) / unit, radius)
  height <- function(d) sum(model$slope * d) + 0.5 * sum(d * (model$curvature %*% d))
  concave <- all(eigen(model$curvature, TRUE, TRUE)$values < -1e-8)
  d <- if (concave) drop(solve(model$curvature, -model$slope))
  if (is.null(d) || any(d < lower | d > upper)) {
    d <- stats::optim(
      pmin(pmax(0.1 * sign(model$slope), lower), upper), function(d) -height(d),
      function(d) -(model$slope + drop(model$curvature %*% d)), method = "L-BFGS-B", lower = lower,
      upper = upper
    )$par
  }
  list(par = center + d * unit, units = d, gain = height(d))
}

climb_by_differences <- function(value, from, at, box) {
  worst <- min(0, from$score[is.finite(from$score)])
  best <- list(par = at, score = -Inf)
  found <- stats::optim(
    at, function(par) {
      # L-BFGS-B takes finite values only.
      out <- value(par)
      if (is.finite(out)) worst <<- min(worst, out) else out <- 10 * worst - 1
      if (out > best$score) best <<- list(par = par, score = out)
      -out
    },
    method = "L-BFGS-B", lower = box$lower, upper = box$upper,
    control = list(maxit = 30, factr = 1e11, ndeps = rep(1e-2, length(at)))
  )
  list(
    par = t(best$par), score = best$score, top = 1L, unit = from$unit,
    converged = found$convergence == 0L
  )
}

# What a score is climbed in: the parameters' logarithms; of a projection the logarithm of a
# length-scale along it, 0 at its start.
score_coordinates <- function(process, prior) {
  values <- core_parameters(process$kernel)
  box <- tuning_box(exp(values), process, prior)
  roles <- parameter_roles(process$kernel)
  leaf <- parameter_leaves(process$kernel)$at
  projected <- roles == "projection"
  first <- which(!projected | !duplicated(ifelse(projected, leaf, 0L)))
  scales <- projected[first]
  families <- parameter_families(process$kernel)[first]
  families <- match(families, unique(families))
  into <- function(ends, end) c(ifelse(scales, end, ends[first]), ends[-seq_along(values)])
  list(
    start = ifelse(scales, 0, values[first]), roles = ifelse(scales, "lengthscale", roles[first]),
    families = c(families, max(families, 0L) + 1L),
    box = list(lower = into(box$lower, log(1 / 8)), upper = into(box$upper, log(8))),
    expand = function(par) {
      out <- values
      out[first[!scales]] <- par[!scales]
      factor <- exp(-par[scales])
      out[projected] <- values[projected] * factor[match(leaf[projected], leaf[first[scales]])]
      unname(out)
    }
  )
}

# What a search takes off a score, a sum of log probabilities of `rows` rows: `weight` times t^2 of
# the log ratio t of each parameter to its start (an eighth is a standard deviation of 2), as along
# some directions, of a variance and a length-scale that grow together, there is hardly anything to
# choose by. The k length-scales of one kernel, a family, are one such parameter, their mean, and
# k - 1 ratios to it, of a smaller standard deviation, down to 1/2, the larger (k - 1)^2 is for the
# rows. Each could else be moved to where it predicts these rows best, and columns of noise would
# seem to know the rows that were left out.
score_prior <- function(par, start, families = seq_along(par), rows = Inf, weight = 1 / 8) {
  t <- par - start
  size <- tabulate(families)
  common <- drop(rowsum(t, families)) / size
  apart <- t - common[families]
  crowded <- 2 * pmin((size - 1)^2 / rows, 1)
  weight * sum(common^2) + sum((weight + crowded[families]) * apart^2)
}

# Factors of all length-scales and of all variances.
scale_grid <- function(roles) {
  expand.grid(
    lengthscale = if ("lengthscale" %in% roles) c(0.25, 0.5, 1, 2, 4) else 1,
    variance = c(0.25, 1, 4, 16)
  )
}

# In the logarithms. A period is where it was.
grid_step <- function(factors, roles) {
  steps <- c(lengthscale = log(factors$lengthscale), variance = log(factors$variance), period = 0)
  unname(steps[roles])
}

# One ascent. Value and gradient come together: each point is visited once. An interrupt ends it at
# the best point so far.
climb_bound <- function(bound_at, start, process, box, locations = FALSE) {
  count <- length(start) - if (locations) length(process$z) else 0L
  tuned_nugget <- process$nugget > 0
  n_kernel <- count - tuned_nugget
  evaluations <- 0L
  last <- best <- NULL
  at <- function(par) {
    if (identical(last$par, par)) return(last)
    z <- if (locations) matrix(par[-seq_len(count)], nrow(process$z)) else process$z
    nugget <- if (tuned_nugget) exp(par[[n_kernel + 1L]]) else 0
    value <- bound_at(
      list(kernel = unname(par[seq_len(n_kernel)]), nugget = nugget, z = z), locations
    )
    if (value$interrupted) stop_climb()
    evaluations <<- evaluations + 1L
    gradient <- c(
      value$kernel, if (tuned_nugget) nugget * value$nugget, if (locations) value$locations
    )
    last <<- list(par = par, bound = value$bound, gradient = gradient)
    if (is.null(best) || last$bound > best$bound) best <<- last
    last
  }
  found <- tryCatch(
    stats::optim(
      start, function(par) -at(par)$bound, function(par) -at(par)$gradient, method = "L-BFGS-B",
      lower = box$lower, upper = box$upper, control = list(maxit = 60, factr = 1e8)
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
    z = if (locations) matrix(par[-seq_len(count)], nrow(process$z)), evaluations = evaluations,
    interrupted = is.null(found), converged = !is.null(found) && found$convergence == 0L
  )
}

stop_climb <- function() {
  stop(structure(
    list(message = "interrupted", call = NULL), class = c("bayeskernel_climb", "error", "condition")
  ))
}

tuning_box <- function(parameters, process, prior) {
  leaf <- parameter_leaves(process$kernel)
  roles <- parameter_roles(process$kernel)
  # The bounds of length-scales mean distances; a periodic kernel knows none.
  turns <- leaf$turns
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

# The best of a grid of kernels by cross-validation.
# kernel: the kernel whose length-scales and variances are multiplied.
# labels: the folds have equal shares of each.
# loss: function of a kernel and of which part of each row is left out, 0 or 1 where it counts once;
#   gives the sum of their losses, or `NULL` after an interrupt, which ends the search.
# copies: how often each row counts.
# total: sum of what the losses are weighted by.
# Returns a list: `kernel` and `tuned`.
choose_by_folds <- function(kernel, labels, loss, folds = 5L, copies, total) {
  out <- fold_shares(labels, folds, copies)
  parameters <- kernel_parameters(kernel)
  roles <- parameter_roles(kernel)
  grid <- scale_grid(roles)
  grid$log_loss <- NA_real_
  at <- function(g) update_kernel(kernel, log(parameters) + grid_step(grid[g, ], roles))
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
    tuned = list(by = "cv", grid = grid, folds = folds, interrupted = interrupted)
  )
}

# Which part of each row is in each fold: of a row that counts several times some of these.
fold_shares <- function(labels, folds, copies = 1) {
  if (!any(copies > 1)) return(outer(fold_numbers(labels, folds), seq_len(folds), `==`) + 0)
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
