# f of the nonlinear machine, one a class of more than two: f = phi'v + e by the inducing points' v,
# e ~ N(0, r) of its own for every row.

#' @exportS3Method
latent.gpsvm <- function(object, rows = NULL, links = character(),
                         threads = getOption("bayeskernel.threads", 2L)) {
  if (is.null(rows)) return(kept_latent(object, links))
  moments_of_process(object, process_rows_data(object, rows$x), links, threads)
}

moments_of_process <- function(object, data, links, threads) {
  posterior <- object$posterior
  if (object$method != "gibbs") {
    out <- core_call(gpsvm_predict_cpp(
      data, posterior$kernel, posterior$z, posterior$nugget, unname(posterior$machines), threads
    ))
    out <- lapply(out, name_machines, object$levels)
    return(c(out, link_moments(out$mean, out$var, links)))
  }
  parts <- lapply(whitened_draws(object), function(points) {
    core_call(gpsvm_draw_moments_cpp(
      data, posterior$kernel, posterior$z, posterior$nugget, t(points), links, threads
    ))
  })
  bind <- function(name, column = 1L) {
    name_machines(do.call(cbind, lapply(parts, function(part) {
      as.matrix(part[[name]])[, column]
    })), object$levels)
  }
  by_link <- function(name) stats::setNames(lapply(seq_along(links), bind, name = name), links)
  prob <- by_link("prob")
  several <- length(parts) > 1L
  list(
    mean = bind("mean"), var = bind("var"),
    prob = if (several) lapply(prob, normalise_rows) else prob,
    prob_sd = if (several) list() else by_link("prob_sd")
  )
}

# A column for each machine, or a vector for the only one.
name_machines <- function(x, levels) {
  if (length(levels) == 2L) return(drop(x[, 1]))
  colnames(x) <- levels
  x
}

#' @exportS3Method
latent_draws.gpsvm <- function(object, rows = NULL, take = NULL, response = FALSE,
                               threads = getOption("bayeskernel.threads", 2L)) {
  posterior <- object$posterior
  points <- whitened_draws(object, take)
  each <- lapply(points, function(points) {
    found <- core_call(gpsvm_latent_cpp(
      process_rows_data(object, rows$x), posterior$kernel, posterior$z,
      posterior$nugget, t(points), threads
    ))
    noise <- rep(sqrt(found$residual), ncol(found$f)) * stats::rnorm(length(found$f))
    list(f = t(found$f + noise), mean = rowMeans(found$f))
  })
  if (length(each) == 1L) {
    # The mean of draws from q is only near that of q.
    return(list(f = each[[1]]$f, mean = if (object$method == "gibbs") each[[1]]$mean))
  }
  list(f = array(
    unlist(lapply(each, `[[`, "f"), use.names = FALSE), c(dim(each[[1]]$f), length(each)),
    list(NULL, NULL, object$levels)
  ))
}

# What the inducing points leave open is a process, too: its covariance between rows is k(x, x') -
# phi'phi. White noise is no part of the function.
#' @exportS3Method
joint_draws.gpsvm <- function(object, rows, take, threads) {
  block_draws(object, rows, take, threads, rep(1L, nrow(rows$x)))
}

# Rows of a `block` are drawn together; what is open in others is drawn alike.
block_draws <- function(object, rows, take, threads, block) {
  if (object$method == "ecm") draws_from_posterior(object)
  posterior <- object$posterior
  points <- whitened_draws(object, take)
  m <- ncol(points[[1]])
  values <- core_call(gpsvm_latent_cpp(
    process_rows_data(object, rows$x), posterior$kernel, posterior$z,
    posterior$nugget, cbind(diag(m), t(do.call(rbind, points))), threads
  ))$f
  features <- values[, seq_len(m), drop = FALSE]
  x <- t(scaled_predictors(object, rows$x))
  blocks <- split(seq_len(ncol(x)), block)
  root <- root_for(length(blocks))
  roots <- lapply(blocks, function(at) {
    own <- x[, at, drop = FALSE]
    kernel <- core_call(kernel_matrix_cpp(posterior$kernel, own, own, threads))$values
    root(kernel - tcrossprod(features[at, , drop = FALSE]), 1e-10 * max(diag(kernel)))
  })
  count <- nrow(points[[1]])
  each <- lapply(seq_along(points), function(k) {
    f <- t(values[, m + (k - 1L) * count + seq_len(count), drop = FALSE])
    z <- normal_matrix(count, max(0L, vapply(roots, nrow, 1L)))
    for (b in seq_along(blocks)) {
      at <- blocks[[b]]
      f[, at] <- f[, at] + z[, seq_len(nrow(roots[[b]])), drop = FALSE] %*% roots[[b]]
    }
    f
  })
  if (length(each) == 1L) return(list(f = each[[1]]))
  list(f = array(
    unlist(each, use.names = FALSE), c(dim(each[[1]]), length(each)),
    list(NULL, NULL, object$levels)
  ))
}

# R with R'R = `covariance`, which may be singular: of as many rows as stand out of the rounding
# errors.
root_of <- function(covariance, tol) {
  if (max(diag(covariance)) <= tol) return(matrix(0, 0L, ncol(covariance)))
  # The warning is that the rank is not full.
  root <- suppressWarnings(chol(covariance, pivot = TRUE, tol = tol))
  rank <- attr(root, "rank")
  root[seq_len(rank), order(attr(root, "pivot")), drop = FALSE]
}

# The same of a matrix plus a trace of the identity, without pivots: where covariances change little
# the roots do, and so does what is drawn from the same numbers.
steady_root <- function(covariance, tol) {
  if (max(diag(covariance)) <= tol) return(matrix(0, 0L, ncol(covariance)))
  for (more in c(0.01, 1, 100)) {
    root <- tryCatch(chol(covariance + diag(more * tol, ncol(covariance))), error = identity)
    if (is.matrix(root)) return(root)
  }
  root_of(covariance, tol)
}

# Of the two: with one block equal rows are to be exactly equal.
root_for <- function(blocks) if (blocks == 1L) root_of else steady_root

# For each machine draws x m of the whitened process at the inducing points.
whitened_draws <- function(object, take = NULL) {
  posterior <- object$posterior
  m <- ncol(posterior$z)
  if (object$method == "gibbs") {
    flat <- stack_chains(object$draws)
    at <- taken_draws(object, take)
    if (!is.null(at)) flat <- flat[at, , drop = FALSE]
    return(lapply(seq_len(ncol(flat) / m), function(k) {
      own <- flat[, (k - 1L) * m + seq_len(m), drop = FALSE]
      t(forwardsolve(posterior$factor, t(own)))
    }))
  }
  n <- if (is.null(take)) 1000L else take
  lapply(posterior$machines, function(machine) {
    normal_matrix(n, m) %*% machine$whitener + rep(machine$mean, each = n)
  })
}

# Rows of x as the core reads them; kernel values as they are.
process_rows_data <- function(object, x) {
  if (object$design$type != "kernel") x <- x[, object$used, drop = FALSE]
  storage.mode(x) <- "double"
  list(
    type = "matrix", x = unname(x), labels = numeric(), weights = numeric(),
    source = seq_len(ncol(x)), center = unname(object$transform$center),
    scale = unname(object$transform$scale)
  )
}

#' @exportS3Method
draws_from_posterior.gpsvm <- function(object, n = 1000, seed = NULL) {
  if (object$method == "ecm") {
    bk_abort(
      "argument", "The posterior mode has no draws.", "Use method = \"vb\" or method = \"gibbs\"."
    )
  }
  with_seed(seed, {
    out <- do.call(cbind, lapply(whitened_draws(object, n), function(v) {
      v %*% t(object$posterior$factor)
    }))
    colnames(out) <- process_names(
      names(object$posterior$machines), ncol(object$posterior$z), object$exact
    )
    out
  })
}
