# What `work()`, a function of nothing whose environment is global, answers in a child of R that is
# interrupted `after` seconds from when it has called `ready()`; classes of warnings in `warned`,
# and how long it went on as `seconds` of the processor: a test machine may be busy.
interrupted_work <- function(work, args = list(), after = 1) {
  skip_on_cran()
  skip_on_os("windows")
  skip_if_not_installed("callr")
  home <- dirname(system.file(package = "bayeskernel"))
  skip_if_not(file.exists(file.path(home, "bayeskernel", "Meta")))
  environment(work) <- globalenv()
  signal <- tempfile()
  job <- callr::r_bg(function(home, signal, work, args) {
    library(bayeskernel, lib.loc = home)
    set.seed(1)
    warned <- character()
    fit <- tryCatch(
      withCallingHandlers(
        do.call(work, c(list(function() file.create(signal)), args)),
        warning = function(w) {
          warned <<- c(warned, class(w)[1])
          invokeRestart("muffleWarning")
        }
      ),
      interrupt = function(e) "interrupted",
      bayeskernel_error = function(e) class(e)[1]
    )
    list(fit = fit, warned = warned)
  }, list(home, signal, work, args))
  for (wait in 1:2400) if (!file.exists(signal) && job$is_alive()) Sys.sleep(0.05)
  Sys.sleep(after)
  # Says what it failed of, or what it gave, if it ended before.
  if (!job$is_alive()) stop("ended before it was interrupted: ", class(job$get_result()$fit)[1])
  used <- function() sum(job$get_cpu_times()[c("user", "system")])
  before <- now <- used()
  job$interrupt()
  while (job$is_alive()) {
    now <- tryCatch(used(), error = function(e) now)
    Sys.sleep(0.02)
  }
  c(job$get_result(), seconds = now - before)
}
