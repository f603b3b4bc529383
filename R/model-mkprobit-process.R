# The process prior of mkprobit(): f_c = b_c + g_c, g_c ~ GP(0, v K) and b_c ~ N(0, s^2), where K is
# the composite of the spaces' kernels, each of mean diagonal 1. With points z and R'R = K_zz, g(x)
# = phi(x)'w + a rest of variance v d(x), where phi = R'^-1 k(z, x) and d = k(x, x) - |phi|^2. For
# the class of one row the rest is noise beside the unit normal of the latent responses: divided by
# sqrt(1 + v d) these have unit noise again and the same order, so that features sqrt(v) phi and s,
# so divided, with coefficients of unit precision are all that an engine needs. Where z is every row
# d is 0 there.

# More rows have inducing objects unless someone says how many.
most_exact_rows <- 2000L
many_rows_inducing <- 500L

# Where the search for hyperparameters begins.
process_start <- list(variance = 16, intercept = 3, groups = 1)

# Of rows whose kernel values are those of others all but these are left out.
exact_rank <- 1e-10
tuning_rank <- 1e-6

# Of many rows a process has inducing objects unless it is one of features.
settle_inducing <- function(rows, settings) {
  many <- settings$coefficients == "process" && is.null(settings$inducing) &&
    rows$n > most_exact_rows
  spaces <- rows$spaces %||% list(list(
    kernel = if (is_kernel(settings$kernel)) settings$kernel else rbf()
  ))
  if (many && !process_is_basis(spaces, settings)) settings$inducing <- many_rows_inducing
  settings
}

# Features of all objects, of which the engines see nothing else; the spaces with tuned kernels.
process_regressors <- function(spaces, points, y, at, classes, settings) {
  process <- new_process(settings)
  settings$objects <- at
  tuned <- list(process = process, spaces = spaces)
  if (!isFALSE(settings$tune)) tuned <- tune_mkprobit(process, spaces, points, y, classes, settings)
  spaces <- tuned$spaces
  process <- anchor_process(tuned$process, spaces, points, settings)
  design <- all_features(process, spaces, points, settings$threads)
  check_regressors(nrow(design$phi))
  list(
    spaces = spaces, process = process, tuned = tuned$tuned,
    sources = list(list(kind = "matrix", k = design$phi)),
    noise = if (any(design$noise != 1)) design$noise, regressors = nrow(design$phi),
    engine = feature_engine
  )
}

# In parts, so that kernel values of many objects are never all there.
all_features <- function(process, spaces, points, threads) {
  n <- ncol(points[[1L]])
  rows <- length(process$picks)
  check_features(rows + sum(lengths(process$groups$levels)), n)
  parts <- row_slices(n, max(rows, 1L) * length(spaces))
  if (length(parts) == 1L) return(mkprobit_features(process, spaces, points, threads))
  phi <- NULL
  noise <- numeric(n)
  for (at in parts) {
    part <- mkprobit_features(process, spaces, lapply(points, function(x) {
      x[, at, drop = FALSE]
    }), threads)
    if (is.null(phi)) phi <- matrix(0, nrow(part$phi), n)
    phi[, at] <- part$phi
    noise[at] <- part$noise
  }
  list(phi = phi, noise = noise)
}

# Features of all rows, which the core has once more.
check_features <- function(count, n) {
  bytes <- 16 * count * n
  if (bytes > getOption("bayeskernel.max_bytes", 8e9)) {
    bk_abort(
      "argument", "The features of the rows would need too much memory.",
      sprintf("Found: %.0f features of %.0f rows, %.1f GB.", count, n, bytes / 1e9),
      "Use fewer `inducing` objects, or grouping factors of fewer levels.",
      column = "inducing", found = count
    )
  }
}

process_facts <- function(process) {
  if (is.null(process)) return(NULL)
  c(
    variance = process$variance, intercept = process$intercept, sharpness = process$sharpness,
    stats::setNames(process$groups$variance, process$groups$labels)
  )
}

# Means of q as left-out rows have them.
sharpened <- function(core, process) {
  if (is.null(process) || process$sharpness == 1) return(core)
  core$mean <- core$mean * process$sharpness
  core$posterior$components <- lapply(core$posterior$components, function(q) {
    q$mean <- q$mean * process$sharpness
    q
  })
  core
}

# Hyperparameters and spaces before any tuning.
new_process <- function(settings) {
  prior <- settings$prior
  constant <- prior$intercept %||% process_start$intercept
  list(
    combine = settings$combine, weights = settings$start_weights,
    variance = prior$variance %||% process_start$variance,
    intercept = if (settings$bias) constant else 0, sharpness = 1, groups = settings$groups
  )
}

# The process at its hyperparameters: features of all rows, and what those of new rows are made
# with.
anchor_process <- function(process, spaces, points, settings) {
  points <- points[seq_along(spaces)]
  process$size <- space_sizes(spaces, points, settings$objects)
  if (process_is_basis(spaces, process)) {
    process$direct <- TRUE
    return(process)
  }
  own <- Map(anchor_points, spaces, points, MoreArgs = list(settings$objects))
  k <- process_block(process, spaces, own, points_of = own, settings$threads)
  root <- pivoted_root(k, exact_rank)
  process[c("picks", "root")] <- list(root$picks, root$root)
  process
}

# Objects that are regressors: of a kernel matrix its rows are theirs. `objects`: which one each
# column is.
anchor_points <- function(space, points, objects) {
  if (is_precomputed(space$kernel)) {
    points[, match(space$take %||% unique(objects), objects), drop = FALSE]
  } else {
    space$z
  }
}

# A sum of spaces of features is one space of features.
process_is_basis <- function(spaces, process) {
  basis <- vapply(spaces, function(space) space$kernel$kind == "basis", NA)
  all(basis) && (process$combine != "product" || length(spaces) == 1L)
}

# R of K[p, p] = R'R for as many rows p as K has rank.
pivoted_root <- function(k, tolerance) {
  size <- max(diag(k))
  if (!(size > 0)) return(list(picks = integer(), root = matrix(0, 0L, 0L)))
  r <- suppressWarnings(chol(k, pivot = TRUE, tol = tolerance * size))
  rank <- attr(r, "rank")
  at <- seq_len(rank)
  pivot <- attr(r, "pivot")
  list(
    picks = pivot[at], root = unname(r[at, at, drop = FALSE]),
    features = unname(r[at, order(pivot), drop = FALSE])
  )
}

# K between regressors and objects.
process_block <- function(process, spaces, points, points_of, threads) {
  blocks <- Map(function(space, size, x, z) {
    space_block(space, z, x, threads) / size
  }, spaces, process$size, points, points_of)
  combine_blocks(blocks, process)
}

combine_blocks <- function(blocks, process) {
  used <- which(process$weights > 0)
  if (length(used) == 0L) return(blocks[[1L]] * 0 + (process$combine == "product"))
  parts <- Map(function(block, weight) {
    if (process$combine == "product") block^weight else weight * block
  }, blocks[used], process$weights[used])
  Reduce(if (process$combine == "product") `*` else `+`, parts)
}

space_block <- function(space, z, x, threads) {
  if (space$kind == "kernel") {
    core_call(kernel_matrix_cpp(kernel_to_core(space$kernel, nrow(x)), z, x, threads))$values
  } else if (space$kind == "category") {
    same <- lapply(seq_len(nrow(x)), function(j) outer(z[j, ], x[j, ], `==`))
    Reduce(`&`, same) + 0
  } else if (is_precomputed(space$kernel)) {
    if (is.null(space$take)) x else x[space$take, , drop = FALSE]
  } else {
    degree <- space$kernel$degree
    crossprod(features_of(z, degree), features_of(x, degree))
  }
}

# k(x, x). Of new rows of a kernel matrix it is not known, and taken to be the mean of the fit's.
space_diagonal <- function(space, points, size) {
  if (space$kind == "kernel") {
    kernel_diagonal(space$kernel, points)
  } else if (space$kind == "category") {
    rep(1, ncol(points))
  } else if (is_precomputed(space$kernel)) {
    rep(size, ncol(points))
  } else {
    colSums(features_of(points, space$kernel$degree)^2)
  }
}

space_sizes <- function(spaces, points, objects = seq_len(ncol(points[[1L]]))) {
  size <- unlist(Map(function(space, points) {
    if (is_precomputed(space$kernel)) return(mean(points[cbind(objects, seq_along(objects))]))
    mean(space_diagonal(space, points, 1))
  }, spaces, points), use.names = FALSE)
  replace(size, !(size > 0), 1)
}

# Features of objects, regressors x objects, and the root of their noise variance by which they are
# divided.
mkprobit_features <- function(process, spaces, points, threads) {
  n <- ncol(points[[1L]])
  grouped <- group_features(process, points)
  points <- points[seq_along(spaces)]
  if (isTRUE(process$direct)) {
    phi <- do.call(rbind, Map(function(space, points, weight, size) {
      sqrt(weight / size) * features_of(points, space$kernel$degree)
    }, unname(spaces), unname(points), process$weights, process$size))
    rest <- numeric(n)
  } else {
    anchors <- Map(picked_points, spaces, list(process$picks))
    k <- process_block(
      process, Map(picked_space, spaces, list(process$picks)), points, anchors, threads
    )
    phi <- if (length(process$picks)) {
      backsolve(process$root, k, transpose = TRUE)
    } else {
      matrix(0, 0L, n)
    }
    whole <- combine_blocks(Map(function(space, points, size) {
      space_diagonal(space, points, size) / size
    }, spaces, points, process$size), process)
    rest <- whole - colSums(phi^2)
    rest <- replace(rest, rest < 1e-8 * whole, 0)
  }
  process_design(process, phi, rest, grouped)
}

process_design <- function(process, phi, rest, grouped = NULL) {
  phi <- rbind(sqrt(process$variance) * phi, grouped$phi)
  if (process$intercept > 0) phi <- rbind(phi, process$intercept)
  noise <- sqrt(1 + process$variance * rest + (grouped$rest %||% 0))
  if (any(noise != 1)) phi <- phi / rep(noise, each = nrow(phi))
  list(phi = unname(phi), noise = noise)
}

# Random intercepts (1 | g): a process more of every class, with kernel 1 within a group and a
# variance of its own. The codes of groups, factors x objects, are the last of the points, after
# those of the spaces: 0 for a group that the fit has not seen, negative for none.
group_factors <- function(rows, settings) {
  random <- rows$random
  if (length(random) == 0L) return(NULL)
  labels <- vapply(random, `[[`, "", "label")
  if (settings$coefficients == "weights") {
    bk_abort(
      "argument", "Random intercepts belong to the process.",
      sprintf("Found: (1 | %s), with coefficients = \"weights\".", labels[1L]),
      "Accepted: coefficients = \"process\".",
      column = "formula", found = labels, expected = "process"
    )
  }
  list(
    labels = labels, levels = lapply(random, `[[`, "levels"),
    variance = rep(settings$prior$groups %||% process_start$groups, length(labels))
  )
}

group_points <- function(groups, random, n) {
  if (is.null(groups)) return(NULL)
  codes <- level_codes(random)
  list(if (is.null(codes)) matrix(-1L, length(groups$labels), n) else t(codes))
}

# An indicator of each level; a new group's effect is a rest of its variance.
group_features <- function(process, points) {
  groups <- process$groups
  if (is.null(groups)) return(NULL)
  codes <- points[[length(points)]]
  phi <- lapply(seq_along(groups$labels), function(t) {
    sqrt(groups$variance[t]) * outer(seq_along(groups$levels[[t]]), codes[t, ], `==`)
  })
  list(phi = do.call(rbind, phi), rest = colSums(groups$variance * (codes == 0)))
}

# Of objects of the fit the kernel of all factors together, in units of the process's variance.
group_kernel <- function(process, codes) {
  Reduce(`+`, lapply(seq_along(process$groups$labels), function(t) {
    share <- process$groups$variance[t] / process$variance
    share * (outer(codes[t, ], codes[t, ], `==`) & outer(codes[t, ] > 0, codes[t, ] > 0, `&`))
  }))
}

# Of the regressors those that carry rank.
picked_space <- function(space, picks) {
  if (is_precomputed(space$kernel)) space$take <- (space$take %||% seq_len(max(picks, 0L)))[picks]
  space
}

picked_points <- function(space, picks) {
  if (!is_precomputed(space$kernel)) space$z[, picks, drop = FALSE]
}
