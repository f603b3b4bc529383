# Rows with missing predictors as weighted completed rows, atoms: for
# likelihoods whose rows are not quadratic in f. A mixture of Gaussians
# describes the predictors; a missing value is averaged over its law given those
# that are there, in a fit also given the response.

# The hinge keeps the factor of Luts and Ormerod in mean field, and samplers
# draw the values.
uses_atoms <- function(rows, settings) {
  !is.null(rows$holes) && (settings$method == "ep" ||
    settings$method == "vb" &&
      (settings$family != "hinge" || length(rows$processes) > 0L))
}

# The model of the predictors: one Gaussian, or one for each class where values
# are missing more often in one class, which would otherwise bias the means.
atom_model <- function(rows) {
  x <- rows$holes$x
  class <- integer()
  if (length(rows$levels) == 2L) {
    class <- as.integer(rows$y > 0) + 1L
    if (!misses_by_class(x, class)) class <- integer()
  }
  core_call(predictor_model_cpp(unname(x), class))
}

misses_by_class <- function(x, class) {
  some <- rowSums(is.na(x)) > 0
  counts <- table(factor(some, c(FALSE, TRUE)), factor(class, 1:2))
  seen <- vapply(1:2, function(k) {
    all(colSums(!is.na(x[class == k, , drop = FALSE])) > ncol(x))
  }, NA)
  all(seen) && all(rowSums(counts) > 0) &&
    stats::fisher.test(counts)$p.value < 0.01
}

#' Rows, each as its atoms
#'
#' @param rows `x`, `random`, `offset`, `holes` as in a design or by new_rows(),
#'   scale of the data; `y`, `weights` if there.
#' @param parts Centres and scales of the columns of x and of each z, as
#'   hole_model() has them.
#' @param model By atom_model().
#' @return The rows, one an atom, without `holes`; `atoms`, a list of `row`,
#'   `log_prior` and `predictors` (model scale).
#' @noRd
atom_rows <- function(rows, parts, model) {
  holes <- rows$holes
  atoms <- core_call(atoms_cpp(unname(holes$x), model))
  at <- atoms$row
  fill <- function(values, uses, part) {
    values <- values[at, , drop = FALSE]
    if (length(uses$row) == 0L) {
      return(values)
    }
    row <- uses$row + 1L
    # Atoms of a row follow each other.
    count <- tabulate(at, nrow(holes$x))[row]
    atom <- sequence(count, match(row, at))
    use <- rep(seq_along(row), count)
    column <- uses$column[use] + 1L
    x <- atoms$predictors[cbind(atom, uses$predictor[use] + 1L)]
    values[cbind(atom, column)] <- part$center[column] +
      part$scale[column] * (uses$base[use] + uses$slope[use] * x)
    values
  }
  names <- c("row", "column", "predictor", "base", "slope")
  uses <- stats::setNames(holes[paste0("use_", names)], names)
  rows$x <- fill(rows$x, uses, parts[[1L]])
  rows$random <- Map(function(term, uses, part) {
    term$z <- fill(term$z, uses, part)
    term$group <- term$group[at]
    term$name <- term$name[at]
    term
  }, rows$random, holes$random_uses[seq_along(rows$random)],
  parts[-1L][seq_along(rows$random)])
  count <- length(rows$processes)
  rows$processes <- Map(function(own, uses, part) {
    list(x = fill(own$x, uses, part), inside = own$inside[at])
  }, rows$processes, utils::tail(holes$random_uses, count),
  utils::tail(parts, count))
  for (name in intersect(c("y", "weights", "offset"), names(rows))) {
    rows[[name]] <- rows[[name]][at]
  }
  rows["holes"] <- list(NULL)
  rows$atoms <- atoms
  rows
}

# Sums over the atoms of each row; `share` their probabilities.
over_atoms <- function(value, share, row) {
  drop(rowsum(as.double(share * value), row, reorder = FALSE))
}

# Moments of rows from those of their atoms.
pool_atoms <- function(moments, share, row) {
  mean <- over_atoms(moments$mean, share, row)
  out <- list(
    mean = mean,
    var = over_atoms(moments$var + (moments$mean - mean[row])^2, share, row)
  )
  if (length(moments$prob)) {
    out$prob <- lapply(moments$prob, over_atoms, share, row)
    out$prob_sd <- Map(function(p, sd, mean) {
      sqrt(pmax(over_atoms(sd^2 + (p - mean[row])^2, share, row), 0))
    }, moments$prob, moments$prob_sd[names(moments$prob)], out$prob)
  }
  lapply(out, function(x) if (is.list(x)) lapply(x, unname) else unname(x))
}

# New rows whose missing values are averaged over.
latent_atoms <- function(object, rows, links, threads) {
  wide <- atom_rows(rows, object$design$holes$parts, object$holes$model)
  out <- latent(object, wide, links, threads)
  if (length(links) && is.null(out$prob_sd)) {
    out$prob_sd <- lapply(stats::setNames(nm = names(out$prob)), function(l) {
      probability_sd(out$mean, out$var, l)
    })
  }
  pool_atoms(out, exp(wide$atoms$log_prior), wide$atoms$row)
}

# Draws of f, each at one atom of every row.
latent_draws_atoms <- function(object, rows, take, response, threads) {
  wide <- atom_rows(rows, object$design$holes$parts, object$holes$model)
  out <- latent_draws(object, wide, take, response, threads)
  row <- wide$atoms$row
  n <- nrow(out$f)
  # The atoms of a row cut (0, 1) by their probabilities.
  upto <- stats::ave(exp(wide$atoms$log_prior), row, FUN = cumsum)
  first <- match(seq_along(rows$offset), row)
  last <- c(first[-1L] - 1L, length(row))
  chosen <- vapply(seq_along(first), function(i) {
    own <- first[i]:last[i]
    if (length(own) == 1L) {
      return(rep(own, n))
    }
    own[1L] + findInterval(stats::runif(n), upto[own[-length(own)]])
  }, integer(n))
  out$f <- matrix(
    out$f[cbind(rep(seq_len(n), length(first)), as.vector(chosen))], n
  )
  out
}

has_atoms <- function(object, rows) {
  !is.null(object$holes$model) && !is.null(rows$holes)
}

# Of the atoms' answers those of the rows, and the values that were missing.
collect_atoms <- function(core, job) {
  atoms <- job$data$atoms
  if (is.null(atoms)) {
    return(core)
  }
  own <- pool_atoms(
    list(mean = core$mean, var = core$variance_f), core$share, atoms$row
  )
  core$mean <- own$mean
  core$variance_f <- own$var
  core
}

imputed_atoms <- function(core, job) {
  atoms <- job$atoms
  design <- job$design
  at <- hole_places(design$holes$x)
  x <- atoms$predictors
  row <- atoms$row
  mean <- square <- matrix(0, nrow(design$holes$x), ncol(x))
  for (j in seq_len(ncol(x))) {
    mean[, j] <- over_atoms(x[, j], core$share, row)
    square[, j] <- over_atoms(
      (x[, j] - mean[row, j])^2, core$share, row
    )
  }
  cell <- cbind(at$row, at$predictor)
  scale <- design$holes$scale_x[at$predictor]
  imputed_frame(
    at$row, at$predictor, design$holes$center[at$predictor] +
      scale * mean[cell], scale * sqrt(square[cell]), design
  )
}
