# A function that fits, with the entries of its control as arguments of its own: for functions of
# tests that hand on what they are given.
flat <- function(fitter) {
  home <- asNamespace("bayeskernel")
  known <- c("bkm", "bsvm", "gpsvm", "mkprobit", "bark", "klr", "seqkr")
  name <- Find(function(name) identical(fitter, get(name, home)), known)
  if (is.null(name)) return(fitter)
  entries <- setdiff(names(formals(get(paste0(name, "_control"), home))), "...")
  added <- c(entries, "control")
  out <- function(...) {
    own <- list()
    for (entry in entries) {
      if (!eval(call("missing", as.name(entry)))) own[entry] <- list(get(entry))
    }
    if (!missing(control)) own[names(control)] <- unclass(control)
    call <- quote(fitter(...))
    if (length(own)) call$control <- own
    fit <- eval(call)
    # As it was typed here, not ..1, ..2; what was handed on stays that.
    typed <- as.list(sys.call())[-1L]
    own <- names(typed) %in% added
    if (any(own)) typed <- typed[!own]
    handed <- Position(function(x) identical(x, quote(...)), typed)
    more <- ...length() - length(typed)
    for (k in seq_along(fit$call)) {
      name <- fit$call[[k]]
      if (!is.name(name) || !grepl("^[.][.][0-9]+$", name)) next
      at <- as.integer(sub("..", "", name, fixed = TRUE))
      if (is.na(handed) || at < handed) {
        fit$call[[k]] <- typed[[at]]
      } else if (at > handed + more) {
        fit$call[[k]] <- typed[[at - more]]
      }
    }
    fit
  }
  empty <- stats::setNames(rep(list(quote(expr = )), length(added)), added) # nolint
  formals(out) <- c(alist(... = ), empty) # nolint
  out
}
