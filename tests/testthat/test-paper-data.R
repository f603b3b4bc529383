# Files are written here in the formats of their sources, from numbers that the test knows.

local_folder <- function(env = parent.frame()) {
  folder <- new_folder()
  old <- options(bayeskernel.data = folder)
  cache <- Sys.getenv("R_USER_CACHE_DIR", NA)
  Sys.setenv(R_USER_CACHE_DIR = file.path(folder, "cache"))
  data <- Sys.getenv("BAYESKERNEL_DATA", NA)
  Sys.unsetenv("BAYESKERNEL_DATA")
  do.call(on.exit, list(bquote({
    options(.(old))
    if (.(is.na(cache))) {
      Sys.unsetenv("R_USER_CACHE_DIR")
    } else {
      Sys.setenv(R_USER_CACHE_DIR = .(cache))
    }
    if (!.(is.na(data))) Sys.setenv(BAYESKERNEL_DATA = .(data))
    unlink(.(folder), recursive = TRUE)
  }), add = TRUE), envir = env)
  folder
}

new_folder <- function() {
  folder <- tempfile("data")
  dir.create(folder)
  folder
}

write_raw <- function(table, folder, file, sep = ",") {
  utils::write.table(
    table, file.path(folder, file), sep = sep, quote = FALSE, row.names = FALSE, col.names = FALSE
  )
}

test_that("the list says where each set is, and needs none of them", {
  local_folder()
  sets <- paper_data()
  expect_identical(sets$name, names(paper_sets()))
  expect_identical(sets$found[sets$name == "iris"], "package datasets")
  expect_identical(sets$found[sets$name == "acath"], "")
  expect_true(all(nzchar(c(sets$origin, sets$licence))))
})

test_that("what is nowhere is an error that says what to do", {
  local_folder()
  error <- expect_error(suppressMessages(paper_data("acath")), class = "bayeskernel_error_data")
  expect_match(conditionMessage(error), "acath.sav", fixed = TRUE)
  expect_match(conditionMessage(error), "download = TRUE", fixed = TRUE)
  expect_match(conditionMessage(error), "BAYESKERNEL_DATA", fixed = TRUE)
  expect_match(conditionMessage(error), "Vanderbilt", fixed = TRUE)
  expect_lt(nchar(strsplit(conditionMessage(error), "\n")[[1]][1]), 80)
  expect_error(paper_data("x"), class = "bayeskernel_error_argument")
})

test_that("UCI's spam file is the table of kernlab", {
  skip_if_not_installed("kernlab")
  folder <- local_folder()
  utils::data("spam", package = "kernlab", envir = environment())
  raw <- spam
  raw$type <- +(raw$type == "spam")
  write_raw(raw, folder, "spambase.data")
  expect_identical(paper_data()$found[2], folder)
  got <- paper_data("spam")
  expect_equal(as.list(got), as.list(spam))
  # A file that is cut short is refused.
  write_raw(raw[1:100, ], folder, "spambase.data")
  expect_error(paper_data("spam"), class = "bayeskernel_error_data")
  write_raw(raw[, -1], folder, "spambase.data")
  expect_error(paper_data("spam"), class = "bayeskernel_error_data")
})

test_that("raw files of UCI put the response last, and drop what carries none", {
  folder <- local_folder()
  set.seed(1)
  numbers <- function(n, p) round(matrix(stats::rnorm(n * p), n), 3)
  wine <- numbers(178, 13)
  grower <- rep(1:3, c(59, 71, 48))
  write_raw(data.frame(grower, wine), folder, "wine.data")
  got <- paper_data("wine")
  expect_equal(unname(as.matrix(got[1:13])), wine)
  expect_identical(got$class, factor(grower))

  cells <- numbers(569, 30)
  kind <- rep(c("M", "B"), c(212, 357))
  write_raw(data.frame(1:569, kind, cells), folder, "wdbc.data")
  got <- paper_data("wdbc")
  expect_equal(unname(as.matrix(got[1:30])), cells)
  expect_equal(got$malignant, +(kind == "M"))

  echoes <- cbind(rep(0:1, length.out = 351), 0, numbers(351, 32))
  side <- rep(c("g", "b"), c(225, 126))
  write_raw(data.frame(echoes, side), folder, "ionosphere.data")
  got <- paper_data("ionosphere")
  expect_equal(unname(as.matrix(got[1:33])), echoes[, -2])
  expect_equal(got$good, +(side == "g"))

  glass <- data.frame(1:214, numbers(214, 9), rep(c(1, 2, 3, 5, 6, 7), c(70, 76, 17, 13, 9, 29)))
  write_raw(glass, folder, "glass.data")
  got <- paper_data("glass")
  expect_equal(unname(as.matrix(got[1:9])), unname(as.matrix(glass[2:10])))
  expect_identical(as.vector(table(got$Type)), c(70L, 76L, 17L, 13L, 9L, 29L))

  beans <- matrix(sample(0:3, 47 * 35, TRUE), 47)
  beans[, 22:35] <- 1
  write_raw(
    data.frame(beans, rep(paste0("D", 1:4), c(10, 10, 10, 17))), folder, "soybean-small.data"
  )
  got <- paper_data("soybean")
  expect_equal(unname(as.matrix(got[1:21])), beans[, 1:21])
  expect_identical(levels(got$class), paste0("D", 1:4))
})

test_that("StatLib's page of body fat is read between its lines of text", {
  folder <- local_folder()
  set.seed(1)
  table <- round(matrix(stats::runif(252 * 15, 1, 99), 252), 2)
  writeLines(c(
    "Estimates of the percentage of body fat for 252 men.",
    "The variables listed below, from left to right, are:", "",
    paste0("  ", apply(table, 1, paste, collapse = "   ")), "", "Roger W. Johnson"
  ), file.path(folder, "bodyfat"))
  got <- paper_data("bodyfat")
  expect_equal(unname(as.matrix(got)), table[, c(1, 3:15, 2)])
  expect_identical(names(got)[15], "bodyfat")
})

test_that("feature spaces of numerals are read from blanks and from commas", {
  folder <- local_folder()
  set.seed(1)
  spaces <- lapply(c(4, 3, 5, 2), function(p) matrix(stats::rnorm(20 * p), 20))
  files <- file.path(folder, c("a", "b", "c", "d"))
  for (k in 1:3) write_raw(format(spaces[[k]], digits = 15), folder, c("a", "b", "c")[k], " ")
  utils::write.csv(data.frame(spaces[[4]], class = rep(0:9, each = 2)), files[4], row.names = FALSE)
  got <- papers_code("data-sets.R")$read_mfeat(stats::setNames(files, c("f", "k", "p", "z")))
  expect_equal(unname(unclass(got$p)), spaces[[3]], ignore_attr = TRUE)
  expect_equal(unname(unclass(got$z)), spaces[[4]], ignore_attr = TRUE)
  expect_identical(got$class, factor(rep(0:9, each = 2)))
})

test_that("rows of SUSY keep their order, and their low-level columns", {
  folder <- local_folder()
  set.seed(1)
  raw <- cbind(rep(0:1, 505), matrix(stats::rnorm(1010 * 18), 1010))
  file <- file.path(folder, "SUSY.csv.gz")
  connection <- gzfile(file, "w")
  utils::write.table(raw, connection, sep = ",", row.names = FALSE, col.names = FALSE)
  close(connection)
  got <- papers_code("data-sets.R")$read_susy(file)
  expect_identical(got$y, rep(c(-1L, 1L), 505))
  expect_equal(got$lepton1_pt, as.vector(scale(raw[, 2])))
  expect_equal(sum(got$set == "test"), 1000)
})

test_that("acath in an R image is checked by its content", {
  folder <- local_folder()
  set.seed(1)
  acath <- data.frame(
    sex = 0:1, age = 30, cad.dur = 1, choleste = NA, sigdz = 1, tvdlm = 1
  )[rep(1:2, 1752), ]
  save(acath, file = file.path(folder, "acath.sav"))
  got <- papers_code("data-sets.R")$read_acath_image(file.path(folder, "acath.sav"))
  expect_identical(got, acath)
  error <- expect_error(paper_data("acath"), class = "bayeskernel_error_data")
  expect_match(conditionMessage(error), "MD5", fixed = TRUE)
})

test_that("all loads of a balance are made: 288 left, 49 even, 288 right", {
  got <- paper_data("balance")
  expect_identical(as.vector(table(got$class)), c(49L, 288L, 288L))
  even <- got$left_weight * got$left_distance == got$right_weight * got$right_distance
  expect_identical(got$class == "B", even)
})

test_that("a file is fetched once, into the cache, with origin and MD5 sum", {
  folder <- local_folder()
  options(bayeskernel.data = NULL)
  set.seed(1)
  source <- file.path(folder, "wine.raw")
  wine <- data.frame(rep(1:3, c(59, 71, 48)), matrix(round(stats::rnorm(178 * 13), 2), 178))
  write_raw(wine, folder, "wine.raw")
  sets <- paper_sets()
  sets$wine$package <- NULL
  sets$wine$url <- c(wine.data = paste0("file://", source))
  home <- asNamespace("bayeskernel")
  before <- paper_sets
  unlockBinding("paper_sets", home)
  assign("paper_sets", function() sets, home)
  on.exit(assign("paper_sets", before, home), add = TRUE)
  expect_error(
    suppressMessages(paper_data("wine", download = FALSE)), class = "bayeskernel_error_data"
  )
  said <- testthat::capture_messages(got <- paper_data("wine", download = TRUE))
  expect_match(said[1], "CC BY 4.0", fixed = TRUE)
  expect_match(said[2], unname(tools::md5sum(source)), fixed = TRUE)
  unlink(source)
  expect_silent(again <- paper_data("wine", download = FALSE))
  expect_identical(again, got)
  # A source that is gone leaves nothing behind.
  unlink(file.path(data_cache(), "wine.data"))
  expect_error(
    suppressMessages(paper_data("wine", download = TRUE)), class = "bayeskernel_error_data"
  )
  expect_length(dir(data_cache()), 0)
})
