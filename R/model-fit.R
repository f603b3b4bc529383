# The fit object: a plain list that saveRDS() keeps whole. What every fit has comes from the rows,
# the settings and the call; a model adds its own.

# A fit from its parts.
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
