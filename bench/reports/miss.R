# Missing predictors beside groups: what the rows of a group share, and factors
# by a sampler.

grouped_miss <- function(seed, family = "gaussian") {
  set.seed(seed)
  g <- gl(30, 10)
  n <- length(g)
  between <- function(share) {
    sqrt(share) * rnorm(30)[g] + sqrt(1 - share) * rnorm(n)
  }
  z <- between(0.3)
  x <- 0.4 * z + between(0.8)
  f <- 0.3 + 0.8 * x - 0.5 * z + 0.7 * rnorm(30)[g]
  y <- f + rnorm(n)
  if (family == "probit") y <- as.numeric(y > 0)
  chance <- if (family == "probit") 1.8 * y - 1.7 else 1.5 * (y - mean(y)) - 1
  x[runif(n) < plogis(chance)] <- NA
  data.frame(y, x, z, g)
}

# Slope of x, standard deviations of groups and noise, less the sampler's and in
# its standard deviations: means over data sets.
beside_sampler <- function(family, sets) {
  scope <- new.env()
  sys.source("tests/testthat/reference/missing-gibbs.R", scope)
  for (file in c("flat", "golden-missing")) {
    sys.source(paste0("tests/testthat/helper-", file, ".R"), scope)
  }
  names <- c(b1 = "b_x", sd_group = "sd_group", sigma = "sigma")
  if (family != "gaussian") names <- names[1:2]
  gap <- vapply(seq_len(sets), function(seed) {
    d <- grouped_miss(seed, family)
    draws <- scope$missing_gibbs(
      d$y, d$x, cbind(1, d$z), d$g, family, sweeps = 1500, warmup = 300
    )$draws[, names]
    if (family != "gaussian") d$y <- factor(d$y)
    fit <- scope$golden_missing_fit(
      list(family = family, formula = y ~ x + z + (1 | g), data = d), "ep"
    )
    table <- as.data.frame(generics::tidy(fit))
    own <- c(
      coef(fit)[["x"]], table$estimate[startsWith(table$term, "sd__")]
    )[seq_along(names)]
    (own - colMeans(draws)) / apply(draws, 2, sd)
  }, numeric(length(names)))
  paste(sprintf("%+.2f", rowMeans(gap)), collapse = ", ")
}

cases <- list(
  report(
    "A1", paste(
      "\"ep\", gaussian, (1 | g), x missing by the response: slope, sd of",
      "groups, sd of noise less those of a sampler, in its sd, 6 data sets"
    ),
    "-0.12, -0.06, +0.03 (0.7.0)", "0; errors of simulation .03",
    function() beside_sampler("gaussian", 6)
  ),
  report(
    "A1", "\"ep\", probit, the same: slope, sd of groups, 6 data sets",
    "-0.10, -0.06 (0.7.0)", "0; errors of simulation .04",
    function() beside_sampler("probit", 6)
  ),
  report(
    "A1", "method = \"gibbs\", a factor that misses values row by row, (1 | g)",
    "refused (0.7.0)", "coefficients of \"ep\" to .1 sd",
    function() {
      set.seed(2)
      g <- gl(25, 12)
      x <- factor(sample(c("a", "b", "c"), 300, TRUE))
      d <- data.frame(
        y = c(0, 1, -1)[x] + 0.7 * rnorm(25)[g] + rnorm(300), x, g
      )
      d$x[runif(300) < 0.3] <- NA
      fits <- lapply(c("ep", "gibbs"), function(method) {
        tryCatch(suppressWarnings(bkm(
          y ~ x + (1 | g), d, missing = "model", method = method, seed = 1,
          threads = 1
        )), bayeskernel_error = function(e) NULL)
      })
      if (is.null(fits[[2]])) return("refused")
      gap <- (coef(fits[[2]]) - coef(fits[[1]])) / sqrt(diag(vcov(fits[[1]])))[1:3]
      sprintf("largest difference %.2f sd", max(abs(gap)))
    }
  )
)
