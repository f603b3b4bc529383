# Latent functions of the multinomial probit model, one a class: y_c ~ N(f_c, 1), and the class is
# that of the largest. Of two classes only f = (f_2 - f_1) / sqrt(2) counts, whose probit is the
# probability of the second, but for a share of the rows that is of any class.

#' @exportS3Method
latent.mkprobit <- function(object, rows = NULL, links = character(),
                            threads = getOption("bayeskernel.threads", 2L)) {
  out <- if (!is.null(rows)) {
    mkprobit_moments(object, points_of_rows(object, rows), threads)
  } else if (!is.null(object$fitted)) {
    object$fitted
  } else if (isTRUE(object$posterior$own)) {
    mkprobit_moments(object, points_of_fit(object), threads)
  } else {
    kept_latent(object, links)
  }
  # Draws have the effects of new groups, averages over draws of known ones have not.
  if (any(level_codes(rows$random) == 0L)) out$prob_sd <- NULL
  share <- object$posterior$process$lapse
  if (length(object$levels) == 2L && length(links) && !is.null(share)) {
    out$prob_sd <- (1 - share) * probability_sd(out$mean, out$var, "probit", threads)
  }
  c(out[c("mean", "var", "log_prob")], list(
    prob = stats::setNames(rep(list(out$prob), length(links)), links),
    prob_sd = if (!is.null(out$prob_sd)) {
      stats::setNames(rep(list(out$prob_sd), length(links)), links)
    }
  ))
}

points_of_rows <- function(object, rows) {
  c(
    lapply(object$spaces, space_points, rows$x),
    group_points(object$posterior$process$groups, rows$random, nrow(rows$x))
  )
}

points_of_fit <- function(object) {
  codes <- object$posterior$process$groups$codes
  c(lapply(object$spaces, `[[`, "z"), if (!is.null(codes)) list(codes))
}

# Sources at points, in parts of some million kernel values, and the roots of noise variances by
# which a process's are divided (NULL: 1). `f` is given the sources, how they are combined, which
# points they are and these roots.
# given: what the regressors leave open has been drawn and is no noise.
mkprobit_parts <- function(object, points, width, threads, f, given = FALSE) {
  n <- ncol(points[[1]])
  process <- object$posterior$process
  parts <- lapply(row_slices(n, width), function(at) {
    own <- if (length(at) == n) points else lapply(points, function(x) x[, at, drop = FALSE])
    if (is.null(process)) {
      sources <- unname(Map(space_source, object$spaces, own))
      return(list(value = f(sources, object$combine, at, 1)))
    }
    features <- mkprobit_features(process, object$spaces, own, threads)
    if (given) {
      features$phi <- features$phi * rep(features$noise, each = nrow(features$phi))
      features$noise[] <- 1
    }
    sources <- list(list(kind = "matrix", k = features$phi))
    list(value = f(sources, "sum", at, features$noise), noise = features$noise)
  })
  noise <- unlist(lapply(parts, `[[`, "noise"))
  list(values = lapply(parts, `[[`, "value"), noise = if (any(noise != 1)) noise)
}

mkprobit_moments <- function(object, points, threads) {
  classes <- length(object$levels)
  n <- ncol(points[[1]])
  if (n == 0L) {
    empty <- matrix(0, 0L, classes, dimnames = list(NULL, object$levels))
    one <- if (classes == 2L) numeric() else empty
    return(list(mean = one, var = one, prob = one, log_prob = empty, prob_sd = one))
  }
  # Weights and length-scales of draws differ: kernels once a draw.
  m <- ncol(object$spaces[[1]]$z) %||% n
  made <- mkprobit_parts(
    object, points, m * length(object$spaces), threads,
    function(sources, combine, at, noise) {
      core_call(mkprobit_predict_cpp(
        object$posterior$core, sources, combine,
        list(nodes = object$posterior$nodes, threads = threads, progress = FALSE)
      ))
    }
  )
  bind <- function(name) {
    out <- do.call(rbind, lapply(made$values, `[[`, name))
    if (!is.null(out)) colnames(out) <- object$levels
    out
  }
  out <- lapply(stats::setNames(nm = c("mean", "var", "prob", "log_prob", "prob_sd")), bind)
  if (!is.null(object$posterior$process$lapse)) {
    out$log_prob <- lapsed_log(out$log_prob, object$posterior$process, classes)
    out$prob[] <- exp(out$log_prob)
  }
  if (!is.null(made$noise)) {
    out$mean <- out$mean * made$noise
    out$var <- out$var * made$noise^2 + made$noise^2 - 1
  }
  if (classes > 2L) return(Filter(Negate(is.null), out))
  difference_moments(object, out, points, threads)
}

# What the share adds to the standard deviation of probabilities: it is known as well as an
# exponential variable of its mean.
lapse_sd <- function(object, prob) {
  share <- object$posterior$process$lapse %||% 0
  share * abs(1 / length(object$levels) - prob) / (1 - share)
}

# Of the difference of two classes; their functions are independent under q, not under the posterior
# that draws come from.
difference_moments <- function(object, out, points, threads) {
  f <- if (object$method == "gibbs") mkprobit_values(object, points, NULL, 0, "mean", threads)
  rest <- if (is.null(f)) 0 else attr(f, "rest")
  Filter(Negate(is.null), list(
    mean = unname(out$mean[, 2] - out$mean[, 1]) / sqrt(2),
    var = if (is.null(f)) {
      unname(out$var[, 1] + out$var[, 2]) / 2
    } else {
      apply(f[, , 2, drop = FALSE] - f[, , 1, drop = FALSE], 2, stats::var) / 2 + rest
    },
    prob = unname(out$prob[, 2]), log_prob = out$log_prob,
    prob_sd = if (!is.null(out$prob_sd)) unname(out$prob_sd[, 2])
  ))
}

# Draws x rows x classes of the functions or of the probabilities; the same seed gives the same
# functions. Of type "mean" without what a process's regressors leave open, whose variance is the
# attribute `rest`.
# added: draws x rows x classes, to be added to the functions, or NULL.
# given: whether this is all that the regressors leave open.
mkprobit_values <- function(object, points, take, seed, type, threads, added = NULL,
                            given = FALSE) {
  classes <- length(object$levels)
  n <- ncol(points[[1]])
  sampled <- object$method == "gibbs"
  core <- object$posterior$core
  count <- draw_count(object, take)
  if (sampled) core <- taken_chains(core, taken_draws(object, take))
  if (n == 0L) return(array(0, c(count, 0L, classes)))
  m <- ncol(object$spaces[[1]]$z) %||% n
  width <- max(m * length(object$spaces), count * classes)
  kind <- if (type == "mean") "link" else type
  made <- mkprobit_parts(
    object, points, width, threads, function(sources, combine, at, noise) {
      own <- if (is.null(added)) numeric() else added[, at, ] / rep(noise, each = count)
      core_call(mkprobit_draws_cpp(core, sources, combine, list(
        draws = as.double(count), seed = as.double(seed), type = kind, added = as.double(own),
        nodes = object$posterior$nodes, threads = threads
      )))$values
    }, given
  )
  parts <- made$values
  out <- if (length(parts) == 1L) parts[[1]] else join_arrays(parts, 2L)
  if (kind == "prob") out <- lapsed(out, object$posterior$process, classes)
  noise <- made$noise %||% rep(1, n)
  if (kind == "link" && any(noise != 1)) {
    out <- out * rep(noise, each = count)
    if (type == "link") {
      out <- out + rep(sqrt(noise^2 - 1), each = count) * with_seed(seed, stats::rnorm(length(out)))
    }
  }
  dimnames(out) <- list(NULL, NULL, object$levels)
  if (type == "mean") attr(out, "rest") <- noise^2 - 1
  out
}

# Some of all draws, chain after chain, as one chain.
taken_chains <- function(core, take) {
  if (is.null(take)) return(core)
  names <- names(core$chains[[1]])
  joined <- lapply(stats::setNames(nm = names), function(name) {
    do.call(cbind, lapply(core$chains, `[[`, name))[, take, drop = FALSE]
  })
  core$chains <- list(joined)
  core
}

#' @exportS3Method
latent_draws.mkprobit <- function(object, rows = NULL, take = NULL, response = FALSE,
                                  threads = getOption("bayeskernel.threads", 2L)) {
  mkprobit_drawn(object, rows, take, threads)
}

#' @exportS3Method
joint_draws.mkprobit <- function(object, rows, take, threads) {
  mkprobit_drawn(object, rows, take, threads, rep(1L, nrow(rows$x)))
}

# block: of rows whose functions are drawn together; NULL: each apart.
mkprobit_drawn <- function(object, rows, take, threads, block = NULL) {
  points <- if (is.null(rows)) points_of_fit(object) else points_of_rows(object, rows)
  seed <- if (object$method == "gibbs") 0 else sample.int(2^31 - 1, 1L)
  added <- new_group_effects(object, rows, draw_count(object, take))
  if (!is.null(added)) points[[length(points)]][points[[length(points)]] == 0L] <- -1L
  given <- !is.null(block) && !is.null(object$posterior$process)
  if (given) added <- (added %||% 0) + open_effects(object, points, block, take, threads)
  values <- function(type) mkprobit_values(object, points, take, seed, type, threads, added, given)
  f <- values("link")
  if (length(object$levels) > 2L) return(list(f = f, probability = function() values("prob")))
  one <- (f[, , 2, drop = FALSE] - f[, , 1, drop = FALSE]) / sqrt(2)
  dim(one) <- dim(f)[1:2]
  list(f = one, mean = if (object$method == "gibbs") colMeans(one))
}

# What the regressors leave open of each function, draws x rows x classes: within a block of rows a
# process of covariance v (k(x, x') - phi'phi). Of kernel matrices only that of a row is known.
open_effects <- function(object, points, block, take, threads) {
  process <- object$posterior$process
  spaces <- object$spaces
  classes <- length(object$levels)
  out <- array(0, c(draw_count(object, take), length(block), classes))
  if (isTRUE(process$direct)) return(out)
  known <- !any(vapply(spaces, function(space) is_precomputed(space$kernel), NA))
  blocks <- split(seq_along(block), block)
  root_in <- root_for(length(blocks))
  for (at in blocks) {
    own <- lapply(points, function(x) x[, at, drop = FALSE])
    features <- mkprobit_features(process, spaces, own, threads)
    phi <- features$phi[seq_along(process$picks), , drop = FALSE]
    own <- own[seq_along(spaces)]
    covariance <- if (known) {
      process$variance * process_block(process, spaces, own, own, threads) -
        crossprod(phi * rep(features$noise, each = nrow(phi)))
    } else {
      diag(features$noise^2 - 1, length(at))
    }
    root <- root_in(covariance, 1e-8 * process$variance)
    for (k in seq_len(classes)) {
      out[, at, k] <- normal_matrix(nrow(out), nrow(root)) %*% root
    }
  }
  out
}

# Effects of groups that the fit has not seen, draws x rows x classes: a draw's is the same in all
# rows of a group. NULL if there are none.
new_group_effects <- function(object, rows, count) {
  codes <- level_codes(rows$random)
  if (!any(codes == 0L)) return(NULL)
  classes <- length(object$levels)
  variance <- object$posterior$process$groups$variance
  out <- array(0, c(count, nrow(codes), classes))
  for (t in seq_along(variance)) {
    at <- which(codes[, t] == 0L)
    name <- (rows$random[[t]]$name %||% seq_len(nrow(codes)))[at]
    size <- c(count, length(unique(name)), classes)
    u <- sqrt(variance[t]) * array(stats::rnorm(prod(size)), size)
    out[, at, ] <- out[, at, ] + u[, match(name, unique(name)), ]
  }
  out
}

#' @exportS3Method
draws_from_posterior.mkprobit <- function(object, n = 1000, seed = NULL) {
  points <- stats::setNames(object$posterior$reference, names(object$spaces))
  with_seed(seed, {
    f <- mkprobit_values(object, points, n, sample.int(2^31 - 1, 1L), "link", 1L)
    if (length(object$levels) == 2L) {
      f <- (f[, , 2, drop = FALSE] - f[, , 1, drop = FALSE]) / sqrt(2)
    }
    matrix(f, n, dimnames = list(NULL, function_names(object)))
  })
}

# Of the functions at the rows of reference.
function_names <- function(object) {
  rows <- object$reference
  if (length(object$levels) == 2L) return(sprintf("f[%s]", rows))
  sprintf("f[%s,%s]", rep(rows, length(object$levels)), rep(object$levels, each = length(rows)))
}
