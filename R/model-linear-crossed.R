# Several random terms with many levels each. One term is always eliminated exactly. The others are
# columns of theta, exact too, while these are few; beyond that the core fits "crossed" terms, at a
# cost linear in rows and levels: q(theta) is exact given the weights of the rows, the levels of a
# term are independent given theta and one shared direction, the eliminated term is exact given all
# others.

# Columns of theta that the other terms may take, and rows times the square of their number;
# `beside`: the same for small terms beside crossed ones; `refused`: columns, and rows times
# columns, above which a model that the crossed method does not fit is refused.
random_limits <- function() {
  list(
    columns = 500, work = 5e9, beside_columns = 100, beside_work = 1e9,
    refused_columns = 5000, refused_cells = 5e8
  )
}

# Numbers of the random terms that are crossed, the eliminated one first; none if the exact form
# does.
crossed_terms <- function(design, settings, selected) {
  size <- term_sizes(design)
  n <- length(design$y)
  limit <- random_limits()
  others <- size[-which.max(size)]
  columns <- sum(others)
  if (columns <= limit$columns && n * columns^2 <= limit$work) return(integer())
  lacking <- c(
    if (length(selected) > 0L) "selection",
    if (!is.null(design$holes)) "modeled missing predictors",
    if (length(design$processes)) "gp() terms",
    if (settings$method %in% c("svi", "ep")) sprintf("method = \"%s\"", settings$method)
  )
  if (length(lacking) > 0L) {
    if (columns > limit$refused_columns || n * columns > limit$refused_cells) {
      abort_too_crossed(lacking, columns, limit)
    }
    return(integer())
  }
  ascending <- order(size)
  dense <- cumsum(size[ascending])
  keep <- dense <= limit$beside_columns & n * dense^2 <= limit$beside_work
  crossed <- setdiff(seq_along(size), ascending[keep])
  inner <- inner_term(design$random, crossed, size)
  c(inner, setdiff(crossed, inner))
}

# Effects of each random term.
term_sizes <- function(design) {
  vapply(design$random, function(term) {
    as.numeric(length(term$levels)) * length(term$columns)
  }, numeric(1))
}

abort_too_crossed <- function(lacking, columns, limit) {
  bk_abort(
    "argument", "The random terms have too many levels for this model.",
    sprintf(
      "Found: %s, and %s columns of random effects besides the largest term.",
      paste(lacking, collapse = " and "), format(columns, big.mark = ",")
    ),
    sprintf(
      "Accepted with it: %s columns, and %s numbers in these.",
      format(limit$refused_columns, big.mark = ","), format(limit$refused_cells, big.mark = ",")
    ),
    "Crossed terms of any size: method \"vb\" or \"gibbs\" without these.",
    column = "formula", found = columns
  )
}

# The term to eliminate: of those whose levels nest in another term's, or of all if none does, the
# one with most effects. Nesting is then exact.
inner_term <- function(random, crossed, size) {
  nested <- vapply(crossed, function(s) {
    any(vapply(setdiff(crossed, s), function(t) {
      nests(random[[s]]$group, random[[t]]$group, length(random[[s]]$levels))
    }, NA))
  }, NA)
  among <- if (any(nested)) crossed[nested] else crossed
  among[which.max(size[among])]
}

# Blocks of crossed terms, the eliminated one first: block$crossed counts them.
crossed_blocks <- function(blocks) {
  at <- vapply(blocks, `[[`, 1L, "crossed")
  which(at > 0L)[order(at[at > 0L])]
}

# What the core needs of them.
crossed_data <- function(design, blocks) {
  lapply(crossed_blocks(blocks), function(l) {
    term <- design$random[[blocks[[l]]$random]]
    list(
      group = as.integer(term$group), members = blocks[[l]]$members,
      block = l - 1L, z = scaled_term(term)
    )
  })
}

# The answer of the core as collect_vb() reads it: directions that levels of a crossed term share
# follow theta, with mean 0.
add_shared <- function(core) {
  shared <- ncol(core$shared_cov)
  p <- length(core$theta_mean)
  core$theta_mean <- c(core$theta_mean, numeric(shared))
  cov <- matrix(0, p + shared, p + shared)
  cov[seq_len(p), seq_len(p)] <- core$theta_cov
  cov[p + seq_len(shared), p + seq_len(shared)] <- core$shared_cov
  core$theta_cov <- cov
  core
}

shared_names <- function(blocks) {
  unlist(lapply(blocks[crossed_blocks(blocks)][-1], function(block) {
    sprintf("shared[%s %s]", block$columns, block$label)
  }))
}

# Posterior of the pairs of levels that share rows, by outer term: numbers of the terms, codes of
# the levels, covariance r_inner x r_outer x pairs given theta, scale of the model.
crossed_pairs <- function(core, blocks) {
  crossed <- blocks[crossed_blocks(blocks)]
  lapply(seq_along(core$pairs), function(k) {
    pair <- core$pairs[[k]]
    inner <- crossed[[1]]
    outer <- crossed[[k + 1L]]
    list(
      inner = inner$random, outer = outer$random, group = pair$inner, level = pair$outer,
      cov = array(pair$cov, c(inner$width, outer$width, length(pair$inner)))
    )
  })
}

# 2 Cov(z'u, z'v | theta) by row, u and v of the terms of a pair. `random` holds z on the scale of
# the model and group, by term.
pair_variance <- function(posterior, random) {
  out <- 0
  for (pair in posterior$pairs) {
    u <- random[[pair$inner]]
    v <- random[[pair$outer]]
    width <- as.numeric(max(pair$level)) + 1
    at <- match(u$group * width + v$group, pair$group * width + pair$level)
    known <- which(!is.na(at))
    own <- numeric(length(at))
    for (k in seq_len(ncol(u$z))) {
      for (l in seq_len(ncol(v$z))) {
        own[known] <- own[known] + 2 * u$z[known, k] * v$z[known, l] * pair$cov[k, l, at[known]]
      }
    }
    out <- out + own
  }
  out
}

# n draws of u - E(u | theta, shared directions) for the `levels` asked for, by eliminated term: n x
# r x levels, scale of the model. Crossed terms come before the one that is exact given them.
eliminated_noise <- function(posterior, levels, n) {
  pairs <- posterior$pairs
  inner <- if (length(pairs)) pairs[[1]]$inner else 0L
  noise <- all <- vector("list", length(levels))
  for (t in setdiff(seq_along(levels), inner)) {
    term <- posterior$random[[t]]
    if (!term$eliminated) next
    outer <- inner > 0L
    g <- if (outer) seq_along(term$levels) else levels[[t]]
    all[[t]] <- slice_noise(term$schur[, , g, drop = FALSE], n)
    noise[[t]] <- if (outer) all[[t]][, , levels[[t]], drop = FALSE] else all[[t]]
  }
  if (inner > 0L) {
    noise[[inner]] <- inner_noise(posterior, levels[[inner]], all) +
      slice_noise(inner_rest(posterior, levels[[inner]]), n)
  }
  noise
}

# n x r x G draws of N(0, V_g).
slice_noise <- function(v, n) {
  r <- dim(v)[1]
  out <- array(0, c(n, r, dim(v)[3]))
  if (length(out) == 0L) return(out)
  root <- cholesky_slices(v)
  plain <- array(stats::rnorm(length(out)), dim(out))
  for (k in seq_len(r)) {
    for (l in seq_len(k)) out[, k, ] <- out[, k, ] + plain[, l, ] * rep(root[k, l, ], each = n)
  }
  out
}

# What the noise of the outer terms, n x r x all levels each, does to the inner one: E(u_g | theta,
# v) moves by Cov(u_g, v_h) Var(v_h)^-1 times that of v_h.
inner_noise <- function(posterior, levels, noise) {
  first <- posterior$pairs[[1]]
  n <- dim(noise[[first$outer]])[1]
  out <- array(0, c(n, dim(first$cov)[1], length(levels)))
  for (pair in posterior$pairs) {
    schur <- posterior$random[[pair$outer]]$schur
    use <- which(pair$group %in% levels)
    for (at in split(use, ceiling(seq_along(use) * n / 4e6))) {
      place <- match(pair$group[at], levels)
      slope <- pair_slopes(pair$cov[, , at, drop = FALSE], schur[, , pair$level[at], drop = FALSE])
      for (k in seq_len(dim(slope)[1])) {
        add <- 0
        for (l in seq_len(dim(slope)[2])) {
          own <- matrix(noise[[pair$outer]][, l, pair$level[at]], n)
          add <- add + t(own) * slope[k, l, ]
        }
        sums <- rowsum(add, place)
        to <- as.integer(rownames(sums))
        out[, k, to] <- out[, k, to] + t(sums)
      }
    }
  }
  out
}

# C V^-1 for each pair, V the covariance of its outer level.
pair_slopes <- function(cov, schur) {
  if (dim(schur)[1] == 1L) return(cov / rep(schur, each = dim(cov)[1]))
  for (k in seq_len(dim(cov)[3])) {
    cov[, , k] <- t(solve(schur[, , k], t(matrix(cov[, , k], dim(cov)[1]))))
  }
  cov
}

# Var(u_g | theta, v): what is left of the noise of the eliminated term.
inner_rest <- function(posterior, levels) {
  out <- posterior$random[[posterior$pairs[[1]]$inner]]$schur[, , levels, drop = FALSE]
  for (pair in posterior$pairs) {
    use <- which(pair$group %in% levels)
    place <- match(pair$group[use], levels)
    cov <- pair$cov[, , use, drop = FALSE]
    slope <- pair_slopes(cov, posterior$random[[pair$outer]]$schur[, ,
      pair$level[use],
      drop = FALSE
    ])
    for (k in seq_len(dim(cov)[1])) {
      for (l in seq_len(dim(cov)[1])) {
        own <- 0
        for (m in seq_len(dim(cov)[2])) own <- own + slope[k, m, ] * cov[l, m, ]
        sums <- rowsum(own, place)
        to <- as.integer(rownames(sums))
        out[k, l, to] <- out[k, l, to] - sums
      }
    }
  }
  out
}

# What print() says about them.
crossed_fact <- function(object) {
  random <- object$posterior$random
  place <- vapply(random, function(term) c(term$crossed, 0L)[1L], 1L)
  if (!any(place > 0L)) return(NULL)
  labels <- vapply(random, `[[`, "", "label")
  outer <- paste(labels[place > 1L], collapse = ", ")
  if (!is.null(object$draws)) {
    return(sprintf("%s and %s, drawn jointly", labels[place == 1L], outer))
  }
  sprintf("%s exact given %s, whose levels are independent", labels[place == 1L], outer)
}
