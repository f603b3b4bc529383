test_that("defaults are those of the model", {
  expect_identical(
    unclass(bsvm_prior()),
    list(
      beta_var = NULL, beta_mean = 0, var_shape = NULL, var_rate = NULL, cov_df = NULL,
      cov_scale = NULL, rho = 0.01, rho_beta = NULL, x_mean_var = 1e8, x_df = NULL, x_scale = 0.01,
      inclusion = NULL, intercept_var = NULL, sd_scale = NULL
    )
  )
  expect_s3_class(bsvm_prior(), c("bsvm_prior", "bayeskernel_prior"), exact = TRUE)
})

test_that("impossible parameters are prior errors that name the argument", {
  bad <- list(
    beta_var = list(0, -1, Inf, NA, "1", numeric(), c(1, -1)),
    beta_mean = list(Inf, NaN, "0", c(0, NA)), var_shape = list(0, -1, Inf, c(1, 2)),
    var_rate = list(0, NaN), cov_df = list(0, -2, "a"),
    cov_scale = list(0, matrix(c(1, 2, 2, 1), 2), matrix(1:2, 1)), rho = list(0, 1, 1.5, NA),
    rho_beta = list(1, c(1, 0), c(1, 2, 3)), x_mean_var = list(0), x_df = list(-1),
    x_scale = list(-1)
  )
  for (name in names(bad)) {
    for (value in bad[[name]]) {
      error <- expect_error(
        do.call(bsvm_prior, stats::setNames(list(value), name)), class = "bayeskernel_error_prior"
      )
      expect_identical(error$column, name)
    }
  }
})

test_that("scales that data may leave unbounded are half t, unless said", {
  half <- list(shape = 0.01, rate = 0.01, half_t = c(4, 1))
  gamma <- list(shape = 0.01, rate = 2)
  expect_equal(variance_prior(bsvm_prior(), scale = TRUE), half)
  expect_equal(variance_prior(bsvm_prior()), half[1:2])
  expect_equal(variance_prior(bsvm_prior(var_rate = 2), scale = TRUE), gamma)
  expect_equal(variance_prior(bkm_prior(var_rate = 2), "slab", TRUE), half)
  expect_equal(variance_prior(bkm_prior(slab_rate = 2), "slab", TRUE), gamma)
  scaled <- scale_prior(bkm_prior(beta_var = 1, intercept_var = 1), 3)
  expect_equal(variance_prior(scaled)$rate, 0.09)
  expect_equal(variance_prior(scaled, scale = TRUE)$half_t, c(4, 3))
  # Of a random effect: by family.
  size <- function(family, ...) random_prior(family_prior(bkm_prior(...), family))$half_t[2]
  expect_equal(size("logit"), 2.5)
  expect_equal(size("probit"), 2.5 / 1.7)
  expect_equal(size("gaussian", sd_scale = 1), 1)
  expect_equal(size("hinge"), 2.5)
  expect_equal(random_prior(family_prior(bsvm_prior(), "hinge"))$half_t, c(4, 2.5))
  expect_null(size("logit", var_shape = 1))
  given <- scale_prior(family_prior(bkm_prior(), "gaussian"), 3)
  expect_equal(random_prior(given)$half_t, c(4, 7.5))
  expect_null(random_prior(bsvm_prior())$half_t)
  # Of correlated ones the same, unless a covariance is said.
  covariance <- function(family, ...) {
    prior <- family_prior(bkm_prior(...), family)
    covariance_prior(prior, 2, "the 2 effects of `g`")
  }
  expect_equal(covariance("logit")$half_t, c(2, 2.5))
  expect_equal(covariance("probit", sd_scale = 1)$half_t, c(2, 1))
  expect_equal(covariance_prior(given, 2, "")$half_t, c(2, 7.5))
  wishart <- list(df = 3, scale = diag(0.02, 2))
  expect_equal(covariance("hinge")$half_t, c(2, 2.5))
  expect_equal(covariance("logit", cov_scale = 0.02), wishart)
  expect_equal(covariance("gaussian", cov_df = 3), wishart)
  source <- scale_prior(family_prior(bkm_prior(cov_df = 3), "gaussian"), 3)
  expect_equal(covariance_prior(source, 2, "")$scale, diag(0.18, 2))
  expect_equal(covariance_prior(bsvm_prior(), 2, ""), wishart)
  expect_error(bkm_prior(sd_scale = 0), class = "bayeskernel_error_prior")
})

test_that("one value serves every fixed column, other lengths must fit", {
  prior <- resolve_prior(bsvm_prior(beta_var = 4, beta_mean = 1:3), 3)
  expect_identical(prior$beta_var, c(4, 4, 4))
  expect_identical(prior$beta_mean, c(1, 2, 3))
  error <- expect_error(
    resolve_prior(bsvm_prior(beta_var = c(1, 2)), 3), class = "bayeskernel_error_prior"
  )
  expect_identical(error$column, "beta_var")
  expect_identical(error$expected, 3)
  expect_error(resolve_prior(list(), 3), class = "bayeskernel_error_prior")
})

test_that("the covariance prior follows the number of effects of the term", {
  expect_identical(
    wishart_prior(bsvm_prior(), 2, "the 2 effects of `g`"), list(df = 3, scale = diag(0.02, 2))
  )
  given <- bsvm_prior(cov_df = 5, cov_scale = matrix(c(2, 1, 1, 2), 2))
  expect_identical(
    wishart_prior(given, 2, "the 2 effects of `g`"), list(df = 5, scale = matrix(c(2, 1, 1, 2), 2))
  )
  expect_error(
    wishart_prior(bsvm_prior(cov_df = 1), 2, "the 2 effects of `g`"),
    class = "bayeskernel_error_prior"
  )
  expect_error(wishart_prior(given, 3, "the 3 effects of `g`"), class = "bayeskernel_error_prior")
})

test_that("a prior prints its distributions, and messages name the cure", {
  lines <- function(...) format(bkm_prior(...))[["covariances"]]
  expect_identical(lines(), "by family")
  expect_identical(lines(sd_scale = 1), "sd half t(2, scale 1)")
  expect_identical(lines(cov_df = 4), "inverse Wishart(df 4, scale 0.02)")
  expect_identical(lines(cov_scale = 0.1), "inverse Wishart(df r + 1, scale 0.1)")
  # Of a process the family decides, which a prior of bsvm() knows.
  process <- function(prior) format(prior)[["processes"]]
  expect_identical(process(bkm_prior(sd_scale = 1)), "by family")
  expect_identical(process(bsvm_prior(sd_scale = 1)), "sd half t(4, scale 1)")
  expect_identical(process(bkm_prior(var_shape = 1)), "inverse gamma(1, 0.01)")
  expect_snapshot({
    bsvm_prior()
    bsvm_prior(beta_var = 1:6, cov_df = 4, cov_scale = diag(2), rho_beta = c(1, 9))
  })
  expect_snapshot(error = TRUE, {
    bsvm_prior(beta_var = -1)
    bsvm_prior(rho = 1)
    bsvm_prior(cov_scale = matrix(c(1, 2, 2, 1), 2))
    resolve_prior(bsvm_prior(beta_var = c(1, 2)), 3, c("(Intercept)", "a", "b"))
    wishart_prior(bsvm_prior(cov_df = 1), 2, "the 2 effects of `patient`")
  })
})

test_that("names of the values of a prior say which column they are of", {
  one <- bkm(mpg ~ wt + hp, mtcars, prior = bkm_prior(beta_var = c(100, 0.01, 4)))
  named <- c(hp = 4, "(Intercept)" = 100, wt = 0.01)
  expect_equal(coef(bkm(mpg ~ wt + hp, mtcars, prior = bkm_prior(beta_var = named))), coef(one))
  expect_error(
    bkm(mpg ~ wt + hp, mtcars, prior = bkm_prior(beta_var = c(wt = 1))), "names other columns",
    class = "bayeskernel_error_prior"
  )
})
