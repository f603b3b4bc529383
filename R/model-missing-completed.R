# Rows with missing predictors as weighted completed rows, atoms: for likelihoods whose rows are not
# quadratic in f, and for factors. Numbers are described by a Gaussian, given the levels of the
# factors that miss values; a missing value is averaged over its law given those that are there, in
# a fit also given the response.

# The hinge keeps the factor of Luts and Ormerod in mean field, and samplers draw the values; where
# factors miss values they draw the atom of each row.
uses_completed <- function(rows, settings) {
  !is.null(rows$holes) && (settings$method == "ep" || !is.null(settings$mechanism) ||
    settings$method == "gibbs" && length(rows$holes$levels) > 0L ||
    settings$method == "vb" &&
      (settings$family != "hinge" || length(rows$processes) > 0L ||
        length(rows$holes$levels) > 0L ||
        length(rows$random) > 0L && isFALSE(settings$select %||% FALSE)))
}

# The model of the predictors: one for all rows, or one for each class where values are missing more
# often in one class, which would otherwise bias it. A Gaussian response counts as one predictor
# more, and is averaged over again: what is seen then may depend on it. Grouping factors of the
# formula have effects on the predictors that miss values (model-missing-groups.R).
completion_model <- function(rows, mechanism = NULL) {
  holes <- rows$holes
  x <- explained(holes)
  where <- which(colSums(is.na(x)) > 0)
  # Of classes in groups -1 and 1 do: their discriminant is linear.
  response <- length(where) > 0L && (is.null(rows$levels) ||
    length(rows$random) > 0L && length(holes$levels) == 0L)
  class <- integer()
  if (length(rows$levels) == 2L && !response && is.null(mechanism)) {
    class <- as.integer(rows$y > 0) + 1L
    if (!misses_by_class(holes, class)) class <- integer()
  }
  if (response) {
    x <- cbind(x, if (is.null(rows$levels)) rows$y - rows$offset else rows$y)
    where <- c(where, ncol(x))
  } else if (is.null(rows$levels) && length(holes$levels) > 0L) {
    # Levels that are missing more often where the response is large: it tells about them, and is
    # left out again. Its groups are not effects here.
    x <- cbind(x, rows$y - rows$offset)
    response <- TRUE
  }
  terms <- grouping_terms(rows$random)
  codes <- group_codes(rows$random, terms)
  own <- lapply(codes, used_codes)
  # Of rows in groups the other responses of a group tell about its effects.
  joint <- response && length(codes) > 0L && length(holes$levels) == 0L
  model <- core_call(predictor_model_cpp(
    x, class, missing_codes(holes), lengths(holes$levels),
    lapply(own, `[[`, "code"), where, response && !joint, numeric()
  ))
  if (length(codes) == 0L) return(model)
  model <- expand_groups(model, lapply(own, `[[`, "used"), terms)
  if (joint) model <- leave_response(model, x, codes, own)
  add_tilt(model, codes, holes$codes, lengths(holes$levels), class)
}

# Numbers that the model describes: predictors, then indicators of factors without holes.
explained <- function(holes) {
  unname(if (is.null(holes$guides)) holes$x else cbind(holes$x, holes$guides))
}

missing_codes <- function(holes) unname(holes$codes) %||% matrix(0L, nrow(holes$x), 0L)

misses_by_class <- function(holes, class) {
  counts <- table(factor(!rows_without_missing(holes), c(FALSE, TRUE)), factor(class, 1:2))
  all(rowSums(counts) > 0) && seen_by_class(holes, class) &&
    stats::fisher.test(counts)$p.value < 0.01
}

# Whether each class has values enough, and each level.
seen_by_class <- function(holes, class) {
  all(vapply(1:2, function(k) {
    own <- class == k
    codes <- holes$codes[own, , drop = FALSE]
    sizes <- lengths(holes$levels)
    all(colSums(!is.na(holes$x[own, , drop = FALSE])) > ncol(holes$x)) &&
      all(vapply(seq_along(sizes), function(f) all(tabulate(codes[, f], sizes[f]) > 0L), NA))
  }, NA))
}

# Rows, each as its atoms.
# rows: `x`, `random`, `offset`, `holes` as in a design or by new_rows(), scale of the data; `y`,
#   `weights` if there.
# parts: centres and scales of the columns of x and of each z, as missing_model() has them.
# model: by completion_model().
# Returns the rows, one an atom, without `holes`; `atoms`, a list of `row`, `log_prior`,
#   `predictors` (model scale) and `codes` of factors.
rows_of_completions <- function(rows, parts, model) {
  holes <- rows$holes
  known <- groups_of_completed(model, rows)
  atoms <- core_call(atoms_cpp(explained(holes), missing_codes(holes), known$model, known$codes))
  if (!is.null(model$apart) && !is.null(rows$y)) atoms <- leave_own_levels(atoms, model$apart)
  if (!is.null(model$response) && !is.null(rows$y)) {
    atoms <- atoms_at_response(atoms, model$response, rows)
  }
  if (!is.null(model$mechanism)) {
    prior <- within_rows(atoms$log_prior + mechanism_tilt(model$mechanism, atoms, holes), atoms$row)
    atoms$log_prior <- log(pmax(prior, 1e-300))
  }
  at <- atoms$row
  sources <- completion_sources(rows, atoms)
  fill <- function(values, uses, part) {
    place <- sources$place
    values <- values[place, , drop = FALSE]
    if (length(uses$row) == 0L) return(values)
    row <- uses$row + 1L
    # Atoms of a place follow each other; one that was left out has none.
    count <- tabulate(place, sources$places)[row]
    atom <- sequence(count, match(row, place, 1L))
    use <- rep(seq_along(row), count)
    column <- uses$column[use] + 1L
    x <- atoms$predictors[cbind(atom, uses$predictor[use] + 1L)]
    values[cbind(atom, column)] <- part$center[column] +
      part$scale[column] * (uses$base[use] + uses$slope[use] * x)
    values
  }
  rows$x <- fill(sources$x, sources$uses[[1L]], parts[[1L]])
  terms <- seq_along(rows$random)
  rows$random <- Map(function(term, z, uses, part) {
    term$z <- fill(z, uses, part)
    term$group <- term$group[at]
    term$name <- term$name[at]
    term
  }, rows$random, sources$z, sources$uses[-1L][terms], parts[-1L][terms])
  count <- length(rows$processes)
  rows$processes <- Map(function(own, x, uses, part) {
    list(x = fill(x, uses, part), inside = own$inside[at], copies = own$copies[at])
  }, rows$processes, sources$processes, utils::tail(sources$uses, count),
  utils::tail(parts, count))
  for (name in intersect(c("y", "weights", "offset"), names(rows))) rows[[name]] <- rows[[name]][at]
  if (!is.null(rows$unit_open)) rows$unit_open <- rows$unit_open[at, , drop = FALSE]
  rows["holes"] <- list(NULL)
  rows$atoms <- atoms
  rows
}

# A response that is a line in the predictors, by the rows that miss nothing: where the values that
# it leaves possible are. `NULL` where it is no line, or where it has groups, of which the law of
# the rows has it (model-missing-groups.R).
response_of_completed <- function(rows) {
  holes <- rows$holes
  x <- explained(holes)
  whole <- which(rowSums(is.na(x)) == 0)
  if (length(rows$random) > 0L || length(rows$processes) > 0L || length(holes$levels) > 0L ||
    any(lengths(rows$info$holes$parts[[1L]]$made) > 1L) || length(whole) < ncol(x) + 3L) {
    return(NULL)
  }
  y <- (rows$y - rows$offset)[whole]
  fit <- stats::lm.fit(cbind(1, x[whole, , drop = FALSE]), y)
  coefficients <- replace(fit$coefficients, is.na(fit$coefficients), 0)
  noise <- sum(fit$residuals^2) / (length(whole) - fit$rank)
  if (!is.finite(noise) || noise <= 1e-10 * stats::var(y)) return(NULL)
  list(coefficients = unname(coefficients), noise = noise)
}

# Nodes of one missing number where it is likely to be given the response, with the weights that
# make sums over them those of the law of the predictors: little noise tells a value more sharply
# than nodes of its law could.
atoms_at_response <- function(atoms, response, rows) {
  row <- atoms$row
  gone <- is.na(explained(rows$holes))
  single <- rowSums(gone) == 1
  at <- which(single[row])
  if (length(at) == 0L) return(atoms)
  unit <- row[at]
  share <- exp(atoms$log_prior[at])
  cell <- cbind(at, max.col(gone[unit, , drop = FALSE], "first"))
  x <- atoms$predictors[cell]
  pool <- function(value) stats::ave(share * value, unit, FUN = sum)
  mean <- pool(x)
  sd <- sqrt(pool((x - mean)^2))
  z <- (x - mean) / sd
  slope <- response$coefficients[-1L][cell[, 2L]]
  f <- response$coefficients[1L] + drop(atoms$predictors[at, , drop = FALSE] %*%
    response$coefficients[-1L]) + slope * (mean - x)
  noise <- response$noise / pmax((rows$weights %||% 1 + 0 * rows$y)[unit], 1e-8)
  var <- 1 / (1 / sd^2 + slope^2 / noise)
  center <- mean + var * slope / noise * ((rows$y - rows$offset)[unit] - f)
  # A little wider: the slope is not known yet.
  own <- pmin(1.2 * sqrt(var), sd)
  new <- center + own * z
  atoms$predictors[cell] <- new
  atoms$log_prior[at] <- atoms$log_prior[at] + (z^2 - ((new - mean) / sd)^2) / 2 + log(own / sd)
  atoms
}

# Which rows the atoms complete, the wide ones where factors are missing: their matrices, the uses
# of numbers in these, and the `place` of each atom.
completion_sources <- function(rows, atoms) {
  wide <- rows$holes$wide
  z <- function(random) lapply(random, `[[`, "z")
  x <- function(processes) lapply(processes, `[[`, "x")
  if (is.null(wide)) {
    names <- c("row", "column", "predictor", "base", "slope")
    own <- stats::setNames(rows$holes[paste0("use_", names)], names)
    return(list(
      x = rows$x, z = z(rows$random), processes = x(rows$processes),
      uses = c(list(own), rows$holes$random_uses), place = atoms$row, places = nrow(rows$x)
    ))
  }
  key <- function(row, codes) {
    combine_codes(c(list(row), asplit(codes, 2L)), c(0, lengths(rows$holes$levels)))
  }
  list(
    x = wide$x, z = z(wide$random), processes = x(wide$processes), uses = wide$uses,
    place = match(key(atoms$row, atoms$codes), key(wide$at, wide$codes)), places = length(wide$at)
  )
}

# Sums over the atoms of each row; `share` their probabilities.
over_completed <- function(value, share, row) {
  drop(rowsum(as.double(share * value), row, reorder = FALSE))
}

# Moments of rows from those of their atoms.
pool_completed <- function(moments, share, row) {
  mean <- over_completed(moments$mean, share, row)
  out <- list(mean = mean, var = over_completed(moments$var + (moments$mean - mean[row])^2, share,
    row))
  if (length(moments$prob)) {
    out$prob <- lapply(moments$prob, over_completed, share, row)
    out$prob_sd <- Map(function(p, sd, mean) {
      sqrt(pmax(over_completed(sd^2 + (p - mean[row])^2, share, row), 0))
    }, moments$prob, moments$prob_sd[names(moments$prob)], out$prob)
  }
  lapply(out, function(x) if (is.list(x)) lapply(x, unname) else unname(x))
}

# New rows whose missing values are averaged over.
latent_completed <- function(object, rows, links, threads) {
  wide <- rows_of_completions(rows, object$design$holes$parts, object$holes$model)
  out <- with_prob_sd(latent(object, wide, links, threads))
  pool_completed(out, exp(wide$atoms$log_prior), wide$atoms$row)
}

# Draws of f, each at one atom of every row.
latent_draws_completed <- function(object, rows, take, response, threads) {
  wide <- rows_of_completions(rows, object$design$holes$parts, object$holes$model)
  out <- latent_draws(object, wide, take, response, threads)
  row <- wide$atoms$row
  n <- nrow(out$f)
  # The atoms of a row cut (0, 1) by their probabilities.
  upto <- stats::ave(exp(wide$atoms$log_prior), row, FUN = cumsum)
  first <- match(seq_along(rows$offset), row)
  last <- c(first[-1L] - 1L, length(row))
  chosen <- vapply(seq_along(first), function(i) {
    own <- first[i]:last[i]
    if (length(own) == 1L) return(rep(own, n))
    own[1L] + findInterval(stats::runif(n), upto[own[-length(own)]])
  }, integer(n))
  out$f <- matrix(out$f[cbind(rep(seq_len(n), length(first)), as.vector(chosen))], n)
  out
}

# Of the atoms' answers those of the rows, and the values that were missing.
collect_completed <- function(core, job) {
  core <- collect_missing(core, job)
  rows <- job$data$atoms$row
  own <- pool_completed(list(mean = core$mean, var = core$variance_f), core$share, rows)
  core$mean <- own$mean
  core$variance_f <- own$var
  core
}

imputed_completed <- function(core, job) {
  numbers <- imputed_numbers(core, job)
  if (length(job$design$holes$levels) == 0L) return(numbers)
  numbers$level <- rep(NA_character_, nrow(numbers))
  numbers$own <- missing_places(job$design$holes$x)$row
  out <- rbind(numbers, imputed_levels(core, job))
  out <- out[order(out$own), c("row", "column", "level", "mean", "sd")]
  rownames(out) <- NULL
  out
}

imputed_numbers <- function(core, job) {
  atoms <- job$atoms
  design <- job$design
  at <- missing_places(design$holes$x)
  x <- atoms$predictors
  row <- atoms$row
  mean <- square <- matrix(0, nrow(design$holes$x), ncol(x))
  for (j in seq_along(design$holes$predictors)) {
    mean[, j] <- over_completed(x[, j], core$share, row)
    square[, j] <- over_completed((x[, j] - mean[row, j])^2, core$share, row)
  }
  known <- core$completed
  if (!is.null(known$move)) mean[, known$where] <- mean[, known$where] + known$move
  if (!is.null(known$mean)) {
    mean[, known$where] <- known$mean
    square[, known$where] <- known$var
  }
  cell <- cbind(at$row, at$predictor)
  scale <- design$holes$scale_x[at$predictor]
  imputed_frame(
    at$row, at$predictor, design$holes$center[at$predictor] +
      scale * mean[cell], scale * sqrt(square[cell]), design
  )
}

# Probabilities of the levels of missing factors, in the form of imputed_frame(): the mean is the
# probability.
imputed_levels <- function(core, job) {
  holes <- job$design$holes
  atoms <- job$atoms
  parts <- lapply(seq_along(holes$levels), function(f) {
    name <- names(holes$levels)[f]
    rows <- which(is.na(holes$codes[, f]))
    levels <- holes$levels[[f]]
    prob <- vapply(seq_along(levels), function(k) {
      over_completed(atoms$codes[, f] == k, core$share, atoms$row)[rows]
    }, numeric(length(rows)))
    prob <- matrix(prob, length(rows))
    data.frame(
      own = rep(rows, each = length(levels)),
      row = rep(data_rows(job$design, rows), each = length(levels)),
      column = rep(name, length(prob)), level = rep(levels, length(rows)),
      mean = as.vector(t(prob)), sd = as.vector(t(sqrt(prob * (1 - prob))))
    )
  })
  do.call(rbind, parts)
}
