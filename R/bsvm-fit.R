# From a design and the user's settings to a fit: plain matrices for the core,
# its answer with names and scales put back.

bsvm_fit <- function(design, penalty, prior, settings, start, model, call) {
  started <- proc.time()[["elapsed"]]
  check_prior(prior, call = call)
  penalty <- resolve_penalty(penalty, design, call)
  blocks <- bsvm_blocks(design, penalty, prior, call)
  data <- bsvm_data(design, blocks)
  fit <- list(
    call = call, formula = design$formula, terms = design$terms,
    xlevels = design$xlevels, contrasts = design$contrasts,
    levels = design$levels, response = design$response,
    method = settings$method, penalty = penalty, prior = prior,
    transform = list(
      center = stats::setNames(design$center, colnames(design$x)),
      scale = stats::setNames(design$scale, colnames(design$x)),
      random = lapply(design$random, random_transform)
    ),
    seed = settings$seed, n = length(design$y), dropped = design$dropped,
    design = design$info, y = design$y, weights = design$weights,
    offset = design$offset, na.action = design$na.action,
    version = utils::packageVersion("bayeskernel")
  )
  if (isTRUE(model)) fit$frame <- design$frame
  fit <- if (settings$method == "vb") {
    bsvm_fit_vb(fit, design, data, blocks, settings, call)
  } else {
    bsvm_fit_gibbs(fit, design, data, blocks, settings, start, call)
  }
  fit$elapsed <- c(
    core = fit$diagnostics$seconds,
    total = proc.time()[["elapsed"]] - started
  )
  structure(fit, class = c("bsvm", "bayeskernel_fit"))
}

resolve_penalty <- function(penalty, design, call) {
  if (is.null(penalty)) {
    return(if (length(design$random) > 0) "none" else "learn")
  }
  if (is.character(penalty)) {
    return(check_choice(penalty, c("learn", "none"), "penalty", call = call))
  }
  check_number(penalty, 0, name = "penalty", closed = c(FALSE, TRUE),
    call = call
  )
}

# Prior blocks in the order of the core: the penalty, then the random terms.
# The term with most effects is eliminated; the others are columns of theta.
bsvm_blocks <- function(design, penalty, prior, call) {
  p <- ncol(design$x)
  intercept <- has_intercept(design)
  penalised <- if (identical(penalty, "none")) integer() else seq_len(p)
  if (intercept) penalised <- setdiff(penalised, 1L)
  fixed <- setdiff(seq_len(p), penalised)
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
      "progress", "keep_ranef"
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

bsvm_fit_vb <- function(fit, design, data, blocks, settings, call) {
  settings$seed <- 0
  core <- core_call(
    bsvm_vb_cpp(data, core_prior(blocks), core_settings(settings, design)),
    call
  )
  status <- core$status
  if (status$interrupted) abort_interrupted()
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
  fit$posterior <- posterior
  fit$fitted <- list(mean = core$mean, var = core$variance_f)
  fit$trace <- list(elbo = status$bound)
  fit$diagnostics <- status[c(
    "passes", "rejected", "converged", "largest_fall", "jitter", "seconds"
  )]
  fit
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
