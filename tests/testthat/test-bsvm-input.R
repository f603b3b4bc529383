# Bad input of every kind: a classed error that names the column and the cure.

good <- function(n = 20) {
  set.seed(1)
  d <- data.frame(x1 = rnorm(n), x2 = rnorm(n), g = gl(4, 1, n), f = gl(3, 1, n), w = rep(1, n))
  d$y <- rep(c(1, -1, -1), length.out = n) * rep(c(1, -1), each = n / 2)
  d
}

fit <- function(formula = y ~ x1 + x2, data = good(), ..., method = "vb") {
  flat(bsvm)(formula, data, ..., threads = 1, progress = FALSE, method = method)
}

changed <- function(column, rows, value) {
  d <- good()
  d[[column]][rows] <- value
  d
}

# The message says what is wrong with which column, and every error carries the user's call.
expect_refusal <- function(code, kinds, regexp) {
  condition <- expect_error(code, regexp, class = "bayeskernel_error")
  allowed <- paste0("bayeskernel_error_", strsplit(kinds, "[|]")[[1]])
  expect_true(inherits(condition, allowed))
  first <- strsplit(conditionMessage(condition), "\n")[[1]][1]
  expect_lt(nchar(first), 80)
  expect_match(conditionMessage(condition), "\n\\* ")
  expect_match(deparse(conditionCall(condition))[1], "bsvm|predict")
}

test_that("missing and infinite predictors", {
  for (value in c(NA, NaN, Inf, -Inf)) {
    expect_refusal(fit(data = changed("x2", 3, value)), "missing", "x2")
    expect_refusal(
      bsvm(as.matrix(changed("x2", 3, value)[, c("x1", "x2")]), good()$y, method = "vb"),
      "missing", "x2"
    )
  }
})

test_that("missing and infinite responses", {
  for (value in c(NA, NaN)) {
    expect_refusal(fit(data = changed("y", 3, value)), "missing|response", "y")
  }
  expect_refusal(fit(data = changed("y", 3, Inf)), "missing|response", "y")
})

test_that("one class, three classes, other codes", {
  expect_refusal(fit(data = transform(good(), y = 1)), "response", "y")
  expect_refusal(fit(data = transform(good(), y = factor("a", c("a", "b")))), "response", "y")
  expect_refusal(fit(data = transform(good(), y = f)), "response", "y")
  expect_refusal(fit(data = transform(good(), y = x1)), "response", "y")
  expect_refusal(fit(data = transform(good(), y = rep(c(1, 2), 10))), "response", "y")
})

test_that("no rows, one row", {
  expect_refusal(fit(data = good()[0, ]), "dimension|response|missing", "row")
  expect_refusal(fit(data = good()[1, ]), "dimension|response", ".")
  expect_refusal(bsvm(matrix(0, 0, 2), numeric(), method = "vb"), "dimension|response", "row")
})

test_that("constant and aliased columns are dropped with a warning", {
  expect_bk_warning(out <- fit(data = transform(good(), x2 = 3)), "dropped_column", "x2")
  expect_identical(names(coef(out)), c("(Intercept)", "x1"))
  expect_bk_warning(
    out <- fit(data = transform(good(), x2 = 2 * x1), penalty = "none"), "dropped_column", "x"
  )
  expect_length(coef(out), 2)
  expect_identical(
    predict(out, good(), type = "link"), predict(out, transform(good(), x2 = 0), type = "link")
  )
})

test_that("matrices: duplicated names, characters, no columns, lengths", {
  d <- good()
  x <- as.matrix(d[, c("x1", "x2")])
  colnames(x) <- c("a", "a")
  expect_refusal(bsvm(x, d$y, method = "vb"), "argument|dimension", "a")
  expect_refusal(
    bsvm(matrix(letters[1:20], 20), d$y, method = "vb"), "argument|dimension", "character"
  )
  expect_refusal(bsvm(matrix(0, 20, 0), d$y, method = "vb"), "dimension", "column")
  expect_refusal(bsvm(unname(x), d$y[-1], method = "vb"), "dimension", "19")
  expect_refusal(
    bsvm(unname(x), d$y, weights = rep(1, 3), method = "vb"), "dimension|argument", "weights"
  )
  expect_refusal(
    bsvm(unname(x), d$y, offset = rep(1, 3), method = "vb"), "dimension|argument", "offset"
  )
  expect_refusal(bsvm(unname(x), method = "vb"), "response", "y")
})

test_that("duplicated column names of a data frame", {
  d <- good()[, c("x1", "x2")]
  names(d)[2] <- "x1"
  expect_refusal(bsvm(d, good()$y, method = "vb"), "argument|dimension", "x1")
})

test_that("variables that are not there", {
  expect_refusal(fit(nothing ~ x1), "response|argument", "nothing")
  expect_refusal(fit(y ~ x1 + nothing), "argument|missing", "nothing")
  expect_refusal(fit(y ~ x1 + (1 | nothing)), "argument|missing", "nothing")
  expect_refusal(fit(y ~ x1 + (nothing | g)), "argument|missing", "nothing")
})

test_that("groups and their slopes with missing values", {
  expect_refusal(fit(y ~ x1 + (1 | g), changed("g", 2, NA)), "missing", "g")
  expect_refusal(fit(y ~ x1 + (x2 | g), changed("x2", 2, NA)), "missing", "x2")
})

test_that("a grouping factor of one level", {
  d <- transform(good(), g = "a")
  out <- tryCatch(fit(y ~ x1 + (1 | g), d), bayeskernel_error = function(e) e)
  if (inherits(out, "bayeskernel_error")) {
    expect_match(conditionMessage(out), "g")
  } else {
    expect_true(all(is.finite(coef(out))))
  }
})

test_that("list columns", {
  d <- good()
  d$x2 <- as.list(d$x2)
  expect_refusal(fit(data = d), "argument|dimension|missing", "x2")
  d <- good()
  d$y <- as.list(d$y)
  expect_refusal(fit(data = d), "response", "y")
})

test_that("weights and offsets", {
  expect_refusal(fit(data = changed("w", 2, -1), weights = w), "argument", "weights")
  expect_refusal(fit(data = changed("w", 2, NA), weights = w), "missing|argument", "weights")
  expect_refusal(fit(data = changed("w", 2, Inf), weights = w), "argument|missing", "weights")
  expect_refusal(
    fit(data = transform(good(), w = 0), weights = w), "argument|dimension|response", "weight|row"
  )
  expect_refusal(fit(data = changed("w", 2, NaN), offset = w), "missing|argument", "offset")
})

test_that("priors", {
  expect_prior <- function(code, regexp) expect_bk_error(code, "prior", regexp)
  for (value in list(0, -1, NA, Inf, "a", c(1, -1))) {
    expect_prior(bsvm_prior(beta_var = value), "beta_var")
    expect_prior(bsvm_prior(var_shape = value), "var_shape")
    expect_prior(bsvm_prior(var_rate = value), "var_rate")
  }
  expect_prior(bsvm_prior(beta_mean = NA), "beta_mean")
  expect_prior(bsvm_prior(cov_scale = matrix(c(1, 2, 2, 1), 2)), "cov_scale")
  expect_prior(bsvm_prior(cov_df = -1), "cov_df")
  expect_prior(fit(prior = bsvm_prior(beta_var = c(1, 2)), penalty = "none"), "beta_var")
  expect_prior(fit(y ~ x1 + (x1 | g), prior = bsvm_prior(cov_df = 0.5)), "cov_df")
  expect_prior(fit(y ~ x1 + (x1 | g), prior = bsvm_prior(cov_scale = diag(3))), "cov_scale")
  expect_prior(fit(prior = list()), "bsvm_prior")
})

test_that("settings", {
  bad <- list(
    method = "mcmc", method = 1, penalty = "ridge", penalty = -1, penalty = NA, standardize = NA,
    standardize = "yes", chains = 0, chains = 1.5, warmup = -1, ndraws = 0, ndraws = NA,
    ndraws = Inf, thin = 0, tol = -1, tol = NaN, max_iter = 0, accelerate = NULL, seed = "a",
    seed = 1:2, threads = 0, progress = NA, on_interrupt = "ask", keep_ranef = NA
  )
  for (k in seq_along(bad)) {
    arguments <- list(y ~ x1, good(), threads = 1, method = "gibbs")
    arguments[[names(bad)[k]]] <- bad[[k]]
    arguments <- c(arguments, if (is.null(bad[[k]])) bad[k])
    expect_bk_error(do.call(flat(bsvm), arguments), "argument", names(bad)[k])
  }
  expect_bk_error(fit(cluster = 1), "cluster", "cluster")
  expect_bk_error(fit(sweeps = 10), "argument", "sweeps")
  expect_bk_error(fit(resume = 1, method = "gibbs"), "argument", "resume")
})

test_that("new data that lack a column, or hold a new level", {
  out <- fit(y ~ x1 + f + (1 | g))
  expect_refusal(predict(out, good()["x1"]), "argument|missing", "f|g")
  new <- good()[1, ]
  new$f <- "other"
  expect_refusal(predict(out, new), "argument", "other")
  new <- good()[1:2, ]
  new$x1[2] <- NA
  expect_identical(is.na(predict(out, new, type = "link")), c(FALSE, TRUE))
  new$x1 <- c("a", "b")
  expect_refusal(predict(out, new), "argument", "x1")
  expect_identical(dim(predict(out, good()[0, ], type = "prob")), c(0L, 2L))
  expect_length(predict(out, transform(new, x1 = 1, g = "unseen")), 2)
  x <- as.matrix(good()[, 1:2])
  out <- bsvm(x, good()$y, threads = 1, method = "vb")
  expect_refusal(predict(out, x[, 1, drop = FALSE]), "dimension|argument", ".")
  expect_refusal(predict(out, "a"), "dimension|argument", ".")
})

test_that("huge and tiny predictors give finite numbers or a classed error", {
  for (size in c(1e308, 1e200, 1e155, 1e-155, 1e-300, 5e-324)) {
    for (standardize in c(TRUE, FALSE)) {
      for (method in c("vb", "gibbs")) {
        for (formula in list(y ~ x1 + x2, y ~ x1 + (x1 | g))) {
          d <- transform(good(), x1 = x1 / max(abs(x1)) * size)
          out <- tryCatch(
            suppressWarnings(fit(
              formula, d, standardize = standardize, method = method, warmup = 20, ndraws = 20,
              chains = 2, seed = 1
            )),
            bayeskernel_error = function(e) e
          )
          label <- paste(size, standardize, method, deparse1(formula))
          if (inherits(out, "bayeskernel_error")) {
            expect_match(conditionMessage(out), "x1|standardi|finite|large|variance", label = label)
          } else {
            expect_false(anyNA(c(coef(out), predict(out, d, type = "prob"))), label = label)
          }
        }
      }
    }
  }
})
