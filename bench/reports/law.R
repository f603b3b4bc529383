# Missing predictors beside groups, and by the response.

grouped <- function(seed, between) {
  set.seed(seed)
  g <- gl(30, 10)
  z <- rnorm(300)
  x <- sqrt(between) * rnorm(30)[g] + sqrt(1 - between) * rnorm(300)
  d <- data.frame(x = x, z = z, g = g)
  d$f <- 0.8 * x + 0.5 * z + 0.7 * rnorm(30)[g]
  d$y <- d$f + rnorm(300)
  d$x[runif(300) < 0.3] <- NA
  d
}

slope_of <- function(method, between, family = "gaussian", seeds = 1:6) {
  fits <- lapply(seeds, function(seed) {
    d <- grouped(seed, between)
    if (family != "gaussian") d$y <- factor(d$f + rlogis(300) > 0)
    fit <- bkm(
      y ~ x + z + (1 | g), d, family = family, method = method,
      missing = "model", threads = 1, seed = 1
    )
    c(fixef(fit)[["x"]], sqrt(vcov(fit)["x", "x"]))
  })
  b <- do.call(rbind, fits)
  sprintf(
    "%s %.3f (cover %.2f)", method, mean(b[, 1]),
    mean(abs(b[, 1] - 0.8) < 1.645 * b[, 2])
  )
}

by_response <- function(method, seeds = 1:6) {
  b <- vapply(seeds, function(seed) {
    set.seed(seed)
    d <- data.frame(z = rnorm(300))
    d$x <- rnorm(300)
    d$y <- 1 + d$x + 0.5 * d$z + rnorm(300)
    d$x[runif(300) < plogis(-1 + 1.5 * (d$y - 1))] <- NA
    fixef(bkm(
      y ~ x + z, d, family = "gaussian", method = method, missing = "model",
      threads = 1
    ))[c("(Intercept)", "x", "z")]
  }, numeric(3))
  paste(method, paste(sprintf("%.2f", rowMeans(b)), collapse = " "))
}

process_by_response <- function(seeds = 1:3) {
  f <- vapply(seeds, function(seed) {
    set.seed(seed)
    d <- data.frame(x = rnorm(300))
    d$y <- sin(2 * d$x) + rnorm(300) / 2
    d$x[runif(300) < plogis(-1 + 1.5 * d$y)] <- NA
    fit <- bkm(
      y ~ gp(x), d, family = "gaussian", method = "vb", missing = "model",
      threads = 1
    )
    predict(fit, data.frame(x = c(-1, 0, 1)), type = "response")
  }, numeric(3))
  paste(sprintf("%.2f", rowMeans(f)), collapse = " ")
}

cases <- list(
  report(
    "A1", "slope of x, 30 groups of 10, between-share .8, 30 % missing",
    ".497, cover .075", ".8 (lmer of complete cases .775), cover .9",
    function() {
      vapply(c("ep", "vb", "gibbs"), slope_of, "", between = 0.8)
    }
  ),
  report(
    "A1", "the same by between-share 0, .3, .5", ".769 .711 .654", ".8",
    function() {
      vapply(c(0, 0.3, 0.5), function(b) slope_of("ep", b), "")
    }
  ),
  report(
    "A1", "the same, logit", ".70", ".8",
    function() slope_of("ep", 0.8, "logit")
  ),
  report(
    "A2", "Gaussian y, x missing by plogis(-1 + 1.5 (y - 1))",
    "1.16 .93 .63", "1 1 .5",
    function() vapply(c("ep", "vb"), by_response, "")
  ),
  report(
    "A2", "gp(x), missing by y: f at -1, 0, 1", "f(0) .17 too large",
    "-.91 0 .91", process_by_response
  )
)
