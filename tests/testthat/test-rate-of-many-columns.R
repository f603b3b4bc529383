# The rate of a machine that selects among many columns comes from some of its rows.

test_that("some rows give the learning rate of all, and keep the shares of classes", {
  set.seed(1)
  x <- matrix(rnorm(700 * 520), 700, dimnames = list(NULL, paste0("v", 1:520)))
  y <- factor(2 * x[, 1] - 2 * x[, 2] + rlogis(700) > 1)
  fit <- function() bsvm(x, y, select = TRUE, threads = 1)
  some <- fit()
  utils::assignInNamespace("rate_size", 1000L, "bayeskernel")
  on.exit(utils::assignInNamespace("rate_size", 500L, "bayeskernel"))
  all <- fit()
  expect_false(some$learning_rate == all$learning_rate)
  expect_equal(some$learning_rate, all$learning_rate, tolerance = 0.05)
  inclusion <- summary(some)$selection[, "Inclusion"]
  # By 8000 draws of "gibbs" the next is in with probability 0.45.
  expect_setequal(names(inclusion)[inclusion > 0.9], c("v1", "v2"))
  expect_lt(sort(inclusion, decreasing = TRUE)[3], 0.6)
  labels <- rep(0:1, c(60, 940))
  at <- spread_by_class(labels, 500)
  expect_equal(mean(labels[at]), mean(labels), tolerance = 1e-3)
  expect_false(anyDuplicated(at) > 0)
})
