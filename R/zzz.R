.onLoad <- function(libname, pkgname) {
  remember_process_cpp()
}

.onUnload <- function(libpath) {
  library.dynam.unload("bayeskernel", libpath)
}
