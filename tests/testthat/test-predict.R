# Predictions of every model by the one method: types, names of rows, random effects left out,
# intervals, new groups, memory.

d <- grouped_data()
d$z <- as.numeric(d$y == "yes") + d$x2
vb <- bsvm(y ~ x1 + x2 + (1 | g), d, threads = 1, method = "vb")
mcmc <- quick_gibbs(y ~ x1 + x2 + (1 | g), d)
process <- gpsvm(y ~ x1 + x2, d, inducing = 10, seed = 1, threads = 1, method = "vb", tune = FALSE)
process_mcmc <- quick_process(y ~ x1 + x2, d, inducing = 10, nugget = 0.2)
kernels <- quick_bark(y ~ x1 + x2, d, family = "binomial")
numbers <- quick_bark(z ~ x1 + x2, d)
classes <- list(vb, mcmc, process, process_mcmc, kernels)

test_that("every type keeps the row names of new data", {
  new <- d[1:6, ]
  rownames(new) <- letters[1:6]
  new$x1[2] <- NA
  for (fit in classes) {
    for (type in c("class", "link", "response")) {
      expect_named(predict(fit, new, type = type), letters[1:6])
    }
    expect_identical(rownames(predict(fit, new, "prob")), letters[1:6])
    se <- predict(fit, new, "link", se.fit = TRUE)
    expect_named(se$se.fit, letters[1:6])
    band <- predict(fit, new, "link", interval = "credible", seed = 1)
    expect_identical(dimnames(band), list(letters[1:6], c("fit", "lwr", "upr")))
    draws <- predict(fit, new, draws = TRUE, ndraws = 3, seed = 1)
    expect_identical(colnames(draws), letters[1:6])
  }
  expect_named(predict(numbers, new), letters[1:6])
  x <- as.matrix(new[c("x1", "x2")])
  by_matrix <- bsvm(as.matrix(d[c("x1", "x2")]), d$y, threads = 1, method = "vb")
  expect_named(predict(by_matrix, x), letters[1:6])
  # Numbers say where the rows were.
  expect_null(names(predict(vb, d[c(9, 9, 3), ], "link")))
})

test_that("the response is that of glm()", {
  for (fit in classes) {
    expect_equal(predict(fit, d, type = "response"), predict(fit, d, type = "prob")[, 2])
    expect_equal(predict(fit, type = "response"), fitted(fit))
    expect_equal(
      predict(fit, d, type = "response", se.fit = TRUE)$se.fit,
      predict(fit, d, type = "prob", se.fit = TRUE)$se.fit
    )
  }
  expect_equal(predict(numbers, d, type = "link"), predict(numbers, d))
  for (type in c("prob", "class")) {
    expect_bk_error(predict(numbers, d, type = type), "argument", "a number.*a factor")
  }
})

test_that("re.form = NA leaves the random effects out, and their groups", {
  bare <- d[1:8, c("x1", "x2")]
  x <- cbind(1, bare$x1, bare$x2)
  for (none in list(NA, ~0)) {
    out <- predict(vb, bare, "link", se.fit = TRUE, re.form = none)
    expect_equal(out$fit, drop(x %*% coef(vb)), tolerance = 1e-10)
    expect_equal(out$se.fit^2, rowSums((x %*% vcov(vb, type = "posterior")) * x), tolerance = 1e-10)
  }
  f <- as.matrix(mcmc)[, 1:3] %*% t(x)
  expect_equal(
    predict(mcmc, bare, "response", re.form = NA, link = "probit"), colMeans(pnorm(f)),
    tolerance = 1e-10, ignore_attr = TRUE
  )
  expect_equal(
    predict(mcmc, bare, draws = TRUE, re.form = NA), f, tolerance = 1e-10, ignore_attr = TRUE
  )
  slopes <- bsvm(y ~ x1 + (x2 | g), d, threads = 1, method = "vb")
  expect_equal(
    predict(slopes, d["x1"], "link", re.form = NA), drop(cbind(1, d$x1) %*% coef(slopes)),
    tolerance = 1e-10
  )
  expect_equal(predict(process, d, re.form = NA), predict(process, d))
  expect_bk_error(predict(vb, bare), "argument", "lacks column `g`.*re[.]form = \"new\"")
  error <- expect_bk_error(predict(vb, bare[1], re.form = NA), "argument", "lacks column `x2`")
  expect_identical(error$found, "x1")
  expect_bk_error(predict(vb, d, re.form = ~x), "argument", "re.form")
  # The rows of the fit, from its data.
  expect_equal(predict(vb, re.form = NA), predict(vb, d, re.form = NA))
})

test_that("re.form = \"new\" takes every group as one that is new to the fit", {
  data <- transform(grouped_data(), h = rep_len(letters[1:4], 80))
  model <- y ~ x1 + (1 + x2 | g) + (1 | h)
  fits <- list(bsvm(model, data, threads = 1, method = "vb"), quick_gibbs(model, data))
  for (fit in fits) {
    rows <- data[1:6, ]
    strange <- transform(rows, g = "strange", h = "strange")
    expected <- predict(fit, strange, "prob", se.fit = TRUE)
    ask <- function(rows) predict(fit, rows, "prob", se.fit = TRUE, re.form = "new")
    expect_equal(ask(rows), expected)
    expect_false(isTRUE(all.equal(predict(fit, rows, "prob"), expected$fit)))
    # Slopes need their variable; groups need nothing.
    bare <- rows[c("x1", "x2")]
    expect_equal(ask(bare), expected)
    expect_bk_error(ask(rows["x1"]), "argument", "x2")
    rows$g[2] <- NA
    expect_equal(ask(rows), expected)
    # Rows of one group share its effect; one that names none has its own.
    sampled <- function(rows) predict(fit, rows, draws = TRUE, re.form = "new", seed = 1)
    draws <- sampled(rows[c(1, 1), ])
    expect_identical(draws[, 1], draws[, 2])
    draws <- sampled(bare[c(1, 1), ])
    expect_lt(cor(draws[, 1], draws[, 2]), 0.999)
  }
  expect_equal(
    predict(fit, re.form = "new", type = "link"),
    predict(fit, as.data.frame(model.frame(fit)), re.form = "new", type = "link")
  )
  fit$data <- list(absent = "extended")
  fit <- stamped(fit)
  expect_bk_error(predict(fit, re.form = "new"), "argument", "newdata")
})

test_that("an interval for a row source is that of its rows", {
  x <- as.matrix(d[c("x1", "x2")])
  for (fit in list(
    gpsvm(x, d$y, inducing = 10, seed = 1, threads = 1, method = "vb", tune = FALSE),
    bsvm(x, d$y, threads = 1, method = "vb")
  )) {
    expect_equal(
      predict(fit, row_source(x), "link", interval = "credible"),
      predict(fit, x, "link", interval = "credible"), tolerance = 1e-12, ignore_attr = TRUE
    )
  }
})

test_that("an interval is normal, or has the quantiles of draws", {
  for (fit in list(vb, mcmc, process, process_mcmc)) {
    found <- predict(fit, d, "link", se.fit = TRUE)
    band <- predict(fit, d, "link", interval = "credible", level = 0.8)
    expect_equal(
      unname(band), found$fit + outer(found$se.fit, c(0, -1, 1) * qnorm(0.9)), tolerance = 1e-12
    )
  }
  for (fit in list(kernels)) {
    band <- predict(fit, d, "link", interval = "credible", seed = 4)
    f <- predict(fit, d, "link", draws = TRUE, seed = 4)
    expect_equal(
      unname(band[, -1]), unname(t(apply(f, 2, quantile, c(0.025, 0.975)))), tolerance = 1e-12
    )
    expect_equal(unname(band[, 1]), predict(fit, d, "link"), tolerance = 1e-10)
  }
})

test_that("limits of a probability are those of f through its link", {
  proper <- bkm(y ~ x1 + x2 + (1 | g), d, threads = 1)
  new <- d[1:6, ]
  new$g <- c("nobody's", as.character(new$g[-1]))
  new$x1[2] <- NA
  rownames(new) <- letters[1:6]
  for (fit in c(classes, list(proper))) {
    for (link in setdiff(links_of(fit), "calibrated")) {
      of_f <- predict(fit, new, "link", interval = "credible", seed = 3)
      of_p <- predict(fit, new, "response", link = link, interval = "credible", seed = 3)
      expect_identical(dimnames(of_p), dimnames(of_f))
      expect_equal(of_p[, -1], link_curve(of_f[, -1], link), tolerance = 1e-12)
      expect_equal(of_p[, 1], predict(fit, new, "response", link = link))
      both <- predict(fit, new, "prob", link = link, interval = "credible", seed = 3)
      expect_equal(both[, , 2], of_p, tolerance = 1e-12)
      expect_equal(both[, "upr", 1], 1 - of_p[, "lwr"], tolerance = 1e-12)
    }
    # So many draws of the probability are within them, by any link.
    link <- links_of(fit)[1]
    band <- predict(fit, d, "response", link = link, interval = "credible", level = 0.9, seed = 3)
    expect_true(all(band[, "lwr"] < band[, 1] & band[, 1] < band[, "upr"]))
    if (is.null(fit$draws)) {
      draws <- predict(fit, d, "response", link = link, draws = TRUE, ndraws = 2000, seed = 1)
      within <- t(draws) > band[, "lwr"] & t(draws) < band[, "upr"]
      expect_equal(mean(within), 0.9, tolerance = 0.02)
    }
  }
  expect_equal(
    predict(vb, type = "response", interval = "credible"),
    predict(vb, d, "response", interval = "credible"), tolerance = 1e-8
  )
  refused <- function(type) predict(proper, d, type, interval = "credible")
  expect_bk_error(refused("class"), "argument", "prob")
})

test_that("probabilities of the fit's own rows have standard errors", {
  for (fit in classes) {
    for (link in links_of(fit)) {
      own <- predict(fit, type = "prob", link = link, se.fit = TRUE)
      new <- predict(fit, d, type = "prob", link = link, se.fit = TRUE)
      expect_length(own$se.fit, 80L)
      expect_equal(own$se.fit, new$se.fit, tolerance = 1e-10)
    }
  }
})

test_that("a probability's spread for a new group has the group's variance", {
  new <- transform(d[1:6, ], g = letters[1:6])
  long <- suppressWarnings(bsvm(
    y ~ x1 + x2 + (1 | g), d, method = "gibbs", chains = 2, ndraws = 1500,
    control = list(warmup = 200, progress = FALSE), seed = 1, threads = 1
  ), classes = "bayeskernel_warning_convergence")
  for (fit in list(vb, long)) {
    for (link in c("probit", "hinge")) {
      found <- predict(fit, new, "prob", link = link, se.fit = TRUE)
      p <- predict(fit, new, "prob", link = link, draws = TRUE, ndraws = 3000, seed = 2)
      expect_lt(max(abs(found$fit[, 2] - colMeans(p))), 0.05)
      expect_lt(max(abs(found$se.fit / apply(p, 2, sd) - 1)), 0.15)
    }
  }
})

test_that("an answer larger than memory is refused before it is made", {
  withr_option <- options(bayeskernel.max_bytes = 1e4)
  on.exit(options(withr_option))
  for (fit in classes) {
    expect_bk_error(predict(fit, d[rep(1:80, 20), ], draws = TRUE), "argument", "memory")
  }
  expect_length(predict(vb, d[rep(1:80, 20), ]), 1600L)
})

test_that("rows in slices count from the start in errors", {
  new <- d[rep(1:80, 5), ]
  new$x1[301] <- Inf
  with_slices(700, expect_bk_error(predict(vb, new), "missing", "301"))
})

test_that("predictors of wild scale need no inverse of the scaling", {
  set.seed(1)
  x <- matrix(rnorm(90), 3) %*% diag(10^seq(-120, 120, length.out = 30))
  fit <- suppressWarnings(bsvm(
    x, c(0, 1, 1), method = "gibbs", chains = 1, control = list(warmup = 5, progress = FALSE),
    ndraws = 5, seed = 1, threads = 1
  ))
  expect_true(all(is.finite(predict(fit, x, type = "link"))))
  wild <- transform(d, x2 = 1e140 * x2)
  rough <- quick_gibbs(y ~ x1 + (x2 | g), wild, ndraws = 5)
  expect_true(all(is.finite(ranef(rough)$g[, 2])))
})

test_that("a logical predictor is found in rows that have it as 0 and 1", {
  d <- data.frame(x = seq(-1, 1, length.out = 20), l = rep(c(TRUE, FALSE), 10))
  d$y <- d$x + d$l + rep(c(0.1, -0.2, 0.3, 0), 5)
  fit <- bkm(y ~ x + l, d, threads = 1)
  expect_equal(predict(fit, row_source(d)), predict(fit, d), ignore_attr = TRUE)
  expect_equal(predict(fit, transform(d, l = l + 0)), predict(fit, d))
  expect_error(predict(fit, transform(d, l = 2)), class = "bayeskernel_error_argument")
})

test_that("limits of one row have no name of a column", {
  fit <- bkm(cbind(ncases, ncontrols) ~ agegp, esoph, threads = 1)
  limits <- predict(fit, esoph[1, ], type = "response", interval = "credible")
  expect_null(rownames(limits))
})

test_that("a formula as re.form is pointed to `exclude`", {
  error <- expect_bk_error(predict(vb, d, re.form = ~ (1 | g)), "argument", "re.form")
  expect_match(error$message, "exclude = \"(1 | g)\"", fixed = TRUE)
})

test_that("an interval may come with standard errors, and as draws", {
  flowers <- transform(iris[51:150, ], Species = droplevels(Species))
  new <- flowers[c(1, 60), ]
  fit <- bkm(Species ~ Sepal.Length + Sepal.Width, flowers, threads = 1)
  for (type in c("link", "response", "prob")) {
    both <- predict(fit, new, type, interval = "credible", se.fit = TRUE)
    expect_identical(both$fit, predict(fit, new, type, interval = "credible"))
    expect_identical(both$se.fit, predict(fit, new, type, se.fit = TRUE)$se.fit)
    draws <- predict(fit, new, type, interval = "credible", draws = TRUE, ndraws = 5, seed = 1)
    expect_identical(draws, predict(fit, new, type, draws = TRUE, ndraws = 5, seed = 1))
  }
  length <- bkm(Sepal.Length ~ Sepal.Width, flowers, threads = 1)
  both <- predict(length, new, interval = "prediction", se.fit = TRUE)
  expect_identical(both$fit, predict(length, new, interval = "prediction"))
  expect_identical(both$se.fit, predict(length, new, se.fit = TRUE)$se.fit)
  counts <- bkm(cbind(ncases, ncontrols) ~ agegp, esoph, threads = 1)
  expect_bk_error(predict(counts, interval = "prediction", se.fit = TRUE), "argument", "credible")
  several <- gpsvm(Species ~ Sepal.Length, iris, tune = FALSE, threads = 1)
  expect_bk_error(
    predict(several, new, type = "prob", interval = "credible"), "argument", "type = \"link\" with"
  )
})
