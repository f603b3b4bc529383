# Every case of the golden set, by its spec: through the core's own interface, which takes any
# mixture of blocks, and through bsvm() where the formula interface has words for the spec.

skip_if_not_installed("jsonlite")

svm_cases <- golden_cases("svm")

slow_tests <- identical(Sys.getenv("BAYESKERNEL_SLOW"), "true")

expect_within <- function(found, expected, tolerance, label) {
  expect_equal(length(found), length(expected), label = label)
  excess <- abs(as.vector(found) - as.vector(expected)) / tolerance
  expect_true(all(excess <= 1), label = sprintf("%s: %.3g of the tolerance", label, max(excess)))
}

relative <- function(expected) 1e-5 * (1 + abs(expected))

expect_golden_vb <- function(found, golden) {
  vb <- golden$vb
  expect_within(found$elbo[length(found$elbo)], vb$elbo, 1e-7, "bound")
  expect_within(found$mean, vb$mu, relative(vb$mu), "mu")
  expect_within(diag(found$covariance), vb$Sigma_diag, relative(vb$Sigma_diag), "Sigma_diag")
  if (!is.null(vb[["Sigma"]])) {
    full <- vb[["Sigma"]]
    expect_within(found$covariance, full, relative(full), "Sigma")
  }
  for (l in seq_along(vb$blocks)) {
    expected <- vb$blocks[[l]]
    q <- found$variance[[l]]
    if (expected$type == "iid") {
      values <- c(
        A_hat = q$shape, B_hat = q$rate, E_inv_sigma2 = q$shape / q$rate,
        E_sigma2 = q$rate / (q$shape - 1)
      )
    } else {
      r <- nrow(q$scale)
      values <- c(nu_hat = q$df, S_hat = q$scale, E_Psi = q$scale / (q$df - r - 1))
      names(values) <- rep(c("nu_hat", "S_hat", "E_Psi"), c(1, r^2, r^2))
    }
    for (name in intersect(names(expected), names(values))) {
      numbers <- unlist(expected[[name]])
      if (!is.numeric(numbers)) next
      expect_within(values[names(values) == name], numbers, relative(numbers), name)
    }
  }
}

expect_golden_structure <- function(found, golden) {
  vb <- golden$vb
  check <- function(ours, name) {
    if (is.null(vb[[name]])) return(invisible())
    expect_within(ours, vb[[name]], relative(vb[[name]]), name)
  }
  selection <- found$selection
  if (!is.null(selection)) {
    check(selection$inclusion, "inclusion")
    check(selection$expected_b, "E_b")
    check(selection$shape / selection$rate, "E_inv_sigma2_v")
    if (length(selection$rho) > 0) check(selection$rho, "rho_beta_hat")
  }
  holes <- found$holes
  if (!is.null(holes)) {
    at <- match(paste(vb$imputed$row, vb$imputed$col), paste(holes$row, holes$predictor))
    expect_equal(sort(at), seq_along(holes$row))
    for (what in c("mean", "var")) {
      expected <- vb$imputed[[what]]
      expect_within(holes[[what]][at], expected, relative(expected), what)
    }
    check(holes$x_mean, "mu_x")
    check(holes$scale, "Sigma_x_hat")
    check(holes$df, "nu_x_hat")
    check(holes$scale / (holes$df - nrow(holes$scale) - 1), "E_Sigma_x")
  }
}

# With the label of a new row unknown. Rows may have holes; behind the predictors stand perhaps
# group indicators, else the row may be of any group.
expect_structured_predictions <- function(found, golden, call) {
  expected <- golden$vb$predict
  predictors <- golden_predictors(golden)
  groups <- unique(unlist(lapply(call$parsed, `[[`, "group")))
  for (i in seq_along(expected$m)) {
    row <- if (is.matrix(expected$new)) expected$new[i, ] else expected$new[[i]]
    row <- vapply(row, function(v) if (is.null(v)) NA_real_ else v[1], 1)
    new <- data.frame(as.list(row[seq_along(predictors)]))
    names(new) <- predictors
    choices <- lapply(groups, function(g) c(0, seq_len(max(golden$data[[g]]))))
    choices <- if (length(groups) == 0) {
      list(integer())
    } else {
      asplit(as.matrix(expand.grid(choices)), 1)
    }
    off <- lapply(choices, function(choice) {
      one <- new
      for (k in seq_along(groups)) one[[groups[k]]] <- if (choice[k] == 0) "unseen" else choice[k]
      link <- predict(found$fit, one, type = "link", se.fit = TRUE)
      s2 <- link$se.fit^2 - unseen_variance(found, call, groups, choice, one)
      c(m = link$fit, s2 = s2)
    })
    worst <- vapply(off, function(ours) {
      max(
        abs(ours[["m"]] - expected$m[i]) / relative(expected$m[i]),
        abs(ours[["s2"]] - expected$s2[i]) / relative(expected$s2[i])
      )
    }, 1)
    expect_lte(min(worst), 1)
    best <- off[[which.min(worst)]]
    for (kind in c("probit", "hinge")) {
      name <- c(probit = "prob_probit", hinge = "prob_hinge_exact")[[kind]]
      value <- expected[[name]][i]
      tolerance <- if (kind == "probit") relative(value) else hinge_tolerance(best[["s2"]], value)
      expect_within(link_probability(best[["m"]], best[["s2"]], kind), value, tolerance, kind)
    }
  }
}

# x_m | x_o = mean - slope (x_o - center), variance with the uncertainty of mu_x, under O =
# E[Sigma_x^-1].
conditional_vb <- function(q, missing) {
  precision <- q$df * solve(q$scale)
  own <- solve(precision[missing, missing, drop = FALSE])
  slope <- own %*% precision[missing, -missing, drop = FALSE]
  map <- matrix(0, length(missing), length(q$x_mean))
  map[, missing] <- diag(length(missing))
  map[, -missing] <- slope
  list(
    mean = q$x_mean[missing], center = q$x_mean[-missing], slope = slope,
    var = own + map %*% q$x_mean_cov %*% t(map)
  )
}

# The variance that predict() adds for an unseen group and the files do not: E z'E(Psi)z, where z
# may hold a predictor that is missing.
unseen_variance <- function(found, call, groups, choice, new) {
  extra <- 0
  for (l in which(!call$plain)) {
    block <- call$parsed[[l]]
    if (choice[match(block$group, groups)] > 0) next
    q <- found$variance[[l]]
    r <- length(block$columns)
    mean <- if (r == 1) matrix(q$rate / (q$shape - 1)) else q$scale / (q$df - r - 1)
    row <- unlist(new[found$fit$holes$predictors])
    missing <- which(is.na(row))
    spread <- matrix(0, r, r)
    if (length(missing) > 0) {
      given <- conditional_vb(found$holes, missing)
      row[missing] <- given$mean - given$slope %*% (row[-missing] - given$center)
      at <- match(block$columns, names(row)[missing])
      used <- which(!is.na(at))
      spread[used, used] <- given$var[at[used], at[used]]
    }
    z <- vapply(block$columns, function(column) {
      if (column == "(Intercept)") {
        1
      } else if (column %in% names(row)) {
        row[[column]]
      } else {
        new[[column]]
      }
    }, 1)
    extra <- extra + drop(z %*% mean %*% z) + sum(mean * spread)
  }
  extra
}

# New rows as design rows in the order of the golden names, one matrix for every group that the row
# could belong to: a row is predictors, and behind them perhaps group indicators; without these it
# may be of any group.
new_design_rows <- function(golden, row) {
  predictors <- golden_predictors(golden)
  parsed <- golden_blocks(golden$spec)
  groups <- unique(unlist(lapply(parsed, `[[`, "group")))
  known <- data.frame(as.list(row[seq_along(predictors)]))
  names(known) <- predictors
  indicators <- row[-seq_along(predictors)]
  sizes <- vapply(groups, function(g) max(golden$data[[g]]), numeric(1))
  choices <- if (length(groups) == 0) {
    list(integer())
  } else if (length(indicators) == sum(sizes)) {
    ends <- cumsum(sizes)
    list(vapply(seq_along(sizes), function(k) {
      own <- indicators[ends[k] - sizes[k] + seq_len(sizes[k])]
      if (any(own != 0)) which(own != 0) else 0L
    }, numeric(1)))
  } else {
    asplit(as.matrix(expand.grid(lapply(sizes, function(m) 0:m))), 1)
  }
  lapply(choices, function(choice) {
    out <- golden_matrix(golden$spec$fixed, known)
    for (block in parsed) {
      own <- golden_matrix(block$columns, known)
      if (!is.null(block$group)) {
        m <- max(golden$data[[block$group]])
        mine <- choice[match(block$group, groups)]
        indicator <- as.numeric(seq_len(m) == mine)
        own <- kronecker(t(indicator), own)
      }
      out <- cbind(out, own)
    }
    list(design = drop(out), predictors = known, group = choice)
  })
}

# Hinge: 1e-4 where s2 is small, as for prob.csv.
hinge_tolerance <- function(s2, expected) ifelse(s2 < 0.0625, 1e-4, relative(expected))

# Of the rows that new_design_rows() offers, the one that gives the numbers.
matching_row <- function(golden, found, i) {
  expected <- golden$vb$predict
  row <- if (is.matrix(expected$new)) expected$new[i, ] else expected$new[[i]]
  rows <- new_design_rows(golden, unlist(row))
  off <- vapply(rows, function(one) {
    c <- one$design
    m <- sum(c * found$mean)
    s2 <- sum(c * (found$covariance %*% c))
    max(
      abs(m - expected$m[i]) / relative(expected$m[i]),
      abs(s2 - expected$s2[i]) / relative(expected$s2[i])
    )
  }, numeric(1))
  expect_lte(min(off), 1)
  rows[[which.min(off)]]
}

expect_golden_predictions <- function(found, golden) {
  expected <- golden$vb$predict
  for (i in seq_along(expected$m)) {
    row <- matching_row(golden, found, i)$design
    m <- sum(row * found$mean)
    s2 <- sum(row * (found$covariance %*% row))
    expect_within(
      stats::pnorm(m / sqrt(1 + s2)), expected$prob_probit[i],
      relative(expected$prob_probit[i]), "probit"
    )
    expect_within(
      link_probability_cpp(m, s2, "hinge"), expected$prob_hinge_exact[i],
      hinge_tolerance(s2, expected$prob_hinge_exact[i]), "hinge"
    )
  }
}

# predict() adds the prior variance of an unseen group; the files do not.
expect_golden_predict_method <- function(found, golden, call) {
  expected <- golden$vb$predict
  for (i in seq_along(expected$m)) {
    row <- matching_row(golden, found, i)
    new <- row$predictors
    extra <- 0
    groups <- unique(unlist(lapply(call$parsed, `[[`, "group")))
    for (k in seq_along(groups)) {
      new[[groups[k]]] <- if (row$group[k] == 0) "unseen" else row$group[k]
    }
    for (l in which(!call$plain)) {
      block <- call$parsed[[l]]
      if (row$group[match(block$group, groups)] > 0) next
      q <- found$variance[[l]]
      z <- golden_matrix(block$columns, new)
      r <- length(z)
      mean <- if (r == 1) q$rate / (q$shape - 1) else q$scale / (q$df - r - 1)
      extra <- extra + drop(z %*% mean %*% t(z))
    }
    link <- predict(found$fit, new, type = "link", se.fit = TRUE)
    expect_within(link$fit, expected$m[i], relative(expected$m[i]), "m")
    expect_within(link$se.fit^2 - extra, expected$s2[i], relative(expected$s2[i]), "s2")
    if (extra > 0) next
    for (kind in c("probit", "hinge")) {
      prob <- predict(found$fit, new, type = "prob", link = kind)[, 2]
      name <- c(probit = "prob_probit", hinge = "prob_hinge_exact")[[kind]]
      value <- expected[[name]][i]
      tolerance <- if (kind == "probit") relative(value) else hinge_tolerance(expected$s2[i], value)
      expect_within(prob, value, tolerance, kind)
    }
  }
}

expect_golden_gibbs <- function(draws, golden) {
  ours <- batch_summary(draws)
  theirs <- golden$gibbs
  limit <- ifelse(grepl("^var", theirs$parameter), 5, 4)
  for (what in c("mean", "sd")) {
    error <- paste0("mcse_", what)
    bound <- limit * sqrt(theirs[[error]]^2 + ours[[error]]^2)
    bound[theirs[[error]] == 0] <- 0.002
    off <- abs(ours[[what]] - theirs[[what]]) / bound
    worst <- which.max(off)
    expect_true(
      all(off <= 1),
      label = sprintf(
        "%s of %s: %.2f of what is allowed", what, theirs$parameter[worst], off[worst]
      )
    )
  }
}

for (case in svm_cases) {
  golden <- read_golden("svm", case)
  call <- golden_call(golden)
  structured <- golden_structured(golden$spec)

  test_that(paste0(case, ": the core gives the variational numbers"), {
    found <- golden_core_vb(golden)
    expect_golden_vb(found, golden)
    expect_golden_structure(found, golden)
    if (!structured) expect_golden_predictions(found, golden)
    plain <- golden_core_vb(golden, accelerate = FALSE)
    expect_golden_vb(plain, golden)
    expect_golden_structure(plain, golden)
    expect_within(plain$elbo[1:3], golden$vb$elbo_first3, 1e-7, "bound of steps 1 to 3")
  })

  test_that(paste0(case, ": bsvm() gives the variational numbers"), {
    skip_if(is.null(call), "no formula for this mixture of blocks")
    found <- golden_fit_vb(golden, call, tol = 1e-12)
    expect_golden_vb(found, golden)
    expect_golden_structure(found, golden)
    if (structured) {
      expect_structured_predictions(found, golden, call)
    } else {
      expect_golden_predict_method(found, golden, call)
    }
    plain <- golden_fit_vb(golden, call, tol = 1e-12, max_iter = 20000, accelerate = FALSE)
    expect_golden_vb(plain, golden)
    expect_within(plain$elbo[1:3], golden$vb$elbo_first3, 1e-7, "bound of steps 1 to 3")
  })

  test_that(paste0(case, ": draws agree with the long run"), {
    skip_if(is.null(golden$gibbs), "no long run in the files")
    draws <- if (slow_tests) 15000 else 5000
    expect_golden_gibbs(golden_core_gibbs(golden, draws = draws, seed = 11), golden)
    if (!is.null(call)) {
      expect_golden_gibbs(suppressWarnings(
        golden_fit_gibbs(
          golden, call, warmup = 500, ndraws = min(draws, 10000), seed = 12, keep_imputed = TRUE
        ),
        classes = "bayeskernel_warning_convergence"
      ), golden)
    }
  })
}

test_that("class probabilities equal those of adaptive quadrature", {
  path <- file.path(golden_folder("svm"), "prob.csv")
  skip_if_not(file.exists(path), "no golden files beside the tests")
  prob <- utils::read.csv(path)
  expect_within(
    link_probability_cpp(prob$m, prob$s2, "hinge"), prob$hinge_exact,
    ifelse(prob$s2 < 0.0625, 1e-4, 1e-6), "hinge"
  )
  expect_within(
    link_probability_cpp(prob$m, 0 * prob$s2, "hinge"), prob$hinge_plugin, 1e-12, "hinge at s2 = 0"
  )
  expect_within(link_probability(prob$m, prob$s2, "probit"), prob$probit, 1e-12, "probit")
})
