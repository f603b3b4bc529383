# Variational selection among many columns: the bound itself says which columns are worth a look. A
# column that is out keeps its prior and its place in the bound, so that fits on any of the columns
# are fits of the whole model.

most_searched <- 500L # columns that are all looked at together
most_polished <- 60L # columns that the sampler may visit
most_undecided <- 3000L # columns of which all are looked at for want of effects
most_covariances <- 2000L # columns of which a fit has the whole covariance

default_starts <- c(1, 0.5, 0.1, NA)

screens_columns <- function(job) {
  data <- job$data
  at <- data$selection$columns
  open <- c("holes", "atoms", "path", "open")
  length(at) > most_searched && is.null(job$settings$starts) &&
    !identical(job$settings$polish, "ep") &&
    all(vapply(data[open], is.null, NA)) && is.null(job$design$lean) &&
    length(job$blocks$blocks) == 0L && length(at) < ncol(data$x)
}

# A search over columns that starts from none. Columns enter where they would raise the bound, some
# at a time, with all else adapting; then those that stand in for others are looked at together from
# the usual starts.
# job: by linear_job().
# Returns what run_vb() returns, of the columns `screen$chosen`, and `screen`: the `job` on these,
#   and the log odds of all.
run_screened <- function(job) {
  job$control$max_iter <- min(job$control$max_iter, most_passes %/% 40L)
  null <- run_start(only_columns(job, integer()), NULL)
  if (!isTRUE(length(null$pull) > 0L) || null$status$interrupted) {
    null$usable <- FALSE
    return(null)
  }
  sums <- sums_of_columns(job, null, null$pull)
  odds <- log_prior_odds(job, NULL) + drop(sums$products)^2 / pmax(sums$squares, 1e-300) / 2 -
    log(nrow(job$data$x)) / 2
  chosen <- strongest(job, odds, -2, 100L)
  if (length(chosen) == 0L) chosen <- strongest(job, odds, -Inf, 10L)
  best <- run_best_start(only_columns(job, chosen), default_starts)
  found <- enter_columns(job, best, chosen)
  found <- exchange_columns(job, look_at_substitutes(job, found))
  found <- whole_terms(job, found)
  if (!found$core$usable) return(found$core)
  out <- screened_odds(job, found$core)
  if (!found$core$status$interrupted && may_be_undecided(job, found, out)) {
    all <- run_undecided(job)
    if (!no_worse(found$core, all)) return(all)
  }
  found$core$screen <- list(
    job = only_columns(job, found$chosen), chosen = found$chosen, odds = out
  )
  found$core
}

# Whether a fit in which no column is told apart may be better: all are in with about their prior
# probability and have next to no effect. A column that could be in at no cost gains at most -log(1
# - rho). Looked at where that takes seconds.
may_be_undecided <- function(job, found, odds) {
  count <- length(odds)
  if (count > most_undecided) return(FALSE)
  out <- run_start(only_columns(job, found$chosen[1L]), 1e-13)
  gain <- last(found$core$status$bound) - last(out$status$bound)
  sum(stats::plogis(odds[-found$chosen])) > 0.05 ||
    gain < -count * log1p(-prior_inclusion(job$settings$prior))
}

# From where the columns have next to no effect.
run_undecided <- function(job) {
  count <- length(job$data$selection$columns)
  job$data$selection[c("start_b", "start_precision")] <- list(
    rep(1, count), 10 * sum(job$data$weights)
  )
  run_starts(job, prior_inclusion(job$settings$prior))
}

# With the other columns of their terms, whose indicators a chain has in one.
whole_terms <- function(job, found) {
  unit <- job$data$selection$unit
  new <- setdiff(which(unit %in% unit[found$chosen]), found$chosen)
  if (length(new) == 0L || !found$core$usable) return(found)
  list(
    core = widen_search(job, found$core, found$chosen, new, rep(-9, length(new))),
    chosen = c(found$chosen, new)
  )
}

# Columns that would raise the bound enter until none would.
enter_columns <- function(job, core, chosen) {
  tried <- integer()
  for (round in seq_len(20L)) {
    if (!core$usable || core$status$interrupted) break
    sums <- sums_of_columns(job, core, core$pull)
    gain <- column_gain(
      drop(sums$products), sums$squares, slab_precision(core), log_prior_odds(job, core)
    )
    gain[c(chosen, tried)] <- -Inf
    new <- strongest(job, gain, -1, 50L)
    if (length(new) == 0L) break
    trial <- widen_search(job, core, chosen, new, gain[new])
    if (trial$status$interrupted || !no_worse(core, trial)) {
      core <- trial
      chosen <- c(chosen, new)
    } else {
      tried <- c(tried, new)
    }
  }
  list(core = core, chosen = chosen)
}

# The search on, from where it was, with further columns at their own odds.
widen_search <- function(job, core, chosen, new, odds) {
  q <- core$selection
  q$inclusion <- c(pmin(pmax(q$inclusion, 1e-4), 1 - 1e-9), pmin(stats::plogis(odds), 0.9))
  q$expected_b <- c(q$expected_b, rep(1, length(new)))
  core$selection <- q
  go_on_selecting(only_columns(job, c(chosen, new)), core)
}

# Columns that would do where one of those at hand is taken out, which is what a fit chose between,
# and all starts on them together.
look_at_substitutes <- function(job, found) {
  core <- found$core
  if (!core$usable || core$status$interrupted) return(found)
  odds <- substitute_odds(job, core, found$chosen)$odds
  odds[found$chosen] <- pmax(odds[found$chosen], core$selection$log_odds)
  chosen <- strongest(job, odds, -4, max(most_polished, sum(core$selection$inclusion > 0.01)))
  if (length(chosen) == 0L) chosen <- found$chosen
  again <- run_best_start(only_columns(job, chosen), default_starts)
  if (again$status$interrupted) return(list(core = again, chosen = chosen))
  on <- match(chosen, found$chosen)
  from <- core
  from$selection[c("inclusion", "expected_b")] <- list(
    ifelse(is.na(on), 0.01, pmin(pmax(core$selection$inclusion[on], 1e-4), 1 - 1e-9)),
    ifelse(is.na(on), 1, core$selection$expected_b[on])
  )
  kept <- go_on_selecting(only_columns(job, chosen), from)
  if (!no_worse(again, kept)) again <- kept
  if (no_worse(again, core)) enter_columns(job, again, chosen) else found
}

# Log odds of the columns as they would be without one of those that are in: the highest over these
# (`odds`), and for each of them, `own`, what may take its place (`substitute`) and by how much that
# is better (`better`). First, without any of them gone: `alone`.
substitute_odds <- function(job, core, chosen) {
  inclusion <- core$selection$inclusion
  own <- which(inclusion > 0.01)
  own <- own[order(-inclusion[own])][seq_len(min(length(own), 200L))]
  at <- job$data$selection$columns[chosen[own]] + 1L
  x <- scale(job$data$x[, at, drop = FALSE], job$data$center[at], job$data$scale[at])
  sums <- sums_of_columns(job, core, cbind(core$pull, core$kappa * x))
  pull <- sums$products[1L, ]
  small <- only_columns(job, chosen)$data$selection$columns + 1L
  effect <- inclusion[own] * core$theta_mean[small[own]]
  gain <- function(pull) {
    column_gain(pull, sums$squares, slab_precision(core), log_prior_odds(job, core))
  }
  alone <- gain(pull)
  alone[chosen[own]] <- -Inf
  out <- list(
    odds = alone, alone = alone, own = own, substitute = integer(length(own)),
    better = numeric(length(own))
  )
  for (j in seq_along(own)) {
    without <- gain(pull + effect[j] * sums$products[j + 1L, ])
    out$odds <- pmax(out$odds, without)
    there <- without[chosen[own[j]]]
    without[chosen[own]] <- -Inf
    out$substitute[j] <- which.max(without)
    out$better[j] <- without[out$substitute[j]] - there
  }
  out
}

# Columns change places, one at a time, or come in though they alone would gain nothing, as long as
# the bound rises.
exchange_columns <- function(job, found) {
  for (round in seq_len(5L)) {
    core <- found$core
    if (!core$usable || core$status$interrupted) break
    looked <- substitute_odds(job, core, found$chosen)
    first <- strongest(job, looked$alone, -4, 4L)
    moves <- data.frame(
      off = c(looked$own, rep(NA, length(first))), on = c(looked$substitute, first),
      gain = c(looked$better, looked$alone[first])
    )
    moves <- moves[order(-moves$gain), ]
    moves <- moves[seq_len(min(16L, sum(moves$gain > -6))), ]
    moved <- FALSE
    for (k in seq_len(nrow(moves))) {
      trial <- exchanged(job, found, moves$off[k], moves$on[k])
      if (trial$core$status$interrupted) return(trial)
      moved <- isTRUE(trial$core$usable) &&
        last(trial$core$status$bound) > last(core$status$bound) + 1e-3
      if (moved) break
    }
    if (!moved) break
    found <- trial
  }
  found
}

# `off` counts among the columns at hand, `on` among all.
exchanged <- function(job, found, off, on) {
  core <- found$core
  q <- core$selection
  inclusion <- pmin(pmax(q$inclusion, 1e-4), 1 - 1e-9)
  if (!is.na(off)) inclusion[off] <- 0.01
  chosen <- found$chosen
  at <- match(on, chosen)
  if (is.na(at)) {
    chosen <- c(chosen, on)
    at <- length(chosen)
    q$expected_b <- c(q$expected_b, 1)
  }
  inclusion[at] <- 0.99
  q$inclusion <- inclusion
  core$selection <- q
  list(core = go_on_selecting(only_columns(job, chosen), core), chosen = chosen)
}

# What a column gains for the bound by being in, all others as they are; with v_k and b_k at their
# best.
column_gain <- function(pull, square, precision, prior) {
  b <- 1
  for (step in seq_len(12L)) {
    variance <- 1 / (square + b * precision)
    mean <- variance * pull
    b <- 1 / sqrt((variance + mean^2) * precision)
  }
  prior + 0.5 * mean^2 / variance + 0.5 * log(precision * variance) + 0.5 * (1 - 1 / b)
}

# Log odds of columns that are out, whose v_k has its prior.
screened_odds <- function(job, core) {
  squares <- sums_of_columns(job, core, core$pull)$squares
  log_prior_odds(job, core) - 0.5 * squares / slab_precision(core)
}

slab_precision <- function(core) core$selection$shape / core$selection$rate

log_prior_odds <- function(job, core) {
  rho <- core$selection$rho
  if (length(rho) == 2L) {
    digamma(rho[1]) - digamma(rho[2])
  } else {
    stats::qlogis(prior_inclusion(job$settings$prior))
  }
}

sums_of_columns <- function(job, core, pulls) {
  data <- job$data
  core_call(column_sums_cpp(
    data$x, data$selection$columns, data$center, data$scale, core$kappa, as.matrix(pulls)
  ))
}

# The columns of the highest odds above a limit, `most` at most, in their order; those of a term
# together.
strongest <- function(job, odds, limit, most) {
  at <- order(-odds)[seq_len(min(most, length(odds)))]
  at <- at[odds[at] > limit]
  unit <- job$data$selection$unit
  if (!is.null(unit)) at <- which(unit %in% unit[at])
  sort(at)
}

# The job on the columns that are always in and those `chosen` among the others, which are out.
only_columns <- function(job, chosen) {
  selection <- job$data$selection
  at <- selection$columns + 1L
  keep <- c(setdiff(seq_len(ncol(job$data$x)), at), at[chosen])
  names <- colnames(job$design$x)[keep]
  job$data$x <- job$data$x[, keep, drop = FALSE]
  job$data[c("center", "scale")] <- lapply(job$data[c("center", "scale")], `[`, keep)
  unit <- selection$unit
  selection$hidden <- length(at) - length(chosen)
  selection$hidden_units <- selection$hidden
  if (!is.null(unit)) {
    own <- unit[chosen]
    selection$unit <- match(own, unique(own)) - 1L
    selection$hidden_units <- length(unique(unit)) - length(unique(own))
  }
  selection$columns <- match(at[chosen], keep) - 1L
  job$data["selection"] <- list(if (length(chosen)) selection)
  job$design$x <- job$data$x
  colnames(job$design$x) <- names
  job$design[c("center", "scale", "assign")] <- lapply(
    job$design[c("center", "scale", "assign")], `[`, keep
  )
  job$blocks[c("precision", "mean")] <- lapply(job$blocks[c("precision", "mean")], `[`, keep)
  job$shared$data <- job$data
  job$shared$prior[names(job$blocks)] <- job$blocks
  job$control$pulls <- TRUE
  job$design$screened <- TRUE
  job
}

# --- the fit of all columns --------------------------------------------------

# Columns that were out have no effect.
widen_selection <- function(fit, core, job) {
  design <- job$design
  names <- colnames(design$x)
  p <- length(names)
  chosen <- core$screen$chosen
  columns <- job$data$selection$columns + 1L
  at <- c(setdiff(seq_len(p), columns), columns[chosen])
  fit$transform[c("center", "scale")] <- lapply(
    design[c("center", "scale")], function(x) stats::setNames(as.double(x), names)
  )
  own <- fit$posterior
  wide <- function(x, rest) {
    out <- rep_len(as.double(rest), p)
    out[at] <- x
    out
  }
  selected <- function(x, rest) {
    if (is.null(x)) return(NULL)
    out <- rep_len(as.double(rest), length(columns))
    out[chosen] <- x
    out
  }
  selection <- own$selection
  rest <- stats::plogis(core$screen$odds)
  own$theta_mean <- stats::setNames(wide(own$theta_mean, 0), names)
  if (!is.null(own$gamma)) {
    gamma <- rep(1, p)
    gamma[columns] <- rest
    own$gamma <- wide(own$gamma, gamma)
  }
  prior_var <- wide(0, 0)
  if (is.null(fit$draws)) prior_var[columns] <- 1 / slab_precision(core)
  own$theta_cov <- wide_covariance(own$theta_cov, at, prior_var, names)
  for (name in c("inclusion", "polished")) selection[[name]] <- selected(selection[[name]], rest)
  selection$log_odds <- selected(selection$log_odds, core$screen$odds)
  selection$expected_b <- selected(selection$expected_b, 1)
  selection$range <- selected(selection$range, 0)
  selection$columns <- columns
  selection$screened <- p - length(at)
  if (!is.null(fit$draws) && p <= most_covariances) fit$draws <- widen_draws(fit$draws, job)
  own$selection <- selection
  fit$posterior <- own
  fit
}

# The columns that the sampler did not visit are 0 in all draws.
widen_draws <- function(draws, job) {
  all <- draw_names(job$design, job$blocks, job$data, job$settings)
  out <- array(0, c(dim(draws)[1:2], length(all)), list(NULL, NULL, all))
  out[, , dimnames(draws)[[3]]] <- draws
  out
}

# A covariance that is diagonal but for some columns; of few columns a matrix.
wide_covariance <- function(inner, at, rest, names) {
  if (length(names) <= most_covariances) {
    out <- diag(rest, length(rest))
    out[at, at] <- inner
    dimnames(out) <- list(names, names)
    return(out)
  }
  rest[at] <- diag(inner)
  structure(
    list(at = at, inner = unname(inner), diagonal = rest, names = names),
    class = "sparse_covariance"
  )
}

#' @export
dim.sparse_covariance <- function(x) rep(length(unclass(x)$diagonal), 2L)

#' @export
dimnames.sparse_covariance <- function(x) rep(list(unclass(x)$names), 2L)

#' @export
`[.sparse_covariance` <- function(x, i, j, drop = TRUE) {
  own <- unclass(x)
  all <- seq_along(own$diagonal)
  whole <- (missing(i) || identical(as.integer(i), all)) &&
    (missing(j) || identical(as.integer(j), all))
  if (whole && !drop && !missing(i)) return(x)
  i <- stats::setNames(all, own$names)[if (missing(i)) all else i]
  j <- stats::setNames(all, own$names)[if (missing(j)) all else j]
  out <- outer(unname(i), unname(j), `==`) * own$diagonal[i]
  from <- match(i, own$at)
  to <- match(j, own$at)
  out[!is.na(from), !is.na(to)] <- own$inner[from[!is.na(from)], to[!is.na(to)]]
  dimnames(out) <- list(own$names[i], own$names[j])
  if (drop && any(dim(out) == 1L)) drop(out) else out
}

#' @export
as.matrix.sparse_covariance <- function(x, ...) x[, , drop = FALSE]

# Variances of a covariance.
cov_diagonal <- function(cov) {
  if (!inherits(cov, "sparse_covariance")) return(diag(cov))
  own <- unclass(cov)
  stats::setNames(own$diagonal, own$names)
}

# A sparse covariance of gamma * theta, where the indicators add `more`.
scale_sparse <- function(cov, gamma, more) {
  own <- unclass(cov)
  own$diagonal <- unname(gamma^2 * own$diagonal + more)
  own$inner <- own$inner * outer(gamma[own$at], gamma[own$at])
  diag(own$inner) <- own$diagonal[own$at]
  structure(own, class = "sparse_covariance")
}

# x' cov x of the rows of x.
sparse_quadratic <- function(x, cov) {
  own <- unclass(cov)
  inner <- x[, own$at, drop = FALSE]
  own$diagonal[own$at] <- 0
  rowSums((inner %*% own$inner) * inner) + drop(x^2 %*% own$diagonal)
}

# n draws from N(0, cov).
sparse_normal <- function(n, cov) {
  own <- unclass(cov)
  out <- normal_matrix(n, length(own$diagonal)) * rep(sqrt(own$diagonal), each = n)
  out[, own$at] <- normal_matrix(n, length(own$at)) %*% covariance_root(own$inner)
  out
}
