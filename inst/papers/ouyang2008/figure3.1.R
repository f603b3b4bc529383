# Boston: kernel scales of the predictors.

about <- list(
  title = "Boston, kernel scales", where = "Figure 3.1", data = "boston",
  minutes = c(quick = 1.5, paper = 60), packages = "MASS",
  sizes = c(
    quick = "5 starts; 10,000 + 10,000 of 2,000,000 + 2,000,000 sweeps",
    paper = "1 start; 2,000,000 + 2,000,000 sweeps"
  )
)

run <- function() {
  fits <- lapply(scales_of("boston", "different", pick(1, 5, 1)), function(fit) {
    own <- grep("^lambda", dimnames(fit$draws)[[3]], value = TRUE)
    values <- apply(fit$draws[, , own], 3, as.vector)
    `colnames<-`(values, gsub("^lambda\\[|\\]$", "", own))
  })
  large <- c("nox", "rad", "lstat")
  small <- c("zn", "chas", "black")
  averaged(lapply(fits, function(values) {
    lambda <- colMeans(values)
    own <- c(large, small)
    others <- setdiff(names(lambda), own)
    c(
      stats::setNames(lambda[c(own, others)], paste("scale,", c(own, others))),
      "zn, chas, black minus nox, rad, lstat" = mean(lambda[small]) - mean(lambda[large]),
      "least of nox, rad, lstat minus largest of the rest" =
        min(lambda[large]) - max(lambda[setdiff(names(lambda), large)])
    )
  }), raw = do.call(rbind, fits))
}

draw <- function(raw) {
  old <- graphics::par(mar = c(5, 4, 1, 1), las = 2)
  on.exit(graphics::par(old))
  graphics::boxplot(raw, ylab = "kernel scale", col = "grey90", outline = FALSE)
}
