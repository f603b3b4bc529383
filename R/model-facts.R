# The lines at the head of a printed fit, by model, and what only some models add to summary() and
# glance().

# Of how many observations rows with counts stand.
counts_fact <- function(object) {
  total <- sum(object$weights)
  if (!is.null(object$weights) && is.null(object$units) && round(total) != object$n) {
    sprintf("rows stand for %s observations", format(round(total, if (total < 10) 2 else 0)))
  }
}

# Rows, and what their responses are.
rows_fact <- function(object, classes = ", ") {
  levels <- object$levels
  gone <- length(object$na.action)
  grown <- paste(c(
    if (identical(object$data$absent, "extended")) " with those of extend()",
    if (gone > 0L) sprintf(" (%.0f more with missing values left out)", gone)
  ), collapse = "")
  if (length(levels) == 0L) return(sprintf("%.0f%s", object$n, grown))
  if (length(levels) == 2L) {
    counts <- !is.null(object$units)
    return(sprintf(
      "%.0f%s%s, %s %% positive (\"%s\")",
      if (counts) max(object$units) else object$n,
      if (counts) sprintf(" of %.0f trials", sum(object$weights)) else "", grown,
      format(100 * resolve_threshold("prevalence", object), digits = 3), levels[2]
    ))
  }
  sprintf(
    "%.0f%s in %d classes: %s", object$n, grown, length(levels),
    paste(c(utils::head(levels, 8L), if (length(levels) > 8L) "..."), collapse = classes)
  )
}

selection_fact <- function(inclusion, prior, what) {
  count <- length(inclusion)
  share <- if (length(prior)) sprintf(", prior inclusion %s", format(prior[1], digits = 3)) else ""
  text <- sprintf(
    "among %d %s%s; %d above 0.5, mean number %s", count, what, share,
    sum(inclusion > 0.5), format(sum(inclusion), digits = 3)
  )
  # Nothing is found, and the prior expected nothing.
  bare <- length(prior) == 1L && prior * count < 0.5 && !any(inclusion > 0.5)
  if (bare) {
    text <- sprintf(
      "%s. The prior expects only %s: see ?inclusion", text, format(prior * count, digits = 2)
    )
  }
  text
}

# --- bsvm() and bkm() --------------------------------------------------------

# How expectation propagation went, and how far importance sampling bears it out, which is a fact of
# its own where it does not.
posterior_fact <- function(object) {
  check <- object$check
  if (is.null(check)) return(NULL)
  if (!is.null(check$fallback)) {
    return(list(Posterior = "mean-field variational Bayes; expectation propagation did not settle"))
  }
  passes <- ngettext(check$passes, "%.0f pass", "%.0f passes")
  line <- sprintf("expectation propagation, %s", sprintf(passes, check$passes))
  if (is.null(check$k) || is.na(check$k)) return(list(Posterior = line))
  # Vehtari, Simpson, Gelman, Yao and Gabry (2024): Pareto smoothed importance sampling; the limits
  # were set beside long chains.
  if (check$k < 0.5) return(list(Posterior = sprintf("%s; Pareto k = %.2f, ok", line, check$k)))
  word <- if (check$k <= 0.7) "approximate" else "not trustworthy: use method = \"gibbs\""
  list(Posterior = line, "Pareto k" = sprintf("%.2f, %s", check$k, word))
}

# Variances are integrated over by "ep" up to a number of them.
many_variances_note <- function(object) {
  check <- object$check
  if (object$method != "ep" || !is.null(check$fallback)) return(NULL)
  # Free parameters of variances and covariances.
  free <- Filter(function(q) q$type != "held", object$posterior$variance)
  width <- vapply(free, function(q) NROW(q$scale %||% 1), 1L)
  count <- sum(width * (width + 1) / 2) + is.list(object$posterior$noise)
  if (identical(check$engine, "ep-vb") && count > 8) {
    sprintf(paste(
      "%.0f variances, \"ep\" averages over up to 8: with more, standard",
      "deviations come out too small, up to half. Use method = \"gibbs\"."
    ), count)
  } else if (count > 3 && isTRUE(check$effective < 25)) {
    sprintf(paste(
      "The average over %.0f variances rests on %.0f effective points: use", "method = \"gibbs\"."
    ), count, check$effective)
  }
}

# The labels inform the missing values, and the hinge is no likelihood.
missing_note <- function(object) {
  if (linear_family(object) == "hinge") {
    paste(
      "Effects of predictors with missing values are approximate: of a",
      "predictor without effect a 95 % interval excludes 0 in up to 20 %."
    )
  }
}

# Where most groups have rows of one class only, an effect's posterior is skewed and its variance
# comes out too small.
one_class_note <- function(object) {
  sprintf(paste(
    "%.0f %% of the groups have rows of one class only: their sd is larger by",
    "method = \"gibbs\"."
  ), 100 * object$check$one_class)
}

# A variance that is known from its prior and the shape of the link alone.
single_rows_note <- function(object) {
  groups <- group_counts(object$posterior$random)
  single <- names(groups)[groups == object$n]
  if (length(single)) {
    sprintf("Each group of %s has one row: the data hardly tell its variance.", list_some(single))
  }
}

#' @exportS3Method
facts.bsvm <- function(object, only = NULL) {
  family <- object$family %||% "hinge"
  model <- if (family == "hinge") {
    "Bayesian support vector machine"
  } else {
    sprintf(
      "Bayesian %s %s", switch(family, logit = "logistic", gaussian = "Gaussian", family),
      if (has_groups(object)) "mixed model" else "regression"
    )
  }
  engine <- switch(object$method,
    vb = if (is.null(object$draws)) {
      "mean-field variational Bayes"
    } else {
      "variational Bayes, then Gibbs sampler"
    },
    svi = "stochastic variational Bayes",
    gibbs = "Gibbs sampler"
  )
  groups <- group_counts(object$posterior$random)
  plain <- Filter(function(smooth) !isTRUE(smooth$process), object$smooths)
  smooths <- vapply(plain, function(smooth) {
    size <- length(smooth$fixed) + length(unlist(smooth$blocks))
    sprintf("%s %d columns", smooth$label, size)
  }, "")
  # A missing level has a row for each that it may be.
  holes <- unique(object$imputed[c("row", "column")])
  missing <- table(factor(
    holes$column,
    unique(c(object$holes$predictors, names(object$holes$levels), object$holes$shared))
  ))
  missing <- missing[missing > 0]
  posterior <- posterior_fact(object)
  chosen_facts(
    only, title = paste(c(model, engine), collapse = ", "), Posterior = posterior$Posterior,
    "Pareto k" = posterior[["Pareto k"]],
    Method = if (!is.null(object$chosen)) {
      sprintf("\"%s\", chosen %s", object$method, object$chosen)
    },
    Rows = rows_fact(object), "Learning rate" = rate_fact(object),
    "Class weights" = if (length(object$class_weights)) class_weights_fact(object),
    "Standard errors" = sandwich_fact(object),
    Groups = if (length(groups)) sprintf("%s %d", names(groups), groups),
    Crossed = if (length(object$posterior$random) > 1L) crossed_fact(object),
    Selection = if (!is.null(object$posterior$selection)) {
      prior <- unique(object$posterior$selection$prior)
      fact <- if (by_term(object$prior)) {
        selection_fact(inclusion_by_term(object), prior, "terms")
      } else {
        selection_fact(inclusion_by(object), prior, "columns")
      }
      by_ep <- identical(object$posterior$selection$polish, "ep")
      if (by_ep) paste0(fact, " (by expectation propagation)") else fact
    },
    "Not settled" = if (!is.null(object$posterior$selection$range)) unsettled_fact(object),
    Smooths = if (length(smooths)) smooths,
    Processes = if (length(object$design$smooths)) {
      process_fact(object, component_parameters(object, NULL))
    },
    Missing = if (length(missing)) missing_fact(object, missing),
    Counts = if (any(object$weights != 1) || length(object$weights) != object$n) {
      counts_fact(object)
    },
    Penalty = if (!identical(object$penalty, "none")) penalty_fact(object),
    Link = link_fact(object),
    Noise = if (is_regression(object)) sprintf("sd %s", format(stats::sigma(object), digits = 4))
  )
}

#' @exportS3Method
facts.bkm <- facts.bsvm

#' @exportS3Method
extras.bsvm <- function(object) {
  list(notes = c(
    if (length(object$given_up)) given_up_note(object), inflated_note(object),
    few_groups_note(object), single_rows_note(object),
    if (isTRUE(object$check$one_class > 0.5)) one_class_note(object), many_variances_note(object),
    if (!is.null(object$imputed)) missing_note(object),
    if (length(object$design$smooths)) process_note(object)
  ))
}

#' @exportS3Method
extras.bkm <- function(object) {
  quality <- fit_quality(object)
  c(extras.bsvm(object), list(glance = list(
    family = linear_family(object),
    sigma = if (is_regression(object)) stats::sigma(object) else NA_real_,
    log_evidence = quality$log_evidence %||% NA_real_, elpd_loo = quality$loo %||% NA_real_
  )))
}

# Columns of which the streams of a polished fit disagree.
unsettled_fact <- function(object) {
  columns <- inclusion_columns(object)[object$posterior$selection$range > 0.3]
  if (length(columns)) sprintf("%s; use method = \"gibbs\"", list_some(columns))
}

# The one learned number that print() would otherwise not show.
penalty_fact <- function(object) {
  if (is.numeric(object$penalty)) return(sprintf("precision held at %s", format(object$penalty)))
  rows <- if (identical(object$penalty, "learn")) component_parameters(object, 0.95)
  if ("sd(penalty)" %in% rownames(rows)) {
    sprintf(
      "learned, sd %s of a standardized coefficient",
      format(rows["sd(penalty)", "estimate"], digits = 3)
    )
  }
}

# Of a fit of any model.
group_sizes <- function(object) {
  own <- object$posterior$process$groups
  if (length(own)) return(stats::setNames(lengths(own$levels), own$labels))
  group_counts(object$posterior$random)
}

group_counts <- function(random) {
  labels <- vapply(random, `[[`, "", "label")
  counts <- vapply(random, function(term) length(term$levels), 1L)
  names(counts) <- labels
  counts[!duplicated(labels)]
}

# --- gpsvm() -----------------------------------------------------------------

#' @exportS3Method
facts.gpsvm <- function(object, only = NULL) {
  points <- ncol(object$posterior$z)
  chosen_facts(
    only, title = paste(c(
      "Bayesian nonlinear support vector machine", switch(object$method,
        vb = "variational Bayes",
        svi = "stochastic variational Bayes",
        gibbs = "Gibbs sampler",
        ecm = "posterior mode"
      )
    ), collapse = ", "),
    Posterior = posterior_fact(object)$Posterior,
    Rows = if (length(object$levels) == 2L) {
      rows_fact(object)
    } else {
      sprintf(
        "%.0f in %d classes, a function for each: %s", object$n,
        length(object$levels), list_some(object$levels)
      )
    },
    "Learning rate" = rate_fact(object),
    "Class weights" = if (length(object$class_weights)) class_weights_fact(object),
    # A constant was added to linear(), see with_constant().
    Kernel = gsub(
      "polynomial(degree = 1, offset = 1, ", "linear with constant(", format(object$kernel),
      fixed = TRUE
    ),
    LOO = left_out_fact(object),
    Nugget = if (object$nugget > 0) format(object$nugget, digits = 4),
    Inducing = paste0(
      if (object$exact) "every row (exact process)" else sprintf("%d points", points),
      if (!is.null(object$tuned$fewer)) {
        sprintf(", better by leave-one-out than %d", object$tuned$fewer)
      }
    ),
    Tuned = if (!is.null(object$tuned) && object$tuned$by != "none") tuning_text(object$tuned),
    "Not tuned" = if (identical(object$tuned$by, "none")) {
      "it would take more than a few seconds; tune = TRUE does it"
    } else if (is.null(object$tuned) && !is_precomputed(object$kernel) &&
      !any_leaf(object$kernel, has_lengthscale)) {
      "the kernel has no length-scale; tune = TRUE tunes its variance"
    },
    Link = link_fact(object),
    Method = if (isTRUE(object$chosen)) {
      sprintf(
        "\"%s\", chosen for %.0f rows and %d inducing points", object$method, object$n, points
      )
    }
  )
}

tuning_text <- function(tuned) {
  text <- if (tuned$by == "cv") {
    sprintf(
      "by %d-fold cross-validation over %d settings, log loss %s", tuned$folds,
      nrow(tuned$grid), format(min(tuned$grid$log_loss), digits = 3)
    )
  } else if (tuned$by == "loo") {
    # Its score is that of another link.
    sprintf("by leave-one-out on %.0f rows", tuned$rows)
  } else if (tuned$by == "evidence") {
    sprintf("length-scale by the evidence of %.0f rows, one of %d", tuned$rows, nrow(tuned$grid))
  } else {
    sprintf("by the bound, from three starts, on %.0f rows", tuned$rows)
  }
  if (isTRUE(tuned$by_default)) text <- paste0(text, " (by default; tune = FALSE does not)")
  if (length(tuned$off)) text <- paste0(text, "; switched off: ", paste(tuned$off, collapse = ", "))
  text
}

#' @exportS3Method
extras.gpsvm <- function(object) {
  list(
    summary = list(gain = object$gain), glance = list(inducing = ncol(object$posterior$z)),
    notes = if (!is.null(object$gain)) {
      sprintf(
        "Twice the inducing points would add about %s to the bound.",
        format(object$gain, digits = 2)
      )
    }
  )
}

# --- bark() ------------------------------------------------------------------

#' @exportS3Method
facts.bark <- function(object, only = NULL) {
  mean <- colMeans(pooled_draws(object, c("J", "m")))
  prior <- expected_kernels(object$prior)
  groups <- group_counts(object$posterior$random)
  chosen_facts(
    only, title = sprintf("Bayesian additive %s", switch(object$family,
      gaussian = "regression kernels",
      binomial = "classification kernels",
      ordinal = "kernels for ordered classes"
    )),
    Rows = rows_fact(object, " < "), Counts = if (!is_regression(object)) counts_fact(object),
    Link = if (!is_regression(object)) "probit",
    Weights = if (is_regression(object) && !is.null(object$weights)) {
      paste(
        format(min(object$weights), digits = 3), "to", format(max(object$weights), digits = 3),
        "(the variance of the noise is divided by them)"
      )
    },
    Fit = own_fit(object),
    Kernels = sprintf(
      "%.1f at %.1f places (means), %s expected by the prior", mean[1], mean[2],
      format(prior, digits = 4)
    ),
    Scales = if (object$scales == "equal") {
      "one for all predictors in the model"
    } else if ((object$prior$vectors %||% 1) > 1) {
      sprintf(
        "one for each predictor, in %d vectors that kernels choose from", object$prior$vectors
      )
    } else {
      "one for each predictor"
    },
    Selection = if (object$select) {
      selection_fact(
        inclusion_by(object), prior_share(object),
        if (is.null(object$structure)) "predictors" else "predictors in blocks"
      )
    },
    Structure = if (!is.null(object$structure)) {
      expected <- expected_blocks(object$structure, length(object$columns))
      sprintf(
        "%s predictors in %s blocks expected by the prior",
        format(expected[["variables"]], digits = 3), format(expected[["blocks"]], digits = 3)
      )
    },
    "Linear part" = if (isTRUE(object$linear)) "of all predictors",
    Groups = if (length(groups)) sprintf("%s %d", names(groups), groups),
    Chains = chains_fact(object)
  )
}

# How well the posterior mean fits the rows it was made from.
own_fit <- function(object) {
  if (is_regression(object)) {
    left <- object$y - object$fitted$mean
    w <- object$weights %||% rep(1, length(left))
    around <- object$y - stats::weighted.mean(object$y, w)
    return(sprintf(
      "R2 %.3f, root mean square error %s, on its own rows",
      1 - sum(w * left^2) / sum(w * around^2),
      format(sqrt(stats::weighted.mean(left^2, w)), digits = 3)
    ))
  }
  prob <- probability_matrix(object$fitted$prob, object$levels)
  sprintf(
    "error %.1f %% on its own rows",
    100 * stats::weighted.mean(
      max.col(prob, "last") != own_classes(object), object$weights %||% rep(1, nrow(prob))
    )
  )
}

#' @exportS3Method
extras.bark <- function(object) {
  rates <- acceptance_rates(object)
  list(
    summary = list(
      kernels = kernel_counts(object), acceptance = rates, reference = object$reference
    ),
    glance = list(
      family = object$family, kernels = mean(pooled_draws(object, "J")),
      sigma = if (is_regression(object)) stats::sigma(object) else NA_real_
    ),
    details = acceptance_text(rates)
  )
}

# The Poisson prior of the number of kernels, cut at the largest allowed, beside how often the draws
# have each.
kernel_counts <- function(object) {
  drawn <- as.vector(pooled_draws(object, "J"))
  mean <- expected_kernels(object$prior)
  last <- min(object$max_kernels, max(drawn, stats::qpois(0.9999, mean)))
  kernels <- 0:last
  data.frame(
    kernels = kernels, prior = stats::dpois(kernels, mean) / stats::ppois(object$max_kernels, mean),
    posterior = tabulate(drawn + 1L, last + 1L) / length(drawn)
  )
}

# Over the chains; NA for moves that were never tried.
acceptance_rates <- function(object) {
  counts <- rowSums(object$acceptance, dims = 2L)
  rates <- ifelse(counts[, 1] > 0, counts[, 2] / counts[, 1], NA_real_)
  stats::setNames(rates, rownames(counts))
}

# A tilde stands for a space at which no line is broken.
acceptance_text <- function(rates) {
  words <- c(varphi = "coefficient precision", phi = "noise precision")
  names <- ifelse(names(rates) %in% names(words), words[names(rates)], names(rates))
  names <- gsub(" ", "~", names)
  tried <- !is.na(rates)
  text <- c(
    if (any(tried)) {
      paste0("Accepted moves: ", paste(sprintf(
        "%s~%.0f~%%", names[tried], 100 * rates[tried]
      ), collapse = ", "), ".")
    },
    if (any(!tried)) paste0("Not tried: ", paste(names[!tried], collapse = ", "), ".")
  )
  paste(text, collapse = " ")
}

missing_fact <- function(object, missing) {
  by <- object$holes$model$mechanism
  modeled <- sprintf("%s %d values modeled", names(missing), missing)
  paste0(modeled, ifelse(names(missing) %in% by$variable, " as not missing at random", ""))
}

fit_quality <- function(object) {
  d <- object$diagnostics
  last <- function(trace) if (length(trace)) trace[length(trace)] else NA_real_
  if (is.null(object$draws)) {
    multinomial <- inherits(object, "mkprobit")
    # Log probabilities of the rows, each given the others, by the link of predict().
    elpd <- if (!is.null(object$loo)) cavity_elpd(object)
    return(list(
      particles = object$particles, rows = nrow(object$trace$steps),
      log_evidence = if (!is_pseudo(object)) evidence_of(object),
      loo = if (length(elpd)) sum(elpd), elbo = last(object$trace$elbo),
      objective = last(object$trace$objective), steps = d$steps,
      # Of several kernels in turn those of the last.
      passes = if (multinomial) length(object$trace$elbo) else d$passes, no_bound = multinomial,
      batch_size = d$batch_size, jitter = d$jitter, converged = d$converged,
      watched = length(object$trace$epochs) > 0L || isTRUE(d$passes > 0)
    ))
  }
  worst <- function(x, f) if (all(is.na(x))) NA_real_ else f(x, na.rm = TRUE)
  ess <- pmin(d$table$ess_bulk, d$table$ess_tail)
  list(
    chains = dim(object$draws)[2], draws = dim(object$draws)[1],
    warmup = object$sampler$warmup, thin = object$sampler$thin,
    max_rhat = worst(d$table$rhat, max), min_ess = worst(ess, min),
    least = d$table$variable[which.min(ess)],
    interrupted = d$interrupted, until = d$until, sweeps = d$sweeps,
    apart = d$apart,
    # Of a selection whose draws began at a variational optimum.
    elbo = last(object$trace$elbo), passes = d$passes
  )
}

# Log probabilities of the classes of rows that are each predicted from the others, where those of
# all rows are known.
left_out_logs <- function(object) {
  rows <- if (is.null(object$link$slope)) object$loo else object$link$log_prob
  if (isTRUE(length(rows) == object$n) && !anyNA(rows) && is.null(object$units)) rows
}

# The mean log-loss and the error of these. Of more classes fits of before 0.18.0 do not know the
# error.
left_out_fact <- function(object) {
  rows <- left_out_logs(object)
  if (is.null(rows)) return(NULL)
  w <- object$weights %||% rep(1, object$n)
  two <- length(object$levels) == 2L
  error <- if (two) {
    stats::weighted.mean(exp(rows) < 0.5, w)
  } else if (!is.null(object$judged)) {
    stats::weighted.mean(!object$judged$happened, w)
  }
  scores <- function(loss, error) {
    paste0(format(loss, digits = 3), if (length(error)) sprintf(", error %.1f %%", 100 * error))
  }
  share <- class_shares(object)
  paste0(
    "log-loss ", scores(-stats::weighted.mean(rows, w), error),
    if (!is.null(share)) {
      other <- scores(-sum(share * log(share)), if (length(error)) 1 - max(share))
      sprintf(" (without predictors %s)", other)
    },
    if (!is.null(tuning_hint(object))) {
      "; may be too good, see below"
    } else if (!is.null(note <- tuning_note(object))) {
      paste(";", note)
    }
  )
}

# Of the rows, each as often as it counts, where their classes are known.
class_shares <- function(object) {
  if (length(object$levels) == 2L) {
    return(c(1, -1) * resolve_threshold("prevalence", object) + c(0, 1))
  }
  if (length(object$y) != object$n) return(NULL)
  weights <- object$weights %||% rep(1, object$n)
  share <- tapply(weights, object$y, sum) / sum(weights)
  share[share > 0]
}

# What leave-one-out scores are after the kernel was chosen by them.
tuning_note <- function(object) {
  tuned <- if (is.list(object$tuned)) object$tuned
  if (!identical(tuned$by, "loo")) return(NULL)
  if (isTRUE(sum(tuned$scales) > 1)) "optimistic, as tuning used it" else "tuning used it"
}

# What print() and summary() advise.
fit_hints <- function(object) {
  smooths <- object$design$smooths
  c(
    class_hints(object), if (length(object$tuned) || length(smooths)) tuning_hint(object),
    if (length(smooths)) random_smooth_hint(smooths),
    if (inherits(object, c("klr", "seqkr"))) many_predictors_hint(object)
  )
}

# Beyond these numbers directions are not known, and intervals cover f in half of the rows.
many_predictors_hint <- function(object) {
  p <- length(object$columns)
  if (inherits(object, "klr") && 10 * p > object$n) {
    sprintf("%d predictors are many for %.0f rows: see \"Many predictors\" in ?klr.", p, object$n)
  } else if (inherits(object, "seqkr") && p > 5L) {
    sprintf(
      "Credible intervals with %d predictors are too narrow: \"Limits of the model\" in ?seqkr.", p
    )
  }
}

# mgcv's random effects of one factor, which are curves here: new levels have no value.
random_smooth_hint <- function(smooths) {
  for (smooth in Filter(function(s) inherits(s$basis, "random.effect"), smooths)) {
    group <- names(Filter(length, smooth$levels))
    if (length(group) == 0L) next
    slopes <- setdiff(smooth$names, group)
    return(sprintf(
      "`%s` is a random effect: `(%s | %s)` is faster, predicts new levels and has ranef().",
      smooth$label, if (length(slopes)) paste(c("0", slopes), collapse = " + ") else "1",
      paste(group, collapse = ":")
    ))
  }
}

# On classes, by rows that are predicted from the others.
class_hints <- function(object) {
  levels <- object$levels
  rows <- if (length(levels) && length(object$y) == object$n) left_out_logs(object)
  if (is.null(rows)) return(NULL)
  if (inherits(object, c("gpsvm", "mkprobit"))) {
    share <- class_shares(object)
    weights <- object$weights %||% rep(1, object$n)
    if (stats::weighted.mean(rows, weights) <= sum(share * log(share))) {
      return(paste(
        "Rows that are left out are predicted no better than without predictors: the fit has",
        "learned nothing from them."
      ))
    }
  }
  positive <- (object$y == max(object$y)) == (rows > log(0.5))
  if (length(levels) > 2L || (any(positive) && !all(positive))) return(NULL)
  sprintf(
    "No left-out row is predicted as \"%s\". %s", levels[if (all(positive)) 1L else 2L],
    "For a rare class: predict(fit, threshold = \"prevalence\")."
  )
}

# Length-scales and projections, more than an eighth of the rows that they were learned from, fit
# what is chance in these.
tuning_hint <- function(object) {
  tuned <- if (is.list(object$tuned)) object$tuned
  smooths <- object$design$smooths
  scales <- if (length(smooths)) {
    sum(lengths(lapply(processes_of(smooths), function(term) term$process$free)))
  } else {
    sum(tuned$scales)
  }
  rows <- if (is.null(tuned$rows)) object$n else tuned$rows
  if (scales < 2L || 8 * scales <= rows) return(NULL)
  sprintf(
    "%.0f length-scales or projections were learned from %.0f rows. What the fit says of these %s",
    scales, rows, "rows, leave-one-out as well, may be too good: judge it by other rows."
  )
}

# Of each row, as often as it counts. That of a unit of trials is known as a whole, and stands with
# each of its rows.
cavity_elpd <- function(object) {
  # Kernel machines know their rows by class. Fits of before 0.12.0 have in `loo` what the link
  # "probit" says.
  rows <- if (is.null(object$link$slope)) object$loo else object$link$log_prob
  if (is.null(object$units) || !is_linear(object) || is_calibrated(object)) {
    return(rows * (object$weights %||% 1))
  }
  constant <- if (is_pseudo(object)) 0 else unit_constant(object)
  by_unit(object, rows) + constant
}

# Of counts with the number of orders of their trials, as the log-likelihood has it.
evidence_of <- function(object) {
  if (is.null(object$log_evidence) || is_pseudo(object)) return(object$log_evidence)
  object$log_evidence + sum(unit_constant(object))
}
