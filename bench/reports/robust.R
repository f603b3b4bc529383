# Odd input, interrupts, and fits that something else has written.

said <- function(code) {
  code <- substitute(code)
  env <- parent.frame()
  out <- tryCatch(
    {
      eval(code, env)
      "no error"
    },
    error = function(e) {
      paste0(
        sub("bayeskernel_error_", "", class(e)[1]), ": ",
        sub("\n.*", "", conditionMessage(e))
      )
    }
  )
  out
}

# A fit as a file may hold it: a matrix of 7 x 13 that says it has 7000 x 13000.
as_torn <- function(fit, at) {
  fit[[at]] <- matrix(0, 7, 13)
  text <- rawToChar(serialize(fit, NULL, ascii = TRUE))
  unserialize(charToRaw(
    sub("\n2\n7\n13\n", "\n2\n7000\n13000\n", text, fixed = TRUE)
  ))
}

cases <- list(
  report(
    "17", "response 1.7e9 + mpg, gaussian ep: fit - 1.7e9 and se of row 1",
    "23.24 (NaN)", "23.28 (0.63), lm()",
    function() {
      d <- transform(mtcars, t = 1.7e9 + mpg)
      p <- predict(bkm(t ~ wt, d, threads = 1), d[1, ], se.fit = TRUE)
      sprintf("%.2f (%.2f)", p$fit - 1.7e9, p$se.fit)
    }
  ),
  report(
    "17", "response 1e13 + mpg: sigma, logLik, loo",
    "called constant; NaN", "3.13, -80.2, -83.5, those of mpg",
    function() {
      d <- transform(mtcars, t = 1e13 + mpg)
      fit <- bkm(t ~ wt, d, family = "gaussian", threads = 1)
      sprintf(
        "%.2f, %.1f, %.1f", sigma(fit), as.numeric(logLik(fit)),
        loo::loo(fit)$estimates[1]
      )
    }
  ),
  report(
    "17", "a fit read from a file whose matrix is shorter than it says",
    "segfault", "an error of class _argument",
    function() {
      bad <- as_torn(
        bkm(am ~ wt, mtcars, threads = 1), c("posterior", "theta_cov")
      )
      said(vcov(bad))
    }
  ),
  report(
    "17", "a forged posterior$nodes of 2^31 - 1", "runs for ever",
    "an error of class _argument",
    function() {
      fit <- mkprobit(Species ~ ., iris[c(1:10, 51:60, 101:110), ], threads = 1)
      fit$posterior$nodes <- 2^31 - 1
      said(predict(fit, iris[1:2, ]))
    }
  ),
  report(
    "17", "gpsvm(x, y, weights = factor())", "no error",
    "an error of class _argument",
    function() {
      x <- as.matrix(mtcars[c("wt", "hp")])
      said(gpsvm(x, mtcars$am, weights = gl(2, 16), threads = 1))
    }
  ),
  report(
    "17", "sparse x with a missing weight", "error of ours",
    "an error of class _missing",
    function() {
      x <- Matrix::Matrix(as.matrix(mtcars[c("wt", "hp")]), sparse = TRUE)
      said(gpsvm(
        x, mtcars$am,
        weights = replace(rep(1, 32), 3, NA), threads = 1
      ))
    }
  ),
  report(
    "17", "loo(), then simulate(), of an extended fit",
    "error of ours; draws for the first rows only",
    "an error: the fit keeps nothing about its rows",
    function() {
      fit <- extend(
        bkm(am ~ wt + (1 | cyl), mtcars, threads = 1), mtcars[1:5, ],
        threads = 1
      )
      paste(said(loo::loo(fit)), said(simulate(fit)), sep = " | ")
    }
  ),
  report(
    "17", "extend() without the grouping variable", "error of ours",
    "an error that names it",
    function() {
      fit <- bkm(am ~ wt + (1 | cyl), mtcars, threads = 1)
      said(extend(fit, mtcars[1:5, c("am", "wt")], threads = 1))
    }
  ),
  report(
    "17", "a data frame with a matrix column; offset(factor())",
    "error of ours; error of ours", "errors that name them",
    function() {
      d <- data.frame(m = 1:32)
      d$m <- as.matrix(mtcars[c("wt", "hp")])
      paste(
        said(gpsvm(d, mtcars$am)),
        said(suppressWarnings(bsvm(am ~ wt + offset(factor(cyl)), mtcars))),
        sep = " | "
      )
    }
  ),
  report(
    "13", "klr(y ~ x) by default: rank", "error: rank 2 of 1 predictor", "1",
    function() {
      d <- data.frame(x = sin(1:60))
      d$y <- d$x + cos(1:60) > 0
      fit <- klr(
        y ~ x, d,
        chains = 1, control = klr_control(warmup = 50, thin = 1), ndraws = 20, until = NULL,
        threads = 1, seed = 1
      )
      as.character(fit$rank)
    }
  ),
  report(
    "15", "a row source with a byte of zero",
    "R's warning, then \"line 10 did not have 2 elements\"",
    "an error that says so",
    function() {
      file <- tempfile(fileext = ".csv")
      on.exit(unlink(file))
      utils::write.csv(mtcars[c("wt", "am")], file, row.names = FALSE)
      bytes <- readBin(file, "raw", 1e5)
      writeBin(replace(bytes, 40, as.raw(0)), file)
      said(bsvm(row_source(file, "am"), threads = 1))
    }
  ),
  report(
    "16", "classes of the core that are defined twice",
    "GridSettings, VariancePrior", "0 failed",
    function() {
      tail(system2("sh", "tools/check-core", stdout = TRUE), 1)
    }
  ),
  report(
    "20", "missing = \"omit\" with a missing response: rows of the fit",
    "error", "31 of 32",
    function() {
      fit <- suppressMessages(bkm(
        mpg ~ wt, transform(mtcars, mpg = replace(mpg, 3, NA)),
        missing = "omit", threads = 1
      ))
      as.character(nobs(fit))
    }
  )
)
