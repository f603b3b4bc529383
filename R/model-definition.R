# A model is a list of its own facts and the methods of five internal generics, latent(),
# latent_draws(), parameters(), facts() and pictures(). Everything that users call on a fit is
# written once, for `bayeskernel_fit`, and asks these.

# The facts of the model that a fit is of.
# object: a fit.
# Returns a list: `name`, of the function that fits; `methods`, engines, the first of them the
#   default, each a "sampler", with draws, "exact", without random numbers, or "seeded"; `links`,
#   ways from f to a probability, the first of them the default; `limits(object, rows, ask)`, of f
#   where its posterior is not normal, else `NULL`; and what fit_model() reads.
model_of <- function(object) UseMethod("model_of")

#' @exportS3Method
model_of.bayeskernel_fit <- function(object) {
  own <- class(object)[match("bayeskernel_fit", class(object)) - 1L]
  get(paste0(own, "_model"), topenv())
}

# Ways from f to a probability, the first of them the default; of some models they depend on the
# fit.
links_of <- function(object) {
  links <- model_of(object)$links
  if (is.function(links)) links(object) else links
}

# Fits a model. The one way from a call to a fit: settings, rows, what the core reads, its answer,
# the fit object.
# model: the facts of the model; fit_model() reads
# * `arguments`: checks of arguments of its own, or in place of those in `house_arguments`, by
#   name; `settle(settings)`: checks that look at several arguments; `families`: those among which
#   the response chooses where none is given; a prior is made by <name>_prior();
# * `rows`: what read_rows() may give it, see there;
# * `job(rows, settings)`: a list with `settings`, with all that depended on the rows, and what
#   follows reads;
# * `run(job)`: the core's answer for engines without draws; `chains(control, ...)`, `draws(core,
#   job, rows)`: see sample_chains();
# * `shared(rows, settings)`: of rows with missing values, predictors that groups miss, by
#   shared_missing(), or `NULL`;
# * `collect(fit, core, job, rows)`: the fit, completed; `left_out(fit, core, job, rows)`: what
#   add_link() asks for, or `NULL`.
# call: what match.call() says in the method that was called.
# front: the frame of that method.
# ...: its `...`, which has to be empty.
# Returns a fit.
fit_model <- function(model, call, front, ...) {
  started <- proc.time()[["elapsed"]]
  if ("weights" %in% names(call) && !model$rows$weights) refuse_weights(model)
  if (...length()) {
    check_no_dots(..., has = ls(front, sorted = FALSE), moved = moved_arguments(model))
  }
  settings <- read_settings(model, front, names(call))
  if (!is.null(settings$resume)) check_resume(settings$resume, model, settings)
  rows <- read_rows(model, front, settings)
  if (!is.null(rows$release)) on.exit(rows$release())
  said <- settings$family_said %||% !is.null(settings$family)
  if (!said && is.null(rows$levels)) inform_counts(rows)
  call <- typed_call(call, front, model$name)
  shared <- if (!is.null(rows$holes) && !is.null(model$shared)) model$shared(rows, settings)
  done <- once_each(if (is.null(shared)) {
    fit_rows(model, rows, settings, call)
  } else if ("sampler" %in% model$methods[settings$method]) {
    sample_shared(model, rows, settings, call, shared)
  } else {
    fit_shared(model, rows, settings, call, shared)
  })
  settings <- done$job$settings
  sampled <- "sampler" %in% model$methods[settings$method]
  fit <- done$fit
  if (!is.null(done$left_out)) fit <- add_link(fit, done$left_out)
  interrupted <- isTRUE(fit$diagnostics$interrupted)
  if (!sampled) warn_iteration(fit, settings$max_iter)
  jitter <- fit$diagnostics$jitter
  # Kernel matrices have some of it always.
  if (isTRUE(jitter > if (is.null(fit$kernel)) 0 else 1.5e-6)) {
    bk_warn(
      "jitter", "A matrix was nearly singular.", sprintf("%.2g was added to its diagonal.", jitter)
    )
  }
  if (sampled && !interrupted) {
    if (is.null(fit$diagnostics$until)) {
      warn_convergence(fit$diagnostics$table, more = apart_lines(fit$diagnostics))
    } else {
      warn_until(fit$diagnostics)
    }
  }
  # The draws of a selection that began at a variational optimum are few on purpose, and agree.
  if (!sampled && !is.null(fit$draws)) {
    warn_convergence(fit$diagnostics$table, max_rhat = 1.2, min_ess = 0)
  }
  fit <- keep_data(fit, rows, front, settings)
  fit$elapsed <- c(core = fit$diagnostics$seconds, total = proc.time()[["elapsed"]] - started)
  stamped(fit)
}

# Checked settings of a fit.
# model: the facts of the model.
# front: the frame of the method that was called. Arguments that it does not have get the default
#   that the formula method documents. Entries of `control` stand beside them.
# typed: names of the arguments that were given.
# Returns a list by name.
read_settings <- function(model, front, typed) {
  has <- ls(front)
  entries <- own_formals(paste0(model$name, "_control"))
  control <- if ("control" %in% typed) read_control(front$control, model$name, entries)
  method <- get0(paste0(model$name, ".formula"), topenv())
  defaults <- c(if (!is.null(method)) formals(method), entries)
  # Its own checks, or in place of those of all models.
  checks <- utils::modifyList(house_arguments, model$arguments)
  checks <- checks[names(checks) %in% c(has, names(defaults))]
  out <- list(method = if (!("method" %in% has)) {
    names(model$methods)[1]
  } else if (!is.null(front$method)) {
    # NULL: the model chooses by the size of the data.
    check_choice(front$method, names(model$methods), "method")
  })
  for (name in names(checks)) {
    value <- if (name %in% names(control)) {
      control[[name]]
    } else if (name %in% has) {
      get(name, front)
    } else {
      eval(defaults[[name]], topenv())
    }
    open <- is.null(value) && is.null(defaults[[name]])
    out[name] <- list(if (!open) checks[[name]](value, name))
  }
  # What the core and fits call it.
  if ("ndraws" %in% names(checks)) out["draws"] <- out["ndraws"]
  out$ndraws <- NULL
  out["prior"] <- list(if ("prior" %in% typed) {
    read_prior(front$prior, model, defaults)
  } else if ("prior" %in% has) {
    front$prior
  })
  if (is.null(out$family) && !is.null(model$families)) {
    out["family"] <- list(response_family(typed_response(front), model$families))
  }
  if (!is.null(model$settle)) out <- model$settle(out)
  seed <- get0("seed", front, inherits = FALSE)
  # R's generator stays as it is where nothing is random.
  exact <- "exact" %in% model$methods[out$method]
  out["seed"] <- list(if (!is.null(seed) || !exact) check_seed(seed))
  out
}

# The response before the rows are read; NULL where it cannot be had, which is said later.
typed_response <- function(front) {
  if (!("formula" %in% ls(front))) return(if (!eval(quote(missing(y)), front)) front$y)
  formula <- front$formula
  if (!inherits(formula, "formula") || length(formula) != 3L) return(NULL)
  tryCatch({
    data <- if (!eval(quote(missing(data)), front)) front$data
    eval(formula[[2L]], if (is.list(data)) data, environment(formula) %||% globalenv())
  }, error = function(e) NULL)
}

read_prior <- function(prior, model, defaults) {
  # Of a fit by an earlier version.
  if (inherits(prior, c("bsvm_prior", "bkm_prior")) && is.list(prior)) {
    if (!("inclusion" %in% names(prior))) prior$inclusion <- "column"
  }
  # Where NULL is the default, other settings say what it is.
  if (is.null(prior) && is.null(defaults$prior)) return(NULL)
  maker <- paste0(model$name, "_prior")
  if (!exists(maker, topenv(), inherits = FALSE)) return(prior)
  if (!inherits(prior, maker)) {
    abort_argument(prior, "prior", sprintf("a prior made by %s()", maker), kind = "prior")
  }
  remade(prior, "prior", maker)
}

# The family that a response says; NULL: numbers, which may be codes.
response_family <- function(y, families) {
  if (is.ordered(y) && nlevels(y) > 2L && "ordinal" %in% families) {
    "ordinal"
  } else if (is.factor(y) || is.character(y) || is.logical(y)) {
    "binomial"
  }
}

# The fit, before its link is calibrated: by `left_out`. With the core's answer and what it read.
fit_rows <- function(model, rows, settings, call) {
  job <- model$job(rows, settings)
  settings <- job$settings
  sampled <- "sampler" %in% model$methods[settings$method]
  if (sampled) {
    core <- sample_chains(model, job, rows)
    settings$seed <- core$seed
  } else {
    core <- model$run(job)
  }
  if (isTRUE(core$status$interrupted) && !sampled) stop_or_keep(core, settings)
  fit <- new_fit(model, call, rows, settings)
  if (sampled) fit <- add_draws(fit, model, core, settings)
  fit <- model$collect(fit, core, job, rows)
  list(
    fit = fit, core = core, job = job,
    left_out = if (!is.null(model$left_out)) model$left_out(fit, core, job, rows)
  )
}

# With the name that was typed, so that update() finds `bayeskernel::bsvm` where the package is not
# attached.
typed_call <- function(call, front, name) {
  frames <- sys.frames()
  at <- Position(function(frame) identical(frame, front), frames, right = TRUE)
  typed <- sys.call(generic_frame(at))[[1L]]
  call[[1L]] <- if (is.call(typed) && called_name(list(typed)) == name) typed else as.name(name)
  call
}

# By the names of the call: the expression may not have a value outside `data`.
refuse_weights <- function(model) {
  bk_abort("argument", sprintf("%s() has no `weights`.", model$name),
    paste(
      "Its likelihood has none; bkm(), bsvm() and gpsvm() take powers of",
      "theirs, mkprobit() counts, bark() counts or weights of noise.",
      "Repeat rows that count more than once."
    ),
    column = "weights"
  )
}

# What Ctrl-C leaves: an answer without a posterior is of no use.
stop_or_keep <- function(core, settings) {
  if (!identical(settings$on_interrupt, "keep") || isFALSE(core$usable)) abort_interrupted()
  # A second interrupt, after one of the tuning.
  if (isTRUE(settings$kept)) return(invisible())
  bk_warn(
    "interrupt", "Interrupted: the fit is where the iteration was then.",
    "It is a valid but not the best approximation; fit again for that."
  )
}

# Of an iteration: whether it settled, and whether its bound fell.
warn_iteration <- function(fit, max_iter) {
  d <- fit$diagnostics
  if (isFALSE(d$converged) && !isTRUE(d$interrupted)) {
    bk_warn("max_iter", if (d$passes > 0) {
      sprintf("The bound still rose after %.0f passes over the data.", d$passes)
    } else {
      sprintf("The bound had not settled after %.0f steps.", d$steps)
    },
    "The fit is a valid but not the best approximation.",
    if (fit$method == "svi") {
      "Raise `max_iter`, `epochs` or `tol` of `control`."
    } else if (isTRUE(d$passes < (max_iter %||% 0))) {
      # The passes of the search that was kept.
      "Raise `tol` of `control` if less accuracy is enough."
    } else {
      "Raise `max_iter` of `control`, or `tol` if less accuracy is enough."
    })
  }
  fell <- isTRUE(d$largest_fall > 1e-8)
  if (fell && d$largest_fall > 1e-8 * (1 + abs(last(fit$trace$elbo %||% 0)))) {
    bk_warn(
      "convergence", "The bound fell, which it must not.",
      sprintf("Largest fall: %.3g. Please report this.", d$largest_fall)
    )
  }
}

# Independent draws from the posterior of a fit without stored draws.
# object: a fit without draws.
# n: number of draws, a positive integer.
# seed: non-negative integer.
# Returns matrix, n x variables, with column names; scale of the data. `NULL` of a model without a
#   method: parameters() tells moments, from which draws that depend on each other cannot be made.
draws_from_posterior <- function(object, n = 1000, seed = NULL) UseMethod("draws_from_posterior")

# A fit from its parts: a plain list that saveRDS() keeps whole. What every fit has comes from the
# rows, the settings and the call; a model adds its own.
# model: the facts of the model, see model_of().
# call: the user's call.
# rows: rows as the readers give them, of which the fit keeps what prediction and the row methods
#   need.
# settings: checked settings.
# ...: further elements, or others in place of the common ones.
# Returns a list of class `c(<model>, "bayeskernel_fit")`.
new_fit <- function(model, call, rows, settings, ...) {
  common <- c(
    list(call = call),
    pick(rows, c("formula", "terms", "xlevels", "contrasts", "levels", "response")),
    pick(settings, c("method", "prior")),
    list(transform = rows[intersect(c("center", "scale"), names(rows))], seed = settings$seed),
    pick(rows, c("n", "dropped")), list(design = rows$info),
    pick(rows, c("used", "columns", "na.action", "y", "weights", "share")),
    list(version = utils::packageVersion("bayeskernel"))
  )
  common$units <- rows$units
  common$repeats <- rows$repeats
  common$declared <- rows$declared
  given <- list(...)
  common[names(given)] <- given
  structure(common, class = c(model$name, "bayeskernel_fit"))
}

# Elements by name; NULL where there is none.
pick <- function(x, names) stats::setNames(lapply(names, function(name) x[[name]]), names)

# Columns of new rows that a fit uses, on the scale of the model.
scaled_predictors <- function(object, x) {
  scaled_rows(x[, object$used, drop = FALSE], object$transform$center, object$transform$scale)
}

# The hinge is a loss, and not minus the logarithm of a probability.
is_pseudo <- function(object) {
  inherits(object, c("bsvm", "gpsvm")) || identical(object$family, "hinge")
}
