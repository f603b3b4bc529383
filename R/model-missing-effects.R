# Effects of groups on a missing predictor are shared by the rows of a group that
# miss it, and go against the effect of the group on the response: what one has
# the other has not. Atoms complete each row by itself and know nothing of that;
# slopes, and variances of groups, come out small by it. Where the response is
# Gaussian and linear in what is missing, the likelihood of a group with its
# missing values and all effects integrated out is a normal density, of which
# the posterior is made (model-missing-marginal.R). Classes go one step toward it.
#
# Of row i: y = x0'theta + z'u + b'(M c + e) + noise,  b the slopes of what is
# missing, x0 the row at the mean of that given what is seen of the predictors,
# c ~ N(0, V_g) the effects that are left open there, e ~ N(0, C).

# More coefficients than these would cost more than the fit.
most_shared_columns <- 60L

shared_effects <- function(job) {
  model <- job$completion_model
  holes <- job$design$holes
  data <- job$data
  if (!(job$settings$family %in% c("gaussian", "logit", "probit")) || is.null(model$seen) ||
    !is.null(model$mechanism) || length(model$share) > 1L || length(holes$levels) > 0L ||
    length(job$design$processes) > 0L || ncol(data$z) == 0L ||
    length(data$crossed) > 0L || length(job$design$units) > 0L ||
    length(job$blocks$precision) > most_shared_columns ||
    any(lengths(lapply(holes$random_uses, `[[`, "row")) > 0L)) {
    return(NULL)
  }
  own <- which(vapply(job$blocks$blocks, `[[`, NA, "eliminated"))
  place <- match(
    list(job$design$random[[job$blocks$blocks[[own]]$random]]$group),
    lapply(model$groups, function(part) job$design$random[[part$term]]$group)
  )
  if (is.na(place)) return(NULL)
  first <- match(seq_along(job$design$offset), job$atoms$row)
  out <- list(
    y = data$y[first] - data$offset[first], weight = data$weights[first],
    z = data$z[first, , drop = FALSE], group = data$group[first],
    x = theta_columns(job, first), groups = data$n_groups, block = own
  )
  c(out, missing_of_rows(explained(holes), holes, model, job$design, place))
}

# What is missing given what is seen, by pattern: M and C, where C has the other grouping factors'
# effects, too; means; and how columns depend on it.
missing_of_rows <- function(x, holes, model, design, place) {
  where <- model$where
  width <- length(where)
  gone <- is.na(x[, where, drop = FALSE])
  rows <- which(rowSums(gone) > 0)
  codes <- model_codes(model, design$random, nrow(x))
  shift <- Reduce(`+`, Map(function(part, code) {
    t(part$mean[, code, drop = FALSE])
  }, model$seen, codes))
  level <- matrix(model$mean[, 1L], nrow(x), ncol(x), byrow = TRUE)
  level[, where] <- level[, where] + shift
  mean <- x
  key <- apply(gone[rows, , drop = FALSE], 1L, paste, collapse = " ")
  cov <- model$cov[[1L]]
  patterns <- lapply(unname(split(rows, key)), function(at) {
    out <- where[gone[at[1L], ]]
    seen <- setdiff(seq_len(ncol(x)), out)
    slope <- matrix(0, length(out), length(seen))
    if (length(seen)) slope[] <- t(solve(cov[seen, seen], cov[seen, out, drop = FALSE]))
    move <- matrix(0, width, width)
    move[match(out, where), match(out, where)] <- diag(length(out))
    also <- intersect(seen, where)
    move[match(out, where), match(also, where)] <- -slope[, match(also, seen)]
    left <- matrix(0, width, width)
    left[match(out, where), match(out, where)] <-
      cov[out, out] - slope %*% cov[seen, out, drop = FALSE]
    list(at = at, out = out, seen = seen, slope = slope, move = move, left = left)
  })
  for (k in seq_along(patterns)) {
    one <- patterns[[k]]
    one$bare <- one$left
    gap <- x[one$at, one$seen, drop = FALSE] - level[one$at, one$seen]
    mean[one$at, one$out] <- level[one$at, one$out, drop = FALSE] + gap %*% t(one$slope)
    # Of other factors those of the group that is typical.
    for (f in setdiff(seq_along(model$seen), place)) {
      typical <- matrix(rowMeans(model$seen[[f]]$var[, codes[[f]][one$at], drop = FALSE]), width)
      one$left <- one$left + one$move %*% typical %*% t(one$move)
    }
    patterns[[k]] <- one[c("at", "move", "left", "bare")]
  }
  use <- data.frame(
    row = holes$use_row + 1L, column = holes$use_column + 1L,
    place = match(holes$use_predictor + 1L, where), slope = holes$use_slope,
    value = holes$use_base + holes$use_slope *
      mean[cbind(holes$use_row + 1L, holes$use_predictor + 1L)]
  )
  open <- model$seen[[place]]$var
  # What atoms have: effects by row, with the others' responses in view.
  by_row <- model$by_row
  toward <- matrix(0, nrow(x), width)
  apart <- matrix(0, nrow(x), width^2)
  if (!is.null(by_row)) {
    toward[by_row$row, ] <- t(by_row$mean) - shift[by_row$row, ]
    apart[by_row$row, ] <- t(by_row$var)
  }
  list(
    patterns = patterns, use = use, width = width, toward = toward, apart = apart,
    mean = mean[, where, drop = FALSE], where = where,
    open = aperm(array(open, c(width, width, ncol(open))), c(3L, 1L, 2L))
  )
}

# Columns of theta of some atoms, on the scale of the model.
theta_columns <- function(job, rows) {
  bare <- job
  bare$data$z <- matrix(0, length(job$data$y), 0L)
  centred_columns(bare, list(theta_mean = job$blocks$precision))(rows)
}

# Inverses of positive definite matrices, groups x q x q, and log determinants.
invert_groups <- function(a) {
  q <- dim(a)[2L]
  log_det <- 0
  for (k in seq_len(q)) {
    pivot <- a[, k, k]
    log_det <- log_det + log(pivot)
    row <- a[, k, , drop = FALSE] / pivot
    for (i in setdiff(seq_len(q), k)) {
      by <- a[, i, k]
      a[, i, ] <- a[, i, ] - by * row[, 1L, ]
      a[, i, k] <- -by / pivot
    }
    a[, k, ] <- row
    a[, k, k] <- 1 / pivot
  }
  list(inverse = a, log_det = log_det)
}

# The effects of all groups and what rows leave open, given coefficients and variances.
# at: from shared_effects().
# theta, precision, noise: coefficients; of effects the r x r precision; variance of the noise.
shared_state <- function(at, theta, precision, noise) {
  n <- length(at$y)
  width <- at$width
  r <- ncol(at$z)
  use <- at$use
  x <- at$x
  x[cbind(use$row, use$column)] <- use$value
  slope <- missing_slopes(at, theta)
  moved <- spread <- slope
  for (one in at$patterns) {
    own <- slope[one$at, , drop = FALSE]
    moved[one$at, ] <- own %*% one$move
    spread[one$at, ] <- own %*% one$left
  }
  s <- noise / at$weight
  total <- s + rowSums(slope * spread)
  k <- cbind(at$z, moved)
  q <- r + width
  effects <- seq_len(r)
  gap <- at$y - drop(x %*% theta)
  weighted <- k / total
  pairs <- lower_triangle(q)
  sums <- rowsum(
    cbind(weighted[, pairs[, 1L]] * k[, pairs[, 2L]], weighted * gap), at$group,
    reorder = FALSE
  )
  own <- unique(at$group)
  prior <- at$prior %||% invert_groups(at$open)
  a <- array(0, c(at$groups, q, q))
  a[, -effects, -effects] <- prior$inverse
  for (i in effects) for (j in effects) a[, i, j] <- precision[i, j]
  for (l in seq_len(nrow(pairs))) {
    i <- pairs[l, 1L]
    j <- pairs[l, 2L]
    a[own, i, j] <- a[own, i, j] + sums[, l]
    a[, j, i] <- a[, i, j]
  }
  a <- invert_groups(a)
  pull <- matrix(0, at$groups, q)
  pull[own, ] <- sums[, nrow(pairs) + seq_len(q)]
  mean <- by_group(a$inverse, pull)
  value <- -sum(log(2 * pi * total) + gap^2 / total) / 2 +
    sum(mean * pull) / 2 - sum(a$log_det) / 2 - sum(prior$log_det) / 2 +
    at$groups * determinant(precision)$modulus[1L] / 2
  list(
    value = value, x = x, s = s, total = total, spread = spread, loading = k, mean = mean,
    inverse = a$inverse, gap = gap - rowSums(k * mean[at$group, , drop = FALSE])
  )
}

# Symmetric matrices, groups x q x q, by vectors, groups x q.
by_group <- function(a, x) {
  out <- 0 * x
  for (j in seq_len(ncol(x))) out <- out + x[, j] * matrix(a[, , j], nrow(x))
  out
}

# The likelihood of all groups and its derivatives.
# Returns `value`, the log likelihood; `theta`, `scale`, `noise`: derivatives in theta, in the log
#   of the scale of the effects' covariance, and in the log of the noise; `effects`: E u given all.
shared_score <- function(at, theta, precision, noise,
                         own = shared_state(at, theta, precision, noise)) {
  r <- ncol(at$z)
  effects <- seq_len(r)
  mean <- own$mean
  k <- own$loading
  share <- own$s / own$total
  turned <- by_group(own$inverse[at$group, , , drop = FALSE], k)
  square <- own$gap^2 + rowSums(k * turned)
  # E of what is missing, less its mean, times the noise of the row.
  open <- share *
    (own$gap * mean[at$group, -effects, drop = FALSE] - turned[, -effects, drop = FALSE])
  both <- own$spread * (share * (square / own$total - 1))
  for (one in at$patterns) {
    both[one$at, ] <- both[one$at, , drop = FALSE] + open[one$at, , drop = FALSE] %*% t(one$move)
  }
  score <- score_of_columns(at, own$x, share * own$gap / own$s, both / own$s)
  second <- crossprod(mean[, effects, drop = FALSE]) +
    matrix(colSums(matrix(own$inverse[, effects, effects, drop = FALSE], at$groups)), r)
  list(
    value = own$value, theta = score, scale = (sum(precision * second) - at$groups * r) / 2,
    noise = sum(share^2 * square / own$s - share) / 2, effects = mean[, effects, drop = FALSE]
  )
}

# Of the coefficients, effects and what is missing integrated out.
shared_information <- function(at, own) {
  q <- ncol(own$loading)
  p <- ncol(own$x)
  load <- own$loading[, rep(seq_len(q), each = p), drop = FALSE] / own$total
  moved <- rowsum(load * own$x[, rep(seq_len(p), q), drop = FALSE], at$group, reorder = FALSE)
  used <- unique(at$group)
  out <- crossprod(own$x, own$x / own$total)
  for (i in seq_len(q)) {
    turned <- 0
    for (j in seq_len(q)) {
      turned <- turned + own$inverse[used, i, j] * moved[, (j - 1L) * p + seq_len(p), drop = FALSE]
    }
    out <- out - crossprod(moved[, (i - 1L) * p + seq_len(p), drop = FALSE], turned)
  }
  out
}

# What is missing given all that is seen: mean and variance by row, on the scale of the predictors'
# model, of the predictors in `where`.
shared_completions <- function(at, theta, precision, noise) {
  own <- shared_state(at, theta, precision, noise)
  effects <- seq_len(ncol(at$z))
  mean <- at$mean
  var <- matrix(0, nrow(mean), at$width)
  for (one in at$patterns) {
    rows <- one$at
    group <- at$group[rows]
    by <- own$spread[rows, , drop = FALSE] / own$total[rows]
    mean[rows, ] <- mean[rows, ] + by * own$gap[rows] +
      own$mean[group, -effects, drop = FALSE] %*% t(one$move)
    for (j in which(diag(one$left) > 0)) {
      load <- -by[, j] * own$loading[rows, , drop = FALSE]
      load[, -effects] <- load[, -effects] + rep(one$move[j, ], each = length(rows))
      turned <- by_group(own$inverse[group, , , drop = FALSE], load)
      var[rows, j] <- one$left[j, j] - by[, j] * own$spread[rows, j] + rowSums(load * turned)
    }
  }
  list(mean = mean, var = var)
}

# By row what f moves by with each missing value.
missing_slopes <- function(at, theta) {
  n <- length(at$y)
  out <- matrix(0, n, at$width)
  cell <- at$use$row + n * (at$use$place - 1L)
  sums <- rowsum(at$use$slope * theta[at$use$column], cell)
  out[as.integer(rownames(sums))] <- sums
  out
}

# From E noise by row, and its product with what is missing, less its mean.
score_of_columns <- function(at, x, noise, both) {
  score <- drop(crossprod(x, noise))
  cell <- at$use$row + nrow(x) * (at$use$place - 1L)
  sums <- rowsum(at$use$slope * both[cell], at$use$column)
  column <- as.integer(rownames(sums))
  score[column] <- score[column] + sums
  score
}

# The derivatives that atoms have: what is missing of a row knows the other responses, and is
# independent of the effects and of what other rows miss.
apart_score <- function(at, theta, precision) {
  n <- length(at$y)
  r <- ncol(at$z)
  slope <- missing_slopes(at, theta)
  spread <- slope
  extra <- matrix(0, n, at$width)
  for (one in at$patterns) {
    rows <- one$at
    own <- slope[rows, , drop = FALSE]
    by <- own %*% one$move
    pull <- vapply(seq_len(at$width), function(j) {
      rowSums(by * at$apart[rows, (j - 1L) * at$width + seq_len(at$width), drop = FALSE])
    }, numeric(length(rows)))
    spread[rows, ] <- own %*% one$bare + matrix(pull, length(rows)) %*% t(one$move)
    extra[rows, ] <- at$toward[rows, , drop = FALSE] %*% t(one$move)
  }
  x <- at$x
  x[cbind(at$use$row, at$use$column)] <- at$use$value +
    at$use$slope * extra[cbind(at$use$row, at$use$place)]
  s <- 1 / at$weight
  total <- s + rowSums(slope * spread)
  share <- s / total
  gap <- at$y - drop(x %*% theta)
  own <- sort(unique(at$group))
  solve_groups <- function(weight) {
    a <- array(rep(precision, each = at$groups), c(at$groups, r, r))
    for (j in seq_len(r)) a[own, , j] <- a[own, , j] + rowsum(weight * at$z * at$z[, j], at$group)
    invert_groups(a)$inverse
  }
  inverse <- solve_groups(1 / total)
  pull <- matrix(0, at$groups, r)
  pull[own, ] <- rowsum(at$z / total * gap, at$group)
  mean <- matrix(vapply(seq_len(r), function(j) {
    rowSums(matrix(inverse[, j, ], at$groups) * pull)
  }, numeric(at$groups)), at$groups)
  gap <- gap - rowSums(at$z * mean[at$group, , drop = FALSE])
  second <- crossprod(mean) + matrix(colSums(matrix(solve_groups(1 / s), at$groups)), r)
  list(
    theta = score_of_columns(at, x, share * gap / s, spread * (share * (gap^2 / total - 1)) / s),
    scale = (sum(precision * second) - at$groups * r) / 2, effects = mean,
    completed = at$mean + extra + spread * gap / total
  )
}

# Of classes each row counts as a normal response with the slope and the expected curvature that its
# likelihood has at the fit, averaged over its atoms.
normal_responses <- function(at, core, job) {
  f <- core$mean - job$data$offset
  prob <- if (job$settings$family == "logit") stats::plogis else stats::pnorm
  density <- if (job$settings$family == "logit") stats::dlogis else stats::dnorm
  at_f <- core$mean
  curvature <- job$data$weights * pmax(density(at_f)^2 / (prob(at_f) * prob(-at_f)), 1e-8)
  row <- job$atoms$row
  at$weight <- over_completed(curvature, core$share, row)
  at$y <- over_completed(curvature * f + completion_scores(core, job), core$share, row) / at$weight
  at
}

# One step by what is shared, from where it was left out.
shared_step <- function(at, job, theta, precision, held) {
  blocks <- job$blocks
  p <- length(theta)
  prior <- prior_precision(blocks, precision)
  at$prior <- invert_groups(at$open)
  psi <- as.matrix(precision[[at$block]])
  block <- blocks$blocks[[at$block]]
  free <- c(rep(TRUE, p), !held & block$kind == "iid")
  score <- function(phi) {
    found <- shared_score(at, phi[seq_len(p)], psi * exp(-phi[p + 1L]), 1)
    c(
      found$theta - drop(prior %*% phi[seq_len(p)]),
      found$scale + log_variance_slope(block, phi[p + 1L] - log(psi[1L]))
    )[free]
  }
  phi <- c(theta, 0)
  cov <- inverse_curvature(score, phi, score(phi), free, p)
  if (is.null(cov)) return(NULL)
  all <- shared_score(at, theta, psi, 1)
  alone <- apart_score(at, theta, psi)
  move <- drop(cov %*% c(all$theta - alone$theta, all$scale - alone$scale)[free])
  size <- max(abs(move) / sqrt(diag(cov)))
  if (!is.finite(size)) return(NULL)
  phi[free] <- phi[free] + move * min(1, 1 / size)
  theta <- phi[seq_len(p)]
  scale <- phi[p + 1L]
  list(
    theta = theta, scale = scale, noise = 0,
    moved = shared_score(at, theta, psi * exp(-scale), 1)$effects - alone$effects,
    completed = shared_completions(at, theta, psi * exp(-scale), 1)$mean - alone$completed
  )
}

# The inverse of minus the derivative of a score in what is `free`, by steps of it; `here`: the
# score at `phi`, which begins with p coefficients. Where that is not positive definite the
# directions that are not count by their size.
inverse_curvature <- function(score, phi, here, free, p) {
  step <- rep(1e-4, length(phi))
  step[seq_len(p)] <- 1e-4 * pmax(abs(phi[seq_len(p)]), 0.1)
  curvature <- vapply(which(free), function(k) {
    (score(replace(phi, k, phi[k] + step[k])) - here) / step[k]
  }, here)
  curvature <- -(curvature + t(curvature)) / 2
  if (!all(is.finite(curvature))) return(NULL)
  unit <- 1 / sqrt(pmax(abs(diag(curvature)), 1e-12))
  parts <- eigen(curvature * tcrossprod(unit), symmetric = TRUE)
  size <- pmax(abs(parts$values), 0.01)
  tcrossprod(unit * parts$vectors / rep(sqrt(size), each = length(unit)))
}

prior_precision <- function(blocks, precision) {
  out <- diag(blocks$precision, length(blocks$precision))
  for (l in seq_along(blocks$blocks)) {
    block <- blocks$blocks[[l]]
    if (block$eliminated) next
    at <- block$first + seq_len(block$members * block$width)
    out[at, at] <- out[at, at] + kronecker(diag(block$members), as.matrix(precision[[l]]))
  }
  out
}

shift_answer <- function(one, theta, effects) {
  one$theta_mean <- one$theta_mean + theta
  one$group_mean <- one$group_mean + effects
  one
}

shift_variances <- function(core, block, found) {
  index <- core$log_variance$index
  move <- c(found$scale, found$noise)
  place <- match(c(block, 0L), index)
  known <- !is.na(place)
  scaled <- function(one) {
    one$precision[[block]] <- one$precision[[block]] * exp(-found$scale)
    one
  }
  core$points <- lapply(core$points, function(point) {
    point$x[place[known]] <- point$x[place[known]] + move[known]
    if (!is.null(point$noise)) point$noise <- point$noise * exp(found$noise)
    scaled(point)
  })
  core <- scaled(core)
  if (any(known)) {
    core$log_variance$mean[place[known]] <- core$log_variance$mean[place[known]] + move[known]
  }
  gamma <- function(own, move) {
    if (!is.null(own$rate)) own$rate <- own$rate * exp(move)
    own
  }
  core$variance[[block]] <- gamma(core$variance[[block]], found$scale)
  core$noise <- gamma(core$noise, found$noise)
  core
}

# f of the atoms.
moved_rows <- function(job, theta, effects) {
  out <- drop(theta_columns(job, seq_along(job$data$y)) %*% theta)
  own <- t(effects)[job$data$group, , drop = FALSE]
  out + rowSums(job$data$z * own)
}
