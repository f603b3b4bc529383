# Missing values of predictors that are constant within groups. Such a value is
# one number, or one level, for all rows of its group: it is completed once a
# group. Data augmentation does so around the fits:
#   1. the model is fitted to rows whose groups are complete,
#   2. coefficients, variances and the effects of other terms are drawn from the
#      fit, by a sampler its state is taken,
#   3. the law of the predictors of groups is drawn, from one row a group,
#   4. each missing value is drawn given the rows of its group together, with
#      the effect of the group integrated out: it and the value would explain
#      the same rows, and a draw of one given the other hardly moves.
# The posterior is the mixture of the fits over completions. Values that are
# missing row by row have their own law (model-missing-completed.R, missing/ of the core),
# for which the completed predictors of groups are known ones.

# Fits before those that count. Of those that count at least 20; of data that are not large, with
# one variance of effects, whose fits take little, up to 100 of a normal response and 40 of others,
# until the completions add less than this share of a standard deviation to the error of the means.
# Values that are tried for each group in a step.
shared_burn <- 6L
shared_fits <- c(least = 20L, classes = 40L, numbers = 100L)
shared_cells <- 3e6
shared_error <- 0.05
shared_tried <- 32L

# What is shared -------------------------------------------------------------

# Predictors with holes that are constant within groups. A predictor is so where every group with
# two observed values or more has one value, and this is no accident: were the values put to the
# rows at random, it had a probability below .001. Of several factors the one with the fewest groups
# counts: what is constant in a school is so in its classes, too.
# rows: a design.
# Returns `NULL` where there are none, else by factor: `group`, the group of each row, from 1;
#   `first`, the first row of each group; `numbers`, `factors`: columns of `holes$x` and of
#   `holes$codes`; `own`: the random terms of that factor.
shared_missing <- function(rows, settings) {
  holes <- rows$holes
  if (is.null(holes) || length(rows$random) == 0L || !is.null(rows$data)) return(NULL)
  groups <- lapply(rows$random, function(term) match(term$group, unique(term$group)))
  same <- match(groups, groups)
  factors <- unique(same)
  factors <- factors[order(vapply(groups[factors], max, 1L))]
  where <- function(values) {
    for (k in factors) {
      if (is_shared(values, groups[[k]])) return(k)
    }
    NA_integer_
  }
  columns <- function(x) vapply(seq_len(NCOL(x) * !is.null(x)), function(j) where(x[, j]), 1L)
  gone <- function(x) if (is.null(x)) logical() else colSums(is.na(x)) > 0
  numbers <- ifelse(gone(holes$x), columns(holes$x), NA_integer_)
  levels <- ifelse(gone(holes$codes), columns(holes$codes), NA_integer_)
  used <- intersect(factors, c(numbers, levels))
  if (length(used) == 0L) return(NULL)
  refuse_shared(settings)
  lapply(used, function(k) {
    list(
      group = groups[[k]], first = which(!duplicated(groups[[k]])), numbers = which(numbers == k),
      factors = which(levels == k), own = which(same == k)
    )
  })
}

is_shared <- function(values, group) {
  seen <- !is.na(values)
  if (all(seen)) return(FALSE)
  value <- match(values[seen], unique(values[seen]))
  group <- group[seen]
  if (length(value) == 0L || any(value != value[match(group, group)])) return(FALSE)
  share <- tabulate(value) / length(value)
  size <- tabulate(group)
  chance <- vapply(sort(unique(size[size > 1L])), function(k) sum(size == k) * log(sum(share^k)), 1)
  sum(chance) < log(0.001)
}

refuse_shared <- function(settings) {
  found <- c(
    if (!isFALSE(settings$select %||% FALSE)) "`select`", if (!is.null(settings$until)) "`until`",
    if (!is.null(settings$resume)) "`resume`"
  )
  if (length(found)) {
    bk_abort(
      "argument", "Missing values of whole groups do not go with all settings.",
      sprintf("Found: %s.", paste(found, collapse = " and ")),
      paste("Accepted: a fit without; or leave the rows out,", "`missing = \"omit\"`."),
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

# Completed rows -------------------------------------------------------------

# Rows with holes filled.
# rows: a design, or some of its rows by take_rows().
# x, codes: as in `holes`, NA where a hole stays.
# parts: as rows_of_completions() takes them.
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
    list(source$x), lapply(source$random, `[[`, "z"), lapply(source$processes, `[[`, "x")
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
    rows$holes$wide <- source[c("at", "codes", "x", "random", "processes", "uses")]
    return(rows)
  }
  rows$x <- filled[[1L]]
  rows$random <- put(rows$random, "z", random)
  if (length(processes)) {
    rows$processes <- put(rows$processes, "x", processes)
    if (!is.null(wide)) {
      rows$processes <- put(rows$processes, "inside", lapply(source$processes, `[[`, "inside"))
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

# Fits over completions ------------------------------------------------------

# By an engine without draws. Of fits on a grid over variances the points of all are those of the
# mixture; else it has one normal law with its moments.
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
    most <- most_shared_fits(rows)
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
      if (k > shared_burn) kept[[k - shared_burn]] <- one[c("fit", "left_out", "state", "moments")]
      # Where the rows of each group tell its values nothing is drawn.
      if (enough_shared(kept, most) || length(kept) && !any_open) break
    }
    for (w in said) warning(w)
    fit <- pool_shared(kept, rows, shared)
    fit$calibrated <- settings$calibrated %||% fit$calibrated
    list(fit = fit, job = one$job, left_out = pool_left_out(lapply(kept, `[[`, "left_out")))
  })
}

most_shared_fits <- function(rows) {
  variances <- sum(vapply(rows$random, function(term) choose(length(term$columns) + 1, 2), 1))
  if (variances > 1) return(shared_fits[["least"]])
  cells <- length(rows$offset) * max(1, ncol(rows$x))
  kind <- if (length(rows$levels)) "classes" else "numbers"
  min(shared_fits[[kind]], max(shared_fits[["least"]], 10 * (shared_cells %/% (10 * cells))))
}

# Whether the means over the completions so far are settled: their error is that of a series whose
# steps follow each other.
enough_shared <- function(kept, most) {
  count <- length(kept)
  if (count < shared_fits[["least"]] || count %% 10L > 0L) return(FALSE)
  if (count >= most) return(TRUE)
  q <- lapply(kept, function(one) one$fit$posterior)
  theta <- do.call(rbind, lapply(q, `[[`, "theta_mean"))
  away <- theta - rep(colMeans(theta), each = count)
  var <- colMeans(away^2)
  follows <- colMeans(away[-1L, , drop = FALSE] * away[-count, , drop = FALSE]) / pmax(var, 1e-300)
  follows <- pmin(pmax(follows, 0), 0.9)
  own <- Reduce(`+`, lapply(q, function(q) diag(q$theta_cov))) / count
  error <- var / count * (1 + follows) / (1 - follows)
  all(error < shared_error^2 * (own + var))
}

# With holes the hinge has a calibrated rate where nothing is said (model-svm-learning-rate.R),
# whoever completes them.
shared_rate <- function(settings, rows) {
  if (!identical(settings$family, "hinge")) return(settings)
  rate <- settings$learning_rate
  if (identical(rate, 1)) warn_rate_of_missing()
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

# What a step asks of a fit. Values that rows miss by themselves are drawn from what the fit says of
# each.
shared_setting <- function(rows, fit, job, parts) {
  imputed <- fit$imputed
  design <- rows$holes
  own <- match(imputed$row, data_rows(rows, seq_along(rows$offset)))
  at <- match(imputed$column, design$predictors)
  numbers <- which(!is.na(at))
  at <- at[numbers]
  weights <- job$design$weights %||% rep(1, length(rows$offset))
  if (job$settings$family == "hinge") weights <- weights * (job$settings$learning_rate %||% 1)
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

# By a sampler, whose chains have completions of their own: they run in segments, and between two of
# these the values of groups are drawn given the chain's state. Segments of the warmup, and of the
# draws that are kept.
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
    check_reached(core$status, settings)
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
  core$seed <- settings$seed
  core$fingerprint <- fingerprint_of(last$job)
  core$status$seconds <- sum(vapply(chains, function(own) own$core$status$seconds, 1))
  fit <- new_fit(model, call, rows, settings)
  fit <- add_draws(fit, model, core, settings)
  fit <- model$collect(fit, core, last$job, last$completed)
  # The chains cannot go on without their completions.
  fit["state"] <- list(NULL)
  at <- sort(unique(unlist(lapply(shared, `[[`, "rows"))))
  pooled <- pool_fitted(lapply(kept, `[[`, "fitted"))
  for (name in intersect(names(fit$fitted), names(pooled))) fit$fitted[[name]][at] <- pooled[[name]]
  fit["expected"] <- list(NULL)
  if (!is.null(fit$sandwich)) fit$sandwich <- list(why = "modeled missing predictors")
  fit <- with_shared(fit, kept, rows, shared)
  fit$segments <- t(vapply(kept, function(one) c(one$chain, one$range), numeric(3L)))
  list(
    fit = fit, job = last$job, left_out = if (!is.null(model$left_out)) {
      core$influence <- NULL
      model$left_out(fit, core, last$job, rows)
    }
  )
}
