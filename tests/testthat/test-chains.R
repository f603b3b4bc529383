# Chains of every sampler: going on, memory, states from a file.

d <- grouped_data()
samplers <- list(
  bsvm = function(...) quick_gibbs(y ~ x1 + (1 | g), d, ...),
  gpsvm = function(...) quick_process(y ~ x1 + x2, d, ...),
  bark = function(...) quick_bark(y ~ x1 + x2, d, family = "binomial", ...)
)
expect_quietly_bk_error <- function(code, kind, regexp) {
  expect_bk_error(suppressWarnings(code, classes = "bayeskernel_warning_convergence"), kind, regexp)
}

test_that("every sampler goes on where it ended, and holds `ndraws` in all", {
  for (sample in samplers) {
    whole <- sample(ndraws = 12)
    part <- sample(ndraws = 5)
    expect_equal(part$draws, whole$draws[1:5, , , drop = FALSE])
    joined <- sample(ndraws = 12, resume = part)
    expect_equal(joined$draws, whole$draws, tolerance = 1e-8)
    expect_equal(joined$fitted, whole$fitted, tolerance = 1e-8)
    expect_identical(joined$seed, whole$seed)
    # As many as it has: nothing is left to do.
    same <- sample(ndraws = 5, resume = part)
    expect_identical(same$draws, part$draws)
    expect_equal(same$fitted, part$fitted)
    expect_quietly_bk_error(sample(ndraws = 4, resume = part), "argument", "already holds more")
  }
})

test_that("machines of several classes go on together", {
  three <- d
  three$y <- cut(d$x2, 3, labels = c("a", "b", "c"))
  sample <- function(...) quick_process(y ~ x1 + x2, three, ...)
  whole <- sample(ndraws = 8)
  joined <- sample(ndraws = 8, resume = sample(ndraws = 3))
  expect_equal(joined$draws, whole$draws, tolerance = 1e-10)
})

test_that("more draws than memory holds are refused, and a run says how much", {
  for (fit in list(bsvm, gpsvm, bark)) {
    arguments <- list(y ~ x1 + x2, d, seed = 1, progress = FALSE)
    if (identical(fit, bark)) {
      arguments$family <- "binomial"
    } else {
      arguments$method <- "gibbs"
    }
    expect_bk_error(do.call(flat(fit), c(arguments, chains = 1e9)), "argument", "[GT]B")
    old <- options(bayeskernel.max_bytes = 1000)
    expect_bk_error(do.call(flat(fit), arguments), "argument", "max_bytes")
    options(old)
  }
})

# Everything in a state, by its path of names and numbers.
paths_of <- function(x, at = NULL) {
  if (!is.list(x)) return(list(at))
  unlist(lapply(seq_along(x), function(k) {
    c(list(c(at, k)), paths_of(x[[k]], c(at, k)))
  }), recursive = FALSE)
}

test_that("a state that has been tampered with is refused", {
  for (sample in samplers) {
    part <- sample(ndraws = 5)
    spoil <- function(at, value) {
      bad <- part
      bad$state[[1]][[at]] <- value
      expect_quietly_bk_error(sample(ndraws = 6, resume = bad), "argument", "not whole")
    }
    for (at in paths_of(part$state[[1]])) {
      spoil(at, NULL)
      spoil(at, "text")
      if (is.numeric(part$state[[1]][[at]]) && length(part$state[[1]][[at]])) {
        spoil(at, part$state[[1]][[at]] * NaN)
      }
    }
    bad <- part
    bad$state <- bad$state[-1]
    expect_quietly_bk_error(sample(ndraws = 6, resume = bad), "argument", "not whole")
    bad <- part
    bad$draws <- bad$draws[, , -1, drop = FALSE]
    expect_quietly_bk_error(sample(ndraws = 6, resume = bad), "argument", "whole")
  }
})
