# The default prior of fixed coefficients, on the scale of the model: each is that of the
# standardized column, whether or not the fit has standardized it.

# Variances of the coefficients of the columns `fixed`: `variance` is those of standardized columns,
# of the intercept at their means, and in units of the response. `nested`: by nested_columns().
column_variances <- function(design, fixed, variance, standardize, family, nested) {
  intercept <- has_intercept(design) & fixed == 1L
  slopes <- fixed[!intercept]
  spread <- column_spread(design, slopes, standardize)
  for (own in nested) spread$sd[match(own$columns, slopes)] <- own$sd
  y <- list(size = 1, mean = 0)
  if (family == "gaussian") y <- response_spread(design, standardize)
  variance <- variance * y$size^2
  scale <- design$scale[slopes]
  variance[!intercept] <- variance[!intercept] * (scale / spread$sd)^2
  # An intercept that is not at the means is further away from 0.
  away <- (spread$mean - design$center[slopes]) / scale
  variance[intercept] <- variance[intercept] + y$mean^2 + sum(variance[!intercept] * away^2)
  variance
}

# Products and powers that the columns that they are made of explain for the most part, as that of a
# year and a treatment, which is nearly a multiple of the treatment. The prior is that of what such
# a column adds to those of earlier terms of its variables, wherever the zeros of predictors are.
# Powers of one term, as of poly(raw = TRUE), follow each other in the same way.
# A list with an element for each term that has some, or column of powers: `columns`; `sd`, of what
# they add; `lower`, the earlier columns, and `load`, lower x columns, by which these explain them.
nested_columns <- function(design, share = 0.25) {
  x <- design$lean$x %||% design$x
  if (is.null(design$terms) || nrow(x) == 0L) return(NULL)
  at <- which(design$assign > 0L)
  if (length(at) < 2L) return(NULL)
  of_term <- split(at, design$assign[at])
  labels <- design$term_labels[as.integer(names(of_term))]
  variables <- lapply(labels, function(label) all.vars(str2lang(label)))
  powers <- terms_of_powers(design, labels)
  # Terms by the first of their variables: those of very many are not compared by pairs.
  first <- vapply(variables, function(own) c(own, "")[1L], "")
  by_first <- split(seq_along(first), factor(first, unique(first)))
  out <- lapply(seq_along(of_term), function(t) {
    before <- unlist(by_first[unique(variables[[t]])], use.names = FALSE)
    before <- sort(before[before < t])
    made_of <- vapply(variables[before], function(own) all(own %in% variables[[t]]), NA)
    lower <- unlist(of_term[before[made_of]], use.names = FALSE)
    own <- of_term[[t]]
    steps <- if (powers[t] && length(own) <= most_powers) as.list(own) else list(own)
    of_terms <- length(lower) > 0L
    lapply(seq_along(steps), function(k) {
      lower <- c(lower, unlist(steps[seq_len(k - 1L)]))
      if (length(lower) == 0L) return(NULL)
      nested_term(design, x, steps[[k]], lower, if (of_terms) share else min(share, 0.05))
    })
  })
  Filter(Negate(is.null), unlist(out, recursive = FALSE))
}

# Terms with a function of several columns.
terms_of_powers <- function(design, labels) {
  factors <- attr(design$terms, "factors")
  # Names that are no text of R are without their marks in a frame: these are variables.
  wide <- intersect(names(Filter(is.matrix, as.list(design$frame))), rownames(factors))
  wide <- wide[vapply(wide, function(name) is.call(str2lang(name)), NA)]
  if (length(wide) == 0L) return(logical(length(labels)))
  colSums(factors[wide, labels, drop = FALSE] > 0) > 0
}

# Bases of more columns are splines, or numbers of their own.
most_powers <- 10L

# A column is nested if it adds less than `share` of its variance to the columns it is made of.
nested_term <- function(design, x, own, lower, share) {
  some <- spread_over(nrow(x), 50000L)
  weights <- prior_weights(design)[some]
  place <- function(at) if (is.null(design$lean)) at else match(at, design$lean$at)
  left <- sum(several_copies(weights) %||% (weights > 0)) - length(lower) - 1L
  if (left < 4L) return(NULL)
  spread <- function(values) sqrt(colSums(weights * values^2) / sum(weights))
  # Of unit spread, without their means where there is an intercept.
  unit <- function(at) {
    values <- x[some, place(at), drop = FALSE]
    if (has_intercept(design)) {
      values <- values - rep(colSums(weights * values) / sum(weights), each = length(some))
    }
    sd <- spread(values)
    sd[sd == 0] <- 1
    list(values = values / rep(sd, each = length(some)), sd = sd)
  }
  base <- unit(lower)
  made <- unit(own)
  fitted <- qr(sqrt(weights) * base$values)
  load <- qr.coef(fitted, sqrt(weights) * made$values)
  load[is.na(load)] <- 0
  rest <- made$values - base$values %*% load
  rest[abs(rest) < 1e-8] <- 0
  sd <- spread(rest) * sqrt((left + length(lower) + 1) / left)
  few <- apply(rest, 2L, rare_spread, weights)
  chosen <- which(sd^2 < share & sd > 1e-7)
  if (length(chosen) == 0L) return(NULL)
  list(
    columns = own[chosen], sd = unname(pmax(sd, few) * made$sd)[chosen], lower = lower,
    load = unname(load * outer(1 / base$sd, made$sd))[, chosen, drop = FALSE]
  )
}

# Where the prior is another one it is of the columns as they are, which holds such effects at 0.
knows_nested <- function(design, penalty, prior, selected, crossed) {
  isTRUE(prior$by_column) && all(prior$beta_mean == 0) && identical(penalty, "none") &&
    length(selected) == 0L && length(crossed) == 0L && is.null(design$holes)
}

# Of a design that has nested columns.
warn_nested <- function(design, settings, blocks) {
  labels <- vapply(blocks$blocks, `[[`, "", "label")
  if ("nested" %in% labels) return(invisible())
  # A prior of no penalty is wide beside what a number's rows say.
  wide <- settings$family == "gaussian" && identical(settings$penalty, "none") &&
    isFALSE(settings$select %||% FALSE) && isTRUE(settings$prior$by_column)
  at <- unlist(lapply(nested_columns(design, if (wide) 0.001 else 0.05), `[[`, "columns"))
  if (length(at) == 0L) return(invisible())
  names <- colnames(design$x)[at]
  bk_warn(
    "identification", fit_header("The prior holds the effect of `%s` near 0.", names[1L]),
    "The column is nearly a combination of those that it is made of.",
    if (length(names) > 1L) paste("Others:", list_some(sprintf("`%s`", names[-1L]))),
    "Subtract a typical value from the predictor, as in year - 2010.", columns = names
  )
}

# Columns of a matrix or a source have no formula that tells what they are made of: which of them
# all others explain so well that the rows say less of them than the prior does.
warn_combined <- function(design, settings) {
  x <- design$x
  file <- design$data
  n <- if (is.null(file)) nrow(x) else file$rows
  few <- ncol(x) < 3L || ncol(x) > 100L || n < 2L * ncol(x)
  if (few || length(file$shares) || !is.null(design$holes)) return(invisible())
  some <- spread_over(n, 2000L)
  at <- which(colnames(x) != "(Intercept)")
  names <- colnames(x)[at]
  from <- if (is.null(file)) x[some, , drop = FALSE] else read_spooled(file, some)
  if (!is.null(file)) at <- file$source[at]
  spread <- suppressWarnings(stats::cor(from[, at, drop = FALSE]))
  root <- tryCatch(chol(spread), error = function(e) NULL)
  if (is.null(root)) return(invisible())
  inflation <- diag(chol2inv(root))
  # Where the prior has a tenth of what is known or more.
  most <- n * if (settings$family %in% c("logit", "probit")) 1 else 100
  if (settings$family == "gaussian" && is.null(file) && any(inflation > max(most, 100))) {
    left <- stats::lm.fit(x[some, , drop = FALSE], design$y[some])$residuals
    most <- most * stats::var(design$y[some]) / stats::var(left)
  }
  names <- names[inflation > max(most, 100)]
  if (length(names)) {
    bk_warn(
      "identification", fit_header("The prior may hold the effect of `%s` near 0.", names[1L]),
      "The column is nearly a combination of the others.",
      if (length(names) > 1L) paste("Others:", list_some(sprintf("`%s`", names[-1L]))),
      "For a product subtract a typical value from each predictor first.", columns = names
    )
  }
}

# As many columns as rows: nothing is left that tells of the noise, and mean field takes the most of
# what its prior allows.
warn_saturated <- function(rows, settings, parts) {
  n <- sum(several_copies(rows$weights) %||% (rows$weights > 0))
  if (parts > 0L || settings$method == "gibbs" || !is.null(rows$data) || ncol(rows$x) < n) {
    return(invisible())
  }
  bk_warn(
    "identification", "The rows say nothing of the noise.",
    sprintf("Found: %d columns and %.0f rows, which fit exactly.", ncol(rows$x), n),
    "Its sd and those of the coefficients are too small.",
    "Use penalty = \"learn\", fewer columns, or method = \"gibbs\"."
  )
}

# The columns `at`, of which the coefficients of what they add have variances `variance`: f is the
# sum of these parts, so that their coefficients are a triangular map of those of the columns.
nested_block <- function(at, variance, design, nested) {
  turn <- diag(length(at))
  scale <- design$scale[at]
  for (own in nested) {
    from <- match(own$columns, at)
    to <- match(own$lower, at)
    turn[to, from] <- -own$load * outer(scale[to], 1 / scale[from])
  }
  list(
    label = "nested", columns = colnames(design$x)[at], eliminated = FALSE, crossed = 0L,
    first = min(at) - 1L, members = 1L, width = length(at), random = 0L,
    transform = matrix(0, 0, 0), kind = "held",
    precision = crossprod(solve(turn) / sqrt(variance))
  )
}

# The unit of a numeric response as it is fitted, and the mean that is left to the intercept.
# Without one nothing takes up the mean: slopes have to.
response_spread <- function(design, standardize) {
  if (!is.null(design$y_sd)) {
    # Of a file, whose prior has its unit and mean by scale_prior().
    mean <- design$y_mean %||% 0
    size <- if (has_intercept(design)) 1 else sqrt(1 + (mean / design$y_sd)^2)
    return(if (standardize) {
      list(size = size, mean = 0)
    } else {
      list(size = size * design$y_sd, mean = mean)
    })
  }
  y <- design$y - design$offset
  weights <- prior_weights(design)
  moments <- weighted_moments(y, weights)
  mean <- moments[[1L]]
  size <- if (has_intercept(design)) moments[[2L]] else sqrt(sum(weights * y^2) / sum(weights))
  list(size = if (isTRUE(size > 0)) size else 1, mean = mean)
}

# `mean` and `sd` of columns of x, the latter not below what a rare value gives.
column_spread <- function(design, at, standardize) {
  out <- list(mean = unname(design$center[at]), sd = unname(design$scale[at]))
  if (is.null(design$lean) && nrow(design$x) == 0L) {
    known <- at <= length(design$spread$sd)
    out$mean[known] <- design$spread$mean[at[known]]
    out$sd[known] <- design$spread$sd[at[known]]
    return(out)
  }
  weights <- prior_weights(design)
  for (k in seq_along(at)) {
    x <- if (is.null(design$lean)) {
      design$x[, at[k]]
    } else {
      design$lean$x[, match(at[k], design$lean$at, nomatch = 0L)]
    }
    if (length(x) == 0L) next
    if (!standardize) {
      moments <- weighted_moments(x, weights)
      out$mean[k] <- moments[[1L]]
      out$sd[k] <- if (isTRUE(moments[[2L]] > 0)) moments[[2L]] else 1
    }
    out$sd[k] <- max(out$sd[k], rare_spread(x, weights))
  }
  out
}

# As the user gave them: those of classes are no numbers of rows.
prior_weights <- function(design) {
  design$weights_given %||% design$weights %||% rep(1, length(design$y))
}

# Where all but few values are equal, what values as far from these as the others are would give if
# they had the least share; else 0.
rare_spread <- function(x, weights) {
  ascending <- order(x)
  half <- match(TRUE, cumsum(weights[ascending]) >= sum(weights) / 2)
  other <- x != x[ascending[half]]
  if (sum(weights[other]) >= rare_share * sum(weights)) return(0)
  squares <- stats::weighted.mean((x[other] - x[ascending[half]])^2, weights[other])
  if (is.nan(squares)) 0 else sqrt(squares * rare_share * (1 - rare_share))
}

# The prior where the user has not said. `by_column`: `beta_var` is that of standardized columns,
# see column_variances(). A `beta_var` that was given was the intercept's, too, of bsvm(), and stood
# beside a flat one of some families.
family_prior <- function(prior, family) {
  # Of the coefficient of a standardized column, of the intercept at the means; and the scale of
  # standard deviations of random effects. Of probabilities f is a log odds, of probit models 1.7
  # times smaller, and of the hinge as large as of a logit model. A number cannot be separated: its
  # slopes, in units of its standard deviation, need no more than to be proper.
  sds <- c(slope = 2.5, intercept = 10, random = 2.5)
  if (family == "probit") sds <- sds / 1.7
  if (family == "gaussian") sds[c("slope", "intercept")] <- c(25, 1e4)
  if (is.null(prior$beta_var)) {
    prior$beta_var <- sds[["slope"]]^2
    prior$by_column <- TRUE
    # Beside a penalty the intercept stays as flat as it was.
    prior$flat_intercept <- is.null(prior$intercept_var) && family %in% c("hinge", "gaussian")
    prior$intercept_var <- prior$intercept_var %||% sds[["intercept"]]^2
  } else if (inherits(prior, "bkm_prior")) {
    prior$intercept_var <- prior$intercept_var %||%
      if (family %in% c("logit", "probit")) sds[["intercept"]]^2 else 1e8
  }
  prior$sd_scale <- prior$sd_scale %||% sds[["random"]]
  prior$separable <- family != "gaussian"
  if (family == "gaussian") prior$noise_rate <- prior$noise_rate %||% vague_rates[["noise"]]
  prior
}

# The rate of the noise where the user has not said. Where least squares leave next to nothing the
# usual one would be most of the noise: it is at most a thousandth of half the squares that they
# leave, but not what rounding leaves. Looked at in some rows first.
vague_noise_rate <- function(rows, rate) {
  n <- length(rows$y)
  whole <- is.null(rows$data) && is.null(rows$lean) && nrow(rows$x) == n
  if (!whole || length(rows$processes)) return(rate)
  term <- rows$random[which.max(vapply(rows$random, function(term) length(term$levels), 1L))]
  term <- if (length(term)) term[[1L]]
  at <- if (is.null(term)) seq_len(n) else order(term$group)
  some <- min(n, 200L + 4L * ncol(rows$x))
  left <- squares_left(rows, term, if (is.null(term)) spread_over(n, some) else at[seq_len(some)])
  if (some < n && left < 2000 * rate) left <- squares_left(rows, term, at)
  min(rate, max(left / 2000, 1e-7 * rate))
}

# Weighted squares that columns and the effects of one random term leave; Inf if these are too many
# to tell, with fewer than three rows for two of them.
squares_left <- function(rows, term, at) {
  root <- sqrt(rows$weights[at])
  y <- root * (rows$y - rows$offset)[at]
  x <- root * scaled_rows(rows$x[at, , drop = FALSE], rows$center, rows$scale)
  rank <- 0L
  if (!is.null(term)) {
    z <- root * term$z[at, , drop = FALSE]
    for (own in split(seq_along(at), term$group[at])) {
      group <- qr(z[own, , drop = FALSE])
      rank <- rank + group$rank
      y[own] <- qr.resid(group, y[own])
      x[own, ] <- qr.resid(group, x[own, , drop = FALSE])
    }
  }
  columns <- qr(x)
  if (3 * (rank + columns$rank) > 2 * sum(root > 0)) return(Inf)
  sum(qr.resid(columns, y)^2)
}
