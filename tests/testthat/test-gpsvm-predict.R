# Predictions of the nonlinear machine: links, intervals, draws, holes.

d <- curved_data(150)
x <- curved_matrix(d)
new <- curved_matrix(curved_data(40, seed = 9))

vb <- gpsvm(x, d$y, inducing = 15, nugget = 0.2, seed = 1, threads = 1, method = "vb", tune = FALSE)
mcmc <- quick_process(x, d$y, inducing = 15, nugget = 0.2, ndraws = 500)
mode <- gpsvm(x, d$y, inducing = 15, method = "ecm", seed = 1, threads = 1, tune = FALSE)

test_that("the moments are those of the formulas, nugget included", {
  machine <- vb$posterior$machines[[1]]
  z <- scale(new, vb$transform$center, vb$transform$scale)
  k <- plain_kernels(vb$kernel, z, t(vb$posterior$z), 0.2)
  phi <- t(forwardsolve(t(chol(k$k_mm)), t(k$k_nm)))
  var <- k$k_nn - rowSums(phi^2) + rowSums((phi %*% t(machine$whitener))^2)
  found <- predict(vb, new, type = "link", se.fit = TRUE)
  expect_equal(found$fit, drop(phi %*% machine$mean), tolerance = 1e-10)
  expect_equal(found$se.fit^2, var, tolerance = 1e-8, ignore_attr = TRUE)
})

test_that("links turn moments into probabilities", {
  m <- predict(vb, new, type = "link", se.fit = TRUE)
  expect_equal(
    predict(vb, new, type = "prob", link = "probit")[, 2], pnorm(m$fit / sqrt(1 + m$se.fit^2)),
    tolerance = 1e-12
  )
  hinge <- vapply(1:40, function(i) {
    s <- m$se.fit[i]
    stats::integrate(function(f) {
      stats::plogis(2 * (pmax(1 + f, 0) - pmax(1 - f, 0))) * stats::dnorm(f, m$fit[i], s)
    }, m$fit[i] - 8 * s, m$fit[i] + 8 * s, rel.tol = 1e-9)$value
  }, 0)
  expect_equal(predict(vb, new, type = "prob", link = "hinge")[, 2], hinge, tolerance = 1e-4)
  expect_lt(log_loss(d$y, predict(vb, x, type = "prob")), log(2))
})

test_that("probabilities of a sampler are averages over its draws", {
  f <- predict(mcmc, new, draws = TRUE, seed = 3)
  expect_identical(dim(f), c(1000L, 40L))
  p <- predict(mcmc, new, type = "prob", link = "probit", se.fit = TRUE)
  q <- predict(mcmc, new, "prob", link = "probit", draws = TRUE, seed = 3)
  expect_identical(q, pnorm(f))
  # Draws have noise of their own where the average has its expectation.
  expect_lt(max(abs(p$fit[, 2] - colMeans(q))), 0.06)
  m <- predict(mcmc, new, type = "link", se.fit = TRUE)
  expect_lt(max(abs(m$fit - colMeans(f)) / m$se.fit), 0.15)
  expect_lt(max(abs(m$se.fit / apply(f, 2, sd) - 1)), 0.15)
  expect_true(all(p$se.fit > 0 & p$se.fit < 0.5))
})

test_that("draws, intervals and standard deviations of q agree", {
  for (fit in list(vb, mode)) {
    m <- predict(fit, new, type = "link", se.fit = TRUE)
    f <- predict(fit, new, draws = TRUE, ndraws = 4000, seed = 3)
    expect_lt(max(abs(m$fit - colMeans(f)) / m$se.fit), 0.09)
    expect_lt(max(abs(m$se.fit / apply(f, 2, sd) - 1)), 0.07)
    band <- predict(fit, new, type = "link", interval = "credible", level = 0.8)
    expect_identical(colnames(band), c("fit", "lwr", "upr"))
    expect_equal(band[, "fit"], m$fit)
    expect_equal(band[, "upr"] - band[, "fit"], qnorm(0.9) * m$se.fit)
    inside <- f > rep(band[, "lwr"], each = 4000) & f < rep(band[, "upr"], each = 4000)
    expect_lt(abs(mean(inside) - 0.8), 0.01)
    p <- predict(fit, new, "prob", draws = TRUE, ndraws = 4000, seed = 3)
    sd <- predict(fit, new, type = "prob", se.fit = TRUE)$se.fit
    expect_lt(max(abs(sd - apply(p, 2, stats::sd))), 0.01)
  }
})

test_that("thresholds choose the class", {
  p <- predict(vb, new, type = "prob")[, 2]
  for (threshold in c(0, 0.2, 0.9, 1)) {
    expect_identical(predict(vb, new, threshold = threshold) == "out", p >= threshold)
  }
  expect_identical(predict(vb, new, threshold = "prevalence") == "out", p >= mean(d$y == "out"))
  expect_process_refusal(predict(vb, new, threshold = 2), "argument", "threshold")
})

test_that("one row, many rows, rows in parts", {
  whole <- predict(vb, new, type = "link", se.fit = TRUE)
  for (fit in list(vb, mcmc, mode)) {
    whole <- predict(fit, new, type = "link", se.fit = TRUE)
    for (rows in list(1, 40:1, c(3, 3))) {
      part <- predict(fit, new[rows, , drop = FALSE], type = "link", se.fit = TRUE)
      expect_equal(part$fit, whole$fit[rows], tolerance = 1e-12)
      expect_equal(part$se.fit, whole$se.fit[rows], tolerance = 1e-12)
    }
  }
  large <- new[rep(1:40, 500), ]
  expect_equal(
    predict(vb, large, type = "link", threads = 2), rep(predict(vb, new, type = "link"), 500),
    tolerance = 1e-12
  )
})

test_that("far from every point the process is its prior", {
  far <- rbind(c(1e5, 0), c(0, -1e5))
  found <- predict(vb, far, type = "link", se.fit = TRUE)
  expect_equal(found$fit, c(0, 0), tolerance = 1e-12)
  expect_equal(found$se.fit, rep(sqrt(1.2), 2), tolerance = 1e-8)
})

test_that("omitted rows count as the user's na.action says", {
  holed <- d
  holed$x1[c(4, 9)] <- NA
  for (action in list(na.omit, na.exclude)) {
    fit <- gpsvm(
      y ~ x1 + x2, holed, inducing = 10, na.action = action, seed = 1, threads = 1, method = "vb",
      tune = FALSE
    )
    expect_equal(nobs(fit), 148)
    kept <- predict(fit, holed, type = "link")
    expect_identical(which(is.na(kept)), c(4L, 9L))
    expected <- if (identical(action, na.omit)) kept[-c(4, 9)] else kept
    expect_equal(predict(fit, type = "link"), expected)
    expect_length(residuals(fit), length(expected))
    expect_length(weights(fit), length(expected))
  }
})

test_that("factors and transformed predictors are rebuilt", {
  d$g <- gl(3, 50, labels = c("a", "b", "c"))
  fit <- gpsvm(y ~ log(x1) + g, d, inducing = 10, seed = 1, threads = 1,
    method = "vb", tune = FALSE)
  expect_identical(fit$columns, c("log(x1)", "ga", "gb", "gc"))
  expect_equal(predict(fit, d[51:60, ], "link"), predict(fit, type = "link")[51:60])
  one <- transform(d[60, ], g = "c")
  expect_equal(
    predict(fit, one, type = "link"),
    predict(fit, transform(d[60, ], g = factor("c", c("c", "a"))), type = "link")
  )
})

test_that("a source of new rows, with holes", {
  source <- new
  source[3, 2] <- NA
  for (fit in list(vb, mcmc)) {
    found <- predict(fit, row_source(source), type = "link", se.fit = TRUE)
    expect_identical(which(is.na(found$fit)), 3L)
    whole <- predict(fit, new, type = "link", se.fit = TRUE)
    expect_equal(found$fit[-3], whole$fit[-3], tolerance = 1e-12)
    expect_equal(
      predict(fit, row_source(new), type = "prob"), predict(fit, new, type = "prob"),
      tolerance = 1e-12
    )
    expect_identical(
      predict(fit, row_source(new), draws = TRUE, ndraws = 5, seed = 1),
      predict(fit, new, draws = TRUE, ndraws = 5, seed = 1)
    )
    expect_identical(predict(fit, row_source(new)), predict(fit, new))
  }
})
