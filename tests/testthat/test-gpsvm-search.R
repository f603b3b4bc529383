# How the kernel is searched for: few evaluations, on few rows first.

# A score with a known top, on three levels: those of few rows are off.
peak <- function(top, off = c(0.3, 0.1, 0), shape = function(d) -sum(d^2)) {
  seen <- list()
  levels <- lapply(seq_along(off), function(level) {
    list(rows = 100 * level, score = function(at) {
      seen[[length(seen) + 1L]] <<- c(level, at$kernel)
      10 * shape(at$kernel - top - off[level])
    })
  })
  list(levels = levels, seen = function() do.call(rbind, seen))
}

open_search_of <- function(kernel) {
  list(kernel = kernel, nugget = 0, z = matrix(0, 2, 3), medians = 1)
}

test_that("the top of a score is found in few evaluations", {
  shapes <- list(
    round = function(d) -sum(d^2),
    # A variance and a length-scale that grow together.
    ridge = function(d) -(d[1] - 1.5 * d[2])^2 - 0.05 * sum(d^2),
    heavy = function(d) -0.5 * sum(log1p(d^2)) - 0.1 * d[1] * d[2] / (1 + sum(d^2)),
    quartic = function(d) -sum(d^4) - 0.2 * sum(d^2) + 0.1 * d[1]
  )
  for (name in names(shapes)) {
    for (top in list(c(0.3, -0.2), c(-1.1, 1), c(2.5, 1.2))) {
      ours <- peak(top, shape = shapes[[name]])
      found <- maximise_score(open_search_of(rbf(1)), ours$levels, gpsvm_prior())
      # By a fine grid, of the last level with its prior.
      goal <- function(par) 10 * shapes[[name]](par - top) - sum(par^2) / 8
      best <- stats::optim(top, function(par) -goal(par), control = list(
        reltol = 1e-12, maxit = 2000
      ))
      par <- log(kernel_parameters(found$kernel))
      expect_lt(-best$value - goal(par), 0.1)
      expect_lt(found$tuned$evaluations, 80)
      expect_true(found$tuned$converged)
      last_rows <- ours$seen()[, 1] == 3
      expect_lt(sum(last_rows), 25)
    }
  }
})

test_that("more parameters are climbed by differences", {
  top <- c(0.5, -0.3, 0.4)
  ours <- peak(top)
  found <- maximise_score(
    list(
      kernel = rbf(1, 1) + linear(1), nugget = 0, z = matrix(0, 2, 3), medians = c(1, 1)
    ), ours$levels, gpsvm_prior()
  )
  # 10 (p - top)^2 and p^2 / 8.
  expect_equal(unname(log(kernel_parameters(found$kernel))), top * 80 / 81, tolerance = 0.02)
})

test_that("a score may be missing at some points, or at all", {
  shape <- function(d) if (d[1] > 0.2) -Inf else -sum(d^2)
  ours <- peak(c(0, 0), off = c(0, 0), shape)
  found <- maximise_score(open_search_of(rbf(1)), ours$levels, gpsvm_prior())
  expect_lt(max(abs(log(kernel_parameters(found$kernel)))), 0.3)
  nowhere <- peak(c(0, 0), shape = function(d) -Inf)
  found <- maximise_score(open_search_of(rbf(1)), nowhere$levels, gpsvm_prior())
  expect_false(found$tuned$converged)
  expect_equal(found$tuned$bound, -Inf)
})

test_that("both forms of the link are climbed where both may be the best", {
  # The first form has its top at -1, the second, higher by `more`, at 1.
  search <- function(more) {
    looked <- 0
    level <- list(rows = 100, score = function(at) {
      looked <<- looked + 1
      c(-10 * sum((at$kernel + 1)^2), more - 10 * sum((at$kernel - 1)^2)) - c(0, worth_of_form)
    })
    found <- maximise_score(open_search_of(rbf(1)), list(level), gpsvm_prior())
    c(log(kernel_parameters(found$kernel)), found$tuned$bound, looked)
  }
  first <- search(1)
  second <- search(5)
  expect_equal(first[1:2], c(-1, -1) * 80 / 81, tolerance = 0.05, ignore_attr = TRUE)
  expect_equal(second[1:2], c(1, 1) * 80 / 81, tolerance = 0.05, ignore_attr = TRUE)
  expect_equal(second[[3]], 5, tolerance = 0.02)
  expect_lt(search(-50)[[4]], second[[4]])
})

test_that("rows of a part stand for those of their class", {
  set.seed(1)
  labels <- sample(rep(0:2, c(300, 95, 5)))
  data <- list(
    x = matrix(seq_along(labels)), labels = labels, weights = numeric(), users = runif(400)
  )
  part <- stratified_rows(data, 100, 7)
  at <- part$x[, 1]
  expect_identical(part$labels, labels[at])
  expect_false(is.unsorted(at, strictly = TRUE))
  expect_equal(as.vector(table(part$labels)), c(75, 24, 3))
  share <- part$users / data$users[at]
  expect_equal(as.vector(tapply(share, part$labels, sum)), c(300, 95, 5))
  expect_identical(stratified_rows(data, 100, 7), part)
})

test_that("a tuned fit is that of its kernel, from whatever messages", {
  d <- curved_data(300, seed = 5)
  x <- curved_matrix(d)
  fit <- gpsvm(x, d$y, threads = 1, seed = 1)
  cold <- gpsvm(
    x, d$y, kernel = fit$kernel, inducing = nrow(fit$inducing), tune = FALSE, threads = 1, seed = 1
  )
  expect_equal(fit$fitted$mean, cold$fitted$mean, tolerance = 5e-3)
  expect_equal(fit$fitted$var, cold$fitted$var, tolerance = 5e-3)
  expect_equal(fit$link$value, cold$link$value, tolerance = 1e-3)
  expect_lt(fit$diagnostics$passes, cold$diagnostics$passes / 2)
  two <- gpsvm(x, d$y, threads = 2, seed = 1)
  expect_identical(two$posterior, fit$posterior)
})

test_that("tuning says how far it is", {
  d <- curved_data(320, seed = 5)
  x <- curved_matrix(d)
  said <- function(...) {
    file <- tempfile()
    on.exit(unlink(file))
    con <- file(file, "w")
    sink(con, type = "message")
    tryCatch(flat(gpsvm)(x, d$y, threads = 1, seed = 1, ...), finally = {
      sink(type = "message")
      close(con)
    })
    readLines(file, warn = FALSE)
  }
  lines <- grep("^tuning", said(progress = TRUE), value = TRUE)
  expect_match(lines[1], "^tuning, 200 rows: evaluation 2[0-9], best score -[0-9.]+ *$")
  expect_match(lines[2], "^tuning, 320 rows: evaluation [0-9]+")
  expect_length(said(progress = FALSE), 0)
})

test_that("an interrupt of tuning keeps the best kernel, and is warned of once", {
  out <- interrupted_work(function(ready) {
    set.seed(1)
    x <- matrix(rnorm(4000 * 8), 4000)
    y <- rbinom(4000, 1, plogis(3 * sin(2 * x[, 1]) + x[, 2]))
    ready()
    gpsvm(
      x, y, rbf(ard = TRUE), inducing = 100, tune = TRUE, threads = 1, seed = 1,
      control = list(on_interrupt = "keep")
    )
  }, after = 2)
  expect_s3_class(out$fit, "gpsvm")
  expect_true(out$fit$tuned$interrupted)
  expect_length(grep("interrupt", out$warned), 1)
})
