# Where the engines end and what they draw, so that work on them shows.

# The paper's: flat coefficients, inverse gamma of every variance.
paper_prior <- bsvm_prior(
  beta_var = 1e8, intercept_var = 1e8, var_shape = 0.01, var_rate = 0.01,
  cov_scale = 0.02, inclusion = "column"
)

core_draws <- function(...) {
  fit <- suppressWarnings(flat(bsvm)(
    ..., prior = paper_prior, learning_rate = 1, method = "gibbs", chains = 2, warmup = 20,
    ndraws = 20, seed = 1, threads = 1, progress = FALSE
  ))
  fit$draws
}

# Mean square of all draws, and the first variables of the first chain's last.
summary_of <- function(draws) c(mean(draws^2), draws[dim(draws)[1], 1, 1:3])

expect_numbers <- function(found, expected, tolerance = 1e-8) {
  expect_equal(unname(found), expected, tolerance = tolerance)
}

expect_passes <- function(fit, passes, bound, tolerance) {
  expect_true(fit$diagnostics$converged)
  expect_lte(fit$diagnostics$passes, passes)
  expect_equal(utils::tail(fit$trace$elbo, 1), bound, tolerance = tolerance)
}

numbers_data <- function() {
  i <- 1:240
  d <- data.frame(a = sin(i), b = cos(2.3 * i), c = sin(i^2 / 7), group = factor(i %% 11))
  d$y <- d$a + d$b * d$c + sin(3.1 * i) > 0
  d
}

test_that("toenail takes 16 passes", {
  skip_if_not_installed("HSAUR3")
  home <- new.env()
  utils::data("toenail", package = "HSAUR3", envir = home)
  formula <- outcome ~ time * treatment + (1 | patientID)
  fit <- bsvm(formula, home$toenail, prior = paper_prior, threads = 1, method = "vb")
  expect_passes(fit, 16, -1220.388793, 1e-9)
  plain <- bsvm(formula, home$toenail,
    prior = paper_prior, control = list(accelerate = FALSE), threads = 1, method = "vb"
  )
  expect_passes(plain, 140, -1220.388811, 1e-9)
})

test_that("spam takes 111 passes and keeps 30 names", {
  skip_if_not_installed("kernlab")
  home <- new.env()
  utils::data("spam", package = "kernlab", envir = home)
  fit <- suppressWarnings(bsvm(type ~ ., home$spam,
    select = TRUE, prior = paper_prior,
    control = list(starts = 1, polish = FALSE),
    learning_rate = 1, method = "vb", threads = 1
  ))
  expect_passes(fit, 111, -2094.10735, 1e-8)
  expect_identical(sum(inclusion(fit) > 0.5), 30L)
  plain <- bsvm(type ~ ., home$spam, prior = paper_prior, threads = 1, method = "vb")
  expect_passes(plain, 22, -1982.98336, 1e-8)
})

test_that("the patients of Duke University take 19 passes", {
  file <- file.path(Sys.getenv("BAYESKERNEL_DATA"), "acath.csv")
  skip_if_not(file.exists(file))
  formula <- sigdz ~ sex + age + log(cad.dur + 1) + log(choleste)
  fit <- suppressWarnings(bsvm(formula, utils::read.csv(file),
    missing = "model", prior = paper_prior, learning_rate = 1, method = "vb",
    threads = 1
  ))
  expect_passes(fit, 19, -22175.65515, 1e-8)
})

test_that("chains of the linear model draw what they drew", {
  d <- numbers_data()
  expect_numbers(summary_of(core_draws(y ~ a + b + (a | group), d)), c(
    0.183584378972, -0.210467270685, 1.645407738990, -0.069093329340
  ))
  expect_numbers(summary_of(core_draws(y ~ a + b + c, d, select = TRUE)), c(
    406.469803421162, -0.144937051148, 1.388042195684, 0
  ))
  d$b[seq(3, 240, by = 5)] <- NA
  d$c[seq(3, 240, by = 10)] <- NA
  expect_numbers(
    summary_of(core_draws(y ~ a + b + c + (1 | group), d, missing = "model")),
    c(0.229626613037, -0.152802326985, 1.584311641548, -0.190165852686)
  )
})

test_that("engines of the process end where they ended", {
  d <- numbers_data()
  gp <- function(..., method = "vb", tune = FALSE) {
    suppressWarnings(flat(gpsvm)(
      y ~ a + b + c, d, seed = 1, threads = 1, ..., method = method, tune = tune
    ))
  }
  expect_passes(gp(method = "vb", inducing = 20), 8, -248.723355646, 1e-9)
  expect_passes(gp(method = "vb", inducing = "all"), 8, -248.297122366, 1e-9)
  expect_passes(gp(method = "svi", inducing = 20), 7, -248.723355646, 1e-9)
  mode <- gp(method = "ecm", inducing = 20)
  expect_equal(utils::tail(mode$trace$objective, 1), 231.734267945, tolerance = 1e-7)
  chain <- gp(method = "gibbs", chains = 2, warmup = 20, ndraws = 20)
  # The kernel matrix is nearly singular: the last bits of sums count for more.
  expect_numbers(summary_of(chain$draws), c(
    1.229484987056, -0.122574449290, 0.339196402901, -0.143700808298
  ), tolerance = 1e-6)
})
