# Arguments of the functions that fit: one table for all of them, read by name.

#' Common arguments of bsvm(), gpsvm() and bark()
#'
#' [bsvm()], [gpsvm()] and [bark()] share these arguments, their help pages those of the rest.
#'
#' @param formula Two-sided formula of the predictors. A factor becomes one column per level; there
#'   is no column for an intercept, which [gpsvm()] does not have and [bark()] adds itself.
#' @param data Data frame in which the variables of `formula` are found.
#' @param weights Likelihood powers, length n, not negative, default 1: a row of weight 2 counts as
#'   two. Where all are whole numbers they are counts, and rows as good as repeated: what leaves a
#'   row out leaves out one of its copies, and numbers of rows are sums of weights. Those of
#'   [stats::lm()], which divide the variance of the noise, are `weights / mean(weights)` in [bkm()]
#'   and `weights` in [bark()].
#' @param subset,na.action As in [stats::lm()]; the default `na.fail` stops at
#'   missing values and names them.
#' @param chains,ndraws For `"gibbs"`: number of chains, kept draws per chain.
#' @param until For samplers: `NULL`, as many sweeps as `warmup`, `ndraws` and `thin` say; or
#'   [stop_at()], rounds of sweeps until the chains agree.
#' @param seed Whole number, or `NULL` to take one from R's generator. Results do not depend on
#'   `threads` nor on `cluster`, nor on how often a run was interrupted and continued.
#' @param threads Worker threads.
#' @param control What only tunes an engine or says how it is run, made by [bkm_control()],
#'   [bsvm_control()], [gpsvm_control()], [mkprobit_control()], [bark_control()], [klr_control()] or
#'   [seqkr_control()], by the function that fits; or a plain list of some of these entries.
#' @param model Keep the data in the fit, as [stats::lm()] does: the variables of the formula as
#'   they are in `data`, or `x` and `y`. `TRUE`, the default, keeps them up to a million cells, or
#'   `getOption("bayeskernel.model_cells")`, and beyond keeps a digest of them, as `FALSE` does.
#'   What reads the rows of the fit, such as [exposure()], [augment()] or [partial
#'   plots][plot.bayeskernel_fit], takes these. Without them it looks for the data under their name
#'   in the call, and compares response and predictors with a digest: data that have changed since
#'   are refused. A fit to a [row_source()], or after [extend()], has none.
#' @param ... Passed to methods; an argument that no method knows is an error.
#' @section Methods of a fit: [print()], [summary()], [plot()], [predict()], [fitted()],
#'   [residuals()], [nobs()], [weights()], [formula()], [terms()], [model.frame()], [update()],
#'   [coef()], [vcov()], [confint()], [fixef()], [ranef()], [VarCorr()], [inclusion()], [imputed()],
#'   [kernel_weights()], [elbo()], [as.mcmc.list()], [posterior::as_draws()], [tidy()], [glance()],
#'   [augment()], [extend()]. Which of them apply depends on the model; the others say why they do
#'   not.
#' @section Memory: A run whose draws would not fit into the memory that is free, or into
#'   `getOption("bayeskernel.max_bytes")` bytes, is refused before it begins.
#' @name fit-arguments
#' @keywords internal
NULL

# Checks of the arguments that mean the same in every model; each takes a value and its name. A
# model adds its own, or others in their place.
house_arguments <- function() {
  list(
    standardize = check_flag, chains = count_from(1), warmup = count_from(0),
    ndraws = count_from(1), thin = count_from(1), tol = number_from(0), max_iter = count_from(1),
    accelerate = check_flag, batch_size = or_null(count_from(1)), epochs = count_from(0),
    threads = check_threads, cluster = check_cluster, progress = check_flag,
    on_interrupt = one_of("stop", "keep"), resume = function(x, name) x, until = check_until,
    model = check_flag
  )
}

count_from <- function(lower, upper = .Machine$integer.max) {
  function(x, name) check_count(x, lower, upper, name = name)
}

number_from <- function(lower) {
  function(x, name) check_number(x, lower, name = name)
}

one_of <- function(...) {
  function(x, name) check_choice(x, c(...), name)
}

or_null <- function(check) {
  function(x, name) if (!is.null(x)) check(x, name)
}

# Its own checks, or in place of those of all models.
argument_checks <- function(model) {
  utils::modifyList(house_arguments(), model$arguments())
}

#' Checked settings of a fit
#'
#' @param model The facts of the model.
#' @param front The frame of the method that was called. Arguments that it does not have get the
#'   default that the formula method documents. Entries of `control` stand beside them.
#' @return A list by name.
#' @noRd
read_settings <- function(model, front) {
  checks <- argument_checks(model)
  control <- read_control(model, front)
  has <- ls(front)
  method <- get0(paste0(model$name, ".formula"), topenv())
  defaults <- if (!is.null(method)) formals(method)
  known <- c(names(control), has, names(defaults))
  checks <- checks[names(checks) %in% known]
  out <- list(method = read_method(model, front))
  for (name in names(checks)) {
    value <- if (name %in% names(control)) {
      control[[name]]
    } else if (name %in% has) {
      get(name, front)
    } else {
      eval(defaults[[name]], topenv())
    }
    out[name] <- list(checks[[name]](value, name))
  }
  # What the core and fits call it.
  if ("ndraws" %in% names(checks)) out["draws"] <- out["ndraws"]
  out$ndraws <- NULL
  out["prior"] <- list(read_prior(model, front, defaults))
  if (is.null(out$family) && isTRUE(model$asks_response)) {
    out["family"] <- list(response_family(typed_response(front), model$families))
  }
  if (!is.null(model$settle)) out <- model$settle(out)
  seed <- get0("seed", front, inherits = FALSE)
  # R's generator stays as it is where nothing is random.
  out["seed"] <- list(if (!is.null(seed) || !any(out$method %in% model$exact)) {
    check_seed(seed)
  })
  out
}

# The response before the rows are read; NULL where it cannot be had, which is said later.
typed_response <- function(front) {
  if (!("formula" %in% ls(front))) {
    return(if (!eval(quote(missing(y)), front)) front$y)
  }
  formula <- front$formula
  if (!inherits(formula, "formula") || length(formula) != 3L) {
    return(NULL)
  }
  tryCatch({
    data <- if (!eval(quote(missing(data)), front)) front$data
    eval(formula[[2L]], if (is.list(data)) data, environment(formula) %||% globalenv())
  }, error = function(e) NULL)
}

# NULL: the model chooses by the size of the data.
read_method <- function(model, front) {
  method <- get0("method", front, inherits = FALSE)
  if (!("method" %in% ls(front))) {
    model$methods[1]
  } else if (!is.null(method)) {
    check_choice(method, model$methods, "method")
  }
}

read_prior <- function(model, front, defaults) {
  prior <- get0("prior", front, inherits = FALSE)
  # Of a fit by an earlier version.
  if (inherits(prior, c("bsvm_prior", "bkm_prior")) && is.list(prior)) {
    if (!("inclusion" %in% names(prior))) prior$inclusion <- "column"
  }
  # Where NULL is the default, other settings say what it is.
  if (is.null(prior) && is.null(defaults$prior)) {
    return(NULL)
  }
  if (!is.null(model$prior) && !inherits(prior, model$prior)) {
    abort_argument(
      prior, "prior", sprintf("a prior made by %s()", model$prior),
      kind = "prior", call = user_call()
    )
  }
  if (is.null(model$prior)) prior else remade(prior, "prior", model$prior)
}
