# Objects of this package are lists that anything may have changed since they were made, and are
# read from files that something else has written. What they break inside a function is an error of
# the package, too: no error of base R leaves it. Functions check what they are given at the door;
# this is the net below.

# `code` is the body of a function that users call, or of a method.
guarded <- function(code, method = FALSE) {
  at <- user_frame()
  caller <- sys.parent()
  withCallingHandlers(
    {
      # A generic of this package is the frame before.
      if (method && caller - at <= 1L) check_not_torn(caller)
      code
    },
    error = function(e) {
      if (inherits(e, "bayeskernel_error")) {
        return()
      }
      call <- typed_at(at)
      if (from_argument(e, at, sys.nframe())) {
        # The user's own conditions keep their classes.
        if (!identical(class(e), class(simpleError("")))) {
          return()
        }
        bk_abort(
          "argument", sprintf("An argument of %s() cannot be computed.", called_name(call)),
          conditionMessage(e), found = e, call = call
        )
      }
      bk_abort(
        "argument",
        sprintf("%s() cannot use what it was given.", called_name(call)),
        c(
          conditionMessage(e), "A fit, or another object, that was changed has to be made again.",
          paste("If nothing was changed, and no argument is odd, this is an error", "of ours.")
        ),
        found = e, call = call
      )
    }
  )
}

# The fit that the method in this frame is given: its first argument, which dispatch has looked at.
check_not_torn <- function(frame) {
  fit <- sys.frame(frame)[[names(formals(sys.function(frame)))[1]]]
  if (!inherits(fit, "bayeskernel_fit")) {
    return(invisible())
  }
  torn <- torn_element(fit)
  if (!is.null(torn)) abort_not_whole(torn)
}

# Arguments are computed where they are first used. Was error `e`, which the function in frame
# `handler` looks at, raised by one of those that the user typed in the call of frame `at`?
from_argument <- function(e, at, handler) {
  typed <- generic_frame(at)
  last <- handler - 1L
  if (identical(sys.function(last), base::.handleSimpleError)) last <- last - 1L
  inner <- seq_len(max(last - at, 0L)) + at
  if (any(sys.parents()[inner] < typed)) {
    return(TRUE)
  }
  # Names that are not there, and calls that do not match, have no frame.
  parts <- as.list(sys.call(typed))[-1]
  parts <- Filter(function(part) {
    (is.call(part) && !identical(part[[1]], quote(`~`))) ||
      (is.symbol(part) && nzchar(as.character(part)))
  }, parts)
  caller <- sys.frame(sys.parents()[typed])
  names <- unlist(lapply(parts, all.names))
  absent <- names[!vapply(names, exists, NA, envir = caller)]
  any(vapply(parts, identical, NA, conditionCall(e))) ||
    any(vapply(absent, grepl, NA, x = conditionMessage(e), fixed = TRUE))
}

# Methods run in the frame that their generic makes for them: dispatch itself is left alone.
local({
  home <- topenv()
  models <- c("bsvm", "bkm", "gpsvm", "bark", "mkprobit", "seqkr", "klr")
  classes <- c(
    "bayeskernel_fit", models, paste0(models, "_prior"), paste0(models, "_control"), "hinge",
    "formula", "default", "row_source", "character", "DBIConnection", "bayeskernel_kernel",
    "inclusion_path", "levy", "markov", "ranef_bayeskernel", "bayeskernel_varcorr",
    "klr_projection", "bayeskernel_exposure", "bayeskernel_terms", "bayeskernel_anova",
    "cavity_loo", "combined_classifiers", grep("^summary\\.", ls(home), value = TRUE)
  )
  generics <- c(
    "VarCorr", "anova", "as.array", "as.data.frame", "as.matrix", "as.mcmc", "as.mcmc.list",
    "as_draws", "augment", "bark", "bkm", "bsvm", "coef", "compare_terms", "exposure", "mkprobit",
    "kernel_weights", "confint", "deviance", "elbo", "ess_bulk", "ess_tail", "extend", "family",
    "fitted", "fixef", "format", "formula", "glance", "gpsvm", "imputed", "klr", "projection",
    "inclusion", "log_lik", "log_evidence", "loo", "logLik", "model.frame", "model.matrix",
    "neff_ratio", "ngrps", "nobs", "plot", "posterior_epred", "posterior_interval",
    "posterior_linpred", "posterior_predict", "pp_check", "predict", "print", "prior_summary",
    "ranef", "residuals", "rhat", "row_source", "seqkr", "sigma", "simulate", "summary", "terms",
    "tidy", "update", "vcov", "weights"
  )
  plain <- c(
    "auc", "balanced_error", "brier_score", "log_loss", "calibration", "kernel_matrix",
    "kernel_parameters", "levy", "markov", "inclusion_path", paste0(models, "_prior"),
    paste0(models, "_control"), "hinge", "rbf", "matern", "periodic", "linear", "polynomial",
    "categorical", "basis", "stop_at", "combine_classifiers", "unit_low_rank", "unit_precision"
  )
  methods <- outer(generics, classes, paste, sep = ".")
  for (name in intersect(c(methods, plain), ls(home))) {
    f <- get(name, home)
    body(f) <- call("guarded", body(f), name %in% methods)
    assign(name, f, home)
  }
})
