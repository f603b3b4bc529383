# The R packages that DESCRIPTION asks for, for tools/setup:
#
#   missing [suggested] [package ...]           those that are not here
#   missing-required [suggested] [package ...]  those without which it won't do
#   closure package ...    what these need in turn and is not here
#   install package ...    installs them, from R's configured repositories
#   ecosystem              installs what tests/ecosystem asks for, each in the
#                          newest version, into a library of their own
#   library                where the package itself goes
#
# Depends, Imports, LinkingTo and the packages named are required, Suggests optional.

split_field <- function(text) {
  entries <- trimws(strsplit(text, ",")[[1]])
  floors <- ifelse(
    grepl(">=", entries), sub(".*>=\\s*([0-9.-]+).*", "\\1", entries), "0"
  )
  stats::setNames(floors, sub("[[:space:](].*", "", entries))
}

# Lowest versions that will do, named by package.
wanted <- function(fields) {
  description <- read.dcf("DESCRIPTION")
  fields <- intersect(fields, colnames(description))
  floors <- unlist(lapply(unname(description[1, fields]), split_field))
  if (identical(fields, "Depends")) floors else floors[names(floors) != "R"]
}

check_r <- function() {
  floor <- wanted("Depends")[["R"]]
  if (getRversion() < floor) stop("R ", floor, " or newer is needed")
}

is_here <- function(package, floor = "0") {
  nzchar(system.file(package = package)) &&
    utils::packageVersion(package) >= floor
}

missing_packages <- function(named, fields) {
  known <- wanted(c("Depends", "Imports", "LinkingTo", "Suggests"))
  floors <- wanted(fields)
  extra <- setdiff(named, names(floors))
  floors[extra] <- ifelse(extra %in% names(known), known[extra], "0")
  unique(names(floors)[!mapply(is_here, names(floors), floors)])
}

# The first library that can be written to; the user's own is made when none.
writable_library <- function() {
  writable <- .libPaths()[file.access(.libPaths(), 2) == 0]
  if (length(writable)) return(writable[1])
  own <- strsplit(Sys.getenv("R_LIBS_USER"), .Platform$path.sep)[[1]][1]
  own <- path.expand(own)
  if (!dir.create(own, recursive = TRUE)) {
    stop("no library of R can be written to; set R_LIBS_USER to a folder")
  }
  own
}

use_repositories <- function() {
  if ("@CRAN@" %in% getOption("repos")) {
    utils::chooseCRANmirror(ind = 1, local.only = TRUE)
  }
}

closure <- function(packages) {
  use_repositories()
  needed <- tools::package_dependencies(
    packages, utils::available.packages(), recursive = TRUE
  )
  needed <- unique(c(packages, unlist(needed)))
  needed[!vapply(needed, is_here, NA)]
}

# One at a time: one that asks for a newer R must not hold up the others.
install <- function(packages) {
  use_repositories()
  library <- writable_library()
  .libPaths(c(library, .libPaths()))
  for (package in packages) {
    utils::install.packages(package, lib = library, quiet = TRUE)
  }
}

ecosystem_library <- function() {
  path <- Sys.getenv(
    "BAYESKERNEL_ECOSYSTEM", tools::R_user_dir("bayeskernel-ecosystem", "cache")
  )
  dir.create(path, recursive = TRUE, showWarnings = FALSE)
  path
}

# In order, with what they need in turn that is not here or too old: of this,
# install.packages() only looks for what is not here.
install_plan <- function(packages, available) {
  plan <- character()
  seen <- character()
  add <- function(package) {
    if (package %in% seen || !package %in% rownames(available)) return()
    seen <<- c(seen, package)
    needs <- available[package, c("Depends", "Imports", "LinkingTo")]
    floors <- unlist(lapply(unname(needs[!is.na(needs)]), split_field))
    floors <- floors[names(floors) != "R"]
    for (need in names(floors)[!mapply(is_here, names(floors), floors)]) add(need)
    plan <<- c(plan, package)
  }
  for (package in packages) add(package)
  plan
}

# Without optimization, documentation and byte code, which these packages do not need
# here, six packages at a time. What is not begun after BAYESKERNEL_ECOSYSTEM_MINUTES (8)
# is left out and named; the next run finds the others and goes on.
install_ecosystem <- function() {
  use_repositories()
  library <- ecosystem_library()
  .libPaths(c(library, .libPaths()))
  minutes <- as.numeric(Sys.getenv("BAYESKERNEL_ECOSYSTEM_MINUTES", "8"))
  end <- Sys.time() + 60 * minutes
  flags <- tempfile()
  languages <- c("C", "CXX", "CXX11", "CXX14", "CXX17", "F", "FC")
  writeLines(paste0(languages, "FLAGS = -O0 -g0"), flags)
  Sys.setenv(R_MAKEVARS_USER = flags, "_R_INSTALL_PACKAGES_ELAPSED_TIMEOUT_" = 60 * minutes)
  absent <- Filter(Negate(is_here), readLines("tests/ecosystem/packages.txt"))
  plan <- install_plan(absent, utils::available.packages())
  while (length(plan) && Sys.time() < end) {
    utils::install.packages(
      utils::head(plan, 6), lib = library, dependencies = FALSE, quiet = TRUE, Ncpus = 2,
      INSTALL_opts = c("--no-docs", "--no-test-load", "--no-byte-compile")
    )
    plan <- plan[-seq_len(min(6, length(plan)))]
  }
  if (length(plan)) cat("left out, the time is over:", paste(plan, collapse = ", "), "\n")
}

arguments <- if (sys.nframe() == 0L) commandArgs(trailingOnly = TRUE) else "sourced"
named <- arguments[-1]
required <- c("Depends", "Imports", "LinkingTo")
fields <- c(required, if ("suggested" %in% named) "Suggests")
named <- unique(setdiff(named, "suggested"))

check_r()
answer <- switch(arguments[1],
  missing = missing_packages(named, fields),
  "missing-required" = missing_packages(named, required),
  closure = closure(named),
  install = install(named),
  ecosystem = install_ecosystem(),
  sourced = NULL,
  library = writable_library(),
  stop("unknown request: ", arguments[1])
)
writeLines(as.character(answer))
