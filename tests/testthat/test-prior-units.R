test_that("without standardizing the default prior is in units of a numeric response", {
  set.seed(4)
  d <- data.frame(x = rnorm(80), g = factor(rep(1:8, 10)))
  d$y <- d$x + 2 * rnorm(8)[d$g] + rnorm(80)
  sds <- function(size, ...) {
    fit <- bkm(y ~ x + (1 | g), transform(d, y = size * y), threads = 1, ...)
    as.data.frame(VarCorr(fit))$sdcor / size
  }
  scaled <- sds(1)
  # The prior of the noise is not: `noise_rate` is a number.
  for (size in c(1, 1e3)) {
    expect_equal(sds(size, standardize = FALSE), scaled, tolerance = 1e-2)
  }
})
