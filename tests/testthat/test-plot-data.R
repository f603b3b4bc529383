test_that("plot_data() is what plot() draws, for every type of every kind of fit", {
  two <- droplevels(iris[51:150, ])
  two$g <- factor(rep(1:10, 10))
  fits <- list(
    bkm(Sepal.Length ~ Petal.Length + (1 | g), two, threads = 1),
    bsvm(Species ~ Petal.Length + Sepal.Width, two, method = "vb", threads = 1),
    gpsvm(Species ~ Petal.Length + Sepal.Width, two, kernel = rbf(1), tune = FALSE, threads = 1)
  )
  pdf(NULL)
  on.exit(dev.off())
  for (fit in fits) {
    known <- pictures(fit)
    for (type in names(Filter(function(p) is.null(p$reason) && is.null(p$needs), known))) {
      data <- plot_data(fit, type, threads = 1)
      expect_s3_class(data, "data.frame")
      expect_identical(plot(fit, type, threads = 1), data)
    }
    expect_true(all(vapply(known, function(p) is.function(p$data) && is.function(p$gg), NA)))
  }
  expect_bk_error(plot_data(fits[[1]], "boundary"), "argument")
  expect_bk_error(plot_data(fits[[1]], "coef", colour = 2), "argument")
})

test_that("residuals are standardized, quantiles are those of R", {
  two <- iris[51:150, ]
  fit <- bkm(Sepal.Length ~ Petal.Length, two, threads = 1)
  peer <- lm(Sepal.Length ~ Petal.Length, two)
  data <- plot_data(fit, "residuals")
  expect_equal(data$residual, residuals(peer), tolerance = 0.02, ignore_attr = TRUE)
  new_sd <- sqrt(sigma(peer)^2 * (1 + hatvalues(peer)))
  expect_equal(data$standardized, residuals(peer) / new_sd, tolerance = 0.03, ignore_attr = TRUE)
  qq <- plot_data(fit, "qq")
  expect_equal(qq$normal, sort(qqnorm(data$standardized, plot.it = FALSE)$x))
  density <- plot_data(fit, "predictive")
  width <- diff(density$value[1:2])
  area <- tapply(density$density, density$set, sum) * width
  expect_equal(as.vector(area), rep(1, 21), tolerance = 0.1)
})

test_that("calibration is of left-out rows where the fit has them", {
  set.seed(1)
  d <- data.frame(x = rnorm(60))
  d$y <- rbinom(60, 1, plogis(2 * d$x)) == 1
  fit <- bkm(y ~ x, d, method = "ep", threads = 1)
  found <- left_out_prob(fit)[, "TRUE"]
  again <- vapply(1:60, function(i) {
    other <- bkm(y ~ x, d[-i, ], method = "ep", threads = 1, penalty = fit$penalty)
    predict(other, d[i, ], type = "prob")[, "TRUE"]
  }, 0)
  expect_equal(unname(found), again, tolerance = 0.03, ignore_attr = TRUE)
  expect_equal(plot_data(fit, "calibration")[, 1:5], calibration_table(found, d$y),
    ignore_attr = TRUE
  )
})

test_that("the left-out rows of a support vector machine have the probabilities of predict()", {
  set.seed(8)
  rows <- data.frame(x = rnorm(150), z = rnorm(150))
  rows$y <- factor(ifelse(runif(150) < plogis(0.5 + rows$x), "yes", "no"))
  some <- c(1:8, 101:108)
  for (fit in list(
    bsvm(y ~ x + z, rows, threads = 1),
    gpsvm(y ~ x + z, rows, kernel = rbf(2, variance = 1), seed = 1, threads = 1)
  )) {
    refits <- vapply(some, function(i) {
      p <- predict(update(fit, data = rows[-i, ]), rows[i, ], type = "prob")
      log(p[1, as.character(rows$y[i])])
    }, 0)
    left_out <- left_out_prob(fit)[cbind(some, as.integer(rows$y)[some])]
    expect_lt(max(abs(log(left_out) - refits)), 0.06)
    expect_lt(abs(mean(log(left_out) - refits)), 0.01)
    expect_equal(fit_quality(fit)$loo, sum(log(left_out_prob(fit)[cbind(1:150, as.integer(rows$y))])))
  }
})

test_that("curves come first where nothing else has coefficients, and weights that are held last", {
  rows <- data.frame(x = seq(0, 3, length.out = 80), g = gl(8, 10))
  rows$y <- sin(rows$x) + cos(7 * rows$x) / 5
  expect_identical(names(pictures(bkm(y ~ s(x) + (1 | g), rows, threads = 1)))[2], "smooth")
  expect_identical(names(pictures(bkm(y ~ x + (1 | g), rows, threads = 1)))[2], "coef")
  spaces <- list(sepal = iris[1:2], petal = iris[3:4])
  held <- mkprobit(spaces, iris$Species, tune = FALSE, threads = 1)
  expect_identical(tail(names(pictures(held)), 1), "weights")
})

test_that("autoplot() draws every type", {
  skip_if_not_installed("ggplot2")
  two <- droplevels(iris[51:150, ])
  two$g <- factor(rep(1:10, 10))
  fit <- bkm(Sepal.Length ~ s(Petal.Length) + Sepal.Width + (1 | g), two, threads = 1)
  pdf(NULL)
  on.exit(dev.off())
  for (type in c("coef", "ranef", "smooth", "fit", "partial", "residuals", "qq", "predictive")) {
    plot <- ggplot2::autoplot(fit, type, threads = 1)
    expect_s3_class(plot, "ggplot")
    expect_gt(nrow(ggplot2::layer_data(plot)), 0)
  }
  expect_identical(ggplot2::autoplot(fit, "qq", main = "Mine")$labels$title, "Mine")
})

test_that("coefficients are per sd of a number and from the reference level of a factor", {
  set.seed(3)
  rows <- data.frame(x = rnorm(80, sd = 7), f = gl(2, 40, labels = c("a", "b")))
  rows$y <- rows$x / 7 + (rows$f == "b") + rnorm(80)
  fit <- bkm(y ~ x * f, rows, threads = 1)
  own <- coef(fit)[c("x", "fb", "x:fb")]
  found <- plot_data(fit, "coef", scale = "data")
  expect_equal(found$estimate, unname(own), tolerance = 0.02)
  sd <- plot_data(fit, "coef")
  expect_equal(sd$estimate / found$estimate, c(1, 0, 1) * sd(rows$x) + c(0, 1, 0), tolerance = 0.02)
  expect_match(change_label_of(fit, "sd", found$term), "y per sd of a predictor, or from the reference")
})

test_that("one length-scale is a curve of correlation, factors stand beside numbers", {
  two <- droplevels(iris[51:150, ])
  fit <- gpsvm(Species ~ Petal.Length + Petal.Width, two, kernel = rbf(2), tune = FALSE, threads = 1)
  curve <- correlation_curve(fit, plot_data(fit, "lengthscales"))
  expect_equal(curve$correlation, exp(-curve$distance^2 / 8))
  skip_if_not_installed("ggplot2")
  two$f <- gl(2, 50, labels = c("u", "v"))
  fit <- bkm(Sepal.Length ~ Petal.Length + f, two, threads = 1)
  built <- ggplot2::ggplot_build(ggplot2::autoplot(fit, "partial"))
  labels <- lapply(built$layout$panel_params, function(panel) panel$x$get_labels())
  expect_identical(as.character(labels[[2]]), c("u", "v"))
  expect_false(anyNA(as.numeric(labels[[1]])))
})
