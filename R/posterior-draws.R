# Draws of all chains one after another, of a fit whose chains weigh differently each as often as
# the weight of its chain says.
pooled_draws <- function(object, names) {
  flat <- stack_chains(object$draws[, , names, drop = FALSE])
  rows <- weighted_rows(object)
  if (is.null(rows)) flat else flat[rows, , drop = FALSE]
}

# Which of all stored draws, by the weights of their chains: NULL for each once.
taken_draws <- function(object, n) {
  total <- prod(dim(object$draws)[1:2])
  rows <- weighted_rows(object)
  if (is.null(n) || n >= total) return(rows)
  at <- round(seq(1, total, length.out = n))
  if (is.null(rows)) at else rows[at]
}

# Their rows among all: evenly spaced quantiles, as many as there are draws. NULL: each once.
weighted_rows <- function(object) {
  weights <- object$chain_weights
  if (is.null(weights) || max(weights) - min(weights) < 1e-8) return(NULL)
  size <- dim(object$draws)
  count <- size[1] * size[2]
  ends <- cumsum(rep(weights / size[1], each = size[1]))
  pmin(findInterval((seq_len(count) - 0.5) / count, ends) + 1L, count)
}

draw_count <- function(object, ndraws) {
  total <- if (is.null(object$draws)) Inf else prod(dim(object$draws)[1:2])
  min(total, if (!is.null(ndraws)) ndraws else if (total < Inf) total else 1000)
}

normal_matrix <- function(n, k) matrix(stats::rnorm(n * k), n, k)

# R with R'R = v, also when v has lost definiteness to rounding.
covariance_root <- function(v) {
  if (nrow(v) == 0) return(v)
  tryCatch(chol(v), error = function(e) {
    e <- eigen(v, symmetric = TRUE)
    sqrt(pmax(e$values, 0)) * t(e$vectors)
  })
}

inverse_gamma_mean <- function(shape, rate) rate / (if (shape > 1) shape - 1 else shape)

# Table of posterior summaries: a matrix with columns Estimate, SD, 2.5 %, 97.5 %, from vectors of
# one length; `estimate` carries the names of the rows.
coef_table <- function(estimate, sd, lower = estimate + stats::qnorm((1 - level) / 2) * sd,
                       upper = estimate - stats::qnorm((1 - level) / 2) * sd, level = 0.95) {
  out <- cbind(estimate, sd, lower, upper)
  colnames(out) <- c("Estimate", "SD", tail_names(level))
  rownames(out) <- names(estimate)
  out
}

# The same columns from draws x variables or iterations x chains x variables, these with R-hat and
# the smaller of the effective sample sizes.
draws_table <- function(draws, level = 0.95) {
  flat <- if (length(dim(draws)) == 3L) stack_chains(draws) else draws
  if (ncol(flat) == 0L) return(coef_table(numeric(), numeric(), level = level))
  tails <- apply(flat, 2, stats::quantile, c(1 - level, 1 + level) / 2, names = FALSE)
  out <- coef_table(
    colMeans(flat), apply(flat, 2, stats::sd), tails[1, ], tails[2, ], level = level
  )
  if (length(dim(draws)) < 3L) return(out)
  known <- convergence_table(draws)
  cbind(out, "R-hat" = shown_rhat(known$rhat), ESS = pmin(known$ess_bulk, known$ess_tail))
}

# It is infinite where every chain stands still, and not all at one value, as few draws of counts
# may: no number for a table, which summary() says.
shown_rhat <- function(rhat) replace(rhat, is.infinite(rhat), NA)

# Covariance matrices with names, by grouping term, with attributes `stddev` and `correlation` as
# nlme's and lme4's `VarCorr()` give them.
new_varcorr <- function(covariances) {
  structure(
    lapply(covariances, function(covariance) {
      sd <- sqrt(diag(covariance))
      names(sd) <- rownames(covariance)
      structure(covariance, stddev = sd, correlation = covariance / outer(sd, sd))
    }),
    class = "bayeskernel_varcorr"
  )
}

# Convergence of draws: iterations x chains x variables, with dimnames.

# Convergence diagnostics of an array of draws.
# draws: array, iterations x chains x variables.
# Returns data frame with a row for each variable: `variable`, `rhat` (rank normalized, split),
#   `ess_bulk`, `ess_tail`, `mcse_mean`. `NA` where draws are constant, not finite, or too few.
# See Vehtari, Gelman, Simpson, Carpenter and Buerkner (2021), *Bayesian Analysis* 16, 667-718.
convergence_table <- function(draws) {
  numbers <- convergence_cpp(draws)
  numbers[is.nan(numbers)] <- NA
  variable <- dimnames(draws)[[3]]
  if (is.null(variable)) variable <- as.character(seq_len(dim(draws)[3]))
  data.frame(
    variable = variable, rhat = numbers[, 1], ess_bulk = numbers[, 2],
    ess_tail = numbers[, 3], mcse_mean = numbers[, 4]
  )
}

# R-hat above which chains are said to disagree.
most_rhat <- 1.05

# Warn once if chains have not mixed. R-hat above 1.05 means that chains still disagree. Fewer than
# 100 effective draws in all leave the mean with a Monte Carlo error above a tenth of a posterior
# sd, and the diagnostics themselves unreliable.
# table: what [convergence_table()] returns.
# more: what else there is to say, or `NULL`.
# Returns `TRUE` if it warned, invisibly.
warn_convergence <- function(table, max_rhat = most_rhat, min_ess = 100, more = NULL) {
  ess <- pmin(table$ess_bulk, table$ess_tail)
  apart <- which(table$rhat > max_rhat)
  few <- which(ess < min_ess)
  if (length(apart) == 0L && length(few) == 0L) return(invisible(FALSE))
  details <- c(
    if (length(apart) > 0L) {
      worst <- apart[which.max(table$rhat[apart])]
      sprintf(
        "R-hat is above %.2f for %d of %d variables, largest %.2f (%s).", max_rhat, length(apart),
        nrow(table), table$rhat[worst], table$variable[worst]
      )
    },
    if (length(few) > 0L) {
      worst <- few[which.min(ess[few])]
      sprintf(
        paste(
          "The effective sample size is below %.0f for %d of %d variables,", "smallest %.0f (%s)."
        ),
        min_ess, length(few), nrow(table), ess[worst], table$variable[worst]
      )
    },
    more,
    if (min_ess == 0) {
      "Use method = \"gibbs\" with more draws."
    } else if (length(apart) > 0L) {
      paste("Raise `warmup` of `control` and `ndraws`, and look at", "plot(fit, \"trace\").")
    } else {
      "Raise `ndraws`, or `thin` of `control`."
    }
  )
  bk_warn(
    "convergence", "The chains are not yet a good sample of the posterior.", details,
    variables = table$variable[union(apart, few)]
  )
  invisible(TRUE)
}
