# What a model tells about its fits, for the methods that are written once.

# What was estimated: a data frame of rows by parameter_rows(), with `level` the posterior
# probability between lower and upper.
parameters <- function(object, level = 0.95) UseMethod("parameters")

# Lines at the head of print() and summary(), a named list of text: `title` comes first and alone,
# entries that are NULL are left out. `only`: names of those that are asked for, all if NULL.
facts <- function(object, only = NULL) UseMethod("facts")

# The others are not computed.
chosen_facts <- function(only, ...) {
  names <- ...names()
  at <- if (is.null(only)) seq_along(names) else which(names %in% only)
  stats::setNames(lapply(at, function(k) ...elt(k)), names[at])
}

# A list of what picture() makes, named by type, most telling first.
pictures <- function(object) UseMethod("pictures")

# What only some models add: `summary`, further elements of summary(); `glance`, further columns of
# glance(); `notes`, lines at the end of a printed summary.
extras <- function(object) UseMethod("extras")

#' @exportS3Method
extras.default <- function(object) list()

# Rows of one kind for parameters(), from a matrix by coef_table() or draws_table(), whose row
# names, unique, they keep. `effect` is "fixed" of coefficients, "ran_pars" of standard deviations
# and correlations, "scale" of a predictor in a kernel, "kernel" of its parameters, "parameter" of
# others, or "function" of values of the latent function; `group` a grouping term, a smooth, or
# where the function was evaluated; `term` what tidy() calls the rows, `label` what is printed;
# `inclusion` and `prior` are probabilities.
parameter_rows <- function(effect, table, group = NA_character_, term = rownames(table),
                           label = rownames(table), inclusion = NA_real_, prior = NA_real_) {
  n <- nrow(table)
  column <- function(name) {
    if (name %in% colnames(table)) table[, name] else rep(NA_real_, n)
  }
  data.frame(
    effect = rep(effect, n), group = rep_len(group, n), term = as.character(term),
    estimate = table[, 1], sd = table[, 2], lower = table[, 3], upper = table[, 4],
    rhat = column("R-hat"), ess = column("ESS"), inclusion = rep_len(inclusion, n),
    prior = rep_len(prior, n), label = as.character(label), row.names = rownames(table)
  )
}

# The way back: a matrix with the columns that any of the rows have.
parameter_matrix <- function(rows, names = rownames(rows)) {
  out <- as.matrix(rows[c("estimate", "sd", "lower", "upper", "rhat", "ess", "inclusion", "prior")])
  dimnames(out) <- list(names, c(
    "Estimate", "SD", tail_names(0.95), "R-hat", "ESS", "Inclusion", "Prior"
  ))
  has <- colSums(!is.na(out)) > 0 | seq_len(ncol(out)) <= 4L
  # R-hat is missing where chains stand still, or draws are too few.
  sampled <- any(has[5:6])
  has[5:6] <- sampled
  out[, has, drop = FALSE]
}

# The mean of a standard deviation whose posterior has so heavy a tail that the mean is infinite, or
# beyond the interval, says nothing: the median does, and there is no standard deviation to tell.
robust_rows <- function(table, median) {
  bad <- which(!is.finite(table[, 1]) | !is.finite(table[, 2]) | table[, 1] > table[, 4])
  table[bad, 1] <- median[bad]
  table[bad, 2] <- NA
  table
}

# --- bsvm() ------------------------------------------------------------------

#' @exportS3Method
parameters.bsvm <- function(object, level = 0.95) {
  rbind(fixed_parameters(object, level), variance_parameters(object, level))
}

#' @exportS3Method
parameters.bkm <- parameters.bsvm

fixed_parameters <- function(object, level) {
  tails <- fixed_quantiles(object, c(1 - level, 1 + level) / 2, "data")
  table <- coef_table(
    linear_coefficients(object, "data"), fixed_sd(object), tails[, 1], tails[, 2], level = level
  )
  if (!is.null(object$draws)) table <- with_convergence(table, object)
  group <- inclusion <- prior <- rep(NA_real_, nrow(table))
  for (smooth in object$smooths) group[c(smooth$fixed, unlist(smooth$blocks))] <- smooth$label
  selection <- object$posterior$selection
  inclusion[selection$columns] <- selection$polished %||% selection$inclusion
  if (!is.null(selection)) prior[selection$columns] <- selection$prior
  fixed <- parameter_rows("fixed", table, as.character(group), inclusion = inclusion, prior = prior)
  units <- if (length(object$smooths)) unit_positions(object)
  # Units are random effects: ranef().
  fixed[setdiff(seq_len(nrow(fixed)), units), ]
}

# Of a sampler: R-hat and the effective sample size, which the fit has.
with_convergence <- function(table, object, known = object$diagnostics$table) {
  known <- known[match(rownames(table), known$variable), ]
  # Small counts can be constant in the tails.
  ess <- pmin(known$ess_bulk, known$ess_tail, na.rm = TRUE)
  cbind(table, "R-hat" = shown_rhat(known$rhat), ESS = ess)
}

# Quantiles of the fixed coefficients: p x length(probs). Under q a selected one is 0 with the
# probability that it is out.
fixed_quantiles <- function(object, probs, scale) {
  if (!is.null(object$draws) && vcov_type(object) == "posterior") {
    draws <- flat_draws(object, fixed_names(object))
    if (scale == "model") draws <- theta_to_model(object, draws)
    out <- vapply(probs, function(p) {
      apply(draws, 2, stats::quantile, p, names = FALSE)
    }, numeric(ncol(draws)))
    return(matrix(out, ncol(draws), length(probs)))
  }
  if (vcov_type(object) == "posterior" && has_points(object)) {
    each <- lapply(at_points(object), function(own) {
      list(mean = linear_coefficients(own, scale), sd = fixed_sd(own, scale))
    })
    return(mixture_quantiles(
      by_component(each, "mean"), by_component(each, "sd"), probs, point_weights(object)
    ))
  }
  out <- linear_coefficients(object, scale) + outer(fixed_sd(object, scale), stats::qnorm(probs))
  posterior <- object$posterior
  at <- posterior$selection$columns
  if (length(at) == 0L) return(out)
  size <- if (scale == "data") object$transform$scale[at] else 1
  theta <- posterior$theta_mean[at] / size
  sd <- sqrt(cov_diagonal(posterior$theta_cov)[at]) / size
  for (k in seq_along(probs)) out[at, k] <- spike_quantile(probs[k], theta, sd, posterior$gamma[at])
  out
}

# Quantiles of gamma theta with theta ~ N(mean, sd^2), P(gamma = 1) = chance.
spike_quantile <- function(p, mean, sd, chance) {
  below <- chance * stats::pnorm(0, mean, sd)
  upper <- p > below + 1 - chance
  lower <- p < below
  out <- numeric(length(mean))
  out[lower] <- (mean + sd * stats::qnorm(pmin(p / chance, 1)))[lower]
  out[upper] <- (mean + sd * stats::qnorm(pmin(pmax((p - 1 + chance) / chance, 0), 1)))[upper]
  out
}

# `level`: NULL where limits are not asked for.
variance_parameters <- function(object, level) {
  rbind(
    random_parameters(object, level), component_parameters(object, level),
    if (is_regression(object)) noise_parameters(object, level)
  )
}

# Standard deviations, then correlations, of the random effects of each term.
random_parameters <- function(object, level) {
  do.call(rbind, lapply(seq_along(object$posterior$random), function(t) {
    term <- object$posterior$random[[t]]
    pairs <- lower_triangle(length(term$columns))
    from <- term$columns[pairs[, 2]]
    to <- term$columns[pairs[, 1]]
    single <- pairs[, 1] == pairs[, 2]
    table <- if (!is.null(object$draws)) {
      gibbs_variance_rows(object, term, level %||% 0.95)
    } else if (has_points(object)) {
      point_variance_rows(object, t, level)
    } else {
      vb_variance_rows(object, t, level %||% 0.95)
    }
    rownames(table) <- ifelse(
      single, sprintf("sd(%s | %s)", from, term$label),
      sprintf("cor(%s, %s | %s)", from, to, term$label)
    )
    rows <- parameter_rows("ran_pars", table, term$label, ifelse(
      single, paste0("sd__", from), paste0("cor__", from, ".", to)
    ))
    rows[order(!single), ]
  }))
}

# Covariances (lower triangle by columns) to standard deviations and correlations.
to_sd_cor <- function(lower, r) {
  pairs <- lower_triangle(r)
  single <- pairs[, 1] == pairs[, 2]
  sd <- sqrt(lower[, single, drop = FALSE])
  out <- lower
  out[, single] <- sd
  for (k in which(!single)) out[, k] <- lower[, k] / (sd[, pairs[k, 1]] * sd[, pairs[k, 2]])
  out
}

gibbs_variance_rows <- function(object, term, level) {
  names <- covariance_names(term$label, term$columns)
  size <- dim(object$draws)[1:2]
  values <- to_sd_cor(pooled_draws(object, names), length(term$columns))
  robust_rows(
    draws_table(array(values, c(size, ncol(values))), level), apply(values, 2, stats::median)
  )
}

# sigma^2 ~ IG(a, b); a diagonal element of IW(df, S) is IG((df - r + 1) / 2, S_kk / 2).
vb_variance_rows <- function(object, t, level) {
  q <- variance_of_term(object, t)
  map <- object$transform$random[[t]]
  if (q$type == "iid") return(sd_row(q$shape, q$rate * drop(map)^2, level))
  r <- nrow(map)
  pairs <- lower_triangle(r)
  single <- which(pairs[, 1] == pairs[, 2])
  draws <- with_seed(1, variance_draws(object, t, 4000))
  lower <- apply(draws, 3, function(v) v[pairs])
  out <- draws_table(to_sd_cor(t(lower), r), level)
  out[single, ] <- sd_row((q$df - r + 1) / 2, diag(map %*% q$scale %*% t(map)) / 2, level)
  out
}

# Of the penalty, of smooths, and of selected coefficients.
component_parameters <- function(object, level) {
  components <- plain_components(object)
  labels <- vapply(components, `[[`, "", "label")
  rows <- lapply(seq_along(components), function(k) {
    q <- components[[k]]
    if (has_points(object)) {
      return(point_rows(object, function(own) sqrt(plain_components(own)[[k]]$value[1]), level))
    }
    level <- level %||% 0.95
    if (is.null(object$draws)) {
      return(if (q$type == "point") {
        coef_table(sqrt(q$value), NA_real_, NA_real_, NA_real_, level = level)
      } else {
        sd_row(q$shape, q$rate, level)
      })
    }
    name <- sprintf("sigma2[%s]", q$label)
    values <- sqrt(object$draws[, , name, drop = FALSE])
    robust_rows(draws_table(values, level), stats::median(values))
  })
  if (length(rows) == 0L) return(NULL)
  table <- do.call(rbind, rows)
  rownames(table) <- sprintf("sd(%s)", labels)
  parameter_rows("ran_pars", table, labels, paste0("sd__", labels))
}

# The standard deviation of a numeric response.
noise_parameters <- function(object, level) {
  noise <- object$posterior$noise
  table <- if (!is.null(object$draws)) {
    draws <- object$draws[, , noise_name(fixed_names(object)), drop = FALSE]
    draws_table(draws, level %||% 0.95)
  } else if (has_points(object)) {
    point_rows(object, function(own) sqrt(own$posterior$noise), level)
  } else {
    sd_row(noise$shape, noise$rate, level %||% 0.95)
  }
  rownames(table) <- "sigma"
  parameter_rows("ran_pars", table, "Residual", "sd__Observation")
}

# Components of one variance that belong to no grouping factor.
plain_components <- function(object) {
  q <- object$posterior$variance
  plain <- q[seq_len(length(q) - length(object$posterior$random))]
  plain <- Filter(function(component) component$type != "held", plain)
  selection <- object$posterior$selection
  if (!is.null(selection)) {
    plain <- c(plain, list(c(
      list(label = "selection", type = "iid"), selection[c("shape", "rate")]
    )))
  }
  plain
}

# Moments and quantiles of sigma for sigma^2 ~ IG(shape, rate). Its mean needs shape > 1/2, its
# variance shape > 1.
sd_row <- function(shape, rate, level) {
  root <- sqrt(rate)
  mean <- root * exp(lgamma(max(shape, 0.5) - 0.5) - lgamma(shape))
  sd <- if (shape > 1) sqrt(pmax(rate / (shape - 1) - mean^2, 0)) else Inf
  at <- root %o% (1 / sqrt(stats::qgamma(c(1 + level, 1 - level, 1) / 2, shape)))
  robust_rows(coef_table(mean, rep_len(sd, length(rate)), at[, 1], at[, 2], level = level), at[, 3])
}

# --- bark() ------------------------------------------------------------------

#' @exportS3Method
parameters.bark <- function(object, level = 0.95) {
  table <- bark_parameters(object, level)
  names <- rownames(table)
  words <- bark_words(names)
  at <- startsWith(names, "f[")
  groups <- startsWith(names, "Sigma[")
  words[at] <- sprintf("f at row %d", object$reference)
  select <- object$select
  prior <- if (select) prior_share(object)
  rbind(
    parameter_rows(
      "scale", draws_table(bark_scales(object), level),
      inclusion = if (select) inclusion_by(object) else NA_real_,
      prior = if (is.null(prior)) NA_real_ else prior
    ),
    parameter_rows(
      "parameter", table[!(at | groups), , drop = FALSE], label = words[!(at | groups)]
    ),
    if (!is.null(object$posterior$slopes)) {
      parameter_rows(
        "parameter", draws_table(object$posterior$slopes, level),
        label = sprintf("slope of f along %s", object$columns)
      )
    },
    random_parameters(object, level),
    parameter_rows(
      "function", table[at, , drop = FALSE],
      group = "rows of the data, from low to high", label = words[at]
    )
  )
}

# Words for the names that draws have.
bark_words <- function(names) {
  known <- c(
    sigma = "sd of the noise (sigma)", J = "kernels (J)", m = "places of kernels (m)",
    d = "predictors in (d)", q0 = "prior inclusion (q0)", q1 = "same, next to one in (q1)",
    epsilon = "coefficient scale (epsilon)",
    "sigma2[linear]" = "variance of slopes (sigma2[linear])"
  )
  cut <- sub("^cut.(.*).$", "cut point \\1 (cut[\\1])", names)
  ifelse(names %in% names(known), known[names], cut)
}

# f is drawn as its mean given the rest: its spread is that of the fit, which has the coefficients'
# too, and its quantiles are those of a normal variable.
bark_parameters <- function(object, level) {
  names <- watched_names(object$draws)
  out <- draws_table(pooled_draws(object, names), level)
  at <- startsWith(names, "f[")
  own <- object$posterior$reference
  out[at, ] <- coef_table(object$fitted$mean[own], sqrt(object$fitted$var[own]), level = level)
  with_convergence(out, object)
}

# Kernel scales of all draws, chain after chain: draws x predictors. Of several vectors the mean
# over the kernels of the draw: vectors trade places.
bark_scales <- function(object) {
  names <- dimnames(object$draws)[[3]]
  columns <- object$columns
  names <- names[startsWith(names, "lambda[")]
  vectors <- length(names) / length(columns)
  out <- if (vectors == 1) {
    pooled_draws(object, names)
  } else {
    core <- bark_core_draws(object, taken_draws(object, NULL))
    share <- vector_shares(core$kernels, nrow(object$posterior$x), vectors)
    Reduce(`+`, lapply(seq_len(vectors), function(k) {
      own <- (k - 1) * length(columns) + seq_along(columns)
      share[, k] * core$lambda[, own, drop = FALSE]
    }))
  }
  colnames(out) <- columns
  out
}

# Of the kernels of each draw, draws x vectors: the same for all where there is none.
vector_shares <- function(kernels, n, vectors) {
  draw <- rep(seq_along(kernels$size), kernels$size)
  vector <- kernel_vector(kernels$location, n)
  count <- vapply(seq_len(vectors), function(k) {
    tabulate(draw[vector == k], length(kernels$size))
  }, numeric(length(kernels$size)))
  count <- matrix(count, ncol = vectors)
  count[rowSums(count) == 0, ] <- 1
  count / rowSums(count)
}

# Prior probability of a predictor to be in the model; NULL if it is learned.
prior_share <- function(object) {
  if (is.null(object$structure)) {
    object$prior$inclusion[1] / sum(object$prior$inclusion)
  } else if (is.null(object$structure$hyper)) {
    object$structure$q
  }
}

# --- gpsvm() -----------------------------------------------------------------

#' @exportS3Method
parameters.gpsvm <- function(object, level = 0.95) {
  values <- c(kernel_parameters(object$kernel), nugget = object$nugget)
  kernel <- coef_table(values, rep(NA_real_, length(values)))
  points <- process_table(object, level)
  rbind(
    parameter_rows("kernel", kernel),
    if (!is.null(points)) {
      exact <- isTRUE(object$exact)
      parameter_rows(
        "function", points,
        group = if (exact) "the rows of the fit" else "the inducing points",
        # u[3], or u[class,3] with a process for each class.
        label = trimws(sub(
          "^.\\[(.*,)?([0-9]+)\\]$", sprintf("\\1 f at %s \\2", if (exact) "row" else "point"),
          rownames(points)
        ))
      )
    }
  )
}

# The latent function at the inducing points, or the rows of an exact process. A posterior mode has
# no spread.
process_table <- function(object, level) {
  if (!is.null(object$draws)) {
    table <- draws_table(stack_chains(object$draws), level)
    return(with_convergence(table, object))
  }
  machines <- object$posterior$machines
  if (object$method == "ecm" || is.null(machines)) return(NULL)
  factor <- object$posterior$factor
  # O(m^2) a point.
  at <- spread_over(nrow(factor), if (nrow(factor) > 500L) 10L else 500L)
  mean <- unlist(lapply(machines, function(q) drop(factor %*% q$mean)[at]))
  sd <- unlist(lapply(machines, function(q) {
    sqrt(rowSums(tcrossprod(factor[at, , drop = FALSE], q$whitener)^2))
  }))
  names(mean) <- matrix(process_names(
    names(machines), nrow(factor), isTRUE(object$exact)
  ), nrow(factor))[at, ]
  coef_table(mean, sd, level = level)
}

# By column, named.
inclusion_by <- function(object) selection_of(object)$inclusion()

inclusion_by_term <- function(object) {
  columns <- inclusion_by(object)
  terms <- term_of_columns(object)[names(columns)]
  shared <- by_term(object$prior)
  vapply(split(names(columns), factor(terms, unique(terms))), function(own) {
    if (length(own) == 1L || shared) columns[[own[1L]]] else inclusion_of_any(object, own)
  }, 0)
}

inclusion_columns <- function(object) selection_of(object)$columns

# The selection of a fit: names of its `columns`, NULL without; the rest as functions: `inclusion()`
# of each, maybe with the attribute `range`; `draws(columns)`, 0 where they are out; `positive()`,
# P(effect > 0 | in the model), NULL where effects have no sign.
selection_of <- function(object) UseMethod("selection_of")

# That one of several columns is in the model, or more.
inclusion_of_any <- function(object, columns) {
  if (is.null(object$draws)) {
    bk_abort(
      "argument", "The fit has no joint draws of its indicators.",
      sprintf("Found: a term of %d columns, each in or out by itself.", length(columns)),
      "Accepted: by = \"column\"; or a fit with `polish = TRUE`.", column = "by", found = "term"
    )
  }
  mean(rowSums(selection_of(object)$draws(columns) != 0) > 0)
}

# The term of the formula that each column of the design belongs to, by name; of a matrix every
# column is a term. Widths of terms are those of their variables: a factor has a column for each
# level where `factors` says 2, for each contrast where it says 1.
term_of_columns <- function(object) {
  info <- object$design
  if (is.null(info$terms)) return(stats::setNames(nm = info$columns))
  coding <- attr(info$terms, "factors")
  classes <- attr(info$frame_terms, "dataClasses")
  width <- function(variable, code) {
    levels <- length(info$xlevels[[variable]])
    if (levels == 0L && identical(classes[[variable]], "logical")) levels <- 2L
    if (levels > 0L) return(if (code == 2L) levels else levels - 1L)
    if (startsWith(classes[[variable]], "nmatrix.")) {
      return(as.integer(sub("nmatrix.", "", classes[[variable]], fixed = TRUE)))
    }
    1L
  }
  labels <- attr(info$terms, "term.labels")
  variables <- variable_names(info$terms)
  widths <- vapply(seq_along(labels), function(t) {
    used <- which(coding[, t] > 0)
    prod(vapply(used, function(v) width(variables[v], coding[v, t]), 1L))
  }, 1)
  all <- c(if (attr(info$terms, "intercept") == 1L) "(Intercept)", rep(labels, widths))
  own <- all[info$keep]
  stats::setNames(ifelse(is.na(own), info$columns, own), info$columns)
}
