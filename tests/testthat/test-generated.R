# Generated calls run in a process of their own, so that one that crashes or hangs is named;
# run_generated() with other seeds and numbers goes further.

test_that("whatever comes in, a call answers or says what is wrong", {
  skip_if_not_installed("callr")
  skip_on_cran()
  long <- identical(Sys.getenv("BAYESKERNEL_SLOW"), "true")
  log <- tempfile()
  home <- normalizePath(".")
  for (seed in 1) {
    found <- tryCatch(
      callr::r(
        function(home, seed, numbers, log) {
          library(bayeskernel)
          options(bayeskernel.threads = 1, bayeskernel.progress = FALSE)
          source(file.path(home, "helper-generated.R"))
          run_generated(seed, numbers, log = log)
        },
        list(home, seed, seq_len(if (long) 400L else 250L), log),
        wd = tempdir(), timeout = 600
      ),
      error = function(e) paste("call", readLines(log), conditionMessage(e))
    )
    expect_null(found)
  }
})
