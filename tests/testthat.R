library(testthat)
library(bayeskernel)

# With NOT_CRAN=true everything; R CMD check alone runs the files of quick.txt.
quick <- if (!identical(Sys.getenv("NOT_CRAN"), "true")) {
  paste0("^(", paste(readLines("quick.txt"), collapse = "|"), ")$")
}
test_check("bayeskernel", filter = quick)
