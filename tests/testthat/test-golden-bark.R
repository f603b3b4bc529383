# The golden numbers of bark(), whatever cases, sizes and values the files hold; the tolerances are
# those of golden/bark/README.md.

skip_if_not_installed("jsonlite")
skip_if_not(
  file.exists(file.path(golden_folder("bark"), "loglik.json")), "no golden files beside the tests"
)

slow <- identical(Sys.getenv("BAYESKERNEL_SLOW"), "true")

bark_golden <- function(name) {
  path <- file.path(golden_folder("bark"), name)
  if (grepl("[.]json$", name)) return(jsonlite::fromJSON(path, simplifyVector = FALSE))
  utils::read.csv(path, colClasses = c(
    delta = "character", kind = "character", from = "character", to = "character"
  )[intersect(c("delta", "kind", "from", "to"), strsplit(readLines(path, 1), ",")[[1]])])
}

moves <- function() test_core("bark_moves")
numbers <- function(x) as.double(unlist(x))
rows_of <- function(x) do.call(rbind, lapply(x, numbers))
indicators <- function(text) as.integer(strsplit(text, "")[[1]])

near <- function(found, expected, tolerance, label) {
  expect_equal(length(found), length(expected), label = label)
  excess <- abs(found - expected) / tolerance
  expect_true(
    isTRUE(all(excess <= 1)), label = sprintf("%s: %.3g of the tolerance", label, max(excess, 0))
  )
}

near_relative <- function(found, expected, tolerance, label) {
  near(found, expected, tolerance * pmax(abs(expected), 1e-300), label)
}

bark_core_prior <- function(..., alpha = 1, gamma = 5, epsilon = 0.5) {
  utils::modifyList(
    list(
      alpha = alpha, gamma = gamma, epsilon = epsilon, lambda_shape = 1, lambda_rate = 1,
      inclusion = c(1, 1), sampled_inclusion = FALSE, phi = numeric(), max_kernels = 1000,
      kill_power = 1L, markov = numeric(), markov_beta = numeric()
    ),
    list(...)
  )
}

# Letters of the specification: e, d, se, sd.
bark_core_setting <- function(setting) {
  list(
    scales = if (setting %in% c("d", "sd")) "different" else "equal",
    select = !setting %in% c("d", "e")
  )
}

bark_core_state <- function(state) {
  list(
    loc = as.integer(numbers(c(state$loc, state$idx))), n = as.integer(numbers(state$n)),
    varphi = numbers(state$varphi), lambda = numbers(state$lambda), phi = as.double(state$phi)
  )
}

# --- likelihood --------------------------------------------------------------

golden <- bark_golden("loglik.json")

for (case in seq_along(golden$cases)) {
  test_that(sprintf("bark, likelihood and posterior of b: case %d", case), {
    expected <- golden$cases[[case]]
    data <- list(x = rows_of(golden$X), y = numbers(golden$y))
    state <- bark_core_state(expected)
    # The condition number of the whole covariance grows with n^2 / varphi.
    spread <- if (length(state$n)) max(state$phi * state$n^2 / state$varphi)
    tolerance <- if (isTRUE(spread > 1e10)) 1e-9 else 1e-10
    found <- moves()$bark_state_cpp(data, bark_core_prior(), bark_core_setting("d"), state)
    near_relative(found$loglik, expected$loglik, tolerance, "log-likelihood")
    draw <- list(
      kernels = list(
        size = length(state$loc), location = state$loc,
        variance = state$n^2 / state$varphi, mean = found$mean
      ),
      lambda = t(state$lambda), phi = state$phi, cuts = matrix(0, 1, 0),
      classes = 0L
    )
    at_new <- bark_latent_cpp(draw, data$x, rows_of(golden$Xtest), 1L)
    parts <- list(
      beta_mean = found$mean, beta_cov_diag = found$variance, K_row1 = found$first_row,
      f_mean_test = drop(at_new$mean), f_var_test = drop(at_new$var)
    )
    for (part in intersect(names(parts), names(expected))) {
      near_relative(parts[[part]], numbers(expected[[part]]), tolerance, part)
    }
  })
}

# --- acceptance ratios -------------------------------------------------------

# What a golden move proposes, read off the two states.
golden_bark_move <- function(move, from, to) {
  lost <- which(vapply(seq_along(from$loc), function(i) {
    left <- to$n[match(from$loc[i], to$loc)]
    is.na(left) || left < from$n[i]
  }, NA))
  gained <- which(vapply(seq_along(to$loc), function(i) {
    before <- from$n[match(to$loc[i], from$loc)]
    is.na(before) || before < to$n[i]
  }, NA))
  arrival <- list(location = to$loc[gained], varphi = to$varphi[gained])
  departure <- list(column = lost - 1L)
  variable <- which(from$lambda != to$lambda)
  flipped <- which((from$lambda > 0) != (to$lambda > 0))
  one_variable <- list(variable = flipped[1] - 1L, lambda = to$lambda[flipped[1]])
  factor <- list(name = "factor", factor = sum(to$lambda) / sum(from$lambda))
  different <- move$setting %in% c("d", "sd")
  switch(move$move,
    birth = c(name = "birth", arrival),
    death = c(name = "death", departure),
    relocate = c(name = "relocate", departure, arrival),
    varphi_logrw = {
      i <- which(from$varphi != to$varphi)
      list(name = "varphi", column = i - 1L, varphi = to$varphi[i])
    },
    phi_logrw = list(name = "phi", phi = to$phi),
    lambda_logrw = if (different) {
      list(name = "coordinate", variable = variable - 1L, lambda = to$lambda[variable])
    } else {
      factor
    },
    lambda_common_factor = factor,
    swap = list(
      name = "swap", active = which(from$lambda > to$lambda) - 1L,
      inactive = which(from$lambda < to$lambda) - 1L
    ),
    if (different) {
      c(name = "flip_different", one_variable)
    } else {
      c(name = switch(move$move,
        flip_keep_lambda = ,
        flip_keep_total = move$move,
        flip_from_empty = ,
        flip_to_empty = "flip_empty",
        stop("unknown golden move ", move$move)
      ), one_variable)
    }
  )
}

ratios <- bark_golden("ratios.json")

for (case in seq_along(ratios$moves)) {
  move <- ratios$moves[[case]]
  test_that(sprintf("bark, acceptance ratio %d: %s, %s", case, move$move, move$setting), {
    hyper <- ratios$hyper
    p_lambda <- move$extra$p_lambda
    known <- is.numeric(p_lambda)
    prior <- bark_core_prior(
      alpha = hyper$alpha, gamma = hyper$gam, epsilon = hyper$eps, lambda_shape = hyper$a_l,
      lambda_rate = hyper$b_l, inclusion = c(hyper$a_p, hyper$b_p), sampled_inclusion = known,
      kill_power = as.integer(c(move$extra$dpow, 1L)[1])
    )
    settings <- bark_core_setting(move$setting)
    if (known) settings$probability <- p_lambda
    from <- bark_core_state(move$from)
    found <- moves()$bark_ratio_cpp(
      list(x = rows_of(ratios$X), y = numbers(ratios$y)), prior, settings,
      from, golden_bark_move(move, from, bark_core_state(move$to))
    )
    near(found$dloglik, move$dloglik, 1e-9, "log-likelihood ratio")
    near(found$log_ratio, move$log_ratio, 1e-9, "log acceptance ratio")
  })
}

# --- the rest ----------------------------------------------------------------

test_that("bark, number of kernels and error of both approximations", {
  expected <- bark_golden("levy.csv")
  found <- t(mapply(function(alpha, gamma, epsilon) {
    unlist(levy_cpp(alpha, gamma, epsilon))
  }, expected$alpha, expected$gam, expected$eps))
  names <- c(
    continuous.kernels = "nuC", continuous.error = "L2C",
    truncated.kernels = "nuT", truncated.error = "L2T"
  )
  for (name in names(names)) {
    column <- expected[[names[[name]]]]
    near_relative(found[, name], column, 1e-12, name)
  }
})

test_that("bark, prior of indicators along an axis", {
  expected <- bark_golden("markov_logp.csv")
  found <- mapply(function(delta, q0, q1) {
    moves()$bark_markov_cpp(indicators(delta), q0, q1)
  }, expected$delta, expected$q0, expected$q1)
  near(unname(found), expected$logp, 1e-12, "log prior")
})

test_that("bark, proposals of indicators along an axis", {
  expected <- bark_golden("markov_proposals.csv")
  prior <- bark_golden("markov_logp.csv")
  found <- vapply(seq_len(nrow(expected)), function(k) {
    from <- expected$from[k]
    to <- expected$to[k]
    log_prior <- function(delta) {
      moves()$bark_markov_cpp(indicators(delta), prior$q0[1], prior$q1[1])
    }
    c(
      moves()$bark_proposal_cpp(expected$kind[k], indicators(from), indicators(to)),
      log_prior(to) - log_prior(from)
    )
  }, numeric(2))
  near(found[1, ], expected$log_q_ratio, 1e-12, "proposals")
  near(found[2, ], expected$log_prior_ratio, 1e-12, "prior")
})

test_that("bark, latent responses with the coefficients integrated out", {
  expected <- bark_golden("probit.json")
  found <- moves()$bark_probit_cpp(
    rows_of(expected$X), numbers(expected$z), as.integer(numbers(expected$idx)),
    numbers(expected$prior_var), numbers(expected$lambda)
  )
  part <- function(name) numbers(lapply(expected$conditionals, `[[`, name))
  row <- part("i")
  near_relative(found$mean[row], part("mean"), 1e-9, "mean")
  near_relative(found$var[row], part("var"), 1e-9, "variance")
  near_relative(found$quadratic, expected$zQz, 1e-9, "quadratic form")
  near_relative(found$loglik, expected$loglik_z, 1e-9, "log density")
})

# --- exact posteriors --------------------------------------------------------

enumeration <- bark_golden("enumeration.json")

enumeration_prior <- function(case) {
  bark_core_prior(
    alpha = case$alpha, gamma = enumeration$gam, epsilon = enumeration$eps,
    lambda_shape = enumeration$a_l, lambda_rate = enumeration$b_l,
    inclusion = c(enumeration$a_p, enumeration$b_p), phi = as.double(enumeration$phi),
    max_kernels = enumeration$Jmax, markov = numbers(list(case$q0, case$q1))
  )
}

enumeration_draws <- function(case) {
  x <- rows_of(enumeration$X)
  chains <- 2L
  settings <- c(
    bark_core_setting(case$setting),
    list(
      warmup = 5000, draws = if (slow) 500000 else 150000, thin = 10, seed = 1,
      chain_id = seq_len(chains) - 1L, threads = 1L, progress = FALSE, vectors = 1,
      reference = matrix(0, 0, ncol(x)), states = list(), start = matrix(1L, ncol(x), chains)
    )
  )
  probit <- isTRUE(case$probit)
  y <- if (probit) numbers(enumeration$y_probit) + 1 else numbers(enumeration$y)
  bark_fit_cpp(
    list(x = x, y = y, classes = if (probit) 2L else 0L), enumeration_prior(case), settings
  )
}

# draws x chains x quantities of the file. Of up to two kernels all columns have the same number.
enumeration_values <- function(fit, wanted) {
  kernels <- fit$scalars[, , 2]
  columns <- fit$scalars[, , 3]
  total <- fit$scalars[, , 5]
  count_at <- function(location) {
    vapply(seq_along(fit$kernels), function(chain) {
      kept <- fit$kernels[[chain]]
      draw <- rep(seq_along(kept$size), kept$size)
      here <- draw[kept$location == location]
      out <- numeric(length(kept$size))
      out[here] <- kernels[here, chain] / columns[here, chain]
      out
    }, numeric(nrow(kernels)))
  }
  values <- lapply(wanted, function(name) {
    k <- as.integer(regmatches(name, regexpr("[0-9]+$", name)))
    switch(sub("[0-9]+$", "", name),
      P_J = kernels == k,
      E_n = count_at(k),
      P_del = fit$lambda[, , k] > 0,
      E_T = total,
      E_expmT = exp(-total),
      stop("unknown golden value ", name)
    )
  })
  array(as.double(unlist(values)), c(dim(kernels), length(wanted)), list(NULL, NULL, wanted))
}

for (k in seq_along(enumeration$cases)) {
  case <- enumeration$cases[[k]]
  expected <- unlist(case$values)
  title <- sprintf(
    "%s, alpha %g%s", case$setting, case$alpha, if (isTRUE(case$probit)) ", probit" else ""
  )

  test_that(paste("bark, exact posterior:", title), {
    wanted <- setdiff(names(expected), "logZ")
    if (enumeration$Jmax > 2) wanted <- wanted[!startsWith(wanted, "E_n")]
    fit <- enumeration_draws(case)
    found <- batch_summary(enumeration_values(fit, wanted))
    gap <- abs(found$mean - expected[wanted])
    # A file counts as exact to its quadrature error.
    z <- pmax(gap - case$quadrature_error * (1 + abs(expected[wanted])), 0) /
      ifelse(gap == 0, 1, found$mcse_mean)
    expect_true(all(z < 4), label = sprintf("largest z %.2f, of %s", max(z), wanted[which.max(z)]))
  })

  test_that(paste("bark, evidence:", title), {
    # p(J = 0 | y) = p(y | J = 0) p(J = 0) / p(y).
    nu <- levy_cpp(case$alpha, enumeration$gam, enumeration$eps)$continuous[["kernels"]]
    y <- numbers(enumeration$y)
    empty <- if (isTRUE(case$probit)) {
      -length(y) * log(2)
    } else {
      moves()$bark_state_cpp(
        list(x = rows_of(enumeration$X), y = y), enumeration_prior(case),
        bark_core_setting("d"), list(
          loc = integer(), n = integer(), varphi = numeric(),
          lambda = rep(1, length(enumeration$X[[1]])), phi = as.double(enumeration$phi)
        )
      )$loglik
    }
    mass <- stats::dpois(0, nu) / stats::ppois(enumeration$Jmax, nu)
    near(
      empty + log(mass) - log(expected[["P_J0"]]), expected[["logZ"]],
      10 * case$quadrature_error, "log evidence"
    )
  })
}
