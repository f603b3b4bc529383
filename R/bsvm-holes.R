# Prediction for new rows with holes (svm.md section 7): a missing predictor is
# averaged over its distribution given the row's other predictors; the label,
# which new rows do not have, plays no part.

# The part of `holes` of some rows, counted anew.
take_holes <- function(holes, rows) {
  if (is.null(holes)) {
    return(NULL)
  }
  pick <- function(uses, row) {
    at <- match(uses[[row]] + 1L, rows)
    keep <- !is.na(at)
    uses <- lapply(uses, `[`, keep)
    uses[[row]] <- at[keep] - 1L
    uses
  }
  fields <- c("use_row", "use_column", "use_predictor", "use_base", "use_slope")
  c(
    list(x = holes$x[rows, , drop = FALSE]), pick(holes[fields], "use_row"),
    list(random_uses = lapply(holes$random_uses, pick, "row"))
  )
}

# Rows with holes by the predictors that are missing.
hole_patterns <- function(holes) {
  missing <- is.na(holes$x)
  rows <- which(rowSums(missing) > 0)
  if (length(rows) == 0L) {
    return(list())
  }
  key <- apply(missing[rows, , drop = FALSE], 1, function(m) {
    paste(which(m), collapse = " ")
  })
  lapply(unname(split(rows, key)), function(own) {
    list(rows = own, missing = which(missing[own[1], ]))
  })
}

# --- mean field --------------------------------------------------------------

replace_vb_holes <- function(moments, object, new) {
  patterns <- if (!is.null(new$holes)) hole_patterns(new$holes) else list()
  for (pattern in patterns) {
    part <- vb_pattern(object, new, pattern)
    moments$mean[pattern$rows] <- part$mean
    moments$var[pattern$rows] <- part$var
  }
  moments
}

# With x_m ~ N(fill, V): E f at the filled row; to Var f comes
# sum_jl V_jl E(T_j'w T_l'w), w all coefficients and T_j the columns' slopes in
# predictor j. The products come from variances of sums.
vb_pattern <- function(object, new, pattern) {
  given <- conditional_vb(object$posterior$holes, pattern$missing)
  rows <- pattern$rows
  observed <- new$holes$x[rows, -pattern$missing, drop = FALSE]
  filled <- new$holes$x[rows, , drop = FALSE]
  filled[, pattern$missing] <- rep(given$mean, each = length(rows)) -
    (observed - rep(given$center, each = length(rows))) %*% t(given$slope)
  own <- take_holes(new$holes, rows)
  point <- fill_columns(model_rows(object, new, rows), own, filled)
  out <- vb_rows(object, point$x, point$random)
  second <- function(predictors) {
    columns <- slope_columns(point, own, predictors)
    moments <- vb_rows(object, columns$x, columns$random)
    moments$var + moments$mean^2
  }
  count <- length(pattern$missing)
  single <- lapply(pattern$missing, second)
  for (j in seq_len(count)) {
    out$var <- out$var + given$var[j, j] * single[[j]]
    for (l in seq_len(j - 1L)) {
      both <- second(pattern$missing[c(j, l)])
      out$var <- out$var + given$var[j, l] * (both - single[[j]] - single[[l]])
    }
  }
  out$mean <- out$mean + new$offset[rows]
  out
}

# x_m | x_o = mean - slope (x_o - center), variance with the uncertainty of
# mu_x, under O = E[Sigma_x^-1].
conditional_vb <- function(q, missing) {
  precision <- q$df * solve(q$scale)
  own <- solve(precision[missing, missing, drop = FALSE])
  slope <- own %*% precision[missing, -missing, drop = FALSE]
  map <- matrix(0, length(missing), length(q$x_mean))
  map[, missing] <- diag(length(missing))
  map[, -missing] <- slope
  list(
    mean = q$x_mean[missing], center = q$x_mean[-missing], slope = slope,
    var = own + map %*% q$x_mean_cov %*% t(map)
  )
}

fill_columns <- function(point, holes, filled) {
  value <- function(uses_row, predictor, base, slope) {
    base + slope * filled[cbind(uses_row + 1L, predictor + 1L)]
  }
  point$x[cbind(holes$use_row + 1L, holes$use_column + 1L)] <- value(
    holes$use_row, holes$use_predictor, holes$use_base, holes$use_slope
  )
  for (t in seq_along(holes$random_uses)) {
    uses <- holes$random_uses[[t]]
    point$random[[t]]$z[cbind(uses$row + 1L, uses$column + 1L)] <- value(
      uses$row, uses$predictor, uses$base, uses$slope
    )
  }
  point
}

# The columns' slopes in some of the missing predictors, summed.
slope_columns <- function(point, holes, predictors) {
  point$x[] <- 0
  on <- (holes$use_predictor + 1L) %in% predictors
  at <- cbind(holes$use_row + 1L, holes$use_column + 1L)[on, , drop = FALSE]
  point$x[at] <- holes$use_slope[on]
  for (t in seq_along(point$random)) {
    point$random[[t]]$z[] <- 0
    uses <- holes$random_uses[[t]]
    on <- (uses$predictor + 1L) %in% predictors
    at <- cbind(uses$row + 1L, uses$column + 1L)[on, , drop = FALSE]
    point$random[[t]]$z[at] <- uses$slope[on]
  }
  point
}

# n draws of mu_x and Sigma_x from q, scale of the data.
vb_predictors <- function(object, n) {
  q <- object$posterior$holes
  scale <- object$holes$scale_x
  size <- length(scale)
  mean <- normal_matrix(n, size) %*% covariance_root(q$x_mean_cov)
  mean <- mean + rep(q$x_mean, each = n)
  mean <- mean * rep(scale, each = n) + rep(object$holes$center, each = n)
  cov <- stats::rWishart(n, q$df, solve(q$scale))
  for (s in seq_len(n)) {
    cov[, , s] <- chol2inv(chol(cov[, , s])) * outer(scale, scale)
  }
  list(mean, cov)
}

# --- draws -------------------------------------------------------------------

gibbs_predictors <- function(object, take = NULL) {
  names <- predictor_names_of_draws(object$holes$predictors)
  size <- length(object$holes$predictors)
  list(
    flat_draws(object, names[seq_len(size)], take),
    fill_symmetric(flat_draws(object, names[-seq_len(size)], take), size)
  )
}

# Where a hole enters a column: value = base + slope * x, scale of the data.
data_uses <- function(object, new) {
  holes <- new$holes
  if (is.null(holes)) {
    return(NULL)
  }
  turn <- function(row, column, predictor, base, slope, center, scale) {
    j <- predictor + 1L
    slope <- scale * slope / object$holes$scale_x[j]
    list(
      row = row + 1L, column = column + 1L, predictor = j, slope = slope,
      base = center + scale * base - slope * object$holes$center[j]
    )
  }
  k <- holes$use_column + 1L
  x <- turn(
    holes$use_row, holes$use_column, holes$use_predictor, holes$use_base,
    holes$use_slope, object$transform$center[k], object$transform$scale[k]
  )
  random <- lapply(seq_along(holes$random_uses), function(t) {
    uses <- holes$random_uses[[t]]
    map <- object$transform$random[[t]]
    scale <- 1 / diag(map)
    at <- match("(Intercept)", object$posterior$random[[t]]$columns)
    center <- if (is.na(at)) 0 * scale else -map[at, ] * scale
    if (!is.na(at)) center[at] <- 0
    k <- uses$column + 1L
    turn(
      uses$row, uses$column, uses$predictor, uses$base, uses$slope, center[k],
      scale[k]
    )
  })
  list(
    x = x, random = random,
    predictors = holes$x * rep(object$holes$scale_x, each = nrow(holes$x)) +
      rep(object$holes$center, each = nrow(holes$x))
  )
}

# The uses of one row.
row_uses <- function(uses, row) lapply(uses, `[`, uses$row == row)

# x_m | x_o by draw: coefficients |m| x |o| x S and covariances |m| x |m| x S.
conditional_draws <- function(parts, missing) {
  draws <- nrow(parts$x_mean)
  m <- length(missing)
  o <- ncol(parts$x_mean) - m
  slope <- array(0, c(m, o, draws))
  cov <- parts$x_cov[missing, missing, , drop = FALSE]
  for (s in seq_len(if (o > 0) draws else 0)) {
    full <- matrix(parts$x_cov[, , s], m + o)
    across <- full[missing, -missing, drop = FALSE]
    b <- across %*% chol2inv(chol(full[-missing, -missing, drop = FALSE]))
    slope[, , s] <- b
    cov[, , s] <- cov[, , s] - b %*% t(across)
  }
  list(slope = slope, cov = cov)
}

# By draw: mean of x_m (S x |m|) for one row of predictors.
conditional_means <- function(parts, given, missing, row) {
  out <- parts$x_mean[, missing, drop = FALSE]
  if (length(missing) == length(row)) {
    return(out)
  }
  off <- rep(row[-missing], each = nrow(out)) -
    parts$x_mean[, -missing, drop = FALSE]
  for (j in seq_along(missing)) {
    slope <- matrix(given$slope[j, , ], ncol(off))
    out[, j] <- out[, j] + rowSums(off * t(slope))
  }
  out
}

# By draw: f of one row without its holes, and its slope in each missing
# predictor, S x |m|. Effects of groups that the fit has not seen are 0.
hole_parts <- function(parts, new, row, missing) {
  one <- take_rows(new, row)
  uses <- row_uses(new$uses$x, row)
  one$x[1, uses$column] <- uses$base
  slope <- matrix(0, nrow(parts$theta), length(missing))
  add <- function(slope, uses, coefficient) {
    for (u in seq_along(uses$row)) {
      j <- match(uses$predictor[u], missing)
      slope[, j] <- slope[, j] + uses$slope[u] * coefficient(uses$column[u])
    }
    slope
  }
  slope <- add(slope, uses, function(k) parts$theta[, k])
  for (t in seq_along(new$uses$random)) {
    uses <- row_uses(new$uses$random[[t]], row)
    one$random[[t]]$z[1, uses$column] <- uses$base
    at <- match(one$random[[t]]$group, parts$levels[[t]])
    if (is.na(at)) next
    slope <- add(slope, uses, function(k) parts$effects[[t]][, k, at])
  }
  list(f = drop(draw_linear(parts, one, 1L)), slope = slope)
}

# Given a draw of all parameters f of a row with holes is Gaussian: its moments
# and probabilities are averaged over the draws.
replace_gibbs_holes <- function(moments, object, new, link) {
  if (is.null(new$holes)) {
    return(moments)
  }
  patterns <- hole_patterns(new$holes)
  if (length(patterns) == 0L) {
    return(moments)
  }
  parts <- gibbs_parts(object, used_levels(new))
  new$uses <- data_uses(object, new)
  for (pattern in patterns) {
    given <- conditional_draws(parts, pattern$missing)
    for (row in pattern$rows) {
      at <- gibbs_hole_row(parts, new, row, pattern$missing, given)
      probability <- link_probability(at$mean, at$var, link)
      moments$mean[row] <- mean(at$mean)
      moments$var[row] <- stats::var(at$mean) + mean(at$var)
      moments$prob[row] <- mean(probability)
      moments$prob_sd[row] <- stats::sd(probability)
    }
  }
  moments
}

gibbs_hole_row <- function(parts, new, row, missing, given) {
  linear <- hole_parts(parts, new, row, missing)
  center <- conditional_means(
    parts, given, missing, new$uses$predictors[row, ]
  )
  mean <- linear$f + rowSums(linear$slope * center)
  var <- quadratic_slices(linear$slope, given$cov)
  for (t in seq_along(new$random)) {
    if (new$random[[t]]$group[row] > 0L) next
    # The effect of an unseen group: z'Psi z at the mean of z, and the part of
    # it that the variance of the holes adds.
    uses <- row_uses(new$uses$random[[t]], row)
    size <- ncol(new$random[[t]]$z)
    z <- matrix(new$random[[t]]$z[row, ], length(mean), size, byrow = TRUE)
    z[, uses$column] <- rep(uses$base, each = length(mean))
    tangent <- array(0, c(length(mean), size, length(missing)))
    for (u in seq_along(uses$row)) {
      j <- match(uses$predictor[u], missing)
      k <- uses$column[u]
      z[, k] <- z[, k] + uses$slope[u] * center[, j]
      tangent[, k, j] <- tangent[, k, j] + uses$slope[u]
    }
    var <- var + quadratic_slices(z, parts$sigma[[t]])
    for (j in seq_along(missing)) {
      for (l in seq_along(missing)) {
        product <- quadratic_slices(
          matrix(tangent[, , j], ncol = size), parts$sigma[[t]],
          matrix(tangent[, , l], ncol = size)
        )
        var <- var + given$cov[j, l, ] * product
      }
    }
  }
  list(mean = mean, var = var)
}

# a_s' V_s b_s for every draw s.
quadratic_slices <- function(a, v, b = a) {
  out <- numeric(nrow(a))
  for (k in seq_len(ncol(a))) {
    for (l in seq_len(ncol(b))) out <- out + a[, k] * b[, l] * v[k, l, ]
  }
  out
}

# Simulated values of the missing predictors in draws of f, and in the columns
# of random terms, by term, row and column.
draw_holes <- function(f, parts, new) {
  z <- list()
  if (is.null(new$holes)) {
    return(list(f = f, z = z))
  }
  for (pattern in hole_patterns(new$holes)) {
    given <- conditional_draws(parts, pattern$missing)
    root <- cholesky_slices(given$cov)
    for (row in pattern$rows) {
      linear <- hole_parts(parts, new, row, pattern$missing)
      x <- conditional_means(
        parts, given, pattern$missing, new$uses$predictors[row, ]
      )
      noise <- normal_matrix(nrow(x), ncol(x))
      for (k in seq_len(ncol(x))) {
        for (l in seq_len(k)) x[, k] <- x[, k] + root[k, l, ] * noise[, l]
      }
      f[, row] <- linear$f + rowSums(linear$slope * x)
      for (t in seq_along(new$uses$random)) {
        uses <- row_uses(new$uses$random[[t]], row)
        for (u in seq_along(uses$row)) {
          j <- match(uses$predictor[u], pattern$missing)
          z[[paste(t, row, uses$column[u])]] <-
            uses$base[u] + uses$slope[u] * x[, j]
        }
      }
    }
  }
  list(f = f, z = z)
}
