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
  found <- left_out_rows(fit)$probability
  again <- vapply(1:60, function(i) {
    other <- bkm(y ~ x, d[-i, ], method = "ep", threads = 1, penalty = fit$penalty)
    predict(other, d[i, ], type = "prob")[, "TRUE"]
  }, 0)
  expect_equal(found, again, tolerance = 0.03, ignore_attr = TRUE)
  expect_equal(plot_data(fit, "calibration")[, 1:5], calibration_table(found, d$y, NULL),
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
    judged <- left_out_rows(fit)
    own <- with(judged, log(ifelse(happened, probability, 1 - probability)))
    expect_lt(max(abs(own[some] - refits)), 0.06)
    expect_lt(abs(mean(own[some] - refits)), 0.01)
    expect_equal(fit_quality(fit)$loo, sum(own))
  }
})

test_that("of more classes the most probable one of left-out rows is judged", {
  set.seed(2)
  rows <- iris[sample(150, 90), c(3, 5)]
  rows$Petal.Length <- rows$Petal.Length + rnorm(90, 0, 0.7)
  for (fit in list(
    mkprobit(Species ~ Petal.Length, rows, threads = 1, tune = FALSE),
    gpsvm(Species ~ Petal.Length, rows, kernel = rbf(1, variance = 9), seed = 1, threads = 1)
  )) {
    judged <- left_out_rows(fit)
    again <- vapply(1:8, function(i) {
      prob <- predict(update(fit, data = rows[-i, ]), rows[i, ], type = "prob")
      c(max(prob), names(which.max(prob[1, ])) == rows$Species[i])
    }, c(0, 0))
    expect_lt(max(abs(judged$probability[1:8] - again[1, ])), 0.05)
    expect_equal(judged$happened[1:8], again[2, ] == 1)
    own <- exp(left_out_logs(fit))
    expect_equal(own[judged$happened], judged$probability[judged$happened])
    expect_true(all(own[!judged$happened] < judged$probability[!judged$happened]))
    expect_equal(plot_data(fit, "calibration"),
      calibration_table(judged$probability, judged$happened, NULL), ignore_attr = TRUE
    )
    expect_match(calibration_title(fit, NULL, NULL), "each row left out")
    expect_match(calibration_title(fit, NULL, "probit"), "own rows")
    doubled <- update(fit, weights = rep(2, 90))
    expect_identical(nrow(judged_rows(doubled, NULL, NULL, NULL)), 180L)
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
  expect_match(change_label_of(fit, "sd", found$term),
    "y per sd of a predictor, or from the reference")
  rows$o <- ordered(rep_len(1:4, 80))
  for (formula in c(y ~ o, y ~ x + o)) {
    fit <- bkm(formula, rows, threads = 1)
    label <- change_label_of(fit, "sd", plot_data(fit, "coef")$term)
    expect_match(label, "per column of an ordered factor$")
    expect_no_match(label, "reference")
  }
  label <- change_label_of(fit <- bkm(y ~ x + f + o, rows, threads = 1), "sd", names(coef(fit))[-1])
  expect_identical(label, "Change of y per sd, from the reference or per contrast")
})

test_that("one length-scale is a curve of correlation, factors stand beside numbers", {
  two <- droplevels(iris[51:150, ])
  fit <- gpsvm(Species ~ Petal.Length + Petal.Width, two, kernel = rbf(2), tune = FALSE,
    threads = 1)
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

test_that("partial plots say for which groups they are, by re.form of predict()", {
  set.seed(2)
  rows <- data.frame(x = rnorm(120), g = factor(rep(letters[1:12], each = 10)))
  rows$y <- rows$x + rnorm(12, sd = 2)[rows$g] + rnorm(120)
  rows$z <- rows$y > 0
  means <- list()
  for (fit in list(
    bkm(y ~ x + (1 | g), rows, threads = 1), bkm(z ~ x + (1 | g), rows, threads = 1)
  )) {
    for (form in list(NULL, "new", NA)) {
      data <- plot_data(fit, "partial", re.form = form, threads = 1)
      last <- nrow(data)
      at <- transform(rows, x = data$value[last])
      same <- mean(predict(fit, at, "response", re.form = form, threads = 1))
      expect_equal(data$fit[last], same)
      means <- c(means, data$upr[last] - data$lwr[last])
    }
    # A new group is the least certain.
    width <- unlist(tail(means, 3))
    expect_gt(width[2], 1.5 * width[1])
    expect_true("random effects of g at 0" %in% texts(plot(fit, threads = 1)))
    seen <- texts(plot(fit, "partial", re.form = NULL, threads = 1))
    expect_true("known groups of g at the same rows, thin; bold: each row in its group" %in% seen)
    seen <- texts(plot(fit, "partial", re.form = "new", threads = 1))
    expect_true("for a new group of g" %in% seen)
    new <- plot_data(fit, "partial", newdata = rows["x"], re.form = "new", threads = 1)
    expect_equal(new, plot_data(fit, "partial", re.form = "new", threads = 1))
  }
  expect_bk_error(plot_data(fit, "partial", re.form = "old"), "argument", "re.form")
  skip_if_not_installed("ggplot2")
  expect_match(ggplot2::autoplot(fit, threads = 1)$labels$subtitle, "random effects of g at 0")
})

test_that("numbers of few values are points, as levels are", {
  expect_identical(
    vapply(list(0:1, c(0.3, 7), c(1, 2, 4, 8, 12), rep(1:6, 9), 1:7, factor(1:2)), few_values, NA),
    c(TRUE, TRUE, TRUE, TRUE, FALSE, FALSE)
  )
  set.seed(4)
  rows <- data.frame(
    x = rnorm(90), b = rep(0:1, 45), m = rep(5:7, 30), l = rep(c(TRUE, FALSE, TRUE), 30)
  )
  rows$y <- rows$b + rnorm(90)
  fit <- bkm(y ~ x + b + m + l, rows, threads = 1)
  data <- partial_table(fit, NULL, NULL, 1L)
  expect_setequal(attr(data, "points"), c("b", "m", "l"))
  expect_named(attr(data, "rows"), "x")
  expect_identical(plot_data(fit, "partial", pars = "b", threads = 1)$value, 0:1)
  skip_if_not_installed("ggplot2")
  layers <- ggplot2::autoplot(fit, "partial", pars = "b", threads = 1)$layers
  drawn <- vapply(layers, function(layer) class(layer$geom)[1], "")
  expect_true("GeomPointrange" %in% drawn)
  expect_false("GeomLine" %in% drawn)
})

test_that("the first plot of few coefficients is what they do, over the rows of one predictor", {
  first <- function(fit) asked_picture(fit, threads = 1)$type
  rows <- data.frame(x = (1:60) / 10, z = rep(c(1, 4, 2), 20), g = gl(6, 10), h = gl(4, 15))
  rows$y <- rows$x + as.numeric(rows$g) + sin(1:60)
  expect_identical(first(bkm(y ~ x + (1 | g), rows, threads = 1)), "partial")
  expect_identical(first(bkm(y ~ x + z, rows, threads = 1)), "partial")
  expect_identical(first(bkm(y ~ x + h, rows, threads = 1)), "coef")
  expect_identical(first(bkm(y ~ 1 + (1 | g), rows, threads = 1)), "ranef")
  expect_identical(first(bkm(y ~ s(x) + (1 | g), rows, threads = 1)), "smooth")
  fit <- bkm(y ~ x + (1 | g), rows, threads = 1)
  seen <- attr(asked_picture(fit, threads = 1)$given$data, "seen")
  expect_equal(seen, rows[c("x", "y")], ignore_attr = TRUE)
  expect_null(attr(partial_table(fit, rows[1:9, ], NULL, 1L), "seen"))
  expect_null(attr(partial_table(bkm(y ~ x + z, rows, threads = 1), NULL, NULL, 1L), "seen"))
  rows$y[c(2, 40)] <- NA
  fit <- bkm(y ~ x, rows, na.action = na.omit, threads = 1)
  seen <- attr(partial_table(fit, NULL, NULL, 1L), "seen")
  expect_equal(seen, rows[-c(2, 40), c("x", "y")], ignore_attr = TRUE)
})

test_that("panels of smooths have one scale", {
  set.seed(5)
  rows <- data.frame(x = runif(90), z = runif(90), f = gl(3, 30))
  rows$y <- sin(5 * rows$x) * as.numeric(rows$f) + rows$z / 5 + rnorm(90, sd = 0.2)
  fit <- bkm(y ~ s(x, by = f) + s(z), rows, threads = 1)
  data <- smooth_data(fit, NULL)
  limits <- smooth_limits(data)
  expect_equal(limits, range(data$lwr, data$upr, 0))
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  plot(fit, "smooth", pars = "s(z)", threads = 1)
  alone <- graphics::par("usr")[3:4]
  plot(fit, "smooth", threads = 1)
  expect_gt(diff(graphics::par("usr")[3:4]), 2 * diff(alone))
  expect_equal(graphics::par("usr")[3:4], limits + c(-0.04, 0.04) * diff(limits))
})

test_that("a boundary of two numbers holds factors and others where most rows are", {
  set.seed(6)
  rows <- data.frame(a = rnorm(90), b = rnorm(90), c = rexp(90), f = gl(3, 1, 90, c("u", "v", "w")))
  rows$f[1:20] <- "v"
  rows$y <- factor(ifelse(rows$a + (rows$f == "v") + rnorm(90, sd = 0.3) > 0, "yes", "no"))
  fit <- gpsvm(
    y ~ log(c) + f + a + b, rows, kernel = rbf(2), tune = FALSE, inducing = 15, seed = 1,
    threads = 1
  )
  expect_bk_error(plot(fit, "boundary"), "argument", "`pars`")
  expect_bk_error(plot(fit, "boundary", pars = c("a", "f")), "argument", "\"c\"")
  data <- plot_data(fit, "boundary", pars = c("a", "c"), threads = 1)
  some <- c(1, 900, 6400)
  held <- data.frame(a = data$a, c = data$c, b = median(rows$b), f = "v")[some, ]
  expect_equal(data$prob_yes[some], unname(predict(fit, held, "prob", threads = 1)[, "yes"]))
  # A logarithm has no value below 0.
  expect_equal(range(data$c), range(rows$c))
  note <- sprintf(
    "at f = v, b = %s; rows of other levels left out", format(median(rows$b), digits = 3)
  )
  expect_true(note %in% texts(plot(fit, "boundary", pars = c("a", "c"), threads = 1)))
  skip_if_not_installed("ggplot2")
  gg <- ggplot2::autoplot(fit, "boundary", pars = c("a", "c"), threads = 1)
  expect_identical(gg$labels$subtitle, note)
  expect_identical(held_note(rows[1, rep("c", 30)]), "others at their middle")
})

test_that("an unknown type is answered with those that this fit has", {
  fit <- bkm(Sepal.Length ~ Petal.Length, iris, threads = 1)
  error <- expect_bk_error(plot(fit, "waffle"), "argument", "partial")
  expect_setequal(error$expected, c("coef", "fit", "partial", "residuals", "qq", "predictive"))
  smooth <- bkm(Sepal.Length ~ s(Petal.Length), iris, threads = 1)
  expect_bk_error(plot(smooth, "coef"), "argument", "smooth")
  expect_gt(nrow(plot_data(smooth, "coef", pars = names(coef(smooth)))), 5)
})

test_that("names of rows and titles stay inside a narrow figure", {
  names <- c("a_very_long_predictor_name_of_the_survey_question_17", paste0("v", 1:24))
  rows <- matrix(stats::rnorm(60 * 25), 60, dimnames = list(NULL, names))
  fit <- bkm(rows, rows[, 2] + stats::rnorm(60), threads = 1)
  for (size in list(c(5.2, 4.2), c(12.5, 8.3))) {
    grDevices::pdf(NULL, size[1], size[2])
    place <- row_panel(names, c(0, 1), "Effect", "Coefficients, 50 % and 95 % intervals")
    heights <- graphics::grconvertY(place$at, "user", "inches")
    letters <- graphics::par("cin")[2] * 0.5
    expect_gt(min(abs(diff(heights))), 0.7 * letters)
    left <- graphics::grconvertX(graphics::par("usr")[1], "user", "inches")
    expect_gt(left, graphics::strwidth(cut_to(names, 0.45 * size[1], 0.5), "inches", 0.5)[1])
    grDevices::dev.off()
    expect_true("Coefficients, 50 % and 95 % intervals" %in% texts(plot(fit, "coef"), size))
  }
  expect_identical(many_alpha(400), 1)
  expect_lt(many_alpha(10000), 0.3)
  skip_if_not_installed("ggplot2")
  gg <- ggplot2::autoplot(fit, "coef", scale = "model")
  expect_match(gg$labels$x, "per standard deviation")
  built <- ggplot2::ggplot_build(gg)$layout$panel_params[[1]]$y$get_labels()
  expect_lte(max(nchar(built)), 36)
})

test_that("a fit without predictors has no partial plot", {
  set.seed(1)
  d <- data.frame(y = rnorm(30), g = gl(5, 6))
  for (fit in list(bkm(y ~ 1, d, threads = 1), bkm(y ~ 1 + (1 | g), d, threads = 1))) {
    expect_bk_error(plot(fit, "partial"), "argument", "no predictors")
  }
})

test_that("plots have the level of summary(), and `level` sets it in every type with intervals", {
  two <- droplevels(iris[51:150, ])
  two$g <- gl(10, 1, 100)
  linear <- bkm(Sepal.Length ~ s(Petal.Length) + Petal.Width + (1 | g), two, threads = 1)
  bark <- suppressWarnings(bark(
    Sepal.Length ~ Petal.Length, two, chains = 2, ndraws = 50, threads = 1, seed = 1, until = NULL,
    control = bark_control(warmup = 50)
  ))
  stream <- seqkr(Sepal.Length ~ Petal.Length, two, seed = 1, threads = 1)
  spaces <- list(a = iris[1:2], b = iris[3:4])
  kernels <- suppressWarnings(mkprobit(
    spaces, iris$Species, kernel_weights = "learn", method = "gibbs", chains = 1, ndraws = 50,
    coefficients = "weights",
    control = mkprobit_control(warmup = 20), tune = FALSE, seed = 1, threads = 1
  ))
  types <- list(
    list(linear, c("coef", "ranef", "smooth", "fit", "partial")), list(stream, c("fit", "partial")),
    list(bark, c("scales", "partial")), list(kernels, "weights"),
    list(bsvm(Species ~ Sepal.Length, two, threads = 1), "calibration")
  )
  for (own in types) for (type in own[[2]]) {
    fit <- own[[1]]
    width <- function(...) {
      data <- plot_data(fit, type, threads = 1, ...)
      ends <- intersect(c("upr", "lwr", "upper", "lower"), names(data))
      sum(data[[ends[1]]] - data[[ends[2]]]) * if (startsWith(ends[1], "u")) 1 else -1
    }
    default <- width()
    expect_equal(default, width(level = 0.95))
    expect_gt(default, 1.02 * width(level = 0.6))
    expect_true(any(grepl("95 %", texts(plot(fit, type, threads = 1)))), label = type)
    seen <- texts(plot(fit, type, level = 0.6, threads = 1))
    expect_true(any(grepl("60 %", seen)) && !any(grepl("9[05] %", seen)), label = type)
    if (requireNamespace("ggplot2", quietly = TRUE)) {
      labels <- unlist(ggplot2::autoplot(fit, type, level = 0.6, threads = 1)$labels)
      expect_true(any(grepl("60 %", labels)), label = type)
    }
  }
  data <- plot_data(linear, "coef", scale = "data", pars = "Petal.Width")
  expect_equal(
    unlist(data[c("lower", "upper")], use.names = FALSE),
    unname(confint(linear)["Petal.Width", ]), tolerance = 1e-6
  )
  expect_bk_error(plot(linear, "coef", level = 95), "argument", "level")
})

test_that("known groups are lines whose average is the curve", {
  set.seed(4)
  rows <- data.frame(x = rep(0:9, 8), g = gl(8, 10))
  rows$y <- rnorm(8, 1)[rows$g] * rows$x + rnorm(80)
  fit <- bkm(y ~ x + (x | g), rows, threads = 1)
  lines <- attr(partial_table(fit, NULL, "x", 1L, NULL), "lines")
  expect_identical(levels(factor(lines$group)), levels(rows$g))
  at <- data.frame(x = lines$value, g = lines$group)
  expect_equal(lines$fit, unname(predict(fit, at)))
  curve <- plot_data(fit, "partial", re.form = NULL, threads = 1)
  mean <- tapply(lines$fit, lines$value, mean)
  there <- match(sort(unique(lines$value)), curve$value)
  expect_equal(mean, curve$fit[there], ignore_attr = TRUE)
  expect_null(attr(partial_table(fit, NULL, "x", 1L), "lines"))
  typical <- plot_data(fit, "partial", threads = 1)
  expect_equal(typical$fit, unname(predict(fit, data.frame(x = typical$value), re.form = NA)))
  skip_if_not_installed("ggplot2")
  built <- ggplot2::autoplot(fit, "partial", re.form = NULL, threads = 1)
  groups <- lapply(seq_along(built$layers), function(k) ggplot2::layer_data(built, k)$group)
  expect_true(8L %in% lengths(lapply(groups, unique)))
})

test_that("curves have points enough to look smooth", {
  rows <- data.frame(x = seq(0, 10, length.out = 200))
  rows$y <- sin(6 * rows$x)
  fit <- bkm(y ~ gp(x, kernel = periodic(period = 2 * pi / 6)), rows, threads = 1)
  expect_gt(nrow(plot_data(fit, "smooth")), 200)
  expect_gt(nrow(plot_data(fit, "partial", threads = 1)), 100)
  # Only rows of one predictor are alike.
  rows <- data.frame(x = 1:20, z = c(rep(-3, 15), rep(9, 5)))
  rows$yes <- c(0, 1, 1, 0, 1)[1 + rows$x %% 5] == 1
  fit <- bkm(yes ~ x + z, rows, threads = 1)
  first <- plot_data(fit, "partial", pars = "x", threads = 1)[1, ]
  expect_equal(first$fit, mean(predict(fit, transform(rows, x = 1), "response")))
})

test_that("residuals of classes and counts are normal where the fit is right", {
  set.seed(8)
  d <- data.frame(x = rnorm(300), n = 12)
  d$y <- runif(300) < plogis(2 * d$x)
  d$s <- rbinom(300, d$n, plogis(d$x))
  d$k <- cut(d$x + rlogis(300), c(-Inf, -1, 1, Inf), c("low", "mid", "high"))
  fits <- list(
    bkm(y ~ x, d, threads = 1), bsvm(y ~ x, d, threads = 1),
    bkm(cbind(s, n - s) ~ x, d, threads = 1), mkprobit(k ~ x, d, threads = 1, tune = FALSE)
  )
  for (fit in fits) {
    data <- plot_data(fit, "residuals")
    expect_identical(nrow(data), 300L)
    expect_gt(stats::ks.test(data$standardized, "pnorm")$p.value, 0.05)
    expect_equal(plot_data(fit, "qq")$standardized, sort(data$standardized))
  }
  # A response between its two limits.
  data <- plot_data(fits[[3]], "residuals")
  below <- pbinom(d$s - 1, 12, fitted(fits[[3]]))
  above <- pbinom(d$s, 12, fitted(fits[[3]]))
  expect_true(all(pnorm(data$standardized) >= below & pnorm(data$standardized) <= above))
  # New counts are as many trials.
  new <- plot_data(fits[[3]], "calibration", newdata = d[1:100, ])
  expect_equal(sum(new$rows), 1200)
  expect_equal(sum(new$rows * new$observed), sum(d$s[1:100]))
  expect_identical(
    plot_data(fits[[3]], "calibration", newdata = d["x"], y = cbind(d$s, 12 - d$s)),
    plot_data(fits[[3]], "calibration", newdata = d)
  )
  # Counts that vary more, and a curve that is no line.
  d$s <- rbinom(300, d$n, plogis(d$x + rnorm(300)))
  wide <- plot_data(bkm(cbind(s, n - s) ~ x, d, threads = 1), "residuals")
  expect_gt(sd(wide$standardized), 1.3)
  expect_match(residual_title(fits[[1]], NULL), "each row left out")
  expect_match(residual_title(fits[[3]], NULL), "own rows")
  d$y <- runif(300) < plogis(2 * d$x^2 - 2)
  bent <- plot_data(bkm(y ~ x, d, threads = 1), "residuals", newdata = d)
  expect_gt(cor(bent$standardized, d$x^2), 0.3)
  expect_true(all(is.finite(bent$standardized)))
})

test_that("curves of many rows leave out the outermost", {
  set.seed(9)
  d <- data.frame(x = rt(1200, 2))
  d$y <- sin(d$x) + rnorm(1200, sd = 0.3)
  fit <- bkm(y ~ s(x), d, threads = 1)
  ends <- quantile(d$x, c(0.01, 0.99), names = FALSE)
  expect_equal(range(plot_data(fit, "smooth")$at), ends)
  data <- partial_table(fit, NULL, NULL, 1L)
  expect_equal(range(data$value), ends)
  expect_true(all(abs(range(attr(data, "seen")$value, attr(data, "rows"))) <= max(abs(ends))))
  expect_match(attr(data, "note"), "1 % to the 99 %")
  expect_equal(curve_ends(d$x[1:999]), range(d$x[1:999]))
  expect_equal(curve_ends(rep(0:1, c(1995, 5))), 0:1)
})

test_that("smooths by a variable have titles in words", {
  set.seed(5)
  d <- data.frame(x = runif(90), w = factor(rep(c("a", "b"), 45)), z = rnorm(90))
  d$y <- sin(5 * d$x) * d$z + rnorm(90, sd = 0.2)
  fit <- bkm(y ~ s(x, by = w) + s(x, by = z), d, threads = 1)
  titles <- c("s(x), by w = a", "s(x), by w = b", "s(x), by z")
  expect_true(all(titles %in% texts(plot(fit, "smooth"))))
  expect_identical(unique(plot_data(fit, "smooth")$term), c("s(x):wa", "s(x):wb", "s(x):z"))
  skip_if_not_installed("ggplot2")
  expect_identical(levels(ggplot2::autoplot(fit, "smooth")$data$term), titles)
})

test_that("random effects have the names of ranef() or terms, traces are of what summary() shows", {
  set.seed(6)
  d <- data.frame(x = rnorm(80), g = gl(8, 10), h = gl(4, 1, 80))
  d$y <- rnorm(8)[d$g] + d$x + rnorm(80)
  fit <- suppressWarnings(bkm(
    y ~ x + (x | g) + (1 | h), d, method = "gibbs", chains = 2, ndraws = 60, seed = 1, threads = 1,
    control = bkm_control(warmup = 60, progress = FALSE)
  ))
  own <- plot_data(fit, "ranef", pars = "g")
  for (name in c("(x | g)", "x|g", "(1 | g)")) {
    expect_identical(plot_data(fit, "ranef", pars = name), own)
  }
  expect_bk_error(plot(fit, "ranef", pars = "(1 | x)"), "argument", "g, h")
  names <- grep("^Sigma", dimnames(fit$draws)[[3]], value = TRUE)
  data <- plot_data(fit, "trace", pars = names)
  table <- summary(fit)$parameters
  shown <- tapply(data$value, data$variable, mean)
  expect_length(shown, 4L)
  cov <- fit$draws[, , "Sigma[g:x,(Intercept)]"]
  root <- sqrt(fit$draws[, , "Sigma[g:x,x]"] * fit$draws[, , "Sigma[g:(Intercept),(Intercept)]"])
  expect_equal(shown[["cor((Intercept), x | g)"]], mean(cov / root))
  expect_equal(shown[["sd(x | g)"]], mean(sqrt(fit$draws[, , "Sigma[g:x,x]"])))
  expect_true(all(names(shown) %in% parameters(fit, 0.95)$label))
})

test_that("`by` of a partial plot is answered with exposure()", {
  fit <- bkm(Sepal.Length ~ Petal.Length + Species, iris, threads = 1)
  expect_bk_error(plot(fit, "partial", by = "Species"), "argument", "exposure")
})

test_that("partial plots take rows with missing numbers", {
  fit <- bkm(Ozone ~ Wind + Solar.R, airquality, missing = "model", na.action = na.omit)
  curve <- plot_data(fit, "partial")
  expect_setequal(curve$predictor, c("Wind", "Solar.R"))
  expect_true(all(is.finite(curve$fit)))
  pdf(NULL)
  on.exit(dev.off())
  expect_no_error(plot(fit))
})

test_that("residuals of new counts are of the counts", {
  set.seed(1)
  d <- data.frame(x = rnorm(60), size = 30)
  d$yes <- rbinom(60, d$size, plogis(d$x + rnorm(60, sd = 1.5)))
  fit <- bkm(cbind(yes, size - yes) ~ x, d)
  own <- plot_data(fit, "residuals")
  new <- plot_data(fit, "residuals", newdata = d)
  expect_equal(new[c("fit", "residual")], own[c("fit", "residual")], tolerance = 1e-6)
  # What the fit does not know is seen in both.
  expect_gt(sd(own$standardized), 1.5)
  expect_gt(sd(new$standardized), 1.5)
})

test_that("curves of known groups differ by their effects alone", {
  set.seed(2)
  d <- data.frame(x = rnorm(200), z = rnorm(200), g = gl(20, 10))
  d$y <- d$x + 5 * d$z + rnorm(20, sd = 0.1)[d$g] + rnorm(200, sd = 0.1)
  fit <- bkm(y ~ x + z + (1 | g), d)
  lines <- attr(partial_table(fit, NULL, "x", 1L, NULL), "lines")
  at <- lines[lines$value == lines$value[1], ]
  effects <- ranef(fit)$g
  expect_equal(
    at$fit - mean(at$fit), effects[at$group, 1] - mean(effects[at$group, 1]), tolerance = 1e-6
  )
})

test_that("a plot says that its curves are cut at one end alone", {
  set.seed(3)
  d <- data.frame(x = pmin(rnorm(1200), 1))
  d$y <- d$x + rnorm(1200)
  expect_true(partial_source(bkm(y ~ x, d), NULL, 1L, "none", 0.95)$cut)
})
