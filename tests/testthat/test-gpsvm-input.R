# Bad input of every kind for the nonlinear machine: a classed error that says what was found and
# what would do; nothing crashes, nothing is silently NaN.

slow <- identical(Sys.getenv("BAYESKERNEL_SLOW"), "true")

good <- curved_data(60)
good_x <- curved_matrix(good)

fit_x <- function(x = good_x, y = good$y, ..., method = "vb", tune = FALSE) {
  flat(gpsvm)(x, y, ..., threads = 1, seed = 1, method = method, tune = tune)
}

test_that("inducing points", {
  expect_process_refusal(fit_x(inducing = 61), "dimension", "61 inducing")
  for (wrong in list(0, -1, 2.5, NA, Inf, "many", 1:3, list(), TRUE)) {
    expect_process_refusal(fit_x(inducing = wrong), "argument", "inducing")
  }
  points <- good_x[1:6, ]
  expect_process_refusal(fit_x(inducing = points[c(1:6, 4), ]), "argument", "row 7 repeats")
  for (value in c(NA, NaN, Inf)) {
    expect_process_refusal(fit_x(inducing = replace(points, 3, value)), "argument", "finite")
  }
  expect_process_refusal(fit_x(inducing = points[0, ]), "argument", "row")
  for (wrong in list(
    points[, 1, drop = FALSE], unname(cbind(points, 1)), `colnames<-`(points, c("x1", "z"))
  )) {
    expect_process_refusal(fit_x(inducing = wrong), "dimension", "`inducing`.*x1, x2")
    expect_process_refusal(
      gpsvm(y ~ x1 + x2, good, inducing = wrong, threads = 1,
        method = "vb", tune = FALSE), "dimension",
      "`inducing`.*x1, x2"
    )
  }
  # By name, in any order.
  expect_identical(fit_x(inducing = points[, 2:1])$posterior, fit_x(inducing = points)$posterior)
  expect_identical(
    gpsvm(y ~ x1 + x2, good, inducing = points[, 2:1], threads = 1,
      method = "vb", tune = FALSE)$posterior,
    fit_x(inducing = unname(points))$posterior
  )
})

test_that("kernels", {
  for (wrong in list(0, -1, NA, Inf, "a", c(1, -1), numeric())) {
    expect_bk_error(rbf(wrong), "kernel", "lengthscale")
  }
  expect_bk_error(polynomial(2, -1), "kernel", "offset")
  for (wrong in list("radius", 1, NULL, mean)) {
    expect_process_refusal(fit_x(kernel = wrong), "kernel", "rbf\\(\\)")
  }
  condition <- expect_process_refusal(
    fit_x(kernel = rbf(1:3)), "kernel", "3 length-scales for 2 columns"
  )
  expect_equal(condition$expected, 2)
  # A column that is dropped needs no length-scale.
  expect_bk_warning(
    expect_bk_error(
      fit_x(cbind(good_x, x3 = 1), kernel = rbf(1:3)), "kernel", "2 columns"
    ), "dropped_column", "x3"
  )
  # Distances that overflow.
  expect_bk_error(fit_x(kernel = rbf(1e-200)), "numeric", "finite")
})

test_that("a precomputed kernel", {
  k <- kernel_matrix(rbf(1), scale(good_x), threads = 1)
  fit <- function(x = k, ...) fit_x(x, kernel = precomputed(), ...)
  expect_process_refusal(fit(k[, -1]), "dimension", "square")
  expect_process_refusal(fit(replace(k, 2, 5)), "kernel", "symmetric")
  expect_process_refusal(fit(replace(k, 1, NaN)), "missing", "missing")
  for (inducing in list(10, good_x[1:3, ])) {
    expect_process_refusal(fit(inducing = inducing), "kernel", "inducing")
  }
  for (tune in list(TRUE, "cv")) expect_process_refusal(fit(tune = tune), "kernel", "tune")
  expect_process_refusal(fit(-k), "kernel", "eigenvalue of -")
  expect_process_refusal(fit(y = good$y[-1]), "dimension", "59")
  expect_process_refusal(fit(weights = 1:3), "dimension", "weights")
  out <- fit()
  for (wrong in list(k[1:3, 1:5], as.data.frame(k), "a", 1:60)) {
    expect_process_refusal(predict(out, wrong), "dimension", "60 training")
  }
  new <- replace(k[1:3, ], 2, NA)
  expect_identical(is.na(predict(out, new, type = "link")), c(FALSE, TRUE, FALSE))
})

test_that("missing and infinite predictors and responses", {
  for (value in c(NA, NaN, Inf, -Inf)) {
    x <- replace(good_x, 5, value)
    condition <- expect_process_refusal(fit_x(x), "missing", "x1")
    expect_equal(unname(condition$row), 5)
    data <- data.frame(x, y = good$y)
    expect_process_refusal(
      gpsvm(y ~ x1 + x2, data, threads = 1, method = "vb", tune = FALSE), "missing", "x1"
    )
  }
  expect_process_refusal(fit_x(replace(good_x, 5, NA)), "missing", "na.omit")
  expect_process_refusal(fit_x(y = replace(good$y, 7, NA)), "missing", "`y`.*row 7")
  omitted <- fit_x(replace(good_x, 5, NA), na.action = na.omit)
  expect_identical(omitted$posterior, fit_x(good_x[-5, ], good$y[-5])$posterior)
})

test_that("responses that are no classes", {
  one <- list(factor(rep("a", 60)), rep(1, 60), rep(TRUE, 60), factor(rep("a", 60), "a"))
  for (y in one) {
    expect_process_refusal(fit_x(y = y), "response", "one class")
    expect_process_refusal(
      gpsvm(y ~ x1, data.frame(good_x, y = y), threads = 1,
        method = "vb", tune = FALSE), "response",
      "one class"
    )
  }
  for (y in list(1:60 + 0, as.list(good$y))) expect_process_refusal(fit_x(y = y), "response", "y")
  expect_process_refusal(fit_x(y = good$y[-1]), "dimension", "59")
  expect_process_refusal(gpsvm(good_x, threads = 1,
    method = "vb", tune = FALSE), "response", "missing")
})

test_that("no rows, one row, two rows", {
  expect_process_refusal(fit_x(good_x[0, ], good$y[0]), "dimension", "no rows")
  expect_process_refusal(fit_x(good_x[1, , drop = FALSE], good$y[1]), "dimension", "one row")
  expect_process_refusal(gpsvm(y ~ x1, good[0, ], method = "vb", tune = FALSE), "dimension", "row")
  pair <- c(1, which(good$y != good$y[1])[1])
  out <- fit_x(good_x[pair, ], good$y[pair])
  expect_identical(predict(out), good$y[pair])
})

test_that("columns that do not vary, or of the wrong kind", {
  expect_bk_warning(out <- fit_x(cbind(good_x, x3 = 3)), "dropped_column", "x3")
  expect_identical(out$posterior, fit_x()$posterior)
  expect_identical(out$dropped, "x3")
  expect_identical(
    predict(out, cbind(good_x, x3 = 7), type = "link"), predict(fit_x(), good_x, type = "link")
  )
  expect_bk_warning(
    expect_bk_error(fit_x(matrix(1, 60, 2)), "dimension", "no columns"), "dropped_column"
  )
  expect_process_refusal(fit_x(matrix(0, 60, 0)), "dimension", "column")
  expect_process_refusal(fit_x(matrix("a", 60, 2)), "argument", "character")
  expect_process_refusal(fit_x(list(1, 2)), "argument", "matrix")
  # Most pairs of rows are no distance apart.
  rare <- data.frame(a = rep(c(0, 1), c(55, 5)))
  for (inducing in list(NULL, "all")) {
    fit <- may_give_up(fit_x(rare, inducing = inducing))
    expect_false(anyNA(fitted(fit)))
  }
})

test_that("weights", {
  for (wrong in list(rep(-1, 60), replace(rep(1, 60), 3, Inf), rep(0, 60))) {
    expect_process_refusal(fit_x(weights = wrong), "argument", "weights")
  }
  expect_process_refusal(fit_x(weights = 1:3), "dimension", "weights")
  expect_process_refusal(fit_x(weights = replace(rep(1, 60), 3, NA)), "missing", "weights")
})

test_that("formulas", {
  fit <- function(formula, data = good) {
    gpsvm(formula, data, threads = 1, method = "vb", tune = FALSE)
  }
  good$g <- gl(3, 20)
  expect_process_refusal(fit(y ~ x1 + (1 | g), good), "argument", "random terms")
  expect_process_refusal(fit(y ~ s(x1)), "argument", "smooth")
  expect_process_refusal(fit(y ~ x1 + offset(x2)), "argument", "offset")
  expect_process_refusal(fit(~x1), "argument", "response")
  expect_process_refusal(fit(y ~ nothing), "argument", "nothing")
  for (empty in list(y ~ 1, y ~ 0)) expect_process_refusal(fit(empty), "dimension", "columns")
  expect_process_refusal(
    gpsvm(y ~ s(x1), row_source(good_x, good$y), method = "vb", tune = FALSE), "argument", "source"
  )
  out <- fit(y ~ x1 + g, good)
  expect_identical(out$columns, c("x1", "g1", "g2", "g3"))
  new <- transform(good[1:2, ], g = c("1", "z"))
  expect_process_refusal(predict(out, new), "argument", "\"z\"")
})

test_that("new rows with other columns", {
  out <- fit_x()
  expect_process_refusal(predict(out, good_x[, 1, drop = FALSE]), "argument", "x2")
  expect_process_refusal(predict(out, unname(cbind(good_x, 1))), "dimension", "3 columns")
  for (wrong in list("a", good_x[1, ], list(1))) {
    expect_process_refusal(predict(out, wrong), "argument", "newdata")
  }
  expect_process_refusal(predict(out, transform(good, x1 = "high")), "argument", "x1")
  new <- good_x[1:3, ]
  new[2, 1] <- Inf
  expect_process_refusal(predict(out, new), "missing", "x1")
})

test_that("settings", {
  bad <- list(
    method = "mcmc", method = 1, tune = "grid", tune = NA, nugget = -1, nugget = NA, nugget = "a",
    standardize = NA, tune_rows = 10, optimize_inducing = NA, seeding = "grid", chains = 0,
    chains = 1.5, warmup = -1, ndraws = 0, ndraws = NA, thin = 0, tol = -1, tol = NaN,
    max_iter = -1, accelerate = NULL, batch_size = 0, batch_size = 1.5, epochs = 0, rate = "fast",
    epoch_tol = -1, seed = "a", seed = 1:2, threads = 0, progress = NA, on_interrupt = "ask",
    model = NA, colour = 1
  )
  for (k in seq_along(bad)) {
    arguments <- list(good_x, good$y)
    arguments[names(bad)[k]] <- bad[k]
    expect_process_refusal(do.call(flat(gpsvm), arguments), "argument", names(bad)[k])
  }
  for (wrong in list(1, "local", list())) {
    expect_process_refusal(fit_x(cluster = wrong), "cluster", "cluster")
  }
  for (wrong in list(bsvm_prior(), list(), NULL)) {
    expect_process_refusal(fit_x(prior = wrong), "prior", "gpsvm_prior")
  }
  for (wrong in list(c(1, 1), c(2, 1), 1, c(0, 1), c(NA, 1), c(1, Inf), "a")) {
    for (name in c("lengthscale", "variance", "nugget")) {
      expect_bk_error(do.call(gpsvm_prior, stats::setNames(list(wrong), name)), "prior", name)
    }
  }
})

test_that("a cap on the passes warns", {
  for (method in c("vb", "ecm")) expect_bk_warning(fit_x(method = method, max_iter = 2), "max_iter")
})

# Row sources -----------------------------------------------------------------

test_that("sources that are empty, closed, cut short or of one class", {
  skip_if_not_installed("RSQLite")
  con <- DBI::dbConnect(RSQLite::SQLite(), ":memory:")
  DBI::dbWriteTable(con, "d", transform(good, y = as.character(y)))
  source <- function(query) row_source(con, query, y = "y")
  fit <- function(source) gpsvm(source, threads = 1, seed = 1, method = "vb", tune = FALSE)
  before <- list.files(tempdir(), "bayeskernel-rows")
  expect_process_refusal(fit(source("select * from d where x1 > 1e9")), "dimension", "no rows")
  expect_process_refusal(fit(source("select * from d limit 1")), "dimension", "one row")
  expect_process_refusal(fit(source("select * from d where y = 'in'")), "response", "one class")
  expect_process_refusal(
    fit(source("select 1.0 as a, y from d")), "dimension", "columns"
  ) |> expect_bk_warning("dropped_column", "a")
  all <- source("select * from d")
  out <- fit(all)
  DBI::dbDisconnect(con)
  expect_process_refusal(fit(all), "argument", "closed")
  expect_process_refusal(predict(out, all), "argument", "closed")

  file <- tempfile()
  write.csv(good_x, file, row.names = FALSE)
  cat("1\n", file = file, append = TRUE)
  expect_process_refusal(fit(row_source(file, colnames(good_x)[1])), "argument", "cannot be read")
  expect_process_refusal(fit(row_source(good_x)), "response", "no response")
  for (method in c("gibbs", "ecm")) {
    expect_process_refusal(
      gpsvm(row_source(good_x, good$y), method = method, tune = FALSE), "argument", "svi"
    )
  }
  three <- factor(rep_len(c("a", "b", "c"), 60))
  expect_process_refusal(fit(row_source(good_x, three)), "response", "two classes")
  expect_process_refusal(fit(row_source(good_x, replace(good$y, 7, NA))), "missing", "y")
  for (code in expression(fitted(out), residuals(out))) {
    expect_bk_error(eval(code), "argument", "row")
  }
  expect_equal(weights(out), rep(1, 60))
  expect_identical(list.files(tempdir(), "bayeskernel-rows"), before)
})

# Blocks of ten rows in place of those of a megabyte.
local_small_blocks <- function(env = parent.frame()) {
  space <- asNamespace("bayeskernel")
  put <- function(value) {
    unlockBinding("block_rows", space)
    assign("block_rows", value, space)
    lockBinding("block_rows", space)
  }
  old <- space$block_rows
  do.call(on.exit, list(as.call(list(put, old)), add = TRUE), envir = env)
  put(function(columns) 10L)
}

test_that("a missing value in block 4000 of a source", {
  local_small_blocks()
  x <- matrix(as.numeric(1:40100), dimnames = list(NULL, "a"))
  y <- rep_len(c(TRUE, FALSE), 40100)
  x[39995] <- NaN
  condition <- expect_process_refusal(
    gpsvm(row_source(x, y), threads = 1, seed = 1, method = "vb", tune = FALSE), "missing", "a"
  )
  expect_equal(condition$row, 39995)
})

test_that("a third label in row four million", {
  skip_if_not(slow, "BAYESKERNEL_SLOW is not true")
  x <- matrix(as.numeric(seq_len(4e6 + 5)), dimnames = list(NULL, "a"))
  y <- rep_len(c(0, 1), nrow(x))
  y[4e6] <- 2
  condition <- expect_process_refusal(
    gpsvm(row_source(x, y), threads = 1, seed = 1,
      method = "vb", tune = FALSE), "response", "two classes"
  )
  expect_equal(condition$row, 4e6)
})

# Workers ---------------------------------------------------------------------

test_that("a worker that is dead before the fit, or dies in it", {
  skip_on_cran()
  skip_on_os("windows")
  d <- curved_data(70000)
  x <- curved_matrix(d)
  fit <- function(..., tune = FALSE) {
    flat(gpsvm)(x, d$y, inducing = 8, threads = 1, seed = 1, method = "vb", ..., tune = tune)
  }
  expect_cluster_error <- function(code) expect_process_refusal(code, "cluster", "worker")
  cluster <- local_workers(2)
  pid <- unlist(parallel::clusterCall(cluster, Sys.getpid))
  tools::pskill(pid[2], tools::SIGKILL)
  expect_cluster_error(fit(cluster = cluster))
  expect_cluster_error(fit_x(method = "gibbs", ndraws = 10, warmup = 5, cluster = cluster))
  expect_true(fit()$diagnostics$converged)

  cluster <- local_workers(2)
  pid <- unlist(parallel::clusterCall(cluster, Sys.getpid))
  system(sprintf("(sleep 1.5; kill -9 %d) >/dev/null 2>&1 &", pid[2]))
  expect_cluster_error(fit(cluster = cluster, tol = 0, max_iter = 20000, accelerate = FALSE))
  expect_true(fit()$diagnostics$converged)
})
