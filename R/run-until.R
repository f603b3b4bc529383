# Runs that end when their chains agree.

#' When a sampler may stop
#'
#' For the argument `until` of the functions that sample: the chains go on in
#' rounds until every variable that means the same in all draws is known well
#' enough, or a cap is reached, which is a warning.
#'
#' The first round is what `warmup`, `ndraws` and `thin` say, by default what the function says that
#' samples. A later one goes on where the last one stopped, and doubles the sweeps in all: what came
#' before is warmup, and as many draws are kept, from twice as many sweeps apart. So memory does not
#' grow, the kept draws are the second half of all sweeps, and they are one fixed-length run's, the
#' same for any `threads`.
#'
#' R-hat and effective sample sizes of a fit are in [summary()], and by
#' [posterior::rhat()] and [posterior::ess_bulk()].
#'
#' @param rhat The largest R-hat (rank-normalized, split; of bulk and tails)
#'   that is good enough, above 1. `NULL`: any.
#' @param ess The smallest effective sample size of bulk and tails, over all
#'   chains, from 1 to the number of draws that are kept. `NULL`: any. If both are given, both have
#'   to be reached; one of them has to be there.
#' @param sweeps Most sweeps of a chain in all. `NULL`, the default, is 16 times the first round.
#' @param seconds Most seconds: no round begins that would end later, by the
#'   speed so far. Results then depend on the speed of the computer. Default `Inf`.
#' @param ... Not used: what is not among these arguments is an error.
#' @return An object of class `bayeskernel_until`.
#' @section Errors: `bayeskernel_error_argument`.
#' @seealso [bark_control()], [bkm_control()], [bayeskernel-diagnostics].
#' @references Vehtari, A., Gelman, A., Simpson, D., Carpenter, B. and Buerkner,
#'   P.-C. (2021). Rank-normalization, folding, and localization: an improved
#'   R-hat for assessing convergence of MCMC. *Bayesian Analysis* 16, 667-718.
#' @examples
#' stop_at(rhat = 1.01)
#' stop_at(ess = 400, seconds = 60)
#' @export
stop_at <- function(rhat = NULL, ess = NULL, sweeps = NULL, seconds = Inf, ...) {
  refuse_others(...)
  if (is.null(rhat) && is.null(ess)) {
    bk_abort("argument", "Nothing says when to stop.",
    "Found: neither `rhat` nor `ess`.",
    "Accepted: stop_at(rhat = 1.01), stop_at(ess = 400), or both.", column = "rhat")
  }
  if (!identical(seconds, Inf)) {
    seconds <- check_number(seconds, 0, name = "seconds", closed = c(FALSE, TRUE))
  }
  structure(
    list(
      rhat = if (!is.null(rhat)) check_number(rhat, 1, name = "rhat", closed = c(FALSE, TRUE)),
      ess = if (!is.null(ess)) check_number(ess, 1, name = "ess"),
      sweeps = if (!is.null(sweeps)) check_count(sweeps, 1, name = "sweeps"), seconds = seconds
    ),
    class = "bayeskernel_until"
  )
}

smaller_ess <- function(table) pmin(table$ess_bulk, table$ess_tail)

#' Convergence of the chains of a fit
#'
#' Methods of the generics of packages posterior and bayesplot: numbers of each
#' variable that means the same in all draws, as [summary()] shows them.
#'
#' @param x,object A fit by a sampler.
#' @param ... Not used.
#' @return A vector named by variables: R-hat (rank-normalized, split), the
#'   effective sample size of the bulk or of the tails, or, `neff_ratio()`, the
#'   smaller of these over the number of draws. `NA` where draws are constant.
#' @section Errors: `bayeskernel_error_argument`, of a fit without chains.
#' @seealso [bayeskernel-diagnostics], [stop_at()].
#' @examples
#' fit <- bsvm(am ~ wt, mtcars, method = "gibbs", seed = 1)
#' if (requireNamespace("posterior", quietly = TRUE)) {
#'   print(posterior::rhat(fit))
#'   posterior::ess_tail(fit)
#' }
#' @name rhat.bayeskernel_fit
NULL

#' @rdname rhat.bayeskernel_fit
#' @exportS3Method posterior::rhat
#' @exportS3Method bayesplot::rhat
rhat.bayeskernel_fit <- function(x, ...) {
  check_whole(x, ...)
  watched_numbers(x, function(table) table$rhat)
}

#' @rdname rhat.bayeskernel_fit
#' @exportS3Method posterior::ess_bulk
ess_bulk.bayeskernel_fit <- function(x, ...) {
  check_whole(x, ...)
  watched_numbers(x, function(table) table$ess_bulk)
}

#' @rdname rhat.bayeskernel_fit
#' @exportS3Method posterior::ess_tail
ess_tail.bayeskernel_fit <- function(x, ...) {
  check_whole(x, ...)
  watched_numbers(x, function(table) table$ess_tail)
}

#' @rdname rhat.bayeskernel_fit
#' @exportS3Method bayesplot::neff_ratio
neff_ratio.bayeskernel_fit <- function(object, ...) {
  check_whole(object, ...)
  watched_numbers(object, smaller_ess) / prod(dim(object$draws)[1:2])
}

watched_numbers <- function(fit, take) {
  table <- fit$diagnostics$table
  if (is.null(table)) {
    bk_abort("argument", "The fit has no chains.",
    sprintf("Found: method \"%s\".", fit$method), "Accepted: a fit by a sampler.", column = "x")
  }
  stats::setNames(take(table), table$variable)
}

#' @export
format.bayeskernel_until <- function(x, ...) {
  number <- function(value) format(value, digits = 4)
  paste(c(
    if (!is.null(x$rhat)) paste("R-hat at most", number(x$rhat)),
    if (!is.null(x$ess)) paste("effective sample size at least", number(x$ess))
  ), collapse = " and ")
}

#' @export
print.bayeskernel_until <- function(x, ...) {
  cap <- c(
    sprintf("%.0f sweeps", x$sweeps %||% numeric()),
    if (is.finite(x$seconds)) sprintf("%s s", format(x$seconds))
  )
  if (length(cap) == 0L) cap <- "16 times the first round"
  cat("Until ", format(x), ", or ", paste(cap, collapse = " or "), "\n", sep = "")
  invisible(x)
}

# Of models with a goal by default: what says how long to run is taken at its word. `run`: numbers
# that are not said; `brief`: those of the default goal.
settle_until <- function(settings, goal, run, brief = run) {
  said <- lengths(settings[c(names(run), "resume")]) > 0L
  settings$brief <- identical(settings$until, "auto") && !any(said)
  if (identical(settings$until, "auto")) settings["until"] <- list(if (!any(said)) goal)
  if (settings$brief) run <- brief
  for (name in names(run)) settings[[name]] <- settings[[name]] %||% check_count(run[[name]], 0)
  settings
}

# Draws that are kept cannot have more effective ones than they are.
check_enough_draws <- function(settings) {
  until <- settings$until
  kept <- as.double(settings$chains) * settings$draws
  if (isTRUE(until$ess > kept)) {
    bk_abort(
      "argument", "`until` asks for more effective draws than are kept.",
      sprintf("Found: ess = %s.", format(until$ess)),
      sprintf("Accepted: at most %.0f, that is `ndraws` times `chains`.", kept),
      column = "until", found = until$ess, expected = kept
    )
  }
}

# Of those that vary. None if nothing can be said: too few draws.
until_reached <- function(until, table) {
  good <- function(found, enough) {
    found <- found[!is.na(found)]
    length(found) > 0L && all(enough(found))
  }
  (is.null(until$rhat) || good(table$rhat, function(x) x <= until$rhat)) &&
    (is.null(until$ess) || good(smaller_ess(table), function(x) x >= until$ess))
}

# The next round, or NULL where it would be beyond the cap.
next_round <- function(until, control, first, seconds) {
  done <- control$warmup + control$draws * control$thin
  control$thin <- ceiling(done / control$draws)
  control$warmup <- done
  sweeps <- done + control$draws * control$thin
  speed <- seconds / done
  if (sweeps > (until$sweeps %||% (16 * first)) ||
    seconds + speed * (sweeps - done) > until$seconds) {
    return(NULL)
  }
  control
}

# How many sweeps there are after the last round that the cap leaves.
most_sweeps <- function(until, done, first, seconds) {
  most <- until$sweeps %||% (16 * first)
  speed <- seconds / done
  sweeps <- done
  while (2 * sweeps <= most && 2 * sweeps * speed <= until$seconds) sweeps <- 2 * sweeps
  sweeps
}

# What a round came to, and what is left to the cap.
round_line <- function(name, round, done, most, table, seconds, reached) {
  ess <- smaller_ess(table)
  sprintf(
    "%s(): round %d, %.0f of at most %.0f sweeps a chain%s%s, %s%s", name, round, done, most,
    if (any(!is.na(table$rhat))) sprintf(", R-hat %.3f", max(table$rhat, na.rm = TRUE)) else "",
    if (any(!is.na(ess))) sprintf(", ESS %.0f", min(ess, na.rm = TRUE)) else "",
    format_seconds(seconds),
    if (reached) {
      ": reached"
    } else if (most > done) {
      sprintf("; at most %s more", format_seconds(seconds / done * (most - done)))
    } else {
      ": this is the cap"
    }
  )
}

format_seconds <- function(seconds) {
  if (seconds < 120) {
    sprintf("%.*f s", if (seconds < 9.95) 1L else 0L, seconds)
  } else if (seconds < 7200) {
    sprintf("%.0f min", seconds / 60)
  } else {
    sprintf("%.0f h", seconds / 3600)
  }
}

# The fit's own words of how its rounds ended.
until_line <- function(diagnostics) {
  end <- diagnostics$until
  c(
    if (!is.null(end)) {
      sprintf(
        if (end$reached) {
          "The chains agree: the goal, %s, is reached after %.0f sweeps each."
        } else {
          "The chains do NOT yet agree: the goal, %s, is not reached in %.0f sweeps each."
        }, end$goal, diagnostics$sweeps
      )
    },
    apart_lines(diagnostics, weights = FALSE)
  )
}

# What chains that disagree mean for predictions, with their weights where these are not said beside
# it; NULL where nothing was measured.
apart_lines <- function(diagnostics, weights = TRUE) {
  apart <- diagnostics$apart
  if (is.null(apart)) return(NULL)
  paste0(
    if (weights) sprintf("Predictions average the chains (%s). ", apart$weights),
    sprintf(
      "%s predictions differ by %s of a posterior sd (%s in a tenth of rows).",
      if (weights) "Their" else "The chains'", format_share(apart$size[[1]]),
      format_share(apart$size[[2]])
    ),
    # Fits of before 0.13.0 have none.
    if (!is.null(apart$error)) {
      sprintf(
        " The Monte Carlo error of the average is %s of its sd; more chains lower it.",
        format_share(apart$error)
      )
    }
  )
}

format_share <- function(x) formatC(x, digits = 2, format = "f")

# What was asked for and not reached within the cap.
warn_until <- function(diagnostics) {
  end <- diagnostics$until
  if (end$reached) return(invisible(FALSE))
  table <- diagnostics$table
  ess <- smaller_ess(table)
  bk_warn(
    "convergence", sprintf("The run ended before the chains agreed (%s).", end$goal),
    if (any(!is.na(table$rhat))) {
      sprintf(
        paste("After %.0f sweeps each: largest R-hat %.3f (%s), smallest ESS", "%.0f (%s)."),
        diagnostics$sweeps, max(table$rhat, na.rm = TRUE), table$variable[which.max(table$rhat)],
        min(ess, na.rm = TRUE), table$variable[which.min(ess)]
      )
    },
    apart_lines(diagnostics), raise_cap(diagnostics, end), variables = table$variable
  )
}

# `longer`: the goal for who asks for more than the default, and its cap.
raise_cap <- function(diagnostics, end) {
  longer <- end$longer %||% list(
    text = sprintf("stop_at(%s, sweeps = %.0f)", paste(
      names(end$aims), vapply(end$aims, format, ""), sep = " = ", collapse = ", "
    ), 4 * diagnostics$sweeps),
    sweeps = 4 * diagnostics$sweeps
  )
  sprintf(
    paste(
      "For longer chains: until = %s, up to %.0f sweeps each, here %s;",
      "or control = list(resume = <this fit>)."
    ),
    longer$text, longer$sweeps,
    format_seconds(diagnostics$seconds / diagnostics$sweeps * longer$sweeps)
  )
}
