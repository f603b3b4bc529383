# New rows for gpsvm().

# New rows for a fit, as the core reads them: `complete` tells those that have
# everything.
gpsvm_new_rows <- function(object, newdata, call = user_call()) {
  if (object$design$type == "kernel") {
    x <- new_kernel_rows(object, newdata, call)
    complete <- which(is.finite(rowSums(x)))
  } else {
    if (is_sparse(newdata)) newdata <- as.matrix(newdata)
    new <- design_new(object$design, newdata, call = call)
    complete <- which(new$complete)
    x <- new$x[complete, object$used, drop = FALSE]
    n <- length(new$complete)
    return(list(data = new_data(object, x), complete = complete, n = n))
  }
  list(
    data = new_data(object, x[complete, , drop = FALSE]), complete = complete,
    n = nrow(x)
  )
}

new_data <- function(object, x) {
  storage.mode(x) <- "double"
  list(
    type = "matrix", x = unname(x), labels = numeric(), weights = numeric(),
    source = seq_len(ncol(x)), center = unname(object$transform$center),
    scale = unname(object$transform$scale)
  )
}

# Kernel values of new rows with the training rows, and of each with itself.
new_kernel_rows <- function(object, newdata, call) {
  n <- object$design$rows
  if (!is.matrix(newdata) || !is.numeric(newdata) ||
    !(ncol(newdata) %in% c(n, n + 1L))) {
    abort_argument(
      newdata, "newdata", sprintf(paste(
        "a matrix of kernel values with the %d training rows, and in column",
        "%d those of the new rows with themselves, if they vary"
      ), n, n + 1L),
      kind = "dimension", call = call
    )
  }
  if (ncol(newdata) == n) newdata <- cbind(newdata, object$design$diagonal)
  newdata
}
