# See tools/reproduce.

# Chains follow the last bit, which the width of the machine's vectors changes.
Sys.setenv(BAYESKERNEL_SIMD = "avx2")
suppressMessages(library(bayeskernel))
given <- commandArgs(TRUE)
size <- if ("--paper" %in% given) "paper" else "quick"
stale_only <- "--stale" %in% given
wanted <- given[!startsWith(given, "--")]
items <- reproduce()
if (length(wanted)) items <- items[items$paper == wanted[1], ]
if (length(wanted) > 1) {
  items <- items[items$item %in% strsplit(wanted[2], ",")[[1]], ]
}
if (!all(items$ready)) {
  message("No data or package: ", paste(
    items$paper[!items$ready], items$item[!items$ready], collapse = ", "
  ))
}
items <- items[items$ready, ]

own <- asNamespace("bayeskernel")
stored <- own$papers_code("stored.R")

write_results <- function(paper, item, table) {
  file <- file.path("inst", "papers", paper, "results.csv")
  before <- if (file.exists(file)) own$read_as_text(file)
  table[] <- lapply(table, function(x) {
    out <- if (is.numeric(x)) format(x, digits = 6, trim = TRUE) else x
    vapply(seq_along(out), function(k) {
      if (is.na(x[k])) "" else if (is.numeric(x)) {
        format(x[k], digits = 6)
      } else {
        out[k]
      }
    }, "")
  })
  after <- rbind(before[before$item != item, ], table)
  after <- after[order(after$item, method = "radix"), ]
  utils::write.csv(after, file, row.names = FALSE)
}

for (k in seq_len(nrow(items))) {
  paper <- items$paper[k]
  item <- items$item[k]
  digits <- tryCatch(stored$fingerprint(paper, item), error = function(e) e)
  if (inherits(digits, "error")) {
    message(paper, " ", item, ": ", conditionMessage(digits))
    next
  }
  if (stale_only && length(stored$stale_digits(paper, item, digits)) == 0) next
  done <- tryCatch(reproduce(paper, item, size), error = function(e) e)
  if (inherits(done, "error")) {
    message(paper, " ", item, ": ", conditionMessage(done))
    next
  }
  how <- attr(done, "how")
  write_results(paper, item, stored$results_table(done, digits))
  print(done)
  message(sprintf("%s %s: %.0f CPU seconds", paper, item, how$seconds))
}
