# Fits over completions of groups as one fit (model-missing-shared.R): moments, points of the
# mixture, imputed values, and what it says of new rows.

# One fit of many: moments over them, and each a point.
pool_shared <- function(kept, rows, shared) {
  fits <- lapply(kept, `[[`, "fit")
  fit <- fits[[length(fits)]]
  fit$posterior <- pool_posteriors(lapply(fits, `[[`, "posterior"))
  fit$fitted <- pool_fitted(lapply(fits, `[[`, "fitted"))
  each <- function(name) lapply(fits, `[[`, name)
  if (!is.null(fit$loo)) {
    # 1 / p(y | others) is E 1 / p over the posterior.
    loo <- -do.call(cbind, each("loo"))
    most <- apply(loo, 1L, max)
    fit$loo <- -(most + log(rowMeans(exp(loo - most))))
  }
  if (!is.null(fit$expected)) fit$expected <- rowMeans(do.call(cbind, each("expected")))
  # The evidence of completed rows is that of other data each time.
  fit["log_evidence"] <- list(NULL)
  fit$trace <- list()
  diagnostics <- each("diagnostics")
  fit$diagnostics$passes <- sum(unlist(lapply(diagnostics, `[[`, "passes")))
  fit$diagnostics$seconds <- sum(unlist(lapply(diagnostics, `[[`, "seconds")))
  fit$diagnostics$converged <- all(vapply(diagnostics, function(own) !isFALSE(own$converged), NA))
  if (!is.null(fit$sandwich)) fit$sandwich <- list(why = "modeled missing predictors")
  with_shared(fit, kept, rows, shared)
}

# What every fit over completions keeps, by whatever engine.
with_shared <- function(fit, kept, rows, shared) {
  fit$imputed <- pool_imputed(kept, rows, shared)
  fit$holes$model <- fit$holes$model %||% completion_model(rows)
  fit$shared <- shared_values(kept, rows, shared)
  fit$holes$shared <- c(
    rows$holes$predictors[unlist(lapply(shared, `[[`, "numbers"))],
    names(rows$holes$levels)[unlist(lapply(shared, `[[`, "factors"))]
  )
  fit
}

# Beyond that a fit keeps the moments over completions alone.
most_shared_numbers <- 2e7

pool_posteriors <- function(all) {
  out <- all[[length(all)]]
  count <- length(all)
  theta <- do.call(rbind, lapply(all, `[[`, "theta_mean"))
  away <- theta - rep(colMeans(theta), each = count)
  between <- crossprod(away) / max(1, count - 1)
  own <- Reduce(`+`, lapply(all, `[[`, "theta_cov")) / count
  out$theta_mean[] <- colMeans(theta)
  # The mean of few completions is not that of all.
  out$theta_cov[] <- own + (1 + 1 / count) * between
  sigma_within <- lapply(all, `[[`, "theta_cov")
  for (t in seq_along(out$random)) {
    out$random[[t]] <- pool_random(
      lapply(all, function(q) q$random[[t]]), away, sigma_within, out$theta_cov
    )
  }
  for (l in seq_along(out$variance)) {
    out$variance[[l]] <- pool_variance(lapply(all, function(q) q$variance[[l]]))
  }
  if (!is.null(out$noise)) out$noise <- pool_gamma(lapply(all, `[[`, "noise"))
  out["points"] <- list(NULL)
  bare <- bare_posterior(all[[1L]])
  size <- length(unlist(bare)) * count
  if (size > most_shared_numbers) return(out)
  most <- max(1, min(240 %/% count, most_shared_numbers %/% size))
  # Without points new rows of groups that miss values ask for each q.
  if (all(vapply(all, function(q) length(q$points) > 0L, NA))) {
    out$points <- unlist(Map(shared_points, all, seq_along(all), count, most), recursive = FALSE)
  } else {
    out$each <- lapply(all, bare_posterior)
  }
  out
}

# Effects of a term: q of each is u_g = mean_g - loading_g (theta - mean) and noise of covariance
# schur_g.
pool_random <- function(terms, away, sigma, pooled) {
  out <- terms[[1L]]
  count <- length(terms)
  size <- dim(out$mean)
  r <- size[2L]
  u <- do.call(rbind, lapply(terms, function(own) as.vector(own$mean)))
  out$mean[] <- colMeans(u)
  apart <- array(u - rep(colMeans(u), each = count), c(count, size))
  cov <- Reduce(`+`, lapply(terms, `[[`, "cov")) / count
  for (j in seq_len(r)) {
    for (k in seq_len(r)) {
      own <- matrix(apart[, , j] * apart[, , k], count)
      cov[j, k, ] <- cov[j, k, ] + colSums(own) / max(1, count - 1)
    }
  }
  out$cov[] <- cov
  if (!isTRUE(out$eliminated) || length(out$loading) == 0L) return(out)
  inverse <- chol2inv(chol(pooled))
  for (g in seq_len(size[1L])) {
    # Cov(u_g, theta).
    cross <- 0
    for (m in seq_len(count)) cross <- cross - matrix(terms[[m]]$loading[, , g], r) %*% sigma[[m]]
    cross <- cross / count + crossprod(matrix(apart[, g, ], count), away) / max(1, count - 1)
    out$loading[, , g] <- -cross %*% inverse
    left <- matrix(cov[, , g], r) - cross %*% inverse %*% t(cross)
    out$schur[, , g] <- nearest_positive(left)
  }
  out
}

nearest_positive <- function(a) {
  parts <- eigen((a + t(a)) / 2, symmetric = TRUE)
  parts$vectors %*% (pmax(parts$values, 1e-10) * t(parts$vectors))
}

# q of a variance with the mean and variance of its logarithm over all.
pool_variance <- function(all) {
  out <- all[[1L]]
  if (!is.null(out$shape)) return(utils::modifyList(out, pool_gamma(all)))
  if (is.null(out$df)) return(out)
  r <- nrow(out$scale)
  each <- lapply(seq_len(r), function(k) {
    pool_gamma(lapply(all, function(own) {
      list(shape = (own$df - r + 1) / 2, rate = own$scale[k, k] / 2)
    }))
  })
  cor <- Reduce(`+`, lapply(all, function(own) stats::cov2cor(own$scale))) / length(all)
  shape <- mean(vapply(each, `[[`, 1, "shape"))
  sd <- sqrt(2 * vapply(each, function(own) {
    # The same mean of the logarithm at the common shape.
    exp(log(own$rate) - digamma(own$shape) + digamma(shape))
  }, 1))
  out$df <- 2 * shape + r - 1
  out$scale[] <- cor * outer(sd, sd)
  out
}

pool_gamma <- function(all) {
  if (is.null(all[[1L]]$shape)) return(all[[1L]])
  shape <- vapply(all, `[[`, 1, "shape")
  log_rate <- log(vapply(all, `[[`, 1, "rate"))
  mean <- log_rate - digamma(shape)
  var <- mean(trigamma(shape)) + (if (length(all) > 1L) stats::var(mean) else 0)
  own <- stats::uniroot(
    function(log_a) log(trigamma(exp(log_a))) - log(var), c(-7, 25), tol = 1e-9
  )$root
  own <- exp(own)
  list(shape = own, rate = exp(mean(mean) + digamma(own)))
}

bare_posterior <- function(q) {
  out <- q[intersect(c("variance", "noise", "theta_mean", "theta_cov", "wide", "random"), names(q))]
  out$random <- lapply(out$random, function(term) {
    term[intersect(names(term), c("mean", "cov", "loading", "schur"))]
  })
  out
}

# The points of a fit that a mixture over completions keeps: of a grid some, at equal steps of its
# weights, which begin elsewhere in each completion: together they reach the tails.
shared_points <- function(q, completion, count, most) {
  start <- (completion * (sqrt(5) - 1) / 2) %% 1
  whole <- bare_posterior(q)
  weight <- vapply(q$points, `[[`, 1, "weight")
  order <- order(vapply(q$points, function(point) {
    sum(unlist(lapply(point$variance, function(v) log(diag(as.matrix(v$value %||% 1))))))
  }, 1))
  upto <- cumsum(weight[order]) / sum(weight)
  at <- (seq_len(most) - 1 + start) / most
  chosen <- order[pmin(findInterval(at, upto) + 1L, length(order))]
  lapply(chosen, function(k) {
    point <- whole
    own <- setdiff(names(q$points[[k]]), c("weight", "place"))
    point[own] <- q$points[[k]][own]
    c(list(weight = 1 / (count * most), completion = completion), point)
  })
}

# `mean` and `var`, and of others `p` and `p_sd`.
pool_fitted <- function(all) {
  out <- all[[1L]]
  join <- function(name) array(unlist(lapply(all, `[[`, name)), c(length(out[[name]]), length(all)))
  spread <- function(name) {
    x <- join(name)
    rowMeans((x - rowMeans(x))^2)
  }
  for (name in names(out)) {
    if (is.null(out[[name]])) next
    base <- sub("_sd$", "", name)
    value <- if (name == "var") {
      rowMeans(join("var")) + spread("mean")
    } else if (base != name && base %in% names(out)) {
      sqrt(rowMeans(join(name)^2) + spread(base))
    } else {
      rowMeans(join(name))
    }
    out[[name]][] <- value
  }
  out
}

pool_left_out <- function(all) {
  said <- Filter(is.character, all)
  if (length(said)) return(said[[1L]])
  out <- all[[length(all)]]
  if (is.null(out$mean) || !is.null(out$own) || !is.null(out$new)) return(out)
  pooled <- pool_fitted(lapply(all, `[`, c("mean", "var")))
  out[c("mean", "var")] <- pooled[c("mean", "var")]
  out
}

# Values of groups from the weighted means of all steps, those of rows from the fits; one a group,
# said of each of its rows.
pool_imputed <- function(kept, rows, shared) {
  holes <- rows$holes
  average <- function(s, name) {
    Reduce(`+`, lapply(kept, function(one) one$moments[[s]][[name]])) / length(kept)
  }
  parts <- list()
  add <- function(at, column, mean, sd, level = NA_character_) {
    parts[[length(parts) + 1L]] <<- data.frame(
      own = at, row = data_rows(rows, at), column = rep(column, length(at)),
      level = rep(level, length(at)), mean = mean, sd = sd
    )
  }
  for (s in seq_along(shared)) {
    one <- shared[[s]]
    group <- match(one$group, one$open)
    mean <- average(s, "mean")
    square <- average(s, "square")
    for (j in seq_along(one$numbers)) {
      k <- one$numbers[j]
      at <- which(is.na(holes$x[, k]))
      # Rows whose group has the value in another row know it.
      known <- one$x[one$group[at], j]
      m <- ifelse(is.na(known), mean[group[at], j], known)
      v <- ifelse(is.na(known), square[group[at], j] - m^2, 0)
      add(
        at, holes$predictors[k], holes$center[k] + holes$scale_x[k] * m,
        holes$scale_x[k] * sqrt(pmax(v, 0))
      )
    }
    prob <- average(s, "prob")
    for (f in seq_along(one$factors)) {
      k <- one$factors[f]
      at <- which(is.na(holes$codes[, k]))
      known <- one$codes[one$group[at], f]
      for (level in seq_along(holes$levels[[k]])) {
        p <- rowSums(prob[, one$cells[, f] == level, drop = FALSE])[group[at]]
        p <- ifelse(is.na(known), p, as.double(known == level))
        add(at, names(holes$levels)[k], p, sqrt(p * (1 - p)), holes$levels[[k]][level])
      }
    }
  }
  last <- kept[[length(kept)]]$fit$imputed
  if (!is.null(last)) {
    all <- lapply(kept, function(one) one$fit$imputed[c("mean", "sd")])
    mean <- do.call(cbind, lapply(all, `[[`, "mean"))
    sd <- do.call(cbind, lapply(all, `[[`, "sd"))
    parts[[length(parts) + 1L]] <- data.frame(
      own = match(last$row, data_rows(rows, seq_along(rows$offset))), row = last$row,
      column = last$column, level = last$level %||% rep(NA_character_, nrow(last)),
      mean = rowMeans(mean), sd = sqrt(rowMeans(sd^2) + rowMeans((mean - rowMeans(mean))^2))
    )
  }
  out <- do.call(rbind, parts)
  names <- c(holes$predictors, names(holes$levels))
  out <- out[order(out$own, match(out$column, names)), ]
  rownames(out) <- NULL
  out[c("row", "column", if (length(holes$levels)) "level", "mean", "sd")]
}

# New rows of known groups ---------------------------------------------------

# What the fit keeps of completions: of each factor its first term, the codes of its groups, and
# their values, groups x predictors x completions.
shared_values <- function(kept, rows, shared) {
  states <- lapply(kept, `[[`, "state")
  stack <- function(name, one, columns) {
    array(unlist(lapply(states, function(state) {
      state[[name]][one$first, columns]
    })), c(length(one$first), length(columns), length(states)))
  }
  lapply(shared, function(one) {
    list(
      term = one$own[1L], groups = rows$random[[one$own[1L]]]$group[one$first],
      numbers = one$numbers, factors = one$factors, x = stack("x", one, one$numbers),
      codes = if (length(one$factors)) stack("codes", one, one$factors)
    )
  })
}

# New rows that miss a value of a group which the fit has seen.
misses_shared <- function(object, rows) {
  out <- logical(length(rows$offset))
  for (one in object$shared) {
    known <- rows$random[[one$term]]$group %in% one$groups
    gone <- rowSums(is.na(rows$holes$x[, one$numbers, drop = FALSE])) > 0
    if (length(one$factors)) {
      gone <- gone | rowSums(is.na(rows$holes$codes[, one$factors, drop = FALSE])) > 0
    }
    out <- out | known & gone
  }
  out
}

# These rows with the values of completion `m`.
complete_by <- function(object, rows, m) {
  x <- rows$holes$x
  codes <- rows$holes$codes
  put <- function(into, columns, values, group) {
    for (j in seq_along(columns)) {
      gone <- is.na(into[, columns[j]]) & !is.na(group)
      into[gone, columns[j]] <- values[, j, m][group[gone]]
    }
    into
  }
  for (one in object$shared) {
    group <- match(rows$random[[one$term]]$group, one$groups)
    x <- put(x, one$numbers, one$x, group)
    if (length(one$factors)) codes <- put(codes, one$factors, one$codes, group)
  }
  fill_shared(rows, x, codes, object$design$holes$parts)
}

# The fit given a completion: its points, its draws, or its q.
given_completion <- function(object, m) {
  if (!is.null(object$draws)) {
    at <- object$segments[m, ]
    object$draws <- object$draws[at[2L]:at[3L], at[1L], , drop = FALSE]
  } else if (has_points(object)) {
    points <- Filter(function(point) identical(point$completion, m), object$posterior$points)
    object$posterior$points <- lapply(points, function(point) {
      point$weight <- 1 / length(points)
      point
    })
  } else if (!is.null(object$posterior$each)) {
    own <- object$posterior$each[[m]]
    for (t in seq_along(own$random)) {
      object$posterior$random[[t]][names(own$random[[t]])] <- own$random[[t]]
    }
    own$random <- NULL
    object$posterior[names(own)] <- own
  }
  object
}

# Which completions a fit, or one of its points, is of.
completions_of <- function(object) {
  object$posterior$completion %||% seq_len(dim(object$shared[[1L]]$x)[3L])
}

has_shared <- function(object, rows) {
  !is.null(object$shared) && !is.null(rows$holes) && any(misses_shared(object, rows))
}

latent_shared <- function(object, rows, links, threads) {
  at <- which(misses_shared(object, rows))
  some <- take_rows(rows, at)
  each <- lapply(completions_of(object), function(m) {
    out <- latent(given_completion(object, m), complete_by(object, some, m), links, threads)
    own_moments(with_prob_sd(out))
  })
  own <- pool_fitted(each)
  if (length(at) == length(rows$offset)) return(as_moments(own, links))
  rest <- setdiff(seq_along(rows$offset), at)
  others <- own_moments(latent(object, take_rows(rows, rest), links, threads))
  names <- intersect(names(own), names(others))
  as_moments(lapply(stats::setNames(nm = names), function(name) {
    out <- numeric(length(rows$offset))
    out[at] <- own[[name]]
    out[rest] <- others[[name]]
    out
  }), links)
}

as_moments <- function(own, links) {
  out <- own[c("mean", "var")]
  links <- intersect(links, names(own))
  if (length(links)) {
    pick <- function(names) stats::setNames(own[names], links)
    out$prob <- pick(links)
    if (all(paste0(links, "_sd") %in% names(own))) out$prob_sd <- pick(paste0(links, "_sd"))
  }
  out
}

latent_draws_shared <- function(object, rows, take, response, threads) {
  all <- completions_of(object)
  if (is.null(take) && is.null(object$draws)) take <- 1000L
  count <- rep(list(NULL), length(all))
  if (!is.null(take)) {
    if (take < length(all)) all <- all[round(seq(1, length(all), length.out = take))]
    count <- as.list(diff(round(seq(0, take, length.out = length(all) + 1L))))
  }
  each <- Map(function(m, n) {
    latent_draws(given_completion(object, m), complete_by(object, rows, m), n, response, threads)
  }, all, count)
  out <- each[[1L]]
  out$f <- do.call(rbind, lapply(each, `[[`, "f"))
  out$sigma <- unlist(lapply(each, `[[`, "sigma"))
  out
}
