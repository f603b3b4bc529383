test_that("as.array gives the draws with named dimensions", {
  draws <- numbered_draws()
  out <- as.array(fake_fit(draws))
  expect_identical(unname(out), unname(draws))
  expect_identical(dimnames(out), list(iteration = NULL, chain = NULL, variable = c("a", "b")))
})

test_that("as.matrix and as.data.frame put chain after chain", {
  fit <- fake_fit(numbered_draws())
  flat <- as.matrix(fit)
  expect_identical(flat[, "b"], as.vector(outer(1:6, 10 * (1:3), "+")) + 200)
  expect_identical(as.data.frame(fit), as.data.frame(flat))
})

test_that("as.mcmc.list counts sweeps from the warmup", {
  chains <- coda::as.mcmc.list(fake_fit(numbered_draws()))
  expect_s3_class(chains, "mcmc.list")
  expect_length(chains, 3)
  expect_identical(coda::mcpar(chains[[1]]), c(52, 62, 2))
  expect_identical(unname(as.matrix(chains[[2]])[, "a"]), 120 + as.numeric(1:6))
})

test_that("as.mcmc keeps one chain as it is and stacks several", {
  one <- coda::as.mcmc(fake_fit(numbered_draws(chains = 1)))
  expect_identical(coda::mcpar(one), c(52, 62, 2))
  fit <- fake_fit(numbered_draws())
  several <- coda::as.mcmc(fit)
  expect_identical(coda::mcpar(several), c(1, 18, 1))
  expect_identical(unname(as.matrix(several)), unname(as.matrix(fit)))
})

test_that("a single variable or a single draw keeps its shape", {
  fit <- fake_fit(numbered_draws(1, 1, "a"))
  expect_identical(as.matrix(fit), cbind(a = 111))
  expect_identical(dim(as.array(fit)), c(1L, 1L, 1L))
  expect_identical(dim(coda::as.mcmc.list(fit)[[1]]), c(1L, 1L))
})

test_that("posterior reads every format", {
  skip_if_not_installed("posterior")
  draws <- numbered_draws()
  fit <- fake_fit(draws)
  out <- posterior::as_draws(fit)
  expect_s3_class(out, "draws_array")
  expect_identical(posterior::variables(out), c("a", "b"))
  expect_equal(as.vector(out), as.vector(draws))
  expect_identical(as.vector(posterior::as_draws_matrix(fit)), as.vector(draws))
  frame <- posterior::as_draws_df(fit)
  expect_identical(frame$b, as.matrix(fit)[, "b"])
  expect_identical(frame$.chain, rep(1:3, each = 6))
  expect_identical(posterior::as_draws_array(fit)[2, 3, "b", drop = TRUE], 232)
})

test_that("a fit without draws and without a sampler of q is a classed error", {
  fit <- stamped(structure(list(method = "none"), class = c("unknown_model", "bayeskernel_fit")))
  expect_bk_error(as.matrix(fit), "argument", "unknown_model")
  expect_bk_error(as.matrix(fit, ndraws = 0), "argument", "`ndraws`")
  expect_bk_error(as.matrix(fit, seed = "a"), "argument", "`seed`")
})

test_that("draws from q are reproduced by their seed and by set.seed()", {
  set.seed(1)
  x <- matrix(rnorm(80), 40, dimnames = list(NULL, c("a", "b")))
  fit <- bsvm(x, x[, 1] + rnorm(40) > 0, threads = 1, method = "vb")
  draws <- as.array(fit, ndraws = 20, seed = 3)
  expect_identical(dim(draws)[1:2], c(20L, 1L))
  expect_identical(as.array(fit, ndraws = 20, seed = 3), draws)
  expect_false(identical(as.array(fit, ndraws = 20, seed = 4), draws))
  set.seed(5)
  first <- as.matrix(fit, ndraws = 5)
  set.seed(5)
  expect_identical(as.matrix(fit, ndraws = 5), first)
  expect_identical(coda::mcpar(coda::as.mcmc(fit, ndraws = 5)), c(1, 5, 1))
})
