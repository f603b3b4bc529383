# One fit, and the function under it. The numbers are means over sets, of which it is the first.

about <- list(
  title = "sinc, one fit", where = "Figure 1, right", minutes = c(quick = 0.1, paper = 0.1)
)

run <- function() {
  fit <- sinc_fit(1)
  f <- predict(fit, sinc_test())
  all <- sinc_numbers("sinc")
  sets <- do.call(rbind, attr(all, "raw"))
  out <- all[1:2, ]
  if (size != "tiny") {
    out <- rbind(out, measured(
      "sets of 25 with an error of at most 0.0309" = sum(sets[, "test error"] <= 0.0309),
      "sets of 25 with at least 6.18 kernels" = sum(sets[, "kernels"] >= 6.18)
    ))
    out$mc_error[3:4] <- 0
  }
  attr(out, "raw") <- list(data = sinc_data(1), f = f)
  out
}

draw <- function(raw) {
  x <- sinc_test()
  old <- graphics::par(mar = c(4, 4, 1, 1))
  on.exit(graphics::par(old))
  graphics::plot(raw$data$x, raw$data$y, col = "#D55E00", pch = 4, las = 1, xlab = "x", ylab = "")
  graphics::lines(x, sinc(x), col = "grey40", lty = 2, lwd = 2)
  graphics::lines(x, raw$f, col = "#0072B2", lwd = 2)
  graphics::legend(
    "topright", c("data", "truth", "posterior mean"), col = c("#D55E00", "grey40", "#0072B2"),
    pch = c(4, NA, NA), lty = c(NA, 2, 1), lwd = c(1, 2, 2), bty = "n", cex = 0.8
  )
}
