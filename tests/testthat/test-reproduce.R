with_replaced <- function(name, value, code) {
  home <- asNamespace("bayeskernel")
  before <- get(name, home)
  unlockBinding(name, home)
  on.exit(assign(name, before, home))
  assign(name, value, home)
  force(code)
}

test_that("a verdict weighs both errors and the last printed digit", {
  # Half a unit of 0.26 is 0.005; errors of 0.03 and 0.04 make 0.05.
  expect_identical(verdict(0.364, 0.03, "0.26", "0.04", "lower"), "agrees")
  expect_identical(verdict(0.366, 0.03, "0.26", "0.04", "lower"), "worse")
  expect_identical(verdict(0.154, 0.03, "0.26", "0.04", "lower"), "better")
  expect_identical(verdict(0.366, 0.03, "0.26", "0.04", "higher"), "better")
  expect_identical(verdict(0.366, 0.03, "0.26", "0.04", ""), "differs")
  # An error of 0 is of a number that nothing random is in; that of one run is not known.
  expect_identical(verdict(0.2649, 0, "0.26", "", "lower"), "agrees")
  expect_identical(verdict(0.2651, 0, "0.26", "", "lower"), "worse")
  expect_identical(verdict(0.26, NA, "0.26", "", "lower"), "undecided")
  expect_identical(verdict(3, NA, "", "", "lower"), "")
  # Errors of 0.13 are half of 0.26; a claim of no difference is about them.
  expect_identical(verdict(0.3, 0.129, "0.26", "", "lower"), "agrees")
  expect_identical(verdict(0.3, 0.131, "0.26", "", "lower"), "undecided")
  expect_identical(verdict(0.1, 0.06, "0.00", "", ""), "agrees")
  # Claims in words: beyond two standard errors on the right or on the wrong side.
  expect_identical(verdict(-0.1, 0.04, "<0", "", "lower"), "agrees")
  expect_identical(verdict(-0.1, 0.06, "<0", "", "lower"), "undecided")
  expect_identical(verdict(0.1, 0.06, "<0", "", "lower"), "undecided")
  expect_identical(verdict(-0.1, 0.06, ">0", "", "lower"), "undecided")
  expect_identical(verdict(0.1, 0.06, ">0", "", "lower"), "undecided")
  expect_identical(verdict(0.1, 0.04, "<0", "", "lower"), "worse")
  expect_identical(verdict(-0.1, 0.04, ">0", "", "higher"), "worse")
  expect_identical(verdict(0.7, 0, ">0.5", "", ""), "agrees")
  expect_identical(verdict(0.4, 0, ">0.5", "", ""), "differs")
  expect_identical(verdict(0.7, NA, ">0.5", "", ""), "undecided")
})

test_that("a mean that is printed without an error has ours, for as many repetitions", {
  printed <- data.frame(
    item = "i", quantity = c("a", "b", "c"), paper = c("4.5", "4.5", "<4.5"),
    se = c("", "0.01", ""), better = "", where = c("T", "T; one fit", "T"), note = ""
  )
  result <- data.frame(quantity = c("a", "b", "c"), ours = c(4.8, 4.8, 4.2), mc_error = 0.12)
  # 0.3 is above 2 * 0.12 + 0.05 and below 2 * sqrt(2) * 0.12 + 0.05.
  expect_identical(compared(result, printed)$verdict, c("differs", "differs", "agrees"))
  got <- compared(result, printed, 1)
  expect_identical(got$verdict, c("agrees", "differs", "agrees"))
  expect_equal(attr(got, "error"), 0.12 * sqrt(c(2, 1 + 1 / 144, 1)))
  expect_identical(attr(got, "remark"), c("", "one fit", ""))
  about <- list(repetitions = c(quick = 5, paper = 20))
  expect_equal(error_share(about, "quick"), c(quick = 0.5))
  expect_identical(error_share(list(), "quick"), NA_real_)
})

# The calls of pick() in an expression whose two larger sizes are not the same.
differing_picks <- function(code) {
  if (!is.call(code)) return(NULL)
  own <- identical(code[[1]], quote(pick)) && !identical(code[[3]], code[[4]])
  parts <- Filter(function(part) nzchar(deparse1(part)), as.list(code))
  c(if (own) list(code), unlist(lapply(parts, differing_picks), recursive = FALSE))
}

# Functions by name, and which of them another piece of code reaches.
defined_in <- function(file) {
  code <- as.list(parse(file, keep.source = FALSE))
  stats::setNames(code, vapply(code, function(part) deparse1(part[[2]]), ""))
}
reached <- function(code, helpers) {
  found <- character()
  repeat {
    used <- unlist(lapply(c(code, helpers[found]), all.names))
    more <- setdiff(intersect(used, names(helpers)), found)
    if (!length(more)) return(helpers[found])
    found <- c(found, more)
  }
}

test_that("items say what their sizes are where these differ", {
  helpers <- defined_in(papers_file("helpers.R"))
  helpers$pick <- NULL
  items <- reproduce()
  differ <- given <- logical(nrow(items))
  for (k in seq_len(nrow(items))) {
    script <- defined_in(papers_file(items$paper[k], paste0(items$item[k], ".R")))
    about <- load_item(items$paper[k], items$item[k])$about
    picks <- lapply(c(script, reached(script, helpers)), differing_picks)
    differ[k] <- length(unlist(picks)) > 0
    given[k] <- !is.null(about$sizes)
    if (!given[k]) next
    expect_named(about$sizes, c("quick", "paper"))
    # The numbers of repetitions are in the text, as they are in the code.
    code <- paste(vapply(script, deparse1, ""), collapse = " ")
    loops <- regmatches(code, gregexpr("(seq_len|repeated)[(]pick[(][0-9, ]+", code))[[1]]
    for (loop in loops) {
      count <- tail(strsplit(gsub("[^0-9,]", "", loop), ",")[[1]], 2)
      if (count[1] == count[2]) next
      for (size in 1:2) expect_match(about$sizes[[size]], paste0("\\b", count[size], "\\b"))
    }
    for (size in names(about$repetitions)) {
      expect_match(about$sizes[[size]], sprintf("^%d ", about$repetitions[[size]]))
    }
  }
  all <- paste(items$paper, items$item)
  expect_identical(all[given & !differ], character())
  expect_identical(all[differ & !given], character())
  # They are shown.
  expect_identical(items$quick_runs[items$item == "table7"], "15 of 50 trials")
  x <- reproduce("damoulas2009", "table7", size = "stored")
  expect_output(print(x), "size quick (15 of 50 trials), seed 1", fixed = TRUE)
})

test_that("the beginning of several names is all of them", {
  x <- reproduce("wenzel2017", "table1", size = "stored")
  expect_identical(names(x), grep("^table1_", reproduce("wenzel2017")$item, value = TRUE))
  expect_identical(x$table1_heart, reproduce("wenzel2017", "table1_heart", size = "stored"))
  # A name itself, and no part of a word or number.
  expect_s3_class(reproduce("damoulas2009", "table1", size = "stored"), "reproduction")
  expect_length(items_of("ouyang2008", "table3"), 12)
  expect_error(reproduce("wenzel2017", "tab"), class = "bayeskernel_error_argument")
  expect_error(plot(reproduce("wenzel2017")), class = "bayeskernel_error_argument")
})

test_that("numbers have as many places as two digits of their error", {
  expect_identical(
    number_text(c(-0.00553, 0.28612, 123.456, 4, 1.23456), c(0.00203, 0.0996, 12.3, 0, NA), 3),
    c("-0.0055", "0.29", "123", "4", "1.23")
  )
  expect_identical(number_text(c(0.0996, 12.3), c(0.0996, 12.3), 3), c("0.10", "12"))
  expect_identical(number_text(-0.001, 0.1, 3), "0.00")
})

test_that("all items are listed, with cost and data, and have a script", {
  items <- reproduce()
  expect_gte(nrow(items), 60)
  expect_false(anyDuplicated(paste(items$paper, items$item)) > 0)
  expect_true(all(nzchar(items$title)) && all(nzchar(items$where)))
  expect_true(all(items$quick <= 5))
  sets <- unlist(strsplit(items$data, ", "))
  expect_true(all(sets %in% paper_data()$name))
  for (paper in unique(items$paper)) {
    printed <- read_as_text(papers_file(paper, "published.csv"))
    own <- items$item[items$paper == paper]
    expect_identical(setdiff(printed$item, own), character())
    expect_false(anyDuplicated(printed[c("item", "quantity")]) > 0)
    expect_true(all(nzchar(printed$where)))
    expect_identical(reproduce(paper)$item, own)
  }
})

test_that("other names are refused, and data that are missing are asked for", {
  expect_error(reproduce("luts"), class = "bayeskernel_error_argument")
  expect_error(reproduce("luts2014", "x"), class = "bayeskernel_error_argument")
  old <- Sys.getenv("BAYESKERNEL_DATA", NA)
  Sys.unsetenv("BAYESKERNEL_DATA")
  on.exit(if (!is.na(old)) Sys.setenv(BAYESKERNEL_DATA = old))
  skip_if(nzchar(where_is("heart")))
  expect_error(reproduce("wenzel2017", "table1_heart"), class = "bayeskernel_error_data")
  expect_false(with(reproduce("wenzel2017"), ready[item == "table1_heart"]))
})

test_that("an item gives the paper's numbers, ours, and verdicts", {
  set.seed(3)
  before <- .Random.seed
  x <- run_item("vermaak2004", "figure1_fit", "tiny", 1L, 1L)
  expect_identical(.Random.seed, before)
  expect_s3_class(x, "reproduction")
  expect_named(x, c("quantity", "paper", "ours", "mc_error", "verdict", "note"))
  # Table 1's example of the paper: error 0.0309 with 6.18 kernels.
  expect_identical(x$paper[1:2], c(0.0309, 6.18))
  expect_identical(x$verdict, c("undecided", "undecided", "not run", "not run"))
  expect_match(x$note[1:2], "One fit of another set")
  # The same by hand.
  set.seed(101)
  at <- seq(-10, 10, length.out = 50)
  y <- sin(at) / at + rnorm(50, sd = 0.1)
  fit <- suppressWarnings(seqkr(
    cbind(x = at), y, kernel = rbf(1.6 / sqrt(2)), moves = "corrected", standardize = FALSE,
    prior = seqkr_prior(lambda = 1, kmax = 50), control = seqkr_control(ess = 1), seed = 1,
    threads = 1
  ))
  new <- seq(-10, 10, length.out = 1000)
  error <- sqrt(mean((predict(fit, cbind(x = new)) - sin(new) / new)^2))
  expect_equal(x$ours[1], error, tolerance = 1e-10)

  expect_output(print(x), "vermaak2004, Figure 1, right", fixed = TRUE)
  expect_s3_class(as.data.frame(x), "data.frame", exact = TRUE)
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  on.exit({
    grDevices::dev.off()
    unlink(file)
  })
  expect_no_error(plot(x))
  attr(x, "raw") <- NULL
  expect_no_error(plot(x))
})

test_that("what differs has a note, or is said to be unexplained", {
  printed <- data.frame(
    item = "i", quantity = c("a", "b", "c"), paper = c("1.0", "1.0", "1.0"),
    se = "", better = "lower", where = "T", note = c("why", "", "why")
  )
  result <- data.frame(quantity = c("a", "b", "c", "d"), ours = c(2, 2, 1, 7), mc_error = 0)
  got <- compared(result, printed)
  expect_identical(got$verdict, c("worse", "worse", "agrees", ""))
  expect_identical(got$note, c("why", "unexplained", "", ""))
  # A number of something else decides nothing, and seconds are of another computer.
  printed$undecided <- c("other data", "", "other data")
  result$quantity[2] <- printed$quantity[2] <- "seconds, b"
  got <- compared(result, printed)
  expect_identical(got$verdict, c("undecided", "", "undecided", ""))
  expect_identical(got$note, c("other data", "", "other data", ""))
})

test_that("what the paper has alone is not run, and a ratio of two times has their error", {
  printed <- data.frame(
    item = "i", quantity = c("seconds, a", "b takes times as long as a", "seconds, c"),
    paper = c("1", "2.0", "9"), se = "", better = "", where = "T", note = c("", "why", "slow")
  )
  result <- data.frame(
    quantity = c("seconds, a", "seconds, b", "b takes times as long as a"), ours = c(2, 8, 4),
    mc_error = c(0.2, 0.4, NA)
  )
  got <- compared(result, printed)
  expect_identical(got$quantity, c(result$quantity, "seconds, c"))
  expect_equal(got$mc_error[3], 4 * sqrt(0.1^2 + 0.05^2))
  expect_identical(got$verdict[3:4], c("differs", "not run"))
  expect_identical(got$note[3:4], c("why", "slow"))
  expect_identical(c(got$paper[4], got$ours[4]), c(9, NA))
  # Times of one run have no error, nor has their ratio.
  result$mc_error <- NA_real_
  expect_identical(compared(result, printed)$mc_error, rep(NA_real_, 4))
  # What was not run is neither stored nor a reason to run it again.
  x <- reproduce("wenzel2017", "table1_splice", size = "stored")
  expect_identical(sum(x$verdict == "not run"), 3L)
  rows <- papers_code("stored.R")$results_table(x, c(a = 1))
  expect_false(any(grepl("GPC", rows$quantity)))
})

helpers_of_papers <- function() parent.env(load_item("vermaak2004", "figure1_fit"))

test_that("probabilistic neighbors sum over their number and their strength", {
  set.seed(4)
  x <- matrix(rnorm(24), 12)
  y <- gl(2, 6, labels = c("a", "b"))
  x[y == "b", 1] <- x[y == "b", 1] + 2
  new <- cbind(seq(-2, 4, length.out = 10), rnorm(10))
  beta <- c(0.5, 2, 6)
  share <- function(at, own, k) {
    far <- colSums((t(x) - at)^2)
    far[own] <- Inf
    tabulate(y[order(far)[seq_len(k)]], 2) / k
  }
  risk <- 0
  for (k in 1:11) {
    for (b in beta) {
      p <- vapply(1:12, function(i) {
        odds <- exp(b * share(x[i, ], i, k))
        odds[y[i]] / sum(odds)
      }, 0)
      odds <- exp(b * t(apply(new, 1, share, own = 0, k = k)))
      risk <- risk + prod(p) * exp(-b^2 / 200) * odds / rowSums(odds)
    }
  }
  got <- helpers_of_papers()$likely_class(x, y, new, beta)
  expect_identical(got, levels(y)[max.col(risk)])
  expect_length(unique(got), 2)
})

test_that("SAVE finds the direction in which the classes' variances differ", {
  set.seed(5)
  x <- matrix(rnorm(3000), ncol = 3) %*% rbind(c(2, 0.5, 0), c(0, 1, 0.3), c(0, 0, 0.5))
  s <- drop(x %*% c(1, -1, 2))
  home <- helpers_of_papers()
  direction <- home$unit(home$save_directions(x, abs(s) < median(abs(s)), 1)[, 1])
  expect_gt(sum(direction * c(1, -1, 2)) / sqrt(6), 0.99)
})

test_that("tests of differences are those of t.test()", {
  home <- helpers_of_papers()
  set.seed(6)
  a <- rnorm(9)
  b <- rnorm(9, 1, 2)
  expect_equal(home$tested(Map(c, a = a, b = b), list(c("a", "b")))$ours, c(
    mean(a - b), t.test(a, b)$p.value
  ))
  p <- home$printed_p(c(mean(a), mean(b)), c(sd(a), sd(b)), 9)
  expect_equal(p, t.test(a, b)$p.value)
})

# Stored results --------------------------------------------------------------

stored_items <- function() {
  do.call(rbind, lapply(names(published_models()), function(paper) {
    items <- unique(stored_results(paper)$item)
    if (length(items)) data.frame(paper = paper, item = items)
  }))
}

test_that("stored results are of items that exist, and are read back", {
  all <- stored_items()
  items <- reproduce()
  expect_identical(setdiff(paste(all$paper, all$item), paste(items$paper, items$item)), character())
  for (k in seq_len(nrow(all))) {
    x <- reproduce(all$paper[k], all$item[k], size = "stored")
    expect_true(all(is.finite(x$ours) | is.na(x$ours)))
    expect_true(any(is.finite(x$ours)))
    expect_false("unexplained" %in% x$note)
    expect_true(attr(x, "how")$size %in% c("quick", "paper"))
  }
})

# One quick item of each paper every day, all where tests may be slow.
# Chains follow the last bit: stored results are of vectors of this width.
Sys.setenv(BAYESKERNEL_SIMD = "avx2")

everyday <- c(
  luts2014 = "figure3", vermaak2004 = "figure1_fit", ouyang2008 = "figure4.3",
  damoulas2009 = "figure4"
)

test_that("stored results are those of the code as it is", {
  all <- stored_items()
  items <- reproduce()
  ready <- items$ready[match(paste(all$paper, all$item), paste(items$paper, items$item))]
  if (!identical(Sys.getenv("BAYESKERNEL_SLOW"), "true")) {
    ready <- ready & paste(all$paper, all$item) %in% paste(names(everyday), everyday)
  }
  for (k in which(ready)) {
    stale <- papers_code("stored.R")$stale_digits(all$paper[k], all$item[k])
    expect_identical(stale, character(), info = paste(all$paper[k], all$item[k]))
  }
})

test_that("another argument of the paper, or another default, is noticed", {
  skip_if_not("figure1_fit" %in% stored_results("vermaak2004")$item)
  stale <- function() papers_code("stored.R")$stale_digits("vermaak2004", "figure1_fit")
  expect_identical(stale(), character())
  models <- published_models()
  models$vermaak2004$sinc$arguments$prior <- quote(seqkr_prior(lambda = 3))
  with_replaced("published_models", function() models, expect_true(length(stale()) > 0))
  # A default that published() does not set.
  other <- seqkr_control
  formals(other)$final_moves <- 0
  with_replaced("seqkr_control", other, expect_true(length(stale()) > 0))
  expect_identical(stale(), character())
})

test_that("the list of items prints titles and times, and the verdicts of all are counted", {
  items <- reproduce("vermaak2004")
  shown <- capture.output(print(items))
  expect_true(all(nchar(shown) <= 80))
  expect_match(shown[1], 'reproduce("vermaak2004", item)', fixed = TRUE)
  rows <- shown[3:(nrow(items) + 2)]
  expect_identical(sub(" .*", "", substring(rows, 2)), items$item)
  expect_true(all(mapply(grepl, items$title, rows, fixed = TRUE)))
  expect_match(rows, "[0-9] (s|min|h) +([0-9.]+ (s|min|h)|same) +(yes|no)$")
  expect_identical(grepl(" same ", rows), items$paper_runs == "the same at both sizes")
  expect_identical(items$quick[grepl(" same ", rows)], items$paper_size[grepl(" same ", rows)])
  expect_output(print(items["title"]), items$title[1], fixed = TRUE)

  counts <- reproduce("vermaak2004", size = "stored")
  x <- reproduce("vermaak2004", "table1_printed", size = "stored")
  own <- counts[counts$item == "table1_printed", ]
  expect_identical(own$agrees, sum(x$verdict == "agrees"))
  expect_identical(own$differs, sum(x$verdict == "differs"))
  # Its three numbers are compared again in other items, where they are not counted.
  again <- counts[counts$item %in% c("table1", "table1_rj"), ]
  expect_true(all(again[c("agrees", "better", "worse", "differs", "undecided")] == 0))
  expect_identical(again$again, c(3L, 6L))
  expect_identical(summary(x), `rownames<-`(own, NULL))
  expect_identical(summary(items), counts)
  expect_match(capture.output(print(counts)), "^ all +[0-9]", all = FALSE)
  expect_identical(unique(reproduce(size = "stored")$paper), names(published_models()))
})

test_that("prints of a reproduction and of arguments keep to the width of the screen", {
  old <- options(width = 60)
  on.exit(options(old))
  x <- reproduce("damoulas2009", "section4.3_numerals", size = "stored")
  shown <- list(capture.output(print(x)), capture.output(print(published("wenzel2017"))))
  for (lines in shown) expect_lte(max(nchar(lines)), 60)
  expect_match(paste(shown[[1]], collapse = " "), "of the +printed means")
  expect_match(shown[[2]], "^wenzel2017, gpsvm\\(\\), all models", all = FALSE)
  # Some columns or rows of a list, too.
  options(width = 80)
  some <- published("wenzel2017")[c("model", "argument", "published", "why")]
  shown <- list(capture.output(print(some)), capture.output(print(paper_data()[1:9, ])))
  for (lines in shown) expect_lte(max(nchar(lines)), 80)
  expect_match(shown[[1]][1], "model +argument +published +why")
  expect_match(shown[[2]], "More columns: rows, columns, origin, licence", all = FALSE)
  expect_output(print(paper_data()[1, c("name", "licence")]), "GPL-2")
})

test_that("a plot without a figure of its own has a panel for each unit", {
  panels <- function(paper, item) {
    x <- reproduce(paper, item, size = "stored")
    papers_code("plots.R")$panels_of(x, "numbers")
  }
  got <- panels("wenzel2017", "table1_heart")
  expect_named(got, c("error", "Brier score", "CPU seconds"))
  expect_identical(got$error$label, got[["CPU seconds"]]$label)
  got <- panels("luts2014", "figure2")
  expect_identical(got$difference$sign[1:2], c("<", "<"))
  expect_identical(got$difference$bound[1:2], c(0, 0))
  # What was not run has no point.
  x <- reproduce("luts2014", "figure2", "stored")
  expect_identical(sum(vapply(got, nrow, 0L)), sum(!is.na(x$ours)))
})

test_that("the points of a figure of curves are stored and drawn", {
  x <- reproduce("wenzel2017", "figure3", size = "stored")
  raw <- attr(x, "raw")
  expect_identical(unique(raw$line), c("kmeans", "random"))
  expect_equal(raw$y[raw$line == "kmeans" & raw$x == 10], x$ours[1], tolerance = 1e-4)
  home <- helpers_of_papers()
  attr(x, "raw") <- home$curves("a", 1:2, c(0.1, 0.2), home$share_error(c(0.1, 0.2), 100))
  stored <- papers_code("stored.R")$results_table(x, c(a = 1))
  figure <- stored_curves(stored[stored$kind == "figure", ])
  expect_equal(figure$error, c(0.03, 0.04))
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_no_error(plot(x))
})
