# Digits 3 and 5: error and time by the number of inducing points, by k-means and by random rows.

about <- list(
  title = "digits, error by inducing points", where = "Figure 3", data = "usps",
  minutes = c(quick = 1.5, paper = 20),
  sizes = c(
    quick = "700 of 1540 rows; 5 of 10 folds; at most 100 inducing points",
    paper = "1540 rows; 10 folds; at most 200 inducing points"
  )
)

run <- function() {
  all <- paper_data("usps")
  data <- list(x = as.matrix(all[1:256]), y = factor(all$digit == 3))
  # Rows come by digit.
  set.seed(1)
  at <- sample(nrow(data$x), pick(80, 700, nrow(data$x)))
  data <- list(x = data$x[at, ], y = data$y[at])
  folds <- contiguous_folds(nrow(data$x))[seq_len(pick(2, 5, 10))]
  counts <- pick(c(5, 10), c(5, 10, 15, 50, 100), c(5, 10, 15, 25, 50, 100, 200))
  seconds <- list()
  errors <- function(count, seeding) {
    runs <- lapply(folds, function(test) {
      done <- timed(function() {
        fit_as(gpsvm, "wenzel2017", "batch", data$x[-test, ], data$y[-test],
          inducing = count, standardize = FALSE, seed = 1,
          change = list(kernel = rbf(), control = list(seeding = seeding))
        )
      })
      wrong <- mean(predict(done$value, data$x[test, ]) != data$y[test])
      c(error = wrong, seconds = done$seconds)
    })
    runs <- do.call(rbind, runs)
    seconds[[paste(seeding, count)]] <<- runs[, "seconds"]
    runs[, "error"]
  }
  rows <- lapply(c(kmeans = "kmeans", random = "random"), function(seeding) {
    vapply(stats::setNames(counts, counts), errors, numeric(length(folds)), seeding = seeding)
  })
  out <- averaged(cbind(
    "error, 10 points, kmeans" = rows$kmeans[, "10"],
    "error, 10 points, random" = rows$random[, "10"],
    "error, 10 points, kmeans minus random" =
      rows$kmeans[, "10"] - rows$random[, "10"]
  ), raw = curves(
    rep(names(rows), each = length(counts)), rep(counts, 2), unlist(lapply(rows, colMeans)),
    unlist(lapply(rows, function(x) apply(x, 2, stats::sd) / sqrt(nrow(x))))
  ))
  if (size != "tiny") {
    out <- both(out, averaged(cbind(
      "error, 100 points" = rows$kmeans[, "100"],
      "error, 5 points minus 100" = rows$kmeans[, "5"] - rows$kmeans[, "100"],
      "error, 10 points minus 100" = rows$kmeans[, "10"] - rows$kmeans[, "100"],
      "error, 15 points minus 100" = rows$kmeans[, "15"] - rows$kmeans[, "100"],
      "seconds, 15 points" = seconds[["kmeans 15"]],
      "seconds, 100 points" = seconds[["kmeans 100"]]
    )))
    times <- vapply(seconds[c("kmeans 100", "kmeans 15")], mean, 0)
    ratio <- times[[1]] / times[[2]]
    out <- both(out, measured("100 points takes times as long as 15 points" = ratio))
  }
  out
}

draw <- function(raw) draw_curves(raw, "inducing points")
