# Digests of every number of some seventy small fits and their predictions, to
# compare a change that must not alter an answer, on one machine:
#
#   Rscript tools/bits.R before.txt               writes them
#   Rscript tools/bits.R after.txt before.txt     and says which differ (status 1)
#
# Of the installed package. Each fit is made by one thread and by two, with the
# vector instructions of the machine and without (BAYESKERNEL_SIMD = off).

suppressPackageStartupMessages(library(bayeskernel))

rows <- local({
  set.seed(20)
  n <- 120
  d <- data.frame(
    x1 = rnorm(n), x2 = runif(n), x3 = rnorm(n), f = gl(3, 1, n, c("a", "b", "c")),
    g = gl(12, 10), h = gl(8, 1, n)
  )
  eta <- sin(2 * d$x1) + d$x2 - 0.5 + rnorm(12)[d$g] / 2
  d$num <- eta + rnorm(n) / 3
  d$two <- factor(ifelse(eta + rlogis(n) / 2 > 0, "yes", "no"))
  d$three <- cut(eta + rnorm(n) / 3, c(-Inf, -0.5, 0.7, Inf), c("l", "m", "h"))
  d$grade <- factor(d$three, ordered = TRUE)
  d$hole <- replace(d$x1, seq(3, n, 7), NA)
  d$hole_f <- replace(d$f, seq(2, n, 9), NA)
  d
})
wide <- local({
  set.seed(21)
  matrix(rnorm(40 * 60), 40, dimnames = list(NULL, paste0("v", 1:60)))
})
wide_y <- factor(wide[, 1] - wide[, 2] > 0)

jobs <- list()
add <- function(name, fit, newdata = rows[1:9, ]) {
  jobs[[name]] <<- list(fit = fit, newdata = newdata)
}

families <- c("hinge", "logit", "probit", "gaussian")
formulas <- list(
  plain = ~ x1 + x2 + f, bar = ~ x1 + x2 + (1 | g), slope = ~ x1 + (x1 | g),
  crossed = ~ x1 + (1 | g) + (1 | h), smooth = ~ s(x1, k = 6) + x2,
  process = ~ gp(x1, inducing = 8) + x2, missing = ~ hole + hole_f + x2
)
for (family in families) {
  response <- if (family == "gaussian") "num" else "two"
  for (form in names(formulas)) {
    for (method in c("ep", "vb", "gibbs")) {
      if (method == "gibbs" && form %in% c("slope", "smooth", "process")) {
        next
      }
      if (family == "probit" && !form %in% c("plain", "bar", "missing")) next
      local({
        formula <- update(formulas[[form]], paste(response, "~ ."))
        if (method == "gibbs") formula <- update(formula, . ~ . - hole_f)
        family <- family
        method <- method
        add(paste("bkm", family, form, method), function(threads) {
          extra <- c(
            if (method == "gibbs") list(
              ndraws = 60, control = list(warmup = 40), chains = 2
            ),
            if (form == "missing") list(missing = "model")
          )
          do.call(bkm, c(list(
            formula, rows, family = family, method = method, threads = threads,
            seed = 1
          ), extra))
        })
      })
    }
  }
}
for (method in c("ep", "vb", "gibbs")) {
  local({
    method <- method
    add(paste("bsvm", method), function(threads) {
      bsvm(two ~ x1 + x2 + (1 | g), rows, method = method, threads = threads, seed = 1)
    })
    if (method != "ep") {
      add(paste("bsvm select", method), function(threads) {
        bsvm(wide, wide_y, select = TRUE, method = method, threads = threads, seed = 1)
      }, wide[1:5, ])
    }
  })
}
for (method in c("vb", "ep", "gibbs")) {
  local({
    method <- method
    add(paste("gpsvm", method), function(threads) {
      gpsvm(two ~ x1 + x2, rows, method = method, threads = threads, seed = 1)
    })
  })
}
add("gpsvm svi", function(threads) {
  gpsvm(two ~ x1 + x2, rows, method = "svi", inducing = 10, threads = threads, seed = 1)
})
add("gpsvm three", function(threads) {
  gpsvm(three ~ x1 + x2, rows, threads = threads, seed = 1)
})
for (method in c("vb", "gibbs")) {
  local({
    method <- method
    add(paste("mkprobit", method), function(threads) {
      mkprobit(
        list(a = rows["x1"], b = rows[c("x2", "x3")]), rows$three,
        method = method, kernel_weights = "learn", threads = threads, seed = 1
      )
    }, list(a = rows[1:5, "x1", drop = FALSE], b = rows[1:5, c("x2", "x3")]))
  })
}
for (response in c("num", "two", "grade")) {
  local({
    formula <- reformulate(c("x1", "x2", "x3"), response)
    family <- c(num = "gaussian", two = "binomial", grade = "ordinal")[[response]]
    add(paste("bark", family), function(threads) {
      bark(
        formula, rows, family = family, ndraws = 50,
        control = bark_control(warmup = 500), chains = 2,
        until = NULL, threads = threads, seed = 1
      )
    })
    if (response != "grade") {
      add(paste("seqkr", family), function(threads) {
        seqkr(
          formula, rows, family = family, particles = 100, threads = threads, seed = 1
        )
      })
    }
  })
}
add("klr", function(threads) {
  klr(
    two ~ x1 + x2 + x3, rows, rank = 1, ndraws = 50,
    control = klr_control(warmup = 500), chains = 2,
    until = NULL, threads = threads, seed = 1
  )
})

# Every number of an object, without what tells of the run: clocks, calls.
numbers_of <- function(x, name = "") {
  if (name %in% c("seconds", "elapsed", "time", "times", "version", "threads", "stamp")) {
    return(numeric())
  }
  if (is.environment(x) || is.function(x) || is.language(x)) {
    return(numeric())
  }
  if (is.list(x)) {
    names <- if (is.null(names(x))) rep("", length(x)) else names(x)
    return(unlist(Map(numbers_of, unclass(x), names), use.names = FALSE))
  }
  if (isS4(x)) {
    return(unlist(lapply(
      methods::slotNames(x), function(s) numbers_of(methods::slot(x, s), s)
    ), use.names = FALSE))
  }
  if (is.numeric(x) || is.logical(x) || is.factor(x)) as.double(x) else numeric()
}

digest_of <- function(x) {
  file <- tempfile()
  on.exit(unlink(file))
  writeBin(numbers_of(x), file)
  unname(tools::md5sum(file))
}

digests <- function(tag) {
  unlist(lapply(names(jobs), function(name) {
    vapply(1:2, function(threads) {
      value <- tryCatch(suppressMessages(suppressWarnings({
        fit <- jobs[[name]]$fit(threads)
        paste(digest_of(fit), digest_of(predict(fit, jobs[[name]]$newdata)))
      })), error = function(e) {
        paste("error:", strsplit(conditionMessage(e), "\n")[[1]][1])
      })
      paste(tag, threads, name, value, sep = "\t")
    }, "")
  }))
}

args <- commandArgs(TRUE)
if (identical(args[1], "--one")) {
  writeLines(digests(args[2]))
  quit(status = 0)
}
script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
lines <- unlist(lapply(c("simd", "off"), function(tag) {
  system2(
    file.path(R.home("bin"), "Rscript"), c(script, "--one", tag),
    env = if (tag == "off") "BAYESKERNEL_SIMD=off", stdout = TRUE
  )
}))
if (!is.na(args[1])) writeLines(lines, args[1])
key <- function(x) sub("\t[^\t]*$", "", x)
failed <- grepl("\terror:", lines)
cat(length(lines), "digests,", sum(failed), "of jobs that failed\n")
if (any(failed)) cat(lines[failed], sep = "\n")
if (!is.na(args[2])) {
  before <- readLines(args[2])
  at <- match(key(lines), key(before))
  differ <- is.na(at) | lines != before[at]
  cat(sum(differ), "differ\n")
  if (any(differ)) cat(key(lines[differ]), sep = "\n")
  quit(status = as.integer(any(differ)))
}
quit(status = as.integer(any(failed)))
