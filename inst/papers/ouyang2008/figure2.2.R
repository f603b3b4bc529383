# The directions that SAVE and a projection of rank 1 find in D4in1.

about <- list(title = "D4in1, direction", where = "Figure 2.2", minutes = c(quick = 0.4, paper = 2))

run <- function() {
  set.seed(1)
  data <- simulate_low_rank("D4in1", pick(60, 200, 200))
  direction <- unit(projection(projection_fit(data, 1))$directions[, 1])
  sliced <- unit(save_directions(data$x, data$y, 1)[, 1])
  truth <- c(1, 1, -1, -1) / 2
  measured(
    stats::setNames(direction, paste("direction,", names(direction))),
    "cosine with the true direction" = sum(direction * truth),
    "the same of SAVE" = abs(sum(sliced * truth)),
    "SAVE minus the model" = abs(sum(sliced * truth)) - abs(sum(direction * truth)),
    raw = list(SAVE = drop(data$x %*% sliced), klr = drop(data$x %*% direction), y = data$y)
  )
}

draw <- function(raw) {
  old <- graphics::par(mfrow = c(1, 2))
  on.exit(graphics::par(old))
  for (name in c("SAVE", "klr")) {
    graphics::plot(raw[[name]], jitter(raw$y), xlab = "direction", ylab = "class", main = name)
  }
}
