# The linear model, f = o + x'beta + z'u, of which bsvm() and bkm() are faces: the same rows, cores,
# posterior and methods. A face has its arguments, the families that it fits and its defaults.

# What looks at several arguments. Selection is beyond expectation propagation here, and by sampling
# means what it says. Passes end by another measure for "ep" than for the bound.
settle_linear <- function(settings) {
  selects <- !isFALSE(settings$select %||% FALSE)
  # What is left to the model, which the rows may have a say in.
  late <- c("method", "tol", "max_iter")
  settings$open <- Filter(function(name) is.null(settings[[name]]), late)
  settings$method <- settings$method %||% if (selects) "vb" else "ep"
  ep <- settings$method == "ep"
  if (identical(settings$polish, "ep") && (settings$method != "vb" || !selects)) {
    refuse_polish(settings, selects)
  }
  # Inclusion probabilities are those of draws, or of a variational optimum.
  drawn <- settings$method == "gibbs" || isTRUE(settings$polish)
  if (selects && !drawn && by_term(settings$prior)) refuse_terms(settings)
  settings$prior$inclusion <- settings$prior$inclusion %||% if (drawn) "term" else "column"
  if (selects && ep) {
    bk_abort(
      "argument", "Method \"ep\" does not select among columns.",
      "Accepted with `select`: method = \"gibbs\" or method = \"vb\".",
      "By sampling, inclusion probabilities are those of the posterior.",
      column = "method", found = "ep"
    )
  }
  own <- list(tol = if (ep) 1e-3 else 1e-6, max_iter = if (ep) 100 else 2000)
  for (name in names(own)) settings[[name]] <- settings[[name]] %||% own[[name]]
  if (selects && !is.null(settings$penalty) && !identical(settings$penalty, "none")) {
    bk_abort(
      "argument", "`penalty` and `select` exclude each other.",
      "Columns under selection have a prior of their own.",
      "Accepted with `select`: penalty = \"none\", for the other columns.",
      column = "penalty", found = settings$penalty
    )
  }
  take_mechanism(settings)
}

# What is left to the model: by "vb" where rows are `large` or grouping factors are crossed.
settle_size <- function(design, settings, selected, large) {
  other <- settings
  other$method <- "vb"
  if (!large && length(crossed_terms(design, other, selected)) == 0L) return(settings)
  if ("tol" %in% settings$open) other$tol <- 1e-6
  if ("max_iter" %in% settings$open) other$max_iter <- 2000
  other$chosen <- if (large) {
    sprintf("for %.0f rows", length(design$y))
  } else {
    "for crossed random terms of many levels"
  }
  other
}

# polish = "ep" is of variational selection, which it asks for.
refuse_polish <- function(settings, selects) {
  bk_abort(
    "argument", "`polish = \"ep\"` is of selection by method = \"vb\".",
    sprintf("Found: %s.", if (selects) {
      sprintf("method = \"%s\"", settings$method)
    } else {
      "no selection"
    }),
    "Accepted: `select`, with method = \"vb\" or none.", column = "polish", found = "ep"
  )
}

# Indicators that columns share are the sampler's.
refuse_terms <- function(settings) {
  bk_abort(
    "argument", "Selection by terms is the sampler's.",
    sprintf(
      "Found: a prior with inclusion = \"term\" and polish = %s.", deparse1(settings$polish)
    ),
    "Accepted: polish = TRUE, or inclusion = \"column\".",
    column = "polish", found = settings$polish
  )
}

# TRUE: by the sampler; "ep"; FALSE: not at all.
check_polish <- function(polish, name) {
  if (!isTRUE(polish) && !isFALSE(polish) && !identical(polish, "ep")) {
    abort_argument(polish, name, "TRUE, FALSE or \"ep\"")
  }
  as.vector(polish)
}

# NULL: as the rows say, see linear_job().
check_penalty <- function(penalty, name) {
  if (is.character(penalty)) {
    check_choice(penalty, c("learn", "none"), name)
  } else {
    check_number(penalty, 0, name = name, closed = c(FALSE, TRUE))
  }
}

# TRUE, FALSE, or a one-sided formula of the terms to select among.
check_select <- function(select, name) {
  if (inherits(select, "formula") && length(select) == 2L) return(select)
  if (!isTRUE(select) && !isFALSE(select)) {
    abort_argument(select, name, "TRUE, FALSE, or a one-sided formula of terms, such as ~ . - age")
  }
  select
}

# Numbers; NA stands for "marginal".
check_starts <- function(starts, name) {
  marginal <- starts %in% "marginal"
  good <- (is.numeric(starts) || is.character(starts)) && length(starts) > 0L
  values <- if (good) suppressWarnings(as.double(ifelse(marginal, 1, starts)))
  if (!good || anyNA(values) || any(values <= 0 | values > 1)) {
    abort_argument(
      starts, name, "numbers above 0 and at most 1, such as c(1, 0.5), or \"marginal\""
    )
  }
  values[marginal] <- NA
  values
}

# --- the two faces -----------------------------------------------------------

# What the faces share.
delayedAssign("linear_model", list(
  methods = c(ep = "exact", vb = "exact", gibbs = "sampler", svi = "seeded"), links = linear_links,
  arguments = list(
    penalty = check_penalty, select = check_select,
    missing = function(x, name) {
      if (inherits(x, "bayeskernel_mnar")) x else check_missing(x, name)
    },
    starts = check_starts, polish = check_polish, keep_ranef = check_flag,
    keep_imputed = check_flag, tol = number_from(0), max_iter = count_from(1),
    learning_rate = check_learning_rate, class_weights = check_class_weights,
    family = check_linear_family, cov = check_cov
  ),
  shared = shared_missing, job = linear_job, run = linear_run, chains = linear_chains,
  draws = linear_draws_of, collect = linear_collect, left_out = linear_left_out,
  limits = point_limits, watched = function(draws) !is_detail(dimnames(draws)[[3]])
))

delayedAssign("bsvm_model", c(linear_model, list(
  name = "bsvm",
  settle = function(settings) {
    settings$family <- "hinge"
    settle_linear(settings)
  },
  rows = list(
    linear = TRUE, weights = TRUE, source = c("ep", "svi"), response = function(settings) "two"
  )
)))

delayedAssign("bkm_model", c(linear_model, list(
  name = "bkm", settle = function(settings) settle_linear(settle_hinge(settings)),
  rows = list(
    linear = TRUE, weights = TRUE, source = c("ep", "vb", "svi"),
    response = function(settings) {
      switch(settings$family %||% "any", any = "any", gaussian = "number", "binary")
    }
  )
)))

is_linear <- function(object) model_of(object)$rows$linear
