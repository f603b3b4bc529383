# More rows from a row source, which one machine has or no one: the fit is that of the same rows in
# a data frame.

more_rows <- function(fit, rows) extend(fit, rows, threads = 1, progress = FALSE)

# Messages settle from another start: to 1e-4 of a standard deviation.
expect_same_fit <- function(a, b, tolerance = 1e-3) {
  expect_lt(max(abs(coef(a) - coef(b)) / sqrt(diag(vcov(b)))), 5e-4)
  expect_equal(vcov(a), vcov(b), tolerance = tolerance)
  expect_equal(a$log_evidence, b$log_evidence, tolerance = tolerance)
  expect_equal(a$sandwich, b$sandwich, tolerance = tolerance)
  expect_equal(a$stream, b$stream, tolerance = tolerance)
  expect_equal(a$share, b$share, tolerance = tolerance)
  expect_equal(nobs(a), nobs(b))
}

test_that("a row source extends a fit as its rows do", {
  d <- rows_of_two(900, 11)
  first <- d[1:400, ]
  new <- d[401:900, ]
  file <- tempfile(fileext = ".csv")
  on.exit(unlink(file))
  for (family in c("gaussian", "logit", "probit", "hinge")) {
    y <- if (family == "gaussian") "number" else "y"
    columns <- c("a", "b", "c", y)
    utils::write.csv(new[columns], file, row.names = FALSE)
    formula <- stats::reformulate(c("a", "b", "c"), y)
    fit <- bkm(formula, first, family = family, seed = 1, threads = 1)
    two <- more_rows(fit, new)
    one <- more_rows(fit, row_source(new[columns], y = y))
    expect_same_fit(one, two)
    expect_equal(coef(more_rows(fit, row_source(file, y = y))), coef(one), tolerance = 1e-8)
  }
})

test_that("parts that workers open extend fits, of parts or of one machine", {
  skip_on_cran()
  cluster <- some_cluster()
  on.exit(parallel::stopCluster(cluster))
  d <- rows_of_two(900, 12)
  new <- 401:900
  for (family in c("gaussian", "logit", "hinge")) {
    y <- if (family == "gaussian") "number" else "y"
    own <- d[c("a", "b", "c", y)]
    parts <- function(rows, at) row_source(cluster, cut_open(own[rows, ], at, y))
    fit <- bkm(parts(-new, c(1, 150)), family = family, seed = 1, threads = 1)
    one <- more_rows(fit, parts(new, c(1, 320)))
    two <- more_rows(fit, row_source(own[new, ], y = y))
    expect_equal(one$posterior, two$posterior, tolerance = 1e-8)
    expect_equal(one$sandwich, two$sandwich, tolerance = 1e-8)
    expect_same_fit(one, more_rows(fit, own[new, ]))
    # One batch after another.
    steps <- more_rows(more_rows(fit, parts(401:600, c(1, 120))), parts(601:900, c(1, 90)))
    expect_equal(coef(steps), coef(one), tolerance = 0.02)
    expect_equal(predict(one, parts(new, c(1, 320))), predict(two, own[new, ]), tolerance = 1e-8,
      ignore_attr = TRUE)
  }
  left <- parallel::clusterEvalQ(cluster, list.files(tempdir(), "^bayeskernel-rows"))
  expect_identical(lengths(left), c(0L, 0L))
})

test_that("groups of further parts are known or new, and may be in several", {
  skip_on_cran()
  cluster <- some_cluster()
  on.exit(parallel::stopCluster(cluster))
  d <- rows_of_two(900, 13)
  d$g <- sprintf("g%02d", sample(30, 900, TRUE))
  d$g[1:400][d$g[1:400] > "g25"] <- "g01" # five groups come late
  new <- d[401:900, ]
  parts <- row_source(cluster, cut_open(new[c("a", "b", "g", "y")], c(1, 200)))
  for (formula in list(y ~ a + b + (1 | g), y ~ a + (a | g))) {
    fit <- bkm(formula, d[1:400, ], family = "logit", threads = 1)
    one <- more_rows(fit, parts)
    two <- more_rows(fit, new)
    expect_same_fit(one, two)
    of_one <- more_rows(fit, row_source(new[c("a", "b", "g", "y")], y = "y"))
    expect_equal(
      ranef(one)$g[rownames(ranef(of_one)$g), , drop = FALSE], ranef(of_one)$g, tolerance = 1e-8,
      ignore_attr = TRUE
    )
    expect_equal(
      ranef(one)$g[rownames(ranef(two)$g), , drop = FALSE], ranef(two)$g, tolerance = 1e-3,
      ignore_attr = TRUE
    )
  }
})

test_that("what a row source cannot extend is said, and a worker may die", {
  skip_on_cran()
  skip_on_os("windows")
  cluster <- some_cluster()
  on.exit(try(parallel::stopCluster(cluster), silent = TRUE))
  d <- rows_of_two(900, 14)
  own <- d[c("a", "b", "c", "y")]
  rows <- row_source(cluster, cut_open(own, c(1, 400)))
  fit <- bkm(y ~ a + b + c, own, family = "logit", threads = 1)
  expect_error(extend(fit, rows, y = d$y), "`y`", class = "bayeskernel_error_argument")
  expect_error(extend(fit, rows, weights = 1), "`weights`", class = "bayeskernel_error_argument")
  expect_error(
    extend(fit, row_source(cluster, cut_open(own[-4], c(1, 400), NULL))), "no response",
    class = "bayeskernel_error_response"
  )
  curve <- bkm(y ~ s(a), own, family = "logit", threads = 1)
  expect_error(extend(curve, rows), "smooths", class = "bayeskernel_error_argument")
  gap <- own
  gap$b[500] <- NA
  expect_error(
    extend(fit, row_source(cluster, cut_open(gap, c(1, 400)))), "gaps.*part 2",
    class = "bayeskernel_error_missing"
  )
  strange <- own
  strange$y[3] <- "perhaps"
  expect_error(
    extend(fit, row_source(cluster, cut_open(strange, c(1, 400)))), "perhaps.*part 1",
    class = "bayeskernel_error_response"
  )
  kill_in_pass(cluster, 2, 2)
  expect_error(extend(fit, rows, threads = 1), class = "bayeskernel_error_cluster")
  expect_equal(nobs(extend(fit, own, threads = 1)), 1800)
})

test_that("a row source without rows leaves a fit as it is", {
  d <- rows_of_two(60, 3)
  fit <- bkm(y ~ a + b, d, family = "logit", seed = 1, threads = 1)
  file <- tempfile(fileext = ".csv")
  on.exit(unlink(file))
  utils::write.csv(d[0, ], file, row.names = FALSE)
  expect_identical(more_rows(fit, row_source(file, y = "y")), fit)
  expect_identical(more_rows(fit, d[0, ]), fit)
})
