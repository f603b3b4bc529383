# Hyperparameters of mkprobit()'s process: those by which each of some rows is predicted best from
# the others, from the best of a grid by steps along one direction after another.

# Rows that are looked at.
tuning_rows <- 500L
# Classes x rows^3 of all evaluations together, of which there are at least 40.
process_work <- 5e10
# Evaluations by folds at most, and rows x classes^2 of all of them.
fold_evaluations <- 12
fold_work <- 5e4

# Directions in which the search steps: each a list of `kind`, and where they are of a space, its
# number and the numbers of its kernel's parameters.
tuning_directions <- function(spaces, settings) {
  held <- settings$prior
  scales <- lapply(spaces, open_parameters, settings$tune)
  # A power of an rbf() is one of another length-scale.
  if (settings$learn && settings$combine == "product" && !settings$force) {
    scales <- lapply(scales, function(each) integer())
  }
  wide <- which(lengths(scales) > 0L)
  one <- function(kind, space = 0L, at = integer()) list(kind = kind, space = space, at = at)
  each <- function(s) {
    at <- scales[[s]]
    c(
      if (length(at) > 1L && length(spaces) > 1L) list(one("scale", s, at)),
      lapply(at, function(k) one("scale", s, k))
    )
  }
  terms <- lapply(spaces, open_terms, settings$tune)
  c(
    if (is.null(held$variance)) list(one("variance")),
    if (is.null(held$variance) && length(wide)) list(one("slope")),
    if (length(wide)) {
      c(
        if (length(unlist(scales)) > 1L) list(one("all")),
        unlist(lapply(wide, each), recursive = FALSE)
      )
    },
    unlist(lapply(seq_along(spaces), function(s) {
      lapply(terms[[s]], function(k) one("term", s, k))
    }), recursive = FALSE),
    if (settings$learn && settings$combine == "product") list(one("powers")),
    if (settings$learn) lapply(seq_along(spaces), function(s) one("weight", s)),
    if (is.null(held$intercept) && settings$bias) list(one("intercept")),
    if (is.null(held$groups)) {
      lapply(seq_along(settings$groups$labels), function(t) one("groups", t))
    }
  )
}

# Length-scales that were left open, or all.
open_parameters <- function(space, all) {
  if (space$kind != "kernel") return(integer())
  leaves <- parameter_leaves(space$kernel)$at
  open <- space$open %||% rep(TRUE, max(leaves, 0L))
  which(parameter_roles(space$kernel) == "lengthscale" & (isTRUE(all) | open[leaves]))
}

# Variances of the terms of a sum, if none was given, or all; the first is what the others are
# measured by, since the size of the whole is the process's.
open_terms <- function(space, all) {
  if (space$kind != "kernel") return(integer())
  terms <- later_terms(space$kernel) & (isTRUE(all) | isTRUE(space$plain))
  which(parameter_roles(space$kernel) == "variance" & terms[parameter_leaves(space$kernel)$at])
}

# Of each leaf whether its variance is that of a term of a sum after the first.
later_terms <- function(kernel, later = FALSE) {
  children <- kernel$children
  if (is.null(children)) return(later)
  sum <- kernel$kind == "sum"
  unlist(lapply(seq_along(children), function(k) {
    later_terms(children[[k]], if (sum) k > 1L else later && k == 1L)
  }))
}

# log ratios to the start, of everything that may move.
start_moves <- function(spaces, groups) {
  list(
    variance = 0, intercept = 0, weight = numeric(length(spaces)),
    groups = numeric(length(groups$labels)),
    scale = lapply(spaces, function(space) {
      numeric(if (space$kind == "kernel") length(kernel_parameters(space$kernel)) else 0L)
    })
  )
}

move_along <- function(moves, direction, step, open) {
  kind <- direction$kind
  if (kind %in% c("all", "slope")) {
    moves$scale <- Map(function(move, at) replace(move, at, move[at] + step), moves$scale, open)
    # Long length-scales: the functions are as steep as they were.
    if (kind == "slope") moves$variance <- moves$variance + 2 * step
  } else if (kind %in% c("scale", "term")) {
    at <- direction$at
    s <- direction$space
    moves$scale[[s]][at] <- moves$scale[[s]][at] + step
  } else if (kind == "powers") {
    moves$weight <- moves$weight + step
  } else if (kind %in% c("weight", "groups")) {
    s <- direction$space
    moves[[kind]][s] <- moves[[kind]][s] + step
  } else {
    moves[[kind]] <- moves[[kind]] + step
  }
  moves
}

moved_process <- function(process, spaces, moves) {
  process$variance <- process$variance * exp(moves$variance)
  process$intercept <- process$intercept * exp(moves$intercept)
  if (length(moves$groups)) process$groups$variance <- process$groups$variance * exp(moves$groups)
  if (any(moves$weight != 0)) {
    weights <- process$weights * exp(moves$weight)
    # The size of a sum is the process's.
    if (process$combine != "product") weights <- weights / sum(weights)
    process$weights <- weights
  }
  list(process = process, spaces = Map(function(space, move) {
    if (any(move != 0)) {
      space$kernel <- update_kernel(space$kernel, log(kernel_parameters(space$kernel)) + move)
    }
    space
  }, spaces, moves$scale))
}

# Rows that are looked at: of every class its share, and three if it has them.
tuning_sample <- function(y, size, seed) {
  n <- length(y)
  if (n <= size) return(seq_len(n))
  by <- split(seq_len(n), y)
  sort(unlist(with_seed(seed, lapply(by, function(rows) {
    count <- min(length(rows), max(3, round(size / n * length(rows))))
    rows[sample.int(length(rows), count)]
  })), use.names = FALSE))
}

# What engines are told of features with coefficients of unit precision.
feature_engine <- list(
  combine = "sum", bias = FALSE, latent_scales = "fixed", alpha0 = 1, sparse = FALSE, tau = 1,
  nu = 1, weights = 1, tune = FALSE, learn = FALSE, prior_weights = c(1, 1), held_hyper = FALSE,
  prior_theta = c(1, 1), weights_method = "fixed", is_target = "exact", states = FALSE, own = FALSE
)

# The process and the spaces' kernels where left-out rows are predicted best, with how that went as
# `tuned`.
tune_mkprobit <- function(process, spaces, points, y, classes, settings) {
  directions <- tuning_directions(spaces, settings)
  if (length(directions) == 0L) return(list(process = process, spaces = spaces))
  at <- tuning_sample(y, tuning_rows, settings$seed)
  score <- left_out_scorer(process, spaces, points, at, y[at], classes, settings)
  if (is.null(score)) return(list(process = process, spaces = spaces))
  each <- classes * length(at)^3
  count <- max(40, min(20 * length(directions) + 20, process_work / each))
  open <- lapply(spaces, open_parameters, settings$tune)
  start <- start_moves(spaces, process$groups)
  shown <- tuning_progress(settings$progress)
  on.exit(shown$done())
  kinds <- vapply(directions, `[[`, "", "kind")
  free <- kinds %in% c("variance", "slope")
  # With the variance where it is, and from there with all; of large variances one step of Newton's
  # thinks too well, and folds decide.
  search <- climb_moves(start, directions[!free], open, score$left_out, count / 2, shown)
  first <- search
  if (any(free) && !search$interrupted) {
    search <- climb_moves(first$moves, directions, open, score$left_out, count / 2, shown)
    search$evaluations <- search$evaluations + first$evaluations
  }
  # The start is there, too: no search is taken that predicts worse.
  ends <- unique(list(search$moves, first$moves, start))
  # One step of Newton's and folds have half a say each: the first thinks too well of large
  # variances, the second have fewer rows.
  both <- function(moves) {
    folds <- score$folds(moves)
    own <- if (!is.null(folds)) score$left_out(moves)
    if (!is.null(own)) {
      list(score = folds$score + own$score, loss = own$loss, folds = folds)
    }
  }
  best <- NULL
  interrupted <- search$interrupted
  for (end in ends) {
    found <- if (!interrupted) both(end)
    interrupted <- is.null(found)
    if (interrupted) break
    if (is.null(best) || found$score > best$score) best <- c(found, list(moves = end))
  }
  few <- min(fold_evaluations, fold_work / (length(at) * classes^2))
  near <- c(directions[free], directions[!free & kinds %in% c("all", "scale")][1L])
  if (!interrupted && any(free) && few >= 4) {
    best <- climb_moves(best$moves, near[lengths(near) > 0L], open, both, few, shown)
    interrupted <- best$interrupted
    search$evaluations <- search$evaluations + best$evaluations
  }
  folds <- best$folds
  if (!is.null(best)) search[c("moves", "loss")] <- best[c("moves", "loss")]
  if (interrupted) stop_or_keep_tuning(settings)
  found <- moved_process(process, spaces, search$moves)
  found$process$sharpness <- folds$sharpness %||% 1
  found$process$lapse <- score$lapse
  found$tuned <- list(
    by = "loo", rows = length(at), evaluations = search$evaluations, log_loss = search$loss,
    start_log_loss = first$start, fold_log_loss = folds$loss %||% NA_real_,
    settled = search$settled, interrupted = interrupted, scales = sum(lengths(open))
  )
  found
}

# Of moves the log probability of the rows, each given the others, less the penalty, and their mean
# loss; NULL after an interrupt. A class of one row cannot be told from the others, and is not
# counted.
left_out_scorer <- function(process, spaces, points, at, y, classes, settings) {
  counted <- tabulate(y, classes)[y] > 1L
  if (!any(counted)) return(NULL)
  codes <- if (!is.null(process$groups)) points[[length(points)]][, at, drop = FALSE]
  power <- settings$power[at]
  share <- (power %||% rep(1, length(at)))[counted]
  points <- Map(function(space, points) {
    own <- points[, at, drop = FALSE]
    if (!is_precomputed(space$kernel)) return(own)
    # Repeated objects are one regressor.
    points[settings$objects[at], at, drop = FALSE]
  }, spaces, points[seq_along(spaces)])
  spaces <- lapply(spaces, function(space) {
    space["take"] <- list(NULL)
    space
  })
  threads <- settings$threads
  control <- list(
    nodes = settings$nodes %||% 0L, tol = 1e-6, max_iter = 100L, threads = threads, power = power,
    sharpness = if (settings$method == "vb") sharpness_grid else 1
  )
  known <- vector("list", length(spaces))
  block <- function(s, space, size) {
    if (!identical(known[[s]]$kernel, space$kernel)) {
      value <- space_block(space, points[[s]], points[[s]], threads)
      known[[s]] <<- list(kernel = space$kernel, value = value / size)
    }
    known[[s]]$value
  }
  design_at <- function(moves) {
    moved <- moved_process(process, spaces, moves)
    size <- space_sizes(moved$spaces, points)
    k <- combine_blocks(unname(Map(block, seq_along(spaces), moved$spaces, size)), moved$process)
    spread <- kernel_spread(k)
    if (!is.null(codes)) k <- k + group_kernel(moved$process, codes)
    phi <- pivoted_root(k, tuning_rank)$features
    list(
      phi = process_design(moved$process, phi, numeric(length(y)))$phi, place = rowSums(k),
      variance = moved$process$variance * spread
    )
  }
  lapse <- if (settings$method == "vb") usual_lapse / length(at)
  few <- max(0, 1 - length(at) / many_rows)
  families <- lapply(spaces, function(space) {
    if (space$kind == "kernel") parameter_families(space$kernel)
  })
  judged <- function(log_prob, moves, variance) {
    log_prob <- lapsed_log(log_prob[counted, , drop = FALSE], list(lapse = lapse), classes)
    sums <- colSums(share * log_prob)
    sums[!is.finite(sums)] <- -1e300
    best <- best_sharpness(sums, control$sharpness, likely_sharpness(variance, few))
    list(
      score = best$score -
        moves_penalty(moves, variance, process, settings$prior, few, families, length(at)),
      sharpness = best$sharpness, loss = -best$sum / sum(share)
    )
  }
  top <- -Inf
  list(
    lapse = lapse,
    left_out = function(moves) {
      design <- design_at(moves)
      core <- core_call(mkprobit_left_out_cpp(design$phi, as.integer(y), classes, control))
      if (core$interrupted) return(NULL)
      found <- judged(core$log_prob, moves, design$variance)
      # A step from the best so far begins where that ended.
      if (found$score > top) {
        top <<- found$score
        control$latent <<- core$latent
      }
      found
    },
    folds = function(moves) {
      design <- design_at(moves)
      log_prob <- lapply(chance_folds, function(seed) {
        fold_log_prob(design$phi, y, classes, fold_of(y, design$place, seed), control)
      })
      if (!any(lengths(log_prob) == 0L)) {
        judged(Reduce(`+`, log_prob) / length(log_prob), moves, design$variance)
      }
    }
  )
}

# A factor of e costs as much as an eighth of a unit of log probability; of several spaces, with as
# many more to choose, a unit. Few rows say little of the functions' variance about their level and
# of the constant's standard deviation, and would keep the large ones of the start: these are near 1
# a priori, as far as `few` has it. The length-scales of a kernel are `families` of score_prior().
moves_penalty <- function(moves, variance, process, held, few,
                          families = lapply(moves$scale, seq_along), rows = Inf) {
  constant <- process$intercept * exp(moves$intercept)
  own <- c("weight", "groups")
  size <- if (length(moves$weight) > 1L) 1 else 8
  from_start <- (moves$variance^2 + moves$intercept^2) / size
  from_one <- (if (is.null(held$variance)) log(variance)^2 / 4 else 0) +
    (if (constant > 0) log(constant)^2 / 8 else 0)
  at <- lengths(moves$scale) > 0L
  scales <- Map(score_prior, moves$scale[at], 0, families[at], rows, 1 / size)
  sum(unlist(moves[own], use.names = FALSE)^2) / size + sum(unlist(scales)) +
    (1 - few) * from_start + few * from_one
}

# Five folds of every class by chance, whatever the order of rows and classes. (With neighbors in
# different folds each row is known better than a new one, and small variances win.)
fold_of <- function(y, place, seed) {
  fold <- integer(length(y))
  drawn <- lapply(tabulate(y), function(count) with_seed(seed, sample(rep_len(seq_len(5L), count))))
  fold[order(y, place)] <- unlist(drawn, use.names = FALSE)
  fold
}

# log P of each row's class by a fit to the other folds, a column for each sharpness.
fold_log_prob <- function(phi, y, classes, fold, control) {
  out <- matrix(0, length(y), length(control$sharpness))
  settings <- c(feature_engine, list(
    nodes = control$nodes, seed = 1, threads = control$threads,
    progress = FALSE, zeta_moment = "exact", tol = control$tol, tolw = Inf,
    max_iter = control$max_iter, accelerate = TRUE, allow_empty = FALSE
  ))
  for (k in unique(fold)) {
    on <- fold == k
    settings$power <- control$power[!on]
    source <- function(rows) list(list(kind = "matrix", k = phi[, rows, drop = FALSE]))
    core <- core_call(mkprobit_vb_cpp(list(
      y = as.integer(y)[!on], classes = classes, sources = source(!on),
      combine = "sum", bias = FALSE
    ), settings))
    if (isTRUE(core$status$interrupted)) return(NULL)
    found <- core_call(mkprobit_predict_cpp(core$posterior, source(on), "sum", list(
      nodes = control$nodes, threads = control$threads, progress = FALSE
    )))
    out[on, ] <- core_call(mkprobit_log_prob_cpp(
      t(found$mean), t(sqrt(1 + found$var)), as.integer(y)[on], control
    ))$log_prob
  }
  out
}

# Mean variance of the functions about their mean over the rows: with long length-scales the rest
# is a constant.
kernel_spread <- function(k) {
  n <- nrow(k)
  own <- sum(diag(k))
  max(own / n - (sum(k) - own) / (n * (n - 1)), 1e-8)
}

# Variational Bayes has means nearer to zero than those of the posterior, the more so the more the
# functions may vary. By how much, left-out rows say; few say little, and on most sets it is a
# factor of about 2.
usual_sharpness <- 2
# As many rows have that, and their variances begin where the search does.
many_rows <- 100
# The factor of one row of two classes, d = f_1 - f_2 ~ N(0, 2 v): the posterior's mean is
# 2 v / sqrt(pi (1 + v)), that of variational Bayes sqrt(2) z with z = v dnorm(z) / pnorm(z).
one_row_sharpness <- function(variance) {
  z <- exp(stats::uniroot(function(log_z) {
    z <- exp(log_z)
    log_z - log(variance) - stats::dnorm(z, log = TRUE) + stats::pnorm(z, log.p = TRUE)
  }, c(-60, 4), tol = 1e-8)$root)
  sqrt(2 / (pi * (1 + variance))) * variance / z
}

likely_sharpness <- function(variance, few) {
  one_row_sharpness(variance)^few * usual_sharpness^(1 - few)
}

# Normal tails make the probability of another class than that of a row's twin nothing, which no
# number of rows can show. Rows that are of any class, in all of those looked at:
usual_lapse <- 0.1
sharpness_grid <- 2^seq(-1, 4, by = 0.5)
# Seeds of the divisions.
chance_folds <- list(1, 2)

# The top of the parabola through the best of the grid and its neighbours.
best_sharpness <- function(sums, grid, usual) {
  if (length(grid) == 1L) return(list(score = sums, sum = sums, sharpness = grid))
  score <- sums - 2 * log(grid / usual)^2
  k <- which.max(score)
  out <- list(score = score[k], sum = sums[k], sharpness = grid[k])
  if (k > 1L && k < length(grid)) {
    own <- log(grid[k + (-1:1)])
    slope <- diff(score[k + (-1:1)]) / diff(own)
    bend <- diff(slope) / (own[3] - own[1])
    if (is.finite(bend) && bend < 0) {
      top <- (own[1] + own[2]) / 2 - slope[1] / (2 * bend)
      rise <- -bend * (top - own[2])^2
      out <- list(score = out$score + rise, sum = out$sum + rise, sharpness = exp(top))
    }
  }
  out
}

# Steps of the first look around.
grid_widths <- log(c(0.5, 2))
first_step <- log(2)
least_step <- 0.1

climb_moves <- function(moves, directions, open, score, most, shown) {
  evaluations <- 0L
  interrupted <- FALSE
  round <- "grid"
  best <- NULL
  # Whether it is the best so far; the score either way.
  look <- function(at) {
    evaluations <<- evaluations + 1L
    shown$tell(round, evaluations, best$score)
    found <- score(at)
    if (is.null(found)) {
      interrupted <<- TRUE
      return(-Inf)
    }
    if (is.null(best) || found$score > best$score) best <<- c(list(moves = at), found)
    found$score
  }
  look(moves)
  if (is.null(best)) {
    return(list(moves = moves, evaluations = evaluations, interrupted = TRUE, settled = FALSE))
  }
  start <- best$loss
  kinds <- vapply(directions, `[[`, "", "kind")
  wide <- directions[kinds %in% c("all", "scale")][1L]
  # Not where a climb has been.
  for (width in if (!is.null(wide[[1L]]) && !any(kinds == "variance")) grid_widths) {
    if (!interrupted) look(move_along(moves, wide[[1L]], width, open))
  }
  round <- "steps"
  steps <- rep(first_step, length(directions))
  going <- function() !interrupted && evaluations < most
  while (going() && any(steps > least_step)) {
    for (k in which(steps > least_step)) {
      if (!going()) break
      from <- best
      there <- function(step) look(move_along(from$moves, directions[[k]], step, open))
      origin <- from$score
      # And the same way again, as long as that is better.
      follow <- function(step) {
        first <- there(step)
        if (first > origin) {
          while (going() && best$score > from$score) {
            from <<- best
            there(step)
          }
        }
        first
      }
      up <- follow(steps[k])
      if (up > origin) next
      if (!going()) break
      down <- follow(-steps[k])
      if (down > origin) next
      # The top of the parabola through the three.
      bend <- up + down - 2 * from$score
      top <- if (is.finite(bend) && bend < 0) steps[k] * (down - up) / (2 * bend) else 0
      steps[k] <- steps[k] / 3
      if (going() && abs(top) > least_step / 2) there(top)
    }
  }
  list(
    moves = best$moves, loss = best$loss, folds = best$folds, start = start,
    evaluations = evaluations, interrupted = interrupted, settled = !any(steps > least_step)
  )
}
