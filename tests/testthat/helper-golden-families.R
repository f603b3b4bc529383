# Golden numbers of the likelihood families, in folders families/ and ep/: FAMILY_KIND.json with
# _data.csv and what else bears its name; rows.csv, prob.csv, polya_gamma.csv and tilted.csv are
# tables of single rows. Families and sizes are those of the files.

# Kinds of cases: the second word of their names, without what tells cases of one kind apart.
golden_kinds <- function(cases) sub("^[^_]*_([a-z]*).*$", "\\1", cases)

golden_kind <- function(part, kind) {
  cases <- golden_cases(part)
  cases[golden_kinds(cases) == kind]
}

# `rows`, `atoms`, `inducing`, `curve` and `gibbs` are there when their files are.
read_golden_family <- function(part, case) {
  path <- function(suffix) file.path(golden_folder(part), paste0(case, suffix))
  out <- jsonlite::fromJSON(path(".json"))
  for (name in c("data", "rows", "atoms", "inducing", "curve", "gibbs")) {
    file <- path(paste0("_", name, ".csv"))
    if (file.exists(file)) out[[name]] <- utils::read.csv(file, check.names = FALSE)
  }
  out
}

first_golden <- function(part, kind) {
  cases <- golden_kind(part, kind)
  testthat::skip_if(length(cases) == 0L, "no golden files beside the tests")
  read_golden_family(part, cases[1])
}

golden_table <- function(part, name) {
  utils::read.csv(file.path(golden_folder(part), paste0(name, ".csv")))
}

# The largest share of its tolerance that an error takes is below 1.
expect_golden <- function(found, expected, tolerance, label) {
  expect_equal(length(found), length(expected), label = label)
  excess <- abs(as.vector(found) - as.vector(expected)) / tolerance
  worst <- which.max(ifelse(is.na(excess), Inf, excess))
  expect_true(
    all(excess <= 1) && length(expected) > 0L,
    label = sprintf("%s: %.3g of the tolerance at %d", label, excess[worst], worst)
  )
}

within <- function(expected, tolerance = 1e-5) tolerance * (1 + abs(expected))
