# The joint effect of several predictors: exposure(), its pictures, and joint draws of functions.

mixture_data <- function(n = 150, seed = 4) {
  set.seed(seed)
  d <- data.frame(
    a = rnorm(n), b = rnorm(n, 10, 3), none = runif(n),
    arm = factor(sample(c("u", "v", "w"), n, TRUE, c(0.3, 0.5, 0.2))), g = factor(rep_len(1:15, n))
  )
  f <- d$a + d$a * (d$b - 10) / 3 + (d$arm == "v") + rnorm(15)[d$g] / 2
  d$y <- 5 + f + rnorm(n) / 2
  d$two <- factor(ifelse(f + rlogis(n) / 2 > 0, "ill", "well"), c("well", "ill"))
  d$three <- cut(d$y, c(-Inf, 4.5, 6, Inf), c("low", "mid", "high"))
  d
}
d <- mixture_data()
number <- bkm(y ~ a * b + none + arm + (1 | g), d, threads = 1)
classes <- bkm(two ~ a * b + none + arm + (1 | g), d, threads = 1)
process <- suppressWarnings(gpsvm(
  two ~ a + b + none, d, inducing = 12, tune = FALSE, threads = 1, seed = 1
))
sums <- quick_bark(y ~ a + b + none, d)

typical <- function(...) {
  at <- data.frame(a = median(d$a), b = median(d$b), none = median(d$none), arm = "v", g = "1")
  given <- list(...)
  at <- at[rep(1, max(lengths(given), 1)), ]
  at[names(given)] <- given
  at
}
q_of <- function(name, p) unname(quantile(d[[name]], p))
by_hand <- function(fit, rows, ...) {
  rstantools::posterior_linpred(fit, newdata = rows, ndraws = 1000, re.form = NA, seed = 1, ...)
}
expect_of_draws <- function(table, f, level = 0.95) {
  expect_equal(table$estimate, colMeans(f))
  ends <- apply(f, 2, quantile, c(1 - level, 1 + level) / 2)
  expect_equal(table$lower, unname(ends[1, ]))
  expect_equal(table$upper, unname(ends[2, ]))
}
# Fits by quick_bark() and the like do not know where their data are.
exposed <- function(fit, ..., newdata = if ("..1" %in% all.names(fit$call)) d) {
  exposure(fit, ..., newdata = newdata, threads = 1)
}

test_that("differences are those of draws of posterior_linpred()", {
  skip_if_not_installed("rstantools")
  names <- c("a", "b", "none")
  p <- seq(0.25, 0.75, 0.05)
  rows <- do.call(typical, sapply(names, q_of, c(p, 0.5), simplify = FALSE))
  for (fit in list(number, classes)) {
    f <- by_hand(fit, rows)
    out <- exposed(fit)
    expect_s3_class(out, "bayeskernel_exposure")
    expect_identical(names(out), c("quantile", "estimate", "lower", "upper"))
    expect_equal(out$quantile, p)
    expect_of_draws(out, f[, 1:11] - f[, 12])
  }
  expect_equal(unlist(out[6, -1]), c(estimate = 0, lower = 0, upper = 0))

  change <- function(q, ends = c(0.25, 0.75)) {
    f <- by_hand(classes, typical(a = q_of("a", ends), b = q_of("b", q), none = q_of("none", q)))
    f[, 2, drop = FALSE] - f[, 1]
  }
  out <- exposed(classes, type = "single", level = 0.8)
  expect_identical(out$predictor, rep(names, each = 3))
  expect_identical(out$others, rep(c(0.25, 0.5, 0.75), 3))
  expect_of_draws(out[3, ], change(0.75), 0.8)
  # Only the chosen ones move together.
  f <- by_hand(classes, typical(a = q_of("a", c(0.1, 0.9)), b = q_of("b", 0.3)))
  out <- exposed(classes, c("b", "a"), type = "single", quantiles = 0.3, change = c(0.1, 0.9))
  expect_of_draws(out[2, ], f[, 2, drop = FALSE] - f[, 1])
  out <- exposed(classes, type = "interaction")
  expect_identical(out$predictor, names)
  expect_of_draws(out[1, ], change(0.75) - change(0.25))
  # Effects that add up: nothing but zero.
  plain <- bkm(y ~ a + b + none, d, threads = 1)
  expect_true(all(exposed(plain, type = "interaction")[-1] == 0))
})

test_that("curves and surfaces are f, or the probability", {
  skip_if_not_installed("rstantools")
  out <- exposed(classes, type = "univariate", scale = "response")
  expect_identical(unique(out$predictor), c("a", "b", "none", "arm"))
  expect_type(out$value, "character")
  p <- by_hand(classes, typical(arm = c("u", "v", "w")), transform = TRUE)
  expect_of_draws(out[out$predictor == "arm", ], p)
  out <- exposed(classes, "b", type = "univariate")
  expect_equal(range(out$value), range(d$b))
  expect_of_draws(out, by_hand(classes, typical(b = out$value)))
  out <- exposed(number, c("b", "a"), type = "bivariate")
  expect_equal(dim(out), c(900, 5))
  expect_of_draws(out, by_hand(number, typical(b = out$value1, a = out$value2)))
  out <- exposed(number, c("a", "b"), type = "slices")
  expect_equal(unique(out$value2), q_of("b", c(0.1, 0.5, 0.9)))
  expect_of_draws(out, by_hand(number, typical(a = out$value1, b = out$value2)))
  out <- exposed(number, c("a", "arm"), type = "slices")
  expect_identical(levels(out$value2), c("u", "v", "w"))
  expect_of_draws(out, by_hand(number, typical(a = out$value1, arm = out$value2)))
  # Levels have no quantiles.
  expect_true(all(is.na(out$quantile2)))
  printed <- utils::capture.output(print(out))
  expect_false(any(grepl("quantile2|NA", printed)))
  expect_true(any(grepl("value1 +value2 +estimate", printed)))
})

test_that("of a linear model it is a combination of coefficients", {
  fit <- bkm(y ~ a + b + arm, d, threads = 1)
  out <- exposed(fit, quantiles = 0.75, ndraws = 20000, level = 0.9)
  w <- c(q_of("a", 0.75), q_of("b", 0.75)) - c(q_of("a", 0.5), q_of("b", 0.5))
  names <- c("a", "b")
  mean <- sum(w * coef(fit)[names])
  sd <- sqrt(drop(w %*% vcov(fit)[names, names] %*% w))
  expect_lt(abs(out$estimate - mean), 4 * sd / sqrt(20000))
  half <- (out$upper - out$lower) / 2
  # Its tails are a little longer, by the noise's variance.
  expect_equal(half, qnorm(0.95) * sd, tolerance = 0.03)
  # A matrix makes the same model.
  x <- as.matrix(d[names])
  matrix <- exposed(bkm(x, d$y, threads = 1), quantiles = 0.75)
  formula <- exposed(bkm(y ~ a + b, d, threads = 1), quantiles = 0.75)
  expect_equal(matrix$estimate, formula$estimate, tolerance = 1e-3)
  # One without names takes columns by their place.
  unnamed <- bkm(unname(x), d$y, threads = 1)
  expect_identical(
    exposed(unnamed, type = "univariate", newdata = x), exposed(unnamed, type = "univariate")
  )
  expect_bk_error(exposed(unnamed, newdata = x[, 1]), "dimension", "columns")
  expect_bk_error(exposed(unnamed, ~x), "argument", "pars")
})

test_that("what has no effect has intervals about zero", {
  for (fit in list(number, classes, process, sums)) {
    out <- exposed(fit, type = "single", level = 0.99)
    own <- out[out$predictor == "none", ]
    expect_true(all(own$lower <= 0 & own$upper >= 0))
    a <- out[out$predictor == "a" & out$others == 0.75, ]
    expect_gt(a$lower, 0)
  }
})

test_that("processes and sums of kernels are drawn jointly", {
  rows <- new_rows(process, d[c(1, 1, 2:30), ], "none", TRUE)
  n <- length(rows$offset)
  drawn <- with_seed(2, joint_draws(process, rows, 4000L, 1L))$f
  expect_equal(dim(drawn), c(4000, n))
  expect_equal(drawn[, 1], drawn[, 2], tolerance = 1e-3)
  exact <- latent(process, rows, character(), 1L)
  z <- (colMeans(drawn) - exact$mean) / sqrt(exact$var / 4000)
  expect_lt(max(abs(z)), 5)
  expect_equal(apply(drawn, 2, var) / unname(exact$var), rep(1, n), tolerance = 0.1)
  # Few inducing points leave much open, but little between neighbours.
  near <- rbind(d[1, ], transform(d[1, ], a = a + 1e-3))
  rows <- new_rows(process, near, "none", TRUE)
  joint <- with_seed(2, joint_draws(process, rows, 500L, 1L))$f
  alone <- with_seed(2, latent_draws(process, rows, 500L))$f
  expect_lt(sd(joint[, 1] - joint[, 2]), 0.05 * sd(alone[, 1] - alone[, 2]))

  rows <- new_rows(sums, d[c(1, 1, 2:30), ], "none", TRUE)
  f <- replicate(60, joint_draws(sums, rows, 80L, 1L)$f)
  expect_equal(f[, 1, ], f[, 2, ])
  f <- matrix(aperm(f, c(1, 3, 2)), ncol = n)
  exact <- latent(sums, rows, character(), 1L)
  expect_lt(max(abs(colMeans(f) - exact$mean) / sqrt(exact$var / nrow(f))), 5)
  expect_equal(apply(f, 2, var) / unname(exact$var), rep(1, n), tolerance = 0.1)
})

test_that("joint draws have the covariance that algebra gives", {
  m <- matrix(rnorm(12), 3)
  covariance <- crossprod(m)
  root <- root_of(covariance, 1e-12)
  expect_equal(nrow(root), 3)
  expect_equal(crossprod(root), covariance)
  expect_equal(dim(root_of(matrix(0, 2, 2), 1e-12)), c(0, 2))
  # Of sums of kernels, given each draw of these, by inverses.
  rows <- new_rows(sums, d[1:4, ], "none", TRUE)
  x <- scaled_predictors(sums, rows$x)
  own <- sums$posterior$x
  core <- bark_core_draws(sums)
  last <- cumsum(core$kernels$size)
  each <- lapply(seq_along(last), function(k) {
    at <- last[k] - core$kernels$size[k] + seq_len(core$kernels$size[k])
    basis <- function(x) plain_columns(x, own, core$kernels$location[at], core$lambda[k, ])
    inverse <- core$phi[k] * crossprod(basis(own)) + diag(1 / core$kernels$variance[at], length(at))
    new <- basis(x)
    list(
      mean = drop(new %*% core$kernels$mean[at]),
      cov = if (length(at)) new %*% solve(inverse, t(new)) else matrix(0, 4, 4)
    )
  })
  size <- length(each)
  means <- t(vapply(each, `[[`, numeric(4), "mean"))
  exact <- Reduce(`+`, lapply(each, `[[`, "cov")) / size + cov(means) * (size - 1) / size
  f <- with_seed(3, do.call(rbind, lapply(1:100, function(k) joint_draws(sums, rows, NULL, 1L)$f)))
  expect_equal(cov(f), sums$transform$response[2]^2 * exact, tolerance = 0.05, ignore_attr = TRUE)
})

test_that("samplers and other models have it, too", {
  x <- as.matrix(d[c("a", "b", "none")])
  fits <- list(
    quick_bkm(two ~ a * b + arm + (1 | g), d),
    bsvm(two ~ a * b + arm + (1 | g), d, threads = 1),
    quick_mkprobit(x, d$two), quick_klr(x, d$two),
    gpsvm(two ~ a + b, d, method = "gibbs", inducing = 10, chains = 1,
      control = list(warmup = 50, progress = FALSE), ndraws = 50, tune = FALSE, threads = 1,
        seed = 1
    ) |> suppressWarnings(),
    quick_bark(two ~ a + b + arm, d, family = "binomial")
  )
  for (fit in fits) {
    out <- exposed(fit, c("a", "b"), scale = "response")
    expect_true(all(abs(out$estimate) < 1))
    expect_true(all(out$lower <= out$upper))
    expect_equal(unlist(out[6, -1], use.names = FALSE), c(0, 0, 0))
    out <- exposed(fit, c("a", "b"), type = "slices", scale = "response")
    expect_true(all(out$lower >= 0 & out$upper <= 1))
  }
  # Ordered classes have one latent function.
  ordinal <- quick_bark(factor(three, ordered = TRUE) ~ a + b, d, family = "ordinal")
  expect_equal(nrow(exposed(ordinal)), 11)
  expect_bk_error(exposed(ordinal, scale = "response"), "argument", "one func")
})

test_that("typical values, rows and seeds are what is said", {
  few <- d
  few$count <- rep_len(c(0, 0, 1, 3), nrow(few))
  few$text <- as.character(few$arm)
  fit <- bkm(y ~ a + factor(count) + text, few, penalty = "learn", threads = 1)
  out <- exposed(fit, type = "single")
  own <- out[out$predictor == "count", ]
  at <- coef(fit)[["factor(count)1"]]
  expect_equal(own$estimate, rep(at, 3), tolerance = 0.1)
  expect_identical(typical_value(c(3, 3, 1, 0)), 1)
  expect_identical(typical_value(c(TRUE, FALSE, TRUE, NA)), TRUE)
  expect_identical(typical_value(few$text), "v")
  expect_identical(typical_value(few$arm), factor("v", c("u", "v", "w")))

  # Held elsewhere.
  at_u <- exposed(number, "a", type = "univariate", at = list(arm = "u"))
  at_v <- exposed(number, "a", type = "univariate")
  shift <- at_v$estimate - at_u$estimate
  expect_equal(shift, rep(shift[1], length(shift)))
  expect_equal(shift[1], coef(number)[["armv"]], tolerance = 0.1)
  expect_identical(
    unique(exposed(number, type = "single", at = list(none = 0))$predictor), c("a", "b")
  )
  half <- d[d$a > 0, ]
  out <- exposed(number, "a", newdata = half, type = "univariate")
  expect_equal(range(out$value), range(half$a))

  expect_identical(exposed(number), exposed(number))
  expect_false(identical(exposed(number), exposed(number, seed = 2)))
  expect_equal(attr(exposed(number, ndraws = 50), "exposure")$draws, 50)
})

test_that("rows with missing predictors tell about the others", {
  holed <- d
  holed$a[1:10] <- NA
  fit <- bkm(y ~ a + b, holed, missing = "model", threads = 1)
  out <- exposed(fit, type = "univariate")
  expect_false(anyNA(out))
  expect_equal(range(out$value[out$predictor == "a"]), range(d$a[-(1:10)]))
})

test_that("a stream's function is drawn at all rows together", {
  fit <- quick_seqkr(y ~ a + b, d)
  rows <- new_rows(fit, d[c(1:5, 1), ])
  f <- with_seed(1, joint_draws(fit, rows, 20000L, 1L))$f
  expect_identical(f[, 1], f[, 6])
  each <- predict(fit, d[1:5, ], se.fit = TRUE, threads = 1)
  expect_equal(colMeans(f)[1:5], unname(each$fit), tolerance = 0.02)
  expect_equal(apply(f, 2, sd)[1:5], unname(each$se.fit), tolerance = 0.02)
  expect_s3_class(exposed(fit), "bayeskernel_exposure")
})

test_that("what cannot be is refused", {
  many <- suppressWarnings(gpsvm(three ~ a + b, d, inducing = 10, tune = FALSE, threads = 1))
  expect_bk_error(exposed(many), "argument", "no one function")
  mode <- suppressWarnings(gpsvm(
    two ~ a + b, d, method = "ecm", inducing = 10, tune = FALSE, threads = 1
  ))
  expect_bk_error(exposed(mode), "argument", "mode has no draws")
  k <- exp(-as.matrix(dist(d$a))^2)
  kernel <- gpsvm(k, d$two, kernel = precomputed(), threads = 1)
  expect_bk_error(exposed(kernel), "argument", "from a kernel")
  gone <- local({
    data <- d
    bkm(y ~ a + b, data, model = FALSE, threads = 1)
  })
  expect_bk_error(exposed(gone), "argument", "newdata")
  expect_equal(nrow(exposed(gone, newdata = d)), 11)
  expect_bk_error(exposed(number, newdata = d[0, ]), "dimension", "complete")
  expect_bk_error(exposed(number, "zz"), "argument", "not in the fit")
  expect_bk_error(exposed(number, "g"), "argument", "not in the fit")
  expect_bk_error(exposed(number, c("a", "arm")), "argument", "no numbers")
  expect_bk_error(exposed(number, c("arm", "a"), type = "slices"), "argument", "no numbers")
  expect_bk_error(exposed(number, "a", type = "bivariate"), "argument", "two pr")
  expect_bk_error(exposed(number, type = "slices"), "argument", "two pred")
  expect_bk_error(exposed(number, "a", type = "interaction"), "argument", "two")
  expect_bk_error(exposed(number, quantiles = 2), "argument", "quantiles")
  expect_bk_error(exposed(number, quantiles = 0.5, type = "interaction"), "argument", "two")
  expect_bk_error(exposed(number, quantiles = 0.5, type = "univariate"), "argument", "no quantiles")
  expect_bk_error(exposed(number, change = 0.5), "argument", "change")
  expect_bk_error(exposed(number, at = list(zz = 1)), "argument", "`at`")
  expect_bk_error(exposed(number, at = c(a = 1)), "argument", "`at`")
  expect_bk_error(exposed(number, "a", at = list(a = 1)), "argument", "not in")
  expect_bk_error(exposed(number, type = "all"), "argument", "type")
  expect_bk_error(exposed(number, scale = "odds"), "argument", "scale")
  expect_bk_error(exposed(number, levels = 0.9), "argument", "level")
  part <- as.data.frame(exposed(number))
  class(part) <- c("bayeskernel_exposure", "data.frame")
  attr(part, "exposure") <- NULL
  expect_bk_error(plot(part), "argument", "lost")
})

test_that("tables print", {
  text <- capture.output(print(exposed(number)))
  expect_match(text[1], "Change of y, all together")
  expect_true(any(grepl("95 %, 1000 draws", text)))
  expect_true(all(nchar(text) < 80))
  text <- capture.output(print(exposed(classes, type = "univariate")))
  expect_match(text[1], "The latent value along")
  expect_true(any(grepl("rows more", text)))
  expect_match(
    capture.output(print(exposed(
      classes, c("a", "b"), type = "interaction", scale = "response"
    )))[1], "probability of \"ill\""
  )
  # A part of it is a data frame.
  out <- exposed(number)
  expect_output(print(out[1:2, ]), "0.25")
})

test_that("each type has a picture", {
  draw <- function(table, ...) {
    file <- tempfile(fileext = ".png")
    on.exit(unlink(file))
    grDevices::png(file, 700, 500)
    before <- graphics::par(c("mar", "mfrow"))
    out <- plot(table, ...)
    expect_identical(graphics::par(c("mar", "mfrow")), before)
    grDevices::dev.off()
    expect_gt(file.size(file), 2000)
    expect_identical(out, table)
  }
  for (fit in list(number, classes)) {
    for (type in c("overall", "single", "univariate", "interaction")) {
      expect_no_warning(draw(exposed(fit, type = type), main = "Title"))
    }
    for (scale in c("link", "response")) {
      expect_no_warning(draw(exposed(fit, c("a", "b"), type = "bivariate", scale = scale)))
    }
    expect_no_warning(draw(exposed(fit, c("a", "b"), type = "slices")))
    expect_no_warning(draw(exposed(fit, c("a", "arm"), type = "slices")))
    expect_no_warning(draw(exposed(fit, "arm", type = "univariate")))
    expect_no_warning(draw(exposed(fit, "a", type = "single")))
  }
  # Nothing but zeros; more predictors than can be shown.
  x <- matrix(rnorm(60 * 20), 60, dimnames = list(NULL, paste0("v", 1:20)))
  wide <- bkm(x, x[, 1] + rnorm(60), threads = 1)
  for (type in c("overall", "single", "univariate", "interaction")) {
    expect_no_warning(draw(exposed(wide, type = type)))
  }
})

test_that("predictors of few values are drawn as points, as partial plots have them", {
  few <- d
  few$count <- rep_len(0:2, nrow(few))
  fit <- bkm(y ~ a + count, few, threads = 1)
  recorded <- function(code) {
    grDevices::pdf(NULL)
    on.exit(grDevices::dev.off())
    grDevices::dev.control("enable")
    force(code)
    vapply(grDevices::recordPlot()[[1]], function(call) {
      (call[[2]][[1]]$name %||% "")[[1]]
    }, "")
  }
  polygons <- function(...) sum(grepl("polygon", recorded(plot(exposure(fit, ..., threads = 1)))))
  expect_equal(polygons("count", type = "univariate"), 0)
  expect_equal(polygons("a", type = "univariate"), 1)
  expect_equal(polygons(c("count", "a"), type = "univariate"), 1)
  expect_equal(polygons(c("count", "a"), type = "slices"), 0)
  expect_true(drawn(plot(exposure(fit, c("count", "a"), type = "bivariate")))$restored)
})
