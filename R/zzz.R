.onLoad <- function(libname, pkgname) {
  remember_process_cpp()
  if (isNamespaceLoaded("marginaleffects")) announce_classes()
  setHook(packageEvent("marginaleffects", "onLoad"), announce_classes)
}

.onUnload <- function(libpath) library.dynam.unload("bayeskernel", libpath)
