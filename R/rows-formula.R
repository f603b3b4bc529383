# Reading a formula: its fixed part, its smooth and random terms, and the little of its surroundings
# that a fit keeps. reformulas is the parser of bars.

# The parts of a formula: `terms` of the fixed part, `smooths`, `bars` (random terms after expansion
# of nesting and `||`), and `frame_terms`, whose model frame holds every variable of all.
parse_formula <- function(formula, data, cov = NULL) {
  if (!inherits(formula, "formula")) {
    abort_argument(formula, "formula", "a formula, such as y ~ x + (1 | g)")
  }
  if (length(formula) != 3L) {
    bk_abort(
      "argument", "The formula has no response.", sprintf("Found: %s.", deparse1(formula)),
      "Accepted: a response on the left, such as y ~ x + (1 | g).", column = "formula"
    )
  }
  env <- environment(formula)
  if (!is.environment(env)) env <- globalenv()
  environment(formula) <- env
  rhs <- formula[[3]]
  if (is.call(rhs) && deparse1(rhs[[1]]) %in% c("|", "||")) refuse_bare_bar(rhs)
  used <- all.names(rhs, unique = TRUE)
  taken <- list(smooths = list(), rest = rhs)
  if (any(c(smooth_functions, "gp") %in% used)) taken <- take_smooths(rhs)
  smooths <- lapply(taken$smooths, read_smooth, env = env)
  if (!is.null(cov)) smooths <- c(smooths, read_correlated(cov))
  if (length(smooths)) check_distinct_smooths(smooths)
  fixed <- if (is.null(taken$rest)) 1 else taken$rest
  split <- split_bars(fixed)
  if (any(bar_structures %in% used)) refuse_structures(split$fixed)
  bars <- split$bars
  fixed <- split$fixed
  expressions <- c(taken$smooths, lapply(bars, function(bar) call("(", bar)))
  bars <- lapply(bars, read_bar, env = env)
  if (length(bars) > 1L) check_distinct_bars(bars)
  lhs <- formula[[2]]
  if ("." %in% all.names(fixed, functions = FALSE)) {
    elsewhere <- unlist(c(
      lapply(bars, function(bar) lapply(bar$leaves, all.vars)),
      lapply(smooths, function(smooth) {
        lapply(smooth$variables[seq_along(smooth$spec$term)], all.vars)
      })
    ))
    terms <- dot_terms(lhs, fixed, data, env, elsewhere)
  } else {
    terms <- read_terms(stats::as.formula(call("~", lhs, fixed), env), NULL)
  }
  if ("." %in% used) {
    # Without the data nobody could tell what `.` stood for.
    formula[[3]] <- Reduce(
      function(sum, term) call("+", sum, term), expressions, stats::formula(terms)[[3]]
    )
  }
  frame_terms <- terms
  others <- c(
    unlist(lapply(smooths, `[[`, "variables")),
    unlist(lapply(bars, function(bar) c(as.list(attr(bar$terms, "variables"))[-1L], bar$leaves)))
  )
  odd <- Find(function(variable) !is.language(variable) || identical(variable, quote(.)), others)
  if (!is.null(odd)) refuse_term_variable(odd)
  refuse_response_right(deparse1(lhs), terms, others)
  if (length(others)) {
    variables <- c(as.list(attr(terms, "variables"))[-1L], others)
    all <- Reduce(function(a, b) call("+", a, b), unique(variables)[-1L])
    frame_terms <- stats::terms(stats::as.formula(call("~", lhs, all), env))
  }
  list(
    formula = formula, terms = terms, frame_terms = frame_terms,
    smooths = smooths, bars = bars, response = deparse1(lhs), env = env
  )
}

# Without parentheses all that stands before the bar would be random effects.
refuse_bare_bar <- function(rhs) {
  group <- deparse1(rhs[[3]])
  bk_abort(
    "argument", "A random term of the formula has no parentheses.",
    sprintf("Found: `%s`.", deparse1(rhs)),
    sprintf("Accepted: (1 | %s), (x | %s), as in y ~ x + (1 | %s).", group, group, group),
    "For \"or\" of two conditions write I(a | b).", column = "formula", found = deparse1(rhs)
  )
}

# Smooth and random terms take names and expressions: no text, and no `.`.
refuse_term_variable <- function(odd) {
  bk_abort(
    "argument", "A term of the formula has no variable where it needs one.",
    sprintf("Found: `%s`.", deparse1(odd)),
    paste(
      "Accepted: variables without quotes, or expressions of them, such as",
      "gp(x, by = f) or (1 | g); `.` stands for columns outside of such", "terms alone."
    ),
    column = "formula", found = odd
  )
}

# terms() takes the response for a predictor too, whose column nobody makes.
refuse_response_right <- function(response, terms, others) {
  factors <- attr(terms, "factors")
  used <- if (length(factors)) variable_names(terms)[rowSums(factors) > 0]
  if (response %in% c(used, vapply(others, deparse1, ""))) {
    bk_abort(
      "argument", fit_header("Response `%s` is among the predictors, too.", response),
      "It would predict itself: leave it out there.", column = response
    )
  }
}

# `.` stands for the columns of `data` that are neither in the response nor in a smooth nor name the
# groups of a random term.
dot_terms <- function(lhs, fixed, data, env, elsewhere) {
  if (!is.data.frame(data)) {
    abort_argument(data, "data", "a data frame, since `.` in the formula means its columns")
  }
  others <- setdiff(names(data), c(elsewhere, all.vars(lhs)))
  if (length(others) == 0L) {
    bk_abort(
      "argument", "`.` in the formula stands for no column of `data`.",
      paste("Columns:", list_some(names(data))), found = names(data)
    )
  }
  # `. - id + (1 | id)` takes away what is not in `.`.
  parts <- sum_terms(fixed)
  gone <- parts$signs == "-" & vapply(parts$terms, function(term) {
    is.name(term) && as.character(term) %in% elsewhere
  }, NA)
  parts$terms[gone] <- list(NULL)
  fixed <- join_terms(parts$terms, parts$signs)
  names_only <- list2DF(Map(function(name) NULL, others))
  read_terms(stats::as.formula(call("~", lhs, fixed), env), names_only)
}

# The right side of a formula without its random terms, and these.
split_bars <- function(expr) {
  barred <- function(term) any(c("|", "||") %in% all.names(term))
  bars <- list()
  parts <- sum_terms(expr, barred)
  for (k in which(vapply(parts$terms, barred, NA))) {
    hidden <- hide_calls(parts$terms[[k]])
    term <- stats::as.formula(call("~", hidden$expr), globalenv())
    found <- tryCatch(reformulas::findbars(term), error = function(e) NULL)
    if (length(found) == 0L) {
      if (barred(hidden$expr)) abort_bar(parts$terms[[k]])
      next
    }
    back <- function(part) {
      if (length(hidden$calls)) do.call(substitute, list(part, hidden$calls)) else part
    }
    bars <- c(bars, lapply(found, back))
    rest <- reformulas::nobars(term)[[2]]
    # One where nothing is left.
    parts$terms[k] <- list(if (!identical(rest, 1)) back(rest))
  }
  list(fixed = join_terms(parts$terms, parts$signs) %||% 1, bars = bars)
}

# Structures of covariances, as glmmTMB and lme4 write them: ar1(t + 0 | g).
bar_structures <- c(
  "diag", "us", "cs", "ar1", "homdiag", "homcs", "hetar1", "toep", "homtoep", "ou", "exp", "gau",
  "mat", "rr"
)

refuse_structures <- function(fixed) {
  found <- Find(function(term) {
    any(c("|", "||") %in% all.names(term))
  }, find_terms(fixed, function(head) head %in% bar_structures))
  if (!is.null(found)) {
    text <- deparse1(found)
    bk_abort(
      "argument", fit_header("Random term `%s` is not offered.", text),
      paste(
        "Accepted: (x | g), whose covariances are learned, (x || g), without",
        "any, and gp(t) for a course over time."
      ),
      column = "formula", found = text
    )
  }
}

# A bar inside a function call, `I(a | b)`, is "or", not a random term: such calls stand aside as
# symbols while the formula is parsed.
hide_calls <- function(expr) {
  calls <- list()
  walk <- function(e) {
    if (!is.call(e)) return(e)
    if (deparse1(e[[1]]) %in% formula_operators) {
      for (i in seq_along(e)[-1L]) e[[i]] <- walk(e[[i]])
      return(e)
    }
    if (!any(c("|", "||") %in% all.names(e))) return(e)
    name <- paste0(".hidden_call_", length(calls) + 1L)
    calls[[name]] <<- e
    as.symbol(name)
  }
  list(expr = walk(expr), calls = calls)
}

# Text of deparse1() as an expression. Names need not be those of R's syntax: a name among `names`
# is that, and `my group` could be nothing else.
read_text <- function(text, names) {
  if (text %in% names) as.name(text) else str2lang(text)
}

# What a fit keeps of the formula's surroundings ----------------------------

design_info_formula <- function(parsed, built, data, offset) {
  if (!is.null(offset)) offset <- stored_offset(offset)
  predictors <- stats::delete.response(attr(built$frame, "terms"))
  # Variables that new rows must bring: those of the formula that are columns of the data, or
  # elsewhere but as long as the data. Anything else is a constant, such as `k` in `I(x / k)`.
  needed <- unique(c(all.vars(attr(predictors, "variables")), all.vars(offset)))
  elsewhere <- if (is.list(data)) setdiff(needed, names(data)) else needed
  scope <- if (is.environment(data)) data else parsed$env
  needed <- setdiff(needed, Filter(function(name) {
    NROW(get0(name, envir = scope)) != built$n
  }, elsewhere))
  # Plain columns without a unit depend on no other rows.
  plain <- !is.call(offset) && all(vapply(as.list(attr(predictors, "variables")), is.name, NA)) &&
    !("other" %in% attr(predictors, "dataClasses"))
  if (!plain) {
    across <- read_across(predictors, offset, needed, data, parsed$env, built$n)
    attr(predictors, "predvars") <- across$predvars
    offset <- across$offset
  }
  env <- lean_environment(
    list(attr(predictors, "variables"), attr(predictors, "predvars"), offset),
    parsed$env, c(needed, if (is.list(data)) names(data))
  )
  left <- parsed$frame_terms[[2L]]
  list(
    type = "formula", env = env, variables = needed,
    terms = `environment<-`(stats::delete.response(parsed$terms), env),
    frame_terms = `environment<-`(predictors, env), offset = offset,
    kinds = if (plain) list() else across$kinds, across = if (!plain) across$names,
    left = if (is.call(left)) kept_response(left, parsed, data, built$n)
  )
}

# A formula made inside a function would carry that function's frame, data and all, into a saved
# fit. Its environment is replaced by one that holds only the functions and constants that `exprs`
# use.
lean_environment <- function(exprs, env, exclude) {
  chain <- list()
  # Until one that saveRDS() stores by name.
  while (!(is.null(env) || identical(env, globalenv()) || identical(env, baseenv()) ||
    identical(env, emptyenv()) || isNamespace(env) ||
    startsWith(environmentName(env), "package:"))) {
    chain <- c(chain, env)
    env <- parent.env(env)
  }
  if (length(chain) == 0L) return(env)
  lean <- new.env(parent = env)
  todo <- setdiff(all.names(as.expression(exprs), unique = TRUE), exclude)
  while (length(todo)) {
    name <- todo[1]
    todo <- todo[-1]
    holder <- Find(function(e) exists(name, e, inherits = FALSE), chain)
    if (is.null(holder) || exists(name, lean, inherits = FALSE)) next
    object <- get(name, envir = holder)
    local <- is.function(object) && any(vapply(chain, identical, NA, environment(object)))
    if (local) {
      inner <- all.names(as.expression(c(body(object), as.list(formals(object)))), unique = TRUE)
      todo <- c(todo, setdiff(inner, names(formals(object))))
      environment(object) <- lean
      attr(object, "srcref") <- NULL
    }
    assign(name, object, envir = lean)
  }
  lean
}

# An offset given as an expression is evaluated again in new rows.
stored_offset <- function(offset) {
  if (is.language(offset)) {
    offset
  } else if (is.character(offset)) {
    as.name(offset)
  } else if (!is.null(offset) && any(offset != 0)) {
    "vector"
  }
}
