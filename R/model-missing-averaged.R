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
  look <- function(theta, precision, noise, information) {
    found <- core_call(group_likelihood_cpp(rows, theta, precision[1L], noise, information))
    if (!found$exact) found[c("value", "theta", "scale", "noise")] <- NaN
    found
  }
  list(
    block = which(vapply(job$blocks$blocks, `[[`, NA, "eliminated")), rest = 0, leans = TRUE,
    likelihood = function(...) {
      known <- NULL
      ask <- function(what, information = FALSE) {
        if (is.null(known) || information && length(known$information) == 0L) {
          known <<- look(..., information)
        }
        known[[what]]
      }
      list(
        value = function() ask("value"), score = function() {
          ask("theta")
          known
        },
        information = function() ask("information", TRUE),
        effects = function() matrix(ask("effect"))
      )
    },
    completed = function(...) list(share = look(..., FALSE)$share)
  )
}
