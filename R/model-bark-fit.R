# From rows and settings to a fit of bark(): what the core reads, draws on the scale of the data,
# what prediction needs.

bark_job <- function(rows, settings) {
  refuse_codes(rows, settings)
  classes <- settings$family != "gaussian"
  counts <- if (classes) class_counts(rows, "bark")
  # The chain has a latent response for each of them; a fit needs none.
  at <- counted_rows(rows, counts)
  if (settings$family == "ordinal") inform_empty_levels(rows)
  data <- bark_data(rows, if (!classes) rows$weights)
  if (settings$brief) settings <- brief_run(settings, length(at))
  reference <- reference_rows(data)
  settings$prior$reach <- kernel_reach(settings, length(at))
  prior <- settings$prior
  most <- prior$max_kernels
  structure <- settings$structure
  if (is.null(most)) most <- min(length(at) - 1L, 200L)
  p <- ncol(data$x) * prior$vectors
  blocks <- bark_blocks(rows, settings)
  own <- list(x = data$x, blocks = blocks, rows = if (!is.null(counts)) at)
  if (!is.null(counts)) {
    data$x <- data$x[at, , drop = FALSE]
    data$y <- data$y[at]
    blocks$level <- blocks$level[at, , drop = FALSE]
  }
  list(
    settings = settings, reference = reference, y_scale = data$y_scale,
    weight = data$weight, own = own,
    # Kernels a draw are not known before; twice their prior mean are many.
    stored = 10 + p + length(reference) + 3 * min(most, 2 * expected_kernels(prior)) +
      2 * length(block_names(rows, settings)),
    control = c(list(
      scales = settings$scales, select = settings$select, vectors = as.double(prior$vectors),
      warmup = as.double(settings$warmup), draws = as.double(settings$draws),
      thin = as.double(settings$thin), seed = as.double(settings$seed),
      chain_id = 0:(settings$chains - 1L), threads = settings$threads, progress = settings$progress,
      reference = own$x[reference, , drop = FALSE], states = list(),
      start = start_indicators(data, structure)
    ), if (length(rows$random)) {
      list(reference_level = own$blocks$level[reference, , drop = FALSE])
    }, if (data$classes == 0L && rows$n > most_whole) list(part = part_of_rows(data))),
    shared = list(
      data = c(data[c(
        "x", "y", "classes", if (length(data$weights)) "weights"
      )], if (!is.null(blocks)) list(blocks = blocks)),
      prior = c(
        prior[c("alpha", "gamma", "epsilon", "lambda_shape", "lambda_rate", "inclusion")],
        list(
          scale = as.numeric(prior$scale), reach = prior$reach, sampled_inclusion = FALSE,
          phi = core_precision(prior$phi, data$weight), max_kernels = most, kill_power = 1,
          markov = as.numeric(c(structure$q0, structure$q1)),
          markov_beta = as.numeric(structure$hyper)
        ),
        # A chain of before 0.13.0, whose first cut point was 0, is of another model.
        if (data$classes > 2L) list(free_cuts = TRUE)
      )
    )
  )
}

bark_chains <- function(control, data, prior) {
  if (length(control$part) && !length(control$states) && control$warmup > 0) {
    begun <- begin_on_part(control, data, prior)
    if (begun$status$interrupted) return(begun)
    control$states <- begun$states
  }
  bark_fit_cpp(data, prior, control)
}

# Blocks of columns beside the kernels, as the core reads them: whether there is a linear part, and
# of random intercepts how many levels each factor has and which of them the rows have. NULL without
# any.
bark_blocks <- function(rows, settings) {
  random <- rows$random
  if (!length(random) && !settings$linear) return(NULL)
  levels <- vapply(random, function(term) length(term$levels), 1L)
  if (sum(levels) > most_levels) abort_many_levels(random, levels)
  list(linear = settings$linear, levels = as.integer(levels), level = level_codes(random))
}

# A draw of the coefficients takes the cube of their number.
most_levels <- 200L

abort_many_levels <- function(random, levels) {
  names <- vapply(random, `[[`, "", "label")
  bk_abort(
    "argument", "The random intercepts have too many levels for bark().",
    sprintf("Found: %s.", paste(names, levels, collapse = ", ")),
    sprintf("Accepted: %d levels in all.", most_levels),
    "bsvm() and bkm() take any number of groups.", column = names[which.max(levels)],
    found = sum(levels), expected = most_levels
  )
}

# Rows x factors: the level of each row, 0 for one that the fit has not seen, negative where its
# effect is none of the row's. NULL without factors.
level_codes <- function(random) {
  if (length(random) == 0L) return(NULL)
  unname(do.call(cbind, lapply(random, function(term) {
    ifelse(term$z[, 1] == 0, -1L, as.integer(term$group))
  })))
}

# Names of the coefficients of blocks, and of their variances.
block_names <- function(rows, settings) {
  c(
    if (settings$linear) sprintf("beta[%s]", rows$columns),
    unlist(lapply(rows$random, function(term) ranef_names(term$label, term$columns, term$levels)))
  )
}

block_variance_names <- function(rows, settings) {
  c(
    if (settings$linear) "sigma2[linear]",
    unlist(lapply(rows$random, function(term) covariance_names(term$label, term$columns)))
  )
}

# Predictors and response on the scale of the model. Weights have mean 1 there: `weight` times the
# precision that belongs to a weight of 1 is the model's phi, so that the range of its prior holds
# for weights of any size.
bark_data <- function(rows, weights) {
  classes <- length(rows$levels)
  weight <- if (is.null(weights)) 1 else mean(weights)
  y_scale <- if (classes == 0L) response_scale(rows$y) else c(0, 1)
  x <- rows$data$x[, rows$data$source, drop = FALSE]
  list(
    x = scaled_rows(x, rows$center, rows$scale), y = (rows$y - y_scale[1]) / y_scale[2],
    classes = classes, y_scale = y_scale, weight = weight, weights = weights / weight
  )
}

# The prior of the precision, c(shape, rate) or nothing, times `weight`.
core_precision <- function(phi, weight) {
  if (is.character(phi)) {
    numeric()
  } else if (length(phi) == 2L) {
    phi / c(1, weight)
  } else {
    phi * weight
  }
}

# Mean and standard deviation.
response_scale <- function(y, copies = NULL) {
  moments <- counted_moments(cbind(y), column_moments_cpp(cbind(y)), copies)
  check_columns(moments, cbind(y), "y", NULL)
  # Unlike a predictor, which may be computed, it is what was measured: digits that a large mean
  # leaves count.
  if (moments$max > moments$min) return(c(moments$mean, moments$sd))
  bk_warn("response", "The response is constant.",
    sprintf("Found: all %d values are %s.", length(y), format(y[1])),
    "It is not scaled: there is nothing to learn from it."
  )
  c(moments$mean, 1)
}

# Codes of classes are not regressed unless that is said.
refuse_codes <- function(rows, settings) {
  if (settings$family != "gaussian" || settings$family_said) return(invisible())
  found <- sort(unique(rows$y))
  if (length(found) == 2L && !is.null(declared_levels(rows$y))) {
    bk_abort(
      "response", fit_header("Response `%s` looks like codes of classes.", rows$response),
      sprintf("Found: %s and %s.", found[1], found[2]),
      "For two classes write family = \"binomial\".",
      "For a regression write family = \"gaussian\".", column = rows$response, found = found
    )
  }
}

bark_collect <- function(fit, core, job, rows) {
  settings <- job$settings
  fit[c("family", "scales", "select", "linear")] <-
    settings[c("family", "scales", "select", "linear")]
  fit["structure"] <- list(settings$structure)
  fit$transform$response <- job$y_scale
  if (length(rows$levels) == 2L) fit$share <- share_of_second(rows)
  fit$max_kernels <- job$shared$prior$max_kernels
  fit$reference <- original_rows(job$reference, rows$rows)
  core$kernels <- lapply(core$kernels, own_centres, job$own)
  core <- join_earlier(core)
  fit$acceptance <- core$acceptance
  # Prediction needs every row: the coefficients given a draw depend on all.
  fit$posterior <- list(
    kernels = lapply(core$kernels, first_kernels, dim(fit$draws)[1]),
    x = job$own$x, reference = job$reference
  )
  fit$posterior$blocks <- job$own$blocks
  if (settings$chain_weights == "stacking") {
    fit$chain_weights <- chain_weights(fit, settings$threads)
  }
  fit$diagnostics$apart <- chains_apart(fit, settings$threads)
  fit$fitted <- bark_moments(fit, fit$posterior$x, settings$threads, fit$posterior$blocks$level)
  if (settings$linear) fit$posterior$slopes <- bark_slopes(fit)
  bark_random(fit, rows)
}

# Weighted share of the second of two classes, whose numbers are 1 and 2.
share_of_second <- function(rows) {
  stats::weighted.mean(rows$y - 1, rows$weights %||% rep(1, length(rows$y)))
}

# Kernels whose centres are rows of the data in the place of rows that are repeated as often as they
# count. Location 0 is the constant.
own_centres <- function(kernels, own) {
  if (!is.null(own$rows)) {
    n <- length(own$rows)
    at <- which(kernels$location > 0)
    place <- kernels$location[at]
    kernels$location[at] <- as.integer(own$rows[(place - 1) %% n + 1] +
      nrow(own$x) * (kernel_vector(place, n) - 1))
  }
  kernels
}

# Random effects as every model keeps them: means and covariances of the draws, on the scale of the
# model.
bark_random <- function(fit, rows) {
  size <- fit$transform$response[2]
  fit$posterior$random <- lapply(rows$random, function(term) {
    names <- ranef_names(term$label, term$columns, term$levels)
    b <- pooled_draws(fit, names) / size
    mean <- colMeans(b)
    var <- colSums((b - rep(mean, each = nrow(b)))^2) / max(1, nrow(b) - 1)
    list(
      label = term$label, columns = term$columns, levels = term$levels, mean = matrix(mean),
      cov = array(var, c(1L, 1L, length(var))), eliminated = FALSE
    )
  })
  fit$transform$random <- lapply(rows$random, function(term) matrix(size))
  fit
}

# Rows at which every draw has f: at most ten, spread evenly over the rows in the order of the
# response and then of the predictors, so that they do not depend on the order in which the rows
# came.
reference_rows <- function(data) {
  sorted <- ordered_rows(data)
  sorted[spread_over(length(sorted), 10L)]
}

ordered_rows <- function(data) do.call(order, c(list(data$y), unname(as.data.frame(data$x))))

# One array draws x chains x variables on the scale of the data.
bark_draws <- function(core, job, rows) {
  settings <- job$settings
  names <- scalar_names(rows, settings, length(job$reference))
  scalars <- core$scalars
  dimnames(scalars) <- list(NULL, NULL, names)
  if (length(job$shared$data$weights)) {
    scalars[, , "phi"] <- scalars[, , "phi"] / job$weight
    # The core's response is that of the data times the roots of the weights.
    scalars[, , "log_lik"] <- scalars[, , "log_lik"] + sum(log(job$shared$data$weights)) / 2
  }
  at <- startsWith(names, "f[")
  scalars[, , at] <- job$y_scale[1] + job$y_scale[2] * scalars[, , at]
  # Of a linear part for a predictor's own unit, with the variance of those for standardised ones.
  unit <- c(
    if (settings$linear) job$y_scale[2] / rows$scale,
    rep(job$y_scale[2], sum(lengths(lapply(rows$random, `[[`, "levels"))))
  )
  at <- match(block_names(rows, settings), names)
  scalars[, , at] <- scalars[, , at] * rep(unit, each = prod(dim(scalars)[1:2]))
  at <- match(block_variance_names(rows, settings), names)
  scalars[, , at] <- job$y_scale[2]^2 * scalars[, , at]
  sigma <- job$y_scale[2] / sqrt(scalars[, , "phi", drop = FALSE])
  gaussian <- job$shared$data$classes == 0L
  shown <- setdiff(names, c(if (!gaussian) "phi", if (!settings$select) "d"))
  parts <- list(if (gaussian) sigma, scalars[, , shown, drop = FALSE], core$lambda)
  names <- c(if (gaussian) "sigma", shown, scale_names(rows$columns, settings))
  array(unlist(parts), c(dim(scalars)[1:2], length(names)), list(NULL, NULL, names))
}

# Of one vector, or of several after one another.
scale_names <- function(columns, settings) {
  vectors <- settings$prior$vectors
  if (vectors == 1L) return(sprintf("lambda[%s]", columns))
  sprintf("lambda[%d,%s]", rep(seq_len(vectors), each = length(columns)), rep(columns, vectors))
}

# In the order in which the core has them.
scalar_names <- function(rows, settings, points) {
  hyper <- !is.null(settings$structure$hyper)
  cuts <- if (length(rows$levels) > 2L) length(rows$levels) - 1L else 0L
  c(
    "phi", "J", "m", "d", "T", "log_lik", if (!is.null(settings$prior$scale)) "epsilon",
    if (hyper) c("q0", "q1"), if (cuts > 0L) sprintf("cut[%d]", seq_len(cuts)),
    sprintf("f[%d]", seq_len(points)), block_variance_names(rows, settings),
    block_names(rows, settings)
  )
}

# Variables that mean the same in every draw, but for single coefficients: what these say kernels
# can say, too.
watched_names <- function(draws) {
  names <- dimnames(draws)[[3]]
  known <- c("sigma", "J", "m", "d", "epsilon", "q0", "q1")
  names[names %in% known | grepl("^(cut|f|sigma2|Sigma)\\[", names)]
}

# Those of the first draws of a chain.
first_kernels <- function(kernels, draws) {
  size <- kernels$size[seq_len(draws)]
  at <- seq_len(sum(size))
  of_blocks <- intersect(c("block_mean", "block_variance"), names(kernels))
  c(
    list(
      size = size, location = kernels$location[at],
      variance = kernels$variance[at], mean = kernels$mean[at]
    ),
    lapply(kernels[of_blocks], function(each) {
      each[seq_len(length(each) / length(kernels$size) * draws)]
    })
  )
}

join_kernels <- function(parts) {
  lapply(stats::setNames(nm = names(parts[[1]])), function(name) unlist(lapply(parts, `[[`, name)))
}

# Kernels and moves of chains that went on, with those of the fit before.
join_earlier <- function(core) {
  earlier <- core$earlier
  if (!is.null(earlier)) {
    core$acceptance <- core$acceptance + earlier$acceptance
    core$kernels <- Map(function(first, second) {
      join_kernels(list(first, second))
    }, earlier$posterior$kernels, core$kernels)
  }
  core
}
