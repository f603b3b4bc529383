# The powers at which a support vector machine takes its rows: a learning rate for all, and weights
# of the classes.

# --- classes ------------------------------------------------------------------

# Weights by class: of the levels, `codes` the rows' numbers of classes, 1, 2, ... Balanced ones
# give each of `among` classes the same share of all rows.
class_weights_of <- function(wish, levels, codes, weights, among = 2) {
  if (identical(wish, "none")) return(NULL)
  if (identical(wish, "balanced")) {
    size <- vapply(seq_along(levels), function(k) {
      sum(if (is.null(weights)) codes == k else weights[codes == k])
    }, 1)
    return(stats::setNames(sum(size) / (among * size), levels))
  }
  named <- !is.null(names(wish))
  unknown <- if (named) setdiff(names(wish), levels) else wish
  if (length(unknown)) {
    bk_abort(
      "argument", if (named) {
        "`class_weights` names no class of the response."
      } else {
        "`class_weights` has no names: which class has which weight?"
      },
      paste0("Found: ", list_some(if (named) quoted(unknown) else unknown), "."),
      sprintf(
        "Accepted: numbers named by %s, as c(\"%s\" = 5).", list_some(quoted(levels)), last(levels)
      ),
      column = "class_weights", found = unknown, expected = levels
    )
  }
  out <- stats::setNames(rep(1, length(levels)), levels)
  out[names(wish)] <- wish
  out
}

# --- the linear machine -------------------------------------------------------

# The rows with the powers that class weights make of their weights.
weigh_classes <- function(rows, settings) {
  if (length(rows$y) == 0L) return(rows)
  codes <- 1L + (rows$y > 0)
  wish <- settings$class_weights %||% "none"
  rows$weights_given <- rows$weights_given %||% rows$weights
  rows$class_weights <- class_weights_of(wish, rows$levels, codes, rows$weights)
  if (!is.null(rows$class_weights)) rows$weights <- rows$weights * unname(rows$class_weights)[codes]
  rows
}

# The job with the learning rate in the powers of its rows.
settle_learning_rate <- function(job, rows) {
  settings <- job$settings
  modelled <- models_missing(job)
  rate <- settings$learning_rate %||%
    # At the paper's rate selection lets noise in and predictors with missing values get effects
    # that they do not have. Both go with n (eta sum g^2 - sum h), 0 at the calibrated rate.
    if (is.null(job$data$selection) && !modelled) 1 else "calibrated"
  if (modelled && identical(rate, 1)) warn_rate_of_missing()
  if (identical(rate, "calibrated")) {
    rate <- tryCatch(
      calibrated_rate(rows, settings),
      bayeskernel_error = function(e) {
        if (!is.null(settings$learning_rate)) stop(e)
      }
    )
    job$settings$calibrated <- !is.null(rate)
    rate <- rate %||% typical_rate
  }
  job$data$weights <- rate * job$data$weights
  job$shared$data <- job$data
  job$settings$learning_rate <- rate
  job
}

models_missing <- function(job) !is.null(job$data$holes) || !is.null(job$atoms)

# Where it cannot be found, as with too few complete rows, and nobody asked for it by name: about
# what it is of balanced classes.
typical_rate <- 0.3

warn_rate_of_missing <- function() {
  bk_warn(
    "learning_rate", "Effects of predictors with missing values are exaggerated.",
    "At learning_rate = 1 a predictor without effect, half of it missing,",
    "was excluded from 0 in every one of 30 simulated data sets.",
    paste("Use learning_rate = \"calibrated\", the default with", "missing = \"model\".")
  )
}

# The calibrated learning rate of a linear machine. Expectation propagation at rates from .3 on,
# until the rate is the one that the fit implies. Where columns are selected, with all of them,
# under a common precision of a quarter of their number, and on some of the rows where these are
# many; where missing values are modeled, from the complete rows.
# rows: a design, its weights with those of the classes.
# settings: settled settings of the fit.
# Returns the rate, from .05 to 1.
calibrated_rate <- function(rows, settings) {
  selected <- selected_columns(rows, settings)
  if (!is.null(rows$holes)) rows <- whole_rows(rows)
  settings$class_weights <- "none"
  settings$learning_rate <- 1
  settings$open <- setdiff(settings$open, "method")
  settings$method <- "ep"
  settings[c("tol", "max_iter", "select", "missing")] <- list(0.01, 100, FALSE, "fail")
  if (length(selected)) {
    settings$penalty <- length(selected) / 4
    if (length(selected) > rate_size && length(rows$y) > rate_size) {
      rows <- rate_rows(rows, spread_by_class(rows$y, rate_size))
    }
  }
  job <- linear_job(rows, settings)
  power <- job$data$weights
  job$control$check <- FALSE
  copies <- row_copies(job$design$weights_given %||% job$design$weights, rows$counted)
  settle_rate(function(rate, messages) {
    job$data$weights <- rate * power
    job$control["messages"] <- list(messages)
    withCallingHandlers(run_ep(job), warning = function(w) invokeRestart("muffleWarning"))
  }, function(core) {
    if (is.null(core$influence)) abort_interrupted()
    row_influence(core$influence, copies)
  })
}

# Rows that the rate is calibrated on where more columns than these are selected: what it takes goes
# with the rows' square times the columns.
rate_size <- 500L

# Of each class the same share of the rows, spread evenly over them.
spread_by_class <- function(y, size) {
  share <- size / length(y)
  sort(unlist(lapply(unname(split(seq_along(y), y)), function(own) {
    own[spread_over(length(own), max(10, round(share * length(own))))]
  })))
}

# The rows of a design without missing predictors.
whole_rows <- function(rows) {
  keep <- rows_without_missing(rows$holes)
  if (sum(keep) < 10L || length(unique(rows$y[keep])) < 2L) {
    bk_abort(
      "argument", "There are too few complete rows to calibrate.",
      sprintf("Found: %d rows without missing predictors.", sum(keep)),
      "Give the learning rate as a number: about 0.3.", column = "learning_rate", found = sum(keep)
    )
  }
  rows <- rate_rows(rows, keep)
  rows["holes"] <- list(NULL)
  rows
}

# The rows `keep` of a design.
rate_rows <- function(rows, keep) {
  rows$x <- rows$x[keep, , drop = FALSE]
  for (name in c("y", "weights", "weights_given", "offset", "units")) {
    rows[[name]] <- rows[[name]][keep]
  }
  rows$processes <- lapply(rows$processes, take_process, keep)
  rows$random <- lapply(rows$random, take_term, keep)
  rows
}

# --- the nonlinear machine ----------------------------------------------------

# Rows as the core reads them, with the weights of the classes: of one machine, or of each class's
# against the rest, which "balanced" makes equal in weight.
weigh_machines <- function(data, rows, settings) {
  wish <- settings$class_weights %||% "none"
  if (identical(wish, "none") || length(rows$y) == 0L) return(data)
  codes <- rows$y + 1
  own <- row_powers(data)
  weights <- class_weights_of(wish, rows$levels, codes, rows$weights)
  data$class_weights <- weights
  if (length(weights) > 2L && identical(wish, "balanced")) {
    total <- sum(own)
    data$machine_weights <- lapply(seq_along(weights), function(k) {
      size <- sum(own[codes == k])
      own * ifelse(codes == k, total / (2 * size), total / (2 * (total - size)))
    })
  } else {
    data$weights <- own * unname(weights)[codes]
  }
  data
}

# Times the rate.
scale_powers <- function(data, rate) {
  if (rate == 1) return(data)
  n <- if (data$type == "file") data$rows else length(data$labels)
  data$weights <- rate * if (length(data$weights)) data$weights else rep(1, n)
  if (length(data$machine_weights)) data$machine_weights <- lapply(data$machine_weights, `*`, rate)
  data
}

most_calibrated <- 20000L

# The rate that fits at a process imply, all machines together; of many rows those of a sample.
calibrated_process_rate <- function(process, rows, data, settings) {
  labels <- machine_labels(rows$levels, data_positive(data))
  if (data$type == "file" || rows$n > most_calibrated) {
    sample <- sample_process_rows(data, most_calibrated, settings$seed)
    few <- sample_data(sample$x, sample$labels)
    if (length(data$weights)) few$weights <- data$weights[sample$row]
    few$machine_weights <- lapply(data$machine_weights, `[`, sample$row)
    data <- few
    settings$exact <- FALSE
  }
  settings[c("method", "keep", "progress", "tol", "max_iter", "cluster")] <-
    list("ep", TRUE, FALSE, 1e-3, 100L, NULL)
  settings$nugget <- process$nugget
  control <- gpsvm_core_control(settings, labels)
  kernel <- kernel_to_core(process$kernel, nrow(process$z))
  copies <- if (length(rows$weights) && nrow(data$x) == rows$n) {
    row_copies(rows$weights, rows$counted)
  } else {
    1
  }
  fit_at <- function(rate, messages) {
    data <- scale_powers(data, rate)
    control$machine_weights <- data$machine_weights
    core <- gpsvm_fit_cpp(data, kernel, process$z, control)
    if (inherits(core, "bayeskernel_core_error") && core$kind == "numeric") {
      control$method <- "vb"
      core <- gpsvm_fit_cpp(data, kernel, process$z, control)
    }
    core <- core_call(core)
    if (isTRUE(core$interrupted)) abort_interrupted()
    core
  }
  settle_rate(fit_at, function(core) {
    parts <- lapply(core$fits, function(fit) row_influence(fit$influence, copies))
    lapply(
      stats::setNames(nm = names(parts[[1L]])), function(name) unlist(lapply(parts, `[[`, name))
    )
  })
}

# --- what print() says --------------------------------------------------------

rate_fact <- function(object) {
  rate <- object$learning_rate
  if (is.null(rate)) return(NULL)
  paste0(format(rate, digits = 3), if (isTRUE(object$calibrated)) ", calibrated")
}

class_weights_fact <- function(object) {
  weights <- object$class_weights
  paste(names(weights), format(weights, digits = 3, trim = TRUE), collapse = ", ")
}

sandwich_fact <- function(object) {
  if (is.null(object$sandwich)) return(NULL)
  if (vcov_type(object) == "sandwich") {
    return(if (anyNA(object$sandwich$cov)) {
      "none"
    } else {
      sprintf("sandwich, by %s", object$sandwich$by)
    })
  }
  paste0(
    "of the posterior", if (is.null(object$sandwich$cov)) {
      sprintf(" (no sandwich with %s)", object$sandwich$why)
    }, if (isTRUE(object$learning_rate > 0.75) &&
      !grepl("separates", object$sandwich$why %||% "")) {
      ", about half of what they should be"
    }
  )
}

given_up_note <- function(object) {
  paste0(
    "Class ", list_some(quoted(object$given_up)), " is hardly ever predicted: slopes ",
    if (anyNA(object$sandwich$cov)) {
      "have no standard errors with this method"
    } else {
      "say little of its rows"
    },
    ". Use class_weights = \"balanced\", or bkm()."
  )
}

few_groups_note <- function(object) {
  groups <- object$sandwich$groups
  if (vcov_type(object) == "sandwich" && isTRUE(groups > 0 && groups < 20)) {
    sprintf("Standard errors from %d groups are rough, and too small.", groups)
  }
}

# The likelihood that is too sure of its rows is so of its groups.
inflated_note <- function(object) {
  if (is_pseudo(object) && has_groups(object) && isTRUE(object$learning_rate > 0.75)) {
    paste(
      "The sd of the groups is inflated at learning_rate = 1; see",
      "help(\"svm-posterior\"). learning_rate = \"calibrated\" with",
      "class_weights = \"balanced\" corrects it."
    )
  }
}
