# What pictures have in common over models, and those of many rows.

d <- grouped_data()
set.seed(2)
wide <- matrix(rnorm(80 * 60), 80, dimnames = list(NULL, sprintf("v%d", 1:60)))
wide[, 1:2] <- as.matrix(scale(d[c("x1", "x2")]))
linear <- bsvm(wide, d$y, threads = 1, method = "vb")
chosen <- bsvm(wide, d$y, select = TRUE, prior = bsvm_prior(rho = 0.1), threads = 1, method = "vb")
number <- quick_bark(x2 ~ x1, d)

test_that("pictures of many rows show the largest and count the others", {
  seen <- texts(plot(linear))
  expect_true(any(grepl("30 not shown", seen)))
  expect_true(any(grepl("^v1 $", seen)) && any(grepl("^v2 $", seen)))
  seen <- texts(plot(chosen))
  expect_true(any(grepl("more columns, at most", seen)))
  expect_true(any(grepl("^v2 $", seen)))
  expect_true(all(c("positive effect", "negative effect") %in% seen))
  # What the user names is what is shown.
  seen <- texts(plot(linear, pars = c("v50", "v3")))
  expect_true(all(c("v50", "v3") %in% sub(" .*", "", seen)) && !any(grepl("^v1 ", seen)))
})

test_that("a type that other models have is refused with the reason", {
  kernel <- gpsvm(y ~ x1 + x2, d, tune = FALSE, inducing = 10, method = "vb", threads = 1)
  stream <- seqkr(x2 ~ x1, d, particles = 10, tune = FALSE, seed = 1, threads = 1)
  fits <- list(linear, number, kernel, stream)
  # Every type is known to all models.
  types <- unique(unlist(lapply(fits, function(fit) names(pictures(fit)))))
  shared <- Reduce(intersect, lapply(fits, function(fit) names(pictures(fit))))
  expect_identical(setdiff(types, c(shared, names(pictures_elsewhere))), character())
  for (fit in fits) {
    for (type in setdiff(names(pictures_elsewhere), names(pictures(fit)))) {
      error <- expect_bk_error(plot(fit, type), "argument", sprintf("no \"%s\" plot", type))
      expect_match(
        gsub("\n +", " ", conditionMessage(error)), pictures_elsewhere[[type]], fixed = TRUE
      )
    }
  }
  expect_bk_error(plot(kernel, "coef"), "argument", "Accepted: \"boundary\"")
  expect_bk_error(plot(kernel, "waffle"), "argument", "not valid")
})

test_that("positive, negative and unclear effects have colours of their own", {
  shades <- shade_of(c(0, 0.5, 1))
  expect_length(unique(shades), 3L)
  expect_false("#FFFFFF" %in% shades)
})

test_that("classes have colours of their own, and more than eight names in their regions", {
  for (n in c(8, 11, 26)) {
    lab <- grDevices::convertColor(t(grDevices::col2rgb(bk_palette(n))) / 255, "sRGB", "Lab")
    expect_gt(min(dist(lab)), if (n == 8) 20 else 10)
    # Classes that follow each other are far apart.
    expect_gt(min(sqrt(rowSums(diff(lab)^2))), 20)
  }
  set.seed(3)
  x <- matrix(runif(400, -2, 2), 200, dimnames = list(NULL, c("a", "b")))
  angle <- atan2(x[, 2], x[, 1])
  y <- cut(angle, seq(-pi, pi, length.out = 10), paste0("class", 1:9))
  fit <- may_give_up(gpsvm(x, y, inducing = 15, seed = 1, threads = 1, method = "vb", tune = FALSE))
  seen <- texts(plot(fit, newdata = x, y = y))
  expect_true(all(paste(1:9, paste0("class", 1:9)) %in% seen))
})

test_that("titles are one text or an expression", {
  for (fit in list(linear, number)) {
    for (bad in list(1, NA_character_, c("a", "b"), list("a"), mean)) {
      expect_bk_error(plot(fit, main = bad), "argument", "main")
    }
    expect_true("mine" %in% texts(plot(fit, main = "mine")))
    grDevices::pdf(NULL)
    expect_error(plot(fit, main = quote(alpha^2)), NA)
    grDevices::dev.off()
  }
})

test_that("names are cut only where there is no room", {
  grDevices::pdf(NULL, width = 7)
  on.exit(grDevices::dev.off())
  graphics::plot.new()
  name <- "treatmenttreatment_of_the_arm:gendermale"
  expect_identical(margin_labels(name, 2, 0.85), name)
  expect_lt(nchar(margin_labels(strrep("wide_", 30), 2, 0.85)), 70)
  kept <- graphics::par("mar")[2]
  margin_labels("a", 2, 0.85)
  expect_lt(graphics::par("mar")[2], kept)
})

test_that("partial dependence of ordered classes has bands", {
  d <- bark_data()
  fit <- quick_bark(three ~ a + g, d, family = "ordinal")
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  for (pars in list("a", "g", NULL)) {
    table <- plot(fit, "partial", pars = pars, threads = 1)
    expect_true(all(table$lwr < table$upr))
    expect_gt(mean(table$lwr <= table$fit & table$fit <= table$upr), 0.95)
    sums <- tapply(table$fit, list(table$predictor, table$value), sum)
    expect_equal(as.vector(sums[!is.na(sums)]), rep(1, sum(!is.na(sums))))
  }
})

test_that("partial dependence of a linear model averages predictions", {
  d <- transform(grouped_data(), arm = rep(c("a", "b", "c", "b"), 20))
  d$yes <- d$x1 > 50 & d$x2 > 0
  model <- y ~ log(x1) + s(x2, k = 5) + arm + yes + (x2 | g)
  fits <- list(
    bsvm(model, d, threads = 1, method = "vb"), suppressWarnings(bsvm(
      model, d, method = "gibbs", chains = 1, control = list(warmup = 40, progress = FALSE),
      ndraws = 100, seed = 1, threads = 1
    )), bsvm(y ~ log(x1) * arm + offset(x2), d, threads = 1, method = "vb")
  )
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  rows <- d[c(3, 30:52), ]
  at <- function(fit, name, value) {
    rows[[name]] <- value
    list(
      mean = mean(predict(fit, rows, "response", re.form = NA)),
      draws = rowMeans(predict(
        fit, rows, "response", draws = TRUE, ndraws = 400, seed = 1, re.form = NA
      ))
    )
  }
  for (fit in fits) {
    names <- setdiff(all.vars(formula(fit)), c("y", "g", if (any(fit$offset != 0)) "x2"))
    for (name in names) {
      table <- plot(fit, "partial", newdata = rows, pars = name, threads = 1)
      expect_true(all(table$lwr <= table$fit & table$fit <= table$upr))
      for (k in unique(c(1, nrow(table)))) {
        value <- table$value[k]
        if (name == "yes") value <- value == "TRUE"
        direct <- at(fit, name, value)
        expect_equal(table$fit[k], direct$mean)
        # A band by other draws.
        band <- stats::quantile(direct$draws, c(0.025, 0.975), names = FALSE)
        expect_lt(max(abs(band - c(table$lwr[k], table$upr[k]))), diff(band) / 3)
      }
      whole <- plot(fit, "partial", pars = name, threads = 1)
      expect_equal(
        if (is.numeric(d[[name]])) range(whole$value) else levels(whole$value),
        if (is.numeric(d[[name]])) range(d[[name]]) else sort(unique(paste(d[[name]])))
      )
    }
    expect_setequal(plot(fit, "partial", threads = 1)$predictor, names)
  }
  expect_bk_error(plot(fits[[1]], "partial", pars = "g"), "argument", "x1")
  expect_bk_error(plot(fits[[3]], "partial", pars = "x2"), "argument", "arm")
  expect_bk_error(plot(fits[[1]], "partial", newdata = d[0, ]), "dimension", "average")
  # Data that are not to be had, or are no longer those of the fit.
  shown <- plot(fits[[1]], "partial", threads = 1)
  lean <- fits[[1]]
  lean$stamp <- NULL
  lean$data <- list(digest = data_digest(lean$data), at = NULL)
  expect_equal(plot(lean, "partial", threads = 1), shown)
  d$y <- rev(d$y)
  expect_bk_error(plot(lean, "partial"), "argument", "newdata")
  rm(d)
  expect_bk_error(plot(lean, "partial"), "argument", "newdata")
  expect_equal(plot(fits[[1]], "partial", threads = 1), shown)
})

test_that("partial dependence of a process: classes, a mode, a matrix", {
  d <- grouped_data()
  d$k <- factor(ifelse(d$x1 > 57, "high", ifelse(d$x2 > 0, "mid", "low")))
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  fit <- gpsvm(k ~ x1 + x2, d, inducing = 10, seed = 1, threads = 1, method = "vb", tune = FALSE)
  table <- plot(fit, "partial", newdata = d[1:10, ], pars = "x1", threads = 1)
  last <- table$value == max(table$value)
  rows <- transform(d[1:10, ], x1 = max(x1))
  expect_equal(table$fit[last], unname(colMeans(predict(fit, rows, "prob"))))
  expect_identical(table$class[last], levels(d$k))
  expect_true(all(table$lwr < table$upr))
  mode <- gpsvm(y ~ x1 + x2, d, method = "ecm", inducing = 10, threads = 1, tune = FALSE)
  table <- plot(mode, "partial", threads = 1)
  expect_true(all(is.na(table$lwr) & is.na(table$upr)))
  expect_false(anyNA(table$fit))
  x <- as.matrix(d[c("x1", "x2")])
  for (named in c(TRUE, FALSE)) {
    given <- if (named) x else unname(x)
    fit <- bsvm(given, d$y, threads = 1, method = "vb")
    table <- plot(fit, "partial", threads = 1)
    other <- plot(fit, "partial", newdata = given, threads = 1)
    expect_equal(table, other)
    expect_equal(table$fit[1], mean(predict(fit, cbind(x1 = min(d$x1), x2 = d$x2), "response")))
  }
  # Sixty columns, of which two matter.
  set.seed(1)
  wide <- matrix(rnorm(80 * 60), 80, dimnames = list(NULL, paste0("v", 1:60)))
  fit <- bsvm(wide, wide[, 7] - wide[, 50] + rlogis(80) / 5 > 0, threads = 1, method = "vb")
  shown <- unique(plot(fit, "partial", threads = 1)$predictor)
  expect_length(shown, 6)
  expect_true(all(c("v7", "v50") %in% shown))
  seen <- texts(plot(fit, "partial", threads = 1))
  expect_true("the 6 that change it most; `pars` names others of 60" %in% seen)
  expect_identical(unique(plot(fit, "partial", pars = "v9", threads = 1)$predictor), "v9")
})

test_that("ends of a band are smooth", {
  set.seed(1)
  draws <- matrix(rnorm(2e5), 1e4)
  probs <- c(0.025, 0.5, 0.975)
  expect_equal(steady_quantiles(draws, probs), column_quantiles(draws, probs), tolerance = 0.02)
  expect_equal(steady_quantiles(draws[1, , drop = FALSE], probs), draws[c(1, 1, 1), ])
  # Lines that cross: the end is one of them, then another.
  at <- seq(-1, 1, length.out = 101)
  lines <- matrix(rnorm(400), 400, 101) + rnorm(400) %o% at
  rough <- function(end) sum(abs(diff(end, differences = 2)))
  expect_lt(
    rough(steady_quantiles(lines, 0.025)[1, ]), rough(column_quantiles(lines, 0.025)[1, ]) / 2
  )
  # A process at a place and at the next.
  root <- function(shift) {
    x <- c(0, 0.1, 2, 5) + shift
    steady_root(exp(-outer(x, 1.2 * x, `-`)^2 / 8) %*% t(exp(-outer(x, 1.2 * x, `-`)^2 / 8)), 1e-10)
  }
  expect_equal(crossprod(root(0)), crossprod(root(1e-6)), tolerance = 1e-4)
  expect_lt(max(abs(root(0) - root(1e-6))), 1e-3)
  expect_equal(dim(steady_root(matrix(0, 2, 2), 1e-12)), c(0, 2))
})

test_that("draws are moved to a mean probability", {
  set.seed(2)
  eta <- matrix(rnorm(600, sd = rep(c(0.1, 3, 30), each = 200)), 200)
  target <- c(0.001, 0.3, 0.98)
  expect_equal(colMeans(stats::plogis(shifted_to(eta, target))), target, tolerance = 1e-7)
})

test_that("draws of more classes, too, have the mean of the prediction", {
  # Along two predictors of vowels a third of the curves was outside of its band.
  set.seed(2)
  eta <- matrix(rnorm(200 * 3 * 4, sd = 4), 600)
  target <- softmax_rows(matrix(rnorm(12, sd = 2), 3))
  prob <- classes_shifted_to(eta, target)
  expect_equal(rowSums(prob), rep(1, 600))
  expect_lt(max(abs(rowsum(prob, rep(1:3, each = 200)) / 200 - target)), 1e-5)
  link <- list(intercept = rep(0, 4), slope = 1, center = rep(0, 4), offset = rep(30, 4))
  f <- array(eta, c(200, 3, 4))
  own <- apply(calibrated_draws(link, f), 2:3, mean)
  moments <- list(apply(f, 2:3, mean), apply(f, 2:3, function(x) mean((x - mean(x))^2)))
  expect_lt(max(abs(own - calibrated_probability(link, moments[[1]], moments[[2]]))), 1e-5)
})

test_that("the names of coefficients tell what they are multiplied by", {
  fit <- bkm(y ~ x1 + g, transform(d, g = factor(rep(c("a", "b"), 40))), threads = 1)
  sd <- stats::sd(d$x1)
  table <- plot_data(fit, "coef")
  expect_equal(table$per, c(sd, 1))
  expect_equal(table$estimate / table$per, unname(coef(fit)[table$term]))
  seen <- texts(plot(fit, "coef"))
  expect_true(sprintf("x1 (per sd, %s) ", format(sd, digits = 3)) %in% seen)
  expect_true("gb " %in% seen)
  expect_equal(plot_data(fit, "coef", scale = "data")$estimate, unname(coef(fit)[table$term]))
})

test_that("misclassified rows are in rings", {
  fit <- gpsvm(y ~ x1 + x2, d, inducing = 10, seed = 1, threads = 1, tune = FALSE)
  wrong <- sum(predict(fit, d) != d$y)
  expect_gt(wrong, 0)
  label <- sprintf("misclassified, %d of 80", wrong)
  expect_true(all(c(label, fit$levels) %in% texts(plot(fit, "boundary", threads = 1))))
  # Rows without labels are neither right nor wrong.
  seen <- texts(plot(fit, "boundary", newdata = d[c("x1", "x2")], threads = 1))
  expect_false(any(grepl("misclassified", seen)))
  skip_if_not_installed("ggplot2")
  expect_match(ggplot2::autoplot(fit, "boundary", threads = 1)$labels$caption, label)
})

test_that("a band of a process has what rows leave open in common", {
  set.seed(1)
  x <- matrix(rnorm(60 * 20), 60, dimnames = list(NULL, paste0("v", 1:20)))
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  fit <- gpsvm(
    x, x[, 1] > rnorm(60), kernel = rbf(3, variance = 9), tune = FALSE, inducing = 10, seed = 1,
    threads = 1
  )
  # Far from the rows all are nearly the same place.
  rows <- x[1:40, ] / 100
  rows[, 1] <- 5
  at <- plot(fit, "partial", newdata = rbind(rows, x), pars = "v1", threads = 1)
  rows <- new_rows(fit, rows)
  one <- with_seed(1, latent_draws(fit, rows, 2000L, threads = 1L))$f
  all <- with_seed(1, partial_draws(fit, rows, 1L, 2000L, 1L))$f
  expect_equal(sd(rowMeans(all)), mean(apply(one, 2, sd)), tolerance = 0.05)
  expect_lt(sd(rowMeans(one)), 0.9 * sd(rowMeans(all)))
  expect_true(all(at$lwr < at$fit & at$fit < at$upr))
})

test_that("an inclusion path is drawn with no names, and with one prior", {
  fit <- bsvm(
    wide[, 1:4], d$y, select = TRUE, prior = bsvm_prior(rho = 0.3), threads = 1, method = "vb"
  )
  # Nor does the package have to be attached.
  fit$call[[1]] <- quote(no_such_function)
  path <- inclusion_path(fit, c(0.5, 0.1))
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_error(plot(path, names = 0), NA)
  expect_error(plot(inclusion_path(fit, 0.1)), NA)
  expect_bk_error(plot(path, main = 3), "argument", "main")
  expect_bk_error(plot(path, names = -1), "argument", "names")
})

test_that("curves are drawn with another decimal sign", {
  old <- options(OutDec = ",")
  on.exit(options(old))
  rows <- data.frame(x = seq(0.5, 15, 0.5), g = gl(2, 15))
  rows$y <- sin(rows$x)
  fit <- bkm(y ~ x + g, rows, threads = 1)
  expect_error(texts(plot(fit, "partial")), NA)
})

test_that("functions of mkprobit() and bark() are drawn at all rows of a partial plot together", {
  d <- iris[seq(1, 150, by = 5), ]
  two <- droplevels(iris[seq(51, 150, by = 4), ])
  fits <- list(
    mkprobit(Species ~ Petal.Length + Sepal.Width, d, tune = FALSE, threads = 1),
    mkprobit(Species ~ Petal.Length + Sepal.Width, two, tune = FALSE, threads = 1),
    quick_bark(Sepal.Width ~ Petal.Length + Sepal.Length, d)
  )
  # Beyond the rows, where much is open; the same row twice is the same function.
  far <- iris[c(1, 1, 150), ]
  far[c("Petal.Length", "Sepal.Width", "Sepal.Length")] <- c(9, 9, 2)
  for (fit in fits) {
    rows <- new_rows(fit, far, "none", TRUE)
    draws <- with_seed(1, partial_draws(fit, rows, 1L, 400L, 1L))
    f <- array(draws$f, c(400, 3, length(draws$f) / 1200))
    expect_equal(f[, 1, ], f[, 2, ], tolerance = 1e-4)
    if (inherits(fit, "bark")) next
    exact <- latent(fit, rows, character(), 1L)
    expect_equal(apply(f, 2:3, stats::sd), sqrt(as.matrix(exact$var)),
      tolerance = 0.2, ignore_attr = TRUE
    )
  }
  # Probabilities are those of the functions that were drawn.
  rows <- new_rows(fits[[1]], far, "none", TRUE)
  draws <- with_seed(1, partial_draws(fits[[1]], rows, 1L, 2000L, 1L))
  expect_equal(
    apply(draws$probability(), 2:3, mean), latent(fits[[1]], rows, "probit", 1L)$prob$probit,
    tolerance = 0.1, ignore_attr = TRUE
  )
})

test_that("of many classes those that change most have colors and names at their curves", {
  curve <- data.frame(
    value = rep(1:2, 7), class = rep(letters[1:7], each = 2),
    fit = c(0.1, 0.2, 0.3, 0.1, 0, 0, 0, 0.1, 0.2, 0.25, 0.1, 0.7, 0.3, 0.1)
  )
  expect_equal(told_classes(list(curve), letters[1:7]), c(1, 2, 4, 6, 7))
  expect_equal(told_classes(list(curve[1:6, ]), letters[1:3]), 1:3)
  expect_equal(diff(sort(apart(c(3, 1, 1), 0.5))), c(0.5, 1.5))
  expect_equal(mean(apart(c(3, 1, 1), 0.5)), 5 / 3)
  d <- data.frame(x = rep(1:21, 2), y = factor(rep(letters[1:7], each = 6)))
  fit <- mkprobit(y ~ x, d, tune = FALSE, threads = 1)
  seen <- texts(plot(fit, "partial", threads = 1))
  expect_length(intersect(seen, letters[1:7]), 5)
  expect_true("gray: classes that change less" %in% seen)
})

test_that("a process of three variables is drawn by its partial effects", {
  d <- data.frame(x = sin(1:40), z = cos(1:40), v = sin(3 * (1:40)))
  fit <- bkm(x + z > 0.1 ~ gp(x, z, v), d, threads = 1)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_identical(plot(fit), plot_data(fit, "partial"))
  expect_bk_error(plot(fit, "smooth"), "argument", "\"partial\"")
})

test_that("the largest coefficients are drawn where all medians are 0", {
  x <- with_seed(1, matrix(stats::rnorm(100 * 35), 100, dimnames = list(NULL, paste0("v", 1:35))))
  fit <- suppressWarnings(bsvm(x, x[, 34] > 0.3 * x[, 1], select = TRUE, threads = 1))
  shown <- shown_coefficients(fit, plot_data(fit, "coef"))
  sizes <- abs(coef(fit, scale = "model")[-1])
  expect_setequal(plot_data(fit, "coef")$term[shown$rows], names(sort(-sizes))[1:30])
})
