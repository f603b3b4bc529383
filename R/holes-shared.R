# Missing values of predictors that are constant within groups. Such a value is
# one number, or one level, for all rows of its group: it is completed once a
# group. Data augmentation does so around the fits:
#   1. the model is fitted to rows whose groups are complete,
#   2. coefficients, variances and the effects of other terms are drawn from the
#      fit, by a sampler its state is taken,
#   3. the law of the predictors of groups is drawn, from one row a group,
#   4. each missing value is drawn given the rows of its group together, with the
#      effect of the group integrated out: it and the value would explain the
#      same rows, and a draw of one given the other hardly moves.
# The posterior is the mixture of the fits over completions. Values that are
# missing row by row have their own law (linear-atoms.R, missing/ of the core),
# for which the completed predictors of groups are known ones.

# Fits before those that count. Of those that count at least 20; of data that are
# not large, with one variance of effects, whose fits take little, up to 100 of a
# normal response and 40 of others, until the completions add less than this
# share of a standard deviation to the error of the means. Values that are tried
# for each group in a step.
shared_burn <- 6L
shared_fits <- c(least = 20L, classes = 40L, numbers = 100L)
shared_cells <- 3e6
shared_error <- 0.05
shared_tried <- 32L

# What is shared ----------------------------------------------------------------

#' Predictors with holes that are constant within groups
#'
#' A predictor is so where every group with two observed values or more has one
#' value, and this is no accident: were the values put to the rows at random, it
#' had a probability below .001. Of several factors the one with the fewest
#' groups counts: what is constant in a school is so in its classes, too.
#'
#' @param rows A design.
#' @return `NULL` where there are none, else by factor: `group`, the group of
#'   each row, from 1; `first`, the first row of each group; `numbers`, `factors`:
#'   columns of `holes$x` and of `holes$codes`; `own`: the random terms of that
#'   factor.
#' @noRd
shared_holes <- function(rows, settings) {
  holes <- rows$holes
  if (is.null(holes) || length(rows$random) == 0L || !is.null(rows$data)) {
    return(NULL)
  }
  groups <- lapply(rows$random, function(term) {
    match(term$group, unique(term$group))
  })
  same <- match(groups, groups)
  factors <- unique(same)
  factors <- factors[order(vapply(groups[factors], max, 1L))]
  where <- function(values) {
    for (k in factors) {
      if (is_shared(values, groups[[k]])) {
        return(k)
      }
    }
    NA_integer_
  }
  columns <- function(x) {
    vapply(seq_len(NCOL(x) * !is.null(x)), function(j) where(x[, j]), 1L)
  }
  gone <- function(x) if (is.null(x)) logical() else colSums(is.na(x)) > 0
  numbers <- ifelse(gone(holes$x), columns(holes$x), NA_integer_)
  levels <- ifelse(gone(holes$codes), columns(holes$codes), NA_integer_)
  used <- intersect(factors, c(numbers, levels))
  if (length(used) == 0L) {
    return(NULL)
  }
  refuse_shared(rows, settings)
  lapply(used, function(k) {
    list(
      group = groups[[k]], first = which(!duplicated(groups[[k]])),
      numbers = which(numbers == k), factors = which(levels == k),
      own = which(same == k)
    )
  })
}

is_shared <- function(values, group) {
  seen <- !is.na(values)
  if (all(seen)) {
    return(FALSE)
  }
  value <- match(values[seen], unique(values[seen]))
  group <- group[seen]
  if (length(value) == 0L || any(value != value[match(group, group)])) {
    return(FALSE)
  }
  share <- tabulate(value) / length(value)
  size <- tabulate(group)
  chance <- vapply(sort(unique(size[size > 1L])), function(k) {
    sum(size == k) * log(sum(share^k))
  }, 1)
  sum(chance) < log(0.001)
}

refuse_shared <- function(rows, settings) {
  found <- c(
    if (!isFALSE(settings$select %||% FALSE)) "`select`",
    if (!is.null(settings$until)) "`until`",
    if (!is.null(settings$start)) "`start`"
  )
  if (length(found)) {
    bk_abort(
      "argument", "Missing values of whole groups do not go with all settings.",
      c(
        sprintf("Found: %s.", paste(found, collapse = " and ")),
        paste(
          "Accepted: a fit without; or leave the rows out,",
          "`missing = \"omit\"`."
        )
      ),
      column = found[1L]
    )
  }
}

# Values that rows of the same group tell.
spread_shared <- function(x, group) {
  for (j in seq_len(ncol(x))) {
    seen <- which(!is.na(x[, j]))
    x[, j] <- x[seen, j][match(group, group[seen])]
  }
  x
}

# Completed rows ----------------------------------------------------------------

#' Rows with holes filled
#'
#' @param rows A design, or some of its rows by take_rows().
#' @param x,codes As in `holes`, NA where a hole stays.
#' @param parts As atom_rows() takes them.
#' @noRd
fill_shared <- function(rows, x, codes, parts) {
  holes <- rows$holes
  wide <- holes$wide
  fill <- function(values, uses, part, at) {
    value <- x[cbind(at[uses$row + 1L], uses$predictor + 1L)]
    use <- which(!is.na(value))
    column <- uses$column[use] + 1L
    values[cbind(uses$row[use] + 1L, column)] <- part$center[column] +
      part$scale[column] * (uses$base[use] + uses$slope[use] * value[use])
    list(values = values, uses = lapply(uses, `[`, is.na(value)))
  }
  source <- if (is.null(wide)) {
    names <- c("row", "column", "predictor", "base", "slope")
    own <- stats::setNames(holes[paste0("use_", names)], names)
    list(
      at = seq_len(nrow(x)), x = rows$x, random = rows$random,
      processes = rows$processes, uses = c(list(own), holes$random_uses)
    )
  } else {
    known <- codes[wide$at, , drop = FALSE]
    pick <- which(rowSums(known != wide$codes, na.rm = TRUE) == 0)
    take_wide_places(wide, pick)
  }
  done <- Map(fill, c(
    list(source$x), lapply(source$random, `[[`, "z"),
    lapply(source$processes, `[[`, "x")
  ), source$uses, parts, list(source$at))
  filled <- lapply(done, `[[`, "values")
  uses <- lapply(done, `[[`, "uses")
  terms <- length(rows$random)
  put <- function(into, name, values) {
    Map(function(own, value) {
      own[[name]] <- value
      own
    }, into, values)
  }
  random <- filled[1L + seq_len(terms)]
  processes <- filled[-seq_len(1L + terms)]
  rows$holes$x <- x
  if (!is.null(wide) && anyNA(codes)) {
    source$x <- filled[[1L]]
    source$random <- lapply(random, function(z) list(z = z))
    source$processes <- put(source$processes, "x", processes)
    source$uses <- uses
    rows$holes$codes <- codes
    rows$holes$wide <- source[c(
      "at", "codes", "x", "random", "processes", "uses"
    )]
    return(rows)
  }
  rows$x <- filled[[1L]]
  rows$random <- put(rows$random, "z", random)
  if (length(processes)) {
    rows$processes <- put(rows$processes, "x", processes)
    if (!is.null(wide)) {
      rows$processes <- put(
        rows$processes, "inside", lapply(source$processes, `[[`, "inside")
      )
    }
  }
  if (!anyNA(x)) {
    rows["holes"] <- list(NULL)
    return(rows)
  }
  rows$holes[c("levels", "codes", "guides", "wide")] <- NULL
  rows$holes[paste0("use_", names(uses[[1L]]))] <- uses[[1L]]
  rows$holes$random_uses <- unname(uses[-1L])
  rows
}

# The rows `at` of wide ones, whose places stay those of the design.
take_wide_places <- function(wide, keep) {
  list(
    at = wide$at[keep], codes = wide$codes[keep, , drop = FALSE],
    x = wide$x[keep, , drop = FALSE],
    random = lapply(wide$random, function(term) {
      list(z = term$z[keep, , drop = FALSE])
    }),
    processes = lapply(wide$processes, take_process, keep),
    uses = lapply(wide$uses, pick_uses, keep)
  )
}

# The law of groups ---------------------------------------------------------------

# What tells about the missing values of groups: means over their rows of the
# predictors without holes, of the factors without holes, and values of other
# predictors of the groups. One row a group; at most a quarter as many columns
# as groups with values, the first that are not combinations of others.
shared_guides <- function(rows, one) {
  holes <- rows$holes
  x <- cbind(holes$x, holes$guides)
  x <- x[, colSums(is.na(x)) == 0, drop = FALSE]
  mean <- rowsum(x, one$group, reorder = TRUE) / tabulate(one$group)
  within <- colSums((x - mean[one$group, , drop = FALSE])^2)
  groups <- length(one$first)
  seen <- min(vapply(c(
    asplit(holes$x[one$first, one$numbers, drop = FALSE], 2L),
    if (length(one$factors)) {
      asplit(holes$codes[one$first, one$factors, drop = FALSE], 2L)
    }
  ), function(own) sum(!is.na(own)), 1L))
  # What is constant within groups first.
  order <- order(within > 1e-8)
  order <- order[apply(mean, 2L, stats::sd)[order] > 1e-8]
  if (length(order) == 0L) {
    return(matrix(0, groups, 0L))
  }
  mean <- scale(mean[, order, drop = FALSE])
  parts <- qr(mean, tol = 1e-4)
  keep <- sort(parts$pivot[seq_len(min(parts$rank, seen %/% 4L))])
  matrix(mean[, keep], groups)
}

# A draw of the law of what groups have, given completed ones: cells of the
# factors by a Dirichlet, numbers and guides normal within a cell.
draw_shared_law <- function(numbers, guides, cell, cells) {
  w <- cbind(numbers, guides)
  d <- ncol(w)
  n <- tabulate(cell, cells)
  share <- stats::rgamma(cells, n + 1 / cells)
  out <- list(log_share = log(share) - log(sum(share)))
  if (d == 0L) {
    return(out)
  }
  mean <- rowsum(w, factor(cell, seq_len(cells))) / n[n > 0L]
  used <- which(n > 0L)
  centre <- matrix(rep(colMeans(w), each = cells), cells)
  centre[used, ] <- mean
  left <- w - centre[cell, , drop = FALSE]
  # As sure as one group of its prior variance, what the groups have.
  scatter <- crossprod(left) +
    diag(pmax(colMeans(left^2), 1e-8), d) * 0.1
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

#' Values for what groups miss, drawn given what they have
#'
#' @param law By draw_shared_law().
#' @param w Numbers and guides by group, NA where missing.
#' @param fits Groups x cells: whether a group may be of a cell.
#' @param times Draws for each group.
#' @return `cell`, groups x times; `numbers`, a list by draw of matrices like w.
#' @noRd
draw_shared_values <- function(law, w, fits, times) {
  groups <- nrow(fits)
  pattern <- if (ncol(w)) drop(is.na(w) %*% 2^(seq_len(ncol(w)) - 1)) else {
    numeric(groups)
  }
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
      numbers[[k]][at, gone] <- mean +
        normal_matrix(length(at), sum(gone)) %*% given$root
    }
  }
  list(cell = cell, numbers = numbers)
}

# The law of the columns `gone` given the others, for groups with these values:
# log probabilities of cells, means given a cell, the root of the covariance.
shared_given <- function(law, w, gone) {
  cells <- length(law$log_share)
  log_p <- matrix(rep(law$log_share, each = nrow(w)), nrow(w))
  if (is.null(law$cov)) {
    return(list(log_p = log_p))
  }
  seen <- !gone
  slope <- matrix(0, sum(gone), sum(seen))
  cov <- law$cov[gone, gone, drop = FALSE]
  if (any(seen)) {
    root <- chol(law$cov[seen, seen, drop = FALSE])
    for (c in seq_len(cells)) {
      gap <- t(w[, seen, drop = FALSE]) - law$mean[c, seen]
      log_p[, c] <- log_p[, c] -
        colSums(backsolve(root, gap, transpose = TRUE)^2) / 2
    }
    slope <- law$cov[gone, seen, drop = FALSE] %*% chol2inv(root)
    cov <- cov - slope %*% law$cov[seen, gone, drop = FALSE]
  }
  list(
    log_p = log_p, root = if (any(gone)) chol(cov), mean = function(cell) {
      law$mean[cell, gone, drop = FALSE] +
        (w[, seen, drop = FALSE] - law$mean[cell, seen, drop = FALSE]) %*%
          t(slope)
    }
  )
}

# The likelihood of groups ----------------------------------------------------------

#' log p(y of a unit) with the effects of its group integrated out
#'
#' The integral is exact for a normal response. Else it is over nodes about the
#' mode, or by Laplace's method where a group has several effects.
#'
#' @param y,w,f Response, power and f without the effects, by row.
#' @param z Rows x effects; `unit`: 1, 2, ..., by row; `psi` their covariance.
#' @noRd
shared_log_likelihood <- function(family, y, w, f, z, unit, psi, sigma) {
  r <- ncol(z)
  sums <- function(value) rowsum(value, unit, reorder = TRUE)
  if (r == 0L) {
    return(drop(sums(w * shared_log_density(family, y, f, sigma))))
  }
  precision <- chol2inv(chol(psi))
  pairs <- expand.grid(a = seq_len(r), b = seq_len(r))
  products <- z[, pairs$a, drop = FALSE] * z[, pairs$b, drop = FALSE]
  units <- max(unit)
  u <- matrix(0, units, r)
  spread <- 0
  for (pass in seq_len(if (family == "gaussian") 1L else 30L)) {
    at <- f + rowSums(z * u[unit, , drop = FALSE])
    terms <- shared_slopes(family, y, w, at, sigma, spread)
    d <- sums(terms$kappa * products) +
      rep(as.vector(precision), each = units)
    h <- sums(z * (terms$slope + terms$kappa * (at - f)))
    solved <- solve_units(d, h, r)
    move <- max(abs(solved$u - u) * sqrt(abs(d[, pairs$a == pairs$b])))
    u <- solved$u
    if (family == "hinge") {
      spread <- z[, 1L]^2 / d[unit, 1L]
    }
    if (move < 1e-3) break
  }
  log_prior <- function(u) {
    rowSums((u %*% precision) * u) / -2 + determinant(precision)$modulus / 2
  }
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
  values <- matrix(values, units)
  most <- apply(values, 1L, max)
  most + log(rowSums(exp(values - most))) + log(sd)
}

solve_units <- function(d, h, r) {
  if (r == 1L) {
    return(list(u = h / d, log_det = log(drop(d))))
  }
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

# Slope and curvature of a quadratic bound of the log density; `exact`: its own
# curvature.
shared_slopes <- function(family, y, w, f, sigma, spread, exact = FALSE) {
  switch(family,
    gaussian = list(slope = w * (y - f) / sigma^2, kappa = w / sigma^2),
    logit = {
      p <- stats::plogis(f)
      list(slope = w * ((y > 0) - p), kappa = w * if (exact) p * (1 - p) else {
        ifelse(abs(f) < 1e-4, 0.25, tanh(f / 2) / (2 * f))
      })
    },
    probit = {
      ratio <- exp(stats::dnorm(f, log = TRUE) - stats::pnorm(y * f, log.p = TRUE))
      list(
        slope = w * y * ratio,
        kappa = w * if (exact) ratio * (ratio + y * f) else 1
      )
    },
    hinge = {
      c <- sqrt((1 - y * f)^2 + spread + 1e-6)
      kappa <- w / c
      list(slope = y * (w + kappa) - kappa * f, kappa = kappa)
    }
  )
}

# Nine nodes: of the matrix of the recurrence of the polynomials.
shared_rule <- local({
  k <- seq_len(8L)
  m <- matrix(0, 9L, 9L)
  m[cbind(k, k + 1L)] <- m[cbind(k + 1L, k)] <- sqrt(k)
  parts <- eigen(m, symmetric = TRUE)
  list(node = parts$values, weight = parts$vectors[1L, ]^2)
})

# A step ------------------------------------------------------------------------

# What the steps read and what they change: `x` and `codes` of all rows, holes
# of groups filled by the law, those of rows open.
start_shared <- function(rows, shared) {
  state <- list(x = rows$holes$x, codes = rows$holes$codes)
  for (k in seq_along(shared)) {
    one <- shared[[k]]
    state$x[, one$numbers] <- spread_shared(
      state$x[, one$numbers, drop = FALSE], one$group
    )
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
    one$codes <- if (length(one$factors)) {
      state$codes[one$first, one$factors, drop = FALSE]
    }
    one$sizes <- lengths(rows$holes$levels)[one$factors]
    one$cells <- if (length(one$factors)) {
      as.matrix(expand.grid(lapply(one$sizes, seq_len)))
    } else {
      matrix(0L, 1L, 0L)
    }
    one$fits <- possible_cells(one)
    one$open <- which(
      rowSums(is.na(one$x)) > 0 |
        (if (is.null(one$codes)) FALSE else rowSums(is.na(one$codes)) > 0)
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
    fits <- fits & (is.na(one$codes[, f]) | outer(
      one$codes[, f], one$cells[, f], `==`
    ))
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
  if (length(one$factors)) {
    state$codes[rows, one$factors] <- one$cells[cell[at[rows]], ]
  }
  state
}

#' Missing values of groups given their rows
#'
#' Each group chooses among its value and others, by the likelihood of its rows:
#' an update that leaves the posterior as it is (iterated sampling importance
#' resampling). Those others are from the law, and about where these weigh most.
#'
#' @param setting `rows`, `parts` of the design, `family`, `weights`.
#' @param parts One draw of the parameters, by draw_parts().
#' @return The state, with `moments`: weighted means and squares of the values.
#' @noRd
step_shared <- function(one, state, setting, parts) {
  open <- one$open
  if (length(open) == 0L) {
    none <- matrix(0, 0L, length(one$numbers))
    state$moments <- list(
      mean = none, square = none, prob = matrix(0, 0L, nrow(one$cells))
    )
    return(state)
  }
  now <- list(
    x = state$x[one$first, one$numbers, drop = FALSE],
    cell = current_cells(one, state)
  )
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
    local <- lapply(seq_len(shared_tried), function(k) {
      list(x = near$draw(), cell = own[[1L]]$cell)
    })
    value <- cbind(value, judge(c(local, own)))
    tried <- c(tried, local, own)
    # All are draws of the mixture of both.
    value <- value + vapply(
      tried, function(one) near$log_ratio(one$x), numeric(length(open))
    )
  } else {
    value <- cbind(value, judge(own))
    tried <- c(tried, own)
  }
  p <- exp(value - apply(value, 1L, max))
  p <- p / rowSums(p)
  chosen <- apply(p, 1L, function(own) sample.int(length(own), 1L, prob = own))
  x <- do.call(rbind, lapply(seq_along(open), function(k) {
    tried[[chosen[k]]]$x[k, ]
  }))
  cell <- vapply(seq_along(open), function(k) tried[[chosen[k]]]$cell[k], 1L)
  state <- put_shared(one, state, x, cell, open)
  state$moments <- shared_moments_of(one, tried, p)
  state
}

# Of each open group, over the values that were tried: means and squares of
# numbers, probabilities of cells.
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

# Values of a single number near those that weigh most, and the log of the law
# over the mixture of it and of their density.
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

#' The likelihood of the open groups at values
#'
#' Within a cell f and the columns of the effects of the group are linear in the
#' numbers, unless these are in a process.
#'
#' @return A function of a list of values, `x` and `cell` by open group: log
#'   likelihoods, open groups x values.
#' @noRd
shared_judge <- function(one, state, setting, parts) {
  rows <- setting$rows
  at <- one$rows
  group <- match(one$group[at], one$open)
  state <- fill_rows_by(state, setting)
  some <- take_rows(rows, at)
  y <- rows$y[at]
  w <- setting$weights[at]
  base <- list(
    x = state$x[at, , drop = FALSE], codes = state$codes[at, , drop = FALSE]
  )
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
    shared_columns(
      fill_shared(some, now$x, now$codes, setting$parts), one, setting, parts
    )
  }
  groups <- length(one$open)
  d <- length(one$numbers)
  psi <- shared_psi(one, parts)
  likelihood <- function(columns, times) {
    unit <- rep((seq_len(times) - 1L) * groups, each = length(at)) +
      rep(group, times)
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
        for (j in seq_len(d)) {
          value <- value + own$x[group, j] * faces[[c]]$slope[[j]]
        }
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
    at <- match(
      paste(gone[, 1L], gone[, 2L]),
      paste(setting$number$row, setting$number$predictor)
    )
    state$x[gone] <- setting$number$mean[at] +
      setting$number$sd[at] * stats::rnorm(length(at))
  }
  if (anyNA(state$codes)) {
    gone <- which(is.na(state$codes), arr.ind = TRUE)
    for (k in seq_len(nrow(gone))) {
      state$codes[gone[k, , drop = FALSE]] <-
        setting$level(gone[k, 1L], gone[k, 2L])
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
  blocks <- lapply(parts$sigma[one$own], function(own) {
    matrix(own, dim(own)[1L])
  })
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
  if (length(one$factors) == 0L) {
    return(rep(1L, length(one$first)))
  }
  codes <- state$codes[one$first, one$factors, drop = FALSE]
  1L + as.integer((codes - 1L) %*% cumprod(c(1, one$sizes))[seq_along(one$sizes)])
}

# Fits over completions ---------------------------------------------------------

# By an engine without draws. Of fits on a grid over variances the points of all
# are those of the mixture; else it has one normal law with its moments.
fit_shared <- function(model, rows, settings, call, shared) {
  settings <- shared_rate(settings, rows)
  with_seed(settings$seed %||% 1L, {
    begun <- start_shared(rows, shared)
    state <- begun$state
    shared <- begun$shared
    parts <- rows$info$holes$parts
    levels <- lapply(rows$random, function(term) seq_along(term$levels))
    any_open <- any(lengths(lapply(shared, `[[`, "open")) > 0L)
    kept <- list()
    k <- if (any_open) 0L else shared_burn
    most <- most_shared_fits(rows, settings)
    said <- list()
    repeat {
      completed <- fill_shared(rows, state$x, state$codes, parts)
      # What there is to warn of is said once, of the last fit.
      said <- list()
      one <- withCallingHandlers(
        fit_rows(model, completed, settings, call),
        bayeskernel_warning = function(w) {
          said[[length(said) + 1L]] <<- w
          invokeRestart("muffleWarning")
        }
      )
      k <- k + 1L
      if (isTRUE(one$core$status$interrupted)) abort_interrupted()
      one$state <- state
      setting <- shared_setting(rows, one$fit, one$job, parts)
      drawn <- draw_parts(one$fit, levels, 1L)
      one$moments <- list()
      for (s in seq_along(shared)) {
        state <- step_shared(shared[[s]], state, setting, drawn)
        one$moments[[s]] <- state$moments
      }
      if (k > shared_burn) {
        kept[[k - shared_burn]] <- one[c("fit", "left_out", "state", "moments")]
      }
      # Where the rows of each group tell its values nothing is drawn.
      if (enough_shared(kept, most) || length(kept) && !any_open) break
    }
    for (w in said) warning(w)
    fit <- pool_shared(kept, rows, shared)
    fit$calibrated <- settings$calibrated %||% fit$calibrated
    list(
      fit = fit, job = one$job,
      left_out = pool_left_out(lapply(kept, `[[`, "left_out"))
    )
  })
}

most_shared_fits <- function(rows, settings) {
  variances <- sum(vapply(rows$random, function(term) {
    choose(length(term$columns) + 1, 2)
  }, 1))
  if (variances > 1) {
    return(shared_fits[["least"]])
  }
  cells <- length(rows$offset) * max(1, ncol(rows$x))
  kind <- if (length(rows$levels)) "classes" else "numbers"
  min(shared_fits[[kind]], max(
    shared_fits[["least"]], 10 * (shared_cells %/% (10 * cells))
  ))
}

# Whether the means over the completions so far are settled: their error is that
# of a series whose steps follow each other.
enough_shared <- function(kept, most) {
  count <- length(kept)
  if (count < shared_fits[["least"]] || count %% 10L > 0L) {
    return(FALSE)
  }
  if (count >= most) {
    return(TRUE)
  }
  q <- lapply(kept, function(one) one$fit$posterior)
  theta <- do.call(rbind, lapply(q, `[[`, "theta_mean"))
  away <- theta - rep(colMeans(theta), each = count)
  var <- colMeans(away^2)
  follows <- colMeans(away[-1L, , drop = FALSE] * away[-count, , drop = FALSE]) /
    pmax(var, 1e-300)
  follows <- pmin(pmax(follows, 0), 0.9)
  own <- Reduce(`+`, lapply(q, function(q) diag(q$theta_cov))) / count
  error <- var / count * (1 + follows) / (1 - follows)
  all(error < shared_error^2 * (own + var))
}

# With holes the hinge has a calibrated rate where nothing is said
# (learning-rate.R), whoever completes them.
shared_rate <- function(settings, rows) {
  if (!identical(settings$family, "hinge")) {
    return(settings)
  }
  rate <- settings$learning_rate
  if (identical(rate, 1)) warn_rate_of_holes()
  if (is.null(rate) || identical(rate, "calibrated")) {
    found <- tryCatch(
      calibrated_rate(weigh_classes(rows, settings), settings),
      bayeskernel_error = function(e) if (!is.null(rate)) stop(e)
    )
    settings$calibrated <- !is.null(found)
    settings$learning_rate <- found %||% typical_rate
  }
  settings
}

# What a step asks of a fit. Values that rows miss by themselves are drawn from
# what the fit says of each.
shared_setting <- function(rows, fit, job, parts) {
  imputed <- fit$imputed
  design <- rows$holes
  own <- match(imputed$row, data_rows(rows, seq_along(rows$offset)))
  at <- match(imputed$column, design$predictors)
  numbers <- which(!is.na(at))
  at <- at[numbers]
  weights <- job$design$weights %||% rep(1, length(rows$offset))
  if (job$settings$family == "hinge") {
    weights <- weights * (job$settings$learning_rate %||% 1)
  }
  list(
    rows = rows, parts = parts, family = job$settings$family,
    weights = as.double(weights), fit = fit, threads = job$settings$threads,
    number = list(
      row = own[numbers], predictor = at,
      mean = (imputed$mean[numbers] - design$center[at]) / design$scale_x[at],
      sd = imputed$sd[numbers] / design$scale_x[at]
    ),
    level = function(row, f) {
      name <- names(design$levels)[f]
      one <- which(own == row & imputed$column == name)
      sample.int(length(design$levels[[f]]), 1L, prob = imputed$mean[
        one[match(design$levels[[f]], imputed$level[one])]
      ])
    }
  )
}

# One fit of many: moments over them, and each a point.
pool_shared <- function(kept, rows, shared) {
  fits <- lapply(kept, `[[`, "fit")
  fit <- fits[[length(fits)]]
  fit$posterior <- pool_posteriors(lapply(fits, `[[`, "posterior"), fit)
  fit$fitted <- pool_fitted(lapply(fits, `[[`, "fitted"))
  each <- function(name) lapply(fits, `[[`, name)
  if (!is.null(fit$loo)) {
    # 1 / p(y | others) is E 1 / p over the posterior.
    loo <- -do.call(cbind, each("loo"))
    most <- apply(loo, 1L, max)
    fit$loo <- -(most + log(rowMeans(exp(loo - most))))
  }
  if (!is.null(fit$expected)) {
    fit$expected <- rowMeans(do.call(cbind, each("expected")))
  }
  # The evidence of completed rows is that of other data each time.
  fit["log_evidence"] <- list(NULL)
  fit$trace <- list()
  diagnostics <- each("diagnostics")
  fit$diagnostics$passes <- sum(unlist(lapply(diagnostics, `[[`, "passes")))
  fit$diagnostics$seconds <- sum(unlist(lapply(diagnostics, `[[`, "seconds")))
  fit$diagnostics$converged <- all(vapply(
    diagnostics, function(own) !isFALSE(own$converged), NA
  ))
  if (!is.null(fit$sandwich)) {
    fit$sandwich <- list(why = "modelled missing predictors")
  }
  with_shared(fit, kept, rows, shared)
}

# What every fit over completions keeps, by whatever engine.
with_shared <- function(fit, kept, rows, shared) {
  fit$imputed <- pool_imputed(kept, rows, shared)
  fit$holes$model <- fit$holes$model %||% atom_model(rows)
  fit$shared <- shared_values(kept, rows, shared)
  fit$holes$shared <- c(
    rows$holes$predictors[unlist(lapply(shared, `[[`, "numbers"))],
    names(rows$holes$levels)[unlist(lapply(shared, `[[`, "factors"))]
  )
  fit
}

# Beyond that a fit keeps the moments over completions alone.
most_shared_numbers <- 2e7

pool_posteriors <- function(all, fit) {
  out <- all[[length(all)]]
  count <- length(all)
  theta <- do.call(rbind, lapply(all, `[[`, "theta_mean"))
  away <- theta - rep(colMeans(theta), each = count)
  between <- crossprod(away) / max(1, count - 1)
  own <- Reduce(`+`, lapply(all, `[[`, "theta_cov")) / count
  out$theta_mean[] <- colMeans(theta)
  # The mean of few completions is not that of all.
  out$theta_cov[] <- own + (1 + 1 / count) * between
  sigma_within <- lapply(all, `[[`, "theta_cov")
  for (t in seq_along(out$random)) {
    out$random[[t]] <- pool_random(
      lapply(all, function(q) q$random[[t]]), away, sigma_within,
      out$theta_cov
    )
  }
  for (l in seq_along(out$variance)) {
    out$variance[[l]] <- pool_variance(lapply(all, function(q) q$variance[[l]]))
  }
  if (!is.null(out$noise)) out$noise <- pool_gamma(lapply(all, `[[`, "noise"))
  out["points"] <- list(NULL)
  bare <- bare_posterior(all[[1L]])
  if (length(unlist(bare)) * count > most_shared_numbers) {
    return(out)
  }
  # Without points new rows of groups that miss values ask for each q.
  if (all(vapply(all, function(q) length(q$points) > 0L, NA))) {
    out$points <- unlist(
      Map(shared_points, all, seq_along(all), count), recursive = FALSE
    )
  } else {
    out$each <- lapply(all, bare_posterior)
  }
  out
}

# Effects of a term: q of each is u_g = mean_g - loading_g (theta - mean) and
# noise of covariance schur_g.
pool_random <- function(terms, away, sigma, pooled) {
  out <- terms[[1L]]
  count <- length(terms)
  size <- dim(out$mean)
  r <- size[2L]
  u <- do.call(rbind, lapply(terms, function(own) as.vector(own$mean)))
  out$mean[] <- colMeans(u)
  apart <- array(u - rep(colMeans(u), each = count), c(count, size))
  cov <- Reduce(`+`, lapply(terms, `[[`, "cov")) / count
  for (j in seq_len(r)) {
    for (k in seq_len(r)) {
      own <- matrix(apart[, , j] * apart[, , k], count)
      cov[j, k, ] <- cov[j, k, ] + colSums(own) / max(1, count - 1)
    }
  }
  out$cov[] <- cov
  if (!isTRUE(out$eliminated) || length(out$loading) == 0L) {
    return(out)
  }
  p <- ncol(away)
  inverse <- chol2inv(chol(pooled))
  for (g in seq_len(size[1L])) {
    # Cov(u_g, theta).
    cross <- 0
    for (m in seq_len(count)) {
      cross <- cross - matrix(terms[[m]]$loading[, , g], r) %*% sigma[[m]]
    }
    cross <- cross / count +
      crossprod(matrix(apart[, g, ], count), away) / max(1, count - 1)
    out$loading[, , g] <- -cross %*% inverse
    left <- matrix(cov[, , g], r) - cross %*% inverse %*% t(cross)
    out$schur[, , g] <- nearest_positive(left)
  }
  out
}

nearest_positive <- function(a) {
  parts <- eigen((a + t(a)) / 2, symmetric = TRUE)
  parts$vectors %*% (pmax(parts$values, 1e-10) * t(parts$vectors))
}

# q of a variance with the mean and variance of its logarithm over all.
pool_variance <- function(all) {
  out <- all[[1L]]
  if (!is.null(out$shape)) {
    return(utils::modifyList(out, pool_gamma(all)))
  }
  if (is.null(out$df)) {
    return(out)
  }
  r <- nrow(out$scale)
  each <- lapply(seq_len(r), function(k) {
    pool_gamma(lapply(all, function(own) {
      list(shape = (own$df - r + 1) / 2, rate = own$scale[k, k] / 2)
    }))
  })
  cor <- Reduce(`+`, lapply(all, function(own) {
    stats::cov2cor(own$scale)
  })) / length(all)
  shape <- mean(vapply(each, `[[`, 1, "shape"))
  sd <- sqrt(2 * vapply(each, function(own) {
    # The same mean of the logarithm at the common shape.
    exp(log(own$rate) - digamma(own$shape) + digamma(shape))
  }, 1))
  out$df <- 2 * shape + r - 1
  out$scale[] <- cor * outer(sd, sd)
  out
}

pool_gamma <- function(all) {
  if (is.null(all[[1L]]$shape)) {
    return(all[[1L]])
  }
  shape <- vapply(all, `[[`, 1, "shape")
  log_rate <- log(vapply(all, `[[`, 1, "rate"))
  mean <- log_rate - digamma(shape)
  var <- mean(trigamma(shape)) +
    (if (length(all) > 1L) stats::var(mean) else 0)
  own <- stats::uniroot(
    function(log_a) log(trigamma(exp(log_a))) - log(var), c(-7, 25),
    tol = 1e-9
  )$root
  own <- exp(own)
  list(shape = own, rate = exp(mean(mean) + digamma(own)))
}

bare_posterior <- function(q) {
  out <- q[intersect(
    c("variance", "noise", "theta_mean", "theta_cov", "wide", "random"),
    names(q)
  )]
  out$random <- lapply(out$random, function(term) {
    term[intersect(names(term), c("mean", "cov", "loading", "schur"))]
  })
  out
}

# The points of a fit that a mixture over completions keeps: of a grid some, at
# equal steps of its weights, or one, at steps that differ between completions.
shared_points <- function(q, completion, count) {
  most <- max(1L, 60L %/% count)
  start <- if (most > 1L) 0.5 else (completion * (sqrt(5) - 1) / 2) %% 1
  whole <- bare_posterior(q)
  weight <- vapply(q$points, `[[`, 1, "weight")
  order <- order(vapply(q$points, function(point) {
    sum(unlist(lapply(point$variance, function(v) log(diag(as.matrix(
      v$value %||% 1
    ))))))
  }, 1))
  upto <- cumsum(weight[order]) / sum(weight)
  at <- (seq_len(most) - 1 + start) / most
  chosen <- order[pmin(findInterval(at, upto) + 1L, length(order))]
  lapply(chosen, function(k) {
    point <- utils::modifyList(whole, q$points[[k]][setdiff(
      names(q$points[[k]]), c("weight", "place")
    )])
    c(list(weight = 1 / (count * most), completion = completion), point)
  })
}

# `mean` and `var`, and of others `p` and `p_sd`.
pool_fitted <- function(all) {
  out <- all[[1L]]
  join <- function(name) {
    array(unlist(lapply(all, `[[`, name)), c(length(out[[name]]), length(all)))
  }
  spread <- function(name) {
    x <- join(name)
    rowMeans((x - rowMeans(x))^2)
  }
  for (name in names(out)) {
    if (is.null(out[[name]])) next
    base <- sub("_sd$", "", name)
    value <- if (name == "var") {
      rowMeans(join("var")) + spread("mean")
    } else if (base != name && base %in% names(out)) {
      sqrt(rowMeans(join(name)^2) + spread(base))
    } else {
      rowMeans(join(name))
    }
    out[[name]][] <- value
  }
  out
}

pool_left_out <- function(all) {
  said <- Filter(is.character, all)
  if (length(said)) {
    return(said[[1L]])
  }
  out <- all[[length(all)]]
  if (is.null(out$mean) || !is.null(out$own) || !is.null(out$new)) {
    return(out)
  }
  pooled <- pool_fitted(lapply(all, `[`, c("mean", "var")))
  out[c("mean", "var")] <- pooled[c("mean", "var")]
  out
}

# Values of groups from the weighted means of all steps, those of rows from the
# fits; one a group, said of each of its rows.
pool_imputed <- function(kept, rows, shared) {
  holes <- rows$holes
  average <- function(s, name) {
    Reduce(`+`, lapply(kept, function(one) one$moments[[s]][[name]])) /
      length(kept)
  }
  parts <- list()
  add <- function(at, column, mean, sd, level = NA_character_) {
    parts[[length(parts) + 1L]] <<- data.frame(
      own = at, row = data_rows(rows, at), column = rep(column, length(at)),
      level = rep(level, length(at)), mean = mean, sd = sd
    )
  }
  for (s in seq_along(shared)) {
    one <- shared[[s]]
    group <- match(one$group, one$open)
    mean <- average(s, "mean")
    square <- average(s, "square")
    for (j in seq_along(one$numbers)) {
      k <- one$numbers[j]
      at <- which(is.na(holes$x[, k]))
      # Rows whose group has the value in another row know it.
      known <- one$x[one$group[at], j]
      m <- ifelse(is.na(known), mean[group[at], j], known)
      v <- ifelse(is.na(known), square[group[at], j] - m^2, 0)
      add(
        at, holes$predictors[k], holes$center[k] + holes$scale_x[k] * m,
        holes$scale_x[k] * sqrt(pmax(v, 0))
      )
    }
    prob <- average(s, "prob")
    for (f in seq_along(one$factors)) {
      k <- one$factors[f]
      at <- which(is.na(holes$codes[, k]))
      known <- one$codes[one$group[at], f]
      for (level in seq_along(holes$levels[[k]])) {
        p <- rowSums(prob[, one$cells[, f] == level, drop = FALSE])[group[at]]
        p <- ifelse(is.na(known), p, as.double(known == level))
        add(
          at, names(holes$levels)[k], p, sqrt(p * (1 - p)),
          holes$levels[[k]][level]
        )
      }
    }
  }
  last <- kept[[length(kept)]]$fit$imputed
  if (!is.null(last)) {
    all <- lapply(kept, function(one) one$fit$imputed[c("mean", "sd")])
    mean <- do.call(cbind, lapply(all, `[[`, "mean"))
    sd <- do.call(cbind, lapply(all, `[[`, "sd"))
    parts[[length(parts) + 1L]] <- data.frame(
      own = match(last$row, data_rows(rows, seq_along(rows$offset))),
      row = last$row, column = last$column,
      level = last$level %||% rep(NA_character_, nrow(last)),
      mean = rowMeans(mean), sd = sqrt(rowMeans(sd^2) +
        rowMeans((mean - rowMeans(mean))^2))
    )
  }
  out <- do.call(rbind, parts)
  names <- c(holes$predictors, names(holes$levels))
  out <- out[order(out$own, match(out$column, names)), ]
  rownames(out) <- NULL
  out[c("row", "column", if (length(holes$levels)) "level", "mean", "sd")]
}

# By a sampler, whose chains have completions of their own: they run in segments,
# and between two of these the values of groups are drawn given the chain's
# state. Segments of the warmup, and of the draws that are kept.
shared_warm <- 10L
shared_segments <- 50L

sample_shared <- function(model, rows, settings, call, shared) {
  settings <- shared_rate(settings, rows)
  check_enough_draws(settings)
  # What a step asks of terms other than that of the group.
  settings$keep_ranef <- TRUE
  seed <- settings$seed %||% sample.int(.Machine$integer.max, 1L)
  settings$seed <- seed
  with_seed(seed, {
    chains <- lapply(seq_len(settings$chains), function(id) {
      run_shared_chain(id, model, rows, settings, call, shared)
    })
    collect_shared(chains, model, rows, settings, call)
  })
}

# The draws at which segments end: warmup counts as draws that are dropped.
shared_ends <- function(settings) {
  warm <- ceiling(settings$warmup / settings$thin)
  count <- min(shared_segments, settings$draws)
  list(
    warm = warm, ends = unique(c(
      round(warm * seq_len(shared_warm) / shared_warm),
      warm + round(settings$draws * seq_len(count) / count)
    ))
  )
}

run_shared_chain <- function(id, model, rows, settings, call, shared) {
  begun <- start_shared(rows, shared)
  state <- begun$state
  shared <- begun$shared
  parts <- rows$info$holes$parts
  levels <- lapply(rows$random, function(term) seq_along(term$levels))
  plan <- shared_ends(settings)
  ends <- plan$ends[plan$ends > 0]
  draws <- list()
  kept <- list()
  core <- fit <- NULL
  for (k in seq_along(ends)) {
    completed <- fill_shared(rows, state$x, state$codes, parts)
    job <- model$job(completed, settings)
    if (k == 1L) check_memory(job, rows$n)
    job$control[c("warmup", "draws", "progress")] <- list(0, ends[k], FALSE)
    job$control$chain_id <- id
    job$control$seed <- as.double(settings$seed)
    job$control$states <- core$states %||% list()
    core <- run_chains(model$chains, job$control, job$shared, NULL)
    if (core$status$interrupted) abort_interrupted()
    check_reached(core$status, settings, TRUE)
    from <- if (k == 1L) 1L else ends[k - 1L] + 1L
    # Earlier ones are not those of this run.
    now <- core
    now$draws <- core$draws[from:ends[k], , , drop = FALSE]
    own <- model$draws(now, job, completed)
    if (is.null(fit)) {
      fit <- new_fit(model, call, completed, settings)
      fit$draws <- own
      fit <- suppressWarnings(model$collect(fit, core, job, completed))
    }
    fit$draws <- own[dim(own)[1L], , , drop = FALSE]
    fit$imputed <- imputed_gibbs(core$holes, job$design)
    counts <- ends[k] > plan$warm
    one <- list(state = state, moments = list())
    if (counts) {
      draws <- c(draws, list(own))
      one$range <- c(from, ends[k]) - plan$warm
      one$fitted <- segment_fitted(fit, own, completed, shared)
    }
    setting <- shared_setting(rows, fit, job, parts)
    drawn <- draw_parts(fit, levels, 1L)
    for (s in seq_along(shared)) {
      state <- step_shared(shared[[s]], state, setting, drawn)
      one$moments[[s]] <- state$moments
    }
    one$fit <- list(imputed = fit$imputed)
    one$chain <- id
    if (counts) kept <- c(kept, list(one))
  }
  list(
    draws = join_arrays(draws, 1L), kept = kept, core = core, job = job,
    completed = completed, shared = shared
  )
}

# Moments of the rows of groups that miss values, over the draws of a segment.
segment_fitted <- function(fit, draws, completed, shared) {
  at <- sort(unique(unlist(lapply(shared, `[[`, "rows"))))
  fit$draws <- draws
  some <- take_rows(completed, at)
  own_moments(latent(fit, some, links = links_of(fit)))
}

collect_shared <- function(chains, model, rows, settings, call) {
  shared <- chains[[1L]]$shared
  last <- chains[[1L]]
  kept <- unlist(lapply(chains, `[[`, "kept"), recursive = FALSE)
  core <- join_chains(lapply(chains, `[[`, "core"))
  core$draws <- join_arrays(lapply(chains, `[[`, "draws"), 2L)
  core$length <- last$job$control[c("warmup", "thin")]
  core$length$warmup <- settings$warmup
  core[c("seed", "fingerprint")] <- list(settings$seed, fingerprint_of(last$job))
  core$status$seconds <- sum(vapply(
    chains, function(own) own$core$status$seconds, 1
  ))
  fit <- new_fit(model, call, rows, settings)
  fit <- add_draws(fit, model, core, settings)
  fit <- model$collect(fit, core, last$job, last$completed)
  # The chains cannot go on without their completions.
  fit["state"] <- list(NULL)
  at <- sort(unique(unlist(lapply(shared, `[[`, "rows"))))
  pooled <- pool_fitted(lapply(kept, `[[`, "fitted"))
  for (name in intersect(names(fit$fitted), names(pooled))) {
    fit$fitted[[name]][at] <- pooled[[name]]
  }
  fit["expected"] <- list(NULL)
  if (!is.null(fit$sandwich)) {
    fit$sandwich <- list(why = "modelled missing predictors")
  }
  fit <- with_shared(fit, kept, rows, shared)
  fit$segments <- t(vapply(kept, function(one) {
    c(one$chain, one$range)
  }, numeric(3L)))
  list(
    fit = fit, job = last$job, left_out = if (!is.null(model$left_out)) {
      core$influence <- NULL
      model$left_out(fit, core, last$job, rows)
    }
  )
}

# New rows of known groups ------------------------------------------------------

# What the fit keeps of completions: of each factor its first term, the codes of
# its groups, and their values, groups x predictors x completions.
shared_values <- function(kept, rows, shared) {
  states <- lapply(kept, `[[`, "state")
  stack <- function(name, one, columns) {
    array(unlist(lapply(states, function(state) {
      state[[name]][one$first, columns]
    })), c(length(one$first), length(columns), length(states)))
  }
  lapply(shared, function(one) {
    list(
      term = one$own[1L], groups = rows$random[[one$own[1L]]]$group[one$first],
      numbers = one$numbers, factors = one$factors,
      x = stack("x", one, one$numbers),
      codes = if (length(one$factors)) stack("codes", one, one$factors)
    )
  })
}

# New rows that miss a value of a group which the fit has seen.
misses_shared <- function(object, rows) {
  out <- logical(length(rows$offset))
  for (one in object$shared) {
    known <- rows$random[[one$term]]$group %in% one$groups
    gone <- rowSums(is.na(rows$holes$x[, one$numbers, drop = FALSE])) > 0
    if (length(one$factors)) {
      gone <- gone |
        rowSums(is.na(rows$holes$codes[, one$factors, drop = FALSE])) > 0
    }
    out <- out | known & gone
  }
  out
}

# These rows with the values of completion `m`.
complete_by <- function(object, rows, m) {
  x <- rows$holes$x
  codes <- rows$holes$codes
  put <- function(into, columns, values, group) {
    for (j in seq_along(columns)) {
      gone <- is.na(into[, columns[j]]) & !is.na(group)
      into[gone, columns[j]] <- values[, j, m][group[gone]]
    }
    into
  }
  for (one in object$shared) {
    group <- match(rows$random[[one$term]]$group, one$groups)
    x <- put(x, one$numbers, one$x, group)
    if (length(one$factors)) codes <- put(codes, one$factors, one$codes, group)
  }
  fill_shared(rows, x, codes, object$design$holes$parts)
}

# The fit given a completion: its points, its draws, or its q.
given_completion <- function(object, m) {
  if (is_sampled(object)) {
    at <- object$segments[m, ]
    object$draws <- object$draws[at[2L]:at[3L], at[1L], , drop = FALSE]
  } else if (has_points(object)) {
    points <- Filter(function(point) {
      identical(point$completion, m)
    }, object$posterior$points)
    object$posterior$points <- lapply(points, function(point) {
      point$weight <- 1 / length(points)
      point
    })
  } else if (!is.null(object$posterior$each)) {
    own <- object$posterior$each[[m]]
    for (t in seq_along(own$random)) {
      object$posterior$random[[t]][names(own$random[[t]])] <- own$random[[t]]
    }
    own$random <- NULL
    object$posterior[names(own)] <- own
  }
  object
}

# Which completions a fit, or one of its points, is of.
completions_of <- function(object) {
  object$posterior$completion %||% seq_len(dim(object$shared[[1L]]$x)[3L])
}

has_shared <- function(object, rows) {
  !is.null(object$shared) && !is.null(rows$holes) &&
    any(misses_shared(object, rows))
}

latent_shared <- function(object, rows, links, threads) {
  at <- which(misses_shared(object, rows))
  some <- take_rows(rows, at)
  each <- lapply(completions_of(object), function(m) {
    out <- latent(
      given_completion(object, m), complete_by(object, some, m), links, threads
    )
    if (length(links) && length(out$prob) && is.null(out$prob_sd)) {
      out$prob_sd <- lapply(stats::setNames(nm = names(out$prob)), function(l) {
        probability_sd(out$mean, out$var, l)
      })
    }
    own_moments(out)
  })
  own <- pool_fitted(each)
  if (length(at) == length(rows$offset)) {
    return(as_moments(own, links))
  }
  rest <- setdiff(seq_along(rows$offset), at)
  others <- own_moments(latent(object, take_rows(rows, rest), links, threads))
  names <- intersect(names(own), names(others))
  as_moments(lapply(stats::setNames(nm = names), function(name) {
    out <- numeric(length(rows$offset))
    out[at] <- own[[name]]
    out[rest] <- others[[name]]
    out
  }), links)
}

as_moments <- function(own, links) {
  out <- own[c("mean", "var")]
  links <- intersect(links, names(own))
  if (length(links)) {
    pick <- function(names) stats::setNames(own[names], links)
    out$prob <- pick(links)
    if (all(paste0(links, "_sd") %in% names(own))) {
      out$prob_sd <- pick(paste0(links, "_sd"))
    }
  }
  out
}

latent_draws_shared <- function(object, rows, take, response, threads) {
  all <- completions_of(object)
  if (is.null(take) && !is_sampled(object)) take <- 1000L
  count <- rep(list(NULL), length(all))
  if (!is.null(take)) {
    if (take < length(all)) all <- all[round(seq(1, length(all), length.out = take))]
    count <- as.list(diff(round(seq(0, take, length.out = length(all) + 1L))))
  }
  each <- Map(function(m, n) {
    latent_draws(
      given_completion(object, m), complete_by(object, rows, m), n, response,
      threads
    )
  }, all, count)
  out <- each[[1L]]
  out$f <- do.call(rbind, lapply(each, `[[`, "f"))
  out$sigma <- unlist(lapply(each, `[[`, "sigma"))
  out
}
