# What users type: section by section of the page on it.
cases <- local({
  fitters <- c("bsvm", "bkm", "gpsvm", "mkprobit", "bark", "klr", "seqkr")
  set.seed(1)
  d <- data.frame(a = rnorm(60), b = rnorm(60))
  d$y <- factor(ifelse(d$a + rlogis(60) > 0, "yes", "no"))
  d$o <- factor(cut(d$b, 3), labels = c("lo", "mid", "hi"), ordered = TRUE)
  short <- list(
    bark = list(
      chains = 1, ndraws = 20, control = list(warmup = 50, thin = 1), seed = 1
    ),
    klr = list(
      chains = 1, ndraws = 20, control = list(warmup = 50, thin = 1), seed = 1
    ),
    seqkr = list(particles = 20, seed = 1), gpsvm = list(tune = FALSE, seed = 1)
  )
  run <- function(name, formula, ...) {
    suppressMessages(suppressWarnings(do.call(name, c(
      list(formula, d, threads = 1), short[[name]], list(...)
    ))))
  }
  error_of <- function(code) {
    tryCatch({
      force(code)
      "no error"
    }, error = conditionMessage)
  }
  list(
    report(
      1, "functions that hide those of posterior", "rhat", "none",
      now = function() {
        hidden <- intersect(
          getNamespaceExports("bayeskernel"), getNamespaceExports("posterior")
        )
        if (length(hidden)) paste(hidden, collapse = ", ") else "none"
      }
    ),
    report(
      2, "kernel = \"matern\" is matern(): models", "by name in each", "equal",
      now = function() {
        same <- vapply(c("gpsvm", "mkprobit", "seqkr"), function(name) {
          identical(
            predict(run(name, y ~ a + b, kernel = "matern"), d, type = "prob"),
            predict(run(name, y ~ a + b, kernel = matern()), d, type = "prob")
          )
        }, NA)
        if (all(same)) "equal" else paste(names(same)[!same], collapse = ", ")
      }
    ),
    report(
      3, "models that fit a factor of two without `family`",
      "5 of 7 (bark and seqkr asked)", "7 of 7",
      now = function() {
        fits <- vapply(fitters, function(name) {
          inherits(try(run(name, y ~ a + b), silent = TRUE), name)
        }, NA)
        sprintf("%d of %d", sum(fits), length(fits))
      }
    ),
    report(
      3, "bark() of an ordered factor without `family`", "an error", "ordinal",
      now = function() run("bark", o ~ a)$family
    ),
    report(
      3, "method of select = TRUE, bsvm and bkm", "vb, gibbs", "one method",
      now = function() {
        paste(vapply(c("bsvm", "bkm"), function(name) {
          run(name, y ~ a + b, select = TRUE, seed = 1)$method
        }, ""), collapse = ", ")
      }
    ),
    report(
      4, "most arguments of a function that fits", "40", "at most 22",
      now = function() {
        as.character(max(unlist(lapply(fitters, function(name) {
          vapply(c("formula", "default", "row_source"), function(class) {
            length(formals(utils::getS3method(
              name, class, TRUE, asNamespace("bayeskernel")
            )))
          }, 0L)
        }))))
      }
    ),
    report(
      4, "what the error for an old argument names", "-", "the new one",
      now = function() {
        text <- gsub("\\s+", " ", error_of(bkm(y ~ a, d, tol = 1e-8)))
        sub(".*(control = bkm_control\\(tol = \\)).*", "\\1", text)
      }
    ),
    report(
      5, "arguments named draws that are numbers", "12 functions", "none",
      now = function() {
        has <- vapply(fitters, function(name) {
          "draws" %in% names(formals(utils::getS3method(
            name, "default", TRUE, asNamespace("bayeskernel")
          )))
        }, NA)
        if (any(has)) paste(fitters[has], collapse = ", ") else "none"
      }
    ),
    report(
      7, "model = TRUE typed, above the limit of cells", "kept", "as default",
      now = function() {
        old <- options(bayeskernel.model_cells = 10)
        on.exit(options(old))
        kept <- vapply(list(list(), list(model = TRUE)), function(own) {
          !is.null(do.call(run, c("bkm", y ~ a, own))$data$rows)
        }, NA)
        if (kept[1] == kept[2]) "as default" else "kept"
      }
    )
  )
})
