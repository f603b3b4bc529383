# Neal's classes: decision boundaries by VB.

about <- list(
  title = "Neal's three classes, boundaries by VB", where = "Figure 7",
  minutes = c(quick = 0.3, paper = 1),
  sizes = c(quick = "100 passes", paper = "100 passes")
)

# Also the error on the drawn objects, which are those of the fit.
run <- function() {
  out <- neal_figure("single")
  raw <- attr(out, "raw")
  error <- wrong(predict(raw$fit, raw$data$x[, 1:2]), raw$data$y)
  drawn <- measured("error on the 400 drawn objects" = error)
  drawn$mc_error <- sqrt(error * (100 - error) / 400)
  both(out, drawn)
}

draw <- function(raw) draw_neal(raw)
