# What the rows do to a support vector machine, and what follows: covariances of its coefficients
# over samples, and the learning rate at which its posterior would have them. The hinge is no
# likelihood, and its posterior is about half as wide as the estimates are uncertain.

# Influence of rows.
# from: what the core says of the rows at the fit's own likelihood powers: `mean`, `var` (m, s: of f
#   without residual), `kappa`, `gradient` (of the row's site: its precision, and the derivative of
#   its logarithm at m).
# copies: for how many equal observations each row stands.
# Returns a list by row, of one of its copies: `mean`, `var`, `gradient`, `share`, d = 1 - kappa s;
#   `left_mean`, `left_var`, moments of f without it: m - s gradient / d, s / d; and `copies`.
row_influence <- function(from, copies = 1) {
  gradient <- from$gradient / copies
  share <- pmax(1 - from$kappa * from$var / copies, 1e-10)
  list(
    mean = from$mean, var = from$var, kappa = from$kappa / copies, gradient = gradient,
    share = share, left_mean = from$mean - gradient * from$var / share, left_var = from$var / share,
    copies = rep_len(copies, length(gradient))
  )
}

# How often each row of classes occurs, for models whose likelihood has no powers; NULL where all
# occur once.
class_counts <- function(rows, name) {
  weights <- rows$weights
  if (is.null(weights)) return(NULL)
  broken <- which(weights != trunc(weights))
  if (length(broken)) {
    bk_abort(
      "argument", sprintf("Weights of classes are no counts in %s().", name),
      sprintf(
        "Found: %s in row %d.", format(weights[broken[1]]), original_rows(broken[1], rows$rows)
      ),
      "Accepted: whole numbers, how often each row occurs.",
      "bkm() and gpsvm() take any powers of the likelihood.", column = "weights",
      row = original_rows(broken[1], rows$rows), found = weights[broken[1]]
    )
  }
  weights
}

# Numbers of the rows, each as often as it counts.
counted_rows <- function(rows, counts) {
  if (is.null(counts)) seq_len(rows$n) else rep(seq_len(rows$n), counts)
}

# --- covariance of the coefficients over samples -----------------------------

# The delta of the groups, a row each, named by their numbers.
group_moves <- function(influence, x, cov, group) {
  at <- seq_len(ncol(x))
  rowsum(x * (influence$copies * influence$gradient), group) %*% cov[at, at, drop = FALSE]
}

# The job of a fit over a grid of variances, whose core leaves the rows out point by point: of how
# many observations each of them stands.
leave_rows_out <- function(job) {
  design <- job$design
  if (job$settings$family == "hinge" && is.null(job$atoms) &&
    length(design$random) == 0L && is.null(job$data$path)) {
    job$control$copies <- rep_len(as.double(
      row_copies(design$weights_given %||% design$weights, design$counted)
    ), length(design$y))
  }
  job
}

# The grouping that all random terms nest in, NULL without random terms, FALSE where there is none.
outer_groups <- function(random) {
  if (length(random) == 0L) return(NULL)
  sizes <- vapply(random, function(term) length(term$levels), 1L)
  outer <- random[[which.min(sizes)]]
  if (length(random) == 1L) return(outer[c("group", "label", "levels")])
  nested <- vapply(random, function(term) nests(term$group, outer$group, length(term$levels)), NA)
  if (all(nested)) outer[c("group", "label", "levels")] else FALSE
}

# Does every level of `inner` occur with one level of `outer` only?
nests <- function(inner, outer, levels) {
  first <- integer(levels)
  first[rev(inner)] <- rev(outer)
  all(first[inner] == outer)
}

# The fit with `sandwich`: `cov`, of the coefficients as theta has them, and `by`; or `why` there is
# none. `left_out`: the rows' influence, for who asks.
add_sandwich <- function(fit, core, job) {
  known <- function(estimate, groups, label, ...) {
    by <- if (groups == 0L) "rows" else sprintf("%d groups of %s", groups, label)
    fit$sandwich <- c(estimate, list(by = by, groups = groups))
    settle_sandwich(fit, ...)
  }
  if (!is.null(core$jackknife)) {
    term <- job$design$random
    count <- if (length(term)) length(term[[1L]]$levels) else 0L
    return(known(core$jackknife, count, if (count) term[[1L]]$label))
  }
  why <- sandwich_lacks(fit, core, job)
  if (is.null(why)) {
    groups <- outer_groups(job$design$random)
    if (isFALSE(groups)) why <- "random terms that do not nest"
  }
  if (!is.null(why)) {
    fit$sandwich <- list(why = why)
    return(fit)
  }
  x <- scaled_columns(job$design, fit$posterior$wide)
  influence <- row_influence(core$influence, row_copies(fit$weights, fit$counted))
  # sum delta delta' of the jackknife: delta = S x g / d, how leaving an observation out moves the
  # coefficients; by group the sum of S x g over the group, whose own effects have left with it.
  # Columns of theta as in S.
  at <- seq_len(ncol(x))
  cov <- core$influence$jackknife %||% if (!is.null(groups)) {
    crossprod(group_moves(influence, x, core$influence$cov, groups$group))
  } else {
    s <- core$influence$cov[at, at, drop = FALSE]
    s %*% crossprod(x * (sqrt(influence$copies) * influence$gradient / influence$share)) %*% s
  }
  estimate <- list(cov = unname(cov), rate = implied_rate(influence))
  known(estimate, length(unique(groups$group)), groups$label, influence)
}

# Without a sandwich that is none. Where the posterior has every row on its side the rows' gradients
# are next to nothing, and what limits the coefficients is their prior: leaving rows out shows
# neither. Draws whose spread is that of the few largest do not tell what leaving a row out does: 1
# - kappa s is then below 0, or what it was set to instead, or f moves by many of its own standard
# deviations. Mean field has its own variance, of normal tails.
settle_sandwich <- function(fit, influence = NULL) {
  sampled <- fit$method == "gibbs"
  own <- fit$fitted$mean
  variance <- diag(fit$sandwich$cov)
  # A source keeps neither.
  known <- length(own) > 0L && length(own) == length(fit$y)
  why <- if ((sampled || fit$method == "ep") && known && all(fit$y * own > 0)) {
    "classes that the fit separates"
  } else if (sampled && any(
    influence$gradient != 0 & (influence$share < 0.05 |
      abs(influence$left_mean - influence$mean) > 3 * sqrt(influence$var))
  )) {
    "draws so far apart"
  } else if (any(!is.finite(variance) | variance <= 0)) {
    "rows that do not move all coefficients"
  }
  if (!is.null(why)) fit$sandwich <- list(why = why)
  if (length(fit$given_up)) without_shrunk(fit) else fit
}

# Where mean field gave a class up its variance of the slopes goes to 0 with them, and what rows do
# to both is not what they do at that variance: there are no standard errors to be believed.
without_shrunk <- function(fit) {
  if (!is.null(fit$sandwich$cov) && length(fit$given_up) &&
    identical(fit$penalty, "learn") && fit$method %in% c("vb", "svi")) {
    fit$sandwich$cov[] <- NA
    fit$sandwich$by <- "rows"
  }
  fit
}

sandwich_lacks <- function(fit, core, job) {
  if (!is.null(job$data$selection)) {
    "selection"
  } else if (!is.null(job$data$holes) || !is.null(job$atoms)) {
    "modeled missing values"
  } else if (!is.null(job$data$path)) {
    "stochastic steps over a source"
  } else if (!is.null(job$design$lean)) {
    "gp() terms and random effects of so many rows"
  } else if (length(job$data$crossed)) {
    "crossed random terms"
  } else if (is.null(core$influence) && fit$method == "gibbs") {
    "draws or random effects that are not kept"
  } else if (is.null(core$influence)) {
    "an iteration that did not settle"
  }
}

# The fixed columns on the scale of the model, combined as a wide fit has them.
scaled_columns <- function(design, wide) {
  x <- unname(design$x)
  center <- rep_len(as.double(design$center), ncol(x))
  scale <- rep_len(as.double(design$scale), ncol(x))
  for (j in seq_len(ncol(x))) x[, j] <- (x[, j] - center[j]) / scale[j]
  if (is.null(wide)) x else reduce_columns(wide, x)$x
}

# --- which covariance is shown -----------------------------------------------

# "sandwich" of a support vector machine that has it, unless asked otherwise.
vcov_type <- function(object) {
  object$vcov_type %||% if (is.null(object$sandwich$cov)) "posterior" else "sandwich"
}

# The fit, for which all functions show that covariance; NULL: its own.
with_vcov <- function(object, type, name = "type") {
  known <- c("sandwich", "posterior")
  # The default of a signature.
  if (is.null(type) || identical(type, known)) return(object)
  type <- check_choice(type, known, name)
  if (type == "sandwich" && is.null(object$sandwich$cov)) {
    bk_abort(
      "argument", "The fit has no sandwich covariance.",
      if (is.null(object$sandwich$why)) {
        "Its posterior is that of a likelihood: that covariance is meant."
      } else {
        sprintf("It is not made with %s.", object$sandwich$why)
      },
      sprintf("Accepted: %s = \"posterior\".", name), column = name, found = type
    )
  }
  object$vcov_type <- type
  object
}

# Posterior covariance of the fixed coefficients as theta has them, scale of the model.
fixed_cov <- function(object) {
  at <- fixed_positions(object)
  effect_cov(object$posterior)[at, at, drop = FALSE]
}

# --- the learning rate --------------------------------------------------------

# By what factor the likelihood is too sure, sum kappa s / sum g^2 s / d, against the rate at which
# the rows were fitted (1: relative to it).
implied_rate <- function(influence) {
  n <- influence$copies
  sum(n * influence$kappa * influence$var) /
    sum(n * influence$gradient^2 * influence$var / influence$share)
}

rate_limits <- c(0.05, 1)

# The rate at which fits imply it: `fit_at(rate, messages)` answers as the core,
# `influence_of(core)` gives the rows'. From .3, each fit from the messages of the one before.
settle_rate <- function(fit_at, influence_of, start = 0.3, most = 10L) {
  rate <- start
  messages <- NULL
  for (k in seq_len(most)) {
    core <- fit_at(rate, messages)
    found <- rate * implied_rate(influence_of(core))
    if (!is.finite(found)) break
    found <- min(max(found, rate_limits[1]), rate_limits[2])
    change <- abs(log(found / rate))
    messages <- if (length(core$sites)) lapply(core$sites, `*`, found / rate)
    rate <- found
    if (change < 0.02) break
  }
  rate
}
