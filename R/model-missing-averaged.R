# Rows that miss levels of factors: given the effect of its group each row is averaged over its
# completions by itself. So the likelihood of a group is a sum over completions inside an integral
# over one effect, which the core has (missing/group_likelihood.hpp), of every family that is one.

# `NULL` where this is not the likelihood: missing numbers share effects of their group.
averaged_rows <- function(job) {
  data <- job$data
  if (!(job$settings$family %in% c("gaussian", "logit", "probit")) ||
    !is.null(job$completion_model$mechanism) || anyNA(job$design$holes$x) ||
    anyDuplicated(job$atoms$row) == 0L ||
    length(job$design$processes) > 0L || length(data$selection) > 0L ||
    NCOL(data$z) != 1L || length(data$crossed) > 0L || length(job$design$units) > 0L ||
    length(job$blocks$precision) > most_shared_columns) {
    return(NULL)
  }
  rows <- list(
    family = job$settings$family, x = theta_columns(job, seq_along(data$y)), y = as.double(data$y),
    offset = as.double(data$offset), z = data$z[, 1L], weight = as.double(data$weights),
    log_prior = job$atoms$log_prior, row = job$atoms$row, group = as.integer(data$group),
    groups = as.integer(data$n_groups)
  )
  list(
    rows = rows, block = which(vapply(job$blocks$blocks, `[[`, NA, "eliminated")), rest = 0,
    leans = TRUE
  )
}
