# Runs `code` and returns the error of the package that it raises, whose class must say `kind`.
expect_bk_error <- function(code, kind, regexp = NULL) {
  expect_error(code, regexp, class = paste0("bayeskernel_error_", kind))
}

# Code in which a machine may give a class up, where that is not what is tested.
may_give_up <- function(code) suppressWarnings(code, classes = "bayeskernel_warning_given_up")

expect_bk_warning <- function(code, kind, regexp = NULL) {
  expect_warning(code, regexp, class = paste0("bayeskernel_warning_", kind))
}

# How many graphics calls `code` made, its value, and whether it put par() back.
drawn <- function(code) {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  grDevices::dev.control("enable")
  before <- graphics::par("mar", "mfrow", "las", "xpd")
  value <- force(code)
  list(
    calls = length(grDevices::recordPlot()[[1]]), value = value,
    restored = identical(before, graphics::par("mar", "mfrow", "las", "xpd"))
  )
}

# Every text that a plot puts on its device, of a size in inches.
texts <- function(code, size = c(7, 7)) {
  grDevices::pdf(NULL, size[1], size[2])
  on.exit(grDevices::dev.off())
  grDevices::dev.control("enable")
  force(code)
  record <- grDevices::recordPlot()[[1]]
  unlist(lapply(record, function(call) Filter(is.character, as.list(call[[2]])[-1])))
}
