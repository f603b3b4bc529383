# Expectation propagation against golden numbers.

skip_if_not_installed("jsonlite")

# The table's own rounding is 1e-13: it has numbers such as 1 - 1e-9.
test_that("tilted moments and sites of single rows are the golden ones", {
  core <- test_core("family")
  rows <- golden_table("ep", "tilted")
  for (part in split(rows, rows$family)) {
    found <- core$tilted_rows(part$family[1], part$m, part$v, part$r, part$y, part$w, part$noise)
    names <- c("logZ", "alpha1", "alpha2", "kappa", "b")
    for (k in seq_along(names)) {
      expected <- part[[names[k]]]
      tolerance <- ifelse(part$alpha2 > 1e-10, 1e-8 * abs(expected) + 1e-13, 1e-10)
      expect_golden(found[, k], expected, tolerance, paste(part$family[1], names[k]))
    }
  }
})

for (case in c(golden_kind("ep", "fixed"), golden_kind("ep", "weighted"))) {
  test_that(paste("a known prior:", case), {
    golden <- read_golden_family("ep", case)
    out <- ep_fit(golden)
    ep <- golden$ep
    expect_identical(out$engine, "ep")
    expect_golden(out$log_z, ep$logZ, 1e-6, "log Z")
    expect_golden(out$log_evidence, ep$logZ, 1e-6, "evidence")
    expect_golden(out$theta_mean, ep$mean, within(ep$mean), "mean")
    expect_golden(sqrt(diag(out$theta_cov)), ep$sd, within(ep$sd), "sd")
    expect_golden(out$theta_cov, ep$cov, within(ep$cov), "covariance")
    expect_golden(sum(out$loo), ep$sum_loo, 1e-5, "leave-one-out")
    expect_rows(out, golden$rows, "rows")
    new <- golden$new
    m <- new %*% out$theta_mean + either(golden$new_offset, 0)
    s <- rowSums((new %*% out$theta_cov) * new)
    expect_golden(m, ep$predict$m, within(ep$predict$m), "m")
    expect_golden(s, ep$predict$s, within(ep$predict$s), "s")
  })
}

for (case in c(golden_kind("ep", "penalty"), golden_kind("ep", "intercept"))) {
  test_that(paste("variances on a grid:", case), {
    golden <- read_golden_family("ep", case)
    golden$spec$noise_variance <- list()
    out <- ep_fit(golden, tol = 1e-8)
    mixture <- golden$mixture
    close <- function(name, found) {
      expect_golden(found, mixture[[name]], within(mixture[[name]], 1e-3), name)
    }
    expect_identical(out$engine, "ep-grid")
    close("log_evidence", out$log_evidence)
    close("x_mean", out$log_variance$mean)
    close("x_sd", out$log_variance$sd)
    close("mean", c(out$theta_mean, out$group_mean))
    close("sd", sqrt(c(diag(out$theta_cov), out$group_cov)))
    close("sum_loo", sum(out$loo))
    # Predictions are averages over the points.
    new <- golden$new
    weight <- vapply(out$points, `[[`, 0, "weight")
    expect_equal(sum(weight), 1)
    each <- vapply(out$points, function(point) {
      joint <- ep_joint(point)
      m <- drop(new %*% joint$mean)
      s <- rowSums((new %*% joint$cov) * new)
      cbind(m, s + m^2, point$noise)
    }, matrix(0, nrow(new), 3))
    pooled <- apply(each, 1:2, function(v) sum(v * weight))
    m <- pooled[, 1]
    s <- pooled[, 2] - m^2
    expected <- mixture$predict
    expect_golden(m, expected$m, within(expected$m, 1e-3), "m")
    if (golden$family == "gaussian") {
      sd <- sqrt(s + pooled[, 3])
      expect_golden(sd, expected$sd_response, within(expected$sd_response, 1e-3), "sd")
    } else {
      expect_golden(s, expected$s, within(expected$s, 1e-3), "s")
    }
  })

  test_that(paste("the evidence along a curve:", case), {
    golden <- read_golden_family("ep", case)
    curve <- golden$curve
    at <- grep("^x[0-9]*$", names(curve), value = TRUE)
    slopes <- grep("^gradient", names(curve), value = TRUE)
    held <- function(x) {
      input <- ep_input(golden)
      input$prior$blocks[[1]][c("kind", "precision")] <- list("held", exp(-x[1]))
      out <- linear_ep_cpp(input$data, input$prior, list(
        family = golden$family, tol = 1e-11, max_iter = 500L, threads = 1L,
        progress = FALSE, noise = list(precision = exp(-sum(x[-1])))
      ))
      expect_true(out$status$converged)
      out
    }
    for (j in seq_len(nrow(curve))) {
      x <- unlist(curve[j, at])
      out <- held(x)
      label <- paste("point", j)
      expect_golden(out$log_z, curve$logZ[j], 1e-6, label)
      # Sites are stationary: only the prior's factor moves.
      block <- if (length(out$group_mean) > 0) {
        c(length(out$group_mean), sum(out$group_mean^2, out$group_cov))
      } else {
        own <- -1
        c(length(out$theta_mean) - 1, sum(out$theta_mean[own]^2, diag(out$theta_cov)[own]))
      }
      expect_golden(
        0.5 * (exp(-x[1]) * block[2] - block[1]), curve[j, slopes[1]], 1e-4,
        paste(label, "gradient")
      )
      mean <- grep("^mean", names(curve), value = TRUE)
      if (length(mean) == 0) next
      joint <- c(out$theta_mean, out$group_mean)
      sd <- sqrt(c(diag(out$theta_cov), out$group_cov))
      expected <- unlist(curve[j, mean])
      expect_golden(joint, expected, within(expected), paste(label, "mean"))
      expected <- unlist(curve[j, sub("mean", "sd", mean)])
      expect_golden(sd, expected, within(expected), paste(label, "sd"))
    }
  })
}

for (case in golden_kind("ep", "slope")) {
  test_that(paste("EP in VB:", case), {
    golden <- read_golden_family("ep", case)
    out <- ep_fit(golden, variances = "vb")
    ep <- golden$ep
    expect_identical(out$engine, "ep-vb")
    expect_golden(out$log_z, ep$logZ, 1e-6, "log Z")
    joint <- ep_joint(out)
    expect_golden(joint$mean, ep$mean, within(ep$mean), "mean")
    expect_golden(sqrt(diag(joint$cov)), ep$sd, within(ep$sd), "sd")
    expect_golden(sum(out$loo), ep$sum_loo, 1e-5, "leave-one-out")
    expect_rows(out, golden$rows, "rows")
    expect_golden(out$variance[[1]]$df, ep$blocks$nu_hat, 1e-9, "df")
    scale <- unlist(ep$blocks$S_hat)
    expect_golden(out$variance[[1]]$scale, scale, within(scale), "scale")
    m <- golden$new %*% joint$mean
    expect_golden(m, ep$predict$m, within(ep$predict$m), "m")
  })
}

# The kernel's parameters are the logarithms of its variance and its length-scales.
for (case in golden_kind("ep", "gp")) {
  test_that(paste("a process on inducing points:", case), {
    core <- test_core("process_ep")
    golden <- read_golden_family("ep", case)
    spec <- golden$spec
    noise <- spec$noise_variance
    held <- length(noise) > 0L
    x <- as.matrix(golden$data[golden_predictors(golden)])
    out <- core$process_ep(
      golden$family, t(x), golden$data$y, either(golden$data$weight, rep(1, nrow(x))),
      t(as.matrix(golden$inducing)), spec$lengthscale, spec$gp_variance, spec$fixed_precision,
      if (held) noise else 1
    )
    expect_true(out$converged)
    ep <- golden$ep
    expect_golden(out$log_z, ep$logZ, 1e-6, "log Z")
    expect_golden(out$theta_mean, ep$mean, within(ep$mean), "mean")
    expect_golden(sqrt(diag(out$theta_cov)), ep$sd, within(ep$sd), "sd")
    expect_golden(out$theta_cov, ep$cov, within(ep$cov), "covariance")
    expect_golden(sum(out$loo), ep$sum_loo, 1e-5, "leave-one-out")
    rows <- c(
      m = "mean", s = "variance_f", kappa = "kappa", b = "b",
      cavity_mean = "cavity_mean", cavity_var = "cavity_variance"
    )
    # Variances of f have what the features leave open.
    for (name in c("variance_f", "cavity_variance")) out[[name]] <- out[[name]] + out$residual
    for (name in names(rows)) {
      expected <- golden$rows[[name]]
      expect_golden(out[[rows[[name]]]], expected, within(expected), name)
    }
    expect_golden(out$loo, golden$rows$loo_log, 1e-5, "loo of rows")
    new <- golden$new
    m <- drop(new %*% out$theta_mean)
    left <- spec$gp_variance * (1 - rowSums(new[, -1]^2))
    s <- rowSums((new %*% out$theta_cov) * new) + left
    expect_golden(m, ep$predict$m, within(ep$predict$m), "m")
    expect_golden(s, ep$predict$s, within(ep$predict$s), "s")
    expected <- golden$gradient
    expect_golden(
      out$gradient, c(expected$log_variance, expected$log_lengthscale), 1e-4, "gradient"
    )
    if (held) expect_golden(out$noise_slope, expected$log_noise, 1e-4, "by noise")
  })
}

for (case in golden_kind("ep", "holes")) {
  test_that(paste("rows that are atoms:", case), {
    golden <- read_golden_family("ep", case)
    atoms <- golden$atoms
    golden$data <- cbind(y = golden$data$y[atoms$row], atoms[grep("^x", names(atoms))])
    input <- ep_input(golden)
    input$data$atoms <- list(row = atoms$row, log_prior = as.double(atoms$log_weight))
    out <- ep_run(golden, input)
    ep <- golden$ep
    expect_golden(out$log_z, ep$logZ, 1e-4, "log Z")
    expect_golden(out$theta_mean, ep$mean, within(ep$mean, 1e-4), "mean")
    expect_golden(out$theta_cov, ep$cov, within(ep$cov, 1e-4), "covariance")
    expect_golden(out$share, golden$rows$rho, within(golden$rows$rho, 1e-4), "shares")
    expect_golden(sum(out$loo_atom), ep$sum_loo, 1e-4, "leave-one-out")
    out$loo <- out$loo_atom
    expect_rows(out, golden$rows, "rows")
    # By unit: an average over its atoms.
    unit <- ep_run(golden, input)$loo
    expect_equal(unit, as.vector(log(rowsum(exp(atoms$log_weight + out$loo_atom), atoms$row))))
  })
}

for (case in golden_kind("ep", "selection")) {
  test_that(paste("spikes and slabs:", case), {
    golden <- read_golden_family("ep", case)
    spec <- golden$spec
    input <- ep_input(golden)
    # Columns under selection have no prior of their own.
    columns <- grep("^x[0-9]+$", names(golden$data), value = TRUE)
    at <- match(spec$selection, columns)
    input$prior$precision[1L + at] <- 0
    input$data$selection <- list(
      columns = at, shape = 1, rate = 1, rho = spec$rho, rho_beta = numeric()
    )
    out <- selection_ep_cpp(input$data, input$prior, list(
      family = golden$family, tol = 1e-11, max_iter = 2000L, threads = 1L, progress = FALSE,
      noise = list(precision = 1), slab_scale = spec$slab_scale
    ))
    expect_true(out$status$converged)
    ep <- golden$ep
    expect_golden(out$log_evidence, ep$logZ, 1e-4, "log Z")
    close <- function(found, name) expect_golden(found, ep[[name]], within(ep[[name]], 1e-4), name)
    close(out$inclusion, "inclusion")
    close(out$effect_mean, "effect_mean")
    close(out$effect_var, "effect_var")
    close(out$theta_mean, "mean")
    close(sqrt(out$theta_var), "sd")
    expect_golden(sum(out$loo), ep$sum_loo, 1e-4, "leave-one-out")
    # At one scale there is one point.
    expect_identical(out$weight, 1)
    # As it is from every start.
    expect_golden(out$start, rep(ep$logZ, 2), 1e-4, "starts")
  })
}

test_that("a row that is one atom is that row, on the grid and beside it", {
  golden <- first_golden("ep", "intercept")
  input <- ep_input(golden)
  n <- nrow(golden$data)
  for (variances in c("grid", "vb")) {
    whole <- ep_fit(golden, noise = list(shape = 1, rate = 1), variances = variances)
    own <- input
    own$data$atoms <- list(row = seq_len(n), log_prior = numeric(n))
    alone <- ep_run(golden, own, noise = list(shape = 1, rate = 1), variances = variances)
    expect_identical(alone$engine, paste0("ep-", variances))
    expect_equal(alone$share, rep(1, n))
    expect_equal(alone$theta_mean, whole$theta_mean, tolerance = 1e-8)
    expect_equal(alone$theta_cov, whole$theta_cov, tolerance = 1e-8)
    if (variances == "vb") expect_equal(alone$loo, whole$loo, tolerance = 1e-8)
  }
})

test_that("the importance check is an answer where the model is small", {
  golden <- first_golden("ep", "fixed")
  out <- ep_fit(golden)
  expect_lt(out$pareto_k, 0.7)
  expect_identical(ep_fit(golden, check = FALSE)$pareto_k, NA_real_)
  expect_identical(ep_fit(golden)$pareto_k, out$pareto_k)
})
