# Parts of the core that only tests call: cpp/<name>.cpp against the headers of
# the installed package, compiled when a test first asks. R CMD check hides
# packages that are only linked to, and CRAN's machines have better to do.
test_cores <- new.env()

test_core <- function(name) {
  testthat::skip_on_cran()
  if (is.null(test_cores[[name]])) {
    compiler <- system2(
      file.path(R.home("bin"), "R"), c("CMD", "config", "CXX17"),
      stdout = TRUE
    )
    program <- strsplit(compiler, " ")[[1]][1]
    testthat::skip_if(
      is.na(program) || !nzchar(Sys.which(program)), "there is no compiler"
    )
    core <- new.env()
    Rcpp::sourceCpp(
      testthat::test_path("cpp", paste0(name, ".cpp")),
      env = core
    )
    test_cores[[name]] <- core
  }
  test_cores[[name]]
}
