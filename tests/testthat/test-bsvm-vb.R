source(test_path("reference", "svm-elbo.R"), local = TRUE)

# Of small random problems, in some of which a class is given up.
vb <- function(..., method = "vb") {
  may_give_up(flat(bsvm)(..., threads = 1, progress = FALSE, method = method))
}

bound_of <- function(fit) fit$trace$elbo[length(fit$trace$elbo)]

# Rows with two crossed factors; the response depends on all of it.
make_data <- function(seed, n = 60, m = 6) {
  set.seed(seed)
  d <- data.frame(
    x1 = rnorm(n), x2 = rnorm(n, 3, 2), x3 = rexp(n), g = factor(sample.int(m, n, TRUE)),
    h = factor(sample.int(3, n, TRUE)), w = runif(n, 0.2, 2), o = rnorm(n)
  )
  f <- d$o + 0.8 * d$x1 - 0.3 * d$x2 + rnorm(m)[d$g] + rnorm(m)[d$g] * d$x1 + rnorm(3)[d$h]
  d$y <- ifelse(f + rlogis(n) > 0, 1, -1)
  d$y[1:2] <- c(1, -1)
  d
}

formulas <- list(
  penalty = y ~ x1 + x2 + x3,
  intercepts = y ~ x1 + x2 + (1 | g),
  slopes = y ~ x1 + x2 + (x1 | g),
  uncorrelated = y ~ x2 + (x1 || g),
  crossed = y ~ x1 + (1 | g) + (1 | h),
  crossed_slopes = y ~ x1 + (x1 | g) + (x2 | h)
)

test_that("the bound never falls over 200 random problems", {
  for (seed in 1:200) {
    d <- make_data(seed, n = 15 + seed %% 60, m = 2 + seed %% 7)
    formula <- formulas[[1 + seed %% length(formulas)]]
    arguments <- list(
      formula, d, accelerate = seed %% 3 > 0, tol = 1e-9, max_iter = 10000,
      prior = bsvm_prior(beta_var = 10^(seed %% 4))
    )
    if (seed %% 2 == 0) arguments$weights <- d$w
    if (seed %% 5 == 0) arguments$offset <- d$o
    elbo <- do.call(vb, arguments)$trace$elbo
    expect_gte(
      min(c(0, diff(elbo) / (1 + abs(elbo[-1])))), -1e-9,
      label = paste("largest relative rise of the bound, problem", seed)
    )
  }
})

# The dense problem of formula and data, with columns in the order of the posterior: fixed, then the
# members of each random term.
dense_problem <- function(d, fixed, terms, beta_var, prior, penalised = FALSE,
                          w = rep(1, nrow(d)), offset = numeric(nrow(d))) {
  C <- model.matrix(fixed, d)
  p <- ncol(C)
  P0 <- rep(1 / beta_var, p)
  blocks <- list()
  if (penalised) {
    P0[-1] <- 0
    blocks <- list(list(at = matrix(2:p), type = "iid", A = prior$var_shape, B = prior$var_rate))
  }
  for (term in terms) {
    z <- model.matrix(term$z, d)
    g <- d[[term$g]]
    r <- ncol(z)
    own <- ncol(C) + seq_len(nlevels(g) * r)
    C <- cbind(C, do.call(cbind, lapply(levels(g), function(k) z * (g == k))))
    block <- list(at = matrix(own, ncol = r, byrow = TRUE))
    blocks[[length(blocks) + 1L]] <- c(block, if (r == 1) {
      list(type = "iid", A = prior$var_shape, B = prior$var_rate)
    } else {
      list(type = "unstructured", nu = r + 1, S = diag(prior$cov_scale, r))
    })
  }
  P0 <- c(P0, numeric(ncol(C) - p))
  svm_problem(unname(C), d$y, w, offset, P0, blocks = blocks)
}

# q of a fit in the terms of svm_elbo().
dense_q <- function(fit) {
  posterior <- fit$posterior
  p <- length(posterior$theta_mean)
  gone <- which(vapply(posterior$random, `[[`, TRUE, "eliminated"))
  joint <- list(mean = posterior$theta_mean, covariance = posterior$theta_cov)
  place <- function(t) {
    if (t %in% gone) p + seq_along(posterior$random[[t]]$mean) else posterior$random[[t]]$index
  }
  if (length(gone) == 1) {
    term <- posterior$random[[gone]]
    joint <- joint_gaussian(
      posterior$theta_mean, posterior$theta_cov, t(term$mean),
      matrix(aperm(term$loading, c(2, 1, 3)), p), matrix(term$schur, nrow(term$schur))
    )
  }
  at <- c(seq_along(fit$design$columns), unlist(lapply(seq_along(posterior$random), place)))
  list(
    mu = unname(joint$mean[at]), Sigma = unname(joint$covariance[at, at]),
    blocks = lapply(posterior$variance, function(v) {
      switch(v$type,
        iid = list(A = v$shape, B = v$rate),
        unstructured = list(nu = v$df, S = v$scale),
        list()
      )
    })
  )
}

mixtures <- list(
  list(y ~ x1 + x2 + x3, ~ x1 + x2 + x3, list(), penalty = "learn"),
  list(y ~ x1 + x2 + (1 | g), ~ x1 + x2, list(list(z = ~1, g = "g"))),
  list(y ~ x1 + x2 + (x1 | g), ~ x1 + x2, list(list(z = ~x1, g = "g"))),
  list(y ~ x1 + (x1 | g) + (1 | h), ~x1, list(list(z = ~x1, g = "g"), list(z = ~1, g = "h"))),
  list(
    y ~ x1 + x2 + (0 + x2 | h) + (1 | g), ~ x1 + x2,
    list(list(z = ~ 0 + x2, g = "h"), list(z = ~1, g = "g")), penalty = "learn"
  )
)

fit_mixture <- function(mixture, d, ...) {
  prior <- bsvm_prior(beta_var = 50, var_shape = 0.7, var_rate = 0.4, cov_scale = 0.5)
  penalty <- if (is.null(mixture$penalty)) "none" else mixture$penalty
  list(
    fit = vb(
      mixture[[1]], d, penalty = penalty, prior = prior, standardize = FALSE, weights = w,
      offset = o, tol = 1e-13, max_iter = 20000, ...
    ),
    problem = dense_problem(d, mixture[[2]], mixture[[3]], 50, prior, penalty == "learn", d$w, d$o)
  )
}

test_that("fit and bound are those of the textbook iteration", {
  for (k in seq_along(mixtures)) {
    both <- fit_mixture(mixtures[[k]], make_data(k, n = 70))
    expected <- svm_vb(both$problem, tol = 1e-13)
    q <- dense_q(both$fit)
    expect_equal(bound_of(both$fit), expected$elbo[length(expected$elbo)], tolerance = 1e-10)
    expect_equal(q$mu, expected$mu, tolerance = 1e-5)
    expect_equal(q$Sigma, expected$Sigma, tolerance = 1e-5)
    expect_equal(both$fit$fitted$mean, expected$m, tolerance = 1e-5)
    expect_equal(both$fit$fitted$var, expected$s2, tolerance = 1e-5)
  }
})

test_that("plain iterations take the textbook's steps one by one", {
  for (k in seq_along(mixtures)) {
    d <- transform(make_data(k), o = 0)  # an offset has a start of its own
    both <- fit_mixture(mixtures[[k]], d, accelerate = FALSE)
    expected <- svm_vb(both$problem, max_iter = 6)
    expect_equal(both$fit$trace$elbo[1:6], expected$elbo, tolerance = 1e-10)
  }
})

test_that("derivatives of the textbook bound vanish at the fit", {
  for (k in seq_along(mixtures)) {
    both <- fit_mixture(mixtures[[k]], make_data(20 + k, n = 40, m = 4))
    q <- dense_q(both$fit)
    expect_equal(svm_elbo(both$problem, q), bound_of(both$fit), tolerance = 1e-11)
    # Central difference in direction `move`, a function of the step.
    slope <- function(move, h = 1e-5) {
      (svm_elbo(both$problem, move(h)) - svm_elbo(both$problem, move(-h))) / (2 * h)
    }
    sd <- sqrt(diag(q$Sigma))
    slopes <- unlist(lapply(seq_along(sd), function(j) {
      c(
        slope(function(h) {
          q$mu[j] <- q$mu[j] + h * sd[j]
          q
        }),
        vapply(seq_len(j), function(i) {
          slope(function(h) {
            q$Sigma[i, j] <- q$Sigma[i, j] + h * sd[i] * sd[j]
            q$Sigma[j, i] <- q$Sigma[i, j]
            q
          })
        }, 1)
      )
    }))
    for (l in seq_along(q$blocks)) {
      for (name in names(q$blocks[[l]])) {
        for (e in seq_along(q$blocks[[l]][[name]])) {
          at <- arrayInd(e, dim(as.matrix(q$blocks[[l]][[name]])))
          if (at[1] < at[2]) next
          slopes <- c(slopes, slope(function(h) {
            value <- as.matrix(q$blocks[[l]][[name]])
            scale <- sqrt(value[at[1], at[1]] * value[at[2], at[2]])
            value[at] <- value[at] + h * scale
            value[at[, 2:1, drop = FALSE]] <- value[at]
            q$blocks[[l]][[name]] <- if (length(value) == 1) value[1] else value
            q
          }))
        }
      }
    }
    expect_lt(max(abs(slopes)), 2e-5)
  }
})

test_that("the order of rows does not matter", {
  d <- make_data(31)
  shuffled <- sample.int(nrow(d))
  for (formula in formulas) {
    a <- vb(formula, d, weights = w, tol = 1e-12)
    b <- vb(formula, d[shuffled, ], weights = w, tol = 1e-12)
    expect_equal(bound_of(a), bound_of(b), tolerance = 1e-10)
    expect_equal(a$fitted$mean[shuffled], b$fitted$mean, tolerance = 1e-5)
  }
})

test_that("the order of columns and of terms does not matter", {
  d <- make_data(32)
  a <- vb(y ~ x1 + x2 + x3 + (1 | g) + (1 | h), d, tol = 1e-12)
  b <- vb(y ~ (1 | h) + x3 + (1 | g) + x1 + x2, d, tol = 1e-12)
  expect_equal(bound_of(a), bound_of(b), tolerance = 1e-10)
  expect_equal(a$fitted, b$fitted, tolerance = 1e-5)
  expect_equal(coef(a)[names(coef(b))], coef(b), tolerance = 1e-5)
})

test_that("shifting and scaling predictors changes coefficients alone", {
  d <- make_data(33)
  moved <- transform(d, x1 = 1000 * x1 - 7, x2 = (x2 + 50) / 30)
  for (name in names(formulas)) {
    # A slope without its intercept, as in (x1 || g), fixes the origin of x1.
    if (name == "uncorrelated") moved$x1 <- 1000 * d$x1
    a <- vb(formulas[[name]], d, tol = 1e-12)
    b <- vb(formulas[[name]], moved, tol = 1e-12)
    expect_equal(bound_of(a), bound_of(b), tolerance = 1e-9)
    expect_equal(a$fitted, b$fitted, tolerance = 1e-5)
  }
  a <- vb(y ~ x1 + x2, d, tol = 1e-12)
  b <- vb(y ~ x1 + x2, moved, tol = 1e-12)
  expect_equal(coef(b)[-1] * c(1000, 1 / 30), coef(a)[-1], tolerance = 1e-5)
})

test_that("a whole weight counts as so many rows", {
  d <- make_data(35)
  d$times <- rep(1:3, length.out = nrow(d))
  many <- d[rep(seq_len(nrow(d)), d$times), ]
  for (formula in formulas) {
    a <- vb(formula, d, weights = times, standardize = FALSE, tol = 1e-12)
    b <- vb(formula, many, standardize = FALSE, tol = 1e-12)
    expect_equal(bound_of(a), bound_of(b), tolerance = 1e-10)
    expect_equal(rep(a$fitted$mean, d$times), b$fitted$mean, tolerance = 1e-5)
  }
})

test_that("rows of weight zero are as good as absent", {
  d <- make_data(36)
  d$w <- rep(c(1, 1, 0), length.out = nrow(d))
  a <- vb(y ~ x1 + x2 + (1 | g), d, weights = w, tol = 1e-12)
  b <- vb(y ~ x1 + x2 + (1 | g), d[d$w > 0, ], tol = 1e-12)
  expect_equal(coef(a), coef(b), tolerance = 1e-6)
  expect_equal(bound_of(a), bound_of(b), tolerance = 1e-10)
})

test_that("an offset is a known part of the coefficients", {
  d <- make_data(37, n = 100)
  a <- vb(y ~ x1 + x2, d, penalty = "none", prior = bsvm_prior(beta_var = 1e8), tol = 1e-12)
  b <- vb(
    y ~ x1 + x2 + offset(0.4 * x1 - 0.1), d,
    penalty = "none", prior = bsvm_prior(beta_var = 1e8), tol = 1e-12
  )
  expect_equal(coef(a), coef(b) + c(-0.1, 0.4, 0), tolerance = 1e-5)
  expect_equal(a$fitted$mean, b$fitted$mean, tolerance = 1e-5)
  argument <- vb(
    y ~ x1 + x2, d,
    penalty = "none", prior = bsvm_prior(beta_var = 1e8), offset = 0.4 * x1 - 0.1, tol = 1e-12
  )
  expect_equal(bound_of(argument), bound_of(b), tolerance = 1e-12)
})

test_that("more predictors than rows: the fit of the dense algebra", {
  set.seed(38)
  n <- 15
  x <- matrix(rnorm(n * 40), n)
  y <- sign(x[, 1] - x[, 2] + rnorm(n))
  prior <- bsvm_prior(100, var_shape = 1, var_rate = 1)
  fit <- vb(x, y, standardize = FALSE, prior = prior, tol = 1e-13)
  problem <- svm_problem(
    cbind(1, x), y, P0 = c(0.01, numeric(40)),
    blocks = list(list(at = matrix(2:41), type = "iid", A = 1, B = 1))
  )
  expected <- svm_vb(problem, tol = 1e-13)
  expect_equal(bound_of(fit), expected$elbo[length(expected$elbo)], tolerance = 1e-10)
  expect_equal(unname(coef(fit)), expected$mu, tolerance = 1e-5)
  expect_equal(unname(vcov(fit, type = "posterior")), expected$Sigma, tolerance = 1e-5)
  new <- matrix(rnorm(80), 2)
  link <- predict(fit, new, type = "link", se.fit = TRUE)
  C <- cbind(1, new)
  expect_equal(as.vector(link$fit), drop(C %*% expected$mu), tolerance = 1e-5)
  expect_equal(as.vector(link$se.fit)^2, rowSums((C %*% expected$Sigma) * C), tolerance = 1e-5)
})

test_that("a held penalty is a known prior variance", {
  d <- make_data(39)
  a <- vb(y ~ x1 + x2, d, penalty = 4, tol = 1e-12)
  b <- vb(
    y ~ x1 + x2, d, penalty = "none", tol = 1e-12, prior = bsvm_prior(beta_var = c(1e8, 0.25, 0.25))
  )
  expect_equal(bound_of(a), bound_of(b), tolerance = 1e-10)
  expect_equal(coef(a), coef(b), tolerance = 1e-6)
  wide <- matrix(rnorm(5 * 12), 5)
  y <- c(1, -1, 1, -1, 1)
  a <- vb(wide, y, penalty = 4, standardize = FALSE, tol = 1e-12)
  b <- vb(
    wide, y, penalty = "none", standardize = FALSE, tol = 1e-12,
    prior = bsvm_prior(beta_var = c(1e8, rep(0.25, 12)))
  )
  expect_equal(bound_of(a), bound_of(b), tolerance = 1e-9)
  expect_equal(coef(a), coef(b), tolerance = 1e-5)
})

test_that("accelerated and plain iterations end at the same fit", {
  d <- make_data(40)
  for (formula in formulas) {
    a <- vb(formula, d, tol = 1e-13)
    b <- vb(formula, d, tol = 1e-13, accelerate = FALSE, max_iter = 20000)
    expect_lt(abs(bound_of(a) - bound_of(b)), 1e-7)
    expect_equal(a$fitted$mean, b$fitted$mean, tolerance = 1e-5)
    expect_lte(a$diagnostics$passes, b$diagnostics$passes)
  }
})

test_that("random effects alone, without any fixed column", {
  d <- make_data(41)
  prior <- bsvm_prior(var_shape = 1, var_rate = 1)
  fit <- vb(y ~ 0 + (1 | g), d, prior = prior, tol = 1e-13)
  problem <- dense_problem(d, ~0, list(list(z = ~1, g = "g")), numeric(), prior)
  expected <- svm_vb(problem, tol = 1e-13)
  expect_equal(bound_of(fit), expected$elbo[length(expected$elbo)], tolerance = 1e-10)
  expect_equal(fit$fitted$mean, expected$m, tolerance = 1e-5)
})

test_that("a cap on the passes warns and leaves a usable fit", {
  d <- make_data(42)
  expect_bk_warning(fit <- vb(y ~ x1 + (x1 | g), d, max_iter = 4, tol = 1e-12), "max_iter")
  expect_false(fit$diagnostics$converged)
  expect_true(all(is.finite(predict(fit, d, type = "link"))))
})

test_that("separated classes under a vague prior warn", {
  d <- data.frame(x = c(-3:-1, 1:3), y = rep(0:1, each = 3))
  expect_bk_warning(
    suppressWarnings(
      vb(y ~ x, d, penalty = "none", max_iter = 20000), classes = "bayeskernel_warning_max_iter"
    ),
    "separation"
  )
})

test_that("separated classes are told for every seed, and the advice helps", {
  count <- c(none = 0, learn = 0)
  for (seed in 1:10) {
    set.seed(seed)
    d <- data.frame(x = rnorm(300), z = rnorm(300))
    d$y <- d$x > 0
    fit <- function(..., method = "vb") flat(bsvm)(y ~ x + z, d, threads = 1, ..., method = method)
    for (penalty in c("none", "learn")) {
      message <- ""
      object <- withCallingHandlers(
        fit(penalty = penalty),
        bayeskernel_warning_separation = function(w) {
          message <<- conditionMessage(w)
          invokeRestart("muffleWarning")
        }
      )
      # By default it is said, whatever the size.
      expect_match(message, "separated")
      count[penalty] <- count[penalty] + (max(abs(coef(object, scale = "model"))) > 30)
      # What is in force already is no advice.
      expect_no_match(message, "\"learn\"", fixed = TRUE)
    }
    expect_no_warning(fit(penalty = 1))
    expect_no_warning(fit(penalty = "none", prior = bsvm_prior(beta_var = 25)))
    expect_no_warning(fit(penalty = "learn", prior = bsvm_prior(var_shape = 10, var_rate = 10)))
  }
  # The default prior holds them where there is no penalty.
  expect_identical(count[["none"]], 0)
  expect_gt(count[["learn"]], 0)
  set.seed(1)
  d <- data.frame(x = rnorm(60))
  d$y <- d$x > 0
  expect_bk_warning(
    suppressWarnings(bsvm(
      y ~ x, d, method = "gibbs", penalty = "none", chains = 2,
      control = list(warmup = 1500, progress = FALSE), ndraws = 100, threads = 1, seed = 1
    ), classes = "bayeskernel_warning_convergence"), "separation"
  )
})
