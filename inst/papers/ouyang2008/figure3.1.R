# Boston: kernel scales of the predictors.

about <- list(
  title = "Boston, kernel scales", where = "Figure 3.1", data = "boston",
  minutes = c(quick = 1.5, paper = 60), packages = "MASS"
)

run <- function() {
  fit <- scales_of("boston", "different")
  own <- grep("^lambda", dimnames(fit$draws)[[3]], value = TRUE)
  values <- apply(fit$draws[, , own], 3, as.vector)
  colnames(values) <- gsub("^lambda\\[|\\]$", "", own)
  lambda <- colMeans(values)
  large <- lambda[c("nox", "rad", "lstat")]
  small <- lambda[c("zn", "chas", "black")]
  measured(
    "scale, nox" = lambda[["nox"]], "scale, rad" = lambda[["rad"]],
    "scale, lstat" = lambda[["lstat"]], "scale, zn" = lambda[["zn"]],
    "scale, chas" = lambda[["chas"]], "scale, black" = lambda[["black"]],
    "zn, chas, black minus nox, rad, lstat" = mean(small) - mean(large), raw = values
  )
}

draw <- function(raw) {
  old <- graphics::par(mar = c(5, 4, 1, 1), las = 2)
  on.exit(graphics::par(old))
  graphics::boxplot(raw, ylab = "kernel scale", col = "grey90", outline = FALSE)
}
