# One fit, bit by bit, whatever holds the rows and whoever does the work.

slow <- identical(Sys.getenv("BAYESKERNEL_SLOW"), "true")

# Three chunks of rows.
many <- local({
  set.seed(7)
  x <- matrix(round(rnorm(4.5e5), 3), 1.5e5, 3, dimnames = list(NULL, c("a", "b", "c")))
  x[, 2] <- 10 * x[, 2] + 50
  list(x = x, y = +(x[, 1]^2 + x[, 3] + rnorm(1.5e5) / 2 > 1))
})

process <- function(x = many$x, y = many$y, ..., method = "vb", tune = FALSE, threads = 1) {
  flat(gpsvm)(
    x, y, inducing = 10, seed = 2, threads = threads, tol = 1e-3, ..., method = method, tune = tune
  )
}

process_source <- function(source, ..., method = "vb", tune = FALSE, threads = 1) {
  flat(gpsvm)(
    source, inducing = 10, seed = 2, threads = threads, tol = 1e-3, ...,
    method = method, tune = tune
  )
}

same <- function(fit) fit[c("posterior", "draws", "trace", "inducing", "kernel", "nugget")]

one <- process()

test_that("threads do not change a bit", {
  for (threads in c(2, 4)) expect_identical(same(process(threads = threads)), same(one))
  expect_identical(
    predict(one, many$x, type = "link", se.fit = TRUE, threads = 2),
    predict(one, many$x, type = "link", se.fit = TRUE, threads = 1)
  )
})

test_that("threads change no draw, no mode and no kernel", {
  some <- 1:60000
  fit <- function(threads, ..., method = "vb", tune = FALSE) {
    suppressWarnings(flat(gpsvm)(
      many$x[some, ], many$y[some], inducing = 15, seed = 2, threads = threads, progress = FALSE,
      ..., method = method, tune = tune
    ))
  }
  for (settings in list(
    list(method = "gibbs", chains = 1, warmup = 2, ndraws = 4),
    list(method = "ecm", max_iter = 5), list(tune = "bound", max_iter = 5)
  )) {
    expect_identical(same(do.call(fit, c(2, settings))), same(do.call(fit, c(1, settings))))
  }
})

test_that("matrix, source and data base do not change a bit", {
  sources <- list(row_source(many$x, many$y))
  if (requireNamespace("RSQLite", quietly = TRUE)) {
    con <- DBI::dbConnect(RSQLite::SQLite(), ":memory:")
    on.exit(DBI::dbDisconnect(con))
    DBI::dbWriteTable(con, "d", data.frame(many$x, y = many$y))
    sources <- c(sources, list(row_source(con, "select * from d", y = "y")))
  }
  for (source in sources) {
    fit <- process_source(source)
    expect_identical(same(fit), same(one))
    expect_identical(fit$n, 150000)
    expect_equal(fit$share, one$share)
    expect_identical(predict(fit, source, type = "link"), predict(one, many$x, type = "link"))
  }
  frame <- gpsvm(
    y ~ a + b + c, data.frame(many$x, y = many$y), inducing = 10, seed = 2, threads = 1,
    control = list(tol = 1e-3), method = "vb", tune = FALSE
  )
  expect_equal(frame$posterior$z, one$posterior$z)
  expect_equal(last_bound(frame), last_bound(one), tolerance = 1e-8)
})

test_that("a sparse matrix is the matrix", {
  skip_if_not_installed("Matrix")
  x <- many$x
  x[abs(x) < 0.5] <- 0
  dense <- process(x, standardize = FALSE)
  sparse <- process(Matrix::Matrix(x, sparse = TRUE), standardize = FALSE)
  expect_identical(same(sparse), same(dense))
  # Moments are summed in another order.
  few <- 1:5000
  dense <- process(x[few, ], many$y[few])
  sparse <- process(Matrix::Matrix(x[few, ], sparse = TRUE), many$y[few])
  expect_equal(sparse$transform, dense$transform, tolerance = 1e-12)
  expect_equal(sparse$fitted, dense$fitted, tolerance = 1e-8)
  rows <- Matrix::Matrix(x[1:30, ], sparse = TRUE)
  expect_equal(
    predict(sparse, rows, type = "prob"), predict(dense, x[1:30, ], "prob"), tolerance = 1e-8
  )
  # Rows of zeros, an empty column, other storage.
  x[few, 2] <- 0
  x[11:20, ] <- 0
  expect_bk_warning(
    fit <- process(
      methods::as(Matrix::Matrix(x[few, ], sparse = TRUE), "RsparseMatrix"),
      many$y[few],
      seeding = "random" # a last bit can change a seed of k-means
    ), "dropped_column", "b"
  )
  expect_equal(
    fit$fitted, suppressWarnings(process(x[few, ], many$y[few], seeding = "random"))$fitted,
    tolerance = 1e-8
  )
  weights <- rep_len(c(0, 1, 2), 5000)
  dense <- process(x[few, c(1, 3)], many$y[few], weights = weights)
  sparse <- process(Matrix::Matrix(x[few, c(1, 3)], sparse = TRUE), many$y[few], weights = weights)
  expect_equal(sparse$n, dense$n)
  expect_equal(sparse$fitted, dense$fitted, tolerance = 1e-8)
  broken <- Matrix::Matrix(x[few, ], sparse = TRUE)
  broken[7, 3] <- NA
  expect_process_refusal(process(broken, many$y[few]), "missing", "row 7")
  expect_process_refusal(process(broken, many$y), "dimension", "150000")
})

# With what messages say of rows.
expect_same_messages <- function(found, expected) {
  parts <- function(fit) {
    fit[c("posterior", "loo", "loo_probit", "log_evidence", "link", "fitted", "check", "inducing")]
  }
  expect_identical(found$check$engine, "ep")
  expect_length(found$loo_probit, found$n)
  expect_false(is.null(found$link))
  expect_identical(parts(found), parts(expected))
}

# Classes, chains, and fits that leave workers nothing to do.
expect_few_rows <- function(cluster) {
  d <- curved_data(90, classes = 3)
  draw <- function(...) quick_process(y ~ x1 + x2, d, inducing = 12, ...)$draws
  expect_identical(draw(cluster = cluster), draw())
  small <- function(..., method = "vb", tune = FALSE) {
    flat(gpsvm)(
      y ~ x1 + x2, d, inducing = 12, threads = 1, seed = 1, ..., method = method, tune = tune
    )
  }
  expect_identical(same(small(cluster = cluster)), same(small()))
  exact <- function(..., method = "vb", tune = FALSE) {
    flat(gpsvm)(
      y ~ x1 + x2, d, inducing = "all", threads = 1, seed = 1, ..., method = method, tune = tune
    )
  }
  expect_identical(same(exact(cluster = cluster)), same(exact()))
  mode <- function(...) small(method = "ecm", ...)
  expect_identical(same(mode(cluster = cluster)), same(mode()))
  expect_same_messages(exact(method = "ep", cluster = cluster), exact(method = "ep"))
  # Powers of rows that differ between machines.
  for (method in c("vb", "ep")) {
    balanced <- function(...) small(method = method, class_weights = "balanced", ...)
    expect_identical(same(balanced(cluster = cluster)), same(balanced()))
    expect_false(identical(same(balanced()), same(small(method = method))))
  }
  for (fit in list(small, exact, mode)) {
    expect_equal(fitted(fit(cluster = cluster)), fitted(fit()), tolerance = 1e-8)
  }
}

test_that("workers do not change a bit", {
  skip_on_cran()
  cluster <- local_workers(2)
  expect_identical(same(process(cluster = cluster[1])), same(one))
  weights <- rep_len(c(1, 2, 0.5), 1.5e5)
  expect_identical(
    same(process(weights = weights, cluster = cluster)), same(process(weights = weights))
  )
  expect_identical(same(process_source(row_source(many$x, many$y), cluster = cluster)), same(one))
  messages <- process(method = "ep")
  expect_same_messages(process(method = "ep", cluster = cluster), messages)
  rate <- function(...) {
    process_source(row_source(many$x, many$y), learning_rate = 0.5, max_iter = 3, ...)
  }
  expect_identical(suppressWarnings(same(rate(cluster = cluster))), suppressWarnings(same(rate())))
  if (slow) {
    expect_same_messages(process(method = "ep", cluster = cluster[1], threads = 2), messages)
    source <- function(...) process_source(row_source(many$x, many$y), method = "ep", ...)
    expect_same_messages(source(cluster = cluster), source())
    expect_identical(source()$loo_probit, messages$loo_probit)
    expect_identical(same(process(cluster = cluster)), same(one))
    expect_identical(
      same(process(method = "svi", cluster = cluster)), same(process(method = "svi"))
    )
    three <- cut(many$x[, 1], c(-Inf, -0.5, 0.5, Inf))
    expect_identical(same(process(y = three, cluster = cluster)), same(process(y = three)))
    expect_same_messages(
      process(y = three, method = "ep", cluster = cluster), process(y = three, method = "ep")
    )
    x <- many$x
    x[abs(x) < 0.5] <- 0
    sparse <- Matrix::Matrix(x, sparse = TRUE)
    expect_identical(same(process(sparse, cluster = cluster)), same(process(sparse)))
  }
  # Nothing stays behind.
  left <- parallel::clusterCall(cluster, function() {
    c(
      length(ls(get("worker_rows", asNamespace("bayeskernel")))),
      length(list.files(tempdir(), "bayeskernel-rows"))
    )
  })
  expect_identical(left, list(c(0L, 0L), c(0L, 0L)))
  expect_few_rows(cluster)
})

test_that("messages that do not settle on workers give way to mean field", {
  skip_on_cran()
  cluster <- local_workers(1)
  few <- function(...) {
    d <- curved_data(90)
    flat(gpsvm)(
      y ~ x1 + x2, d, inducing = 12, threads = 1, seed = 1, tune = FALSE,
      method = "ep", max_iter = 1, ...
    )
  }
  expect_bk_warning(found <- few(cluster = cluster), "convergence", "settle")
  expected <- suppressWarnings(few())
  expect_identical(found$check$fallback, "vb")
  expect_identical(same(found), same(expected))
  # The engine without `method` is that of one process.
  default <- gpsvm(
    y ~ x1 + x2, curved_data(90), inducing = 12, threads = 1, tune = FALSE,
    control = list(cluster = cluster)
  )
  expect_identical(default$method, "ep")
})

test_that("a worker that answers an earlier call is found out", {
  skip_on_cran()
  broken_off <- utils::getFromNamespace("sendCall", "parallel")
  for (method in c("vb", "gibbs")) {
    cluster <- local_workers(1)
    broken_off(cluster[[1]], Sys.getpid, list())
    expect_process_refusal(
      gpsvm(
        many$x[1:50, ], many$y[1:50], inducing = 5, method = method,
        control = list(cluster = cluster, warmup = 5), ndraws = 5, threads = 1, tune = FALSE
      ), "cluster", "earlier call"
    )
  }
})
