.onLoad <- function(libname, pkgname) {
  remember_process_cpp()
  late <- list(
    marginaleffects = announce_classes, parsnip = register_parsnip,
    caret = register_calibration
  )
  for (package in names(late)) {
    if (isNamespaceLoaded(package)) late[[package]]()
    setHook(packageEvent(package, "onLoad"), late[[package]])
  }
}

.onUnload <- function(libpath) library.dynam.unload("bayeskernel", libpath)

# This file is read last: tables of functions of other files are made now, not by the first fit.
invisible(mget(ls(environment(), pattern = "_(model|arguments)$"), environment()))
