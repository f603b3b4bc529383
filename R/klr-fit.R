# From rows and settings to a fit of klr().

klr_job <- function(rows, settings) {
  data <- list(
    x = scaled_rows(rows$data$x[, rows$data$source, drop = FALSE], rows$center, rows$scale),
    signs = as.double(rows$y)
  )
  p <- ncol(data$x)
  settings$rank <- settings$rank %||% min(2L, p)
  if (max(settings$rank) > p) {
    abort_argument(
      settings$rank, "rank", sprintf("at most %d, the number of predictors that vary", p)
    )
  }
  reference <- reference_rows(list(y = data$signs, x = data$x))
  job <- list(
    settings = settings, reference = reference,
    stored = 5 + length(reference) + p +
      p * max(settings$rank) +
      2 * (2 + max(settings$rank)) * klr_kernels_cpp(settings$prior),
    control = list(
      rank = as.double(settings$rank[1]), reference = reference - 1,
      warmup = as.double(settings$warmup), draws = as.double(settings$draws),
      thin = as.double(settings$thin), seed = as.double(settings$seed),
      chain_id = 0:(settings$chains - 1L), threads = settings$threads,
      progress = settings$progress, states = list()
    ),
    shared = list(data = data, prior = unclass(settings$prior))
  )
  if (length(settings$rank) > 1L) job <- choose_rank(job)
  job
}

klr_chains <- function(control, data, prior) {
  klr_fit_cpp(data, prior, control)
}

# The rank with the smallest log loss of rows that were left out, by chains half in number. Which
# rows those are follows from the seed; classes are spread evenly over the parts.
choose_rank <- function(job) {
  settings <- job$settings
  if (!is.null(settings$resume)) {
    job$settings$rank <- settings$resume$rank
    job$control$rank <- as.double(settings$resume$rank)
    job$ranks <- settings$resume$ranks
    return(job)
  }
  data <- job$shared$data
  n <- nrow(data$x)
  folds <- min(settings$folds, n)
  fold <- integer(n)
  fold[with_seed(settings$seed, order(data$signs, stats::runif(n)))] <- rep_len(seq_len(folds), n)
  prob <- matrix(0, n, length(settings$rank))
  control <- job$control
  control$reference <- numeric()
  control$progress <- FALSE
  control$chain_id <- control$chain_id[seq_len(max(1L, settings$chains %/% 2L))]
  for (k in seq_along(settings$rank)) {
    control$rank <- as.double(settings$rank[k])
    for (own in seq_len(folds)) {
      at <- fold == own
      part <- list(x = data$x[!at, , drop = FALSE], signs = data$signs[!at])
      core <- run_chains(
        klr_chains, control, list(data = part, prior = job$shared$prior), settings$cluster
      )
      if (core$status$interrupted) abort_interrupted()
      if (core$status$kept < settings$draws) {
        check_reached(core$status, settings)
      }
      draws <- c(
        join_kernels(core$kernels),
        list(intercept = as.vector(core$scalars[, , 1]), rank = control$rank)
      )
      prob[at, k] <- core_call(klr_predict_cpp(
        numbers_of(draws), part$x, data$x[at, , drop = FALSE], settings$threads
      ))$prob
    }
  }
  hit <- 0.5 + data$signs * (prob - 0.5)
  job$ranks <- data.frame(
    rank = settings$rank, log_loss = -colMeans(log(pmax(hit, .Machine$double.xmin))),
    error = colMeans((prob > 0.5) != (data$signs > 0))
  )
  best <- settings$rank[which.min(job$ranks$log_loss)]
  job$settings$rank <- best
  job$control$rank <- as.double(best)
  job
}

# One array draws x chains x variables.
klr_draws <- function(core, job, rows) {
  names <- c("intercept", "J", "mu", "sd", "log_lik", sprintf("f[%d]", seq_along(job$reference)))
  p <- length(rows$columns)
  size <- dim(core$scalars)[1:2]
  # Squared lengths of the rows of U, of the draws made now: those before are put in their places
  # later, those not reached are cut.
  before <- if (length(job$control$states)) dim(job$settings$resume$draws)[1]
  shares <- vapply(core$kernels, function(chain) {
    out <- matrix(0, size[1], p)
    count <- length(chain$size)
    frames <- array(chain$frame, c(p, job$control$rank, count))
    out[sum(before) + seq_len(count), ] <- t(apply(frames^2, c(1, 3), sum))
    out
  }, matrix(0, size[1], p))
  array(
    c(core$scalars, aperm(array(shares, c(size[1], p, size[2])), c(1, 3, 2))),
    c(size, length(names) + p), list(NULL, NULL, c(names, sprintf("P[%s]", rows$columns)))
  )
}

# Variables on which chains have to agree: where classes can be told apart without error the data
# hardly bound f, whose law has no mean there, nor the scales of kernels that it is made of.
klr_watched <- function(draws) {
  names <- dimnames(draws)[[3]]
  names[names %in% c("intercept", "J", "log_lik") | startsWith(names, "P[")]
}

# Largest difference between chains of the probability of a reference row.
apart_by_chain <- function(fit) {
  at <- startsWith(dimnames(fit$draws)[[3]], "f[")
  if (!any(at) || dim(fit$draws)[2] < 2L) {
    return(NULL)
  }
  means <- apply(stats::plogis(fit$draws[, , at, drop = FALSE]), 3:2, mean)
  max(apply(means, 1, max) - apply(means, 1, min))
}

klr_collect <- function(fit, core, job, rows) {
  settings <- job$settings
  fit$rank <- settings$rank
  fit$ranks <- job$ranks
  fit$share <- mean(rows$y > 0)
  fit$reference <- original_rows(job$reference, rows$rows)
  core <- join_earlier(core)
  fit$acceptance <- core$acceptance
  kernels <- lapply(
    core$kernels, first_klr_kernels, dim(fit$draws)[1], settings$rank, length(rows$columns)
  )
  fit$posterior <- list(kernels = kernels, x = job$shared$data$x)
  fit$fitted <- klr_moments(fit, fit$posterior$x, settings$threads)
  if (settings$prior$max_kernels > 0) warn_unknown_directions(fit)
  fit
}

# Those of the first draws of a chain.
first_klr_kernels <- function(kernels, draws, rank, p) {
  size <- kernels$size[seq_len(draws)]
  total <- sum(size)
  list(
    size = size, centre = kernels$centre[seq_len(total)],
    coefficient = kernels$coefficient[seq_len(total)],
    log_lambda = kernels$log_lambda[seq_len(rank * total)],
    frame = kernels$frame[seq_len(rank * p * draws)]
  )
}
