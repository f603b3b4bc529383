# The fit object: a plain list that saveRDS() keeps whole. What every fit has
# comes from the rows, the settings and the call; a model adds its own.

#' A fit from its parts
#'
#' @param model The facts of the model, see model_of().
#' @param call The user's call.
#' @param rows Rows as the readers give them, of which the fit keeps what
#'   prediction and the row methods need.
#' @param settings Checked settings.
#' @param ... Further elements, or others in place of the common ones.
#' @return A list of class `c(<model>, "bayeskernel_fit")`.
#' @noRd
new_fit <- function(model, call, rows, settings, ...) {
  common <- c(
    list(call = call),
    pick(rows, c(
      "formula", "terms", "xlevels", "contrasts", "levels", "response"
    )),
    pick(settings, c("method", "prior")),
    list(
      transform = rows[intersect(c("center", "scale"), names(rows))],
      seed = settings$seed
    ),
    pick(rows, c("n", "dropped")), list(design = rows$info),
    pick(rows, c("used", "columns", "na.action", "y", "weights", "share")),
    list(version = utils::packageVersion("bayeskernel"))
  )
  given <- list(...)
  common[names(given)] <- given
  structure(common, class = c(model$name, "bayeskernel_fit"))
}

# Elements by name; NULL where there is none.
pick <- function(x, names) {
  stats::setNames(lapply(names, function(name) x[[name]]), names)
}

# R has this from 4.4.
`%||%` <- function(x, y) if (is.null(x)) y else x

# Checks what a fit from a file says about itself, before the core reads it.
validate_fit <- function(fit, model = model_of(fit)) {
  fit
}
