# Of each response, draws x rows.
log_densities <- function(object, newdata = NULL, y = NULL, draws = NULL, seed) {
  latent <- posterior_latent(object, newdata, draws, seed = seed)
  n <- ncol(latent$f)
  if (!is.null(object$units)) {
    if (is.null(newdata)) return(count_densities(object, latent))
    counts <- new_counts(object, newdata, y)
    all <- rowSums(counts)
    return(count_densities(
      object, latent, list(all = all, positive = counts[, 1L]), lchoose(all, counts[, 1L])
    ))
  }
  codes <- if (is.null(newdata)) {
    if (is_regression(object)) object$y else own_classes(object)
  } else {
    new_response(object, newdata, y, n, declared = TRUE)
  }
  # A level that no row of the fit has does not occur.
  strange <- !is_regression(object) & codes > length(object$levels)
  if (any(strange, na.rm = TRUE)) codes[which(strange)] <- NA
  out <- label_densities(object, latent, codes, is.null(newdata))
  out[, which(strange)] <- -Inf
  out
}

# Of numbers, or of the numbers of two classes, given f.
log_density <- function(y, f, sigma, link, regression) {
  if (regression) {
    stats::dnorm(y, f, sigma, log = TRUE)
  } else if (link == "logit") {
    stats::plogis((2 * y - 3) * f, log.p = TRUE)
  } else {
    stats::pnorm((2 * y - 3) * f, log.p = TRUE)
  }
}

# Of pairs of counts, draws x units.
count_densities <- function(object, latent, trials = unit_trials(object),
                            constant = unit_constant(object)) {
  each <- nrow(latent$f)
  link <- links_of(object)[1]
  out <- rep(trials$positive, each = each) * log_density(2, latent$f, NULL, link, FALSE) +
    rep(trials$all - trials$positive, each = each) * log_density(1, latent$f, NULL, link, FALSE) +
    rep(constant, each = each)
  dim(out) <- dim(latent$f)
  out
}

# The successes and failures of new rows of counts.
new_counts <- function(object, newdata, y = NULL) {
  if (!is.null(y)) {
    if (is.matrix(y) && is.numeric(y) && all(dim(y) == c(NROW(newdata), 2L))) return(y)
    abort_argument(y, "y", "a matrix of successes and failures, a row for each of `newdata`")
  }
  response <- if (!is.null(object$formula)) stats::formula(object)[[2L]]
  absent <- setdiff(all.vars(response), names(newdata))
  counts <- if (is.list(newdata) && !is.null(response) && !length(absent)) {
    tryCatch(eval(response, newdata, environment(object$formula)), error = function(e) NULL)
  }
  if (is.matrix(counts) && is.numeric(counts)) return(counts)
  bk_abort(
    "argument", "The trials of the rows of `newdata` are not known.",
    if (is.null(response)) {
      "Found: a fit to a matrix, without a formula."
    } else if (length(absent)) {
      sprintf("Found: no %s.", list_some(paste0("`", absent, "`")))
    },
    if (!is.null(response)) {
      sprintf("Accepted: the variables of `%s`, of which the sum counts.", deparse1(response))
    },
    "interval = \"credible\" is of the rate, and needs no trials.", column = "newdata",
    found = names(newdata), expected = all.vars(response)
  )
}

label_densities <- function(object, latent, codes, own) {
  n <- ncol(latent$f)
  if (length(object$levels) < 3L) {
    out <- log_density(
      rep(codes, each = nrow(latent$f)), latent$f, latent$sigma,
      links_of(object)[1], is_regression(object)
    )
    out <- lapsed_log(out, object$posterior$process, 2L)
    dim(out) <- dim(latent$f)
    # A row of weight w counts w times.
    weights <- if (own) likelihood_powers(object)
    return(if (is.null(weights)) out else out * rep(weights, each = nrow(out)))
  }
  p <- draw_probability(object, latent, "probit")
  out <- vapply(seq_len(n), function(i) log(p[, i, codes[i]]), numeric(nrow(p)))
  weights <- if (own) likelihood_powers(object)
  if (is.null(weights)) out else out * rep(weights, each = nrow(out))
}

# Draws of f and what comes with them, at new rows or those of the fit.
posterior_latent <- function(object, newdata, draws, re.form = NULL, seed = NULL, response = FALSE,
                             threads = getOption("bayeskernel.threads", 2L)) {
  if (!is.null(draws)) draws <- check_count(draws, name = "ndraws")
  if (object$method == "ecm") draws_from_posterior(object)
  groups <- check_re_form(re.form)
  rows <- NULL
  if (!is.null(newdata) || !keeps_rows(object) || groups != "as given") {
    if (is.null(newdata)) newdata <- own_data(object)
    rows <- new_rows(object, newdata, groups, TRUE)
  }
  check_answer_size(if (is.null(rows)) object$n else rows$n, draw_count(object, draws))
  out <- with_seed(seed, latent_draws(object, rows, draws, response, threads))
  if (!is.null(rows) && length(dim(out$f)) == 2L) out$f <- fill_incomplete(out$f, rows, TRUE)
  if (is.null(rows)) out$f <- by_unit(object, out$f, TRUE)
  out
}

# Groups "as given", "new" ones, or "none": without random effects.
check_re_form <- function(re.form) {
  if (is.null(re.form)) return("as given")
  if (identical(re.form, "new")) return("new")
  none <- inherits(re.form, "formula") && length(re.form) == 2L && identical(re.form[[2]], 0)
  if (!none && !(length(re.form) == 1L && is.na(re.form))) {
    abort_argument(re.form, "re.form", paste(
      "NULL, with random effects, \"new\", as of new groups, or NA, without them;",
      "`exclude = \"(1 | g)\"` leaves out one of several"
    ))
  }
  "none"
}

# Weights that say how often rows count; those of noise are in its variance.
likelihood_powers <- function(object) {
  noise <- isTRUE(model_of(object)$rows$noise_weights) && is_regression(object)
  if (!noise) object$weights
}

# log_densities() of the fit's own rows with a column for each time that a row counts, so that
# leaving one out leaves the others.
repeated_columns <- function(object, log_density) {
  weights <- if (is.null(object$units)) likelihood_powers(object) else unit_copies(object)
  copies <- row_copies(weights)
  if (!any(copies > 1)) return(log_density)
  at <- rep(seq_along(weights), copies)
  log_density[, at, drop = FALSE] / rep(weights[at], each = nrow(log_density))
}
