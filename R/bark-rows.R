# Rows of fits and new rows for bark().

# The rows of a fit; those that na.exclude took out come back as NA.
bark_own_rows <- function(object) {
  at <- stats::napredict(object$na.action, seq_len(object$n))
  list(
    x = object$posterior$x, complete = which(!is.na(at)), n = length(at)
  )
}

# New rows for a fit, on the scale of the model: those with all predictors.
bark_new_rows <- function(object, newdata, call = user_call()) {
  new <- design_new(object$design, newdata, call = call)
  complete <- which(new$complete)
  list(
    x = scaled_rows(
      new$x[complete, object$used, drop = FALSE], object$transform$center,
      object$transform$scale
    ),
    complete = complete, n = length(new$complete)
  )
}
