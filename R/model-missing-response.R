# The model of predictors with missing values where the response is no line in these, or where
# groups have effects on it and levels of their own: the joint normal law of both, by which a
# Gaussian response is taken into account (model-missing-completed.R), is where one begins. From
# then on the model is fitted to the completed rows at their probabilities given the response, and
# fit and model follow each other: steps of EM.

# Rounds at most, and the move of the model, in standard deviations of the predictors and in
# probabilities of levels, that ends them.
most_law_rounds <- 3L
law_still <- 0.01

settle_predictors <- function(job, rows, settings) {
  if (!is.null(settings$mechanism)) return(settle_mechanism(job, rows, settings))
  if (!bends_response(job)) return(job)
  steps <- settings
  steps$method <- "vb"
  for (k in seq_len(most_law_rounds)) {
    at <- if (job$settings$method == "vb") job else linear_job(rows, steps, job$completion_model)
    core <- run_vb(at)
    if (anyNA(core$share) || isTRUE(core$status$interrupted)) break
    model <- refit_completion_model(at, core$share)
    model$nodes <- job$completion_model$nodes
    moved <- model_move(job$completion_model, model)
    job <- linear_job(rows, settings, model)
    if (moved < law_still) break
  }
  job
}

# Where what is missing enters in another way than linearly: in a process, or in a product; and
# factors beside groups: which levels of a group are seen depends on the effect of the group.
bends_response <- function(job) {
  holes <- job$design$holes
  if (job$settings$family == "hinge") return(FALSE)
  if (length(holes$levels) > 0L && length(job$completion_model$groups) > 0L) return(TRUE)
  if (job$settings$family != "gaussian") return(FALSE)
  gone <- which(colSums(is.na(holes$x)) > 0L)
  parts <- job$design$info$holes$parts
  in_process <- utils::tail(parts, length(job$design$processes))
  many <- function(part, most) any(lengths(part$made[gone]) > most)
  many(parts[[1L]], 1L) || any(vapply(in_process, many, NA, 0L))
}

# The law of the predictors from completed rows; `codes` of their groups.
completed_law <- function(job, weight, codes = list()) {
  holes <- job$design$holes
  core_call(predictor_model_cpp(
    job$atoms$predictors, integer(), job$atoms$codes, lengths(holes$levels), codes,
    which(colSums(is.na(explained(holes))) > 0), FALSE, as.double(weight)
  ))
}

refit_completion_model <- function(job, share) {
  holes <- job$design$holes
  atoms <- job$atoms
  old <- job$completion_model
  x <- explained(holes)
  codes <- model_codes(old, job$design$random, nrow(job$design$holes$x))
  own <- lapply(codes, used_codes)
  of_atoms <- lapply(own, function(part) part$code[atoms$row])
  fit <- function(weight) completed_law(job, weight, of_atoms)
  new <- fit(share)
  if (length(codes) > 0L) {
    # From what is seen: the completed rows know the response. Not where what is seen is chosen.
    if (is.null(old$mechanism)) {
      new <- core_call(predictor_effects_cpp(
        x, integer(), missing_codes(holes), new, lapply(own, `[[`, "code")
      ))
    }
    new <- expand_groups(new, lapply(own, `[[`, "used"), lapply(old$groups, `[[`, "term"))
    if (length(holes$levels) == 0L && is.null(old$mechanism)) {
      new$seen <- lapply(new$groups, `[`, c("mean", "var"))
    }
    return(add_tilt(
      new, lapply(codes, `[`, atoms$row), atoms$codes, lengths(holes$levels), integer(), share,
      if (length(holes$levels) > 0L) atoms$row
    ))
  }
  if (length(new$share) > 1L) return(new)
  # The same likelihood of the atoms, under the new model, until that stands.
  for (k in 1:20) {
    value <- log(share) + log_normal(atoms$predictors, new) - log_normal(atoms$predictors, old)
    next_one <- fit(within_rows(value, atoms$row))
    still <- model_move(new, next_one) < 1e-4
    new <- next_one
    if (still) break
  }
  new
}

log_normal <- function(x, model) {
  root <- chol(model$cov[[1L]])
  gap <- backsolve(root, t(x) - model$mean[, 1L], transpose = TRUE)
  -colSums(gap^2) / 2 - sum(log(diag(root)))
}

model_move <- function(old, new) {
  # From classes of rows to the response.
  if (length(old$share) != length(new$share)) return(Inf)
  scale <- sqrt(diag(as.matrix(old$cov[[1L]])))
  max(
    abs(new$share - old$share), abs(new$mean - old$mean) / scale,
    abs(sqrt(diag(as.matrix(new$cov[[1L]]))) / scale - 1)
  )
}
