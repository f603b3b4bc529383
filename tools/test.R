# The steps of tools/test that R takes. Each prints what it found and closes
# with "N passed, N failed, N skipped".

close_step <- function(passed, failed, skipped = 0) {
  cat(sprintf(
    "\n%d passed, %d failed, %d skipped\n", passed, failed, skipped
  ))
}

# Expectations of the R tests, run on the installed package, two files at a time,
# each in a process of its own: those with slow tests first, so that no core
# waits in the end. A test or a file that stops with an error counts as one failure.
run_tests <- function(folder, tier) {
  files <- list.files(folder, "^test-.*[.]R$")
  if (tier == "quick") {
    # Golden numbers, and what all models promise.
    wanted <- paste0("^test-(", paste(readLines("tests/quick.txt"), collapse = "|"), ")[.]R$")
    files <- grep(wanted, files, value = TRUE)
  }
  text <- lapply(file.path(folder, files), readLines)
  slow <- vapply(text, function(lines) any(grepl("BAYESKERNEL_SLOW", lines)), NA)
  package <- read.dcf("DESCRIPTION")[1, "Package"]
  loadNamespace(package)
  one <- function(file) {
    output <- tempfile()
    connection <- file(output, "w")
    sink(connection)
    sink(connection, type = "message")
    start <- proc.time()
    # Data that a test draws without a seed are those of every run.
    set.seed(1)
    found <- tryCatch(as.data.frame(testthat::test_dir(
      folder,
      filter = paste0("^", sub("^test-(.*)[.]R$", "\\1", file), "$"),
      package = package, load_package = "installed", reporter = "check",
      stop_on_failure = FALSE
    )), error = identity)
    sink(type = "message")
    sink()
    close(connection)
    taken <- proc.time() - start
    died <- !is.data.frame(found)
    sum_of <- function(what) if (died) 0 else sum(found[[what]])
    counts <- c(
      passed = sum_of("passed"), failed = sum_of("failed") + sum_of("error") + died,
      skipped = sum_of("skipped"), warnings = sum_of("warning")
    )
    list(
      file = file, counts = counts, cpu = sum(taken[-3]), seconds = taken[[3]],
      text = c(readLines(output), if (died) conditionMessage(found))
    )
  }
  # Files that take the time between an interrupt and its answer have the cores for themselves.
  timed <- vapply(text, function(lines) any(grepl("interrupted_work", lines)), NA)
  files <- files[order(timed, !slow, -lengths(text))]
  shared <- seq_len(sum(!timed))
  jobs <- as.integer(Sys.getenv("JOBS", "2"))
  results <- c(
    parallel::mclapply(files[shared], one, mc.cores = jobs, mc.preschedule = FALSE),
    lapply(utils::tail(files, sum(timed)), one)
  )
  # A process that was killed leaves no answer.
  answered <- vapply(results, is.list, NA)
  if (!all(answered)) cat("\nkilled:", files[!answered], "\n")
  results <- results[answered]
  counts <- Reduce(`+`, lapply(results, `[[`, "counts"), numeric(4))
  counts[2] <- counts[2] + sum(!answered)
  failed <- vapply(results, function(x) x$counts[["failed"]] > 0, NA)
  report_files <- function(results) {
    for (x in results) if (any(x$counts[-1] > 0)) cat("\n==", x$file, x$text, sep = "\n")
  }
  report_files(results[!failed])
  cpu <- vapply(results, `[[`, 0, "cpu")
  seconds <- vapply(results, `[[`, 0, "seconds")
  cat("\nslowest files (CPU seconds, seconds)\n")
  for (k in utils::head(order(-cpu), 30)) {
    cat(sprintf("%7.1f %7.1f  %s\n", cpu[k], seconds[k], results[[k]]$file))
  }
  cat(sprintf("%.0f CPU seconds\n", sum(cpu)))
  cat(counts[4], "warnings\n")
  # Last, where the end of a log shows them.
  report_files(results[failed])
  close_step(as.integer(counts[1]), as.integer(counts[2]), as.integer(counts[3]))
}

# R CMD check as CRAN runs it, as far as that needs no network. One check: it
# passes when nothing but OK was found and no example gave a warning.
run_check <- function(source, folder) {
  setwd(folder)
  Sys.unsetenv(c("BAYESKERNEL_SLOW", "NOT_CRAN"))
  config <- function(name) {
    system2(file.path(R.home("bin"), "R"), c("CMD", "config", name), TRUE)
  }
  Sys.setenv(
    "_R_CHECK_FORCE_SUGGESTS_" = "false",
    "_R_CHECK_CRAN_INCOMING_" = "false",
    "_R_CHECK_SYSTEM_CLOCK_" = "false",
    "_R_CHECK_TESTS_NLINES_" = "0",
    # Flags that this machine's R adds by itself are not the package's.
    "_R_CHECK_COMPILATION_FLAGS_KNOWN_" = paste(
      config("CXX17FLAGS"), config("CPPFLAGS")
    ),
    # GNU make is declared in SystemRequirements: RcppParallel asks for it.
    "_R_CHECK_CRAN_INCOMING_NOTE_GNU_MAKE_" = "true",
    # Programs that are not everywhere; without them their check is left out.
    "_R_CHECK_RD_VALIDATE_RD2HTML_" = nzchar(Sys.which("tidy")),
    "_R_CHECK_RD_MATH_RENDERING_" = requireNamespace("V8", quietly = TRUE),
    "_R_CHECK_DOC_SIZES_" = nzchar(Sys.which("qpdf"))
  )
  vignettes <- nzchar(Sys.which("pandoc")) &&
    requireNamespace("rmarkdown", quietly = TRUE)
  if (!vignettes) cat("vignettes are left out: no pandoc or no rmarkdown\n")

  r_cmd <- function(...) {
    system2(file.path(R.home("bin"), "R"), c("CMD", ...)) == 0
  }
  built <- r_cmd(
    "build", if (!vignettes) "--no-build-vignettes", "--no-manual",
    shQuote(source)
  )
  built && r_cmd(
    "check", "--as-cran", "--no-manual",
    if (!vignettes) "--ignore-vignettes",
    list.files(pattern = "[.]tar[.]gz$")
  )
  log <- Sys.glob("*.Rcheck/00check.log")
  if (!length(log)) return(close_step(0, 1))

  found <- tools::check_packages_in_dir_details(logs = log)
  found <- found[!found$Status %in% c("OK", "SKIPPED"), ]
  # Notes on the machine, counted as skipped: an optional package that this R
  # cannot have; Debian's BH, whose headers are where the system's are; the
  # installed size, which is that of this compiler's code.
  of_machine <- found$Status == "NOTE" & grepl(
    paste0(
      "suggested but not available|enhances but not available|",
      "^'LinkingTo' for .BH. is unused|installed size is"
    ), found$Output
  )
  ours <- found[!of_machine, ]
  examples <- unlist(lapply(Sys.glob("*.Rcheck/*-Ex.Rout*"), readLines))
  warned <- grep("^Warning (message|in )", examples)
  for (output in Sys.glob("*.Rcheck/tests/*.Rout.fail")) {
    writeLines(utils::tail(readLines(output), 60))
  }
  cat("\n")
  cat(sprintf("%s: %s\n%s\n", found$Status, found$Check, found$Output))
  writeLines(utils::tail(readLines(log), 2))
  for (k in warned) writeLines(c("an example warns:", examples[seq(k, length.out = 4L)]))
  clean <- nrow(ours) == 0 && !length(warned)
  close_step(as.integer(clean), as.integer(!clean), sum(of_machine) + !vignettes)
}

# The core must not know R, and has each name once; texts for users have no words of tools/words;
# no lint where lintr is installed.
look_over <- function() {
  rscript <- file.path(R.home("bin"), "Rscript")
  words <- system2(rscript, file.path("tools", "words")) == 0
  once <- system2("sh", file.path("tools", "check-core")) == 0
  defined <- unlist(lapply(list.files("R", full.names = TRUE), function(file) {
    code <- parse(file, keep.source = FALSE)
    is <- vapply(code, function(x) {
      is.call(x) && identical(x[[1L]], as.name("<-")) && is.name(x[[2L]])
    }, NA)
    vapply(code[is], function(x) as.character(x[[2L]]), "")
  }))
  twice <- unique(defined[duplicated(defined)])
  cat("defined twice in R/:", twice, "\n")
  once <- once && !length(twice)
  read <- requireNamespace("lintr", quietly = TRUE)
  lints <- if (read) lintr::lint_package()
  if (read) print(lints)
  cat(if (read) length(lints) else "no lintr, no", "lints\n")
  clean <- length(lints) == 0L
  close_step(once + words + (read && clean), sum(!c(once, words, clean)), !read)
}

# What users' other packages do with the fits. Lists those that are not here.
run_ecosystem <- function(folder) {
  source("tools/dependencies.R", local = TRUE)
  .libPaths(c(ecosystem_library(), .libPaths()))
  absent <- Filter(Negate(is_here), readLines("tests/ecosystem/packages.txt"))
  if (length(absent)) cat("not installed here:", paste(absent, collapse = ", "), "\n")
  run_tests(folder, "all")
}

arguments <- commandArgs(trailingOnly = TRUE)
switch(arguments[1],
  tests = run_tests(arguments[2], arguments[3]),
  ecosystem = run_ecosystem("tests/ecosystem"),
  check = run_check(arguments[2], arguments[3]),
  tree = look_over(),
  stop("unknown step: ", arguments[1])
)
