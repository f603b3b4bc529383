# Models of golden/bkm: processes, random effects, correlated units, weights and rows with holes in
# one fit.

skip_if_not_installed("jsonlite")

cases <- golden_cases("bkm")

test_that("there are golden numbers", {
  skip_if(length(cases) == 0L, "no golden files beside the tests")
  expect_gt(length(cases), 0L)
})

for (case in cases) {
  golden <- read_golden_bkm(case)
  expected <- golden$vb
  spec <- golden$spec
  input <- golden_bkm_input(golden)
  fit <- bsvm_vb_cpp(input$data, input$prior, golden_settings())
  joint <- joint_gaussian(fit$theta_mean, fit$theta_cov, fit$group_mean, fit$loading, fit$schur)
  p0 <- length(spec$fixed)
  r <- length(unlist(spec$random$columns))
  groups <- ncol(fit$group_mean)

  test_that(paste(case, "has the golden posterior"), {
    expect_true(fit$status$converged)
    expect_golden(last(fit$status$bound), expected$elbo, 1e-7, "elbo")
    fixed <- seq_len(p0)
    mean <- unlist(expected$fixed_mean)
    expect_golden(fit$theta_mean[fixed], mean, within(mean, 1e-5), "fixed")
    cov <- unlist(expected$fixed_cov)
    expect_golden(c(fit$theta_cov[fixed, fixed]), cov, within(cov, 1e-5), "covariance")
    for (k in seq_along(spec$gp)) {
      own <- expected$gp[[k]]
      block <- input$prior$blocks[[k]]
      at <- block$first + seq_len(block$members)
      found <- list(
        variance = fit$variance[[k]]$value, mean = fit$theta_mean[at],
        sd = sqrt(diag(fit$theta_cov)[at])
      )
      for (name in names(found)) {
        want <- unlist(own[[name]])
        expect_golden(found[[name]], want, within(want, 1e-5), paste("gp", k, name))
      }
      if (isTRUE(spec$gp[[k]]$centre)) {
        expect_golden(input$columns$centre[[k]], unlist(own$centre), 1e-8, "centre")
      }
    }
    want <- do.call(rbind, lapply(expected$random_mean, unlist))
    expect_golden(c(t(fit$group_mean)), c(want), within(c(want), 1e-5), "effects")
    want <- unlist(expected$random_var_first)
    first <- length(fit$theta_mean) + seq_len(r)
    expect_golden(diag(joint$covariance)[first], want, within(want, 1e-5), "their variances")
    component <- last(fit$variance)[[1]]
    expect_equal(component$df, expected$nu_hat)
    want <- unlist(expected$S_hat)
    expect_golden(c(component$scale), want, within(want, 1e-5), "S")
    want <- unlist(expected$E_covariance)
    expect_golden(
      c(component$scale) / (component$df - r - 1), want, within(want, 1e-5), "E covariance"
    )
    if (!is.null(spec$correlated)) {
      own <- expected$blocks[[1]]
      k <- length(spec$gp) + 1L
      at <- input$prior$blocks[[k]]$first + seq_len(input$prior$blocks[[k]]$members)
      want <- unlist(own$mean)
      expect_golden(fit$theta_mean[at], want, within(want, 1e-5), "units")
      want <- c(own$A_hat, own$B_hat)
      expect_golden(unlist(fit$variance[[k]]), want, within(want, 1e-5), "their variance")
    }
  })

  test_that(paste(case, "takes the golden first steps"), {
    plain <- bsvm_vb_cpp(input$data, input$prior, golden_settings(
      accelerate = FALSE, max_iter = 20000L
    ))
    expect_golden(last(plain$status$bound), expected$elbo, 1e-7, "plain")
    expect_gt(min(diff(plain$status$bound)), -1e-9)
  })

  test_that(paste(case, "has the golden derivatives in length-scales"), {
    data <- c(input$data, list(processes = input$columns$terms))
    found <- process_learn_cpp(data, input$prior, golden_settings(most = 0L, factors = 1))
    expect_golden(found$bound, expected$elbo, 1e-7, "bound")
    want <- unlist(lapply(expected$gp, `[[`, "grad_loglengthscale"))
    expect_golden(c(found$slope), want, 1e-4, "derivatives")
  })

  test_that(paste(case, "leaves out rows as the golden cavities do"), {
    row <- vapply(golden$loo_first5, `[[`, 1, "row")
    at <- if (is.null(golden$atoms)) row else match(row, golden$atoms$row)
    y <- input$data$y[at]
    m <- fit$mean[at]
    all <- fit$variance_f[at]
    variance <- vapply(seq_along(spec$gp), function(k) fit$variance[[k]]$value, 1)
    # A row's residual is its own: it has no part in the message.
    open <- drop(input$data$open[at, , drop = FALSE] %*% variance)
    v <- all - open
    c <- sqrt((1 - y * m)^2 + all)
    kappa <- input$data$weights[at] / c
    b <- input$data$weights[at] * y * (1 + 1 / c)
    var <- 1 / (1 / v - kappa)
    want <- vapply(golden$loo_first5, `[[`, 1, "var")
    expect_golden(var + open, want, within(want, 1e-5), "variance")
    want <- vapply(golden$loo_first5, `[[`, 1, "mean")
    expect_golden(var * (m / v - b), want, within(want, 1e-5), "mean")
  })

  test_that(paste(case, "predicts the golden moments"), {
    names <- golden_predictors(golden)
    for (want in golden$predict) {
      new <- as.data.frame(lapply(
        stats::setNames(nm = names), function(name) golden_null(want[[name]])
      ))
      share <- 1
      if (anyNA(new)) {
        x <- as.matrix(golden$data[names])
        model <- predictor_model_cpp(
          unname(x), integer(), matrix(0L, nrow(x), 0L), integer(), list(),
          integer(), FALSE, numeric()
        )
        atoms <- atoms_cpp(unname(as.matrix(new)), matrix(0L, nrow(new), 0L), model, list())
        share <- exp(atoms$log_prior)
        new <- stats::setNames(as.data.frame(atoms$predictors), names)
      }
      columns <- golden_bkm_columns(
        golden, new, rep(NA_integer_, nrow(new)), share, input$columns$centre
      )
      z <- golden_bkm_random(golden, new)
      known <- want$group <= groups
      a <- cbind(columns$x, matrix(0, nrow(new), r * groups))
      if (known) a[, ncol(columns$x) + (want$group - 1) * r + seq_len(r)] <- z
      variance <- vapply(seq_along(spec$gp), function(k) fit$variance[[k]]$value, 1)
      m <- drop(a %*% joint$mean)
      v <- rowSums((a %*% joint$covariance) * a) + drop(columns$open %*% variance)
      if (!known) {
        component <- last(fit$variance)[[1]]
        psi <- component$scale / (component$df - r - 1)
        v <- v + rowSums((z %*% psi) * z)
      }
      mean <- sum(share * m)
      found <- c(mean, sum(share * (v + (m - mean)^2)), sum(share * stats::pnorm(m / sqrt(1 + v))))
      want <- unlist(want[c("mean", "var", "prob")])
      expect_golden(found, want, within(want, 1e-5), "predictions")
    }
  })

  if (!is.null(golden$atoms)) {
    test_that(paste(case, "describes holes by the golden numbers"), {
      free <- golden_bkm_input(golden, feedback = FALSE)
      apart <- bsvm_vb_cpp(free$data, free$prior, golden_settings())
      expect_golden(
        last(apart$status$bound), expected$elbo_without_feedback, 1e-7, "without feedback"
      )
      names <- setdiff(names(golden$atoms), c("row", "log_weight"))
      for (own in expected$imputed) {
        at <- which(golden$atoms$row == own$row)
        value <- golden$atoms[at, names[own$col]]
        share <- fit$share[at]
        mean <- sum(share * value)
        want <- c(own$mean, own$var)
        expect_golden(c(mean, sum(share * (value - mean)^2)), want, within(want, 1e-5), "imputed")
      }
      x <- unname(as.matrix(golden$data[names]))
      model <- predictor_model_cpp(
        x, integer(), matrix(0L, nrow(x), 0L), integer(), list(), integer(), FALSE, numeric()
      )
      want <- unlist(golden$x_model$mean)
      expect_golden(c(model$mean), want, within(want, 1e-4), "means")
      want <- unlist(golden$x_model$cov)
      expect_golden(c(model$cov[[1]]), want, within(want, 1e-4), "covariances")
    })
  }

  if (is.null(golden$atoms)) {
    test_that(paste(case, "is what bkm() fits"), {
      variances <- golden_bkm_variances(spec)
      skip_if(is.null(variances), "bkm() has no words for these terms and priors")
      data <- golden$data
      data$group <- factor(data$group)
      data$unit <- golden$unit
      terms <- vapply(seq_along(spec$gp), function(k) {
        sprintf(
          "gp(%s%s, kernel = rbf(spec$gp[[%d]]$lengthscale, ard = TRUE), %s)",
          paste(spec$gp[[k]]$columns, collapse = ", "),
          if (is.null(spec$gp[[k]]$by)) "" else paste(", by =", spec$gp[[k]]$by), k,
          sprintf("inducing = spec$gp[[%d]]$inducing", k)
        )
      }, "")
      columns <- function(names) paste(c(if (!"1" %in% names) "0", names), collapse = " + ")
      formula <- stats::as.formula(sprintf(
        "y ~ %s + %s + (%s | group)", columns(unlist(spec$fixed)),
        paste(terms, collapse = " + "), columns(unlist(spec$random$columns))
      ))
      cov <- if (!is.null(spec$correlated)) {
        g <- golden_unit_covariance(spec$correlated$G)
        dimnames(g) <- rep(list(as.character(seq_len(nrow(g)))), 2)
        list(unit = g)
      }
      own <- bkm(
        formula, data,
        family = "hinge", method = "vb", cov = cov, weights = weight,
        standardize = FALSE, control = list(tol = 1e-13, max_iter = 20000), threads = 1,
        prior = bkm_prior(
          beta_var = 1 / unlist(spec$fixed_precision), var_shape = variances[1],
          var_rate = variances[2], cov_df = spec$random$nu,
          cov_scale = matrix(as.double(unlist(spec$random$S)), r, r)
        )
      )
      expect_golden(last(own$trace$elbo), expected$elbo, 1e-7, "elbo")
      mean <- unlist(expected$fixed_mean)
      expect_golden(unname(lme4::fixef(own)[seq_along(mean)]), mean, within(mean, 1e-5), "fixef")
    })
  }
}
