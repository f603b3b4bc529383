#' Summary of a Bayesian support vector machine
#'
#' @param object,x A fit by [bsvm()], or its summary.
#' @param digits Significant digits.
#' @param ... No further arguments.
#' @return `summary()`: an object of class `summary.bsvm`, a list of
#'   * `coefficients`: matrix with a row for each fixed coefficient, on the
#'     scale of the data, and columns `Estimate` (posterior mean), `SD`,
#'     `2.5 %`, `97.5 %`; for `"gibbs"` also `R-hat` and `ESS`, the smaller of the
#'     effective sample sizes of bulk and tails;
#'   * `selection`: the same for the columns under selection, with their
#'     posterior `Inclusion` and `Prior` probabilities, most probable first;
#'     moments and quantiles are those of the effect with its point mass at 0;
#'   * `variances`: the same for standard deviations `sd(effect | group)` and
#'     correlations `cor(effect, effect | group)` of random effects, and for the
#'     standard deviation `sd(penalty)` of penalised coefficients, which refers
#'     to standardised predictors;
#'   * `groups`: number of levels by grouping factor;
#'   * `n`, `levels`, `share` (weighted share of the positive class), `method`,
#'     `penalty`, `call`, `diagnostics`, `elapsed`.
#'
#'   For `"vb"` the intervals are those of the Gaussian and inverse gamma (or
#'   Wishart) factors of q; correlations are summarised by 4000 draws with a
#'   fixed seed. The estimate of a standard deviation is its posterior mean, a
#'   little below the root of the mean variance that [VarCorr()][VarCorr.bsvm]
#'   gives.
#' @examples
#' set.seed(1)
#' d <- data.frame(x = rnorm(100), g = gl(10, 10))
#' d$y <- d$x + rnorm(10)[d$g] + rlogis(100) > 0
#' summary(bsvm(y ~ x + (1 | g), d, threads = 1))
#' @export
summary.bsvm <- function(object, ...) {
  check_no_dots(...)
  random <- object$posterior$random
  structure(
    list(
      coefficients = summary_rows(object, fixed_table(object)),
      selection = selection_table(object), variances = variance_table(object),
      smooths = smooth_facts(object), holes = hole_facts(object),
      groups = group_counts(random), n = object$n, levels = object$levels,
      share = resolve_threshold("prevalence", object),
      response = object$response, method = object$method,
      penalty = object$penalty, call = object$call,
      diagnostics = fit_quality(object), elapsed = object$elapsed
    ),
    class = "summary.bsvm"
  )
}

fixed_table <- function(object, level = 0.95) {
  if (object$method == "gibbs") {
    return(table_of_draws(object, fixed_names(object), level))
  }
  tails <- vb_quantiles(object, c(1 - level, 1 + level) / 2)
  coef_table(
    coef.bsvm(object), fixed_sd(object), tails[, 1], tails[, 2],
    level = level
  )
}

# Quantiles of the fixed coefficients under q: p x length(probs). A selected
# one is 0 with the probability that it is out.
vb_quantiles <- function(object, probs, scale = "data") {
  out <- coef.bsvm(object, scale) +
    outer(fixed_sd(object, scale), stats::qnorm(probs))
  posterior <- object$posterior
  at <- posterior$selection$columns
  size <- if (scale == "data") object$transform$scale[at] else 1
  theta <- posterior$theta_mean[at] / size
  sd <- sqrt(diag(posterior$theta_cov)[at]) / size
  for (k in seq_along(probs)) {
    out[at, k] <- spike_quantile(probs[k], theta, sd, posterior$gamma[at])
  }
  out
}

# The fixed coefficients that mean something by themselves and are always in.
summary_rows <- function(object, table) {
  apart <- c(
    object$posterior$selection$columns,
    unlist(lapply(object$smooths, `[[`, "blocks"))
  )
  table[setdiff(seq_len(nrow(table)), apart), , drop = FALSE]
}

smooth_facts <- function(object) {
  vapply(object$smooths, function(smooth) {
    sprintf(
      "%s %d", smooth$label,
      length(smooth$fixed) + length(unlist(smooth$blocks))
    )
  }, "")
}

hole_facts <- function(object) {
  if (is.null(object$imputed)) {
    return(character())
  }
  counts <- table(factor(object$imputed$column, object$holes$predictors))
  sprintf("%s %d", names(counts), counts)[counts > 0]
}

# With the diagnostics that the fit already has.
table_of_draws <- function(object, names, level) {
  flat <- flat_draws(object, names)
  colnames(flat) <- names
  out <- if (length(names) > 0) {
    draws_table(flat, level)
  } else {
    coef_table(numeric(), numeric(), level = level)
  }
  table <- object$diagnostics$table
  table <- table[match(names, table$variable), ]
  cbind(
    out,
    "R-hat" = table$rhat, ESS = pmin(table$ess_bulk, table$ess_tail)
  )
}

# Standard deviations and correlations; NULL without variance components.
variance_table <- function(object, level = 0.95) {
  random <- object$posterior$random
  rows <- lapply(seq_along(random), function(t) {
    term <- random[[t]]
    if (object$method == "gibbs") {
      gibbs_variance_rows(object, term, level)
    } else {
      vb_variance_rows(object, t, level)
    }
  })
  do.call(rbind, c(rows, list(component_rows(object, level))))
}

variance_labels <- function(term) {
  pairs <- lower_triangle(length(term$columns))
  from <- term$columns[pairs[, 2]]
  to <- term$columns[pairs[, 1]]
  ifelse(
    pairs[, 1] == pairs[, 2], sprintf("sd(%s | %s)", from, term$label),
    sprintf("cor(%s, %s | %s)", from, to, term$label)
  )
}

# Covariances (lower triangle by columns) to standard deviations and
# correlations.
to_sd_cor <- function(lower, r) {
  pairs <- lower_triangle(r)
  single <- pairs[, 1] == pairs[, 2]
  sd <- sqrt(lower[, single, drop = FALSE])
  out <- lower
  out[, single] <- sd
  for (k in which(!single)) {
    out[, k] <- lower[, k] / (sd[, pairs[k, 1]] * sd[, pairs[k, 2]])
  }
  out
}

gibbs_variance_rows <- function(object, term, level) {
  names <- covariance_names(term$label, term$columns)
  size <- dim(object$draws)[1:2]
  values <- to_sd_cor(flat_draws(object, names), length(term$columns))
  draws_table(
    array(
      values, c(size, ncol(values)), list(NULL, NULL, variance_labels(term))
    ),
    level
  )
}

# sigma^2 ~ IG(a, b); a diagonal element of IW(df, S) is
# IG((df - r + 1) / 2, S_kk / 2).
vb_variance_rows <- function(object, t, level) {
  term <- object$posterior$random[[t]]
  q <- variance_of_term(object, t)
  map <- object$transform$random[[t]]
  r <- length(term$columns)
  labels <- variance_labels(term)
  if (q$type == "iid") {
    return(sd_row(q$shape, q$rate * drop(map)^2, labels, level))
  }
  scale <- map %*% q$scale %*% t(map)
  pairs <- lower_triangle(r)
  single <- which(pairs[, 1] == pairs[, 2])
  draws <- with_seed(1, variance_draws(object, t, 4000))
  lower <- apply(draws, 3, function(v) v[pairs])
  out <- draws_table(to_sd_cor(t(lower), r), level)
  out[single, ] <- sd_row(
    (q$df - r + 1) / 2, diag(scale) / 2, labels[single], level
  )
  rownames(out) <- labels
  out
}

# Of the penalty, of smooths, and of selected coefficients.
component_rows <- function(object, level) {
  components <- plain_components(object)
  rows <- lapply(components, function(q) {
    label <- sprintf("sd(%s)", q$label)
    if (object$method == "gibbs") {
      name <- sprintf("sigma2[%s]", q$label)
      values <- object$draws[, , name, drop = FALSE]
      dimnames(values)[[3]] <- label
      return(draws_table(sqrt(values), level))
    }
    sd_row(q$shape, q$rate, label, level)
  })
  do.call(rbind, rows)
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

# Moments and quantiles of sigma for sigma^2 ~ IG(shape, rate).
sd_row <- function(shape, rate, labels, level) {
  mean <- sqrt(rate) * exp(lgamma(shape - 0.5) - lgamma(shape))
  if (shape <= 0.5) mean <- rep(Inf, length(rate))
  sd <- if (shape > 1) {
    sqrt(pmax(rate / (shape - 1) - mean^2, 0))
  } else {
    rep(Inf, length(rate))
  }
  tails <- c(1 + level, 1 - level) / 2
  bounds <- 1 / sqrt(stats::qgamma(tails, shape))
  coef_table(
    stats::setNames(mean, labels), sd, bounds[1] * sqrt(rate),
    bounds[2] * sqrt(rate),
    level = level
  )
}

group_counts <- function(random) {
  labels <- vapply(random, `[[`, "", "label")
  counts <- vapply(random, function(term) length(term$levels), 1L)
  names(counts) <- labels
  counts[!duplicated(labels)]
}

# Numbers that tell how far a fit can be trusted.
fit_quality <- function(object) {
  d <- object$diagnostics
  if (is.null(object$draws)) {
    return(list(
      elbo = object$trace$elbo[length(object$trace$elbo)], passes = d$passes,
      converged = d$converged
    ))
  }
  worst <- function(x, f) if (all(is.na(x))) NA_real_ else f(x, na.rm = TRUE)
  ess <- pmin(d$table$ess_bulk, d$table$ess_tail)
  list(
    chains = dim(object$draws)[2], draws = dim(object$draws)[1],
    warmup = object$sampler$warmup, thin = object$sampler$thin,
    max_rhat = worst(d$table$rhat, max), min_ess = worst(ess, min),
    interrupted = d$interrupted
  )
}

#' @rdname summary.bsvm
#' @export
print.summary.bsvm <- function(x, digits = default_digits(), ...) {
  print_header(bsvm_title(x$method), x$call, bsvm_facts(x))
  print_fixed(x$coefficients, digits)
  print_selection(x$selection, digits, max_rows = 60L)
  if (!is.null(x$variances)) {
    cat("Variance components:\n")
    print_coef_table(x$variances, digits)
    cat("\n")
  }
  writeLines(strwrap(quality_note(x), 79))
  invisible(x)
}

#' @rdname summary.bsvm
#' @export
print.bsvm <- function(x, digits = default_digits(), ...) {
  summary <- summary.bsvm(x)
  print_header(bsvm_title(x$method), x$call, bsvm_facts(summary))
  columns <- setdiff(colnames(summary$coefficients), c("R-hat", "ESS"))
  print_fixed(
    summary$coefficients[, columns, drop = FALSE], digits,
    max_rows = 15L
  )
  print_selection(summary$selection[, c(columns, "Inclusion"), drop = FALSE],
    digits,
    max_rows = 12L
  )
  if (length(x$posterior$random) > 0) {
    cat("Variance components:\n")
    print(VarCorr.bsvm(x), digits = digits)
    cat("\n")
  }
  cat(convergence_line(summary), "\n", sep = "")
  invisible(x)
}

print_selection <- function(table, digits, max_rows) {
  if (is.null(table) || nrow(table) == 0) {
    return(invisible())
  }
  cat("Selected among, by inclusion probability:\n")
  kept <- max(sum(table[, "Inclusion"] > 0.5), min(5L, nrow(table)))
  shown <- table[seq_len(min(kept, max_rows)), , drop = FALSE]
  print_coef_table(shown, digits)
  below <- table[-seq_len(nrow(shown)), "Inclusion"]
  if (length(below) > 0) {
    kept <- sum(below > 0.5)
    cat(sprintf(
      "... and %d more, %s\n", length(below),
      if (kept > 0) {
        sprintf("%d of them above 0.5", kept)
      } else {
        paste("inclusion at most", format(max(below), digits = 2))
      }
    ))
  }
  cat("\n")
}

print_fixed <- function(table, digits, ...) {
  if (nrow(table) > 0) {
    cat("Fixed coefficients:\n")
    print_coef_table(table, digits, ...)
    cat("\n")
  }
}

bsvm_title <- function(method) {
  sprintf("Bayesian support vector machine, %s", switch(method,
    vb = "mean-field variational Bayes",
    svi = "stochastic variational Bayes",
    gibbs = "Gibbs sampler"
  ))
}

bsvm_facts <- function(x) {
  list(
    Rows = sprintf(
      "%d, %s of class \"%s\" (the positive one)", x$n,
      paste0(format(100 * x$share, digits = 3), " %"), x$levels[2]
    ),
    Groups = if (length(x$groups) > 0) {
      sprintf("%s %d", names(x$groups), x$groups)
    },
    Selection = if (!is.null(x$selection)) {
      inclusion <- x$selection[, "Inclusion"]
      sprintf(
        "among %d columns, prior inclusion %s; %d above 0.5, %s expected",
        length(inclusion), format(x$selection[1, "Prior"], digits = 3),
        sum(inclusion > 0.5), format(sum(inclusion), digits = 3)
      )
    },
    Smooths = if (length(x$smooths) > 0) paste(x$smooths, "columns"),
    Missing = if (length(x$holes) > 0) paste(x$holes, "values modelled"),
    Penalty = if (is.numeric(x$penalty)) {
      sprintf("precision held at %s", format(x$penalty))
    } else if (x$penalty == "learn" &&
      "sd(penalty)" %in% rownames(x$variances)) {
      # The one learned number that print() would otherwise not show.
      sd <- x$variances["sd(penalty)", "Estimate"]
      sprintf(
        "learned, sd %s of a standardised coefficient", format(sd, digits = 3)
      )
    }
  )
}

convergence_line <- function(x) {
  d <- x$diagnostics
  time <- sprintf("%s s", format(x$elapsed[["total"]], digits = 2))
  if (is.null(d$chains)) {
    return(sprintf(
      "%s after %d passes, bound %s, %s",
      if (isTRUE(d$converged)) "Converged" else "NOT converged",
      as.integer(d$passes), format(d$elbo, nsmall = 2, digits = 7), time
    ))
  }
  sprintf(
    "%d chain%s of %d draws, warmup %d: %s, %s",
    d$chains, if (d$chains > 1) "s" else "", d$draws, d$warmup,
    if (is.na(d$max_rhat)) {
      "too few for R-hat"
    } else {
      sprintf("R-hat at most %.2f, ESS at least %.0f", d$max_rhat, d$min_ess)
    }, time
  )
}

quality_note <- function(x) {
  line <- paste0(convergence_line(x), ".")
  if (is.null(x$diagnostics$chains)) {
    return(c(line, paste(
      "Variational standard deviations are too small; method = \"gibbs\" gives",
      "honest ones."
    )))
  }
  d <- x$diagnostics
  c(
    line,
    if (isTRUE(d$interrupted)) "The run was interrupted: draws are few.",
    if (!is.na(d$max_rhat) && d$max_rhat > 1.05) {
      "The chains disagree (R-hat above 1.05): run them longer."
    },
    if (!is.na(d$min_ess) && d$min_ess < 100) {
      "Fewer than 100 effective draws: intervals are rough."
    }
  )
}
