# What the fits of the contract (tests/testthat/helper-contract.R) say: every
# predict(), summary(), print(), tidy() and the like, to a file, to compare a
# change of R/ that must not alter an answer.
#
#   Rscript bench/answers.R before.rds               stores them
#   Rscript bench/answers.R after.rds before.rds     and says which differ
#
# Of the installed package, on one machine.

suppressPackageStartupMessages({
  library(testthat)
  library(bayeskernel)
})

helpers <- new.env(parent = asNamespace("bayeskernel"))
invisible(source_test_helpers("tests/testthat", helpers))

# Times differ from run to run, and with their length where a line is broken before them.
clean <- function(lines) {
  lines <- gsub("[0-9.e+-]+ (m?s)\\b", "<time> \\1", lines)
  for (k in rev(setdiff(grep("^<time>", lines), 1L))) {
    lines <- c(lines[seq_len(k - 2L)], paste(lines[k - 1L], lines[k]), lines[-seq_len(k)])
  }
  lines[!grepl("environment|bytecode", lines)]
}

asked <- function(code) {
  value <- tryCatch(
    suppressMessages(suppressWarnings(code)),
    error = function(e) paste("error:", conditionMessage(e))
  )
  if (is.character(value)) clean(value) else value
}

answers_of <- function(one) {
  fit <- one$object
  new <- one$new(utils::head(one$data, 25))
  shown <- function(code) asked(utils::capture.output(code))
  types <- c("class", "prob", "link", "response")
  c(
    list(print = shown(print(fit)), summary = shown(print(summary(fit)))),
    stats::setNames(lapply(types, function(type) {
      asked(stats::predict(fit, new, type = type))
    }), paste("predict", types)),
    list(
      "predict se" = asked(stats::predict(fit, new, type = "link", se.fit = TRUE)),
      "predict interval" = asked(stats::predict(fit, new, type = "link", interval = "credible")),
      fitted = asked(stats::fitted(fit)), coef = asked(stats::coef(fit)),
      vcov = asked(stats::vcov(fit)), confint = asked(stats::confint(fit)),
      tidy = asked(as.data.frame(generics::tidy(fit))),
      glance = asked({
        found <- as.data.frame(generics::glance(fit))
        found[setdiff(names(found), c("seconds", "elapsed"))]
      }),
      nobs = asked(stats::nobs(fit)), loglik = asked(c(stats::logLik(fit))),
      deviance = asked(stats::deviance(fit)),
      draws = asked(utils::head(c(as.matrix(as.mcmc(fit, seed = 1))), 500)),
      simulate = asked(stats::simulate(fit, 2, seed = 1))
    )
  )
}

args <- commandArgs(TRUE)
cases <- helpers$contract_cases()
found <- stats::setNames(lapply(cases, answers_of), vapply(cases, `[[`, "", "name"))
cat(
  length(found), "fits,", sum(lengths(found)), "answers,",
  sum(vapply(unlist(found, recursive = FALSE), function(x) {
    is.character(x) && any(grepl("^error:", x))
  }, NA)), "of them errors\n"
)
if (!is.na(args[1])) saveRDS(found, args[1], version = 2)
if (!is.na(args[2])) {
  before <- readRDS(args[2])
  differ <- unlist(lapply(union(names(found), names(before)), function(name) {
    kinds <- union(names(found[[name]]), names(before[[name]]))
    same <- vapply(kinds, function(kind) {
      identical(found[[name]][[kind]], before[[name]][[kind]])
    }, NA)
    paste(rep(name, sum(!same)), kinds[!same], sep = ": ")
  }))
  cat(length(differ), "differ\n")
  cat(differ, sep = "\n")
  quit(status = as.integer(length(differ) > 0))
}
