# A variance that the data leave near 0 has a density without a maximum in its logarithm.

agrees <- function(fit, sampled, bound) {
  own <- tidy(fit, "ran_pars", conf.int = TRUE)
  other <- tidy(sampled, "ran_pars", conf.int = TRUE)
  expect_identical(own$group, other$group)
  expect_true(all(own$conf.low < own$estimate & own$estimate < own$conf.high))
  # In units of the sampler's standard deviations.
  expect_lt(max(abs(own$estimate - other$estimate) / other$std.error), 0.4)
  expect_lt(max(abs(own$conf.high - other$conf.high) / other$std.error), 0.8)
  expect_gt(log_evidence(fit), max(elbo(bound)))
}

test_that("nested groups, one of whose variances may be 0, are as the sampler has them", {
  set.seed(2)
  d <- expand.grid(r = 1:6, c = 1:4, s = 1:25)
  d[c("s", "c")] <- lapply(d[c("s", "c")], factor)
  d$x <- rnorm(600)
  d$y <- d$x + rnorm(25)[d$s] + rnorm(100, 0, 0.2)[interaction(d$s, d$c)] + rnorm(600)
  fit <- function(...) bkm(y ~ x + (1 | s / c), d, threads = 1, ...)
  agrees(fit(), fit(method = "gibbs", seed = 1), fit(method = "vb"))
})

test_that("the mode is found where a start leaves the noise a little off", {
  skip_if_not(identical(Sys.getenv("BAYESKERNEL_SLOW"), "true"))
  data("bdf", package = "nlme", envir = environment())
  bdf <- as.data.frame(bdf)
  bdf$class <- factor(rep(1:2, length.out = nrow(bdf)))
  fit <- function(...) bkm(langPOST ~ IQ.verb + ses + (1 | schoolNR / class), bdf, threads = 1, ...)
  agrees(fit(), fit(method = "gibbs", seed = 1), fit(method = "vb"))
})
