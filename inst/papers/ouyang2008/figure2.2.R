# The directions that SAVE and a projection of rank 1 find in sets like D4in1.

about <- list(
  title = "D4in1, direction", where = "Figure 2.2", minutes = c(quick = 0.4, paper = 2),
  sizes = c(quick = "10 sets; 5000 + 5000 sweeps", paper = "20 sets; 20,000 + 20,000 sweeps")
)

run <- function() {
  truth <- c(1, 1, -1, -1) / 2
  sets <- lapply(seq_len(pick(1, 10, 20)), function(k) {
    set.seed(k)
    data <- simulate_low_rank("D4in1", pick(60, 200, 200))
    direction <- unit(projection(projection_fit(data, 1))$directions[, 1])
    sliced <- unit(save_directions(data$x, data$y, 1)[, 1])
    cosines <- c(sum(direction * truth), abs(sum(sliced * truth)))
    list(
      numbers = c(
        stats::setNames(direction, paste("direction,", names(direction))),
        "cosine with the true direction" = cosines[1], "the same of SAVE" = cosines[2],
        "SAVE minus the model" = cosines[2] - cosines[1]
      ),
      raw = list(SAVE = drop(data$x %*% sliced), klr = drop(data$x %*% direction), y = data$y)
    )
  })
  averaged(lapply(sets, `[[`, "numbers"), raw = sets[[1]]$raw)
}

draw <- function(raw) {
  old <- graphics::par(mfrow = c(1, 2), mar = c(4, 4, 2, 1), las = 1)
  on.exit(graphics::par(old))
  for (name in c("SAVE", "klr")) {
    graphics::plot(
      raw[[name]], raw$y + stats::runif(length(raw$y), -0.1, 0.1), xlab = "direction",
      ylab = "class", yaxt = "n", main = if (name == "klr") "klr()" else name, cex = 0.7,
      col = c("#0072B2", "#D55E00")[raw$y + 1], pch = c(1, 19)[raw$y + 1]
    )
    graphics::axis(2, 0:1)
  }
}
