# Fits without an engine: the latent value of class k is a known function of the predictors, its
# standard deviation grows with the first of them.
known_gpsvm <- function(columns, levels = c("no", "yes"), method = "vb", ...) {
  d <- length(columns)
  set.seed(4)
  inducing <- matrix(rnorm(5 * d), 5, dimnames = list(NULL, columns))
  fit <- list(
    levels = levels, columns = columns, inducing = inducing, method = method,
    transform = list(
      center = stats::setNames(seq_len(d) * 10, columns),
      scale = stats::setNames(rep(2, d), columns)
    ),
    design = list(type = "matrix", columns = columns, named = TRUE),
    kernel = rbf(stats::setNames(c(2, 0.5, 30)[seq_len(d)], columns)),
    median_distance = 1.5, trace = list(elbo = -exp(-(1:20)))
  )
  fit[names(list(...))] <- list(...)
  structure(fit, class = c("known_gpsvm", "gpsvm", "bayeskernel_fit"))
}

predict.known_gpsvm <- function(object, newdata, type, se.fit = FALSE, ...) {
  k <- length(object$levels)
  f <- if (missing(newdata)) {
    object$fitted$mean
  } else {
    x <- as.matrix(newdata)[, object$columns, drop = FALSE]
    outer(x[, 1], seq_len(k))[, if (k == 2L) 2 else seq_len(k)] / 5
  }
  if (type == "link") return(list(fit = f, se.fit = 0 * f + exp(x[, 1] / 20)))
  prob <- if (k == 2L) cbind(1 - pnorm(f), pnorm(f)) else pnorm(f)
  prob <- prob / rowSums(prob)
  colnames(prob) <- object$levels
  prob
}
registerS3method("predict", "known_gpsvm", predict.known_gpsvm, envir = asNamespace("stats"))

two <- known_gpsvm(c("a", "b c"))
three <- known_gpsvm(c("u", "v", "w"), c("x", "y", "z"))

test_that("every type that applies is drawn, and par() is put back", {
  rows <- cbind(a = c(0, 1), "b c" = c(2, -1))
  more <- cbind(u = c(0, 1, 2), v = 1, w = c(2, 0, 2))
  sampled <- known_gpsvm(c("a", "b"), method = "gibbs", trace = list(), draws = numbered_draws())
  calls <- list(
    quote(plot(two)), quote(plot(two, newdata = rows)),
    quote(plot(two, newdata = rows, y = c("no", "yes"))),
    quote(plot(two, newdata = unname(rows), y = c("no", "yes"))),
    quote(plot(three, pars = c("w", "u"))),
    quote(plot(three, pars = c("w", "u"), newdata = more, y = c("x", "y", "z"))),
    quote(plot(two, "bound")), quote(plot(two, "lengthscales")),
    quote(plot(three, newdata = more, y = c("x", "z", "z"))), quote(plot(sampled, "trace"))
  )
  for (call in calls) {
    out <- drawn(eval(call))
    expect_gt(out$calls, 5)
    expect_true(out$restored)
  }
})

test_that("the default is the most telling plot", {
  kept <- known_gpsvm(c("u", "v", "w"), fitted = list(mean = 1:4, var = 1:4), y = c(1, -1, 1, 1))
  expect_identical(telling_picture(pictures(two)), "boundary")
  expect_identical(telling_picture(pictures(kept)), "calibration")
  expect_identical(telling_picture(pictures(kept), list(pars = c("u", "v"))), "boundary")
  expect_identical(telling_picture(pictures(three)), "bound")
  kept$trace <- list()
  kept$fitted <- NULL
  kept$draws <- numbered_draws()
  expect_identical(telling_picture(pictures(kept)), "trace")
  kept$draws <- NULL
  expect_identical(telling_picture(pictures(kept)), "lengthscales")
})

test_that("a type that does not apply is refused with those that do", {
  expect_bk_error(plot(two, "trace"), "argument", "\"boundary\"")
  expect_bk_error(plot(two, "calibration"), "argument", "newdata")
  expect_bk_error(plot(two, "pie"), "argument", "\"bound\"")
  expect_bk_error(plot(two, pars = "x", colour = 1), "argument", "colour")
  one <- known_gpsvm("a", trace = list())
  expect_bk_error(plot(one, "boundary"), "argument", "one predictor")
  expect_bk_error(plot(one, "bound"), "argument", "no bound")
  factors <- known_gpsvm(
    c("a", "gu", "gv"), design = list(type = "formula", variables = c("a", "g"))
  )
  expect_bk_error(plot(factors, "boundary", pars = c("a", "gu")), "argument", "factors")
  expect_bk_error(plot(three, "boundary"), "argument", "`pars`")
  expect_bk_error(plot(three, columns = c("u", "v")), "argument", "try `pars`")
  expect_bk_error(plot(three, pars = c("u", "q")), "argument", "\"w\"")
  expect_bk_error(plot(three, pars = c("u", "u")), "argument", "different")
  expect_bk_error(
    plot(three, pars = c("u", "v"), newdata = cbind(u = 1, z = 2)), "argument", "\"v\""
  )
})

test_that("length-scales are those of every component, by column", {
  expect_equal(lengthscales(three), c(u = 2, v = 0.5, w = 30))
  fit <- known_gpsvm(c("a", "b"), kernel = rbf(c(a = 1, b = 2)) + linear() + rbf(4))
  expect_equal(lengthscales(fit), c(rbf1.a = 1, rbf1.b = 2, rbf2.lengthscale = 4))
  for (kernel in list(linear(), precomputed())) {
    expect_bk_error(
      plot(known_gpsvm(c("a", "b"), kernel = kernel), "lengthscales"),
      "argument", "no length-scales"
    )
  }
})

test_that("the field of a boundary is that of predict(), others at the mean", {
  at <- matrix(c(-9, 7, 0, 1), 2)
  field <- boundary_field(three, c("w", "u"), at, "probit", cells = 10L)
  expect_equal(range(field$x), c(-9, 7) + c(-1, 1) * 0.08 * 16)
  grid <- expand.grid(w = field$x, u = field$y)
  grid <- cbind(grid, v = 20)
  expect_equal(field$prob, unname(predict(three, grid[c("u", "v", "w")], "prob")))
  expect_equal(field$sd, exp(grid$u / 20))
  raw <- three
  raw$transform$center[] <- 0
  raw$transform$scale[] <- 1
  expect_equal(held_values(raw), colMeans(three$inducing))
})

test_that("predictors that were dropped are given to predict() all the same", {
  fit <- known_gpsvm(c("a", "b"), dropped = "k")
  fit$design$columns <- c("k", "a", "b")
  expect_equal(held_values(fit), c(k = 0, a = 10, b = 20))
  fit$design <- list(type = "formula", variables = c("b", "k", "a"))
  expect_equal(held_values(fit), c(b = 20, k = 0, a = 10))
  expect_null(no_boundary(fit))
})

test_that("points have the classes of their labels, or none", {
  rows <- data.frame(a = 1:4, "b c" = 4:1, check.names = FALSE)
  y <- c("yes", "no", "no", "yes")
  out <- boundary_points(two, c("b c", "a"), rows, y)
  expect_equal(unname(out$at), cbind(4:1, 1:4))
  expect_equal(out$class, c(2, 1, 1, 2))
  expect_identical(boundary_points(two, c("b c", "a"), rows, NULL)$class, rep(NA_integer_, 4))
  expect_bk_error(
    boundary_points(two, c("b c", "a"), rows, replace(y, 2, "maybe")), "response", "maybe"
  )
  labelled <- known_gpsvm(c("a", "b c"), response = "y > 0", formula = y ~ a)
  labelled$levels <- c("FALSE", "TRUE")
  rows$y <- c(-1, 2, 3, -4)
  expect_equal(boundary_points(labelled, c("a", "b c"), rows, NULL)$class, c(1, 2, 2, 1))
})

test_that("many classes have names in their regions, with rows and without", {
  many <- known_gpsvm(c("a", "b"), paste0("c", 1:10))
  expect_no_error(drawn(plot(many, "boundary")))
  rows <- data.frame(a = rnorm(20), b = rnorm(20))
  expect_no_error(drawn(plot(many, "boundary", newdata = rows)))
  expect_no_error(drawn(plot(many, "boundary", newdata = rows, y = rep(many$levels, 2))))
})

test_that("calibration of new rows is that of calibration()", {
  set.seed(5)
  rows <- cbind(a = rnorm(50, sd = 3), "b c" = 0)
  y <- ifelse(runif(50) < 0.5, "yes", "no")
  table <- NULL
  drawn(table <- plot(two, "calibration", newdata = rows, y = y, bins = 4))
  expect_equal(table, calibration(factor(y, two$levels), predict(two, rows, "prob"), bins = 4))
  y <- replace(y, 3, NA)
  drawn(table <- plot(two, "calibration", newdata = rows, y = y, bins = 4))
  expect_equal(sum(table$rows), 49L)
  rows <- cbind(u = rnorm(50, sd = 3), v = 0, w = 0)
  y <- sample(three$levels, 50, TRUE)
  drawn(table <- plot(three, "calibration", newdata = rows, y = y))
  expect_equal(table, calibration(factor(y, three$levels), predict(three, rows, "prob")))
})

test_that("calibration of the fit's rows sets their labels beside predict()", {
  set.seed(6)
  mean <- rnorm(40)
  y <- sample(c(-1, 1), 40, TRUE)
  kept <- list(mean = mean, var = rep(1, 40))
  fit <- known_gpsvm(c("a", "b"), fitted = kept, y = y)
  table <- NULL
  drawn(table <- plot(fit, "calibration", bins = 5))
  expect_equal(table, calibration(y, pnorm(mean), 5))
  # A row that na.exclude() left out has a prediction, NA, and no label.
  fit$na.action <- structure(2L, class = "exclude")
  fit$fitted$mean <- append(mean, NA, 1)
  drawn(table <- plot(fit, "calibration", bins = 5))
  expect_equal(table, calibration(y, pnorm(mean), 5))
  kept$mean <- cbind(mean, -mean, 0.1)
  y <- sample(3, 40, TRUE)
  fit <- known_gpsvm(c("a", "b"), c("x", "y", "z"), fitted = kept, y = y)
  drawn(table <- plot(fit, "calibration", bins = 5))
  prob <- unname(predict(fit, type = "prob"))
  expect_equal(table, calibration(factor(y), prob, 5))
})

test_that("ticks of a logarithmic axis are round, inside and not too many", {
  expect_equal(log_ticks(log10(c(0.9, 11))), c(1, 2, 5, 10))
  expect_equal(log_ticks(c(-2.1, 2.1)), 10^(-2:2))
  expect_equal(log_ticks(log10(c(0.04, 0.3))), c(0.05, 0.1, 0.2))
})

test_that("colours pale towards what is undecided", {
  grey <- function(colour) colMeans(grDevices::col2rgb(colour))
  shades <- shade_probability(c(0, 0.3, 0.5, 0.7, 1))
  expect_identical(shades[3], "#FFFFFF")
  expect_true(all(diff(grey(shades)) * c(1, 1, -1, -1) > 0))
  expect_identical(shades[c(1, 5)], blend(class_pair, 0.7))
  prob <- rbind(c(1, 1, 1) / 3, c(0.2, 0.6, 0.2), c(0, 1, 0), c(0, 0, 1))
  shades <- shade_classes(prob, bk_palette(3))
  expect_identical(shades[1], "#FFFFFF")
  expect_gt(grey(shades[2]), grey(shades[3]))
  expect_identical(shades[3:4], blend(bk_palette(3)[2:3], 0.75))
})

test_that("partial dependence of several classes sums to one, within bands", {
  fit <- gpsvm(Species ~ ., iris, inducing = 20, tune = FALSE, seed = 1, threads = 1)
  drawn(table <- plot(fit, "partial", pars = "Petal.Width", threads = 1))
  expect_setequal(table$class, levels(iris$Species))
  expect_equal(as.vector(tapply(table$fit, table$value, sum)), rep(1, length(unique(table$value))))
  expect_true(all(table$lwr <= table$fit & table$fit <= table$upr))
  # As of every row: 133 are averaged over.
  all <- transform(iris, Petal.Width = table$value[1])
  expect_equal(
    table$fit[table$value == table$value[1]],
    unname(colMeans(predict(fit, all, type = "prob"))), tolerance = 0.02
  )
})

test_that("a boundary shows rows of the factor level that its surface is for", {
  rows <- data.frame(
    u = seq(-2, 2, length.out = 30), v = rep(c(-1, 0, 1), 10), g = rep(c("a", "b", "b"), 10),
    w = rep(1:2, 15)
  )
  rows$y <- rows$u + rows$v > 0
  fit <- gpsvm(y ~ u + v + w + g, rows, tune = FALSE, threads = 1)
  data <- boundary_data(fit, c("u", "v"), NULL, NULL, NULL)
  expect_identical(unname(attr(data, "points")$at[, "u"]), rows$u[rows$g == "b"])
  expect_match(attr(data, "held"), "g = b; rows of other levels left out")
  # Numbers are held at their median, and their rows are drawn.
  one <- gpsvm(y ~ u + v + w, rows, tune = FALSE, threads = 1)
  expect_identical(
    nrow(attr(boundary_data(one, c("u", "v"), NULL, NULL, NULL), "points")$at), 30L
  )
})
