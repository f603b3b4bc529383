# Smooths of one row, of two factors.
cases <- list(
  report(
    "13", "predict() of one row with s(x, m = c(2, 0))", "error",
    "as among other rows", function() {
      set.seed(1)
      d <- data.frame(x = runif(60))
      d$y <- sin(4 * d$x) + rnorm(60) / 5
      fit <- bkm(y ~ s(x, m = c(2, 0)), d, seed = 1, threads = 1)
      sprintf("%.4f %.4f", predict(fit, d[1, , drop = FALSE]), predict(fit)[1])
    }
  ),
  report(
    "13", "plot(fit, \"smooth\") with s(f1, f2, bs = \"re\")", "error",
    "a plot", function() {
      d <- expand.grid(f1 = gl(3, 1), f2 = gl(2, 1), copy = 1:6)
      d$y <- sin(seq_len(nrow(d)))
      pdf(NULL)
      on.exit(dev.off())
      plot(bkm(y ~ s(f1, f2, bs = "re"), d, seed = 1, threads = 1), "smooth")
      "a plot"
    }
  )
)

cases <- c(cases, list(
  report(
    "12c", "RMSE of bases tp, cr, ps, bs (k = 20), a curve, then a line",
    ".056 .061 .058 .058; .031 .059 .055 .051", "gam .056; .026", function() {
      rmse <- function(basis, line) {
        mean(vapply(1:6, function(seed) {
          set.seed(seed)
          x <- runif(200)
          f <- if (line) 2 * x else sin(2 * pi * x) + x
          d <- data.frame(x = x, y = f + rnorm(200) / 3)
          fit <- bkm(
            stats::as.formula(sprintf("y ~ s(x, bs = '%s', k = 20)", basis)), d,
            seed = 1, threads = 1
          )
          sqrt(mean((predict(fit) - f)^2))
        }, 0))
      }
      bases <- c("tp", "cr", "ps", "bs")
      paste(vapply(c(FALSE, TRUE), function(line) {
        paste(sprintf("%.3f", vapply(bases, rmse, 0, line = line)),
          collapse = " ")
      }, ""), collapse = "; ")
    }
  )
))
