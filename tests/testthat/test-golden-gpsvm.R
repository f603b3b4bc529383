# The golden numbers of the nonlinear machine, whatever their sizes; tolerances: README.md of
# folder golden/gpsvm.

skip_if_not_installed("jsonlite")

near <- function(found, expected, tolerance, label) {
  found <- as.vector(unlist(found))
  expected <- as.vector(as.matrix(expected))
  expect_equal(length(found), length(expected), label = label)
  excess <- abs(found - expected) / tolerance
  expect_true(
    isTRUE(all(excess <= 1)), label = sprintf("%s: %.3g of the tolerance", label, max(excess))
  )
}

expect_golden_moments <- function(fit, new, expected) {
  link <- predict(fit, new, type = "link", se.fit = TRUE)
  near(link$fit, expected$mean, 1e-5, "predicted mean")
  near(link$se.fit^2, expected$var, 1e-5 * expected$var, "predicted variance")
  prob <- predict(fit, new, type = "prob", link = "probit")[, 2]
  near(prob, expected$prob, 1e-5, "probit probability")
  hinge <- predict(fit, new, type = "prob", link = "hinge")[, 2]
  near(hinge, expected$prob_norm, 5e-4, "hinge probability")
}

alpha_of <- function(fit, y) (1 - y * fit$fitted$mean)^2 + fit$fitted$var

for (case in golden_gpsvm_cases()) {
  golden <- read_golden_gpsvm(case)
  expected <- golden$expected
  name <- function(text) sprintf("gpsvm %s: %s", case, text)
  exact <- golden_gpsvm_fit(golden, "all", tol = 1e-13, max_iter = 20000)
  sparse <- golden_gpsvm_fit(golden, golden$z, golden$nugget, tol = 1e-13, max_iter = 20000)

  test_that(name("the files mean what the package does"), {
    expect_equal(golden$settings$jitter_relative, 1e-6)
    expect_setequal(golden$y, c(-1, 1))
  })

  test_that(name("exact process"), {
    near(last_bound(exact), expected$exact$elbo, 1e-6, "bound")
    posterior <- golden$exact_posterior
    near(exact$fitted$mean, posterior$mu, 1e-5, "mu")
    near(exact$fitted$var, posterior$var, 1e-5 * posterior$var, "zeta")
    near(alpha_of(exact, golden$y), posterior$alpha, 1e-5, "alpha")
    expect_golden_moments(exact, golden$new, golden$exact_predictions)
  })

  test_that(name("inducing points"), {
    near(last_bound(sparse), expected$inducing$elbo, 1e-6, "bound")
    machine <- sparse$posterior$machines[[1]]
    factor <- sparse$posterior$factor
    near(machine$mean, golden$inducing_mu$whitened_mean, 1e-5, "a")
    near(factor %*% machine$mean, golden$inducing_mu$mu, 1e-5, "mu")
    zeta <- tcrossprod(factor %*% t(machine$whitener))
    whole <- as.matrix(golden$inducing_zeta)
    # Entries off the diagonal may be next to nothing.
    scale <- sqrt(outer(diag(whole), diag(whole)))
    near(zeta, whole, 1e-5 * scale, "zeta")
    near(alpha_of(sparse, golden$y), golden$inducing_alpha$alpha, 1e-5, "alpha")
    expect_golden_moments(sparse, golden$new, golden$inducing_predictions)
  })

  test_that(name("plain ascent arrives at the same place"), {
    for (plain in list(
      golden_gpsvm_fit(
        golden, golden$z, golden$nugget, tol = 1e-12, max_iter = 20000, accelerate = FALSE
      ),
      golden_gpsvm_fit(
        golden, golden$z, golden$nugget, method = "svi", batch_size = 7, seed = 1, tol = 1e-13,
        max_iter = 20000
      )
    )) {
      near(last_bound(plain), expected$inducing$elbo, 1e-6, "bound")
      near(plain$posterior$machines[[1]]$mean, golden$inducing_mu$whitened_mean, 1e-5, "a")
    }
  })

  test_that(name("bound at the prior"), {
    core <- golden_gpsvm_core(golden)
    rows <- gpsvm_latent_cpp(
      core$data, core$kernel, core$z, golden$nugget, diag(nrow(golden$z)), 1L
    )
    spread <- rowSums(rows$f^2) + rows$residual
    near(sum(-1 - sqrt(1 + spread)), expected$inducing$elbo_at_prior_q, 1e-8, "bound")
  })

  test_that(name("gradients"), {
    core <- golden_gpsvm_core(golden)
    tuner <- gpsvm_tuner_cpp(core$data, nrow(golden$z), FALSE, 1L, 1L)
    value <- gpsvm_bound_cpp(
      tuner, core$kernel, numeric(), golden$nugget, core$z, TRUE,
      list(tol = 1e-13, max_iter = 20000L, accelerate = TRUE)
    )
    near(value$bound, expected$inducing$elbo, 1e-6, "bound")
    gradient <- split_gradient(value$kernel, golden$parts)
    near(gradient$variance, unlist(expected$inducing$grad_logvar), 1e-4, "log variances")
    near(
      gradient$lengthscale, unlist(expected$inducing$grad_loglengthscale), 1e-4, "log length-scales"
    )
    near(value$nugget, expected$inducing$grad_nugget, 1e-4, "nugget")
    near(t(value$locations), golden$inducing_grad_locations, 1e-4, "locations")
  })

  test_that(name("linear model"), {
    linear <- expected$linear
    skip_if(is.null(linear), "no linear model in the files")
    data <- data.frame(golden$x, y = golden$y)
    first <- isTRUE(linear$intercept_first)
    fit <- bsvm(
      stats::reformulate(colnames(golden$x), "y", intercept = first), data, standardize = FALSE,
      penalty = "none", threads = 1, control = list(tol = 1e-13, max_iter = 20000),
      prior = bsvm_prior(beta_var = as.double(unlist(linear$prior_cov_diag))), method = "vb"
    )
    near(last_bound(fit), linear$elbo, 1e-6, "bound")
    near(coef(fit), unlist(linear$beta_mean), 1e-5, "beta")
    covariance <- matrix(unlist(linear$beta_cov), length(coef(fit)))
    scale <- sqrt(outer(diag(covariance), diag(covariance)))
    near(vcov(fit, type = "posterior"), covariance, 1e-5 * scale, "covariance of beta")
  })

  test_that(name("one stochastic step"), {
    step <- expected$svi_step
    skip_if(is.null(step), "no stochastic step in the files")
    core <- test_core("gpsvm_step")
    found <- core$gpsvm_step(
      unname(golden$x), as.double(golden$y > 0),
      do.call(rbind, lapply(golden$parts, function(part) {
        rep_len(part$lengthscale, ncol(golden$x))
      })),
      vapply(golden$parts, function(part) as.double(part$variance), 1),
      unname(t(golden$z)), golden$nugget,
      as.integer(unlist(step$rows_one_based)), as.double(step$rho)
    )
    near(found$mean, unlist(step$whitened_mean_after), 1e-8, "mean")
    near(
      diag(solve(crossprod(found$whitener))),
      unlist(step$whitened_precision_diag_after), 1e-8, "precision"
    )
  })

  test_that(name("mode of the exact process"), {
    ecm <- expected$ecm
    skip_if(is.null(ecm), "no mode in the files")
    fit <- golden_gpsvm_fit(golden, "all", method = "ecm", tol = 1e-13, max_iter = 20000)
    near(fit$fitted$mean, unlist(ecm$f_mode), 1e-3, "f")
    objective <- ecm$objective_2hinge_plus_half_quadratic
    near(utils::tail(fit$trace$objective, 1), objective, 1e-5 * abs(objective), "objective")
  })

  test_that(name("measures"), {
    inducing <- expected$inducing
    labels <- sign(golden$x[seq_len(nrow(golden$new)), 1])
    skip_if(is.null(inducing$brier) || any(labels == 0), "no measures")
    prob <- predict(sparse, golden$new, type = "prob", link = "probit")[, 2]
    near(brier_score(labels, prob), inducing$brier, 1e-5, "Brier score")
    near(log_loss(labels, prob), inducing$logloss, 1e-5, "log-loss")
    latent <- predict(sparse, golden$new, type = "link")
    near(auc(labels, latent), inducing$auc, 1e-12, "AUC")
  })
}
