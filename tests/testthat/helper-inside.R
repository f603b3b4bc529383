# Runs code while objects of the package have other values.
with_inside <- function(values, code) {
  inside <- asNamespace("bayeskernel")
  put <- function(values) {
    for (name in names(values)) {
      unlockBinding(name, inside)
      assign(name, values[[name]], inside)
      lockBinding(name, inside)
    }
  }
  old <- mget(names(values), inside)
  on.exit(put(old))
  put(values)
  code
}
