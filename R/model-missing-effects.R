# Effects of groups on a missing predictor are shared by the rows of a group that
# miss it, and go against the effect of the group on the response: what one has
# the other has not. Atoms complete each row by itself and know nothing of that;
# slopes, and variances of groups, come out small by it. Where the response is
# Gaussian and linear in what is missing, the likelihood of a group with its
# missing values and all effects integrated out is a normal density, of which
# the posterior is made (model-missing-marginal.R). Classes go one step toward it.
#
# Of row i: y = x0'theta + z'u + b'(M c + e) + noise,  b the slopes of what is
# missing, x0 the row at the mean of that given what is seen of the predictors,
# c ~ N(0, V_g) the effects that are left open there, e ~ N(0, C).

# More coefficients than these would cost more than the fit.
most_shared_columns <- 60L

shared_effects <- function(job) {
  model <- job$completion_model
  holes <- job$design$holes
  data <- job$data
  if (!(job$settings$family %in% c("gaussian", "logit", "probit")) || is.null(model$seen) ||
    !is.null(model$mechanism) || length(model$share) > 1L || length(holes$levels) > 0L ||
    length(job$design$processes) > 0L || ncol(data$z) == 0L ||
    length(data$crossed) > 0L || length(job$design$units) > 0L ||
    length(job$blocks$precision) > most_shared_columns ||
    any(lengths(lapply(holes$random_uses, `[[`, "row")) > 0L)) {
    return(NULL)
  }
  own <- which(vapply(job$blocks$blocks, `[[`, NA, "eliminated"))
  place <- match(
    list(job$design$random[[job$blocks$blocks[[own]]$random]]$group),
    lapply(model$groups, function(part) job$design$random[[part$term]]$group)
  )
  if (is.na(place)) return(NULL)
  first <- match(seq_along(job$design$offset), job$atoms$row)
  rows <- list(
    y = as.double(data$y[first] - data$offset[first]), weight = as.double(data$weights[first]),
    z = data$z[first, , drop = FALSE], group = as.integer(data$group[first]),
    x = theta_columns(job, first), groups = as.integer(data$n_groups)
  )
  list(
    rows = c(rows, missing_of_rows(explained(holes), holes, model, job$design, place)),
    # A row of weight w counts like w rows of one predictor, not like one of 1 / w of the noise.
    block = own, where = model$where, rest = sum(1 - rows$weight) / 2, leans = FALSE
  )
}

# What is missing given what is seen, by pattern: M and C, where C has the other grouping factors'
# effects, too; means; and how columns depend on it.
missing_of_rows <- function(x, holes, model, design, place) {
  where <- model$where
  width <- length(where)
  gone <- is.na(x[, where, drop = FALSE])
  rows <- which(rowSums(gone) > 0)
  codes <- model_codes(model, design$random, nrow(x))
  shift <- Reduce(`+`, Map(function(part, code) {
    t(part$mean[, code, drop = FALSE])
  }, model$seen, codes))
  level <- matrix(model$mean[, 1L], nrow(x), ncol(x), byrow = TRUE)
  level[, where] <- level[, where] + shift
  mean <- x
  key <- apply(gone[rows, , drop = FALSE], 1L, paste, collapse = " ")
  cov <- model$cov[[1L]]
  patterns <- lapply(unname(split(rows, key)), function(at) {
    out <- where[gone[at[1L], ]]
    seen <- setdiff(seq_len(ncol(x)), out)
    slope <- matrix(0, length(out), length(seen))
    if (length(seen)) slope[] <- t(solve(cov[seen, seen], cov[seen, out, drop = FALSE]))
    move <- matrix(0, width, width)
    move[match(out, where), match(out, where)] <- diag(length(out))
    also <- intersect(seen, where)
    move[match(out, where), match(also, where)] <- -slope[, match(also, seen)]
    left <- matrix(0, width, width)
    left[match(out, where), match(out, where)] <-
      cov[out, out] - slope %*% cov[seen, out, drop = FALSE]
    list(at = at, out = out, seen = seen, slope = slope, move = move, left = left)
  })
  for (k in seq_along(patterns)) {
    one <- patterns[[k]]
    one$bare <- one$left
    gap <- x[one$at, one$seen, drop = FALSE] - level[one$at, one$seen]
    mean[one$at, one$out] <- level[one$at, one$out, drop = FALSE] + gap %*% t(one$slope)
    # Of other factors those of the group that is typical.
    for (f in setdiff(seq_along(model$seen), place)) {
      typical <- matrix(rowMeans(model$seen[[f]]$var[, codes[[f]][one$at], drop = FALSE]), width)
      one$left <- one$left + one$move %*% typical %*% t(one$move)
    }
    patterns[[k]] <- one[c("at", "move", "left", "bare")]
  }
  use <- data.frame(
    row = holes$use_row + 1L, column = holes$use_column + 1L,
    place = match(holes$use_predictor + 1L, where), slope = holes$use_slope,
    value = holes$use_base + holes$use_slope *
      mean[cbind(holes$use_row + 1L, holes$use_predictor + 1L)]
  )
  # What atoms have: effects by row, with the others' responses in view.
  by_row <- model$by_row
  toward <- matrix(0, nrow(x), width)
  apart <- matrix(0, nrow(x), width^2)
  if (!is.null(by_row)) {
    toward[by_row$row, ] <- t(by_row$mean) - shift[by_row$row, ]
    apart[by_row$row, ] <- t(by_row$var)
  }
  list(
    patterns = patterns, use = use, toward = toward, apart = apart,
    mean = mean[, where, drop = FALSE], open = model$seen[[place]]$var
  )
}

# Columns of theta of some atoms, on the scale of the model.
theta_columns <- function(job, rows) {
  bare <- job
  bare$data$z <- matrix(0, length(job$data$y), 0L)
  centred_columns(bare, list(theta_mean = job$blocks$precision))(rows)
}

# Of classes each row counts as a normal response with the slope and the expected curvature that its
# likelihood has at the fit, averaged over its atoms.
normal_responses <- function(rows, core, job) {
  f <- core$mean - job$data$offset
  prob <- if (job$settings$family == "logit") stats::plogis else stats::pnorm
  density <- if (job$settings$family == "logit") stats::dlogis else stats::dnorm
  at_f <- core$mean
  curvature <- job$data$weights * pmax(density(at_f)^2 / (prob(at_f) * prob(-at_f)), 1e-8)
  row <- job$atoms$row
  rows$weight <- over_completed(curvature, core$share, row)
  rows$y <- over_completed(curvature * f + completion_scores(core, job), core$share, row) /
    rows$weight
  rows
}

prior_precision <- function(blocks, precision) {
  out <- diag(blocks$precision, length(blocks$precision))
  for (l in seq_along(blocks$blocks)) {
    block <- blocks$blocks[[l]]
    if (block$eliminated) next
    at <- block$first + seq_len(block$members * block$width)
    out[at, at] <- out[at, at] + kronecker(diag(block$members), as.matrix(precision[[l]]))
  }
  out
}

shift_answer <- function(one, theta, effects) {
  one$theta_mean <- one$theta_mean + theta
  one$group_mean <- one$group_mean + effects
  one
}

shift_variances <- function(core, block, found) {
  index <- core$log_variance$index
  move <- c(found$scale, found$noise)
  place <- match(c(block, 0L), index)
  known <- !is.na(place)
  scaled <- function(one) {
    one$precision[[block]] <- one$precision[[block]] * exp(-found$scale)
    one
  }
  core$points <- lapply(core$points, function(point) {
    point$x[place[known]] <- point$x[place[known]] + move[known]
    if (!is.null(point$noise)) point$noise <- point$noise * exp(found$noise)
    scaled(point)
  })
  core <- scaled(core)
  if (any(known)) {
    core$log_variance$mean[place[known]] <- core$log_variance$mean[place[known]] + move[known]
  }
  gamma <- function(own, move) {
    if (!is.null(own$rate)) own$rate <- own$rate * exp(move)
    own
  }
  core$variance[[block]] <- gamma(core$variance[[block]], found$scale)
  core$noise <- gamma(core$noise, found$noise)
  core
}

# f of the atoms.
moved_rows <- function(job, theta, effects) {
  out <- drop(theta_columns(job, seq_along(job$data$y)) %*% theta)
  own <- t(effects)[job$data$group, , drop = FALSE]
  out + rowSums(job$data$z * own)
}
