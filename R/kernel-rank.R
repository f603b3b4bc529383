# Kernels rbf(rank = r) on a projection of the columns that the model learns: a leaf with `rank`
# and, once it is known, `projection`, rank x columns, of which k(x, z) = variance exp(-|projection
# (x - z)|^2 / 2).

is_ranked <- function(leaf) !is.null(leaf$rank)

has_rank <- function(kernel) any_leaf(kernel, is_ranked)

refuse_scales <- function(rank, lengthscale, ard) {
  if (!is.null(lengthscale) || isTRUE(ard)) {
    bk_abort(
      "kernel", "A kernel with `rank` has no length-scales.",
      sprintf("Found: `rank` with `%s`.", if (is.null(lengthscale)) "ard" else "lengthscale"),
      "Accepted: rbf(rank = 2), whose projection is learned.", column = "rank", found = rank
    )
  }
}

is_whole_projection <- function(leaf) {
  a <- leaf$projection
  is.null(leaf$rank) && is.null(a) || is_finite_scalar(leaf$rank) &&
    leaf$rank >= 1 && leaf$rank == trunc(leaf$rank) &&
    (is.null(a) || is.matrix(a) && is.numeric(a) && nrow(a) == leaf$rank &&
      ncol(a) > 0L && all(is.finite(a)))
}

# Of a leaf that looks at `count` columns: known, or where learning starts, all of whose directions
# have the length-scale `median`.
leaf_projection <- function(leaf, median, count, names) {
  if (leaf$rank > count) {
    bk_abort(
      "kernel", "The kernel's rank is above the number of its columns.",
      sprintf("Found: rank %d of %d column%s.", leaf$rank, count, if (count == 1L) "" else "s"),
      sprintf("Accepted: a rank of at most %d.", count),
      column = "rank", found = leaf$rank, expected = count
    )
  }
  a <- leaf$projection
  if (is.null(a)) {
    j <- seq_len(leaf$rank) - 1
    waves <- cos(pi * outer(j, seq_len(count) - 0.5) / count)
    a <- waves / sqrt(rowSums(waves^2)) / leaf_median(leaf, median)
  }
  if (ncol(a) != count) {
    bk_abort(
      "kernel", "The kernel's projection does not match the columns.",
      sprintf("Found: a projection of %d columns for %d.", ncol(a), count),
      column = "rank", found = ncol(a), expected = count
    )
  }
  if (is.null(colnames(a))) colnames(a) <- names
  a
}

# Row after row, as the core has it.
projection_values <- function(leaf) {
  a <- leaf$projection
  if (is.null(a)) return(c(projection = NA_real_))
  column <- colnames(a) %||% seq_len(ncol(a))
  row <- if (nrow(a) > 1L) seq_len(nrow(a)) else ""
  stats::setNames(as.vector(t(a)), paste0("projection", rep(row, each = ncol(a)), ".", column))
}

# Rotations of its rows leave a kernel what it is: here they are orthogonal, the longest first, the
# largest entry of each positive.
settle_projections <- function(kernel) {
  map_leaves(kernel, function(leaf) {
    if (!is_ranked(leaf) || is.null(leaf$projection)) return(leaf)
    parts <- svd(leaf$projection, nu = 0L)
    a <- parts$d * t(parts$v)
    largest <- a[cbind(seq_len(nrow(a)), max.col(abs(a), "first"))]
    leaf$projection[] <- a * ifelse(largest < 0, -1, 1)
    leaf
  })
}

# Parameters as the core has them: logarithms, but of projections.
core_parameters <- function(kernel) {
  values <- kernel_parameters(kernel)
  positive <- parameter_roles(kernel) != "projection"
  values[positive] <- log(values[positive])
  values
}

# The same with `factor` times the length-scales.
stretch_parameters <- function(values, roles, factor) {
  scaled <- roles == "lengthscale"
  values[scaled] <- values[scaled] + log(factor)
  projected <- roles == "projection"
  values[projected] <- values[projected] / factor
  values
}

# What has no gradient to learn a projection by.
refuse_rank <- function(kernel, who) {
  if (has_rank(kernel)) {
    bk_abort(
      "kernel", sprintf("%s does not learn projections.", who), "Found: a kernel with `rank`.",
      "Accepted with `rank`: gp() terms of bkm(), and gpsvm().", column = "kernel", found = "rank"
    )
  }
  invisible(kernel)
}
