# From a design and the user's settings to a fit: plain matrices for the core,
# its answer with names and scales put back.

bsvm_fit <- function(design, penalty, prior, settings, start, model, call) {
  started <- proc.time()[["elapsed"]]
  check_prior(prior, call = call)
  selected <- selected_columns(design, settings, call)
  penalty <- resolve_penalty(penalty, design, selected, call)
  blocks <- bsvm_blocks(design, penalty, prior, selected, call)
  data <- bsvm_data(design, blocks)
  data["selection"] <- list(core_selection(selected, prior, settings))
  data["holes"] <- list(core_holes(design, blocks, prior, call))
  settings$prior <- prior
  fit <- new_fit(
    bsvm_model, call, design, settings,
    penalty = penalty, offset = design$offset, smooths = design$smooths,
    transform = list(
      center = stats::setNames(design$center, colnames(design$x)),
      scale = stats::setNames(design$scale, colnames(design$x)),
      random = lapply(design$random, random_transform)
    ),
    n_omitted = design$n_omitted,
    holes = design$holes[c("predictors", "center", "scale_x")]
  )
  if (isTRUE(model)) fit$frame <- design$frame
  fit <- switch(settings$method,
    vb = bsvm_fit_vb(fit, design, data, blocks, settings, call),
    svi = {
      check_svi_model(data, call)
      bsvm_fit_svi(fit, design, data, blocks, settings, call)
    },
    gibbs = bsvm_fit_gibbs(fit, design, data, blocks, settings, start, call)
  )
  fit$elapsed <- c(
    core = fit$diagnostics$seconds,
    total = proc.time()[["elapsed"]] - started
  )
  fit
}

# Stochastic steps know sums over rows only.
check_svi_model <- function(data, call) {
  lacking <- c(
    if (!is.null(data$selection)) "selection",
    if (!is.null(data$holes)) "modelled missing predictors"
  )
  if (length(lacking) > 0) {
    bk_abort(
      "argument", "Method \"svi\" does not fit this model.",
      c(
        paste("Found:", paste(lacking, collapse = " and ")),
        "Accepted: fixed, penalised, smooth and random terms.",
        "Use method = \"vb\" or method = \"gibbs\"."
      ),
      column = "method", found = lacking, call = call
    )
  }
}

resolve_penalty <- function(penalty, design, selected, call) {
  if (is.null(penalty)) {
    plain <- length(design$random) + length(design$smooths) +
      length(selected) == 0
    return(if (plain) "learn" else "none")
  }
  if (length(selected) > 0 && !identical(penalty, "none")) {
    bk_abort(
      "argument", "`penalty` and `select` exclude each other.",
      c(
        "Columns under selection have a prior of their own.",
        "Accepted with `select`: penalty = \"none\", for the other columns."
      ),
      column = "penalty", found = penalty, call = call
    )
  }
  if (is.character(penalty)) {
    return(check_choice(penalty, c("learn", "none"), "penalty", call = call))
  }
  check_number(penalty, 0, name = "penalty", closed = c(FALSE, TRUE),
    call = call
  )
}

# Prior blocks in the order of the core: the penalty, the smooths, then the
# random terms. The term with most effects is eliminated; the others are
# columns of theta. Selected columns are in no block.
bsvm_blocks <- function(design, penalty, prior, selected, call) {
  p <- ncol(design$x)
  intercept <- has_intercept(design)
  wiggly <- unlist(lapply(design$smooths, `[[`, "blocks"))
  unpenalised <- unlist(lapply(design$smooths, `[[`, "fixed"))
  penalised <- if (identical(penalty, "none")) integer() else seq_len(p)
  penalised <- setdiff(penalised, c(if (intercept) 1L, wiggly, unpenalised))
  fixed <- setdiff(seq_len(p), c(penalised, wiggly, selected))
  resolved <- resolve_prior(
    prior, length(fixed), colnames(design$x)[fixed],
    call = call
  )
  precision <- mean <- numeric(p)
  precision[fixed] <- 1 / resolved$beta_var
  mean[fixed] <- resolved$beta_mean
  blocks <- list()
  if (length(penalised) > 0) {
    blocks$penalty <- list(
      label = "penalty", columns = colnames(design$x)[penalised],
      eliminated = FALSE, first = min(penalised) - 1L,
      members = length(penalised), width = 1L, random = 0L,
      transform = matrix(0, 0, 0)
    )
    blocks$penalty <- c(blocks$penalty, if (is.character(penalty)) {
      list(kind = "iid", shape = prior$var_shape, rate = prior$var_rate)
    } else {
      list(kind = "held", precision = penalty)
    })
  }
  for (smooth in design$smooths) {
    for (k in seq_along(smooth$blocks)) {
      at <- smooth$blocks[[k]]
      blocks[[length(blocks) + 1L]] <- list(
        label = smooth$block_labels[k], columns = colnames(design$x)[at],
        eliminated = FALSE, first = min(at) - 1L, members = length(at),
        width = 1L, random = 0L, transform = matrix(0, 0, 0), kind = "iid",
        shape = prior$var_shape, rate = prior$var_rate
      )
    }
  }
  size <- vapply(design$random, function(t) {
    length(t$levels) * length(t$columns)
  }, numeric(1))
  largest <- which.max(size)
  first <- p
  for (t in seq_along(design$random)) {
    term <- design$random[[t]]
    r <- length(term$columns)
    block <- list(
      label = term$label, columns = term$columns, eliminated = t == largest,
      first = first, members = length(term$levels), width = r, random = t,
      transform = random_transform(term), kind = term$type
    )
    block <- c(block, if (term$type == "iid") {
      list(shape = prior$var_shape, rate = prior$var_rate)
    } else {
      covariance_prior(prior, r, term$label, call = call)
    })
    if (!block$eliminated) {
      first <- first + block$members * r
      precision <- c(precision, numeric(block$members * r))
      mean <- c(mean, numeric(block$members * r))
    }
    blocks[[length(blocks) + 1L]] <- block
  }
  list(precision = precision, mean = mean, blocks = unname(blocks))
}

has_intercept <- function(design) {
  ncol(design$x) > 0 && colnames(design$x)[1] == "(Intercept)"
}

# The matrix T with u(data scale) = T u(model scale), for z* = (z - c) / s.
random_transform <- function(term) {
  out <- diag(1 / term$scale, length(term$scale))
  at <- match("(Intercept)", term$columns)
  if (!is.na(at)) {
    out[at, ] <- out[at, ] - term$center / term$scale
  }
  out
}

bsvm_data <- function(design, blocks) {
  scaled <- function(term) {
    sweep(sweep(term$z, 2, term$center), 2, term$scale, "/")
  }
  out <- list(
    x = design$x, center = as.double(design$center),
    scale = as.double(design$scale), y = as.double(design$y),
    weights = as.double(design$weights), offset = as.double(design$offset),
    z = matrix(0, length(design$y), 0), group = integer(), n_groups = 0L,
    kept = list()
  )
  storage.mode(out$x) <- "double"
  for (block in blocks$blocks) {
    if (block$random == 0L) next
    term <- design$random[[block$random]]
    if (block$eliminated) {
      out$z <- scaled(term)
      out$group <- as.integer(term$group)
      out$n_groups <- block$members
    } else {
      out$kept[[length(out$kept) + 1L]] <- list(
        group = as.integer(term$group), members = block$members,
        z = scaled(term)
      )
    }
  }
  out
}

core_settings <- function(settings, design) {
  c(
    settings[c(
      "tol", "max_iter", "accelerate", "warmup", "draws", "thin", "threads",
      "progress", "keep_ranef", "keep_imputed"
    )],
    list(
      seed = as.double(settings$seed), intercept = has_intercept(design),
      chain_id = seq_len(settings$chains), states = list()
    )
  )
}

core_prior <- function(blocks) {
  c(blocks, list(transforms = lapply(blocks$blocks, `[[`, "transform")))
}

bsvm_fit_vb <- function(fit, design, data, blocks, settings, call,
                        core = run_vb(data, blocks, settings, design, call)) {
  status <- core$status
  warn_vb_status(status, core, design$y, call)
  posterior <- list(
    theta_mean = core$theta_mean, theta_cov = core$theta_cov,
    random = list(), variance = list()
  )
  if (length(core$basis) == 0) {
    names <- theta_names(design, blocks)
    names(posterior$theta_mean) <- names
    dimnames(posterior$theta_cov) <- list(names, names)
  } else {
    posterior$wide <- list(
      first = core$basis_first, basis = core$basis,
      hidden_var = 1 / core$precision[[1]][1, 1]
    )
  }
  for (l in seq_along(blocks$blocks)) {
    block <- blocks$blocks[[l]]
    posterior$variance[[l]] <- c(
      list(label = block$label, columns = block$columns, type = block$kind),
      if (block$kind == "held") {
        list(precision = block$precision)
      } else {
        core$variance[[l]]
      }
    )
    if (block$random > 0L) {
      posterior$random[[block$random]] <- random_posterior(
        block, design$random[[block$random]], core
      )
    }
  }
  posterior <- add_selection(posterior, core, data, fit$prior)
  posterior$holes <- core$holes
  fit$posterior <- posterior
  fit$imputed <- imputed_vb(core$holes, design)
  fit$fitted <- list(mean = core$mean, var = core$variance_f)
  fit$trace <- list(elbo = status$bound)
  fit$diagnostics <- status[c(
    "passes", "rejected", "converged", "largest_fall", "jitter", "seconds"
  )]
  fit
}

# With selection the bound has several maxima: of the fits from several starts
# the one with the highest bound counts.
run_vb <- function(data, blocks, settings, design, call) {
  settings$seed <- 0
  control <- core_settings(settings, design)
  prior <- core_prior(blocks)
  if (is.null(data$selection) && is.null(data$holes)) {
    core <- core_call(bsvm_vb_cpp(data, prior, control), call)
    if (core$status$interrupted) abort_interrupted()
    return(core)
  }
  starts <- if (is.null(data$selection)) 1 else settings$starts
  best <- NULL
  for (start in starts) {
    if (!is.null(data$selection)) data$selection$start <- start
    core <- core_call(bsvm_structured_vb_cpp(data, prior, control), call)
    if (core$status$interrupted) abort_interrupted()
    core$status$start <- start
    bound <- core$status$bound[length(core$status$bound)]
    if (is.null(best) || bound > best$status$bound[length(best$status$bound)]) {
      best <- core
    }
  }
  best
}

# Columns of theta: those of x, then the effects of terms that are kept.
theta_names <- function(design, blocks) {
  kept <- lapply(blocks$blocks, function(block) {
    if (block$random > 0L && !block$eliminated) {
      ranef_names(
        block$label, block$columns, design$random[[block$random]]$levels
      )
    }
  })
  c(colnames(design$x), unlist(kept))
}

random_posterior <- function(block, term, core) {
  m <- block$members
  r <- block$width
  out <- list(
    label = block$label, columns = block$columns, levels = term$levels,
    eliminated = block$eliminated
  )
  if (block$eliminated) {
    out$mean <- t(core$group_mean)
    out$cov <- array(core$group_cov, c(r, r, m))
    p <- nrow(core$loading)
    out$loading <- aperm(array(core$loading, c(p, r, m)), c(2, 1, 3))
    out$schur <- array(core$schur, c(r, r, m))
  } else {
    at <- block$first + seq_len(m * r)
    out$index <- at
    out$mean <- matrix(core$theta_mean[at], m, r, byrow = TRUE)
    out$cov <- array(0, c(r, r, m))
    for (g in seq_len(m)) {
      own <- at[(g - 1) * r + seq_len(r)]
      out$cov[, , g] <- core$theta_cov[own, own]
    }
  }
  out
}

warn_vb_status <- function(status, core, y, call) {
  if (!status$converged) {
    bk_warn("max_iter", sprintf(
      "The bound still rose after %d passes over the data.", status$passes
    ), c(
      "The fit is a valid but not the best approximation.",
      "Raise `max_iter`, or `tol` if less accuracy is enough."
    ), call = call)
  }
  final <- abs(status$bound[length(status$bound)])
  if (status$largest_fall > 1e-8 * (1 + final)) {
    bk_warn("convergence", "The bound fell, which it must not.",
      sprintf("Largest fall: %.3g. Please report this.", status$largest_fall),
      call = call
    )
  }
  if (status$jitter > 0) {
    bk_warn("jitter", "A precision matrix was nearly singular.",
      sprintf("%.2g was added to its diagonal.", status$jitter),
      call = call
    )
  }
  if (length(core$theta_mean) > 0 && max(abs(core$theta_mean)) > 1e3 &&
    all(y * core$mean > 1)) {
    bk_warn("separation", "The classes are separated by the predictors.",
      c(
        "The prior alone limits the coefficients, which are very large.",
        "Use `penalty = \"learn\"`, or `prior = bsvm_prior(beta_var = 100)`."
      ),
      call = call
    )
  }
}

# As if Ctrl-C had reached R itself: handlers of `interrupt` run, then back to
# the prompt.
abort_interrupted <- function() {
  condition <- structure(
    list(message = "", call = NULL),
    class = c("interrupt", "condition")
  )
  signalCondition(condition)
  invokeRestart("abort")
}
