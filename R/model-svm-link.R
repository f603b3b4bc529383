# The calibrated link of support vector machines, whose likelihood says nothing of probabilities: P
# = plogis(a + kappa m / sqrt(1 + pi kappa^2 v / 8)) for f of mean m and variance v, two classes;
# the softmax of the same, with one kappa and an intercept for each class, of more. Both come from
# moments of each row given the others. Where a class was given up v is out of proportion to what m
# varies by: there is a second form, in which v counts only beyond an offset that nearly all rows
# are below, and m is damped towards its center (src/core/predict/calibrated_link.hpp). Rows
# are not kept: the fit has `link`, a list of `intercept`, `slope`, `center`, `offset`, 0 in the
# first form, `lapse`, `rows`, `value`, minus what they maximise, `by_variance`, the same by the
# first form, `loss`, the mean log-loss of these rows, `log_prob`, of each row's class given the
# other rows where these are all, `robust`, whether m and v are those of a normal law with the
# quantiles of the draws, and `new`, another such list for rows of groups that the fit has not seen;
# or of `why` there is none. The second form takes nothing off a mean far on the other side, as of a
# row without others near it, if its variance is a usual one: half a row of each class is added, a
# share `lapse` of rows that are of any class.

most_link_rows <- 20000L

# The links of a fit, its default first.
hinge_links <- function(object) c(if (!is.null(object$link$slope)) "calibrated", "probit", "hinge")

is_calibrated <- function(object) !is.null(object$link$slope)

# Adds `link` to a fit from `left_out`: a list of `mean` and `var`, a column a machine, of rows
# given the others, `y`, numbers of classes from 0, `weights`, and `own`, the fit's own robust
# moments of the rows if the others are such; or the reason why there are none.
add_link <- function(fit, left_out) {
  fit$loo_probit <- fit$loo
  if (is.character(left_out)) {
    fit$link <- list(why = left_out)
    return(fit)
  }
  calibrated <- function(rows) calibrate_link(rows, length(fit$levels), fit$seed)
  link <- calibrated(left_out)
  fit$link <- if (is.null(link$refused)) link else say_refused(link)
  if (is.null(fit$link$slope)) return(fit)
  if (NROW(left_out$mean) == fit$n) {
    prob <- calibrated_probability(fit$link, as.matrix(left_out$mean), as.matrix(left_out$var))
    fit$link$log_prob <- log(pmax(own_probability(prob, left_out$y + 1L), 1e-300))
  }
  fit$judged <- if (!is.null(fit$link$log_prob) && NCOL(prob) > 1L) judge(prob, left_out$y + 1L)
  # `loo` is about the probabilities of predict().
  if (!is.null(fit$loo)) fit["loo"] <- list(fit$link$log_prob)
  if (!is.null(left_out$own)) {
    fit$link$robust <- TRUE
    fit$fitted[c("middle", "spread")] <- left_out$own
  }
  new <- left_out$new
  if (!is.null(new)) {
    left_out[names(new)] <- new
    new <- calibrated(left_out)
    if (is.null(new$refused)) fit$link$new <- new
  }
  fit
}

calibrate_link <- function(rows, classes, seed) {
  mean <- as.matrix(rows$mean)
  var <- as.matrix(rows$var)
  weights <- as.double(rows$weights %||% rep(1, nrow(mean)))
  use <- which(weights > 0 & is.finite(rowSums(mean)) & is.finite(rowSums(var)))
  y <- factor(rows$y[use], seq_len(classes) - 1L)
  # Copies are rows; powers are not.
  copies <- rep_len(row_copies(weights, rows$counted), length(weights))[use]
  counts <- tapply(copies, y, sum, default = 0)
  least <- least_rows(classes)
  if (any(counts < least)) {
    return(list(why = sprintf(
      "It needs %d rows of every class, and one has %.0f.", least, min(counts)
    )))
  }
  at <- list(rows = seq_along(y), times = 1)
  if (length(y) > most_link_rows) at <- sample_classes(y, seed)
  use <- use[at$rows]
  mean <- unname(mean[use, , drop = FALSE])
  var <- unname(var[use, , drop = FALSE])
  y <- as.integer(y[at$rows])
  weights <- weights[use] * at$times
  found <- core_call(calibrated_link_cpp(mean, var, y - 1L, weights, FALSE))
  rows <- sum(copies[at$rows])
  half <- classes / 2
  found$lapse <- if (any(found$offset > 0)) half / (rows + half) else 0
  found <- c(found[c(link_numbers, "value", "by_variance")], list(rows = rows))
  judge_link(found, mean, var, y, weights)
}

# By how much a link has to be worse than something simpler, in the sum of log-losses and in their
# mean: its prior, which keeps it from saying 0 and 1 where all of few rows are right, costs less.
refused_from <- c(sum = 3, mean = 0.05)

# The link with its mean log-loss on the rows that it is from, or why it is refused: it says less of
# them than the shares of the classes, or than the class that the margin gives and how often that is
# right, and "probit" does not say still less.
judge_link <- function(link, mean, var, y, weights) {
  total <- sum(weights)
  machines <- ncol(mean)
  classes <- max(machines, 2L)
  mean_loss <- function(prob) -sum(weights * log(pmax(prob, 1e-300))) / total
  loss <- mean_loss(own_probability(calibrated_probability(link, mean, var), y))
  share <- vapply(seq_len(classes), function(k) sum(weights[y == k]), 0) / total
  chosen <- if (machines == 1L) 1L + (mean[, 1L] >= 0) else max.col(mean, "first")
  right <- (sum(weights[chosen == y]) + 0.5) / (total + 1)
  other <- c(
    "the shares of the classes" = mean_loss(share[y]),
    "the sign of the margin" = mean_loss(ifelse(chosen == y, right, (1 - right) / (classes - 1)))
  )
  best <- which.min(other)
  more <- loss - other[[best]]
  probit <- stats::pnorm(mean / sqrt(1 + var))
  if (machines > 1L) probit <- normalise_rows(matrix(probit, ncol = machines))
  probit <- mean_loss(own_probability(probit, y))
  if (total * more > refused_from[["sum"]] && more > refused_from[["mean"]] && loss > probit) {
    return(list(refused = TRUE, why = sprintf(
      "Its log-loss of rows left out, %s, is above that of %s, %s.", format(loss, digits = 2),
      names(other)[best], format(other[[best]], digits = 2)
    )))
  }
  c(link, list(loss = loss))
}

say_refused <- function(link) {
  bk_warn(
    "link", "The calibrated link is refused: \"probit\" is used instead.",
    link$why, "Use threshold = \"margin\" for classes, or bkm()."
  )
  link["why"]
}

# Beyond most_link_rows an equal number of each class, as far as there are, and how many rows each
# stands for.
sample_classes <- function(y, seed) {
  n <- length(y)
  rows <- split(seq_len(n), y)
  share <- most_link_rows %/% length(rows)
  taken <- with_seed(seed %||% 1L, lapply(rows, function(own) {
    if (length(own) <= share) own else sort(own[sample.int(length(own), share)])
  }))
  times <- rep(lengths(rows) / lengths(taken), lengths(taken))
  list(rows = unlist(taken, use.names = FALSE), times = unname(times))
}

# --- moments of rows given the others ----------------------------------------

# From those of all rows by one step: the row's own part of the posterior has curvature `kappa` and
# gradient g at its moments, and is taken out. `power`, of the likelihood; of a row that stands for
# `copies` one is left out. `mean_field` has its own curvature; else the moments are the posterior's
# own, or with a residual the curvature is that of the hinge under a normal law. `residual`: what
# the variance has of the row alone, which others do not tell.
step_left_out <- function(mean, var, sign, power, copies = 1, mean_field = TRUE, residual = 0) {
  copies <- pmax(copies, 1)
  if (!mean_field && all(residual == 0)) return(hinge_cavity(mean, var, sign, power, copies))
  u <- 1 - sign * mean
  if (mean_field) {
    root <- sqrt(u^2 + var)
    gradient <- power * sign * (1 + u / root)
    kappa <- power * var / root^3
  } else {
    sd <- sqrt(var)
    gradient <- 2 * power * sign * stats::pnorm(u / sd)
    kappa <- 2 * power * stats::dnorm(u / sd) / sd
  }
  # A row without variance stays as it is.
  whole <- var
  var <- var - residual
  open <- var > 0
  left <- 1 - ifelse(open, kappa * var, 0) / copies
  far <- left < 0.2
  left <- pmax(left, 0.05)
  out <- list(
    mean = mean - ifelse(open, var * gradient, 0) / copies / left, var = var / left + residual
  )
  cavities_where(far, out, mean, whole, sign, power, copies)
}

# Where a row has most of what is known of its f, as where selection leaves a large coefficient
# open, a step goes too far: there by the cavity of its loss.
cavities_where <- function(far, out, mean, var, sign, power, copies) {
  if (any(far)) {
    of <- function(x) rep_len(x, length(mean))[far]
    cavity <- hinge_cavity(mean[far], var[far], sign[far], of(power), of(copies))
    cavity <- own_where_no_cavity(cavity, mean[far], var[far])
    out$mean[far] <- cavity$mean
    out$var[far] <- cavity$var
  }
  out
}

# Moments that no normal law given the others explains, as of draws whose sd is above their distance
# from the margin: those rows keep their own.
own_where_no_cavity <- function(out, mean, var) {
  far <- which(abs(out$mean - mean) > 2 * sqrt(var))
  out$mean[far] <- mean[far]
  out$var[far] <- var[far]
  out
}

# The normal law of f of which the row's term of the pseudo-likelihood makes one with this mean and
# variance: the cavity of expectation propagation, by its own updates. A step from the posterior
# would go too far where f is free.
hinge_cavity <- function(mean, var, sign, power, copies = 1, steps = 200L) {
  m <- sign * mean
  power <- rep_len(power, length(m))
  on <- which(var > 0 & power > 0)
  precision <- 1 / var[on]
  shift <- m[on] * precision
  own <- list(precision = precision, shift = shift)
  for (step in seq_len(steps)) {
    tilted <- tilt_hinge(shift / precision, 1 / precision, 2 * power[on])
    by <- 0.5 * (own$precision - 1 / tilted$var)
    # At least a twentieth of the precision is that of the others.
    by <- pmax(precision + by, 0.05 * own$precision) - precision
    move <- 0.5 * (own$shift - tilted$mean / tilted$var)
    precision <- precision + by
    shift <- shift + move
    if (all(abs(by) < 1e-8 * own$precision)) break
  }
  share <- 1 / rep_len(copies, length(m))[on]
  left <- own$precision - share * (own$precision - precision)
  var[on] <- 1 / left
  m[on] <- (own$shift - share * (own$shift - shift)) / left
  list(mean = sign * m, var = var)
}

# Mean and variance of the law proportional to N(f; m, v) exp(-a (1 - f)_+): two halves of normals
# that meet at 1, where their densities are equal.
tilt_hinge <- function(m, v, a) {
  sd <- sqrt(v)
  half <- function(z, side) {
    tail <- normal_tail(z)
    list(log_ratio = tail$log_ratio, mean = 1 + side * sd * tail$excess, var = v * tail$var)
  }
  free <- half((m - 1) / sd, 1)
  bent <- half((1 - m - a * v) / sd, -1)
  p <- stats::plogis(bent$log_ratio - free$log_ratio)
  list(
    mean = p * free$mean + (1 - p) * bent$mean,
    var = p * free$var + (1 - p) * bent$var + p * (1 - p) * (free$mean - bent$mean)^2
  )
}

# Of a standard normal beyond -z: r = phi(z) / Phi(z) as a logarithm, the mean r + z above that
# limit, and the variance 1 - r (r + z). Far in the tail by their series in 1 / z, where the
# differences lose their digits.
normal_tail <- function(z) {
  log_ratio <- stats::dnorm(z, log = TRUE) - stats::pnorm(z, log.p = TRUE)
  excess <- exp(log_ratio) + z
  var <- pmax(1 - exp(log_ratio) * excess, 0)
  far <- which(z < -30)
  t <- -z[far]
  excess[far] <- (1 - 2 / t^2 + 10 / t^4 - 74 / t^6) / t
  log_ratio[far] <- log(t + excess[far])
  var[far] <- (1 - 6 / t^2 + 50 / t^4 - 518 / t^6) / t^2
  list(log_ratio = log_ratio, excess = excess, var = var)
}

# By mean field's linear response, whose variance is nearer to the posterior's than q's `var`, which
# predictions have.
response_left_out <- function(influence, mean, var, sign, power, copies) {
  copies <- pmax(copies, 1)
  own <- row_influence(influence, copies)
  out <- list(mean = own$left_mean, var = var / pmax(own$share, 0.05))
  cavities_where(own$share < 0.2, out, mean, var, sign, power, copies)
}

# Of rows that stand for several copies the cavities leave all of them out: puts all but one of them
# back.
put_back_copies <- function(out, mean, var, copies) {
  several <- which(copies > 1)
  if (length(several)) {
    share <- 1 / copies[several]
    own <- 1 / var[several]
    precision <- own - share * (own - 1 / out$var[several])
    pull <- mean[several] * own
    pull <- pull - share * (pull - out$mean[several] / out$var[several])
    out$mean[several] <- pull / precision
    out$var[several] <- 1 / precision
  }
  out
}

# Of one machine, and the log probability of its label, +1 or -1, by the probit link, of which
# `log_p` is that of rows that stand for themselves.
left_out_copy <- function(out, mean, var, sign, log_p, copies) {
  several <- which(copies > 1)
  out <- put_back_copies(out, mean, var, copies)
  log_p[several] <- stats::pnorm((sign * out$mean / sqrt(1 + out$var))[several], log.p = TRUE)
  c(out, list(log_p = log_p))
}

linear_left_out <- function(fit, core, job, rows) {
  if (fit$family != "hinge") return(NULL)
  if (!is.null(job$data$path)) return(stream_left_out(fit, job))
  y <- rows$y
  weights <- rows$weights
  copies <- row_copies(weights, rows$counted)
  power <- if (length(job$data$weights) == length(y)) job$data$weights else weights
  out <- if (!is.null(core$left_out)) {
    out <- core$left_out
    if (!is.null(job$atoms)) {
      out <- pool_completed(out, exp(job$data$atoms$log_prior), job$atoms$row)[c("mean", "var")]
    }
    if (any(copies > 1)) put_back_copies(out, core$mean, core$variance_f, copies) else out
  } else if (length(core$influence$mean) == length(y)) {
    response_left_out(core$influence, fit$fitted$mean, core$variance_f, y, power, copies)
  } else {
    at <- fit$fitted
    step_left_out(at$mean, at$var, y, power, copies, mean_field = is.null(fit$draws))
  }
  if (!is.null(fit$draws)) {
    if (cavities_fail(fit$fitted, out, y, weights)) {
      out <- left_out_of_chains(fit, job)
      if (is.character(out)) return(out)
      fit$link <- list(robust = TRUE)
    } else {
      out <- own_where_no_cavity(out, fit$fitted$mean, fit$fitted$var)
    }
  }
  # Missing values of these rows have seen the response.
  if (is.null(core$left_out) && !is.null(rows$holes)) {
    weights <- weights * rows_without_missing(rows$holes)
  }
  c(out, list(
    y = (y + 1) / 2, weights = weights, counted = rows$counted,
    new = groups_left_out(fit, core, job)
  ))
}

# Whether the normal laws given the other rows, by which the posterior moments of f are explained,
# are not to be believed. Where the classes are separated the prior alone limits f: its draws have
# the tails of the variances' prior, and its moments are those of the few largest, which no normal
# law given the others makes.
cavities_fail <- function(at, out, y, weights) {
  use <- weights > 0 & is.finite(out$mean) & is.finite(out$var)
  if (!all(use[weights > 0])) return(TRUE)
  mean <- at$mean[use]
  away <- out$mean[use] * mean < 0 | abs(out$mean[use] - mean) > 2 * sqrt(at$var[use])
  all(y[use] * mean > 0) || mean(away) > 0.05
}

# Of every class, for a link.
least_rows <- function(classes) if (classes > 2L) 30 else 3

link_folds <- 10L
link_chain <- c(warmup = 300L, draws = 500L)

# Robust moments of rows by short chains without them, or without one of their copies, a tenth of
# each class at a time, `mean` and `var`, and of all rows by the draws of the fit, `own`; or the
# reason why there are none.
left_out_of_chains <- function(fit, job) {
  design <- job$design
  y <- design$y
  n <- length(y)
  fit$link <- list(robust = TRUE)
  moments_at <- function(fit, rows, random) {
    at <- latent.bsvm(fit, list(
      x = design$x[rows, , drop = FALSE], offset = fit$offset[rows],
      random = lapply(random, take_term, rows)
    ), threads = job$settings$threads)
    list(mean = at$middle, var = at$spread)
  }
  own <- moments_at(fit, seq_len(n), forget_groups(fit, design$random))
  # What the sampler says of rows whose missing values it draws.
  if (!is.null(job$data$holes)) {
    with_holes <- rowSums(is.na(design$holes$x)) > 0
    own$mean[with_holes] <- fit$fitted$mean[with_holes]
    own$var[with_holes] <- fit$fitted$var[with_holes]
  }
  job <- link_job(fit, job)
  weights <- job$data$weights
  fold <- integer(n)
  order <- with_seed(fit$seed %||% 1, order(y, stats::runif(n)))
  fold[order] <- rep_len(seq_len(link_folds), n)
  out <- list(mean = rep(NA_real_, n), var = rep(NA_real_, n), own = own)
  # Of a row that counts several times all but one stay.
  copies <- row_copies(design$weights_given %||% design$weights, design$counted)
  stay <- 1 - 1 / pmax(rep_len(copies, n), 1)
  for (k in unique(fold)) {
    rows <- which(fold == k)
    job$shared$data$weights <- replace(weights, rows, (weights * stay)[rows])
    core <- core_call(do.call(linear_chains, c(list(job$control), job$shared)))
    if (core$status$interrupted || nzchar(core$status$failure)) {
      return("The chains without some of the rows came to no end.")
    }
    fit$draws <- linear_draws_of(core, job, NULL)
    at <- moments_at(fit, rows, design$random)
    out$mean[rows] <- at$mean
    out$var[rows] <- at$var
  }
  out
}

# One short chain, with random effects.
link_job <- function(fit, job) {
  settings <- job$settings
  settings$keep_ranef <- TRUE
  settings$keep_imputed <- FALSE
  job$names <- draw_names(job$design, job$blocks, job$data, settings)
  control <- list(
    keep_ranef = TRUE, keep_imputed = FALSE, thin = 1L, progress = FALSE,
    seed = as.double(fit$seed %||% 1), chain_id = 1L, states = list()
  )
  job$control[names(control)] <- control
  job$control[names(link_chain)] <- as.list(link_chain)
  job
}

# And groups a column, where the coefficients stay as they are.
least_groups <- 30L
least_groups_a_column <- 10L

# Moments of the rows as if their groups were new, given the other groups: what leaving a group out
# does to the coefficients is the jackknife's step. Of few groups the link of known ones is better.
# Coefficients that are few beside the groups stay as they are where that step is not known: draws,
# selection.
groups_left_out <- function(fit, core, job) {
  design <- job$design
  groups <- outer_groups(design$random)
  if (isFALSE(groups) || length(groups$levels) < least_groups) return(NULL)
  steps <- is.null(fit$draws) && is.null(sandwich_lacks(fit, core, job))
  few <- length(groups$levels) >= least_groups_a_column * ncol(design$x)
  known <- !is.null(fit$draws) || !is.null(job$data$selection)
  holes <- !is.null(job$data$holes) || !is.null(job$atoms)
  if (!steps && (holes || !few || !known)) return(NULL)
  at <- latent(fit, list(
    x = design$x, offset = fit$offset, processes = design$processes,
    random = forget_groups(fit, design$random, all = TRUE)
  ), threads = 1L)
  if (!steps) return(moments_of_link(fit$link, at))
  x <- scaled_columns(design, fit$posterior$wide)
  moves <- group_moves(
    row_influence(core$influence, row_copies(fit$weights, fit$counted)), x,
    core$influence$cov, groups$group
  )
  moved <- moves[match(groups$group, rownames(moves)), , drop = FALSE]
  list(mean = at$mean - rowSums(x * moved), var = at$var)
}

# A sample of the rows of a file, whose moments are not kept.
stream_left_out <- function(fit, job) {
  data <- job$data
  if (!is.null(job$design$sample)) return(sample_left_out(fit, job$design$sample))
  own <- data$source > 0
  sample <- sample_process_rows(c(
    data[intersect(c("path", "rows", "columns", "shares"), names(data))], list(
      type = "file", source = data$source[own], center = data$center[own],
      scale = data$scale[own], weights = numeric(), labels = numeric()
    )
  ), most_link_rows, fit$seed %||% 1)
  x <- matrix(1, ncol(sample$x), length(own))
  x[, own] <- t(sample$x * data$scale[own] + data$center[own])
  at <- linear_moments(fit, list(x = x, offset = numeric(nrow(x)), random = list()), 1L)
  positive <- sample$labels == data_positive(data)
  out <- step_left_out(
    at$mean, at$var, 2 * positive - 1, 1,
    mean_field = fit$method != "ep" || !is.null(fit$check$fallback)
  )
  c(out, list(y = as.double(positive)))
}

# Of a formula for a file, whose sample is there.
sample_left_out <- function(fit, sample) {
  rows <- fill_processes(fit, c(
    sample[c("x", "processes")], list(offset = numeric(length(sample$y)), random = sample$random)
  ), 1L)
  at <- linear_moments(fit, rows, 1L)
  out <- step_left_out(
    at$mean, at$var, sample$y, 1, mean_field = fit$method != "ep" || !is.null(fit$check$fallback),
    residual = open_variance(fit, rows)
  )
  c(out, list(y = as.double(sample$y > 0)))
}

process_left_out <- function(fit, core, job, rows) {
  data <- job$data
  known <- length(data$labels) == fit$n
  at <- if (known) fit$fitted
  labels <- data$labels
  weights <- rows$weights
  # With the learning rate.
  power <- data$weights
  cavity <- is.null(core$fallback) && !is.null(core$fits[[1]]$left_out_mean)
  if (!known || is.null(at) && !cavity) {
    at <- moments_of_process(fit, sample_data(job$sample$x, job$sample$labels), character(), 1L)
    labels <- job$sample$labels
    if (length(weights)) weights <- weights[job$sample$row]
    if (length(power)) power <- power[job$sample$row]
    cavity <- FALSE
  }
  if (length(weights) == 0L) weights <- rep(1, length(labels))
  if (length(power) == 0L) power <- weights * (fit$learning_rate %||% 1)
  counted <- isTRUE(rows$counted)
  each <- lapply(seq_along(job$labels), function(k) {
    column <- function(x) if (is.matrix(x)) x[, k] else x
    copies <- rep_len(row_copies(weights, counted), length(labels))
    sign <- ifelse(labels == job$labels[k], 1, -1)
    power <- data$machine_weights[[k]] %||% power
    if (cavity) {
      own <- core$fits[[k]]
      out <- list(mean = own$left_out_mean, var = own$left_out_var)
      if (is.null(at)) return(out)
      return(put_back_copies(out, column(at$mean), column(at$var), copies))
    }
    influence <- if (known) core$fits[[k]]$influence
    if (length(influence$mean) == length(labels)) {
      return(response_left_out(influence, column(at$mean), column(at$var), sign, power, copies))
    }
    step_left_out(
      column(at$mean), column(at$var), sign, power, copies,
      fit$method %in% c("vb", "svi") || !is.null(core$fallback)
    )
  })
  y <- if (length(job$labels) > 1L) labels else as.double(labels == job$labels)
  list(
    mean = do.call(cbind, lapply(each, `[[`, "mean")),
    var = do.call(cbind, lapply(each, `[[`, "var")), y = y, weights = weights, counted = counted
  )
}

# --- probabilities -----------------------------------------------------------

# What the intercept and slope make of moments of f, of one machine or a column each: of the second
# class, or of every class.
calibrated_probability <- function(link, mean, var) {
  eta <- link_eta(link, mean, var)
  lapsed(if (NCOL(eta) == 1L) stats::plogis(eta) else softmax_rows(eta), link, max(NCOL(eta), 2L))
}

link_numbers <- c("intercept", "slope", "center", "offset", "lapse")

link_eta <- function(link, mean, var) {
  if (is.null(link$offset)) link <- with_offset(link)
  at <- function(name) if (NCOL(mean) > 1L) rep(link[[name]], each = nrow(mean)) else link[[name]]
  damped <- (mean - at("center")) / link_shrink(link$slope, var, at("offset"))
  at("intercept") + link$slope * (at("center") + damped)
}

# Fits of before 0.9.0 have `spread`, 0 where no variance counts; those of before 0.18.0 no `lapse`.
with_offset <- function(link) {
  link$lapse <- link$lapse %||% 0
  if (is.null(link$offset)) {
    link$center <- 0 * link$intercept
    link$offset <- ifelse((link$spread %||% 1) == 0, 1e200, 0) + link$center
  }
  link
}

# The moments, from latent(), that the link is about.
moments_of_link <- function(link, at) {
  if (isTRUE(link$robust) && !is.null(at$middle)) {
    list(mean = at$middle, var = at$spread)
  } else {
    at[c("mean", "var")]
  }
}

# The link with its numbers for each row, where rows are of groups all of which the fit has not
# seen.
link_of_rows <- function(link, rows) {
  if (is.null(link$new$slope) || length(rows$random) == 0L) return(link)
  new <- Reduce(`&`, lapply(rows$random, function(term) term$group == 0L))
  link <- with_offset(link)
  of_new <- with_offset(link$new)
  for (name in link_numbers) link[[name]] <- ifelse(new, of_new[[name]], link[[name]])
  link
}

# The numbers of every row `times` times.
repeat_link <- function(link, times) {
  if (length(link$slope) > 1L) {
    for (name in link_numbers) link[[name]] <- rep(link[[name]], each = times)
  }
  link
}

link_shrink <- function(slope, var, offset = 0) {
  q <- function(v) 1 + pi * slope^2 * v / 8
  sqrt(q(pmax(var, offset)) / q(offset))
}

softmax_rows <- function(eta) {
  largest <- cbind(seq_len(nrow(eta)), max.col(eta, "first"))
  eta <- exp(eta - eta[largest])
  eta / rowSums(eta)
}

# As a function of f whose mean over N(mean, var) is that probability to about .01: f as slope and
# intercept of the logistic curve make it.
calibrated_f <- function(link, f, mean, var, machine = 1L) {
  own <- with_offset(link)
  if (length(link$slope) == 1L) {
    for (name in c("intercept", "center", "offset")) own[[name]] <- own[[name]][machine]
  }
  link_eta(own, mean, var) * link_shrink(link$slope, var) + link$slope * (f - mean)
}

# Draws of it from draws of f, draws x n or draws x n x classes.
calibrated_draws <- function(link, f) {
  if (length(f) == 0L) return(f)
  link <- repeat_link(link, nrow(f))
  bare <- replace(link, "lapse", 0)
  moments <- function(f) {
    if (isTRUE(link$robust)) {
      at <- column_quantiles(f, stats::pnorm(-1:1))
      return(list(
        mean = rep(at[2L, ], each = nrow(f)), var = rep((at[3L, ] - at[1L, ])^2 / 4, each = nrow(f))
      ))
    }
    mean <- rep(colMeans(f), each = nrow(f))
    list(mean = mean, var = rep(colMeans((f - mean)^2), each = nrow(f)))
  }
  if (length(dim(f)) == 2L) {
    at <- moments(f)
    eta <- calibrated_f(link, f, at$mean, at$var)
    if (any(with_offset(link)$offset > 0)) {
      eta <- shifted_to(eta, matrix(calibrated_probability(bare, at$mean, at$var), nrow(f))[1L, ])
    }
    f[] <- lapsed(stats::plogis(eta), link, 2L)
    return(f)
  }
  size <- dim(f)
  mean <- var <- matrix(0, size[2], size[3])
  for (k in seq_along(link$intercept)) {
    own <- matrix(f[, , k], size[1])
    at <- moments(own)
    mean[, k] <- matrix(at$mean, size[1])[1L, ]
    var[, k] <- matrix(at$var, size[1])[1L, ]
    f[, , k] <- calibrated_f(link, own, at$mean, at$var, k)
  }
  eta <- matrix(f, prod(size[1:2]))
  out <- if (any(with_offset(link)$offset > 0)) {
    classes_shifted_to(eta, calibrated_probability(bare, mean, var))
  } else {
    softmax_rows(eta)
  }
  array(lapsed(out, link, size[3]), size, dimnames(f))
}

# Probabilities of classes whose mean over draws is `target`, rows x classes, by Newton's steps of
# at most 3 in the functions of each row.
# eta: draws, one row after the other, x classes.
classes_shifted_to <- function(eta, target) {
  draws <- nrow(eta) / nrow(target)
  ridge <- 1 / ncol(eta) + diag(1e-8, ncol(eta))
  for (i in seq_len(nrow(target))) {
    own <- (i - 1L) * draws + seq_len(draws)
    f <- eta[own, , drop = FALSE]
    for (round in 1:40) {
      prob <- softmax_rows(f)
      mean <- colMeans(prob)
      gap <- target[i, ] - mean
      if (!isTRUE(max(abs(gap)) > 1e-6)) break
      step <- solve(diag(mean) - crossprod(prob) / draws + ridge, gap, tol = 0)
      f <- f + rep(step * min(1, 3 / max(abs(step))), each = draws)
    }
    eta[own, ] <- prob
  }
  eta
}

# Each column of eta moved so that its mean probability is `target`: draws that are far wider than
# what their means vary by, and skew, have another one.
shifted_to <- function(eta, target) {
  low <- stats::qlogis(target) - apply(eta, 2L, max)
  high <- stats::qlogis(target) - apply(eta, 2L, min)
  moved <- function(by) eta + rep(by, each = nrow(eta))
  by <- pmin(pmax(0, low), high)
  # Newton's steps, halvings where these leave the limits.
  for (step in 1:60) {
    p <- stats::plogis(moved(by))
    off <- colMeans(p) - target
    high <- ifelse(off > 0, by, high)
    low <- ifelse(off > 0, low, by)
    to <- by - off / colMeans(p * (1 - p))
    to <- ifelse((to >= low & to <= high) %in% TRUE, to, (low + high) / 2)
    near <- all(abs(to - by) < 1e-9, na.rm = TRUE)
    by <- to
    if (near) break
  }
  moved(by)
}

# The curve at f itself, as a link of glm(), of two classes.
calibrated_glm_link <- function(link) {
  if (length(link$intercept) > 1L) link <- list(intercept = 0, slope = link$slope)
  list(
    linkfun = function(mu) (stats::qlogis(mu) - link$intercept) / link$slope,
    linkinv = function(eta) stats::plogis(link$intercept + link$slope * eta),
    mu.eta = function(eta) link$slope * stats::dlogis(link$intercept + link$slope * eta),
    valideta = function(eta) TRUE, name = "calibrated"
  )
}

# latent() with the probabilities of any link of the fit.
latent_by_link <- function(object, rows = NULL, links,
                           threads = getOption("bayeskernel.threads", 2L)) {
  out <- latent(object, rows, setdiff(links, "calibrated"), threads)
  if ("calibrated" %in% links) {
    link <- object$link
    if (!is.null(link$new)) link <- link_of_rows(link, rows)
    at <- if (isTRUE(link$robust)) moments_of_link(link, out) else out
    out$prob$calibrated <- calibrated_probability(link, at$mean, at$var)
  }
  out
}

# --- what is said of it ------------------------------------------------------

abort_uncalibrated <- function(object) {
  bk_abort(
    "argument", "The fit has no calibrated link.",
    object$link$why %||% "It was made before there was one, and no longer has the rows for it.",
    "Fit again, or use link = \"probit\" or link = \"hinge\".", column = "link",
    found = "calibrated"
  )
}

link_fact <- function(object) {
  if (!is_pseudo(object)) return(NULL)
  link <- object$link
  if (!is_calibrated(object)) return(if (!is.null(link$why)) paste("probit.", link$why))
  sprintf(
    "calibrated on %.0f rows, %s slope %s", link$rows,
    if (length(link$intercept) == 1L) {
      sprintf("intercept %s,", format(link$intercept, digits = 2))
    } else {
      "an intercept for each class,"
    },
    format(link$slope, digits = 2)
  )
}

# Probabilities from draws of f: of the positive class, draws x n; of each of more classes, draws x
# n x classes.
draw_probability <- function(object, latent, link) {
  classes <- length(object$levels)
  f <- latent$f
  # Of one model of all classes, which depends on all functions.
  if (is.function(latent$probability)) return(latent$probability())
  if (link == "calibrated") return(calibrated_draws(latent$link %||% object$link, f))
  if (classes == 2L) return(fit_curve(object, f, link))
  prob <- if (is.null(latent$cuts)) {
    link_curve(f, link)
  } else {
    below <- function(k) stats::pnorm(latent$cuts[, k] - f)
    upto <- c(list(0), lapply(seq_len(classes - 1L), below), list(1))
    array(unlist(Map(`-`, upto[-1L], upto[-(classes + 1L)])), c(dim(f), classes))
  }
  size <- dim(prob)
  dim(prob) <- c(prod(size[1:2]), classes)
  array(normalise_rows(prob), size, list(NULL, dimnames(f)[[2]], object$levels))
}
