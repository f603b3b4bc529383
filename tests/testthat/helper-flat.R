# A function that fits, with the entries of its control as arguments of its own:
# for functions of tests that hand on what they are given.
flat <- function(fitter) {
  home <- asNamespace("bayeskernel")
  known <- c("bkm", "bsvm", "gpsvm", "mkprobit", "bark", "klr", "seqkr")
  name <- Find(function(name) identical(fitter, get(name, home)), known)
  if (is.null(name)) {
    return(fitter)
  }
  entries <- names(formals(get(paste0(name, "_control"), home)))
  out <- function(...) {
    own <- list()
    for (entry in entries) {
      if (!eval(call("missing", as.name(entry)))) own[entry] <- list(get(entry))
    }
    if (!missing(control)) own[names(control)] <- unclass(control)
    call <- quote(fitter(...))
    if (length(own)) call$control <- own
    fit <- eval(call)
    # As it was typed here, not ..1, ..2.
    typed <- as.list(substitute(list(...)))[-1L]
    for (k in seq_along(fit$call)) {
      name <- fit$call[[k]]
      if (is.name(name) && grepl("^[.][.][0-9]+$", name)) {
        fit$call[[k]] <- typed[[as.integer(sub("..", "", name, fixed = TRUE))]]
      }
    }
    fit
  }
  added <- c(entries, "control")
  formals(out) <- c(
    alist(... = ),
    stats::setNames(rep(list(quote(expr = )), length(added)), added)
  )
  out
}
