# Missing values of groups, drawn: their law, the likelihood of their rows, and the step that has
# both; see model-missing-shared.R.

# The law of groups ----------------------------------------------------------

# What tells about the missing values of groups: means over their rows of the predictors without
# holes, of the factors without holes, and values of other predictors of the groups. One row a
# group; at most a quarter as many columns as groups with values, the first that are not
# combinations of others.
shared_guides <- function(rows, one) {
  holes <- rows$holes
  x <- cbind(holes$x, holes$guides)
  x <- x[, colSums(is.na(x)) == 0, drop = FALSE]
  mean <- rowsum(x, one$group, reorder = TRUE) / tabulate(one$group)
  within <- colSums((x - mean[one$group, , drop = FALSE])^2)
  groups <- length(one$first)
  seen <- min(vapply(c(
    asplit(holes$x[one$first, one$numbers, drop = FALSE], 2L),
    if (length(one$factors)) asplit(holes$codes[one$first, one$factors, drop = FALSE], 2L)
  ), function(own) sum(!is.na(own)), 1L))
  # What is constant within groups first.
  order <- order(within > 1e-8)
  order <- order[apply(mean, 2L, stats::sd)[order] > 1e-8]
  if (length(order) == 0L) return(matrix(0, groups, 0L))
  mean <- scale(mean[, order, drop = FALSE])
  parts <- qr(mean, tol = 1e-4)
  keep <- sort(parts$pivot[seq_len(min(parts$rank, seen %/% 4L))])
  matrix(mean[, keep], groups)
}

# A draw of the law of what groups have, given completed ones: cells of the factors by a Dirichlet,
# numbers and guides normal within a cell.
draw_shared_law <- function(numbers, guides, cell, cells) {
  w <- cbind(numbers, guides)
  d <- ncol(w)
  n <- tabulate(cell, cells)
  share <- stats::rgamma(cells, n + 1 / cells)
  out <- list(log_share = log(share) - log(sum(share)))
  if (d == 0L) return(out)
  mean <- rowsum(w, factor(cell, seq_len(cells))) / n[n > 0L]
  used <- which(n > 0L)
  centre <- matrix(rep(colMeans(w), each = cells), cells)
  centre[used, ] <- mean
  left <- w - centre[cell, , drop = FALSE]
  # As sure as one group of its prior variance, what the groups have.
  scatter <- crossprod(left) + diag(pmax(colMeans(left^2), 1e-8), d) * 0.1
  df <- max(nrow(w) - length(used) - ncol(guides), d + 2)
  root <- chol(chol2inv(chol(scatter)))
  cov <- chol2inv(chol(stats::rWishart(1L, df, crossprod(root))[, , 1L]))
  half <- chol(cov)
  # A cell without groups is about anywhere.
  size <- pmax(n, 0.1)
  out$mean <- centre + normal_matrix(cells, d) %*% half / sqrt(size)
  out$cov <- cov
  out
}

# Values for what groups miss, drawn given what they have.
# law: by draw_shared_law().
# w: numbers and guides by group, NA where missing.
# fits: groups x cells: whether a group may be of a cell.
# times: draws for each group.
# Returns `cell`, groups x times; `numbers`, a list by draw of matrices like w.
draw_shared_values <- function(law, w, fits, times) {
  groups <- nrow(fits)
  pattern <- drop(is.na(w) %*% 2^(seq_len(ncol(w)) - 1))
  cell <- matrix(1L, groups, times)
  numbers <- rep(list(w), times)
  for (own in unique(pattern)) {
    at <- which(pattern == own)
    gone <- if (ncol(w)) is.na(w[at[1L], ]) else logical()
    given <- shared_given(law, w[at, , drop = FALSE], gone)
    log_p <- given$log_p
    log_p[!fits[at, , drop = FALSE]] <- -Inf
    p <- exp(log_p - apply(log_p, 1L, max))
    for (i in seq_along(at)) {
      cell[at[i], ] <- if (sum(p[i, ] > 0) > 1L) {
        sample.int(ncol(p), times, TRUE, p[i, ])
      } else {
        which.max(p[i, ])
      }
    }
    if (!any(gone)) next
    for (k in seq_len(times)) {
      mean <- given$mean(cell[at, k])
      numbers[[k]][at, gone] <- mean + normal_matrix(length(at), sum(gone)) %*% given$root
    }
  }
  list(cell = cell, numbers = numbers)
}

# The law of the columns `gone` given the others, for groups with these values: log probabilities of
# cells, means given a cell, the root of the covariance.
shared_given <- function(law, w, gone) {
  cells <- length(law$log_share)
  log_p <- matrix(rep(law$log_share, each = nrow(w)), nrow(w))
  if (is.null(law$cov)) return(list(log_p = log_p))
  seen <- !gone
  slope <- matrix(0, sum(gone), sum(seen))
  cov <- law$cov[gone, gone, drop = FALSE]
  if (any(seen)) {
    root <- chol(law$cov[seen, seen, drop = FALSE])
    for (c in seq_len(cells)) {
      gap <- t(w[, seen, drop = FALSE]) - law$mean[c, seen]
      log_p[, c] <- log_p[, c] - colSums(backsolve(root, gap, transpose = TRUE)^2) / 2
    }
    slope <- law$cov[gone, seen, drop = FALSE] %*% chol2inv(root)
    cov <- cov - slope %*% law$cov[seen, gone, drop = FALSE]
  }
  list(
    log_p = log_p, root = if (any(gone)) chol(cov), mean = function(cell) {
      law$mean[cell, gone, drop = FALSE] +
        (w[, seen, drop = FALSE] - law$mean[cell, seen, drop = FALSE]) %*% t(slope)
    }
  )
}

# The likelihood of groups ---------------------------------------------------

# log p(y of a unit) with the effects of its group integrated out. The integral is exact for a
# normal response. Else it is over nodes about the mode, or by Laplace's method where a group has
# several effects.
# y, w, f: response, power and f without the effects, by row.
# z: rows x effects; `unit`: 1, 2, ..., by row; `psi` their covariance.
shared_log_likelihood <- function(family, y, w, f, z, unit, psi, sigma) {
  r <- ncol(z)
  sums <- function(value) rowsum(value, unit, reorder = TRUE)
  if (r == 0L) return(drop(sums(w * shared_log_density(family, y, f, sigma))))
  precision <- chol2inv(chol(psi))
  pairs <- expand.grid(a = seq_len(r), b = seq_len(r))
  products <- z[, pairs$a, drop = FALSE] * z[, pairs$b, drop = FALSE]
  units <- max(unit)
  u <- matrix(0, units, r)
  spread <- 0
  for (pass in seq_len(if (family == "gaussian") 1L else 30L)) {
    at <- f + rowSums(z * u[unit, , drop = FALSE])
    terms <- shared_slopes(family, y, w, at, sigma, spread)
    d <- sums(terms$kappa * products) + rep(as.vector(precision), each = units)
    h <- sums(z * (terms$slope + terms$kappa * (at - f)))
    solved <- solve_units(d, h, r)
    move <- max(abs(solved$u - u) * sqrt(abs(d[, pairs$a == pairs$b])))
    u <- solved$u
    if (family == "hinge") spread <- z[, 1L]^2 / d[unit, 1L]
    if (move < 1e-3) break
  }
  log_prior <- function(u) rowSums((u %*% precision) * u) / -2 + determinant(precision)$modulus / 2
  if (family == "gaussian" || r > 1L) {
    at <- f + rowSums(z * u[unit, , drop = FALSE])
    if (family != "gaussian") {
      terms <- shared_slopes(family, y, w, at, sigma, spread, exact = TRUE)
      d <- sums(terms$kappa * products) + rep(as.vector(precision), each = units)
      solved <- solve_units(d, h, r)
    }
    return(drop(sums(w * shared_log_density(family, y, at, sigma))) +
      log_prior(u) - solved$log_det / 2)
  }
  # Nodes of Gauss and Hermite for the weight exp(-t^2 / 2).
  rule <- shared_rule
  sd <- 1 / sqrt(d[, 1L])
  values <- vapply(seq_along(rule$node), function(k) {
    own <- u + sd * rule$node[k]
    at <- f + z[, 1L] * own[unit]
    drop(sums(w * shared_log_density(family, y, at, sigma))) +
      log_prior(own) + rule$node[k]^2 / 2 + log(rule$weight[k])
  }, numeric(units))
  log_row_sums(matrix(values, units)) + log(sd)
}

solve_units <- function(d, h, r) {
  if (r == 1L) return(list(u = h / d, log_det = log(drop(d))))
  u <- h
  log_det <- numeric(nrow(h))
  for (k in seq_len(nrow(h))) {
    root <- chol(matrix(d[k, ], r))
    u[k, ] <- backsolve(root, backsolve(root, h[k, ], transpose = TRUE))
    log_det[k] <- 2 * sum(log(diag(root)))
  }
  list(u = u, log_det = log_det)
}

shared_log_density <- function(family, y, f, sigma) {
  switch(family,
    gaussian = stats::dnorm(y, f, sigma, log = TRUE),
    logit = stats::plogis(y * f, log.p = TRUE),
    probit = stats::pnorm(y * f, log.p = TRUE),
    hinge = -2 * pmax(1 - y * f, 0)
  )
}

# Slope and curvature of a quadratic bound of the log density; `exact`: its own curvature.
shared_slopes <- function(family, y, w, f, sigma, spread, exact = FALSE) {
  switch(family,
    gaussian = list(slope = w * (y - f) / sigma^2, kappa = w / sigma^2),
    logit = {
      p <- stats::plogis(f)
      list(slope = w * ((y > 0) - p), kappa = w * if (exact) {
        p * (1 - p)
      } else {
        ifelse(abs(f) < 1e-4, 0.25, tanh(f / 2) / (2 * f))
      })
    },
    probit = {
      ratio <- exp(stats::dnorm(f, log = TRUE) - stats::pnorm(y * f, log.p = TRUE))
      list(slope = w * y * ratio, kappa = w * if (exact) ratio * (ratio + y * f) else 1)
    },
    hinge = {
      c <- sqrt((1 - y * f)^2 + spread + 1e-6)
      kappa <- w / c
      list(slope = y * (w + kappa) - kappa * f, kappa = kappa)
    }
  )
}

# Of the matrix of the recurrence of the polynomials.
normal_rule <- function(n) {
  k <- seq_len(n - 1L)
  m <- matrix(0, n, n)
  m[cbind(k, k + 1L)] <- m[cbind(k + 1L, k)] <- sqrt(k)
  parts <- eigen(m, symmetric = TRUE)
  list(node = parts$values, weight = parts$vectors[1L, ]^2)
}

shared_rule <- normal_rule(9L)

# A step ---------------------------------------------------------------------

# What the steps read and what they change: `x` and `codes` of all rows, holes of groups filled by
# the law, those of rows open.
start_shared <- function(rows, shared) {
  state <- list(x = rows$holes$x, codes = rows$holes$codes)
  for (k in seq_along(shared)) {
    one <- shared[[k]]
    state$x[, one$numbers] <- spread_shared(state$x[, one$numbers, drop = FALSE], one$group)
    if (length(one$factors)) {
      state$codes[, one$factors] <- spread_shared(
        state$codes[, one$factors, drop = FALSE], one$group
      )
    }
  }
  # Groups that miss a value whatever their rows say.
  shared <- lapply(shared, function(one) {
    one$guides <- shared_guides(rows, one)
    one$x <- state$x[one$first, one$numbers, drop = FALSE]
    one$codes <- if (length(one$factors)) state$codes[one$first, one$factors, drop = FALSE]
    one$sizes <- lengths(rows$holes$levels)[one$factors]
    one$cells <- if (length(one$factors)) {
      as.matrix(expand.grid(lapply(one$sizes, seq_len)))
    } else {
      matrix(0L, 1L, 0L)
    }
    one$fits <- possible_cells(one)
    one$open <- which(
      rowSums(is.na(one$x)) > 0 | (if (is.null(one$codes)) FALSE else rowSums(is.na(one$codes)) > 0)
    )
    one$rows <- which(one$group %in% one$open)
    one
  })
  for (one in shared) state <- first_shared(one, state)
  list(shared = shared, state = state)
}

# Groups x cells: whether what is seen of a group is of that cell.
possible_cells <- function(one) {
  fits <- matrix(TRUE, length(one$first), nrow(one$cells))
  for (f in seq_along(one$factors)) {
    fits <- fits & (is.na(one$codes[, f]) | outer(one$codes[, f], one$cells[, f], `==`))
  }
  fits
}

# Open values by moments of the groups that have all.
first_shared <- function(one, state) {
  whole <- setdiff(seq_along(one$first), one$open)
  cell <- max.col(one$fits, "first")
  x <- one$x
  for (j in seq_len(ncol(x))) {
    gone <- is.na(x[, j])
    seen <- which(!gone)
    x[gone, j] <- x[seen[sample.int(length(seen), sum(gone), TRUE)], j]
  }
  if (length(whole) && nrow(one$cells) > 1L) {
    for (g in one$open) {
      able <- whole[one$fits[g, cell[whole]]]
      cell[g] <- if (length(able)) {
        cell[able[sample.int(length(able), 1L)]]
      } else {
        which(one$fits[g, ])[1L]
      }
    }
  }
  put_shared(one, state, x, cell, seq_along(one$first))
}

# Values of some groups into all of their rows.
put_shared <- function(one, state, x, cell, groups) {
  at <- match(one$group, groups)
  rows <- which(!is.na(at))
  state$x[rows, one$numbers] <- x[at[rows], ]
  if (length(one$factors)) state$codes[rows, one$factors] <- one$cells[cell[at[rows]], ]
  state
}

# Missing values of groups given their rows. Each group chooses among its value and others, by the
# likelihood of its rows: an update that leaves the posterior as it is (iterated sampling importance
# resampling). Those others are from the law, and about where these weigh most.
# setting: `rows`, `parts` of the design, `family`, `weights`.
# parts: one draw of the parameters, by draw_parts().
# Returns the state, with `moments`: weighted means and squares of the values.
step_shared <- function(one, state, setting, parts) {
  open <- one$open
  if (length(open) == 0L) {
    none <- matrix(0, 0L, length(one$numbers))
    state$moments <- list(mean = none, square = none, prob = matrix(0, 0L, nrow(one$cells)))
    return(state)
  }
  now <- list(x = state$x[one$first, one$numbers, drop = FALSE], cell = current_cells(one, state))
  law <- draw_shared_law(now$x, one$guides, now$cell, nrow(one$cells))
  w <- cbind(one$x, one$guides)[open, , drop = FALSE]
  fits <- one$fits[open, , drop = FALSE]
  numbers <- seq_along(one$numbers)
  judge <- shared_judge(one, state, setting, parts)
  own <- list(list(x = now$x[open, , drop = FALSE], cell = now$cell[open]))
  drawn <- draw_shared_values(law, w, fits, shared_tried)
  tried <- lapply(seq_len(shared_tried), function(k) {
    list(x = drawn$numbers[[k]][, numbers, drop = FALSE], cell = drawn$cell[, k])
  })
  value <- judge(tried)
  if (nrow(one$cells) == 1L && length(numbers) == 1L) {
    near <- near_values(law, w, tried, value)
    local <- lapply(seq_len(shared_tried), function(k) list(x = near$draw(), cell = own[[1L]]$cell))
    value <- cbind(value, judge(c(local, own)))
    tried <- c(tried, local, own)
    # All are draws of the mixture of both.
    value <- value + vapply(tried, function(one) near$log_ratio(one$x), numeric(length(open)))
  } else {
    value <- cbind(value, judge(own))
    tried <- c(tried, own)
  }
  p <- exp(value - apply(value, 1L, max))
  p <- p / rowSums(p)
  chosen <- apply(p, 1L, function(own) sample.int(length(own), 1L, prob = own))
  x <- do.call(rbind, lapply(seq_along(open), function(k) tried[[chosen[k]]]$x[k, ]))
  cell <- vapply(seq_along(open), function(k) tried[[chosen[k]]]$cell[k], 1L)
  state <- put_shared(one, state, x, cell, open)
  state$moments <- shared_moments_of(one, tried, p)
  state
}

# Of each open group, over the values that were tried: means and squares of numbers, probabilities
# of cells.
shared_moments_of <- function(one, tried, p) {
  mean <- square <- 0
  prob <- matrix(0, nrow(p), nrow(one$cells))
  at <- seq_len(nrow(p))
  for (k in seq_along(tried)) {
    mean <- mean + p[, k] * tried[[k]]$x
    square <- square + p[, k] * tried[[k]]$x^2
    here <- cbind(at, tried[[k]]$cell)
    prob[here] <- prob[here] + p[, k]
  }
  list(mean = mean, square = square, prob = prob)
}

# Values of a single number near those that weigh most, and the log of the law over the mixture of
# it and of their density.
near_values <- function(law, w, tried, value) {
  gone <- is.na(w[1L, ])
  given <- shared_given(law, w, gone)
  mean <- drop(given$mean(rep(1L, nrow(w))))
  sd <- given$root[1L]
  x <- matrix(vapply(tried, function(one) one$x[, 1L], mean), length(mean))
  p <- exp(value - apply(value, 1L, max))
  p <- p / rowSums(p)
  centre <- rowSums(p * x)
  width <- sqrt(1.5 * rowSums(p * (x - centre)^2) + (sd / ncol(x))^2)
  list(
    draw = function() matrix(stats::rnorm(length(centre), centre, width)),
    log_ratio = function(x) {
      law <- stats::dnorm(x[, 1L], mean, sd, log = TRUE)
      near <- stats::dnorm(x[, 1L], centre, width, log = TRUE)
      -log1p(exp(pmin(near - law, 700))) + log(2)
    }
  )
}

# The likelihood of the open groups at values. Within a cell f and the columns of the effects of the
# group are linear in the numbers, unless these are in a process.
# Returns a function of a list of values, `x` and `cell` by open group: log likelihoods, open groups
#   x values.
shared_judge <- function(one, state, setting, parts) {
  rows <- setting$rows
  at <- one$rows
  group <- match(one$group[at], one$open)
  state <- fill_rows_by(state, setting)
  some <- take_rows(rows, at)
  y <- rows$y[at]
  w <- setting$weights[at]
  base <- list(x = state$x[at, , drop = FALSE], codes = state$codes[at, , drop = FALSE])
  known <- if (length(one$factors)) one$codes[one$open, , drop = FALSE]
  columns <- function(x, cell) {
    now <- base
    now$x[, one$numbers] <- x[group, ]
    if (length(one$factors)) {
      # Of cells that a group cannot be of nobody asks.
      codes <- one$cells[cell, , drop = FALSE]
      seen <- !is.na(known)
      codes[seen] <- known[seen]
      now$codes[, one$factors] <- codes[group, ]
    }
    shared_columns(fill_shared(some, now$x, now$codes, setting$parts), one, setting, parts)
  }
  groups <- length(one$open)
  d <- length(one$numbers)
  psi <- shared_psi(one, parts)
  likelihood <- function(columns, times) {
    unit <- rep((seq_len(times) - 1L) * groups, each = length(at)) + rep(group, times)
    value <- shared_log_likelihood(
      setting$family, rep(y, times), rep(w, times), columns[, 1L],
      columns[, -1L, drop = FALSE], unit, psi, parts$sigma_noise
    )
    matrix(value, groups)
  }
  if (shared_in_process(one, setting)) {
    return(function(tried) {
      likelihood(do.call(rbind, lapply(tried, function(own) {
        columns(own$x, own$cell)
      })), length(tried))
    })
  }
  zero <- matrix(0, groups, d)
  faces <- lapply(seq_len(nrow(one$cells)), function(c) {
    cell <- rep(c, groups)
    level <- columns(zero, cell)
    list(level = level, slope = lapply(seq_len(d), function(j) {
      columns(zero + (col(zero) == j), cell) - level
    }))
  })
  function(tried) {
    likelihood(do.call(rbind, lapply(tried, function(own) {
      out <- 0 * faces[[1L]]$level
      for (c in unique(own$cell)) {
        here <- own$cell[group] == c
        value <- faces[[c]]$level
        for (j in seq_len(d)) value <- value + own$x[group, j] * faces[[c]]$slope[[j]]
        out[here, ] <- value[here, ]
      }
      out
    })), length(tried))
  }
}

# Holes of rows, from what the last fit says of each.
fill_rows_by <- function(state, setting) {
  gone <- which(is.na(state$x), arr.ind = TRUE)
  if (nrow(gone)) {
    at <- match(paste(gone[, 1L], gone[, 2L]), paste(setting$number$row, setting$number$predictor))
    state$x[gone] <- setting$number$mean[at] + setting$number$sd[at] * stats::rnorm(length(at))
  }
  if (anyNA(state$codes)) {
    gone <- which(is.na(state$codes), arr.ind = TRUE)
    for (k in seq_len(nrow(gone))) {
      state$codes[gone[k, , drop = FALSE]] <- setting$level(gone[k, 1L], gone[k, 2L])
    }
  }
  state
}

# f without the effects of the group, then the columns of these.
shared_columns <- function(rows, one, setting, parts) {
  rows <- fill_processes(setting$fit, rows, setting$threads)
  f <- rows$offset + drop(rows$x %*% parts$theta[1L, ])
  for (t in setdiff(seq_along(rows$random), one$own)) {
    term <- rows$random[[t]]
    u <- matrix(parts$effects[[t]], dim(parts$effects[[t]])[2L])
    f <- f + colSums(t(term$z) * u[, term$group, drop = FALSE])
  }
  cbind(f, do.call(cbind, lapply(rows$random[one$own], `[[`, "z")))
}

shared_psi <- function(one, parts) {
  blocks <- lapply(parts$sigma[one$own], function(own) matrix(own, dim(own)[1L]))
  out <- matrix(0, sum(vapply(blocks, nrow, 1L)), 0L)
  first <- 0L
  for (block in blocks) {
    own <- matrix(0, nrow(out), ncol(block))
    own[first + seq_len(nrow(block)), ] <- block
    first <- first + nrow(block)
    out <- cbind(out, own)
  }
  out
}

shared_in_process <- function(one, setting) {
  any(vapply(utils::tail(setting$parts, length(setting$rows$processes)),
    function(part) any(lengths(part$made[one$numbers]) > 0L), NA
  ))
}

current_cells <- function(one, state) {
  if (length(one$factors) == 0L) return(rep(1L, length(one$first)))
  codes <- state$codes[one$first, one$factors, drop = FALSE]
  strides <- cumprod(c(1, one$sizes))[seq_along(one$sizes)]
  1L + as.integer((codes - 1L) %*% strides)
}
