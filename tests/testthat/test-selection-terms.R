# Selection by terms: the columns of a term share one indicator.

levels_data <- function(n = 150, seed = 1) {
  set.seed(seed)
  d <- data.frame(
    a = stats::rnorm(n), b = stats::rnorm(n), f = gl(4, 1, n, labels = c("p", "q", "r", "s")),
    h = gl(3, 50, n, labels = c("u", "v", "w"))
  )
  f <- 0.7 * d$a + c(-1, 1, 0.5, -0.5)[d$f]
  d$y <- f + stats::rlogis(n) > 0
  d
}

by_terms <- function(formula, data, ..., method = "gibbs", ndraws = 1500,
                     prior = bkm_prior(rho = 0.3, inclusion = "term")) {
  suppressWarnings(flat(bkm)(
    formula, data, method = method, select = TRUE, prior = prior, chains = 2, warmup = 200,
    ndraws = ndraws, seed = 1, threads = 1, ...
  ), classes = "bayeskernel_warning_convergence")
}

test_that("the columns of a term come and go together", {
  d <- levels_data()
  fit <- by_terms(y ~ a + b + f + h, d)
  expect_identical(fit$method, "gibbs")
  columns <- inclusion(fit)
  expect_length(columns, 2 + 4 + 3)
  levels <- c("fp", "fq", "fr", "fs")
  expect_identical(unname(columns[levels]), rep(columns[["fp"]], 4))
  terms <- inclusion(fit, by = "term")
  expect_named(terms, c("a", "b", "f", "h"))
  expect_identical(terms[["f"]], columns[["fp"]])
  expect_true(terms[["a"]] > 0.9 && terms[["f"]] > 0.9)
  expect_true(terms[["b"]] < 0.5 && terms[["h"]] < 0.5)
  draws <- as.array(fit)[, , paste0("h", c("u", "v", "w"))] != 0
  expect_identical(draws[, , 1], draws[, , 2])
  expect_identical(draws[, , 1], draws[, , 3])
  expect_output(print(fit), "among 4 terms")
  expect_output(print(fit$prior), "of each term")
})

# Exact: Gaussian rows with a known noise; terms by enumeration, their Laplace effects and the scale
# by averages over prior draws.
test_that("a regression has the term inclusions of importance sampling", {
  set.seed(3)
  n <- 24
  f <- gl(3, 1, n)
  x <- stats::rnorm(n)
  design <- cbind(stats::model.matrix(~ f - 1), x)
  y <- 0.5 * design[, 1] - 0.4 * design[, 3] + 0.3 * x + stats::rnorm(n)
  core <- function(unit) {
    out <- bsvm_gibbs_cpp(
      list(
        x = design, center = numeric(4), scale = rep(1, 4), y = y, weights = rep(1, n),
        offset = numeric(n), z = matrix(0, n, 0), group = integer(), n_groups = 0L, kept = list(),
        selection = list(
          columns = 0:3, shape = 3, rate = 2, rho = 0.4, rho_beta = numeric(), unit = unit
        )
      ),
      list(precision = numeric(4), mean = numeric(4), blocks = list(), transforms = list()),
      golden_settings(
        family = "gaussian", noise = list(precision = 1), chain_id = 1L,
        warmup = 200, draws = 20000, seed = 2
      )
    )
    kept <- out$draws[, 1, ]
    colMeans(kept[, utils::tail(seq_len(ncol(kept)), 4)])
  }
  draws <- 2e5
  sigma <- sqrt(1 / stats::rgamma(draws, 3, 2))
  v <- sigma * matrix(stats::rexp(4 * draws) * sample(c(-1, 1), 4 * draws, TRUE), draws)
  gram <- crossprod(design)
  h <- drop(crossprod(design, y))
  mass <- function(in_f, in_x) {
    at <- c(rep(in_f, 3), in_x)
    effect <- sweep(v, 2, at, `*`)
    mean(exp(drop(effect %*% h) - rowSums((effect %*% gram) * effect) / 2)) *
      0.4^(in_f + in_x) * 0.6^(2 - in_f - in_x)
  }
  all <- c(mass(0, 0), mass(1, 0), mass(0, 1), mass(1, 1))
  exact <- c(all[2] + all[4], all[3] + all[4]) / sum(all)
  expect_true(all(exact > 0.1 & exact < 0.95))
  found <- core(c(0L, 0L, 0L, 1L))
  expect_identical(found[1], found[2])
  expect_lt(max(abs(found[c(1, 4)] - exact)), 0.02)
})

test_that("rho learned counts terms, and chains go on", {
  d <- levels_data(seed = 5)
  prior <- bkm_prior(rho_beta = c(2, 3), inclusion = "term")
  fit <- by_terms(y ~ a + f, d, prior = prior)
  rho <- as.vector(as.array(fit)[, , "rho"])
  expect_true(all(rho > 0 & rho < 1))
  # Both terms are in: Beta(2 + 2, 3).
  expect_lt(abs(mean(rho) - 4 / 7), 0.05)
  longer <- by_terms(y ~ a + f, d, prior = prior, resume = fit, ndraws = 1600)
  expect_identical(as.array(longer)[1:1500, , ], as.array(fit)[1:1500, , ])
})

test_that("terms are of draws, those of the polish too", {
  d <- levels_data()
  prior <- bsvm_prior(rho = 0.3, inclusion = "term")
  fit <- function(...) {
    suppressWarnings(flat(bsvm)(
      y ~ a + f, d, select = TRUE, method = "vb", learning_rate = 0.4,
      chains = 2, warmup = 50, ndraws = 100, seed = 1, threads = 1, ...
    ), classes = "bayeskernel_warning_convergence")
  }
  vb <- fit(prior = prior)
  expect_identical(vb$method, "vb")
  expect_identical(inclusion(vb, by = "term")[["f"]], inclusion(vb)[["fq"]])
  # What is not said is by term; passes alone know columns only.
  expect_identical(inclusion(fit(prior = bsvm_prior(rho = 0.3))), inclusion(vb))
  alone <- fit(prior = bsvm_prior(rho = 0.3), polish = FALSE)
  expect_bk_error(inclusion(alone, by = "term"), "argument", "polish = TRUE")
  expect_bk_error(fit(prior = prior, polish = FALSE), "argument", "term")
  expect_bk_error(bkm(
    y ~ a + f, d, select = TRUE, control = list(polish = "ep"),
    prior = bkm_prior(inclusion = "term")
  ), "argument", "term")
  expect_bk_error(bsvm_prior(inclusion = "level"), "argument", "inclusion")
  # A matrix has a term for each column.
  x <- cbind(a = d$a, b = d$b)
  one <- function(inclusion) {
    suppressWarnings(bkm(
      x, d$y, select = TRUE, prior = bkm_prior(inclusion = inclusion),
      chains = 1, control = list(warmup = 20), ndraws = 50, seed = 3, threads = 1
    ), classes = "bayeskernel_warning_convergence")$draws
  }
  expect_identical(one("term"), one("column"))
})

test_that("priors made before there were terms are read", {
  d <- levels_data()
  prior <- bkm_prior(rho = 0.3)
  prior$inclusion <- NULL
  expect_no_error(bkm(y ~ a, d, prior = prior, select = TRUE, method = "vb", threads = 1))
})

# A second column of a factor of two levels says what the first does.
test_that("a factor of two levels is one column, by each method", {
  set.seed(2)
  d <- data.frame(a = stats::rnorm(300), sex = gl(2, 1, 300))
  d$bit <- as.numeric(d$sex == "2")
  d$yes <- d$sex == "2"
  d$y <- d$a + 3 * d$bit + stats::rlogis(300) > 0
  for (fitter in list(bsvm, bkm)) {
    run <- function(formula) {
      suppressWarnings(flat(fitter)(
        formula, d, select = TRUE, chains = 2, warmup = 100, ndraws = 200, seed = 1, threads = 1
      ))
    }
    factor <- run(y ~ a + sex)
    number <- run(y ~ a + bit)
    expect_length(inclusion(factor), 2L)
    expect_equal(unname(inclusion(factor)), unname(inclusion(number)), ignore_attr = TRUE)
    expect_equal(unname(coef(factor)), unname(coef(number)))
    expect_equal(unname(inclusion(run(y ~ a + yes))), unname(inclusion(number)), ignore_attr = TRUE)
    expect_gt(inclusion(factor, by = "term")[["sex"]], 0.95)
    # Where a column is in, there is an estimate with its uncertainty.
    table <- summary(factor)$selection
    sure <- table[, "Inclusion"] > 0.2
    expect_true(all(table[sure, "SD"] > 1e-3 & table[sure, "Estimate"] != 0))
  }
})

# Whatever the inclusions, the share of draws with any column in is right, and the product of the
# columns' probabilities is not.
test_that("inclusion of a term by columns is counted over joint draws", {
  d <- levels_data(seed = 7)
  fit <- suppressWarnings(bsvm(
    y ~ a + f, d, select = TRUE, seed = 1, threads = 1,
    prior = bsvm_prior(rho = 0.2, inclusion = "column")
  ))
  levels <- c("fp", "fq", "fr", "fs")
  draws <- matrix(fit$draws[, , levels], ncol = 4)
  expect_equal(inclusion(fit, by = "term")[["f"]], mean(apply(draws != 0, 1, any)))
})

test_that("a probability or a weight far below the rest prints as 0", {
  p <- structure(
    c(a = 1, b = 8.8e-34, c = 0.12345678), class = c("bayeskernel_inclusion", "numeric")
  )
  expect_identical(capture.output(print(p))[2], "1.0000 0.0000 0.1235 ")
  expect_output(print(p > 0.5), "TRUE FALSE FALSE")
  weights <- structure(
    data.frame(space = c("a", "b"), mean = c(0.99999, 2e-17), sd = c(4.6e-40, 0.123456)),
    class = c("bayeskernel_weights", "data.frame")
  )
  expect_identical(capture.output(print(weights))[2:3], c(
    "1     a    1 0.0000", "2     b    0 0.1235"
  ))
})
