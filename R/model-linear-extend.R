# More rows for a linear fit by expectation propagation, with q as the prior. Effects are e = m + R
# v of whatever kind, v ~ N(0, 1): the new rows see columns A R, with the offset A m, and v comes
# out of a fit with a prior of unit precisions. Rows of one group depend on theta and on its own
# effects, so that the joint covariance keeps the form that the fit has.

# Dense in the effects of all groups.
most_extended <- 3000L
most_extended_cells <- 2e8

extend_linear <- function(object, newdata, y = NULL, weights = NULL,
                          threads = getOption("bayeskernel.threads", 2L),
                          progress = getOption("bayeskernel.progress", interactive()), ...) {
  check_whole(object, ...)
  threads <- check_threads(threads)
  progress <- check_flag(progress, "progress")
  refuse_extension(object)
  warn_vague_groups(object)
  if (inherits(newdata, "row_source")) {
    return(extend_from_source(object, newdata, y, weights, threads, progress))
  }
  y <- given(y, "y")
  n <- NROW(newdata)
  response <- new_response(object, newdata, y, n)
  weights <- extension_weights(weights, n)
  # Rows of weight 0 say where terms have to go, and nothing else.
  followed <- follow_rows(object, newdata, threads)
  grown <- grow_groups(followed$object, newdata)
  used <- weights > 0
  if (n > 0L && !any(used) && is_regression(object)) {
    abort_argument(weights, "weights", "numbers of which one is above 0")
  }
  if (any(used) && !all(used)) {
    newdata <- newdata[used, , drop = FALSE]
    response <- response[used]
    weights <- weights[used]
    n <- sum(used)
  }
  rows <- new_rows(grown, newdata)
  check_extension_rows(response, rows, n)
  if (n == 0L) return(object)
  y <- if (is_regression(object)) response else 2 * response - 3
  q <- joint_effects(grown)
  a <- effect_columns(grown, rows, ncol(q$cov))
  open <- open_variance(grown, rows)
  core <- settled_extension(extension_core(
    grown, a, y, weights, rows$offset, open, q, threads, progress
  ))
  influence <- row_influence(core$influence, row_copies(pmax(weights, any(!used))))
  cov <- core$root %*% core$theta_cov %*% t(core$root)
  moves <- a * (sqrt(influence$copies) * influence$gradient / influence$share)
  out <- extended_fit(
    grown, core, q, cov %*% crossprod(moves) %*% cov,
    list(
      n = n, weight = sum(weights),
      share = if (any(used)) stats::weighted.mean(y > 0, weights) else 0
    )
  )
  out$powers <- isTRUE(object$powers) || are_powers(weights)
  x <- rows$x[, watched_columns(object), drop = FALSE]
  moments <- if (length(x)) column_moments_cpp(x + 0)
  out$stream <- watch_linear(object, moments, followed$outside, n)
  if (is_regression(object)) {
    missed <- missed_rows(
      response, drop(a %*% q$mean) + rows$offset,
      rowSums((a %*% q$cov) * a) + open + noise_before(object)
    )
    out$stream <- watch_predictions(out$stream, missed, linear_cure)
  }
  stamped(out)
}

check_extension_rows <- function(response, rows, n) {
  if (any(!is.finite(response))) {
    bk_abort(
      "missing", "The response of the new rows has gaps.",
      sprintf("Found: %d of %d values are missing or not finite.", sum(!is.finite(response)), n),
      column = "y"
    )
  }
  if (length(rows$complete) < n || !is.null(rows$holes) && anyNA(rows$holes$x)) {
    bk_abort(
      "missing", "Predictors of the new rows have gaps.",
      sprintf("Found: %d rows.", n - length(rows$complete)), "A fit is extended by complete rows.",
      column = "newdata"
    )
  }
}

# Columns that are no smooths', and no variables of processes.
watched_columns <- function(object) {
  of_terms <- unlist(lapply(object$design$smooths, `[[`, "at"))
  setdiff(seq_along(object$transform$center), c(1L, of_terms))
}

# moments: of these columns in the n new rows.
watch_linear <- function(object, moments, outside, n) {
  plain <- watched_columns(object)
  watch_moments(
    object$stream, moments, names(object$transform$center)[plain], object$transform$center[plain],
    object$transform$scale[plain], outside, n, linear_cure
  )
}

noise_before <- function(object) {
  inverse_gamma_mean(object$posterior$noise$shape, object$posterior$noise$rate)
}

linear_cure <- c(
  "Terms that follow: s(x) of a basis \"tp\" or \"cr\", and gp().",
  "update(fit, data = ) fits rows of both kinds."
)

#' @rdname extend
#' @export
extend.bkm <- function(object, newdata, y = NULL, weights = NULL,
                       threads = getOption("bayeskernel.threads", 2L),
                       progress = getOption("bayeskernel.progress", interactive()), ...) {
  check_given("newdata")
  check_whole(object)
  extend_linear(object, newdata, y, weights, threads, progress, ...)
}

#' @rdname extend
#' @export
extend.bsvm <- extend.bkm

refuse_extension <- function(object) {
  posterior <- object$posterior
  why <- if (object$method != "ep" || !is.null(object$check$fallback)) {
    "a fit that is not by expectation propagation"
  } else if (!is.null(object$posterior$pairs) ||
    any(vapply(posterior$random, function(t) t$crossed > 0L, NA))) {
    "crossed terms of many levels"
  } else if (!is.null(posterior$wide)) {
    "more columns than rows"
  } else if (!is.null(object$shared)) {
    "missing values of whole groups"
  } else if (isTRUE(object$counted)) {
    "counts as the response"
  }
  if (!is.null(why)) abort_extension(why)
  refuse_many_effects(object)
}

abort_extension <- function(why) {
  bk_abort(
    "argument", "This fit cannot be extended.",
    sprintf("Found: %s.", why), "update(fit, data = ) fits anew.", column = "object"
  )
}

refuse_many_effects <- function(object) {
  if (effect_count(object$posterior) > most_extended) {
    abort_extension(sprintf("more than %d effects", most_extended))
  }
}

# Variances of groups stay as the first rows had them: said once of intercepts that these tell next
# to nothing about, unless they are small anyway.
warn_vague_groups <- function(object) {
  if (!is.null(object$stream) || !has_groups(object)) return(invisible())
  rows <- random_parameters(object, 0.95)
  unit <- if (is_regression(object)) sqrt(noise_before(object)) else 1
  vague <- rows$upper > pmax(10 * rows$lower, unit)
  rows <- rows[which(rows$term == "sd__(Intercept)" & vague), ]
  if (NROW(rows) == 0L) return(invisible())
  first <- rows[1L, ]
  limits <- vapply(c(first$lower, first$upper), format, "", digits = 2)
  bk_warn(
    "identification", fit_header("The rows hardly tell `%s`.", first$label),
    sprintf("Found: a 95 %% interval from %s to %s.", limits[1L], limits[2L]),
    if (nrow(rows) > 1L) paste("Others:", list_some(sprintf("`%s`", rows$label[-1L]))),
    "It stays as it is with more rows. Begin with more, or use update(fit, data = ) on all rows.",
    column = rows$label
  )
}

effect_count <- function(posterior) {
  length(posterior$theta_mean) + sum(vapply(posterior$random, function(term) {
    if (is.null(term$index)) length(term$mean) else 0L
  }, 0L))
}

extension_weights <- function(weights, n) {
  if (is.null(weights)) return(rep(1, n))
  if (!is.numeric(weights) || length(weights) != n ||
    any(!is.finite(weights)) || any(weights < 0)) {
    abort_argument(weights, "weights", sprintf("%d numbers, 0 or more", n))
  }
  as.double(weights)
}

# --- groups that are new -----------------------------------------------------

# Variables of the fit's own rows would be taken for those of the new ones.
check_grouping_variables <- function(group, newdata) {
  absent <- setdiff(all.vars(group), names(newdata))
  if (length(absent)) {
    bk_abort(
      "argument", fit_header("`newdata` has no column `%s`.", absent[1]),
      paste("Found:", list_some(names(newdata))),
      "A fit is extended by rows whose groups are known.",
      column = absent[1], found = names(newdata)
    )
  }
}

# The fit with the groups of new rows: their effects have the prior's law.
grow_groups <- function(object, newdata) {
  for (t in seq_along(object$design$random)) {
    info <- object$design$random[[t]]
    leaves <- lapply(info$leaves, function(leaf) {
      group <- read_text(leaf, names(newdata))
      check_grouping_variables(group, newdata)
      as.character(eval(group, newdata, object$design$env))
    })
    if (anyNA(unlist(leaves))) {
      bk_abort(
        "missing", sprintf("`%s` has missing values.", info$label),
        "A fit is extended by rows of known groups.", column = info$label
      )
    }
    before <- length(object$posterior$random[[t]]$levels)
    info <- add_levels(info, leaves)
    object$design$random[[t]] <- info$info
    if (length(info$labels) > before) object <- add_effects(object, t, info$labels)
  }
  object
}

# Levels of leaves in their old order, new ones after them.
add_levels <- function(info, leaves) {
  known <- info$leaf_levels
  levels <- Map(function(old, text) c(old, setdiff(text, old)), known, leaves)
  codes <- Map(match, leaves, levels)
  info$leaf_levels <- levels
  if (length(levels) == 1L) return(list(info = info, labels = levels[[1L]]))
  old <- info$codes
  index <- list()
  for (k in rev(seq_along(known))) {
    size <- length(known[[k]])
    index[[k]] <- old %% size + 1
    old <- old %/% size
  }
  sizes <- lengths(levels)
  old <- combine_codes(index, sizes)
  info$codes <- c(old, setdiff(combine_codes(codes, sizes), old))
  list(info = info, labels = combined_labels(info$codes, levels, sizes))
}

add_effects <- function(object, t, labels) {
  prior <- vb_variance_mean(object, t)
  term <- object$posterior$random[[t]]
  r <- length(term$columns)
  more <- length(labels) - length(term$levels)
  term$levels <- labels
  term$mean <- rbind(term$mean, matrix(0, more, r))
  grow <- function(x, value) array(c(x, rep(value, more)), c(dim(x)[1:2], length(labels)))
  term$cov <- grow(term$cov, prior)
  if (is.null(term$index)) {
    term$schur <- grow(term$schur, prior)
    term$loading <- grow(term$loading, 0 * term$loading[, , 1])
  } else {
    theta <- object$posterior$theta_mean
    p <- length(theta)
    at <- p + seq_len(more * r)
    term$index <- c(term$index, at)
    cov <- matrix(0, p + more * r, p + more * r)
    cov[seq_len(p), seq_len(p)] <- object$posterior$theta_cov
    cov[at, at] <- kronecker(diag(more), prior)
    object$posterior$theta_mean <- c(theta, numeric(more * r))
    object$posterior$theta_cov <- cov
  }
  object$posterior$random[[t]] <- term
  object
}

# --- the joint law of all effects --------------------------------------------

# Mean and covariance of theta and of the effects of the eliminated term, group by group.
joint_effects <- function(object) {
  posterior <- object$posterior
  mean <- unname(posterior$theta_mean)
  cov <- unname(posterior$theta_cov)
  term <- Find(function(t) is.null(t$index), posterior$random)
  if (is.null(term)) return(list(mean = mean, cov = cov))
  # (r G) x p, group by group.
  loading <- matrix(aperm(term$loading, c(1, 3, 2)), ncol = dim(term$loading)[2])
  # New effects among theta are apart from the others.
  loading <- cbind(loading, matrix(0, nrow(loading), ncol(cov) - ncol(loading)))
  cross <- -cov %*% t(loading)
  own <- -loading %*% cross
  r <- length(term$columns)
  for (g in seq_along(term$levels)) {
    at <- (g - 1L) * r + seq_len(r)
    own[at, at] <- own[at, at] + term$schur[, , g]
  }
  list(mean = c(mean, t(term$mean)), cov = rbind(cbind(cov, cross), cbind(t(cross), own)))
}

# The columns that these effects have in f.
effect_columns <- function(object, rows, effects) {
  transform <- object$transform
  posterior <- object$posterior
  n <- nrow(rows$x)
  if (n * as.double(effects) > most_extended_cells) {
    bk_abort(
      "argument", "These are too many rows for one extension.",
      sprintf("Found: %.0f rows, %.0f effects.", n, effects),
      sprintf(
        "Accepted: %.0f rows. Extend the fit by parts.", floor(most_extended_cells / effects)
      ),
      column = "newdata"
    )
  }
  out <- matrix(0, n, effects)
  p <- ncol(rows$x)
  out[, seq_len(p)] <- scaled_columns(c(rows["x"], transform), NULL)
  for (t in seq_along(rows$random)) {
    term <- posterior$random[[t]]
    z <- rows$random[[t]]$z %*% transform$random[[t]]
    r <- ncol(z)
    first <- (rows$random[[t]]$group - 1L) * r
    for (k in seq_len(r)) {
      at <- first + k
      at <- if (is.null(term$index)) length(posterior$theta_mean) + at else term$index[at]
      out[cbind(seq_len(n), at)] <- z[, k]
    }
  }
  out
}

# --- the fit -----------------------------------------------------------------

extension_core <- function(object, a, y, weights, offset, residual, q, threads, progress) {
  root <- t(covariance_root(q$cov))
  effects <- ncol(a)
  n <- nrow(a)
  core <- core_call(linear_ep_cpp(
    list(
      x = a %*% root, center = numeric(effects), scale = rep(1, effects), y = y,
      weights = weights * (object$learning_rate %||% 1), offset = drop(a %*% q$mean) + offset,
      z = matrix(0, n, 0), group = integer(), n_groups = 0L, kept = list(),
      residual = if (any(residual > 0)) rep_len(residual, n)
    ),
    standard_effects(effects), extension_control(object, threads, progress)
  ))
  c(core, list(root = root))
}

standard_effects <- function(effects, mean = numeric(effects)) {
  list(precision = rep(1, effects), mean = mean, blocks = list())
}

extension_control <- function(object, threads, progress) {
  c(
    list(
      tol = 1e-4, max_iter = 200L, threads = threads, progress = progress,
      seed = 0, check = FALSE, variances = "vb"
    ),
    if (linear_family(object) != "hinge") {
      list(
        family = linear_family(object), rule = "direct",
        noise = if (is_regression(object)) object$posterior$noise
      )
    }
  )
}

settled_extension <- function(core) {
  if (isTRUE(core$status$interrupted)) abort_interrupted()
  if (!isTRUE(core$status$converged)) {
    bk_abort(
      "numeric", "Expectation propagation of the new rows did not settle.",
      "The fit is as it was. update(fit, data = ) fits all rows anew."
    )
  }
  core
}

# own: what the new rows add to the covariance of the effects over samples. rows: `n`, the sum of
# their weights, `weight`, and the share of the positive class in it.
extended_fit <- function(object, core, q, own, rows) {
  mean <- q$mean + drop(core$root %*% core$theta_mean)
  cov <- core$root %*% core$theta_cov %*% t(core$root)
  cov <- (cov + t(cov)) / 2
  out <- object
  out$posterior <- take_effects(object$posterior, mean, cov)
  if (is_regression(object)) out$posterior$noise <- core$noise
  out$sandwich <- extended_sandwich(object, q, own, cov)
  if (!is_regression(object)) {
    # Weights of the rows so far, and of the positive class among them.
    mass <- c(object$mass %||% sum(object$weights %||% object$n), rows$weight)
    out$share <- sum(mass * c(resolve_threshold("prevalence", object), rows$share)) / sum(mass)
    out$mass <- sum(mass)
  }
  out$n <- object$n + rows$n
  if (length(object$log_evidence)) out$log_evidence <- object$log_evidence + core$log_z
  out$check$passes <- out$check$passes + core$status$passes
  out["frame"] <- out["fitted"] <- out["loo"] <- out["loo_probit"] <- out["y"] <- list(NULL)
  out["weights"] <- out["offset"] <- out["na.action"] <- list(NULL)
  out$data <- list(absent = "extended")
  out
}

# Back into the places that the fit has for them; one Gaussian, at the mean variances.
take_effects <- function(posterior, mean, cov) {
  names <- names(posterior$theta_mean)
  theta <- seq_along(posterior$theta_mean)
  if (length(names) < length(theta)) names <- NULL
  posterior["points"] <- list(NULL)
  posterior$theta_mean <- stats::setNames(mean[theta], names)
  posterior$theta_cov <- matrix(
    cov[theta, theta], length(theta), dimnames = if (length(names)) list(names, names)
  )
  for (t in seq_along(posterior$random)) {
    term <- posterior$random[[t]]
    r <- length(term$columns)
    m <- length(term$levels)
    at <- term$index %||% (length(theta) + seq_len(m * r))
    term$mean <- matrix(mean[at], m, r, byrow = TRUE)
    if (is.null(term$index)) {
      loading <- -t(solve(cov[theta, theta], cov[theta, at]))
      term$loading <- aperm(array(loading, c(r, m, length(theta))), c(1, 3, 2))
    }
    for (g in seq_len(m)) {
      own <- at[(g - 1L) * r + seq_len(r)]
      term$cov[, , g] <- cov[own, own]
      if (is.null(term$index)) {
        part <- loading[(g - 1L) * r + seq_len(r), , drop = FALSE]
        term$schur[, , g] <- cov[own, own] - part %*% cov[theta, theta] %*% t(part)
      }
    }
    posterior$random[[t]] <- term
  }
  posterior
}

# By rows what the jackknife sums adds up over batches; groups may come again.
extended_sandwich <- function(object, q, own, cov) {
  before <- object$sandwich
  if (is.null(before)) return(NULL)
  if (is.null(before$cov) || before$by != "rows" || nrow(before$cov) != nrow(cov)) {
    return(list(why = before$why %||% "groups and more rows"))
  }
  gain <- cov %*% solve(q$cov)
  before$cov <- unname(gain %*% before$cov %*% t(gain) + own)
  before["rate"] <- list(NULL)
  before
}
