# The variance that not knowing missing values adds to the coefficients. With
# the probabilities rho of its atoms taken as known a row counts like a complete
# one; the curvature of its log sum_k pi_k exp(l_k) is smaller by the variance,
# over rho, of its score (Louis, 1982):
#   S^-1 - sum_i Cov_rho(g_k x_k),  g_k = dl_k / df,
# with x less what the groups take of it, x - H z, where these are eliminated.

# Shares of the information of a direction that may be missing.
most_missing <- 0.95

# Widens the core's answer by that, before it is scaled back.
widen_completed <- function(core, job) {
  atoms <- job$data$atoms
  p <- length(core$theta_mean)
  # Rows of which more than one atom is possible.
  open <- tabulate(atoms$row[core$share > 1e-6], max(atoms$row)) > 1L
  if (p == 0L || length(core$basis) || !any(open)) return(core)
  columns <- centred_columns(job, core)
  score <- completion_scores(core, job)
  missing <- matrix(0, p, p)
  for (rows in split_units(which(open[atoms$row]), atoms$row, p)) {
    unit <- atoms$row[rows]
    x <- score[rows] * columns(rows)
    share <- core$share[rows]
    at <- match(unit, unique(unit))
    mean <- rowsum(share * x, at, reorder = FALSE)
    missing <- missing + crossprod(sqrt(share) * (x - mean[at, , drop = FALSE]))
  }
  root <- tryCatch(chol(core$theta_cov), error = function(e) NULL)
  if (is.null(root)) return(core)
  parts <- eigen(root %*% missing %*% t(root), symmetric = TRUE)
  lost <- pmin(pmax(parts$values, 0), most_missing)
  basis <- crossprod(root, parts$vectors)
  add <- basis %*% (lost / (1 - lost) * t(basis))
  core$theta_cov <- core$theta_cov + add
  for (rows in split_units(seq_along(atoms$row), atoms$row, p)) {
    core$variance_f[rows] <- core$variance_f[rows] + quadratic(columns(rows), add)
  }
  core$points <- lapply(core$points, function(point) {
    if (!identical(dim(point$theta_cov), dim(add))) return(point)
    point$theta_cov <- point$theta_cov + add
    widen_groups(point, add)
  })
  widen_groups(core, add)
}

# Var u_g = D_g^-1 + H_g' S H_g.
widen_groups <- function(core, add) {
  r <- nrow(core$group_mean)
  groups <- ncol(core$group_mean)
  if (length(core$loading) == 0L || r == 0L) return(core)
  loading <- matrix(core$loading, nrow(add))
  moved <- add %*% loading
  first <- (seq_len(groups) - 1L) * r
  # r x r of each group side by side.
  cov <- array(core$group_cov, c(r, r, groups))
  for (j in seq_len(r)) {
    for (k in seq_len(r)) {
      cov[j, k, ] <- cov[j, k, ] + colSums(
        loading[, first + j, drop = FALSE] * moved[, first + k, drop = FALSE]
      )
    }
  }
  core$group_cov[] <- cov
  core
}

# Some rows at a time, all of a unit together; `most` numbers in each part.
split_units <- function(rows, unit, width, most = slice_size) {
  size <- max(1, floor(most / max(1, width)))
  count <- match(unit[rows], unique(unit[rows]))
  longest <- max(tabulate(count))
  split(rows, (count - 1L) %/% max(1, floor(size / longest)))
}

# A function of rows: their columns of theta on the scale of the model, less what the effects of
# their groups take.
centred_columns <- function(job, core) {
  data <- job$data
  p <- length(core$theta_mean)
  blocks <- Filter(function(block) block$random > 0L && !block$eliminated, job$blocks$blocks)
  function(rows) {
    n <- length(rows)
    x <- matrix(0, n, p)
    x[, seq_len(ncol(data$x))] <-
      (data$x[rows, , drop = FALSE] - rep(data$center, each = n)) / rep(data$scale, each = n)
    for (k in seq_along(blocks)) {
      kept <- data$kept[[k]]
      r <- ncol(kept$z)
      for (j in seq_len(r)) {
        at <- blocks[[k]]$first + (kept$group[rows] - 1L) * r + j
        x[cbind(seq_len(n), at)] <- kept$z[rows, j]
      }
    }
    if (ncol(data$z) > 0L) {
      r <- ncol(data$z)
      loading <- matrix(core$loading, p)
      z <- mean_slopes(data, core, rows)
      for (j in seq_len(r)) {
        at <- (data$group[rows] - 1L) * r + j
        x <- x - z[, j] * t(loading[, at, drop = FALSE])
      }
    }
    x
  }
}

# The variables of slopes at some rows, those that are missing at their means: an effect that
# hardly any value tells takes up what the atoms' extremes would say of the coefficients.
mean_slopes <- function(data, core, rows) {
  z <- data$z[rows, , drop = FALSE]
  unit <- data$atoms$row[rows]
  if (ncol(z) < 2L || !anyDuplicated(unit)) return(z)
  at <- match(unit, unique(unit))
  share <- core$share[rows]
  total <- drop(rowsum(share, at, reorder = FALSE))
  (rowsum(share * z, at, reorder = FALSE) / total)[at, , drop = FALSE]
}

# E dl / df of each atom under q, with its weight.
completion_scores <- function(core, job) {
  data <- job$data
  noise <- if (job$settings$family == "gaussian") {
    core$noise$precision %||% (core$noise$shape / core$noise$rate)
  }
  core_call(atom_scores_cpp(
    job$settings["family"], as.double(data$y), as.double(data$weights),
    core$mean, core$variance_f, noise %||% 1
  ))$score
}
