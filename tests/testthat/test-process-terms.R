# gp() terms and correlated units in the formula of bkm().

set.seed(4)
curve <- data.frame(x = runif(80, -2, 2), w = rnorm(80), g = gl(8, 10))
curve$f <- 2 * sin(2 * curve$x)
curve$number <- curve$f + curve$w + rnorm(8)[curve$g] + rnorm(80, sd = 0.3)
curve$class <- factor(ifelse(curve$f + curve$w + rlogis(80) > 0, "yes", "no"), c("no", "yes"))

expect_refused <- function(object, ...) expect_error(object, ..., class = "bayeskernel_error")

test_that("a term is the dense process, given its variance", {
  z <- matrix(sort(curve$x))
  fit <- bkm(
    number ~ gp(x, kernel = rbf(0.6), inducing = z) + w, curve,
    method = "vb", standardize = FALSE, control = list(tol = 1e-12), threads = 1
  )
  s2 <- fit$posterior$variance[[1]]$value
  noise <- fit$posterior$noise
  k <- s2 * kernel_matrix(rbf(0.6), matrix(curve$x))
  # The level of a term is the intercept's.
  n <- nrow(curve)
  centre <- diag(n) - 1 / n
  k <- centre %*% k %*% centre
  x <- cbind(1, curve$w)
  prior <- x %*% diag(1e8, 2) %*% t(x) + k
  mean <- prior %*% solve(prior + diag(noise$rate / noise$shape, n), curve$number)
  expect_equal(unname(fitted(fit)), drop(mean), tolerance = 1e-4)
  expect_equal(unname(predict(fit, curve)), unname(fitted(fit)), tolerance = 1e-8)
})

test_that("one term of a hinge is gpsvm() at the same variance", {
  z <- matrix(seq(-2, 2, length.out = 9))
  fit <- bkm(
    class ~ 0 + gp(x, kernel = rbf(0.6), inducing = z), curve, family = "hinge", method = "vb",
    standardize = FALSE, control = list(tol = 1e-13, max_iter = 1e4), threads = 1
  )
  s2 <- fit$posterior$variance[[1]]$value
  colnames(z) <- "x"
  machine <- gpsvm(
    class ~ x, curve, kernel = rbf(0.6, variance = s2), inducing = z, method = "vb",
    standardize = FALSE, tune = FALSE, control = list(tol = 1e-13), threads = 1
  )
  expect_equal(fit$fitted$mean, machine$fitted$mean, tolerance = 1e-6)
  expect_equal(fit$fitted$var, machine$fitted$var, tolerance = 1e-5)
  new <- data.frame(x = c(-3, 0.2, 4))
  expect_equal(predict(fit, new, "link"), predict(machine, new, "link"), tolerance = 1e-6)
  both <- gpsvm(class ~ gp(x) + (1 | g), curve, threads = 1)
  expect_s3_class(both, "bkm")
  expect_equal(family(both)$family, family(fit)$family)
  expect_refused(gpsvm(class ~ gp(x), curve, kernel = rbf()), "kernel")
})

test_that("open length-scales are where the bound is largest", {
  free <- bkm(class ~ gp(x) + w, curve, method = "vb", threads = 1, control = list(tol = 1e-9))
  own <- free$design$smooths[[1]]$process
  ell <- kernel_parameters(own$kernel)[["lengthscale"]]
  expect_true(ell > 0.05 && ell < 5)
  median <- median_distance_cpp(t(scale(curve$x)))
  criterion <- function(ell) {
    fit <- bkm(
      class ~ gp(x, kernel = rbf(ell)) + w, curve,
      method = "vb", threads = 1, control = list(tol = 1e-9)
    )
    last(fit$trace$elbo) - log(ell / median)^2 / 8
  }
  best <- criterion(ell)
  expect_equal(best, last(free$trace$elbo) - log(ell / median)^2 / 8, tolerance = 1e-6)
  expect_gt(best, criterion(ell * 1.3) - 0.02)
  expect_gt(best, criterion(ell / 1.3) - 0.02)
})

test_that("derivatives in length-scales are those of the bound", {
  d <- data.frame(
    y = ifelse(curve$class == "yes", 1, -1), x1 = curve$x, x2 = curve$w,
    group = as.integer(curve$g), weight = rep(c(1, 0.5), 40)
  )
  place <- seq(1, 80, by = 9)
  problem <- list(data = d, spec = list(
    fixed = "1", fixed_precision = 0.1, gp = list(
      list(
        columns = c("x1", "x2"), inducing = d[place, c("x1", "x2")],
        lengthscale = c(0.8, 1.5), centre = TRUE, A = 1, B = 1
      ),
      list(
        columns = "x1", by = "x2", inducing = d[place, "x1", drop = FALSE],
        lengthscale = 1.1, centre = FALSE, A = 2, B = 1
      )
    ), random = list(group = "group", columns = "1", nu = 3, S = 2)
  ))
  for (family in c("hinge", "probit", "logit", "gaussian")) {
    at <- function(log_factor) {
      own <- problem
      own$spec$gp[[1]]$lengthscale <- own$spec$gp[[1]]$lengthscale * exp(log_factor[1:2])
      own$spec$gp[[2]]$lengthscale <- own$spec$gp[[2]]$lengthscale * exp(log_factor[3])
      input <- golden_bkm_input(own)
      process_learn_cpp(
        c(input$data, list(processes = input$columns$terms)), input$prior,
        golden_settings(
          most = 0L, factors = 1, family = family,
          rule = if (family %in% c("hinge", "gaussian")) "augmented" else "direct",
          noise = if (family == "gaussian") list(shape = 2, rate = 1)
        )
      )
    }
    slope <- c(at(numeric(3))$slope)
    difference <- vapply(1:3, function(k) {
      step <- replace(numeric(3), k, 1e-3)
      (at(step)$bound - at(-step)$bound) / 2e-3
    }, 1)
    expect_equal(slope, difference, tolerance = 1e-4, info = family)
  }
})

for (method in c("ep", "vb", "gibbs")) {
  test_that(paste("functions of levels and numbers by", method), {
    d <- curve
    d$h <- rep(c("a", "b"), 40)
    fit <- suppressWarnings(bkm(
      class ~ h + gp(x, by = h, inducing = 8) + gp(x, by = w, inducing = 6) + (1 | g), d,
      method = method, threads = 1, chains = 2, control = list(warmup = 100), ndraws = 100,
      seed = 1
    ))
    expect_identical(vapply(fit$smooths, `[[`, "", "label"), c("gp(x):ha", "gp(x):hb", "gp(x):w"))
    p <- predict(fit, d, "response")
    expect_true(all(p > 0 & p < 1))
    expect_equal(unname(predict(fit, d, "link")), unname(fit$fitted$mean), tolerance = 1e-6)
    # The function of one level is nowhere else.
    f <- predict(fit, transform(d, h = "a")[1:3, ], "link", re.form = NA)
    expect_length(f, 3)
    path <- tempfile(fileext = ".rds")
    saveRDS(fit, path)
    expect_equal(predict(readRDS(path), d, "link"), predict(fit, d, "link"))
    expect_output(print(summary(fit)), "gp\\(x\\):hb")
    expect_error(predict(fit, transform(d, h = "c")), "level")
    grDevices::png(tempfile(fileext = ".png"))
    expect_silent(plot(fit, "smooth"))
    grDevices::dev.off()
  })
}

test_that("columns of processes are what coefficients belong to", {
  fit <- bkm(class ~ gp(x, inducing = 8) + w + (1 | g), curve, threads = 1)
  x <- model.matrix(fit)
  expect_equal(
    unname(drop(x %*% coef(fit))),
    unname(predict(fit, curve, "link", re.form = NA)), tolerance = 1e-8
  )
  skip_if_not_installed("emmeans")
  means <- summary(emmeans::emmeans(fit, ~x, at = list(x = c(-1, 1), w = 0)))
  own <- predict(fit, data.frame(x = c(-1, 1), w = 0), "link", re.form = NA, se.fit = TRUE)
  expect_equal(means$emmean, unname(own$fit), tolerance = 1e-6)
})

test_that("ep and the sampler agree about a curve", {
  skip_if_not(identical(Sys.getenv("BAYESKERNEL_SLOW"), "true"))
  z <- matrix(seq(-2, 2, length.out = 12))
  formula <- class ~ gp(x, kernel = rbf(0.7), inducing = z) + w
  ep <- bkm(formula, curve, standardize = FALSE, threads = 1)
  gibbs <- suppressWarnings(bkm(
    formula, curve, method = "gibbs", standardize = FALSE, threads = 1, seed = 2,
    control = list(warmup = 2000), ndraws = 5000
  ))
  new <- data.frame(x = seq(-2, 2, length.out = 9), w = 0)
  a <- predict(ep, new, "link", se.fit = TRUE)
  b <- predict(gibbs, new, "link", se.fit = TRUE)
  expect_lt(max(abs(a$fit - b$fit) / b$se.fit), 0.15)
  expect_lt(max(abs(a$se.fit / b$se.fit - 1)), 0.1)
})

test_that("the grid of ep counts what inducing points leave open", {
  # Three points for a wavy function: much of the variance is residual.
  z <- matrix(c(-1.5, 0, 1.5))
  fit <- bkm(
    class ~ gp(x, kernel = rbf(0.5), inducing = z), curve, family = "probit", standardize = FALSE,
    threads = 1, control = list(tol = 1e-6), prior = bkm_prior(var_shape = 2, var_rate = 2)
  )
  expect_gt(fit$design$smooths[[1]]$process$left, 0.1)
  # log Z at held variances, by the core, over a fine grid of log s^2.
  own <- bayeskernel:::process_columns(fit$design$smooths[[1]]$process, cbind(curve$x), NULL)
  x <- cbind(1, own$x)
  held <- function(log_variance) {
    data <- list(
      x = x, center = numeric(4), scale = rep(1, 4), y = ifelse(curve$class == "yes", 1, -1),
      weights = rep(1, 80), offset = numeric(80), kept = list(), z = matrix(0, 80, 0),
      group = integer(), n_groups = 0L, residual = own$open * exp(log_variance)
    )
    prior <- list(
      precision = c(1.7^2 / 100, 0, 0, 0), mean = numeric(4),
      blocks = list(list(
        kind = "held", eliminated = FALSE, first = 1L, members = 3L,
        width = 1L, precision = exp(-log_variance)
      )), transforms = list(matrix(0, 0, 0))
    )
    linear_ep_cpp(data, prior, list(
      tol = 1e-8, max_iter = 1000L, threads = 1L, progress = FALSE, family = "probit", check = FALSE
    ))$log_evidence
  }
  at <- seq(-5, 7, by = 0.1)
  log_prior <- 2 * log(2) - lgamma(2) - 2 * at - 2 * exp(-at)
  joint <- vapply(at, held, 1) + log_prior
  expect_equal(
    fit$log_evidence, max(joint) + log(sum(exp(joint - max(joint))) * 0.1), tolerance = 1e-4
  )
  weight <- exp(joint - max(joint))
  sd <- sum(weight * exp(at / 2)) / sum(weight)
  rows <- tidy(fit, effects = "ran_pars")
  expect_equal(rows$estimate[rows$group == "gp(x)"], sd, tolerance = 0.02)
})

test_that("variables of a process may have holes", {
  d <- curve
  d$u <- d$x + rnorm(80, sd = 0.2)
  d$x[c(3, 17, 40:50)] <- NA
  d$w[c(5, 41)] <- NA
  expect_refused(bkm(class ~ gp(x) + w + u, d), "missing")
  fit <- bkm(class ~ gp(x, u, inducing = 10) + w, d, missing = "model", threads = 1)
  expect_equal(nobs(fit), 80)
  filled <- imputed(fit)
  expect_setequal(filled$row[filled$column == "x"], c(3, 17, 40:50))
  # u tells where x was.
  at <- filled$column == "x"
  expect_lt(mean(abs(filled$mean[at] - curve$x[filled$row[at]])), 0.4)
  p <- predict(fit, d, "response")
  expect_true(all(is.finite(p) & p > 0 & p < 1))
  whole <- complete.cases(d[c("x", "w")])
  expect_equal(predict(fit, d[whole, ], "link"), predict(fit, d, "link")[whole])
  expect_refused(bkm(class ~ gp(x), d, missing = "model", method = "gibbs"), "gp")
  d$x <- NA_real_
  expect_refused(bkm(class ~ gp(x) + w, d, missing = "model"), "x")
})

test_that("kernels may look at some of the variables, and at categories", {
  fit <- bkm(
    class ~ gp(
      x, g, kernel = rbf(columns = "x") + 0.5 * categorical(columns = "g"), inducing = 20
    ), curve, threads = 1
  )
  # All places of a category are points of the data.
  process <- fit$design$smooths[[1]]$process
  expect_true(all(process$z[, 2] %in% 1:8))
  p <- predict(fit, curve, "link")
  expect_equal(unname(p), unname(fit$fitted$mean), tolerance = 1e-8)
  expect_equal(predict(fit, transform(curve, g = as.character(g)), "link"), p)
  expect_error(predict(fit, transform(curve, g = "new"), "link"), "level")
  expect_refused(bkm(class ~ gp(x, g, kernel = rbf(columns = "x")), curve), "g")
  expect_refused(bkm(class ~ gp(x, kernel = rbf(columns = "u")), curve), "u")
  smooth <- bkm(class ~ gp(x, kernel = matern(5 / 2)), curve, threads = 1)
  plain <- bkm(class ~ gp(x), curve, threads = 1)
  expect_gt(cor(predict(smooth, curve, "link"), predict(plain, curve, "link")), 0.98)
})

test_that("bad terms are refused with what would be accepted", {
  d <- transform(curve, flat = 1)
  expect_refused(bkm(class ~ gp(g), d), "factor")
  expect_refused(bkm(class ~ gp(), d), "variables")
  expect_refused(bkm(class ~ gp(x, x), d), "twice")
  expect_refused(bkm(class ~ gp(x, kernel = 3), d), "kernel")
  expect_refused(bkm(class ~ gp(x, kernel = precomputed()), d), "kernel")
  expect_refused(bkm(class ~ gp(x, kernal = rbf()), d), "kernal")
  expect_refused(bkm(class ~ gp(x, inducing = -1), d), "inducing")
  expect_refused(bkm(class ~ gp(x, inducing = matrix(1:4, 2)), d), "columns")
  expect_refused(bkm(class ~ gp(flat), d), "vary")
  expect_refused(bkm(class ~ gp(nowhere), d), "nowhere")
  expect_refused(bkm(class ~ gp(x, by = nowhere), d), "nowhere")
  expect_refused(bkm(class ~ gp(x) * w, d), "added")
  expect_refused(bkm(class ~ gp(x), d, select = TRUE), "select")
  expect_s3_class(bkm(class ~ gp(x), d, method = "svi", seed = 1), "bkm")
  expect_refused(bsvm(class ~ gp(x), transform(d, x = I(list(1)))))
  expect_refused(mkprobit(class ~ gp(x), d), "mkprobit")
})

test_that("a factor that is there as `by` alone is told of", {
  d <- transform(curve, h = rep(c("a", "b"), 40))
  expect_message(
    bkm(class ~ gp(x, by = h, inducing = 5), d, threads = 1), "h", class = "bayeskernel_message_by"
  )
  expect_no_message(bkm(class ~ h + gp(x, by = h, inducing = 5), d, threads = 1))
  expect_no_message(bkm(class ~ gp(x, by = g, inducing = 3) + (1 | g), d, threads = 1))
})

test_that("a damaged term is refused, not read", {
  fit <- bkm(class ~ gp(x, w, inducing = 6), curve, threads = 1)
  for (change in list(
    function(p) replace(p, "z", list(p$z[, 1, drop = FALSE])),
    function(p) replace(p, "z", list(p$z[0, ])),
    function(p) replace(p, "centre", list(p$centre[-1])),
    function(p) replace(p, "kernel", list("rbf")),
    function(p) replace(p, "scale", list(NULL))
  )) {
    bad <- fit
    bad$design$smooths[[1]]$process <- change(fit$design$smooths[[1]]$process)
    expect_refused(predict(bad, curve))
  }
})

test_that("under the hinge the variance of a process stays where it is", {
  set.seed(2)
  d <- data.frame(x1 = stats::rnorm(1000), x2 = stats::rnorm(1000))
  f <- 1.5 * sin(2 * d$x1) * cos(d$x2) + d$x2
  d$y <- f + stats::rlogis(1000) > 0
  # So few points leave a part of the process open, whose price is bounded.
  fit <- gpsvm(y ~ gp(x1, x2, inducing = 20), d, seed = 1, threads = 1)
  expect_identical(fit$method, "ep")
  expect_lt(max(abs(predict(fit, d, "link"))), 20)
  loss <- function(fit) -mean(log(ifelse(d$y, fitted(fit), 1 - fitted(fit))))
  whole <- gpsvm(y ~ x1 + x2, d, seed = 1, threads = 1)
  expect_lt(loss(fit), loss(whole) + 0.05)
})

test_that("few rows are all inducing points, of a level, too", {
  set.seed(2)
  d <- data.frame(x = runif(120), g = gl(2, 60))
  d$y <- sin(6 * d$x) + rnorm(120) / 5
  points <- function(formula, data) {
    fit <- bkm(formula, data, threads = 1)
    vapply(fit$design$smooths, function(term) nrow(term$process$z), 1L)
  }
  expect_identical(points(y ~ gp(x), d[1:30, ]), 30L)
  expect_identical(points(y ~ g + gp(x, by = g), d), c(60L, 60L))
  expect_identical(points(y ~ gp(x), d), 120L)
  expect_identical(points(y ~ gp(x), d[rep(1:60, 3), ]), 60L)
})

test_that("a process that separates the classes has the posterior of its half t prior", {
  d <- data.frame(x = c(-1.4, -1, -0.7, -0.2, 0.3, 0.6, 1.1, 1.3))
  d$y <- factor(d$x > 0)
  new <- data.frame(x = c(-2, -0.5, 0.05, 0.8))
  # Draws from the prior, weighted by the likelihood.
  set.seed(1)
  at <- c(d$x, new$x)
  root <- chol(exp(-outer(at, at, "-")^2 / 2) + diag(1e-8, 12))
  n <- 2e5
  f <- (matrix(rnorm(n * 12), n) %*% root) * 2.5 * abs(rt(n, 4)) + rnorm(n, sd = 10)
  weight <- exp(rowSums(plogis(f[, 1:8] %*% diag(ifelse(d$x > 0, 1, -1)), log.p = TRUE)))
  exact <- colSums(weight * plogis(f[, 9:12])) / sum(weight)
  for (method in c("ep", "gibbs", "vb")) {
    fit <- bkm(y ~ gp(x, kernel = rbf(1)), d, method = method, seed = 1, threads = 1)
    p <- predict(fit, new, type = "prob")[, 2]
    expect_lt(max(abs(p - exact)), if (method == "vb") 0.04 else 0.02)
  }
})

test_that("the length-scale of a season is found, though that of a trend is a maximum, too", {
  d <- data.frame(year = as.numeric(time(lynx)), y = as.numeric(log10(lynx)))
  fit <- bkm(y ~ gp(year), d, threads = 1)
  # The exact evidence of a process with noise: log length-scale, log sds.
  x <- drop(scale(d$year))
  y <- drop(scale(d$y))
  minus_log <- function(p) {
    k <- exp(2 * p[2] - outer(x, x, "-")^2 / (2 * exp(2 * p[1])))
    root <- chol(k + diag(exp(2 * p[3]), length(x)) + 100)
    sum(log(diag(root))) + sum(backsolve(root, y, transpose = TRUE)^2) / 2
  }
  starts <- lapply(log(2^(1:-5)), function(l) optim(c(l, 0, -1), minus_log))
  exact <- starts[[which.min(vapply(starts, `[[`, 0, "value"))]]
  found <- fit$design$smooths[[1]]$process$kernel$lengthscale
  expect_lt(abs(log(found) - exact$par[1]), 0.1)
  expect_lt(abs(log(sigma(fit) / sd(d$y)) - exact$par[3]), 0.1)
})

test_that("one of two length-scales may be much shorter than the other", {
  set.seed(1)
  d <- data.frame(a = runif(200), b = runif(200))
  truth <- sin(60 * d$a) + 2 * d$b^2
  d$y <- truth + rnorm(200, sd = 0.3)
  fit <- bkm(y ~ gp(a, b, kernel = rbf(ard = TRUE)), d, threads = 1)
  expect_lt(sqrt(mean((fitted(fit) - truth)^2)), 0.25)
  expect_lt(abs(sigma(fit) - 0.3), 0.08)
})

test_that("length-scales of many columns of noise do not explain the response", {
  set.seed(1)
  d <- as.data.frame(matrix(rnorm(80 * 20), 80))
  columns <- paste(names(d), collapse = ", ")
  d$y <- rnorm(80, sd = 0.5)
  formula <- as.formula(sprintf("y ~ gp(%s, kernel = rbf(ard = TRUE))", columns))
  fit <- bkm(formula, d, threads = 1)
  expect_lt(abs(log(sigma(fit) / 0.5)), 0.2)
})
