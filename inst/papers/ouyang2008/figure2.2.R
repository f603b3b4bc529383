# The direction that a projection of rank 1 finds in D4in1.

about <- list(title = "D4in1, direction", where = "Figure 2.2", minutes = c(quick = 0.4, paper = 2))

run <- function() {
  set.seed(1)
  data <- simulate_low_rank("D4in1", pick(60, 200, 200))
  fit <- projection_fit(data, 1)
  direction <- projection(fit)$directions[, 1]
  direction <- direction / sqrt(sum(direction^2)) * sign(direction[1])
  truth <- c(1, 1, -1, -1) / 2
  measured(
    stats::setNames(direction, paste("direction,", names(direction))),
    "cosine with the true direction" = sum(direction * truth),
    raw = list(s = drop(data$x %*% direction), y = data$y)
  )
}

draw <- function(raw) {
  graphics::plot(raw$s, jitter(raw$y), xlab = "direction", ylab = "class")
}
