# What users do with fits of bkm().

d <- family_data()
# The call as it was typed, so that the data of a fit are found again.
fit <- function(...) {
  call <- match.call()
  call[[1L]] <- quote(bkm)
  call$threads <- 1
  own <- intersect(names(call), names(own_formals(bkm_control)))
  call$control <- as.call(c(quote(list), progress = FALSE, as.list(call)[own]))
  call[own] <- NULL
  eval(call, parent.frame())
}
logit <- fit(y ~ x + z + (1 | g), d)
probit <- fit(y ~ x + z + (1 | g), d, "probit")
number <- fit(number ~ x + z + (1 | g), d)
hinge <- fit(y ~ x + z + (1 | g), d, "hinge")
by_vb <- fit(y ~ x + z + (1 | g), d, method = "vb")
chain <- suppressWarnings(fit(
  y ~ x + z + (1 | g), d, method = "gibbs", chains = 2, warmup = 200, ndraws = 300, seed = 1
))
all <- list(logit, probit, number, hinge, by_vb, chain)

test_that("print() says the family, the method and how far to trust it", {
  expect_output(print(logit), "logistic")
  expect_output(print(logit), "Bayesian logistic mixed model, expectation propagation")
  full <- summary(logit, detail = TRUE)
  expect_output(print(full), "Posterior: +expectation propagation, [0-9]+ pass")
  expect_output(print(full), "Pareto k")
  # A process leaves a residual to its rows, of which it is not made.
  curve <- fit(y ~ gp(x) + z, d)
  expect_false(any(grepl("Pareto", capture.output(print(curve)))))
  expect_output(print(logit), "log evidence")
  expect_output(print(number), "Residual")
  # A pseudo-evidence is not shown.
  expect_false(any(grepl("evidence", capture.output(print(hinge)))))
  expect_output(print(by_vb), "variational")
})

test_that("odds ratios are exponentials, of logistic models alone", {
  table <- summary(logit)$coefficients
  odds <- summary(logit, exp = TRUE)$coefficients
  expect_equal(odds[, c(1, 3, 4)], exp(table[, c(1, 3, 4)]))
  expect_equal(odds[, "SD"], table[, "SD"] * odds[, 1])
  expect_output(print(summary(logit, exp = TRUE)), "Odds ratios")
  expect_equal(summary(logit, exp = TRUE)$variances, summary(logit)$variances)
  rows <- tidy(logit, exponentiate = TRUE, conf.int = TRUE)
  expect_equal(rows$estimate[1:3], unname(odds[, 1]))
  expect_equal(rows$conf.high[1:3], unname(odds[, 4]))
  for (other in list(probit, number, hinge)) {
    expect_bk_error(summary(other, exp = TRUE), "argument", "logit")
    expect_bk_error(tidy(other, exponentiate = TRUE), "argument", "logit")
  }
})

test_that("evidence compares models of the same responses, and no others", {
  simple <- fit(y ~ x + (1 | g), d)
  table <- anova(logit, simple, scaled = probit)
  expect_s3_class(table, "data.frame")
  expect_identical(rownames(table), c("logit", "simple", "scaled"))
  expect_equal(table$log_evidence[1], log_evidence(logit))
  expect_equal(max(table$difference), 0)
  expect_equal(table$elpd_loo[2], sum(simple$loo))
  expect_equal(table$p_loo[2], sum(unit_log_density(simple) - simple$loo))
  expect_output(print(table), "simple: y ~ x + (1 | g)\n", fixed = TRUE)
  expect_equal(max(table$elpd_diff), 0)
  expect_identical(table$family, c("logit", "logit", "probit"))
  expect_output(print(table), "priors that mean the same")
  expect_output(print(table), "how wide the priors are")
  expect_output(print(anova(logit)), "log_evidence")
  expect_identical(rownames(anova(one = logit, two = simple)), c("one", "two"))
  expect_bk_error(log_evidence(hinge), "argument", "pseudo-likelihood")
  expect_bk_error(anova(logit, hinge), "argument", "pseudo-likelihood")
  expect_bk_error(log_evidence(by_vb), "argument", "elbo")
  expect_bk_error(anova(logit, by_vb), "argument", "by_vb")
  expect_bk_error(log_evidence(chain), "argument", "gibbs")
  expect_bk_error(anova(logit, number), "argument", "other responses")
  powers <- fit(y ~ x, d, weights = z + 2)
  expect_bk_error(anova(logit, powers), "argument", "powers")
  expect_bk_error(anova(logit, fit(y ~ x, d[-1, ])), "argument", "number of rows")
  expect_bk_error(anova(logit, fit(rev(y) ~ x, d)), "argument", "responses")
  expect_bk_error(anova(logit, 3), "argument")
  expect_bk_error(log_evidence(bsvm(y ~ x, d, threads = 1, method = "vb")), "argument", "bkm")
})

test_that("loo() sums the cavities, which are what refits predict", {
  skip_if_not_installed("loo")
  out <- loo::loo(logit)
  expect_s3_class(out, "loo")
  expect_equal(out$estimates["elpd_loo", "Estimate"], sum(logit$loo))
  expect_gt(out$estimates["p_loo", "Estimate"], 2)
  expect_output(print(out), "cavities")
  # The same model in every refit: the scale of the prior is that of the data.
  plain <- fit(y ~ x + z, d, standardize = FALSE)
  refits <- vapply(1:60, function(i) {
    less <- fit(y ~ x + z, d[-i, ], standardize = FALSE)
    p <- predict(less, d[i, ], type = "response")
    log(if (d$y[i] == "yes") p else 1 - p)
  }, 1)
  expect_lt(mean(abs(plain$loo - refits)), 0.003)
  expect_lt(max(abs(plain$loo - refits)), 0.03)
  regression <- fit(number ~ x + z, d, penalty = "none")
  refits <- vapply(1:60, function(i) {
    less <- fit(number ~ x + z, d[-i, ], penalty = "none")
    at <- predict(less, d[i, ], se.fit = TRUE)
    sd <- sqrt(at$se.fit^2 + sigma(less)^2)
    dnorm(d$number[i], at$fit, sd, log = TRUE)
  }, 1)
  expect_lt(abs(sum(regression$loo) - sum(refits)), 0.6)
  comparison <- loo::loo_compare(loo::loo(logit), loo::loo(plain))
  expect_equal(comparison[1, "elpd_diff"], 0)
  # By draws.
  sampled <- suppressWarnings(loo::loo(chain))
  expect_lt(abs(sampled$estimates[1, 1] - out$estimates[1, 1]), 2)
  counts <- fit(cbind(s, 3 - s) ~ x, transform(d, s = rep(0:3, 15)))
  # A row is one unit (test-counts-units.R).
  pointwise <- loo::loo(counts)$pointwise[, 1]
  expect_length(pointwise, 60)
  expect_equal(loo::loo(counts)$estimates[1, 1], sum(pointwise))
  # That of a pseudo-likelihood is of the probabilities of predict().
  expect_equal(loo::loo(hinge)$estimates["elpd_loo", "Estimate"], sum(hinge$link$log_prob))
  expect_bk_error(loo::loo(update(hinge, method = "vb")), "argument", "pseudo-likelihood")
})

log_lik_of <- function(object, ...) asNamespace("bayeskernel")$log_lik.bayeskernel_fit(object, ...)

test_that("the likelihood of a fit, and AIC by it", {
  plain <- fit(y ~ x + z, d)
  ml <- stats::glm(y ~ x + z, stats::binomial(), d)
  expect_lt(abs(logLik(plain) - logLik(ml)), 0.1)
  expect_lt(abs(attr(logLik(plain), "df") - 3), 0.4)
  expect_lt(abs(AIC(plain) - AIC(ml)), 0.8)
  regression <- fit(number ~ x + z, d, penalty = "none")
  ols <- stats::lm(number ~ x + z, d)
  expect_lt(abs(logLik(regression) - logLik(ols)), 0.3)
  expect_lt(abs(attr(logLik(regression), "df") - 4), 0.3)
  expect_equal(deviance(chain), -2 * mean(rowSums(log_lik_of(chain))), tolerance = 0.02)
  expect_bk_error(logLik(hinge), "argument", "pseudo-likelihood")
  expect_bk_error(deviance(hinge), "argument", "pseudo-likelihood")
})

test_that("log_lik() is the density of each response by draw", {
  skip_if_not_installed("rstantools")
  f <- rstantools::posterior_linpred(logit, ndraws = 20, seed = 1)
  sign <- rep(ifelse(d$y == "yes", 1, -1), each = 20)
  expect_equal(
    rstantools::log_lik(logit, ndraws = 20, seed = 1), plogis(sign * f, log.p = TRUE),
    ignore_attr = TRUE
  )
  ll <- rstantools::log_lik(number, newdata = d[1:5, ], ndraws = 500, seed = 1)
  expect_identical(dim(ll), c(500L, 5L))
  at <- predict(number, d[1:5, ], se.fit = TRUE)
  expected <- dnorm(d$number[1:5], at$fit, sqrt(at$se.fit^2 + sigma(number)^2), log = TRUE)
  expect_lt(max(abs(log(colMeans(exp(ll))) - expected)), 0.1)
  expect_bk_error(rstantools::log_lik(hinge), "argument", "bkm")
})

test_that("intervals of a new response hold it", {
  limits <- predict(number, d, interval = "prediction", level = 0.9)
  inside <- mean(d$number > limits[, 2] & d$number < limits[, 3])
  expect_true(inside > 0.8 && inside <= 1)
  credible <- predict(number, d, interval = "credible", level = 0.9)
  expect_true(all(credible[, 2] > limits[, 2] & credible[, 3] < limits[, 3]))
  draws <- predict(number, d[1:3, ], draws = TRUE, interval = "prediction", ndraws = 4000, seed = 1)
  expect_lt(max(abs(apply(draws, 2, quantile, 0.95) - limits[1:3, 3])), 0.25)
  expect_bk_error(predict(logit, d, "link", interval = "prediction"), "argument", "numeric")
})

test_that("classes by prevalence, links, and the random effects left out", {
  rare <- fit(y ~ x, transform(d, y = x > 5))
  p <- predict(rare, type = "response")
  share <- mean(d$x > 5)
  expect_identical(predict(rare, threshold = "prevalence") == "TRUE", unname(p >= share))
  # Probabilities are averaged over f, by about sqrt(1 + pi v / 8).
  latent <- predict(logit, d, "link", se.fit = TRUE)
  expect_equal(
    latent$fit / sqrt(1 + pi * latent$se.fit^2 / 8), qlogis(predict(logit, d, "response")),
    tolerance = 0.03
  )
  for (object in list(logit, number, chain)) {
    without <- predict(object, d, "link", re.form = NA)
    expect_equal(
      without, drop(model.matrix(object) %*% coef(object)), ignore_attr = TRUE, tolerance = 1e-6
    )
  }
  expect_bk_error(predict(logit, d, "prob", link = "probit"), "argument", "link")
})

test_that("update() changes formula, family and method", {
  less <- update(logit, . ~ . - z)
  expect_identical(names(coef(less)), c("(Intercept)", "x"))
  expect_identical(update(logit, family = "probit")$family, "probit")
  expect_equal(coef(update(logit, family = "probit")), coef(probit), tolerance = 1e-8)
  expect_identical(update(logit, method = "vb")$method, "vb")
})

test_that("labels swapped mirror the fit", {
  swapped <- transform(d, y = factor(y, c("yes", "no")))
  other <- fit(y ~ x + z + (1 | g), swapped)
  expect_equal(coef(other), -coef(logit), tolerance = 1e-4)
  expect_equal(other$loo, logit$loo, tolerance = 1e-4)
  expect_equal(log_evidence(other), log_evidence(logit), tolerance = 1e-6)
})

test_that("an offset is a column whose coefficient is one", {
  shifted <- transform(d, o = z, number = number + 3 * z)
  plain <- fit(number ~ x, d, penalty = "none", tol = 1e-10)
  moved <- fit(
    number ~ x, transform(d, number = number + 3 * z), offset = 3 * z, penalty = "none", tol = 1e-10
  )
  expect_equal(coef(moved), coef(plain), tolerance = 1e-6)
  expect_equal(log_evidence(moved), log_evidence(plain), tolerance = 1e-6)
  with <- fit(y ~ x + offset(z), d)
  expect_equal(
    predict(with, d, "link"), drop(cbind(1, d$x) %*% coef(with)) + d$z,
    ignore_attr = TRUE, tolerance = 1e-8
  )
})

test_that("simulated responses come back from the data they were drawn from", {
  y <- simulate(number, 200, seed = 1)
  expect_lt(max(abs(rowMeans(y) - fitted(number))), 1)
  y <- simulate(logit, 400, seed = 1)
  share <- rowMeans(vapply(y, function(one) one == "yes", logical(60)))
  expect_lt(max(abs(share - fitted(logit))), 0.12)
  expect_bk_error(simulate(hinge), "argument", "logit")
})

test_that("missing predictors are averaged over as atoms", {
  holed <- d
  holed$x[1:12] <- NA
  for (method in "vb") {
    object <- fit(y ~ x + z + (1 | g), holed, missing = "model", method = method)
    complete <- fit(y ~ x + z + (1 | g), d[-(1:12), ], method = method)
    expect_lt(max(abs(coef(object) - coef(complete)) / sqrt(diag(vcov(complete)))), 1)
    values <- imputed(object)
    expect_identical(values$row, 1:12)
    # The label tells about the value: x raises the chance of yes.
    by_label <- tapply(values$mean, holed$y[1:12], mean)
    expect_gt(by_label[["yes"]], by_label[["no"]])
    p <- predict(object, holed[1:3, ], "prob", se.fit = TRUE)
    expect_false(anyNA(p$fit))
    draws <- predict(object, holed[1:3, ], "prob", draws = TRUE, ndraws = 4000, seed = 1)
    expect_lt(max(abs(colMeans(draws) - p$fit[, 2])), 0.03)
    expect_lt(max(abs(apply(draws, 2, sd) - p$se.fit)), 0.03)
    expect_length(fitted(object), 60L)
  }
  expect_equal(nrow(imputed(fit(number ~ x + z, holed, missing = "model", method = "vb"))), 12L)
})

test_that("a source of rows gives the fit of the matrix", {
  x <- as.matrix(d[c("x", "z")])
  for (family in c("logit", "probit", "gaussian")) {
    y <- if (family == "gaussian") d$number else d$y
    source <- bkm(
      row_source(x, y), family, method = "svi", seed = 1, threads = 1,
      control = list(tol = 1e-9, progress = FALSE)
    )
    matrix <- fit(x, y, family, method = "vb", tol = 1e-9)
    expect_equal(coef(source), coef(matrix), tolerance = 1e-4)
    expect_equal(vcov(source), vcov(matrix), tolerance = 1e-3)
    expect_equal(
      elbo(source)[length(elbo(source))], elbo(matrix)[length(elbo(matrix))], tolerance = 1e-4
    )
  }
})

test_that("limits over a grid of variances are those of its mixture", {
  set.seed(31)
  few <- data.frame(g = gl(6, 5), x = rep(rnorm(6), each = 5))
  few$y <- 0.5 + few$x + rep(rnorm(6), each = 5) + rnorm(30) > 0
  object <- bkm(y ~ x + (1 | g), few,
    family = "probit", threads = 1, control = list(progress = FALSE)
  )
  expect_gt(length(object$posterior$points), 3L)
  limits <- confint(object, level = 0.9)
  theta <- vapply(object$posterior$points, function(point) {
    c(point$weight, point$theta_mean[2], point$theta_cov[2, 2])
  }, numeric(3))
  scale <- object$transform$scale[["x"]]
  for (k in 1:2) {
    below <- stats::pnorm(limits["x", k] * scale, theta[2, ], sqrt(theta[3, ]))
    expect_equal(sum(theta[1, ] * below), c(0.05, 0.95)[k], tolerance = 1e-6)
  }
  # The mixture has longer tails than the normal law of its moments.
  far <- confint(object, level = 0.999)["x", ]
  half <- stats::qnorm(0.9995) * sqrt(vcov(object)["x", "x"])
  expect_gt(diff(far), 2 * half)
})

test_that("bayes_R2() is the share of the means of the rows, a number a draw", {
  skip_if_not_installed("rstantools")
  fit <- bkm(mpg ~ wt + hp, mtcars, threads = 1)
  share <- rstantools::bayes_R2(fit, ndraws = 200, seed = 1)
  latent <- posterior_latent(fit, NULL, 200L, seed = 1)
  explained <- apply(latent$f, 1, var)
  expect_equal(share, explained / (explained + latent$sigma^2))
  expect_lt(abs(mean(share) - summary(lm(mpg ~ wt + hp, mtcars))$r.squared), 0.05)
  expect_bk_error(rstantools::bayes_R2(logit), "argument", "to classes")
})
