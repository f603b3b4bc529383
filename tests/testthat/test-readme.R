# README's blocks run without a warning and print the lines that stand below them.

root <- Sys.getenv("BAYESKERNEL_SOURCE", test_path("..", ".."))

numbers <- "-?[0-9]+[.]?[0-9]*(e[-+][0-9]+)?"
words_of <- function(line) trimws(gsub(" +", " ", gsub(numbers, "#", line)))
numbers_of <- function(line) as.numeric(regmatches(line, gregexpr(numbers, line))[[1L]])

# Samplers follow a compiler's last bit: numbers agree to one in twenty.
same_line <- function(stated, printed) {
  words_of(stated) == words_of(printed) && {
    a <- numbers_of(stated)
    b <- numbers_of(printed)
    all(abs(a - b) <= 0.05 * abs(b) + ifelse(grepl("e-", stated), 0, 0.005))
  }
}

blocks_of <- function(lines) {
  start <- which(lines == "```r")
  end <- which(lines == "```")
  lapply(start, function(k) lines[(k + 1L):(min(end[end > k]) - 1L)])
}

test_that("README prints what its code gives", {
  file <- file.path(root, "README.md")
  skip_if_not(file.exists(file), "no README beside the tests")
  skip_if_not_installed("nlme")
  old <- options(width = 80, digits = 3)
  grDevices::pdf(NULL)
  on.exit({
    options(old)
    grDevices::dev.off()
  })
  here <- new.env(parent = globalenv())
  blocks <- Filter(function(block) !any(grepl("install", block[1L])), blocks_of(readLines(file)))
  expect_gte(length(blocks), 6L)
  for (block in blocks) {
    expect_no_warning(printed <- utils::capture.output(
      source(exprs = parse(text = block), local = here, print.eval = TRUE)
    ))
    for (stated in sub("^#> ?", "", grep("^#>", block, value = TRUE))) {
      found <- vapply(printed, same_line, NA, stated = stated)
      expect(any(found), sprintf("README states\n%s\nand its block does not print it", stated))
    }
  }
})
