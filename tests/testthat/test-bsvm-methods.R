d <- grouped_data()
fit <- bsvm(y ~ x1 + x2 + (x1 | g), d, threads = 1, method = "vb")
sampled <- quick_gibbs(y ~ x1 + x2 + (x1 | g), d)
plain <- bsvm(y ~ x1 + x2, d, threads = 1, method = "vb")

test_that("scales of coefficients are related by the design's transform", {
  for (object in list(fit, sampled, plain)) {
    a <- diag(1 / unname(object$transform$scale))
    a[1, -1] <- -object$transform$center[-1] / object$transform$scale[-1]
    expect_equal(unname(coef(object)), drop(a %*% coef(object, scale = "model")))
    expect_equal(
      vcov(object), a %*% vcov(object, scale = "model") %*% t(a),
      ignore_attr = TRUE, tolerance = 1e-8
    )
    expect_equal(fixed_sd(object), sqrt(diag(vcov(object))), ignore_attr = TRUE, tolerance = 1e-8)
  }
})

test_that("coefficients of a sampler are means of its draws", {
  draws <- as.matrix(sampled)
  expect_equal(coef(sampled), colMeans(draws[, names(coef(sampled))]))
  effects <- as.data.frame(ranef(sampled))
  column <- sprintf("b[%s g:%s]", effects$term, effects$grp)
  expect_equal(effects$condval, unname(colMeans(draws[, column])))
  expect_equal(effects$condsd, unname(apply(draws[, column], 2, sd)))
})

test_that("draws from q have the moments of the fit, covariances too", {
  draws <- as.matrix(fit, ndraws = 20000, seed = 1)
  b <- names(coef(fit))
  expect_equal(colnames(draws), dimnames(sampled$draws)[[3]])
  expect_equal(cov(draws[, b]), vcov(fit, type = "posterior"), tolerance = 0.05)
  effects <- as.data.frame(ranef(fit))
  u <- draws[, sprintf("b[%s g:%s]", effects$term, effects$grp)]
  expect_lt(max(abs(colMeans(u) - effects$condval) / effects$condsd), 0.03)
  expect_equal(unname(apply(u, 2, sd)), effects$condsd, tolerance = 0.05)
  psi <- draws[, startsWith(colnames(draws), "Sigma[")]
  expect_equal(
    unname(colMeans(sqrt(psi[, c(1, 3)]))), unname(attr(VarCorr(fit)$g, "stddev")), tolerance = 0.05
  )
  expect_equal(
    mean(psi[, 2] / sqrt(psi[, 1] * psi[, 3])), attr(VarCorr(fit)$g, "correlation")[2, 1],
    tolerance = 0.05
  )
  # Slopes and intercepts of a group go together as postVar says.
  of_first <- u[, effects$grp == "g1"]
  expect_equal(
    cov(of_first), attr(ranef(fit)$g, "postVar")[, , 1], ignore_attr = TRUE, tolerance = 0.05
  )
})

test_that("random effects come by grouping factor, levels as rows", {
  effects <- ranef(fit)
  expect_named(effects, "g")
  expect_equal(dimnames(effects$g), list(levels(d$g), c("(Intercept)", "x1")))
  expect_equal(dim(attr(effects$g, "postVar")), c(2L, 2L, 8L))
  expect_null(attr(ranef(fit, condVar = FALSE)$g, "postVar"))
  apart <- ranef(bsvm(y ~ x2 + (x2 || g), d, threads = 1, method = "vb"))
  expect_named(apart$g, c("(Intercept)", "x2"))
  expect_length(attr(apart$g, "postVar"), 2L)
  expect_equal(nrow(as.data.frame(apart)), 16L)
})

test_that("effects on the data scale add up to the latent mean", {
  u <- as.matrix(ranef(fit)$g)[d$g, ]
  x <- cbind(1, d$x1, d$x2)
  expect_equal(
    drop(x %*% coef(fit)) + u[, 1] + u[, 2] * d$x1, predict(fit, type = "link"),
    ignore_attr = TRUE, tolerance = 1e-10
  )
})

test_that("variance components carry standard deviations and correlations", {
  v <- VarCorr(fit)$g
  expect_equal(attr(v, "stddev"), sqrt(diag(v)))
  expect_equal(attr(v, "correlation"), cov2cor(v), ignore_attr = TRUE)
  table <- as.data.frame(VarCorr(fit))
  expect_named(table, c("grp", "var1", "var2", "vcov", "sdcor"))
  expect_equal(nrow(table), 3L)
  expect_bk_error(VarCorr(plain), "argument", "no random effects")
  expect_bk_error(ranef(plain), "argument", "no random effects")
})

test_that("intervals of variances are quantiles of their factor", {
  one <- bsvm(y ~ x1 + (1 | g), d, threads = 1, method = "vb")
  q <- one$posterior$variance[[1]]
  row <- summary(one)$variances["sd((Intercept) | g)", ]
  density <- function(s) {
    2 * s * exp(q$shape * log(q$rate) - lgamma(q$shape) - (q$shape + 1) * log(s^2) - q$rate / s^2)
  }
  expect_equal(
    integrate(density, row[[3]], row[[4]], rel.tol = 1e-10)$value, 0.95, tolerance = 1e-6
  )
  mean <- integrate(function(s) s * density(s), 0, Inf, rel.tol = 1e-10)$value
  expect_equal(row[[1]], mean, tolerance = 1e-6)
})

test_that("the summary of a matrix of effects agrees with draws from q", {
  draws <- as.matrix(fit, ndraws = 20000, seed = 2)
  psi <- draws[, startsWith(colnames(draws), "Sigma[")]
  table <- summary(fit)$variances
  expect_equal(rownames(table), c("sd((Intercept) | g)", "sd(x1 | g)", "cor((Intercept), x1 | g)"))
  sds <- sqrt(psi[, c(1, 3)])
  expect_equal(unname(table[1:2, 1]), unname(colMeans(sds)), tolerance = 0.02)
  correlation <- psi[, 2] / (sds[, 1] * sds[, 2])
  expect_lt(abs(table[3, 1] - mean(correlation)), 0.03)
  # VarCorr() has the same numbers in the same order, lme4's.
  expect_equal(as.data.frame(VarCorr(fit))$sdcor, unname(table[1:3, 1]))
  expect_identical(tail(tidy(fit, "ran_pars")$term, 1), "cor__(Intercept).x1")
})

test_that("residuals are labels less probabilities", {
  t <- as.numeric(d$y == "yes")
  p <- fitted(fit)
  expect_equal(residuals(fit), t - p)
  expect_equal(residuals(fit, "pearson"), (t - p) / sqrt(p * (1 - p)))
  expect_bk_error(residuals(fit, "deviance"), "argument", "pearson")
})

test_that("rows that na.exclude left out come back as NA", {
  d$x1[c(3, 9)] <- NA
  padded <- bsvm(y ~ x1, d, na.action = na.exclude, threads = 1, method = "vb")
  for (values in list(fitted(padded), residuals(padded), predict(padded), weights(padded))) {
    expect_length(values, 80L)
    expect_equal(which(is.na(values)), c(3L, 9L))
  }
  omitted <- bsvm(y ~ x1, d, na.action = na.omit, threads = 1, method = "vb")
  expect_length(fitted(omitted), 78L)
  expect_equal(nobs(padded), 78L)
})

test_that("update() changes the call, by formula and by argument", {
  less <- update(fit, . ~ . - x2)
  expect_named(coef(less), c("(Intercept)", "x1"))
  expect_named(ranef(less), "g")
  x <- as.matrix(d[c("x1", "x2")])
  by_matrix <- bsvm(x, d$y, threads = 1, method = "vb")
  expect_equal(update(by_matrix, penalty = 2)$penalty, 2)
  expect_bk_error(update(by_matrix, . ~ . - x1), "argument", "matrix")
})

test_that("the model frame is made from kept data, or those of the call", {
  kept <- bsvm(y ~ log(x1) + (1 | g), d, model = TRUE, threads = 1, method = "vb")
  again <- update(kept, model = FALSE)
  expect_equal(names(model.frame(kept)), c("y", "log(x1)", "g"))
  expect_equal(model.frame(again), model.frame(kept), ignore_attr = TRUE)
  gone <- local({
    hidden <- d
    bsvm(y ~ x1, hidden, threads = 1, model = FALSE, method = "vb")
  })
  expect_bk_error(model.frame(gone), "argument", "model = TRUE")
})

test_that("elbo() is the trace, and a sampler has none", {
  expect_true(all(diff(elbo(fit)) > -1e-9))
  expect_bk_error(elbo(sampled), "argument", "no variational bound")
})

test_that("tidy tables have the columns that other packages expect", {
  table <- tidy(fit, effects = c("fixed", "ran_pars", "ran_vals"), conf.int = TRUE)
  expect_named(table, c(
    "effect", "group", "level", "term", "estimate", "std.error", "conf.low", "conf.high"
  ))
  expect_equal(as.vector(table(table$effect)[c("fixed", "ran_pars", "ran_vals")]), c(3L, 3L, 16L))
  expect_named(tidy(fit, effects = "fixed"), c("effect", "group", "term", "estimate", "std.error"))
  expect_equal(tidy(plain)$term, c(names(coef(plain)), "sd__penalty"))
  expect_bk_error(tidy(fit, effects = "random"), "argument", "ran_vals")
  expect_equal(nrow(glance(fit)), 1L)
  expect_named(glance(sampled), names(glance(fit)))
})

test_that("print and summary fill a screen and say what a fit is worth", {
  # Time and the number of passes differ between machines; few digits do not.
  still <- function(lines) {
    lines <- gsub("after [0-9]+ passes", "after <count> passes", lines)
    gsub("[0-9.e-]+ s([.]?)$", "<time>\\1", lines)
  }
  expect_snapshot(print(fit, digits = 2), transform = still)
  expect_snapshot(print(summary(fit), digits = 2), transform = still)
  expect_snapshot(print(plain, digits = 2), transform = still)
  expect_snapshot(print(ranef(fit), digits = 2, n = 3))
  expect_output(print(summary(sampled)), "R-hat")
  expect_output(print(summary(sampled)), "100 effective draws")
  for (object in list(fit, sampled, plain)) {
    text <- capture.output(print(object), print(summary(object)))
    expect_lt(max(nchar(text)), 80)
  }
})

test_that("balanced error weighs classes, not rows", {
  truth <- factor(c("a", "a", "a", "b"))
  expect_equal(balanced_error(truth, c("a", "a", "a", "a")), 0.5)
  expect_equal(balanced_error(truth, c("a", "a", "b", "b")), 1 / 6)
  expect_equal(balanced_error(truth, c("a", "a", NA, "b")), 0)
  expect_equal(balanced_error(c(TRUE, FALSE), c(TRUE, TRUE)), 0.5)
  expect_bk_error(balanced_error(truth, "a"), "dimension", "lengths")
  expect_bk_error(balanced_error(truth, c("a", "a", "a", "c")), "argument", "\"c\"")
})

test_that("a model without fixed coefficients is summarised all the same", {
  for (object in list(
    bsvm(y ~ 0 + (1 | g), d, threads = 1, method = "vb"), quick_gibbs(y ~ 0 + (1 | g), d)
  )) {
    expect_equal(dim(vcov(object)), c(0L, 0L))
    expect_equal(nrow(summary(object)$coefficients), 0L)
    expect_false(any(grepl("Fixed", capture.output(print(object)))))
    expect_equal(tidy(object)$term, "sd__(Intercept)")
    expect_equal(predict(object, d, type = "link"), predict(object, type = "link"))
    expect_bk_error(plot(object, "coef"), "argument", "ranef")
  }
})
