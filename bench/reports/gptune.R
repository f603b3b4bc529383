# Tuning of gpsvm(): what it costs, and how good the kernel is.

timed_fit <- function(work) {
  began <- proc.time()[[1]]
  fit <- work()
  list(fit = fit, seconds = proc.time()[[1]] - began)
}

of_fit <- function(done) {
  sprintf(
    "%.1f CPU s, leave-one-out %.1f, %d evaluations", done$seconds,
    -done$fit$link$value, done$fit$tuned$evaluations
  )
}

cases <- list(
  report(
    "36.4", "gpsvm(depth > 300 ~ long + lat, quakes)",
    "9.2 CPU s, leave-one-out -95.4 (0.6.0), 51 evaluations",
    "at most 2 CPU s with a score as good (-94.0)",
    function() {
      of_fit(timed_fit(function() {
        gpsvm(depth > 300 ~ long + lat, quakes, threads = 1, seed = 1)
      }))
    }
  ),
  report(
    "36.4", "iris, all three species",
    "0.8 CPU s (0.6.0)", "seconds of a user's patience, the same score",
    function() {
      of_fit(timed_fit(function() {
        gpsvm(Species ~ ., iris, threads = 1, seed = 1)
      }))
    }
  ),
  report(
    "36.4", "400 rows of ten classes of digits' like, simulated",
    "see bench/calibration.R for the thirteen sets and letters",
    "at most 5 CPU s",
    function() {
      set.seed(1)
      class <- rep(1:10, 40)
      center <- matrix(rnorm(160, 0, 1.2), 10)
      x <- center[class, ] + matrix(rnorm(6400), 400)
      done <- timed_fit(function() {
        gpsvm(x, factor(class), threads = 1, seed = 1)
      })
      sprintf("%.1f CPU s, %s", done$seconds, done$fit$tuned$by)
    }
  ),
  report(
    "36.5", "progress = TRUE in a script", "nothing while it tunes",
    "a line a round: rows, evaluations, best score",
    function() {
      file <- tempfile()
      con <- file(file, "w")
      sink(con, type = "message")
      tryCatch(
        gpsvm(
          depth > 300 ~ long + lat, quakes[1:400, ],
          threads = 1, seed = 1, control = gpsvm_control(progress = TRUE)
        ),
        finally = {
          sink(type = "message")
          close(con)
        }
      )
      paste(grep("^tuning", readLines(file, warn = FALSE), value = TRUE),
        collapse = " | "
      )
    }
  )
)
