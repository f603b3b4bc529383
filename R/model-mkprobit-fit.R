# From rows and settings to a fit of mkprobit(): sources and settings for the core, and what the fit
# keeps of its answer.

mkprobit_job <- function(rows, settings) {
  counts <- class_counts(rows, "mkprobit")
  warn_rare_classes(rows)
  settings <- settle_inducing(rows, settings)
  found <- open_spaces(rows, settings)
  settings <- settle_composite(found$spaces, settings)
  settings$groups <- group_factors(rows, settings)
  found$points <- c(found$points, group_points(settings$groups, rows$random, rows$n))
  classes <- length(rows$levels)
  # An object for each time that a row counts; it is one regressor.
  at <- counted_rows(rows, counts)
  points <- if (is.null(counts)) {
    found$points
  } else {
    lapply(found$points, function(x) x[, at, drop = FALSE])
  }
  y <- as.integer(rows$y)[at]
  weights <- mkprobit_class_weights(rows, settings)
  settings$power <- unname(weights)[y]
  read <- if (settings$coefficients == "process") {
    process_regressors(found$spaces, points, y, at, classes, settings)
  } else {
    kernel_regressors(found, points, is.null(counts), settings)
  }
  reference <- spread_rows(rows, found$points, classes)
  if (!is.null(settings$groups)) {
    codes <- found$points[[length(found$points)]]
    read$process$groups$codes <- codes[, found$take %||% seq_len(rows$n), drop = FALSE]
  }
  data <- list(y = y, classes = classes, sources = read$sources)
  data[c("combine", "bias")] <- read$engine[c("combine", "bias")]
  sampled <- settings$method == "gibbs"
  control <- c(read$engine[c(
    "latent_scales", "alpha0", "tau", "nu", "weights", "tune", "prior_weights",
    "held_hyper", "prior_theta"
  )], list(
    nodes = settings$nodes %||% 0L, seed = as.double(settings$seed),
    threads = settings$threads, progress = settings$progress, power = settings$power
  ))
  control <- c(control, if (sampled) {
    list(
      infer_weights = read$engine$learn, collapsed = settings$collapsed,
      warmup = as.double(settings$warmup), draws = as.double(settings$draws),
      thin = as.double(settings$thin), chain_id = seq_len(settings$chains) - 1L, states = list(),
      reference = match(reference, at)
    )
  } else {
    c(read$engine[c("sparse", "weights_method", "is_target", "learn", "states", "own")], list(
      left_out = classes * length(y) * as.double(read$regressors)^2 < most_left_out,
      sharpness = read$process$sharpness %||% 1,
      zeta_moment = settings$zeta_moment, tol = settings$tol,
      tolw = settings$tolw, max_iter = settings$max_iter,
      accelerate = settings$accelerate, allow_empty = settings$allow_empty
    ))
  })
  list(
    settings = settings, control = control, shared = list(data = data), spaces = read$spaces,
    points = found$points, own = found$own, at = at, process = read$process, noise = read$noise,
    tuned = read$tuned, class_weights = weights, reference = reference,
    regressors = read$regressors,
    stored = classes * read$regressors + 2 * length(read$spaces) + classes * length(reference)
  )
}

# Multiplications that rows left out may take.
most_left_out <- 2e10

# The paper's: the kernels of all objects, whose weights, scales and length-scales the core learns.
# `plain`: every row is one object.
kernel_regressors <- function(found, points, plain, settings) {
  spaces <- found$spaces
  sources <- unname(Map(space_source, spaces, points))
  # Where every row is a regressor the core need not have it twice.
  sources <- lapply(sources, function(source) {
    if (found$own && plain) source["z"] <- list(NULL)
    source
  })
  regressors <- regressors_of(spaces, sources) + settings$bias
  check_regressors(regressors)
  kinds <- vapply(spaces, function(space) space$kernel$kind, "")
  by <- settings$weights_method
  list(
    spaces = spaces, sources = sources, regressors = regressors,
    engine = list(
      combine = settings$combine, bias = settings$bias, latent_scales = settings$latent_scales,
      sparse = settings$sparse, alpha0 = settings$prior$alpha0, tau = settings$gamma[1],
      nu = settings$gamma[2], weights = settings$start_weights, tune = settings$tune,
      learn = settings$learn, prior_weights = settings$prior_weights,
      held_hyper = settings$held_hyper, prior_theta = settings$prior$theta,
      weights_method = if (settings$learn || (by == "is" && settings$tune)) by else "fixed",
      is_target = settings$is_target,
      states = settings$learn && settings$combine == "binary" && by != "is",
      own = is.null(settings$inducing) && !any(kinds == "basis")
    )
  )
}

# Weights by class of the likelihood of its rows (NULL: none).
mkprobit_class_weights <- function(rows, settings) {
  codes <- as.integer(rows$y)
  wish <- settings$class_weights %||% "none"
  class_weights_of(wish, rows$levels, codes, rows$weights, length(rows$levels))
}

warn_rare_classes <- function(rows) {
  counts <- as.vector(tapply(rows$weights %||% rep(1, rows$n), as.integer(rows$y), sum))
  rare <- counts < 2L
  if (any(rare)) {
    bk_warn("response", "There are classes with one row.",
    sprintf(
      "Found: %s.", paste(quoted(rows$levels[rare]), counts[rare], sep = ": ", collapse = ", ")
    ),
    "They stay in the model, with little but their prior to go by.")
  }
}

# Spaces with their kernels complete, their rows as points, and regressors.
open_spaces <- function(rows, settings) {
  x <- rows$data$x
  spaces <- rows$spaces %||% list(x = formula_space(rows, settings$kernel))
  points <- lapply(spaces, space_points, x)
  if (is.null(rows$spaces)) spaces[[1]]$at <- rows$used
  spaces <- Map(function(space, points) {
    d <- nrow(points)
    space$open <- vapply(kernel_leaves(space$kernel), function(leaf) {
      has_lengthscale(leaf) && is.null(leaf$lengthscale)
    }, NA)
    space$plain <- all(vapply(kernel_leaves(space$kernel), leaf_variance, 1) == 1)
    space$kernel <- resolve_lengthscale(
      space$kernel, function(columns) sqrt((if (is.null(columns)) d else length(columns)) / 2), d,
      space$columns
    )
    space$size <- 1
    at <- counted_rows(rows, rows$weights)
    if (settings$normalize && is_precomputed(space$kernel)) {
      space$size <- mean(diag(points)[at])
    } else if (settings$normalize && space$kind == "kernel") {
      space$kernel <- scale_kernel(
        space$kernel, 1 / mean(kernel_diagonal(space$kernel, points[, at, drop = FALSE]))
      )
    }
    space
  }, spaces, points)
  n <- rows$n
  kinds <- vapply(spaces, `[[`, "", "kind")
  m <- settings$inducing
  if (!is.null(m) && m > n) {
    bk_abort(
      "dimension", "There are more inducing objects than rows.",
      sprintf("Found: %d, and %d rows.", m, n), column = "inducing", found = m, expected = n
    )
  }
  take <- if (!is.null(m)) chosen_objects(spaces, points, m, rows$weights, settings)
  kept <- settings$coefficients == "process" && !process_is_basis(spaces, settings)
  spaces <- Map(function(space, points) {
    if (space$kind != "matrix" || (kept && space$kernel$kind == "basis")) {
      space$z <- if (is.null(take)) points else points[, take, drop = FALSE]
    } else if (is_precomputed(space$kernel)) {
      space["take"] <- list(take)
    }
    space
  }, spaces, points)
  list(spaces = spaces, points = points, take = take, own = is.null(take) && all(kinds != "matrix"))
}

# The one space of a formula or of a matrix.
formula_space <- function(rows, kernel) {
  if (!is.null(kernel) && !is_kernel(kernel)) {
    kernel <- kernels_of_spaces(kernel, list(x = NULL))[[1]]
  }
  kernel <- kernel %||% rbf()
  if (is_precomputed(kernel)) {
    bk_abort(
      "kernel", "precomputed() is for a kernel matrix, not for predictors.",
      "Accepted: mkprobit(k, y, kernel = precomputed()).", column = "kernel"
    )
  }
  space <- c(
    list(name = "x", kernel = place_kernel(kernel, rows)), columns_of_space(kernel, rows),
    list(at = rows$data$source)
  )
  if (kernel$kind == "categorical") space$kind <- "category"
  if (reads_raw(kernel)) space$transform <- list(center = 0, scale = 1)
  space
}

# Objects nearest to the centres of clusters in all spaces, of at most some thousand evenly spaced
# rows; kernel matrices alone have no such places.
chosen_objects <- function(spaces, points, m, copies, settings) {
  most <- max(10000L, 2L * m)
  at <- if (is.null(copies)) spread_over(ncol(points[[1]]), most) else repeated_rows(copies, most)
  numbers <- vapply(spaces, function(space) {
    !is_precomputed(space$kernel) && space$kind != "category"
  }, NA)
  picked <- if (any(numbers)) {
    joint <- do.call(rbind, lapply(points[numbers], function(x) {
      x[, at, drop = FALSE] / sqrt(nrow(x))
    }))
    joint <- tame_rows(unname(joint))
    centres <- core_call(gpsvm_inducing_cpp(
      joint, as.integer(m), "kmeans", as.double(settings$seed), settings$threads
    ))$z
    nearest_columns(joint, centres)
  }
  picked <- unique(at[picked])
  rest <- setdiff(at, picked)
  more <- with_seed(settings$seed, {
    rest[sample.int(length(rest), m - length(picked))]
  })
  sort(c(picked, more))
}

nearest_columns <- function(x, centres) {
  size <- colSums(x^2)
  apply(centres, 2, function(z) which.min(size - 2 * colSums(x * z)))
}

# Rows at which latent functions are reported: the same whatever the order of the rows.
spread_rows <- function(rows, points, classes) {
  by <- lapply(points, function(x) as.data.frame(t(x[seq_len(min(5L, nrow(x))), , drop = FALSE])))
  by <- unname(do.call(c, by))
  sorted <- do.call(order, c(list(rows$y), by))
  most <- if (classes == 2L) 8L else max(2L, 12L %/% classes)
  sorted[spread_over(length(sorted), most)]
}

regressors_of <- function(spaces, sources) {
  count <- vapply(seq_along(spaces), function(s) {
    source <- sources[[s]]
    as.double(if (source$kind == "matrix") nrow(source$k) else ncol(source$z %||% source$x))
  }, 1)
  if (length(unique(count)) > 1L) {
    names(count) <- names(spaces)
    bk_abort(
      "kernel", "The spaces have different numbers of regressors.",
      sprintf("Found: %s.", paste(names(count), count, sep = ": ", collapse = ", ")),
      "Accepted: kernels alone, or features of one length.",
      "Features of several lengths: bind their columns into one space.",
      column = "kernel", found = count
    )
  }
  count[[1]]
}

# What depends on the number of spaces and on their kernels.
settle_composite <- function(spaces, settings) {
  count <- length(spaces)
  given <- settings$kernel_weights
  combine <- settings$combine
  if (settings$learn && count == 1L) {
    bk_abort(
      "argument", "The weight of a single kernel cannot be learned.",
      "Accepted: kernel_weights = \"fixed\", or more than one space.",
      column = "kernel_weights", found = given
    )
  }
  if (settings$learn && combine == "binary" && settings$weights_method == "is" && count > 10L) {
    bk_abort(
      "argument", "There are too many subsets to weigh them all.",
      sprintf("Found: %d kernels. Accepted: at most 10, or weights_method = \"loo\".", count),
      column = "weights_method", found = "is", expected = "loo"
    )
  }
  # A product of many kernels is nothing but a diagonal, from which no search finds its way.
  shared <- combine == "sum" ||
    (combine == "product" && settings$learn && settings$coefficients == "process")
  start <- rep(if (shared) 1 / count else 1, count)
  if (is.numeric(given)) {
    fits <- length(given) == count &&
      (is.null(names(given)) || setequal(names(given), names(spaces)))
    if (!fits || (combine == "binary" && !all(given %in% 0:1))) {
      abort_argument(
        given, "kernel_weights", sprintf(
          "\"fixed\", \"learn\", or %d %s, for %s", count,
          if (combine == "binary") "numbers 0 or 1" else "numbers", list_some(names(spaces))
        )
      )
    }
    if (!is.null(names(given))) given <- given[names(spaces)]
    start <- as.double(given)
  }
  if (combine == "product") {
    check_product(spaces)
    learns <- settings$learn && isTRUE(settings$tune) && !settings$force
    if (learns && any(vapply(spaces, has_scale, NA))) {
      bk_abort(
        "argument", "Weights and length-scales of a product say the same.",
        "A power of an rbf() is an rbf() of another length-scale.",
        "Learn one of them, or let the priors decide: force = TRUE.", column = "tune", found = TRUE
      )
    }
  }
  if (isTRUE(settings$tune) && settings$coefficients == "weights" &&
    !any(vapply(spaces, has_scale, NA))) {
    bk_abort(
      "argument", "There is no length-scale to tune.",
      paste("Accepted: tune = TRUE with an rbf(), matern() or periodic() among", "the kernels."),
      column = "tune", found = TRUE
    )
  }
  settings$start_weights <- start
  settings
}

has_scale <- function(space) any_leaf(space$kernel, has_lengthscale)

check_product <- function(spaces) {
  if (length(spaces) == 1L) return(invisible())
  for (space in spaces) {
    # They have no powers.
    if (any_leaf(space$kernel, function(leaf) kind_of(leaf)$negative(leaf))) {
      bk_abort(
        "kernel", "A product needs kernels without negative values.",
        sprintf("Found in space `%s`: %s.", space$name, format(space$kernel)),
        paste(
          "Accepted: rbf(), matern(), periodic(), categorical(),", "polynomial() of even degree."
        ),
        column = space$name, found = space$kernel$kind
      )
    }
  }
}

refuse_negative_matrices <- function(job) {
  data <- job$shared$data
  for (s in seq_along(data$sources)) {
    k <- data$sources[[s]]$k
    if (data$combine == "product" && length(data$sources) > 1L && !is.null(k) && min(k) < 0) {
      bk_abort(
        "kernel", "A product needs kernels without negative values.",
        sprintf("Found in space `%s`: %.3g.", job$spaces[[s]]$name, min(k)),
        column = job$spaces[[s]]$name, found = min(k), expected = 0
      )
    }
  }
}

mkprobit_run <- function(job) {
  refuse_negative_matrices(job)
  core <- mkprobit_vb_cpp(job$shared$data, job$control)
  if (inherits(core, "bayeskernel_core_error") &&
    grepl("not enough memory", core$message, fixed = TRUE)) {
    abort_regressors(job$regressors)
  }
  core_call(core)
}

# The Gram matrix of the regressors and its factor.
check_regressors <- function(count) {
  if (16 * count^2 > getOption("bayeskernel.max_bytes", 8e9)) abort_regressors(count)
}

abort_regressors <- function(count) {
  bk_abort(
    "argument", "The regressors would need too much memory.",
    sprintf("Found: %.0f regressors, %.1f GB a matrix.", count, 8 * count^2 / 1e9),
    "Use `inducing`, such as inducing = 500: the kernels to 500 objects.",
    column = "inducing", found = count
  )
}

mkprobit_draws_of <- function(core, job, rows) {
  names <- core$names
  spaces <- names(job$spaces)
  for (name in c("weight", "rho", "pi", "chi")) {
    at <- grep(sprintf("^%s\\[", name), names)
    names[at] <- sprintf("%s[%s]", name, spaces[seq_along(at)])
  }
  at <- grep("^log_theta\\[", names)
  names[at] <- sprintf("log_theta[%s]", lengthscale_names(job$spaces))
  at <- grep("^f\\[", names)
  # Features were divided by the roots of the noise variance.
  noise <- job$noise[match(job$reference, job$at)] %||% 1
  core$scalars[, , at] <- core$scalars[, , at, drop = FALSE] *
    rep(rep(noise, each = length(at) / length(noise)), each = prod(dim(core$scalars)[1:2]))
  pairs <- strsplit(sub("^f\\[(.*)\\]$", "\\1", names[at]), ",")
  names[at] <- vapply(pairs, function(pair) {
    sprintf(
      "f[%s,%s]", original_rows(job$at[as.integer(pair[1])], rows$rows),
      rows$levels[as.integer(pair[2])]
    )
  }, "")
  dimnames(core$scalars) <- list(NULL, NULL, names)
  core$scalars
}

# Of every length-scale, space after space.
lengthscale_names <- function(spaces) {
  unlist(lapply(spaces, function(space) {
    known <- names(kernel_parameters(space$kernel))
    known <- known[grepl("lengthscale", known)]
    own <- sub("[.]?lengthscale[.]?", ".", known)
    sub("[.]+$", "", paste0(space$name, ".", sub("^[.]", "", own)))
  }), use.names = FALSE)
}

mkprobit_collect <- function(fit, core, job, rows) {
  settings <- job$settings
  fit[c("combine", "coefficients", "sparse", "bias")] <-
    settings[c("combine", "coefficients", "sparse", "bias")]
  fit$latent_scales <- job$control$latent_scales
  fit["inducing_count"] <- list(settings$inducing)
  fit$class_weights <- job$class_weights
  if (!is.null(fit$class_weights)) fit$powers <- TRUE
  fit$y <- rows$y
  if (length(rows$levels) == 2L) fit$share <- share_of_second(rows)
  if (length(rows$levels) > 2L) fit$family <- "multinomial"
  spaces <- job$spaces
  sampled <- fit$method == "gibbs"
  process <- job$process
  core <- sharpened(core, process)
  if (!sampled && is.null(process)) spaces <- tuned_spaces(spaces, core$kernel)
  fit$posterior <- list(own = job$own, nodes = settings$nodes %||% 0L)
  fit$posterior$core <- if (sampled) {
    sampled_posterior(core, job, dim(fit$draws)[1])
  } else {
    core$posterior
  }
  fit$posterior$process <- process
  fit$process <- process_facts(process)
  fit$spaces <- spaces
  fit$kernel <- lapply(spaces, `[[`, "kernel")
  if (length(spaces) == 1L) fit$kernel <- fit$kernel[[1]]
  fit$learned <- settings$learn
  fit$tuned <- if (is.null(process)) settings$tune else job$tuned
  fit$search <- core$check
  if (sampled) {
    fit$acceptance <- core$acceptance
    if (!is.null(core$earlier)) fit$acceptance <- fit$acceptance + core$earlier$acceptance
    fit$weights_table <- sampled_weights(fit, process$weights %||% settings$start_weights)
    warn_stuck(fit)
  } else {
    fit$coefficients <- core[c("mean", "var", "alpha")]
    if (fit$sparse) {
      fit$relevant <- relevant_counts(fit)
      warn_nothing_left(fit)
    }
    warn_search(fit)
    fit$weights_table <- if (is.null(process)) {
      variational_weights(fit, core$weights)
    } else {
      weights_frame(fit, process$weights)
    }
    fit$states <- weight_states(core$weights, names(spaces))
    fit$trace <- list(elbo = core$status$bound)
    # Of an object that counts several times one is left out.
    if (!is.null(core$left_out)) {
      log_prob <- core$left_out[match(seq_len(fit$n), job$at), , drop = FALSE]
      if (!anyNA(log_prob)) {
        fit <- add_left_out(fit, lapsed_log(log_prob, process, ncol(log_prob)), own_classes(fit))
      }
    }
    fit$diagnostics <- c(
      core$status[c(
        "passes", "rejected", "converged", "largest_fall", "seconds", "interrupted", "qr", "active"
      )],
      list(steps = core$status$passes)
    )
    if (!is.null(core$weights$lower)) {
      fit$diagnostics$weights_ess <- core$weights$ess
      warn_few_points(core$weights$ess)
    }
    if (!is.null(core$scales)) {
      fit$theta_table <- theta_table(fit, core$scales)
      fit$diagnostics$theta_ess <- core$scales$ess
      warn_few_points(core$scales$ess, "length-scales")
    }
    if (identical(core$status$advice, "scale")) fit <- warn_scale(fit)
  }
  fit <- plane_of_fit(fit, rows)
  keep_reference(fit, job, rows)
}

# Kernel parameters that were learned.
tuned_spaces <- function(spaces, found) {
  Map(function(space, logs) {
    if (length(logs) && space$kind == "kernel") {
      names <- names(kernel_parameters(space$kernel))
      space$kernel <- update_kernel(space$kernel, logs)
      stopifnot(identical(names(kernel_parameters(space$kernel)), names))
    }
    space
  }, spaces, found)
}

sampled_posterior <- function(core, job, kept) {
  cut <- function(chain) lapply(chain, function(x) x[, seq_len(min(kept, ncol(x))), drop = FALSE])
  chains <- core$kernels
  if (!is.null(core$earlier)) {
    chains <- Map(function(first, second) {
      Map(cbind, first, second)
    }, core$earlier$posterior$core$chains, chains)
  }
  list(
    chains = lapply(chains, cut), classes = job$shared$data$classes,
    bias = job$shared$data$bias, regressors = job$regressors
  )
}

# One row a space: mean and sd of its weight, limits of 95 %.
sampled_weights <- function(fit, start) {
  names <- sprintf("weight[%s]", names(fit$spaces))
  if (!fit$learned || !is.null(fit$process)) return(weights_frame(fit, start))
  draws <- fit$draws[, , names, drop = FALSE]
  table <- draws_table(draws)
  median <- apply(draws, 3, stats::median)
  if (!has_mean(fit)) table[, 1:2] <- NA
  weights_frame(fit, table[, 1], table[, 2], table[, 3], table[, 4], median)
}

# The density of a product's weight b falls off as 1 / b^2 where the parameters of its gamma law
# have priors, and the likelihood as a constant: no moments.
has_mean <- function(fit) {
  !(fit$combine == "product" && fit$learned && fit$method == "gibbs" &&
    any(startsWith(dimnames(fit$draws)[[3]], "pi[")))
}

variational_weights <- function(fit, found) {
  if (!fit$learned) return(weights_frame(fit, found$mean))
  if (!is.null(found$lower)) {
    return(weights_frame(fit, found$mean, found$sd, found$lower, found$upper, found$median))
  }
  # Of subsets probabilities, of others point estimates: without limits.
  binary <- fit$combine == "binary"
  weights_frame(fit, found$mean, if (binary) found$sd else NA_real_)
}

# A posterior that rests on few points.
warn_few_points <- function(ess, what = "weights") {
  if (isTRUE(ess < 50)) {
    bk_warn(
      "convergence", sprintf("The posterior of the %s rests on few points.", what),
      sprintf("Found: %.1f that count.", ess), if (what == "weights") {
        "Use weights_method = \"profile\", or \"slice\" for a sum."
      } else {
        "Use weights_method = \"profile\"."
      }
    )
  }
}

# theta = 1 / (2 lengthscale^2), which importance sampling has a posterior of.
theta_table <- function(fit, found) {
  data.frame(
    parameter = lengthscale_names(fit$spaces), mean = found$mean, sd = found$sd,
    lower = found$lower, upper = found$upper, median = found$median
  )
}

# Regressors that are left, of each class or of all.
relevant_counts <- function(fit) {
  core <- fit$posterior$core
  alpha <- core$components[[which.max(core$probability)]]$alpha
  counts <- rowSums(is.finite(alpha))
  names(counts) <- if (nrow(alpha) > 1L) fit$levels else "common"
  counts
}

weights_frame <- function(fit, mean, sd = NA_real_, lower = NA_real_,
                          upper = NA_real_, median = NA_real_) {
  data.frame(
    space = names(fit$spaces), mean = unname(mean), sd = unname(sd),
    lower = unname(lower), upper = unname(upper), median = unname(median)
  )
}

warn_nothing_left <- function(fit) {
  if (all(fit$relevant == 0)) {
    bk_warn("convergence", "The sparse prior left no regressor.",
    sprintf(
      "Every row has the probability %s of each class, without a spread.",
      format(1 / length(fit$levels), digits = 3)
    ),
    "Use sparse = FALSE, or other length-scales.")
  }
}

# What the bound chose may predict worse than what it began with.
warn_search <- function(fit) {
  check <- fit$search
  if (is.null(check) || !(check$found < check$start)) return(invisible())
  what <- paste(c(
    if (isTRUE(fit$tuned)) "length-scales", if (fit$learned) "weights"
  ), collapse = " and ")
  bk_warn(
    "convergence", if (check$taken) {
      sprintf("The learned %s predict worse than those at the start.", what)
    } else {
      sprintf("The learned %s were not taken: they predict worse.", what)
    },
    sprintf(
      "Log probability of a left-out object: %s, at the start %s.",
      format(check$found / fit$n, digits = 3), format(check$start / fit$n, digits = 3)
    ),
    if (check$taken) {
      "Use weights_method = \"loo\", which learns by such predictions."
    } else {
      "The fit is that of the start, as without tuning."
    }
  )
}

# Subsets of the kernels, most probable first.
weight_states <- function(found, names) {
  if (length(found$state_probability) == 0L) return(NULL)
  states <- matrix(as.integer(found$states), ncol = length(names), dimnames = list(NULL, names))
  out <- data.frame(
    states, bound = found$state_bound, probability = found$state_probability, check.names = FALSE
  )
  out <- out[order(-out$probability), ]
  rownames(out) <- NULL
  out
}

warn_scale <- function(fit) {
  fit$diagnostics$largest_fall <- NA_real_
  bk_warn(
    "convergence", "The kernel matrix is too badly conditioned to go on.",
    "The bound fell by rounding; the fit is that of the pass before.",
    "Standardize the predictors, or use normalize = TRUE."
  )
  fit
}

# A binary weight that never changed tells nothing of its probability.
warn_stuck <- function(fit) {
  if (fit$combine != "binary" || !fit$learned) return(invisible())
  names <- sprintf("weight[%s]", names(fit$spaces))
  stuck <- vapply(names, function(name) length(unique(as.vector(fit$draws[, , name]))) == 1L, NA)
  if (any(stuck)) {
    bk_warn("convergence", "Some kernels were in, or out, in every draw.",
    sprintf("Found: %s.", list_some(names(fit$spaces)[stuck])),
    "Given the latent responses such moves are rare: run more chains, longer.")
  }
}

# One space of numbers: what pictures over its predictors read; of features, which have no points,
# where the rows are.
plane_of_fit <- function(fit, rows) {
  space <- fit$spaces[[1]]
  if (is.null(rows$spaces) && !is.null(space$z)) {
    fit$inducing <- inducing_on_data_scale(space$z, list(
      scale = space$transform$scale, center = space$transform$center, columns = rows$columns
    ))
  } else if (is.null(rows$spaces) && space$kernel$kind == "basis") {
    x <- rows$data$x[, rows$data$source, drop = FALSE]
    colnames(x) <- rows$columns
    fit$plane <- list(range = apply(x, 2, range), mean = colMeans(x))
  }
  fit
}

# Latent functions at some rows, and the moments of all where these cannot be had later.
keep_reference <- function(fit, job, rows) {
  fit$reference <- original_rows(job$reference, rows$rows)
  points <- lapply(job$points, function(x) x[, job$reference, drop = FALSE])
  fit$posterior$reference <- unname(points)
  threads <- job$settings$threads
  fit$reference_moments <- mkprobit_moments(fit, points, threads)[c("mean", "var")]
  if (!job$own && fit$n * length(fit$levels) <= 2e5) {
    fit$fitted <- mkprobit_moments(fit, job$points, threads)
  }
  fit
}

# More have no use, and take no end of time.
most_nodes <- 10000L
