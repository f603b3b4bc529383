# Packages that compute effects: marginaleffects, emmeans, insight, and what frameworks for
# workflows call. Their numbers against those computed directly.

d <- transform(grouped_data(), arm = factor(rep_len(c("a", "b", "c"), 80)), off = x2 / 10)
# As fits of versions whose link was probit.
by_probit <- function(fit) {
  fit$link <- fit$stamp <- NULL
  fit
}
flat <- by_probit(bsvm(y ~ x1 * arm + x2, d, penalty = "none", threads = 1, method = "vb"))
mixed <- by_probit(bsvm(y ~ x1 + arm + s(x2, k = 5) + (x2 | g), d, threads = 1, method = "vb"))
sampled <- by_probit(suppressWarnings(bsvm(
  y ~ x1 + arm + (1 | g), d, method = "gibbs", chains = 2,
  control = list(warmup = 50, progress = FALSE), ndraws = 100, seed = 1, threads = 1
)))
number <- quick_bark(x2 ~ x1 + arm, d)
three <- local({
  d$k <- three_classes$y
  gpsvm(k ~ x1 + x2, d, inducing = 10, seed = 1, threads = 1, method = "vb", tune = FALSE)
})

# marginaleffects uses what R has from 4.4 and backports from 1.5.0.
skip_without_marginaleffects <- function() {
  skip_if_not_installed("marginaleffects")
  if (getRversion() < "4.4") skip_if_not_installed("backports", "1.5.0")
}

# The probability by the probit link and its derivatives in the coefficients.
probit_gradient <- function(fit, rows, ...) {
  f <- predict(fit, rows, "link", se.fit = TRUE, ...)
  root <- sqrt(1 + f$se.fit^2)
  x <- model.matrix(fit, rows)
  list(p = pnorm(f$fit / root), gradient = dnorm(f$fit / root) / root * x)
}

with_effects <- function(how, code) {
  old <- options(bayeskernel.effects = how)
  on.exit(options(old))
  code
}

# --- marginaleffects ---------------------------------------------------------

test_that("predictions have standard errors by the delta method", {
  skip_without_marginaleffects()
  out <- marginaleffects::predictions(flat)
  direct <- probit_gradient(flat, d)
  expect_equal(out$estimate, direct$p)
  se <- function(g) sqrt(rowSums((g %*% vcov(flat)) * g))
  expect_equal(out$std.error, se(direct$gradient), tolerance = 1e-5)
  out <- marginaleffects::avg_predictions(flat, by = "arm")
  mean <- rowsum(direct$gradient, d$arm) / c(table(d$arm))
  expect_equal(out$estimate, c(tapply(direct$p, d$arm, mean)), ignore_attr = TRUE)
  expect_equal(out$std.error, se(mean), tolerance = 1e-5, ignore_attr = TRUE)
  out <- marginaleffects::predictions(flat, newdata = d[5:9, ], type = "link")
  x <- model.matrix(flat, d[5:9, ])
  expect_equal(out$estimate, drop(x %*% coef(flat)), ignore_attr = TRUE)
  expect_equal(out$std.error, se(x), tolerance = 1e-5, ignore_attr = TRUE)
  out <- marginaleffects::predictions(flat, newdata = d[5:9, ], type = "prob")
  expect_equal(out$estimate, c(predict(flat, d[5:9, ], "prob")), ignore_attr = TRUE)
  expect_identical(as.character(out$group), rep(c("no", "yes"), each = 5))
  out <- marginaleffects::predictions(
    flat, newdata = d[5:9, ], type = "prob", link = "hinge"
  ) |> suppressWarnings()
  expect_equal(out$estimate, c(predict(flat, d[5:9, ], "prob", link = "hinge")), ignore_attr = TRUE)
})

test_that("slopes and comparisons are differences of predictions", {
  skip_without_marginaleffects()
  slope <- function(coefs = coef(flat)) {
    h <- 1e-4
    moved <- set_coef.bayeskernel_fit(flat, coefs)
    at <- function(x1) get_predict.bayeskernel_fit(moved, replace(d, "x1", x1))$estimate
    mean(at(d$x1 + h) - at(d$x1 - h)) / (2 * h)
  }
  # Its default, forward differences, leaves an error of some thousandths.
  out <- marginaleffects::avg_slopes(flat, variables = "x1", numderiv = "richardson")
  expect_equal(out$estimate, slope(), tolerance = 1e-4)
  gradient <- vapply(seq_along(coef(flat)), function(k) {
    step <- replace(0 * coef(flat), k, 1e-3 * sqrt(diag(vcov(flat)))[k])
    (slope(coef(flat) + step) - slope(coef(flat) - step)) / (2 * step[k])
  }, 0)
  expect_equal(out$std.error, sqrt(c(gradient %*% vcov(flat) %*% gradient)), tolerance = 1e-3)
  out <- marginaleffects::avg_comparisons(flat, variables = list(arm = "pairwise"))
  p <- lapply(c(a = "a", b = "b", c = "c"), function(arm) {
    probit_gradient(flat, replace(d, "arm", arm))
  })
  pairs <- list("b - a" = c("b", "a"), "c - a" = c("c", "a"), "c - b" = c("c", "b"))
  for (label in names(pairs)) {
    one <- p[[pairs[[label]][1]]]
    other <- p[[pairs[[label]][2]]]
    found <- out[out$contrast == label, ]
    expect_equal(found$estimate, mean(one$p - other$p))
    g <- colMeans(one$gradient - other$gradient)
    expect_equal(found$std.error, sqrt(c(g %*% vcov(flat) %*% g)), tolerance = 1e-5)
  }
})

test_that("random effects are of known groups, integrated over, or 0", {
  skip_without_marginaleffects()
  new <- transform(d, g = "new")
  average <- function(...) marginaleffects::avg_predictions(mixed, ...)
  se <- function(g) sqrt(c(colMeans(g) %*% vcov(mixed) %*% colMeans(g)))
  # marginaleffects does not know the argument.
  unknown <- function(code) suppressWarnings(code, classes = "simpleWarning")

  expect_warning(known <- average(), class = "bayeskernel_warning_effects")
  expect_equal(known$estimate, mean(predict(mixed, d, "response")))
  direct <- probit_gradient(mixed, d)
  expect_equal(known$std.error, se(direct$gradient), tolerance = 1e-5)
  expect_warning(marginaleffects::avg_slopes(mixed), "known")

  expect_no_warning(population <- average(newdata = new))
  direct <- probit_gradient(mixed, new)
  expect_equal(population$estimate, mean(direct$p))
  expect_equal(population$std.error, se(direct$gradient), tolerance = 1e-5)
  expect_equal(unknown(average(re.form = "new"))$std.error, population$std.error)
  typical <- unknown(average(re.form = NA))
  direct <- probit_gradient(mixed, d, re.form = NA)
  expect_equal(typical$estimate, mean(direct$p))
  expect_equal(typical$std.error, se(direct$gradient), tolerance = 1e-5)
  expect_false(isTRUE(all.equal(typical$estimate, population$estimate)))

  old <- options(marginaleffects_safe = FALSE)
  on.exit(options(old))
  expect_no_warning(average())
})

test_that("hypotheses are about the coefficients", {
  skip_without_marginaleffects()
  for (fit in list(flat, mixed)) {
    expect_no_warning(out <- marginaleffects::hypotheses(fit))
    expect_equal(out$estimate, coef(fit), ignore_attr = TRUE)
    expect_equal(out$std.error, sqrt(diag(vcov(fit))), tolerance = 1e-6, ignore_attr = TRUE)
  }
  out <- marginaleffects::hypotheses(flat, "armc = armb")
  at <- c("armb", "armc")
  expect_equal(out$estimate, diff(coef(flat)[at]), ignore_attr = TRUE)
  expect_equal(
    out$std.error, sqrt(c(c(-1, 1) %*% vcov(flat)[at, at] %*% c(-1, 1))),
    tolerance = 1e-6, ignore_attr = TRUE
  )
})

test_that("another covariance may be given, and must fit", {
  skip_without_marginaleffects()
  average <- function(...) marginaleffects::avg_predictions(flat, ...)
  expect_equal(average(vcov = 4 * vcov(flat))$std.error, 2 * average()$std.error)
  expect_equal(average(vcov = function(x) 4 * stats::vcov(x))$std.error, 2 * average()$std.error)
  expect_null(average(vcov = FALSE)$std.error)
  expect_bk_error(get_vcov.bayeskernel_fit(flat, diag(2)), "argument", "6 x 6|7 x 7")
  expect_bk_error(get_vcov.bayeskernel_fit(flat, "HC3"), "argument", "vcov")
  expect_bk_error(get_predict.bayeskernel_fit(flat, d, type = "class"), "argument", "type")
})

test_that("coefficients move and predictions with them", {
  moved <- set_coef.bayeskernel_fit(mixed, coef(mixed) + c(0.5, numeric(7)))
  expect_equal(get_coef.bayeskernel_fit(moved) - coef(mixed),
    c(0.5, numeric(7)),
    ignore_attr = TRUE
  )
  for (type in c("link", "response")) {
    rows <- d[1:9, ]
    f <- predict(mixed, rows, "link", se.fit = TRUE)
    expected <- f$fit + 0.5
    if (type == "response") expected <- pnorm(expected / sqrt(1 + f$se.fit^2))
    found <- get_predict.bayeskernel_fit(moved, rows, type = type)
    expect_equal(found$estimate, expected)
  }
  back <- set_coef.bayeskernel_fit(moved, coef(mixed))
  expect_equal(get_predict.bayeskernel_fit(back, d)$estimate, predict(mixed, d, "response"))
  # A row without a predictor has no prediction.
  rows <- replace(d[1:3, ], "x1", list(c(50, NA, 40)))
  found <- get_predict.bayeskernel_fit(moved, rows)
  expect_identical(is.na(found$estimate), c(FALSE, TRUE, FALSE))
})

test_that("effects in every draw", {
  draws_of <- function(...) {
    out <- with_effects("draws", get_predict.bayeskernel_fit(...))
    draws <- attr(out, "posterior_draws")
    expect_equal(out$estimate, apply(draws, 1, median))
    draws
  }
  rows <- d[c(3, 8, 14), ]
  beta <- as.matrix(sampled)
  x <- model.matrix(sampled, rows)
  fixed <- tcrossprod(x, beta[, names(coef(sampled))])
  expect_equal(draws_of(sampled, rows, "response", re.form = NA), pnorm(fixed), ignore_attr = TRUE)
  effects <- beta[, sprintf("b[(Intercept) g:%s]", rows$g)]
  expect_equal(draws_of(sampled, rows, "link"), fixed + t(effects), ignore_attr = TRUE)
  # New groups are integrated over in each draw.
  spread <- rep(sqrt(1 + beta[, "Sigma[g:(Intercept),(Intercept)]"]), each = 3)
  expected <- pnorm(fixed / spread)
  expect_equal(
    draws_of(sampled, transform(rows, g = "new"), "response"), expected, ignore_attr = TRUE
  )
  expect_equal(
    draws_of(sampled, rows, "prob", re.form = "new"), rbind(1 - expected, expected),
    ignore_attr = TRUE
  )
  # From q, with slopes, and known beside new groups; the same draws each time.
  rows <- transform(d[c(3, 8, 14), ], g = c("g3", "new", "newer"))
  draws <- draws_of(mixed, rows, "response")
  expect_identical(draws, draws_of(mixed, rows, "response"))
  expect_equal(
    rowMeans(draws), predict(mixed, rows, "response"), tolerance = 0.02, ignore_attr = TRUE
  )
  # Classes and numbers.
  draws <- draws_of(three, d[1:5, ], "prob")
  expect_identical(dim(draws), c(15L, 1000L))
  expect_equal(
    rowMeans(draws), c(predict(three, d[1:5, ], "prob")), tolerance = 0.05, ignore_attr = TRUE
  )
  draws <- draws_of(number, d[1:5, ])
  expect_equal(rowMeans(draws), predict(number, d[1:5, ]), tolerance = 0.1, ignore_attr = TRUE)
  expect_bk_error(
    with_effects("jackknife", get_predict.bayeskernel_fit(flat, d)), "argument",
    "bayeskernel.effects"
  )
})

test_that("intervals of effects are those of draws", {
  skip_without_marginaleffects()
  skip_if_not_installed("collapse", "2.0.18")
  out <- marginaleffects::avg_predictions(sampled, by = "arm")
  draws <- attr(get_predict.bayeskernel_fit(sampled, d), "posterior_draws")
  means <- rowsum(draws, d$arm) / c(table(d$arm))
  expect_equal(out$estimate, apply(means, 1, median), ignore_attr = TRUE)
  expect_equal(
    cbind(out$conf.low, out$conf.high), t(apply(means, 1, quantile, c(0.025, 0.975))),
    ignore_attr = TRUE
  )
  expect_null(out$std.error)
  slopes <- marginaleffects::avg_slopes(sampled, variables = "x1")
  delta <- with_effects("delta", suppressWarnings(
    marginaleffects::avg_slopes(sampled, variables = "x1")
  ))
  expect_equal(slopes$estimate, delta$estimate, tolerance = 0.1)
  # Models without coefficients have no other standard errors.
  out <- marginaleffects::avg_comparisons(number, newdata = d, variables = "arm")
  expect_true(all(out$conf.low < out$estimate & out$estimate < out$conf.high))
})

test_that("models without coefficients have predictions and comparisons", {
  skip_without_marginaleffects()
  with_effects("delta", {
    out <- marginaleffects::predictions(three, newdata = d[1:4, ])
    expect_equal(out$estimate, c(predict(three, d[1:4, ], "prob")), ignore_attr = TRUE)
    expect_identical(as.character(out$group), rep(c("low", "mid", "high"), each = 4))
    out <- marginaleffects::avg_comparisons(number, newdata = d, variables = "arm")
    at <- function(arm) mean(predict(number, replace(d, "arm", arm)))
    expect_equal(out$estimate, c(at("b") - at("a"), at("c") - at("a")))
  })
})

# --- the data of the fit -----------------------------------------------------

test_that("the data of a fit are the variables of its formula", {
  expect_identical(fit_data(flat), d[names(fit_data(flat))])
  expect_setequal(names(fit_data(flat)), all.vars(formula(flat)))
  local({
    rows <- d[1:60, ]
    fit <- bsvm(y ~ x1 + (1 | g), rows, subset = x2 > -1, threads = 1, method = "vb")
    own <- c("y", "x1", "g")
    expect_identical(fit_data(fit), rows[rows$x2 > -1, own])
    fit <- bsvm(y ~ x1, replace(rows, "x1", c(NA, rows$x1[-1])),
      missing = "omit", threads = 1, method = "vb"
    ) |> suppressMessages()
    expect_silent(found <- fit_data(fit))
    expect_identical(found, rows[-1, c("y", "x1")])
    x <- as.matrix(rows[c("x1", "x2")])
    y <- rows$y
    by_matrix <- bsvm(x, y, threads = 1, method = "vb")
    expect_equal(fit_data(by_matrix), cbind(.response = y, rows[c("x1", "x2")]), ignore_attr = TRUE)
    with(rows, {
      bare <- bsvm(y ~ x1 + log(x1), threads = 1, method = "vb")
      expect_equal(fit_data(bare), rows[c("y", "x1")], ignore_attr = TRUE)
    })
    # Other rows of the same name are not those of the fit.
    kept <- bsvm(y ~ x1, rows, threads = 1, model = TRUE, method = "vb")
    gone <- bsvm(y ~ x1, rows, threads = 1, model = FALSE, method = "vb")
    rows <- rows[rev(seq_len(60)), ]
    expect_null(fit_data(gone))
    expect_equal(fit_data(kept)$x1, d$x1[1:60])
  })
  # Not the `data` of a function in between.
  asked <- function(data, fit) fit_data(fit)
  lean <- update(flat, model = FALSE)
  expect_identical(asked(d[80:1, ], lean), fit_data(flat))
})

# --- emmeans -----------------------------------------------------------------

test_that("marginal means are combinations of the fixed coefficients", {
  skip_if_not_installed("emmeans")
  means <- function(...) suppressMessages(as.data.frame(emmeans::emmeans(..., data = d)))
  out <- means(flat, "arm")
  rows <- data.frame(x1 = mean(d$x1), x2 = mean(d$x2), arm = factor(levels(d$arm)))
  x <- model.matrix(flat, rows)
  se <- function(x, fit) sqrt(rowSums((x %*% vcov(fit)) * x))
  expect_equal(out$emmean, drop(x %*% coef(flat)), ignore_attr = TRUE)
  expect_equal(out$SE, se(x, flat), ignore_attr = TRUE)
  # A balanced average over arms, random effects at 0, the smooth at the mean.
  out <- means(mixed, "x1", at = list(x1 = c(45, 55)))
  average <- function(x1) {
    rows$x1 <- x1
    colMeans(model.matrix(mixed, cbind(rows, g = "new")))
  }
  x <- rbind(average(45), average(55))
  expect_equal(out$emmean, drop(x %*% coef(mixed)), ignore_attr = TRUE)
  expect_equal(out$SE, se(x, mixed), ignore_attr = TRUE)
  # Back to probabilities, by either link.
  out <- means(flat, "arm", type = "response")
  expect_equal(out$prob, pnorm(means(flat, "arm")$emmean))
  out <- means(flat, "arm", type = "response", link = "hinge")
  expect_equal(out$prob, link_curve(means(flat, "arm")$emmean, "hinge"))
  out <- means(flat, "arm", vcov. = function(x) 4 * stats::vcov(x))
  expect_equal(out$SE, 2 * means(flat, "arm")$SE)
})

test_that("marginal means know poly() and its like as the fit does", {
  skip_if_not_installed("emmeans")
  set.seed(4)
  rows <- data.frame(f = gl(3, 20), z = runif(60), y = rnorm(60))
  means <- function(fit) suppressMessages(as.data.frame(emmeans::emmeans(fit, "f", data = rows)))
  for (formula in list(y ~ f + poly(z, 2), y ~ f * scale(z), y ~ f + splines::ns(z, 3))) {
    own <- bkm(formula, rows, prior = bkm_prior(beta_var = 1e6), threads = 1)
    expect_equal(means(own)$emmean, means(lm(formula, rows))$emmean, tolerance = 1e-6)
  }
})

test_that("the hinge link is an inverse and has its derivative", {
  link <- hinge_link()
  f <- c(-9, -1.5, -1, -0.4, 0, 0.7, 1, 3)
  expect_equal(link$linkfun(link$linkinv(f)), f)
  apart <- f[abs(f) != 1]
  slope <- (link$linkinv(apart + 1e-5) - link$linkinv(apart - 1e-5)) / 2e-5
  expect_equal(link$mu.eta(apart), slope, tolerance = 1e-7)
})

test_that("marginal means: trends, offsets, draws, matrices, and refusals", {
  skip_if_not_installed("emmeans")
  trends <- as.data.frame(emmeans::emtrends(flat, "arm", "x1", data = d))
  slope <- coef(flat)[["x1"]] + c(0, coef(flat)[c("x1:armb", "x1:armc")])
  expect_equal(trends$x1.trend, unname(slope))
  shifted <- bsvm(y ~ arm + offset(off), d, threads = 1, method = "vb")
  out <- as.data.frame(emmeans::emmeans(shifted, "arm", data = d))
  expect_equal(out$emmean, unname(coef(shifted)[1] + c(0, coef(shifted)[2:3]) + mean(d$off)))
  by_name <- bsvm(y ~ arm, d, offset = "off", threads = 1, method = "vb")
  other <- as.data.frame(emmeans::emmeans(by_name, "arm", data = d))
  expect_equal(other$emmean, out$emmean, tolerance = 1e-6)
  grid <- emmeans::ref_grid(sampled, data = d, vcov. = "posterior")
  expect_equal(grid@post.beta, as.matrix(sampled)[, names(coef(sampled))], ignore_attr = TRUE)
  expect_identical(attr(grid@post.beta, "n.chains"), 2L)
  x <- as.matrix(d[c("x1", "x2")])
  response <- d$y
  by_matrix <- bsvm(x, response, threads = 1, method = "vb")
  out <- as.data.frame(emmeans::emmeans(by_matrix, "x1", at = list(x1 = c(0, 10))))
  expect_equal(diff(out$emmean), 10 * coef(by_matrix)[["x1"]])
  expect_error(emmeans::emmeans(three, "x1", data = d), "no coefficients")
  # Found by its name, or not.
  expect_equal(
    as.data.frame(emmeans::emmeans(shifted, "arm")),
    as.data.frame(emmeans::emmeans(shifted, "arm", data = d))
  )
  changed <- d
  fit <- bsvm(y ~ arm, changed, threads = 1, model = FALSE, method = "vb")
  changed <- d[80:1, ]
  expect_error(emmeans::emmeans(fit, "arm"), "data of the fit are gone")
})

test_that("classes made in the formula have contrasts on the scale of the response", {
  skip_if_not_installed("emmeans")
  rows <- data.frame(x = sin(1:60), g = gl(2, 1, 60), y = cos(1:60) + sin(1:60))
  plain <- bkm(above ~ x + g, transform(rows, above = y > 0), threads = 1)
  pairs_of <- function(fit) {
    as.data.frame(emmeans::emmeans(fit, pairwise ~ g, type = "response")$contrasts)
  }
  ratio <- exp(-coef(plain)[["g2"]])
  expect_equal(pairs_of(plain)$odds.ratio, ratio)
  expect_equal(pairs_of(bkm(factor(y > 0) ~ x + g, rows, threads = 1))$odds.ratio, ratio)
  expect_message(pairs_of(bkm(y > 0 ~ x + g, rows, threads = 1)), NA)
})

# --- insight -----------------------------------------------------------------

test_that("insight finds formulas, variables, data and facts", {
  skip_if_not_installed("insight")
  out <- insight::find_formula(mixed)
  expect_equal(out$conditional, y ~ x1 + arm + s(x2, k = 5), ignore_attr = TRUE)
  expect_equal(out$random, ~ x2 | g, ignore_attr = TRUE)
  expect_identical(insight::find_response(mixed), "y")
  expect_identical(insight::find_predictors(mixed)$conditional, c("x1", "arm", "x2"))
  expect_identical(insight::find_random(mixed)$random, "g")
  expect_true(insight::is_mixed_model(mixed))
  expect_false(insight::is_mixed_model(flat))
  expect_identical(insight::find_parameters(flat)$conditional, names(coef(flat)))
  expect_identical(insight::n_obs(mixed), 80L)
  expect_identical(insight::get_response(mixed), d$y)
  expect_identical(insight::get_data(mixed), d[c("y", "x1", "arm", "x2", "g")])
  expect_named(insight::get_data(mixed, effects = "fixed"), c("y", "x1", "arm", "x2"))
  expect_identical(insight::get_random(sampled), d["g"])
  out <- insight::get_parameters(mixed)
  expect_equal(setNames(out$Estimate, out$Parameter), coef(mixed))
  expect_equal(
    insight::get_parameters(mixed, effects = "random")$g, ranef(mixed)$g, ignore_attr = TRUE
  )
  expect_equal(insight::get_varcov(mixed), vcov(mixed))
  expect_equal(insight::get_statistic(flat)$Statistic, unname(coef(flat) / sqrt(diag(vcov(flat)))))
  expect_equal(insight::link_inverse(flat)(0.3), pnorm(0.3))
  several <- bsvm(y ~ x1 + (1 | g) + (0 + x2 | arm), d, threads = 1, method = "vb")
  expect_length(insight::find_formula(several)$random, 2)
  expect_setequal(insight::find_random(several)$random, c("g", "arm"))
  changed <- d
  fit <- bsvm(y ~ arm, changed, threads = 1, model = FALSE, method = "vb")
  changed$y <- rev(changed$y)
  expect_warning(expect_null(insight::get_data(fit)), class = "bayeskernel_warning_effects")
})

test_that("a calibrated link is known to emmeans, insight and glm's family", {
  fit <- bsvm(y ~ x1 + arm, d, threads = 1, method = "vb")
  curve <- plogis(fit$link$intercept + fit$link$slope * 0.3)
  expect_equal(family(fit)$linkinv(0.3), curve)
  expect_equal(family(fit)$linkfun(curve), 0.3)
  found <- get_predict.bayeskernel_fit(fit, d[1:5, ], type = "response")
  expect_equal(found$estimate, predict(fit, d[1:5, ], "response"), ignore_attr = TRUE)
  skip_if_not_installed("insight")
  expect_equal(insight::link_inverse(fit)(0.3), curve)
  expect_false(insight::model_info(fit)$is_probit)
  skip_if_not_installed("emmeans")
  means <- as.data.frame(emmeans::emmeans(fit, "arm", type = "response"))
  f <- as.data.frame(emmeans::emmeans(fit, "arm"))$emmean
  expect_equal(means$prob, plogis(fit$link$intercept + fit$link$slope * f))
})

test_that("model_info() says what the model is", {
  skip_if_not_installed("insight")
  facts <- function(fit, ...) unlist(insight::model_info(fit)[c(...)])
  expect_identical(
    unname(facts(
      mixed, "is_bayesian", "is_mixed", "is_binomial", "is_probit",
      "is_logit", "is_linear", "is_multinomial"
    )), c(TRUE, TRUE, TRUE, TRUE, FALSE, FALSE, FALSE)
  )
  expect_false(facts(flat, "is_mixed"))
  expect_identical(
    unname(facts(three, "is_bayesian", "is_binomial", "is_multinomial")), c(TRUE, FALSE, TRUE)
  )
  expect_identical(
    unname(facts(number, "is_linear", "is_binomial", "is_probit")), c(TRUE, FALSE, FALSE)
  )
})

# --- bkm() beside glm() ------------------------------------------------------

wide_prior <- bkm_prior(beta_var = 1e4)
many <- local({
  set.seed(2)
  n <- 2000
  out <- data.frame(
    x = rnorm(n), arm = factor(rep_len(c("a", "b", "c"), n)), g = factor(rep_len(1:40, n))
  )
  f <- out$x + (out$arm == "b") / 2
  out$y <- factor(ifelse(f + rlogis(n) > 0, "yes", "no"), c("no", "yes"))
  out$z <- f + rnorm(n)
  out
})

test_that("effects of a logistic fit are those of glm()", {
  peer <- glm(y ~ x * arm, binomial, many)
  fits <- lapply(c(ep = "ep", vb = "vb"), function(method) {
    bkm(y ~ x * arm, many, method = method, prior = wide_prior, threads = 1)
  })
  for (fit in fits) {
    se <- sqrt(diag(vcov(peer)))
    expect_lt(max(abs(coef(fit) - coef(peer)) / se), 0.1)
    if (requireNamespace("emmeans", quietly = TRUE)) {
      ratios <- lapply(list(fit, peer), function(fit) {
        suppressMessages({
          means <- emmeans::emmeans(fit, "arm", data = many, type = "response")
          list(as.data.frame(means), as.data.frame(pairs(means)))
        })
      })
      expect_equal(ratios[[1]][[1]]$prob, ratios[[2]][[1]]$prob, tolerance = 0.01)
      expect_equal(ratios[[1]][[2]]$odds.ratio, ratios[[2]][[2]]$odds.ratio, tolerance = 0.02)
      expect_equal(ratios[[1]][[2]]$SE, ratios[[2]][[2]]$SE, tolerance = 0.03)
    }
    skip_without_marginaleffects()
    for (ask in list(marginaleffects::avg_slopes, marginaleffects::avg_predictions)) {
      ours <- ask(fit, newdata = many)
      theirs <- ask(peer, newdata = many)
      expect_lt(max(abs(ours$estimate - theirs$estimate) / theirs$std.error), 0.1)
      expect_equal(ours$std.error, theirs$std.error, tolerance = 0.03)
    }
    ours <- marginaleffects::avg_comparisons(
      fit, newdata = many, variables = "arm", type = "link", transform = exp
    )
    b <- coef(fit)
    expect_equal(ours$estimate, exp(
      b[c("armb", "armc")] + b[c("x:armb", "x:armc")] * mean(many$x)
    ), ignore_attr = TRUE)
  }
})

test_that("families of bkm() say what they are, and predict as they do", {
  skip_if_not_installed("insight")
  rows <- many[1:6, ]
  new <- transform(rows, g = "new")
  # Draws of q or of a chain average to what is predicted.
  for (family in c("logit", "probit", "gaussian")) {
    formula <- if (family == "gaussian") z ~ x + (1 | g) else y ~ x + (1 | g)
    fit <- bkm(formula, many, family = family, threads = 1)
    facts <- insight::model_info(fit)
    expect_true(facts$is_mixed && facts$is_bayesian)
    expect_identical(facts$is_logit, family == "logit")
    expect_identical(facts$is_probit, family == "probit")
    expect_identical(facts$is_linear, family == "gaussian")
    for (newdata in list(rows, new)) {
      direct <- predict(fit, newdata, type = "response")
      found <- get_predict.bayeskernel_fit(fit, newdata)
      expect_equal(found$estimate, direct, ignore_attr = TRUE)
      drawn <- with_effects("draws", get_predict.bayeskernel_fit(fit, newdata))
      expect_equal(
        rowMeans(attr(drawn, "posterior_draws")), direct, tolerance = 0.05, ignore_attr = TRUE
      )
    }
    moved <- set_coef.bayeskernel_fit(fit, coef(fit) + c(0.2, 0))
    expect_equal(
      get_predict.bayeskernel_fit(moved, rows, type = "link")$estimate,
      predict(fit, rows, "link") + 0.2, ignore_attr = TRUE
    )
  }
  counts <- aggregate(cbind(yes = y == "yes", no = y == "no") ~ arm, many, sum)
  fit <- bkm(cbind(yes, no) ~ arm, counts, threads = 1)
  expect_identical(fit_data(fit), counts[c("yes", "no", "arm")])
})

test_that("R2 by package performance is right, or refused", {
  skip_if_not_installed("insight")
  r2 <- r2.bayeskernel_fit
  set.seed(6)
  rows <- data.frame(x = rnorm(120), z = rnorm(120), n = 1 + rpois(120, 3))
  rows$u <- rows$x + rnorm(120)
  rows$y <- rows$x + rlogis(120) > 0
  vague <- bkm_prior(beta_var = 1e6)
  number <- bkm(u ~ x + z, rows, prior = vague, penalty = "none", threads = 1)
  expect_equal(unname(r2(number)$R2), summary(lm(u ~ x + z, rows))$r.squared, tolerance = 1e-3)
  logit <- bkm(y ~ x + z, rows, prior = vague, penalty = "none", threads = 1)
  p <- fitted(glm(y ~ x + z, binomial, rows))
  tjur <- mean(p[rows$y]) - mean(p[!rows$y])
  expect_equal(unname(r2(logit)$R2_Tjur), tjur, tolerance = 0.02)
  rows$s <- rbinom(120, rows$n, plogis(rows$x))
  counts <- bkm(cbind(s, n - s) ~ x, rows, prior = vague, penalty = "none", threads = 1)
  p <- fitted(glm(cbind(s, n - s) ~ x, binomial, rows))
  tjur <- weighted.mean(p, rows$s) - weighted.mean(p, rows$n - rows$s)
  expect_equal(unname(r2(counts)$R2_Tjur), tjur, tolerance = 0.02)
  expect_bk_error(r2(three), "argument", "3 classes")
  for (fit in list(number, logit)) {
    expect_equal(as.numeric(insight::get_predicted(fit)), unname(fitted(fit)))
    expect_equal(
      as.numeric(insight::get_predicted(fit, rows[1:3, ], predict = "link")),
      unname(predict(fit, rows[1:3, ], type = "link"))
    )
  }
  expect_bk_error(insight::get_predicted(three), "argument", "3 classes")
  skip_if_not_installed("performance")
  expect_output(print(performance::r2(logit)), "Tjur")
  ours <- performance::model_performance(number)
  theirs <- lm(u ~ x + z, rows)
  expect_equal(
    c(ours$R2, ours$RMSE, ours$Sigma), c(
      summary(theirs)$r.squared, sqrt(mean(resid(theirs)^2)), sigma(theirs)
    ), tolerance = 0.01
  )
  ours <- performance::model_performance(counts)
  loss <- -sum(rows$s * log(p) + (rows$n - rows$s) * log(1 - p)) / sum(rows$n)
  expect_equal(ours$Log_loss, loss, tolerance = 1e-3)
})

test_that("the ICC of package performance is that of random intercepts", {
  skip_if_not_installed("performance")
  set.seed(7)
  rows <- data.frame(x = rnorm(600), g = gl(60, 10))
  rows$u <- rows$x + 2 * rnorm(60)[rows$g] + rnorm(600)
  rows$y <- rows$x + 2 * rnorm(60)[rows$g] + rlogis(600) > 0
  number <- bkm(u ~ x + (1 | g), rows, threads = 1)
  reference <- lme4::lmer(u ~ x + (1 | g), rows)
  for (name in c("ICC_adjusted", "ICC_unadjusted")) {
    expect_equal(performance::icc(number)[[name]], performance::icc(reference)[[name]],
      tolerance = 0.03)
  }
  classes <- bkm(y ~ x + (1 | g), rows, threads = 1)
  tau2 <- VarCorr(classes)$g[[1]]
  expect_equal(performance::icc(classes)$ICC_adjusted, tau2 / (tau2 + pi^2 / 3))
  expect_bk_error(insight::get_variance(bkm(u ~ x + (x | g), rows, threads = 1)), "argument",
    "(1 | g)")
})

# --- workflows ---------------------------------------------------------------

# What tidymodels does with a model, by the recipe of ?predict.
tidy_predict <- function(fit, new_data, type = "class") {
  out <- as.data.frame(predict(fit, new_data, type = type))
  kind <- switch(type, prob = paste0("_", names(out)), class = "_class")
  tibble::as_tibble(setNames(out, paste0(".pred", kind)))
}

test_that("predictions have the shapes that workflows ask for", {
  skip_if_not_installed("tibble")
  new <- tibble::as_tibble(d)[c(4, 2, 71), ]
  new$x1[2] <- NA
  for (fit in list(flat, mixed, sampled, three)) {
    classes <- fit$levels
    out <- tidy_predict(fit, new, "prob")
    expect_identical(dim(out), c(3L, length(classes)))
    expect_named(out, paste0(".pred_", classes))
    expect_equal(rowSums(out), c(1, NA, 1), ignore_attr = TRUE)
    out <- tidy_predict(fit, new)
    expect_identical(levels(out$.pred_class), classes)
    expect_identical(is.na(out$.pred_class), c(FALSE, TRUE, FALSE))
    expect_identical(dim(tidy_predict(fit, new[0, ], "prob")), c(0L, length(classes)))
    expect_identical(levels(tidy_predict(fit, new[0, ])$.pred_class), classes)
  }
  expect_equal(
    tidy_predict(number, new, "response")$.pred, predict(number, new), ignore_attr = TRUE
  )
})

test_that("blueprints of hardhat go through a fit and back", {
  skip_if_not_installed("hardhat")
  data <- tibble::as_tibble(d)
  made <- hardhat::mold(y ~ x1 + arm, data)
  fit <- bsvm(made$predictors, made$outcomes$y, threads = 1, method = "vb")
  new <- hardhat::forge(data[80:1, ], made$blueprint)$predictors
  expect_equal(
    tidy_predict(fit, new, "prob")$.pred_yes, rev(fitted(fit)),
    tolerance = 1e-10, ignore_attr = TRUE
  )
})
