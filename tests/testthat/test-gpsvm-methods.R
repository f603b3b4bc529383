# What a fit of the nonlinear machine says about itself.

d <- curved_data(120)
x <- curved_matrix(d)
test_rows <- curved_data(50, seed = 8)
vb <- gpsvm(y ~ x1 + x2, d, inducing = 12, seed = 1, threads = 1, method = "vb", tune = FALSE)
mcmc <- quick_process(y ~ x1 + x2, d, inducing = 12)
mode <- gpsvm(y ~ x1 + x2, d, inducing = 12, method = "ecm", threads = 1, tune = FALSE)
three <- curved_data(120, classes = 3)
many <- gpsvm(y ~ x1 + x2, three, inducing = 12, seed = 1, threads = 1, method = "vb", tune = FALSE)
fits <- list(vb, mcmc, mode, many)

test_that("print() names rows, kernel, points, and how it ended", {
  expect_output(print(vb), "variational Bayes")
  expect_output(print(vb), "120, .* % positive \\(\"out\"\\)")
  expect_output(print(vb), "rbf\\(lengthscale = ")
  expect_output(print(vb), "12 points")
  expect_output(print(vb), "Converged after [0-9]+ passes, bound -")
  expect_output(print(mcmc), "2 chains of 40 draws, warmup 40: largest R-hat")
  expect_output(print(mode), "objective [0-9]")
  expect_output(print(many), "in 3 classes, a function for each: low, mid, high")
  exact <- gpsvm(x, d$y, inducing = "all", nugget = 0.5, threads = 1, method = "vb", tune = FALSE)
  expect_output(print(exact), "every row \\(exact process\\)")
  expect_output(print(summary(exact)), "Nugget: +0.5")
  capped <- suppressWarnings(gpsvm(x, d$y, control = list(max_iter = 1), threads = 1,
    method = "vb", tune = FALSE))
  expect_output(print(capped), "NOT converged")
  for (fit in fits) {
    capture.output(out <- withVisible(print(fit)))
    expect_identical(out, list(value = fit, visible = FALSE))
  }
})

test_that("summary() judges predictions", {
  found <- summary(vb, test_rows)
  p <- predict(vb, test_rows, type = "prob")
  m <- predict(vb, test_rows, type = "link")
  expect_equal(found$measures$rows, 50)
  expect_equal(found$measures$error, mean(predict(vb, test_rows) != test_rows$y))
  expect_equal(found$measures$brier, brier_score(test_rows$y, p))
  expect_equal(found$measures$log_loss, log_loss(test_rows$y, p))
  expect_equal(found$measures$auc, auc(test_rows$y, m))
  expect_identical(found$measures$calibration, calibration(test_rows$y, p[, 2]))
  expect_output(print(found), "Brier score")
  expect_output(print(found), "Twice the inducing points would add about")
  kernel <- kernel_parameters(vb$kernel)
  expect_equal(found$parameters[names(kernel), "Estimate"], kernel)
  classes <- summary(many, curved_data(50, 3, 8))
  expect_null(classes$measures$auc)
  expect_equal(
    classes$measures$error, mean(predict(many, curved_data(50, 3, 8)) != curved_data(50, 3, 8)$y)
  )
  expect_output(print(classes), "Log loss")
})

test_that("labels of every kind are compared with those of the fit", {
  new <- curved_matrix(test_rows)
  truth <- test_rows$y == "out"
  for (kind in list(
    list(d$y == "out", truth), list(+(d$y == "out"), +truth),
    list(2 * (d$y == "out") - 1, 2 * truth - 1),
    list(d$y, as.character(test_rows$y)), list(d$y, test_rows$y)
  )) {
    fit <- gpsvm(x, kind[[1]], inducing = 12, seed = 1, threads = 1, method = "vb", tune = FALSE)
    expect_equal(
      summary(fit, new, kind[[2]])$measures, summary(vb, test_rows)$measures, tolerance = 1e-8
    )
  }
  # Rows with holes are left out.
  holed <- test_rows
  holed$x1[3] <- NA
  expect_equal(summary(vb, holed)$measures$rows, 49)
  expect_process_refusal(summary(vb, new), "argument", "y")
  expect_process_refusal(summary(vb, test_rows, c("other", rep("in", 49))), "response", "\"other\"")
  expect_process_refusal(summary(vb, test_rows, test_rows$y[-1]), "dimension", "49")
})

test_that("the gain of more points is estimated", {
  few <- gpsvm(y ~ x1 + x2, d, inducing = 3, seed = 1, threads = 1, method = "vb", tune = FALSE)
  expect_gt(few$gain, vb$gain)
  twice <- gpsvm(y ~ x1 + x2, d, inducing = 6, seed = 1, threads = 1, method = "vb", tune = FALSE)
  real <- last_bound(twice) - last_bound(few)
  expect_true(few$gain > real / 4 && few$gain < real * 4)
  exact <- gpsvm(x, d$y, inducing = "all", threads = 1, method = "vb", tune = FALSE)
  expect_null(exact$gain)
})

test_that("tidy tables", {
  found <- tidy(vb)
  expect_identical(found$term, c("variance", "lengthscale", "nugget"))
  expect_equal(found$estimate, c(unname(kernel_parameters(vb$kernel)), 0))
  for (fit in fits) {
    row <- glance(fit)
    expect_equal(dim(row), c(1, 9))
    expect_equal(row$nobs, 120)
    expect_equal(row$inducing, 12)
    expect_identical(row$method, fit$method)
  }
  expect_equal(glance(vb)$elbo, last_bound(vb))
  expect_true(is.na(glance(mcmc)$elbo) && glance(mcmc)$rhat.max > 0.9)
  expect_equal(glance(many)$elbo, last_bound(many))
  rows <- augment(vb, test_rows)
  expect_named(rows, c("x1", "x2", "y", ".fitted", ".prob", ".class"))
  expect_equal(rows$.fitted, predict(vb, test_rows, type = "link"))
  expect_equal(
    augment(vb, test_rows, link = "hinge")$.prob,
    predict(vb, test_rows, type = "prob", link = "hinge")[, 2]
  )
  expect_named(
    augment(many, three), c("x1", "x2", "y", ".prob_low", ".prob_mid", ".prob_high", ".class")
  )
  expect_equal(augment(vb)$.prob, fitted(vb))
  expect_equal(nrow(model.frame(vb)), 120)
})

test_that("draws in the forms of coda and posterior", {
  skip_if_not_installed("posterior")
  expect_identical(elbo(vb), vb$trace$elbo)
  expect_bk_error(elbo(mcmc), "argument", "gibbs")
  expect_identical(dim(as.matrix(mcmc)), c(80L, 12L))
  expect_equal(coda::nchain(coda::as.mcmc.list(mcmc)), 2)
  found <- posterior::as_draws(mcmc)
  expect_equal(posterior::nchains(found), 2)
  expect_identical(posterior::variables(found), sprintf("u[%d]", 1:12))
  exact <- quick_process(x[1:20, ], d$y[1:20], inducing = "all", ndraws = 10)
  expect_identical(posterior::variables(posterior::as_draws(exact))[20], "f[20]")
  # Those of q have its moments.
  q <- as.matrix(vb, ndraws = 20000, seed = 2)
  factor <- vb$posterior$factor
  machine <- vb$posterior$machines[[1]]
  sd <- sqrt(rowSums((factor %*% t(machine$whitener))^2))
  expect_lt(max(abs(colMeans(q) - drop(factor %*% machine$mean)) / sd), 0.04)
  expect_lt(max(abs(apply(q, 2, stats::sd) / sd - 1)), 0.03)
  expect_bk_error(as.matrix(mode), "argument", "no draws")
  expect_identical(colnames(as.matrix(many, ndraws = 3, seed = 1))[13], "u[mid,1]")
})

test_that("update() changes what it is told", {
  again <- update(vb, inducing = 6)
  expect_equal(nrow(again$inducing), 6)
  expect_equal(update(vb)$posterior, vb$posterior)
})
