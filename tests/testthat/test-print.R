printed <- function(code) utils::capture.output(code)

test_that("a coefficient table keeps names, order and decimals", {
  table <- coef_table(c(a = 1.23456, b = -12), c(0.1, 2))
  expect_identical(colnames(table), c("Estimate", "SD", "2.5 %", "97.5 %"))
  expect_equal(table["a", 3:4], 1.23456 + c(-1, 1) * qnorm(0.975) * 0.1, ignore_attr = TRUE)
  lines <- printed(print_coef_table(table, digits = 3))
  expect_match(lines[2], "^a +1.23 +0.10 +1.04 +1.43$")
  expect_match(lines[3], "^b +-12.00 +2.00 +-15.92 +-8.08$")
})

test_that("digits are significant: one more is one decimal more", {
  table <- coef_table(c(a = 1.23456, b = -12), c(0.12345, 2))
  decimals <- vapply(2:7, function(digits) {
    row <- strsplit(trimws(printed(print_coef_table(table, digits = digits))[2]), " +")[[1]]
    unique(nchar(sub("^.*[.]", "", row[-1])))
  }, 1L)
  expect_identical(decimals, 1:6)
  # The largest number has as many.
  large <- coef_table(c(a = 123.456), 100)
  expect_match(printed(print_coef_table(large, digits = 4))[2], "^a +123.5 ")
  fit <- bkm(dist ~ speed, cars, threads = 1)
  with_option <- function(digits) {
    old <- options(digits = digits)
    on.exit(options(old))
    printed(print(fit))
  }
  expect_identical(with_option(9), printed(print(fit, digits = 5)))
  expect_false(identical(with_option(9), with_option(7)))
  noise <- function(digits) grep("^Noise", printed(print(fit, digits = digits)), value = TRUE)
  expect_identical(noise(2), paste("Noise: sd", format(sigma(fit), digits = 2)))
})

test_that("the head says the link that the title does not", {
  d <- data.frame(x = c(-1.2, 0.3, 0.8, -0.4, 1.5, -0.9), y = c(0, 1, 0, 0, 1, 1) == 1)
  head <- function(fit) grep("^Rows", printed(print(fit)), value = TRUE)
  fit <- bsvm(y ~ x, d, threads = 1)
  expect_match(head(fit), "; link: calibrated$")
  stream <- seqkr(y ~ x, d, particles = 20, seed = 1, threads = 1)
  expect_match(head(stream), "; link: probit$")
  expect_no_match(head(bkm(y ~ x, d, threads = 1)), "link")
})

test_that("the level of a table names its columns", {
  table <- coef_table(c(a = 0), 1, level = 0.9)
  expect_identical(colnames(table)[3:4], c("5 %", "95 %"))
})

test_that("a table of draws has quantiles and diagnostics", {
  set.seed(1)
  draws <- array(rnorm(4000), c(1000, 4, 1), list(NULL, NULL, "x"))
  table <- draws_table(draws)
  expect_equal(table[, "2.5 %"], quantile(draws, 0.025), ignore_attr = TRUE)
  found <- convergence_table(draws)
  expect_identical(table[["x", "R-hat"]], found$rhat)
  expect_identical(table[["x", "ESS"]], min(found$ess_bulk, found$ess_tail))
})

test_that("every line stays below 80 columns and long tables are cut", {
  set.seed(2)
  names <- sprintf("b[%s patient:%d]", strrep("long_name_", 6), 1:200)
  table <- cbind(coef_table(setNames(rnorm(200), names), rexp(200)), "R-hat" = 1, "ESS" = 4000)
  lines <- printed({
    print_header("Title", call("bsvm", as.name(strrep("y", 50)), 1:50),
      list(Dropped = names, Rows = 3)
    )
    print_coef_table(table)
  })
  expect_true(all(nchar(lines) < 80))
  expect_match(lines[length(lines)], "150 rows more")
})

test_that("variance components print variances, deviations, correlations", {
  sigma <- matrix(c(4, 3, 3, 9), 2, dimnames = rep(list(c("1", "time")), 2))
  x <- new_varcorr(list(g = sigma))
  expect_equal(attr(x$g, "stddev"), c("1" = 2, time = 3))
  expect_equal(attr(x$g, "correlation")[2, 1], 0.5)
  lines <- printed(print(x))
  expect_match(lines[2], "g +1 +4 +2")
  expect_match(lines[3], "time +9 +3 +0.50")
  frame <- as.data.frame(x)
  expect_identical(frame$var2, c(NA, NA, "time"))
  expect_equal(frame$vcov, c(4, 9, 3))
  expect_equal(frame$sdcor, c(2, 3, 0.5))
})

test_that("coefficients that a penalty shrinks are printed as such", {
  rows <- data.frame(x = sin(1:30), y = cos(1:30) + sin(1:30))
  shrunk <- bkm(y ~ x, rows, penalty = "learn", threads = 1)
  expect_output(print(shrunk), "Fixed coefficients, shrunk by `penalty`:", fixed = TRUE)
  expect_output(print(summary(shrunk)), "shrunk by `penalty`", fixed = TRUE)
  expect_output(print(shrunk), "Bayesian Gaussian regression, expectation", fixed = TRUE)
  rows$g <- rep(letters[1:6], 5)
  mixed <- bkm(I(y > 0) ~ x + (1 | g), rows, threads = 1)
  expect_output(print(mixed), "Bayesian logistic mixed model, expectation", fixed = TRUE)
  free <- bkm(y ~ x, rows, threads = 1)
  expect_output(print(free), "Fixed coefficients:", fixed = TRUE)
  expect_output(print(free), "Noise: sd ", fixed = TRUE)
  expect_false(any(grepl("Noise", printed(print(summary(free))))))
})

test_that("print() shows the formula itself, and a long call whole", {
  rows <- data.frame(x = sin(1:30), y = cos(1:30) + sin(1:30))
  formulas <- list(y ~ x)
  lines <- printed(bkm(formulas[[1]], rows, threads = 1, control = bkm_control(tol = 1e-8)))
  call <- paste(trimws(lines[2:3]), collapse = " ")
  expect_identical(call, paste(
    "Call: bkm(formula = y ~ x, data = rows, threads = 1,", "control = bkm_control(tol = 1e-08))"
  ))
  expect_false(any(endsWith(lines, "=")))
})

test_that("heads have four lines: no data and no long formula in the call of any model", {
  short <- list(ndraws = 20, chains = 1, until = NULL, control = list(warmup = 20))
  models <- list(
    bkm = list(), bsvm = list(method = "vb"), gpsvm = list(tune = FALSE, inducing = 10),
    mkprobit = list(tune = FALSE), bark = short, klr = short,
    seqkr = list(particles = 10, tune = FALSE)
  )
  rows <- data.frame(y = rep(0:1, 20), matrix(sin(1:800), 40))
  for (name in names(models)) {
    if (name %in% c("gpsvm", "mkprobit")) rows$y <- factor(rows$y)
    made <- function(...) {
      fit <- suppressWarnings(do.call(name, c(list(...), models[[name]], threads = 1)))
      lines <- printed(print(fit))
      lines[seq_len(which(lines == "")[1] - 1)]
    }
    lines <- made(y ~ ., rows)
    expect_match(lines[2], sprintf("Call: %s(formula = y ~ ., data = ...", name), fixed = TRUE)
    expect_lte(length(lines), 4)
    expect_match(made(as.matrix(rows[-1]), rows$y)[2], "(x = ..., y = ...", fixed = TRUE)
    long <- reformulate(sprintf("%s + log(1 + %s^2)", names(rows)[-1], names(rows)[-1]), "y")
    lines <- made(long, rows)
    expect_lte(length(lines), 4)
    expect_match(lines[3], "[.]{3}$")
  }
  dots <- y ~ .
  expect_match(printed(bsvm(dots, rows, method = "vb", threads = 1))[2], "formula = dots")
})

test_that("lines break between arguments and after units, not within", {
  text <- "rbf(lengthscale = 0.718, variance = 120) 46.7 % d[1:3, ]"
  for (width in 8:40) {
    lines <- wrapped(text, width)
    expect_identical(paste(lines, collapse = " "), text)
    expect_no_match(lines, "=$|^=|^%|^\\]|1:3,$")
  }
})

test_that("print() says what importance sampling finds wrong, not in the title", {
  fit <- suppressWarnings(bkm(am ~ wt + hp, mtcars, threads = 1))
  fit$check$k <- 0.9
  found <- facts(fit)
  expect_identical(found[["Pareto k"]], "0.90, not trustworthy: use method = \"gibbs\"")
  expect_match(found$Posterior, "^expectation propagation, [0-9]+ passes$")
  fit$check$k <- 0.3
  expect_null(facts(fit)[["Pareto k"]])
  expect_match(facts(fit)$Posterior, "; Pareto k = 0.30, ok$")
})

test_that("print() tells the observations of weights, and the rows of extend()", {
  rows <- data.frame(x = sin(1:30), y = cos(1:30) + sin(1:30), n = rep(2:4, 10))
  expect_output(print(bkm(y ~ x, rows, weights = n, threads = 1)), "stand for 90 observations")
  fit <- extend(bkm(y ~ x, rows[1:20, ], threads = 1), rows[21:30, ], threads = 1)
  expect_output(print(fit), "Rows: 30 with those of extend()", fixed = TRUE)
})

test_that("a table of chosen columns shows its last row rather than count it", {
  rows <- data.frame(
    label = letters[1:10], estimate = 1, sd = 0.1, lower = 0.8, upper = 1.2, rhat = NA_real_,
    ess = NA_real_, inclusion = 0.01, prior = 0.01
  )
  expect_false(any(grepl("more", printed(print_chosen("Selected:", rows[1:9, ], 4, 15L)))))
  expect_match(printed(print_chosen("Selected:", rows, 4, 15L)), "and 2 more", all = FALSE)
})

test_that("titles of tables fit a narrow screen, and classes have no noise in their prior", {
  fit <- bkm(am ~ s(wt, k = 4), mtcars, threads = 1)
  old <- options(width = 40)
  on.exit(options(old))
  expect_true(all(nchar(printed(fit)) < 40))
  expect_true(all(nchar(printed(fit$prior)) < 40))
  expect_false(any(grepl("noise", printed(fit$prior))))
  expect_match(printed(bkm(mpg ~ wt, mtcars, threads = 1)$prior), "noise", all = FALSE)
})
