# The golden numbers of mkprobit(), whatever cases, sizes and values the files hold; the tolerances
# are those of golden/mkprobit/README.md.

skip_if_not_installed("jsonlite")
skip_if_not(
  file.exists(file.path(golden_folder("mkprobit"), "cases_vb.json")),
  "no golden files beside the tests"
)

within_golden <- function(found, expected, tolerance, label, relative = FALSE) {
  expect_equal(dim(found), dim(expected), label = label)
  scale <- if (relative) pmax(abs(expected), 1e-300) else 1
  worst <- max(abs(found - expected) / scale / tolerance)
  expect_true(isTRUE(worst <= 1), label = sprintf("%s: %.3g tolerances", label, worst))
}

for (case in mkprobit_cases("vb")) {
  test_that(paste("mkprobit,", case$name), {
    expected <- function(part) mkprobit_numbers(case, part)
    fit_to <- function(...) {
      mkprobit_case_fit(
        case, mkprobit_prior(tau = case$tau, nu = case$nu, alpha0 = case$alpha0),
        latent_scales = case$scales, zeta_moment = case$zeta_moment,
        nodes = 97, accelerate = FALSE, ...
      )
    }
    fit <- fit_to(tol = 1e-14, tolw = 1e-12, max_iter = 1e5)
    # The composite itself.
    spaces <- mkprobit_spaces(case)
    parts <- Map(function(x, kernel) {
      if (kernel$kind == "basis") t(x) else kernel_matrix(kernel, x)
    }, spaces, mkprobit_kernels(case))
    beta <- as.double(unlist(case$beta))
    k <- if (case$composite == "product") {
      Reduce(`*`, Map(`^`, parts, beta))
    } else {
      Reduce(`+`, Map(`*`, parts, beta))
    }
    within_golden(unname(k), expected("K"), 1e-12, "K")
    bound <- elbo(fit)
    expect_equal(bound[length(bound)], drop(expected("bound"))[1],
      tolerance = 1e-8 / abs(case$bound)
    )
    first <- expected("bound_first5")
    within_golden(matrix(bound[seq_along(first)], nrow(first)), first, 1e-8, "first bounds")
    within_golden(fit$coefficients$mean, expected("W"), 1e-7, "W")
    within_golden(fit$coefficients$var, expected("Vdiag"), 1e-7, "V", TRUE)
    within_golden(fit$coefficients$alpha, expected("alpha"), 1e-7, "alpha", TRUE)
    new <- mkprobit_spaces(case, "Xnew")
    points <- bayeskernel:::points_of_rows(fit, bayeskernel:::new_rows(fit, new))
    moments <- bayeskernel:::mkprobit_predict_cpp(
      fit$posterior$core, unname(Map(bayeskernel:::space_source, fit$spaces, points)), fit$combine,
      list(nodes = 97L, threads = 1L, progress = FALSE)
    )
    within_golden(t(moments$mean), expected("pred_mean"), 1e-7, "mean")
    within_golden(t(sqrt(1 + moments$var)), expected("pred_sd"), 1e-7, "sd", TRUE)
    prob <- predict(fit, new, type = "prob")
    within_golden(unname(t(prob)), expected("pred_prob"), 1e-9, "prob")
    expect_lt(max(abs(rowSums(prob) - 1)), 1e-10)
    expect_equal(predict(fit, new, type = "logprob"), log(prob),
      tolerance = 1e-10, ignore_attr = TRUE
    )
    # Acceleration ends at the same place where there is only one.
    if (case$scales == "fixed") {
      quick <- fit_to(tol = 1e-14, tolw = 1e-10, max_iter = 1e5)
      expect_equal(predict(quick, new, type = "prob"), prob, tolerance = 1e-7)
    }
  })
}

slow <- identical(Sys.getenv("BAYESKERNEL_SLOW"), "true")

for (case in mkprobit_cases("gibbs")) {
  test_that(paste("mkprobit, sampler,", case$name), {
    skip_if_not(slow, "the sampler's golden numbers")
    expected <- function(part) mkprobit_numbers(case, part)
    priors <- case$priors
    # Parameters of the weights' prior that are not inferred are where the chain begins: at the
    # means of their priors, unless the file names them.
    held <- "beta" %in% case$infer && !("hyper" %in% case$infer)
    at_means <- switch(case$composite,
      sum = priors$rho %||% (priors$mu / priors$lambda),
      product = c(priors$pi %||% (1 / priors$h_pi), priors$chi %||% (1 / priors$h_chi)),
      binary = priors$p
    )
    fit <- suppressWarnings(mkprobit_case_fit(
      case, mkprobit_prior(
        tau = priors$tau, nu = priors$nu, weights = if (held) {
          at_means
        } else {
          switch(case$composite,
            sum = c(priors$mu, priors$lambda), binary = priors$p,
            product = c(priors$h_pi, priors$h_chi)
          )
        }, theta = c(priors$omega, priors$phi),
        weight_hyper = if (held) "fixed" else "learned"
      ),
      method = "gibbs", chains = 2, warmup = 1000, ndraws = 2000, thin = 4
    ))
    new <- mkprobit_spaces(case, "Xnew")
    # Monte Carlo errors by batches of the draws of each chain.
    summarise <- function(draws) {
      flat <- matrix(draws, dim(draws)[1])
      batch <- rep(seq_len(40), each = nrow(flat) / 40)
      means <- rowsum(flat, batch) / (nrow(flat) / 40)
      list(
        mean = colMeans(flat), mcse = apply(means, 2, stats::sd) / sqrt(40),
        sd = apply(flat, 2, stats::sd)
      )
    }
    agree <- function(found, mean, mcse, label) {
      z <- abs(found$mean - as.vector(mean)) / sqrt(as.vector(mcse)^2 + found$mcse^2)
      expect_lt(max(z), 5, label = label)
    }
    own <- mkprobit_spaces(case)
    f <- summarise(aperm(predict(fit, own, draws = TRUE), c(1, 3, 2)))
    agree(f, expected("F_mean"), expected("F_mcse"), "F")
    expect_lt(max(abs(f$sd / as.vector(expected("F_sd")) - 1)), 0.15)
    p <- summarise(aperm(predict(fit, new, type = "prob", draws = TRUE), c(1, 3, 2)))
    agree(p, expected("pred_prob"), expected("pred_mcse"), "prob")
    expect_equal(as.vector(t(predict(fit, new, type = "prob"))), p$mean, tolerance = 1e-8)
    if (!("beta" %in% case$infer)) return(invisible())
    names <- sprintf("weight[%s]", names(own))
    weights <- expected("beta_mean_mcse_sd")
    agree(summarise(as.matrix(fit)[, names]), weights[, 1], weights[, 2], "weights")
    # A product's weights have moments only without hyperpriors.
    if (case$composite != "product" || held) {
      expect_equal(kernel_weights(fit)$sd, weights[, 3], tolerance = 0.15)
    }
  })
}
