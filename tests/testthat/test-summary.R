# What summary(), print(), tidy() and their like have in common over models.

d <- grouped_data()
d$f <- factor(rep(c("u", "v", "w", "x"), 20))
linear <- bsvm(y ~ x1 + x2 + (1 | g), d, threads = 1, method = "vb")
sampled <- quick_gibbs(y ~ x1 + x2, d)
process <- gpsvm(y ~ x1 + x2, d, inducing = 12, seed = 1, threads = 1, method = "vb", tune = FALSE)
drawn <- quick_process(y ~ x1 + x2, d, inducing = 12)
kernels <- quick_bark(y ~ x1 + f, d, family = "binomial", select = TRUE)
number <- quick_bark(x2 ~ x1 + f, d)

test_that("an estimate lies in its interval, whatever the tail", {
  for (shape in c(0.3, 0.5, 0.51, 0.6, 0.9, 1.1, 3)) {
    row <- sd_row(shape, 2, 0.95)
    expect_true(row[1] > row[3] && row[1] < row[4], info = shape)
    expect_equal(is.na(row[2]), shape <= 1)
  }
  # The median of sigma is the root of that of the inverse gamma variance.
  row <- sd_row(0.5, 2, 0.95)
  expect_equal(pgamma(1 / row[[1]]^2, 0.5, 2), 0.5)
  vague <- bsvm_prior(var_shape = 0.01, var_rate = 0.01)
  one <- bsvm(y ~ x1, d, prior = vague, threads = 1, method = "vb")
  row <- summary(one)$variances["sd(penalty)", ]
  expect_true(row[1] > row[3] && row[1] < row[4])
  expect_output(print(summary(one)), "Without SD: a median")
  expect_output(print(summary(one)), "learned, sd [0-9.]+ of")
})

test_that("draws with a wild tail are summarised by their median", {
  table <- draws_table(cbind(s = c(1:99, 1e6)))
  out <- robust_rows(table, 50.5)
  expect_equal(out[1, 1:2], c(50.5, NA), ignore_attr = TRUE)
})

test_that("confint() of a sampler is what its summary shows", {
  for (fit in list(linear, sampled)) {
    table <- summary(fit)$coefficients
    expect_equal(confint(fit), table[, c("2.5 %", "97.5 %")])
  }
  expect_equal(
    confint(sampled, "x2", level = 0.5, type = "posterior")[1, ],
    quantile(as.matrix(sampled)[, "x2"], c(0.25, 0.75)), ignore_attr = TRUE
  )
  expect_equal(rownames(confint(linear, 2:3)), c("x1", "x2"))
  expect_bk_error(confint(linear, "x9"), "argument", "x9")
  expect_bk_error(confint(linear, 9), "argument", "x1")
  expect_bk_error(confint(linear, level = 1), "argument", "level")
})

test_that("fits without coefficients, or groups, say so", {
  for (fit in list(process, drawn, kernels, number)) {
    for (what in list(coef, vcov, fixef, confint)) {
      expect_bk_error(what(fit), "argument", "has no coefficients")
    }
    expect_bk_error(ranef(fit), "argument", "no random effects")
    expect_bk_error(VarCorr(fit), "argument", "no random effects")
  }
})

test_that("a process shows its latent function where it has points", {
  for (fit in list(process, drawn)) {
    table <- summary(fit)$parameters
    points <- table[sprintf("u[%d]", 1:12), ]
    draws <- as.matrix(fit, ndraws = 20000, seed = 1)
    expect_lt(max(abs(points[, 1] - colMeans(draws)) / points[, 2]), 0.05)
    expect_equal(unname(points[, 2]), unname(apply(draws, 2, sd)), tolerance = 0.05)
    expect_output(print(summary(fit, detail = TRUE)), "at the inducing points, 6 of 12")
  }
  expect_equal(
    setdiff(colnames(summary(drawn)$parameters), c("R-hat", "ESS")),
    colnames(summary(process)$parameters)
  )
  expect_equal(summary(drawn)$parameters["u[3]", "R-hat"], drawn$diagnostics$table$rhat[3])
})

test_that("tidy() has the same columns for every model", {
  columns <- c("effect", "group", "term", "estimate", "std.error", "conf.low", "conf.high")
  for (fit in list(linear, sampled, process, drawn, kernels, number)) {
    table <- tidy(fit, conf.int = TRUE)
    expect_equal(setdiff(names(table), "inclusion"), columns)
    inside <- table$estimate >= table$conf.low & table$estimate <= table$conf.high
    expect_true(all(inside, na.rm = TRUE))
  }
  expect_equal(nrow(tidy(process, "function")), 12L)
  expect_equal(nrow(tidy(kernels, "function")), 10L)
})

test_that("augment() leaves out the rows that the fit left out", {
  holed <- d
  holed$x1[c(3, 9)] <- NA
  for (fit in list(
    bsvm(y ~ x1, holed, na.action = na.exclude, threads = 1, model = TRUE, method = "vb"),
    gpsvm(
      y ~ x1, holed, na.action = na.exclude, threads = 1, seed = 1, model = TRUE, method = "vb",
      tune = FALSE
    ),
    quick_bark(y ~ x1, holed, family = "binomial", na.action = na.exclude, model = TRUE)
  )) {
    rows <- augment(fit)
    expect_equal(rows$x1, d$x1[-c(3, 9)], info = class(fit)[1])
    expect_equal(rows$.prob, unname(fitted(fit)[-c(3, 9)]))
    expect_equal(rows$.class, unname(predict(fit)[-c(3, 9)]))
    expect_equal(augment(fit, newdata = holed)$.prob[-3], fitted(fit)[-3],
      ignore_attr = TRUE, tolerance = 1e-6
    )
  }
})

test_that("every model is judged on new rows", {
  new <- d[1:30, ]
  for (fit in list(linear, process, kernels)) {
    found <- summary(fit, new)$measures
    expect_equal(found$error, mean(predict(fit, new) != new$y))
    expect_equal(found, summary(fit, new[names(new) != "y"], new$y)$measures)
    expect_output(print(summary(fit, new)), "Predictions for 30 rows")
  }
  found <- summary(number, new)$measures
  left <- new$x2 - predict(number, new)
  expect_equal(found$rmse, sqrt(mean(left^2)))
  expect_equal(found$r2, 1 - sum(left^2) / sum((new$x2 - mean(new$x2))^2))
})

test_that("a response of new rows that is none is refused", {
  for (fit in list(linear, process, kernels)) {
    expect_bk_error(summary(fit, d, y = mean), "argument", "y|labels")
    expect_bk_error(summary(fit, d, y = not_there), "argument", "not_there")
    expect_bk_error(summary(fit, d, y = "not_there"), "argument", "not_there")
    expect_bk_error(summary(fit, d, y = d$y[-1]), "dimension", "79")
    expect_bk_error(plot(fit, "calibration", newdata = d, y = not_there), "argument", "not_there")
  }
  expect_bk_error(summary(number, d[-3], y = letters), "argument", "number")
})

test_that("digits are a whole number that printing can do", {
  for (object in list(
    linear, summary(linear), number, summary(drawn), ranef(linear), VarCorr(linear)
  )) {
    for (bad in list(0, 23, 2.5, "2", NA)) {
      expect_bk_error(print(object, digits = bad), "argument", "digits")
    }
    for (good in c(1, 22)) expect_output(print(object, digits = good))
  }
})

test_that("bark's summary begins with predictors and has words for letters", {
  for (fit in list(kernels, number)) {
    lines <- capture.output(print(summary(fit, detail = TRUE)))
    at <- function(text) grep(text, lines)[1]
    expect_lt(at("^Predictors, by"), at("^Other parameters"))
    expect_lt(at("places of kernels \\(m\\)"), at("f at row"))
    expect_false(any(grepl("varphi", lines)))
    expect_false(any(grepl("^ *s\\.?$", lines)))
  }
  expect_output(print(number), "R2 0\\.[0-9]+, root mean square error")
  expect_output(print(kernels), "error [0-9.]+ % on its own rows")
  expect_equal(
    own_fit(kernels), sprintf("error %.1f %% on its own rows", 100 * mean(predict(kernels) != d$y))
  )
})

test_that("moves that were never tried have no rate", {
  rates <- summary(number)$acceptance
  expect_true(is.na(rates[["flip"]]) && !is.nan(rates[["flip"]]))
  expect_output(print(summary(number, detail = TRUE)), "Not tried:.*flip")
})

test_that("a term is in when one of its columns is", {
  by <- function(fit) inclusion(fit, by = "term")
  expect_named(by(kernels), c("x1", "f"))
  columns <- bark_scales(kernels)[, -1] > 0
  expect_equal(by(kernels)[["f"]], mean(rowSums(columns) > 0))
  expect_equal(by(kernels)[["x1"]], inclusion(kernels)[["x1"]])
  formula <- y ~ poly(x1, 2) + f * x2
  vb <- bsvm(
    formula, d, select = TRUE, prior = bsvm_prior(rho = 0.3, inclusion = "column"), threads = 1,
    method = "vb"
  )
  expect_named(by(vb), c("poly(x1, 2)", "f", "x2", "f:x2"))
  # Over joint draws: indicators of levels depend on each other.
  drawn <- function(fit, names) {
    mean(apply(matrix(fit$draws[, , names], ncol = length(names)) != 0, 1, any))
  }
  each <- names(inclusion(vb))
  expect_equal(by(vb)[["f"]], drawn(vb, paste0("f", levels(d$f))))
  expect_equal(by(vb)[["f:x2"]], drawn(vb, each[8:11]))
  gibbs <- quick_gibbs(
    formula, d, select = ~ . - x2, prior = bsvm_prior(rho = 0.3, inclusion = "column")
  )
  expect_named(by(gibbs), c("poly(x1, 2)", "f", "f:x2"))
  draws <- as.matrix(gibbs)[, paste0("f", levels(d$f))]
  expect_equal(by(gibbs)[["f"]], mean(rowSums(draws != 0) > 0))
  x <- as.matrix(d[c("x1", "x2")])
  expect_named(by(bsvm(x, d$y, select = TRUE, threads = 1, method = "vb")), c("x1", "x2"))
  expect_bk_error(inclusion(vb, by = "factor"), "argument", "by")
  expect_bk_error(inclusion(linear), "argument", "select = TRUE")
})

test_that("names have the room that numbers leave", {
  long <- "treatmenttreatment_of_the_second_arm:gendermale"
  table <- coef_table(setNames(1:2, c("a", long)), c(0.1, 0.2))
  expect_output(print_coef_table(table), long, fixed = TRUE)
  table <- cbind(table, "R-hat" = 1, ESS = 4000, Inclusion = 0.5)
  lines <- capture.output(print_coef_table(table))
  expect_lt(max(nchar(lines)), 80)
})
