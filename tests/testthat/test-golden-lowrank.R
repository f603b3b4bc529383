# The golden numbers of klr(), whatever sizes and values the files hold; the tolerances are those of
# golden/lowrank/README.md. What a file is follows from what is in it.

skip_if_not_installed("jsonlite")
cases <- golden_cases("lowrank")
skip_if(length(cases) == 0L, "no golden files beside the tests")

slow <- identical(Sys.getenv("BAYESKERNEL_SLOW"), "true")
cases <- lapply(stats::setNames(nm = cases), function(case) {
  jsonlite::fromJSON(file.path(golden_folder("lowrank"), paste0(case, ".json")))
})
lowrank <- function() test_core("lowrank")
signs <- function(golden) as.double(2 * golden$y - 1)
double <- function(x) {
  storage.mode(x) <- "double"
  x
}

near <- function(found, expected, tolerance, label) {
  expect_equal(length(found), length(expected), label = label)
  expect_lt(max(abs(found - expected), 0), tolerance, label = label)
}

states <- Filter(function(golden) !is.null(golden$state), cases)
posteriors <- Filter(function(golden) !is.null(golden$values), cases)

constants_of <- function(golden) c(golden$fixed, Jmax = 60)
core_state <- function(golden, variance = numeric()) {
  state <- golden$state
  state$U <- double(as.matrix(state$U))
  state$lam <- double(matrix(unlist(state$lam), length(state$beta)))
  state$beta <- as.double(state$beta)
  state$chi <- as.double(state$chi - 1)
  c(state, list(variance = as.double(variance)))
}

test_that("state, likelihood, hyper-parameters and prior of J", {
  for (name in names(states)) {
    golden <- states[[name]]
    fixed <- golden$fixed
    state <- core_state(golden)
    found <- lowrank()$lowrank_state(double(golden$X), signs(golden), constants_of(golden), state)
    near(found$K, as.matrix(golden$K), 1e-9, paste(name, "K"))
    near(found$f, golden$f, 1e-9, paste(name, "f"))
    near(found$loglik, golden$loglik, 1e-9, paste(name, "loglik"))
    for (part in names(golden$hyper)) {
      near(found[[part]], golden$hyper[[part]], 1e-9, paste(name, part))
    }
    # P(J = 0) of the negative binomial law.
    c <- levy(fixed$alpha, 1, fixed$eps)$kernels[["truncated"]]
    log_pmf <- cumsum(c(fixed$a_g * log(fixed$b_g / (fixed$b_g + c)), found$log_next))
    near(log_pmf[golden$logpmf_J$J + 1], golden$logpmf_J$logp, 1e-9, paste(name, "J"))
    kernels <- length(state$beta)
    log_joint <- found$loglik + log(fixed$b0 / 2) - fixed$b0 * abs(state$b0) +
      log_pmf[kernels + 1] + lfactorial(kernels) - kernels * log(nrow(golden$X)) +
      sum(log(fixed$alpha * fixed$eps^fixed$alpha / 2) - (1 + fixed$alpha) * log(abs(state$beta))) +
      sum(stats::dlnorm(state$lam, state$mu, 1 / sqrt(state$tau), TRUE)) +
      stats::dnorm(state$mu, fixed$mm, sqrt(fixed$sm2), TRUE) +
      stats::dgamma(state$tau, fixed$a_s, fixed$b_s, log = TRUE)
    near(log_joint, golden$log_joint_unordered, 1e-9, paste(name, "joint"))
  }
})

test_that("log ratios of the moves, and proposals of U", {
  for (name in names(states)) {
    golden <- states[[name]]
    for (kind in names(golden$moves)) {
      # The birth is the same in both ways to die.
      born <- if (startsWith(kind, "birth")) golden$moves$birth_reject
      move <- utils::modifyList(c(born, list()), golden$moves[[kind]])
      move <- lapply(move, function(x) {
        if (is.numeric(x)) double(x) else x
      })
      for (count in intersect(c("j", "l", "column", "new_chi"), names(move))) {
        move[[count]] <- move[[count]] - 1
      }
      found <- lowrank()$lowrank_move(
        double(golden$X), signs(golden), constants_of(golden), core_state(golden), kind, move
      )
      label <- paste(name, kind)
      near(found$log_ratio, move$log_ratio, 1e-9, label)
      # A death is the way back of a birth, by either kind of it.
      if (startsWith(kind, "birth")) near(found$back, -move$log_ratio, 1e-9, paste(label, "back"))
      if (!is.null(move$U_new)) near(found$U, move$U_new, 1e-9, label)
    }
  }
})

test_that("the integral over coefficients, and where chains begin", {
  for (name in names(states)) {
    golden <- states[[name]]
    x <- double(golden$X)
    # Without an intercept: one whose variance is nothing.
    found <- lowrank()$lowrank_integral(
      x, signs(golden), constants_of(golden),
      core_state(golden, c(1e-14, golden$pg$prior_var)), golden$pg$omega
    )
    near(found, golden$pg$log_integrated, 1e-9, paste(name, "integral"))
    u <- lowrank()$lowrank_save(x, signs(golden), ncol(core_state(golden)$U))
    near(tcrossprod(u), golden$save$projection, 1e-7, paste(name, "SAVE"))
  }
})

test_that("the exact posterior of a tiny problem, by every kind of update", {
  for (name in names(posteriors)) {
    golden <- posteriors[[name]]
    fixed <- golden[c("alpha", "eps", "a_g", "b_g", "b0", "Jmax")]
    # Known mean and variance of the log scales: priors without spread.
    fixed$mm <- golden$mu_lambda
    fixed$sm2 <- 1e-14
    fixed$a_s <- 1e12
    fixed$b_s <- 1e12 * golden$sigma2_lambda
    for (update in 0:2) {
      draws <- lowrank()$lowrank_chain(
        double(golden$X), signs(golden), fixed, golden$r,
        if (slow) 60000L else 20000L, 5L, 7L, update
      )
      some <- draws[, 1] > 0
      found <- list(
        P_J1 = draws[, 1], E_b0 = draws[, 2], E_U11sq = draws[, 3],
        E_loglam_J1 = draws[some, 4], P_betapos_J1 = draws[some, 5] > 0
      )
      for (value in intersect(names(found), names(golden$values))) {
        series <- as.double(found[[value]])
        batches <- matrix(series[seq_len(40 * (length(series) %/% 40))], ncol = 40)
        error <- stats::sd(colMeans(batches)) / sqrt(40)
        z <- (mean(series) - golden$values[[value]]) / sqrt(error^2 + golden$quadrature_error^2)
        expect_lt(abs(z), 4, label = sprintf(
          "%s, %s, update %d: |z| = %.2f", name, value, update, abs(z)
        ))
      }
    }
  }
})
