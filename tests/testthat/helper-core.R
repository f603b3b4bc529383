# Parts of the core that only tests call: cpp/<name>.cpp, compiled when a test first asks, with the
# core as a library (tests/cpp/core). The sources of the core are those of the tree of
# BAYESKERNEL_SOURCE, by default the one that the tests are in, and are compiled into
# BAYESKERNEL_CORE, else beside the tests of C++.
test_cores <- new.env()

core_library <- function() {
  source <- Sys.getenv("BAYESKERNEL_SOURCE", testthat::test_path("..", ".."))
  maker <- file.path(source, "tests", "cpp", "core")
  testthat::skip_if_not(file.exists(maker), "the sources of the core are not here")
  folder <- Sys.getenv("BAYESKERNEL_CORE", file.path(source, "tests", "cpp", "build", "core"))
  dir.create(folder, showWarnings = FALSE, recursive = TRUE)
  folder <- normalizePath(folder)
  headers <- system2("sh", c(shQuote(maker), shQuote(folder), "package"), stdout = TRUE)
  if (!is.null(attr(headers, "status"))) stop("the core does not compile")
  c(PKG_CPPFLAGS = headers, PKG_LIBS = shQuote(file.path(folder, "libbayeskernel.a")))
}

test_core <- function(name) {
  testthat::skip_on_cran()
  if (is.null(test_cores[[name]])) {
    compiler <- system2(file.path(R.home("bin"), "R"), c("CMD", "config", "CXX17"), stdout = TRUE)
    program <- strsplit(compiler, " ")[[1]][1]
    testthat::skip_if(is.na(program) || !nzchar(Sys.which(program)), "there is no compiler")
    flags <- core_library()
    before <- Sys.getenv(names(flags), NA, names = TRUE)
    on.exit({
      Sys.unsetenv(names(flags))
      if (!all(is.na(before))) do.call(Sys.setenv, as.list(before[!is.na(before)]))
    })
    do.call(Sys.setenv, as.list(flags))
    core <- new.env()
    Rcpp::sourceCpp(testthat::test_path("cpp", paste0(name, ".cpp")), env = core)
    test_cores[[name]] <- core
  }
  test_cores[[name]]
}
