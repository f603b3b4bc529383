d <- grouped_data()
fit <- bsvm(y ~ x1 + x2 + (1 | g), d, threads = 1, method = "vb")
slope <- bsvm(y ~ x1 + x2 + (x1 | g), d, threads = 1, method = "vb")
sampled <- quick_gibbs(y ~ x1 + x2 + (1 | g), d)

test_that("moments of known groups are those of the core", {
  crossed <- transform(d, h = gl(4, 1, 80))
  fits <- list(
    fit, slope, bsvm(y ~ x1 + x2 + (x1 || g) + (1 | h), crossed, threads = 1, method = "vb"),
    bsvm(as.matrix(d[c("x1", "x2")]), d$y, threads = 1, method = "vb")
  )
  for (object in fits) {
    out <- predict(object, crossed, type = "link", se.fit = TRUE)
    expect_equal(out$fit, object$fitted$mean, tolerance = 1e-10)
    expect_equal(out$se.fit^2, object$fitted$var, tolerance = 1e-10)
  }
})

test_that("moments of a wide fit are those of the core and of vcov()", {
  set.seed(2)
  x <- matrix(rnorm(20 * 50, 3), 20)
  wide <- bsvm(x, rep(0:1, 10), threads = 1, method = "vb")
  expect_false(is.null(wide$posterior$wide))
  out <- predict(wide, x, type = "link", se.fit = TRUE)
  expect_equal(out$fit, wide$fitted$mean, tolerance = 1e-10)
  expect_equal(out$se.fit^2, wide$fitted$var, tolerance = 1e-10)
  new <- cbind(1, matrix(rnorm(150), 3))
  out <- predict(wide, new[, -1], type = "link", se.fit = TRUE)
  expect_equal(out$fit, drop(new %*% coef(wide)), tolerance = 1e-10)
  expect_equal(
    out$se.fit^2, rowSums((new %*% vcov(wide, type = "posterior")) * new), tolerance = 1e-10
  )
})

test_that("an unseen group adds the mean of its variance, and no mean", {
  new <- transform(d[1:5, ], g = "unseen")
  x <- cbind(1, new$x1, new$x2)
  for (object in list(fit, slope)) {
    q <- object$posterior$variance[[1]]
    z <- if (q$type == "iid") x[, 1, drop = FALSE] else x[, 1:2]
    mean <- if (q$type == "iid") {
      matrix(q$rate / (q$shape - 1))
    } else {
      map <- object$transform$random[[1]]
      map %*% q$scale %*% t(map) / (q$df - 3)
    }
    out <- predict(object, new, type = "link", se.fit = TRUE)
    expect_equal(out$fit, drop(x %*% coef(object)), tolerance = 1e-10)
    expect_equal(
      out$se.fit^2,
      rowSums((x %*% vcov(object, type = "posterior")) * x) + rowSums((z %*% mean) * z),
      tolerance = 1e-10
    )
  }
})

test_that("the draw's own variance is integrated out for an unseen group", {
  new <- transform(d[1:3, ], g = "unseen")
  draws <- as.matrix(sampled)
  f <- draws[, 1:3] %*% t(cbind(1, new$x1, new$x2))
  v <- draws[, "Sigma[g:(Intercept),(Intercept)]"]
  expect_equal(
    predict(sampled, new, type = "prob", link = "probit")[, "yes"],
    colMeans(pnorm(f / sqrt(1 + v))), tolerance = 1e-12, ignore_attr = TRUE
  )
  out <- predict(sampled, new, type = "link", se.fit = TRUE)
  expect_equal(out$fit, colMeans(f), tolerance = 1e-10, ignore_attr = TRUE)
  expect_equal(out$se.fit^2, apply(f, 2, var) + mean(v), tolerance = 1e-10, ignore_attr = TRUE)
})

test_that("Gibbs probabilities are means over the draws, by either link", {
  draws <- as.matrix(sampled)
  u <- draws[, sprintf("b[(Intercept) g:%s]", d$g)]
  f <- draws[, 1:3] %*% t(cbind(1, d$x1, d$x2)) + u
  g <- plogis(2 * (pmax(1 + f, 0) - pmax(1 - f, 0)))
  expect_equal(
    unname(predict(sampled, type = "response", link = "probit")), unname(colMeans(pnorm(f))),
    tolerance = 1e-12
  )
  expect_equal(
    predict(sampled, d, type = "prob", link = "hinge")[, 2], unname(colMeans(g)), tolerance = 1e-12
  )
  se <- predict(sampled, d, type = "prob", link = "probit", se.fit = TRUE)$se.fit
  expect_equal(se, unname(apply(pnorm(f), 2, sd)), tolerance = 1e-10)
})

test_that("VB probabilities and their sd are integrals over q", {
  out <- predict(fit, d[1:3, ], type = "prob", link = "probit", se.fit = TRUE)
  m <- fit$fitted$mean[1:3]
  s <- sqrt(fit$fitted$var[1:3])
  moment <- function(i, k) {
    integrate(
      function(f) pnorm(f)^k * dnorm(f, m[i], s[i]), m[i] - 10 * s[i], m[i] + 10 * s[i],
      rel.tol = 1e-10
    )$value
  }
  first <- vapply(1:3, moment, 0, k = 1)
  second <- vapply(1:3, moment, 0, k = 2)
  expect_equal(out$fit[, "yes"], first, tolerance = 1e-8)
  expect_equal(out$se.fit, sqrt(second - first^2), tolerance = 1e-6)
})

test_that("draws from q have the moments of the prediction", {
  new <- rbind(d[c(1, 2), ], transform(d[3:5, ], g = c("a", "a", "b")))
  for (object in list(fit, slope)) {
    out <- predict(object, new, type = "link", se.fit = TRUE)
    f <- predict(object, new, draws = TRUE, ndraws = 20000, seed = 1)
    expect_equal(dim(f), c(20000L, 5L))
    # Three standard errors of the mean are 0.02 sd.
    expect_lt(max(abs(colMeans(f) - out$fit) / out$se.fit), 0.03)
    expect_equal(apply(f, 2, sd), out$se.fit, tolerance = 0.05)
  }
})

test_that("rows of one unseen group share its simulated effect", {
  new <- d[c(1, 1, 1), ]
  new$g <- c("a", "a", "b")
  for (object in list(fit, sampled)) {
    f <- predict(object, new, draws = TRUE, ndraws = 80, seed = 1)
    expect_equal(f[, 1], f[, 2])
    expect_gt(sd(f[, 1] - f[, 3]), 0.1)
  }
})

test_that("draws of the sampler are its own, in order", {
  f <- predict(sampled, d[1:2, ], draws = TRUE)
  draws <- as.matrix(sampled)
  u <- draws[, sprintf("b[(Intercept) g:%s]", d$g[1:2])]
  expect_equal(
    f, draws[, 1:3] %*% t(cbind(1, d$x1, d$x2)[1:2, ]) + u, tolerance = 1e-12, ignore_attr = TRUE
  )
  expect_equal(predict(sampled, d[1:2, ], type = "prob", link = "probit", draws = TRUE), pnorm(f))
  few <- predict(sampled, d[1:2, ], draws = TRUE, ndraws = 10)
  expect_equal(few, f[round(seq(1, 80, length.out = 10)), ])
})

test_that("a sampler without random effects treats every group as unseen", {
  bare <- quick_gibbs(y ~ x1 + x2 + (1 | g), d, keep_ranef = FALSE)
  expect_equal(
    predict(bare, d[1:3, ], type = "prob"),
    predict(bare, transform(d[1:3, ], g = "unseen"), type = "prob")
  )
  expect_equal(fitted(bare), predict(bare, d, type = "prob")[, 2])
  expect_bk_error(ranef(bare), "argument", "keep_ranef")
})

test_that("a threshold moves the class, prevalence is the weighted share", {
  p <- fitted(fit)
  labels <- function(cut) factor(ifelse(p >= cut, "yes", "no"), c("no", "yes"))
  expect_equal(predict(fit, d), labels(0.5))
  expect_equal(predict(fit, d, threshold = 0.8), labels(0.8))
  expect_equal(predict(fit, threshold = 0.8), labels(0.8))
  d$w <- ifelse(d$y == "yes", 3, 1)
  weighted <- bsvm(y ~ x1, d, weights = w, threads = 1, method = "vb")
  share <- sum(d$w[d$y == "yes"]) / sum(d$w)
  expect_equal(
    predict(weighted, d, threshold = "prevalence"), predict(weighted, d, threshold = share)
  )
})

test_that("an offset of new rows is added", {
  d$known <- rnorm(80)
  with_offset <- bsvm(y ~ x1 + offset(known), d, threads = 1, method = "vb")
  base <- predict(with_offset, transform(d, known = 0), type = "link")
  expect_equal(predict(with_offset, d, type = "link"), base + d$known)
})

test_that("arguments that do not go together are refused", {
  expect_bk_error(predict(fit, d, se.fit = TRUE), "argument", "no standard")
  expect_bk_error(predict(fit, d, draws = TRUE, ndraws = 0), "argument", "ndraws")
  expect_bk_error(predict(fit, d, "class", draws = TRUE), "argument", "Draws")
  expect_bk_error(predict(fit, d, "link", draws = TRUE, se.fit = TRUE), "argument")
  expect_bk_error(predict(fit, d, "prob", threshold = 0.2), "argument")
  expect_bk_error(predict(fit, d, threshold = 2), "argument", "threshold")
  expect_bk_error(predict(fit, d, threshold = "mean"), "argument", "prevalence")
  lean <- update(fit, model = FALSE)
  lean$stamp <- NULL
  lean$data$digest[] <- "another"
  expect_bk_error(predict(lean, draws = TRUE), "argument", "newdata")
  expect_bk_error(predict(fit, d, tpye = "prob"), "argument", "tpye")
  old <- sampled
  old$fitted <- old$fitted[c("mean", "var", "probit", "hinge")]
  old$stamp <- NULL
  expect_bk_error(
    predict(old, type = "prob", link = "probit", se.fit = TRUE), "argument", "newdata"
  )
})

test_that("rows in slices give what all rows at once give", {
  rows <- row_slices(10, slice_size / 4)
  expect_equal(rows, list(1:4, 5:8, 9:10))
  expect_equal(row_slices(0, 5), list(integer()))
  answers <- function(object) {
    list(
      predict(object, d, type = "link", se.fit = TRUE),
      predict(object, d, type = "prob"), predict(object, d)
    )
  }
  for (object in list(slope, sampled)) {
    whole <- answers(object)
    parts <- with_slices(200, answers(object))
    expect_equal(parts, whole, tolerance = 1e-12)
  }
})
