# Collisions: 64 inducing points, minibatches of 100 rows.

about <- list(
  title = "SUSY, a public sample", where = "Section 5.2", data = "susy",
  minutes = c(quick = 0.5, paper = 1),
  sizes = c(
    quick = "5 passes; 10,000 of 5 million rows",
    paper = "20 passes; 10,000 of 5 million rows"
  )
)

run <- function() {
  data <- paper_data("susy")
  train <- which(data$set == "train")
  if (size == "tiny") train <- train[1:600]
  test <- data$set == "test"
  x <- as.matrix(data[1:8])
  y <- factor(data$y)
  done <- timed(function() {
    fit_as(
      gpsvm, "wenzel2017", "susy", x[train, ], y[train],
      seed = 1, change = list(control = list(epochs = pick(1, 5, 20)))
    )
  })
  f <- predict(done$value, x[test, ], type = "link", se.fit = TRUE)
  positive <- y[test] == "1"
  p <- stats::pnorm(f$fit / sqrt(1 + f$se.fit^2))
  printed <- stats::pnorm(f$fit / (1 + f$se.fit^2))
  area <- auc(positive, p)
  out <- measured(
    "AUC" = area, "Brier" = mean((p - positive)^2),
    "Brier, eq. 13 as printed" = mean((printed - positive)^2), "seconds" = done$seconds
  )
  out$mc_error[1] <- sqrt(area * (1 - area) / min(table(positive)))
  out$mc_error[2] <- stats::sd((p - positive)^2) / sqrt(sum(test))
  out$mc_error[3] <- stats::sd((printed - positive)^2) / sqrt(sum(test))
  out
}
