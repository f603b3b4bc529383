# More than two classes: a machine for each against the rest.

three <- curved_data(150, classes = 3)
three_x <- curved_matrix(three)
points <- three_x[1:15, ]

expect_binary <- function(fit, ..., method = "vb", tune = FALSE) {
  for (k in 1:3) {
    level <- levels(three$y)[k]
    one <- flat(gpsvm)(
      three_x, three$y == level, inducing = points, seed = 1, threads = 1, ..., method = method,
      tune = tune
    )
    expect_equal(fit$posterior$machines[[level]], one$posterior$machines[[1]], tolerance = 1e-6)
    expect_equal(
      predict(fit, three_x, type = "link")[, level], predict(one, three_x, type = "link"),
      tolerance = 1e-6
    )
  }
}

test_that("the machines are those of two classes", {
  for (method in c("vb", "svi", "ecm")) {
    fit <- gpsvm(
      three_x, three$y, inducing = points, seed = 1, threads = 1, method = method,
      control = list(tol = 1e-12, max_iter = 5000), tune = FALSE
    )
    expect_named(fit$posterior$machines, c("low", "mid", "high"))
    expect_binary(fit, method = method, tol = 1e-12, max_iter = 5000)
  }
  bounds <- vapply(levels(three$y), function(level) {
    last_bound(gpsvm(
      three_x, three$y == level,
      inducing = points, seed = 1, threads = 1, method = "vb", tune = FALSE
    ))
  }, 0)
  fit <- gpsvm(three_x, three$y, inducing = points, seed = 1, threads = 1,
    method = "vb", tune = FALSE)
  expect_lt(abs(last_bound(fit) - sum(bounds)), 1e-3)
})

test_that("probabilities are the machines' share, classes the largest", {
  fit <- gpsvm(three_x, three$y, inducing = points, seed = 1, threads = 1,
    method = "vb", tune = FALSE)
  new <- rbind(three_x[1:20, ], c(1e4, 1e4)) # far from every class
  for (link in c("probit", "hinge")) {
    p <- predict(fit, new, type = "prob", link = link)
    expect_equal(rowSums(p), rep(1, 21), tolerance = 1e-14)
    m <- predict(fit, new, type = "link", se.fit = TRUE)
    raw <- matrix(link_probability(m$fit, m$se.fit^2, link), 21)
    expect_equal(unname(p), raw / rowSums(raw), tolerance = 1e-12)
  }
  class <- predict(fit, new)
  expect_identical(levels(class), levels(three$y))
  expect_identical(as.integer(class), max.col(predict(fit, new, "prob"), "first"))
  expect_gt(mean(predict(fit) == three$y), 0.75)
  expect_equal(fitted(fit), predict(fit, type = "prob"))
  expect_equal(residuals(fit), 1 - fitted(fit)[cbind(1:150, as.integer(three$y))])
})

test_that("levels without rows have no machine, two that remain are two", {
  y <- factor(as.character(three$y), c("low", "none", "mid", "high"))
  fit <- gpsvm(three_x, y, inducing = points, seed = 1, threads = 1, method = "vb", tune = FALSE)
  expect_identical(fit$levels, c("low", "mid", "high"))
  expect_identical(colnames(fitted(fit)), levels(y))
  expect_equal(fitted(fit), predict(fit, type = "prob"))
  expect_equal(residuals(fit), 1 - fitted(fit)[cbind(1:150, as.integer(y))])
  two <- three$y != "mid"
  fit <- gpsvm(three_x[two, ], y[two], inducing = 10, seed = 1, threads = 1,
    method = "vb", tune = FALSE)
  expect_identical(fit$levels, c("low", "high"))
  expect_type(predict(fit, three_x, type = "link"), "double")
  p <- predict(fit, three_x, type = "prob")
  expect_identical(colnames(p), levels(y))
  expect_true(all(p[, c("none", "mid")] == 0))
})

test_that("what needs two classes says so", {
  fit <- gpsvm(three_x, three$y, inducing = 10, seed = 1, threads = 1, method = "vb", tune = FALSE)
  expect_process_refusal(predict(fit, three_x, threshold = 0.3), "argument", "two classes")
  expect_process_refusal(predict(fit, three_x, draws = TRUE), "argument", "two classes")
  expect_process_refusal(
    predict(fit, three_x, type = "link", interval = "credible"), "argument", "two classes"
  )
  expect_process_refusal(
    predict(fit, three_x, type = "prob", se.fit = TRUE), "argument", "two classes"
  )
})

test_that("draws of every machine", {
  fit <- quick_process(three_x, three$y, inducing = points)
  expect_identical(dim(fit$draws), c(40L, 2L, 45L))
  expect_identical(dimnames(fit$draws)[[3]][c(1, 16, 45)], c("u[low,1]", "u[mid,1]", "u[high,15]"))
  p <- predict(fit, three_x[1:9, ], type = "prob")
  expect_equal(rowSums(p), rep(1, 9), tolerance = 1e-12)
  low <- quick_process(three_x, three$y == "low", inducing = points)
  expect_identical(unname(fit$draws[, , 1:15]), unname(unclass(low$draws)[, , 1:15]))
})

test_that("exact, tuned and weighted machines", {
  weights <- rep(c(1, 2), 75)
  exact <- gpsvm(
    three_x[1:60, ], three$y[1:60], inducing = "all", weights = weights[1:60], threads = 1,
    method = "vb", tune = FALSE
  )
  expect_identical(dim(fitted(exact)), c(60L, 3L))
  plain <- gpsvm(three_x, three$y, inducing = points, seed = 1, threads = 1,
    method = "vb", tune = FALSE)
  tuned <- gpsvm(
    three_x, three$y, inducing = points, tune = "bound", seed = 1, threads = 1, method = "vb"
  )
  expect_gt(last_bound(tuned), last_bound(plain) + 1)
  chosen <- gpsvm(
    three_x, three$y, inducing = points, tune = "cv", seed = 1, threads = 1, method = "vb"
  )
  expect_equal(nrow(chosen$tuned$grid), 20)
})
