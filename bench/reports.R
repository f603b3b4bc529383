# Faults that were reported of earlier versions, rebuilt: what each gave in
# version 0.5.7, what it gives now, and what is right. One file of reports/ a
# subject; each defines `cases`, a list of report().
#
#   Rscript bench/reports.R [FILE ...]      names of files without .R; all

library(bayeskernel)

# `item`, `what` was tried, `before`, the answer of 0.5.7, `right`, the answer that is right and
# where it is from, `now`, a function that computes today's.
report <- function(item, what, before, right, now) {
  list(item = item, what = what, before = before, right = right, now = now)
}

folder <- if (dir.exists("bench/reports")) "bench/reports" else "reports"
named <- commandArgs(trailingOnly = TRUE)
files <- list.files(folder, "[.]R$", full.names = TRUE)
if (length(named)) files <- file.path(folder, paste0(named, ".R"))

for (file in files) {
  scope <- new.env()
  sys.source(file, scope)
  cat("\n##", sub("[.]R$", "", basename(file)), "\n")
  for (case in scope$cases) {
    seconds <- system.time(now <- tryCatch(
      suppressWarnings(case$now()), error = function(e) paste("error:", conditionMessage(e))
    ))[["elapsed"]]
    cat(sprintf(
      "%-5s %s\n      0.5.7: %s\n      now:   %s\n      right: %s  [%.1f s]\n", case$item,
      case$what, case$before, paste(now, collapse = " "), case$right, seconds
    ))
  }
}
cat("\nversion", format(utils::packageVersion("bayeskernel")), "\n")
