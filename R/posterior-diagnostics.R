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
