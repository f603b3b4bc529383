# Files of R/ call their own prefix and those before it (ARCHITECTURE.md), by the parse trees of the
# sources.
sources <- Sys.getenv("BAYESKERNEL_SOURCE", test_path("..", ".."))
skip_if_not(file.exists(file.path(sources, "tools", "layers.R")), "the sources are not here")
skip_if_not_installed("codetools")
layers <- new.env()
sys.source(file.path(sources, "tools", "layers.R"), layers)

test_that("every file has a prefix, and none calls a later one", {
  files <- setdiff(list.files(file.path(sources, "R"), "[.]R$"), layers$aside)
  expect_equal(files[is.na(layers$prefix_of(files))], character())
  expect_equal(layers$upward_calls(sources), character())
})

test_that("a call of a later prefix is found, a local name like a function's is not", {
  root <- tempfile()
  on.exit(unlink(root, recursive = TRUE))
  dir.create(file.path(root, "R"), recursive = TRUE)
  writeLines(c(
    "low <- function(x) lapply(x, high)", "local <- function(high) high + 1",
    "same <- function(x) { high <- x; high }"
  ), file.path(root, "R", "arg-a.R"))
  writeLines("high <- function(x) low(x)", file.path(root, "R", "plot-b.R"))
  expect_equal(layers$upward_calls(root), "arg-a.R: low() calls high() of plot-b.R")
})
