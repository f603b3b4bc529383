# Why an argument has the value of the paper, by function and argument; and what NULL as the default
# means there.

published_reasons <- list(
  bsvm = list(
    method = c("ep", "the paper's algorithms; gibbs: its appendices"),
    penalty = c("none", "section 3.1, example 1"),
    select = c("", "section 3.2"),
    missing = c("\"fail\"", "section 3.3"),
    learning_rate = c("from the data", "the pseudo-likelihood as it is, as it were a likelihood"),
    "prior$beta_var" = c("(2.5 / s)^2", "\"to impose non-informativity\"; the number is lost"),
    "prior$var_shape" = c("half t", "A = B, the number is lost; as there"),
    "prior$var_rate" = c("half t", "see var_shape"),
    "prior$rho" = c("", "section 4.4"),
    "prior$inclusion" = c("\"term\"", "each column has an indicator"),
    chains = c("", "one run; convergence is not checked"),
    ndraws = c("", "section 4, for the selection section 4.4"),
    "control$warmup" = c("", "section 4, for the selection section 4.4"),
    "control$starts" = c("four, the best", "not said; from all columns it gives the paper's set"),
    "control$polish" = c("", "probabilities are those of the variational optimum")
  ),
  gpsvm = list(
    method = c("ep", "algorithm 1, in full passes, by minibatches, or ECM"),
    kernel = c("rbf()", "theta = 5, which is the length-scale times the root of 2"),
    tune = c("tuned", "the width is fixed in Table 1"),
    inducing = c("min(n / 5, 100)", "section 5.4"),
    "control$batch_size" = c("at least 256", "sections 5.1 and 5.4"),
    "control$epochs" = c("", "the number of passes is not given"),
    "control$rate" = c("", "section 4.3: the rule of Ranganath et al."),
    "control$max_iter" = c("", "no full passes after the stochastic ones")
  ),
  mkprobit = list(
    coefficients = c("", "a gamma precision for every object and class, eq. 2"),
    method = c("", "section 3.2; gibbs: section 3.1"),
    combine = c("", "section 2.1"),
    kernel_weights = c("", "section 2.1: the weights have priors"),
    "prior$tau" = c("1", "not given; at 1 or below coefficients have no variance to compare"),
    "prior$nu" = c("1", "see tau"),
    chains = c("", "one run"),
    ndraws = c("", "100,000 sweeps, section 4.1"),
    "control$warmup" = c("", "a tenth of the sweeps"),
    "control$tol" = c("", "the bound changes by less than a thousandth"),
    "control$max_iter" = c("", "50 in Table 2, 100 for several kernels"),
    "control$weights_method" = c("\"loo\"", "importance weights, eq. 9; subsets: all are compared")
  ),
  bark = list(
    scales = c("by the data", "one of the four models of section 3.2.2"),
    select = c("", "one of the four models of section 3.2.2"),
    "prior$gamma" = c("from `kernels`", "section 3.4"),
    "prior$epsilon" = c("1, rescaled", "section 3.4; its scale is known"),
    ndraws = c("by R-hat", "section 3.4"),
    until = c("", "a fixed number of sweeps"),
    "control$warmup" = c("by R-hat", "section 3.4: 2,000,000"),
    "control$thin" = c("by R-hat", "section 3.4: every 500th")
  ),
  klr = list(until = c("", "a fixed number of sweeps; `rank` is one of 1, 2, 3")),
  seqkr = list(
    kernel = c("rbf()", "width 1.6, Boston 5: the length-scale, root 2 smaller"),
    moves = c(
      "", paste(
        "corrected: the paper's moves, whose printed weight is wrong;", "rj: moves that mix better"
      )
    ),
    sweeps = c("", "one jump a row, as there"),
    standardize = c("", "x and y as they are"),
    "prior$lambda" = c("", "section 4.1, Boston section 4.2"),
    "prior$kmax" = c("", "section 4.1"),
    "control$ess" = c("", "resampling after every row")
  )
)

# One row an argument: model by model, but each value once.
published_table <- function(paper) {
  models <- published_models[[paper]]
  rows <- do.call(rbind, Map(published_rows, models, names(models)))
  key <- paste(rows$fitter, rows$argument, rows$published)
  by <- split(rows$model, factor(key, unique(key)))
  used <- vapply(by, models_text, "", all = names(models))
  out <- rows[!duplicated(key), ]
  out$model <- unname(used)
  rownames(out) <- NULL
  out
}

models_text <- function(own, all) {
  sampled <- grep("_gibbs$", all, value = TRUE)
  if (setequal(own, all)) {
    "all"
  } else if (length(sampled) && setequal(own, sampled)) {
    "*_gibbs"
  } else {
    paste(own, collapse = ", ")
  }
}

published_rows <- function(model, name) {
  given <- model$arguments
  out <- lapply(names(given), function(argument) {
    value <- given[[argument]]
    nested <- argument %in% c("prior", "control")
    from <- if (nested) deparse1(value[[1L]]) else front_of(model$fitter)
    values <- if (nested) as.list(value)[-1L] else given[argument]
    keys <- if (nested) paste0(argument, "$", names(values)) else names(values)
    reasons <- published_reasons[[model$fitter]][keys]
    data.frame(
      model = name, fitter = model$fitter, argument = keys,
      default = mapply(function(entry, reason) {
        if (nzchar(reason[1L])) reason[1L] else default_text(from, entry)
      }, names(values), reasons),
      published = vapply(values, deparse1, ""), why = vapply(reasons, `[`, "", 2L)
    )
  })
  do.call(rbind, out)
}

front_of <- function(fitter) paste0(fitter, ".formula")

# The default of an argument, of a choice its first.
default_text <- function(fitter, argument) {
  value <- formals(get(fitter, topenv()))[[argument]]
  if (is.call(value) && identical(value[[1L]], quote(c))) value <- value[[2L]]
  if (identical(value, quote(expr = ))) "" else deparse1(value)
}

# The tables of the help page.
published_sections <- function() {
  unlist(lapply(names(published_models), function(paper) {
    table <- published_table(paper)
    code <- function(x) sprintf("\\code{%s}", x)
    c(
      sprintf("@section Paper \"%s\":", paper), "\\tabular{lllll}{",
      paste(
        "\\strong{model}", "\\strong{argument}", "\\strong{default}", "\\strong{as published}",
        "\\strong{why} \\cr", sep = " \\tab "
      ),
      paste(
        table$model, code(table$argument), table$default, code(table$published),
        paste(table$why, "\\cr"), sep = " \\tab "
      ),
      "}"
    )
  }))
}
