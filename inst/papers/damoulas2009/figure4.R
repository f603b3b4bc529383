# A boundary between two classes: how much VB understates its spread. The paper's data are not
# given; ours are means over sets, of which the first is drawn.

about <- list(
  title = "spread of a boundary", where = "Figures 3 to 5, eq. 13",
  minutes = c(quick = 0.3, paper = 1),
  sizes = c(quick = "10 sets; 1000 + 2000 sweeps", paper = "10 sets; 5000 + 10,000 sweeps")
)

run <- function() {
  sets <- lapply(seq_len(pick(1, 10, 10)), one_set)
  averaged(lapply(sets, `[[`, "numbers"), raw = sets[[1]]$raw)
}

one_set <- function(set) {
  set.seed(set)
  w <- rbind(c(-1, 2, 0.5), c(1.5, -1, 0), c(0, 0, 1))
  x <- cbind(x1 = stats::rnorm(300), x2 = stats::rnorm(300), one = 1)
  y <- factor(max.col(x %*% t(w) + matrix(stats::rnorm(900), 300)))
  prior <- mkprobit_prior(tau = 3, nu = 3)
  lines <- function(fit, count) {
    plane <- `colnames<-`(diag(3), colnames(x))
    f <- predict(fit, plane, "link", draws = TRUE, seed = 1, ndraws = count)
    d <- f[, , 1] - f[, , 2]
    cbind(slope = -d[, 1] / d[, 2], intercept = -d[, 3] / d[, 2])
  }
  count <- pick(100, 2000, 10000)
  vb <- lines(fit_as(
    mkprobit, "damoulas2009", "single", x, y, kernel = basis(), seed = 1,
    change = list(prior = prior, control = list(tol = 1e-8, max_iter = 5000))
  ), count)
  gibbs <- lines(fit_as(
    mkprobit, "damoulas2009", "gibbs", x, y, kernel = basis(), seed = 1,
    change = list(ndraws = count, control = list(warmup = count / 2))
  ), count)
  ratio <- diag(stats::cov(gibbs)) / diag(stats::cov(vb))
  list(numbers = c(
    "variance of the slope, Gibbs / VB" = ratio[["slope"]],
    "variance of the intercept, Gibbs / VB" = ratio[["intercept"]],
    "correlation, Gibbs" = stats::cor(gibbs)[1, 2], "correlation, VB" = stats::cor(vb)[1, 2]
  ), raw = list(Gibbs = gibbs, VB = vb))
}

draw <- function(raw) {
  graphics::plot(raw$Gibbs, pch = 16, cex = 0.3, col = "grey50", las = 1)
  graphics::points(raw$VB, pch = 16, cex = 0.3, col = "#D55E00")
  graphics::legend("topright", c("Gibbs", "VB"), col = c("grey50", "#D55E00"), pch = 16, bty = "n")
}
