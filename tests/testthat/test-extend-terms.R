# Streams that leave their first rows: terms that follow, and warnings about those that cannot.

leaving_rows <- function(n = 300, seed = 1) {
  set.seed(seed)
  half <- n %/% 2
  d <- data.frame(
    x = c(runif(half, 0, 4), sort(runif(n - half, 4, 12))),
    g = factor(sample(letters[1:6], n, TRUE)), u = gl(2, 1, n)
  )
  d$y <- sin(d$x) + rnorm(n) / 5
  d$class <- runif(n) < plogis(4 * sin(d$x))
  d
}

follow <- function(fit, d, batch = 50, ...) {
  for (rows in split(seq_len(nrow(d)), (seq_len(nrow(d)) - 1) %/% batch)) {
    fit <- extend(fit, d[rows, ], threads = 1, ...)
  }
  fit
}

test_that("the roughness of a curve is the integral of its squared bend", {
  d <- leaving_rows(100)[1:50, ]
  fit <- bkm(y ~ s(x, bs = "cr", k = 7), d, family = "gaussian", threads = 1)
  smooth <- fit$design$smooths[[1]]
  unit <- curve_roughness(smooth)
  set.seed(2)
  b <- rnorm(length(smooth$block)) * (smooth$block > 0)
  knots <- smooth$basis$xp
  spline <- stats::splinefun(
    knots, drop(smooth_at(smooth, list(knots), length(knots)) %*% b), method = "natural"
  )
  parts <- vapply(seq_along(knots)[-1], function(k) {
    stats::integrate(function(x) spline(x, deriv = 2)^2, knots[k - 1], knots[k])$value
  }, 0)
  expect_equal(unit * sum(b^2), sum(parts), tolerance = 1e-3)
  other <- function(bs) {
    fit <- bkm(
      stats::as.formula(sprintf("y ~ s(x, bs = \"%s\")", bs)), d, family = "gaussian", threads = 1
    )
    curve_roughness(fit$design$smooths[[1]])
  }
  expect_null(other("cc"))
  expect_null(other("ps"))
  expect_gt(other("tp"), 0)
})

test_that("beyond its range a curve is integrated white noise", {
  smooth <- list(more = list(
    unit = 1.7, from = c(0, seq(4, 5.9, 0.1)), to = c(-1, seq(4.1, 6, 0.1))
  ))
  at <- c(4.5, 5.2, 6, 7)
  columns <- interval_columns(smooth, at)
  expected <- outer(at, at, Vectorize(function(x, y) {
    1.7 * stats::integrate(function(s) (x - s) * (y - s), 4, min(x, y, 6))$value
  }))
  expect_equal(tcrossprod(columns), expected, tolerance = 0.01)
  inside <- interval_columns(smooth, c(0, 2, 4))
  expect_identical(rowSums(abs(inside)), numeric(3))
  # One interval below 0, of width 1: f'' is constant there, a line follows.
  below <- interval_columns(smooth, c(-0.5, -1, -2))[, 1]
  expect_equal(below, sqrt(1.7) * c(0.125, 0.5, 1.5))
})

test_that("rows that say nothing leave what is known, whatever they open", {
  d <- leaving_rows(200)
  first <- d$x < 4
  at <- data.frame(x = seq(0.1, 3.9, 0.2), g = "b", u = gl(2, 1, 20))
  for (formula in list(
    class ~ s(x) + (1 | g), class ~ s(x, by = u) + u + (1 | g),
    class ~ gp(x, inducing = 20) + (1 | g)
  )) {
    fit <- bkm(formula, d[first, ], threads = 1)
    # Few groups hardly tell their variance.
    nothing <- function(rows) {
      suppressWarnings(
        extend(fit, rows, weights = numeric(nrow(rows)), threads = 1),
        classes = "bayeskernel_warning_identification"
      )
    }
    same <- nothing(d[first, ][1:5, ])
    more <- nothing(d[!first, ])
    expect_gt(length(more$posterior$theta_mean), length(same$posterior$theta_mean))
    for (interval in c("link", "prob")) {
      expect_equal(
        predict(more, at, type = interval), predict(same, at, type = interval), tolerance = 1e-5
      )
    }
    expect_equal(ranef(more), ranef(same), tolerance = 1e-5)
    expect_equal(coef(more)[names(coef(fit))], coef(same)[names(coef(fit))], tolerance = 1e-5)
  }
})

test_that("a process that follows has its prior where no row has been", {
  d <- leaving_rows(100)[1:50, ]
  fit <- bkm(class ~ gp(x, kernel = rbf(0.5)), d, threads = 1)
  far <- data.frame(x = c(20, 20.3, 30), class = TRUE)
  more <- extend(fit, far, weights = numeric(3), threads = 1)
  smooth <- more$design$smooths[[1]]
  k <- smooth$at
  columns <- process_columns(smooth$process, cbind(x = far$x), NULL)
  prior <- component_mean(more$posterior$variance[[1]])
  own <- utils::tail(seq_along(k), 3)
  # Apart from what the mean over the first rows takes away.
  scaled <- far$x / smooth$process$scale
  expect_equal(
    prior * tcrossprod(columns$x[, own]) + prior * diag(columns$open),
    prior * exp(-outer(scaled, scaled, "-")^2 / (2 * 0.5^2)), tolerance = 0.05
  )
})

test_that("curves and processes follow a stream to where it goes", {
  d <- leaving_rows()
  grid <- data.frame(x = seq(0, 12, 0.1))
  truth <- sin(grid$x)
  for (formula in list(y ~ s(x), y ~ s(x, bs = "cr"), y ~ gp(x))) {
    fit <- bkm(formula, d[1:150, ], family = "gaussian", threads = 1)
    expect_silent(fit <- follow(fit, d[151:300, ]))
    limits <- predict(fit, grid, interval = "credible", level = 0.95)
    expect_lt(sqrt(mean((limits[, 1] - truth)^2)), 0.06)
    expect_gt(mean(limits[, 2] < truth & limits[, 3] > truth), 0.85)
    expect_equal(fit$smooths[[1]]$ranges[[1]][2], max(d$x[
      if (deparse(formula) == "y ~ gp(x)") 1:150 else 1:300
    ]))
    file <- tempfile()
    saveRDS(fit, file)
    expect_identical(predict(readRDS(file), grid), predict(fit, grid))
    unlink(file)
    parts <- predict(fit, grid, type = "terms")
    expect_equal(
      unname(rowSums(parts) + attr(parts, "constant")), unname(predict(fit, grid)), tolerance = 1e-8
    )
  }
  fit <- bkm(class ~ gp(x), d[1:150, ], threads = 1)
  fit <- follow(fit, d[151:300, ])
  expect_gt(mean((predict(fit, grid) == "TRUE") == (truth > 0)), 0.95)
})

test_that("terms that cannot follow say how many rows are outside", {
  d <- leaving_rows()
  d$z <- rnorm(300)
  for (formula in list(y ~ s(x, bs = "ps"), y ~ t2(x, z, k = 4))) {
    fit <- bkm(formula, d[1:150, ], family = "gaussian", threads = 1)
    e <- expect_warning(
      extend(fit, d[151:300, ], threads = 1), "Found: 9[0-9] %",
      class = "bayeskernel_warning_outside"
    )
    expect_true(all(nchar(strsplit(conditionMessage(e), "\n")[[1]]) < 82))
    inside <- d[151:300, ]
    inside$x <- runif(150, 0, 4)
    inside$y <- sin(inside$x) + rnorm(150) / 5
    expect_silent(extend(fit, inside, threads = 1))
  }
})

test_that("later rows on another scale are said, once", {
  set.seed(4)
  d <- data.frame(x = rnorm(100))
  d$y <- d$x + rnorm(100)
  later <- function(shift, scale, n = 12) {
    out <- data.frame(x = shift + scale * rnorm(n))
    out$y <- out$x
    out
  }
  fits <- list(
    bkm(y ~ x, d, family = "gaussian", threads = 1),
    bsvm(I(y > 0) ~ x, d, method = "ep", threads = 1),
    seqkr(y ~ x, d, kernel = rbf(1), particles = 20, threads = 1, seed = 1)
  )
  for (fit in fits) {
    for (batch in list(later(0, 1), later(3, 1), later(0, 0.05))) {
      expect_silent(suppressWarnings(
        extend(fit, batch, threads = 1), classes = "bayeskernel_warning_convergence"
      ))
    }
    for (batch in list(later(8, 1), later(0, 9), later(0, 0.05, 60))) {
      expect_warning(
        moved <- suppressWarnings(
          extend(fit, batch, threads = 1), classes = "bayeskernel_warning_convergence"
        ),
        "`[xy]` on another scale",
        class = "bayeskernel_warning_outside"
      )
    }
    expect_silent(suppressWarnings(
      extend(moved, later(0, 0.05, 60), threads = 1), classes = "bayeskernel_warning_convergence"
    ))
  }
})

test_that("a reservoir holds each row with one probability, in any batches", {
  x <- cbind(x = seq_len(4000))
  y <- -seq_len(4000)
  whole <- add_to_reservoir(NULL, x, y, 0, 5)
  expect_identical(dim(whole$x), c(500L, 1L))
  expect_identical(anyDuplicated(whole$x), 0L)
  expect_equal(whole$y, -whole$x[, 1])
  parts <- NULL
  for (rows in split(1:4000, rep(1:5, c(3, 600, 1, 1396, 2000)))) {
    parts <- add_to_reservoir(parts, x[rows, , drop = FALSE], y[rows], rows[1] - 1, 5)
  }
  expect_identical(parts, whole)
  # Hypergeometric: 500 of 4000, each quarter 125 times, sd 9.1.
  counts <- tabulate(ceiling(whole$x / 1000), 4)
  expect_lt(max(abs(counts - 125)), 4.5 * 9.1)
})

test_that("particles that are tuned anew go where their stream is", {
  d <- leaving_rows(240)
  fit <- seqkr(y ~ x, d[1:120, ],
    particles = 50, control = list(grid_max = 40), threads = 1, seed = 1, tune = FALSE
  )
  expect_warning(
    expect_warning(
      stays <- extend(fit, d[121:240, ], threads = 1), "candidates",
      class = "bayeskernel_warning_outside"
    ), "another scale"
  )
  follows <- extend(fit, d[121:240, ], retune = TRUE, threads = 1)
  grid <- data.frame(x = seq(0, 12, 0.1))
  error <- function(fit) sqrt(mean((predict(fit, grid) - sin(grid$x))^2))
  expect_gt(error(stays), 2 * error(follows))
  expect_lt(error(follows), 0.12)
  expect_identical(follows$log_evidence, stays$log_evidence)
  expect_identical(nobs(follows), 240L)
  expect_equal(unname(follows$transform$center), mean(d$x))
  expect_match(capture.output(print(summary(follows))), "after row 240", all = FALSE)
  expect_identical(extend(stays, d[0, ], retune = TRUE)$posterior, follows$posterior)
  classes <- seqkr(class ~ x, d[1:100, ],
    family = "binomial", particles = 20, threads = 1, seed = 1, tune = FALSE
  )
  suppressWarnings(
    classes <- extend(classes, d[101:130, ], retune = TRUE, threads = 1),
    classes = "bayeskernel_warning_convergence"
  )
  expect_identical(classes$retuned$rows, 130L)
  # Columns of a kernel that are given by number, one column constant.
  x <- cbind(one = 1, a = d$x, b = rnorm(240))
  suppressWarnings(fit <- seqkr(x[1:100, ], d$y[1:100],
    kernel = rbf(columns = 2), particles = 20, threads = 1, seed = 1,
    tune = FALSE
  ))
  by_number <- extend(fit, x[101:120, ], d$y[101:120], retune = TRUE, threads = 1)
  expect_identical(by_number$kernel$columns, fit$kernel$columns)
  expect_gt(stats::cor(predict(by_number, x[1:120, ]), d$y[1:120]), 0.8)
  old <- fit
  old$reservoir <- old$stamp <- NULL
  expect_error(
    extend(old, x[121:140, ], d$y[121:140], retune = TRUE), "earlier version",
    class = "bayeskernel_error_argument"
  )
})

test_that("rows of one level are on no other scale", {
  set.seed(5)
  d <- data.frame(f = factor(rep(c("a", "b"), c(98, 2))), y = rnorm(100))
  fit <- bkm(y ~ f, d, family = "gaussian", threads = 1)
  expect_silent(extend(fit, d[rep(99, 60), ], threads = 1))
})

# Cover of 90 % limits was .11 and .14, in silence.
test_that("rows far from what the fit predicts are said, once, and others are not", {
  told <- function(fit, d) {
    said <- character()
    withCallingHandlers(follow(fit, d, 25), bayeskernel_warning_outside = function(w) {
      said <<- c(said, conditionMessage(w))
      invokeRestart("muffleWarning")
    })
    said
  }
  set.seed(1)
  d <- data.frame(x = runif(150, 0, 4))
  d$y <- d$x + rnorm(150) / 5
  process <- bkm(y ~ gp(x), d[1:100, ], threads = 1)
  particles <- quick_seqkr(y ~ x, d[1:100, ])
  expect_length(told(process, d[101:150, ]), 0L)
  expect_length(told(particles, d[101:150, ]), 0L)
  step <- transform(d, y = y + ifelse(x > 2, 3, 0))[101:150, ]
  for (fit in list(process, particles)) {
    said <- told(fit, step)
    expect_length(said, 1L)
    expect_match(said, "far from their predictions.*more than 3 standard deviations")
  }
})

test_that("first rows outside of the candidates are said", {
  d <- leaving_rows(200)
  outside <- "bayeskernel_warning_outside"
  expect_warning(
    fit <- quick_seqkr(y ~ x, d, order = "given", grid_max = 60), "range of `candidates`",
    class = outside
  )
  expect_no_warning(extend(fit, d[101:200, ], threads = 1), class = outside)
  expect_no_warning(quick_seqkr(y ~ x, d, grid_max = 60), class = outside)
})
