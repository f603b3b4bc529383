# A default that is typed is the fit without it, of every model and argument; so is NULL where a
# later default stands.

typed_data <- function() {
  set.seed(4)
  d <- data.frame(a = stats::rnorm(30), b = stats::rnorm(30))
  d$z <- d$a + stats::rnorm(30)
  d$y <- factor(d$a + stats::rlogis(30) > 0)
  d$k <- factor(rep(c("u", "v", "w"), 10))
  d
}

# Defaults that the data decide have no value, and these hold for any.
not_typed <- c(
  "formula", "data", "x", "y", "...", "weights", "offset", "subset", "seed", "progress", "threads"
)

# What a fit says: all but how it was called and how long it took.
said <- function(fit) {
  rapply(unclass(fit)[setdiff(names(fit), c("call", "elapsed"))],
    function(x) x,
    classes = c("numeric", "integer", "character", "logical"),
    how = "unlist"
  )
}

expect_typed <- function(fitter, formula, ...) {
  d <- typed_data()
  method <- get(paste0(fitter, ".formula"), asNamespace("bayeskernel"))
  shown <- as.list(formals(method))
  shown <- shown[setdiff(names(shown), c(not_typed, names(list(...))))]
  run <- function(extra) {
    call <- as.call(c(
      list(as.name(fitter), formula, data = quote(d), seed = 3, threads = 1), list(...), extra
    ))
    suppressWarnings(suppressMessages(eval(call)))
  }
  clean <- function(fit) {
    out <- said(fit)
    out[!grepl("seconds|elapsed", names(out))]
  }
  plain <- clean(run(NULL))
  # All at once, then, where that differs, which one it is.
  if (!identical(clean(run(shown)), plain)) {
    for (name in names(shown)) {
      expect_identical(clean(run(shown[name])), plain, label = paste(fitter, "with", name))
    }
    fail(paste(fitter, "differs with all its defaults typed"))
  }
  succeed()
}

test_that("typed defaults change no linear model", {
  expect_typed("bsvm", y ~ a + b)
  expect_typed("bsvm", y ~ a + b, method = "vb")
  expect_typed("bsvm", y ~ a + b, select = TRUE)
  expect_typed("bkm", y ~ a + b)
  expect_typed("bkm", z ~ a + b)
  expect_typed("bkm", y ~ a + b, method = "vb")
  expect_typed("bkm", y ~ a + b, select = TRUE, ndraws = 40, control = list(warmup = 10))
})

test_that("typed defaults change no kernel model", {
  expect_typed("gpsvm", y ~ a + b, tune = FALSE)
  expect_typed("gpsvm", y ~ a + b, method = "vb", tune = FALSE)
  expect_typed("mkprobit", k ~ a + b)
  expect_typed("mkprobit", k ~ a + b, coefficients = "weights", control = list(sparse = TRUE))
  expect_typed("seqkr", z ~ a + b, particles = 30)
  expect_typed("seqkr", y ~ a + b, particles = 30, family = "binomial")
})

test_that("typed defaults change no sum of kernels", {
  short <- list(ndraws = 30, chains = 2, control = list(warmup = 200, thin = 1))
  for (own in list(
    list(z ~ a + b), list(y ~ a + b, family = "binomial"),
    list(z ~ a + b, select = TRUE, structure = markov(0.4, 0.3))
  )) {
    do.call(expect_typed, c("bark", own, short))
  }
  expect_typed("klr", y ~ a + b, rank = 1, chains = 2, ndraws = 30,
    control = list(warmup = 200, thin = 1))
})

test_that("a goal is a default of runs whose length is not said", {
  run <- list(warmup = 7, draws = 5, thin = 3)
  goal <- stop_at(rhat = 1.02)
  open <- list(until = "auto")
  out <- settle_until(open, goal, unlist(run))
  expect_identical(out$until, goal)
  expect_equal(out[names(run)], run)
  for (name in names(run)) {
    out <- settle_until(c(open, run[name]), goal, unlist(run))
    expect_null(out$until)
    expect_equal(out[names(run)], run)
  }
  typed <- settle_until(list(until = goal, draws = 5), goal, unlist(run))
  expect_identical(typed$until, goal)
  expect_null(settle_until(list(until = NULL), goal, unlist(run))$until)
})

# The default passes are those that the page says.
test_that("bsvm() takes its own numbers of passes, by method", {
  d <- typed_data()
  passes <- function(...) flat(bsvm)(y ~ a + b, d, threads = 1, seed = 1, ...)$diagnostics$passes
  expect_identical(passes(), passes(tol = 1e-3, max_iter = 100))
  expect_identical(passes(method = "vb"), passes(method = "vb", tol = 1e-6, max_iter = 2000))
})
