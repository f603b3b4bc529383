# From rows and settings to what the core reads, and from its answer to a fit: plain matrices there,
# names and scales put back here.

# `law`: of the predictors with missing values, if it is known.
linear_job <- function(rows, settings, law = NULL) {
  given <- list(rows, settings)
  if (identical(rows$data$type, "file") && is.null(rows$sample)) rows <- source_design(rows)
  at <- settle_rows(rows, settings, law)
  rows <- at$rows
  settings <- at$settings
  selected <- at$selected
  prior <- settings$prior
  penalty <- settings$penalty
  if (settings$family == "gaussian" && !is.null(rows$y_sd) && settings$standardize) {
    prior <- scale_prior(prior, rows$y_sd, rows$y_mean)
    if (is.numeric(penalty)) penalty <- penalty / rows$y_sd^2
  }
  blocks <- linear_blocks(
    rows, penalty, prior, selected,
    if (length(rows$random) > 1L) crossed_terms(rows, settings, selected),
    sampled = settings$method == "gibbs", standardize = settings$standardize,
    family = settings$family, nested = at$nested
  )
  if (is.null(law) && settings$standardize) {
    # Columns of a matrix or a source have no formula that tells what they are made of.
    if (is.null(rows$terms) || identical(rows$data$type, "file")) {
      warn_combined(rows, settings)
    } else if (length(at$nested)) {
      warn_nested(rows, settings, blocks)
    }
  }
  wide <- if (!is.null(rows$holes) && uses_completed(rows, settings)) {
    model <- law %||% first_law(rows, settings)
    rows_of_completions(rows, rows$info$holes$parts, model)
  }
  data <- if (is.null(rows$data)) {
    linear_data(wide %||% rows, blocks)
  } else {
    rows$data[setdiff(names(rows$data), "type")]
  }
  data["selection"] <- list(if (length(selected)) core_selection(selected, settings$prior, rows))
  data["holes"] <- list(
    if (is.null(wide) && !is.null(rows$holes)) {
      core_missing(rows, blocks, settings$prior, length(selected) == 0L)
    }
  )
  data$atoms <- wide$atoms[c("row", "log_prior")]
  data$units <- if (!is.null(rows$units)) as.double(rows$units)
  if (settings$method == "svi") check_svi_model(data)
  if (identical(settings$polish, "ep") && !is.null(data$selection)) refuse_ep_polish(data, blocks)
  names <- if (settings$method == "gibbs") draw_names(rows, blocks, data, settings)
  job <- list(
    settings = settings, blocks = blocks, data = data, design = rows, response = at$response,
    atoms = wide$atoms, completion_model = if (!is.null(wide)) model, names = names,
    # Also a selection by "vb" ends with draws.
    wide = if (settings$method == "gibbs" || length(selected)) {
      wide[intersect(c("x", "random", "offset", "open"), names(wide))]
    },
    stored = length(names),
    control = c(
      core_settings(settings, rows), if (settings$family != "hinge") core_family(settings, prior)
    ),
    shared = list(
      data = data, prior = c(blocks, list(transforms = lapply(blocks$blocks, `[[`, "transform")))
    )
  )
  if (length(job$design$processes) || !is.null(job$design$lean) ||
    length(job$design$sample$processes)) {
    job <- add_processes(job, wide)
  }
  if (settings$family == "hinge" && !is.null(job$data$weights)) {
    rate <- settings$learning_rate %||% if (length(selected)) "calibrated" else 1
    plain <- identical(rate, 1) && is.null(rows$holes)
    if (plain) job$settings$learning_rate <- rate else job <- settle_learning_rate(job, rows)
  }
  if (is.null(law) && !is.null(job$atoms)) settle_predictors(job, given[[1L]], given[[2L]]) else job
}

# What depends on the rows: the family, its prior, which columns are selected, the engine, and the
# penalty. Returns them in `rows` and `settings`, with the `response` that the fit has, `selected`
# and `nested` columns.
settle_rows <- function(rows, settings, law) {
  settings$family <- settings$family %||% (if (length(rows$levels)) "logit" else "gaussian")
  open <- vapply(settings$prior[c("sd_scale", "noise_rate")], is.null, NA)
  settings$prior <- family_prior(settings$prior, settings$family)
  if (settings$family == "probit" && settings$method == "gibbs") refuse_powers(rows)
  if (length(rows$processes)) refuse_with_processes(rows, settings)
  if (length(rows$holes$levels)) refuse_missing_factors(rows, settings)
  weighed <- settings$family == "hinge" && !identical(settings$class_weights %||% "none", "none")
  if (weighed) rows <- weigh_classes(rows, settings)
  response <- NULL
  if (settings$family == "gaussian") {
    response <- linear_response_scale(rows, settings)
    if (!is.null(response)) rows <- scale_response(rows, response)
    if (!settings$standardize) settings$prior <- prior_in_units(settings$prior, rows, open)
    if (open[["noise_rate"]]) {
      settings$prior$noise_rate <- vague_noise_rate(rows, settings$prior$noise_rate)
    }
  }
  selected <- integer()
  if (!isFALSE(settings$select %||% FALSE)) {
    selected <- selected_columns(rows, settings)
    # Where each term has one column there is no difference.
    if (!anyDuplicated(rows$assign[selected])) settings$prior$inclusion <- "column"
  }
  large <- length(rows$y) * as.double(max(1L, ncol(rows$x))) > most_ep_cells
  if (settings$method == "ep" && "method" %in% settings$open &&
    (large || length(rows$random) > 1L)) {
    settings <- settle_size(rows, settings, selected, large)
  }
  if (!(settings$method %in% c("ep", "vb"))) rows <- whole_design(rows)
  # Of a law that is known the predictors have missing values, and the prior is another one.
  nested <- if (is.null(law) && sum(rows$assign > 0L, na.rm = TRUE) > 1L) nested_columns(rows)
  parts <- length(rows$random) + length(rows$smooths) + length(selected)
  if (is.null(settings$penalty)) {
    # The priors of probabilities are no flat ones: there is nothing to learn from unless the user
    # wants that. One variance is that of predictors that are alike: it would hold products of
    # predictors that are far from 0 at 0.
    none <- parts > 0 || !(settings$family %in% c("hinge", "gaussian")) ||
      is_least_squares(
        rows$levels, sum(several_copies(rows$weights) %||% rows$n), ncol(rows$x)
      ) ||
      (length(nested) && knows_nested(rows, "none", settings$prior, NULL, NULL))
    settings$penalty <- if (none) "none" else "learn"
  }
  if (settings$family == "gaussian" && identical(settings$penalty, "none")) {
    warn_saturated(rows, settings, parts + length(rows$processes))
  }
  list(rows = rows, settings = settings, response = response, selected = selected, nested = nested)
}

# As that of the coefficients, in units of the response, but for what was given.
prior_in_units <- function(prior, rows, open) {
  prior$size <- response_spread(rows, FALSE)$size
  if (open[["noise_rate"]]) prior$noise_rate <- prior$noise_rate * prior$size^2
  if (!open[["sd_scale"]]) prior$sd_scale <- prior$sd_scale / prior$size
  prior
}

first_law <- function(rows, settings) {
  model <- completion_model(rows, settings$mechanism)
  # A response with little noise tells a value that a curve is made of more sharply than its law.
  if (settings$family == "gaussian" && length(rows$processes) > 0L) model$nodes <- 21L
  if (settings$family == "gaussian" && is.null(settings$mechanism)) {
    model$response <- response_of_completed(rows)
  }
  if (!is.null(settings$mechanism)) {
    model$mechanism <- start_mechanism(settings$mechanism, rows$holes)
  }
  model
}

# Length-scales that are open, then the features of processes.
add_processes <- function(job, wide) {
  if (length(job$design$sample$processes)) return(add_streamed_processes(job))
  if (!is.null(job$design$lean)) return(add_lean_processes(job))
  threads <- job$settings$threads
  rows <- wide %||% job$design
  rows <- fill_design(learn_processes(job, rows), threads)
  job$design$info <- rows$info
  if (is.null(wide)) job$design <- rows
  job$data$x <- rows$x
  if (job$settings$method != "gibbs") job$data$open <- rows$open
  # However large, a residual costs the hinge log 2 a row, which is less than a good fit does: over
  # a grid the variance of a process would grow without end.
  if (job$settings$family == "hinge") job$control$variances <- "vb"
  job$shared$data <- job$data
  job
}

# What the functions below ask of a design, for rows in a file.
source_design <- function(rows) {
  columns <- rows$columns
  rows$x <- matrix(0, 0L, length(columns), dimnames = list(NULL, columns))
  rows$random <- rows$smooths <- list()
  rows
}

linear_run <- function(job) {
  if (!is.null(job$data$shares)) job$control$remote <- share_streamed_rows(job)
  share <- if (!is.null(job$settings$cluster)) share_linear_rows(job)
  if (!is.null(share)) {
    on.exit(share$release())
    job$control$remote <- share$remote
  }
  core <- if (job$settings$method == "vb" && is.null(job$data$path)) {
    run_vb(job)
  } else if (job$settings$method == "ep") {
    run_ep(if (length(job$design$random)) job else leave_rows_out(job))
  } else {
    run_svi(job)
  }
  core$usable <- length(core$theta_mean) > 0L && all(is.finite(core$theta_mean))
  core
}

run_svi <- function(job) {
  run <- if (is.null(job$data$path)) bsvm_svi_cpp else bsvm_stream_cpp
  # Full passes alone.
  if (job$settings$method == "vb") job$settings$epochs <- 0L
  core_call(run(job$data, job$shared$prior, svi_control(job)))
}

svi_control <- function(job) {
  settings <- job$settings
  c(
    settings[c("tol", "max_iter", "threads", "progress", "epochs")],
    list(
      accelerate = TRUE, seed = as.double(settings$seed %||% 0),
      batch_size = as.double(settings$batch_size)
    ), job$control[intersect(c("family", "rule", "noise", "remote"), names(job$control))]
  )
}

linear_collect <- function(fit, core, job, rows) {
  whole <- job
  job <- core$screen$job %||% job
  if (length(core$processes)) job$design$info <- with_centres(job$design$info, core$processes)
  design <- job$design
  fit[c("method", "family")] <- job$settings[c("method", "family")]
  fit$chosen <- job$settings$chosen
  fit[c("learning_rate", "calibrated")] <-
    if (fit$family == "hinge") job$settings[c("learning_rate", "calibrated")] else list(NULL, NULL)
  fit$class_weights <- design$class_weights
  fit$prior <- job$settings$prior
  fit$penalty <- job$settings$penalty
  fit$offset <- rows$offset
  fit[c("counted", "powers")] <- rows[c("counted", "powers")]
  fit$smooths <- rows$smooths
  fit$design <- design$info %||% fit$design
  names <- colnames(design$x)
  random <- which(vapply(job$blocks$blocks, `[[`, 1L, "random") > 0L)
  fit$transform <- list(
    center = stats::setNames(as.double(design$center), names),
    scale = stats::setNames(as.double(design$scale), names),
    random = lapply(job$blocks$blocks[random], `[[`, "transform")
  )
  fit$transform$response <- job$response
  fit$n_omitted <- rows$n_omitted
  fit$holes <- rows$holes[c("predictors", "center", "scale_x")]
  fit$holes$levels <- rows$holes$levels
  fit$holes$model <- job$completion_model
  # Of rows of the fit alone.
  fit$holes$model[c("by_row", "seen", "apart", "response")] <- NULL
  if (fit$method == "gibbs") {
    fit <- collect_gibbs(fit, core, job)
    core$influence <- gibbs_influence(fit, job)
  } else {
    if (!is.null(job$data$atoms)) core <- collect_completed(core, job)
    if (!is.null(job$response)) core <- rescale_answer(core, job$response, rows$weights)
    fit <- collect_vb(fit, core, job)
    if (fit$method == "ep") fit <- collect_ep(fit, core, job)
    if (!is.null(core$polished$chains)) fit <- collect_polish(fit, core, job)
  }
  levels <- vapply(design$random, function(term) length(term$levels), 1L)
  if (any(levels >= sum(design$weights > 0))) warn_single_rows(fit, job)
  if (!is.null(core$screen)) fit <- widen_selection(fit, core, whole)
  job <- whole
  if (fit$family == "hinge") {
    fit$given_up <- warn_given_up(fit$levels, 1L + (fit$y > 0), fit$fitted$mean, fit$weights)
    fit <- add_sandwich(fit, core, job)
  }
  fit
}

# Stochastic steps know sums over rows only.
check_svi_model <- function(data) {
  lacking <- c(
    if (!is.null(data$selection)) "selection",
    if (!is.null(data$holes) || !is.null(data$atoms)) "modeled missing predictors"
  )
  if (length(lacking) > 0) {
    bk_abort(
      "argument", "Method \"svi\" does not fit this model.",
      paste("Found:", paste(lacking, collapse = " and ")),
      "Accepted: fixed, penalized, smooth and random terms.",
      "Use method = \"vb\" or method = \"gibbs\".", column = "method", found = lacking
    )
  }
}

# Prior blocks in the order of the core: the penalty, the smooths, then the random terms. The term
# with most effects is eliminated; the others are columns of theta, those that are crossed last.
# Selected columns are in no block.
linear_blocks <- function(design, penalty, prior, selected, crossed = NULL, sampled = FALSE,
                          standardize, family, nested = nested_columns(design)) {
  p <- ncol(design$x)
  wiggly <- unlist(lapply(design$smooths, `[[`, "blocks"))
  unpenalised <- unlist(lapply(design$smooths, `[[`, "fixed"))
  penalised <- if (identical(penalty, "none")) integer() else seq_len(p)
  penalised <- setdiff(penalised, c(if (has_intercept(design)) 1L, wiggly, unpenalised))
  if (length(nested) && !knows_nested(design, penalty, prior, selected, crossed)) nested <- NULL
  fixed <- setdiff(seq_len(p), c(penalised, wiggly, selected))
  resolved <- resolve_prior(prior, length(fixed), colnames(design$x)[fixed])
  precision <- mean <- numeric(p)
  variance <- resolved$beta_var
  if (length(prior$beta_var) == 1L && has_intercept(design)) {
    variance[fixed == 1L] <- prior$intercept_var %||% prior$beta_var
  }
  if (isTRUE(prior$by_column)) {
    variance <- column_variances(design, fixed, variance, standardize, family, nested)
    if (isTRUE(prior$flat_intercept) && !identical(penalty, "none") && has_intercept(design)) {
      variance[fixed == 1L] <- 1e8 * (prior$size %||% 1)^2
    }
  }
  precision[fixed] <- 1 / variance
  plain <- if (length(nested)) fixed[which(design$assign[fixed] > 0L)]
  precision[plain] <- 0
  mean[fixed] <- resolved$beta_mean
  # Of a response that is fitted with its mean.
  if (has_intercept(design) && 1L %in% fixed) mean[1L] <- mean[1L] + (prior$center %||% 0)
  blocks <- c(
    if (length(penalised)) list(column_block("penalty", penalised, design, prior, penalty)),
    if (length(plain)) list(nested_block(plain, variance[match(plain, fixed)], design, nested)),
    if (length(design$smooths)) smooth_blocks(design, prior, sampled)
  )
  places <- rep("eliminated", length(design$random))
  if (length(places) > 1L) places <- term_places(design, crossed)
  before <- length(blocks)
  blocks <- c(blocks, lapply(seq_along(places), function(t) {
    random_block(design$random[[t]], t, places[t], prior)
  }))
  for (l in before + c(which(places == "dense"), crossed)) {
    blocks[[l]]$first <- length(precision)
    blocks[[l]]$crossed <- match(l - before, crossed, nomatch = 0L)
    zeros <- numeric(blocks[[l]]$members * blocks[[l]]$width)
    precision <- c(precision, zeros)
    mean <- c(mean, zeros)
  }
  list(precision = precision, mean = mean, blocks = blocks)
}

# How the effects of each random term are treated: "eliminated", as "dense" columns of theta, or as
# "crossed" with others (crossed_terms()).
term_places <- function(design, crossed) {
  size <- term_sizes(design)
  out <- rep("dense", length(size))
  if (length(crossed) == 0L) out[which.max(size)] <- "eliminated"
  out[crossed] <- "crossed"
  out
}

# Columns of x with one variance, learned, of the prior `variance`, or held.
column_block <- function(label, at, design, prior, penalty = "learn",
                         variance = variance_prior(prior, scale = label == "penalty")) {
  c(
    list(
      label = label, columns = colnames(design$x)[at], eliminated = FALSE, crossed = 0L,
      first = min(at) - 1L, members = length(at), width = 1L, random = 0L,
      transform = matrix(0, 0, 0)
    ),
    if (is.character(penalty)) {
      c(list(kind = "iid"), variance)
    } else {
      list(kind = "held", precision = penalty)
    }
  )
}

# The variance of a process is a point where residuals are multiples of it.
smooth_blocks <- function(design, prior, sampled) {
  parts <- lapply(design$smooths, function(smooth) {
    lapply(seq_along(smooth$blocks), function(k) {
      variance <- if (smooth$process) {
        process_prior(prior)
      } else {
        random_prior(prior, 1 / (smooth$sizes[k] %||% 1))
      }
      block <- column_block(
        smooth$block_labels[k], smooth$blocks[[k]], design, prior, variance = variance
      )
      if (smooth$process && !sampled) block$kind <- "point"
      block
    })
  })
  unlist(parts, recursive = FALSE)
}

# `transform` is the matrix T with u(data scale) = T u(model scale), for z* = (z - c) / s.
random_block <- function(term, t, place, prior) {
  r <- length(term$columns)
  transform <- diag(1 / term$scale, r)
  at <- match("(Intercept)", term$columns)
  if (!is.na(at)) transform[at, ] <- transform[at, ] - term$center / term$scale
  c(
    list(
      label = term$label, columns = term$columns, eliminated = place == "eliminated", crossed = 0L,
      first = 0L, members = length(term$levels), width = r, random = t,
      transform = transform, kind = term$type
    ),
    if (term$type == "iid") {
      random_prior(prior)
    } else {
      covariance_prior(prior, r, sprintf("the %d effects of `%s`", r, term$label))
    }
  )
}

linear_data <- function(design, blocks) {
  out <- list(
    x = design$lean$x %||% design$x, center = as.double(design$center),
    scale = as.double(design$scale), y = as.double(design$y), weights = as.double(design$weights),
    offset = as.double(design$offset), z = matrix(0, length(design$y), 0), group = integer(),
    n_groups = 0L, kept = list()
  )
  if (!is.double(out$x)) out$x <- as_doubles(out$x)
  if (!is.null(design$lean)) {
    out[c("center", "scale")] <- lapply(out[c("center", "scale")], `[`, design$lean$at)
  }
  for (block in blocks$blocks) {
    if (block$random == 0L || block$crossed > 0L) next
    term <- design$random[[block$random]]
    if (block$eliminated) {
      out$z <- scaled_term(term)
      out$group <- as.integer(term$group)
      out$n_groups <- block$members
    } else {
      out$kept[[length(out$kept) + 1L]] <- list(
        group = as.integer(term$group), members = block$members, z = scaled_term(term)
      )
    }
  }
  out$crossed <- if (length(design$random) > 1L) crossed_data(design, blocks$blocks) else list()
  out
}

core_settings <- function(settings, design) {
  c(
    settings[c(
      "tol", "max_iter", "accelerate", "warmup", "draws", "thin", "threads",
      "progress", "keep_ranef", "keep_imputed"
    )],
    list(
      seed = as.double(settings$seed), intercept = has_intercept(design),
      chain_id = seq_len(settings$chains), states = list()
    )
  )
}

collect_vb <- function(fit, core, job) {
  status <- core$status
  design <- job$design
  data <- job$data
  posterior <- vb_posterior(core, job)
  if (!is.null(data$selection)) posterior <- add_selection(posterior, core, data, fit$prior)
  posterior$holes <- core$holes
  fit$posterior <- posterior
  fit$imputed <- if (!is.null(job$atoms)) {
    imputed_completed(core, job)
  } else if (!is.null(core$holes)) {
    imputed_vb(core$holes, design)
  }
  # The margin of a row source is the smallest y f.
  sure <- if (is.null(data$path)) design$y * core$mean else status$margin
  if (fit$family != "gaussian") warn_separation(core$theta_mean, sure, fit, job)
  if (is.null(data$path)) fit$fitted <- list(mean = core$mean, var = core$variance_f)
  fit$trace <- list(elbo = status$bound)
  fit$diagnostics <- status[intersect(c(
    "passes", "rejected", "converged", "largest_fall", "jitter", "seconds",
    "epochs", "steps", "batch_size", "interrupted"
  ), names(status))]
  fit
}

# q(theta, u) and q of the variances, named.
vb_posterior <- function(core, job) {
  design <- job$design
  blocks <- job$blocks
  if (!is.null(core$shared_cov)) core <- add_shared(core)
  posterior <- list(
    theta_mean = core$theta_mean, theta_cov = core$theta_cov, random = list(), variance = list()
  )
  if (length(core$basis) == 0) {
    # One term alone is eliminated.
    names <- colnames(design$x)
    if (length(design$random) > 1L) names <- c(names, kept_names(design, blocks))
    names(posterior$theta_mean) <- names
    dimnames(posterior$theta_cov) <- list(names, names)
  } else {
    posterior$wide <- list(
      first = core$basis_first, basis = core$basis, hidden_var = 1 / core$precision[[1]][1, 1]
    )
  }
  for (l in seq_along(blocks$blocks)) {
    block <- blocks$blocks[[l]]
    posterior$variance[[l]] <- c(
      list(label = block$label, columns = block$columns, type = block$kind),
      if (block$kind == "held") list(precision = block$precision) else core$variance[[l]]
    )
    if (block$random > 0L) {
      posterior$random[[block$random]] <- random_posterior(
        block, design$random[[block$random]], core
      )
    }
  }
  if (!is.null(core$pairs)) posterior$pairs <- crossed_pairs(core, blocks$blocks)
  if (job$settings$family == "gaussian") posterior$noise <- core$noise
  posterior
}

# With selection the bound has several maxima: of the fits from several starts the one with the
# highest bound counts. They are compared before they have converged to the last digit; the best
# goes on to that, from its inclusions, or once more from where it started where these lead below
# it.
run_vb <- function(job) {
  job$control$seed <- 0
  if (is.null(job$data$selection)) return(run_starts(job, 1))
  if (screens_columns(job)) {
    best <- run_screened(job)
    return(polish_run(best$screen$job %||% job, best))
  }
  starts <- job$settings$starts %||% default_starts
  job$control$max_iter <- min(job$control$max_iter, most_passes %/% 4L)
  best <- if (length(starts) > 1L) run_best_start(job, starts) else run_starts(job, starts)
  polish_run(job, best)
}

# A search with the inclusion probabilities that were asked for.
polish_run <- function(job, best) {
  polish <- job$settings$polish
  if (isFALSE(polish) || !best$usable || best$status$interrupted) return(best)
  run <- if (identical(polish, "ep")) polish_by_ep else polish_selection
  best$polished <- run(job, best)
  best$status$interrupted <- is.null(best$polished)
  best
}

# Passes of a selection in all, over its starts and what follows: half of them for the starts, a
# quarter for each of two climbs to the last digit. Plain ascent in columns of wild scales would
# take any number.
most_passes <- 40000L

run_best_start <- function(job, starts) {
  rough <- job
  rough$control$max_iter <- min(job$control$max_iter, most_passes %/% (2L * length(starts)))
  rough$control$tol <- max(1e-2, job$control$tol)
  found <- run_starts(rough, starts)
  if (found$status$interrupted) return(found)
  best <- go_on_selecting(job, found)
  if (best$status$interrupted || no_worse(best, found)) {
    best
  } else {
    run_starts(job, found$status$start)
  }
}

# Whether a fit's bound is that of another, or higher.
no_worse <- function(core, than) {
  !isTRUE(than$usable) || isTRUE(core$usable) &&
    last(core$status$bound) > last(than$status$bound) - 1e-4
}

# From where another has ended, its weights of rows and coefficients apart.
go_on_selecting <- function(job, from) {
  q <- from$selection
  job$data$selection[c("start_b", "start_precision")] <- list(q$expected_b, q$shape / q$rate)
  out <- run_start(job, q$inclusion)
  out$status$start <- from$status$start
  out
}

run_start <- function(job, start) {
  if (!is.null(job$data$selection)) job$data$selection$start <- start
  run <- if (length(job$data$crossed)) bsvm_crossed_vb_cpp else bsvm_vb_cpp
  core_call(run(job$data, job$shared$prior, job$control))
}

run_starts <- function(job, starts) {
  best <- NULL
  for (start in starts) {
    core <- run_start(job, if (is.na(start)) marginal_start(job) else start)
    core$status$start <- start
    # Of bounds as good as equal the first, which other machines find, too.
    if (is.null(best) || !no_worse(best, core)) best <- core
    if (core$status$interrupted) {
      best$status$interrupted <- TRUE
      break
    }
  }
  best
}

# Effects of random terms that are columns of theta.
kept_names <- function(design, blocks) {
  kept <- lapply(blocks$blocks, function(block) {
    if (block$random > 0L && !block$eliminated && block$crossed == 0L) {
      ranef_names(block$label, block$columns, design$random[[block$random]]$levels)
    }
  })
  c(unlist(kept), shared_names(blocks$blocks))
}

random_posterior <- function(block, term, core) {
  m <- block$members
  r <- block$width
  out <- list(
    label = block$label, columns = block$columns, levels = term$levels,
    eliminated = block$eliminated || block$crossed > 0L, crossed = block$crossed
  )
  if (out$eliminated) {
    own <- if (block$crossed > 0L) {
      core$crossed[[block$crossed]]
    } else {
      list(mean = core$group_mean, cov = core$group_cov, loading = core$loading, schur = core$schur)
    }
    out$mean <- t(own$mean)
    out$cov <- array(own$cov, c(r, r, m))
    p <- nrow(own$loading)
    out$loading <- if (r == 1L) {
      array(own$loading, c(r, p, m))
    } else {
      aperm(array(own$loading, c(p, r, m)), c(2, 1, 3))
    }
    out$schur <- array(own$schur, c(r, r, m))
  } else {
    at <- block$first + seq_len(m * r)
    out$index <- at
    out$mean <- matrix(core$theta_mean[at], m, r, byrow = TRUE)
    out$cov <- array(0, c(r, r, m))
    for (g in seq_len(m)) {
      own <- at[(g - 1) * r + seq_len(r)]
      out$cov[, , g] <- core$theta_cov[own, own]
    }
  }
  out
}

# Rows of the linear model over the workers of a cluster (share_rows()), cut where groups of the
# eliminated term begin: a group never leaves its worker.

# NULL where there is nothing that workers could do.
share_linear_rows <- function(job) {
  data <- job$data
  cluster <- job$settings$cluster
  alone <- !is.null(data$path) || !is.null(data$selection) || !is.null(data$holes) ||
    length(data$crossed) > 0L ||
    length(job$blocks$precision) > nrow(data$x)
  if (alone) return(NULL)
  prior <- job$shared$prior
  plan <- core_call(linear_shards_cpp(data, prior))
  share_rows(
    cluster, plan, linear_keeper,
    function(part, give) give(linear_share(data, part, plan$order)),
    list(prior = prior, settings = c(
      job$control[intersect(c("family", "rule", "noise", "threads"), names(job$control))],
      # Minibatches are of rows that were copied.
      list(many = plan$many && job$settings$method != "svi")
    ))
  )
}

# The data of a share of the plan.
linear_share <- function(data, part, order) {
  at <- seq.int(part$row[1L] + 1, max(part$row))
  data <- rows_at(data, if (is.null(order)) at else order[at])
  if (length(data$group)) {
    data$group <- data$group - as.integer(part$group[1L])
    data$n_groups <- as.integer(max(part$group) - part$group[1L])
  }
  data
}

# On the worker ---------------------------------------------------------------

linear_keeper <- list(
  receive = function(share, piece) piece,
  open = function(share, open) {
    core <- linear_worker_cpp(share, open$prior, open$settings, open$first)
    if (inherits(core, "bayeskernel_core_error")) return(core)
    list(core = core, begin = open$begin)
  },
  pass = function(share, task, own) {
    worker_pass_cpp(share$core, task, own %||% list(), share$begin)
  },
  close = NULL
)
