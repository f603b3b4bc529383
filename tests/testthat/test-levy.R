# What the constants of the prior mean, and which are refused.

test_that("levy() has the constants of both approximations", {
  path <- file.path(golden_folder("bark"), "levy.csv")
  skip_if_not(file.exists(path))
  golden <- read.csv(path)
  for (k in seq_len(nrow(golden))) {
    row <- golden[k, ]
    ours <- levy(row$alpha, row$gam, row$eps)
    expect_equal(
      unname(c(ours$kernels, ours$error)), c(row$nuC, row$nuT, row$L2C, row$L2T), tolerance = 1e-12
    )
  }
})

test_that("levy() agrees with integrals over the Levy measure", {
  for (alpha in c(0.6, 1, 1.7)) {
    gamma <- 3
    epsilon <- 0.4
    height <- gamma * alpha / pi * base::gamma(alpha) * sin(pi * alpha / 2)
    stable <- function(b) height * abs(b)^(-1 - alpha)
    damped <- function(b) height * (b^2 + alpha * epsilon^2)^(-(1 + alpha) / 2)
    # Over b = exp(u), for the tails are long.
    both <- function(f, lower, upper) {
      2 * integrate(
        function(u) f(exp(u)) * exp(u), lower, upper, rel.tol = 1e-10, subdivisions = 1000L
      )$value
    }
    ours <- levy(alpha, gamma, epsilon)
    expect_equal(ours$kernels[["continuous"]], both(damped, -40, 60), tolerance = 1e-6)
    expect_equal(ours$kernels[["truncated"]], both(stable, log(epsilon), 60), tolerance = 1e-6)
    expect_equal(
      ours$error[["truncated"]], both(function(b) b^2 * stable(b), -80, log(epsilon)),
      tolerance = 1e-6
    )
    expect_equal(
      ours$error[["continuous"]],
      both(function(b) {
        # stable(b) - damped(b), without cancellation.
        share <- (1 + alpha) / 2 * log1p(alpha * epsilon^2 / b^2)
        -b^2 * stable(b) * expm1(-share)
      }, -80, 60),
      tolerance = 1e-6
    )
  }
})

test_that("the default prior learns the scale of thirty kernels", {
  text <- capture.output(print(bark_prior()))
  expect_match(text, "30 expected", all = FALSE)
  expect_match(text, "epsilon\\^2 ~ gamma\\(2, 1e-04\\)", all = FALSE)
  for (alpha in c(0.7, 1, 1.5)) {
    prior <- bark_prior(alpha, kernels = 12, scale = c(2, 1))
    expect_equal(prior$kernels, 12)
    expect_equal(levy(alpha, prior$gamma, prior$epsilon)$kernels[["continuous"]], 12)
    expect_identical(remade(prior, "prior", "bark_prior"), prior)
  }
  for (wrong in list(1, c(1, 0), c(1, NA), 1:3, "learned")) {
    expect_bark_refusal(bark_prior(scale = wrong), "prior", "`scale`")
  }
  expect_bark_refusal(bark_prior(kernels = 0), "prior", "`kernels`")
})

test_that("the constants of the dissertation are known ones, ten kernels", {
  expect_equal(levy()$kernels[["continuous"]], 10)
  old <- bark_prior(gamma = 5, epsilon = 0.5)
  expect_null(old$scale)
  expect_identical(bark_prior(gamma = 5), old)
  expect_identical(bark_prior(scale = NULL), old)
  expect_identical(remade(old, "prior", "bark_prior"), old)
  text <- capture.output(print(old))
  expect_match(text, "10 expected", all = FALSE)
  expect_match(text, "Cauchy of scale 0.5$", all = FALSE)
  expect_match(
    capture.output(print(bark_prior(alpha = 1.5, gamma = 2, epsilon = 0.1))),
    format(levy(1.5, 2, 0.1)$kernels[["continuous"]], digits = 4), all = FALSE, fixed = TRUE
  )
  expect_match(capture.output(print(bark_prior(max_kernels = 7))), "at most 7", all = FALSE)
  expect_match(capture.output(print(levy())), "truncated +6.366", all = FALSE)
})

test_that("constants outside their range are refused by name", {
  for (wrong in list(0, 2, -1, 2.5, NA, Inf, "1", c(1, 1))) {
    expect_bark_refusal(bark_prior(alpha = wrong), "prior", "`alpha`")
    expect_bark_refusal(levy(alpha = wrong), "prior", "`alpha`")
  }
  for (name in c("gamma", "epsilon", "lambda_shape", "lambda_rate")) {
    known <- startsWith(name, "lambda")
    for (wrong in c(list(0, -1, NA, Inf, "1", 1:2), if (known) list(NULL))) {
      expect_bark_refusal(do.call("bark_prior", stats::setNames(list(wrong), name)), "prior", name)
    }
  }
  for (wrong in list(1, c(1, 0), c(1, NA), 1:3, "uniform", NULL)) {
    expect_bark_refusal(bark_prior(inclusion = wrong), "prior", "c\\(a, b\\)")
    expect_bark_refusal(bark_prior(phi = wrong), "prior", "loguniform")
  }
  for (wrong in list(0, -3, 1.5, NA, "9")) {
    expect_bark_refusal(bark_prior(max_kernels = wrong), "prior", "max_kernels")
  }
})

test_that("a Markov chain with these q and s has their moments", {
  p <- 6
  for (one in list(c(0.2, 0.15), c(0.5, 0.9), c(0.7, 0.3))) {
    x <- markov(one[1], one[2])
    states <- as.matrix(expand.grid(rep(list(0:1), p)))
    to <- rbind(c(x$q0, 1 - x$q0), c(1 - x$q1, x$q1))
    chance <- apply(states, 1, function(delta) {
      start <- if (delta[1] == 1) x$q else 1 - x$q
      start * prod(to[cbind(delta[-p] + 1, delta[-1] + 1)])
    })
    blocks <- apply(states, 1, function(delta) sum(diff(c(0, delta)) == 1))
    expect_equal(sum(chance), 1)
    expect_equal(
      expected_blocks(x, p),
      c(variables = sum(chance * rowSums(states)), blocks = sum(chance * blocks))
    )
  }
  text <- capture.output(print(markov(0.2, 0.15), p = 100))
  expect_match(text, "20 of 100 predictors, in 3.17 blocks", all = FALSE)
  expect_match(
    capture.output(print(markov(0.2, 0.15, hyper = 1:4))), "Beta\\(1, 2\\).*Beta\\(3, 4\\)",
    all = FALSE
  )
})

test_that("Markov chains that cannot be are refused", {
  for (wrong in list(0, 1, -0.1, NA, "a", c(0.1, 0.2))) {
    expect_bark_refusal(markov(wrong, 0.5), "prior", "`q`")
    expect_bark_refusal(markov(0.2, wrong), "prior", "`s`")
  }
  expect_bark_refusal(markov(0.8, 0.25), "prior", "0.25")
  expect_bark_refusal(markov(0.8, 0.9), "prior", "\\(1 - q\\) / q")
  expect_lt(markov(0.8, 0.24)$q0, 0.05)
  for (wrong in list(1:3, c(1, 1, 1, 0), "beta", c(1, 1, NA, 1))) {
    expect_bark_refusal(markov(0.2, 0.1, hyper = wrong), "prior", "hyper")
  }
})

test_that("a measure beyond the range of numbers is an error, not NaN", {
  for (corner in list(c(1e-8, 1e300, 1e-300), c(2 - 1e-15, 1, 1e-300), c(0.5, 1, 1e300))) {
    expect_error(
      levy(corner[1], corner[2], corner[3]), "range of numbers", class = "bayeskernel_error_prior"
    )
  }
})
