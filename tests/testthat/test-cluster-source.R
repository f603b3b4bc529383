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

test_that("minibatches are those of one machine where parts begin as its chunks do", {
  skip_on_cran()
  cluster <- some_cluster(3)
  on.exit(parallel::stopCluster(cluster))
  d <- rows_of_two(140000, 8)
  begin <- c(1, 65537, 131073) # a chunk of few columns has 65,536 rows
  control <- list(epochs = 2, batch_size = 4096, max_iter = 20)
  for (y in c("number", "y")) {
    own <- d[c("a", "b", "c", y)]
    whole <- row_source(own, y = y)
    fit <- function(rows, seed = 1) {
      bkm(
        rows, family = if (y == "number") "gaussian" else "logit", method = "svi", seed = seed,
        threads = 1, control = control
      )
    }
    one <- fit(whole)
    expect_identical(said(fit(row_source(cluster, cut_open(own, begin, y)))), said(one))
    # Two workers have the same rows.
    two <- row_source(cluster[1:2], cut_open(own, begin[1:2], y))
    expect_identical(said(fit(two)), said(one))
  }
  given <- function(rows, seed = 1, epochs = 2, max_iter = 20, ...) {
    gpsvm(
      rows, inducing = 10, kernel = rbf(2), tune = FALSE, method = "svi", seed = seed,
      threads = 1, control = list(epochs = epochs, batch_size = 4096, max_iter = max_iter, ...)
    )
  }
  apart <- row_source(cluster, cut_open(own, begin))
  one <- given(whole)
  two <- given(apart)
  expect_identical(two$posterior, one$posterior)
  # The epochs alone, also with steps that adapt.
  expect_identical(given(apart, max_iter = 0)$posterior, given(whole, max_iter = 0)$posterior)
  expect_identical(
    given(apart, max_iter = 0, rate = "adaptive")$posterior,
    given(whole, max_iter = 0, rate = "adaptive")$posterior
  )
  expect_false(identical(given(apart, 2, max_iter = 0)$posterior,
    given(apart, max_iter = 0)$posterior))
})

test_that("minibatches of parts that begin anywhere lead to the same fit", {
  skip_on_cran()
  cluster <- some_cluster()
  on.exit(try(parallel::stopCluster(cluster), silent = TRUE))
  d <- rows_of_two(6000, 9)
  own <- d[c("a", "b", "c", "y")]
  fit <- function(rows, ...) {
    gpsvm(
      rows, inducing = 12, kernel = rbf(2), tune = FALSE, method = "svi", seed = 1, threads = 1,
      control = list(...)
    )
  }
  apart <- row_source(cluster, cut_open(own, c(1, 2500)))
  long <- list(epochs = 3, max_iter = 500, tol = 1e-10)
  one <- do.call(fit, c(list(row_source(own, y = "y")), long))
  two <- do.call(fit, c(list(apart), long))
  # Full passes take both to the optimum.
  expect_equal(
    predict(two, apart, type = "prob"), predict(one, own, type = "prob"), tolerance = 1e-5,
    ignore_attr = TRUE
  )
  expect_identical(do.call(fit, c(list(apart), long))$posterior, two$posterior)
  expect_error(
    gpsvm(apart, method = "svi", control = list(kernel_steps = 1)), "workers",
    class = "bayeskernel_error_argument"
  )
  skip_on_os("windows")
  kill_in_pass(cluster, 1, 3)
  expect_error(fit(apart, epochs = 3), class = "bayeskernel_error_cluster")
  expect_length(coef(bkm(own[1:3], own$y, family = "logit", method = "vb")), 4)
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

test_that("messages of a process stay with the rows", {
  skip_on_cran()
  cluster <- some_cluster()
  on.exit(try(parallel::stopCluster(cluster), silent = TRUE))
  d <- rows_of_two(70000, 11)[c("a", "b", "c", "y")]
  fit <- function(rows, ...) {
    gpsvm(rows, inducing = 10, method = "ep", seed = 1, threads = 1, ...)
  }
  # Parts that begin as shards do, then others, with labels in another order.
  whole <- row_source(d, y = "y")
  apart <- row_source(cluster, cut_open(d, c(1, 65537)))
  one <- fit(whole)
  two <- fit(apart)
  expect_identical(said(two), said(one))
  expect_identical(predict(two, apart, type = "prob"), predict(one, whole, type = "prob"))
  d <- d[1:3000, ]
  d <- d[order(d$y == "no"), ]
  apart <- row_source(cluster, cut_open(d, c(1, 1001)))
  given <- function(rows) fit(rows, kernel = rbf(2), tune = FALSE)
  one <- given(row_source(d, y = "y"))
  two <- given(apart)
  expect_null(two$check$fallback)
  own <- c("posterior", "log_evidence", "loo_probit")
  expect_equal(two[own], one[own], tolerance = 1e-10)
  probit <- function(fit, rows) unname(predict(fit, rows, type = "prob", link = "probit"))
  expect_equal(probit(two, apart), probit(one, d), tolerance = 1e-10)
  # The link is where a search over a sample ends.
  expect_equal(two[c("link", "loo")], one[c("link", "loo")], tolerance = 1e-8)
  expect_length(two$loo, 3000)
  # The default of few rows, as of one source.
  expect_identical(gpsvm(apart, inducing = 5, tune = FALSE, threads = 1)$method, "ep")
  # Messages that do not settle give way to "vb".
  expect_warning(
    three <- fit(apart, kernel = rbf(2), tune = FALSE, control = list(max_iter = 1)),
    class = "bayeskernel_warning_convergence"
  )
  four <- gpsvm(apart, kernel = rbf(2), tune = FALSE, inducing = 10, method = "vb", threads = 1,
    seed = 1)
  expect_identical(three$posterior, four$posterior)
  skip_on_os("windows")
  kill_in_pass(cluster, 2, 4)
  expect_error(given(apart), class = "bayeskernel_error_cluster")
  expect_length(coef(bkm(d[1:3], d$y, family = "logit", threads = 1)), 4)
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

grouped_rows <- function(groups, size, seed) {
  d <- rows_of_two(groups * size, seed)
  d$g <- sprintf("g%05d", rep(seq_len(groups), each = size))
  u <- rnorm(groups)[rep(seq_len(groups), each = size)]
  d$number <- d$number + u
  d$y <- ifelse(d$a + 1.5 * u + rlogis(groups * size) > 0, "yes", "no")
  d
}

test_that("groups stay with one part", {
  skip_on_cran()
  cluster <- some_cluster()
  on.exit(try(parallel::stopCluster(cluster), silent = TRUE))
  d <- grouped_rows(40, 30, 4)
  d <- d[order(rep(sample(30), 40), d$g), ] # groups are scattered
  d <- d[order(d$g > "g00015"), ]           # but for the parts
  for (family in c("gaussian", "logit", "probit", "hinge")) {
    y <- if (family == "gaussian") "number" else "y"
    own <- d[c("a", "b", "g", y)]
    whole <- row_source(own, y = y)
    apart <- row_source(cluster, cut_open(own, c(1, 451), y))
    for (method in c("vb", "ep")) {
      # By "ep" variances of groups are on a grid.
      formulas <- list(~ a + b + (1 | g), if (method == "vb") ~ a + b + (a | g))
      for (formula in Filter(length, formulas)) {
        fit <- function(rows) {
          bkm(formula, rows, family = family, method = method, seed = 1, threads = 1)
        }
        one <- fit(whole)
        two <- fit(apart)
        expect_identical(two$method, method)
        expect_null(two$check$fallback)
        expect_equal(coef(two), coef(one), tolerance = 1e-10)
        expect_equal(ranef(two)$g, ranef(one)$g, tolerance = 1e-8)
        expect_equal(two$log_evidence, one$log_evidence, tolerance = 1e-10)
        expect_equal(two$check$by_group, one$check$by_group)
        expect_equal(two$sandwich, one$sandwich, tolerance = 1e-8)
        expect_equal(predict(two, apart), predict(one, whole), tolerance = 1e-8)
      }
    }
  }
  expect_error(
    bkm(~ a + (1 | g), apart, family = "hinge", method = "svi"), "groups.*\"ep\" or \"vb\"",
    class = "bayeskernel_error_argument"
  )
  split <- row_source(cluster, cut_open(own, c(1, 440)))
  for (method in c("ep", "vb")) {
    expect_error(
      bkm(~ a + (1 | g), split, family = "logit", method = method),
      "rows in several parts.*parts 1 and 2", class = "bayeskernel_error_argument"
    )
  }
  skip_on_os("windows")
  kill_in_pass(cluster, 2, 5)
  expect_error(
    bkm(~ a + (1 | g), apart, family = "logit", method = "ep"),
    class = "bayeskernel_error_cluster"
  )
  expect_length(coef(bkm(y ~ a + b, own, family = "logit", threads = 1)), 3)
})

test_that("fits with groups have the bits of one machine", {
  skip_on_cran()
  cluster <- some_cluster()
  on.exit(parallel::stopCluster(cluster))
  d <- grouped_rows(4375, 16, 10) # 70,000 rows: 4096 groups fill a shard
  for (family in c("gaussian", "logit")) {
    y <- if (family == "gaussian") "number" else "y"
    own <- d[c("a", "b", "g", y)]
    fit <- function(rows) {
      bkm(~ a + (1 | g), rows, family = family, method = "ep", seed = 1, threads = 1)
    }
    one <- fit(row_source(own, y = y))
    two <- fit(row_source(cluster, cut_open(own, c(1, 65537), y)))
    # The jackknife adds parts, not blocks.
    two$sandwich$cov <- one$sandwich$cov
    expect_identical(said(two), said(one), label = family)
  }
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
