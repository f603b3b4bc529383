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
