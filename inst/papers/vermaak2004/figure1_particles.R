# Test error by the number of particles.

about <- list(
  title = "sinc, error by particles", where = "Figure 1, left",
  minutes = c(quick = 0.05, paper = 0.6),
  sizes = c(
    quick = "10 of 25 sets; at most 500 of 1000 particles",
    paper = "25 sets; at most 1000 particles"
  )
)

run <- function() {
  sizes <- pick(c(25, 50), c(25, 50, 100, 250, 500), c(25, 50, 100, 250, 500, 1000))
  rows <- lapply(seq_len(pick(2, 10, 25)), function(set) {
    vapply(stats::setNames(sizes, sizes), function(count) {
      fit <- sinc_fit(set, change = list(particles = count))
      sinc_error(predict(fit, sinc_test()))
    }, 0)
  })
  table <- do.call(rbind, rows)
  first <- table[, "25"]
  out <- averaged(rows)
  out$quantity <- paste("test error,", out$quantity, "particles")
  if (size == "tiny") {
    return(out)
  }
  falls <- averaged(data.frame(
    "250 particles minus 25" = table[, "250"] - first, check.names = FALSE
  ))
  more <- averaged(data.frame(
    "more particles than 250, minus 250" =
      table[, ncol(table)] - table[, "250"],
    check.names = FALSE
  ))
  structure(rbind(out, falls, more), raw = table)
}

draw <- function(raw) {
  old <- graphics::par(mar = c(4, 5, 1, 1), mgp = c(3.8, 1, 0))
  on.exit(graphics::par(old))
  graphics::plot(
    as.numeric(colnames(raw)), colMeans(raw),
    type = "b", xlab = "", ylab = "test error", las = 1, log = "x"
  )
  graphics::title(xlab = "particles", line = 2.5)
}
