# Rows that workers open and keep: fits are those of one machine's row source.

test_that("fits have the bits of one machine where parts begin as its shards do", {
  skip_on_cran()
  cluster <- some_cluster()
  on.exit(parallel::stopCluster(cluster))
  n <- 70000
  d <- rows_of_two(n, 1)
  begin <- c(1, 65537) # a shard of three columns has 32 blocks of 2048 rows
  for (y in c("number", "y")) {
    own <- d[c("a", "b", "c", y)]
    whole <- row_source(own, y = y)
    apart <- row_source(cluster, cut_open(own, begin, y))
    families <- if (y == "number") "gaussian" else c("logit", "probit", "hinge")
    for (family in families) {
      # Learned noise moves messages twice in one step; the hinge's jackknife adds parts, not tiles.
      for (method in if (family %in% c("gaussian", "hinge")) "vb" else c("vb", "ep")) {
        fit <- function(rows) bkm(rows, family = family, method = method, seed = 1, threads = 1)
        one <- fit(whole)
        two <- fit(apart)
        expect_identical(said(two), said(one), label = paste(family, method))
      }
    }
    expect_identical(predict(two, apart), predict(one, whole))
  }
  fit <- function(rows) gpsvm(rows, inducing = 10, method = "vb", seed = 1, threads = 1)
  expect_identical(fit(apart)$posterior, fit(whole)$posterior)
  # Files of the fits are put away.
  left <- parallel::clusterEvalQ(cluster, list.files(tempdir(), "^bayeskernel-rows"))
  expect_identical(lengths(left), c(0L, 0L))
})

test_that("parts that begin anywhere, labels in any order: the fit is that of all rows", {
  skip_on_cran()
  cluster <- some_cluster(3)
  on.exit(parallel::stopCluster(cluster))
  d <- rows_of_two(3000, 2)
  d <- d[c(which(d$y == "yes"), which(d$y == "no")), ] # parts begin with other classes
  at <- c(1, 1001, 2500)
  own <- d[c("a", "b", "c", "y")]
  apart <- row_source(cluster, cut_open(own, at))
  whole <- row_source(own, y = "y")
  # Where a search for a kernel ends moves with the last bit, by its own tolerance.
  given <- function(rows, ...) gpsvm(rows, kernel = rbf(2), tune = FALSE, ...)
  for (model in list(bkm, given)) {
    fit <- function(rows) {
      model(rows, method = "vb", seed = 1, threads = 1, control = list(tol = 1e-10))
    }
    one <- fit(whole)
    two <- fit(apart)
    expect_equal(
      predict(two, apart, type = "prob"), predict(one, whole, type = "prob"), tolerance = 1e-10
    )
    expect_identical(two$levels, c("no", "yes"))
  }
  one <- bkm(whole, method = "vb", threads = 1)
  two <- bkm(apart, method = "vb", threads = 1)
  expect_equal(coef(two), coef(one), tolerance = 1e-10)
  expect_equal(two$trace$elbo, one$trace$elbo, tolerance = 1e-10)
  # What a hinge's link is learned from is a sample of the rows.
  one <- bkm(whole, family = "hinge", method = "vb", seed = 1, threads = 1)
  two <- bsvm(apart, method = "vb", seed = 1, threads = 1)
  expect_equal(
    predict(two, apart, type = "prob"), predict(one, whole, type = "prob"), tolerance = 1e-8
  )
  # Moments by plain R.
  expect_equal(two$transform$center[-1], colMeans(d[c("a", "b", "c")]), tolerance = 1e-12)
  expect_equal(two$transform$scale[-1], apply(d[c("a", "b", "c")], 2, sd), tolerance = 1e-12)
})

test_that("messages stay with the rows", {
  skip_on_cran()
  cluster <- some_cluster()
  on.exit(parallel::stopCluster(cluster))
  d <- rows_of_two(2000, 7)
  for (family in c("gaussian", "logit", "hinge")) {
    y <- if (family == "gaussian") "number" else "y"
    own <- d[c("a", "b", "c", y)]
    one <- bkm(row_source(own, y = y), family = family, seed = 1, threads = 1)
    two <- bkm(
      row_source(cluster, cut_open(own, c(1, 701), y)), family = family, seed = 1, threads = 1
    )
    expect_identical(two$method, "ep")
    expect_null(two$check$fallback)
    expect_equal(coef(two), coef(one), tolerance = 1e-8)
    expect_equal(vcov(two), vcov(one), tolerance = 1e-8)
    expect_equal(two$log_evidence, one$log_evidence, tolerance = 1e-8)
    expect_equal(two$sandwich, one$sandwich, tolerance = 1e-8)
  }
})

test_that("a gaussian fit is the posterior by plain R", {
  skip_on_cran()
  cluster <- some_cluster()
  on.exit(parallel::stopCluster(cluster))
  d <- rows_of_two(400, 3)[c("a", "b", "c", "number")]
  fit <- bkm(
    row_source(cluster, cut_open(d, c(1, 150), "number")), family = "gaussian", method = "vb",
    penalty = "none", threads = 1
  )
  expect_equal(coef(fit), coef(lm(number ~ a + b + c, d)), tolerance = 1e-2)
  expect_equal(predict(fit, d[1:3]), unname(fitted(lm(number ~ ., d))), tolerance = 1e-2,
    ignore_attr = TRUE)
})

test_that("groups stay with one part", {
  skip_on_cran()
  cluster <- some_cluster()
  on.exit(parallel::stopCluster(cluster))
  d <- rows_of_two(1200, 4)
  d$g <- sprintf("g%02d", rep(1:40, each = 30))
  d$number <- d$number + rnorm(40)[rep(1:40, each = 30)]
  d <- d[order(rep(sample(30), 40), d$g), ]                # groups are scattered
  d <- d[order(d$g > "g15"), c("a", "b", "g", "number")] # but for the parts
  whole <- row_source(d, y = "number")
  apart <- row_source(cluster, cut_open(d, c(1, 451), "number"))
  for (formula in list(~ a + b + (1 | g), ~ a + b + (a | g))) {
    fit <- function(rows) bkm(formula, rows, family = "gaussian", method = "vb", threads = 1)
    one <- fit(whole)
    two <- fit(apart)
    expect_equal(coef(two), coef(one), tolerance = 1e-10)
    expect_equal(ranef(two)$g, ranef(one)$g, tolerance = 1e-8)
    expect_equal(predict(two, apart), predict(one, whole), tolerance = 1e-8)
  }
  expect_error(
    bkm(~ a + (1 | g), apart, family = "gaussian"), "groups.*\"vb\"",
    class = "bayeskernel_error_argument"
  )
  split <- row_source(cluster, cut_open(d, c(1, 440), "number"))
  expect_error(
    bkm(~ a + (1 | g), split, family = "gaussian", method = "vb"),
    "rows in several parts.*parts 1 and 2", class = "bayeskernel_error_argument"
  )
})

test_that("what is wrong with a part is said, with its number", {
  skip_on_cran()
  cluster <- some_cluster()
  on.exit(parallel::stopCluster(cluster))
  d <- rows_of_two(60, 5)[c("a", "b", "y")]
  as_part <- function(second, y = "y") {
    open <- function(part, parts) bayeskernel::row_source(if (part == 2) second else d, y = y)
    environment(open) <- list2env(list(d = d, second = second, y = y), parent = globalenv())
    row_source(cluster, open)
  }
  expect_error(
    as_part(stats::setNames(d, c("a", "z", "y"))), "part 2.*Lacking: b",
    class = "bayeskernel_error_dimension"
  )
  expect_error(as_part(d, "x"), "no column `x`.*part 1", class = "bayeskernel_error_response")
  gap <- d
  gap$b[7] <- NA
  expect_error(
    bkm(as_part(gap), method = "vb"), "row 7.*part 2", class = "bayeskernel_error_missing"
  )
  other <- d
  other$y[1] <- "perhaps"
  expect_error(
    bkm(as_part(other), family = "logit", method = "vb"), class = "bayeskernel_error_response"
  )
  expect_error(
    row_source(cluster, function(part, parts) stop("no such file")), "no such file",
    class = "bayeskernel_error_argument"
  )
  rows <- as_part(d)
  expect_error(bkm(rows, method = "gibbs"), "rows of a cluster", class = "bayeskernel_error")
  expect_error(bkm(~ gp(a), rows, method = "vb"), "gp()", class = "bayeskernel_error_argument")
  expect_error(row_source(cluster, 1), "`open`", class = "bayeskernel_error_argument")
  expect_output(print(rows), "2 workers of a cluster")
  expect_length(coef(bkm(rows, family = "logit", method = "vb")), 3)
})

test_that("a worker that dies in a pass is an error, and the master lives", {
  skip_on_cran()
  skip_on_os("windows")
  cluster <- some_cluster()
  on.exit(try(parallel::stopCluster(cluster), silent = TRUE))
  d <- rows_of_two(20000, 6)[c("a", "b", "c", "y")]
  rows <- row_source(cluster, cut_open(d, c(1, 10001)))
  kill_in_pass(cluster, 2, 3)
  expect_error(
    bkm(rows, family = "logit", method = "vb", control = bkm_control(tol = 1e-12)),
    class = "bayeskernel_error_cluster"
  )
  expect_error(bkm(rows, family = "logit", method = "vb"), class = "bayeskernel_error_cluster")
  expect_length(coef(bkm(d[1:3], d$y, family = "logit", method = "vb")), 4)
})
