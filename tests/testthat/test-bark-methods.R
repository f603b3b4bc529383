# What fits of bark() answer, beyond what every fit does (test-contract.R).

d <- bark_data()
x <- bark_matrix(d)
number <- quick_bark(y ~ a + b + g, d, model = TRUE)
chosen <- quick_bark(y ~ a + b + g, d, select = TRUE)
two <- quick_bark(two ~ a + b, d, family = "binomial", select = TRUE)
three <- quick_bark(three ~ a + b, d, family = "ordinal")
blocks <- quick_bark(
  unname(cbind(x, x^2)), d$y, select = TRUE, structure = markov(0.4, 0.3, hyper = c(2, 1, 2, 1))
)

test_that("draws have the variables that the fit is about", {
  names <- function(fit) dimnames(fit$draws)[[3]]
  f <- sprintf("f[%d]", 1:10)
  expect_equal(names(number), c(
    "sigma", "phi", "J", "m", "T", "log_lik", "epsilon", f,
    sprintf("lambda[1,%s]", c("a", "b", "gu", "gv", "gw")),
    sprintf("lambda[2,%s]", c("a", "b", "gu", "gv", "gw"))
  ))
  expect_equal(names(two), c("J", "m", "d", "T", "log_lik", f, "lambda[a]", "lambda[b]"))
  expect_equal(
    names(three), c("J", "m", "T", "log_lik", "cut[1]", "cut[2]", f, "lambda[a]", "lambda[b]")
  )
  expect_equal(names(blocks), c(
    "sigma", "phi", "J", "m", "d", "T", "log_lik", "epsilon", "q0", "q1", f,
    sprintf("lambda[x%d]", 1:4)
  ))
  expect_equal(dim(number$draws), c(40L, 2L, 27L))
})

test_that("draws agree with each other", {
  for (fit in list(number, chosen, two, three, blocks)) {
    flat <- as.matrix(fit)
    scales <- flat[, startsWith(colnames(flat), "lambda[")]
    expect_equal(flat[, "T"], rowSums(scales))
    if (fit$select) expect_equal(flat[, "d"], rowSums(scales > 0))
    kernels <- join_kernels(fit$posterior$kernels)
    expect_equal(as.double(kernels$size), unname(flat[, "m"]))
    expect_true(all(flat[, "J"] >= flat[, "m"]))
    expect_equal(sum(kernels$size), length(kernels$mean))
    # No location twice in a draw.
    draw <- rep(seq_along(kernels$size), kernels$size)
    expect_false(anyDuplicated(cbind(draw, kernels$location)) > 0)
  }
  flat <- as.matrix(number)
  expect_equal(flat[, "sigma"], sd(d$y) / sqrt(flat[, "phi"]))
  flat <- bark_scales(blocks)
  expect_true(all(apply(flat, 1, function(row) length(unique(row[row > 0])) <= 1)))
})

test_that("scales of several vectors are means over the kernels", {
  core <- bark_core_draws(number)
  last <- cumsum(core$kernels$size)
  found <- bark_scales(number)
  expect_equal(colnames(found), number$columns)
  for (k in c(1, 33, 80)) {
    at <- core$kernels$location[last[k] + 1 - seq_len(core$kernels$size[k])]
    first <- mean(at[at > 0] <= 60)
    lambda <- core$lambda[k, ]
    expect_equal(unname(found[k, ]), first * lambda[1:5] + (1 - first) * lambda[6:10])
  }
  # Both are in use.
  expect_gt(mean(core$kernels$location > 60), 0.05)
  expect_gt(mean(core$kernels$location <= 60), 0.05)
  # A draw without kernels weighs both alike.
  expect_equal(
    vector_shares(list(size = c(0L, 2L), location = c(7, 61)), 60, 2),
    rbind(c(0.5, 0.5), c(0.5, 0.5))
  )
  expect_equal(
    vector_shares(list(size = c(1L, 2L), location = c(0, 61, 120)), 60, 2),
    rbind(c(0.5, 0.5), c(0, 1))
  )
})

test_that("how many vectors of scales there are", {
  vectors <- function(...) {
    fit <- quick_bark(y ~ a + b, d, ndraws = 2, warmup = 5, ...)
    sum(startsWith(dimnames(fit$draws)[[3]], "lambda[")) / 2
  }
  expect_equal(vectors(), 2)
  expect_equal(vectors(prior = bark_prior(vectors = 3)), 3)
  expect_equal(vectors(prior = bark_prior(vectors = 1)), 1)
  expect_equal(vectors(prior = bark_prior(gamma = 5, epsilon = 0.5)), 1)
  expect_equal(vectors(scales = "equal"), 1)
  expect_equal(vectors(select = TRUE), 1)
  for (other in list(list(scales = "equal"), list(select = TRUE))) {
    expect_error(
      do.call(vectors, c(other, list(prior = bark_prior(vectors = 2)))),
      class = "bayeskernel_error_prior"
    )
  }
  for (wrong in list(0, 1.5, "2", c(1, 2), NA)) {
    expect_error(bark_prior(vectors = wrong), class = "bayeskernel_error_prior")
  }
  three <- quick_bark(two ~ a + b, d, family = "binomial", prior = bark_prior(vectors = 2))
  expect_equal(sum(startsWith(dimnames(three$draws)[[3]], "lambda[")), 4)
  expect_match(paste(format(bark_prior(vectors = 2)), collapse = " "), "of each of 2 vectors")
})

test_that("how many rows kernels are to reach", {
  reach <- function(...) quick_bark(y ~ a + b, d, ndraws = 2, warmup = 5, ...)$prior$reach
  expect_equal(reach(), nrow(d) / 2)
  expect_equal(reach(scales = "equal"), nrow(d) / 2)
  many <- d[rep_len(seq_len(nrow(d)), 130), ]
  expect_equal(quick_bark(y ~ a, many, ndraws = 2, warmup = 5)$prior$reach, 60)
  expect_equal(reach(select = TRUE), 0)
  expect_equal(reach(prior = bark_prior(gamma = 5, epsilon = 0.5)), 0)
  expect_equal(reach(prior = bark_prior(reach = 7.5)), 7.5)
  expect_equal(reach(select = TRUE, prior = bark_prior(reach = 0)), 0)
  expect_error(
    reach(select = TRUE, prior = bark_prior(reach = 10)),
    "reach = 10 with select = TRUE", class = "bayeskernel_error_prior"
  )
  for (wrong in list(-1, "2", c(1, 2), NA, Inf)) {
    expect_error(bark_prior(reach = wrong), class = "bayeskernel_error_prior")
  }
  expect_match(format(bark_prior(reach = 20))[["reach"]], "exp(-(20 / rows", fixed = TRUE)
  expect_false("reach" %in% names(format(bark_prior(reach = 0))))
})

test_that("kernels that reach few rows are rare under the prior", {
  # One predictor without any effect: what the prior says is left.
  x <- matrix(seq(-1.7, 1.7, length.out = 12))
  y <- rep(c(-1, 1), 6)
  scales <- function(reach) {
    fit <- quick_bark(
      x, y, family = "gaussian", ndraws = 2000, warmup = 500, thin = 5, seed = 3,
      prior = bark_prior(gamma = 0.01, epsilon = 0.01, reach = reach, lambda_rate = 0.05)
    )
    quantile(fit$draws[, , "lambda[x1]"], 0.95)
  }
  # lambda is exponential: of rate 0.05, and with the factor exp(-(6 / 12)^2 (1 + 4 lambda)) of rate
  # 1.05.
  expect_lt(abs(scales(0) / qexp(0.95, 0.05) - 1), 0.15)
  expect_lt(abs(scales(6) / qexp(0.95, 1.05) - 1), 0.15)
})

test_that("f at the reference rows is f there", {
  for (fit in list(number, two)) {
    at <- fit$reference
    expect_equal(fit$posterior$reference, at)
    moments <- plain_bark_moments(fit, bark_scaled(fit, d), bark_scaled(fit, d[at, ]))
    to_data <- fit$transform$response
    flat <- as.matrix(fit)[, sprintf("f[%d]", 1:10)]
    # Given the rest of a draw, f is its mean.
    expect_equal(unname(flat), to_data[1] + to_data[2] * moments$mean, tolerance = 1e-8)
    # The summary has its whole spread.
    table <- summary(fit)$parameters[sprintf("f[%d]", 1:10), ]
    se <- predict(fit, d[at, ], prediction_type(fit, NULL, TRUE), se.fit = TRUE)
    expect_equal(unname(table[, "SD"]), se$se.fit)
    between <- apply(flat, 2, function(f) sqrt(mean((f - mean(f))^2)))
    expect_true(all(table[, "SD"] > between))
  }
})

test_that("reference rows do not depend on the order of the rows", {
  turned <- quick_bark(y ~ a + b + g, d[60:1, ])
  expect_equal(61L - turned$reference, number$reference)
  expect_equal(d$y[number$reference[c(1, 10)]], range(d$y))
  expect_false(is.unsorted(d$y[number$reference]))
})

test_that("predictions are averages over the draws", {
  for (fit in list(number, two, three)) {
    new <- d[c(3, 17, 30), ]
    moments <- plain_bark_moments(fit, bark_scaled(fit, d), bark_scaled(fit, new))
    to_data <- fit$transform$response
    mean <- to_data[1] + to_data[2] * colMeans(moments$mean)
    n <- nrow(moments$mean)
    between <- colMeans(moments$mean^2) - colMeans(moments$mean)^2
    # The variance of the means has divisor D or D - 1.
    sd <- to_data[2] * sqrt(colMeans(moments$var) + between)
    ours <- predict(fit, new, if (is_regression(fit)) "response" else "link", se.fit = TRUE)
    expect_equal(ours$fit, mean, tolerance = 1e-8)
    expect_equal(ours$se.fit, sd, tolerance = 1 / n)
    if (is_regression(fit)) next
    cuts <- cbind(-Inf, if (ncol(moments$cuts)) moments$cuts else 0, Inf)
    chance <- vapply(seq_along(fit$levels), function(k) {
      spread <- sqrt(1 + moments$var)
      colMeans(
        pnorm((cuts[, k + 1] - moments$mean) / spread) - pnorm((cuts[, k] - moments$mean) / spread)
      )
    }, numeric(3))
    expect_equal(predict(fit, new, type = "prob"), chance, tolerance = 1e-8, ignore_attr = TRUE)
  }
})

test_that("intervals hold what they say", {
  new <- d[1:5, ]
  for (level in c(0.5, 0.9)) {
    out <- predict(number, new, interval = "credible", level = level, seed = 1)
    expect_equal(colnames(out), c("fit", "lwr", "upr"))
    expect_equal(out[, "fit"], predict(number, new), ignore_attr = TRUE)
    draws <- predict(number, new, draws = TRUE, seed = 1)
    tails <- apply(draws, 2, quantile, c(1 - level, 1 + level) / 2)
    expect_equal(unname(t(tails)), unname(out[, c("lwr", "upr")]))
  }
  expect_identical(
    predict(number, d, interval = "prediction", seed = 3),
    predict(number, interval = "prediction", seed = 3)
  )
  credible <- predict(number, new, interval = "credible", seed = 1)
  wide <- predict(number, new, interval = "prediction", seed = 1)
  expect_true(all(wide[, "upr"] - wide[, "lwr"] > credible[, "upr"] - credible[, "lwr"]))
  y <- predict(number, new, draws = TRUE, interval = "prediction", seed = 2)
  f <- predict(number, new, draws = TRUE, seed = 2)
  sigma <- mean(number$draws[, , "sigma"]^2)
  expect_equal(mean(apply(y, 2, var) - apply(f, 2, var)), sigma, tolerance = 0.4)
})

test_that("rows with holes keep their place in intervals", {
  holed <- d[1:4, ]
  holed$b[2] <- NA
  out <- predict(number, holed, interval = "prediction", seed = 1)
  expect_equal(unname(which(is.na(out[, "lwr"]))), 2L)
  expect_equal(dim(predict(number, d[0, ], interval = "credible")), c(0L, 3L))
  expect_length(predict(number, d[0, ]), 0L)
})

test_that("draws may be fewer, of ordered classes an array", {
  some <- predict(number, d, draws = TRUE, ndraws = 7, seed = 1)
  expect_equal(dim(some), c(7L, 60L))
  all <- predict(two, d, "prob", draws = TRUE, seed = 1)
  expect_equal(dim(all), c(80L, 60L))
  expect_equal(all, pnorm(predict(two, d, draws = TRUE, seed = 1)))
  expect_equal(dim(predict(three, d, "prob", draws = TRUE)), c(80L, 60L, 3L))
  expect_equal(dim(predict(three, d, draws = TRUE)), c(80L, 60L))
})

test_that("ordered classes come back ordered", {
  out <- predict(three, d)
  expect_s3_class(out, "ordered")
  expect_equal(levels(out), levels(d$three))
  p <- predict(three, d, "prob", se.fit = TRUE)
  expect_equal(rowSums(p$fit), rep(1, 60))
  expect_equal(dim(p$se.fit), dim(p$fit))
  expect_equal(colnames(p$se.fit), levels(d$three))
  # Of each class the deviation of the draws.
  draws <- vapply(1:40, function(seed) {
    predict(three, d, "prob", draws = TRUE, seed = seed)
  }, array(0, c(80L, 60L, 3L)))
  own <- apply(draws, 2:3, stats::sd)
  expect_equal(colMeans(p$se.fit), colMeans(own), tolerance = 0.03, ignore_attr = TRUE)
})

test_that("thresholds move the class of two", {
  p <- predict(two, d, "prob")[, 2]
  expect_equal(predict(two, d, threshold = 0.9) == "hi", p >= 0.9)
  expect_equal(predict(two, d, threshold = "prevalence") == "hi", p >= mean(d$two == "hi"))
})

test_that("residuals are what is left", {
  expect_equal(residuals(number), d$y - fitted(number))
  expect_equal(residuals(number, "pearson"), residuals(number) / mean(number$draws[, , "sigma"]))
  t <- as.numeric(d$two == "hi")
  p <- fitted(two)
  expect_equal(residuals(two), t - p)
  expect_equal(residuals(two, "pearson"), (t - p) / sqrt(p * (1 - p)))
  own <- fitted(three)[cbind(1:60, as.integer(d$three))]
  expect_equal(residuals(three), 1 - own)
})

test_that("inclusion is the share of draws with the predictor", {
  expect_equal(inclusion(chosen), colMeans(bark_scales(chosen) > 0))
  expect_named(inclusion(chosen), c("a", "b", "gu", "gv", "gw"))
  expect_bark_refusal(inclusion(number), "argument", "select = TRUE")
})

test_that("the summary has the agreed tables", {
  for (fit in list(number, chosen, two, three, blocks)) {
    s <- summary(fit)
    expect_equal(colnames(s$parameters), c("Estimate", "SD", "2.5 %", "97.5 %", "R-hat", "ESS"))
    flat <- as.matrix(fit)
    expect_equal(s$parameters[, "Estimate"], colMeans(flat[, rownames(s$parameters)]))
    expect_setequal(rownames(s$scales), fit$columns)
    expect_equal("Inclusion" %in% colnames(s$scales), fit$select)
    first <- if (fit$select) s$scales[, "Inclusion"] else s$rows$scales$range
    expect_false(is.unsorted(-first))
    expect_equal(sum(s$kernels$posterior), 1)
    expect_equal(sum(s$kernels$kernels * s$kernels$posterior), mean(flat[, "J"]))
    expect_true(all(s$acceptance >= 0 & s$acceptance <= 1, na.rm = TRUE))
    text <- capture.output(print(s))
    expect_lt(max(nchar(text)), 80)
    expect_lt(max(nchar(capture.output(print(fit)))), 80)
  }
  expect_match(capture.output(print(summary(blocks))), "predictors in .* blocks", all = FALSE)
})

test_that("the prior of the number of kernels is the Poisson cut at its top", {
  few <- quick_bark(y ~ a, d, prior = bark_prior(max_kernels = 6))
  table <- summary(few)$kernels
  expect_equal(table$kernels, 0:6)
  expect_equal(sum(table$prior), 1)
  expect_equal(table$prior[5] / table$prior[4], 30 / 4)
  expect_lte(max(few$draws[, , "J"]), 6)
})

test_that("tidy tables have their rows", {
  out <- tidy(chosen, conf.int = TRUE)
  expect_equal(out$estimate[out$effect == "scale"], unname(colMeans(bark_scales(chosen))))
  expect_equal(out$inclusion[out$effect == "scale"], unname(inclusion(chosen)))
  expect_true(all(is.na(out$inclusion[out$effect == "parameter"])))
  row <- glance(number)
  expect_equal(row$kernels, mean(number$draws[, , "J"]))
  expect_equal(row$sigma, mean(number$draws[, , "sigma"]))
  own <- augment(number)
  expect_equal(own$.fitted, fitted(number))
  expect_equal(augment(number, newdata = d)$.se.fit, predict(number, d, se.fit = TRUE)$se.fit)
})

test_that("update() changes what it is told", {
  fit <- quick_bark(y ~ a, d)
  call <- quote(bark(
    y ~ a, d, ndraws = 40, chains = 2, control = list(warmup = 300, thin = 5, progress = FALSE),
    threads = 1, seed = 11
  ))
  direct <- suppressWarnings(eval(call))
  expect_identical(direct$draws, fit$draws)
  longer <- suppressWarnings(update(direct, ndraws = 50, control = list(resume = direct)))
  expect_equal(dim(longer$draws)[1], 50L)
  wider <- suppressWarnings(update(direct, . ~ . + b))
  expect_equal(wider$columns, c("a", "b"))
})

test_that("draws go to coda with their sweeps", {
  chains <- as.mcmc.list(number)
  expect_length(chains, 2L)
  expect_equal(coda::varnames(chains), dimnames(number$draws)[[3]])
  expect_equal(unname(attr(chains[[1]], "mcpar")), c(305, 500, 5))
  skip_if_not_installed("posterior")
  expect_equal(posterior::nvariables(posterior::as_draws(number)), 27L)
})

test_that("formula, matrix and data frame give the same fit", {
  by_formula <- quick_bark(y ~ a + b, d)
  by_matrix <- quick_bark(x, d$y)
  by_frame <- quick_bark(d[c("a", "b")], d$y)
  expect_identical(by_matrix$draws, by_formula$draws)
  expect_identical(by_frame$draws, by_formula$draws)
  expect_equal(predict(by_matrix, x[, 2:1]), predict(by_formula, d))
  expect_equal(predict(by_frame, d), predict(by_formula, d))
  mixed <- quick_bark(d[c("a", "g")], d$y)
  expect_equal(mixed$draws, quick_bark(y ~ a + g, d)$draws, ignore_attr = TRUE)
})

test_that("the units of the data do not matter", {
  # Of small coefficients: large ones of opposite sign multiply the rounding errors of scale() until
  # a jump is decided otherwise.
  prior <- bark_prior(gamma = 5, epsilon = 0.5)
  units <- transform(d, a = 100 - 3 * a, b = b / 1000, y = 5 + 1000 * y)
  first <- quick_bark(y ~ a + b + g, d, prior = prior)
  again <- quick_bark(y ~ a + b + g, units, prior = prior)
  expect_equal(again$draws[, , "sigma"], 1000 * first$draws[, , "sigma"], tolerance = 1e-6)
  expect_equal(bark_scales(again), bark_scales(first), tolerance = 1e-6)
  expect_equal(predict(again, units), 5 + 1000 * predict(first, d), tolerance = 1e-6)
  raw <- quick_bark(scale(x), d$y, standardize = FALSE, prior = prior)
  expect_equal(raw$draws, quick_bark(x, d$y, prior = prior)$draws, tolerance = 1e-6)
})

test_that("slopes beside a linear part are those of f", {
  set.seed(4)
  rows <- data.frame(a = rnorm(90), b = 3 * rnorm(90), g = gl(9, 10))
  rows$y <- 0.8 * rows$a + sin(rows$b) + rnorm(9)[rows$g] + rnorm(90) / 3
  fit <- quick_bark(y ~ a + b + (1 | g), rows, linear = TRUE)
  table <- tidy(fit)
  slopes <- table[startsWith(table$term, "slope"), ]
  expect_identical(slopes$term, c("slope[a]", "slope[b]"))
  # The plane closest to the mean of f at the rows.
  f <- predict(fit, rows, type = "link", re.form = NA)
  plane <- coef(lm(f ~ a + b, rows))[-1]
  expect_equal(slopes$estimate, unname(plane), tolerance = 0.03)
  # As uncertain as in a linear model with the same residuals, about.
  by_lm <- lm(y - sin(b) ~ a + b + g, rows)
  expect_equal(slopes$std.error[1], summary(by_lm)$coefficients["a", 2], tolerance = 0.5)
  expect_true(any(grepl("slope of f along a", capture.output(summary(fit)))))
  expect_false(any(startsWith(tidy(number)$term, "slope")))
})

test_that("predictors stand in the order of their partial effects, which the head says", {
  set.seed(1)
  d <- data.frame(narrow = runif(80), wide = runif(80), none = runif(80))
  # A small effect that bends much, and a large one that hardly bends.
  d$y <- 3 * d$wide + 0.3 * sin(12 * d$narrow) + rnorm(80, 0, 0.1)
  fit <- suppressWarnings(bark(
    y ~ narrow + wide + none, d, chains = 1, ndraws = 200, threads = 1, seed = 1,
    control = list(warmup = 2000, progress = FALSE)
  ))
  scales <- summary(fit)$scales
  expect_gt(scales["narrow", "Estimate"], scales["wide", "Estimate"])
  expect_identical(rownames(scales), c("wide", "narrow", "none"))
  expect_output(print(fit), "by the range of their partial effects")
  expect_output(print(fit), "Range")
  # That of the curve that plot() has.
  at <- d[rep(1:80, 2), ]
  at$wide <- rep(stats::quantile(d$wide, c(0.05, 0.95), type = 1), each = 80)
  curve <- diff(colMeans(matrix(predict(fit, at), 80)))
  expect_equal(partial_ranges(fit)[["wide"]], curve, tolerance = 0.1)
  # Fits of before have them.
  old <- fit
  old$partial_range <- partial_ranges(fit, threads = 1)
  expect_identical(capture.output(print(stamped(old))), capture.output(print(fit)))
})
