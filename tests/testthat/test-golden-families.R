# Variational Bayes and Gibbs of the likelihood families against golden numbers.

skip_if_not_installed("jsonlite")

test_that("bounds of single rows are the golden ones", {
  core <- test_core("family")
  rows <- golden_table("families", "rows")
  expect_true(all(rows$rule %in% c("bound", "direct")))
  for (part in split(rows, list(rows$family, rows$rule), drop = TRUE)) {
    direct <- part$rule[1] == "direct"
    found <- core$bound_rows(
      part$family[1], direct, part$m, part$s, part$y, part$w, part$E_inv_noise, part$E_log_noise
    )
    names <- c("bound", "gradient", "curvature", "kappa", "b")
    for (k in seq_along(names)) {
      expected <- part[[names[k]]]
      tolerance <- if (!direct) 1e-8 else ifelse(part$s <= 6, 1e-6, 1e-4)
      expect_golden(
        found[, k], expected, within(expected, tolerance),
        paste(part$family[1], part$rule[1], names[k])
      )
    }
  }
})

test_that("probabilities under a normal law of f are the golden ones", {
  core <- test_core("family")
  table <- golden_table("families", "prob")
  for (part in split(table, table$family)) {
    found <- core$link_means(part$family[1], part$m, part$s)
    expect_golden(found, part$prob, 1e-7, part$family[1])
  }
})

# E exp(-t omega).
laplace <- function(t, w, c) (cosh(c / 2) / cosh(sqrt(c^2 / 4 + t / 2)))^w

test_that("Polya-Gamma moments and draws follow the golden law", {
  core <- test_core("family")
  table <- golden_table("families", "polya_gamma")
  found <- core$polya_gamma_table(table$b, table$c)
  expect_golden(found[, 1], table$mean, within(table$mean, 1e-8), "mean")
  expect_golden(found[, 2], table$var, within(table$var, 1e-8), "variance")
  # Six standard errors of the transform, whose variance the same law gives.
  n <- 4000
  for (i in seq_len(nrow(table))) {
    draws <- core$polya_gamma_draws(n, table$b[i], table$c[i], i)
    for (t in c(1, 10)) {
      value <- exp(-t * draws)
      expected <- table[[paste0("laplace_", t)]][i]
      spread <- laplace(2 * t, table$b[i], table$c[i]) - expected^2
      expect_lt(
        abs(mean(value) - expected), 6 * sqrt(spread / n),
        label = sprintf("transform at %g of row %d", t, i)
      )
    }
  }
})

# --- variational Bayes --------------------------------------------------------

rules <- c(bound = "augmented", direct = "direct")

expect_golden_blocks <- function(found, expected, label) {
  if (is.null(expected)) return(invisible())
  blocks <- if (is.data.frame(expected)) split(expected, seq_len(nrow(expected))) else expected
  for (l in seq_along(blocks)) {
    block <- blocks[[l]]
    numbers <- switch(block$type,
      iid = c(block$A_hat, block$B_hat),
      iw = c(block$nu_hat, unlist(block$S_hat)), gp = block$variance
    )
    expect_golden(unlist(found[[l]]), numbers, 1e-4 * abs(numbers), paste(label, "blocks"))
  }
}

golden_response <- function(family, m, s, noise) {
  switch(family,
    gaussian = sqrt(s + noise$rate / (noise$shape - 1)),
    link_probability_cpp(m, s, family)
  )
}

# A fit by the core against one part, `bound` or `direct`, of a case.
expect_golden_fit <- function(golden, part) {
  label <- paste(golden$case, part)
  input <- golden_family_input(golden)
  expected <- golden[[part]]
  fit <- bsvm_vb_cpp(input$data, input$prior, golden_settings(
    family = golden$family, rule = rules[[part]], noise = input$noise
  ))
  expect_true(fit$status$converged, label = label)
  expect_golden(utils::tail(fit$status$bound, 1), expected$elbo, 1e-6, paste(label, "elbo"))
  joint <- joint_gaussian(fit$theta_mean, fit$theta_cov, fit$group_mean, fit$loading, fit$schur)
  sd <- sqrt(diag(joint$covariance))
  expect_golden(joint$mean, expected$mean, within(expected$mean), paste(label, "mean"))
  expect_golden(sd, expected$sd, within(expected$sd), paste(label, "sd"))
  if (!is.null(expected$cov)) {
    expect_golden(joint$covariance, expected$cov, within(expected$cov), paste(label, "cov"))
  }
  expect_golden_blocks(fit$variance, expected$blocks, label)
  if (length(expected$noise) > 0) {
    expect_golden(
      unlist(fit$noise), unlist(expected$noise),
      1e-4 * unlist(expected$noise), paste(label, "noise")
    )
  }
  for (name in c("m", "s")) {
    first <- expected[[paste0(name, "_first5")]]
    found <- fit[[c(m = "mean", s = "variance_f")[[name]]]]
    if (is.null(first)) next
    expect_golden(utils::head(found, 5), first, within(first), paste(label, name))
  }
  if (!is.null(golden$new)) {
    new <- matrix(golden$new, ncol = length(joint$mean))
    m <- drop(new %*% joint$mean) + either(golden$new_offset, 0)
    s <- rowSums((new %*% joint$covariance) * new)
    if (!is.null(golden$spec$gp)) {
      open <- golden_features(golden$spec$new_x, golden$inducing, golden$spec$lengthscale)$open
      s <- s + golden$bound$blocks$variance * open
    }
    response <- golden_response(golden$family, m, s, fit$noise)
    expect_golden(
      c(m, s, response), unlist(expected$predict),
      within(unlist(expected$predict)), paste(label, "predictions")
    )
  }
  invisible(fit)
}

kinds <- unique(golden_kinds(golden_cases("families")))

for (kind in setdiff(kinds, c("holes", "selection"))) {
  test_that(sprintf("variational fits of kind %s are the golden ones", kind), {
    for (case in golden_kind("families", kind)) {
      golden <- read_golden_family("families", case)
      for (part in intersect(names(rules), names(golden))) expect_golden_fit(golden, part)
    }
  })
}

test_that("plain steps of the augmented rules are the golden ones", {
  # A variance with residuals is updated at another place of the step.
  for (kind in setdiff(kinds, "gp")) {
    for (case in golden_kind("families", kind)) {
      golden <- read_golden_family("families", case)
      input <- golden_family_input(golden)
      fit <- bsvm_vb_cpp(input$data, input$prior, golden_settings(
        family = golden$family, noise = input$noise, accelerate = FALSE, max_iter = 4L
      ))
      expect_golden(fit$status$bound, golden$bound$elbo_first3, 1e-9, case)
    }
  }
})

test_that("rows with holes are the golden atoms", {
  for (case in golden_kind("families", "holes")) {
    golden <- read_golden_family("families", case)
    for (part in intersect(names(rules), names(golden))) {
      fit <- expect_golden_fit(golden, part)
      atoms <- golden[[part]]$atom_prob
      expect_golden(
        fit$share[atoms$atom], atoms$prob, within(atoms$prob), paste(case, part, "shares")
      )
    }
  }
})

test_that("selection by the augmented rule is the golden one", {
  for (case in golden_kind("families", "selection")) {
    golden <- read_golden_family("families", case)
    expected <- golden$bound
    fit <- expect_golden_fit(golden, "bound")
    expect_golden(fit$selection$inclusion, expected$inclusion, 1e-4, case)
    expect_golden(
      c(fit$selection$shape, fit$selection$rate),
      c(expected$A_hat, expected$B_hat), within(expected$B_hat, 1e-4), case
    )
    input <- golden_family_input(golden)
    expect_error(
      core_call(bsvm_vb_cpp(input$data, input$prior, golden_settings(
        family = "logit", rule = "direct"
      ))),
      class = "bayeskernel_error"
    )
  }
})

# --- the sampler --------------------------------------------------------------

# Draws of the golden parameters by name. A process has its variance held, as in the files.
golden_family_draws <- function(golden, draws, seed) {
  input <- golden_family_input(golden)
  held <- golden$spec$gibbs_variance
  if (!is.null(held)) {
    input$data$residual <- held * drop(input$data$open)
    input$data$open <- NULL
    input$prior$blocks[[1]]$kind <- "held"
    input$prior$blocks[[1]]$precision <- 1 / held
  }
  core <- bsvm_gibbs_cpp(input$data, input$prior, golden_settings(
    family = golden$family, noise = input$noise, draws = draws, seed = seed
  ))
  p <- ncol(input$data$x)
  names <- character()
  members <- variances <- 0L
  for (block in input$prior$blocks) {
    if (block$eliminated) members <- block$members * block$width
    variances <- variances + 1L
    names <- c(names, if (block$kind == "unstructured") {
      lower <- which(lower.tri(diag(block$width), diag = TRUE), arr.ind = TRUE)
      paste0("Psi", lower[, 1], lower[, 2])
    } else if (block$kind == "iid") {
      paste0("var", variances)
    })
  }
  selection <- input$data$selection
  names <- c(
    paste0("theta", seq_len(p + members)), names, if (!is.null(input$noise)) "noise_var",
    if (!is.null(selection)) c("log_sv2", paste0("prob", seq_along(selection$columns)))
  )
  if (!is.null(selection)) {
    names[selection$columns + 1L] <- paste0("eff", seq_along(selection$columns))
  }
  dimnames(core$draws) <- list(NULL, NULL, names)
  if (!is.null(selection)) core$draws[, , "log_sv2"] <- log(core$draws[, , "log_sv2"])
  core
}

expect_golden_draws <- function(golden, draws, seed) {
  # Above the diagonal a covariance is said again.
  expected <- subset(golden$gibbs, !is.na(ess) & ess >= 500 & !grepl("^Psi(12|13|23)$", name))
  core <- golden_family_draws(golden, draws, seed)
  expect_true(all(expected$name %in% dimnames(core$draws)[[3]]))
  found <- batch_summary(core$draws[, , expected$name, drop = FALSE])
  for (what in c("mean", "sd")) {
    error <- paste0("mcse_", what)
    # Batches do not tell the error of a probability that is 1 but for digits.
    expect_golden(
      found[[what]], expected[[what]], 4 * sqrt(expected[[error]]^2 + found[[error]]^2) + 1e-6,
      paste(golden$case, what)
    )
  }
  invisible(core)
}

slow_tests <- identical(Sys.getenv("BAYESKERNEL_SLOW"), "true")

for (kind in kinds) {
  test_that(sprintf("draws of kind %s agree with the long runs", kind), {
    for (case in golden_kind("families", kind)) {
      golden <- read_golden_family("families", case)
      if (is.null(golden$gibbs)) next
      core <- expect_golden_draws(golden, if (slow_tests) 40000 else 5000, 11)
      if (is.null(golden$atoms)) next
      # Shares of the atoms of a row add up to 1.
      expect_equal(
        drop(rowsum(core$share, golden$atoms$row)), rep(1, nrow(golden$data)), ignore_attr = TRUE
      )
    }
  })
}
