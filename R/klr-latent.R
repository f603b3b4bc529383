# f of a fit of klr() at rows, given its draws.

# What the core reads of the draws `take`, chain after chain; NULL for all.
klr_core_draws <- function(object, take = NULL) {
  kernels <- join_kernels(object$posterior$kernels)
  intercept <- as.vector(object$draws[, , "intercept"])
  if (!is.null(take)) {
    last <- cumsum(kernels$size)[take]
    width <- object$rank * length(object$columns)
    frames <- matrix(kernels$frame, width)
    kernels$size <- kernels$size[take]
    at <- sequence(kernels$size, last - kernels$size + 1L)
    scales <- matrix(kernels$log_lambda, object$rank)
    kernels$centre <- kernels$centre[at]
    kernels$coefficient <- kernels$coefficient[at]
    kernels$log_lambda <- as.vector(scales[, at])
    kernels$frame <- as.vector(frames[, take])
    intercept <- intercept[take]
  }
  numbers_of(c(kernels, list(intercept = intercept, rank = object$rank)))
}

# No draw may have a kernel.
numbers_of <- function(x) lapply(x, as.double)

# Moments of f and of the probability for rows on the scale of the model.
klr_moments <- function(object, x, threads) {
  if (nrow(x) == 0L) {
    return(list(mean = numeric(), var = numeric(), prob = numeric(), prob_sd = numeric()))
  }
  core_call(klr_predict_cpp(klr_core_draws(object), object$posterior$x, x, threads))
}

#' @exportS3Method
#' @noRd
latent.klr <- function(object, rows = NULL, links = "logit",
                       threads = getOption("bayeskernel.threads", 2L)) {
  if (is.null(rows)) {
    return(kept_latent(object, links))
  }
  out <- klr_moments(object, bark_scaled_rows(object, rows$x), threads)
  c(out[c("mean", "var")], list(prob = list(logit = out$prob), prob_sd = list(logit = out$prob_sd)))
}

#' @exportS3Method
#' @noRd
latent_draws.klr <- function(object, rows = NULL, take = NULL, response = FALSE,
                             threads = getOption("bayeskernel.threads", 2L)) {
  x <- rows_or_own(object, rows)
  take <- taken_draws(object, take)
  f <- if (nrow(x) == 0L) {
    matrix(0, if (is.null(take)) prod(dim(object$draws)[1:2]) else length(take), 0L)
  } else {
    core_call(klr_latent_cpp(klr_core_draws(object, take), object$posterior$x, x, threads))
  }
  list(f = f, mean = colMeans(f))
}

#' @exportS3Method
parameters.klr <- function(object, level = 0.95) {
  names <- dimnames(object$draws)[[3]]
  table <- with_convergence(
    draws_table(stack_chains(object$draws), level), object, convergence_table(object$draws)
  )
  share <- startsWith(names, "P[")
  at <- startsWith(names, "f[")
  rest <- !share & !at & names != "log_lik"
  words <- c(
    intercept = "intercept (b_0)", J = "kernels (J)",
    mu = "mean of the log scales (mu)", sd = "sd of the log scales (sd)"
  )
  rbind(
    parameter_rows(
      "share", table[share, , drop = FALSE], label = sprintf("share of %s", object$columns)
    ),
    parameter_rows("parameter", table[rest, , drop = FALSE], label = words[names[rest]]),
    parameter_rows(
      "function", table[at, , drop = FALSE], group = "rows of the data, from low to high",
      label = sprintf("f at row %d", object$reference)
    )
  )
}

#' @exportS3Method
facts.klr <- function(object) {
  kernels <- mean(object$draws[, , "J"])
  list(
    title = "Kernel logistic regression on a learned projection",
    Rows = rows_fact(object), Fit = own_fit(object),
    Projection = c(
      sprintf("%d of %d directions", object$rank, length(object$columns)),
      if (!is.null(object$ranks)) {
        sprintf(
          "chosen by cross-validation, log loss %s", paste(sprintf(
            "%.3f at rank %d", object$ranks$log_loss, object$ranks$rank
          ), collapse = ", ")
        )
      }
    ),
    Spread = spread_fact(object),
    Agreement = agreement_fact(object),
    Kernels = sprintf(
      "%.1f (mean), %s expected by the prior, which is %s", kernels,
      format(klr_kernels_cpp(object$prior), digits = 3), object$prior$coefficients
    )
  )
}

agreement_fact <- function(object) {
  apart <- apart_by_chain(object)
  if (!is.null(apart)) {
    sprintf(
      "probabilities of %d rows differ by at most %.2f between chains",
      length(object$reference), apart
    )
  }
}

#' @exportS3Method
extras.klr <- function(object) {
  rates <- acceptance_rates(object)
  list(
    summary = list(
      projection = projection(object), acceptance = rates,
      reference = object$reference, ranks = object$ranks
    ),
    glance = list(rank = object$rank, kernels = mean(object$draws[, , "J"])),
    notes = acceptance_text(rates[!is.na(rates)])
  )
}
