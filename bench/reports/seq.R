# Evidence and length-scales of particles over a stream.

curve_rows <- function(noise, seed = 1) {
  set.seed(seed)
  d <- data.frame(a = runif(200), b = runif(200))
  d$f <- sin(4 * d$a) + d$b
  d$y <- d$f + rnorm(200) * noise
  d
}
bowl_rows <- function(seed = 1) {
  set.seed(seed)
  d <- data.frame(a = runif(200, -2, 2), b = runif(200, -2, 2))
  d$f <- sin(2 * d$a) + d$b^2 / 2
  d$y <- d$f + rnorm(200, sd = 0.3)
  d
}
chosen <- function(d) {
  fit <- seqkr(y ~ a + b, d, seed = 1, threads = 1,
    control = seqkr_control(progress = FALSE))
  limits <- as.matrix(predict(
    fit, d,
    type = "response", interval = "credible", level = 0.9
  ))
  limits <- limits[, ncol(limits) - 1:0]
  sprintf(
    "log evidence %.1f, length-scale %.2f, RMSE %.3f, cover %.2f",
    fit$log_evidence, fit$kernel$lengthscale[1],
    sqrt(mean((fitted(fit) - d$f)^2)),
    mean(limits[, 1] <= d$f & d$f <= limits[, 2])
  )
}

cases <- list(
  report(
    "B4", "seqkr(y ~ a + b), sin(4 a) + b, noise .2: default fit",
    "log evidence 29,286,572, length-scale 7.2, RMSE .074",
    "evidence at most 32, length-scale 1.5, RMSE .059",
    function() chosen(curve_rows(0.2))
  ),
  report(
    "B4", "the same, noise .05",
    "length-scale 7.0, RMSE .059 to .065", "length-scale 2, RMSE .025",
    function() chosen(curve_rows(0.05))
  ),
  report(
    "B4", "sin(2 a) + b^2 / 2: default fit",
    "length-scale 3.5, RMSE .17, cover of 90 % limits .57",
    "rbf(1.2): RMSE .114, cover .88",
    function() chosen(bowl_rows())
  ),
  report(
    "B4", "length-scale 7 of 200 rows, noise .05: largest term of the evidence",
    "9,058,304", "a few: log density at a noise of .05 is 2.1",
    function() {
      fit <- seqkr(y ~ a + b, curve_rows(0.05),
        kernel = rbf(7), seed = 1, threads = 1,
        control = seqkr_control(progress = FALSE)
      )
      sprintf("%.2f", max(fit$trace$steps$log_evidence))
    }
  ),
  report(
    "B4", "an outlier of 1e6, temper = FALSE: is it said?",
    "no", "yes: one particle is effective",
    function() {
      d <- data.frame(x = seq(0, 1, length.out = 60))
      d$y <- d$x
      d$y[40] <- 1e6
      said <- "no"
      withCallingHandlers(
        seqkr(y ~ x, d,
          kernel = rbf(1),
          control = seqkr_control(temper = FALSE, progress = FALSE), order = "given", seed = 1,
          threads = 1
        ),
        bayeskernel_warning_convergence = function(w) {
          said <<- strsplit(conditionMessage(w), "\n")[[1]][2]
        }
      )
      said
    }
  )
)
